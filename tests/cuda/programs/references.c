/* SPDX-License-Identifier: MIT */
/*
 * Texture and surface references, which compilers no longer make: PTX with .texref and .surfref, registered by hand as
 * compilers did it, and through the driver API. `references cpp` registers by names in C++, as nvcc 11 does.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPECT(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
            exit(1); \
        } \
    } while (0)

struct channel {
    int bits[4], kind;
};
struct reference {
    int normalized, filter, mode[3];
    struct channel channel;
    int srgb;
    unsigned anisotropy;
    int mipmap_filter;
    float mipmap[3];
    int rest[15];
};
struct dim3 {
    unsigned x, y, z;
};
struct descriptor {
    size_t width, height;
    int format;
    unsigned channels;
};
enum { TO_DEVICE = 1, TO_HOST = 2, CLAMP = 1, LINEAR = 1, FLOATS = 2 };

void **__cudaRegisterFatBinary(void *wrapper);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int limit, void *a,
                            void *b, void *c, void *d, int *e);
void __cudaRegisterTexture(void **handle, const void *host, const void **address, const char *name, int dimensions,
                           int normalized, int external);
void __cudaRegisterSurface(void **handle, const void *host, const void **address, const char *name, int dimensions,
                           int external);
int cudaMalloc(void **pointer, size_t bytes);
int cudaFree(void *pointer);
int cudaMemcpy(void *to, const void *from, size_t bytes, int kind);
int cudaMallocArray(void **array, const struct channel *channel, size_t width, size_t height, unsigned flags);
int cudaFreeArray(void *array);
int cudaMemcpy2DToArray(void *array, size_t x, size_t y, const void *from, size_t pitch, size_t width, size_t height,
                        int kind);
int cudaBindTexture(size_t *offset, const void *reference, const void *address, const struct channel *channel,
                    size_t bytes);
int cudaBindTexture2D(size_t *offset, const void *reference, const void *address, const struct channel *channel,
                      size_t width, size_t height, size_t pitch);
int cudaBindTextureToArray(const void *reference, const void *array, const struct channel *channel);
int cudaBindSurfaceToArray(const void *reference, const void *array, const struct channel *channel);
int cudaUnbindTexture(const void *reference);
int cudaGetTextureReference(const void **reference, const void *symbol);
int cudaLaunchKernel(const void *function, struct dim3 grid, struct dim3 block, void **arguments, size_t shared,
                     void *stream);
int cudaDeviceSynchronize(void);
int cudaGetLastError(void);
int cuModuleLoadData(void **module, const void *text);
int cuModuleUnload(void *module);
int cuModuleGetFunction(void **function, void *module, const char *name);
int cuModuleGetTexRef(void **reference, void *module, const char *name);
int cuTexRefSetArray(void *reference, void *array, unsigned flags);
int cuTexRefSetAddress_v2(size_t *offset, void *reference, uint64_t address, size_t bytes);
int cuTexRefSetAddress2D_v3(void *reference, const struct descriptor *picture, uint64_t address, size_t pitch);
int cuTexRefSetAddressMode(void *reference, int dimension, int mode);
int cuTexRefSetFilterMode(void *reference, int mode);
int cuTexRefSetFlags(void *reference, unsigned flags);
int cuTexRefSetFormat(void *reference, int format, int channels);
int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, void *stream, void **arguments, void **extra);

/* One warp: out[i] of picture(i + shift, 1.5), of line[31 - i], of the surface's byte 4 i in row 2. */
static const char text[] =
    ".version 6.3\n.target sm_50\n.address_size 64\n"
    ".global .texref picture;\n.global .texref line;\n.global .surfref sheet;\n"
    ".visible .entry from_picture(.param .u64 out, .param .f32 shift)\n{\n"
    "    .reg .u64 %p<4>;\n    .reg .u32 %r<2>;\n    .reg .f32 %f<8>;\n"
    "    ld.param.u64 %p1, [out];\n    ld.param.f32 %f1, [shift];\n    cvta.to.global.u64 %p1, %p1;\n"
    "    mov.u32 %r1, %tid.x;\n    mul.wide.u32 %p2, %r1, 4;\n    add.u64 %p3, %p1, %p2;\n"
    "    cvt.rn.f32.u32 %f2, %r1;\n    add.f32 %f2, %f2, %f1;\n    mov.f32 %f3, 0f3FC00000;\n"
    "    tex.2d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [picture, {%f2, %f3}];\n"
    "    st.global.f32 [%p3], %f4;\n    ret;\n}\n"
    ".visible .entry from_line(.param .u64 out)\n{\n"
    "    .reg .u64 %p<4>;\n    .reg .u32 %r<8>;\n"
    "    ld.param.u64 %p1, [out];\n    cvta.to.global.u64 %p1, %p1;\n"
    "    mov.u32 %r1, %tid.x;\n    mul.wide.u32 %p2, %r1, 4;\n    add.u64 %p3, %p1, %p2;\n"
    "    sub.u32 %r2, 31, %r1;\n"
    "    tex.1d.v4.s32.s32 {%r3, %r4, %r5, %r6}, [line, {%r2}];\n"
    "    st.global.u32 [%p3], %r3;\n    ret;\n}\n"
    ".visible .entry from_sheet(.param .u64 out)\n{\n"
    "    .reg .u64 %p<4>;\n    .reg .u32 %r<8>;\n"
    "    ld.param.u64 %p1, [out];\n    cvta.to.global.u64 %p1, %p1;\n"
    "    mov.u32 %r1, %tid.x;\n    mul.wide.u32 %p2, %r1, 4;\n    add.u64 %p3, %p1, %p2;\n"
    "    shl.b32 %r2, %r1, 2;\n    mov.u32 %r3, 2;\n"
    "    suld.b.2d.b32.trap %r4, [sheet, {%r2, %r3}];\n"
    "    st.global.u32 [%p3], %r4;\n    ret;\n}\n";

/* A container with one entry, PTX as it is. */
static struct {
    struct {
        uint32_t magic;
        uint16_t version, header_bytes;
        uint64_t bytes;
    } container;
    struct {
        uint16_t kind, version;
        uint32_t header_bytes;
        uint64_t bytes;
        uint32_t packed_bytes, unknown;
        uint16_t minor, major;
        uint32_t architecture, name_offset, name_bytes;
        uint64_t flags, zero, unpacked_bytes;
    } entry;
    char text[(sizeof text + 7) / 8 * 8];
} binary;
static struct {
    uint32_t magic, version;
    const void *container;
    const void *none;
} wrapper = {0x466243b1, 1, &binary, 0};

static struct reference picture, line, sheet;
static const char from_picture, from_line, from_sheet;
enum { WIDTH = 32, HEIGHT = 4 };
static float values[WIDTH * HEIGHT];
static const struct channel one_float = {{32, 0, 0, 0}, FLOATS}, one_int = {{32, 0, 0, 0}, 0};

static void **begin(int cpp)
{
    _Static_assert(sizeof binary.entry == 64, "an entry's header");
    binary.container.magic = 0xba55ed50;
    binary.container.version = 1;
    binary.container.header_bytes = sizeof binary.container;
    binary.container.bytes = sizeof binary.entry + sizeof binary.text;
    binary.entry.kind = 1;
    binary.entry.version = 0x101;
    binary.entry.header_bytes = sizeof binary.entry;
    binary.entry.bytes = sizeof binary.text;
    binary.entry.architecture = 50;
    memcpy(binary.text, text, sizeof text);
    void **handle = __cudaRegisterFatBinary(&wrapper);
    __cudaRegisterFunction(handle, &from_picture, 0, "from_picture", -1, 0, 0, 0, 0, 0);
    __cudaRegisterFunction(handle, &from_line, 0, "from_line", -1, 0, 0, 0, 0, 0);
    __cudaRegisterFunction(handle, &from_sheet, 0, "from_sheet", -1, 0, 0, 0, 0, 0);
    /* The name in PTX lies where an address is declared; without it, a name that is in no namespace is enough. */
    const char *line_name = cpp ? "::deep::line" : "line", *sheet_name = cpp ? "::sheet" : "sheet";
    __cudaRegisterTexture(handle, &picture, cpp ? (const void **)"picture" : 0, cpp ? "::picture" : "picture", 2, 0, 0);
    __cudaRegisterTexture(handle, &line, cpp ? (const void **)"line" : 0, line_name, 1, 0, 0);
    __cudaRegisterSurface(handle, &sheet, 0, sheet_name, 2, 0);
    __cudaRegisterFatBinaryEnd(handle);
    return handle;
}

static void run(const char *function, void *out, float shift, void *result)
{
    void *arguments[] = {&out, &shift};
    EXPECT(cudaLaunchKernel(function, (struct dim3){1, 1, 1}, (struct dim3){32, 1, 1}, arguments, 0, 0) == 0);
    EXPECT(cudaMemcpy(result, out, 128, TO_HOST) == 0);
}

/* values[i] is i: row 1 begins with 32. */
/* Integers are read from where floats lie. */
static int bits_of(float value)
{
    int bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static void check_picture(const float *result, float shift)
{
    for (int i = 0; i < 32; i++) {
        float x = (float)i + shift - 0.5f;
        EXPECT(result[i] == 32.0f + (x > 31.0f ? 31.0f : x));
    }
}

static void through_the_runtime(void *out, void *memory, void *array)
{
    float result[32];
    int numbers[32];
    size_t offset = 9;
    const void *found;
    picture.mode[0] = picture.mode[1] = CLAMP;
    picture.filter = LINEAR;
    EXPECT(cudaBindTextureToArray(&picture, array, &one_float) == 0);
    run(&from_picture, out, 0.75f, result);
    check_picture(result, 0.75f);
    picture.filter = 0; /* counts when it is bound anew */
    EXPECT(cudaBindTexture2D(&offset, &picture, memory, &one_float, WIDTH, HEIGHT, WIDTH * 4) == 0 && offset == 0);
    run(&from_picture, out, 0.75f, result);
    check_picture(result, 0.5f);

    EXPECT(cudaBindTexture(&offset, &line, memory, &one_int, UINT32_MAX) == 0);
    run(&from_line, out, 0, numbers);
    for (int i = 0; i < 32; i++) {
        float bits = values[31 - i];
        EXPECT(numbers[i] == bits_of(bits));
    }
    EXPECT(cudaBindTexture(0, &line, (char *)memory + 64, &one_int, 64) == 0);
    run(&from_line, out, 0, numbers);
    for (int i = 0; i < 32; i++) {
        float bits = 31 - i < 16 ? values[31 - i + 16] : 0;
        EXPECT(numbers[i] == bits_of(bits));
    }
    EXPECT(cudaBindSurfaceToArray(&sheet, array, &one_float) == 0);
    run(&from_sheet, out, 0, result);
    for (int i = 0; i < 32; i++)
        EXPECT(result[i] == values[2 * WIDTH + i]);
    EXPECT(cudaGetTextureReference(&found, &line) == 0 && found == &line);
    EXPECT(cudaBindTextureToArray(&sheet, array, &one_float) == 18); /* no texture reference */
    EXPECT(cudaGetLastError() == 18);
    EXPECT(cudaUnbindTexture(&line) == 0);
}

static void through_the_driver(void *out, void *memory, void *array)
{
    void *module, *function, *reference, *none;
    float result[32], shift = 0.75f;
    void *arguments[] = {&out, &shift};
    EXPECT(cuModuleLoadData(&module, text) == 0);
    EXPECT(cuModuleGetTexRef(&none, module, "nothing") == 500);
    EXPECT(cuModuleGetTexRef(&reference, module, "picture") == 0);
    EXPECT(cuModuleGetFunction(&function, module, "from_picture") == 0);
    EXPECT(cuTexRefSetArray(reference, array, 1) == 0);
    EXPECT(cuTexRefSetAddressMode(reference, 0, CLAMP) == 0 && cuTexRefSetAddressMode(reference, 3, CLAMP) == 1);
    EXPECT(cuTexRefSetFilterMode(reference, LINEAR) == 0);
    EXPECT(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, 0, arguments, 0) == 0);
    EXPECT(cudaMemcpy(result, out, 128, TO_HOST) == 0);
    check_picture(result, shift);
    struct descriptor descriptor = {WIDTH, HEIGHT, 0x20, 1};
    EXPECT(cuTexRefSetAddress2D_v3(reference, &descriptor, (uint64_t)(uintptr_t)memory, WIDTH * 4) == 0);
    EXPECT(cuTexRefSetFilterMode(reference, 0) == 0);
    EXPECT(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, 0, arguments, 0) == 0);
    EXPECT(cudaMemcpy(result, out, 128, TO_HOST) == 0);
    check_picture(result, 0.5f);
    EXPECT(cuModuleGetTexRef(&reference, module, "line") == 0);
    EXPECT(cuTexRefSetFormat(reference, 0x0a, 1) == 0 && cuTexRefSetFlags(reference, 1) == 0);
    EXPECT(cuTexRefSetAddress_v2(0, reference, (uint64_t)(uintptr_t)memory, sizeof values) == 0);
    EXPECT(cuModuleGetFunction(&function, module, "from_line") == 0);
    EXPECT(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, 0, arguments, 0) == 0);
    EXPECT(cudaMemcpy(result, out, 128, TO_HOST) == 0);
    for (int i = 0; i < 32; i++)
        EXPECT(result[i] == values[31 - i]);
    EXPECT(cuModuleUnload(module) == 0);
    EXPECT(cuTexRefSetFlags(reference, 1) == 400);
}

int main(int count, char **words)
{
    void **handle = begin(count > 1 && !strcmp(words[1], "cpp"));
    void *memory, *out, *array;
    for (int i = 0; i < WIDTH * HEIGHT; i++)
        values[i] = (float)i;
    EXPECT(cudaMalloc(&memory, sizeof values) == 0 && cudaMalloc(&out, 128) == 0);
    EXPECT(cudaMemcpy(memory, values, sizeof values, TO_DEVICE) == 0);
    EXPECT(cudaMallocArray(&array, &one_float, WIDTH, HEIGHT, 64) == 801); /* sparse: cudaErrorNotSupported */
    EXPECT(cudaMallocArray(&array, &one_float, WIDTH, HEIGHT, 2) == 0);
    EXPECT(cudaMemcpy2DToArray(array, 0, 0, values, WIDTH * 4, WIDTH * 4, HEIGHT, TO_DEVICE) == 0);
    through_the_runtime(out, memory, array);
    through_the_driver(out, memory, array);
    void *arguments[] = {&out};
    EXPECT(cudaLaunchKernel(&from_line, (struct dim3){1, 1, 1}, (struct dim3){32, 1, 1}, arguments, 0, 0) == 0);
    EXPECT(cudaDeviceSynchronize() != 0); /* nothing is bound */
    __cudaUnregisterFatBinary(handle);
    return 0;
}
