/* SPDX-License-Identifier: MIT */
/*
 * A program that says that it is idle: own_idle ROUNDS NANOSECONDS WORK_MS [stay|killed]. Before its first context it says so once; then, ROUNDS times, come a launch and its
 * end, NANOSECONDS of idleness (open: until it calls) in which the host works for WORK_MS, and another launch. Prints the status of the first and the last time that it said so,
 * how many microseconds of the GPU lay between the two launches in the first round, and what became of its numbers. `stay`: it does not come back from the last idleness, but
 * says so and sleeps; `killed`: it kills itself there.
 */
#include "driver_test.h"

#include "corun/client.h"

#include <signal.h>
#include <unistd.h>

int cuEventCreate(void **event, unsigned flags);
int cuEventRecord(void *event, void *stream);
int cuEventElapsedTime(float *milliseconds, void *begin, void *end);

int main(int argc, char **argv)
{
    void *context, *module, *function, *begin, *end;
    address_t values;
    int rounds = argc > 1 ? atoi(argv[1]) : 2, count = 20000, last;
    uint64_t nanoseconds = argc > 2 && *argv[2] != 'o' ? strtoull(argv[2], NULL, 10) : CORUN_UNTIL_CALLED;
    useconds_t work = (useconds_t)(argc > 3 ? atoi(argv[3]) : 0) * 1000;
    const char *then = argc > 4 ? argv[4] : "";
    enum corun_status first = corun_say_idle(nanoseconds), status = first;
    float milliseconds = 0, lasted;
    GOOD(cuInit(0));
    GOOD(cuCtxCreate_v2(&context, 0, 0));
    GOOD(cuModuleLoadData(&module, add_one_text));
    GOOD(cuModuleGetFunction(&function, module, "add_one"));
    GOOD(cuMemAlloc_v2(&values, 4 * (size_t)count));
    GOOD(cuMemsetD32_v2(values, 0, (size_t)count));
    GOOD(cuEventCreate(&begin, 0));
    GOOD(cuEventCreate(&end, 0));
    for (int i = 0; i < rounds; i++) {
        GOOD(launch_add_one(function, values, count, NULL));
        GOOD(cuEventRecord(begin, NULL));
        GOOD(launch_add_one(function, values, count, NULL));
        status = corun_say_idle(nanoseconds);
        if (i + 1 == rounds && *then) {
            printf("%d %d\n", (int)first, (int)status);
            fflush(stdout);
            usleep(work);
            if (*then == 'k')
                kill(getpid(), SIGKILL);
            pause();
        }
        usleep(work);
        GOOD(launch_add_one(function, values, count, NULL));
        GOOD(cuEventRecord(end, NULL));
        GOOD(cuCtxSynchronize());
        GOOD(cuEventElapsedTime(&lasted, begin, end));
        milliseconds = i ? milliseconds : lasted;
    }
    GOOD(cuMemcpyDtoH_v2(&last, values + 4 * (address_t)(count - 1), sizeof last));
    printf("%d %d %.0f %s\n", (int)first, (int)status, 1000 * milliseconds, last == 3 * rounds ? "good" : "bad");
    return last != 3 * rounds;
}
