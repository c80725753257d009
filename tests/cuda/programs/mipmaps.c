/* SPDX-License-Identifier: MIT */
/* Mipmapped arrays: levels that are filled one by one, read by level and by gradients. What a thread must find is computed here beside it. */
#include "driver_test.h"

#include <math.h>

enum { WIDTH = 64, HEIGHT = 32, LEVELS = 7, THREADS = 64, MIPMAPPED = 1, FLOAT = 0x20, CLAMP = 1, NORMALIZED = 2 };
enum { HOST = 1, ARRAY = 3 };

struct descriptor {
    size_t width, height, depth;
    int format;
    unsigned channels, flags;
};
struct resource {
    int type;
    union {
        void *mipmap;
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
    size_t from_x, from_y;
    int from_type;
    const void *from_host;
    address_t from_device;
    void *from_array;
    size_t from_pitch, to_x, to_y;
    int to_type;
    void *to_host;
    address_t to_device;
    void *to_array;
    size_t to_pitch, width, height;
};

int cuArray3DGetDescriptor_v2(struct descriptor *values, void *array);
int cuArrayDestroy(void *array);
int cuMemcpy2D_v2(const struct copy *copy);
int cuMipmappedArrayCreate(void **mipmap, const struct descriptor *values, unsigned levels);
int cuMipmappedArrayDestroy(void *mipmap);
int cuMipmappedArrayGetLevel(void **array, void *mipmap, unsigned level);
int cuTexObjectCreate(uint64_t *texture, const struct resource *resource, const struct texture *values,
                      const struct view *view);
int cuTexObjectDestroy(uint64_t texture);

/* Thread t reads at (t / 64, t / 64): level t / 8 into out[t]; by gradients of 2^(t / 16) texels into out[64 + t]. */
static const char text[] =
    ".version 7.0\n.target sm_50\n.address_size 64\n"
    ".visible .entry read(.param .u64 texture, .param .u64 out)\n{\n"
    ".reg .b32 %r; .reg .f32 %f<12>; .reg .b64 %d<4>;\n"
    "ld.param.u64 %d0, [texture]; ld.param.u64 %d1, [out]; mov.u32 %r, %tid.x; cvt.rn.f32.u32 %f0, %r;\n"
    "mul.wide.u32 %d2, %r, 4; add.u64 %d1, %d1, %d2; mul.f32 %f1, %f0, 0f3C800000; mul.f32 %f2, %f0, 0f3E000000;\n"
    "tex.level.2d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [%d0, {%f1, %f1}], %f2; st.global.f32 [%d1], %f4;\n"
    "mul.f32 %f2, %f0, 0f3D800000; ex2.approx.f32 %f2, %f2; mul.f32 %f2, %f2, 0f3D000000; mov.f32 %f3, 0f00000000;\n"
    "tex.grad.2d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [%d0, {%f1, %f1}], {%f3, %f3}, {%f3, %f2}; st.global.f32 [%d1+256], "
    "%f4;\n"
    "ret;\n}\n";

static float texel(int level, int x, int y)
{
    return (float)(10000 * (level + 1) + 100 * y + x);
}

static int size_of(int size, int level)
{
    return size >> level ? size >> level : 1;
}

static void fill(void *mipmap)
{
    static float rows[HEIGHT][WIDTH];
    for (int level = 0; level < LEVELS; level++) {
        struct descriptor found;
        void *array;
        GOOD(cuMipmappedArrayGetLevel(&array, mipmap, (unsigned)level));
        GOOD(cuArray3DGetDescriptor_v2(&found, array));
        int width = size_of(WIDTH, level), height = size_of(HEIGHT, level);
        CHECK((int)found.width == width && (int)found.height == height && found.format == FLOAT);
        for (int y = 0; y < height; y++)
            for (int x = 0; x < width; x++)
                rows[y][x] = texel(level, x, y);
        struct copy copy = {.from_type = HOST, .from_host = rows, .from_pitch = sizeof rows[0], .to_type = ARRAY};
        copy.to_array = array;
        copy.width = (size_t)width * 4;
        copy.height = (size_t)height;
        GOOD(cuMemcpy2D_v2(&copy));
        EXPECT(INVALID_HANDLE, cuArrayDestroy(array)); /* the mipmap's */
    }
}

static double point(int level, double at)
{
    int width = size_of(WIDTH, level), height = size_of(HEIGHT, level);
    return (double)texel(level, (int)(at * width), (int)(at * height));
}

static void check(const float *found, double detail, double at, bool linear, double allowed)
{
    detail = detail < LEVELS - 1 ? detail : LEVELS - 1;
    double share = detail - floor(detail), wanted = point((int)floor(detail + 0.5), at);
    if (linear)
        wanted = (1 - share) * point((int)detail, at) + share * point((int)detail + (share > 0), at);
    CHECK(fabs((double)*found - wanted) <= allowed);
}

int main(void)
{
    void *context, *module, *read, *mipmap, *array;
    uint64_t handle;
    address_t out;
    float found[2 * THREADS];
    const struct descriptor shape = {WIDTH, HEIGHT, 0, FLOAT, 1, 0}, none = {0};
    GOOD(cuInit(0));
    GOOD(cuCtxCreate_v2(&context, 0, 0));
    GOOD(cuModuleLoadData(&module, text));
    GOOD(cuModuleGetFunction(&read, module, "read"));
    GOOD(cuMemAlloc_v2(&out, sizeof found));
    EXPECT(INVALID_VALUE, cuMipmappedArrayCreate(&mipmap, &none, 3));
    EXPECT(INVALID_VALUE, cuMipmappedArrayCreate(&mipmap, &shape, 0));
    GOOD(cuMipmappedArrayCreate(&mipmap, &shape, 20)); /* there are seven sizes */
    EXPECT(INVALID_VALUE, cuMipmappedArrayGetLevel(&array, mipmap, LEVELS));
    EXPECT(INVALID_HANDLE, cuMipmappedArrayGetLevel(&array, read, 0));
    fill(mipmap);
    struct resource resource = {.type = MIPMAPPED, .of.mipmap = mipmap};
    struct texture reading = {.mode = {CLAMP, CLAMP, CLAMP}, .highest = LEVELS};
    EXPECT(INVALID_VALUE,
           cuTexObjectCreate(&handle, &resource, &reading, NULL)); /* levels want normalized coordinates */
    reading.flags = NORMALIZED;
    for (int linear = 0; linear < 2; linear++) {
        reading.mipmap_filter = linear;
        GOOD(cuTexObjectCreate(&handle, &resource, &reading, NULL));
        void *arguments[] = {&handle, &out};
        GOOD(cuLaunchKernel(read, 1, 1, 1, THREADS, 1, 1, 0, NULL, arguments, NULL));
        GOOD(cuMemcpyDtoH_v2(found, out, sizeof found));
        for (int t = 0; t < THREADS; t++) {
            check(&found[t], t / 8.0, t / 64.0, linear, 1);
            if (t % 16 != 8 || linear) /* half way between two levels either is near */
                check(&found[THREADS + t], t / 16.0, t / 64.0, linear, linear ? 40 : 0);
        }
        GOOD(cuTexObjectDestroy(handle));
    }
    /* a view has some of the levels, the first of which is its level 0 */
    struct view view = {.width = WIDTH, .height = HEIGHT, .first_level = 2, .last_level = 4};
    GOOD(cuTexObjectCreate(&handle, &resource, &reading, &view));
    void *arguments[] = {&handle, &out};
    GOOD(cuLaunchKernel(read, 1, 1, 1, THREADS, 1, 1, 0, NULL, arguments, NULL));
    GOOD(cuMemcpyDtoH_v2(found, out, sizeof found));
    for (int t = 0; t < THREADS; t++)
        check(&found[t], t / 8.0 + 2 < 4 ? t / 8.0 + 2 : 4, t / 64.0, true, 1);
    view.last_level = LEVELS;
    EXPECT(INVALID_VALUE, cuTexObjectCreate(&handle, &resource, &reading, &view));
    view.first_level = 5;
    view.last_level = 4;
    EXPECT(INVALID_VALUE, cuTexObjectCreate(&handle, &resource, &reading, &view));
    GOOD(cuMipmappedArrayDestroy(mipmap));
    EXPECT(INVALID_HANDLE, cuMipmappedArrayDestroy(mipmap));
    GOOD(cuCtxDestroy_v2(context));
    return 0;
}
