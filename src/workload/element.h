/* SPDX-License-Identifier: MIT */
/* What is known about the element types of buffers and arguments. */
#ifndef CORUN_WORKLOAD_ELEMENT_H
#define CORUN_WORKLOAD_ELEMENT_H

#include "corun/workload.h"

struct element_row {
    const char *word;
    uint32_t bytes;
    bool is_float;
    bool is_signed; /* integers */
};
const struct element_row *element_row(enum corun_element element);
/* CORUN_ELEMENT_COUNT if there is no such type. */
enum corun_element element_find(const char *word);
/* Whether an integer has a place in the (integer) element type; u64 takes what fits 63 bits. */
bool element_holds(enum corun_element element, int64_t value);
/* Stores a value (integer types: `integer`; floats: `real`) at `data`. */
void element_store(enum corun_element element, void *data, int64_t integer, double real);

#endif
