/* SPDX-License-Identifier: MIT */
/* Nodes of a YAML tree read as texts, numbers, lists and maps; a wrong node is reported with its place. */
#include "base/yaml_reader.h"

#include "base/nearest.h"
#include "base/number.h"

#include <stdio.h>
#include <string.h>

#define KNOWN_BYTES 512u /* more than the known keys of any map */

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

/* Names the key that was probably meant, else all that are known: words with blanks between them, and a `|`. */
static enum corun_status report_unknown(struct yaml_reader *reader, const struct yaml_node *entry, const char *known)
{
    char words[KNOWN_BYTES], *rest = words, list[KNOWN_BYTES] = "";
    const char *names[KNOWN_BYTES / 2];
    size_t count = 0;
    snprintf(words, sizeof words, "%s", known);
    for (char *word; (word = strsep(&rest, " "));) {
        if (!*word || !strcmp(word, "|"))
            continue;
        names[count++] = word;
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", used ? " " : "", word);
    }
    const char *nearest = nearest_name(entry->key, names, count);
    return nearest ? corun_report(reader->list, CORUN_SYNTAX, entry->key_place,
                                  "unknown key '%.80s'; did you mean '%s'?", entry->key, nearest)
                   : corun_report(reader->list, CORUN_SYNTAX, entry->key_place, "unknown key '%.80s' (known here: %s)",
                                  entry->key, list);
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
            return report_unknown(reader, entry, known);
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

enum corun_status yaml_count(struct yaml_reader *reader, const struct yaml_node *map, const char *key, uint64_t lowest,
                             uint64_t highest, uint64_t *number)
{
    struct value text = {0};
    enum corun_status status = yaml_value(reader, map, key, &text);
    if (status || !text.text)
        return status;
    uint64_t found;
    bool is_number = number_parse(text.text, 1000, &found);
    if (is_number && found >= lowest && found <= highest) {
        *number = found;
        return CORUN_OK;
    }
    if (highest == INT64_MAX && !(is_number && found > highest))
        return corun_report(reader->list, CORUN_SYNTAX, text.place, "'%.80s' is no number of %llu or more for '%s'",
                            text.text, (unsigned long long)lowest, key);
    return corun_report(reader->list, CORUN_SYNTAX, text.place, "'%.80s' is no number from %llu to %llu for '%s'",
                        text.text, (unsigned long long)lowest, (unsigned long long)highest, key);
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
