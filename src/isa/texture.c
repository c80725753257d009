/* SPDX-License-Identifier: MIT */
/* Texture and surface operations of a warp: coordinates to texels, filtering, channels to registers. */
#include "isa/texture.h"

#include "base/bits.h"
#include "isa/half.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define GOB_ROW_BYTES UINT64_C(64)

/* Texels of a texture as one SM sees them: allocations that were found are remembered as for loads. */
struct sampler {
    struct corun_warp *warp;
    const struct corun_texture *texture;
    struct memory_cache cache;
    uint32_t texel_bytes;
    struct corun_texture level; /* that is read, of a texture with several */
};

struct place {
    int64_t x, y, z;
    bool inside;
};

union texel {
    float real[4];
    uint32_t word[4];
};

static const struct corun_texture *find(struct corun_warp *warp, const struct operation *op, uint32_t lane)
{
    const struct corun_memory *memory = warp->tb->sm->memory;
    uint64_t handle = ((const uint64_t *)lanes_source(&warp->lanes, op->source[0]))[lane];
    if (op->variant & TEXTURE_REFERENCE) {
        uint64_t stored = 0;
        if (corun_memory_read(memory, handle, &stored, sizeof stored) != CORUN_OK || !stored) {
            fault_raise(warp, lane, "a texture reference that nothing is bound to");
            return NULL;
        }
        handle = stored;
    }
    const struct corun_texture *texture = memory_texture(memory, handle);
    if (!texture)
        fault_raise(warp, lane, "0x%llx is no texture or surface", (unsigned long long)handle);
    return texture;
}

static uint32_t texel_bytes(const struct corun_texture *texture)
{
    return texture->channels * texture->channel_bits / 8u;
}

static uint64_t extent(const struct corun_texture *texture, uint32_t axis)
{
    uint64_t size = axis == 0 ? texture->width : axis == 1 ? texture->height : texture->depth;
    return size ? size : 1;
}

/* A whole coordinate within [0, size), by the mode; false: it is outside and the mode says so. */
static bool settle(const struct corun_texture *texture, uint32_t axis, int64_t *at)
{
    int64_t size = (int64_t)extent(texture, axis), turns;
    uint8_t mode = texture->mode[axis];
    assert(size > 0);
    if (*at >= 0 && *at < size)
        return true;
    if (mode == CORUN_TEXTURE_BORDER)
        return false;
    if (texture->normalized_coordinates && (mode == CORUN_TEXTURE_WRAP || mode == CORUN_TEXTURE_MIRROR)) {
        turns = *at >= 0 ? *at / size : -((-*at + size - 1) / size);
        *at -= turns * size;
        if (mode == CORUN_TEXTURE_MIRROR && turns & 1)
            *at = size - 1 - *at;
        return true;
    }
    *at = *at < 0 ? 0 : size - 1;
    return true;
}

static uint64_t address_of(const struct corun_texture *texture, int64_t x, int64_t y, int64_t z)
{
    return texture->address + (uint64_t)x * texel_bytes(texture) + (uint64_t)y * texture->row_bytes +
           (uint64_t)z * texture->slice_bytes;
}

/* Where a GPU has the byte that is at `address` in rows. */
static uint64_t arranged(const struct corun_texture *t, uint64_t address)
{
    if (!t->gob_rows)
        return address;
    uint64_t offset = address - t->address, slices = 0;
    if (t->depth > 1) {
        slices = offset / t->slice_bytes * t->slice_bytes;
        offset %= t->slice_bytes;
    }
    uint64_t y = offset / t->row_bytes, x = offset % t->row_bytes, rows = t->gob_rows;
    uint64_t block_rows = corun_texture_block_rows(t->height, t->gob_rows), gob_bytes = GOB_ROW_BYTES * rows;
    uint64_t block = y / block_rows * (t->row_bytes / GOB_ROW_BYTES) + x / GOB_ROW_BYTES;
    uint64_t gob = block * (block_rows / rows) + y % block_rows / rows;
    uint64_t within = y % rows * GOB_ROW_BYTES + x % GOB_ROW_BYTES;
    if (rows == 8) /* halves of 32 bytes, in those pairs of rows, in those sectors of 16 bytes by 2 rows */
        within = x % 64 / 32 * 256 + y % 8 / 2 * 64 + x % 32 / 16 * 32 + y % 2 * 16 + x % 16;
    return t->address + slices + gob * gob_bytes + within;
}

static float channel_as_float(const struct corun_texture *texture, uint32_t bits)
{
    if (texture->kind == CORUN_TEXEL_FLOAT) {
        float real;
        if (texture->channel_bits == 16)
            return (float)half_value(bits, HALF_F16);
        memcpy(&real, &bits, sizeof real);
        return real;
    }
    double largest = texture->channel_bits == 8 ? 255.0 : 65535.0;
    if (texture->kind == CORUN_TEXEL_UNSIGNED)
        return (float)(bits / largest);
    double value = texture->channel_bits == 8 ? (int8_t)bits / 127.0 : (int16_t)bits / 32767.0;
    return (float)(value < -1.0 ? -1.0 : value);
}

static uint32_t channel_as_word(const struct corun_texture *texture, uint32_t bits)
{
    if (texture->kind != CORUN_TEXEL_SIGNED || texture->channel_bits == 32)
        return bits;
    return texture->channel_bits == 8 ? (uint32_t)(int32_t)(int8_t)bits : (uint32_t)(int32_t)(int16_t)bits;
}

/* Integers that are read as such, be it through a result of type f32, stay bits. */
static bool as_floats(const struct corun_texture *texture, const struct operation *op)
{
    return !(op->variant & TEXTURE_WORDS) && (texture->kind == CORUN_TEXEL_FLOAT || texture->normalized_values);
}

/* The texel at whole coordinates. False: a fault was raised. */
static bool load(struct sampler *sampler, const struct operation *op, uint32_t lane, struct place at,
                 union texel *texel)
{
    const struct corun_texture *texture = sampler->texture;
    memset(texel, 0, sizeof *texel);
    if (!settle(texture, 0, &at.x) || !settle(texture, 1, &at.y) || !settle(texture, 2, &at.z)) {
        for (uint32_t i = 0; i < 4; i++) {
            if (as_floats(texture, op))
                texel->real[i] = texture->border[i];
            else
                texel->word[i] = (uint32_t)(int64_t)texture->border[i];
        }
        return true;
    }
    uint64_t address = address_of(texture, at.x, at.y, at.z);
    const uint8_t *host = memory_lookup(sampler->warp->tb->sm->memory, &sampler->cache, address, sampler->texel_bytes);
    if (!host) {
        fault_access(sampler->warp, lane, CORUN_SPACE_GLOBAL, "texture fetch", address, 1);
        return false;
    }
    uint32_t bytes = texture->channel_bits / 8u;
    for (uint32_t i = 0; i < texture->channels; i++) {
        uint32_t bits = 0;
        memcpy(&bits, host + i * bytes, bytes);
        if (as_floats(texture, op))
            texel->real[i] = channel_as_float(texture, bits);
        else
            texel->word[i] = channel_as_word(texture, bits);
    }
    return true;
}

/* In texels; normalized coordinates are wrapped first, so that large ones keep their precision as on the hardware. */
static double scaled(const struct corun_texture *texture, uint32_t axis, float coordinate)
{
    double x = (double)coordinate;
    if (!(x == x))
        return 0.0;
    if (!texture->normalized_coordinates)
        return x;
    return x * (double)extent(texture, axis);
}

static int64_t whole(double x)
{
    double lowest = -4611686018427387904.0, highest = 4611686018427387904.0;
    x = floor(x);
    return x <= lowest ? (int64_t)lowest : x >= highest ? (int64_t)highest : (int64_t)x;
}

/*
 * Linear filters as an H100 has them, found from what its fetches give (docs/conformance.md). A weight has eight bits behind the point (CUDA C++ Programming
 * Guide, "Linear Filtering"), and so have the products of weights: of a pair of texels one gets what is rounded, the other one the rest.
 */
#define WEIGHT_BITS 8
#define ONE (1 << WEIGHT_BITS)
#define MORE_BITS 4 /* than a texel has are kept below the highest bit of the largest one */

static int32_t weight(double fraction)
{
    return (int32_t)floor(fraction * ONE + 0.5);
}

/* The lower of two neighbours, and the weight of the upper one. Beyond an edge that repeats there is but one. */
static int32_t neighbours(const struct corun_texture *texture, uint32_t axis, double at, int64_t *first)
{
    double low = floor(at - 0.5), last = (double)extent(texture, axis) - 1;
    uint8_t mode = texture->mode[axis];
    bool turns = texture->normalized_coordinates && (mode == CORUN_TEXTURE_WRAP || mode == CORUN_TEXTURE_MIRROR);
    *first = whole(low);
    if (!isfinite(low))
        return 0;
    if (turns || mode == CORUN_TEXTURE_BORDER || (low >= 0 && low < last))
        return weight(at - 0.5 - low);
    *first = low < 0 ? 0 : (int64_t)last;
    return 0;
}

/* Ties go up where there are two dimensions and down where there are three. */
static int32_t product(int32_t a, int32_t b, bool up)
{
    return (a * b + ONE / 2 - !up) >> WEIGHT_BITS;
}

/* Of the corners: bit 0 is x, bit 1 is y, bit 2 is z. Three dimensions begin with x and z. */
static void compute_weights(const int32_t *share, uint32_t dimensions, int32_t *weights)
{
    if (dimensions == 1) {
        weights[0] = ONE - share[0];
        weights[1] = share[0];
        return;
    }
    int32_t x = share[0], other = share[dimensions == 3 ? 2 : 1], both = product(x, other, dimensions == 2);
    const int32_t pairs[4] = {ONE - x - other + both, x - both, other - both, both};
    for (uint32_t i = 0; i < 4; i++) {
        if (dimensions == 2) {
            weights[i] = pairs[i];
            continue;
        }
        uint32_t corner = (i & 1u) | (i >> 1) << 2;
        weights[corner | 2] = product(pairs[i], share[1], false);
        weights[corner] = pairs[i] - weights[corner | 2];
    }
}

/* sum * 2^scale with so many digits, of which the last one is at least 2^lowest; to the nearest, ties away from 0. */
static float nearest(int64_t sum, int scale, uint32_t digits, int lowest)
{
    uint64_t magnitude = (uint64_t)(sum < 0 ? -sum : sum);
    uint32_t bits = magnitude ? 64u - (uint32_t)__builtin_clzll(magnitude) : 0;
    int drop = bits > digits ? (int)(bits - digits) : 0;
    if (scale + drop < lowest)
        drop = lowest - scale;
    if (drop > 0) {
        magnitude = drop > 62 ? 0 : (magnitude + (UINT64_C(1) << (drop - 1))) >> drop;
        scale += drop;
    }
    double value = ldexp((double)magnitude, scale);
    return (float)(sum < 0 ? -value : value);
}

/* Values are brought to the largest exponent among those that have a weight, and cut off below it; the sum is exact. */
static float weigh(const float *values, const int32_t *weights, uint32_t count, bool half)
{
    uint32_t digits = half ? 11 : 24, kept = digits + MORE_BITS;
    int most = INT32_MIN, exponent;
    double plain = 0;
    int64_t sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (weights[i])
            plain += (double)values[i] * weights[i] / ONE;
        if (weights[i] && values[i] != 0 && isfinite(values[i])) {
            (void)frexp((double)values[i], &exponent);
            most = exponent > most ? exponent : most;
        }
    }
    if (!isfinite(plain) || most == INT32_MIN)
        return (float)plain;
    for (uint32_t i = 0; i < count; i++)
        if (weights[i])
            sum += weights[i] * (int64_t)ldexp((double)values[i], (int)kept - most);
    return nearest(sum, most - (int)kept - WEIGHT_BITS, digits, half ? -24 : -149);
}

/* Of normalized integers: a whole number of 16 bits, of which the result is a quotient. */
static float weigh_integers(const struct corun_texture *texture, const float *values, const int32_t *weights,
                            uint32_t count)
{
    double largest = texture->kind == CORUN_TEXEL_UNSIGNED ? 65535.0 : 32767.0;
    int64_t sum = 0;
    for (uint32_t i = 0; i < count; i++)
        sum += weights[i] * (int64_t)lround((double)values[i] * largest);
    return (float)((double)((sum + ONE / 2) >> WEIGHT_BITS) / largest);
}

static float filtered(const struct corun_texture *texture, const float *values, const int32_t *weights, uint32_t count)
{
    return texture->kind == CORUN_TEXEL_FLOAT ? weigh(values, weights, count, texture->channel_bits == 16)
                                              : weigh_integers(texture, values, weights, count);
}

/* The eight texels around a point, or as many as there are dimensions for, weighted. */
static bool interpolate(struct sampler *sampler, const struct operation *op, uint32_t lane, const double *at,
                        uint32_t dimensions, int64_t layer, union texel *texel)
{
    int64_t first[3] = {0, 0, layer};
    int32_t share[3] = {0, 0, 0}, weights[8];
    float values[4][8];
    if (dimensions == 1 && sampler->texture->mode[1] == CORUN_TEXTURE_BORDER)
        dimensions = 2; /* y is 0: between the border and the only row */
    for (uint32_t axis = 0; axis < dimensions; axis++)
        share[axis] = neighbours(sampler->texture, axis, at[axis], &first[axis]);
    compute_weights(share, dimensions, weights);
    for (uint32_t corner = 0; corner < 1u << dimensions; corner++) {
        struct place place = {first[0] + (corner & 1u), first[1] + (corner >> 1 & 1u), first[2] + (corner >> 2 & 1u),
                              true};
        if (!load(sampler, op, lane, place, texel))
            return false;
        for (uint32_t i = 0; i < 4; i++)
            values[i][corner] = texel->real[i];
    }
    for (uint32_t i = 0; i < 4; i++)
        texel->real[i] = filtered(sampler->texture, values[i], weights, 1u << dimensions);
    return true;
}

/* Counter-clockwise from the lower left: (x0, y1), (x1, y1), (x1, y0), (x0, y0). */
static bool gather(struct sampler *sampler, const struct operation *op, uint32_t lane, const double *at,
                   union texel *texel)
{
    static const uint8_t right[4] = {0, 1, 1, 0}, below[4] = {1, 1, 0, 0};
    int64_t x = whole(at[0] - 0.5), y = whole(at[1] - 0.5);
    for (uint32_t i = 0; i < 4; i++) {
        union texel one;
        if (!load(sampler, op, lane, (struct place){x + right[i], y + below[i], 0, true}, &one))
            return false;
        texel->word[i] = one.word[op->extend];
    }
    return true;
}

/*
 * A direction becomes a face and a place on it (CUDA C++ Programming Guide, "Cubemap Textures"): the coordinate that is farthest from 0 says
 * which face, the two others over it where.
 */
static void find_face(const float *direction, int64_t *face, double *place)
{
    double x = (double)direction[0], y = (double)direction[1], z = (double)direction[2], m, s, t;
    if (fabs(z) >= fabs(x) && fabs(z) >= fabs(y)) {
        *face = z < 0 ? 5 : 4;
        m = fabs(z), s = z < 0 ? -x : x, t = -y;
    } else if (fabs(y) >= fabs(x)) {
        *face = y < 0 ? 3 : 2;
        m = fabs(y), s = x, t = y < 0 ? -z : z;
    } else {
        *face = x < 0 ? 1 : 0;
        m = fabs(x), s = x < 0 ? z : -z, t = -y;
    }
    place[0] = m > 0 ? (s / m + 1.0) / 2.0 : 0.5;
    place[1] = m > 0 ? (t / m + 1.0) / 2.0 : 0.5;
}

/* Faces lie one after the other as layers do; beyond the edge of one its own texels repeat. */
static bool fetch_cube(struct sampler *sampler, const struct operation *op, uint32_t lane, union texel *texel,
                       uint64_t *address)
{
    const struct lanes *lanes = &sampler->warp->lanes;
    struct corun_texture faces = *sampler->texture;
    bool layered = op->space == TEXTURE_ACUBE;
    float direction[3];
    double at[3] = {0, 0, 0};
    int64_t face, cube = layered ? ((const int32_t *)lanes_source(lanes, op->source[1]))[lane] : 0;
    for (uint32_t axis = 0; axis < 3; axis++) {
        uint16_t source = layered && axis == 2 ? op->extra[3] : op->source[1 + layered + axis];
        direction[axis] = ((const float *)lanes_source(lanes, source))[lane];
        faces.mode[axis] = CORUN_TEXTURE_CLAMP;
    }
    find_face(direction, &face, at);
    at[0] *= (double)faces.width;
    at[1] *= (double)faces.height;
    int64_t cubes = (int64_t)extent(&faces, 2) / 6;
    cube = cube < 0 || !cubes ? 0 : cube >= cubes ? cubes - 1 : cube;
    struct place place = {whole(at[0]), whole(at[1]), cube * 6 + face, true}, nearest = place;
    (void)(settle(&faces, 0, &nearest.x) && settle(&faces, 1, &nearest.y) && settle(&faces, 2, &nearest.z));
    *address = address_of(&faces, nearest.x, nearest.y, nearest.z);
    const struct corun_texture *texture = sampler->texture;
    sampler->texture = &faces;
    bool good = faces.linear && as_floats(&faces, op) ? interpolate(sampler, op, lane, at, 2, place.z, texel)
                                                      : load(sampler, op, lane, place, texel);
    sampler->texture = texture;
    return good;
}

static uint32_t dimensions_of(const struct operation *op)
{
    return op->space == TEXTURE_1D || op->space == TEXTURE_A1D ? 1 : op->space == TEXTURE_3D ? 3 : 2;
}

static bool is_layered(const struct operation *op)
{
    return op->space == TEXTURE_A1D || op->space == TEXTURE_A2D;
}

static bool fetch_lane(struct sampler *sampler, const struct operation *op, uint32_t lane, union texel *texel,
                       uint64_t *address)
{
    const struct lanes *lanes = &sampler->warp->lanes;
    const struct corun_texture *texture = sampler->texture;
    uint32_t dimensions = dimensions_of(op), layered = is_layered(op);
    double at[3] = {0, 0, 0};
    int64_t layer = 0;
    if (layered) {
        layer = ((const int32_t *)lanes_source(lanes, op->source[1]))[lane];
        int64_t last = (int64_t)extent(texture, 2) - 1;
        layer = layer < 0 ? 0 : layer > last ? last : layer;
    }
    bool integers = op->variant & TEXTURE_WHOLE;
    struct place place = {0, 0, layer, true};
    int64_t *whole_place[3] = {&place.x, &place.y, &place.z};
    for (uint32_t axis = 0; axis < dimensions; axis++) {
        const void *source = lanes_source(lanes, op->source[1 + layered + axis]);
        if (integers)
            *whole_place[axis] = ((const int32_t *)source)[lane];
        else
            *whole_place[axis] = whole(at[axis] = scaled(texture, axis, ((const float *)source)[lane]));
    }
    struct place nearest = place;
    if (settle(texture, 0, &nearest.x) && settle(texture, 1, &nearest.y) && settle(texture, 2, &nearest.z))
        *address = address_of(texture, nearest.x, nearest.y, nearest.z);
    else
        *address = texture->address;
    if (op->variant & TEXTURE_GATHER)
        return gather(sampler, op, lane, at, texel);
    if (integers && (place.x < 0 || place.x >= (int64_t)texture->width)) { /* tex1Dfetch: outside is zero */
        memset(texel, 0, sizeof *texel);
        return true;
    }
    if (texture->linear && !integers && as_floats(texture, op))
        return interpolate(sampler, op, lane, at, dimensions, layer, texel);
    return load(sampler, op, lane, place, texel);
}

static float detail(const struct lanes *lanes, const struct operation *op, uint32_t lane, uint32_t i)
{
    return ((const float *)lanes_source(lanes, texture_detail(op, i)))[lane];
}

/*
 * Of texels of level 0, how many a step on the screen is at most: its binary logarithm is the level (OpenGL 4.6, 8.14.1, with the larger one of
 * the two lengths).
 */
static double level_of_gradients(const struct lanes *lanes, const struct operation *op, uint32_t lane,
                                 const struct corun_texture *texture)
{
    double longest = 0;
    for (uint32_t step = 0; step < 2; step++) {
        double length = 0;
        for (uint32_t axis = 0; axis < dimensions_of(op); axis++) {
            double texels = (double)detail(lanes, op, lane, 3 * step + axis) * (double)extent(texture, axis);
            length += texels * texels;
        }
        longest = length > longest ? length : longest;
    }
    return longest > 0 ? log2(longest) / 2 : -INFINITY;
}

/* In 1/256 of a level, within those that there are. */
static int32_t level_of_detail(const struct lanes *lanes, const struct operation *op, uint32_t lane,
                               const struct corun_texture *texture)
{
    double level = op->variant & TEXTURE_LEVEL      ? (double)detail(lanes, op, lane, 0)
                   : op->variant & TEXTURE_GRADIENT ? level_of_gradients(lanes, op, lane, texture)
                                                    : 0.0;
    double lowest = (double)texture->level_lowest, highest = (double)texture->level_highest;
    level += (double)texture->level_bias;
    if (!(level > lowest)) /* NaN is the lowest, too */
        level = lowest;
    if (level > highest)
        level = highest;
    double last = texture->levels - 1;
    level = level > 0 ? level < last ? level : last : 0;
    return weight(level);
}

/* Sampler and address are those of the level that counts most. */
static bool fetch_levels(struct sampler *sampler, const struct operation *op, uint32_t lane, union texel *texel,
                         uint64_t *address)
{
    bool cube = op->space == TEXTURE_CUBE || op->space == TEXTURE_ACUBE;
    bool (*fetch)(struct sampler *, const struct operation *, uint32_t, union texel *, uint64_t *) =
        cube ? fetch_cube : fetch_lane;
    const struct corun_texture *texture = sampler->texture;
    if (texture->levels < 2)
        return fetch(sampler, op, lane, texel, address);
    int32_t level = level_of_detail(&sampler->warp->lanes, op, lane, texture);
    int32_t share = level % ONE, nearest = (level + ONE / 2) / ONE;
    sampler->texture = &sampler->level;
    if (!texture->levels_linear || !share || !as_floats(texture, op)) {
        corun_texture_level(texture, (uint32_t)nearest, &sampler->level);
        return fetch(sampler, op, lane, texel, address);
    }
    union texel other;
    int32_t further = nearest == level / ONE ? nearest + 1 : nearest - 1;
    corun_texture_level(texture, (uint32_t)further, &sampler->level);
    if (!fetch(sampler, op, lane, &other, address))
        return false;
    corun_texture_level(texture, (uint32_t)nearest, &sampler->level);
    if (!fetch(sampler, op, lane, texel, address))
        return false;
    const int32_t weights[2] = {further < nearest ? ONE - share : share, further < nearest ? share : ONE - share};
    for (uint32_t i = 0; i < 4; i++) {
        const float values[2] = {other.real[i], texel->real[i]};
        texel->real[i] = filtered(texture, values, weights, 2);
    }
    return true;
}

bool texture_fetch(struct corun_warp *warp, const struct operation *op, uint32_t mask, struct corun_issue *result,
                   bool timed)
{
    union texel texels[CORUN_WARP_LANES];
    struct sampler sampler = {.warp = warp};
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        uint32_t lane = lowest_bit(rest);
        uint64_t address;
        sampler.texture = find(warp, op, lane);
        if (!sampler.texture)
            return false;
        sampler.texel_bytes = texel_bytes(sampler.texture);
        if (!fetch_levels(&sampler, op, lane, &texels[lane], &address))
            return false;
        if (timed)
            result->address[lane] = arranged(sampler.texture, address) & ~(uint64_t)3;
    }
    if (timed)
        result->space = CORUN_SPACE_TEXTURE;
    for (uint32_t i = 0; i < 4; i++) {
        uint16_t slot = i ? op->extra[i - 1] : op->destination;
        if (slot == OPERAND_DISCARD)
            continue;
        uint32_t *destination = lanes_destination(&warp->lanes, slot);
        for (uint32_t rest = mask; rest; rest &= rest - 1)
            destination[lowest_bit(rest)] = texels[lowest_bit(rest)].word[i];
    }
    return true;
}

static bool surface_lane(struct corun_warp *warp, const struct operation *op, uint32_t lane, uint64_t *address,
                         bool *inside)
{
    const struct corun_texture *surface = find(warp, op, lane);
    if (!surface)
        return false;
    uint32_t dimensions = dimensions_of(op), layered = is_layered(op);
    enum surface_outside outside = (enum surface_outside)(op->variant >> 5 & 3);
    int64_t at[3] = {0, 0, 0};
    if (layered)
        at[2] = ((const int32_t *)lanes_source(&warp->lanes, op->source[1]))[lane];
    for (uint32_t axis = 0; axis < dimensions; axis++)
        at[axis] = ((const int32_t *)lanes_source(&warp->lanes, op->source[1 + layered + axis]))[lane];
    *inside = true;
    for (uint32_t axis = 0; axis < 3; axis++) {
        /* x counts bytes, and the whole access must be inside */
        int64_t last = axis ? (int64_t)extent(surface, axis) - 1
                            : (int64_t)surface->width * texel_bytes(surface) - (int64_t)op->offset;
        if (at[axis] >= 0 && at[axis] <= last)
            continue;
        if (outside == SURFACE_TRAP || last < 0) {
            fault_raise(warp, lane, "surface access at (%lld, %lld, %lld) outside of %u x %u x %u texels of %u bytes",
                        (long long)at[0], (long long)at[1], (long long)at[2], surface->width, surface->height,
                        surface->depth, texel_bytes(surface));
            return false;
        }
        *inside &= outside == SURFACE_CLAMP;
        at[axis] = at[axis] < 0 ? 0 : last;
    }
    *address = surface->address + (uint64_t)at[0] + (uint64_t)at[1] * surface->row_bytes +
               (uint64_t)at[2] * surface->slice_bytes;
    return true;
}

static uint32_t attribute(const struct corun_texture *texture, enum texture_query query)
{
    switch (query) {
    case QUERY_WIDTH:
        return texture->width;
    case QUERY_HEIGHT:
        return texture->height;
    case QUERY_DEPTH:
        return texture->layered ? 0 : texture->depth;
    case QUERY_LAYERS:
        return texture->layered ? texture->depth : 0;
    case QUERY_NORMALIZED:
        return texture->normalized_coordinates;
    default:
        return texture->levels ? texture->levels : 1;
    }
}

bool texture_answer(struct corun_warp *warp, const struct operation *op, uint32_t mask)
{
    uint32_t *to = lanes_destination(&warp->lanes, op->destination);
    for (; mask; mask &= mask - 1) {
        uint32_t lane = lowest_bit(mask), level = 0;
        const struct corun_texture *texture = find(warp, op, lane);
        struct corun_texture of_level;
        if (!texture)
            return false;
        if (op->variant & TEXTURE_LEVEL)
            level = ((const uint32_t *)lanes_source(&warp->lanes, op->source[1]))[lane];
        bool there = level < attribute(texture, QUERY_LEVELS);
        if (there)
            corun_texture_level(texture, level, &of_level);
        else
            of_level = (struct corun_texture){0};
        to[lane] = attribute(level || !there ? &of_level : texture, (enum texture_query)op->extend);
    }
    return true;
}

bool surface_address(struct corun_warp *warp, const struct operation *op, uint32_t mask)
{
    uint64_t *addresses = lanes_destination(&warp->lanes, op->destination);
    uint32_t found = 0;
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        uint32_t lane = lowest_bit(rest);
        bool inside;
        if (!surface_lane(warp, op, lane, &addresses[lane], &inside))
            return false;
        found |= inside ? 1u << lane : 0;
    }
    warp->lanes.predicates[op->predicate_out[0]] = found;
    return true;
}

void surface_arrange(struct corun_warp *warp, struct corun_issue *result)
{
    const struct corun_memory *memory = warp->tb->sm->memory;
    const struct corun_texture *texture = NULL;
    for (uint32_t rest = result->active; rest; rest &= rest - 1) {
        uint64_t *address = &result->address[lowest_bit(rest)];
        if (!texture || *address - texture->address >= memory_texture_bytes(texture))
            texture = memory_texture_at(memory, *address);
        if (!texture)
            return;
        *address = arranged(texture, *address);
    }
}
