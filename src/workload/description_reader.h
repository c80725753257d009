/* SPDX-License-Identifier: MIT */
/* Reading the YAML tree of a launch description: what description.c and description_claims.c both need. */
#ifndef CORUN_WORKLOAD_DESCRIPTION_READER_H
#define CORUN_WORKLOAD_DESCRIPTION_READER_H

#include "workload/description.h"

struct reader {
    struct yaml_reader yaml;
    struct description *description;
};

#define WRONG(reader, node, ...) YAML_WRONG(&(reader)->yaml, node, __VA_ARGS__)

/* A character by its word (corun_character_word); stays as it is if the entry is missing. */
enum corun_status reader_character(struct reader *reader, const struct yaml_node *map, const char *key,
                                   enum corun_character *character);

/* `work` and `papers` of the root, if they are there (description_claims.c). */
enum corun_status reader_claims(struct reader *reader, const struct yaml_node *root);

#endif
