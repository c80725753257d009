/* SPDX-License-Identifier: MIT */
/* The text of a gpgpusim.config as a list of options. */
#ifndef CORUN_IMPORT_OPTIONS_H
#define CORUN_IMPORT_OPTIONS_H

#include "import/gpgpusim.h"

/* Every option of the text, those that a later one overrides marked, all others as UNKNOWN. SYNTAX, MEMORY. */
enum corun_status options_read(const char *path, const char *text, size_t bytes, struct arena *arena,
                               struct corun_diagnostics *list, struct imported_option **options, size_t *count);

#endif
