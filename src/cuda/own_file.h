/* SPDX-License-Identifier: MIT */
/* Files that processes of a program leave in one folder, each its own. */
#ifndef CORUN_CUDA_OWN_FILE_H
#define CORUN_CUDA_OWN_FILE_H

#include <stddef.h>

/*
 * A new file in the folder, open for writing, with the permissions of the umask; `path` is where. Its name sorts by when the process started, and
 * then by when the file was made: numbers of processes begin anew, and a process that becomes another program keeps its number. -1: errno says why.
 */
int own_file_create(const char *folder, char *path, size_t bytes);

#endif
