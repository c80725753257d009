/* SPDX-License-Identifier: MIT */
/*
 * Lines of the source that a compiler made PTX of: .file and .loc, as `nvcc -lineinfo` writes them.
 *
 * A .loc is for the instructions behind it, up to the next one or the end of the function. The table is sorted by the lines of the PTX, so that
 * an instruction finds its source by its place.
 */
#ifndef CORUN_PTX_SOURCE_LINES_H
#define CORUN_PTX_SOURCE_LINES_H

#include "ptx/module.h"

struct ptx_source_line {
    uint32_t ptx_line;             /* of the .loc, or of a function, where nothing is known yet */
    uint32_t file, line;           /* number of the .file; line 0: not known */
    uint32_t into_file, into_line; /* where the function was called that was inlined here; line 0: it was not */
};

struct ptx_source_file {
    uint32_t number;
    const char *path;
};

struct ptx_source_place {
    const char *path, *into_path; /* into_path: NULL if nothing was inlined */
    uint32_t line, into_line;
};

/* The source of the instructions on a line of the PTX; false if the PTX does not say. */
bool ptx_source_find(const struct ptx_module *module, uint32_t ptx_line, struct ptx_source_place *place);

/* "heat.cu:12", "heat.cu:3, inlined at heat.cu:12"; "" if the PTX does not say. Paths without their folders. */
#define PTX_SOURCE_TEXT 160
const char *ptx_source_text(const struct ptx_module *module, uint32_t ptx_line, char text[PTX_SOURCE_TEXT]);

#endif
