/* SPDX-License-Identifier: MIT */
/* A governor from its beginning to its end: the applications, the policy that was chosen, its start and its stop. */
#include "govern/state.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_WORDS = 1024 };

struct governor *governor_create(const struct corun_machine *machine)
{
    struct governor *governor = calloc(1, sizeof *governor);
    if (governor)
        governor->machine = *machine;
    return governor;
}

void governor_destroy(struct governor *governor)
{
    if (!governor)
        return;
    governor->list = NULL; /* the one it was given may be gone */
    (void)governor_stop(governor);
    guard_free(governor);
    view_free(governor);
    allowances_free(governor);
    free(governor->parameters);
    free(governor);
}

static void take(struct governor *governor, uint32_t slot, const struct governor_application *application)
{
    struct governor_application *taken = &governor->members[slot].application;
    double ipc = application->goal_ipc;
    *taken = *application;
    if (!goal_check(governor, taken, taken->goal, taken->goal_value, &ipc))
        taken->goal_ipc = ipc;
}

enum corun_status governor_add(struct governor *governor, const struct governor_application *application)
{
    if (governor->open)
        return CORUN_ARGUMENT;
    if (governor->application_count == CORUN_MAX_APPLICATIONS)
        return CORUN_LIMIT;
    take(governor, governor->application_count++, application);
    return CORUN_OK;
}

enum corun_status governor_seat(struct governor *governor, uint32_t slot,
                                const struct governor_application *application)
{
    if (!governor->open || slot >= governor->application_count)
        return CORUN_ARGUMENT;
    governor->members[slot] = (struct member){0};
    take(governor, slot, application);
    view_forget(governor, slot);
    allowances_renew(governor, slot);
    return CORUN_OK;
}

enum corun_status governor_confine(struct governor *governor, uint32_t slot, uint32_t first_sm, uint32_t sm_count)
{
    uint32_t sms = governor->machine.sm_count;
    if (!governor->open || governor->policy || slot >= governor->application_count || !sm_count || sm_count > sms ||
        first_sm > sms - sm_count)
        return CORUN_ARGUMENT;
    for (uint32_t s = 0; s < sms; s++)
        if (s < first_sm || s >= first_sm + sm_count)
            governor->allowances.tb_limit[s * governor->application_count + slot] = 0;
    return CORUN_OK;
}

void governor_unseat(struct governor *governor, uint32_t slot)
{
    struct governor_application *member = &governor->members[slot].application;
    member->speedup = NULL;
    member->run_launches = NULL;
    member->speedup_count = member->run_launch_count = 0;
}

enum corun_status governor_refuse(struct governor *governor, const char *format, ...)
{
    char what[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    bool cycles = governor->machine.clock == CORUN_CLOCK_CYCLES;
    return corun_report(governor->list, CORUN_POLICY, CORUN_NOWHERE, "policy %s at %s%llu%s: %s",
                        governor->policy->name, cycles ? "cycle " : "", (unsigned long long)governor->now,
                        cycles ? "" : " ns", what);
}

/* "limits thread blocks, ranks applications and switches SMs off" of the bits in `mask`. */
static void list_meanings(char *text, const char *const *meanings, uint32_t mask)
{
    size_t length = 0;
    text[0] = '\0';
    for (uint32_t i = 0; mask >> i && i < 32; i++) {
        if (!(mask >> i & 1u))
            continue;
        const char *link = !length ? "" : mask >> i == 1 ? " and " : ", ";
        length += (size_t)snprintf(text + length, MOST_WORDS - length, "%s%s", link, meanings[i]);
        if (length >= MOST_WORDS)
            return;
    }
}

/* What the policy cannot do without, and the machine cannot do or tell. */
static enum corun_status check_demands(const struct governor *governor, const struct corun_policy *policy,
                                       struct corun_diagnostics *list)
{
    static const char *const capabilities[] = {
#define MEANING(name, meaning) meaning,
        CORUN_CAPABILITIES(MEANING)};
    static const char *const observations[] = {CORUN_OBSERVATIONS(MEANING)};
#undef MEANING
    char text[MOST_WORDS];
    uint32_t observes = policy->observes | (policy->wants_tb_complete ? 1u << CORUN_SEES_TB_COMPLETE : 0);
    uint32_t cannot = policy->needs & ~governor->machine.capabilities;
    uint32_t unseen = observes & ~governor->machine.observations;
    if (cannot >> CORUN_CAPABILITY_COUNT || unseen >> CORUN_OBSERVATION_COUNT)
        return corun_report(list, CORUN_POLICY, CORUN_NOWHERE,
                            "policy %s needs capabilities or observations that do not exist", policy->name);
    if (!cannot && !unseen)
        return CORUN_OK;
    list_meanings(text, cannot ? capabilities : observations, cannot ? cannot : unseen);
    return corun_report(list, CORUN_POLICY, CORUN_NOWHERE, "policy %s needs a machine that %s; %s does not",
                        policy->name, text, governor->machine.name);
}

enum corun_status take_parameters(struct governor *governor, const struct corun_policy *policy,
                                  const double *parameters, struct corun_diagnostics *list)
{
    for (uint32_t i = 0; i < policy->parameter_count; i++) {
        const struct corun_policy_parameter *row = &policy->parameters[i];
        double value = parameters ? parameters[i] : row->initial;
        if (!(value >= row->lowest && value <= row->highest) || (row->integer && value != (double)(int64_t)value))
            return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE, "policy %s: %s must be %s from %g to %g, not %g",
                                policy->name, row->name, row->integer ? "an integer" : "a number", row->lowest,
                                row->highest, value);
        governor->parameters[i] = value;
    }
    return CORUN_OK;
}

enum corun_status governor_check_policy(const struct governor *governor, const struct corun_policy *policy,
                                        struct corun_diagnostics *list)
{
    if (policy->version != CORUN_POLICY_VERSION)
        return corun_report(list, CORUN_POLICY, CORUN_NOWHERE,
                            "policy %s was built for version %u of the sharing contract, this is version %u",
                            policy->name, policy->version, CORUN_POLICY_VERSION);
    return check_demands(governor, policy, list);
}

enum corun_status governor_set_policy(struct governor *governor, const struct corun_policy *policy,
                                      const double *parameters, struct corun_diagnostics *list)
{
    if (governor->policy || governor->open)
        return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE,
                            "policy %s comes too late: a machine has one policy, chosen before it runs", policy->name);
    enum corun_status status = governor_check_policy(governor, policy, list);
    if (status != CORUN_OK)
        return status;
    free(governor->parameters);
    governor->parameters = calloc(policy->parameter_count + 1, sizeof *governor->parameters);
    governor->state = guard_allocate(governor, policy->state_bytes ? policy->state_bytes : 1, 1, "its state");
    if (!governor->parameters || !governor->state)
        return CORUN_MEMORY;
    status = take_parameters(governor, policy, parameters, list);
    if (status != CORUN_OK)
        return status;
    governor->policy = policy;
    return CORUN_OK;
}

const struct corun_policy *governor_policy(const struct governor *governor)
{
    return governor->policy;
}

enum corun_status governor_open(struct governor *governor, uint64_t now, const struct governor_limits *limits,
                                struct corun_diagnostics *list)
{
    uint32_t slots = limits->applications ? limits->applications : governor->application_count;
    if (slots < governor->application_count || slots > CORUN_MAX_APPLICATIONS)
        return CORUN_ARGUMENT;
    while (governor->application_count < slots)
        governor->members[governor->application_count++].application = (struct governor_application){.name = ""};
    governor->limits = *limits;
    governor->list = list;
    governor->now = governor->epoch_began = now;
    governor->next_epoch = now + governor->machine.epoch;
    governor->open = true;
    if (!allowances_create(governor) || !view_create(governor))
        return CORUN_MEMORY;
    if (!governor->policy)
        return CORUN_OK;
    view_read(governor);
    view_fill(governor);
    governor->started = true;
    enum corun_status status = guard_call(governor, GUARDED_START, NULL);
    if (status == CORUN_OK)
        status = allowances_check(governor);
    allowances_keep_first(governor);
    if (status == CORUN_OK)
        status = allowances_give(governor, NULL);
    governor->failure = status;
    return status;
}

enum corun_status governor_stop(struct governor *governor)
{
    enum corun_status status = CORUN_OK;
    if (governor->failure != CORUN_OK)
        governor->list = NULL; /* what it did has been said already */
    if (governor->started && governor->policy->stop)
        status = guard_call(governor, GUARDED_STOP, NULL);
    governor->started = false;
    governor->list = NULL;
    return governor->failure != CORUN_OK ? governor->failure : status;
}

const struct corun_allowances *governor_allowances(const struct governor *governor)
{
    return governor->open ? &governor->allowances : NULL;
}

double governor_goal_ipc(const struct governor *governor, uint32_t application)
{
    return governor->members[application].application.goal_ipc;
}

double governor_best_epoch_ipc(const struct governor *governor, uint32_t application)
{
    return governor->members[application].best_epoch_ipc;
}

bool governor_out_of_reach(const struct governor *governor, uint32_t application)
{
    return governor->open && governor->allowances.out_of_reach && governor->allowances.out_of_reach[application];
}
