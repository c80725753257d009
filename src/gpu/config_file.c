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
#include "gpu/config.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <yaml.h>

struct reader {
    yaml_document_t document;
    const char *file;
    struct corun_diagnostics *list;
    struct corun_gpu_config *config;
    enum corun_status status; /* of the first error */
};

static struct corun_place place_of_mark(const struct reader *reader, yaml_mark_t mark)
{
    return (struct corun_place){reader->file, mark.line < UINT32_MAX ? (uint32_t)mark.line + 1 : 0,
                                mark.column < UINT32_MAX ? (uint32_t)mark.column + 1 : 0};
}

static struct corun_place place_of(const struct reader *reader, const yaml_node_t *node)
{
    return place_of_mark(reader, node->start_mark);
}

#define FAIL(reader, node, ...) \
    ((reader)->status = corun_report((reader)->list, CORUN_SYNTAX, place_of((reader), (node)), __VA_ARGS__))

/* The text of a scalar; NULL after a report if it is none or holds a NUL. */
static const char *text_of(struct reader *reader, const yaml_node_t *node, const char *what)
{
    if (node->type != YAML_SCALAR_NODE) {
        FAIL(reader, node, "%.64s: expected a single value, found a %s", what,
             node->type == YAML_MAPPING_NODE ? "mapping" : "list");
        return NULL;
    }
    const char *text = (const char *)node->data.scalar.value;
    if (strlen(text) != node->data.scalar.length) {
        FAIL(reader, node, "%.64s: a text with a NUL character", what);
        return NULL;
    }
    return text;
}

static bool is_mapping(struct reader *reader, const yaml_node_t *node, const char *what)
{
    if (node->type == YAML_MAPPING_NODE)
        return true;
    FAIL(reader, node, "expected a mapping of %s", what);
    return false;
}

static const yaml_node_t *node_at(struct reader *reader, int index)
{
    return yaml_document_get_node(&reader->document, index);
}

/* Finds `key` among the known words of one mapping; reports unknown and repeated ones. Index, or -1. */
static int find_key(struct reader *reader, const yaml_node_t *node, const char *const *known, unsigned *seen)
{
    const char *key = text_of(reader, node, "key");
    if (!key)
        return -1;
    for (int i = 0; known[i]; i++) {
        if (strcmp(known[i], key))
            continue;
        if (*seen & 1u << i) {
            FAIL(reader, node, "'%s' is given twice", key);
            return -1;
        }
        *seen |= 1u << i;
        return i;
    }
    size_t count = 0;
    while (known[count])
        count++;
    const char *nearest = nearest_name(key, known, count);
    if (nearest)
        FAIL(reader, node, "there is no '%.64s' here; did you mean '%s'?", key, nearest);
    else
        FAIL(reader, node, "there is no '%.64s' here; expected %s, …", key, known[0]);
    return -1;
}

/* Is what stands before the colon declared under `sources`? */
static bool source_is_declared(struct reader *reader, const yaml_node_t *sources, const char *text)
{
    size_t length = strcspn(text, ":");
    if (length == strlen("assumed") && !strncmp(text, "assumed", length))
        return true;
    if (!sources || sources->type != YAML_MAPPING_NODE)
        return false;
    for (const yaml_node_pair_t *pair = sources->data.mapping.pairs.start; pair < sources->data.mapping.pairs.top;
         pair++) {
        const yaml_node_t *key = node_at(reader, pair->key);
        if (key->type == YAML_SCALAR_NODE && key->data.scalar.length == length &&
            !strncmp((const char *)key->data.scalar.value, text, length))
            return true;
    }
    return false;
}

static void read_parameter(struct reader *reader, const struct corun_gpu_parameter *row, const yaml_node_t *node,
                           const yaml_node_t *sources)
{
    static const char *const known[] = {"value", "unit", "source", NULL};
    const char *texts[3] = {NULL, NULL, NULL};
    const yaml_node_t *nodes[3] = {node, node, node};
    if (node->type == YAML_MAPPING_NODE) {
        unsigned seen = 0;
        for (const yaml_node_pair_t *pair = node->data.mapping.pairs.start; pair < node->data.mapping.pairs.top;
             pair++) {
            int index = find_key(reader, node_at(reader, pair->key), known, &seen);
            if (index < 0)
                return;
            nodes[index] = node_at(reader, pair->value);
            texts[index] = text_of(reader, nodes[index], known[index]);
            if (!texts[index])
                return;
        }
        for (int i = 0; i < 3; i++)
            if (!(seen & 1u << i)) {
                FAIL(reader, node, "%s has no %s", row->name, known[i]);
                return;
            }
        if (!source_is_declared(reader, sources, texts[2])) {
            FAIL(reader, nodes[2], "the source '%.64s' of %s is not declared under 'sources'", texts[2], row->name);
            return;
        }
    } else if (!(texts[0] = text_of(reader, node, row->name))) {
        return;
    }
    uint32_t value = 0;
    enum corun_status status =
        config_parse_value(row, texts[0], texts[1], CORUN_SYNTAX, reader->list, place_of(reader, nodes[0]), &value);
    if (status == CORUN_OK)
        config_store(reader->config, row, value);
    else
        reader->status = status;
}

static void read_parameters(struct reader *reader, const yaml_node_t *mapping, const yaml_node_t *sources)
{
    if (!is_mapping(reader, mapping, "parameters"))
        return;
    size_t count;
    const struct corun_gpu_parameter *rows = corun_gpu_parameters(&count);
    bool seen[CONFIG_PARAMETERS] = {false};
    for (const yaml_node_pair_t *pair = mapping->data.mapping.pairs.start; pair < mapping->data.mapping.pairs.top;
         pair++) {
        const yaml_node_t *key = node_at(reader, pair->key);
        const char *name = text_of(reader, key, "parameter");
        if (!name)
            continue;
        const struct corun_gpu_parameter *row =
            config_find_parameter(name, false, CORUN_SYNTAX, reader->list, place_of(reader, key));
        if (!row) {
            reader->status = CORUN_SYNTAX;
            continue;
        }
        if (seen[row - rows])
            FAIL(reader, key, "%s is given twice", row->name);
        else
            read_parameter(reader, row, node_at(reader, pair->value), sources);
        seen[row - rows] = true;
    }
}

static void read_sources(struct reader *reader, const yaml_node_t *mapping)
{
    if (!is_mapping(reader, mapping, "sources"))
        return;
    for (const yaml_node_pair_t *pair = mapping->data.mapping.pairs.start; pair < mapping->data.mapping.pairs.top;
         pair++) {
        const char *name = text_of(reader, node_at(reader, pair->key), "source");
        if (name)
            text_of(reader, node_at(reader, pair->value), name);
    }
}

static void read_name(struct reader *reader, const yaml_node_t *node)
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

static void read_document(struct reader *reader)
{
    static const char *const known[] = {"parameters", "sources", "name", "title", NULL};
    const yaml_node_t *root = yaml_document_get_root_node(&reader->document);
    if (!root) {
        reader->status =
            corun_report(reader->list, CORUN_SYNTAX, (struct corun_place){reader->file, 1, 1}, "the file is empty");
        return;
    }
    if (!is_mapping(reader, root, "parameters, sources, name and title"))
        return;
    const yaml_node_t *values[4] = {NULL};
    unsigned seen = 0;
    for (const yaml_node_pair_t *pair = root->data.mapping.pairs.start; pair < root->data.mapping.pairs.top; pair++) {
        int index = find_key(reader, node_at(reader, pair->key), known, &seen);
        if (index >= 0)
            values[index] = node_at(reader, pair->value);
    }
    if (values[1])
        read_sources(reader, values[1]);
    if (values[2])
        read_name(reader, values[2]);
    if (values[3])
        text_of(reader, values[3], "title");
    if (values[0])
        read_parameters(reader, values[0], values[1]);
    else
        FAIL(reader, root, "there are no 'parameters'");
}

enum corun_status config_parse_yaml(const char *text, size_t length, const char *file, struct corun_diagnostics *list,
                                    struct corun_gpu_config *config)
{
    struct reader reader = {.file = file, .list = list, .config = config};
    yaml_parser_t parser;
    if (!yaml_parser_initialize(&parser))
        return corun_report(list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory");
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, length);
    if (!yaml_parser_load(&parser, &reader.document)) {
        if (parser.error == YAML_MEMORY_ERROR)
            reader.status = corun_report(list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory");
        else
            reader.status = corun_report(list, CORUN_SYNTAX, place_of_mark(&reader, parser.problem_mark),
                                         "not YAML: %s%s%s", parser.problem ? parser.problem : "unreadable",
                                         parser.context ? " " : "", parser.context ? parser.context : "");
    } else {
        read_document(&reader);
        yaml_document_delete(&reader.document);
    }
    yaml_parser_delete(&parser);
    return reader.status;
}
