/* SPDX-License-Identifier: MIT */
/*
 * What the timing model costs without functional execution: warp instructions per second of scripted code on the
 * default GPU, one thread. Rows: arithmetic only, then 10, 25 and 40 % loads of one line each, then 25 % loads of 16
 * and of 32 lines; the last column is the cost of a warp instruction relative to the first row.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "scripted.h"

#include <stdio.h>
#include <time.h>

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static double measure(uint32_t loads_in_20, uint64_t lane_stride, uint32_t turns, uint64_t *cycles)
{
    struct corun_gpu_config config;
    corun_gpu_config_default(&config);
    struct script *script = script_new(512, 8);
    uint32_t loads = 0;
    for (uint32_t i = 0; i < 20; i++) {
        if (loads * 20 < loads_in_20 * (i + 1)) {
            uint32_t at = script_memory(script, CORUN_LOAD, CORUN_SPACE_GLOBAL, (uint16_t)(2 + i % 4), 40,
                                        (UINT64_C(1) << CORUN_APPLICATION_SHIFT) + i * 4096, lane_stride);
            script->warp_stride[at] = 1 << 17;
            script->turn_stride[at] = 1 << 12;
            loads++;
        } else {
            script_compute(script, CORUN_UNIT_FP32, CORUN_OPERATION_MAD, (uint16_t)(8 + i), (uint16_t)(2 + i % 4), 41);
        }
    }
    script_end(script, 0, turns);
    struct corun_counters counters;
    double start = seconds();
    *cycles = script_run(&config, script, &counters);
    double taken = seconds() - start;
    free(script);
    return (double)counters.warp_instructions / taken;
}

int main(void)
{
    static const struct {
        uint32_t loads;
        uint32_t stride;
        uint32_t turns;
        const char *name;
    } rows[] = {{0, 0, 60, "arithmetic only"},        {2, 4, 40, "10 % loads of 1 line"},
                {5, 4, 30, "25 % loads of 1 line"},   {8, 4, 20, "40 % loads of 1 line"},
                {5, 64, 8, "25 % loads of 16 lines"}, {5, 128, 5, "25 % loads of 32 lines"}};
    double first = 0;
    printf("%-24s %14s %14s %12s\n", "scripted code", "instructions/s", "cycles", "cost ratio");
    for (uint32_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double rates[3];
        uint64_t cycles = 0;
        for (uint32_t run = 0; run < 3; run++)
            rates[run] = measure(rows[i].loads, rows[i].stride, rows[i].turns, &cycles);
        double high = rates[0] > rates[1] ? rates[0] : rates[1], low = rates[0] < rates[1] ? rates[0] : rates[1];
        double median = rates[2] > high ? high : rates[2] < low ? low : rates[2];
        first = first > 0 ? first : median;
        printf("%-24s %14.3g %14llu %12.2f\n", rows[i].name, median, (unsigned long long)cycles, first / median);
    }
    return 0;
}
