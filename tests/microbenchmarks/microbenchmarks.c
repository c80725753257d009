/* SPDX-License-Identifier: MIT */
/*
 * microbenchmarks GPU           every row within its tolerance of what the configuration of that GPU implies, and as
 *                               docs/microbenchmarks.md has it
 * microbenchmarks GPU off       every row with its unit switched off: the row's check must not hold then
 * microbenchmarks page GPU…     prints docs/microbenchmarks.md
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "harness.h"

#include <stdlib.h>
#include <string.h>

#define TOLERANCE 0.05

static const struct row *const groups[] = {latency_rows,    throughput_rows, bandwidth_rows, memory_rows,
                                           contention_rows, cache_rows,      barrier_rows,   warpgroup_rows,
                                           occupancy_rows,  order_rows};

/* A row with one of its parameters. */
struct item {
    const struct row *row;
    const char *gpu;
    uint32_t k;
    bool last; /* parameter of its row */
    char name[128];
};

static void override(struct corun_gpu_config *config, const char *overrides)
{
    char text[512], *rest = text;
    struct corun_diagnostics *list = corun_diagnostics_create();
    snprintf(text, sizeof text, "%s", overrides ? overrides : "");
    for (const char *key; (key = strtok_r(rest, "=", &rest));) {
        const char *value = strtok_r(rest, ",", &rest);
        if (!value || corun_gpu_config_set(config, key, value, list, CORUN_NOWHERE) != CORUN_OK) {
            fprintf(stderr, "%s: not an override\n", overrides);
            abort();
        }
    }
    corun_diagnostics_destroy(list);
}

static void configure(const struct item *item, bool off, struct corun_gpu_config *config)
{
    struct corun_diagnostics *list = corun_diagnostics_create();
    if (corun_gpu_config_load(item->gpu, CORUN_SOURCE_DIR "/configs", list, config) != CORUN_OK) {
        fprintf(stderr, "%s: %s\n", item->gpu, corun_diagnostics_get(list, 0)->message);
        abort();
    }
    corun_diagnostics_destroy(list);
    override(config, item->row->isolate);
    if (item->row->prepare)
        item->row->prepare(config, item->k);
    if (off)
        override(config, item->row->off);
}

static bool applies(const struct item *item)
{
    struct corun_gpu_config config;
    configure(item, false, &config);
    return !item->row->applies || item->row->applies(&config);
}

static struct reading measure(const struct item *item, bool off, double *implied)
{
    struct corun_gpu_config design, machine;
    configure(item, false, &design);
    configure(item, off, &machine);
    struct bench bench = {&design, &machine, item->k};
    *implied = item->row->implied(&bench, item->row);
    return item->row->measure(&bench, item->row);
}

static bool agrees(const struct item *item, double value, double implied)
{
    double tolerance = item->row->tolerance != 0 ? item->row->tolerance : TOLERANCE;
    return fabs(value - implied) <= tolerance * fabs(implied);
}

static const char page_head[] =
    "# Micro-benchmarks\n\n"
    "Small PTX kernels whose answer follows from the configuration of the GPU: `tests/microbenchmarks/`. `make check` "
    "runs\n"
    "all of them on these GPUs and fails where a measurement is more than 5 % away from what the configuration "
    "implies.\n"
    "The formulas stand beside the kernels and use nothing but configuration values.\n\n"
    "* *implied*: what the configuration says; *measured*: from the cycles of two runs of different lengths, which "
    "takes away\n"
    "  what starting and ending cost; *second way*: the same by the kernel's own `%clock64`, or from a counter or a "
    "trace.\n"
    "* A row switches other units out of the picture (one SM, no refresh, perfect caches, …: `isolate` in the source). "
    "Rows\n"
    "  that need what a GPU lacks are left out.\n"
    "* Every row names overrides that make its unit free or another one (`off`). The test `microbenchmarks_GPU_off` "
    "runs the\n"
    "  same kernels on such a GPU and fails if the row's check still holds.\n\n"
    "What a reader may stumble over:\n\n"
    "* Throughput is measured with round robin. Greedy-then-oldest is as fast while all warps run, but leaves the "
    "youngest for\n"
    "  an end in which they cannot fill the pipelines.\n"
    "* Where schedulers compete for one unit (load/store, a shared fp64 pipeline), the one with the lower number goes "
    "first.\n"
    "  Kernels are sized so that the last scheduler alone can still keep the unit busy.\n"
    "* Lanes of one warp that meet in one sector are one atomic request: `atomics` counts warp instructions.\n"
    "* A refresh costs more than its own length: rows are closed before it, the one opened last no sooner than tRAS "
    "allows, and\n"
    "  opened after it. The formula says so.\n\n"
    "Written by `microbenchmarks page gtx980 quadro-fx5800 tesla-c2050 quadro-v100`.\n";

/* Of many parameters the powers of two are enough for a reader. */
static bool is_shown(const struct item *item)
{
    enum { MANY = 16 };
    uint32_t count = 0;
    while (item->row->parameters && item->row->parameters[count])
        count++;
    return count < MANY || (item->k & (item->k - 1)) == 0;
}

static const char *number_text(double value, char text[32])
{
    if (isnan(value))
        return "";
    snprintf(text, 32, " %.*f", value < 10 ? 3 : value < 1000 ? 1 : 0, value);
    return text;
}

static const char table_head[] =
    "| what | unit | implied | measured | ratio | second way |\n|---|---|--:|--:|--:|--:|\n";

enum { LINE_BYTES = 512, PAGE_BYTES = 1 << 20 };

/* Of the page. */
static const char *line_of(const struct item *item, const struct reading *reading, double implied,
                           char line[LINE_BYTES])
{
    char numbers[3][32];
    snprintf(line, LINE_BYTES, "| %s | %s |%s |%s | %.3f |%s |%s\n", item->name, item->row->unit,
             number_text(implied, numbers[0]), number_text(reading->value, numbers[1]), reading->value / implied,
             number_text(reading->other, numbers[2]), agrees(item, reading->value, implied) ? "" : " !");
    return line;
}

/* GPUs that the page is not about can be measured, too. */
static bool is_on_page(const char *gpu)
{
    return strstr(page_head, gpu) != NULL;
}

/* The part of docs/microbenchmarks.md about a GPU, to be freed. */
static char *read_section(const char *gpu)
{
    char *page = calloc(PAGE_BYTES, 1), title[64];
    FILE *file = fopen(CORUN_SOURCE_DIR "/docs/microbenchmarks.md", "r");
    assert_non_null(page);
    assert_non_null(file);
    assert_in_range(fread(page, 1, PAGE_BYTES - 1, file), 1, PAGE_BYTES - 2);
    fclose(file);
    assert_memory_equal(page, page_head, strlen(page_head));
    snprintf(title, sizeof title, "\n## %s\n\n", gpu);
    char *section = strstr(page, title);
    assert_non_null(section);
    section += strlen(title);
    char *next = strstr(section, "\n## ");
    if (next)
        next[1] = 0;
    memmove(page, section, strlen(section) + 1);
    return page;
}

static void check_page(const struct item *item, const struct reading *reading, double implied)
{
    char line[LINE_BYTES], *section = read_section(item->gpu);
    bool there = strstr(section, line_of(item, reading, implied, line)) != NULL;
    free(section);
    if (!there)
        fail_msg("docs/microbenchmarks.md is to be written again (`microbenchmarks page …`): %s", line);
}

static void holds(void **state)
{
    const struct item *item = *state;
    double implied;
    struct reading reading = measure(item, false, &implied);
    if (!agrees(item, reading.value, implied))
        fail_msg("%s: measured %.3f %s, the configuration implies %.3f", item->name, reading.value, item->row->unit,
                 implied);
    if (!isnan(reading.other) && !agrees(item, reading.other, implied))
        fail_msg("%s: the second way gave %.3f %s, the configuration implies %.3f", item->name, reading.other,
                 item->row->unit, implied);
    if (is_shown(item) && is_on_page(item->gpu))
        check_page(item, &reading, implied);
}

static void notices(void **state)
{
    const struct item *item = *state;
    double implied;
    struct reading reading = measure(item, true, &implied);
    if (agrees(item, reading.value, implied))
        fail_msg("%s: measured %.3f %s although %s", item->name, reading.value, item->row->unit, item->row->off);
}

static size_t collect(const char *gpu, bool off, struct item *items, size_t most)
{
    size_t count = 0;
    for (size_t g = 0; g < sizeof groups / sizeof *groups; g++)
        for (const struct row *row = groups[g]; row->name; row++) {
            static const uint32_t none[] = {0};
            const uint32_t *k = row->parameters ? row->parameters : none;
            do {
                struct item item = {.row = row, .gpu = gpu, .k = *k};
                item.last = !*k || !k[1];
                snprintf(item.name, sizeof item.name, *k ? "%s %u" : "%s", row->name, *k);
                if (count < most && applies(&item) && (!off || (item.last && row->off)))
                    items[count++] = item;
            } while (*k && *++k);
        }
    return count;
}

static void print_table(const struct item *items, size_t count)
{
    fputs(table_head, stdout);
    for (size_t i = 0; i < count; i++) {
        char line[LINE_BYTES];
        double implied;
        if (!is_shown(&items[i]))
            continue;
        struct reading reading = measure(&items[i], false, &implied);
        fputs(line_of(&items[i], &reading, implied, line), stdout);
    }
}

enum { MOST_ITEMS = 256 };

/* The page has no line but those of the rows, each of which looks for its own. */
static void no_other_lines(void **state)
{
    const struct item *items = *state;
    char *section = read_section(items->gpu);
    size_t lines = 0, shown = 0;
    assert_memory_equal(section, table_head, strlen(table_head));
    for (const char *at = section + strlen(table_head); *at == '|'; at = strchr(at, '\n') + 1)
        lines++;
    free(section);
    for (const struct item *item = items; item->row; item++)
        shown += is_shown(item);
    assert_int_equal(lines, shown);
}

static int print_page(struct item *items, char **gpus, int count)
{
    fputs(page_head, stdout);
    for (int i = 0; i < count; i++) {
        printf("\n## %s\n\n", gpus[i]);
        print_table(items, collect(gpus[i], false, items, MOST_ITEMS));
    }
    return 0;
}

int main(int argc, char **argv)
{
    static struct item items[MOST_ITEMS + 1];
    static struct CMUnitTest tests[MOST_ITEMS + 1];
    if (argc > 1 && strcmp(argv[1], "page") == 0)
        return print_page(items, argv + 2, argc - 2);
    if (argc < 2) {
        fprintf(stderr, "usage: microbenchmarks GPU [off] | page GPU...\n");
        return 2;
    }
    bool off = argc > 2 && strcmp(argv[2], "off") == 0;
    size_t count = collect(argv[1], off, items, MOST_ITEMS);
    for (size_t i = 0; i < count; i++)
        tests[i] = (struct CMUnitTest){items[i].name, off ? notices : holds, NULL, NULL, &items[i]};
    if (!off && is_on_page(argv[1]))
        tests[count++] = (struct CMUnitTest){"no other lines on the page", no_other_lines, NULL, NULL, items};
    return _cmocka_run_group_tests(argv[1], tests, count, NULL, NULL);
}
