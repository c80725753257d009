/* SPDX-License-Identifier: MIT */
/* A record of calls. It is kept in memory until the end: writing it while kernels run would take the time that is to be found. */
#include "runtime/calls.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

uint64_t calls_clock(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

int calls_note(struct calls *calls, const char *text, int result)
{
    if (calls->wanted) { /* without memory the record ends early: the run goes on */
        struct call call = {.text = text, .begin = calls->begun, .end = calls_clock()};
        calls->wanted = vector_push(&calls->list, call);
    }
    return result;
}

void calls_note_device(struct calls *calls, const char *text, uint64_t begin, uint64_t end, uint32_t number,
                       uint32_t where)
{
    if (calls->wanted) {
        struct call call = {text, begin, end, number, where, true};
        calls->wanted = vector_push(&calls->list, call);
    }
}

/* Up to the arguments. */
static int name_length(const char *text)
{
    return (int)strcspn(text, "(");
}

enum corun_status calls_write(const struct calls *calls, const char *path, struct corun_diagnostics *list)
{
    FILE *file = fopen(path, "w");
    if (!file)
        return corun_report(list, CORUN_FILE, (struct corun_place){path, 0, 0}, "%s", strerror(errno));
    fprintf(file, "begin_us,length_us,who,what,number,stream\n");
    for (size_t i = 0; i < calls->list.count; i++) {
        const struct call *call = &calls->list.data[i];
        double begin = ((double)call->begin - (double)calls->first_ns) / 1e3;
        double length = ((double)call->end - (double)call->begin) / 1e3;
        fprintf(file, "%.3f,%.3f,%s,%.*s,", begin, length, call->of_device ? "device" : "host", name_length(call->text),
                call->text);
        if (call->of_device)
            fprintf(file, "%u,%u\n", call->number, call->where);
        else
            fprintf(file, ",\n");
    }
    bool good = !ferror(file);
    good &= fclose(file) == 0;
    return good ? CORUN_OK : corun_report(list, CORUN_FILE, (struct corun_place){path, 0, 0}, "cannot be written");
}

void calls_free(struct calls *calls)
{
    vector_free(&calls->list);
}
