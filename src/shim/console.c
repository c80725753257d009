/* SPDX-License-Identifier: MIT */
/* The only place where the shim says something. */
#include "shim/below.h"

#include <stdarg.h>
#include <stdio.h>

void shim_say(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("corun: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
}
