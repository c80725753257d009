/* SPDX-License-Identifier: MIT */
/*
 * Memory of ours apart from the program's, for programs whose state is saved (checkpoint.h). A program gives its GPU addresses of its own memory now and then,
 * in structures that hold both, and what was in memory before. In a run that goes on our functions allocate other things than they did then; so they
 * take nothing from the heap of the program, whose allocations are then where they were.
 *
 * The linker gives the names of the allocator in this library to the functions here (cmake/cuda.cmake). They pass on to the C library where no
 * checkpoints are asked for, and what is not of this heap.
 *
 *     bytes from the heap's own begin, 16 │ the block ...        sizes by classes: 16, 24, 32, 48, 64, 96, 128, ...
 */
#include "cuda/settings.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define HEAP_BEGIN ((uint8_t *)UINT64_C(0x200000000000)) /* above what devices have, below what Linux gives by itself */
#define HEAP_BYTES (UINT64_C(1) << 40)
#define CLASSES 80u
#define RETURNED_BYTES (UINT64_C(1) << 17) /* of a block whose pages are given back when it is freed */
#define PAGE_BYTES UINT64_C(4096)

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *block, size_t bytes);
void *__real_aligned_alloc(size_t align, size_t bytes);
void __real_free(void *block);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *block, size_t bytes);
void *__wrap_aligned_alloc(size_t align, size_t bytes);
void __wrap_free(void *block);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t most);

struct block_head {
    uint32_t class, unused;
    uint64_t before; /* bytes from the begin of the room to this head: of aligned blocks */
};

struct free_block {
    struct free_block *next;
};

enum { UNKNOWN, NOT_WANTED, WANTED };

static struct {
    pthread_mutex_t lock;
    _Atomic uint32_t state;
    uint8_t *next;
    struct free_block *free[CLASSES];
} heap = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* 16 · 2^i and 24 · 2^i. */
static uint64_t class_bytes(uint32_t class)
{
    return (class % 2 ? UINT64_C(24) : UINT64_C(16)) << class / 2;
}

static uint32_t class_of(uint64_t bytes)
{
    uint32_t class = 0;
    while (class < CLASSES && class_bytes(class) < bytes)
        class ++;
    return class;
}

/* Under the lock. */
static bool is_wanted(void)
{
    if (heap.state != UNKNOWN)
        return heap.state == WANTED;
    const char *file = getenv(setting_CHECKPOINT), *resume = getenv(setting_RESUME);
    heap.state = NOT_WANTED;
    if (!(file && *file) && !(resume && *resume))
        return false;
    void *all = mmap(HEAP_BEGIN, HEAP_BYTES, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (all != HEAP_BEGIN)
        return false;
    heap.next = HEAP_BEGIN;
    heap.state = WANTED;
    return true;
}

static bool is_ours(const void *block)
{
    return (const uint8_t *)block >= HEAP_BEGIN && (const uint8_t *)block < HEAP_BEGIN + HEAP_BYTES;
}

static struct block_head *head_of(void *block)
{
    return (struct block_head *)block - 1;
}

/* Room of a class, in front of it the head. NULL when out of memory. */
static void *take(uint32_t class)
{
    struct free_block *block = heap.free[class];
    if (block) {
        heap.free[class] = block->next;
        return block;
    }
    uint64_t bytes = (class_bytes(class) + sizeof(struct block_head) + 15) & ~UINT64_C(15);
    if (bytes > HEAP_BYTES - (uint64_t)(heap.next - HEAP_BEGIN))
        return NULL;
    struct block_head *head = (struct block_head *)(void *)heap.next;
    heap.next += bytes;
    *head = (struct block_head){.class = class};
    return head + 1;
}

/* NULL with *passed where the C library is to be asked. */
static void *allocate(uint64_t bytes, bool *passed)
{
    uint32_t class = class_of(bytes ? bytes : 1);
    void *block = NULL;
    *passed = heap.state == NOT_WANTED;
    if (*passed)
        return NULL;
    pthread_mutex_lock(&heap.lock);
    *passed = !is_wanted();
    if (!*passed && class < CLASSES)
        block = take(class);
    pthread_mutex_unlock(&heap.lock);
    if (!*passed && !block)
        errno = ENOMEM;
    return block;
}

void *__wrap_malloc(size_t bytes)
{
    bool passed;
    void *block = allocate(bytes, &passed);
    return passed ? __real_malloc(bytes) : block;
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    bool passed;
    size_t all;
    if (__builtin_mul_overflow(count, bytes, &all))
        all = SIZE_MAX;
    void *block = allocate(all, &passed);
    if (passed)
        return __real_calloc(count, bytes);
    if (block && all < RETURNED_BYTES) /* pages that nobody has touched since the heap got them are zero */
        memset(block, 0, all);
    else if (block)
        memset(block, 0, sizeof(struct free_block));
    return block;
}

void *__wrap_aligned_alloc(size_t align, size_t bytes)
{
    bool passed;
    uint64_t more = bytes + align < bytes ? UINT64_MAX : bytes + align;
    uint8_t *block = allocate(more, &passed);
    if (passed)
        return __real_aligned_alloc(align, bytes);
    if (!block || (uintptr_t)block % align == 0)
        return block;
    uint8_t *aligned = block + align - (uintptr_t)block % align;
    *head_of(aligned) = (struct block_head){.class = head_of(block)->class, .before = (uint64_t)(aligned - block)};
    return aligned;
}

/* Large blocks are free and zero but for their link: whole pages of them go back. */
static void give_back(uint8_t *block, uint64_t bytes)
{
    uint64_t first = ((uint64_t)(uintptr_t)block + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);
    uint64_t end = ((uint64_t)(uintptr_t)block + bytes) & ~(PAGE_BYTES - 1);
    memset(block, 0, first - (uint64_t)(uintptr_t)block);
    memset((void *)(uintptr_t)end, 0, (uint64_t)(uintptr_t)block + bytes - end);
    if (madvise((void *)(uintptr_t)first, end - first, MADV_DONTNEED))
        memset((void *)(uintptr_t)first, 0, end - first);
}

void __wrap_free(void *given)
{
    if (!is_ours(given)) {
        __real_free(given);
        return;
    }
    const struct block_head head = *head_of(given);
    uint8_t *block = (uint8_t *)given - head.before;
    if (class_bytes(head.class) >= RETURNED_BYTES)
        give_back(block, class_bytes(head.class));
    struct free_block *freed = (struct free_block *)(void *)block;
    pthread_mutex_lock(&heap.lock);
    freed->next = heap.free[head.class];
    heap.free[head.class] = freed;
    pthread_mutex_unlock(&heap.lock);
}

void *__wrap_realloc(void *given, size_t bytes)
{
    if (given && !is_ours(given))
        return __real_realloc(given, bytes);
    if (!given)
        return __wrap_malloc(bytes);
    const struct block_head head = *head_of(given);
    uint64_t room = class_bytes(head.class) - head.before;
    if (bytes <= room)
        return given;
    void *block = __wrap_malloc(bytes);
    if (block) {
        memcpy(block, given, room);
        __wrap_free(given);
    }
    return block;
}

char *__wrap_strndup(const char *text, size_t most)
{
    size_t bytes = strnlen(text, most);
    char *copy = __wrap_malloc(bytes + 1);
    if (copy) {
        memcpy(copy, text, bytes);
        copy[bytes] = 0;
    }
    return copy;
}

char *__wrap_strdup(const char *text)
{
    return __wrap_strndup(text, SIZE_MAX - 1);
}
