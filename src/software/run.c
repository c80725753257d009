/* SPDX-License-Identifier: MIT */
/*
 * The loop of a software machine. The host looks at what the driver's events tell every microsecond, and acts on what it finds: that is the
 * same on a GPU and on a simulated one, where the sleep between is simulated time.
 */
#include "software/state.h"

#include <time.h>

#define POLL_NANOSECONDS 1000u
#define STALL_POLLS 256u
#define PROGRESS_HOST_NS UINT64_C(50000000) /* of the host, whatever a microsecond of a simulated GPU takes there */
#define LOOKS_PER_EPOCH 8u
#define DEFAULT_STALL_NANOSECONDS UINT64_C(1000000000)

static uint64_t least(uint64_t left, uint64_t right)
{
    return left < right ? left : right;
}

static bool uses_workers(const struct software *software)
{
    return software->options.launching == SOFTWARE_WORKERS;
}

static enum corun_status arrive(struct software *software, struct application *a)
{
    a->state = CORUN_APPLICATION_RUNNING;
    a->arrived_ns = a->last_run_ns = a->progress_ns = software->now;
    a->ahead = 2;
    software->limits_due = true;
    enum corun_status status = governor_moment(software->governor, software->now, CORUN_EVENT_ARRIVE, 0, a->index);
    if (status == CORUN_OK && !orders_idle(a))
        status = governor_moment(software->governor, software->now, CORUN_EVENT_KERNEL_START, 0, a->index);
    return status;
}

static enum corun_status arrivals(struct software *software)
{
    enum corun_status status = CORUN_OK;
    for (uint32_t i = 0; i < software->count && status == CORUN_OK; i++) {
        struct application *a = &software->applications[i];
        if (a->state == CORUN_APPLICATION_ABSENT && a->description.start_ns <= software->now)
            status = arrive(software, a);
        if (status == CORUN_OK)
            status = requests_come(software, a);
    }
    return status;
}

/* When the next look is to end: with the epoch, with the window, or before, so that nothing waits long. */
static void plan_look(struct software *software)
{
    uint64_t end = governor_next_epoch(software->governor), pause = software->info.epoch_ns / LOOKS_PER_EPOCH;
    if (software->limits.window_ns)
        end = least(end, software->limits.window_ns);
    end = least(end, software->now + (pause > software->look_ns ? pause : software->look_ns));
    uint64_t earliest = software->now;
    software->next_look =
        end > software->look_ns && end - software->look_ns > earliest ? end - software->look_ns : earliest;
}

static enum corun_status take_event(struct software *software, const struct runtime_event *event)
{
    uint64_t time = event->time > software->begin_ns ? event->time - software->begin_ns : 0;
    if (event->kind == RUNTIME_RENEWED)
        orders_start_over(software);
    if (event->kind == RUNTIME_RENEWED)
        return CORUN_OK;
    if (event->kind != RUNTIME_TABLE_READ)
        return orders_take(software, event);
    enum corun_status status = look_end(software, time);
    plan_look(software);
    return status;
}

/* Everything that has happened. */
static enum corun_status take_events(struct software *software)
{
    struct runtime_event event = {.kind = RUNTIME_READY};
    enum corun_status status = CORUN_OK;
    while (status == CORUN_OK && event.kind != RUNTIME_NONE) {
        status = runtime_wait(software->runtime, 0, software->list, &event);
        if (status == CORUN_OK && event.kind != RUNTIME_NONE)
            status = take_event(software, &event);
    }
    uint64_t now = runtime_now(software->runtime) - software->begin_ns;
    software->now = now > software->now ? now : software->now;
    return status;
}

/* A request that has come changes what is to be done next. */
static bool is_asked(const struct software *software)
{
    uint64_t now = runtime_now(software->runtime) - software->begin_ns;
    bool asked = false;
    for (uint32_t i = 0; i < software->count; i++)
        asked |= requests_wait(&software->applications[i], now);
    return asked;
}

/* One launch of the first application that has one to give, of those with goals or of the others; *any: it has gone. */
static enum corun_status give_one(struct software *software, bool with_goal, bool *any)
{
    enum corun_status status = CORUN_OK;
    for (uint32_t i = 0; i < software->count && !*any && status == CORUN_OK; i++) {
        struct application *a = &software->applications[i];
        if ((a->description.goal != CORUN_GOAL_NONE) == with_goal)
            status = orders_proceed(software, a, any);
    }
    return status;
}

/*
 * Launches, one by one: a launch takes the host a microsecond or more. Those with goals go first, so that their streams do not run empty while others
 * have something to launch; and who asks meanwhile does not wait for the rest.
 */
static enum corun_status give_launches(struct software *software)
{
    enum corun_status status = CORUN_OK;
    for (bool any = true; any && status == CORUN_OK && !is_asked(software);) {
        any = false;
        status = give_one(software, true, &any);
        if (status == CORUN_OK && !any)
            status = give_one(software, false, &any);
    }
    return status;
}

/* What follows from all that has happened. */
static enum corun_status act(struct software *software)
{
    enum corun_status status = uses_workers(software) ? limits_follow(software) : CORUN_OK;
    for (uint32_t i = 0; i < software->count && status == CORUN_OK && uses_workers(software); i++)
        status = orders_prepare(software, &software->applications[i]);
    if (status == CORUN_OK)
        status = plugs_grow(software);
    if (status == CORUN_OK)
        status = give_launches(software);
    for (uint32_t i = 0; i < software->count && status == CORUN_OK && uses_workers(software); i++)
        status = crews_grow(software, &software->applications[i]);
    if (status == CORUN_OK && uses_workers(software) && !software->looking &&
        (software->look_wanted || software->now >= software->next_look))
        status = look_begin(software);
    return status;
}

/* And what is to be kept of them is there. */
static bool all_have_left(const struct software *software)
{
    bool all = true;
    for (uint32_t i = 0; i < software->count; i++) {
        const struct application *a = &software->applications[i];
        all &= a->state == CORUN_APPLICATION_LEFT && (!software->options.keep || a->left || a->status != CORUN_OK);
    }
    return all;
}

/* With workers, the window ends with a look. */
static bool is_over(const struct software *software)
{
    uint64_t window = software->limits.window_ns;
    bool ended =
        window && software->now >= window &&
        (!uses_workers(software) || (!software->looking && software->look_began + software->look_ns >= window));
    return ended || software->interrupted || all_have_left(software);
}

static enum corun_status stop_stalled(struct software *software)
{
    uint64_t most = software->limits.stall_ns ? software->limits.stall_ns : DEFAULT_STALL_NANOSECONDS;
    for (uint32_t i = 0; i < software->count; i++) {
        struct application *a = &software->applications[i];
        if (a->progress != a->stall_progress || orders_idle(a)) {
            a->stall_progress = a->progress;
            a->stall_ns = software->now;
        } else if (software->now > a->stall_ns + most) {
            a->status = CORUN_WATCHDOG;
            software->interrupted = true;
        }
    }
    return CORUN_OK;
}

static uint64_t host_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void tell_progress(struct software *software)
{
    const struct software_limits *limits = &software->limits;
    uint64_t now = limits->progress ? host_now() : 0;
    if (!limits->progress || now - software->told_ns < PROGRESS_HOST_NS)
        return;
    software->told_ns = now;
    software->ended_early = !limits->progress(limits->user, software->now);
    software->interrupted |= software->ended_early;
}

static enum corun_status step(struct software *software, uint64_t turn)
{
    enum corun_status status = arrivals(software);
    if (status == CORUN_OK)
        status = act(software);
    if (status != CORUN_OK)
        return status;
    if (!is_asked(software))
        runtime_sleep(software->runtime, POLL_NANOSECONDS);
    status = take_events(software);
    if (status == CORUN_OK && !uses_workers(software) && software->now >= governor_next_epoch(software->governor)) {
        status = governor_epoch(software->governor, software->now);
        if (status == CORUN_OK)
            status = history_note(software, software->now);
    }
    if (status == CORUN_OK)
        tell_progress(software);
    if (status == CORUN_OK && turn % STALL_POLLS == 0)
        status = stop_stalled(software);
    return status;
}

static bool is_ready(const struct application *a)
{
    for (uint32_t i = 0; i < JOBS; i++)
        if (a->jobs[i].used && a->jobs[i].ready)
            return true;
    return false;
}

/* The data of first runs are on the device when time begins, as far as there is memory for them. */
static enum corun_status bring_data(struct software *software)
{
    struct runtime_event event = {.kind = RUNTIME_READY};
    enum corun_status status = CORUN_OK;
    bool all = false;
    for (uint32_t i = 0; i < software->count && status == CORUN_OK; i++)
        status = orders_submit(software, &software->applications[i]);
    while (status == CORUN_OK && event.kind != RUNTIME_NONE && !all) {
        status = runtime_wait(software->runtime, UINT64_MAX, software->list, &event);
        if (status == CORUN_OK && event.kind != RUNTIME_NONE)
            status = orders_take(software, &event);
        all = true;
        for (uint32_t i = 0; i < software->count; i++)
            all &= is_ready(&software->applications[i]);
    }
    return status;
}

enum corun_status software_run(struct software *software, const struct software_limits *limits,
                               struct corun_diagnostics *list)
{
    struct governor_limits governed = {.window = limits->window_ns,
                                       .seconds = software->options.policy_seconds,
                                       .policy_call = software->options.policy_call,
                                       .user = software->options.user};
    if (!limits->window_ns && !limits->runs)
        return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE,
                            "the run has no end: give a window or a number of runs");
    software->limits = *limits;
    software->list = list;
    enum corun_status status = bring_data(software);
    if (status != CORUN_OK)
        return status;
    if (software->options.calls)
        runtime_note_calls(software->runtime);
    software->begin_ns = runtime_now(software->runtime);
    runtime_hold(software->runtime, true);
    status = governor_open(software->governor, 0, &governed, list);
    software->allowances = governor_allowances(software->governor);
    for (uint64_t turn = 1; status == CORUN_OK && !is_over(software); turn++)
        status = step(software, turn);
    enum corun_status stopped = governor_stop(software->governor);
    runtime_hold(software->runtime, false);
    status = status == CORUN_OK ? stopped : status;
    return status == CORUN_OK && software->options.calls
               ? runtime_write_calls(software->runtime, software->options.calls, list)
               : status;
}
