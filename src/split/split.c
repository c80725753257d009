/* SPDX-License-Identifier: MIT */
/* The public face: a split from its description to its end. */
#include "split/engine.h"
#include "split/gpu.h"
#include "split/repeat.h"
#include "split/settings.h"
#include "split/strategy.h"
#include "split/team.h"

#include <math.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HOST_FOR_ALL_CONTEXTS = 1 };
enum { MOST_THREADS = 65536 }; /* more are a mistake, and would take the machine's processes with them */

static enum corun_status wrong(const struct corun_split_task *task, const char *what, const char *name,
                               struct corun_diagnostics *diagnostics)
{
    return corun_report(diagnostics, CORUN_ARGUMENT, CORUN_NOWHERE, "task %s: %s%s%s", task->name ? task->name : "?",
                        what, name ? " " : "", name ? name : "");
}

/* Two buffers share bytes, and parts write one of them: a GPU would have two copies of these. */
static bool is_shared(const struct corun_split_buffer *a, const struct corun_split_buffer *b)
{
    uintptr_t first = (uintptr_t)a->data, second = (uintptr_t)b->data;
    bool written = a->access != CORUN_SPLIT_READ || b->access != CORUN_SPLIT_READ;
    return written && a->bytes && b->bytes && first < second + b->bytes && second < first + a->bytes;
}

static enum corun_status check_buffers(const struct corun_split_task *task, struct corun_diagnostics *diagnostics)
{
    if (task->buffer_count && !task->buffers)
        return wrong(task, "the buffers are missing", NULL, diagnostics);
    for (uint32_t i = 0; i < task->buffer_count; i++) {
        const struct corun_split_buffer *buffer = &task->buffers[i];
        if (!buffer->name || (buffer->bytes && !buffer->data))
            return wrong(task, "a buffer has no name or no data:", buffer->name, diagnostics);
        if (buffer->access > CORUN_SPLIT_READ_WRITE)
            return wrong(task, "there is no such access as that to", buffer->name, diagnostics);
        if (buffer->access != CORUN_SPLIT_READ && buffer_is_whole(buffer))
            return wrong(task, "which bytes does a part write of", buffer->name, diagnostics);
        if (!buffer->range && buffer->iteration_bytes && buffer->bytes / buffer->iteration_bytes < task->iterations)
            return wrong(task, "too few bytes for all iterations in", buffer->name, diagnostics);
        for (uint32_t j = 0; j < i; j++)
            if (is_shared(buffer, &task->buffers[j]))
                return corun_report(
                    diagnostics, CORUN_ARGUMENT, CORUN_NOWHERE,
                    "task %s: buffers %s and %s share memory, and parts write it: make them one, READ_WRITE",
                    task->name, task->buffers[j].name, buffer->name);
    }
    return CORUN_OK;
}

static enum corun_status check_task(const struct corun_split_task *task, const struct corun_split_options *options,
                                    struct corun_diagnostics *diagnostics)
{
    if (!task->name)
        return wrong(task, "it has no name", NULL, diagnostics);
    if (!task->cpu && !options->rates && !options->no_cpu)
        return wrong(task, "the function for the CPU is missing", NULL, diagnostics);
    if (options->rates && (!options->rate_count || options->rate_count > CORUN_SPLIT_MAX_DEVICES))
        return wrong(task, "there are 1 to 17 tables of rates", NULL, diagnostics);
    if (options->clock > CORUN_SPLIT_CLOCK_SIMULATED)
        return wrong(task, "there is no such clock", NULL, diagnostics);
    if (options->threads > MOST_THREADS && options->threads != CORUN_SPLIT_ALL)
        return wrong(task, "a CPU has at most 65536 threads", NULL, diagnostics);
    if (!(task->gpu_blocks >= 0) || isinf(task->gpu_blocks))
        return wrong(task, "gpu_blocks is a number of thread blocks, or 0", NULL, diagnostics);
    return check_buffers(task, diagnostics);
}

/* The processor's name, or "CPU". */
static char *processor_name(void)
{
    char line[256], *name = NULL;
    FILE *file = fopen("/proc/cpuinfo", "re");
    while (file && !name && fgets(line, sizeof line, file)) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) || !colon)
            continue;
        line[strcspn(line, "\n")] = '\0';
        name = strdup(colon + 1 + strspn(colon + 1, " "));
    }
    if (file)
        fclose(file);
    return name ? name : strdup("CPU");
}

static uint32_t processors(void)
{
    cpu_set_t allowed;
    return sched_getaffinity(0, sizeof allowed, &allowed) || CPU_COUNT(&allowed) < 1 ? 1
                                                                                     : (uint32_t)CPU_COUNT(&allowed);
}

static enum corun_status copy_task(struct corun_split *split, const struct corun_split_task *task)
{
    struct corun_split_buffer *buffers = calloc(task->buffer_count ? task->buffer_count : 1, sizeof *buffers);
    split->task = *task;
    split->task.buffers = buffers;
    split->task.granularity = task->granularity ? task->granularity : 1;
    split->may_race = true;
    for (uint32_t i = 0; i < task->buffer_count; i++)
        split->may_race = split->may_race && task->buffers[i].access != CORUN_SPLIT_READ_WRITE;
    for (uint32_t i = 0; i < task->buffer_count; i++) {
        bool reads = task->buffers[i].access != CORUN_SPLIT_WRITE && !buffer_is_whole(&task->buffers[i]);
        split->reads = split->reads || reads;
        split->keeps = split->keeps || (reads && task->buffers[i].kept);
    }
    if (buffers && task->buffer_count)
        memcpy(buffers, task->buffers, task->buffer_count * sizeof *buffers);
    return buffers ? CORUN_OK : CORUN_MEMORY;
}

/* What the options say, and then the environment. */
static enum corun_status read_settings(const struct corun_split_options *options, struct settings *settings,
                                       struct corun_diagnostics *diagnostics)
{
    *settings =
        (struct settings){.threads = options->no_cpu    ? 0
                                     : options->threads ? options->threads
                                                        : CORUN_SPLIT_ALL,
                          .gpus = options->no_gpu ? 0
                                  : options->gpus ? options->gpus
                                                  : CORUN_SPLIT_ALL,
                          .clock = options->clock,
                          .parameters = options->parameters ? *options->parameters : settings_default_parameters()};
    const char *name = options->strategy ? options->strategy : "meet", *text = getenv(SPLIT_SETTING);
    if (options->function)
        name = "";
    else if (strlen(name) >= sizeof settings->strategy || !corun_split_strategy_find(name))
        return corun_report(diagnostics, CORUN_NOT_FOUND, CORUN_NOWHERE, "there is no strategy `%s`", name);
    snprintf(settings->strategy, sizeof settings->strategy, "%s", name);
    enum corun_status status = text && !options->rates ? split_settings_read(settings, text, diagnostics) : CORUN_OK;
    return status == CORUN_OK ? settings_check(&settings->parameters, diagnostics) : status;
}

static enum corun_status open_gpus(struct corun_split *split, uint32_t most, struct corun_diagnostics *diagnostics)
{
    if (!most || !split->task.gpu)
        return CORUN_OK;
    split->driver = calloc(1, sizeof *split->driver);
    if (!split->driver)
        return CORUN_MEMORY;
    if (!gpu_find_driver(split->driver)) {
        free(split->driver);
        split->driver = NULL;
        return CORUN_OK;
    }
    most = most < split->driver->count ? most : split->driver->count;
    most = most < MAX_GPUS ? most : MAX_GPUS;
    while (split->gpu_count < most) {
        struct corun_split_gpu *gpu = NULL;
        enum corun_status status =
            gpu_open(split->driver, split->gpu_count, &split->task, &split->parameters, &gpu, diagnostics);
        split->gpus[split->gpu_count] = gpu;
        split->gpu_count += gpu != NULL;
        if (status != CORUN_OK)
            return status;
    }
    return CORUN_OK;
}

/* Once; what the driver does not take (memory that can only be read, or that is pinned) is moved as it is. */
static void pin_buffers(struct corun_split *split)
{
    if (!split->gpu_count || gpu_failure(split->gpus[0]))
        return;
    void *outside = gpu_enter(split->gpus[0]);
    for (uint32_t i = 0; i < split->task.buffer_count; i++) {
        const struct corun_split_buffer *buffer = &split->task.buffers[i];
        split->pinned[i] =
            buffer->bytes && !split->driver->host_register(buffer->data, buffer->bytes, HOST_FOR_ALL_CONTEXTS);
    }
    gpu_leave(split->gpus[0], outside);
}

static enum corun_status create_devices(struct corun_split *split, const struct settings *settings,
                                        struct corun_diagnostics *diagnostics)
{
    uint32_t threads = settings->threads == CORUN_SPLIT_ALL ? processors() : settings->threads;
    enum corun_status status = open_gpus(split, settings->gpus, diagnostics);
    if (status != CORUN_OK)
        return status;
    split->has_cpu = threads && split->task.cpu;
    split->threads = split->has_cpu ? threads : 0;
    split->device_count = 1 + split->gpu_count;
    if (!split->has_cpu && !split->gpu_count)
        return corun_report(diagnostics, CORUN_NOT_FOUND, CORUN_NOWHERE,
                            "task %s: there is no GPU, and the CPU takes no part", split->task.name);
    split->simulated = split->driver && split->gpu_count &&
                       (settings->clock == CORUN_SPLIT_CLOCK_SIMULATED ||
                        (settings->clock == CORUN_SPLIT_CLOCK_AUTO && split->driver->simulated));
    split->names[CPU] = processor_name();
    for (uint32_t i = 0; i < split->gpu_count; i++)
        split->names[1 + i] = strdup(gpu_name(split->gpus[i]));
    pin_buffers(split);
    if (split->has_cpu) {
        split->team = split_team_create(threads, split->simulated, split->gpu_count && !split->simulated,
                                        split->parameters.chunk_us * 1e-6, &split->task);
        if (!split->team)
            return corun_report(diagnostics, CORUN_MEMORY, CORUN_NOWHERE,
                                "task %s: no %u threads can be made for the CPU", split->task.name, threads);
    }
    for (uint32_t i = 0; i < split->gpu_count; i++) {
        split->handing[1 + i] = gpu_handing(split->gpus[i]);
        bool asks = split->may_race || strategy_fetches(split->strategy);
        split->latency[1 + i] = split->has_cpu && asks ? gpu_latency(split->gpus[i]) : 0;
    }
    split->executor = split->simulated ? virtual_create(split) : wall_create(split);
    return split->executor ? CORUN_OK : CORUN_MEMORY;
}

static enum corun_status create_tables(struct corun_split *split, const struct corun_split_options *options)
{
    size_t count = options->rate_count;
    split->rates = malloc(count * sizeof *split->rates);
    if (!split->rates)
        return CORUN_MEMORY;
    memcpy(split->rates, options->rates, count * sizeof *split->rates);
    split->device_count = options->rate_count;
    split->has_cpu = split->rates[CPU].seconds != NULL;
    split->threads = split->has_cpu;
    for (uint32_t d = 0; d < split->device_count; d++)
        split->latency[d] = split->rates[d].back;
    for (uint32_t d = 0; d < split->device_count; d++)
        split->names[d] = strdup(split->rates[d].name ? split->rates[d].name : d ? "GPU" : "CPU");
    split->executor = virtual_create(split);
    return split->executor ? CORUN_OK : CORUN_MEMORY;
}

static bool may_fetch(const struct corun_split_task *task)
{
    bool any = false;
    for (uint32_t i = 0; i < task->buffer_count; i++)
        any = any || buffer_is_fetchable(&task->buffers[i]);
    return any;
}

static enum corun_status create(struct corun_split *split, const struct corun_split_task *task,
                                const struct corun_split_options *options, struct corun_diagnostics *diagnostics)
{
    struct settings settings;
    enum corun_status status = check_task(task, options, diagnostics);
    if (status == CORUN_OK)
        status = copy_task(split, task);
    if (status == CORUN_OK)
        status = read_settings(options, &settings, diagnostics);
    if (status != CORUN_OK)
        return status;
    const char *record = getenv(SPLIT_RECORD);
    split->record = record && *record ? strdup(record) : NULL;
    split->parameters = settings.parameters;
    split->strategy_name = strdup(*settings.strategy  ? settings.strategy
                                  : options->strategy ? options->strategy
                                                      : "own");
    split->strategy = *settings.strategy ? corun_split_strategy_find(settings.strategy) : options->function;
    split->strategy_user = options->strategy_user;
    if (!may_fetch(task)) /* a GPU's share cannot grow that way */
        split->parameters.ahead = 0;
    split->ahead = split->parameters.ahead > 0 && strategy_fetches(split->strategy);
    split->pinned = calloc(task->buffer_count ? task->buffer_count : 1, sizeof *split->pinned);
    if (!split->strategy_name || !split->pinned || (record && *record && !split->record))
        return CORUN_MEMORY;
    status = options->rates ? create_tables(split, options) : create_devices(split, &settings, diagnostics);
    struct corun_split_result *result = &split->result;
    *result = (struct corun_split_result){.task = split->task.name,
                                          .strategy = split->strategy_name,
                                          .simulated = split->simulated,
                                          .deterministic = split->rates != NULL,
                                          .iterations = task->iterations,
                                          .device_count = split->device_count};
    for (uint32_t d = 0; d < split->device_count && status == CORUN_OK; d++) {
        const char *failure = d && split->gpu_count ? gpu_failure(split->gpus[d - 1]) : NULL;
        split->usable[d] = (d || split->has_cpu) && !failure;
        result->devices[d] = (struct corun_split_device_result){.name = split->names[d], .failure = failure};
        status = split->names[d] ? CORUN_OK : CORUN_MEMORY;
    }
    return status;
}

enum corun_status corun_split_create(const struct corun_split_task *task, const struct corun_split_options *options,
                                     struct corun_split **result, struct corun_diagnostics *diagnostics)
{
    static const struct corun_split_options defaults = {0};
    struct corun_split *split = *result = calloc(1, sizeof *split);
    if (!split)
        return CORUN_MEMORY;
    enum corun_status status = create(split, task, options ? options : &defaults, diagnostics);
    if (status != CORUN_OK) {
        corun_split_destroy(split);
        *result = NULL;
    }
    return status;
}

static void unpin_buffers(struct corun_split *split)
{
    if (!split->gpu_count || !split->pinned)
        return;
    void *outside = gpu_enter(split->gpus[0]);
    for (uint32_t i = 0; i < split->task.buffer_count; i++)
        if (split->pinned[i])
            (void)split->driver->host_unregister(split->task.buffers[i].data);
    gpu_leave(split->gpus[0], outside);
}

void corun_split_destroy(struct corun_split *split)
{
    if (!split)
        return;
    bool ended = !split->executor || split->executor->operations->destroy(split->executor);
    split_team_destroy(split->team);
    if (!ended) /* a GPU that does not answer may still use the rest */
        return;
    unpin_buffers(split);
    for (uint32_t i = 0; i < split->gpu_count; i++)
        gpu_close(split->gpus[i]);
    for (uint32_t d = 0; d < CORUN_SPLIT_MAX_DEVICES; d++)
        free(split->names[d]);
    ranges_free(&split->left);
    for (uint32_t d = 0; d < CORUN_SPLIT_MAX_DEVICES; d++)
        ranges_free(&split->computed[d]);
    vector_free(&split->steps);
    free((void *)split->task.buffers);
    free(split->driver);
    free(split->rates);
    free(split->pinned);
    free(split->record);
    free(split->strategy_name);
    free(split);
}

/* What the parts of a run have written is on the host; GPUs other than the one that wrote it have old bytes. */
static void note_writes(struct corun_split *split)
{
    for (size_t i = 0; i < split->steps.count; i++) {
        for (uint32_t d = 0; d < split->device_count; d++) {
            const struct corun_split_part *part = &split->steps.data[i].part[d];
            for (uint32_t g = 0; g < split->gpu_count && part->done; g++) {
                if (g + 1 == d)
                    gpu_wrote(split->gpus[g], part->begin, part->begin + part->done);
                else
                    gpu_overwritten(split->gpus[g], part->begin, part->begin + part->done);
            }
        }
    }
}

static enum corun_status run(struct corun_split *split, struct corun_diagnostics *diagnostics)
{
    for (uint32_t g = 0; g < split->gpu_count; g++)
        gpu_begin_run(split->gpus[g]);
    enum corun_status status = run_task(split, diagnostics);
    note_writes(split);
    if (status != CORUN_OK)
        return status;
    learn(split);
    return record_run(split, diagnostics);
}

enum corun_status corun_split_run(struct corun_split *split, struct corun_diagnostics *diagnostics)
{
    if (atomic_exchange(&split->running, true)) /* its functions would wait for a run that waits for them */
        return wrong(&split->task,
                     "it is run already, by another thread, or by the one whose function asks for this run", NULL,
                     diagnostics);
    enum corun_status status = run(split, diagnostics);
    atomic_store(&split->running, false);
    return status;
}

bool corun_split_unneeded(const struct corun_split *split, unsigned thread)
{
    return split && split->team && split_team_unneeded(split->team, thread);
}

void corun_split_changed(struct corun_split *split, uint32_t buffer, size_t offset, size_t bytes)
{
    for (uint32_t g = 0; g < split->gpu_count && buffer < split->task.buffer_count; g++)
        gpu_host_changed(split->gpus[g], buffer, offset, bytes);
}

enum corun_status corun_split_set_iterations(struct corun_split *split, uint64_t iterations)
{
    if (iterations > split->task.iterations)
        return CORUN_ARGUMENT;
    split->result.iterations = iterations;
    return CORUN_OK;
}

const struct corun_split_result *corun_split_result(const struct corun_split *split)
{
    return &split->result;
}

uint32_t corun_split_threads(const struct corun_split *split)
{
    return split->threads;
}

uint32_t corun_split_gpus(const struct corun_split *split)
{
    return split->gpu_count;
}
