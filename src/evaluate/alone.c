/* SPDX-License-Identifier: MIT */
/* Each application alone: as its program has it, for its rate; as workers on 1 to N SMs, for a policy that wants to know what SMs bring. */
#include "evaluate/state.h"

#include "case/baseline.h"

#include <stdio.h>
#include <string.h>

static const struct corun_policy *fixed_split(const double sms, double *parameters)
{
    const struct corun_policy *fixed = corun_policy_find("fixed");
    for (uint32_t p = 0; p < fixed->parameter_count; p++) {
        const char *name = fixed->parameters[p].name;
        parameters[p] = !strcmp(name, "split_1") ? sms : !strcmp(name, "rest") ? 1 : fixed->parameters[p].initial;
    }
    return fixed;
}

/* How long each launch takes. */
static enum corun_status note_launches(struct evaluation *evaluation, struct member *member,
                                       const struct software *software)
{
    member->launch_count = software_launches(software, 0);
    member->launch_ns = ARENA_ARRAY(evaluation->result->arena, uint64_t, member->launch_count + 1u);
    for (uint32_t i = 0; member->launch_ns && i < member->launch_count; i++)
        member->launch_ns[i] = software_launch_ns(software, 0, i);
    return member->launch_ns ? CORUN_OK : CORUN_MEMORY;
}

/* Progress per nanosecond on so many SMs; 0: on all of them, and as the program has it. Until a launch has ended, at least. */
static enum corun_status run_alone(struct evaluation *evaluation, struct member *member, uint32_t sms,
                                   uint64_t window_ns, double *rate)
{
    enum { MOST_PARAMETERS = 64 };
    struct software_options options = evaluation_options(evaluation);
    struct software_application application = {.name = member->info.name, .commands = member->commands};
    struct software_limits limits = {
        .window_ns = window_ns, .runs = evaluation->job->runs, .progress = evaluation_progress, .user = evaluation};
    struct software_result result = {0};
    double parameters[MOST_PARAMETERS];
    options.launching = sms ? SOFTWARE_WORKERS : SOFTWARE_WHOLE;
    options.policy = sms ? fixed_split(sms, parameters) : NULL;
    options.parameters = parameters;
    *rate = 0;
    for (uint32_t attempt = 0; attempt < 2 && !result.progress && !evaluation->interrupted; attempt++) {
        struct software *software;
        enum corun_status status = software_create(&options, &application, 1, evaluation->list, &software);
        if (status == CORUN_OK)
            status = software_run(software, &limits, evaluation->list);
        if (status == CORUN_OK)
            software_result(software, 0, &result);
        if (status == CORUN_OK && !sms)
            status = note_launches(evaluation, member, software);
        software_destroy(software);
        if (status != CORUN_OK)
            return status;
        limits.window_ns = 0; /* no launch has ended in it: then a whole run */
        limits.runs = 1;
    }
    if (result.status != CORUN_OK)
        return corun_report(evaluation->list, result.status, CORUN_NOWHERE, "%s alone: %s", member->info.name,
                            result.failure ? result.failure : "it made no progress");
    if (result.measured_ns > result.arrived_ns)
        *rate = (double)result.progress / (double)(result.measured_ns - result.arrived_ns);
    return CORUN_OK;
}

static enum corun_status copy_results(struct evaluation *evaluation, struct member *member,
                                      const struct software *software)
{
    const struct workload_commands *commands = member->commands;
    member->expected = ARENA_ARRAY(evaluation->result->arena, const void *, commands->buffer_count + 1);
    for (size_t i = 0; member->expected && i < commands->buffer_count; i++) {
        const void *left = software_left(software, 0, i);
        uint8_t *copy = left ? ARENA_ARRAY(evaluation->result->arena, uint8_t, commands->buffers[i].bytes) : NULL;
        if (left && !copy)
            return CORUN_MEMORY;
        member->expected[i] = copy ? memcpy(copy, left, commands->buffers[i].bytes) : NULL;
    }
    return member->expected ? CORUN_OK : CORUN_MEMORY;
}

/* What a run leaves on a GPU that rounds in its own way: one run, alone, as the program has it. */
static enum corun_status learn_results(struct evaluation *evaluation, struct member *member)
{
    struct software_options options = evaluation_options(evaluation);
    struct software_application application = {.name = member->info.name, .commands = member->commands};
    struct software_limits limits = {.runs = 1, .progress = evaluation_progress, .user = evaluation};
    struct software_result result = {0};
    struct software *software;
    options.launching = SOFTWARE_WHOLE;
    options.keep = true;
    enum corun_status status = software_create(&options, &application, 1, evaluation->list, &software);
    if (status == CORUN_OK)
        status = software_run(software, &limits, evaluation->list);
    if (status == CORUN_OK) {
        software_result(software, 0, &result);
        status = result.status;
    }
    if (status == CORUN_OK && !evaluation->interrupted)
        status = copy_results(evaluation, member, software);
    software_destroy(software);
    return result.status == CORUN_OK
               ? status
               : corun_report(evaluation->list, status, CORUN_NOWHERE, "%s alone: %s", member->info.name,
                              result.failure ? result.failure : "it stood still");
}

/* What a rate depends on. False when out of memory. */
static bool make_key(const struct evaluation *evaluation, const struct member *member, uint32_t sms, uint64_t window_ns,
                     struct content_key *key)
{
    struct content_digest *digest = content_digest_create();
    if (!digest)
        return false;
    content_digest_add(digest, "kind", "alone through a driver", 22);
    enum corun_status status = baseline_digest_workload(digest, member->workload, evaluation->job->seed);
    baseline_digest_gpu(digest, evaluation->job->gpu);
    content_digest_add_number(digest, "sms", sms);
    content_digest_add_number(digest, "window", window_ns);
    content_digest_add_number(digest, "runs", evaluation->job->runs);
    *key = content_digest_end(digest);
    return status == CORUN_OK;
}

/* What is kept of a run alone: of one as the program has it also how long launches take. */
static void keep_rate(const struct evaluation *evaluation, const struct member *member, uint32_t sms, double rate,
                      const struct content_key *key)
{
    json_t *values = json_pack("{s:f}", "rate", rate), *launches = json_array();
    for (uint32_t i = 0; i < member->launch_count && !sms; i++)
        json_array_append_new(launches, json_integer((json_int_t)member->launch_ns[i]));
    json_object_set_new(values, "launches", launches);
    cache_store(evaluation->job->cache_directory, key, member->info.name, values, evaluation->list);
    json_decref(values);
}

/* 0: nothing is kept, or not all that is wanted. */
static double take_rate(const struct evaluation *evaluation, struct member *member, uint32_t sms,
                        const struct content_key *key)
{
    json_t *kept = cache_load(evaluation->job->cache_directory, key, evaluation->list);
    const json_t *launches = json_object_get(kept, "launches");
    double rate = json_number_value(json_object_get(kept, "rate"));
    uint32_t count = (uint32_t)json_array_size(launches);
    uint64_t *times = !sms && count ? ARENA_ARRAY(evaluation->result->arena, uint64_t, count) : NULL;
    for (uint32_t i = 0; times && i < count; i++) {
        json_int_t time = json_integer_value(json_array_get(launches, i));
        times[i] = time > 0 ? (uint64_t)time : 0;
    }
    if (times) {
        member->launch_ns = times;
        member->launch_count = count;
    }
    json_decref(kept);
    return sms || times ? rate : 0;
}

static enum corun_status find_rate(struct evaluation *evaluation, struct member *member, uint32_t sms,
                                   uint64_t window_ns, double *rate)
{
    const char *folder = evaluation->request->native ? NULL : evaluation->job->cache_directory;
    struct content_key key;
    if (folder && !make_key(evaluation, member, sms, window_ns, &key))
        return CORUN_MEMORY;
    *rate = folder ? take_rate(evaluation, member, sms, &key) : 0;
    if (*rate > 0)
        return CORUN_OK;
    enum corun_status status = run_alone(evaluation, member, sms, window_ns, rate);
    if (status == CORUN_OK && folder && *rate > 0 && !evaluation->interrupted)
        keep_rate(evaluation, member, sms, *rate, &key);
    return status;
}

static uint64_t parameter(const struct corun_case *job, const char *name)
{
    for (uint32_t p = 0; p < job->policy->parameter_count; p++)
        if (!strcmp(job->policy->parameters[p].name, name))
            return (uint64_t)(job->parameters ? job->parameters[p] : job->policy->parameters[p].initial);
    return 0;
}

/* Number `i` of `points` that are spread from 1 to all. */
static uint32_t point(uint64_t i, uint64_t points, uint32_t all)
{
    return (uint32_t)(1 + (i * (all - 1) + (points - 1) / 2) / (points - 1));
}

/* With 1 to all SMs over one; between the points the curve is linear. */
static enum corun_status draw_curve(struct evaluation *evaluation, struct member *member)
{
    const struct corun_case *job = evaluation->job;
    uint32_t all = evaluation->device.sms, last = 0;
    uint64_t window = parameter(job, "window"), points = parameter(job, "points");
    uint64_t window_ns = to_nanoseconds(evaluation, window ? window : job->cycles);
    double *curve = ARENA_ARRAY(evaluation->result->arena, double, all + 1);
    enum corun_status status = curve ? CORUN_OK : CORUN_MEMORY;
    points = !points || points > all ? all : points < 2 && all > 1 ? 2 : points;
    for (uint64_t i = 0; i < points && status == CORUN_OK && !evaluation->interrupted; i++) {
        uint32_t sms = points > 1 ? point(i, points, all) : 1;
        status = find_rate(evaluation, member, sms, window_ns, &curve[sms]);
        for (uint32_t k = last + 1; last && k < sms; k++)
            curve[k] = curve[last] + (curve[sms] - curve[last]) * (k - last) / (sms - last);
        last = sms;
    }
    for (uint32_t sms = all; sms > 0 && status == CORUN_OK; sms--)
        curve[sms] /= curve[1];
    member->speedup = curve + 1;
    member->speedup_count = all;
    return status;
}

static bool is_wanted(const struct evaluation *evaluation, const struct member *member)
{
    const struct corun_case *job = evaluation->job;
    bool loaded = evaluation->request->load > 0 && member == &evaluation->members[0];
    return loaded || !job->no_baselines || member->request->goal == CORUN_GOAL_FRACTION ||
           (job->policy && job->policy->needs_isolated_ipc);
}

enum corun_status alone_measure(struct evaluation *evaluation)
{
    const struct corun_case *job = evaluation->job;
    double begin = evaluation_clock();
    enum corun_status status = CORUN_OK;
    for (uint32_t i = 0; i < evaluation->count && status == CORUN_OK && !evaluation->interrupted; i++) {
        struct member *member = &evaluation->members[i], *owner = owner_of(member);
        evaluation->stage = arena_format(evaluation->result->arena, "isolated %s", owner->info.name);
        if (is_wanted(evaluation, member) && !(owner->rate > 0))
            status = find_rate(evaluation, owner, 0, to_nanoseconds(evaluation, job->cycles), &owner->rate);
        if (status == CORUN_OK && evaluation->request->check && evaluation->request->native && !owner->expected)
            status = learn_results(evaluation, owner);
        if (status == CORUN_OK && job->policy && job->policy->needs_speedup && !owner->speedup)
            status = draw_curve(evaluation, owner);
        member->rate = owner->rate;
        member->launch_ns = owner->launch_ns;
        member->launch_count = owner->launch_count;
        member->speedup = owner->speedup;
        member->speedup_count = owner->speedup_count;
    }
    evaluation->alone_seconds = evaluation_clock() - begin;
    return status;
}
