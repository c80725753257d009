/* SPDX-License-Identifier: MIT */
/*
 * A program that gives itself goals: own_goal LAUNCHES [KIND VALUE]... Before its first context it asks for 1 instruction per cycle; then come
 * LAUNCHES launches, and behind each run of them the next goal. Prints the status of each request, and the cycle at the end by way of events.
 */
#include "driver_test.h"

#include "corun/client.h"

int main(int argc, char **argv)
{
    void *context, *module, *function;
    address_t values;
    int launches = argc > 1 ? atoi(argv[1]) : 2, count = 200000;
    printf("%d", (int)corun_set_goal(CORUN_GOAL_IPC, 1));
    GOOD(cuInit(0));
    GOOD(cuCtxCreate_v2(&context, 0, 0));
    GOOD(cuModuleLoadData(&module, add_one_text));
    GOOD(cuModuleGetFunction(&function, module, "add_one"));
    GOOD(cuMemAlloc_v2(&values, 4 * (size_t)count));
    GOOD(cuMemsetD32_v2(values, 0, (size_t)count));
    int done = 0;
    for (int i = 2; i <= argc; i += 2) {
        for (int n = 0; n < launches; n++, done++)
            GOOD(launch_add_one(function, values, count, NULL));
        GOOD(cuCtxSynchronize());
        if (i + 1 < argc)
            printf(" %d", (int)corun_set_goal((enum corun_goal_kind)atoi(argv[i]), atof(argv[i + 1])));
        fflush(stdout);
    }
    int last;
    GOOD(cuMemcpyDtoH_v2(&last, values + 4 * (address_t)(count - 1), sizeof last));
    printf(" %s\n", last == done ? "good" : "bad");
    return last != done;
}
