/* SPDX-License-Identifier: MIT */
/* How a GPU configuration is found, read and changed; what config.c, config_file.c and config_check.c share. */
#ifndef CORUN_GPU_CONFIG_PRIVATE_H
#define CORUN_GPU_CONFIG_PRIVATE_H

#include "corun/config.h"

/* Larger files are refused: no description of a GPU is that long. */
#define CONFIG_FILE_BYTES 1048576u

enum {
    CONFIG_PARAMETERS = 0
#define P(name, initial, lowest, highest, unit, meaning) +1
#define E(name, initial, words, meaning) +1
#include "corun/gpu_parameters.def"
#undef P
#undef E
};

/*
 * The row that `key` means, NULL after a report if there is none or several. Exact names win; `abbreviations` also allows
 * a name without its unit (l2 for l2_bytes, core_clock for core_clock_khz), then an unambiguous beginning of a name.
 * `status` is what is reported: SYNTAX for a file, ARGUMENT for an override.
 */
const struct corun_gpu_parameter *config_find_parameter(const char *key, bool abbreviations, enum corun_status status,
                                                        struct corun_diagnostics *list, struct corun_place place);
/*
 * Reads `text` as a value of `row`. `unit` is the unit it was written in, NULL if none was: then the text may end with one
 * (1216MHz). Reports `status` and returns it if the text, the unit or the range is wrong.
 */
enum corun_status config_parse_value(const struct corun_gpu_parameter *row, const char *text, const char *unit,
                                     enum corun_status status, struct corun_diagnostics *list, struct corun_place place,
                                     uint32_t *value);
void config_store(struct corun_gpu_config *config, const struct corun_gpu_parameter *row, uint32_t value);

/* Reads one YAML document over what *config holds already. `file` is only for messages. */
enum corun_status config_parse_yaml(const char *text, size_t length, const char *file, struct corun_diagnostics *list,
                                    struct corun_gpu_config *config);

#endif
