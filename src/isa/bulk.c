/* SPDX-License-Identifier: MIT */
/* A step of the loop that a bulk copy is: the next chunk, or the end of the loop. */
#include "isa/bulk.h"

#include "base/bits.h"

static uint64_t address_of(const struct corun_warp *warp, uint16_t operand, bool narrow, uint32_t lane)
{
    const void *from = lanes_source(&warp->lanes, operand);
    return narrow && !(operand & OPERAND_CONSTANT) ? ((const uint32_t *)from)[lane] : ((const uint64_t *)from)[lane];
}

static void continue_at(struct corun_warp *warp, uint32_t pc)
{
    warp->stack.pc = pc;
    simt_settle(&warp->stack);
}

/* The temporaries of an instruction mean nothing in lanes that are not active: so all of them are there for the chunk. */
static void next_chunk(struct corun_warp *warp, const struct operation *op, uint32_t lane, uint32_t left)
{
    uint32_t *done = (uint32_t *)lanes_destination(&warp->lanes, op->extra[1]) + lane;
    uint64_t *read = lanes_destination(&warp->lanes, op->destination);
    uint64_t *written = lanes_destination(&warp->lanes, op->extra[0]);
    uint64_t from = address_of(warp, op->source[0], op->variant & BULK_FROM_32, lane) + *done;
    uint64_t to = address_of(warp, op->source[1], op->variant & BULK_TO_32, lane) + *done;
    uint32_t lanes = left / BULK_LANE_BYTES < CORUN_WARP_LANES ? left / BULK_LANE_BYTES : CORUN_WARP_LANES;
    *done += lanes * BULK_LANE_BYTES;
    for (uint32_t i = 0; i < CORUN_WARP_LANES; i++) {
        read[i] = from + i * BULK_LANE_BYTES;
        written[i] = to + i * BULK_LANE_BYTES;
    }
    warp->lanes.predicates[op->predicate_out[0]] = CORUN_FULL_MASK >> (CORUN_WARP_LANES - lanes);
}

bool bulk_step(struct corun_warp *warp, const struct operation *op, uint32_t mask)
{
    if (op->variant & BULK_AGAIN) {
        continue_at(warp, op->target);
        return true;
    }
    const uint32_t *bytes = lanes_source(&warp->lanes, op->source[2]);
    const uint32_t *done = lanes_destination(&warp->lanes, op->extra[1]);
    uint32_t first = CORUN_WARP_LANES;
    uint64_t left = 0;
    for (; mask; mask &= mask - 1) {
        uint32_t lane = lowest_bit(mask);
        if (bytes[lane] % BULK_LANE_BYTES) {
            fault_raise(warp, lane, "cp.async.bulk: %u bytes, not a multiple of 16", bytes[lane]);
            return false;
        }
        left += bytes[lane] - done[lane];
        if (first == CORUN_WARP_LANES && done[lane] < bytes[lane])
            first = lane;
    }
    if (left > (uint64_t)op->offset) {
        next_chunk(warp, op, first, bytes[first] - done[first]);
        continue_at(warp, warp->stack.pc + 1);
    } else {
        continue_at(warp, op->target);
    }
    return true;
}
