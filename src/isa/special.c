/* SPDX-License-Identifier: MIT */
/* Special registers. */
#include "isa/cluster.h"

#include <string.h>

/* GPUs differ in how many warps an SM holds, and code does not learn here which one it runs on. */
#define WARP_SLOTS 64u

/* Since the clock was 0, without overflow. */
static uint64_t nanoseconds(const struct launch *launch, uint64_t cycle)
{
    const uint64_t khz = launch->clock_khz;
    return khz ? cycle / khz * 1000000 + cycle % khz * 1000000 / khz : cycle;
}

static uint64_t cluster_value(const struct corun_tb *tb, uint8_t which)
{
    const struct launch *launch = tb->launch;
    struct corun_dim3 shape = launch->cluster, inside = cluster_inside(launch, tb->rank);
    switch (which) {
    case PTX_SPECIAL_CLUSTERID_X:
        return tb->position.x / shape.x;
    case PTX_SPECIAL_CLUSTERID_Y:
        return tb->position.y / shape.y;
    case PTX_SPECIAL_CLUSTERID_Z:
        return tb->position.z / shape.z;
    case PTX_SPECIAL_NCLUSTERID_X:
        return launch->dim.x / shape.x;
    case PTX_SPECIAL_NCLUSTERID_Y:
        return launch->dim.y / shape.y;
    case PTX_SPECIAL_NCLUSTERID_Z:
        return launch->dim.z / shape.z;
    case PTX_SPECIAL_CLUSTER_CTAID_X:
        return inside.x;
    case PTX_SPECIAL_CLUSTER_CTAID_Y:
        return inside.y;
    case PTX_SPECIAL_CLUSTER_CTAID_Z:
        return inside.z;
    case PTX_SPECIAL_CLUSTER_NCTAID_X:
        return shape.x;
    case PTX_SPECIAL_CLUSTER_NCTAID_Y:
        return shape.y;
    case PTX_SPECIAL_CLUSTER_NCTAID_Z:
        return shape.z;
    case PTX_SPECIAL_CLUSTER_CTARANK:
        return tb->rank;
    case PTX_SPECIAL_CLUSTER_NCTARANK:
        return cluster_size(launch);
    default: /* %tid.w, %pm0, %envreg0 and the like */
        return 0;
    }
}

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
        return tb->position.x;
    case PTX_SPECIAL_CTAID_Y:
        return tb->position.y;
    case PTX_SPECIAL_CTAID_Z:
        return tb->position.z;
    case PTX_SPECIAL_NCTAID_X:
        return launch->dim.x;
    case PTX_SPECIAL_NCTAID_Y:
        return launch->dim.y;
    case PTX_SPECIAL_NCTAID_Z:
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
        return (uint32_t)cycle;
    case PTX_SPECIAL_CLOCK_HI:
        return cycle >> 32;
    case PTX_SPECIAL_CLOCK64:
        return cycle;
    case PTX_SPECIAL_GLOBALTIMER_LO:
        return (uint32_t)nanoseconds(launch, cycle);
    case PTX_SPECIAL_GLOBALTIMER_HI:
        return nanoseconds(launch, cycle) >> 32;
    case PTX_SPECIAL_GLOBALTIMER:
        return nanoseconds(launch, cycle);
    case PTX_SPECIAL_AGGR_SMEM_SIZE:
    case PTX_SPECIAL_TOTAL_SMEM_SIZE:
        return launch->grid.tb_shared_bytes;
    case PTX_SPECIAL_DYNAMIC_SMEM_SIZE:
        return launch->dynamic_shared_bytes;
    case PTX_SPECIAL_RESERVED_SMEM_CAP:
        return RESERVED_SHARED_BYTES;
    case PTX_SPECIAL_RESERVED_SMEM_END:
        return launch->kernel->reserved_offset + RESERVED_SHARED_BYTES;
    case PTX_SPECIAL_RESERVED_SMEM_BEGIN:
    case PTX_SPECIAL_RESERVED_SMEM_OFFSET:
        return launch->kernel->reserved_offset;
    case PTX_SPECIAL_ENVREG1:
        return launch->meeting_address >> 32;
    case PTX_SPECIAL_ENVREG2:
        return (uint32_t)launch->meeting_address;
    case SPECIAL_LOCAL_ADDRESS:
        return warp->frame + (uint64_t)op->offset;
    default:
        return cluster_value(tb, op->variant);
    }
}

static uint32_t lane_mask(uint8_t which, uint32_t lane)
{
    uint32_t bit = 1u << lane;
    switch (which) {
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

/* Of all lanes, those of a narrow register; `room` is for what is not written down anywhere. NULL: all have the same. */
static const uint32_t *lane_values(const struct corun_warp *warp, uint8_t which, uint32_t *room)
{
    switch (which) {
    case PTX_SPECIAL_TID_X:
    case PTX_SPECIAL_TID_Y:
    case PTX_SPECIAL_TID_Z:
        return warp->tb->launch->thread[warp->index][which - PTX_SPECIAL_TID_X];
    case PTX_SPECIAL_LANEID:
        for (uint32_t lane = 0; lane < CORUN_WARP_LANES; lane++)
            room[lane] = lane;
        return room;
    case PTX_SPECIAL_LANEMASK_EQ:
    case PTX_SPECIAL_LANEMASK_LE:
    case PTX_SPECIAL_LANEMASK_LT:
    case PTX_SPECIAL_LANEMASK_GE:
    case PTX_SPECIAL_LANEMASK_GT:
        for (uint32_t lane = 0; lane < CORUN_WARP_LANES; lane++)
            room[lane] = lane_mask(which, lane);
        return room;
    default:
        return NULL;
    }
}

void special_register_read(struct corun_warp *warp, const struct operation *op, uint32_t mask)
{
    void *to = lanes_destination(&warp->lanes, op->destination);
    uint32_t room[CORUN_WARP_LANES], *narrow = to;
    uint64_t *wide = to;
    const uint32_t *values = lane_values(warp, op->variant, room);
    uint64_t value = values ? 0 : uniform_value(warp, op);
    if (op->extend & EXTEND_WIDE) {
        for (uint32_t i = 0; i < CORUN_WARP_LANES; i++)
            wide[i] = mask >> i & 1 ? (values ? values[i] : value) : wide[i];
        return;
    }
    for (uint32_t i = 0; !values && i < CORUN_WARP_LANES; i++)
        room[i] = (uint32_t)value;
    values = values ? values : room;
    if (mask == CORUN_FULL_MASK) {
        memcpy(narrow, values, SLOT_BYTES);
        return;
    }
    for (uint32_t i = 0; i < CORUN_WARP_LANES; i++)
        narrow[i] = mask >> i & 1 ? values[i] : narrow[i];
}
