/* SPDX-License-Identifier: MIT */
/* Checks of a policy of a host and of what it wrote. */
#include "host/allowances.h"

#include <inttypes.h>

static const char *const capability_texts[] = {
#define CAPABILITY_TEXT(name, meaning) meaning,
    CORUN_HOST_CAPABILITIES(CAPABILITY_TEXT)
#undef CAPABILITY_TEXT
};

/* What is given out together. */
struct given {
    bool divides_ways; /* else everybody has the same ones: the most that one share has */
    uint64_t cores, ways;
};

static enum corun_status add_share(const struct corun_host_share *share, const char *whose, const char *policy,
                                   struct corun_diagnostics *list, struct given *given)
{
    if (share->ways && !share->cores)
        return corun_report(list, CORUN_POLICY, CORUN_NOWHERE, "policy %s gives ways of the cache to %s without cores",
                            policy, whose);
    given->cores += share->cores;
    if (given->divides_ways)
        given->ways += share->ways;
    else if (share->ways > given->ways)
        given->ways = share->ways;
    return CORUN_OK;
}

enum corun_status host_check_shares(const struct corun_host_view *view, const struct corun_host_allowances *allowances,
                                    uint32_t ended, const char *policy, struct corun_diagnostics *list,
                                    struct corun_host_share *common)
{
    struct given given = {.divides_ways = view->capabilities >> CORUN_HOST_CAN_WAYS & 1u};
    enum corun_status status = CORUN_OK;
    for (uint32_t a = 0; a < view->application_count && !status; a++)
        status = add_share(&allowances->application[a], "an application", policy, list, &given);
    for (uint32_t q = 0; q < view->query_count && !status; q++)
        if (view->queries[q].state == CORUN_HOST_QUERY_RUNNING && q != ended)
            status = add_share(&allowances->query[q], "a query", policy, list, &given);
    if (!status && (given.cores > view->core_count || given.ways > view->way_count))
        status = corun_report(list, CORUN_POLICY, CORUN_NOWHERE,
                              "policy %s gives out %" PRIu64 " cores of %" PRIu32 " and %" PRIu64 " ways of %" PRIu32,
                              policy, given.cores, view->core_count, given.ways, view->way_count);
    if (!status)
        *common =
            (struct corun_host_share){view->core_count - (uint32_t)given.cores,
                                      given.divides_ways ? view->way_count - (uint32_t)given.ways : view->way_count};
    return status;
}

enum corun_status host_check_policy(const struct corun_host_view *view, const struct corun_host_policy *policy,
                                    struct corun_diagnostics *list)
{
    if (policy->version != CORUN_HOST_POLICY_VERSION)
        return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE,
                            "policy %s was written for another version of corun/host.h", policy->name);
    for (uint32_t i = 0; i < CORUN_HOST_CAPABILITY_COUNT; i++)
        if (policy->needs & ~view->capabilities & UINT32_C(1) << i)
            return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE, "policy %s needs a host that %s", policy->name,
                                capability_texts[i]);
    for (uint32_t a = 0; policy->needs_models && a < view->application_count; a++)
        if (view->applications[a].kind == CORUN_HOST_SERVICE && !view->applications[a].model_count)
            return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE, "policy %s needs a model of the service %s",
                                policy->name, view->applications[a].name);
    return CORUN_OK;
}
