/* SPDX-License-Identifier: MIT */
/* A campaign as its description says it, expanded to cases. */
#ifndef CORUN_CAMPAIGN_CAMPAIGN_FILE_H
#define CORUN_CAMPAIGN_CAMPAIGN_FILE_H

#include "base/arena.h"
#include "base/vector.h"
#include "base/yaml_tree.h"
#include "corun/campaign.h"

#define CAMPAIGN_MAX_BYTES (1u << 20) /* larger ones are refused: no description is that long */
#define CAMPAIGN_MAX_CASES 1000000u
#define CAMPAIGN_RUN "run" /* the command of most campaigns */

struct corun_campaign {
    struct arena *arena;
    const char *path, *name, *summary, *text; /* text: the whole description */
    const char *command;                      /* "run" */
    VECTOR(struct corun_campaign_case) cases;
    size_t isolated; /* the first so many cases */
    const uint32_t *
        *alone; /* of each case, one for each of its applications: the isolated case of it. NULL: another command */
    size_t combinations, sampled; /* of mixes and goals: all of them, and those that the cases are of */
};

/* What an experiment says other than the description. */
struct campaign_changes {
    const char *name;
    uint64_t cycles;
    uint64_t sample; /* combinations of mixes and goals; 0: all. A larger sample has all cases of a smaller one */
    uint32_t settle; /* as in struct corun_case; 0: as the description says */
};

/* Of a description in memory; `path` is for messages. */
enum corun_status campaign_parse(const char *path, const char *text, size_t bytes, struct corun_diagnostics *list,
                                 struct corun_campaign **campaign);
/*
 * The same of a tree, which must live as long as the campaign; `text` is what the results file keeps as its
 * description.
 */
enum corun_status campaign_read(const char *path, const char *text, const struct yaml_node *root,
                                const struct campaign_changes *changes, struct corun_diagnostics *list,
                                struct corun_campaign **campaign);

#endif
