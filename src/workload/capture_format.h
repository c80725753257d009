/* SPDX-License-Identifier: MIT */
/*
 * The file of a captured CUDA program (docs/captures.md): what `src/cuda/capture.c` writes and capture_read.c reads.
 *
 * A header of 64 bytes, numbers in little endian, and one zstd frame. The frame holds operations in the order in
 * which they happened. An operation is a byte that says which, its numbers (seven bits to a byte, the lowest first,
 * the highest bit says that more follow), and its texts (a number of bytes, and these).
 */
#ifndef CORUN_WORKLOAD_CAPTURE_FORMAT_H
#define CORUN_WORKLOAD_CAPTURE_FORMAT_H

#include <stdint.h>

#define CAPTURE_VERSION 2u
#define CAPTURE_ENDING ".corun" /* how the names of such files end */
/* Damaged by every way of copying that takes the file for text. */
#define CAPTURE_MAGIC "\211CORUN\r\n"
#define CAPTURE_MAGIC_BYTES 8u
#define CAPTURE_HASH_BYTES 32u /* SHA-256 */
#define CAPTURE_HEADER_BYTES 64u

/* Places in the header. */
#define CAPTURE_AT_VERSION 8u
#define CAPTURE_AT_BYTES 16u        /* of the operations */
#define CAPTURE_AT_PACKED_BYTES 24u /* of the frame */
#define CAPTURE_AT_HASH 32u         /* over the frame */

/* Contents are cut into pieces; equal ones are stored once. */
#define CAPTURE_BLOCK_BYTES 65536u
#define CAPTURE_MEETING_BYTES 256u /* zeroed before a cooperative launch */

/*
 * O(name, numbers, texts, meaning). `rows` stands for address, pitch, slice, width, height, depth, all in bytes but
 * height and depth: a box of `width` bytes a row, `height` rows every `pitch` bytes, `depth` times that every `slice`
 * bytes.
 *
 * The host asks for TRANSFER, POINT, RECORD, WAIT and LAUNCH in this order, each in a stream, and waits for none of them; AWAIT_… is
 * where it waited. What a task does to memory follows it: WRITE, FILL, COPY and CHECK happen when it ends. Behind HOST,
 * they are the host's own.
 */
#define CAPTURE_OPERATIONS(O) \
    O(PROGRAM, 0, 2, "the first: name of the program; the GPU that it saw") \
    O(MODULE, 0, 2, "name; PTX. Modules are counted from 0; loading allocates their variables") \
    O(ALLOCATE, 2, 0, "address, bytes") \
    O(ALLOCATE_PAGES, 2, 0, "address, bytes; memory that the host sees, too") \
    O(ADOPT, 2, 0, "address, bytes; memory of the host") \
    O(ALIAS, 3, 0, "address, bytes, address of the same memory") \
    O(FREE, 1, 0, "address") \
    O(BLOCK, 0, 1, "contents. Blocks are counted from 0") \
    O(WRITE, 6, 1, "rows; the numbers of the blocks that hold their contents one after the other") \
    O(FILL, 8, 0, "rows, value, bytes of the value") \
    O(COPY, 9, 0, "rows, and from: address, pitch, slice") \
    O(CHECK, 6, 1, "rows that the program read; SHA-256 of what it got") \
    O(STREAM, 3, 0, \
      "number, flags (1: non-blocking, 256: the legacy default stream), priority + 2^31; before its first use") \
    O(HOST, 0, 0, "what the host does to memory without a stream") \
    O(TRANSFER, 5, 0, "stream, engine (0: to the device, 1: to the host, 2: within), pageable, fill, bytes") \
    O(POINT, 1, 0, "stream; a task that takes no time: a function of the host, memory freed in order") \
    O(AWAIT_STREAM, 1, 0, "the host waits for all of a stream so far") \
    O(AWAIT_ALL, 0, 0, "the host waits for all streams") \
    O(AWAIT_EVENT, 2, 0, "event, for which time") \
    O(RECORD, 3, 0, "stream, event, how often it has been recorded with this time") \
    O(WAIT, 3, 0, "stream, event, for which time") \
    O(TEXTURE, 21, 0, \
      "handle, struct corun_texture member by member, floats as their bits, and twice gob_rows in layered") \
    O(NO_TEXTURE, 1, 0, "handle") \
    O(LAUNCH, 10, 2, \
      "stream, module, grid, block, dynamic shared bytes, meeting address (0: not cooperative); kernel; parameters") \
    O(END, 1, 0, "the last: number of launches")

enum capture_kind {
    CAPTURE_NOTHING,
#define CAPTURE_KIND(name, numbers, texts, meaning) CAPTURE_##name,
    CAPTURE_OPERATIONS(CAPTURE_KIND)
#undef CAPTURE_KIND
        CAPTURE_KIND_COUNT
};

#define CAPTURE_LEGACY 256u /* flag of a STREAM: the legacy default stream */

#define CAPTURE_MOST_NUMBERS 21u
#define CAPTURE_MOST_TEXTS 2u

#endif
