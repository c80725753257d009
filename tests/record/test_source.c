/* SPDX-License-Identifier: MIT */
/* What each word of a record makes a warp do, and that no word leads out of the code or out of the record. */
#include "record/format.h"

#include <setjmp.h>
#include <sha2.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include <cmocka.h>

#define CODE 8u
#define BASE (UINT64_C(3) << CORUN_APPLICATION_SHIFT) /* of application 2 */
#define TEXT(words) (words), sizeof(words) - 1

static const char key[RECORD_KEY_BYTES + 1] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

/* A launch of one thread block of one warp, with these bytes of control and of addresses. */
static struct record_file *make(const char *control, size_t control_bytes, const char *addresses, size_t address_bytes)
{
    char path[] = "/tmp/corun-record-XXXXXX";
    struct record_head head = {.version = RECORD_VERSION, .order = RECORD_BYTE_ORDER};
    struct record_stream_size size = {(uint32_t)control_bytes, (uint32_t)address_bytes};
    uint8_t piece[512], packed[1024];
    memcpy(head.magic, RECORD_MAGIC, sizeof RECORD_MAGIC);
    memcpy(head.key, key, RECORD_KEY_BYTES);
    memcpy(piece, &size, sizeof size);
    memcpy(piece + sizeof size, control, control_bytes);
    memcpy(piece + sizeof size + control_bytes, addresses, address_bytes);
    size_t bytes = sizeof size + control_bytes + address_bytes;
    size_t packed_bytes = ZSTD_compress(packed, sizeof packed, piece, bytes, 1);
    assert_false(ZSTD_isError(packed_bytes));
    struct record_launch_row launch = {.tb_count = 1, .tb_warps = 1, .code_length = CODE, .piece_count = 1};
    struct record_piece_row row = {
        .offset = sizeof head, .packed_bytes = (uint32_t)packed_bytes, .bytes = (uint32_t)bytes, .tb_count = 1};
    struct record_end end = {.index_offset = sizeof head + packed_bytes, .launches = 1, .pieces = 1};
    SHA2_CTX sha;
    SHA256Init(&sha);
    SHA256Update(&sha, (const uint8_t *)&head, sizeof head);
    SHA256Update(&sha, (const uint8_t *)&launch, sizeof launch);
    SHA256Update(&sha, (const uint8_t *)&row, sizeof row);
    SHA256Update(&sha, (const uint8_t *)&end, offsetof(struct record_end, sum));
    SHA256Final(end.sum, &sha);
    FILE *stream = fdopen(mkstemp(path), "wb");
    assert_non_null(stream);
    fwrite(&head, sizeof head, 1, stream);
    fwrite(packed, packed_bytes, 1, stream);
    fwrite(&launch, sizeof launch, 1, stream);
    fwrite(&row, sizeof row, 1, stream);
    fwrite(&end, sizeof end, 1, stream);
    assert_int_equal(fclose(stream), 0);
    struct record_file *file = NULL;
    assert_int_equal(record_open(path, key, NULL, &file), CORUN_OK);
    unlink(path);
    return file;
}

/* Instruction 1 loads from global memory, 3 from wherever it is told; 5 branches. */
static const struct corun_instruction code[CODE] = {
    [1] = {.flags = CORUN_LOAD, .space = CORUN_SPACE_GLOBAL, .access_bytes = 4},
    [3] = {.flags = CORUN_LOAD, .space = CORUN_SPACE_GENERIC, .access_bytes = 8},
    [5] = {.flags = CORUN_BRANCH},
};

struct reading {
    struct record_file *file;
    struct record_kernel *kernel;
    const struct corun_grid *grid;
    struct corun_tb *tb;
    struct corun_warp *warp;
    struct corun_issue issue;
};

static void begin(struct reading *reading, struct record_file *file)
{
    static const struct corun_grid shape = {
        .code = code, .code_length = CODE, .tb_count = 1, .tb_warps = 1, .tb_threads = 32};
    const struct record_grid_facts facts = {
        .warp_local_bytes = 4096, .local_first = UINT64_C(1) << 39, .local_sm_shift = 31, .local_sms = 256};
    *reading = (struct reading){.file = file};
    assert_true(record_fits(file, 0, &shape));
    reading->kernel = record_kernel_create(file, &shape, &facts, 2);
    reading->grid = record_kernel_launch(reading->kernel, 0);
    assert_int_equal(reading->grid->operations->attach(reading->grid, 4, 1000), CORUN_OK);
    reading->tb = reading->grid->operations->tb_begin(reading->grid, 0, 3, &reading->warp);
    assert_non_null(reading->tb);
}

static void end(struct reading *reading)
{
    reading->grid->operations->tb_end(reading->tb);
    record_kernel_destroy(reading->kernel);
    record_close(reading->file);
}

static void step(struct reading *reading, enum corun_outcome outcome, uint32_t active, uint32_t pc)
{
    reading->grid->operations->issue(reading->warp, &reading->issue);
    assert_int_equal(reading->issue.outcome, outcome);
    assert_int_equal(reading->issue.active, active);
    assert_int_equal(reading->issue.pc, pc);
    assert_int_equal(reading->grid->operations->warp_pc(reading->warp), pc);
}

static void words_say_what_happens(void **state)
{
    (void)state;
    struct reading r;
    begin(&r, make(TEXT("\xe1\x13\0\0\0\0"       /* lanes 0, 1 and 4; one plain instruction */
                        "\xe7"                   /* 1: a row of addresses */
                        "\0"                     /* 2 */
                        "\xe5\x02\xe9"           /* 3: in shared memory, a list */
                        "\xe1\x01\0\0\0\xe3\x03" /* 4, by lane 0: lanes go different ways, from 5 on two back */
                        "\xe0\xea"               /* 3, by the lanes before: in several spaces */
                        "\xe4\x03\xeb\x87\x40"   /* 4 leads from 5 on two back; barrier 7, waits, 64 threads */
                        "\xec"),                 /* 3: the end */
                   TEXT("\x80\x04"               /* 0x100 */
                        "\x80\x01\0\x02\x04"     /* 0x40, then bytes */
                        "\0\x05\x01\x01\x01\x03" /* the same, then two bytes each, doubled */
                        "\x01\x03\x02")));       /* global, local, shared */
    step(&r, CORUN_OUTCOME_NEXT, 0x13, 1);
    step(&r, CORUN_OUTCOME_NEXT, 0x13, 2);
    assert_int_equal(r.issue.space, CORUN_SPACE_GLOBAL);
    assert_int_equal(r.issue.shape, CORUN_SHAPE_UNIT);
    assert_int_equal(r.issue.address[0], BASE + 0x100);
    assert_int_equal(r.issue.address[1], BASE + 0x104);
    assert_int_equal(r.issue.address[4], BASE + 0x110);
    step(&r, CORUN_OUTCOME_NEXT, 0x13, 3);
    step(&r, CORUN_OUTCOME_NEXT, 0x13, 4);
    assert_int_equal(r.issue.space, CORUN_SPACE_SHARED);
    assert_int_equal(r.issue.shape, 0);
    assert_int_equal(r.issue.address[0], 0x40);
    assert_int_equal(r.issue.address[1], 0x42);
    assert_int_equal(r.issue.address[4], 0x44);
    assert_false(r.issue.jumped || r.issue.diverged);
    step(&r, CORUN_OUTCOME_NEXT, 1, 3);
    assert_true(r.issue.jumped && r.issue.diverged);
    step(&r, CORUN_OUTCOME_NEXT, 0x13, 4);
    assert_int_equal(r.issue.space, CORUN_SPACE_GENERIC);
    assert_int_equal(r.issue.lane_space[0], CORUN_SPACE_GLOBAL);
    assert_int_equal(r.issue.address[0], BASE + 0x40);
    assert_int_equal(r.issue.lane_space[1], CORUN_SPACE_LOCAL);
    assert_int_equal(r.issue.address[1], BASE + (UINT64_C(1) << 39) + (UINT64_C(3) << 31) + 0x242);
    assert_int_equal(r.issue.lane_space[4], CORUN_SPACE_SHARED);
    assert_int_equal(r.issue.address[4], 0x642);
    step(&r, CORUN_OUTCOME_BARRIER, 0x13, 3);
    assert_true(r.issue.jumped && r.issue.barrier_waits);
    assert_int_equal(r.issue.barrier, 7);
    assert_int_equal(r.issue.barrier_threads, 64);
    step(&r, CORUN_OUTCOME_EXIT, 0x13, 3);
    end(&r);
}

static void addresses_are_told_from_the_last_ones(void **state)
{
    (void)state;
    struct reading r;
    begin(&r, make(TEXT("\xe1\x06\0\0\0\0\xe8\xe2\x03\xe6\xec"), TEXT("\x10\x20\x03")));
    step(&r, CORUN_OUTCOME_NEXT, 6, 1);
    step(&r, CORUN_OUTCOME_NEXT, 6, 2);
    assert_int_equal(r.issue.shape, 0);
    assert_int_equal(r.issue.address[1], BASE + 8);
    assert_int_equal(r.issue.address[2], BASE + 24);
    step(&r, CORUN_OUTCOME_NEXT, 6, 1);
    step(&r, CORUN_OUTCOME_NEXT, 6, 2);
    assert_int_equal(r.issue.shape, CORUN_SHAPE_UNIFORM);
    assert_int_equal(r.issue.address[1], BASE + 6);
    assert_int_equal(r.issue.address[2], BASE + 6);
    end(&r);
}

static void what_cannot_be_is_a_fault(void **state)
{
    (void)state;
    static const struct {
        const char *control;
        size_t bytes;
        const char *why;
    } rows[] = {
        {TEXT(""), "nothing"},
        {TEXT("\x07"), "a run beyond the code"},
        {TEXT("\xe4\x0c\x02"), "a run that is led there"},
        {TEXT("\xe2\x20"), "a jump beyond the code"},
        {TEXT("\xe2\x03"), "a jump before it"},
        {TEXT("\xe1\x01"), "lanes that are cut off"},
        {TEXT("\xe1\x01\0\0\0\xe6"), "an access by what is none"},
        {TEXT("\xe1\x01\0\0\0\0\xe6"), "an access without addresses"},
        {TEXT("\0\xe6"), "an access without lanes"},
        {TEXT("\xe5\x09"), "a space that is none"},
        {TEXT("\xeb\x1f\0"), "a barrier that is none"},
        {TEXT("\xed"), "a part without another piece"},
        {TEXT("\xee"), "a word that is none"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct reading r;
        struct corun_place place;
        begin(&r, make(rows[i].control, rows[i].bytes, "", 0));
        do
            r.grid->operations->issue(r.warp, &r.issue);
        while (r.issue.outcome == CORUN_OUTCOME_NEXT && r.grid->operations->warp_pc(r.warp) < CODE);
        if (r.issue.outcome != CORUN_OUTCOME_FAULT)
            fail_msg("%s", rows[i].why);
        assert_non_null(strstr(r.grid->operations->fault(r.warp, &place), "is damaged"));
        end(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_say_what_happens),
        cmocka_unit_test(addresses_are_told_from_the_last_ones),
        cmocka_unit_test(what_cannot_be_is_a_fault),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
