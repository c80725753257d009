/* SPDX-License-Identifier: MIT */
/* Tasks whose iterations differ: meet knows nothing of that, computes everything, and is hardly ever slower than the faster side alone. Times are exact, by table. */
#include "corun/split.h"

#include "split/progress.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

enum { COUNT = 1 << 16, RATIOS = 7 };

/* A device needs `fixed` seconds for a part, and `scale` for all iterations; before iteration i that is `scale * before[i]`. */
struct device {
    double fixed, scale;
    const double *before;
};

static double seconds_of(void *user, uint64_t begin, uint64_t end)
{
    const struct device *device = user;
    return end > begin ? device->fixed + device->scale * (device->before[end] - device->before[begin]) : 0;
}

/* Work of the iteration at `place` (0 to 1). */
static double even(double place)
{
    (void)place;
    return 1;
}

static double rising(double place)
{
    return place;
}

static double falling(double place)
{
    return 1 - place;
}

static double steeply_rising(double place)
{
    return place * place * place;
}

static double heavy_back(double place)
{
    return place > 0.9 ? 100 : 1;
}

static double heavy_front(double place)
{
    return place < 0.1 ? 100 : 1;
}

static double heavy_middle(double place)
{
    return place > 0.45 && place < 0.55 ? 100 : 1;
}

static double heavy_tip(double place)
{
    return place > 0.99 ? 1000 : 1;
}

static const struct shape {
    const char *name;
    double (*work)(double place);
} shapes[] = {{"even", even},
              {"rising", rising},
              {"falling", falling},
              {"steeply rising", steeply_rising},
              {"heavy back", heavy_back},
              {"heavy front", heavy_front},
              {"heavy middle", heavy_middle},
              {"heavy tip", heavy_tip}};

static void add_up(double (*work)(double place), double *before)
{
    before[0] = 0;
    for (uint64_t i = 0; i < COUNT; i++)
        before[i + 1] = before[i] + work(((double)i + 0.5) / COUNT);
    double all = before[COUNT];
    for (uint64_t i = 0; i <= COUNT; i++)
        before[i] /= all;
}

/* Counts how often the iterations were computed on the host, for whichever device. */
static unsigned char times[COUNT];

static enum corun_status compute(void *user, uint64_t begin, uint64_t end, unsigned thread)
{
    (void)user;
    (void)thread;
    for (uint64_t i = begin; i < end; i++)
        times[i] = 1;
    return CORUN_OK;
}

/* Seconds of meet over those of the faster device alone. The GPU alone needs a second, and `fixed` for a part and for the way back. */
static double over_the_faster(const double *before, double ratio, double fixed, uint64_t granularity, double asks)
{
    struct device cpu = {0, 1 / ratio, before}, gpu = {fixed, 1, before};
    const struct corun_split_rate_table rates[] = {{.seconds = seconds_of, .user = &cpu, .asks = asks},
                                                   {.seconds = seconds_of, .user = &gpu, .most = 4, .back = fixed}};
    const struct corun_split_task task = {
        .name = "uneven", .iterations = COUNT, .granularity = granularity, .cpu = compute};
    const struct corun_split_options options = {.strategy = "meet", .rates = rates, .rate_count = 2};
    struct corun_split *split = NULL;
    for (uint64_t i = 0; i < COUNT; i++)
        times[i] = 0;
    assert_int_equal(corun_split_create(&task, &options, &split, NULL), CORUN_OK);
    assert_int_equal(corun_split_run(split, NULL), CORUN_OK);
    double seconds = corun_split_result(split)->seconds;
    for (uint64_t i = 0; i < COUNT; i++)
        assert_int_equal(times[i], 1);
    corun_split_destroy(split);
    return seconds / (1 / ratio < 1 + 2 * fixed ? 1 / ratio : 1 + 2 * fixed);
}

static void check_all(double fixed, uint64_t granularity, double asks, double most)
{
    static const double ratios[RATIOS] = {0.01, 0.1, 1.0 / 3, 1, 3, 10, 100}; /* of the CPU's speed to the GPU's */
    static double before[COUNT + 1];
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        add_up(shapes[s].work, before);
        for (size_t r = 0; r < RATIOS; r++) {
            double over = over_the_faster(before, ratios[r], fixed, granularity, asks);
            if (over > most)
                fail_msg("%s, CPU : GPU %g, granules of %u: %.3f of the faster side", shapes[s].name, ratios[r],
                         (unsigned)granularity, over);
        }
    }
}

static void small_granules_are_never_two_percent_slower(void **state)
{
    (void)state;
    check_all(0.0001, 1, 0, 1.02);
    check_all(0.001, 1, 0, 1.02);
}

/* A granule of a 256th, with all the weight of a step of a hundred in it. */
static void coarse_granules_are_bounded_where_the_cpu_asks(void **state)
{
    (void)state;
    check_all(0.001, COUNT / 256, 1e-5, 1.25);
}

static void progress_tells_the_rate_of_late(void **state)
{
    (void)state;
    struct progress progress = {0};
    assert_true(progress_rate(&progress, 1, 10, 4) == 0);
    for (int i = 0; i <= 100; i++) /* a hundred a second for a second, then one a second */
        progress_note(&progress, 0.01 * i, i);
    double rate = progress_rate(&progress, 1, 100, 4);
    assert_true(rate > 99.9 && rate < 100.1);
    assert_true(progress_rate(&progress, 1.01, 100, 4) > 50); /* too soon to tell */
    rate = progress_rate(&progress, 2, 101, 4);
    assert_true(rate > 0.9 && rate < 1.1);
    assert_true(progress.count <= MOST_SAMPLES);
    progress_note(&progress, 0.5, 50); /* the clock does not go back */
    assert_true(progress.samples[progress.count - 1].seconds > 0.9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(small_granules_are_never_two_percent_slower),
                                       cmocka_unit_test(coarse_granules_are_bounded_where_the_cpu_asks),
                                       cmocka_unit_test(progress_tells_the_rate_of_late)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
