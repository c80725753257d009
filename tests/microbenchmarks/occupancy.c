/* SPDX-License-Identifier: MIT */
/*
 * Occupancy as it is seen in a run: more thread blocks than an SM holds, each of which chases a pointer for some
 * thousand cycles. Resident thread blocks on the average from the counters, and at most from the clocks that the thread
 * blocks note when they begin and end.
 */
#include "harness.h"

#include <string.h>

struct shape {
    uint32_t threads, registers, shared_bytes;
};

static void point_to_itself(void *user, const struct bench *bench, uint64_t address, uint8_t *host)
{
    (void)user;
    (void)bench;
    memcpy(host, &address, sizeof address);
}

static uint32_t most_at_once(const uint64_t *stamps, uint32_t tbs)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < tbs; i++) {
        uint32_t at_once = 0;
        for (uint32_t other = 0; other < tbs; other++)
            at_once += stamps[2 * other] <= stamps[2 * i] && stamps[2 * i] < stamps[2 * other + 1];
        most = at_once > most ? at_once : most;
    }
    return most;
}

static struct reading residents(const struct bench *bench, struct shape shape, double implied)
{
    struct text kernel;
    char variables[64] = "";
    if (shape.shared_bytes)
        snprintf(variables, sizeof variables, ".shared .align 4 .b8 cells[%u];", shape.shared_bytes);
    text_begin_with_registers(&kernel, variables, shape.registers);
    text_add(&kernel, "mov.u64 %%rd30, %%clock64;\nmov.u64 %%rd1, %%rd0;\n");
    if (shape.shared_bytes)
        text_add(&kernel, "mov.u32 %%r2, cells;\nst.shared.u32 [%%r2], %%r2;\n");
    text_loop_begin(&kernel, 40);
    text_add(&kernel, "ld.global.cg.u64 %%rd1, [%%rd1];\n");
    text_loop_end(&kernel);
    text_add(&kernel,
             "and.b64 %%rd2, %%rd1, 0;\nmov.u64 %%rd31, %%clock64;\nadd.u64 %%rd31, %%rd31, %%rd2;\n"
             "mov.u32 %%r3, %%ctaid.x;\nmul.wide.u32 %%rd3, %%r3, 16;\nmov.u64 %%rd4, stamps;\n"
             "add.u64 %%rd4, %%rd4, %%rd3;\nst.global.u64 [%%rd4], %%rd30;\nst.global.u64 [%%rd4+8], %%rd31;\n");
    text_end(&kernel);
    struct run run = {.text = kernel.data,
                      .tbs = 3 * (uint32_t)implied,
                      .threads = shape.threads,
                      .buffer_bytes = 256,
                      .fill = point_to_itself};
    run_kernel(bench, &run);
    text_free(&kernel);
    return (struct reading){(double)run.counters.tb_cycles / (double)run.sm.busy_cycles,
                            most_at_once(run.stamps, run.tbs)};
}

/* What is given in units, of a resource of that size. */
static uint32_t fits(uint32_t available, uint32_t needed, uint32_t unit)
{
    return available / ((needed + unit - 1) / unit * unit);
}

/* ---- each limit with a shape for which it is the tightest ---- */

static struct shape register_shape(const struct corun_gpu_config *c)
{
    return (struct shape){128, c->registers_per_thread < 80 ? c->registers_per_thread : 80, 0};
}

static struct reading measure_registers(const struct bench *bench, const struct row *row)
{
    return residents(bench, register_shape(bench->design), row->implied(bench, row));
}

static double implied_registers(const struct bench *bench, const struct row *row)
{
    (void)row;
    const struct corun_gpu_config *c = bench->design;
    struct shape shape = register_shape(c);
    uint32_t warp = (shape.registers * CORUN_WARP_LANES + c->register_unit - 1) / c->register_unit * c->register_unit;
    return fits(c->registers_per_sm, warp * (shape.threads / CORUN_WARP_LANES), 1);
}

static struct shape shared_shape(const struct corun_gpu_config *c)
{
    uint32_t bytes = c->shared_bytes_per_sm / 3 - 100;
    return (struct shape){64, 0, bytes < c->shared_bytes_per_tb ? bytes : c->shared_bytes_per_tb};
}

static struct reading measure_shared(const struct bench *bench, const struct row *row)
{
    return residents(bench, shared_shape(bench->design), row->implied(bench, row));
}

static double implied_shared(const struct bench *bench, const struct row *row)
{
    (void)row;
    const struct corun_gpu_config *c = bench->design;
    return fits(c->shared_bytes_per_sm, shared_shape(c).shared_bytes, c->shared_unit_bytes);
}

enum { THREADS = 256 };

static struct reading measure_threads(const struct bench *bench, const struct row *row)
{
    return residents(bench, (struct shape){THREADS, 0, 0}, row->implied(bench, row));
}

static double implied_threads(const struct bench *bench, const struct row *row)
{
    (void)row;
    return fits(bench->design->threads_per_sm, THREADS, 1);
}

static struct reading measure_tbs(const struct bench *bench, const struct row *row)
{
    return residents(bench, (struct shape){32, 0, 0}, row->implied(bench, row));
}

static double implied_tbs(const struct bench *bench, const struct row *row)
{
    (void)row;
    return bench->design->tbs_per_sm;
}

#define ALONE "sms=1,icache_perfect=1,constant_perfect=1,dram_tREFI=0"

const struct row occupancy_rows[] = {
    {"residents, limited by registers", "thread blocks", measure_registers, implied_registers, ALONE,
     "registers_per_sm=1048576", NULL, NULL, 0, NULL, NULL},
    {"residents, limited by shared memory", "thread blocks", measure_shared, implied_shared, ALONE,
     "shared_bytes_per_sm=1M", NULL, NULL, 0, NULL, NULL},
    {"residents, limited by threads", "thread blocks", measure_threads, implied_threads, ALONE ",threads_per_sm=1024",
     "threads_per_sm=2048", NULL, NULL, 0, NULL, NULL},
    {"residents, limited by thread blocks", "thread blocks", measure_tbs, implied_tbs, ALONE, "tbs_per_sm=64", NULL,
     NULL, 0, NULL, NULL},
    {0},
};
