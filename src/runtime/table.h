/* SPDX-License-Identifier: MIT */
/*
 * The table of a runtime: memory of the device that host and kernels share while kernels run. The host reads all of it and writes rows of
 * it by copies, in two streams of their own; kernels get its address. It is all zeros at first and after RENEWED.
 */
#ifndef CORUN_RUNTIME_TABLE_H
#define CORUN_RUNTIME_TABLE_H

#include "runtime/runtime.h"

/*
 * Once. Behind the table lie `apart` bytes that kernels alone read and write. UNSUPPORTED: the driver cannot copy rows; MEMORY; FAULT: the driver's
 * error.
 */
enum corun_status runtime_make_table(struct runtime *runtime, uint64_t bytes, uint64_t apart,
                                     struct corun_diagnostics *list);

/* Of the device; 0: there is none. Another one after RENEWED. */
unsigned long long runtime_table_address(const struct runtime *runtime);

/*
 * Begins to copy the table to the host: TABLE_READ tells when it is there. Copies come one at a time. ARGUMENT: there is no table, or
 * the copy before is under way; FAULT: runtime_wait will tell.
 */
enum corun_status runtime_table_read(struct runtime *runtime);
/* What the last TABLE_READ has brought, in the host's memory; until the next read begins. */
const void *runtime_table_copy(const struct runtime *runtime);

struct runtime_rows {
    uint64_t offset;      /* of the first, in the table */
    uint64_t pitch;       /* from one to the next there; in `data` they lie behind one another */
    uint64_t bytes, rows; /* of a row; their number */
    const void *data;
    bool at_once; /* no limits: they do not wait for what nobody counts */
};
/*
 * Begins to write rows; `data` may go at once. Workers of crews that are launched afterwards find them written. ARGUMENT: beside the
 * table; MEMORY; FAULT: runtime_wait will tell.
 */
enum corun_status runtime_table_write(struct runtime *runtime, const struct runtime_rows *rows);

/* Writes that have begun since the runtime was opened, and those of them that have been seen to end: the first so many. */
uint64_t runtime_table_written(const struct runtime *runtime);
uint64_t runtime_table_settled(const struct runtime *runtime);

#endif
