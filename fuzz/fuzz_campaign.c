/* SPDX-License-Identifier: MIT */
/* Feeds bytes to the reader of campaigns. */
#include "campaign/campaign_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct corun_diagnostics *list = corun_diagnostics_create();
    struct corun_campaign *campaign;
    if (size < 4096 && campaign_parse("fuzz.yaml", (const char *)data, size, list, &campaign) == CORUN_OK)
        corun_campaign_destroy(campaign);
    corun_diagnostics_destroy(list);
    return 0;
}
