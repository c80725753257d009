/* SPDX-License-Identifier: MIT */
/* Where kernels/ and gpu/ lie, found from the environment, the library or the running program. */
#include "corun/workload.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* From the folder of the program or of the library. Each is what it is only with kernels/ in it: data is a common name. */
static const char *const places[] = {"data", "../data", "../share/corun"};

/* true if `path` is a directory and is not longer than `bytes` allow */
static bool is_directory(const char *path, int length, size_t bytes)
{
    struct stat information;
    return length >= 0 && (size_t)length < bytes && stat(path, &information) == 0 && S_ISDIR(information.st_mode);
}

/* The folder of a file; false if there is none in its path. */
static bool to_folder(char *path)
{
    char *slash = strrchr(path, '/');
    if (slash)
        *slash = 0;
    return slash != NULL;
}

/* The folder of the shared library that this is part of; false if it is part of the program itself. */
static bool folder_of_library(char *folder, size_t bytes)
{
    Dl_info found;
    struct link_map *map = NULL;
    if (!dladdr1(&places, &found, (void **)&map, RTLD_DL_LINKMAP) || !map || !*map->l_name)
        return false;
    char *real = realpath(map->l_name, NULL);
    bool fits = real && strlen(real) < bytes;
    if (fits)
        memcpy(folder, real, strlen(real) + 1);
    free(real);
    return fits && to_folder(folder);
}

static bool folder_of_program(char *folder, size_t bytes)
{
    ssize_t length = readlink("/proc/self/exe", folder, bytes - 1);
    folder[length > 0 ? length : 0] = 0;
    return to_folder(folder);
}

enum corun_status corun_data_directory(char *path, size_t bytes, struct corun_diagnostics *list)
{
    const char *wanted = getenv("CORUN_DATA");
    if (wanted && *wanted) {
        int length = snprintf(path, bytes, "%s", wanted);
        if (is_directory(path, length, bytes))
            return CORUN_OK;
        return corun_report(list, CORUN_NOT_FOUND, CORUN_NOWHERE, "CORUN_DATA names '%s', which is no directory",
                            wanted);
    }
    char folder[4096] = "the program";
    /* the library first: programs of users lie anywhere, and what is beside them may be theirs */
    bool (*const folders[])(char *, size_t) = {folder_of_library, folder_of_program};
    for (size_t k = 0; k < sizeof folders / sizeof *folders; k++) {
        if (!folders[k](folder, sizeof folder))
            continue;
        for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
            char probe[4200];
            int size = snprintf(probe, sizeof probe, "%s/%s/kernels", folder, places[i]);
            if (!is_directory(probe, size, sizeof probe))
                continue;
            if (snprintf(path, bytes, "%s/%s", folder, places[i]) < (int)bytes)
                return CORUN_OK;
            return corun_report(list, CORUN_LIMIT, CORUN_NOWHERE, "the path of the data directory is too long");
        }
    }
    return corun_report(list, CORUN_NOT_FOUND, CORUN_NOWHERE,
                        "no data directory next to %s (data, ../data or ../share/corun); set CORUN_DATA", folder);
}
