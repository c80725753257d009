/* SPDX-License-Identifier: MIT */
/* A policy of a host as people write it: NAME:parameter=value,... */
#include "base/nearest.h"
#include "base/number.h"
#include "host/study.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MOST_POLICIES 64u

static enum corun_status find_policy(const char *name, const struct corun_host_policy *(*at)(size_t index),
                                     struct corun_diagnostics *list, const struct corun_host_policy **found)
{
    const char *names[MOST_POLICIES];
    size_t count = 0;
    for (const struct corun_host_policy *policy; count < MOST_POLICIES && (policy = at(count)); count++) {
        names[count] = policy->name;
        if (!strcmp(policy->name, name)) {
            *found = policy;
            return CORUN_OK;
        }
    }
    const char *nearest = nearest_name(name, names, count);
    char all[512] = "";
    for (size_t i = 0, length = 0; i < count && length < sizeof all; i++)
        length += (size_t)snprintf(all + length, sizeof all - length, "%s%s", i ? ", " : "", names[i]);
    return corun_report(list, CORUN_NOT_FOUND, CORUN_NOWHERE, "a host has no policy '%.64s'; %s%s%s", name,
                        nearest ? "did you mean '" : "there are ", nearest ? nearest : all, nearest ? "'?" : "");
}

/* The place of a word in "off|on". */
static bool find_choice(const char *choices, const char *word, double *value)
{
    size_t length = strlen(word);
    *value = 0;
    for (const char *at = choices; at; at = strchr(at, '|') ? strchr(at, '|') + 1 : NULL, *value += 1)
        if (!strncmp(at, word, length) && (at[length] == '|' || !at[length]) && length)
            return true;
    return false;
}

static enum corun_status set_parameter(const struct corun_host_policy *policy, char *word,
                                       struct corun_diagnostics *list, double *parameters)
{
    const char *names[HOST_MOST_PARAMETERS];
    char *text = strchr(word, '=');
    if (!text)
        return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE, "'%.64s' is not of the form PARAMETER=VALUE", word);
    *text++ = 0;
    for (uint32_t i = 0; i < policy->parameter_count; i++) {
        const struct corun_host_parameter *row = &policy->parameters[i];
        names[i] = row->name;
        if (strcmp(row->name, word) != 0)
            continue;
        double value;
        if (row->choices) {
            if (!find_choice(row->choices, text, &parameters[i]))
                return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE, "%s of policy %s is one of %s, not '%.32s'",
                                    word, policy->name, row->choices, text);
            return CORUN_OK;
        }
        if (!number_parse_real(text, &value) || value < row->lowest || value > row->highest ||
            (row->integer && floor(value) != value))
            return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE,
                                "%s of policy %s is a %snumber from %g to %g, not '%.32s'", word, policy->name,
                                row->integer ? "whole " : "", row->lowest, row->highest, text);
        parameters[i] = value;
        return CORUN_OK;
    }
    const char *nearest = nearest_name(word, names, policy->parameter_count);
    return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE, "policy %s has no parameter '%.32s'%s%s%s", policy->name,
                        word, nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
}

enum corun_status host_policy_parse(const char *words, const struct corun_host_policy *(*at)(size_t index),
                                    struct corun_diagnostics *list, struct host_setting *setting)
{
    char text[512], *rest = text;
    if (strlen(words) >= sizeof text)
        return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE, "'%.64s...' is too long", words);
    snprintf(text, sizeof text, "%s", words);
    const char *name = strsep(&rest, ":");
    enum corun_status status = find_policy(name, at, list, &setting->policy);
    if (status)
        return status;
    /* static-opt is told how many instances, or looks for them. */
    setting->search_instances = !strcmp(setting->policy->name, "static-opt") && !rest;
    for (uint32_t i = 0; i < setting->policy->parameter_count; i++)
        setting->parameters[i] = setting->policy->parameters[i].initial;
    for (char *word; !status && (word = strsep(&rest, ","));)
        status = set_parameter(setting->policy, word, list, setting->parameters);
    return status;
}
