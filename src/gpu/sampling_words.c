/* SPDX-License-Identifier: MIT */
/* How sampling is asked for, in words. */
#include "base/number.h"
#include "corun/sampling.h"

#include <stdio.h>
#include <string.h>

#define MILLION 1000000u
#define MOST_EVERY 1000000u

static enum corun_status set(char *word, const char *option, struct corun_diagnostics *list,
                             struct corun_sampling *sampling)
{
    static const char error[] = "error=", every[] = "every=";
    double part;
    uint64_t number;
    if (!strncmp(word, error, strlen(error))) {
        if (!number_parse_real(word + strlen(error), &part) || !(part * MILLION >= 1) || part > 1)
            return corun_report(list, CORUN_USAGE, CORUN_NOWHERE,
                                "%s: error is a part of the cycles above 0 and up to 100%%, as 2%%; found `%s`", option,
                                word + strlen(error));
        sampling->error = (uint32_t)(part * MILLION + 0.5);
        return CORUN_OK;
    }
    if (!strncmp(word, every, strlen(every))) {
        if (!number_parse(word + strlen(every), 1000, &number) || !number || number > MOST_EVERY)
            return corun_report(list, CORUN_USAGE, CORUN_NOWHERE,
                                "%s: every is a number of launches from 1 to %u; found `%s`", option, MOST_EVERY,
                                word + strlen(every));
        sampling->every = (uint32_t)number;
        return CORUN_OK;
    }
    return corun_report(list, CORUN_USAGE, CORUN_NOWHERE, "%s: expected error=PART or every=N, found `%s`", option,
                        word);
}

enum corun_status corun_sampling_parse(const char *text, const char *option, struct corun_diagnostics *list,
                                       struct corun_sampling *sampling)
{
    *sampling = (struct corun_sampling){CORUN_SAMPLING_ERROR, CORUN_SAMPLING_EVERY};
    char words[128];
    if (text && strlen(text) >= sizeof words)
        return corun_report(list, CORUN_USAGE, CORUN_NOWHERE, "%s: too long", option);
    snprintf(words, sizeof words, "%s", text ? text : "");
    enum corun_status status = CORUN_OK;
    for (char *rest = *words ? words : NULL, *word; status == CORUN_OK && (word = strsep(&rest, ","));)
        status = set(word, option, list, sampling);
    return status;
}
