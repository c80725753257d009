/* SPDX-License-Identifier: MIT */
/* The identity of a case of a campaign: a hash over everything that its result depends on. */
#ifndef CORUN_CASE_CASE_KEY_H
#define CORUN_CASE_CASE_KEY_H

#include "case/cache.h"
#include "corun/campaign.h"

/* What several cases name is read and hashed once: their workloads, GPUs and policies. */
struct case_keys;
/* The directory and the list must stay. NULL: out of memory. */
struct case_keys *case_keys_create(const char *data_directory, struct corun_diagnostics *list);
void case_keys_destroy(struct case_keys *keys);
/*
 * The key of one case; all cases that are asked for have the same seed. Loads what the case names, so a case that names
 * what does not exist fails here, before anything runs: what corun_workload_load and corun_gpu_config_load return;
 * MEMORY, which is not in the list.
 */
enum corun_status case_keys_find(struct case_keys *keys, const struct corun_campaign_case *item,
                                 struct content_key *key);
/* Parts of such keys, for cases of other commands: a GPU; a workload with its data; the bytes of a file, FILE if it cannot be read. */
enum corun_status case_keys_gpu(struct case_keys *keys, const char *text, struct content_key *key);
enum corun_status case_keys_workload(struct case_keys *keys, const char *text, uint64_t seed, struct content_key *key);
enum corun_status case_keys_file(struct case_keys *keys, const char *path, struct content_key *key);
/* For texts that live as long as the keys. */
struct arena *case_keys_arena(struct case_keys *keys);

#endif
