/* SPDX-License-Identifier: MIT */
/*
 * Addresses taken apart by the divisors of the configuration: slice, bank and row (address_map.h says by which rule).
 */
#include "gpu/address_map.h"

#include "base/bits.h"

static struct divisor make_divisor(uint32_t value)
{
    return (struct divisor){value, log2_floor(value), is_power_of_two(value)};
}

static uint64_t divide(const struct divisor *divisor, uint64_t value, uint32_t *rest)
{
    uint64_t quotient = divisor->power_of_two ? value >> divisor->shift : value / divisor->value;
    *rest = (uint32_t)(value - quotient * divisor->value);
    return quotient;
}

static uint32_t mix(uint64_t value)
{
    value = (value ^ value >> 15) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(value >> 32 ^ value >> 40);
}

/* One of `divisor` values, a different one for each `index` below it, permuted by `upper`. */
static uint32_t permute(const struct divisor *divisor, uint32_t index, uint64_t upper)
{
    if (!divisor->power_of_two) {
        uint32_t rest;
        divide(divisor, (uint64_t)index + mix(upper), &rest);
        return rest;
    }
    if (!divisor->shift)
        return 0;
    for (uint32_t shift = divisor->shift; shift < 64; shift *= 2)
        upper ^= upper >> shift;
    return index ^ ((uint32_t)upper & (divisor->value - 1));
}

void address_map_create(struct address_map *map, const struct corun_gpu_config *config)
{
    uint32_t unit = 2 * config->l2_line_bytes;
    uint32_t row_unit = unit < config->dram_row_bytes ? unit : config->dram_row_bytes;
    uint32_t groups = config->dram_bank_groups;
    *map = (struct address_map){
        .slices = make_divisor(config->memory_controllers * config->slices_per_controller),
        .groups = make_divisor(groups),
        .group_units = make_divisor(config->dram_row_bytes / row_unit * groups),
        .group_banks = make_divisor(config->dram_banks / groups),
        .unit_shift = log2_floor(unit),
        .row_unit_shift = log2_floor(row_unit),
        .slices_per_controller = config->slices_per_controller,
        .hash = config->l2_hash,
    };
}

uint32_t address_map_slice(const struct address_map *map, uint64_t address, uint64_t *local)
{
    uint32_t index;
    uint64_t offset = address & ((UINT64_C(1) << map->unit_shift) - 1);
    uint64_t upper = divide(&map->slices, address >> map->unit_shift, &index);
    *local = upper << map->unit_shift | offset;
    return map->hash ? permute(&map->slices, index, upper) : index;
}

uint32_t address_map_bank(const struct address_map *map, uint32_t sub, uint64_t local, uint64_t *row)
{
    uint64_t offset = local & ((UINT64_C(1) << map->unit_shift) - 1);
    uint64_t unit = (local >> map->unit_shift) * map->slices_per_controller + sub;
    uint32_t index, group, bank;
    uint64_t rows = divide(&map->group_units, (unit << map->unit_shift | offset) >> map->row_unit_shift, &index);
    /* Rotated by one from column to column: the units of a single slice visit every group. */
    uint64_t column = divide(&map->groups, index, &group);
    uint64_t upper = divide(&map->group_banks, rows, &bank);
    /* A mix rather than a fold of the same bits: group and bank must not go together. */
    uint64_t rotation = column;
    if (map->hash) {
        rotation += mix(rows) >> 8;
        bank = permute(&map->group_banks, bank, upper);
    }
    divide(&map->groups, group + rotation, &group);
    *row = upper;
    return bank * map->groups.value + group;
}
