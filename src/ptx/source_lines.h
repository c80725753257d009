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
    uint32_t file, line, column;   /* number of the .file; line 0: not known */
    uint32_t into_file, into_line; /* where the function was called that was inlined here; line 0: it was not */
    uint32_t into;                 /* so many rows before this one is that of the call; 0: there is none */
};

struct ptx_source_file {
    uint32_t number;
    const char *path;
};

struct ptx_source_place {
    const char *path;
    uint32_t line;
};

/*
 * The source of the instructions on a line of the PTX, then where the function that it is in was called if it was inlined, then where the caller
 * was, and so on: at most `most` places. Gives how many there are; 0 if the PTX does not say.
 */
#define PTX_SOURCE_PLACES 4u
uint32_t ptx_source_find(const struct ptx_module *module, uint32_t ptx_line, struct ptx_source_place *places,
                         uint32_t most);

/*
 * "heat.cu:12", "heat.cu:3, inlined at heat.cu:7, inlined at heat.cu:12"; "" if the PTX does not say. Paths without their folders; outer calls are left
 * out where there is no room.
 */
#define PTX_SOURCE_TEXT 160
const char *ptx_source_text(const struct ptx_module *module, uint32_t ptx_line, char text[PTX_SOURCE_TEXT]);

#endif
