/* SPDX-License-Identifier: MIT */
/*
 * What the kernels and functions of a module read of their grid, themselves and through the functions that they call: what a pass has
 * to give them when the launch is another one than the program asked for. And what stands in the way of that.
 */
#ifndef CORUN_REWRITE_GRID_READS_H
#define CORUN_REWRITE_GRID_READS_H

#include "ptx/module.h"

/* V(NAME, name, register, the same in a grid without clusters, or again, type). Bit GRID_NAME of a set of values. */
#define GRID_VALUES_OF(V) \
    V(CTAID_X, ctaid_x, CTAID_X, CLUSTERID_X, B32) \
    V(CTAID_Y, ctaid_y, CTAID_Y, CLUSTERID_Y, B32) \
    V(CTAID_Z, ctaid_z, CTAID_Z, CLUSTERID_Z, B32) \
    V(NCTAID_X, nctaid_x, NCTAID_X, NCLUSTERID_X, B32) \
    V(NCTAID_Y, nctaid_y, NCTAID_Y, NCLUSTERID_Y, B32) \
    V(NCTAID_Z, nctaid_z, NCTAID_Z, NCLUSTERID_Z, B32) \
    V(GRIDID, gridid, GRIDID, GRIDID, B64)

enum grid_value {
#define GRID_VALUE_ENUM(name, text, special, same, type) GRID_##name,
    GRID_VALUES_OF(GRID_VALUE_ENUM)
#undef GRID_VALUE_ENUM
        GRID_VALUES
};

struct grid_value_row {
    const char *name; /* "ctaid_x" */
    uint8_t special;  /* enum ptx_special_register */
    uint8_t same;
    uint8_t type; /* enum ptx_type: B32 or B64 */
};
extern const struct grid_value_row grid_values[GRID_VALUES];

/* "%ctaid.x" */
const char *grid_value_text(enum grid_value value);

/* Of one function. */
struct grid_reads {
    uint32_t reads;         /* set of enum grid_value; functions that are called directly included */
    bool address_taken;     /* it may be called through a pointer, and its parameters have to stay */
    const char *obstacle;   /* why a kernel that reaches it cannot be told of another grid; NULL: it can */
    struct ptx_place place; /* of that */
};

/* The value that an instruction reads: mov or cvt. GRID_VALUES if none. */
enum grid_value grid_value_read(const struct ptx_instruction *instruction);

/* *rows, one per function of the module by index, is allocated in `arena`. OK or MEMORY. */
enum corun_status grid_reads_create(const struct ptx_module *module, struct arena *arena,
                                    const struct grid_reads **rows);

#endif
