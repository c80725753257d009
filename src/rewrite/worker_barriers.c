/* SPDX-License-Identifier: MIT */
/* Barriers that wait for all threads of a thread block, those that have ended included. */
#include "rewrite/worker_barriers.h"

#include "rewrite/code.h"

#define BARRIER_NUMBERS 16u

/* A barrier, and where its number and the count of its threads are. */
struct barrier_words {
    bool is_barrier, reduces, counts;
    const struct ptx_operand *number;
};

static struct barrier_words words_of(const struct ptx_instruction *instruction)
{
    const struct ptx_operand *operands = instruction->operands;
    switch (instruction->opcode) {
    case PTX_OP_BAR_SYNC:
    case PTX_OP_BARRIER_SYNC:
        return (struct barrier_words){true, false, instruction->operand_count == 2, &operands[0]};
    case PTX_OP_BAR_ARRIVE:
    case PTX_OP_BARRIER_ARRIVE:
        return (struct barrier_words){true, false, true, &operands[0]};
    case PTX_OP_BAR_RED:
    case PTX_OP_BARRIER_RED:
        return (struct barrier_words){true, true, instruction->operand_count == 4, &operands[1]};
    default:
        return (struct barrier_words){0};
    }
}

bool worker_barrier_is_any(const struct ptx_instruction *instruction)
{
    return words_of(instruction).is_barrier;
}

bool worker_barrier_is_for_all(const struct ptx_instruction *instruction)
{
    struct barrier_words words = words_of(instruction);
    return words.is_barrier && !words.counts;
}

bool worker_barrier_arrives(const struct ptx_instruction *instruction)
{
    return instruction->opcode == PTX_OP_BAR_ARRIVE || instruction->opcode == PTX_OP_BARRIER_ARRIVE ||
           instruction->opcode == PTX_OP_BARRIER_CLUSTER_ARRIVE;
}

/* Its number where it counts its threads; BARRIER_NUMBERS: that is in a register, or none. */
static uint32_t counted_number(const struct barrier_words *words)
{
    bool known = words->counts && words->number->kind == PTX_OPERAND_INTEGER;
    return known && words->number->bits < BARRIER_NUMBERS ? (uint32_t)words->number->bits : BARRIER_NUMBERS;
}

struct worker_barriers worker_barriers_plan(const struct ptx_module *module)
{
    struct worker_barriers barriers = {0};
    uint32_t uses[BARRIER_NUMBERS + 1] = {0};
    for (uint32_t i = 0; i < module->function_count; i++)
        for (uint32_t k = 0; k < module->functions[i]->instruction_count; k++) {
            struct barrier_words words = words_of(&module->functions[i]->instructions[k]);
            barriers.reduces |= words.is_barrier && words.reduces && !words.counts;
            uses[counted_number(&words)]++;
        }
    for (uint32_t i = 1; i < BARRIER_NUMBERS; i++)
        if (uses[i] < uses[barriers.number])
            barriers.number = i;
    return barriers;
}

const struct ptx_instruction *worker_barriers_obstacle(const struct worker_barriers *barriers,
                                                       const struct ptx_function *function, const char **reason)
{
    for (uint32_t i = 0; i < function->instruction_count; i++) {
        struct barrier_words words = words_of(&function->instructions[i]);
        bool unknown = words.counts && words.number->kind != PTX_OPERAND_INTEGER;
        if (!unknown && counted_number(&words) != barriers->number)
            continue;
        *reason = unknown ? "it has a barrier with its number in a register: no other is known to be free"
                          : "the module uses all sixteen barriers, and the kernel the one that workers would have";
        return &function->instructions[i];
    }
    return NULL;
}

enum worker_meeting worker_barriers_meeting(const struct worker_barriers *barriers, bool comes)
{
    if (!comes)
        return WORKER_MEETS_PLAINLY;
    return barriers->reduces ? WORKER_MEETS_BY_COUNT : WORKER_MEETS_BY_OR;
}

struct barrier_writer {
    struct code code;
    struct ptx_instruction barrier; /* with the guard of the old one */
    uint32_t number;
};

/* to = the reduction of a predicate over all threads */
static void write_reduction(const struct barrier_writer *writer, enum ptx_suffix reduction, uint32_t to,
                            struct ptx_operand predicate)
{
    struct ptx_instruction barrier = writer->barrier;
    barrier.reduction = (uint8_t)reduction;
    barrier.types[0] = reduction == PTX_REDUCTION_POPC ? PTX_TYPE_U32 : PTX_TYPE_PRED;
    ptx_body_emit(writer->code.builder, barrier, 3,
                  (struct ptx_operand[]){ptx_register(to), ptx_integer(writer->number), predicate});
}

/* The reduction of the old barrier, by counting. */
static void write_old_reduction(const struct barrier_writer *writer, const struct ptx_instruction *instruction)
{
    struct ptx_operand predicate = instruction->operands[2];
    uint32_t to = instruction->operands[0].index;
    if (instruction->reduction == PTX_REDUCTION_POPC) {
        write_reduction(writer, PTX_REDUCTION_POPC, to, predicate);
        return;
    }
    bool all = instruction->reduction == PTX_REDUCTION_AND;
    uint32_t count = code_register(&writer->code, "barrier_count", PTX_TYPE_B32);
    predicate.negated ^= all;
    write_reduction(writer, PTX_REDUCTION_POPC, count, predicate);
    struct ptx_instruction compare = ptx_make(PTX_OP_SETP, PTX_TYPE_U32);
    compare.comparison = all ? PTX_COMPARISON_EQ : PTX_COMPARISON_NE;
    compare.guard = instruction->guard;
    compare.guard_negated = instruction->guard_negated;
    ptx_body_emit(writer->code.builder, compare, 3,
                  (struct ptx_operand[]){ptx_register(to), ptx_register(count), ptx_integer(0)});
}

void worker_barrier_write(const struct worker_barriers *barriers, const struct pass *pass, uint32_t function,
                          const struct ptx_instruction *instruction, uint32_t none)
{
    struct barrier_writer writer = {
        {pass->builder, function},
        ptx_make(PTX_OP_BARRIER_RED, PTX_TYPE_PRED), /* a part of a warp may come: others have ended */
        barriers->number};
    writer.barrier.guard = instruction->guard;
    writer.barrier.guard_negated = instruction->guard_negated;
    if (words_of(instruction).reduces)
        write_old_reduction(&writer, instruction);
    if (none == PTX_NONE) {
        uint32_t zero = code_register(&writer.code, "zero", PTX_TYPE_B32);
        code_move(&writer.code, CODE_ALL, PTX_TYPE_U32, zero, ptx_integer(0));
        none = code_compare(&writer.code, "none", PTX_COMPARISON_NE, PTX_TYPE_U32, ptx_register(zero), ptx_integer(0));
    }
    struct ptx_operand running = ptx_register(none);
    running.negated = true;
    enum ptx_suffix reduction = barriers->reduces ? PTX_REDUCTION_POPC : PTX_REDUCTION_OR;
    enum ptx_type type = barriers->reduces ? PTX_TYPE_B32 : PTX_TYPE_PRED;
    write_reduction(&writer, reduction, code_register(&writer.code, "some", type), running);
}
