/* SPDX-License-Identifier: MIT */
/* Integer and logic operations over lanes against plain scalar arithmetic. */
#include "isa/lanes_harness.h"

#define S16(x) ((int16_t)(x))
#define S32(x) ((int32_t)(x))
#define S64(x) ((int64_t)(x))
#define U16(x) ((uint16_t)(x))
#define U32(x) ((uint32_t)(x))
typedef __int128 wide;

static int64_t clamp(wide x)
{
    return x < INT32_MIN ? INT32_MIN : x > INT32_MAX ? INT32_MAX : (int64_t)x;
}

static uint64_t quotient(int64_t a, int64_t b)
{
    return b == 0 ? UINT64_MAX : (uint64_t)((wide)a / b);
}

static uint64_t rest(int64_t a, int64_t b)
{
    return b == 0 ? UINT64_MAX : (uint64_t)((wide)a % b);
}

static uint64_t bit(uint64_t x, uint64_t position)
{
    return position < 64 ? x >> position & 1 : 0;
}

/* Bit by bit, as the PTX manual writes it. */
static uint64_t field(uint64_t a, uint64_t b, uint64_t c, unsigned bits, bool is_signed)
{
    /* of 64 bits all of b and c counts, as on the H100 */
    uint64_t kept = bits == 64 ? 0xffffffff : 0xff, position = b & kept, length = c & kept, top = bits - 1, result = 0;
    uint64_t last = position + length - 1 < top ? position + length - 1 : top;
    uint64_t sign = !is_signed || length == 0 ? 0 : bit(a, last);
    for (uint64_t i = 0; i <= top; i++)
        result |= (i < length && position + i <= top ? bit(a, position + i) : sign) << i;
    return result;
}

static uint64_t insert(uint64_t a, uint64_t b, uint64_t c, uint64_t e, unsigned bits)
{
    uint64_t kept = bits == 64 ? 0xffffffff : 0xff, position = c & kept, length = e & kept, result = b;
    for (uint64_t i = 0; i < length && position + i < bits; i++)
        result = (result & ~(UINT64_C(1) << (position + i))) | bit(a, i) << (position + i);
    return result;
}

enum { U, S };

/* Operations on two halves or four bytes at once, as the PTX manual writes them. */
static uint64_t parts(uint64_t a, uint64_t b, uint64_t c, int count, char what, int d_type, int a_type, int b_type,
                      int saturate, int adds)
{
    int64_t span = count == 2 ? 65536 : 256, sum = 0;
    uint64_t result = 0, scale = 1;
    for (int i = 0; i < count; i++, scale *= (uint64_t)span, a /= (uint64_t)span, b /= (uint64_t)span) {
        int64_t x = (int64_t)(a % (uint64_t)span), y = (int64_t)(b % (uint64_t)span), z;
        x -= a_type == S && x >= span / 2 ? span : 0;
        y -= b_type == S && y >= span / 2 ? span : 0;
        int64_t mean = x + y >= 0 ? (x + y + 1) / 2 : (x + y - ((x + y) % 2 != 0)) / 2;
        z = what == '+' ? x + y : what == '-' ? x - y : what == 'm' ? mean : what == 'd' ? llabs(x - y) : 0;
        z = what == '<' ? (x < y ? x : y) : what == '>' ? (x > y ? x : y) : z;
        int64_t top = d_type == S ? span / 2 - 1 : span - 1, bottom = d_type == S ? -span / 2 : 0;
        if (saturate)
            z = z > top ? top : z < bottom ? bottom : z;
        sum += z;
        result += (uint64_t)((z % span + span) % span) * scale;
    }
    return adds ? U32(c + (uint64_t)sum) : result;
}

/* a above b, as divisions and remainders; what fits into the 32 bits. */
static uint64_t packed(uint64_t a, uint64_t b, uint64_t c, int bits, int type)
{
    int64_t span = INT64_C(1) << bits, top = type == S ? span / 2 - 1 : span - 1, bottom = type == S ? -span / 2 : 0;
    int64_t high = S32(a) > top ? top : S32(a) < bottom ? bottom : S32(a);
    int64_t low = S32(b) > top ? top : S32(b) < bottom ? bottom : S32(b);
    uint64_t pair = (uint64_t)((high + span) % span * span + (low + span) % span);
    return U32(pair + (bits < 16 ? c * (uint64_t)(span * span) : 0));
}

static uint64_t find(uint64_t a, unsigned bits, bool is_signed, bool amount)
{
    for (unsigned i = bits; i-- > 0;)
        if (bit(a, i) != (is_signed ? bit(a, bits - 1) : 0))
            return amount ? bits - 1 - i : i;
    return 0xffffffff;
}

static uint64_t reverse(uint64_t a, unsigned bits)
{
    uint64_t result = 0;
    for (unsigned i = 0; i < bits; i++)
        result |= bit(a, i) << (bits - 1 - i);
    return result;
}

static uint64_t count(uint64_t a)
{
    uint64_t result = 0;
    for (unsigned i = 0; i < 64; i++)
        result += bit(a, i);
    return result;
}

static uint64_t leading(uint64_t a, unsigned bits)
{
    unsigned i = 0;
    while (i < bits && !bit(a, bits - 1 - i))
        i++;
    return i;
}

static uint64_t byte_of(uint64_t a, uint64_t b, unsigned index)
{
    return (index < 4 ? a >> 8 * index : b >> 8 * (index - 4)) & 0xff;
}

static uint64_t bytes4(uint64_t a, uint64_t b, unsigned i3, unsigned i2, unsigned i1, unsigned i0)
{
    return byte_of(a, b, i3) << 24 | byte_of(a, b, i2) << 16 | byte_of(a, b, i1) << 8 | byte_of(a, b, i0);
}

/* {b3, b2, b1, b0} of mode b4e: 5670, 6701, 7012, 0123. */
static uint64_t backward(uint64_t a, uint64_t b, uint64_t c)
{
    unsigned n = c & 3;
    return bytes4(a, b, (5 + n) % 8, (6 + n) % 8, (7 + n) % 8, n);
}

static uint64_t permuted(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t result = 0;
    for (unsigned i = 0; i < 4; i++) {
        unsigned control = c >> 4 * i & 15;
        uint64_t byte = byte_of(a, b, control & 7);
        if (control & 8)
            byte = byte & 0x80 ? 0xff : 0;
        result |= byte << 8 * i;
    }
    return result;
}

static uint64_t dot4(uint64_t a, uint64_t b, uint64_t c, bool as, bool bs)
{
    int64_t sum = 0;
    for (unsigned i = 0; i < 4; i++) {
        int64_t x = a >> 8 * i & 0xff, y = b >> 8 * i & 0xff;
        sum += (as ? (int8_t)x : x) * (bs ? (int8_t)y : y);
    }
    return c + (uint64_t)sum;
}

static uint64_t dot2(uint64_t a, uint64_t b, uint64_t c, bool as, bool bs, bool high)
{
    int64_t sum = 0;
    for (unsigned i = 0; i < 2; i++) {
        int64_t x = a >> 16 * i & 0xffff, y = b >> 8 * (i + 2 * high) & 0xff;
        sum += (as ? (int16_t)x : x) * (bs ? (int8_t)y : y);
    }
    return c + (uint64_t)sum;
}

static uint64_t logic(uint64_t a, uint64_t b, uint64_t c, unsigned table)
{
    uint64_t result = 0;
    for (unsigned i = 0; i < 32; i++)
        result |= (uint64_t)(table >> (4 * bit(a, i) + 2 * bit(b, i) + bit(c, i)) & 1) << i;
    return result;
}

static int64_t low24(uint64_t x, bool is_signed)
{
    int64_t low = x & 0xffffff;
    return is_signed && low & 0x800000 ? low - 0x1000000 : low;
}

static int64_t distance(int64_t a, int64_t b)
{
    return (int64_t)(a < b ? (uint64_t)b - (uint64_t)a : (uint64_t)a - (uint64_t)b);
}

#define CASES(X) \
    X(mov16, "mov.b16", "hh", U16(a), "") \
    X(mov32, "mov.u32", "rr", a, "") \
    X(mov64, "mov.b64", "dd", a, "") \
    X(add16, "add.s16", "hhh", U16(a + b), "") \
    X(add32, "add.s32", "rrr", a + b, "") \
    X(add64, "add.u64", "ddd", a + b, "") \
    X(addsat, "add.sat.s32", "rrr", clamp((wide)S32(a) + S32(b)), "") \
    X(sub16, "sub.u16", "hhh", U16(a - b), "") \
    X(sub32, "sub.s32", "rrr", a - b, "") \
    X(sub64, "sub.s64", "ddd", a - b, "") \
    X(subsat, "sub.sat.s32", "rrr", clamp((wide)S32(a) - S32(b)), "") \
    X(mullo16, "mul.lo.s16", "hhh", U16(S16(a) * S16(b)), "") \
    X(mullo32, "mul.lo.s32", "rrr", S64(S32(a)) * S32(b), "") \
    X(mullo64, "mul.lo.u64", "ddd", a *b, "") \
    X(mulhi_u16, "mul.hi.u16", "hhh", U32(U16(a)) * U16(b) >> 16, "") \
    X(mulhi_s16, "mul.hi.s16", "hhh", U16(S16(a) * S16(b) >> 16), "") \
    X(mulhi_u32, "mul.hi.u32", "rrr", a *b >> 32, "") \
    X(mulhi_s32, "mul.hi.s32", "rrr", S64(S32(a)) * S32(b) >> 32, "") \
    X(mulhi_u64, "mul.hi.u64", "ddd", (unsigned __int128)a *b >> 64, "") \
    X(mulhi_s64, "mul.hi.s64", "ddd", (wide)S64(a) * S64(b) >> 64, "") \
    X(mulwide_u16, "mul.wide.u16", "rhh", U32(U16(a)) * U16(b), "") \
    X(mulwide_s16, "mul.wide.s16", "rhh", S16(a) * S16(b), "") \
    X(mulwide_u32, "mul.wide.u32", "drr", a *b, "") \
    X(mulwide_s32, "mul.wide.s32", "drr", S64(S32(a)) * S32(b), "") \
    X(madlo16, "mad.lo.u16", "hhhh", U16(U32(U16(a)) * U16(b) + c), "") \
    X(madlo32, "mad.lo.s32", "rrrr", a *b + c, "") \
    X(madlo64, "mad.lo.s64", "dddd", a *b + c, "") \
    X(madhi_u16, "mad.hi.u16", "hhhh", U16((U32(U16(a)) * U16(b) >> 16) + c), "") \
    X(madhi_s16, "mad.hi.s16", "hhhh", U16((S16(a) * S16(b) >> 16) + (int64_t)c), "") \
    X(madhi_u32, "mad.hi.u32", "rrrr", (a * b >> 32) + c, "") \
    X(madhi_s32, "mad.hi.s32", "rrrr", (uint64_t)(S64(S32(a)) * S32(b) >> 32) + c, "") \
    X(madhi_sat, "mad.hi.sat.s32", "rrrr", clamp((S64(S32(a)) * S32(b) >> 32) + S32(c)), "") \
    X(madhi_u64, "mad.hi.u64", "dddd", (uint64_t)((unsigned __int128)a * b >> 64) + c, "") \
    X(madhi_s64, "mad.hi.s64", "dddd", (uint64_t)((wide)S64(a) * S64(b) >> 64) + c, "") \
    X(madwide_u16, "mad.wide.u16", "rhhr", U32(U16(a)) * U16(b) + c, "") \
    X(madwide_s16, "mad.wide.s16", "rhhr", (uint64_t)(S16(a) * S16(b)) + c, "") \
    X(madwide_u32, "mad.wide.u32", "drrd", a *b + c, "") \
    X(madwide_s32, "mad.wide.s32", "drrd", (uint64_t)(S64(S32(a)) * S32(b)) + c, "") \
    X(mul24lo_u, "mul24.lo.u32", "rrr", low24(a, 0) * low24(b, 0), "") \
    X(mul24lo_s, "mul24.lo.s32", "rrr", low24(a, 1) * low24(b, 1), "") \
    X(mul24hi_u, "mul24.hi.u32", "rrr", low24(a, 0) * low24(b, 0) >> 16, "") \
    X(mul24hi_s, "mul24.hi.s32", "rrr", low24(a, 1) * low24(b, 1) >> 16, "") \
    X(mad24lo_u, "mad24.lo.u32", "rrrr", (uint64_t)(low24(a, 0) * low24(b, 0)) + c, "") \
    X(mad24lo_s, "mad24.lo.s32", "rrrr", (uint64_t)(low24(a, 1) * low24(b, 1)) + c, "") \
    X(mad24hi_u, "mad24.hi.u32", "rrrr", (uint64_t)(low24(a, 0) * low24(b, 0) >> 16) + c, "") \
    X(mad24hi_s, "mad24.hi.s32", "rrrr", (uint64_t)(low24(a, 1) * low24(b, 1) >> 16) + c, "") \
    X(mad24hi_sat, "mad24.hi.sat.s32", "rrrr", clamp((low24(a, 1) * low24(b, 1) >> 16) + S32(c)), "") \
    X(sad_u16, "sad.u16", "hhhh", U16((uint64_t)distance(U16(a), U16(b)) + c), "") \
    X(sad_s16, "sad.s16", "hhhh", U16((uint64_t)distance(S16(a), S16(b)) + c), "") \
    X(sad_u32, "sad.u32", "rrrr", (uint64_t)distance(U32(a), U32(b)) + c, "") \
    X(sad_s32, "sad.s32", "rrrr", (uint64_t)distance(S32(a), S32(b)) + c, "") \
    X(sad_u64, "sad.u64", "dddd", (a < b ? b - a : a - b) + c, "") \
    X(sad_s64, "sad.s64", "dddd", (uint64_t)distance(S64(a), S64(b)) + c, "") \
    X(div_u16, "div.u16", "hhh", U16(quotient(U16(a), U16(b))), "") \
    X(div_s16, "div.s16", "hhh", U16(quotient(S16(a), S16(b))), "") \
    X(div_u32, "div.u32", "rrr", quotient(U32(a), U32(b)), "") \
    X(div_s32, "div.s32", "rrr", quotient(S32(a), S32(b)), "") \
    X(div_u64, "div.u64", "ddd", b ? a / b : UINT64_MAX, "") \
    X(div_s64, "div.s64", "ddd", quotient(S64(a), S64(b)), "") \
    X(rem_u16, "rem.u16", "hhh", U16(rest(U16(a), U16(b))), "") \
    X(rem_s16, "rem.s16", "hhh", U16(rest(S16(a), S16(b))), "") \
    X(rem_u32, "rem.u32", "rrr", rest(U32(a), U32(b)), "") \
    X(rem_s32, "rem.s32", "rrr", rest(S32(a), S32(b)), "") \
    X(rem_u64, "rem.u64", "ddd", b ? a % b : UINT64_MAX, "") \
    X(rem_s64, "rem.s64", "ddd", rest(S64(a), S64(b)), "") \
    X(abs16, "abs.s16", "hh", U16(S16(a) < 0 ? -S16(a) : S16(a)), "") \
    X(abs32, "abs.s32", "rr", S32(a) < 0 ? 0 - a : a, "") \
    X(abs64, "abs.s64", "dd", S64(a) < 0 ? 0 - a : a, "") \
    X(neg16, "neg.s16", "hh", U16(0 - a), "") \
    X(neg32, "neg.s32", "rr", 0 - a, "") \
    X(neg64, "neg.s64", "dd", 0 - a, "") \
    X(min_u16, "min.u16", "hhh", U16(a) < U16(b) ? U16(a) : U16(b), "") \
    X(min_s16, "min.s16", "hhh", U16(S16(a) < S16(b) ? a : b), "") \
    X(min_u32, "min.u32", "rrr", a < b ? a : b, "") \
    X(min_s32, "min.s32", "rrr", S32(a) < S32(b) ? a : b, "") \
    X(min_u64, "min.u64", "ddd", a < b ? a : b, "") \
    X(min_s64, "min.s64", "ddd", S64(a) < S64(b) ? a : b, "") \
    X(max_u16, "max.u16", "hhh", U16(a) > U16(b) ? U16(a) : U16(b), "") \
    X(max_s16, "max.s16", "hhh", U16(S16(a) > S16(b) ? a : b), "") \
    X(max_u32, "max.u32", "rrr", a > b ? a : b, "") \
    X(max_s32, "max.s32", "rrr", S32(a) > S32(b) ? a : b, "") \
    X(max_u64, "max.u64", "ddd", a > b ? a : b, "") \
    X(max_s64, "max.s64", "ddd", S64(a) > S64(b) ? a : b, "") \
    X(and16, "and.b16", "hhh", U16(a &b), "") \
    X(and32, "and.b32", "rrr", a &b, "") \
    X(and64, "and.b64", "ddd", a &b, "") \
    X(or16, "or.b16", "hhh", U16(a | b), "") \
    X(or32, "or.b32", "rrr", a | b, "") \
    X(or64, "or.b64", "ddd", a | b, "") \
    X(xor16, "xor.b16", "hhh", U16(a ^ b), "") \
    X(xor32, "xor.b32", "rrr", a ^ b, "") \
    X(xor64, "xor.b64", "ddd", a ^ b, "") \
    X(not16, "not.b16", "hh", U16(~a), "") \
    X(not32, "not.b32", "rr", ~a, "") \
    X(not64, "not.b64", "dd", ~a, "") \
    X(cnot16, "cnot.b16", "hh", U16(a) == 0, "") \
    X(cnot32, "cnot.b32", "rr", a == 0, "") \
    X(cnot64, "cnot.b64", "dd", a == 0, "") \
    X(lop3_96, "lop3.b32", "rrrr", a ^ b ^ c, ", 0x96") \
    X(lop3_ca, "lop3.b32", "rrrr", logic(a, b, c, 0xca), ", 0xca") \
    X(lop3_1b, "lop3.b32", "rrrr", logic(a, b, c, 0x1b), ", 0x1b") \
    X(shl16, "shl.b16", "hhr", b < 16 ? U16(a << b) : 0, "") \
    X(shl32, "shl.b32", "rrr", b < 32 ? a << b : 0, "") \
    X(shl64, "shl.b64", "ddr", b < 64 ? a << b : 0, "") \
    X(shr_b32, "shr.b32", "rrr", b < 32 ? a >> b : 0, "") \
    X(shr_u16, "shr.u16", "hhr", b < 16 ? U16(a) >> b : 0, "") \
    X(shr_s16, "shr.s16", "hhr", U16(S16(a) >> (b < 15 ? b : 15)), "") \
    X(shr_u32, "shr.u32", "rrr", b < 32 ? a >> b : 0, "") \
    X(shr_s32, "shr.s32", "rrr", S32(a) >> (b < 31 ? b : 31), "") \
    X(shr_u64, "shr.u64", "ddr", b < 64 ? a >> b : 0, "") \
    X(shr_s64, "shr.s64", "ddr", S64(a) >> (b < 63 ? b : 63), "") \
    X(shf_lw, "shf.l.wrap.b32", "rrrr", (c & 31) ? b << (c & 31) | a >> (32 - (c & 31)) : b, "") \
    X(shf_lc, "shf.l.clamp.b32", "rrrr", c >= 32 ? a : c ? b << c | a >> (32 - c) : b, "") \
    X(shf_rw, "shf.r.wrap.b32", "rrrr", (c & 31) ? b << (32 - (c & 31)) | a >> (c & 31) : a, "") \
    X(shf_rc, "shf.r.clamp.b32", "rrrr", c >= 32 ? b : c ? b << (32 - c) | a >> c : a, "") \
    X(bfe_u32, "bfe.u32", "rrrr", field(a, b, c, 32, 0), "") \
    X(bfe_s32, "bfe.s32", "rrrr", field(a, b, c, 32, 1), "") \
    X(bfe_u64, "bfe.u64", "ddrr", field(a, b, c, 64, 0), "") \
    X(bfe_s64, "bfe.s64", "ddrr", field(a, b, c, 64, 1), "") \
    X(bfi32, "bfi.b32", "rrrrr", insert(a, b, c, e, 32), "") \
    X(bfi64, "bfi.b64", "dddrr", insert(a, b, c, e, 64), "") \
    X(bfind_u32, "bfind.u32", "rr", find(a, 32, 0, 0), "") \
    X(bfind_s32, "bfind.s32", "rr", find(a, 32, 1, 0), "") \
    X(bfind_u64, "bfind.u64", "rd", find(a, 64, 0, 0), "") \
    X(bfind_s64, "bfind.s64", "rd", find(a, 64, 1, 0), "") \
    X(bfind_au32, "bfind.shiftamt.u32", "rr", find(a, 32, 0, 1), "") \
    X(bfind_as32, "bfind.shiftamt.s32", "rr", find(a, 32, 1, 1), "") \
    X(bfind_au64, "bfind.shiftamt.u64", "rd", find(a, 64, 0, 1), "") \
    X(bfind_as64, "bfind.shiftamt.s64", "rd", find(a, 64, 1, 1), "") \
    X(brev32, "brev.b32", "rr", reverse(a, 32), "") \
    X(brev64, "brev.b64", "dd", reverse(a, 64), "") \
    X(popc32, "popc.b32", "rr", count(a), "") \
    X(popc64, "popc.b64", "rd", count(a), "") \
    X(clz32, "clz.b32", "rr", leading(a, 32), "") \
    X(clz64, "clz.b64", "rd", leading(a, 64), "") \
    X(bmsk_c, "bmsk.clamp.b32", "rrr", insert(UINT64_MAX, 0, a < 32 ? a : 32, b < 32 ? b : 32, 32), "") \
    X(bmsk_w, "bmsk.wrap.b32", "rrr", insert(UINT64_MAX, 0, a & 31, b & 31, 32), "") \
    X(szext_cu, "szext.clamp.u32", "rrr", field(a, 0, b < 32 ? b : 32, 32, 0), "") \
    X(szext_wu, "szext.wrap.u32", "rrr", field(a, 0, b & 31, 32, 0), "") \
    X(szext_cs, "szext.clamp.s32", "rrr", field(a, 0, b < 32 ? b : 32, 32, 1), "") \
    X(szext_ws, "szext.wrap.s32", "rrr", field(a, 0, b & 31, 32, 1), "") \
    X(prmt, "prmt.b32", "rrrr", permuted(a, b, c), "") \
    X(prmt_f4e, "prmt.b32.f4e", "rrrr", bytes4(a, b, 3 + (c & 3), 2 + (c & 3), 1 + (c & 3), c & 3), "") \
    X(prmt_b4e, "prmt.b32.b4e", "rrrr", backward(a, b, c), "") \
    X(prmt_rc8, "prmt.b32.rc8", "rrrr", bytes4(a, b, c & 3, c & 3, c & 3, c & 3), "") \
    X(prmt_ecl, "prmt.b32.ecl", "rrrr", bytes4(a, b, 3, (c & 3) > 2 ? 3 : 2, (c & 3) > 1 ? c & 3 : 1, c & 3), "") \
    X(prmt_ecr, "prmt.b32.ecr", "rrrr", bytes4(a, b, c & 3, (c & 3) < 2 ? c & 3 : 2, (c & 3) < 1 ? 0 : 1, 0), "") \
    X(prmt_rc16, "prmt.b32.rc16", "rrrr", c & 1 ? bytes4(a, b, 3, 2, 3, 2) : bytes4(a, b, 1, 0, 1, 0), "") \
    X(vadd2, "vadd2.u32.u32.u32", "rrrr", parts(a, b, c, 2, '+', U, U, U, 0, 0), "") \
    X(vadd2_sat, "vadd2.s32.s32.s32.sat", "rrrr", parts(a, b, c, 2, '+', S, S, S, 1, 0), "") \
    X(vadd4_sat, "vadd4.u32.u32.u32.sat", "rrrr", parts(a, b, c, 4, '+', U, U, U, 1, 0), "") \
    X(vadd4_mixed, "vadd4.s32.u32.s32.sat", "rrrr", parts(a, b, c, 4, '+', S, U, S, 1, 0), "") \
    X(vsub2, "vsub2.u32.u32.u32.sat", "rrrr", parts(a, b, c, 2, '-', U, U, U, 1, 0), "") \
    X(vsub4, "vsub4.s32.s32.s32.add", "rrrr", parts(a, b, c, 4, '-', S, S, S, 0, 1), "") \
    X(vavrg2, "vavrg2.u32.u32.u32", "rrrr", parts(a, b, c, 2, 'm', U, U, U, 0, 0), "") \
    X(vavrg4, "vavrg4.s32.s32.s32", "rrrr", parts(a, b, c, 4, 'm', S, S, S, 0, 0), "") \
    X(vabsdiff2, "vabsdiff2.u32.s32.s32.add", "rrrr", parts(a, b, c, 2, 'd', U, S, S, 0, 1), "") \
    X(vabsdiff4, "vabsdiff4.u32.u32.u32", "rrrr", parts(a, b, c, 4, 'd', U, U, U, 0, 0), "") \
    X(vabsdiff4_add, "vabsdiff4.u32.u32.u32.add", "rrrr", parts(a, b, c, 4, 'd', U, U, U, 0, 1), "") \
    X(vmin2, "vmin2.s32.s32.s32", "rrrr", parts(a, b, c, 2, '<', S, S, S, 0, 0), "") \
    X(vmax4, "vmax4.u32.u32.u32", "rrrr", parts(a, b, c, 4, '>', U, U, U, 0, 0), "") \
    X(add_u16x2, "add.u16x2", "rrr", parts(a, b, 0, 2, '+', U, U, U, 0, 0), "") \
    X(add_s16x2, "add.s16x2", "rrr", parts(a, b, 0, 2, '+', S, S, S, 0, 0), "") \
    X(min_u16x2, "min.u16x2", "rrr", parts(a, b, 0, 2, '<', U, U, U, 0, 0), "") \
    X(min_s16x2, "min.s16x2", "rrr", parts(a, b, 0, 2, '<', S, S, S, 0, 0), "") \
    X(max_u16x2, "max.u16x2", "rrr", parts(a, b, 0, 2, '>', U, U, U, 0, 0), "") \
    X(max_s16x2, "max.s16x2", "rrr", parts(a, b, 0, 2, '>', S, S, S, 0, 0), "") \
    X(min_s16x2_relu, "min.relu.s16x2", "rrr", \
      parts(parts(a, b, 0, 2, '<', S, S, S, 0, 0), 0, 0, 2, '>', S, S, S, 0, 0), "") \
    X(max_s16x2_relu, "max.relu.s16x2", "rrr", \
      parts(parts(a, b, 0, 2, '>', S, S, S, 0, 0), 0, 0, 2, '>', S, S, S, 0, 0), "") \
    X(min_s32_relu, "min.relu.s32", "rrr", S32(a) < 0 || S32(b) < 0 ? 0 : a < b ? a : b, "") \
    X(max_s32_relu, "max.relu.s32", "rrr", S32(a) > S32(b) ? (S32(a) < 0 ? 0 : a) : S32(b) < 0 ? 0 : b, "") \
    X(pack_u16, "cvt.pack.sat.u16.s32", "rrr", packed(a, b, 0, 16, U), "") \
    X(pack_s16, "cvt.pack.sat.s16.s32", "rrr", packed(a, b, 0, 16, S), "") \
    X(pack_u8, "cvt.pack.sat.u8.s32.b32", "rrrr", packed(a, b, c, 8, U), "") \
    X(pack_s8, "cvt.pack.sat.s8.s32.b32", "rrrr", packed(a, b, c, 8, S), "") \
    X(pack_u4, "cvt.pack.sat.u4.s32.b32", "rrrr", packed(a, b, c, 4, U), "") \
    X(pack_s4, "cvt.pack.sat.s4.s32.b32", "rrrr", packed(a, b, c, 4, S), "") \
    X(pack_u2, "cvt.pack.sat.u2.s32.b32", "rrrr", packed(a, b, c, 2, U), "") \
    X(pack_s2, "cvt.pack.sat.s2.s32.b32", "rrrr", packed(a, b, c, 2, S), "") \
    X(dp4a_uu, "dp4a.u32.u32", "rrrr", dot4(a, b, c, 0, 0), "") \
    X(dp4a_us, "dp4a.u32.s32", "rrrr", dot4(a, b, c, 0, 1), "") \
    X(dp4a_su, "dp4a.s32.u32", "rrrr", dot4(a, b, c, 1, 0), "") \
    X(dp4a_ss, "dp4a.s32.s32", "rrrr", dot4(a, b, c, 1, 1), "") \
    X(dp2a_luu, "dp2a.lo.u32.u32", "rrrr", dot2(a, b, c, 0, 0, 0), "") \
    X(dp2a_lus, "dp2a.lo.u32.s32", "rrrr", dot2(a, b, c, 0, 1, 0), "") \
    X(dp2a_lsu, "dp2a.lo.s32.u32", "rrrr", dot2(a, b, c, 1, 0, 0), "") \
    X(dp2a_lss, "dp2a.lo.s32.s32", "rrrr", dot2(a, b, c, 1, 1, 0), "") \
    X(dp2a_huu, "dp2a.hi.u32.u32", "rrrr", dot2(a, b, c, 0, 0, 1), "") \
    X(dp2a_hus, "dp2a.hi.u32.s32", "rrrr", dot2(a, b, c, 0, 1, 1), "") \
    X(dp2a_hsu, "dp2a.hi.s32.u32", "rrrr", dot2(a, b, c, 1, 0, 1), "") \
    X(dp2a_hss, "dp2a.hi.s32.s32", "rrrr", dot2(a, b, c, 1, 1, 1), "") \
    X(slct_s, "slct.u32.s32", "rrrr", S32(c) >= 0 ? a : b, "") \
    X(slct_s64, "slct.b64.s32", "dddr", S32(c) >= 0 ? a : b, "") \
    X(slct_f, "slct.b32.f32", "rrrf", f32_from(c) >= 0 ? a : b, "") \
    X(slct_f64, "slct.b64.f32", "dddf", f32_from(c) >= 0 ? a : b, "") \
    X(slct_z, "slct.ftz.b32.f32", "rrrf", f32_from(c) > -0x1p-126f ? a : b, "") \
    X(selp16, "selp.b16", "hhhp", p ? a : b, "") \
    X(selp32, "selp.f32", "fffp", p ? a : b, "") \
    X(selp64, "selp.s64", "dddp", p ? a : b, "") \
    X(addcc, "add.cc.u32", "rCrr", a + b, "") \
    X(addcc64, "add.cc.s64", "dCdd", a + b, "") \
    X(addc, "addc.u32", "rCrr", a + b + p, "") \
    X(addc64, "addc.cc.u64", "dCdd", a + b + p, "") \
    X(subcc, "sub.cc.u32", "rCrr", a - b, "") \
    X(subc, "subc.cc.s32", "rCrr", a + ~b + p, "") \
    X(subc64, "subc.u64", "dCdd", a + ~b + p, "") \
    X(madcc, "mad.lo.cc.u32", "rCrrr", a *b + c, "") \
    X(madchi, "madc.hi.u32", "rCrrr", (a * b >> 32) + c + p, "") \
    X(madchis, "madc.hi.cc.s32", "rCrrr", (uint64_t)(S64(S32(a)) * S32(b) >> 32) + c + p, "") \
    X(madclo64, "madc.lo.cc.u64", "dCddd", a *b + c + p, "") \
    X(madchi64, "madc.hi.cc.u64", "dCddd", (uint64_t)((unsigned __int128)a * b >> 64) + c + p, "") \
    X(madchis64, "madc.hi.s64", "dCddd", (uint64_t)((wide)S64(a) * S64(b) >> 64) + c + p, "")

#define AS_REFERENCE(id, name, classes, expression, extra) REFERENCE(id##_reference, expression)
CASES(AS_REFERENCE)

static void test_values(void **state)
{
    (void)state;
#define AS_CASE(id, name, classes, expression, extra) {name, classes, extra, id##_reference, 0},
    static const struct lanes_case cases[] = {CASES(AS_CASE)};
    check_cases(cases, sizeof cases / sizeof cases[0]);
}

/* A chain of carries is an addition, a subtraction or a product of many words. */
static void test_carries(void **state)
{
    (void)state;
    static const struct {
        const char *low, *high;
        bool subtracts;
    } chains[] = {{"add.cc.u32 %r0, %r1, %r2;", "addc.cc.u32 %r0, %r1, %r2;", false},
                  {"sub.cc.s32 %r0, %r1, %r2;", "subc.cc.s32 %r0, %r1, %r2;", true},
                  {"mad.lo.cc.u32 %r0, %r1, 1, %r2;", "madc.lo.cc.u32 %r0, %r1, 1, %r2;", false}};
    uint64_t random = 5;
    for (unsigned chain = 0; chain < 3; chain++) {
        const struct ptx_instruction *low, *high;
        struct ptx_module *low_module = parse_instruction(chains[chain].low, &low),
                          *high_module = parse_instruction(chains[chain].high, &high);
        for (int level = 0; level <= (int)lanes_level_best(); level++) {
            struct machine machine = {.predicates = {0}};
            struct lanes lanes = {machine.registers, machine.predicates, machine.constants};
            struct operation op = {.predicate_in = NO_PREDICATE, .predicate_out = {3, NO_PREDICATE}};
            uint64_t a[32], b[32];
            for (unsigned lane = 0; lane < 32; lane++) {
                a[lane] = draw('d', &random);
                b[lane] = draw('d', &random);
                for (unsigned part = 0; part < 2; part++) {
                    put_lane(machine.registers, 2 + part, lane, 4, a[lane] >> 32 * part);
                    put_lane(machine.registers, 4 + part, lane, 4, b[lane] >> 32 * part);
                }
                put_lane(machine.constants, 0, lane, 4, 1);
            }
            for (uint16_t part = 0; part < 2; part++) {
                bool product = chain == 2;
                op.source[0] = (uint16_t)(2 + part);
                op.source[1] = (uint16_t)(product ? OPERAND_CONSTANT : 4u + part);
                op.source[2] = (uint16_t)(4 + part);
                op.destination = part;
                op.predicate_in = part ? 3 : NO_PREDICATE;
                lanes_select_at((enum lanes_level)level, part ? high : low, &op)(&op, &lanes, 0xffffffffu);
            }
            for (unsigned lane = 0; lane < 32; lane++) {
                uint64_t found = get_lane(machine.registers, 0, lane, 4) | get_lane(machine.registers, 1, lane, 4)
                                                                               << 32;
                uint64_t expected = chains[chain].subtracts ? a[lane] - b[lane] : a[lane] + b[lane];
                assert_true(found == expected);
                bool carry = chains[chain].subtracts ? a[lane] >= b[lane] : expected < a[lane];
                assert_int_equal(machine.predicates[3] >> lane & 1, carry);
            }
        }
        ptx_module_destroy(low_module);
        ptx_module_destroy(high_module);
    }
}

/* addc behind sub.cc gives 1 where nothing was borrowed, and subc behind add.cc -1 where nothing was carried. */
static void test_mixed_carries(void **state)
{
    (void)state;
    static const struct {
        const char *first, *second;
        bool subtracts;
    } chains[] = {{"sub.cc.u32 %r0, %r1, %r2;", "addc.u32 %r3, 0, 0;", true},
                  {"subc.cc.u32 %r0, %r1, %r2;", "madc.lo.u32 %r3, 0, 0, 0;", true},
                  {"add.cc.u32 %r0, %r1, %r2;", "subc.u32 %r3, 0, 0;", false}};
    static const uint32_t a[] = {0, 0, 1, 5, 0x80000000u, 0xffffffffu}, b[] = {0, 1, 0, 5, 0x80000000u, 0xffffffffu};
    for (unsigned chain = 0; chain < 3; chain++) {
        const struct ptx_instruction *first, *second;
        struct ptx_module *first_module = parse_instruction(chains[chain].first, &first),
                          *second_module = parse_instruction(chains[chain].second, &second);
        for (int level = 0; level <= (int)lanes_level_best(); level++) {
            struct machine machine = {.predicates = {[4] = UINT32_MAX}}; /* what subc reads: nothing was borrowed */
            struct lanes lanes = {machine.registers, machine.predicates, machine.constants};
            struct operation op = {.source = {1, 2},
                                   .predicate_in = first->opcode == PTX_OP_SUBC ? 4 : NO_PREDICATE,
                                   .predicate_out = {3, NO_PREDICATE}};
            for (unsigned lane = 0; lane < 6; lane++) {
                put_lane(machine.registers, 1, lane, 4, a[lane]);
                put_lane(machine.registers, 2, lane, 4, b[lane]);
            }
            lanes_select_at((enum lanes_level)level, first, &op)(&op, &lanes, 0xffffffffu);
            op = (struct operation){.destination = 3,
                                    .source = {OPERAND_CONSTANT, OPERAND_CONSTANT, OPERAND_CONSTANT},
                                    .predicate_in = 3,
                                    .predicate_out = {NO_PREDICATE, NO_PREDICATE}};
            lanes_select_at((enum lanes_level)level, second, &op)(&op, &lanes, 0xffffffffu);
            for (unsigned lane = 0; lane < 6; lane++) {
                uint32_t sum = a[lane] + b[lane],
                         expected = chains[chain].subtracts ? a[lane] >= b[lane] : (uint32_t)(sum < a[lane]) - 1;
                assert_int_equal(get_lane(machine.registers, 3, lane, 4), expected);
            }
        }
        ptx_module_destroy(first_module);
        ptx_module_destroy(second_module);
    }
}

static void test_vectors(void **state)
{
    (void)state;
    static const struct {
        const char *pack, *unpack;
        unsigned count, bits;
    } shapes[] = {{"mov.b32 %r0, {%h0, %h1};", "mov.b32 {%h0, %h1}, %r0;", 2, 16},
                  {"mov.b64 %d0, {%r0, %r1};", "mov.b64 {%r0, %r1}, %d0;", 2, 32},
                  {"mov.b64 %d0, {%h0, %h1, %h2, %h3};", "mov.b64 {%h0, %h1, _, %h3}, %d0;", 4, 16}};
    uint64_t random = 9;
    for (unsigned shape = 0; shape < 3; shape++) {
        const struct ptx_instruction *pack, *unpack;
        struct ptx_module *pack_module = parse_instruction(shapes[shape].pack, &pack);
        struct ptx_module *unpack_module = parse_instruction(shapes[shape].unpack, &unpack);
        unsigned count_of = shapes[shape].count, bits = shapes[shape].bits, bytes = count_of * bits / 8;
        for (int level = 0; level <= (int)lanes_level_best(); level++) {
            struct machine machine = {.predicates = {0}};
            struct lanes lanes = {machine.registers, machine.predicates, machine.constants};
            struct operation op = {.destination = 0, .source = {4, 5, 6, 7}};
            uint64_t whole[32] = {0}, element_mask = (UINT64_C(1) << bits) - 1;
            for (unsigned lane = 0; lane < 32; lane++)
                for (unsigned part = 0; part < count_of; part++) {
                    uint64_t value = draw('r', &random);
                    put_lane(machine.registers, 4 + part, lane, 4, value);
                    whole[lane] |= (value & element_mask) << part * bits;
                }
            lanes_select_at((enum lanes_level)level, pack, &op)(&op, &lanes, 0xffff00ffu);
            for (unsigned lane = 0; lane < 32; lane++)
                assert_true(get_lane(machine.registers, 0, lane, bytes) == (0xffff00ffu >> lane & 1 ? whole[lane] : 0));
            /* The first element goes where the whole was: all must have been read before. */
            for (unsigned lane = 0; lane < 32; lane++)
                put_lane(machine.registers, 0, lane, bytes, whole[lane]);
            op = (struct operation){
                .destination = 0, .source = {0}, .extra = {8, count_of == 4 ? LANES_DISCARD : 9, 10}};
            lanes_select_at((enum lanes_level)level, unpack, &op)(&op, &lanes, 0xffffffffu);
            for (unsigned lane = 0; lane < 32; lane++)
                for (unsigned part = 0; part < count_of; part++)
                    if (part != 2)
                        assert_true(get_lane(machine.registers, part ? 7 + part : 0, lane, 4) ==
                                    (whole[lane] >> part * bits & element_mask));
        }
        ptx_module_destroy(pack_module);
        ptx_module_destroy(unpack_module);
    }
}

static void test_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {"ld.global.u32 %r0, [%d0];", "bar.sync 0;", "mul.s32 %r0, %r1, %r2;", "ret;"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        char text[256];
        snprintf(text, sizeof text,
                 ".version 8.1\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n.reg .b32 %%r<8>;\n.reg .b64 "
                 "%%d<8>;\n%s\nret;\n}\n",
                 texts[i]);
        struct corun_diagnostics *list = corun_diagnostics_create();
        struct ptx_module *module = NULL;
        if (ptx_parse("test", text, strlen(text), list, &module) == CORUN_OK) {
            struct operation op = {.variant = 0};
            assert_null(lanes_select(&module->functions[0]->instructions[0], &op));
            ptx_module_destroy(module);
        }
        corun_diagnostics_destroy(list);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_values), cmocka_unit_test(test_carries),
                                       cmocka_unit_test(test_mixed_carries), cmocka_unit_test(test_vectors),
                                       cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
