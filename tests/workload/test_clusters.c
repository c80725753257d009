/* SPDX-License-Identifier: MIT */
/*
 * Clusters of thread blocks with timing: random kernels leave the bytes of the functional run, with any number of host threads and after the same
 * cycles; what a way to another SM costs; who waits for whom when places are few.
 */
#include "corun/config.h"
#include "corun/gpu.h"
#include "corun/memory.h"
#include "corun/module.h"
#include "corun/policy.h"
#include "corun/workload.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define OUT_BYTES 65536u
#define WORDS 256u /* of shared memory, for each thread block */

/* One launch of one kernel in memory of its own. */
struct program {
    struct corun_diagnostics *list;
    struct corun_memory *memory;
    struct corun_module *module;
    struct corun_module_instance *instance;
    struct corun_grid *grid;
    uint64_t out, start_cycle;
};

static void program_load(struct program *program, uint32_t application, const char *text, struct corun_dim3 grid,
                         uint32_t threads, struct corun_dim3 cluster, bool balanced, uint32_t dynamic_shared)
{
    *program = (struct program){.list = corun_diagnostics_create(), .memory = corun_memory_create(application)};
    enum corun_status status = corun_module_load("test.ptx", text, strlen(text), program->list, &program->module);
    if (status != CORUN_OK)
        fail_msg("%s", corun_diagnostics_get(program->list, 0)->message);
    assert_int_equal(corun_module_instance_create(program->module, program->memory, program->list, &program->instance),
                     CORUN_OK);
    assert_int_equal(corun_memory_allocate(program->memory, OUT_BYTES, &program->out), CORUN_OK);
    struct corun_launch_description description = {.kernel = corun_module_kernel(program->module, "k"),
                                                   .grid = grid,
                                                   .block = {threads, 1, 1},
                                                   .dynamic_shared_bytes = dynamic_shared,
                                                   .parameters = &program->out,
                                                   .parameter_bytes = 8,
                                                   .cluster = cluster,
                                                   .cluster_balanced = balanced};
    status = corun_grid_create(program->instance, &description, program->list, &program->grid);
    if (status != CORUN_OK)
        fail_msg("%s", corun_diagnostics_get(program->list, 0)->message);
}

static void program_free(struct program *program)
{
    corun_grid_destroy(program->grid);
    corun_module_instance_destroy(program->instance);
    corun_module_destroy(program->module);
    corun_memory_destroy(program->memory);
    corun_diagnostics_destroy(program->list);
}

static void program_read(const struct program *program, void *bytes)
{
    assert_int_equal(corun_memory_read(program->memory, program->out, bytes, OUT_BYTES), CORUN_OK);
}

static const struct corun_grid *only_grid(void *user, uint32_t index)
{
    struct program *program = user;
    return index == 0 ? program->grid : NULL;
}

struct outcome {
    enum corun_status status;
    uint64_t cycles;
    struct corun_application_result applications[2];
    char message[400];
};

/* All programs arrive at once, run once and leave; `cycles` 0: until they have. */
static struct outcome simulate(const struct corun_gpu_config *config, struct program *programs, uint32_t count,
                               uint32_t threads, const struct corun_policy *policy, uint64_t cycles)
{
    struct outcome outcome = {0};
    struct corun_diagnostics *list = corun_diagnostics_create();
    struct corun_gpu *gpu;
    assert_int_equal(corun_gpu_create(config, list, &gpu), CORUN_OK);
    if (policy)
        assert_int_equal(corun_gpu_set_policy(gpu, policy, NULL, list), CORUN_OK);
    for (uint32_t i = 0; i < count; i++) {
        const struct corun_application_description description = {.name = i ? "second" : "first",
                                                                  .goal = CORUN_GOAL_NONE,
                                                                  .grid = only_grid,
                                                                  .start_cycle = programs[i].start_cycle,
                                                                  .user = &programs[i]};
        uint32_t index;
        assert_int_equal(corun_gpu_add(gpu, &description, &index), CORUN_OK);
    }
    struct corun_limits limits = {.cycles = cycles ? cycles : 3000000, .threads = threads, .runs = 1};
    outcome.status = corun_gpu_run(gpu, &limits, list);
    outcome.cycles = corun_gpu_cycles(gpu);
    for (uint32_t i = 0; i < count; i++)
        corun_gpu_application(gpu, i, &outcome.applications[i]);
    if (corun_diagnostics_count(list))
        snprintf(outcome.message, sizeof outcome.message, "%s", corun_diagnostics_get(list, 0)->message);
    corun_gpu_destroy(gpu);
    corun_diagnostics_destroy(list);
    return outcome;
}

/* 4 GPCs of 3 or 2 SMs, and few of everything in an SM. */
static struct corun_gpu_config small_config(void)
{
    struct corun_gpu_config config;
    corun_gpu_config_default(&config);
    config.sms = 11;
    config.gpcs = 4;
    config.cluster_tbs = 16;
    config.tbs_per_sm = 8;
    config.epoch_cycles = 1000;
    return config;
}

static uint32_t next_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*state >> 33);
}

static uint32_t between(uint64_t *state, uint32_t first, uint32_t last)
{
    return first + next_random(state) % (last - first + 1);
}

#define HEAD \
    ".version 8.1\n.target sm_90\n.address_size 64\n.extern .shared .align 16 .b8 more[];\n" \
    ".visible .entry k(.param .u64 p)\n{\n.reg .pred %p<8>;\n.reg .b32 %r<32>;\n.reg .b64 %rd<8>, %out;\n" \
    ".reg .b32 %t, %rank, %size, %sum, %base;\n.shared .align 16 .b8 own[1024];\n" \
    "ld.param.u64 %out, [p];\nmov.u32 %t, %tid.x;\nmov.u32 %rank, %cluster_ctarank;\nmov.u32 %size, " \
    "%cluster_nctarank;\n"
#define MEET "barrier.cluster.arrive;\nbarrier.cluster.wait;\n"

static void add(char *text, size_t bytes, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void add(char *text, size_t bytes, const char *format, ...)
{
    size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + used, bytes - used, format, arguments);
    va_end(arguments);
}

/* %r3: slot `a` t + `b` of the thread block that is `c` t + `d` behind this one, as an address; by a generic address if `wide`. */
static void add_target(char *text, size_t bytes, uint64_t *random, bool same_slot, bool *wide)
{
    uint32_t across = between(random, 0, 3);
    add(text, bytes, "mad.lo.u32 %%r1, %%t, %u, %%rank;\nadd.u32 %%r1, %%r1, %u;\nrem.u32 %%r1, %%r1, %%size;\n",
        across, between(random, 0, 5));
    if (same_slot)
        add(text, bytes, "mov.u32 %%r2, %%t;\n");
    else
        add(text, bytes, "mad.lo.u32 %%r2, %%t, %u, %u;\nand.b32 %%r2, %%r2, %u;\n", between(random, 0, 9),
            between(random, 0, 99), WORDS - 1);
    add(text, bytes, "shl.b32 %%r2, %%r2, 2;\nadd.u32 %%r2, %%r2, %%base;\n");
    *wide = between(random, 0, 1);
    if (*wide)
        add(text, bytes, "cvt.u64.u32 %%rd1, %%r2;\ncvta.shared.u64 %%rd1, %%rd1;\nmapa.u64 %%rd2, %%rd1, %%r1;\n");
    else
        add(text, bytes, "mapa.shared::cluster.u32 %%r3, %%r2, %%r1;\n");
}

/* What the threads do to each other between two meetings does not depend on their order. */
static void make_kernel(char *text, size_t bytes, uint64_t *random)
{
    snprintf(text, bytes, "%s",
             HEAD
             "mov.u32 %base, own;\nmov.u32 %sum, 0;\nmov.u32 %r9, %t;\nZERO: shl.b32 %r8, %r9, 2;\n"
             "add.u32 %r8, %r8, %base;\nmul.lo.u32 %r7, %r9, 77;\nst.shared.u32 [%r8], %r7;\nmov.u32 %r6, %ntid.x;\n"
             "add.u32 %r9, %r9, %r6;\nsetp.lt.u32 %p1, %r9, 256;\n@%p1 bra ZERO;\n" MEET);
    for (uint32_t phases = between(random, 2, 6); phases; phases--) {
        uint32_t kind = between(random, 0, 3);
        for (uint32_t turns = between(random, 1, kind == 0 ? 1 : 4); turns; turns--) {
            bool wide, partly = between(random, 0, 2) == 0;
            if (partly)
                add(text, bytes, "setp.gt.u32 %%p2, %%t, %u;\n", between(random, 0, 40));
            const char *guard = partly ? "@%p2 " : "";
            add_target(text, bytes, random, kind == 0, &wide);
            const char *space = wide ? "" : ".shared::cluster", *at = wide ? "%rd2" : "%r3";
            if (kind == 0)
                add(text, bytes, "add.u32 %%r5, %%sum, %%t;\n%sst%s.u32 [%s], %%r5;\n", guard, space, at);
            else if (kind == 1)
                add(text, bytes, "%sred%s.add.u32 [%s], 3;\n", guard, space, at);
            else if (kind == 2)
                add(text, bytes, "mov.u32 %%r4, 0;\n%sld%s.u32 %%r4, [%s];\nmad.lo.u32 %%sum, %%sum, 5, %%r4;\n", guard,
                    space, at);
            else
                add(text, bytes, "%satom%s.max.u32 %%r4, [%s], 90000;\n", guard, space, at);
        }
        if (between(random, 0, 1))
            add(text, bytes, MEET);
        else
            add(text, bytes,
                "barrier.cluster.arrive.release.aligned;\nadd.u32 %%sum, %%sum, 1;\n"
                "barrier.cluster.wait.acquire.aligned;\n");
    }
    add(text, bytes,
        "mov.u32 %%r10, %%ctaid.x;\nmov.u32 %%r11, %%ctaid.y;\nmov.u32 %%r12, %%nctaid.x;\n"
        "mad.lo.u32 %%r10, %%r11, %%r12, %%r10;\nmov.u32 %%r13, %%ntid.x;\nmad.lo.u32 %%r10, %%r10, %%r13, %%t;\n"
        "mul.wide.u32 %%rd3, %%r10, 4;\nadd.u64 %%rd3, %%rd3, %%out;\nshl.b32 %%r14, %%t, 2;\nadd.u32 %%r14, %%r14, "
        "%%base;\n"
        "ld.shared.u32 %%r15, [%%r14];\nmad.lo.u32 %%r15, %%sum, 31, %%r15;\nst.global.u32 [%%rd3], %%r15;\nret;\n}\n");
    assert_true(strlen(text) + 1 < bytes);
}

static void test_random_kernels(void **state)
{
    (void)state;
    static char text[32768];
    static uint8_t expected[OUT_BYTES], found[OUT_BYTES];
    struct corun_gpu_config config = small_config();
    for (uint32_t seed = 1; seed <= 40; seed++) {
        uint64_t random = seed;
        make_kernel(text, sizeof text, &random);
        static const struct corun_dim3 shapes[] = {{2, 1, 1}, {4, 1, 1}, {2, 2, 1}, {3, 1, 1}, {1, 5, 1}, {8, 1, 1}};
        struct corun_dim3 shape = shapes[between(&random, 0, 5)];
        struct corun_dim3 grid = {shape.x * between(&random, 1, 3), shape.y * between(&random, 1, 3), 1};
        uint32_t threads = between(&random, 1, 200);
        bool balanced = between(&random, 0, 1);
        struct program program;
        uint64_t cycles = 0;
        program_load(&program, 0, text, grid, threads, shape, balanced, 0);
        assert_int_equal(corun_run_functional(program.grid, 1000000, program.list, NULL, NULL, NULL), CORUN_OK);
        program_read(&program, expected);
        program_free(&program);
        for (uint32_t host_threads = 1; host_threads <= 4; host_threads *= 2) {
            program_load(&program, 0, text, grid, threads, shape, balanced, 0);
            struct outcome outcome = simulate(&config, &program, 1, host_threads, NULL, 0);
            if (outcome.status != CORUN_OK || *outcome.message)
                fail_msg("seed %u: %s", seed, outcome.message);
            program_read(&program, found);
            if (memcmp(found, expected, OUT_BYTES) != 0)
                fail_msg("seed %u, %u host threads: other bytes", seed, host_threads);
            assert_true(host_threads == 1 || outcome.cycles == cycles);
            cycles = outcome.cycles;
            program_free(&program);
        }
    }
}

/* A kernel without clusters whose thread blocks take long, or one with clusters that meet now and then. */
static const char alone_text[] =
    HEAD "mov.u32 %r1, 0;\nmov.u32 %r3, %ctaid.x;\nmul.lo.u32 %r3, %r3, 7919;\nand.b32 %r3, %r3, 511;\n"
         "NEXT: add.u32 %r1, %r1, 1;\nsetp.lt.u32 %p1, %r1, %r3;\n@%p1 bra NEXT;\n"
         "mov.u32 %r2, %ctaid.x;\nmul.wide.u32 %rd1, %r2, 4;\nadd.u64 %rd1, %rd1, %out;\n"
         "st.global.u32 [%rd1], %r1;\nret;\n}\n";
static const char together_text[] =
    HEAD "mov.u32 %r1, 0;\nNEXT: " MEET "add.u32 %r1, %r1, 1;\nsetp.lt.u32 %p1, %r1, 5;\n@%p1 bra NEXT;\n"
         "mov.u32 %r2, %ctaid.x;\nmul.wide.u32 %rd1, %r2, 4;\nadd.u64 %rd1, %rd1, %out;\n"
         "st.global.u32 [%rd1], %r1;\nret;\n}\n";

static void expect_all(const struct program *program, uint32_t blocks, uint32_t value)
{
    static uint32_t words[OUT_BYTES / 4];
    program_read(program, words);
    for (uint32_t i = 0; i < blocks; i++)
        assert_int_equal(words[i], value);
}

/* Thread blocks that need nearly a whole SM: clusters of both kernels want all SMs of a GPC. Neither waits for the other for ever. */
static void test_two_with_clusters(void **state)
{
    (void)state;
    struct corun_gpu_config config = small_config();
    for (uint32_t size = 2; size <= 3; size++) {
        struct program programs[2];
        for (uint32_t i = 0; i < 2; i++)
            program_load(&programs[i], i, together_text, (struct corun_dim3){size * 8, 1, 1}, 64,
                         (struct corun_dim3){size, 1, 1}, i, 40000);
        struct outcome outcome = simulate(&config, programs, 2, 1, NULL, 0);
        assert_int_equal(outcome.status, CORUN_OK);
        assert_string_equal(outcome.message, "");
        for (uint32_t i = 0; i < 2; i++) {
            expect_all(&programs[i], size * 8, 5);
            program_free(&programs[i]);
        }
    }
}

/* One place in each of some SMs: never all that a cluster needs. */
static enum corun_status start_thrifty(void *state, const struct corun_view *view, const double *parameters,
                                       struct corun_allowances *allowances)
{
    (void)state;
    (void)parameters;
    for (uint32_t i = 0; i < view->sm_count * view->application_count; i++)
        allowances->tb_limit[i] = i % 3 == 0;
    return CORUN_OK;
}

static void decide_nothing(void *state, const struct corun_view *view, struct corun_policy_moment moment,
                           struct corun_allowances *allowances)
{
    (void)state;
    (void)view;
    (void)moment;
    (void)allowances;
}

/* Much, then little, and what is too much is to be swapped out: thread blocks of clusters drain. */
static void decide_by_turns(void *state, const struct corun_view *view, struct corun_policy_moment moment,
                            struct corun_allowances *allowances)
{
    (void)state;
    if (moment.event != CORUN_EVENT_EPOCH)
        return;
    bool much = view->cycle / 1000 % 3 != 0;
    for (uint32_t i = 0; i < view->sm_count * view->application_count; i++) {
        allowances->tb_limit[i] = much ? CORUN_UNLIMITED : 0;
        allowances->reclaim[i] = view->cycle / 1000 % 2 ? CORUN_RECLAIM_SWAP_TB : CORUN_RECLAIM_DROP;
    }
}

static enum corun_status start_open(void *state, const struct corun_view *view, const double *parameters,
                                    struct corun_allowances *allowances)
{
    (void)state;
    (void)view;
    (void)parameters;
    (void)allowances;
    return CORUN_OK;
}

/* Whoever came last goes first. */
static enum corun_status start_last_first(void *state, const struct corun_view *view, const double *parameters,
                                          struct corun_allowances *allowances)
{
    (void)state;
    (void)parameters;
    for (uint32_t i = 0; i < view->sm_count * view->application_count; i++)
        allowances->order[i] = view->application_count - i % view->application_count;
    return CORUN_OK;
}

/* The places of single thread blocks get free one by one: they are kept for a cluster that goes first. */
static void test_places_are_kept(void **state)
{
    (void)state;
    const struct corun_policy last_first = {.version = CORUN_POLICY_VERSION,
                                            .name = "last-first",
                                            .summary = "the last goes first",
                                            .paper = "",
                                            .needs = 1u << CORUN_CAN_ORDER,
                                            .state_bytes = 1,
                                            .start = start_last_first,
                                            .decide = decide_nothing};
    struct corun_gpu_config config = small_config();
    struct program programs[2];
    config.sms = 4;
    config.gpcs = 1;
    config.tbs_per_sm = 1;
    program_load(&programs[0], 0, alone_text, (struct corun_dim3){2000, 1, 1}, 64, (struct corun_dim3){1, 1, 1}, false,
                 0);
    program_load(&programs[1], 1, together_text, (struct corun_dim3){40, 1, 1}, 64, (struct corun_dim3){4, 1, 1}, false,
                 0);
    programs[1].start_cycle = 5000;
    struct outcome outcome = simulate(&config, programs, 2, 1, &last_first, 0);
    assert_int_equal(outcome.status, CORUN_OK);
    expect_all(&programs[1], 40, 5);
    assert_true(outcome.applications[1].ended_cycle < 100000);
    assert_true(outcome.applications[0].ended_cycle > 500000);
    program_free(&programs[0]);
    program_free(&programs[1]);
}

static void test_policies(void **state)
{
    (void)state;
    const struct corun_policy thrifty = {.version = CORUN_POLICY_VERSION,
                                         .name = "thrifty",
                                         .summary = "one place on some SMs",
                                         .paper = "",
                                         .state_bytes = 1,
                                         .start = start_thrifty,
                                         .decide = decide_nothing};
    const struct corun_policy turns = {.version = CORUN_POLICY_VERSION,
                                       .name = "turns",
                                       .needs = 1u << CORUN_CAN_SWAP_TB | 1u << CORUN_CAN_DROP,
                                       .summary = "much, then nothing",
                                       .paper = "",
                                       .state_bytes = 1,
                                       .start = start_open,
                                       .decide = decide_by_turns};
    struct corun_gpu_config config = small_config();
    struct program program;
    program_load(&program, 0, together_text, (struct corun_dim3){64, 1, 1}, 64, (struct corun_dim3){4, 1, 1}, false, 0);
    struct outcome outcome = simulate(&config, &program, 1, 1, &thrifty, 20000000);
    assert_int_equal(outcome.status, CORUN_POLICY);
    assert_non_null(strstr(outcome.message, "policy thrifty has left no GPC room for a cluster of 4 thread blocks of "
                                            "kernel k of first for"));
    program_free(&program);
    program_load(&program, 0, together_text, (struct corun_dim3){400, 1, 1}, 64, (struct corun_dim3){4, 1, 1}, false,
                 9000);
    outcome = simulate(&config, &program, 1, 1, &turns, 0);
    assert_int_equal(outcome.status, CORUN_OK);
    assert_string_equal(outcome.message, "");
    expect_all(&program, 400, 5);
    program_free(&program);
}

static void test_refused_by_the_gpu(void **state)
{
    (void)state;
    struct corun_gpu_config config = small_config();
    const struct {
        uint32_t cluster, most, shared;
        const char *message;
    } rows[] = {
        {4, 0, 0, "kernel k: clusters of 4 thread blocks, and default has no clusters"},
        {4, 3, 0, "kernel k: clusters of 4 thread blocks, and default has at most 3"},
        {8, 16, 40000, "kernel k: a cluster of 8 thread blocks can never fit a GPC of default, which holds 6"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct program program;
        config.cluster_tbs = rows[i].most;
        program_load(&program, 0, together_text, (struct corun_dim3){rows[i].cluster, 1, 1}, 32,
                     (struct corun_dim3){rows[i].cluster, 1, 1}, false, rows[i].shared);
        struct outcome outcome = simulate(&config, &program, 1, 1, NULL, 0);
        assert_int_equal(outcome.applications[0].status, CORUN_LIMIT);
        if (!strstr(outcome.message, rows[i].message))
            fail_msg("%s", outcome.message);
        program_free(&program);
    }
}

/* One thread follows `turns` addresses in the shared memory of thread block `target`; the cycles of it. */
static uint32_t chase(const struct corun_gpu_config *config, uint32_t target, uint32_t lanes)
{
    static char text[8192];
    uint32_t words[OUT_BYTES / 4];
    struct program program;
    snprintf(text, sizeof text, "%s",
             HEAD "mov.u32 %base, own;\nshl.b32 %r8, %t, 2;\nadd.u32 %r8, %r8, %base;\nmov.u32 %r1, 0;\n"
                  "st.shared.u32 [%r8], %r1;\n" MEET "setp.ne.u32 %p1, %rank, 0;\n@%p1 bra END;\n");
    add(text, sizeof text, "mov.u32 %%r9, %u;\n", target);
    snprintf(text + strlen(text), sizeof text - strlen(text), "%s",
             "mapa.shared::cluster.u32 %r2, %r8, %r9;\nmov.u32 %r3, 0;\nmov.u32 %r4, %clock;\n"
             "NEXT: ld.shared::cluster.u32 %r5, [%r2];\nadd.u32 %r2, %r2, %r5;\nadd.u32 %r3, %r3, 1;\n"
             "setp.lt.u32 %p2, %r3, 100;\n@%p2 bra NEXT;\nmov.u32 %r6, %clock;\nsub.u32 %r6, %r6, %r4;\n"
             "st.global.u32 [%out], %r6;\nEND: " MEET "ret;\n}\n");
    program_load(&program, 0, text, (struct corun_dim3){4, 1, 1}, lanes, (struct corun_dim3){4, 1, 1}, false, 0);
    struct outcome outcome = simulate(config, &program, 1, 1, NULL, 0);
    assert_int_equal(outcome.status, CORUN_OK);
    program_read(&program, words);
    program_free(&program);
    return words[0] / 100;
}

/* A load from another SM takes what the configuration says, more than a load from its own by what was measured, and a wide one its time at a port. */
static void test_latency(void **state)
{
    (void)state;
    char data[4096];
    struct corun_diagnostics *list = corun_diagnostics_create();
    struct corun_gpu_config config;
    assert_int_equal(corun_data_directory(data, sizeof data, list), CORUN_OK);
    assert_int_equal(corun_gpu_config_load("h100", data, list, &config), CORUN_OK);
    corun_diagnostics_destroy(list);
    uint32_t own = chase(&config, 0, 1), other = chase(&config, 1, 1), wide = chase(&config, 3, 32);
    assert_in_range(other - own, 172, 184); /* a load takes 205 in all on an H100 */
    assert_in_range(wide - other, 1, 4);    /* 128 bytes of a port of 64, and 32 are there as the first */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_kernels),  cmocka_unit_test(test_two_with_clusters),
        cmocka_unit_test(test_places_are_kept), cmocka_unit_test(test_refused_by_the_gpu),
        cmocka_unit_test(test_latency),         cmocka_unit_test(test_policies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
