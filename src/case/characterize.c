/* SPDX-License-Identifier: MIT */
/* Characterisation of workloads (corun/characterize.h): isolated runs over SMs and clocks, exponents, the class. */
#include "corun/characterize.h"

#include "base/parallel.h"
#include "base/vector.h"
#include "case/baseline.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* One isolated run. */
struct point {
    size_t item;
    int sweep; /* enum corun_sweep; BASE: the GPU as configured */
    uint32_t index;
    struct corun_gpu_config gpu;
    uint64_t cycles, thread_instructions; /* where it ends */
    enum corun_status status;
    const char *message; /* why it failed */
    bool done;
    struct baseline baseline;
};
#define BASE (-1)

struct characterization {
    struct corun_characterize_result result; /* first: its address is the handle */
    struct arena *arena;
    const struct corun_characterize_request *request;
    struct corun_characterization *items;
    VECTOR(struct point) points;
    size_t next;
    uint32_t done, total;
    bool out_of_memory;
    pthread_mutex_t lock; /* of everything above while workers run, and of calls of progress() */
};

/* What a worker is doing. */
struct point_watch {
    struct characterization *owner;
    const char *name;
};

const char *corun_sweep_title(enum corun_sweep sweep)
{
    static const char *const titles[] = {
#define TITLE(name, title) title,
        CORUN_SWEEPS(TITLE)
#undef TITLE
    };
    return titles[sweep];
}

enum corun_character corun_classify(const double exponents[CORUN_SWEEP_COUNT], double fill, const char **clause)
{
    double sms = exponents[CORUN_SWEEP_SMS];
    double clocks = fmax(exponents[CORUN_SWEEP_MEMORY], exponents[CORUN_SWEEP_INTERCONNECT]);
    const struct {
        enum corun_character character;
        bool holds;
        const char *words;
    } clauses[] = {
#define CLAUSE(character, condition, words) {CORUN_CHARACTER_##character, condition, words},
        CORUN_CLASS_RULE(CLAUSE)
#undef CLAUSE
    };
    size_t i = 0;
    while (!clauses[i].holds) /* the last one always does */
        i++;
    if (clause)
        *clause = clauses[i].words;
    return clauses[i].character;
}

/* What the GPU as configured has of a sweep's resource. */
static uint32_t configured(const struct corun_gpu_config *gpu, int sweep)
{
    return sweep == CORUN_SWEEP_SMS      ? gpu->sms
           : sweep == CORUN_SWEEP_MEMORY ? gpu->dram_clock_khz
                                         : gpu->icnt_clock_khz;
}

static void add_value(uint32_t values[CORUN_SWEEP_MAX_POINTS], uint32_t *count, uint32_t value)
{
    uint32_t at = *count;
    for (uint32_t i = 0; i < *count; i++) {
        if (values[i] == value)
            return;
    }
    if (!value || *count == CORUN_SWEEP_MAX_POINTS)
        return;
    for (; at > 0 && values[at - 1] > value; at--)
        values[at] = values[at - 1];
    values[at] = value;
    ++*count;
}

/* Ascending; half of what the GPU has and all of it are always among them. */
static uint32_t sweep_values(const struct corun_gpu_config *gpu, int sweep, uint32_t values[CORUN_SWEEP_MAX_POINTS])
{
    uint32_t count = 0, all = configured(gpu, sweep);
    add_value(values, &count, all);
    if (sweep != CORUN_SWEEP_SMS) {
        static const uint32_t percent[] = {25, 50, 75, 150};
        for (size_t i = 0; i < sizeof percent / sizeof percent[0]; i++)
            add_value(values, &count, (uint32_t)((uint64_t)all * percent[i] / 100));
        return count;
    }
    add_value(values, &count, all / 2);
    add_value(values, &count, 1);
    add_value(values, &count, all * 3 / 4);
    add_value(values, &count, all / 4);
    add_value(values, &count, all / 8);
    return count;
}

static void configure(struct corun_gpu_config *gpu, int sweep, uint32_t value)
{
    if (sweep == CORUN_SWEEP_SMS) {
        gpu->sms = value;
    } else if (sweep == CORUN_SWEEP_MEMORY) {
        gpu->dram_clock_khz = value;
    } else if (sweep == CORUN_SWEEP_INTERCONNECT) {
        gpu->l2_clock_khz = (uint32_t)((uint64_t)gpu->l2_clock_khz * value / gpu->icnt_clock_khz);
        gpu->icnt_clock_khz = value;
    }
}

static bool point_progress(void *user, uint64_t cycle)
{
    (void)cycle;
    struct point_watch *watch = user;
    struct characterization *owner = watch->owner;
    const struct corun_characterize_request *request = owner->request;
    pthread_mutex_lock(&owner->lock);
    struct corun_characterize_progress progress = {watch->name, owner->done, owner->total};
    if (!owner->result.interrupted && request->progress && !request->progress(request->progress_user, &progress))
        owner->result.interrupted = true;
    bool proceed = !owner->result.interrupted;
    pthread_mutex_unlock(&owner->lock);
    return proceed;
}

/* From the cache or simulated; called without the lock. */
static enum corun_status measure(struct characterization *owner, const struct point *point, struct arena *arena,
                                 struct corun_diagnostics *list, struct baseline *baseline)
{
    const struct corun_characterize_request *request = owner->request;
    const struct corun_workload *workload = request->workloads[point->item];
    struct corun_workload_info info;
    corun_workload_describe(workload, &info);
    struct baseline_request run = {.gpu = &point->gpu,
                                   .workload = workload,
                                   .seed = request->seed,
                                   .window = {.cycles = point->cycles,
                                              .thread_instructions = point->thread_instructions,
                                              .watchdog_cycles = request->watchdog_cycles},
                                   .threads = 1};
    struct point_watch watch = {owner, info.name};
    struct content_key key;
    enum corun_status status = baseline_key(&run, &key);
    if (status || !point_progress(&watch, 0))
        return status;
    if (baseline_load(request->cache_directory, &key, arena, list, baseline))
        return CORUN_OK;
    status = baseline_compute(&run, arena, list, point_progress, &watch, baseline);
    if (status == CORUN_OK)
        status = baseline->status;
    if (status == CORUN_OK)
        baseline_store(request->cache_directory, &key, &run, baseline, list);
    return status;
}

static void finish_point(struct characterization *owner, struct point *point, const struct baseline *baseline,
                         enum corun_status status, const struct corun_diagnostics *list)
{
    pthread_mutex_lock(&owner->lock);
    point->status = status;
    if (status == CORUN_OK && baseline->cycles && !baseline->interrupted) {
        point->done = baseline_copy(owner->arena, baseline, &point->baseline) == CORUN_OK;
        owner->out_of_memory |= !point->done;
    } else if (status != CORUN_OK && corun_diagnostics_count(list)) {
        const char *text = corun_diagnostics_get(list, 0)->message;
        point->message = arena_copy_text(owner->arena, text, strlen(text));
    }
    owner->out_of_memory |= status == CORUN_MEMORY;
    owner->done++;
    pthread_mutex_unlock(&owner->lock);
}

static void *worker(void *user)
{
    struct characterization *owner = user;
    for (;;) {
        pthread_mutex_lock(&owner->lock);
        bool end = owner->next == owner->points.count || owner->result.interrupted || owner->out_of_memory;
        struct point *point = end ? NULL : &owner->points.data[owner->next++];
        pthread_mutex_unlock(&owner->lock);
        if (end)
            return NULL;
        struct arena *arena = arena_create();
        struct corun_diagnostics *list = corun_diagnostics_create();
        struct baseline baseline = {0};
        enum corun_status status = arena && list ? measure(owner, point, arena, list, &baseline) : CORUN_MEMORY;
        finish_point(owner, point, &baseline, status, list);
        if (list)
            corun_diagnostics_destroy(list);
        arena_destroy(arena);
    }
}

/* Runs all points that were added since the last time. */
static void run_points(struct characterization *owner)
{
    size_t left = owner->points.count - owner->next;
    uint32_t jobs = parallel_jobs(owner->request->jobs);
    parallel_run(left < jobs ? (uint32_t)left : jobs, worker, owner);
}

static bool add_base(struct characterization *owner, size_t item)
{
    struct point point = {.item = item, .sweep = BASE, .gpu = owner->result.gpu, .cycles = owner->request->cycles};
    return vector_push(&owner->points, point);
}

/* The other points of a workload: as much work as its base did, and no end of patience. */
static bool add_sweeps(struct characterization *owner, size_t item, const struct baseline *base)
{
    for (int sweep = 0; sweep < CORUN_SWEEP_COUNT; sweep++) {
        uint32_t values[CORUN_SWEEP_MAX_POINTS];
        uint32_t count = sweep_values(&owner->result.gpu, sweep, values);
        owner->items[item].sweeps[sweep].count = count;
        for (uint32_t i = 0; i < count; i++) {
            struct corun_sweep_point *shown = &owner->items[item].sweeps[sweep].points[i];
            shown->value = values[i];
            if (values[i] == configured(&owner->result.gpu, sweep)) {
                shown->ipc = (double)base->thread_instructions / (double)base->cycles;
                continue;
            }
            struct point point = {.item = item,
                                  .sweep = sweep,
                                  .index = i,
                                  .gpu = owner->result.gpu,
                                  .thread_instructions = base->thread_instructions};
            configure(&point.gpu, sweep, values[i]);
            if (!vector_push(&owner->points, point))
                return false;
        }
    }
    return true;
}

static void take_base(struct corun_characterization *item, const struct baseline *base)
{
    item->cycles = base->cycles;
    item->thread_instructions = base->thread_instructions;
    item->runs = base->runs;
    item->counters = baseline_counters(base);
    item->memory = base->memory;
    item->kernel_count = base->kernel_count;
    item->kernels = base->kernels;
}

static double exponent(const struct corun_gpu_config *gpu, const struct corun_characterization *item, int sweep)
{
    uint32_t all = configured(gpu, sweep), half = all / 2;
    double full = 0, part = 0;
    for (uint32_t i = 0; i < item->sweeps[sweep].count; i++) {
        const struct corun_sweep_point *point = &item->sweeps[sweep].points[i];
        full = point->value == all ? point->ipc : full;
        part = point->value == half ? point->ipc : part;
    }
    return full > 0 && part > 0 ? log(full / part) / log((double)all / half) : 0;
}

static double filled(const struct corun_gpu_config *gpu, const struct corun_characterization *item)
{
    double places = 0;
    for (uint32_t k = 0; k < item->kernel_count; k++) {
        const struct corun_kernel_result *kernel = &item->kernels[k];
        uint32_t warps = (kernel->tb_threads + CORUN_WARP_LANES - 1) / CORUN_WARP_LANES;
        places += (double)kernel->cycles * gpu->sms * kernel->tbs_per_sm * warps;
    }
    return places > 0 ? (double)item->counters.warp_cycles / places : (double)NAN;
}

static void finish_item(struct characterization *owner, struct corun_characterization *item)
{
    for (int sweep = 0; sweep < CORUN_SWEEP_COUNT; sweep++) {
        struct corun_sweep_point *points = item->sweeps[sweep].points;
        for (uint32_t i = 0; i < item->sweeps[sweep].count; i++)
            points[i].speed_up = points[0].ipc > 0 ? points[i].ipc / points[0].ipc : (double)NAN;
        item->exponents[sweep] = exponent(&owner->result.gpu, item, sweep);
    }
    item->fill = filled(&owner->result.gpu, item);
    item->measured = corun_classify(item->exponents, item->fill, &item->clause);
}

/* The base of every workload first: it says how much work the other points do. */
static enum corun_status run_all(struct characterization *owner)
{
    size_t count = owner->result.count;
    uint32_t values[CORUN_SWEEP_MAX_POINTS], each = 1;
    for (int sweep = 0; sweep < CORUN_SWEEP_COUNT; sweep++)
        each += sweep_values(&owner->result.gpu, sweep, values) - 1;
    owner->total = each * (uint32_t)count;
    for (size_t i = 0; i < count; i++) {
        owner->items[i] = (struct corun_characterization){.workload = owner->request->workloads[i], .message = ""};
        if (!add_base(owner, i))
            return CORUN_MEMORY;
    }
    run_points(owner);
    for (size_t i = 0; i < count; i++) {
        struct baseline base = owner->points.data[i].baseline;         /* a copy: the vector is about to grow */
        if (owner->points.data[i].done && !base.thread_instructions) { /* there is no work to repeat */
            owner->points.data[i].done = false;
            owner->points.data[i].status = CORUN_ARGUMENT;
            owner->points.data[i].message = "no instruction was completed within the window";
        }
        if (!owner->points.data[i].done) {
            owner->total -= each - 1;
            continue;
        }
        take_base(&owner->items[i], &base);
        if (!add_sweeps(owner, i, &base))
            return CORUN_MEMORY;
    }
    run_points(owner);
    if (owner->out_of_memory)
        return CORUN_MEMORY;
    for (size_t i = 0; i < count; i++)
        owner->items[i].complete = true;
    for (size_t p = 0; p < owner->points.count; p++) {
        const struct point *point = &owner->points.data[p];
        struct corun_characterization *item = &owner->items[point->item];
        if (point->status && !item->status) {
            item->status = point->status;
            item->message = point->message ? point->message : "";
        }
        item->complete = item->complete && point->done;
        if (point->done && point->sweep != BASE)
            item->sweeps[point->sweep].points[point->index].ipc =
                (double)point->baseline.thread_instructions / (double)point->baseline.cycles;
    }
    for (size_t i = 0; i < count; i++)
        finish_item(owner, &owner->items[i]);
    return CORUN_OK;
}

enum corun_status corun_characterize(const struct corun_characterize_request *request, struct corun_diagnostics *list,
                                     struct corun_characterize_result **result)
{
    *result = NULL;
    if (!request->workload_count || !request->cycles)
        return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE,
                            "a characterisation needs a workload and a window of at least one cycle");
    if (request->gpu->sms < 2)
        return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE,
                            "a GPU of one SM cannot be characterised: the number of SMs is one of the sweeps");
    struct characterization *owner = calloc(1, sizeof *owner);
    if (owner) {
        pthread_mutex_init(&owner->lock, NULL);
        owner->arena = arena_create();
    }
    if (owner && owner->arena)
        owner->items = ARENA_ARRAY(owner->arena, struct corun_characterization, request->workload_count);
    enum corun_status status = CORUN_MEMORY;
    if (owner && owner->items) {
        owner->request = request;
        owner->result = (struct corun_characterize_result){.gpu = *request->gpu,
                                                           .cycles = request->cycles,
                                                           .seed = request->seed,
                                                           .count = request->workload_count,
                                                           .items = owner->items};
        status = run_all(owner);
    }
    if (status == CORUN_MEMORY)
        corun_report(list, status, CORUN_NOWHERE, "out of memory");
    if (status == CORUN_OK)
        *result = &owner->result;
    else if (owner)
        corun_characterize_result_destroy(&owner->result);
    return status;
}

void corun_characterize_result_destroy(struct corun_characterize_result *result)
{
    if (!result)
        return;
    struct characterization *owner = (struct characterization *)result;
    vector_free(&owner->points);
    pthread_mutex_destroy(&owner->lock);
    arena_destroy(owner->arena);
    free(owner);
}
