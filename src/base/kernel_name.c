/* SPDX-License-Identifier: MIT */
/* Reads the names that C++ compilers make. */
#include "base/kernel_name.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Itanium names as far as people need them: <length><name> parts, nested ones joined; templates and parameters are left
 * out.
 */
const char *kernel_name(const char *mangled, char *name, size_t bytes)
{
    const char *at = mangled;
    size_t used = 0;
    bool nested = false;
    snprintf(name, bytes, "%s", mangled);
    if (strncmp(at, "_Z", 2))
        return name;
    at += 2;
    if (*at == 'N') {
        nested = true;
        for (at++; *at == 'K' || *at == 'V' || *at == 'r'; at++)
            ;
    }
    while (*at == 'L')
        at++;
    if (!isdigit((unsigned char)*at) && strncmp(at, "St", 2))
        return name;
    char text[1024];
    do {
        uint32_t depth = 0;
        if (!strncmp(at, "St", 2)) {
            used += (size_t)snprintf(text + used, used < sizeof text ? sizeof text - used : 0, "std::");
            at += 2;
        }
        char *end;
        unsigned long length = strtoul(at, &end, 10);
        if (end == at || length > strlen(end))
            break;
        bool anonymous =
            length >= 10 && !strncmp(end, "_GLOBAL__N", 10); /* nvcc and clang continue it each in their way */
        if (used + length + 3 >= sizeof text)
            break;
        if (!anonymous) {
            if (used && text[used - 1] != ':')
                used += (size_t)snprintf(text + used, sizeof text - used, "::");
            memcpy(text + used, end, length);
            used += length;
        }
        at = end + length;
        /* Template arguments: up to their E. Names within hold letters that mean nothing, so they are stepped over. */
        while (*at == 'I' || depth) {
            if (!*at)
                break;
            if (isdigit((unsigned char)*at)) {
                unsigned long inner = strtoul(at, &end, 10);
                at = inner <= strlen(end) ? end + inner : end + strlen(end);
                continue;
            }
            depth += *at == 'I' || *at == 'N' || *at == 'L' || *at == 'J' || *at == 'X';
            if (*at == 'L') { /* a literal: its type and value up to E */
                depth--;
                at += strcspn(at, "E");
            } else if (*at == 'E') {
                depth--;
            }
            at += *at != 0;
            if (!depth)
                break;
        }
        while (*at == 'L')
            at++;
    } while (nested && *at && *at != 'E' && used < sizeof text);
    if (used && used < sizeof text)
        snprintf(name, bytes, "%.*s", (int)used, text);
    return name;
}
