/* SPDX-License-Identifier: MIT */
/*
 * Loops of one block that count: all turns, where a constant says how many and they are no long code; else four turns at a time, and what is left one by one.
 *
 *     L: body; i += c; p = i < n; @p bra L;          go = i < n - 3c;  @!go bra R;
 *                                                 U: body; i += c; body; i += c; body; i += c; body; i += c; p = i < n;
 *                                                    go = i < n - 3c;  @go bra U;  @p bra R;  bra E;
 *                                                 R: body; i += c; p = i < n; @p bra R;
 *                                                 E:
 *
 * What ptxas 13.0 for sm_90 unrolls is the rule here, too: the step is a constant, the bound stays, no barrier, call or exchange among lanes is
 * inside, no .pragma "nounroll" stands at the label, and the body is short (is_short). Registers that hold nothing from one turn to
 * the next have a name of their own in each, so that loads of several turns can be under way together.
 */
#include "assemble/code.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TURNS = 4, MOST_ADDED = 8 };
/* Instructions of a loop that is written whole, at most, by the length of a turn. */
enum { WHOLE_SHORT = 512, WHOLE_LONG = 320, SHORT_TURN = 32 };
enum { MOST_PLAIN = 21, MOST_WITH_SHARED = 22, MORE_FOR_SHARED = 4, MOST_WITH_LOADS = 50 };
#define LARGEST_STEP (INT64_C(1) << 20)

struct counting_loop {
    uint32_t first, branch; /* of the block: its first instruction and the branch back to that */
    uint32_t label, step, test;
    uint32_t counter;
    uint8_t relation; /* enum ptx_suffix: between counter and bound, for another turn: NE, LT, LE, GT or GE */
    uint8_t type;     /* of the comparison */
    int64_t change;   /* of the counter in a turn */
    struct ptx_operand bound;
    uint32_t turns; /* that are written one behind the other */
    bool whole;     /* these are all that there ever are */
};

struct accesses {
    uint32_t register_index, reads, writes, write;
    uint32_t instruction;
};

static void note(void *user, uint32_t register_index, enum ptx_access access)
{
    struct accesses *accesses = user;
    if (register_index != accesses->register_index)
        return;
    if (access == PTX_READ) {
        accesses->reads++;
    } else {
        accesses->writes++;
        accesses->write = accesses->instruction;
    }
}

static struct accesses accesses_of(const struct code *code, const struct counting_loop *loop, uint32_t register_index)
{
    struct accesses accesses = {register_index, 0, 0, PTX_NONE, loop->first};
    for (; accesses.instruction <= loop->branch; accesses.instruction++)
        ptx_instruction_registers(&code->instructions[accesses.instruction], note, &accesses);
    return accesses;
}

/* counter = counter + constant, always. */
static bool is_step(const struct ptx_instruction *step, uint32_t counter, uint32_t bits, int64_t *change)
{
    bool add = step->opcode == PTX_OP_ADD;
    if ((!add && step->opcode != PTX_OP_SUB) || !ptx_type_is_integer(step->types[0]) ||
        ptx_types[step->types[0]].bits != bits || step->guard != PTX_NONE || step->carry || step->sat ||
        step->carry_flag != PTX_NONE)
        return false;
    const struct ptx_operand *from = &step->operands[1], *by = &step->operands[2];
    if (from->kind != PTX_OPERAND_REGISTER || from->index != counter || by->kind != PTX_OPERAND_INTEGER)
        return false;
    *change = bits == 32 ? (int32_t)by->bits : (int64_t)by->bits;
    if (*change == 0 || *change > LARGEST_STEP || *change < -LARGEST_STEP)
        return false;
    *change = add ? *change : -*change;
    return true;
}

static uint8_t opposite(uint8_t relation)
{
    switch (relation) {
    case PTX_COMPARISON_EQ:
        return PTX_COMPARISON_NE;
    case PTX_COMPARISON_NE:
        return PTX_COMPARISON_EQ;
    case PTX_COMPARISON_LT:
        return PTX_COMPARISON_GE;
    case PTX_COMPARISON_LE:
        return PTX_COMPARISON_GT;
    case PTX_COMPARISON_GT:
        return PTX_COMPARISON_LE;
    case PTX_COMPARISON_GE:
        return PTX_COMPARISON_LT;
    default:
        return PTX_SUFFIX_NONE;
    }
}

/* Does the counter go towards the bound? */
static bool approaches(const struct counting_loop *loop)
{
    switch (loop->relation) {
    case PTX_COMPARISON_NE: /* whether it meets the bound or goes past: see write_test */
        return true;
    case PTX_COMPARISON_LT:
    case PTX_COMPARISON_LE:
        return loop->change > 0 && ptx_type_is_integer(loop->type);
    case PTX_COMPARISON_GT:
    case PTX_COMPARISON_GE:
        return loop->change < 0 && ptx_type_is_integer(loop->type);
    default:
        return false;
    }
}

/* The comparison that the branch stands on, the counter in it and its step. */
static bool find_counter(const struct code *code, struct counting_loop *loop)
{
    const struct ptx_instruction *branch = &code->instructions[loop->branch];
    struct accesses predicate = accesses_of(code, loop, branch->guard);
    if (predicate.writes != 1 || predicate.reads != 1)
        return false;
    loop->test = predicate.write;
    const struct ptx_instruction *test = &code->instructions[loop->test];
    uint32_t bits = ptx_types[test->types[0]].bits;
    if (test->opcode != PTX_OP_SETP || test->guard != PTX_NONE || test->boolean || test->operand_count != 3 ||
        test->pair.kind != PTX_OPERAND_NONE || (bits != 32 && bits != 64) || ptx_type_is_float(test->types[0]) ||
        ptx_type_is_half(test->types[0]) || test->operands[1].kind != PTX_OPERAND_REGISTER)
        return false;
    loop->type = test->types[0];
    loop->relation = branch->guard_negated ? opposite(test->comparison) : test->comparison;
    loop->counter = test->operands[1].index;
    loop->bound = test->operands[2];
    struct accesses counter = accesses_of(code, loop, loop->counter);
    if (counter.writes != 1 || counter.write >= loop->test || code_bits(code, loop->counter) != bits)
        return false;
    loop->step = counter.write;
    if (loop->bound.kind == PTX_OPERAND_REGISTER) {
        if (loop->bound.index == loop->counter || code_bits(code, loop->bound.index) != bits ||
            accesses_of(code, loop, loop->bound.index).writes)
            return false;
    } else if (loop->bound.kind != PTX_OPERAND_INTEGER) {
        return false;
    }
    return is_step(&code->instructions[loop->step], loop->counter, bits, &loop->change) && approaches(loop);
}

/* Nothing in it orders memory or exchanges values. */
static bool may_repeat(const struct code *code, const struct counting_loop *loop)
{
    for (uint32_t i = loop->first; i < loop->branch; i++) {
        const struct ptx_instruction *instruction = &code->instructions[i];
        enum effect effect = code_effect(instruction);
        if (instruction->opcode == PTX_OP_NONE ||
            (effect != EFFECT_NONE && effect != EFFECT_LOAD && effect != EFFECT_CONSTANT && effect != EFFECT_STORE))
            return false;
    }
    return true;
}

/* As long as what ptxas unrolls by four: tried with bodies of growing length, with loads of global memory, of shared memory, and without. */
static bool is_short(const struct code *code, const struct counting_loop *loop)
{
    uint32_t length = loop->branch - loop->first + 1, loads = 0, shared = 0;
    for (uint32_t i = loop->first; i < loop->branch; i++) {
        const struct ptx_instruction *instruction = &code->instructions[i];
        enum effect effect = code_effect(instruction);
        bool load = effect == EFFECT_LOAD || effect == EFFECT_CONSTANT;
        loads += load && (instruction->space == PTX_SPACE_GLOBAL || instruction->space == PTX_SUFFIX_NONE);
        shared += load && instruction->space == PTX_SPACE_SHARED;
    }
    if (loads)
        return length + loads <= MOST_WITH_LOADS;
    return length <= (shared ? MOST_WITH_SHARED + MORE_FOR_SHARED * shared : MOST_PLAIN);
}

/* The constant that the counter has when the loop is reached; false: not known. */
static bool find_beginning(const struct code *code, const struct counting_loop *loop, int64_t *value)
{
    uint32_t block = code->flow.block_of[loop->first];
    for (uint32_t steps = 0; steps < code->flow.block_count; steps++) {
        const struct ptx_block *here = &code->flow.blocks[block];
        uint32_t before = PTX_EXIT;
        for (uint32_t i = 0; i < here->predecessor_count; i++) {
            if (here->predecessors[i] == block)
                continue; /* the loop itself */
            if (before != PTX_EXIT)
                return false;
            before = here->predecessors[i];
        }
        if (before == PTX_EXIT || before == code->flow.block_of[loop->first])
            return false;
        for (uint32_t i = code->flow.blocks[before].end; i-- > code->flow.blocks[before].first;) {
            struct accesses counter = {loop->counter, 0, 0, PTX_NONE, i};
            const struct ptx_instruction *instruction = &code->instructions[i];
            ptx_instruction_registers(instruction, note, &counter);
            if (!counter.writes)
                continue;
            const struct ptx_operand *from = &instruction->operands[1];
            *value = ptx_types[loop->type].bits == 32 ? (int32_t)from->bits : (int64_t)from->bits;
            return instruction->opcode == PTX_OP_MOV && instruction->guard == PTX_NONE &&
                   instruction->operands[0].kind == PTX_OPERAND_REGISTER && from->kind == PTX_OPERAND_INTEGER;
        }
        block = before;
    }
    return false;
}

static bool goes_on(const struct counting_loop *loop, int64_t counter, int64_t bound)
{
    switch (loop->relation) {
    case PTX_COMPARISON_NE:
        return counter != bound;
    case PTX_COMPARISON_LT:
        return counter < bound;
    case PTX_COMPARISON_LE:
        return counter <= bound;
    case PTX_COMPARISON_GT:
        return counter > bound;
    default:
        return counter >= bound;
    }
}

/*
 * Turns of a loop of 32 bits whose beginning and end are constants, if ptxas writes all of them: what it unrolls whole was longer in every trial, up to
 * 2048 instructions in short turns without loads.
 */
static bool find_turns(const struct code *code, struct counting_loop *loop)
{
    int64_t counter, bound = (int64_t)loop->bound.bits;
    uint32_t turn = loop->branch - loop->first - 1, most = turn <= SHORT_TURN ? WHOLE_SHORT : WHOLE_LONG;
    if (ptx_types[loop->type].bits != 32 || loop->bound.kind != PTX_OPERAND_INTEGER ||
        !find_beginning(code, loop, &counter))
        return false;
    bool with_sign = ptx_type_is_signed(loop->type);
    counter = with_sign ? counter : (int64_t)(uint32_t)counter;
    bound = with_sign ? (int32_t)bound : (int64_t)(uint32_t)bound;
    for (loop->turns = 1; loop->turns * turn <= most; loop->turns++) {
        counter += loop->change;
        if (counter != (with_sign ? (int64_t)(int32_t)counter : (int64_t)(uint32_t)counter))
            return false; /* wraps */
        if (!goes_on(loop, counter, bound))
            return true;
    }
    return false;
}

static bool find_loop(const struct code *code, const struct ptx_block *block, struct counting_loop *loop)
{
    *loop = (struct counting_loop){.first = block->first, .branch = block->end - 1};
    const struct ptx_instruction *branch = &code->instructions[loop->branch];
    if (branch->opcode != PTX_OP_BRA || branch->guard == PTX_NONE || branch->operand_count != 1 ||
        branch->operands[0].kind != PTX_OPERAND_LABEL || block->end >= code->function.instruction_count)
        return false;
    loop->label = branch->operands[0].index;
    if (code->labels[loop->label].instruction != block->first || code->labels[loop->label].nounroll ||
        !may_repeat(code, loop) || !find_counter(code, loop))
        return false;
    loop->whole = find_turns(code, loop);
    loop->turns = loop->whole ? loop->turns : TURNS;
    return loop->whole || is_short(code, loop);
}

/*
 * A register that accesses of memory have their address from, and that grows by a constant in each turn: of the turns behind the first one, the
 * offsets of the accesses say so. `leads`: it is the one that grows, at `write`; else it is the sum of that one, `of`, and something that stays.
 */
struct growing {
    bool known, leads;
    uint32_t write, of;
    int64_t change; /* of one that leads */
};

/* What is written: instructions, labels and registers of the function with the loop unrolled. */
struct unrolling {
    struct code *code;
    const struct counting_loop *loop;
    struct growing *growing; /* per register of before */
    int32_t stands_for;      /* instructions of the text that are left out of the turns */
    struct ptx_instruction *instructions;
    struct ptx_label *labels;
    struct ptx_register *registers;
    uint32_t *renamed;     /* per register of before: its name in the turn that is written */
    uint32_t *first_names; /* and in the first turn */
    bool *seen;            /* per register of before: the turn has read or written it */
    uint32_t *reads;       /* per register of before: by what is copied */
    uint32_t count, label_count, register_count;
    uint32_t last_step; /* the newest copy of the counter's step */
    bool failed;
};

static uint32_t new_register(struct unrolling *u, uint8_t type)
{
    u->registers[u->register_count] = (struct ptx_register){"%turn", type};
    return u->register_count++;
}

static uint32_t new_label(struct unrolling *u, const char *name)
{
    char text[32];
    snprintf(text, sizeof text, "%s_%u", name, u->label_count);
    char *kept = arena_copy_text(u->code->arena, text, strlen(text));
    u->failed |= !kept;
    u->labels[u->label_count] = (struct ptx_label){.name = kept, .nounroll = true};
    return u->label_count++;
}

static struct ptx_instruction *add(struct unrolling *u, uint32_t opcode, uint8_t type, uint32_t operand_count)
{
    struct ptx_operand *operands = ARENA_ARRAY(u->code->arena, struct ptx_operand, operand_count + 1);
    struct ptx_instruction *instruction = &u->instructions[u->count++];
    u->failed |= !operands;
    *instruction = (struct ptx_instruction){.opcode = (uint16_t)opcode,
                                            .type_count = type != 0,
                                            .types = {type},
                                            .operand_count = (uint8_t)operand_count,
                                            .merged = -1, /* of no instruction of the text */
                                            .guard = PTX_NONE,
                                            .carry_flag = PTX_NONE,
                                            .operands = operands,
                                            .place = u->code->instructions[u->loop->branch].place};
    return operands ? instruction : NULL;
}

static struct ptx_operand register_operand(uint32_t index)
{
    return (struct ptx_operand){.kind = PTX_OPERAND_REGISTER, .index = index};
}

static struct ptx_operand number_operand(int64_t value, uint32_t bits)
{
    struct ptx_operand operand = {.kind = PTX_OPERAND_INTEGER};
    operand.bits = bits == 32 ? (uint32_t)value : (uint64_t)value;
    return operand;
}

static void add_three(struct unrolling *u, uint32_t opcode, uint8_t type, uint8_t relation, struct ptx_operand to,
                      struct ptx_operand left, struct ptx_operand right)
{
    struct ptx_instruction *instruction = add(u, opcode, type, 3);
    if (!instruction)
        return;
    struct ptx_operand *operands = code_operands(instruction);
    operands[0] = to;
    operands[1] = left;
    operands[2] = right;
    instruction->comparison = relation;
}

static void add_branch(struct unrolling *u, uint32_t label, uint32_t predicate, bool negated)
{
    struct ptx_instruction *instruction = add(u, PTX_OP_BRA, 0, 1);
    if (!instruction)
        return;
    code_operands(instruction)[0] = (struct ptx_operand){.kind = PTX_OPERAND_LABEL, .index = label};
    instruction->guard = predicate;
    instruction->guard_negated = negated;
}

/* What is compared with the counter: before the loop, once. */
struct ahead {
    struct ptx_operand limit;
    uint32_t within; /* predicate: the limit did not wrap; PTX_NONE: it is known not to */
    uint32_t go;
};

static bool is_signed(uint8_t type)
{
    return ptx_type_is_signed(type);
}

/* bound - 3 * change of a constant bound; false if that wraps. */
static bool constant_limit(const struct counting_loop *loop, uint32_t bits, struct ptx_operand *limit)
{
    int64_t by = (TURNS - 1) * loop->change;
    if (bits == 64)
        return false;
    int64_t bound = is_signed(loop->type) ? (int32_t)loop->bound.bits : (int64_t)(uint32_t)loop->bound.bits;
    int64_t value = bound - by, least = is_signed(loop->type) ? INT32_MIN : 0;
    int64_t most = is_signed(loop->type) ? INT32_MAX : (int64_t)UINT32_MAX;
    *limit = number_operand(value, bits);
    return value >= least && value <= most;
}

static bool write_limit(struct unrolling *u, struct ahead *ahead)
{
    const struct counting_loop *loop = u->loop;
    uint32_t bits = ptx_types[loop->type].bits;
    ahead->within = PTX_NONE;
    ahead->go = new_register(u, PTX_TYPE_PRED);
    if (loop->relation == PTX_COMPARISON_NE)
        return true;
    if (loop->bound.kind == PTX_OPERAND_INTEGER)
        return constant_limit(loop, bits, &ahead->limit);
    ahead->limit = register_operand(new_register(u, u->registers[loop->counter].type));
    ahead->within = new_register(u, PTX_TYPE_PRED);
    add_three(u, PTX_OP_SUB, loop->type, 0, ahead->limit, loop->bound,
              number_operand((TURNS - 1) * loop->change, bits));
    add_three(u, PTX_OP_SETP, loop->type, loop->change > 0 ? PTX_COMPARISON_LT : PTX_COMPARISON_GT,
              register_operand(ahead->within), ahead->limit, loop->bound);
    return true;
}

/*
 * go: at least four more turns. Towards an equal bound that is the distance, without a sign: more than three steps of it, and the bound is
 * neither met nor passed in the next three turns, whether or not the steps divide it.
 */
static void write_test(struct unrolling *u, const struct ahead *ahead)
{
    const struct counting_loop *loop = u->loop;
    struct ptx_operand go = register_operand(ahead->go), counter = register_operand(loop->counter);
    uint32_t bits = ptx_types[loop->type].bits;
    if (loop->relation == PTX_COMPARISON_NE) {
        uint8_t type = bits == 32 ? PTX_TYPE_U32 : PTX_TYPE_U64;
        struct ptx_operand left = counter;
        if (loop->change > 0 || loop->bound.kind != PTX_OPERAND_INTEGER || loop->bound.bits) {
            left = register_operand(new_register(u, u->registers[loop->counter].type));
            add_three(u, PTX_OP_SUB, type, 0, left, loop->change > 0 ? loop->bound : counter,
                      loop->change > 0 ? counter : loop->bound);
        }
        int64_t step = loop->change > 0 ? loop->change : -loop->change;
        add_three(u, PTX_OP_SETP, type, PTX_COMPARISON_GT, go, left, number_operand((TURNS - 1) * step, bits));
        return;
    }
    add_three(u, PTX_OP_SETP, loop->type, loop->relation, go, counter, ahead->limit);
    if (ahead->within == PTX_NONE || u->failed)
        return;
    struct ptx_instruction *test = &u->instructions[u->count - 1];
    test->boolean = PTX_BOOLEAN_AND;
    test->operand_count = 4;
    code_operands(test)[3] = register_operand(ahead->within);
}

static void rename_operand(const struct unrolling *u, struct ptx_operand *operand)
{
    if (operand->kind == PTX_OPERAND_REGISTER || operand->kind == PTX_OPERAND_ADDRESS)
        operand->index = u->renamed[operand->index];
    for (uint32_t i = 0;
         (operand->kind == PTX_OPERAND_VECTOR || operand->kind == PTX_OPERAND_TEXEL) && i < operand->element_count; i++)
        rename_operand(u, (struct ptx_operand *)(uintptr_t)&operand->elements[i]);
}

static void copy_instruction(struct unrolling *u, uint32_t index)
{
    struct ptx_instruction *copy = &u->instructions[u->count++];
    *copy = u->code->instructions[index];
    copy->operands = code_copy_operands(u->code->arena, copy->operands, copy->operand_count);
    u->failed |= !copy->operands;
    for (uint32_t i = 0; copy->operands && i < copy->operand_count; i++)
        rename_operand(u, &code_operands(copy)[i]);
    rename_operand(u, &copy->pair);
    if (copy->guard != PTX_NONE)
        copy->guard = u->renamed[copy->guard];
    if (copy->carry_flag != PTX_NONE)
        copy->carry_flag = u->renamed[copy->carry_flag];
}

static void count_read(void *user, uint32_t register_index, enum ptx_access access)
{
    struct unrolling *u = user;
    u->reads[register_index] += access == PTX_READ;
}

static void count_reads(struct unrolling *u)
{
    for (uint32_t i = u->loop->first; i < u->loop->branch; i++)
        ptx_instruction_registers(&u->code->instructions[i], count_read, u);
}

struct renamer {
    struct unrolling *unrolling;
    bool guarded, last;
};

/* A register that the loop writes before it reads it has another name in each turn; the last one leaves the value to who reads it elsewhere. */
static void rename_written(void *user, uint32_t register_index, enum ptx_access access)
{
    struct renamer *renamer = user;
    struct unrolling *u = renamer->unrolling;
    bool inside = u->reads[register_index] == u->code->definitions[register_index].reads;
    if (!u->seen[register_index] && access == PTX_WRITE && !renamer->guarded && (inside || !renamer->last))
        u->renamed[register_index] = new_register(u, u->registers[register_index].type);
    u->seen[register_index] = true;
}

static void name_registers(struct unrolling *u, bool last)
{
    const struct counting_loop *loop = u->loop;
    struct renamer renamer = {u, false, last};
    for (uint32_t i = loop->first; i < loop->branch; i++) {
        const struct ptx_instruction *instruction = &u->code->instructions[i];
        renamer.guarded = instruction->guard != PTX_NONE;
        ptx_instruction_registers(instruction, rename_written, &renamer);
    }
}

/* Does the operand take an offset, whatever it is? As in addresses.c: addresses of 32 bits wrap unless they are of shared or local memory. */
static bool takes_offset(const struct ptx_instruction *access, const struct ptx_operand *operand, uint32_t bits,
                         int64_t change, uint32_t turns)
{
    bool plain = access->opcode == PTX_OP_LD || access->opcode == PTX_OP_ST || access->opcode == PTX_OP_ATOM ||
                 access->opcode == PTX_OP_RED;
    bool narrow = access->space == PTX_SPACE_SHARED || access->space == PTX_SPACE_LOCAL;
    int64_t most = CODE_MOST_OFFSET - (int64_t)turns * (change < 0 ? -change : change);
    return plain && operand->kind == PTX_OPERAND_ADDRESS && operand->offset < most && operand->offset > -most &&
           (bits == 64 || (narrow && change > 0));
}

/* Reads of a register in the loop by accesses that take offsets. */
static uint32_t address_reads(const struct code *code, const struct counting_loop *loop, uint32_t index, int64_t change)
{
    uint32_t reads = 0;
    for (uint32_t i = loop->first; i < loop->branch; i++) {
        const struct ptx_instruction *access = &code->instructions[i];
        for (uint32_t k = 0; k < access->operand_count; k++)
            reads += access->operands[k].index == index &&
                     takes_offset(access, &access->operands[k], code_bits(code, index), change, loop->turns);
    }
    return reads;
}

/* Reads of a register that leads by sums that only accesses have their address from; these are noted. */
static uint32_t note_sums(struct unrolling *u, uint32_t leader)
{
    const struct counting_loop *loop = u->loop;
    uint32_t reads = 0;
    for (uint32_t i = loop->first; i < loop->branch; i++) {
        const struct ptx_instruction *sum = &u->code->instructions[i];
        uint32_t bits = code_bits(u->code, leader);
        if (sum->opcode != PTX_OP_ADD || sum->guard != PTX_NONE || sum->operand_count != 3 || sum->carry || sum->sat ||
            sum->carry_flag != PTX_NONE || !ptx_type_is_integer(sum->types[0]) || ptx_types[sum->types[0]].bits != bits)
            continue;
        const struct ptx_operand *to = &sum->operands[0], *left = &sum->operands[1], *right = &sum->operands[2];
        if (left->kind != PTX_OPERAND_REGISTER || right->kind != PTX_OPERAND_REGISTER || to->index == leader ||
            (left->index == leader) == (right->index == leader) ||
            accesses_of(u->code, loop, left->index == leader ? right->index : left->index).writes)
            continue;
        struct accesses written = accesses_of(u->code, loop, to->index);
        if (written.writes != 1 || !written.reads || u->code->definitions[to->index].instruction != i ||
            u->code->definitions[to->index].reads != written.reads ||
            address_reads(u->code, loop, to->index, u->growing[leader].change) != written.reads)
            continue;
        u->growing[to->index] = (struct growing){true, false, i, leader, 0};
        reads++;
    }
    return reads;
}

static void find_growing(struct unrolling *u)
{
    const struct counting_loop *loop = u->loop;
    for (uint32_t i = loop->first; i < loop->branch; i++) {
        const struct ptx_instruction *step = &u->code->instructions[i];
        if ((step->opcode != PTX_OP_ADD && step->opcode != PTX_OP_SUB) || step->operand_count != 3)
            continue;
        uint32_t index = step->operands[0].index;
        struct growing growing = {true, true, i, index, 0};
        if (!is_step(step, index, code_bits(u->code, index), &growing.change) ||
            accesses_of(u->code, loop, index).writes != 1)
            continue;
        u->growing[index] = growing;
        uint32_t others = index == loop->counter; /* the test */
        others += address_reads(u->code, loop, index, growing.change) + note_sums(u, index);
        u->growing[index].known = accesses_of(u->code, loop, index).reads == 1 + others;
    }
}

/* What an address has to have added in a turn, while the registers that lead grow in the last one alone. */
static int64_t grown(const struct unrolling *u, const struct growing *growing, uint32_t turn, uint32_t index)
{
    const struct growing *leader = &u->growing[growing->of];
    bool behind = (growing->leads ? index : growing->write) > leader->write;
    return growing->leads && behind && turn == u->loop->turns - 1 ? 0 : leader->change * (turn + behind);
}

static const struct growing *growing_of(const struct unrolling *u, uint32_t index)
{
    const struct growing *growing = &u->growing[index];
    return growing->known && u->growing[growing->of].known ? growing : NULL;
}

/* true: the turn has it no more. In the last turn, what leads grows by all of them. */
static bool leave_out(struct unrolling *u, uint32_t turn, uint32_t index)
{
    const struct ptx_instruction *instruction = &u->code->instructions[index];
    const struct growing *growing = NULL;
    if (code_writes_first(instruction) && instruction->operands[0].kind == PTX_OPERAND_REGISTER)
        growing = growing_of(u, instruction->operands[0].index);
    if (!growing || growing->write != index || (growing->leads ? turn == u->loop->turns - 1 : turn == 0))
        return false;
    u->stands_for += instruction->merged + 1;
    return true;
}

/* The copy at the end of what is written: its addresses, and its step if it is one of a register that leads. */
static void grow(struct unrolling *u, uint32_t turn, uint32_t index)
{
    const struct ptx_instruction *original = &u->code->instructions[index];
    struct ptx_instruction *copy = &u->instructions[u->count - 1];
    for (uint32_t k = 0; k < copy->operand_count && !u->failed; k++) {
        const struct ptx_operand *operand = &original->operands[k];
        const struct growing *growing =
            operand->kind == PTX_OPERAND_ADDRESS || (k == 0 && operand->kind == PTX_OPERAND_REGISTER)
                ? growing_of(u, operand->index)
                : NULL;
        if (growing && operand->kind == PTX_OPERAND_ADDRESS) {
            code_operands(copy)[k].offset += grown(u, growing, turn, index);
        } else if (growing && growing->leads && growing->write == index) {
            uint64_t *by = &code_operands(copy)[2].bits;
            *by = (uint64_t)(code_bits(u->code, operand->index) == 32 ? (int32_t)*by : (int64_t)*by) * u->loop->turns;
        }
    }
}

static void write_turns(struct unrolling *u)
{
    const struct counting_loop *loop = u->loop;
    const struct ptx_instruction *code = u->code->instructions;
    uint32_t before = u->code->function.register_count;
    for (uint32_t turn = 0; turn < loop->turns; turn++) {
        bool last = turn == loop->turns - 1;
        for (uint32_t i = 0; i < before; i++)
            u->renamed[i] = i;
        memset(u->seen, 0, before * sizeof *u->seen);
        name_registers(u, last);
        for (uint32_t i = 0; i < before; i++)
            if (turn == 0 || !growing_of(u, i) || u->growing[i].leads)
                u->first_names[i] = u->renamed[i];
            else
                u->renamed[i] = u->first_names[i];
        for (uint32_t i = loop->first; i < loop->branch; i++) {
            if (i == loop->test && (loop->whole || !last)) {
                u->stands_for += code[i].merged + 1;
                u->stands_for += last ? 0 : code[loop->branch].merged + 1; /* nobody jumps in the end */
            } else if (!leave_out(u, turn, i)) {
                u->last_step = i == loop->step ? u->count : u->last_step;
                copy_instruction(u, i);
                grow(u, turn, i);
            }
        }
    }
}

/* Labels behind the loop follow what stood there, which is now at new_end. */
static void move_labels(struct unrolling *u, uint32_t new_end)
{
    uint32_t old_end = u->loop->branch + 1;
    for (uint32_t i = 0; i < u->code->function.label_count; i++)
        if (u->labels[i].instruction >= old_end)
            u->labels[i].instruction += new_end - old_end;
}

/* All turns, and no test: what is left out is counted in the step of the last one, which all lanes take. */
static void write_whole(struct unrolling *u)
{
    const struct counting_loop *loop = u->loop;
    uint32_t old_end = loop->branch + 1;
    memcpy(u->instructions, u->code->instructions, loop->first * sizeof *u->instructions);
    u->count = loop->first;
    find_growing(u);
    count_reads(u);
    write_turns(u);
    u->failed |= u->stands_for > INT16_MAX / 2;
    if (u->failed)
        return;
    u->instructions[u->last_step].merged += (int16_t)u->stands_for;
    move_labels(u, u->count);
    memcpy(u->instructions + u->count, u->code->instructions + old_end,
           (u->code->function.instruction_count - old_end) * sizeof *u->instructions);
    u->count += u->code->function.instruction_count - old_end;
}

static void write_function(struct unrolling *u)
{
    const struct counting_loop *loop = u->loop;
    const struct ptx_instruction *branch = &u->code->instructions[loop->branch];
    struct ahead ahead;
    memcpy(u->instructions, u->code->instructions, loop->first * sizeof *u->instructions);
    u->count = loop->first;
    uint32_t four = new_label(u, "turns"), one = new_label(u, "rest"), end = new_label(u, "after");
    if (!write_limit(u, &ahead)) {
        u->failed = true;
        return;
    }
    write_test(u, &ahead);
    add_branch(u, one, ahead.go, true);
    u->labels[four].instruction = u->count;
    find_growing(u);
    count_reads(u);
    write_turns(u);
    write_test(u, &ahead);
    u->instructions[u->count - 1].merged += (int16_t)u->stands_for; /* runs for all lanes that came to the turns */
    u->failed |= u->stands_for > INT16_MAX / 2;
    add_branch(u, four, ahead.go, false);
    u->instructions[u->count - 1].merged = branch->merged;
    add_branch(u, one, branch->guard, branch->guard_negated);
    u->instructions[u->count - 1].merged = branch->merged;
    add_branch(u, end, PTX_NONE, false);
    uint32_t rest = u->labels[one].instruction = u->count;
    memcpy(u->instructions + rest, u->code->instructions + loop->first,
           (u->code->function.instruction_count - loop->first) * sizeof *u->instructions);
    u->count += u->code->function.instruction_count - loop->first;
    u->labels[end].instruction = rest + loop->branch + 1 - loop->first;
    code_operands(&u->instructions[rest + loop->branch - loop->first])[0].index = one;
    move_labels(u, u->labels[end].instruction);
}

static void count_write(void *user, uint32_t register_index, enum ptx_access access)
{
    uint32_t *writes = user;
    (void)register_index;
    *writes += access == PTX_WRITE;
}

/* Registers that a turn of the loop writes, at most: each may get a new name in each turn. */
static uint32_t most_written(const struct code *code, const struct counting_loop *loop)
{
    uint32_t writes = 0;
    for (uint32_t i = loop->first; i < loop->branch; i++)
        ptx_instruction_registers(&code->instructions[i], count_write, &writes);
    return writes;
}

static bool unroll(struct code *code, const struct counting_loop *loop)
{
    uint32_t length = loop->branch - loop->first + 1, registers = code->function.register_count;
    uint32_t most = code->function.instruction_count + loop->turns * length + 2 * MOST_ADDED;
    uint32_t most_registers = registers + loop->turns * most_written(code, loop) + MOST_ADDED;
    struct unrolling u = {
        .code = code, .loop = loop, .label_count = code->function.label_count, .register_count = registers};
    u.seen = calloc(registers + 1, sizeof *u.seen);
    u.renamed = calloc(3 * ((size_t)registers + 1), sizeof *u.renamed);
    u.growing = calloc(registers + 1, sizeof *u.growing);
    u.instructions = ARENA_ARRAY(code->arena, struct ptx_instruction, most);
    u.labels = ARENA_ARRAY(code->arena, struct ptx_label, u.label_count + 4);
    u.registers = ARENA_ARRAY(code->arena, struct ptx_register, most_registers);
    struct definition *definitions = ARENA_ARRAY(code->arena, struct definition, most_registers + 1);
    bool done = u.seen && u.renamed && u.growing && u.instructions && u.labels && u.registers && definitions;
    if (done) {
        u.first_names = u.renamed + registers + 1;
        u.reads = u.first_names + registers + 1;
        memcpy(u.labels, code->labels, u.label_count * sizeof *u.labels);
        memcpy(u.registers, code->function.registers, registers * sizeof *u.registers);
        struct ptx_operand back = code->instructions[loop->branch].operands[0];
        if (loop->whole)
            write_whole(&u);
        else
            write_function(&u);
        done = !u.failed;
        if (!done) /* the branch back is shared */
            code_operands(&code->instructions[loop->branch])[0] = back;
    }
    if (done) {
        code->instructions = u.instructions;
        code->labels = u.labels;
        code->definitions = definitions;
        code->function.instructions = u.instructions;
        code->function.instruction_count = u.count;
        code->function.labels = u.labels;
        code->function.label_count = u.label_count;
        code->function.registers = u.registers;
        code->function.register_count = u.register_count;
        code->changed = true;
    }
    free(u.seen);
    free(u.renamed);
    free(u.growing);
    return done;
}

void code_unroll(struct code *code)
{
    for (uint32_t i = 0; i < code->function.pragma_count; i++)
        if (!strcmp(code->function.pragmas[i], "nounroll"))
            return;
    for (uint32_t i = 0; i < code->flow.block_count; i++) {
        struct counting_loop loop;
        if (!find_loop(code, &code->flow.blocks[i], &loop) || !unroll(code, &loop))
            continue;
        if (code_refresh(code) != CORUN_OK) {
            code->changed = true; /* whoever asks for it next is told */
            return;
        }
    }
}
