/* SPDX-License-Identifier: MIT */
/*
 * The driver below the shim: NVIDIA's libcuda.so.1, or corun's own on the simulated GPU, opened by its path the first time that an
 * entry point is called.
 */
#ifndef CORUN_SHIM_BELOW_H
#define CORUN_SHIM_BELOW_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#define SHIM_EXPORT __attribute__((visibility("default")))

enum looked_at {
#define L(symbol) LOOKED_AT_##symbol,
#include "shim/looked_at.def"
#undef L
    LOOKED_AT_COUNT
};

enum called {
#define C(symbol) CALLED_##symbol,
#include "shim/called.def"
#undef C
    CALLED_COUNT
};

/* What a driver returns where it lacks an entry point, CUDA_ERROR_NOT_FOUND and CUDA_ERROR_NOT_SUPPORTED, without a driver, and for a handle that is none. */
enum {
    BELOW_OK = 0,
    BELOW_NO_DEVICE = 100,
    BELOW_INVALID_HANDLE = 400,
    BELOW_NOT_FOUND = 500,
    BELOW_NOT_SUPPORTED = 801
};

/* The symbol in the driver below; NULL: it has none, or there is no driver. */
void *below_find(const char *symbol);
/* The same for what the shim calls itself, also for each launch: the driver's library is asked for a name once. */
void *below_called(enum called entry);
/* The same for what is looked at; never NULL: where the driver lacks it, a function that returns NOT_SUPPORTED. */
extern _Atomic(void *) below_entries[LOOKED_AT_COUNT]; /* NULL: nobody has looked */
void *below_first(enum looked_at entry);
static inline void *below(enum looked_at entry)
{
    void *found = atomic_load_explicit(&below_entries[entry], memory_order_acquire);
    return found ? found : below_first(entry);
}
/* The shim's function for an entry point of the driver below; NULL: it is not looked at. */
void *below_replaced(const void *address);

/* $CORUN_SHIM_TRACE: a file to which a line is added for each entry point that the program asks for. */
void trace_line(const char *what, const char *name, const char *more);
bool trace_is_on(void);

/* A line on the standard error output. */
void shim_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
