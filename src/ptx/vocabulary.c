/* SPDX-License-Identifier: MIT */
/* The tables of types.def, suffixes.def, special_registers.def and opcodes.def. */
#include "ptx/module.h"

const struct ptx_type_row ptx_types[PTX_TYPE_COUNT] = {
#define T(name, word, bits, kind, meaning) [PTX_TYPE_##name] = {word, bits, PTX_KIND_##kind},
#include "ptx/types.def"
#undef T
};

const struct ptx_suffix_row ptx_suffixes[PTX_SUFFIX_COUNT] = {
#define S(field, name, word, meaning) [PTX_##field##_##name] = {word, PTX_FIELD_##field},
#include "ptx/suffixes.def"
#undef S
};

const struct ptx_special_register_row ptx_special_registers[PTX_SPECIAL_COUNT] = {
#define R(name, text, type, meaning) [PTX_SPECIAL_##name] = {text, PTX_TYPE_##type},
#include "ptx/special_registers.def"
#undef R
};

const struct ptx_opcode_row ptx_opcodes[PTX_OP_COUNT] = {
#define OP(name, word, operands, types, second_types, fields, supported, meaning) \
    [PTX_OP_##name] = {word, operands, types, second_types, fields, supported, meaning},
#include "ptx/opcodes.def"
#undef OP
};
