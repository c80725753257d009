/* SPDX-License-Identifier: MIT */
/*
 * A kernel that corun cannot run, between two that it can: `refused careless` does not look at errors and ends with 0,
 * `refused careful` ends with 3 because of what it sees.
 */
#include "driver_test.h"

/* An operation of GPUs that are joined by a switch, which are not simulated. */
static const char text[] = ".version 8.1\n.target sm_90\n.address_size 64\n"
                           ".visible .entry everywhere(.param .u64 values)\n{\n"
                           ".reg .b64 %d<2>; .reg .b32 %r<2>;\n"
                           "ld.param.u64 %d0, [values];\nmov.u32 %r0, 1;\n"
                           "multimem.red.global.add.u32 [%d0], %r0;\nret;\n}\n"
                           ".func strange(.param .u64 a)\n{\n.reg .b64 %d<2>; .reg .b32 %r<2>;\n"
                           "ld.param.u64 %d0, [a];\nmov.u32 %r0, 1;\nmultimem.red.global.add.u32 [%d0], %r0;\nret;\n}\n"
                           ".func between(.param .u64 a)\n{\n.reg .b64 %d<2>;\nld.param.u64 %d0, [a];\n"
                           "{\n.param .u64 b;\nst.param.u64 [b], %d0;\ncall strange, (b);\n}\nret;\n}\n"
                           ".visible .entry through(.param .u64 values)\n{\n.reg .b64 %d<2>;\n"
                           "ld.param.u64 %d0, [values];\n"
                           "{\n.param .u64 b;\nst.param.u64 [b], %d0;\ncall between, (b);\n}\nret;\n}\n";

int main(int count, char **words)
{
    void *context, *module, *other, *good, *bad;
    address_t values;
    unsigned result[32];
    int error = 0;
    GOOD(cuInit(0));
    GOOD(cuCtxCreate_v2(&context, 0, 0));
    GOOD(cuModuleLoadData(&module, add_one_text));
    GOOD(cuModuleLoadData(&other, text));
    GOOD(cuModuleGetFunction(&good, module, "add_one"));
    GOOD(cuModuleGetFunction(&bad, other, count > 2 ? words[2] : "everywhere"));
    GOOD(cuMemAlloc_v2(&values, sizeof result));
    GOOD(cuMemsetD32_v2(values, 0, 32));
    GOOD(launch_add_one(good, values, 32, NULL));
    for (int i = 0; i < 3; i++) {
        void *arguments[] = {&values};
        error = cuLaunchKernel(bad, 1, 1, 1, 32, 1, 1, 0, NULL, arguments, NULL);
    }
    GOOD(launch_add_one(good, values, 32, NULL));
    GOOD(cuMemcpyDtoH_v2(result, values, sizeof result));
    CHECK(error == 801 && result[31] == 2);
    return count > 1 && !strcmp(words[1], "careful") ? 3 : 0;
}
