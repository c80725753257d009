/* SPDX-License-Identifier: MIT */
/*
 * Who is on the SM: the applications with thread blocks there, and for how many cycles their warps and thread blocks
 * have been.
 */
#ifndef CORUN_GPU_RESIDENCY_H
#define CORUN_GPU_RESIDENCY_H

#include "base/bits.h"

struct sm;

/* Adds up since the last time. Before warps or thread blocks come or go. */
void residency_account(struct sm *sm);
/* The application has its first thread block on the SM. */
void residency_begin(struct sm *sm, uint32_t application);
/* The application has its last thread block on the SM no longer. */
void residency_end(struct sm *sm, uint32_t application);

#endif
