/* SPDX-License-Identifier: MIT */
/*
 * Runs a grid without timing, thread block by thread block; the warps of one take turns from barrier to barrier. A record of that holds at any
 * other time if no warp loads what another one may have stored or not: the shadow watches that.
 */
#include "base/bits.h"
#include "base/kernel_name.h"
#include "record/writer.h"

#include <string.h>

#define MOST_INSTRUCTIONS \
    (UINT64_C(1) << 28)                /* of a thread block: it may wait for another one, which has no turn here */
#define LOOK_INSTRUCTIONS 1024u        /* between two looks at how much there is */
#define MOST_BARRIERS ((1u << 26) - 1) /* that are told apart */
#define CLOCK_KHZ 1000000u

struct barrier {
    uint32_t waiting; /* warps */
    uint32_t arrived, threads;
};

/* A thread block that runs. */
struct recorder {
    struct record_writer *writer;
    const struct corun_grid *grid;
    const struct record_grid_facts *facts;
    uint64_t base; /* of the application */
    uint64_t cycle;
    uint64_t instructions; /* of the launch */
    uint64_t left;         /* that the thread block may still take */
    struct record_actor actor;
    /* Of its shared memory, behind how many barriers: warps that have stored, and those that have read what is not known of it. */
    uint32_t touched_barriers, storing, reading;
    bool in_parts;
    uint32_t live, waiting; /* warps */
    struct barrier barriers[CORUN_MEETINGS];
    struct corun_tb *tb;
    struct corun_warp *warps[RECORD_MOST_WARPS];
    struct corun_issue issue;
};

static enum corun_status refuse(const struct recorder *recorder, uint32_t line, const char *why)
{
    return corun_report(recorder->writer->list, CORUN_UNSUPPORTED, (struct corun_place){recorder->grid->file, line, 0},
                        "kernel %s cannot be replayed: %s", KERNEL_NAME(recorder->grid->name), why);
}

static enum corun_status out_of_memory(const struct recorder *recorder)
{
    return corun_report(recorder->writer->list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory writing a record");
}

/*
 * Products of warpgroups read matrices of shared memory, and do not say where: what another warp stores anywhere there, with no barrier between them, may
 * be what they read.
 */
static enum corun_status see_shared(struct recorder *recorder, const struct corun_instruction *code, bool stores)
{
    uint32_t others = ~(1u << recorder->actor.warp);
    if (recorder->touched_barriers != recorder->actor.barriers)
        recorder->storing = recorder->reading = 0;
    recorder->touched_barriers = recorder->actor.barriers;
    *(stores ? &recorder->storing : &recorder->reading) |= ~others;
    if ((stores ? recorder->reading : recorder->storing) & others)
        return refuse(recorder, code->line,
                      "what a product reads of shared memory depends on when another warp stores it");
    return CORUN_OK;
}

static enum corun_status see(struct recorder *recorder, const struct corun_instruction *code, uint32_t space,
                             uint32_t kind, uint64_t address, uint32_t bytes)
{
    static const char *const reasons[] = {
        [RECORD_OTHER_TB] = "what it loads depends on when another thread block stores it",
        [RECORD_OTHER_WARP] = "what it loads depends on when another warp stores it, with no barrier between them",
        [RECORD_UNORDERED] = "what it loads depends on the order in which it was stored, or in which atomics came"};
    struct record_shadow *shadow = space == CORUN_SPACE_SHARED ? recorder->writer->shared : recorder->writer->global;
    struct record_actor actor = recorder->actor;
    if (space == CORUN_SPACE_SHARED)
        actor.tb = 0;
    bool changes = code->flags & (CORUN_ATOMIC | CORUN_STORE);
    if (space == CORUN_SPACE_SHARED && changes) {
        enum corun_status status = see_shared(recorder, code, true);
        if (status != CORUN_OK)
            return status;
    }
    enum record_access access = code->flags & CORUN_ATOMIC  ? RECORD_ATOMIC
                                : code->flags & CORUN_STORE ? RECORD_STORE
                                                            : RECORD_LOAD;
    enum record_conflict conflict = RECORD_NO_CONFLICT;
    if (changes && code->flags & CORUN_LOAD)
        conflict = record_shadow_access(shadow, &actor, RECORD_LOAD, 0, address, bytes);
    if (!conflict)
        conflict = record_shadow_access(shadow, &actor, access, kind, address, bytes);
    if (conflict == RECORD_NO_MEMORY)
        return out_of_memory(recorder);
    return conflict ? refuse(recorder, code->line, reasons[conflict]) : CORUN_OK;
}

/* Lanes that are one behind the other are seen as one access. */
static enum corun_status see_access(struct recorder *recorder, const struct corun_instruction *code, uint32_t pc)
{
    const struct corun_issue *issue = &recorder->issue;
    bool mixed = issue->space == CORUN_SPACE_GENERIC;
    uint32_t kind = code->flags & CORUN_ATOMIC ? recorder->facts->atomics[pc] : 0, width = code->access_bytes;
    enum corun_status status = CORUN_OK;
    for (uint32_t rest = issue->active; rest && status == CORUN_OK;) {
        uint32_t lane = lowest_bit(rest), space = mixed ? issue->lane_space[lane] : issue->space;
        uint64_t first = issue->address[lane], end = first + width;
        for (rest &= rest - 1; rest && !mixed; rest &= rest - 1) {
            uint64_t next = issue->address[lowest_bit(rest)];
            if (next != end && next + width != end)
                break;
            end = next + width;
        }
        if (space == CORUN_SPACE_GLOBAL || space == CORUN_SPACE_TEXTURE || space == CORUN_SPACE_SHARED)
            status = see(recorder, code, space, kind, first, (uint32_t)(end - first));
        else if (space == CORUN_SPACE_CLUSTER)
            status = refuse(recorder, code->line, "it accesses shared memory of another thread block");
    }
    return status;
}

static bool is_global(const struct corun_issue *issue)
{
    bool any = issue->space == CORUN_SPACE_GLOBAL;
    for (uint32_t rest = issue->space == CORUN_SPACE_GENERIC ? issue->active : 0; rest; rest &= rest - 1)
        any |= issue->lane_space[lowest_bit(rest)] == CORUN_SPACE_GLOBAL;
    return any;
}

/* What it gives back is nothing, so all of it can happen now. */
static void perform(const struct recorder *recorder)
{
    const struct corun_source_operations *source = recorder->grid->operations;
    const struct corun_issue *issue = &recorder->issue;
    if (!is_global(issue))
        return;
    source->perform(recorder->grid, 0, issue->ticket, issue->active);
    source->complete(recorder->grid, 0, issue->ticket);
}

static bool met(const struct recorder *recorder, const struct barrier *barrier)
{
    return barrier->threads ? barrier->arrived * CORUN_WARP_LANES >= barrier->threads
                            : barrier->arrived >= count_bits(recorder->live);
}

static void release(struct recorder *recorder, uint32_t number)
{
    struct barrier *barrier = &recorder->barriers[number];
    const struct corun_grid *grid = recorder->grid;
    bool whole = !barrier->threads || barrier->threads >= grid->tb_threads;
    if (number < CORUN_BARRIERS && whole && barrier->waiting == recorder->live &&
        recorder->actor.barriers < MOST_BARRIERS)
        recorder->actor.barriers++;
    if (grid->operations->barrier_met)
        grid->operations->barrier_met(recorder->tb, number);
    recorder->waiting &= ~barrier->waiting;
    *barrier = (struct barrier){0};
}

static void arrive(struct recorder *recorder, uint32_t warp)
{
    const struct corun_issue *issue = &recorder->issue;
    struct barrier *barrier = &recorder->barriers[issue->barrier % CORUN_MEETINGS];
    barrier->arrived++;
    barrier->threads = issue->barrier_threads;
    if (issue->barrier_waits) {
        barrier->waiting |= 1u << warp;
        recorder->waiting |= 1u << warp;
    }
    if (met(recorder, barrier))
        release(recorder, issue->barrier % CORUN_MEETINGS);
}

static void end_warp(struct recorder *recorder, uint32_t warp)
{
    recorder->live &= ~(1u << warp);
    for (uint32_t i = 0; i < CORUN_MEETINGS; i++)
        if (recorder->barriers[i].waiting && met(recorder, &recorder->barriers[i]))
            release(recorder, i);
}

/* The streams have got long: what there is goes into a piece. */
static enum corun_status part(struct recorder *recorder)
{
    struct record_writer *writer = recorder->writer;
    size_t bytes = 0;
    for (uint32_t i = 0; i < recorder->grid->tb_warps; i++)
        bytes += writer->streams[i].control.count + writer->streams[i].addresses.count;
    if (bytes < RECORD_PIECE_BYTES)
        return CORUN_OK;
    for (uint32_t i = 0; i < recorder->grid->tb_warps; i++)
        if (recorder->live >> i & 1u && !record_stream_part(&writer->streams[i]))
            return out_of_memory(recorder);
    bool first = !recorder->in_parts;
    recorder->in_parts = true;
    return record_writer_add_part(writer, recorder->actor.tb, recorder->grid->tb_warps, first);
}

static enum corun_status step(struct recorder *recorder, uint32_t index)
{
    const struct corun_source_operations *source = recorder->grid->operations;
    struct corun_issue *issue = &recorder->issue;
    uint32_t pc = source->warp_pc(recorder->warps[index]);
    const struct corun_instruction *code = &recorder->grid->code[pc];
    if (!--recorder->left)
        return refuse(recorder, code->line, "a thread block does not come to its end by itself");
    issue->shape = 0;
    recorder->actor.warp = index;
    source->issue(recorder->warps[index], issue);
    recorder->cycle++;
    recorder->instructions++;
    if (issue->outcome == CORUN_OUTCOME_FAULT) {
        struct corun_place place;
        const char *message = source->fault(recorder->warps[index], &place);
        return corun_report(recorder->writer->list, CORUN_FAULT, place, "%s", message);
    }
    if (!record_stream_add(&recorder->writer->streams[index], code, pc, issue))
        return out_of_memory(recorder);
    enum corun_status status = CORUN_OK;
    if (record_accesses(code) && issue->active)
        status = see_access(recorder, code, pc);
    if (status == CORUN_OK && code->flags & CORUN_ATOMIC && issue->active)
        perform(recorder);
    if (status == CORUN_OK && code->shared_bytes && issue->active)
        status = see_shared(recorder, code, false);
    if (issue->outcome == CORUN_OUTCOME_EXIT)
        end_warp(recorder, index);
    else if (issue->outcome == CORUN_OUTCOME_BARRIER)
        arrive(recorder, index);
    return status == CORUN_OK && recorder->instructions % LOOK_INSTRUCTIONS == 0 ? part(recorder) : status;
}

static enum corun_status run_tb(struct recorder *recorder)
{
    enum corun_status status = CORUN_OK;
    while (recorder->live && status == CORUN_OK) {
        if (recorder->waiting == recorder->live)
            return refuse(recorder, 0, "a barrier is never met");
        for (uint32_t i = 0; i < recorder->grid->tb_warps && status == CORUN_OK; i++)
            while (status == CORUN_OK && (recorder->live & ~recorder->waiting) >> i & 1u)
                status = step(recorder, i);
    }
    return status;
}

static enum corun_status record_tb(struct recorder *recorder, uint32_t index)
{
    const struct corun_grid *grid = recorder->grid;
    struct record_writer *writer = recorder->writer;
    recorder->tb = grid->operations->tb_begin(grid, index, 0, recorder->warps);
    if (!recorder->tb || !record_shadow_launch(writer->shared, 1, true))
        return out_of_memory(recorder);
    recorder->actor = (struct record_actor){.tb = index};
    recorder->in_parts = false;
    recorder->left = MOST_INSTRUCTIONS;
    recorder->live = grid->tb_warps < 32 ? (1u << grid->tb_warps) - 1 : CORUN_FULL_MASK;
    recorder->waiting = recorder->touched_barriers = recorder->storing = recorder->reading = 0;
    memset(recorder->barriers, 0, sizeof recorder->barriers);
    uint64_t most = (UINT64_C(1) << recorder->facts->local_sm_shift) - 1;
    for (uint32_t i = 0; i < grid->tb_warps; i++) {
        uint64_t local = recorder->facts->local_first + (i * recorder->facts->warp_local_bytes & most);
        record_stream_begin(&writer->streams[i], recorder->base, local);
        grid->operations->warp_place(recorder->warps[i], i, 1, &recorder->cycle);
    }
    enum corun_status status = run_tb(recorder);
    if (status == CORUN_OK)
        status = recorder->in_parts ? record_writer_add_part(writer, index, grid->tb_warps, false)
                                    : record_writer_add(writer, index, grid->tb_warps);
    grid->operations->tb_end(recorder->tb);
    if (grid->operations->dirty(grid, 0))
        grid->operations->commit(grid, 0);
    return status;
}

uint32_t record_unit_bytes(const struct corun_grid *grid, uint32_t most)
{
    for (uint32_t i = 0; i < grid->code_length; i++)
        while (record_accesses(&grid->code[i]) && grid->code[i].access_bytes && grid->code[i].access_bytes < most)
            most /= 2;
    return most;
}

enum corun_status record_copy(const struct record_writer *writer, struct corun_diagnostics *list)
{
    if (!record_shadow_is_unordered(writer->global))
        return CORUN_OK;
    return corun_report(
        list, CORUN_UNSUPPORTED, CORUN_NOWHERE,
        "the workload cannot be replayed: data are copied between launches that were stored in an order "
        "which depends on time");
}

enum corun_status record_launch(struct record_writer *writer, const struct corun_grid *grid,
                                const struct record_grid_facts *facts, struct corun_diagnostics *list)
{
    struct recorder recorder = {.writer = writer, .grid = grid, .facts = facts};
    writer->list = list;
    recorder.base = grid->code_address >> CORUN_APPLICATION_SHIFT << CORUN_APPLICATION_SHIFT;
    if (facts->reason)
        return refuse(&recorder, facts->line, facts->reason);
    if (grid->cluster_tbs > 1)
        return refuse(&recorder, 0, "it has clusters of thread blocks");
    if (grid->launches)
        return refuse(&recorder, 0, "it launches kernels");
    if (grid->tb_warps > RECORD_MOST_WARPS)
        return refuse(&recorder, 0, "its thread blocks have too many warps");
    struct record_launch_row row = {.tb_count = grid->tb_count,
                                    .tb_warps = grid->tb_warps,
                                    .code_length = grid->code_length,
                                    .first_piece = (uint32_t)writer->pieces.count};
    if (grid->operations->attach(grid, 1, CLOCK_KHZ) != CORUN_OK || !vector_push(&writer->launches, row))
        return out_of_memory(&recorder);
    if (!record_shadow_launch(writer->global, grid->tb_count, false))
        return refuse(&recorder, 0, "the workload has too many thread blocks");
    enum corun_status status = CORUN_OK;
    for (uint32_t i = 0; i < grid->tb_count && status == CORUN_OK; i++)
        status = record_tb(&recorder, i);
    writer->launches.data[writer->launches.count - 1].warp_instructions = recorder.instructions;
    return status == CORUN_OK ? record_writer_end_piece(writer) : status;
}
