/* SPDX-License-Identifier: MIT */
/*
 * What launches cost the host and the stream: calls of a CUDA driver, timed by the host's clock.
 *
 *     cc -O2 launches.c -ldl -o launches && ./launches [LIBRARY [MANY]]
 *
 * One line per quantity: name, nanoseconds. docs/hardware.md says what each is.
 */
#define _POSIX_C_SOURCE 200809L
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* The CUDA driver API, from its documentation. */
typedef int (*init_call)(unsigned);
typedef int (*get_call)(int *, int);
typedef int (*retain_call)(void **, int);
typedef int (*set_call)(void *);
typedef int (*void_call)(void);
typedef int (*load_call)(void **, const void *);
typedef int (*function_call)(void **, void *, const char *);
typedef int (*launch_call)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,
                           void **, void **);

static const char nothing[] = ".version 6.3\n.target sm_52\n.address_size 64\n"
                              ".visible .entry nothing(.param .u64 a, .param .u64 b, .param .u64 c)\n{\n    exit;\n}\n";

static launch_call launch;
static void_call synchronize;

static void *call(void *library, const char *name)
{
    void *address = dlsym(library, name);
    if (!address) {
        fprintf(stderr, "launches: the driver has no %s\n", name);
        exit(1);
    }
    return address;
}

static void must(int code, const char *what)
{
    if (code) {
        fprintf(stderr, "launches: %s: error %d\n", what, code);
        exit(1);
    }
}

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void launch_some(void *function, unsigned count, unsigned tbs)
{
    uint64_t values[3] = {0, 0, 0};
    void *arguments[] = {&values[0], &values[1], &values[2]};
    for (unsigned i = 0; i < count; i++)
        must(launch(function, tbs, 1, 1, 32, 1, 1, 0, NULL, arguments, NULL), "cuLaunchKernel");
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Of 15 trials: median, lowest, highest. */
static void report(const char *name, double *trials)
{
    qsort(trials, 15, sizeof *trials, ascending);
    printf("%s,%.0f,%.0f,%.0f\n", name, trials[7], trials[0], trials[14]);
    fflush(stdout);
}

static void measure(void *function, const char *name, unsigned count, unsigned tbs, int waits)
{
    double trials[15];
    for (unsigned i = 0; i < 15; i++) {
        must(synchronize(), "cuCtxSynchronize");
        uint64_t begin = now();
        launch_some(function, count, tbs);
        if (waits)
            must(synchronize(), "cuCtxSynchronize");
        trials[i] = (double)(now() - begin) / count;
    }
    report(name, trials);
}

int main(int argc, char **argv)
{
    void *library = dlopen(argc > 1 ? argv[1] : "libcuda.so.1", RTLD_NOW);
    if (!library) {
        fprintf(stderr, "launches: no driver: %s\n", dlerror());
        return 77;
    }
    int device;
    void *context, *module, *function;
    must(((init_call)call(library, "cuInit"))(0), "cuInit");
    must(((get_call)call(library, "cuDeviceGet"))(&device, 0), "cuDeviceGet");
    must(((retain_call)call(library, "cuDevicePrimaryCtxRetain"))(&context, device), "cuDevicePrimaryCtxRetain");
    must(((set_call)call(library, "cuCtxSetCurrent"))(context), "cuCtxSetCurrent");
    must(((load_call)call(library, "cuModuleLoadData"))(&module, nothing), "cuModuleLoadData");
    must(((function_call)call(library, "cuModuleGetFunction"))(&function, module, "nothing"), "cuModuleGetFunction");
    launch = (launch_call)call(library, "cuLaunchKernel");
    synchronize = (void_call)call(library, "cuCtxSynchronize");
    launch_some(function, 100, 1);
    printf("what,ns,lowest,highest\n");
    measure(function, "a call that does not wait (of 200)", 200, 1, 0);
    unsigned many = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 10000;
    measure(function, "a launch of many and one wait", many, 1, 1);
    measure(function, "a launch of many of 132 TBs and one wait", many, 132, 1);
    measure(function, "a launch and a wait", 1, 1, 1);
    return 0;
}
