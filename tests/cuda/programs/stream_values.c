/* SPDX-License-Identifier: MIT */
/*
 * Streams that wait for values in memory: written by another stream, by a kernel, by the host, and by nobody. The
 * comparisons; several operations at once. A copy that waits while contexts come and go.
 */
#include "driver_test.h"

#include <pthread.h>
#include <unistd.h>

int cuMemHostAlloc(void **host, size_t bytes, unsigned flags);
int cuMemcpyHtoDAsync_v2(address_t to, const void *from, size_t bytes, void *stream);
int cuStreamWaitValue32_v2(void *stream, address_t address, uint32_t value, unsigned flags);
int cuStreamWriteValue32_v2(void *stream, address_t address, uint32_t value, unsigned flags);
int cuStreamWaitValue64_v2(void *stream, address_t address, uint64_t value, unsigned flags);
int cuStreamWriteValue64_v2(void *stream, address_t address, uint64_t value, unsigned flags);

struct operation {
    int operation;
    address_t address;
    uint64_t value;
    unsigned flags;
    uint64_t rest[2];
};
int cuStreamBatchMemOp_v2(void *stream, unsigned count, const struct operation *operations, unsigned flags);

enum { AT_LEAST, EQUAL, AND, NOR };

static void *write_later(void *word)
{
    usleep(20000);
    __atomic_store_n((uint32_t *)word, 9, __ATOMIC_SEQ_CST);
    return NULL;
}

/* Does a wait of that kind end with what is there? */
static void comparison(void *stream, address_t word, uint32_t there, uint32_t value, unsigned how, bool continues)
{
    GOOD(cuMemsetD32_v2(word, there, 1));
    GOOD(cuCtxSynchronize());
    GOOD(cuStreamWaitValue32_v2(stream, word, value, how));
    if (continues) {
        GOOD(cuStreamSynchronize(stream));
        return;
    }
    EXPECT(NOT_READY, cuStreamQuery(stream));
    uint32_t other = how == NOR ? 0 : value;
    GOOD(cuMemcpyHtoD_v2(word, &other, 4));
    GOOD(cuStreamSynchronize(stream));
}

/* More than there can be at a time, while a copy of this one waits. */
static void contexts_come_and_go(void *waits, void *writes, address_t word)
{
    void *context;
    int value = 7, found = 0;
    GOOD(cuStreamWaitValue32_v2(waits, word, 1, EQUAL));
    GOOD(cuMemcpyHtoDAsync_v2(word + 4, &value, 4, waits));
    for (int i = 0; i < 40; i++) {
        GOOD(cuCtxCreate_v2(&context, 0, 0));
        GOOD(cuCtxDestroy_v2(context));
    }
    GOOD(cuStreamWriteValue32_v2(writes, word, 1, 0));
    GOOD(cuStreamSynchronize(waits));
    GOOD(cuMemcpyDtoH_v2(&found, word + 4, 4));
    CHECK(found == value);
}

int main(int count, char **words_given)
{
    (void)words_given;
    void *context, *module, *function, *first, *second, *mapped;
    address_t words;
    int values[4];
    GOOD(cuInit(0));
    GOOD(cuCtxCreate_v2(&context, 0, 0));
    GOOD(cuModuleLoadData(&module, add_one_text));
    GOOD(cuModuleGetFunction(&function, module, "add_one"));
    GOOD(cuStreamCreate(&first, 1));
    GOOD(cuStreamCreate(&second, 1));
    GOOD(cuMemAlloc_v2(&words, 64));
    GOOD(cuMemsetD32_v2(words, 0, 16));
    GOOD(cuCtxSynchronize());
    /* the other stream writes, and waits for an answer */
    GOOD(cuStreamWaitValue32_v2(first, words, 1, EQUAL));
    GOOD(launch_add_one(function, words + 4, 1, first));
    GOOD(cuStreamWriteValue32_v2(second, words, 1, 0));
    GOOD(cuStreamWaitValue32_v2(second, words + 4, 1, AT_LEAST)); /* what the kernel writes */
    GOOD(cuMemsetD32Async(words + 8, 5, 1, second));
    GOOD(cuStreamSynchronize(second));
    GOOD(cuMemcpyDtoH_v2(values, words, sizeof values));
    CHECK(values[0] == 1 && values[1] == 1 && values[2] == 5);
    comparison(first, words, 5, 6, AT_LEAST, false);
    comparison(first, words, 7, 6, AT_LEAST, true);
    comparison(first, words, 3, 0xfffffff0, AT_LEAST, true); /* it has run over */
    comparison(first, words, 5, 6, EQUAL, false);
    comparison(first, words, 4, 6, AND, true);
    comparison(first, words, 1, 6, AND, false);
    comparison(first, words, 0xfffffff0, 0xf, NOR, false);
    comparison(first, words, 0xfffffff0, 0x7, NOR, true);
    /* 64 bits, several at once */
    struct operation operations[] = {{4, words + 16, UINT64_C(1) << 40, EQUAL, {0}}, {5, words + 24, 77, 0, {0}}};
    GOOD(cuStreamBatchMemOp_v2(first, 2, operations, 0));
    GOOD(cuStreamWriteValue64_v2(second, words + 16, UINT64_C(1) << 40, 0));
    GOOD(cuStreamWaitValue64_v2(second, words + 24, 77, EQUAL));
    GOOD(cuStreamSynchronize(second));
    contexts_come_and_go(first, second, words + 40);
    /* the host */
    GOOD(cuMemHostAlloc(&mapped, 64, 2));
    memset(mapped, 0, 64);
    pthread_t thread;
    GOOD(cuStreamWaitValue32_v2(first, (address_t)(uintptr_t)mapped, 9, EQUAL));
    CHECK(pthread_create(&thread, NULL, write_later, mapped) == 0);
    GOOD(cuStreamSynchronize(first));
    CHECK(pthread_join(thread, NULL) == 0);
    EXPECT(INVALID_VALUE, cuStreamWaitValue32_v2(first, words + 2, 9, EQUAL));
    EXPECT(INVALID_VALUE, cuStreamWaitValue32_v2(first, words + 64, 9, EQUAL));
    EXPECT(INVALID_VALUE, cuStreamWaitValue32_v2(first, words, 9, 0x80));
    EXPECT(INVALID_HANDLE, cuStreamWriteValue32_v2(words ? (void *)values : NULL, words, 9, 0));
    GOOD(cuStreamDestroy_v2(second));
    puts("stream values: good");
    if (count == 1)
        return 0;
    /* nobody: an error, in time */
    GOOD(cuStreamWaitValue32_v2(first, words + 32, 1, EQUAL));
    EXPECT(702, cuStreamSynchronize(first));
    return 0;
}
