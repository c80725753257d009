/* SPDX-License-Identifier: MIT */
/* For whom a bulk copy is, and what it brings to other thread blocks. */
#include "isa/bulk_elsewhere.h"

#include "isa/bulk_rows.h"
#include "isa/cluster.h"

#include <stdlib.h>
#include <string.h>

#define OWN UINT32_MAX /* rank of an address that mapa has not made */

/* ---- for whom it is ---- */

static uint32_t take_rank(uint32_t *address)
{
    uint32_t rank = *address >> CLUSTER_RANK_SHIFT & (uint32_t)CLUSTER_RANK_MASK;
    *address &= ~((uint32_t)CLUSTER_RANK_MASK << CLUSTER_RANK_SHIFT);
    return rank ? rank - 1 : OWN;
}

static bool reads_shared(const struct bulk_copy *copy)
{
    return copy->work->kind == BULK_STORE || copy->work->kind == BULK_REDUCE;
}

bool bulk_elsewhere_ask(struct corun_warp *warp, struct bulk_copy *copy, uint32_t lane, uint32_t mask)
{
    const struct corun_tb *tb = warp->tb;
    uint32_t size = tb->cluster ? cluster_size(tb->launch) : 1, own = tb->rank;
    uint32_t to = take_rank(&copy->shared), from = take_rank(&copy->source), told = take_rank(&copy->barrier);
    to = to == OWN ? own : to;
    from = from == OWN ? own : from;
    told = told == OWN ? own : told;
    if (!copy->work->multicast && !reads_shared(copy))
        mask = 1u << (to < 31 ? to : 31);
    if (reads_shared(copy) ? to != own : from != own)
        fault_raise(warp, lane,
                    "bulk copy: the source is in the shared memory of thread block %u of the cluster, not of its own",
                    reads_shared(copy) ? to : from);
    else if (!reads_shared(copy) && (!mask || mask >> size))
        fault_raise(warp, lane, "bulk copy: to thread blocks 0x%x of a cluster of %u", (unsigned)mask, size);
    else if (!reads_shared(copy) && !copy->work->multicast && copy->work->kind != BULK_PREFETCH && told != to)
        fault_raise(warp, lane, "bulk copy: to thread block %u of the cluster, and the barrier is that of %u", to,
                    told);
    else {
        if (!reads_shared(copy) && copy->work->kind != BULK_PREFETCH) {
            copy->elsewhere.others = (uint16_t)(mask & ~(1u << own));
            copy->elsewhere.only = !(mask >> own & 1u);
        }
        return true;
    }
    return false;
}

bool bulk_elsewhere_prepare(struct bulk_copy *copy)
{
    if (!copy->elsewhere.others || copy->work->kind != BULK_LOAD)
        return true;
    copy->elsewhere.bytes = malloc(copy->bytes ? copy->bytes : 1);
    return copy->elsewhere.bytes != NULL;
}

/* ---- what is brought over ---- */

static const struct operation deliver = {
    .kind = OPERATION_STORE, .destination = OPERAND_DISCARD, .width_bytes = 4, .vector = BULK_UNIT_BYTES / 4};
static const struct operation tell = {.kind = OPERATION_ATOMIC,
                                      .destination = OPERAND_DISCARD,
                                      .width_bytes = 8,
                                      .vector = 1,
                                      .extra = {ATOMIC_BARRIER_COMPLETE}};

static void read_rows(struct executor_sm *sm, const struct bulk_copy *copy, uint8_t *bytes)
{
    uint8_t row[BULK_ROW_BYTES];
    for (uint32_t i = 0; i < copy->rows; i++) {
        uint32_t count = bulk_read_row(sm, copy, i, row);
        memcpy(bytes + (uint64_t)i * copy->row_bytes, row, count);
    }
}

bool bulk_elsewhere_begin(struct executor_sm *sm, const struct bulk_copy *copy)
{
    if (!copy->elsewhere.bytes || copy->elsewhere.here)
        return false;
    read_rows(sm, copy, copy->elsewhere.bytes);
    return true;
}

/* The next rank from `rank` on; CORUN_LARGEST_CLUSTER: there is none. */
static uint32_t next_rank(const struct bulk_elsewhere *elsewhere, uint32_t rank)
{
    while (rank < CORUN_LARGEST_CLUSTER && !(elsewhere->others >> rank & 1u))
        rank++;
    return rank;
}

/* Bytes that go over in one part. */
static uint32_t part_bytes(const struct bulk_copy *copy, uint32_t most)
{
    uint32_t lane_bytes = BULK_UNIT_BYTES;
    if (copy->work->kind == BULK_REDUCE_WITHIN)
        lane_bytes = tensor_type_bytes(copy->work->type);
    if (most > lane_bytes * CORUN_WARP_LANES)
        most = lane_bytes * CORUN_WARP_LANES;
    uint64_t left = copy->bytes - copy->elsewhere.at;
    return left < most ? (uint32_t)left : most;
}

/* Bytes of the copy from `at` on, for thread block `tb`, as lanes of a ticket. */
static void take_bytes(const struct bulk_copy *copy, const struct corun_tb *tb, uint32_t bytes,
                       struct atomic_ticket *ticket)
{
    const struct bulk_elsewhere *elsewhere = &copy->elsewhere;
    const uint8_t *from = copy->work->kind == BULK_LOAD ? elsewhere->bytes : copy->warp->tb->shared + copy->source;
    bool reduces = copy->work->kind == BULK_REDUCE_WITHIN;
    ticket->op = reduces ? bulk_reduction(copy->work->type * (ATOMIC_XOR + 1u) + copy->work->change) : &deliver;
    uint32_t width = reduces ? ticket->op->width_bytes : BULK_UNIT_BYTES;
    for (uint32_t lane = 0; lane * width < bytes; lane++) {
        uint64_t at = elsewhere->at + lane * width;
        ticket->lanes |= 1u << lane;
        if (copy->work->kind == BULK_LOAD)
            ticket->host[lane] =
                bulk_unit(copy, tb, (uint32_t)(at / copy->row_bytes), (uint32_t)(at % copy->row_bytes));
        else
            ticket->host[lane] = tb->shared + copy->shared + at;
        ticket->b[lane] = ticket->c[lane] = 0;
        memcpy(reduces ? (uint8_t *)&ticket->b[lane] : ticket->data[lane], from + at, width);
    }
}

static void take_signal(const struct bulk_copy *copy, const struct corun_tb *tb, struct atomic_ticket *ticket)
{
    ticket->op = &tell;
    ticket->lanes = 1;
    ticket->host[0] = tb->shared + copy->barrier;
    ticket->b[0] = copy->bytes;
    ticket->c[0] = 0;
}

/* Each part goes to all of them, and behind the last part their barriers are told. */
bool bulk_elsewhere_next(struct executor_sm *sm, struct bulk_copy *copy, uint32_t most, struct corun_copy_part *part)
{
    struct bulk_elsewhere *elsewhere = &copy->elsewhere;
    if (!elsewhere->others || (copy->work->kind == BULK_LOAD && !elsewhere->here) || elsewhere->at > copy->bytes)
        return false;
    uint32_t index = atomic_pool_take(&sm->atomics);
    if (index == UINT32_MAX)
        return false;
    uint32_t rank = next_rank(elsewhere, elsewhere->rank);
    const struct corun_tb *tb = copy->warp->tb->cluster->tbs[rank];
    struct atomic_ticket *ticket = &sm->atomics.tickets[index];
    ticket->warp = copy->warp;
    ticket->lanes = ticket->performed = 0;
    ticket->barriers_met = copy->warp->tb->barriers_met;
    uint32_t bytes = part_bytes(copy, most);
    if (bytes)
        take_bytes(copy, tb, bytes, ticket);
    else
        take_signal(copy, tb, ticket);
    ticket->remote = ticket->lanes;
    *part = (struct corun_copy_part){.bytes = bytes,
                                     .kind = CORUN_STORE,
                                     .space = CORUN_SPACE_CLUSTER,
                                     .sm = (uint16_t)tb->sm->index,
                                     .ticket = index,
                                     .lanes = ticket->lanes};
    elsewhere->rank = next_rank(elsewhere, rank + 1);
    if (elsewhere->rank == CORUN_LARGEST_CLUSTER) {
        elsewhere->rank = 0;
        elsewhere->at += bytes ? bytes : 1; /* beyond the end: all is said */
    }
    return true;
}

void bulk_elsewhere_now(struct executor_sm *sm, const struct bulk_copy *copy)
{
    struct atomic_ticket ticket;
    struct bulk_copy moved = *copy;
    struct bulk_elsewhere *elsewhere = &moved.elsewhere;
    const struct corun_tb *own = copy->warp->tb;
    uint8_t row[BULK_ROW_BYTES];
    for (uint32_t rank = next_rank(elsewhere, 0); rank < CORUN_LARGEST_CLUSTER; rank = next_rank(elsewhere, rank + 1)) {
        const struct corun_tb *tb = own->cluster->tbs[rank];
        for (uint32_t i = 0; copy->work->kind == BULK_LOAD && i < copy->rows; i++) {
            uint32_t count = bulk_read_row(sm, copy, i, row);
            for (uint32_t at = 0; at < count; at += BULK_UNIT_BYTES)
                memcpy(bulk_unit(copy, tb, i, at), row + at, BULK_UNIT_BYTES);
        }
        elsewhere->at = copy->work->kind == BULK_LOAD ? copy->bytes : 0;
        for (uint32_t bytes; (bytes = part_bytes(&moved, UINT32_MAX)) != 0; elsewhere->at += bytes) {
            ticket.lanes = 0;
            take_bytes(&moved, tb, bytes, &ticket);
            for (uint32_t lane = 0; lane < CORUN_WARP_LANES && ticket.lanes >> lane & 1u; lane++)
                cluster_perform(&ticket, lane);
        }
        take_signal(copy, tb, &ticket);
        cluster_perform(&ticket, 0);
    }
}
