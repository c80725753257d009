/* SPDX-License-Identifier: MIT */
/* CORUN_SPLIT: what a user or `corun split` changes about programs that nobody changed. */
#ifndef CORUN_SPLIT_SETTINGS_H
#define CORUN_SPLIT_SETTINGS_H

#include "corun/split.h"

#define SPLIT_SETTING "CORUN_SPLIT"
#define SPLIT_RECORD "CORUN_SPLIT_RECORD" /* file to which every run adds a line of JSON */

struct settings {
    char strategy[64];      /* empty: one that the program brought */
    uint32_t threads, gpus; /* CORUN_SPLIT_ALL or a number, 0 is none */
    enum corun_split_clock clock;
    struct corun_split_parameters parameters;
};

/* The defaults of the parameters. */
struct corun_split_parameters settings_default_parameters(void);
/* Reads words into what is there already. SYNTAX after a message that names the word. */
enum corun_status split_settings_read(struct settings *settings, const char *text,
                                      struct corun_diagnostics *diagnostics);
/* Whether parameters lie in their ranges; ARGUMENT after a message. */
enum corun_status settings_check(const struct corun_split_parameters *parameters,
                                 struct corun_diagnostics *diagnostics);

#endif
