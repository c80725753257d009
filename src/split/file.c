/* SPDX-License-Identifier: MIT */
/* A whole file is read into memory that grows. */
#include "split/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum corun_status file_read(const char *path, char **text, struct corun_diagnostics *diagnostics)
{
    struct corun_place place = {path, 0, 0};
    struct stat known;
    *text = NULL;
    FILE *file = fopen(path, "rbe");
    if (!file)
        return corun_report(diagnostics, CORUN_FILE, place, "it cannot be read: %s", strerror(errno));
    enum corun_status status = CORUN_OK;
    if (fstat(fileno(file), &known) || !S_ISREG(known.st_mode))
        status = corun_report(diagnostics, CORUN_FILE, place, "it is not a file");
    size_t bytes = status == CORUN_OK ? (size_t)known.st_size : 0;
    char *read = status == CORUN_OK ? malloc(bytes + 1) : NULL;
    if (status == CORUN_OK && !read)
        status = CORUN_MEMORY;
    if (status == CORUN_OK && fread(read, 1, bytes, file) != bytes)
        status = corun_report(diagnostics, CORUN_FILE, place, "it cannot be read to its end");
    fclose(file);
    if (status == CORUN_OK) {
        read[bytes] = '\0';
        *text = read;
        return CORUN_OK;
    }
    free(read);
    return status;
}
