/* SPDX-License-Identifier: MIT */
/*
 * Processes of one name that are expected several times: who connects first is the host's affair, who started first that of whoever starts them. So
 * none of them is let in before all are there, and then in the order in which they began.
 */
#include "base/process_stat.h"
#include "daemon/node.h"

#include <string.h>

/* How often the name is expected, and how many of these places nobody has had. */
static uint32_t count_places(const struct node *node, const char *name, uint32_t *left)
{
    uint32_t count = 0;
    *left = 0;
    for (uint32_t i = 0; i < node->settings.expected_count; i++)
        if (!strcmp(node->settings.expected[i], name)) {
            count++;
            *left += !node->arrived[i];
        }
    return count;
}

/* Whether the client asks to be let in, under that name. */
static bool asks(const struct session *session, const char *name)
{
    const struct buffer *in = &session->in;
    struct wire_frame frame;
    struct wire_join join;
    if (session->joined || session->broken || session->gone || session->hung_up || in->bytes == in->taken ||
        wire_take(in->data + in->taken, in->bytes - in->taken, true, &frame) != WIRE_WHOLE || frame.type != WIRE_JOIN)
        return false;
    wire_body(&frame, &join);
    return wire_text(join.name, sizeof join.name) && !strcmp(join.name, name);
}

/* Of two that started within one tick of the kernel, the lower number was first; so it is where nobody may know when they started. */
static bool began_before(const struct session *one, const struct session *other)
{
    struct process_stat its = {.born = 0}, others = {.born = 0};
    if (one->peer.pid == other->peer.pid || !process_stat_read((pid_t)one->peer.pid, PROCESS_WHOLE, &its) ||
        !process_stat_read((pid_t)other->peer.pid, PROCESS_WHOLE, &others) || its.born == others.born)
        return one->peer.pid < other->peer.pid;
    return its.born < others.born;
}

bool arrival_waits(const struct session *session, const struct wire_frame *frame)
{
    const struct node *node = session->node;
    struct wire_join join;
    uint32_t left, asking = 0;
    bool is_first = true;
    wire_body(frame, &join);
    if (node->begun || node->settings.keeps_places || !wire_text(join.name, sizeof join.name) ||
        count_places(node, join.name, &left) < 2 || !left)
        return false;
    for (size_t i = 0; i < node->sessions.count; i++) {
        const struct session *other = node->sessions.data[i];
        if (!asks(other, join.name))
            continue;
        asking++;
        is_first &= other == session || !began_before(other, session);
    }
    return session->gone || asking < left || !is_first;
}
