/* SPDX-License-Identifier: MIT */
/*
 * Launches from the device in the driver API: PTX as nvcc writes it, linked with the toolkit's library by name. `driver_nested refused`: how it
 * is refused where it cannot be.
 */
#include "driver_test.h"

int cuLinkCreate_v2(unsigned count, int *options, void **values, void **state);
int cuLinkAddData_v2(void *state, int type, void *data, size_t bytes, const char *name, unsigned count,
                     const int *options, void **values);
int cuLinkAddFile_v2(void *state, int type, const char *path, unsigned count, const int *options, void **values);
int cuLinkComplete(void *state, void **cubin, size_t *bytes);
int cuLinkDestroy(void *state);
enum { PTX = 1, LIBRARY = 4 };

/*
 * child: adds `step` to values[i], of 64. parent, one thread: launches child four times in the null stream, then itself as a tail launch while `left`
 * is not 0; what cudaGetLastError gives is added to values[64].
 */
#define NAMES(prefix) \
    ".extern .func (.param .b64 r) " prefix "GetParameterBufferV2(.param .b64 f, .param .align 4 .b8 g[12], .param " \
    ".align 4 .b8 b[12], .param .b32 s);\n" \
    ".extern .func (.param .b32 r) " prefix "LaunchDeviceV2(.param .b64 p, .param .b64 s);\n" \
    ".extern .func (.param .b32 r) " prefix "GetLastError();\n"
#define BUFFER(prefix, kernel, blocks, threads) \
    "{\nmov.u64 %d4, " kernel ";\n.param .b64 p0; st.param.b64 [p0], %d4;\n" \
    ".param .align 4 .b8 p1[12]; st.param.b32 [p1], " blocks "; st.param.b32 [p1+4], 1; st.param.b32 [p1+8], 1;\n" \
    ".param .align 4 .b8 p2[12]; st.param.b32 [p2], " threads "; st.param.b32 [p2+4], 1; st.param.b32 [p2+8], 1;\n" \
    ".param .b32 p3; st.param.b32 [p3], 0;\n.param .b64 r0;\n" \
    "call.uni (r0), " prefix "GetParameterBufferV2, (p0, p1, p2, p3);\nld.param.b64 %d2, [r0];\n}\n" \
    "setp.eq.s64 %p0, %d2, 0;\n"
#define LAUNCH(prefix, stream) \
    "{\n.param .b64 q0; st.param.b64 [q0], %d2;\n.param .b64 q1; st.param.b64 [q1], " stream ";\n.param .b32 r1;\n" \
    "call.uni (r1), " prefix "LaunchDeviceV2, (q0, q1);\n}\n"
#define TEXT(prefix) \
    ".version 8.0\n.target sm_75\n.address_size 64\n" NAMES( \
        prefix) ".visible .entry child(.param .u64 values, .param .u8 step)\n{\n" \
                ".reg .b16 %h<2>; .reg .b32 %r<6>; .reg .b64 %d<4>;\n" \
                "ld.param.u64 %d0, [values]; ld.param.u8 %h0, [step]; cvt.u32.u16 %r4, %h0;\n" \
                "mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ntid.x; mov.u32 %r2, %tid.x; mad.lo.s32 %r3, %r0, %r1, %r2;\n" \
                "mul.wide.u32 %d1, %r3, 4; add.u64 %d1, %d1, %d0;\n" \
                "ld.global.u32 %r5, [%d1]; add.u32 %r5, %r5, %r4; st.global.u32 [%d1], %r5;\nret;\n}\n" \
                ".visible .entry parent(.param .u64 values, .param .u32 left)\n{\n" \
                ".reg .pred %p<3>; .reg .b16 %h<2>; .reg .b32 %r<6>; .reg .b64 %d<6>;\n" \
                "ld.param.u64 %d0, [values]; ld.param.u32 %r0, [left]; mov.u32 %r1, 4;\n" \
                "NEXT:\n" BUFFER( \
                    prefix, "child", "2", \
                    "32") "@%p0 bra TAIL;\n" \
                          "st.u64 [%d2], %d0; cvt.u16.u32 %h0, %r1; st.u8 [%d2+8], %h0;\n" LAUNCH( \
                              prefix, \
                              "0") "sub.u32 %r1, %r1, 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra NEXT;\n" \
                                   "TAIL:\nsetp.eq.u32 %p1, %r0, 0; @%p1 bra OUT;\n" BUFFER( \
                                       prefix, "parent", "1", \
                                       "1") "@%p0 bra OUT;\n" \
                                            "sub.u32 %r2, %r0, 1; st.u64 [%d2], %d0; st.u32 [%d2+8], %r2;\n" LAUNCH( \
                                                prefix, "3") "OUT:\n{\n.param .b32 r2;\ncall.uni (r2), " prefix \
                                                             "GetLastError, ();\nld.param.b32 %r4, [r2];\n}\n" \
                                                             "red.global.add.u32 [%d0+256], %r4;\nret;\n}\n"

static void run(const char *text, bool linked, int wanted)
{
    void *module, *parent, *state, *cubin = (void *)(uintptr_t)text;
    address_t values;
    unsigned result[65], left = 9;
    size_t bytes;
    if (linked) {
        GOOD(cuLinkCreate_v2(0, NULL, NULL, &state));
        GOOD(cuLinkAddFile_v2(state, LIBRARY, "/usr/local/cuda/lib64/libcudadevrt.a", 0, NULL, NULL));
        GOOD(cuLinkAddData_v2(state, PTX, (void *)(uintptr_t)text, strlen(text) + 1, "text", 0, NULL, NULL));
        GOOD(cuLinkComplete(state, &cubin, &bytes));
    }
    GOOD(cuModuleLoadData(&module, cubin));
    if (linked)
        GOOD(cuLinkDestroy(state));
    GOOD(cuModuleGetFunction(&parent, module, "parent"));
    GOOD(cuMemAlloc_v2(&values, sizeof result));
    GOOD(cuMemsetD32_v2(values, 0, 65));
    void *arguments[] = {&values, &left};
    EXPECT(wanted, cuLaunchKernel(parent, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL));
    if (wanted)
        return;
    GOOD(cuMemcpyDtoH_v2(result, values, sizeof result));
    for (int i = 0; i < 64; i++)
        CHECK(result[i] == 10 * (4 + 3 + 2 + 1));
    CHECK(result[64] == 0);
    GOOD(cuMemFree_v2(values));
    GOOD(cuModuleUnload(module));
}

int main(int count, char **words)
{
    void *context;
    int wanted = count > 1 && !strcmp(words[1], "refused") ? 801 : 0;
    GOOD(cuInit(0));
    GOOD(cuCtxCreate_v2(&context, 0, 0));
    run(TEXT("__cudaCDP2"), false, wanted);
    run(TEXT("cuda"), true, wanted);
    GOOD(cuCtxDestroy_v2(context));
    return 0;
}
