/* SPDX-License-Identifier: MIT */
/* The machine of the daemon below this process's streams. An application has the number of its context's memory. */
#include "cuda/remote.h"

#include "cuda/remote_link.h"
#include "isa/executor.h"
#include "isa/stack.h"

#include <stdlib.h>
#include <string.h>

static struct remote_launch *find(const struct remote *remote, uint32_t application, uint32_t number)
{
    for (size_t i = 0; i < remote->launches.count; i++)
        if (remote->launches.data[i].application == application && remote->launches.data[i].number == number)
            return &remote->launches.data[i];
    return NULL;
}

void remote_ended(struct remote *remote, const struct wire_frame *frame)
{
    struct wire_ended ended;
    wire_body(frame, &ended);
    struct remote_launch *launch = find(remote, ended.memory, ended.number);
    if (!launch)
        return;
    launch->launched =
        (struct corun_launched){true, remote_status(ended.status), ended.first_cycle, ended.last_cycle, false};
    launch->counters = ended.counters;
}

static uint64_t cycles(void *machine)
{
    const struct remote *remote = machine;
    return remote->cycle;
}

static const struct corun_gpu_config *configuration(void *machine)
{
    const struct remote *remote = machine;
    return &remote->configuration;
}

static enum corun_status add(void *machine, const struct corun_application_description *description, uint32_t memory,
                             uint32_t *application)
{
    const struct wire_memory body = {memory};
    struct wire_place place;
    (void)description; /* the daemon knows its client */
    enum corun_status status = remote_place(machine, WIRE_ENTER, &body, NULL, 0, &place);
    if (status == CORUN_OK)
        *application = memory;
    return status;
}

/* Keeps the launches of other applications. */
static enum corun_status leave(void *machine, uint32_t application)
{
    struct remote *remote = machine;
    const struct wire_memory body = {application};
    size_t kept = 0;
    for (size_t i = 0; i < remote->launches.count; i++)
        if (remote->launches.data[i].application != application)
            remote->launches.data[kept++] = remote->launches.data[i];
    remote->launches.count = kept;
    return remote_ask(remote, WIRE_LEAVE, &body);
}

static bool number_of(const struct remote_space *space, const struct corun_module_instance *instance, uint32_t *number)
{
    for (size_t i = space->instances.count; i-- > 0;)
        if (space->instances.data[i].instance == instance) {
            *number = space->instances.data[i].number;
            return true;
        }
    return false;
}

static enum corun_status launch(void *machine, uint32_t application, const struct corun_grid *grid, uint64_t cycle,
                                int32_t priority, uint32_t *number)
{
    struct remote *remote = machine;
    const struct launch *made = (const struct launch *)grid;
    struct wire_launch body = {
        .memory = application,
        .kernel = made->kernel->index,
        .grid = made->dim,
        .block = made->block,
        .dynamic_shared_bytes = made->dynamic_shared_bytes,
        .priority = priority,
        .cluster = {(uint8_t)made->cluster.x, (uint8_t)made->cluster.y, (uint8_t)made->cluster.z},
        .cluster_balanced = grid->cluster_balanced,
        .meeting_address = made->meeting_address,
        .cycle = cycle,
        .stack_bytes = STACK_BYTES + (made->local_bytes - made->kernel->local_bytes)};
    struct wire_frame frame;
    struct wire_launched launched;
    if (made->parameter_bytes > WIRE_MOST_PARAMETERS ||
        !number_of(&remote->spaces[application], made->instance, &body.module))
        return CORUN_ARGUMENT;
    enum corun_status status = remote_come_back(remote);
    if (status != CORUN_OK)
        return status;
    if (!wire_send(&remote->link, WIRE_LAUNCH, &body, made->parameters, made->parameter_bytes) ||
        !remote_answer(remote, WIRE_LAUNCHED, &frame))
        return remote_lost(remote);
    wire_body(&frame, &launched);
    struct remote_launch kept = {application, launched.number, {0}, launched.before};
    *number = launched.number;
    if (launched.status == CORUN_OK && !vector_push(&remote->launches, kept))
        return CORUN_MEMORY;
    return remote_status(launched.status);
}

static void launched(void *machine, uint32_t application, uint32_t number, struct corun_launched *result)
{
    const struct remote_launch *kept = find(machine, application, number);
    *result = kept ? kept->launched : (struct corun_launched){.ended = true, .status = CORUN_ARGUMENT};
}

static void counters(void *machine, uint32_t application, uint32_t number, struct corun_counters *result)
{
    const struct remote_launch *kept = find(machine, application, number);
    *result = kept ? kept->counters : (struct corun_counters){0};
}

static enum corun_status forget(void *machine, uint32_t application, uint32_t number)
{
    struct remote *remote = machine;
    struct remote_launch *kept = find(remote, application, number);
    if (!kept)
        return CORUN_ARGUMENT;
    *kept = remote->launches.data[--remote->launches.count];
    return CORUN_OK;
}

static uint64_t copy(void *machine, enum corun_copy_engine engine, uint64_t since, uint64_t length_cycles)
{
    const struct wire_copy body = {engine, 0, since, length_cycles};
    struct wire_place place;
    bool known = remote_place(machine, WIRE_COPY, &body, NULL, 0, &place) == CORUN_OK && place.place >= since;
    return known ? place.place : since;
}

/* What time it is, once that is told. */
static enum corun_status hear_time(struct remote *remote)
{
    struct wire_frame frame;
    struct wire_time time;
    if (!remote_answer(remote, WIRE_TIME, &frame))
        return remote_lost(remote);
    wire_body(&frame, &time);
    if (time.cycle < remote->cycle) { /* no corund says that */
        wire_close(&remote->link);
        return remote_lost(remote);
    }
    remote->cycle = time.cycle;
    return remote_status(time.status);
}

static enum corun_status wait_until(struct remote *remote, uint64_t until, uint64_t wake)
{
    const struct wire_wait body = {until, wake};
    if (!wire_send(&remote->link, WIRE_WAIT, &body, NULL, 0))
        return remote_lost(remote);
    return hear_time(remote);
}

static enum corun_status advance(void *machine, uint64_t until, uint64_t wake)
{
    enum corun_status status = remote_come_back(machine);
    return status == CORUN_OK ? wait_until(machine, until, wake) : status;
}

enum corun_status remote_idle(struct remote *remote, uint64_t until)
{
    const struct wire_idle body = {until};
    enum corun_status status = remote->lost ? CORUN_DEADLOCK : remote_come_back(remote);
    if (status != CORUN_OK)
        return status;
    if (!wire_send(&remote->link, WIRE_IDLE, &body, NULL, 0))
        return remote_lost(remote);
    remote->idles = true;
    remote->idle_until = until;
    return CORUN_OK;
}

bool remote_idles(const struct remote *remote, uint64_t *until)
{
    *until = remote->idle_until;
    return remote->idles;
}

enum corun_status remote_come_back(struct remote *remote)
{
    if (!remote->idles)
        return CORUN_OK;
    remote->idles = false;
    return remote->idle_until == UINT64_MAX ? wait_until(remote, 0, 0) : hear_time(remote);
}

uint64_t remote_cycle(const struct remote *remote)
{
    return remote->cycle;
}

/* Its applications have left before. */
static void close_machine(void *machine)
{
    struct remote *remote = machine;
    vector_free(&remote->launches);
}

struct stream_machine remote_machine(struct remote *remote)
{
    static const struct stream_machine_operations operations = {
        cycles, configuration, add, leave, launch, launched, counters, forget, copy, advance, close_machine};
    return (struct stream_machine){&operations, remote};
}
