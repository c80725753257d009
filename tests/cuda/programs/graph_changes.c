/* SPDX-License-Identifier: MIT */
/*
 * Graphs that change: an executable one takes over what another graph does, its children, too; copies know what they were made
 * from however often that is copied; nodes are destroyed and dependencies set while streams are being captured.
 */
#include "driver_test.h"

struct fill_node {
    address_t to;
    size_t pitch;
    unsigned value, element_bytes;
    size_t width, height;
};
struct update_result {
    int result;
    void *node, *from;
};
enum { UPDATED = 0, SHAPE_CHANGED = 2, TYPE_CHANGED = 3, UPDATE_FAILURE = 910, ILLEGAL_STATE = 401, ADD = 0, SET = 1 };

int cuEventCreate(void **event, unsigned flags);
int cuEventRecord(void *event, void *stream);
int cuGraphAddChildGraphNode(void **node, void *graph, void **before, size_t count, void *child);
int cuGraphAddEmptyNode(void **node, void *graph, void **before, size_t count);
int cuGraphAddMemsetNode(void **node, void *graph, void **before, size_t count, const struct fill_node *values,
                         void *context);
int cuGraphClone(void **clone, void *graph);
int cuGraphCreate(void **graph, unsigned flags);
int cuGraphDestroy(void *graph);
int cuGraphDestroyNode(void *node);
int cuGraphExecChildGraphNodeSetParams(void *executable, void *node, void *child);
int cuGraphExecDestroy(void *executable);
int cuGraphExecMemsetNodeSetParams(void *executable, void *node, const struct fill_node *values, void *context);
int cuGraphExecUpdate_v2(void *executable, void *graph, struct update_result *result);
int cuGraphGetEdges(void *graph, void **from, void **to, size_t *count);
int cuGraphInstantiateWithFlags(void **executable, void *graph, unsigned long long flags);
int cuGraphLaunch(void *executable, void *stream);
int cuGraphNodeFindInClone(void **node, void *original, void *clone);
int cuStreamBeginCapture_v2(void *stream, int mode);
int cuStreamEndCapture(void *stream, void **graph);
int cuStreamGetCaptureInfo_v2(void *stream, int *status, unsigned long long *id, void **graph, void ***front,
                              size_t *count);
int cuStreamUpdateCaptureDependencies(void *stream, void **nodes, size_t count, unsigned flags);
int cuStreamWaitEvent(void *stream, void *event, unsigned flags);

static void *context;
static address_t values;

static struct fill_node fill_of(int index, unsigned value)
{
    return (struct fill_node){values + 4 * (address_t)index, 0, value, 4, 1, 1};
}

static int value_at(int index)
{
    int value;
    GOOD(cuMemcpyDtoH_v2(&value, values + 4 * (address_t)index, sizeof value));
    return value;
}

static void *new_fill(void *graph, void *before, int index, unsigned value)
{
    struct fill_node fill = fill_of(index, value);
    void *node;
    GOOD(cuGraphAddMemsetNode(&node, graph, &before, before != NULL, &fill, context));
    return node;
}

/* A fill of value 0, then a child with one of value 1, in that a child with one of value 2. */
static void *nested(unsigned value, void **outer_child)
{
    void *graph, *child, *grandchild, *node;
    GOOD(cuGraphCreate(&graph, 0));
    GOOD(cuGraphCreate(&child, 0));
    GOOD(cuGraphCreate(&grandchild, 0));
    (void)new_fill(grandchild, NULL, 2, value + 2);
    node = new_fill(child, NULL, 1, value + 1);
    GOOD(cuGraphAddChildGraphNode(&node, child, &node, 1, grandchild));
    node = new_fill(graph, NULL, 0, value);
    GOOD(cuGraphAddChildGraphNode(outer_child, graph, &node, 1, child));
    GOOD(cuGraphDestroy(child));
    GOOD(cuGraphDestroy(grandchild));
    return graph;
}

static void launch(void *executable)
{
    GOOD(cuGraphLaunch(executable, NULL));
    GOOD(cuCtxSynchronize());
}

static void children(void)
{
    void *executable, *child, *other_child, *node, *deep;
    struct update_result result;
    void *graph = nested(10, &child), *other = nested(20, &other_child), *third;
    GOOD(cuGraphInstantiateWithFlags(&executable, graph, 0));
    launch(executable);
    CHECK(value_at(0) == 10 && value_at(1) == 11 && value_at(2) == 12);
    GOOD(cuGraphExecUpdate_v2(executable, other, &result));
    CHECK(result.result == UPDATED && !result.node);
    launch(executable);
    CHECK(value_at(0) == 20 && value_at(1) == 21 && value_at(2) == 22);

    /* only the child; what nodes are called by is the graph that the executable one was made from */
    GOOD(cuGraphCreate(&third, 0));
    node = new_fill(third, NULL, 1, 31);
    GOOD(cuGraphCreate(&deep, 0));
    void *deep_fill = new_fill(deep, NULL, 2, 32);
    EXPECT(INVALID_VALUE, cuGraphExecChildGraphNodeSetParams(executable, child, third)); /* of another shape */
    GOOD(cuGraphAddChildGraphNode(&node, third, &node, 1, deep));
    GOOD(cuGraphExecChildGraphNodeSetParams(executable, child, third));
    EXPECT(INVALID_VALUE, cuGraphExecChildGraphNodeSetParams(executable, other_child, third));
    EXPECT(INVALID_VALUE, cuGraphExecChildGraphNodeSetParams(executable, deep_fill, third));
    launch(executable);
    CHECK(value_at(0) == 20 && value_at(1) == 31 && value_at(2) == 32);

    /* what differs deep down is found, and nothing is taken over */
    GOOD(cuGraphAddEmptyNode(&node, deep, NULL, 0));
    GOOD(cuGraphDestroy(third));
    GOOD(cuGraphCreate(&third, 0));
    node = new_fill(third, NULL, 0, 40);
    GOOD(cuGraphAddChildGraphNode(&node, third, &node, 1, deep));
    EXPECT(UPDATE_FAILURE, cuGraphExecUpdate_v2(executable, third, &result));
    CHECK(result.result == TYPE_CHANGED && result.node);
    launch(executable);
    CHECK(value_at(0) == 20 && value_at(2) == 32);
    GOOD(cuGraphExecDestroy(executable));
    GOOD(cuGraphDestroy(deep));
    GOOD(cuGraphDestroy(third));
    GOOD(cuGraphDestroy(other));
    GOOD(cuGraphDestroy(graph));
}

/* Four nodes in a row, or the last two both behind the second: as many nodes and dependencies. */
static void *row(bool forked)
{
    void *graph;
    GOOD(cuGraphCreate(&graph, 0));
    void *first = new_fill(graph, NULL, 0, 1), *second = new_fill(graph, first, 1, 2);
    void *third = new_fill(graph, second, 2, 3);
    (void)new_fill(graph, forked ? second : third, 3, 4);
    return graph;
}

static void other_edges(void)
{
    void *executable, *graph = row(false), *forked = row(true);
    struct update_result result;
    GOOD(cuGraphInstantiateWithFlags(&executable, graph, 0));
    EXPECT(UPDATE_FAILURE, cuGraphExecUpdate_v2(executable, forked, &result));
    CHECK(result.result == SHAPE_CHANGED && result.node);
    GOOD(cuGraphExecDestroy(executable));
    GOOD(cuGraphDestroy(graph));
    GOOD(cuGraphDestroy(forked));
}

static void copies(void)
{
    void *graph, *clone, *executable, *of_clone, *stream, *captured, *found;
    struct fill_node other = fill_of(0, 60);
    GOOD(cuGraphCreate(&graph, 0));
    void *node = new_fill(graph, NULL, 0, 50);
    GOOD(cuGraphClone(&clone, graph));
    GOOD(cuGraphInstantiateWithFlags(&of_clone, clone, 0));
    GOOD(cuGraphNodeFindInClone(&found, node, clone));
    GOOD(cuGraphExecMemsetNodeSetParams(of_clone, found, &other, context));
    GOOD(cuGraphInstantiateWithFlags(&executable, graph, 0));
    GOOD(cuStreamCreate(&stream, 1));
    GOOD(cuStreamBeginCapture_v2(stream, 1));
    GOOD(cuGraphLaunch(executable, stream)); /* copies it */
    GOOD(cuStreamEndCapture(stream, &captured));
    other.value = 70;
    GOOD(cuGraphExecMemsetNodeSetParams(executable, node, &other, context));
    launch(of_clone);
    CHECK(value_at(0) == 60);
    launch(executable);
    CHECK(value_at(0) == 70);
    GOOD(cuGraphExecDestroy(executable));
    GOOD(cuGraphExecDestroy(of_clone));
    GOOD(cuGraphDestroy(captured));
    GOOD(cuGraphDestroy(clone));
    GOOD(cuGraphDestroy(graph));
    GOOD(cuStreamDestroy_v2(stream));
}

/* The node that a stream has come to, which must be one. */
static void *front_of(void *stream, unsigned long long *id)
{
    int status;
    void **front;
    size_t count;
    GOOD(cuStreamGetCaptureInfo_v2(stream, &status, id, NULL, &front, &count));
    CHECK(status == 1 && count == 1);
    return front[0];
}

static void while_captured(void)
{
    void *stream, *other, *event, *graph, *from[4], *to[4], *executable;
    unsigned long long id, other_id;
    size_t count = 4;
    GOOD(cuStreamCreate(&stream, 1));
    GOOD(cuStreamCreate(&other, 1));
    GOOD(cuEventCreate(&event, 0));
    EXPECT(ILLEGAL_STATE, cuStreamUpdateCaptureDependencies(stream, NULL, 0, SET));
    GOOD(cuStreamBeginCapture_v2(stream, 1));
    GOOD(cuMemsetD32Async(values, 80, 1, stream));
    void *first = front_of(stream, &id);
    GOOD(cuMemsetD32Async(values + 4, 81, 1, stream));
    void *second = front_of(stream, &id);
    GOOD(cuEventRecord(event, stream));
    GOOD(cuGraphDestroyNode(second)); /* where both the stream and the event are */
    GOOD(cuStreamWaitEvent(other, event, 0));
    GOOD(cuStreamUpdateCaptureDependencies(other, &first, 1, ADD));
    CHECK(front_of(other, &other_id) == first && other_id == id);
    GOOD(cuMemsetD32Async(values + 8, 82, 1, other));
    void *third = front_of(other, &id);
    GOOD(cuStreamUpdateCaptureDependencies(stream, &first, 1, SET));
    GOOD(cuMemsetD32Async(values + 12, 83, 1, stream));
    EXPECT(INVALID_VALUE, cuStreamUpdateCaptureDependencies(stream, (void *[]){second}, 1, ADD));
    EXPECT(INVALID_VALUE, cuStreamUpdateCaptureDependencies(stream, &third, 1, 2));
    GOOD(cuStreamUpdateCaptureDependencies(stream, &third, 1, ADD));
    GOOD(cuMemsetD32Async(values + 16, 84, 1, stream));
    GOOD(cuStreamEndCapture(stream, &graph));
    GOOD(cuGraphGetEdges(graph, from, to, &count));
    CHECK(count == 4 && from[0] == first && to[0] == third && from[1] == first);
    CHECK(to[2] == to[3] && (from[2] == third || from[3] == third));
    GOOD(cuMemsetD32_v2(values, 0, 8));
    GOOD(cuGraphInstantiateWithFlags(&executable, graph, 0));
    launch(executable);
    CHECK(value_at(0) == 80 && value_at(1) == 0 && value_at(2) == 82 && value_at(3) == 83 && value_at(4) == 84);
    GOOD(cuGraphExecDestroy(executable));
    GOOD(cuGraphDestroy(graph));
    GOOD(cuStreamDestroy_v2(stream));
    GOOD(cuStreamDestroy_v2(other));
}

/* The stream in which a capture began is destroyed: that ends it, for the streams that had joined it, too. */
static void destroyed(void)
{
    void *stream, *other, *event, *graph;
    unsigned long long id;
    int status;
    GOOD(cuStreamCreate(&stream, 1));
    GOOD(cuStreamCreate(&other, 1));
    GOOD(cuEventCreate(&event, 0));
    GOOD(cuStreamBeginCapture_v2(stream, 1));
    GOOD(cuMemsetD32Async(values, 90, 1, stream));
    GOOD(cuEventRecord(event, stream));
    GOOD(cuStreamWaitEvent(other, event, 0));
    GOOD(cuStreamGetCaptureInfo_v2(other, &status, &id, &graph, NULL, NULL));
    CHECK(status == 1);
    GOOD(cuStreamDestroy_v2(stream));
    GOOD(cuStreamGetCaptureInfo_v2(other, &status, &id, NULL, NULL, NULL));
    CHECK(status == 0);
    EXPECT(INVALID_VALUE, cuGraphDestroy(graph));
    GOOD(cuMemsetD32Async(values, 91, 1, other));
    GOOD(cuStreamSynchronize(other));
    CHECK(value_at(0) == 91);
    GOOD(cuStreamDestroy_v2(other));
}

int main(void)
{
    GOOD(cuInit(0));
    GOOD(cuCtxCreate_v2(&context, 0, 0));
    GOOD(cuMemAlloc_v2(&values, 32));
    children();
    other_edges();
    copies();
    while_captured();
    destroyed();
    puts("graphs that change: good");
    return 0;
}
