/* SPDX-License-Identifier: MIT */
/*
 * A program that answers requests: own_runs RUNS LAUNCHES MARKED. Each copies values to the GPU, adds to them, waits, and fetches one. MARKED 1: it says
 * so to corund; 2: every two overlap. Then it stays until it is killed.
 */
#include "driver_test.h"

#include "corun/client.h"

#include <unistd.h>

int main(int argc, char **argv)
{
    void *context, *module, *function;
    address_t values;
    enum { COUNT = 20000 };
    static int host[COUNT];
    int runs = argc > 1 ? atoi(argv[1]) : 1, launches = argc > 2 ? atoi(argv[2]) : 1,
        marked = argc > 3 ? atoi(argv[3]) : 0;
    uint64_t before = 0;
    printf("%d", (int)corun_end_run(0));
    GOOD(cuInit(0));
    GOOD(cuCtxCreate_v2(&context, 0, 0));
    GOOD(cuModuleLoadData(&module, add_one_text));
    GOOD(cuModuleGetFunction(&function, module, "add_one"));
    GOOD(cuMemAlloc_v2(&values, sizeof host));
    for (int i = 0; i < runs; i++) {
        uint64_t begun = marked ? corun_begin_run() : 0;
        GOOD(cuMemcpyHtoD_v2(values, host, sizeof host));
        for (int n = 0; n < launches; n++)
            GOOD(launch_add_one(function, values, COUNT, NULL));
        GOOD(cuCtxSynchronize());
        GOOD(cuMemcpyDtoH_v2(host, values, 4));
        if (marked == 1)
            (void)corun_end_run(begun);
        else if (before)
            (void)corun_end_run(before);
        before = marked == 2 ? begun : 0;
    }
    printf(" %d %d\n", (int)corun_end_run(UINT64_MAX), host[0] == runs * launches);
    fflush(stdout);
    if (argc > 4)
        pause();
    return 0;
}
