/* SPDX-License-Identifier: MIT */
/* Functions that CUDA has for kernels, for whoever reads a module and does not run it: malloc and free, launches, and the rest. */
#ifndef CORUN_CUDA_DEVICE_FUNCTIONS_H
#define CORUN_CUDA_DEVICE_FUNCTIONS_H

#include "corun/config.h"
#include "corun/status.h"

#include <stddef.h>

/*
 * A module's text with those functions behind it that it declares and does not have, as programs of CUDA get them on that GPU. Its own lines stay where they
 * are. *whole is to be freed; NULL where nothing is wanted. OK or MEMORY.
 */
enum corun_status device_functions_append(const struct corun_gpu_config *gpu, const char *text, size_t bytes,
                                          char **whole, size_t *whole_bytes);

#endif
