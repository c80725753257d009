/* SPDX-License-Identifier: MIT */
/* The Markov chain: by hand for few warps, against each warp by name, against dice, and at its limits. */
#include "model/chain.h"

#include "model/binomial.h"
#include "model/brute_force.h"
#include "model/expansion.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#define assert_near(a, b, tolerance) assert_true(fabs((a) - (b)) <= (tolerance))
#define EXACT 1e-8 /* what the tolerance of the solver leaves */

static struct chain_kernel kernel(uint32_t warps, double wait, double uncoalesced, double requests)
{
    return (struct chain_kernel){.warps = warps, .wait = wait, .uncoalesced = uncoalesced, .requests = {1, requests}};
}

static struct chain alone(uint32_t warps, double wait, double slope, double intercept)
{
    return (struct chain){
        .tolerance = 1e-9, .kernels = {kernel(warps, wait, 0, 1)}, .latency = {{slope, intercept}, {slope, intercept}}};
}

static struct chain_steady solve(const struct chain *chain)
{
    struct chain_steady steady;
    assert_int_equal(chain_solve(chain, &steady), CORUN_OK);
    return steady;
}

/* ---- by hand ---- */

/*
 * R_m = 1/2, L = 4. From 0 idle (a round of 2): each begins to wait with 1/2. From 1 (a round of 1): it becomes ready with 1/4. From 2 (a
 * round of 1 by definition): each with 1/4.
 *
 *         | 4/16 8/16 4/16 |      12 a = 2 b + c
 *     P = | 2/16 8/16 6/16 |       7 c = 4 a + 6 b      a : b : c = 1 : 4 : 4
 *         | 1/16 6/16 9/16 |
 *
 * IPC = (2 · 1 + 1 · 4) / (2 · 1 + 1 · 4 + 1 · 4) = 6/10.
 */
static void two_warps_by_hand(void **unused)
{
    (void)unused;
    static const double rows[3][3] = {{4, 8, 4}, {2, 8, 6}, {1, 6, 9}};
    struct chain chain = alone(2, 0.5, 0, 4);
    double *matrix, *durations;
    uint32_t states;
    assert_int_equal(chain_matrix(&chain, &matrix, &durations, &states), CORUN_OK);
    assert_int_equal(states, 3);
    for (uint32_t i = 0; i < 3; i++)
        for (uint32_t j = 0; j < 3; j++)
            assert_near(matrix[i * 3 + j], rows[i][j] / 16, 1e-15);
    assert_true(durations[0] == 2 && durations[1] == 1 && durations[2] == 1);
    struct chain_steady steady = solve(&chain);
    assert_near(steady.ipc[0], 0.6, EXACT);
    assert_near(steady.stalled, 0.4, EXACT);
    assert_near(steady.idle_warps, 12.0 / 9, EXACT);
    free(matrix);
    free(durations);
}

/*
 * The same where each request that is under way makes all others slower: L = 2 x + 2, 4 from one idle warp and 6 from two. The last row is
 * 1/36, 10/36, 25/36; a : b : c = 7 : 32 : 45; IPC = (2 · 7 + 32) / (2 · 7 + 32 + 45).
 */
static void two_warps_in_each_others_way(void **unused)
{
    (void)unused;
    struct chain chain = alone(2, 0.5, 2, 2);
    assert_near(solve(&chain).ipc[0], 46.0 / 91, EXACT);
}

/*
 * R_m = 1/2, L = 6; rounds of 3, 2, 1, 1, so an idle warp becomes ready with 1/2, 1/3, 1/6, 1/6.
 *
 *         |  27 81 81  27 |               189 a = 18 b + 3 c + d
 *     P = |  18 72 90  36 | / 216         144 b = 81 a + 33 c + 15 d      a : b : c : d = 287 : 1872 : 5157 : 5076
 *         |   3 33 105 75 |                91 d = 27 a + 36 b + 75 c
 *         |   1 15 75 125 |
 *
 * IPC = (3 · 287 + 2 · 1872 + 5157) / (3 · 287 + 2 · 1872 + 5157 + 5076) = 9762 / 14838.
 */
static void three_warps_by_hand(void **unused)
{
    (void)unused;
    static const double rows[4][4] = {{27, 81, 81, 27}, {18, 72, 90, 36}, {3, 33, 105, 75}, {1, 15, 75, 125}};
    struct chain chain = alone(3, 0.5, 0, 6);
    double *matrix;
    uint32_t states;
    assert_int_equal(chain_matrix(&chain, &matrix, NULL, &states), CORUN_OK);
    for (uint32_t i = 0; i < 4; i++)
        for (uint32_t j = 0; j < 4; j++)
            assert_near(matrix[i * 4 + j], rows[i][j] / 216, 1e-15);
    assert_near(solve(&chain).ipc[0], 9762.0 / 14838, EXACT);
    free(matrix);
}

/*
 * A warp each, R_m = 1/2 and 1/4, L = 4: every state with an idle warp has a round of 1, so the warps know nothing of each other. The first
 * is ready 1/3 of the rounds, the second 1/2; rounds take 2, 1, 1, 1 with 1/6, 1/6, 1/3, 1/3, in the mean 7/6. IPC = 1/3 and 1/2 over 7/6.
 */
static void two_kernels_by_hand(void **unused)
{
    (void)unused;
    static const double rows[4][4] = {{6, 2, 6, 2}, {2, 6, 2, 6}, {3, 1, 9, 3}, {1, 3, 3, 9}};
    struct chain chain = alone(1, 0.5, 0, 4);
    chain.kernels[1] = kernel(1, 0.25, 0, 1);
    double *matrix;
    uint32_t states;
    assert_int_equal(chain_matrix(&chain, &matrix, NULL, &states), CORUN_OK);
    for (uint32_t i = 0; i < 4; i++)
        for (uint32_t j = 0; j < 4; j++)
            assert_near(matrix[i * 4 + j], rows[i][j] / 16, 1e-15);
    struct chain_steady steady = solve(&chain);
    assert_near(steady.ipc[0], 2.0 / 7, EXACT);
    assert_near(steady.ipc[1], 3.0 / 7, EXACT);
    assert_near(steady.stalled, 2.0 / 7, EXACT);
    free(matrix);
}

/*
 * One warp, R_m = 1/2, half of its accesses uncoalesced, L = 2 and 8: it waits 5 slots in the mean after 2 instructions. Of 7 slots it
 * issues in 2. Where the warps are not in each other's way, a mean latency is all that counts.
 */
static void three_states_of_a_warp(void **unused)
{
    (void)unused;
    struct chain chain = {.tolerance = 1e-9, .kernels = {kernel(1, 0.5, 0.5, 32)}, .latency = {{0, 2}, {0, 8}}};
    chain.states = MODEL_EXACT;
    struct chain_steady steady = solve(&chain);
    assert_int_equal(steady.states, 3);
    assert_near(steady.ipc[0], 2.0 / 7, EXACT);
    chain.states = MODEL_LUMPED;
    steady = solve(&chain);
    assert_int_equal(steady.states, 2);
    assert_near(steady.ipc[0], 2.0 / 7, EXACT);
}

/* ---- against other ways ---- */

static double random_from(uint64_t *state) /* splitmix64: 0 to 1 */
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

static struct chain random_chain(uint64_t *seed, uint32_t most_warps)
{
    struct chain chain = {.states = MODEL_EXACT, .tolerance = 1e-9};
    uint32_t kernels = 1 + (random_from(seed) < 0.7);
    double shortest = 2 + most_warps * kernels;
    for (uint32_t k = 0; k < kernels; k++) {
        double u = random_from(seed);
        uint32_t warps = 1 + (uint32_t)(random_from(seed) * most_warps);
        chain.kernels[k] = kernel(warps, exp(-7 * random_from(seed)),
                                  u < 0.15   ? 0
                                  : u > 0.85 ? 1
                                             : u,
                                  1 + floor(32 * random_from(seed)));
        chain.kernels[k].wait *= 0.999;
    }
    for (uint32_t kind = 0; kind < MODEL_ACCESSES; kind++) {
        chain.latency[kind].slope = random_from(seed) < 0.3 ? 0 : 20 * random_from(seed);
        chain.latency[kind].intercept = shortest * exp(5 * random_from(seed));
    }
    return chain;
}

static void as_warp_by_warp(void **unused)
{
    (void)unused;
    uint64_t seed = 1;
    for (uint32_t i = 0; i < 120; i++) {
        struct chain chain = random_chain(&seed, 2 + (i % 10 == 0));
        /* a state that is never entered cannot be eliminated */
        for (uint32_t k = 0; k < CHAIN_KERNELS; k++)
            chain.kernels[k].uncoalesced = fmin(fmax(chain.kernels[k].uncoalesced, 1e-3), 0.999);
        double ipc[CHAIN_KERNELS];
        brute_force(&chain, ipc);
        struct chain_steady steady = solve(&chain);
        for (uint32_t k = 0; k < CHAIN_KERNELS; k++)
            if (fabs(steady.ipc[k] - ipc[k]) > 1e-6)
                fail_msg("case %u, kernel %u: %.9f, warp by warp %.9f", i, k, steady.ipc[k], ipc[k]);
    }
}

/*
 * The lumped chain of decisions, in the range of GPUs: memory answers after some 200 slots and more, and the requests of a few warps do not
 * make that many times longer.
 */
static void lumped_is_near(void **unused)
{
    (void)unused;
    uint64_t seed = 2;
    double worst = 0, sum = 0;
    for (uint32_t i = 0; i < 150; i++) {
        struct chain chain = random_chain(&seed, 6);
        double intercept = 200 + 400 * random_from(&seed), slope = 8 * random_from(&seed);
        chain.latency[MODEL_COALESCED] = (struct model_line){slope, intercept};
        chain.latency[MODEL_UNCOALESCED] =
            (struct model_line){slope * random_from(&seed), intercept * (1 + random_from(&seed))};
        struct chain_steady exact = solve(&chain);
        chain.states = MODEL_LUMPED;
        struct chain_steady lumped = solve(&chain);
        for (uint32_t k = 0; k < CHAIN_KERNELS; k++) {
            double difference = fabs(exact.ipc[k] - lumped.ipc[k]);
            worst = fmax(worst, difference);
            sum += difference / 300;
        }
    }
    printf("IPC of the lumped chain: %.5f of the peak from the exact one in the mean, at most %.4f\n", sum, worst);
    assert_true(sum < 0.001);
    assert_true(worst < 0.01);
}

/*
 * The expansion of decisions, in the same range: one kernel or two, coalesced accesses, uncoalesced ones and both, memory that slows down from
 * hardly to a hundredfold.
 */
static void the_expansion_is_near(void **unused)
{
    (void)unused;
    uint64_t seed = 6;
    double sum = 0, worst = 0;
    enum { CHAINS = 1000 };
    for (uint32_t i = 0; i < CHAINS; i++) {
        struct chain chain = random_chain(&seed, i % 4 ? 16 : 24);
        chain.states = MODEL_LUMPED;
        for (uint32_t kind = 0; kind < MODEL_ACCESSES; kind++)
            chain.latency[kind].intercept = 150 + 600 * random_from(&seed);
        struct chain_steady exact = solve(&chain), near;
        assert_int_equal(expansion_solve(&chain, &near), CORUN_OK);
        for (uint32_t k = 0; k < CHAIN_KERNELS; k++) {
            double difference = exact.ipc[k] > 0 ? fabs(near.ipc[k] / exact.ipc[k] - 1) : near.ipc[k];
            worst = fmax(worst, difference);
            sum += difference / (2 * CHAINS);
        }
        assert_near(near.stalled, exact.stalled, 1e-3);
        assert_near(near.idle_warps, exact.idle_warps, 0.01);
    }
    printf("IPC of the expansion: %.1e from that of the chain in the mean, at most %.1e\n", sum, worst);
    assert_true(sum < 1e-5);
    assert_true(worst < 1e-3);
}

/* Kernels that never wait or always do, memory that answers within a round, single warps and as many as there can be. */
static void the_expansion_at_its_limits(void **unused)
{
    (void)unused;
    static const double waits[] = {0, 1e-4, 0.03, 0.5, 1}, intercepts[] = {1, 8, 400, 1e5}, shares[] = {0, 0.4, 1};
    static const uint32_t warps[] = {0, 1, 2, 20, 64};
    uint32_t compared = 0;
    for (uint32_t i = 0; i < 5 * 5 * 4 * 3 * 5 * 5; i++) {
        uint32_t first = warps[i % 5], second = warps[i / 5 % 5];
        double wait = waits[i / 25 % 5], other = waits[i / 125 % 5], share = shares[i / 625 % 3];
        double intercept = intercepts[i / 1875 % 4];
        /* the whole chain takes long where it is large: every seventh of those */
        if (first + second == 0 || (first * second >= 400 && i % 7))
            continue;
        struct chain chain = {.states = MODEL_LUMPED,
                              .tolerance = 1e-8,
                              .kernels = {kernel(first, wait, share, 8), kernel(second, other, 1 - share, 3)},
                              .latency = {{i % 2, intercept}, {3, intercept}}};
        struct chain_steady near, exact;
        if (chain_solve(&chain, &exact) != CORUN_OK)
            continue;
        assert_int_equal(expansion_solve(&chain, &near), CORUN_OK);
        compared++;
        for (uint32_t k = 0; k < CHAIN_KERNELS; k++)
            if (!(fabs(near.ipc[k] - exact.ipc[k]) <= 2e-3 * exact.ipc[k] + 1e-9))
                fail_msg("%u and %u warps, R_m %g and %g, U %g, latency %g: IPC of kernel %u %.6f, expanded %.6f",
                         first, second, wait, other, share, intercept, k, exact.ipc[k], near.ipc[k]);
    }
    assert_true(compared > 4000);
}

static uint32_t throw_dice(uint64_t *seed, uint32_t dice, double chance)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < dice; i++)
        count += random_from(seed) < chance;
    return count;
}

/* A pair of realistic size, two million rounds: five standard errors (of 100 parts of the run) around the mean. */
static void as_dice_fall(void **unused)
{
    (void)unused;
    struct chain chain = alone(12, 0.02, 1.5, 300);
    chain.kernels[1] = kernel(8, 0.3, 0, 1);
    struct chain_steady steady = solve(&chain);
    double means[2] = {0}, squares[2] = {0};
    uint64_t seed = 3;
    uint32_t idle[2] = {0, 0};
    for (uint32_t part = 0; part < 100; part++) {
        double issued[2] = {0, 0}, time = 0;
        for (uint32_t round = 0; round < 20000; round++) {
            uint32_t ready[2] = {chain.kernels[0].warps - idle[0], chain.kernels[1].warps - idle[1]};
            double duration = ready[0] + ready[1] ? ready[0] + ready[1] : 1;
            double wakes = duration / (1.5 * (idle[0] + idle[1]) + 300);
            time += duration;
            for (uint32_t k = 0; k < 2; k++) {
                issued[k] += ready[k];
                idle[k] += throw_dice(&seed, ready[k], chain.kernels[k].wait);
                idle[k] -= throw_dice(&seed, chain.kernels[k].warps - ready[k], wakes);
            }
        }
        for (uint32_t k = 0; k < 2; k++) {
            means[k] += issued[k] / time / 100;
            squares[k] += issued[k] / time * (issued[k] / time) / 100;
        }
    }
    for (uint32_t k = 0; k < 2; k++) {
        double error = sqrt((squares[k] - means[k] * means[k]) / 99);
        assert_true(error < 0.01 * means[k]);
        assert_near(steady.ipc[k], means[k], 5 * error);
    }
}

/* ---- what must hold ---- */

static void rows_sum_up_to_one(void **unused)
{
    (void)unused;
    uint64_t seed = 4;
    for (uint32_t i = 0; i < 60; i++) {
        struct chain chain = random_chain(&seed, 6);
        if (i % 2)
            chain.states = MODEL_LUMPED;
        double *matrix;
        uint32_t states;
        assert_int_equal(chain_matrix(&chain, &matrix, NULL, &states), CORUN_OK);
        for (uint32_t s = 0; s < states; s++) {
            double sum = 0;
            for (uint32_t t = 0; t < states; t++) {
                assert_true(matrix[(size_t)s * states + t] >= 0);
                sum += matrix[(size_t)s * states + t];
            }
            assert_near(sum, 1, 1e-12);
        }
        free(matrix);
    }
}

static void without_memory_it_runs_at_its_peak(void **unused)
{
    (void)unused;
    struct chain chain = alone(16, 0, 1, 400);
    struct chain_steady steady = solve(&chain);
    assert_near(steady.ipc[0], 1, EXACT);
    assert_near(steady.stalled, 0, EXACT);
    /* beside one that does nothing but wait: the slots that it leaves are the first one's */
    chain.kernels[1] = kernel(8, 1, 0, 1);
    steady = solve(&chain);
    assert_near(steady.ipc[0] + steady.ipc[1], 1, EXACT);
    assert_true(steady.ipc[1] > 0 && steady.ipc[1] < 0.05);
}

/* R_m = 1: a warp waits after every instruction; W warps issue W instructions in L slots and a bit. */
static void with_nothing_but_memory_latency_rules(void **unused)
{
    (void)unused;
    for (uint32_t warps = 1; warps <= 8; warps++) {
        struct chain chain = alone(warps, 1, 0, 10000);
        assert_near(solve(&chain).ipc[0], warps / 10001.0, 2e-6 * warps);
    }
}

static void one_kernel_in_two_halves_is_one(void **unused)
{
    (void)unused;
    uint64_t seed = 5;
    for (uint32_t i = 0; i < 40; i++) {
        double wait = random_from(&seed), slope = 5 * random_from(&seed), intercept = 30 + 600 * random_from(&seed);
        uint32_t first = 1 + i % 9, second = 1 + i % 7;
        struct chain whole = alone(first + second, wait, slope, intercept),
                     halves = alone(first, wait, slope, intercept);
        halves.kernels[1] = kernel(second, wait, 0, 1);
        struct chain_steady one = solve(&whole), two = solve(&halves);
        assert_near(two.ipc[0] + two.ipc[1], one.ipc[0], 1e-6);
        assert_near(two.ipc[0] * second, two.ipc[1] * first, 1e-5);
        assert_near(two.stalled, one.stalled, 1e-6);
    }
}

/* More warps, less memory, shorter latency: never slower. */
static void what_helps_helps(void **unused)
{
    (void)unused;
    uint64_t seed = 6;
    for (uint32_t i = 0; i < 60; i++) {
        struct chain chain = alone(1 + i % 20, 0.9 * random_from(&seed), 0, 30 + 600 * random_from(&seed)),
                     better = chain;
        double ipc = solve(&chain).ipc[0];
        better.kernels[0].warps++;
        assert_true(solve(&better).ipc[0] >= ipc - EXACT);
        better = chain;
        better.kernels[0].wait *= 0.8;
        assert_true(solve(&better).ipc[0] >= ipc - EXACT);
        better = chain;
        better.latency[0].intercept *= 0.8;
        assert_true(solve(&better).ipc[0] >= ipc - EXACT);
    }
}

/* With accesses of one kind, or of two kinds that are alike, three states are two. */
static void three_states_collapse_to_two(void **unused)
{
    (void)unused;
    uint64_t seed = 7;
    for (uint32_t i = 0; i < 30; i++) {
        struct chain two = alone(1 + i % 8, random_from(&seed), random_from(&seed), 100), three = two;
        two.kernels[0].requests[1] = three.kernels[0].requests[1] = 1;
        three.kernels[0].uncoalesced = 0.01 + 0.98 * random_from(&seed);
        three.states = MODEL_EXACT;
        struct chain_steady a = solve(&two), b = solve(&three);
        assert_true(b.states > a.states);
        assert_near(a.ipc[0], b.ipc[0], EXACT);
        assert_near(a.idle_warps, b.idle_warps, 1e-6);
        /* and a share of 0 or 1 needs no third */
        three.kernels[0].uncoalesced = i % 2;
        assert_int_equal(solve(&three).states, a.states);
    }
}

/* Memory that answers within a round, and chains that hardly move: a value or a status, never a wrong one or none. */
static void strange_chains_end(void **unused)
{
    (void)unused;
    static const double waits[] = {0, 1e-12, 1e-6, 0.5, 1 - 1e-9, 1}, latencies[] = {1e-3, 1, 2, 1e3, 1e9};
    for (uint32_t i = 0; i < sizeof waits / sizeof *waits; i++)
        for (uint32_t j = 0; j < sizeof latencies / sizeof *latencies; j++)
            for (uint32_t k = 0; k < 2; k++) {
                struct chain chain = alone(12, waits[i], j, latencies[j]);
                if (k)
                    chain.kernels[1] = kernel(7, waits[j], 0.5, 32);
                struct chain_steady steady;
                assert_int_equal(chain_solve(&chain, &steady), CORUN_OK);
                double total = steady.ipc[0] + steady.ipc[1];
                assert_near(total + steady.stalled, 1, 1e-6);
                assert_true(total >= 0 && total <= 1 + EXACT);
            }
}

static void nonsense_is_refused(void **unused)
{
    (void)unused;
    struct chain_steady steady;
    struct chain chain = alone(4, 0.5, 1, 100), bad = chain;
    bad.kernels[0].warps = 0;
    assert_int_equal(chain_solve(&bad, &steady), CORUN_ARGUMENT);
    bad.kernels[0].warps = CHAIN_MAX_WARPS + 1;
    assert_int_equal(chain_solve(&bad, &steady), CORUN_ARGUMENT);
    bad = chain;
    bad.kernels[0].wait = NAN;
    assert_int_equal(chain_solve(&bad, &steady), CORUN_ARGUMENT);
    bad.kernels[0].wait = 1.01;
    assert_int_equal(chain_solve(&bad, &steady), CORUN_ARGUMENT);
    bad = chain;
    bad.latency[1].intercept = 0;
    assert_int_equal(chain_solve(&bad, &steady), CORUN_ARGUMENT);
    bad = chain;
    bad.latency[0].slope = -1;
    assert_int_equal(chain_solve(&bad, &steady), CORUN_ARGUMENT);
    bad = chain;
    bad.kernels[0].requests[0] = INFINITY;
    assert_int_equal(chain_solve(&bad, &steady), CORUN_ARGUMENT);
}

static void binomials_are_binomial(void **unused)
{
    (void)unused;
    static const double chances[] = {0, 1e-9, 0.01, 0.3, 0.5, 0.77, 0.999, 1};
    for (uint32_t n = 0; n <= BINOMIAL_MAX; n += n < 5 ? 1 : 7)
        for (uint32_t c = 0; c < sizeof chances / sizeof *chances; c++) {
            struct binomial binomial;
            double p = chances[c], sum = 0;
            binomial_make(n, p, 1e-13, &binomial);
            for (uint32_t k = 0; k <= n; k++) {
                bool kept = k >= binomial.first && k <= binomial.last;
                double value = kept ? binomial.p[k - binomial.first] : 0;
                double way = exp(lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)) * pow(p, k) * pow(1 - p, n - k);
                assert_near(value, way, 1e-11);
                sum += value;
            }
            assert_near(sum, 1, 1e-14);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_warps_by_hand),
        cmocka_unit_test(two_warps_in_each_others_way),
        cmocka_unit_test(three_warps_by_hand),
        cmocka_unit_test(two_kernels_by_hand),
        cmocka_unit_test(three_states_of_a_warp),
        cmocka_unit_test(as_warp_by_warp),
        cmocka_unit_test(lumped_is_near),
        cmocka_unit_test(the_expansion_is_near),
        cmocka_unit_test(the_expansion_at_its_limits),
        cmocka_unit_test(as_dice_fall),
        cmocka_unit_test(rows_sum_up_to_one),
        cmocka_unit_test(without_memory_it_runs_at_its_peak),
        cmocka_unit_test(with_nothing_but_memory_latency_rules),
        cmocka_unit_test(one_kernel_in_two_halves_is_one),
        cmocka_unit_test(what_helps_helps),
        cmocka_unit_test(three_states_collapse_to_two),
        cmocka_unit_test(strange_chains_end),
        cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(binomials_are_binomial),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
