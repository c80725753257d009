/* SPDX-License-Identifier: MIT */
/* What a run without timing wants to know of decoded code: how far operations go without a look at the stack of lanes, which accesses are plain, and whether registers need be cleared. */
#include "isa/decode.h"

#include <stdlib.h>

/* What a load or store moves if it is plain (access_quick.c). */
static enum element quick_element(const struct operation *op)
{
    bool store = op->kind == OPERATION_STORE, wide = op->extend & EXTEND_WIDE, sign = op->extend & EXTEND_SIGN;
    if ((op->vector != 1 && (store || op->width_bytes != 4 || wide)) ||
        op->variant & (MEMORY_FRAME | MEMORY_SILENT | MEMORY_SURFACE) || op->space == CORUN_SPACE_LOCAL ||
        (store && op->space == CORUN_SPACE_CONSTANT) ||
        (!store && op->vector == 1 && op->destination == OPERAND_DISCARD))
        return ELEMENT_NONE;
    switch (op->width_bytes) {
    case 1:
        return wide ? ELEMENT_NONE : sign && !store ? ELEMENT_S8 : ELEMENT_U8;
    case 2:
        return wide ? ELEMENT_NONE : sign && !store ? ELEMENT_S16 : ELEMENT_U16;
    case 4:
        return wide ? ELEMENT_NONE : op->vector > 1 ? ELEMENT_WORDS : ELEMENT_32;
    case 8:
        return wide ? ELEMENT_64 : ELEMENT_NONE;
    default:
        return ELEMENT_NONE;
    }
}

void operations_mark_meetings(const struct operation *code, size_t count, const uint32_t *leavings, bool *meets)
{
    for (size_t i = 0; i < count; i++) {
        if (code[i].reconverge < count)
            meets[code[i].reconverge] = true;
        if (code[i].kind != OPERATION_BRANCH && code[i].kind != OPERATION_BRANCH_TABLE)
            continue;
        for (uint32_t at = branch_leavings(&code[i]) ? branch_places(&code[i]) : 0; at && leavings[at] < count; at++)
            meets[leavings[at]] = true;
    }
}

bool decode_straight(struct operation *code, size_t count, const uint32_t *leavings)
{
    bool *meets = calloc(count + 1, sizeof *meets);
    if (!meets)
        return false;
    operations_mark_meetings(code, count, leavings, meets);
    for (size_t i = count; i-- > 0;) {
        struct operation *op = &code[i];
        bool access = op->kind == OPERATION_LOAD || op->kind == OPERATION_STORE;
        uint16_t after = i + 1 < count && !meets[i + 1] ? code[i + 1].straight : 0;
        uint8_t apart = after ? code[i + 1].apart : 0;
        bool lanes = op->kind == OPERATION_LANES;
        bool meeting = op->kind == OPERATION_MEETING && op->run && op->guard == NO_PREDICATE;
        op->straight = !lanes && !meeting ? 0 : (uint16_t)(after < UINT16_MAX ? after + 1 : after);
        op->apart = !lanes ? 0 : (uint8_t)(apart < UINT8_MAX ? apart + 1 : apart);
        op->quick = access ? (uint8_t)quick_element(op) : ELEMENT_NONE;
    }
    free(meets);
    return true;
}

/*
 * A shuffle may read the register of a thread that has not come to the write. Slots of copies and of alloca are the decoder's own, and calls are not
 * looked at.
 */
bool decode_writes_first(const struct decoder *decoder, const struct ptx_function *function)
{
    const struct corun_kernel *kernel = decoder->kernel;
    for (uint32_t i = 0; i < function->instruction_count; i++)
        if (function->instructions[i].opcode == PTX_OP_SHFL)
            return false;
    return !decoder->copies && !kernel->bulk_count && kernel->function_count == 1 && kernel->stack_slot == NO_STACK &&
           !decoder->module->allocations[function->index].reads_unwritten;
}
