/* SPDX-License-Identifier: MIT */
/*
 * What one more launch of a small kernel takes: launch_costs ONE TWO MORE. In one stream that is ONE microseconds and up to MORE more
 * (the kernel itself); round two streams it is TWO, and up to MORE more.
 */
#include "driver_test.h"

int cuEventCreate(void **event, unsigned flags);
int cuEventRecord(void *event, void *stream);
int cuEventSynchronize(void *event);
int cuEventElapsedTime(float *milliseconds, void *begin, void *end);
int cuStreamWaitEvent(void *stream, void *event, unsigned flags);

enum { STREAMS = 2 };

/* Microseconds of so many launches. */
static double time_of(void *function, address_t values, int launches, int streams)
{
    void *stream[STREAMS], *begin, *end, *joined;
    float milliseconds;
    GOOD(cuEventCreate(&begin, 0));
    GOOD(cuEventCreate(&end, 0));
    GOOD(cuEventCreate(&joined, 0));
    for (int i = 0; i < STREAMS; i++)
        GOOD(cuStreamCreate(&stream[i], 1));
    GOOD(cuEventRecord(begin, stream[0]));
    GOOD(cuStreamWaitEvent(stream[1], begin, 0));
    for (int i = 0; i < launches; i++)
        GOOD(launch_add_one(function, values, 1000, stream[i % streams]));
    GOOD(cuEventRecord(joined, stream[1]));
    GOOD(cuStreamWaitEvent(stream[0], joined, 0));
    GOOD(cuEventRecord(end, stream[0]));
    GOOD(cuEventSynchronize(end));
    GOOD(cuEventElapsedTime(&milliseconds, begin, end));
    return 1e3 * (double)milliseconds;
}

static void one_more(void *function, address_t values, int streams, double least, double more)
{
    double microseconds = (time_of(function, values, 20, streams) - time_of(function, values, 10, streams)) / 10;
    if (microseconds < least - 1e-3 || microseconds > least + more)
        fprintf(stderr, "%d streams: %g us\n", streams, microseconds);
    CHECK(microseconds >= least - 1e-3 && microseconds <= least + more);
}

int main(int argc, char **argv)
{
    void *context, *module, *function;
    address_t values;
    CHECK(argc == 4);
    GOOD(cuInit(0));
    GOOD(cuCtxCreate_v2(&context, 0, 0));
    GOOD(cuModuleLoadData(&module, add_one_text));
    GOOD(cuModuleGetFunction(&function, module, "add_one"));
    GOOD(cuMemAlloc_v2(&values, 4000));
    time_of(function, values, 2, 2); /* caches */
    one_more(function, values, 1, atof(argv[1]), atof(argv[3]));
    one_more(function, values, 2, atof(argv[2]), atof(argv[3]));
    return 0;
}
