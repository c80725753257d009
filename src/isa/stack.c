/* SPDX-License-Identifier: MIT */
/* What a function takes of local memory while it runs (PTX ISA, "Stack Manipulation Instructions"). */
#include "isa/stack.h"

#include "base/bits.h"

static uint32_t *given_of(const struct corun_warp *warp, uint32_t slot)
{
    return (uint32_t *)lanes_destination(&warp->lanes, (uint16_t)slot);
}

static uint64_t read_lane(const struct corun_warp *warp, const struct operation *op, uint32_t lane)
{
    const void *from = lanes_source(&warp->lanes, op->source[0]);
    return op->extend & EXTEND_WIDE ? ((const uint64_t *)from)[lane] : ((const uint32_t *)from)[lane];
}

static void write_lane(const struct corun_warp *warp, const struct operation *op, uint32_t lane, uint32_t value)
{
    void *to = lanes_destination(&warp->lanes, op->destination);
    if (op->extend & EXTEND_WIDE)
        ((uint64_t *)to)[lane] = value;
    else
        ((uint32_t *)to)[lane] = value;
}

uint32_t stack_limit(const struct corun_warp *warp, uint32_t mask)
{
    const struct corun_kernel *kernel = warp->tb->launch->kernel;
    uint32_t most = 0;
    if (kernel->stack_slot == NO_STACK)
        return warp->tb->launch->local_bytes;
    const uint32_t *given = given_of(warp, kernel->stack_slot);
    for (; mask; mask &= mask - 1)
        most = given[lowest_bit(mask)] > most ? given[lowest_bit(mask)] : most;
    return warp->tb->launch->local_bytes - most;
}

/* More than there is between the frames and what was given before is a fault. */
static bool allocate(struct corun_warp *warp, const struct operation *op, uint32_t lane, uint32_t *given)
{
    const struct corun_kernel *kernel = warp->tb->launch->kernel;
    const uint64_t frames = (uint64_t)warp->frame + kernel->functions[warp->function].frame_bytes;
    const uint64_t room = warp->tb->launch->local_bytes - frames, left = room - *given;
    const uint64_t bytes = read_lane(warp, op, lane), align = (uint64_t)op->offset;
    /* At that alignment: what was given before may end at a smaller one. */
    const uint64_t all = bytes > left ? UINT64_MAX : (*given + bytes + align - 1) & ~(align - 1);
    if (all > room) {
        fault_raise(warp, lane, "stack overflow: alloca of %llu bytes, of which %llu are left",
                    (unsigned long long)bytes, (unsigned long long)left);
        return false;
    }
    *given = (uint32_t)all;
    return true;
}

static bool restore(struct corun_warp *warp, const struct operation *op, uint32_t lane, uint32_t *given)
{
    uint64_t place = read_lane(warp, op, lane), end = warp->tb->launch->local_bytes;
    if (place > end || end - place > *given) {
        fault_raise(warp, lane, "stackrestore of 0x%llx, which stacksave has not given", (unsigned long long)place);
        return false;
    }
    *given = (uint32_t)(end - place);
    return true;
}

bool stack_execute(struct corun_warp *warp, const struct operation *op, uint32_t mask)
{
    uint32_t *given = given_of(warp, op->extra[0]), end = warp->tb->launch->local_bytes;
    bool good = true;
    for (; mask && good; mask &= mask - 1) {
        uint32_t lane = lowest_bit(mask);
        switch ((enum stack_action)op->variant) {
        case STACK_ALLOCATE:
            good = allocate(warp, op, lane, &given[lane]);
            warp->local_used = end; /* what the next thread block must not find */
            write_lane(warp, op, lane, end - given[lane]);
            break;
        case STACK_SAVE:
            write_lane(warp, op, lane, end - given[lane]);
            break;
        case STACK_RESTORE:
            good = restore(warp, op, lane, &given[lane]);
            break;
        case STACK_ENTER:
            write_lane(warp, op, lane, given[lane]);
            break;
        case STACK_LEAVE:
            given[lane] = (uint32_t)read_lane(warp, op, lane);
            break;
        }
    }
    return good;
}
