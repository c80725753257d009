/*
 * How many 32-bit registers a thread of a kernel occupies: what occupancy is computed from.
 *
 * In this order: what the assembler said (a `ptxas -v` log), .maxnreg, and else an estimate from liveness. See ptx_registers_per_thread.
 */
#ifndef CORUN_PTX_REGISTER_COUNT_H
#define CORUN_PTX_REGISTER_COUNT_H

#include "ptx/register_allocation.h"

enum ptx_registers_from { PTX_REGISTERS_ASSEMBLER, PTX_REGISTERS_MAXNREG, PTX_REGISTERS_ALLOCATION };

/*
 * Sets the bits of registers whose value an assembler need not keep in a register, because it can be had again at no cost where it is
 * used: kernel parameters and constants (operands in the constant bank), addresses of variables, and conversions of such a
 * pointer to or from generic. `set` has a bit per register and is zero at first. OK or MEMORY.
 */
enum corun_status ptx_find_free_registers(const struct ptx_function *function, uint64_t *set);

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
