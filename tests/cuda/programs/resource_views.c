/* SPDX-License-Identifier: MIT */
/* Textures that see an array as texels of another format, or some of its layers. Levels of mipmaps are in mipmaps.c. */
#include "driver_test.h"

enum { WIDTH = 8, HEIGHT = 4, LAYERS = 3, IS_ARRAY = 0, LINEAR = 2, U32 = 3, LAYERED = 1, HOST = 1, ARRAY = 3 };
enum {
    NONE,
    VIEW_U8_4 = 3,
    VIEW_S8_4 = 6,
    VIEW_U16_2 = 8,
    VIEW_U32_1 = 13,
    VIEW_U32_2 = 14,
    VIEW_F32_1 = 0x16,
    VIEW_BLOCKS = 0x19
};
enum { NOT_SUPPORTED = 801 };

struct descriptor {
    size_t width, height, depth;
    int format;
    unsigned channels, flags;
};
struct resource {
    int type;
    union {
        void *array;
        struct {
            address_t address;
            int format;
            unsigned channels;
            size_t bytes;
        } linear;
        int reserved[32];
    } of;
    unsigned flags;
};
struct texture {
    int mode[3], filter;
    unsigned flags, anisotropy;
    int mipmap_filter;
    float bias, lowest, highest, border[4];
    int reserved[12];
};
struct view {
    int format;
    size_t width, height, depth;
    unsigned first_level, last_level, first_layer, last_layer, reserved[16];
};
struct copy {
    size_t from_x, from_y, from_z, from_level;
    int from_type;
    const void *from_host;
    address_t from_device;
    void *from_array, *reserved_from;
    size_t from_pitch, from_height, to_x, to_y, to_z, to_level;
    int to_type;
    void *to_host;
    address_t to_device;
    void *to_array, *reserved_to;
    size_t to_pitch, to_height, width, height, depth;
};

int cuArray3DCreate_v2(void **array, const struct descriptor *values);
int cuMemcpy3D_v2(const struct copy *copy);
int cuTexObjectCreate(uint64_t *texture, const struct resource *resource, const struct texture *values,
                      const struct view *view);
int cuTexObjectDestroy(uint64_t texture);
int cuTexObjectGetResourceViewDesc(struct view *view, uint64_t texture);

/* Thread t reads texel (t % 8, t / 8) of layer `layer`: its first and its last channel. */
static const char text[] =
    ".version 7.0\n.target sm_50\n.address_size 64\n"
    ".visible .entry read(.param .u64 texture, .param .u64 out, .param .u32 layer)\n{\n"
    ".reg .b32 %r<10>; .reg .b64 %d<4>;\n"
    "ld.param.u64 %d0, [texture]; ld.param.u64 %d1, [out]; ld.param.u32 %r0, [layer]; mov.u32 %r1, %tid.x;\n"
    "mul.wide.u32 %d2, %r1, 8; add.u64 %d1, %d1, %d2; and.b32 %r2, %r1, 7; shr.u32 %r3, %r1, 3;\n"
    "tex.a2d.v4.u32.s32 {%r4, %r5, %r6, %r7}, [%d0, {%r0, %r2, %r3, %r3}];\n"
    "st.global.v2.u32 [%d1], {%r4, %r7};\nret;\n}\n";

static uint32_t word(unsigned layer, unsigned y, unsigned x)
{
    return 0x81000000u + 0x10000 * layer + 0x1000 * y + 0x11 * x;
}

static void *make_array(void)
{
    static uint32_t words[LAYERS][HEIGHT][WIDTH];
    const struct descriptor shape = {WIDTH, HEIGHT, LAYERS, U32, 1, LAYERED};
    void *array;
    for (unsigned layer = 0; layer < LAYERS; layer++)
        for (unsigned y = 0; y < HEIGHT; y++)
            for (unsigned x = 0; x < WIDTH; x++)
                words[layer][y][x] = word(layer, y, x);
    GOOD(cuArray3DCreate_v2(&array, &shape));
    struct copy copy = {.from_type = HOST, .from_host = words, .from_pitch = WIDTH * 4, .from_height = HEIGHT};
    copy.to_type = ARRAY;
    copy.to_array = array;
    copy.width = WIDTH * 4;
    copy.height = HEIGHT;
    copy.depth = LAYERS;
    GOOD(cuMemcpy3D_v2(&copy));
    return array;
}

struct seen {
    uint32_t first, last;
};

static void read_view(void *kernel, const struct resource *resource, const struct view *view, unsigned layer,
                      struct seen *seen)
{
    const struct texture values = {.flags = 1}; /* texels as they are */
    uint64_t texture;
    address_t out;
    GOOD(cuMemAlloc_v2(&out, WIDTH * HEIGHT * sizeof *seen));
    GOOD(cuTexObjectCreate(&texture, resource, &values, view));
    void *arguments[] = {&texture, &out, &layer};
    GOOD(cuLaunchKernel(kernel, 1, 1, 1, WIDTH * HEIGHT, 1, 1, 0, NULL, arguments, NULL));
    GOOD(cuMemcpyDtoH_v2(seen, out, WIDTH * HEIGHT * sizeof *seen));
    struct view told;
    memset(&told, 1, sizeof told);
    GOOD(cuTexObjectGetResourceViewDesc(&told, texture));
    CHECK(told.format == view->format && told.last_layer == view->last_layer && told.width == WIDTH);
    GOOD(cuTexObjectDestroy(texture));
    GOOD(cuMemFree_v2(out));
}

static void refusals(const struct resource *resource, struct view good)
{
    static const struct {
        size_t width, depth;
        int format, wanted;
        unsigned first_level, last_level, first_layer, last_layer;
    } rows[] = {
        {WIDTH + 1, LAYERS, NONE, INVALID_VALUE, 0, 0, 0, 2},    {WIDTH, 2, NONE, INVALID_VALUE, 0, 0, 0, 1},
        {WIDTH, LAYERS, VIEW_U32_2, INVALID_VALUE, 0, 0, 0, 2},  {WIDTH, LAYERS, 0x23, INVALID_VALUE, 0, 0, 0, 2},
        {WIDTH, LAYERS, VIEW_BLOCKS, NOT_SUPPORTED, 0, 0, 0, 2}, {WIDTH, LAYERS, NONE, INVALID_VALUE, 0, 1, 0, 2},
        {WIDTH, LAYERS, NONE, INVALID_VALUE, 0, 0, 2, 1},        {WIDTH, LAYERS, NONE, INVALID_VALUE, 0, 0, 1, 3}};
    const struct texture values = {.flags = 1};
    uint64_t texture;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct view view = good;
        view.width = rows[i].width;
        view.depth = rows[i].depth;
        view.format = rows[i].format;
        view.first_level = rows[i].first_level;
        view.last_level = rows[i].last_level;
        view.first_layer = rows[i].first_layer;
        view.last_layer = rows[i].last_layer;
        EXPECT(rows[i].wanted, cuTexObjectCreate(&texture, resource, &values, &view));
    }
    /* memory has no views */
    struct resource linear = {.type = LINEAR};
    GOOD(cuMemAlloc_v2(&linear.of.linear.address, 1024));
    linear.of.linear.format = U32;
    linear.of.linear.channels = 1;
    linear.of.linear.bytes = 1024;
    EXPECT(INVALID_VALUE, cuTexObjectCreate(&texture, &linear, &values, &good));
    GOOD(cuTexObjectCreate(&texture, &linear, &values, NULL));
    EXPECT(INVALID_VALUE, cuTexObjectGetResourceViewDesc(&good, texture));
}

int main(void)
{
    void *context, *module, *kernel;
    struct seen seen[WIDTH * HEIGHT];
    GOOD(cuInit(0));
    GOOD(cuCtxCreate_v2(&context, 0, 0));
    GOOD(cuModuleLoadData(&module, text));
    GOOD(cuModuleGetFunction(&kernel, module, "read"));
    struct resource resource = {.type = IS_ARRAY};
    resource.of.array = make_array();
    static const int formats[] = {NONE, VIEW_U32_1, VIEW_F32_1, VIEW_U8_4, VIEW_S8_4, VIEW_U16_2};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        for (unsigned first = 0; first < LAYERS; first++) {
            const struct view view = {.format = formats[i],
                                      .width = WIDTH,
                                      .height = HEIGHT,
                                      .depth = LAYERS,
                                      .first_layer = first,
                                      .last_layer = 2};
            read_view(kernel, &resource, &view, 1, seen);
            for (unsigned t = 0; t < WIDTH * HEIGHT; t++) {
                unsigned layer = first + 1 < LAYERS ? first + 1 : LAYERS - 1; /* beyond the last one is the last one */
                uint32_t whole = word(layer, t / WIDTH, t % WIDTH);
                uint32_t first_part = formats[i] == VIEW_U16_2                             ? whole & 0xffff
                                      : formats[i] == VIEW_U8_4 || formats[i] == VIEW_S8_4 ? whole & 0xff
                                                                                           : whole;
                if (formats[i] == VIEW_S8_4)
                    first_part = (uint32_t)(int8_t)first_part;
                CHECK(seen[t].first == first_part);
                if (formats[i] == VIEW_U8_4)
                    CHECK(seen[t].last == 0x81);
                if (formats[i] == VIEW_S8_4)
                    CHECK(seen[t].last == 0xffffff81);
            }
        }
    refusals(&resource, (struct view){.width = WIDTH, .height = HEIGHT, .depth = LAYERS, .last_layer = 2});
    puts("resource views: good");
    return 0;
}
