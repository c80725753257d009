/* SPDX-License-Identifier: MIT */
/*
 * What the front door says to the user of a program: the only place of this layer that writes to the program's streams.
 */
#include "cuda/console.h"

#include <stdarg.h>
#include <stdio.h>

void say(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("corun: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
}

void say_diagnostics(struct corun_diagnostics *list)
{
    for (size_t i = 0; i < corun_diagnostics_count(list); i++) {
        const struct corun_diagnostic *diagnostic = corun_diagnostics_get(list, i);
        const char *note = diagnostic->status == CORUN_OK ? "note: " : "";
        if (diagnostic->place.file && diagnostic->place.line)
            say("%s:%u: %s%s", diagnostic->place.file, diagnostic->place.line, note, diagnostic->message);
        else
            say("%s%s", note, diagnostic->message);
    }
    corun_diagnostics_clear(list);
}

/* Through the program's own stdout, so that it comes in order with what the host prints. */
void print_device_text(void *user, const char *text, size_t bytes)
{
    (void)user;
    fwrite(text, 1, bytes, stdout);
}
