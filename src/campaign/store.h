/*
 * The results file of campaigns: an SQLite database in write-ahead mode with one transaction for each result, so that
 * whatever was finished stays, whenever and however the program ends. The schema is documented in docs/campaigns.md.
 */
#ifndef CORUN_CAMPAIGN_STORE_H
#define CORUN_CAMPAIGN_STORE_H

#include "campaign/cache.h"
#include "corun/campaign.h"

/* Changed with the schema. */
#define STORE_VERSION 1

struct store;

/* Creates it if need be. FILE: cannot be opened, is not one of ours or damaged, the disk is full; the message says which. */
enum corun_status store_open(const char *path, struct corun_diagnostics *list, struct store **store);
void store_close(struct store *store);

/* What is known of a case. LOST: it ended for a reason of the host (killed, out of memory or time), not of its own. */
enum store_state { STORE_ABSENT, STORE_FINISHED, STORE_FAILED, STORE_LOST };
enum corun_status store_find(struct store *store, const char *key, struct corun_diagnostics *list,
                             enum store_state *state);
/* Wall seconds of a finished case; NAN if there are none. */
double store_seconds(struct store *store, const char *key);

/* The campaign with the keys of its cases, in place of what was stored under its name. FILE. */
enum corun_status store_campaign(struct store *store, const struct corun_campaign *campaign,
                                 const struct content_key *keys, struct corun_diagnostics *list);
/* A result, the JSON of json_case, in place of a failure. FILE; SYNTAX if it is no such JSON. */
enum corun_status store_result(struct store *store, const char *key, const struct corun_campaign_case *item,
                               const char *json, size_t bytes, struct corun_diagnostics *list);
enum corun_status store_failure(struct store *store, const char *key, const struct corun_campaign_case *item,
                                const char *message, bool lost, double seconds, struct corun_diagnostics *list);

#endif
