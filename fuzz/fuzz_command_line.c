/* SPDX-License-Identifier: MIT */
/*
 * libFuzzer: a text as everything that people write on a command line: applications with their goals, policies with
 * their parameters, kernel schedulers with theirs, dimensions, counts, traces, and the arguments of a launch.
 */
#include "case/argument.h"
#include "case/specification.h"
#include "serve/scheduler.h"
#include "share/parameter_words.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds)
        abort();
}

static void read_application(const char *text, struct arena *arena, struct corun_diagnostics *list)
{
    struct corun_case_application application;
    check(specify_workload_length(text) <= strlen(text));
    if (specify_application(text, arena, list, &application) != CORUN_OK)
        return;
    check(application.workload[0] && isfinite(application.goal_value) && application.goal_value >= 0);
    check(isfinite(application.transfer_milliseconds) && application.transfer_milliseconds >= 0);
}

static void read_policy(const char *text, struct arena *arena, struct corun_diagnostics *list)
{
    const struct corun_policy *policy;
    const double *values;
    char written[64];
    if (strchr(text, '/') && strstr(text, ".so")) /* load no files */
        return;
    if (specify_policy(text, arena, list, &policy, &values) != CORUN_OK || !policy)
        return;
    for (uint32_t p = 0; p < policy->parameter_count;) {
        struct parameter_group group = parameter_group_at(policy->parameters, policy->parameter_count, p);
        parameter_group_text(policy->parameters, &group, values, written, sizeof written);
        for (uint32_t end = p + group.count; p < end; p++)
            check(values[p] >= policy->parameters[p].lowest && values[p] <= policy->parameters[p].highest);
    }
}

static void read_scheduler(const char *text, struct arena *arena, struct corun_diagnostics *list)
{
    struct serve_scheduler scheduler;
    if (strchr(text, '/')) /* load no files */
        return;
    if (specify_scheduler(text, arena, list, &scheduler) != CORUN_OK)
        return;
    for (uint32_t p = 0; p < scheduler.scheduler->parameter_count; p++) {
        const struct corun_policy_parameter *row = &scheduler.scheduler->parameters[p];
        check(scheduler.parameters[p] >= row->lowest && scheduler.parameters[p] <= row->highest);
    }
}

static void read_argument(const char *text, struct arena *arena, struct corun_diagnostics *list)
{
    struct argument argument;
    if (strchr(text, '@')) /* open no files */
        return;
    if (argument_parse(text, arena, list, &argument) != CORUN_OK)
        return;
    check(argument.kind != ARGUMENT_BUFFER || argument.bytes);
    check(argument.kind != ARGUMENT_U32 || argument.bits <= UINT32_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct corun_diagnostics *list = corun_diagnostics_create();
    struct arena *arena = arena_create();
    struct corun_dim3 dimensions;
    const char *file;
    uint64_t first, last, number;
    char *text = calloc(1, size + 1);
    check(list && arena && text);
    if (size)
        memcpy(text, data, size);
    read_application(text, arena, list);
    read_policy(text, arena, list);
    read_scheduler(text, arena, list);
    read_argument(text, arena, list);
    if (specify_dimensions(text, "--grid", list, &dimensions) == CORUN_OK)
        check(dimensions.x && dimensions.y && dimensions.z);
    if (specify_number(text, "--cycles", 1000, 7, UINT32_MAX, list, &number) == CORUN_OK)
        check(number >= 7 && number <= UINT32_MAX);
    if (specify_trace(text, "--trace", arena, list, &file, &first, &last) == CORUN_OK)
        check(file[0] && first <= last);
    struct corun_sampling sampling;
    if (corun_sampling_parse(text, "--sample", list, &sampling) == CORUN_OK)
        check(sampling.error >= 1 && sampling.error <= 1000000 && sampling.every >= 1);
    free(text);
    arena_destroy(arena);
    corun_diagnostics_destroy(list);
    return 0;
}
