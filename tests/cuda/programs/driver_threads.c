/* SPDX-License-Identifier: MIT */
/*
 * Many host threads in one context: each loads and unloads modules, allocates and frees, launches in streams of its own
 * and in a shared one, waits for events of its neighbour, and makes, runs and ends graphs. In the end a kernel fails
 * while another thread is in a function of the program that a stream calls.
 */
#include "driver_test.h"

#include <pthread.h>

int cuCtxSetCurrent(void *context);
int cuEventCreate(void **event, unsigned flags);
int cuEventDestroy_v2(void *event);
int cuEventRecord(void *event, void *stream);
int cuEventSynchronize(void *event);
int cuStreamWaitEvent(void *stream, void *event, unsigned flags);
int cuStreamBeginCapture_v2(void *stream, int mode);
int cuStreamEndCapture(void *stream, void **graph);
int cuGraphDestroy(void *graph);
int cuGraphExecDestroy(void *executable);
int cuGraphInstantiateWithFlags(void **executable, void *graph, unsigned long long flags);
int cuGraphLaunch(void *executable, void *stream);
int cuLaunchHostFunc(void *stream, void (*function)(void *user), void *user);

enum { THREADS = 4, ROUNDS = 5, COUNT = 300 };

static void *context, *shared_stream, *events[THREADS];
static pthread_barrier_t barrier;

/* Three launches as a graph. */
static void in_a_graph(void *function, address_t values, void *stream)
{
    void *graph, *executable;
    GOOD(cuStreamBeginCapture_v2(stream, 1));
    for (int i = 0; i < 3; i++)
        GOOD(launch_add_one(function, values, COUNT, stream));
    GOOD(cuStreamEndCapture(stream, &graph));
    GOOD(cuGraphInstantiateWithFlags(&executable, graph, 0));
    GOOD(cuGraphDestroy(graph));
    GOOD(cuGraphLaunch(executable, stream));
    GOOD(cuGraphLaunch(executable, stream));
    GOOD(cuStreamSynchronize(stream));
    GOOD(cuGraphExecDestroy(executable));
}

static void *work(void *argument)
{
    int number = *(int *)argument, results[COUNT];
    void *module, *function, *stream;
    address_t values;
    GOOD(cuCtxSetCurrent(context));
    GOOD(cuStreamCreate(&stream, 1));
    for (int round = 0; round < ROUNDS; round++) {
        GOOD(cuModuleLoadData(&module, add_one_text));
        GOOD(cuModuleGetFunction(&function, module, "add_one"));
        GOOD(cuMemAlloc_v2(&values, sizeof results));
        GOOD(cuMemsetD32Async(values, (unsigned)number, COUNT, stream));
        GOOD(launch_add_one(function, values, COUNT, stream));
        GOOD(cuEventRecord(events[number], stream));
        pthread_barrier_wait(&barrier);
        GOOD(cuStreamWaitEvent(stream, events[(number + 1) % THREADS], 0));
        in_a_graph(function, values, stream);
        GOOD(cuEventRecord(events[number], stream));
        GOOD(cuStreamWaitEvent(shared_stream, events[number], 0));
        GOOD(launch_add_one(function, values, COUNT, shared_stream));
        GOOD(cuEventSynchronize(events[number]));
        GOOD(cuStreamSynchronize(shared_stream));
        GOOD(cuMemcpyDtoH_v2(results, values, sizeof results));
        for (int i = 0; i < COUNT; i++)
            CHECK(results[i] == number + 8);
        pthread_barrier_wait(&barrier);
        GOOD(cuMemFree_v2(values));
        GOOD(cuModuleUnload(module));
    }
    GOOD(cuStreamDestroy_v2(stream));
    return NULL;
}

static void *other_context;

/* Returns when a kernel of the same context has failed. */
static void while_it_fails(void *user)
{
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    *(int *)user = 1;
}

static void *wait_for_function(void *user)
{
    void *stream;
    GOOD(cuCtxSetCurrent(other_context));
    GOOD(cuStreamCreate(&stream, 1));
    GOOD(cuLaunchHostFunc(stream, while_it_fails, user));
    EXPECT(ILLEGAL_ADDRESS, cuStreamSynchronize(stream));
    return NULL;
}

static void fail_meanwhile(void)
{
    pthread_t thread;
    void *module, *function;
    int called = 0;
    GOOD(cuCtxCreate_v2(&other_context, 0, 0));
    GOOD(cuModuleLoadData(&module, add_one_text));
    GOOD(cuModuleGetFunction(&function, module, "add_one"));
    CHECK(pthread_barrier_destroy(&barrier) == 0 && pthread_barrier_init(&barrier, NULL, 2) == 0);
    CHECK(pthread_create(&thread, NULL, wait_for_function, &called) == 0);
    pthread_barrier_wait(&barrier);
    GOOD(launch_add_one(function, 16, COUNT, NULL));
    EXPECT(ILLEGAL_ADDRESS, cuCtxSynchronize());
    pthread_barrier_wait(&barrier);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(called);
    (void)cuCtxDestroy_v2(other_context);
}

int main(void)
{
    pthread_t threads[THREADS];
    int numbers[THREADS];
    GOOD(cuInit(0));
    GOOD(cuCtxCreate_v2(&context, 0, 0));
    GOOD(cuStreamCreate(&shared_stream, 1));
    CHECK(pthread_barrier_init(&barrier, NULL, THREADS) == 0);
    for (int i = 0; i < THREADS; i++)
        GOOD(cuEventCreate(&events[i], 0));
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        CHECK(pthread_create(&threads[i], NULL, work, &numbers[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    for (int i = 0; i < THREADS; i++)
        GOOD(cuEventDestroy_v2(events[i]));
    GOOD(cuCtxDestroy_v2(context));
    fail_meanwhile();
    puts("threads of the driver: good");
    return 0;
}
