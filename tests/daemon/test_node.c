/* SPDX-License-Identifier: MIT */
/* The node of corund without sockets: whose turn it is, when time goes on, and what a client's end gives back. */
#include "daemon/node.h"
#include "isa/memory.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static const char code[] = ".version 6.0\n.target sm_52\n.address_size 64\n"
                           ".visible .entry store(.param .u64 p)\n{\n.reg .b64 %a<2>;\n.reg .b32 %r<2>;\n"
                           "ld.param.u64 %a1, [p];\nmov.u32 %r1, 7;\nst.global.u32 [%a1], %r1;\nret;\n}\n";

struct rig {
    struct corun_diagnostics *list;
    struct node *node;
};

static int set_up_as(void **state, struct node_settings settings)
{
    struct rig *rig = calloc(1, sizeof *rig);
    struct node_gpu gpus[2];
    settings.threads = 1;
    settings.gpus = gpus;
    settings.gpu_count = 1;
    for (size_t i = 0; i < 2; i++) {
        gpus[i] = (struct node_gpu){.launch_cycles = 0};
        corun_gpu_config_default(&gpus[i].configuration);
        gpus[i].configuration.sms = 2;
    }
    rig->list = corun_diagnostics_create();
    assert_int_equal(node_create(&settings, rig->list, &rig->node), CORUN_OK);
    *state = rig;
    return 0;
}

static int set_up(void **state)
{
    return set_up_as(state, (struct node_settings){0});
}

static int set_up_places(void **state)
{
    static const char *const names[] = {"first", "second"};
    return set_up_as(state, (struct node_settings){.expected = names, .expected_count = 2, .keeps_places = true});
}

static int tear_down(void **state)
{
    struct rig *rig = *state;
    node_destroy(rig->node);
    corun_diagnostics_destroy(rig->list);
    free(rig);
    return 0;
}

static void say(struct session *session, enum wire_type type, const void *body, const void *tail, uint32_t tail_bytes)
{
    const struct wire_row *row = wire_row(type);
    struct wire_header header = {type, row->bytes + tail_bytes};
    assert_true(session_receive(session, &header, sizeof header));
    assert_true(session_receive(session, body, row->bytes));
    assert_true(session_receive(session, tail, tail_bytes));
}

/* What the client is answered next: false if nothing. */
static bool hear(struct session *session, enum wire_type type, void *body)
{
    struct wire_frame frame;
    struct buffer *out = &session->out;
    if (!out->data || wire_take(out->data + out->taken, out->bytes - out->taken, false, &frame) != WIRE_WHOLE)
        return false;
    assert_int_equal(frame.type, type);
    memcpy(body, frame.body, wire_row(type)->bytes);
    out->taken += frame.bytes;
    session->file = -1;
    return true;
}

static void work(const struct rig *rig)
{
    for (int i = 0; i < 100 && node_work(rig->node); i++)
        ;
}

/* Asks to be let in. */
static struct session *come(const struct rig *rig, const char *name, uint32_t pid)
{
    struct session *session = session_begin(rig->node, pid, 2);
    struct wire_join body = {.version = WIRE_VERSION,
                             .model_version = CORUN_MODEL_VERSION,
                             .configuration_bytes = sizeof(struct corun_gpu_config),
                             .counter_bytes = sizeof(struct corun_counters)};
    assert_non_null(session);
    snprintf(body.name, sizeof body.name, "%s", name);
    say(session, WIRE_JOIN, &body, NULL, 0);
    work(rig);
    return session;
}

static struct session *join(const struct rig *rig, const char *name)
{
    struct wire_welcome welcome = {0};
    struct session *session = come(rig, name, 1);
    assert_true(hear(session, WIRE_WELCOME, &welcome));
    return session;
}

/* A context takes 256 GB of addresses: valgrind has 128 GB for all of its program, the thread sanitizer enough for some contexts. */
static void need_addresses(uint64_t contexts)
{
    void *all =
        mmap(NULL, contexts * MEMORY_BACKING_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED)
        skip();
    munmap(all, contexts * MEMORY_BACKING_BYTES);
}

/* With a context, one buffer and one module. */
static struct session *join_whole(const struct rig *rig, const char *name, uint32_t *memory, uint64_t *buffer)
{
    need_addresses(1);
    struct session *session = join(rig, name);
    struct wire_none none = {0};
    struct wire_place place = {0};
    struct wire_done done = {0};
    say(session, WIRE_CONTEXT, &none, NULL, 0);
    work(rig);
    assert_true(hear(session, WIRE_PLACE, &place));
    assert_int_equal(place.status, CORUN_OK);
    *memory = (uint32_t)place.place;
    /* behind the pages that are mapped in front of the first allocation */
    *buffer = ((uint64_t)(*memory + 1) << CORUN_APPLICATION_SHIFT) + 0x201000;
    struct wire_allocate allocate = {*memory, 0, *buffer, 4096};
    say(session, WIRE_ALLOCATE, &allocate, NULL, 0);
    struct wire_module module = {.memory = *memory, .name = "code.ptx"};
    say(session, WIRE_MODULE, &module, code, sizeof code - 1);
    work(rig);
    assert_true(hear(session, WIRE_DONE, &done));
    assert_int_equal(done.status, CORUN_OK);
    assert_true(hear(session, WIRE_PLACE, &place));
    assert_int_equal(place.status, CORUN_OK);
    assert_int_equal(place.place, 0);
    return session;
}

static void launch(struct session *session, uint32_t memory, uint64_t buffer)
{
    struct wire_memory enter = {memory};
    struct wire_launch body = {.memory = memory, .grid = {1, 1, 1}, .block = {32, 1, 1}};
    say(session, WIRE_ENTER, &enter, NULL, 0);
    say(session, WIRE_LAUNCH, &body, &buffer, sizeof buffer);
}

static void wait_long(struct session *session)
{
    const struct wire_wait body = {UINT64_MAX, UINT64_MAX};
    say(session, WIRE_WAIT, &body, NULL, 0);
}

static void test_launch(void **state)
{
    struct rig *rig = *state;
    uint32_t memory = 0;
    uint64_t buffer = 0;
    struct session *session = join_whole(rig, "one", &memory, &buffer);
    struct wire_place place = {0};
    struct wire_launched launched = {0};
    struct wire_ended ended = {0};
    struct wire_time time = {0};
    launch(session, memory, buffer);
    wait_long(session);
    work(rig);
    assert_true(hear(session, WIRE_PLACE, &place));
    assert_true(hear(session, WIRE_LAUNCHED, &launched));
    assert_int_equal(launched.status, CORUN_OK);
    assert_true(hear(session, WIRE_ENDED, &ended));
    assert_int_equal(ended.status, CORUN_OK);
    assert_true(hear(session, WIRE_TIME, &time));
    assert_true(time.cycle > 0 && time.cycle >= ended.last_cycle);
    uint32_t value = 0; /* in the file, where the client sees it */
    memcpy(&value, session->spaces[memory]->storage + (buffer & 0xffffffffff), sizeof value);
    assert_int_equal(value, 7);
}

static void test_turns(void **state)
{
    struct rig *rig = *state;
    uint32_t memories[2];
    uint64_t buffers[2];
    struct session *first = join_whole(rig, "first", &memories[0], &buffers[0]);
    struct session *second = join_whole(rig, "second", &memories[1], &buffers[1]);
    struct wire_place place = {0};
    struct wire_launched launched = {0};
    struct wire_ended ended = {0};
    assert_true(first->number < second->number);
    launch(second, memories[1], buffers[1]);
    wait_long(second);
    work(rig);
    assert_false(hear(second, WIRE_PLACE, &place)); /* the first one computes */
    assert_int_equal(corun_gpu_cycles(rig->node->devices[0].gpu), 0);
    assert_ptr_equal(device_holder(&rig->node->devices[0]), first);
    launch(first, memories[0], buffers[0]);
    work(rig);
    assert_true(hear(first, WIRE_PLACE, &place));
    assert_true(hear(first, WIRE_LAUNCHED, &launched));
    assert_false(hear(second, WIRE_PLACE, &place));
    assert_int_equal(corun_gpu_cycles(rig->node->devices[0].gpu), 0);
    wait_long(first);
    work(rig);
    assert_true(hear(first, WIRE_ENDED, &ended));
    assert_true(hear(second, WIRE_PLACE, &place));
    assert_true(hear(second, WIRE_LAUNCHED, &launched));
    assert_true(corun_gpu_cycles(rig->node->devices[0].gpu) > 0);
}

/* At a pace: cycles pass with the clock, no more than a tenth of a second is made up for, and nobody's turn is waited for. */
static void test_pace(void **state)
{
    struct rig *rig = *state;
    struct node *node = rig->node;
    uint32_t memories[2];
    uint64_t buffers[2];
    struct wire_place place = {0};
    struct wire_launched launched = {0};
    struct wire_ended ended = {0};
    struct wire_time time = {0};
    node->settings.pace = 0.001;
    node->devices[0].configuration.core_clock_khz = 1000000; /* a million cycles in a second */
    node_pass(node, 1000000);
    assert_false(node_follows_clock(node));
    assert_int_equal(node->devices[0].paced_until, 0); /* nobody is there */
    join_whole(rig, "computes", &memories[0], &buffers[0]);
    struct session *second = join_whole(rig, "second", &memories[1], &buffers[1]);
    assert_true(node_follows_clock(node));
    launch(second, memories[1], buffers[1]);
    wait_long(second);
    work(rig);
    assert_null(device_holder(&node->devices[0]));
    assert_true(hear(second, WIRE_PLACE, &place));
    assert_true(hear(second, WIRE_LAUNCHED, &launched));
    assert_false(hear(second, WIRE_ENDED, &ended));
    assert_int_equal(corun_gpu_cycles(node->devices[0].gpu), 0);
    node_pass(node, 1500);
    assert_int_equal(node->devices[0].paced_until, 1);
    node_pass(node, 1500); /* what is left of a cycle counts later */
    assert_int_equal(node->devices[0].paced_until, 3);
    node_pass(node, 9997000);
    assert_int_equal(node->devices[0].paced_until, 10000);
    work(rig);
    assert_true(hear(second, WIRE_ENDED, &ended));
    assert_true(hear(second, WIRE_TIME, &time));
    assert_true(time.cycle <= 10000);
    uint64_t now = corun_gpu_cycles(node->devices[0].gpu);
    assert_int_equal(now, 10000); /* also while nothing runs */
    assert_int_equal(node->devices[0].missed_cycles, 0);
    node_pass(node, 1000000000);
    assert_int_equal(node->devices[0].paced_until, now + 100001);
    assert_int_equal(node->devices[0].missed_cycles, 1000000 - 100001);
}

/* Time that nobody else wants passes at once, however long it is, and not to the end of all time. */
static void test_long_wait(void **state)
{
    struct rig *rig = *state;
    uint32_t memory;
    uint64_t buffer;
    struct wire_time time = {0};
    struct session *session = join_whole(rig, "one", &memory, &buffer);
    const struct wire_wait body = {UINT64_MAX, UINT64_C(1) << 62};
    say(session, WIRE_WAIT, &body, NULL, 0);
    work(rig);
    assert_true(hear(session, WIRE_TIME, &time));
    assert_int_equal(time.cycle, UINT64_C(1) << 42);
}

static uint64_t cycles(const struct rig *rig)
{
    return corun_gpu_cycles(rig->node->devices[0].gpu);
}

static uint32_t state_of(const struct session *session)
{
    struct wire_client row;
    uint32_t samples[WIRE_MOST_SAMPLES];
    (void)session_describe(session, &row, samples);
    return row.state;
}

static void be_idle(const struct rig *rig, struct session *session, uint64_t until)
{
    const struct wire_idle body = {until};
    say(session, WIRE_IDLE, &body, NULL, 0);
    work(rig);
}

/* Time is that cycle, or later by less than the step of the machine that it came in. */
static bool is_then(uint64_t cycle, uint64_t wanted)
{
    return cycle >= wanted && cycle < wanted + 32;
}

/* Time goes on without one that is idle, to the cycle that it has said, and is held up there. What it has under way ends meanwhile, and is no reason to come back. */
static void test_idle(void **state)
{
    struct rig *rig = *state;
    uint32_t memories[2];
    uint64_t buffers[2];
    struct wire_place place = {0};
    struct wire_launched launched = {0};
    struct wire_ended ended = {0};
    struct wire_time time = {0};
    need_addresses(2);
    struct session *idle = join_whole(rig, "idle", &memories[0], &buffers[0]);
    struct session *busy = join_whole(rig, "busy", &memories[1], &buffers[1]);
    launch(idle, memories[0], buffers[0]);
    be_idle(rig, idle, 50000);
    assert_true(hear(idle, WIRE_PLACE, &place) && hear(idle, WIRE_LAUNCHED, &launched));
    assert_int_equal(state_of(idle), WIRE_STATE_IDLE);
    assert_int_equal(cycles(rig), 0); /* the other one computes */
    const struct wire_wait body = {UINT64_MAX, 40000};
    say(busy, WIRE_WAIT, &body, NULL, 0);
    work(rig);
    assert_true(hear(busy, WIRE_TIME, &time));
    assert_true(is_then(time.cycle, 40000));
    assert_true(hear(idle, WIRE_ENDED, &ended) && !hear(idle, WIRE_TIME, &time));
    assert_true(ended.last_cycle < 40000);
    wait_long(busy);
    work(rig);
    assert_true(hear(idle, WIRE_TIME, &time) && !hear(busy, WIRE_TIME, &time));
    assert_true(is_then(time.cycle, 50000));
    assert_int_equal(cycles(rig), time.cycle);
    assert_int_equal(state_of(idle), WIRE_STATE_HOST);
    be_idle(rig, idle, 49999); /* that was before: at once */
    assert_true(hear(idle, WIRE_TIME, &time));
    assert_true(is_then(time.cycle, 50000));
    be_idle(rig, idle, UINT64_MAX - 1); /* not to the end of all time */
    assert_true(hear(idle, WIRE_TIME, &time));
    assert_true(is_then(time.cycle, 50000 + (UINT64_C(1) << 42)));
}

/* One that has said no cycle comes back when it sends something, also if it had sent that before corund has read the other. */
static void test_idle_until_called(void **state)
{
    struct rig *rig = *state;
    uint32_t memories[2];
    uint64_t buffers[2];
    struct wire_time time = {0};
    need_addresses(2);
    struct session *idle = join_whole(rig, "idle", &memories[0], &buffers[0]);
    struct session *busy = join_whole(rig, "busy", &memories[1], &buffers[1]);
    be_idle(rig, idle, UINT64_MAX);
    assert_int_equal(state_of(idle), WIRE_STATE_IDLE);
    const struct wire_wait body = {UINT64_MAX, 40000};
    say(busy, WIRE_WAIT, &body, NULL, 0);
    work(rig);
    assert_true(hear(busy, WIRE_TIME, &time) && !hear(idle, WIRE_TIME, &time));
    say(busy, WIRE_WAIT, &(struct wire_wait){UINT64_MAX, 80000}, NULL, 0);
    const struct wire_idle open = {UINT64_MAX};
    say(idle, WIRE_IDLE, &open, NULL, 0);
    say(idle, WIRE_RUN, &(struct wire_run){1, 0, 0}, NULL, 0);
    work(rig);
    assert_int_equal(state_of(idle), WIRE_STATE_HOST);
    assert_false(hear(busy, WIRE_TIME, &time));
    say(idle, WIRE_WAIT, &(struct wire_wait){0, 0}, NULL, 0); /* what time is it? */
    work(rig);
    assert_true(hear(idle, WIRE_TIME, &time));
    assert_int_equal(time.cycle, cycles(rig));
}

/* One that hangs up while it is idle leaves when it would have come back, whenever that was. */
static void test_gone_while_idle(void **state)
{
    struct rig *rig = *state;
    uint32_t memories[2];
    uint64_t buffers[2];
    struct wire_time time = {0};
    need_addresses(2);
    struct session *idle = join_whole(rig, "idle", &memories[0], &buffers[0]);
    struct session *busy = join_whole(rig, "busy", &memories[1], &buffers[1]);
    be_idle(rig, idle, 50000);
    session_hang_up(idle);
    say(busy, WIRE_WAIT, &(struct wire_wait){UINT64_MAX, 49000}, NULL, 0);
    work(rig);
    assert_true(hear(busy, WIRE_TIME, &time));
    assert_true(!idle->gone && idle->spaces[memories[0]]);
    say(busy, WIRE_WAIT, &(struct wire_wait){UINT64_MAX, 60000}, NULL, 0);
    work(rig);
    assert_true(idle->gone && hear(busy, WIRE_TIME, &time));
    session_end(idle);
}

/* Takes all that a client has been told. */
static void listen(struct session *session)
{
    session->out.taken = session->out.bytes;
    session->file = -1;
}

/* Time stands still while the first place is empty: before its client comes, between its contexts, and before the next client. */
static void test_places(void **state)
{
    struct rig *rig = *state;
    uint32_t memories[2];
    uint64_t buffers[2];
    struct wire_done done = {0};
    struct session *second = join_whole(rig, "second", &memories[1], &buffers[1]);
    assert_int_equal(second->number, 1);
    launch(second, memories[1], buffers[1]);
    wait_long(second);
    work(rig);
    assert_int_equal(cycles(rig), 0);
    struct session *first = join_whole(rig, "first", &memories[0], &buffers[0]);
    assert_int_equal(first->number, 0);
    struct wire_memory gone = {memories[0]};
    say(first, WIRE_CONTEXT_GONE, &gone, NULL, 0);
    work(rig);
    assert_true(hear(first, WIRE_DONE, &done));
    assert_true(first->takes_part); /* without a context, too */
    assert_int_equal(cycles(rig), 0);
    session_hang_up(first);
    work(rig);
    assert_true(first->gone);
    session_end(first);
    work(rig);
    assert_int_equal(cycles(rig), 0);
    first = join_whole(rig, "first", &memories[0], &buffers[0]);
    assert_int_equal(first->number, 0);
    struct session *other = join(rig, "first"); /* the place is taken */
    assert_int_equal(other->number, 2);
    session_hang_up(first);
    work(rig);
    session_end(first);
    listen(second);
    work(rig);
    assert_int_equal(cycles(rig), 0);
    node_place_ends(rig->node, 0); /* nobody comes there any more */
    work(rig);
    assert_true(cycles(rig) > 0);
    assert_false(node_place_is_empty(rig->node, 0));
    assert_int_equal(join(rig, "first")->number, 3);
}

/* The next client of a place comes before the one before has had its turn to leave: it waits, and has the place. */
static void test_next_of_place(void **state)
{
    struct rig *rig = *state;
    uint32_t memories[2];
    uint64_t buffers[2];
    struct wire_welcome welcome = {0};
    struct wire_join body = {.version = WIRE_VERSION,
                             .model_version = CORUN_MODEL_VERSION,
                             .configuration_bytes = sizeof(struct corun_gpu_config),
                             .counter_bytes = sizeof(struct corun_counters),
                             .name = "second"};
    struct session *first = join_whole(rig, "first", &memories[0], &buffers[0]);
    struct session *second = join_whole(rig, "second", &memories[1], &buffers[1]);
    session_hang_up(second); /* while the first one computes */
    struct session *next = session_begin(rig->node, 1, 2);
    say(next, WIRE_JOIN, &body, NULL, 0);
    work(rig);
    assert_false(second->gone);
    assert_false(hear(next, WIRE_WELCOME, &welcome));
    wait_long(first);
    work(rig);
    assert_true(second->gone);
    session_end(second);
    work(rig);
    assert_true(hear(next, WIRE_WELCOME, &welcome));
    assert_int_equal(welcome.number, 1);
    assert_false(node_place_is_empty(rig->node, 1));
}

/* The further contexts of clients have numbers, and so addresses, in the order of the clients, whoever asks first. */
static void test_further_contexts(void **state)
{
    struct rig *rig = *state;
    uint32_t memories[2];
    uint64_t buffers[2];
    struct wire_none none = {0};
    struct wire_place place = {0};
    struct session *first = join_whole(rig, "first", &memories[0], &buffers[0]);
    struct session *second = join_whole(rig, "second", &memories[1], &buffers[1]);
    say(second, WIRE_CONTEXT, &none, NULL, 0);
    work(rig);
    assert_false(hear(second, WIRE_PLACE, &place));
    say(first, WIRE_CONTEXT, &none, NULL, 0);
    work(rig);
    assert_true(hear(first, WIRE_PLACE, &place));
    assert_int_equal(place.place, 2);
    wait_long(first);
    work(rig);
    assert_true(hear(second, WIRE_PLACE, &place));
    assert_int_equal(place.place, 3);
}

/* One that ends without having come is not waited for. */
static void test_place_of_nobody(void **state)
{
    struct rig *rig = *state;
    uint32_t memory;
    uint64_t buffer;
    struct session *second = join_whole(rig, "second", &memory, &buffer);
    launch(second, memory, buffer);
    wait_long(second);
    work(rig);
    assert_int_equal(cycles(rig), 0);
    node_place_ends(rig->node, 0);
    work(rig);
    assert_true(cycles(rig) > 0);
}

static void test_gone(void **state)
{
    struct rig *rig = *state;
    uint32_t memories[2], again;
    uint64_t buffers[2];
    struct session *first = join_whole(rig, "first", &memories[0], &buffers[0]);
    struct session *second = join_whole(rig, "second", &memories[1], &buffers[1]);
    struct wire_place place = {0};
    struct wire_launched launched = {0};
    struct wire_ended ended = {0};
    launch(first, memories[0], buffers[0]);
    launch(second, memories[1], buffers[1]);
    wait_long(second);
    work(rig);
    session_hang_up(first); /* in the middle of a launch, and it is its turn */
    work(rig);
    assert_true(first->gone);
    session_end(first);
    assert_true(hear(second, WIRE_PLACE, &place));
    assert_true(hear(second, WIRE_LAUNCHED, &launched));
    assert_true(hear(second, WIRE_ENDED, &ended));
    assert_int_equal(ended.status, CORUN_OK);
    assert_null(rig->node->devices[0].spaces[memories[0]]);
    join_whole(rig, "third", &again, &buffers[0]);
    assert_int_equal(again, memories[0]);
}

/* What a client asked before it was gone is done in its turn, but nobody waits for it: what it has under way may never end. */
static void test_gone_before_wait(void **state)
{
    struct rig *rig = *state;
    uint32_t memories[2];
    uint64_t buffers[2];
    struct session *first = join_whole(rig, "first", &memories[0], &buffers[0]);
    struct session *second = join_whole(rig, "second", &memories[1], &buffers[1]);
    wait_long(second);
    work(rig); /* it is the turn of the first one, which computes */
    session_hang_up(second);
    work(rig);
    assert_false(second->gone);
    uint64_t before = corun_gpu_cycles(rig->node->devices[0].gpu);
    wait_long(first);
    assert_true(device_work(&rig->node->devices[0]));
    assert_true(second->gone);
    assert_null(rig->node->devices[0].spaces[memories[1]]);
    session_end(second);
    work(rig);
    assert_true(corun_gpu_cycles(rig->node->devices[0].gpu) > before);
}

/* What is not the client's own, and what is not there, is refused, and harms nobody. */
static void test_strangers(void **state)
{
    struct rig *rig = *state;
    uint32_t memory, other;
    uint64_t buffer = 0;
    join_whole(rig, "victim", &memory, &buffer);
    struct session *victim = rig->node->sessions.data[0];
    struct session *session = join_whole(rig, "stranger", &other, &buffer);
    wait_long(victim);
    struct wire_done done = {0};
    struct wire_launched launched = {0};
    struct wire_allocate allocate = {memory, 0, 0, 64};
    struct wire_adopt adopt = {other, memory, 0x5000, buffer, 64};
    struct wire_launch launch_there = {.memory = memory, .grid = {1, 1, 1}, .block = {32, 1, 1}};
    struct wire_launch without = {.memory = other, .module = 77, .grid = {1, 1, 1}, .block = {32, 1, 1}};
    say(session, WIRE_ALLOCATE, &allocate, NULL, 0);
    say(session, WIRE_ADOPT, &adopt, NULL, 0);
    allocate = (struct wire_allocate){other, 0, 12345, 64}; /* another place than this end finds */
    say(session, WIRE_ALLOCATE, &allocate, NULL, 0);
    say(session, WIRE_LAUNCH, &launch_there, NULL, 0);
    say(session, WIRE_LAUNCH, &without, NULL, 0);
    work(rig);
    for (int i = 0; i < 3; i++) {
        assert_true(hear(session, WIRE_DONE, &done));
        assert_int_equal(done.status, CORUN_ARGUMENT);
    }
    for (int i = 0; i < 2; i++) {
        assert_true(hear(session, WIRE_LAUNCHED, &launched));
        assert_int_equal(launched.status, CORUN_ARGUMENT);
    }
    assert_false(session->broken);
    struct session *garbage = session_begin(rig->node, 3, 4);
    assert_true(session_receive(garbage, "garbage that is no message", 26));
    struct session *unnamed = session_begin(rig->node, 3, 4);
    struct wire_join body = {.version = WIRE_VERSION,
                             .model_version = CORUN_MODEL_VERSION,
                             .configuration_bytes = sizeof(struct corun_gpu_config),
                             .counter_bytes = sizeof(struct corun_counters)};
    memset(body.name, 'x', sizeof body.name);
    say(unnamed, WIRE_JOIN, &body, NULL, 0);
    struct session *hasty = join(rig, "hasty"); /* waits without having anything */
    wait_long(hasty);
    work(rig);
    assert_true(garbage->broken && unnamed->broken && hasty->broken);
    assert_false(victim->broken);
}

/* What a client says to a corund of hardware, before it is let in and afterwards: it is gone, and nobody else. */
static void test_messages_of_hardware(void **state)
{
    struct rig *rig = *state;
    const struct wire_hold hold = {.bytes = 64};
    struct session *other = join(rig, "other");
    for (int joined = 0; joined < 2; joined++) {
        struct session *session = joined ? join(rig, "lost") : session_begin(rig->node, 3, 4);
        say(session, WIRE_HOLD, &hold, NULL, 0);
        work(rig);
        assert_true(session->broken);
    }
    assert_false(other->broken);
}

static int set_up_alike(void **state)
{
    static const char *const names[] = {"rank", "other", "rank", "rank"};
    return set_up_as(state, (struct node_settings){.expected = names, .expected_count = 4});
}

static void pass_tick(void)
{
    usleep(2 * 1000000 / (unsigned)sysconf(_SC_CLK_TCK));
}

/* Of several that are expected under one name, those that began earlier come first, whoever connects first; none before all are there. */
static void test_alike(void **state)
{
    struct rig *rig = *state;
    enum { RANKS = 3 };
    pid_t ranks[RANKS];
    struct session *sessions[RANKS], *dropped;
    struct wire_welcome welcome = {0};
    for (uint32_t i = 0; i < RANKS; i++) {
        ranks[i] = fork();
        assert_true(ranks[i] >= 0);
        if (!ranks[i]) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            pause();
            _exit(0);
        }
        pass_tick();
    }
    sessions[1] = come(rig, "rank", (uint32_t)ranks[1]);
    dropped = come(rig, "rank", (uint32_t)ranks[2]);
    assert_false(hear(sessions[1], WIRE_WELCOME, &welcome) || hear(dropped, WIRE_WELCOME, &welcome));
    session_hang_up(dropped);
    (void)join(rig, "other"); /* is expected once, and waits for nobody */
    (void)join(rig, "stranger");
    sessions[2] = come(rig, "rank", (uint32_t)ranks[2]);
    assert_false(hear(sessions[1], WIRE_WELCOME, &welcome) || hear(sessions[2], WIRE_WELCOME, &welcome));
    sessions[0] = come(rig, "rank", (uint32_t)ranks[0]);
    static const uint32_t numbers[RANKS] = {0, 2, 3};
    for (uint32_t i = 0; i < RANKS; i++) {
        assert_true(hear(sessions[i], WIRE_WELCOME, &welcome));
        assert_int_equal(welcome.number, numbers[i]);
        kill(ranks[i], SIGKILL);
        waitpid(ranks[i], NULL, 0);
    }
    struct session *late = come(rig, "rank", 1); /* a stranger, once time has begun */
    assert_true(hear(late, WIRE_WELCOME, &welcome));
}

static void test_versions(void **state)
{
    struct rig *rig = *state;
    struct session *session = session_begin(rig->node, 1, 2);
    struct wire_join body = {.version = WIRE_VERSION + 1};
    struct wire_done done = {0};
    say(session, WIRE_JOIN, &body, NULL, 0);
    work(rig);
    assert_true(hear(session, WIRE_REFUSED, &done));
    assert_int_equal(done.status, CORUN_ARGUMENT);
}

/* All clients together have the memory of the GPU, and contexts as it has applications. */
static void test_limits(void **state)
{
    struct rig *rig = *state;
    need_addresses(CORUN_MAX_APPLICATIONS);
    struct session *session = join(rig, "greedy");
    struct wire_none none = {0};
    struct wire_place place = {0};
    struct wire_done done = {0};
    struct wire_message note;
    for (uint32_t i = 0; i <= CORUN_MAX_APPLICATIONS; i++) {
        say(session, WIRE_CONTEXT, &none, NULL, 0);
        work(rig);
        if (i == CORUN_MAX_APPLICATIONS) /* why not */
            assert_true(hear(session, WIRE_MESSAGE, &note));
        assert_true(hear(session, WIRE_PLACE, &place));
        assert_int_equal(place.status, i < CORUN_MAX_APPLICATIONS ? CORUN_OK : CORUN_LIMIT);
    }
    uint64_t most = (uint64_t)rig->node->devices[0].configuration.memory_mib << 20;
    for (uint32_t i = 0; i < 2; i++) {
        uint64_t first = ((uint64_t)(i + 1) << CORUN_APPLICATION_SHIFT) + 0x201000;
        struct wire_allocate allocate = {i, 0, first, most / 2 + 1};
        say(session, WIRE_ALLOCATE, &allocate, NULL, 0);
        work(rig);
        assert_true(hear(session, WIRE_DONE, &done));
        assert_int_equal(done.status, i ? CORUN_MEMORY : CORUN_OK);
    }
}

/* What is said beside the answer. */
static void pass_messages(struct session *session)
{
    struct wire_frame frame;
    struct buffer *out = &session->out;
    while (wire_take(out->data + out->taken, out->bytes - out->taken, false, &frame) == WIRE_WHOLE &&
           frame.type == WIRE_MESSAGE)
        out->taken += frame.bytes;
}

static uint32_t ask_done(const struct rig *rig, struct session *session, enum wire_type type, const void *body)
{
    struct wire_done done = {0};
    say(session, type, body, NULL, 0);
    work(rig);
    pass_messages(session);
    assert_true(hear(session, WIRE_DONE, &done));
    return done.status;
}

static uint32_t load(const struct rig *rig, struct session *session, uint32_t memory, unsigned long long bytes)
{
    char text[200];
    const struct wire_module module = {.memory = memory, .name = "large.ptx"};
    struct wire_place place = {0};
    int length =
        snprintf(text, sizeof text, ".version 6.0\n.target sm_52\n.address_size 64\n.global .b8 large[%llu];\n", bytes);
    say(session, WIRE_MODULE, &module, text, (uint32_t)length);
    work(rig);
    pass_messages(session);
    assert_true(hear(session, WIRE_PLACE, &place));
    return place.status;
}

/* Variables of modules are of the GPU's memory, and of the user's; what is refused takes no addresses. */
static void test_variables(void **state)
{
    struct rig *rig = *state;
    struct limits limits = {
        .rows = {{.of = LIMIT_OF_EVERYBODY, .clients = UINT32_MAX, .memory = UINT64_MAX, .share = 1}}, .count = 1};
    uint32_t memory;
    uint64_t buffer;
    struct session *session = join_whole(rig, "large", &memory, &buffer);
    uint64_t most = (uint64_t)rig->node->devices[0].configuration.memory_mib << 20;
    struct wire_allocate allocate = {memory, 0, buffer + 4096 + 256, 4096};
    assert_int_equal(load(rig, session, memory, most), CORUN_MEMORY);
    assert_int_equal(load(rig, session, memory, 2 * most), CORUN_MEMORY);
    assert_int_equal(ask_done(rig, session, WIRE_ALLOCATE, &allocate), CORUN_OK);
    assert_int_equal(load(rig, session, memory, 100000), CORUN_OK);
    rig->node->settings.limits = &limits;
    limits.rows[0].memory = 200000;
    session->row = 0;
    assert_int_equal(load(rig, session, memory, 100000), CORUN_MEMORY);
    assert_int_equal(load(rig, session, memory, 50000), CORUN_OK);
    limits.rows[0].memory = 1000; /* lower than what it has: that stays, and modules without variables come */
    assert_int_equal(load(rig, session, memory, 1), CORUN_MEMORY);
    const struct wire_module module = {.memory = memory, .name = "code.ptx"};
    struct wire_place place = {0};
    say(session, WIRE_MODULE, &module, code, sizeof code - 1);
    work(rig);
    assert_true(hear(session, WIRE_PLACE, &place));
    assert_int_equal(place.status, CORUN_OK);
}

/* Another corund has given it what it has, in its order: others may have had less when it had more. */
static void test_replay(void **state)
{
    struct rig *rig = *state;
    uint32_t memory;
    uint64_t buffer, most = (uint64_t)rig->node->devices[0].configuration.memory_mib << 20, first;
    struct session *session = join_whole(rig, "before", &memory, &buffer);
    struct wire_allocate large = {memory, 0, buffer + 4096 + 256, most / 2 + 1};
    struct wire_text_at gone = {.memory = memory, .address = large.address, .text = "cudaFree"};
    struct wire_none none = {0};
    struct wire_place place = {0};
    assert_int_equal(ask_done(rig, session, WIRE_ALLOCATE, &large), CORUN_OK);
    say(session, WIRE_FREE, &gone, NULL, 0);
    work(rig);
    size_t bytes = session->log.bytes;
    uint8_t *log = malloc(bytes);
    assert_non_null(log);
    memcpy(log, session->log.data, bytes);
    session_end(session);
    session = join(rig, "after");
    say(session, WIRE_CONTEXT, &none, NULL, 0);
    work(rig);
    assert_true(hear(session, WIRE_PLACE, &place));
    assert_int_equal(place.place, memory);
    struct session *other = join_whole(rig, "other", &memory, &first);
    large.memory = memory;
    large.address = first + 4096 + 256;
    assert_int_equal(ask_done(rig, other, WIRE_ALLOCATE, &large), CORUN_OK);
    assert_true(session_replay(session, log, bytes));
    free(log);
}

static void promise(struct session *session)
{
    session->join.isolated_ipc = 100;
    session->row = 0;
}

/* A limit that becomes lower takes nothing away, and lets who promises too much promise less. */
static void test_share(void **state)
{
    struct rig *rig = *state;
    struct limits limits = {
        .rows = {{.of = LIMIT_OF_EVERYBODY, .clients = UINT32_MAX, .memory = UINT64_MAX, .share = 0.8}}, .count = 1};
    struct session *one = join(rig, "one"), *other = join(rig, "other");
    struct wire_goal goal = {0, CORUN_GOAL_FRACTION, 0.4};
    rig->node->settings.limits = &limits;
    promise(one);
    promise(other);
    assert_int_equal(ask_done(rig, one, WIRE_GOAL, &goal), CORUN_OK);
    assert_int_equal(ask_done(rig, other, WIRE_GOAL, &goal), CORUN_OK);
    limits.rows[0].share = 0.5;
    goal.value = 0.41;
    assert_int_equal(ask_done(rig, one, WIRE_GOAL, &goal), CORUN_ARGUMENT);
    goal.value = 0.3;
    assert_int_equal(ask_done(rig, one, WIRE_GOAL, &goal), CORUN_OK);
    goal.value = 0.35; /* still too much together */
    assert_int_equal(ask_done(rig, one, WIRE_GOAL, &goal), CORUN_ARGUMENT);
    goal.value = 0.4;
    assert_int_equal(ask_done(rig, other, WIRE_GOAL, &goal), CORUN_OK);
}

/* What one user's program does alone is no other user's rate. */
static void test_rates_of_users(void **state)
{
    struct rig *rig = *state;
    struct device *device = &rig->node->devices[0];
    const struct known_rate rates[] = {{.name = "twin", .uid = 7, .ipc = 50}, {.name = "twin", .uid = 2, .ipc = 60}};
    for (size_t i = 0; i < 2; i++)
        assert_true(vector_push(&device->known, rates[i]));
    assert_true(come(rig, "twin", 1)->join.isolated_ipc == 60); /* as user 2 */
    assert_true(come(rig, "single", 1)->join.isolated_ipc == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(test_places, set_up_places, tear_down),
                                       cmocka_unit_test_setup_teardown(test_place_of_nobody, set_up_places, tear_down),
                                       cmocka_unit_test_setup_teardown(test_next_of_place, set_up_places, tear_down),
                                       cmocka_unit_test_setup_teardown(test_further_contexts, set_up_places, tear_down),
                                       cmocka_unit_test_setup_teardown(test_launch, set_up, tear_down),
                                       cmocka_unit_test_setup_teardown(test_turns, set_up, tear_down),
                                       cmocka_unit_test_setup_teardown(test_pace, set_up, tear_down),
                                       cmocka_unit_test_setup_teardown(test_long_wait, set_up, tear_down),
                                       cmocka_unit_test_setup_teardown(test_idle, set_up, tear_down),
                                       cmocka_unit_test_setup_teardown(test_idle_until_called, set_up, tear_down),
                                       cmocka_unit_test_setup_teardown(test_gone_while_idle, set_up, tear_down),
                                       cmocka_unit_test_setup_teardown(test_gone, set_up, tear_down),
                                       cmocka_unit_test_setup_teardown(test_gone_before_wait, set_up, tear_down),
                                       cmocka_unit_test_setup_teardown(test_strangers, set_up, tear_down),
                                       cmocka_unit_test_setup_teardown(test_messages_of_hardware, set_up, tear_down),
                                       cmocka_unit_test_setup_teardown(test_alike, set_up_alike, tear_down),
                                       cmocka_unit_test_setup_teardown(test_versions, set_up, tear_down),
                                       cmocka_unit_test_setup_teardown(test_variables, set_up, tear_down),
                                       cmocka_unit_test_setup_teardown(test_replay, set_up, tear_down),
                                       cmocka_unit_test_setup_teardown(test_share, set_up, tear_down),
                                       cmocka_unit_test_setup_teardown(test_rates_of_users, set_up, tear_down),
                                       cmocka_unit_test_setup_teardown(test_limits, set_up, tear_down)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
