/* SPDX-License-Identifier: MIT */
/* CUDA's driver, found at run time: NVIDIA's, corun's own on the simulated GPU, or none. */
#ifndef CORUN_SPLIT_DRIVER_H
#define CORUN_SPLIT_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Every function returns a CUresult, 0 is success. */
struct driver {
    void *library;
    bool simulated; /* events tell simulated time */
    uint32_t count; /* of devices */
#define F(field, symbol, arguments) int(*field) arguments;
#include "split/driver.def"
#undef F
};

/* Opens libcuda.so.1 and initialises it. false: there is none that works, or no device; nothing is left open. */
bool driver_open(struct driver *driver);
/* "CUDA_ERROR_…" of a result. */
const char *driver_error(const struct driver *driver, int error);

#endif
