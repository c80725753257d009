/* SPDX-License-Identifier: MIT */
/*
 * Feeds bytes to the reader of checkpoints, as they are and with the checksum that belongs to them, and as a state to archives: sparse memory, counts,
 * vectors, records, parts, a timeline. Journals of programs have fuzz_journal.
 */
#include "base/checkpoint_file.h"

#include "base/vector.h"
#include "report/timeline_records.h"

#include <sha2.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct tape {
    const uint8_t *data;
    size_t left;
};

static bool move(struct corun_archive *archive, void *to, size_t bytes)
{
    struct tape *tape = archive->user;
    if (bytes > tape->left) {
        archive_fail(archive, CORUN_SYNTAX, "it ends too soon");
        return false;
    }
    memcpy(to, tape->data, bytes);
    tape->data += bytes;
    tape->left -= bytes;
    return true;
}

struct thing {
    uint16_t number;
    void *pointer;
    uint8_t bytes[5];
};

static void read_state(struct corun_archive *archive)
{
    static const struct archive_hole holes[] = {ARCHIVE_HOLE(struct thing, pointer)};
    static uint8_t memory[3 * 4096 + 7];
    VECTOR(struct thing) things = {0};
    archive_section(archive, "state", 1);
    if (ARCHIVE_VECTOR(archive, &things, 1000))
        for (size_t i = 0; i < things.count; i++)
            ARCHIVE_RECORD(archive, &things.data[i], holes);
    archive_sparse(archive, memory, sizeof memory);
    for (size_t i = 0; i < things.count; i++)
        if (things.data[i].pointer)
            abort();
    vector_free(&things);
}

static void read_timeline(struct tape tape)
{
    static const struct corun_gpu_config gpu = {.sms = 2, .tbs_per_sm = 2, .epoch_cycles = 1000, .core_clock_khz = 1};
    const struct timeline_settings settings = {
        .gpu = &gpu, .application_count = 2, .last_cycle = UINT64_MAX, .limit = TIMELINE_LOWEST_LIMIT};
    struct corun_archive archive = {.reads = true, .move = move, .user = &tape};
    struct timeline *timeline = timeline_create(&settings);
    if (!timeline)
        abort();
    timeline_archive(timeline, &archive);
    if (archive_fine(&archive))
        timeline_close(timeline);
    timeline_destroy(timeline);
}

static void read_file(const uint8_t *data, size_t size, struct corun_diagnostics *list)
{
    struct checkpoint_identity identity = {0};
    struct checkpoint_reader *reader;
    checkpoint_identify(&identity, "its policy", "even");
    if (checkpoint_read_bytes("it", data, size, list, &reader) != CORUN_OK)
        return;
    (void)checkpoint_check(reader, &identity, list);
    (void)checkpoint_cycle(reader);
    read_state(checkpoint_reader_archive(reader));
    (void)checkpoint_read_end(reader, list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct corun_diagnostics *list = corun_diagnostics_create();
    struct tape tape = {data, size};
    struct corun_archive archive = {.reads = true, .move = move, .user = &tape};
    uint8_t *summed = malloc(size + SHA256_DIGEST_LENGTH);
    SHA2_CTX sha;
    if (!list || !summed)
        abort();
    memcpy(summed, data, size);
    SHA256Init(&sha);
    SHA256Update(&sha, summed, size);
    SHA256Final(summed + size, &sha);
    read_file(data, size, list);
    read_file(summed, size + SHA256_DIGEST_LENGTH, list);
    read_timeline(tape);
    read_state(&archive);
    free(summed);
    corun_diagnostics_destroy(list);
    return 0;
}
