/* SPDX-License-Identifier: MIT */
/*
 * The results file of campaigns: an SQLite database in write-ahead mode with one transaction for each result, so that
 * whatever was finished stays, whenever and however the program ends. The schema is documented in docs/campaigns.md.
 */
#ifndef CORUN_CAMPAIGN_STORE_H
#define CORUN_CAMPAIGN_STORE_H

#include "case/cache.h"
#include "corun/campaign.h"
#include "report/json.h"

/* What its header says it is, and which version of it; that changes with the schema. */
#define STORE_APPLICATION_ID 0x636f7275 /* "coru" */
#define STORE_VERSION 1

struct store;

enum store_use {
    STORE_SHARED, /* with other processes: by write-ahead, or as below where the file system is one of the network */
    STORE_NETWORK, /* also with processes on other machines: no memory is shared, changes are rolled back from a journal */
    STORE_ALONE    /* no other process can use it before it is closed, and no memory is shared, either */
};
struct sqlite3;
/* sqlite3_open_v2 of the file of that name. SQLite itself takes one that begins with `file:` for more than a name. */
int store_open_file(const char *path, int flags, struct sqlite3 **database);
/*
 * Creates it if need be. FILE: cannot be opened, is not one of ours or damaged, the disk is
 * full; the message says which.
 */
enum corun_status store_open(const char *path, enum store_use use, struct corun_diagnostics *list,
                             struct store **store);
void store_close(struct store *store);

/* What is known of a case. LOST: it ended for a reason of the host (killed, out of memory or time), not of its own. */
enum store_state { STORE_ABSENT, STORE_FINISHED, STORE_FAILED, STORE_LOST };
/*
 * *row grows with every case that is written, also with one that is written again: it tells what is older than a look at
 * store_last_row. May be NULL.
 */
enum corun_status store_find(struct store *store, const char *key, struct corun_diagnostics *list,
                             enum store_state *state, int64_t *row);
enum corun_status store_last_row(struct store *store, struct corun_diagnostics *list, int64_t *row);
/* Wall seconds of a finished case; NAN if there are none. */
double store_seconds(struct store *store, const char *key);

/* What was measured of a finished case, in short; what is not known is NAN. */
struct store_measured {
    double stp, antt, fairness;
    struct {
        double ipc, normalised_ipc;
        bool has_goal, goal_met;
    } applications[CORUN_MAX_APPLICATIONS];
};
/* *known: it is finished. FILE. */
enum corun_status store_read(struct store *store, const char *key, struct corun_diagnostics *list, bool *known,
                             struct store_measured *measured);

/*
 * Takes from another results file, in one transaction, what is missing: its campaigns, cases that are not here,
 * finished ones in place of others, and the later one of two that are not finished. *taken: how many cases. FILE:
 * `path` cannot be read, is damaged or not one of ours: then nothing was taken. *end: the file of this store is at
 * fault, or its disk.
 */
enum corun_status store_merge(struct store *store, const char *path, struct corun_diagnostics *list, uint64_t *taken,
                              bool *end);

/* The campaign with the keys of its cases, in place of what was stored under its name. FILE. */
enum corun_status store_campaign(struct store *store, const struct corun_campaign *campaign,
                                 const struct content_key *keys, struct corun_diagnostics *list);
/*
 * A result, the JSON of json_case, in place of a failure; whoever has a claim on the case (campaign/claims.h) loses it.
 * FILE: also if the file is no longer where it was. If the text
 * is no such JSON it says so in `problem`, else that is empty.
 */
#define STORE_PROBLEM_BYTES JSON_PROBLEM_BYTES
enum corun_status store_result(struct store *store, const char *key, const struct corun_campaign_case *item,
                               const char *json, size_t bytes, char problem[STORE_PROBLEM_BYTES],
                               struct corun_diagnostics *list);
/* The same of another command: its JSON, and the wall seconds that it took. */
enum corun_status store_command_result(struct store *store, const char *key, const struct corun_campaign_case *item,
                                       const char *json, size_t bytes, double seconds,
                                       char problem[STORE_PROBLEM_BYTES], struct corun_diagnostics *list);
/* Unless it is finished: another process may have been luckier. Claims are lost likewise. */
enum corun_status store_failure(struct store *store, const char *key, const struct corun_campaign_case *item,
                                const char *message, bool lost, double seconds, struct corun_diagnostics *list);

/* For campaign/claims.c, which keeps tables of its own there. */
struct sqlite3;
struct sqlite3 *store_database(struct store *store);
/* What SQLite's `code` means for the file, said in `list`. */
enum corun_status store_report(const struct store *store, int code, struct corun_diagnostics *list);

#endif
