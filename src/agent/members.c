/* SPDX-License-Identifier: MIT */
/* Processes that were given: taken, kept on their cores, stopped, and left as they were. Every change is in the journal before it is made. */
#include "agent/affinity.h"
#include "agent/running.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

struct member *member_find(const struct agent *agent, uint32_t tenant, pid_t pid)
{
    for (size_t i = 0; i < agent->members.count; i++) {
        struct member *member = agent->members.data[i];
        if (member->tenant == tenant && member->id.pid == pid && !member->gone)
            return member;
    }
    return NULL;
}

uint32_t members_present(const struct agent *agent, uint32_t tenant)
{
    uint32_t count = 0;
    for (size_t i = 0; i < agent->members.count; i++)
        count += agent->members.data[i]->tenant == tenant && !agent->members.data[i]->gone;
    return count;
}

/* Where its threads can run now; programs of the agent's own end with it, and need not be put back. */
static int note_affinities(struct agent *agent, struct member *member)
{
    process_list threads = {0};
    int error = affinity_get_thread(member->id.pid, &member->original);
    if (!error && !process_threads(member->id.pid, &threads))
        error = ENOMEM;
    if (!error)
        error = journal_affinity(&agent->journal, member->id, member->id, &member->original);
    for (size_t i = 0; i < threads.count && !error; i++) {
        struct process_id thread;
        cpu_set_t cores;
        if (process_find(threads.data[i], &thread) && !affinity_get_thread(thread.pid, &cores) &&
            !CPU_EQUAL(&cores, &member->original))
            error = journal_affinity(&agent->journal, member->id, thread, &cores);
    }
    vector_free(&threads);
    return error;
}

static const char *group_name(uint32_t group, char name[16])
{
    snprintf(name, 16, "%u", group);
    return name;
}

/* A group that somebody had before, or a new one. */
static void join_group(struct agent *agent, struct member *member)
{
    char name[16];
    int error = 0;
    if (!agent->cpuset.version)
        return;
    if (agent->free_groups.count) {
        member->group = agent->free_groups.data[--agent->free_groups.count];
        error = cpuset_set(&agent->cpuset, group_name(member->group, name), &agent->topology.set);
    } else {
        member->group = ++agent->group_count;
        error = cpuset_create(&agent->cpuset, group_name(member->group, name), &agent->topology.set);
    }
    if (!error)
        error = cpuset_add(&agent->cpuset, name, member->id, member->program ? NULL : &member->home);
    if (!error)
        return;
    agent_note_failure(agent, "a control group for process", member->id.pid, error);
    member->group = 0;
}

/* What its threads start is measured with them. */
static void watch_traffic(struct agent *agent, const struct member *member)
{
    process_list threads = {0};
    process_threads(member->id.pid, &threads);
    for (size_t i = 0; i < threads.count; i++) {
        int error = resctrl_watch_thread(&agent->resctrl, member->tenant, threads.data[i]);
        if (error && error != ESRCH)
            agent_note_failure(agent, "the memory traffic of thread", threads.data[i], error);
    }
    vector_free(&threads);
}

struct member *member_take(struct agent *agent, uint32_t tenant, pid_t pid, bool program)
{
    struct member *member = calloc(1, sizeof *member);
    if (!member || !process_find(pid, &member->id) || !vector_push(&agent->members, member)) {
        free(member);
        return NULL;
    }
    member->tenant = tenant;
    member->program = program;
    member->started_ns = agent->now_ns;
    int error = program ? journal_program(&agent->journal, member->id) : note_affinities(agent, member);
    if (error) {
        agent_note_failure(agent, "what is to be restored of process", pid, error);
        agent->members.count--;
        free(member);
        return NULL;
    }
    join_group(agent, member);
    if (agent->counts)
        counters_add_process(&member->counters, COUNTERS_INSTRUCTIONS, pid);
    if (agent->resctrl.bandwidth)
        watch_traffic(agent, member);
    return member;
}

void member_release(struct agent *agent, struct member *member)
{
    if (member->gone)
        return;
    measure_forget_member(agent, member);
    member->gone = true;
    counters_end(&member->counters);
    if (!member->program && process_lives(member->id)) {
        if (member->stopped)
            kill(member->id.pid, SIGCONT);
        if (member->home)
            control_write(member->home, "cgroup.procs", "%d", member->id.pid);
        affinity_set_process(member->id.pid, &member->original);
    }
    if (member->group)
        (void)!vector_push(&agent->free_groups, member->group);
    free(member->home);
    member->home = NULL;
}

/* A batch program's processes are all its own; a service's are what connects. */
static int set_affinity(const struct agent *agent, const struct member *member, const cpu_set_t *cores)
{
    process_list processes = {0};
    int error = 0;
    if (agent->plan->tenants[member->tenant].kind == CORUN_HOST_SERVICE)
        return affinity_set_process(member->id.pid, cores);
    if (!process_tree(member->id.pid, &processes))
        error = ENOMEM;
    for (size_t i = 0; i < processes.count; i++) {
        int failed = affinity_set_process(processes.data[i], cores);
        error = error ? error : failed;
    }
    vector_free(&processes);
    return error;
}

void member_confine(struct agent *agent, struct member *member, const cpu_set_t *cores)
{
    if (member->placed && CPU_EQUAL(&member->cores, cores))
        return;
    char name[16];
    int error = member->group ? cpuset_set(&agent->cpuset, group_name(member->group, name), cores)
                              : set_affinity(agent, member, cores);
    if (error)
        agent_note_failure(agent, "the cores of process", member->id.pid, error);
    member->cores = *cores;
    member->placed = true;
}

static void signal_tree(pid_t root, int number)
{
    process_list processes = {0};
    process_tree(root, &processes);
    for (size_t i = 0; i < processes.count; i++)
        kill(processes.data[i], number);
    vector_free(&processes);
}

void member_stop(struct agent *agent, struct member *member, bool stop)
{
    if (member->stopped == stop)
        return;
    if (stop && !member->program && !member->journaled_stop) {
        process_list processes = {0};
        process_tree(member->id.pid, &processes);
        for (size_t i = 0; i < processes.count; i++) {
            struct process_id id;
            if (process_find(processes.data[i], &id) && journal_stopped(&agent->journal, id))
                agent_note_failure(agent, "what is to be restored of process", id.pid, EIO);
        }
        vector_free(&processes);
        member->journaled_stop = true;
    }
    if (member->program)
        kill(-member->id.pid, stop ? SIGSTOP : SIGCONT);
    else
        signal_tree(member->id.pid, stop ? SIGSTOP : SIGCONT);
    member->stopped = stop;
}

static void forget_gone(struct agent *agent)
{
    size_t kept = 0;
    for (size_t i = 0; i < agent->members.count; i++) {
        struct member *member = agent->members.data[i];
        if (member->gone && !member->connection)
            free(member);
        else
            agent->members.data[kept++] = member;
    }
    agent->members.count = kept;
}

/* Processes that are nobody's children here end without a word. */
void members_look(struct agent *agent)
{
    for (size_t i = 0; i < agent->members.count; i++) {
        struct member *member = agent->members.data[i];
        if (member->gone || member->program || process_lives(member->id))
            continue;
        uint32_t tenant = member->tenant;
        member_release(agent, member);
        if (agent->plan->tenants[tenant].kind == CORUN_HOST_BATCH && !agent->status)
            agent_keep(agent,
                       governor_instances(&agent->governor, agent->now_ns, tenant, members_present(agent, tenant)));
    }
    forget_gone(agent);
}
