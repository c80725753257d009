/* SPDX-License-Identifier: MIT */
/* PTX text of a module: parses to an equal module (ptx_module_equal), and printing that gives the same text again. */
#ifndef CORUN_PTX_PRINTER_H
#define CORUN_PTX_PRINTER_H

#include "ptx/module.h"

/* *text ends with NUL (not counted in *bytes) and belongs to the caller, who frees it with free(). OK or MEMORY. */
enum corun_status ptx_print(const struct ptx_module *module, char **text, size_t *bytes);

/* Operations of .b128 are written with registers of that type and copies to and from them: such a text reads as a module that does the same, but is not equal. */
bool ptx_prints_copies(const struct ptx_module *module);

#endif
