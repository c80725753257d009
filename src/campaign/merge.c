/* SPDX-License-Identifier: MIT */
/* Several results files become one. */
#include "campaign/store.h"
#include "corun/campaign.h"

enum corun_status corun_campaign_merge(const char *results, const char *const *files, size_t count,
                                       struct corun_diagnostics *list, struct corun_campaign_merged *merged)
{
    struct store *store;
    *merged = (struct corun_campaign_merged){0};
    enum corun_status status = store_open(results, STORE_ALONE, list, &store);
    bool end = status != CORUN_OK;
    for (size_t i = 0; i < count && !end; i++) {
        uint64_t taken;
        enum corun_status one = store_merge(store, files[i], list, &taken, &end);
        merged->taken += taken;
        merged->files += !one;
        merged->refused += one != CORUN_OK;
        status = one ? one : status;
    }
    store_close(store);
    return status;
}
