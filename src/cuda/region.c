/* SPDX-License-Identifier: MIT */
/* Which launches are timed (region.h). */
#include "cuda/region.h"

#include "base/number.h"

#include <stdio.h>
#include <string.h>

/* `3` or `3-5` up to `end`. */
static bool parse_launches(const char *text, const char *end, struct region *region)
{
    char words[64];
    size_t length = (size_t)(end - text);
    if (length >= sizeof words)
        return false;
    memcpy(words, text, length);
    words[length] = 0;
    char *hyphen = strchr(words, '-');
    if (hyphen)
        *hyphen = 0;
    if (!number_parse(words, 1000, &region->first) || !number_parse(hyphen ? hyphen + 1 : words, 1000, &region->last))
        return false;
    return region->first && region->first <= region->last;
}

bool region_parse(const char *text, struct region *region)
{
    static const char launch[] = "launch=", kernel[] = "kernel=", profiler[] = "profiler";
    *region = (struct region){.on = true};
    for (;;) {
        const char *end = strchr(text, ';');
        end = end ? end : text + strlen(text);
        if (!strncmp(text, kernel, sizeof kernel - 1)) { /* names may have any letter in them */
            text += sizeof kernel - 1;
            if (!*text || strlen(text) >= sizeof region->kernel)
                return false;
            memcpy(region->kernel, text, strlen(text) + 1);
            return true;
        }
        if ((size_t)(end - text) == sizeof profiler - 1 && !strncmp(text, profiler, sizeof profiler - 1))
            region->profiler = true;
        else if (strncmp(text, launch, sizeof launch - 1) != 0 ||
                 !parse_launches(text + sizeof launch - 1, end, region))
            return false;
        if (!*end)
            return true;
        text = end + 1;
    }
}

bool region_names(const char *name, const char *symbol)
{
    if (!strcmp(name, symbol))
        return true;
    char part[1100]; /* as the names of C++ have it: its length, then its letters */
    int length = snprintf(part, sizeof part, "%zu%s", strlen(name), name);
    if (strncmp(symbol, "_Z", 2) != 0 || length < 0 || (size_t)length >= sizeof part)
        return false;
    for (const char *found = symbol; (found = strstr(found + 1, part));) {
        if (found[-1] < '0' || found[-1] > '9')
            return true;
    }
    return false;
}

bool region_times(struct region *region, const char *symbol)
{
    if (!region->on)
        return true;
    if ((region->profiler && !region->profiled) || (*region->kernel && !region_names(region->kernel, symbol)))
        return false;
    region->seen++;
    return !region->last || (region->seen >= region->first && region->seen <= region->last);
}
