/* SPDX-License-Identifier: MIT */
/*
 * Clients that come and go in one process: launches in one application that stays, then applications that come, launch once and
 * leave, each with kernels of its own. What the last tenth of each takes, of time and of memory, over the first: about 1 if nothing is
 * left behind.
 *
 *     bench_come_and_go [LAUNCHES [ARRIVALS]]      100 000 and 10 000 unless told otherwise
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "scripted.h"

enum { TENTHS = 10, KERNELS = 8 };

struct bench {
    struct corun_gpu *gpu;
    struct script *kernels[KERNELS];
    uint64_t moments;
};

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static double resident_mib(void)
{
    unsigned long pages = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%lu %lu", &pages, &resident) != 2)
        resident = 0;
    if (file)
        fclose(file);
    return (double)resident * (double)sysconf(_SC_PAGESIZE) / (1 << 20);
}

/* Every moment is one at which the view is filled. */
static void count_moment(void *user, const struct corun_gpu *gpu, const struct corun_observation *seen)
{
    (void)gpu;
    ((struct bench *)user)->moments += seen->kind == CORUN_OBSERVED_MOMENT;
}

static enum corun_status start(void *state, const struct corun_view *view, const double *parameters,
                               struct corun_allowances *allowances)
{
    (void)state, (void)view, (void)parameters, (void)allowances;
    return CORUN_OK;
}

static void decide(void *state, const struct corun_view *view, struct corun_policy_moment moment,
                   struct corun_allowances *allowances)
{
    (void)state;
    for (uint32_t s = 0; s < view->sm_count; s++)
        allowances->order[s * view->application_count + moment.application] = 0;
}

static const struct corun_policy idle_policy = {.version = CORUN_POLICY_VERSION,
                                                .name = "idle",
                                                .observes = CORUN_ALL_OBSERVATIONS,
                                                .wants_tb_complete = true,
                                                .start = start,
                                                .decide = decide};

static uint32_t add(struct bench *bench)
{
    struct corun_application_description description = {.name = "client"};
    uint32_t application;
    assert_int_equal(corun_gpu_add(bench->gpu, &description, &application), CORUN_OK);
    return application;
}

static void launch_and_wait(struct bench *bench, uint32_t application, uint32_t kernel)
{
    uint32_t number;
    assert_int_equal(corun_gpu_launch(bench->gpu, application, &bench->kernels[kernel]->grid,
                                      corun_gpu_cycles(bench->gpu), 0, &number),
                     CORUN_OK);
    for (struct corun_launched launched = {0}; !launched.ended;) {
        assert_int_equal(corun_gpu_advance(bench->gpu, corun_gpu_cycles(bench->gpu) + 1000000), CORUN_OK);
        corun_gpu_launched(bench->gpu, application, number, &launched);
    }
    assert_int_equal(corun_gpu_forget(bench->gpu, application, number), CORUN_OK);
}

static void come_and_go(struct bench *bench, uint32_t stays, uint32_t number)
{
    (void)stays;
    uint32_t application = add(bench);
    for (uint32_t k = 0; k < 2; k++)
        launch_and_wait(bench, application, (number + k) % KERNELS);
    assert_int_equal(corun_gpu_leave(bench->gpu, application), CORUN_OK);
}

static void launch_again(struct bench *bench, uint32_t stays, uint32_t number)
{
    launch_and_wait(bench, stays, number % KERNELS);
}

static void measure(struct bench *bench, const char *what, uint32_t stays, uint32_t count,
                    void (*one)(struct bench *bench, uint32_t stays, uint32_t number))
{
    double taken[TENTHS], moment[TENTHS], memory[TENTHS];
    for (uint32_t tenth = 0; tenth < TENTHS; tenth++) {
        uint64_t moments = bench->moments;
        double began = seconds();
        for (uint32_t i = count / TENTHS * tenth; i < count / TENTHS * (tenth + 1); i++)
            one(bench, stays, i);
        taken[tenth] = seconds() - began;
        moment[tenth] = taken[tenth] / (double)(bench->moments - moments);
        memory[tenth] = resident_mib();
    }
    double per = (double)count / TENTHS;
    printf("%u %s\n", count, what);
    printf("    first tenth  %7.2f us each  %6.2f us a moment  %7.2f MiB\n", taken[0] / per * 1e6, moment[0] * 1e6,
           memory[0]);
    printf("    last tenth   %7.2f us each  %6.2f us a moment  %7.2f MiB\n", taken[TENTHS - 1] / per * 1e6,
           moment[TENTHS - 1] * 1e6, memory[TENTHS - 1]);
    printf("    ratio        %7.2f          %6.2f              %7.2f\n", taken[TENTHS - 1] / taken[0],
           moment[TENTHS - 1] / moment[0], memory[TENTHS - 1] / memory[0]);
}

int main(int count, char **arguments)
{
    uint32_t launches = count > 1 ? (uint32_t)atoi(arguments[1]) : 100000;
    uint32_t arrivals = count > 2 ? (uint32_t)atoi(arguments[2]) : 10000;
    struct bench bench = {0};
    struct corun_gpu_config config;
    struct corun_limits limits = {.applications = 4};
    corun_gpu_config_default(&config);
    for (uint32_t k = 0; k < KERNELS; k++) {
        bench.kernels[k] = script_new(4, 2);
        script_memory(bench.kernels[k], CORUN_LOAD, CORUN_SPACE_GLOBAL, 2, 1, (UINT64_C(1) << 40) + k * 4096, 4);
        script_memory(bench.kernels[k], CORUN_STORE, CORUN_SPACE_GLOBAL, 3, 1, (UINT64_C(1) << 40) + k * 8192, 4);
        script_end(bench.kernels[k], 0, 1);
    }
    assert_int_equal(corun_gpu_create(&config, NULL, &bench.gpu), CORUN_OK);
    assert_int_equal(corun_gpu_set_policy(bench.gpu, &idle_policy, NULL, NULL), CORUN_OK);
    corun_gpu_observe(bench.gpu, 0, count_moment, &bench);
    assert_int_equal(corun_gpu_open(bench.gpu, &limits, NULL), CORUN_OK);
    uint32_t stays = add(&bench);
    measure(&bench, "launches of one application", stays, launches, launch_again);
    measure(&bench, "applications, two launches each", stays, arrivals, come_and_go);
    corun_gpu_destroy(bench.gpu);
    for (uint32_t k = 0; k < KERNELS; k++)
        free(bench.kernels[k]);
}
