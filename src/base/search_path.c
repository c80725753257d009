/* SPDX-License-Identifier: MIT */
/* The folders of PATH are looked into, one after the other. */
#include "base/search_path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin"

bool search_path_find(const char *name, char *path, size_t bytes)
{
    const char *search = getenv("PATH");
    search = search ? search : DEFAULT_PATH;
    if (strchr(name, '/')) {
        int length = snprintf(path, bytes, "%s", name);
        return length > 0 && (size_t)length < bytes;
    }
    while (*search) {
        struct stat about;
        size_t length = strcspn(search, ":");
        int written = snprintf(path, bytes, "%.*s/%s", (int)length, search, name);
        if (written > 0 && (size_t)written < bytes && !access(path, X_OK) && !stat(path, &about) &&
            S_ISREG(about.st_mode))
            return true;
        search += length + (search[length] == ':');
    }
    return false;
}
