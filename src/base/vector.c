/* SPDX-License-Identifier: MIT */
/* The growing of VECTOR arrays: what the macros of vector.h cannot do without a function. */
#include "base/vector.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

bool vector_grow(void **data, size_t count, size_t *capacity, size_t size)
{
    if (count < *capacity)
        return true;
    size_t wanted = *capacity ? *capacity * 2 : 8;
    if (wanted > SIZE_MAX / size)
        return false;
    void *pointer;
    memcpy(&pointer, data, sizeof pointer); /* *data has another pointer type for the compiler */
    pointer = realloc(pointer, wanted * size);
    if (!pointer)
        return false;
    memcpy(data, &pointer, sizeof pointer);
    *capacity = wanted;
    return true;
}
