/* SPDX-License-Identifier: MIT */
/*
 * What an executable file tells about itself before it is started: is it a CUDA program that the front door can serve?
 */
#ifndef CORUN_CUDA_PROGRAM_FILE_H
#define CORUN_CUDA_PROGRAM_FILE_H

#include "corun/status.h"

/*
 * Looks at an ELF file. UNSUPPORTED, with the reason and what helps, if it holds CUDA's static runtime without a symbol
 * table (static_runtime.c needs one) or without a dynamic linker, or needs a library of machine code (cuBLAS and the like). NOT_FOUND if there is no file, or not all of one. What is no ELF file at all (a script) is OK. *fixed_path: it says
 * itself where its libraries are (DT_RPATH), so they have to be loaded before; *runtime: the libcudart that it needs,
 * "" if none.
 */
enum corun_status program_file_check(const char *path, struct corun_diagnostics *list, bool *fixed_path,
                                     char runtime[64]);

#endif
