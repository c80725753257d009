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

/* Moves all bytes now, and tells the barrier. Not for reductions in global memory. */
void bulk_move(struct executor_sm *sm, const struct bulk_copy *copy);
/* The same for every copy, in a run without timing. */
void bulk_move_untimed(struct executor_sm *sm, const struct bulk_copy *copy);

#endif
