/* SPDX-License-Identifier: MIT */
/* Settings from the environment: GPUs, and how they run. */
#include "cuda/settings.h"

#include "base/duration.h"
#include "cuda/device.h"
#include "cuda/process.h"
#include "cuda/remote.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_GPU "gtx980"
#define PATH_BYTES 4096

/* The data of the installation or the build that this library is part of. */
static bool find_data(char *path, size_t bytes)
{
    static const char *const places[] = {"data", "../data", "../share/corun", "../../share/corun"};
    const char *given = getenv(setting_DATA);
    if (given && *given)
        return (size_t)snprintf(path, bytes, "%s", given) < bytes;
    Dl_info library;
    if (!dladdr((void *)(uintptr_t)settings_read, &library) || !library.dli_fname)
        return false;
    char real[PATH_BYTES];
    if (!realpath(library.dli_fname, real))
        return false;
    char *slash = strrchr(real, '/');
    if (slash)
        *slash = 0;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        char probe[2 * PATH_BYTES];
        snprintf(probe, sizeof probe, "%s/%s/gpu", real, places[i]);
        if (access(probe, R_OK) == 0)
            return (size_t)snprintf(path, bytes, "%s/%s", real, places[i]) < bytes;
    }
    return false;
}

static bool add_device(struct process *process, const char *specification, const char *data)
{
    if (process->device_count == MAX_DEVICES)
        return corun_report(process->list, CORUN_LIMIT, CORUN_NOWHERE, "more than %u GPUs", MAX_DEVICES) == CORUN_OK;
    struct device *device = &process->devices[process->device_count];
    if (corun_gpu_config_load(specification, data, process->list, &device->config) != CORUN_OK ||
        corun_gpu_config_check(&device->config, process->list) != CORUN_OK)
        return false;
    device->ordinal = process->device_count++;
    return true;
}

/* CUDA_VISIBLE_DEVICES: numbers; the first one that does not exist ends the list. */
static void choose_visible(struct process *process)
{
    const char *text = getenv("CUDA_VISIBLE_DEVICES");
    if (!text)
        return;
    struct corun_gpu_config chosen[MAX_DEVICES];
    uint32_t count = 0;
    bool taken[MAX_DEVICES] = {false};
    while (*text && count < MAX_DEVICES) {
        char *end;
        long number = strtol(text, &end, 10);
        if (end == text || number < 0 || number >= (long)process->device_count || taken[number])
            break;
        taken[number] = true;
        chosen[count++] = process->devices[number].config;
        text = end;
        while (*text == ' ' || *text == ',')
            text++;
    }
    for (uint32_t i = 0; i < count; i++)
        process->devices[i].config = chosen[i];
    process->device_count = count;
}

/* The GPU of a daemon: what is about the machine itself has been said there. */
static bool join_daemon(struct process *process, const char *path)
{
    static const char *const others[] = {
        setting_GPU, setting_CAPTURE, setting_THREADS, setting_KERNEL_TIMEOUT, setting_SAMPLE, NULL};
    for (size_t i = 0; others[i]; i++) {
        const char *value = getenv(others[i]);
        if (value && *value) {
            corun_report(process->list, CORUN_USAGE, CORUN_NOWHERE, "the GPU is that of corund (%s): unset %s",
                         setting_DAEMON, others[i]);
            return false;
        }
    }
    /* A list of GPUs that begins with none: the program is to see none. */
    const char *visible = getenv("CUDA_VISIBLE_DEVICES"), *wanted = getenv(setting_DAEMON_GPU);
    if (visible && !(wanted && *wanted) && !isdigit((unsigned char)*visible))
        return true;
    process->remote = remote_join(path, process->list, &process->devices[0].config);
    process->device_count = process->remote ? 1 : 0;
    return process->remote != NULL;
}

/* The GPUs of this process, as they are described in the data. */
static bool make_devices(struct process *process)
{
    char data[PATH_BYTES];
    if (!find_data(data, sizeof data)) {
        corun_report(process->list, CORUN_NOT_FOUND, CORUN_NOWHERE,
                     "the folder of GPU descriptions is not where the library expects it; set %s", setting_DATA);
        return false;
    }
    const char *given = getenv(setting_GPU);
    char *list = strdup(given && *given ? given : DEFAULT_GPU), *rest = NULL;
    bool good = list != NULL;
    for (char *one = good ? strtok_r(list, ";", &rest) : NULL; one && good; one = strtok_r(NULL, ";", &rest))
        good = add_device(process, one, data);
    free(list);
    return good;
}

bool settings_read(struct process *process)
{
    const char *daemon = getenv(setting_DAEMON);
    bool shared = daemon && *daemon;
    if (!(shared ? join_daemon(process, daemon) : make_devices(process)))
        return false;
    if (!shared) /* else corund has been asked for it */
        choose_visible(process);
    const char *functional = getenv(setting_FUNCTIONAL), *threads = getenv(setting_THREADS);
    const char *checks = getenv(setting_CHECK);
    if (checks && *checks && !corun_checks_parse(checks, &process->checks)) {
        corun_report(process->list, CORUN_USAGE, CORUN_NOWHERE, "%s: `%s` is no list of checks", setting_CHECK, checks);
        return false;
    }
    const char *timeout = getenv(setting_KERNEL_TIMEOUT);
    if (timeout && *timeout && !simulated_duration_parse(timeout, &process->kernel_timeout)) {
        corun_report(process->list, CORUN_USAGE, CORUN_NOWHERE,
                     "%s is a time like 10ms or a number of cycles, not `%s`", setting_KERNEL_TIMEOUT, timeout);
        return false;
    }
    const char *patience = getenv(setting_PATIENCE);
    process->patience_microseconds = 3000000;
    if (patience && *patience && !brief_duration_parse(patience, &process->patience_microseconds)) {
        corun_report(process->list, CORUN_USAGE, CORUN_NOWHERE, "%s is a time like 50ms or 3s, not `%s`",
                     setting_PATIENCE, patience);
        return false;
    }
    const char *costs = getenv(setting_LAUNCH_COSTS);
    process->launch_costs = costs && strcmp(costs, "1") == 0;
    const char *slice = getenv(setting_SLICE);
    if (slice && *slice && !slicing_parse(slice, &process->parting.slicing)) {
        corun_report(process->list, CORUN_USAGE, CORUN_NOWHERE,
                     "%s is a number of thread blocks like 16, or a part of each grid like 1/3, not `%s`",
                     setting_SLICE, slice);
        return false;
    }
    const char *workers = getenv(setting_WORKERS);
    if (workers && *workers && !crewing_parse(workers, &process->parting.crewing)) {
        corun_report(process->list, CORUN_USAGE, CORUN_NOWHERE, "%s is a seed, a number, not `%s`", setting_WORKERS,
                     workers);
        return false;
    }
    if (slicing_is_on(&process->parting.slicing) && process->parting.crewing.on) {
        corun_report(process->list, CORUN_USAGE, CORUN_NOWHERE, "a launch runs in slices or by workers: unset %s or %s",
                     setting_SLICE, setting_WORKERS);
        return false;
    }
    const char *region = getenv(setting_REGION);
    if (region && *region && !region_parse(region, &process->region)) {
        corun_report(process->list, CORUN_USAGE, CORUN_NOWHERE,
                     "%s is like profiler;launch=3-5;kernel=NAME or a part of that, not `%s`", setting_REGION, region);
        return false;
    }
    const char *sample = getenv(setting_SAMPLE);
    process->samples = sample && *sample;
    if (process->samples && corun_sampling_parse(sample, setting_SAMPLE, process->list, &process->sampling) != CORUN_OK)
        return false;
    const char *capture = getenv(setting_CAPTURE);
    if (parting_pass(&process->parting) && capture && *capture) {
        corun_report(process->list, CORUN_USAGE, CORUN_NOWHERE, "%s: what is captured runs whole; unset %s",
                     setting_CAPTURE, process->parting.crewing.on ? setting_WORKERS : setting_SLICE);
        return false;
    }
    const char *profile = getenv(setting_PROFILE);
    process->profiles = profile && strcmp(profile, "1") == 0;
    process->functional = functional && strcmp(functional, "1") == 0;
    process->threads = threads ? (uint32_t)strtoul(threads, NULL, 10) : 1;
    if (process->threads < 1 || process->threads > 1000)
        process->threads = 1;
    return true;
}
