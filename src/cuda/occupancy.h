/* SPDX-License-Identifier: MIT */
/* Occupancy: how many thread blocks of a function an SM of its device holds. */
#ifndef CORUN_CUDA_OCCUPANCY_H
#define CORUN_CUDA_OCCUPANCY_H

#include <stddef.h>
#include <stdint.h>

struct function;

int occupancy_of_function(struct function *function, uint32_t threads, size_t dynamic_shared_bytes, uint32_t *tbs);
/* Threads that a thread block of a function can have at most, its registers considered. */
uint32_t occupancy_most_threads(struct function *function);

#endif
