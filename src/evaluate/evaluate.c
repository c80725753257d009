/* SPDX-License-Identifier: MIT */
/* A case on the software machine, from its description to its result. */
#include "evaluate/state.h"

#include "driver/driver.h"
#include "runtime/runtime.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

double evaluation_clock(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

bool evaluation_progress(void *user, uint64_t now_ns)
{
    struct evaluation *evaluation = user;
    const struct corun_case *job = evaluation->job;
    struct corun_case_progress progress = {evaluation->stage, to_cycles(evaluation, now_ns), job->cycles, (double)NAN};
    if (!evaluation->interrupted && job->progress && !job->progress(job->progress_user, &progress))
        evaluation->interrupted = true;
    return !evaluation->interrupted;
}

struct software_options evaluation_options(const struct evaluation *evaluation)
{
    const struct evaluate_request *request = evaluation->request;
    return (struct software_options){.library = request->library,
                                     .launching = request->launching,
                                     .epoch_ns =
                                         request->epoch_cycles ? to_nanoseconds(evaluation, request->epoch_cycles) : 0};
}

static enum corun_status check(const struct evaluate_request *request, struct corun_diagnostics *list)
{
    const struct corun_case *job = request->job;
    if (!job->application_count || job->application_count > SOFTWARE_MOST_APPLICATIONS)
        return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE,
                            "%u applications: 1 to %u can share a GPU on the software machine", job->application_count,
                            SOFTWARE_MOST_APPLICATIONS);
    if (job->thread_instructions)
        return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE,
                            "the software machine does not stop at a number of instructions: --cycles or --runs");
    for (uint32_t a = 0; a < job->application_count; a++)
        if (job->cycles && job->applications[a].start_cycle >= job->cycles)
            return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE,
                                "%s starts at cycle %llu, but the window ends at %llu", job->applications[a].workload,
                                (unsigned long long)job->applications[a].start_cycle, (unsigned long long)job->cycles);
    return CORUN_OK;
}

/* What the device is, before anything runs on it. */
static enum corun_status find_device(struct evaluation *evaluation)
{
    struct runtime_options options = {.library = evaluation->request->library};
    struct runtime_info info;
    struct runtime *runtime;
    enum corun_status status = runtime_open(&options, evaluation->list, &runtime);
    if (status != CORUN_OK)
        return status;
    runtime_describe(runtime, &info);
    runtime_close(runtime);
    evaluation->device =
        (struct software_info){.sms = info.sms, .clock_khz = info.clock_khz, .simulated = info.simulated};
    memcpy(evaluation->device.device, info.device, sizeof info.device);
    return CORUN_OK;
}

static enum corun_status load(struct evaluation *evaluation, uint32_t index)
{
    const struct corun_case *job = evaluation->job;
    struct member *member = &evaluation->members[index];
    member->request = &job->applications[index];
    for (uint32_t other = 0; other < index && !member->same; other++)
        if (!strcmp(evaluation->members[other].request->workload, member->request->workload))
            member->same = owner_of(&evaluation->members[other]);
    if (member->same) {
        member->info = member->same->info;
        member->run_instructions = member->same->run_instructions;
        return CORUN_OK;
    }
    enum corun_status status = corun_workload_assemble(member->request->workload, job->data_directory,
                                                       job->gpu->machine_code, evaluation->list, &member->workload);
    if (status != CORUN_OK) {
        member->workload = NULL;
        return status;
    }
    corun_workload_describe(member->workload, &member->info);
    status = workload_commands_create(member->workload, WORKLOAD_ALL_LAUNCHES, job->seed, job->gpu->compute_capability,
                                      evaluation->list, &member->commands);
    for (size_t i = 0; status == CORUN_OK && i < member->commands->command_count; i++)
        member->run_instructions += member->commands->commands[i].thread_instructions;
    return status;
}

/* The goal as progress per nanosecond; 0: it follows from its value. */
static double goal_rate(const struct evaluation *evaluation, const struct member *member)
{
    const struct corun_case_application *request = member->request;
    double milliseconds = request->goal_value;
    switch (request->goal) {
    case CORUN_GOAL_IPC:
        return request->goal_value * evaluation->device.clock_khz / 1e6;
    case CORUN_GOAL_FRAMES_PER_SECOND:
        milliseconds = 1000 / request->goal_value;
        /* fall through */
    case CORUN_GOAL_MILLISECONDS:
        return corun_goal_ipc_of_time(member->run_instructions, 1000000, milliseconds, request->transfer_milliseconds);
    default:
        return 0;
    }
}

static enum corun_status create_shared(struct evaluation *evaluation)
{
    const struct corun_case *job = evaluation->job;
    struct software_options options = evaluation_options(evaluation);
    struct software_application applications[SOFTWARE_MOST_APPLICATIONS] = {{0}};
    options.policy = job->policy;
    options.parameters = job->parameters;
    options.policy_call = job->policy_call;
    options.user = job->policy_call_user;
    options.check = evaluation->request->check;
    options.fence = evaluation->request->fence;
    options.calls = evaluation->request->calls;
    options.favour = evaluation->request->favour;
    options.own_sms = evaluation->request->own_sms;
    for (uint32_t i = 0; i < evaluation->count; i++) {
        struct member *member = &evaluation->members[i];
        double rate = goal_rate(evaluation, member);
        if (!(rate >= 0))
            return corun_report(evaluation->list, CORUN_ARGUMENT, CORUN_NOWHERE,
                                "%s: transfers leave no time of its goal", member->request->workload);
        applications[i] =
            (struct software_application){.name = member->info.name,
                                          .commands = owner_of(member)->commands,
                                          .goal = member->request->goal,
                                          .goal_value = member->request->goal_value,
                                          .goal_rate = rate,
                                          .isolated_rate = member->rate,
                                          .launch_ns = member->launch_ns,
                                          .launch_count = member->launch_count,
                                          .expected = owner_of(member)->expected,
                                          .speedup = member->speedup,
                                          .speedup_count = member->speedup_count,
                                          .start_ns = to_nanoseconds(evaluation, member->request->start_cycle)};
    }
    applications[0].requests_ns = evaluation->requests_ns;
    applications[0].request_count = evaluation->request_count;
    return software_create(&options, applications, evaluation->count, evaluation->list, &evaluation->software);
}

/* Several processes that share a GPU begin together. One that comes late would measure something else: it ends. */
static enum corun_status wait_for_start(const struct evaluation *evaluation)
{
    double start = evaluation->request->start_at, part = start - floor(start);
    if (!(start > 0))
        return CORUN_OK;
    struct timespec time = {(time_t)floor(start), (long)(part * 1e9)}, now;
    clock_gettime(CLOCK_REALTIME, &now);
    double late = (double)now.tv_sec + (double)now.tv_nsec * 1e-9 - start;
    if (late > 0)
        return corun_report(evaluation->list, CORUN_ARGUMENT, CORUN_NOWHERE,
                            "the start that was asked for passed %.3f s before everything was ready", late);
    while (clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &time, NULL) == EINTR)
        ;
    return CORUN_OK;
}

static enum corun_status run_shared(struct evaluation *evaluation)
{
    const struct corun_case *job = evaluation->job;
    struct software_limits limits = {.window_ns = to_nanoseconds(evaluation, job->cycles),
                                     .runs = job->runs,
                                     .stall_ns = to_nanoseconds(evaluation, job->watchdog_cycles),
                                     .progress = evaluation_progress,
                                     .user = evaluation};
    double begin = evaluation_clock();
    enum corun_status status = create_shared(evaluation);
    evaluation->stage = CORUN_STAGE_SHARED;
    if (status == CORUN_OK)
        status = wait_for_start(evaluation);
    if (status == CORUN_OK)
        status = software_run(evaluation->software, &limits, evaluation->list);
    if (status == CORUN_OK)
        software_describe(evaluation->software, &evaluation->device);
    evaluation->shared_seconds = evaluation_clock() - begin;
    return status;
}

static enum corun_status evaluate(struct evaluation *evaluation)
{
    enum corun_status status = find_device(evaluation);
    for (uint32_t i = 0; i < evaluation->count && status == CORUN_OK; i++)
        status = load(evaluation, i);
    if (status == CORUN_OK)
        status = alone_measure(evaluation);
    if (status == CORUN_OK)
        status = requests_draw(evaluation);
    if (status == CORUN_OK)
        status = run_shared(evaluation);
    return status == CORUN_OK ? evaluation_collect(evaluation) : status;
}

enum corun_status evaluate_case(const struct evaluate_request *request, struct corun_diagnostics *list,
                                struct evaluate_result **result)
{
    *result = NULL;
    enum corun_status status = check(request, list);
    if (status != CORUN_OK)
        return status;
    struct arena *arena = arena_create();
    struct evaluation *evaluation = calloc(1, sizeof *evaluation);
    struct evaluate_result *made = arena ? ARENA_NEW(arena, struct evaluate_result) : NULL;
    if (made && evaluation) {
        made->arena = arena;
        *evaluation = (struct evaluation){.request = request,
                                          .job = request->job,
                                          .list = list,
                                          .result = made,
                                          .count = request->job->application_count};
        status = evaluate(evaluation);
        software_destroy(evaluation->software);
        for (uint32_t i = 0; i < evaluation->count; i++) {
            workload_commands_destroy(evaluation->members[i].commands);
            if (evaluation->members[i].workload)
                corun_workload_destroy(evaluation->members[i].workload);
        }
    } else {
        status = CORUN_MEMORY;
    }
    free(evaluation);
    if (status == CORUN_OK)
        *result = made;
    else if (arena)
        arena_destroy(arena);
    return status;
}

void evaluate_result_destroy(struct evaluate_result *result)
{
    if (result)
        arena_destroy(result->arena);
}
