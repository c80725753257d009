/* SPDX-License-Identifier: MIT */
/*
 * Messages of programs. Nothing that a program says is taken for a length, an index or a process of somebody else's: lengths are those of the
 * structures, queries are found by their numbers, threads among those of the program's own process. What is wrong ends this connection.
 */
#include "agent/running.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define MOST_MESSAGES 64 /* of a connection before others have their turn */

union message {
    uint32_t kind;
#define MESSAGE_MEMBER(name, structure) struct corun_service_##structure structure;
    CORUN_SERVICE_MESSAGES(MESSAGE_MEMBER)
#undef MESSAGE_MEMBER
    struct {
        struct corun_service_begin head;
        int32_t threads[CORUN_SERVICE_THREADS];
    } begin_with;
};

void connection_end(struct agent *agent, struct connection *connection, const char *reason, bool refused)
{
    struct corun_service_bye bye = {.kind = CORUN_SERVICE_BYE};
    if (connection->over)
        return;
    strncpy(bye.reason, reason, sizeof bye.reason - 1);
    send(connection->fd, &bye, sizeof bye, MSG_DONTWAIT | MSG_NOSIGNAL);
    connection->over = true;
    agent->refused += refused;
}

static void wrong(struct agent *agent, struct connection *connection, const char *reason)
{
    connection_end(agent, connection, reason, true);
}

/* What cannot be sent now waits for room. */
void connection_flush(struct agent *agent, struct connection *connection)
{
    size_t sent = 0;
    while (sent < connection->starts.count && !connection->over) {
        const struct corun_service_start *start = &connection->starts.data[sent];
        if (send(connection->fd, start, sizeof *start, MSG_DONTWAIT | MSG_NOSIGNAL) == sizeof *start)
            sent++;
        else if (errno == EAGAIN)
            break;
        else if (errno != EINTR)
            connection->over = true;
    }
    connection->starts.count -= sent;
    if (sent)
        memmove(connection->starts.data, connection->starts.data + sent,
                connection->starts.count * sizeof *connection->starts.data);
    bool waits = connection->starts.count > 0;
    if (waits == connection->waits_for_room || connection->over)
        return;
    struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP | (waits ? EPOLLOUT : 0), .data.ptr = connection};
    epoll_ctl(agent->epoll, EPOLL_CTL_MOD, connection->fd, &event);
    connection->waits_for_room = waits;
}

void connection_start_query(struct agent *agent, struct query *query)
{
    const struct corun_service_start start = {CORUN_SERVICE_START, query->cores, query->number};
    if (!vector_push(&query->connection->starts, start))
        connection_end(agent, query->connection, "the agent is out of memory", false);
}

/* ---- greetings ---- */

static uint32_t find_tenant(const struct agent *agent, const char *name)
{
    uint32_t found = 0;
    while (found < agent->plan->tenant_count && strcmp(agent->plan->tenants[found].name, name) != 0)
        found++;
    return found;
}

/* The process that connects is one that was given, or the plan takes whoever comes. */
static struct member *find_member(struct agent *agent, uint32_t tenant, pid_t pid)
{
    const struct plan_tenant *plan = &agent->plan->tenants[tenant];
    struct member *member = member_find(agent, tenant, pid);
    if (member)
        return member;
    bool ours = !plan->command && !plan->pid_count;
    for (size_t i = 0; i < agent->members.count && !ours; i++)
        ours = agent->members.data[i]->tenant == tenant && !agent->members.data[i]->gone &&
               process_descends(pid, agent->members.data[i]->id.pid);
    member = ours ? member_take(agent, tenant, pid, false) : NULL;
    if (member)
        member->connected_only = true;
    return member;
}

static void greet(struct agent *agent, struct connection *connection, const struct corun_service_hello *hello)
{
    const struct corun_service_welcome welcome = {CORUN_SERVICE_WELCOME, CORUN_SERVICE_PROTOCOL,
                                                  agent->plan->interval_ns};
    if (hello->protocol != CORUN_SERVICE_PROTOCOL) {
        wrong(agent, connection, "this agent speaks another protocol");
        return;
    }
    if (!memchr(hello->name, 0, sizeof hello->name) || hello->role > CORUN_SERVICE_BATCH || !hello->workers ||
        hello->workers > CORUN_SERVICE_WORKERS) {
        wrong(agent, connection, "a greeting that is out of range");
        return;
    }
    uint32_t tenant = find_tenant(agent, hello->name);
    bool batch = hello->role == CORUN_SERVICE_BATCH;
    if (tenant == agent->plan->tenant_count || (agent->plan->tenants[tenant].kind == CORUN_HOST_BATCH) != batch) {
        wrong(agent, connection,
              batch ? "no batch program of this name is expected" : "no service of this name is expected");
        return;
    }
    struct member *member = find_member(agent, tenant, connection->process.pid);
    if (!member || member->connection) {
        wrong(agent, connection,
              member ? "this process is connected already" : "this process was not given to the agent");
        return;
    }
    connection->state = batch ? CONNECTION_BATCH : CONNECTION_SERVES;
    connection->tenant = tenant;
    connection->workers = hello->workers;
    connection->member = member;
    member->connection = connection;
    if (send(connection->fd, &welcome, sizeof welcome, MSG_DONTWAIT | MSG_NOSIGNAL) != sizeof welcome)
        connection->over = true;
    if (batch)
        agent_keep(agent, governor_instances(&agent->governor, agent->now_ns, tenant, members_present(agent, tenant)));
    else
        agent_keep(agent, governor_look(&agent->governor, agent->now_ns));
}

static void show_status(struct agent *agent, struct connection *connection)
{
    struct {
        struct corun_service_status head;
        char text[CORUN_SERVICE_STATUS_BYTES - sizeof(struct corun_service_status)];
    } *message = malloc(sizeof *message);
    if (!message)
        return;
    connection->state = CONNECTION_WATCHES;
    message->head.kind = CORUN_SERVICE_STATUS;
    message->head.bytes = (uint32_t)outcome_status(agent, message->text, sizeof message->text);
    if (send(connection->fd, message, sizeof message->head + message->head.bytes, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
        connection->over = true;
    free(message);
}

/* ---- queries ---- */

/* Nothing happens in the future, and nothing before the connection. */
static uint64_t believe(const struct agent *agent, uint64_t at_ns, uint64_t earliest_ns)
{
    uint64_t ns = at_ns && at_ns < agent->now_ns ? at_ns : agent->now_ns;
    return ns < earliest_ns ? earliest_ns : ns;
}

static bool is_number(double value, double most)
{
    return isfinite(value) && value >= 0 && value <= most;
}

/* Those that are told for the first time are looked for among those of the process, and counted from now on. */
static bool know_thread(struct agent *agent, struct connection *connection, pid_t thread)
{
    for (size_t i = 0; i < connection->threads.count; i++)
        if (connection->threads.data[i].thread == thread)
            return true;
    struct known_thread known = {.thread = thread};
    if (connection->threads.count >= CORUN_SERVICE_THREADS || !process_has_thread(connection->process.pid, thread))
        return false;
    if (agent->counts)
        counters_add_thread(&known.counters, COUNTERS_INSTRUCTIONS, thread);
    if (vector_push(&connection->threads, known))
        return true;
    counters_end(&known.counters);
    return false;
}

static void begin_query(struct agent *agent, struct connection *connection, const struct corun_service_begin *begin,
                        const int32_t *threads)
{
    struct query *query = query_find(agent, connection, begin->query);
    if (!query || !query->running || query->threads) {
        wrong(agent, connection, "a query begins that may not");
        return;
    }
    pid_t *own = begin->thread_count ? calloc(begin->thread_count, sizeof *own) : NULL;
    for (uint32_t i = 0; own && i < begin->thread_count; i++) {
        own[i] = threads[i];
        if (!know_thread(agent, connection, own[i])) {
            free(own);
            wrong(agent, connection, "a thread that is not one of this process");
            return;
        }
    }
    query->threads = own;
    query->thread_count = own ? begin->thread_count : 0;
    measure_started(agent, query);
    if (own) {
        governor_remeasure(&agent->governor, query->entry);
        obey_threads(agent, connection);
    }
}

static void hear_progress(struct agent *agent, struct connection *connection,
                          const struct corun_service_progress *progress)
{
    struct query *query = query_find(agent, connection, progress->query);
    if (!query || !query->running || !is_number(progress->progress, 1)) {
        wrong(agent, connection, "a progress that cannot be");
        return;
    }
    query->progress = progress->progress;
    governor_progress(&agent->governor, query->entry, progress->progress);
}

static void hear_end(struct agent *agent, struct connection *connection, const struct corun_service_end *end)
{
    struct query *query = query_find(agent, connection, end->query);
    if (query && query->running)
        query_end(agent, query, believe(agent, end->at_ns, query->started_ns), false);
    else
        wrong(agent, connection, "a query ends that does not run");
}

static void hear_work(struct agent *agent, struct connection *connection, const struct corun_service_work *work)
{
    struct tenant *tenant = &agent->tenants[connection->tenant];
    if (!is_number(work->work, 1e300) || work->work < connection->member->reported) {
        wrong(agent, connection, "work that becomes less");
        return;
    }
    connection->member->reported = work->work;
    if (tenant->work == AGENT_CPU_TIME)
        tenant->work = AGENT_REPORTED;
}

/* ---- all kinds ---- */

static size_t length_of(const union message *message, size_t bytes)
{
    static const size_t lengths[CORUN_SERVICE_MESSAGE_COUNT] = {
#define MESSAGE_LENGTH(name, structure) [CORUN_SERVICE_##name] = sizeof(struct corun_service_##structure),
        CORUN_SERVICE_MESSAGES(MESSAGE_LENGTH)
#undef MESSAGE_LENGTH
    };
    if (bytes < sizeof message->kind || message->kind >= CORUN_SERVICE_MESSAGE_COUNT)
        return 0;
    if (message->kind != CORUN_SERVICE_BEGIN || bytes < lengths[CORUN_SERVICE_BEGIN])
        return lengths[message->kind];
    if (message->begin.thread_count > CORUN_SERVICE_THREADS)
        return 0;
    return lengths[CORUN_SERVICE_BEGIN] + message->begin.thread_count * sizeof(int32_t);
}

static void hear_service(struct agent *agent, struct connection *connection, const union message *message)
{
    switch (message->kind) {
    case CORUN_SERVICE_ARRIVE:
        if (is_number(message->arrive.size, 1e300))
            query_arrive(agent, connection, message->arrive.query, message->arrive.size,
                         believe(agent, message->arrive.at_ns, connection->since_ns));
        else
            wrong(agent, connection, "a size that is none");
        break;
    case CORUN_SERVICE_BEGIN:
        begin_query(agent, connection, &message->begin, message->begin_with.threads);
        break;
    case CORUN_SERVICE_PROGRESS:
        hear_progress(agent, connection, &message->progress);
        break;
    case CORUN_SERVICE_END:
        hear_end(agent, connection, &message->end);
        break;
    default:
        wrong(agent, connection, "nothing that a service says");
    }
}

static void hear_message(struct agent *agent, struct connection *connection, const union message *message, size_t bytes)
{
    if (!bytes || length_of(message, bytes) != bytes)
        wrong(agent, connection, "no message, or one of another length");
    else if (connection->state == CONNECTION_NEW && message->kind == CORUN_SERVICE_HELLO)
        greet(agent, connection, &message->hello);
    else if ((connection->state == CONNECTION_NEW || connection->state == CONNECTION_WATCHES) &&
             message->kind == CORUN_SERVICE_WATCH && message->watch.protocol == CORUN_SERVICE_PROTOCOL)
        show_status(agent, connection);
    else if (connection->state == CONNECTION_SERVES)
        hear_service(agent, connection, message);
    else if (connection->state == CONNECTION_BATCH && message->kind == CORUN_SERVICE_WORK)
        hear_work(agent, connection, &message->work);
    else
        wrong(agent, connection, "a message at the wrong time");
}

void connection_hear(struct agent *agent, struct connection *connection)
{
    union message message;
    for (int heard = 0; heard < MOST_MESSAGES && !connection->over && !agent->status; heard++) {
        ssize_t bytes = recv(connection->fd, &message, sizeof message, MSG_DONTWAIT | MSG_TRUNC);
        if (bytes < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (bytes <= 0)
            connection->over = true;
        else
            hear_message(agent, connection, &message, (size_t)bytes <= sizeof message ? (size_t)bytes : 0);
    }
}

static void close_connection(struct agent *agent, struct connection *connection)
{
    while (connection->queries)
        query_end(agent, connection->queries, agent->now_ns, true);
    if (connection->member) {
        struct member *member = connection->member;
        uint32_t tenant = member->tenant;
        member->connection = NULL;
        if (member->connected_only)
            member_release(agent, member);
        if (!agent->ending && agent->plan->tenants[tenant].kind == CORUN_HOST_BATCH)
            agent_keep(agent,
                       governor_instances(&agent->governor, agent->now_ns, tenant, members_present(agent, tenant)));
    }
    for (size_t i = 0; i < connection->threads.count; i++)
        counters_end(&connection->threads.data[i].counters);
    vector_free(&connection->threads);
    vector_free(&connection->starts);
    close(connection->fd);
    free(connection);
}

void connections_sweep(struct agent *agent)
{
    for (size_t i = agent->connections.count; i-- > 0;) {
        struct connection *connection = agent->connections.data[i];
        if (!connection->over && connection->starts.count && !connection->waits_for_room)
            connection_flush(agent, connection);
        if (!connection->over)
            continue;
        agent->connections.data[i] = agent->connections.data[--agent->connections.count];
        close_connection(agent, connection);
    }
}
