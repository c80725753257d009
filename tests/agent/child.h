/* SPDX-License-Identifier: MIT */
/* Processes of a test: with threads, busy or asleep, which end when the test does. */
#ifndef TESTS_AGENT_CHILD_H
#define TESTS_AGENT_CHILD_H

#include "agent/process.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static void *child_thread(void *busy)
{
    for (;;)
        if (busy)
            __asm__ volatile("");
        else
            pause();
    return NULL;
}

/* With so many threads, all of which are there when it returns. */
static inline struct process_id child_begin(int threads, bool busy)
{
    struct process_id id = {0};
    process_list list = {0};
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (!pid) {
        pthread_t thread;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (int i = 1; i < threads; i++)
            pthread_create(&thread, NULL, child_thread, busy ? &thread : NULL);
        child_thread(busy ? &thread : NULL);
    }
    for (int i = 0; i < 1000 && list.count < (size_t)threads; i++) {
        list.count = 0;
        usleep(1000);
        assert_true(process_threads(pid, &list));
    }
    assert_int_equal(list.count, threads);
    vector_free(&list);
    assert_true(process_find(pid, &id));
    return id;
}

static inline void child_end(struct process_id id)
{
    kill(id.pid, SIGKILL);
    waitpid(id.pid, NULL, 0);
}

#endif
