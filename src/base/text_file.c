/* SPDX-License-Identifier: MIT */
/* A file read whole, with a limit on its bytes. */
#include "base/text_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static enum corun_status read_stream(FILE *stream, const char *path, size_t most_bytes, struct corun_diagnostics *list,
                                     char **text, size_t *bytes)
{
    size_t capacity = 1 << 16, count = 0;
    char *buffer = malloc(capacity + 1);
    while (buffer) {
        count += fread(buffer + count, 1, capacity - count, stream);
        if (count < capacity)
            break;
        if (count > most_bytes) {
            free(buffer);
            return corun_report(list, CORUN_FILE, (struct corun_place){path, 0, 0}, "the file has more than %zu bytes",
                                most_bytes);
        }
        char *larger = realloc(buffer, (capacity *= 2) + 1);
        if (!larger)
            free(buffer);
        buffer = larger;
    }
    if (!buffer)
        return corun_report(list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory reading %s", path);
    if (ferror(stream)) {
        free(buffer);
        return corun_report(list, CORUN_FILE, (struct corun_place){path, 0, 0}, "cannot read the file: %s",
                            strerror(errno));
    }
    buffer[count] = 0;
    *text = buffer;
    *bytes = count;
    return CORUN_OK;
}

enum corun_status text_file_read(const char *path, size_t most_bytes, struct corun_diagnostics *list, char **text,
                                 size_t *bytes)
{
    struct stat information;
    if (!*path)
        return corun_report(list, CORUN_NOT_FOUND, CORUN_NOWHERE, "``: the name of a file is missing");
    FILE *stream = stat(path, &information) == 0 ? fopen(path, "rb") : NULL;
    if (!stream)
        return corun_report(list, errno == ENOENT || errno == ENOTDIR ? CORUN_NOT_FOUND : CORUN_FILE,
                            (struct corun_place){path, 0, 0}, "cannot open the file: %s", strerror(errno));
    enum corun_status status;
    if (S_ISDIR(information.st_mode))
        status = corun_report(list, CORUN_FILE, (struct corun_place){path, 0, 0}, "this is a directory");
    else
        status = read_stream(stream, path, most_bytes, list, text, bytes);
    fclose(stream);
    return status;
}
