/* SPDX-License-Identifier: MIT */
/* The agent's time: what wakes it up, and what it does then. */
#include "agent/running.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define MOST_EVENTS 64
#define LOOK_NS UINT64_C(1000000000) /* for processes that ended without a word, and for whoever watches */

/* CLOCK_MONOTONIC, the only clock of an agent */
static uint64_t agent_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void agent_keep(struct agent *agent, enum corun_status status)
{
    if (!agent->status)
        agent->status = status;
}

void agent_note_failure(struct agent *agent, const char *what, pid_t pid, int error)
{
    if (error == ESRCH)
        return;
    if (!agent->failed_moves++)
        snprintf(agent->first_failure, sizeof agent->first_failure, "%s %d: %s", what, pid, strerror(error));
}

/* ---- beginning ---- */

/* Connections, and counters of each thread, take more of them than a shell gives. Programs get what the agent was given. */
static void raise_descriptors(struct agent *agent)
{
    struct rlimit most;
    if (getrlimit(RLIMIT_NOFILE, &agent->descriptors_before))
        return;
    most = agent->descriptors_before;
    most.rlim_cur = most.rlim_max;
    agent->descriptors_raised = setrlimit(RLIMIT_NOFILE, &most) == 0;
}

/* Before all that only computes: what a decision waits for, queries wait for. Programs do not inherit it. */
static void raise_priority(struct agent *agent)
{
    const struct sched_param lowest = {.sched_priority = 1};
    if (sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &lowest) == 0)
        snprintf(agent->means.priority, sizeof agent->means.priority, "real time");
    else
        snprintf(agent->means.priority, sizeof agent->means.priority, "ordinary: %s", strerror(errno));
}

static enum corun_status open_events(struct agent *agent, sigset_t *before)
{
    sigset_t ours;
    sigemptyset(&ours);
    sigaddset(&ours, SIGINT);
    sigaddset(&ours, SIGTERM);
    sigaddset(&ours, SIGHUP);
    sigaddset(&ours, SIGCHLD);
    sigprocmask(SIG_BLOCK, &ours, before);
    agent->epoll = epoll_create1(EPOLL_CLOEXEC);
    agent->signals = signalfd(-1, &ours, SFD_CLOEXEC | SFD_NONBLOCK);
    agent->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    struct epoll_event on_signal = {.events = EPOLLIN, .data.ptr = &agent->signals};
    struct epoll_event on_time = {.events = EPOLLIN, .data.ptr = &agent->timer};
    return agent->epoll < 0 || agent->signals < 0 || agent->timer < 0 ||
                   epoll_ctl(agent->epoll, EPOLL_CTL_ADD, agent->signals, &on_signal) ||
                   epoll_ctl(agent->epoll, EPOLL_CTL_ADD, agent->timer, &on_time)
               ? corun_report(agent->list, CORUN_MEMORY, CORUN_NOWHERE, "no events can be waited for: %s",
                              strerror(errno))
               : CORUN_OK;
}

static enum corun_status find_cores(struct agent *agent)
{
    cpu_set_t own, both;
    topology_read(&agent->topology, NULL, "/sys/devices/system/cpu");
    own = agent->topology.set;
    if (!agent->plan->has_cores)
        return CORUN_OK;
    CPU_AND(&both, &own, &agent->plan->cores);
    if (!CPU_EQUAL(&both, &agent->plan->cores))
        return corun_report(agent->list, CORUN_ARGUMENT, CORUN_NOWHERE,
                            "some of the cores are not among those that this process may use");
    topology_read(&agent->topology, &agent->plan->cores, "/sys/devices/system/cpu");
    return CORUN_OK;
}

static enum corun_status begin_tenants(struct agent *agent)
{
    if (!queries_begin(agent))
        return CORUN_MEMORY;
    for (uint32_t a = 0; a < agent->plan->tenant_count; a++) {
        agent->tenants[a].plan = &agent->plan->tenants[a];
        if (agent->plan->tenants[a].kind == CORUN_HOST_SERVICE &&
            !(agent->tenants[a].latencies = calloc(1, sizeof(struct latencies))))
            return CORUN_MEMORY;
    }
    measure_begin(agent);
    return measure_load_models(agent);
}

/* What an agent before has left behind is put back first. */
static enum corun_status begin_journal(struct agent *agent)
{
    struct restored restored = {0};
    const char *socket = agent->plan->socket;
    enum corun_status status = CORUN_OK;
    if (socket && strlen(socket) >= sizeof agent->socket_path)
        return corun_report(agent->list, CORUN_FILE, (struct corun_place){socket, 0, 0}, "this path is too long");
    if (socket)
        snprintf(agent->socket_path, sizeof agent->socket_path, "%s", socket);
    else
        status = agent_default_socket(agent->socket_path, sizeof agent->socket_path, agent->list);
    snprintf(agent->journal_path, sizeof agent->journal_path, "%s.restore", agent->socket_path);
    if (!status)
        status = restore_leftover(agent->journal_path, agent->list, &restored);
    if (status && status != CORUN_NOT_FOUND)
        return status;
    if (restored.failed) /* it was tried twice now */
        unlink(agent->journal_path);
    status = listener_open(agent);
    return status ? status : journal_create(&agent->journal, agent->journal_path, agent->list);
}

/* Processes that were named by their numbers, and programs. */
static enum corun_status begin_members(struct agent *agent)
{
    enum corun_status status = CORUN_OK;
    for (uint32_t a = 0; a < agent->plan->tenant_count && !status; a++) {
        const struct plan_tenant *plan = &agent->plan->tenants[a];
        for (uint32_t i = 0; i < plan->pid_count && !status; i++)
            if (!member_take(agent, a, plan->pids[i], false))
                status =
                    corun_report(agent->list, CORUN_ARGUMENT, CORUN_NOWHERE, "%s: process %d cannot be taken%s%s",
                                 plan->name, plan->pids[i], *agent->first_failure ? ": " : "", agent->first_failure);
        uint32_t programs = !plan->command ? 0 : plan->kind == CORUN_HOST_BATCH ? plan->instances : 1;
        for (uint32_t i = 0; i < programs && !status; i++)
            status = programs_start(agent, a);
        if (!status && plan->kind == CORUN_HOST_BATCH)
            status = governor_instances(&agent->governor, agent->now_ns, a, members_present(agent, a));
    }
    return status;
}

static enum corun_status begin(struct agent *agent)
{
    const struct plan *plan = agent->plan;
    enum corun_status status = find_cores(agent);
    if (!status)
        status = begin_tenants(agent);
    if (!status)
        status = begin_journal(agent);
    if (!status && !guardian_begin(agent))
        status = corun_report(agent->list, CORUN_MEMORY, CORUN_NOWHERE, "the agent's guardian cannot be started");
    if (status)
        return status;
    raise_priority(agent);
    agent->now_ns = agent->began_ns = agent->held_ns = agent_clock();
    agent->warm_ns = agent->began_ns + plan->warmup_ns;
    agent->ends_ns = plan->duration_ns ? agent->warm_ns + plan->duration_ns : UINT64_MAX;
    status = obey_begin(agent);
    if (!status)
        status = begin_members(agent);
    return status;
}

/* ---- the loop ---- */

static void hear_signals(struct agent *agent)
{
    struct signalfd_siginfo info;
    while (read(agent->signals, &info, sizeof info) == sizeof info) {
        if (info.ssi_signo == SIGCHLD)
            programs_reap(agent);
        else
            agent->ends_ns = agent->now_ns;
    }
}

static void set_timer(struct agent *agent, uint64_t look_ns)
{
    uint64_t next_ns = governor_next_ns(&agent->governor);
    next_ns = look_ns < next_ns ? look_ns : next_ns;
    next_ns = agent->ends_ns < next_ns ? agent->ends_ns : next_ns;
    next_ns = !agent->warm && agent->warm_ns < next_ns ? agent->warm_ns : next_ns;
    const struct itimerspec time = {
        .it_value = {.tv_sec = (time_t)(next_ns / 1000000000u), .tv_nsec = (long)(next_ns % 1000000000u)}};
    timerfd_settime(agent->timer, TFD_TIMER_ABSTIME, &time, NULL);
}

static void handle(struct agent *agent, const struct epoll_event *event)
{
    if (event->data.ptr == &agent->listener) {
        listener_accept(agent);
    } else if (event->data.ptr == &agent->signals) {
        hear_signals(agent);
    } else if (event->data.ptr == &agent->timer) {
        uint64_t ticks;
        (void)!read(agent->timer, &ticks, sizeof ticks);
    } else {
        struct connection *connection = event->data.ptr;
        if (event->events & EPOLLOUT)
            connection_flush(agent, connection);
        if (event->events & ~(uint32_t)EPOLLOUT)
            connection_hear(agent, connection);
    }
}

/* True while the run goes on. */
static bool look_around(struct agent *agent, uint64_t *look_ns)
{
    uint64_t queries = agent->next_id;
    if (agent->now_ns < *look_ns)
        return true;
    *look_ns = agent->now_ns + LOOK_NS;
    members_look(agent);
    return !agent->setting->step ||
           agent->setting->step(agent->setting->user, agent->now_ns - agent->began_ns, queries);
}

static void run(struct agent *agent)
{
    struct epoll_event events[MOST_EVENTS];
    uint64_t look_ns = agent->now_ns + LOOK_NS;
    while (!agent->status && agent->now_ns < agent->ends_ns && programs_serve(agent)) {
        set_timer(agent, look_ns);
        int count = epoll_wait(agent->epoll, events, MOST_EVENTS, -1);
        agent->now_ns = agent_clock();
        if (!agent->warm && agent->now_ns >= agent->warm_ns)
            outcome_warm(agent);
        for (int i = 0; i < count && !agent->status; i++)
            handle(agent, &events[i]);
        if (!agent->status)
            agent_keep(agent, governor_advance(&agent->governor, agent->now_ns));
        connections_sweep(agent);
        if (!look_around(agent, &look_ns))
            agent->ends_ns = agent->now_ns;
    }
}

/* ---- the end ---- */

static void end_members(struct agent *agent)
{
    for (size_t i = 0; i < agent->members.count; i++)
        if (!agent->members.data[i]->gone)
            member_release(agent, agent->members.data[i]);
    for (size_t i = 0; i < agent->members.count; i++) /* a release looks at all of them */
        free(agent->members.data[i]);
    vector_free(&agent->members);
    vector_free(&agent->free_groups);
}

static void close_all(struct agent *agent)
{
    const int files[] = {agent->listener, agent->signals, agent->timer, agent->epoll};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (files[i] >= 0)
            close(files[i]);
    for (uint32_t a = 0; a < agent->plan->tenant_count; a++) {
        free(agent->tenants[a].latencies);
        predictor_destroy(agent->tenants[a].predictor);
    }
    queries_end(agent);
    arena_destroy(agent->arena);
}

static void end(struct agent *agent, struct agent_outcome *outcome)
{
    bool journaled = agent->journal.fd >= 0;
    agent->ending = true;
    for (size_t i = 0; i < agent->connections.count; i++)
        connection_end(agent, agent->connections.data[i], "the agent ends", false);
    connections_sweep(agent);
    vector_free(&agent->connections);
    programs_end(agent);
    end_members(agent);
    journal_close(&agent->journal);
    if (journaled) {
        restore_from(agent->journal_path, 0, agent->list, &outcome->restored);
        unlink(agent->journal_path);
    }
    if (agent->listener >= 0)
        unlink(agent->socket_path);
    guardian_end(agent);
    close_all(agent);
}

static void forget_child_signals(const sigset_t *before)
{
    const struct timespec at_once = {0, 0};
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    while (sigtimedwait(&child, NULL, &at_once) == SIGCHLD)
        ;
    sigprocmask(SIG_SETMASK, before, NULL);
}

enum corun_status agent_run(const struct agent_setting *setting, struct corun_diagnostics *list,
                            struct agent_outcome *outcome)
{
    sigset_t before;
    struct agent *agent = calloc(1, sizeof *agent);
    *outcome = (struct agent_outcome){0};
    if (!agent || !(agent->arena = arena_create())) {
        free(agent);
        return corun_report(list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory for an agent");
    }
    agent->setting = setting;
    agent->plan = setting->plan;
    agent->list = list;
    agent->journal.fd = agent->listener = agent->guardian_pipe = -1;
    if (setting->samples)
        fputs("service,size,cores,ways,duration_ns,ipc,work\n", setting->samples);
    raise_descriptors(agent);
    agent_keep(agent, open_events(agent, &before));
    if (!agent->status)
        agent_keep(agent, begin(agent));
    if (!agent->status) {
        run(agent);
        agent->now_ns = agent_clock();
        outcome_judge(agent, outcome);
    }
    enum corun_status status = agent->status;
    end(agent, outcome);
    forget_child_signals(&before);
    if (agent->descriptors_raised)
        setrlimit(RLIMIT_NOFILE, &agent->descriptors_before);
    free(agent);
    return status;
}
