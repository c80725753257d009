/* SPDX-License-Identifier: MIT */
/* What tools ask for, and programs for themselves: the list of clients, goals, another policy. */
#include "daemon/node.h"

#include "daemon/allowance.h"
#include "daemon/journal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *value_problem(uint32_t goal, double value, double isolated_ipc)
{
    if (goal == CORUN_GOAL_NONE)
        return NULL;
    if (goal != CORUN_GOAL_FRACTION && goal != CORUN_GOAL_IPC)
        return "a goal on a simulated GPU is a part of the rate alone, or thread instructions per cycle";
    if (!isfinite(value) || value <= 0 || value > (goal == CORUN_GOAL_FRACTION ? 1 : 1e9))
        return "a goal is above 0, and as a part of the rate alone at most 100%";
    if (goal == CORUN_GOAL_FRACTION && isolated_ipc <= 0)
        return "the goal is a part of the rate alone, and that is not known: run it once alone under this daemon, or "
               "say --isolated";
    return NULL;
}

const char *goal_problem(const struct session *session, uint32_t goal, double value)
{
    const char *problem = value_problem(goal, value, session->join.isolated_ipc);
    return problem ? problem : share_problem(session, goal, value);
}

/* ---- the list ---- */

/* Its applications together; samples are those of the first one, as most clients have only that. */
static uint32_t describe_applications(const struct session *session, struct wire_client *row,
                                      uint32_t samples[WIRE_MOST_SAMPLES])
{
    const struct device *device = session->device;
    uint32_t count = 0;
    for (uint32_t i = 0; i < CORUN_MAX_APPLICATIONS; i++) {
        const struct space *space = session->spaces[i];
        struct corun_application_result result;
        if (!space)
            continue;
        row->bytes += corun_memory_allocated_bytes(space->memory);
        row->in_flight += (uint32_t)space->flights.count;
        if (space->application == CORUN_NO_APPLICATION)
            continue;
        uint32_t slot = corun_application_slot(space->application);
        corun_gpu_application(device->gpu, space->application, &result);
        uint64_t cycles = corun_gpu_cycles(device->gpu) - result.arrived_cycle;
        row->cycles = cycles > row->cycles ? cycles : row->cycles;
        row->thread_instructions += result.thread_instructions;
        row->sm_cycles += watch_sm_cycles(device, slot);
        if (!count)
            count = watch_samples(device, slot, samples);
    }
    return count;
}

uint32_t session_describe(const struct session *session, struct wire_client *row, uint32_t samples[WIRE_MOST_SAMPLES])
{
    *row = (struct wire_client){.number = session->number,
                                .pid = session->pid,
                                .uid = session->uid,
                                .gpu = session->device->index,
                                .state = WIRE_STATE_GUEST,
                                .goal = session->join.goal,
                                .launches = session->launches,
                                .goal_value = session->join.goal_value,
                                .isolated_ipc = session->join.isolated_ipc};
    memcpy(row->name, session->join.name, sizeof row->name);
    if (session->takes_part)
        row->state = session->waits && !session->rests ? WIRE_STATE_WAITS
                     : session->waits || session->idle ? WIRE_STATE_IDLE
                                                       : WIRE_STATE_HOST;
    uint32_t count = describe_applications(session, row, samples);
    lengths_tell(&session->latencies, &row->p50_cycles, &row->p99_cycles);
    lengths_tell(&session->runs, &row->run_p50_cycles, &row->run_p99_cycles);
    row->runs = session->runs.count;
    if (row->cycles)
        row->ipc = (double)row->thread_instructions / (double)row->cycles;
    return count;
}

void device_describe(const struct device *device, struct wire_node *row)
{
    const struct corun_gpu_config *configuration = &device->configuration;
    const struct session *holder = device_holder(device);
    *row = (struct wire_node){.index = device->index,
                              .cycle = corun_gpu_cycles(device->gpu),
                              .sample_cycles = device->sample_cycles,
                              .memory_bytes = (uint64_t)configuration->memory_mib << 20,
                              .used_bytes = device_bytes(device),
                              .pace = device->node->settings.pace,
                              .missed_cycles = device->missed_cycles,
                              .sms = configuration->sms,
                              .core_clock_khz = configuration->core_clock_khz,
                              .holder = holder ? holder->pid : 0};
    snprintf(row->gpu, sizeof row->gpu, "%s", configuration->name);
    memcpy(row->policy, device->policy_text, sizeof row->policy);
}

void asked_list(struct session *session)
{
    const struct node *node = session->node;
    uint32_t samples[WIRE_MOST_SAMPLES];
    struct wire_node head;
    for (uint32_t i = 0; i < node->device_count; i++) {
        device_describe(&node->devices[i], &head);
        session_send(session, WIRE_NODE, &head, NULL, 0);
    }
    for (size_t i = 0; i < node->sessions.count; i++) {
        struct wire_client row;
        if (!node->sessions.data[i]->joined)
            continue;
        uint32_t count = session_describe(node->sessions.data[i], &row, samples);
        session_send(session, WIRE_CLIENT, &row, samples, count * (uint32_t)sizeof *samples);
    }
    session_done(session, CORUN_OK);
}

/* ---- goals ---- */

static void note_goal(const struct session *client)
{
    const struct wire_join *join = &client->join;
    char text[64] = "none";
    if (join->goal == CORUN_GOAL_FRACTION)
        snprintf(text, sizeof text, "%.6g%%", 100 * join->goal_value);
    else if (join->goal == CORUN_GOAL_IPC)
        snprintf(text, sizeof text, "ipc=%.6g", join->goal_value);
    node_journal_note(client->node->journal, client->device, client, "goal", text);
}

/* Every application of the client gets it; one that the machine refuses keeps what it had. */
static enum corun_status give_goal(struct session *client, const struct wire_goal *goal)
{
    enum corun_status status = CORUN_OK;
    for (uint32_t i = 0; i < CORUN_MAX_APPLICATIONS && status == CORUN_OK; i++)
        if (client->spaces[i] && client->spaces[i]->application != CORUN_NO_APPLICATION)
            status = corun_gpu_set_goal(client->device->gpu, client->spaces[i]->application,
                                        (enum corun_goal_kind)goal->goal, goal->value, 0, client->node->list);
    if (status != CORUN_OK) {
        corun_diagnostics_clear(client->node->list);
        return status;
    }
    client->join.goal = goal->goal;
    client->join.goal_value = goal->goal == CORUN_GOAL_NONE ? 0 : goal->value;
    note_goal(client);
    return CORUN_OK;
}

/* A program's own: what is wrong is a note, since the program may not expect any. */
static void own_goal(struct session *session, const struct wire_goal *goal)
{
    const char *problem = session->joined ? goal_problem(session, goal->goal, goal->value) : "it has not joined";
    enum corun_status status = problem ? CORUN_ARGUMENT : give_goal(session, goal);
    if (problem && session->joined)
        session_note(session, problem);
    session_done(session, status);
}

void asked_goal(struct session *session, const struct wire_frame *frame)
{
    struct wire_goal goal;
    const struct node *node = session->node;
    bool any = false;
    wire_body(frame, &goal);
    if (!goal.pid) {
        own_goal(session, &goal);
        return;
    }
    for (size_t i = 0; i < node->sessions.count; i++) {
        struct session *client = node->sessions.data[i];
        if (!client->joined || client->pid != goal.pid)
            continue;
        if (session->row != LIMITS_OWNER && session->uid != client->uid) {
            session_refuse(session, CORUN_ARGUMENT, "process %u is another user's", goal.pid);
            return;
        }
        const char *problem = goal_problem(client, goal.goal, goal.value);
        enum corun_status status = problem ? CORUN_ARGUMENT : give_goal(client, &goal);
        if (status != CORUN_OK) {
            session_refuse(session, status, "%s", problem ? problem : "the machine refuses that goal");
            return;
        }
        any = true;
    }
    if (any)
        session_done(session, CORUN_OK);
    else
        session_refuse(session, CORUN_NOT_FOUND, "process %u is no client", goal.pid);
}

/* ---- policies ---- */

/* A client whose rate alone is not known; NULL: none. */
static const struct session *without_rate(const struct device *device)
{
    const struct node *node = device->node;
    for (size_t i = 0; i < node->sessions.count; i++)
        if (node->sessions.data[i]->joined && node->sessions.data[i]->device == device &&
            node->sessions.data[i]->join.isolated_ipc <= 0)
            return node->sessions.data[i];
    return NULL;
}

/* What the programs that are there lack for it. */
static enum corun_status policy_fits(const struct device *device, const struct corun_policy *policy,
                                     struct corun_diagnostics *list)
{
    const struct session *session = policy->needs_isolated_ipc ? without_rate(device) : NULL;
    if (policy->needs_speedup)
        return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE,
                            "policy %s needs speed-up curves of its applications, which are not known of programs",
                            policy->name);
    if (session)
        return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE,
                            "policy %s needs the rates of the programs alone, and that of %s (process %u) is not known",
                            policy->name, session->join.name, session->pid);
    return CORUN_OK;
}

static enum corun_status change_policy(struct device *device, const char *text, const struct corun_policy *policy,
                                       const double *parameters, struct corun_diagnostics *list)
{
    enum corun_status status = corun_gpu_change_policy(device->gpu, policy, parameters, list);
    if (status != CORUN_OK)
        return status;
    device->policy = policy;
    snprintf(device->policy_text, sizeof device->policy_text, "%s", text);
    node_journal_note(device->node->journal, device, NULL, "policy", text);
    return CORUN_OK;
}

enum corun_status node_change_policy(struct node *node, uint32_t gpu, const char *text, struct corun_diagnostics *list)
{
    uint32_t first = gpu == WIRE_ALL_GPUS ? 0 : gpu, end = gpu == WIRE_ALL_GPUS ? node->device_count : gpu + 1;
    const struct corun_policy *policy = NULL;
    const double *parameters = NULL;
    if (end > node->device_count)
        return corun_report(list, CORUN_NOT_FOUND, CORUN_NOWHERE, "there is no GPU %u", gpu);
    if (!node->settings.choose)
        return corun_report(list, CORUN_UNSUPPORTED, CORUN_NOWHERE, "this daemon has one policy");
    if (strchr(text, '/'))
        return corun_report(list, CORUN_UNSUPPORTED, CORUN_NOWHERE,
                            "policies of files are chosen when corund starts: `%s`", text);
    enum corun_status status = node->settings.choose(node->settings.user, text, list, &policy, &parameters);
    for (uint32_t i = first; i < end && status == CORUN_OK && policy; i++)
        status = policy_fits(&node->devices[i], policy, list);
    for (uint32_t i = first; i < end && status == CORUN_OK; i++)
        status = change_policy(&node->devices[i], text, policy, parameters, list);
    return status;
}

void asked_policy(struct session *session, const struct wire_frame *frame)
{
    char text[WIRE_MOST_POLICY] = "";
    struct wire_policy wanted;
    struct corun_diagnostics *list = corun_diagnostics_create();
    if (!list || frame->tail_bytes >= sizeof text || memchr(frame->tail, 0, frame->tail_bytes)) {
        session->broken = true;
        corun_diagnostics_destroy(list);
        return;
    }
    memcpy(text, frame->tail, frame->tail_bytes);
    wire_body(frame, &wanted);
    if (session->row != LIMITS_OWNER) {
        session_refuse(session, CORUN_ARGUMENT, "only the user of corund, and root, choose its policy");
        corun_diagnostics_destroy(list);
        return;
    }
    enum corun_status status = node_change_policy(session->node, wanted.gpu, text, list);
    if (status == CORUN_OK)
        session_done(session, status);
    else
        session_refuse(session, status, "%s",
                       corun_diagnostics_count(list) ? corun_diagnostics_get(list, 0)->message : "out of memory");
    corun_diagnostics_destroy(list);
}
