/* SPDX-License-Identifier: MIT */
/* call: of functions of the module, through registers, of the system's vprintf and __assertfail, and of what free finds wrong. */
#include "isa/decode.h"
#include "isa/device_launch.h"

#include <string.h>

/* The caller's side of an argument or a result. */
static struct call_value actual_value(struct decoder *decoder, const struct ptx_operand *operand,
                                      const struct ptx_variable *formal)
{
    const bool open = formal->incomplete && operand->kind == PTX_OPERAND_VARIABLE;
    struct call_value value = {.bytes = (uint32_t)(open ? operand->variable->bytes : formal->bytes)};
    if (formal->type == PTX_TYPE_PRED)
        decode_error(decoder, CORUN_UNSUPPORTED, "not supported: a predicate as a parameter");
    switch (operand->kind) {
    case PTX_OPERAND_VARIABLE:
        value.offset = decode_frame_offset(decoder, operand->variable);
        break;
    case PTX_OPERAND_REGISTER:
        value.in_register = true;
        value.wide = decode_is_wide(decoder, operand->index);
        value.operand = decode_slot(decoder, operand->index);
        break;
    case PTX_OPERAND_DISCARD:
        value.discarded = true;
        break;
    default:
        value.in_register = true;
        value.wide = value.bytes == 8;
        value.operand = decode_constant(decoder, operand->bits, value.wide, NULL);
    }
    return value;
}

static const struct call_value *actual_values(struct decoder *decoder, const struct ptx_operand *operands,
                                              uint32_t count, const struct ptx_variable *const *formals)
{
    struct call_value *values = ARENA_ARRAY(decoder->arena, struct call_value, count + 1);
    if (!values) {
        decode_no_memory(decoder);
        return NULL;
    }
    for (uint32_t i = 0; i < count; i++)
        values[i] = actual_value(decoder, &operands[i], formals[i]);
    return values;
}

/* Whether arguments have the sizes that a function of the system takes. */
static bool fits_system(const struct call_site *site, uint32_t count, const uint8_t *bytes)
{
    if (site->argument_count != count)
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (site->arguments[i].bytes != bytes[i])
            return false;
    return true;
}

static void emit_device_operation(struct decoder *decoder, uint32_t index, enum device_operation which)
{
    struct operation *op = decode_emit(decoder, OPERATION_DEVICE_LAUNCH);
    op->target = index;
    op->variant = (uint8_t)which;
    decoder->kernel->launches |= which == DEVICE_OPERATION_LAUNCH;
}

static void decode_system_call(struct decoder *decoder, const struct ptx_call *call, const struct call_site *site,
                               uint32_t index)
{
    static const uint8_t print[] = {8, 8}, assertion[] = {8, 8, 4, 8, 8}, pointer[] = {8};
    static const uint8_t check[] = {8, 4, 4, 4, 4, 4, 4, 4}, launch[] = {8, 8, 4}, error[] = {4, 4};
    const char *name = call->function->name;
    if (!strcmp(name, "vprintf") && fits_system(site, 2, print)) {
        decode_emit(decoder, OPERATION_PRINT)->target = index;
    } else if (!strcmp(name, "__assertfail") && fits_system(site, 5, assertion)) {
        struct operation *op = decode_emit(decoder, OPERATION_TRAP);
        op->target = index;
        op->variant = TRAP_ASSERT;
    } else if (!strcmp(name, DEVICE_HEAP_WRONG) && fits_system(site, 1, pointer)) {
        struct operation *op = decode_emit(decoder, OPERATION_TRAP);
        op->target = index;
        op->variant = TRAP_FREE;
        decoder->function->frees = true;
    } else if (!strcmp(name, DEVICE_LAUNCH_CHECK) && fits_system(site, 8, check)) {
        emit_device_operation(decoder, index, DEVICE_OPERATION_CHECK);
    } else if (!strcmp(name, DEVICE_LAUNCH) && fits_system(site, 3, launch)) {
        emit_device_operation(decoder, index, DEVICE_OPERATION_LAUNCH);
    } else if (!strcmp(name, DEVICE_LAUNCH_ERROR) && fits_system(site, 2, error)) {
        emit_device_operation(decoder, index, DEVICE_OPERATION_ERROR);
    } else {
        decode_error(decoder, CORUN_UNSUPPORTED, "not supported: a call of %s, which has no body here", name);
        return;
    }
    decode_registers(decoder);
    decode_last(decoder)->unit = CORUN_UNIT_CONTROL;
}

void decode_call(struct decoder *decoder)
{
    const struct ptx_call *call = decoder->instruction->call;
    const struct ptx_signature *signature = call->signature;
    struct call_site site = {.function = NO_FUNCTION};
    site.argument_count = call->argument_count;
    site.result_count = call->result_count;
    site.arguments = actual_values(decoder, call->arguments, call->argument_count, signature->parameters);
    site.results = actual_values(decoder, call->results, call->result_count, signature->returns);
    uint32_t index = (uint32_t)decoder->calls.count;
    if (decoder->status != CORUN_OK)
        return;
    if (call->function && call->function->has_body) {
        site.function = decoder->function_of_index[call->function->index];
    } else if (!call->function) {
        site.target = decode_slot(decoder, call->target);
        site.target_bytes = decode_is_wide(decoder, call->target) ? 8 : 4;
    }
    if (!vector_push(&decoder->calls, site)) {
        decode_no_memory(decoder);
        return;
    }
    if (call->function && !call->function->has_body) {
        decode_system_call(decoder, call, &site, index);
        return;
    }
    decode_emit(decoder, OPERATION_CALL)->target = index;
    decode_registers(decoder);
    decode_last(decoder)->unit = CORUN_UNIT_CONTROL;
    decode_last(decoder)->flags = CORUN_BRANCH;
}
