/* SPDX-License-Identifier: MIT */
/* The user's folder for what is kept, as the XDG base directory specification has it. */
#include "base/cache_folder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PATH_BYTES 4096u

bool cache_folder_path(char *path, size_t bytes, const char *below)
{
    const char *base = getenv("XDG_CACHE_HOME"), *rest = "/corun";
    if (!base || base[0] != '/') { /* relative paths are to be ignored */
        base = getenv("HOME");
        rest = "/.cache/corun";
    }
    if (!base || !base[0])
        return false;
    int length = snprintf(path, bytes, "%s%s%s", base, rest, below);
    return length > 0 && (size_t)length < bytes;
}

bool cache_folder_make(const char *folder, mode_t mode)
{
    char path[PATH_BYTES];
    size_t length = strlen(folder);
    if (!length || length >= sizeof path)
        return false;
    int problem = 0;
    for (size_t i = 1; i <= length; i++) {
        if (folder[i] != '/' && folder[i])
            continue;
        memcpy(path, folder, i);
        path[i] = 0;
        if (mkdir(path, mode) && errno != EEXIST)
            problem = errno; /* of no importance if the folder is there all the same */
    }
    struct stat status;
    if (stat(folder, &status)) {
        errno = problem ? problem : errno;
        return false;
    }
    if (!S_ISDIR(status.st_mode)) {
        errno = ENOTDIR;
        return false;
    }
    return true;
}
