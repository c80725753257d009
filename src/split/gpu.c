/* SPDX-License-Identifier: MIT */
/* A GPU is opened and closed, launches kernels, and notes which bytes of its buffers are valid. */
#include "split/gpu_state.h"

#include "split/clock.h"
#include "split/file.h"
#include "split/repeat.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool gpu_find_driver(struct driver *driver)
{
    static const enum driver_entry needed[] = {
        DRIVER_device_get,      DRIVER_device_name,        DRIVER_device_attribute,  DRIVER_context_flags,
        DRIVER_context_retain,  DRIVER_context_release,    DRIVER_context_get,       DRIVER_context_set,
        DRIVER_memory_allocate, DRIVER_memory_free,        DRIVER_host_register,     DRIVER_host_unregister,
        DRIVER_copy_in,         DRIVER_copy_out,           DRIVER_stream_create,     DRIVER_stream_destroy,
        DRIVER_stream_wait,     DRIVER_stream_synchronize, DRIVER_event_create,      DRIVER_event_destroy,
        DRIVER_event_record,    DRIVER_event_query,        DRIVER_event_synchronize, DRIVER_event_elapsed,
        DRIVER_module_load,     DRIVER_module_unload,      DRIVER_module_function,   DRIVER_launch};
    return driver_open(driver, NULL, needed, sizeof needed / sizeof *needed, NULL) == CORUN_OK;
}

void *corun_split_gpu_stream(const struct corun_split_gpu *gpu)
{
    return gpu->work;
}

uint64_t corun_split_gpu_address(const struct corun_split_gpu *gpu, uint32_t buffer)
{
    return buffer < gpu->task->buffer_count ? gpu->mirrors[buffer].address : 0;
}

uint32_t corun_split_gpu_index(const struct corun_split_gpu *gpu)
{
    return gpu->index;
}

const char *gpu_name(const struct corun_split_gpu *gpu)
{
    return gpu->name;
}

uint64_t gpu_flat(const struct corun_split_gpu *gpu)
{
    return gpu->flat;
}

/* The iterations of so many thread blocks, in whole granules; they may be more than the task has. */
static uint64_t iterations_of(const struct corun_split_task *task, double blocks)
{
    double granules = ceil(blocks / task->gpu_blocks / (double)task->granularity), most = (double)(UINT64_MAX >> 12);
    return (uint64_t)fmin(granules, most / (double)task->granularity) * task->granularity;
}

uint64_t gpu_full(const struct corun_split_gpu *gpu)
{
    double resident = atomic_load_explicit(&gpu->resident, memory_order_relaxed);
    return gpu->multiprocessors ? iterations_of(gpu->task, gpu->multiprocessors * resident) : 0;
}

uint64_t gpu_piece(const struct corun_split_gpu *gpu)
{
    return gpu->piece;
}

uint64_t gpu_again(const struct corun_split_gpu *gpu)
{
    return gpu->again;
}

double gpu_handing(const struct corun_split_gpu *gpu)
{
    enum { CALLS = 4 }; /* a part waits for what it needs, has an event on both sides, and a launch */
    return CALLS * gpu->call_seconds;
}

/* The shortest of some copies: the first ones of a real driver take longer. 0: it has failed. */
static double shortest_copy(struct corun_split_gpu *gpu, unsigned long long to, const void *from, size_t bytes)
{
    enum { COPIES = 3 };
    double least = INFINITY;
    for (int i = 0; i < COPIES; i++) {
        float milliseconds = 0;
        if (!TRY(gpu, event_record(gpu->fetch_begin, gpu->in), "an event") ||
            !TRY(gpu, copy_in(to, from, bytes, gpu->in), "a copy") ||
            !TRY(gpu, event_record(gpu->fetch_end, gpu->in), "an event") ||
            !TRY(gpu, event_synchronize(gpu->fetch_end), "an event") ||
            !TRY(gpu, event_elapsed(&milliseconds, gpu->fetch_begin, gpu->fetch_end), "an event"))
            return 0;
        least = fmin(least, 1e-3 * (double)milliseconds);
    }
    return least;
}

double gpu_latency(struct corun_split_gpu *gpu)
{
    enum { BYTES = 8 };
    const struct corun_split_task *task = gpu->task;
    unsigned long long place = 0;
    uint32_t written = 0;
    while (written < task->buffer_count &&
           (task->buffers[written].access == CORUN_SPLIT_READ || task->buffers[written].bytes < BYTES))
        written++;
    if (written == task->buffer_count || gpu_failure(gpu))
        return 0;
    void *outside = gpu_enter(gpu);
    double seconds = 0;
    if (!gpu->driver->memory_allocate(&place, BYTES)) {
        seconds = shortest_copy(gpu, place, task->buffers[written].data, BYTES);
        (void)gpu->driver->memory_free(place);
    }
    gpu_leave(gpu, outside);
    return seconds;
}

/* The text does not change once it is there. */
const char *gpu_failure(struct corun_split_gpu *gpu)
{
    pthread_mutex_lock(&gpu->mutex);
    const char *failure = gpu->failure[0] ? gpu->failure : NULL;
    pthread_mutex_unlock(&gpu->mutex);
    return failure;
}

bool gpu_abandon(struct corun_split_gpu *gpu, const char *why)
{
    pthread_mutex_lock(&gpu->mutex);
    bool may = !gpu->writing;
    if (may && !gpu->failure[0])
        snprintf(gpu->failure, sizeof gpu->failure, "%s", why);
    pthread_mutex_unlock(&gpu->mutex);
    return may;
}

void *gpu_enter(const struct corun_split_gpu *gpu)
{
    void *outside = NULL;
    (void)gpu->driver->context_get(&outside);
    if (gpu->context)
        (void)gpu->driver->context_set(gpu->context); /* where that fails, the next call does, and says so */
    return outside;
}

void gpu_leave(const struct corun_split_gpu *gpu, void *outside)
{
    (void)gpu->driver->context_set(outside);
}

bool gpu_fail(struct corun_split_gpu *gpu, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    pthread_mutex_lock(&gpu->mutex);
    if (!gpu->failure[0])
        vsnprintf(gpu->failure, sizeof gpu->failure, format, arguments);
    pthread_mutex_unlock(&gpu->mutex);
    va_end(arguments);
    return false;
}

bool gpu_worked(struct corun_split_gpu *gpu, int result, const char *what)
{
    return result == 0 || gpu_fail(gpu, "%s: %s", what, driver_error(gpu->driver, result));
}

/* A kernel of the module, looked up once; NULL if memory has ended, or there is none: `problem` is the driver's. Until the next one is looked up. */
static struct kernel *find_kernel(struct corun_split_gpu *gpu, const char *name, size_t length, int *problem)
{
    for (size_t i = 0; i < gpu->kernels.count; i++)
        if (strlen(gpu->kernels.data[i].name) == length && !memcmp(gpu->kernels.data[i].name, name, length))
            return &gpu->kernels.data[i];
    struct kernel kernel = {.name = strndup(name, length)};
    *problem = kernel.name ? gpu->driver->module_function(&kernel.function, gpu->module, kernel.name) : 0;
    if (kernel.name && !*problem && vector_push(&gpu->kernels, kernel))
        return &gpu->kernels.data[gpu->kernels.count - 1];
    free(kernel.name);
    return NULL;
}

/* Asks the driver how many blocks like these a multiprocessor holds, unless that is what was asked last. */
static bool note_resident(const struct corun_split_gpu *gpu, struct kernel *kernel, uint32_t block_threads,
                          uint32_t shared_bytes)
{
    int blocks = 0;
    if (kernel->block_threads == block_threads && kernel->shared_bytes == shared_bytes)
        return false;
    kernel->block_threads = block_threads;
    kernel->shared_bytes = shared_bytes;
    bool told = gpu->driver->occupancy &&
                !gpu->driver->occupancy(&blocks, kernel->function, (int)block_threads, shared_bytes) && blocks > 0;
    kernel->resident = told ? (uint32_t)blocks : 0;
    return true;
}

/*
 * Of the kernels that the task has launched, or else of all in its module, the one of which a multiprocessor holds most: a task that takes others to
 * a GPU's few blocks occupies it with that one.
 */
static void count_resident(struct corun_split_gpu *gpu)
{
    uint32_t of_all = 0, of_launched = 0;
    for (size_t i = 0; i < gpu->kernels.count; i++) {
        const struct kernel *kernel = &gpu->kernels.data[i];
        of_all = kernel->resident > of_all ? kernel->resident : of_all;
        of_launched = kernel->launched && kernel->resident > of_launched ? kernel->resident : of_launched;
    }
    uint32_t resident = of_launched ? of_launched : of_all;
    if (resident)
        atomic_store_explicit(&gpu->resident, resident, memory_order_relaxed);
}

enum corun_status corun_split_gpu_launch(struct corun_split_gpu *gpu, const char *name, const uint32_t grid[3],
                                         const uint32_t block[3], uint32_t shared_bytes, void **arguments)
{
    if (!name || !grid || !block) {
        gpu_fail(gpu, "a launch without a kernel, a grid or a block");
        return CORUN_ARGUMENT;
    }
    if (!gpu->module) {
        gpu_fail(gpu, "kernel %s: the task has no module", name);
        return CORUN_NOT_FOUND;
    }
    int problem = 0;
    struct kernel *kernel = find_kernel(gpu, name, strlen(name), &problem);
    if (!gpu_worked(gpu, problem, name))
        return CORUN_NOT_FOUND;
    if (!kernel)
        return CORUN_MEMORY;
    bool first = !kernel->launched;
    kernel->launched = true;
    if (gpu->multiprocessors && (note_resident(gpu, kernel, block[0] * block[1] * block[2], shared_bytes) || first))
        count_resident(gpu);
    return TRY(gpu,
               launch(kernel->function, grid[0], grid[1], grid[2], block[0], block[1], block[2], shared_bytes,
                      gpu->work, arguments, NULL),
               name)
               ? CORUN_OK
               : CORUN_FAULT;
}

/* All events of a GPU, one after the other; NULL after the last. */
static void **event_at(struct corun_split_gpu *gpu, uint32_t index)
{
    enum { EACH = 3 + 3 * MOST_CHUNKS, OF_PARTS = EACH * MOST_PARTS, OF_DELIVERIES = 2 * MOST_DELIVERIES };
    struct flight *flight = &gpu->flights[index / EACH % MOST_PARTS];
    void **alone[] = {&flight->base, &flight->set, &flight->final};
    struct delivery *delivery = &gpu->deliveries[index / 2 % MOST_DELIVERIES];
    void **of_gpu[] = {&gpu->origin, &gpu->fetch_begin, &gpu->fetch_end, NULL};
    if (index >= OF_PARTS + OF_DELIVERIES)
        return of_gpu[index - OF_PARTS - OF_DELIVERIES];
    if (index >= OF_PARTS)
        return index % 2 ? &delivery->base : &delivery->final;
    uint32_t own = index % EACH, chunk = own / 3 - 1;
    void **of_chunk[] = {&flight->starts[chunk % MOST_CHUNKS], &flight->ends[chunk % MOST_CHUNKS],
                         &flight->arrived[chunk % MOST_CHUNKS]};
    return own < 3 ? alone[own] : of_chunk[own % 3];
}

static void **stream_at(struct corun_split_gpu *gpu, uint32_t index)
{
    return index < MOST_CHUNKS        ? &gpu->works[index]
           : index == MOST_CHUNKS     ? &gpu->in
           : index == MOST_CHUNKS + 1 ? &gpu->out
                                      : NULL;
}

/* A driver makes its own objects for a stream when the stream is first used: now, and not in the first parts. */
static bool use_streams(struct corun_split_gpu *gpu)
{
    void **place;
    gpu->call_seconds = INFINITY;
    for (uint32_t i = 0; !gpu->driver->simulated && (place = stream_at(gpu, i)); i++) {
        double before = clock_seconds();
        if (!TRY(gpu, event_record(gpu->origin, *place), "an event"))
            return false;
        gpu->call_seconds = fmin(gpu->call_seconds, clock_seconds() - before);
        if (!TRY(gpu, event_synchronize(gpu->origin), "an event"))
            return false;
    }
    gpu->call_seconds = isinf(gpu->call_seconds) ? 0 : gpu->call_seconds;
    return true;
}

static bool create_streams_and_events(struct corun_split_gpu *gpu)
{
    void **place;
    for (uint32_t i = 0; (place = stream_at(gpu, i)); i++)
        if (!TRY(gpu, stream_create(place, STREAM_ON_ITS_OWN), "a stream"))
            return false;
    for (uint32_t i = 0; (place = event_at(gpu, i)); i++)
        if (!TRY(gpu, event_create(place, EVENT_BLOCKING), "an event"))
            return false;
    gpu->work = gpu->works[0];
    return use_streams(gpu);
}

/* Memory, streams and events; the device is known. */
static bool create_objects(struct corun_split_gpu *gpu)
{
    const struct corun_split_task *task = gpu->task;
    (void)gpu->driver->context_flags(gpu->device, CONTEXT_BLOCKING); /* refused where the program has made it already */
    if (!TRY(gpu, context_retain(&gpu->context, gpu->device), "the context"))
        return false;
    gpu->retained = true;
    if (!TRY(gpu, context_set(gpu->context), "the context") || !create_streams_and_events(gpu))
        return false;
    for (uint32_t i = 0; i < task->buffer_count; i++)
        if (task->buffers[i].bytes &&
            !TRY(gpu, memory_allocate(&gpu->mirrors[i].address, task->buffers[i].bytes), task->buffers[i].name))
            return false;
    return true;
}

/* Drivers load a kernel when it is first asked for: now, and not in the first part. The module is PTX, or else nothing is found. */
static void look_kernels_up(struct corun_split_gpu *gpu, const char *text)
{
    static const char entry[] = ".entry", blank[] = " \t\r\n";
    int problem;
    while ((text = strstr(text, entry))) { /* in a comment as well: what is no kernel is not found, and not missed */
        text += sizeof entry - 1;
        text += strspn(text, blank);
        size_t length = strcspn(text, " \t\r\n({;");
        if (length)
            (void)find_kernel(gpu, text, length, &problem);
    }
}

static enum corun_status load_module(struct corun_split_gpu *gpu, struct corun_diagnostics *diagnostics)
{
    char *text = NULL;
    const void *image = gpu->task->module;
    if (!image && gpu->task->module_file) {
        enum corun_status status = file_read(gpu->task->module_file, &text, diagnostics);
        if (status != CORUN_OK)
            return status;
        image = text;
    }
    int result = image ? gpu->driver->module_load(&gpu->module, image) : 0;
    if (text && !result)
        look_kernels_up(gpu, text);
    free(text);
    return result == 0 ? CORUN_OK
                       : corun_report(diagnostics, CORUN_SYNTAX, (struct corun_place){gpu->task->module_file, 0, 0},
                                      "task %s: the module is not taken by %s: %s", gpu->task->name, gpu->name,
                                      driver_error(gpu->driver, result));
}

/* As many of the iterations [0, count) as move no more than `most` bytes; `again`: in a run whose GPU has what is kept and only read. */
static uint64_t limit_by_bytes(const struct corun_split_gpu *gpu, uint64_t count, double most, bool again)
{
    const struct corun_split_task *task = gpu->task;
    uint64_t end = count < task->iterations ? count : task->iterations;
    double moved = 0;
    for (uint32_t i = 0; i < task->buffer_count; i++) {
        const struct corun_split_buffer *buffer = &task->buffers[i];
        size_t offset, bytes;
        buffer_range(task, i, 0, end, &offset, &bytes);
        moved += buffer_is_whole(buffer) || (again && buffer_is_fetchable(buffer)) ? 0 : (double)bytes;
    }
    if (moved <= most)
        return count;
    uint64_t granules = count / task->granularity;
    return (uint64_t)((double)granules * most / moved) * task->granularity;
}

/*
 * What is moved at once before anything is known of a GPU: `copy_bytes`. Where these bytes are of no use afterwards, so much that all iterations
 * can be under way; `kept` bytes are rather moved behind rounds that the CPU computes.
 */
static uint64_t find_piece(const struct corun_split_gpu *gpu)
{
    const struct corun_split_task *task = gpu->task;
    uint64_t piece = limit_by_bytes(gpu, task->iterations, gpu->copy_bytes, false), granule = task->granularity;
    uint64_t granules = (task->iterations + granule - 1) / granule;
    uint64_t least = (granules + MOST_PARTS - 1) / MOST_PARTS * granule;
    for (uint32_t i = 0; i < task->buffer_count; i++)
        if (task->buffers[i].kept && !buffer_is_whole(&task->buffers[i]))
            least = 0;
    return piece > least ? piece : least;
}

/*
 * Which parts leave the GPU partly idle, by what the task and the driver tell. Until a kernel is launched with more than that, its blocks have no
 * shared memory but their own. Where the driver does not know the kernels, threads alone bound how many there are.
 */
static void find_sizes(struct corun_split_gpu *gpu)
{
    const struct corun_split_task *task = gpu->task;
    int multiprocessors = 0, threads = 0;
    if (!(task->gpu_blocks > 0) || !task->iterations ||
        gpu->driver->device_attribute(&multiprocessors, MULTIPROCESSORS, gpu->device) ||
        gpu->driver->device_attribute(&threads, THREADS_PER_MULTIPROCESSOR, gpu->device) || multiprocessors <= 0)
        return;
    uint32_t block = task->gpu_block_threads, resident = block && threads > 0 ? (uint32_t)threads / block : 1;
    uint64_t granule = task->granularity, all = (task->iterations + granule - 1) / granule * granule;
    uint64_t one_each = iterations_of(task, multiprocessors);
    gpu->flat = limit_by_bytes(gpu, one_each < all ? one_each : all, gpu->copy_bytes, false);
    gpu->multiprocessors = (uint32_t)multiprocessors;
    atomic_store_explicit(&gpu->resident, resident ? resident : 1, memory_order_relaxed);
    for (size_t i = 0; i < gpu->kernels.count && block; i++)
        (void)note_resident(gpu, &gpu->kernels.data[i], block, 0);
    count_resident(gpu);
}

enum corun_status gpu_open(const struct driver *driver, uint32_t index, const struct corun_split_task *task,
                           const struct corun_split_parameters *parameters, struct corun_split_gpu **result,
                           struct corun_diagnostics *diagnostics)
{
    struct corun_split_gpu *gpu = *result = calloc(1, sizeof *gpu);
    if (!gpu)
        return CORUN_MEMORY;
    pthread_mutex_init(&gpu->mutex, NULL);
    gpu->driver = driver;
    gpu->task = task;
    gpu->index = index;
    gpu->copy_bytes = parameters->copy_bytes;
    gpu->piece = find_piece(gpu);
    gpu->again = limit_by_bytes(gpu, task->iterations, GATHERED * gpu->copy_bytes, true);
    gpu->again = gpu->again ? gpu->again : task->granularity; /* a granule may move more than that */
    snprintf(gpu->name, sizeof gpu->name, "GPU %u", index);
    gpu->mirrors = calloc(task->buffer_count ? task->buffer_count : 1, sizeof *gpu->mirrors);
    if (!gpu->mirrors)
        return CORUN_MEMORY;
    if (!TRY(gpu, device_get(&gpu->device, (int)index), "the device"))
        return CORUN_OK;
    (void)driver->device_name(gpu->name, (int)sizeof gpu->name, gpu->device);
    void *outside = gpu_enter(gpu);
    enum corun_status status = create_objects(gpu) ? load_module(gpu, diagnostics) : CORUN_OK;
    if (parameters->fill > 0 && status == CORUN_OK)
        find_sizes(gpu);
    gpu_leave(gpu, outside);
    return status;
}

void gpu_close(struct corun_split_gpu *gpu)
{
    if (!gpu)
        return;
    const struct driver *driver = gpu->driver;
    if (gpu->retained) { /* where the GPU has failed, all of these fail, and nothing can be done about it */
        void *outside = gpu_enter(gpu);
        void **place;
        (void)(gpu->fetched_bytes && driver->event_synchronize(gpu->fetch_end)); /* nobody has waited for it */
        for (uint32_t i = 0; (place = event_at(gpu, i)); i++)
            (void)(*place && driver->event_destroy(*place));
        for (uint32_t i = 0; (place = stream_at(gpu, i)); i++)
            (void)(*place && driver->stream_destroy(*place));
        for (uint32_t i = 0; i < gpu->task->buffer_count; i++)
            (void)(gpu->mirrors[i].address && driver->memory_free(gpu->mirrors[i].address));
        (void)(gpu->module && driver->module_unload(gpu->module));
        gpu_leave(gpu, outside);
        (void)driver->context_release(gpu->device);
    }
    for (uint32_t i = 0; i < gpu->task->buffer_count && gpu->mirrors; i++)
        ranges_free(&gpu->mirrors[i].valid);
    for (size_t i = 0; i < gpu->kernels.count; i++)
        free(gpu->kernels.data[i].name);
    vector_free(&gpu->kernels);
    pthread_mutex_destroy(&gpu->mutex);
    free(gpu->mirrors);
    free(gpu);
}

void gpu_begin_run(struct corun_split_gpu *gpu)
{
    gpu->set_up = false;
    for (uint32_t i = 0; i < gpu->task->buffer_count; i++)
        if (!gpu->task->buffers[i].kept)
            ranges_clear(&gpu->mirrors[i].valid);
}

void gpu_host_changed(struct corun_split_gpu *gpu, uint32_t buffer, size_t offset, size_t bytes)
{
    struct ranges *valid = &gpu->mirrors[buffer].valid;
    if (!ranges_remove(valid, offset, offset + bytes))
        ranges_clear(valid); /* out of memory: what is there is moved again */
}

void gpu_overwritten(struct corun_split_gpu *gpu, uint64_t begin, uint64_t end)
{
    for (uint32_t i = 0; i < gpu->task->buffer_count; i++) {
        size_t offset, bytes;
        if (gpu->task->buffers[i].access == CORUN_SPLIT_READ)
            continue;
        buffer_range(gpu->task, i, begin, end, &offset, &bytes);
        gpu_host_changed(gpu, i, offset, bytes);
    }
}

void gpu_wrote(struct corun_split_gpu *gpu, uint64_t begin, uint64_t end)
{
    for (uint32_t i = 0; i < gpu->task->buffer_count; i++) {
        size_t offset, bytes;
        if (gpu->task->buffers[i].access == CORUN_SPLIT_READ)
            continue;
        buffer_range(gpu->task, i, begin, end, &offset, &bytes);
        (void)ranges_add(&gpu->mirrors[i].valid, offset, offset + bytes); /* or it is moved again */
    }
}
