/* SPDX-License-Identifier: MIT */
/*
 * Messages of several programs to an agent, one after the other: what they say ends their own connection and nothing else. A byte says whose message
 * comes next, whether it is bytes as they are or a message as it should be but for its values, or that somebody leaves.
 */
#include "agent/running.h"

#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PROGRAMS 3

static enum corun_status start(void *state, const struct corun_host_view *view, const double *parameters,
                               struct corun_host_allowances *allowances)
{
    (void)state, (void)view, (void)parameters, (void)allowances;
    return CORUN_OK;
}

/* Whatever waits starts; a query of an odd number has a core of its own, if there is one. */
static void decide(void *state, const struct corun_host_view *view, struct corun_host_moment moment,
                   struct corun_host_allowances *allowances)
{
    uint32_t free = view->core_count;
    (void)state, (void)moment;
    for (uint32_t q = 0; q < view->query_count; q++) {
        if (view->queries[q].state == CORUN_HOST_QUERY_FREE)
            continue;
        allowances->start[q] = true;
        uint32_t cores = view->queries[q].id % 2 && free > 1;
        allowances->query[q] = (struct corun_host_share){cores, 0};
        free -= cores;
    }
}

static const struct corun_host_policy policy = {
    .version = CORUN_HOST_POLICY_VERSION, .name = "fuzz", .observes = 0xf, .start = start, .decide = decide};

struct stage {
    struct agent agent;
    struct plan plan;
    struct agent_setting setting;
    int programs[PROGRAMS]; /* their ends */
};

static void begin(struct stage *stage)
{
    struct agent *agent = &stage->agent;
    plan_begin(&stage->plan);
    stage->plan.resctrl = "/nonexistent";
    stage->plan.confinement = PLAN_AFFINITY;
    agent->arena = arena_create();
    plan_add("words:goal=1s", CORUN_HOST_SERVICE, agent->arena, NULL, &stage->plan);
    plan_add("mill", CORUN_HOST_BATCH, agent->arena, NULL, &stage->plan);
    stage->setting = (struct agent_setting){.plan = &stage->plan, .policy = &policy};
    agent->setting = &stage->setting;
    agent->plan = &stage->plan;
    agent->journal.fd = agent->listener = agent->guardian_pipe = agent->signals = agent->timer = -1;
    agent->epoll = epoll_create1(0);
    topology_read(&agent->topology, NULL, "/nonexistent");
    for (uint32_t a = 0; a < 2; a++)
        agent->tenants[a].plan = &stage->plan.tenants[a];
    agent->tenants[0].latencies = calloc(1, sizeof(struct latencies));
    queries_begin(agent);
    measure_begin(agent);
    agent->now_ns = agent->began_ns = agent->warm_ns = 1;
    if (obey_begin(agent))
        __builtin_trap();
    for (int i = 0; i < PROGRAMS; i++)
        stage->programs[i] = -1;
}

/* Of a socket that nobody has to accept. */
static void connect_program(struct stage *stage, int program)
{
    int ends[2];
    struct connection *connection = calloc(1, sizeof *connection);
    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, ends);
    stage->programs[program] = ends[1];
    *connection = (struct connection){.fd = ends[0], .since_ns = stage->agent.now_ns};
    process_find(getpid(), &connection->process);
    (void)!vector_push(&stage->agent.connections, connection);
}

static void say(struct stage *stage, int program, const uint8_t *message, size_t bytes)
{
    struct agent *agent = &stage->agent;
    if (stage->programs[program] < 0)
        connect_program(stage, program);
    if (bytes)
        send(stage->programs[program], message, bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
    agent->now_ns += 3000000;
    for (size_t i = 0; i < agent->connections.count; i++)
        connection_hear(agent, agent->connections.data[i]);
    agent_keep(agent, governor_advance(&agent->governor, agent->now_ns));
    connections_sweep(agent);
    if (agent->status)
        __builtin_trap();
}

/* So that not every input has to find that out first. */
static void greet(struct stage *stage, int program, const char *name, uint32_t role)
{
    struct corun_service_hello hello = {CORUN_SERVICE_HELLO, CORUN_SERVICE_PROTOCOL, role, role ? 1 : 4, ""};
    strncpy(hello.name, name, sizeof hello.name - 1);
    say(stage, program, (const uint8_t *)&hello, sizeof hello);
}

/* Numbers of queries are few, so that they meet. */
static void say_well(struct stage *stage, int program, uint8_t kind, uint8_t number, uint8_t value)
{
    const int32_t threads[] = {getpid(), value - 100};
    union {
        struct corun_service_arrive arrive;
        struct corun_service_progress progress;
        struct corun_service_end end;
        struct corun_service_work work;
        struct corun_service_watch watch;
        struct {
            struct corun_service_begin head;
            int32_t threads[2];
        } begin;
    } message = {0};
    size_t bytes = sizeof message.arrive;
    message.arrive = (struct corun_service_arrive){CORUN_SERVICE_ARRIVE, 0, number % 8u, value, 0};
    if (kind % 8 == 1 || kind % 8 == 2) {
        message.end = (struct corun_service_end){CORUN_SERVICE_END, 0, number % 8u, value * UINT64_C(1000000)};
        bytes = sizeof message.end;
    } else if (kind % 8 == 3) {
        message.progress = (struct corun_service_progress){CORUN_SERVICE_PROGRESS, 0, number % 8u, value / 250.0};
        bytes = sizeof message.progress;
    } else if (kind % 8 == 4) {
        message.begin.head = (struct corun_service_begin){CORUN_SERVICE_BEGIN, value % 3u, number % 8u};
        memcpy(message.begin.threads, threads, sizeof threads);
        bytes = sizeof message.begin.head + value % 3u * sizeof *threads;
    } else if (kind % 8 == 5) {
        message.work = (struct corun_service_work){CORUN_SERVICE_WORK, 0, number * 256.0 + value};
        bytes = sizeof message.work;
    } else if (kind % 8 == 6) {
        message.watch = (struct corun_service_watch){CORUN_SERVICE_WATCH, 1};
        bytes = sizeof message.watch;
    }
    say(stage, program, (const uint8_t *)&message, bytes);
}

static void leave(struct stage *stage, int program)
{
    if (stage->programs[program] >= 0)
        close(stage->programs[program]);
    stage->programs[program] = -1;
    say(stage, (program + 1) % PROGRAMS, NULL, 0);
}

static void end(struct stage *stage)
{
    struct agent *agent = &stage->agent;
    char text[8192];
    outcome_status(agent, text, sizeof text);
    for (int i = 0; i < PROGRAMS; i++)
        leave(stage, i);
    for (int i = 0; i < PROGRAMS; i++)
        leave(stage, i);
    while (agent->connections.count) {
        agent->connections.data[0]->over = true;
        connections_sweep(agent);
    }
    for (uint32_t q = 0; q < CORUN_HOST_QUERIES; q++)
        if (agent->entries[q]) /* a query of nobody */
            __builtin_trap();
    if (agent->waiting || agent->waiting_count)
        __builtin_trap();
    members_look(agent);
    for (size_t i = 0; i < agent->members.count; i++)
        free(agent->members.data[i]);
    vector_free(&agent->members);
    vector_free(&agent->connections);
    free(agent->tenants[0].latencies);
    queries_end(agent);
    close(agent->epoll);
    arena_destroy(agent->arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct stage *stage = calloc(1, sizeof *stage);
    begin(stage);
    if (size && data[0] % 4) {
        greet(stage, 0, "words", CORUN_SERVICE_SERVES);
        greet(stage, 1, "mill", CORUN_SERVICE_BATCH);
    }
    for (size_t at = 0; at + 2 <= size;) {
        int program = data[at] % PROGRAMS;
        size_t bytes = data[at + 1];
        uint8_t how = data[at];
        at += 2;
        if (how >= 240) {
            leave(stage, program);
            continue;
        }
        if (how >= 60 && at + 2 <= size) {
            say_well(stage, program, (uint8_t)bytes, data[at], data[at + 1]);
            at += 2;
            continue;
        }
        bytes = bytes < size - at ? bytes : size - at;
        say(stage, program, data + at, bytes);
        at += bytes;
    }
    end(stage);
    free(stage);
    return 0;
}
