/* SPDX-License-Identifier: MIT */
/* SMs of a GPU of hardware: what programs tell as readings of a machine, and allowances as limits in their sheets. */
#include "daemon/sms.h"

#include "govern/governor.h"

#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CAN(name) (1u << CORUN_CAN_##name)
#define SEES(name) (1u << CORUN_SEES_##name)
#define MOST_PROGRESS 1e18 /* thread blocks: programs write what they like */
enum { SLOTS = CORUN_MAX_APPLICATIONS, NAME_BYTES = 64, WARP_LANES = 32 };

/* An application of the governor: a program, from when it wants the GPU until it does no more. */
struct slot {
    bool taken;
    uint32_t number;
    char name[NAME_BYTES]; /* the governor's */
    enum corun_application_state state;
    struct board *board;
    struct board_sheet *sheet;
    uint64_t arrived, left;
    uint64_t looked;        /* its last look, by the clock of the host */
    double progress_before; /* when it arrived, */
    double progress;        /* and since */
    uint64_t runs_before, runs;
    uint32_t tbs_per_sm, tb_threads;
    bool wants;
    enum corun_goal_kind goal;
    double goal_value, goal_rate;
    uint16_t given[BOARD_PLACES]; /* as the sheet has it */
    uint32_t resident[BOARD_PLACES];
    uint32_t lowered[BOARD_PLACES]; /* what the board said when the limit was taken away; 0: nobody is left there */
    uint32_t word;                  /* what the board says */
    uint32_t count;                 /* SMs that it is allowed */
};

struct sms {
    struct sms_choice choice;
    struct governor *governor;      /* NULL: nobody has a part */
    struct corun_diagnostics *said; /* what the governor says */
    const struct corun_allowances *allowances;
    uint32_t sm_count, changes;
    uint32_t count;               /* slots that the governor has */
    uint64_t began, paused, last; /* the governor's time is that of the host less `began` and `paused` */
    uint64_t epoch_began;         /* by the clock of the host */
    struct slot slots[SLOTS];
    uint16_t limits[SLOTS][BOARD_PLACES]; /* that are to be in the sheets */
};

static uint64_t time_of(const struct sms *sms, uint64_t now_ns)
{
    return now_ns - sms->began - sms->paused;
}

/* ---- the machine ---- */

static void read_slot(const struct slot *slot, struct corun_application_reading *reading)
{
    *reading = (struct corun_application_reading){.state = slot->state,
                                                  .arrived = slot->arrived,
                                                  .left = slot->left,
                                                  .progress = slot->progress < MOST_PROGRESS ? (uint64_t)slot->progress
                                                                                             : (uint64_t)MOST_PROGRESS,
                                                  .runs = (uint32_t)(slot->runs - slot->runs_before)};
    uint32_t warps = (slot->tb_threads + WARP_LANES - 1) / WARP_LANES;
    if (slot->state == CORUN_APPLICATION_RUNNING && slot->wants)
        reading->running = (struct corun_grid_view){
            .kernel = "a launch", .tb_threads = warps * WARP_LANES, .tb_warps = warps, .tbs_per_sm = slot->tbs_per_sm};
}

static void read_now(void *machine, struct corun_reading *reading)
{
    const struct sms *sms = machine;
    for (uint32_t a = 0; a < sms->count; a++) {
        const struct slot *slot = &sms->slots[a];
        read_slot(slot, &reading->applications[a]);
        for (uint32_t s = 0; slot->taken && s < sms->sm_count; s++) {
            reading->shares[s * sms->count + a].resident_tbs = slot->resident[s];
            reading->sms[s].resident_tbs += slot->resident[s];
        }
    }
}

static enum corun_status obey(void *machine, const struct corun_policy_moment *moment,
                              const struct corun_allowances *allowances)
{
    struct sms *sms = machine;
    (void)moment;
    sms->allowances = allowances;
    return CORUN_OK;
}

static struct corun_held_tbs held(void *machine, uint32_t sm, uint32_t application)
{
    const struct sms *sms = machine;
    const struct slot *slot = &sms->slots[application];
    return (struct corun_held_tbs){.tbs = slot->taken ? slot->resident[sm] : 0};
}

struct sms_shape sms_shape_of(const struct board_sheet *sheet)
{
    struct sms_shape shape = {.sms = atomic_load(&sheet->sms),
                              .threads_per_sm = atomic_load(&sheet->threads_per_sm),
                              .most_tbs = atomic_load(&sheet->most_tbs),
                              .tbs_per_sm = atomic_load(&sheet->tbs_per_sm),
                              .tb_threads = atomic_load(&sheet->tb_threads)};
    if (shape.sms > BOARD_PLACES || !shape.threads_per_sm || shape.threads_per_sm > UINT16_MAX || !shape.most_tbs ||
        shape.most_tbs > UINT16_MAX)
        shape.sms = 0;
    if (shape.tbs_per_sm > shape.most_tbs || !shape.tb_threads || shape.tb_threads > shape.threads_per_sm)
        shape.tbs_per_sm = shape.tb_threads = 0;
    return shape;
}

/* `shape`: of a program there; NULL: none is, and no GPU has more. */
static struct corun_machine machine_of(struct sms *sms, const struct sms_shape *shape)
{
    static const struct corun_machine_operations operations = {.read = read_now, .obey = obey, .held = held};
    return (struct corun_machine){.name = "a GPU of hardware with workers",
                                  .capabilities = CAN(TB_LIMIT) | CAN(EXCLUSIVE) | CAN(DRAIN),
                                  /* no thread block is started again here: none is said to be such that it may be */
                                  .observations = SEES(PROGRESS) | SEES(RUNS) | SEES(RESIDENT_TBS) | SEES(OCCUPANCY) |
                                                  SEES(HAND_OVER) | SEES(IDEMPOTENCE),
                                  .clock = CORUN_CLOCK_NANOSECONDS,
                                  .clock_khz = 1000000,
                                  .progress_unit = CORUN_PROGRESS_THREAD_BLOCKS,
                                  .epoch = SMS_EPOCH_NS,
                                  .sm_count = shape ? shape->sms : BOARD_PLACES,
                                  .threads_per_sm = shape ? shape->threads_per_sm : UINT16_MAX,
                                  .tbs_per_sm = shape ? shape->most_tbs : UINT16_MAX,
                                  .operations = &operations,
                                  .machine = sms};
}

/* ---- from start to end ---- */

struct sms *sms_create(const struct sms_choice *choice)
{
    struct sms *sms = calloc(1, sizeof *sms);
    if (sms)
        sms->choice = *choice;
    return sms;
}

static void close_governor(struct sms *sms)
{
    governor_destroy(sms->governor);
    corun_diagnostics_destroy(sms->said);
    sms->governor = NULL;
    sms->said = NULL;
    sms->allowances = NULL;
    for (uint32_t a = 0; a < SLOTS; a++)
        sms->slots[a] = (struct slot){.taken = false};
}

void sms_destroy(struct sms *sms)
{
    if (!sms)
        return;
    close_governor(sms);
    free(sms);
}

static enum corun_status start_policy(struct sms *sms, const struct corun_machine *machine, uint32_t slots,
                                      struct corun_diagnostics *said)
{
    const struct governor_limits limits = {.applications = slots};
    sms->sm_count = machine->sm_count;
    sms->count = slots;
    sms->governor = governor_create(machine);
    enum corun_status status = sms->governor ? CORUN_OK : CORUN_MEMORY;
    if (status == CORUN_OK)
        status = governor_set_policy(sms->governor, sms->choice.policy, sms->choice.parameters, said);
    return status == CORUN_OK ? governor_open(sms->governor, 0, &limits, said) : status;
}

/* With as many slots as the policy takes: one that has parts for two programs has none for a third. */
static enum corun_status open_governor(struct sms *sms, const struct sms_shape *shape, uint64_t now_ns)
{
    const struct corun_machine machine = machine_of(sms, shape);
    enum corun_status status = CORUN_POLICY;
    sms->began = sms->last = sms->epoch_began = now_ns;
    sms->paused = 0;
    for (uint32_t slots = SLOTS; slots && status == CORUN_POLICY; slots--) {
        close_governor(sms);
        sms->said = corun_diagnostics_create();
        status = sms->said ? start_policy(sms, &machine, slots, sms->said) : CORUN_MEMORY;
    }
    return status;
}

/* Why the policy does not start with so many SMs and slots; the text lies in the list. NULL: it does. */
static const char *refusal(struct sms *sms, uint32_t sm_count, uint32_t slots, struct corun_diagnostics *list)
{
    struct corun_machine machine = machine_of(sms, NULL);
    machine.sm_count = sm_count;
    enum corun_status status = start_policy(sms, &machine, slots, list);
    governor_destroy(sms->governor);
    sms->governor = NULL;
    size_t count = corun_diagnostics_count(list);
    return status == CORUN_OK || !count ? NULL : corun_diagnostics_get(list, count - 1)->message;
}

/* What is refused with the most and with the least SMs and slots alike is refused; the rest is heard when programs come. */
static enum corun_status check_start(const struct sms_choice *choice, struct corun_diagnostics *list)
{
    struct sms *sms = sms_create(choice);
    struct corun_diagnostics *most = corun_diagnostics_create(), *least = corun_diagnostics_create();
    enum corun_status status = sms && most && least ? CORUN_OK : CORUN_MEMORY;
    const char *one = status == CORUN_OK ? refusal(sms, BOARD_PLACES, SLOTS, most) : NULL;
    const char *other = one ? refusal(sms, 1, 1, least) : NULL;
    const char *why = one ? strstr(one, ": ") : NULL, *also = other ? strstr(other, ": ") : NULL;
    if (why && also && strcmp(why, also) == 0)
        status = corun_report(list, CORUN_POLICY, CORUN_NOWHERE, "policy %s cannot start with these parameters%s",
                              choice->policy->name, why);
    corun_diagnostics_destroy(most);
    corun_diagnostics_destroy(least);
    sms_destroy(sms);
    return status;
}

enum corun_status sms_check(const struct sms_choice *choice, struct corun_diagnostics *list)
{
    const struct corun_machine machine = machine_of(NULL, NULL);
    struct governor *governor = governor_create(&machine);
    enum corun_status status =
        governor ? governor_set_policy(governor, choice->policy, choice->parameters, list) : CORUN_MEMORY;
    governor_destroy(governor);
    if (status == CORUN_OK && choice->policy->needs_speedup)
        status = corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE,
                              "policy %s needs speed-up curves of its applications, which are not known of programs",
                              choice->policy->name);
    return status == CORUN_OK ? check_start(choice, list) : status;
}

/* The number of slots is the policy's own: one that does not start with that of the one before begins with nobody there, and they come at the next look. */
enum corun_status sms_change(struct sms *sms, const struct sms_choice *choice, uint64_t now_ns,
                             struct corun_diagnostics *list)
{
    enum corun_status status = sms_check(choice, list);
    if (status != CORUN_OK)
        return status;
    if (sms->governor && sms->count == SLOTS) {
        struct corun_diagnostics *said = corun_diagnostics_create();
        status =
            said ? governor_change_policy(sms->governor, time_of(sms, now_ns), choice->policy, choice->parameters, said)
                 : CORUN_MEMORY;
        corun_diagnostics_destroy(said);
    }
    if (status == CORUN_POLICY || sms->count != SLOTS) {
        close_governor(sms);
        status = CORUN_OK;
    }
    if (status == CORUN_OK)
        sms->choice = *choice;
    return status;
}

void sms_pause(struct sms *sms, uint64_t now_ns)
{
    if (sms->governor)
        sms->paused += now_ns - sms->last;
    sms->last = sms->epoch_began = now_ns;
}

/* ---- who is there ---- */

static struct slot *slot_of(struct sms *sms, uint32_t number)
{
    for (uint32_t a = 0; a < SLOTS; a++)
        if (sms->slots[a].taken && sms->slots[a].number == number)
            return &sms->slots[a];
    return NULL;
}

static uint32_t index_of(const struct sms *sms, const struct slot *slot)
{
    return (uint32_t)(slot - sms->slots);
}

bool sms_has_part(const struct sms *sms, uint32_t number)
{
    for (uint32_t a = 0; a < SLOTS; a++)
        if (sms->slots[a].taken && sms->slots[a].number == number)
            return true;
    return false;
}

uint32_t sms_count(const struct sms *sms, uint32_t number)
{
    for (uint32_t a = 0; a < SLOTS; a++)
        if (sms->slots[a].taken && sms->slots[a].number == number)
            return sms->slots[a].count;
    return 0;
}

uint32_t sms_of_gpu(const struct sms *sms)
{
    return sms->governor ? sms->sm_count : 0;
}

static enum corun_status leave(struct sms *sms, struct slot *slot, uint64_t time)
{
    slot->state = CORUN_APPLICATION_LEFT;
    slot->left = time;
    memset(slot->resident, 0, sizeof slot->resident);
    enum corun_status status = governor_moment(sms->governor, time, CORUN_EVENT_LEAVE, 0, index_of(sms, slot));
    governor_unseat(sms->governor, index_of(sms, slot));
    slot->taken = false;
    return status;
}

static void take_goal(struct slot *slot, const struct sms_program *program)
{
    slot->goal = program->goal;
    slot->goal_value = program->goal_value;
    slot->goal_rate = program->goal_rate;
}

/* Where there are more programs than slots, the last ones have no part. */
static enum corun_status arrive(struct sms *sms, uint32_t number, const struct sms_program *program, uint64_t time)
{
    struct slot *slot = sms->slots;
    while (slot < sms->slots + sms->count && slot->taken)
        slot++;
    if (slot == sms->slots + sms->count)
        return CORUN_OK;
    *slot = (struct slot){.taken = true,
                          .number = number,
                          .state = CORUN_APPLICATION_RUNNING,
                          .board = program->board,
                          .sheet = program->sheet,
                          .arrived = time,
                          .progress_before = program->progress,
                          .runs_before = program->runs};
    snprintf(slot->name, sizeof slot->name, "program %u", number);
    take_goal(slot, program);
    const struct governor_application application = {.name = slot->name,
                                                     .goal = slot->goal,
                                                     .goal_value = slot->goal_value,
                                                     .goal_ipc = slot->goal_rate,
                                                     .isolated_ipc = program->alone};
    enum corun_status status = governor_seat(sms->governor, index_of(sms, slot), &application);
    slot->wants = program->wants;
    if (status == CORUN_OK)
        status = governor_moment(sms->governor, time, CORUN_EVENT_ARRIVE, 0, index_of(sms, slot));
    return status;
}

/* ---- what they tell ---- */

/* Whether tables were written since a board said that. Counts of changes have 31 bits. */
static bool is_obeyed(uint32_t obeyed, uint32_t word)
{
    return board_sms_is_listed(obeyed) && (int32_t)((obeyed << 1) - (word << 1)) >= 0;
}

/*
 * Workers may be where there is a limit, and where there was one until a count that was made later finds nobody. Who is counted behind that has come to leave
 * at once.
 */
static void read_residents(const struct sms *sms, struct slot *slot)
{
    uint32_t obeyed = atomic_load(&slot->sheet->obeyed);
    for (uint32_t s = 0; s < sms->sm_count; s++) {
        uint32_t counted = atomic_load(&slot->sheet->places[s].resident);
        bool late = slot->lowered[s] && !is_obeyed(obeyed, slot->lowered[s]);
        if (!late && !counted)
            slot->lowered[s] = 0;
        bool there = slot->given[s] || slot->lowered[s];
        slot->resident[s] = !there ? 0 : counted < BOARD_UNLIMITED ? counted : BOARD_UNLIMITED;
    }
}

/* Rates alone are measured again and again: what is a little more or less is no other goal, with which a policy would begin anew. */
static bool is_another_goal(const struct slot *slot, const struct sms_program *program)
{
    double least = 0.95 * slot->goal_rate, most = 1.05 * slot->goal_rate;
    return slot->goal != program->goal || slot->goal_value != program->goal_value || program->goal_rate < least ||
           program->goal_rate > most;
}

static enum corun_status read_program(struct sms *sms, struct slot *slot, const struct sms_program *program,
                                      uint64_t time)
{
    enum corun_status status = CORUN_OK;
    uint32_t a = index_of(sms, slot), before[BOARD_PLACES];
    uint64_t runs = slot->runs;
    bool begins = program->wants && !slot->wants;
    memcpy(before, slot->resident, sizeof before);
    read_residents(sms, slot);
    slot->progress = program->progress - slot->progress_before;
    slot->runs = program->runs;
    slot->tbs_per_sm = program->shape.tbs_per_sm;
    slot->tb_threads = program->shape.tb_threads;
    slot->looked = atomic_load(&slot->sheet->looked_ns);
    slot->wants = program->wants;
    if (is_another_goal(slot, program)) {
        take_goal(slot, program);
        (void)governor_set_goal(sms->governor, a, slot->goal, slot->goal_value, slot->goal_rate, NULL);
    }
    for (uint32_t s = 0; s < sms->sm_count && status == CORUN_OK; s++)
        if (slot->resident[s] < before[s])
            status = governor_tb_left(sms->governor, time, s, a, false);
    if (status == CORUN_OK && runs && slot->runs != runs)
        status = governor_moment(sms->governor, time, CORUN_EVENT_RUN_COMPLETE, 0, a);
    if (status == CORUN_OK && begins)
        status = governor_moment(sms->governor, time, CORUN_EVENT_KERNEL_START, 0, a);
    return status;
}

/* All who have something on the GPU have told what became of this epoch. */
static bool epoch_is_told(const struct sms *sms, uint64_t now_ns)
{
    bool told = true;
    for (uint32_t a = 0; a < SLOTS; a++)
        told &= !sms->slots[a].taken || !sms->slots[a].wants || sms->slots[a].looked >= sms->epoch_began;
    return told || now_ns - sms->epoch_began >= SMS_LATE_NS;
}

/* ---- limits ---- */

static uint32_t allowed(const struct sms *sms, uint32_t s, uint32_t a)
{
    if (a >= sms->count || !sms->slots[a].taken)
        return 0;
    uint32_t limit = sms->allowances->tb_limit[s * sms->count + a];
    return limit < BOARD_UNLIMITED ? limit : BOARD_UNLIMITED;
}

static bool may_be_on(const struct slot *slot, uint32_t s)
{
    return slot->taken && (slot->given[s] || slot->resident[s] || slot->lowered[s]);
}

/* Who comes next to an exclusive SM: by rank, then by number; SLOTS if nobody wants it. */
static uint32_t first_comer(const struct sms *sms, uint32_t s)
{
    const uint32_t *order = &sms->allowances->order[s * sms->count];
    uint32_t best = SLOTS;
    for (uint32_t a = 0; a < SLOTS; a++)
        if (allowed(sms, s, a) && sms->slots[a].wants && (best == SLOTS || order[a] < order[best]))
            best = a;
    return best;
}

/* On an exclusive SM nobody begins beside somebody else: whoever has a limit keeps it while it is allowed, and the next one waits until the others have left. */
static void limit_exclusive(const struct sms *sms, uint32_t s, uint32_t limits[SLOTS])
{
    uint32_t next = first_comer(sms, s);
    bool kept = false, others_want = false, others = false;
    for (uint32_t a = 0; a < SLOTS; a++)
        others_want |= !sms->slots[a].given[s] && allowed(sms, s, a) && sms->slots[a].wants;
    for (uint32_t a = 0; a < SLOTS; a++) {
        const struct slot *slot = &sms->slots[a];
        bool keeps = slot->given[s] && (slot->wants || !others_want);
        limits[a] = keeps ? allowed(sms, s, a) : 0;
        kept |= limits[a] != 0;
        others |= a != next && may_be_on(slot, s);
    }
    if (!kept && next < SLOTS && !others)
        limits[next] = allowed(sms, s, next);
}

/*
 * A program that is to have no SM keeps one while something of it is under way: workers that have all been sent away would leave their launch to others that
 * nobody holds back.
 */
static void keep_one(const struct sms *sms, struct slot *slot, uint16_t limits[BOARD_PLACES])
{
    uint32_t kept = BOARD_PLACES;
    if (slot->count || !board_is_busy(slot->board))
        return;
    for (uint32_t s = 0; s < sms->sm_count; s++) {
        if (limits[s])
            return;
        if (kept == BOARD_PLACES && slot->given[s])
            kept = s;
    }
    if (kept < BOARD_PLACES)
        limits[kept] = slot->given[kept];
}

/* The board's word changes whenever a limit does. */
static void write_limits(struct sms *sms, struct slot *slot, const uint16_t limits[BOARD_PLACES])
{
    bool changed = !board_sms_is_listed(slot->word) || atomic_load(&slot->board->sms) != slot->word;
    uint32_t next = board_sms_listed((sms->changes + 1) & INT32_MAX);
    for (uint32_t s = 0; s < sms->sm_count; s++) {
        if (slot->given[s] == limits[s])
            continue;
        changed = true;
        slot->lowered[s] = limits[s] ? 0 : next;
        slot->given[s] = limits[s];
        atomic_store(&slot->sheet->limits[s], limits[s]);
    }
    if (!changed)
        return;
    for (uint32_t s = 0; s < sms->sm_count; s++)
        atomic_store(&slot->sheet->limits[s], limits[s]);
    sms->changes++;
    slot->word = next;
    atomic_store(&slot->board->sms, next);
    (void)syscall(SYS_futex, &slot->board->sms, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static void follow_limits(struct sms *sms)
{
    for (uint32_t s = 0; s < sms->sm_count; s++) {
        uint32_t row[SLOTS];
        for (uint32_t a = 0; a < SLOTS; a++)
            row[a] = allowed(sms, s, a);
        if (sms->allowances->exclusive[s])
            limit_exclusive(sms, s, row);
        for (uint32_t a = 0; a < SLOTS; a++)
            sms->limits[a][s] = (uint16_t)row[a];
    }
    for (uint32_t a = 0; a < SLOTS; a++) {
        struct slot *slot = &sms->slots[a];
        if (!slot->taken)
            continue;
        slot->count = 0;
        for (uint32_t s = 0; s < sms->sm_count; s++)
            slot->count += allowed(sms, s, a) != 0;
        keep_one(sms, slot, sms->limits[a]);
        write_limits(sms, slot, sms->limits[a]);
    }
}

/* ---- a look ---- */

static enum corun_status look(struct sms *sms, const struct sms_program *programs, uint64_t now_ns)
{
    enum corun_status status = CORUN_OK;
    uint64_t time = time_of(sms, now_ns);
    for (uint32_t a = 0; a < SLOTS && status == CORUN_OK; a++)
        if (sms->slots[a].taken && !programs[sms->slots[a].number].takes_part)
            status = leave(sms, &sms->slots[a], time);
    for (uint32_t i = 0; i < BOARD_CLIENTS && status == CORUN_OK; i++) {
        const struct sms_program *program = &programs[i];
        if (program->takes_part && !slot_of(sms, i) && program->shape.sms == sms->sm_count)
            status = arrive(sms, i, program, time);
        struct slot *slot = program->takes_part ? slot_of(sms, i) : NULL;
        if (slot && status == CORUN_OK)
            status = read_program(sms, slot, program, time);
    }
    if (status == CORUN_OK && time >= governor_next_epoch(sms->governor) && epoch_is_told(sms, now_ns)) {
        status = governor_epoch(sms->governor, time);
        sms->epoch_began = now_ns;
    }
    return status;
}

enum corun_status sms_look(struct sms *sms, const struct sms_program *programs, uint64_t now_ns)
{
    enum corun_status status = CORUN_OK;
    const struct sms_program *first = NULL;
    for (uint32_t i = BOARD_CLIENTS; i-- > 0;)
        first = programs[i].takes_part ? &programs[i] : first;
    if (!first) {
        close_governor(sms);
        return CORUN_OK;
    }
    if (!sms->governor)
        status = open_governor(sms, &first->shape, now_ns);
    sms->last = now_ns;
    if (status == CORUN_OK)
        status = look(sms, programs, now_ns);
    if (status == CORUN_OK)
        follow_limits(sms);
    return status;
}

const char *sms_problem(const struct sms *sms)
{
    size_t count = sms->said ? corun_diagnostics_count(sms->said) : 0;
    return count ? corun_diagnostics_get(sms->said, count - 1)->message : "out of memory";
}
