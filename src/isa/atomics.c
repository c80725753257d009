/* SPDX-License-Identifier: MIT */
/*
 * What an atomic operation makes of a value in memory, for every type; and the pool of tickets for atomics that are
 * under way.
 */
#include "isa/atomics.h"

#include "isa/half.h"
#include "isa/kernel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint32_t flush_subnormal(uint32_t bits)
{
    return (bits & 0x7f800000u) == 0 ? bits & 0x80000000u : bits;
}

static uint64_t add_f32(uint32_t left, uint32_t right, bool flush)
{
    float a, b;
    if (flush) {
        left = flush_subnormal(left);
        right = flush_subnormal(right);
    }
    memcpy(&a, &left, sizeof a);
    memcpy(&b, &right, sizeof b);
    float sum = a + b;
    uint32_t bits;
    memcpy(&bits, &sum, sizeof bits);
    if (isnan(sum))
        bits = 0x7fffffffu;
    return flush ? flush_subnormal(bits) : bits;
}

static uint64_t add_f64(uint64_t left, uint64_t right, bool shared)
{
    double a, b;
    memcpy(&a, &left, sizeof a);
    memcpy(&b, &right, sizeof b);
    double sum = a + b;
    uint64_t bits;
    memcpy(&bits, &sum, sizeof bits);
    if (!isnan(sum))
        return bits;
    if (isnan(
            shared
                ? a
                : b)) /* in shared memory that of the old value, quiet as that of add.f64; else the new one as it is */
        bits = shared ? left : right;
    else
        bits = isnan(a) ? left : isnan(b) ? right : UINT64_C(0xfff8000000000000);
    return shared ? bits | UINT64_C(1) << 51 : bits;
}

/* The sum of two halves is exact in double; that of bf16 is at least on the right side of every one. */
static uint32_t add_half(uint32_t left, uint32_t right, struct half_format format)
{
    return half_round(half_value(left & 0xffffu, format) + half_value(right & 0xffffu, format), format, 0);
}

static uint64_t add_float(const struct operation *op, uint64_t old, uint64_t b, bool flush)
{
    uint32_t left = (uint32_t)old, right = (uint32_t)b;
    switch (op->extra[1]) {
    case PTX_TYPE_F16:
        return add_half(left, right, HALF_F16);
    case PTX_TYPE_BF16:
        return add_half(left, right, HALF_BF16);
    case PTX_TYPE_F16X2:
        return add_half(left, right, HALF_F16) | (uint64_t)add_half(left >> 16, right >> 16, HALF_F16) << 16;
    case PTX_TYPE_BF16X2:
        return add_half(left, right, HALF_BF16) | (uint64_t)add_half(left >> 16, right >> 16, HALF_BF16) << 16;
    case PTX_TYPE_F32:
        return add_f32(left, right, flush);
    default:
        return add_f64(old, b, op->space == CORUN_SPACE_SHARED);
    }
}

/* Halves: a number rather than NaN, and -0 is less than +0. */
static bool is_less_half(struct half_format format, uint32_t left, uint32_t right)
{
    double a = half_value(left, format), b = half_value(right, format);
    return a < b || (a == b && signbit(a) > signbit(b));
}

static uint64_t extreme_half(const struct operation *op, uint32_t old, uint32_t b)
{
    bool brain = op->extra[1] == PTX_TYPE_BF16 || op->extra[1] == PTX_TYPE_BF16X2;
    struct half_format format = brain ? HALF_BF16 : HALF_F16;
    bool old_nan = isnan(half_value(old, format)), new_nan = isnan(half_value(b, format));
    if (old_nan || new_nan)
        return old_nan && new_nan ? HALF_NAN : old_nan ? b : old;
    bool least = op->extra[0] == ATOMIC_MINIMUM;
    return is_less_half(format, least ? b : old, least ? old : b) ? b : old;
}

/* Of one half, or of two in a word, each by itself. */
static uint64_t extreme_halves(const struct operation *op, uint64_t old, uint64_t b)
{
    uint64_t result = extreme_half(op, (uint32_t)old & 0xffffu, (uint32_t)b & 0xffffu);
    if (op->width_bytes == 4)
        result |= extreme_half(op, (uint32_t)(old >> 16) & 0xffffu, (uint32_t)(b >> 16) & 0xffffu) << 16;
    return result;
}

static bool is_less(const struct operation *op, uint64_t left, uint64_t right)
{
    if (!(op->extend & EXTEND_SIGN))
        return left < right;
    return op->width_bytes == 4 ? (int32_t)left < (int32_t)right : (int64_t)left < (int64_t)right;
}

static uint64_t barrier_change(enum atomic_operation operation, uint64_t barrier, uint64_t b)
{
    const uint64_t counts = (UINT64_C(1) << BARRIER_COUNT_BITS) - 1,
                   all_bytes = (UINT64_C(1) << BARRIER_BYTES_BITS) - 1;
    uint64_t pending = barrier & counts, expected = barrier >> BARRIER_COUNT_BITS & counts;
    uint64_t bytes = barrier >> BARRIER_BYTES_SHIFT & all_bytes, phase = barrier & BARRIER_PHASE;
    switch (operation) {
    case ATOMIC_BARRIER_INIT:
        return (b & counts) << BARRIER_COUNT_BITS | (b & counts);
    case ATOMIC_BARRIER_DROP:
        expected -= b;
        pending -= b;
        break;
    case ATOMIC_BARRIER_ARRIVE:
        pending -= b;
        break;
    case ATOMIC_BARRIER_ARRIVE_EXPECT:
        bytes += b;
        pending -= 1;
        break;
    case ATOMIC_BARRIER_DROP_EXPECT:
        bytes += b;
        expected -= 1;
        pending -= 1;
        break;
    case ATOMIC_BARRIER_EXPECT:
        bytes += b;
        break;
    default:
        bytes -= b;
        break;
    }
    expected &= counts;
    pending &= counts;
    bytes &= all_bytes;
    if (!pending && !bytes && operation != ATOMIC_BARRIER_EXPECT) { /* the phase is complete, the next one begins */
        phase ^= BARRIER_PHASE;
        pending = expected;
    }
    return phase | bytes << BARRIER_BYTES_SHIFT | expected << BARRIER_COUNT_BITS | pending;
}

static uint64_t compute(const struct operation *op, uint64_t old, uint64_t b, uint64_t c, bool flush)
{
    switch ((enum atomic_operation)op->extra[0]) {
    case ATOMIC_EXCHANGE:
        return b;
    case ATOMIC_COMPARE:
        return old == b ? c : old;
    case ATOMIC_ADD:
        if (!(op->extend & EXTEND_FLOAT))
            return old + b;
        return add_float(op, old, b, flush);
    case ATOMIC_INCREMENT:
        return old >= b ? 0 : old + 1;
    case ATOMIC_DECREMENT:
        return old == 0 || old > b ? b : old - 1;
    case ATOMIC_MINIMUM:
        if (op->extend & EXTEND_FLOAT)
            return extreme_halves(op, old, b);
        return is_less(op, b, old) ? b : old;
    case ATOMIC_MAXIMUM:
        if (op->extend & EXTEND_FLOAT)
            return extreme_halves(op, old, b);
        return is_less(op, old, b) ? b : old;
    case ATOMIC_AND:
        return old & b;
    case ATOMIC_OR:
        return old | b;
    case ATOMIC_XOR:
        return old ^ b;
    default:
        return barrier_change((enum atomic_operation)op->extra[0], old, b);
    }
}

uint64_t atomic_apply(const struct operation *op, uint8_t *host, uint64_t b, uint64_t c, bool flush)
{
    if (op->width_bytes == 4) { /* most: a copy of a length that the compiler knows */
        uint32_t word;
        memcpy(&word, host, sizeof word);
        uint32_t changed = (uint32_t)compute(op, word, b, c, flush);
        memcpy(host, &changed, sizeof changed);
        return word;
    }
    uint64_t old = 0;
    memcpy(&old, host, op->width_bytes);
    if (op->width_bytes == 2) { /* of a register only the low bits count */
        b &= 0xffffu;
        c &= 0xffffu;
    }
    uint64_t value = compute(op, old, b, c, flush);
    memcpy(host, &value, op->width_bytes);
    return old;
}

/* exch and cas */
static struct atomic_value apply_wide(const struct operation *op, uint8_t *host, struct atomic_value b,
                                      struct atomic_value c)
{
    struct atomic_value old;
    memcpy(&old, host, sizeof old);
    if (op->extra[0] == ATOMIC_EXCHANGE)
        memcpy(host, &b, sizeof b);
    else if (old.low == b.low && old.high == b.high)
        memcpy(host, &c, sizeof c);
    return old;
}

struct atomic_value atomic_apply_any(const struct operation *op, uint8_t *host, struct atomic_value b,
                                     struct atomic_value c, bool flush)
{
    if (op->width_bytes > 8)
        return apply_wide(op, host, b, c);
    return (struct atomic_value){atomic_apply(op, host, b.low, c.low, flush), 0};
}

struct atomic_value atomic_ticket_apply(const struct atomic_ticket *ticket, uint32_t lane, uint8_t *host, bool flush)
{
    const struct atomic_value b = {ticket->b[lane], ticket->high[lane].b}, c = {ticket->c[lane], ticket->high[lane].c};
    return atomic_apply_any(ticket->op, host, b, c, flush);
}

uint32_t atomic_pool_take(struct atomic_pool *pool)
{
    if (pool->free) {
        uint32_t ticket = pool->free - 1;
        pool->free = pool->tickets[ticket].next_free;
        pool->used++;
        return ticket;
    }
    if (pool->count == pool->capacity) {
        uint32_t capacity = pool->capacity ? 2 * pool->capacity : 64;
        struct atomic_ticket *tickets = realloc(pool->tickets, sizeof *tickets * capacity);
        if (!tickets)
            return UINT32_MAX;
        pool->tickets = tickets;
        pool->capacity = capacity;
    }
    pool->used++;
    return pool->count++;
}

void atomic_pool_give(struct atomic_pool *pool, uint32_t ticket)
{
    pool->tickets[ticket].warp = NULL;
    pool->tickets[ticket].next_free = pool->free;
    pool->used--;
    pool->free = ticket + 1;
}

void atomic_pool_free(struct atomic_pool *pool)
{
    free(pool->tickets);
    *pool = (struct atomic_pool){0};
}
