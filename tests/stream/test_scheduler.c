/* SPDX-License-Identifier: MIT */
/* Which task of the streams is next, since when, and what is in flight: the rules of docs/captures.md, "Time". */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "stream/scheduler.h"

#include "../gpu/scripted.h"

enum { STREAMS = 4, TASKS = 64 };

/* A legacy stream (0), two that wait for it (1, 2), and one that does not (3). */
struct rig {
    struct stream_host host;
    struct stream_scheduler scheduler;
    struct stream_group group;
    struct stream_queue queues[STREAMS];
    struct stream_task tasks[TASKS];
    uint32_t used;
    struct stream_task *ended[TASKS]; /* in this order */
    uint32_t ended_count;
};

static void has_ended(void *user, struct stream_task *task, const struct corun_launched *launched)
{
    struct rig *rig = user;
    assert_int_equal(launched != NULL, task->kind == STREAM_LAUNCH);
    rig->ended[rig->ended_count++] = task;
    stream_finish(&rig->scheduler, task, task->end_cycle);
}

static struct rig *rig_create(void)
{
    struct rig *rig = calloc(1, sizeof *rig);
    rig->scheduler.host = &rig->host;
    rig->scheduler.ended = has_ended;
    rig->scheduler.user = rig;
    assert_true(vector_push(&rig->scheduler.groups, &rig->group));
    for (uint32_t i = 0; i < STREAMS; i++) {
        rig->queues[i].blocking = i < 3;
        assert_true(stream_group_add(&rig->group, &rig->queues[i]));
    }
    rig->group.legacy = &rig->queues[0];
    return rig;
}

static void rig_destroy(struct rig *rig)
{
    vector_free(&rig->scheduler.groups);
    vector_free(&rig->scheduler.launches);
    vector_free(&rig->scheduler.transfers);
    vector_free(&rig->group.queues);
    corun_gpu_destroy(rig->scheduler.machine.machine);
    free(rig);
}

static struct stream_task *ask(struct rig *rig, uint32_t queue, enum stream_task_kind kind, uint64_t cycle)
{
    struct stream_task *task = &rig->tasks[rig->used++];
    task->kind = kind;
    stream_append(&rig->host, &rig->queues[queue], task, cycle);
    return task;
}

static void expect_next(struct rig *rig, struct stream_task *task, uint64_t since)
{
    uint64_t cycle = UINT64_MAX;
    assert_ptr_equal(stream_next(&rig->scheduler, &cycle), task);
    if (task)
        assert_int_equal(cycle, since);
}

/* A point that is next, done at once. */
static void expect_point(struct rig *rig, struct stream_task *task, uint64_t since)
{
    expect_next(rig, task, since);
    stream_finish(&rig->scheduler, task, since);
}

static void a_stream_is_in_order(void **state)
{
    (void)state;
    struct rig *rig = rig_create();
    struct stream_task *first = ask(rig, 1, STREAM_POINT, 10), *second = ask(rig, 1, STREAM_POINT, 5);
    expect_next(rig, first, 10);
    first->started = true; /* in flight: nothing of its stream can start */
    expect_next(rig, NULL, 0);
    stream_finish(&rig->scheduler, first, 100);
    expect_point(rig, second, 100);
    expect_next(rig, NULL, 0);
    assert_null(rig->queues[1].last);
    rig_destroy(rig);
}

static void the_legacy_stream_and_the_others_wait_for_each_other(void **state)
{
    (void)state;
    struct rig *rig = rig_create();
    struct stream_task *before = ask(rig, 1, STREAM_POINT, 10), *legacy = ask(rig, 0, STREAM_POINT, 20),
                       *behind = ask(rig, 2, STREAM_POINT, 30), *free_one = ask(rig, 3, STREAM_POINT, 40);
    before->started = true;
    expect_point(rig, free_one, 40); /* neither waits for the legacy stream nor makes it wait */
    expect_next(rig, NULL, 0);
    stream_finish(&rig->scheduler, before, 1000);
    expect_point(rig, legacy, 1000);
    expect_point(rig, behind, 1000);
    struct stream_task *again = ask(rig, 0, STREAM_POINT, 50);
    rig->queues[2].free_cycle = 3000; /* a stream that is removed is still waited for */
    rig->queues[3].free_cycle = 9000;
    stream_group_remove(&rig->group, &rig->queues[2]);
    stream_group_remove(&rig->group, &rig->queues[3]);
    assert_int_equal(rig->group.gone_cycle, 9000);
    expect_point(rig, again, 3000);
    rig_destroy(rig);
}

static void urgent_streams_go_first(void **state)
{
    (void)state;
    struct rig *rig = rig_create();
    rig->queues[2].priority = -1;
    struct stream_task *early = ask(rig, 1, STREAM_POINT, 0), *urgent = ask(rig, 2, STREAM_POINT, 7);
    expect_next(rig, urgent, 7);
    rig->scheduler.in_order_of_calls = true; /* what is captured is written down in this order */
    expect_point(rig, early, 0);
    expect_point(rig, urgent, 7);
    rig_destroy(rig);
}

static void events_are_waited_for(void **state)
{
    (void)state;
    struct rig *rig = rig_create();
    struct stream_scheduler other = {0};
    struct stream_event here = {.clock = &rig->scheduler}, there = {.clock = &other};
    struct stream_task *task = ask(rig, 1, STREAM_POINT, 10);
    task->event = &here;
    task->event_count = 2;
    here.completed = 1;
    here.cycle = 500;
    expect_next(rig, NULL, 0);
    here.completed = 2;
    expect_point(rig, task, 500);
    task = ask(rig, 1, STREAM_POINT, 10);
    task->event = &there; /* of another GPU, with another clock */
    task->event_count = 1;
    expect_next(rig, NULL, 0);
    there.completed = 1;
    there.cycle = 700;
    expect_point(rig, task, 500);
    rig_destroy(rig);
}

static void kernels_find_room(void **state)
{
    (void)state;
    struct rig *rig = rig_create();
    struct stream_task running[STREAM_MOST_RUNNING] = {0};
    for (uint32_t i = 0; i < STREAM_MOST_RUNNING - 1; i++)
        assert_true(vector_push(&rig->scheduler.launches, &running[i]));
    struct stream_task *together = ask(rig, 1, STREAM_LAUNCH, 0), *plain = ask(rig, 2, STREAM_LAUNCH, 0);
    together->cooperative = true;
    assert_int_equal(rig->host.launches_waiting, 2);
    expect_next(rig, plain, 0);
    rig->scheduler.alone = true;
    expect_next(rig, NULL, 0);
    rig->scheduler.alone = false;
    assert_true(vector_push(&rig->scheduler.launches, &running[STREAM_MOST_RUNNING - 1]));
    expect_next(rig, NULL, 0);
    struct stream_task *copy = ask(rig, 3, STREAM_TRANSFER, 3);
    expect_next(rig, copy, 3); /* a copy needs no room */
    rig->scheduler.launches.count = 0;
    expect_next(rig, together, 0);
    stream_finish(&rig->scheduler, together, 20);
    assert_int_equal(rig->host.launches_waiting, 1);
    assert_int_equal(rig->host.room_cycle, 20);
    rig_destroy(rig);
}

static bool never(void *user, const struct stream_task *task, uint64_t *since)
{
    (void)user;
    *since += 1;
    return task->kind == STREAM_POINT;
}

static void callers_have_a_word(void **state)
{
    (void)state;
    struct rig *rig = rig_create();
    rig->scheduler.may_start = never;
    struct stream_task *copy = ask(rig, 1, STREAM_TRANSFER, 3), *point = ask(rig, 2, STREAM_POINT, 4);
    expect_next(rig, point, 5);
    uint64_t cycle = 0;
    assert_false(stream_reached(&rig->queues[1], copy->sequence, &cycle));
    assert_true(stream_reached(&rig->queues[2], copy->sequence, &cycle)); /* it was asked for nothing until then */
    rig_destroy(rig);
}

static struct corun_gpu *open_gpu(void)
{
    struct corun_gpu *gpu;
    struct corun_gpu_config config;
    struct corun_application_description description = {.name = "program"};
    struct corun_limits limits = {0};
    uint32_t application;
    corun_gpu_config_default(&config);
    assert_int_equal(corun_gpu_create(&config, NULL, &gpu), CORUN_OK);
    assert_int_equal(corun_gpu_add(gpu, &description, &application), CORUN_OK);
    assert_int_equal(corun_gpu_open(gpu, &limits, NULL), CORUN_OK);
    return gpu;
}

static void launches_and_transfers_end_in_order(void **state)
{
    (void)state;
    struct rig *rig = rig_create();
    rig->scheduler.machine = stream_machine_of_gpu(open_gpu());
    rig->scheduler.base_cycle = 1000;
    struct script *scripts[2] = {script_new(1, 1), script_new(1, 1)};
    for (int i = 0; i < 2; i++) {
        script_compute(scripts[i], CORUN_UNIT_INT, CORUN_OPERATION_ADD, 1, 2, 3);
        script_end(scripts[i], 0, 1);
    }
    struct stream_task *one = ask(rig, 1, STREAM_LAUNCH, 1000), *two = ask(rig, 2, STREAM_LAUNCH, 1000),
                       *copy = ask(rig, 3, STREAM_TRANSFER, 1200);
    struct transfer transfer = {.engine = CORUN_COPY_TO_DEVICE, .bytes = 4096};
    expect_next(rig, one, 1000);
    assert_int_equal(stream_start_launch(&rig->scheduler, one, 0, &scripts[0]->grid, 1000), CORUN_OK);
    expect_next(rig, two, 1000);
    assert_int_equal(stream_start_launch(&rig->scheduler, two, 0, &scripts[1]->grid, 1000), CORUN_OK);
    assert_true(stream_start_transfer(&rig->scheduler, copy, &transfer, 1200));
    assert_true(copy->start_cycle >= 1200 && copy->end_cycle > copy->start_cycle);
    assert_int_equal(stream_next_transfer(&rig->scheduler), copy->end_cycle - 1000);
    expect_next(rig, NULL, 0);
    while (rig->ended_count < 3) {
        corun_gpu_wake(rig->scheduler.machine.machine, 0, stream_next_transfer(&rig->scheduler));
        assert_int_equal(corun_gpu_advance(rig->scheduler.machine.machine,
                                           corun_gpu_cycles(rig->scheduler.machine.machine) + 100000),
                         CORUN_OK);
        stream_collect(&rig->scheduler);
    }
    assert_ptr_equal(rig->ended[0], one);
    assert_ptr_equal(rig->ended[1], two);
    assert_ptr_equal(rig->ended[2], copy);
    assert_true(one->start_cycle >= 1000 && one->end_cycle > one->start_cycle);
    assert_int_equal(rig->queues[1].free_cycle, one->end_cycle);
    assert_true(rig->queues[1].launched);
    assert_int_equal(stream_next_transfer(&rig->scheduler), UINT64_MAX);
    assert_false(stream_forget(&rig->scheduler, copy));
    rig_destroy(rig);
    for (int i = 0; i < 2; i++)
        free(scripts[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stream_is_in_order),
        cmocka_unit_test(the_legacy_stream_and_the_others_wait_for_each_other),
        cmocka_unit_test(urgent_streams_go_first),
        cmocka_unit_test(events_are_waited_for),
        cmocka_unit_test(kernels_find_room),
        cmocka_unit_test(callers_have_a_word),
        cmocka_unit_test(launches_and_transfers_end_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
