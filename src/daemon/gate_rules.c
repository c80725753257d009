/* SPDX-License-Identifier: MIT */
/* Policies of a GPU of hardware as texts: the gate's own ones, and those of corun/policy.h. */
#include "daemon/gate.h"

#include "corun/status.h"

#include <string.h>

#define US UINT64_C(1000)

static const struct {
    const char *word;
} names[] = {
#define GATE_POLICY_ROW(name, word, meaning) {word},
    GATE_POLICIES(GATE_POLICY_ROW)
#undef GATE_POLICY_ROW
};

/* A whole number of units, up to a comma or the end. */
static bool read_time(const char *text, size_t bytes, uint64_t unit, uint64_t *ns)
{
    uint64_t value = 0;
    for (size_t i = 0; i < bytes; i++) {
        if (text[i] < '0' || text[i] > '9' || i > 8)
            return false;
        value = value * 10 + (uint64_t)(text[i] - '0');
    }
    *ns = value * unit;
    return bytes > 0 && value > 0;
}

static enum corun_status read_parameters(const char *text, struct gate_rules *rules, struct corun_diagnostics *list)
{
    const char *policy = names[rules->policy].word;
    bool turns = rules->policy == GATE_TIME_SLICE || rules->policy == GATE_EVEN;
    bool bounds = rules->policy == GATE_PRIORITY || rules->policy == GATE_GOAL;
    bool windows = rules->policy == GATE_GOAL || rules->policy == GATE_PARTITION;
    while (*text) {
        size_t length = strcspn(text, ","), name = strcspn(text, "=,");
        uint64_t *place = NULL, unit = US;
        if (bounds && name == 5 && !strncmp(text, "bound", name))
            place = &rules->bound_ns;
        if (turns && name == 7 && !strncmp(text, "quantum", name))
            place = &rules->quantum_ns;
        if (windows && name == 6 && !strncmp(text, "window", name)) {
            place = &rules->window_ns;
            unit = 1000 * US;
        }
        if (!place)
            return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE,
                                "policy %s of a GPU of hardware has no parameter `%.*s`%s", policy, (int)name, text,
                                turns                             ? " (quantum)"
                                : rules->policy == GATE_GOAL      ? " (bound, window)"
                                : rules->policy == GATE_PARTITION ? " (window)"
                                : rules->policy == GATE_PRIORITY  ? " (bound)"
                                                                  : "");
        if (name == length || !read_time(text + name + 1, length - name - 1, unit, place))
            return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE,
                                "policy %s: `%.*s` is no whole number of %s from 1 to 999999999, like %.*s=500", policy,
                                (int)length, text, unit == US ? "microseconds" : "milliseconds", (int)name, text);
        text += length + (text[length] == ',');
    }
    return CORUN_OK;
}

enum corun_status gate_rules_read(const char *text, struct gate_rules *rules, struct corun_diagnostics *list)
{
    size_t length = strcspn(text, ":");
    *rules = (struct gate_rules){.bound_ns = 200 * US, .quantum_ns = 2000 * US, .window_ns = 100000 * US};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i].word) == length && !strncmp(text, names[i].word, length)) {
            rules->policy = (enum gate_policy)i;
            return read_parameters(text + length + (text[length] == ':'), rules, list);
        }
    return corun_report(
        list, CORUN_ARGUMENT, CORUN_NOWHERE,
        "policy `%.*s` is none of a GPU of hardware: left-over, priority, goal, time-slice, even or partition; others "
        "need limits on each SM, which whole launches cannot obey",
        (int)length, text);
}

static bool is_own(const char *text)
{
    size_t length = strcspn(text, ":");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i].word) == length && !strncmp(text, names[i].word, length))
            return true;
    return false;
}

enum corun_status gate_rules_choose(const char *text, const struct gate_policies *policies, struct gate_rules *rules,
                                    struct corun_diagnostics *list)
{
    const size_t word = strlen(GATE_WORKERS_WORD);
    const double *parameters = NULL;
    struct sms_choice *choice = &rules->choice;
    bool named = strncmp(text, GATE_WORKERS_WORD, word) == 0;
    if (!policies->choose || (!named && is_own(text)))
        return gate_rules_read(text, rules, list);
    text += named ? word : 0;
    enum corun_status status = gate_rules_read("partition", rules, list); /* times that are said of no policy */
    rules->policy = GATE_WORKERS;
    if (memchr(text, '/', strcspn(text, ":")))
        return corun_report(list, CORUN_UNSUPPORTED, CORUN_NOWHERE,
                            "on a GPU of hardware no policy comes from a file: `%s`", text);
    if (status == CORUN_OK)
        status = policies->choose(policies->user, text, list, &choice->policy, &parameters);
    if (status != CORUN_OK)
        return status;
    if (!choice->policy)
        return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE,
                            "`%s` is no policy of a GPU of hardware; left-over lets every launch go to the driver",
                            text);
    if (choice->policy->parameter_count > SMS_MOST_PARAMETERS)
        return corun_report(list, CORUN_UNSUPPORTED, CORUN_NOWHERE,
                            "on a GPU of hardware a policy has at most %u parameters, and %s has more",
                            SMS_MOST_PARAMETERS, choice->policy->name);
    if (parameters)
        memcpy(choice->parameters, parameters, choice->policy->parameter_count * sizeof *parameters);
    else
        for (uint32_t i = 0; i < choice->policy->parameter_count; i++)
            choice->parameters[i] = choice->policy->parameters[i].initial;
    return sms_check(choice, list);
}
