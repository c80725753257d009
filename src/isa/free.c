/*
 * What free of the device heap cannot free (src/cuda/device_heap.c). Its code looks whether a pointer leads into the heap; the block that
 * lies there is looked at here when it is called, so that this costs no instructions. Two threads that free a block at the same time are
 * found out if they are of one warp.
 */
#include "isa/executor.h"

#include "base/bits.h"

static bool raise(struct corun_warp *warp, uint32_t lane, uint64_t pointer, const char *why)
{
    fault_raise(warp, lane, "free of 0x%llx, %s", (unsigned long long)pointer, why);
    return false;
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
        if (pointer % DEVICE_HEAP_LEAST_BYTES ||
            !access_read(warp, lane, pointer - DEVICE_HEAP_FRONT_BYTES, words, sizeof words))
            return raise(warp, lane, pointer, "which malloc has not given");
        if (words[1] & DEVICE_HEAP_FREED)
            return raise(warp, lane, pointer, "which was freed before");
        if (words[1] < DEVICE_HEAP_FIRST_CLASS)
            return raise(warp, lane, pointer, "which malloc has not given");
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
    if (frame != UINT32_MAX && frame > 0 && warp->stack.entries[frame - 1].pc > 0)
        warp->tb->fault_line = kernel->instructions[warp->stack.entries[frame - 1].pc - 1].line;
}
