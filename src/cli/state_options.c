/* SPDX-License-Identifier: MIT */
#include "cli/state_options.h"

#include "base/arena.h"

#include <string.h>

/* FILE[@CYCLE] */
static void parse_file(const char *value, struct command *command, struct state_options *options)
{
    const char *at = strrchr(value, '@');
    bool cycle = at && at[1] && strspn(at + 1, "0123456789kKmMgG") == strlen(at + 1);
    if (cycle)
        command_number(command, "--checkpoint", at + 1, 1000, 1, INT64_MAX, &options->cycle);
    options->file = arena_copy_text(command->arena, value, cycle ? (size_t)(at - value) : strlen(value));
    if (!options->file)
        command_keep(command, CORUN_MEMORY);
    else if (!options->file[0])
        command_keep(command, corun_report(command->list, CORUN_USAGE, CORUN_NOWHERE,
                                           "--checkpoint: the name of the file is missing in `%s`", value));
}

bool state_option(int key, const char *value, struct argp_state *argp, struct command *command,
                  struct state_options *options)
{
    switch (key) {
    case KEY_STATE_FILE:
        parse_file(value, command, options);
        return true;
    case KEY_STATE_EVERY:
        command_number(command, "--checkpoint-every", value, 1000, 1, INT64_MAX, &options->every);
        return true;
    case KEY_STATE_RESUME:
        options->resume = command_name("--resume", value, argp);
        return true;
    case ARGP_KEY_SUCCESS:
        if (options->every && !options->file)
            argp_error(argp, "--checkpoint-every wants --checkpoint FILE");
        return false;
    default:
        return false;
    }
}
