/* SPDX-License-Identifier: MIT */
/*
 * Sets go up from functions to their callers along the calls until nothing changes; then obstacles do. A call through a pointer may reach
 * every function whose address is somewhere and whose parameters take as many bytes.
 */
#include "rewrite/grid_reads.h"

#include "base/vector.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct grid_value_row grid_values[GRID_VALUES] = {
#define GRID_VALUE_ROW(name, text, special, same, type) \
    {#text, PTX_SPECIAL_##special, PTX_SPECIAL_##same, PTX_TYPE_##type},
    GRID_VALUES_OF(GRID_VALUE_ROW)
#undef GRID_VALUE_ROW
};

const char *grid_value_text(enum grid_value value)
{
    return ptx_special_registers[grid_values[value].special].text;
}

/* `callee` has an effect on `caller`. */
struct call_edge {
    uint32_t caller, callee;
    const struct ptx_instruction *call;
};

struct reading {
    const struct ptx_module *module;
    struct arena *arena;
    struct grid_reads *rows;
    VECTOR(struct call_edge) edges; /* sorted by callee */
    VECTOR(uint32_t) changed;       /* functions whose callers have to look again */
    bool out_of_memory;
};

enum grid_value grid_value_read(const struct ptx_instruction *instruction)
{
    if (instruction->operand_count != 2 || instruction->operands[1].kind != PTX_OPERAND_SPECIAL)
        return GRID_VALUES;
    uint32_t special = instruction->operands[1].index;
    uint32_t value = 0;
    while (value < GRID_VALUES && grid_values[value].special != special && grid_values[value].same != special)
        value++;
    return value;
}

static void change(struct reading *reading, uint32_t function)
{
    reading->out_of_memory |= !vector_push(&reading->changed, function);
}

static void __attribute__((format(printf, 4, 5)))
obstruct(struct reading *reading, uint32_t function, struct ptx_place place, const char *format, ...)
{
    struct grid_reads *row = &reading->rows[function];
    char text[400];
    va_list arguments;
    if (row->obstacle)
        return;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    row->obstacle =
        arena_copy_text(reading->arena, text, (size_t)length < sizeof text ? (size_t)length : sizeof text - 1);
    row->place = place;
    reading->out_of_memory |= !row->obstacle;
    change(reading, function);
}

/* Functions of the system. They know nothing of the grid. */
static bool is_harmless(const char *name)
{
    static const char *const names[] = {"vprintf", "malloc", "free", "__assertfail", "__corun_wrong_free"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (!strcmp(names[i], name))
            return true;
    return false;
}

static void note_addresses(struct reading *reading, const struct ptx_operand *operands, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (operands[i].kind == PTX_OPERAND_FUNCTION)
            reading->rows[operands[i].function->index].address_taken = true;
        else if (operands[i].kind == PTX_OPERAND_VECTOR)
            note_addresses(reading, operands[i].elements, operands[i].element_count);
}

static void add_edge(struct reading *reading, uint32_t caller, const struct ptx_function *callee,
                     const struct ptx_instruction *call)
{
    struct call_edge edge = {caller, callee->index, call};
    reading->out_of_memory |= !vector_push(&reading->edges, edge);
}

/* What a body itself reads and which addresses it takes; direct calls become edges. */
static void look_at_body(struct reading *reading, const struct ptx_function *function)
{
    struct grid_reads *row = &reading->rows[function->index];
    for (uint32_t i = 0; i < function->instruction_count; i++) {
        const struct ptx_instruction *instruction = &function->instructions[i];
        enum grid_value value = grid_value_read(instruction);
        row->reads |= value < GRID_VALUES ? 1u << value : 0;
        note_addresses(reading, instruction->operands, instruction->operand_count);
        const struct ptx_call *call = instruction->call;
        for (uint32_t k = 0; call && k < call->target_count; k++)
            reading->rows[call->targets[k]->index].address_taken = true;
        if (call && call->function)
            add_edge(reading, function->index, call->function, instruction);
    }
    if (row->reads)
        change(reading, function->index);
}

static bool may_be_called(const struct ptx_call *call, const struct ptx_function *function)
{
    const struct ptx_signature *wanted = call->signature, *has = &function->signature;
    if (wanted->parameter_count != has->parameter_count || wanted->return_count != has->return_count)
        return false;
    for (uint32_t i = 0; i < wanted->parameter_count; i++)
        if (wanted->parameters[i]->bytes != has->parameters[i]->bytes)
            return false;
    for (uint32_t i = 0; i < wanted->return_count; i++)
        if (wanted->returns[i]->bytes != has->returns[i]->bytes)
            return false;
    return true;
}

/* `caller` may reach `callee` with the parameters that it has. */
static void look_at_fixed_callee(struct reading *reading, uint32_t caller, const struct ptx_function *callee,
                                 const struct ptx_instruction *instruction)
{
    uint32_t reads = reading->rows[callee->index].reads;
    if (!reads)
        return;
    enum grid_value value = 0;
    while (!(reads & 1u << value))
        value++;
    const char *text = grid_value_text(value);
    if (instruction->call->function)
        obstruct(reading, caller, instruction->place,
                 "calls '%.100s', which reads %s and is called through pointers too", callee->name, text);
    else
        obstruct(reading, caller, instruction->place, "calls through a pointer, perhaps '%.100s', which reads %s",
                 callee->name, text);
}

/* A call through a pointer: of everything that fits, unless its targets are named. */
static void look_at_pointer(struct reading *reading, uint32_t caller, const struct ptx_instruction *instruction)
{
    const struct ptx_call *call = instruction->call;
    for (uint32_t k = 0; k < call->target_count; k++) {
        look_at_fixed_callee(reading, caller, call->targets[k], instruction);
        add_edge(reading, caller, call->targets[k], instruction);
    }
    for (uint32_t k = 0; !call->targets && k < reading->module->function_count; k++) {
        const struct ptx_function *function = reading->module->functions[k];
        if (!reading->rows[k].address_taken || function->is_entry || !may_be_called(call, function))
            continue;
        look_at_fixed_callee(reading, caller, function, instruction);
        add_edge(reading, caller, function, instruction);
    }
}

static void look_for_obstacles(struct reading *reading, const struct ptx_function *function)
{
    for (uint32_t i = 0; i < function->instruction_count; i++) {
        const struct ptx_instruction *instruction = &function->instructions[i];
        const struct ptx_operand *from = instruction->operand_count == 2 ? &instruction->operands[1] : NULL;
        const struct ptx_call *call = instruction->call;
        if (from && from->kind == PTX_OPERAND_SPECIAL &&
            (from->index == PTX_SPECIAL_ENVREG1 || from->index == PTX_SPECIAL_ENVREG2))
            obstruct(reading, function->index, instruction->place,
                     "reads %s: all thread blocks of its grid wait for each other",
                     ptx_special_registers[from->index].text);
        if (!call)
            continue;
        if (!call->function)
            look_at_pointer(reading, function->index, instruction);
        else if (!call->function->has_body && !is_harmless(call->function->name))
            obstruct(reading, function->index, instruction->place, "calls '%.100s', of which there is no body here",
                     call->function->name);
        else if (reading->rows[call->function->index].address_taken)
            look_at_fixed_callee(reading, function->index, call->function, instruction);
    }
}

static int compare_edges(const void *left, const void *right)
{
    const struct call_edge *a = left, *b = right;
    if (a->callee != b->callee)
        return a->callee < b->callee ? -1 : 1;
    return a->call->place.line < b->call->place.line ? -1 : a->call->place.line > b->call->place.line;
}

/* Of what stands in the way in a callee, the nearest function is named. */
static void obstruct_caller(struct reading *reading, uint32_t caller, uint32_t callee)
{
    const struct grid_reads *row = &reading->rows[callee];
    if (row->obstacle[0] == '\'')
        obstruct(reading, caller, row->place, "%s", row->obstacle);
    else
        obstruct(reading, caller, row->place, "'%.100s' %s", reading->module->functions[callee]->name, row->obstacle);
}

/* Gives callers what has changed in the functions that they call. */
static void propagate(struct reading *reading)
{
    uint32_t count = reading->module->function_count;
    size_t *starts = calloc((size_t)count + 2, sizeof *starts);
    reading->out_of_memory |= !starts;
    if (reading->edges.count)
        qsort(reading->edges.data, reading->edges.count, sizeof *reading->edges.data, compare_edges);
    for (size_t i = 0; starts && i < reading->edges.count; i++)
        starts[reading->edges.data[i].callee + 1] = i + 1;
    for (uint32_t i = 1; starts && i <= count; i++)
        starts[i] = starts[i] ? starts[i] : starts[i - 1];
    while (!reading->out_of_memory && reading->changed.count) {
        uint32_t callee = reading->changed.data[--reading->changed.count];
        for (size_t i = starts[callee]; i < starts[callee + 1]; i++) {
            const struct call_edge *edge = &reading->edges.data[i];
            struct grid_reads *from = &reading->rows[callee], *to = &reading->rows[edge->caller];
            uint32_t reads = edge->call->call->function ? from->reads | to->reads : to->reads;
            if (reads != to->reads) {
                to->reads = reads;
                change(reading, edge->caller);
            }
            if (from->obstacle && !to->obstacle)
                obstruct_caller(reading, edge->caller, callee);
        }
    }
    free(starts);
}

enum corun_status grid_reads_create(const struct ptx_module *module, struct arena *arena,
                                    const struct grid_reads **rows)
{
    struct reading reading = {.module = module, .arena = arena};
    *rows = reading.rows = ARENA_ARRAY(arena, struct grid_reads, module->function_count + 1u);
    if (!reading.rows)
        return CORUN_MEMORY;
    for (uint32_t i = 0; i < module->function_count; i++)
        look_at_body(&reading, module->functions[i]);
    for (uint32_t i = 0; i < module->variable_count; i++)
        for (uint32_t k = 0; k < module->variables[i]->relocation_count; k++)
            if (module->variables[i]->relocations[k].function)
                reading.rows[module->variables[i]->relocations[k].function->index].address_taken = true;
    propagate(&reading);
    for (uint32_t i = 0; i < module->function_count; i++)
        look_for_obstacles(&reading, module->functions[i]);
    propagate(&reading);
    vector_free(&reading.edges);
    vector_free(&reading.changed);
    return reading.out_of_memory ? CORUN_MEMORY : CORUN_OK;
}
