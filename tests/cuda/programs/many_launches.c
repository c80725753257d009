/* SPDX-License-Identifier: MIT */
/*
 * What a launch costs the host as a program goes on: many_launches N makes N launches of a small kernel, waits after every tenth one, and prints
 * microseconds of the processor for each and the memory of the process, in the first and in the last tenth of them.
 */
#include "driver_test.h"

#include <time.h>
#include <unistd.h>

enum { TENTHS = 10, ELEMENTS = 1000, BETWEEN_WAITS = 10 };

static double resident_mib(void)
{
    unsigned long all, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file && fscanf(file, "%lu %lu", &all, &resident) == 2);
    fclose(file);
    return (double)resident * (double)sysconf(_SC_PAGESIZE) / (1 << 20);
}

int main(int argc, char **argv)
{
    void *context, *module, *function;
    address_t values;
    int each = argc == 2 ? atoi(argv[1]) / TENTHS : 0, data[ELEMENTS];
    double taken[TENTHS], memory[TENTHS];
    CHECK(each > 0);
    GOOD(cuInit(0));
    GOOD(cuCtxCreate_v2(&context, 0, 0));
    GOOD(cuModuleLoadData(&module, add_one_text));
    GOOD(cuModuleGetFunction(&function, module, "add_one"));
    GOOD(cuMemAlloc_v2(&values, sizeof data));
    memset(data, 0, sizeof data);
    GOOD(cuMemcpyHtoD_v2(values, data, sizeof data));
    for (int tenth = 0; tenth < TENTHS; tenth++) {
        clock_t began = clock();
        for (int i = 0; i < each; i++) {
            GOOD(launch_add_one(function, values, ELEMENTS, NULL));
            if (i % BETWEEN_WAITS == 0)
                GOOD(cuCtxSynchronize());
        }
        GOOD(cuCtxSynchronize());
        taken[tenth] = (double)(clock() - began) / CLOCKS_PER_SEC / each;
        memory[tenth] = resident_mib();
    }
    GOOD(cuMemcpyDtoH_v2(data, values, sizeof data));
    for (int i = 0; i < ELEMENTS; i++)
        CHECK(data[i] == each * TENTHS);
    printf("%d launches: %.2f us each and %.2f MiB in the first tenth, %.2f us and %.2f MiB in the last\n",
           each * TENTHS, taken[0] * 1e6, memory[0], taken[TENTHS - 1] * 1e6, memory[TENTHS - 1]);
    return 0;
}
