/* SPDX-License-Identifier: MIT */
/* What changes seldom: who may use an SM, its power, the epoch, and the variables of the policy's controller. */
#include "report/timeline_records.h"

#include <string.h>

static uint32_t variable_count(const struct timeline *timeline)
{
    return timeline->settings.policy ? timeline->settings.policy->variable_count : 0;
}

bool timeline_states_create(struct timeline *timeline, uint64_t limit)
{
    uint32_t variables = variable_count(timeline);
    size_t bytes = sizeof(struct variables_sample) + variables * sizeof(double);
    series_init(&timeline->states, sizeof(struct sm_slice), limit / 2);
    series_init(&timeline->variables, bytes, limit / 2 / (variables + 1));
    timeline->state = ARENA_ARRAY(timeline->arena, struct sm_slice, timeline->sms);
    timeline->values = arena_allocate(timeline->arena, bytes);
    if (!timeline->state || !timeline->values)
        return false;
    for (uint32_t sm = 0; sm < timeline->sms; sm++)
        timeline->state[sm] = (struct sm_slice){.start = NO_CYCLE, .sm = sm};
    timeline->values->cycle = NO_CYCLE;
    return true;
}

static void end_state(struct timeline *timeline, uint32_t sm, uint64_t cycle)
{
    struct sm_slice slice = timeline->state[sm];
    slice.key = series_hash(timeline->states.seen);
    slice.end = cycle;
    if (slice.start != NO_CYCLE && timeline_in_range(timeline, slice.start, slice.end))
        timeline_add(timeline, &timeline->states, &slice);
}

void timeline_see_states(struct timeline *timeline, const struct corun_allowances *allowances, uint64_t cycle)
{
    uint32_t applications = timeline->settings.application_count;
    for (uint32_t sm = 0; sm < timeline->sms; sm++) {
        struct sm_slice *state = &timeline->state[sm];
        uint32_t mask = 0;
        for (uint32_t a = 0; a < applications; a++)
            mask |= allowances->tb_limit[sm * applications + a] ? 1u << a : 0;
        if (state->start != NO_CYCLE && state->applications == mask)
            continue;
        if (!state->off)
            end_state(timeline, sm, cycle);
        if (!state->off || state->start == NO_CYCLE)
            state->start = cycle;
        state->applications = mask;
    }
}

void timeline_see_power(struct timeline *timeline, uint32_t sm, bool powered, uint64_t cycle)
{
    struct sm_slice *state = &timeline->state[sm];
    if (state->off == !powered)
        return;
    end_state(timeline, sm, cycle);
    state->start = cycle;
    state->off = !powered;
    timeline->any_off = timeline->any_off || !powered;
}

uint32_t timeline_powered_sms(const struct timeline *timeline)
{
    uint32_t powered = 0;
    for (uint32_t sm = 0; sm < timeline->sms; sm++)
        powered += !timeline->state[sm].off;
    return powered;
}

static void end_epoch(struct timeline *timeline, uint64_t cycle, bool complete)
{
    struct epoch_slice slice = {
        .key = timeline->epochs.seen, .start = timeline->epoch_start, .end = cycle, .complete = complete};
    timeline->epoch_start = cycle;
    if (timeline_in_range(timeline, slice.start, slice.end))
        timeline_add(timeline, &timeline->epochs, &slice);
}

/* While nothing at all is under way, epochs pass without a moment: they are not shown. */
void timeline_see_epoch(struct timeline *timeline, uint64_t end_cycle)
{
    uint32_t length = timeline->settings.gpu->epoch_cycles;
    if (end_cycle > length && timeline->epoch_start < end_cycle - length)
        timeline->epoch_start = end_cycle - length;
    end_epoch(timeline, end_cycle, true);
}

void timeline_close_states(struct timeline *timeline)
{
    for (uint32_t sm = 0; sm < timeline->sms; sm++)
        end_state(timeline, sm, timeline->end_cycle);
    end_epoch(timeline, timeline->end_cycle, false);
}

/* Kept: each value until it changes, the last ones before the range as of its first cycle. */
void timeline_see_variables(struct timeline *timeline, const double *values, uint64_t cycle)
{
    size_t bytes = variable_count(timeline) * sizeof *values;
    struct variables_sample *latest = timeline->values;
    if (!bytes || !values || cycle > timeline->settings.last_cycle)
        return;
    if (latest->cycle != NO_CYCLE && !memcmp(latest->values, values, bytes))
        return;
    if (cycle <= timeline->settings.first_cycle)
        timeline->variables.count = timeline->variables.seen = 0;
    latest->key = timeline->variables.seen;
    latest->cycle = cycle;
    memcpy(latest->values, values, bytes);
    timeline_add(timeline, &timeline->variables, latest);
}
