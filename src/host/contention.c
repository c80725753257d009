/* SPDX-License-Identifier: MIT */
/* The rates of everything that runs on a host at one moment. */
#include "host/contention.h"

#include <math.h>

#define MEMORY_STEPS 40u      /* of the bisection: the load to 1e-12 */
#define ROUGH_STEPS 8u        /* the same while rooms in the cache are still being looked for */
#define CACHE_STEPS 8u        /* rooms to 1/256 of what they are away at first */
#define LEAST_EFFICIENCY 0.05 /* of a thread that is always switched */

double contention_move_ns(const struct host_machine *machine, const struct host_application *application)
{
    double lines = (double)machine->private_bytes / machine->line_bytes;
    return machine->switch_ns +
           lines * machine->latency_ns / application->overlap * (machine->refill_permille / 1000.0);
}

static double efficiency(const struct host_machine *machine, const struct host_application *application)
{
    return fmax(1 - contention_move_ns(machine, application) / machine->slice_ns, LEAST_EFFICIENCY);
}

static double wanted_width(const struct contention *contention, const struct contention_runner *runner)
{
    return host_application_speedup(runner->application, runner->size, contention->group_cores[runner->core_group]);
}

/* Equal turns for all threads: a fraction of what each would use, the same for all. */
static void divide_by_threads(const struct contention *contention, uint32_t group, struct contention_pace *paces)
{
    double wanted = 0, cores = contention->group_cores[group];
    for (uint32_t i = 0; i < contention->runner_count; i++)
        if (contention->runners[i].core_group == group)
            wanted += contention->runners[i].count * wanted_width(contention, &contention->runners[i]);
    for (uint32_t i = 0; i < contention->runner_count; i++) {
        const struct contention_runner *runner = &contention->runners[i];
        if (runner->core_group != group || !runner->count)
            continue;
        paces[i].width = wanted_width(contention, runner);
        if (wanted > cores)
            paces[i].width *= cores / wanted * efficiency(contention->machine, runner->application);
    }
}

static double tenant_width(const struct contention *contention, uint32_t group, uint32_t tenant)
{
    double wanted = 0;
    for (uint32_t i = 0; i < contention->runner_count; i++)
        if (contention->runners[i].core_group == group && contention->runners[i].tenant == tenant)
            wanted += contention->runners[i].count * wanted_width(contention, &contention->runners[i]);
    return wanted;
}

/* The first runner of its tenant in a group stands for the tenant. */
static bool stands_for_tenant(const struct contention *contention, uint32_t group, uint32_t index)
{
    const struct contention_runner *runners = contention->runners;
    if (runners[index].core_group != group || !runners[index].count)
        return false;
    for (uint32_t i = 0; i < index; i++)
        if (runners[i].core_group == group && runners[i].count && runners[i].tenant == runners[index].tenant)
            return false;
    return true;
}

/*
 * Equal parts for all tenants; what one does not use goes to the others. The part is the level at which the widths, cut at that level, add up to
 * the cores: those who want less than an equal part of what is left are served first.
 */
static void divide_by_tenants(const struct contention *contention, uint32_t group, struct contention_pace *paces)
{
    double left = contention->group_cores[group], level = 0;
    uint32_t tenants = 0;
    for (uint32_t i = 0; i < contention->runner_count; i++)
        tenants += stands_for_tenant(contention, group, i);
    for (bool changed = true; changed && tenants;) {
        changed = false;
        double part = left / tenants;
        for (uint32_t i = 0; i < contention->runner_count; i++) {
            if (!stands_for_tenant(contention, group, i))
                continue;
            double wanted = tenant_width(contention, group, contention->runners[i].tenant);
            if (wanted > level && wanted <= part) {
                left -= wanted;
                tenants--;
                changed = true;
            }
        }
        level = fmax(level, part);
    }
    double part = tenants ? left / tenants : INFINITY;
    for (uint32_t i = 0; i < contention->runner_count; i++) {
        const struct contention_runner *runner = &contention->runners[i];
        if (runner->core_group != group || !runner->count)
            continue;
        double wanted = tenant_width(contention, group, runner->tenant);
        paces[i].width = wanted_width(contention, runner);
        if (wanted > part)
            paces[i].width *= part / wanted;
        if (tenants)
            paces[i].width *= efficiency(contention->machine, runner->application);
    }
}

static void divide_cores(const struct contention *contention, struct contention_pace *paces)
{
    for (uint32_t group = 0; group < contention->core_group_count; group++)
        if (!group && contention->fairness == CORUN_HOST_FAIR_APPLICATIONS)
            divide_by_tenants(contention, group, paces);
        else
            divide_by_threads(contention, group, paces);
}

static double threads_running(const struct contention *contention, const struct contention_runner *runner)
{
    return fmax(fmin(runner->application->threads, contention->group_cores[runner->core_group]), 1);
}

static double misses_with(const struct contention *contention, const struct contention_runner *runner, double bytes)
{
    return host_application_misses(runner->application, runner->size, threads_running(contention, runner), bytes) /
           1000;
}

/* Instructions per ns, were it not frozen. */
static double pace_rate(const struct contention_runner *runner, const struct contention_pace *pace, double latency_ns)
{
    if (!runner->count || pace->width <= 0)
        return 0;
    return pace->width / (pace->compute_ns + pace->misses * latency_ns / runner->application->overlap);
}

static double latency_under(const struct host_machine *machine, double load)
{
    return machine->latency_ns + machine->burst_ns / 2.0 * load / (1 - load);
}

static double traffic_of(const struct contention *contention, const struct contention_runner *runner, double rate,
                         double misses)
{
    return rate * misses * contention->machine->line_bytes * (1 + runner->application->writebacks);
}

/* The load at which the traffic makes that load; then the rates. */
static void solve_memory(struct contention *contention, struct contention_pace *paces, uint32_t steps)
{
    const struct host_machine *machine = contention->machine;
    double capacity = machine->memory_mbps / 1000.0, low = 0, high = 1; /* bytes per ns */
    for (uint32_t step = 0; step < steps; step++) {
        double load = (low + high) / 2, latency_ns = latency_under(machine, load), traffic = 0;
        for (uint32_t i = 0; i < contention->runner_count; i++) {
            const struct contention_runner *runner = &contention->runners[i];
            double rate = runner->frozen ? 0 : pace_rate(runner, &paces[i], latency_ns);
            traffic += runner->count * traffic_of(contention, runner, rate, paces[i].misses);
        }
        if (traffic > load * capacity)
            low = load;
        else
            high = load;
    }
    contention->load = low;
    contention->latency_ns = latency_under(machine, low);
    for (uint32_t i = 0; i < contention->runner_count; i++) {
        struct contention_runner *runner = &contention->runners[i];
        runner->rate = runner->frozen ? 0 : pace_rate(runner, &paces[i], contention->latency_ns);
        runner->fill_rate = runner->rate * paces[i].misses * machine->line_bytes;
        runner->traffic_rate = traffic_of(contention, runner, runner->rate, paces[i].misses);
    }
}

/* Everybody the same at first. Whether some cache is shared by runners that differ. */
static bool divide_cache_evenly(struct contention *contention)
{
    bool shared = false;
    for (uint32_t group = 0; group < contention->cache_group_count; group++) {
        uint32_t instances = 0, runners = 0;
        for (uint32_t i = 0; i < contention->runner_count; i++) {
            if (contention->runners[i].cache_group == group && contention->runners[i].count) {
                instances += contention->runners[i].count;
                runners++;
            }
        }
        shared |= runners > 1;
        for (uint32_t i = 0; i < contention->runner_count; i++)
            if (contention->runners[i].cache_group == group)
                contention->runners[i].room =
                    contention->runners[i].count ? contention->group_bytes[group] / instances : 0;
    }
    return shared;
}

/* Half a step towards rooms in proportion to what each would bring in with the room that it has. */
static void adjust_rooms(struct contention *contention, const struct contention_pace *paces)
{
    for (uint32_t group = 0; group < contention->cache_group_count; group++) {
        double sum = 0;
        for (uint32_t i = 0; i < contention->runner_count; i++) {
            struct contention_runner *runner = &contention->runners[i];
            if (runner->cache_group != group || !runner->count)
                continue;
            sum += runner->count * pace_rate(runner, &paces[i], contention->latency_ns) *
                   misses_with(contention, runner, runner->room);
        }
        for (uint32_t i = 0; i < contention->runner_count && sum > 0; i++) {
            struct contention_runner *runner = &contention->runners[i];
            if (runner->cache_group != group || !runner->count)
                continue;
            double part = pace_rate(runner, &paces[i], contention->latency_ns) *
                          misses_with(contention, runner, runner->room) / sum;
            runner->room = (runner->room + part * contention->group_bytes[group]) / 2;
        }
    }
}

void contention_solve(struct contention *contention)
{
    struct contention_pace *paces = contention->paces;
    for (uint32_t i = 0; i < contention->runner_count; i++)
        paces[i] = (struct contention_pace){.compute_ns = contention->runners[i].application->cycles_per_instruction *
                                                          1e6 / contention->machine->clock_khz};
    divide_cores(contention, paces);
    uint32_t cache_steps = divide_cache_evenly(contention) ? CACHE_STEPS : 1;
    for (uint32_t step = 0; step < cache_steps; step++) {
        if (step)
            adjust_rooms(contention, paces);
        for (uint32_t i = 0; i < contention->runner_count; i++) {
            const struct contention_runner *runner = &contention->runners[i];
            paces[i].misses = runner->count ? misses_with(contention, runner, fmin(runner->room, runner->filled)) : 0;
        }
        solve_memory(contention, paces, step + 1 < cache_steps ? ROUGH_STEPS : MEMORY_STEPS);
    }
}
