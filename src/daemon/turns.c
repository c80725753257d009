/* SPDX-License-Identifier: MIT */
/* The node: whose turn it is, and when time goes on. */
#include "daemon/journal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLICE_CYCLES 50000u /* between two looks at sockets */

enum corun_status node_create(const struct node_settings *settings, struct corun_diagnostics *list,
                              struct node **result)
{
    *result = NULL;
    struct node *node = calloc(1, sizeof *node);
    if (!node)
        return CORUN_MEMORY;
    node->settings = *settings;
    node->list = list;
    snprintf(node->policy, sizeof node->policy, "%s", settings->policy_text ? settings->policy_text : "");
    node->begun = settings->expected_count == 0;
    node->arrived = calloc(settings->expected_count + 1, sizeof *node->arrived);
    struct corun_limits limits = {.threads = settings->threads,
                                  .launch_cycles = settings->launch_cycles,
                                  .applications = CORUN_MAX_APPLICATIONS,
                                  .policy_call = settings->policy_call};
    node->ended = calloc(settings->expected_count + 1, sizeof *node->ended);
    enum corun_status status = node->arrived && node->ended ? CORUN_OK : CORUN_MEMORY;
    if (status == CORUN_OK)
        status = corun_gpu_create(&settings->configuration, list, &node->gpu);
    if (status == CORUN_OK)
        corun_gpu_profile(node->gpu, settings->profiled != NULL);
    if (status == CORUN_OK && settings->policy)
        status = corun_gpu_set_policy(node->gpu, settings->policy, settings->parameters, list);
    if (status == CORUN_OK && !watch_begin(node))
        status = CORUN_MEMORY;
    if (status == CORUN_OK)
        status = corun_gpu_open(node->gpu, &limits, list);
    if (status == CORUN_OK && settings->journal && !(node->journal = node_journal_open(settings->journal, node)))
        status = corun_report(list, CORUN_FILE, (struct corun_place){settings->journal, 0, 0},
                              "the journal cannot be written: %s", strerror(errno));
    if (status != CORUN_OK) {
        node_destroy(node);
        return status;
    }
    *result = node;
    return CORUN_OK;
}

void node_destroy(struct node *node)
{
    if (!node)
        return;
    while (node->sessions.count)
        session_end(node->sessions.data[node->sessions.count - 1]);
    vector_free(&node->sessions);
    vector_free(&node->known);
    node_journal_close(node->journal);
    corun_gpu_destroy(node->gpu);
    watch_end(node);
    free(node->arrived);
    free(node->ended);
    free(node);
}

static bool all_arrived(const struct node *node)
{
    for (uint32_t i = 0; i < node->settings.expected_count; i++)
        if (!node->arrived[i])
            return false;
    return true;
}

void node_place_ends(struct node *node, uint32_t place)
{
    node->ended[place] = node->arrived[place] = true;
}

bool node_place_is_empty(const struct node *node, uint32_t place)
{
    for (size_t i = 0; i < node->sessions.count; i++) {
        const struct session *session = node->sessions.data[i];
        if (session->joined && session->number == place && !session->gone && !session->broken)
            return false;
    }
    return node->settings.keeps_places && place < node->settings.expected_count && !node->ended[place];
}

/* Whether a client below this number may still come: then it is its turn. */
static bool has_empty_place(const struct node *node, uint32_t below)
{
    for (uint32_t i = 0; i < below && i < node->settings.expected_count; i++)
        if (node_place_is_empty(node, i))
            return true;
    return false;
}

/* The client with the lowest number that takes part and does not wait; NULL: all wait. */
static struct session *at_turn(const struct node *node)
{
    struct session *first = NULL;
    for (size_t i = 0; i < node->sessions.count; i++) {
        struct session *session = node->sessions.data[i];
        if (session->takes_part && !session->waits && !session->idle && !session->broken &&
            (!first || session->number < first->number))
            first = session;
    }
    return first;
}

struct session *node_holder(const struct node *node)
{
    return node->begun && !node->failed ? at_turn(node) : NULL;
}

/* What nobody else notices, of everybody. */
static bool serve_privately(const struct node *node)
{
    bool any = false;
    for (size_t i = 0; i < node->sessions.count; i++)
        while (session_serve(node->sessions.data[i], false))
            any = true;
    return any;
}

/* Waiting clients for which something has happened go on. In any order: each is told of its own. */
static void let_go_on(const struct node *node, enum corun_status status)
{
    uint64_t now = corun_gpu_cycles(node->gpu);
    for (size_t i = 0; i < node->sessions.count; i++) {
        struct session *session = node->sessions.data[i];
        if (!session->waits)
            continue;
        bool any = status != CORUN_OK || now >= session->until || now >= session->wake;
        for (uint32_t n = 0; n < CORUN_MAX_APPLICATIONS; n++)
            if (session->spaces[n])
                any |= space_tell(session->spaces[n]);
        const struct wire_time time = {status, 0, now};
        if (any)
            session_send(session, WIRE_TIME, &time, NULL, 0);
        session->waits = !any;
    }
}

/* All wait: time goes on. False: there is nobody. */
static bool advance(struct node *node)
{
    uint64_t until = UINT64_MAX, wake = UINT64_MAX, most = corun_gpu_cycles(node->gpu) + SLICE_CYCLES;
    bool any = false;
    for (size_t i = 0; i < node->sessions.count; i++) {
        const struct session *session = node->sessions.data[i];
        if (!session->takes_part || session->idle || session->broken)
            continue;
        any = true;
        until = session->until < until ? session->until : until;
        wake = session->wake < wake ? session->wake : wake;
    }
    if (!any)
        return false;
    corun_gpu_wake(node->gpu, CORUN_NO_APPLICATION, wake);
    enum corun_status status = corun_gpu_advance(node->gpu, until < most ? until : most);
    node->failed |= status != CORUN_OK;
    let_go_on(node, status);
    return true;
}

bool node_work(struct node *node)
{
    bool any = serve_privately(node);
    if (node->failed)
        return false;
    if (!node->begun && !(node->begun = all_arrived(node)))
        return any;
    struct session *session;
    while ((session = at_turn(node))) {
        if (has_empty_place(node, session->number))
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
    return (!has_empty_place(node, UINT32_MAX) && advance(node)) || any;
}
