/* SPDX-License-Identifier: MIT */
/* Ports, links and flits of both shapes of the interconnect. All times in interconnect cycles. */
#include "gpu/interconnect.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static struct corun_gpu_config make_config(void)
{
    struct corun_gpu_config config;
    corun_gpu_config_default(&config);
    return config;
}

static void inject(struct network *network, struct request_pool *pool, uint32_t source, uint32_t destination,
                   uint64_t cycle, uint8_t flits)
{
    uint32_t request = request_pool_take(pool);
    assert_int_not_equal(request, NO_REQUEST);
    pool->slots[request].flits = flits;
    pool->slots[request].packet.token = source;
    assert_true(network_inject(network, pool, request, source, destination, cycle));
}

/* Arrival of the next packet; *source is where it came from. */
static uint64_t eject(struct network *network, struct request_pool *pool, uint32_t destination, uint32_t *source)
{
    uint64_t arrival;
    assert_true(network_route(network, pool, UINT64_MAX));
    uint32_t request = network_eject(network, pool, destination, UINT64_MAX, &arrival);
    assert_int_not_equal(request, NO_REQUEST);
    if (source)
        *source = pool->slots[request].packet.token;
    request_pool_give(pool, request);
    return arrival;
}

static void crossbar_takes_its_latency_and_a_cycle_per_flit(void **state)
{
    (void)state;
    struct corun_gpu_config c = make_config();
    struct network network;
    struct request_pool pool = {0};
    assert_true(network_create(&network, &c, true));
    inject(&network, &pool, 0, 5, 100, 1);
    assert_int_equal(network_next(&network, 5), 100 + c.icnt_latency);
    assert_int_equal(network_next(&network, 4), UINT64_MAX);
    uint64_t arrival;
    assert_int_equal(network_eject(&network, &pool, 5, 100 + c.icnt_latency, &arrival), NO_REQUEST);
    assert_int_equal(eject(&network, &pool, 5, NULL), 100 + c.icnt_latency);
    inject(&network, &pool, 0, 5, 200, 4);
    assert_int_equal(eject(&network, &pool, 5, NULL), 200 + c.icnt_latency + 3);
    network_free(&network);
    request_pool_free(&pool);
}

static uint32_t eject_in_turn(struct network *network, struct request_pool *pool, uint64_t limit, uint64_t ready)
{
    uint64_t arrival;
    uint32_t request = network_eject_in_turn(network, pool, 3, limit, ready, &arrival);
    if (request == NO_REQUEST)
        return UINT32_MAX;
    uint32_t source = pool->slots[request].packet.token;
    request_pool_give(pool, request);
    return source;
}

static void a_slow_slice_takes_sources_in_turn(void **state)
{
    (void)state;
    struct corun_gpu_config c = make_config();
    struct network network;
    struct request_pool pool = {0};
    c.sms = 70; /* more than one word of bits */
    c.icnt_turn_packets = 2;
    c.icnt_flit_bytes = 256; /* a line is one flit */
    assert_true(network_create(&network, &c, true));
    for (uint32_t i = 0; i < 50; i++) /* a long backlog of one source, then one packet of each of two others */
        inject(&network, &pool, 5, 3, i, 1);
    inject(&network, &pool, 66, 3, 40, 1);
    inject(&network, &pool, 2, 3, 45, 1);
    assert_int_equal(eject_in_turn(&network, &pool, c.icnt_latency, 0), UINT32_MAX); /* nothing that early */
    assert_int_equal(eject_in_turn(&network, &pool, 1000, 0), 5);   /* idle until now: in order of arrival */
    assert_int_equal(eject_in_turn(&network, &pool, 1000, 500), 5); /* the second packet of its turn */
    assert_int_equal(eject_in_turn(&network, &pool, 1000, 500), 66);
    assert_int_equal(eject_in_turn(&network, &pool, 1000, 600), 2);
    for (uint32_t i = 0; i < 48; i++)
        assert_int_equal(eject_in_turn(&network, &pool, 1000, 700 + i), 5);
    assert_int_equal(eject_in_turn(&network, &pool, 1000, 900), UINT32_MAX);
    /* what arrives only after the slice is ready does not overtake what was there */
    inject(&network, &pool, 7, 3, 1000, 1);
    inject(&network, &pool, 6, 3, 1100, 1);
    assert_int_equal(eject_in_turn(&network, &pool, 2000, 1000 + c.icnt_latency), 7);
    assert_int_equal(eject_in_turn(&network, &pool, 2000, 1000 + c.icnt_latency), 6);
    network_free(&network);
    request_pool_free(&pool);
}

/* Of loads, which are a flit, as many come as of a line's stores in flits; a turn may end within a packet. */
static void turns_are_of_flits(void **state)
{
    (void)state;
    struct corun_gpu_config c = make_config();
    struct network network;
    struct request_pool pool = {0};
    c.icnt_turn_packets = 2;
    c.l2_line_bytes = 128;
    c.icnt_header_bytes = 8;
    c.icnt_flit_bytes = 40; /* a store of a line: four flits */
    assert_true(network_create(&network, &c, true));
    for (uint32_t i = 0; i < 40; i++) {
        inject(&network, &pool, 1, 3, i, 1);
        inject(&network, &pool, 2, 3, i, 4);
        inject(&network, &pool, 4, 3, i, 3);
    }
    static const uint32_t turn[] = {1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 4, 4, 4};
    for (uint32_t round = 0; round < 3; round++)
        for (uint32_t i = 0; i < sizeof turn / sizeof *turn; i++)
            assert_int_equal(eject_in_turn(&network, &pool, 1000, 1000), turn[i]);
    network_free(&network);
    request_pool_free(&pool);
}

static void neighbours_share_a_port(void **state)
{
    (void)state;
    struct corun_gpu_config c = make_config();
    struct network network;
    struct request_pool pool = {0};
    c.sms = 5;
    c.icnt_sms_per_port = 2;
    assert_true(network_create(&network, &c, true));
    for (uint32_t sm = 0; sm < c.sms; sm++)
        inject(&network, &pool, sm, sm, 0, 4);
    uint64_t arrivals[] = {3, 7, 3, 7, 3}; /* of the last of four flits; the fifth SM has no neighbour */
    for (uint32_t sm = 0; sm < c.sms; sm++)
        assert_int_equal(eject(&network, &pool, sm, NULL), c.icnt_latency + arrivals[sm]);
    uint64_t links;
    assert_int_equal(network_busy(&network, 8, &links), 5 * 4); /* ejection comes later */
    assert_int_equal(links, 3 + network.destinations);
    network_free(&network);
    assert_true(network_create(&network, &c, false)); /* replies have a port for each slice */
    inject(&network, &pool, 0, 0, 0, 4);
    inject(&network, &pool, 1, 1, 0, 4);
    assert_int_equal(eject(&network, &pool, 0, NULL), c.icnt_latency + 3);
    assert_int_equal(eject(&network, &pool, 1, NULL), c.icnt_latency + 3);
    network_free(&network);
    request_pool_free(&pool);
}

static void a_source_injects_one_flit_per_cycle(void **state)
{
    (void)state;
    struct corun_gpu_config c = make_config();
    struct network network;
    struct request_pool pool = {0};
    assert_true(network_create(&network, &c, true));
    for (uint32_t i = 0; i < 8; i++)
        inject(&network, &pool, 3, i, 0, 5);
    for (uint32_t i = 0; i < 8; i++)
        assert_int_equal(eject(&network, &pool, i, NULL), 5 * i + c.icnt_latency + 4);
    network_free(&network);
    request_pool_free(&pool);
}

static void many_sources_share_one_destination(void **state)
{
    (void)state;
    struct corun_gpu_config c = make_config();
    struct network network;
    struct request_pool pool = {0};
    assert_true(network_create(&network, &c, true));
    for (uint32_t sm = 0; sm < 16; sm++)
        inject(&network, &pool, sm, 0, 10, 4);
    for (uint32_t sm = 0; sm < 16; sm++) {
        uint32_t source;
        assert_int_equal(eject(&network, &pool, 0, &source), 10 + c.icnt_latency + 4 * sm + 3);
        assert_int_equal(source, sm); /* ties go to the lower SM */
    }
    uint64_t links;
    assert_int_equal(network_busy(&network, 1000000, &links), 2 * 16 * 4);
    assert_int_equal(links, 16 + 16);
    /* Up to cycle 28, the injections are over and ten flits have gone through the ejection port. */
    assert_int_equal(network_busy(&network, 10 + c.icnt_latency + 10, &links), 16 * 4 + 10);
    network_free(&network);
    request_pool_free(&pool);
}

/* A source with a backlog does not hold the destination's port for packets that are not there yet. */
static void a_backlog_elsewhere_does_not_delay_others(void **state)
{
    (void)state;
    struct corun_gpu_config c = make_config();
    struct network network;
    struct request_pool pool = {0};
    assert_true(network_create(&network, &c, true));
    for (uint32_t i = 0; i < 100; i++)
        inject(&network, &pool, 0, 1, 0, 2);
    uint32_t source;
    inject(&network, &pool, 9, 1, 1, 1);
    inject(&network, &pool, 4, 1, 5, 1);
    assert_int_equal(eject(&network, &pool, 1, &source), c.icnt_latency + 1);
    assert_int_equal(source, 0);
    assert_int_equal(eject(&network, &pool, 1, &source), c.icnt_latency + 2);
    assert_int_equal(source, 9);
    eject(&network, &pool, 1, &source);
    eject(&network, &pool, 1, &source);
    assert_int_equal(source, 0);
    eject(&network, &pool, 1, &source);
    assert_int_equal(source, 4);
    uint64_t last = 0;
    for (uint32_t i = 3; i < 100; i++) {
        uint64_t arrival = eject(&network, &pool, 1, &source);
        assert_int_equal(source, 0);
        assert_true(arrival > last);
        last = arrival;
    }
    network_free(&network);
    request_pool_free(&pool);
}

/* ---- mesh ---- */

/* 7 SMs and 2 slices on 3 x 3: slices at positions 2 and 6, SMs at 0 1 3 4 5 7 8. */
static struct corun_gpu_config mesh_config(void)
{
    struct corun_gpu_config config = make_config();
    config.icnt = CORUN_ICNT_MESH;
    config.sms = 7;
    config.memory_controllers = 2;
    config.slices_per_controller = 1;
    config.icnt_latency = 3;
    return config;
}

static void mesh_takes_its_latency_per_hop(void **state)
{
    (void)state;
    struct corun_gpu_config c = mesh_config();
    struct network network;
    struct request_pool pool = {0};
    assert_true(network_create(&network, &c, true));
    static const uint32_t sm_position[] = {0, 1, 3, 4, 5, 7, 8}, slice_position[] = {2, 6};
    for (uint32_t sm = 0; sm < 7; sm++)
        for (uint32_t slice = 0; slice < 2; slice++) {
            uint64_t start = 1000 * (sm * 2 + slice + 1);
            uint32_t from = sm_position[sm], to = slice_position[slice];
            uint32_t hops = (uint32_t)(abs((int)(from % 3) - (int)(to % 3)) + abs((int)(from / 3) - (int)(to / 3)));
            inject(&network, &pool, sm, slice, start, 2);
            assert_int_equal(eject(&network, &pool, slice, NULL), start + hops * 3 + 1);
        }
    assert_int_equal(network.least_latency, 3);
    network_free(&network);
    request_pool_free(&pool);
}

static void mesh_packets_share_links(void **state)
{
    (void)state;
    struct corun_gpu_config c = mesh_config();
    struct network network;
    struct request_pool pool = {0};
    assert_true(network_create(&network, &c, true));
    /* Both take the link from position 1 to 2, in the order in which they were injected. */
    inject(&network, &pool, 0, 0, 0, 4); /* takes that link from 3 on */
    inject(&network, &pool, 1, 0, 1, 4); /* from 7 on */
    uint32_t source;
    assert_int_equal(eject(&network, &pool, 0, &source), 3 + 3 + 3);
    assert_int_equal(source, 0);
    assert_int_equal(eject(&network, &pool, 0, &source), 7 + 3 + 3);
    assert_int_equal(source, 1);
    /* The other way round there is nothing to wait for. */
    inject(&network, &pool, 1, 0, 100, 4); /* from 100 on */
    inject(&network, &pool, 0, 0, 101, 4); /* from 104 on */
    assert_int_equal(eject(&network, &pool, 0, &source), 100 + 3 + 3);
    assert_int_equal(eject(&network, &pool, 0, &source), 104 + 3 + 3);
    network_free(&network);
    request_pool_free(&pool);
}

static void flits_hold_header_and_payload(void **state)
{
    (void)state;
    struct corun_gpu_config c = make_config(); /* 40 bytes a flit, of which 8 for the header of the first */
    struct packet packet = {.kind = PACKET_READ, .sectors = 0xf};
    assert_int_equal(packet_request_flits(&c, &packet), 1);
    assert_int_equal(packet_reply_flits(&c, &packet), 4); /* 136 bytes */
    packet.sectors = 1;
    assert_int_equal(packet_reply_flits(&c, &packet), 1); /* 40 bytes */
    packet.kind = PACKET_WRITE;
    packet.sectors = 0xf;
    packet.bytes = 128;
    assert_int_equal(packet_request_flits(&c, &packet), 4);
    assert_int_equal(packet_reply_flits(&c, &packet), 1);
    packet.kind = PACKET_ATOMIC;
    packet.sectors = 1;
    assert_int_equal(packet_request_flits(&c, &packet), 4); /* 32 lanes to one word */
    assert_int_equal(packet_reply_flits(&c, &packet), 1);
    c.icnt_header_bytes = 0;
    packet.kind = PACKET_WRITE;
    assert_int_equal(packet_reply_flits(&c, &packet), 1);
}

/* The queue of arrivals against sorting. */
static void arrivals_come_in_order_of_time_and_source(void **state)
{
    (void)state;
    struct request_queue queue = {0};
    uint64_t random = 1, pushed = 0, popped = 0, last = 0, floor = 0;
    for (uint32_t i = 0; i < 20000; i++) {
        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        if (random >> 62 && (random >> 61 & 1 || request_queue_empty(&queue))) {
            /* Never before what has been popped, as in the simulation. Time in the low bits makes keys unique. */
            uint64_t time = (floor + (random >> 40 & 0xff)) << 20 | i;
            assert_true(request_queue_push(&queue, time, random >> 30 & 15, i));
            pushed++;
        } else if (!request_queue_empty(&queue)) {
            uint64_t time = request_queue_time(&queue);
            struct queued_request entry = request_queue_pop(&queue);
            assert_int_equal(entry.key >> REQUEST_SOURCE_BITS, time);
            assert_true(entry.key > last);
            last = entry.key;
            floor = (time >> 20) + 1;
            popped++;
        }
    }
    for (; !request_queue_empty(&queue); popped++)
        request_queue_pop(&queue);
    assert_int_equal(pushed, popped);
    assert_int_equal(request_queue_time(&queue), UINT64_MAX);
    request_queue_free(&queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(crossbar_takes_its_latency_and_a_cycle_per_flit),
        cmocka_unit_test(a_slow_slice_takes_sources_in_turn),
        cmocka_unit_test(turns_are_of_flits),
        cmocka_unit_test(neighbours_share_a_port),
        cmocka_unit_test(a_source_injects_one_flit_per_cycle),
        cmocka_unit_test(many_sources_share_one_destination),
        cmocka_unit_test(a_backlog_elsewhere_does_not_delay_others),
        cmocka_unit_test(mesh_takes_its_latency_per_hop),
        cmocka_unit_test(mesh_packets_share_links),
        cmocka_unit_test(flits_hold_header_and_payload),
        cmocka_unit_test(arrivals_come_in_order_of_time_and_source),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
