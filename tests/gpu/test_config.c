/* SPDX-License-Identifier: MIT */
/* Configurations of GPUs: the table of parameters, files, overrides on the command line, and what is wrong with them. */
#include "corun/config.h"
#include "gpu/config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

struct fixture {
    struct corun_diagnostics *list;
    struct corun_gpu_config config;
};

static int setup(void **state)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);
    fixture->list = corun_diagnostics_create();
    corun_gpu_config_default(&fixture->config);
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    corun_diagnostics_destroy(fixture->list);
    free(fixture);
    return 0;
}

/* Reads `yaml`, expects exactly one complaint at line:column that contains `part`. */
static void expect_complaint(struct fixture *fixture, const char *yaml, uint32_t line, uint32_t column,
                             const char *part)
{
    corun_diagnostics_clear(fixture->list);
    corun_gpu_config_default(&fixture->config);
    assert_int_equal(config_parse_yaml(yaml, strlen(yaml), "gpu.yaml", fixture->list, &fixture->config), CORUN_SYNTAX);
    assert_int_equal(corun_diagnostics_count(fixture->list), 1);
    const struct corun_diagnostic *item = corun_diagnostics_get(fixture->list, 0);
    if (!strstr(item->message, part))
        fail_msg("expected \"%s\" in \"%s\"", part, item->message);
    assert_string_equal(item->place.file, "gpu.yaml");
    assert_int_equal(item->place.line, line);
    assert_int_equal(item->place.column, column);
}

static void expect_field(struct fixture *fixture, const char *specification, size_t offset, uint32_t value)
{
    corun_diagnostics_clear(fixture->list);
    enum corun_status status =
        corun_gpu_config_load(specification, CORUN_SOURCE_DIR "/configs", fixture->list, &fixture->config);
    if (status != CORUN_OK)
        fail_msg("%s: %s", specification, corun_diagnostics_get(fixture->list, 0)->message);
    assert_int_equal(*(uint32_t *)((char *)&fixture->config + offset), value);
}

static void expect_refusal(struct fixture *fixture, const char *specification, enum corun_status status,
                           const char *part)
{
    corun_diagnostics_clear(fixture->list);
    assert_int_equal(corun_gpu_config_load(specification, CORUN_SOURCE_DIR "/configs", fixture->list, &fixture->config),
                     status);
    assert_true(corun_diagnostics_count(fixture->list) >= 1);
    const struct corun_diagnostic *item = corun_diagnostics_get(fixture->list, 0);
    if (!strstr(item->message, part))
        fail_msg("%s: expected \"%s\" in \"%s\"", specification, part, item->message);
}

static void test_names_without_the_family(void **state)
{
    struct fixture *fixture = *state;
    expect_field(fixture, "v100:sms=12", offsetof(struct corun_gpu_config, sms), 12);
    assert_string_equal(fixture->config.name, "quadro-v100:sms=12");
    expect_field(fixture, "c2050", offsetof(struct corun_gpu_config, sms), 14);
    assert_string_equal(fixture->config.name, "tesla-c2050");
}

static void test_defaults_are_valid(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(corun_gpu_config_check(&fixture->config, fixture->list), CORUN_OK);
    assert_int_equal(corun_diagnostics_count(fixture->list), 0);
    assert_string_equal(fixture->config.name, "default");
    assert_int_equal(fixture->config.sms, 16);
    assert_int_equal(fixture->config.scheduler, CORUN_SCHEDULER_GTO);
}

static void test_rows_cover_the_structure(void **state)
{
    (void)state;
    size_t count;
    const struct corun_gpu_parameter *rows = corun_gpu_parameters(&count);
    assert_int_equal(count, CONFIG_PARAMETERS);
    assert_int_equal(sizeof(struct corun_gpu_config), sizeof((struct corun_gpu_config *)0)->name + 4 * count);
    for (size_t i = 0; i < count; i++) {
        assert_true(rows[i].initial >= rows[i].lowest && rows[i].initial <= rows[i].highest);
        assert_int_equal(rows[i].words != NULL, !strcmp(rows[i].unit, "word"));
        for (uint32_t word = 0; rows[i].words && word <= rows[i].highest; word++)
            assert_non_null(rows[i].words[word]);
        if (rows[i].words)
            assert_null(rows[i].words[rows[i].highest + 1]);
    }
}

static void test_file_values(void **state)
{
    struct fixture *fixture = *state;
    const char yaml[] = "name: small-gpu\n"
                        "title: a test\n"
                        "sources:\n"
                        "  paper: Somebody 2020, table 1\n"
                        "parameters:\n"
                        "  sms: {value: 3, unit: count, source: paper}\n"
                        "  core_clock_khz: {value: 650, unit: MHz, source: 'paper: page 2'}\n"
                        "  l2_bytes: {value: 512, unit: KiB, source: 'assumed: nothing published'}\n"
                        "  l1_bytes: {value: 24K, unit: bytes, source: assumed}\n"
                        "  scheduler: {value: lrr, unit: word, source: paper}\n"
                        "  icache_perfect: {value: false, unit: bool, source: paper}\n"
                        "  context_interval: 7\n" /* as corun 0.1 called save_interval */
                        "  tbs_per_sm: 8\n";
    assert_int_equal(config_parse_yaml(yaml, strlen(yaml), "x.yaml", fixture->list, &fixture->config), CORUN_OK);
    assert_string_equal(fixture->config.name, "small-gpu");
    assert_int_equal(fixture->config.save_interval, 7);
    assert_int_equal(fixture->config.sms, 3);
    assert_int_equal(fixture->config.core_clock_khz, 650000);
    assert_int_equal(fixture->config.l2_bytes, 524288);
    assert_int_equal(fixture->config.l1_bytes, 24576);
    assert_int_equal(fixture->config.scheduler, CORUN_SCHEDULER_LRR);
    assert_int_equal(fixture->config.icache_perfect, 0);
    assert_int_equal(fixture->config.tbs_per_sm, 8);
}

static void test_file_complaints(void **state)
{
    struct fixture *fixture = *state;
    expect_complaint(fixture, "parameters:\n  smss: 3\n", 2, 3, "did you mean 'sms'?");
    expect_complaint(fixture, "parameters:\n  zzzzzzzzzzzz: 3\n", 2, 3, "there is no parameter 'zzzzzzzzzzzz'");
    expect_complaint(fixture, "parameters:\n  l2: 3\n", 2, 3, "there is no parameter 'l2'"); /* no abbreviations */
    expect_complaint(fixture, "parameters:\n  sms: 3\n  sms: 4\n", 3, 3, "'sms' is given twice");
    expect_complaint(fixture, "parameters:\n  sms: many\n", 2, 8, "whole number");
    expect_complaint(fixture, "parameters:\n  sms: 0\n", 2, 8, "between 1 and 1024");
    expect_complaint(fixture, "parameters:\n  sms: -1\n", 2, 8, "whole number");
    expect_complaint(fixture, "parameters:\n  sms: 18446744073709551616\n", 2, 8, "whole number");
    expect_complaint(fixture, "parameters:\n  sms: 18014398509481985K\n", 2, 8, "between 1 and 1024");
    expect_complaint(fixture,
                     "parameters:\n  core_clock_khz: {value: 18446744073709551615, unit: GHz, source: assumed}\n", 2,
                     27, "between 1000 and 10000000 kHz");
    expect_complaint(fixture, "parameters:\n  scheduler: fifo\n", 2, 14, "one of gto, lrr, two_level");
    expect_complaint(fixture, "parameters:\n  l2_hash: 2\n", 2, 12, "true or false");
    expect_complaint(fixture, "parameters:\n  sms: [1, 2]\n", 2, 8, "found a list");
    expect_complaint(fixture, "parameters:\n  sms: {value: 3, unit: bytes, source: assumed}\n", 2, 16,
                     "the unit of sms is count");
    expect_complaint(fixture, "parameters:\n  sms: {value: 3, unit: count}\n", 2, 8, "sms has no source");
    expect_complaint(fixture, "parameters:\n  sms: {value: 3, unit: count, source: paper}\n", 2, 40, "not declared");
    expect_complaint(fixture, "parameters:\n  sms: {value: 3, unit: count, soruce: assumed}\n", 2, 32,
                     "did you mean 'source'?");
    expect_complaint(fixture, "parameters:\n  sms: {value: 3, value: 4}\n", 2, 19, "'value' is given twice");
    expect_complaint(fixture, "paramters:\n  sms: 3\nparameters: {}\n", 1, 1, "did you mean 'parameters'?");
    expect_complaint(fixture, "name: x\n", 1, 1, "no 'parameters'");
    expect_complaint(fixture, "name: a b\nparameters: {}\n", 1, 7, "a name has");
    expect_complaint(fixture, "- 1\n", 1, 1, "expected a map of");
    expect_complaint(fixture, "", 1, 1, "empty");
    expect_complaint(fixture, "parameters:\n  sms: {value: 3\n", 3, 1, "not YAML");
    expect_complaint(fixture, "parameters:\n\tsms: 3\n", 2, 1, "not YAML");
    expect_complaint(fixture, "parameters: *nobody\n", 1, 13, "aliases are not supported");
    expect_complaint(fixture, "parameters:\n  sms: \"3\\0\"\n", 2, 8, "NUL");
}

/* The parser of YAML takes time that grows with the square of the depth: it must not get that far. */
static void test_deep_nesting_is_refused(void **state)
{
    struct fixture *fixture = *state;
    static const char head[] = "parameters: ";
    size_t depth = 1000000;
    char *yaml = malloc(sizeof head + depth);
    assert_non_null(yaml);
    memcpy(yaml, head, sizeof head);
    memset(yaml + sizeof head - 1, '[', depth);
    yaml[sizeof head - 1 + depth] = 0;
    expect_complaint(fixture, yaml, 1, sizeof head + 15, "nested too deeply");
    free(yaml);
}

static void test_every_wrong_line_is_reported(void **state)
{
    struct fixture *fixture = *state;
    const char yaml[] = "parameters:\n  smss: 1\n  tbs_per_sm: 0\n  sms: 5\n  l2_bytes: x\n";
    assert_int_equal(config_parse_yaml(yaml, strlen(yaml), "x.yaml", fixture->list, &fixture->config), CORUN_SYNTAX);
    assert_int_equal(corun_diagnostics_count(fixture->list), 3);
    assert_int_equal(corun_diagnostics_get(fixture->list, 0)->place.line, 2);
    assert_int_equal(corun_diagnostics_get(fixture->list, 1)->place.line, 3);
    assert_int_equal(corun_diagnostics_get(fixture->list, 2)->place.line, 5);
}

static void test_overrides(void **state)
{
    struct fixture *fixture = *state;
#define EXPECT(specification, field, value) \
    expect_field(fixture, specification, offsetof(struct corun_gpu_config, field), value)
    EXPECT("default", sms, 16);
    EXPECT("default:sms=8", sms, 8);
    EXPECT("default:sms=8,l2=4M,scheduler=lrr", l2_bytes, 4 << 20);
    assert_int_equal(fixture->config.sms, 8);
    assert_int_equal(fixture->config.scheduler, CORUN_SCHEDULER_LRR);
    assert_string_equal(fixture->config.name, "default:sms=8,l2=4M,scheduler=lrr");
    EXPECT("default:core_clock=1400MHz", core_clock_khz, 1400000);
    EXPECT("default:core_clock=1400000", core_clock_khz, 1400000);
    EXPECT("default:core_clock=2M", core_clock_khz, 2000000);
    EXPECT("default:energy_issue=50pJ", energy_issue, 50000);
    EXPECT("default:energy_dram_activate=2nJ", energy_dram_activate, 2000000);
    EXPECT("default:static_power_sm=3W", static_power_sm, 3000);
    EXPECT("default:static_power_rest=70mW", static_power_rest, 70);
    EXPECT("default:core=2M", core_clock_khz, 2000000); /* the only one that begins so */
    EXPECT("default:warp_issue=4", warp_issue_cycles, 4);
    EXPECT("default:l1=0", l1_bytes, 0);
    EXPECT("default:l1=24KiB,l1_ways=48", l1_bytes, 24576);
    EXPECT("default:scheduler=TWO_LEVEL", scheduler, CORUN_SCHEDULER_TWO_LEVEL);
    EXPECT("default:schedulers=2", schedulers_per_sm, 2); /* a beginning; "scheduler" is a name of its own */
    EXPECT("default:l2_hash=off", l2_hash, 0);
    EXPECT("default:threads_per_sm=0x400", threads_per_sm, 1024);
}

static void test_override_complaints(void **state)
{
    struct fixture *fixture = *state;
    expect_refusal(fixture, "default:l1_m=8", CORUN_ARGUMENT, "'l1_mshrs' and 'l1_mshr_merge'");
    expect_refusal(fixture, "default:sm=8,schduler=lrr", CORUN_ARGUMENT, "did you mean 'scheduler'?");
    expect_refusal(fixture, "default:sms=8,sms=9", CORUN_ARGUMENT, "sms is given twice");
    expect_refusal(fixture, "default:l2=4M,l2_bytes=4M", CORUN_ARGUMENT, "l2_bytes is given twice");
    expect_refusal(fixture, "default:sms", CORUN_ARGUMENT, "expected parameter=value, found 'sms'");
    expect_refusal(fixture, "default:", CORUN_ARGUMENT, "expected parameter=value");
    expect_refusal(fixture, "default:=3", CORUN_ARGUMENT, "no parameter ''");
    expect_refusal(fixture, "default:sms=", CORUN_ARGUMENT, "whole number");
    expect_refusal(fixture, "default:sms=1025", CORUN_ARGUMENT, "between 1 and 1024");
    expect_refusal(fixture, "default:core_clock=1216G", CORUN_ARGUMENT, "between 1000 and 10000000 kHz");
    expect_refusal(fixture, "default:scheduler=", CORUN_ARGUMENT, "one of gto");
    expect_refusal(fixture, "", CORUN_NOT_FOUND, "no name of a GPU");
    expect_refusal(fixture, ":sms=8", CORUN_NOT_FOUND, "no name of a GPU");
    expect_refusal(fixture, "gtx981", CORUN_NOT_FOUND, "there is no GPU 'gtx981'");
    expect_refusal(fixture, "-v100", CORUN_NOT_FOUND, "there is no GPU '-v100'");
    expect_refusal(fixture, "00", CORUN_NOT_FOUND, "there is no GPU '00'");
    expect_refusal(fixture, "./nothing.yaml", CORUN_NOT_FOUND, "cannot open");
    expect_refusal(fixture, "/", CORUN_FILE, "this is a directory");
    char longest[10000];
    memset(longest, 'a', sizeof longest - 1);
    longest[sizeof longest - 1] = 0;
    expect_refusal(fixture, longest, CORUN_NOT_FOUND, "no name of a GPU");
    memcpy(longest, "default:", 8);
    expect_refusal(fixture, longest, CORUN_ARGUMENT, "expected parameter=value");
    longest[9000] = '=';
    expect_refusal(fixture, longest, CORUN_ARGUMENT, "there is no parameter");
}

static void test_values_must_fit_together(void **state)
{
    struct fixture *fixture = *state;
    expect_refusal(fixture, "default:l1=50000", CORUN_ARGUMENT, "does not divide into sets");
    expect_refusal(fixture, "default:l2=1000000", CORUN_ARGUMENT, "does not divide into sets");
    expect_refusal(fixture, "default:l1_line=96", CORUN_ARGUMENT, "power of two");
    expect_refusal(fixture, "default:l1_sector=256", CORUN_ARGUMENT, "no larger than its line");
    expect_refusal(fixture, "default:l1_sector=48", CORUN_ARGUMENT, "sector of the L1 cache must be a power of two");
    expect_refusal(fixture, "default:l2_far_latency=9,l2_ways=1", CORUN_ARGUMENT, "make room for its own copy");
    expect_refusal(fixture, "default:dram_burst=64", CORUN_ARGUMENT, "does not divide l2_sector_bytes");
    expect_refusal(fixture, "default:dram_bus=24", CORUN_ARGUMENT, "whole number of DRAM cycles");
    expect_refusal(fixture, "default:schedulers=3", CORUN_ARGUMENT, "64 warps do not divide among 3 schedulers");
    expect_refusal(fixture, "default:threads_per_sm=512", CORUN_ARGUMENT, "threads_per_tb is larger");
    expect_refusal(fixture, "default:threads_per_sm=1040", CORUN_ARGUMENT, "multiple of 32");
    expect_refusal(fixture, "default:shared_bytes_per_tb=128K", CORUN_ARGUMENT, "shared_bytes_per_tb is larger");
    expect_refusal(fixture, "default:access_lanes=24", CORUN_ARGUMENT, "access_lanes is 16 or 32");
    expect_refusal(fixture, "default:shared_banks=31", CORUN_ARGUMENT, "power of two");
    expect_refusal(fixture, "default:dram_bank_groups=5", CORUN_ARGUMENT, "do not divide into 5 groups");
    expect_refusal(fixture, "default:dram_tREFI=100", CORUN_ARGUMENT, "no time between refreshes");
    expect_refusal(fixture, "default:l2_line=64", CORUN_ARGUMENT, "l1_line_bytes is larger");
    /* A structure that was filled by hand. */
    corun_gpu_config_default(&fixture->config);
    fixture->config.slices_per_controller = 0;
    assert_int_equal(corun_gpu_config_check(&fixture->config, NULL), CORUN_ARGUMENT);
}

static void test_paths(void **state)
{
    struct fixture *fixture = *state;
    char folder[] = "/tmp/corun-config-XXXXXX";
    assert_non_null(mkdtemp(folder));
    /* A colon in the name of a folder or of a file is not the start of the overrides. */
    static const struct {
        const char *file, *settings, *name;
    } rows[] = {{"my.gpu.yaml", ":tbs_per_sm=7", "my.gpu:tbs_per_sm=7"},
                {"my:sms=1.yml", ":tbs_per_sm=7", "my:sms=1:tbs_per_sm=7"},
                {"tbs_per_sm=7:my.yaml", ":tbs_per_sm=7", "tbs_per_sm=7:my:tbs_per_sm=7"}};
    char inner[64], path[128], specification[160];
    snprintf(inner, sizeof inner, "%s/a:b=1", folder);
    assert_int_equal(mkdir(inner, 0700), 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        snprintf(path, sizeof path, "%s/%s", inner, rows[i].file);
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        fputs("parameters:\n  sms: 5\n", file);
        fclose(file);
        EXPECT(path, sms, 5);
        snprintf(specification, sizeof specification, "%s%s", path, rows[i].settings);
        EXPECT(specification, tbs_per_sm, 7);
        assert_int_equal(fixture->config.sms, 5);
        assert_string_equal(fixture->config.name, rows[i].name);
        assert_int_equal(unlink(path), 0);
    }
    assert_int_equal(rmdir(inner), 0);
    assert_int_equal(rmdir(folder), 0);
}

/* Every configuration that comes with the program is complete and fits together. */
static void test_shipped(void **state)
{
    struct fixture *fixture = *state;
    static const struct {
        const char *name;
        uint32_t sms, core_clock_khz, schedulers_per_sm;
    } rows[] = {
        {"gtx980", 16, 1216000, 4},      {"quadro-fx5800", 30, 650000, 1}, {"tesla-c2050", 14, 1150000, 2},
        {"gtx680", 8, 1006000, 4},       {"smqos24", 24, 1400000, 2},      {"isca56", 56, 1216000, 2},
        {"quadro-v100", 80, 1455000, 4}, {"h100", 132, 1980000, 4},        {"tesla-m2090", 16, 1300000, 2},
        {"a100", 108, 1410000, 4},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        expect_field(fixture, rows[i].name, offsetof(struct corun_gpu_config, sms), rows[i].sms);
        assert_string_equal(fixture->config.name, rows[i].name);
        assert_int_equal(fixture->config.core_clock_khz, rows[i].core_clock_khz);
        assert_int_equal(fixture->config.schedulers_per_sm, rows[i].schedulers_per_sm);
    }
    /* The defaults of the table are the GTX 980's. */
    struct corun_gpu_config initial;
    corun_gpu_config_default(&initial);
    expect_field(fixture, "gtx980", offsetof(struct corun_gpu_config, sms), 16);
    size_t count;
    const struct corun_gpu_parameter *parameters = corun_gpu_parameters(&count);
    for (size_t i = 0; i < count; i++)
        if (memcmp((char *)&initial + parameters[i].offset, (char *)&fixture->config + parameters[i].offset, 4))
            fail_msg("gtx980.yaml and gpu_parameters.def disagree on %s", parameters[i].name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_names_without_the_family, setup, teardown),
        cmocka_unit_test_setup_teardown(test_defaults_are_valid, setup, teardown),
        cmocka_unit_test_setup_teardown(test_rows_cover_the_structure, setup, teardown),
        cmocka_unit_test_setup_teardown(test_file_values, setup, teardown),
        cmocka_unit_test_setup_teardown(test_file_complaints, setup, teardown),
        cmocka_unit_test_setup_teardown(test_deep_nesting_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_every_wrong_line_is_reported, setup, teardown),
        cmocka_unit_test_setup_teardown(test_overrides, setup, teardown),
        cmocka_unit_test_setup_teardown(test_override_complaints, setup, teardown),
        cmocka_unit_test_setup_teardown(test_values_must_fit_together, setup, teardown),
        cmocka_unit_test_setup_teardown(test_paths, setup, teardown),
        cmocka_unit_test_setup_teardown(test_shipped, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
