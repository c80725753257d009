/* SPDX-License-Identifier: MIT */
/*
 * Bulk copies of tensors with random tensor maps: loads, stores and reductions of tiles, loads of pixels (im2col), each compared with
 * what the host makes of it, element by element.
 */
#include "driver_test.h"

#include <stdalign.h>

int cuTensorMapEncodeTiled(void *map, int type, unsigned rank, void *address, const uint64_t *sizes,
                           const uint64_t *strides, const unsigned *box, const unsigned *steps, int interleave,
                           int swizzle, int promotion, int fill);
int cuTensorMapEncodeIm2col(void *map, int type, unsigned rank, void *address, const uint64_t *sizes,
                            const uint64_t *strides, const int *lower, const int *upper, unsigned channels,
                            unsigned pixels, const unsigned *steps, int interleave, int swizzle, int promotion,
                            int fill);
int cuTensorMapReplaceAddress(void *map, void *address);
int cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags, int *result);

enum { MEMORY = 1 << 18, ROOM = 32768, THREADS = 64, WRONG = 9 };
enum { U8, U16, U32, S32, U64, S64, F16, F32, F64, BF16, F32_FTZ, TF32, TF32_FTZ, TYPES };
static const unsigned type_bytes[TYPES] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
static const bool is_float[TYPES] = {
    [F16] = 1, [F32] = 1, [F64] = 1, [BF16] = 1, [F32_FTZ] = 1, [TF32] = 1, [TF32_FTZ] = 1};

struct tensor {
    int type, swizzle, fill;
    unsigned rank, box[5], steps[5], channels, pixels;
    uint64_t base, sizes[5], strides[4];
    int lower[3], upper[3];
    bool im2col;
};

struct arguments {
    int place[5];
    unsigned short shift[4];
    unsigned bytes;
};

static uint64_t seed = 12345;

static unsigned random_below(unsigned limit)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(seed >> 33) % limit;
}

static int random_between(int from, int to)
{
    return from + (int)random_below((unsigned)(to - from + 1));
}

/* ---- what the host makes of it ---- */

static bool inside(const struct tensor *tensor, const int64_t *place)
{
    for (unsigned i = 0; i < tensor->rank; i++)
        if (place[i] < 0 || place[i] >= (int64_t)tensor->sizes[i])
            return false;
    return true;
}

static uint64_t offset_of(const struct tensor *tensor, const int64_t *place)
{
    uint64_t offset = tensor->base + (uint64_t)place[0] * type_bytes[tensor->type];
    for (unsigned i = 1; i < tensor->rank; i++)
        offset += (uint64_t)place[i] * tensor->strides[i - 1];
    return offset;
}

/* The byte of shared memory in which byte `linear` of the box lies; the box begins at a multiple of 1024. */
static unsigned shuffled(const struct tensor *tensor, unsigned linear)
{
    unsigned chunk = linear / 16, rows = tensor->swizzle == 0 ? 1 : 1u << tensor->swizzle;
    unsigned row = linear / 128 % rows; /* of 128 bytes, in the pattern */
    unsigned group = chunk / rows * rows;
    return (group + (chunk % rows ^ row)) * 16 + linear % 16;
}

static void convert(int type, uint8_t *element)
{
    uint32_t bits;
    if (type != F32_FTZ && type != TF32 && type != TF32_FTZ)
        return;
    memcpy(&bits, element, 4);
    unsigned exponent = bits >> 23 & 255;
    if (type != TF32 && exponent == 0)
        bits &= 0x80000000u;
    if (type != F32_FTZ && exponent == 255 && bits << 9)
        bits |= 0x00400000u;
    else if (type != F32_FTZ) {
        uint32_t low = bits & 0x1fff, kept = bits >> 13;
        kept += low > 0x1000 || (low == 0x1000 && (kept & 1));
        bits = kept << 13;
    }
    memcpy(element, &bits, 4);
}

static void load_element(const struct tensor *tensor, const uint8_t *memory, const int64_t *place, uint8_t *to)
{
    unsigned bytes = type_bytes[tensor->type];
    if (inside(tensor, place)) {
        memcpy(to, memory + offset_of(tensor, place), bytes);
        convert(tensor->type, to);
        return;
    }
    memset(to, 0, bytes);
    for (unsigned i = 0; i < bytes && tensor->fill; i++) /* 0x7ff7 in all halves */
        to[i] = i % 2 ? 0x7f : 0xf7;
}

/* Calls `visit` for each element of the box, in the order in which they lie in shared memory before they are shuffled. */
typedef void visitor(const struct tensor *tensor, const int64_t *place, unsigned linear, void *user);

static unsigned each_of_tile(const struct tensor *tensor, const struct arguments *arguments, visitor *visit, void *user)
{
    unsigned linear = 0;
    int64_t at[5] = {0}, place[5] = {0};
    for (;;) {
        for (unsigned i = 0; i < tensor->rank; i++)
            place[i] = arguments->place[i] + at[i];
        visit(tensor, place, linear, user);
        linear += type_bytes[tensor->type];
        unsigned i = 0;
        for (; i < tensor->rank; i++) {
            at[i] += i ? tensor->steps[i] : 1;
            if (at[i] < (int64_t)tensor->box[i])
                break;
            at[i] = 0;
        }
        if (i == tensor->rank)
            return linear;
    }
}

static unsigned each_pixel(const struct tensor *tensor, const struct arguments *arguments, visitor *visit, void *user)
{
    unsigned linear = 0, images = tensor->rank - 1;
    int64_t pixel[5] = {0}, place[5] = {0};
    for (unsigned i = 0; i < tensor->rank; i++)
        pixel[i] = arguments->place[i];
    for (unsigned count = 0; count < tensor->pixels; count++) {
        for (unsigned channel = 0; channel < tensor->channels; channel++) {
            place[0] = pixel[0] + channel;
            for (unsigned i = 1; i < images; i++)
                place[i] = pixel[i] + arguments->shift[i - 1];
            place[images] = pixel[images];
            visit(tensor, place, linear, user);
            linear += type_bytes[tensor->type];
        }
        unsigned i = 1;
        for (; i < images; i++) {
            pixel[i] += tensor->steps[i];
            if (pixel[i] <= (int64_t)tensor->sizes[i] - 1 + tensor->upper[i - 1])
                break;
            pixel[i] = tensor->lower[i - 1];
        }
        if (i == images)
            pixel[i]++;
    }
    return linear;
}

struct image {
    uint8_t *memory, *shared;
    int change; /* stores: 0, or an operation of a reduction */
};

static void visit_load(const struct tensor *tensor, const int64_t *place, unsigned linear, void *user)
{
    struct image *image = user;
    load_element(tensor, image->memory, place, image->shared + shuffled(tensor, linear));
}

enum { ADD = 1, MIN, MAX, INC, DEC, AND, OR, XOR, CHANGES };
static const char *const change_words[CHANGES] = {"", "add", "min", "max", "inc", "dec", "and", "or", "xor"};

static uint64_t reduced(int type, int change, uint64_t old, uint64_t with)
{
    bool is_signed = type == S32 || type == S64;
    int64_t a = type == S32 ? (int32_t)old : (int64_t)old, b = type == S32 ? (int32_t)with : (int64_t)with;
    bool less = is_signed ? b < a : with < old;
    switch (change) {
    case ADD:
        return old + with;
    case MIN:
        return less ? with : old;
    case MAX:
        return less ? old : with;
    case INC:
        return old >= with ? 0 : old + 1;
    case DEC:
        return old == 0 || old > with ? with : old - 1;
    case AND:
        return old & with;
    case OR:
        return old | with;
    default:
        return old ^ with;
    }
}

static void visit_store(const struct tensor *tensor, const int64_t *place, unsigned linear, void *user)
{
    struct image *image = user;
    unsigned bytes = type_bytes[tensor->type];
    if (!inside(tensor, place))
        return;
    uint64_t old = 0, with = 0;
    uint8_t *to = image->memory + offset_of(tensor, place);
    memcpy(&old, to, bytes);
    memcpy(&with, image->shared + shuffled(tensor, linear), bytes);
    if (image->change && tensor->type == F32) { /* whole numbers: sums are exact */
        float a, b;
        memcpy(&a, &old, 4);
        memcpy(&b, &with, 4);
        a += b;
        with = 0;
        memcpy(&with, &a, 4);
    } else if (image->change) {
        with = reduced(tensor->type, image->change, old, with);
    }
    memcpy(to, &with, bytes);
}

/* ---- random tensors ---- */

/* Inner rows of a multiple of 16 bytes, at most `most`. */
static unsigned random_row(const struct tensor *tensor, unsigned most)
{
    unsigned units = 1 + random_below((most < 128 ? most : 128) / 16);
    unsigned elements = units * 16 / type_bytes[tensor->type];
    return elements <= 256 ? elements : 256;
}

static void random_tensor(struct tensor *tensor, unsigned rank, bool im2col)
{
    *tensor = (struct tensor){.type = (int)random_below(TYPES), .rank = rank, .im2col = im2col};
    tensor->swizzle = (int)random_below(4);
    tensor->fill = is_float[tensor->type] && random_below(2);
    tensor->base = 16 * random_below(64);
    unsigned row = random_row(tensor, tensor->swizzle ? 16u << tensor->swizzle : 128);
    uint64_t bytes = 0;
    for (unsigned i = 0; i < rank; i++) {
        tensor->sizes[i] = i ? 1 + random_below(7) : 1 + random_below(2 * row + 4);
        tensor->box[i] = i ? 1 + random_below(4) : row;
        tensor->steps[i] = i + 1 < rank || !im2col ? 1 + random_below(3) : 1;
        if (i + 1 < rank) {
            bytes = i ? tensor->strides[i - 1] * tensor->sizes[i] : tensor->sizes[0] * type_bytes[tensor->type];
            tensor->strides[i] = (bytes + 15) / 16 * 16 + 16 * random_below(3);
        }
    }
    tensor->channels = row;
    tensor->pixels = 1 + random_below(40);
    for (unsigned i = 0; im2col && i + 2 < rank; i++) {
        int last = (int)tensor->sizes[i + 1] - 1;
        tensor->lower[i] = random_between(-3, last);
        tensor->upper[i] = random_between(tensor->lower[i] - last, 3);
    }
}

/* The first coordinate is a multiple of 16 bytes: an H100 ends a copy from another one with an illegal instruction. */
static void random_arguments(const struct tensor *tensor, struct arguments *arguments)
{
    int unit = 16 / (int)type_bytes[tensor->type];
    *arguments = (struct arguments){.bytes = 0};
    for (unsigned i = 0; i < tensor->rank; i++)
        arguments->place[i] = random_between(-(int)tensor->box[i] - 1, (int)tensor->sizes[i] + 1);
    arguments->place[0] = arguments->place[0] / unit * unit;
    for (unsigned i = 1; tensor->im2col && i + 1 < tensor->rank; i++) {
        arguments->place[i] = random_between(tensor->lower[i - 1], (int)tensor->sizes[i] - 1 + tensor->upper[i - 1]);
        arguments->shift[i - 1] = (unsigned short)random_below(4);
    }
}

/* ---- kernels ---- */

#define PARAMETERS \
    ".version 8.0\n.target sm_90\n.address_size 64\n.extern .shared .align 1024 .b8 room[];\n" \
    ".visible .entry copy(.param .align 64 .b8 map[128], .param .u64 other, .param .align 4 .b8 asked[32])\n{\n" \
    ".reg .pred %%p<4>; .reg .b16 %%h<4>; .reg .b32 %%r<12>; .reg .b64 %%d<6>;\n.shared .align 8 .b64 bar;\n" \
    "mov.b64 %%d0, map; cvta.param.u64 %%d0, %%d0; ld.param.u64 %%d1, [other]; cvta.to.global.u64 %%d1, %%d1;\n" \
    "ld.param.s32 %%r0, [asked]; ld.param.s32 %%r1, [asked+4]; ld.param.s32 %%r2, [asked+8];\n" \
    "ld.param.s32 %%r3, [asked+12]; ld.param.s32 %%r4, [asked+16]; ld.param.u16 %%h0, [asked+20];\n" \
    "ld.param.u16 %%h1, [asked+22]; ld.param.u16 %%h2, [asked+24]; ld.param.u32 %%r5, [asked+28];\n" \
    "mov.u32 %%r6, %%tid.x; setp.ne.u32 %%p0, %%r6, 0; mov.u32 %%r7, room;\nshl.b32 %%r9, %%r6, 2;\n"
/* Words of shared memory to `other`, or the other way. */
#define WORDS(move) \
    "mov.u32 %%r8, %%r9;\nnext: setp.ge.u32 %%p1, %%r8, 32768; @%%p1 bra moved;\nadd.u32 %%r10, %%r7, %%r8;\n" \
    "cvt.u64.u32 %%d2, %%r8; add.u64 %%d2, %%d1, %%d2;\n" move "add.u32 %%r8, %%r8, 256; bra next;\nmoved:\n"

static const char load_text[] = PARAMETERS
    "@%%p0 bra init;\nmbarrier.init.shared::cta.b64 [bar], 1;\nfence.mbarrier_init.release.cluster;\n"
    "mbarrier.arrive.expect_tx.shared::cta.b64 %%d3, [bar], %%r5;\n"
    "cp.async.bulk.tensor.%ud.shared::cluster.global%s.mbarrier::complete_tx::bytes [%%r7], [%%d0, {%s}], [bar]%s;\n"
    "init: bar.sync 0;\n"
    "wait: mbarrier.try_wait.parity.shared::cta.b64 %%p2, [bar], 0, 20; @!%%p2 bra wait;\n" WORDS(
        "ld.shared.u32 %%r11, [%%r10]; st.global.u32 [%%d2], %%r11;\n") "ret;\n}\n";

static const char store_text[] = PARAMETERS WORDS(
    "ld.global.u32 %%r11, [%%d2]; st.shared.u32 [%%r10], %%r11;\n") "fence.proxy.async.shared::cta; bar.sync 0;\n"
                                                                    "@%%p0 bra done;\n"
                                                                    "cp%s.async.bulk.tensor.%ud.global.shared::cta"
                                                                    "%s%s.bulk_group [%%d0, {%s}], [%%r7];\n"
                                                                    "cp.async.bulk.commit_group; "
                                                                    "cp.async.bulk.wait_group 0;\ndone: ret;\n}\n";

static const char *const coordinates[] = {
    "", "%r0", "%r0, %r1", "%r0, %r1, %r2", "%r0, %r1, %r2, %r3", "%r0, %r1, %r2, %r3, %r4"};
static const char *const offsets[] = {"", "", "", ", {%h0}", ", {%h0, %h1}", ", {%h0, %h1, %h2}"};

static void *function_of(const char *text)
{
    void *module, *function;
    GOOD(cuModuleLoadData(&module, text));
    GOOD(cuModuleGetFunction(&function, module, "copy"));
    return function;
}

static address_t memory, other;
static uint8_t before[MEMORY], image_memory[MEMORY], after[MEMORY], shared_image[ROOM], room[ROOM];

static void launch(void *function, const void *map, const struct arguments *arguments)
{
    struct arguments copied = *arguments;
    alignas(64) uint8_t argument_map[128];
    memcpy(argument_map, map, 128);
    void *list[] = {argument_map, &other, &copied};
    GOOD(cuLaunchKernel(function, 1, 1, 1, THREADS, 1, 1, ROOM, NULL, list, NULL));
    GOOD(cuCtxSynchronize());
}

static void encode(const struct tensor *tensor, void *map)
{
    void *address = (void *)(uintptr_t)(memory + tensor->base);
    if (tensor->im2col)
        GOOD(cuTensorMapEncodeIm2col(map, tensor->type, tensor->rank, address, tensor->sizes, tensor->strides,
                                     tensor->lower, tensor->upper, tensor->channels, tensor->pixels, tensor->steps, 0,
                                     tensor->swizzle, (int)random_below(4), tensor->fill));
    else
        GOOD(cuTensorMapEncodeTiled(map, tensor->type, tensor->rank, address, tensor->sizes, tensor->strides,
                                    tensor->box, tensor->steps, 0, tensor->swizzle, (int)random_below(4),
                                    tensor->fill));
}

static void fail(const char *what, const struct tensor *tensor, const struct arguments *arguments, unsigned at)
{
    fprintf(stderr, "%s differs at %u: type %d, rank %u, swizzle %d, fill %d, im2col %d\n", what, at, tensor->type,
            tensor->rank, tensor->swizzle, tensor->fill, tensor->im2col);
    for (unsigned i = 0; i < tensor->rank; i++)
        fprintf(stderr, "  dimension %u: size %u, stride %u, box %u, step %u, place %d\n", i,
                (unsigned)tensor->sizes[i], i ? (unsigned)tensor->strides[i - 1] : type_bytes[tensor->type],
                tensor->box[i], tensor->steps[i], arguments->place[i]);
    exit(1);
}

static void compare(const char *what, const struct tensor *tensor, const struct arguments *arguments,
                    const uint8_t *found, const uint8_t *wanted, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        if (found[i] != wanted[i])
            fail(what, tensor, arguments, i);
}

static void check_load(void *function, unsigned rank, bool im2col)
{
    struct tensor tensor;
    struct arguments arguments;
    alignas(64) uint8_t map[128];
    random_tensor(&tensor, rank, im2col);
    random_arguments(&tensor, &arguments);
    encode(&tensor, map);
    memset(shared_image, 0, ROOM);
    struct image image = {before, shared_image, 0};
    arguments.bytes = (im2col ? each_pixel : each_of_tile)(&tensor, &arguments, visit_load, &image);
    launch(function, map, &arguments);
    GOOD(cuMemcpyDtoH_v2(room, other, ROOM));
    compare(im2col ? "a load of pixels" : "a load", &tensor, &arguments, room, shared_image, ROOM);
}

static bool has_reduction(int type, int change)
{
    bool words = type == U32 || type == S32, longs = type == U64 || type == S64;
    if (change == INC || change == DEC)
        return type == U32;
    return words || longs || (change == ADD && type == F32);
}

static void check_store(void *function, unsigned rank, int change)
{
    struct tensor tensor;
    struct arguments arguments;
    alignas(64) uint8_t map[128];
    do
        random_tensor(&tensor, rank, false);
    while (change && !has_reduction(tensor.type, change));
    random_arguments(&tensor, &arguments);
    encode(&tensor, map);
    bool numbers = change && tensor.type == F32;
    for (unsigned i = 0; numbers && i < MEMORY; i += 4) {
        float value = (float)random_between(-1000, 1000);
        memcpy(before + i, &value, 4);
    }
    for (unsigned i = 0; i < ROOM; i += 4) {
        float value = (float)random_between(-1000, 1000);
        unsigned bits = random_below(1u << 31) * 3;
        memcpy(shared_image + i, numbers ? (const void *)&value : (const void *)&bits, 4);
    }
    GOOD(cuMemcpyHtoD_v2(other, shared_image, ROOM));
    GOOD(cuMemcpyHtoD_v2(memory, before, MEMORY));
    launch(function, map, &arguments);
    memcpy(image_memory, before, MEMORY);
    struct image image = {image_memory, shared_image, change};
    each_of_tile(&tensor, &arguments, visit_store, &image);
    GOOD(cuMemcpyDtoH_v2(after, memory, MEMORY));
    compare(change ? "a reduction" : "a store", &tensor, &arguments, after, image_memory, MEMORY);
}

static void check_rank(unsigned rank, unsigned turns)
{
    char text[8192];
    snprintf(text, sizeof text, load_text, rank, ".tile", coordinates[rank], "");
    void *function = function_of(text);
    GOOD(cuMemcpyHtoD_v2(memory, before, MEMORY));
    for (unsigned i = 0; i < turns; i++)
        check_load(function, rank, false);
    if (rank >= 3) {
        snprintf(text, sizeof text, load_text, rank, ".im2col", coordinates[rank], offsets[rank]);
        function = function_of(text);
        for (unsigned i = 0; i < turns; i++)
            check_load(function, rank, true);
    }
    snprintf(text, sizeof text, store_text, "", rank, "", "", coordinates[rank]);
    function = function_of(text);
    for (unsigned i = 0; i < turns; i++)
        check_store(function, rank, 0);
    for (int change = ADD; change < CHANGES; change++) {
        char word[8];
        snprintf(word, sizeof word, ".%s", change_words[change]);
        snprintf(text, sizeof text, store_text, ".reduce", rank, word, ".tile", coordinates[rank]);
        function = function_of(text);
        for (unsigned i = 0; i < turns / 4; i++)
            check_store(function, rank, change);
    }
}

/* What the documentation asks of the arguments. */
static void check_arguments(void)
{
    alignas(64) uint8_t map[192];
    uint64_t sizes[] = {64, 8, 4}, strides[] = {256, 2048}, odd[] = {248, 2048}, far[] = {256, UINT64_C(1) << 40};
    uint64_t none[] = {64, 0, 4}, many[] = {(UINT64_C(1) << 32) + 1, 8, 4};
    uint64_t tall[] = {64, UINT64_C(1) << 31, 4};
    unsigned box[] = {16, 8, 2}, wide[] = {16, 257, 2}, thin[] = {3, 8, 2}, steps[] = {1, 1, 1},
             far_steps[] = {1, 9, 1}, far_first[] = {9, 1, 1};
    int low[] = {-1}, high[] = {-1}, beyond[] = {1}, empty[] = {-9};
    void *at = (void *)(uintptr_t)memory, *beside = (void *)(uintptr_t)(memory + 8);
    void *half = (void *)(uintptr_t)(memory + 16);
#define TILED(to, type, rank, address, sizes, strides, box, steps, interleave, swizzle, promotion, fill) \
    cuTensorMapEncodeTiled(to, type, rank, address, sizes, strides, box, steps, interleave, swizzle, promotion, fill)
#define BAD(call) EXPECT(INVALID_VALUE, call)
    GOOD(TILED(map, F32, 3, at, sizes, strides, box, steps, 0, 2, 3, 1));
    GOOD(TILED(map, F16, 3, at, sizes, strides, box, steps, 2, 1, 0, 0));
    GOOD(
        TILED(map + 32, F32, 3, at, sizes, strides, box, steps, 0, 0, 0, 0)); /* 64 are documented, and not asked for */
    BAD(TILED(NULL, F32, 3, at, sizes, strides, box, steps, 0, 0, 0, 0));
    BAD(TILED(map, 13, 3, at, sizes, strides, box, steps, 0, 0, 0, 0));
    BAD(TILED(map, F32, 0, at, sizes, strides, box, steps, 0, 0, 0, 0));
    BAD(TILED(map, F32, 6, at, sizes, strides, box, steps, 0, 0, 0, 0));
    BAD(TILED(map, F32, 2, at, sizes, strides, box, steps, 1, 0, 0, 0));
    BAD(TILED(map, F32, 3, beside, sizes, strides, box, steps, 0, 0, 0, 0));
    BAD(TILED(map, F16, 3, half, sizes, strides, box, steps, 2, 1, 0, 0));
    BAD(TILED(map, F32, 3, at, none, strides, box, steps, 0, 0, 0, 0));
    BAD(TILED(map, F32, 3, at, many, strides, box, steps, 0, 0, 0, 0));
    BAD(TILED(map, F32, 3, at, sizes, odd, box, steps, 0, 0, 0, 0));
    BAD(TILED(map, F32, 3, at, sizes, far, box, steps, 0, 0, 0, 0));
    BAD(TILED(map, F32, 3, at, sizes, strides, wide, steps, 0, 0, 0, 0));
    BAD(TILED(map, F32, 3, at, sizes, strides, thin, steps, 0, 0, 0, 0));
    BAD(TILED(map, F32, 3, at, sizes, strides, box, far_steps, 0, 0, 0, 0));
    BAD(TILED(map, F32, 3, at, sizes, strides, box, steps, 3, 0, 0, 0));
    BAD(TILED(map, F32, 3, at, sizes, strides, box, steps, 0, 1, 0, 0));  /* rows of 64 bytes */
    GOOD(TILED(map, F16, 3, at, sizes, strides, box, steps, 2, 3, 0, 0)); /* 32 bytes with any swizzle */
    BAD(TILED(map, F32, 3, at, sizes, strides, box, far_first, 0, 0, 0, 0));
    BAD(TILED(map, F32, 3, at, sizes, strides, box, steps, 0, 4, 0, 0));
    BAD(TILED(map, F32, 3, at, sizes, strides, box, steps, 0, 0, 4, 0));
    BAD(TILED(map, U32, 3, at, sizes, strides, box, steps, 0, 0, 0, 1)); /* NaN in integers */
#define PIXELS(rank, lower, upper, channels, pixels) \
    cuTensorMapEncodeIm2col(map, F32, rank, at, sizes, strides, lower, upper, channels, pixels, steps, 0, 0, 0, 0)
    GOOD(PIXELS(3, low, high, 16, 1024));
    BAD(cuTensorMapEncodeIm2col(map, F32, 3, at, tall, strides, low, beyond, 16, 1024, steps, 0, 0, 0, 0));
    BAD(PIXELS(2, low, high, 16, 1024));
    BAD(PIXELS(3, low, high, 260, 4)); /* a multiple of 16 bytes */
    BAD(PIXELS(3, low, high, 16, 1025));
    BAD(PIXELS(3, low, empty, 64, 4));
    GOOD(cuTensorMapReplaceAddress(map, half));
    BAD(cuTensorMapReplaceAddress(map, beside));
    memset(map, 0x5a, sizeof map);
    BAD(cuTensorMapReplaceAddress(map, at));
}

int main(int argc, char **argv)
{
    void *context, *encoder = NULL;
    int found = WRONG;
    GOOD(cuInit(0));
    GOOD(cuCtxCreate_v2(&context, 0, 0));
    GOOD(cuGetProcAddress_v2("cuTensorMapEncodeTiled", &encoder, 12000, 0, &found));
    CHECK(encoder && !found);
    GOOD(cuMemAlloc_v2(&memory, MEMORY));
    GOOD(cuMemAlloc_v2(&other, ROOM));
    check_arguments();
    for (size_t i = 0; i < MEMORY; i++)
        before[i] = (uint8_t)random_below(256);
    unsigned turns = argc > 1 && !strcmp(argv[1], "few") ? 8 : 24;
    for (unsigned rank = 1; rank <= 5; rank++)
        check_rank(rank, turns);
    puts("tensors are as the host has them");
    return 0;
}
