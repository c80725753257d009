/* SPDX-License-Identifier: MIT */
/* What the limits leave to a client. */
#include "daemon/allowance.h"

#include <math.h>

/* NULL: it is not limited. */
static const struct limit *limit_of(const struct session *session)
{
    static const struct limit nothing = {.of = LIMIT_OF_EVERYBODY};
    const struct limits *limits = session->node->settings.limits;
    if (session->row == LIMITS_OWNER)
        return NULL;
    return limits && session->row < limits->count ? &limits->rows[session->row] : &nothing;
}

static bool shares_with(const struct session *session, const struct session *other)
{
    static const struct limits none = {.count = 0};
    const struct limits *limits = session->node->settings.limits;
    return limits_same(limits ? limits : &none, session->row, &session->peer, other->row, &other->peer);
}

/* A goal as a part of the rate alone; NAN: not known. */
static double part_of(uint32_t goal, double value, double isolated_ipc)
{
    if (goal == CORUN_GOAL_NONE)
        return 0;
    if (goal == CORUN_GOAL_FRACTION)
        return value;
    return isolated_ipc > 0 ? value / isolated_ipc : (double)NAN;
}

const char *share_problem(const struct session *session, uint32_t goal, double value)
{
    const struct limit *limit = limit_of(session);
    const struct wire_join *now = &session->join;
    double sum = part_of(goal, value, now->isolated_ipc);
    if (!limit || isinf(limit->share) || goal == CORUN_GOAL_NONE)
        return NULL;
    if (session->joined && sum <= part_of(now->goal, now->goal_value, now->isolated_ipc))
        return NULL; /* it promises no more than it did, whatever the limit is by now */
    const struct node *node = session->node;
    for (size_t i = 0; i < node->sessions.count; i++) {
        const struct session *other = node->sessions.data[i];
        if (other != session && other->joined && other->device == session->device && shares_with(session, other))
            sum += part_of(other->join.goal, other->join.goal_value, other->join.isolated_ipc);
    }
    if (isnan(sum))
        return "where the share of a user is limited, the rates alone of its programs with goals must be known: say "
               "--isolated";
    return sum <= limit->share + 1e-9 ? NULL
                                      : "the goals of this user's programs would be more than its share of the GPU";
}

bool allowance_has_memory(const struct session *session, uint64_t bytes)
{
    const struct limit *limit = limit_of(session);
    const struct node *node = session->node;
    uint64_t sum = 0;
    if (!limit)
        return true;
    for (size_t s = 0; s < node->sessions.count; s++)
        for (uint32_t i = 0; i < CORUN_MAX_APPLICATIONS; i++)
            if (node->sessions.data[s]->spaces[i] && shares_with(session, node->sessions.data[s]))
                sum += space_device_bytes(node->sessions.data[s]->spaces[i]);
    return bytes <= limit->memory && sum <= limit->memory - bytes;
}

bool allowance_has_context(const struct session *session)
{
    const struct limit *limit = limit_of(session);
    const struct node *node = session->node;
    uint32_t count = 0;
    for (size_t s = 0; s < node->sessions.count; s++)
        for (uint32_t i = 0; i < CORUN_MAX_APPLICATIONS; i++)
            count += node->sessions.data[s]->spaces[i] && shares_with(session, node->sessions.data[s]);
    return !limit || count < limit->clients;
}

void node_new_limits(struct node *node, uint32_t owner)
{
    static const struct limits none = {.count = 0};
    for (size_t i = 0; i < node->sessions.count; i++) {
        struct session *session = node->sessions.data[i];
        session->row = limits_find(node->settings.limits ? node->settings.limits : &none, &session->peer, owner);
    }
}
