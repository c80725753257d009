/* SPDX-License-Identifier: MIT */
/* The node: its GPUs and clients, from beginning to end. */
#include "daemon/journal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum corun_status open_device(struct node *node, uint32_t index, const struct node_gpu *settings)
{
    struct device *device = &node->devices[index];
    const struct node_settings *all = &node->settings;
    device->node = node;
    device->index = index;
    device->configuration = settings->configuration;
    device->policy = all->policy;
    snprintf(device->policy_text, sizeof device->policy_text, "%s", all->policy_text ? all->policy_text : "");
    struct corun_limits limits = {.threads = all->threads,
                                  .launch_cycles = settings->launch_cycles,
                                  .applications = CORUN_MAX_APPLICATIONS,
                                  .policy_call = all->policy_call};
    enum corun_status status = corun_gpu_create(&device->configuration, node->list, &device->gpu);
    if (status == CORUN_OK)
        node->device_count = index + 1;
    if (status == CORUN_OK)
        corun_gpu_profile(device->gpu, all->profiled != NULL);
    if (status == CORUN_OK && all->policy)
        status = corun_gpu_set_policy(device->gpu, all->policy, all->parameters, node->list);
    if (status == CORUN_OK && !watch_begin(device))
        status = CORUN_MEMORY;
    return status == CORUN_OK ? corun_gpu_open(device->gpu, &limits, node->list) : status;
}

enum corun_status node_create(const struct node_settings *settings, struct corun_diagnostics *list,
                              struct node **result)
{
    *result = NULL;
    struct node *node = calloc(1, sizeof *node);
    if (!node)
        return CORUN_MEMORY;
    node->settings = *settings;
    node->list = list;
    node->begun = settings->expected_count == 0;
    node->arrived = calloc(settings->expected_count + 1, sizeof *node->arrived);
    node->ended = calloc(settings->expected_count + 1, sizeof *node->ended);
    node->places = calloc(settings->expected_count + 1, sizeof *node->places);
    enum corun_status status = node->arrived && node->ended && node->places ? CORUN_OK : CORUN_MEMORY;
    if (settings->gpu_count > WIRE_MOST_GPUS)
        status = corun_report(list, CORUN_LIMIT, CORUN_NOWHERE, "there can be %u GPUs", WIRE_MOST_GPUS);
    for (uint32_t i = 0; i < settings->gpu_count && status == CORUN_OK; i++)
        status = open_device(node, i, &settings->gpus[i]);
    if (status == CORUN_OK)
        placement_of_expected(node);
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
    node_journal_close(node->journal);
    for (uint32_t i = 0; i < node->device_count; i++) {
        vector_free(&node->devices[i].known);
        corun_gpu_destroy(node->devices[i].gpu);
        watch_end(&node->devices[i]);
    }
    free(node->arrived);
    free(node->ended);
    free(node->places);
    free(node);
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

static bool all_arrived(const struct node *node)
{
    for (uint32_t i = 0; i < node->settings.expected_count; i++)
        if (!node->arrived[i])
            return false;
    return true;
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

bool node_work(struct node *node)
{
    bool any = serve_privately(node);
    if (node->failed)
        return false;
    if (!node->begun && !(node->begun = all_arrived(node)))
        return any;
    for (uint32_t i = 0; i < node->device_count && !node->failed; i++)
        any |= device_work(&node->devices[i]);
    return any && !node->failed;
}

void node_pass(struct node *node, uint64_t nanoseconds)
{
    for (uint32_t i = 0; i < node->device_count; i++)
        device_pass(&node->devices[i], nanoseconds);
}

bool node_follows_clock(const struct node *node)
{
    bool any = false;
    for (uint32_t i = 0; i < node->device_count; i++)
        any |= device_follows_clock(&node->devices[i]);
    return any;
}
