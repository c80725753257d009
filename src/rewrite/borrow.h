/* SPDX-License-Identifier: MIT */
/*
 * Borrowed variables: kernels that use the variables of another module. Who loads a rewritten module beside the one that the program has loaded would have each
 * variable twice, and the program writes and reads its own. So the new module has a table of addresses in place of the variables:
 *
 *     .const .align 8 .b64 corun_variables[n];                 with a suffix if that name is taken
 *
 *     mov.u64 %rd1, counter;                                   ld.const.b64 %rd1, [corun_variables+8];
 *     atom.global.add.u32 %r1, [counter+4], 1;                 ld.const.b64 borrowed, [corun_variables+8];
 *                                                              atom.global.add.u32 %r1, [borrowed+4], 1;
 *
 * Whoever loads it asks the program's module for the address of each (cuModuleGetGlobal), and writes them into the table before the first launch. What no kernel uses needs
 * no row. Variables in shared and local memory are of a thread block, and stay what they are.
 *
 * Constants stay in constant memory, and in its cache: the new module has them as well, and whoever launches copies what the program's hold now into those that the kernel
 * borrows, in the stream, in front of the launch. Nothing else may write them between the two. Where that cannot be, constants come from the table, too: what cuModuleGetGlobal
 * says of one is a generic address, loads of constant memory become loads of global memory by the path for what does not change within a launch (ld.global.nc), and addresses
 * within constant memory become generic ones (borrow_constants.h). That is so in functions that convert between the two themselves, of kernels that use more than
 * BORROW_MOST_COPIES constants, and where the table would not have room beside them.
 */
#ifndef CORUN_REWRITE_BORROW_H
#define CORUN_REWRITE_BORROW_H

#include "rewrite/rewritten.h"

#define BORROW_TABLE "corun_variables"
#define BORROW_MOST_VARIABLES \
    4096u /* rows: half of what a module has of constant memory. Kernels that use further ones are refused */
#define BORROW_MOST_COPIES 8u /* of constants, each of which is a copy in front of every launch */

/*
 * A rewrite_pass: rewritten.borrowed is the table, rewritten_kernel.borrows says what each kernel needs of it. A kernel that is refused must not be launched from the new
 * module: its variables there may be others than the program's.
 */
enum corun_status borrow_module(const struct ptx_module *source, struct corun_diagnostics *list,
                                struct rewritten *rewritten);

/* The same, and then another pass, as rewrite_both. */
enum corun_status borrow_before(rewrite_pass *pass, const struct ptx_module *source, struct corun_diagnostics *list,
                                struct rewritten *rewritten);

/* The passes of whoever loads slices or workers beside a program's module. */
enum corun_status borrow_and_slice(const struct ptx_module *source, struct corun_diagnostics *list,
                                   struct rewritten *rewritten);
enum corun_status borrow_for_workers(const struct ptx_module *source, struct corun_diagnostics *list,
                                     struct rewritten *rewritten);

#endif
