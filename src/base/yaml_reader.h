/* SPDX-License-Identifier: MIT */
/* Reading what a YAML tree says: every error names its place. */
#ifndef CORUN_BASE_YAML_READER_H
#define CORUN_BASE_YAML_READER_H

#include "base/yaml_tree.h"

struct yaml_reader {
    const char *path; /* for messages */
    struct corun_diagnostics *list;
};

/* An expression or another text value with its place; text == NULL: not given. */
struct value {
    const char *text;
    struct corun_place place;
    bool exact;
};

#define YAML_WRONG(reader, node, ...) corun_report((reader)->list, CORUN_SYNTAX, (node)->place, __VA_ARGS__)

enum corun_status yaml_out_of_memory(struct yaml_reader *reader);
enum corun_status yaml_expect(struct yaml_reader *reader, const struct yaml_node *node, enum yaml_kind kind);
/* A map whose keys are all among `known` (blank-separated); of these, the ones before `|` must be there. */
enum corun_status yaml_expect_map(struct yaml_reader *reader, const struct yaml_node *node, const char *known);
/* Text of an entry; stays as it is if the entry is missing. */
enum corun_status yaml_value(struct yaml_reader *reader, const struct yaml_node *map, const char *key,
                             struct value *value);
/* A whole number in a range, as people write them (10K); stays as it is if the entry is missing. */
enum corun_status yaml_count(struct yaml_reader *reader, const struct yaml_node *map, const char *key, uint64_t lowest,
                             uint64_t highest, uint64_t *number);
/* A number of 0 or more; stays as it is if the entry is missing. */
enum corun_status yaml_real(struct yaml_reader *reader, const struct yaml_node *map, const char *key, double *value);
/* true or false; stays as it is if the entry is missing. */
enum corun_status yaml_boolean(struct yaml_reader *reader, const struct yaml_node *map, const char *key, bool *value);

#endif
