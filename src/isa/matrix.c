/* SPDX-License-Identifier: MIT */
/* Fragments of matrices: from the registers of the lanes to rows and columns, and back; tiles. */
#include "isa/matrix.h"

#include <string.h>

#define QUAD_PRODUCTS 4u

static bool is_quad(const struct ptx_matrix *matrix)
{
    return matrix->form == PTX_MATRIX_MMA && matrix->m == 8 && matrix->a == PTX_TYPE_F16;
}

static uint32_t element_bits(const struct ptx_matrix *matrix, enum ptx_matrix_role role)
{
    uint32_t bits = ptx_types[ptx_matrix_element(matrix, role)].bits;
    return bits <= 1 ? 32 : bits; /* words of bits */
}

uint32_t matrix_packed(const struct ptx_matrix *matrix, enum ptx_matrix_role role)
{
    uint32_t bits = element_bits(matrix, role);
    return bits > 32 ? 1 : 32 / bits;
}

/* The inner dimension in elements as they stand in registers. */
static uint32_t inner(const struct ptx_matrix *matrix)
{
    return matrix->a == PTX_TYPE_B1 ? matrix->k / 32u : matrix->k;
}

/*
 * How the elements of a fragment lie: each member is how far it is, in rows and columns, from one to the next of a kind, so that a place is a sum. A lane
 * has `together` elements next to each other, then those `near`, `period` times, then those `far`.
 */
struct layout {
    struct matrix_place group, lane; /* from four lanes to the next four, and among these */
    struct matrix_place next, near, far;
    uint32_t together, period;
};

static struct layout layout_of(const struct ptx_matrix *matrix, enum ptx_matrix_role role)
{
    uint32_t packed = matrix_packed(matrix, role), rows = matrix->m < 8 ? 1 : matrix->m / 8u;
    uint32_t steps = inner(matrix) < 4 * packed ? 1 : inner(matrix) / (4 * packed);
    if (role == PTX_MATRIX_A)
        return (struct layout){{1, 0}, {0, packed}, {0, 1}, {8, 0}, {0, 4 * packed}, packed, rows};
    if (role == PTX_MATRIX_B)
        return (struct layout){{0, 1}, {packed, 0}, {1, 0}, {4 * packed, 0}, {0, 8}, packed, steps};
    return (struct layout){{1, 0}, {0, 2}, {0, 1}, {8, 0}, {0, 8}, 2, rows};
}

struct matrix_place matrix_place(const struct ptx_matrix *matrix, enum ptx_matrix_role role, uint32_t lane,
                                 uint32_t element)
{
    struct layout layout = layout_of(matrix, role);
    uint32_t group = lane / 4, within = element % layout.together, turn = element / layout.together;
    uint32_t near = turn % layout.period, far = turn / layout.period;
#define SUM(member) \
    (group * layout.group.member + lane % 4 * layout.lane.member + within * layout.next.member + \
     near * layout.near.member + far * layout.far.member)
    return (struct matrix_place){SUM(row), SUM(column)};
#undef SUM
}

static uint64_t get(const struct lanes *lanes, const uint16_t *slots, uint32_t bits, uint32_t lane, uint32_t element)
{
    if (bits == 64)
        return ((const uint64_t *)lanes_source(lanes, slots[element]))[lane];
    uint32_t packed = 32 / bits, word = ((const uint32_t *)lanes_source(lanes, slots[element / packed]))[lane];
    return bits == 32 ? word : word >> element % packed * bits & ((1u << bits) - 1);
}

static void put(const struct lanes *lanes, const uint16_t *slots, uint32_t bits, uint32_t lane, uint32_t element,
                uint64_t value)
{
    if (bits == 64) {
        ((uint64_t *)lanes_destination(lanes, slots[element]))[lane] = value;
        return;
    }
    uint32_t packed = 32 / bits, shift = element % packed * bits;
    uint32_t *word = (uint32_t *)lanes_destination(lanes, slots[element / packed]) + lane;
    uint32_t mask = bits == 32 ? UINT32_MAX : ((1u << bits) - 1) << shift;
    *word = (*word & ~mask) | ((uint32_t)value << shift & mask);
}

static uint32_t columns_of(const struct ptx_matrix *matrix, enum ptx_matrix_role role)
{
    if (role == PTX_MATRIX_A)
        return matrix->sparse ? inner(matrix) / 2 : inner(matrix);
    return matrix->n;
}

/* Where the elements of a lane are in rows and columns: a part for the lane and one for the element of each are added. */
struct places {
    uint16_t lanes[CORUN_WARP_LANES], elements[MATRIX_REGISTERS * 8];
    uint32_t count; /* elements of a lane */
};

static void find_places(const struct ptx_matrix *matrix, enum ptx_matrix_role role, struct places *places)
{
    struct layout layout = layout_of(matrix, role);
    uint32_t columns = columns_of(matrix, role), packed = matrix_packed(matrix, role), i = 0;
#define AWAY(member) (layout.member.row * columns + layout.member.column)
    uint32_t group = AWAY(group), place = AWAY(lane), next = AWAY(next), near = AWAY(near), far = AWAY(far);
#undef AWAY
    places->count = ptx_matrix_distinct(matrix, role) * packed;
    for (uint32_t lane = 0; lane < CORUN_WARP_LANES; lane++)
        places->lanes[lane] = (uint16_t)(lane / 4 * group + lane % 4 * place);
    /* without a division for each element: that would take longer than to use what is found here */
    for (uint32_t turn = 0, at = 0; i < places->count;
         at = ++turn % layout.period ? at + near : turn / layout.period * far)
        for (uint32_t k = 0; k < layout.together && i < places->count; k++)
            places->elements[i++] = (uint16_t)(at + k * next);
}

/* Both elements of a register at a time. */
static void gather_halves(const struct lanes *lanes, const struct places *places, const uint16_t *slots,
                          uint64_t *values)
{
    for (uint32_t i = 0; i < places->count; i += 2) {
        const uint32_t *words = lanes_source(lanes, slots[i / 2]);
        uint64_t *low = values + places->elements[i], *high = values + places->elements[i + 1];
        for (uint32_t lane = 0; lane < CORUN_WARP_LANES; lane++) {
            low[places->lanes[lane]] = words[lane] & 0xffff;
            high[places->lanes[lane]] = words[lane] >> 16;
        }
    }
}

void matrix_gather(const struct lanes *lanes, const struct ptx_matrix *matrix, enum ptx_matrix_role role,
                   const uint16_t *slots, uint64_t *values)
{
    struct places places;
    uint32_t bits = element_bits(matrix, role), packed = matrix_packed(matrix, role);
    uint32_t mask = bits >= 32 ? UINT32_MAX : (1u << bits) - 1;
    find_places(matrix, role, &places);
    if (packed == 2) {
        gather_halves(lanes, &places, slots, values);
        return;
    }
    for (uint32_t i = 0; i < places.count; i++) {
        const void *words = lanes_source(lanes, slots[i / packed]);
        uint32_t shift = i % packed * bits;
        uint64_t *place = values + places.elements[i];
        for (uint32_t lane = 0; lane < CORUN_WARP_LANES; lane++)
            place[places.lanes[lane]] =
                bits == 64 ? ((const uint64_t *)words)[lane] : ((const uint32_t *)words)[lane] >> shift & mask;
    }
}

void matrix_scatter(const struct lanes *lanes, const struct ptx_matrix *matrix, const uint16_t *slots,
                    const uint64_t *values)
{
    struct ptx_matrix results = *matrix;
    results.c = results.d;
    struct places places;
    uint32_t bits = element_bits(&results, PTX_MATRIX_C), packed = matrix_packed(&results, PTX_MATRIX_C);
    uint32_t mask = bits >= 32 ? UINT32_MAX : (1u << bits) - 1;
    find_places(&results, PTX_MATRIX_C, &places);
    for (uint32_t i = 0; i < places.count; i++) {
        void *words = lanes_destination(lanes, slots[i / packed]);
        uint32_t shift = i % packed * bits;
        const uint64_t *place = values + places.elements[i];
        for (uint32_t lane = 0; lane < CORUN_WARP_LANES; lane++) {
            uint64_t value = place[places.lanes[lane]];
            uint32_t *word = (uint32_t *)words + lane;
            if (bits == 64)
                ((uint64_t *)words)[lane] = value;
            else
                *word = (*word & ~(mask << shift)) | ((uint32_t)value & mask) << shift;
        }
    }
}

/*
 * Sparse A: of each chunk of four elements (pairs of .u4 and .s4; of tf32: two, counted in halves) two are there, and two bits for each say which. The
 * metadata of a row are in one lane of a group, in two, or in all four, each with the bits of a share of the columns; where a lane has those of
 * two rows, the lower half is of row `group`.
 */
void matrix_find_columns(const struct lanes *lanes, const struct matrix_work *work, uint8_t *columns)
{
    const struct ptx_matrix *matrix = &work->matrix;
    const uint32_t *metadata = lanes_source(lanes, work->e);
    uint32_t bits = ptx_types[matrix->a].bits, stored = matrix->k / 2u;
    uint32_t unit = bits == 4 ? 2 : 1;                 /* elements that go together */
    uint32_t chunk = bits == 32 ? 2 : 4 * unit;        /* columns of four bits of metadata */
    uint32_t row_bits = matrix->k / chunk * 4;         /* of metadata */
    uint32_t lanes_per_row = row_bits * 16 / (8 * 32); /* 1, 2 or 4 lanes of a group */
    bool whole = bits <= 8;                            /* a lane has 32 bits of one row */
    for (uint32_t row = 0; row < matrix->m; row++)
        for (uint32_t i = 0; i < stored; i++) {
            uint32_t at = i / (chunk / 2) * 4; /* first bit of the chunk in the row */
            uint32_t lane, shift;
            if (whole) {
                lane = row % 8 * 4 + work->selector * lanes_per_row % 4 + at / 32 * 2 + row / 8;
                shift = at % 32;
            } else {
                lane = row % 8 * 4 + work->selector * lanes_per_row % 4 + at / 16;
                shift = at % 16 + row / 8 * 16;
            }
            uint32_t nibble = metadata[lane] >> shift & 15, base = i / (chunk / 2) * chunk;
            uint32_t column;
            if (bits == 32)
                column = base + (nibble == 14);
            else
                column = base + unit * (nibble >> i / unit % 2 * 2 & 3) + i % unit;
            columns[row * stored + i] = (uint8_t)column;
        }
}

static struct matrix_values *multiply_whole(const struct lanes *lanes, const struct matrix_work *work,
                                            struct matrix_values *values, enum matrix_unit unit)
{
    const struct ptx_matrix *matrix = &work->matrix;
    matrix_gather(lanes, matrix, PTX_MATRIX_A, work->a, values->a);
    matrix_gather(lanes, matrix, PTX_MATRIX_B, work->b, values->b);
    matrix_gather(lanes, matrix, PTX_MATRIX_C, work->c, values->c);
    if (matrix->sparse)
        matrix_find_columns(lanes, work, values->columns);
    matrix_compute(work, values, unit);
    return values;
}

/* mma.m8n8k4 of f16: lanes 4q to 4q + 3 and 16 + 4q to 16 + 4q + 3 have product q. */
static struct matrix_place quad_place(enum ptx_matrix_role role, bool turned, bool single, uint32_t lane, uint32_t i)
{
    uint32_t line = lane % 4 + (lane < 16 ? 0 : 4);
    if (role == PTX_MATRIX_A) /* a row each; .col: a column of four rows each */
        return turned ? (struct matrix_place){i + (lane < 16 ? 0 : 4), lane % 4} : (struct matrix_place){line, i};
    if (role == PTX_MATRIX_B) /* a column each; .row: four columns of a row each */
        return turned ? (struct matrix_place){lane % 4, i + (lane < 16 ? 0 : 4)} : (struct matrix_place){i, line};
    if (!single)
        return (struct matrix_place){line, i};
    return (struct matrix_place){(lane & 1) + (i & 2) + (lane < 16 ? 0 : 4), (i & 4) + (lane & 2) + (i & 1)};
}

static void multiply_quad(const struct lanes *lanes, const struct matrix_work *work, struct matrix_values *values,
                          uint32_t product, enum matrix_unit unit)
{
    const struct ptx_matrix *matrix = &work->matrix;
    uint32_t c_bits = ptx_types[matrix->c].bits;
    for (uint32_t k = 0; k < 8; k++) {
        uint32_t lane = product * 4 + k % 4 + k / 4 * 16;
        for (uint32_t i = 0; i < 4; i++) {
            struct matrix_place a = quad_place(PTX_MATRIX_A, work->a_columns, false, lane, i);
            struct matrix_place b = quad_place(PTX_MATRIX_B, work->b_rows, false, lane, i);
            values->a[a.row * 4 + a.column] = get(lanes, work->a, 16, lane, i);
            values->b[b.row * 8 + b.column] = get(lanes, work->b, 16, lane, i);
        }
        for (uint32_t i = 0; i < 8; i++) {
            struct matrix_place c = quad_place(PTX_MATRIX_C, false, c_bits == 32, lane, i);
            values->c[c.row * 8 + c.column] = get(lanes, work->c, c_bits, lane, i);
        }
    }
    matrix_compute(work, values, unit);
}

static void put_quad(const struct lanes *lanes, const struct matrix_work *work, const struct matrix_values *values,
                     uint32_t product)
{
    uint32_t bits = ptx_types[work->matrix.d].bits;
    for (uint32_t k = 0; k < 8; k++)
        for (uint32_t i = 0; i < 8; i++) {
            uint32_t lane = product * 4 + k % 4 + k / 4 * 16;
            struct matrix_place d = quad_place(PTX_MATRIX_C, false, bits == 32, lane, i);
            put(lanes, work->d, bits, lane, i, values->d[d.row * 8 + d.column]);
        }
}

void matrix_multiply(const struct lanes *lanes, const struct matrix_work *work, enum matrix_unit unit)
{
    struct matrix_values values;
    if (!is_quad(&work->matrix)) {
        matrix_scatter(lanes, &work->matrix, work->d, multiply_whole(lanes, work, &values, unit)->d);
        return;
    }
    for (uint32_t product = 0; product < QUAD_PRODUCTS; product++) {
        multiply_quad(lanes, work, &values, product, unit);
        put_quad(lanes, work, &values, product);
    }
}

void matrix_addresses(const struct lanes *lanes, const struct operation *op, const struct matrix_work *work)
{
    const struct ptx_matrix *matrix = &work->matrix;
    enum ptx_matrix_role role = (enum ptx_matrix_role)op->extra[1];
    const void *pointers = lanes_source(lanes, op->source[0]);
    const uint32_t *strides = lanes_source(lanes, op->source[1]);
    uint64_t *addresses = lanes_destination(lanes, op->destination);
    uint32_t bits = ptx_types[ptx_matrix_element(matrix, role)].bits, unit = bits == 1 ? 32 : 1;
    struct layout layout = layout_of(matrix, role);
    struct matrix_place first = matrix_place(matrix, role, 0, op->extra[0]);
    for (uint32_t lane = 0; lane < CORUN_WARP_LANES; lane++) {
        struct matrix_place at = {first.row + lane / 4 * layout.group.row + lane % 4 * layout.lane.row,
                                  first.column + lane / 4 * layout.group.column + lane % 4 * layout.lane.column};
        /* words of bits lie along k, which is along a row of A and along a column of B */
        uint64_t major = op->variant & MATRIX_COLUMNS ? at.column : at.row;
        uint64_t minor = (op->variant & MATRIX_COLUMNS ? at.row : at.column) * (uint64_t)unit;
        uint64_t base =
            op->variant & MATRIX_POINTER_32 ? ((const uint32_t *)pointers)[lane] : ((const uint64_t *)pointers)[lane];
        addresses[lane] = base + (uint64_t)op->offset + (major * strides[lane] + minor) * bits / 8;
    }
}

/* Tiles */

uint32_t matrix_tile_lanes(const struct matrix_work *work)
{
    return CORUN_FULL_MASK >> (CORUN_WARP_LANES - 8u * work->tiles);
}

static uint16_t row_slot(const struct operation *op, uint16_t first, uint32_t word)
{
    return word ? op->extra[word - 1] : first;
}

/* The upper or lower half of a lane's register. */
static uint32_t half_of(const uint32_t *words, uint32_t lane, uint32_t upper)
{
    return words[lane] >> (upper ? 16 : 0) & 0xffff;
}

/*
 * Row r of a tile is in four registers of lane r of the tile, two columns in each; in the fragment, a lane has two columns of row lane / 4, or, of a tile
 * that is transposed, two rows of that column.
 */
void matrix_tiles_loaded(const struct lanes *lanes, const struct operation *op, const struct matrix_work *work)
{
    const uint32_t *rows[4];
    for (uint32_t word = 0; word < 4; word++)
        rows[word] = lanes_source(lanes, row_slot(op, op->destination, word));
    for (uint32_t tile = 0; tile < work->tiles; tile++) {
        uint32_t *to = lanes_destination(lanes, work->d[tile]);
        for (uint32_t lane = 0; lane < CORUN_WARP_LANES; lane++) {
            uint32_t line = lane / 4, pair = lane % 4, first = tile * 8;
            to[lane] = rows[pair][first + line];
            if (work->transposes)
                to[lane] = half_of(rows[line / 2], first + pair * 2, line % 2) |
                           half_of(rows[line / 2], first + pair * 2 + 1, line % 2) << 16;
        }
    }
}

void matrix_tiles_stored(const struct lanes *lanes, const struct operation *op, const struct matrix_work *work)
{
    for (uint32_t tile = 0; tile < work->tiles; tile++) {
        const uint32_t *from = lanes_source(lanes, work->d[tile]);
        for (uint32_t word = 0; word < 4; word++) {
            uint32_t *to = (uint32_t *)lanes_destination(lanes, row_slot(op, op->source[1], word)) + tile * 8;
            for (uint32_t row = 0; row < 8; row++)
                to[row] = work->transposes ? half_of(from, word * 8 + row / 2, row % 2) |
                                                 half_of(from, word * 8 + 4 + row / 2, row % 2) << 16
                                           : from[row * 4 + word];
        }
    }
}

void matrix_transpose(const struct lanes *lanes, const struct matrix_work *work)
{
    uint32_t results[CORUN_WARP_LANES];
    for (uint32_t lane = 0; lane < CORUN_WARP_LANES; lane++) {
        uint32_t row = lane / 4, column = lane % 4 * 2; /* of the result: elements (column, row) of the tile */
        uint64_t low = get(lanes, work->a, 16, column * 4 + row / 2, row % 2);
        uint64_t high = get(lanes, work->a, 16, (column + 1) * 4 + row / 2, row % 2);
        results[lane] = (uint32_t)(low | high << 16);
    }
    memcpy(lanes_destination(lanes, work->d[0]), results, sizeof results);
}
