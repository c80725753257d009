/* SPDX-License-Identifier: MIT */
/* Entry points that programs ask the driver for: what the shim looks at is the shim's, whatever else is the driver's. */
#include "shim/below.h"

#include <stdint.h>
#include <stdio.h>

static void replace(const char *symbol, void **function, int version, uint64_t flags, int error)
{
    char more[64];
    void *own = error || !function ? NULL : below_replaced(*function);
    if (trace_is_on()) {
        void *same = below_find(symbol ? symbol : "");
        snprintf(more, sizeof more, "%d %u %s%s%s", version, (unsigned)flags, error ? "error" : "ok",
                 own ? " looked-at" : "", function && same == *function ? " same" : " other");
        trace_line("address", symbol ? symbol : "(null)", more);
    }
    if (own)
        *function = own;
}

#define GET_ADDRESS(entry) \
    SHIM_EXPORT int entry(const char *symbol, void **function, int version, uint64_t flags); \
    int entry(const char *symbol, void **function, int version, uint64_t flags) \
    { \
        int (*real)(const char *, void **, int, uint64_t) = below(LOOKED_AT_##entry); \
        int error = real(symbol, function, version, flags); \
        replace(symbol, function, version, flags, error); \
        return error; \
    }
GET_ADDRESS(cuGetProcAddress)
GET_ADDRESS(cuGetProcAddress_ptsz)

#define GET_ADDRESS_V2(entry) \
    SHIM_EXPORT int entry(const char *symbol, void **function, int version, uint64_t flags, int *status); \
    int entry(const char *symbol, void **function, int version, uint64_t flags, int *status) \
    { \
        int (*real)(const char *, void **, int, uint64_t, int *) = below(LOOKED_AT_##entry); \
        int error = real(symbol, function, version, flags, status); \
        replace(symbol, function, version, flags, error); \
        return error; \
    }
GET_ADDRESS_V2(cuGetProcAddress_v2)
GET_ADDRESS_V2(cuGetProcAddress_v2_ptsz)

/* Tables that the vendor's libraries know are passed on as they are. */
SHIM_EXPORT int cuGetExportTable(const void **table, const void *id);
int cuGetExportTable(const void **table, const void *id)
{
    int (*real)(const void **, const void *) = below(LOOKED_AT_cuGetExportTable);
    int error = real(table, id);
    if (trace_is_on()) {
        char text[33] = "";
        for (int i = 0; id && i < 16; i++)
            snprintf(text + 2 * i, 3, "%02x", ((const uint8_t *)id)[i]);
        trace_line("table", text, error ? "error" : "ok");
    }
    return error;
}
