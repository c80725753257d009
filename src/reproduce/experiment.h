/* SPDX-License-Identifier: MIT */
/*
 * An experiment: a figure or a table of a paper, as a YAML file (docs/experiments.md): the campaigns that it needs,
 * what is computed from their results, and the paper's own numbers. What is computed is the business of the Python
 * package; here the file is read, checked, and its campaigns are made.
 */
#ifndef CORUN_REPRODUCE_EXPERIMENT_H
#define CORUN_REPRODUCE_EXPERIMENT_H

#include "base/arena.h"
#include "base/yaml_tree.h"
#include "corun/campaign.h"

#define EXPERIMENT_PARTS_MAX 32u
/* A page of results has a digest of the cases of so many combinations, the first of every sample, to be confirmed by. */
#define EXPERIMENT_DRAWN 3u

/* One campaign of the experiment. */
struct experiment_part {
    const char *name;     /* "" if it is the only one */
    const char *campaign; /* what it is called in a results file: EXPERIMENT or EXPERIMENT/PART */
    const struct yaml_node *description;
};

struct experiment {
    struct arena *arena;
    const char *path, *text; /* the whole file */
    const char *name, *title, *paper, *section;
    uint64_t paper_cycles; /* the paper's window; 0: it has none */
    uint64_t cycles;       /* ours, unless something else is asked for */
    uint64_t sample; /* combinations of mixes and goals in each part, unless something else is asked for; 0: all */
    uint32_t part_count;
    const struct experiment_part *parts;
    const char *missing; /* names of the policies that it needs and that there are not, "a, b"; NULL: none */
    const struct yaml_node *root;
};

/* SYNTAX with a place; NOT_FOUND, FILE, MEMORY. A policy that there is not is no error: it is in `missing`. */
enum corun_status experiment_load(const char *path, struct corun_diagnostics *list, struct experiment **experiment);
/* Of a text in memory; `path` is for messages. */
enum corun_status experiment_parse(const char *path, const char *text, size_t bytes, struct corun_diagnostics *list,
                                   struct experiment **experiment);
void experiment_destroy(struct experiment *experiment);

/* How much of a part is run. */
struct experiment_extent {
    uint64_t cycles; /* window */
    uint64_t sample; /* combinations of mixes and goals; 0: all. A larger sample has all cases of a smaller one */
    uint32_t settle; /* as in struct corun_case; 0: as the file says */
};

/* What the file asks for, or everything in the paper's window. */
struct experiment_extent experiment_initial_extent(const struct experiment *experiment, bool full);

/*
 * The campaign of a part, which must not outlive the experiment. As corun_campaign_load; NOT_FOUND: policies are
 * missing.
 */
enum corun_status experiment_campaign(const struct experiment *experiment, uint32_t part,
                                      const struct experiment_extent *extent, struct corun_diagnostics *list,
                                      struct corun_campaign **campaign);
/* Combinations of mixes and goals: in the whole part, and in the sample. */
size_t experiment_combinations(const struct corun_campaign *campaign);
size_t experiment_sampled(const struct corun_campaign *campaign);

#endif
