/* SPDX-License-Identifier: MIT */
/*
 * Who computes a result that is not in the cache yet: one process at a time, also of other users of the folder. The
 * others wait and load it. A file KEY.lock is locked (flock) meanwhile; the system unlocks it when the process ends, however
 * it does.
 */
#ifndef CORUN_CASE_CACHE_LOCK_H
#define CORUN_CASE_CACHE_LOCK_H

#include "case/cache.h"

/* A process that has not touched its lock for so long, because it was stopped for instance, is not waited for. */
#define CACHE_LOCK_LEASE_SECONDS 60.0

struct cache_lock {
    int descriptor; /* -1: it is not ours */
    char path[4096];
};

enum cache_lock_state {
    CACHE_LOCK_OURS,
    CACHE_LOCK_ELSEWHERE,
    CACHE_LOCK_NONE /* there can be none here: without it, work may be done twice */
};
/* The folder is made if need be. *touched: when a lock that is elsewhere was last renewed, in units that only grow. */
enum cache_lock_state cache_lock_try(const char *directory, const struct content_key *key, struct cache_lock *lock,
                                     int64_t *touched);
/* To be called every few seconds by who has it. */
void cache_lock_renew(const struct cache_lock *lock);
void cache_lock_release(struct cache_lock *lock);

#endif
