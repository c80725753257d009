/* SPDX-License-Identifier: MIT */
/*
 * Linking PTX: translation units that name each other's functions and variables become one text. Definitions with
 * linkage are taken once (a weak one is the same in all units), names without linkage that two units have are told
 * apart.
 */
#ifndef CORUN_CUDA_PTX_LINK_H
#define CORUN_CUDA_PTX_LINK_H

#include "base/text_table.h"
#include "base/vector.h"
#include "ptx/statements.h"

struct ptx_unit {
    char *text;
    size_t bytes;
    VECTOR(struct ptx_statement) parts; /* declarations and definitions */
    struct text_table locals;           /* names without linkage */
    unsigned version, architecture;     /* 900, 75 */
    bool wanted;
};

/* Zeroed is empty; ptx_link_free ends it. */
struct ptx_link {
    VECTOR(struct ptx_unit) units;
};

/* Copies and scans a unit; a library is dropped if no other unit needs it. False when out of memory. */
bool ptx_link_add(struct ptx_link *link, const char *text, size_t bytes, bool library);
/* *text is to be freed. SYNTAX if a unit cannot be understood or two define the same name. */
enum corun_status ptx_link_finish(struct ptx_link *link, struct corun_diagnostics *list, char **text, size_t *bytes);
void ptx_link_free(struct ptx_link *link);

#endif
