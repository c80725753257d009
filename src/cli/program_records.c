/* SPDX-License-Identifier: MIT */
/* The folder of records of a program: a file for each of its processes. */
#include "cli/program_records.h"

#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>

/* START-NUMBER, as processes call their records. */
struct of_process {
    unsigned long long start, number;
};

static struct of_process process_of(const char *name)
{
    char *end;
    struct of_process of = {.start = strtoull(name, &end, 10)};
    of.number = *end == '-' ? strtoull(end + 1, NULL, 10) : 0;
    return of;
}

/* Numbers alone would not do: behind the highest one, they begin anew. */
static int by_start(const struct dirent **left, const struct dirent **right)
{
    struct of_process a = process_of((*left)->d_name), b = process_of((*right)->d_name);
    if (a.start != b.start)
        return a.start > b.start ? 1 : -1;
    return (a.number > b.number) - (a.number < b.number);
}

static int is_record(const struct dirent *entry)
{
    return isdigit((unsigned char)entry->d_name[0]);
}

enum corun_status program_records_read(const char *folder, struct arena *arena, struct corun_diagnostics *list,
                                       struct program_record *record)
{
    struct dirent **entries;
    enum corun_status status = CORUN_OK;
    int count = scandir(folder, &entries, is_record, by_start);
    for (int i = 0; i < count; i++) {
        const char *path = arena_format(arena, "%s/%s", folder, entries[i]->d_name);
        enum corun_status read = path ? program_record_read(record, path, list) : CORUN_MEMORY;
        status = status == CORUN_OK ? read : status;
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
    return status;
}
