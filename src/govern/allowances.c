/* SPDX-License-Identifier: MIT */
/* What a policy writes: the tables it starts with, and whether what stands in them is possible on this machine. */
#include "govern/state.h"

#include "base/bits.h"

#include <stdlib.h>
#include <string.h>

static const char *const meanings[] = {
#define MEANING(name, meaning) meaning,
    CORUN_CAPABILITIES(MEANING)
#undef MEANING
};

/* What belongs to an SM and an application. A(name) */
#define ENTRIES_OF_ALLOWANCES(A) \
    A(tb_limit) A(order) A(reclaim) A(partition) A(quota) A(quota_set) A(quota_add) A(quota_refill)

static size_t entry_count(const struct governor *governor)
{
    size_t applications = governor->application_count ? governor->application_count : 1;
    return governor->machine.sm_count * applications;
}

bool allowances_create(struct governor *governor)
{
    size_t sms = governor->machine.sm_count, entries = entry_count(governor);
    size_t variables = governor->policy && governor->policy->variable_count ? governor->policy->variable_count : 1;
    struct corun_allowances *w = &governor->allowances;
#define ALLOCATE_GUARDED(name, count) w->name = guard_allocate(governor, count, sizeof *w->name, #name);
    GUARDED_ALLOWANCES(ALLOCATE_GUARDED)
#undef ALLOCATE_GUARDED
#define IS_MISSING(name, count) || !w->name
    if (false GUARDED_ALLOWANCES(IS_MISSING))
        return false;
#undef IS_MISSING
    allowances_clear(governor);
    size_t bytes = 0;
#define ADD_BYTES(name, count) bytes += (count) * sizeof *w->name;
    GUARDED_ALLOWANCES(ADD_BYTES)
#undef ADD_BYTES
    bool fine = (governor->checked = malloc(bytes)) != NULL;
    fine &= (governor->first.grant = calloc(CORUN_MAX_APPLICATIONS, sizeof *w->grant)) != NULL;
    fine &= (governor->first.sm_set = calloc(CORUN_MAX_APPLICATIONS, sizeof *w->sm_set)) != NULL;
#define ALLOCATE_FIRST(name) fine &= (governor->first.name = calloc(entries, sizeof *governor->first.name)) != NULL;
    ENTRIES_OF_ALLOWANCES(ALLOCATE_FIRST)
#undef ALLOCATE_FIRST
    if (fine)
        allowances_keep_first(governor);
    return fine;
}

void allowances_clear(struct governor *governor)
{
    size_t sms = governor->machine.sm_count, entries = entry_count(governor), variables = 0;
    struct corun_allowances *w = &governor->allowances, nothing = {0};
#define CLEAR_TABLE(name, count) \
    memset(w->name, 0, (count) * sizeof *w->name); \
    nothing.name = w->name;
    GUARDED_ALLOWANCES(CLEAR_TABLE)
#undef CLEAR_TABLE
    *w = nothing;
    for (size_t i = 0; i < entries; i++)
        w->tb_limit[i] = CORUN_UNLIMITED;
    for (size_t s = 0; s < sms; s++)
        w->powered[s] = true;
    for (size_t a = 0; a < CORUN_MAX_APPLICATIONS; a++)
        w->grant[a] = CORUN_UNLIMITED;
}

void allowances_free(struct governor *governor)
{
    free(governor->checked);
    free(governor->first.grant);
    free(governor->first.sm_set);
#define FREE_FIRST(name) free(governor->first.name);
    ENTRIES_OF_ALLOWANCES(FREE_FIRST)
#undef FREE_FIRST
}

void allowances_keep_first(struct governor *governor)
{
    size_t entries = entry_count(governor);
#define KEEP_FIRST(name) \
    memcpy(governor->first.name, governor->allowances.name, entries * sizeof *governor->first.name);
    ENTRIES_OF_ALLOWANCES(KEEP_FIRST)
#undef KEEP_FIRST
    memcpy(governor->first.grant, governor->allowances.grant,
           CORUN_MAX_APPLICATIONS * sizeof *governor->allowances.grant);
    memcpy(governor->first.sm_set, governor->allowances.sm_set,
           CORUN_MAX_APPLICATIONS * sizeof *governor->allowances.sm_set);
}

void allowances_renew(struct governor *governor, uint32_t slot)
{
    governor->allowances.out_of_reach[slot] = false;
    governor->allowances.grant[slot] = governor->first.grant[slot];
    governor->allowances.sm_set[slot] = governor->first.sm_set[slot];
    for (size_t s = 0; s < governor->machine.sm_count; s++) {
        size_t entry = s * governor->application_count + slot;
#define RENEW(name) governor->allowances.name[entry] = governor->first.name[entry];
        ENTRIES_OF_ALLOWANCES(RENEW)
#undef RENEW
    }
}

static const char *name_of(const struct governor *governor, uint32_t application)
{
    return governor->members[application].application.name;
}

static bool is_nothing(const struct corun_partition *p)
{
    static const struct corun_partition nothing;
    return !memcmp(p, &nothing, sizeof nothing);
}

/* NULL: none. Those that have left need theirs no more. */
static const struct corun_partition *partition_of(const struct governor *governor, uint32_t s, uint32_t a)
{
    const struct corun_partition *p = &governor->allowances.partition[s * governor->application_count + a];
    bool left = governor->reading.applications[a].state == CORUN_APPLICATION_LEFT;
    return left || is_nothing(p) ? NULL : p;
}

/* Capabilities that the entries of (s, a) make use of, and those of the SM. */
static uint32_t used_by_share(const struct corun_allowances *w, uint32_t entry)
{
    static const uint32_t reclaims[] = {[CORUN_RECLAIM_SWAP_TB] = 1u << CORUN_CAN_SWAP_TB,
                                        [CORUN_RECLAIM_SWITCH_SM] = 1u << CORUN_CAN_SWITCH_SM,
                                        [CORUN_RECLAIM_DROP] = 1u << CORUN_CAN_DROP};
    uint32_t used = w->tb_limit[entry] != CORUN_UNLIMITED ? 1u << CORUN_CAN_TB_LIMIT | reclaims[w->reclaim[entry]] : 0;
    if (w->order[entry])
        used |= 1u << CORUN_CAN_ORDER;
    if (!is_nothing(&w->partition[entry]))
        used |= 1u << CORUN_CAN_PARTITION;
    return used;
}

static uint32_t used_by_sm(const struct corun_allowances *w, uint32_t s)
{
    return (w->exclusive[s] ? 1u << CORUN_CAN_EXCLUSIVE : 0) | (w->powered[s] ? 0 : 1u << CORUN_CAN_POWER);
}

/* Only for machines that cannot do everything: what is written must not be half obeyed. */
static enum corun_status check_capabilities(struct governor *governor)
{
    const struct corun_allowances *w = &governor->allowances;
    uint32_t used = w->quotas_on ? 1u << CORUN_CAN_QUOTA : 0;
    for (uint32_t a = 0; a < governor->application_count; a++) {
        used |= w->grant[a] != CORUN_UNLIMITED ? 1u << CORUN_CAN_GRANT : 0;
        used |= w->sm_set[a] != CORUN_SMS_ALL ? 1u << CORUN_CAN_APART : 0;
    }
    for (uint32_t s = 0; s < governor->machine.sm_count; s++) {
        used |= used_by_sm(w, s);
        for (uint32_t a = 0; a < governor->application_count; a++)
            used |= used_by_share(w, s * governor->application_count + a);
    }
    uint32_t missing = used & ~governor->machine.capabilities;
    if (!missing)
        return CORUN_OK;
    return governor_refuse(governor, "what it writes is for a machine that %s; %s does not",
                           meanings[lowest_bit(missing)], governor->machine.name);
}

static enum corun_status check_quota(struct governor *governor, uint32_t s, uint32_t a)
{
    const struct corun_allowances *w = &governor->allowances;
    uint32_t entry = s * governor->application_count + a;
    long long largest = governor->machine.largest_quota;
    if (w->quota_refill[entry] < 0 || w->quota_refill[entry] > largest)
        return governor_refuse(governor, "SM %u would refill the quota of %s with %lld; 0 to %lld is possible", s,
                               name_of(governor, a), (long long)w->quota_refill[entry], largest);
    if (w->quota_set[entry] && (w->quota[entry] < -largest || w->quota[entry] > largest))
        return governor_refuse(governor,
                               "it gives %s a quota of %lld on SM %u; no more than %lld either way is possible",
                               name_of(governor, a), (long long)w->quota[entry], s, largest);
    return CORUN_OK;
}

static enum corun_status check_entry(struct governor *governor, uint32_t s, uint32_t a)
{
    const struct corun_allowances *w = &governor->allowances;
    uint32_t entry = s * governor->application_count + a;
    if ((unsigned)w->reclaim[entry] > CORUN_RECLAIM_DROP)
        return governor_refuse(governor, "its way to reclaim SM %u from %s, %d, is none of those that exist", s,
                               name_of(governor, a), (int)w->reclaim[entry]);
    return check_quota(governor, s, a);
}

static bool overlap(uint32_t first, uint32_t count, uint32_t other, uint32_t other_count)
{
    return count && other_count && first < other + other_count && other < first + count;
}

static enum corun_status check_overlap(struct governor *governor, uint32_t s, uint32_t a, uint32_t b)
{
    const struct corun_partition *p = partition_of(governor, s, a), *q = partition_of(governor, s, b);
    if (!p || !q)
        return CORUN_OK;
    const char *first = name_of(governor, a), *second = name_of(governor, b);
    if (overlap(p->first_register, p->register_count, q->first_register, q->register_count))
        return governor_refuse(governor, "on SM %u it gives %s the registers %u to %u and %s %u to %u, which overlap",
                               s, first, p->first_register, p->first_register + p->register_count - 1, second,
                               q->first_register, q->first_register + q->register_count - 1);
    if (overlap(p->first_shared_byte, p->shared_bytes, q->first_shared_byte, q->shared_bytes))
        return governor_refuse(
            governor, "on SM %u it gives %s the bytes %u to %u of shared memory and %s %u to %u, which overlap", s,
            first, p->first_shared_byte, p->first_shared_byte + p->shared_bytes - 1, second, q->first_shared_byte,
            q->first_shared_byte + q->shared_bytes - 1);
    return CORUN_OK;
}

static enum corun_status check_partition(struct governor *governor, uint32_t s, uint32_t a)
{
    const struct corun_machine *machine = &governor->machine;
    const struct corun_partition *p = partition_of(governor, s, a);
    const char *name = name_of(governor, a);
    if ((uint64_t)p->first_register + p->register_count > machine->registers_per_sm)
        return governor_refuse(governor, "the partition of %s on SM %u ends at register %llu; an SM has %u", name, s,
                               (unsigned long long)p->first_register + p->register_count, machine->registers_per_sm);
    if ((uint64_t)p->first_shared_byte + p->shared_bytes > machine->shared_bytes_per_sm)
        return governor_refuse(
            governor, "the partition of %s on SM %u ends at byte %llu of shared memory; an SM has %u", name, s,
            (unsigned long long)p->first_shared_byte + p->shared_bytes, machine->shared_bytes_per_sm);
    enum corun_status status = CORUN_OK;
    for (uint32_t b = 0; b < a && status == CORUN_OK; b++)
        status = check_overlap(governor, s, b, a);
    return status;
}

static enum corun_status check_partitions(struct governor *governor, uint32_t s)
{
    const struct corun_machine *machine = &governor->machine;
    uint64_t threads = 0, slots = 0;
    for (uint32_t a = 0; a < governor->application_count; a++) {
        const struct corun_partition *p = partition_of(governor, s, a);
        if (!p)
            continue;
        threads += p->thread_count;
        slots += p->tb_slots;
        enum corun_status status = check_partition(governor, s, a);
        if (status != CORUN_OK)
            return status;
    }
    if (threads > machine->threads_per_sm || slots > machine->tbs_per_sm)
        return governor_refuse(governor,
                               "its partitions of SM %u have %llu threads and %llu thread blocks together; an SM has "
                               "%u and %u",
                               s, (unsigned long long)threads, (unsigned long long)slots, machine->threads_per_sm,
                               machine->tbs_per_sm);
    return CORUN_OK;
}

/* What a check depends on besides the tables; not 0. */
static uint32_t scalars_of(const struct governor *governor)
{
    uint32_t left = 0;
    for (uint32_t a = 0; a < governor->application_count; a++)
        left |= (uint32_t)(governor->reading.applications[a].state == CORUN_APPLICATION_LEFT) << a;
    _Static_assert(CORUN_MAX_APPLICATIONS < 30, "a bit each");
    return left | UINT32_C(1) << 31 | (uint32_t)governor->allowances.quotas_on << 30;
}

/* Has the policy written what was there already? Most moments change nothing, and there are some for every launch. */
static bool is_as_checked(const struct governor *governor)
{
    size_t sms = governor->machine.sm_count, entries = entry_count(governor), variables = 0;
    const struct corun_allowances *w = &governor->allowances;
    const uint8_t *copy = governor->checked;
    bool same = governor->checked_scalars == scalars_of(governor);
#define COMPARE_TABLE(name, count) \
    same = same && !memcmp(copy, w->name, (count) * sizeof *w->name); \
    copy += (count) * sizeof *w->name;
    GUARDED_ALLOWANCES(COMPARE_TABLE)
#undef COMPARE_TABLE
    return same;
}

static void note_checked(struct governor *governor)
{
    size_t sms = governor->machine.sm_count, entries = entry_count(governor), variables = 0;
    const struct corun_allowances *w = &governor->allowances;
    uint8_t *copy = governor->checked;
#define KEEP_TABLE(name, count) \
    memcpy(copy, w->name, (count) * sizeof *w->name); \
    copy += (count) * sizeof *w->name;
    GUARDED_ALLOWANCES(KEEP_TABLE)
#undef KEEP_TABLE
    governor->checked_scalars = scalars_of(governor);
}

enum corun_status allowances_check(struct governor *governor)
{
    const struct corun_allowances *w = &governor->allowances;
    if (w->fill != CORUN_FILL_ROUND_ROBIN && w->fill != CORUN_FILL_EMPTIEST_FIRST)
        return governor_refuse(governor, "the fill rule is none of those that exist");
    if (w->quotas_on && w->quota_kind != CORUN_QUOTA_WARP_AT_ISSUE && w->quota_kind != CORUN_QUOTA_THREAD_AT_COMPLETION)
        return governor_refuse(governor, "it switches quotas on whose kind, %d, is none of those that exist",
                               (int)w->quota_kind);
    if (w->quotas_on && governor->quotas_given && w->quota_kind != governor->quota_kind_given)
        return governor_refuse(governor, "it changes the kind of quotas while they are on");
    enum corun_status status = CORUN_OK;
    if (is_as_checked(governor))
        return CORUN_OK;
    for (uint32_t a = 0; a < governor->application_count && status == CORUN_OK; a++)
        if ((uint32_t)w->sm_set[a] >= CORUN_SM_SETS)
            status = governor_refuse(governor, "the set of SMs for launches of %s, %d, is none", name_of(governor, a),
                                     (int)w->sm_set[a]);
    for (uint32_t s = 0; s < governor->machine.sm_count && status == CORUN_OK; s++) {
        for (uint32_t a = 0; a < governor->application_count && status == CORUN_OK; a++)
            status = check_entry(governor, s, a);
        if (status == CORUN_OK)
            status = check_partitions(governor, s);
    }
    uint32_t all = (1u << CORUN_CAPABILITY_COUNT) - 1;
    if (status == CORUN_OK && (governor->machine.capabilities & all) != all)
        status = check_capabilities(governor);
    if (status == CORUN_OK)
        note_checked(governor);
    return status;
}
