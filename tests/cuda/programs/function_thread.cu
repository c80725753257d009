/* SPDX-License-Identifier: MIT */
/*
 * Functions of streams that wait for what the program does next, and a program that waits for them without calling CUDA: they have a thread of their own.
 *
 *   function_thread          all of it but the following
 *   function_thread polled   the program looks at a variable, again and again
 *   function_thread exit     ends while a function waits
 *   function_thread fail     another stream fails while a function waits
 *   function_thread fork     a child while a function waits
 */
#include "check.h"

#include <atomic>
#include <cstring>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

/* A door that somebody opens. */
struct door {
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t opened = PTHREAD_COND_INITIALIZER;
    bool open = false;

    void wait()
    {
        pthread_mutex_lock(&lock);
        while (!open)
            pthread_cond_wait(&opened, &lock);
        pthread_mutex_unlock(&lock);
    }
    void let_in()
    {
        pthread_mutex_lock(&lock);
        open = true;
        pthread_cond_broadcast(&opened);
        pthread_mutex_unlock(&lock);
    }
};

/* What a function found. */
struct state {
    door before, middle, after;
    int *value = nullptr;
    int seen = -1, turn = 0;
    cudaError_t error = cudaSuccess;
    pthread_t thread;
};

static int turns;
static cudaStream_t first, second;
static int *pinned, *device;

__global__ void add(int *p, int what)
{
    *p += what;
}

__global__ void spin(int *p, int rounds)
{
    for (int i = 0; i < rounds; i++)
        atomicAdd(p, 1);
}

__global__ void fail()
{
    asm volatile("trap;");
}

static void note(void *user)
{
    state *s = (state *)user;
    s->thread = pthread_self();
    s->turn = ++turns;
    if (s->value)
        s->seen = *s->value;
    s->after.let_in();
}

static void wait_and_note(void *user)
{
    ((state *)user)->before.wait();
    note(user);
}

static void call_back(cudaStream_t stream, cudaError_t error, void *user)
{
    EXPECT(stream == first);
    ((state *)user)->error = error;
    wait_and_note(user);
}

static void spin_for(void *user)
{
    std::atomic<int> *flag = (std::atomic<int> *)user;
    while (*flag == 1)
        ;
    *flag = 3;
}

/* The stream of the function stands still; the program and the other stream go on. */
static void wait_for_the_program()
{
    state s, t;
    s.value = pinned;
    CHECK(cudaMemsetAsync(device, 0, 2 * sizeof *device, first));
    add<<<1, 1, 0, first>>>(device, 5);
    CHECK(cudaMemcpyAsync(pinned, device, sizeof *pinned, cudaMemcpyDeviceToHost, first));
    CHECK(cudaLaunchHostFunc(first, wait_and_note, &s));
    add<<<1, 1, 0, first>>>(device, 2);
    CHECK(cudaLaunchHostFunc(first, note, &t));
    add<<<1, 1, 0, second>>>(device + 1, 7);
    CHECK(cudaStreamSynchronize(second));
    for (int i = 0; i < 20; i++)
        EXPECT(cudaStreamQuery(first) == cudaErrorNotReady);
    EXPECT(s.turn == 0);
    add<<<1, 1, 0, second>>>(device + 1, 7);
    CHECK(cudaMemcpyAsync(pinned + 1, device + 1, sizeof *pinned, cudaMemcpyDeviceToHost, second));
    CHECK(cudaStreamSynchronize(second));
    EXPECT(pinned[1] == 14 && s.turn == 0);
    s.before.let_in();
    CHECK(cudaStreamSynchronize(first));
    EXPECT(s.seen == 5 && s.turn == 1 && t.turn == 2);
    EXPECT(pthread_equal(s.thread, t.thread) && !pthread_equal(s.thread, pthread_self()));
    CHECK(cudaMemcpy(pinned, device, sizeof *pinned, cudaMemcpyDeviceToHost));
    EXPECT(*pinned == 7);
}

static void callbacks_wait()
{
    state s;
    CHECK(cudaStreamAddCallback(first, call_back, &s, 0));
    EXPECT(cudaStreamQuery(first) == cudaErrorNotReady);
    s.before.let_in();
    CHECK(cudaDeviceSynchronize());
    EXPECT(s.turn && s.error == cudaSuccess);
}

static void nodes_wait()
{
    state s;
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    cudaGraphNode_t node;
    cudaHostNodeParams parameters = {wait_and_note, &s};
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphAddHostNode(&node, graph, nullptr, 0, &parameters));
    CHECK(cudaGraphInstantiateWithFlags(&executable, graph, 0));
    for (int i = 0; i < 2; i++) {
        s.turn = 0, s.before.open = false;
        CHECK(cudaGraphLaunch(executable, first));
        EXPECT(cudaStreamQuery(first) == cudaErrorNotReady);
        s.before.let_in();
        CHECK(cudaStreamSynchronize(first));
        EXPECT(s.turn);
    }
    CHECK(cudaGraphExecDestroy(executable));
    CHECK(cudaGraphDestroy(graph));
}

static void *open_later(void *user)
{
    ((state *)user)->middle.wait();
    usleep(20000);
    ((state *)user)->before.let_in();
    return nullptr;
}

/* It waits for a thread that waits for this one. */
static void others_are_between()
{
    state s;
    pthread_t other;
    EXPECT(!pthread_create(&other, nullptr, open_later, &s));
    CHECK(cudaLaunchHostFunc(first, wait_and_note, &s));
    spin<<<1, 1, 0, second>>>(device, 100);
    CHECK(cudaStreamSynchronize(second));
    s.middle.let_in();
    CHECK(cudaStreamSynchronize(first));
    EXPECT(s.turn);
    pthread_join(other, nullptr);
}

/* The program waits for its function, and calls nothing. */
static void wait_for_a_function()
{
    for (int i = 0; i < 5; i++) {
        state s;
        s.value = pinned;
        CHECK(cudaMemsetAsync(device, 0, sizeof *device, first));
        spin<<<1, 1, 0, first>>>(device, 1000);
        CHECK(cudaMemcpyAsync(pinned, device, sizeof *pinned, cudaMemcpyDeviceToHost, first));
        CHECK(cudaLaunchHostFunc(first, note, &s));
        s.after.wait();
        EXPECT(s.seen == 1000);
    }
    CHECK(cudaDeviceSynchronize());
}

static cudaError_t given[4];
static int calls_of_cuda;

static void call_cuda(void *)
{
    void *memory;
    calls_of_cuda = 1;
    given[0] = cudaMalloc(&memory, 16);
    given[1] = cudaStreamSynchronize(first);
    given[2] = cudaStreamQuery(second);
    given[3] = cudaLaunchHostFunc(first, note, nullptr);
    EXPECT(!strcmp(cudaGetErrorName(given[0]), "cudaErrorNotPermitted"));
}

static void calls_are_refused()
{
    CHECK(cudaLaunchHostFunc(first, call_cuda, nullptr));
    CHECK(cudaStreamSynchronize(first));
    EXPECT(calls_of_cuda);
    for (cudaError_t error : given)
        EXPECT(error == cudaErrorNotPermitted);
    CHECK(cudaGetLastError());
}

static void polled()
{
    std::atomic<int> flag(2);
    spin<<<1, 1, 0, first>>>(device, 1000);
    CHECK(cudaLaunchHostFunc(first, spin_for, &flag));
    while (flag != 3)
        ;
    /* and the other way round: the function looks at a variable */
    flag = 1;
    CHECK(cudaLaunchHostFunc(first, spin_for, &flag));
    EXPECT(cudaStreamQuery(first) == cudaErrorNotReady);
    flag = 2;
    CHECK(cudaStreamSynchronize(first));
    EXPECT(flag == 3);
}

/* In a child there is no GPU, and nobody to call functions. */
static void fork_meanwhile()
{
    int status;
    pid_t child = fork();
    if (!child)
        _exit(cudaStreamSynchronize(first) == cudaErrorInitializationError ? 5 : 1);
    EXPECT(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 5);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    static state s;
    CHECK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    CHECK(cudaMallocHost(&pinned, 2 * sizeof *pinned));
    CHECK(cudaMalloc(&device, 2 * sizeof *device));
    if (!*mode) {
        wait_for_the_program();
        callbacks_wait();
        nodes_wait();
        others_are_between();
        wait_for_a_function();
        calls_are_refused();
        return 0;
    }
    if (!strcmp(mode, "polled")) {
        polled();
        return 0;
    }
    CHECK(cudaLaunchHostFunc(first, wait_and_note, &s));
    CHECK(cudaLaunchHostFunc(first, note, &s));
    EXPECT(cudaStreamQuery(first) == cudaErrorNotReady);
    if (!strcmp(mode, "fork"))
        fork_meanwhile();
    if (!strcmp(mode, "fail")) {
        fail<<<1, 1, 0, second>>>();
        EXPECT_ERROR(cudaErrorLaunchFailure, cudaStreamSynchronize(second));
        EXPECT_ERROR(cudaErrorLaunchFailure, cudaStreamSynchronize(first));
    }
    if (!strcmp(mode, "exit"))
        return 7;
    s.before.let_in();
    if (!strcmp(mode, "fork"))
        CHECK(cudaStreamSynchronize(first));
    s.after.wait();
    CHECK(cudaDeviceReset());
    EXPECT(s.turn == (strcmp(mode, "fail") ? 2 : 1)); /* what was behind it is not called */
    return 0;
}
