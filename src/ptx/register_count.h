/* SPDX-License-Identifier: MIT */
/*
 * How many 32-bit registers a thread of a kernel occupies: what occupancy is computed from.
 *
 * In this order: what the assembler said (a `ptxas -v` log), .maxnreg, and else an estimate: the most 32-bit registers that are live at one
 * point of the entry or of a function it may call, plus 6, at least 24 if it calls, at most 255. Launch bounds limit an estimate on a GPU
 * (base/launch_bounds.h). The number of virtual registers says nothing: compilers write PTX in which every value has a register of its own. An assembler
 * reorders the code to hide latency, which takes more registers, and reads parameters and constants from the constant bank, which takes fewer.
 */
#ifndef CORUN_PTX_REGISTER_COUNT_H
#define CORUN_PTX_REGISTER_COUNT_H

#include "ptx/register_allocation.h"

enum ptx_registers_from { PTX_REGISTERS_ASSEMBLER, PTX_REGISTERS_MAXNREG, PTX_REGISTERS_ALLOCATION };

/* The "Used N registers" of an entry in the text that `ptxas -v` writes; false if it is not there. */
bool ptx_assembler_registers(const char *log, size_t bytes, const char *entry, uint32_t *registers);

/*
 * Registers per thread of an entry. `log` may be NULL. `allocations` has one row per function of the module, indexed by
 * function->index (rows of functions without body are not looked at). OK or MEMORY.
 */
enum corun_status ptx_registers_per_thread(const struct ptx_module *module, const struct ptx_function *entry,
                                           const struct ptx_allocation *allocations, const char *log, size_t log_bytes,
                                           uint32_t *registers, enum ptx_registers_from *from);

#endif
