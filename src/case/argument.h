/* SPDX-License-Identifier: MIT */
/* Arguments of a launch as people write them: u32=5, f32=1.5, buf=4M:random:7, buf=@FILE, bytes=@FILE. */
#ifndef CORUN_CASE_ARGUMENT_H
#define CORUN_CASE_ARGUMENT_H

#include "base/arena.h"
#include "corun/module.h"

/* Scalar kinds. A(name, word, bytes, is a float) */
#define ARGUMENT_SCALARS(A) \
    A(U32, "u32", 4, 0) \
    A(I32, "i32", 4, 0) \
    A(U64, "u64", 8, 0) \
    A(I64, "i64", 8, 0) \
    A(F32, "f32", 4, 1) \
    A(F64, "f64", 8, 1)

/* Fills of a buffer. F(name, form, meaning) */
#define ARGUMENT_FILLS(F) \
    F(ZERO, "", "zeroes") \
    F(RANDOM, "random:SEED", "uniform f32 in [0, 1)") \
    F(IOTA, "iota", "u32 0, 1, 2, ...") \
    F(F32, "f32=X", "f32 of that value") \
    F(U32, "u32=N", "u32 of that value")

enum argument_kind {
#define ARGUMENT_KIND(name, word, bytes, is_float) ARGUMENT_##name,
    ARGUMENT_SCALARS(ARGUMENT_KIND)
#undef ARGUMENT_KIND
        ARGUMENT_BUFFER, /* device memory; the argument is its address */
    ARGUMENT_BYTES       /* a structure by value */
};

enum argument_fill {
#define ARGUMENT_FILL(name, form, meaning) ARGUMENT_FILL_##name,
    ARGUMENT_FILLS(ARGUMENT_FILL)
#undef ARGUMENT_FILL
        ARGUMENT_FILL_FILE
};

struct argument {
    const char *text; /* as given */
    enum argument_kind kind;
    enum argument_fill fill;
    uint64_t bits;       /* of a scalar */
    uint64_t bytes;      /* of a buffer or structure */
    uint64_t fill_value; /* seed, bits of the f32, u32 */
    const void *data;    /* of a file */
    uint64_t address;    /* BUFFER, once placed */
};

/* Reads files where one is named. What is made lives in the arena. ARGUMENT, FILE, NOT_FOUND, MEMORY. */
enum corun_status argument_parse(const char *text, struct arena *arena, struct corun_diagnostics *list,
                                 struct argument *argument);
/* Allocates and fills a buffer; nothing to do for the others. MEMORY. */
enum corun_status argument_place(struct argument *argument, struct corun_memory *memory,
                                 struct corun_diagnostics *list);
/*
 * Builds the parameter block of a kernel: *block, parameter_bytes long, in the arena. ARGUMENT names the parameter that
 * an argument does not fit, or those that are missing.
 */
enum corun_status argument_pack(const struct argument *arguments, size_t count, const struct corun_kernel_info *kernel,
                                struct arena *arena, struct corun_diagnostics *list, void **block);

#endif
