/* SPDX-License-Identifier: MIT */
/*
 * Beginnings and ends: libraries that are opened and closed more than once, programs that end in a thread, in a
 * function of atexit, in the middle of work, or without ending anything; contexts that go while other threads have
 * them; errors that stay.
 */
#include "driver_test.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

int cudaDeviceReset(void);
int cudaGetLastError(void);
int cudaFree(void *pointer);
int cudaMalloc(void **pointer, size_t bytes);
int cudaMemset(void *pointer, int value, size_t bytes);
int cudaMemcpy(void *to, const void *from, size_t bytes, int kind);
int cuCtxPushCurrent_v2(void *context);
int cuCtxSetCurrent(void *context);
int cuEventCreate(void **event, unsigned flags);
int cuEventRecord(void *event, void *stream);
int cuEventQuery(void *event);
int cuEventDestroy_v2(void *event);

static void *context, *module, *function;
static address_t values;

static void begin(void)
{
    GOOD(cuInit(0));
    GOOD(cuCtxCreate_v2(&context, 0, 0));
    GOOD(cuModuleLoadData(&module, add_one_text));
    GOOD(cuModuleGetFunction(&function, module, "add_one"));
    GOOD(cuMemAlloc_v2(&values, 40000));
    GOOD(cuMemsetD32_v2(values, 0, 10000));
}

static void opened_and_closed(void)
{
    for (int i = 0; i < 3; i++) {
        void *library = dlopen("libcuda.so.1", RTLD_NOW);
        CHECK(library);
        int (*init)(unsigned) = (int (*)(unsigned))(uintptr_t)dlsym(library, "cuInit");
        CHECK(init && init(0) == 0);
        CHECK(dlclose(library) == 0);
    }
    begin();
    GOOD(launch_add_one(function, values, 10000, NULL));
    GOOD(cuCtxSynchronize());
}

/* Nothing is waited for. */
static void under_way(void)
{
    begin();
    for (int i = 0; i < 20; i++)
        GOOD(launch_add_one(function, values, 10000, NULL));
}

static void *leave(void *unused)
{
    (void)unused;
    GOOD(cuCtxPushCurrent_v2(context));
    GOOD(launch_add_one(function, values, 10000, NULL));
    exit(0);
}

static void in_a_thread(void)
{
    pthread_t thread;
    begin();
    CHECK(pthread_create(&thread, NULL, leave, NULL) == 0);
    (void)pthread_join(thread, NULL);
}

static void at_exit(void)
{
    int value;
    if (cuMemcpyDtoH_v2(&value, values, 4) != 0 || value != 1)
        _exit(1);
    if (cuCtxDestroy_v2(context) != 0)
        _exit(1);
}

static void in_atexit(void)
{
    CHECK(atexit(at_exit) == 0);
    begin();
    GOOD(launch_add_one(function, values, 10000, NULL));
}

static void reset(void)
{
    void *pointer, *old;
    for (int i = 0; i < 3; i++) {
        int read[4] = {0};
        GOOD(cudaMalloc(&pointer, 64));
        GOOD(cudaMemset(pointer, 1, 64));
        GOOD(cudaMemcpy(read, pointer, sizeof read, 2));
        CHECK(read[3] == 0x01010101);
        old = pointer;
        GOOD(cudaDeviceReset());
        EXPECT(INVALID_VALUE, cudaMemcpy(read, old, sizeof read, 2));
        EXPECT(INVALID_VALUE, cudaFree(old));
        EXPECT(INVALID_VALUE, cudaGetLastError());
        GOOD(cudaGetLastError());
    }
}

/* A thread whose context another one ends. */
static void *hold(void *barrier)
{
    GOOD(cuCtxSetCurrent(context));
    pthread_barrier_wait(barrier);
    pthread_barrier_wait(barrier);
    EXPECT(709, cuCtxSynchronize());
    return NULL;
}

static void gone_elsewhere(void)
{
    pthread_barrier_t barrier;
    pthread_t thread;
    void *event, *other;
    begin();
    GOOD(cuEventCreate(&event, 0));
    GOOD(cuEventRecord(event, NULL));
    CHECK(pthread_barrier_init(&barrier, NULL, 2) == 0 && pthread_create(&thread, NULL, hold, &barrier) == 0);
    pthread_barrier_wait(&barrier);
    GOOD(cuCtxDestroy_v2(context));
    pthread_barrier_wait(&barrier);
    CHECK(pthread_join(thread, NULL) == 0);
    GOOD(cuCtxCreate_v2(&other, 0, 0));
    EXPECT(INVALID_HANDLE, cuModuleGetFunction(&function, module, "add_one"));
    EXPECT(INVALID_HANDLE, launch_add_one(function, values, 1, NULL));
    CHECK(cuEventRecord(event, NULL) != 0);
    (void)cuEventQuery(event);
    (void)cuEventDestroy_v2(event);
    GOOD(cuCtxDestroy_v2(other));
}

static void stays_wrong(void)
{
    int value;
    void *other;
    begin();
    GOOD(launch_add_one(function, 64, 1, NULL));
    EXPECT(ILLEGAL_ADDRESS, cuCtxSynchronize());
    EXPECT(ILLEGAL_ADDRESS, cuMemcpyDtoH_v2(&value, values, 4));
    EXPECT(ILLEGAL_ADDRESS, cuMemAlloc_v2(&values, 4));
    EXPECT(ILLEGAL_ADDRESS, cuModuleLoadData(&module, add_one_text));
    EXPECT(ILLEGAL_ADDRESS, launch_add_one(function, values, 1, NULL));
    GOOD(cuCtxCreate_v2(&other, 0, 0)); /* another one is not touched by it */
    GOOD(cuCtxSynchronize());
    GOOD(cuCtxDestroy_v2(other));
    GOOD(cuCtxDestroy_v2(context));
    begin();
    GOOD(launch_add_one(function, values, 1, NULL));
    GOOD(cuMemcpyDtoH_v2(&value, values, 4));
    CHECK(value == 1);
}

static void forked(void)
{
    int status;
    begin();
    pid_t child = fork();
    if (child == 0)
        _exit(cuMemAlloc_v2(&values, 4) == 3 && cuInit(0) == 3 ? 0 : 1); /* not initialised, and told so */
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    GOOD(launch_add_one(function, values, 10000, NULL));
    GOOD(cuCtxSynchronize());
}

int main(void)
{
    static void (*const cases[])(void) = {opened_and_closed, under_way,   in_a_thread, in_atexit, reset,
                                          gone_elsewhere,    stays_wrong, forked};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int status;
        pid_t child = fork();
        if (child == 0) {
            alarm(60);
            cases[i]();
            return 0;
        }
        CHECK(waitpid(child, &status, 0) == child);
        if (status) {
            fprintf(stderr, "case %zu ends with %#x\n", i, (unsigned)status);
            return 1;
        }
    }
    puts("endings: good");
    return 0;
}
