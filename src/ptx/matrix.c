/* SPDX-License-Identifier: MIT */
/* The table of matrix.def, looked up for an instruction. */
#include "ptx/matrix.h"

#include <stdlib.h>

#define TYPES_OF_BYTES (UINT64_C(1) << PTX_TYPE_S8 | UINT64_C(1) << PTX_TYPE_U8)

enum layouts { ANY, ROW_COL };

struct row {
    uint8_t form, shape, layouts;
    uint64_t multiplicands, accumulators;
};

static const struct row rows[] = {
#define M(form, shape, multiplicands, accumulators, layouts) \
    {PTX_MATRIX_##form, PTX_SHAPE_##shape, layouts, multiplicands, accumulators},
#include "ptx/matrix.def"
#undef M
};

enum columns { EIGHTS, SIXTEENTHS };

struct warpgroup_row {
    uint16_t inner, columns;
    uint64_t multiplicands, accumulators;
};

static const struct warpgroup_row warpgroup_rows[] = {
#define W(inner, multiplicands, accumulators, columns) {inner, columns, multiplicands, accumulators},
#include "ptx/matrix.def"
#undef W
};

static bool has(uint64_t types, uint32_t type)
{
    return types >> type & 1;
}

static bool multiplies(uint32_t opcode)
{
    return opcode >= PTX_OP_MMA_SYNC && opcode <= PTX_OP_WMMA_MMA_AND_POPC_SYNC;
}

static bool moves_fragment(uint32_t opcode)
{
    return opcode >= PTX_OP_WMMA_LOAD_A_SYNC && opcode <= PTX_OP_WMMA_STORE_D_SYNC;
}

bool ptx_is_matrix(uint32_t opcode)
{
    return multiplies(opcode) || moves_fragment(opcode) || ptx_is_warpgroup_product(opcode);
}

bool ptx_is_of_matrices(uint32_t opcode)
{
    return (opcode >= PTX_OP_LDMATRIX_SYNC && opcode <= PTX_OP_WMMA_STORE_D_SYNC) || ptx_is_warpgroup_product(opcode);
}

/* "m16n8k4": the words of suffixes.def say the numbers. */
static void set_shape(struct ptx_matrix *matrix, uint32_t shape)
{
    char *end;
    matrix->m = (uint16_t)strtoul(ptx_suffixes[shape].word + 1, &end, 10);
    matrix->n = (uint16_t)strtoul(end + 1, &end, 10);
    matrix->k = (uint16_t)strtoul(end + 1, &end, 10);
}

static enum ptx_matrix_form form_of(uint32_t opcode)
{
    return opcode == PTX_OP_MMA_SYNC      ? PTX_MATRIX_MMA
           : opcode == PTX_OP_MMA_SP_SYNC ? PTX_MATRIX_SPARSE
                                          : PTX_MATRIX_WMMA;
}

/* The types of d, a, b and c; wmma of f16 names those of d and c only. */
static void set_types(struct ptx_matrix *matrix, const struct ptx_instruction *instruction)
{
    const uint8_t *types = instruction->types;
    bool all = instruction->type_count == 4;
    matrix->d = types[0];
    matrix->a = all ? types[1] : PTX_TYPE_F16;
    matrix->b = all ? types[2] : PTX_TYPE_F16;
    matrix->c = types[all ? 3 : 1];
}

static bool fits(const struct row *row, const struct ptx_matrix *matrix)
{
    return has(row->multiplicands, matrix->a) && has(row->multiplicands, matrix->b) &&
           has(row->accumulators, matrix->c) && has(row->accumulators, matrix->d);
}

static bool find_warpgroup(const struct ptx_instruction *instruction, struct ptx_matrix *matrix)
{
    const uint8_t *types = instruction->types;
    uint16_t n = instruction->columns;
    bool sparse = instruction->opcode == PTX_OP_WGMMA_MMA_ASYNC_SP_SYNC;
    *matrix = (struct ptx_matrix){.form = PTX_MATRIX_WARPGROUP,
                                  .d = types[0],
                                  .a = types[1],
                                  .b = types[2],
                                  .c = types[0],
                                  .sparse = sparse,
                                  .m = PTX_WARPGROUP_ROWS,
                                  .n = n,
                                  .k = instruction->inner};
    for (size_t i = 0; i < sizeof warpgroup_rows / sizeof *warpgroup_rows; i++) {
        const struct warpgroup_row *row = &warpgroup_rows[i];
        bool wide = n % 8 == 0 && n >= 8 && n <= 256 && (row->columns == EIGHTS || n % 16 == 0 || n <= 24);
        bool there = !sparse || !has(row->multiplicands, PTX_TYPE_B1);
        if (row->inner << sparse == matrix->k && wide && there && has(row->multiplicands, matrix->a) &&
            has(row->multiplicands, matrix->b) && has(row->accumulators, matrix->d))
            return true;
    }
    return false;
}

bool ptx_matrix_find(const struct ptx_instruction *instruction, struct ptx_matrix *matrix)
{
    if (ptx_is_warpgroup_product(instruction->opcode))
        return find_warpgroup(instruction, matrix);
    uint32_t opcode = instruction->opcode;
    enum ptx_type type = (enum ptx_type)instruction->types[0];
    *matrix = (struct ptx_matrix){.form = (uint8_t)form_of(opcode), .sparse = opcode == PTX_OP_MMA_SP_SYNC};
    if (multiplies(opcode))
        set_types(matrix, instruction);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].form != matrix->form || rows[i].shape != instruction->shape)
            continue;
        bool moves_c = opcode == PTX_OP_WMMA_LOAD_C_SYNC || opcode == PTX_OP_WMMA_STORE_D_SYNC;
        if (multiplies(opcode)) {
            if (!fits(&rows[i], matrix))
                continue;
        } else if (!has(moves_c ? rows[i].accumulators : rows[i].multiplicands, type)) {
            continue;
        } else {
            matrix->a = matrix->b = matrix->c = matrix->d = (uint8_t)type;
        }
        matrix->any_layout = rows[i].layouts == ANY;
        set_shape(matrix, instruction->shape);
        return true;
    }
    return false;
}

/* Which accumulators go together, and which multiplicands. */
static const char *wrong_types(const struct ptx_instruction *instruction, const struct ptx_matrix *matrix)
{
    bool widens = matrix->m == 8 && matrix->a == PTX_TYPE_F16 && matrix->d == PTX_TYPE_F32;
    if (matrix->c != matrix->d && matrix->form != PTX_MATRIX_WMMA && !widens)
        return "has accumulators of two types";
    if (matrix->a != matrix->b && (matrix->form == PTX_MATRIX_WMMA || ptx_types[matrix->a].bits > 8))
        return "has multiplicands of two types";
    if (matrix->form == PTX_MATRIX_WMMA && (matrix->a == PTX_TYPE_F16) != (instruction->type_count == 2))
        return "names all four types, unless it multiplies .f16";
    if (instruction->satfinite && matrix->d != PTX_TYPE_S32)
        return "has .satfinite without accumulators of type .s32";
    if (instruction->rounding && (matrix->d != PTX_TYPE_F64 || instruction->rounding != PTX_ROUNDING_RN))
        return "takes a rounding with type .f64 only, and that is .rn";
    bool bits = matrix->a == PTX_TYPE_B1, named = instruction->opcode == PTX_OP_WMMA_MMA_XOR_POPC_SYNC ||
                                                  instruction->opcode == PTX_OP_WMMA_MMA_AND_POPC_SYNC;
    bool combines = (instruction->atomic == PTX_ATOMIC_XOR || instruction->atomic == PTX_ATOMIC_AND) &&
                    instruction->reduction == PTX_REDUCTION_POPC;
    if (bits && !named && !combines)
        return "needs .xor.popc or .and.popc with type .b1";
    if (!bits && (named || instruction->atomic || instruction->reduction))
        return "combines bits without type .b1";
    return NULL;
}

static const char *wrong_product(const struct ptx_instruction *instruction)
{
    struct ptx_matrix matrix;
    if (!instruction->layout || !instruction->second_layout)
        return "needs the layouts of a and b, such as .row.col";
    if (!ptx_matrix_find(instruction, &matrix))
        return "does not exist with this shape and these types";
    if (!matrix.any_layout &&
        (instruction->layout != PTX_LAYOUT_ROW || instruction->second_layout != PTX_SECOND_LAYOUT_COL))
        return "exists as .row.col only";
    return wrong_types(instruction, &matrix);
}

static const char *wrong_fragment(const struct ptx_instruction *instruction)
{
    struct ptx_matrix matrix;
    if (!instruction->layout)
        return "needs .row or .col";
    if (!ptx_matrix_find(instruction, &matrix))
        return "does not exist with this shape and type";
    bool wanted = instruction->opcode == PTX_OP_WMMA_LOAD_A_SYNC   ? instruction->layout == PTX_LAYOUT_ROW
                  : instruction->opcode == PTX_OP_WMMA_LOAD_B_SYNC ? instruction->layout == PTX_LAYOUT_COL
                                                                   : true;
    return wanted || matrix.any_layout ? NULL : "exists with a as .row and b as .col only";
}

static const char *wrong_warpgroup(const struct ptx_instruction *instruction)
{
    struct ptx_matrix matrix;
    bool combines = instruction->atomic == PTX_ATOMIC_AND && instruction->reduction == PTX_REDUCTION_POPC;
    if (!ptx_matrix_find(instruction, &matrix))
        return "does not exist with this shape and these types";
    if (instruction->satfinite && !has(TYPES_OF_BYTES, matrix.a))
        return "takes .satfinite with .s8 and .u8 only";
    if (matrix.a == PTX_TYPE_B1 ? !combines : instruction->atomic || instruction->reduction)
        return matrix.a == PTX_TYPE_B1 ? "needs .and.popc with type .b1" : "combines bits without type .b1";
    return NULL;
}

uint32_t ptx_matrix_constants(const struct ptx_matrix *matrix, bool registers)
{
    if (matrix->d == PTX_TYPE_S32)
        return 0;
    return ptx_types[matrix->a].bits != 16 ? 2 : registers ? 3 : 4;
}

/* What has no other suffix. */
static bool only_aligned(uint32_t opcode)
{
    return (opcode >= PTX_OP_WGMMA_FENCE_SYNC && opcode <= PTX_OP_WGMMA_WAIT_GROUP_SYNC) ||
           opcode == PTX_OP_SETMAXNREG_INC_SYNC || opcode == PTX_OP_SETMAXNREG_DEC_SYNC;
}

const char *ptx_matrix_problem(const struct ptx_instruction *instruction)
{
    uint32_t opcode = instruction->opcode;
    bool tiles = opcode == PTX_OP_LDMATRIX_SYNC || opcode == PTX_OP_STMATRIX_SYNC || opcode == PTX_OP_MOVMATRIX_SYNC;
    if (only_aligned(opcode))
        return instruction->aligned ? NULL : "needs .aligned";
    if (!tiles && !ptx_is_matrix(opcode))
        return NULL;
    if (!instruction->aligned)
        return "needs .aligned";
    if (!instruction->shape)
        return "needs a shape";
    if (ptx_is_warpgroup_product(opcode))
        return wrong_warpgroup(instruction);
    if (!tiles)
        return multiplies(opcode) ? wrong_product(instruction) : wrong_fragment(instruction);
    if (instruction->shape != PTX_SHAPE_M8N8)
        return "exists with shape .m8n8 only";
    if (opcode == PTX_OP_MOVMATRIX_SYNC)
        return instruction->trans ? NULL : "needs .trans";
    if (instruction->space && instruction->space != PTX_SPACE_SHARED)
        return "works on .shared only";
    return instruction->number ? NULL : "needs .x1, .x2 or .x4";
}

enum ptx_matrix_role ptx_matrix_role(const struct ptx_instruction *instruction, uint32_t index)
{
    switch (instruction->opcode) {
    case PTX_OP_WMMA_LOAD_A_SYNC:
        return PTX_MATRIX_A;
    case PTX_OP_WMMA_LOAD_B_SYNC:
        return PTX_MATRIX_B;
    case PTX_OP_WMMA_LOAD_C_SYNC:
    case PTX_OP_WMMA_STORE_D_SYNC:
        return PTX_MATRIX_C;
    default:
        return index == 1 ? PTX_MATRIX_A : index == 2 ? PTX_MATRIX_B : PTX_MATRIX_C;
    }
}

enum ptx_type ptx_matrix_element(const struct ptx_matrix *matrix, enum ptx_matrix_role role)
{
    return (enum ptx_type)(role == PTX_MATRIX_A ? matrix->a : role == PTX_MATRIX_B ? matrix->b : matrix->c);
}

/* mma.sp and wgmma.mma_async.sp: from how many parts of a group of lanes the metadata may come; 0 for all other instructions. */
static uint32_t count_selectors(const struct ptx_instruction *instruction)
{
    struct ptx_matrix matrix;
    if (!ptx_matrix_find(instruction, &matrix) || !matrix.sparse)
        return 0;
    uint32_t bits = ptx_types[matrix.a].bits;
    uint32_t chunk = bits == 32 ? 2 : bits == 4 ? 8 : 4; /* columns that four bits of metadata are about */
    return 4 / (matrix.k / chunk * 4 * 16 / (8 * 32));
}

static const char *wanted_selector(const struct ptx_instruction *instruction, uint64_t found)
{
    uint32_t selectors = count_selectors(instruction);
    return found < selectors ? NULL
           : selectors == 1  ? "the selector 0"
           : selectors == 2  ? "a selector of 0 or 1"
                             : "a selector from 0 to 3";
}

/* As many constants as this product has, and what they may be. */
static const char *wanted_of_warpgroup(const struct ptx_instruction *instruction,
                                       const struct ptx_operand *const *operands, uint32_t count, uint32_t *index)
{
    static const char *const counts[2][5] = {
        {"4 operands with these types", "", "6 operands with these types",
         "7 operands, with these types and a in registers", "8 operands, with these types and a in shared memory"},
        {"6 operands with these types", "", "8 operands with these types",
         "9 operands, with these types and a in registers", "10 operands, with these types and a in shared memory"}};
    struct ptx_matrix matrix;
    (void)ptx_matrix_find(instruction, &matrix);
    uint32_t first = matrix.sparse ? 6 : 4; /* behind the predicate */
    for (*index = 1; *index <= 2; ++*index)
        if (operands[*index]->kind != PTX_OPERAND_REGISTER && (*index == 2 || operands[1]->kind != PTX_OPERAND_VECTOR))
            return "the descriptor of a matrix, in a register of 64 bits";
    uint32_t constants = ptx_matrix_constants(&matrix, operands[1]->kind == PTX_OPERAND_VECTOR);
    *index = count - 1;
    if (count != first + constants)
        return counts[matrix.sparse][constants];
    *index = 4;
    const char *selector = matrix.sparse ? wanted_selector(instruction, operands[4]->bits) : NULL;
    if (selector)
        return selector;
    for (*index = first; *index < count; ++*index) {
        int64_t value = (int64_t)operands[*index]->bits;
        if (*index < first + 2 ? value != 1 && value != -1 : value != 0 && value != 1)
            return *index < first + 2 ? "the sign of a matrix, 1 or -1" : "0, or 1 for a transposed matrix";
    }
    return NULL;
}

const char *ptx_matrix_wanted(const struct ptx_instruction *instruction, const struct ptx_operand *const *operands,
                              uint32_t count, uint32_t *index)
{
    *index = 0;
    switch (instruction->opcode) {
    case PTX_OP_MMA_SP_SYNC:
        *index = 5;
        return wanted_selector(instruction, operands[5]->bits);
    case PTX_OP_WGMMA_MMA_ASYNC_SYNC:
    case PTX_OP_WGMMA_MMA_ASYNC_SP_SYNC:
        return wanted_of_warpgroup(instruction, operands, count, index);
    case PTX_OP_WGMMA_WAIT_GROUP_SYNC:
        return operands[0]->bits > UINT32_MAX ? "a number of groups" : NULL;
    case PTX_OP_SETMAXNREG_INC_SYNC:
    case PTX_OP_SETMAXNREG_DEC_SYNC:
        return operands[0]->bits % 8 || operands[0]->bits - 24 > 256 - 24 ? "a multiple of 8 from 24 to 256" : NULL;
    default:
        return NULL;
    }
}

static uint32_t count(const struct ptx_matrix *matrix, enum ptx_matrix_role role, enum ptx_type type)
{
    uint32_t columns = role == PTX_MATRIX_A && matrix->sparse ? matrix->k / 2u : matrix->k;
    uint32_t elements = role == PTX_MATRIX_A   ? matrix->m * columns
                        : role == PTX_MATRIX_B ? matrix->k * (uint32_t)matrix->n
                                               : (uint32_t)matrix->m * matrix->n;
    uint32_t bits = ptx_types[type].bits, width = bits == 64 ? 64 : 32;
    /* Four products at once: each of 8 lanes. */
    uint32_t lanes = matrix->form == PTX_MATRIX_MMA && matrix->m == 8 && matrix->a == PTX_TYPE_F16 ? 8 : 32;
    return elements * bits / width / lanes;
}

uint32_t ptx_matrix_distinct(const struct ptx_matrix *matrix, enum ptx_matrix_role role)
{
    return count(matrix, role, ptx_matrix_element(matrix, role));
}

/* Fragments of .f16 have 16 elements in wmma, whatever the shape. */
static uint32_t whole(const struct ptx_matrix *matrix, enum ptx_matrix_role role, enum ptx_type type)
{
    bool fixed = matrix->form == PTX_MATRIX_WMMA && type == PTX_TYPE_F16 && role != PTX_MATRIX_C;
    return fixed ? 8 : count(matrix, role, type);
}

uint32_t ptx_matrix_registers(const struct ptx_instruction *instruction, uint32_t index, enum ptx_type *type)
{
    struct ptx_matrix matrix;
    *type = PTX_TYPE_B32;
    if (!ptx_is_matrix(instruction->opcode))
        return instruction->number == PTX_NUMBER_X4 ? 4 : instruction->number == PTX_NUMBER_X2 ? 2 : 1;
    if (!ptx_matrix_find(instruction, &matrix))
        return 0;
    enum ptx_matrix_role role = ptx_matrix_role(instruction, index);
    enum ptx_type element = ptx_matrix_element(&matrix, role);
    if (index == 0 && (multiplies(instruction->opcode) || matrix.form == PTX_MATRIX_WARPGROUP))
        element = (enum ptx_type)matrix.d;
    if (element == PTX_TYPE_F64 || (role == PTX_MATRIX_C && ptx_types[element].bits == 32))
        *type = element;
    return whole(&matrix, role, element);
}
