/* SPDX-License-Identifier: MIT */
/*
 * Commands other than `corun run` that a campaign may have cases of: which of their options a description may set, what is wrong with a
 * value, and what tells a case from others. The command itself runs the case, in a worker process.
 */
#ifndef CORUN_CAMPAIGN_COMMANDS_H
#define CORUN_CAMPAIGN_COMMANDS_H

#include "base/arena.h"
#include "case/case_key.h"

struct command_option {
    const char *name;    /* long, as the command has it */
    bool flag;           /* true or false in a description */
    bool several;        /* may be given more than once in one case */
    const char *refused; /* why a campaign does not have it; NULL: it does */
};

/* For the keys of cases. */
struct command_keys {
    struct case_keys *cases;
    const char *data_directory;
    struct corun_diagnostics *list;
};

struct command_kind {
    const char *name;
    const char *arguments;                /* what follows the options, for messages */
    const char *results;                  /* the list that the JSON of every result has */
    bool has_cache;                       /* it has the option --cache */
    bool has_jobs;                        /* and --jobs */
    const struct command_option *options; /* ends with a name that is NULL */
    /* One value, alone: USAGE and others, with a message. `scratch` is for texts. */
    enum corun_status (*check)(const char *option, const char *value, struct arena *scratch,
                               struct corun_diagnostics *list);
    /* Options and arguments together; sets gpu, policy and seed of the case, whose texts are in the arena. */
    enum corun_status (*complete)(struct corun_campaign_case *item, struct arena *arena,
                                  struct corun_diagnostics *list);
    /* What it names is read: FILE, NOT_FOUND, as case_keys_find. */
    enum corun_status (*key)(struct command_keys *keys, const struct corun_campaign_case *item,
                             struct content_key *key);
};

extern const struct command_kind queue_command;   /* queue_case.c */
extern const struct command_kind split_command;   /* split_case.c */
extern const struct command_kind predict_command; /* predict_case.c */

/* NULL if a campaign can have no cases of it. */
const struct command_kind *command_find(const char *name);
/* The name-th and so on, from 0; NULL behind the last one. */
const struct command_kind *command_at(size_t index);
/* The value of an option of a case that is given once, else `otherwise`. */
const char *command_value(const struct corun_campaign_case *item, const char *option, const char *otherwise);
/* All values of an option, with blanks between them, in the arena; `otherwise` if there are none. NULL: out of memory. */
const char *command_values(const struct corun_campaign_case *item, const char *option, const char *otherwise,
                           struct arena *arena);
bool command_has(const struct corun_campaign_case *item, const char *option);

#endif
