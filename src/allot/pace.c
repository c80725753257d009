/* SPDX-License-Identifier: MIT */
/*
 * pace: each query goes just as fast as its deadline asks, by the progress that its service reports. Ours; beside EMU:
 *
 *   - What is left of a query is known from its progress, and how much slower than predicted it goes, whatever the reason: traffic of others, a cold
 *     cache, a query that is harder than its size says. Shares are looked for anew after each interval with that factor, downwards as well,
 *     so no margin is paid in advance for what may not come.
 *   - Cores and ways are looked for together, among what is left: of all shares that are fast enough the one that takes least from batch for as long
 *     as it is held. So a query may have more ways, and be done sooner.
 *   - What ways are worth to batch is learned from what batch does with few and with many of them.
 *   - Where queries together need more than there is, those whose deadline is nearest come first, and others give.
 *   - A query that is late keeps what it needs by prediction; stopping batch would not bring its deadline back.
 *   - How many instances of a batch program run is found by trying: fewer share the cache among fewer, more fill idle cores. Half as many and twice as
 *     many are tried beside the number that runs, and the search goes on uphill, so that hardly any time goes to numbers far from the best.
 */
#include "allot/policies.h"
#include "allot/worth.h"

#include <math.h>
#include <string.h>

enum { MARGIN, WAY_WEIGHT, PROBE, LEARN };

static const struct corun_host_parameter parameters[] = {
    [MARGIN] = {"margin", 0.1, 0, 0.9, false, "of the goal, kept free", NULL},
    [WAY_WEIGHT] = {"way_weight", 0.1, 0, 100, false, "what all ways are worth to batch, over what all cores are",
                    NULL},
    [PROBE] = {"probe", 0.5, 0, 60, false, "seconds for which a number of instances is tried; 0: all run", NULL},
    [LEARN] = {"learn", 1, 0, 1, true, "whether way_weight is learned from batch, beginning with that", "off|on"},
};

#define MOST_TENANTS 64u
#define WAY_STEPS 6u
#define MOST_CORES 128u
#define SLOWEST 20.0    /* times slower than predicted that are believed */
#define PROBE_EVERY 40u /* so many times the time of one probe until the next ones */

struct job {
    double
        durations[WAY_STEPS]
                 [MOST_CORES]; /* predicted, for each step of ways and number of cores less 1; 0: not asked for yet */
    double last_progress;
    uint64_t last_ns;
    double slowness; /* of what was measured over what was predicted; 1 until something was */
    struct corun_host_share need;
};

/* Numbers of instances of a batch program, tried one after the other: 1, 2, 4, ..., all, as far as it goes uphill. */
enum probe_phase { PROBE_RESTS, PROBE_UP, PROBE_DOWN };
struct probe {
    enum probe_phase phase;
    double best_rate;     /* of `best`: instructions for each ns of a common core */
    uint32_t best, tried; /* tried: that run now */
    bool moved;           /* a better number was found since the last rest */
    double instructions, core_ns;
    uint64_t next_ns;
};

struct pace {
    double margin, way_weight, first_way_weight, probe_ns;
    bool learn;
    struct worth worths[MOST_TENANTS];
    uint64_t last_interval_ns;
    double common_core_ns, common_way_ns; /* since the last interval of the host */
    uint64_t counted_until_ns;
    struct job jobs[CORUN_HOST_QUERIES];
    struct probe probes[MOST_TENANTS];
};

static enum corun_status start(void *state, const struct corun_host_view *view, const double *values,
                               struct corun_host_allowances *allowances)
{
    struct pace *pace = state;
    pace->margin = values[MARGIN];
    pace->way_weight = pace->first_way_weight = values[WAY_WEIGHT];
    pace->probe_ns = values[PROBE] * 1e9;
    pace->learn = values[LEARN] > 0;
    if (view->application_count > MOST_TENANTS || view->core_count > MOST_CORES)
        allowances->refusal = "takes 64 applications and 128 cores at most";
    for (uint32_t a = 0; a < view->application_count; a++)
        if (view->applications[a].kind == CORUN_HOST_SERVICE && !view->applications[a].goal_ns)
            allowances->refusal = "needs a goal for each service";
    if (allowances->refusal)
        return CORUN_ARGUMENT;
    for (uint32_t a = 0; a < view->application_count && pace->probe_ns > 0; a++) {
        if (view->applications[a].kind != CORUN_HOST_BATCH)
            continue;
        pace->probes[a] = (struct probe){.best = 1, .tried = 1, .next_ns = view->now_ns + (uint64_t)pace->probe_ns};
        allowances->instances[a] = 1;
    }
    return CORUN_OK;
}

static const struct corun_host_application_view *service_of(const struct corun_host_view *view, uint32_t q)
{
    return &view->applications[view->queries[q].application];
}

static double duration_with(const struct corun_host_view *view, uint32_t q, uint32_t cores, uint32_t ways)
{
    const struct corun_host_model *model = service_of(view, q)->models;
    struct corun_host_prediction prediction;
    model->predict(model->state, view->queries[q].size, cores, ways, &prediction);
    return prediction.duration_ns;
}

static uint32_t ways_of(const struct corun_host_view *view, uint32_t step)
{
    return 1 + step * (view->way_count - 1) / (WAY_STEPS - 1);
}

/* Each prediction is asked for once. */
static double known_duration(struct pace *pace, const struct corun_host_view *view, uint32_t q, uint32_t cores,
                             uint32_t step)
{
    double *known = &pace->jobs[q].durations[step][cores - 1];
    if (!(*known > 0))
        *known = duration_with(view, q, cores, ways_of(view, step));
    return *known;
}

/* The fewest cores with that step of ways; 0 if `most` are too few. */
static uint32_t cores_for(struct pace *pace, const struct corun_host_view *view, uint32_t q, uint32_t step,
                          double limit_ns, uint32_t most)
{
    uint32_t low = 0, high = most;
    if (known_duration(pace, view, q, high, step) > limit_ns)
        return 0;
    while (high > low + 1) {
        uint32_t middle = (high + low) / 2;
        if (known_duration(pace, view, q, middle, step) <= limit_ns)
            high = middle;
        else
            low = middle;
    }
    return high;
}

/*
 * Of the shares of at most `most` with which the whole query would take limit_ns at most, the one that costs batch least, as long as it is held;
 * all of `most`, if none will do. Where the cache is common, with all ways, none of them its own.
 */
static struct corun_host_share cheapest(struct pace *pace, const struct corun_host_view *view, uint32_t q,
                                        double limit_ns, struct corun_host_share most)
{
    bool divides = allot_divides_ways(view);
    struct corun_host_share found = {most.cores, divides ? most.ways : 0};
    double least = INFINITY;
    for (uint32_t step = divides ? 0 : WAY_STEPS - 1; step < WAY_STEPS; step++) {
        uint32_t ways = divides ? ways_of(view, step) : 0;
        uint32_t cores = ways <= most.ways ? cores_for(pace, view, q, step, limit_ns, most.cores) : 0;
        if (!cores)
            continue;
        double cost = (double)cores / view->core_count + pace->way_weight * ways / view->way_count;
        cost *= known_duration(pace, view, q, cores, step);
        if (cost < least) {
            least = cost;
            found = (struct corun_host_share){cores, ways};
        }
    }
    return found;
}

/* How much slower it went since the last look than its share was predicted to make it. */
static void measure(struct job *job, const struct corun_host_view *view, uint32_t q)
{
    const struct corun_host_query_view *query = &view->queries[q];
    double done = query->progress - job->last_progress, ns = (double)(view->now_ns - job->last_ns);
    uint32_t ways = allot_divides_ways(view) ? query->share.ways : view->way_count;
    if (!(ns > 0) || !query->share.cores || !ways)
        return;
    double predicted = ns / duration_with(view, q, query->share.cores, ways);
    if (done > 0)
        job->slowness = fmin(fmax(predicted / done, 1 / SLOWEST), SLOWEST);
    job->last_progress = query->progress;
    job->last_ns = view->now_ns;
}

static double deadline_of(const struct pace *pace, const struct corun_host_view *view, uint32_t q)
{
    return (double)view->queries[q].arrived_ns + (1 - pace->margin) * (double)service_of(view, q)->goal_ns;
}

/* What the query needs from now on. */
static struct corun_host_share need_of(struct pace *pace, const struct corun_host_view *view, uint32_t q,
                                       struct corun_host_share most)
{
    const struct job *job = &pace->jobs[q];
    const struct corun_host_query_view *query = &view->queries[q];
    bool running = query->state == CORUN_HOST_QUERY_RUNNING;
    double left_ns = deadline_of(pace, view, q) - (double)view->now_ns, left = running ? 1 - query->progress : 1;
    if (left_ns > 0)
        return cheapest(pace, view, q, left_ns / (fmax(left, 1e-3) * job->slowness), most);
    return job->need.cores ? job->need
                           : cheapest(pace, view, q, (1 - pace->margin) * (double)service_of(view, q)->goal_ns, most);
}

static bool wants(const struct corun_host_view *view, uint32_t q, uint32_t ended)
{
    return view->queries[q].state != CORUN_HOST_QUERY_FREE && q != ended;
}

/* The nearest deadline later than `after`, ids deciding between equals; NONE. */
static uint32_t next_deadline(const struct pace *pace, const struct corun_host_view *view, uint32_t ended,
                              const bool *served)
{
    uint32_t found = CORUN_HOST_NONE;
    for (uint32_t q = 0; q < view->query_count; q++) {
        if (!wants(view, q, ended) || served[q])
            continue;
        if (found == CORUN_HOST_NONE || deadline_of(pace, view, q) < deadline_of(pace, view, found) ||
            (deadline_of(pace, view, q) <= deadline_of(pace, view, found) &&
             view->queries[q].id < view->queries[found].id))
            found = q;
    }
    return found;
}

/* Running queries and those that wait, by deadline, each what it needs as far as there is; a running one keeps a core and a way. */
static void divide(struct pace *pace, const struct corun_host_view *view, uint32_t ended,
                   struct corun_host_allowances *allowances)
{
    bool served[CORUN_HOST_QUERIES] = {false};
    struct corun_host_share free = {view->core_count, view->way_count};
    for (uint32_t q = 0; q < view->query_count; q++) {
        if (wants(view, q, ended) && view->queries[q].state == CORUN_HOST_QUERY_RUNNING) {
            free.cores -= free.cores > 0;
            free.ways -= free.ways > 0;
        }
    }
    for (uint32_t q; (q = next_deadline(pace, view, ended, served)) != CORUN_HOST_NONE; served[q] = true) {
        bool running = view->queries[q].state == CORUN_HOST_QUERY_RUNNING;
        uint32_t cores = running + free.cores, ways = running + free.ways;
        if (!cores || (allot_divides_ways(view) && !ways))
            continue;
        struct corun_host_share need = need_of(pace, view, q, (struct corun_host_share){cores, ways});
        pace->jobs[q].need = need;
        allowances->query[q] =
            (struct corun_host_share){need.cores < cores ? need.cores : cores, need.ways < ways ? need.ways : ways};
        free.cores = cores - allowances->query[q].cores;
        free.ways = ways - allowances->query[q].ways;
        allowances->start[q] = true;
    }
}

/* The common cores until now, times how long. */
static void count_cores(struct pace *pace, const struct corun_host_view *view,
                        const struct corun_host_allowances *allowances)
{
    struct corun_host_share free = allot_free(view, allowances);
    pace->common_core_ns += free.cores * (double)(view->now_ns - pace->counted_until_ns);
    pace->common_way_ns += free.ways * (double)(view->now_ns - pace->counted_until_ns);
    pace->counted_until_ns = view->now_ns;
}

/* The next number upwards: twice as many, or all. 0: there is none. */
static uint32_t more_instances(uint32_t count, uint32_t all)
{
    return count >= all ? 0 : 2 * count > all ? all : 2 * count;
}

/* The next one downwards: the power of two below. 0: there is none. */
static uint32_t fewer_instances(uint32_t count)
{
    uint32_t fewer = count > 1;
    while (2 * fewer < count && fewer)
        fewer *= 2;
    return fewer;
}

/* The phase in which that number runs; a phase without a number is passed over. */
static void probe_next(struct probe *probe, enum probe_phase phase, uint32_t all)
{
    uint32_t up = more_instances(probe->best, all), down = fewer_instances(probe->best);
    if (phase == PROBE_UP && !up)
        phase = probe->moved ? PROBE_RESTS : PROBE_DOWN;
    if (phase == PROBE_DOWN && !down)
        phase = PROBE_RESTS;
    probe->phase = phase;
    probe->tried = phase == PROBE_UP ? up : phase == PROBE_DOWN ? down : probe->best;
    probe->moved &= phase != PROBE_RESTS;
}

/* Uphill: on from a number that is better, back from one that is not, and then the other way unless this one led somewhere. */
static void probe_judge(struct probe *probe, double rate, uint32_t all)
{
    enum probe_phase phase = probe->phase;
    bool rests = phase == PROBE_RESTS || probe->best > all;
    if (rests || rate > probe->best_rate) {
        probe->moved |= !rests;
        probe->best = probe->tried < all ? probe->tried : all;
        probe->best_rate = rate;
        probe_next(probe, rests ? PROBE_UP : phase, all);
    } else {
        probe_next(probe, phase == PROBE_UP && !probe->moved ? PROBE_DOWN : PROBE_RESTS, all);
    }
}

/* Numbers of instances that are being tried would tell of themselves rather than of the ways. */
static void learn(struct pace *pace, const struct corun_host_view *view)
{
    double weights = 0, ns = (double)(view->now_ns - pace->last_interval_ns), core_ns = pace->common_core_ns;
    uint32_t count = 0;
    for (uint32_t a = 0; a < view->application_count; a++) {
        const struct corun_host_application_view *batch = &view->applications[a];
        if (batch->kind != CORUN_HOST_BATCH || !batch->instances)
            continue;
        if (core_ns > 0 && pace->probes[a].tried == pace->probes[a].best)
            worth_add(&pace->worths[a], core_ns / ns, pace->common_way_ns / ns, batch->interval_ipc * ns / core_ns);
        weights += worth_of_ways(&pace->worths[a], view->way_count, pace->first_way_weight);
        count++;
    }
    pace->way_weight = count ? weights / count : pace->first_way_weight;
}

/* After each interval of the host: what batch did with its cores under the number that is being tried. */
static void probe(struct pace *pace, const struct corun_host_view *view, uint32_t a,
                  struct corun_host_allowances *allowances)
{
    struct probe *probe = &pace->probes[a];
    const struct corun_host_application_view *batch = &view->applications[a];
    double ns = (double)(view->now_ns - pace->last_interval_ns);
    probe->instructions += batch->interval_ipc * ns;
    probe->core_ns += pace->common_core_ns;
    if (view->now_ns < probe->next_ns)
        return;
    probe_judge(probe, probe->core_ns > 0 ? probe->instructions / probe->core_ns : 0, batch->instances);
    allowances->instances[a] = probe->tried;
    probe->next_ns = view->now_ns + (uint64_t)(pace->probe_ns * (probe->phase == PROBE_RESTS ? PROBE_EVERY : 1));
    probe->instructions = probe->core_ns = 0;
}

static void decide(void *state, const struct corun_host_view *view, struct corun_host_moment moment,
                   struct corun_host_allowances *allowances)
{
    struct pace *pace = state;
    uint32_t ended = moment.event == CORUN_HOST_QUERY_ENDS ? moment.query : CORUN_HOST_NONE;
    count_cores(pace, view, allowances);
    if (moment.event == CORUN_HOST_QUERY_ARRIVES)
        pace->jobs[moment.query] = (struct job){.slowness = 1};
    if (moment.event == CORUN_HOST_QUERY_STARTS)
        pace->jobs[moment.query].last_ns = view->now_ns;
    if (moment.event == CORUN_HOST_QUERY_INTERVAL)
        measure(&pace->jobs[moment.query], view, moment.query);
    if (moment.event == CORUN_HOST_INTERVAL) {
        for (uint32_t a = 0; a < view->application_count && pace->probe_ns > 0; a++)
            if (view->applications[a].kind == CORUN_HOST_BATCH && view->applications[a].instances)
                probe(pace, view, a, allowances);
        if (pace->learn)
            learn(pace, view);
        pace->common_core_ns = pace->common_way_ns = 0;
        pace->last_interval_ns = view->now_ns;
    } else if (moment.event != CORUN_HOST_QUERY_STARTS) {
        divide(pace, view, ended, allowances);
    }
}

const struct corun_host_policy allot_pace = {
    .version = CORUN_HOST_POLICY_VERSION,
    .name = "pace",
    .summary = "each query just as fast as its deadline asks, by its progress; as many batch instances as do most",
    .paper = "none: ours",
    .parameters = parameters,
    .parameter_count = sizeof parameters / sizeof *parameters,
    .needs = 1u << CORUN_HOST_CAN_CORES | 1u << CORUN_HOST_CAN_START | 1u << CORUN_HOST_CAN_QUERY |
             1u << CORUN_HOST_CAN_INSTANCES,
    .observes = 1u << CORUN_HOST_SEES_SIZE | 1u << CORUN_HOST_SEES_PROGRESS | 1u << CORUN_HOST_SEES_IPC,
    .needs_models = true,
    .state_bytes = sizeof(struct pace),
    .start = start,
    .decide = decide,
};
