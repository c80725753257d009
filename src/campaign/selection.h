/* SPDX-License-Identifier: MIT */
/* Which cases of a campaign are to be run: those that are asked for and not in the results file yet. */
#ifndef CORUN_CAMPAIGN_SELECTION_H
#define CORUN_CAMPAIGN_SELECTION_H

#include "campaign/store.h"
#include "corun/campaign.h"

enum selection_state {
    SELECTION_NOT_ASKED, /* belongs to another shard, is not in the list, or is the same as an earlier one */
    SELECTION_FOUND,     /* finished */
    SELECTION_FAILED,    /* and is not to be tried again */
    SELECTION_MISSING
};

struct selection {
    const struct corun_campaign *campaign;
    struct content_key *keys; /* of all cases */
    unsigned char *states;    /* enum selection_state of all cases */
    uint32_t total, found, failed, missing;
};

struct selection_request {
    const struct corun_campaign *campaign;
    const char *data_directory;
    const char *only;       /* a file with keys; NULL: all cases */
    uint32_t shard, shards; /* the shard-th, from 1, of so many; 0: all */
};

/*
 * All that are asked for are missing. NOT_FOUND and others of what the cases name; ARGUMENT, FILE of the list of keys.
 */
enum corun_status selection_create(const struct selection_request *request, struct corun_diagnostics *list,
                                   struct selection *selection);
/* Looks for them in the results file. `retry`: those that failed are missing. FILE. */
enum corun_status selection_look_up(struct selection *selection, struct store *store, bool retry,
                                    struct corun_diagnostics *list);
void selection_free(struct selection *selection);

struct selected_case {
    size_t index; /* in the campaign */
    double
        weight; /* expected wall seconds: those of the isolated runs of its applications; 1 for each that is not known, and for other commands */
};

/*
 * The missing ones among the cases from `first` to before `end`, the longest first, into `selected`, which has room for
 * them. Returns how many there are; SIZE_MAX: out of memory.
 */
size_t selection_missing(const struct selection *selection, struct store *store, size_t first, size_t end,
                         struct selected_case *selected);

#endif
