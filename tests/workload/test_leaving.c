/* SPDX-License-Identifier: MIT */
/*
 * A program whose grids were dropped in the middle of their atomics can be used again, with other grids and by another application: nothing of
 * those that were dropped is seen, performed or named.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "corun/gpu.h"
#include "corun/memory.h"
#include "corun/module.h"

#include <string.h>

enum { THREADS = 64, BLOCKS = 4, VALUES = THREADS * BLOCKS, FOREVER = 1000000 };

/* Adds 1 to values[i] `turns` times, by an atomic with a result and by one without in turn; then result[i] = values[i]. */
static const char text[] =
    ".version 6.3\n.target sm_52\n.address_size 64\n"
    ".visible .entry count(.param .u64 values, .param .u64 results, .param .u32 turns)\n{\n"
    ".reg .b32 %r<9>;\n.reg .b64 %d<6>;\n.reg .pred %p;\n"
    "mov.u32 %r0, %ctaid.x;\nmov.u32 %r1, %ntid.x;\nmov.u32 %r2, %tid.x;\nmad.lo.s32 %r3, %r0, %r1, %r2;\n"
    "ld.param.u64 %d0, [values];\nld.param.u64 %d1, [results];\nld.param.u32 %r4, [turns];\n"
    "mul.wide.u32 %d2, %r3, 4;\nadd.s64 %d3, %d0, %d2;\nadd.s64 %d4, %d1, %d2;\n"
    "again:\n"
    "atom.global.add.u32 %r5, [%d3], 1;\n"
    "red.global.add.u32 [%d3], 1;\n"
    "sub.u32 %r4, %r4, 1;\nsetp.ne.u32 %p, %r4, 0;\n@%p bra again;\n"
    "ld.global.u32 %r6, [%d3];\nst.global.u32 [%d4], %r6;\nret;\n}\n";

struct rig {
    struct corun_memory *memory;
    struct corun_module *module;
    struct corun_module_instance *instance;
    struct corun_gpu *gpu;
    uint64_t values, results;
};

static struct corun_grid *make(struct rig *rig, uint32_t turns)
{
    struct {
        uint64_t values, results;
        uint32_t turns;
    } parameters = {rig->values, rig->results, turns};
    struct corun_launch_description description = {.kernel = corun_module_kernel_at(rig->module, 0),
                                                   .grid = {BLOCKS, 1, 1},
                                                   .block = {THREADS, 1, 1},
                                                   .parameters = &parameters,
                                                   .parameter_bytes = 20};
    struct corun_grid *grid;
    assert_int_equal(corun_grid_create(rig->instance, &description, NULL, &grid), CORUN_OK);
    return grid;
}

static uint32_t add(struct rig *rig)
{
    uint32_t application;
    struct corun_application_description description = {.name = "client"};
    assert_int_equal(corun_gpu_add(rig->gpu, &description, &application), CORUN_OK);
    return application;
}

static void counts_to_its_own(struct rig *rig, uint32_t turns)
{
    uint32_t values[VALUES] = {0}, results[VALUES], number, application = add(rig);
    assert_int_equal(corun_memory_write(rig->memory, rig->values, values, sizeof values), CORUN_OK);
    struct corun_grid *grid = make(rig, turns);
    assert_int_equal(corun_gpu_launch(rig->gpu, application, grid, 0, 0, &number), CORUN_OK);
    for (struct corun_launched launched = {0}; !launched.ended;) {
        assert_int_equal(corun_gpu_advance(rig->gpu, corun_gpu_cycles(rig->gpu) + FOREVER), CORUN_OK);
        corun_gpu_launched(rig->gpu, application, number, &launched);
        assert_int_equal(launched.status, CORUN_OK);
    }
    assert_int_equal(corun_memory_read(rig->memory, rig->values, values, sizeof values), CORUN_OK);
    assert_int_equal(corun_memory_read(rig->memory, rig->results, results, sizeof results), CORUN_OK);
    for (uint32_t i = 0; i < VALUES; i++) {
        assert_int_equal(values[i], 2 * turns);
        assert_int_equal(results[i], 2 * turns);
    }
    assert_int_equal(corun_gpu_leave(rig->gpu, application), CORUN_OK);
    corun_grid_destroy(grid);
}

static void a_program_outlives_what_was_dropped(void **unused)
{
    (void)unused;
    struct rig rig = {.memory = corun_memory_create(0)};
    struct corun_gpu_config config;
    struct corun_limits limits = {.applications = 2};
    corun_gpu_config_default(&config);
    config.sms = 2;
    assert_int_equal(corun_module_load("count.ptx", text, strlen(text), NULL, &rig.module), CORUN_OK);
    assert_int_equal(corun_module_instance_create(rig.module, rig.memory, NULL, &rig.instance), CORUN_OK);
    assert_int_equal(corun_memory_allocate(rig.memory, VALUES * 4, &rig.values), CORUN_OK);
    assert_int_equal(corun_memory_allocate(rig.memory, VALUES * 4, &rig.results), CORUN_OK);
    assert_int_equal(corun_gpu_create(&config, NULL, &rig.gpu), CORUN_OK);
    assert_int_equal(corun_gpu_open(rig.gpu, &limits, NULL), CORUN_OK);
    counts_to_its_own(&rig, 3);
    for (uint32_t i = 0; i < 40; i++) {
        uint32_t application = add(&rig), number;
        struct corun_grid *grid = make(&rig, FOREVER);
        assert_int_equal(corun_gpu_launch(rig.gpu, application, grid, 0, 0, &number), CORUN_OK);
        assert_int_equal(corun_gpu_advance(rig.gpu, corun_gpu_cycles(rig.gpu) + 700 + 41 * i), CORUN_OK);
        assert_int_equal(corun_gpu_leave(rig.gpu, application), CORUN_OK);
        corun_grid_destroy(grid);
        counts_to_its_own(&rig, 1 + i % 5); /* with replies to the other one on their way */
    }
    corun_gpu_destroy(rig.gpu);
    corun_module_instance_destroy(rig.instance);
    corun_module_destroy(rig.module);
    corun_memory_destroy(rig.memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_outlives_what_was_dropped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
