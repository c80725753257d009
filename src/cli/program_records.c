/* SPDX-License-Identifier: MIT */
/* The folder of records of a program: a file for each of its processes. */
#include "cli/program_records.h"

#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>

static int by_number(const struct dirent **left, const struct dirent **right)
{
    long a = atol((*left)->d_name), b = atol((*right)->d_name);
    return (a > b) - (a < b);
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
    int count = scandir(folder, &entries, is_record, by_number);
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
