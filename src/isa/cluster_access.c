/* SPDX-License-Identifier: MIT */
/*
 * Loads, stores and atomics in the shared memory of other thread blocks of a cluster.
 *
 * Other SMs run at the same time, so a machine must not make such an access when it is issued. It gets a ticket, as an atomic on global memory does:
 * the machine performs the ticket when the access reaches the other SM, while no SM runs, and completes it when the answer is back.
 */
#include "isa/cluster.h"
#include "isa/elements.h"

#include "base/bits.h"

bool cluster_split(struct corun_warp *warp, uint64_t *address, uint32_t mask, uint32_t *remote)
{
    const struct corun_tb *tb = warp->tb;
    uint32_t size = tb->cluster ? cluster_size(tb->launch) : 1;
    *remote = 0;
    for (; mask; mask &= mask - 1) {
        uint32_t lane = lowest_bit(mask);
        uint32_t rank = (uint32_t)(address[lane] >> CLUSTER_RANK_SHIFT & CLUSTER_RANK_MASK);
        if (rank == 0)
            continue;
        if (rank > size) {
            fault_raise(warp, lane, "shared memory of thread block %u of a cluster of %u", rank - 1, size);
            return false;
        }
        if (rank - 1 == tb->rank)
            address[lane] &= ~(CLUSTER_RANK_MASK << CLUSTER_RANK_SHIFT);
        else
            *remote |= 1u << lane;
    }
    return true;
}

static bool refuse(struct corun_warp *warp, uint32_t lane, const char *what)
{
    fault_raise(warp, lane, "not supported: %s in the shared memory of another thread block", what);
    return false;
}

static bool is_supported(struct corun_warp *warp, const struct operation *op, uint32_t lane)
{
    switch ((enum operation_kind)op->kind) {
    case OPERATION_LOAD:
    case OPERATION_STORE:
        return (uint32_t)op->width_bytes * op->vector <= TICKET_BYTES ||
               refuse(warp, lane, "an access of more than 16 bytes");
    case OPERATION_ATOMIC:
        return true;
    default:
        return refuse(warp, lane, "an operation of matrices");
    }
}

/* Where the address of a lane leads; NULL: a fault was raised. */
static uint8_t *host_of(struct corun_warp *warp, const struct operation *op, uint32_t lane, uint64_t address)
{
    const struct corun_tb *tb = warp->tb;
    uint32_t rank = (uint32_t)(address >> CLUSTER_RANK_SHIFT & CLUSTER_RANK_MASK) - 1;
    uint64_t bytes = (uint64_t)op->width_bytes * op->vector, limit = tb->launch->grid.tb_shared_bytes;
    address &= ~(CLUSTER_RANK_MASK << CLUSTER_RANK_SHIFT);
    if (address & (bytes - 1) || bytes > limit || address > limit - bytes) {
        fault_raise(warp, lane,
                    "%s%u bytes at address 0x%llx of the %u bytes of shared memory of thread block %u of the cluster%s",
                    address & (bytes - 1) ? "misaligned access to " : "access to ", (uint32_t)bytes,
                    (unsigned long long)address, (uint32_t)limit, rank,
                    address & (bytes - 1) ? "" : ", which is out of bounds");
        return NULL;
    }
    return tb->cluster->tbs[rank]->shared + address;
}

/* What the lane brings along. */
static void take_along(struct atomic_ticket *ticket, uint32_t lane)
{
    const struct operation *op = ticket->op;
    const struct corun_warp *warp = ticket->warp;
    if (op->kind == OPERATION_ATOMIC) {
        struct atomic_value b = element_operand(&warp->lanes, op, 1, lane), c = {0, 0};
        if (op->extra[0] == ATOMIC_COMPARE)
            c = element_operand(&warp->lanes, op, 2, lane);
        ticket->b[lane] = b.low;
        ticket->c[lane] = c.low;
        ticket->high[lane].b = b.high;
        ticket->high[lane].c = c.high;
    } else if (op->kind != OPERATION_LOAD) {
        elements_store(&warp->lanes, op, lane, ticket->data[lane]);
    }
}

void cluster_perform(struct atomic_ticket *ticket, uint32_t lane)
{
    const struct operation *op = ticket->op;
    size_t bytes = (size_t)op->width_bytes * op->vector;
    if (op->kind == OPERATION_ATOMIC) {
        struct atomic_value old = atomic_ticket_apply(ticket, lane, ticket->host[lane], false);
        ticket->old[lane] = old.low;
        ticket->high[lane].old = old.high;
    } else if (op->kind == OPERATION_LOAD)
        memcpy(ticket->data[lane], ticket->host[lane], bytes);
    else
        memcpy(ticket->host[lane], ticket->data[lane], bytes);
}

void cluster_complete(const struct atomic_ticket *ticket, uint32_t lane)
{
    const struct operation *op = ticket->op;
    if (op->kind == OPERATION_LOAD)
        elements_load(&ticket->warp->lanes, op, lane, ticket->data[lane]);
    else if (op->kind == OPERATION_ATOMIC)
        element_result(&ticket->warp->lanes, op, lane,
                       (struct atomic_value){ticket->old[lane], ticket->high[lane].old});
}

/* Lanes of an atomic that go to global memory have a ticket already. */
static bool has_ticket(const struct operation *op, const struct corun_issue *result, uint32_t here)
{
    bool any = false;
    for (; op->kind == OPERATION_ATOMIC && here; here &= here - 1)
        any |= result->lane_space[lowest_bit(here)] != CORUN_SPACE_SHARED;
    return any;
}

/* NULL: a fault was raised. */
static struct atomic_ticket *take_ticket(struct corun_warp *warp, const struct operation *op, uint32_t here,
                                         struct corun_issue *result)
{
    struct atomic_pool *pool = &warp->tb->sm->atomics;
    bool there = has_ticket(op, result, here);
    if (!there)
        result->ticket = atomic_pool_take(pool);
    if (result->ticket == UINT32_MAX) {
        fault_raise(warp, warp->stack.mask ? lowest_bit(warp->stack.mask) : 0, "the host is out of memory");
        return NULL;
    }
    struct atomic_ticket *ticket = &pool->tickets[result->ticket];
    if (!there) {
        ticket->op = op;
        ticket->warp = warp;
        ticket->lanes = ticket->performed = ticket->remote = 0;
        ticket->barriers_met = warp->tb->barriers_met;
    }
    return ticket;
}

bool cluster_access(struct corun_warp *warp, const struct operation *op, uint32_t mask, uint32_t remote,
                    const uint64_t *address, struct corun_issue *result, bool timed)
{
    struct atomic_ticket at_once, *ticket = &at_once;
    uint8_t *host[CORUN_WARP_LANES];
    for (uint32_t rest = remote; rest; rest &= rest - 1) {
        uint32_t lane = lowest_bit(rest);
        if (!is_supported(warp, op, lane) || !(host[lane] = host_of(warp, op, lane, address[lane])))
            return false;
    }
    at_once.op = op;
    at_once.warp = warp;
    bool later = !warp->tb->sm->direct;
    if (later && !(ticket = take_ticket(warp, op, mask & ~remote, result)))
        return false;
    for (uint32_t rest = remote; rest; rest &= rest - 1) {
        uint32_t lane = lowest_bit(rest);
        ticket->host[lane] = host[lane];
        take_along(ticket, lane);
        if (!later) {
            cluster_perform(ticket, lane);
            cluster_complete(ticket, lane);
        }
        if (timed) {
            uint32_t rank = (uint32_t)(address[lane] >> CLUSTER_RANK_SHIFT & CLUSTER_RANK_MASK) - 1;
            result->address[lane] = address[lane] & ~(CLUSTER_RANK_MASK << CLUSTER_RANK_SHIFT);
            result->lane_space[lane] = CORUN_SPACE_CLUSTER;
            result->lane_sm[lane] = (uint16_t)warp->tb->cluster->tbs[rank]->sm->index;
        }
    }
    if (later) {
        ticket->lanes |= remote;
        ticket->remote |= remote;
    }
    return true;
}
