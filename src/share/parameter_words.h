/* SPDX-License-Identifier: MIT */
/* Parameters of policies in words: NAME=choice, and NAME_1, NAME_2, … as the list NAME=8/22. */
#ifndef CORUN_SHARE_PARAMETER_WORDS_H
#define CORUN_SHARE_PARAMETER_WORDS_H

#include "corun/policy.h"

/*
 * What is written as one: a single parameter, or a list of those named NAME_1, NAME_2, … that follow one another.
 * `name_length` is how much of the first one's name is written, `count` how many parameters there are, `is_list` also
 * if it is of one.
 */
struct parameter_group {
    uint32_t first, count;
    size_t name_length;
    bool is_list;
};
/* The group that begins at `first`. */
struct parameter_group parameter_group_at(const struct corun_policy_parameter *parameters, uint32_t count,
                                          uint32_t first);

/* The place of a word in choices like "off|on", or -1. */
int parameter_choice(const char *choices, const char *word, size_t length);
/*
 * Its value in words, cut off to fit: "0.01", "on", "8/22". A list ends with the last value that is not the initial
 * one. `values` of all parameters; NULL: the initial ones.
 */
void parameter_group_text(const struct corun_policy_parameter *parameters, const struct parameter_group *group,
                          const double *values, char *text, size_t bytes);
#define PARAMETER_TEXT_BYTES 256u

#endif
