/* SPDX-License-Identifier: MIT */
/*
 * wgmma: every shape and type, dense and sparse, against sums that are computed in another way (sums.h), with matrices in shared memory laid out as the table
 * of canonical layouts in the PTX ISA has them. Layouts, swizzles, strides, signs and accumulators are drawn; so are inputs, with zeros,
 * subnormal numbers, infinities and NaN among them. Then what goes wrong.
 */
#include "sums.h"

enum {
    THREADS = 128,
    IMAGE_BYTES = 49152,
    RESULT_BYTES = 128 * THREADS * 4,
    A_BYTES = 4 * THREADS * 4,
    E_BYTES = THREADS * 4,
    BUFFER_BYTES = IMAGE_BYTES + RESULT_BYTES + A_BYTES + E_BYTES,
    MOST_ROW = 256
};

struct text {
    char data[60000];
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

/* A matrix in shared memory: lines are rows of A or columns of B. */
struct layout {
    bool transposed;
    uint32_t swizzle; /* pieces of 16 bytes: 1, 2, 4, 8 */
    uint32_t start, leading, stride;
    uint32_t base;
};

struct product {
    const struct kind *d, *a, *b;
    uint32_t n, k;
    bool registers, adds, by_predicate, a_negative, b_negative;
    bool sparse; /* k counts the columns of a, of which half are there */
    uint32_t selector;
    struct layout layout_a, layout_b;
    struct sum sum;
};

/* Bits 4 and up, exclusive-or those three above: Swizzle<bits, 4, 3>. */
static uint32_t swizzled(uint32_t address, uint32_t pieces)
{
    uint32_t mask = (pieces - 1) << 4;
    return address ^ (address >> 3 & mask);
}

/*
 * Byte of element (line, place): the canonical layouts, whose modes are T elements of 16 bytes. What is swizzled begins at a multiple of 1024 less
 * what the base offset says.
 */
static uint32_t byte_of(const struct layout *layout, const struct kind *kind, uint32_t line, uint32_t place)
{
    uint32_t bits = kind->bits == 1 ? 32 : (uint32_t)kind->bits, each = 128 / bits, pieces = layout->swizzle;
    uint32_t linear;
    if (!layout->transposed) /* ((8, m), (T, pieces, k)) : ((pieces T, stride), (1, T, leading)) */
        linear = line % 8 * pieces * 16 + line / 8 * layout->stride + place % each * (bits / 8) +
                 place / each % pieces * 16 + place / each / pieces * layout->leading;
    else if (pieces == 1) /* ((T, 1, m), (8, k)) : ((1, T, stride), (T, leading)) */
        linear = line % each * (bits / 8) + line / each * layout->stride + place % 8 * 16 + place / 8 * layout->leading;
    else /* ((T, pieces, m), (8, k)) : ((1, T, leading), (pieces T, stride)) */
        linear = line % each * (bits / 8) + line / each % pieces * 16 + line / (each * pieces) * layout->leading +
                 place % 8 * pieces * 16 + place / 8 * layout->stride;
    if (pieces == 1)
        return layout->start + linear;
    uint32_t moved = layout->start - layout->base * 128; /* where the pattern would begin at a multiple */
    return swizzled(moved + linear, pieces) + layout->base * 128;
}

static uint64_t descriptor_of(const struct layout *layout)
{
    static const uint8_t codes[] = {0, 0, 3, 0, 2, 0, 0, 0, 1};
    return (uint64_t)(layout->start >> 4) | (uint64_t)(layout->leading >> 4) << 16 |
           (uint64_t)(layout->stride >> 4) << 32 | (uint64_t)layout->base << 49 |
           (uint64_t)codes[layout->swizzle] << 62;
}

/* In one half of the image; strides are what is needed, and sometimes more. deep: lines have so many times 32 bytes. */
static struct layout draw_layout(const struct kind *kind, uint32_t from, uint32_t lines, uint32_t deep)
{
    struct layout layout = {.transposed = kind->bits == 16 && draw() % 2, .swizzle = 1};
    uint32_t shift = draw() % 4, pieces = 1u << shift, more = draw() % 2 ? 128 : 0, atom = 8 * pieces * 16;
    layout.swizzle = pieces;
    if (pieces > 1) {
        layout.base = draw() % 3 ? 0 : draw() & (pieces - 1);
        from = from / 1024 * 1024 + layout.base * 128;
        more = pieces == 8 || lines > 64 ? 0 : more * 8;
    }
    layout.start = from;
    layout.leading = 16; /* not used */
    if (!layout.transposed) {
        layout.stride = pieces == 1 ? 256 * deep + more : atom + more;
        if (deep > 1 && pieces == 2) /* a line goes on in another pattern */
            layout.leading = lines / 8 * layout.stride;
        if (pieces == 1)
            layout.leading = 128;
        if (pieces == 1 && draw() % 2) { /* all pieces of the first half of the rows, then those of the other */
            layout.stride = 128;
            layout.leading = lines / 8 * 128 + more;
        }
    } else if (pieces == 1) {
        layout.stride = 128;
        layout.leading = lines / 8 * 128 + more;
    } else {
        uint32_t across = (lines / 8 + pieces - 1) >> shift;
        bool turned = draw() % 2;
        layout.leading = turned ? 2 * deep * atom + more : atom;
        layout.stride = turned ? atom : across * atom + more;
    }
    return layout;
}

/* Elements in a register. */
static uint32_t packed(const struct kind *kind)
{
    return kind->bits < 32 ? 32 / (uint32_t)kind->bits : 1;
}

/* Rows of A, columns of B and rows of D as they are drawn; elements as they stand, signs not yet changed. */
static uint64_t rows[64][MOST_ROW], columns[256][MOST_ROW], results[64][256];
/* Of a sparse A: the column of each element that is there. */
static uint32_t chosen[64][MOST_ROW];

static void set(uint8_t *memory, uint32_t byte, const struct kind *kind, uint32_t place, uint64_t value)
{
    if (kind->bits == 1) /* byte: of the word of 32 bits */
        memory[byte + place % 32 / 8] = (uint8_t)(memory[byte + place % 32 / 8] | value << place % 8);
    else
        memcpy(memory + byte, &value, (size_t)kind->bits / 8);
}

/* Elements of a row of A that are there. */
static uint32_t stored(const struct product *product)
{
    return product->sparse ? product->k / 2 : product->k;
}

static void put_matrix(uint8_t *image, const struct product *product, const struct kind *kind,
                       const struct layout *layout, uint32_t lines, uint64_t (*from)[MOST_ROW])
{
    uint32_t places = layout == &product->layout_a ? stored(product) : product->k;
    for (uint32_t line = 0; line < lines; line++)
        for (uint32_t place = 0; place < places; place++) {
            uint32_t byte = byte_of(layout, kind, line, kind->bits == 1 ? place / 32 : place);
            assert_true(byte + 16 <= IMAGE_BYTES);
            set(image, byte, kind, place, from[line][place]);
        }
}

/* Element i of a thread. */
static void place_of_a(const struct kind *kind, uint32_t thread, uint32_t i, uint32_t *row, uint32_t *column)
{
    uint32_t lane = thread % 32, each = packed(kind), word = i / each;
    *row = thread / 32 * 16 + lane / 4 + word % 2 * 8;
    *column = lane % 4 * each + i % each + word / 2 * 4 * each;
}

static void place_of_d(uint32_t thread, uint32_t i, uint32_t *row, uint32_t *column)
{
    uint32_t lane = thread % 32;
    *row = thread / 32 * 16 + lane / 4 + i / 2 % 2 * 8;
    *column = i / 4 * 8 + lane % 4 * 2 + i % 2;
}

/* Two of four columns, one of two of tf32; bits that say which. */
static uint32_t draw_choice(const struct product *product, uint32_t row, uint32_t chunk)
{
    if (product->a->bits == 32) {
        uint32_t second = draw() % 2;
        chosen[row][chunk] = 2 * chunk + second;
        return second ? 14 : 4;
    }
    uint32_t low = draw() % 3, high = low + 1 + draw() % (3 - low);
    chosen[row][2 * chunk] = 4 * chunk + low;
    chosen[row][2 * chunk + 1] = 4 * chunk + high;
    return low | high << 2;
}

/*
 * The metadata of each thread. 8-bit elements: a row and half of its columns; others: half of the columns of two rows, in two of four threads, which the
 * selector names. What the others have means nothing.
 */
static void draw_metadata(const struct product *product, uint32_t *e)
{
    uint32_t chunk = product->a->bits == 32 ? 2 : 4, chunks = product->k / chunk, half = chunks / 2;
    for (uint32_t thread = 0; thread < THREADS; thread++)
        e[thread] = draw();
    for (uint32_t row = 0; row < 64; row++)
        for (uint32_t i = 0; i < chunks; i++) {
            uint32_t choice = draw_choice(product, row, i), quad = row / 16 * 32 + row % 8 * 4, upper = row / 8 % 2;
            bool bytes = product->a->bits == 8;
            uint32_t thread = quad + (bytes ? i / half * 2 + upper : product->selector * 2 + i / half);
            uint32_t shift = i % half * 4 + (bytes ? 0 : upper * 16);
            e[thread] = (e[thread] & ~(15u << shift)) | choice << shift;
        }
}

static void draw_input(const struct product *product, uint8_t *buffer, bool tame)
{
    uint32_t *d = (uint32_t *)(buffer + IMAGE_BYTES), *a = d + 128 * THREADS, row, column;
    uint32_t each = packed(product->d), each_a = packed(product->a);
    memset(buffer, 0, BUFFER_BYTES);
    uint32_t there = stored(product);
    for (uint32_t i = 0; i < 64 * there; i++)
        rows[i / there][i % there] = draw_bits(product->a, tame);
    if (product->sparse)
        draw_metadata(product, a + 4 * THREADS);
    for (uint32_t i = 0; i < product->n * product->k; i++)
        columns[i / product->k][i % product->k] = draw_bits(product->b, tame);
    for (uint32_t thread = 0; thread < THREADS; thread++) {
        for (uint32_t i = 0; i < product->n / 2; i++) {
            place_of_d(thread, i, &row, &column);
            results[row][column] = draw_bits(product->d, tame);
            d[i / each * THREADS + thread] |= (uint32_t)(results[row][column] << i % each * (uint32_t)product->d->bits);
        }
        for (uint32_t i = 0; i < 4 * each_a; i++) {
            place_of_a(product->a, thread, i, &row, &column);
            a[i / each_a * THREADS + thread] |=
                (uint32_t)(rows[row][column] << i % each_a * (uint32_t)product->a->bits);
        }
    }
    if (!product->registers)
        put_matrix(buffer, product, product->a, &product->layout_a, 64, rows);
    put_matrix(buffer, product, product->b, &product->layout_b, product->n, columns);
}

static void put_fragment(struct text *text, const char *name, uint32_t count)
{
    put(text, "{");
    for (uint32_t i = 0; i < count; i++)
        put(text, "%s%s%u", i ? ", " : "", name, i);
    put(text, "}");
}

#define DECLARATIONS \
    ".version 8.4\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n" \
    ".shared .align 1024 .b8 image[49152];\n.reg .b32 %a<4>, %r<128>, %t, %u, %s, %v, %e;\n.reg .f32 %f<128>;\n" \
    ".reg .s32 %i<128>;\n.reg .b64 %o, %mine, %x, %y, %da, %db;\n.reg .pred %more, %adds;\nmov.u32 %t, %tid.x;\n"
#define START \
    DECLARATIONS \
    "ld.param.u64 %o, [p];\ncvta.to.global.u64 %o, %o;\nmov.u32 %u, 0;\n" \
    "mul.wide.u32 %mine, %t, 4;\nadd.u64 %mine, %o, %mine;\nmov.u64 %x, %mine;\nmov.u32 %v, image;\n" \
    "shl.b32 %s, %t, 2;\nadd.u32 %v, %v, %s;\n" \
    "COPY:\nld.global.u32 %s, [%x];\nst.shared.u32 [%v], %s;\nadd.u64 %x, %x, 512;\nadd.u32 %v, %v, 512;\n" \
    "add.u32 %u, %u, 512;\nsetp.lt.u32 %more, %u, 49152;\n@%more bra COPY;\nbar.sync 0;\n"

static void put_operation(struct text *text, const struct product *product)
{
    const char *bank = product->d->type == PTX_TYPE_F32 ? "%f" : product->d->type == PTX_TYPE_S32 ? "%i" : "%r";
    put(text, "wgmma.mma_async%s.sync.aligned.m64n%uk%u%s.%s.%s.%s%s ", product->sparse ? ".sp" : "", product->n,
        product->k, product->sum.saturates ? ".satfinite" : "", product->d->word, product->a->word, product->b->word,
        product->a->bits == 1 ? ".and.popc" : "");
    put_fragment(text, bank, product->n * (uint32_t)product->d->bits / 64);
    put(text, ", ");
    if (product->registers)
        put_fragment(text, "%a", 4);
    else
        put(text, "%%da");
    put(text, ", %%db");
    if (product->sparse)
        put(text, ", %%e, %u", product->selector);
    put(text, ", %s", product->by_predicate ? product->adds ? "%adds" : "!%adds" : product->adds ? "1" : "0");
    if (product->d->is_float)
        put(text, ", %d, %d", product->a_negative ? -1 : 1, product->b_negative ? -1 : 1);
    if (product->a->bits == 16 && !product->registers)
        put(text, ", %d", product->layout_a.transposed);
    if (product->a->bits == 16)
        put(text, ", %d", product->layout_b.transposed);
    put(text, ";\n");
}

static void write_kernel(struct text *text, const struct product *product)
{
    const char *bank = product->d->type == PTX_TYPE_F32 ? "f" : product->d->type == PTX_TYPE_S32 ? "i" : "r";
    const char *type = *bank == 'f' ? "f32" : *bank == 'i' ? "s32" : "u32";
    uint32_t count = product->n * (uint32_t)product->d->bits / 64;
    put(text, "%s", START);
    put(text, "mov.u64 %%da, 0x%llx;\nmov.u64 %%db, 0x%llx;\nsetp.lt.u32 %%adds, %%t, 1000;\n",
        (unsigned long long)descriptor_of(&product->layout_a), (unsigned long long)descriptor_of(&product->layout_b));
    for (uint32_t i = 0; i < count; i++)
        put(text, "ld.global.%s %%%s%u, [%%mine+%u];\n", type, bank, i, IMAGE_BYTES + i * THREADS * 4);
    for (uint32_t i = 0; i < 4; i++)
        put(text, "ld.global.u32 %%a%u, [%%mine+%u];\n", i, IMAGE_BYTES + RESULT_BYTES + i * THREADS * 4);
    put(text, "ld.global.u32 %%e, [%%mine+%u];\n", IMAGE_BYTES + RESULT_BYTES + A_BYTES);
    put(text, "wgmma.fence.sync.aligned;\n");
    put_operation(text, product);
    put(text, "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n");
    for (uint32_t i = 0; i < count; i++)
        put(text, "st.global.%s [%%mine+%u], %%%s%u;\n", type, IMAGE_BYTES + i * THREADS * 4, bank, i);
    put(text, "ret;\n}\n");
}

static void check_output(const struct product *product, const uint8_t *buffer)
{
    const uint32_t *d = (const uint32_t *)(buffer + IMAGE_BYTES);
    uint32_t each = packed(product->d), row, column, step = product->n > 48 ? 7 : 1;
    uint64_t sign = UINT64_C(1) << (product->a->bits - 1), a[MOST_ROW], b[MOST_ROW];
    for (uint32_t at = draw() % step; at < THREADS * product->n / 2; at += step) {
        uint32_t thread = at % THREADS, i = at / THREADS;
        place_of_d(thread, i, &row, &column);
        for (uint32_t k = 0; k < stored(product); k++) {
            a[k] = rows[row][k] ^ (product->a_negative ? sign : 0);
            b[k] = columns[column][product->sparse ? chosen[row][k] : k] ^ (product->b_negative ? sign : 0);
        }
        uint64_t wanted = sum_of(&product->sum, a, b, product->adds ? results[row][column] : 0, (int)stored(product));
        uint64_t found =
            field(d[i / each * THREADS + thread] >> i % each * (uint32_t)product->d->bits, product->d->bits);
        if (found != wanted)
            fail_msg("m64n%uk%u%s.%s.%s.%s: row %u column %u is %llx, not %llx (swizzles %u%s, %u%s)", product->n,
                     product->k, product->sparse ? ".sp" : "", product->d->word, product->a->word, product->b->word,
                     row, column, (unsigned long long)found, (unsigned long long)wanted, product->layout_a.swizzle,
                     product->layout_a.transposed ? " transposed" : "", product->layout_b.swizzle,
                     product->layout_b.transposed ? " transposed" : "");
    }
}

static void load(struct runner *runner, const char *text)
{
    runner_load(runner, text);
    runner->out_bytes = BUFFER_BYTES;
    assert_int_equal(corun_memory_allocate(runner->memory, runner->out_bytes, &runner->out), CORUN_OK);
}

static enum corun_status run(struct runner *runner, uint32_t threads)
{
    struct corun_dim3 one = {1, 1, 1}, block = {threads, 1, 1};
    return runner_run_grid(runner, "k", one, block, 0, &runner->out, sizeof runner->out, 1000000);
}

static void run_product(struct product *product)
{
    static struct text text;
    struct runner runner;
    product->sum.a = product->a;
    product->sum.b = product->b;
    product->sum.c = product->sum.d = product->d;
    product->sum.group = true;
    text.length = 0;
    write_kernel(&text, product);
    load(&runner, text.data);
    corun_module_instance_architecture(runner.instance, draw() % 2 ? 90 : 80); /* it has no rule of older GPUs */
    for (int round = 0; round < 2; round++) {
        uint8_t *buffer = corun_memory_pointer(runner.memory, runner.out, runner.out_bytes);
        draw_input(product, buffer, round == 0);
        enum corun_status status = run(&runner, THREADS);
        if (status != CORUN_OK)
            print_error("%s\n%s", runner_message(&runner), text.data);
        assert_int_equal(status, CORUN_OK);
        check_output(product, buffer);
    }
    runner_free(&runner);
}

static void run_types(uint32_t n, uint32_t k, enum ptx_type d, enum ptx_type a, enum ptx_type b, bool sparse)
{
    struct product product = {
        .d = kind_of(d), .a = kind_of(a), .b = kind_of(b), .n = n, .k = sparse ? 2 * k : k, .sparse = sparse};
    bool is_float = product.d->is_float;
    product.registers = draw() % 3 == 0;
    product.adds = draw() % 4;
    product.by_predicate = draw() % 2;
    product.a_negative = is_float && draw() % 4 == 0;
    product.b_negative = is_float && draw() % 4 == 0;
    product.sum.saturates = product.a->bits == 8 && !is_float && draw() % 2;
    product.selector = sparse && product.a->bits > 8 ? draw() % 2 : 0;
    product.layout_a = draw_layout(product.a, 0, 64, 1);
    product.layout_b = draw_layout(product.b, 14336 + draw() % 64 * 16, n, sparse ? 2 : 1);
    run_product(&product);
}

enum { EIGHTS, SIXTEENTHS };

static uint32_t run_row(uint32_t k, uint64_t multiplicands, uint64_t accumulators, int widths, bool sparse)
{
    uint32_t tried = 0;
    for (uint32_t a = 0; a < PTX_TYPE_COUNT; a++)
        for (uint32_t b = 0; b < PTX_TYPE_COUNT; b++)
            for (uint32_t d = 0; d < PTX_TYPE_COUNT; d++) {
                if (sparse && a == PTX_TYPE_B1)
                    continue;
                if (!(multiplicands >> a & 1) || !(multiplicands >> b & 1) || !(accumulators >> d & 1))
                    continue;
                for (uint32_t n = 8; n <= 256; n += widths == SIXTEENTHS && n >= 32 ? 16 : 8) {
                    run_types(n, k, (enum ptx_type)d, (enum ptx_type)a, (enum ptx_type)b, sparse);
                    tried++;
                }
            }
    return tried;
}

static uint32_t run_rows(bool sparse)
{
    uint32_t tried = 0;
#define W(inner, multiplicands, accumulators, columns) \
    tried += run_row(inner, multiplicands, accumulators, columns, sparse);
#include "ptx/matrix.def"
#undef W
    return tried;
}

static void test_every_shape(void **state)
{
    (void)state;
    assert_int_equal(run_rows(false), 32 * (2 + 1 + 1 + 8) + 18 * (4 + 1));
}

static void test_every_sparse_shape(void **state)
{
    (void)state;
    assert_int_equal(run_rows(true), 32 * (2 + 1 + 1 + 8) + 18 * 4);
}

/* What goes wrong */

#define PRODUCT "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %da, %db, 0, 1, 1, 0, 0;\n"

static void fails(const char *body, uint32_t threads, enum corun_status status, const char *message)
{
    static struct text text;
    struct runner runner;
    text.length = 0;
    put(&text,
        "%s"
        "mov.u64 %%da, 0x0000001000080000;\nmov.u64 %%db, %%da;\n"
        "setp.lt.u32 %%adds, %%t, 96;\n%s"
        "ret;\n}\n",
        DECLARATIONS "mov.u32 %u, image;\n", body);
    load(&runner, text.data);
    assert_int_equal(run(&runner, threads), status);
    if (!strstr(runner_message(&runner), message))
        fail_msg("\"%s\" is not in: %s", message, runner_message(&runner));
    runner_free(&runner);
}

static void test_faults(void **state)
{
    (void)state;
    fails("and.b32 %s, %t, 31;\nsetp.lt.u32 %more, %s, 8;\n@%more " PRODUCT, 128, CORUN_FAULT,
          "wgmma.mma_async by 8 of the 32 threads of a warp (mask 0x000000ff)");
    fails(PRODUCT, 192, CORUN_FAULT, "wgmma.mma_async by a warpgroup of 2 warps: it needs 4");
    fails("@!%adds bra END;\n" PRODUCT "END:\n", 128, CORUN_FAULT,
          "warp 3 ends, and the others of its warpgroup wait for it at wgmma.mma_async, line 18");
    fails("@%adds bra LOW;\n" PRODUCT "bra END;\nLOW:\n" PRODUCT "END:\n", 128, CORUN_FAULT,
          "wgmma.mma_async by a part of a warpgroup: warp 3 is here, warp 0 at that of line 21");
    fails("@%adds bra LOW;\nbar.sync 1;\nbra END;\nLOW:\n" PRODUCT "END:\n", 128, CORUN_DEADLOCK,
          "waiting: warps 0 to 2 at wgmma.mma_async (line 21, for 128 threads), warp 3 at barrier 1 (line 18)");
    fails("mov.u64 %db, 0x0000001000080c00;\n" PRODUCT, 128, CORUN_FAULT, "wgmma.mma_async: load of b");
}

/* One thread of the warpgroup may give the operands away as soon as it has waited, and others may be late. */
static void test_whole_products(void **state)
{
    (void)state;
    static struct text text;
    struct runner runner;
    text.length = 0;
    put(&text, "%s%s", START,
        "mov.u64 %da, 0x0000001000080000;\nmov.u64 %db, %da;\nwgmma.fence.sync.aligned;\n" PRODUCT
        "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n"
        "mov.u32 %v, image;\nsetp.lt.u32 %more, %t, 32;\nshl.b32 %s, %t, 4;\nadd.u32 %v, %v, %s;\n"
        "@%more st.shared.v4.u32 [%v], {%s, %s, %s, %s};\nst.global.f32 [%mine], %f0;\nret;\n}\n");
    load(&runner, text.data);
    uint16_t *image = corun_memory_pointer(runner.memory, runner.out, runner.out_bytes);
    for (uint32_t i = 0; i < IMAGE_BYTES / 2; i++)
        image[i] = 0x3c00; /* 1 */
    assert_int_equal(run(&runner, THREADS), CORUN_OK);
    const float *sums = (const float *)image;
    for (uint32_t thread = 0; thread < THREADS; thread++)
        if (sums[thread] != 16.0F)
            fail_msg("thread %u has %g", thread, (double)sums[thread]);
    runner_free(&runner);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_shape),
        cmocka_unit_test(test_every_sparse_shape),
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_whole_products),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
