/* SPDX-License-Identifier: MIT */
/* The identities of a campaign's cases (case/case_key.h), by which the results file knows them. */
#ifndef CORUN_CAMPAIGN_CAMPAIGN_KEYS_H
#define CORUN_CAMPAIGN_CAMPAIGN_KEYS_H

#include "case/cache.h"
#include "corun/campaign.h"

/*
 * Keys of all cases of a campaign, in their order; *keys is the caller's to free. Loads every workload and GPU once, so
 * a campaign that names what does not exist fails here, before anything runs: what corun_workload_load and
 * corun_gpu_config_load return; MEMORY.
 */
enum corun_status campaign_keys(const struct corun_campaign *campaign, const char *data_directory,
                                struct corun_diagnostics *list, struct content_key **keys);

#endif
