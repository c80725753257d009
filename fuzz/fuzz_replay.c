/* SPDX-License-Identifier: MIT */
/*
 * Feeds bytes to the reader of records: as a file; and as the streams of two warps in a file that is otherwise right, whose thread blocks a machine then runs.
 */
#include "record/format.h"

#include "memory_file.h"

#include <sha2.h>
#include <string.h>
#include <zstd.h>

#define WARPS 2u
#define CODE 24u
#define MOST_STEPS 4096u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char key[RECORD_KEY_BYTES + 1] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

static struct corun_grid grid_of(struct corun_instruction *code, uint32_t tb_count)
{
    for (uint32_t i = 0; i < CODE; i++)
        code[i] = (struct corun_instruction){.flags = i % 3 == 1   ? CORUN_LOAD
                                                      : i % 3 == 2 ? CORUN_BRANCH
                                                                   : 0,
                                             .space = i % 2 ? CORUN_SPACE_GLOBAL : CORUN_SPACE_GENERIC,
                                             .access_bytes = 4};
    return (struct corun_grid){.name = "fuzz",
                               .code = code,
                               .code_length = CODE,
                               .tb_count = tb_count,
                               .tb_warps = WARPS,
                               .tb_threads = WARPS * CORUN_WARP_LANES};
}

static void run_warp(const struct corun_grid *grid, struct corun_warp *warp)
{
    struct corun_issue issue = {.outcome = CORUN_OUTCOME_NEXT};
    struct corun_place place;
    volatile uint64_t sum = 0;
    for (uint32_t i = 0; i < MOST_STEPS && issue.outcome < CORUN_OUTCOME_EXIT; i++) {
        if (grid->operations->warp_pc(warp) >= CODE)
            abort();
        grid->operations->issue(warp, &issue);
        if (issue.outcome == CORUN_OUTCOME_BARRIER && issue.barrier >= CORUN_MEETINGS)
            abort();
        for (uint32_t lane = 0; lane < CORUN_WARP_LANES; lane++)
            sum += issue.address[lane] + issue.lane_space[lane];
        if (issue.outcome == CORUN_OUTCOME_FAULT && !strstr(grid->operations->fault(warp, &place), "damaged"))
            abort();
    }
    (void)sum; /* else clang says that it is not used */
}

static void run_launch(struct record_file *file, uint32_t tb_count)
{
    struct corun_instruction code[CODE];
    struct corun_warp *warps[WARPS];
    struct corun_grid shape = grid_of(code, tb_count);
    struct record_grid_facts facts = {.local_sm_shift = 31, .local_sms = 256, .warp_local_bytes = 4096};
    if (!record_launch_count(file) || !record_fits(file, 0, &shape))
        return;
    struct record_kernel *kernel = record_kernel_create(file, &shape, &facts, 0);
    const struct corun_grid *grid = kernel ? record_kernel_launch(kernel, 0) : NULL;
    if (!grid || grid->operations->attach(grid, 1, 1000) != CORUN_OK)
        abort();
    for (uint32_t i = tb_count; i-- > 0;) {
        struct corun_tb *tb = grid->operations->tb_begin(grid, i, 0, warps);
        if (!tb)
            abort();
        for (uint32_t w = 0; w < WARPS; w++)
            run_warp(grid, warps[w]);
        grid->operations->tb_end(tb);
    }
    record_kernel_destroy(kernel);
}

static void read_file(const uint8_t *data, size_t size, struct corun_diagnostics *list)
{
    struct memory_file memory = memory_file_create(data, size);
    struct record_file *file;
    if (record_open(memory.path, key, list, &file) == CORUN_OK) {
        struct record_size measured;
        record_measure(file, &measured);
        run_launch(file, 1);
        record_close(file);
    }
    memory_file_destroy(&memory);
}

static size_t append(uint8_t *file, size_t at, const void *data, size_t bytes)
{
    memcpy(file + at, data, bytes);
    return at + bytes;
}

/* One piece in one frame, and an index with its sum: what is in the piece is the fuzzer's. Two thirds of the bytes are control. */
static void read_streams(const uint8_t *data, size_t size, struct corun_diagnostics *list)
{
    uint32_t half = (uint32_t)size / 3, rest = (uint32_t)size - 2 * half;
    struct record_stream_size sizes[WARPS] = {{half, rest / 2}, {half, rest - rest / 2}};
    size_t bytes = sizeof sizes + size, room = ZSTD_compressBound(bytes), at = 0;
    uint8_t *piece = malloc(bytes), *file = malloc(room + 1024);
    if (!piece || !file)
        abort();
    memcpy(piece, sizes, sizeof sizes);
    memcpy(piece + sizeof sizes, data, size);
    struct record_head head = {.version = RECORD_VERSION, .order = RECORD_BYTE_ORDER};
    memcpy(head.magic, RECORD_MAGIC, sizeof RECORD_MAGIC);
    memcpy(head.key, key, RECORD_KEY_BYTES);
    at = append(file, at, &head, sizeof head);
    size_t packed = ZSTD_compress(file + at, room, piece, bytes, 1);
    struct record_piece_row row = {
        .offset = at, .packed_bytes = (uint32_t)packed, .bytes = (uint32_t)bytes, .tb_count = 1};
    struct record_launch_row launch = {.tb_count = 1, .tb_warps = WARPS, .code_length = CODE, .piece_count = 1};
    at += packed;
    struct record_end end = {.index_offset = at, .launches = 1, .pieces = 1};
    at = append(file, at, &launch, sizeof launch);
    at = append(file, at, &row, sizeof row);
    SHA2_CTX sha;
    SHA256Init(&sha);
    SHA256Update(&sha, (const uint8_t *)&head, sizeof head);
    SHA256Update(&sha, (const uint8_t *)&launch, sizeof launch);
    SHA256Update(&sha, (const uint8_t *)&row, sizeof row);
    SHA256Update(&sha, (const uint8_t *)&end, offsetof(struct record_end, sum));
    SHA256Final(end.sum, &sha);
    at = append(file, at, &end, sizeof end);
    struct memory_file memory = memory_file_create(file, at);
    struct record_file *record;
    if (record_open(memory.path, key, list, &record) != CORUN_OK)
        abort();
    run_launch(record, 1);
    record_close(record);
    memory_file_destroy(&memory);
    free(piece);
    free(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct corun_diagnostics *list = corun_diagnostics_create();
    if (!list)
        abort();
    read_file(data, size, list);
    read_streams(data, size, list);
    corun_diagnostics_destroy(list);
    return 0;
}
