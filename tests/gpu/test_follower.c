/* SPDX-License-Identifier: MIT */
/* The memory system waits for further steps of the SMs where that changes nothing, and follows when somebody looks at it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gpu/follower.h"
#include "gpu/sm.h"

enum { SMS = 4, KERNELS = 1, STEP = 20 };

struct fixture {
    struct corun_gpu_config config;
    struct cluster_network *network;
    struct memory_system *memory;
    struct follower *follower;
    struct sm *sms[SMS]; /* their ports only */
    uint64_t now;
    bool beside;
    uint32_t performed;
};

static void perform(void *user, const struct packet *packet)
{
    (void)packet;
    ((struct fixture *)user)->performed++;
}

static void setup(struct fixture *f)
{
    *f = (struct fixture){0};
    corun_gpu_config_default(&f->config);
    f->config.sms = SMS;
    f->network = cluster_network_create(&f->config, perform, f);
    f->memory = memory_system_create(&f->config, perform, f);
    f->follower = follower_create(f->memory, f->network, f->sms, SMS, STEP);
    assert_non_null(f->network);
    assert_non_null(f->follower);
    for (uint32_t s = 0; s < SMS; s++) {
        struct sm *sm = f->sms[s] = aligned_alloc(64, (sizeof *sm + 63) / 64 * 64);
        assert_non_null(sm);
        memset(sm, 0, sizeof *sm);
        assert_true(port_create(&sm->port, &f->config, memory_system_replies(f->memory, s),
                                cluster_network_replies(f->network, s), &sm->wakes));
        sm->port.writes = calloc(KERNELS, sizeof *sm->port.writes);
        sm->wakes.cycle[WAKE_REPLY] = NEVER;
    }
}

static void teardown(struct fixture *f)
{
    for (uint32_t s = 0; s < SMS; s++) {
        port_destroy(&f->sms[s]->port);
        free(f->sms[s]);
    }
    follower_destroy(f->follower);
    cluster_network_destroy(f->network);
}

static void send(struct fixture *f, uint32_t sm, enum packet_kind kind)
{
    struct packet packet = {
        .cycle = f->now, .address = 128 * sm, .sm = (uint16_t)sm, .kind = (uint8_t)kind, .sectors = 1, .lanes = 1};
    assert_true(port_send(&f->sms[sm]->port, &packet));
}

/* A step of the SMs; whether the memory system may wait for another. */
static bool step(struct fixture *f)
{
    f->now += STEP;
    return follower_may_wait(f->follower, f->now, f->beside);
}

static void follow_beside(struct fixture *f)
{
    follower_collect(f->follower);
    follower_follow_beside(f->follower);
    assert_false(follower_failed(f->follower));
    assert_false(follower_is_behind(f->follower));
}

static uint64_t requests(struct fixture *f)
{
    return memory_system_counters(follower_memory(f->follower), 0)->icnt_requests;
}

static void reads_and_stores_may_wait(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f);
    assert_true(step(&f)); /* nothing was sent: time passes all the same */
    assert_true(follower_follow(f.follower));
    send(&f, 0, PACKET_READ);
    send(&f, 2, PACKET_WRITE);
    assert_true(step(&f));
    assert_true(follower_is_behind(f.follower));
    send(&f, 0, PACKET_READ);
    follower_collect(f.follower);
    assert_int_equal(f.sms[0]->port.out_count, 0); /* there is room for the next step's */
    send(&f, 3, PACKET_READ);
    follower_follow_beside(f.follower);
    assert_true(step(&f));
    assert_true(follower_follow(f.follower));
    assert_int_equal(requests(&f), 4);
    teardown(&f);
}

/* As many steps as fit into the way to the memory system and back. */
static void it_waits_for_steps_as_long_as_no_reply_can_come(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f);
    uint64_t quantum = memory_system_quantum(f.memory);
    for (uint32_t round = 0; round < 3; round++) {
        uint64_t from = f.now;
        do
            send(&f, round, PACKET_READ);
        while (step(&f));
        assert_true(f.now - from <= quantum);
        assert_true(f.now + STEP - from > quantum);
        assert_true(follower_follow(f.follower));
    }
    assert_true(follower_skip_to(f.follower, f.now + 100000));
    f.now += 100000;
    send(&f, 0, PACKET_READ);
    assert_true(step(&f));
    teardown(&f);
}

/* Where the next packet's turn depends on the step, each step is followed by itself: at once, or beside the next one. */
static void it_keeps_to_steps_if_told(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f);
    follower_keep_to_steps(f.follower);
    assert_false(step(&f));
    teardown(&f);
}

static void atomics_do_not_wait(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f);
    send(&f, 1, PACKET_ATOMIC);
    assert_false(step(&f));
    assert_true(follower_follow(f.follower));
    /* nor does anything else until the atomic has been answered */
    uint32_t steps = 0;
    for (struct port *port = &f.sms[1]->port; port->replies->head == port->replies->tail; steps++) {
        assert_true(steps < 1000);
        assert_true(memory_system_has_atomics(f.memory));
        send(&f, 0, PACKET_READ);
        assert_false(step(&f));
        assert_true(follower_follow(f.follower));
    }
    assert_int_equal(f.performed, 1);
    assert_false(memory_system_has_atomics(f.memory));
    send(&f, 0, PACKET_READ);
    assert_true(step(&f));
    teardown(&f);
}

static void who_looks_finds_it_up_to_date(void **state)
{
    (void)state;
    struct fixture f;
    setup(&f);
    send(&f, 3, PACKET_READ);
    assert_true(step(&f));
    assert_int_equal(requests(&f), 1);
    assert_false(follower_is_behind(f.follower));
    teardown(&f);
}

/* What was delivered beside the SMs is found by an SM that accepts, and by all when the memory system follows at once. */
static void replies_are_accepted(void **state)
{
    (void)state;
    for (uint32_t at_once = 0; at_once < 2; at_once++) {
        struct fixture f;
        setup(&f);
        struct reply_ring *ring = f.sms[0]->port.replies;
        send(&f, 0, PACKET_READ);
        for (uint32_t steps = 0; atomic_load(&ring->delivered) == 0; steps++) {
            assert_true(steps < 1000);
            assert_true(step(&f));
            follow_beside(&f);
            assert_int_equal(ring->tail, 0);
        }
        assert_true(f.sms[0]->wakes.cycle[WAKE_REPLY] == NEVER);
        if (at_once)
            assert_true(memory_system_advance(f.memory, f.now));
        else
            reply_ring_accept(ring);
        assert_int_equal(ring->tail, 1);
        assert_true(f.sms[0]->wakes.cycle[WAKE_REPLY] == ring->slots[0].cycle);
        assert_true(ring->slots[0].cycle >= f.now + STEP); /* not for the step that ran beside */
        teardown(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_and_stores_may_wait),
        cmocka_unit_test(it_waits_for_steps_as_long_as_no_reply_can_come),
        cmocka_unit_test(it_keeps_to_steps_if_told),
        cmocka_unit_test(atomics_do_not_wait),
        cmocka_unit_test(who_looks_finds_it_up_to_date),
        cmocka_unit_test(replies_are_accepted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
