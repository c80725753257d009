/* SPDX-License-Identifier: MIT */
/*
 * Register by register: from each use backwards over the blocks until a definition (Boissinot et al., "Computing Liveness Sets for SSA-Form
 * Programs", 2011, section 5.2, "by variable"; it does not need SSA if definitions are looked up per block). Memory is
 * linear in the size of the function, where bit sets per block would be quadratic.
 */
#include "ptx/liveness.h"

#include <stdlib.h>
#include <string.h>

struct access {
    uint32_t instruction;
    uint8_t kind; /* 1: reads, 2: writes, 4: the write always happens */
};

enum { READS = 1, WRITES = 2, KILLS = 4 };

struct accesses {
    uint32_t *start; /* per register: its accesses in rows[start[r] … start[r + 1] - 1], in program order */
    struct access *rows;
};

struct collector {
    const struct ptx_function *function;
    struct accesses *accesses;
    uint32_t *filled;
    uint32_t instruction;
    bool counting;
};

static void collect(void *user, uint32_t register_index, enum ptx_access access)
{
    struct collector *collector = user;
    if (collector->counting) {
        collector->accesses->start[register_index + 1]++;
        return;
    }
    const struct ptx_instruction *instruction = &collector->function->instructions[collector->instruction];
    uint8_t kind = access == PTX_READ ? READS : instruction->guard == PTX_NONE ? WRITES | KILLS : WRITES;
    uint32_t *filled = &collector->filled[register_index];
    struct access *rows = collector->accesses->rows + collector->accesses->start[register_index];
    if (*filled && rows[*filled - 1].instruction == collector->instruction)
        rows[*filled - 1].kind |= kind;
    else
        rows[(*filled)++] = (struct access){collector->instruction, kind};
}

struct guard_watch {
    uint32_t predicate;
    bool written;
};

static void watch_guard(void *user, uint32_t register_index, enum ptx_access access)
{
    struct guard_watch *watch = user;
    watch->written |= access == PTX_WRITE && register_index == watch->predicate;
}

/* Does the predicate keep its value from instruction `first` to instruction `last`? */
static bool keeps_value(const struct ptx_function *function, uint32_t predicate, uint32_t first, uint32_t last)
{
    struct guard_watch watch = {predicate, false};
    for (uint32_t i = first; i <= last && !watch.written; i++)
        ptx_instruction_registers(&function->instructions[i], watch_guard, &watch);
    return !watch.written;
}

/*
 * A register of one block that is written first and only accessed by instructions under one guard: threads that do not write never read, so
 * the write is as good as one that always happens.
 */
static void settle_guarded(const struct ptx_function *function, const struct ptx_control_flow *flow,
                           struct access *rows, uint32_t count)
{
    if (count == 0 || rows[0].kind != WRITES)
        return;
    const struct ptx_instruction *writer = &function->instructions[rows[0].instruction];
    uint32_t last = rows[count - 1].instruction;
    if (flow->block_of[last] != flow->block_of[rows[0].instruction] ||
        !keeps_value(function, writer->guard, rows[0].instruction, last))
        return;
    for (uint32_t i = 1; i < count; i++) {
        const struct ptx_instruction *other = &function->instructions[rows[i].instruction];
        if (other->guard != writer->guard || other->guard_negated != writer->guard_negated)
            return;
    }
    rows[0].kind |= KILLS;
}

static void free_accesses(struct accesses *accesses, uint32_t *filled)
{
    free(accesses->start);
    free(accesses->rows);
    free(filled);
}

/* *filled: how many rows of each register are in use. */
static bool collect_accesses(const struct ptx_function *function, struct accesses *accesses, uint32_t **filled)
{
    size_t count = function->register_count;
    accesses->start = calloc(count + 2, sizeof *accesses->start);
    accesses->rows = NULL;
    *filled = calloc(count + 1, sizeof **filled);
    if (!accesses->start || !*filled)
        return false;
    struct collector collector = {function, accesses, *filled, 0, true};
    for (uint32_t i = 0; i < function->instruction_count; i++)
        ptx_instruction_registers(&function->instructions[i], collect, &collector);
    for (size_t r = 0; r < count; r++)
        accesses->start[r + 1] += accesses->start[r];
    accesses->rows = calloc((size_t)accesses->start[count] + 1, sizeof *accesses->rows);
    if (!accesses->rows)
        return false;
    collector.counting = false;
    for (uint32_t i = 0; i < function->instruction_count; i++) {
        collector.instruction = i;
        ptx_instruction_registers(&function->instructions[i], collect, &collector);
    }
    return true;
}

struct walker {
    const struct ptx_control_flow *flow;
    uint32_t *killed;   /* per block: register + 1 for which this block has a definition that always happens */
    uint32_t *live_out; /* per block: register + 1 that is live at its end */
    uint32_t *stack;    /* blocks at whose start the register is live */
    uint32_t *touched;  /* blocks at whose end the register is live */
    uint32_t touched_count;
    void (*visit)(void *user, const struct ptx_live_range *range);
    void *user;
};

static void report(const struct walker *walker, uint32_t first, uint32_t last, bool enters, bool stays, uint32_t r)
{
    struct ptx_live_range range = {r, first, last, enters, stays};
    walker->visit(walker->user, &range);
}

/* Accesses of one block: rows[from … to - 1]. */
static uint32_t end_of_block(const struct walker *walker, const struct access *rows, uint32_t from, uint32_t count)
{
    uint32_t block = walker->flow->block_of[rows[from].instruction], to = from;
    while (to < count && walker->flow->block_of[rows[to].instruction] == block)
        to++;
    return to;
}

/* The value at the start of the block is needed: a read, or a write that may not happen, comes before any sure write. */
static bool needs_entry_value(const struct access *rows, uint32_t from, uint32_t to, bool live_out)
{
    for (uint32_t i = from; i < to; i++) {
        if (rows[i].kind & READS)
            return true;
        if (rows[i].kind & KILLS)
            return false;
    }
    return live_out;
}

static void spread(struct walker *walker, uint32_t register_index, uint32_t depth)
{
    while (depth) {
        const struct ptx_block *block = &walker->flow->blocks[walker->stack[--depth]];
        for (uint32_t i = 0; i < block->predecessor_count; i++) {
            uint32_t before = block->predecessors[i];
            if (walker->live_out[before] == register_index + 1)
                continue;
            walker->live_out[before] = register_index + 1;
            walker->touched[walker->touched_count++] = before;
            if (walker->killed[before] != register_index + 1)
                walker->stack[depth++] = before;
        }
    }
}

/* Pieces within one block that has accesses, from its end to its start. */
static void report_block(struct walker *walker, uint32_t register_index, const struct access *rows, uint32_t from,
                         uint32_t to)
{
    uint32_t index = walker->flow->block_of[rows[from].instruction];
    const struct ptx_block *block = &walker->flow->blocks[index];
    bool live = walker->live_out[index] == register_index + 1;
    uint32_t last = block->end - 1;
    bool stays = live;
    for (uint32_t i = to; i-- > from;) {
        uint32_t at = rows[i].instruction;
        if (!live) { /* a dead definition, or the last read */
            last = at;
            stays = false;
        }
        live = true;
        if ((rows[i].kind & KILLS) || ((rows[i].kind & WRITES) && last == at && !stays && !(rows[i].kind & READS))) {
            /* a guarded write that nobody reads keeps nothing alive */
            report(walker, at, last, false, stays, register_index);
            live = rows[i].kind & READS;
            last = at;
            stays = false;
        }
    }
    if (live)
        report(walker, block->first, last, true, stays, register_index);
}

static void walk_register(struct walker *walker, uint32_t r, const struct access *rows, uint32_t count)
{
    uint32_t depth = 0;
    walker->touched_count = 0;
    for (uint32_t i = 0; i < count; i++)
        if (rows[i].kind & KILLS)
            walker->killed[walker->flow->block_of[rows[i].instruction]] = r + 1;
    for (uint32_t from = 0, to; from < count; from = to) {
        to = end_of_block(walker, rows, from, count);
        if (needs_entry_value(rows, from, to, false)) {
            walker->stack[depth++] = walker->flow->block_of[rows[from].instruction];
            spread(walker, r, depth); /* one at a time: the stack never holds a block twice */
            depth = 0;
        }
    }
    for (uint32_t from = 0, to; from < count; from = to) {
        to = end_of_block(walker, rows, from, count);
        report_block(walker, r, rows, from, to);
        walker->killed[walker->flow->block_of[rows[from].instruction]] = UINT32_MAX; /* reported */
    }
    for (uint32_t i = 0; i < walker->touched_count; i++) {
        uint32_t index = walker->touched[i];
        if (walker->killed[index] != UINT32_MAX)
            report(walker, walker->flow->blocks[index].first, walker->flow->blocks[index].end - 1, true, true, r);
    }
    for (uint32_t from = 0, to; from < count; from = to) {
        to = end_of_block(walker, rows, from, count);
        walker->killed[walker->flow->block_of[rows[from].instruction]] = 0;
    }
}

enum corun_status ptx_liveness_ranges(const struct ptx_function *function, const struct ptx_control_flow *flow,
                                      void (*visit)(void *user, const struct ptx_live_range *range), void *user)
{
    struct accesses accesses;
    uint32_t *filled;
    size_t blocks = (size_t)flow->block_count + 1;
    uint32_t *room = calloc(blocks * 4, sizeof *room);
    bool ok = collect_accesses(function, &accesses, &filled) && room;
    if (ok) {
        struct walker walker = {flow, room, room + blocks, room + 2 * blocks, room + 3 * blocks, 0, visit, user};
        for (uint32_t r = 0; r < function->register_count; r++)
            settle_guarded(function, flow, accesses.rows + accesses.start[r], filled[r]);
        for (uint32_t r = 0; r < function->register_count; r++)
            walk_register(&walker, r, accesses.rows + accesses.start[r], filled[r]);
    }
    free(room);
    free_accesses(&accesses, filled);
    return ok ? CORUN_OK : CORUN_MEMORY;
}

/*
 * Registers whose value an assembler has without keeping it: what is written once, by a mov of a constant or an address, or a load
 * of a kernel's parameter (an operand in constant memory), or a conversion of such an address.
 */
struct constants {
    const struct ptx_function *function;
    uint8_t *writes; /* per register: 0, 1, many */
    bool *is_constant;
};

static void count_write(void *user, uint32_t register_index, enum ptx_access access)
{
    struct constants *constants = user;
    if (access == PTX_WRITE && constants->writes[register_index] < 2)
        constants->writes[register_index]++;
}

static bool is_constant_operand(const struct constants *constants, const struct ptx_operand *operand)
{
    switch (operand->kind) {
    case PTX_OPERAND_INTEGER:
    case PTX_OPERAND_F32:
    case PTX_OPERAND_F64:
    case PTX_OPERAND_VARIABLE:
        return true;
    case PTX_OPERAND_REGISTER:
        return constants->is_constant[operand->index];
    default:
        return false;
    }
}

static void find_constants(struct constants *constants)
{
    const struct ptx_function *function = constants->function;
    for (uint32_t i = 0; i < function->instruction_count; i++)
        ptx_instruction_registers(&function->instructions[i], count_write, constants);
    for (uint32_t i = 0; i < function->instruction_count; i++) {
        const struct ptx_instruction *instruction = &function->instructions[i];
        const struct ptx_operand *to = instruction->operands;
        if (instruction->operand_count != 2 || to->kind != PTX_OPERAND_REGISTER || instruction->guard != PTX_NONE ||
            constants->writes[to->index] != 1)
            continue;
        bool copies = instruction->opcode == PTX_OP_MOV || instruction->opcode == PTX_OP_CVTA;
        bool parameter = instruction->opcode == PTX_OP_LD && instruction->space == PTX_SPACE_PARAM &&
                         function->is_entry && to[1].kind == PTX_OPERAND_ADDRESS_VARIABLE;
        constants->is_constant[to->index] = parameter || (copies && is_constant_operand(constants, &to[1]));
    }
}

struct summary {
    const struct ptx_function *function;
    const bool *is_constant; /* per register */
    struct ptx_interval *intervals;
    /* Per point behind an instruction: registers that begin to live minus those that end; of all, and without constants. */
    int64_t *change, *kept_change;
    bool reads_unwritten;
};

static void add_range(void *user, const struct ptx_live_range *range)
{
    struct summary *summary = user;
    uint32_t r = range->register_index, first = range->first, last = range->last;
    struct ptx_interval *interval = &summary->intervals[r];
    if (interval->first == PTX_NONE) {
        *interval = (struct ptx_interval){first, last};
    } else {
        interval->first = first < interval->first ? first : interval->first;
        interval->last = last > interval->last ? last : interval->last;
    }
    summary->reads_unwritten |= range->enters && first == 0;
    enum ptx_type type = (enum ptx_type)summary->function->registers[r].type;
    if (type == PTX_TYPE_PRED)
        return;
    int64_t weight = ptx_types[type].bits == 64 ? 2 : 1;
    uint32_t end = last + range->stays; /* the point behind `last` belongs to it only if the value stays */
    if (end == first && !range->enters)
        end = first + 1; /* a dead definition still takes a register */
    summary->change[first] += weight;
    summary->change[end] -= weight;
    if (summary->is_constant[r])
        return;
    summary->kept_change[first] += weight;
    summary->kept_change[end] -= weight;
}

static uint32_t highest(const int64_t *change, size_t count)
{
    int64_t now = 0, most = 0;
    for (size_t i = 0; i < count; i++) {
        now += change[i];
        most = now > most ? now : most;
    }
    return (uint32_t)most;
}

static void cover_parameters(const struct ptx_function *function, struct ptx_interval *intervals,
                             const struct ptx_variable *const *list, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (list[i]->space == PTX_SUFFIX_NONE && list[i]->parameter_register < function->register_count)
            intervals[list[i]->parameter_register] = (struct ptx_interval){0, function->instruction_count};
}

enum corun_status ptx_liveness_create(const struct ptx_function *function, const struct ptx_control_flow *flow,
                                      struct arena *arena, struct ptx_liveness *liveness)
{
    size_t points = (size_t)function->instruction_count + 2;
    size_t registers = (size_t)function->register_count + 1;
    struct constants constants = {function, calloc(registers, 1), ARENA_ARRAY(arena, bool, registers)};
    struct summary summary = {.function = function, .is_constant = constants.is_constant};
    summary.intervals = ARENA_ARRAY(arena, struct ptx_interval, (size_t)function->register_count + 1);
    summary.change = calloc(points, sizeof *summary.change);
    summary.kept_change = calloc(points, sizeof *summary.kept_change);
    enum corun_status status = CORUN_MEMORY;
    if (summary.intervals && summary.change && summary.kept_change && constants.writes && constants.is_constant) {
        find_constants(&constants);
        for (uint32_t r = 0; r < function->register_count; r++)
            summary.intervals[r].first = PTX_NONE;
        status = ptx_liveness_ranges(function, flow, add_range, &summary);
        cover_parameters(function, summary.intervals, function->signature.returns, function->signature.return_count);
        cover_parameters(function, summary.intervals, function->signature.parameters,
                         function->signature.parameter_count);
        *liveness =
            (struct ptx_liveness){summary.intervals, highest(summary.change, points),
                                  highest(summary.kept_change, points), constants.is_constant, summary.reads_unwritten};
    }
    free(summary.change);
    free(summary.kept_change);
    free(constants.writes);
    return status;
}
