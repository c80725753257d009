/* SPDX-License-Identifier: MIT */
/* The functional executor in a checkpoint: thread blocks, atomics under way, device memory. */
#ifndef CORUN_ISA_ARCHIVE_H
#define CORUN_ISA_ARCHIVE_H

#include "base/archive.h"
#include "corun/module.h"

struct executor_sm;
struct launch;

/* The contents of memory; what is allocated, and the textures, have to be the same. */
void memory_archive(struct corun_archive *archive, struct corun_memory *memory);
/* The same without what is in the allocations at addresses for which `leave` says so; NULL: all of it. */
void memory_archive_but(struct corun_archive *archive, struct corun_memory *memory,
                        bool (*leave)(void *user, uint64_t address), void *user);
/* What SMs keep of an instance, and the thread blocks of its grids: all that there are. Between two steps of the GPU. */
void module_instance_archive(struct corun_archive *archive, struct corun_module_instance *instance,
                             struct corun_grid *const *grids, uint32_t grid_count);

/* executor.c */
/* What SMs keep of an instance, for so many. False when out of memory. */
bool executor_have_sms(struct corun_module_instance *instance, uint32_t sm_count);
/* As it is while a grid runs on so many SMs. False when out of memory. */
bool executor_attach(struct launch *launch, uint32_t sm_count, uint32_t clock_khz);
/* Another thread block of the SM's. False when out of memory. */
bool executor_tb_add(struct launch *launch, uint32_t sm);
/* NULL: there is none. */
struct corun_tb *executor_tb_find(const struct launch *launch, uint64_t number);
uint64_t executor_tb_number(const struct corun_tb *tb);
struct corun_warp *executor_warp_find(const struct launch *launch, uint64_t number);
uint64_t executor_warp_number(const struct corun_warp *warp);

#endif
