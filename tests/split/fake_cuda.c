/* SPDX-License-Identifier: MIT */
/*
 * A CUDA driver for tests, under the name libcuda.so.1: device memory is host memory, work is done at once by the calling thread, and
 * kernels are functions of the test of type fake_kernel. FAKE_CUDA_DEVICES says how many devices there are [1].
 */
#include "split/fake_cuda.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { INVALID = 1, NOT_FOUND = 500, NOT_READY = 600, FAULT = 700 };

struct fake_control fake_control = {.fails_at_launch = -1, .hangs_at_launch = -1, .mutex = PTHREAD_MUTEX_INITIALIZER};
static _Thread_local void *current;
static int contexts[16];

static int state_of(void)
{
    pthread_mutex_lock(&fake_control.mutex);
    int device = current ? (int)((int *)current - contexts) : 0;
    int state = fake_control.broken >> device & 1 ? FAULT : 0;
    pthread_mutex_unlock(&fake_control.mutex);
    return state;
}

int cuInit(unsigned flags)
{
    return flags ? INVALID : 0;
}

int cuGetErrorName(int error, const char **name)
{
    *name = error == FAULT       ? "CUDA_ERROR_ILLEGAL_ADDRESS"
            : error == NOT_FOUND ? "CUDA_ERROR_NOT_FOUND"
                                 : "CUDA_ERROR_INVALID_VALUE";
    return 0;
}

int cuDeviceGetCount(int *count)
{
    const char *text = getenv("FAKE_CUDA_DEVICES");
    *count = text ? atoi(text) : 1;
    return 0;
}

int cuDeviceGet(int *device, int ordinal)
{
    *device = ordinal;
    return 0;
}

/* Four multiprocessors with room for 1024 threads each. */
int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    (void)device;
    *value = attribute == 16 ? 4 : 1024;
    return attribute == 16 || attribute == 39 ? 0 : INVALID;
}

int cuDeviceGetName(char *name, int bytes, int device)
{
    if (bytes < 8)
        return INVALID;
    memcpy(name, "Fake 0", 7);
    name[5] = (char)('0' + device);
    return 0;
}

int cuDevicePrimaryCtxSetFlags_v2(int device, unsigned flags)
{
    (void)device;
    return flags & 4 ? 0 : INVALID;
}

int cuDevicePrimaryCtxRetain(void **context, int device)
{
    *context = &contexts[device];
    return 0;
}

int cuDevicePrimaryCtxRelease_v2(int device)
{
    (void)device;
    return 0;
}

int cuCtxGetCurrent(void **context)
{
    *context = current;
    return 0;
}

int cuCtxSetCurrent(void *context)
{
    current = context;
    return 0;
}

int cuMemAlloc_v2(unsigned long long *address, size_t bytes)
{
    if (fake_control.memory_bytes && bytes > fake_control.memory_bytes)
        return 2;
    *address = (unsigned long long)(uintptr_t)calloc(1, bytes);
    return *address ? 0 : 2;
}

int cuMemFree_v2(unsigned long long address)
{
    free((void *)(uintptr_t)address);
    return 0;
}

int cuMemHostRegister_v2(void *place, size_t bytes, unsigned flags)
{
    fake_control.pinned += place && bytes && flags;
    return 0;
}

int cuMemHostUnregister(void *place)
{
    fake_control.pinned -= place != NULL;
    return 0;
}

int cuMemcpyHtoDAsync_v2(unsigned long long to, const void *from, size_t bytes, void *stream)
{
    if (state_of() || !stream)
        return FAULT;
    pthread_mutex_lock(&fake_control.mutex);
    fake_control.bytes_in += bytes;
    pthread_mutex_unlock(&fake_control.mutex);
    memcpy((void *)(uintptr_t)to, from, bytes);
    return 0;
}

int cuMemcpyDtoHAsync_v2(void *to, unsigned long long from, size_t bytes, void *stream)
{
    if (state_of() || !stream)
        return FAULT;
    pthread_mutex_lock(&fake_control.mutex);
    fake_control.bytes_out += bytes;
    pthread_mutex_unlock(&fake_control.mutex);
    memcpy(to, (void *)(uintptr_t)from, bytes);
    return 0;
}

int cuStreamCreate(void **stream, unsigned flags)
{
    *stream = malloc(1 + flags);
    return *stream ? 0 : 2;
}

int cuStreamDestroy_v2(void *stream)
{
    free(stream);
    return 0;
}

int cuStreamWaitEvent(void *stream, void *event, unsigned flags)
{
    pthread_mutex_lock(&fake_control.mutex);
    fake_control.waits++;
    pthread_mutex_unlock(&fake_control.mutex);
    return stream && event && !flags ? state_of() : INVALID;
}

int cuStreamSynchronize(void *stream)
{
    return stream ? state_of() : INVALID;
}

int cuEventCreate(void **event, unsigned flags)
{
    *event = calloc(1, sizeof(struct timespec));
    return *event && flags == 1 ? 0 : INVALID;
}

int cuEventDestroy_v2(void *event)
{
    free(event);
    return 0;
}

int cuEventRecord(void *event, void *stream)
{
    clock_gettime(CLOCK_MONOTONIC, event);
    return stream ? state_of() : INVALID;
}

/* Sleeps while the device hangs. */
static void hang(void)
{
    const struct timespec time = {0, 1000 * 1000};
    for (bool hangs = true; hangs;) {
        pthread_mutex_lock(&fake_control.mutex);
        hangs = fake_control.hangs_at_launch >= 0 && fake_control.launches > fake_control.hangs_at_launch;
        pthread_mutex_unlock(&fake_control.mutex);
        if (hangs)
            nanosleep(&time, NULL);
    }
}

/* Nanoseconds until an event comes; 0: it has. */
static long long ahead(const struct timespec *event)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    long long since = (now.tv_sec - event->tv_sec) * 1000000000ll + now.tv_nsec - event->tv_nsec;
    pthread_mutex_lock(&fake_control.mutex);
    long long late = fake_control.late_us * 1000ll;
    pthread_mutex_unlock(&fake_control.mutex);
    return since < late ? late - since : 0;
}

int cuEventQuery(void *event)
{
    pthread_mutex_lock(&fake_control.mutex);
    bool hangs = fake_control.hangs_at_launch >= 0 && fake_control.launches > fake_control.hangs_at_launch;
    pthread_mutex_unlock(&fake_control.mutex);
    return !event ? INVALID : hangs || ahead(event) ? NOT_READY : state_of();
}

int cuEventSynchronize(void *event)
{
    hang();
    long long left = event ? ahead(event) : 0;
    const struct timespec time = {(time_t)(left / 1000000000), (long)(left % 1000000000)};
    if (left) {
        pthread_mutex_lock(&fake_control.mutex);
        fake_control.slept++;
        pthread_mutex_unlock(&fake_control.mutex);
        nanosleep(&time, NULL);
    }
    return event ? state_of() : INVALID;
}

int cuEventElapsedTime(float *milliseconds, void *begin, void *end)
{
    const struct timespec *a = begin, *b = end;
    *milliseconds = (float)((double)(b->tv_sec - a->tv_sec) * 1e3 + (double)(b->tv_nsec - a->tv_nsec) * 1e-6);
    return 0;
}

int cuModuleLoadData(void **module, const void *image)
{
    if (strncmp(image, "fake", 4))
        return INVALID;
    *module = dlopen(NULL, RTLD_NOW);
    return *module ? 0 : INVALID;
}

int cuModuleUnload(void *module)
{
    return dlclose(module);
}

int cuModuleGetFunction(void **function, void *module, const char *name)
{
    pthread_mutex_lock(&fake_control.mutex);
    fake_control.lookups++;
    pthread_mutex_unlock(&fake_control.mutex);
    *function = dlsym(module, name);
    return *function ? 0 : NOT_FOUND;
}

int cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                   unsigned block_y, unsigned block_z, unsigned shared_bytes, void *stream, void **arguments,
                   void **extra)
{
    fake_kernel *kernel;
    if (state_of() || !stream || extra || shared_bytes)
        return FAULT;
    memcpy(&kernel, &function, sizeof kernel);
    kernel((uint64_t)grid_x * grid_y * grid_z * block_x * block_y * block_z, arguments);
    pthread_mutex_lock(&fake_control.mutex);
    if (fake_control.launches++ == fake_control.fails_at_launch)
        fake_control.broken |= 1u << ((int *)current - contexts);
    pthread_mutex_unlock(&fake_control.mutex);
    return 0;
}
