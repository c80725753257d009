/* SPDX-License-Identifier: MIT */
/* libyaml's events built into a tree of nodes; what descriptions may not have is refused on the way. */
#include "base/yaml_tree.h"

#include <assert.h>
#include <string.h>
#include <yaml.h>

struct builder {
    yaml_parser_t parser;
    const char *path;
    struct arena *arena;
    struct corun_diagnostics *list;
    size_t nodes;
};

static struct corun_place place_of(const struct builder *builder, yaml_mark_t mark)
{
    return (struct corun_place){builder->path, (uint32_t)mark.line + 1, (uint32_t)mark.column + 1};
}

/* The next event; the caller deletes it. */
static enum corun_status next_event(struct builder *builder, yaml_event_t *event)
{
    if (yaml_parser_parse(&builder->parser, event))
        return CORUN_OK;
    const yaml_parser_t *parser = &builder->parser;
    if (parser->error == YAML_MEMORY_ERROR)
        return corun_report(builder->list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory reading %s", builder->path);
    if (parser->error == YAML_READER_ERROR) /* it knows only an offset */
        return corun_report(builder->list, CORUN_SYNTAX, place_of(builder, parser->mark), "not UTF-8 text: %s",
                            parser->problem ? parser->problem : "unreadable");
    return corun_report(builder->list, CORUN_SYNTAX, place_of(builder, parser->problem_mark), "not YAML: %s%s%s",
                        parser->problem ? parser->problem : "unreadable", parser->context ? ", " : "",
                        parser->context ? parser->context : "");
}

static enum corun_status refuse(struct builder *builder, const yaml_event_t *event, const char *what)
{
    return corun_report(builder->list, CORUN_SYNTAX, place_of(builder, event->start_mark), "%s", what);
}

static enum corun_status build(struct builder *builder, yaml_event_t *event, unsigned depth, struct yaml_node **result);

static enum corun_status build_text(struct builder *builder, const yaml_event_t *event, struct yaml_node *node)
{
    const char *value = (const char *)event->data.scalar.value;
    size_t length = event->data.scalar.length;
    if (event->data.scalar.anchor)
        return refuse(builder, event, "anchors are not supported");
    if (event->data.scalar.tag)
        return refuse(builder, event, "tags are not supported");
    if (memchr(value, 0, length))
        return refuse(builder, event, "text must not contain a NUL character");
    node->kind = YAML_TEXT;
    node->plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE && event->start_mark.line == event->end_mark.line;
    node->text = arena_copy_text(builder->arena, value, length);
    return node->text ? CORUN_OK : CORUN_MEMORY;
}

/* The key of the next entry; *key is NULL at the end of the map. */
static enum corun_status build_key(struct builder *builder, const struct yaml_node *map, const char **key,
                                   struct corun_place *place)
{
    yaml_event_t event;
    enum corun_status status = next_event(builder, &event);
    if (status)
        return status;
    *key = NULL;
    *place = place_of(builder, event.start_mark);
    if (event.type == YAML_SCALAR_EVENT) {
        struct yaml_node text = {0};
        status = build_text(builder, &event, &text);
        *key = text.text;
        if (!status && *key && yaml_find(map, *key))
            status = corun_report(builder->list, CORUN_SYNTAX, *place, "key '%s' is given twice", text.text);
    } else if (event.type == YAML_ALIAS_EVENT) {
        status = refuse(builder, &event, "aliases are not supported");
    } else if (event.type != YAML_MAPPING_END_EVENT) {
        status = refuse(builder, &event, "a key must be text");
    }
    yaml_event_delete(&event);
    return status;
}

static enum corun_status build_children(struct builder *builder, unsigned depth, struct yaml_node *node)
{
    struct yaml_node **link = &node->first;
    for (;;) {
        const char *key = NULL;
        struct corun_place key_place = CORUN_NOWHERE;
        enum corun_status status;
        if (node->kind == YAML_MAP) {
            status = build_key(builder, node, &key, &key_place);
            if (status || !key)
                return status;
        }
        yaml_event_t event;
        status = next_event(builder, &event);
        if (status)
            return status;
        if (event.type == YAML_SEQUENCE_END_EVENT) {
            yaml_event_delete(&event);
            return CORUN_OK;
        }
        struct yaml_node *child = NULL;
        status = build(builder, &event, depth + 1, &child);
        yaml_event_delete(&event);
        if (status)
            return status;
        assert(child);
        child->key = key;
        child->key_place = key_place;
        *link = child;
        link = &child->next;
        node->count++;
    }
}

static enum corun_status build(struct builder *builder, yaml_event_t *event, unsigned depth, struct yaml_node **result)
{
    if (depth >= YAML_MAX_DEPTH)
        return refuse(builder, event, "nested too deeply");
    if (++builder->nodes > YAML_MAX_NODES)
        return refuse(builder, event, "too many entries");
    struct yaml_node *node = *result = ARENA_NEW(builder->arena, struct yaml_node);
    if (!node)
        return CORUN_MEMORY;
    node->place = place_of(builder, event->start_mark);
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        return build_text(builder, event, node);
    case YAML_ALIAS_EVENT:
        return refuse(builder, event, "aliases are not supported");
    case YAML_SEQUENCE_START_EVENT:
        if (event->data.sequence_start.anchor || event->data.sequence_start.tag)
            return refuse(builder, event, "anchors and tags are not supported");
        node->kind = YAML_LIST;
        return build_children(builder, depth, node);
    case YAML_MAPPING_START_EVENT:
        if (event->data.mapping_start.anchor || event->data.mapping_start.tag)
            return refuse(builder, event, "anchors and tags are not supported");
        node->kind = YAML_MAP;
        return build_children(builder, depth, node);
    default:
        return refuse(builder, event, "expected text, a list or a map");
    }
}

/* STREAM-START DOCUMENT-START node DOCUMENT-END STREAM-END */
static enum corun_status build_document(struct builder *builder, struct yaml_node **root)
{
    yaml_event_t event;
    for (;;) {
        enum corun_status status = next_event(builder, &event);
        if (status)
            return status;
        yaml_event_type_t type = event.type;
        if (type == YAML_STREAM_END_EVENT) {
            status = *root ? CORUN_OK : refuse(builder, &event, "the file is empty");
        } else if (type == YAML_DOCUMENT_START_EVENT) {
            if (*root)
                status = refuse(builder, &event, "a second document begins here, but there must be only one");
        } else if (type != YAML_STREAM_START_EVENT && type != YAML_DOCUMENT_END_EVENT) {
            status = build(builder, &event, 0, root);
        }
        yaml_event_delete(&event);
        if (status || type == YAML_STREAM_END_EVENT)
            return status;
    }
}

enum corun_status yaml_tree_parse(const char *path, const char *text, size_t bytes, struct arena *arena,
                                  struct corun_diagnostics *list, struct yaml_node **root)
{
    struct builder builder = {.path = path, .arena = arena, .list = list};
    *root = NULL;
    if (!yaml_parser_initialize(&builder.parser))
        return corun_report(list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory reading %s", path);
    yaml_parser_set_encoding(&builder.parser, YAML_UTF8_ENCODING);
    /* Told its encoding, the parser takes the byte order mark that some editors write for text. */
    size_t mark = bytes >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    yaml_parser_set_input_string(&builder.parser, (const unsigned char *)text + mark, bytes - mark);
    enum corun_status status = build_document(&builder, root);
    yaml_parser_delete(&builder.parser);
    return status;
}

const char *yaml_kind_words(enum yaml_kind kind)
{
    static const char *const words[] = {"text", "a list", "a map"};
    return words[kind];
}

const struct yaml_node *yaml_find(const struct yaml_node *map, const char *key)
{
    for (const struct yaml_node *node = map->kind == YAML_MAP ? map->first : NULL; node; node = node->next) {
        if (strcmp(node->key, key) == 0)
            return node;
    }
    return NULL;
}
