/* SPDX-License-Identifier: MIT */
/* The table of commands, and looks at the options of a case. */
#include "campaign/commands.h"

#include <string.h>

static const struct command_kind *const kinds[] = {&queue_command, &split_command, &predict_command};

const struct command_kind *command_at(size_t index)
{
    return index < sizeof kinds / sizeof *kinds ? kinds[index] : NULL;
}

const struct command_kind *command_find(const char *name)
{
    for (size_t i = 0; command_at(i); i++) {
        if (!strcmp(command_at(i)->name, name))
            return command_at(i);
    }
    return NULL;
}

static const struct corun_campaign_option *find_option(const struct corun_campaign_case *item, const char *option)
{
    for (uint32_t i = 0; i < item->option_count; i++) {
        if (!strcmp(item->options[i].name, option))
            return &item->options[i];
    }
    return NULL;
}

bool command_has(const struct corun_campaign_case *item, const char *option)
{
    return find_option(item, option) != NULL;
}

const char *command_value(const struct corun_campaign_case *item, const char *option, const char *otherwise)
{
    const struct corun_campaign_option *found = find_option(item, option);
    return found ? found->value : otherwise;
}

const char *command_values(const struct corun_campaign_case *item, const char *option, const char *otherwise,
                           struct arena *arena)
{
    const char *text = NULL;
    for (uint32_t i = 0; i < item->option_count; i++) {
        if (strcmp(item->options[i].name, option) != 0)
            continue;
        text = text ? arena_format(arena, "%s %s", text, item->options[i].value) : item->options[i].value;
        if (!text)
            return NULL;
    }
    return text ? text : otherwise;
}
