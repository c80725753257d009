/* SPDX-License-Identifier: MIT */
/*
 * Keys are digests of contents; an entry is written beside its name and renamed, and checked by its checksum when it is
 * read.
 */
#include "case/cache.h"

#include "base/cache_folder.h"
#include "corun/case.h"

#include <errno.h>
#include <fcntl.h>
#include <sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_BYTES 4096u
#define FILE_BYTES_LIMIT (1u << 20) /* ours have a few kilobytes: whatever is larger is not ours */

struct content_digest {
    SHA2_CTX sha;
};

struct content_digest *content_digest_create(void)
{
    struct content_digest *digest = malloc(sizeof *digest);
    if (digest)
        SHA256Init(&digest->sha);
    return digest;
}

void content_digest_add(struct content_digest *digest, const char *name, const void *data, size_t bytes)
{
    uint64_t sizes[2] = {strlen(name), bytes};
    uint8_t encoded[sizeof sizes];
    for (size_t i = 0; i < sizeof encoded; i++)
        encoded[i] = (uint8_t)(sizes[i / 8] >> (i % 8 * 8));
    SHA256Update(&digest->sha, encoded, sizeof encoded);
    SHA256Update(&digest->sha, (const uint8_t *)name, sizes[0]);
    SHA256Update(&digest->sha, data, bytes);
}

void content_digest_add_number(struct content_digest *digest, const char *name, uint64_t value)
{
    char text[24];
    int length = snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    content_digest_add(digest, name, text, (size_t)length);
}

struct content_key content_digest_end(struct content_digest *digest)
{
    struct content_key key;
    SHA256End(&digest->sha, key.hex);
    free(digest);
    return key;
}

bool corun_cache_directory(char *path, size_t bytes)
{
    return cache_folder_path(path, bytes, "");
}

static bool entry_path(char *path, size_t bytes, const char *directory, const struct content_key *key)
{
    int length = snprintf(path, bytes, "%s/%s.json", directory, key->hex);
    return length > 0 && (size_t)length < bytes;
}

/* Guards against files that were cut off or changed: JSON alone would take "cycles": 12 for 123. */
static struct content_key checksum(const json_t *values)
{
    struct content_key key = {""};
    char *text = json_dumps(values, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY);
    struct content_digest *digest = content_digest_create();
    if (digest) {
        content_digest_add(digest, "values", text ? text : "", text ? strlen(text) : 0);
        key = content_digest_end(digest);
    }
    free(text);
    return key;
}

static json_t *load_file(const char *path, struct corun_diagnostics *list)
{
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) {
        if (errno != ENOENT && errno != ENOTDIR)
            corun_report(list, CORUN_OK, CORUN_NOWHERE, "cached result %s is not used: %s", path, strerror(errno));
        return NULL;
    }
    json_t *entry = NULL;
    struct stat status;
    if (fstat(descriptor, &status) || !S_ISREG(status.st_mode) || status.st_size > FILE_BYTES_LIMIT) {
        corun_report(list, CORUN_OK, CORUN_NOWHERE, "cached result %s is not used: it is not a file of ours", path);
    } else {
        json_error_t error;
        entry = json_loadfd(descriptor, JSON_REJECT_DUPLICATES, &error);
        if (!entry)
            corun_report(list, CORUN_OK, CORUN_NOWHERE, "cached result %s is not used: %s", path, error.text);
    }
    close(descriptor);
    return entry;
}

json_t *cache_load(const char *directory, const struct content_key *key, struct corun_diagnostics *list)
{
    char path[PATH_BYTES];
    if (!entry_path(path, sizeof path, directory, key))
        return NULL;
    json_t *entry = load_file(path, list);
    if (!entry)
        return NULL;
    int version = 0;
    const char *entry_key = NULL, *entry_checksum = NULL;
    json_t *values = NULL;
    const char *problem = NULL;
    if (json_unpack(entry, "{s:i, s:s, s:s, s:o}", "corun_results", &version, "key", &entry_key, "checksum",
                    &entry_checksum, "values", &values))
        problem = "it is not a file of ours";
    else if (version != (int)CORUN_RESULTS_VERSION)
        problem = "it has another version";
    else if (strcmp(entry_key, key->hex))
        problem = "it belongs to another key";
    else if (strcmp(entry_checksum, checksum(values).hex))
        problem = "it is damaged";
    if (problem) {
        corun_report(list, CORUN_OK, CORUN_NOWHERE, "cached result %s is not used: %s", path, problem);
        values = NULL;
    }
    json_incref(values);
    json_decref(entry);
    return values;
}

bool cache_make_directory(const char *directory)
{
    return cache_folder_make(directory, 0777);
}

static bool write_entry(const char *directory, const char *path, const json_t *entry)
{
    char temporary[PATH_BYTES];
    int length = snprintf(temporary, sizeof temporary, "%s/.new-XXXXXX", directory);
    if (length <= 0 || (size_t)length >= sizeof temporary)
        return false;
    int descriptor = mkostemp(temporary, O_CLOEXEC);
    if (descriptor < 0)
        return false;
    FILE *stream = fdopen(descriptor, "w"); /* json_dumpfd would call write for every token */
    bool written = stream && json_dumpf(entry, stream, JSON_INDENT(1)) == 0 && fputc('\n', stream) != EOF;
    written = (stream ? fclose(stream) : close(descriptor)) == 0 && written;
    written = written && rename(temporary, path) == 0;
    if (!written) {
        int problem = errno;
        unlink(temporary);
        errno = problem;
    }
    return written;
}

void cache_store(const char *directory, const struct content_key *key, const char *about, json_t *values,
                 struct corun_diagnostics *list)
{
    char path[PATH_BYTES];
    if (!entry_path(path, sizeof path, directory, key)) {
        corun_report(list, CORUN_OK, CORUN_NOWHERE, "the path of the cache is too long");
        return;
    }
    json_t *entry = json_pack("{s:i, s:s, s:s, s:s, s:O}", "corun_results", (int)CORUN_RESULTS_VERSION, "about", about,
                              "key", key->hex, "checksum", checksum(values).hex, "values", values);
    errno = entry ? 0 : ENOMEM;
    if (!entry || !cache_make_directory(directory) || !write_entry(directory, path, entry))
        corun_report(list, CORUN_OK, CORUN_NOWHERE, "cannot store a result in the cache %s: %s", directory,
                     strerror(errno));
    json_decref(entry);
}
