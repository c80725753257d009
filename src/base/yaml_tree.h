/* SPDX-License-Identifier: MIT */
/*
 * A YAML text as a tree of nodes that know their place. The part of YAML that descriptions need and no more: one document, no
 * anchors, aliases or tags, no key twice, nesting up to YAML_MAX_DEPTH.
 */
#ifndef CORUN_BASE_YAML_TREE_H
#define CORUN_BASE_YAML_TREE_H

#include "base/arena.h"
#include "corun/status.h"

#define YAML_MAX_DEPTH 16u
#define YAML_MAX_NODES 10000u

enum yaml_kind { YAML_TEXT, YAML_LIST, YAML_MAP };

struct yaml_node {
    enum yaml_kind kind;
    bool plain; /* TEXT: written without quotes, on one line */
    struct corun_place place;
    const char *text; /* TEXT: its value, with no NUL inside */
    const char *key;  /* as an entry of a MAP, else NULL */
    struct corun_place key_place;
    struct yaml_node *first; /* LIST and MAP: children in order */
    struct yaml_node *next;  /* sibling */
    size_t count;            /* children */
};

/* `path` is for messages. SYNTAX, MEMORY. Nodes and their strings live in the arena. */
enum corun_status yaml_tree_parse(const char *path, const char *text, size_t bytes, struct arena *arena,
                                  struct corun_diagnostics *list, struct yaml_node **root);

/* "text", "a list", "a map" */
const char *yaml_kind_words(enum yaml_kind kind);
/* The entry of a MAP with that key; NULL if there is none or the node is no MAP. */
const struct yaml_node *yaml_find(const struct yaml_node *map, const char *key);

#endif
