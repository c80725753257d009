/* SPDX-License-Identifier: MIT */
/* The errors of both interfaces with their names and texts (errors.def). */
#ifndef CORUN_CUDA_ERRORS_H
#define CORUN_CUDA_ERRORS_H

struct error_row {
    int number;
    const char *runtime_name, *driver_name, *text;
};

/* NULL if there is no such error. */
const struct error_row *error_find(int error);

#endif
