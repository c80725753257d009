/* SPDX-License-Identifier: MIT */
/*
 * Conditional nodes of graphs: bodies that run by a number that kernels set, in loops, within each other, captured from a stream. What the
 * values must be is computed here beside it.
 */
#include "driver_test.h"

enum { IF, WHILE, SWITCH, CONDITIONAL = 13, KERNEL = 0, ASSIGN = 1, VALUES = 8 };

struct kernel_node {
    void *function;
    unsigned grid[3], block[3], shared;
    void **arguments, **extra;
    void *kernel, *context;
};
struct condition_node {
    uint64_t handle;
    int kind;
    unsigned bodies;
    void **graphs;
    void *context;
};
struct node {
    int type, reserved[3];
    union {
        struct condition_node condition;
        struct kernel_node kernel;
        char room[232];
    } of;
    long long reserved_2;
};
struct update_result {
    int result;
    void *node, *from;
};

int cuGraphAddEmptyNode(void **node, void *graph, void **before, size_t count);
int cuGraphAddNode(void **node, void *graph, void **before, size_t count, struct node *values);
int cuGraphClone(void **clone, void *graph);
int cuGraphConditionalHandleCreate(uint64_t *handle, void *graph, void *context, unsigned value, unsigned flags);
int cuGraphCreate(void **graph, unsigned flags);
int cuGraphDestroy(void *graph);
int cuGraphExecDestroy(void *executable);
int cuGraphExecUpdate_v2(void *executable, void *graph, struct update_result *result);
int cuGraphInstantiateWithFlags(void **executable, void *graph, unsigned long long flags);
int cuGraphLaunch(void *executable, void *stream);
int cuGraphNodeGetType(void *node, int *type);
int cuStreamBeginCaptureToGraph(void *stream, void *graph, void **before, const void *edges, size_t count, int mode);
int cuStreamEndCapture(void *stream, void **graph);

/*
 * count(values, index, handle): values[index] changes by 1, downwards for index 0, and the handle, if there is one, gets values[0].
 * lowest(values, number, handle): the handle gets values[number >> 8] & number.
 */
static const char text[] =
    ".version 7.0\n.target sm_50\n.address_size 64\n"
    ".extern .func cudaGraphSetConditional\n(\n.param .b64 handle,\n.param .b32 value\n)\n;\n"
    ".visible .entry count(.param .u64 values, .param .u32 index, .param .u64 handle)\n{\n"
    ".reg .pred %p; .reg .b32 %r<6>; .reg .b64 %d<5>;\n"
    "ld.param.u64 %d0, [values]; ld.param.u32 %r0, [index]; ld.param.u64 %d1, [handle];\n"
    "mul.wide.u32 %d2, %r0, 4; add.u64 %d2, %d0, %d2; ld.global.u32 %r1, [%d2];\n"
    "setp.eq.u32 %p, %r0, 0; selp.u32 %r2, -1, 1, %p; add.u32 %r1, %r1, %r2; st.global.u32 [%d2], %r1;\n"
    "setp.eq.u64 %p, %d1, 0; @%p ret; ld.global.u32 %r3, [%d0];\n"
    "{ .param .b64 a; .param .b32 b; st.param.b64 [a], %d1; st.param.b32 [b], %r3; call.uni cudaGraphSetConditional, "
    "(a, b); }\n"
    "ret;\n}\n"
    ".visible .entry lowest(.param .u64 values, .param .u32 number, .param .u64 handle)\n{\n"
    ".reg .b32 %r<3>; .reg .b64 %d<3>;\n"
    "ld.param.u64 %d0, [values]; ld.param.u32 %r0, [number]; ld.param.u64 %d1, [handle];\n"
    "shr.u32 %r2, %r0, 8; mul.wide.u32 %d2, %r2, 4; add.u64 %d0, %d0, %d2; and.b32 %r0, %r0, 255;\n"
    "ld.global.u32 %r1, [%d0]; and.b32 %r1, %r1, %r0;\n"
    "{ .param .b64 a; .param .b32 b; st.param.b64 [a], %d1; st.param.b32 [b], %r1; call.uni cudaGraphSetConditional, "
    "(a, b); }\n"
    "ret;\n}\n";

static void *context, *count, *lowest, *stream;
static address_t values;

static void *add_kernel(void *graph, void *before, void *function, unsigned number, uint64_t handle)
{
    void *arguments[] = {&values, &number, &handle}, *node;
    struct node description = {.type = KERNEL,
                               .of.kernel = {.function = function, .grid = {1, 1, 1}, .block = {1, 1, 1}}};
    description.of.kernel.arguments = arguments;
    GOOD(cuGraphAddNode(&node, graph, &before, before != NULL, &description));
    return node;
}

static void *add_condition(void *graph, void *before, uint64_t handle, int kind, unsigned bodies, void ***graphs)
{
    struct node description = {.type = CONDITIONAL, .of.condition = {handle, kind, bodies, NULL, context}};
    void *node;
    int type = -1;
    GOOD(cuGraphAddNode(&node, graph, &before, before != NULL, &description));
    *graphs = description.of.condition.graphs;
    GOOD(cuGraphNodeGetType(node, &type));
    CHECK(type == CONDITIONAL);
    return node;
}

/*
 * while (values[0]) { values[0]--; values[1]++; values[0] & 1 ? values[2]++ : values[3]++; }, then by values[2] & 3: values[4]++ of 0,
 * values[5]++ of 1 (captured), nothing of more.
 */
static void *nested(uint64_t *loop)
{
    uint64_t odd, which;
    void *graph, *node, **body, **branches, **cases;
    GOOD(cuGraphCreate(&graph, 0));
    GOOD(cuGraphConditionalHandleCreate(loop, graph, context, 1, ASSIGN));
    GOOD(cuGraphConditionalHandleCreate(&which, graph, context, 7, 0));
    void *first = add_condition(graph, NULL, *loop, WHILE, 1, &body);
    node = add_kernel(body[0], NULL, count, 0, *loop);
    node = add_kernel(body[0], node, count, 1, 0);
    GOOD(cuGraphConditionalHandleCreate(&odd, body[0], context, 0, 0));
    node = add_kernel(body[0], node, lowest, 1, odd);
    (void)add_condition(body[0], node, odd, IF, 2, &branches);
    (void)add_kernel(branches[0], NULL, count, 2, 0);
    (void)add_kernel(branches[1], NULL, count, 3, 0);
    node = add_kernel(graph, first, lowest, 2 << 8 | 3, which);
    (void)add_condition(graph, node, which, SWITCH, 2, &cases);
    (void)add_kernel(cases[0], NULL, count, 4, 0);
    GOOD(cuStreamBeginCaptureToGraph(stream, cases[1], NULL, NULL, 0, 0));
    unsigned index = 5;
    uint64_t none = 0;
    void *arguments[] = {&values, &index, &none};
    GOOD(cuLaunchKernel(count, 1, 1, 1, 1, 1, 1, 0, stream, arguments, NULL));
    GOOD(cuStreamEndCapture(stream, NULL));
    return graph;
}

static void expect(unsigned start, unsigned launches, unsigned *wanted)
{
    unsigned found[VALUES];
    wanted[0] = start;
    for (unsigned l = 0; l < launches; l++) {
        do { /* the first time whatever the number is: the handle begins with 1 */
            wanted[0]--;
            wanted[1]++;
            wanted[wanted[0] & 1 ? 2 : 3]++;
        } while (wanted[0]);
        if ((wanted[2] & 3) < 2)
            wanted[4 + (wanted[2] & 3)]++;
        if (l + 1 < launches)
            wanted[0] = start;
    }
    GOOD(cuStreamSynchronize(stream));
    GOOD(cuMemcpyDtoH_v2(found, values, sizeof found));
    CHECK(!memcmp(found, wanted, sizeof found));
}

static void loops(void)
{
    unsigned wanted[VALUES] = {0};
    uint64_t loop;
    struct update_result result;
    void *graph = nested(&loop), *executable, *clone, *of_clone;
    GOOD(cuGraphInstantiateWithFlags(&executable, graph, 0));
    GOOD(cuGraphClone(&clone, graph));
    GOOD(cuGraphExecUpdate_v2(executable, clone, &result));
    CHECK(result.result == 0);
    GOOD(cuMemsetD32_v2(values, 0, VALUES));
    GOOD(cuCtxSynchronize());
    for (int i = 0; i < 4; i++) { /* what is asked for behind a graph waits for its loops */
        GOOD(cuMemsetD32Async(values, 6, 1, stream));
        GOOD(cuGraphLaunch(executable, stream));
    }
    expect(6, 4, wanted);
    GOOD(cuGraphInstantiateWithFlags(&of_clone, clone, 0));
    GOOD(cuGraphDestroy(clone));
    GOOD(cuGraphDestroy(graph));
    GOOD(cuMemsetD32Async(values, 41, 1, stream));
    GOOD(cuGraphLaunch(of_clone, stream));
    GOOD(cuGraphExecDestroy(of_clone)); /* while its loop has yet to run */
    expect(41, 1, wanted);
    GOOD(cuGraphExecDestroy(executable));
}

/* A number that nobody assigns stays what the launch before has left. */
static void kept(void)
{
    unsigned found[VALUES];
    uint64_t handle;
    void *graph, *executable, *node, **body;
    GOOD(cuMemsetD32_v2(values, 0, VALUES));
    GOOD(cuMemsetD32_v2(values, 2, 1));
    GOOD(cuCtxSynchronize());
    GOOD(cuGraphCreate(&graph, 0));
    GOOD(cuGraphConditionalHandleCreate(&handle, graph, context, 1, 0));
    node = add_condition(graph, NULL, handle, IF, 1, &body);
    (void)add_kernel(body[0], NULL, count, 1, 0);
    (void)add_kernel(graph, node, count, 0, handle);
    GOOD(cuGraphInstantiateWithFlags(&executable, graph, 0));
    for (int i = 0; i < 4; i++) /* 2, then: 1 (runs next), 0 (does not), -1 (runs) */
        GOOD(cuGraphLaunch(executable, stream));
    GOOD(cuStreamSynchronize(stream));
    GOOD(cuMemcpyDtoH_v2(found, values, sizeof found));
    CHECK(found[1] == 2);
    GOOD(cuGraphExecDestroy(executable));
    GOOD(cuGraphDestroy(graph));
}

static void mistakes(void)
{
    uint64_t handle, foreign;
    void *graph, *other, *node, **body;
    GOOD(cuGraphCreate(&graph, 0));
    GOOD(cuGraphCreate(&other, 0));
    EXPECT(INVALID_VALUE, cuGraphConditionalHandleCreate(NULL, graph, context, 0, 0));
    EXPECT(INVALID_VALUE, cuGraphConditionalHandleCreate(&handle, graph, context, 0, 2));
    EXPECT(INVALID_VALUE, cuGraphConditionalHandleCreate(&handle, context, context, 0, 0));
    GOOD(cuGraphConditionalHandleCreate(&handle, graph, context, 0, 0));
    GOOD(cuGraphConditionalHandleCreate(&foreign, other, context, 0, 0));
    const struct {
        uint64_t handle;
        int kind;
        unsigned bodies;
    } wrong[] = {{foreign, IF, 1}, {handle, IF, 0}, {handle, IF, 3}, {handle, WHILE, 2}, {handle, 3, 1}, {0, IF, 1}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct node description = {.type = CONDITIONAL,
                                   .of.condition = {wrong[i].handle, wrong[i].kind, wrong[i].bodies, NULL, context}};
        EXPECT(INVALID_VALUE, cuGraphAddNode(&node, graph, NULL, 0, &description));
    }
    (void)add_condition(graph, NULL, handle, IF, 1, &body);
    EXPECT(INVALID_VALUE, cuGraphDestroy(body[0])); /* the node's */
    GOOD(cuGraphAddEmptyNode(&node, other, NULL, 0));
    EXPECT(INVALID_VALUE, cuStreamBeginCaptureToGraph(stream, graph, &node, NULL, 1, 0)); /* of another graph */
    GOOD(cuGraphDestroy(graph));
    GOOD(cuGraphDestroy(other));
}

int main(void)
{
    void *module;
    GOOD(cuInit(0));
    GOOD(cuCtxCreate_v2(&context, 0, 0));
    GOOD(cuModuleLoadData(&module, text));
    GOOD(cuModuleGetFunction(&count, module, "count"));
    GOOD(cuModuleGetFunction(&lowest, module, "lowest"));
    GOOD(cuMemAlloc_v2(&values, VALUES * sizeof(int)));
    GOOD(cuStreamCreate(&stream, 1));
    loops();
    kept();
    mistakes();
    GOOD(cuCtxDestroy_v2(context));
    return 0;
}
