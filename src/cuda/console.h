/* SPDX-License-Identifier: MIT */
/* What the user of a program is told, on the program's own output and error output. */
#ifndef CORUN_CUDA_CONSOLE_H
#define CORUN_CUDA_CONSOLE_H

#include "corun/status.h"

/* One line on the error output: names what is wrong or missing. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* All messages of the list, which is emptied. */
void say_diagnostics(struct corun_diagnostics *list);
/* What a kernel printed. */
void print_device_text(void *user, const char *text, size_t bytes);

#endif
