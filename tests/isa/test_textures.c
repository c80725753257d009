/* SPDX-License-Identifier: MIT */
/* Texture fetches and surfaces against values that are worked out here from the texels. */
#include "runner.h"

#include <math.h>

#include "corun/source.h"
#include "corun/texture.h"

#define HANDLE_AT "65528" /* of the out buffer: the kernel reads its texture's handle there */
#define WITH_TEXTURE(body) KERNEL("ld.global.u64 %rd1, [%out+" HANDLE_AT "];\n" body)

enum { WIDTH = 8, HEIGHT = 4, LAYERS = 3 };

/* Texel (x, y, z) of every texture here. */
static float texel(int x, int y, int z)
{
    return (float)(1 + x * x + 10 * y + 200 * z);
}

static int limit(int at, int size)
{
    return at < 0 ? 0 : at >= size ? size - 1 : at;
}

static struct corun_texture describe(struct runner *runner, uint32_t height, uint32_t depth)
{
    uint64_t address;
    assert_int_equal(corun_memory_allocate(runner->memory, 4096, &address), CORUN_OK);
    float *texels = corun_memory_pointer(runner->memory, address, 4096);
    for (int z = 0; z < (depth ? (int)depth : 1); z++)
        for (int y = 0; y < (height ? (int)height : 1); y++)
            for (int x = 0; x < WIDTH; x++)
                texels[(z * 4 + y) * 16 + x] = texel(x, y, z); /* rows of 64 bytes, slices of 256 */
    return (struct corun_texture){.address = address,
                                  .width = WIDTH,
                                  .height = height,
                                  .depth = depth,
                                  .row_bytes = 64,
                                  .slice_bytes = 256,
                                  .channels = 1,
                                  .channel_bits = 32,
                                  .kind = CORUN_TEXEL_FLOAT,
                                  .mode = {CORUN_TEXTURE_CLAMP, CORUN_TEXTURE_CLAMP, CORUN_TEXTURE_CLAMP}};
}

static const uint32_t *run(struct runner *runner, const struct corun_texture *texture, uint32_t threads)
{
    uint64_t handle;
    assert_int_equal(corun_texture_create(runner->memory, texture, &handle), CORUN_OK);
    assert_int_equal(corun_memory_write(runner->memory, runner->out + 65528, &handle, 8), CORUN_OK);
    enum corun_status status = runner_try(runner, threads);
    if (status != CORUN_OK)
        print_error("%s: line %u\n", runner_message(runner), runner_line(runner));
    assert_int_equal(status, CORUN_OK);
    return runner_words(runner);
}

static float real(const uint32_t *words, uint32_t i)
{
    float value;
    memcpy(&value, &words[i], sizeof value);
    return value;
}

static void test_whole_coordinates(void **state)
{
    (void)state;
    struct runner runner;
    runner_load(&runner, WITH_TEXTURE("sub.s32 %r1, %t, 4;\n"
                                      "tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%rd1, {%r1}];\n"
                                      "st.global.f32 [%mine], %f1;\nst.global.f32 [%mine+256], %f2;"));
    struct corun_texture texture = describe(&runner, 0, 0);
    const uint32_t *words = run(&runner, &texture, 16);
    for (int i = 0; i < 16; i++) {
        int x = i - 4;
        assert_true(real(words, (uint32_t)i) == (x < 0 || x >= WIDTH ? 0.0f : texel(x, 0, 0)));
        assert_true(real(words, (uint32_t)i + 64) == 0.0f);
    }
    runner_free(&runner);
}

/* u = t / 4 - 2, v = t / 8 - 1 */
#define COORDINATES \
    "cvt.rn.f32.s32 %f1, %t;\nfma.rn.f32 %f2, %f1, 0f3E800000, 0fC0000000;\n" \
    "fma.rn.f32 %f3, %f1, 0f3E000000, 0fBF800000;\n"

static void test_nearest_and_linear(void **state)
{
    (void)state;
    for (int linear = 0; linear < 2; linear++) {
        struct runner runner;
        runner_load(&runner, WITH_TEXTURE(COORDINATES "tex.2d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [%rd1, {%f2, %f3}];\n"
                                                      "st.global.f32 [%mine], %f4;"));
        struct corun_texture texture = describe(&runner, HEIGHT, 0);
        texture.linear = linear;
        const uint32_t *words = run(&runner, &texture, 64);
        for (int i = 0; i < 64; i++) {
            double u = i / 4.0 - 2, v = i / 8.0 - 1, expected;
            if (linear) {
                double x = u - 0.5, y = v - 0.5, a = x - floor(x),
                       b = y - floor(y); /* multiples of 1/8: exact weights */
                int left = limit((int)floor(x), WIDTH), right = limit((int)floor(x) + 1, WIDTH);
                int low = limit((int)floor(y), HEIGHT), high = limit((int)floor(y) + 1, HEIGHT);
                expected = (1 - b) * ((1 - a) * texel(left, low, 0) + a * texel(right, low, 0)) +
                           b * ((1 - a) * texel(left, high, 0) + a * texel(right, high, 0));
            } else {
                expected = texel(limit((int)floor(u), WIDTH), limit((int)floor(v), HEIGHT), 0);
            }
            assert_true(fabs(real(words, (uint32_t)i) - expected) < 1e-4);
        }
        runner_free(&runner);
    }
}

/* Whether texels are there: always, in arrays that are not sparse. Where a guard holds the fetch back, it tells nothing. */
static void test_residency(void **state)
{
    (void)state;
    struct runner runner;
    runner_load(&runner,
                WITH_TEXTURE(COORDINATES "setp.lt.u32 %p1, %t, 20;\nsetp.eq.u32 %p2, %t, 40;\n"
                                         "@%p1 tex.base.2d.v4.f32.f32 {%f4, %f5, %f6, %f7}|%p2, [%rd1, {%f2, %f3}];\n"
                                         "selp.f32 %f4, %f4, 0f00000000, %p1;\n@%p2 add.f32 %f4, %f4, 0f42C80000;\n"
                                         "st.global.f32 [%mine], %f4;"));
    struct corun_texture texture = describe(&runner, HEIGHT, 0);
    const uint32_t *words = run(&runner, &texture, 64);
    for (int i = 0; i < 64; i++) {
        int x = limit((int)floor(i / 4.0 - 2), WIDTH), y = limit((int)floor(i / 8.0 - 1), HEIGHT);
        double expected = (i < 20 ? texel(x, y, 0) : 0) + (i < 20 || i == 40 ? 100 : 0);
        assert_true(fabs(real(words, (uint32_t)i) - expected) < 1e-4);
    }
    runner_free(&runner);
}

/* A weight has eight bits: a fraction of 1/1024 is none, one of 3/512 is 2/256 (halves go up). */
static void test_weights(void **state)
{
    (void)state;
    struct runner runner;
    runner_load(&runner, WITH_TEXTURE("cvt.rn.f32.s32 %f1, %t;\n"
                                      "fma.rn.f32 %f2, %f1, 0f3A800000, 0f3F000000;\n" /* 0.5 + t / 1024 */
                                      "tex.1d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [%rd1, {%f2}];\n"
                                      "st.global.f32 [%mine], %f4;"));
    struct corun_texture texture = describe(&runner, 0, 0);
    texture.linear = true;
    const uint32_t *words = run(&runner, &texture, 32);
    for (int i = 0; i < 32; i++) {
        double weight = floor(i / 4.0 + 0.5) / 256;
        double expected = (1 - weight) * texel(0, 0, 0) + weight * texel(1, 0, 0);
        assert_true(fabs(real(words, (uint32_t)i) - expected) < 1e-6);
    }
    runner_free(&runner);
}

/* Nobody has a weight at an infinite coordinate: it is a texel, or the border. */
static void test_infinite_coordinates(void **state)
{
    (void)state;
    static const uint8_t modes[] = {CORUN_TEXTURE_WRAP, CORUN_TEXTURE_CLAMP, CORUN_TEXTURE_MIRROR,
                                    CORUN_TEXTURE_BORDER};
    struct runner runner;
    runner_load(&runner, WITH_TEXTURE("mov.f32 %f1, 0f7F800000;\nmov.f32 %f2, 0fFF800000;\n"
                                      "tex.1d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [%rd1, {%f1}];\n"
                                      "st.global.f32 [%mine], %f4;\n"
                                      "tex.1d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [%rd1, {%f2}];\n"
                                      "st.global.f32 [%mine+512], %f4;"));
    struct corun_texture texture = describe(&runner, 0, 0);
    texture.linear = true;
    for (uint32_t i = 0; i < 8; i++) {
        texture.normalized_coordinates = i & 1u;
        texture.mode[0] = texture.mode[1] = modes[i / 2];
        const uint32_t *words = run(&runner, &texture, 1);
        for (uint32_t side = 0; side < 2; side++) {
            bool found = modes[i / 2] == CORUN_TEXTURE_BORDER && real(words, 128 * side) == 0;
            for (int x = 0; x < WIDTH; x++)
                found = found || real(words, 128 * side) == texel(x, 0, 0);
            assert_true(found);
        }
    }
    runner_free(&runner);
}

enum { ROW_BYTES = 512 };

/* A texture as the file has one. */
static struct corun_texture read_texture(struct runner *runner, char *words, uint32_t *dimensions)
{
    uint32_t width, height, bits, normalized, mode, value;
    char kind;
    int used = 0;
    uint64_t address;
    assert_int_equal(
        sscanf(words, "T %u %u %u %u %c %u %u%n", dimensions, &width, &height, &bits, &kind, &normalized, &mode, &used),
        7);
    assert_int_equal(corun_memory_allocate(runner->memory, ROW_BYTES * (height ? height : 1), &address), CORUN_OK);
    uint8_t *texels = corun_memory_pointer(runner->memory, address, ROW_BYTES * (height ? height : 1));
    for (uint32_t i = 0; i < width * (height ? height : 1); i++) {
        char *end;
        value = (uint32_t)strtoul(words + used, &end, 16);
        used = (int)(end - words);
        memcpy(texels + (size_t)(i / width) * ROW_BYTES + i % width * (bits / 8), &value, bits / 8);
    }
    static const uint8_t modes[] = {CORUN_TEXTURE_WRAP, CORUN_TEXTURE_CLAMP, CORUN_TEXTURE_MIRROR,
                                    CORUN_TEXTURE_BORDER};
    return (struct corun_texture){.address = address,
                                  .width = width,
                                  .height = height,
                                  .row_bytes = ROW_BYTES,
                                  .channels = 1,
                                  .channel_bits = (uint8_t)bits,
                                  .kind = kind == 'f' ? CORUN_TEXEL_FLOAT : CORUN_TEXEL_UNSIGNED,
                                  .linear = true,
                                  .normalized_values = kind == 'u',
                                  .normalized_coordinates = normalized,
                                  .mode = {modes[mode], modes[mode], modes[mode]}};
}

enum { PLACES = 1024, MOST_ROWS = 64 };

static void check_fetches(struct runner *runner, const struct corun_texture *texture, uint32_t (*rows)[3],
                          uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(corun_memory_write(runner->memory, runner->out + PLACES + 8 * i, rows[i], 8), CORUN_OK);
    const uint32_t *words = run(runner, texture, count);
    for (uint32_t i = 0; i < count; i++)
        if (words[i] != rows[i][2])
            fail_msg("%u x %u, %u bits, at %08x %08x: %08x, and %08x on an H100", texture->width, texture->height,
                     texture->channel_bits, rows[i][0], rows[i][1], words[i], rows[i][2]);
}

/* What linear filters gave on an H100, in one dimension and in two, bit for bit. */
static void test_filters_of_an_h100(void **state)
{
    (void)state;
    static char line[4096];
    uint32_t rows[MOST_ROWS][3], count = 0, dimensions = 0, fetches = 0;
    struct corun_texture texture;
    struct runner runner;
    FILE *file = fopen(TEST_DATA "/data/h100-filters.txt", "r");
    assert_non_null(file);
    for (bool more = true; more;) {
        more = fgets(line, sizeof line, file);
        if (line[0] == '#')
            continue;
        if (more && line[0] != 'T') {
            assert_true(count < MOST_ROWS);
            rows[count][1] = 0;
            rows[count][0] = (uint32_t)strtoul(line, NULL, 16);
            if (dimensions == 1)
                assert_int_equal(sscanf(line, "%*x %x", &rows[count][2]), 1);
            else
                assert_int_equal(sscanf(line, "%*x %x %x", &rows[count][1], &rows[count][2]), 2);
            count++;
            continue;
        }
        if (dimensions) {
            check_fetches(&runner, &texture, rows, count);
            runner_free(&runner);
        }
        fetches += count;
        count = dimensions = 0;
        if (!more)
            break;
        assert_int_equal(sscanf(line, "T %u", &dimensions), 1);
        runner_load(&runner, dimensions == 1
                                 ? WITH_TEXTURE("mul.wide.u32 %rd2, %t, 8;\nadd.u64 %rd2, %rd2, %out;\n"
                                                "ld.global.f32 %f1, [%rd2+1024];\ntex.1d.v4.f32.f32 {%f4, %f5, %f6, "
                                                "%f7}, [%rd1, {%f1}];\nst.global.f32 [%mine], %f4;")
                                 : WITH_TEXTURE("mul.wide.u32 %rd2, %t, 8;\nadd.u64 %rd2, %rd2, %out;\n"
                                                "ld.global.v2.f32 {%f1, %f2}, [%rd2+1024];\ntex.2d.v4.f32.f32 {%f4, "
                                                "%f5, %f6, %f7}, [%rd1, {%f1, %f2}];\nst.global.f32 [%mine], %f4;"));
        texture = read_texture(&runner, line, &dimensions);
    }
    assert_int_equal(fclose(file), 0);
    assert_true(fetches > 500);
}

static void test_modes(void **state)
{
    (void)state;
    static const uint8_t modes[] = {CORUN_TEXTURE_WRAP, CORUN_TEXTURE_CLAMP, CORUN_TEXTURE_MIRROR,
                                    CORUN_TEXTURE_BORDER};
    for (unsigned m = 0; m < 4; m++) {
        struct runner runner;
        runner_load(&runner, WITH_TEXTURE("cvt.rn.f32.s32 %f1, %t;\n"
                                          "fma.rn.f32 %f2, %f1, 0f3E000000, 0fBFF80000;\n" /* t / 8 - 1.9375 */
                                          "tex.1d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [%rd1, {%f2}];\n"
                                          "st.global.f32 [%mine], %f4;"));
        struct corun_texture texture = describe(&runner, 0, 0);
        texture.normalized_coordinates = true;
        texture.mode[0] = modes[m];
        texture.border[0] = -7;
        const uint32_t *words = run(&runner, &texture, 40);
        for (int i = 0; i < 40; i++) {
            int x = i - 16; /* (t / 8 - 1.9375) * 8 = t - 15.5 */
            int period = ((x % (2 * WIDTH)) + 2 * WIDTH) % (2 * WIDTH);
            float expected = modes[m] == CORUN_TEXTURE_WRAP    ? texel(period % WIDTH, 0, 0)
                             : modes[m] == CORUN_TEXTURE_CLAMP ? texel(limit(x, WIDTH), 0, 0)
                             : modes[m] == CORUN_TEXTURE_MIRROR
                                 ? texel(period < WIDTH ? period : 2 * WIDTH - 1 - period, 0, 0)
                             : x < 0 || x >= WIDTH ? -7
                                                   : texel(x, 0, 0);
            assert_true(real(words, (uint32_t)i) == expected);
        }
        runner_free(&runner);
    }
}

static void test_layers_and_volumes(void **state)
{
    (void)state;
    struct runner runner;
    runner_load(&runner, WITH_TEXTURE("sub.s32 %r1, %t, 1;\nmov.f32 %f1, 0f40200000;\nmov.f32 %f2, 0f3FC00000;\n"
                                      "cvt.rn.f32.s32 %f3, %r1;\n"
                                      "tex.a2d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [%rd1, {%r1, %f1, %f2, %f2}];\n"
                                      "tex.level.2d.v4.f32.f32 {%f8, %f5, %f6, %f7}, [%rd1, {%f1, %f2}], %f3;\n"
                                      "st.global.f32 [%mine], %f4;\nst.global.f32 [%mine+256], %f8;"));
    struct corun_texture texture = describe(&runner, HEIGHT, LAYERS);
    texture.layered = true;
    const uint32_t *words = run(&runner, &texture, 6);
    for (int i = 0; i < 6; i++) {
        assert_true(real(words, (uint32_t)i) == texel(2, 1, limit(i - 1, LAYERS)));
        assert_true(real(words, (uint32_t)i + 64) == texel(2, 1, 0));
    }
    runner_free(&runner);

    runner_load(&runner, WITH_TEXTURE("cvt.rn.f32.s32 %f3, %t;\nmul.f32 %f3, %f3, 0f3F000000;\n" /* z = t / 2 */
                                      "mov.f32 %f1, 0f40200000;\nmov.f32 %f2, 0f3FC00000;\n"
                                      "tex.3d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [%rd1, {%f1, %f2, %f3, %f3}];\n"
                                      "st.global.f32 [%mine], %f4;"));
    texture = describe(&runner, HEIGHT, LAYERS);
    texture.linear = true;
    words = run(&runner, &texture, 6);
    for (int i = 0; i < 6; i++) {
        double z = i / 2.0 - 0.5, share = z - floor(z); /* x and y hit the middle of a texel */
        double expected = (1 - share) * texel(2, 1, limit((int)floor(z), LAYERS)) +
                          share * texel(2, 1, limit((int)floor(z) + 1, LAYERS));
        assert_true(fabs(real(words, (uint32_t)i) - expected) < 1e-4);
    }
    runner_free(&runner);
}

static void test_gather(void **state)
{
    (void)state;
    struct runner runner;
    runner_load(&runner, WITH_TEXTURE("mov.f32 %f1, 0f40400000;\nmov.f32 %f2, 0f40000000;\n" /* (3, 2) */
                                      "tld4.r.2d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [%rd1, {%f1, %f2}];\n"
                                      "st.global.v4.f32 [%out], {%f4, %f5, %f6, %f7};"));
    struct corun_texture texture = describe(&runner, HEIGHT, 0);
    const uint32_t *words = run(&runner, &texture, 1);
    assert_true(real(words, 0) == texel(2, 2, 0) && real(words, 1) == texel(3, 2, 0));
    assert_true(real(words, 2) == texel(3, 1, 0) && real(words, 3) == texel(2, 1, 0));
    runner_free(&runner);
}

static void test_channels(void **state)
{
    (void)state;
    struct runner runner;
    runner_load(&runner, WITH_TEXTURE("tex.1d.v4.f32.s32 {%f4, %f5, %f6, %f7}, [%rd1, {%t}];\n"
                                      "tex.1d.v4.u32.s32 {%r4, %r5, %r6, %r7}, [%rd1, {%t}];\n"
                                      "tex.1d.v4.s32.s32 {%r8, %r9, %r10, %r11}, [%rd1, {%t}];\n"
                                      "st.global.f32 [%mine], %f5;\nst.global.u32 [%mine+256], %r5;\n"
                                      "st.global.u32 [%mine+512], %r9;"));
    uint64_t address;
    assert_int_equal(corun_memory_allocate(runner.memory, 1024, &address), CORUN_OK);
    uint8_t *bytes = corun_memory_pointer(runner.memory, address, 1024);
    for (int i = 0; i < 1024; i++)
        bytes[i] = (uint8_t)(i * 37);
    struct corun_texture texture = {.address = address,
                                    .width = 16,
                                    .channels = 4,
                                    .channel_bits = 8,
                                    .kind = CORUN_TEXEL_SIGNED,
                                    .normalized_values = true,
                                    .mode = {CORUN_TEXTURE_CLAMP, 0, 0}};
    const uint32_t *words = run(&runner, &texture, 16);
    for (uint32_t i = 0; i < 16; i++) {
        int8_t value = (int8_t)((4 * i + 1) * 37);
        float expected = (float)value / 127.0f;
        assert_true(fabsf(real(words, i) - (expected < -1 ? -1 : expected)) < 1e-6f);
        assert_int_equal(words[64 + i], (uint32_t)(int32_t)value);
        assert_int_equal(words[128 + i], (uint32_t)(int32_t)value);
    }
    texture.kind = CORUN_TEXEL_FLOAT; /* half precision */
    texture.channel_bits = 16;
    texture.channels = 2;
    static const uint16_t halves[4] = {0x3c00, 0xc000, 0x3800, 0x0001};
    memcpy(bytes, halves, sizeof halves);
    texture.width = 2;
    words = run(&runner, &texture, 2);
    assert_true(real(words, 0) == -2.0f && real(words, 1) == 0x1p-24f);
    runner_free(&runner);
}

/* Levels of 16 x 8, 8 x 4, 4 x 2, 2 x 1 and 1 x 1 texels; each has a value of its own, or grows by rows and columns. */
enum { LEVELS = 5, LEVEL_WIDTH = 16, LEVEL_HEIGHT = 8 };

static float level_texel(int level, int x, int y)
{
    return (float)(1000 * (level + 1) + 20 * y + x);
}

static struct corun_texture describe_levels(struct runner *runner)
{
    uint64_t address;
    assert_int_equal(corun_memory_allocate(runner->memory, 65536, &address), CORUN_OK);
    struct corun_texture texture = {.address = address,
                                    .width = LEVEL_WIDTH,
                                    .height = LEVEL_HEIGHT,
                                    .row_bytes = 256,
                                    .slice_bytes = 256 * LEVEL_HEIGHT,
                                    .channels = 1,
                                    .channel_bits = 32,
                                    .kind = CORUN_TEXEL_FLOAT,
                                    .mode = {CORUN_TEXTURE_CLAMP, CORUN_TEXTURE_CLAMP, CORUN_TEXTURE_CLAMP},
                                    .normalized_coordinates = true,
                                    .levels = LEVELS,
                                    .level_highest = LEVELS - 1};
    uint64_t at = address;
    for (int level = 0; level < LEVELS; level++) {
        int width = LEVEL_WIDTH >> level, height = LEVEL_HEIGHT >> level ? LEVEL_HEIGHT >> level : 1;
        struct corun_texture found;
        corun_texture_level(&texture, (uint32_t)level, &found);
        assert_true(found.address == at && (int)found.width == width && (int)found.height == height);
        for (int y = 0; y < height; y++, at += 256) {
            float *row = corun_memory_pointer(runner->memory, at, 256);
            for (int x = 0; x < width; x++)
                row[x] = level_texel(level, x, y);
        }
    }
    return texture;
}

/* The texel of a level that has the point (u, v). */
static float level_point(int level, double u, double v)
{
    int width = LEVEL_WIDTH >> level, height = LEVEL_HEIGHT >> level ? LEVEL_HEIGHT >> level : 1;
    return level_texel(level, limit((int)floor(u * width), width), limit((int)floor(v * height), height));
}

static float level_expected(const struct corun_texture *texture, double detail, double u, double v)
{
    detail += (double)texture->level_bias;
    detail = fmin(fmax(detail, (double)texture->level_lowest), (double)texture->level_highest);
    detail = fmin(fmax(detail, 0), LEVELS - 1);
    int below = (int)floor(detail);
    if (!texture->levels_linear)
        return level_point((int)floor(detail + 0.5), u, v);
    double share = detail - below;
    return (float)((1 - share) * (double)level_point(below, u, v) +
                   share * (double)level_point(below + (share > 0), u, v));
}

/* Thread t: level t / 4 - 1 at a place of its own, from -1 to beyond the last one. */
static void test_levels(void **state)
{
    (void)state;
    struct runner runner;
    runner_load(&runner, WITH_TEXTURE("cvt.rn.f32.u32 %f1, %t;\nfma.rn.f32 %f8, %f1, 0f3E800000, 0fBF800000;\n"
                                      "mul.f32 %f2, %f1, 0f3CF00000;\nmul.f32 %f3, %f1, 0f3CA00000;\n"
                                      "tex.level.2d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [%rd1, {%f2, %f3}], %f8;\n"
                                      "st.global.f32 [%mine], %f4;\n"
                                      "tex.2d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [%rd1, {%f2, %f3}];\n"
                                      "st.global.f32 [%mine+256], %f4;"));
    struct corun_texture texture = describe_levels(&runner);
    static const struct {
        float bias, lowest, highest;
    } limits[] = {{0, 0, 4}, {1.5f, 0, 4}, {-0.75f, 1, 2.5f}, {0, 0, 9}};
    for (unsigned i = 0; i < 8; i++) {
        texture.levels_linear = i & 1;
        texture.level_bias = limits[i / 2].bias;
        texture.level_lowest = limits[i / 2].lowest;
        texture.level_highest = limits[i / 2].highest;
        const uint32_t *words = run(&runner, &texture, 32);
        for (uint32_t t = 0; t < 32; t++) {
            double u = t * 0.029296875, v = t * 0.01953125;
            assert_true(fabsf(real(words, t) - level_expected(&texture, t * 0.25 - 1, u, v)) < 0.01f);
            assert_true(fabsf(real(words, 64 + t) - level_expected(&texture, 0, u, v)) < 0.01f);
        }
    }
    runner_free(&runner);
}

/* Steps of 2^(t / 4) texels of level 0, along x or, in the other half, along y; the shorter one does not count. */
static void test_gradients(void **state)
{
    (void)state;
    struct runner runner;
    runner_load(
        &runner,
        WITH_TEXTURE("and.b32 %r1, %t, 15;\ncvt.rn.f32.u32 %f1, %r1;\nmul.f32 %f1, %f1, 0f3E800000;\n"
                     "ex2.approx.f32 %f1, %f1;\nmov.f32 %f2, 0f3F000000;\nmov.f32 %f3, 0f3E800000;\n"
                     "mul.f32 %f8, %f1, 0f3D800000;\nmul.f32 %f9, %f1, 0f3E000000;\nmov.f32 %f10, 0f00000000;\n"
                     "mov.f32 %f11, 0f3C000000;\nsetp.gt.u32 %p1, %t, 15;\n@%p1 bra Y;\n"
                     "tex.grad.2d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [%rd1, {%f2, %f3}], {%f8, %f10}, {%f11, %f10};\n"
                     "bra OUT;\n"
                     "Y: tex.grad.2d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [%rd1, {%f2, %f3}], {%f10, %f11}, {%f10, %f9};\n"
                     "OUT: st.global.f32 [%mine], %f4;"));
    struct corun_texture texture = describe_levels(&runner);
    for (unsigned linear = 0; linear < 2; linear++) {
        texture.levels_linear = linear;
        texture.level_bias = 0.1f; /* away from halves, where levels change */
        const uint32_t *words = run(&runner, &texture, 32);
        for (uint32_t t = 0; t < 32; t++)
            assert_true(fabsf(real(words, t) - level_expected(&texture, (t & 15) * 0.25, 0.5, 0.25)) < 6.0f);
    }
    runner_free(&runner);
}

static void test_surfaces(void **state)
{
    (void)state;
    struct runner runner;
    runner_load(&runner,
                WITH_TEXTURE("shl.b32 %r1, %t, 2;\nsub.s32 %r1, %r1, 8;\nmov.u32 %r2, 2;\nmov.u32 %r3, 99;\n"
                             "suld.b.2d.b32.zero {%r3}, [%rd1, {%r1, %r2}];\nst.global.u32 [%mine], %r3;\n"
                             "suld.b.2d.b32.clamp {%r3}, [%rd1, {%r1, %r2}];\nst.global.u32 [%mine+256], %r3;\n"
                             "setp.lt.u32 %p1, %t, 4;\nadd.u32 %r4, %t, 1000;\nmov.u32 %r5, 3;\n"
                             "@%p1 sust.b.2d.b32.zero [%rd1, {%r1, %r5}], {%r4};\n"
                             "setp.gt.u32 %p2, %t, 1000;\n"
                             "@%p2 sust.b.2d.b32.trap [%rd1, {%r1, %r5}], {%r4};"));
    struct corun_texture texture = describe(&runner, HEIGHT, 0);
    const uint32_t *words = run(&runner, &texture, 16);
    for (int i = 0; i < 16; i++) {
        int x = i - 2;
        assert_true(real(words, (uint32_t)i) == (x < 0 || x >= WIDTH ? 0.0f : texel(x, 2, 0)));
        assert_true(real(words, (uint32_t)i + 64) == texel(limit(x, WIDTH), 2, 0));
    }
    const uint32_t *texels = corun_memory_pointer(runner.memory, texture.address, 4096);
    assert_int_equal(texels[3 * 16 + 0], 1002);
    assert_int_equal(texels[3 * 16 + 1], 1003);
    assert_true(real(texels, 3 * 16 + 2) == texel(2, 3, 0));
    runner_free(&runner);

    runner_load(&runner, WITH_TEXTURE("shl.b32 %r1, %t, 2;\nsuld.b.1d.b32.trap {%r3}, [%rd1, {%r1}];"));
    texture = describe(&runner, 0, 0);
    uint64_t handle;
    assert_int_equal(corun_texture_create(runner.memory, &texture, &handle), CORUN_OK);
    assert_int_equal(corun_memory_write(runner.memory, runner.out + 65528, &handle, 8), CORUN_OK);
    assert_int_equal(runner_try(&runner, 9), CORUN_FAULT);
    assert_non_null(
        strstr(runner_message(&runner), "thread (8,0,0): surface access at (32, 0, 0) outside of 8 x 0 x 0"));
    runner_free(&runner);
}

static void test_references(void **state)
{
    (void)state;
    struct runner runner;
    const char *text = HEAD ".global .texref image;\n.visible .entry k(.param .u64 p)\n{\n.reg .b64 %rd<4>;\n"
                            ".reg .f32 %f<8>;\n.reg .b32 %r<4>;\nld.param.u64 %rd1, [p];\nmov.u32 %r1, %tid.x;\n"
                            "mul.wide.u32 %rd2, %r1, 4;\nadd.u64 %rd1, %rd1, %rd2;\n"
                            "tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [image, {%r1}];\n"
                            "st.global.f32 [%rd1], %f1;\nret;\n}\n";
    runner_load(&runner, text);
    assert_int_equal(runner_try(&runner, 8), CORUN_FAULT);
    assert_non_null(strstr(runner_message(&runner), "a texture reference that nothing is bound to"));
    struct corun_texture texture = describe(&runner, 0, 0);
    uint64_t handle, variable, bytes;
    assert_int_equal(corun_texture_create(runner.memory, &texture, &handle), CORUN_OK);
    variable = corun_module_instance_variable(runner.instance, "image", &bytes);
    assert_int_equal(bytes, 8);
    assert_int_equal(corun_memory_write(runner.memory, variable, &handle, 8), CORUN_OK);
    assert_int_equal(runner_try(&runner, 8), CORUN_OK);
    for (uint32_t i = 0; i < 8; i++)
        assert_true(real(runner_words(&runner), i) == texel((int)i, 0, 0));
    runner_free(&runner);
}

static void test_descriptions(void **state)
{
    (void)state;
    struct runner runner;
    runner_load(&runner, KERNEL(""));
    struct corun_texture good = describe(&runner, HEIGHT, LAYERS), bad;
    uint64_t handle, other;
#define REFUSED(change) \
    bad = good; \
    bad.change; \
    assert_int_equal(corun_texture_create(runner.memory, &bad, &handle), CORUN_ARGUMENT)
    REFUSED(width = 0);
    REFUSED(channels = 3);
    REFUSED(channel_bits = 8); /* no float of 8 bits */
    REFUSED(row_bytes = 31);   /* shorter than a row */
    REFUSED(depth = 1000);     /* beyond the allocation */
    REFUSED(slice_bytes = UINT64_MAX);
    REFUSED(address = 12345);
    REFUSED(gob_rows = 2);
    REFUSED(gob_rows = 8); /* slices of 4 rows have no whole block */
    good.gob_rows = 4;
    REFUSED(row_bytes = 80); /* no whole block in a row */
    REFUSED(address += 64);
    assert_int_equal(corun_texture_create(runner.memory, &good, &handle), CORUN_OK);
    assert_int_equal(corun_texture_destroy(runner.memory, handle), CORUN_OK);
    assert_int_equal(corun_texture_destroy(runner.memory, handle), CORUN_ARGUMENT);
    assert_int_equal(corun_texture_create(runner.memory, &good, &other), CORUN_OK);
    runner_free(&runner);
}

/* Directions through the middle of texel (2 + face, 1) of each face, as the table of the programming guide has them. */
static void test_cubes(void **state)
{
    (void)state;
    for (int layered = 0; layered < 2; layered++) {
        struct runner runner;
        runner_load(&runner, layered
                                 ? WITH_TEXTURE("ld.global.f32 %f1, [%mine+8192];\nld.global.f32 %f2, [%mine+8448];\n"
                                                "ld.global.f32 %f3, [%mine+8704];\nmov.u32 %r1, 1;\n"
                                                "tex.acube.v4.f32.f32 {%f4, %f5, %f6, %f7}, [%rd1, {%r1, %f1, %f2, "
                                                "%f3}];\nst.global.f32 [%mine], %f4;")
                                 : WITH_TEXTURE("ld.global.f32 %f1, [%mine+8192];\nld.global.f32 %f2, [%mine+8448];\n"
                                                "ld.global.f32 %f3, [%mine+8704];\n"
                                                "tex.cube.v4.f32.f32 {%f4, %f5, %f6, %f7}, [%rd1, {%f1, %f2, %f3, "
                                                "%f3}];\nst.global.f32 [%mine], %f4;"));
        struct corun_texture texture = describe(&runner, HEIGHT, layered ? 12 : 6);
        texture.layered = texture.linear = texture.normalized_coordinates = true;
        for (int face = 0; face < 6; face++) {
            float s = ((float)(2 + face) + 0.5f) / WIDTH * 2 - 1, t = 1.5f / HEIGHT * 2 - 1, m = 3;
            float direction[6][3] = {{1, -t, -s}, {-1, -t, s}, {s, 1, t}, {s, -1, -t}, {s, -t, 1}, {-s, -t, -1}};
            for (int axis = 0; axis < 3; axis++) {
                float value = direction[face][axis] * m;
                uint64_t at = runner.out + 8192 + (uint64_t)(axis * 256 + face * 4);
                assert_int_equal(corun_memory_write(runner.memory, at, &value, 4), CORUN_OK);
            }
        }
        const uint32_t *words = run(&runner, &texture, 6);
        for (int face = 0; face < 6; face++)
            assert_true(fabs((double)real(words, (uint32_t)face) -
                             (double)texel(2 + face < WIDTH ? 2 + face : WIDTH - 1, 1, 6 * layered + face)) < 1e-3);
        runner_free(&runner);
    }
}

struct arranged_point {
    uint32_t x, y, z, row_after_row, in_sectors; /* where it is with gob_rows of 4 and 8 */
};

/* Rows of 128 bytes, 20 of a slice: blocks of 64 bytes by 32 rows. */
static const struct arranged_point arranged_points[] = {
    {0, 0, 0, 0, 0},       {3, 0, 0, 12, 12},       {4, 0, 0, 16, 32},      {0, 1, 0, 64, 16},
    {4, 1, 0, 80, 48},     {0, 2, 0, 128, 64},      {0, 4, 0, 256, 128},    {8, 0, 0, 32, 256},
    {0, 8, 0, 512, 512},   {0, 16, 0, 1024, 1024},  {16, 0, 0, 2048, 2048}, {31, 0, 0, 2108, 2348},
    {0, 0, 1, 4096, 4096}, {17, 19, 1, 7364, 7252},
};
enum { POINTS = sizeof arranged_points / sizeof *arranged_points, BLOCKED_BYTES = 8192 };

/* What a machine is told of accesses to `texture` by the one warp of a thread block. */
static uint32_t issue_accesses(const struct corun_grid *grid, const struct corun_texture *texture, uint32_t tb_index,
                               struct corun_issue *found, uint32_t most)
{
    static const uint64_t cycle;
    struct corun_warp *warps[1];
    uint32_t count = 0;
    assert_int_equal(grid->operations->attach(grid, 1, 1000000), CORUN_OK);
    struct corun_tb *tb = grid->operations->tb_begin(grid, tb_index, 0, warps);
    assert_non_null(tb);
    grid->operations->warp_place(warps[0], 0, 1, &cycle);
    for (struct corun_issue issue = {0}; issue.outcome != CORUN_OUTCOME_EXIT;) {
        const struct corun_instruction *instruction = &grid->code[grid->operations->warp_pc(warps[0])];
        grid->operations->issue(warps[0], &issue);
        assert_int_not_equal(issue.outcome, CORUN_OUTCOME_FAULT);
        if (instruction->flags & (CORUN_LOAD | CORUN_STORE) && issue.space != CORUN_SPACE_CONSTANT &&
            issue.address[0] - texture->address < BLOCKED_BYTES) {
            assert_true(count < most);
            found[count++] = issue;
        }
    }
    grid->operations->commit(grid, 0);
    grid->operations->tb_end(tb);
    return count;
}

static struct corun_texture describe_blocked(struct runner *runner, uint32_t gob_rows)
{
    struct corun_texture texture = describe(runner, HEIGHT, 0);
    assert_int_equal(corun_memory_allocate(runner->memory, BLOCKED_BYTES, &texture.address), CORUN_OK);
    texture.width = 32;
    texture.height = 20;
    texture.depth = 2;
    texture.row_bytes = 128;
    texture.slice_bytes = BLOCKED_BYTES / 2;
    texture.gob_rows = gob_rows;
    uint32_t *texels = corun_memory_pointer(runner->memory, texture.address, BLOCKED_BYTES);
    for (uint32_t i = 0; i < POINTS; i++) {
        const struct arranged_point *point = &arranged_points[i];
        float value = texel((int)point->x, (int)point->y, (int)point->z);
        memcpy(&texels[point->z * 1024 + point->y * 32 + point->x], &value, sizeof value);
        uint64_t at = runner->out + 8192 + (uint64_t)i * 4;
        assert_int_equal(corun_memory_write(runner->memory, at, &point->x, 4), CORUN_OK);
        assert_int_equal(corun_memory_write(runner->memory, at + 256, &point->y, 4), CORUN_OK);
        assert_int_equal(corun_memory_write(runner->memory, at + 512, &point->z, 4), CORUN_OK);
    }
    return texture;
}

/* Values are those of rows; the machine is told of places in blocks, of fetches and of both accesses to surfaces. */
static void test_blocks(void **state)
{
    (void)state;
    for (uint32_t gob_rows = 0; gob_rows <= 8; gob_rows += 4) {
        struct runner runner;
        runner_load(&runner,
                    WITH_TEXTURE("ld.global.u32 %r1, [%mine+8192];\nld.global.u32 %r2, [%mine+8448];\n"
                                 "ld.global.u32 %r3, [%mine+8704];\nshl.b32 %r4, %r1, 2;\nadd.u32 %r6, %t, 7000;\n"
                                 "tex.3d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%rd1, {%r1, %r2, %r3, %r3}];\n"
                                 "st.global.f32 [%mine], %f1;\n"
                                 "suld.b.3d.b32.trap {%r5}, [%rd1, {%r4, %r2, %r3, %r3}];\n"
                                 "st.global.u32 [%mine+256], %r5;\n"
                                 "sust.b.3d.b32.trap [%rd1, {%r4, %r2, %r3, %r3}], {%r6};"));
        struct corun_texture texture = describe_blocked(&runner, gob_rows);
        uint64_t handle;
        assert_int_equal(corun_texture_create(runner.memory, &texture, &handle), CORUN_OK);
        assert_int_equal(corun_memory_write(runner.memory, runner.out + 65528, &handle, 8), CORUN_OK);
        struct corun_launch_description launch = {.kernel = corun_module_kernel(runner.module, "k"),
                                                  .grid = {1, 1, 1},
                                                  .block = {POINTS, 1, 1},
                                                  .parameters = &runner.out,
                                                  .parameter_bytes = 8};
        struct corun_grid *grid;
        struct corun_issue accesses[3];
        assert_int_equal(corun_grid_create(runner.instance, &launch, runner.list, &grid), CORUN_OK);
        assert_int_equal(issue_accesses(grid, &texture, 0, accesses, 3), 3);
        const uint32_t *words = runner_words(&runner);
        const uint32_t *texels = corun_memory_pointer(runner.memory, texture.address, BLOCKED_BYTES);
        for (uint32_t i = 0; i < POINTS; i++) {
            const struct arranged_point *p = &arranged_points[i];
            uint32_t in_rows = p->z * 4096 + p->y * 128 + p->x * 4;
            uint32_t place = gob_rows == 0 ? in_rows : gob_rows == 4 ? p->row_after_row : p->in_sectors;
            for (uint32_t access = 0; access < 3; access++)
                assert_int_equal(accesses[access].address[i], texture.address + place);
            assert_true(real(words, i) == texel((int)p->x, (int)p->y, (int)p->z));
            assert_int_equal(words[i + 64], words[i]);
            assert_int_equal(texels[in_rows / 4], 7000 + i);
        }
        assert_int_equal(accesses[0].space, CORUN_SPACE_TEXTURE);
        corun_grid_destroy(grid);
        runner_free(&runner);
    }
}

/* A whole slice: each byte has a place of its own within it. */
static void test_blocks_hold_all(void **state)
{
    (void)state;
    assert_int_equal(corun_texture_block_rows(1, 8), 8);
    assert_int_equal(corun_texture_block_rows(9, 8), 16);
    assert_int_equal(corun_texture_block_rows(64, 8), 64);
    assert_int_equal(corun_texture_block_rows(65, 8), 128);
    assert_int_equal(corun_texture_block_rows(5000, 8), 128);
    assert_int_equal(corun_texture_block_rows(5000, 4), 64);
    for (uint32_t gob_rows = 4; gob_rows <= 8; gob_rows += 4) {
        struct runner runner;
        runner_load(&runner, WITH_TEXTURE("mov.u32 %r2, %ctaid.x;\nmov.u32 %r3, 0;\n"
                                          "tex.3d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%rd1, {%t, %r2, %r3, %r3}];"));
        struct corun_texture texture = describe_blocked(&runner, gob_rows);
        texture.height = 32;
        uint64_t handle;
        assert_int_equal(corun_texture_create(runner.memory, &texture, &handle), CORUN_OK);
        assert_int_equal(corun_memory_write(runner.memory, runner.out + 65528, &handle, 8), CORUN_OK);
        bool taken[1024] = {false};
        for (uint32_t y = 0; y < 32; y++) {
            struct corun_launch_description launch = {.kernel = corun_module_kernel(runner.module, "k"),
                                                      .grid = {32, 1, 1},
                                                      .block = {32, 1, 1},
                                                      .parameters = &runner.out,
                                                      .parameter_bytes = 8};
            struct corun_grid *grid;
            struct corun_issue access = {.address = {0}};
            assert_int_equal(corun_grid_create(runner.instance, &launch, runner.list, &grid), CORUN_OK);
            assert_int_equal(issue_accesses(grid, &texture, y, &access, 1), 1);
            for (uint32_t x = 0; x < 32; x++) {
                uint64_t word = (access.address[x] - texture.address) / 4;
                assert_true(word < 1024 && !taken[word]);
                taken[word] = true;
            }
            corun_grid_destroy(grid);
        }
        runner_free(&runner);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole_coordinates),
        cmocka_unit_test(test_nearest_and_linear),
        cmocka_unit_test(test_residency),
        cmocka_unit_test(test_weights),
        cmocka_unit_test(test_infinite_coordinates),
        cmocka_unit_test(test_filters_of_an_h100),
        cmocka_unit_test(test_modes),
        cmocka_unit_test(test_layers_and_volumes),
        cmocka_unit_test(test_gather),
        cmocka_unit_test(test_cubes),
        cmocka_unit_test(test_channels),
        cmocka_unit_test(test_levels),
        cmocka_unit_test(test_gradients),
        cmocka_unit_test(test_surfaces),
        cmocka_unit_test(test_references),
        cmocka_unit_test(test_descriptions),
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_blocks_hold_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
