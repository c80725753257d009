/* SPDX-License-Identifier: MIT */
/*
 * Another policy on an open machine. The new one starts on allowances as a machine begins with; if it cannot, the old one goes on as if nothing had
 * been asked. Of the old one's orders nothing remains but what is under way: thread blocks that are being swapped out or dropped.
 */
#include "govern/state.h"

#include <stdlib.h>
#include <string.h>

/* What belongs to a policy, and what it has written. */
struct tenure {
    const struct corun_policy *policy;
    double *parameters;
    void *state;
    bool started;
    struct corun_allowances written; /* scalars, and the addresses of the tables */
    uint8_t *tables;                 /* what stood in them, one after the other; `variables` left out */
};

static size_t table_bytes(const struct governor *governor)
{
    size_t sms = governor->machine.sm_count, entries = sms * governor->application_count, variables = 0;
    size_t sum = 0;
#define ADD_BYTES(name, count) sum += (count) * sizeof *governor->allowances.name;
    GUARDED_ALLOWANCES(ADD_BYTES)
#undef ADD_BYTES
    return sum;
}

/* Both ways: the tables to the copy, or back. */
static void copy_tables(struct governor *governor, uint8_t *copy, bool back)
{
    size_t sms = governor->machine.sm_count, entries = sms * governor->application_count, variables = 0;
#define COPY_TABLE(name, count) \
    { \
        size_t bytes = (count) * sizeof *governor->allowances.name; \
        memcpy(back ? (void *)governor->allowances.name : (void *)copy, \
               back ? (void *)copy : (void *)governor->allowances.name, bytes); \
        copy += bytes; \
    }
    GUARDED_ALLOWANCES(COPY_TABLE)
#undef COPY_TABLE
}

/* What the policy has for itself. MEMORY. */
static enum corun_status take_office(struct governor *governor, const struct corun_policy *policy)
{
    size_t variables = policy && policy->variable_count ? policy->variable_count : 1;
    governor->policy = policy;
    governor->parameters = calloc((policy ? policy->parameter_count : 0) + 1, sizeof *governor->parameters);
    governor->state = guard_allocate(governor, policy && policy->state_bytes ? policy->state_bytes : 1, 1, "its state");
    governor->allowances.variables =
        guard_allocate(governor, variables, sizeof *governor->allowances.variables, "variables");
    governor->started = policy != NULL;
    return governor->parameters && governor->state && governor->allowances.variables ? CORUN_OK : CORUN_MEMORY;
}

static void leave_office(struct governor *governor, void *state, double *variables, double *parameters)
{
    guard_release(governor, state);
    guard_release(governor, variables);
    free(parameters);
}

static void return_to(struct governor *governor, const struct tenure *old)
{
    leave_office(governor, governor->state, governor->allowances.variables, governor->parameters);
    governor->policy = old->policy;
    governor->parameters = old->parameters;
    governor->state = old->state;
    governor->started = old->started;
    governor->allowances = old->written;
    copy_tables(governor, old->tables, true);
    view_declare(governor);
}

static enum corun_status stop_old(struct governor *governor, const struct tenure *old)
{
    struct tenure now = {.policy = governor->policy, .state = governor->state};
    enum corun_status status = CORUN_OK;
    governor->policy = old->policy;
    governor->state = old->state;
    if (old->started && old->policy->stop)
        status = guard_call(governor, GUARDED_STOP, NULL);
    governor->policy = now.policy;
    governor->state = now.state;
    return status;
}

/* The machine forgets the counters of quotas before it hears of others: those may be of another kind. */
static enum corun_status clear_quotas(struct governor *governor)
{
    const struct corun_machine *machine = &governor->machine;
    struct corun_allowances *w = &governor->allowances;
    bool on = w->quotas_on;
    size_t entries = (size_t)machine->sm_count * governor->application_count;
    if (!(machine->capabilities >> CORUN_CAN_QUOTA & 1u))
        return CORUN_OK;
    int64_t *quota = calloc(2 * entries, sizeof *quota);
    bool *flags = calloc(2 * entries, sizeof *flags);
    enum corun_status status = CORUN_MEMORY;
    if (quota && flags) {
        memcpy(quota, w->quota, entries * sizeof *quota);
        memcpy(quota + entries, w->quota_refill, entries * sizeof *quota);
        memcpy(flags, w->quota_set, entries * sizeof *flags);
        memcpy(flags + entries, w->quota_add, entries * sizeof *flags);
        w->quotas_on = false;
        memset(w->quota, 0, entries * sizeof *quota);
        memset(w->quota_refill, 0, entries * sizeof *quota);
        memset(w->quota_add, 0, entries * sizeof *flags);
        for (size_t i = 0; i < entries; i++)
            w->quota_set[i] = true;
        status = machine->operations->obey(machine->machine, NULL, w);
        memcpy(w->quota, quota, entries * sizeof *quota);
        memcpy(w->quota_refill, quota + entries, entries * sizeof *quota);
        memcpy(w->quota_set, flags, entries * sizeof *flags);
        memcpy(w->quota_add, flags + entries, entries * sizeof *flags);
        w->quotas_on = on;
        governor->quotas_given = false;
    }
    free(quota);
    free(flags);
    return status;
}

/* From its start to where it has decided on everybody who is there. */
static enum corun_status hand_over(struct governor *governor, const struct tenure *old)
{
    enum corun_status status = stop_old(governor, old);
    leave_office(governor, old->state, old->written.variables, old->parameters);
    allowances_keep_first(governor);
    if (status == CORUN_OK)
        status = clear_quotas(governor);
    if (status == CORUN_OK)
        status = allowances_give(governor, NULL);
    memset(governor->over_limit, 0, governor->machine.sm_count * sizeof *governor->over_limit);
    if (status == CORUN_OK)
        status = moments_catch_up(governor);
    if (governor->failure == CORUN_OK)
        governor->failure = status;
    return status;
}

static enum corun_status start_new(struct governor *governor, const struct corun_policy *policy,
                                   const double *parameters, struct corun_diagnostics *list)
{
    enum corun_status status = take_office(governor, policy);
    if (status != CORUN_OK)
        return status;
    if (policy)
        status = take_parameters(governor, policy, parameters, list);
    if (status != CORUN_OK)
        return status;
    view_declare(governor);
    allowances_clear(governor);
    bool given = governor->quotas_given;
    governor->quotas_given = false; /* it may want others */
    if (policy) {
        view_read(governor);
        view_fill(governor);
        status = guard_call(governor, GUARDED_START, NULL);
    }
    if (status == CORUN_OK)
        status = allowances_check(governor);
    governor->quotas_given = given;
    return status;
}

enum corun_status governor_change_policy(struct governor *governor, uint64_t now, const struct corun_policy *policy,
                                         const double *parameters, struct corun_diagnostics *list)
{
    struct tenure old = {governor->policy,  governor->parameters, governor->state,
                         governor->started, governor->allowances, NULL};
    struct corun_diagnostics *said = governor->list;
    if (!governor->open)
        return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE, "a machine that has not begun is given its policy");
    if (governor->failure != CORUN_OK)
        return governor->failure;
    enum corun_status status = policy ? governor_check_policy(governor, policy, list) : CORUN_OK;
    if (status != CORUN_OK)
        return status;
    old.tables = malloc(table_bytes(governor));
    if (!old.tables)
        return CORUN_MEMORY;
    copy_tables(governor, old.tables, false);
    governor->now = now;
    governor->list = list;
    status = start_new(governor, policy, parameters, list);
    if (status == CORUN_OK) {
        governor->list = said;
        status = hand_over(governor, &old);
    } else {
        return_to(governor, &old);
    }
    governor->list = said;
    free(old.tables);
    return status;
}
