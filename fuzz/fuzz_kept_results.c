/* SPDX-License-Identifier: MIT */
/*
 * libFuzzer: results that are kept by content, as a file, and as values in a file that is otherwise right: baselines and measurements of queues.
 * A curve that is taken ascends.
 */
#include "case/baseline.h"
#include "serve/measurement.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A folder in memory, and the one key whose file is in it. */
static char folder[] = "/dev/shm/fuzz-kept-XXXXXX", path[128];
static struct content_key key;

static void check(bool holds)
{
    if (!holds)
        abort();
}

static void remove_folder(void)
{
    unlink(path);
    rmdir(folder);
}

static void make_folder(void)
{
    if (key.hex[0])
        return;
    struct content_digest *digest = content_digest_create();
    check(digest && mkdtemp(folder) && !atexit(remove_folder));
    key = content_digest_end(digest);
    snprintf(path, sizeof path, "%s/%s.json", folder, key.hex);
}

static void read_file(const uint8_t *data, size_t size, struct corun_diagnostics *list)
{
    FILE *file = fopen(path, "w");
    check(file && fwrite(data, 1, size, file) == size && !fclose(file));
    json_decref(cache_load(folder, &key, list));
}

static void read_values(json_t *values, struct corun_diagnostics *list)
{
    const struct steady_request request = {.cache_directory = folder};
    struct arena *arena = arena_create();
    struct baseline baseline;
    check(arena);
    cache_store(folder, &key, "fuzz", values, list);
    if (baseline_load(folder, &key, arena, list, &baseline)) {
        struct baseline copy;
        check(baseline_copy(arena, &baseline, &copy) == CORUN_OK && copy.kernel_count == baseline.kernel_count);
        (void)baseline_counters(&copy);
        for (uint32_t i = 1; i < copy.curve.count; i++)
            check(copy.curve.points[i].cycles > copy.curve.points[i - 1].cycles &&
                  copy.curve.points[i].thread_instructions >= copy.curve.points[i - 1].thread_instructions);
    }
    for (enum measurement_kind kind = MEASUREMENT_ALONE; kind <= MEASUREMENT_SEQUENCE; kind++) {
        const struct measurement measurement = {.kind = kind};
        struct outcome outcome;
        (void)measurement_load(&request, &key, &measurement, list, &outcome);
    }
    arena_destroy(arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct corun_diagnostics *list = corun_diagnostics_create();
    json_error_t error;
    check(list);
    make_folder();
    read_file(data, size, list);
    json_t *values = json_loadb((const char *)data, size, 0, &error);
    if (values)
        read_values(values, list);
    json_decref(values);
    corun_diagnostics_destroy(list);
    return 0;
}
