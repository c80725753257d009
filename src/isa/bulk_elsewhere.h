/* SPDX-License-Identifier: MIT */
/*
 * Bulk copies to shared memory of other thread blocks of a cluster: to one, by its address, or to those of a mask (.multicast::cluster), at the same
 * place in each, where the barrier at the same place is told.
 *
 * A machine brings them over as it does remote stores: a ticket for each part and thread block, performed there, in order, while no SM runs; the last
 * one tells the barrier. A load is read from global memory once, and goes on when all of it has come.
 */
#ifndef CORUN_ISA_BULK_ELSEWHERE_H
#define CORUN_ISA_BULK_ELSEWHERE_H

#include "isa/bulk.h"

/*
 * Takes the ranks of thread blocks off the addresses in copy->shared, copy->source and copy->barrier, and finds out for whom the copy is; `mask` is that of a copy with
 * one. False: a fault was raised.
 */
bool bulk_elsewhere_ask(struct corun_warp *warp, struct bulk_copy *copy, uint32_t lane, uint32_t mask);
/* Room for the bytes of a load that goes on. False when out of memory. */
bool bulk_elsewhere_prepare(struct bulk_copy *copy);
/* A load has all its replies. True: its bytes go on now. */
bool bulk_elsewhere_begin(struct executor_sm *sm, const struct bulk_copy *copy);
/* The next part for another thread block, of at most `most` bytes; false: there is none, or the host is out of memory. */
bool bulk_elsewhere_next(struct executor_sm *sm, struct bulk_copy *copy, uint32_t most, struct corun_copy_part *part);
/* All of it, in a run without timing. */
void bulk_elsewhere_now(struct executor_sm *sm, const struct bulk_copy *copy);

#endif
