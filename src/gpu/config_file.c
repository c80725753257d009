/* SPDX-License-Identifier: MIT */
/*
 * A GPU configuration in YAML:
 *
 *     name: gtx980                       optional: the file's name serves otherwise
 *     title: NVIDIA GeForce GTX 980      optional
 *     sources:                           short names of what the values are taken from
 *       whitepaper: NVIDIA GeForce GTX 980 white paper, 2014
 *     parameters:
 *       sms: {value: 16, unit: count, source: whitepaper}
 *       l2_bytes: {value: 2M, unit: bytes, source: "whitepaper: page 7"}
 *       l2_queue: {value: 64, unit: count, source: "assumed: nothing is published"}
 *       tbs_per_sm: 32                   short form, unit as in gpu_parameters.def
 *
 * A source is one of the names above, or "assumed"; what follows a colon is free.
 */
#include "base/nearest.h"
#include "base/yaml_tree.h"
#include "gpu/config.h"

#include <stdio.h>
#include <string.h>

struct reader {
    struct corun_diagnostics *list;
    struct corun_gpu_config *config;
    enum corun_status status; /* of the first error */
};

#define FAIL_AT(reader, place, ...) \
    ((reader)->status = corun_report((reader)->list, CORUN_SYNTAX, (place), __VA_ARGS__))
#define FAIL(reader, node, ...) FAIL_AT((reader), (node)->place, __VA_ARGS__)

/* NULL after a report if the node is no text. */
static const char *text_of(struct reader *reader, const struct yaml_node *node, const char *what)
{
    if (node->kind == YAML_TEXT)
        return node->text;
    FAIL(reader, node, "%.64s: expected a single value, found %s", what, yaml_kind_words(node->kind));
    return NULL;
}

static bool is_map(struct reader *reader, const struct yaml_node *node, const char *what)
{
    if (node->kind == YAML_MAP)
        return true;
    FAIL(reader, node, "expected a map of %s, found %s", what, yaml_kind_words(node->kind));
    return false;
}

/* The key of an entry among the known words of its map; reports others. Index, or -1. */
static int find_key(struct reader *reader, const struct yaml_node *entry, const char *const *known)
{
    int count = 0;
    for (; known[count]; count++) {
        if (!strcmp(known[count], entry->key))
            return count;
    }
    const char *nearest = nearest_name(entry->key, known, (size_t)count);
    if (nearest)
        FAIL_AT(reader, entry->key_place, "there is no '%.64s' here; did you mean '%s'?", entry->key, nearest);
    else
        FAIL_AT(reader, entry->key_place, "there is no '%.64s' here; expected %s, …", entry->key, known[0]);
    return -1;
}

/* Is what stands before the colon declared under `sources`? */
static bool source_is_declared(const struct yaml_node *sources, const char *text)
{
    size_t length = strcspn(text, ":");
    if (length == strlen("assumed") && !strncmp(text, "assumed", length))
        return true;
    if (!sources || sources->kind != YAML_MAP)
        return false;
    for (const struct yaml_node *entry = sources->first; entry; entry = entry->next) {
        if (strlen(entry->key) == length && !strncmp(entry->key, text, length))
            return true;
    }
    return false;
}

static void read_parameter(struct reader *reader, const struct corun_gpu_parameter *row, const struct yaml_node *node,
                           const struct yaml_node *sources)
{
    enum { VALUE, UNIT, SOURCE, COUNT };
    static const char *const known[] = {"value", "unit", "source", NULL};
    const char *texts[COUNT] = {NULL, NULL, NULL};
    const struct yaml_node *nodes[COUNT] = {node, node, node};
    if (node->kind == YAML_MAP) {
        for (const struct yaml_node *entry = node->first; entry; entry = entry->next) {
            int index = find_key(reader, entry, known);
            if (index < 0 || !(texts[index] = text_of(reader, entry, known[index])))
                return;
            nodes[index] = entry;
        }
        for (int i = 0; i < COUNT; i++)
            if (!texts[i]) {
                FAIL(reader, node, "%s has no %s", row->name, known[i]);
                return;
            }
        if (!source_is_declared(sources, texts[SOURCE])) {
            FAIL(reader, nodes[SOURCE], "the source '%.64s' of %s is not declared under 'sources'", texts[SOURCE],
                 row->name);
            return;
        }
    } else if (!(texts[VALUE] = text_of(reader, node, row->name))) {
        return;
    }
    uint32_t value = 0;
    enum corun_status status =
        config_parse_value(row, texts[VALUE], texts[UNIT], CORUN_SYNTAX, reader->list, nodes[VALUE]->place, &value);
    if (status == CORUN_OK)
        config_store(reader->config, row, value);
    else
        reader->status = status;
}

static void read_parameters(struct reader *reader, const struct yaml_node *map, const struct yaml_node *sources)
{
    if (!is_map(reader, map, "parameters"))
        return;
    for (const struct yaml_node *entry = map->first; entry; entry = entry->next) {
        const struct corun_gpu_parameter *row =
            config_find_parameter(entry->key, false, CORUN_SYNTAX, reader->list, entry->key_place);
        if (row)
            read_parameter(reader, row, entry, sources);
        else
            reader->status = CORUN_SYNTAX;
    }
}

static void read_sources(struct reader *reader, const struct yaml_node *map)
{
    if (!is_map(reader, map, "sources"))
        return;
    for (const struct yaml_node *entry = map->first; entry; entry = entry->next)
        text_of(reader, entry, entry->key);
}

static void read_name(struct reader *reader, const struct yaml_node *node)
{
    const char *name = text_of(reader, node, "name");
    if (!name)
        return;
    size_t length = strlen(name);
    /* A name is a word in reports and cache keys. */
    if (!length || length >= sizeof reader->config->name ||
        strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.+") != length) {
        FAIL(reader, node, "a name has 1 to %zu letters, digits, or one of - _ . +", sizeof reader->config->name - 1);
        return;
    }
    memcpy(reader->config->name, name, length + 1);
}

static void read_document(struct reader *reader, const struct yaml_node *root)
{
    static const char *const known[] = {"parameters", "sources", "name", "title", NULL};
    if (!is_map(reader, root, "parameters, sources, name and title"))
        return;
    for (const struct yaml_node *entry = root->first; entry; entry = entry->next)
        find_key(reader, entry, known);
    const struct yaml_node *parameters = yaml_find(root, "parameters"), *sources = yaml_find(root, "sources"),
                           *name = yaml_find(root, "name"), *title = yaml_find(root, "title");
    if (sources)
        read_sources(reader, sources);
    if (name)
        read_name(reader, name);
    if (title)
        text_of(reader, title, "title");
    if (parameters)
        read_parameters(reader, parameters, sources);
    else
        FAIL(reader, root, "there are no 'parameters'");
}

enum corun_status config_parse_yaml(const char *text, size_t length, const char *file, struct corun_diagnostics *list,
                                    struct corun_gpu_config *config)
{
    struct reader reader = {.list = list, .config = config};
    struct yaml_node *root = NULL;
    struct arena *arena = arena_create();
    if (!arena)
        return corun_report(list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory");
    reader.status = yaml_tree_parse(file, text, length, arena, list, &root);
    if (reader.status == CORUN_OK)
        read_document(&reader, root);
    arena_destroy(arena);
    return reader.status;
}
