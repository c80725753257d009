/* SPDX-License-Identifier: MIT */
/*
 * Bulk copies: one thread asks for any multiple of 16 bytes. They go in chunks of what a warp moves at once, 16 bytes to
 * a lane, by lanes that need not be active themselves. A copy is a loop of a few operations: OPERATION_BULK finds the
 * first active lane with bytes left and says where each lane of the next chunk reads and writes; a BULK_LOAD and a
 * BULK_STORE move it. Several times after each other; then OPERATION_BULK with BULK_AGAIN goes back. With no more than
 * some bytes left, any of the first kind leaves the loop.
 *
 *   source 0, 1, 2       address to read, address to write, bytes
 *   destination, extra 0 slots of the addresses to read and to write, of all lanes
 *   extra 1              slot of the bytes that are done
 *   predicate_out 0      lanes that take part in the chunk
 *   offset               bytes of all active lanes that are left for what comes behind the loop
 *   target               operation behind the loop, or first of it
 */
#ifndef CORUN_ISA_BULK_H
#define CORUN_ISA_BULK_H

#include "isa/executor.h"

enum bulk_variant {
    BULK_FROM_32 = 1 << 0, /* the address to read has 32 bits */
    BULK_TO_32 = 1 << 1,   /* that to write has */
    BULK_AGAIN = 1 << 2
};

#define BULK_LANE_BYTES 16u
#define BULK_CHUNK_BYTES (CORUN_WARP_LANES * BULK_LANE_BYTES)
#define BULK_TURN_CHUNKS 4u /* of a turn of the loop */

/* Sets the pc. False: a fault was raised. */
bool bulk_step(struct corun_warp *warp, const struct operation *op, uint32_t mask);

#endif
