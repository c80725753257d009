/* SPDX-License-Identifier: MIT */
/*
 * What host threads can share: the time of every SM and of every channel in each step, taken on one thread, and of what the memory system does
 * before and after its channels; and from these how long the steps take on more threads. The first does what the memory system owes beside the
 * SMs (src/gpu/follower.h), the others take the next SM whenever they are done with one, and channels when there is no SM left. That is a
 * bound: caches of the host are left out, and the simulator's threads keep to SMs of their own as long as these have work
 * (src/gpu/team.c); bench_scaling takes real times.
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
#define NOBODY UINT32_MAX

enum phase { PHASE_SMS, PHASE_CHANNELS, PHASE_MEMORY, PHASES };

static const uint32_t thread_counts[] = {2, 4, 8, 16};
#define THREAD_COUNTS (sizeof thread_counts / sizeof *thread_counts)
#define MOST_THREADS 16

/* Parts of one kind in `tasks`. */
struct parts {
    uint32_t first, count;
};

/* SMs, channels, or both: SMs, beside them what the memory system does before its channels, channels, what it does after them. */
struct round {
    struct parts sms, channels, before, after;
};

struct team {
    void (*sms)(void *user, uint32_t index); /* the work of the first round: SMs come before channels */
    struct round *rounds;
    float *tasks; /* nanoseconds, the least of all runs */
    uint32_t round_count, task_count;
    uint32_t rounds_known; /* of the runs before */
    double reading;        /* what one reading of the clock takes */
    double last;           /* when it was last read */
    struct round *beside;  /* the round that a round may be within; NULL: none */
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

uint32_t team_threads(const struct team *team)
{
    (void)team;
    return MOST_THREADS;
}

void team_destroy(struct team *team)
{
    (void)team;
}

/* What has been done since the clock was last read is the next part. */
static void note(struct team *team, struct parts *parts)
{
    double time = now(), taken = time - team->last - team->reading;
    team->last = time;
    if (team->task_count == MOST_TASKS)
        team->full = true;
    if (team->full)
        return;
    float *task = &team->tasks[team->task_count++], nanoseconds = taken > 0 ? (float)taken : 0;
    *task = team->rounds_known && *task < nanoseconds ? *task : nanoseconds;
    if (!parts->count++)
        parts->first = (uint32_t)(task - team->tasks);
}

static void run(struct team *team, struct parts *parts, void (*work)(void *user, uint32_t index), void *user,
                uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        work(user, i);
        note(team, parts);
    }
}

static void end_round(struct team *team, const struct round *round)
{
    if (team->round_count == MOST_ROUNDS)
        team->full = true;
    if (team->full)
        return;
    struct round *known = &team->rounds[team->round_count++];
    team->differs |= team->round_count <= team->rounds_known && memcmp(known, round, sizeof *known) != 0;
    *known = *round;
}

void team_run(struct team *team, struct team_kind *kind, void (*work)(void *user, uint32_t index), void *user,
              uint32_t count)
{
    (void)kind;
    struct round alone = {0}, *round = team->beside ? team->beside : &alone;
    if (!team->sms)
        team->sms = work;
    if (round == &alone)
        team->last = now();
    else
        note(team, &round->before);
    run(team, work == team->sms ? &round->sms : &round->channels, work, user, count);
    if (round == &alone)
        end_round(team, round);
}

void team_run_beside(struct team *team, struct team_kind *kind, void (*work)(void *user, uint32_t index), void *user,
                     uint32_t count, void (*first)(void *user), void *first_user)
{
    (void)kind;
    struct round round = {0};
    team->beside = &round;
    team->last = now();
    first(first_user);
    team->beside = NULL;
    note(team, round.channels.count ? &round.after : &round.before);
    run(team, &round.sms, work, user, count);
    end_round(team, &round);
}

static double sum(const struct team *team, const struct parts *parts)
{
    double total = 0;
    for (uint32_t i = 0; i < parts->count; i++)
        total += (double)team->tasks[parts->first + i];
    return total;
}

/* How long the round takes on so many threads: each takes the next part when it is free, the first one of the memory system, the others of the SMs. */
static double makespan(const struct team *team, const struct round *round, uint32_t threads)
{
    double free_at[MOST_THREADS] = {sum(team, &round->before)}, open = free_at[0], channels_done = open, last = 0;
    const struct parts *sms = &round->sms, *channels = &round->channels;
    bool in_memory_system = channels->count + round->after.count > 0;
    for (uint32_t sm = 0, channel = 0; sm < sms->count || in_memory_system;) {
        uint32_t t = in_memory_system ? 0 : NOBODY;
        for (uint32_t i = 0; i < threads; i++)
            if ((sm < sms->count || channel < channels->count) && (t == NOBODY || free_at[i] < free_at[t]))
                t = i;
        if (t == 0 && in_memory_system && channel == channels->count) {
            free_at[0] = channels_done + sum(team, &round->after);
            in_memory_system = false;
        } else if ((t == 0 && in_memory_system) || sm == sms->count) {
            double start = free_at[t] > open ? free_at[t] : open;
            free_at[t] = start + (double)team->tasks[channels->first + channel++];
            channels_done = free_at[t] > channels_done ? free_at[t] : channels_done;
        } else {
            free_at[t] += (double)team->tasks[sms->first + sm++];
        }
    }
    for (uint32_t t = 0; t < threads; t++)
        last = free_at[t] > last ? free_at[t] : last;
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
        team->beside = NULL;
        if (!run_once(config, workload, cycles, list, &elapsed, result))
            return false;
        team->rounds_known = team->round_count;
        if (team->full || team->differs) {
            fprintf(stderr, team->full ? "too many steps: fewer cycles\n" : "two runs have other rounds\n");
            return false;
        }
        for (uint32_t i = 0; i < team->task_count; i++)
            parts += (double)team->tasks[i] + team->reading;
        double alone = elapsed - parts;
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
        result->phases[PHASE_SMS] += sum(team, &round->sms);
        result->phases[PHASE_CHANNELS] += sum(team, &round->channels);
        result->phases[PHASE_MEMORY] += sum(team, &round->before) + sum(team, &round->after);
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
    double whole = result.alone;
    for (int p = 0; p < PHASES; p++)
        whole += result.phases[p];
    printf("%-20s %4u %-14s %6.2f %9.1f %6.1f %6.1f %6.1f %6.1f", gpu, config.sms, name,
           (double)result.instructions / whole * 1e3, whole * 1e-3 / result.rounds,
           100 * result.phases[PHASE_SMS] / whole, 100 * result.phases[PHASE_CHANNELS] / whole,
           100 * result.phases[PHASE_MEMORY] / whole, 100 * result.alone / whole);
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
    printf("%-20s %4s %-14s %6s %9s %6s %6s %6s %6s %6s %6s %6s %6s %8s\n", "GPU", "SMs", "workload", "M/s", "us/round",
           "SMs %", "chan %", "mem %", "alone%", "x on 2", "4", "8", "16", "KB/SM");
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
