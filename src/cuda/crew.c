/* SPDX-License-Identifier: MIT */
/* Queues of launches by workers, and the table of what SMs owe. */
#include "cuda/crew.h"

#include "base/bits.h"
#include "base/number.h"
#include "corun/workload.h"
#include "cuda/context.h"
#include "cuda/device.h"
#include "cuda/module.h"
#include "cuda/task.h"
#include "isa/memory.h"

#include <stdlib.h>
#include <string.h>

#define PATIENCE 50u /* launches of workers of a grid, until every place is owed */

bool crewing_parse(const char *text, struct crewing *crewing)
{
    *crewing = (struct crewing){.on = true};
    return number_parse(text, 1000, &crewing->seed);
}

static void set_limit(const struct context *context, uint32_t sm, uint16_t limit)
{
    (void)corun_memory_write(context->memory, context->crew->places + sm * sizeof(struct worker_place), &limit,
                             sizeof limit);
}

static void set_limits(const struct context *context, uint16_t limit)
{
    for (uint32_t sm = 0; sm < context->device->config.sms; sm++)
        set_limit(context, sm, limit);
}

void crew_disturb(struct context *context)
{
    static const uint16_t limits[] = {0, 1, 2, WORKERS_UNLIMITED};
    struct crew_memory *crew = context->crew;
    for (uint32_t sm = 0; crew && crew->random && sm < context->device->config.sms; sm++)
        if (corun_random(&crew->random) % 4 == 0)
            set_limit(context, sm, limits[corun_random(&crew->random) % 4]);
}

static struct crew_memory *memory_of(struct context *context, uint64_t seed)
{
    if (context->crew)
        return context->crew;
    struct crew_memory *crew = calloc(1, sizeof *crew);
    uint64_t bytes = context->device->config.sms * sizeof(struct worker_place);
    struct worker_place *places = calloc(context->device->config.sms, sizeof *places);
    bool good =
        crew && places && corun_memory_allocate(context->memory, bytes, &crew->places) == CORUN_OK &&
        corun_memory_allocate(context->memory, CREW_QUEUES * sizeof(struct worker_queue), &crew->queues) == CORUN_OK &&
        corun_memory_write(context->memory, crew->places, places, bytes) == CORUN_OK;
    free(places);
    if (!good) {
        free(crew);
        return NULL;
    }
    memory_conceal(context->memory, crew->places);
    memory_conceal(context->memory, crew->queues);
    crew->random = seed;
    context->crew = crew;
    set_limits(context, WORKERS_UNLIMITED);
    return crew;
}

static uint32_t take_queue(struct crew_memory *crew)
{
    for (uint32_t i = 0; i < CREW_QUEUES / 64; i++) {
        if (crew->used[i] == UINT64_MAX)
            continue;
        uint32_t bit = lowest_bit(~crew->used[i]);
        crew->used[i] |= UINT64_C(1) << bit;
        return 64 * i + bit;
    }
    return CREW_QUEUES;
}

static uint64_t queue_address(const struct crew_walk *walk)
{
    return walk->context->crew->queues + walk->queue * sizeof(struct worker_queue);
}

bool crew_begin(struct crew_walk *walk, const struct crewing *crewing, const struct launch_request *request,
                struct context *context, uint64_t id)
{
    struct crew_memory *crew = memory_of(context, crewing->seed);
    uint64_t total = (uint64_t)request->grid.x * request->grid.y * request->grid.z;
    if (!crew)
        return false;
    *walk = (struct crew_walk){.context = context, .queue = CREW_QUEUES, .id = id, .flags = WORKERS_SEATED};
    if (!request->cooperative && total <= WORKERS_MOST_BLOCKS)
        walk->queue = take_queue(crew);
    if (crew->random)
        walk->flags = (uint32_t)(corun_random(&crew->random) % 8); /* SEATED, STRICT, TELL, or not */
    if (walk->queue == CREW_QUEUES)
        walk->flags = WORKERS_DIRECT;
    return true;
}

/* Two for each SM, or fewer if there are fewer thread blocks; with a seed, any number up to that. */
static uint32_t workers_of(struct crew_walk *walk, uint64_t total)
{
    uint64_t most = 2 * (uint64_t)walk->context->device->config.sms;
    most = most < total ? most : total;
    uint64_t *random = &walk->context->crew->random;
    return (uint32_t)(*random ? 1 + corun_random(random) % most : most);
}

void crew_describe(struct crew_walk *walk, const struct launch_request *request,
                   struct corun_launch_description *description)
{
    const uint32_t grid[] = {request->grid.x, request->grid.y, request->grid.z};
    struct worker_arguments arguments;
    worker_arguments_set(&arguments, grid, walk->flags);
    arguments.grid_id = walk->id;
    if (!(walk->flags & WORKERS_DIRECT)) {
        uint32_t workers = workers_of(walk, (uint64_t)grid[0] * grid[1] * grid[2]);
        struct worker_queue queue;
        worker_queue_set(&queue, &arguments, workers);
        if (!walk->launches++)
            (void)corun_memory_write(walk->context->memory, queue_address(walk), &queue, sizeof queue);
        arguments.queue = queue_address(walk);
        arguments.places = walk->context->crew->places;
        description->grid = (struct corun_dim3){workers, 1, 1};
        walk->flags &= ~(uint32_t)WORKERS_SEATED;
    }
    memcpy(request->parameters + request->function->rewritten->parameter_offset, &arguments, sizeof arguments);
}

bool crew_next(struct crew_walk *walk)
{
    struct worker_queue queue = {0};
    if (walk->flags & WORKERS_DIRECT ||
        corun_memory_read(walk->context->memory, queue_address(walk), &queue, sizeof queue) != CORUN_OK ||
        queue.next >= queue.total)
        return false;
    crew_disturb(walk->context);
    if (walk->launches >= PATIENCE)
        set_limits(walk->context, WORKERS_UNLIMITED);
    return true;
}

void crew_end(const struct crew_walk *walk)
{
    if (walk->queue != CREW_QUEUES)
        walk->context->crew->used[walk->queue / 64] &= ~(UINT64_C(1) << walk->queue % 64);
}
