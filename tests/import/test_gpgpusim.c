/* SPDX-License-Identifier: MIT */
/* Descriptions for GPGPU-Sim: what every option becomes, what is told of the others, and what is no description. */

#include "base/arena.h"
#include "base/text_file.h"
#include "import/gpgpusim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct arena *arena;
static struct corun_diagnostics *list;
static struct imported_gpu gpu;

static int begin(void **unused)
{
    (void)unused;
    arena = arena_create();
    list = corun_diagnostics_create();
    return !arena || !list;
}

static int end(void **unused)
{
    (void)unused;
    corun_diagnostics_destroy(list);
    arena_destroy(arena);
    return 0;
}

static enum corun_status import(const char *text)
{
    struct corun_gpu_config base;
    corun_gpu_config_default(&base);
    return gpgpusim_import("gpgpusim.config", text, strlen(text), &base, arena, list, &gpu);
}

static const struct imported_option *option(const char *name)
{
    const struct imported_option *last = NULL;
    for (size_t i = 0; i < gpu.option_count; i++)
        last = strcmp(gpu.options[i].name, name) != 0 ? last : &gpu.options[i];
    assert_non_null(last);
    return last;
}

static const char *source(const char *parameter)
{
    size_t count, row = 0;
    const struct corun_gpu_parameter *rows = corun_gpu_parameters(&count);
    while (strcmp(rows[row].name, parameter) != 0)
        assert_true(++row < count);
    return gpu.sources[row];
}

/* Latencies of machine code, and ports and units that no parameter has, are told of: they are about timing. */
static void what_belongs_to_machine_code_is_told(void **unused)
{
    (void)unused;
    static const char *const names[] = {"trace_opcode_latency_initiation_int",
                                        "trace_opcode_latency_initiation_spec_op_3",
                                        "specialized_unit_8",
                                        "gpgpu_operand_collector_num_in_ports_gen",
                                        "gpgpu_operand_collector_num_out_ports_tensor_core",
                                        "gpgpu_perfect_mem"};
    assert_int_equal(
        import("-gpgpu_n_clusters 4\n-trace_opcode_latency_initiation_int "
               "4,2\n-trace_opcode_latency_initiation_spec_op_3 4,4\n"
               "-specialized_unit_8 0,4,4,4,4,BRA\n-gpgpu_operand_collector_num_in_ports_gen 8\n"
               "-gpgpu_operand_collector_num_out_ports_tensor_core 1\n-gpgpu_perfect_mem 0\n-trace_enabled 0\n"),
        CORUN_OK);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        assert_int_equal(option(names[i])->fate, OPTION_LEFT);
        assert_non_null(option(names[i])->reason);
    }
    assert_int_equal(option("trace_enabled")->fate, OPTION_NOT_TIMING);
}

static void a_whole_description(void **unused)
{
    (void)unused;
    char *text = NULL;
    size_t bytes = 0;
    assert_int_equal(text_file_read(TEST_DATA "/volta.config", 1 << 20, list, &text, &bytes), CORUN_OK);
    assert_int_equal(import(text), CORUN_OK);
    free(text);
    const struct corun_gpu_config *c = &gpu.config;
    const struct {
        uint32_t value, wanted;
    } rows[] = {{c->sms, 80},
                {c->memory_controllers, 32},
                {c->slices_per_controller, 2},
                {c->core_clock_khz, 1132000},
                {c->l2_clock_khz, 566500},
                {c->dram_clock_khz, 850000},
                {c->threads_per_sm, 2048},
                {c->tbs_per_sm, 16},
                {c->compute_capability, 70},
                {c->launch_latency, 5000},
                {c->fp32_units, 4},
                {c->int_units, 4},
                {c->int_shares_fp32, 0},
                {c->tensor_units, 4},
                {c->tensor_latency, 64},
                {c->int_mad_latency, 5},
                {c->int_div_interval, 8},
                {c->fp32_max_latency, 13},
                {c->fp64_div_interval, 130},
                {c->sfu_latency, 100},
                {c->collectors, 8},
                {c->scheduler, CORUN_SCHEDULER_TWO_LEVEL},
                {c->two_level_active_warps, 6},
                {c->l1_bytes, 32 * 1024},
                {c->l1_ways, 64},
                {c->l1_sector_bytes, 32},
                {c->l1_mshrs, 512},
                {c->l1_mshr_merge, 8},
                {c->l1_caches_global, 1},
                {c->shared_bytes_per_tb, 65536},
                {c->shared_latency, 21},
                {c->l2_bytes, 6 * 1024 * 1024},
                {c->l2_ways, 24},
                {c->l2_mshr_merge, 4},
                {c->l2_bytes_per_cycle, 32},
                {c->l2_latency, 80}, /* 160 core cycles at half the clock */
                {c->icache_bytes, 128 * 1024},
                {c->icache_perfect, 1},
                {c->constant_line_bytes, 64},
                {c->texture_ways, 256},
                {c->access_lanes, 32},
                {c->dram_queue, 1024},
                {c->dram_bus_bytes, 16},
                {c->dram_burst_bytes, 32},
                {c->dram_banks, 16},
                {c->dram_tRC, 40},
                {c->dram_tCL, 12},
                {c->dram_tCCDL, 2},
                {c->dram_tRTPL, 3}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(rows[i].value, rows[i].wanted);
    assert_string_equal(source("dram_tCL"), "line 75, -gpgpu_dram_timing_opt");
    assert_null(source("dram_tRFC"));
    assert_int_equal(option("gpgpu_new_idea")->fate, OPTION_UNKNOWN);
    assert_int_equal(option("gpgpu_max_concurrent_kernel")->fate, OPTION_LEFT);
    assert_int_equal(option("gpgpu_ptx_sim_mode")->fate, OPTION_NOT_TIMING);
    assert_int_equal(option("gpgpu_TB_launch_latency")->fate, OPTION_LEFT);
    assert_int_equal(option("gpgpu_shader_cta")->fate, OPTION_CARRIED);
    size_t overridden = 0;
    for (size_t i = 0; i < gpu.option_count; i++)
        overridden += gpu.options[i].fate == OPTION_OVERRIDDEN;
    assert_int_equal(overridden, 1);
}

static void older_descriptions(void **unused)
{
    (void)unused;
    /* Integers on the units of single precision, a bus of two chips, timings without names, no bank groups, lines without sectors. */
    assert_int_equal(
        import("-gpgpu_num_sp_units 2\n-gpgpu_n_mem 6\n-gpgpu_n_sub_partition_per_mchannel 2\n"
               "-gpgpu_cache:dl1 N:32:128:4,L:L:m:N:H,A:64:8,8\n-gpgpu_cache:dl2 S:64:128:8,L:B:m:L:L,A:256:4,4:0,32\n"
               "-gpgpu_n_mem_per_ctrlr 2\n-gpgpu_dram_buswidth 4\n-gpgpu_dram_burst_length 8\n"
               "-dram_data_command_freq_ratio 4\n-gpgpu_dram_timing_opt 4:2:8:12:21:13:34:9:4:5:13:1:0:0\n"
               "-gpgpu_operand_collector_num_units_sp 6\n-gpgpu_operand_collector_num_units_sfu 8\n"
               "-gpgpu_shmem_size 16384\n-gmem_skip_L1D 1\n-network_mode 1\n-rop_latency 120\n"),
        CORUN_OK);
    const struct corun_gpu_config *c = &gpu.config;
    const struct {
        uint32_t value, wanted;
    } rows[] = {{c->fp32_units, 2},
                {c->int_units, 2},
                {c->int_shares_fp32, 1},
                {c->l1_bytes, 16384},
                {c->l1_sector_bytes, 128},
                {c->l2_bytes, 786432},
                {c->dram_bus_bytes, 8},
                {c->dram_burst_bytes, 32},
                {c->dram_data_rate, 4},
                {c->dram_banks, 4},
                {c->dram_bank_groups, 1},
                {c->dram_tCCD, 2},
                {c->dram_tCCDL, 2},
                {c->dram_tRTPL, 1},
                {c->dram_tRAS, 21},
                {c->collectors, 14},
                {c->l1_caches_global, 0},
                {c->l2_latency, 120},
                {c->icnt, CORUN_ICNT_CROSSBAR},
                {c->shared_bytes_per_tb, 16384}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(rows[i].value, rows[i].wanted);
    assert_int_equal(option("gpgpu_dram_burst_length")->fate, OPTION_CHANGED);
    assert_int_equal(option("gpgpu_dram_timing_opt")->fate, OPTION_CHANGED);
    assert_int_equal(option("network_mode")->fate, OPTION_CHANGED);
}

static void values_that_cannot_be_had(void **unused)
{
    (void)unused;
    static const struct {
        const char *line, *name, *reason;
    } rows[] = {
        {"-gpgpu_shader_core_pipeline 2048:64", "gpgpu_shader_core_pipeline", "warps have 32 threads"},
        {"-gpgpu_scheduler warp_limiting:2:16", "gpgpu_scheduler", "there are gto, lrr and two_level"},
        {"-gpgpu_clock_domains 1:2:3", "gpgpu_clock_domains",
         "expected four clocks in MHz: core, interconnect, L2 and DRAM"},
        {"-gpgpu_n_mem many", "gpgpu_n_mem", "its value is not a whole number"},
        {"-gpgpu_n_mem 1 2", "gpgpu_n_mem", "its value is not a whole number"},
        {"-gpgpu_n_mem", "gpgpu_n_mem", "its value is not a whole number"},
        {"-gpgpu_n_mem 65", "gpgpu_n_mem", "memory_controllers is from 1 to 64, not 65"},
        {"-ptx_opcode_latency_fp 1,2,3", "ptx_opcode_latency_fp", "expected numbers for ADD, MAX, MUL, MAD and DIV"},
        {"-gpgpu_cache:dl1 S:4", "gpgpu_cache:dl1", "expected sets, bytes of a line and ways, as in S:4:128:64,..."},
        {"-gpgpu_shmem_warp_parts 0", "gpgpu_shmem_warp_parts", "access_lanes is from 16 to 32, not 0"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[256];
        snprintf(text, sizeof text, "-gpgpu_shader_cta 8\n%s\n", rows[i].line);
        assert_int_equal(import(text), CORUN_OK);
        assert_int_equal(option(rows[i].name)->fate, OPTION_LEFT);
        assert_string_equal(option(rows[i].name)->reason, rows[i].reason);
    }
}

static void what_is_no_description(void **unused)
{
    (void)unused;
    static const struct {
        const char *text;
        enum corun_status status;
        uint32_t line;
        const char *message;
    } rows[] = {
        {"# one\n<<<<<<< HEAD\n", CORUN_SYNTAX, 2, "this is no option: expected `-name value`, or a comment behind #"},
        {"#\n\nthis\nis a\n\nletter\n# still\nof five lines", CORUN_SYNTAX, 3,
         "this is no option: expected `-name value`, or a comment behind #"},
        {"-a \"b\nc", CORUN_SYNTAX, 1, "the quotes have no end"},
        {"-a b\n", CORUN_SYNTAX, 0, "none of its 1 options says anything of a GPU"},
        {"", CORUN_SYNTAX, 0, "none of its 0 options says anything of a GPU"},
        {"-gpgpu_num_reg_banks 6\n-gpgpu_num_sched_per_core 4\n", CORUN_ARGUMENT, 0,
         "GPU 'default': 6 register banks do not divide among 4 schedulers"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        corun_diagnostics_clear(list);
        assert_int_equal(import(rows[i].text), rows[i].status);
        assert_int_equal(corun_diagnostics_count(list), 1);
        assert_string_equal(corun_diagnostics_get(list, 0)->message, rows[i].message);
        assert_int_equal(corun_diagnostics_get(list, 0)->place.line, rows[i].line);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_belongs_to_machine_code_is_told),
                                       cmocka_unit_test(a_whole_description), cmocka_unit_test(older_descriptions),
                                       cmocka_unit_test(values_that_cannot_be_had),
                                       cmocka_unit_test(what_is_no_description)};
    return cmocka_run_group_tests(tests, begin, end);
}
