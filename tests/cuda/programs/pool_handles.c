/* SPDX-License-Identifier: MIT */
/* A pool whose memory another process opens, by a descriptor of the pool and handles of what it has given out. */
#include "driver_test.h"
#include "pass_file.h"

#include <sys/wait.h>
#include <unistd.h>

enum { FILE_DESCRIPTOR = 1, COUNT = 1000, PINNED = 1, DEVICE = 1, NOT_SUPPORTED = 801, OUT_OF_MEMORY = 2 };

struct properties {
    int kind, handle_types, location_kind, location;
    void *other;
    size_t most_bytes;
    unsigned char reserved[56];
};
struct handle {
    char bytes[64];
};
struct message {
    struct handle first, second;
};

int cuDeviceGetDefaultMemPool(void **pool, int device);
int cuDeviceSetMemPool(int device, void *pool);
int cuMemAllocFromPoolAsync(address_t *address, size_t bytes, void *pool, void *stream);
int cuMemFreeAsync(address_t address, void *stream);
int cuMemPoolCreate(void **pool, const struct properties *properties);
int cuMemPoolDestroy(void *pool);
int cuMemPoolExportPointer(struct handle *handle, address_t address);
int cuMemPoolExportToShareableHandle(void *handle, void *pool, int type, unsigned long long flags);
int cuMemPoolImportFromShareableHandle(void **pool, void *handle, int type, unsigned long long flags);
int cuMemPoolImportPointer(address_t *address, void *pool, const struct handle *handle);

static void *begin(void **module)
{
    void *context, *function;
    GOOD(cuInit(0));
    GOOD(cuCtxCreate_v2(&context, 0, 0));
    GOOD(cuModuleLoadData(module, add_one_text));
    GOOD(cuModuleGetFunction(&function, *module, "add_one"));
    return function;
}

static void *as_handle(int file)
{
    return (void *)(uintptr_t)file;
}

static int other_process(int socket)
{
    void *module, *function = begin(&module), *pool, *stream, *other;
    struct message message;
    address_t first, second, none;
    int file = receive_file(socket), value = 0;
    CHECK(read(socket, &message, sizeof message) == sizeof message);
    EXPECT(INVALID_VALUE, cuMemPoolImportFromShareableHandle(&pool, as_handle(socket), FILE_DESCRIPTOR, 0));
    GOOD(cuMemPoolImportFromShareableHandle(&pool, as_handle(file), FILE_DESCRIPTOR, 0));
    CHECK(close(file) == 0);
    GOOD(cuMemPoolImportPointer(&first, pool, &message.first));
    EXPECT(INVALID_VALUE, cuMemPoolImportPointer(&second, pool, &message.second)); /* of another pool */
    EXPECT(INVALID_VALUE, cuMemAllocFromPoolAsync(&none, 4096, pool, NULL));
    EXPECT(INVALID_VALUE, cuDeviceSetMemPool(0, pool));
    EXPECT(INVALID_VALUE, cuMemPoolExportToShareableHandle(&file, pool, FILE_DESCRIPTOR, 0));
    GOOD(cuDeviceGetDefaultMemPool(&other, 0));
    EXPECT(INVALID_VALUE, cuMemPoolImportPointer(&second, other, &message.first));
    GOOD(cuStreamCreate(&stream, 1));
    GOOD(launch_add_one(function, first, COUNT, stream));
    GOOD(cuMemFreeAsync(first, stream)); /* behind the kernel */
    GOOD(cuStreamSynchronize(stream));
    EXPECT(INVALID_VALUE, cuMemcpyDtoH_v2(&value, first, 4));
    GOOD(cuMemPoolImportPointer(&first, pool, &message.first));
    GOOD(cuMemcpyDtoH_v2(&value, first + 4 * (COUNT - 1), 4));
    CHECK(value == 8);
    GOOD(cuMemFree_v2(first));
    GOOD(cuMemPoolDestroy(pool));
    return 0;
}

int main(void)
{
    int sockets[2], file, status, values[COUNT];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
    pid_t child = fork();
    if (child == 0)
        return other_process(sockets[1]);
    void *module, *pool, *second_pool, *small, *plain;
    struct properties shared = {PINNED, FILE_DESCRIPTOR, DEVICE, 0, NULL, 0, {0}}, bounded = shared, strange = shared;
    struct message message;
    address_t address, second, bare;
    begin(&module);
    GOOD(cuMemPoolCreate(&pool, &shared));
    GOOD(cuMemPoolCreate(&second_pool, &shared));
    GOOD(cuMemAllocFromPoolAsync(&address, sizeof values, pool, NULL));
    GOOD(cuMemAllocFromPoolAsync(&second, sizeof values, second_pool, NULL));
    GOOD(cuMemsetD32_v2(address, 7, COUNT));
    GOOD(cuMemPoolExportToShareableHandle(&file, pool, FILE_DESCRIPTOR, 0));
    GOOD(cuMemPoolExportPointer(&message.first, address));
    GOOD(cuMemPoolExportPointer(&message.second, second));
    send_file(sockets[0], file);
    CHECK(write(sockets[0], &message, sizeof message) == sizeof message);
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    GOOD(cuMemcpyDtoH_v2(values, address, sizeof values));
    CHECK(values[0] == 8 && values[COUNT - 1] == 8);
    GOOD(cuMemFreeAsync(address, NULL));
    /* what gives no handles, and how much a pool gives */
    GOOD(cuDeviceGetDefaultMemPool(&plain, 0));
    EXPECT(INVALID_VALUE, cuMemPoolExportToShareableHandle(&file, plain, FILE_DESCRIPTOR, 0));
    EXPECT(INVALID_VALUE, cuMemPoolExportToShareableHandle(&file, pool, 2, 0));
    GOOD(cuMemAlloc_v2(&bare, 4096));
    EXPECT(INVALID_VALUE, cuMemPoolExportPointer(&message.first, bare));
    strange.handle_types = 8;
    EXPECT(NOT_SUPPORTED, cuMemPoolCreate(&small, &strange));
    strange = shared;
    strange.location = 7;
    EXPECT(INVALID_VALUE, cuMemPoolCreate(&small, &strange));
    bounded.most_bytes = 1 << 20;
    GOOD(cuMemPoolCreate(&small, &bounded));
    GOOD(cuMemAllocFromPoolAsync(&address, 1 << 19, small, NULL));
    EXPECT(OUT_OF_MEMORY, cuMemAllocFromPoolAsync(&second, (1 << 19) + 256, small, NULL));
    puts("pool handles: good");
    return 0;
}
