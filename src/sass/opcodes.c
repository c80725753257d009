/* SPDX-License-Identifier: MIT */
/* Opcodes of SASS: the table, and the registers behind the names of a trace. */
#include "sass/opcodes.h"

#include <string.h>

enum width { WIDTH_ONE, WIDTH_PAIR, WIDTH_DATA, WIDTH_COPY, WIDTH_FRAGMENTS };

struct row {
    const char *mnemonic;
    uint8_t unit, operation, space, width;
    uint32_t flags;
};

static const struct row rows[] = {
#define S(mnemonic, unit, operation, space, flags, width) \
    {mnemonic, CORUN_UNIT_##unit, CORUN_OPERATION_##operation, CORUN_SPACE_##space, WIDTH_##width, flags},
#include "sass/opcodes.def"
#undef S
};

/* Products: the digits behind the mnemonic, and the registers of D, A, B and C. */
struct product {
    const char *mnemonic, *shape;
    uint8_t type;
    uint16_t multiply_adds; /* of the warp, divided by 32 */
    uint8_t d, a, b;        /* C has as many as D; of half precision sums D has half as many */
};

static const struct product products[] = {
    {"HMMA", "884", CORUN_TENSOR_F16, 8, 2, 2, 2}, /* one of four steps of a product on Volta */
    {"HMMA", "1684", CORUN_TENSOR_TF32, 16, 4, 2, 1},
    {"HMMA", "1688", CORUN_TENSOR_F16, 32, 4, 2, 1},
    {"HMMA", "16816", CORUN_TENSOR_F16, 64, 4, 4, 2},
    {"HMMA", "16832", CORUN_TENSOR_F16, 128, 4, 4, 4},
    /* sparse */ {"IMMA", "8816", CORUN_TENSOR_S8, 32, 2, 1, 1},
    {"IMMA", "8832", CORUN_TENSOR_S4, 64, 2, 1, 1},
    {"IMMA", "16816", CORUN_TENSOR_S8, 64, 4, 2, 1},
    {"IMMA", "16832", CORUN_TENSOR_S8, 128, 4, 4, 2},
    {"IMMA", "16864", CORUN_TENSOR_S4, 256, 4, 4, 2},
    {"DMMA", "884", CORUN_TENSOR_F64, 8, 4, 2, 2},
    {"BMMA", "88128", CORUN_TENSOR_B1, 256, 2, 1, 1},
    {"BMMA", "168128", CORUN_TENSOR_B1, 512, 4, 2, 1},
    {"BMMA", "168256", CORUN_TENSOR_B1, 1024, 4, 4, 2},
    {"QMMA", "16816", CORUN_TENSOR_F8, 64, 4, 2, 1},
    {"QMMA", "16832", CORUN_TENSOR_F8, 128, 4, 4, 2},
};

/* The part behind the dot number `index`; part 0 is the mnemonic. NULL: there is none. */
static const char *part_of(const char *opcode, size_t bytes, uint32_t index, size_t *length)
{
    const char *end = opcode + bytes, *part = opcode;
    for (; index; index--) {
        part = memchr(part, '.', (size_t)(end - part));
        if (!part)
            return NULL;
        part++;
    }
    const char *dot = memchr(part, '.', (size_t)(end - part));
    *length = (size_t)((dot ? dot : end) - part);
    return part;
}

static bool is_word(const char *part, size_t length, const char *word)
{
    return length == strlen(word) && memcmp(part, word, length) == 0;
}

/* Whether the opcode has `word` behind one of its dots. */
static bool sass_has_modifier(const char *opcode, size_t bytes, const char *word)
{
    const char *part;
    size_t length;
    for (uint32_t i = 1; (part = part_of(opcode, bytes, i, &length)); i++) {
        if (is_word(part, length, word))
            return true;
    }
    return false;
}

static bool has(const struct sass_operands *operands, const char *word)
{
    return sass_has_modifier(operands->opcode, operands->opcode_bytes, word);
}

static const struct row *find_row(const struct sass_operands *operands)
{
    size_t length;
    const char *mnemonic = part_of(operands->opcode, operands->opcode_bytes, 0, &length);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (is_word(mnemonic, length, rows[i].mnemonic))
            return &rows[i];
    }
    return NULL;
}

static const struct product *find_product(const struct sass_operands *operands, const char *mnemonic)
{
    for (size_t i = 0; i < sizeof products / sizeof products[0]; i++) {
        if (strcmp(products[i].mnemonic, mnemonic) == 0 && has(operands, products[i].shape))
            return &products[i];
    }
    return NULL;
}

/* `count` registers from `first` on; what does not fit the lists is left out. */
static void add_sources(struct corun_instruction *instruction, uint32_t first, uint32_t count)
{
    for (uint32_t i = 0; first != SASS_ZERO_REGISTER && i < count && first + i < SASS_ZERO_REGISTER; i++) {
        if (instruction->source_count < CORUN_MAX_SOURCES)
            instruction->sources[instruction->source_count++] = (uint16_t)(first + i);
    }
}

static void add_destinations(struct corun_instruction *instruction, uint32_t first, uint32_t count)
{
    for (uint32_t i = 0; first != SASS_ZERO_REGISTER && i < count && first + i < SASS_ZERO_REGISTER; i++) {
        if (instruction->destination_count < CORUN_MAX_DESTINATIONS)
            instruction->destinations[instruction->destination_count++] = (uint16_t)(first + i);
    }
}

static uint32_t access_bytes(const struct sass_operands *operands)
{
    if (has(operands, "128") || has(operands, "M88"))
        return 16;
    if (has(operands, "64"))
        return 8;
    if (has(operands, "U16") || has(operands, "S16"))
        return 2;
    return has(operands, "U8") || has(operands, "S8") ? 1 : 4;
}

/* An address, and data of the width behind it; matrices out of shared memory have as many registers as there are matrices. */
static void add_access(const struct sass_operands *operands, const struct row *row,
                       struct corun_instruction *instruction)
{
    bool matrices = has(operands, "M88") || has(operands, "MT88");
    uint32_t bytes = matrices ? 16 : access_bytes(operands), registers = bytes > 4 ? bytes / 4 : 1;
    if (matrices)
        registers = has(operands, "4") ? 4 : has(operands, "2") ? 2 : 1;
    bool is_wide = has(operands, "E") || row->space == CORUN_SPACE_GLOBAL;
    instruction->access_bytes = (uint8_t)bytes;
    for (uint32_t i = 0; i < operands->source_count; i++)
        add_sources(instruction, operands->sources[i], i ? registers : is_wide ? 2 : 1);
    for (uint32_t i = 0; i < operands->destination_count; i++)
        add_destinations(instruction, operands->destinations[i], row->width == WIDTH_COPY ? 1 : registers);
    bool past_l1 = has(operands, "STRONG") || has(operands, "BYPASS");
    if (past_l1 && row->flags & CORUN_LOAD && row->space != CORUN_SPACE_SHARED)
        instruction->flags |= CORUN_BYPASS_L1;
}

static bool add_fragments(const struct sass_operands *operands, const struct row *row,
                          struct corun_instruction *instruction)
{
    const struct product *product = find_product(operands, row->mnemonic);
    if (!product)
        return false;
    bool tf32 = has(operands, "TF32"), s4 = has(operands, "S4") || has(operands, "U4");
    uint32_t d = product->type == CORUN_TENSOR_F16 && has(operands, "F16") && !has(operands, "F32") ? product->d / 2u
                                                                                                    : product->d;
    instruction->operation = tf32 ? CORUN_TENSOR_TF32 : s4 ? CORUN_TENSOR_S4 : product->type;
    instruction->multiply_adds = has(operands, "SP") ? product->multiply_adds / 2 : product->multiply_adds;
    for (uint32_t i = 0; i < operands->source_count; i++)
        add_sources(instruction, operands->sources[i], i == 0 ? product->a : i == 1 ? product->b : i == 2 ? d : 1);
    for (uint32_t i = 0; i < operands->destination_count; i++)
        add_destinations(instruction, operands->destinations[i], d);
    return true;
}

bool sass_describe(const struct sass_operands *operands, struct corun_instruction *instruction)
{
    const struct row *row = find_row(operands);
    *instruction = (struct corun_instruction){0};
    if (!row)
        return false;
    instruction->unit = row->unit;
    instruction->operation = row->operation;
    instruction->space = row->space;
    instruction->flags = row->flags;
    if (row->width == WIDTH_DATA || row->width == WIDTH_COPY) {
        add_access(operands, row, instruction);
        return true;
    }
    if (row->width == WIDTH_FRAGMENTS)
        return add_fragments(operands, row, instruction);
    if (row->flags & CORUN_BARRIER && has(operands, "ARV"))
        instruction->operation = SASS_BARRIER_ARRIVES;
    uint32_t each = row->width == WIDTH_PAIR ? 2 : 1, result = each;
    if (has(operands, "WIDE")) /* the sum of a wide product is a pair, its factors are not */
        result = 2;
    for (uint32_t i = 0; i < operands->source_count; i++)
        add_sources(instruction, operands->sources[i], i == 2 ? result : each);
    for (uint32_t i = 0; i < operands->destination_count; i++)
        add_destinations(instruction, operands->destinations[i], result);
    if (row->unit == CORUN_UNIT_MEMORY && row->space == CORUN_SPACE_CONSTANT)
        instruction->access_bytes = 4;
    return true;
}
