/* SPDX-License-Identifier: MIT */
/*
 * The simulated host held against closed forms: queues (M/M/1, M/D/1, M/D/c, M/G/1 with processor sharing), Amdahl's law, and what cache,
 * memory and moves cost by hand. Seeds are fixed, so each outcome is; tolerances of the queues are the intervals that the runs themselves give.
 */
#include "allot/run.h"

#define ONE_THREAD(sizes) STAGE_SERVICE("1", sizes, "speedup: [{cores: [1]}]")
#define LINEAR(sizes) STAGE_SERVICE("12", sizes, "speedup: [{cores: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]}]")
#define QUERIES 50000

/* One service, one query at a time: mean response 1 / (mu - lambda). */
static void one_server_and_exponential_sizes(void **state)
{
    (void)state;
    const double loads[] = {0.3, 0.6, 0.8};
    for (int i = 0; i < 3; i++) {
        struct run run;
        run_begin(&run, &allot_fixed);
        run.parameters[0] = 12;
        run_add(&run, stage_application(ONE_THREAD("{exponential: {mean: 1000000}}")), 0, 0);
        run_poisson(&run, QUERIES * (i + 1), 1e6 / loads[i], 11 + i);
        run_perform(&run, 0);
        run_expect(run_estimate(&run, false), 1e6 / (1 - loads[i]), 0.05);
        run_end(&run);
    }
}

/* P(N >= k) for N Poisson of a mean below k: terms that shrink, from the logarithm of the first. */
static double poisson_tail(int k, double mean)
{
    double sum = 0, term = exp(k * log(mean) - mean - lgamma(k + 1.0));
    for (int j = k; term > 1e-18 * (sum + 1e-300); j++) {
        sum += term;
        term *= mean / (j + 1);
    }
    return sum;
}

/* Crommelin, Delay probability formulae, 1934: the mean wait over the service time, `offered` = lambda * service. */
static double crommelin(int servers, double offered)
{
    double wait = 0;
    for (int i = 1; i <= 400; i++)
        wait += poisson_tail(i * servers, i * offered) - servers / offered * poisson_tail(i * servers + 1, i * offered);
    return wait;
}

/* Each query gets one core of `cores`. */
static void several_servers_and_equal_sizes(void **state)
{
    (void)state;
    /* What is known without the series: M/D/1 waits load / (2 (1 - load)). */
    assert_true(fabs(crommelin(1, 0.5) - 0.5) < 1e-6);
    const struct {
        uint32_t cores;
        double load;
    } cases[] = {{1, 0.5}, {4, 0.8}, {12, 0.85}};
    for (int i = 0; i < 3; i++) {
        struct run run;
        run_begin(&run, &allot_fixed);
        run.machine.cores = cases[i].cores;
        run_add(&run, stage_application(ONE_THREAD("{fixed: 1000000}")), 0, 0);
        run_poisson(&run, 3 * QUERIES, 1e6 / (cases[i].load * cases[i].cores), 21 + i);
        run_perform(&run, 0);
        run_expect(run_estimate(&run, true), 1e6 * crommelin((int)cases[i].cores, cases[i].load * cases[i].cores),
                   0.08);
        run_end(&run);
    }
}

/* Equal turns: the mean response is that of M/M/1 whatever the distribution of the sizes. */
static void equal_turns_for_all_queries(void **state)
{
    (void)state;
    const char *const services[] = {LINEAR("{fixed: 12M}"), LINEAR("{table: [[4M, 2], [28M, 1]]}"),
                                    LINEAR("{exponential: {mean: 12M}}")};
    for (int i = 0; i < 3; i++) {
        struct run run;
        run_begin(&run, &allot_os);
        run.parameters[2] = 0; /* any number of queries at a time */
        run_add(&run, stage_application(services[i]), 0, 0);
        run_poisson(&run, QUERIES, 1e6 / 0.6, 31 + i);
        run_perform(&run, 0);
        run_expect(run_estimate(&run, false), 1e6 / (1 - 0.6), 0.05);
        run_end(&run);
    }
}

static uint64_t alone_ns(struct run *run)
{
    run->count = 1;
    run->arrivals = calloc(1, sizeof *run->arrivals);
    assert_non_null(run->arrivals);
    run->arrivals[0] = (struct host_arrival){1000, 0, run->tenants[0].application->sizes.mean, 1};
    run_perform(run, 0);
    assert_int_equal(run->answers[0].started_ns, 1000);
    return run->answers[0].ended_ns - 1000;
}

static void amdahl(void **state)
{
    (void)state;
    for (uint32_t cores = 1; cores <= 12; cores++) {
        struct run run;
        run_begin(&run, &allot_fixed);
        run.parameters[0] = cores;
        run_add(&run, stage_application(STAGE_SERVICE("12", "{fixed: 100000000}", "stages: [[1, 1], [9, 27720]]")), 0,
                0);
        /* Rates are rounded, and an interval may end in between: a nanosecond more or less. */
        assert_true(fabs((double)alone_ns(&run) - 1e8 * (0.1 + 0.9 / cores)) <= 2);
        run_end(&run);
    }
}

/* A thread that misses once in 100 instructions, whatever its cache: 1 ns and 100 / 2 ns of memory for 100 instructions. */
#define MISSING(kind, more) \
    "application: m\nkind: " kind "\nthreads: 1\ninstructions: " more "\ncycles_per_instruction: 1\noverlap: 2\n" \
    "writebacks: 0.5\nspeedup: [{cores: [1]}]\nmisses: [{points: [[64, 10]]}]\n"

static void a_miss_costs_latency_over_overlap(void **state)
{
    (void)state;
    struct run run;
    run_begin(&run, &allot_fixed);
    run.machine.memory_mbps = 4000000; /* nobody waits: the load is that of 1 byte per ns in 4000 */
    run_add(&run, stage_application(MISSING("service", "[[0, 0], [1, 1]]\nsizes: {fixed: 1000000}")), 0, 0);
    double load = 1e6 * 0.01 * 64 * 1.5 / 1.5e6 / 4000, latency = 100 + 10 * load / (1 - load);
    uint64_t ns = alone_ns(&run);
    assert_true(fabs((double)ns - 1e6 * (1 + 0.01 * latency / 2)) < 10);
    assert_true(fabs(run.results[0].traffic_bytes - 1e6 * 0.01 * 64 * 1.5) < 1);
    run_end(&run);
}

/* Eight programs that want more than the memory has: it is nearly full, and the latency is the one of that load. */
static void memory_slows_everybody(void **state)
{
    (void)state;
    struct run run;
    run_begin(&run, &allot_os);
    run.machine.memory_mbps = 4000;
    run_add(&run, stage_application(MISSING("batch", "1G")), 0, 8);
    run_perform(&run, 1000000000);
    double rate = run.results[0].instructions / 1e9 / 8, traffic = run.results[0].traffic_bytes / 1e9;
    double load = traffic / 4, latency = 100 + 10 * load / (1 - load);
    assert_true(load > 0.9 && load < 1);
    assert_true(fabs(rate - 1 / (1 + 0.01 * latency / 2)) < 1e-9);
    assert_true(fabs(run.result.busiest_load - load) < 1e-9);
    /* Alone, each would have gone on at 1 / 1.5. */
    assert_true(rate < 0.99 / 1.5);
    run_end(&run);
}

/*
 * A cold query on one way of 1 MiB of its own: 20 misses of 1000 instructions while it has less than 1 MiB, none with it. It fills 64 * 0.02 bytes
 * an instruction at 1 / (1 + 0.02 * 100) instructions per ns: 2^20 / (1.28 / 3) ns, and 1e7 - 2^20 / 1.28 instructions are left.
 */
#define FILLING \
    "application: f\nkind: service\nthreads: 1\nsizes: {fixed: 10000000}\ninstructions: [[0, 0], [1, 1]]\n" \
    "cycles_per_instruction: 1\noverlap: 1\nspeedup: [{cores: [1]}]\nmisses: [{points: [[1048575, 20], [1M, 0]]}]\n"

static void a_cold_cache_fills_by_its_misses(void **state)
{
    (void)state;
    for (uint32_t scale = 0; scale <= 2; scale++) {
        struct run run;
        run_begin(&run, &allot_fixed);
        run.machine.memory_mbps = 4000000;
        run.machine.refill_permille = 1000 * scale;
        run_add(&run, stage_application(FILLING), 0, 0);
        double load = 1.28 / 3 / 4000, pace = 1 + 0.02 * (100 + 10 * load / (1 - load));
        double filling = 1048576 / 1.28 * scale; /* instructions */
        /* Without a cost the way is full after the first event, 820 000 instructions on: as soon as it is asked for. */
        double expected = filling * pace + (1e7 - filling);
        uint64_t ns = alone_ns(&run);
        if (scale)
            assert_true(fabs((double)ns - expected) < 1e-4 * expected);
        else
            assert_true((double)ns <= 1.0001e7);
        run_end(&run);
    }
}

/* Two queries of one core each on two cores; then a policy that gives one of them both: it moves, and pays for it once. */
struct moving {
    uint32_t moments;
};

static enum corun_status moving_start(void *state, const struct corun_host_view *view, const double *values,
                                      struct corun_host_allowances *allowances)
{
    (void)state, (void)view, (void)values, (void)allowances;
    return CORUN_OK;
}

static void moving_decide(void *state, const struct corun_host_view *view, struct corun_host_moment moment,
                          struct corun_host_allowances *allowances)
{
    struct moving *moving = state;
    (void)view;
    if (moment.event == CORUN_HOST_QUERY_ARRIVES) {
        allowances->start[moment.query] = true;
        allowances->query[moment.query] = (struct corun_host_share){1, 1};
    }
    if (moment.event == CORUN_HOST_QUERY_INTERVAL && !moving->moments++)
        allowances->query[moment.query] = (struct corun_host_share){4, 1};
}

static const struct corun_host_policy moving_policy = {.version = CORUN_HOST_POLICY_VERSION,
                                                       .name = "moving",
                                                       .state_bytes = sizeof(struct moving),
                                                       .start = moving_start,
                                                       .decide = moving_decide};

static void moved_threads_stand_still_for_a_while(void **state)
{
    (void)state;
    struct run run;
    run_begin(&run, &moving_policy);
    run.machine.switch_ns = 4000;
    run.machine.private_bytes = 6400; /* 100 lines of 100 ns each: 10 us */
    run_add(&run, stage_application(LINEAR("{fixed: 60000000}")), 0, 0);
    /* 20 ms on one core, three quarters of 14 us still, 40 000 000 instructions on four. */
    assert_int_equal(alone_ns(&run), 20000000 + 10500 + 10000000);
    assert_int_equal(run.result.moves, 1);
    run_end(&run);
}

/* Two programs with a thread each on one core: each slice of 3 ms costs 14 us. */
static void turns_on_a_core_cost_switches(void **state)
{
    (void)state;
    struct run run;
    run_begin(&run, &allot_os);
    run.machine.cores = 1;
    run.machine.switch_ns = 4000;
    run.machine.private_bytes = 6400;
    run_add(&run,
            stage_application("application: b\nkind: batch\nthreads: 1\ninstructions: 1G\ncycles_per_instruction: 2\n"
                              "overlap: 1\nspeedup: [{cores: [1]}]\nmisses: [{points: [[64, 0]]}]\n"),
            0, 2);
    run_perform(&run, 1000000000);
    assert_true(fabs(run.results[0].instructions - 5e8 * (1 - 14000.0 / 3000000)) < 1);
    run_end(&run);
}

/* Applications in turns: one of one instance has as much as one of three, unless it cannot use it. */
static void turns_by_threads_and_by_applications(void **state)
{
    (void)state;
    static const char batch[] = "application: b\nkind: batch\nthreads: 4\ninstructions: 1G\ncycles_per_instruction: 1\n"
                                "overlap: 1\nspeedup: [{cores: [1, 2, 3, 4]}]\nmisses: [{points: [[64, 0]]}]\n";
    const struct {
        uint32_t cores, instances[2];
        double by_threads[2], by_applications[2]; /* cores */
    } cases[] = {{4, {1, 3}, {1, 3}, {2, 2}}, {12, {1, 3}, {3, 9}, {4, 8}}, {12, {1, 1}, {4, 4}, {4, 4}}};
    for (int i = 0; i < 6; i++) {
        struct run run;
        run_begin(&run, &allot_os);
        run.parameters[0] = i % 2;
        run.machine.cores = cases[i / 2].cores;
        run_add(&run, stage_application(batch), 0, cases[i / 2].instances[0]);
        run_add(&run, stage_application(batch), 0, cases[i / 2].instances[1]);
        run_perform(&run, 1000000);
        const double *expected = i % 2 ? cases[i / 2].by_applications : cases[i / 2].by_threads;
        for (int a = 0; a < 2; a++)
            assert_true(fabs(run.results[a].instructions - expected[a] * 1e6) < 1e-3);
        run_end(&run);
    }
}

/* Two alike programs have half of the cache each; one whose misses do not depend on it takes what the other leaves. */
static void shared_cache_goes_to_who_fills_it(void **state)
{
    (void)state;
    static const char small[] = "application: s\nkind: batch\nthreads: 1\ninstructions: 1G\ncycles_per_instruction: 1\n"
                                "overlap: 1\nspeedup: [{cores: [1]}]\nmisses: [{points: [[4M, 10], [8M, 0.01]]}]\n";
    struct run run;
    run_begin(&run, &allot_os);
    run.machine.memory_mbps = 4000000;
    run_add(&run, stage_application(small), 0, 1);
    run_add(&run, stage_application(small), 0, 1);
    run_perform(&run, 4000000000);
    /* 8 MiB each are enough; the way there takes 8 MiB at 0.64 bytes for 2 ns at most. */
    assert_true(run.results[0].instructions == run.results[1].instructions);
    assert_true(run.results[0].instructions > 0.96 * 4e9);
    run_end(&run);

    run_begin(&run, &allot_os);
    run.machine.memory_mbps = 4000000;
    run_add(&run, stage_application(small), 0, 1);
    run_add(&run, stage_application(MISSING("batch", "1G")), 0, 4);
    run_perform(&run, 4000000000);
    /* Streams bring in as much as they can: less than 8 MiB are left for it, and it misses again and again. */
    assert_true(run.results[0].instructions < 0.7 * 4e9);
    run_end(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_server_and_exponential_sizes),  cmocka_unit_test(several_servers_and_equal_sizes),
        cmocka_unit_test(equal_turns_for_all_queries),       cmocka_unit_test(amdahl),
        cmocka_unit_test(a_miss_costs_latency_over_overlap), cmocka_unit_test(memory_slows_everybody),
        cmocka_unit_test(a_cold_cache_fills_by_its_misses),  cmocka_unit_test(moved_threads_stand_still_for_a_while),
        cmocka_unit_test(turns_on_a_core_cost_switches),     cmocka_unit_test(turns_by_threads_and_by_applications),
        cmocka_unit_test(shared_cache_goes_to_who_fills_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
