/* SPDX-License-Identifier: MIT */
/* A GPU of the node: whose turn it is, and when time goes on. */
#include "daemon/node.h"

#define SLICE_CYCLES 50000u /* between two looks at sockets */

/* Whether a client below this number may still come to the GPU: then it is its turn. */
static bool has_empty_place(const struct device *device, uint32_t below)
{
    const struct node *node = device->node;
    for (uint32_t i = 0; i < below && i < node->settings.expected_count; i++)
        if (node->places[i] == device->index && node_place_is_empty(node, i))
            return true;
    return false;
}

/* The client with the lowest number that takes part and does not wait; NULL: all wait. */
static struct session *at_turn(const struct device *device)
{
    const struct node *node = device->node;
    struct session *first = NULL;
    for (size_t i = 0; i < node->sessions.count; i++) {
        struct session *session = node->sessions.data[i];
        if (session->device == device && session->takes_part && !session->waits && !session->idle && !session->broken &&
            (!first || session->number < first->number))
            first = session;
    }
    return first;
}

struct session *device_holder(const struct device *device)
{
    const struct node *node = device->node;
    bool turns = node->begun && !node->failed && !node->draining && node->settings.pace <= 0;
    return turns ? at_turn(device) : NULL;
}

/* Waiting clients for which something has happened go on. In any order: each is told of its own. */
static void let_go_on(const struct device *device, enum corun_status status)
{
    const struct node *node = device->node;
    uint64_t now = corun_gpu_cycles(device->gpu);
    for (size_t i = 0; i < node->sessions.count; i++) {
        struct session *session = node->sessions.data[i];
        if (session->device != device)
            continue;
        if (!session->waits) { /* else only its waiting would drain them */
            for (uint32_t n = 0; node->draining && n < CORUN_MAX_APPLICATIONS; n++)
                if (session->spaces[n])
                    (void)space_tell(session->spaces[n]);
            continue;
        }
        bool any = status != CORUN_OK || now >= session->until || now >= session->wake;
        for (uint32_t n = 0; n < CORUN_MAX_APPLICATIONS; n++)
            if (session->spaces[n])
                any |= space_tell(session->spaces[n]) && !session->rests;
        const struct wire_time time = {status, 0, now};
        if (any)
            session_send(session, WIRE_TIME, &time, NULL, 0);
        session->waits = !any;
    }
}

/* All wait: time goes on. False: there is nobody. */
static bool advance(struct device *device)
{
    uint64_t until = UINT64_MAX, wake = UINT64_MAX, most = corun_gpu_cycles(device->gpu) + SLICE_CYCLES;
    const struct node *node = device->node;
    bool any = false;
    for (size_t i = 0; i < node->sessions.count; i++) {
        const struct session *session = node->sessions.data[i];
        if (session->device != device || !session->takes_part || session->idle || session->broken)
            continue;
        any = true;
        until = session->until < until ? session->until : until;
        wake = session->wake < wake ? session->wake : wake;
    }
    if (!any)
        return false;
    corun_gpu_wake(device->gpu, CORUN_NO_APPLICATION, wake);
    enum corun_status status = corun_gpu_advance(device->gpu, until < most ? until : most);
    device->node->failed |= status != CORUN_OK;
    let_go_on(device, status);
    return true;
}

/* ---- at a pace ---- */

bool device_follows_clock(const struct device *device)
{
    const struct node *node = device->node;
    bool any = false;
    for (size_t i = 0; i < node->sessions.count; i++)
        any |= node->sessions.data[i]->device == device && node->sessions.data[i]->takes_part;
    return any && node->begun && !node->failed && node->settings.pace > 0;
}

void device_pass(struct device *device, uint64_t nanoseconds)
{
    double hz = device->node->settings.pace * device->configuration.core_clock_khz * 1e3;
    uint64_t now = corun_gpu_cycles(device->gpu), most = now + (uint64_t)(hz * (double)PACE_MOST_BEHIND_NS / 1e9) + 1;
    if (!device_follows_clock(device)) {
        device->paced_part = 0;
        device->paced_until = now;
        return;
    }
    double cycles = hz * (double)nanoseconds / 1e9 + device->paced_part;
    uint64_t whole = (uint64_t)cycles;
    device->paced_part = cycles - (double)whole;
    device->paced_until = (device->paced_until > now ? device->paced_until : now) + whole;
    if (device->paced_until > most) {
        device->missed_cycles += device->paced_until - most;
        device->paced_until = most;
    }
}

/* Everybody who calls. False: nobody had anything to say. */
static bool serve_everybody(const struct device *device)
{
    const struct node *node = device->node;
    bool any = false;
    for (size_t i = 0; i < node->sessions.count && !node->failed; i++) {
        struct session *session = node->sessions.data[i];
        while (session->device == device && session_serve(session, true))
            any = true;
        if (session->device == device && session->hung_up && !session->gone && !session->waits && !session->broken) {
            session_clear(session);
            session->gone = any = true;
        }
    }
    return any;
}

static bool has_flights(const struct device *device)
{
    bool any = false;
    for (uint32_t s = 0; s < CORUN_MAX_APPLICATIONS; s++)
        for (size_t i = 0; device->spaces[s] && i < device->spaces[s]->flights.count; i++)
            any |= !device->spaces[s]->flights.data[i].told;
    return any;
}

bool node_is_drained(const struct node *node)
{
    bool any = false;
    for (uint32_t i = 0; i < node->device_count; i++)
        any |= has_flights(&node->devices[i]);
    for (size_t i = 0; i < node->sessions.count; i++)
        any |= node->sessions.data[i]->file >= 0;
    return !any;
}

/* The first cycle for which a client waits, and no later than that one. */
static uint64_t first_wanted(const struct device *device, uint64_t now, uint64_t until)
{
    const struct node *node = device->node;
    uint64_t first = until;
    for (size_t i = 0; i < node->sessions.count; i++) {
        const struct session *session = node->sessions.data[i];
        if (session->device != device || !session->waits)
            continue;
        first = session->until > now && session->until < first ? session->until : first;
        first = session->wake > now && session->wake < first ? session->wake : first;
    }
    return first;
}

/* At a pace, or to drain: everybody is served, nobody is waited for. True: time has still to go on. */
static bool work_freely(struct device *device)
{
    struct node *node = device->node;
    bool any = serve_everybody(device), drains = node->draining;
    uint64_t now = corun_gpu_cycles(device->gpu), until = device->paced_until;
    enum corun_status status = CORUN_OK;
    if (drains)
        until = has_flights(device) ? UINT64_MAX : now;
    if (!node->failed && until > now) {
        uint64_t wake = first_wanted(device, now, until);
        corun_gpu_wake(device->gpu, CORUN_NO_APPLICATION, wake);
        status = corun_gpu_advance(device->gpu, wake < now + SLICE_CYCLES ? wake : now + SLICE_CYCLES);
        node->failed |= status != CORUN_OK;
    }
    let_go_on(device, status);
    uint64_t then = corun_gpu_cycles(device->gpu);
    if (!drains && then == now && until > now) /* nobody is on the machine: this time is nobody's */
        device->paced_until = now;
    return any || (!node->failed && then > now && then < until);
}

bool device_work(struct device *device)
{
    struct node *node = device->node;
    bool any = false;
    if (node->settings.pace > 0 || node->draining)
        return work_freely(device);
    struct session *session;
    while ((session = at_turn(device))) {
        if (has_empty_place(device, session->number))
            return any;
        if (!session_serve(session, true) && !session->broken) {
            if (!session->hung_up)
                return any; /* it computes */
            session_clear(session);
            session->gone = true;
        }
        any = true;
        if (node->failed)
            return false;
    }
    return (!has_empty_place(device, UINT32_MAX) && advance(device)) || any;
}
