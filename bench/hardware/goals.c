/* SPDX-License-Identifier: MIT */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
/*
 * A program with launches of one kind, which is told from outside when it works (goals.py):
 *
 *   goals MODE LAUNCHES BLOCKS ROUNDS
 *
 * A request is LAUNCHES launches of BLOCKS thread blocks, each of 256 threads with ROUNDS multiplications in a row, and a wait. MODE says when requests
 * come: `closed`, one behind the other; `poisson=US`, at random, on average each US microseconds, whether the one before has ended or not (it waits then, and
 * its latency begins when it was due); `batch`: launches alone, eight of them under way.
 *
 * On the standard input: `start`; `mark` writes what was done since the last mark or the start; `stop` writes that and rests; the end of the input
 * ends the program. `cost=SECONDS` in place of a mode writes ten rows of what a launch costs the thread. Times are those of the host.
 */
#include "corun/client.h"
#include "driver.h"

#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { UNDER_WAY = 8, THREADS = 256, MOST = 1 << 20, BETWEEN_WAITS = 200 };

int cuDeviceGet(int *device, int number);
int cuMemAlloc_v2(uint64_t *address, size_t bytes);
int cuMemsetD32_v2(uint64_t address, unsigned value, size_t count);
int cuStreamCreate(void **stream, unsigned flags);
int cuEventCreate(void **event, unsigned flags);
int cuEventRecord(void *event, void *stream);
int cuEventSynchronize(void *event);

static const char work[] =
    ".version 6.0\n.target sm_50\n.address_size 64\n"
    ".visible .entry work(.param .u64 data, .param .u32 rounds)\n{\n"
    ".reg .u64 %p<3>;\n.reg .u32 %r<5>;\n.reg .f32 %f<2>;\n.reg .pred %q;\n"
    "ld.param.u64 %p0, [data];\ncvta.to.global.u64 %p0, %p0;\nld.param.u32 %r0, [rounds];\n"
    "mov.u32 %r1, %tid.x;\nmul.wide.u32 %p1, %r1, 4;\nadd.u64 %p1, %p0, %p1;\nld.global.f32 %f0, [%p1];\n"
    "mov.u32 %r2, 0;\n"
    "again:\nfma.rn.f32 %f0, %f0, 0f3F7FF972, 0f3F800000;\n"
    "add.u32 %r2, %r2, 1;\nsetp.lt.u32 %q, %r2, %r0;\n@%q bra again;\n"
    "mov.u32 %r3, %ctaid.x;\nmad.lo.u32 %r4, %r3, 256, %r1;\nmul.wide.u32 %p2, %r4, 4;\nadd.u64 %p2, %p0, %p2;\n"
    "st.global.f32 [%p2], %f0;\nret;\n}\n";

struct program {
    void *function, *stream, *ends[UNDER_WAY];
    uint64_t data;
    int launches;
    unsigned blocks, rounds;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool runs, over; /* between start and stop; the input has ended */
    /* since the mark; the end of a launch is not waited for to tell of it: it may be held back for long */
    double begun, service, due;
    long requests, launched;
    float *latencies;
    uint64_t random;
};

static void launch(const struct program *program)
{
    uint64_t data = program->data;
    unsigned rounds = program->rounds;
    void *parameters[] = {&data, &rounds};
    GOOD(cuLaunchKernel(program->function, program->blocks, 1, 1, THREADS, 1, 1, 0, program->stream, parameters, NULL));
}

static void begin(struct program *program, int launches, unsigned blocks, unsigned rounds)
{
    void *context, *module;
    int device;
    *program = (struct program){.launches = launches,
                                .blocks = blocks,
                                .rounds = rounds,
                                .random = 88172645463325252u,
                                .lock = PTHREAD_MUTEX_INITIALIZER,
                                .changed = PTHREAD_COND_INITIALIZER};
    program->latencies = malloc(MOST * sizeof *program->latencies);
    GOOD(program->latencies == NULL);
    GOOD(cuInit(0));
    GOOD(cuDeviceGet(&device, 0));
    GOOD(cuDevicePrimaryCtxRetain(&context, device));
    GOOD(cuCtxSetCurrent(context));
    GOOD(cuModuleLoadData(&module, work));
    GOOD(cuModuleGetFunction(&program->function, module, "work"));
    GOOD(cuMemAlloc_v2(&program->data, (size_t)blocks * THREADS * sizeof(float)));
    GOOD(cuMemsetD32_v2(program->data, 0, (size_t)blocks * THREADS));
    GOOD(cuStreamCreate(&program->stream, 1)); /* beside the default stream */
    for (int i = 0; i < UNDER_WAY; i++)
        GOOD(cuEventCreate(&program->ends[i], 2)); /* without times */
    GOOD(cuCtxSynchronize());
}

static int compare(const void *left, const void *right)
{
    float a = *(const float *)left, b = *(const float *)right;
    return (a > b) - (a < b);
}

static void tell(struct program *program)
{
    double took = now() - program->begun;
    size_t count = program->requests < MOST ? (size_t)program->requests : MOST;
    qsort(program->latencies, count, sizeof *program->latencies, compare);
    printf("requests %ld launches %ld seconds %.6f service_s %.6f", program->requests, program->launched, took,
           program->service);
    if (count)
        printf(" p50_us %.2f p90_us %.2f p99_us %.2f max_us %.2f", (double)program->latencies[count / 2],
               (double)program->latencies[count * 9 / 10], (double)program->latencies[count * 99 / 100],
               (double)program->latencies[count - 1]);
    printf("\n");
    fflush(stdout);
    program->requests = program->launched = 0;
    program->service = 0;
    program->begun = now();
}

static void *hear(void *user)
{
    struct program *program = user;
    char line[64];
    while (fgets(line, sizeof line, stdin)) {
        pthread_mutex_lock(&program->lock);
        if (!strncmp(line, "start", 5)) {
            program->runs = true;
            program->requests = program->launched = 0;
            program->service = program->due = 0;
            program->begun = now();
        } else {
            tell(program);
            program->runs = program->runs && strncmp(line, "stop", 4) != 0;
        }
        pthread_cond_signal(&program->changed);
        pthread_mutex_unlock(&program->lock);
    }
    pthread_mutex_lock(&program->lock);
    program->over = true;
    pthread_cond_signal(&program->changed);
    pthread_mutex_unlock(&program->lock);
    return NULL;
}

/* Whether the program goes on. At rest it waits for a word. Takes the lock, and gives it back. */
static bool goes_on(struct program *program)
{
    pthread_mutex_lock(&program->lock);
    while (!program->runs && !program->over)
        pthread_cond_wait(&program->changed, &program->lock);
    bool goes = !program->over;
    pthread_mutex_unlock(&program->lock);
    return goes;
}

static double random_part(struct program *program)
{
    program->random ^= program->random << 13;
    program->random ^= program->random >> 7;
    program->random ^= program->random << 17;
    return ((double)(program->random >> 11) + 0.5) / 9007199254740992.0;
}

/* `interval`: seconds between requests, on average; 0: closed. */
static void serve(struct program *program, double interval)
{
    while (goes_on(program)) {
        if (interval > 0) {
            program->due = (program->due > 0 ? program->due : program->begun) - interval * log(random_part(program));
            while (now() < program->due)
                ;
        }
        double begun = now();
        uint64_t run = corun_begin_run();
        for (int i = 0; i < program->launches; i++)
            launch(program);
        GOOD(cuStreamSynchronize(program->stream));
        (void)corun_end_run(run);
        double ended = now();
        pthread_mutex_lock(&program->lock);
        program->latencies[program->requests % MOST] = (float)((ended - (interval > 0 ? program->due : begun)) * 1e6);
        program->requests++;
        program->launched += program->launches;
        program->service += ended - begun;
        pthread_mutex_unlock(&program->lock);
    }
}

static void batch(struct program *program)
{
    for (long number = 0; goes_on(program); number++) {
        if (number >= UNDER_WAY)
            GOOD(cuEventSynchronize(program->ends[number % UNDER_WAY]));
        launch(program);
        pthread_mutex_lock(&program->lock);
        program->launched++;
        pthread_mutex_unlock(&program->lock);
        GOOD(cuEventRecord(program->ends[number % UNDER_WAY], program->stream));
    }
}

/* ---- what a launch costs ---- */

typedef int launch_function(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                            unsigned block_y, unsigned block_z, unsigned shared_bytes, void *stream, void **parameters,
                            void **extra);

/* The driver's own, below whatever is in front; else the same as the program's. */
static launch_function *find_direct(void)
{
    launch_function *own = (launch_function *)dlsym(RTLD_DEFAULT, "cuLaunchKernel"), *found = own;
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[4096];
    while (maps && fgets(line, sizeof line, maps)) {
        char *path = strchr(line, '/');
        if (!path || !strstr(path, "/libcuda.so"))
            continue;
        path[strcspn(path, "\n")] = 0;
        void *library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
        launch_function *other = library ? (launch_function *)dlsym(library, "cuLaunchKernel") : NULL;
        if (other && other != own)
            found = other;
    }
    if (maps)
        fclose(maps);
    return found;
}

static double processor_us(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec * 1e-3;
}

static float launch_many(const struct program *program, launch_function *how)
{
    uint64_t data = program->data;
    unsigned rounds = program->rounds;
    void *parameters[] = {&data, &rounds};
    double begun = processor_us();
    for (int i = 0; i < BETWEEN_WAITS; i++)
        GOOD(how(program->function, program->blocks, 1, 1, THREADS, 1, 1, 0, program->stream, parameters, NULL));
    float each = (float)((processor_us() - begun) / BETWEEN_WAITS);
    GOOD(cuStreamSynchronize(program->stream));
    return each;
}

/*
 * What a launch costs the thread, of user and of system, in turn as the program is linked and to the driver itself: a row of medians for each tenth of the
 * time. Waits are not counted.
 */
static void cost(struct program *program, double seconds)
{
    enum { MOST_TURNS = 100000 };
    static float own[MOST_TURNS], direct[MOST_TURNS];
    launch_function *below = find_direct(), *linked = (launch_function *)dlsym(RTLD_DEFAULT, "cuLaunchKernel");
    for (int i = 0; i < 10; i++) {
        int turns = 0;
        for (double begun = now(); now() < begun + seconds / 10 && turns < MOST_TURNS; turns++) {
            own[turns] = launch_many(program, linked);
            direct[turns] = launch_many(program, below);
        }
        qsort(own, (size_t)turns, sizeof *own, compare);
        qsort(direct, (size_t)turns, sizeof *direct, compare);
        printf("turns %d linked_us %.4f direct_us %.4f same %d\n", turns, (double)own[turns / 2],
               (double)direct[turns / 2], below == linked);
        fflush(stdout);
    }
}

int main(int argc, char **argv)
{
    struct program program;
    const char *mode = argc == 5 ? argv[1] : "";
    int launches = argc == 5 ? atoi(argv[2]) : 0, blocks = argc == 5 ? atoi(argv[3]) : 0;
    int rounds = argc == 5 ? atoi(argv[4]) : 0;
    double value = strchr(mode, '=') ? strtod(strchr(mode, '=') + 1, NULL) : 0;
    bool open = !strncmp(mode, "poisson=", 8) && value > 0, costs = !strncmp(mode, "cost=", 5) && value > 0;
    if (launches < 1 || blocks < 1 || rounds < 1 ||
        (!open && !costs && strcmp(mode, "closed") && strcmp(mode, "batch"))) {
        fprintf(stderr, "goals closed|poisson=US|batch|cost=SECONDS LAUNCHES BLOCKS ROUNDS\n");
        return 2;
    }
    begin(&program, launches, (unsigned)blocks, (unsigned)rounds);
    pthread_t ears;
    if (costs) {
        cost(&program, value);
        return 0;
    }
    GOOD(pthread_create(&ears, NULL, hear, &program));
    if (!strcmp(mode, "batch"))
        batch(&program);
    else
        serve(&program, open ? value * 1e-6 : 0);
    return 0;
}
