/* SPDX-License-Identifier: MIT */
/* Comparisons, predicate logic, votes and shuffles; the list is lanes_predicate.def. */
#include "isa/lanes_body.h"

/* p is the comparison, q its opposite, each combined with the third operand if there is one. */
static inline uint32_t combine(const struct operation *op, const struct lanes *lanes, uint32_t compared)
{
    if (op->predicate_in == NO_PREDICATE)
        return compared;
    uint32_t other = predicate_in(op, lanes);
    switch (op->variant) {
    case PTX_BOOLEAN_AND:
        return compared & other;
    case PTX_BOOLEAN_OR:
        return compared | other;
    default:
        return compared ^ other;
    }
}

static inline void write_comparison(const struct operation *op, const struct lanes *lanes, uint32_t mask,
                                    uint32_t compared)
{
    uint32_t opposite = combine(op, lanes, ~compared); /* before p is written, which may be the third operand */
    predicate_write(lanes, op->predicate_out[0], combine(op, lanes, compared), mask);
    predicate_write(lanes, op->predicate_out[1], opposite, mask);
}

#define COMPARE(name, T, ...) \
    LANES_FUNCTION(name) \
    { \
        LANES_SOURCE(T, pa, 0); \
        LANES_SOURCE(T, pb, 1); \
        uint32_t compared = 0; \
        EACH_LANE \
        { \
            const value_##T a = load_##T(pa[i]), b = load_##T(pb[i]); \
            compared |= (__VA_ARGS__) ? lane_bit32[i] : 0; \
        } \
        write_comparison(op, lanes, mask, compared); \
    }
#define TEST(name, T, ...) \
    LANES_FUNCTION(name) \
    { \
        LANES_SOURCE(T, pa, 0); \
        uint32_t compared = 0; \
        EACH_LANE \
        { \
            const value_##T a = load_##T(pa[i]); \
            compared |= (__VA_ARGS__) ? lane_bit32[i] : 0; \
        } \
        predicate_write(lanes, op->predicate_out[0], compared, mask); \
    }
#include "isa/lanes_predicate.def"
#undef COMPARE
#undef TEST

/* set asks the function of setp, by its place in the list (op->extra[3]), for a predicate of its own. */
static uint32_t compare(const struct operation *op, const struct lanes *lanes)
{
    static const lane_function comparisons[] = {
#define COMPARE(name, ...) LANE(name),
#define TEST(...)
#undef OTHER
#define OTHER(name)
#include "isa/lanes_predicate.def"
    };
    uint32_t compared = 0;
    struct operation setp = *op;
    setp.predicate_in = NO_PREDICATE;
    setp.predicate_out[0] = 0;
    setp.predicate_out[1] = NO_PREDICATE;
    struct lanes own = *lanes;
    own.predicates = &compared;
    comparisons[op->extra[3]](&setp, &own, CORUN_FULL_MASK);
    return combine(op, lanes, compared);
}

#define SET(name, truth) \
    LANES_FUNCTION(name) \
    { \
        const uint32_t compared = compare(op, lanes); \
        uint32_t results[CORUN_WARP_LANES] __attribute__((aligned(64))); \
        EACH_LANE \
        { \
            results[i] = compared & lane_bit32[i] ? (truth) : 0; \
        } \
        lanes_write32(lanes_destination(lanes, op->destination), results, mask); \
    }
SET(set_word, 0xffffffffu)
SET(set_float, 0x3f800000u)

#define ISSPACEP(name, T) \
    LANES_FUNCTION(name) \
    { \
        LANES_SOURCE(T, address, 0); \
        LANES_SOURCE(T, first, 1); \
        LANES_SOURCE(T, bytes, 2); \
        uint32_t inside = 0; \
        EACH_LANE \
        { \
            inside |= address[i] - first[i] < bytes[i] ? lane_bit32[i] : 0; \
        } \
        predicate_write(lanes, op->predicate_out[0], inside, mask); \
    }
ISSPACEP(isspacep_32, u32)
ISSPACEP(isspacep_64, u64)

#define PREDICATES(name, second, ...) \
    LANES_FUNCTION(name) \
    { \
        const uint32_t a = predicate_read(lanes, op->source[0]); \
        const uint32_t b = (second) ? predicate_read(lanes, op->source[1]) : 0; \
        (void)b; \
        predicate_write(lanes, op->predicate_out[0], __VA_ARGS__, mask); \
    }
PREDICATES(and_pred, 1, a &b)
PREDICATES(or_pred, 1, a | b)
PREDICATES(xor_pred, 1, a ^ b)
PREDICATES(not_pred, 0, ~a)
PREDICATES(mov_pred, 0, a)

/*
 * The lane that each lane reads: c holds the bounds (its low five bits) and the mask that divides the warp into segments (bits 8 to 12).
 * From outside its segment a lane reads itself and says so in the predicate.
 */
#define SHUFFLE(name, from, inside) \
    LANES_FUNCTION(name) \
    { \
        LANES_SOURCE(s32, pb, 1); \
        LANES_SOURCE(s32, pc, 2); \
        uint32_t source[CORUN_WARP_LANES] __attribute__((aligned(64))); \
        uint32_t results[CORUN_WARP_LANES] __attribute__((aligned(64))); \
        int32_t lane_read[CORUN_WARP_LANES] __attribute__((aligned(64))); \
        uint32_t in_range = 0; \
        memcpy(source, lanes_source(lanes, op->source[0]), sizeof source); \
        EACH_LANE \
        { \
            const int32_t lane = (int32_t)i, b = (int32_t)pb[i] & 31, c = (int32_t)pc[i]; \
            const int32_t segment = c >> 8 & 31; \
            const int32_t last = (lane & segment) | (c & 31 & ~segment); \
            const int32_t j = from; \
            lane_read[i] = (inside) ? j : lane; \
            in_range |= (inside) ? lane_bit32[i] : 0; \
        } \
        EACH_LANE \
        { \
            results[i] = source[lane_read[i] & 31]; \
        } \
        lanes_write32(lanes_destination(lanes, op->destination), results, mask); \
        predicate_write(lanes, op->predicate_out[0], in_range, mask); \
    }
SHUFFLE(shfl_up, lane - b, j >= last)
SHUFFLE(shfl_down, lane + b, j <= last)
SHUFFLE(shfl_bfly, lane ^ b, j <= last)
SHUFFLE(shfl_idx, (lane & segment) | (b & ~segment), j <= last)

static void fill(const struct operation *op, const struct lanes *lanes, uint32_t value, uint32_t mask)
{
    uint32_t results[CORUN_WARP_LANES] __attribute__((aligned(64)));
    EACH_LANE
    {
        results[i] = value;
    }
    lanes_write32(lanes_destination(lanes, op->destination), results, mask);
}

/*
 * The next lanes that act together: of those that run and have not had their turn, all that name the same members as the first of them.
 * Tiles and other groups within a warp name themselves, each in its own lanes. Without .sync all that run are one group.
 */
static uint32_t next_group(const lane32 *named, uint32_t rest)
{
    if (!named)
        return rest;
    const uint32_t first = named[__builtin_ctz(rest)];
    uint32_t same = 0;
    EACH_LANE
    {
        same |= named[i] == first ? lane_bit32[i] : 0;
    }
    return same & rest;
}

/* Those of a group that its lanes name; NULL: all. */
static uint32_t members(const lane32 *named, uint32_t group)
{
    return named ? group & named[__builtin_ctz(group)] : group;
}

#define EACH_GROUP(named) \
    for (uint32_t rest = mask, group; rest && (group = next_group(named, rest)) != 0; rest &= ~group)

static const lane32 *named_by_vote(const struct operation *op, const struct lanes *lanes)
{
    return op->variant ? lanes_source(lanes, op->source[0]) : NULL;
}

#define VOTE(name, ...) \
    LANES_FUNCTION(name) \
    { \
        const lane32 *named = named_by_vote(op, lanes); \
        const uint32_t predicate = predicate_in(op, lanes); \
        EACH_GROUP(named) \
        { \
            const uint32_t voting = members(named, group), in_favour = predicate & voting; \
            predicate_write(lanes, op->predicate_out[0], (__VA_ARGS__) ? 0xffffffffu : 0, group); \
        } \
    }
VOTE(vote_all, in_favour == voting)
VOTE(vote_any, in_favour != 0)
VOTE(vote_uni, in_favour == voting || in_favour == 0)

LANES_FUNCTION(vote_ballot)
{
    const lane32 *named = named_by_vote(op, lanes);
    const uint32_t predicate = predicate_in(op, lanes);
    EACH_GROUP(named)
    {
        fill(op, lanes, predicate & members(named, group), group);
    }
}

LANES_FUNCTION(activemask)
{
    fill(op, lanes, mask, mask);
}

#define MATCH(T) \
    static uint32_t equal_##T(const lane_##T *values, uint32_t lane, uint32_t among) \
    { \
        uint32_t equal = 0; \
        EACH_LANE \
        { \
            equal |= values[i] == values[lane] ? lane_bit32[i] : 0; \
        } \
        return equal & among; \
    }
MATCH(u32)
MATCH(u64)

#define MATCH_ANY(name, T) \
    LANES_FUNCTION(name) \
    { \
        LANES_SOURCE(T, values, 0); \
        const lane32 *named = lanes_source(lanes, op->source[1]); \
        uint32_t results[CORUN_WARP_LANES] __attribute__((aligned(64))) = {0}; \
        EACH_GROUP(named) \
        { \
            const uint32_t among = members(named, group); \
            for (uint32_t left = among; left;) { \
                const uint32_t equal = equal_##T(values, (uint32_t)__builtin_ctz(left), among); \
                for (uint32_t lane = 0; lane < CORUN_WARP_LANES; lane++) \
                    results[lane] = equal >> lane & 1u ? equal : results[lane]; \
                left &= ~equal; \
            } \
        } \
        lanes_write32(lanes_destination(lanes, op->destination), results, mask); \
    }
MATCH_ANY(match_any_32, u32)
MATCH_ANY(match_any_64, u64)

#define MATCH_ALL(name, T) \
    LANES_FUNCTION(name) \
    { \
        LANES_SOURCE(T, values, 0); \
        const lane32 *named = lanes_source(lanes, op->source[1]); \
        EACH_GROUP(named) \
        { \
            const uint32_t among = members(named, group); \
            const bool all = among && equal_##T(values, (uint32_t)__builtin_ctz(among), among) == among; \
            fill(op, lanes, all ? among : 0, group); \
            predicate_write(lanes, op->predicate_out[0], all ? 0xffffffffu : 0, group); \
        } \
    }
MATCH_ALL(match_all_32, u32)
MATCH_ALL(match_all_64, u64)

#define REDUX(name, T, start, ...) \
    LANES_FUNCTION(name) \
    { \
        LANES_SOURCE(T, values, 0); \
        const lane32 *named = lanes_source(lanes, op->source[1]); \
        EACH_GROUP(named) \
        { \
            unsigned_##T result = (unsigned_##T)(start); \
            for (uint32_t left = members(named, group); left; left &= left - 1) { \
                const value_##T a = load_##T(result), b = load_##T(values[__builtin_ctz(left)]); \
                result = (unsigned_##T)(__VA_ARGS__); \
            } \
            fill(op, lanes, result, group); \
        } \
    }
REDUX(redux_and, u32, UINT32_MAX, a &b)
REDUX(redux_or, u32, 0, a | b)
REDUX(redux_xor, u32, 0, a ^ b)
REDUX(redux_add, u32, 0, a + b)
REDUX(redux_min_u32, u32, UINT32_MAX, a < b ? a : b)
REDUX(redux_min_s32, s32, INT32_MAX, a < b ? a : b)
REDUX(redux_max_u32, u32, 0, a > b ? a : b)
REDUX(redux_max_s32, s32, INT32_MIN, a > b ? a : b)

LANES_FUNCTION(elect)
{
    const lane32 *named = lanes_source(lanes, op->source[0]);
    EACH_GROUP(named)
    {
        const uint32_t among = members(named, group), lane = (uint32_t)__builtin_ctz(among ? among : group);
        fill(op, lanes, lane, group);
        predicate_write(lanes, op->predicate_out[0], 1u << lane, group);
    }
}

/* The |c|-th set bit of a, counted upwards (downwards if c is negative) from bit b, which counts itself; c = 0: bit b alone. */
static uint32_t find_set(uint32_t bits, uint32_t base, int32_t count)
{
    if (base > 31)
        return UINT32_MAX;
    if (count == INT32_MIN)
        return 0; /* as the H100 has it */
    if (count == 0)
        return bits >> base & 1u ? base : UINT32_MAX;
    int32_t step = count > 0 ? 1 : -1;
    for (int32_t at = (int32_t)base; at >= 0 && at < 32; at += step) {
        count -= bits >> at & 1u ? step : 0;
        if (count == 0)
            return (uint32_t)at;
    }
    return UINT32_MAX;
}

LANES_FUNCTION(fns)
{
    LANES_SOURCE(u32, bits, 0);
    LANES_SOURCE(u32, base, 1);
    LANES_SOURCE(s32, count, 2);
    uint32_t results[CORUN_WARP_LANES] __attribute__((aligned(64)));
    for (uint32_t i = 0; i < CORUN_WARP_LANES; i++)
        results[i] = find_set(bits[i], base[i], (int32_t)count[i]);
    lanes_write32(lanes_destination(lanes, op->destination), results, mask);
}
