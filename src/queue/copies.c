/* SPDX-License-Identifier: MIT */
/* The memory command scheduler: one engine for each direction, or one for both; device memory is taken when a copy in begins. */
#include "queue/copies.h"

#include <stdlib.h>

void copies_begin(struct copies *copies, const struct queue_run_request *request)
{
    *copies = (struct copies){.request = request, .memory_left = request->transfers.memory_bytes};
}

void copies_end(struct copies *copies)
{
    for (int d = 0; d < COPY_DIRECTIONS; d++)
        vector_free(&copies->waiting[d]);
}

static const struct queue_run_kind *kind_of(const struct copies *copies, size_t number)
{
    return &copies->request->kinds[copies->request->submissions[number].kind];
}

bool copies_add(struct copies *copies, uint32_t direction, size_t number)
{
    return vector_push(&copies->waiting[direction], number);
}

static bool next_of(const struct copies *copies, uint32_t direction, size_t *number)
{
    if (copies->first[direction] == copies->waiting[direction].count)
        return false;
    *number = copies->waiting[direction].data[copies->first[direction]];
    return direction == COPY_OUT || kind_of(copies, *number)->device_bytes <= copies->memory_left;
}

static void start(struct copies *copies, struct copy_engine *engine, uint32_t direction, uint64_t now)
{
    const struct queue_transfers *transfers = &copies->request->transfers;
    size_t number;
    if (engine->busy || !next_of(copies, direction, &number))
        return;
    const struct queue_run_kind *kind = kind_of(copies, number);
    uint64_t bytes = direction == COPY_IN ? kind->bytes_in : kind->bytes_out;
    uint64_t ticks_per_second = (uint64_t)copies->request->device->clock_khz * 1000;
    unsigned __int128 ticks = ((unsigned __int128)bytes * ticks_per_second + transfers->bytes_per_second - 1) /
                              (transfers->bytes_per_second ? transfers->bytes_per_second : 1);
    copies->first[direction]++;
    if (direction == COPY_IN)
        copies->memory_left -= kind->device_bytes;
    *engine = (struct copy_engine){.busy = true,
                                   .direction = direction,
                                   .number = number,
                                   .end = now + (bytes ? transfers->latency_ticks + (uint64_t)ticks : 0)};
}

void copies_start(struct copies *copies, uint64_t now)
{
    bool one = copies->request->transfers.engines == 1;
    start(copies, &copies->engines[one ? 0 : COPY_OUT], COPY_OUT, now);
    start(copies, &copies->engines[0], COPY_IN, now);
}

uint64_t copies_next(const struct copies *copies)
{
    uint64_t end = UINT64_MAX;
    for (int e = 0; e < COPY_DIRECTIONS; e++) {
        if (copies->engines[e].busy && copies->engines[e].end < end)
            end = copies->engines[e].end;
    }
    return end;
}

bool copies_take(struct copies *copies, uint64_t now, uint32_t *direction, size_t *number)
{
    for (int e = 0; e < COPY_DIRECTIONS; e++) {
        struct copy_engine *engine = &copies->engines[e];
        if (!engine->busy || engine->end > now)
            continue;
        engine->busy = false;
        *direction = engine->direction;
        *number = engine->number;
        if (engine->direction == COPY_OUT)
            copies->memory_left += kind_of(copies, engine->number)->device_bytes;
        return true;
    }
    return false;
}

bool copies_busy(const struct copies *copies)
{
    return copies->engines[0].busy || copies->engines[1].busy;
}

bool copies_wanted(const struct copies *copies)
{
    size_t number;
    return next_of(copies, COPY_OUT, &number) || next_of(copies, COPY_IN, &number);
}
