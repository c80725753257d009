/* SPDX-License-Identifier: MIT */
/* Simulated hosts: their files, and overrides of a command line. */
#include "host/machine.h"

#include "base/nearest.h"
#include "base/number.h"
#include "base/text_file.h"
#include "base/yaml_reader.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_FILE_BYTES (1u << 18)

enum unit { COUNT, KHZ, BYTES, MBPS, NS, PERMILLE };

static const struct row {
    const char *name;
    enum unit unit;
    uint32_t lowest, highest;
    size_t offset;
} rows[] = {
#define P(name, lowest, highest, unit, meaning) {#name, unit, lowest, highest, offsetof(struct host_machine, name)},
#include "host/machine_parameters.def"
#undef P
};
#define ROW_COUNT (sizeof rows / sizeof *rows)

/* Units as a file may write them. */
static const struct {
    enum unit unit;
    const char *written;
    uint32_t factor;
} units[] = {
    {COUNT, "count", 1},       {KHZ, "kHz", 1},      {KHZ, "MHz", 1000},      {KHZ, "GHz", 1000000},
    {BYTES, "bytes", 1},       {BYTES, "KiB", 1024}, {BYTES, "MiB", 1048576}, {MBPS, "MB/s", 1},
    {MBPS, "GB/s", 1000},      {NS, "ns", 1},        {NS, "us", 1000},        {NS, "ms", 1000000},
    {PERMILLE, "permille", 1},
};

static const struct row *find_row(const char *key, size_t length)
{
    for (size_t i = 0; i < ROW_COUNT; i++)
        if (strlen(rows[i].name) == length && !strncmp(rows[i].name, key, length))
            return &rows[i];
    return NULL;
}

static enum corun_status report_unknown(const char *key, size_t length, enum corun_status status,
                                        struct corun_diagnostics *list, struct corun_place place)
{
    const char *names[ROW_COUNT];
    char word[64];
    snprintf(word, sizeof word, "%.*s", (int)(length < 60 ? length : 60), key);
    for (size_t i = 0; i < ROW_COUNT; i++)
        names[i] = rows[i].name;
    const char *nearest = nearest_name(word, names, ROW_COUNT);
    return corun_report(list, status, place, "a host has no parameter '%s'%s%s%s", word,
                        nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
}

static enum corun_status set(struct host_machine *machine, const struct row *row, const char *text, uint32_t factor,
                             enum corun_status status, struct corun_diagnostics *list, struct corun_place place)
{
    uint64_t number;
    if (!number_parse(text, row->unit == BYTES ? 1024 : 1000, &number))
        return corun_report(list, status, place, "%s is a whole number, not '%.32s'", row->name, text);
    if (number > UINT32_MAX || number * factor < row->lowest || number * factor > row->highest)
        return corun_report(list, status, place, "%s is between %" PRIu32 " and %" PRIu32 " %s, and %.32s is not",
                            row->name, row->lowest, row->highest,
                            row->unit == KHZ     ? "kHz"
                            : row->unit == BYTES ? "bytes"
                            : row->unit == MBPS  ? "MB/s"
                            : row->unit == NS    ? "ns"
                            : row->unit == COUNT ? "in number"
                                                 : "permille",
                            text);
    uint32_t value = (uint32_t)(number * factor);
    memcpy((char *)machine + row->offset, &value, sizeof value);
    return CORUN_OK;
}

static enum corun_status read_parameter(struct yaml_reader *reader, const struct yaml_node *node,
                                        const struct yaml_node *sources, struct host_machine *machine)
{
    struct value value = {0}, unit = {0}, source = {0};
    enum corun_status status = yaml_expect_map(reader, node, "value unit source |");
    if (status == CORUN_OK)
        status = yaml_value(reader, node, "value", &value);
    if (status == CORUN_OK)
        status = yaml_value(reader, node, "unit", &unit);
    if (status == CORUN_OK)
        status = yaml_value(reader, node, "source", &source);
    if (status)
        return status;
    const struct row *row = find_row(node->key, strlen(node->key));
    if (!row)
        return report_unknown(node->key, strlen(node->key), CORUN_SYNTAX, reader->list, node->key_place);
    if (strncmp(source.text, "assumed: ", 9) != 0 && !yaml_find(sources, source.text))
        return corun_report(reader->list, CORUN_SYNTAX, source.place,
                            "the source '%.64s' is not among `sources`, nor does it begin with `assumed: `",
                            source.text);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (units[i].unit == row->unit && !strcmp(units[i].written, unit.text))
            return set(machine, row, value.text, units[i].factor, CORUN_SYNTAX, reader->list, value.place);
    return corun_report(reader->list, CORUN_SYNTAX, unit.place, "'%.32s' is no unit of %s", unit.text, row->name);
}

static enum corun_status check(const struct host_machine *machine, enum corun_status status,
                               struct corun_diagnostics *list, struct corun_place place)
{
    if (machine->cache_bytes / machine->ways < machine->line_bytes)
        return corun_report(list, status, place, "a way of the cache holds no line");
    return CORUN_OK;
}

static enum corun_status read_root(struct yaml_reader *reader, const struct yaml_node *root,
                                   struct host_machine *machine)
{
    struct value name = {0};
    enum corun_status status = yaml_expect_map(reader, root, "host sources parameters | title");
    if (status == CORUN_OK)
        status = yaml_value(reader, root, "host", &name);
    if (status)
        return status;
    const struct yaml_node *sources = yaml_find(root, "sources"), *parameters = yaml_find(root, "parameters");
    status = yaml_expect(reader, sources, YAML_MAP);
    if (status == CORUN_OK)
        status = yaml_expect(reader, parameters, YAML_MAP);
    for (const struct yaml_node *node = status ? NULL : parameters->first; node && !status; node = node->next)
        status = read_parameter(reader, node, sources, machine);
    for (size_t i = 0; i < ROW_COUNT && !status; i++)
        if (!yaml_find(parameters, rows[i].name))
            return YAML_WRONG(reader, parameters, "the parameter '%s' is missing", rows[i].name);
    if (status)
        return status;
    snprintf(machine->name, sizeof machine->name, "%s", name.text);
    return check(machine, CORUN_SYNTAX, reader->list, root->place);
}

enum corun_status host_machine_parse(const char *path, const char *text, size_t bytes, struct corun_diagnostics *list,
                                     struct host_machine *machine)
{
    struct yaml_reader reader = {path, list};
    struct yaml_node *root;
    struct arena *arena = arena_create();
    memset(machine, 0, sizeof *machine);
    if (!arena)
        return yaml_out_of_memory(&reader);
    enum corun_status status = yaml_tree_parse(path, text, bytes, arena, list, &root);
    if (status == CORUN_OK)
        status = read_root(&reader, root, machine);
    arena_destroy(arena);
    return status;
}

static enum corun_status override(struct host_machine *machine, char *overrides, struct corun_diagnostics *list)
{
    for (char *word; (word = strsep(&overrides, ","));) {
        char *value = strchr(word, '=');
        if (!value)
            return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE, "'%.64s' is not of the form PARAMETER=VALUE",
                                word);
        const struct row *row = find_row(word, (size_t)(value - word));
        if (!row)
            return report_unknown(word, (size_t)(value - word), CORUN_ARGUMENT, list, CORUN_NOWHERE);
        enum corun_status status = set(machine, row, value + 1, 1, CORUN_ARGUMENT, list, CORUN_NOWHERE);
        if (status)
            return status;
    }
    return check(machine, CORUN_ARGUMENT, list, CORUN_NOWHERE);
}

enum corun_status host_machine_load(const char *specification, const char *data_directory,
                                    struct corun_diagnostics *list, struct host_machine *machine)
{
    char word[2048], path[4096], *text = NULL;
    size_t bytes = 0;
    if (strlen(specification) >= sizeof word || strlen(data_directory) > 2000)
        return corun_report(list, CORUN_NOT_FOUND, CORUN_NOWHERE, "the name of a host is too long");
    snprintf(word, sizeof word, "%s", specification);
    char *overrides = strchr(word, ':');
    if (overrides)
        *overrides++ = 0;
    size_t length = strlen(word);
    bool is_path = strchr(word, '/') || (length > 5 && !strcmp(word + length - 5, ".yaml"));
    if (is_path)
        snprintf(path, sizeof path, "%s", word);
    else
        snprintf(path, sizeof path, "%.2000s/host/%.2000s.yaml", data_directory, word);
    enum corun_status status = text_file_read(path, MOST_FILE_BYTES, is_path ? list : NULL, &text, &bytes);
    if (status && !is_path)
        return corun_report(list, status, CORUN_NOWHERE,
                            status == CORUN_NOT_FOUND ? "there is no host '%.80s' in %.2000s/host"
                                                      : "the host '%.80s' in %.2000s/host cannot be read",
                            word, data_directory);
    if (status)
        return status;
    status = host_machine_parse(path, text, bytes, list, machine);
    free(text);
    return status == CORUN_OK && overrides ? override(machine, overrides, list) : status;
}
