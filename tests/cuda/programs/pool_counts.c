/* SPDX-License-Identifier: MIT */
/* What a pool of memory says it has given out: its own allocations, whoever frees them, and nothing else. */
#include "driver_test.h"

enum { THRESHOLD = 4, RESERVED, MOST_RESERVED, USED, MOST_USED };

int cuCtxSetCurrent(void *context);
int cuDeviceGetDefaultMemPool(void **pool, int device);
int cuDeviceGetMemPool(void **pool, int device);
int cuDevicePrimaryCtxRetain(void **context, int device);
int cuDeviceSetMemPool(int device, void *pool);
int cuMemAllocAsync(address_t *address, size_t bytes, void *stream);
int cuMemAllocFromPoolAsync(address_t *address, size_t bytes, void *pool, void *stream);
int cuMemFreeAsync(address_t address, void *stream);
int cuMemPoolCreate(void **pool, const void *properties);
int cuMemPoolDestroy(void *pool);
int cuMemPoolGetAttribute(void *pool, int attribute, void *value);
int cuMemPoolSetAttribute(void *pool, int attribute, void *value);
int cuMemGetInfo_v2(size_t *available, size_t *all);
int cuMemPoolTrimTo(void *pool, size_t bytes);

static uint64_t count(void *pool, int attribute)
{
    uint64_t value = 1;
    GOOD(cuMemPoolGetAttribute(pool, attribute, &value));
    return value;
}

/* What is freed stays reserved until the program waits, as much as the threshold says until the pool is trimmed; and it is not there for others. */
static void keep(void *pool, address_t other)
{
    enum { MEGABYTE = 1 << 20 };
    uint64_t threshold = 40 * MEGABYTE, zero = 0, none = 0;
    size_t before, free, all;
    address_t a, b;
    CHECK(count(pool, RESERVED) == 2 * MEGABYTE); /* `other` is of it */
    GOOD(cuMemGetInfo_v2(&before, &all));
    GOOD(cuMemAllocFromPoolAsync(&a, 64 * MEGABYTE, pool, NULL));
    GOOD(cuMemAllocFromPoolAsync(&b, MEGABYTE, pool, NULL));
    uint64_t reserved = count(pool, RESERVED);
    CHECK(reserved >= 65 * MEGABYTE && reserved <= 68 * MEGABYTE && reserved == count(pool, MOST_RESERVED));
    GOOD(cuMemFree_v2(a));
    CHECK(count(pool, USED) == 8192 + MEGABYTE && count(pool, MOST_USED) == 8192 + 65 * MEGABYTE);
    GOOD(cuMemPoolGetAttribute(pool, THRESHOLD, &none));
    CHECK(none == 0);
    GOOD(cuMemPoolSetAttribute(pool, THRESHOLD, &threshold));
    GOOD(cuMemAllocFromPoolAsync(&a, 30 * MEGABYTE, pool, NULL));
    GOOD(cuMemFreeAsync(a, NULL));
    CHECK(count(pool, RESERVED) == reserved || count(pool, RESERVED) == threshold); /* cuMemFree may have waited */
    GOOD(cuStreamSynchronize(NULL));
    CHECK(count(pool, RESERVED) == threshold && count(pool, MOST_RESERVED) == reserved);
    GOOD(cuMemPoolSetAttribute(pool, MOST_RESERVED, &zero));
    CHECK(count(pool, MOST_RESERVED) == threshold);
    GOOD(cuMemGetInfo_v2(&free, &all));
    CHECK(before - free >= 37 * MEGABYTE && before - free <= 42 * MEGABYTE);
    GOOD(cuMemPoolTrimTo(pool, 10 * MEGABYTE));
    CHECK(count(pool, RESERVED) == 10 * MEGABYTE);
    GOOD(cuMemPoolTrimTo(pool, 20 * MEGABYTE));
    CHECK(count(pool, RESERVED) == 10 * MEGABYTE);
    GOOD(cuMemPoolTrimTo(pool, 0));
    CHECK(count(pool, RESERVED) == 2 * MEGABYTE && count(pool, USED) == 8192 + MEGABYTE);
    GOOD(cuMemPoolSetAttribute(pool, THRESHOLD, &zero));
    GOOD(cuMemFreeAsync(b, NULL));
    GOOD(cuCtxSynchronize());
    GOOD(cuMemGetInfo_v2(&free, &all));
    CHECK(before == free && other);
}

int main(void)
{
    void *context, *pool, *own, *current;
    address_t plain, a, b, c;
    uint64_t zero = 0;
    const unsigned char properties[256] = {1, 0, 0, 0, 0, 0, 0, 0, 1}; /* pinned memory on device 0 */
    GOOD(cuInit(0));
    GOOD(cuDevicePrimaryCtxRetain(&context, 0));
    GOOD(cuCtxSetCurrent(context));
    GOOD(cuMemAlloc_v2(&plain, 1 << 20));
    GOOD(cuDeviceGetDefaultMemPool(&pool, 0));
    CHECK(count(pool, USED) == 0 && count(pool, RESERVED) == 0);
    GOOD(cuMemPoolCreate(&own, properties));
    GOOD(cuMemAllocAsync(&a, 4096, NULL));
    GOOD(cuMemAllocFromPoolAsync(&b, 8192, own, NULL));
    EXPECT(INVALID_VALUE, cuMemAllocFromPoolAsync(&c, 8192, context, NULL));
    GOOD(cuDeviceSetMemPool(0, own));
    GOOD(cuDeviceGetMemPool(&current, 0));
    CHECK(current == own);
    GOOD(cuMemAllocAsync(&c, 1 << 20, NULL));
    CHECK(count(pool, USED) == 4096 && count(own, USED) == 8192 + (1 << 20));
    GOOD(cuMemFreeAsync(c, NULL));
    GOOD(cuMemFree_v2(a));
    GOOD(cuCtxSynchronize());
    CHECK(count(pool, USED) == 0 && count(own, USED) == 8192 && count(own, RESERVED) >= 8192);
    CHECK(count(own, MOST_USED) == 8192 + (1 << 20) && count(own, MOST_RESERVED) >= 8192 + (1 << 20));
    GOOD(cuMemPoolSetAttribute(own, MOST_USED, &zero));
    CHECK(count(own, MOST_USED) == 8192);
    EXPECT(INVALID_VALUE, cuMemPoolSetAttribute(own, USED, &zero));
    keep(own, b);
    GOOD(cuMemPoolDestroy(own)); /* what it has given out stays */
    GOOD(cuDeviceGetMemPool(&current, 0));
    CHECK(current == pool);
    GOOD(cuMemFreeAsync(b, NULL));
    GOOD(cuCtxSynchronize());
    CHECK(count(pool, USED) == 0);
    GOOD(cuMemFree_v2(plain));
    puts("good");
    return 0;
}
