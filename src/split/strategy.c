/* SPDX-License-Identifier: MIT */
/* The table of strategies, and the arithmetic that they share: rates, shares, steps, variance. */
#include "split/strategy.h"

#include <math.h>
#include <string.h>

static const struct {
    const char *name;
    corun_split_strategy *function;
    bool fetches;
} strategies[] = {
#define STRATEGY_ROW(name, function, fetches, meaning) {name, function, fetches},
    SPLIT_STRATEGIES(STRATEGY_ROW)
#undef STRATEGY_ROW
};

corun_split_strategy *corun_split_strategy_find(const char *name)
{
    for (size_t i = 0; i < sizeof strategies / sizeof strategies[0]; i++)
        if (!strcmp(strategies[i].name, name))
            return strategies[i].function;
    return NULL;
}

const char *corun_split_strategy_name(uint32_t index)
{
    return index < sizeof strategies / sizeof strategies[0] ? strategies[index].name : NULL;
}

bool strategy_fetches(corun_split_strategy *function)
{
    bool fetches = false;
    for (size_t i = 0; i < sizeof strategies / sizeof strategies[0]; i++)
        fetches = fetches || (strategies[i].function == function && strategies[i].fetches);
    return fetches;
}

double corun_split_rate(const struct corun_split_view *view, uint32_t device)
{
    for (uint32_t i = view->step_count; i-- > 0;) {
        const struct corun_split_part *part = &view->steps[i].part[device];
        if (part->done && part->seconds > 0)
            return (double)part->done / part->seconds;
    }
    return 0;
}

/* The device that takes the end of the range, which need not be a whole granule: the first GPU with a part, or the CPU. */
static uint32_t device_at_end(const struct corun_split_view *view, const uint64_t *parts)
{
    for (uint32_t d = 1; d < view->device_count; d++)
        if (parts[d])
            return d;
    return parts[0] ? 0 : view->device_count;
}

void corun_split_apportion(const struct corun_split_view *view, uint64_t total, const double *share, uint64_t *parts)
{
    uint64_t granules = total / view->granularity, given = 0;
    double sum = 0, owed[CORUN_SPLIT_MAX_DEVICES] = {0};
    uint32_t largest = 0;
    memset(parts, 0, view->device_count * sizeof *parts);
    for (uint32_t d = 0; d < view->device_count; d++)
        sum += view->usable[d] && share[d] > 0 ? share[d] : 0;
    if (!(sum > 0))
        return;
    for (uint32_t d = 0; d < view->device_count; d++) {
        if (!view->usable[d] || !(share[d] > 0))
            continue;
        double exact = (double)granules * (share[d] / sum);
        uint64_t whole = (uint64_t)exact;
        parts[d] = whole < granules - given ? whole : granules - given;
        owed[d] = exact - (double)parts[d];
        given += parts[d];
        largest = share[d] > share[largest] || !view->usable[largest] ? d : largest;
    }
    for (; given < granules; given++) { /* the largest remainder first; the first device of equals */
        uint32_t next = largest;
        for (uint32_t d = 0; d < view->device_count; d++)
            next = owed[d] > owed[next] ? d : next;
        parts[next]++;
        owed[next] -= 1;
    }
    for (uint32_t d = 0; d < view->device_count; d++)
        parts[d] *= view->granularity;
    uint32_t last = device_at_end(view, parts);
    parts[last < view->device_count ? last : largest] += total - granules * view->granularity;
}

void strategy_blind_shares(const struct corun_split_view *view, double *share)
{
    double cpu = view->parameters->cpu_share;
    uint32_t usable = 0, gpus = 0;
    for (uint32_t d = 0; d < view->device_count; d++) {
        usable += view->usable[d];
        gpus += d && view->usable[d];
    }
    for (uint32_t d = 0; d < view->device_count; d++) {
        double even = 1.0 / usable;
        double fixed = !gpus ? 1 : d ? (1 - cpu) / gpus : cpu;
        share[d] = !view->usable[d] ? 0 : cpu < 0 || !view->usable[0] ? even : fixed;
    }
}

void strategy_rate_shares(const struct corun_split_view *view, double *share)
{
    double sum = 0;
    for (uint32_t d = 0; d < view->device_count; d++) {
        share[d] = view->usable[d] ? corun_split_rate(view, d) : 0;
        sum += share[d];
    }
    if (!(sum > 0)) {
        strategy_blind_shares(view, share);
        return;
    }
    for (uint32_t d = 0; d < view->device_count; d++)
        share[d] /= sum;
}

void strategy_give(const struct corun_split_view *view, struct corun_split_decision *decision, uint64_t total,
                   const double *share)
{
    total = total < view->left ? total : view->left;
    corun_split_apportion(view, total, share, decision->parts);
    memcpy(decision->share, share, view->device_count * sizeof *share);
}

double strategy_variance(const struct corun_split_view *view, const double *before, const double *after)
{
    double sum = 0;
    uint32_t usable = 0;
    for (uint32_t d = 0; d < view->device_count; d++) {
        if (!view->usable[d])
            continue;
        double half = (after[d] - before[d]) / 2;
        sum += half * half;
        usable++;
    }
    return usable ? sum / usable : 0;
}

uint64_t strategy_step(const struct corun_split_view *view, double iterations)
{
    uint64_t least = 0;
    for (uint32_t d = 0; d < view->device_count; d++)
        least += view->usable[d] ? view->granularity : 0;
    double wanted = floor(iterations / (double)view->granularity) * (double)view->granularity;
    uint64_t step = wanted < (double)view->left ? (uint64_t)wanted : view->left;
    step = step < least ? least : step;
    return step < view->left ? step : view->left;
}

bool strategy_give_only(const struct corun_split_view *view, struct corun_split_decision *decision)
{
    double share[CORUN_SPLIT_MAX_DEVICES] = {0};
    uint32_t usable = 0;
    for (uint32_t d = 0; d < view->device_count; d++) {
        share[d] = view->usable[d];
        usable += view->usable[d];
    }
    if (usable != 1)
        return false;
    strategy_give(view, decision, view->left, share);
    return true;
}

double strategy_unheld(const struct corun_split_view *view, uint32_t device, double iterations)
{
    uint64_t given = 0;
    if (!view->learned || !view->keeps)
        return 0;
    for (uint32_t i = 0; i < view->step_count; i++)
        given += view->steps[i].part[device].end - view->steps[i].part[device].begin;
    return fmax(0, iterations - (view->held[device] > given ? (double)(view->held[device] - given) : 0));
}

double strategy_moving(const struct corun_split_view *view, uint32_t device, double unheld)
{
    double each = view->moving[device];
    return !(unheld > 0) ? 0 : each > 0 ? view->moving_start[device] + each * unheld : INFINITY;
}

double strategy_least_of_copies(const struct corun_split_view *view, uint32_t device)
{
    const struct corun_split_part *moved = NULL; /* the largest of the former */
    double least = (double)view->piece[device];
    for (uint32_t i = 0; i < view->step_count; i++) {
        const struct corun_split_part *part = &view->steps[i].part[device];
        if (part->copy_seconds > part->seconds / 2 && (!moved || part->done > moved->done))
            moved = part;
    }
    if (!moved)
        return 0;
    double computing = moved->seconds - moved->copy_seconds,
           enough = 2 * (double)moved->done * moved->copy_seconds / computing;
    least = computing > 0 && (!(least > 0) || enough < least) ? enough : least;
    for (uint32_t i = 0; i < view->step_count; i++) {
        const struct corun_split_part *part = &view->steps[i].part[device];
        if (part->done > moved->done && part->copy_seconds <= part->seconds / 2 &&
            (!(least > 0) || (double)part->done < least))
            least = (double)part->done;
    }
    return least;
}

bool strategy_busy(const struct corun_split_view *view)
{
    for (uint32_t d = 0; d < view->device_count; d++)
        if (view->busy[d])
            return true;
    return false;
}

const struct corun_split_part *strategy_cpu_part(const struct corun_split_view *view)
{
    for (uint32_t i = view->step_count; i-- > 0;)
        if (view->steps[i].part[0].busy)
            return &view->steps[i].part[0];
    return NULL;
}

/* Before a GPU's iterations are the CPU's: it is the last that is given any. Those of others are moved to these. */
static bool borders_on_cpu(const struct corun_split_view *view, uint32_t device)
{
    for (uint32_t d = device + 1; d < view->device_count; d++)
        if (view->usable[d] && view->learned[d] * (double)view->iterations >= (double)view->granularity)
            return false;
    return true;
}

double strategy_line_free(const struct corun_split_view *view, uint32_t device, uint64_t more)
{
    double at = -1, given = (double)more, held = (double)view->held[device];
    for (uint32_t i = view->step_count; i-- > 0;) {
        const struct corun_split_part *part = &view->steps[i].part[device];
        if (part->busy || part->seconds > 0)
            at = fmax(view->fetched_at[device], view->steps[i].start) + view->setup[device];
        given += (double)(part->end - part->begin);
    }
    if (at < 0) /* no part has begun */
        at = view->now + (given > 0 ? view->setup[device] : 0);
    return at + (view->learned && given > held && view->moving[device] > 0 ? strategy_moving(view, device, given - held)
                                                                           : 0);
}

/*
 * As many iterations as arrive until the CPU ends its part, in `seconds`; or as many more as the GPU's part of the next run can wait for without ending after the
 * CPU's, of which these iterations are no more.
 */
static double count_to_fetch(const struct corun_split_view *view, const struct corun_split_decision *decision,
                             uint32_t device, double seconds, uint64_t cpu_part, double cpu_rate)
{
    double each = view->moving[device], gpu = view->expected[device] + view->delivery[device];
    double busy = fmax(0, strategy_line_free(view, device, decision->parts[device]) - view->now);
    double left = seconds - busy - view->moving_start[device];
    if (!(each > 0)) /* a first time tells */
        return left > 0 ? (double)view->piece[device] : 0;
    double later = view->expected[device] > 0 ? left + (double)cpu_part / cpu_rate - gpu : 0;
    return fmax(left / each, later / (each + 1 / cpu_rate));
}

void strategy_fetch(const struct corun_split_view *view, struct corun_split_decision *decision)
{
    const struct corun_split_part *part = strategy_cpu_part(view);
    double own = corun_split_rate(view, 0), first = view->parameters->patience * view->usual;
    if (!view->learned || !view->keeps || !(view->parameters->ahead > 0) || decision->recall)
        return;
    if (view->now < first * (1 - 1e-9)) { /* then the CPU's rate is known */
        decision->wake = decision->wake > 0 ? fmin(decision->wake, first) : first;
        return;
    }
    uint64_t all = part ? part->end - part->begin : 0, given = 0;
    for (uint32_t d = 1; d < view->device_count; d++) /* taken off the CPU's part */
        given += decision->parts[d];
    all -= given < all ? given : all;
    double open = part && own > 0 && all > part->done ? (double)(all - part->done) : 0;
    for (uint32_t d = 1; d < view->device_count && open > 0; d++) {
        if (!view->usable[d] || view->stale[d] || view->fetches[d] || !borders_on_cpu(view, d))
            continue;
        double at = view->fetched_at[d];
        if (view->now < at * (1 - 1e-9)) { /* what an earlier run has told it */
            decision->wake = decision->wake > 0 ? fmin(decision->wake, at) : at;
            continue;
        }
        double count = count_to_fetch(view, decision, d, open / own, all, own);
        if (count > 0)
            decision->fetch[d] = (uint64_t)fmin(open, count);
    }
}
