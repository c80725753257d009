/* SPDX-License-Identifier: MIT */
/*
 * Products of a warpgroup, four warps one behind the other (PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions").
 *
 * The four warps meet at wgmma.mma_async. When the last one comes, the whole product is computed: shared memory is read and the
 * accumulators are written then. PTX lets that happen at any time until a wait for the group; whoever reads accumulators before has
 * the result already.
 *
 * A warp has 16 rows of A and D. A row of A and a column of B are 32 bytes; of a sparse A these are the elements that are there, and a column of B is 64. In shared memory a matrix consists of pieces of 16 bytes, each
 * of a row (column), or if it is transposed, of 8 rows (columns) at one place of the inner dimension. Where a piece is, the descriptor says;
 * with a swizzle of 2, 4 or 8 pieces, bits 4 to 6 of the address are combined with bits 7 to 9. Which elements a sparse A has, the metadata
 * of each warp say as those of mma.sp do.
 */
#include "isa/executor.h"

#include "base/bits.h"
#include "isa/lanes.h"

#include <inttypes.h>
#include <string.h>

#define PIECE_BYTES 16u
#define PIECES 2u    /* of a row of A */
#define TOGETHER 32u /* columns of D that are computed at once, at most */
#define MOST_OF_B 1024u
#define NUMBER 0x3fffu
#define ROW_ELEMENTS 32u /* most */

/* A matrix in shared memory. */
struct descriptor {
    uint32_t start, leading, stride; /* bytes */
    uint32_t base, pieces;           /* phase of the pattern of a swizzle, and its width: 1, 2, 4, 8 */
};

static struct descriptor descriptor_of(uint64_t bits)
{
    static const uint8_t pieces[] = {1, 8, 4, 2};
    return (struct descriptor){.start = (uint32_t)(bits & NUMBER) * PIECE_BYTES,
                               .leading = (uint32_t)(bits >> 16 & NUMBER) * PIECE_BYTES,
                               .stride = (uint32_t)(bits >> 32 & NUMBER) * PIECE_BYTES,
                               .base = (uint32_t)(bits >> 49 & 7),
                               .pieces = pieces[bits >> 62]};
}

static uint32_t swizzle(const struct descriptor *matrix, uint32_t address)
{
    uint32_t phase = (address / 128 - matrix->base) & (matrix->pieces - 1);
    return matrix->pieces > 1 ? address ^ phase * PIECE_BYTES : address;
}

/* Piece `piece` of row (column) `line`. */
static uint32_t piece_address(const struct descriptor *matrix, uint32_t line, uint32_t piece)
{
    return swizzle(matrix, matrix->start + line % 8 * matrix->pieces * PIECE_BYTES + line / 8 * matrix->stride +
                               piece % matrix->pieces * PIECE_BYTES + piece / matrix->pieces * matrix->leading);
}

/* Transposed: rows (columns) from 8 * `eight` on at `place` of the inner dimension. */
static uint32_t transposed_address(const struct descriptor *matrix, uint32_t eight, uint32_t place)
{
    uint32_t width = matrix->pieces, address = matrix->start + place % 8 * width * PIECE_BYTES;
    if (width == 1)
        return address + eight * matrix->stride + place / 8 * matrix->leading;
    address += eight % width * PIECE_BYTES + eight / width * matrix->leading + place / 8 * matrix->stride;
    return swizzle(matrix, address);
}

static bool read_piece(struct corun_warp *warp, uint32_t address, const char *what, uint8_t *piece)
{
    uint64_t limit = warp->tb->launch->grid.tb_shared_bytes;
    if (limit < PIECE_BYTES || address > limit - PIECE_BYTES) {
        fault_access(warp, 0, CORUN_SPACE_SHARED, what, address, PIECE_BYTES);
        return false;
    }
    memcpy(piece, warp->tb->shared + address, PIECE_BYTES);
    return true;
}

/* Where elements go: (line, place of the inner dimension) to values[line * of_line + place * of_place]. */
struct target {
    uint64_t *values;
    uint32_t of_line, of_place, bits, pieces;
};

/* Elements that lie one after the other, from `place` of the line on. */
static void put_piece(const struct target *target, uint32_t line, uint32_t place, const uint8_t *piece)
{
    uint64_t *to = target->values + line * target->of_line + place * target->of_place;
#define PUT(type) \
    for (uint32_t k = 0; k < PIECE_BYTES / sizeof(type); k++) { \
        type value; \
        memcpy(&value, piece + k * sizeof value, sizeof value); \
        to[k * target->of_place] = value; \
    }
    if (target->bits == 16)
        PUT(uint16_t)
    else if (target->bits == 8)
        PUT(uint8_t)
    else
        PUT(uint32_t)
#undef PUT
}

static bool load_lines(struct corun_warp *warp, const struct descriptor *matrix, const char *what, uint32_t first,
                       uint32_t count, const struct target *target)
{
    uint32_t each = PIECE_BYTES * 8 / target->bits;
    uint8_t piece[PIECE_BYTES];
    for (uint32_t line = 0; line < count; line++)
        for (uint32_t i = 0; i < target->pieces; i++) {
            if (!read_piece(warp, piece_address(matrix, first + line, i), what, piece))
                return false;
            put_piece(target, line, i * each, piece);
        }
    return true;
}

/* The same of a matrix of 16-bit elements that is transposed. */
static bool load_transposed(struct corun_warp *warp, const struct descriptor *matrix, const char *what, uint32_t first,
                            uint32_t count, const struct target *target)
{
    uint8_t piece[PIECE_BYTES];
    for (uint32_t eight = 0; eight < count / 8; eight++)
        for (uint32_t place = 0; place < target->pieces * PIECE_BYTES / 2; place++) {
            if (!read_piece(warp, transposed_address(matrix, first / 8 + eight, place), what, piece))
                return false;
            uint64_t *to = target->values + eight * 8 * target->of_line + place * target->of_place;
            for (uint32_t line = 0; line < 8; line++)
                to[line * target->of_line] = (uint32_t)piece[line * 2] | (uint32_t)piece[line * 2 + 1] << 8;
        }
    return true;
}

static void negate(uint64_t *values, uint32_t count, uint32_t bits)
{
    for (uint32_t i = 0; i < count; i++)
        values[i] ^= UINT64_C(1) << (bits - 1);
}

/* Of an element as it stands in memory: .b1 are words of 32 bits. */
static uint32_t bits_of(const struct matrix_work *work)
{
    uint32_t bits = ptx_types[work->matrix.a].bits;
    return bits == 1 ? 32 : bits;
}

/* What all four warps have in common: the operands of the first one. */
struct product {
    const struct matrix_work *work;
    struct corun_warp *warps; /* of the warpgroup */
    struct descriptor a, b;
    uint32_t bits, inner, rows_of_b; /* of an element; elements of a row of A, of a column of B */
    bool adds;
};

static bool load_rows(struct corun_warp *warp, const struct product *product, uint32_t index, uint64_t *values)
{
    const struct matrix_work *work = product->work;
    const struct target target = {values, product->inner, 1, product->bits, PIECES};
    uint32_t rows = work->matrix.m, first = index * rows;
    if (!work->a_shared)
        matrix_gather(&product->warps[index].lanes, &work->matrix, PTX_MATRIX_A, work->a, values);
    else if (!(work->a_columns ? load_transposed : load_lines)(warp, &product->a, "wgmma.mma_async: load of a", first,
                                                               rows, &target))
        return false;
    if (work->a_negated)
        negate(values, rows * product->inner, product->bits);
    return true;
}

static bool load_columns(struct corun_warp *warp, const struct product *product, uint32_t first, uint32_t count,
                         uint64_t *values)
{
    const struct matrix_work *work = product->work;
    const struct target target = {values, 1, count, product->bits, work->matrix.sparse ? 2 * PIECES : PIECES};
    if (!(work->b_rows ? load_transposed : load_lines)(warp, &product->b, "wgmma.mma_async: load of b", first, count,
                                                       &target))
        return false;
    if (work->b_negated)
        negate(values, count * product->rows_of_b, product->bits);
    return true;
}

static bool multiply(struct corun_warp *warp, const struct product *product)
{
    struct matrix_values values;
    uint64_t rows[CORUN_WARPGROUP_WARPS][PTX_WARPGROUP_ROWS * ROW_ELEMENTS];
    struct matrix_work part = *product->work;
    uint32_t columns = part.matrix.n, most = MOST_OF_B / product->rows_of_b,
             of_result = ptx_types[part.matrix.d].bits == 16 ? 2 : 1;
    for (uint32_t i = 0; i < CORUN_WARPGROUP_WARPS; i++)
        if (!load_rows(warp, product, i, rows[i]))
            return false;
    for (uint32_t first = 0; first < columns; first += part.matrix.n) {
        const uint16_t *results = product->work->d + first / 2 / of_result;
        most = most < TOGETHER ? most : TOGETHER;
        part.matrix.n = (uint16_t)(columns - first < most ? columns - first : most);
        if (!load_columns(warp, product, first, part.matrix.n, values.b))
            return false;
        for (uint32_t i = 0; i < CORUN_WARPGROUP_WARPS; i++) {
            const struct lanes *lanes = &product->warps[i].lanes;
            memcpy(values.a, rows[i], sizeof rows[i]);
            if (part.matrix.sparse)
                matrix_find_columns(lanes, &part, values.columns);
            if (product->adds)
                matrix_gather(lanes, &part.matrix, PTX_MATRIX_C, results, values.c);
            else
                memset(values.c, 0, sizeof values.c);
            matrix_compute(&part, &values, MATRIX_H100);
            matrix_scatter(lanes, &part.matrix, results, values.d);
        }
    }
    return true;
}

static uint64_t descriptor_bits(const struct corun_warp *warp, uint16_t slot)
{
    return *(const uint64_t *)lanes_source(&warp->lanes, slot);
}

static bool adds(const struct corun_warp *warp, const struct matrix_work *work)
{
    if (work->adds == PREDICATE_TRUE || work->adds == PREDICATE_FALSE)
        return work->adds == PREDICATE_TRUE;
    return (warp->lanes.predicates[work->adds] & 1u) != work->adds_negated;
}

static bool compute(struct corun_warp *warp, const struct operation *op)
{
    const struct matrix_work *work = &warp->tb->launch->kernel->matrices[op->target];
    struct corun_warp *first = &warp->tb->warps[warp->index / CORUN_WARPGROUP_WARPS * CORUN_WARPGROUP_WARPS];
    uint32_t bits = bits_of(work);
    const struct product product = {.work = work,
                                    .warps = first,
                                    .a = descriptor_of(work->a_shared ? descriptor_bits(first, work->a[0]) : 0),
                                    .b = descriptor_of(descriptor_bits(first, work->b[0])),
                                    .bits = bits,
                                    .inner = PIECES * PIECE_BYTES * 8 / bits,
                                    .rows_of_b = (PIECES * PIECE_BYTES * 8 / bits) << work->matrix.sparse,
                                    .adds = adds(first, work)};
    return multiply(warp, &product);
}

/* What is wrong with a warp that comes, apart from its threads. */
static bool can_meet(struct corun_warp *warp, const struct warpgroup_meeting *meeting, uint32_t first)
{
    const struct corun_tb *tb = warp->tb;
    uint32_t behind = first + CORUN_WARPGROUP_WARPS;
    if (behind > tb->launch->grid.tb_warps) {
        fault_raise(warp, 0, "wgmma.mma_async by a warpgroup of %" PRIu32 " warps: it needs 4",
                    tb->launch->grid.tb_warps - first);
        return false;
    }
    for (uint32_t i = first; i < behind; i++)
        if (tb->warps[i].stack.mask == 0) {
            fault_raise(warp, 0, "wgmma.mma_async: warp %" PRIu32 " of the warpgroup has ended", i);
            return false;
        }
    if (meeting->warps && meeting->pc != warp->stack.pc) {
        fault_raise(warp, 0,
                    "wgmma.mma_async by a part of a warpgroup: warp %" PRIu32 " is here, warp %" PRIu32
                    " at that of line %" PRIu32,
                    warp->index, first + lowest_bit(meeting->warps),
                    tb->launch->kernel->instructions[meeting->pc].line);
        return false;
    }
    return true;
}

bool warpgroup_arrive(struct corun_warp *warp, const struct operation *op, uint32_t mask, struct corun_issue *result)
{
    uint32_t group = warp->index / CORUN_WARPGROUP_WARPS, first = group * CORUN_WARPGROUP_WARPS;
    struct warpgroup_meeting *meeting = &warp->tb->meetings[group];
    if (mask != CORUN_FULL_MASK) {
        fault_raise(warp, lowest_bit(mask), "wgmma.mma_async by %" PRIu32 " of the 32 threads of a warp (mask 0x%08x)",
                    count_bits(mask), mask);
        return false;
    }
    if (!can_meet(warp, meeting, first))
        return false;
    meeting->warps |= 1u << (warp->index - first);
    meeting->pc = warp->stack.pc;
    result->outcome = CORUN_OUTCOME_BARRIER;
    result->barrier = warp->barrier_number = (uint8_t)(CORUN_BARRIERS + group);
    result->barrier_threads = warp->barrier_threads = CORUN_WARPGROUP_WARPS * CORUN_WARP_LANES;
    result->barrier_waits = true;
    warp->barrier_line = warp->tb->launch->kernel->instructions[warp->stack.pc].line;
    if (count_bits(meeting->warps) < CORUN_WARPGROUP_WARPS)
        return true;
    meeting->warps = 0;
    return compute(warp, op);
}

bool warpgroup_left(struct corun_warp *warp)
{
    const struct corun_tb *tb = warp->tb;
    const struct warpgroup_meeting *meeting = &tb->meetings[warp->index / CORUN_WARPGROUP_WARPS];
    if (!meeting->warps)
        return true;
    fault_raise(warp, 0,
                "warp %" PRIu32 " ends, and the others of its warpgroup wait for it at wgmma.mma_async, line %" PRIu32,
                warp->index, tb->launch->kernel->instructions[meeting->pc].line);
    return false;
}
