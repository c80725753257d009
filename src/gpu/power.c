/* SPDX-License-Identifier: MIT */
/*
 * Power of single SMs. An SM that the policy wants off takes no thread block any more, and is off from the first moment
 * on at which it is empty and nothing of it is under way, at the earliest one dispatch latency after it was written:
 * its caches lose what they hold. One that is wanted again has power one dispatch latency after that was written, and
 * takes thread blocks power_wake_cycles later.
 */
#include "gpu/gpu.h"

static void when(struct corun_gpu *gpu, uint64_t cycle)
{
    if (cycle < gpu->power_next)
        gpu->power_next = cycle;
}

void power_written(struct corun_gpu *gpu)
{
    for (uint32_t s = 0; s < gpu->config.sms; s++) {
        struct sm_power *power = &gpu->power[s];
        if (power->wanted == gpu->allowances->powered[s])
            continue;
        power->wanted = gpu->allowances->powered[s];
        power->from = gpu->now + gpu->config.dispatch_latency;
        gpu->power_pending = true;
        when(gpu, power->from);
    }
}

static bool quiet(const struct corun_gpu *gpu, uint32_t s)
{
    const struct sm *sm = gpu->sms[s];
    return gpu->use[s].tbs == 0 && sm->resident_tbs == 0 && sm->load_store.count == 0 && sm->port.under_way == 0 &&
           sm->preemption.queued == 0 && sm->preemption.under_way == 0;
}

static void tell(struct corun_gpu *gpu, uint32_t s)
{
    observe(gpu, &(struct corun_observation){
                     .kind = CORUN_OBSERVED_POWER, .cycle = gpu->now, .sm = s, .powered = gpu->power[s].on});
}

static void switch_off(struct corun_gpu *gpu, uint32_t s)
{
    gpu->power[s].on = false;
    gpu->power[s].since = gpu->now;
    sm_caches_clear(gpu->sms[s]);
    tell(gpu, s);
}

static void switch_on(struct corun_gpu *gpu, uint32_t s)
{
    gpu->power[s].on = true;
    gpu->power[s].gated_cycles += gpu->now - gpu->power[s].since;
    gpu->power[s].awake = gpu->now + gpu->config.power_wake_cycles;
    tell(gpu, s);
}

void power_follow(struct corun_gpu *gpu)
{
    gpu->power_pending = false;
    gpu->power_next = NEVER;
    for (uint32_t s = 0; s < gpu->config.sms; s++) {
        struct sm_power *power = &gpu->power[s];
        if (power->wanted != power->on) {
            if (gpu->now < power->from)
                when(gpu, power->from);
            else if (power->wanted)
                switch_on(gpu, s);
            else if (quiet(gpu, s))
                switch_off(gpu, s);
            gpu->power_pending |= power->wanted != power->on;
        }
        if (power->on && power->awake > gpu->now) {
            when(gpu, power->awake);
            gpu->power_pending = true;
            power->waking = true;
        } else if (power->waking) {
            power->waking = false;
            gpu->dispatch_due = true;
        }
    }
}

bool power_ready(const struct corun_gpu *gpu, uint32_t s)
{
    const struct sm_power *power = &gpu->power[s];
    return gpu->allowances->powered[s] && power->on && power->awake <= gpu->now;
}

uint64_t power_gated_cycles(const struct corun_gpu *gpu, uint32_t s)
{
    const struct sm_power *power = &gpu->power[s];
    return power->gated_cycles + (power->on ? 0 : gpu->now - power->since);
}
