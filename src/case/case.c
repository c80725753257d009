/* SPDX-License-Identifier: MIT */
/* A case from its description to its result: workloads, goals, isolated runs, the shared run (corun/case.h). */
#include "corun/case.h"

#include "case/checkpoint.h"
#include "case/replay.h"
#include "case/run.h"
#include "case/settle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* What *result points into. */
struct owner {
    struct corun_case_result result; /* first: its address is the handle */
    struct arena *arena;
};

double run_clock(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

uint32_t run_threads(uint32_t wanted, const struct corun_gpu_config *gpu)
{
    uint32_t useful = wanted < gpu->sms ? wanted : gpu->sms;
    return useful ? useful : 1;
}

void run_threads_warn(uint32_t wanted, const struct corun_gpu_config *gpu, struct corun_diagnostics *list)
{
    if (wanted > gpu->sms)
        corun_report(list, CORUN_OK, CORUN_NOWHERE, "of %u threads %u are used, one for each SM of %s", wanted,
                     gpu->sms, gpu->name);
}

bool run_progress(struct run *run, const char *stage, uint64_t cycle, uint64_t limit, uint64_t cycles)
{
    const struct corun_case *job = run->job;
    struct corun_case_progress progress = {stage, cycle, limit, (double)NAN};
    if (job->cycles) /* else nobody knows how many there will be */
        progress.done = fmin((double)(run->cycles_done + cycles) / (double)run->cycles_all, 1);
    if (!run->interrupted && job->progress && !job->progress(job->progress_user, &progress))
        run->interrupted = true;
    return !run->interrupted;
}

/* Of one run. */
static double milliseconds_wanted(const struct corun_case_application *application)
{
    return application->goal == CORUN_GOAL_FRAMES_PER_SECOND ? 1000 / application->goal_value : application->goal_value;
}

static enum corun_status check_application(const struct corun_case *job, uint32_t index, struct corun_diagnostics *list)
{
    const struct corun_case_application *application = &job->applications[index];
    if (job->cycles && application->start_cycle >= job->cycles)
        return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE, "%s starts at cycle %llu, but the window ends at %llu",
                            application->workload, (unsigned long long)application->start_cycle,
                            (unsigned long long)job->cycles);
    if (application->goal == CORUN_GOAL_NONE)
        return CORUN_OK;
    if (!(application->goal_value > 0) || !isfinite(application->goal_value))
        return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE, "%s: a goal must be greater than 0",
                            application->workload);
    if (application->goal == CORUN_GOAL_FRACTION && application->goal_value > 1)
        return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE,
                            "%s: a goal of %g %% is more than the application reaches alone", application->workload,
                            application->goal_value * 100);
    bool is_time = application->goal == CORUN_GOAL_MILLISECONDS || application->goal == CORUN_GOAL_FRAMES_PER_SECOND;
    if (!(application->transfer_milliseconds >= 0) || (application->transfer_milliseconds > 0 && !is_time))
        return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE, "%s: transfers are a part of a time, not below 0",
                            application->workload);
    if (is_time && application->transfer_milliseconds >= milliseconds_wanted(application))
        return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE,
                            "%s: transfers of %g ms leave no time of the %g ms of a run", application->workload,
                            application->transfer_milliseconds, milliseconds_wanted(application));
    return CORUN_OK;
}

static enum corun_status check(const struct corun_case *job, struct corun_diagnostics *list)
{
    if (!job->application_count)
        return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE, "no application is given");
    if (job->application_count > CORUN_MAX_APPLICATIONS)
        return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE,
                            "%u applications are given, at most %u can share a GPU", job->application_count,
                            CORUN_MAX_APPLICATIONS);
    if (!job->cycles && !job->thread_instructions && !job->runs)
        return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE,
                            "the window has no end: give a number of cycles, instructions or runs");
    if (job->sampling && (job->application_count > 1 || job->policy))
        return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE,
                            "sampling is for one application without a policy: what several do to each other would not "
                            "be simulated");
    if (job->settle && (!job->cycles || job->thread_instructions || job->runs))
        return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE,
                            "only a window of cycles settles: a number of instructions or runs is an end of its own");
    if (job->settle && job->application_count == 1 && !job->policy)
        return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE,
                            "settling is for several applications or a policy: what others are compared with is "
                            "simulated to its end");
    if (job->sampling && job->replay_directory)
        return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE,
                            "sampling runs thread blocks without timing, which a record cannot: replay or sample");
    for (uint32_t a = 0; a < job->application_count; a++) {
        enum corun_status status = check_application(job, a, list);
        if (status != CORUN_OK)
            return status;
    }
    return CORUN_OK;
}

static enum corun_status load_workloads(struct run *run)
{
    const struct corun_case *job = run->job;
    for (uint32_t a = 0; a < job->application_count; a++) {
        struct member *member = &run->members[a];
        member->request = &job->applications[a];
        for (uint32_t other = 0; other < a && !member->workload; other++) {
            if (!strcmp(run->members[other].request->workload, member->request->workload))
                member->workload = run->members[other].workload;
        }
        if (!member->workload) {
            enum corun_status status = corun_workload_assemble(member->request->workload, job->data_directory,
                                                               job->gpu->machine_code, run->list, &member->workload);
            if (status != CORUN_OK) {
                member->workload = NULL;
                return status;
            }
            member->owns_workload = true;
            status = corun_workload_check_gpu(member->workload, job->gpu, run->list);
            if (status != CORUN_OK)
                return status;
        }
        corun_workload_describe(member->workload, &member->info);
    }
    return CORUN_OK;
}

static bool was_stopped(enum corun_status status)
{
    return status == CORUN_FAULT || status == CORUN_DEADLOCK || status == CORUN_WATCHDOG;
}

static enum corun_status translate_time(struct run *run, struct member *member)
{
    struct corun_diagnostics *list = corun_diagnostics_create();
    uint64_t instructions = 0;
    enum corun_status status =
        baseline_run_instructions(member->workload, run->job->seed, run->job->cache_directory, list, &instructions);
    if (status == CORUN_OK)
        member->goal_ipc =
            corun_goal_ipc_of_time(instructions, run->job->gpu->core_clock_khz, milliseconds_wanted(member->request),
                                   member->request->transfer_milliseconds);
    if (was_stopped(status))
        status = CORUN_OK; /* no goal can be computed; the shared run will stop it again and say why */
    else
        diagnostics_pass_on(list, run->list);
    corun_diagnostics_destroy(list);
    return status;
}

static enum corun_status translate_goals(struct run *run)
{
    for (uint32_t a = 0; a < run->job->application_count; a++) {
        struct member *member = &run->members[a];
        member->goal_ipc = (double)NAN;
        enum corun_status status = CORUN_OK;
        if (member->request->goal == CORUN_GOAL_FRACTION)
            member->goal_ipc = member->request->goal_value * run_isolated_ipc(member);
        else if (member->request->goal == CORUN_GOAL_IPC)
            member->goal_ipc = member->request->goal_value;
        else if (member->request->goal != CORUN_GOAL_NONE)
            status = translate_time(run, member);
        if (status != CORUN_OK)
            return status;
        if (member->goal_ipc > run_isolated_ipc(member) && member->request->goal != CORUN_GOAL_FRACTION)
            corun_report(run->list, CORUN_OK, CORUN_NOWHERE,
                         "%s: the goal is %.2f thread instructions per cycle, alone it reaches %.2f: out of reach",
                         member->request->workload, member->goal_ipc, run_isolated_ipc(member));
    }
    return CORUN_OK;
}

/* The callbacks of an application. They go through the member because its text is not the instance's to print. */
static const struct corun_grid *member_grid(void *user, uint32_t index)
{
    return corun_instance_grid(((struct member *)user)->instance, index);
}

static enum corun_status member_proceed(void *user, struct corun_gpu *gpu, uint32_t application,
                                        struct corun_proceeding *proceeding)
{
    return corun_instance_proceed(((struct member *)user)->instance, gpu, application, proceeding);
}

static enum corun_status member_restart(void *user)
{
    struct member *member = user;
    member->restarts++;
    return corun_instance_restart(member->instance);
}

static void member_print(void *user, const char *text, size_t bytes)
{
    const struct member *member = user;
    const struct corun_case *job = member->run->job;
    if (!job->print_once || !member->restarts)
        job->print(job->print_user, text, bytes);
}

static enum corun_status add_application(struct run *run, uint32_t index)
{
    struct member *member = &run->members[index];
    enum corun_status status = corun_instance_create_from(member->workload, index, run->job->seed, member->record,
                                                          run->list, &member->instance);
    if (status != CORUN_OK) {
        member->instance = NULL;
        return status;
    }
    double isolated = run_isolated_ipc(member);
    struct corun_application_description description = {0};
    corun_instance_fill(member->instance, &description);
    description.goal = member->request->goal;
    description.goal_value = member->request->goal_value;
    description.goal_ipc = isnan(member->goal_ipc) ? 0 : member->goal_ipc;
    description.isolated_ipc = isnan(isolated) ? 0 : isolated;
    description.speedup = member->speedup;
    description.speedup_count = member->speedup_count;
    description.run_launches = launches_of_run(run, member, &description.run_launch_count);
    description.start_cycle = member->request->start_cycle;
    description.grid = description.proceed ? NULL : member_grid;
    description.proceed = description.proceed ? member_proceed : NULL;
    description.restart = member_restart;
    description.print = run->job->print ? member_print : NULL;
    description.user = member;
    return corun_gpu_add(run->gpu, &description, &index);
}

static enum corun_status prepare(struct run *run)
{
    const struct corun_case *job = run->job;
    enum corun_status status = corun_gpu_create(job->gpu, run->list, &run->gpu);
    if (status != CORUN_OK)
        run->gpu = NULL;
    if (status == CORUN_OK && job->sampling)
        status = corun_gpu_sample(run->gpu, job->sampling);
    for (uint32_t a = 0; a < job->application_count && status == CORUN_OK; a++)
        status = add_application(run, a);
    if (status == CORUN_OK && job->policy)
        status = corun_gpu_set_policy(run->gpu, job->policy, job->parameters, run->list);
    if (status == CORUN_OK && job->profile)
        corun_gpu_profile(run->gpu, true);
    if (status == CORUN_OK && job->trace)
        corun_gpu_trace(run->gpu, job->trace_first, job->trace_last, job->trace, job->trace_user);
    if (status == CORUN_OK && job->no_history && job->observe)
        corun_gpu_observe(run->gpu, job->observe_sample_cycles, job->observe, job->observe_user);
    if (status == CORUN_OK && job->settle && !(run->settling = settling_create(run, run->arena)))
        return CORUN_MEMORY;
    if (status == CORUN_OK && run->checkpointing)
        checkpointing_begin(run->checkpointing);
    if (status != CORUN_OK || job->no_history)
        return status;
    run->history = history_create(job, run->arena);
    if (!run->history)
        return CORUN_MEMORY;
    history_observe(run->history, run->gpu);
    return CORUN_OK;
}

static bool shared_progress(void *user, uint64_t cycle)
{
    struct run *run = user;
    return run_progress(run, CORUN_STAGE_SHARED, cycle, run->job->cycles, cycle);
}

/* Alone and without a policy, the run is its own baseline. */
static bool is_own_baseline(const struct corun_case *job)
{
    return job->application_count == 1 && !job->policy;
}

static bool shared_look(void *user, uint64_t cycle)
{
    struct run *run = user;
    struct corun_application_result result;
    if (run->settling)
        return settling_look(run->settling, cycle);
    corun_gpu_application(run->gpu, 0, &result);
    if (cycle > result.arrived_cycle)
        baseline_curve_add(&run->curve, cycle - result.arrived_cycle, result.thread_instructions);
    return false;
}

static enum corun_status run_shared(struct run *run)
{
    const struct corun_case *job = run->job;
    struct corun_limits limits = {.cycles = job->cycles,
                                  .thread_instructions = job->thread_instructions,
                                  .runs = job->runs,
                                  .watchdog_cycles = job->watchdog_cycles,
                                  .threads = job->threads,
                                  .progress = shared_progress,
                                  .look = run->settling || is_own_baseline(job) ? shared_look : NULL,
                                  .look_cycles = baseline_curve_step(job->cycles),
                                  .user = run,
                                  .policy_call = job->policy_call,
                                  .policy_call_user = job->policy_call_user};
    double start = run_clock();
    enum corun_status status = corun_gpu_run(run->gpu, &limits, run->list);
    run->shared_seconds = run_clock() - start;
    if (run->history)
        history_end(run->history);
    if (status == CORUN_OK && run->checkpointing)
        checkpointing_end(run->checkpointing);
    return status;
}

static enum corun_status keep_own_baseline(struct run *run)
{
    struct member *member = &run->members[0];
    if (!is_own_baseline(run->job))
        return CORUN_OK;
    enum corun_status status = baseline_take(run->gpu, 0, run->arena, &member->baseline);
    if (status != CORUN_OK || member->baseline.status != CORUN_OK)
        return status;
    member->has_baseline = true;
    member->baseline.interrupted = run->interrupted;
    member->baseline.curve = run->curve;
    if (run->job->cycles)
        baseline_curve_add(&member->baseline.curve, member->baseline.cycles, member->baseline.thread_instructions);
    if (member->request->goal == CORUN_GOAL_FRACTION)
        member->goal_ipc = member->request->goal_value * run_isolated_ipc(member);
    if (run->job->sampling) /* an estimate is nothing to compare others with */
        return CORUN_OK;
    struct baseline_request request = run_baseline_request(run, member);
    struct content_key key;
    status = baseline_key(&request, &key);
    if (status == CORUN_OK)
        baseline_store(run->job->cache_directory, &key, &request, &member->baseline, run->list);
    return status;
}

static void destroy_run(struct run *run)
{
    if (run->gpu)
        corun_gpu_destroy(run->gpu); /* before the instances, whose grids it refers to */
    for (uint32_t a = 0; a < CORUN_MAX_APPLICATIONS; a++) {
        if (run->members[a].instance)
            corun_instance_destroy(run->members[a].instance);
    }
    for (uint32_t a = 0; a < CORUN_MAX_APPLICATIONS; a++) {
        if (!run->members[a].owns_workload)
            continue;
        corun_record_close(run->members[a].record);
        corun_workload_destroy(run->members[a].workload);
    }
    checkpointing_destroy(run->checkpointing);
    arena_destroy(run->arena);
    free(run);
}

static enum corun_status run_case(struct run *run, struct owner *owner)
{
    enum corun_status status = load_workloads(run);
    if (status == CORUN_OK)
        status = replay_find(run);
    if (status == CORUN_OK)
        status = checkpointing_create(run, &run->checkpointing);
    if (status == CORUN_OK)
        status = run_find_baselines(run);
    if (status == CORUN_OK)
        status = run_find_speedups(run);
    bool proceed = !run->interrupted; /* else the result tells of the isolated runs only */
    if (status == CORUN_OK && proceed)
        status = translate_goals(run);
    if (status == CORUN_OK) {
        /* Before a policy is called, which may be the end of the process. If it returns false, the first step ends the run. */
        run_progress(run, CORUN_STAGE_SHARED, 0, run->job->cycles, 0);
        status = prepare(run);
    }
    if (status == CORUN_OK && proceed)
        status = run_shared(run);
    if (status == CORUN_OK && proceed)
        status = keep_own_baseline(run);
    if (status == CORUN_OK)
        status = run_collect(run, owner->arena, &owner->result);
    return status;
}

enum corun_status corun_case_run(const struct corun_case *job, struct corun_diagnostics *list,
                                 struct corun_case_result **result)
{
    *result = NULL;
    enum corun_status status = check(job, list);
    if (status != CORUN_OK)
        return status;
    run_threads_warn(job->threads, job->gpu, list);
    struct run *run = calloc(1, sizeof *run);
    struct owner *owner = calloc(1, sizeof *owner);
    if (owner)
        owner->arena = arena_create();
    if (run) {
        run->job = job;
        run->list = list;
        run->arena = arena_create();
        run->cycles_all = job->cycles;
        for (uint32_t a = 0; a < CORUN_MAX_APPLICATIONS; a++)
            run->members[a] = (struct member){.run = run, .goal_ipc = (double)NAN};
    }
    status = run && owner && run->arena && owner->arena ? run_case(run, owner) : CORUN_MEMORY;
    if (status == CORUN_MEMORY)
        corun_report(list, status, CORUN_NOWHERE, "out of memory");
    if (run)
        destroy_run(run);
    if (status == CORUN_OK)
        *result = &owner->result;
    else if (owner)
        corun_case_result_destroy(&owner->result);
    return status;
}

void corun_case_result_destroy(struct corun_case_result *result)
{
    if (!result)
        return;
    struct owner *owner = (struct owner *)result;
    arena_destroy(owner->arena);
    free(owner);
}

enum corun_status corun_case_result_counters(const struct corun_case_result *result, uint32_t sm, uint32_t application,
                                             struct corun_counters *counters)
{
    *counters = (struct corun_counters){0};
    if ((sm != CORUN_ALL && sm >= result->gpu.sms) ||
        (application != CORUN_ALL && application >= result->application_count))
        return CORUN_ARGUMENT;
    if (sm == CORUN_ALL)
        *counters = application == CORUN_ALL ? result->counters : result->applications[application].counters;
    else
        *counters = application == CORUN_ALL ? result->sms[sm].counters : result->applications[application].sms[sm];
    return CORUN_OK;
}
