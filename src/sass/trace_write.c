/* SPDX-License-Identifier: MIT */
/*
 * Writes what a kernel does as a trace: thread block by thread block without timing, each instruction under a mnemonic of the same
 * pipeline and latency class. The warps of a thread block take turns from barrier to barrier.
 */
#include "base/bits.h"
#include "base/kernel_name.h"
#include "sass/opcodes.h"
#include "sass/trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_INSTRUCTIONS \
    (UINT64_C(1) << 32) /* of one thread block: it may wait for another one, which has no turn here */
#define PC_BYTES 16u

struct warp_text {
    char *text;
    size_t bytes;
    FILE *stream;
    uint32_t count; /* instructions */
    bool waits, ended;
};

struct writer {
    const struct corun_grid *grid;
    struct corun_diagnostics *list;
    FILE *stream;
    uint64_t cycle; /* what the warps take for the time */
    struct corun_issue issue;
    struct warp_text texts[CORUN_WARP_LANES];
    struct corun_warp *warps[CORUN_WARP_LANES];
};

static enum corun_status refuse(const struct writer *writer, const struct corun_instruction *code, const char *why)
{
    return corun_report(writer->list, CORUN_UNSUPPORTED, (struct corun_place){writer->grid->file, code->line, 0},
                        "kernel %s cannot be written as a trace: %s", KERNEL_NAME(writer->grid->name), why);
}

/* NULL: there is no mnemonic of that class, and *why says which. */
static const char *name_arithmetic(const struct corun_instruction *code, const char **why)
{
    static const char *const names[][CORUN_OPERATION_COUNT] = {
        [CORUN_UNIT_INT] = {"IADD3", "IMNMX", "IMUL", "IMAD", NULL},
        [CORUN_UNIT_FP32] = {"FADD", "FMNMX", "FMUL", "FFMA", NULL},
        [CORUN_UNIT_FP64] = {"DADD", "DMNMX", "DMUL", "DFMA", NULL},
    };
    *why = "machine code has no instruction that divides";
    return names[code->unit][code->operation];
}

static const char *name_product(const struct corun_instruction *code, const char **why)
{
    static const struct {
        uint32_t type, multiply_adds;
        const char *name;
    } products[] = {
        {CORUN_TENSOR_F16, 32, "HMMA.1688.F32"},       {CORUN_TENSOR_F16, 64, "HMMA.16816.F32"},
        {CORUN_TENSOR_TF32, 16, "HMMA.1684.F32.TF32"}, {CORUN_TENSOR_TF32, 32, "HMMA.1688.F32.TF32"},
        {CORUN_TENSOR_S8, 32, "IMMA.8816.S8.S8"},      {CORUN_TENSOR_S8, 64, "IMMA.16816.S8.S8"},
        {CORUN_TENSOR_S8, 128, "IMMA.16832.S8.S8"},    {CORUN_TENSOR_F64, 8, "DMMA.884"},
    };
    for (size_t i = 0; i < sizeof products / sizeof products[0]; i++) {
        if (products[i].type == code->operation && products[i].multiply_adds == code->multiply_adds)
            return products[i].name;
    }
    *why = "a matrix product of a shape that is not written";
    return NULL;
}

/* To shared memory: one register stands for its end, whatever it moves. */
static bool is_copy(const struct corun_instruction *code)
{
    return code->space == CORUN_SPACE_GLOBAL && code->flags & CORUN_LOAD && code->access_bytes > 4 &&
           code->destination_count == 1;
}

static const char *name_access(const struct corun_instruction *code, const char **why)
{
    static const char *const names[CORUN_SPACE_COUNT][4] = {
        [CORUN_SPACE_GLOBAL] = {"LDG.E", "STG.E", "ATOMG.E.ADD", "RED.E.ADD"},
        [CORUN_SPACE_SHARED] = {"LDS", "STS", "ATOMS.ADD", "ATOMS.ADD"},
        [CORUN_SPACE_TEXTURE] = {"LDG.E.CONSTANT", NULL, NULL, NULL},
        [CORUN_SPACE_CONSTANT] = {"LDC", NULL, NULL, NULL},
    };
    if (is_copy(code))
        return "LDGSTS.E.BYPASS";
    *why = "local or generic memory, whose addresses are not written";
    if (code->flags & CORUN_FENCE)
        return "MEMBAR.SC.GPU";
    if (code->flags & CORUN_REDUCTION)
        return names[code->space][3];
    if (code->flags & CORUN_ATOMIC)
        return names[code->space][2];
    if (code->flags & CORUN_LOAD && code->flags & CORUN_STORE)
        return names[code->space][0];
    return code->flags & CORUN_STORE ? names[code->space][1] : code->flags & CORUN_LOAD ? names[code->space][0] : "NOP";
}

static const char *name_of(const struct corun_instruction *code, const char **why)
{
    switch (code->unit) {
    case CORUN_UNIT_SFU:
        return "MUFU.RCP";
    case CORUN_UNIT_TENSOR:
        return name_product(code, why);
    case CORUN_UNIT_MEMORY:
        return name_access(code, why);
    case CORUN_UNIT_CONTROL:
        if (code->flags & CORUN_EXIT)
            return "EXIT";
        if (code->flags & CORUN_BARRIER)
            return "BAR.SYNC";
        return code->flags & CORUN_BRANCH ? "BRA" : "VOTE";
    default:
        return name_arithmetic(code, why);
    }
}

static const char *width_of(const struct corun_instruction *code)
{
    if (code->unit != CORUN_UNIT_MEMORY || code->space == CORUN_SPACE_CONSTANT)
        return "";
    switch (code->access_bytes) {
    case 16:
        return ".128";
    case 8:
        return ".64";
    case 2:
        return ".U16";
    case 1:
        return ".U8";
    default:
        return "";
    }
}

/* Registers of `names`, without those that a reader adds by himself: the ones behind a name of `description`. */
static void write_registers(FILE *stream, const struct corun_grid *grid, const uint16_t *names, uint32_t count,
                            const uint16_t *known, uint32_t known_count)
{
    uint16_t written[CORUN_MAX_SOURCES];
    uint32_t number = 0;
    for (uint32_t i = 0; i < count; i++) {
        bool follows = names[i] >= grid->register_slots; /* a predicate: traces have none */
        for (uint32_t k = 0; k + 1 < known_count && !follows; k++)
            follows = i && known[k] == names[i - 1] && known[k + 1] == names[i] && names[i] == names[i - 1] + 1u;
        if (!follows)
            written[number++] = names[i];
    }
    fprintf(stream, "%u", number);
    for (uint32_t i = 0; i < number; i++)
        fprintf(stream, " R%u", written[i]);
}

/* Whether a reader makes two registers of one name: 64-bit values, and what an access moves. */
static bool is_wide(const struct corun_instruction *code)
{
    bool global = code->space == CORUN_SPACE_GLOBAL || code->space == CORUN_SPACE_TEXTURE;
    return code->unit == CORUN_UNIT_FP64 || code->unit == CORUN_UNIT_TENSOR || code->access_bytes > 4 || global;
}

static void write_addresses(const struct writer *writer, const struct corun_instruction *code, FILE *stream)
{
    if (code->unit != CORUN_UNIT_MEMORY || !code->access_bytes || code->space == CORUN_SPACE_CONSTANT) {
        fputs(" 0\n", stream);
        return;
    }
    fprintf(stream, " %u 0", code->access_bytes);
    for (uint32_t lanes = writer->issue.active; lanes; lanes &= lanes - 1)
        fprintf(stream, " 0x%" PRIx64, writer->issue.address[lowest_bit(lanes)]);
    fputc('\n', stream);
}

static enum corun_status write_instruction(struct writer *writer, struct warp_text *text, uint32_t pc)
{
    const struct corun_instruction *code = &writer->grid->code[pc];
    const char *why = "", *name = name_of(code, &why);
    if (!name)
        return refuse(writer, code, why);
    for (uint32_t i = 0; i < code->source_count; i++) {
        if (code->sources[i] < writer->grid->register_slots && code->sources[i] >= SASS_ZERO_REGISTER)
            return refuse(writer, code, "more than 255 registers");
    }
    for (uint32_t i = 0; i < code->destination_count; i++) {
        if (code->destinations[i] < writer->grid->register_slots && code->destinations[i] >= SASS_ZERO_REGISTER)
            return refuse(writer, code, "more than 255 registers");
    }
    bool wide = is_wide(code), barrier_arrives = code->flags & CORUN_BARRIER && !writer->issue.barrier_waits;
    fprintf(text->stream, "%04x %08x ", pc * PC_BYTES, writer->issue.active);
    write_registers(text->stream, writer->grid, code->destinations, code->destination_count, code->destinations,
                    wide ? code->destination_count : 0);
    fprintf(text->stream, " %s%s%s ", barrier_arrives ? "BAR.ARV" : name, width_of(code),
            code->flags & CORUN_BYPASS_L1 ? ".STRONG.GPU" : "");
    write_registers(text->stream, writer->grid, code->sources, code->source_count, code->sources,
                    wide ? code->source_count : 0);
    write_addresses(writer, code, text->stream);
    text->count++;
    return CORUN_OK;
}

/* Runs a warp to a barrier, or to its end. */
static enum corun_status run_warp(struct writer *writer, uint32_t index, uint64_t *left)
{
    const struct corun_source_operations *source = writer->grid->operations;
    struct warp_text *text = &writer->texts[index];
    enum corun_status status = CORUN_OK;
    while (!status && !text->waits && !text->ended) {
        uint32_t pc = source->warp_pc(writer->warps[index]);
        const struct corun_instruction *code = &writer->grid->code[pc];
        if (!--*left)
            return refuse(writer, code, "a thread block does not come to its end");
        source->issue(writer->warps[index], &writer->issue);
        writer->cycle++;
        if (writer->issue.outcome == CORUN_OUTCOME_FAULT) {
            struct corun_place place;
            const char *message = source->fault(writer->warps[index], &place);
            return corun_report(writer->list, CORUN_FAULT, place, "%s", message);
        }
        if (writer->issue.outcome == CORUN_OUTCOME_BARRIER && writer->issue.barrier)
            return refuse(writer, code, "a barrier other than barrier 0");
        status = write_instruction(writer, text, pc);
        if (code->flags & CORUN_ATOMIC && code->space == CORUN_SPACE_GLOBAL && writer->issue.active) {
            source->perform(writer->grid, 0, writer->issue.ticket, writer->issue.active);
            source->complete(writer->grid, 0, writer->issue.ticket);
        }
        text->waits = writer->issue.outcome == CORUN_OUTCOME_BARRIER && writer->issue.barrier_waits;
        text->ended = writer->issue.outcome == CORUN_OUTCOME_EXIT;
    }
    return status;
}

static enum corun_status run_tb(struct writer *writer, struct corun_tb *tb)
{
    const struct corun_source_operations *source = writer->grid->operations;
    uint64_t left = MOST_INSTRUCTIONS;
    enum corun_status status = CORUN_OK;
    for (bool runs = true; runs && !status;) {
        runs = false;
        for (uint32_t i = 0; i < writer->grid->tb_warps && !status; i++) {
            status = run_warp(writer, i, &left);
            runs |= writer->texts[i].waits;
        }
        if (runs && source->barrier_met)
            source->barrier_met(tb, 0);
        for (uint32_t i = 0; i < writer->grid->tb_warps; i++)
            writer->texts[i].waits = false;
    }
    return status;
}

static enum corun_status out_of_memory(const struct writer *writer)
{
    return corun_report(writer->list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory writing a trace");
}

static enum corun_status write_tb(struct writer *writer, uint32_t index)
{
    const struct corun_grid *grid = writer->grid;
    struct corun_tb *tb = grid->operations->tb_begin(grid, index, 0, writer->warps);
    enum corun_status status = tb ? CORUN_OK : out_of_memory(writer);
    for (uint32_t i = 0; i < grid->tb_warps && !status; i++) {
        struct warp_text *text = &writer->texts[i];
        *text = (struct warp_text){0};
        text->stream = open_memstream(&text->text, &text->bytes);
        if (!text->stream)
            status = out_of_memory(writer);
        else
            grid->operations->warp_place(writer->warps[i], i, 1, &writer->cycle);
    }
    if (!status)
        status = run_tb(writer, tb);
    fprintf(writer->stream, "#BEGIN_TB\n\nthread block = %u,0,0\n\n", index);
    for (uint32_t i = 0; i < grid->tb_warps; i++) {
        struct warp_text *text = &writer->texts[i];
        if (text->stream && fclose(text->stream) != 0)
            status = out_of_memory(writer);
        if (!status)
            fprintf(writer->stream, "warp = %u\ninsts = %u\n%s\n", i, text->count, text->text);
        free(text->text);
        *text = (struct warp_text){0};
    }
    fprintf(writer->stream, "#END_TB\n\n");
    if (tb)
        grid->operations->tb_end(tb);
    if (grid->operations->dirty(grid, 0))
        grid->operations->commit(grid, 0);
    return status;
}

enum corun_status sass_kernel_write(const struct corun_grid *grid, uint32_t number, FILE *stream,
                                    struct corun_diagnostics *list)
{
    if (grid->cluster_tbs > 1)
        return corun_report(list, CORUN_UNSUPPORTED, CORUN_NOWHERE,
                            "not supported: a trace of kernel %s, which has clusters of thread blocks",
                            KERNEL_NAME(grid->name));
    struct writer *writer = calloc(1, sizeof *writer);
    if (!writer || grid->operations->attach(grid, 1, 1000000) != CORUN_OK) {
        free(writer);
        return corun_report(list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory writing a trace");
    }
    *writer = (struct writer){.grid = grid, .list = list, .stream = stream};
    fprintf(
        stream,
        "-kernel name = %s\n-kernel id = %u\n-grid dim = (%u,1,1)\n-block dim = (%u,1,1)\n-shmem = %u\n-nregs = %u\n"
        "-binary version = 80\n-cuda stream id = 0\n-shmem base_addr = 0x0000000000000000\n"
        "-local mem base_addr = 0x0000000000000000\n-nvbit version = none\n-accelsim tracer version = 3\n\n"
        "#traces format = PC mask dest_num [reg_dests] opcode src_num [reg_srcs] mem_width [adrrescompress?] "
        "[mem_addresses]\n\n",
        grid->name, number, grid->tb_count, grid->tb_threads, grid->tb_shared_bytes, grid->registers_per_thread);
    enum corun_status status = CORUN_OK;
    for (uint32_t i = 0; i < grid->tb_count && !status && !ferror(stream); i++)
        status = write_tb(writer, i);
    free(writer);
    return status;
}
