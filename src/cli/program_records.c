/* SPDX-License-Identifier: MIT */
/* The folder of records of a program: a file for each of its processes. */
#include "cli/program_records.h"

#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>

/* START-OPENED-NUMBER-ATTEMPT (cuda/own_file.h), as processes call their records: the order in which they started, and within one tick that of their records. */
enum { NAME_FIELDS = 4 };

struct name {
    unsigned long long fields[NAME_FIELDS];
};

static struct name name_of(const char *text)
{
    struct name name = {0};
    for (int i = 0; i < NAME_FIELDS && isdigit((unsigned char)*text); i++) {
        char *end;
        name.fields[i] = strtoull(text, &end, 10);
        text = *end == '-' ? end + 1 : end;
    }
    return name;
}

/* Numbers alone would not do: behind the highest one, they begin anew. */
static int by_start(const struct dirent **left, const struct dirent **right)
{
    struct name a = name_of((*left)->d_name), b = name_of((*right)->d_name);
    for (int i = 0; i < NAME_FIELDS; i++)
        if (a.fields[i] != b.fields[i])
            return a.fields[i] > b.fields[i] ? 1 : -1;
    return 0;
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
