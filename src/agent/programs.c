/* SPDX-License-Identifier: MIT */
/* Programs that the agent starts: each in a process group of its own, which ends with the agent, whatever ends that. */
#include "agent/running.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define GRACE_MS 2000u       /* between asking and ending */
#define QUICK_NS 1000000000u /* a batch program that fails sooner than that is not started again */

/* In the child. Nothing happens before the agent has put the process where it belongs. */
static void become(const struct agent *agent, const struct plan_tenant *plan, int go, int failed)
{
    char byte;
    sigset_t none;
    pid_t agent_pid = getppid();
    sigemptyset(&none);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != agent_pid || read(go, &byte, 1) != 1)
        _exit(127);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (agent->descriptors_raised)
        setrlimit(RLIMIT_NOFILE, &agent->descriptors_before);
    setenv("CORUN_AGENT", agent->socket_path, 1);
    int nothing = open("/dev/null", O_RDWR);
    if (nothing >= 0)
        dup2(nothing, STDIN_FILENO);
    /* What programs print does not get between what the agent prints. */
    dup2(agent->setting->quiet && nothing >= 0 ? nothing : STDERR_FILENO, STDOUT_FILENO);
    if (agent->setting->quiet && nothing >= 0)
        dup2(nothing, STDERR_FILENO);
    execvp(plan->command[0], (char *const *)(uintptr_t)plan->command);
    int error = errno;
    (void)!write(failed, &error, sizeof error);
    _exit(127);
}

/* 0, or why the program could not be executed. */
static int let_go(int go, int failed)
{
    int error = 0;
    (void)!write(go, "", 1);
    return read(failed, &error, sizeof error) == sizeof error ? error : 0;
}

static enum corun_status start_child(struct agent *agent, uint32_t tenant, int go[2], int failed[2])
{
    const struct plan_tenant *plan = &agent->plan->tenants[tenant];
    pid_t pid = fork();
    if (!pid) {
        close(go[1]);
        become(agent, plan, go[0], failed[1]);
    }
    close(go[0]);
    close(failed[1]);
    if (pid < 0)
        return corun_report(agent->list, CORUN_MEMORY, CORUN_NOWHERE, "%s cannot be started: %s", plan->name,
                            strerror(errno));
    setpgid(pid, pid);
    struct member *member = member_take(agent, tenant, pid, true);
    if (!member) {
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        return corun_report(agent->list, CORUN_MEMORY, CORUN_NOWHERE, "%s cannot be started: %s", plan->name,
                            agent->first_failure);
    }
    agent->serves |= plan->kind == CORUN_HOST_SERVICE;
    member_confine(agent, member, &agent->topology.set);
    int error = let_go(go[1], failed[0]);
    if (error) {
        waitpid(pid, NULL, 0);
        member_release(agent, member);
        return corun_report(agent->list, CORUN_NOT_FOUND, CORUN_NOWHERE, "%s: %s", plan->command[0], strerror(error));
    }
    return CORUN_OK;
}

enum corun_status programs_start(struct agent *agent, uint32_t tenant)
{
    int go[2], failed[2];
    if (pipe2(go, O_CLOEXEC))
        return CORUN_MEMORY;
    if (pipe2(failed, O_CLOEXEC)) {
        close(go[0]);
        close(go[1]);
        return CORUN_MEMORY;
    }
    enum corun_status status = start_child(agent, tenant, go, failed);
    close(go[1]);
    close(failed[0]);
    return status;
}

/* A batch program that has done its work does it again. */
static void end_program(struct agent *agent, struct member *member, int how)
{
    uint32_t index = member->tenant;
    struct tenant *tenant = &agent->tenants[index];
    bool well = WIFEXITED(how) && WEXITSTATUS(how) == 0;
    bool quick = agent->now_ns - member->started_ns < QUICK_NS;
    kill(-member->id.pid, SIGKILL); /* what it has left behind */
    member_release(agent, member);
    tenant->runs += well;
    tenant->failures += !well;
    if (tenant->plan->kind == CORUN_HOST_SERVICE || agent->ending || agent->status)
        return;
    if (well || !quick)
        agent_keep(agent, programs_start(agent, index));
    agent_keep(agent, governor_instances(&agent->governor, agent->now_ns, index, members_present(agent, index)));
}

void programs_reap(struct agent *agent)
{
    int how;
    for (pid_t pid; (pid = waitpid(-1, &how, WNOHANG)) > 0;) {
        if (pid == agent->guardian) {
            guardian_end(agent);
            if (!agent->ending && !guardian_begin(agent))
                agent_keep(agent, corun_report(agent->list, CORUN_MEMORY, CORUN_NOWHERE,
                                               "the guardian of the agent ended, and there is no other"));
            continue;
        }
        for (size_t i = 0; i < agent->members.count; i++)
            if (agent->members.data[i]->program && agent->members.data[i]->id.pid == pid &&
                !agent->members.data[i]->gone) {
                end_program(agent, agent->members.data[i], how);
                break;
            }
    }
}

bool programs_serve(const struct agent *agent)
{
    for (size_t i = 0; i < agent->members.count; i++) {
        const struct member *member = agent->members.data[i];
        if (member->program && !member->gone && agent->plan->tenants[member->tenant].kind == CORUN_HOST_SERVICE)
            return true;
    }
    return !agent->serves;
}

static uint32_t signal_all(const struct agent *agent, int number)
{
    uint32_t count = 0;
    for (size_t i = 0; i < agent->members.count; i++) {
        const struct member *member = agent->members.data[i];
        if (!member->program || member->gone)
            continue;
        count++;
        kill(-member->id.pid, number);
        kill(-member->id.pid, SIGCONT);
    }
    return count;
}

void programs_end(struct agent *agent)
{
    const struct timespec step = {0, 10000000};
    signal_all(agent, SIGTERM);
    for (uint32_t ms = 0; ms < GRACE_MS; ms += 10) {
        programs_reap(agent);
        bool any = false;
        for (size_t i = 0; i < agent->members.count; i++)
            any |= agent->members.data[i]->program && !agent->members.data[i]->gone;
        if (!any)
            return;
        nanosleep(&step, NULL);
    }
    signal_all(agent, SIGKILL);
    for (int attempt = 0; attempt < 100; attempt++) {
        programs_reap(agent);
        nanosleep(&step, NULL);
    }
}
