/* SPDX-License-Identifier: MIT */
/* Short forward branches: what they jump over runs under their predicate instead. */
#include "assemble/code.h"

enum { MOST_PREDICATED = 7 };

struct writer {
    uint32_t predicate;
    bool writes;
};

static void note_write(void *user, uint32_t register_index, enum ptx_access access)
{
    struct writer *writer = user;
    writer->writes |= access == PTX_WRITE && register_index == writer->predicate;
}

/* May it run under a predicate, and does it leave the predicate as it is? */
static bool may_guard(const struct ptx_instruction *instruction, uint32_t predicate)
{
    enum effect effect = code_effect(instruction);
    struct writer writer = {predicate, false};
    if (instruction->guard != PTX_NONE || effect == EFFECT_WARP || effect == EFFECT_ORDER || effect == EFFECT_FIXED)
        return false;
    ptx_instruction_registers(instruction, note_write, &writer);
    return !writer.writes;
}

static bool label_between(const struct code *code, uint32_t after, uint32_t before)
{
    for (uint32_t i = 0; i < code->function.label_count; i++)
        if (code->labels[i].instruction > after && code->labels[i].instruction < before)
            return true;
    return false;
}

static void predicate_branch(struct code *code, uint32_t index)
{
    struct ptx_instruction *branch = &code->instructions[index];
    uint32_t target = code->labels[branch->operands[0].index].instruction, predicate = branch->guard;
    if (target <= index + 1 || target > index + 1 + MOST_PREDICATED || target >= code->function.instruction_count ||
        label_between(code, index, target))
        return;
    for (uint32_t i = index + 1; i < target; i++)
        if (code->instructions[i].opcode == PTX_OP_NONE || !may_guard(&code->instructions[i], predicate))
            return;
    bool negated = branch->guard_negated;
    int16_t stood_for = (int16_t)(branch->merged + 1);
    if (!code_remove(code, index))
        return;
    /* The branch was counted for the lanes that jump: all, which code_remove has seen to, but those that do not. */
    code->instructions[index + 1].merged -= stood_for;
    for (uint32_t i = index + 1; i < target; i++) {
        code->instructions[i].guard = predicate;
        code->instructions[i].guard_negated = !negated;
    }
}

void code_predicate(struct code *code)
{
    for (uint32_t i = 0; i < code->function.instruction_count; i++) {
        const struct ptx_instruction *instruction = &code->instructions[i];
        if (instruction->opcode == PTX_OP_BRA && instruction->guard != PTX_NONE &&
            instruction->operands[0].kind == PTX_OPERAND_LABEL)
            predicate_branch(code, i);
    }
}
