/* SPDX-License-Identifier: MIT */
/*
 * Atomic functions: what each returns and leaves, at edges, in global and in shared memory, against plain C; and what many threads leave that change
 * one value together.
 */
#include "check.h"

#include <cmath>
#include <cstring>

typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long s64;

/* F(name, type, what is left of old and v) */
#define WORDS(F, suffix) \
    F(atomicAdd##suffix, int, (int)((u32)old + (u32)v)) \
    F(atomicSub##suffix, int, (int)((u32)old - (u32)v)) \
    F(atomicExch##suffix, int, v) \
    F(atomicMin##suffix, int, old < v ? old : v) \
    F(atomicMax##suffix, int, old > v ? old : v) \
    F(atomicAnd##suffix, int, old & v) \
    F(atomicOr##suffix, int, old | v) \
    F(atomicXor##suffix, int, old ^ v) \
    F(atomicAdd##suffix, u32, old + v) \
    F(atomicSub##suffix, u32, old - v) \
    F(atomicExch##suffix, u32, v) \
    F(atomicMin##suffix, u32, old < v ? old : v) \
    F(atomicMax##suffix, u32, old > v ? old : v) \
    F(atomicInc##suffix, u32, old >= v ? 0 : old + 1) \
    F(atomicDec##suffix, u32, old == 0 || old > v ? v : old - 1) \
    F(atomicAnd##suffix, u32, old & v) \
    F(atomicOr##suffix, u32, old | v) \
    F(atomicXor##suffix, u32, old ^ v) \
    F(atomicAdd##suffix, u64, old + v) \
    F(atomicExch##suffix, u64, v) \
    F(atomicMin##suffix, u64, old < v ? old : v) \
    F(atomicMax##suffix, u64, old > v ? old : v) \
    F(atomicAnd##suffix, u64, old & v) \
    F(atomicOr##suffix, u64, old | v) \
    F(atomicXor##suffix, u64, old ^ v) \
    F(atomicMin##suffix, s64, old < v ? old : v) \
    F(atomicMax##suffix, s64, old > v ? old : v) \
    F(atomicAdd##suffix, float, where ? old + v : flushed(flushed(old) + flushed(v))) \
    F(atomicExch##suffix, float, v) \
    F(atomicAdd##suffix, double, old + v)
#define ALL(F) \
    WORDS(F, ) \
    WORDS(F, _block) \
    WORDS(F, _system)

enum { VALUES = 16, FUNCTIONS = 128 };

/* A value of another type with the same bits, as far as it has them. */
template <typename T> __host__ __device__ T from_bits(u64 bits)
{
    T value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
template <typename T> __host__ __device__ u64 to_bits(T value)
{
    u64 bits = 0;
    memcpy(&bits, &value, sizeof value);
    return bits;
}

/* Pairs of values: in `before` and `after` there are two words for each function and pair, for global and for shared memory. */
__global__ void run_all(const u64 *values, u64 *results, u64 *room)
{
    __shared__ u64 own[VALUES * VALUES];
    int pair = (int)threadIdx.x, count = 0;
    u64 *global_word = room + pair, *shared_word = own + pair;
#define ON_DEVICE(name, type, left) \
    for (int where = 0; where < 2; where++) { \
        u64 *word = where ? shared_word : global_word, *to = results + ((count++ * VALUES * VALUES) + pair) * 2; \
        *word = 0; \
        *(type *)word = from_bits<type>(values[pair / VALUES]); \
        to[0] = to_bits(name((type *)word, from_bits<type>(values[pair % VALUES]))); \
        to[1] = to_bits(*(volatile type *)word); \
    }
    ALL(ON_DEVICE)
}

/* Single precision in global memory has no subnormal numbers. */
static float flushed(float value)
{
    return fabsf(value) < 0x1p-126f ? copysignf(0, value) : value;
}

template <typename T> static bool same(u64 found, T wanted)
{
    T value = from_bits<T>(found);
    return to_bits(value) == to_bits(wanted) || (value != value && wanted != wanted);
}

static void check_all(const u64 *values)
{
    u64 *results, *room;
    int count = 0;
    CHECK(cudaMallocManaged(&results, 2 * FUNCTIONS * VALUES * VALUES * 2 * sizeof *results));
    CHECK(cudaMallocManaged(&room, VALUES * VALUES * sizeof *room));
    run_all<<<1, VALUES * VALUES>>>(values, results, room);
    CHECK(cudaDeviceSynchronize());
#define ON_HOST(name, type, left) \
    for (int where = 0; where < 2; where++, count++) \
        for (int pair = 0; pair < VALUES * VALUES; pair++) { \
            const u64 *from = results + (count * VALUES * VALUES + pair) * 2; \
            type old = from_bits<type>(values[pair / VALUES]), v = from_bits<type>(values[pair % VALUES]); \
            (void)v; \
            if (!same(from[0], old) || !same(from[1], (type)(left))) { \
                fprintf(stderr, "%s of %s (memory %d): %llx and %llx give %llx and leave %llx\n", #name, #type, where, to_bits(old), to_bits(v), from[0], from[1]); \
                exit(1); \
            } \
        }
    ALL(ON_HOST)
    EXPECT(count <= 2 * FUNCTIONS);
}

/* ---- exchanges where they compare ---- */

struct exchanged {
    int word, word_before[2];
    u32 unsigned_word, unsigned_before[2];
    u64 wide, wide_before[2];
    unsigned short half, half_before[2];
    u32 scoped[2];
};

__global__ void exchange(exchanged *e)
{
    e->word_before[0] = atomicCAS(&e->word, -5, 7);
    e->word_before[1] = atomicCAS(&e->word, -5, 8);
    e->unsigned_before[0] = atomicCAS(&e->unsigned_word, 0xfffffffbu, 7u);
    e->unsigned_before[1] = atomicCAS_block(&e->unsigned_word, 7u, 9u);
    e->wide_before[0] = atomicCAS(&e->wide, 0x100000000ull, 7ull);
    e->wide_before[1] = atomicCAS_system(&e->wide, 0x100000000ull, 9ull);
    e->half_before[0] = atomicCAS(&e->half, (unsigned short)0x8000, (unsigned short)7);
    e->half_before[1] = atomicCAS(&e->half, (unsigned short)0x8000, (unsigned short)9);
}

static void check_exchanges()
{
    exchanged *e;
    CHECK(cudaMallocManaged(&e, sizeof *e));
    memset(e, 0, sizeof *e);
    e->word = -5, e->unsigned_word = 0xfffffffbu, e->wide = 0x100000000ull, e->half = 0x8000;
    exchange<<<1, 1>>>(e);
    CHECK(cudaDeviceSynchronize());
    EXPECT(e->word == 7 && e->word_before[0] == -5 && e->word_before[1] == 7);
    EXPECT(e->unsigned_word == 9 && e->unsigned_before[0] == 0xfffffffbu && e->unsigned_before[1] == 7);
    EXPECT(e->wide == 7 && e->wide_before[0] == 0x100000000ull && e->wide_before[1] == 7);
    EXPECT(e->half == 7 && e->half_before[0] == 0x8000 && e->half_before[1] == 7);
    EXPECT(e->scoped[0] == 0); /* what lies beside the half word */
}

/* ---- many threads on one value ---- */

struct together {
    u32 up, down, flipped;
    u64 flipped_wide, least, most;
    double sum;
    float exchanged, taken;
};

__global__ void join(together *t)
{
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicInc(&t->up, 99);
    atomicDec(&t->down, 99);
    atomicXor(&t->flipped, i);
    atomicXor(&t->flipped_wide, (u64)i << 31);
    atomicMin(&t->least, (u64)i * 0x123456789abull % 0xfffffffffull);
    atomicMax(&t->most, (u64)i * 0x123456789abull % 0xfffffffffull);
    atomicAdd(&t->sum, 0.25 * i);
    atomicAdd(&t->taken, atomicExch(&t->exchanged, (float)i)); /* what each puts there is taken once, but for the last */
}

static void check_together()
{
    const u32 count = 6 * 96;
    together *t, wanted;
    CHECK(cudaMallocManaged(&t, sizeof *t));
    memset(&wanted, 0, sizeof wanted);
    wanted.least = ~0ull;
    *t = wanted;
    join<<<6, 96>>>(t);
    CHECK(cudaDeviceSynchronize());
    for (u32 i = 0; i < count; i++) {
        u64 value = (u64)i * 0x123456789abull % 0xfffffffffull;
        wanted.flipped ^= i;
        wanted.flipped_wide ^= (u64)i << 31;
        wanted.least = value < wanted.least ? value : wanted.least;
        wanted.most = value > wanted.most ? value : wanted.most;
        wanted.sum += 0.25 * i;
        wanted.taken += (float)i;
    }
    EXPECT(t->up == count % 100 && t->down == (1000 - count) % 100);
    EXPECT(t->flipped == wanted.flipped && t->flipped_wide == wanted.flipped_wide);
    EXPECT(t->least == wanted.least && t->most == wanted.most && t->sum == wanted.sum);
    EXPECT(t->taken + t->exchanged == wanted.taken);
}

int main()
{
    const u64 edges[VALUES] = {0, 1, 5, 0x3f800000, 0x7fffffff, 0x80000000ull, 0xffffffffull, 0x3ff0000000000000ull, 0x40000000c0000000ull, 0x7fffffffffffffffull,
                               0x8000000000000000ull, ~0ull, 0x7ff0000000000000ull, 0x123456789abcdefull, 0x4010000000000001ull, 0x00000001fffffffeull};
    u64 *values;
    CHECK(cudaMallocManaged(&values, sizeof edges));
    memcpy(values, edges, sizeof edges);
    check_all(values);
    check_exchanges();
    check_together();
    return 0;
}

/* nvcc compiles the programs together. */
#undef WORDS
#undef ALL
#undef ON_DEVICE
#undef ON_HOST
