/* SPDX-License-Identifier: MIT */
/*
 * Results kept by content: a small JSON file per key. A file that is damaged, of another version or not ours is as good
 * as none. Several processes may use one directory at the same time.
 */
#ifndef CORUN_CASE_CACHE_H
#define CORUN_CASE_CACHE_H

#include "corun/status.h"

#include <jansson.h>
#include <stdbool.h>

#define CONTENT_KEY_LENGTH 64u

/* SHA-256 over named pieces of content, in hexadecimal. Pieces are told apart by their names and lengths. */
struct content_key {
    char hex[CONTENT_KEY_LENGTH + 1];
};
struct content_digest; /* being computed */
struct content_digest *content_digest_create(void);
void content_digest_add(struct content_digest *digest, const char *name, const void *data, size_t bytes);
void content_digest_add_number(struct content_digest *digest, const char *name, uint64_t value);
struct content_key content_digest_end(struct content_digest *digest); /* destroys it */

/* The values that were stored under the key, or NULL. What is wrong with an existing file is a warning in `list`. */
json_t *cache_load(const char *directory, const struct content_key *key, struct corun_diagnostics *list);
/*
 * Stores values; `about` says in words what they are. Whoever reads meanwhile sees all or nothing. Failure is a
 * warning.
 */
void cache_store(const char *directory, const struct content_key *key, const char *about, json_t *values,
                 struct corun_diagnostics *list);
/* As mkdir -p. False, with errno, if it is not there afterwards. */
bool cache_make_directory(const char *directory);

#endif
