/* What a policy wrote: is it possible on this machine, and handing it on to the SMs. */
#include "gpu/machine.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum corun_status allowances_refuse(struct corun_gpu *gpu, const char *format, ...)
{
    char what[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    return corun_report(gpu->list, CORUN_POLICY, CORUN_NOWHERE, "policy %s at cycle %llu: %s", gpu->policy->name,
                        (unsigned long long)gpu->now, what);
}

static enum corun_status check_quota(struct corun_gpu *gpu, uint32_t s, uint32_t a)
{
    const struct corun_allowances *w = &gpu->allowances;
    uint32_t entry = s * gpu->application_count + a;
    const char *name = gpu->applications[a].name;
    if (w->quota_refill[entry] < 0 || w->quota_refill[entry] > QUOTA_LARGEST)
        return allowances_refuse(gpu, "SM %u would refill the quota of %s with %lld; 0 to %lld is possible", s, name,
                                 (long long)w->quota_refill[entry], (long long)QUOTA_LARGEST);
    if (w->quota_set[entry] && (w->quota[entry] < -QUOTA_LARGEST || w->quota[entry] > QUOTA_LARGEST))
        return allowances_refuse(gpu, "it gives %s a quota of %lld on SM %u; no more than %lld either way is possible",
                                 name, (long long)w->quota[entry], s, (long long)QUOTA_LARGEST);
    return CORUN_OK;
}

static enum corun_status check_entry(struct corun_gpu *gpu, uint32_t s, uint32_t a)
{
    const struct corun_allowances *w = &gpu->allowances;
    uint32_t entry = s * gpu->application_count + a;
    if ((unsigned)w->reclaim[entry] > CORUN_RECLAIM_DROP)
        return allowances_refuse(gpu, "its way to reclaim SM %u from %s, %d, is none of those that exist", s,
                                 gpu->applications[a].name, (int)w->reclaim[entry]);
    return check_quota(gpu, s, a);
}

enum corun_status allowances_check(struct corun_gpu *gpu)
{
    const struct corun_allowances *w = &gpu->allowances;
    if (w->fill != CORUN_FILL_ROUND_ROBIN && w->fill != CORUN_FILL_EMPTIEST_FIRST)
        return allowances_refuse(gpu, "the fill rule is none of those that exist");
    if (w->quotas_on && w->quota_kind != CORUN_QUOTA_WARP_AT_ISSUE && w->quota_kind != CORUN_QUOTA_THREAD_AT_COMPLETION)
        return allowances_refuse(gpu, "it switches quotas on whose kind, %d, is none of those that exist",
                                 (int)w->quota_kind);
    if (w->quotas_on && gpu->quotas_given && w->quota_kind != gpu->quota_kind_given)
        return allowances_refuse(gpu, "it changes the kind of quotas while they are on");
    enum corun_status status = CORUN_OK;
    for (uint32_t s = 0; s < gpu->config.sms && status == CORUN_OK; s++) {
        for (uint32_t a = 0; a < gpu->application_count && status == CORUN_OK; a++)
            status = check_entry(gpu, s, a);
        if (status == CORUN_OK)
            status = partition_check(gpu, s);
    }
    return status;
}

enum corun_status allowances_hand_over(struct corun_gpu *gpu)
{
    struct corun_allowances *w = &gpu->allowances;
    size_t entries = (size_t)gpu->config.sms * gpu->application_count;
    uint64_t cycle = gpu->now + gpu->config.dispatch_latency;
    for (uint32_t s = 0; s < gpu->config.sms; s++)
        if (!quota_announce(gpu->sms[s], cycle, w, s * gpu->application_count, gpu->application_count))
            return CORUN_MEMORY;
    power_written(gpu);
    gpu->quotas_given = w->quotas_on;
    gpu->quota_kind_given = w->quota_kind;
    memset(w->quota_set, 0, entries * sizeof *w->quota_set);
    return partition_follow(gpu);
}
