/* SPDX-License-Identifier: MIT */
/*
 * The text of a traced kernel: lines `-name = value` at the head, then thread blocks of warps of instructions. An instruction is
 *
 *     [line] PC mask destinations [R…] opcode sources [R…] width [form addresses…] [immediate]
 *
 * where the form is 0 (an address for each active lane), 1 (the first one and a stride) or 2 (the first one and the difference
 * of each to the one before).
 */
#include "base/bits.h"
#include "sass/opcodes.h"
#include "sass/trace.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define MOST_PC (1u << 24)
#define MOST_THREADS 1024u
#define MOST_SHARED_BYTES (1u << 20)
#define WINDOW_BYTES (UINT64_C(1) << 24) /* of shared and local memory in the addresses of the traced GPU */
#define NO_CODE UINT32_MAX
#define NOBODY UINT32_MAX

struct word {
    const char *text;
    size_t bytes;
};

struct read_tb {
    uint32_t index; /* of the grid */
    size_t first;   /* into warps */
};

struct reader {
    struct sass_kernel *kernel;
    struct corun_diagnostics *list;
    const char *at, *end; /* of the text */
    const char *word, *line_end;
    uint32_t line;
    VECTOR(struct sass_code) code;
    VECTOR(uint32_t) code_at; /* by PC / 8 */
    VECTOR(struct read_tb) tbs;
    VECTOR(struct sass_warp) warps; /* of the thread blocks as they come */
    bool in_tb, placed;             /* between BEGIN and END; it has said which one it is */
    struct sass_warp *warp;         /* the present one; NULL: none */
    size_t wanted;                  /* instructions that it has said it has */
};

static struct corun_place place_of(const struct reader *reader)
{
    return (struct corun_place){reader->kernel->path, reader->line, 0};
}

#define WRONG(reader, ...) corun_report((reader)->list, CORUN_SYNTAX, place_of(reader), __VA_ARGS__)

static enum corun_status out_of_memory(const struct reader *reader)
{
    return corun_report(reader->list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory reading %s", reader->kernel->path);
}

/* The next line that is not empty. */
static bool next_line(struct reader *reader)
{
    while (reader->at < reader->end) {
        const char *end = memchr(reader->at, '\n', (size_t)(reader->end - reader->at));
        reader->word = reader->at;
        reader->line_end = end ? end : reader->end;
        reader->at = end ? end + 1 : reader->end;
        reader->line++;
        while (reader->word < reader->line_end && isspace((unsigned char)*reader->word))
            reader->word++;
        if (reader->word < reader->line_end)
            return true;
    }
    return false;
}

static bool next_word(struct reader *reader, struct word *word)
{
    while (reader->word < reader->line_end && isspace((unsigned char)*reader->word))
        reader->word++;
    word->text = reader->word;
    while (reader->word < reader->line_end && !isspace((unsigned char)*reader->word))
        reader->word++;
    word->bytes = (size_t)(reader->word - word->text);
    return word->bytes > 0;
}

static bool parse_number(const char *text, size_t bytes, uint32_t base, uint64_t *value)
{
    uint64_t sum = 0;
    if (base == 16 && bytes > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
        text += 2;
        bytes -= 2;
    }
    for (size_t i = 0; i < bytes; i++) {
        char c = text[i];
        uint32_t digit = c >= '0' && c <= '9'   ? (uint32_t)(c - '0')
                         : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a') + 10
                         : c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A') + 10
                                                : 99;
        if (digit >= base || sum > (UINT64_MAX - digit) / base)
            return false;
        sum = sum * base + digit;
    }
    *value = sum;
    return bytes > 0;
}

static enum corun_status read_number(struct reader *reader, uint32_t base, uint64_t most, const char *what,
                                     uint64_t *value)
{
    struct word word;
    if (!next_word(reader, &word))
        return WRONG(reader, "the line ends where %s should be", what);
    if (!parse_number(word.text, word.bytes, base, value))
        return WRONG(reader, "'%.*s' is not %s", (int)(word.bytes < 60 ? word.bytes : 60), word.text, what);
    if (*value > most)
        return WRONG(reader, "%s is more than %llu", what, (unsigned long long)most);
    return CORUN_OK;
}

static enum corun_status read_signed(struct reader *reader, const char *what, int64_t *value)
{
    while (reader->word < reader->line_end && isspace((unsigned char)*reader->word))
        reader->word++;
    bool negative = reader->word < reader->line_end && *reader->word == '-';
    reader->word += negative;
    uint64_t number = 0;
    enum corun_status status = read_number(reader, 10, INT64_MAX, what, &number);
    if (!status)
        *value = negative ? -(int64_t)number : (int64_t)number;
    return status;
}

/* What a line has behind its `=`; NULL if it begins otherwise. */
static const char *value_of(const struct reader *reader, const char *name)
{
    const char *at = reader->word;
    size_t length = strlen(name);
    if ((size_t)(reader->line_end - at) < length || memcmp(at, name, length) != 0)
        return NULL;
    at += length;
    while (at < reader->line_end && isspace((unsigned char)*at))
        at++;
    if (at == reader->line_end || *at++ != '=')
        return NULL;
    while (at < reader->line_end && isspace((unsigned char)*at))
        at++;
    return at;
}

static enum corun_status read_value(struct reader *reader, const char *value, uint32_t base, uint64_t most,
                                    const char *what, uint64_t *number)
{
    reader->word = value;
    return read_number(reader, base, most, what, number);
}

/* (x,y,z) or x,y,z */
static enum corun_status read_sizes(struct reader *reader, const char *value, const char *what, uint32_t sizes[3])
{
    const char *at = value, *end = reader->line_end;
    bool enclosed = at < end && *at == '(';
    at += enclosed;
    for (uint32_t i = 0; i < 3; i++) {
        const char *first = at;
        uint64_t number = 0;
        while (at < end && *at >= '0' && *at <= '9')
            at++;
        if (!parse_number(first, (size_t)(at - first), 10, &number) || number > INT32_MAX)
            return WRONG(reader, "expected three numbers for %s", what);
        sizes[i] = (uint32_t)number;
        if (i < 2 && (at == end || *at++ != ','))
            return WRONG(reader, "expected three numbers for %s", what);
    }
    return enclosed && (at == end || *at != ')') ? WRONG(reader, "the bracket of %s is not closed", what) : CORUN_OK;
}

static enum corun_status read_name(struct reader *reader, const char *value)
{
    const char *end = reader->line_end;
    while (end > value && isspace((unsigned char)end[-1]))
        end--;
    free(reader->kernel->name);
    reader->kernel->name = strndup(value, (size_t)(end - value));
    return reader->kernel->name ? CORUN_OK : out_of_memory(reader);
}

static enum corun_status read_small(struct reader *reader, const char *value, uint64_t most, const char *what,
                                    uint32_t *result)
{
    uint64_t number = 0;
    enum corun_status status = read_value(reader, value, 10, most, what, &number);
    *result = (uint32_t)number;
    return status;
}

/* A line of the head; those that say nothing of the kernel's time are passed over. */
static enum corun_status read_heading(struct reader *reader)
{
    struct sass_kernel *kernel = reader->kernel;
    const char *value;
    uint32_t flag = 0;
    enum corun_status status = CORUN_OK;
    if ((value = value_of(reader, "-kernel name")))
        return read_name(reader, value);
    if ((value = value_of(reader, "-grid dim")))
        return read_sizes(reader, value, "the grid", kernel->grid);
    if ((value = value_of(reader, "-block dim")))
        return read_sizes(reader, value, "the thread blocks", kernel->block);
    if ((value = value_of(reader, "-shmem")))
        return read_small(reader, value, MOST_SHARED_BYTES, "the shared memory", &kernel->shared_bytes);
    if ((value = value_of(reader, "-nregs")))
        return read_small(reader, value, SASS_ZERO_REGISTER, "the number of registers", &kernel->registers);
    if ((value = value_of(reader, "-binary version")))
        return read_small(reader, value, 1000, "the binary version", &kernel->binary_version);
    if ((value = value_of(reader, "-accelsim tracer version")))
        return read_small(reader, value, 1000, "the version of the tracer", &kernel->tracer_version);
    if ((value = value_of(reader, "-shmem base_addr")))
        return read_value(reader, value, 16, UINT64_MAX, "the address of shared memory", &kernel->shared_base);
    if ((value = value_of(reader, "-local mem base_addr")))
        return read_value(reader, value, 16, UINT64_MAX, "the address of local memory", &kernel->local_base);
    if ((value = value_of(reader, "-enable lineinfo"))) {
        status = read_small(reader, value, 1, "whether there are lines", &flag);
        kernel->has_lines = flag;
    }
    return status;
}

static enum corun_status check_heading(struct reader *reader)
{
    const struct sass_kernel *kernel = reader->kernel;
    uint64_t threads = (uint64_t)kernel->block[0] * kernel->block[1] * kernel->block[2];
    uint64_t tbs = (uint64_t)kernel->grid[0] * kernel->grid[1];
    if (!kernel->name)
        return WRONG(reader, "the head has no `-kernel name`");
    if (!tbs || !kernel->grid[2])
        return WRONG(reader, "the head has no `-grid dim`, or one with a dimension of 0");
    if (kernel->block[0] > MOST_THREADS || kernel->block[1] > MOST_THREADS || kernel->block[2] > MOST_THREADS ||
        threads == 0 || threads > MOST_THREADS)
        return WRONG(reader, "the head has no `-block dim` of 1 to %u threads", MOST_THREADS);
    if (tbs > UINT32_MAX || tbs * kernel->grid[2] > UINT32_MAX)
        return WRONG(reader, "the grid has too many thread blocks");
    reader->kernel->tb_count = (uint32_t)(tbs * kernel->grid[2]);
    reader->kernel->tb_warps = (uint32_t)((threads + CORUN_WARP_LANES - 1) / CORUN_WARP_LANES);
    return CORUN_OK;
}

static enum corun_status read_registers(struct reader *reader, uint32_t most, const char *what, uint32_t *count,
                                        uint16_t *registers)
{
    uint64_t number = 0;
    enum corun_status status = read_number(reader, 10, most, what, &number);
    *count = (uint32_t)number;
    for (uint32_t i = 0; i < *count && !status; i++) {
        struct word word;
        if (!next_word(reader, &word) || word.text[0] != 'R' ||
            !parse_number(word.text + 1, word.bytes - 1, 10, &number) || number > SASS_ZERO_REGISTER)
            return WRONG(reader, "expected a register, R0 to R%u", SASS_ZERO_REGISTER);
        registers[i] = (uint16_t)number;
    }
    return status;
}

static enum corun_status add_code(struct reader *reader, uint32_t pc, const char *words, size_t bytes,
                                  const struct sass_operands *operands, uint32_t *index)
{
    struct corun_instruction instruction;
    if (!sass_describe(operands, &instruction))
        return corun_report(reader->list, CORUN_UNSUPPORTED, place_of(reader), "not supported in a trace: %.*s",
                            (int)(operands->opcode_bytes < 60 ? operands->opcode_bytes : 60), operands->opcode);
    instruction.line = reader->line;
    *index = (uint32_t)reader->code.count;
    struct sass_code code = {pc, reader->line, words, bytes};
    return vector_push(&reader->code, code) && vector_push(&reader->kernel->code, instruction) ? CORUN_OK
                                                                                               : out_of_memory(reader);
}

/* The code behind a PC: new, or the same words as before. */
static enum corun_status find_code(struct reader *reader, uint32_t pc, const char *words, size_t bytes,
                                   const struct sass_operands *operands, uint32_t *index)
{
    while (reader->code_at.count <= pc / 8) {
        if (!vector_push(&reader->code_at, NO_CODE))
            return out_of_memory(reader);
    }
    *index = reader->code_at.data[pc / 8];
    if (*index == NO_CODE) {
        enum corun_status status = add_code(reader, pc, words, bytes, operands, index);
        reader->code_at.data[pc / 8] = *index;
        return status;
    }
    const struct sass_code *known = &reader->code.data[*index];
    if (known->pc != pc || known->bytes != bytes || memcmp(known->words, words, bytes) != 0)
        return WRONG(reader, "PC %04x is another instruction than in line %u", pc, known->line);
    return CORUN_OK;
}

static enum corun_status push_address(struct reader *reader, uint64_t address)
{
    return vector_push(&reader->kernel->addresses, address) ? CORUN_OK : out_of_memory(reader);
}

/* Differences between neighbours; older tracers write one for the first lane as well, which is the last of the list and unused. */
static enum corun_status read_differences(struct reader *reader, uint64_t address, uint32_t mask)
{
    enum corun_status status = push_address(reader, address);
    for (mask &= mask - 1; mask && !status; mask &= mask - 1) {
        int64_t difference = 0;
        status = read_signed(reader, "a difference of addresses", &difference);
        address += (uint64_t)difference;
        if (!status)
            status = push_address(reader, address);
    }
    return status;
}

static enum corun_status read_addresses(struct reader *reader, struct sass_instruction *instruction)
{
    uint32_t mask = instruction->mask, low = mask & (~mask + 1u);
    uint64_t form = 0, address = 0;
    int64_t stride = 0;
    enum corun_status status = read_number(reader, 10, 2, "the form of the addresses", &form);
    if (status || !mask)
        return status;
    instruction->first = (uint32_t)reader->kernel->addresses.count;
    if (reader->kernel->addresses.count > UINT32_MAX - 2 * CORUN_WARP_LANES)
        return corun_report(reader->list, CORUN_LIMIT, place_of(reader), "too many addresses for one kernel");
    instruction->form = form == 1 ? SASS_STRIDE : SASS_LIST;
    if (form == 0) {
        for (; mask && !status; mask &= mask - 1) {
            status = read_number(reader, 16, UINT64_MAX, "an address", &address);
            if (!status)
                status = push_address(reader, address);
        }
        return status;
    }
    status = read_number(reader, 16, UINT64_MAX, "an address", &address);
    if (status || form == 2)
        return status ? status : read_differences(reader, address, mask);
    if ((mask + low) & mask)
        return WRONG(reader, "a stride of addresses, but the active lanes are not neighbours");
    status = read_signed(reader, "the stride of the addresses", &stride);
    if (!status)
        status = push_address(reader, address);
    return status ? status : push_address(reader, (uint64_t)stride);
}

/* Older versions say before each instruction whose it is. */
static enum corun_status skip_owner(struct reader *reader)
{
    enum corun_status status = CORUN_OK;
    uint64_t number;
    for (uint32_t i = 0; i < 4 && reader->kernel->tracer_version < 3 && !status; i++)
        status = read_number(reader, 10, UINT32_MAX, "the number of a thread block or warp", &number);
    if (!status && reader->kernel->has_lines)
        status = read_number(reader, 10, UINT32_MAX, "a line of the source", &number);
    return status;
}

/* What may stand at the end: an immediate operand, or a difference that belongs to no lane. */
static enum corun_status read_rest(struct reader *reader)
{
    struct word immediate, word;
    if (next_word(reader, &immediate) && next_word(reader, &word))
        return WRONG(reader, "'%.*s' is more than the instruction has", (int)(word.bytes < 60 ? word.bytes : 60),
                     word.text);
    return CORUN_OK;
}

static enum corun_status read_instruction(struct reader *reader)
{
    struct sass_kernel *kernel = reader->kernel;
    struct sass_instruction instruction = {.form = SASS_NOTHING};
    struct sass_operands operands = {0};
    struct word opcode;
    uint64_t pc = 0, mask = 0, width = 0;
    if (!reader->warp)
        return WRONG(reader, "an instruction of no warp");
    enum corun_status status = skip_owner(reader);
    if (!status)
        status = read_number(reader, 16, MOST_PC, "a PC", &pc);
    if (!status && pc % 8)
        status = WRONG(reader, "PC %llx is not a multiple of 8", (unsigned long long)pc);
    if (!status)
        status = read_number(reader, 16, CORUN_FULL_MASK, "a mask of active lanes", &mask);
    const char *words = reader->word;
    if (!status)
        status = read_registers(reader, CORUN_MAX_DESTINATIONS, "a number of destinations", &operands.destination_count,
                                operands.destinations);
    if (!status && !next_word(reader, &opcode))
        status = WRONG(reader, "the line ends where an opcode should be");
    if (status)
        return status;
    operands.opcode = opcode.text;
    operands.opcode_bytes = opcode.bytes;
    status = read_registers(reader, CORUN_MAX_SOURCES, "a number of sources", &operands.source_count, operands.sources);
    size_t bytes = (size_t)(reader->word - words);
    if (!status)
        status = read_number(reader, 10, 1024, "the width of an access", &width);
    instruction.mask = (uint32_t)mask;
    if (!status)
        status = find_code(reader, (uint32_t)pc, words, bytes, &operands, &instruction.code);
    if (!status && width)
        status = read_addresses(reader, &instruction);
    if (!status)
        status = read_rest(reader);
    if (status)
        return status;
    const struct corun_instruction *code = &kernel->code.data[instruction.code];
    bool accesses = code->flags & (CORUN_LOAD | CORUN_STORE | CORUN_ATOMIC) && code->space != CORUN_SPACE_CONSTANT;
    if (accesses && mask && instruction.form == SASS_NOTHING)
        return WRONG(reader, "%.*s without addresses", (int)(opcode.bytes < 60 ? opcode.bytes : 60), opcode.text);
    kernel->thread_instructions += count_bits(instruction.mask);
    reader->warp->count++;
    return vector_push(&kernel->instructions, instruction) ? CORUN_OK : out_of_memory(reader);
}

static enum corun_status end_warp(struct reader *reader)
{
    if (reader->warp && reader->warp->count != reader->wanted)
        return WRONG(reader, "the warp before has %u instructions, and has said %zu", reader->warp->count,
                     reader->wanted);
    reader->warp = NULL;
    reader->wanted = 0;
    return CORUN_OK;
}

static enum corun_status begin_tb(struct reader *reader)
{
    struct read_tb tb = {0, reader->warps.count};
    if (reader->in_tb)
        return WRONG(reader, "a thread block begins within another one");
    reader->in_tb = true;
    reader->placed = false;
    if (!vector_push(&reader->tbs, tb))
        return out_of_memory(reader);
    for (uint32_t i = 0; i < reader->kernel->tb_warps; i++) {
        if (!vector_push(&reader->warps, ((struct sass_warp){SIZE_MAX, 0})))
            return out_of_memory(reader);
    }
    return CORUN_OK;
}

static enum corun_status place_tb(struct reader *reader, const char *value)
{
    const uint32_t *grid = reader->kernel->grid;
    uint32_t at[3];
    enum corun_status status = read_sizes(reader, value, "the thread block", at);
    if (status)
        return status;
    if (!reader->in_tb || reader->placed)
        return WRONG(reader, "the place of a thread block that has not begun, or has a place already");
    if (at[0] >= grid[0] || at[1] >= grid[1] || at[2] >= grid[2])
        return WRONG(reader, "thread block %u,%u,%u is outside of the grid", at[0], at[1], at[2]);
    reader->placed = true;
    reader->tbs.data[reader->tbs.count - 1].index = (at[2] * grid[1] + at[1]) * grid[0] + at[0];
    return CORUN_OK;
}

static enum corun_status begin_warp(struct reader *reader, const char *value)
{
    uint32_t number = 0;
    enum corun_status status = end_warp(reader);
    if (!status && !reader->placed)
        status = WRONG(reader, "a warp of no thread block");
    if (!status)
        status = read_small(reader, value, reader->kernel->tb_warps - 1, "the number of a warp", &number);
    if (status)
        return status;
    reader->warp = &reader->warps.data[reader->tbs.data[reader->tbs.count - 1].first + number];
    if (reader->warp->first != SIZE_MAX)
        return WRONG(reader, "warp %u comes a second time", number);
    reader->warp->first = reader->kernel->instructions.count;
    return CORUN_OK;
}

static enum corun_status end_tb(struct reader *reader)
{
    enum corun_status status = end_warp(reader);
    if (!status && !reader->placed)
        status = WRONG(reader, "a thread block ends that has not begun, or has no place");
    reader->in_tb = reader->placed = false;
    return status;
}

static enum corun_status read_line(struct reader *reader)
{
    const char *value;
    size_t left = (size_t)(reader->line_end - reader->word);
    uint64_t number = 0;
    if (left >= 9 && memcmp(reader->word, "#BEGIN_TB", 9) == 0)
        return begin_tb(reader);
    if (left >= 7 && memcmp(reader->word, "#END_TB", 7) == 0)
        return end_tb(reader);
    if (*reader->word == '#')
        return CORUN_OK;
    if ((value = value_of(reader, "thread block")))
        return place_tb(reader, value);
    if ((value = value_of(reader, "warp")))
        return begin_warp(reader, value);
    if ((value = value_of(reader, "insts"))) {
        if (!reader->warp || reader->warp->count)
            return WRONG(reader, "a number of instructions of no warp");
        enum corun_status status = read_value(reader, value, 10, UINT32_MAX, "a number of instructions", &number);
        reader->wanted = (size_t)number;
        return status;
    }
    return read_instruction(reader);
}

/* Thread blocks in the order of the grid. */
static enum corun_status order_tbs(struct reader *reader)
{
    struct sass_kernel *kernel = reader->kernel;
    if (reader->in_tb)
        return WRONG(reader, "the last thread block does not end");
    if (reader->tbs.count != kernel->tb_count)
        return WRONG(reader, "%zu thread blocks, but the grid has %u", reader->tbs.count, kernel->tb_count);
    size_t warps = (size_t)kernel->tb_count * kernel->tb_warps;
    for (size_t i = 0; i < warps; i++) {
        if (!vector_push(&kernel->warps, ((struct sass_warp){SIZE_MAX, NOBODY})))
            return out_of_memory(reader);
    }
    for (size_t i = 0; i < reader->tbs.count; i++) {
        const struct read_tb *tb = &reader->tbs.data[i];
        struct sass_warp *to = &kernel->warps.data[(size_t)tb->index * kernel->tb_warps];
        if (to->count != NOBODY)
            return WRONG(reader, "thread block %u of the grid comes twice", tb->index);
        memcpy(to, &reader->warps.data[tb->first], kernel->tb_warps * sizeof *to);
    }
    return CORUN_OK;
}

/* Code in the order of its addresses, with an EXIT behind it for warps whose lines end without one. */
static enum corun_status order_code(struct reader *reader)
{
    struct sass_kernel *kernel = reader->kernel;
    uint32_t *place = calloc(reader->code.count + 1, sizeof *place), count = 0;
    struct corun_instruction *ordered = calloc(reader->code.count + 1, sizeof *ordered);
    if (!place || !ordered) {
        free(place);
        free(ordered);
        return out_of_memory(reader);
    }
    for (size_t i = 0; i < reader->code_at.count; i++) {
        uint32_t index = reader->code_at.data[i];
        if (index == NO_CODE)
            continue;
        place[index] = count;
        ordered[count++] = kernel->code.data[index];
    }
    ordered[count] = (struct corun_instruction){.unit = CORUN_UNIT_CONTROL, .flags = CORUN_BRANCH | CORUN_EXIT};
    for (size_t i = 0; i < kernel->instructions.count; i++)
        kernel->instructions.data[i].code = place[kernel->instructions.data[i].code];
    vector_free(&kernel->code);
    kernel->code.data = ordered;
    kernel->code.count = kernel->code.capacity = count + 1u;
    free(place);
    return CORUN_OK;
}

static enum corun_status read_all(struct reader *reader)
{
    bool in_head = true;
    enum corun_status status = CORUN_OK;
    while (!status && next_line(reader)) {
        if (in_head && *reader->word == '-') {
            status = read_heading(reader);
            continue;
        }
        if (in_head)
            status = check_heading(reader);
        in_head = false;
        if (!status)
            status = read_line(reader);
    }
    if (!status && in_head)
        status = WRONG(reader, "there are no thread blocks");
    if (!status)
        status = order_tbs(reader);
    return status ? status : order_code(reader);
}

enum corun_status sass_kernel_read(const char *path, const char *text, size_t bytes, struct corun_diagnostics *list,
                                   struct sass_kernel **result)
{
    *result = NULL;
    struct sass_kernel *kernel = calloc(1, sizeof *kernel);
    if (!kernel || !(kernel->path = strdup(path))) {
        sass_kernel_destroy(kernel);
        return corun_report(list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory reading %s", path);
    }
    struct reader reader = {.kernel = kernel, .list = list, .at = text, .end = text + bytes};
    enum corun_status status = read_all(&reader);
    vector_free(&reader.code);
    vector_free(&reader.code_at);
    vector_free(&reader.tbs);
    vector_free(&reader.warps);
    if (status)
        sass_kernel_destroy(kernel);
    else
        *result = kernel;
    return status;
}

void sass_kernel_destroy(struct sass_kernel *kernel)
{
    if (!kernel)
        return;
    free(kernel->path);
    free(kernel->name);
    vector_free(&kernel->code);
    vector_free(&kernel->instructions);
    vector_free(&kernel->addresses);
    vector_free(&kernel->warps);
    free(kernel);
}

uint64_t sass_address(const struct sass_kernel *kernel, const struct sass_instruction *instruction, uint32_t lane)
{
    const uint64_t *addresses = kernel->addresses.data + instruction->first;
    uint32_t before = count_bits(instruction->mask & ((1u << lane) - 1u));
    return instruction->form == SASS_STRIDE ? addresses[0] + addresses[1] * before : addresses[before];
}

static bool is_in_window(uint64_t address, uint64_t base)
{
    return base && address >= base && address - base < WINDOW_BYTES;
}

enum corun_space sass_space(const struct sass_kernel *kernel, const struct corun_instruction *code, uint64_t address)
{
    if (code->space != CORUN_SPACE_GENERIC)
        return (enum corun_space)code->space;
    if (is_in_window(address, kernel->shared_base))
        return CORUN_SPACE_SHARED;
    return is_in_window(address, kernel->local_base) ? CORUN_SPACE_LOCAL : CORUN_SPACE_GLOBAL;
}
