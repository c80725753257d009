/* SPDX-License-Identifier: MIT */
/* Launch descriptions: form, values, and what is wrong with broken ones. */
#include "workload/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define HEAD "name: t\nptx: t.ptx\n"
#define LAUNCH "launches:\n  - {kernel: k, grid: 1, block: 32}\n"

/* Parses and plans; the first message is copied to `message` with its place. */
static enum corun_status try(const char *text, size_t bytes, const char *size, char message[512], struct plan **plan,
                             struct description **description)
{
    struct corun_diagnostics *list = corun_diagnostics_create();
    *plan = NULL;
    enum corun_status status = description_parse("t.yaml", text, bytes, list, description);
    if (!status)
        status = plan_create(*description, size, list, plan);
    message[0] = 0;
    if (corun_diagnostics_count(list) > 0) {
        const struct corun_diagnostic *item = corun_diagnostics_get(list, 0);
        snprintf(message, 512, "%s:%u:%u: %s", item->place.file, item->place.line, item->place.column, item->message);
    }
    assert_true(status == CORUN_OK || message[0] || status == CORUN_MEMORY);
    corun_diagnostics_destroy(list);
    return status;
}

static void complete(void **state)
{
    (void)state;
    static const char text[] =
        "name: jacobi-2\n"
        "summary: two grids\n"
        "character: memory\n"
        "ptx: sub/j.ptx\n"
        "sizes:\n"
        "  small: {n: 64, steps: 3}\n"
        "  medium: {n: 2 * 64, steps: 4}\n"
        "parameters:\n"
        "  cells: n * n\n"
        "buffers:\n"
        "  - {name: a, type: f32, count: cells, initial: {uniform: [-1.5, 2]}, output: true, "
        "tolerance: {relative: 1e-5}}\n"
        "  - {name: b, type: f32, count: cells}\n"
        "  - {name: c, type: u8, count: 7, initial: {constant: 250 + 5}, symbol: table}\n"
        "work: {outputs: cells, instructions: cells * (7 + steps), bytes: 4 * cells,\n"
        "       tolerance: {instructions: 2.5%}}\n"
        "papers:\n"
        "  - {paper: cap, name: jacobi, note: smaller}\n"
        "  - {paper: smk, name: J, class: problem-size, figures: {thread blocks: 1024, registers: 94.5%}}\n"
        "launches:\n"
        "  - kernel: step\n"
        "    grid: [n / 32, \"ceildiv(n, 8)\"]\n"
        "    block: [32, 8]\n"
        "    shared: 4 * n\n"
        "    arguments:\n"
        "      - buffer: a\n"
        "      - {buffer: b, offset: 5}\n"
        "      - s32: -n - step\n"
        "      - f32: 0.5\n"
        "      - u64: 0x100000000\n"
        "    repeat: steps\n"
        "    swap: [a, b]\n"
        "  - repeat: 2\n"
        "    launches:\n"
        "      - copy: {from: a, to: b, count: 10, to_offset: 100 * step}\n"
        "      - {kernel: last, grid: 1, block: 1}\n";
    struct plan *plan;
    struct description *description;
    char message[512];
    enum corun_status status = try(text, sizeof text - 1, "small", message, &plan, &description);
    assert_string_equal(message, "");
    assert_int_equal(status, CORUN_OK);
    assert_non_null(plan);
    if (!plan) /* for static analysis, which does not know cmocka */
        return;
    assert_string_equal(description->name, "jacobi-2");
    assert_int_equal(description->character, CORUN_CHARACTER_MEMORY);
    assert_int_equal(plan->buffers[0].bytes, 64 * 64 * 4);
    assert_int_equal(plan->buffers[2].first, 255);
    assert_true(plan->work.stated);
    assert_int_equal(plan->work.outputs, 4096);
    assert_int_equal(plan->work.thread_instructions, 40960);
    assert_int_equal(plan->work.global_bytes, 16384);
    assert_true(plan->work.instruction_tolerance == 0.025 && plan->work.byte_tolerance == 0);
    struct corun_workload_info info;
    description_describe(description, &info);
    assert_int_equal(info.paper_count, 2);
    assert_string_equal(info.papers[0].paper, "cap");
    assert_string_equal(info.papers[0].name, "jacobi");
    assert_string_equal(info.papers[0].note, "smaller");
    assert_string_equal(info.papers[1].note, "");
    assert_int_equal(info.papers[0].character, CORUN_CHARACTER_COUNT);
    assert_int_equal(info.papers[0].figure_count, 0);
    assert_int_equal(info.papers[1].character, CORUN_CHARACTER_PROBLEM_SIZE);
    assert_int_equal(info.papers[1].figure_count, 2);
    assert_string_equal(info.papers[1].figures[0].name, "thread blocks");
    assert_true(info.papers[1].figures[0].value == 1024);
    assert_true(info.papers[1].figures[1].value == 0.945);
    assert_string_equal(info.papers[1].figures[1].text, "94.5%");
    assert_int_equal(plan->grid_count, 5);
    assert_int_equal(plan->operations.count, 7);
    const struct planned_operation *first = &plan->operations.data[0], *second = &plan->operations.data[1];
    assert_int_equal(first->grid[0], 2);
    assert_int_equal(first->grid[1], 8);
    assert_int_equal(first->grid[2], 1);
    assert_int_equal(first->shared_bytes, 256);
    assert_int_equal(first->arguments[0].buffer, 0);
    assert_int_equal(second->arguments[0].buffer, 1); /* a and b have changed places */
    assert_int_equal(second->arguments[1].bits, 20);
    assert_int_equal((int32_t)second->arguments[2].bits, -65);
    assert_int_equal(second->arguments[3].bits, 0x3f000000);
    assert_int_equal(second->arguments[4].bits, 0x100000000);
    assert_int_equal(plan->final_storage[0], 1); /* after three steps */
    const struct planned_operation *copy = &plan->operations.data[5];
    assert_int_equal(copy->from, 1);
    assert_int_equal(copy->to, 0);
    assert_int_equal(copy->copy_bytes, 40);
    assert_int_equal(copy->to_offset, 400);
    plan_destroy(plan);

    struct plan *standard;
    assert_int_equal(plan_create(description, NULL, NULL, &standard), CORUN_OK);
    assert_string_equal(standard->size->name, "medium");
    assert_int_equal(standard->buffers[0].count, 128 * 128);
    assert_int_equal(standard->final_storage[0], 0);
    plan_destroy(standard);
    assert_int_equal(plan_create(description, "huge", NULL, &standard), CORUN_NOT_FOUND);
    description_destroy(description);
}

/* SIZE,parameter=value,...: values, what depends on them, and the name that is shown. */
static void other_values(void **state)
{
    (void)state;
    static const char text[] =
        HEAD "sizes:\n  s: {n: 3, m: 2 * n, k: m}\n  t: {n: 5}\nparameters: {all: n * 100}\n" LAUNCH;
    static const struct {
        const char *size, *name;
        int64_t n, m, k, all;
    } rows[] = {
        {"s", "s", 3, 6, 6, 300},
        {"s,n=4", "s,n=4", 4, 8, 8, 400},
        {"s,m=0x10", "s,m=16", 3, 16, 16, 300},
        {"s,k=1K,n=2M", "s,n=2097152,k=1024", 2097152, 4194304, 1024, 209715200},
        {"s,m=0,k=7,n=1", "s,n=1,m=0,k=7", 1, 0, 7, 100},
        {"s,k=9223372036854775807", "s,k=9223372036854775807", 3, 6, INT64_MAX, 300},
    };
    char message[512];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct plan *plan;
        struct description *description;
        assert_int_equal(try(text, sizeof text - 1, rows[i].size, message, &plan, &description), CORUN_OK);
        assert_non_null(plan);
        if (!plan)
            return;
        assert_string_equal(plan->overrides.size_name, rows[i].name);
        const int64_t values[] = {rows[i].n, rows[i].m, rows[i].k, rows[i].all};
        assert_int_equal(plan->parameters.count, 4);
        for (size_t k = 0; k < 4; k++)
            assert_int_equal(plan->parameters.data[k].value, values[k]);
        plan_destroy(plan);
        description_destroy(description);
    }
    static const struct {
        const char *size, *message;
        enum corun_status status;
    } broken[] = {
        {"s,", "workload 't', size 's': '' is not parameter=value", CORUN_ARGUMENT},
        {"s,n", "'n' is not parameter=value", CORUN_ARGUMENT},
        {"s,n=", "parameter 'n' is a whole number from 0", CORUN_ARGUMENT},
        {"s,n=-1", "powers of 1024, not '-1'", CORUN_ARGUMENT},
        {"s,n=1.5", "not '1.5'", CORUN_ARGUMENT},
        {"s,n=1=2", "not '1=2'", CORUN_ARGUMENT},
        {"s,n= 1", "not ' 1'", CORUN_ARGUMENT},
        {"s,n=9223372036854775808", "not '9223372036854775808'", CORUN_ARGUMENT},
        {"s,n=1,m=2,n=1", "parameter 'n' is given twice", CORUN_ARGUMENT},
        {"s,n=1,", "'' is not parameter=value", CORUN_ARGUMENT},
        {"s,=1", "there is no parameter '' (it has: n m k)", CORUN_ARGUMENT},
        {"s,colour=1", "there is no parameter 'colour' (it has: n m k)", CORUN_ARGUMENT},
        {"s,all=1", "there is no parameter 'all' (it has: n m k)", CORUN_ARGUMENT},
        {"t,m=1", "size 't': there is no parameter 'm' (it has: n)", CORUN_ARGUMENT},
        {"s,n=4000000000000000000", "", CORUN_SYNTAX}, /* 2 * n is too large */
        {"n=1", "no size 'n=1' (it has: s t)", CORUN_NOT_FOUND},
        {",n=1", "no size '' (it has: s t)", CORUN_NOT_FOUND},
        {"sx,n=1", "no size 'sx' (it has: s t)", CORUN_NOT_FOUND},
    };
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        struct plan *plan;
        struct description *description;
        enum corun_status status = try(text, sizeof text - 1, broken[i].size, message, &plan, &description);
        if (status != broken[i].status || !strstr(message, broken[i].message))
            fail_msg("%s => %d %s\nexpected %s", broken[i].size, (int)status, message, broken[i].message);
        assert_null(plan);
        description_destroy(description);
    }
    static const char mistyped[] = HEAD "sizes:\n  s: {neighbours: 3}\n" LAUNCH;
    struct plan *plan;
    struct description *description;
    assert_int_equal(try(mistyped, sizeof mistyped - 1, "s,neighbors=4", message, &plan, &description), CORUN_ARGUMENT);
    assert_non_null(strstr(message, "there is no parameter 'neighbors'; did you mean 'neighbours'?"));
    description_destroy(description);
}

static void without_sizes(void **state)
{
    (void)state;
    struct plan *plan;
    struct description *description;
    char message[512];
    assert_int_equal(try(HEAD LAUNCH, strlen(HEAD LAUNCH), NULL, message, &plan, &description), CORUN_OK);
    assert_non_null(plan);
    if (!plan)
        return;
    assert_int_equal(plan->grid_count, 1);
    assert_int_equal(description->sizes.count, 1);
    plan_destroy(plan);
    description_destroy(description);
}

/* Long because it is a table of broken descriptions and what is said of each. */
static void broken(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } rows[] = {
        {"", "t.yaml:1:1: the file is empty"},
        {"- a\n", "t.yaml:1:1: expected a map, found a list"},
        {"text", "t.yaml:1:1: expected a map, found text"},
        {"name: [a\nptx: b", "t.yaml:2:4: not YAML: "},
        {"name: \"a", "t.yaml:1:9: not YAML: "},
        {"\tname: a", "t.yaml:1:1: not YAML: "},
        {"name: a\xff", "not UTF-8"},
        {"a: &x [*x]", "t.yaml:1:4: anchors and tags are not supported"},
        {"name: &x t", "t.yaml:1:7: anchors are not supported"},
        {"name: *x", "t.yaml:1:7: aliases are not supported"},
        {"*x : 1", "t.yaml:1:1: aliases are not supported"},
        {"name: !!str t", "t.yaml:1:7: tags are not supported"},
        {"name: \"a\\0b\"", "t.yaml:1:7: text must not contain a NUL character"},
        {"[[[[[[[[[[[[[[[[[[[[", "t.yaml:1:17: nested too deeply"},
        {"name: t\n---\nname: u\n", "t.yaml:2:1: a second document"},
        {"? [a]\n: b", "t.yaml:1:3: a key must be text"},
        {"name: t\nname: u", "t.yaml:2:1: key 'name' is given twice"},
        {"name: t\n", "t.yaml:1:1: the key 'ptx' is missing"},
        {HEAD, "t.yaml:1:1: the key 'launches' is missing"},
        {HEAD "colour: red\n" LAUNCH, "t.yaml:3:1: unknown key 'colour'"},
        {HEAD "name ptx: red\n" LAUNCH, "t.yaml:3:1: unknown key 'name ptx'"},
        {"name: a/b\nptx: x\n" LAUNCH, "t.yaml:1:7: 'a/b' cannot be the name of a workload"},
        {"name: [a]\nptx: x\n" LAUNCH, "t.yaml:1:7: expected text for 'name', found a list"},
        {"name: a\nptx: ''\n" LAUNCH, "t.yaml:2:6: the path of the PTX file is empty"},
        {HEAD "character: fast\n" LAUNCH, "t.yaml:3:12: 'fast' is no character"},
        {HEAD "architecture: 80\n" LAUNCH, "t.yaml:3:15: '80' is no architecture such as sm_80"},
        {HEAD "architecture: sm_80x\n" LAUNCH, "t.yaml:3:15: 'sm_80x' is no architecture"},
        {HEAD "architecture: sm_9\n" LAUNCH, "t.yaml:3:15: 'sm_9' is no architecture"},
        {HEAD "architecture: [sm_80]\n" LAUNCH, "t.yaml:3:15: expected text for 'architecture', found a list"},
        {HEAD "sizes: 3\n" LAUNCH, "t.yaml:3:8: expected a map for 'sizes', found text"},
        {HEAD "sizes: {small: {step: 3}}\n" LAUNCH, "t.yaml:3:17: 'step' cannot be the name of a parameter"},
        {HEAD "sizes: {small: {n: 1.5}}\n" LAUNCH, "t.yaml:3:20: '1.5' is not an integer"},
        {HEAD "sizes: {small: {n: 99999999999999999999}}\n" LAUNCH, "t.yaml:3:20: the number"},
        {HEAD "parameters: {n: n}\n" LAUNCH, "t.yaml:3:17: there is no parameter 'n'"},
        {HEAD "sizes: {s: {n: 1}}\nparameters: {n: 2}\n" LAUNCH, "t.yaml:4:14: there is a parameter 'n' already"},
        {HEAD "buffers: {}\n" LAUNCH, "t.yaml:3:10: expected a list for 'buffers', found a map"},
        {HEAD "buffers: [{name: a, type: f32}]\n" LAUNCH, "t.yaml:3:11: the key 'count' is missing"},
        {HEAD "buffers: [{name: a, type: f16, count: 1}]\n" LAUNCH, "t.yaml:3:27: 'f16' is no element type"},
        {HEAD "buffers: [{name: a, type: f32, count: 0}]\n" LAUNCH, "t.yaml:3:39: the element count is 0"},
        {HEAD "buffers: [{name: a, type: f32, count: -1}]\n" LAUNCH, "t.yaml:3:39: the element count is -1"},
        {HEAD "buffers: [{name: a, type: f32, count: 0xffffffffffff}]\n" LAUNCH, "t.yaml:3:39: the element count is"},
        {HEAD "buffers: [{name: a, type: f64, count: 0x80000000}, {name: b, type: u8, count: 1}]\n" LAUNCH,
         "t.yaml:3:79: the buffers take more than"},
        {HEAD "buffers: [{name: a, type: u8, count: 1, output: yes}]\n" LAUNCH, "t.yaml:3:49: expected true or false"},
        {HEAD "buffers: [{name: a, type: u8, count: 1, tolerance: {relative: 1}}]\n" LAUNCH,
         "t.yaml:3:52: integers are compared exactly"},
        {HEAD "buffers: [{name: a, type: f32, count: 1, tolerance: {relative: -1}}]\n" LAUNCH,
         "t.yaml:3:64: '-1' is not"},
        {HEAD "buffers: [{name: a, type: u8, count: 1, initial: {constant: 256}}]\n" LAUNCH,
         "t.yaml:3:61: 256 does not fit type u8"},
        {HEAD "buffers: [{name: a, type: s8, count: 1, initial: {uniform: [3, 2]}}]\n" LAUNCH,
         "t.yaml:3:61: the lowest value is above"},
        {HEAD "buffers: [{name: a, type: f32, count: 1, initial: {uniform: [3, 2]}}]\n" LAUNCH,
         "t.yaml:3:62: the lowest value is above"},
        {HEAD "buffers: [{name: a, type: f32, count: 1, initial: {constant: much}}]\n" LAUNCH,
         "t.yaml:3:62: 'much' is not a number"},
        {HEAD "buffers: [{name: a, type: f32, count: 1, initial: noise}]\n" LAUNCH,
         "t.yaml:3:51: expected one of zero"},
        {HEAD "buffers: [{name: a, type: u8, count: 1}, {name: a, type: u8, count: 1}]\n" LAUNCH,
         "t.yaml:3:49: there is a buffer 'a' already"},
        {HEAD "work: {outputs: 1, bytes: 0}\n" LAUNCH, "t.yaml:3:7: the key 'instructions' is missing"},
        {HEAD "work: {outputs: 0, instructions: 1, bytes: 0}\n" LAUNCH, "t.yaml:3:17: the number of outputs is 0"},
        {HEAD "work: {outputs: 1, instructions: n, bytes: 0}\n" LAUNCH, "t.yaml:3:34: there is no parameter 'n'"},
        {HEAD "work: {outputs: 1, instructions: 1, bytes: -4}\n" LAUNCH, "t.yaml:3:44: the number of bytes is -4"},
        {HEAD "work: {outputs: 1, instructions: 1, bytes: 1, tolerance: {bytes: few}}\n" LAUNCH,
         "t.yaml:3:66: 'few' is not"},
        {HEAD "papers: {paper: smk}\n" LAUNCH, "t.yaml:3:9: expected a list for 'papers', found a map"},
        {HEAD "papers: [{paper: smk}]\n" LAUNCH, "t.yaml:3:10: the key 'name' is missing"},
        {HEAD "papers: [{paper: times, name: a}]\n" LAUNCH, "t.yaml:3:18: 'times' is no paper (known here: spatial"},
        {HEAD "papers: [{paper: smk, name: a, class: fast}]\n" LAUNCH, "t.yaml:3:39: 'fast' is no character"},
        {HEAD "papers: [{paper: smk, name: a, figures: {tbs: many}}]\n" LAUNCH, "t.yaml:3:47: 'many' is not a number"},
        {HEAD "launches: []\n", "t.yaml:3:11: there must be at least one launch"},
        {HEAD "launches: [{kernel: k, grid: 1}]\n", "t.yaml:3:12: the key 'block' is missing"},
        {HEAD "launches: [{kernel: k, grid: 0, block: 1}]\n", "t.yaml:3:30: the grid size is 0"},
        {HEAD "launches: [{kernel: k, grid: [1, 1, 1, 1], block: 1}]\n", "t.yaml:3:30: expected one to three sizes"},
        {HEAD "launches: [{kernel: k, grid: 1, block: 70000}]\n", "t.yaml:3:40: the block size is 70000"},
        {HEAD "launches: [{kernel: k, grid: 1, block: 1, arguments: [{buffer: a}]}]\n",
         "t.yaml:3:64: there is no buffer 'a'"},
        {HEAD "launches: [{kernel: k, grid: 1, block: 1, arguments: [{s33: 1}]}]\n",
         "t.yaml:3:56: 's33' is no argument"},
        {HEAD "launches: [{kernel: k, grid: 1, block: 1, arguments: [{u8: 256}]}]\n",
         "t.yaml:3:60: 256 does not fit type u8"},
        {HEAD "launches: [{kernel: k, grid: 1, block: 1, arguments: [{f32: nan}]}]\n", "t.yaml:3:61: 'nan' is not"},
        {HEAD "launches: [{kernel: k, grid: 1, block: 1, repeat: 1000000}]\n",
         "t.yaml:3:51: the number of repetitions is 1000000"},
        {HEAD "launches: [{kernel: k, grid: 1, block: 1, repeat: 0}]\n", "t.yaml:3:12: no kernel is launched"},
        {HEAD "launches: [{repeat: 20000, launches: [{kernel: k, grid: 1, block: 1, repeat: 20000}]}]\n",
         "t.yaml:3:39: more than 20000 launches"},
        {HEAD "launches: [{repeat: 20000, launches: [{kernel: k, grid: 1, block: 1, repeat: 0}, {kernel: k, grid: 1, "
              "block: 1, repeat: 2 * 0}]}]\n",
         "no kernel is launched"},
        {HEAD "launches: [{launches: [{launches: []}]}]\n", "t.yaml:3:24: a group of launches cannot contain"},
        {HEAD
         "buffers: [{name: a, type: u8, count: 1}]\nlaunches: [{copy: {from: a, to: a, count: 2}}, {kernel: k, grid: "
         "1, block: 1}]\n",
         "t.yaml:4:43: the number of elements to copy is 2"},
        {HEAD
         "buffers: [{name: a, type: u8, count: 1}, {name: b, type: s8, count: 1}]\nlaunches: [{copy: {from: a, to: b, "
         "count: 1}}, {kernel: k, grid: 1, block: 1}]\n",
         "t.yaml:4:19: buffers 'a' and 'b' have different element types"},
        {HEAD
         "buffers: [{name: a, type: u8, count: 1}, {name: b, type: u8, count: 2}]\nlaunches: [{kernel: k, grid: 1, "
         "block: 1, swap: [a, b]}]\n",
         "t.yaml:4:12: buffers that change places must have as many elements"},
        {HEAD "buffers: [{name: a, type: u8, count: 1}]\nlaunches: [{kernel: k, grid: 1, block: 1, swap: [a]}]\n",
         "t.yaml:4:49: expected two names of buffers"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct plan *plan = NULL;
        struct description *description = NULL;
        char message[512];
        enum corun_status status = try(rows[i].text, strlen(rows[i].text), NULL, message, &plan, &description);
        if (status != CORUN_SYNTAX || !strstr(message, rows[i].message))
            fail_msg("row %zu:\n%s\n=> %d %s\nexpected %s", i, rows[i].text, (int)status, message, rows[i].message);
        assert_null(plan);
        description_destroy(description);
    }
}

/* A description cut off anywhere either is complete or gets a message; it never crashes. */
static void truncated(void **state)
{
    (void)state;
    static const char text[] =
        HEAD "sizes: {s: {n: 3}}\nbuffers:\n  - {name: a, type: f32, count: n, initial: {uniform: [0, "
             "1]}}\nlaunches:\n  - {kernel: k, grid: [n, 1], block: 32, arguments: [{buffer: a}]}\n";
    for (size_t bytes = 0; bytes < sizeof text; bytes++) {
        struct plan *plan = NULL;
        struct description *description = NULL;
        char message[512];
        enum corun_status status = try(text, bytes, NULL, message, &plan, &description);
        assert_true(status == CORUN_OK || status == CORUN_SYNTAX);
        plan_destroy(plan);
        description_destroy(description);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(complete), cmocka_unit_test(other_values), cmocka_unit_test(without_sizes),
        cmocka_unit_test(broken),   cmocka_unit_test(truncated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
