/* SPDX-License-Identifier: MIT */
/* List scheduling. */
#include "profile/schedule.h"

#include "corun/trace.h"

#include <stdlib.h>

/* A phase under way. Numbers of tasks are in the order in which they may begin: `ready` is a heap. */
struct stage {
    const struct profile_phase *phase;
    uint32_t *waits, *first,
        *later; /* by task: needs that have not ended, where its dependents begin; all dependents */
    uint32_t *ready, ready_count;
    uint64_t *ends; /* by core: when its task ends */
    uint32_t *task; /* by core */
    uint32_t busy;  /* cores that have a task: the first ones */
};

static void push(struct stage *stage, uint32_t task)
{
    uint32_t at = stage->ready_count++;
    for (; at && stage->ready[(at - 1) / 2] > task; at = (at - 1) / 2)
        stage->ready[at] = stage->ready[(at - 1) / 2];
    stage->ready[at] = task;
}

static uint32_t pop(struct stage *stage)
{
    uint32_t lowest = stage->ready[0], last = stage->ready[--stage->ready_count], at = 0;
    for (uint32_t child = 1; child < stage->ready_count; at = child, child = 2 * at + 1) {
        child += child + 1 < stage->ready_count && stage->ready[child + 1] < stage->ready[child];
        if (stage->ready[child] >= last)
            break;
        stage->ready[at] = stage->ready[child];
    }
    stage->ready[at] = last;
    return lowest;
}

static void stage_free(struct stage *stage)
{
    free(stage->waits);
    free(stage->first);
    free(stage->later);
    free(stage->ready);
    free(stage->ends);
    free(stage->task);
}

static bool stage_begin(struct stage *stage, const struct profile_phase *phase, uint32_t cores)
{
    size_t tasks = phase->task_count + 2u;
    *stage = (struct stage){.phase = phase,
                            .waits = calloc(tasks, sizeof(uint32_t)),
                            .first = calloc(tasks, sizeof(uint32_t)),
                            .later = calloc(phase->need_count + 1u, sizeof(uint32_t)),
                            .ready = calloc(tasks, sizeof(uint32_t)),
                            .ends = calloc(cores, sizeof(uint64_t)),
                            .task = calloc(cores, sizeof(uint32_t))};
    if (!stage->waits || !stage->first || !stage->later || !stage->ready || !stage->ends || !stage->task) {
        stage_free(stage);
        return false;
    }
    for (uint32_t i = 0; i < phase->need_count; i++) {
        stage->waits[phase->needs[i].task]++;
        stage->first[phase->needs[i].earlier + 2]++;
    }
    for (uint32_t i = 2; i < tasks; i++)
        stage->first[i] += stage->first[i - 1];
    for (uint32_t i = 0; i < phase->need_count;
         i++) /* then first[t + 1] is where t's end, and first[t] where they begin */
        stage->later[stage->first[phase->needs[i].earlier + 1]++] = phase->needs[i].task;
    for (uint32_t i = 0; i < phase->task_count; i++)
        if (!stage->waits[i])
            push(stage, i);
    return true;
}

/* The task that ends next, of equals that of the first core. */
static uint64_t end_one(struct stage *stage)
{
    uint32_t next = 0;
    for (uint32_t c = 1; c < stage->busy; c++)
        next = stage->ends[c] < stage->ends[next] ? c : next;
    uint64_t now = stage->ends[next];
    uint32_t task = stage->task[next];
    stage->busy--;
    stage->ends[next] = stage->ends[stage->busy];
    stage->task[next] = stage->task[stage->busy];
    for (uint32_t i = stage->first[task]; i < stage->first[task + 1]; i++)
        if (!--stage->waits[stage->later[i]])
            push(stage, stage->later[i]);
    return now;
}

static bool any_ends_at(const struct stage *stage, uint64_t now)
{
    for (uint32_t c = 0; c < stage->busy; c++)
        if (stage->ends[c] == now)
            return true;
    return false;
}

/* From `now` on; the result is when all have ended. */
static uint64_t stage_run(struct stage *stage, uint32_t cores, uint64_t now, struct profile_start *starts)
{
    do {
        while (stage->busy < cores && stage->ready_count) {
            uint32_t task = pop(stage);
            stage->task[stage->busy] = task;
            stage->ends[stage->busy++] = now + stage->phase->task_ns[task];
            if (starts)
                starts[task] =
                    (struct profile_start){.task = task, .start_ns = now, .length_ns = stage->phase->task_ns[task]};
        }
        if (stage->busy)
            do
                now = end_one(stage);
            while (any_ends_at(stage, now));
    } while (stage->busy || stage->ready_count);
    return now;
}

size_t profile_pieces(const struct profile_query *query)
{
    size_t count = query->phase_count + 1u;
    for (uint32_t p = 0; p < query->phase_count; p++)
        count += query->phases[p].task_count;
    return count;
}

enum corun_status profile_schedule(const struct profile_query *query, uint32_t cores, struct profile_start *starts,
                                   uint64_t *length_ns)
{
    uint64_t now = 0;
    for (uint32_t p = 0; p <= query->phase_count; p++) {
        uint64_t serial_ns = p < query->phase_count ? query->phases[p].serial_ns : query->serial_ns;
        if (starts)
            *starts++ = (struct profile_start){p, CORUN_TRACE_SERIAL, now, serial_ns};
        now += serial_ns;
        if (p == query->phase_count)
            break;
        struct stage stage;
        if (!stage_begin(&stage, &query->phases[p], cores))
            return CORUN_MEMORY;
        now = stage_run(&stage, cores, now, starts);
        stage_free(&stage);
        for (uint32_t i = 0; starts && i < query->phases[p].task_count; i++, starts++)
            starts->phase = p;
    }
    *length_ns = now;
    return CORUN_OK;
}
