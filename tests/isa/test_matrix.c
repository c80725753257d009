/* SPDX-License-Identifier: MIT */
/*
 * Products of matrices of every shape and type, against sums that are computed in another way (sums.h), and layouts as PTX documents them for
 * each kind of shape. Inputs are random, with zeros, subnormal numbers, infinities and NaN among them.
 */
#include "sums.h"

#include "isa/matrix.h"
#include "ptx/matrix.h"

enum { ROUNDS = 6, INPUT_WORDS = 40 * 64, MOST_ELEMENTS = 2048 };

/* Layouts of mma, as documented: element i of a lane. */

struct at {
    int row, column;
};

static struct at place_a(const struct ptx_matrix *matrix, const struct kind *kind, int lane, int i)
{
    int group = lane >> 2, place = lane % 4, each = kind->bits == 64 ? 1 : 32 / kind->bits, word = i / each;
    if (matrix->m == 8)
        return (struct at){group, place * each + i % each};
    /* registers 0 and 2 have the upper rows, 2 and 3 the columns behind */
    int behind = word / 2 * 4 * each;
    return (struct at){word % 2 ? group + 8 : group, place * each + i % each + behind};
}

static struct at place_b(const struct kind *kind, int lane, int i)
{
    int each = kind->bits == 64 ? 1 : 32 / kind->bits;
    return (struct at){lane % 4 * each + i % each + i / each * 4 * each, lane >> 2};
}

static struct at place_c(int lane, int i)
{
    return (struct at){(lane >> 2) + (i >= 2 ? 8 : 0), lane % 4 * 2 + (i & 1)};
}

/* mma.m8n8k4 of f16: of the eight lanes of a product. */
static struct at quad_a(int lane, int i, bool columns)
{
    struct at row = {lane % 4 + (lane < 16 ? 0 : 4), i}, column = {i % 4 + (lane < 16 ? 0 : 4), lane % 4};
    return columns ? column : row;
}

static struct at quad_b(int lane, int i, bool rows)
{
    struct at row = {lane % 4, i + (lane < 16 ? 0 : 4)}, column = {i, lane % 4 + (lane < 16 ? 0 : 4)};
    return rows ? row : column;
}

static struct at quad_c(int lane, int i, bool single)
{
    int x = (lane & 1) + (i & 2);
    struct at half = {lane % 4 + (lane < 16 ? 0 : 4), i};
    struct at word = {lane < 16 ? x : x + 4, (i & 4) + (lane & 2) + (i & 1)};
    return single ? word : half;
}

/* Registers of the input, [operand][register][lane], of 64 bits each. */
static uint64_t input[4][8][32];

static uint64_t *element(int operand, const struct kind *kind, int lane, int i, int *shift)
{
    int each = kind->bits == 64 ? 1 : 32 / kind->bits;
    *shift = kind->bits == 64 ? 0 : i % each * kind->bits;
    return &input[operand][i / each][lane];
}

static uint64_t get(int operand, const struct kind *kind, int lane, int i)
{
    int shift;
    uint64_t word = *element(operand, kind, lane, i, &shift);
    return field(word >> shift, kind->bits);
}

static void set(int operand, const struct kind *kind, int lane, int i, uint64_t value)
{
    int shift;
    uint64_t *word = element(operand, kind, lane, i, &shift);
    *word |= value << shift;
}

/* A kernel with one instruction */

static const char *register_of(enum ptx_type type)
{
    return type == PTX_TYPE_F64 ? "%fd" : type == PTX_TYPE_F32 ? "%f" : "%r";
}

static int registers(int elements, const struct kind *kind, int lanes)
{
    return elements * kind->bits / (kind->bits == 64 ? 64 : 32) / lanes;
}

struct text {
    char data[20000];
    size_t length;
};

static void put(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(struct text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    text->length += (size_t)vsnprintf(text->data + text->length, sizeof text->data - text->length, format, arguments);
    va_end(arguments);
    assert_true(text->length < sizeof text->data);
}

static void put_fragment(struct text *text, const char *name, int first, int count)
{
    put(text, "{");
    for (int i = 0; i < count; i++)
        put(text, "%s%s%d", i ? ", " : "", name, first + i);
    put(text, "}");
}

struct product {
    struct ptx_matrix matrix;
    const struct kind *kind[4]; /* d, a, b, c */
    int count[4], first[4];
    bool quad, sparse, a_columns, b_rows;
    struct sum sum;
    int selector;
};

static void load_registers(struct text *text, struct product *product)
{
    int used[3] = {0, 0, 0};
    for (int operand = 0; operand < 4; operand++) {
        enum ptx_type type = product->kind[operand]->type;
        int bank = type == PTX_TYPE_F64 ? 2 : (operand == 0 || operand == 3) && type == PTX_TYPE_F32 ? 1 : 0;
        product->first[operand] = used[bank];
        used[bank] += product->count[operand];
        for (int i = 0; operand && i < product->count[operand]; i++)
            put(text, "ld.global.%s %s%d, [%%mine+%d];\n",
                bank == 2 ? "f64"
                : bank    ? "f32"
                          : "u32",
                bank == 2 ? "%fd"
                : bank    ? "%f"
                          : "%r",
                product->first[operand] + i, (operand * 8 + i) * 256);
    }
    if (product->sparse)
        put(text, "ld.global.u32 %%e, [%%mine+0];\n");
}

static const char *bank_of(const struct product *product, int operand)
{
    enum ptx_type type = product->kind[operand]->type;
    return operand == 0 || operand == 3 || type == PTX_TYPE_F64 ? register_of(type) : "%r";
}

static void write_kernel(struct text *text, struct product *product)
{
    const struct ptx_matrix *matrix = &product->matrix;
    put(text, "%s",
        ".version 8.4\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n"
        ".reg .b32 %r<40>;\n.reg .b32 %e;\n.reg .f32 %f<40>;\n.reg .f64 %fd<40>;\n.reg .b64 %mine, %o;\n"
        ".reg .b32 %t;\nld.param.u64 %o, [p];\ncvta.to.global.u64 %o, %o;\nmov.u32 %t, %tid.x;\n"
        "mul.wide.u32 %mine, %t, 8;\nadd.u64 %mine, %o, %mine;\n");
    load_registers(text, product);
    put(text, "mma%s.sync.aligned.m%un%uk%u.%s.%s%s.%s.%s.%s.%s%s ", product->sparse ? ".sp" : "", matrix->m, matrix->n,
        matrix->k, product->a_columns ? "col" : "row", product->b_rows ? "row" : "col",
        product->sum.saturates ? ".satfinite" : "", product->kind[0]->word, product->kind[1]->word,
        product->kind[2]->word, product->kind[3]->word,
        product->kind[1]->bits > 1 ? ""
        : product->sum.exclusive   ? ".xor.popc"
                                   : ".and.popc");
    for (int operand = 0; operand < 4; operand++) {
        put(text, operand ? ", " : "");
        put_fragment(text, bank_of(product, operand), product->first[operand], product->count[operand]);
    }
    if (product->sparse)
        put(text, ", %%e, %d", product->selector);
    put(text, ";\n");
    for (int i = 0; i < product->count[0]; i++)
        put(text, "st.global.%s [%%mine+%d], %s%d;\n",
            product->kind[0]->bits == 64             ? "f64"
            : product->kind[0]->type == PTX_TYPE_F32 ? "f32"
                                                     : "u32",
            32768 + i * 256, bank_of(product, 0), product->first[0] + i);
    put(text, "ret;\n}\n");
}

/* The columns that a sparse row has, and the metadata that say so. */
static int chosen[16][64];

static void draw_columns(const struct product *product)
{
    int bits = product->kind[1]->bits, k = product->matrix.k;
    memset(input[0], 0, sizeof input[0]);
    for (int lane = 0; lane < 32; lane++)
        input[0][0][lane] = draw();                                    /* what lanes say that are not asked */
    int row_bits = bits == 32 ? k / 2 * 4 : bits == 4 ? k / 8 * 4 : k; /* of metadata */
    int share = bits >= 16 ? 16 : 32, lanes = row_bits * 2 / 32;       /* in a lane; lanes of a group */
    for (int row = 0; row < 16; row++)
        for (int at = 0; at < row_bits; at += 4) {
            uint64_t nibble;
            int chunk = at / 4;
            if (bits == 32) {
                int which = (int)(draw() % 2);
                chosen[row][chunk] = chunk * 2 + which;
                nibble = which ? 14 : 4;
            } else {
                static const int pairs[6][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};
                const int *pair = pairs[draw() % 6];
                nibble = (uint64_t)(pair[0] | pair[1] << 2);
                for (int i = 0; i < 2 && bits != 4; i++)
                    chosen[row][chunk * 2 + i] = chunk * 4 + pair[i];
                for (int i = 0; i < 4 && bits == 4; i++)
                    chosen[row][chunk * 4 + i] = chunk * 8 + pair[i / 2] * 2 + i % 2;
            }
            int lane = row % 8 * 4 + (lanes == 4 ? 0 : product->selector * lanes), shift = at % share;
            if (share == 16) { /* rows of the lower half above those of the upper half of the tile */
                lane += at / 16;
                shift += row / 8 * 16;
            } else {
                lane += at / 32 * 2 + row / 8;
            }
            uint64_t mask = UINT64_C(15) << shift;
            input[0][0][lane] = (input[0][0][lane] & ~mask) | nibble << shift;
        }
}

/* Rows and columns of the products, drawn and put into the registers. */
static uint64_t rows_a[4][16][256], columns_b[4][32][256], results[4][16][32];

static void draw_input(const struct product *product, bool tame)
{
    const struct ptx_matrix *matrix = &product->matrix;
    int stored = product->sparse ? matrix->k / 2 : matrix->k;
    memset(input, 0, sizeof input);
    for (int operand = 1; operand < 4; operand++) {
        const struct kind *kind = product->kind[operand];
        int elements = product->count[operand] * (kind->bits == 64 ? 1 : 32 / kind->bits);
        for (int lane = 0; lane < 32; lane++)
            for (int i = 0; i < elements; i++)
                set(operand, kind, lane, i, draw_bits(kind, tame));
    }
    if (product->sparse)
        draw_columns(product);
    for (int lane = 0; lane < 32; lane++) {
        int which = product->quad ? lane % 16 / 4 : 0;
        for (int i = 0; i < matrix->m * stored / (product->quad ? 8 : 32); i++) {
            struct at a =
                product->quad ? quad_a(lane, i, product->a_columns) : place_a(matrix, product->kind[1], lane, i);
            rows_a[which][a.row][a.column] = get(1, product->kind[1], lane, i);
        }
        for (int i = 0; i < matrix->k * matrix->n / (product->quad ? 8 : 32); i++) {
            struct at b = product->quad ? quad_b(lane, i, product->b_rows) : place_b(product->kind[2], lane, i);
            columns_b[which][b.column][b.row] = get(2, product->kind[2], lane, i);
        }
    }
}

static uint64_t expected(const struct product *product, int lane, int i, bool of_c)
{
    const struct kind *kind = product->kind[of_c ? 3 : 0];
    int which = product->quad ? lane % 16 / 4 : 0;
    struct at d = product->quad ? quad_c(lane, i, kind->bits == 32) : place_c(lane, i);
    int count = product->sparse ? product->matrix.k / 2 : product->matrix.k;
    if (of_c) {
        results[which][d.row][d.column] = get(3, kind, lane, i);
        return 0;
    }
    uint64_t b[256];
    for (int k = 0; k < count; k++)
        b[k] = columns_b[which][d.column][product->sparse ? chosen[d.row][k] : k];
    return sum_of(&product->sum, rows_a[which][d.row], b, results[which][d.row][d.column], count);
}

static void check_output(const struct product *product, const uint64_t *output)
{
    const struct ptx_matrix *matrix = &product->matrix;
    const struct kind *kind = product->kind[0];
    int elements = matrix->m * matrix->n / (product->quad ? 8 : 32), each = kind->bits == 64 ? 1 : 32 / kind->bits;
    for (int lane = 0; lane < 32; lane++)
        for (int i = 0; i < elements; i++)
            (void)expected(product, lane, i, true);
    for (int lane = 0; lane < 32; lane++)
        for (int i = 0; i < elements; i++) {
            uint64_t found = output[i / each * 32 + lane];
            found = kind->bits == 64 ? found : field(found >> (i % each * kind->bits), kind->bits);
            uint64_t wanted = expected(product, lane, i, false);
            if (found != wanted)
                fail_msg("mma%s.m%un%uk%u.%s.%s.%s.%s: lane %d element %d is %llx, not %llx",
                         product->sparse ? ".sp" : "", matrix->m, matrix->n, matrix->k, kind->word,
                         product->kind[1]->word, product->kind[2]->word, product->kind[3]->word, lane, i,
                         (unsigned long long)found, (unsigned long long)wanted);
        }
}

static void run_product(struct product *product)
{
    const struct ptx_matrix *matrix = &product->matrix;
    int lanes = product->quad ? 8 : 32, stored = product->sparse ? matrix->k / 2 : matrix->k;
    const int elements[4] = {matrix->m * matrix->n, matrix->m * stored, matrix->k * matrix->n, matrix->m * matrix->n};
    for (int operand = 0; operand < 4; operand++)
        product->count[operand] = registers(elements[operand], product->kind[operand], lanes);
    product->sum.d = product->kind[0];
    product->sum.a = product->kind[1];
    product->sum.b = product->kind[2];
    product->sum.c = product->kind[3];
    product->sum.quad = product->quad;
    struct text text = {.length = 0};
    struct runner runner;
    write_kernel(&text, product);
    runner_load(&runner, text.data);
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t *words = corun_memory_pointer(runner.memory, runner.out, runner.out_bytes);
        draw_input(product, round % 2);
        product->sum.old = round % 3 == 2;
        corun_module_instance_architecture(runner.instance, product->sum.old ? 80 : 90);
        memcpy(words, input, sizeof input);
        enum corun_status status = runner_try(&runner, 32);
        if (status != CORUN_OK)
            print_error("%s\n%s", runner_message(&runner), text.data);
        assert_int_equal(status, CORUN_OK);
        check_output(product, words + 4096);
    }
    runner_free(&runner);
}

/* All products of one row of the table. */
static uint32_t run_row(enum ptx_matrix_form form, const char *shape, uint64_t multiplicands, uint64_t accumulators)
{
    uint32_t tried = 0;
    unsigned m, n, k;
    assert_int_equal(sscanf(shape, "M%uN%uK%u", &m, &n, &k), 3);
    for (uint32_t a = 0; a < PTX_TYPE_COUNT; a++)
        for (uint32_t b = 0; b < PTX_TYPE_COUNT; b++)
            for (uint32_t d = 0; d < PTX_TYPE_COUNT; d++)
                for (uint32_t c = 0; c < PTX_TYPE_COUNT; c++) {
                    bool mixed =
                        multiplicands == (UINT64_C(1) << PTX_TYPE_BF16 | UINT64_C(1) << PTX_TYPE_TF32) && a != b;
                    bool quad = form == PTX_MATRIX_MMA && m == 8 && a == PTX_TYPE_F16;
                    if (!(multiplicands >> a & 1) || !(multiplicands >> b & 1) || !(accumulators >> c & 1) ||
                        !(accumulators >> d & 1) || mixed || (c != d && !(quad && d == PTX_TYPE_F32)))
                        continue;
                    bool sparse = form == PTX_MATRIX_SPARSE;
                    int bits = kind_of((enum ptx_type)a)->bits;
                    int selectors = !sparse ? 1 : 4 / (int)(k / (bits == 32 ? 2u : bits == 4 ? 8u : 4u) / 4);
                    for (int variant = 0; variant < (quad ? 4 : sparse ? selectors : 2); variant++) {
                        struct product product = {
                            .matrix = {.m = (uint16_t)m, .n = (uint16_t)n, .k = (uint16_t)k},
                            .kind = {kind_of((enum ptx_type)d), kind_of((enum ptx_type)a), kind_of((enum ptx_type)b),
                                     kind_of((enum ptx_type)c)},
                            .quad = quad,
                            .sparse = sparse,
                            .selector = sparse ? variant : 0,
                            .a_columns = quad && variant & 1,
                            .b_rows = quad && variant & 2,
                            .sum = {.saturates = d == PTX_TYPE_S32 && !sparse && variant, .exclusive = variant},
                        };
                        run_product(&product);
                        tried++;
                    }
                }
    return tried;
}

static void run_table(enum ptx_matrix_form wanted)
{
    uint32_t tried = 0, rows = 0;
#define M(form, shape, multiplicands, accumulators, layouts) \
    if (PTX_MATRIX_##form == wanted) { \
        uint32_t here = run_row(wanted, #shape, multiplicands, accumulators); \
        assert_true(here > 0); \
        tried += here; \
        rows++; \
    }
#include "ptx/matrix.def"
#undef M
    assert_true(rows > 5 && tried > rows);
}

static void test_mma(void **state)
{
    (void)state;
    run_table(PTX_MATRIX_MMA);
}

static void test_sparse(void **state)
{
    (void)state;
    run_table(PTX_MATRIX_SPARSE);
}

/*
 * wmma: a, b and c are loaded from matrices in memory whose rows (columns) are `stride` elements apart, and d is stored. The registers
 * between have no layout that anybody documents.
 */
struct tile {
    const struct kind *kind;
    int rows, columns, stride;
    bool by_column;
    uint32_t offset; /* bytes in the buffer */
};

static int bit_of(const struct tile *tile, int row, int column)
{
    int element = tile->by_column ? column * tile->stride + row : row * tile->stride + column;
    return element * tile->kind->bits;
}

static uint64_t tile_get(const struct tile *tile, const uint8_t *memory, int row, int column)
{
    int bit = bit_of(tile, row, column);
    uint64_t word = 0;
    memcpy(&word, memory + tile->offset + bit / 8, (size_t)(tile->kind->bits + 7) / 8);
    return field(word >> bit % 8, tile->kind->bits);
}

static void tile_set(const struct tile *tile, uint8_t *memory, int row, int column, uint64_t value)
{
    int bit = bit_of(tile, row, column);
    uint8_t *at = memory + tile->offset + bit / 8;
    if (tile->kind->bits >= 8)
        memcpy(at, &value, (size_t)tile->kind->bits / 8);
    else
        *at = (uint8_t)((*at & ~(field(UINT64_MAX, tile->kind->bits) << bit % 8)) | value << bit % 8);
}

/* Strides are such that every row begins at a multiple of 16 bytes, and a little larger than a row. */
static struct tile make_tile(const struct kind *kind, int rows, int columns, bool by_column, uint32_t offset)
{
    int whole = 128 / kind->bits, line = by_column ? rows : columns;
    return (struct tile){kind, rows, columns, (line + whole - 1) / whole * whole + whole, by_column, offset};
}

static void put_access(struct text *text, const char *what, const struct tile *tile, const char *shape,
                       const char *space)
{
    put(text, "wmma.%s.sync.aligned.%s.%s%s.%s ", what, tile->by_column ? "col" : "row", shape, space,
        tile->kind->word);
}

static const char *wmma_bank(const struct tile *tile, bool accumulates)
{
    return tile->kind->bits == 64 ? "%fd" : accumulates && tile->kind->type == PTX_TYPE_F32 ? "%f" : "%r";
}

static int wmma_registers(const struct tile *tile, bool accumulates)
{
    if (tile->kind->type == PTX_TYPE_F16 && !accumulates)
        return 8;
    return registers(tile->rows * tile->columns, tile->kind, 32);
}

static void write_wmma(struct text *text, const struct tile *tiles, const char *shape, const struct sum *sum,
                       bool shared)
{
    static const char *const names[4] = {"load.a", "load.b", "load.c", "store.d"};
    const char *space = shared ? ".shared" : "";
    put(text, "%s",
        ".version 8.4\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n"
        ".shared .align 32 .b8 tiles[16384];\n"
        ".reg .b32 %r<40>;\n.reg .f32 %f<40>;\n.reg .f64 %fd<40>;\n.reg .b64 %o, %x, %a;\n.reg .b32 %t, %s, %u;\n"
        ".reg .pred %more;\nld.param.u64 %o, [p];\ncvta.to.global.u64 %o, %o;\nmov.u32 %t, tiles;\n");
    if (shared) /* the matrices come first */
        put(text,
            "mov.u32 %%u, %%tid.x;\nshl.b32 %%u, %%u, 2;\nCOPY:\ncvt.u64.u32 %%x, %%u;\nadd.u64 %%a, %%o, %%x;\n"
            "ld.global.u32 %%s, [%%a];\nadd.u32 %%r39, %%t, %%u;\nst.shared.u32 [%%r39], %%s;\nadd.u32 %%u, %%u, 128;\n"
            "setp.lt.u32 %%more, %%u, 16384;\n@%%more bra COPY;\nbar.sync 0;\n");
    const int first[3] = {0, 8, 16};
    for (int i = 0; i < 3; i++) {
        put_access(text, names[i], &tiles[i], shape, space);
        put_fragment(text, wmma_bank(&tiles[i], i == 2), first[i], wmma_registers(&tiles[i], i == 2));
        put(text, ", [%s+%u], %d;\n", shared ? "%t" : "%o", tiles[i].offset, tiles[i].stride);
    }
    const struct kind *a = tiles[0].kind;
    put(text, "wmma.mma%s.sync.aligned.%s.%s.%s.%s",
        a->bits > 1      ? ""
        : sum->exclusive ? ".xor.popc"
                         : ".and.popc",
        tiles[0].by_column ? "col" : "row", tiles[1].by_column ? "col" : "row", shape, tiles[3].kind->word);
    if (a->type != PTX_TYPE_F16)
        put(text, ".%s.%s", a->word, tiles[1].kind->word);
    put(text, ".%s%s ", tiles[2].kind->word, sum->saturates ? ".satfinite" : "");
    put_fragment(text, wmma_bank(&tiles[3], true), 24, wmma_registers(&tiles[3], true));
    for (int i = 0; i < 3; i++) {
        put(text, ", ");
        put_fragment(text, wmma_bank(&tiles[i], i == 2), first[i], wmma_registers(&tiles[i], i == 2));
    }
    put(text, ";\n");
    put_access(text, names[3], &tiles[3], shape, "");
    put(text, "[%%o+%u], ", tiles[3].offset);
    put_fragment(text, wmma_bank(&tiles[3], true), 24, wmma_registers(&tiles[3], true));
    put(text, ", %d;\nret;\n}\n", tiles[3].stride);
}

static void check_wmma(const struct tile *tiles, const struct sum *sum, const uint8_t *memory, const char *shape)
{
    for (int row = 0; row < tiles[3].rows; row++)
        for (int column = 0; column < tiles[3].columns; column++) {
            uint64_t a[256], b[256], c = tile_get(&tiles[2], memory, row, column);
            for (int k = 0; k < tiles[0].columns; k++) {
                a[k] = tile_get(&tiles[0], memory, row, k);
                b[k] = tile_get(&tiles[1], memory, k, column);
            }
            uint64_t wanted = sum_of(sum, a, b, c, tiles[0].columns), found = tile_get(&tiles[3], memory, row, column);
            if (found != wanted)
                fail_msg("wmma %s %s.%s.%s %d%d%d%d: (%d, %d) is %llx, not %llx", shape, tiles[3].kind->word,
                         tiles[0].kind->word, tiles[2].kind->word, tiles[0].by_column, tiles[1].by_column,
                         tiles[2].by_column, tiles[3].by_column, row, column, (unsigned long long)found,
                         (unsigned long long)wanted);
        }
}

static void run_wmma(const struct tile *tiles, const char *shape, const struct sum *sum, bool shared)
{
    struct text text = {.length = 0};
    struct runner runner;
    write_wmma(&text, tiles, shape, sum, shared);
    runner_load(&runner, text.data);
    for (int round = 0; round < 2; round++) {
        uint8_t *memory = corun_memory_pointer(runner.memory, runner.out, runner.out_bytes);
        for (int i = 0; i < 3; i++)
            for (int row = 0; row < tiles[i].rows; row++)
                for (int column = 0; column < tiles[i].columns; column++)
                    tile_set(&tiles[i], memory, row, column, draw_bits(tiles[i].kind, round));
        enum corun_status status = runner_try(&runner, 32);
        if (status != CORUN_OK)
            print_error("%s\n%s", runner_message(&runner), text.data);
        assert_int_equal(status, CORUN_OK);
        check_wmma(tiles, sum, memory, shape);
    }
    runner_free(&runner);
}

static uint32_t run_wmma_row(const char *name, uint64_t multiplicands, uint64_t accumulators, bool any)
{
    uint32_t tried = 0;
    char shape[32];
    unsigned m, n, k;
    assert_int_equal(sscanf(name, "M%uN%uK%u", &m, &n, &k), 3);
    snprintf(shape, sizeof shape, "m%un%uk%u", m, n, k);
    for (uint32_t a = 0; a < PTX_TYPE_COUNT; a++)
        for (uint32_t d = 0; d < PTX_TYPE_COUNT; d++)
            for (uint32_t c = 0; c < PTX_TYPE_COUNT; c++) {
                if (!(multiplicands >> a & 1) || !(accumulators >> c & 1) || !(accumulators >> d & 1))
                    continue;
                for (uint32_t layouts = 0; layouts < 16; layouts++) {
                    bool a_by_column = any && layouts & 1, b_by_column = !any || layouts & 2;
                    const struct kind *kind = kind_of((enum ptx_type)a);
                    const struct tile tiles[4] = {
                        make_tile(kind, (int)m, (int)k, a_by_column, 0),
                        make_tile(kind, (int)k, (int)n, b_by_column, 4096),
                        make_tile(kind_of((enum ptx_type)c), (int)m, (int)n, layouts & 4, 8192),
                        make_tile(kind_of((enum ptx_type)d), (int)m, (int)n, layouts & 8, 16384)};
                    const struct sum sum = {kind,
                                            kind,
                                            tiles[2].kind,
                                            tiles[3].kind,
                                            d == PTX_TYPE_S32 && layouts & 1 && a != PTX_TYPE_B1,
                                            layouts & 1,
                                            false,
                                            false,
                                            a == PTX_TYPE_TF32,
                                            false};
                    run_wmma(tiles, shape, &sum, layouts & 2);
                    tried++;
                }
            }
    return tried;
}

static void test_wmma(void **state)
{
    (void)state;
    uint32_t tried = 0;
    enum { ANY = true, ROW_COL = false };
#define M(form, shape, multiplicands, accumulators, layouts) \
    if (PTX_MATRIX_##form == PTX_MATRIX_WMMA) \
        tried += run_wmma_row(#shape, multiplicands, accumulators, layouts);
#include "ptx/matrix.def"
#undef M
    assert_true(tried > 300);
}

/* Tiles: rows of 16 bytes at places that lanes name, and what each lane has of them. */
static void test_tiles(void **state)
{
    (void)state;
    for (int number = 1; number <= 4; number *= 2)
        for (int trans = 0; trans < 2; trans++) {
            struct text text = {.length = 0};
            struct runner runner;
            const char *suffix = trans ? ".trans" : "";
            put(&text, "%s",
                ".version 8.4\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n"
                ".shared .align 16 .b8 rows[2048];\n.reg .b32 %r<10>, %t, %row, %s;\n.reg .b64 %o, %x, %a;\n"
                "ld.param.u64 %o, [p];\ncvta.to.global.u64 %o, %o;\nmov.u32 %t, %tid.x;\nmov.u32 %s, rows;\n"
                /* lane 5l of 32 names row l: places that are not in order */
                "mul.lo.u32 %row, %t, 5;\nand.b32 %row, %row, 31;\nshl.b32 %row, %row, 4;\nadd.u32 %row, %row, %s;\n"
                "mul.wide.u32 %x, %t, 4;\nadd.u64 %a, %o, %x;\n");
            for (int i = 0; i < 4; i++)
                put(&text,
                    "ld.global.u32 %%r1, [%%a+%d];\nshl.b32 %%r2, %%t, 2;\nadd.u32 %%r2, %%r2, %%s;\n"
                    "st.shared.u32 [%%r2+%d], %%r1;\n",
                    i * 128, i * 128);
            put(&text, "bar.sync 0;\nldmatrix.sync.aligned.m8n8.x%d%s.shared.b16 ", number, suffix);
            put_fragment(&text, "%r", 3, number);
            put(&text, ", [%%row];\nstmatrix.sync.aligned.m8n8.x%d%s.shared.b16 [%%row+1024], ", number,
                trans ? "" : ".trans");
            put_fragment(&text, "%r", 3, number);
            put(&text, ";\nbar.sync 0;\n");
            for (int i = 0; i < number; i++)
                put(&text, "st.global.u32 [%%a+%d], %%r%d;\n", 4096 + i * 128, 3 + i);
            for (int i = 0; i < 4; i++)
                put(&text,
                    "shl.b32 %%r2, %%t, 2;\nadd.u32 %%r2, %%r2, %%s;\nld.shared.u32 %%r1, [%%r2+%d];\n"
                    "st.global.u32 [%%a+%d], %%r1;\n",
                    1024 + i * 128, 8192 + i * 128);
            put(&text,
                "movmatrix.sync.aligned.m8n8.trans.b16 %%r1, %%r3;\nst.global.u32 [%%a+12288], %%r1;\nret;\n}\n");
            runner_load(&runner, text.data);
            uint8_t *memory = corun_memory_pointer(runner.memory, runner.out, runner.out_bytes);
            for (int i = 0; i < 512; i++)
                memory[i] = (uint8_t)draw();
            enum corun_status status = runner_try(&runner, 32);
            if (status != CORUN_OK)
                print_error("%s\n%s", runner_message(&runner), text.data);
            assert_int_equal(status, CORUN_OK);
            for (int tile = 0; tile < number; tile++)
                for (int row = 0; row < 8; row++)
                    for (int column = 0; column < 8; column++) {
                        int place = (tile * 8 + row) * 5 % 32 * 16, turned = (tile * 8 + column) * 5 % 32 * 16;
                        uint16_t wanted, found, stored, moved;
                        memcpy(&wanted, memory + place + column * 2, 2);
                        /* lane 4r + c / 2 has (r, c); transposed: (c, r) */
                        int holder = trans ? column * 4 + row / 2 : row * 4 + column / 2,
                            half = trans ? row % 2 : column % 2;
                        memcpy(&found, memory + 4096 + tile * 128 + holder * 4 + half * 2, 2);
                        assert_int_equal(found, wanted);
                        memcpy(&stored, memory + 8192 + turned + row * 2, 2); /* the other one of .trans and none */
                        assert_int_equal(stored, wanted);
                        int other = trans ? row * 4 + column / 2 : column * 4 + row / 2;
                        memcpy(&moved, memory + 12288 + other * 4 + (trans ? column % 2 : row % 2) * 2, 2);
                        if (tile == 0)
                            assert_int_equal(moved, wanted);
                    }
            runner_free(&runner);
        }
}

/*
 * Rows of numbers are computed as vectors, matrices with a NaN element by element: rows without the NaN have the same bits. Every eighth matrix has the largest
 * significands of one sign and one exponent, whose sums go beyond 32 bits.
 */
static void test_rows(void **state)
{
    (void)state;
    static const struct {
        enum ptx_type a, b;
        uint16_t k;
        uint32_t nan, most;
    } shapes[] = {{PTX_TYPE_F16, PTX_TYPE_F16, 16, 0x7e00, 0x3fff},
                  {PTX_TYPE_BF16, PTX_TYPE_BF16, 16, 0x7fc0, 0x3fff},
                  {PTX_TYPE_TF32, PTX_TYPE_TF32, 8, 0x7fc00000, 0x3fffe000},
                  {PTX_TYPE_E4M3, PTX_TYPE_E5M2, 32, 0x7f, 0x3f},
                  {PTX_TYPE_E5M2, PTX_TYPE_E5M2, 32, 0x7f, 0x3f}};
    static struct matrix_values rows, elements;
    for (size_t i = 0; i < 4000; i++) {
        size_t shape = i % 5;
        struct matrix_work work = {
            .matrix = {.form = i % 7 ? PTX_MATRIX_MMA : PTX_MATRIX_SPARSE, .sparse = i % 7 == 0, .m = 16, .n = 8}};
        work.matrix.a = shapes[shape].a;
        work.matrix.b = shapes[shape].b;
        work.matrix.c = i / 5 % 3 ? PTX_TYPE_F32 : PTX_TYPE_F16;
        work.matrix.d = i / 5 % 4 ? work.matrix.c : PTX_TYPE_F16;
        work.matrix.k = shapes[shape].k;
        bool large = i % 8 == 0;
        for (size_t n = 0; n < sizeof rows.a / sizeof *rows.a; n++) {
            rows.a[n] = large ? shapes[shape].most : draw_bits(kind_of(shapes[shape].a), true);
            rows.b[n] = large ? shapes[shape].most : draw_bits(kind_of(shapes[shape].b), true);
            rows.columns[n] = (uint8_t)(draw() % work.matrix.k);
        }
        for (size_t n = 0; n < sizeof rows.c / sizeof *rows.c; n++)
            rows.c[n] = large ? work.matrix.c == PTX_TYPE_F16 ? 0x3fff : 0x3fffffff - n
                              : draw_bits(kind_of((enum ptx_type)work.matrix.c), true);
        elements = rows;
        uint32_t stored = work.matrix.form == PTX_MATRIX_SPARSE ? work.matrix.k / 2u : work.matrix.k;
        elements.a[15 * stored] = shapes[shape].nan;
        enum matrix_unit unit = i / 60 % 2 ? MATRIX_A100 : MATRIX_H100;
        matrix_compute(&work, &rows, unit);
        matrix_compute(&work, &elements, unit);
        assert_memory_equal(rows.d, elements.d, 15 * 8 * sizeof *rows.d);
    }
}

/* Half a warp cannot multiply. */
static void test_whole_warps_only(void **state)
{
    (void)state;
    struct runner runner;
    runner_load(&runner, KERNEL("setp.lt.u32 %p1, %t, 16;\n@%p1 movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r2;\n"));
    assert_int_equal(runner_try(&runner, 32), CORUN_FAULT);
    assert_non_null(strstr(runner_message(&runner), "by 16 of the 32 threads of a warp (mask 0x0000ffff)"));
    runner_free(&runner);
}

static void test_tf32(void **state)
{
    (void)state;
    struct runner runner;
    static const uint32_t values[8] = {0x3f801000, 0x3f803000, 0x3f800fff, 0xbf801000,
                                       0x7f800000, 0x7fc00001, 0x7f7fffff, 0x80000fff};
    static const uint32_t rna[8] = {0x3f802000, 0x3f804000, 0x3f800000, 0xbf802000,
                                    0x7f800000, 0x7fc00000, 0x7f800000, 0x80000000}; /* NaN as the H100 has it */
    static const uint32_t rn[8] = {0x3f800000, 0x3f804000, 0x3f800000, 0xbf800000,
                                   0x7f800000, 0x7fffe000, 0x7f800000, 0x80000000};
    static const uint32_t rz[8] = {0x3f800000, 0x3f802000, 0x3f800000, 0xbf800000,
                                   0x7f800000, 0x7fffe000, 0x7f7fe000, 0x80000000};
    static const uint32_t relu[8] = {0x3f800000, 0x3f804000, 0x3f800000, 0, 0x7f800000, 0x7fffe000, 0x7f800000, 0};
    runner_load(
        &runner,
        KERNEL("ld.global.f32 %f1, [%mine];\ncvt.rna.tf32.f32 %r1, %f1;\ncvt.rn.tf32.f32 %r2, %f1;\ncvt.rz.tf32.f32 "
               "%r3, %f1;\ncvt.rn.relu.tf32.f32 %r4, %f1;\nst.global.u32 [%mine+512], %r4;\n"
               "st.global.u32 [%mine+128], %r1;\nst.global.u32 [%mine+256], %r2;\nst.global.u32 [%mine+384], %r3;"));
    uint32_t *words = corun_memory_pointer(runner.memory, runner.out, runner.out_bytes);
    memcpy(words, values, sizeof values);
    assert_int_equal(runner_try(&runner, 8), CORUN_OK);
    assert_memory_equal(words + 32, rna, sizeof rna);
    assert_memory_equal(words + 64, rn, sizeof rn);
    assert_memory_equal(words + 96, rz, sizeof rz);
    assert_memory_equal(words + 128, relu, sizeof relu);
    runner_free(&runner);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mma),   cmocka_unit_test(test_sparse), cmocka_unit_test(test_wmma),
        cmocka_unit_test(test_tiles), cmocka_unit_test(test_rows),   cmocka_unit_test(test_whole_warps_only),
        cmocka_unit_test(test_tf32),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
