/* SPDX-License-Identifier: MIT */
/* The memory command scheduler: one engine for each direction, or one for both; device memory is taken when a copy in begins, by
 * kinds in turn. */
#include "queue/copies.h"

#include <stdlib.h>

bool copies_begin(struct copies *copies, const struct queue_run_request *request)
{
    *copies = (struct copies){.request = request,
                              .kinds = calloc((size_t)request->kind_count + 1, sizeof *copies->kinds),
                              .memory_left = request->transfers.memory_bytes};
    return copies->kinds != NULL;
}

void copies_end(struct copies *copies)
{
    for (uint32_t k = 0; copies->kinds && k < copies->request->kind_count; k++)
        vector_free(&copies->kinds[k].in.numbers);
    free(copies->kinds);
    vector_free(&copies->out.numbers);
}

static const struct queue_run_kind *kind_of(const struct copies *copies, size_t number)
{
    return &copies->request->kinds[copies->request->submissions[number].kind];
}

bool copies_add(struct copies *copies, uint32_t direction, size_t number)
{
    uint32_t kind = copies->request->submissions[number].kind;
    return vector_push(&(direction == COPY_OUT ? &copies->out : &copies->kinds[kind].in)->numbers, number);
}

/* The line whose first launch is next; NULL: nothing waits. Of kinds that have equally many launches on the device, the oldest launch. */
static struct copy_line *line_of(struct copies *copies, uint32_t direction)
{
    if (direction == COPY_OUT)
        return copies->out.first < copies->out.numbers.count ? &copies->out : NULL;
    struct copy_kind *best = NULL;
    for (uint32_t k = 0; k < copies->request->kind_count; k++) {
        struct copy_kind *kind = &copies->kinds[k];
        if (kind->in.first == kind->in.numbers.count)
            continue;
        size_t number = kind->in.numbers.data[kind->in.first];
        if (!best || kind->held < best->held ||
            (kind->held == best->held && number < best->in.numbers.data[best->in.first]))
            best = kind;
    }
    return best ? &best->in : NULL;
}

/* The line whose first launch can be copied now; NULL: none can. */
static struct copy_line *next_line(struct copies *copies, uint32_t direction)
{
    struct copy_line *line = line_of(copies, direction);
    if (line && direction == COPY_IN &&
        kind_of(copies, line->numbers.data[line->first])->device_bytes > copies->memory_left)
        return NULL;
    return line;
}

static void start(struct copies *copies, struct copy_engine *engine, uint32_t direction, uint64_t now)
{
    const struct queue_transfers *transfers = &copies->request->transfers;
    struct copy_line *line = engine->busy ? NULL : next_line(copies, direction);
    if (!line)
        return;
    size_t number = line->numbers.data[line->first++];
    const struct queue_run_kind *kind = kind_of(copies, number);
    uint64_t bytes = direction == COPY_IN ? kind->bytes_in : kind->bytes_out;
    uint64_t ticks_per_second = (uint64_t)copies->request->device->clock_khz * 1000;
    unsigned __int128 ticks = ((unsigned __int128)bytes * ticks_per_second + transfers->bytes_per_second - 1) /
                              (transfers->bytes_per_second ? transfers->bytes_per_second : 1);
    if (direction == COPY_IN) {
        copies->memory_left -= kind->device_bytes;
        copies->kinds[copies->request->submissions[number].kind].held++;
    }
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
        if (engine->direction == COPY_OUT) {
            copies->memory_left += kind_of(copies, engine->number)->device_bytes;
            copies->kinds[copies->request->submissions[engine->number].kind].held--;
        }
        return true;
    }
    return false;
}

bool copies_busy(const struct copies *copies)
{
    return copies->engines[0].busy || copies->engines[1].busy;
}
