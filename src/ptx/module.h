/* SPDX-License-Identifier: MIT */
/*
 * A PTX module: text that has been parsed and checked, and the vocabulary (operations, suffixes, types) that it is written in.
 *
 * Everything a module points to lives in its arena and does not change after ptx_parse: any number of threads may read it. Names have
 * been resolved: registers are numbers (scopes and `%r<100>` are gone), variables, functions and labels are pointers or
 * indices. Instructions of a function lie in one array in program order, and labels name indices in it.
 */
#ifndef CORUN_PTX_MODULE_H
#define CORUN_PTX_MODULE_H

#include "base/arena.h"
#include "corun/status.h"

#define PTX_NONE UINT32_MAX /* no register, no label */

enum ptx_type {
    PTX_TYPE_NONE,
#define T(name, word, bits, kind, meaning) PTX_TYPE_##name,
#include "ptx/types.def"
#undef T
    PTX_TYPE_COUNT
};

enum ptx_type_kind {
    PTX_KIND_NONE,
    PTX_KIND_PREDICATE,
    PTX_KIND_BITS,
    PTX_KIND_UNSIGNED,
    PTX_KIND_SIGNED,
    PTX_KIND_FLOAT,
    PTX_KIND_PACKED,
    PTX_KIND_OPAQUE
};

struct ptx_type_row {
    const char *word;
    uint16_t bits; /* 1 for a predicate */
    uint8_t kind;  /* enum ptx_type_kind */
};
extern const struct ptx_type_row ptx_types[PTX_TYPE_COUNT];

enum ptx_opcode {
    PTX_OP_NONE,
#define OP(name, word, operands, types, second_types, fields, supported, meaning) PTX_OP_##name,
#include "ptx/opcodes.def"
#undef OP
    PTX_OP_COUNT
};

/* One enumerator for every suffix word: PTX_ROUNDING_RN, PTX_COMPARISON_LT, PTX_SPACE_GLOBAL, … 0 means absent. */
enum ptx_suffix {
    PTX_SUFFIX_NONE,
#define S(field, name, word, meaning) PTX_##field##_##name,
#include "ptx/suffixes.def"
#undef S
    PTX_SUFFIX_COUNT
};

/*
 * Fields of an instruction that suffix words set: F(name, FIELD), in the order in which PTX wants the words (types follow them all, except
 * that the mode of prmt follows its type).
 */
#define PTX_FIELDS(F) \
    F(rank, RANK) \
    F(copy_to, COPY_TO) \
    F(copy_from, COPY_FROM) \
    F(copy_mode, COPY_MODE) \
    F(map_mode, MAP_MODE) \
    F(map_field, MAP_FIELD) \
    F(sync, SYNC) \
    F(aligned, ALIGNED) \
    F(mmio, MMIO) \
    F(semantics, SEMANTICS) \
    F(restriction, RESTRICTION) \
    F(scope, SCOPE) \
    F(to, TO) \
    F(space, SPACE) \
    F(completion, COMPLETION) \
    F(multicast, MULTICAST) \
    F(cache, CACHE) \
    F(noncoherent, NONCOHERENT) \
    F(eviction, EVICTION) \
    F(level, LEVEL) \
    F(prefetch, PREFETCH) \
    F(query, QUERY) \
    F(component, COMPONENT) \
    F(geometry, GEOMETRY) \
    F(vector, VECTOR) \
    F(shape, SHAPE) \
    F(number, NUMBER) \
    F(trans, TRANS) \
    F(layout, LAYOUT) \
    F(second_layout, SECOND_LAYOUT) \
    F(satfinite, SATFINITE) \
    F(map_bits, MAP_BITS) \
    F(direction, DIRECTION) \
    F(shift, SHIFT) \
    F(shuffle, SHUFFLE) \
    F(vote, VOTE) \
    F(atomic, ATOMIC) \
    F(comparison, COMPARISON) \
    F(boolean, BOOLEAN) \
    F(plus, PLUS) \
    F(scale, SCALE) \
    F(half, HALF) \
    F(carry, CARRY) \
    F(rounding, ROUNDING) \
    F(precision, PRECISION) \
    F(ftz, FTZ) \
    F(nan, NAN) \
    F(xorsign, XORSIGN) \
    F(magnitude, MAGNITUDE) \
    F(relu, RELU) \
    F(oob, OOB) \
    F(noftz, NOFTZ) \
    F(sat, SAT) \
    F(test, TEST) \
    F(shiftamt, SHIFTAMT) \
    F(uniform, UNIFORM) \
    F(outside, OUTSIDE) \
    F(reduction, REDUCTION) \
    F(permute, PERMUTE)

enum ptx_field {
#define F(name, field) PTX_FIELD_##field,
    PTX_FIELDS(F)
#undef F
        PTX_FIELD_COUNT
};

struct ptx_suffix_row {
    const char *word;
    uint8_t field; /* enum ptx_field */
};
extern const struct ptx_suffix_row ptx_suffixes[PTX_SUFFIX_COUNT];

enum ptx_special_register {
#define R(name, text, type, meaning) PTX_SPECIAL_##name,
#include "ptx/special_registers.def"
#undef R
    PTX_SPECIAL_COUNT
};

struct ptx_special_register_row {
    const char *text;
    uint8_t type; /* enum ptx_type */
};
extern const struct ptx_special_register_row ptx_special_registers[PTX_SPECIAL_COUNT];

/* Does it tell the time? */
static inline bool ptx_special_is_clock(uint32_t special)
{
    switch (special) {
    case PTX_SPECIAL_CLOCK:
    case PTX_SPECIAL_CLOCK_HI:
    case PTX_SPECIAL_CLOCK64:
    case PTX_SPECIAL_GLOBALTIMER:
    case PTX_SPECIAL_GLOBALTIMER_LO:
    case PTX_SPECIAL_GLOBALTIMER_HI:
        return true;
    default:
        return false;
    }
}

/* What opcodes.def says of an operation. */
struct ptx_opcode_row {
    const char *word;      /* "bar.warp.sync": all words that belong to the name */
    const char *operands;  /* see opcodes.def */
    uint64_t types;        /* bit set of enum ptx_type: first type suffix; 0: has none */
    uint64_t second_types; /* the second one */
    uint64_t fields;       /* bit set of enum ptx_field */
    bool supported;
    const char *meaning;
};
extern const struct ptx_opcode_row ptx_opcodes[PTX_OP_COUNT];

/* Operations on two halves or four bytes at once: of the result, of a and of b they name a type each. */
static inline bool ptx_is_video(uint32_t opcode)
{
    return (opcode >= PTX_OP_VADD2 && opcode <= PTX_OP_VMAX2) || (opcode >= PTX_OP_VADD4 && opcode <= PTX_OP_VMAX4);
}

/* Those on a part of each operand, and comparisons of two halves or four bytes. */
static inline bool ptx_is_scalar_video(uint32_t opcode)
{
    return opcode >= PTX_OP_VADD && opcode <= PTX_OP_VSET;
}
static inline bool ptx_is_video_comparison(uint32_t opcode)
{
    return opcode == PTX_OP_VSET || opcode == PTX_OP_VSET2 || opcode == PTX_OP_VSET4;
}

static inline bool ptx_is_fetch(uint32_t opcode)
{
    return opcode == PTX_OP_TEX || opcode == PTX_OP_TEX_LEVEL || opcode == PTX_OP_TEX_GRAD || opcode == PTX_OP_TLD4;
}

static inline bool ptx_is_video_pair_comparison(uint32_t opcode)
{
    return opcode == PTX_OP_VSET2 || opcode == PTX_OP_VSET4;
}

/* Which part of an operand counts: parts of an instruction have one for the destination, one for a, one for b. */
enum ptx_part { PTX_PART_WHOLE, PTX_PART_B0, PTX_PART_B1, PTX_PART_B2, PTX_PART_B3, PTX_PART_H0, PTX_PART_H1 };
#define PTX_PART_BITS 3u
#define PTX_PART_NEGATES(operand) (1u << (9 + (operand))) /* vmad: 0 is a, 1 b, 2 c */

/* Products of a warpgroup, of dense and of sparse matrices. */
static inline bool ptx_is_warpgroup_product(uint32_t opcode)
{
    return opcode == PTX_OP_WGMMA_MMA_ASYNC_SYNC || opcode == PTX_OP_WGMMA_MMA_ASYNC_SP_SYNC;
}

/* The most types that an operation has; those behind the second one are of the same set. */
static inline uint32_t ptx_type_limit(uint32_t opcode)
{
    const struct ptx_opcode_row *row = &ptx_opcodes[opcode];
    bool product = opcode >= PTX_OP_MMA_SYNC && opcode <= PTX_OP_WMMA_MMA_AND_POPC_SYNC;
    return ptx_is_warpgroup_product(opcode) || opcode == PTX_OP_CVT_PACK ? 3u
           : product                                                     ? 4u
                     : (uint32_t)((row->types != 0) + (row->second_types != 0) + ptx_is_video(opcode) +
                                  (ptx_is_scalar_video(opcode) && opcode != PTX_OP_VSET));
}

/* The fewest: a product of fragments of .f16 names two of its four, cvt.pack without c two of its three. */
static inline uint32_t ptx_type_fewest(uint32_t opcode)
{
    return opcode == PTX_OP_WMMA_MMA_SYNC || opcode == PTX_OP_CVT_PACK ? 2u : ptx_type_limit(opcode);
}

struct ptx_place {
    uint32_t line, column; /* from 1 */
};

struct ptx_function;
struct ptx_source_line;
struct ptx_source_file;

enum ptx_linkage { PTX_LINKAGE_NONE, PTX_LINKAGE_EXTERN, PTX_LINKAGE_VISIBLE, PTX_LINKAGE_WEAK, PTX_LINKAGE_COMMON };

enum ptx_declared {
    PTX_DECLARED_MODULE,   /* at the top level */
    PTX_DECLARED_FUNCTION, /* in a body */
    PTX_DECLARED_PARAMETER,
    PTX_DECLARED_RETURN
};

struct ptx_variable;

/* An address within an initial value: `bytes` bytes at `offset` are (address of the target + addend) >> shift, truncated. */
struct ptx_relocation {
    uint64_t offset;
    uint32_t bytes;
    uint32_t shift;                      /* 8 for the byte masks 0xFF00(name), 0 for the whole address */
    const struct ptx_variable *variable; /* exactly one of the two is set */
    const struct ptx_function *function;
    int64_t addend;
    bool generic; /* generic(name): as a generic address, not one within its space */
};

/*
 * A variable or parameter. Space is one of PTX_SPACE_GLOBAL, SHARED, LOCAL, CONST, PARAM, or PTX_SUFFIX_NONE for a parameter of a
 * device function that is a register (.reg; then `parameter_register` is its number).
 */
struct ptx_variable {
    const char *name;
    const struct ptx_function *function; /* whose parameter or whose body declares it; NULL at module scope */
    uint8_t space;                       /* enum ptx_suffix */
    uint8_t type;                        /* of an element */
    uint8_t declared;                    /* enum ptx_declared */
    uint8_t linkage;                     /* enum ptx_linkage */
    uint8_t pointer_space;               /* parameters with .ptr: the space named, or PTX_SUFFIX_NONE */
    bool is_pointer;                     /* parameter with .ptr */
    bool is_array;
    bool incomplete; /* extern without a size: dynamic shared memory, or defined elsewhere; bytes = 0 */
    uint32_t vector; /* 1, 2 or 4 elements of `type` make one element of the array */
    uint32_t align;  /* bytes, a power of two */
    uint32_t pointer_align;
    uint32_t index; /* in the list that holds it (see struct ptx_module and struct ptx_function) */
    uint32_t parameter_register;
    uint64_t bytes;
    uint64_t offset; /* parameters: in the parameter block */
    uint32_t dimension_count;
    const uint64_t *dimensions; /* 0 only as the first one of an incomplete array */
    const uint8_t *initial;     /* the first initial_bytes bytes; the rest is zero. NULL if there are none */
    uint64_t initial_bytes;
    const struct ptx_relocation *relocations; /* in ascending offset */
    uint32_t relocation_count;
    struct ptx_place place;
};

struct ptx_register {
    const char *name; /* as written; not unique: two scopes may use the same one; "" for the carry flag */
    uint8_t type;
};

/*
 * Label, up to what makes the name unique, of where a thread of a worker waits for the others of its thread block: the kernel that the worker runs has ended for this thread. For
 * whoever asks whether threads of a warp that are not at a barrier have ended.
 */
#define PTX_WORKER_END "corun_worker_end"

struct ptx_label {
    const char *name;
    uint32_t instruction; /* index of the instruction that follows; may equal instruction_count */
    struct ptx_place place;
    bool nounroll; /* .pragma "nounroll" stands there */
};

enum ptx_operand_kind {
    PTX_OPERAND_NONE,
    PTX_OPERAND_REGISTER,         /* index: register; negated: !%p */
    PTX_OPERAND_DISCARD,          /* _ */
    PTX_OPERAND_INTEGER,          /* bits: 64-bit two's complement value */
    PTX_OPERAND_F32,              /* bits: low 32 */
    PTX_OPERAND_F64,              /* bits */
    PTX_OPERAND_SPECIAL,          /* index: enum ptx_special_register */
    PTX_OPERAND_ADDRESS,          /* [register + offset]: index, offset */
    PTX_OPERAND_ADDRESS_VARIABLE, /* [variable + offset] */
    PTX_OPERAND_ADDRESS_ABSOLUTE, /* [offset] */
    PTX_OPERAND_VARIABLE,         /* address of variable + offset as a value; in a call: a .param variable */
    PTX_OPERAND_FUNCTION,         /* address of a function as a value */
    PTX_OPERAND_LABEL,            /* index: label of the function */
    PTX_OPERAND_TARGETS,          /* brx.idx: elements are LABEL operands, of which `index` is the number */
    PTX_OPERAND_TEXEL,            /* [texture, {coordinates}]: elements: REGISTER or VARIABLE, then the coordinates */
    PTX_OPERAND_VECTOR            /* elements: REGISTER, DISCARD or immediates */
};

/*
 * Float immediates are stored in the type that the instruction reads at that place (1.0 in add.f32 is F32, in add.f64 F64).
 * In an untyped place (mov.b32) they keep the kind they were written in: 0f… F32, everything else F64.
 */
struct ptx_operand {
    uint8_t kind; /* enum ptx_operand_kind */
    bool negated;
    uint16_t element_count;
    uint32_t index;
    union {
        uint64_t bits;
        int64_t offset;
    };
    union {
        const struct ptx_variable *variable;
        const struct ptx_function *function;
        const struct ptx_operand *elements;
    };
};

/* Return values and parameters of a function or of a .callprototype. */
struct ptx_signature {
    const char *name;
    const struct ptx_variable *const *returns;
    const struct ptx_variable *const *parameters;
    uint32_t return_count, parameter_count;
    bool noreturn;
};

/* Functions with `...` in C: the last parameter is an array without a size, and a call brings one of any size, or none. */
static inline bool ptx_signature_is_open(const struct ptx_signature *signature)
{
    return signature->parameter_count && signature->parameters[signature->parameter_count - 1]->incomplete;
}

struct ptx_call {
    const struct ptx_function *function;       /* direct; NULL if indirect */
    uint32_t target;                           /* indirect: the register with the function's address, else PTX_NONE */
    const struct ptx_signature *signature;     /* of the function or the prototype */
    const struct ptx_function *const *targets; /* .calltargets; NULL if not given */
    uint32_t target_count;
    const struct ptx_operand *results;   /* VARIABLE, REGISTER or DISCARD */
    const struct ptx_operand *arguments; /* VARIABLE, REGISTER or an immediate */
    uint32_t result_count, argument_count;
};

/* An atomic whose lanes all go to one address: the assembler makes one operation of them and gives each lane its part of the result. */
enum ptx_gathering {
    PTX_GATHER_NOTHING,
    PTX_GATHER_COUNT, /* the lanes have one value: counting them is enough */
    PTX_GATHER_VALUES /* each lane has a value of its own */
};

/*
 * operands[] are in the order written: the destination first where there is one. `d|p` puts d into operands[0] and p into `pair`.
 * types[] are the type suffixes in the order written: cvt.f32.s32 has types {F32, S32}. An optional operand that was
 * left out is left out here too (compare operand_count).
 */
/*
 * Machine instructions that one of PTX is, by who runs them: the pipeline for logic, that for products, either of them, that for special functions.
 * Less may be issued than is run, where an instruction that costs nothing takes the place of one.
 */
struct ptx_pieces {
    bool counted; /* src/assemble has; false as parsed */
    uint8_t issued, logic, products, either, special;
    uint8_t chain; /* those of them that wait for one before */
};

struct ptx_instruction {
    uint16_t opcode; /* enum ptx_opcode */
    uint8_t type_count;
    uint8_t operand_count;
    uint8_t types[4]; /* enum ptx_type; unused ones are NONE */
    union {
        struct {
#define F(name, field) uint8_t name;
            PTX_FIELDS(F)
#undef F
        };
        uint8_t fields[PTX_FIELD_COUNT]; /* enum ptx_suffix, indexed by enum ptx_field */
    };
    bool guard_negated;
    uint16_t columns, inner; /* N and K of shape M64 (.m64nNkK); else 0 */
    int16_t merged;          /* further instructions of the text that this one stands for (src/assemble); 0 as parsed */
    uint8_t gathered;        /* atomics: enum ptx_gathering (src/assemble); 0 as parsed */
    uint16_t parts;          /* scalar video: enum ptx_part of the destination, a and b, PTX_PART_NEGATES */
    struct ptx_pieces pieces;
    bool whole;     /* ld and st of two elements of .b64 that are one of .b128 */
    uint32_t guard; /* predicate register, PTX_NONE if there is none */
    uint32_t
        carry_flag; /* predicate register that stands for CC.CF: read by addc, subc, madc, written with .cc; else PTX_NONE */
    const struct ptx_operand *operands;
    struct ptx_operand pair;     /* setp p|q, shfl d|p, …: REGISTER or DISCARD; kind NONE if absent */
    const struct ptx_call *call; /* call only */
    struct ptx_place place;
};

struct ptx_function {
    const char *name;
    bool is_entry;
    bool has_body; /* false: declared only (vprintf and other functions of the system) */
    uint8_t linkage;
    uint32_t index; /* in module->functions */
    struct ptx_signature signature;
    uint64_t parameter_bytes;                      /* of the parameter block */
    uint32_t maxntid[3], reqntid[3];               /* 0: not given; missing dimensions are 1 */
    uint32_t minnctapersm, maxnctapersm, maxnreg;  /* 0: not given */
    uint32_t reqnctapercluster[3], maxclusterrank; /* 0: not given; missing dimensions are 1 */
    bool explicitcluster, blocksareclusters;
    const char *const *pragmas; /* of the function, without quotes */
    uint32_t pragma_count;
    const struct ptx_register *registers;
    uint32_t register_count;
    const struct ptx_variable *const *variables; /* .local and .param variables declared in the body */
    uint32_t variable_count;
    const struct ptx_variable *const
        *shared; /* shared variables that the body declares or names (not those of callees) */
    uint32_t shared_count;
    const struct ptx_label *labels;
    uint32_t label_count;
    const struct ptx_instruction *instructions;
    uint32_t instruction_count;
    struct ptx_place place;
};

struct ptx_module {
    struct arena *arena;
    const char *file;                            /* as given to ptx_parse */
    uint32_t version;                            /* 8.1 is 801 */
    const char *target;                          /* "sm_75" */
    uint32_t target_sm;                          /* 75 */
    const char *target_options;                  /* what followed the first target, without `debug`; "" if nothing */
    uint32_t address_bits;                       /* 32 or 64 */
    const struct ptx_variable *const *variables; /* every .global, .const and .shared variable, those of bodies last */
    uint32_t variable_count;
    const struct ptx_function *const *functions; /* device functions, then entries, in order of first declaration */
    uint32_t function_count;
    const struct ptx_source_line *source_lines; /* source_lines.h */
    const struct ptx_source_file *source_files;
    uint32_t source_line_count, source_file_count;
};

/*
 * Parses and checks a module. `name` is the file in messages; the text need not end with NUL and is not needed afterwards. Several
 * errors may be reported; the status is that of the first one: SYNTAX, UNSUPPORTED (“not supported: NAME”) or MEMORY. *module is NULL
 * unless OK. Call ptx_module_destroy in the end.
 */
enum corun_status ptx_parse(const char *name, const char *text, size_t bytes, struct corun_diagnostics *list,
                            struct ptx_module **module);
void ptx_module_destroy(struct ptx_module *module);

/* NULL if there is none of that name. */
const struct ptx_function *ptx_module_function(const struct ptx_module *module, const char *name);
/* Module-scope variables only. */
const struct ptx_variable *ptx_module_variable(const struct ptx_module *module, const char *name);

/* True if both say the same; names of registers, labels and variables of bodies and all places are not compared. */
bool ptx_module_equal(const struct ptx_module *left, const struct ptx_module *right);

/*
 * The letters of opcodes.def for `count` operands that are there, one each: fewer than the operation has means that the optional
 * ones are not. `letters` has PTX_MAX_LETTERS places; returns how many it filled.
 */
#define PTX_MAX_LETTERS 10u
uint32_t ptx_operand_letters(uint16_t opcode, uint32_t count, char *letters);

/* Registers that an instruction reads and writes, each occurrence once; the guard is read. */
enum ptx_access { PTX_READ, PTX_WRITE };
void ptx_instruction_registers(const struct ptx_instruction *instruction,
                               void (*visit)(void *user, uint32_t register_index, enum ptx_access access), void *user);

static inline bool ptx_type_is_integer(enum ptx_type type)
{
    return ptx_types[type].kind == PTX_KIND_UNSIGNED || ptx_types[type].kind == PTX_KIND_SIGNED;
}

static inline bool ptx_type_is_signed(enum ptx_type type)
{
    return ptx_types[type].kind == PTX_KIND_SIGNED;
}

static inline bool ptx_type_is_half(enum ptx_type type)
{
    return type == PTX_TYPE_F16 || type == PTX_TYPE_F16X2 || type == PTX_TYPE_BF16 || type == PTX_TYPE_BF16X2;
}

/* Pairs of 16-bit integers. */
static inline bool ptx_type_is_pair(enum ptx_type type)
{
    return type == PTX_TYPE_U16X2 || type == PTX_TYPE_S16X2;
}

/* Pairs of 8-bit floats. */
static inline bool ptx_type_is_eighths(enum ptx_type type)
{
    return type == PTX_TYPE_E4M3X2 || type == PTX_TYPE_E5M2X2;
}

static inline bool ptx_type_is_float(enum ptx_type type)
{
    return ptx_types[type].kind == PTX_KIND_FLOAT;
}

#endif
