/* SPDX-License-Identifier: MIT */
/* What files of the driver API share about modules: files of them, and what a program is told of their translation. */
#ifndef CORUN_CUDA_DRIVER_MODULE_H
#define CORUN_CUDA_DRIVER_MODULE_H

#include "corun/status.h"

/* What a program wants to be told of a translation. */
struct jit_log {
    char *info, *error;
    void **info_bytes, **error_bytes; /* the values of these options: in room, out what was written */
};

/* The options that a program gave (CUjit_option). */
struct jit_log jit_log_of_options(unsigned count, const int *options, void **values);
/* Messages go to the program's buffer if it has one for them, else to its user. The list is emptied. */
void jit_log_write(struct jit_log *log, struct corun_diagnostics *list);
/* A whole file, with a NUL behind it, to be freed; NULL if it cannot be read. */
char *module_file_read(const char *path, size_t *bytes);

#endif
