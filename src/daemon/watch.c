/* SPDX-License-Identifier: MIT */
/* What clients are seen doing: on how many SMs they have thread blocks, over time; how long their launches take. */
#include "daemon/journal.h"

#include <stdlib.h>
#include <string.h>

#define SAMPLE_EPOCHS 2u

static uint16_t *held_by(const struct node *node, uint32_t slot)
{
    return node->held + (size_t)slot * node->settings.configuration.sms;
}

/* Up to `cycle`. Thread blocks are told of when they are dispatched, so events may lie a little ahead. */
static void account(struct slot_use *use, uint64_t cycle)
{
    if (cycle <= use->since)
        return;
    use->sm_cycles += use->sms * (cycle - use->since);
    use->since = cycle;
}

/* Its thread blocks go without a word. */
static void leave(const struct node *node, uint32_t slot, uint64_t cycle)
{
    struct slot_use *use = &node->uses[slot];
    account(use, cycle);
    use->sms = 0;
    use->there = false;
    memset(held_by(node, slot), 0, node->settings.configuration.sms * sizeof *node->held);
}

static void take_sample(struct slot_use *use, uint64_t cycle)
{
    account(use, cycle);
    if (cycle <= use->sampled)
        return;
    uint64_t hundredths = 100 * (use->sm_cycles - use->sampled_sm_cycles) / (cycle - use->sampled);
    use->samples[use->sample_count++ % WIRE_MOST_SAMPLES] = (uint32_t)hundredths;
    use->sampled = cycle;
    use->sampled_sm_cycles = use->sm_cycles;
}

static void see(void *user, const struct corun_gpu *gpu, const struct corun_observation *seen)
{
    const struct node *node = user;
    struct slot_use *use = &node->uses[seen->application];
    uint16_t *held = &held_by(node, seen->application)[seen->sm];
    (void)gpu;
    switch (seen->kind) {
    case CORUN_OBSERVED_TB_START:
    case CORUN_OBSERVED_TB_RESTORING:
        account(use, seen->cycle);
        use->sms += (*held)++ == 0;
        break;
    case CORUN_OBSERVED_TB_END:
    case CORUN_OBSERVED_TB_SAVED:
        account(use, seen->cycle);
        if (*held)
            use->sms -= --*held == 0;
        break;
    case CORUN_OBSERVED_MOMENT:
        if (seen->event == CORUN_EVENT_ARRIVE && !use->there) /* a new policy hears of those again who are there */
            *use = (struct slot_use){.there = true, .since = seen->cycle, .sampled = seen->cycle};
        if (seen->event == CORUN_EVENT_LEAVE)
            leave(node, seen->application, seen->cycle);
        node_journal_moment(node->journal, seen);
        break;
    case CORUN_OBSERVED_SAMPLE:
        for (uint32_t i = 0; i < CORUN_MAX_APPLICATIONS; i++)
            if (node->uses[i].there)
                take_sample(&node->uses[i], seen->cycle);
        node_journal_sample(node->journal, seen->cycle);
        break;
    default:
        break;
    }
}

bool watch_begin(struct node *node)
{
    const struct corun_gpu_config *configuration = &node->settings.configuration;
    node->held = calloc((size_t)CORUN_MAX_APPLICATIONS * configuration->sms, sizeof *node->held);
    node->uses = calloc(CORUN_MAX_APPLICATIONS, sizeof *node->uses);
    node->sample_cycles = SAMPLE_EPOCHS * configuration->epoch_cycles;
    if (!node->held || !node->uses)
        return false;
    corun_gpu_observe(node->gpu, node->sample_cycles, see, node);
    return true;
}

void watch_end(struct node *node)
{
    free(node->held);
    free(node->uses);
}

uint32_t watch_samples(const struct node *node, uint32_t slot, uint32_t samples[WIRE_MOST_SAMPLES])
{
    const struct slot_use *use = &node->uses[slot];
    uint32_t count = use->sample_count < WIRE_MOST_SAMPLES ? use->sample_count : WIRE_MOST_SAMPLES;
    for (uint32_t i = 0; i < count; i++)
        samples[i] = use->samples[(use->sample_count - count + i) % WIRE_MOST_SAMPLES];
    return count;
}

uint64_t watch_sm_cycles(const struct node *node, uint32_t slot)
{
    struct slot_use *use = &node->uses[slot];
    account(use, corun_gpu_cycles(node->gpu));
    return use->sm_cycles;
}

/* ---- how long launches take ---- */

void launches_add(struct launch_lengths *latencies, uint64_t cycles)
{
    latencies->cycles[latencies->count++ % LATENCIES_KEPT] = cycles;
}

static int by_length(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

/* The nearest rank: the smallest of which so many per cent are no longer. */
static uint64_t rank(const uint64_t *sorted, uint64_t count, uint64_t percent)
{
    return sorted[(count * percent + 99) / 100 - 1];
}

void launches_tell(const struct launch_lengths *latencies, uint64_t *p50, uint64_t *p99)
{
    uint64_t sorted[LATENCIES_KEPT];
    uint64_t count = latencies->count < LATENCIES_KEPT ? latencies->count : LATENCIES_KEPT;
    *p50 = *p99 = 0;
    if (!count)
        return;
    memcpy(sorted, latencies->cycles, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, by_length);
    *p50 = rank(sorted, count, 50);
    *p99 = rank(sorted, count, 99);
}
