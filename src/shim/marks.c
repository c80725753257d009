/* SPDX-License-Identifier: MIT */
#include "shim/marks.h"

#include "shim/below.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define BYTES (MARKS_WORDS * sizeof(uint32_t)) /* a page */
enum { PORTABLE_MAPPED = 3 };

/* The page stays registered, and the GPU may write to it as long as the context lives. */
bool marks_make(struct marks *marks)
{
    int (*host_register)(void *, size_t, unsigned) =
        (int (*)(void *, size_t, unsigned))below_called(CALLED_cuMemHostRegister_v2);
    int (*host_address)(uint64_t *, void *, unsigned) =
        (int (*)(uint64_t *, void *, unsigned))below_called(CALLED_cuMemHostGetDevicePointer_v2);
    if (!marks->words)
        marks->words = aligned_alloc(BYTES, BYTES);
    if (!marks->words || !host_register || !host_address)
        return false;
    memset((void *)marks->words, 0, BYTES);
    (void)host_register((void *)marks->words, BYTES, PORTABLE_MAPPED); /* it may be registered already */
    return host_address(&marks->address, (void *)marks->words, 0) == BELOW_OK;
}

uint64_t marks_address(const struct marks *marks, uint32_t word)
{
    return marks->address + word * sizeof *marks->words;
}
