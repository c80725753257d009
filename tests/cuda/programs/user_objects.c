/* SPDX-License-Identifier: MIT */
/* User objects: who keeps them, and that their function is called once, when the last graph and the last launch have let go. */
#include "driver_test.h"

enum { NO_DESTRUCTOR_SYNC = 1, MOVE = 1 };

struct call_node {
    void (*function)(void *user);
    void *user;
};

int cuGraphAddHostNode(void **node, void *graph, void **before, size_t count, const struct call_node *values);
int cuGraphAddChildGraphNode(void **node, void *graph, void **before, size_t count, void *child);
int cuGraphClone(void **clone, void *graph);
int cuGraphCreate(void **graph, unsigned flags);
int cuGraphDestroy(void *graph);
int cuGraphExecDestroy(void *executable);
int cuGraphInstantiateWithFlags(void **executable, void *graph, unsigned long long flags);
int cuGraphLaunch(void *executable, void *stream);
int cuGraphReleaseUserObject(void *graph, void *object, unsigned count);
int cuGraphRetainUserObject(void *graph, void *object, unsigned count, unsigned flags);
int cuUserObjectCreate(void **object, void *value, void (*destroy)(void *), unsigned references, unsigned flags);
int cuUserObjectRelease(void *object, unsigned count);
int cuUserObjectRetain(void *object, unsigned count);

static int ended, seen = -1;

static void end(void *value)
{
    ended += *(int *)value;
}

/* In a launch: the object is still there. */
static void look(void *user)
{
    (void)user;
    seen = ended;
}

static void *object_of(int *value, unsigned references)
{
    void *object;
    GOOD(cuUserObjectCreate(&object, value, end, references, NO_DESTRUCTOR_SYNC));
    return object;
}

static void counted(void)
{
    static int one = 1;
    void *object = object_of(&one, 2);
    GOOD(cuUserObjectRetain(object, 3));
    GOOD(cuUserObjectRelease(object, 4));
    CHECK(ended == 0);
    EXPECT(INVALID_VALUE, cuUserObjectRelease(object, 2));
    EXPECT(INVALID_VALUE, cuUserObjectRetain(object, 0));
    GOOD(cuUserObjectRelease(object, 1));
    CHECK(ended == 1);
    EXPECT(INVALID_VALUE, cuUserObjectRelease(object, 1));
    EXPECT(INVALID_VALUE, cuUserObjectCreate(&object, &one, end, 1, 0));
    EXPECT(INVALID_VALUE, cuUserObjectCreate(&object, &one, NULL, 1, NO_DESTRUCTOR_SYNC));
    EXPECT(INVALID_VALUE, cuUserObjectCreate(&object, &one, end, 0, NO_DESTRUCTOR_SYNC));
}

/* A graph, its clone, a child, executable graphs, and a launch that outlives all of them. */
static void kept_by_graphs(void)
{
    static int ten = 10, hundred = 100;
    void *graph, *clone, *parent, *executable, *node, *object = object_of(&ten, 1), *other = object_of(&hundred, 1);
    const struct call_node call = {look, NULL};
    ended = 0;
    GOOD(cuGraphCreate(&graph, 0));
    GOOD(cuGraphAddHostNode(&node, graph, NULL, 0, &call));
    GOOD(cuGraphRetainUserObject(graph, object, 1, MOVE));
    GOOD(cuGraphRetainUserObject(graph, other, 2, 0));
    EXPECT(INVALID_VALUE, cuGraphRetainUserObject(graph, other, 1, 2));
    EXPECT(INVALID_VALUE, cuGraphReleaseUserObject(graph, other, 3));
    GOOD(cuGraphReleaseUserObject(graph, other, 1));
    GOOD(cuUserObjectRelease(other, 1));
    GOOD(cuGraphClone(&clone, graph));
    GOOD(cuGraphCreate(&parent, 0));
    GOOD(cuGraphAddChildGraphNode(&node, parent, NULL, 0, clone));
    GOOD(cuGraphDestroy(graph));
    GOOD(cuGraphDestroy(clone));
    CHECK(ended == 0);
    GOOD(cuGraphInstantiateWithFlags(&executable, parent, 0));
    GOOD(cuGraphDestroy(parent));
    GOOD(cuGraphLaunch(executable, NULL));
    GOOD(cuGraphLaunch(executable, NULL));
    GOOD(cuGraphExecDestroy(executable));
    GOOD(cuCtxSynchronize());
    CHECK(seen == 0);
    CHECK(ended == 110);
}

int main(void)
{
    void *context;
    GOOD(cuInit(0));
    GOOD(cuCtxCreate_v2(&context, 0, 0));
    counted();
    kept_by_graphs();
    puts("good");
    return 0;
}
