/* SPDX-License-Identifier: MIT */
/* The errors of both interfaces, found by their numbers. */
#include "cuda/errors.h"

#include "cuda/abi.h"

#include <stddef.h>

static const struct error_row rows[] = {
#define E(number, runtime_name, driver_name, text) {number, #runtime_name, "CUDA_" #driver_name, text},
#include "cuda/errors.def"
#undef E
};

const struct error_row *error_find(int error)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].number == error)
            return &rows[i];
    return NULL;
}
