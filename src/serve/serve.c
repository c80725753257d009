/* SPDX-License-Identifier: MIT */
/*
 * From kernels and schedulers to results: load, profile, arrivals, then one run after the other. A scheduler that looks at measured
 * co-schedules has all of them measured side by side first.
 */
#include "serve/serve.h"

#include "base/kernel_name.h"
#include "case/latency_lines.h"
#include "drive/machine.h"
#include "model/profile.h"
#include "runtime/runtime.h"
#include "serve/arrivals.h"
#include "serve/pairs.h"
#include "serve/sampled.h"
#include "serve/simulated.h"
#include "workload/commands.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_SEQUENCES 64u /* of whole launches, in the order of arrival, that are measured for a run */

struct server {
    const struct serve_request *request;
    struct corun_diagnostics *list;
    struct serve_result *result;
    struct served_kernel *kernels;
    struct steady_request steady_request;
    struct steady *steady;
    struct queue_run_kind *kinds;
    struct queue_submission *submissions;
    struct workload_commands *commands[CORUN_MAX_APPLICATIONS]; /* with a driver */
    enum corun_status measured;                                 /* what the last measurement for a scheduler gave */
    uint32_t run;
};

static enum corun_status load_kernels(struct server *server)
{
    const struct serve_request *request = server->request;
    struct arena *arena = server->result->arena;
    server->kernels = ARENA_ARRAY(arena, struct served_kernel, request->kernel_count + 1);
    server->kinds = ARENA_ARRAY(arena, struct queue_run_kind, request->kernel_count + 1);
    server->result->kernels = ARENA_ARRAY(arena, struct serve_kernel_result, request->kernel_count + 1);
    if (!server->kernels || !server->kinds || !server->result->kernels)
        return CORUN_MEMORY;
    for (uint32_t k = 0; k < request->kernel_count; k++) {
        struct served_kernel *kernel = &server->kernels[k];
        enum corun_status status =
            served_kernel_load(request->kernels[k], request->data_directory, request->gpu->machine_code, request->seed,
                               arena, server->list, kernel);
        if (status == CORUN_OK)
            status = corun_workload_check_gpu(kernel->workload, request->gpu, server->list);
        if (status != CORUN_OK)
            return status;
        struct corun_workload_info info;
        corun_workload_describe(kernel->workload, &info);
        server->result->kernels[k] = (struct serve_kernel_result){
            .name = arena_copy_text(arena, kernel->name, strlen(kernel->name)),
            .workload = arena_copy_text(arena, info.name, strlen(info.name)),
            .size = arena_copy_text(arena, info.size, strlen(info.size)),
            .function = arena_copy_text(arena, kernel->function, strlen(kernel->function))};
        const struct serve_kernel_result *row = &server->result->kernels[k];
        if (!row->name || !row->workload || !row->size || !row->function)
            return CORUN_MEMORY;
        server->result->kernel_count = k + 1;
    }
    return CORUN_OK;
}

static void describe_profile(const struct model_kernel *model, const struct served_kernel *kernel, uint32_t residents,
                             const struct steady_alone *alone, struct corun_queue_profile *profile)
{
    *profile = (struct corun_queue_profile){.tbs = kernel->tbs,
                                            .tb_threads = model->needs.threads,
                                            .tb_warps = model->tb_warps,
                                            .tb_registers = model->needs.registers,
                                            .tb_shared_bytes = model->needs.shared_bytes,
                                            .tb_barriers = model->needs.barriers,
                                            .tbs_per_sm = residents,
                                            .tb_instructions = model->tb_instructions,
                                            .memory_share = model->memory_share,
                                            .uncoalesced_share = model->uncoalesced_share,
                                            .coalesced_requests = model->coalesced_requests,
                                            .uncoalesced_requests = model->uncoalesced_requests,
                                            .ipc = model->ipc,
                                            .pipeline_utilization = model->pipeline_utilization,
                                            .memory_utilization = model->memory_utilization,
                                            .alone_ticks = alone->ticks};
}

/* Slices of 1, 2, 3, … thread blocks for each SM, until one is cheap enough; those of half the grid are not worth looking at. */
static enum corun_status find_smallest_slice(struct server *server, uint32_t k, struct corun_queue_profile *profile)
{
    uint32_t sms = server->request->gpu->sms;
    double most = (double)profile->alone_ticks * (1 + server->request->slicing_cost);
    profile->smallest_slice = profile->tbs;
    for (uint32_t slice = sms; slice * 2 <= profile->tbs; slice += slice < 4 * sms ? sms : slice / 2 / sms * sms) {
        uint64_t ticks;
        enum corun_status status = steady_sliced(server->steady, k, slice, profile->tbs_per_sm * sms + slice, &ticks);
        if (status != CORUN_OK)
            return status;
        if ((double)ticks <= most) {
            profile->smallest_slice = slice;
            return CORUN_OK;
        }
    }
    return CORUN_OK;
}

/* By a run on the simulated GPU, or what can be known before the driver tells a time. */
static enum corun_status profile_grid(struct server *server, const struct model_gpu *gpu, uint32_t k,
                                      const struct corun_grid *grid, struct corun_queue_profile *profile)
{
    const struct serve_request *request = server->request;
    const struct served_kernel *kernel = &server->kernels[k];
    struct steady_alone alone = {0};
    struct model_kernel model;
    enum corun_status status = request->sampled ? sampled_model(request->gpu, grid, server->list, &model)
                                                : steady_alone(server->steady, k, &alone);
    if (status == CORUN_OK && !request->sampled)
        status = model_profile_counters(request->gpu, grid, &alone.counters, alone.ticks, &model);
    if (status != CORUN_OK)
        return status;
    describe_profile(&model, kernel, model_kernel_residents(gpu, &model), &alone, profile);
    return request->sampled ? CORUN_OK : find_smallest_slice(server, k, profile);
}

static enum corun_status profile_kernel(struct server *server, const struct model_gpu *gpu, uint32_t k)
{
    const struct serve_request *request = server->request;
    struct served_kernel *kernel = &server->kernels[k];
    struct corun_queue_profile *profile = &server->result->kernels[k].profile;
    struct corun_instance *instance;
    const struct corun_grid *grid;
    enum corun_status status = served_kernel_open(kernel, 0, request->seed, server->list, &instance, &grid);
    if (status != CORUN_OK)
        return status;
    if (!corun_gpu_occupancy(request->gpu, grid, NULL))
        status =
            corun_report(server->list, CORUN_LIMIT, CORUN_NOWHERE, "%s: no thread block of kernel %s fits an SM of %s",
                         kernel->name, KERNEL_NAME(kernel->function), request->gpu->name);
    else if (grid->cluster_tbs > 1)
        status = corun_report(server->list, CORUN_UNSUPPORTED, CORUN_NOWHERE,
                              "not supported: slices of kernel %s, which has clusters of thread blocks",
                              KERNEL_NAME(kernel->function));
    if (status == CORUN_OK)
        status = profile_grid(server, gpu, k, grid, profile);
    corun_instance_destroy(instance);
    server->kinds[k] = (struct queue_run_kind){.name = server->result->kernels[k].name,
                                               .profile = *profile,
                                               .bytes_in = kernel->bytes_in,
                                               .bytes_out = kernel->bytes_out,
                                               .device_bytes = kernel->device_bytes};
    return status;
}

static void describe(struct server *server, const struct model_gpu *gpu)
{
    const struct corun_gpu_config *config = server->request->gpu;
    struct serve_result *result = server->result;
    const struct model_line *lines = gpu->latency;
    result->device = (struct corun_queue_device){
        .name = result->gpu.name,
        .clock = CORUN_CLOCK_CYCLES,
        .clock_khz = config->core_clock_khz,
        .core_khz = config->core_clock_khz,
        .sm_count = config->sms,
        .schedulers_per_sm = gpu->schedulers,
        .issue_rate = gpu->issue_rate,
        .threads_per_sm = gpu->capacity.threads,
        .tbs_per_sm = gpu->capacity.tbs,
        .registers_per_sm = gpu->capacity.registers,
        .shared_bytes_per_sm = gpu->capacity.shared_bytes,
        .barriers_per_sm = gpu->capacity.barriers,
        .launch_ticks = simulated_cycles(config, config->launch_gap_ns),
        .coalesced = {lines[MODEL_COALESCED].slope, lines[MODEL_COALESCED].intercept},
        .uncoalesced = {lines[MODEL_UNCOALESCED].slope, lines[MODEL_UNCOALESCED].intercept}};
}

static enum corun_status profile_kernels(struct server *server)
{
    const struct serve_request *request = server->request;
    struct model_gpu gpu;
    server->steady_request = (struct steady_request){.gpu = request->gpu,
                                                     .kernels = server->kernels,
                                                     .kernel_count = request->kernel_count,
                                                     .seed = request->seed,
                                                     .cache_directory = request->cache_directory,
                                                     .jobs = request->jobs,
                                                     .progress = request->progress,
                                                     .progress_user = request->progress_user};
    enum corun_status status = steady_create(&server->steady_request, server->list, &server->steady);
    if (status == CORUN_OK)
        status = latency_lines_describe_gpu(request->gpu, request->cache_directory, server->list, &gpu);
    if (status == CORUN_OK)
        describe(server, &gpu);
    for (uint32_t k = 0; status == CORUN_OK && k < request->kernel_count; k++)
        status = profile_kernel(server, &gpu, k);
    return status;
}

double serve_fills(const struct serve_result *result, uint32_t kernel)
{
    const struct corun_queue_profile *profile = &result->kernels[kernel].profile;
    return (double)profile->tbs / ((double)profile->tbs_per_sm * result->gpu.sms);
}

/* Says of which kernels the discrete-event machine knows too little: how launches share a GPU that one of them does not fill. */
static void warn_of_small_launches(const struct server *server)
{
    const struct serve_request *request = server->request;
    for (uint32_t k = 0; k < request->kernel_count; k++) {
        const struct serve_kernel_result *kernel = &server->result->kernels[k];
        uint32_t held = kernel->profile.tbs_per_sm * request->gpu->sms;
        if (kernel->profile.tbs < held)
            corun_report(
                server->list, CORUN_OK, CORUN_NOWHERE,
                "%s: a launch has %u thread blocks, and %s holds %u; how many such launches share a GPU is not "
                "measured, so times by events may be far off: --full simulates them",
                kernel->name, kernel->profile.tbs, request->gpu->name, held);
    }
}

/* ---- what schedulers and the discrete-event machine ask ---- */

static bool measure(void *user, const struct corun_queue_co_schedule *co_schedule, struct corun_queue_speeds *speeds)
{
    struct server *server = user;
    server->measured = steady_speeds(server->steady, co_schedule, speeds);
    return server->measured == CORUN_OK;
}

static enum corun_status speeds_of(void *user, const struct corun_queue_co_schedule *co_schedule,
                                   struct corun_queue_speeds *speeds)
{
    struct server *server = user;
    return steady_speeds(server->steady, co_schedule, speeds);
}

static enum corun_status whole_of(void *user, const uint32_t *kinds, uint32_t count, uint64_t *ticks)
{
    struct server *server = user;
    return steady_sequence(server->steady, kinds, count, ticks);
}

/* ---- runs ---- */

static struct queue_transfers transfers_of(const struct serve_request *request)
{
    const struct corun_gpu_config *gpu = request->gpu;
    return (struct queue_transfers){
        .every_launch = request->transfers,
        .overlap = request->overlap,
        .engines = gpu->copy_engines,
        .latency_ticks = ((uint64_t)gpu->pcie_latency_ns * gpu->core_clock_khz + 999999) / 1000000,
        .bytes_per_second = (uint64_t)gpu->pcie_pinned_mbps * 1000000,
        .memory_bytes = request->memory_bytes ? request->memory_bytes : (uint64_t)gpu->memory_mib << 20};
}

static void tell_slice(void *user, uint64_t begin, uint64_t end, size_t submission, const struct queue_slice *slice)
{
    struct server *server = user;
    server->request->slice(server->request->slice_user, server->run, begin, end, submission, slice);
}

static bool run_progress(void *user, size_t completed, size_t submissions)
{
    struct server *server = user;
    const struct serve_request *request = server->request;
    if (!request->progress || (!request->full && completed % 256))
        return true;
    return request->progress(request->progress_user, request->schedulers[server->run].text, (uint32_t)completed,
                             (uint32_t)submissions);
}

static enum corun_status run_on(struct server *server, const struct queue_machine *machine)
{
    const struct serve_request *request = server->request;
    const struct serve_scheduler *scheduler = &request->schedulers[server->run];
    const struct queue_run_request run = {.device = &server->result->device,
                                          .scheduler = scheduler->scheduler,
                                          .parameters = scheduler->parameters,
                                          .machine = *machine,
                                          .measure = measure,
                                          .measurer = server,
                                          .seed = request->seed,
                                          .kinds = server->kinds,
                                          .kind_count = request->kernel_count,
                                          .submissions = server->submissions,
                                          .submission_count = (size_t)request->kernel_count * request->load.instances,
                                          .transfers = transfers_of(request),
                                          .slice = request->slice ? tell_slice : NULL,
                                          .user = server,
                                          .progress = run_progress,
                                          .progress_user = server};
    struct serve_run *row = &server->result->runs[server->run];
    enum corun_status status = queue_run(&run, server->list, &row->result);
    if (status == CORUN_OK)
        server->result->run_count = server->run + 1;
    if (status == CORUN_OK && row->result->interrupted)
        server->result->interrupted = true;
    return status;
}

static enum corun_status run_by_events(struct server *server)
{
    const struct serve_request *request = server->request;
    size_t count = (size_t)request->kernel_count * request->load.instances;
    const struct event_speeds speeds = {
        .co_schedule = speeds_of,
        .whole = whole_of,
        .most_before = arrivals_before(server->submissions, count, EVENT_MOST_LAUNCHES - 1, MOST_SEQUENCES),
        .launch_ticks = server->result->device.launch_ticks,
        .user = server};
    struct event_machine *machine = event_machine_create(&speeds, server->list);
    if (!machine)
        return CORUN_MEMORY;
    struct queue_machine operations = event_machine_operations(machine);
    enum corun_status status = run_on(server, &operations);
    event_machine_destroy(machine);
    return status;
}

static enum corun_status run_in_full(struct server *server)
{
    const struct serve_request *request = server->request;
    struct corun_instance *instances[CORUN_MAX_APPLICATIONS] = {NULL};
    const struct corun_grid *grids[CORUN_MAX_APPLICATIONS];
    struct simulated *machine = NULL;
    enum corun_status status = CORUN_OK;
    for (uint32_t k = 0; k < request->kernel_count && status == CORUN_OK; k++)
        status = served_kernel_open(&server->kernels[k], k, request->seed, server->list, &instances[k], &grids[k]);
    if (status == CORUN_OK)
        status = simulated_create(request->gpu, grids, server->list, &machine);
    if (status == CORUN_OK) {
        struct queue_machine operations = simulated_operations(machine);
        status = run_on(server, &operations);
    }
    simulated_destroy(machine);
    for (uint32_t k = 0; k < request->kernel_count; k++)
        corun_instance_destroy(instances[k]);
    return status;
}

/* What the driver's copies took, in place of what a run's own memory command scheduler counts. */
static void take_statistics(const struct server *server, struct driven *driven, struct queue_run_result *result)
{
    struct runtime_statistics statistics;
    double ticks = server->result->device.clock_khz / 1e6;
    runtime_statistics(driven_runtime(driven), &statistics);
    result->copy_ticks = (uint64_t)((double)statistics.copy_nanoseconds * ticks);
    result->overlapped_copy_ticks = (uint64_t)((double)statistics.overlap_nanoseconds * ticks);
    result->busy_ticks = (uint64_t)((double)statistics.kernel_nanoseconds * ticks);
    result->bytes_in = statistics.bytes_in;
    result->bytes_out = statistics.bytes_out;
}

/* What only the driver tells: the smallest slices and, without a simulated GPU, the times alone. */
static enum corun_status measure_driven(struct server *server, struct driven *driven)
{
    const struct serve_request *request = server->request;
    enum corun_status status = CORUN_OK;
    struct runtime_info info;
    runtime_describe(driven_runtime(driven), &info);
    if (info.sms != request->gpu->sms)
        corun_report(server->list, CORUN_OK, CORUN_NOWHERE, "%s has %u SMs, and %s, which it is taken for, has %u",
                     info.device, info.sms, request->gpu->name, request->gpu->sms);
    for (uint32_t k = 0; k < request->kernel_count && status == CORUN_OK; k++) {
        struct corun_queue_profile *profile = &server->kinds[k].profile;
        uint64_t nanoseconds = 0;
        status = driven_smallest_slice(driven, k, request->slicing_cost, &profile->smallest_slice, &nanoseconds);
        if (status == CORUN_OK && request->sampled)
            sampled_time(request->gpu, nanoseconds, profile);
        server->result->kernels[k].profile = *profile;
    }
    return status;
}

/* Case I: data are on the device before time begins. */
static enum corun_status bring_data(const struct server *server, struct driven *driven)
{
    const struct serve_request *request = server->request;
    size_t count = (size_t)request->kernel_count * request->load.instances;
    uint32_t *kinds = calloc(count + 1, sizeof *kinds);
    for (size_t i = 0; i < count && kinds; i++)
        kinds[i] = server->submissions[i].kind;
    enum corun_status status = kinds ? driven_bring(driven, kinds, count) : CORUN_MEMORY;
    free(kinds);
    return status;
}

static enum corun_status run_driven(struct server *server, const struct workload_commands *const *kinds)
{
    const struct serve_request *request = server->request;
    struct driven_machine machine = {.list = server->list};
    struct driven_request driven = {.options = {.library = request->driver,
                                                .memory_bytes = request->memory_bytes,
                                                .in_turns = request->transfers && !request->overlap,
                                                .resident = !request->transfers},
                                    .clock_khz = server->result->device.clock_khz,
                                    .kinds = kinds,
                                    .count = request->kernel_count,
                                    .results_stay = !request->transfers};
    enum corun_status status = driven_create(&driven, server->list, &machine.driven);
    if (status != CORUN_OK)
        return status;
    if (!server->run)
        status = measure_driven(server, machine.driven);
    if (status == CORUN_OK)
        status = driven_prepare(machine.driven, request->load.instances);
    if (status == CORUN_OK && !request->transfers)
        status = bring_data(server, machine.driven);
    if (status != CORUN_OK) {
        driven_destroy(machine.driven);
        return status;
    }
    struct queue_machine operations = driven_operations(&machine);
    status = run_on(server, &operations);
    if (status == CORUN_OK)
        take_statistics(server, machine.driven, server->result->runs[server->run].result);
    if (status == CORUN_OK && driven_mismatches(machine.driven))
        corun_report(server->list, CORUN_OK, CORUN_NOWHERE,
                     "results of %llu launches are not what a run without timing leaves",
                     (unsigned long long)driven_mismatches(machine.driven));
    if (status == CORUN_OK && driven_failures(machine.driven))
        status = corun_report(server->list, CORUN_FAULT, CORUN_NOWHERE, "%llu launches have failed",
                              (unsigned long long)driven_failures(machine.driven));
    driven_machine_end(&machine);
    driven_destroy(machine.driven);
    return status;
}

/* What all runs through a driver launch. */
static enum corun_status make_commands(struct server *server)
{
    const struct serve_request *request = server->request;
    enum corun_status status = CORUN_OK;
    for (uint32_t k = 0; k < request->kernel_count && request->driver && status == CORUN_OK; k++)
        status = workload_commands_create(server->kernels[k].workload, server->kernels[k].launch, request->seed,
                                          request->gpu->compute_capability, server->list, &server->commands[k]);
    return status;
}

static enum corun_status run_all(struct server *server)
{
    const struct serve_request *request = server->request;
    bool all = request->pairs;
    for (uint32_t i = 0; i < request->scheduler_count; i++)
        all |= request->schedulers[i].scheduler->needs_measured;
    enum corun_status status =
        all || request->balanced_pairs ? pairs_measure(server->steady, !all, server->result, server->list) : CORUN_OK;
    double ticks_per_second = 1e3 * server->result->device.clock_khz;
    server->submissions = arrivals_make(request->kernel_count, request->load.instances,
                                        request->load.rate_per_second / ticks_per_second, request->seed);
    server->result->runs = ARENA_ARRAY(server->result->arena, struct serve_run, request->scheduler_count + 1);
    if (!server->submissions || !server->result->runs)
        return CORUN_MEMORY;
    if (status == CORUN_OK)
        status = make_commands(server);
    for (; server->run < request->scheduler_count && status == CORUN_OK && !server->result->interrupted;
         server->run++) {
        const char *text = request->schedulers[server->run].text;
        server->result->runs[server->run] =
            (struct serve_run){.scheduler = arena_copy_text(server->result->arena, text, strlen(text))};
        if (request->driver)
            status = run_driven(server, (const struct workload_commands *const *)server->commands);
        else
            status = request->full ? run_in_full(server) : run_by_events(server);
    }
    return status;
}

static enum corun_status check(const struct serve_request *request, struct corun_diagnostics *list)
{
    if (!request->kernel_count || request->kernel_count > CORUN_MAX_APPLICATIONS)
        return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE, "a queue has from 1 to %u kernels, not %u",
                            CORUN_MAX_APPLICATIONS, request->kernel_count);
    if (!request->load.instances)
        return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE, "a queue has at least one launch of each kernel");
    if (request->sampled && !request->driver)
        return corun_report(list, CORUN_USAGE, CORUN_NOWHERE,
                            "--profile sample: the times of kernels come from a driver: --driver or --native");
    if (request->memory_bytes && !request->transfers)
        return corun_report(
            list, CORUN_USAGE, CORUN_NOWHERE,
            "--memory: data are on the device: launches bring theirs with --transfers overlap or apart");
    bool measured = request->pairs || request->balanced_pairs;
    for (uint32_t i = 0; i < request->scheduler_count; i++)
        measured |= request->schedulers[i].scheduler->needs_measured;
    if (request->sampled && measured)
        return corun_report(list, CORUN_USAGE, CORUN_NOWHERE,
                            "--profile sample: pairs are measured on the simulated GPU: --profile counters");
    return CORUN_OK;
}

enum corun_status serve(const struct serve_request *request, struct corun_diagnostics *list,
                        struct serve_result **result)
{
    struct server server = {.request = request, .list = list};
    *result = NULL;
    enum corun_status status = check(request, list);
    if (status != CORUN_OK)
        return status;
    server.result = calloc(1, sizeof *server.result);
    if (!server.result)
        return CORUN_MEMORY;
    *server.result = (struct serve_result){.arena = arena_create(),
                                           .gpu = *request->gpu,
                                           .load = request->load,
                                           .slicing_cost = request->slicing_cost,
                                           .full = request->full,
                                           .driven = request->driver,
                                           .sampled = request->sampled,
                                           .transfers = request->transfers,
                                           .overlap = request->overlap,
                                           .seed = request->seed};
    status = server.result->arena ? load_kernels(&server) : CORUN_MEMORY;
    if (status == CORUN_OK)
        status = profile_kernels(&server);
    if (status == CORUN_OK && !request->full && !request->driver)
        warn_of_small_launches(&server);
    if (status == CORUN_OK)
        status = run_all(&server);
    if (server.steady)
        steady_counts(server.steady, &server.result->measured, &server.result->found);
    for (uint32_t k = 0; server.kernels && k < request->kernel_count; k++) {
        workload_commands_destroy(server.commands[k]);
        served_kernel_end(&server.kernels[k]);
    }
    steady_destroy(server.steady);
    free(server.submissions);
    if (status == CORUN_TIMEOUT) { /* progress() said so */
        server.result->interrupted = true;
        status = CORUN_OK;
    }
    if (status != CORUN_OK) {
        serve_result_destroy(server.result);
        server.result = NULL;
    }
    *result = server.result;
    return status;
}

void serve_result_destroy(struct serve_result *result)
{
    if (!result)
        return;
    for (uint32_t i = 0; result->runs && i < result->run_count; i++)
        queue_run_result_destroy(result->runs[i].result);
    arena_destroy(result->arena);
    free(result);
}
