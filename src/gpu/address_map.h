/* SPDX-License-Identifier: MIT */
/*
 * Where an address lives: its slice, and within the slice's controller bank, row and column.
 *
 * Units of two lines go to slices in turn: of every `slices` units in a row each slice gets exactly one, whatever their
 * number; which one is rotated (or xor-ed, for a power of two) by a hash of all upper address bits, so that power-of-two strides and
 * applications spread too. What is left of the address after the slice is taken out is dense: the `local` address.
 *
 * The units of a controller's slices are laid out one after the other over the bank groups (neighbours in different groups, so that a
 * stream does not wait for one group), row by row: a stream fills one row in each group before the next row. The bank within the
 * group is the row number modulo the banks, rotated by a hash of its upper bits.
 */
#ifndef CORUN_GPU_ADDRESS_MAP_H
#define CORUN_GPU_ADDRESS_MAP_H

#include "corun/config.h"

struct divisor {
    uint32_t value, shift;
    bool power_of_two;
};

struct address_map {
    struct divisor slices, groups, group_units, group_banks; /* group_units: units of one row in each group */
    uint32_t unit_shift, row_unit_shift;
    uint32_t slices_per_controller;
    bool hash;
};

void address_map_create(struct address_map *map, const struct corun_gpu_config *config);
/* Slice of a line's address; *local is what its tags use: the address without the slice. */
uint32_t address_map_slice(const struct address_map *map, uint64_t address, uint64_t *local);
/* Bank and row of a local address of slice `sub` of its controller. Banks b with equal b mod groups are one group. */
uint32_t address_map_bank(const struct address_map *map, uint32_t sub, uint64_t local, uint64_t *row);

#endif
