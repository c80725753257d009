/* SPDX-License-Identifier: MIT */
/*
 * A captured program on the machine, to a checkpoint and back: where its host is, what waits in its streams, what is in flight. The reader has just
 * made the replay: its textures are made again as the host made them, its grids as the launches in flight had them.
 */
#include "base/archive.h"
#include "isa/archive.h"
#include "workload/capture_timed.h"

#include <stdlib.h>
#include <string.h>

#define MOST_STREAMS ((size_t)1 << 20)
#define MOST_EVENTS ((size_t)1 << 24)
#define MOST_TASKS ((size_t)1 << 24)

/* ---- tasks ---- */

static bool is_task(enum capture_kind kind)
{
    return kind == CAPTURE_LAUNCH || kind == CAPTURE_TRANSFER || kind == CAPTURE_POINT || kind == CAPTURE_RECORD ||
           kind == CAPTURE_WAIT;
}

static void archive_operation(struct corun_archive *archive, const struct captured *captured, struct timed_task *task)
{
    uint64_t number = archive->reads ? 0 : (uint64_t)(task->operation - captured->operations.data);
    ARCHIVE(archive, number);
    if (!archive_fine(archive))
        return;
    if (number >= captured->operations.count || !is_task(captured->operations.data[number].kind) ||
        task->first_effect > task->effect_end || task->effect_end > captured->operations.count)
        archive_fail(archive, CORUN_SYNTAX, "operation %llu of a captured program is no task",
                     (unsigned long long)number);
    else
        task->operation = &captured->operations.data[number];
}

/* By number; 0: it waits for none. */
static void archive_event(struct corun_archive *archive, struct timed *timed, const struct stream_event **event)
{
    uint64_t number = 0;
    for (size_t i = 0; !archive->reads && *event && !number; i++)
        number = timed->events.data[i] == *event ? i + 1 : 0;
    ARCHIVE(archive, number);
    if (number > timed->events.count)
        archive_fail(archive, CORUN_SYNTAX, "event %llu of %zu", (unsigned long long)number, timed->events.count);
    else if (archive->reads)
        *event = number ? timed->events.data[number - 1] : NULL;
}

static void archive_grid(struct corun_archive *archive, struct timed *timed, struct timed_task *task)
{
    bool there = task->grid != NULL;
    ARCHIVE(archive, there);
    if (!there || !archive_fine(archive))
        return;
    if (archive->reads && (task->operation->kind != CAPTURE_LAUNCH ||
                           replay_make_grid(timed->replay, task->operation->shape, NULL, &task->grid) != CORUN_OK)) {
        archive_fail(archive, CORUN_MEMORY, "out of memory");
        return;
    }
    ARCHIVE(archive, ((struct launch *)task->grid)->id);
}

static void archive_task(struct corun_archive *archive, struct timed *timed, struct timed_task *task)
{
    static const struct archive_hole holes[] = {
        ARCHIVE_HOLE(struct timed_task, task.next), ARCHIVE_HOLE(struct timed_task, task.queue),
        ARCHIVE_HOLE(struct timed_task, task.event), ARCHIVE_HOLE(struct timed_task, operation),
        ARCHIVE_HOLE(struct timed_task, grid)};
    ARCHIVE_RECORD(archive, task, holes);
    archive_operation(archive, timed->replay->captured, task);
    archive_event(archive, timed, &task->task.event);
    if (archive_fine(archive))
        archive_grid(archive, timed, task);
}

/* ---- streams ---- */

static void archive_tasks(struct corun_archive *archive, struct timed *timed, struct stream_queue *queue)
{
    size_t count = 0;
    for (const struct stream_task *task = queue->first; task && !archive->reads; task = task->next)
        count++;
    archive_count(archive, &count, MOST_TASKS);
    struct stream_task *at = queue->first;
    for (size_t i = 0; i < count && archive_fine(archive); i++) {
        struct timed_task *task = archive->reads ? calloc(1, sizeof *task) : timed_task_of(at);
        if (!task) {
            archive_fail(archive, CORUN_MEMORY, "out of memory");
            return;
        }
        if (archive->reads) {
            task->task.queue = queue;
            *(queue->last ? &queue->last->next : &queue->first) = &task->task;
            queue->last = &task->task;
        } else {
            at = at->next;
        }
        archive_task(archive, timed, task);
    }
}

static void archive_queues(struct corun_archive *archive, struct timed *timed)
{
    static const struct archive_hole holes[] = {ARCHIVE_HOLE(struct stream_queue, group),
                                                ARCHIVE_HOLE(struct stream_queue, first),
                                                ARCHIVE_HOLE(struct stream_queue, last)};
    struct stream_group *group = &timed->group;
    size_t count = group->queues.count, legacy = 0; /* number + 1 */
    archive_count(archive, &count, MOST_STREAMS);
    for (size_t i = 0; i < count && archive_fine(archive); i++) {
        struct stream_queue *queue = archive->reads ? calloc(1, sizeof *queue) : group->queues.data[i];
        if (!queue || (archive->reads && !stream_group_add(group, queue))) {
            free(queue);
            archive_fail(archive, CORUN_MEMORY, "out of memory");
            return;
        }
        legacy = !archive->reads && queue == group->legacy ? i + 1 : legacy;
        ARCHIVE_RECORD(archive, queue, holes);
        archive_tasks(archive, timed, queue);
    }
    archive_count(archive, &legacy, count);
    if (archive->reads)
        group->legacy = legacy ? group->queues.data[legacy - 1] : NULL;
    ARCHIVE(archive, group->gone_cycle);
    ARCHIVE(archive, group->gone_blocking_cycle);
}

static void archive_events(struct corun_archive *archive, struct timed *timed)
{
    size_t count = timed->events.count;
    archive_count(archive, &count, MOST_EVENTS);
    if (archive->reads && count && !timed_event(timed, count))
        archive_fail(archive, CORUN_MEMORY, "out of memory");
    for (size_t i = 0; i < count && archive_fine(archive); i++) {
        ARCHIVE(archive, timed->events.data[i]->completed);
        ARCHIVE(archive, timed->events.data[i]->cycle);
    }
}

/* ---- what is in flight ---- */

static struct stream_task *find_task(const struct timed *timed, uint64_t sequence)
{
    for (size_t i = 0; i < timed->group.queues.count; i++)
        for (struct stream_task *task = timed->group.queues.data[i]->first; task; task = task->next)
            if (task->sequence == sequence)
                return task;
    return NULL;
}

/* In the order in which they were started. */
#define ARCHIVE_IN_FLIGHT(archive, timed, vector) \
    if (ARCHIVE_VECTOR(archive, vector, MOST_TASKS)) \
        for (size_t i = 0; i < (vector)->count; i++) \
            archive_named(archive, timed, &(vector)->data[i]);

static void archive_named(struct corun_archive *archive, const struct timed *timed, struct stream_task **task)
{
    uint64_t sequence = archive->reads ? 0 : (*task)->sequence;
    ARCHIVE(archive, sequence);
    if (archive->reads)
        *task = find_task(timed, sequence);
    if (archive_fine(archive) && !*task)
        archive_fail(archive, CORUN_SYNTAX, "there is no task %llu in flight", (unsigned long long)sequence);
}

static void archive_timed(struct corun_archive *archive, struct timed *timed)
{
    static const struct archive_hole holes[] = {ARCHIVE_HOLE(struct timed, replay),
                                                ARCHIVE_HOLE(struct timed, scheduler),
                                                ARCHIVE_HOLE(struct timed, group), ARCHIVE_HOLE(struct timed, events)};
    ARCHIVE_RECORD(archive, timed, holes);
    ARCHIVE(archive, timed->scheduler.alone);
    if (timed->next > timed->replay->captured->operations.count)
        archive_fail(archive, CORUN_SYNTAX, "operation %zu of a captured program", timed->next);
    archive_events(archive, timed);
    archive_queues(archive, timed);
    ARCHIVE_IN_FLIGHT(archive, timed, &timed->scheduler.launches)
    ARCHIVE_IN_FLIGHT(archive, timed, &timed->scheduler.transfers)
}

/* ---- grids by number ---- */

/* Of the launches that have one, in the order of the streams. */
static struct timed_task *task_with_grid(const struct timed *timed, size_t number)
{
    for (size_t i = 0; timed && i < timed->group.queues.count; i++)
        for (struct stream_task *task = timed->group.queues.data[i]->first; task; task = task->next)
            if (timed_task_of(task)->grid && !number--)
                return timed_task_of(task);
    return NULL;
}

const struct corun_grid *replay_grid_numbered(const struct replay *replay, uint32_t number)
{
    if (number < replay->grid_count)
        return replay->grids[number];
    const struct timed_task *task = task_with_grid(replay->timed, number - replay->grid_count);
    return task ? task->grid : NULL;
}

/* What SMs keep of a module, and the thread blocks of its launches in flight. */
static void archive_module(struct corun_archive *archive, const struct replay *replay, size_t module)
{
    VECTOR(struct corun_grid *) grids = {0};
    const struct timed_task *task;
    for (size_t i = 0; (task = task_with_grid(replay->timed, i)); i++)
        if (task->operation->numbers[1] == module && !vector_push(&grids, task->grid))
            archive_fail(archive, CORUN_MEMORY, "out of memory");
    ARCHIVE(archive, replay->modules[module]->launches);
    module_instance_archive(archive, replay->modules[module], grids.data, (uint32_t)grids.count);
    vector_free(&grids);
}

/* Those that the host had when it came to where it is. */
static void make_textures(struct replay *replay)
{
    const struct captured *captured = replay->captured;
    for (size_t i = 0; i < replay->timed->next; i++) {
        enum capture_kind kind = captured->operations.data[i].kind;
        if (kind == CAPTURE_TEXTURE || kind == CAPTURE_NO_TEXTURE)
            replay_perform(replay, i);
    }
}

void replay_archive(struct replay *replay, struct corun_archive *archive)
{
    bool begun = replay->timed != NULL;
    archive_section(archive, "capture", 1);
    archive_same(archive, replay->captured->operations.count, "operations of a captured program");
    ARCHIVE(archive, begun);
    if (archive->reads && begun && archive_fine(archive) && !(replay->timed = timed_create(replay)))
        archive_fail(archive, CORUN_MEMORY, "out of memory");
    if (replay->timed && archive_fine(archive))
        archive_timed(archive, replay->timed);
    if (archive->reads && replay->timed && archive_fine(archive))
        make_textures(replay);
    ARCHIVE(archive, replay->broken);
    ARCHIVE(archive, replay->verification.elements);
    ARCHIVE(archive, replay->verification.mismatches);
    ARCHIVE(archive, replay->wrong);
    for (size_t i = 0; i < replay->module_count && archive_fine(archive); i++)
        archive_module(archive, replay, i);
    if (archive_fine(archive))
        memory_archive(archive, replay->memory);
}
