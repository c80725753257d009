/* SPDX-License-Identifier: MIT */
/*
 * Memory and events that another process of the program opens by their handles: what a kernel of one stores, a kernel of the other finds,
 * and each waits in a stream for an event that the other has recorded.
 */
#include "driver_test.h"

#include <sys/wait.h>
#include <unistd.h>

enum { INVALID_CONTEXT = 201, LAZY = 1, NO_TIMING = 2, SHARED = 4, COUNT = 1000 };

struct handle {
    char bytes[64];
};

int cuIpcGetMemHandle(struct handle *handle, address_t address);
int cuIpcOpenMemHandle_v2(address_t *address, struct handle handle, unsigned flags);
int cuIpcCloseMemHandle(address_t address);
int cuIpcGetEventHandle(struct handle *handle, void *event);
int cuIpcOpenEventHandle(void **event, struct handle handle);
int cuEventCreate(void **event, unsigned flags);
int cuEventRecord(void *event, void *stream);
int cuEventQuery(void *event);
int cuEventSynchronize(void *event);
int cuEventDestroy_v2(void *event);
int cuStreamWaitEvent(void *stream, void *event, unsigned flags);
int cuMemAllocManaged(address_t *address, size_t bytes, unsigned flags);

/* What the first process tells the second one. */
struct message {
    struct handle memory, first_event, second_event, freed;
};

static void *begin(void **module)
{
    void *context, *function;
    GOOD(cuInit(0));
    GOOD(cuCtxCreate_v2(&context, 0, 0));
    GOOD(cuModuleLoadData(module, add_one_text));
    GOOD(cuModuleGetFunction(&function, *module, "add_one"));
    return function;
}

static void send(int pipe, const void *data, size_t bytes)
{
    CHECK(write(pipe, data, bytes) == (ssize_t)bytes);
}

static void receive(int pipe, void *data, size_t bytes)
{
    CHECK(read(pipe, data, bytes) == (ssize_t)bytes);
}

/* Behind the first event adds one, and records the second. */
static int other_process(int from, int to)
{
    struct message message;
    receive(from, &message, sizeof message); /* before CUDA is there, so that it is always the other one that comes first */
    void *module, *function = begin(&module), *first, *second, *stream;
    address_t address, again;
    int value;
    EXPECT(INVALID_HANDLE, cuIpcOpenMemHandle_v2(&address, message.freed, LAZY));
    EXPECT(INVALID_VALUE, cuIpcOpenMemHandle_v2(&address, message.memory, 0));
    EXPECT(INVALID_VALUE, cuIpcOpenMemHandle_v2(&address, message.first_event, LAZY));
    GOOD(cuIpcOpenMemHandle_v2(&address, message.memory, LAZY));
    GOOD(cuIpcOpenMemHandle_v2(&again, message.memory, LAZY));
    CHECK(again == address);
    GOOD(cuIpcCloseMemHandle(again));
    GOOD(cuIpcOpenEventHandle(&first, message.first_event));
    GOOD(cuIpcOpenEventHandle(&second, message.second_event));
    GOOD(cuStreamCreate(&stream, 1));
    GOOD(cuStreamWaitEvent(stream, first, 0));
    GOOD(launch_add_one(function, address, COUNT, stream));
    GOOD(cuEventRecord(second, stream));
    send(to, "", 1);
    GOOD(cuEventSynchronize(first));
    GOOD(cuEventQuery(first));
    GOOD(cuStreamSynchronize(stream));
    GOOD(cuMemcpyDtoH_v2(&value, address + 4 * (COUNT - 1), 4));
    CHECK(value == 42);
    EXPECT(INVALID_VALUE, cuMemFree_v2(address));
    GOOD(cuIpcCloseMemHandle(address));
    EXPECT(INVALID_VALUE, cuIpcCloseMemHandle(address));
    EXPECT(INVALID_VALUE, cuMemcpyDtoH_v2(&value, address, 4));
    GOOD(cuEventDestroy_v2(first));
    GOOD(cuEventDestroy_v2(second));
    return 0;
}

/* What cannot be shared. */
static void refusals(address_t address, struct handle memory)
{
    struct handle handle;
    address_t managed, opened;
    void *event;
    EXPECT(INVALID_CONTEXT, cuIpcOpenMemHandle_v2(&opened, memory, LAZY)); /* one's own */
    GOOD(cuMemAllocManaged(&managed, 64, 1));
    EXPECT(INVALID_VALUE, cuIpcGetMemHandle(&handle, managed));
    EXPECT(INVALID_VALUE, cuIpcGetMemHandle(&handle, address + (UINT64_C(1) << 32)));
    EXPECT(INVALID_VALUE, cuEventCreate(&event, SHARED));
    GOOD(cuEventCreate(&event, NO_TIMING));
    EXPECT(INVALID_VALUE, cuIpcGetEventHandle(&handle, event));
}

int main(void)
{
    int there[2], back[2], status, values[COUNT + 1];
    CHECK(pipe(there) == 0 && pipe(back) == 0);
    pid_t child = fork();
    if (child == 0)
        return other_process(there[0], back[1]);
    close(back[1]);
    void *module, *function = begin(&module), *first, *second, *stream;
    struct message message;
    address_t address, freed;
    GOOD(cuStreamCreate(&stream, 1));
    GOOD(cuEventCreate(&first, NO_TIMING | SHARED));
    GOOD(cuEventCreate(&second, NO_TIMING | SHARED));
    GOOD(cuMemAlloc_v2(&address, sizeof values));
    GOOD(cuMemsetD32_v2(address, 40, COUNT + 1));
    GOOD(cuIpcGetMemHandle(&message.memory, address + 8)); /* of all of the allocation */
    GOOD(cuIpcGetEventHandle(&message.first_event, first));
    GOOD(cuIpcGetEventHandle(&message.second_event, second));
    GOOD(cuMemAlloc_v2(&freed, 4096));
    GOOD(cuIpcGetMemHandle(&message.freed, freed));
    GOOD(cuMemFree_v2(freed));
    refusals(address, message.memory);
    GOOD(launch_add_one(function, address, COUNT, stream));
    GOOD(cuEventRecord(first, stream));
    send(there[1], &message, sizeof message);
    char byte;
    receive(back[0], &byte, 1); /* the second event has been recorded */
    GOOD(cuStreamWaitEvent(stream, second, 0));
    GOOD(launch_add_one(function, address, COUNT - 1, stream));
    GOOD(cuStreamSynchronize(stream));
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    GOOD(cuMemcpyDtoH_v2(values, address, sizeof values));
    CHECK(values[0] == 43 && values[COUNT - 2] == 43 && values[COUNT - 1] == 42 && values[COUNT] == 40);
    GOOD(cuMemFree_v2(address));
    puts("interprocess: good");
    return 0;
}
