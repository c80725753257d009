/* SPDX-License-Identifier: MIT */
/* The keys of all cases of a campaign, one after the other: what they name in common is hashed once. */
#include "campaign/campaign_keys.h"

#include "campaign/campaign_file.h"
#include "campaign/commands.h"
#include "case/case_key.h"

#include <stdlib.h>

static enum corun_status find_key(struct case_keys *cases, const struct corun_campaign_case *item,
                                  const char *data_directory, struct corun_diagnostics *list, struct content_key *key)
{
    struct command_keys other = {cases, data_directory, list};
    return item->command ? command_find(item->command)->key(&other, item, key) : case_keys_find(cases, item, key);
}

enum corun_status campaign_keys(const struct corun_campaign *campaign, const char *data_directory,
                                struct corun_diagnostics *list, struct content_key **result)
{
    *result = NULL;
    size_t count = corun_campaign_count(campaign);
    struct content_key *keys = calloc(count + 1, sizeof *keys);
    struct case_keys *cases = case_keys_create(data_directory, list);
    enum corun_status status = keys && cases ? CORUN_OK : CORUN_MEMORY;
    for (size_t i = 0; i < count && !status; i++)
        status = find_key(cases, corun_campaign_get(campaign, i), data_directory, list, &keys[i]);
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
