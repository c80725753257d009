#include "workload/yaml_reader.h"

#include "base/number.h"

#include <stdio.h>
#include <string.h>

enum corun_status yaml_out_of_memory(struct yaml_reader *reader)
{
    return corun_report(reader->list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory reading %s", reader->path);
}

enum corun_status yaml_expect(struct yaml_reader *reader, const struct yaml_node *node, enum yaml_kind kind)
{
    if (node->kind == kind)
        return CORUN_OK;
    return YAML_WRONG(reader, node, "expected %s%s%s%s, found %s", yaml_kind_words(kind), node->key ? " for '" : "",
                      node->key ? node->key : "", node->key ? "'" : "", yaml_kind_words(node->kind));
}

/* A map whose keys are all among `known` (blank-separated); of these, the ones before `|` must be there. */
enum corun_status yaml_expect_map(struct yaml_reader *reader, const struct yaml_node *node, const char *known)
{
    enum corun_status status = yaml_expect(reader, node, YAML_MAP);
    if (status)
        return status;
    for (const struct yaml_node *entry = node->first; entry; entry = entry->next) {
        size_t length = strlen(entry->key);
        const char *at = known;
        while (at && (strncmp(at, entry->key, length) != 0 || (at[length] != ' ' && at[length] != 0))) {
            at = strchr(at, ' ');
            at = at ? at + 1 : NULL;
        }
        if (!at || !length || strpbrk(entry->key, " |"))
            return corun_report(reader->list, CORUN_SYNTAX, entry->key_place, "unknown key '%.80s' (known here: %s)",
                                entry->key, known);
    }
    char key[32];
    for (const char *at = known; *at && *at != '|';) {
        size_t length = strcspn(at, " ");
        snprintf(key, sizeof key, "%.*s", (int)length, at);
        if (!yaml_find(node, key))
            return YAML_WRONG(reader, node, "the key '%s' is missing", key);
        at += length + (at[length] == ' ');
    }
    return CORUN_OK;
}

/* Text of an entry; stays as it is if the entry is missing. */
enum corun_status yaml_value(struct yaml_reader *reader, const struct yaml_node *map, const char *key,
                             struct value *value)
{
    const struct yaml_node *node = yaml_find(map, key);
    if (!node)
        return CORUN_OK;
    enum corun_status status = yaml_expect(reader, node, YAML_TEXT);
    if (!status)
        *value = (struct value){node->text, node->place, node->plain};
    return status;
}

enum corun_status yaml_real(struct yaml_reader *reader, const struct yaml_node *map, const char *key, double *value)
{
    struct value text = {0};
    enum corun_status status = yaml_value(reader, map, key, &text);
    if (status || !text.text)
        return status;
    if (!number_parse_real(text.text, value) || *value < 0)
        return corun_report(reader->list, CORUN_SYNTAX, text.place, "'%.80s' is not a number of 0 or more for '%s'",
                            text.text, key);
    return CORUN_OK;
}

enum corun_status yaml_boolean(struct yaml_reader *reader, const struct yaml_node *map, const char *key, bool *value)
{
    struct value text = {0};
    enum corun_status status = yaml_value(reader, map, key, &text);
    if (status || !text.text)
        return status;
    *value = strcmp(text.text, "true") == 0;
    if (!*value && strcmp(text.text, "false") != 0)
        return corun_report(reader->list, CORUN_SYNTAX, text.place, "expected true or false for '%s'", key);
    return CORUN_OK;
}
