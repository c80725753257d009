/* SPDX-License-Identifier: MIT */
/* Parameter values of policies to words and back. */
#include "share/parameter_words.h"

#include <stdio.h>
#include <string.h>

/* How long the name is without "_<number>" at its end; 0 if it does not end so. */
static size_t list_name_length(const char *name, uint32_t number)
{
    char ending[16];
    size_t length = strlen(name), ending_length = (size_t)snprintf(ending, sizeof ending, "_%u", number);
    return length > ending_length && !strcmp(name + length - ending_length, ending) ? length - ending_length : 0;
}

struct parameter_group parameter_group_at(const struct corun_policy_parameter *parameters, uint32_t count,
                                          uint32_t first)
{
    const char *name = parameters[first].name;
    struct parameter_group group = {first, 1, list_name_length(name, 1), false};
    if (!group.name_length) {
        group.name_length = strlen(name);
        return group;
    }
    group.is_list = true;
    while (first + group.count < count &&
           list_name_length(parameters[first + group.count].name, group.count + 1) == group.name_length &&
           !strncmp(parameters[first + group.count].name, name, group.name_length))
        group.count++;
    return group;
}

int parameter_choice(const char *choices, const char *word, size_t length)
{
    for (int place = 0; choices; place++) {
        const char *bar = strchr(choices, '|');
        size_t choice_length = bar ? (size_t)(bar - choices) : strlen(choices);
        if (choice_length == length && !strncmp(choices, word, length))
            return place;
        choices = bar ? bar + 1 : NULL;
    }
    return -1;
}

/* Appends a value; returns how much of the text is written. */
static size_t append(const struct corun_policy_parameter *parameter, double value, char *text, size_t used,
                     size_t bytes)
{
    const char *choice = parameter->choices;
    for (int place = 0; choice && place < (int)value; place++) {
        choice = strchr(choice, '|');
        choice = choice ? choice + 1 : NULL;
    }
    int written = choice ? snprintf(text + used, bytes - used, "%.*s", (int)strcspn(choice, "|"), choice)
                         : snprintf(text + used, bytes - used, "%g", value);
    return written > 0 && used + (size_t)written < bytes ? used + (size_t)written : bytes - 1;
}

void parameter_group_text(const struct corun_policy_parameter *parameters, const struct parameter_group *group,
                          const double *values, char *text, size_t bytes)
{
    const struct corun_policy_parameter *own = &parameters[group->first];
    uint32_t shown = group->count;
    while (shown > 1 && (!values || values[group->first + shown - 1] == own[shown - 1].initial))
        shown--;
    size_t used = 0;
    text[0] = 0;
    for (uint32_t i = 0; i < shown; i++) {
        if (i && used + 1 < bytes) {
            text[used++] = '/';
            text[used] = 0;
        }
        used = append(&own[i], values ? values[group->first + i] : own[i].initial, text, used, bytes);
    }
}
