/* SPDX-License-Identifier: MIT */
/* The software machine without a policy: runs, launches ahead, results, and times that do not depend on the host. */
#include "software/stage.h"

#include "runtime/wild_ptx.h"

static void whole_launches(void **state)
{
    (void)state;
    struct stage stage = stage_begin();
    stage.options.launching = SOFTWARE_WHOLE;
    stage_add(&stage, 100, 50, 3);
    stage_run(&stage, &(struct software_limits){.runs = 3});
    assert_int_equal(stage.results[0].runs, 3);
    assert_int_equal(stage.results[0].launches, 9);
    assert_int_equal(stage.results[0].whole, 9);
    assert_int_equal(stage.results[0].crews, 0);
    assert_int_equal(stage.results[0].thread_blocks, 900);
    stage_end(&stage);
}

static void workers(void **state)
{
    (void)state;
    struct stage stage = stage_begin();
    stage_add(&stage, 100, 50, 3);
    stage_run(&stage, &(struct software_limits){.runs = 40}); /* more launches than the ring has places */
    assert_int_equal(stage.results[0].runs, 40);
    assert_int_equal(stage.results[0].launches, 120);
    assert_int_equal(stage.results[0].whole, 0);
    assert_int_equal(stage.results[0].thread_blocks, 12000);
    assert_int_equal(stage.results[0].progress, 120 * stage.hands[0]->launches[0].thread_instructions);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < 40; i++)
        sum += stage.results[0].run_ns[i];
    assert_int_equal(sum, stage.results[0].ended_ns - stage.results[0].arrived_ns);
    stage_end(&stage);
}

static void the_same_again(void **state)
{
    (void)state;
    uint64_t times[2];
    for (uint32_t i = 0; i < 2; i++) {
        struct stage stage = stage_begin();
        stage_add(&stage, 100, 50, 2);
        stage_add(&stage, 70, 120, 1)->start_ns = 30000;
        stage_run(&stage, &(struct software_limits){.runs = 6});
        times[i] = stage.results[0].ended_ns * 1000003 + stage.results[1].ended_ns;
        assert_true(stage.results[1].arrived_ns >= 30000 && stage.results[1].arrived_ns < 33000);
        stage_end(&stage);
    }
    assert_int_equal(times[0], times[1]);
}

/* A window ends with a look, which tells how far everybody has come. */
static void a_window(void **state)
{
    (void)state;
    struct stage stage = stage_begin();
    stage_add(&stage, 3000, 500, 1);
    stage.options.check = false;
    stage.options.epoch_ns = 8224; /* 10 000 cycles */
    stage_run(&stage, &(struct software_limits){.window_ns = 200000});
    assert_int_equal(stage.results[0].runs, 0);
    assert_true(stage.results[0].measured_ns >= 200000 && stage.results[0].measured_ns < 210000);
    assert_true(stage.results[0].progress > 0);
    struct software_control control;
    const struct software_epoch *epochs;
    software_control(stage.software, &control);
    assert_int_equal(software_epochs(stage.software, &epochs), control.epochs);
    assert_true(control.epochs >= 15 && control.epochs <= 25); /* a look takes about as long */
    assert_true(epochs[5].shares[0].sms == STAGE_SMS);
    stage_end(&stage);
}

/* A chain of short launches, alone: there is nobody to ask for. */
static void short_launches_alone(void **state)
{
    (void)state;
    uint64_t times[2];
    for (uint32_t i = 0; i < 2; i++) {
        struct stage stage = stage_begin();
        stage_add(&stage, 8, 100, 12);
        stage.options.check = false;
        stage.options.launching = i ? SOFTWARE_WORKERS : SOFTWARE_WHOLE;
        stage_run(&stage, &(struct software_limits){.runs = 20});
        times[i] = stage.results[0].ended_ns - stage.results[0].run_ns[0];
        assert_int_equal(stage.results[0].thread_blocks, 20 * 12 * 8);
        stage_end(&stage);
    }
    print_message("as workers %.3f times as long\n", (double)times[1] / (double)times[0]);
    assert_true((double)times[1] < 1.05 * (double)times[0]); /* further queues come beside them: no launch waits */
}

/*
 * More thread blocks than there are places, alone: once a launch of their kind has ended before an SM could change hands, in three looks, most launches go as
 * the program has them, and nearly all where it is known beforehand how long they take. Those that take longer never do.
 */
static void many_short_thread_blocks_alone(void **state)
{
    (void)state;
    enum { TBS = 300, LAUNCHES = 4, RUNS = 10, SPINS = 4 };
    static const uint32_t spins[SPINS] = {10, 200, 2000, 200};
    static const uint64_t known[LAUNCHES] = {1, 1, 1, 1};
    uint32_t crews[SPINS];
    double looks[SPINS];
    for (uint32_t i = 0; i < SPINS; i++) {
        struct stage stage = stage_begin();
        struct software_application *application = stage_add(&stage, TBS, spins[i], LAUNCHES);
        application->launch_ns = i == 3 ? known : NULL;
        application->launch_count = LAUNCHES;
        stage_run(&stage, &(struct software_limits){.runs = RUNS});
        struct software_control control;
        software_control(stage.software, &control);
        looks[i] = (double)stage.results[0].run_ns[1] / LAUNCHES / ((double)control.look_ns / (double)control.looks);
        assert_int_equal(stage.results[0].launches, LAUNCHES * RUNS);
        assert_int_equal(stage.results[0].thread_blocks, LAUNCHES * RUNS * TBS);
        crews[i] = stage.results[0].crews;
        print_message("%u crews, launches of %.2f looks\n", crews[i], looks[i]);
        stage_end(&stage);
    }
    assert_true(looks[0] < 1 && looks[1] > 1 && looks[1] < 3 && looks[2] > 3);
    assert_in_range(crews[0], 1, 2 * LAUNCHES); /* those that were given before one of their kind had ended */
    assert_in_range(crews[1], 1, LAUNCHES * RUNS / 2);
    assert_true(crews[2] >= LAUNCHES * RUNS);
    assert_in_range(crews[3], 0, LAUNCHES);
}

/* In the middle of long thread blocks the measure is that of the moment at which the last ones had ended. */
static void long_thread_blocks(void **state)
{
    (void)state;
    double rates[2];
    for (uint32_t i = 0; i < 2; i++) {
        struct stage stage = stage_begin();
        stage_add(&stage, 128, 8000, 1); /* all at once */
        stage.options.check = false;
        stage_run(&stage, &(struct software_limits){.window_ns = i ? 1000000 : 0, .runs = i ? 0 : 2});
        rates[i] = (double)stage.results[0].progress / (double)(stage.results[0].measured_ns);
        print_message("%u runs, measured at %llu ns\n", stage.results[0].runs,
                      (unsigned long long)stage.results[0].measured_ns);
        assert_true(stage.results[0].runs >= 2);
        stage_end(&stage);
    }
    assert_true(rates[1] > 0.97 * rates[0] && rates[1] < 1.03 * rates[0]);
}

/* Nobody counts the thread blocks of a launch that has the GPU alone and fits it. Who comes gets SMs when they have ended, some 300 us long. */
static void who_comes_waits_for_launches_alone(void **state)
{
    (void)state;
    enum { COMES_NS = 50000, STILL_RUNNING_NS = 200000 };
    struct stage stage = stage_begin();
    stage_add(&stage, 64, 8000, 1); /* there is room beside them */
    stage_add(&stage, 8, 10, 1)->start_ns = COMES_NS;
    stage.options.policy = corun_policy_find("even");
    stage_run(&stage, &(struct software_limits){.runs = 3});
    assert_int_equal(stage.results[0].crews, 0); /* its launch of the first moment, at least the first one */
    assert_true(stage.results[1].run_ns[0] > STILL_RUNNING_NS);
    assert_int_equal(stage.results[0].mismatches + stage.results[1].mismatches, 0);
    print_message("after %llu ns\n", (unsigned long long)stage.results[1].run_ns[0]);
    stage_end(&stage);
}

/* What the first run leaves is kept, and may be what later machines expect. */
static void results_are_kept(void **state)
{
    (void)state;
    struct stage stage = stage_begin();
    stage_add(&stage, 100, 50, 3);
    stage.options.check = false;
    stage.options.keep = true;
    stage.options.launching = SOFTWARE_WHOLE;
    stage_run(&stage, &(struct software_limits){.runs = 1});
    const void *left = software_left(stage.software, 0, 0);
    const uint64_t bytes = stage.hands[0]->buffer.bytes;
    assert_non_null(left);
    assert_memory_equal(left, stage.hands[0]->final, bytes);
    for (uint32_t i = 0; i < 2; i++) { /* then with one bit that is wrong */
        struct stage other = stage_begin();
        uint8_t *expected = malloc(bytes);
        memcpy(expected, left, bytes);
        expected[bytes - 1] ^= (uint8_t)i;
        stage_add(&other, 100, 50, 3)->expected = (const void *const[]){expected};
        memset(other.hands[0]->final, 0, bytes); /* this is not asked */
        assert_int_equal(stage_create(&other), CORUN_OK);
        assert_int_equal(software_run(other.software, &(struct software_limits){.window_ns = 2000000}, other.list),
                         CORUN_OK);
        software_result(other.software, 0, &other.results[0]);
        assert_true(other.results[0].runs > 3);
        assert_in_range(other.results[0].mismatches, i ? 3 : 0, i ? other.results[0].runs : 0);
        free(expected);
        stage_end(&other);
    }
    stage_end(&stage);
}

/* Thread blocks of the first application begin before those of the other one that wait. */
static void priority_of_streams(void **state)
{
    (void)state;
    uint32_t runs[2];
    for (uint32_t i = 0; i < 2; i++) {
        struct stage stage = stage_begin();
        stage_add(&stage, 8, 50, 1);
        stage_add(&stage, 2000, 50, 1);
        stage.options.check = false;
        stage.options.launching = SOFTWARE_WHOLE;
        stage.options.favour = i ? SOFTWARE_PRIORITY : SOFTWARE_NO_FAVOUR;
        stage_run(&stage, &(struct software_limits){.window_ns = 1000000});
        runs[i] = stage.results[0].runs;
        assert_true(stage.results[1].runs > 1);
        stage_end(&stage);
    }
    print_message("%u runs, %u with priority\n", runs[0], runs[1]);
    assert_true(runs[1] > 2 * runs[0]);
}

/* The simulated GPU has no green contexts. */
static void own_sms_are_refused(void **state)
{
    (void)state;
    struct stage stage = stage_begin();
    stage_add(&stage, 8, 50, 1);
    stage.options.favour = SOFTWARE_OWN_SMS;
    stage.options.own_sms = 2;
    assert_int_equal(stage_create(&stage), CORUN_FAULT);
    const char *message = corun_diagnostics_get(stage.list, 0)->message;
    assert_non_null(strstr(message, "streams with SMs of their own: CUDA_ERROR_NOT_SUPPORTED"));
    stage_end(&stage);
}

/* An application that writes all over the device fails, by name; the other one goes on as if it were not there. */
static void a_fence(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        struct stage stage = stage_begin();
        stage_add(&stage, 100, 50, 3);
        stage_add(&stage, 4, 20000, 1);
        make_wild(stage.hands[1]);
        stage.options.launching =
            (const enum software_launching[]){SOFTWARE_WORKERS, SOFTWARE_SLICES, SOFTWARE_WHOLE}[i];
        stage.options.fence = true;
        stage_run(&stage, &(struct software_limits){.runs = 20});
        assert_int_equal(stage.results[0].status, CORUN_OK);
        assert_int_equal(stage.results[0].runs, 20);
        assert_int_equal(stage.results[1].status, CORUN_FAULT);
        assert_non_null(strstr(stage.results[1].failure, " (st): 4 bytes at 0x"));
        stage_end(&stage);
    }
}

static void what_is_refused(void **state)
{
    (void)state;
    struct stage stage = stage_begin();
    stage_add(&stage, 10, 1, 1);
    stage.options.launching = SOFTWARE_WHOLE;
    stage.options.policy = corun_policy_find("even");
    assert_int_equal(stage_create(&stage), CORUN_POLICY);
    stage.options.launching = SOFTWARE_WORKERS;
    stage.options.policy = corun_policy_find("qos-rollover");
    assert_int_equal(stage_create(&stage), CORUN_POLICY);
    const char *message = corun_diagnostics_get(stage.list, 1)->message;
    assert_non_null(strstr(message, "policy qos-rollover needs a machine that"));
    assert_non_null(strstr(message, "the software machine does not"));
    stage.options.policy = NULL;
    assert_int_equal(stage_create(&stage), CORUN_OK);
    assert_int_equal(software_run(stage.software, &(struct software_limits){0}, stage.list), CORUN_ARGUMENT);
    stage_end(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_launches),
        cmocka_unit_test(workers),
        cmocka_unit_test(the_same_again),
        cmocka_unit_test(a_window),
        cmocka_unit_test(short_launches_alone),
        cmocka_unit_test(long_thread_blocks),
        cmocka_unit_test(what_is_refused),
        cmocka_unit_test(a_fence),
        cmocka_unit_test(results_are_kept),
        cmocka_unit_test(priority_of_streams),
        cmocka_unit_test(own_sms_are_refused),
        cmocka_unit_test(who_comes_waits_for_launches_alone),
        cmocka_unit_test(many_short_thread_blocks_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
