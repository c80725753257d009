/*
 * What surrounds a policy when it is called: it may be somebody else's. What it can write lies between rows of a pattern, so that writing
 * past an end is noticed and named; the addresses of its tables stay ours; and a call that takes too long ends the run. The time is
 * of the host, and all that it can do is end a run: no result depends on it.
 */
#include "gpu/machine.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PATTERN_BYTES 64u /* keeps the alignment of malloc */

static void write_pattern(uint8_t *place)
{
    for (uint32_t i = 0; i < PATTERN_BYTES; i++)
        place[i] = (uint8_t)(0xa5 ^ i * 37);
}

static bool is_pattern(const uint8_t *place)
{
    uint8_t pattern[PATTERN_BYTES];
    write_pattern(pattern);
    return !memcmp(place, pattern, PATTERN_BYTES);
}

void *guard_allocate(struct corun_gpu *gpu, size_t count, size_t bytes, const char *name)
{
    struct guarded guarded = {.bytes = count * bytes, .name = name};
    guarded.start = calloc(1, guarded.bytes + 2 * PATTERN_BYTES);
    if (!guarded.start || !vector_push(&gpu->guarded, guarded)) {
        free(guarded.start);
        return NULL;
    }
    write_pattern(guarded.start);
    write_pattern(guarded.start + PATTERN_BYTES + guarded.bytes);
    return guarded.start + PATTERN_BYTES;
}

void guard_free(struct corun_gpu *gpu)
{
    for (size_t i = 0; i < gpu->guarded.count; i++)
        free(gpu->guarded.data[i].start);
    vector_free(&gpu->guarded);
}

/* Takes over what it wrote, if it wrote nothing else. */
static enum corun_status take_over(struct corun_gpu *gpu, const struct corun_allowances *written)
{
    const struct corun_allowances *w = &gpu->allowances;
#define CHECK_ADDRESS(name, count) \
    if (written->name != w->name) \
        return allowances_refuse(gpu, "it replaced the address of %s; it is to write what lies there", #name);
    GUARDED_ALLOWANCES(CHECK_ADDRESS)
#undef CHECK_ADDRESS
    gpu->allowances = *written;
    for (size_t i = 0; i < gpu->guarded.count; i++) {
        const struct guarded *guarded = &gpu->guarded.data[i];
        bool before = is_pattern(guarded->start), after = is_pattern(guarded->start + PATTERN_BYTES + guarded->bytes);
        if (!before || !after)
            return allowances_refuse(gpu, "it wrote %s %s, which has %zu bytes (%u SMs, %u applications)",
                                     before ? "beyond the end of" : "in front of", guarded->name, guarded->bytes,
                                     gpu->config.sms, gpu->application_count);
    }
    return CORUN_OK;
}

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

enum corun_status guard_call(struct corun_gpu *gpu, const struct corun_policy_moment *moment)
{
    const struct corun_policy *policy = gpu->policy;
    double limit = gpu->limits.policy_seconds > 0 ? gpu->limits.policy_seconds : CORUN_POLICY_SECONDS;
    struct corun_allowances written = gpu->allowances;
    enum corun_status status = CORUN_OK, own;
    double began = seconds_now();
    if (gpu->limits.policy_call)
        gpu->limits.policy_call(gpu->limits.policy_call_user, true);
    if (moment)
        policy->decide(gpu->policy_state, &gpu->view, *moment, &written);
    else
        status = policy->start(gpu->policy_state, &gpu->view, gpu->parameters, &written);
    if (gpu->limits.policy_call)
        gpu->limits.policy_call(gpu->limits.policy_call_user, false);
    double took = seconds_now() - began;
    own = take_over(gpu, &written);
    if (own != CORUN_OK)
        return own;
    if (status != CORUN_OK)
        return corun_report(gpu->list, status == CORUN_MEMORY ? status : CORUN_POLICY, CORUN_NOWHERE,
                            "policy %s cannot start with these parameters on %u SMs with %u applications%s%s",
                            policy->name, gpu->config.sms, gpu->application_count, written.refusal ? ": " : "",
                            written.refusal ? written.refusal : "");
    if (took > limit)
        return allowances_refuse(gpu, "one call of it took %.1f seconds; more than %g are not waited for", took, limit);
    return CORUN_OK;
}
