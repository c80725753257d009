/* SPDX-License-Identifier: MIT */
/* What wakes an SM: the earliest of its sources, the reply that the memory system notes, the timing wheel of its warps. */
#include "gpu/memory_rig.h"
#include "gpu/wake.h"
#include "gpu/wake_wheel.h"

static struct wakes asleep(void)
{
    struct wakes wakes;
    for (uint32_t source = 0; source < WAKE_SOURCES; source++)
        wakes.cycle[source] = NEVER;
    return wakes;
}

static void nothing_wakes_what_waits_for_nothing(void **state)
{
    (void)state;
    struct wakes wakes = asleep();
    assert_true(wake_next(&wakes) == NEVER);
    for (uint32_t source = 0; source < WAKE_SOURCES; source++)
        assert_false(wake_due(&wakes, source, UINT64_C(1) << 60));
}

static void note(struct wakes *wakes, uint32_t source, uint64_t cycle)
{
    if (source < WAKE_LOOKED_AT)
        wakes->cycle[source] = cycle;
    else
        wake_by(wakes, source, cycle);
}

static void each_source_can_be_the_earliest(void **state)
{
    (void)state;
    for (uint32_t source = 0; source < WAKE_SOURCES; source++) {
        if (source == WAKE_OCCASION)
            continue; /* no source of its own: the first of those behind it */
        struct wakes wakes = asleep();
        for (uint32_t other = 0; other < WAKE_SOURCES; other++)
            if (other != WAKE_OCCASION)
                note(&wakes, other, 1000 + other);
        note(&wakes, source, 7);
        assert_int_equal(wake_next(&wakes), 7);
        assert_false(wake_due(&wakes, source, 6));
        assert_true(wake_due(&wakes, source, 7));
        assert_true(wake_due(&wakes, WAKE_OCCASION, 7) == (source >= WAKE_LOOKED_AT));
        if (source < WAKE_LOOKED_AT)
            wakes.cycle[source] = NEVER;
        else
            wake_not_before(&wakes, source, NEVER);
        /* attended to: the others are as they were */
        assert_int_equal(wake_next(&wakes), source == WAKE_REPLY ? 1000 + WAKE_REMOTE : 1000 + WAKE_REPLY);
        assert_int_equal(wakes.cycle[WAKE_OCCASION],
                         source == WAKE_INCOMING ? 1000 + WAKE_INCOMING + 1 : 1000 + WAKE_INCOMING);
    }
}

static void a_source_keeps_its_earliest_cycle(void **state)
{
    (void)state;
    struct wakes wakes = asleep();
    wake_by(&wakes, WAKE_QUOTA, 50);
    wake_by(&wakes, WAKE_QUOTA, 90);
    assert_int_equal(wake_next(&wakes), 50);
    wake_by(&wakes, WAKE_QUOTA, 20);
    assert_int_equal(wake_next(&wakes), 20);
}

static void the_wheel_gives_warps_back_at_their_cycle(void **state)
{
    (void)state;
    struct wake_wheel wheel = {0};
    assert_true(wheel_next(&wheel, 100) == NEVER);
    wheel_set(&wheel, 100, 103, 5);
    wheel_set(&wheel, 100, 103, 63);
    wheel_set(&wheel, 100, 110, 0);
    assert_int_equal(wheel_next(&wheel, 100), 103);
    assert_true(wheel_take(&wheel, 102) == 0);
    assert_true(wheel_take(&wheel, 103) == (UINT64_C(1) << 63 | 1u << 5));
    assert_int_equal(wheel_next(&wheel, 103), 110);
    assert_true(wheel_take(&wheel, 110) == 1);
    assert_true(wheel_next(&wheel, 110) == NEVER);
}

static void what_lies_beyond_the_wheel_is_looked_at_in_its_last_slot(void **state)
{
    (void)state;
    struct wake_wheel wheel = {0};
    wheel_set(&wheel, 1000, 1000 + 5 * WHEEL_SLOTS, 9);
    assert_int_equal(wheel_next(&wheel, 1000), 1000 + WHEEL_SLOTS - 1);
    assert_true(wheel_take(&wheel, 1000 + WHEEL_SLOTS - 1) == 1u << 9);
}

static void warps_that_are_ready_at_a_cycle_are_told_apart(void **state)
{
    (void)state;
    struct wake_wheel wheel = {0};
    wheel_set_ready(&wheel, 130, 5);
    wheel_set_ready(&wheel, 130, 63);
    wheel_set(&wheel, 100, 130, 7);
    wheel_set_ready(&wheel, 127, 8);
    assert_int_equal(wheel_next(&wheel, 100), 127);
    assert_true(wheel_take_ready(&wheel, 126) == 0);
    assert_true(wheel_take_ready(&wheel, 127) == 1u << 8);
    assert_int_equal(wheel_next(&wheel, 127), 130);
    assert_true(wheel_take(&wheel, 130) == 1u << 7);
    assert_true(wheel_take_ready(&wheel, 130) == (UINT64_C(1) << 63 | 1u << 5));
    assert_true(wheel_next(&wheel, 130) == NEVER);
    wheel_set_ready(&wheel, 130 + WHEEL_READY_SLOTS - 1, 5);
    wheel_set(&wheel, 130, 140, 7);
    assert_int_equal(wheel_next(&wheel, 130), 140);
    assert_int_equal(wheel_next(&wheel, 140), 130 + WHEEL_READY_SLOTS - 1);
}

/* The thread block of one has left its SM: the cycle stays one at which something is looked at. */
static void a_warp_that_is_doubted_is_looked_at(void **state)
{
    (void)state;
    struct wake_wheel wheel = {0};
    wheel_set_ready(&wheel, 103, 5);
    wheel_set_ready(&wheel, 103, 6);
    wheel_doubt(&wheel, 100, 104, 5); /* not its cycle */
    wheel_doubt(&wheel, 100, 103, 6);
    assert_true(wheel_take(&wheel, 103) == 1u << 6);
    assert_true(wheel_take_ready(&wheel, 103) == 1u << 5);
    wheel_set_ready(&wheel, 109, 5);
    wheel_doubt(&wheel, 103, 109, 5);
    assert_int_equal(wheel_next(&wheel, 103), 109);
    assert_true(wheel_take_ready(&wheel, 109) == 0);
    assert_true(wheel_take(&wheel, 109) == 1u << 5);
}

/* Two reads of one SM: the first reply is noted, the second one behind it is not. */
static void the_memory_system_notes_the_first_reply(void **state)
{
    (void)state;
    struct corun_gpu_config config = rig_config();
    struct rig rig;
    struct wakes wakes = asleep();
    rig_create(&rig, &config);
    assert_non_null(memory_system_counters(rig.memory, 0));
    struct reply_ring *ring = memory_system_replies(rig.memory, 3);
    ring->first_cycle = &wakes.cycle[WAKE_REPLY];
    struct packet packets[] = {{.cycle = 0, .address = 0, .sm = 3, .kind = PACKET_READ, .sectors = 1},
                               {.cycle = 5, .address = 4096, .sm = 3, .kind = PACKET_READ, .sectors = 1}};
    memory_system_send(rig.memory, packets, 2);
    for (uint64_t now = rig.step; ring->tail - ring->head < 2 && now < 100000; now += rig.step)
        assert_true(memory_system_advance(rig.memory, now));
    assert_int_equal(ring->tail - ring->head, 2);
    assert_true(wakes.cycle[WAKE_REPLY] == ring->slots[ring->head & ring->mask].cycle);
    assert_true(ring->slots[(ring->head + 1) & ring->mask].cycle > wakes.cycle[WAKE_REPLY]);
    rig_destroy(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_wakes_what_waits_for_nothing),
        cmocka_unit_test(each_source_can_be_the_earliest),
        cmocka_unit_test(a_source_keeps_its_earliest_cycle),
        cmocka_unit_test(the_wheel_gives_warps_back_at_their_cycle),
        cmocka_unit_test(what_lies_beyond_the_wheel_is_looked_at_in_its_last_slot),
        cmocka_unit_test(warps_that_are_ready_at_a_cycle_are_told_apart),
        cmocka_unit_test(a_warp_that_is_doubted_is_looked_at),
        cmocka_unit_test(the_memory_system_notes_the_first_reply),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
