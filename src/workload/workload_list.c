/* SPDX-License-Identifier: MIT */
/* The list of all workloads in a data directory, sorted by name; a broken description is reported and left out. */
#include "base/text_file.h"
#include "base/vector.h"
#include "corun/workload.h"
#include "workload/description.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct corun_workload_list {
    VECTOR(struct description *) descriptions;
    VECTOR(struct corun_workload_info) items;
};

static int by_name(const struct dirent **left, const struct dirent **right)
{
    return strcmp((*left)->d_name, (*right)->d_name); /* the same order in every locale */
}

static enum corun_status add(struct corun_workload_list *workloads, const char *path, struct corun_diagnostics *list)
{
    char *text = NULL;
    size_t bytes = 0;
    struct description *description = NULL;
    enum corun_status status = text_file_read(path, DESCRIPTION_MAX_BYTES, list, &text, &bytes);
    if (!status)
        status = description_parse(path, text, bytes, list, &description);
    free(text);
    if (status)
        return status;
    if (!vector_push(&workloads->descriptions, description)) {
        description_destroy(description);
        return corun_report(list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory");
    }
    struct corun_workload_info info;
    description_describe(description, &info);
    if (!vector_push(&workloads->items, info))
        return corun_report(list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory");
    return CORUN_OK;
}

enum corun_status corun_workload_list_create(const char *data_directory, struct corun_diagnostics *list,
                                             struct corun_workload_list **result)
{
    *result = NULL;
    struct corun_workload_list *workloads = calloc(1, sizeof *workloads);
    char folder[4096];
    if (!workloads)
        return corun_report(list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory");
    struct dirent **entries = NULL;
    int count = -1;
    errno = ENAMETOOLONG;
    if ((size_t)snprintf(folder, sizeof folder, "%s/kernels", data_directory) < sizeof folder)
        count = scandir(folder, &entries, NULL, by_name);
    if (count < 0) {
        enum corun_status status = corun_report(list, CORUN_NOT_FOUND, CORUN_NOWHERE, "cannot list %s/kernels: %s",
                                                data_directory, strerror(errno));
        corun_workload_list_destroy(workloads);
        return status;
    }
    for (int i = 0; i < count; i++) {
        char path[4096 + 600];
        const char *name = entries[i]->d_name;
        snprintf(path, sizeof path, "%s/%s/%s.yaml", folder, name, name);
        if (name[0] != '.' && access(path, F_OK) == 0)
            (void)add(workloads, path, list); /* reported; the others are listed all the same */
        free(entries[i]);
    }
    free(entries);
    *result = workloads;
    return CORUN_OK;
}

void corun_workload_list_destroy(struct corun_workload_list *workloads)
{
    if (!workloads)
        return;
    for (size_t i = 0; i < workloads->descriptions.count; i++)
        description_destroy(workloads->descriptions.data[i]);
    vector_free(&workloads->descriptions);
    vector_free(&workloads->items);
    free(workloads);
}

size_t corun_workload_list_count(const struct corun_workload_list *workloads)
{
    return workloads->items.count;
}

const struct corun_workload_info *corun_workload_list_get(const struct corun_workload_list *workloads, size_t index)
{
    return &workloads->items.data[index];
}
