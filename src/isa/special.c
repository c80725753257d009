/* Special registers. */
#include "isa/executor.h"

#include "base/bits.h"

/* GPUs differ in how many warps an SM holds, and code does not learn here which one it runs on. */
#define WARP_SLOTS 64u

static uint64_t uniform_value(const struct corun_warp *warp, const struct operation *op)
{
    const struct corun_tb *tb = warp->tb;
    const struct launch *launch = tb->launch;
    uint64_t cycle = warp->cycle ? *warp->cycle : 0;
    switch (op->variant) {
    case PTX_SPECIAL_NTID_X:
        return launch->block.x;
    case PTX_SPECIAL_NTID_Y:
        return launch->block.y;
    case PTX_SPECIAL_NTID_Z:
        return launch->block.z;
    case PTX_SPECIAL_CTAID_X:
    case PTX_SPECIAL_CLUSTERID_X:
        return tb->position.x;
    case PTX_SPECIAL_CTAID_Y:
    case PTX_SPECIAL_CLUSTERID_Y:
        return tb->position.y;
    case PTX_SPECIAL_CTAID_Z:
    case PTX_SPECIAL_CLUSTERID_Z:
        return tb->position.z;
    case PTX_SPECIAL_NCTAID_X:
    case PTX_SPECIAL_NCLUSTERID_X:
        return launch->dim.x;
    case PTX_SPECIAL_NCTAID_Y:
    case PTX_SPECIAL_NCLUSTERID_Y:
        return launch->dim.y;
    case PTX_SPECIAL_NCTAID_Z:
    case PTX_SPECIAL_NCLUSTERID_Z:
        return launch->dim.z;
    case PTX_SPECIAL_WARPID:
        return warp->slot;
    case PTX_SPECIAL_NWARPID:
        return WARP_SLOTS;
    case PTX_SPECIAL_SMID:
        return tb->sm->index;
    case PTX_SPECIAL_NSMID:
        return warp->sm_count;
    case PTX_SPECIAL_GRIDID:
        return launch->id;
    case PTX_SPECIAL_CLOCK:
    case PTX_SPECIAL_GLOBALTIMER_LO:
        return (uint32_t)cycle;
    case PTX_SPECIAL_CLOCK_HI:
    case PTX_SPECIAL_GLOBALTIMER_HI:
        return cycle >> 32;
    case PTX_SPECIAL_CLOCK64:
    case PTX_SPECIAL_GLOBALTIMER: /* a source of instructions knows no clock frequency: a nanosecond is a cycle */
        return cycle;
    case PTX_SPECIAL_TOTAL_SMEM_SIZE:
        return launch->grid.tb_shared_bytes;
    case PTX_SPECIAL_DYNAMIC_SMEM_SIZE:
        return launch->dynamic_shared_bytes;
    case PTX_SPECIAL_CLUSTER_NCTAID_X:
    case PTX_SPECIAL_CLUSTER_NCTAID_Y:
    case PTX_SPECIAL_CLUSTER_NCTAID_Z:
    case PTX_SPECIAL_CLUSTER_NCTARANK:
        return 1;
    case PTX_SPECIAL_RESERVED_SMEM_OFFSET:
        return launch->kernel->reserved_offset;
    case PTX_SPECIAL_ENVREG1:
        return launch->meeting_address >> 32;
    case PTX_SPECIAL_ENVREG2:
        return (uint32_t)launch->meeting_address;
    case SPECIAL_LOCAL_ADDRESS:
        return warp->frame + (uint64_t)op->offset;
    default: /* %tid.w and the like */
        return 0;
    }
}

static uint32_t lane_value(const struct corun_warp *warp, uint8_t which, uint32_t lane)
{
    uint32_t bit = 1u << lane;
    switch (which) {
    case PTX_SPECIAL_TID_X:
    case PTX_SPECIAL_TID_Y:
    case PTX_SPECIAL_TID_Z:
        return warp->tb->launch->thread[warp->index][which - PTX_SPECIAL_TID_X][lane];
    case PTX_SPECIAL_LANEID:
        return lane;
    case PTX_SPECIAL_LANEMASK_EQ:
        return bit;
    case PTX_SPECIAL_LANEMASK_LE:
        return bit | (bit - 1);
    case PTX_SPECIAL_LANEMASK_LT:
        return bit - 1;
    case PTX_SPECIAL_LANEMASK_GE:
        return ~(bit - 1);
    default: /* LANEMASK_GT */
        return ~(bit | (bit - 1));
    }
}

static bool differs_by_lane(uint8_t which)
{
    switch (which) {
    case PTX_SPECIAL_TID_X:
    case PTX_SPECIAL_TID_Y:
    case PTX_SPECIAL_TID_Z:
    case PTX_SPECIAL_LANEID:
    case PTX_SPECIAL_LANEMASK_EQ:
    case PTX_SPECIAL_LANEMASK_LE:
    case PTX_SPECIAL_LANEMASK_LT:
    case PTX_SPECIAL_LANEMASK_GE:
    case PTX_SPECIAL_LANEMASK_GT:
        return true;
    default:
        return false;
    }
}

void special_register_read(struct corun_warp *warp, const struct operation *op, uint32_t mask)
{
    uint32_t *to = lanes_destination(&warp->lanes, op->destination);
    bool by_lane = differs_by_lane(op->variant), wide = op->extend & EXTEND_WIDE;
    uint64_t value = by_lane ? 0 : uniform_value(warp, op);
    for (; mask; mask &= mask - 1) {
        uint32_t lane = lowest_bit(mask);
        if (by_lane)
            value = lane_value(warp, op->variant, lane);
        if (wide)
            ((uint64_t *)(void *)to)[lane] = value;
        else
            to[lane] = (uint32_t)value;
    }
}
