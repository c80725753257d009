/* SPDX-License-Identifier: MIT */
/* Ways and memory traffic by the files of resctrl: a tree of the test, as the kernel documents it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/affinity.h"
#include "agent/resctrl.h"
#include "agent/restore.h"
#include "fake_kernel.h"

#include <math.h>

#define MON \
    {"mon_data/", NULL}, {"mon_data/mon_L3_00/", NULL}, {"mon_data/mon_L3_00/mbm_total_bytes", "0\n"}, \
        {"mon_data/mon_L3_01/", NULL}, \
    { \
        "mon_data/mon_L3_01/mbm_total_bytes", "0\n" \
    }
#define GROUP {"schemata", ""}, {"cpus_list", ""}, {"tasks", ""}, MON
static const struct fake_file group[] = {GROUP, {0}};
static const struct fake_file two_sockets[] = {{"schemata", "    L3:0=7ff;1=7ff\n    MB:0=100;1=100\n"},
                                               {"cpus_list", "0-3\n"},
                                               {"mon_groups/", NULL},
                                               {"info/", NULL},
                                               {"info/L3/", NULL},
                                               {"info/L3/cbm_mask", "7ff\n"},
                                               {"info/L3/min_cbm_bits", "2\n"},
                                               {"info/L3/num_closids", "16\n"},
                                               {"info/L3_MON/", NULL},
                                               {"info/L3_MON/mon_features", "llc_occupancy\nmbm_total_bytes\n"},
                                               {0}};

static void expect_file(const char *format, uint32_t number, const char *text)
{
    char name[128];
    snprintf(name, sizeof name, format, getpid(), number);
    assert_string_equal(fake_read(name), text);
}

static void test_ways_go_to_processors(void **state)
{
    (void)state;
    struct journal journal = {.fd = -1};
    struct resctrl resctrl;
    cpu_set_t cores;
    fake_begin(two_sockets, group);
    resctrl_open(&resctrl, fake.root, &journal);
    assert_true(resctrl.ways && resctrl.bandwidth);
    assert_int_equal(resctrl.way_count, 11);
    assert_int_equal(resctrl.least_ways, 2);
    assert_int_equal(resctrl.groups, 16);
    assert_int_equal(resctrl.domain_count, 2);
    assert_int_equal(resctrl_create(&resctrl, 1), 0);
    assert_int_equal(resctrl_set_ways(&resctrl, 1, 0x0f0), 0);
    expect_file("corun-%d-%u/schemata", 1, "L3:0=f0;1=f0\n");
    assert_true(affinity_parse("1-2", &cores));
    assert_int_equal(resctrl_set_cores(&resctrl, 1, &cores), 0);
    expect_file("corun-%d-%u/cpus_list", 1, "1-2\n");
    CPU_ZERO(&cores);
    assert_int_equal(resctrl_set_cores(&resctrl, 1, &cores), 0);
    assert_int_equal(resctrl_create(&resctrl, 2), 0);
    fake.refuses = true;
    assert_int_equal(resctrl_create(&resctrl, 3), ENOSPC);           /* the processor has no more groups */
    assert_string_equal(fake_read("schemata"), two_sockets[0].text); /* that of everybody else is as it was */
    fake_end();
}

static void test_masks_that_are_too_small(void **state)
{
    (void)state;
    struct journal journal = {.fd = -1};
    struct resctrl resctrl;
    fake_begin(two_sockets, group);
    resctrl_open(&resctrl, fake.root, &journal);
    resctrl_create(&resctrl, 0);
    const struct {
        uint64_t mask;
        const char *text;
    } rows[] = {
        {0x400, "L3:0=600;1=600\n"}, {0x001, "L3:0=3;1=3\n"}, {0x010, "L3:0=18;1=18\n"}, {0x7ff, "L3:0=7ff;1=7ff\n"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(resctrl_set_ways(&resctrl, 0, rows[i].mask), 0);
        expect_file("corun-%d-%u/schemata", 0, rows[i].text);
    }
    fake_end();
}

static void test_code_and_data_apart(void **state)
{
    (void)state;
    static const struct fake_file files[] = {{"schemata", "L3DATA:0=fff\nL3CODE:0=fff\n"},
                                             {"info/", NULL},
                                             {"info/L3CODE/", NULL},
                                             {"info/L3CODE/cbm_mask", "fff\n"},
                                             {"info/L3CODE/min_cbm_bits", "1\n"},
                                             {"info/L3CODE/num_closids", "8\n"},
                                             {0}};
    struct journal journal = {.fd = -1};
    struct resctrl resctrl;
    fake_begin(files, group);
    resctrl_open(&resctrl, fake.root, &journal);
    assert_true(resctrl.ways);
    assert_false(resctrl.bandwidth);
    assert_string_equal(resctrl.no_bandwidth, "this processor does not measure it");
    resctrl_create(&resctrl, 0);
    assert_int_equal(resctrl_set_ways(&resctrl, 0, 0x3), 0);
    expect_file("corun-%d-%u/schemata", 0, "L3CODE:0=3\nL3DATA:0=3\n");
    fake_end();
}

static void test_traffic_is_that_of_all_caches(void **state)
{
    (void)state;
    struct journal journal = {.fd = -1};
    struct resctrl resctrl;
    char name[128];
    fake_begin(two_sockets, group);
    resctrl_open(&resctrl, fake.root, &journal);
    assert_true(isnan(resctrl_traffic(&resctrl, 4)));
    assert_int_equal(resctrl_watch(&resctrl, 4), 0);
    assert_int_equal(resctrl_watch_thread(&resctrl, 4, 4711), 0);
    expect_file("mon_groups/corun-%d-%u/tasks", 4, "4711\n");
    assert_true(resctrl_traffic(&resctrl, 4) == 0);
    snprintf(name, sizeof name, "mon_groups/corun-%d-4/mon_data/mon_L3_00/mbm_total_bytes", getpid());
    fake_write(fake.root, name, "123000000000\n");
    snprintf(name, sizeof name, "mon_groups/corun-%d-4/mon_data/mon_L3_01/mbm_total_bytes", getpid());
    fake_write(fake.root, name, "77\n");
    assert_true(resctrl_traffic(&resctrl, 4) == 123000000077);
    fake_write(fake.root, name, "Unavailable\n");
    assert_true(isnan(resctrl_traffic(&resctrl, 4)));
    fake_end();
}

static void expect_no_ways(const struct fake_file *files, const char *why)
{
    struct journal journal = {.fd = -1};
    struct resctrl resctrl;
    fake_begin(files, group);
    resctrl_open(&resctrl, fake.root, &journal);
    assert_false(resctrl.ways);
    assert_string_equal(resctrl.no_ways, why);
    fake_end();
}

static void test_what_is_missing_is_named(void **state)
{
    (void)state;
    struct journal journal = {.fd = -1};
    struct resctrl resctrl;
    static const struct fake_file not_mounted[] = {{0}};
    static const struct fake_file no_cache[] = {{"schemata", "MB:0=100\n"}, {0}};
    static const struct fake_file odd[] = {{"schemata", "L3:0=7ff\n"},
                                           {"info/", NULL},
                                           {"info/L3/", NULL},
                                           {"info/L3/cbm_mask", "7f0\n"},
                                           {"info/L3/min_cbm_bits", "2\n"},
                                           {"info/L3/num_closids", "16\n"},
                                           {0}};
    resctrl_open(&resctrl, "/nonexistent", &journal);
    assert_false(resctrl.ways || resctrl.bandwidth);
    assert_string_equal(resctrl.no_ways, "this kernel has no resctrl");
    expect_no_ways(not_mounted, "resctrl is not mounted (mount -t resctrl resctrl /sys/fs/resctrl)");
    expect_no_ways(no_cache, "this processor does not divide its last-level cache");
    expect_no_ways(odd, "info/L3 and schemata say nothing that can be used");
}

static void test_groups_are_removed(void **state)
{
    (void)state;
    struct corun_diagnostics *list = corun_diagnostics_create();
    struct journal journal;
    struct resctrl resctrl;
    struct restored restored;
    char path[80];
    fake_begin(two_sockets, group);
    snprintf(path, sizeof path, "%s/journal", fake.root);
    assert_int_equal(journal_create(&journal, path, list), CORUN_OK);
    resctrl_open(&resctrl, fake.root, &journal);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(resctrl_create(&resctrl, i), 0);
    assert_int_equal(resctrl_watch(&resctrl, 0), 0);
    journal_close(&journal);
    assert_int_equal(restore_from(path, 0, list, &restored), CORUN_OK);
    assert_int_equal(restored.groups, 4);
    assert_int_equal(restored.failed, 0);
    assert_int_equal(fake.removed, 4);
    expect_file("corun-%d-%u/schemata", 1, "(no such file)");
    assert_string_equal(fake_read("schemata"), two_sockets[0].text);
    fake_end();
    corun_diagnostics_destroy(list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ways_go_to_processors),    cmocka_unit_test(test_masks_that_are_too_small),
        cmocka_unit_test(test_code_and_data_apart),      cmocka_unit_test(test_traffic_is_that_of_all_caches),
        cmocka_unit_test(test_what_is_missing_is_named), cmocka_unit_test(test_groups_are_removed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
