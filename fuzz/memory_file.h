/* SPDX-License-Identifier: MIT */
/* Bytes as a file that has a name, for readers that open one. */
#ifndef FUZZ_MEMORY_FILE_H
#define FUZZ_MEMORY_FILE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

struct memory_file {
    int descriptor;
    char path[64];
};

static inline struct memory_file memory_file_create(const uint8_t *data, size_t size)
{
    struct memory_file file = {.descriptor = memfd_create("fuzz", MFD_CLOEXEC)};
    if (file.descriptor < 0 || write(file.descriptor, data, size) != (ssize_t)size)
        abort();
    snprintf(file.path, sizeof file.path, "/proc/self/fd/%d", file.descriptor);
    return file;
}

static inline void memory_file_destroy(const struct memory_file *file)
{
    close(file->descriptor);
}

#endif
