/* SPDX-License-Identifier: MIT */
/* corund's configuration file, and which row of limits counts for whom. */
#include "daemon/configuration.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static enum corun_status parse(const char *text, struct arena *arena, struct corun_diagnostics *list,
                               struct daemon_configuration *result)
{
    return daemon_configuration_parse("corund.yaml", text, strlen(text), arena, list, result);
}

static void test_whole(void **unused)
{
    (void)unused;
    struct arena *arena = arena_create();
    struct daemon_configuration c;
    assert_int_equal(
        parse("simulate: gtx980:sms=4\npolicy: smqos\nsocket: /run/x\nexpect: [a, b]\nthreads: 2\n"
              "kernel_timeout: 5M\npatience: 1.5m\npace: 0.25\nmetrics: /m\nmetrics_interval: 2s\nlimits:\n"
              "  - {user: root, clients: 4, memory: 1G, share: 50%}\n  - {group: 77, memory: 512K}\n"
              "  - {clients: 0}\n",
              arena, NULL, &c),
        CORUN_OK);
    assert_int_equal(c.gpu_count, 1);
    assert_string_equal(c.gpus[0].text, "gtx980:sms=4");
    assert_int_equal(c.policy.place.line, 2);
    assert_string_equal(c.policy.text, "smqos");
    assert_int_equal(c.expected_count, 2);
    assert_string_equal(c.expected[1].text, "b");
    assert_true(c.threads == 2 && c.patience == 90 && c.pace == 0.25 && c.metrics_interval == 2);
    assert_int_equal(c.limits.count, 3);
    const struct limit *rows = c.limits.rows;
    assert_true(rows[0].of == LIMIT_OF_USER && rows[0].id == 0 && rows[0].clients == 4 && rows[0].memory == 1u << 30 &&
                rows[0].share == 0.5);
    assert_true(rows[1].of == LIMIT_OF_GROUP && rows[1].id == 77 && rows[1].clients == UINT32_MAX &&
                rows[1].memory == 512u << 10 && isinf(rows[1].share));
    assert_true(rows[2].of == LIMIT_OF_EVERYBODY && rows[2].clients == 0);
    arena_destroy(arena);
}

static void test_mistakes(void **unused)
{
    static const struct {
        const char *text, *message;
        uint32_t line, column;
    } cases[] = {
        {"polcy: even\n", "did you mean 'policy'?", 1, 1},
        {"simulate: gtx980\nthreads: 0\n", "'0' is no number from 1 to 1000 for 'threads'", 2, 10},
        {"patience: soon\n", "'soon' is no time like 10s, 5m or 1h", 1, 11},
        {"kernel_timeout: 5x\n", "'5x' is no time like 10ms", 1, 17},
        {"simulate: []\n", "'simulate' is an empty list", 1, 11},
        {"simulate: [a, {b: c}]\n", "expected text, found a map", 1, 15},
        {"simulate: [a, b, c, d, e, f, g, h, i]\n", "there are more than 8 GPUs", 1, 36},
        {"pace: 1.5\n", "'1.5' is no pace above 0 and at most 1", 1, 7},
        {"pace: 0\n", "'0' is no pace", 1, 7},
        {"socket: ''\n", "'socket' is empty", 1, 9},
        {"expect: server\n", "expected a list for 'expect', found text", 1, 9},
        {"expect: [a, {b: c}]\n", "expected text, found a map", 1, 13},
        {"limits:\n  - {user: nobody-of-that-name}\n", "there is no user 'nobody-of-that-name'", 2, 12},
        {"limits:\n  - {group: no.such}\n", "there is no group 'no.such'", 2, 13},
        {"limits:\n  - {user: root, group: root}\n", "a row is of a user or of a group, not of both", 2, 25},
        {"limits:\n  - {user: 5, cgroup: /a}\n", "a row is of control groups, or of a user or group, not of both", 2,
         23},
        {"limits:\n  - {cgroup: a}\n", "'a' is no control group like /pods.slice", 2, 14},
        {"limits:\n  - {user: 5, memory: much}\n", "'much' is no number of bytes", 2, 23},
        {"limits:\n  - {user: 5, share: 120%}\n", "'120%' is no part of the GPU", 2, 22},
        {"limits:\n  - {user: 5, client: 1}\n", "did you mean 'clients'?", 2, 15},
        {"limits:\n  - {clients: 1}\n  - {user: 5}\n", "no row is looked at behind the one for everybody", 3, 5},
        {"limits: 5\n", "expected a list for 'limits', found text", 1, 9},
    };
    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena *arena = arena_create();
        struct corun_diagnostics *list = corun_diagnostics_create();
        struct daemon_configuration c;
        assert_true(parse(cases[i].text, arena, list, &c) != CORUN_OK);
        const struct corun_diagnostic *said = corun_diagnostics_get(list, 0);
        if (!strstr(said->message, cases[i].message))
            fail_msg("\"%s\" is not in: %s", cases[i].message, said->message);
        assert_int_equal(said->place.line, cases[i].line);
        assert_int_equal(said->place.column, cases[i].column);
        corun_diagnostics_destroy(list);
        arena_destroy(arena);
    }
}

static void test_rows(void **unused)
{
    (void)unused;
    struct limits limits = {.rows = {{.of = LIMIT_OF_USER, .id = 5}, {.of = LIMIT_OF_GROUP, .id = 7}}, .count = 2};
    struct peer peer = {.uid = 5, .gid = 7};
    assert_int_equal(limits_find(&limits, &peer, 1000), 0);
    assert_int_equal(limits_find(&limits, &peer, 5), LIMITS_OWNER);
    peer.uid = 6;
    assert_int_equal(limits_find(&limits, &peer, 1000), 1);
    peer = (struct peer){.uid = 8, .gid = 9, .groups = {3, 7}, .group_count = 2};
    assert_int_equal(limits_find(&limits, &peer, 1000), 1);
    peer.group_count = 1;
    assert_int_equal(limits_find(&limits, &peer, 1000), LIMITS_NOBODY);
    /* who may be in the group gets no other row behind it; one in front of it counts */
    limits.rows[2] = (struct limit){.of = LIMIT_OF_EVERYBODY};
    limits.count = 3;
    assert_int_equal(limits_find(&limits, &peer, 1000), 2);
    peer.groups_unknown = 1;
    assert_int_equal(limits_find(&limits, &peer, 1000), LIMITS_NOBODY);
    peer.uid = 5;
    assert_int_equal(limits_find(&limits, &peer, 1000), 0);
    peer.uid = 8;
    peer.gid = 7;
    assert_int_equal(limits_find(&limits, &peer, 1000), 1);
    peer.gid = 9;
    peer.groups_unknown = 0;
    limits.count = 2;
    peer.uid = 0;
    assert_int_equal(limits_find(&limits, &peer, 1000), LIMITS_OWNER);
    peer.uid = 8;
    limits.rows[limits.count++] = (struct limit){.of = LIMIT_OF_EVERYBODY};
    assert_int_equal(limits_find(&limits, &peer, 1000), 2);
    assert_int_equal(limits_find(&(struct limits){.count = 0}, &peer, 1000), LIMITS_NOBODY);
    const struct peer five = {.uid = 5}, six = {.uid = 6}, eight = {.uid = 8};
    assert_true(limits_same(&limits, 1, &six, 1, &eight));
    assert_false(limits_same(&limits, 2, &six, 2, &eight));
    assert_true(limits_same(&limits, 2, &eight, 2, &eight));
    assert_false(limits_same(&limits, 0, &five, 1, &five));
}

/* A row of control groups is of each that the pattern names, with all below it; for root and the daemon's user as well. Who hides gets no row behind it. */
static void test_control_groups(void **unused)
{
    (void)unused;
    const struct limits limits = {.rows = {{.of = LIMIT_OF_USER, .id = 5},
                                           {.of = LIMIT_OF_CGROUP, .cgroup = "/pods.slice/pods-*.slice"},
                                           {.of = LIMIT_OF_EVERYBODY}},
                                  .count = 3};
    struct peer one = {.uid = 6, .cgroup = "/pods.slice/pods-one.slice/a.scope"}, other = one, hidden = {.uid = 6},
                root = {.uid = 0, .cgroup = "/user.slice"}, in_pod = {.uid = 0, .cgroup = "/pods.slice/pods-one.slice"};
    assert_int_equal(limits_find(&limits, &one, 1000), 1);
    assert_int_equal(limits_find(&limits, &(struct peer){.uid = 5}, 1000), 0);
    assert_int_equal(limits_find(&limits, &(struct peer){.uid = 6, .cgroup = "/pods.slice"}, 1000), 2);
    assert_int_equal(limits_find(&limits, &hidden, 1000), LIMITS_NOBODY);
    assert_int_equal(limits_find(&limits, &root, 1000), LIMITS_OWNER);
    assert_int_equal(limits_find(&limits, &in_pod, 1000), 1);
    assert_int_equal(limits_find(&limits, &one, 6), 1);
    root.cgroup[0] = 0;
    assert_int_equal(limits_find(&limits, &root, 1000), LIMITS_NOBODY);
    assert_true(limits_same(&limits, 1, &one, 1, &in_pod)); /* of whatever user */
    strcpy(other.cgroup, "/pods.slice/pods-two.slice/a.scope");
    assert_false(limits_same(&limits, 1, &one, 1, &other));
    strcpy(other.cgroup, "/pods.slice/pods-one2.slice");
    assert_false(limits_same(&limits, 1, &one, 1, &other));
}

static void test_paths(void **unused)
{
    static const struct {
        const char *text, *path;
    } texts[] = {{"0::/a/b.scope\n", "/a/b.scope"},
                 {"0::/\n", "/"},
                 {"0::/\n1:name=systemd:/a:b/c\n", "/a:b/c"},
                 {"12:cpu,cpuacct:/x\n1:name=systemd:/y\n0::/z\n", "/z"},
                 {"2:cpu:/x\n", ""},
                 {"0::a\n", ""},
                 {"0:/b\n:\n0", ""},
                 {"", ""}};
    static const struct {
        const char *pattern, *path;
        size_t bytes;
    } fits[] = {
        {"/a", "/a", 2}, {"/a", "/a/b", 2}, {"/a", "/ab", 0},    {"/a/b", "/a", 0},           {"/*/b?", "/x/by/z", 5},
        {"/*", "/", 0},  {"/*", "", 0},     {"/a*c", "/a/c", 0}, {"/a\\x2d*", "/a\\x2db", 7}, {"/..", "/../a", 3}};
    char path[CGROUP_BYTES], text[CGROUP_BYTES + 16] = "0::/";
    (void)unused;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_int_equal(cgroup_parse(texts[i].text, path), *texts[i].path != 0);
        assert_string_equal(path, texts[i].path);
    }
    memset(text + 4, 'x', CGROUP_BYTES);
    assert_false(cgroup_parse(text, path));
    text[CGROUP_BYTES + 2] = 0;
    assert_true(cgroup_parse(text, path));
    assert_int_equal(strlen(path), CGROUP_BYTES - 1);
    text[CGROUP_BYTES + 2] = 'x';
    text[CGROUP_BYTES + 3] = 0;
    for (size_t i = 0; i < sizeof fits / sizeof *fits; i++)
        assert_int_equal(cgroup_fits(fits[i].pattern, fits[i].path), fits[i].bytes);
    assert_false(cgroup_is_pattern("") || cgroup_is_pattern("/") || cgroup_is_pattern("a") ||
                 cgroup_is_pattern("/a/") || cgroup_is_pattern("/a//b") || cgroup_is_pattern(text + 3));
    assert_true(cgroup_is_pattern("/a/*"));
    assert_false(cgroup_of(0, path));
    assert_string_equal(path, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole),          cmocka_unit_test(test_mistakes), cmocka_unit_test(test_rows),
        cmocka_unit_test(test_control_groups), cmocka_unit_test(test_paths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
