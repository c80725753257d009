/* SPDX-License-Identifier: MIT */
/* The policy of a real host: what it sees, when it is called, whether it can be obeyed. */
#include "agent/governor.h"

#include "host/allowances.h"

#include <math.h>
#include <time.h>

/* What an interval began with. */
struct governor_mark {
    uint64_t since_ns, next_ns; /* next: of a query */
    double work, traffic;
    double first_work;
};

static double thread_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void add_cost(struct governor_cost *cost, double since_ns)
{
    double ns = thread_ns() - since_ns;
    cost->count++;
    cost->total_ns += ns;
    cost->longest_ns = fmax(cost->longest_ns, ns);
}

static bool sees(const struct governor *governor, enum corun_host_observation kind)
{
    return governor->view.observations >> kind & 1u;
}

static double ipc(const struct governor *governor, double work, uint64_t ns)
{
    return ns ? work / ((double)ns * governor->view.clock_khz / 1e6) : NAN;
}

static enum corun_status allocate(struct governor *governor, struct arena *arena)
{
    uint32_t tenants = governor->setting.tenant_count;
    size_t state_bytes = governor->setting.policy->state_bytes;
    struct corun_host_allowances *allowances = &governor->allowances;
    governor->applications = ARENA_ARRAY(arena, struct corun_host_application_view, tenants + 1);
    governor->queries = ARENA_ARRAY(arena, struct corun_host_query_view, CORUN_HOST_QUERIES);
    governor->query_marks = ARENA_ARRAY(arena, struct governor_mark, CORUN_HOST_QUERIES);
    governor->tenant_marks = ARENA_ARRAY(arena, struct governor_mark, tenants + 1);
    governor->policy_state = arena_allocate(arena, state_bytes ? state_bytes : 1);
    allowances->application = ARENA_ARRAY(arena, struct corun_host_share, tenants + 1);
    allowances->instances = ARENA_ARRAY(arena, uint32_t, tenants + 1);
    allowances->query = ARENA_ARRAY(arena, struct corun_host_share, CORUN_HOST_QUERIES);
    allowances->start = ARENA_ARRAY(arena, bool, CORUN_HOST_QUERIES);
    return governor->applications && governor->queries && governor->query_marks && governor->tenant_marks &&
                   governor->policy_state && allowances->application && allowances->instances && allowances->query &&
                   allowances->start
               ? CORUN_OK
               : corun_report(governor->list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory for the tables of a policy");
}

static void fill_view(struct governor *governor, uint64_t now_ns)
{
    const struct governor_setting *setting = &governor->setting;
    governor->view = (struct corun_host_view){.version = CORUN_HOST_POLICY_VERSION,
                                              .now_ns = now_ns,
                                              .interval_ns = setting->interval_ns,
                                              .clock_khz = setting->clock_khz,
                                              .core_count = setting->core_count,
                                              .way_count = setting->way_count,
                                              .way_bytes = setting->way_bytes,
                                              .bandwidth = setting->bandwidth,
                                              .capabilities = setting->capabilities,
                                              .observations = setting->observations & setting->policy->observes,
                                              .applications = governor->applications,
                                              .application_count = setting->tenant_count,
                                              .queries = governor->queries};
    for (uint32_t a = 0; a < setting->tenant_count; a++) {
        const struct governor_tenant *tenant = &setting->tenants[a];
        governor->applications[a] = (struct corun_host_application_view){.name = tenant->name,
                                                                         .kind = tenant->kind,
                                                                         .goal_ns = tenant->goal_ns,
                                                                         .threads = tenant->threads,
                                                                         .instances = tenant->instances,
                                                                         .running = tenant->instances,
                                                                         .interval_ipc = NAN,
                                                                         .interval_bandwidth = NAN,
                                                                         .models = tenant->models,
                                                                         .model_count = tenant->model_count};
        governor->allowances.instances[a] = CORUN_HOST_ALL;
        governor->tenant_marks[a] = (struct governor_mark){.since_ns = now_ns, .work = NAN, .traffic = NAN};
    }
}

static enum corun_status check(struct governor *governor, uint32_t ended)
{
    const char *policy = governor->setting.policy->name;
    if (governor->allowances.fairness == CORUN_HOST_FAIR_APPLICATIONS &&
        !(governor->view.capabilities >> CORUN_HOST_CAN_FAIRNESS & 1u))
        return corun_report(governor->list, CORUN_POLICY, CORUN_NOWHERE,
                            "policy %s divides the common cores by applications, which this host cannot", policy);
    return host_check_shares(&governor->view, &governor->allowances, ended, policy, governor->list, &governor->common);
}

static bool differs(struct corun_host_share a, struct corun_host_share b)
{
    return a.cores != b.cores || a.ways != b.ways;
}

/* The view has what is to be; the host is told only when something is different. */
static void obey(struct governor *governor, bool always)
{
    bool different = always;
    for (uint32_t a = 0; a < governor->view.application_count; a++) {
        struct corun_host_application_view *application = &governor->applications[a];
        different |= differs(application->share, governor->allowances.application[a]);
        application->share = governor->allowances.application[a];
        if (application->kind == CORUN_HOST_SERVICE)
            continue;
        uint32_t wanted = governor->allowances.instances[a], before = application->running;
        application->running = wanted < application->instances ? wanted : application->instances;
        different |= application->running != before;
    }
    for (uint32_t q = 0; q < governor->view.query_count; q++) {
        struct corun_host_query_view *query = &governor->queries[q];
        if (query->state != CORUN_HOST_QUERY_RUNNING)
            continue;
        different |= differs(query->share, governor->allowances.query[q]);
        query->share = governor->allowances.query[q];
    }
    if (!different)
        return;
    double since = thread_ns();
    governor->setting.host.obey(governor->setting.user);
    add_cost(&governor->obeyed, since);
    governor->moves++;
}

/* The query that arrived first of those that may start and that somebody is there for. */
static uint32_t find_starting(const struct governor *governor)
{
    uint32_t found = CORUN_HOST_NONE;
    for (uint32_t q = 0; q < governor->view.query_count; q++)
        if (governor->queries[q].state == CORUN_HOST_QUERY_WAITING && governor->allowances.start[q] &&
            (found == CORUN_HOST_NONE || governor->queries[q].id < governor->queries[found].id) &&
            governor->setting.host.can_begin(governor->setting.user, q))
            found = q;
    return found;
}

static void start_query(struct governor *governor, uint32_t q)
{
    struct corun_host_query_view *query = &governor->queries[q];
    uint64_t now_ns = governor->view.now_ns;
    query->state = CORUN_HOST_QUERY_RUNNING;
    query->started_ns = now_ns;
    governor->applications[query->application].waiting--;
    governor->applications[query->application].running++;
    governor->setting.host.begin(governor->setting.user, q);
    double work = governor->setting.host.query_work(governor->setting.user, q);
    governor->query_marks[q] = (struct governor_mark){
        .since_ns = now_ns, .next_ns = now_ns + governor->setting.interval_ns, .work = work, .first_work = work};
}

static void call(struct governor *governor, enum corun_host_event event, uint32_t q)
{
    double since = thread_ns();
    governor->setting.policy->decide(governor->policy_state, &governor->view, (struct corun_host_moment){event, q},
                                     &governor->allowances);
    add_cost(&governor->decided, since);
}

/* Queries that may start do, each with a moment of its own; then all is checked and obeyed. */
static enum corun_status settle(struct governor *governor, uint32_t ended)
{
    bool started = false;
    for (uint32_t q; (q = find_starting(governor)) != CORUN_HOST_NONE; started = true) {
        start_query(governor, q);
        call(governor, CORUN_HOST_QUERY_STARTS, q);
    }
    enum corun_status status = check(governor, ended);
    if (status == CORUN_OK && ended == CORUN_HOST_NONE)
        obey(governor, started);
    return status;
}

static enum corun_status decide(struct governor *governor, enum corun_host_event event, uint32_t q)
{
    call(governor, event, q);
    return settle(governor, event == CORUN_HOST_QUERY_ENDS ? q : CORUN_HOST_NONE);
}

enum corun_status governor_begin(struct governor *governor, const struct governor_setting *setting, uint64_t now_ns,
                                 struct arena *arena, struct corun_diagnostics *list)
{
    const struct corun_host_policy *policy = setting->policy;
    *governor = (struct governor){
        .setting = *setting, .list = list, .next_ns = now_ns + setting->interval_ns, .last_ns = now_ns};
    enum corun_status status = allocate(governor, arena);
    if (status)
        return status;
    fill_view(governor, now_ns);
    status = host_check_policy(&governor->view, policy, list);
    if (status)
        return status;
    status = policy->start(governor->policy_state, &governor->view, setting->parameters, &governor->allowances);
    if (status)
        return corun_report(list, status, CORUN_NOWHERE, "policy %s %s", policy->name,
                            governor->allowances.refusal ? governor->allowances.refusal : "does not start");
    status = check(governor, CORUN_HOST_NONE);
    if (status == CORUN_OK)
        obey(governor, true);
    return status;
}

uint32_t governor_free_entry(const struct governor *governor)
{
    uint32_t q = 0;
    while (q < CORUN_HOST_QUERIES && governor->queries[q].state != CORUN_HOST_QUERY_FREE)
        q++;
    return q < CORUN_HOST_QUERIES ? q : CORUN_HOST_NONE;
}

enum corun_status governor_arrive(struct governor *governor, uint64_t now_ns, uint32_t q, uint32_t tenant, uint64_t id,
                                  double size, uint64_t arrived_ns)
{
    governor->view.now_ns = now_ns;
    governor->queries[q] =
        (struct corun_host_query_view){.state = CORUN_HOST_QUERY_WAITING,
                                       .id = id,
                                       .application = tenant,
                                       .size = sees(governor, CORUN_HOST_SEES_SIZE) ? size : NAN,
                                       .arrived_ns = arrived_ns,
                                       .interval_ipc = NAN,
                                       .instructions = sees(governor, CORUN_HOST_SEES_IPC) ? 0 : NAN,
                                       .progress = sees(governor, CORUN_HOST_SEES_PROGRESS) ? 0 : NAN};
    governor->allowances.query[q] = (struct corun_host_share){0};
    governor->allowances.start[q] = false;
    governor->applications[tenant].waiting++;
    if (q >= governor->view.query_count)
        governor->view.query_count = q + 1;
    return decide(governor, CORUN_HOST_QUERY_ARRIVES, q);
}

static void release(struct governor *governor, uint32_t q)
{
    governor->queries[q].state = CORUN_HOST_QUERY_FREE;
    governor->allowances.query[q] = (struct corun_host_share){0};
    while (governor->view.query_count &&
           governor->queries[governor->view.query_count - 1].state == CORUN_HOST_QUERY_FREE)
        governor->view.query_count--;
}

enum corun_status governor_end(struct governor *governor, uint64_t now_ns, uint32_t q)
{
    struct corun_host_query_view *query = &governor->queries[q];
    struct corun_host_application_view *application = &governor->applications[query->application];
    governor->view.now_ns = now_ns;
    if (query->state == CORUN_HOST_QUERY_WAITING) { /* its service is gone; for the policy it starts and ends at once */
        query->state = CORUN_HOST_QUERY_RUNNING;
        query->started_ns = now_ns;
        application->waiting--;
        application->running++;
    }
    application->running--;
    governor->allowances.query[q] = (struct corun_host_share){0};
    enum corun_status status = decide(governor, CORUN_HOST_QUERY_ENDS, q);
    release(governor, q);
    if (status == CORUN_OK)
        obey(governor, true);
    return status;
}

void governor_remeasure(struct governor *governor, uint32_t q)
{
    struct governor_mark *mark = &governor->query_marks[q];
    mark->since_ns = governor->view.now_ns;
    mark->work = mark->first_work = governor->setting.host.query_work(governor->setting.user, q);
}

void governor_progress(struct governor *governor, uint32_t q, double progress)
{
    if (sees(governor, CORUN_HOST_SEES_PROGRESS))
        governor->queries[q].progress = progress;
}

enum corun_status governor_look(struct governor *governor, uint64_t now_ns)
{
    governor->view.now_ns = now_ns;
    return settle(governor, CORUN_HOST_NONE);
}

enum corun_status governor_instances(struct governor *governor, uint64_t now_ns, uint32_t tenant, uint32_t instances)
{
    governor->view.now_ns = now_ns;
    governor->applications[tenant].instances = instances;
    enum corun_status status = check(governor, CORUN_HOST_NONE);
    if (status == CORUN_OK)
        obey(governor, true);
    return status;
}

uint64_t governor_next_ns(const struct governor *governor)
{
    uint64_t next_ns = governor->next_ns;
    for (uint32_t q = 0; q < governor->view.query_count; q++)
        if (governor->queries[q].state == CORUN_HOST_QUERY_RUNNING && governor->query_marks[q].next_ns < next_ns)
            next_ns = governor->query_marks[q].next_ns;
    return next_ns;
}

/* The next one, as many intervals after the last as have not begun. */
static uint64_t next_after(uint64_t due_ns, uint64_t now_ns, uint64_t interval_ns)
{
    return due_ns + interval_ns * ((now_ns - due_ns) / interval_ns + 1);
}

static void measure_query(struct governor *governor, uint32_t q)
{
    struct governor_mark *mark = &governor->query_marks[q];
    struct corun_host_query_view *query = &governor->queries[q];
    uint64_t now_ns = governor->view.now_ns;
    mark->next_ns = next_after(mark->next_ns, now_ns, governor->setting.interval_ns);
    query->interval_ns = now_ns - mark->since_ns;
    if (sees(governor, CORUN_HOST_SEES_IPC)) {
        double work = governor->setting.host.query_work(governor->setting.user, q);
        query->interval_ipc = ipc(governor, work - mark->work, query->interval_ns);
        query->instructions = work - mark->first_work;
        mark->work = work;
    }
    mark->since_ns = now_ns;
}

static void measure_tenants(struct governor *governor)
{
    const struct governor_host *host = &governor->setting.host;
    uint64_t ns = governor->view.now_ns - governor->last_ns;
    for (uint32_t a = 0; a < governor->view.application_count; a++) {
        struct governor_mark *mark = &governor->tenant_marks[a];
        struct corun_host_application_view *application = &governor->applications[a];
        if (sees(governor, CORUN_HOST_SEES_IPC)) {
            double work = host->tenant_work(governor->setting.user, a);
            application->interval_ipc = ipc(governor, work - mark->work, ns);
            mark->work = work;
        }
        if (sees(governor, CORUN_HOST_SEES_BANDWIDTH)) {
            double traffic = host->tenant_traffic(governor->setting.user, a);
            application->interval_bandwidth = ns ? (traffic - mark->traffic) / ((double)ns * 1e-9) : NAN;
            mark->traffic = traffic;
        }
    }
}

/* Of the running queries whose interval has ended, the one that arrived first. */
static uint32_t find_due(const struct governor *governor, uint64_t now_ns)
{
    uint32_t found = CORUN_HOST_NONE;
    for (uint32_t q = 0; q < governor->view.query_count; q++)
        if (governor->queries[q].state == CORUN_HOST_QUERY_RUNNING && governor->query_marks[q].next_ns <= now_ns &&
            (found == CORUN_HOST_NONE || governor->queries[q].id < governor->queries[found].id))
            found = q;
    return found;
}

enum corun_status governor_advance(struct governor *governor, uint64_t now_ns)
{
    enum corun_status status = CORUN_OK;
    governor->view.now_ns = now_ns;
    for (uint32_t q; !status && (q = find_due(governor, now_ns)) != CORUN_HOST_NONE;) {
        measure_query(governor, q);
        status = decide(governor, CORUN_HOST_QUERY_INTERVAL, q);
    }
    if (!status && governor->next_ns <= now_ns) {
        governor->next_ns = next_after(governor->next_ns, now_ns, governor->setting.interval_ns);
        measure_tenants(governor);
        governor->last_ns = now_ns;
        status = decide(governor, CORUN_HOST_INTERVAL, CORUN_HOST_NONE);
    }
    return status;
}
