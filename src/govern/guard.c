/* SPDX-License-Identifier: MIT */
/*
 * What surrounds a policy when it is called: it may be somebody else's. What it can write lies between patterns, so that writing past an
 * end is noticed and named, and between pages that cannot be touched, so that a stray write farther out stops inside the call, where whoever
 * watches the process knows whose it was. The addresses of its tables stay ours, and a call that takes too long ends the run. The time is
 * of the host, and all that it can do is end a run: no result depends on it.
 */
#include "govern/state.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define PATTERN_BYTES ((size_t)64)            /* and the alignment of a table */
#define FORBIDDEN_BYTES ((size_t)256 * 1024u) /* on each side: whole pages on every host */

#define BYTE(i) (uint8_t)(0xa5 ^ (i)*37)
#define BYTES_4(i) BYTE(i), BYTE((i) + 1), BYTE((i) + 2), BYTE((i) + 3)
#define BYTES_16(i) BYTES_4(i), BYTES_4((i) + 4), BYTES_4((i) + 8), BYTES_4((i) + 12)
static const uint8_t pattern[PATTERN_BYTES] = {BYTES_16(0), BYTES_16(16), BYTES_16(32), BYTES_16(48)};

/* A stretch holds the pattern again and again, the first time from `first` on; at least once. */
static void write_pattern(uint8_t *first, const uint8_t *end)
{
    for (size_t i = 0; first + i < end; i++)
        first[i] = pattern[i % PATTERN_BYTES];
}

static bool is_pattern(const uint8_t *first, const uint8_t *end)
{
    size_t rest = (size_t)(end - first) - PATTERN_BYTES;
    return !memcmp(first, pattern, PATTERN_BYTES) && !memcmp(first, first + PATTERN_BYTES, rest);
}

static size_t round_up(size_t bytes, size_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

void *guard_allocate(struct governor *governor, size_t count, size_t bytes, const char *name)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (page < PATTERN_BYTES || FORBIDDEN_BYTES % page || __builtin_mul_overflow(count, bytes, &bytes) ||
        bytes > SIZE_MAX / 2)
        return NULL;
    size_t writable = round_up(bytes + 3 * PATTERN_BYTES, page), mapped = writable + 2 * FORBIDDEN_BYTES;
    uint8_t *mapping = mmap(NULL, mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping == MAP_FAILED)
        return NULL;
    struct guarded guarded = {.mapping = mapping,
                              .mapped_bytes = mapped,
                              .first = mapping + FORBIDDEN_BYTES,
                              .end = mapping + FORBIDDEN_BYTES + writable,
                              .bytes = bytes,
                              .name = name};
    /* at the upper end: what is past it by more than a pattern cannot be touched */
    guarded.table = guarded.first + (writable - bytes - PATTERN_BYTES) / PATTERN_BYTES * PATTERN_BYTES;
    if (mprotect(guarded.first, writable, PROT_READ | PROT_WRITE) || !vector_push(&governor->guarded, guarded)) {
        munmap(mapping, mapped);
        return NULL;
    }
    write_pattern(guarded.first, guarded.table);
    write_pattern(guarded.table + bytes, guarded.end);
    return guarded.table;
}

void guard_free(struct governor *governor)
{
    for (size_t i = 0; i < governor->guarded.count; i++)
        munmap(governor->guarded.data[i].mapping, governor->guarded.data[i].mapped_bytes);
    vector_free(&governor->guarded);
}

void guard_release(struct governor *governor, const void *table)
{
    for (size_t i = 0; i < governor->guarded.count; i++)
        if (table && governor->guarded.data[i].table == table) {
            munmap(governor->guarded.data[i].mapping, governor->guarded.data[i].mapped_bytes);
            governor->guarded.data[i] = governor->guarded.data[--governor->guarded.count];
            return;
        }
}

static enum corun_status check_patterns(struct governor *governor)
{
    for (size_t i = 0; i < governor->guarded.count; i++) {
        const struct guarded *guarded = &governor->guarded.data[i];
        bool before = is_pattern(guarded->first, guarded->table);
        bool after = is_pattern(guarded->table + guarded->bytes, guarded->end);
        if (!before || !after)
            return governor_refuse(governor, "it wrote %s %s, which has %zu bytes (%u SMs, %u applications)",
                                   before ? "beyond the end of" : "in front of", guarded->name, guarded->bytes,
                                   governor->machine.sm_count, governor->application_count);
    }
    return CORUN_OK;
}

/* Takes over what it wrote, if it wrote nothing else. */
static enum corun_status take_over(struct governor *governor, const struct corun_allowances *written)
{
    const struct corun_allowances *w = &governor->allowances;
#define CHECK_ADDRESS(name, count) \
    if (written->name != w->name) \
        return governor_refuse(governor, "it replaced the address of %s; it is to write what lies there", #name);
    GUARDED_ALLOWANCES(CHECK_ADDRESS)
#undef CHECK_ADDRESS
    governor->allowances = *written;
    return check_patterns(governor);
}

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Nothing but the call, told before and after. */
static enum corun_status call_policy(struct governor *governor, enum guarded_call call,
                                     const struct corun_policy_moment *moment, struct corun_allowances *written)
{
    const struct corun_policy *policy = governor->policy;
    enum corun_status status = CORUN_OK;
    if (governor->limits.policy_call)
        governor->limits.policy_call(governor->limits.user, true);
    if (call == GUARDED_START)
        status = policy->start(governor->state, &governor->view, governor->parameters, written);
    else if (call == GUARDED_DECIDE)
        policy->decide(governor->state, &governor->view, *moment, written);
    else
        policy->stop(governor->state);
    if (governor->limits.policy_call)
        governor->limits.policy_call(governor->limits.user, false);
    return status;
}

enum corun_status guard_call(struct governor *governor, enum guarded_call call,
                             const struct corun_policy_moment *moment)
{
    double limit = governor->limits.seconds > 0 ? governor->limits.seconds : CORUN_POLICY_SECONDS;
    struct corun_allowances written = governor->allowances;
    double began = seconds_now();
    enum corun_status status = call_policy(governor, call, moment, &written);
    double took = seconds_now() - began;
    enum corun_status own = take_over(governor, &written);
    if (own != CORUN_OK)
        return own;
    if (status != CORUN_OK)
        return corun_report(governor->list, status == CORUN_MEMORY ? status : CORUN_POLICY, CORUN_NOWHERE,
                            "policy %s cannot start with these parameters on %u SMs with %u applications%s%s",
                            governor->policy->name, governor->machine.sm_count, governor->application_count,
                            written.refusal ? ": " : "", written.refusal ? written.refusal : "");
    if (took > limit)
        return governor_refuse(governor, "%s took %.1f seconds; more than %g are not waited for",
                               call == GUARDED_STOP ? "its end" : "one call of it", took, limit);
    return CORUN_OK;
}
