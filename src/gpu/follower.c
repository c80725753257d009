/* SPDX-License-Identifier: MIT */
/* The packets of SMs, sorted and sent; when the memory system follows. */
#include "gpu/follower.h"

#include "gpu/sm.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* The packets of one SM. */
struct batch {
    const struct packet *packets; /* the port's */
    uint32_t count;
};

struct follower {
    struct memory_system *memory;
    struct cluster_network *network;
    struct sm *const *sms;
    uint32_t sm_count;
    uint64_t step;          /* the longest one of the SMs */
    uint64_t ahead;         /* how far they may run ahead of the cycle to which the memory system was last played */
    uint64_t followed, end; /* it has been played to the first; they have run to the second */
    bool may_gather;        /* several steps may be followed at once */
    bool failed;
    struct batch *batches; /* [sm_count] */
    uint32_t batch_count;
    const struct packet **sorted;
    size_t sorted_capacity;
};

struct follower *follower_create(struct memory_system *memory, struct cluster_network *network, struct sm *const *sms,
                                 uint32_t sm_count, uint64_t step)
{
    struct follower *follower = memory ? calloc(1, sizeof *follower) : NULL;
    struct batch *batches = calloc(sm_count, sizeof *batches);
    if (!follower || !batches) {
        memory_system_destroy(memory);
        free(follower);
        free(batches);
        return NULL;
    }
    uint64_t quantum = memory_system_quantum(memory);
    *follower = (struct follower){.memory = memory,
                                  .network = network,
                                  .sms = sms,
                                  .sm_count = sm_count,
                                  .step = step,
                                  .ahead = quantum < MOST_AHEAD ? quantum : MOST_AHEAD,
                                  .may_gather = true,
                                  .batches = batches};
    return follower;
}

void follower_destroy(struct follower *follower)
{
    if (!follower)
        return;
    memory_system_destroy(follower->memory);
    free(follower->batches);
    free(follower->sorted);
    free(follower);
}

void follower_keep_to_steps(struct follower *follower)
{
    follower->may_gather = false;
}

bool follower_may_wait(struct follower *follower, uint64_t end, bool beside)
{
    bool urgent = false;
    for (uint32_t s = 0; s < follower->sm_count; s++)
        urgent |= follower->sms[s]->port.urgent;
    follower->end = end;
    return !urgent && (beside || follower->may_gather) &&
           end + follower->step <= follower->followed + follower->ahead && !memory_system_has_atomics(follower->memory);
}

bool follower_is_behind(const struct follower *follower)
{
    return follower->followed < follower->end;
}

/* `beside`: the SMs go on meanwhile, and get another place for their packets; else theirs stays in the host's cache. */
static void collect(struct follower *follower, bool beside)
{
    follower->batch_count = 0;
    for (uint32_t s = 0; s < follower->sm_count; s++) {
        struct port *port = &follower->sms[s]->port;
        if (!port->out_count)
            continue;
        follower->batches[follower->batch_count++] = (struct batch){port->out, port->out_count};
        port_empty(port, beside);
    }
}

void follower_collect(struct follower *follower)
{
    collect(follower, true);
}

static bool make_room(struct follower *follower, size_t count)
{
    if (count <= follower->sorted_capacity)
        return true;
    free(follower->sorted);
    follower->sorted = calloc(2 * count, sizeof *follower->sorted);
    follower->sorted_capacity = follower->sorted ? 2 * count : 0;
    return follower->sorted != NULL;
}

/* All that were collected in order of (cycle, SM): a counting sort by cycle, stable over SMs. */
static bool send_packets(struct follower *follower)
{
    const struct batch *batches = follower->batches, *last = batches + follower->batch_count;
    size_t count = 0;
    uint64_t first = follower->end;
    for (const struct batch *batch = batches; batch < last; batch++) {
        count += batch->count;
        first = batch->packets->cycle < first ? batch->packets->cycle : first;
    }
    if (count == 0)
        return true;
    size_t length = (size_t)(follower->end - first);
    assert(length <= MOST_AHEAD);
    uint32_t begin[MOST_AHEAD + 1];
    memset(begin, 0, (length + 1) * sizeof *begin);
    if (!make_room(follower, count))
        return false;
    for (const struct batch *batch = batches; batch < last; batch++)
        for (uint32_t i = 0; i < batch->count; i++)
            begin[batch->packets[i].cycle - first + 1]++;
    for (size_t i = 1; i <= length; i++)
        begin[i] += begin[i - 1];
    for (const struct batch *batch = batches; batch < last; batch++)
        for (uint32_t i = 0; i < batch->count; i++)
            follower->sorted[begin[batch->packets[i].cycle - first]++] = &batch->packets[i];
    bool fine = true;
    for (size_t i = 0; i < count; i++) {
        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): as many were sorted as were counted */
        if (follower->sorted[i]->kind == PACKET_CLUSTER)
            fine &= cluster_network_send(follower->network, follower->sorted[i]);
        else
            memory_system_send_next(follower->memory, follower->sorted[i]);
    }
    follower->batch_count = 0;
    return fine;
}

static bool follow(struct follower *follower, bool (*advance)(struct memory_system *memory, uint64_t now))
{
    follower->failed = follower->failed || !send_packets(follower) || !advance(follower->memory, follower->end);
    follower->followed = follower->end;
    return !follower->failed;
}

bool follower_follow(struct follower *follower)
{
    if (!follower_is_behind(follower))
        return !follower->failed;
    collect(follower, false);
    return follow(follower, memory_system_advance);
}

void follower_follow_beside(void *follower)
{
    (void)follow(follower, memory_system_advance_beside);
}

bool follower_failed(const struct follower *follower)
{
    return follower->failed;
}

bool follower_skip_to(struct follower *follower, uint64_t cycle)
{
    if (!follower_follow(follower))
        return false;
    follower->end = cycle;
    return follow(follower, memory_system_advance);
}

struct memory_system *follower_memory(struct follower *follower)
{
    (void)follower_follow(follower); /* whoever steps next learns that it failed */
    return follower->memory;
}
