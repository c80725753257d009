/* SPDX-License-Identifier: MIT */
/* What an SM has room for, beside what a look has found there: by threads, registers, shared memory and thread blocks. */
#include "software/state.h"

struct needs needs_of(const struct kind *kind)
{
    const uint32_t *block = kind->about.block;
    return (struct needs){.threads = (block[0] * block[1] * block[2] + 31u) / 32 * 32,
                          .registers = kind->about.tb_registers,
                          .shared_bytes = kind->about.tb_shared_bytes,
                          .tbs = 1};
}

void needs_add(struct needs *sum, const struct needs *one, uint64_t count)
{
    sum->threads += count * one->threads;
    sum->registers += count * one->registers;
    sum->shared_bytes += count * one->shared_bytes;
    sum->tbs += count * one->tbs;
}

/* How many more of what takes `one` fit, where of `all` so much is taken. */
static uint32_t fit(uint64_t all, uint64_t taken, uint64_t one, uint32_t most)
{
    uint64_t free = all > taken ? all - taken : 0;
    return one && all && free / one < most ? (uint32_t)(free / one) : most;
}

uint32_t room_beside(const struct software *software, const struct needs *taken, const struct needs *one, uint32_t most)
{
    uint32_t room = fit(software->threads_per_sm, taken->threads, one->threads, most);
    room = fit(software->registers_per_sm, taken->registers, one->registers, room);
    room = fit(software->shared_bytes_per_sm, taken->shared_bytes, one->shared_bytes, room);
    return fit(MOST_TBS_PER_SM, taken->tbs, one->tbs, room);
}

uint32_t room_on(const struct software *software, uint32_t place, const struct application *but,
                 const struct needs *one, uint32_t most)
{
    struct needs taken = {0};
    for (uint32_t i = 0; i < software->count; i++) {
        const struct application *other = &software->applications[i];
        const struct needs needs = needs_of(kind_at(other, other->head));
        if (other != but)
            needs_add(&taken, &needs, share_of(software, place, i)->resident);
    }
    plugs_add(software, place, &taken);
    return room_beside(software, &taken, one, most);
}
