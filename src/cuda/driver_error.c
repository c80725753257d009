/* SPDX-License-Identifier: MIT */
/* Errors of the driver API: their names and texts. */
#include "cuda/abi.h"
#include "cuda/driver_api.h"
#include "cuda/errors.h"

ENTRY(int, cuGetErrorName, int error, const char **name)
{
    const struct error_row *row = error_find(error);
    if (name)
        *name = row ? row->driver_name : NULL;
    return name && row ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

ENTRY(int, cuGetErrorString, int error, const char **text)
{
    const struct error_row *row = error_find(error);
    if (text)
        *text = row ? row->text : NULL;
    return text && row ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
