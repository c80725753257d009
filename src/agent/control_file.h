/* SPDX-License-Identifier: MIT */
/* Files of the kernel that are read and written whole: those of control groups and of resctrl. */
#ifndef CORUN_AGENT_CONTROL_FILE_H
#define CORUN_AGENT_CONTROL_FILE_H

#include <stdbool.h>
#include <stddef.h>

#define CONTROL_PATH 4096u

/* FOLDER/NAME; false if that is too long. `name` may be NULL. */
bool control_path(char path[CONTROL_PATH], const char *folder, const char *name);
/* In one write, as the kernel wants it. 0, or what went wrong; errno stays that. */
int control_write(const char *folder, const char *name, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* The text without the last line's end. The same results. */
int control_read(const char *folder, const char *name, char *text, size_t bytes);
bool control_exists(const char *folder, const char *name);

#endif
