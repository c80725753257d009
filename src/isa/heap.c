/* SPDX-License-Identifier: MIT */
/*
 * The device heap (src/cuda/device_heap.c) as far as it is looked after: what free cannot free, and blocks that are used after they were
 * freed.
 *
 * The heap's code looks whether a pointer leads into the heap; the block that lies there is looked at here when free is called, so that this
 * costs no instructions. Two threads that free a block at the same time are found out if they are of one warp.
 *
 * With the check of memory the blocks that were freed last are remembered, per SM until its next commit and then for all SMs, as stores are:
 * so who sees what does not depend on host threads. A block that malloc has given again says so itself, in the bytes in front of it.
 */
#include "base/kernel_name.h"
#include "isa/executor.h"

#include "base/bits.h"

#include <stdio.h>

static bool raise(struct corun_warp *warp, uint32_t lane, uint64_t pointer, const char *why)
{
    fault_raise(warp, lane, "free of 0x%llx, %s", (unsigned long long)pointer, why);
    return false;
}

/* The first two words of what lies in front of a block. */
static bool read_front(struct corun_warp *warp, uint32_t lane, uint64_t block, uint64_t *words)
{
    return access_read(warp, lane, block - DEVICE_HEAP_FRONT_BYTES, words, DEVICE_HEAP_FRONT_BYTES);
}

static void remember(struct corun_warp *warp, uint64_t block, uint64_t class)
{
    const struct corun_kernel *kernel = warp->tb->launch->kernel;
    char freer[ORIGIN_BYTES];
    uint32_t pc = warp->stack.pc; /* behind the call */
    snprintf(freer, sizeof freer, "the free at line %u of kernel %s", kernel->instructions[pc ? pc - 1 : 0].line,
             KERNEL_NAME(kernel->info.name));
    freed_add(&warp->tb->sm->freed_blocks, block, (UINT64_C(1) << class) - DEVICE_HEAP_FRONT_BYTES,
              "a block that malloc gave", freer);
}

bool free_check(struct corun_warp *warp, uint32_t mask, const struct kernel_function *function, uint32_t frame)
{
    uint64_t pointers[CORUN_WARP_LANES] = {0};
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        uint32_t lane = lowest_bit(rest);
        uint64_t words[DEVICE_HEAP_FRONT_BYTES / 8], pointer;
        call_value_read(warp, &function->arguments[0], frame, lane, (uint8_t *)&pointers[lane]);
        pointer = pointers[lane];
        if (!pointer)
            continue;
        for (uint32_t before = mask & ((1u << lane) - 1); before; before &= before - 1)
            if (pointers[lowest_bit(before)] == pointer)
                return raise(warp, lane, pointer, "which another thread of the warp frees, too");
        if (pointer % DEVICE_HEAP_LEAST_BYTES || !read_front(warp, lane, pointer, words))
            return raise(warp, lane, pointer, "which malloc has not given");
        if (words[1] & DEVICE_HEAP_FREED)
            return raise(warp, lane, pointer, "which was freed before");
        if (words[1] < DEVICE_HEAP_FIRST_CLASS || words[1] >= DEVICE_HEAP_CLASSES)
            return raise(warp, lane, pointer, "which malloc has not given");
        if (warp->tb->launch->instance->checks & CORUN_CHECK_MEMORY)
            remember(warp, pointer, words[1]);
    }
    return true;
}

/* The place is that of the call. */
void free_wrong(struct corun_warp *warp, const struct operation *op, uint32_t lane)
{
    const struct corun_kernel *kernel = warp->tb->launch->kernel;
    uint64_t block = 0;
    call_value_read(warp, &kernel->calls[op->target].arguments[0], warp->frame, lane, (uint8_t *)&block);
    raise(warp, lane, block + DEVICE_HEAP_FRONT_BYTES, "which malloc has not given");
    uint32_t frame = simt_frame(&warp->stack);
    uint32_t caller = frame == UINT32_MAX ? UINT32_MAX : simt_parent(&warp->stack, frame);
    if (caller != UINT32_MAX && warp->stack.entries[caller].pc > 0)
        warp->tb->fault_line = kernel->instructions[warp->stack.entries[caller].pc - 1].line;
}

void heap_guard(struct corun_module_instance *instance)
{
    uint64_t address = corun_module_instance_variable(instance, DEVICE_HEAP_VARIABLE, NULL);
    if (address)
        memory_guard(instance->memory, address);
}

const struct freed *heap_freed(struct corun_warp *warp, uint64_t address)
{
    const struct executor_sm *sm = warp->tb->sm;
    const struct freed *freed = freed_find(&sm->freed_blocks, address);
    uint64_t words[DEVICE_HEAP_FRONT_BYTES / 8];
    if (!freed)
        freed = freed_find(&sm->instance->freed_blocks, address);
    return freed && read_front(warp, 0, freed->address, words) && words[1] & DEVICE_HEAP_FREED ? freed : NULL;
}

uint8_t *heap_find(struct corun_warp *warp, uint64_t address, uint32_t bytes)
{
    struct memory_cache cache = {0};
    uint8_t *host = memory_find(warp->tb->sm->memory, &cache, address, bytes);
    return host && !heap_freed(warp, address) ? host : NULL;
}

void heap_commit(struct executor_sm *sm)
{
    for (size_t i = 0; i < sm->freed_blocks.entries.count; i++) {
        const struct freed *freed = &sm->freed_blocks.entries.data[i];
        freed_add(&sm->instance->freed_blocks, freed->address, freed->bytes, freed->name, freed->freer);
    }
    sm->freed_blocks.entries.count = 0;
}
