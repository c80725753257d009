/* SPDX-License-Identifier: MIT */
/* One open, one write or read, one close. */
#include "agent/control_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool control_path(char path[CONTROL_PATH], const char *folder, const char *name)
{
    int length = snprintf(path, CONTROL_PATH, "%s%s%s", folder, name ? "/" : "", name ? name : "");
    return length > 0 && (unsigned)length < CONTROL_PATH;
}

int control_write(const char *folder, const char *name, const char *format, ...)
{
    char path[CONTROL_PATH], text[CONTROL_PATH];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (!control_path(path, folder, name) || length < 0 || (size_t)length >= sizeof text)
        return errno = ENAMETOOLONG;
    int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
    if (fd < 0)
        return errno;
    int error = write(fd, text, (size_t)length) == length ? 0 : errno;
    close(fd);
    return errno = error;
}

int control_read(const char *folder, const char *name, char *text, size_t bytes)
{
    char path[CONTROL_PATH];
    if (!control_path(path, folder, name))
        return errno = ENAMETOOLONG;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno;
    ssize_t length = read(fd, text, bytes - 1);
    int error = length < 0 ? errno : 0;
    close(fd);
    length = length > 0 ? length : 0;
    if (length && text[length - 1] == '\n')
        length--;
    text[length] = 0;
    return errno = error;
}

bool control_exists(const char *folder, const char *name)
{
    char path[CONTROL_PATH];
    return control_path(path, folder, name) && access(path, F_OK) == 0;
}
