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
        if (!process_find(threads.data[i], &thread) || affinity_get_thread(thread.pid, &cores) ||
            CPU_EQUAL(&cores, &member->original))
            continue;
        error = vector_push(&member->originals, ((struct thread_cores){thread, cores}))
                    ? journal_affinity(&agent->journal, member->id, thread, &cores)
                    : ENOMEM;
    }
    vector_free(&threads);
    return error;
}

/* The same process under another name, of which it is known how it was before; NULL: there is none. */
static struct member *find_twin(const struct agent *agent, const struct member *member)
{
    for (size_t i = 0; i < agent->members.count; i++) {
        struct member *other = agent->members.data[i];
        if (other != member && !other->gone && !other->program && other->id.pid == member->id.pid &&
            other->id.born == member->id.born)
            return other;
    }
    return NULL;
}

/* 0, or an error number. */
static int take_from_twin(struct member *member, const struct member *twin)
{
    bool room = true;
    member->original = twin->original;
    for (size_t i = 0; i < twin->originals.count && room; i++)
        room = vector_push(&member->originals, twin->originals.data[i]);
    member->home = room && twin->home ? strdup(twin->home) : NULL;
    return room && (member->home || !twin->home) ? 0 : ENOMEM;
}

static void free_member(struct member *member)
{
    vector_free(&member->originals);
    vector_free(&member->stopped_ids);
    free(member->home);
    member->home = NULL;
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
        error = cpuset_add(&agent->cpuset, name, member->id, member->program || member->home ? NULL : &member->home);
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
    const struct member *twin = program ? NULL : find_twin(agent, member);
    int error = program ? journal_program(&agent->journal, member->id)
                : twin  ? take_from_twin(member, twin)
                        : note_affinities(agent, member);
    if (error) {
        agent_note_failure(agent, "what is to be restored of process", pid, error);
        agent->members.count--;
        free_member(member);
        free(member);
        return NULL;
    }
    join_group(agent, member);
    error = agent->counts ? counters_add_process(&member->counters, COUNTERS_INSTRUCTIONS, pid) : 0;
    if (error) { /* those of some threads would be taken for all */
        agent_note_failure(agent, "the instructions of process", pid, error);
        counters_end(&member->counters);
    }
    if (agent->resctrl.bandwidth)
        watch_traffic(agent, member);
    return member;
}

/* What it has started as well, whoever is its parent by now. */
static void let_go_on(const struct member *member)
{
    for (size_t i = 0; i < member->stopped_ids.count; i++)
        if (process_lives(member->stopped_ids.data[i]))
            kill(member->stopped_ids.data[i].pid, SIGCONT);
}

/* What could not be put back is tried again when the agent ends, which then looks at all that is in the journal. */
static void put_back(struct agent *agent, const struct member *member)
{
    int error = member->home ? control_write(member->home, "cgroup.procs", "%d", member->id.pid) : 0;
    int failed = affinity_set_process(member->id.pid, &member->original);
    error = error ? error : failed;
    for (size_t i = 0; i < member->originals.count; i++) {
        const struct thread_cores *thread = &member->originals.data[i];
        failed = process_lives(thread->thread) ? affinity_set_thread(thread->thread.pid, &thread->cores) : 0;
        error = error ? error : failed;
    }
    if (!error && !agent->ending)
        error = journal_released(&agent->journal, member->id);
    if (error)
        agent_note_failure(agent, "what was to be restored of process", member->id.pid, error);
}

void member_release(struct agent *agent, struct member *member)
{
    char name[16];
    if (member->gone)
        return;
    measure_forget_member(agent, member);
    member->gone = true;
    counters_end(&member->counters);
    struct member *twin = member->program ? NULL : find_twin(agent, member);
    if (member->stopped && !member->program)
        let_go_on(member);
    /* Else they would be made to go on once more in the end. */
    for (size_t i = 0; i < member->stopped_ids.count && !twin && !agent->ending; i++)
        (void)journal_released(&agent->journal, member->stopped_ids.data[i]);
    if (twin) { /* whose cores it gets again */
        twin->placed = false;
        twin->stopped &= !member->stopped;
        if (twin->group)
            (void)cpuset_add(&agent->cpuset, group_name(twin->group, name), twin->id, NULL);
    } else if (!member->program && process_lives(member->id)) {
        put_back(agent, member);
    }
    if (member->group)
        (void)!vector_push(&agent->free_groups, member->group);
    free_member(member);
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
    int error = member->group ? cpuset_set(&agent->cpuset, group_name(member->group, name), cores) : 0;
    if (error == ENOENT || error == ENODEV) { /* somebody has removed it */
        agent_note_failure(agent, "the control group of process", member->id.pid, error);
        member->group = 0;
        error = 0;
    }
    if (!member->group)
        error = set_affinity(agent, member, cores);
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

static bool is_among(const struct member *member, struct process_id id)
{
    for (size_t i = 0; i < member->stopped_ids.count; i++)
        if (member->stopped_ids.data[i].pid == id.pid && member->stopped_ids.data[i].born == id.born)
            return true;
    return false;
}

/* Those of its tree that have come since it was stopped before, too. */
static void note_stopped(struct agent *agent, struct member *member)
{
    process_list processes = {0};
    process_tree(member->id.pid, &processes);
    for (size_t i = 0; i < processes.count; i++) {
        struct process_id id;
        if (!process_find(processes.data[i], &id) || is_among(member, id))
            continue;
        int error = journal_stopped(&agent->journal, id);
        error = error || vector_push(&member->stopped_ids, id) ? error : ENOMEM;
        if (error)
            agent_note_failure(agent, "what is to be restored of process", id.pid, error);
    }
    vector_free(&processes);
}

void member_stop(struct agent *agent, struct member *member, bool stop)
{
    if (member->stopped == stop)
        return;
    if (stop && !member->program)
        note_stopped(agent, member);
    if (member->program)
        kill(-member->id.pid, stop ? SIGSTOP : SIGCONT);
    else
        signal_tree(member->id.pid, stop ? SIGSTOP : SIGCONT);
    if (!stop && !member->program)
        let_go_on(member);
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

/* Of one whose control group somebody has removed: it has the cores of wherever it was put. */
static void look_at_group(struct agent *agent, struct member *member)
{
    char name[16];
    cpu_set_t cores = member->cores, now;
    if (!member->group || !member->placed || !cpuset_get(&agent->cpuset, group_name(member->group, name), &now))
        return;
    member->placed = false;
    member_confine(agent, member, &cores);
}

/* Processes that are nobody's children here end without a word. */
void members_look(struct agent *agent)
{
    for (size_t i = 0; i < agent->members.count; i++) {
        struct member *member = agent->members.data[i];
        bool lives = member->gone || member->program || process_lives(member->id);
        if (lives && !member->gone)
            look_at_group(agent, member);
        if (lives)
            continue;
        uint32_t tenant = member->tenant;
        member_release(agent, member);
        if (agent->plan->tenants[tenant].kind == CORUN_HOST_BATCH && !agent->status)
            agent_keep(agent,
                       governor_instances(&agent->governor, agent->now_ns, tenant, members_present(agent, tenant)));
    }
    forget_gone(agent);
}
