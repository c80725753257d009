/* SPDX-License-Identifier: MIT */
/* The rows of a bulk copy: where each is in global memory, and how its bytes go there or come from there. */
#ifndef CORUN_ISA_BULK_ROWS_H
#define CORUN_ISA_BULK_ROWS_H

#include "isa/bulk.h"

/* Of copy->row_bytes bytes of a row those that are in the tensor: `bytes`, from `skip` on; they are at `address`. */
struct bulk_row {
    uint64_t address;
    uint32_t skip, bytes;
};

/* Fill in copy->rows and copy->row_bytes, and of a tensor copy->bytes, from everything else. */
void bulk_rows_of_tensor(struct bulk_copy *copy);
void bulk_rows_of_bytes(struct bulk_copy *copy);

struct bulk_row bulk_row(const struct bulk_copy *copy, uint32_t index);

/* The element of `width` bytes in shared memory, `at` bytes behind the beginning of a row. */
uint64_t bulk_element(const struct bulk_copy *copy, uint32_t row, uint32_t at, uint32_t width);

/* The bytes of a row as shared memory gets them, before the swizzle; at most BULK_ROW_BYTES. Says how many. */
#define BULK_ROW_BYTES 2048u
uint32_t bulk_read_row(struct executor_sm *sm, const struct bulk_copy *copy, uint32_t row, uint8_t *bytes);
#define BULK_UNIT_BYTES 16u /* that a swizzle keeps together */
/* Where the unit that begins `at` bytes behind the beginning of a row is in the shared memory of a thread block. */
uint8_t *bulk_unit(const struct bulk_copy *copy, const struct corun_tb *tb, uint32_t row, uint32_t at);

/* Moves all bytes now, and tells the barrier: of the thread block itself. Not for reductions in global memory. */
void bulk_move(struct executor_sm *sm, const struct bulk_copy *copy);
/* The same for every copy, in a run without timing, and of the other thread blocks that it is for. */
void bulk_move_untimed(struct executor_sm *sm, const struct bulk_copy *copy);

#endif
