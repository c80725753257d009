/* SPDX-License-Identifier: MIT */
/* corun predict: what the analytical model says of workloads alone and in pairs, beside what was measured. */
#include "cli/command.h"

#include "corun/case.h"
#include "report/predictions.h"

#include <string.h>

#define DEFAULT_CYCLES 500000u
#define DEFAULT_SAMPLES 16u

enum { KEY_GPU = 'g', KEY_CYCLES = 'c', KEY_JSON = 'j', KEY_QUIET = 'q', KEY_SEED = 0x100, KEY_SAMPLES };

static const struct argp_option options[] = {
    {"gpu", KEY_GPU, "GPU", 0, "a name (see `corun list gpus`) or a YAML file, with overrides [gtx980]", 1},
    {"cycles", KEY_CYCLES, "N", 0, "the window in which each workload is counted, alone on the GPU [500K]", 2},
    {"samples", KEY_SAMPLES, "N", 0, "thread blocks that are run without timing for the other profile; 0: none [16]",
     2},
    {"seed", KEY_SEED, "N", 0, "of the workloads' data [1]", 2},
    {"json", KEY_JSON, "FILE", 0, "write the results as JSON; - is standard output", 3},
    {"quiet", KEY_QUIET, NULL, 0, "no tables and no progress line", 3},
    CACHE_OPTIONS(4),
    {0},
};

static const char doc[] =
    "Predicts how fast the main kernel of each workload runs alone, and each pair of them side by side on every SM, by "
    "the Markov chain of Kernelet (Zhong and He, TPDS 2014): from the share of instructions after which a warp waits "
    "for memory, and the latency of memory over the requests that are under way. Measured figures stand beside the "
    "predictions. Without a workload: the latencies alone.\v"
    "WORKLOAD is a name (see `corun list workloads`) or the path of a launch description; SIZE, PARAMETER and VALUE "
    "are "
    "as for `corun run`.\n\nThe latencies of a GPU are measured by micro-benchmarks that take seconds, and kept in the "
    "cache.";

struct predict_options {
    struct command command;
    const char *gpu;
    struct output json;
    struct cache_options cache;
    bool quiet;
    uint64_t cycles, seed;
    uint32_t samples;
    const char **names;
    size_t name_count;
    struct corun_gpu_config config;
    struct model_gpu model;
    struct latency_line lines[MODEL_ACCESSES];
    struct predictions predictions;
    char data[PATH_BYTES];
    struct progress *progress;
    const char *stage;
};

static error_t parse_option(int key, char *value, struct argp_state *state)
{
    struct predict_options *predict = state->input;
    uint64_t samples;
    switch (key) {
    case KEY_GPU:
        predict->gpu = value;
        break;
    case KEY_CYCLES:
        command_number(&predict->command, "--cycles", value, 1000, 1, INT64_MAX, &predict->cycles);
        break;
    case KEY_SEED:
        command_number(&predict->command, "--seed", value, 1000, 0, UINT64_MAX, &predict->seed);
        break;
    case KEY_SAMPLES:
        samples = predict->samples;
        command_number(&predict->command, "--samples", value, 1000, 0, UINT32_MAX, &samples);
        predict->samples = (uint32_t)samples;
        break;
    case KEY_JSON:
        predict->json.path = value;
        break;
    case KEY_QUIET:
        predict->quiet = true;
        break;
    case ARGP_KEY_ARGS:
        predict->names = (const char **)state->argv + state->next;
        predict->name_count = (size_t)(state->argc - state->next);
        break;
    default:
        return cache_option(key, value, state, &predict->cache);
    }
    return 0;
}

static bool show_progress(void *user, uint64_t cycle)
{
    struct predict_options *predict = user;
    return progress_step(predict->progress, "%.40s: cycle %llu", predict->stage, (unsigned long long)cycle);
}

static enum corun_status profile(struct predict_options *predict, const char *name, struct kernel_profile *result)
{
    struct corun_workload *workload;
    struct corun_diagnostics *list = predict->command.list;
    enum corun_status status =
        corun_workload_assemble(name, predict->data, predict->config.machine_code, list, &workload);
    if (status != CORUN_OK)
        return status;
    status = corun_workload_check_gpu(workload, &predict->config, list);
    if (status != CORUN_OK) {
        corun_workload_destroy(workload);
        return status;
    }
    const struct kernel_profile_request request = {.config = &predict->config,
                                                   .gpu = &predict->model,
                                                   .workload = workload,
                                                   .seed = predict->seed,
                                                   .cycles = predict->cycles,
                                                   .samples = predict->samples,
                                                   .cache_directory = cache_folder(&predict->cache)};
    predict->stage = name;
    status = kernel_profile_measure(&request, predict->command.arena, list, show_progress, predict, result);
    if (status == CORUN_TIMEOUT)
        predict->command.exit_status = EXIT_INTERRUPTED;
    corun_workload_destroy(workload);
    return status;
}

/* Of two kernels that both were counted; the alone IPC are predicted ones, as the side by side ones are. */
static enum corun_status pair_up(struct predict_options *predict, const struct kernel_profile *profiles,
                                 struct predicted_pair *pair)
{
    const struct kernel_profile *first = &profiles[pair->members[0]], *second = &profiles[pair->members[1]];
    const struct model_kernel *const kernels[2] = {&first->counted.inputs, &second->counted.inputs};
    const double alone[2] = {first->counted.prediction.total, second->counted.prediction.total};
    pair->count = 0;
    if (first->counted.status != CORUN_OK || second->counted.status != CORUN_OK)
        return CORUN_OK;
    pair->list = ARENA_ARRAY(predict->command.arena, struct model_co_schedule, MODEL_MAX_CO_SCHEDULES);
    return pair->list ? model_co_schedules(&predict->model, kernels, alone, pair->list, &pair->count) : CORUN_MEMORY;
}

static enum corun_status predict_all(struct predict_options *predict)
{
    size_t count = predict->name_count, pairs = 0;
    struct kernel_profile *profiles = ARENA_ARRAY(predict->command.arena, struct kernel_profile, count + 1);
    struct predicted_pair *list = ARENA_ARRAY(predict->command.arena, struct predicted_pair, count * count + 1);
    enum corun_status status = profiles && list ? CORUN_OK : CORUN_MEMORY;
    for (size_t i = 0; i < count && status == CORUN_OK; i++)
        status = profile(predict, predict->names[i], &profiles[i]);
    for (size_t i = 0; i < count && status == CORUN_OK; i++)
        for (size_t j = i + 1; j < count && status == CORUN_OK; j++) {
            list[pairs] = (struct predicted_pair){.members = {(uint32_t)i, (uint32_t)j}};
            status = pair_up(predict, profiles, &list[pairs++]);
        }
    predict->predictions = (struct predictions){.gpu_name = predict->gpu,
                                                .gpu = &predict->model,
                                                .lines = predict->lines,
                                                .cycles = predict->cycles,
                                                .count = count,
                                                .pair_count = pairs,
                                                .profiles = profiles,
                                                .pairs = list};
    return status;
}

static enum corun_status measure(struct predict_options *predict)
{
    struct corun_diagnostics *list = predict->command.list;
    predict->progress = progress_begin(predict->quiet);
    progress_step(predict->progress, "latencies of %.60s", predict->gpu);
    enum corun_status status =
        latency_lines_measure(&predict->config, cache_folder(&predict->cache), list, predict->lines);
    model_gpu_describe(&predict->config, &predict->model);
    for (uint32_t kind = 0; kind < MODEL_ACCESSES; kind++)
        predict->model.latency[kind] = predict->lines[kind].line;
    if (status == CORUN_OK)
        status = predict_all(predict);
    progress_end(predict->progress);
    if (status != CORUN_OK)
        return status;
    struct report_style style = output_style(stdout);
    if (!predict->quiet && predict->json.file != stdout && !predictions_print(&predict->predictions, &style, stdout))
        status = CORUN_MEMORY;
    if (predict->json.file && status == CORUN_OK)
        status = predictions_json(&predict->predictions, predict->json.file);
    return status;
}

static enum corun_status run_predict(void *user)
{
    struct predict_options *predict = user;
    struct corun_diagnostics *list = predict->command.list;
    enum corun_status status = corun_data_directory(predict->data, sizeof predict->data, list);
    if (status == CORUN_OK)
        status = corun_gpu_config_load(predict->gpu, predict->data, list, &predict->config);
    if (status == CORUN_OK)
        status = outputs_spare(&predict->json, 1, predict->gpu, list);
    for (size_t i = 0; i < predict->name_count && status == CORUN_OK; i++)
        status = outputs_spare(&predict->json, 1, predict->names[i], list);
    if (status == CORUN_OK)
        status = outputs_open(&predict->json, 1, list);
    if (status != CORUN_OK)
        return status;
    status = outputs_close(&predict->json, 1, measure(predict), list);
    if (status != CORUN_TIMEOUT || predict->command.exit_status != EXIT_INTERRUPTED)
        return status;
    fputs("corun: interrupted: nothing is predicted\n", stderr);
    return CORUN_OK;
}

int command_predict(int argc, char **argv)
{
    static const struct argp argp = {.options = options,
                                     .parser = parse_option,
                                     .args_doc = "[WORKLOAD[@SIZE[,PARAMETER=VALUE,...]]...]",
                                     .doc = doc,
                                     .help_filter = command_help_filter};
    struct predict_options predict = {.gpu = DEFAULT_GPU,
                                      .json = {.option = "--json"},
                                      .cycles = DEFAULT_CYCLES,
                                      .seed = 1,
                                      .samples = DEFAULT_SAMPLES};
    return command_perform(&predict.command, &argp, argc, argv, run_predict, &predict);
}
