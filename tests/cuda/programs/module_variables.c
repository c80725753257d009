/* SPDX-License-Identifier: MIT */
/*
 * module_variables LAUNCHES: kernels that use variables of their module in every way, between reads and writes of the program. Whatever form they run in, each thread
 * block counts once, in the variables that the program sees: of a module, of the same one loaded twice, of one that was unloaded and loaded again, of a library, and in two contexts.
 * A launch has more thread blocks than four SMs hold.
 */
#include "driver_test.h"

enum { BLOCKS = 150, DIGITS = 8, SUMS = 4, FLOATS = 0x20 };

int cuModuleGetGlobal_v2(address_t *address, size_t *bytes, void *module, const char *name);
int cuCtxSetCurrent(void *context);
int cuLibraryLoadData(void **library, const void *text, int *jit_options, void **jit_values, unsigned jit_count,
                      int *options, void **values, unsigned count);
int cuLibraryUnload(void *library);
int cuLibraryGetKernel(void **kernel, void *library, const char *name);
int cuLibraryGetGlobal(address_t *address, size_t *bytes, void *library, const char *name);
int cuModuleGetTexRef(void **reference, void *module, const char *name);
int cuTexRefSetAddress_v2(size_t *offset, void *reference, address_t address, size_t bytes);
int cuTexRefSetFormat(void *reference, int format, int channels);

static const unsigned digits[DIGITS] = {3, 1, 4, 1, 5, 9, 2, 6};
static const char text[] =
    ".version 6.3\n.target sm_52\n.address_size 64\n"
    ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"
    ".global .u32 counter;\n.visible .global .align 8 .u64 sums[4];\n.const .u32 factor = 1;\n"
    ".const .u32 digits[8] = {3, 1, 4, 1, 5, 9, 2, 6};\n.global .u64 place = generic(sums);\n"
    ".global .align 1 .b8 spoken[14] = {102, 97, 99, 116, 111, 114, 32, 105, 115, 32, 37, 117, 10, 0};\n"
    ".global .texref picture;\n"
    ".func (.param .b32 r) digit(.param .b32 i)\n{\n.reg .b32 %r<3>; .reg .b64 %d<3>;\n"
    "ld.param.u32 %r0, [i]; and.b32 %r1, %r0, 7; mul.wide.u32 %d0, %r1, 4; mov.u64 %d1, digits;\n"
    "add.s64 %d2, %d1, %d0; ld.const.u32 %r2, [%d2]; st.param.b32 [r], %r2; ret;\n}\n"
    ".visible .entry count(.param .u32 loops)\n{\n"
    ".reg .pred %p; .reg .b32 %r<10>; .reg .b64 %d<6>;\n"
    "ld.param.u32 %r4, [loops]; mov.u32 %r1, %ctaid.x;\n"
    "MORE: sub.u32 %r4, %r4, 1; setp.ne.u32 %p, %r4, 0; @%p bra MORE;\n"
    "{ .param .b32 i; .param .b32 r; st.param.b32 [i], %r1; call (r), digit, (i); ld.param.b32 %r2, [r]; }\n"
    "ld.const.u32 %r3, [factor]; mul.lo.u32 %r2, %r2, %r3; cvt.u64.u32 %d2, %r2;\n"
    "ld.global.u64 %d0, [place]; and.b32 %r5, %r1, 3; mul.wide.u32 %d1, %r5, 8; add.s64 %d0, %d0, %d1;\n"
    "red.add.u64 [%d0], %d2; atom.global.add.u32 %r6, [counter], 1;\nret;\n}\n"
    ".visible .entry speak()\n{\n.reg .pred %p; .reg .b32 %r<4>; .reg .b64 %d<4>; .local .b32 values[1];\n"
    "mov.u32 %r0, %ctaid.x; setp.ne.u32 %p, %r0, 7; @%p ret;\n"
    "ld.const.u32 %r1, [factor]; st.local.u32 [values], %r1; cvta.local.u64 %d1, values; cvta.global.u64 %d0, spoken;\n"
    "{ .param .b64 f; .param .b64 a; .param .b32 r; st.param.b64 [f], %d0; st.param.b64 [a], %d1;\n"
    "call (r), vprintf, (f, a); }\nret;\n}\n"
    ".global .f32 seen;\n.visible .entry sample()\n{\n.reg .b32 %r; .reg .f32 %f<5>; mov.u32 %r, 2;\n"
    "tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [picture, {%r}]; st.global.f32 [seen], %f1;\nret;\n}\n"
    ".visible .entry idle()\n{\nret;\n}\n";

/* What was loaded, and where its variables are. */
struct loaded {
    void *handle, *count, *speak, *sample, *idle;
    address_t counter, sums, factor;
    unsigned counted;
    uint64_t summed[SUMS];
};

static struct loaded load(bool is_library)
{
    struct loaded loaded = {0};
    int (*find)(void **, void *, const char *) = is_library ? cuLibraryGetKernel : cuModuleGetFunction;
    int (*ask)(address_t *, size_t *, void *, const char *) = is_library ? cuLibraryGetGlobal : cuModuleGetGlobal_v2;
    size_t bytes;
    if (is_library)
        GOOD(cuLibraryLoadData(&loaded.handle, text, NULL, NULL, 0, NULL, NULL, 0));
    else
        GOOD(cuModuleLoadData(&loaded.handle, text));
    GOOD(find(&loaded.count, loaded.handle, "count"));
    GOOD(find(&loaded.speak, loaded.handle, "speak"));
    GOOD(find(&loaded.sample, loaded.handle, "sample"));
    GOOD(find(&loaded.idle, loaded.handle, "idle"));
    GOOD(ask(&loaded.counter, &bytes, loaded.handle, "counter"));
    GOOD(ask(&loaded.factor, &bytes, loaded.handle, "factor"));
    GOOD(ask(&loaded.sums, &bytes, loaded.handle, "sums"));
    CHECK(bytes == SUMS * sizeof(uint64_t));
    return loaded;
}

static void launch(void *function, unsigned blocks, unsigned loops)
{
    void *parameters[] = {&loops};
    GOOD(cuLaunchKernel(function, blocks, 1, 1, 64, 1, 1, 0, NULL, parameters, NULL));
}

/* A launch with that factor, and what the variables hold behind it. */
static void run(struct loaded *loaded, unsigned factor)
{
    unsigned counter;
    uint64_t sums[SUMS];
    GOOD(cuMemcpyHtoD_v2(loaded->factor, &factor, sizeof factor));
    launch(loaded->count, BLOCKS, 20);
    launch(loaded->idle, BLOCKS, 0);
    launch(loaded->speak, BLOCKS, 0);
    loaded->counted += 64 * BLOCKS;
    for (unsigned i = 0; i < BLOCKS; i++)
        loaded->summed[i % SUMS] += (uint64_t)64 * digits[i % DIGITS] * factor;
    GOOD(cuMemcpyDtoH_v2(&counter, loaded->counter, sizeof counter));
    GOOD(cuMemcpyDtoH_v2(sums, loaded->sums, sizeof sums));
    CHECK(counter == loaded->counted);
    CHECK(!memcmp(sums, loaded->summed, sizeof sums));
    fflush(stdout);
}

/* A kernel that uses a texture reference, which is bound to one module. */
static void sample(const struct loaded *loaded)
{
    static const float picture[4] = {1.5f, 2.5f, 3.5f, 4.5f};
    void *reference;
    address_t address, seen;
    size_t bytes;
    float found;
    GOOD(cuModuleGetTexRef(&reference, loaded->handle, "picture"));
    GOOD(cuModuleGetGlobal_v2(&seen, &bytes, loaded->handle, "seen"));
    GOOD(cuMemAlloc_v2(&address, sizeof picture));
    GOOD(cuMemcpyHtoD_v2(address, picture, sizeof picture));
    GOOD(cuTexRefSetFormat(reference, FLOATS, 1));
    GOOD(cuTexRefSetAddress_v2(NULL, reference, address, sizeof picture));
    launch(loaded->sample, BLOCKS, 0);
    GOOD(cuMemcpyDtoH_v2(&found, seen, sizeof found));
    CHECK(found == picture[2]);
    GOOD(cuMemFree_v2(address));
}

int main(int argc, char **argv)
{
    void *contexts[2];
    unsigned launches = argc == 2 ? (unsigned)atoi(argv[1]) : 0;
    CHECK(launches > 0);
    GOOD(cuInit(0));
    for (unsigned c = 0; c < 2; c++) {
        GOOD(cuCtxCreate_v2(&contexts[c], 0, 0));
        for (unsigned i = 0; i < 3; i++) {
            struct loaded first = load(i == 2), second = load(false);
            for (unsigned k = 0; k < launches; k++) {
                run(&first, 1 + k);
                run(&second, 100 + k);
            }
            GOOD(i == 2 ? cuLibraryUnload(first.handle) : cuModuleUnload(first.handle));
            run(&second, 7);
            sample(&second);
            GOOD(cuModuleUnload(second.handle));
        }
    }
    GOOD(cuCtxDestroy_v2(contexts[1]));
    GOOD(cuCtxSetCurrent(contexts[0]));
    struct loaded last = load(false);
    for (unsigned k = 0; k < launches; k++)
        run(&last, 50 + k);
    printf("%u launches of %d thread blocks\n", launches, BLOCKS);
    return 0;
}
