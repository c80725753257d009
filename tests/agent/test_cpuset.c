/* SPDX-License-Identifier: MIT */
/* Control groups of processors: version 1 and 2 in a tree of the test, and whatever this machine has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/affinity.h"
#include "agent/cpuset.h"
#include "agent/restore.h"
#include "child.h"
#include "fake_kernel.h"

#define GROUP \
    {"cgroup.procs", ""}, {"cpuset.cpus", ""}, {"cpuset.mems", ""}, \
    { \
        "cgroup.subtree_control", "" \
    }
static const struct fake_file group[] = {GROUP, {0}};
static const struct fake_file root[] = {{"cgroup.procs", ""},
                                        {"cpuset.mems", "0-1\n"},
                                        {"cgroup.controllers", "cpuset cpu memory\n"},
                                        {"web/", NULL},
                                        {"web/cgroup.procs", ""},
                                        {"web/cpuset.mems", "1\n"},
                                        {0}};

static cpu_set_t cores_of(const char *text)
{
    cpu_set_t cores;
    assert_true(affinity_parse(text, &cores));
    return cores;
}

static struct cpuset_places places_of(const char *mounts, const char *groups)
{
    static char mounts_path[80], groups_path[80]; /* fake.root with a name */
    char line[256];
    snprintf(line, sizeof line, mounts, fake.root);
    fake_write(fake.root, "mounts", line);
    fake_write(fake.root, "groups", groups);
    snprintf(mounts_path, sizeof mounts_path, "%s/mounts", fake.root);
    snprintf(groups_path, sizeof groups_path, "%s/groups", fake.root);
    return (struct cpuset_places){mounts_path, groups_path, NULL};
}

static void expect_file(const char *format, const char *text)
{
    char name[128];
    snprintf(name, sizeof name, format, getpid());
    assert_string_equal(fake_read(name), text);
}

static void test_version_1(void **state)
{
    (void)state;
    struct journal journal = {.fd = -1};
    struct cpuset cpuset;
    cpu_set_t cores = cores_of("1-3"), one = cores_of("2");
    fake_begin(root, group);
    struct cpuset_places places = places_of("none /dev devtmpfs rw 0 0\nnone %s cgroup rw,cpuset,cpu 0 0\n",
                                            "9:memory:/other\n3:cpu,cpuset:/web\n0::/\n");
    cpuset_open(&cpuset, &places, &cores, &journal);
    assert_string_equal(cpuset.why_not, "");
    assert_int_equal(cpuset.version, 1);
    expect_file("web/corun-%d/cpuset.cpus", "1-3");
    expect_file("web/corun-%d/cpuset.mems", "1");
    assert_int_equal(cpuset_create(&cpuset, "batch", &one), 0);
    expect_file("web/corun-%d/batch/cpuset.cpus", "2");
    expect_file("web/corun-%d/batch/cpuset.mems", "1");
    assert_int_equal(cpuset_set(&cpuset, "batch", &cores), 0);
    expect_file("web/corun-%d/batch/cpuset.cpus", "1-3");
    fake_end();
}

static void test_version_2(void **state)
{
    (void)state;
    struct journal journal = {.fd = -1};
    struct cpuset cpuset;
    cpu_set_t cores = cores_of("0-1");
    fake_begin(root, group);
    struct cpuset_places places = places_of("none %s cgroup2 rw 0 0\n", "0::/web\n");
    cpuset_open(&cpuset, &places, &cores, &journal);
    assert_string_equal(cpuset.why_not, "");
    assert_int_equal(cpuset.version, 2);
    expect_file("web/corun-%d/cpuset.cpus", "0-1");
    expect_file("web/corun-%d/cpuset.mems", ""); /* inherited, unless it is asked for */
    expect_file("web/corun-%d/cgroup.subtree_control", "+cpuset");
    fake_end();
}

static void test_what_is_missing_is_named(void **state)
{
    (void)state;
    struct journal journal = {.fd = -1};
    struct cpuset cpuset;
    cpu_set_t cores = cores_of("0");
    char text[400];
    static const struct fake_file not_delegated[] = {{"cgroup.procs", ""}, {0}};
    fake_begin(root, not_delegated);
    struct cpuset_places places = places_of("none %s tmpfs rw 0 0\n", "0::/\n");
    cpuset_open(&cpuset, &places, &cores, &journal);
    assert_int_equal(cpuset.version, 0);
    assert_string_equal(cpuset.why_not, "no hierarchy of control groups has cpuset");
    places = places_of("none %s cgroup rw,cpusets 0 0\n", "0::/\n");
    cpuset_open(&cpuset, &places, &cores, &journal);
    assert_string_equal(cpuset.why_not, "no hierarchy of control groups has cpuset");
    places = places_of("none %s cgroup rw,cpuset 0 0\n", "3:cpuset:/of/the/host\n");
    cpuset_open(&cpuset, &places, &cores, &journal);
    snprintf(text, sizeof text, "the agent's own control group is not to be seen in %s", fake.root);
    assert_string_equal(cpuset.why_not, text);
    places = places_of("none %s cgroup2 rw 0 0\n", "0::/\n");
    cpuset_open(&cpuset, &places, &cores, &journal);
    assert_int_equal(cpuset.version, 0);
    snprintf(text, sizeof text, "%s/corun-%d: No such file or directory (is cpuset delegated there?)", fake.root,
             getpid());
    assert_string_equal(cpuset.why_not, text);
    fake_end();
}

/* On this machine: a process with threads is moved, and finds its old group and its processors again. */
static void test_the_real_one(void **state)
{
    (void)state;
    const struct cpuset_places places = {"/proc/self/mounts", "/proc/self/cgroup", NULL};
    struct corun_diagnostics *list = corun_diagnostics_create();
    struct journal journal;
    struct cpuset cpuset;
    struct restored restored;
    char *home = NULL;
    cpu_set_t all, one, now;
    char path[64], before[4096], after[4096], folder[64];
    snprintf(path, sizeof path, "/tmp/corun-test-%d.restore", getpid());
    assert_int_equal(journal_create(&journal, path, list), CORUN_OK);
    assert_int_equal(affinity_get_thread(0, &all), 0);
    cpuset_open(&cpuset, &places, &all, &journal);
    if (!cpuset.version) {
        restore_from(path, 0, list, &restored);
        unlink(path);
        journal_close(&journal);
        print_message("skipped: %s\n", cpuset.why_not);
        skip();
    }
    struct process_id child = child_begin(3, true);
    snprintf(folder, sizeof folder, "/proc/%d", child.pid);
    assert_int_equal(control_read(folder, "cgroup", before, sizeof before), 0);
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE && !CPU_COUNT(&one); i++)
        if (CPU_ISSET(i, &all))
            CPU_SET(i, &one);
    assert_int_equal(journal_affinity(&journal, child, child, &all), 0);
    assert_int_equal(cpuset_create(&cpuset, "batch", &all), 0);
    assert_int_equal(cpuset_add(&cpuset, "batch", child, &home), 0);
    assert_int_equal(cpuset_set(&cpuset, "batch", &one), 0);
    assert_int_equal(cpuset_get(&cpuset, "batch", &now), 0);
    assert_true(CPU_EQUAL(&now, &one));
    process_list threads = {0};
    process_threads(child.pid, &threads);
    for (size_t i = 0; i < threads.count; i++) {
        affinity_get_thread(threads.data[i], &now);
        assert_true(CPU_EQUAL(&now, &one));
    }
    vector_free(&threads);
    journal_close(&journal);
    assert_int_equal(restore_from(path, 0, list, &restored), CORUN_OK);
    assert_int_equal(restored.failed, 0);
    assert_int_equal(restored.groups, 2);
    assert_int_equal(restored.processes, 1);
    assert_int_equal(restored.threads, 3);
    assert_int_equal(control_read(folder, "cgroup", after, sizeof after), 0);
    assert_string_equal(after, before);
    affinity_get_thread(child.pid, &now);
    assert_true(CPU_EQUAL(&now, &all));
    assert_false(control_exists(cpuset.folder, NULL));
    child_end(child);
    free(home);
    unlink(path);
    corun_diagnostics_destroy(list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_version_1),
        cmocka_unit_test(test_version_2),
        cmocka_unit_test(test_what_is_missing_is_named),
        cmocka_unit_test(test_the_real_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
