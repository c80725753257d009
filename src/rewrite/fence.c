/* SPDX-License-Identifier: MIT */
/* A comparison in front of each access, and behind it what is rare: other memory that is the application's own, and the record. */
#include "rewrite/fence.h"

#include "rewrite/code.h"
#include "rewrite/pass.h"

#include <stddef.h>
#include <string.h>

#define ADDRESS_BITS 52u

enum what { FENCE_NOTHING, FENCE_ACCESS, FENCE_REFUSED };

/* What an instruction is for a fence. */
struct sight {
    enum what what;
    const char *reason; /* REFUSED */
    uint32_t place;     /* ACCESS: of the operand that is the address */
    uint32_t bytes;
};

static bool is_elsewhere(uint8_t space)
{
    return space != PTX_SPACE_GLOBAL && space != PTX_SUFFIX_NONE;
}

static uint32_t bytes_of(const struct ptx_instruction *instruction, uint32_t values)
{
    const struct ptx_operand *operand = &instruction->operands[values];
    uint32_t count = operand->kind == PTX_OPERAND_VECTOR ? operand->element_count : 1;
    return ptx_types[instruction->types[0]].bits / 8u * count;
}

static struct sight refused(const char *reason)
{
    return (struct sight){.what = FENCE_REFUSED, .reason = reason};
}

/* The address is one of a variable and stays in there, wherever that is. */
static bool is_in_variable(const struct ptx_operand *address, uint32_t bytes)
{
    if (address->kind != PTX_OPERAND_ADDRESS_VARIABLE || address->variable->bytes < bytes)
        return false;
    return address->offset >= 0 && (uint64_t)address->offset <= address->variable->bytes - bytes;
}

static struct sight at_address(const struct ptx_instruction *instruction, uint32_t place, uint32_t bytes)
{
    const struct ptx_operand *address = &instruction->operands[place];
    if (is_elsewhere(instruction->space) || is_in_variable(address, bytes))
        return (struct sight){.what = FENCE_NOTHING};
    if (address->kind == PTX_OPERAND_ADDRESS_VARIABLE)
        return refused("accesses more than the variable that it names");
    return (struct sight){.what = FENCE_ACCESS, .place = place, .bytes = bytes};
}

static struct sight look(const struct ptx_instruction *instruction)
{
    switch (instruction->opcode) {
    case PTX_OP_LD:
    case PTX_OP_LDU:
        return at_address(instruction, 1, bytes_of(instruction, 0));
    case PTX_OP_ST:
        return at_address(instruction, 0, bytes_of(instruction, 1));
    case PTX_OP_ATOM:
        return at_address(instruction, 1, bytes_of(instruction, 0));
    case PTX_OP_RED:
        return at_address(instruction, 0, bytes_of(instruction, 1));
    case PTX_OP_CP_ASYNC_CA:
    case PTX_OP_CP_ASYNC_CG:
        return at_address(instruction, 1, (uint32_t)instruction->operands[2].bits);
    case PTX_OP_PREFETCH:
    case PTX_OP_PREFETCHU:
    case PTX_OP_PREFETCH_TENSORMAP:
    case PTX_OP_APPLYPRIORITY:
    case PTX_OP_CP_ASYNC_BULK_PREFETCH: /* hints */
    case PTX_OP_LDMATRIX_SYNC:
    case PTX_OP_STMATRIX_SYNC: /* shared memory */
        return (struct sight){.what = FENCE_NOTHING};
    default:
        break;
    }
    const char *operands = ptx_opcodes[instruction->opcode].operands;
    if (strpbrk(operands, "xXG"))
        return refused("a texture, a surface or a bulk copy, which is not bounded");
    if (strchr(operands, 'm') && !is_elsewhere(instruction->space))
        return refused("accesses memory in a way that is not bounded");
    return (struct sight){.what = FENCE_NOTHING};
}

/* Functions of the system that access nothing of the kernel's but its local memory. */
static bool is_harmless(const struct ptx_function *function)
{
    return !strcmp(function->name, "vprintf") || !strcmp(function->name, "__assertfail");
}

static void decide(struct pass *pass, const struct ptx_function *kernel)
{
    if (pass->source->address_bits != 64)
        pass_refuse(pass, "addresses of the module have 32 bits", kernel->place);
    pass_reach(pass, kernel);
    for (uint32_t i = 0; i < pass->source->function_count; i++) {
        const struct ptx_function *function = pass->source->functions[i];
        if (!pass->seen[i])
            continue;
        if (!function->has_body && !is_harmless(function))
            pass_refuse(pass, "calls a function without a body, and nobody knows what that accesses", function->place);
        for (uint32_t k = 0; k < function->instruction_count; k++) {
            struct sight sight = look(&function->instructions[k]);
            if (sight.what == FENCE_REFUSED)
                pass_refuse(pass, sight.reason, function->instructions[k].place);
        }
    }
}

/* A body that is being written. */
struct fence_writer {
    struct pass *pass;
    struct code code;
    uint32_t first, bytes; /* registers */
};

struct fencing {
    const struct ptx_variable *bounds;
    uint32_t number; /* of accesses so far */
};

static enum corun_status prepare(struct pass *pass)
{
    struct fencing *fencing = pass->user;
    fencing->bounds = ptx_builder_variable(pass->builder, PTX_SPACE_CONST, FENCE_VARIABLE, PTX_TYPE_B64,
                                           sizeof(struct fence_bounds) / sizeof(uint64_t), 16);
    return fencing->bounds ? CORUN_OK : CORUN_MEMORY;
}

static uint32_t load_bound(const struct fence_writer *writer, const char *name, size_t offset)
{
    const struct fencing *fencing = writer->pass->user;
    struct ptx_instruction load = ptx_make(PTX_OP_LD, PTX_TYPE_B64);
    uint32_t to = code_register(&writer->code, name, PTX_TYPE_B64);
    load.space = PTX_SPACE_CONST;
    ptx_body_emit(writer->code.builder, load, 2,
                  (struct ptx_operand[]){ptx_register(to), ptx_address_in(fencing->bounds, (int64_t)offset)});
    return to;
}

/* inside: threads that perform the access and are within bounds; the result: those that perform it and are not. */
static uint32_t compare(const struct fence_writer *writer, const struct ptx_instruction *access, uint32_t place,
                        uint32_t inside)
{
    const bool guarded = access->guard != PTX_NONE;
    struct ptx_instruction compare = ptx_make(PTX_OP_SETP, PTX_TYPE_U64);
    struct ptx_operand guard = ptx_register(access->guard);
    uint32_t outside = code_register(&writer->code, "outside", PTX_TYPE_PRED);
    guard.negated = access->guard_negated;
    compare.comparison = PTX_COMPARISON_LT;
    compare.boolean = guarded ? PTX_BOOLEAN_AND : PTX_SUFFIX_NONE;
    compare.pair = ptx_register(outside);
    ptx_body_emit(
        writer->code.builder, compare, guarded ? 4 : 3,
        (struct ptx_operand[]){ptx_register(inside), ptx_register(place), ptx_register(writer->bytes), guard});
    return outside;
}

static void jump_if_in_space(const struct fence_writer *writer, uint32_t address, enum ptx_suffix space, uint32_t label)
{
    struct ptx_instruction test = ptx_make(PTX_OP_ISSPACEP, PTX_TYPE_NONE);
    uint32_t is = code_register(&writer->code, "is", PTX_TYPE_PRED);
    test.space = (uint8_t)space;
    ptx_body_emit(writer->code.builder, test, 2, (struct ptx_operand[]){ptx_register(is), ptx_register(address)});
    code_jump(&writer->code, code_if(is), label);
}

/* To the label if the access is one to what else is the application's own. */
static void write_exceptions(const struct fence_writer *writer, const struct ptx_instruction *access, uint32_t bytes,
                             uint32_t address, uint32_t label)
{
    const struct ptx_module *source = writer->pass->source;
    if (access->space == PTX_SUFFIX_NONE) {
        jump_if_in_space(writer, address, PTX_SPACE_SHARED, label);
        jump_if_in_space(writer, address, PTX_SPACE_LOCAL, label);
        jump_if_in_space(writer, address, PTX_SPACE_CONST, label);
    }
    for (uint32_t i = 0; i < source->variable_count; i++) {
        const struct ptx_variable *variable = source->variables[i];
        /* isspacep need not call constants by that name where they lie in global memory */
        bool constant = variable->space == PTX_SPACE_CONST && access->space == PTX_SUFFIX_NONE;
        if ((variable->space != PTX_SPACE_GLOBAL && !constant) || variable->bytes < bytes)
            continue;
        uint32_t from = code_register(&writer->code, "from", PTX_TYPE_B64);
        struct ptx_instruction generic = ptx_make(constant ? PTX_OP_CVTA : PTX_OP_MOV, PTX_TYPE_U64);
        generic.space = constant ? PTX_SPACE_CONST : PTX_SUFFIX_NONE;
        ptx_body_emit(writer->code.builder, generic, 2,
                      (struct ptx_operand[]){ptx_register(from),
                                             ptx_variable_value(ptx_builder_variable_of(writer->code.builder, i))});
        code_binary(&writer->code, CODE_ALL, PTX_OP_SUB, PTX_TYPE_U64, from, ptx_register(address), ptx_register(from));
        uint32_t is = code_compare(&writer->code, "is", PTX_COMPARISON_LE, PTX_TYPE_U64, ptx_register(from),
                                   ptx_integer((int64_t)(variable->bytes - bytes)));
        code_jump(&writer->code, code_if(is), label);
    }
}

static void write_record(const struct fence_writer *writer, uint32_t address)
{
    const struct fencing *fencing = writer->pass->user;
    const uint64_t number = fencing->number < FENCE_MOST_NUMBER ? fencing->number : FENCE_MOST_NUMBER;
    struct ptx_instruction once = ptx_make(PTX_OP_ATOM, PTX_TYPE_B64);
    uint32_t record = load_bound(writer, "record", offsetof(struct fence_bounds, record));
    uint32_t word = code_register(&writer->code, "word", PTX_TYPE_B64);
    once.space = PTX_SPACE_GLOBAL;
    once.atomic = PTX_ATOMIC_CAS;
    code_binary(&writer->code, CODE_ALL, PTX_OP_AND, PTX_TYPE_B64, word, ptx_register(address),
                ptx_integer((INT64_C(1) << ADDRESS_BITS) - 1));
    code_binary(&writer->code, CODE_ALL, PTX_OP_OR, PTX_TYPE_B64, word, ptx_register(word),
                ptx_integer((int64_t)(number << ADDRESS_BITS)));
    ptx_body_emit(
        writer->code.builder, once, 4,
        (struct ptx_operand[]){ptx_register(word), ptx_address(record, 0), ptx_integer(0), ptx_register(word)});
}

/* The place within the application's memory, which the comparison is of, and the address for what is rare. */
static uint32_t write_place(const struct fence_writer *writer, const struct ptx_operand *address, uint32_t *base)
{
    const struct code *code = &writer->code;
    uint32_t place = code_register(code, "place", PTX_TYPE_B64);
    if (address->kind == PTX_OPERAND_ADDRESS_ABSOLUTE) {
        *base = code_register(code, "address", PTX_TYPE_B64);
        code_move(code, CODE_ALL, PTX_TYPE_U64, *base, ptx_integer(address->offset));
    } else {
        *base = address->index;
    }
    code_binary(code, CODE_ALL, PTX_OP_SUB, PTX_TYPE_S64, place, ptx_register(*base), ptx_register(writer->first));
    if (address->kind == PTX_OPERAND_ADDRESS && address->offset)
        code_binary(code, CODE_ALL, PTX_OP_ADD, PTX_TYPE_S64, place, ptx_register(place), ptx_integer(address->offset));
    return place;
}

static void write_access(const struct fence_writer *writer, const struct ptx_instruction *access, struct sight sight)
{
    const struct ptx_operand *address = &access->operands[sight.place];
    const struct code *code = &writer->code;
    uint32_t inside = code_register(code, "inside", PTX_TYPE_PRED), base;
    uint32_t place = write_place(writer, address, &base), outside = compare(writer, access, place, inside);
    uint32_t performs = ptx_body_label(code->builder, "performs"), own = ptx_body_label(code->builder, "own");
    code_jump(code, code_unless(outside), performs);
    code_binary(code, CODE_ALL, PTX_OP_ADD, PTX_TYPE_S64, place, ptx_register(place), ptx_register(writer->first));
    write_exceptions(writer, access, sight.bytes, place, own);
    write_record(writer, place);
    code_jump(code, CODE_ALL, performs);
    ptx_body_place_label(code->builder, own);
    struct ptx_instruction all = ptx_make(PTX_OP_SETP, PTX_TYPE_U64);
    all.comparison = PTX_COMPARISON_EQ;
    ptx_body_emit(code->builder, all, 3,
                  (struct ptx_operand[]){ptx_register(inside), ptx_register(place), ptx_register(place)});
    ptx_body_place_label(code->builder, performs);
    struct ptx_instruction performed = *access;
    performed.guard = inside;
    performed.guard_negated = false;
    ptx_body_emit(code->builder, performed, access->operand_count, access->operands);
}

static bool any_access(const struct ptx_function *function)
{
    for (uint32_t i = 0; i < function->instruction_count; i++)
        if (look(&function->instructions[i]).what == FENCE_ACCESS)
            return true;
    return false;
}

static enum corun_status write_body(struct pass *pass, uint32_t function)
{
    struct fencing *fencing = pass->user;
    struct fence_writer writer = {.pass = pass, .code = {pass->builder, function}};
    const struct ptx_instruction *next;
    if (any_access(pass->source->functions[function])) {
        writer.first = load_bound(&writer, "first", offsetof(struct fence_bounds, first));
        writer.bytes = load_bound(&writer, "bytes", offsetof(struct fence_bounds, bytes));
    }
    while ((next = ptx_body_next(pass->builder))) {
        struct sight sight = look(next);
        if (sight.what != FENCE_ACCESS) {
            pass_write(pass, function, next);
            continue;
        }
        fencing->number++;
        write_access(&writer, next, sight);
    }
    return CORUN_OK;
}

enum corun_status fence_module(const struct ptx_module *source, struct corun_diagnostics *list,
                               struct rewritten *rewritten)
{
    static const struct pass_rules rules = {
        .doing = "fencing kernels", .decide = decide, .prepare = prepare, .write = write_body};
    struct fencing fencing = {0};
    return pass_run(&rules, &fencing, source, list, rewritten);
}

enum corun_status fence_before(rewrite_pass *pass, const struct ptx_module *source, struct corun_diagnostics *list,
                               struct rewritten *rewritten)
{
    return rewrite_both(fence_module, pass, source, list, rewritten);
}

bool fence_access_find(const struct ptx_module *source, uint32_t number, struct fence_access *access)
{
    for (uint32_t i = 0; i < source->function_count; i++) {
        const struct ptx_function *function = source->functions[i];
        for (uint32_t k = 0; function->has_body && k < function->instruction_count; k++) {
            struct sight sight = look(&function->instructions[k]);
            if (sight.what != FENCE_ACCESS || --number)
                continue;
            *access = (struct fence_access){function, &function->instructions[k], sight.bytes};
            return true;
        }
    }
    return false;
}
