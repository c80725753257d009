/* SPDX-License-Identifier: MIT */
/*
 * Launches whose dynamic shared memory comes up to the most that a thread block can have, word by word, and their attributes: what a launch as workers takes beside
 * that is no business of the program's. The variable, to which all launches add, is one.
 */
#include "driver_test.h"

enum { BLOCKS = 12, STATIC_BYTES = 64, ATTRIBUTE_SHARED = 1, ATTRIBUTE_MOST_DYNAMIC = 8, DEVICE_MOST_SHARED = 97 };

int cuDeviceGetAttribute(int *value, int attribute, int device);
int cuFuncGetAttribute(int *value, int attribute, void *function);
int cuFuncSetAttribute(void *function, int attribute, int value);
int cuModuleGetGlobal_v2(address_t *address, size_t *bytes, void *module, const char *name);

/* The first word of static and the last one of dynamic shared memory; a function reads the index of the thread block, too. */
static const char text[] = ".version 6.3\n.target sm_52\n.address_size 64\n"
                           ".visible .global .align 4 .u32 blocks;\n.extern .shared .align 4 .b8 dynamic[];\n"
                           ".func (.param .b32 r) index()\n{\n.reg .b32 %r; mov.u32 %r, %ctaid.x;\n"
                           "st.param.b32 [r], %r; ret;\n}\n"
                           ".visible .entry place(.param .u64 values, .param .u32 words)\n{\n"
                           ".reg .pred %p; .reg .b32 %r<9>; .reg .b64 %rd<4>; .shared .align 4 .b8 here[64];\n"
                           "ld.param.u64 %rd1, [values]; ld.param.u32 %r1, [words];\n"
                           "{ .param .b32 q; call.uni (q), index; ld.param.b32 %r2, [q]; }\n"
                           "mov.u32 %r3, %tid.x; setp.ne.u32 %p, %r3, 0; @%p bra WRITTEN;\n"
                           "st.shared.u32 [here], %r2; mov.u32 %r4, dynamic; mad.lo.u32 %r4, %r1, 4, %r4;\n"
                           "st.shared.u32 [%r4+-4], %r1; red.global.add.u32 [blocks], 1;\n"
                           "WRITTEN: bar.sync 0; mov.u32 %r4, dynamic; mad.lo.u32 %r4, %r1, 4, %r4;\n"
                           "ld.shared.u32 %r5, [%r4+-4]; ld.shared.u32 %r6, [here]; bar.sync 0;\n"
                           "mad.lo.u32 %r5, %r6, 1000000, %r5; mad.lo.u32 %r7, %r2, 64, %r3;\n"
                           "mul.wide.u32 %rd2, %r7, 4; add.u64 %rd1, %rd1, %rd2; st.global.u32 [%rd1], %r5;\nret;\n}\n";

static void expect_launch(void *function, address_t values, unsigned shared)
{
    static unsigned data[BLOCKS * 64];
    unsigned words = shared / 4;
    void *parameters[] = {&values, &words};
    GOOD(cuMemsetD32_v2(values, 0, sizeof data / sizeof *data));
    GOOD(cuLaunchKernel(function, BLOCKS, 1, 1, 64, 1, 1, shared, NULL, parameters, NULL));
    GOOD(cuCtxSynchronize());
    GOOD(cuMemcpyDtoH_v2(data, values, sizeof data));
    for (unsigned i = 0; i < BLOCKS * 64; i++)
        CHECK(data[i] == i / 64 * 1000000 + words);
}

int main(void)
{
    void *context, *module, *function;
    address_t values, variable;
    size_t bytes;
    int most, shared;
    unsigned launches = 0, blocks = 0;
    GOOD(cuInit(0));
    GOOD(cuDeviceGetAttribute(&most, DEVICE_MOST_SHARED, 0));
    GOOD(cuCtxCreate_v2(&context, 0, 0));
    GOOD(cuModuleLoadData(&module, text));
    GOOD(cuModuleGetFunction(&function, module, "place"));
    GOOD(cuModuleGetGlobal_v2(&variable, &bytes, module, "blocks"));
    GOOD(cuMemAlloc_v2(&values, sizeof(unsigned) * BLOCKS * 64));
    GOOD(cuFuncGetAttribute(&shared, ATTRIBUTE_SHARED, function));
    CHECK(shared == STATIC_BYTES);
    EXPECT(INVALID_VALUE, cuFuncSetAttribute(function, ATTRIBUTE_MOST_DYNAMIC, most - STATIC_BYTES + 4));
    GOOD(cuFuncSetAttribute(function, ATTRIBUTE_MOST_DYNAMIC, most - STATIC_BYTES));
    for (int left = 80; left >= 0; left -= 4, launches++)
        expect_launch(function, values, (unsigned)(most - STATIC_BYTES - left));
    GOOD(cuMemcpyDtoH_v2(&blocks, variable, sizeof blocks));
    CHECK(blocks == launches * BLOCKS);
    EXPECT(INVALID_VALUE, cuLaunchKernel(function, 1, 1, 1, 64, 1, 1, (unsigned)(most - STATIC_BYTES + 4), NULL,
                                         (void *[]){&values, &blocks}, NULL));
    return 0;
}
