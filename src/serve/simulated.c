/* SPDX-License-Identifier: MIT */
/* Slices as launches of a simulated GPU that is driven from outside (corun_gpu_open). */
#include "serve/simulated.h"

#include "base/vector.h"
#include "serve/slice_grid.h"

#include <stdlib.h>

/* A stream of a strand: its next slice starts no earlier than this. */
struct stream {
    uint32_t strand;
    bool busy, used;
    uint64_t free_cycle;
};

struct flight {
    struct queue_slice slice;
    struct slice_grid *grid;
    uint32_t launch; /* of the GPU's application */
    size_t stream;
    bool ended;
    uint64_t end_cycle;
};

struct simulated {
    const struct corun_grid *const *grids;
    struct corun_gpu *gpu;
    uint32_t application;
    uint64_t interval_cycles, gap_cycles; /* of launches */
    uint64_t now, host_cycle;             /* when the host can launch again */
    VECTOR(struct stream) streams;
    VECTOR(struct flight) flights; /* in the order of launch */
};

uint64_t simulated_cycles(const struct corun_gpu_config *config, uint64_t nanoseconds)
{
    return (nanoseconds * config->core_clock_khz + 999999) / 1000000;
}

enum corun_status simulated_create(const struct corun_gpu_config *config, const struct corun_grid *const *grids,
                                   struct corun_diagnostics *list, struct simulated **result)
{
    *result = NULL;
    struct simulated *machine = calloc(1, sizeof *machine);
    if (!machine)
        return CORUN_MEMORY;
    machine->grids = grids;
    machine->interval_cycles = simulated_cycles(config, config->launch_interval_ns);
    machine->gap_cycles = simulated_cycles(config, config->launch_gap_ns);
    const struct corun_application_description description = {.name = "queue"};
    const struct corun_limits limits = {.applications = 1};
    enum corun_status status = corun_gpu_create(config, list, &machine->gpu);
    if (status == CORUN_OK)
        status = corun_gpu_add(machine->gpu, &description, &machine->application);
    if (status == CORUN_OK)
        status = corun_gpu_open(machine->gpu, &limits, list);
    if (status != CORUN_OK) {
        simulated_destroy(machine);
        return status;
    }
    *result = machine;
    return CORUN_OK;
}

void simulated_destroy(struct simulated *machine)
{
    if (!machine)
        return;
    corun_gpu_destroy(machine->gpu); /* before the grids that it refers to */
    for (size_t i = 0; i < machine->flights.count; i++)
        free(machine->flights.data[i].grid);
    vector_free(&machine->flights);
    vector_free(&machine->streams);
    free(machine);
}

const struct corun_gpu *simulated_gpu(const struct simulated *machine)
{
    return machine->gpu;
}

/* A stream of the strand with nothing in it; the one that has been free for the longest time. */
static bool take_stream(struct simulated *machine, uint32_t strand, size_t *index)
{
    size_t best = machine->streams.count;
    for (size_t i = 0; i < machine->streams.count; i++) {
        const struct stream *stream = &machine->streams.data[i];
        if (stream->strand == strand && !stream->busy &&
            (best == machine->streams.count || stream->free_cycle < machine->streams.data[best].free_cycle))
            best = i;
    }
    *index = best;
    return best < machine->streams.count || vector_push(&machine->streams, ((struct stream){.strand = strand}));
}

static enum corun_status launch(void *user, uint64_t now, const struct queue_slice *slice)
{
    struct simulated *machine = user;
    struct flight flight = {.slice = *slice, .grid = malloc(sizeof *flight.grid)};
    if (!flight.grid || !take_stream(machine, slice->strand, &flight.stream)) {
        free(flight.grid);
        return CORUN_MEMORY;
    }
    struct stream *stream = &machine->streams.data[flight.stream];
    uint64_t issue = now > machine->host_cycle ? now : machine->host_cycle;
    uint64_t free_cycle = stream->used ? stream->free_cycle + machine->gap_cycles : 0;
    machine->host_cycle = issue + machine->interval_cycles;
    slice_grid_make(flight.grid, machine->grids[slice->kind], slice->first, slice->tbs);
    if (!vector_push(&machine->flights, flight)) {
        free(flight.grid);
        return CORUN_MEMORY;
    }
    stream->busy = stream->used = true;
    return corun_gpu_launch(machine->gpu, machine->application, &flight.grid->grid,
                            issue > free_cycle ? issue : free_cycle, 0,
                            &machine->flights.data[machine->flights.count - 1].launch);
}

/* The launch that has ended first, of those that have; NULL: none has. */
static struct flight *first_ended(struct simulated *machine, enum corun_status *status)
{
    struct flight *first = NULL;
    for (size_t i = 0; i < machine->flights.count; i++) {
        struct flight *flight = &machine->flights.data[i];
        if (!flight->ended) {
            struct corun_launched launched;
            corun_gpu_launched(machine->gpu, machine->application, flight->launch, &launched);
            if (launched.ended && launched.status != CORUN_OK)
                *status = launched.status;
            flight->ended = launched.ended;
            flight->end_cycle = launched.last_cycle;
        }
        if (flight->ended && (!first || flight->end_cycle < first->end_cycle))
            first = flight;
    }
    return first;
}

static void end_flight(struct simulated *machine, struct flight *flight, struct queue_slice *ended)
{
    struct stream *stream = &machine->streams.data[flight->stream];
    stream->busy = false;
    stream->free_cycle = flight->end_cycle;
    *ended = flight->slice;
    (void)corun_gpu_forget(machine->gpu, machine->application, flight->launch);
    free(flight->grid);
    size_t index = (size_t)(flight - machine->flights.data);
    machine->flights.count--;
    for (size_t i = index; i < machine->flights.count; i++)
        machine->flights.data[i] = machine->flights.data[i + 1];
}

static enum corun_status wait(void *user, uint64_t until, uint64_t *now, struct queue_slice *ended, bool *any)
{
    struct simulated *machine = user;
    *any = false;
    for (;;) {
        enum corun_status status = CORUN_OK;
        struct flight *flight = first_ended(machine, &status);
        if (status != CORUN_OK)
            return status;
        if (flight && flight->end_cycle <= until) {
            machine->now = flight->end_cycle > machine->now ? flight->end_cycle : machine->now;
            *now = machine->now;
            *any = true;
            end_flight(machine, flight, ended);
            return CORUN_OK;
        }
        if (flight || corun_gpu_cycles(machine->gpu) >= until) {
            machine->now = until > machine->now ? until : machine->now;
            *now = machine->now;
            return CORUN_OK;
        }
        corun_gpu_wake(machine->gpu, CORUN_NO_APPLICATION, until);
        status = corun_gpu_advance(machine->gpu, until);
        if (status != CORUN_OK)
            return status;
    }
}

struct queue_machine simulated_operations(struct simulated *machine)
{
    return (struct queue_machine){.launch = launch, .wait = wait, .user = machine};
}

void simulated_counters(const struct simulated *machine, uint32_t kind, struct corun_counters *counters,
                        uint64_t *cycles)
{
    struct corun_application_result application;
    *counters = (struct corun_counters){0};
    *cycles = 0;
    corun_gpu_application(machine->gpu, machine->application, &application);
    for (uint32_t k = 0; k < application.kernel_count; k++) {
        struct corun_kernel_result kernel;
        corun_gpu_kernel(machine->gpu, machine->application, k, &kernel);
        if (kernel.name != machine->grids[kind]->name)
            continue;
        *counters = kernel.counters;
        *cycles = kernel.cycles;
    }
}
