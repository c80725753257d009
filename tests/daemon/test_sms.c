/* SPDX-License-Identifier: MIT */
/*
 * Policies of corun/policy.h over programs on a GPU of hardware: boards and sheets are filled in by a model of a GPU whose SMs are all alike, and time is a
 * number.
 */
#include "daemon/gate.h"

#include "corun/status.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define US UINT64_C(1000)
#define MS UINT64_C(1000000)
enum { SMS = 16, PROGRAMS = 3, LAUNCH_BLOCKS = 40, RESIDENT = 4 };

static _Alignas(BOARD_BYTES) unsigned char pages[BOARD_FILE_BYTES];

static struct board_front *front(void)
{
    return (struct board_front *)(void *)pages;
}

/* `smqos:gate=0,threshold=0.02`: every parameter is a number here. */
static enum corun_status choose(void *user, const char *text, struct corun_diagnostics *list,
                                const struct corun_policy **policy, const double **parameters)
{
    static double values[SMS_MOST_PARAMETERS];
    char name[64];
    (void)user;
    (void)list;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(text, ":"), text);
    *policy = corun_policy_find(name);
    if (!*policy)
        return CORUN_NOT_FOUND;
    *parameters = values;
    for (uint32_t i = 0; i < (*policy)->parameter_count; i++)
        values[i] = (*policy)->parameters[i].initial;
    for (text += strlen(name); *text; text += strcspn(text, ",")) {
        text++;
        size_t length = strcspn(text, "=");
        for (uint32_t i = 0; i < (*policy)->parameter_count; i++)
            if (strlen((*policy)->parameters[i].name) == length &&
                strncmp(text, (*policy)->parameters[i].name, length) == 0)
                values[i] = strtod(text + length + 1, NULL);
    }
    return CORUN_OK;
}

static const struct gate_policies policies = {choose, NULL};

/* ---- the model ---- */

/* A program that always has a launch under way, unless it is idle. Its shim looks every millisecond, and obeys what it has seen. */
struct program {
    uint32_t number;
    bool there, workers, idle, still;
    double block_ns; /* a thread block takes on an SM that is its own */
    uint16_t limits[SMS];
    uint32_t word;
    uint64_t look;
    double done, told, launched; /* thread blocks: done; that the sheet tells; of launches that have ended */
    double mean[SMS];            /* time that it was on each SM */
};

static struct model {
    struct gate gate;
    uint64_t now, look, together; /* `together`: moments at which two programs with workers were on one SM */
    struct program programs[PROGRAMS];
} model;

static struct board *board_of(const struct program *program)
{
    return board_at(front(), program->number);
}

static struct board_sheet *sheet_of(const struct program *program)
{
    return board_sheet_at(front(), program->number);
}

static void begin(const char *text)
{
    struct gate_rules rules;
    memset(pages, 0, sizeof pages);
    memset(&model, 0, sizeof model);
    model.now = 1;
    assert_int_equal(gate_rules_choose(text, &policies, &rules, NULL), CORUN_OK);
    gate_begin(&model.gate, &rules, front());
    assert_false(model.gate.failed);
}

static enum corun_status change(const char *text, struct corun_diagnostics *list)
{
    struct gate_rules rules;
    enum corun_status status = gate_rules_choose(text, &policies, &rules, list);
    model.look = 0; /* as corund looks then */
    return status == CORUN_OK ? gate_change(&model.gate, &rules, list) : status;
}

static struct program *come(uint32_t place, bool workers, double block_us)
{
    struct program *program = &model.programs[place];
    *program = (struct program){.number = gate_enter(&model.gate, false), .there = true, .workers = workers};
    program->block_ns = block_us * 1e3;
    atomic_store(&board_of(program)->obeys, workers);
    return program;
}

static void promise(const struct program *program, double value, bool known)
{
    /* alone it has all SMs */
    const double alone = (double)SMS * RESIDENT / program->block_ns;
    const struct rate_alone rate = {UINT64_C(1000000000), (uint64_t)(alone * 1e9 / LAUNCH_BLOCKS),
                                    (uint64_t)(alone * 1e9)};
    gate_promise(&model.gate, program->number, CORUN_GOAL_FRACTION, value, known ? &rate : NULL);
}

static double alone_of(const struct program *program)
{
    return (double)SMS * RESIDENT / program->block_ns;
}

static bool is_closed(const struct program *program)
{
    return atomic_load(&board_of(program)->gate) == BOARD_CLOSED;
}

/* What the shim does: limits of before are obeyed when it looks, and it tells what was counted until then. */
static void look_at_tables(struct program *program)
{
    struct board_sheet *sheet = sheet_of(program);
    uint32_t word = atomic_load(&board_of(program)->sms);
    for (uint32_t s = 0; s < SMS; s++) {
        uint32_t first, end;
        board_sms_range(word ? word : board_sms(0, BOARD_SMS), SMS, &first, &end);
        program->limits[s] = board_sms_is_listed(word) ? atomic_load(&sheet->limits[s])
                             : s >= first && s < end   ? BOARD_UNLIMITED
                                                       : 0;
        bool there = program->limits[s] && !program->idle && !is_closed(program);
        atomic_store(&sheet->places[s].resident, there ? RESIDENT : 0);
    }
    uint64_t more = (uint64_t)(program->done - program->told);
    atomic_fetch_add(&sheet->done, more);
    program->told += (double)more;
    program->word = word;
    atomic_store(&sheet->obeyed, word);
    atomic_store(&sheet->threads_per_sm, 2048);
    atomic_store(&sheet->most_tbs, 32);
    atomic_store(&sheet->tbs_per_sm, RESIDENT);
    atomic_store(&sheet->tb_threads, 256);
    atomic_store(&sheet->sms, SMS);
    atomic_store(&sheet->looked_ns, model.now);
}

static void launch(struct program *program)
{
    struct board *board = board_of(program);
    bool wants = !program->idle;
    atomic_store(&board->waiting, wants && is_closed(program));
    for (; program->done >= program->launched + LAUNCH_BLOCKS; program->launched += LAUNCH_BLOCKS)
        atomic_fetch_add(&board->lanes[0].ended, 1);
    uint32_t ended = atomic_load(&board->lanes[0].ended);
    if (wants && !is_closed(program))
        atomic_store(&board->lanes[0].asked, ended + 1);
    else if (!program->still)
        atomic_store(&board->lanes[0].asked, ended);
}

static void run_program(struct program *program, uint64_t ns)
{
    if (program->idle || is_closed(program) || program->still)
        return;
    for (uint32_t s = 0; s < SMS; s++) {
        uint32_t others = 0;
        for (uint32_t i = 0; i < PROGRAMS; i++) {
            const struct program *other = &model.programs[i];
            others += other->there && other != program && !other->idle && !other->still && !is_closed(other) &&
                      other->limits[s];
            model.together += program->workers && other->there && other != program && other->workers &&
                              other->limits[s] && program->limits[s] && program->word >> 31 && other->word >> 31 &&
                              !other->idle && !other->still && !is_closed(other);
        }
        if (!program->limits[s])
            continue;
        program->done += (double)ns * RESIDENT / program->block_ns / (1 + others);
        program->mean[s] += (double)ns;
    }
}

static void run(uint64_t ns)
{
    const uint64_t step = 25 * US, end = model.now + ns;
    for (; model.now < end; model.now += step) {
        for (uint32_t i = 0; i < PROGRAMS; i++) {
            struct program *program = &model.programs[i];
            if (!program->there)
                continue;
            run_program(program, step);
            if (program->workers && !program->still && model.now >= program->look) {
                look_at_tables(program);
                program->look = model.now + 1 * MS;
            } else if (!program->workers) {
                for (uint32_t s = 0; s < SMS; s++)
                    program->limits[s] = BOARD_UNLIMITED;
            }
            launch(program);
        }
        bool rings = false;
        for (uint32_t i = 0; i < PROGRAMS; i++)
            rings |= model.programs[i].there && atomic_load(&board_of(&model.programs[i])->waiting);
        if (model.now >= model.look || rings) {
            uint64_t wait = gate_look(&model.gate, model.now);
            model.look = wait < 100 * MS ? model.now + wait : UINT64_MAX;
        }
    }
}

/* Of its rate alone, in that time from now on. */
static double part_in(struct program *program, uint64_t ns)
{
    double before = program->done;
    run(ns);
    return (program->done - before) / (double)ns / alone_of(program);
}

static uint32_t count_of(const struct program *program)
{
    return sms_count(model.gate.sms, program->number);
}

/* ---- tests ---- */

static void test_rules(void **unused)
{
    (void)unused;
    struct gate_rules rules;
    static const struct {
        const char *text, *message;
    } bad[] = {
        {"qos-rollover", "policy qos-rollover needs a machine that swaps"},
        {"smk", "needs a machine that"},
        {"profile", "policy profile needs speed-up curves"},
        {"smqos", "cannot switch SMs off"},
        {"spart", "needs a machine that"},
        {"fixed", "the split is missing"},
        {"priority:x", "has no parameter"},
        {"turns", "needs a machine that"},
        {"./mine.so", "no policy comes from a file"},
        {"workers:../mine.so:x=1", "no policy comes from a file"},
    };
    static const char *const good[] = {"workers:even",
                                       "smqos:gate=0",
                                       "static-smqos",
                                       "spart-qos:reclaim=0",
                                       "smart-even",
                                       "fixed:split_1=4",
                                       "workers:time-slice:reclaim=0,microseconds=2000"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct corun_diagnostics *list = corun_diagnostics_create();
        enum corun_status status = gate_rules_choose(good[i], &policies, &rules, list);
        if (status != CORUN_OK)
            print_message("%s: %s\n", good[i],
                          corun_diagnostics_count(list) ? corun_diagnostics_get(list, 0)->message : "?");
        assert_int_equal(status, CORUN_OK);
        assert_int_equal(rules.policy, GATE_WORKERS);
        corun_diagnostics_destroy(list);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct corun_diagnostics *list = corun_diagnostics_create();
        enum corun_status status = gate_rules_choose(bad[i].text, &policies, &rules, list);
        if (status == CORUN_OK || !strstr(corun_diagnostics_get(list, 0)->message, bad[i].message))
            print_message("%s: %s\n", bad[i].text, status ? corun_diagnostics_get(list, 0)->message : "accepted");
        assert_int_not_equal(status, CORUN_OK);
        assert_non_null(strstr(corun_diagnostics_get(list, 0)->message, bad[i].message));
        corun_diagnostics_destroy(list);
    }
    assert_int_equal(gate_rules_choose("even", &policies, &rules, NULL), CORUN_OK);
    assert_int_equal(rules.policy, GATE_EVEN); /* the gate's own one */
}

static void test_even(void **unused)
{
    (void)unused;
    begin("workers:even");
    struct program *a = come(0, true, 20);
    run(50 * MS);
    assert_int_equal(atomic_load(&board_of(a)->sms), 0); /* alone: whole launches */
    struct program *b = come(1, true, 20);
    run(50 * MS);
    assert_int_equal(count_of(a), SMS / 2);
    assert_int_equal(count_of(b), SMS / 2);
    model.together = 0;
    assert_float_equal(part_in(a, 200 * MS), 0.5, 0.01);
    assert_int_equal(model.together, 0);
    struct program *c = come(2, true, 30);
    run(50 * MS);
    assert_int_equal(count_of(a) + count_of(b) + count_of(c), SMS);
    assert_true(count_of(c) >= SMS / 3);
    model.together = 0;
    run(100 * MS);
    assert_int_equal(model.together, 0);
    gate_leave(&model.gate, b->number); /* killed in the middle of a launch */
    b->there = false;
    run(20 * MS);
    assert_int_equal(count_of(a), SMS / 2);
    assert_int_equal(count_of(c), SMS / 2);
    gate_end(&model.gate);
}

/* Beside two programs that take what is left, a goal is kept, and not by much more. */
static void goal(const char *policy, double value, double highest, bool known)
{
    begin(policy);
    struct program *a = come(0, true, 20), *b = come(1, true, 35), *c = come(2, true, 15);
    promise(a, value, known);
    run(1500 * MS);
    double part = part_in(a, 500 * MS);
    if (part < value * 0.97 || part > highest)
        print_message("%s: %.3f of %.3f\n", policy, part, value);
    assert_true(part >= value * 0.97 && part <= highest);
    assert_true(count_of(b) > 0 && count_of(c) > 0);
    gate_end(&model.gate);
}

static void test_goals(void **unused)
{
    (void)unused;
    goal("smqos:gate=0", 0.6, 0.75, true);
    goal("smqos:gate=0", 0.3, 0.45, true);
    goal("smqos:gate=0", 0.6, 0.75, false); /* others are held back until it is known */
    goal("static-smqos", 0.5, 0.7, false);
    goal("spart-qos:reclaim=0", 0.5, 0.75, true);
}

static void test_fixed(void **unused)
{
    (void)unused;
    begin("fixed:split_1=12,split_2=4");
    struct program *a = come(0, true, 20), *b = come(1, true, 20);
    run(60 * MS);
    assert_int_equal(count_of(a), 12);
    assert_int_equal(count_of(b), 4);
    assert_float_equal(part_in(a, 200 * MS), 0.75, 0.01);
    gate_end(&model.gate);
}

/* Another policy, of either kind, while programs run; one that is refused leaves the one before as it is. */
static void test_change(void **unused)
{
    (void)unused;
    begin("workers:even");
    struct program *a = come(0, true, 20), *b = come(1, true, 20);
    promise(a, 0.7, true);
    run(100 * MS);
    assert_int_equal(count_of(a), SMS / 2);
    struct corun_diagnostics *list = corun_diagnostics_create();
    assert_int_equal(change("qos-rollover", list), CORUN_POLICY);
    assert_int_equal(corun_diagnostics_count(list), 1);
    run(50 * MS);
    assert_int_equal(count_of(a), SMS / 2);
    assert_int_equal(change("smqos:gate=0", list), CORUN_OK);
    run(1000 * MS);
    assert_true(part_in(a, 500 * MS) >= 0.69);
    assert_int_equal(change("left-over", list), CORUN_OK);
    run(10 * MS);
    assert_int_equal(atomic_load(&board_of(a)->sms) | atomic_load(&board_of(b)->sms), 0);
    assert_int_equal(atomic_load(&board_of(a)->gate), BOARD_FREE);
    assert_int_equal(change("fixed:split_1=4,split_2=12", list), CORUN_OK);
    run(50 * MS);
    assert_int_equal(count_of(a), 4);
    assert_int_equal(change("partition", list), CORUN_OK);
    run(50 * MS);
    assert_false(board_sms_is_listed(atomic_load(&board_of(a)->sms)));
    gate_end(&model.gate);
    corun_diagnostics_destroy(list);
}

/* Who wants nothing has no SMs, and has some at once when it comes back. */
static void test_idle(void **unused)
{
    (void)unused;
    begin("workers:even");
    struct program *a = come(0, true, 20), *b = come(1, true, 20);
    run(100 * MS);
    b->idle = true;
    run(200 * MS);
    assert_int_equal(count_of(a), SMS);
    assert_false(sms_has_part(model.gate.sms, b->number));
    assert_true(is_closed(b));
    b->idle = false;
    run(5 * MS);
    assert_false(is_closed(b));
    assert_int_equal(count_of(b), SMS / 2);
    run(10 * MS);
    model.together = 0;
    assert_float_equal(part_in(b, 100 * MS), 0.5, 0.01);
    assert_int_equal(model.together, 0);
    gate_end(&model.gate);
}

/* Who stands still, with something under way or not, keeps nothing from the others for longer than a second. */
static void test_still(void **unused)
{
    (void)unused;
    begin("workers:even");
    struct program *a = come(0, true, 20), *b = come(1, true, 20);
    run(100 * MS);
    b->still = true;
    run(900 * MS);
    assert_int_equal(count_of(a), SMS / 2);
    run(300 * MS);
    assert_int_equal(count_of(a), SMS);
    assert_true(part_in(a, 100 * MS) > 0.99);
    b->still = false;
    run(20 * MS);
    assert_int_equal(count_of(b), SMS / 2);
    assert_float_equal(part_in(b, 100 * MS), 0.5, 0.01);
    gate_end(&model.gate);
}

/* A program without workers is on all SMs, beside those that have some of their own. */
static void test_without_workers(void **unused)
{
    (void)unused;
    begin("workers:even");
    struct program *a = come(0, true, 20), *b = come(1, true, 20), *c = come(2, false, 20);
    run(100 * MS);
    assert_int_equal(count_of(a), SMS / 2);
    assert_int_equal(count_of(b), SMS / 2);
    assert_false(sms_has_part(model.gate.sms, c->number));
    assert_int_equal(atomic_load(&board_of(c)->gate), BOARD_COUNTED);
    assert_true(part_in(c, 100 * MS) > 0.45);
    gate_end(&model.gate);
}

/* Who is to have no SM launches nothing, and what is under way of it keeps one. */
static void test_turns(void **unused)
{
    (void)unused;
    begin("workers:time-slice:reclaim=0,microseconds=20000");
    struct program *a = come(0, true, 20), *b = come(1, true, 20);
    run(100 * MS);
    bool closed[2] = {false, false};
    double before[2] = {a->done, b->done};
    for (int i = 0; i < 400; i++) {
        run(1 * MS);
        closed[0] |= is_closed(a);
        closed[1] |= is_closed(b);
        assert_false(is_closed(a) && is_closed(b));
    }
    assert_true(closed[0] && closed[1]);
    assert_true(a->done - before[0] > 0.3 * 400 * MS * alone_of(a));
    assert_true(b->done - before[1] > 0.3 * 400 * MS * alone_of(b));
    gate_end(&model.gate);
}

/* A kernel that is given other SMs is launched again on all of its own: nobody is on two programs' SMs, and parts are those of the goals. */
static void test_slate(void **unused)
{
    (void)unused;
    begin("slate");
    struct program *a = come(0, true, 20), *b = come(1, true, 20);
    promise(a, 0.75, true);
    promise(b, 0.25, true);
    run(200 * MS);
    assert_false(model.gate.failed);
    assert_int_equal(count_of(a), 12);
    assert_int_equal(count_of(b), 4);
    model.together = 0;
    assert_float_equal(part_in(a, 200 * MS), 0.75, 0.02);
    assert_int_equal(model.together, 0);
    b->idle = true;
    run(300 * MS);
    assert_int_equal(count_of(a), SMS);
    gate_end(&model.gate);
}

static struct board_sheet *sheet_with(uint32_t sms, uint32_t threads, uint32_t most, uint32_t tbs, uint32_t tb_threads)
{
    static struct board_sheet sheet;
    atomic_store(&sheet.sms, sms);
    atomic_store(&sheet.threads_per_sm, threads);
    atomic_store(&sheet.most_tbs, most);
    atomic_store(&sheet.tbs_per_sm, tbs);
    atomic_store(&sheet.tb_threads, tb_threads);
    return &sheet;
}

/* What no device is, is none. */
static void test_shapes(void **unused)
{
    (void)unused;
    struct sms_shape shape = sms_shape_of(sheet_with(16, 2048, 32, 4, 256));
    assert_int_equal(shape.sms, 16);
    assert_int_equal(shape.tbs_per_sm, 4);
    static const uint32_t bad[][3] = {{BOARD_PLACES + 1, 2048, 32}, {UINT32_MAX, 2048, 32}, {16, 0, 32},
                                      {16, UINT32_MAX, 32},         {16, 2048, 0},          {16, 2048, 1 << 16}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(sms_shape_of(sheet_with(bad[i][0], bad[i][1], bad[i][2], 4, 256)).sms, 0);
    static const uint32_t launches[][2] = {{33, 256}, {UINT32_MAX, 256}, {4, 0}, {4, UINT32_MAX}, {4, 2049}};
    for (size_t i = 0; i < sizeof launches / sizeof *launches; i++) {
        shape = sms_shape_of(sheet_with(16, 2048, 32, launches[i][0], launches[i][1]));
        assert_int_equal(shape.sms, 16);
        assert_int_equal(shape.tbs_per_sm, 0);
        assert_int_equal(shape.tb_threads, 0);
    }
}

struct liar {
    struct board_sheet *sheet;
    atomic_bool ends;
};

static void *lie(void *user)
{
    struct liar *liar = user;
    while (!atomic_load(&liar->ends)) {
        atomic_store(&liar->sheet->sms, SMS);
        atomic_store(&liar->sheet->sms, UINT32_MAX);
        atomic_store(&liar->sheet->most_tbs, 0);
        atomic_store(&liar->sheet->most_tbs, 32);
    }
    return NULL;
}

/* It says something else between two readings of a look, and is the first of those that are there: what was read once counts. */
static void test_races(void **unused)
{
    (void)unused;
    pthread_t thread;
    begin("workers:even");
    struct program *a = come(0, true, 20), *b = come(1, true, 20);
    struct liar liar = {.sheet = sheet_of(a)};
    assert_int_equal(pthread_create(&thread, NULL, lie, &liar), 0);
    for (int i = 0; i < 50; i++) {
        a->idle = b->idle = i & 1; /* whoever comes back opens the policy anew */
        run(150 * MS);
    }
    atomic_store(&liar.ends, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_false(model.gate.failed);
    a->idle = b->idle = false;
    run(300 * MS);
    assert_int_equal(count_of(a), SMS / 2);
    assert_int_equal(count_of(b), SMS / 2);
    gate_end(&model.gate);
}

/* Tables of programs may say anything. */
static void test_lies(void **unused)
{
    (void)unused;
    begin("smqos:gate=0");
    struct program *a = come(0, true, 20), *b = come(1, true, 20);
    promise(a, 0.5, true);
    run(100 * MS);
    static const uint32_t words[] = {0, 1, UINT32_MAX, 1025, INT32_MAX, 17};
    for (uint32_t i = 0; i < 600; i++) {
        struct board_sheet *sheet = sheet_of(b);
        uint32_t word = words[i % 6];
        atomic_store(&sheet->places[i % SMS].resident, word);
        atomic_store(&sheet->done, (uint64_t)word << (i % 33));
        atomic_store(&sheet->obeyed, word);
        atomic_store(&sheet->whole[i % 3][i % 7], word);
        atomic_store(&sheet->sms, words[i / 7 % 6]);
        atomic_store(&sheet->threads_per_sm, words[i / 11 % 6]);
        atomic_store(&sheet->most_tbs, words[i / 13 % 6]);
        atomic_store(&sheet->tbs_per_sm, words[i / 5 % 6]);
        atomic_store(&sheet->tb_threads, words[i / 3 % 6]);
        atomic_store(&sheet->looked_ns, (uint64_t)word << (i % 30));
        run(i % 50 == 0 ? 20 * MS : 500 * US);
        assert_false(model.gate.failed);
        assert_true(count_of(a) <= SMS);
    }
    run(1500 * MS);
    assert_true(part_in(a, 300 * MS) >= 0.49);
    gate_end(&model.gate);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rules),  cmocka_unit_test(test_even),
        cmocka_unit_test(test_goals),  cmocka_unit_test(test_fixed),
        cmocka_unit_test(test_change), cmocka_unit_test(test_idle),
        cmocka_unit_test(test_still),  cmocka_unit_test(test_without_workers),
        cmocka_unit_test(test_turns),  cmocka_unit_test(test_lies),
        cmocka_unit_test(test_slate),  cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_races),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
