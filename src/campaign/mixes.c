/* SPDX-License-Identifier: MIT */
/* The n-th mix of a rule is computed from n, without making those before it. */
#include "campaign/mixes.h"

#include "base/text_table.h"
#include "corun/workload.h"

#include <stdlib.h>

/* Ways to fill `places` with things numbered from `lowest`. */
static uint64_t completions(const struct mix_rule *rule, uint32_t lowest, uint32_t places)
{
    uint64_t left = rule->things - lowest, ways = 1;
    if (rule->ordered) { /* `lowest` counts those that are used up */
        for (uint32_t i = 0; i < places; i++) {
            uint64_t choices = rule->repeated ? rule->things : left > i ? left - i : 0;
            if (__builtin_mul_overflow(ways, choices, &ways))
                return UINT64_MAX;
        }
        return ways;
    }
    uint64_t from = rule->repeated ? left + places - 1 : left;
    if (!left || from < places)
        return places ? 0 : 1;
    for (uint32_t i = 1; i <= places; i++) { /* binomial: every intermediate quotient is whole */
        if (__builtin_mul_overflow(ways, from - places + i, &ways))
            return UINT64_MAX;
        ways /= i;
    }
    return ways;
}

uint64_t mixes_count(const struct mix_rule *rule)
{
    return completions(rule, 0, rule->size);
}

static bool is_used(const uint32_t *mix, uint32_t count, uint32_t thing)
{
    for (uint32_t i = 0; i < count; i++) {
        if (mix[i] == thing)
            return true;
    }
    return false;
}

void mixes_get(const struct mix_rule *rule, uint64_t number, uint32_t mix[MIX_MAX])
{
    uint32_t thing = 0;
    for (uint32_t place = 0; place < rule->size; place++) {
        uint32_t rest = rule->size - place - 1;
        if (rule->ordered)
            thing = 0;
        for (;; thing++) {
            if (rule->ordered && !rule->repeated && is_used(mix, place, thing))
                continue;
            uint32_t next = rule->ordered ? place + 1 : rule->repeated ? thing : thing + 1;
            uint64_t ways = completions(rule, next, rest);
            if (number < ways)
                break;
            number -= ways;
        }
        mix[place] = thing;
        thing += !rule->ordered && !rule->repeated;
    }
}

static int compare(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return left < right ? -1 : left > right;
}

bool mixes_sample(uint64_t all, uint32_t count, uint64_t seed, uint64_t *numbers)
{
    uint64_t state = seed ^ UINT64_C(0x6d69786573000000);
    struct text_table chosen = {0}; /* of the bytes of the numbers */
    bool whole = true;
    for (uint32_t i = 0; i < count && whole; i++) {
        uint64_t last = all - count + i;
        size_t place = i;
        numbers[i] = corun_random(&state) % (last + 1);
        if (text_table_find(&chosen, (const char *)&numbers[i], sizeof *numbers, &place))
            numbers[i] = last; /* that one cannot have been chosen before */
        whole = text_table_find_or_add(&chosen, (const char *)&numbers[i], sizeof *numbers, i, &place);
    }
    text_table_free(&chosen);
    if (whole)
        qsort(numbers, count, sizeof *numbers, compare);
    return whole;
}
