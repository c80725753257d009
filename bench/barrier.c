/* SPDX-License-Identifier: MIT */
/*
 * What it costs to hand a part of a step to host threads and to wait for them: nanoseconds of a round of the team in which each thread does
 * nothing but wait until all have come, the least and the median of many batches.
 *
 *     bench_barrier [-l] [THREADS …]
 *
 * -l: the least and nothing else, as bench_threads takes it.
 */
#include "gpu/team.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BATCHES 200
#define ROUNDS 200

static double nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

struct meeting {
    atomic_uint come; /* of all rounds */
    uint32_t wanted;
};

static void meet(void *user, uint32_t index)
{
    struct meeting *meeting = user;
    (void)index;
    atomic_fetch_add(&meeting->come, 1);
    while (atomic_load(&meeting->come) < meeting->wanted)
        ;
}

int main(int argc, char **argv)
{
    static const char *const usual[] = {"2"};
    bool least = argc > 1 && strcmp(argv[1], "-l") == 0;
    const char *const *numbers = argc > 1 + least ? (const char *const *)argv + 1 + least : usual;
    int count = argc > 1 + least ? argc - 1 - least : 1;
    for (int i = 0; i < count; i++) {
        uint32_t threads = (uint32_t)strtoul(numbers[i], NULL, 10);
        struct team *team = threads > 1 && threads <= 1024 ? team_create(threads) : NULL;
        if (!team)
            return 1;
        double batches[BATCHES];
        struct meeting meeting = {0};
        for (int b = 0; b < BATCHES; b++) {
            double start = nanoseconds();
            for (int round = 0; round < ROUNDS; round++) {
                meeting.wanted += threads;
                team_run(team, NULL, meet, &meeting, threads);
            }
            batches[b] = (nanoseconds() - start) / ROUNDS;
        }
        team_destroy(team);
        qsort(batches, BATCHES, sizeof *batches, compare);
        if (least)
            printf("%.0f\n", batches[0]);
        else
            printf("%u threads: a round in which all meet takes %.0f ns at least, %.0f ns in the median\n", threads,
                   batches[0], batches[BATCHES / 2]);
    }
    return 0;
}
