/* SPDX-License-Identifier: MIT */
/* How much memory the host has left, in folders that stand for /proc and /sys, with and without control groups. */
#include "base/host_memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#define KB UINT64_C(1024)

/* A root of its own, with /proc and /sys as it wants them. */
struct root {
    char path[64], cleanup[96];
};

static int setup(void **state)
{
    struct root *root = calloc(1, sizeof *root);
    strcpy(root->path, "/tmp/corun-root-XXXXXX");
    assert_non_null(mkdtemp(root->path));
    snprintf(root->cleanup, sizeof root->cleanup, "rm -r '%s'", root->path);
    *state = root;
    return 0;
}

static int teardown(void **state)
{
    struct root *root = *state;
    int status = system(root->cleanup);
    free(root);
    return status;
}

static void put(const struct root *root, const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", root->path, name);
    for (char *slash = path + strlen(root->path) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = 0;
        mkdir(path, 0777);
        *slash = '/';
    }
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void knows_nothing_without_files(void **state)
{
    const struct root *root = *state;
    assert_true(host_memory_available(root->path) == UINT64_MAX);
}

static void takes_what_the_system_has(void **state)
{
    const struct root *root = *state;
    put(root, "proc/meminfo", "MemTotal:  900 kB\nMemFree: 100 kB\nMemAvailable:     500 kB\n");
    assert_int_equal(host_memory_available(root->path), 500 * KB);
    put(root, "proc/self/cgroup", "1:name=x:/y\n0::/\n"); /* without limits */
    assert_int_equal(host_memory_available(root->path), 500 * KB);
}

static void control_groups_may_leave_less(void **state)
{
    const struct root *root = *state;
    put(root, "proc/meminfo", "MemAvailable: 500 kB\n");
    put(root, "proc/self/cgroup", "0::/all/mine\n");
    put(root, "sys/fs/cgroup/all/mine/memory.max", "max\n");
    put(root, "sys/fs/cgroup/all/mine/memory.current", "1024\n");
    assert_int_equal(host_memory_available(root->path), 500 * KB);
    put(root, "sys/fs/cgroup/all/memory.max", "307200\n"); /* around it */
    put(root, "sys/fs/cgroup/all/memory.current", "102400\n");
    assert_int_equal(host_memory_available(root->path), 200 * KB);
    put(root, "sys/fs/cgroup/all/memory.stat", "anon 3\ninactive_file 51200\n");
    assert_int_equal(host_memory_available(root->path), 250 * KB);
    put(root, "sys/fs/cgroup/all/mine/memory.max", "1000\n"); /* more is used already */
    assert_int_equal(host_memory_available(root->path), 0);
}

/* In a container the group of the process is the root of what is seen. */
static void a_container_is_a_root(void **state)
{
    const struct root *root = *state;
    put(root, "proc/meminfo", "MemAvailable: 500 kB\n");
    put(root, "proc/self/cgroup", "0::/\n");
    put(root, "sys/fs/cgroup/memory.max", "204800\n");
    put(root, "sys/fs/cgroup/memory.current", "0\n");
    assert_int_equal(host_memory_available(root->path), 200 * KB);
}

static void what_does_not_fit_is_told(void **state)
{
    (void)state;
    struct corun_diagnostics *list = corun_diagnostics_create();
    assert_int_equal(host_memory_check(4096, "a page", CORUN_NOWHERE, list), CORUN_OK);
    assert_int_equal(host_memory_check(UINT64_MAX - 1, "a universe", CORUN_NOWHERE, list), CORUN_MEMORY);
    assert_non_null(strstr(corun_diagnostics_get(list, 0)->message, "a universe: its 18446744073.71 GB do not fit"));
    corun_diagnostics_destroy(list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(knows_nothing_without_files, setup, teardown),
        cmocka_unit_test_setup_teardown(takes_what_the_system_has, setup, teardown),
        cmocka_unit_test_setup_teardown(control_groups_may_leave_less, setup, teardown),
        cmocka_unit_test_setup_teardown(a_container_is_a_root, setup, teardown),
        cmocka_unit_test(what_does_not_fit_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
