/* SPDX-License-Identifier: MIT */
/* Integer intrinsics, each against plain C on the host: bits, products, dot products, lanes of words, at edges and at drawn values. */
#include "check.h"

typedef unsigned int u32;
typedef unsigned long long u64;

/* ---- what is wanted ---- */

static int leading_zeros(u64 x, int bits)
{
    int count = 0;
    while (count < bits && !(x >> (bits - 1 - count) & 1))
        count++;
    return count;
}
static int ones(u64 x)
{
    int count = 0;
    for (; x; x >>= 1)
        count += (int)(x & 1);
    return count;
}
static int first_one(u64 x)
{
    for (int i = 0; i < 64; i++)
        if (x >> i & 1)
            return i + 1;
    return 0;
}
static u64 reversed(u64 x, int bits)
{
    u64 result = 0;
    for (int i = 0; i < bits; i++)
        result |= (x >> i & 1) << (bits - 1 - i);
    return result;
}
static u32 funnel(u32 low, u32 high, u32 shift, bool left)
{
    if (shift == 0)
        return left ? high : low;
    if (shift == 32)
        return left ? low : high;
    return left ? high << shift | low >> (32 - shift) : low >> shift | high << (32 - shift);
}
static u32 permuted(u32 x, u32 y, u32 selector)
{
    u64 bytes = (u64)y << 32 | x;
    u32 result = 0;
    for (int i = 0; i < 4; i++)
        result |= (u32)(bytes >> (selector >> 4 * i & 7) * 8 & 0xff) << 8 * i;
    return result;
}
static int signed_24(u32 x)
{
    return (int)(x << 8) >> 8;
}
/* What the nth bit that is set is, upwards from a place or downwards. */
static u32 nth_one(u32 mask, u32 base, int offset)
{
    int count = 0;
    if (offset == 0)
        return mask >> base & 1 ? base : ~0u;
    for (int i = (int)base; i >= 0 && i < 32; i += offset > 0 ? 1 : -1) {
        count += (int)(mask >> i & 1);
        if (mask >> i & 1 && count == abs(offset))
            return (u32)i;
    }
    return ~0u;
}
static int byte_of(u32 x, int i, bool is_signed)
{
    return is_signed ? (int)(signed char)(x >> 8 * i) : (int)(x >> 8 * i & 0xff);
}
static int half_of(u32 x, int i, bool is_signed)
{
    return is_signed ? (int)(short)(x >> 16 * i) : (int)(x >> 16 * i & 0xffff);
}
static u32 dot4(u32 x, u32 y, u32 z, bool is_signed)
{
    for (int i = 0; i < 4; i++)
        z += (u32)(byte_of(x, i, is_signed) * byte_of(y, i, is_signed));
    return z;
}
static u32 dot2(u32 x, u32 y, u32 z, bool is_signed, int first)
{
    for (int i = 0; i < 2; i++)
        z += (u32)half_of(x, i, is_signed) * (u32)byte_of(y, first + i, is_signed);
    return z;
}
static __int128 product(long long x, long long y)
{
    return (__int128)x * y;
}
static unsigned __int128 product_of_unsigned(u64 x, u64 y)
{
    return (unsigned __int128)x * y;
}
static int between(int least, int x, int most)
{
    return x < least ? least : x > most ? most : x;
}
template <typename F> static u32 lanes(u32 x, u32 y, int width, bool is_signed, F compute)
{
    u32 result = 0;
    for (int i = 0; i < 32 / width; i++) {
        int a = width == 8 ? byte_of(x, i, is_signed) : half_of(x, i, is_signed);
        int b = width == 8 ? byte_of(y, i, is_signed) : half_of(y, i, is_signed);
        result |= ((u32)compute(a, b) & ((1u << width) - 1)) << i * width;
    }
    return result;
}
template <typename F> static u32 lane_sum(u32 x, u32 y, int width, bool is_signed, F compute)
{
    u32 each = lanes(x, y, width, is_signed, compute), result = 0;
    for (int i = 0; i < 32; i += width)
        result += each >> i & ((1u << width) - 1);
    return result;
}
/* ---- x, y and z are words, l and m longer ones: F(what the device computes, what is wanted) ---- */

#define BITS(F) \
    F(__clz((int)x), leading_zeros(x, 32)) \
    F(__clzll((long long)l), leading_zeros(l, 64)) \
    F(__popc(x), ones(x)) \
    F(__popcll(l), ones(l)) \
    F(__ffs((int)x), first_one(x)) \
    F(__ffsll((long long)l), first_one(l)) \
    F(__brev(x), reversed(x, 32)) \
    F(__brevll(l), reversed(l, 64)) \
    F(__funnelshift_l(x, y, z), funnel(x, y, z & 31, true)) \
    F(__funnelshift_lc(x, y, z), funnel(x, y, z < 32 ? z : 32, true)) \
    F(__funnelshift_r(x, y, z), funnel(x, y, z & 31, false)) \
    F(__funnelshift_rc(x, y, z), funnel(x, y, z < 32 ? z : 32, false)) \
    F(__byte_perm(x, y, z), permuted(x, y, z)) \
    F(__fns(x, y & 31, (int)(z & 15)), nth_one(x, y & 31, (int)(z & 15))) \
    F(__fns(x, y & 31, -(int)(z & 15)), nth_one(x, y & 31, -(int)(z & 15)))
#define PRODUCTS(F) \
    F(__mulhi((int)x, (int)y), (int)(product((int)x, (int)y) >> 32)) \
    F(__umulhi(x, y), (u32)(product_of_unsigned(x, y) >> 32)) \
    F(__mul64hi((long long)l, (long long)m), (u64)(product((long long)l, (long long)m) >> 64)) \
    F(__umul64hi(l, m), (u64)(product_of_unsigned(l, m) >> 64)) \
    F(__mul24((int)x, (int)y), (int)product(signed_24(x), signed_24(y))) \
    F(__umul24(x, y), (u32)product_of_unsigned(x & 0xffffff, y & 0xffffff)) \
    F(__sad((int)x, (int)y, z), z + (u32)llabs((long long)(int)x - (int)y)) \
    F(__usad(x, y, z), z + (u32)llabs((long long)x - (long long)y)) \
    F(__hadd((int)x, (int)y), (int)(((long long)(int)x + (int)y) >> 1)) \
    F(__rhadd((int)x, (int)y), (int)(((long long)(int)x + (int)y + 1) >> 1)) \
    F(__uhadd(x, y), (u32)(((u64)x + y) >> 1)) \
    F(__urhadd(x, y), (u32)(((u64)x + y + 1) >> 1)) \
    F(__dp4a((int)x, (int)y, (int)z), (int)dot4(x, y, z, true)) \
    F(__dp4a(x, y, z), dot4(x, y, z, false)) \
    F(__dp4a(bytes_of(x), bytes_of(y), (int)z), (int)dot4(x, y, z, true)) \
    F(__dp2a_lo((int)x, (int)y, (int)z), (int)dot2(x, y, z, true, 0)) \
    F(__dp2a_hi((int)x, (int)y, (int)z), (int)dot2(x, y, z, true, 2)) \
    F(__dp2a_lo(x, y, z), dot2(x, y, z, false, 0)) \
    F(__dp2a_hi(x, y, z), dot2(x, y, z, false, 2)) \
    F(min((int)x, y), x < y ? x : y) \
    F(max(l, (long long)m), l > m ? l : m)
#define LANE(F, name, is_signed, least, most, expression) \
    F(name##4(x, y), lanes(x, y, 8, is_signed, [](int a, int b) { return (int)(expression(least##8, most##8)); })) \
    F(name##2(x, y), lanes(x, y, 16, is_signed, [](int a, int b) { return (int)(expression(least##16, most##16)); }))
#define S8 (-128)
#define T8 127
#define U8 255
#define S16 (-32768)
#define T16 32767
#define U16 65535
#define SUM(least, most) a + b
#define LESS(least, most) a - b
#define SUM_BETWEEN(least, most) between(least, a + b, most)
#define LESS_BETWEEN(least, most) between(least, a - b, most)
#define SUM_FROM_0(least, most) between(0, a + b, most)
#define LESS_FROM_0(least, most) between(0, a - b, most)
#define MEAN_DOWN(least, most) (a + b) >> 1
#define MEAN_UP(least, most) (a + b + 1) >> 1
#define MEAN_AWAY(least, most) (a + b + (a + b >= 0)) >> 1
#define APART(least, most) abs(a - b)
#define LEAST(least, most) a < b ? a : b
#define MOST(least, most) a > b ? a : b
#define LANES(F) \
    LANE(F, __vadd, true, S, T, SUM) \
    LANE(F, __vsub, true, S, T, LESS) \
    LANE(F, __vaddss, true, S, T, SUM_BETWEEN) \
    LANE(F, __vsubss, true, S, T, LESS_BETWEEN) \
    LANE(F, __vaddus, false, S, U, SUM_FROM_0) \
    LANE(F, __vsubus, false, S, U, LESS_FROM_0) \
    LANE(F, __vavgu, false, S, U, MEAN_UP) \
    LANE(F, __vavgs, true, S, T, MEAN_AWAY) \
    LANE(F, __vhaddu, false, S, U, MEAN_DOWN) \
    LANE(F, __vabsdiffs, true, S, T, APART) \
    LANE(F, __vabsdiffu, false, S, U, APART) \
    LANE(F, __vmins, true, S, T, LEAST) \
    LANE(F, __vmaxs, true, S, T, MOST) \
    LANE(F, __vminu, false, S, U, LEAST) \
    LANE(F, __vmaxu, false, S, U, MOST)
#define COMPARED(F, word, is_signed, symbol) \
    F(__vcmp##word##4(x, y), lanes(x, y, 8, is_signed, [](int a, int b) { return a symbol b ? -1 : 0; })) \
    F(__vset##word##4(x, y), lanes(x, y, 8, is_signed, [](int a, int b) { return a symbol b ? 1 : 0; })) \
    F(__vcmp##word##2(x, y), lanes(x, y, 16, is_signed, [](int a, int b) { return a symbol b ? -1 : 0; })) \
    F(__vset##word##2(x, y), lanes(x, y, 16, is_signed, [](int a, int b) { return a symbol b ? 1 : 0; }))
#define COMPARISONS(F) \
    COMPARED(F, eq, true, ==) \
    COMPARED(F, ne, true, !=) \
    COMPARED(F, lts, true, <) \
    COMPARED(F, les, true, <=) \
    COMPARED(F, gts, true, >) \
    COMPARED(F, ges, true, >=) \
    COMPARED(F, ltu, false, <) \
    COMPARED(F, leu, false, <=) \
    COMPARED(F, gtu, false, >) \
    COMPARED(F, geu, false, >=)
#define OF_ONE(F) \
    F(__vabs4(x), lanes(x, 0, 8, true, [](int a, int) { return abs(a); })) \
    F(__vabs2(x), lanes(x, 0, 16, true, [](int a, int) { return abs(a); })) \
    F(__vabsss4(x), lanes(x, 0, 8, true, [](int a, int) { return between(0, abs(a), 127); })) \
    F(__vabsss2(x), lanes(x, 0, 16, true, [](int a, int) { return between(0, abs(a), 32767); })) \
    F(__vneg4(x), lanes(x, 0, 8, true, [](int a, int) { return -a; })) \
    F(__vneg2(x), lanes(x, 0, 16, true, [](int a, int) { return -a; })) \
    F(__vnegss4(x), lanes(x, 0, 8, true, [](int a, int) { return between(-128, -a, 127); })) \
    F(__vnegss2(x), lanes(x, 0, 16, true, [](int a, int) { return between(-32768, -a, 32767); })) \
    F(__vsads4(x, y), lane_sum(x, y, 8, true, [](int a, int b) { return abs(a - b); })) \
    F(__vsads2(x, y), lane_sum(x, y, 16, true, [](int a, int b) { return abs(a - b); })) \
    F(__vsadu4(x, y), lane_sum(x, y, 8, false, [](int a, int b) { return abs(a - b); })) \
    F(__vsadu2(x, y), lane_sum(x, y, 16, false, [](int a, int b) { return abs(a - b); }))
#define GROUPS(G) \
    G(BITS) \
    G(PRODUCTS) \
    G(LANES) \
    G(COMPARISONS) \
    G(OF_ONE)

struct input {
    u32 x, y, z;
    u64 l, m;
};
enum { ROOM = 128 };

__device__ char4 bytes_of(u32 x)
{
    return make_char4((signed char)x, (signed char)(x >> 8), (signed char)(x >> 16), (signed char)(x >> 24));
}

#define ON_DEVICE(device, wanted) to[count++] = (u64)(device);
#define ON_HOST(device, wanted) \
    if (from[count++] != (u64)(wanted)) { \
        fprintf(stderr, "%s of %x %x %x %llx %llx is %llx, not %llx\n", #device, x, y, z, l, m, from[count - 1], \
                (u64)(wanted)); \
        exit(1); \
    }
#define KERNEL(group) \
    __global__ void run_##group(const input *inputs, int inputs_count, u64 *results) \
    { \
        int i = (int)(blockIdx.x * blockDim.x + threadIdx.x), count = 0; \
        if (i >= inputs_count) \
            return; \
        u32 x = inputs[i].x, y = inputs[i].y, z = inputs[i].z; \
        u64 l = inputs[i].l, m = inputs[i].m, *to = results + i * ROOM; \
        (void)l, (void)m, (void)z; \
        group(ON_DEVICE) \
    } \
    static void check_##group(const input *inputs, int inputs_count, u64 *results) \
    { \
        int count = 0; \
        run_##group<<<(inputs_count + 63) / 64, 64>>>(inputs, inputs_count, results); \
        CHECK(cudaDeviceSynchronize()); \
        for (int i = 0; i < inputs_count; i++) { \
            u32 x = inputs[i].x, y = inputs[i].y, z = inputs[i].z; \
            u64 l = inputs[i].l, m = inputs[i].m; \
            const u64 *from = results + i * ROOM; \
            (void)l, (void)m, (void)z; \
            count = 0; \
            group(ON_HOST) \
        } \
        EXPECT(count > 0 && count <= ROOM); \
    }
GROUPS(KERNEL)

int main()
{
    static const u32 edges[] = {0, 1, 31, 32, 33, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x7fffff, 0x800000, 0xffffff, 0x7fffffff, 0x80000000u,
                                0x80808080u, 0x7f7f7f7f, 0x80008000u, 0xfffffffeu, 0xffffffffu};
    const int edge_count = sizeof edges / sizeof *edges, count = edge_count * edge_count + 200;
    input *inputs;
    u64 *results, drawn = 88172645463325252ull;
    CHECK(cudaMallocManaged(&inputs, count * sizeof *inputs));
    CHECK(cudaMallocManaged(&results, count * ROOM * sizeof *results));
    auto draw = [&]() {
        drawn ^= drawn << 13;
        drawn ^= drawn >> 7;
        return drawn ^= drawn << 17;
    };
    for (int i = 0; i < count; i++) {
        bool edge = i < edge_count * edge_count;
        inputs[i].x = edge ? edges[i / edge_count] : (u32)draw();
        inputs[i].y = edge ? edges[i % edge_count] : (u32)draw();
        inputs[i].z = edge ? edges[(i / edge_count + i % edge_count) % edge_count] : (u32)draw() >> (i & 31);
        inputs[i].l = (u64)inputs[i].x << 32 | inputs[i].z;
        inputs[i].m = (u64)inputs[i].y << (i & 32) | (i & 1 ? inputs[i].x : 0);
    }
#define CALL(group) check_##group(inputs, count, results);
    GROUPS(CALL)
    EXPECT(min(3, 4u) == 3 && max(-1, 2) == 2 && max(1.5f, 2.0) == 2.0); /* the host's */
    return 0;
}

/* nvcc compiles the programs together. */
#undef BITS
#undef PRODUCTS
#undef LANE
#undef S8
#undef T8
#undef U8
#undef S16
#undef T16
#undef U16
#undef SUM
#undef LESS
#undef SUM_BETWEEN
#undef LESS_BETWEEN
#undef SUM_FROM_0
#undef LESS_FROM_0
#undef MEAN_DOWN
#undef MEAN_UP
#undef MEAN_AWAY
#undef APART
#undef LEAST
#undef MOST
#undef LANES
#undef COMPARED
#undef COMPARISONS
#undef OF_ONE
#undef GROUPS
#undef ON_DEVICE
#undef ON_HOST
#undef KERNEL
#undef CALL
