/* SPDX-License-Identifier: MIT */
/* A software machine is made: its runtime, the programs of its applications, its governor; and what it says in the end. */
#include "software/state.h"

#include <stdlib.h>
#include <string.h>

#define EPOCH_CYCLES 10000u
#define EPOCH_NANOSECONDS 1000000u
#define EPOCH_LOOKS 8u /* an epoch without a given length is no shorter than so many looks take */
#define POLL_NANOSECONDS 1000u

/* How long a look takes; and so, how long an epoch is. */
static enum corun_status time_look(struct software *software, struct corun_diagnostics *list)
{
    struct runtime_event event = {.kind = RUNTIME_NONE};
    uint64_t begin = runtime_now(software->runtime);
    enum corun_status status = runtime_table_read(software->runtime);
    while (status == CORUN_OK && event.kind != RUNTIME_TABLE_READ) {
        runtime_sleep(software->runtime, POLL_NANOSECONDS);
        status = runtime_wait(software->runtime, 0, list, &event);
    }
    if (status != CORUN_OK)
        return status;
    software->look_ns = event.time - begin;
    bool looks = software->options.launching == SOFTWARE_WORKERS;
    uint64_t least = looks ? EPOCH_LOOKS * software->look_ns : 0, usual = EPOCH_NANOSECONDS;
    if (software->info.simulated)
        usual = (uint64_t)EPOCH_CYCLES * 1000000 / software->info.clock_khz;
    software->info.epoch_ns = usual > least ? usual : least;
    if (software->options.epoch_ns)
        software->info.epoch_ns = software->options.epoch_ns;
    return CORUN_OK;
}

/* May the policy drop thread blocks? It says so by what it needs, or by a parameter: corun/policy.h. */
static bool may_drop(const struct software_options *options)
{
    static const char word[] = "drop";
    const struct corun_policy *policy = options->policy;
    bool may = policy && policy->needs & 1u << CORUN_CAN_DROP;
    for (uint32_t i = 0; policy && !may && i < policy->parameter_count; i++) {
        const struct corun_policy_parameter *parameter = &policy->parameters[i];
        double value = options->parameters ? options->parameters[i] : parameter->initial;
        const char *choice = parameter->choices;
        for (; choice && value >= 1; value--)
            choice = (choice = strchr(choice, '|')) ? choice + 1 : NULL;
        may = choice && strcspn(choice, "|") == strlen(word) && !strncmp(choice, word, strlen(word));
    }
    return may && options->launching == SOFTWARE_WORKERS;
}

/* SMs on which the policy may keep launches apart; 0: it does not. It says so by a parameter: corun/policy.h. */
static uint32_t sms_apart(const struct software_options *options)
{
    const struct corun_policy *policy = options->policy;
    double sms = 0;
    for (uint32_t i = 0; policy && i < policy->parameter_count; i++)
        if (!strcmp(policy->parameters[i].name, "apart"))
            sms = options->parameters ? options->parameters[i] : policy->parameters[i].initial;
    return options->launching != SOFTWARE_WORKERS && sms > 0 ? (uint32_t)sms : 0;
}

/* Streams of all applications for a set of SMs, as a mask. */
static uint32_t streams_on(uint32_t count, enum corun_sm_set set)
{
    uint32_t mask = 0;
    for (uint32_t a = 0; a < count; a++) {
        struct streams streams = grants_streams(count, a, set);
        for (uint32_t i = streams.first; i < streams.end; i++)
            mask |= UINT32_C(1) << i;
    }
    return mask;
}

static enum corun_status check_apart(const struct software_options *options, uint32_t apart, uint32_t count,
                                     struct corun_diagnostics *list)
{
    const char *name = apart ? options->policy->name : NULL;
    if (apart && options->favour != SOFTWARE_NO_FAVOUR)
        return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE,
                            "%s:apart=%u is for plain streams, which have neither a priority nor SMs of their own",
                            name, apart);
    if (apart && count > RUNTIME_MOST_STREAMS / CORUN_SM_SETS)
        return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE, "%s:apart=%u is for up to %u applications, not %u",
                            name, apart, RUNTIME_MOST_STREAMS / CORUN_SM_SETS, count);
    return CORUN_OK;
}

static enum corun_status open_runtime(struct software *software, uint32_t count, struct corun_diagnostics *list)
{
    const struct software_options *options = &software->options;
    uint32_t apart = sms_apart(options);
    struct runtime_options opened = {.library = options->library,
                                     .device = options->device,
                                     .memory_bytes = options->memory_bytes,
                                     .resident = true,
                                     .refilled = true,
                                     .host_times = true,
                                     .no_results = !options->check && !options->keep,
                                     .fence = options->fence,
                                     .favour = apart ? RUNTIME_APART : (enum runtime_favour)options->favour,
                                     .favoured = RUNTIME_MOST_STREAMS / count,
                                     .apart = streams_on(count, CORUN_SMS_APART),
                                     .rest = streams_on(count, CORUN_SMS_REST),
                                     .own_sms = apart ? apart : options->own_sms,
                                     .workers = options->launching == SOFTWARE_WORKERS,
                                     .drop = software->drops};
    struct runtime_info info;
    enum corun_status status = check_apart(options, apart, count, list);
    if (status == CORUN_OK)
        status = runtime_open(&opened, list, &software->runtime);
    if (status != CORUN_OK)
        return status;
    runtime_describe(software->runtime, &info);
    memcpy(software->info.device, info.device, sizeof info.device);
    software->info.sms = software->places = info.sms;
    software->info.clock_khz = info.clock_khz;
    software->info.simulated = info.simulated;
    software->info.own_sms = apart ? 0 : info.own_sms;
    software->info.apart_sms = apart ? info.own_sms : 0;
    software->threads_per_sm = info.threads_per_sm;
    software->registers_per_sm = info.registers_per_sm;
    software->shared_bytes_per_sm = info.shared_bytes_per_sm;
    status =
        runtime_make_table(software->runtime, queues_offset(software, count), count * returned_bytes(software), list);
    return status == CORUN_OK ? time_look(software, list) : status;
}

/* What its launches are, and what they count for. */
static enum corun_status describe_launches(struct software *software, struct application *a)
{
    a->launch_count = runtime_launch_count(software->runtime, a->program);
    a->kinds = calloc(a->launch_count, sizeof *a->kinds);
    if (!a->kinds)
        return CORUN_MEMORY;
    for (uint32_t i = 0; i < a->launch_count; i++) {
        runtime_launch_at(software->runtime, a->program, i, &a->kinds[i].about);
        if (!a->keeps && software->drops && a->kinds[i].about.keeps) {
            a->keeps = a->kinds[i].about.keeps;
            a->kept = a->kinds[i].about.kernel;
        }
        if (!a->refusal && software->options.launching != SOFTWARE_WHOLE)
            a->refusal = a->kinds[i].about.refusal;
        if (!a->kinds[i].about.thread_instructions)
            software->info.progress_unit = CORUN_PROGRESS_THREAD_BLOCKS;
    }
    return CORUN_OK;
}

/*
 * A launch of few thread blocks takes time and counts for little, and rates of launches are not those of a run. Where it is known how long each takes alone,
 * what a policy is told of a launch is its part of that time: alone, at any moment, an application has the rate of its runs. What a run counts for
 * stays as it is. A launch of which that is not known takes as long as others of as much progress.
 */
static void value_launches(struct application *a)
{
    const uint64_t *alone = a->description.launch_count == a->launch_count ? a->description.launch_ns : NULL;
    double known = 0, progress = 0, all = 0, time = 0;
    for (uint32_t i = 0; i < a->launch_count; i++) {
        a->kinds[i].worth = (double)a->kinds[i].progress;
        a->kinds[i].alone_ns = alone ? alone[i] : 0;
        all += a->kinds[i].worth;
        if (a->kinds[i].alone_ns) {
            known += (double)a->kinds[i].alone_ns;
            progress += a->kinds[i].worth;
        }
    }
    if (!(known > 0) || !(progress > 0))
        return;
    for (uint32_t i = 0; i < a->launch_count; i++) {
        struct kind *kind = &a->kinds[i];
        kind->worth = kind->alone_ns ? (double)kind->alone_ns : kind->worth * known / progress;
        time += kind->worth;
    }
    for (uint32_t i = 0; i < a->launch_count; i++)
        a->kinds[i].worth *= all / time;
}

static void weigh_launches(const struct software *software, struct application *a)
{
    bool counted = software->info.progress_unit == CORUN_PROGRESS_THREAD_INSTRUCTIONS;
    for (uint32_t i = 0; i < a->launch_count; i++) {
        struct kind *kind = &a->kinds[i];
        kind->progress = counted ? kind->about.thread_instructions : kind->about.tbs;
        kind->weight = (double)kind->progress / (double)kind->about.tbs;
        kind->draws = kind->about.refusal ? 0 : (uint32_t)kind->about.tbs;
    }
    value_launches(a);
}

/* What a run launches, alike ones together: known before it starts. */
static enum corun_status foresee_launches(struct application *a)
{
    a->foreseen = calloc(a->launch_count + 1u, sizeof *a->foreseen);
    for (uint32_t i = 0; a->foreseen && i < a->launch_count; i++) {
        const struct runtime_launch *about = &a->kinds[i].about;
        uint32_t tbs = about->tbs < UINT32_MAX ? (uint32_t)about->tbs : UINT32_MAX, k = 0;
        while (k < a->foreseen_count && (a->foreseen[k].tbs != tbs || a->foreseen[k].tbs_per_sm != about->tbs_per_sm))
            k++;
        a->foreseen[k].tbs = tbs;
        a->foreseen[k].tbs_per_sm = about->tbs_per_sm;
        a->foreseen[k].launches++;
        a->foreseen_count += k == a->foreseen_count;
    }
    return a->foreseen ? CORUN_OK : CORUN_MEMORY;
}

static enum corun_status make_governor(struct software *software, struct corun_diagnostics *list)
{
    struct corun_machine machine = software_machine(software);
    software->governor = governor_create(&machine);
    enum corun_status status = software->governor ? CORUN_OK : CORUN_MEMORY;
    for (uint32_t i = 0; i < software->count && status == CORUN_OK; i++) {
        const struct application *a = &software->applications[i];
        const struct software_application *from = &a->description;
        uint64_t progress = 0;
        for (uint32_t k = 0; k < a->launch_count; k++)
            progress += a->kinds[k].progress;
        status =
            governor_add(software->governor, &(struct governor_application){.name = from->name,
                                                                            .goal = from->goal,
                                                                            .goal_value = from->goal_value,
                                                                            .goal_ipc = from->goal_rate,
                                                                            .isolated_ipc = from->isolated_rate,
                                                                            .run_progress = progress,
                                                                            .speedup = from->speedup,
                                                                            .speedup_count = from->speedup_count,
                                                                            .run_launches = a->foreseen,
                                                                            .run_launch_count = a->foreseen_count});
    }
    if (status == CORUN_OK && software->options.policy)
        status = governor_set_policy(software->governor, software->options.policy, software->options.parameters, list);
    return status;
}

static enum corun_status make(struct software *software, const struct software_application *applications,
                              struct corun_diagnostics *list)
{
    size_t entries;
    software->applications = calloc(software->count, sizeof *software->applications);
    if (!software->applications)
        return CORUN_MEMORY;
    enum corun_status status = open_runtime(software, software->count, list);
    software->info.progress_unit = CORUN_PROGRESS_THREAD_INSTRUCTIONS;
    for (uint32_t i = 0; i < software->count && status == CORUN_OK; i++) {
        struct application *a = &software->applications[i];
        a->description = applications[i];
        a->index = i;
        status = runtime_add_workload(software->runtime, applications[i].commands, list, &a->program);
        if (status == CORUN_OK)
            status = describe_launches(software, a);
        if (status == CORUN_OK)
            status = foresee_launches(a);
    }
    if (status != CORUN_OK)
        return status;
    for (uint32_t i = 0; i < software->count; i++)
        weigh_launches(software, &software->applications[i]);
    entries = (size_t)software->places * software->count;
    software->shares = calloc(entries, sizeof *software->shares);
    software->limit_rows = calloc(entries + software->places, sizeof *software->limit_rows);
    software->resident_before = calloc(entries, sizeof *software->resident_before);
    if (!software->shares || !software->limit_rows || !software->resident_before)
        return CORUN_MEMORY;
    enum corun_status made = plugs_make(software);
    return made == CORUN_OK ? make_governor(software, list) : made;
}

enum corun_status software_create(const struct software_options *options,
                                  const struct software_application *applications, uint32_t count,
                                  struct corun_diagnostics *list, struct software **result)
{
    *result = NULL;
    if (!count || count > SOFTWARE_MOST_APPLICATIONS)
        return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE, "%u applications: 1 to %u can share a GPU in software",
                            count, SOFTWARE_MOST_APPLICATIONS);
    struct software *software = calloc(1, sizeof *software);
    if (!software)
        return CORUN_MEMORY;
    software->options = *options;
    software->count = count;
    software->drops = may_drop(options);
    enum corun_status status = make(software, applications, list);
    if (status == CORUN_OK)
        *result = software;
    else
        software_destroy(software);
    return status;
}

void software_destroy(struct software *software)
{
    if (!software)
        return;
    governor_destroy(software->governor);
    /* Else all launches that were given ahead would be run to their end, and plugs would stay. */
    if (software->control.plugs || (software->ended_early && software->options.launching == SOFTWARE_WORKERS))
        limits_clear(software);
    runtime_close(software->runtime);
    for (uint32_t i = 0; software->applications && i < software->count; i++) {
        const struct workload_commands *commands = software->applications[i].description.commands;
        for (size_t b = 0; software->applications[i].left && b < commands->buffer_count; b++)
            free(software->applications[i].left[b]);
        free(software->applications[i].left);
        free(software->applications[i].kinds);
        free(software->applications[i].foreseen);
        vector_free(&software->applications[i].runs);
    }
    free(software->applications);
    free(software->shares);
    free(software->limit_rows);
    free(software->plugs.at);
    free(software->resident_before);
    vector_free(&software->epochs);
    vector_free(&software->variables);
    free(software);
}

void software_describe(const struct software *software, struct software_info *info)
{
    *info = software->info;
}

uint32_t software_launches(const struct software *software, uint32_t application)
{
    return software->applications[application].launch_count;
}

uint64_t software_launch_ns(const struct software *software, uint32_t application, uint32_t launch)
{
    return software->applications[application].kinds[launch].launch_ns;
}

const void *software_left(const struct software *software, uint32_t application, size_t buffer)
{
    const struct application *a = &software->applications[application];
    return a->left ? a->left[buffer] : NULL;
}

void software_control(const struct software *software, struct software_control *control)
{
    *control = software->control;
}

/* Thread blocks that were given back of the launch that is not complete, by the last look. Those behind it have not been drawn. */
static uint64_t returned_so_far(const struct software *software, const struct application *a)
{
    uint32_t total = a->orders[a->head % RING].total, draws = kind_at(a, a->head)->draws;
    return software->drops && total > draws ? total - draws : 0;
}

void software_result(const struct software *software, uint32_t application, struct software_result *result)
{
    const struct application *a = &software->applications[application];
    bool left = a->state == CORUN_APPLICATION_LEFT;
    *result = (struct software_result){.status = a->status,
                                       .failure = a->failure,
                                       .arrived_ns = a->arrived_ns,
                                       .ended_ns = left ? a->left_ns : software->now,
                                       .progress = a->progress,
                                       .measured_ns = left ? a->left_ns : a->progress_ns,
                                       .thread_blocks = a->thread_blocks,
                                       .runs = (uint32_t)a->runs.count,
                                       .run_ns = a->runs.data,
                                       .mismatches = a->mismatches,
                                       .goal_rate = governor_goal_ipc(software->governor, application),
                                       .best_epoch_rate = governor_best_epoch_ipc(software->governor, application),
                                       .out_of_reach = governor_out_of_reach(software->governor, application),
                                       .launches = a->launches,
                                       .crews = a->crews,
                                       .workers = a->workers,
                                       .whole = a->whole,
                                       .slices = a->slices,
                                       .requests = a->requests,
                                       .returned = a->returned + returned_so_far(software, a),
                                       .refusal = a->refusal,
                                       .kept = a->kept,
                                       .keeps = a->keeps};
}
