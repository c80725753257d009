/* SPDX-License-Identifier: MIT */
/*
 * A process that does nothing until the agent is gone. It notices by a pipe that nobody but the agent can write to; if the agent has left a
 * journal, it was killed, and the guardian puts everything back.
 */
#include "agent/running.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define GRACE_MS 2000u

static void close_all_but(int kept)
{
    if (kept > 0)
        close_range(0, (unsigned)kept - 1, 0);
    close_range((unsigned)kept + 1, ~0u, 0);
}

/* What ends the agent from a terminal is not to end its guardian. */
static void guard(const char *journal, const char *socket, int end)
{
    static const int passed_over[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGCHLD, SIGUSR1, SIGUSR2};
    struct restored restored;
    char byte;
    sigset_t none;
    prctl(PR_SET_NAME, "corun-guardian");
    setsid();
    close_all_but(end);
    for (size_t i = 0; i < sizeof passed_over / sizeof *passed_over; i++)
        signal(passed_over[i], SIG_IGN);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    while (read(end, &byte, 1) < 0 && errno == EINTR)
        ;
    if (access(journal, F_OK) == 0 && restore_from(journal, GRACE_MS, NULL, &restored) == CORUN_OK &&
        !restored.failed) { /* else the next agent, or a user, tries again */
        unlink(journal);
        unlink(socket);
    }
    _exit(0);
}

bool guardian_begin(struct agent *agent)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC))
        return false;
    agent->guardian = fork();
    if (!agent->guardian)
        guard(agent->journal_path, agent->socket_path, ends[0]);
    close(ends[0]);
    agent->guardian_pipe = ends[1];
    if (agent->guardian > 0)
        return true;
    close(ends[1]);
    agent->guardian_pipe = -1;
    return false;
}

void guardian_end(struct agent *agent)
{
    if (agent->guardian_pipe >= 0)
        close(agent->guardian_pipe);
    if (agent->guardian > 0)
        waitpid(agent->guardian, NULL, 0);
    agent->guardian_pipe = -1;
    agent->guardian = 0;
}
