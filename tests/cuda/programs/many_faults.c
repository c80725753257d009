/* SPDX-License-Identifier: MIT */
/*
 * Contexts that fail, one after the other, beside one that works on: each ends with a fault in the middle of what others have in flight, is
 * destroyed or reset, and leaves nothing behind. All that comes later runs, and finds memory that is zero where it was set to that.
 */
#include "driver_test.h"

#include <unistd.h>

int cudaDeviceReset(void);
int cuCtxSetCurrent(void *context);
int cuDevicePrimaryCtxRetain(void **context, int device);

enum { TIMES = 100, FEW = 20, COUNT = 1000, MOST_GROWTH_MIB = 16 };

struct work {
    void *context, *module, *function;
    address_t values;
};

/* In the current context. */
static void begin(struct work *work)
{
    GOOD(cuModuleLoadData(&work->module, add_one_text));
    GOOD(cuModuleGetFunction(&work->function, work->module, "add_one"));
    GOOD(cuMemAlloc_v2(&work->values, COUNT * 4));
    GOOD(cuMemsetD32_v2(work->values, 0, COUNT));
}

static void add_one(const struct work *work)
{
    GOOD(launch_add_one(work->function, work->values, COUNT, NULL));
}

static int last_value(const struct work *work)
{
    int value = -1;
    GOOD(cuMemcpyDtoH_v2(&value, work->values + (COUNT - 1) * 4, 4));
    return value;
}

static void fail_in(struct work *work)
{
    begin(work);
    add_one(work);
    CHECK(last_value(work) == 1);
    GOOD(launch_add_one(work->function, 64, 1, NULL));
    add_one(work);
    EXPECT(ILLEGAL_ADDRESS, cuCtxSynchronize());
    EXPECT(ILLEGAL_ADDRESS, launch_add_one(work->function, work->values, COUNT, NULL));
}

static long resident_mib(void)
{
    long pages = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file && fscanf(file, "%ld %ld", &pages, &resident) == 2 && !fclose(file));
    return resident * sysconf(_SC_PAGESIZE) >> 20;
}

int main(void)
{
    struct work kept, failing;
    long few = 0;
    GOOD(cuInit(0));
    GOOD(cuCtxCreate_v2(&kept.context, 0, 0));
    begin(&kept);
    for (int i = 1; i <= TIMES; i++) {
        add_one(&kept); /* in flight meanwhile */
        if (i % 2) {
            GOOD(cuCtxCreate_v2(&failing.context, 0, 0));
            fail_in(&failing);
            GOOD(cuCtxDestroy_v2(failing.context));
        } else {
            GOOD(cuDevicePrimaryCtxRetain(&failing.context, 0));
            GOOD(cuCtxSetCurrent(failing.context));
            fail_in(&failing);
            GOOD(cudaDeviceReset());
        }
        GOOD(cuCtxSetCurrent(kept.context));
        CHECK(last_value(&kept) == i);
        if (i == FEW)
            few = resident_mib();
    }
    CHECK(resident_mib() - few < MOST_GROWTH_MIB);
    GOOD(cuCtxDestroy_v2(kept.context));
    GOOD(cuCtxCreate_v2(&kept.context, 0, 0)); /* a machine of its own again */
    begin(&kept);
    add_one(&kept);
    CHECK(last_value(&kept) == 1);
    puts("many faults: good");
    return 0;
}
