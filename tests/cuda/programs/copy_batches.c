/* SPDX-License-Identifier: MIT */
/* Batches of copies, of prefetches and discards of managed memory, and pools by location. */
#include "driver_test.h"

struct location {
    int kind, id;
};
struct attributes {
    int order;
    struct location from, to;
    unsigned flags;
};
struct operand {
    int type;
    union {
        struct {
            void *address;
            size_t row, rows;
            struct location hint;
        } pointer;
        struct {
            void *array;
            size_t x, y, z;
        } array;
    } of;
};
struct box {
    struct operand from, to;
    size_t width, height, depth;
    int order;
    unsigned flags;
};
struct array_descriptor {
    size_t width, height;
    int format;
    unsigned channels;
};
enum { IN_STREAM = 1, DURING_CALL = 2, POINTER = 1, ARRAY = 2, UNSIGNED_16 = 2, DEVICE = 1, HOST = 2, PINNED = 1 };
#define LEGACY ((void *)1)

int cuArrayCreate_v2(void **array, const struct array_descriptor *values);
int cuLaunchHostFunc(void *stream, void (*function)(void *), void *user);
int cuMemAllocManaged(address_t *address, size_t bytes, unsigned flags);
int cuMemDiscardAndPrefetchBatchAsync(const address_t *, const size_t *, size_t, const struct location *,
                                      const size_t *, size_t, unsigned long long, void *);
int cuMemDiscardBatchAsync(const address_t *, const size_t *, size_t, unsigned long long, void *);
int cuMemGetDefaultMemPool(void **pool, const struct location *location, int kind);
int cuMemGetMemPool(void **pool, const struct location *location, int kind);
int cuMemPoolCreate(void **pool, const void *properties);
int cuMemPrefetchBatchAsync(const address_t *, const size_t *, size_t, const struct location *, const size_t *, size_t,
                            unsigned long long, void *);
int cuMemRangeGetAttribute(void *data, size_t bytes, int which, address_t address, size_t count);
int cuMemSetMemPool(const struct location *location, int kind, void *pool);
int cuMemcpy3DBatchAsync(size_t count, const struct box *, size_t *failed, unsigned long long flags, void *stream);
int cuMemcpy3DBatchAsync_v2(size_t count, const struct box *, unsigned long long flags, void *stream);
int cuMemcpyBatchAsync(const address_t *, const address_t *, const size_t *, size_t, const struct attributes *,
                       const size_t *, size_t, size_t *failed, void *stream);
int cuMemcpyBatchAsync_v2(const address_t *, const address_t *, const size_t *, size_t, const struct attributes *,
                          const size_t *, size_t, void *stream);
int cuGetProcAddress_v2(const char *name, void **function, int version, unsigned long long flags, int *status);

enum { COPIES = 5, WORDS = 100 };

static void fill_in(void *words)
{
    for (int i = 0; i < WORDS; i++)
        ((unsigned *)words)[i] = 7000 + i;
}

static address_t of(const void *pointer)
{
    return (address_t)(uintptr_t)pointer;
}

static void plain(void *stream)
{
    unsigned host[COPIES][WORDS], back[COPIES][WORDS];
    address_t device[COPIES], from[COPIES], to[COPIES];
    size_t bytes[COPIES], failed = 0;
    const struct attributes attributes[2] = {{DURING_CALL, {0, 0}, {0, 0}, 0}, {IN_STREAM, {0, 0}, {0, 0}, 1}};
    const size_t from_first[2] = {0, 3}, wrong[2] = {1, 3}, beyond[2] = {0, COPIES};
    for (unsigned i = 0; i < COPIES; i++) {
        bytes[i] = (i + 1) * 4 * WORDS / COPIES;
        GOOD(cuMemAlloc_v2(&device[i], sizeof host[i]));
        for (unsigned k = 0; k < WORDS; k++)
            host[i][k] = 1000 * i + k;
        from[i] = of(host[i]);
        to[i] = of(back[i]);
    }
    /* the last two are read when the stream comes to them, the others before the call returns */
    GOOD(cuLaunchHostFunc(stream, fill_in, host[4]));
    GOOD(cuMemcpyBatchAsync_v2(device, from, bytes, COPIES, attributes, from_first, 2, stream));
    memset(host[0], 0, sizeof host[0]);
    GOOD(cuMemcpyBatchAsync(to, device, bytes, COPIES, attributes, from_first, 2, &failed, stream));
    GOOD(cuStreamSynchronize(stream));
    CHECK(failed == SIZE_MAX);
    for (unsigned i = 0; i < COPIES; i++)
        for (unsigned k = 0; k < bytes[i] / 4; k++)
            CHECK(back[i][k] == (i == 4 ? 7000 + k : 1000 * i + k));
    /* all of a batch or nothing */
    memset(back, 0, sizeof back);
    from[3] = 0;
    EXPECT(INVALID_VALUE, cuMemcpyBatchAsync(device, from, bytes, COPIES, attributes, from_first, 2, &failed, stream));
    CHECK(failed == 3);
    GOOD(cuMemcpyBatchAsync_v2(to, device, bytes, 1, attributes, from_first, 1, stream));
    GOOD(cuStreamSynchronize(stream));
    CHECK(back[0][1] == 1);
    EXPECT(INVALID_VALUE, cuMemcpyBatchAsync_v2(to, device, bytes, COPIES, attributes, wrong, 2, stream));
    EXPECT(INVALID_VALUE, cuMemcpyBatchAsync_v2(to, device, bytes, COPIES, attributes, beyond, 2, stream));
    EXPECT(INVALID_VALUE, cuMemcpyBatchAsync_v2(to, device, bytes, COPIES, attributes, from_first, 0, stream));
    EXPECT(INVALID_VALUE, cuMemcpyBatchAsync_v2(to, device, bytes, 1, attributes, from_first, 2, stream));
    EXPECT(INVALID_VALUE, cuMemcpyBatchAsync_v2(to, device, bytes, COPIES, attributes, from_first, 2, LEGACY));
    EXPECT(INVALID_VALUE, cuMemcpyBatchAsync_v2(to, device, bytes, COPIES, attributes, from_first, 2, NULL));
    for (int i = 0; i < COPIES; i++)
        GOOD(cuMemFree_v2(device[i]));
}

static void boxes(void *stream)
{
    enum { WIDTH = 6, HEIGHT = 4 };
    uint16_t host[HEIGHT][WIDTH], back[2][3];
    void *array;
    size_t failed;
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++)
            host[y][x] = (uint16_t)(100 * y + x);
    GOOD(cuArrayCreate_v2(&array, &(struct array_descriptor){WIDTH, HEIGHT, UNSIGNED_16, 1}));
    struct box in = {.from = {POINTER, {.pointer = {host, 0, 0, {0, 0}}}},
                     .to = {ARRAY, {.array = {array, 0, 0, 0}}},
                     .width = WIDTH,
                     .height = HEIGHT,
                     .depth = 1,
                     .order = IN_STREAM};
    struct box out = {.from = {ARRAY, {.array = {array, 2, 1, 0}}},
                      .to = {POINTER, {.pointer = {back, 3, 2, {0, 0}}}},
                      .width = 3,
                      .height = 2,
                      .depth = 1,
                      .order = IN_STREAM};
    GOOD(cuMemcpy3DBatchAsync_v2(1, &in, 0, stream));
    GOOD(cuMemcpy3DBatchAsync(1, &out, &failed, 0, stream));
    GOOD(cuStreamSynchronize(stream));
    for (int y = 0; y < 2; y++)
        for (int x = 0; x < 3; x++)
            CHECK(back[y][x] == 100 * (y + 1) + x + 2);
    /* between pointers an element is a byte */
    uint16_t copy[HEIGHT][WIDTH] = {{0}};
    const struct box bytes = {.from = {POINTER, {.pointer = {host, sizeof host[0], 0, {0, 0}}}},
                              .to = {POINTER, {.pointer = {copy, sizeof copy[0], HEIGHT, {0, 0}}}},
                              .width = 4,
                              .height = HEIGHT,
                              .depth = 1,
                              .order = DURING_CALL};
    GOOD(cuMemcpy3DBatchAsync_v2(1, &bytes, 0, stream));
    GOOD(cuStreamSynchronize(stream));
    CHECK(copy[3][1] == 301 && copy[3][2] == 0);
    struct box wrong[2] = {in, out};
    wrong[1].from.of.array.x = 4; /* beyond the array */
    EXPECT(INVALID_VALUE, cuMemcpy3DBatchAsync(2, wrong, &failed, 0, stream));
    CHECK(failed == 1);
    wrong[1] = out;
    wrong[1].to.of.pointer.row = 2;
    EXPECT(INVALID_VALUE, cuMemcpy3DBatchAsync_v2(2, wrong, 0, stream));
    wrong[1] = out;
    wrong[1].depth = 0;
    EXPECT(INVALID_VALUE, cuMemcpy3DBatchAsync_v2(2, wrong, 0, stream));
    wrong[1] = out;
    wrong[1].order = 4;
    EXPECT(INVALID_VALUE, cuMemcpy3DBatchAsync_v2(2, wrong, 0, stream));
    EXPECT(INVALID_VALUE, cuMemcpy3DBatchAsync_v2(0, wrong, 0, stream));
}

static void managed(void *stream)
{
    enum { LAST_PREFETCH = 4 };
    address_t pieces[2], all;
    const size_t bytes[2] = {4096, 4096}, zero[2] = {0, 1};
    const struct location places[2] = {{HOST, 0}, {DEVICE, 0}}, nowhere[2] = {{DEVICE, 0}, {DEVICE, 99}};
    int where = 9;
    GOOD(cuMemAllocManaged(&pieces[0], 4096, 1));
    GOOD(cuMemAllocManaged(&pieces[1], 4096, 1));
    GOOD(cuMemPrefetchBatchAsync(pieces, bytes, 2, places, zero, 2, 0, stream));
    GOOD(cuMemRangeGetAttribute(&where, sizeof where, LAST_PREFETCH, pieces[0], 4096));
    CHECK(where == -1);
    GOOD(cuMemRangeGetAttribute(&where, sizeof where, LAST_PREFETCH, pieces[1], 4096));
    CHECK(where == 0);
    GOOD(cuMemDiscardBatchAsync(pieces, bytes, 2, 0, stream));
    GOOD(cuMemDiscardAndPrefetchBatchAsync(pieces, bytes, 2, &places[1], zero, 1, 0, stream));
    GOOD(cuMemRangeGetAttribute(&where, sizeof where, LAST_PREFETCH, pieces[0], 4096));
    CHECK(where == 0);
    EXPECT(INVALID_VALUE, cuMemPrefetchBatchAsync(pieces, bytes, 2, nowhere, zero, 2, 0, stream));
    EXPECT(INVALID_VALUE, cuMemPrefetchBatchAsync(pieces, bytes, 2, NULL, zero, 2, 0, stream));
    GOOD(cuMemAlloc_v2(&all, 4096));
    pieces[1] = all;
    EXPECT(INVALID_VALUE, cuMemDiscardBatchAsync(pieces, bytes, 2, 0, stream));
}

static void pools(void)
{
    void *first, *now, *own, *no_pool = &own;
    const struct location device = {DEVICE, 0}, none = {DEVICE, 7};
    const unsigned char properties[256] = {1, 0, 0, 0, 0, 0, 0, 0, 1};
    GOOD(cuMemGetDefaultMemPool(&first, &device, PINNED));
    GOOD(cuMemPoolCreate(&own, properties));
    GOOD(cuMemSetMemPool(&device, PINNED, own));
    GOOD(cuMemGetMemPool(&now, &device, PINNED));
    CHECK(now == own && first != own);
    EXPECT(INVALID_VALUE, cuMemGetMemPool(&now, &none, PINNED));
    EXPECT(INVALID_VALUE, cuMemSetMemPool(&device, PINNED, no_pool));
    EXPECT(INVALID_VALUE, cuMemGetMemPool(NULL, &device, PINNED));
}

int main(void)
{
    void *context, *stream, *function;
    GOOD(cuInit(0));
    GOOD(cuCtxCreate_v2(&context, 0, 0));
    GOOD(cuStreamCreate(&stream, 1));
    plain(stream);
    boxes(stream);
    managed(stream);
    pools();
    GOOD(cuGetProcAddress_v2("cuMemcpyBatchAsync", &function, 12080, 0, NULL));
    CHECK(function == (void *)(uintptr_t)cuMemcpyBatchAsync);
    GOOD(cuGetProcAddress_v2("cuMemcpyBatchAsync", &function, 13000, 0, NULL));
    CHECK(function == (void *)(uintptr_t)cuMemcpyBatchAsync_v2);
    puts("copy batches: good");
    return 0;
}
