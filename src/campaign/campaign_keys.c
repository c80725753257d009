/* SPDX-License-Identifier: MIT */
/* The keys of all cases of a campaign, one after the other: what they name in common is hashed once. */
#include "campaign/campaign_keys.h"

#include "campaign/campaign_file.h"
#include "case/case_key.h"

#include <stdlib.h>

enum corun_status campaign_keys(const struct corun_campaign *campaign, const char *data_directory,
                                struct corun_diagnostics *list, struct content_key **result)
{
    *result = NULL;
    size_t count = corun_campaign_count(campaign);
    struct content_key *keys = calloc(count + 1, sizeof *keys);
    struct case_keys *cases = case_keys_create(data_directory, list);
    enum corun_status status = keys && cases ? CORUN_OK : CORUN_MEMORY;
    for (size_t i = 0; i < count && !status; i++)
        status = case_keys_find(cases, corun_campaign_get(campaign, i), &keys[i]);
    if (status && status != CORUN_MEMORY)
        corun_report(list, status, (struct corun_place){campaign->path, 0, 0}, "in campaign '%s'", campaign->name);
    if (status == CORUN_MEMORY)
        corun_report(list, status, CORUN_NOWHERE, "out of memory");
    case_keys_destroy(cases);
    if (status)
        free(keys);
    else
        *result = keys;
    return status;
}
