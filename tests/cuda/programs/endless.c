/* SPDX-License-Identifier: MIT */
/*
 * A kernel that stores for ever, which makes progress as far as a watchdog sees. The program tells its error: 702 is
 * cudaErrorLaunchTimeout.
 */
#include "driver_test.h"

static const char text[] = ".version 6.3\n.target sm_50\n.address_size 64\n"
                           ".visible .entry store_for_ever(.param .u64 values)\n{\n"
                           ".reg .b64 %d<2>; .reg .b32 %r<2>;\n"
                           "ld.param.u64 %d0, [values];\nmov.u32 %r0, 1;\n"
                           "again:\nst.global.u32 [%d0], %r0;\nbra again;\n}\n";

int main(void)
{
    void *context, *module, *good, *function;
    address_t values;
    GOOD(cuInit(0));
    GOOD(cuCtxCreate_v2(&context, 0, 0));
    GOOD(cuModuleLoadData(&module, add_one_text));
    GOOD(cuModuleGetFunction(&good, module, "add_one"));
    GOOD(cuModuleLoadData(&module, text));
    GOOD(cuModuleGetFunction(&function, module, "store_for_ever"));
    GOOD(cuMemAlloc_v2(&values, 4000));
    GOOD(launch_add_one(good, values, 1000, NULL));
    GOOD(cuCtxSynchronize());
    void *arguments[] = {&values};
    GOOD(cuLaunchKernel(function, 2, 1, 1, 64, 1, 1, 0, NULL, arguments, NULL));
    puts("launched");
    fflush(stdout);
    printf("%d", cuCtxSynchronize());
    printf(" %d\n", cuMemFree_v2(values));
    return 0;
}
