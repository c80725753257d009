/* Reading the YAML tree of a launch description: what description.c and description_claims.c both need. */
#ifndef CORUN_WORKLOAD_DESCRIPTION_READER_H
#define CORUN_WORKLOAD_DESCRIPTION_READER_H

#include "workload/description.h"
#include "workload/yaml_tree.h"

struct reader {
    struct description *description;
    struct corun_diagnostics *list;
};

#define WRONG(reader, node, ...) corun_report((reader)->list, CORUN_SYNTAX, (node)->place, __VA_ARGS__)

enum corun_status reader_out_of_memory(struct reader *reader);
enum corun_status reader_expect(struct reader *reader, const struct yaml_node *node, enum yaml_kind kind);
/* A map whose keys are all among `known` (blank-separated); of these, the ones before `|` must be there. */
enum corun_status reader_expect_map(struct reader *reader, const struct yaml_node *node, const char *known);
/* Text of an entry; stays as it is if the entry is missing. */
enum corun_status reader_value(struct reader *reader, const struct yaml_node *map, const char *key,
                               struct value *value);
/* A number of 0 or more; stays as it is if the entry is missing. */
enum corun_status reader_real(struct reader *reader, const struct yaml_node *map, const char *key, double *value);
/* A character by its word (corun_character_word); stays as it is if the entry is missing. */
enum corun_status reader_character(struct reader *reader, const struct yaml_node *map, const char *key,
                                   enum corun_character *character);

/* `work` and `papers` of the root, if they are there (description_claims.c). */
enum corun_status reader_claims(struct reader *reader, const struct yaml_node *root);

#endif
