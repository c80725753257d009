/* SPDX-License-Identifier: MIT */
/*
 * heracles: a share for each service, moved by a core and a way every few seconds after what the tail latency was. After the top-level and the
 * core and memory controllers of Lo et al., Heracles, ISCA 2015, section 4.3: no slack, no batch; below 5 % of slack the service grows; below
 * 10 % nothing changes; above, batch grows. Left out are frequency, network, and the load that the original watches as well.
 */
#include "allot/policies.h"

#include <math.h>
#include <stdlib.h>

enum { PERIOD, HOLD, GROW, QUERIES };

static const struct corun_host_parameter parameters[] = {
    [PERIOD] = {"period", 2, 0.01, 3600, false, "seconds between two decisions", NULL},
    [HOLD] = {"hold", 0.1, 0, 1, false, "slack below which batch does not grow", NULL},
    [GROW] = {"grow", 0.05, 0, 1, false, "slack below which the service grows", NULL},
    [QUERIES] = {"queries", 16, 0, 256, true, "of a service that run at a time; 0: all", NULL},
};

#define MOST_LATENCIES 1024u
#define MOST_TENANTS 64u

struct service {
    double latencies[MOST_LATENCIES]; /* of the period, over the goal; the latest ones */
    uint32_t count;
    struct corun_host_share share;
};

struct heracles {
    double period_ns, hold, grow;
    uint32_t queries;
    uint64_t next_ns;
    struct service services[MOST_TENANTS];
};

static enum corun_status start(void *state, const struct corun_host_view *view, const double *values,
                               struct corun_host_allowances *allowances)
{
    struct heracles *heracles = state;
    uint32_t services = 0;
    heracles->period_ns = values[PERIOD] * 1e9;
    heracles->hold = values[HOLD];
    heracles->grow = values[GROW];
    heracles->queries = (uint32_t)values[QUERIES];
    heracles->next_ns = (uint64_t)heracles->period_ns;
    for (uint32_t a = 0; a < view->application_count; a++)
        services += view->applications[a].kind == CORUN_HOST_SERVICE;
    allowances->refusal = view->application_count > MOST_TENANTS ? "takes 64 applications at most"
                          : services > view->core_count || (allot_divides_ways(view) && services > view->way_count)
                              ? "has not a core and a way for each service"
                              : NULL;
    if (allowances->refusal)
        return CORUN_ARGUMENT;
    /* It starts with everything for the services. */
    for (uint32_t a = 0, nth = 0; a < view->application_count; a++) {
        struct corun_host_share *share = &heracles->services[a].share;
        if (view->applications[a].kind != CORUN_HOST_SERVICE)
            continue;
        share->cores = view->core_count / services + (nth < view->core_count % services);
        if (allot_divides_ways(view))
            share->ways = view->way_count / services + (nth < view->way_count % services);
        allowances->application[a] = *share;
        nth++;
    }
    return CORUN_OK;
}

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return a < b ? -1 : a > b;
}

/* The 99th percentile of the period, over the goal; NAN if nothing was answered. */
static double tail_of(struct service *service)
{
    uint32_t count = service->count < MOST_LATENCIES ? service->count : MOST_LATENCIES;
    if (!count)
        return NAN;
    qsort(service->latencies, count, sizeof *service->latencies, compare);
    return service->latencies[(uint32_t)ceil(0.99 * count) - 1];
}

static void decide_share(const struct heracles *heracles, const struct corun_host_view *view, struct service *service,
                         struct corun_host_share free)
{
    double slack = 1 - tail_of(service);
    struct corun_host_share *share = &service->share;
    service->count = 0;
    if (!allot_divides_ways(view))
        free.ways = 0;
    if (slack < 0) {
        share->cores += free.cores;
        share->ways += free.ways;
    } else if (slack < heracles->grow) {
        share->cores += free.cores < 2 ? free.cores : 2;
        share->ways += free.ways < 2 ? free.ways : 2;
    } else if (slack >= heracles->hold) {
        share->cores -= share->cores > 1;
        share->ways -= share->ways > 1; /* none where the cache is common */
    }
}

static void note_latency(struct heracles *heracles, const struct corun_host_view *view, uint32_t q)
{
    const struct corun_host_query_view *query = &view->queries[q];
    const struct corun_host_application_view *application = &view->applications[query->application];
    struct service *service = &heracles->services[query->application];
    if (application->goal_ns)
        service->latencies[service->count++ % MOST_LATENCIES] =
            (double)(view->now_ns - query->arrived_ns) / (double)application->goal_ns;
}

static void decide(void *state, const struct corun_host_view *view, struct corun_host_moment moment,
                   struct corun_host_allowances *allowances)
{
    struct heracles *heracles = state;
    allot_start_up_to(view, heracles->queries, allowances);
    if (moment.event == CORUN_HOST_QUERY_ENDS)
        note_latency(heracles, view, moment.query);
    if (moment.event != CORUN_HOST_INTERVAL || view->now_ns < heracles->next_ns)
        return;
    heracles->next_ns = view->now_ns + (uint64_t)heracles->period_ns;
    for (uint32_t a = 0; a < view->application_count; a++) {
        if (view->applications[a].kind != CORUN_HOST_SERVICE)
            continue;
        decide_share(heracles, view, &heracles->services[a], allot_free(view, allowances));
        allowances->application[a] = heracles->services[a].share;
    }
}

const struct corun_host_policy allot_heracles = {
    .version = CORUN_HOST_POLICY_VERSION,
    .name = "heracles",
    .summary = "a share for each service that follows its tail latency every few seconds",
    .paper = "after Lo et al., Heracles, ISCA 2015, section 4.3",
    .parameters = parameters,
    .parameter_count = sizeof parameters / sizeof *parameters,
    .needs = 1u << CORUN_HOST_CAN_CORES,
    .state_bytes = sizeof(struct heracles),
    .start = start,
    .decide = decide,
};
