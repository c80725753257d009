/* SPDX-License-Identifier: MIT */
/*
 * CUDA's driver, found at run time: NVIDIA's, corun's own on the simulated GPU, or none. Nobody above knows which. Each user names
 * the entry points that it cannot do without; the others are NULL where a driver lacks them.
 */
#ifndef CORUN_DRIVER_DRIVER_H
#define CORUN_DRIVER_DRIVER_H

#include "corun/status.h"

/* An entry point is named by its field: DRIVER_launch. */
enum driver_entry {
#define F(field, symbol, arguments) DRIVER_##field,
#include "driver/driver.def"
#undef F
    DRIVER_ENTRIES
};

/* CUDA_MEMCPY2D: rows of bytes, each `pitch` behind the one before. */
enum driver_memory { DRIVER_OF_HOST = 1, DRIVER_OF_DEVICE = 2 };
struct driver_rows_side {
    size_t x_bytes, y;
    enum driver_memory kind;
    const void *host;
    unsigned long long device;
    void *array;
    size_t pitch;
};
struct driver_rows {
    struct driver_rows_side from, to;
    size_t bytes, rows; /* of a row; their number */
};

/* CUdevResource: SMs of a device, or a part of them. */
enum { DRIVER_RESOURCE_SMS = 1 };
struct driver_resource {
    _Alignas(8) int kind;
    unsigned char reserved[92];
    unsigned sms;
    unsigned char more[44];
};
_Static_assert(sizeof(struct driver_resource) == 144, "the driver fills it");

/* Every function returns a CUresult, 0 is success. */
struct driver {
    void *library;
    bool simulated; /* events tell simulated time */
    uint32_t count; /* of devices, at least 1 */
#define F(field, symbol, arguments) int(*field) arguments;
#include "driver/driver.def"
#undef F
    int (*simulated_sleep)(unsigned long long nanoseconds); /* NULL: it is no simulated GPU */
};

/*
 * Opens a driver's library, by its path or as the loader finds libcuda.so.1 (NULL), and initialises it. Of `needed`, `count` entry
 * points, all must be there; what opens a driver (init, device_count, error_name) always is. What has been
 * asked to initialise itself stays open for good: drivers have threads and handlers of their own. NOT_FOUND: there is no such
 * library, or it has no device; UNSUPPORTED: an entry point is missing, which is named; FAULT: it cannot be initialised. The list
 * may be NULL.
 */
enum corun_status driver_open(struct driver *driver, const char *library, const enum driver_entry *needed, size_t count,
                              struct corun_diagnostics *list);
/* "CUDA_ERROR_…" of a result. */
const char *driver_error(const struct driver *driver, int error);
/* The calling thread does nothing for that long: in simulated time, where the current context is one of a simulated GPU. A CUresult. */
int driver_sleep(const struct driver *driver, uint64_t nanoseconds);
/* The entry point's name in the library, as "cuMemAlloc_v2". */
const char *driver_entry_name(enum driver_entry entry);

#endif
