/* SPDX-License-Identifier: MIT */
/* Registers of kernels in machine code: of what an assembler makes of them (assemble/assemble.h), as ptx_registers_per_thread counts them. */
#ifndef CORUN_REWRITE_MACHINE_REGISTERS_H
#define CORUN_REWRITE_MACHINE_REGISTERS_H

#include "ptx/module.h"

/* Per function of the module, by its index; 0 where it is no kernel with a body. OK or MEMORY. */
enum corun_status machine_registers_count(const struct ptx_module *module, uint32_t *registers);

/* Those that a kernel may have, for as many thread blocks on an SM as with `registers`. */
uint32_t machine_registers_step(uint32_t registers);

#endif
