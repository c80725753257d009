/* SPDX-License-Identifier: MIT */
/*
 * GPUs described for GPGPU-Sim and Accel-Sim (gpgpusim.config) as descriptions of ours.
 *
 * A file is a list of options, `-name value`, one to a line; # begins a comment, a value in quotes may go over several lines, the last
 * of several options of one name counts. What has a parameter of ours is carried over; of everything else the reason is told.
 */
#ifndef CORUN_IMPORT_GPGPUSIM_H
#define CORUN_IMPORT_GPGPUSIM_H

#include "corun/config.h"

struct arena;

enum option_fate {
    OPTION_CARRIED,    /* some parameter has its value */
    OPTION_CHANGED,    /* the same, but not as it stands; `reason` says how */
    OPTION_LEFT,       /* nothing here has its meaning, or its value cannot be had; `reason` */
    OPTION_UNKNOWN,    /* not among the options known here */
    OPTION_NOT_TIMING, /* about output, tools or functions: nothing that a GPU has */
    OPTION_OVERRIDDEN, /* a later one of that name counts */
    OPTION_FATES
};

struct imported_option {
    const char *name, *value; /* name without its hyphen; value without quotes and line ends */
    uint32_t line;            /* from 1 */
    enum option_fate fate;
    const char *reason;
};

struct imported_gpu {
    struct corun_gpu_config config; /* of the base, with what was carried over; checked */
    const char **sources; /* for each row of corun_gpu_parameters: "line 12, -gpgpu_n_mem", or NULL: as in the base */
    struct imported_option *options; /* in the order of the file */
    size_t option_count;
};

/*
 * Reads the text of such a file; `path` is for messages. `base` has what the file does not say. All memory is the arena's.
 * SYNTAX: a line that is no option, quotes without an end, or nothing to carry over. ARGUMENT: the values do not fit together, and the
 * diagnostics say which. MEMORY.
 */
enum corun_status gpgpusim_import(const char *path, const char *text, size_t bytes, const struct corun_gpu_config *base,
                                  struct arena *arena, struct corun_diagnostics *list, struct imported_gpu *gpu);

#endif
