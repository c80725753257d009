/* SPDX-License-Identifier: MIT */
/* An imported GPU as a YAML file of ours (docs/gpus.md, "A file"). */
#ifndef CORUN_IMPORT_GPU_FILE_H
#define CORUN_IMPORT_GPU_FILE_H

#include "import/gpgpusim.h"

#include <stdio.h>

/*
 * Every parameter with its value, unit and source: the line and option of `path`, or "assumed: as" the base of that name. What was not
 * carried over follows as comments. Errors of the stream are the caller's to see.
 */
void gpu_file_write(const struct imported_gpu *gpu, const char *path, const char *base, FILE *stream);

/* "carried over", "carried over, changed", ... */
const char *option_fate_text(enum option_fate fate);

#endif
