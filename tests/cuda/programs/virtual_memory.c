/* SPDX-License-Identifier: MIT */
/*
 * Virtual memory management: one range of addresses over several pieces of memory, the same memory at two addresses,
 * access that was not given, and memory that another process has made.
 */
#include "driver_test.h"
#include "pass_file.h"

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

struct location {
    int type, id;
};
struct properties {
    int type, handle_types;
    struct location location;
    void *other;
    unsigned char flags[8];
};
struct access {
    struct location location;
    int flags;
};

int cuMemGetAllocationGranularity(size_t *bytes, const struct properties *properties, int option);
int cuMemCreate(void **handle, size_t bytes, const struct properties *properties, unsigned long long flags);
int cuMemRelease(void *handle);
int cuMemAddressReserve(address_t *address, size_t bytes, size_t alignment, address_t wish, unsigned long long flags);
int cuMemAddressFree(address_t address, size_t bytes);
int cuMemMap(address_t address, size_t bytes, size_t offset, void *handle, unsigned long long flags);
int cuMemUnmap(address_t address, size_t bytes);
int cuMemSetAccess(address_t address, size_t bytes, const struct access *access, size_t count);
int cuMemGetAccess(uint64_t *flags, const struct location *location, address_t address);
int cuMemRetainAllocationHandle(void **handle, void *address);
int cuMemExportToShareableHandle(void *shared, void *handle, int type, unsigned long long flags);
int cuMemImportFromShareableHandle(void **handle, void *shared, int type);

static const struct properties plain = {.type = 1, .handle_types = 1, .location = {1, 0}};
static const struct access all_of_it = {{1, 0}, 3};

static void *begin(void **module)
{
    void *context, *function;
    GOOD(cuInit(0));
    GOOD(cuCtxCreate_v2(&context, 0, 0));
    GOOD(cuModuleLoadData(module, add_one_text));
    GOOD(cuModuleGetFunction(&function, *module, "add_one"));
    return function;
}

/* The other process: adds one to what it is sent. */
static int other_process(int socket)
{
    void *module, *function = begin(&module), *handle;
    int file = receive_file(socket);
    size_t bytes = 2 << 20;
    address_t address;
    GOOD(cuMemImportFromShareableHandle(&handle, (void *)(intptr_t)file, 1));
    GOOD(cuMemAddressReserve(&address, bytes, 0, 0, 0));
    GOOD(cuMemMap(address, bytes, 0, handle, 0));
    GOOD(cuMemSetAccess(address, bytes, &all_of_it, 1));
    GOOD(launch_add_one(function, address, 1000, NULL));
    GOOD(cuCtxSynchronize());
    return 0;
}

/* Three pieces side by side are one array. */
static void pieces(void *function, size_t piece)
{
    enum { PIECES = 3 };
    void *handles[PIECES];
    address_t address, again;
    size_t bytes = PIECES * piece, count = bytes / 4;
    int *host = malloc(bytes);
    CHECK(host);
    GOOD(cuMemAddressReserve(&address, bytes, 0, 0, 0));
    for (int i = 0; i < PIECES; i++) {
        GOOD(cuMemCreate(&handles[i], piece, &plain, 0));
        GOOD(cuMemMap(address + i * piece, piece, 0, handles[i], 0));
    }
    EXPECT(INVALID_VALUE, cuMemMap(address, piece, 0, handles[1], 0)); /* there is something there */
    EXPECT(INVALID_VALUE, cuMemsetD32_v2(address, 1, 4));              /* no access yet */
    GOOD(cuMemSetAccess(address, bytes, &all_of_it, 1));
    for (size_t i = 0; i < count; i++)
        host[i] = (int)i;
    GOOD(cuMemcpyHtoD_v2(address, host, bytes));
    /* around the seam between the first two */
    GOOD(launch_add_one(function, address + piece - 4000, 2000, NULL));
    GOOD(cuMemcpyDtoH_v2(host, address, bytes));
    for (size_t i = 0; i < count; i++)
        CHECK(host[i] == (int)i + (i >= piece / 4 - 1000 && i < piece / 4 + 1000));
    /* the middle one a second time, elsewhere */
    GOOD(cuMemAddressReserve(&again, piece, 0, 0, 0));
    GOOD(cuMemMap(again, piece, 0, handles[1], 0));
    GOOD(cuMemSetAccess(again, piece, &all_of_it, 1));
    GOOD(cuMemsetD32_v2(again, 77, 1));
    GOOD(cuMemcpyDtoH_v2(host, address + piece, 4));
    CHECK(host[0] == 77);
    uint64_t flags;
    GOOD(cuMemGetAccess(&flags, &plain.location, again));
    CHECK(flags == 3);
    void *same;
    GOOD(cuMemRetainAllocationHandle(&same, (void *)(uintptr_t)(address + piece + 8)));
    CHECK(same == handles[1]);
    GOOD(cuMemRelease(same));
    /* memory outlives its handle as long as it is mapped */
    for (int i = 0; i < PIECES; i++)
        GOOD(cuMemRelease(handles[i]));
    EXPECT(INVALID_VALUE, cuMemRelease(handles[0]));
    GOOD(cuMemUnmap(address, bytes));
    EXPECT(INVALID_VALUE, cuMemcpyDtoH_v2(host, address, 4));
    GOOD(cuMemcpyDtoH_v2(host, again, 4));
    CHECK(host[0] == 77);
    EXPECT(INVALID_VALUE, cuMemAddressFree(again, piece)); /* mapped */
    EXPECT(INVALID_VALUE, cuMemFree_v2(again));
    GOOD(cuMemUnmap(again, piece));
    GOOD(cuMemAddressFree(again, piece));
    GOOD(cuMemAddressFree(address, bytes));
    EXPECT(INVALID_VALUE, cuMemRelease(handles[1]));
    free(host);
}

/* Addresses apart from each other: what is known of all of them is not gone through for one, which took minutes. */
static void many_reservations(size_t piece)
{
    enum { RESERVATIONS = 3000 };
    address_t *addresses = malloc(RESERVATIONS * sizeof *addresses);
    void *handle;
    unsigned value;
    CHECK(addresses);
    GOOD(cuMemCreate(&handle, piece, &plain, 0));
    for (int i = 0; i < RESERVATIONS; i++) {
        GOOD(cuMemAddressReserve(&addresses[i], piece, 0, 0, 0));
        GOOD(cuMemMap(addresses[i], piece, 0, handle, 0));
        GOOD(cuMemSetAccess(addresses[i], piece, &all_of_it, 1));
    }
    GOOD(cuMemsetD32_v2(addresses[0], 33, 1));
    for (int i = 0; i < RESERVATIONS; i += 100) {
        GOOD(cuMemcpyDtoH_v2(&value, addresses[i], 4));
        CHECK(value == 33);
    }
    for (int i = RESERVATIONS - 1; i >= 0; i--) {
        GOOD(cuMemUnmap(addresses[i], piece));
        EXPECT(INVALID_VALUE, cuMemcpyDtoH_v2(&value, addresses[i], 4));
        GOOD(cuMemAddressFree(addresses[i], piece));
    }
    GOOD(cuMemRelease(handle));
    free(addresses);
}

int main(void)
{
    int sockets[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
    pid_t child = fork();
    if (child == 0)
        return other_process(sockets[1]);
    void *module, *function = begin(&module), *handle;
    size_t piece = 0;
    GOOD(cuMemGetAllocationGranularity(&piece, &plain, 0));
    CHECK(piece == 2 << 20);
    EXPECT(INVALID_VALUE, cuMemCreate(&handle, piece + 1, &plain, 0));
    pieces(function, piece);
    many_reservations(piece);
    /* shared with the other process */
    address_t address;
    int file, status, values[1001];
    GOOD(cuMemCreate(&handle, piece, &plain, 0));
    GOOD(cuMemAddressReserve(&address, piece, 0, 0, 0));
    GOOD(cuMemMap(address, piece, 0, handle, 0));
    GOOD(cuMemSetAccess(address, piece, &all_of_it, 1));
    GOOD(cuMemsetD32_v2(address, 41, 1001));
    GOOD(cuCtxSynchronize());
    GOOD(cuMemExportToShareableHandle(&file, handle, 1, 0));
    send_file(sockets[0], file);
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    GOOD(cuMemcpyDtoH_v2(values, address, sizeof values));
    CHECK(values[0] == 42 && values[999] == 42 && values[1000] == 41);
    /* unmapped memory is not there for kernels */
    GOOD(cuMemUnmap(address, piece));
    GOOD(launch_add_one(function, address, 4, NULL));
    EXPECT(ILLEGAL_ADDRESS, cuCtxSynchronize());
    puts("virtual memory: good");
    return 0;
}
