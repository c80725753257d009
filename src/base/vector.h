/* SPDX-License-Identifier: MIT */
/*
 * A growable array: VECTOR(type) declares { data, count, capacity }; vector_push gives false when out of memory.
 * Owned by whoever declares it; vector_free ends it.
 */
#ifndef CORUN_BASE_VECTOR_H
#define CORUN_BASE_VECTOR_H

#include <stdbool.h>
#include <stddef.h>

#define VECTOR(type) \
    struct { \
        type *data; \
        size_t count, capacity; \
    }

/* Makes room for one more element of `size` bytes. */
bool vector_grow(void **data, size_t count, size_t *capacity, size_t size);

#define vector_push(vector, value) \
    (vector_grow((void **)&(vector)->data, (vector)->count, &(vector)->capacity, sizeof *(vector)->data) \
         ? ((vector)->data[(vector)->count++] = (value), true) \
         : false)

#define vector_free(vector) (free((vector)->data), (vector)->data = NULL, (vector)->count = (vector)->capacity = 0)

#endif
