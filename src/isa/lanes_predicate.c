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

/* The lanes that vote: those that run, and with .sync (variant 1) only those that the first of them names. */
static uint32_t voters(const struct operation *op, const struct lanes *lanes, uint32_t mask)
{
    if (!op->variant)
        return mask;
    const lane32 *members = lanes_source(lanes, op->source[0]);
    return mask & members[__builtin_ctz(mask)];
}

#define VOTE(name, ...) \
    LANES_FUNCTION(name) \
    { \
        const uint32_t voting = voters(op, lanes, mask), in_favour = predicate_in(op, lanes) & voting; \
        predicate_write(lanes, op->predicate_out[0], (__VA_ARGS__) ? 0xffffffffu : 0, mask); \
    }
VOTE(vote_all, in_favour == voting)
VOTE(vote_any, in_favour != 0)
VOTE(vote_uni, in_favour == voting || in_favour == 0)

LANES_FUNCTION(vote_ballot)
{
    fill(op, lanes, predicate_in(op, lanes) & voters(op, lanes, mask), mask);
}

LANES_FUNCTION(activemask)
{
    fill(op, lanes, mask, mask);
}
