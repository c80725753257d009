/* SPDX-License-Identifier: MIT */
/* Affinities of whole processes, and lists of processors as text. */
#include "agent/affinity.h"

#include "agent/process.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_PASSES 100

static bool parse_number(const char **at, unsigned long *number)
{
    char *end;
    if (**at < '0' || **at > '9')
        return false;
    *number = strtoul(*at, &end, 10);
    *at = end;
    return *number < CPU_SETSIZE;
}

bool affinity_parse(const char *text, cpu_set_t *cores)
{
    CPU_ZERO(cores);
    for (const char *at = text;; at++) {
        unsigned long first, last;
        if (!parse_number(&at, &first))
            return false;
        last = first;
        if (*at == '-' && (at++, !parse_number(&at, &last)))
            return false;
        if (last < first)
            return false;
        for (unsigned long i = first; i <= last; i++)
            CPU_SET(i, cores);
        if (*at == '\n')
            at++;
        if (!*at)
            return true;
        if (*at != ',')
            return false;
    }
}

const char *affinity_format(const cpu_set_t *cores, char *text, size_t bytes)
{
    size_t length = 0;
    text[0] = 0;
    for (int first = 0; first < CPU_SETSIZE; first++) {
        int last = first;
        if (!CPU_ISSET(first, cores))
            continue;
        while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, cores))
            last++;
        int written = last > first ? snprintf(text + length, bytes - length, "%s%d-%d", length ? "," : "", first, last)
                                   : snprintf(text + length, bytes - length, "%s%d", length ? "," : "", first);
        if (written < 0 || (size_t)written >= bytes - length)
            break;
        length += (size_t)written;
        first = last;
    }
    return text;
}

int affinity_set_thread(pid_t thread, const cpu_set_t *cores)
{
    return sched_setaffinity(thread, sizeof *cores, cores) && errno != ESRCH ? errno : 0;
}

int affinity_get_thread(pid_t thread, cpu_set_t *cores)
{
    return sched_getaffinity(thread, sizeof *cores, cores) ? errno : 0;
}

static bool is_among(const process_list *list, pid_t pid)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->data[i] == pid)
            return true;
    return false;
}

/* A thread that is made by one that has not been moved yet is as that one was: passes, until one finds nobody new. */
int affinity_set_process(pid_t pid, const cpu_set_t *cores)
{
    process_list done = {0};
    int error = 0;
    bool more = true;
    for (int pass = 0; more && pass < MOST_PASSES; pass++) {
        process_list now = {0};
        more = false;
        if (!process_threads(pid, &now))
            error = error ? error : ENOMEM;
        for (size_t i = 0; i < now.count; i++) {
            if (is_among(&done, now.data[i]))
                continue;
            int failed = affinity_set_thread(now.data[i], cores);
            error = error ? error : failed;
            more = true;
        }
        vector_free(&done);
        done = now;
    }
    vector_free(&done);
    return error;
}
