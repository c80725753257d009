/* SPDX-License-Identifier: MIT */
/* The form of a record, as those who write it and those who read it see it. */
#ifndef CORUN_RECORD_FORMAT_H
#define CORUN_RECORD_FORMAT_H

#include "record/record.h"

#define RECORD_MAGIC "corun record"
#define RECORD_MAGIC_BYTES 16u
#define RECORD_VERSION 1u
#define RECORD_BYTE_ORDER UINT32_C(0x01020304)
#define RECORD_PIECE_BYTES (128u << 10) /* a piece ends when it has so many */
#define RECORD_MOST_PIECE_BYTES (64u << 20)
#define RECORD_MOST_WARPS 32u
#define RECORD_PLACES 16u /* addresses of a warp that the next ones are told from */

struct record_head {
    char magic[RECORD_MAGIC_BYTES];
    uint32_t version, order;
    char key[RECORD_KEY_BYTES];
};

/* The index: launches, pieces. */
struct record_launch_row {
    uint32_t tb_count, tb_warps, code_length;
    uint32_t first_piece, piece_count;
    uint32_t unused;
    uint64_t warp_instructions;
};

struct record_piece_row {
    uint64_t offset;
    uint32_t packed_bytes, bytes;
    uint32_t first_tb, tb_count; /* of its launch; tb_count 0: more of first_tb */
};

struct record_end {
    uint64_t index_offset;
    uint32_t launches, pieces;
    uint8_t sum[32]; /* SHA-256 of head, index and what stands here before it */
};

/*
 * A piece, unpacked: the sizes of its streams (struct record_stream_size, by thread block and warp), all control, all addresses. Control is a sequence of words
 * of one byte with what belongs to them. A warp starts with the lanes 0, and with the lanes 0 as the ones before.
 *
 * A number is 7 bits a byte, lowest first, the top bit set where more follows; one with a sign is folded first (0, -1, 1, -2 …).
 */
struct record_stream_size {
    uint32_t control, addresses;
};

/* Below RECORD_RUNS: so many instructions and one more that are neither accesses nor barriers, each followed by the next one. */
#define RECORD_RUNS 0xe0u
enum record_word {
    RECORD_SWAP = RECORD_RUNS, /* the active lanes are the ones before */
    RECORD_LANES,              /* 4 bytes: the active lanes from here on */
    RECORD_JUMP,               /* an instruction; a number with a sign: where it leads, from the next one on */
    RECORD_DIVERGE,            /* the same, and its lanes went different ways */
    RECORD_THEN,               /* the instruction of the next word leads elsewhere: a number as of JUMP */
    RECORD_SPACE,              /* 1 byte: the space of the access of the next word, where the code leaves that open */
    RECORD_UNIFORM,            /* an access; addresses: a number with a sign, from the last one at its place on */
    RECORD_UNIT,               /* the same of the first lane; those of the others are access_bytes apart */
    RECORD_STRIDE,             /* the same, and a number with a sign: how far they are apart */
    RECORD_LIST, /* the same, a byte (width | shift << 2), and how far each further active lane is from the first: in 1, 2, 4 or 8 bytes,
                                  with a sign, times 1 << shift */
    RECORD_MIXED,   /* the same, and then a byte for each active lane: its space */
    RECORD_BARRIER, /* 1 byte: which one, and 0x80 if the warp waits; a number: threads */
    RECORD_EXIT,    /* an instruction: the last one */
    RECORD_PART     /* the rest is in the next piece */
};

static inline uint64_t record_fold(uint64_t difference)
{
    return difference << 1 ^ (uint64_t)((int64_t)difference >> 63);
}

static inline uint64_t record_unfold(uint64_t number)
{
    return number >> 1 ^ (0 - (number & 1));
}

/* Is the instruction an access that has addresses? */
static inline bool record_accesses(const struct corun_instruction *code)
{
    return code->flags & (CORUN_LOAD | CORUN_STORE | CORUN_ATOMIC);
}

/* The place of addresses that an instruction is told from. */
static inline uint32_t record_place(uint32_t pc)
{
    return (pc * UINT32_C(0x9e3779b1)) >> 28;
}

/* The bit of an address that its application is added to: shared memory has none. */
static inline bool record_is_ranged(uint32_t space)
{
    return space != CORUN_SPACE_SHARED;
}

#endif
