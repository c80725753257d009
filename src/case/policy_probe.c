/* SPDX-License-Identifier: MIT */
/* A child process loads the policy and answers through a pipe; how the child ended is told in words. */
#include "case/policy_probe.h"

#include "case/run.h"
#include "case/specification.h"
#include "share/load.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define TEXT_MAX_BYTES 4000u
#define PARAMETERS_MAX 256u

/* What the other process says. */
struct answer {
    uint32_t status, parameter_count; /* enum corun_status */
    char text[TEXT_MAX_BYTES];        /* the policy's name, or what is wrong */
    double parameters[PARAMETERS_MAX];
};

static enum corun_status specify(const char *text, struct arena *arena, struct corun_diagnostics *list,
                                 struct policy_meaning *meaning)
{
    const struct corun_policy *policy;
    const double *parameters;
    enum corun_status status = specify_policy(text, arena, list, &policy, &parameters);
    *meaning = (struct policy_meaning){0};
    if (!status && policy)
        *meaning = (struct policy_meaning){policy->name, parameters, policy->parameter_count};
    return status;
}

__attribute__((noreturn)) static void run_child(int pipe, const char *text)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    struct arena *arena = arena_create();
    struct corun_diagnostics *list = corun_diagnostics_create();
    struct answer *answer = calloc(1, sizeof *answer);
    struct policy_meaning meaning;
    if (!arena || !list || !answer)
        _exit(1);
    enum corun_status status = specify(text, arena, list, &meaning);
    answer->status = status;
    if (!status && meaning.name && meaning.parameter_count <= PARAMETERS_MAX) {
        snprintf(answer->text, sizeof answer->text, "%s", meaning.name);
        answer->parameter_count = meaning.parameter_count;
        if (meaning.parameter_count)
            memcpy(answer->parameters, meaning.parameters, meaning.parameter_count * sizeof *meaning.parameters);
    }
    for (size_t i = 0; status && i < corun_diagnostics_count(list); i++) {
        if (corun_diagnostics_get(list, i)->status)
            snprintf(answer->text, sizeof answer->text, "%s", corun_diagnostics_get(list, i)->message);
    }
    for (size_t done = 0; done < sizeof *answer;) {
        ssize_t written = write(pipe, (const char *)answer + done, sizeof *answer - done);
        if (written < 0 && errno != EINTR)
            break;
        done += written > 0 ? (size_t)written : 0;
    }
    _exit(0); /* nothing of the shared object's is called */
}

/* Until all of it is there, the other side has closed its end, or the time is over. */
static size_t read_answer(int pipe, struct answer *answer, bool *late)
{
    double until = run_clock() + CORUN_POLICY_SECONDS;
    size_t done = 0;
    while (done < sizeof *answer) {
        double left = until - run_clock();
        struct pollfd descriptor = {.fd = pipe, .events = POLLIN};
        *late = left <= 0;
        if (*late)
            return done;
        int ready = poll(&descriptor, 1, (int)(left * 1000) + 1);
        ssize_t bytes = ready > 0 ? read(pipe, (char *)answer + done, sizeof *answer - done) : 0;
        if ((ready < 0 || bytes < 0) && errno != EINTR)
            return done;
        if (ready > 0 && bytes == 0)
            return done;
        done += bytes > 0 ? (size_t)bytes : 0;
    }
    return done;
}

static enum corun_status explain(const char *text, bool late, int status, struct corun_diagnostics *list)
{
    int length = (int)policy_path_length(text);
    if (late)
        return corun_report(list, CORUN_POLICY, CORUN_NOWHERE, "policy %.*s was not loaded within %d seconds", length,
                            text, CORUN_POLICY_SECONDS);
    if (WIFSIGNALED(status))
        return corun_report(list, CORUN_POLICY, CORUN_NOWHERE,
                            "policy %.*s crashed while it was loaded: signal %d (%s)", length, text, WTERMSIG(status),
                            strsignal(WTERMSIG(status)));
    return corun_report(list, CORUN_POLICY, CORUN_NOWHERE,
                        "policy %.*s ended the process while it was loaded, with status %d", length, text,
                        WEXITSTATUS(status));
}

static enum corun_status take_answer(const struct answer *answer, struct arena *arena, struct corun_diagnostics *list,
                                     struct policy_meaning *meaning)
{
    size_t length = strnlen(answer->text, sizeof answer->text - 1);
    char *name = arena_copy_text(arena, answer->text, length);
    uint32_t count = answer->parameter_count <= PARAMETERS_MAX ? answer->parameter_count : 0;
    double *parameters = ARENA_ARRAY(arena, double, count + 1);
    if (!name || !parameters)
        return CORUN_MEMORY;
    if (answer->status)
        return corun_report(list,
                            answer->status < CORUN_STATUS_COUNT ? (enum corun_status)answer->status : CORUN_POLICY,
                            CORUN_NOWHERE, "%s", name);
    memcpy(parameters, answer->parameters, count * sizeof *parameters);
    *meaning = (struct policy_meaning){name, parameters, count};
    return CORUN_OK;
}

enum corun_status policy_probe(const char *text, struct arena *arena, struct corun_diagnostics *list,
                               struct policy_meaning *meaning)
{
    if (!policy_path_length(text))
        return specify(text, arena, list, meaning);
    int ends[2];
    struct answer *answer = ARENA_ARRAY(arena, struct answer, 1);
    *meaning = (struct policy_meaning){0};
    if (!answer)
        return CORUN_MEMORY;
    if (pipe2(ends, O_CLOEXEC))
        return corun_report(list, CORUN_FILE, CORUN_NOWHERE, "no pipe: %s", strerror(errno));
    fflush(NULL); /* what is in our buffers is not for the other process to write */
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        run_child(ends[1], text);
    }
    int error = errno, status = 0;
    bool late = false;
    close(ends[1]);
    size_t bytes = pid > 0 ? read_answer(ends[0], answer, &late) : 0;
    close(ends[0]);
    if (pid < 0)
        return corun_report(list, CORUN_FILE, CORUN_NOWHERE, "no process to load a policy: %s", strerror(error));
    if (late)
        kill(pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return bytes == sizeof *answer ? take_answer(answer, arena, list, meaning) : explain(text, late, status, list);
}
