/* SPDX-License-Identifier: MIT */
/* Do the values of a configuration fit together? Ranges of single values are checked where they are read. */
#include "gpu/config.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

struct check {
    const struct corun_gpu_config *config;
    struct corun_diagnostics *list;
    enum corun_status status;
};

__attribute__((format(printf, 3, 4))) static void require(struct check *check, bool holds, const char *format, ...)
{
    if (holds)
        return;
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    check->status = corun_report(check->list, CORUN_ARGUMENT, CORUN_NOWHERE, "GPU '%s': %s", check->config->name, text);
}

static bool is_power_of_two(uint32_t value)
{
    return value && !(value & (value - 1));
}

static void require_power_of_two(struct check *check, const char *name, uint32_t value)
{
    require(check, is_power_of_two(value), "%s must be a power of two, and %" PRIu32 " is not", name, value);
}

/* `bytes` is the size of one such cache; 0: there is none, but its line still is the unit of transfer. */
static void check_cache(struct check *check, const char *name, uint64_t bytes, uint32_t ways, uint32_t line,
                        uint32_t sector)
{
    require(check, is_power_of_two(line), "the line of the %s must be a power of two, and %" PRIu32 " is not", name,
            line);
    require(check, is_power_of_two(sector) && sector <= line,
            "the sector of the %s must be a power of two and no larger than its line (%" PRIu32 " bytes), and %" PRIu32
            " is not",
            name, line, sector);
    /* Sector masks travel in eight bits. */
    require(check, !sector || line / sector <= 8, "the %s has more than 8 sectors per line", name);
    require(check, bytes % ((uint64_t)ways * line) == 0,
            "the %s of %" PRIu64 " bytes does not divide into sets of %" PRIu32 " ways of %" PRIu32 " bytes", name,
            bytes, ways, line);
}

static void check_sm(struct check *check)
{
    const struct corun_gpu_config *c = check->config;
    uint32_t warps = c->threads_per_sm / 32;
    require(check, c->threads_per_sm % 32 == 0, "threads_per_sm must be a multiple of 32, and %" PRIu32 " is not",
            c->threads_per_sm);
    require(check, warps % c->schedulers_per_sm == 0, "%" PRIu32 " warps do not divide among %" PRIu32 " schedulers",
            warps, c->schedulers_per_sm);
    require(check, c->threads_per_tb <= c->threads_per_sm, "threads_per_tb is larger than threads_per_sm");
    require(check, c->shared_bytes_per_tb <= c->shared_bytes_per_sm,
            "shared_bytes_per_tb is larger than shared_bytes_per_sm");
    require(check, c->register_unit <= c->registers_per_sm, "register_unit is larger than registers_per_sm");
    require(check, c->shared_unit_bytes <= c->shared_bytes_per_sm,
            "shared_unit_bytes is larger than shared_bytes_per_sm");
    require(check, c->register_banks % c->schedulers_per_sm == 0,
            "%" PRIu32 " register banks do not divide among %" PRIu32 " schedulers", c->register_banks,
            c->schedulers_per_sm);
    require(check, c->access_lanes == 16 || c->access_lanes == 32, "access_lanes is 16 or 32, not %" PRIu32,
            c->access_lanes);
    require_power_of_two(check, "shared_banks", c->shared_banks);
    require_power_of_two(check, "shared_bank_bytes", c->shared_bank_bytes);
    require_power_of_two(check, "instruction_bytes", c->instruction_bytes);
    check_cache(check, "instruction cache", c->icache_bytes, c->icache_ways, c->icache_line_bytes,
                c->icache_line_bytes);
    check_cache(check, "constant cache", c->constant_bytes, c->constant_ways, c->constant_line_bytes,
                c->constant_line_bytes);
    check_cache(check, "first level of the constant cache", c->constant_first_bytes, c->constant_first_ways,
                c->constant_first_line_bytes, c->constant_first_line_bytes);
    check_cache(check, "texture cache", c->texture_bytes, c->texture_ways, c->texture_line_bytes,
                c->texture_line_bytes);
    require(check, c->texture_gob_rows == 0 || c->texture_gob_rows == 4 || c->texture_gob_rows == 8,
            "texture_gob_rows is 0, 4 or 8, not %" PRIu32, c->texture_gob_rows);
    check_cache(check, "L1 cache", c->l1_bytes, c->l1_ways, c->l1_line_bytes, c->l1_sector_bytes);
    /* Each setting of the shared memory leaves whole ways. */
    uint32_t way = c->l1_ways ? c->l1_bytes / c->l1_ways : 0;
    require(
        check, c->l1_split == CORUN_L1_SPLIT_FIXED || !way || (4096 % way == 0 && c->shared_bytes_per_sm % 4096 == 0),
        "with l1_split, a way of the L1 (%" PRIu32 " bytes) must divide 4096, and that must divide shared_bytes_per_sm",
        way);
    require(check,
            !c->l1_write_allocate || (c->l1_line_bytes == c->l2_line_bytes && c->l1_sector_bytes == c->l2_sector_bytes),
            "with l1_write_allocate, L1 and L2 must have the same lines and sectors");
    /* A request names sectors of one L2 line. */
    require(check, c->l1_line_bytes <= c->l2_line_bytes, "l1_line_bytes is larger than l2_line_bytes");
    require(check, c->icache_line_bytes <= c->l2_line_bytes, "icache_line_bytes is larger than l2_line_bytes");
    require(check, !c->constant_first_bytes || c->constant_first_line_bytes <= c->constant_line_bytes,
            "constant_first_line_bytes is larger than constant_line_bytes");
    require(check, c->texture_line_bytes <= c->l2_line_bytes, "texture_line_bytes is larger than l2_line_bytes");
}

static void check_memory(struct check *check)
{
    const struct corun_gpu_config *c = check->config;
    uint32_t slices = c->memory_controllers * c->slices_per_controller;
    require(check, c->l2_bytes % slices == 0, "an L2 of %" PRIu32 " bytes does not divide into %" PRIu32 " slices",
            c->l2_bytes, slices);
    check_cache(check, "L2 slice", c->l2_bytes / slices, c->l2_ways, c->l2_line_bytes, c->l2_sector_bytes);
    require(check, !c->l2_far_latency || c->l2_ways > 1,
            "with l2_far_latency, the L2 must have two ways: a line must not make room for its own copy");
    require(check, c->l2_sector_bytes % c->dram_burst_bytes == 0,
            "dram_burst_bytes (%" PRIu32 ") does not divide l2_sector_bytes (%" PRIu32 ")", c->dram_burst_bytes,
            c->l2_sector_bytes);
    uint32_t bytes_per_cycle = c->dram_bus_bytes * c->dram_data_rate;
    require(check, c->dram_burst_bytes % bytes_per_cycle == 0,
            "dram_burst_bytes (%" PRIu32 ") is not a whole number of DRAM cycles: the bus moves %" PRIu32
            " bytes in each",
            c->dram_burst_bytes, bytes_per_cycle);
    require(check, c->dram_banks % c->dram_bank_groups == 0,
            "%" PRIu32 " DRAM banks do not divide into %" PRIu32 " groups", c->dram_banks, c->dram_bank_groups);
    require_power_of_two(check, "dram_row_bytes", c->dram_row_bytes);
    require(check, c->dram_row_bytes >= c->l2_line_bytes, "dram_row_bytes is smaller than l2_line_bytes");
    require(check, c->dram_tRAS >= c->dram_tRCD, "dram_tRAS is shorter than dram_tRCD");
    require(check, c->dram_tRC >= c->dram_tRAS, "dram_tRC is shorter than dram_tRAS");
    require(check, c->dram_tCCDL >= c->dram_tCCD, "dram_tCCDL is shorter than dram_tCCD");
    require(check, !c->dram_tREFI || c->dram_tREFI > c->dram_tRFC, "dram_tREFI leaves no time between refreshes");
}

enum corun_status corun_gpu_config_check(const struct corun_gpu_config *config, struct corun_diagnostics *list)
{
    struct check check = {config, list, CORUN_OK};
    size_t count;
    const struct corun_gpu_parameter *rows = corun_gpu_parameters(&count);
    for (size_t i = 0; i < count; i++) {
        uint32_t value = *(const uint32_t *)((const char *)config + rows[i].offset);
        require(&check, value >= rows[i].lowest && value <= rows[i].highest,
                "%s must be between %" PRIu32 " and %" PRIu32 ", and %" PRIu32 " is not", rows[i].name, rows[i].lowest,
                rows[i].highest, value);
    }
    if (check.status != CORUN_OK) /* what follows divides by some of them */
        return check.status;
    check_sm(&check);
    check_memory(&check);
    return check.status;
}
