/* SPDX-License-Identifier: MIT */
/* The registers of a lane that a load fills and a store or an atomic reads. */
#ifndef CORUN_ISA_ELEMENTS_H
#define CORUN_ISA_ELEMENTS_H

#include "isa/atomics.h"
#include "isa/kernel.h"

#include <string.h>

static inline uint64_t element_extend(uint64_t value, const struct operation *op)
{
    if (!(op->extend & EXTEND_SIGN))
        return value;
    uint32_t shift = 64 - 8u * op->width_bytes;
    return (uint64_t)((int64_t)(value << shift) >> shift);
}

/*
 * An element of 1, 2, 4 or 8 bytes as it is in memory. Each width has its own access: a copy into a part of a longer word makes the host's processor wait
 * until the word is in its cache.
 */
static inline uint64_t element_read(const uint8_t *from, uint32_t bytes)
{
    uint16_t two;
    uint32_t four;
    uint64_t eight;
    switch (bytes) {
    case 1:
        return *from;
    case 2:
        memcpy(&two, from, sizeof two);
        return two;
    case 4:
        memcpy(&four, from, sizeof four);
        return four;
    default:
        memcpy(&eight, from, sizeof eight);
        return eight;
    }
}

static inline void element_write(uint64_t value, uint8_t *to, uint32_t bytes)
{
    uint16_t two = (uint16_t)value;
    uint32_t four = (uint32_t)value;
    switch (bytes) {
    case 1:
        *to = (uint8_t)value;
        break;
    case 2:
        memcpy(to, &two, sizeof two);
        break;
    case 4:
        memcpy(to, &four, sizeof four);
        break;
    default:
        memcpy(to, &value, sizeof value);
    }
}

static inline uint16_t element_slot(const struct operation *op, uint32_t element, uint16_t first)
{
    return element ? op->extra[element - 1] : first;
}

static inline void element_set(const struct lanes *lanes, const struct operation *op, uint16_t slot, uint32_t lane,
                               uint64_t value)
{
    void *to = lanes_destination(lanes, slot);
    if (op->extend & EXTEND_WIDE)
        ((uint64_t *)to)[lane] = value;
    else
        ((uint32_t *)to)[lane] = (uint32_t)value;
}

static inline uint64_t element_get(const struct lanes *lanes, const struct operation *op, uint16_t slot, uint32_t lane)
{
    const void *from = lanes_source(lanes, slot);
    return op->extend & EXTEND_WIDE ? ((const uint64_t *)from)[lane] : ((const uint32_t *)from)[lane];
}

/* Operand b or c of an atomic operation. Of one of 16 bytes the upper half is in a slot of its own. */
static inline struct atomic_value element_operand(const struct lanes *lanes, const struct operation *op,
                                                  uint32_t source, uint32_t lane)
{
    uint64_t value = element_get(lanes, op, op->source[source], lane);
    if (op->width_bytes == 4)
        return (struct atomic_value){(uint32_t)value, 0};
    return (struct atomic_value){value, op->width_bytes > 8 ? element_get(lanes, op, op->extra[source + 1], lane) : 0};
}

/* What was there before it. */
static inline void element_result(const struct lanes *lanes, const struct operation *op, uint32_t lane,
                                  struct atomic_value old)
{
    if (op->destination == OPERAND_DISCARD)
        return;
    element_set(lanes, op, op->destination, lane, old.low);
    if (op->width_bytes > 8)
        element_set(lanes, op, op->source[3], lane, old.high);
}

/* What a lane has loaded, into its registers. */
static inline void elements_load(const struct lanes *lanes, const struct operation *op, uint32_t lane,
                                 const uint8_t *bytes)
{
    for (uint32_t element = 0; element < op->vector; element++) {
        uint16_t slot = element_slot(op, element, op->destination);
        if (slot == OPERAND_DISCARD)
            continue;
        uint64_t value = element_read(bytes + element * op->width_bytes, op->width_bytes);
        element_set(lanes, op, slot, lane, element_extend(value, op));
    }
}

/* What a lane stores. */
static inline void elements_store(const struct lanes *lanes, const struct operation *op, uint32_t lane, uint8_t *bytes)
{
    for (uint32_t element = 0; element < op->vector; element++) {
        uint64_t value = element_get(lanes, op, element_slot(op, element, op->source[1]), lane);
        element_write(value, bytes + element * op->width_bytes, op->width_bytes);
    }
}

#endif
