/* SPDX-License-Identifier: MIT */
/* What a pool of memory says it has given out: its own allocations, whoever frees them, and nothing else. */
#include "driver_test.h"

enum { RESERVED = 5, MOST_RESERVED, USED, MOST_USED };

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

static uint64_t count(void *pool, int attribute)
{
    uint64_t value = 1;
    GOOD(cuMemPoolGetAttribute(pool, attribute, &value));
    return value;
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
