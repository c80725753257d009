/* SPDX-License-Identifier: MIT */
/*
 * libFuzzer: a text as what options and variables of the environment hold (durations, slices, workers and regions of `corun exec`, policies of a
 * host, settings of a queue), and as what Linux says of processes and of their control groups.
 */
#include "base/duration.h"
#include "base/process_stat.h"
#include "cuda/crew.h"
#include "cuda/region.h"
#include "cuda/slicing.h"
#include "daemon/cgroup.h"
#include "host/study.h"
#include "rewrite/slice.h"
#include "serve/setting.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds)
        abort();
}

static void read_durations(const char *text)
{
    struct simulated_duration simulated;
    uint64_t microseconds;
    double seconds;
    check(!duration_parse(text, &seconds) || (seconds >= 1 && seconds <= 1e9));
    check(!brief_duration_parse(text, &microseconds) || (microseconds >= 1000 && microseconds <= 3600000000));
    if (simulated_duration_parse(text, &simulated))
        check((simulated.cycles > 0) != (simulated.nanoseconds > 0) &&
              simulated_duration_cycles(&simulated, 1216000) >= 1);
}

static void read_regions(const char *text, const char *symbol)
{
    struct slicing slicing;
    struct crewing crewing;
    struct region region;
    if (slicing_parse(text, &slicing))
        check(slicing_is_on(&slicing) && !slicing.blocks != !slicing.part && slicing.blocks <= SLICE_MOST_BLOCKS);
    (void)crewing_parse(text, &crewing);
    if (!region_parse(text, &region))
        return;
    check(region.on && region.first <= region.last && memchr(region.kernel, 0, sizeof region.kernel));
    for (int launch = 0; launch < 3; launch++)
        (void)region_times(&region, symbol);
}

static void read_host_policy(const char *text, struct corun_diagnostics *list)
{
    struct host_setting setting = {0};
    if (host_policy_parse(text, corun_host_policy_at, list, &setting) != CORUN_OK)
        return;
    for (uint32_t i = 0; i < setting.policy->parameter_count; i++) {
        const struct corun_host_parameter *row = &setting.policy->parameters[i];
        check(row->choices ? setting.parameters[i] >= 0
                           : setting.parameters[i] >= row->lowest && setting.parameters[i] <= row->highest);
    }
}

/* NAME=VALUE. */
static void read_queue_setting(const char *text, struct corun_diagnostics *list)
{
    const char *value = strchr(text, '=');
    struct serve_request request;
    char name[16];
    if (!value || (size_t)(value - text) >= sizeof name)
        return;
    memcpy(name, text, (size_t)(value - text));
    name[value - text] = '\0';
    serve_initial(&request);
    if (serve_set(name, value + 1, list, &request) == CORUN_OK)
        check(isfinite(request.load.rate_per_second) && request.load.instances && request.slicing_cost >= 0);
}

static void read_process(const char *text, const char *pattern)
{
    struct process_stat stat;
    char path[CGROUP_BYTES];
    (void)process_stat_parse(text, &stat);
    if (cgroup_parse(text, path))
        check(path[0] == '/' && strlen(path) < sizeof path);
    else
        check(!path[0]);
    if (cgroup_is_pattern(pattern))
        check(cgroup_fits(pattern, path) <= strlen(path));
    if (cgroup_is_pattern(path) && !strpbrk(path, "*?[\\"))
        check(cgroup_fits(path, path) == strlen(path));
}

/* Two texts with a NUL between them, or one. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct corun_diagnostics *list = corun_diagnostics_create();
    char *text = calloc(1, size + 2);
    check(list && text);
    if (size)
        memcpy(text, data, size);
    const char *second = text + strlen(text) + 1;
    read_durations(text);
    read_regions(text, second);
    read_host_policy(text, list);
    read_queue_setting(text, list);
    read_process(text, second);
    free(text);
    corun_diagnostics_destroy(list);
    return 0;
}
