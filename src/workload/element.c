/* SPDX-License-Identifier: MIT */
/* The table of element types, made from CORUN_ELEMENTS; storing a value as one of them, and whether it fits. */
#include "workload/element.h"

const struct element_row *element_row(enum corun_element element)
{
    static const struct element_row rows[] = {
#define ROW(name, word, type, is_float) {word, sizeof(type), is_float, (type)-1 < (type)1},
        CORUN_ELEMENTS(ROW)
#undef ROW
    };
    return &rows[element];
}

enum corun_element element_find(const char *word)
{
    enum corun_element element = CORUN_ELEMENT_U8;
    while (element < CORUN_ELEMENT_COUNT && strcmp(element_row(element)->word, word) != 0)
        element++;
    return element;
}

bool element_holds(enum corun_element element, int64_t value)
{
    const struct element_row *row = element_row(element);
    if (!row->is_signed)
        return value >= 0 && (row->bytes == 8 || value >> (8 * row->bytes) == 0);
    int64_t largest = INT64_MAX >> (64 - 8 * row->bytes);
    return value >= -largest - 1 && value <= largest;
}

void element_store(enum corun_element element, void *data, int64_t integer, double real)
{
    switch (element) {
#define STORE(name, word, type, is_float) \
    case CORUN_ELEMENT_##name: \
        memcpy(data, &(type){is_float ? (type)real : (type)integer}, sizeof(type)); \
        break;
        CORUN_ELEMENTS(STORE)
#undef STORE
    case CORUN_ELEMENT_COUNT:
        break;
    }
}
