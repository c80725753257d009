/* SPDX-License-Identifier: MIT */
/*
 * Which GPU a program gets: the one that it names, by number or name; else the one on which it has most, the fewest programs for each SM, this one
 * among them. Between GPUs on which that is the same, the first one.
 */
#include "daemon/node.h"

#include "base/number.h"

#include <stdio.h>
#include <string.h>

static uint32_t programs_on(const struct device *device)
{
    const struct node *node = device->node;
    uint32_t count = 0;
    for (size_t i = 0; i < node->sessions.count; i++)
        count += node->sessions.data[i]->joined && node->sessions.data[i]->device == device;
    return count;
}

/* Whether a further program has more of the SMs there. */
static bool is_better(const struct device *device, uint32_t programs, const struct device *best, uint32_t best_programs)
{
    return (uint64_t)(programs + 1) * best->configuration.sms <
           (uint64_t)(best_programs + 1) * device->configuration.sms;
}

struct device *placement_find(struct node *node, const char *wanted)
{
    struct device *best = NULL;
    uint32_t best_programs = 0;
    uint64_t number;
    if (*wanted && number_parse(wanted, 1000, &number))
        return number < node->device_count ? &node->devices[number] : NULL;
    for (uint32_t i = 0; i < node->device_count; i++) {
        struct device *device = &node->devices[i];
        uint32_t programs = programs_on(device);
        if (*wanted && strcmp(wanted, device->configuration.name) != 0)
            continue;
        if (!best || is_better(device, programs, best, best_programs)) {
            best = device;
            best_programs = programs;
        }
    }
    return best;
}

void placement_of_expected(struct node *node)
{
    uint32_t programs[WIRE_MOST_GPUS] = {0};
    for (uint32_t e = 0; e < node->settings.expected_count; e++) {
        uint32_t best = 0;
        for (uint32_t i = 1; i < node->device_count; i++)
            if (is_better(&node->devices[i], programs[i], &node->devices[best], programs[best]))
                best = i;
        node->places[e] = best;
        programs[best]++;
    }
}

const char *placement_list(const struct node *node, char text[PLACEMENT_TEXT_BYTES])
{
    size_t length = 0;
    text[0] = 0;
    for (uint32_t i = 0; i < node->device_count && length < PLACEMENT_TEXT_BYTES; i++)
        length += (size_t)snprintf(text + length, PLACEMENT_TEXT_BYTES - length, "%s%u %s", i ? ", " : "", i,
                                   node->devices[i].configuration.name);
    return text;
}
