/* SPDX-License-Identifier: MIT */
/*
 * Launches of many thread blocks, each of which adds what says where it lies to its own place: wide_launches N makes N of them. What comes out is the same
 * however they were cut.
 */
#include "driver_test.h"

enum { X = 37, Y = 29, Z = 3, BLOCKS = X * Y * Z };

static const char text[] = ".version 6.3\n.target sm_52\n.address_size 64\n"
                           ".visible .entry place(.param .u64 values, .param .u32 more)\n{\n"
                           ".reg .b32 %r<12>; .reg .b64 %rd<4>;\n"
                           "ld.param.u64 %rd1, [values]; ld.param.u32 %r9, [more];\n"
                           "mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ctaid.y; mov.u32 %r3, %ctaid.z;\n"
                           "mov.u32 %r4, %nctaid.x; mov.u32 %r5, %nctaid.y; mov.u32 %r6, %nctaid.z;\n"
                           "mad.lo.u32 %r7, %r3, %r5, %r2; mad.lo.u32 %r7, %r7, %r4, %r1;\n"
                           "mul.wide.u32 %rd2, %r7, 4; add.u64 %rd1, %rd1, %rd2;\n"
                           "mad.lo.u32 %r8, %r6, 1000, %r7; add.u32 %r8, %r8, %r9;\n"
                           "ld.global.u32 %r10, [%rd1]; add.u32 %r10, %r10, %r8; st.global.u32 [%rd1], %r10;\n"
                           "ret;\n}\n";

int main(int argc, char **argv)
{
    void *context, *module, *function;
    address_t values;
    static unsigned data[BLOCKS];
    int launches = argc == 2 ? atoi(argv[1]) : 0;
    CHECK(launches > 0);
    GOOD(cuInit(0));
    GOOD(cuCtxCreate_v2(&context, 0, 0));
    GOOD(cuModuleLoadData(&module, text));
    GOOD(cuModuleGetFunction(&function, module, "place"));
    GOOD(cuMemAlloc_v2(&values, sizeof data));
    GOOD(cuMemcpyHtoD_v2(values, data, sizeof data));
    unsigned sum = 0;
    for (int i = 0; i < launches; i++) {
        unsigned more = 7u * (unsigned)i;
        void *parameters[] = {&values, &more};
        GOOD(cuLaunchKernel(function, X, Y, Z, 1, 1, 1, 0, NULL, parameters, NULL));
        sum += more;
    }
    GOOD(cuCtxSynchronize());
    GOOD(cuMemcpyDtoH_v2(data, values, sizeof data));
    for (unsigned i = 0; i < BLOCKS; i++)
        CHECK(data[i] == (unsigned)launches * (1000u * Z + i) + sum);
    printf("%d launches of %d thread blocks\n", launches, BLOCKS);
    return 0;
}
