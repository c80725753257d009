/* SPDX-License-Identifier: MIT */
/* Descriptions of applications in YAML (docs/host.md): what is read is checked, so that the simulated host can take it as it is. */
#include "host/application.h"

#include "base/nearest.h"
#include "base/number.h"
#include "base/text_file.h"
#include "base/yaml_reader.h"

#include <ctype.h>
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_FILE_BYTES (1u << 20)

struct reader {
    struct yaml_reader yaml;
    struct host_application *application;
};

#define WRONG(reader, node, ...) YAML_WRONG(&(reader)->yaml, node, __VA_ARGS__)

/* A number with K, M or G, or a real one; at least `lowest`. */
static enum corun_status read_number(struct reader *reader, const struct yaml_node *node, uint64_t kilo, double lowest,
                                     double highest, double *number)
{
    uint64_t whole;
    enum corun_status status = yaml_expect(&reader->yaml, node, YAML_TEXT);
    if (status)
        return status;
    if (number_parse(node->text, kilo, &whole))
        *number = (double)whole;
    else if (!number_parse_real(node->text, number))
        return WRONG(reader, node, "'%.80s' is no number", node->text);
    if (*number < lowest || *number > highest)
        return WRONG(reader, node, "'%.80s' is not between %g and %g", node->text, lowest, highest);
    return CORUN_OK;
}

static enum corun_status read_entry(struct reader *reader, const struct yaml_node *map, const char *key, double lowest,
                                    double highest, double *number)
{
    const struct yaml_node *node = yaml_find(map, key);
    return node ? read_number(reader, node, 1000, lowest, highest, number) : CORUN_OK;
}

static enum corun_status read_list(struct reader *reader, const struct yaml_node *node)
{
    enum corun_status status = yaml_expect(&reader->yaml, node, YAML_LIST);
    if (status)
        return status;
    if (!node->count || node->count > HOST_MOST_ROWS)
        return WRONG(reader, node, "expected 1 to %u entries, found %zu", HOST_MOST_ROWS, node->count);
    return CORUN_OK;
}

/* What the x and the y of a curve are. */
struct curve_kind {
    const char *words; /* "[size, instructions]" */
    uint64_t kilo_x;
    double lowest_y, highest_y;
    bool ordered; /* x rises from point to point */
};

/* [[x, y], ...] */
static enum corun_status read_curve(struct reader *reader, const struct yaml_node *node, const struct curve_kind *kind,
                                    struct host_curve *curve)
{
    enum corun_status status = read_list(reader, node);
    if (status)
        return status;
    curve->count = 0;
    curve->points = ARENA_ARRAY(reader->application->arena, struct host_point, node->count);
    if (!curve->points)
        return yaml_out_of_memory(&reader->yaml);
    for (const struct yaml_node *pair = node->first; pair; pair = pair->next) {
        struct host_point *point = &curve->points[curve->count];
        if (pair->kind != YAML_LIST || pair->count != 2)
            return WRONG(reader, pair, "expected a pair, %s", kind->words);
        status = read_number(reader, pair->first, kind->kilo_x, 0, 1e15, &point->x);
        if (status == CORUN_OK)
            status = read_number(reader, pair->first->next, 1000, kind->lowest_y, kind->highest_y, &point->y);
        if (status)
            return status;
        if (kind->ordered && curve->count && point->x <= point[-1].x)
            return WRONG(reader, pair, "%s: the first number of each pair is above the one before", kind->words);
        curve->count++;
    }
    return CORUN_OK;
}

/* Weights become sums that end with 1. */
static enum corun_status read_size_table(struct reader *reader, const struct yaml_node *node)
{
    static const struct curve_kind kind = {"[size, weight]", 1000, 0, 1e15, true};
    struct host_sizes *sizes = &reader->application->sizes;
    enum corun_status status = read_curve(reader, node, &kind, &sizes->table);
    if (status)
        return status;
    double sum = 0;
    for (size_t i = 0; i < sizes->table.count; i++)
        sizes->table.points[i].y = sum += sizes->table.points[i].y;
    if (sum <= 0)
        return WRONG(reader, node, "all weights are 0");
    for (size_t i = 0; i < sizes->table.count; i++)
        sizes->table.points[i].y /= sum;
    return CORUN_OK;
}

static enum corun_status read_sizes(struct reader *reader, const struct yaml_node *node)
{
    struct host_sizes *sizes = &reader->application->sizes;
    enum corun_status status = yaml_expect_map(&reader->yaml, node, "| table fixed exponential lognormal");
    if (status)
        return status;
    if (node->count != 1)
        return WRONG(reader, node, "sizes are one of table, fixed, exponential, lognormal");
    const struct yaml_node *entry = node->first;
    if (!strcmp(entry->key, "table")) {
        sizes->kind = HOST_SIZE_TABLE;
        return read_size_table(reader, entry);
    }
    if (!strcmp(entry->key, "fixed")) {
        sizes->kind = HOST_SIZE_FIXED;
        return read_number(reader, entry, 1000, 0, 1e15, &sizes->mean);
    }
    bool exponential = !strcmp(entry->key, "exponential");
    sizes->kind = exponential ? HOST_SIZE_EXPONENTIAL : HOST_SIZE_LOGNORMAL;
    status = yaml_expect_map(&reader->yaml, entry, exponential ? "mean | most" : "median sigma | most");
    if (status == CORUN_OK)
        status = read_entry(reader, entry, exponential ? "mean" : "median", 1e-9, 1e15, &sizes->mean);
    if (status == CORUN_OK && !exponential)
        status = read_entry(reader, entry, "sigma", 0, 10, &sizes->sigma);
    if (status == CORUN_OK)
        status = read_entry(reader, entry, "most", 0, 1e18, &sizes->most);
    /* Sizes above `most` are drawn again: at least a third of the draws must do. */
    if (status == CORUN_OK && sizes->most > 0 && sizes->most < sizes->mean)
        return WRONG(reader, entry, "most is below the %s", exponential ? "mean" : "median");
    return status;
}

static enum corun_status read_speeds(struct reader *reader, const struct yaml_node *node, struct host_speedup *row)
{
    enum corun_status status = read_list(reader, node);
    if (status)
        return status;
    row->speed = ARENA_ARRAY(reader->application->arena, double, node->count);
    if (!row->speed)
        return yaml_out_of_memory(&reader->yaml);
    for (const struct yaml_node *entry = node->first; entry && status == CORUN_OK; entry = entry->next)
        status = read_number(reader, entry, 1000, 1e-6, HOST_MOST_THREADS, &row->speed[row->count++]);
    if (status == CORUN_OK && node->first && row->speed[0] != 1)
        return WRONG(reader, node->first, "the speed-up on one core is 1");
    return status;
}

static enum corun_status read_speedups(struct reader *reader, const struct yaml_node *node)
{
    struct host_application *application = reader->application;
    enum corun_status status = read_list(reader, node);
    if (status)
        return status;
    application->speedups = ARENA_ARRAY(application->arena, struct host_speedup, node->count);
    if (!application->speedups)
        return yaml_out_of_memory(&reader->yaml);
    for (const struct yaml_node *entry = node->first; entry; entry = entry->next) {
        struct host_speedup *row = &application->speedups[application->speedup_count];
        status = yaml_expect_map(&reader->yaml, entry, node->count > 1 ? "cores size |" : "cores | size");
        if (status == CORUN_OK)
            status = read_entry(reader, entry, "size", 0, 1e15, &row->size);
        if (status == CORUN_OK)
            status = read_speeds(reader, yaml_find(entry, "cores"), row);
        if (status)
            return status;
        if (application->speedup_count++ && row->size <= row[-1].size)
            return WRONG(reader, entry, "the size of each row is above the one before");
    }
    return CORUN_OK;
}

/* Barriers between the stages: on c cores a stage of n equal tasks takes as long as ceil(n / c) of them. */
static enum corun_status read_stages(struct reader *reader, const struct yaml_node *node)
{
    static const struct curve_kind kind = {"[share, tasks]", 1000, 1, 1e9, false};
    struct host_application *application = reader->application;
    struct host_curve stages;
    enum corun_status status = read_curve(reader, node, &kind, &stages);
    if (status)
        return status;
    double sum = 0;
    for (size_t i = 0; i < stages.count; i++)
        sum += stages.points[i].x;
    struct host_speedup *row = ARENA_NEW(application->arena, struct host_speedup);
    double *speed = ARENA_ARRAY(application->arena, double, application->threads);
    if (!row || !speed)
        return yaml_out_of_memory(&reader->yaml);
    if (sum <= 0)
        return WRONG(reader, node, "all shares are 0");
    for (uint32_t cores = 1; cores <= application->threads; cores++) {
        double time = 0;
        for (size_t i = 0; i < stages.count; i++) {
            double tasks = floor(stages.points[i].y);
            time += stages.points[i].x / sum * ceil(tasks / cores) / tasks;
        }
        speed[cores - 1] = cores == 1 ? 1 : 1 / time;
    }
    *row = (struct host_speedup){0, speed, application->threads};
    application->speedups = row;
    application->speedup_count = 1;
    return CORUN_OK;
}

/* The place of a curve on one axis: a number that is not there yet goes to the end, so numbers come in order. */
static bool place_on_axis(double *axis, size_t *count, double number, size_t *place)
{
    for (*place = 0; *place < *count; (*place)++)
        if (axis[*place] == number)
            return true;
    if (*count && axis[*count - 1] > number)
        return false;
    axis[(*count)++] = number;
    return true;
}

static enum corun_status read_miss_axes(struct reader *reader, const struct yaml_node *node, size_t *threads,
                                        size_t *sizes)
{
    struct host_application *application = reader->application;
    const struct yaml_node *first = node->first;
    const char *keys = yaml_find(first, "size")
                           ? yaml_find(first, "threads") ? "points threads size |" : "points size |"
                       : yaml_find(first, "threads") ? "points threads |"
                                                     : "points |";
    size_t index = 0;
    for (const struct yaml_node *entry = node->first; entry; entry = entry->next, index++) {
        double thread = 1, size = 0;
        enum corun_status status = yaml_expect_map(&reader->yaml, entry, keys);
        if (status == CORUN_OK)
            status = read_entry(reader, entry, "threads", 1, HOST_MOST_THREADS, &thread);
        if (status == CORUN_OK)
            status = read_entry(reader, entry, "size", 0, 1e15, &size);
        if (status)
            return status;
        if (!place_on_axis(application->miss_threads, &application->miss_thread_count, thread, &threads[index]) ||
            !place_on_axis(application->miss_sizes, &application->miss_size_count, size, &sizes[index]))
            return WRONG(reader, entry, "curves of misses are in order of size, then of threads");
    }
    return CORUN_OK;
}

static enum corun_status read_misses(struct reader *reader, const struct yaml_node *node)
{
    static const struct curve_kind kind = {"[bytes, misses of 1000 instructions]", 1024, 0, 1000, true};
    struct host_application *application = reader->application;
    struct arena *arena = application->arena;
    enum corun_status status = read_list(reader, node);
    if (status)
        return status;
    size_t *threads = ARENA_ARRAY(arena, size_t, node->count), *sizes = ARENA_ARRAY(arena, size_t, node->count);
    application->miss_threads = ARENA_ARRAY(arena, double, node->count);
    application->miss_sizes = ARENA_ARRAY(arena, double, node->count);
    application->misses = ARENA_ARRAY(arena, struct host_curve, node->count);
    if (!threads || !sizes || !application->miss_threads || !application->miss_sizes || !application->misses)
        return yaml_out_of_memory(&reader->yaml);
    status = read_miss_axes(reader, node, threads, sizes);
    if (status)
        return status;
    if (application->miss_thread_count * application->miss_size_count != node->count)
        return WRONG(reader, node, "there are %zu curves for %zu numbers of threads and %zu sizes", node->count,
                     application->miss_thread_count, application->miss_size_count);
    size_t index = 0;
    for (const struct yaml_node *entry = node->first; entry; entry = entry->next, index++) {
        struct host_curve *curve = &application->misses[sizes[index] * application->miss_thread_count + threads[index]];
        if (curve->count)
            return WRONG(reader, entry, "there are two curves for the same threads and size");
        status = read_curve(reader, yaml_find(entry, "points"), &kind, curve);
        if (status)
            return status;
    }
    return CORUN_OK;
}

static enum corun_status read_text(struct reader *reader, const struct yaml_node *root, const char *key,
                                   const char **text)
{
    struct value value = {0};
    enum corun_status status = yaml_value(&reader->yaml, root, key, &value);
    *text = "";
    if (status || !value.text)
        return status;
    *text = arena_copy_text(reader->application->arena, value.text, strlen(value.text));
    return *text ? CORUN_OK : yaml_out_of_memory(&reader->yaml);
}

static enum corun_status read_texts(struct reader *reader, const struct yaml_node *root)
{
    struct host_application *application = reader->application;
    enum corun_status status = read_text(reader, root, "application", &application->name);
    if (status)
        return status;
    size_t length = strlen(application->name);
    for (const char *at = application->name; *at; at++)
        if (!isalnum((unsigned char)*at) && !strchr("-_.", *at))
            length = 0;
    if (!length || length > 64 || application->name[0] == '.')
        return WRONG(reader, yaml_find(root, "application"), "a name is 1 to 64 letters, digits, -, _ or .");
    status = read_text(reader, root, "summary", &application->summary);
    if (status == CORUN_OK)
        status = read_text(reader, root, "measured", &application->measured);
    return status ? status : read_text(reader, root, "unit", &application->unit);
}

static enum corun_status read_kind(struct reader *reader, const struct yaml_node *root)
{
    struct value kind = {0};
    enum corun_status status = yaml_value(&reader->yaml, root, "kind", &kind);
    if (status)
        return status;
    bool service = !strcmp(kind.text, "service");
    if (!service && strcmp(kind.text, "batch") != 0)
        return WRONG(reader, yaml_find(root, "kind"), "an application is a service or batch, not '%.32s'", kind.text);
    reader->application->kind = service ? CORUN_HOST_SERVICE : CORUN_HOST_BATCH;
    const struct yaml_node *sizes = yaml_find(root, "sizes");
    if (service != (sizes != NULL))
        return WRONG(reader, root, service ? "a service has sizes of queries" : "a batch program has no sizes");
    return sizes ? read_sizes(reader, sizes) : CORUN_OK;
}

static enum corun_status read_instructions(struct reader *reader, const struct yaml_node *node)
{
    static const struct curve_kind kind = {"[size, instructions]", 1000, 0, 1e18, true};
    struct host_curve *curve = &reader->application->instructions;
    if (reader->application->kind == CORUN_HOST_SERVICE)
        return read_curve(reader, node, &kind, curve);
    curve->points = ARENA_NEW(reader->application->arena, struct host_point);
    curve->count = 1;
    return curve->points ? read_number(reader, node, 1000, 1, 1e18, &curve->points[0].y)
                         : yaml_out_of_memory(&reader->yaml);
}

static enum corun_status read_root(struct reader *reader, const struct yaml_node *root)
{
    struct host_application *application = reader->application;
    uint64_t threads = 1;
    enum corun_status status = yaml_expect_map(
        &reader->yaml, root,
        "application kind threads instructions cycles_per_instruction overlap misses | summary measured "
        "unit sizes variation writebacks speedup stages");
    if (status == CORUN_OK)
        status = read_texts(reader, root);
    if (status == CORUN_OK)
        status = read_kind(reader, root);
    if (status == CORUN_OK)
        status = yaml_count(&reader->yaml, root, "threads", 1, HOST_MOST_THREADS, &threads);
    application->threads = (uint32_t)threads;
    if (status == CORUN_OK)
        status = read_instructions(reader, yaml_find(root, "instructions"));
    if (status == CORUN_OK)
        status = read_entry(reader, root, "variation", 0, 3, &application->variation);
    if (status == CORUN_OK)
        status = read_entry(reader, root, "cycles_per_instruction", 1e-3, 1e3, &application->cycles_per_instruction);
    if (status == CORUN_OK)
        status = read_entry(reader, root, "overlap", 1, 1e3, &application->overlap);
    if (status == CORUN_OK)
        status = read_entry(reader, root, "writebacks", 0, 100, &application->writebacks);
    const struct yaml_node *speedup = yaml_find(root, "speedup"), *stages = yaml_find(root, "stages");
    if (status == CORUN_OK && !speedup == !stages)
        return WRONG(reader, root, "an application has either speedup or stages");
    if (status == CORUN_OK)
        status = speedup ? read_speedups(reader, speedup) : read_stages(reader, stages);
    return status ? status : read_misses(reader, yaml_find(root, "misses"));
}

enum corun_status host_application_parse(const char *path, const char *text, size_t bytes,
                                         struct corun_diagnostics *list, struct host_application **application)
{
    *application = NULL;
    struct arena *arena = arena_create();
    struct yaml_node *root;
    struct reader reader = {{path, list}, arena ? ARENA_NEW(arena, struct host_application) : NULL};
    enum corun_status status = CORUN_MEMORY;
    if (!reader.application) {
        status = yaml_out_of_memory(&reader.yaml);
    } else {
        reader.application->arena = arena;
        status = yaml_tree_parse(path, text, bytes, arena, list, &root);
        if (status == CORUN_OK)
            status = read_root(&reader, root);
    }
    if (status == CORUN_OK)
        *application = reader.application;
    else if (arena)
        arena_destroy(arena);
    return status;
}

/* The name that was probably meant, of the descriptions there. */
static enum corun_status report_missing(const char *word, const char *folder, struct corun_diagnostics *list)
{
    char names[64][65];
    const char *texts[64];
    size_t count = 0;
    DIR *directory = opendir(folder);
    for (struct dirent *entry; directory && count < 64 && (entry = readdir(directory));) {
        size_t length = strlen(entry->d_name);
        if (length > 5 && length < 70 && !strcmp(entry->d_name + length - 5, ".yaml")) {
            snprintf(names[count], sizeof names[count], "%.*s", (int)(length - 5), entry->d_name);
            texts[count] = names[count];
            count++;
        }
    }
    if (directory)
        closedir(directory);
    const char *nearest = nearest_name(word, texts, count);
    return corun_report(list, CORUN_NOT_FOUND, CORUN_NOWHERE, "there is no application '%.80s' in %s%s%s%s", word,
                        folder, nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
}

enum corun_status host_application_load(const char *word, const char *data_directory, struct corun_diagnostics *list,
                                        struct host_application **application)
{
    size_t length = strlen(word);
    bool is_path = strchr(word, '/') || (length > 5 && !strcmp(word + length - 5, ".yaml"));
    char path[4096], folder[4096], *text = NULL;
    size_t bytes = 0;
    *application = NULL;
    int folder_length = snprintf(folder, sizeof folder, "%s/host/applications", data_directory);
    int path_length = is_path ? snprintf(path, sizeof path, "%s", word)
                              : snprintf(path, sizeof path, "%.3900s/%.128s.yaml", folder, word);
    if (folder_length < 0 || folder_length > 3900 || path_length < 0 || (size_t)path_length >= sizeof path)
        return corun_report(list, CORUN_NOT_FOUND, CORUN_NOWHERE, "the name of an application is too long");
    enum corun_status status = text_file_read(path, MOST_FILE_BYTES, is_path ? list : NULL, &text, &bytes);
    if (status == CORUN_NOT_FOUND && !is_path)
        return report_missing(word, folder, list);
    if (status != CORUN_OK)
        return is_path ? status : corun_report(list, status, CORUN_NOWHERE, "%s cannot be read", path);
    status = host_application_parse(path, text, bytes, list, application);
    free(text);
    return status;
}
