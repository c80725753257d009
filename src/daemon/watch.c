/* SPDX-License-Identifier: MIT */
/* What clients are seen doing: on how many SMs they have thread blocks, over time; how long their launches and runs take. */
#include "daemon/journal.h"

#include <stdlib.h>
#include <string.h>

#define SAMPLE_EPOCHS 2u

static uint16_t *held_by(const struct device *device, uint32_t slot)
{
    return device->held + (size_t)slot * device->configuration.sms;
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
static void leave(const struct device *device, uint32_t slot, uint64_t cycle)
{
    struct slot_use *use = &device->uses[slot];
    account(use, cycle);
    use->sms = 0;
    use->there = false;
    memset(held_by(device, slot), 0, device->configuration.sms * sizeof *device->held);
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
    const struct device *device = user;
    struct slot_use *use = &device->uses[seen->application];
    uint16_t *held = &held_by(device, seen->application)[seen->sm];
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
            leave(device, seen->application, seen->cycle);
        node_journal_moment(device->node->journal, device, seen);
        break;
    case CORUN_OBSERVED_SAMPLE:
        for (uint32_t i = 0; i < CORUN_MAX_APPLICATIONS; i++)
            if (device->uses[i].there)
                take_sample(&device->uses[i], seen->cycle);
        node_journal_sample(device->node->journal, device, seen->cycle);
        break;
    default:
        break;
    }
}

bool watch_begin(struct device *device)
{
    const struct corun_gpu_config *configuration = &device->configuration;
    device->held = calloc((size_t)CORUN_MAX_APPLICATIONS * configuration->sms, sizeof *device->held);
    device->uses = calloc(CORUN_MAX_APPLICATIONS, sizeof *device->uses);
    device->sample_cycles = SAMPLE_EPOCHS * configuration->epoch_cycles;
    if (!device->held || !device->uses)
        return false;
    corun_gpu_observe(device->gpu, device->sample_cycles, see, device);
    return true;
}

void watch_end(struct device *device)
{
    free(device->held);
    free(device->uses);
}

uint32_t watch_samples(const struct device *device, uint32_t slot, uint32_t samples[WIRE_MOST_SAMPLES])
{
    const struct slot_use *use = &device->uses[slot];
    uint32_t count = use->sample_count < WIRE_MOST_SAMPLES ? use->sample_count : WIRE_MOST_SAMPLES;
    for (uint32_t i = 0; i < count; i++)
        samples[i] = use->samples[(use->sample_count - count + i) % WIRE_MOST_SAMPLES];
    return count;
}

uint64_t watch_sm_cycles(const struct device *device, uint32_t slot)
{
    struct slot_use *use = &device->uses[slot];
    account(use, corun_gpu_cycles(device->gpu));
    return use->sm_cycles;
}

/* ---- how long launches and runs take ---- */

void lengths_add(struct lengths *lengths, uint64_t cycles, bool again)
{
    lengths->count -= again && lengths->count;
    lengths->cycles[lengths->count++ % LATENCIES_KEPT] = cycles;
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

void lengths_tell(const struct lengths *lengths, uint64_t *p50, uint64_t *p99)
{
    uint64_t sorted[LATENCIES_KEPT];
    uint64_t count = lengths->count < LATENCIES_KEPT ? lengths->count : LATENCIES_KEPT;
    *p50 = *p99 = 0;
    if (!count)
        return;
    memcpy(sorted, lengths->cycles, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, by_length);
    *p50 = rank(sorted, count, 50);
    *p99 = rank(sorted, count, 99);
}
