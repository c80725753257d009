/* SPDX-License-Identifier: MIT */
/*
 * Graphs of the driver API: every kind of node, read back, changed before and after the graph was made executable,
 * described in one structure, and written to a file.
 */
#include "driver_test.h"

#include <unistd.h>

struct kernel_node {
    void *function;
    unsigned grid[3], block[3], shared;
    void **arguments, **extra;
    void *kernel, *context;
};
struct copy_node {
    size_t from_x, from_y, from_z, from_level;
    int from_type;
    const void *from_host;
    address_t from_device;
    void *from_array, *from_reserved;
    size_t from_pitch, from_height;
    size_t to_x, to_y, to_z, to_level;
    int to_type;
    void *to_host;
    address_t to_device;
    void *to_array, *to_reserved;
    size_t to_pitch, to_height;
    size_t width, height, depth;
};
struct fill_node {
    address_t to;
    size_t pitch;
    unsigned value, element_bytes;
    size_t width, height;
};
struct host_node {
    void (*function)(void *user);
    void *user;
};
struct any_node {
    int type, reserved[3];
    union {
        struct kernel_node kernel;
        struct {
            int flags, reserved;
            void *context;
            struct copy_node copy;
        } copy;
        struct fill_node fill;
        struct host_node host;
        void *handle;
        char room[232];
    } of;
};

int cuEventCreate(void **event, unsigned flags);
int cuEventQuery(void *event);
int cuGraphAddChildGraphNode(void **node, void *graph, void **before, size_t count, void *child);
int cuGraphAddEventRecordNode(void **node, void *graph, void **before, size_t count, void *event);
int cuGraphAddHostNode(void **node, void *graph, void **before, size_t count, const struct host_node *values);
int cuGraphAddKernelNode_v2(void **node, void *graph, void **before, size_t count, const struct kernel_node *values);
int cuGraphAddMemcpyNode(void **node, void *graph, void **before, size_t count, const struct copy_node *values,
                         void *context);
int cuGraphAddMemsetNode(void **node, void *graph, void **before, size_t count, const struct fill_node *values,
                         void *context);
int cuGraphAddNode_v2(void **node, void *graph, void **before, void *edges, size_t count, struct any_node *values);
int cuGraphChildGraphNodeGetGraph(void *node, void **graph);
int cuGraphCreate(void **graph, unsigned flags);
int cuGraphDebugDotPrint(void *graph, const char *path, unsigned flags);
int cuGraphDestroy(void *graph);
int cuGraphEventRecordNodeGetEvent(void *node, void **event);
int cuGraphEventRecordNodeSetEvent(void *node, void *event);
int cuGraphExecDestroy(void *executable);
int cuGraphExecKernelNodeSetParams_v2(void *executable, void *node, const struct kernel_node *values);
int cuGraphExecMemcpyNodeSetParams(void *executable, void *node, const struct copy_node *values, void *context);
int cuGraphExecMemsetNodeSetParams(void *executable, void *node, const struct fill_node *values, void *context);
int cuGraphExecNodeSetParams(void *executable, void *node, struct any_node *values);
int cuGraphHostNodeGetParams(void *node, struct host_node *values);
int cuGraphInstantiateWithFlags(void **executable, void *graph, unsigned long long flags);
int cuGraphKernelNodeGetParams_v2(void *node, struct kernel_node *values);
int cuGraphKernelNodeSetParams_v2(void *node, const struct kernel_node *values);
int cuGraphLaunch(void *executable, void *stream);
int cuGraphMemcpyNodeGetParams(void *node, struct copy_node *values);
int cuGraphMemsetNodeGetParams(void *node, struct fill_node *values);
int cuStreamBeginCapture_v2(void *stream, int mode);
int cuStreamEndCapture(void *stream, void **graph);
int cuStreamGetCaptureInfo_v2(void *stream, int *status, unsigned long long *number, void **graph, void ***front,
                              size_t *count);

enum { COUNT = 500 };

static void count_up(void *user)
{
    ++*(int *)user;
}

static void run(void *executable)
{
    GOOD(cuGraphLaunch(executable, NULL));
    GOOD(cuCtxSynchronize());
}

static void file_of(void *graph)
{
    char path[] = "/tmp/corun-graph-XXXXXX", text[4096];
    int file = mkstemp(path);
    CHECK(file >= 0);
    GOOD(cuGraphDebugDotPrint(graph, path, 0));
    ssize_t bytes = read(file, text, sizeof text - 1);
    CHECK(bytes > 0);
    text[bytes] = 0;
    CHECK(!strncmp(text, "digraph", 7) && strstr(text, "kernel add_one") && strstr(text, "memcpy") &&
          strstr(text, "->"));
    close(file);
    unlink(path);
}

/* What nodes are is read back as it was said. */
static void as_it_was_said(void *fill, void *kernel, void *copy, const struct kernel_node *add,
                           const struct copy_node *back, const struct fill_node *forty)
{
    struct kernel_node add_seen;
    struct copy_node back_seen;
    struct fill_node forty_seen;
    GOOD(cuGraphKernelNodeGetParams_v2(kernel, &add_seen));
    CHECK(add_seen.function == add->kernel && add_seen.grid[0] == 4 && add_seen.block[0] == 128 &&
          *(address_t *)add_seen.arguments[0] == forty->to && *(int *)add_seen.arguments[1] == COUNT);
    GOOD(cuGraphMemcpyNodeGetParams(copy, &back_seen));
    CHECK(back_seen.from_type == 2 && back_seen.from_device == forty->to && back_seen.to_host == back->to_host &&
          back_seen.width == back->width && back_seen.height == 1);
    GOOD(cuGraphMemsetNodeGetParams(fill, &forty_seen));
    CHECK(forty_seen.to == forty->to && forty_seen.value == 40 && forty_seen.width == COUNT);
    EXPECT(INVALID_VALUE, cuGraphMemsetNodeGetParams(kernel, &forty_seen));
}

/* Nodes of every kind in one structure: 70 and one more into the first ten, `results` gets them. */
static void in_one_structure(struct fill_node *forty, const struct kernel_node *add, const struct copy_node *back,
                             const int *results)
{
    void *graph, *executable, *copy, *seen, *any[2];
    struct any_node node = {.type = 2, .of.fill = *forty};
    GOOD(cuGraphCreate(&graph, 0));
    GOOD(cuGraphAddNode_v2(&any[0], graph, NULL, NULL, 0, &node));
    node = (struct any_node){.type = 0, .of.kernel = *add};
    GOOD(cuGraphAddNode_v2(&any[1], graph, any, NULL, 1, &node));
    node = (struct any_node){.type = 1, .of.copy.copy = *back};
    GOOD(cuGraphAddNode_v2(&copy, graph, &any[1], NULL, 1, &node));
    node = (struct any_node){.type = 8}; /* signal of an external semaphore */
    EXPECT(801, cuGraphAddNode_v2(&seen, graph, NULL, NULL, 0, &node));
    GOOD(cuGraphInstantiateWithFlags(&executable, graph, 0));
    run(executable);
    CHECK(results[9] == 71);
    forty->value = 90;
    node = (struct any_node){.type = 2, .of.fill = *forty};
    GOOD(cuGraphExecNodeSetParams(executable, any[0], &node));
    run(executable);
    CHECK(results[9] == 91 && results[10] == 42);
    GOOD(cuGraphExecDestroy(executable));
    GOOD(cuGraphDestroy(graph));
}

/* A graph that is the first that a captured stream is given becomes a node of another one. */
static void in_a_capture(const struct kernel_node *add, address_t values)
{
    void *graph, *executable, *outer, *outer_executable, *node, *stream, *captured;
    int status, result = 0;
    unsigned long long number;
    GOOD(cuStreamCreate(&stream, 1));
    GOOD(cuGraphCreate(&graph, 0));
    GOOD(cuGraphAddKernelNode_v2(&node, graph, NULL, 0, add));
    GOOD(cuGraphInstantiateWithFlags(&executable, graph, 0));
    GOOD(cuStreamBeginCapture_v2(stream, 1));
    GOOD(cuGraphLaunch(executable, stream));
    GOOD(cuGraphLaunch(executable, stream));
    GOOD(cuStreamGetCaptureInfo_v2(stream, &status, &number, &captured, NULL, NULL));
    EXPECT(INVALID_VALUE, cuGraphDestroy(captured)); /* it is still being captured */
    GOOD(cuStreamEndCapture(stream, &outer));
    CHECK(outer == captured);
    GOOD(cuGraphInstantiateWithFlags(&outer_executable, outer, 0));
    GOOD(cuMemsetD32Async(values, 5, COUNT, NULL));
    run(outer_executable);
    GOOD(cuMemcpyDtoH_v2(&result, values, sizeof result));
    CHECK(result == 7);
    GOOD(cuGraphExecDestroy(outer_executable));
    GOOD(cuGraphExecDestroy(executable));
    GOOD(cuGraphDestroy(outer));
    GOOD(cuGraphDestroy(graph));
    GOOD(cuStreamDestroy_v2(stream));
}

/* Graphs outlive their context, but have nothing left that could run or be read; they can still be destroyed. */
static void after_their_context(void *context, const struct kernel_node *add)
{
    void *graph, *executable, *node, *other_context;
    struct kernel_node seen;
    GOOD(cuGraphCreate(&graph, 0));
    GOOD(cuGraphAddKernelNode_v2(&node, graph, NULL, 0, add));
    GOOD(cuGraphInstantiateWithFlags(&executable, graph, 0));
    run(executable);
    GOOD(cuCtxDestroy_v2(context));
    GOOD(cuCtxCreate_v2(&other_context, 0, 0));
    EXPECT(INVALID_VALUE, cuGraphLaunch(executable, NULL));
    EXPECT(INVALID_VALUE, cuGraphKernelNodeGetParams_v2(node, &seen));
    EXPECT(INVALID_VALUE, cuGraphDebugDotPrint(graph, "/dev/null", 0));
    GOOD(cuGraphExecDestroy(executable));
    GOOD(cuGraphDestroy(graph));
    GOOD(cuCtxDestroy_v2(other_context));
}

int main(void)
{
    void *context, *module, *function, *graph, *child, *executable, *event, *other_event, *seen;
    void *fill, *kernel, *copy, *host, *record, *inner;
    address_t values;
    int results[COUNT], calls = 0, count = COUNT, fewer = 10;
    GOOD(cuInit(0));
    GOOD(cuCtxCreate_v2(&context, 0, 0));
    GOOD(cuModuleLoadData(&module, add_one_text));
    GOOD(cuModuleGetFunction(&function, module, "add_one"));
    GOOD(cuMemAlloc_v2(&values, sizeof results));
    GOOD(cuEventCreate(&event, 0));
    GOOD(cuEventCreate(&other_event, 0));
    GOOD(cuGraphCreate(&graph, 0));
    GOOD(cuGraphCreate(&child, 0));

    /* 40 into all of them, one more, back to the host */
    struct fill_node forty = {values, 0, 40, 4, COUNT, 1};
    void *arguments[] = {&values, &count};
    struct kernel_node add = {.grid = {4, 1, 1}, .block = {128, 1, 1}, .arguments = arguments, .kernel = function};
    struct copy_node back = {.from_type = 2,
                             .from_device = values,
                             .to_type = 1,
                             .to_host = results,
                             .width = sizeof results,
                             .height = 1,
                             .depth = 1};
    struct host_node call = {count_up, &calls};
    GOOD(cuGraphAddMemsetNode(&fill, graph, NULL, 0, &forty, context));
    GOOD(cuGraphAddKernelNode_v2(&kernel, graph, &fill, 1, &add));
    GOOD(cuGraphAddMemcpyNode(&copy, graph, &kernel, 1, &back, context));
    GOOD(cuGraphAddHostNode(&host, graph, &copy, 1, &call));
    GOOD(cuGraphAddEventRecordNode(&record, graph, &host, 1, event));
    GOOD(cuGraphAddKernelNode_v2(&inner, child, NULL, 0, &add));
    GOOD(cuGraphAddChildGraphNode(&inner, graph, &fill, 1, child));
    file_of(graph);

    struct kernel_node add_seen;
    struct host_node call_seen;
    as_it_was_said(fill, kernel, copy, &add, &back, &forty);
    GOOD(cuGraphHostNodeGetParams(host, &call_seen));
    CHECK(call_seen.function == count_up && call_seen.user == &calls);
    GOOD(cuGraphEventRecordNodeGetEvent(record, &seen));
    CHECK(seen == event);
    GOOD(cuGraphEventRecordNodeSetEvent(record, other_event));
    GOOD(cuGraphChildGraphNodeGetGraph(inner, &seen));
    CHECK(seen && seen != child && seen != graph);

    GOOD(cuGraphInstantiateWithFlags(&executable, graph, 0));
    run(executable);
    GOOD(cuMemcpyDtoH_v2(results, values, sizeof results)); /* the child's may have come after the copy */
    CHECK(results[0] == 42 && results[COUNT - 1] == 42 && calls == 1);
    GOOD(cuEventQuery(other_event));

    /* changed when it is executable already; what was read can be given back */
    arguments[1] = &fewer;
    forty.value = 70;
    back.width = 40;
    GOOD(cuGraphExecKernelNodeSetParams_v2(executable, kernel, &add));
    GOOD(cuGraphExecMemsetNodeSetParams(executable, fill, &forty, context));
    GOOD(cuGraphExecMemcpyNodeSetParams(executable, copy, &back, context));
    run(executable);
    GOOD(cuMemcpyDtoH_v2(results, values, sizeof results));
    CHECK(results[9] == 72 && results[10] == 71 && calls == 2);
    GOOD(cuGraphKernelNodeGetParams_v2(kernel, &add_seen));
    CHECK(*(int *)add_seen.arguments[1] == COUNT); /* the graph itself has not changed */
    add_seen.grid[0] = 1;
    GOOD(cuGraphKernelNodeSetParams_v2(kernel, &add_seen));
    GOOD(cuGraphExecDestroy(executable));
    GOOD(cuGraphInstantiateWithFlags(&executable, graph, 0));
    run(executable);
    GOOD(cuMemcpyDtoH_v2(results, values, sizeof results));
    CHECK(results[127] == 42 && results[128] == 41);
    GOOD(cuGraphExecDestroy(executable));
    GOOD(cuGraphDestroy(child));
    GOOD(cuGraphDestroy(graph));

    in_one_structure(&forty, &add, &back, results);
    in_a_capture(&add, values);
    after_their_context(context, &add);
    puts("graphs of the driver: good");
    return 0;
}
