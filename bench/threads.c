/* SPDX-License-Identifier: MIT */
/*
 * What host threads can share: the time of every SM and of every channel in each step, taken on one thread, and from these how long the steps
 * take on more threads, which take the next SM or channel whenever they are done with one. That is a bound: caches of the host are left out,
 * and the simulator's threads keep to SMs of their own as long as these have work (src/gpu/team.c); bench_scaling takes real times.
 *
 *     bench_threads [-g GPU]… [-c CYCLES] [-n RUNS] [-b NANOSECONDS] WORKLOAD …
 *
 * A run is the same every time: of each part the least time of RUNS runs (default 3) counts, in time of the processor. NANOSECONDS are added for
 * every round, as bench_barrier measures them (default 0: balance alone). Bytes are those of the simulated GPU by SM, caches and memory
 * system included.
 *
 * The team of this program takes the place of the library's: same functions, one thread.
 */
#include "corun/gpu.h"
#include "corun/workload.h"
#include "gpu/team.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MOST_GPUS 16
#define MOST_ROUNDS 200000u
#define MOST_TASKS 20000000u

enum phase { PHASE_SMS, PHASE_CHANNELS, PHASES };

static const uint32_t thread_counts[] = {2, 4, 8, 16};
#define THREAD_COUNTS (sizeof thread_counts / sizeof *thread_counts)

struct round {
    enum phase phase;
    uint32_t first, count; /* of its parts in `tasks` */
};

struct team {
    void (*sms)(void *user, uint32_t index); /* the work of the first round: SMs come before channels */
    struct round *rounds;
    float *tasks; /* nanoseconds, the least of all runs */
    uint32_t round_count, task_count;
    uint32_t rounds_known; /* of the runs before */
    double reading;        /* what one reading of the clock takes */
    bool full, differs;
};

static struct team the_team; /* a program's, not the library's */

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

struct team *team_create(uint32_t threads)
{
    (void)threads;
    return &the_team;
}

void team_destroy(struct team *team)
{
    (void)team;
}

void team_run(struct team *team, void (*work)(void *user, uint32_t index), void *user, uint32_t count)
{
    if (!team->sms)
        team->sms = work;
    bool known = team->round_count < team->rounds_known;
    struct round round = {work == team->sms ? PHASE_SMS : PHASE_CHANNELS, team->task_count, count};
    if (team->round_count == MOST_ROUNDS || team->task_count + count > MOST_TASKS)
        team->full = true;
    if (known &&
        (team->rounds[team->round_count].phase != round.phase || team->rounds[team->round_count].first != round.first ||
         team->rounds[team->round_count].count != count))
        team->differs = true;
    double last = now();
    for (uint32_t i = 0; i < count; i++) {
        work(user, i);
        double time = now(), taken = time - last - team->reading;
        last = time;
        if (team->full)
            continue;
        float *task = &team->tasks[round.first + i], nanoseconds = taken > 0 ? (float)taken : 0;
        *task = known && *task < nanoseconds ? *task : nanoseconds;
    }
    if (team->full)
        return;
    team->rounds[team->round_count++] = round;
    team->task_count += count;
}

/* How long the round takes on so many threads: each takes the next part when it is free. */
static double makespan(const struct team *team, const struct round *round, uint32_t threads)
{
    double free_at[16] = {0}, last = 0;
    for (uint32_t i = 0; i < round->count; i++) {
        uint32_t first = 0;
        for (uint32_t t = 1; t < threads; t++)
            first = free_at[t] < free_at[first] ? t : first;
        free_at[first] += (double)team->tasks[round->first + i];
        last = free_at[first] > last ? free_at[first] : last;
    }
    return last;
}

struct result {
    double alone, phases[PHASES], shared[THREAD_COUNTS];
    uint32_t rounds;
    uint64_t instructions;
    size_t bytes;
};

static size_t in_use(void)
{
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

static bool run_once(const struct corun_gpu_config *config, const struct corun_workload *workload, uint64_t cycles,
                     struct corun_diagnostics *list, double *elapsed, struct result *result)
{
    struct corun_instance *instance = NULL;
    struct corun_gpu *gpu = NULL;
    struct corun_application_description description = {0};
    struct corun_application_result application = {0};
    struct corun_limits limits = {.cycles = cycles, .threads = 16};
    uint32_t index;
    bool fine = corun_instance_create(workload, 0, 1, list, &instance) == CORUN_OK;
    size_t before = in_use();
    fine = fine && corun_gpu_create(config, list, &gpu) == CORUN_OK;
    if (fine) {
        corun_instance_fill(instance, &description);
        double start = now();
        fine = corun_gpu_add(gpu, &description, &index) == CORUN_OK && corun_gpu_run(gpu, &limits, list) == CORUN_OK;
        *elapsed = now() - start;
        result->bytes = in_use() - before;
        corun_gpu_application(gpu, 0, &application);
        result->instructions = application.warp_instructions;
    }
    corun_gpu_destroy(gpu);
    corun_instance_destroy(instance);
    return fine;
}

static bool measure(const struct corun_gpu_config *config, const struct corun_workload *workload, uint64_t cycles,
                    int runs, struct corun_diagnostics *list, struct result *result)
{
    struct team *team = &the_team;
    team->rounds_known = 0;
    team->sms = NULL;
    *result = (struct result){0};
    for (int run = 0; run < runs; run++) {
        double elapsed, parts = 0;
        team->round_count = team->task_count = 0;
        if (!run_once(config, workload, cycles, list, &elapsed, result))
            return false;
        team->rounds_known = team->round_count;
        if (team->full || team->differs) {
            fprintf(stderr, team->full ? "too many steps: fewer cycles\n" : "two runs have other rounds\n");
            return false;
        }
        for (uint32_t i = 0; i < team->task_count; i++)
            parts += (double)team->tasks[i] + team->reading;
        double alone = elapsed - parts - (double)team->round_count * team->reading;
        result->alone = run == 0 || alone < result->alone ? alone : result->alone;
    }
    return true;
}

static void add_up(const struct team *team, double barrier, struct result *result)
{
    result->rounds = team->round_count;
    for (size_t n = 0; n < THREAD_COUNTS; n++)
        result->shared[n] = result->alone;
    for (uint32_t r = 0; r < team->round_count; r++) {
        const struct round *round = &team->rounds[r];
        result->phases[round->phase] += makespan(team, round, 1);
        for (size_t n = 0; n < THREAD_COUNTS; n++)
            result->shared[n] += makespan(team, round, thread_counts[n]) + barrier;
    }
}

static bool report(const char *gpu, const char *name, const char *data, uint64_t cycles, int runs, double barrier,
                   struct corun_diagnostics *list)
{
    struct corun_gpu_config config;
    struct corun_workload *workload = NULL;
    struct result result;
    bool fine = corun_gpu_config_load(gpu, data, list, &config) == CORUN_OK &&
                corun_workload_load(name, data, list, &workload) == CORUN_OK &&
                measure(&config, workload, cycles, runs, list, &result);
    corun_workload_destroy(workload);
    if (!fine)
        return false;
    add_up(&the_team, barrier, &result);
    double whole = result.alone + result.phases[PHASE_SMS] + result.phases[PHASE_CHANNELS];
    printf("%-20s %4u %-14s %6.2f %9.1f %6.1f %6.1f %6.1f", gpu, config.sms, name,
           (double)result.instructions / whole * 1e3, whole * 1e-3 / result.rounds,
           100 * result.phases[PHASE_SMS] / whole, 100 * result.phases[PHASE_CHANNELS] / whole,
           100 * result.alone / whole);
    for (size_t n = 0; n < THREAD_COUNTS; n++)
        printf(" %6.2f", whole / result.shared[n]);
    printf(" %8zu\n", result.bytes / config.sms / 1024);
    fflush(stdout);
    return true;
}

/* What a reading of the clock takes: the least of some. */
static double cost_of_reading(void)
{
    double least = 1e9;
    for (int batch = 0; batch < 100; batch++) {
        double start = now();
        for (int i = 0; i < 100; i++)
            (void)now();
        double each = (now() - start) / 101;
        least = each < least ? each : least;
    }
    return least;
}

int main(int argc, char **argv)
{
    const char *gpus[MOST_GPUS] = {"gtx980"};
    int gpu_count = 0, runs = 3, option;
    uint64_t cycles = 20000;
    double barrier = 0;
    while ((option = getopt(argc, argv, "g:c:n:b:")) != -1) {
        if (option == 'g' && gpu_count < MOST_GPUS)
            gpus[gpu_count++] = optarg;
        else if (option == 'c' && strtoull(optarg, NULL, 10) > 0)
            cycles = strtoull(optarg, NULL, 10);
        else if (option == 'n' && atoi(optarg) > 0)
            runs = atoi(optarg);
        else if (option == 'b')
            barrier = strtod(optarg, NULL);
        else
            return 2;
    }
    gpu_count = gpu_count ? gpu_count : 1;
    struct corun_diagnostics *list = corun_diagnostics_create();
    char data[4096];
    the_team.rounds = malloc(MOST_ROUNDS * sizeof *the_team.rounds);
    the_team.tasks = malloc(MOST_TASKS * sizeof *the_team.tasks);
    the_team.reading = cost_of_reading();
    bool fine = list && the_team.rounds && the_team.tasks && optind < argc &&
                corun_data_directory(data, sizeof data, list) == CORUN_OK;
    printf("%-20s %4s %-14s %6s %9s %6s %6s %6s %6s %6s %6s %6s %8s\n", "GPU", "SMs", "workload", "M/s", "us/round",
           "SMs %", "chan %", "alone%", "x on 2", "4", "8", "16", "KB/SM");
    for (int g = 0; g < gpu_count; g++)
        for (int w = optind; w < argc && fine; w++)
            fine = report(gpus[g], argv[w], data, cycles, runs, barrier, list);
    for (size_t i = 0; list && i < corun_diagnostics_count(list); i++)
        fprintf(stderr, "%s\n", corun_diagnostics_get(list, i)->message);
    corun_diagnostics_destroy(list);
    free(the_team.rounds);
    free(the_team.tasks);
    return fine ? 0 : 1;
}
