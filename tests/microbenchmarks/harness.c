/* SPDX-License-Identifier: MIT */
/* Micro-benchmarks: a row's kernel is built and run on the simulated GPU, and its answer is compared with the expected one. */
#include "harness.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static void give_up(struct corun_diagnostics *list, const char *what)
{
    fprintf(stderr, "%s\n", what);
    for (size_t i = 0; i < corun_diagnostics_count(list); i++) {
        const struct corun_diagnostic *diagnostic = corun_diagnostics_get(list, i);
        fprintf(stderr, "%u:%u: %s\n", diagnostic->place.line, diagnostic->place.column, diagnostic->message);
    }
    abort(); /* a kernel of ours is wrong, there is nothing to compare */
}

/* ---- configuration ---- */

uint32_t config_at(const struct corun_gpu_config *config, size_t offset)
{
    uint32_t value;
    memcpy(&value, (const char *)config + offset, sizeof value);
    return value;
}

uint32_t units_of(const struct corun_gpu_config *config, enum corun_unit unit)
{
    switch (unit) {
    case CORUN_UNIT_FP64:
        return config->fp64_units ? config->fp64_units : config->fp32_units;
    case CORUN_UNIT_SFU:
        return config->sfu_units;
    case CORUN_UNIT_INT:
        return config->int_shares_fp32 ? config->fp32_units : config->int_units;
    default:
        return config->fp32_units;
    }
}

bool has_l1(const struct corun_gpu_config *config)
{
    return config->l1_bytes && config->l1_caches_global;
}

bool has_l2(const struct corun_gpu_config *config)
{
    return config->l2_bytes != 0;
}

double core_per(const struct corun_gpu_config *config, uint32_t khz)
{
    return (double)config->core_clock_khz / khz;
}

uint32_t flits_of(const struct corun_gpu_config *config, uint32_t payload_bytes)
{
    uint32_t bytes = config->icnt_header_bytes + payload_bytes;
    return (bytes + config->icnt_flit_bytes - 1) / config->icnt_flit_bytes;
}

double round_trip(const struct corun_gpu_config *config, uint32_t bytes)
{
    uint32_t flit_waits = flits_of(config, 0) - 1 + flits_of(config, bytes) - 1;
    uint32_t port = (bytes + config->l2_bytes_per_cycle - 1) / config->l2_bytes_per_cycle;
    return (2 * config->icnt_latency + flit_waits) * core_per(config, config->icnt_clock_khz) +
           (config->l2_latency + port) * core_per(config, config->l2_clock_khz);
}

uint32_t l1_way(const struct corun_gpu_config *config)
{
    return config->l1_bytes ? config->l1_latency : 0;
}

/* ---- kernels ---- */

void text_begin(struct text *text, const char *variables)
{
    text_begin_with_registers(text, variables, 0);
}

void text_begin_with_registers(struct text *text, const char *variables, uint32_t registers)
{
    char directive[32] = "";
    if (registers)
        snprintf(directive, sizeof directive, ".maxnreg %u\n", registers);
    text->data = NULL;
    text->stream = open_memstream(&text->data, &text->bytes);
    if (!text->stream)
        abort();
    text_add(text,
             ".version 6.3\n.target sm_70\n.address_size 64\n"
             ".global .align 8 .u64 stamps[%u];\n%s\n"
             ".visible .entry k(.param .u64 buffer)\n%s{\n"
             ".reg .b32 %%r<40>;\n.reg .b64 %%rd<40>;\n.reg .f32 %%f<40>;\n.reg .f64 %%fd<40>;\n.reg .pred %%p<8>;\n"
             "ld.param.u64 %%rd0, [buffer];\n",
             STAMPS, variables ? variables : "", directive);
}

void text_add(struct text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vfprintf(text->stream, format, arguments);
    va_end(arguments);
}

void text_repeat(struct text *text, uint32_t count, const char *line, uint32_t first, uint32_t registers)
{
    for (uint32_t i = 0; i < count; i++) {
        for (const char *at = line; *at; at++)
            if (*at == '#')
                text_add(text, "%u", first + i % registers);
            else
                fputc(*at, text->stream);
        fputc('\n', text->stream);
    }
}

void text_use(struct text *text, uint32_t first, uint32_t registers)
{
    for (uint32_t i = 1; i < registers; i++)
        text_add(text, "add.u32 %%r%u, %%r%u, %%r%u;\n", first, first, first + i);
    text_add(text, "st.global.u32 [stamps+%u], %%r%u;\n", (STAMPS - 1) * 8, first);
}

void text_loop_begin(struct text *text, uint32_t turns)
{
    text_add(text, "mov.u32 %%r39, %u;\nloop:\n", turns);
}

void text_loop_end(struct text *text)
{
    text_add(text, "sub.u32 %%r39, %%r39, 1;\nsetp.ne.u32 %%p7, %%r39, 0;\n@%%p7 bra loop;\n");
}

void text_end(struct text *text)
{
    text_add(text, "exit;\n}\n");
    if (fclose(text->stream))
        abort();
}

void text_free(struct text *text)
{
    free(text->data);
}

static const struct corun_grid *only_grid(void *user, uint32_t index)
{
    return index == 0 ? user : NULL;
}

static void fill_variable(const struct bench *bench, struct run *run, struct corun_module_instance *instance,
                          struct corun_memory *memory)
{
    uint64_t bytes, address = corun_module_instance_variable(instance, "table", &bytes);
    uint8_t *host = address ? corun_memory_pointer(memory, address, bytes) : NULL;
    if (!host)
        give_up(NULL, "no variable `table`");
    run->fill_table(run->user, bench, address, host);
}

static void simulate(const struct bench *bench, struct run *run, const struct corun_grid *grid,
                     struct corun_diagnostics *list)
{
    struct corun_gpu *gpu;
    uint32_t index;
    struct corun_application_description application = {.name = "k", .grid = only_grid, .user = (void *)grid};
    struct corun_limits limits = {.runs = 1};
    if (corun_gpu_create(bench->machine, list, &gpu) != CORUN_OK)
        give_up(list, "the GPU cannot be made");
    if (run->trace)
        corun_gpu_trace(gpu, 0, UINT64_MAX, run->trace, run->user);
    if (corun_gpu_add(gpu, &application, &index) != CORUN_OK || corun_gpu_run(gpu, &limits, list) != CORUN_OK)
        give_up(list, "the kernel cannot run");
    struct corun_application_result result;
    corun_gpu_application(gpu, index, &result);
    if (result.status != CORUN_OK || result.runs != 1)
        give_up(list, "the kernel did not end");
    struct corun_kernel_result kernel;
    corun_gpu_kernel(gpu, index, 0, &kernel);
    run->cycles = kernel.cycles;
    run->counters = kernel.counters;
    corun_gpu_sm(gpu, 0, &run->sm);
    corun_gpu_destroy(gpu);
}

void run_kernel(const struct bench *bench, struct run *run)
{
    struct corun_diagnostics *list = corun_diagnostics_create();
    struct corun_memory *memory = corun_memory_create(0);
    struct corun_module *module;
    struct corun_module_instance *instance;
    struct corun_grid *grid;
    uint64_t buffer = 0, bytes;
    if (!list || !memory)
        abort();
    if (corun_module_load("microbenchmark", run->text, strlen(run->text), list, &module) != CORUN_OK)
        give_up(list, run->text);
    if (corun_module_instance_create(module, memory, list, &instance) != CORUN_OK)
        give_up(list, "the module instance cannot be made");
    if (run->buffer_bytes) {
        if (corun_memory_allocate(memory, run->buffer_bytes, &buffer) != CORUN_OK)
            abort();
        if (run->fill)
            run->fill(run->user, bench, buffer, corun_memory_pointer(memory, buffer, run->buffer_bytes));
    }
    if (run->fill_table)
        fill_variable(bench, run, instance, memory);
    struct corun_launch_description description = {
        .kernel = corun_module_kernel(module, "k"),
        .grid = {run->tbs, 1, 1},
        .block = {run->threads, 1, 1},
        .parameters = &buffer,
        .parameter_bytes = sizeof buffer,
    };
    if (corun_grid_create(instance, &description, list, &grid) != CORUN_OK)
        give_up(list, "the launch cannot be made");
    simulate(bench, run, grid, list);
    uint64_t stamps = corun_module_instance_variable(instance, "stamps", &bytes);
    if (corun_memory_read(memory, stamps, run->stamps, sizeof run->stamps) != CORUN_OK)
        abort();
    corun_grid_destroy(grid);
    corun_module_instance_destroy(instance);
    corun_module_destroy(module);
    corun_memory_destroy(memory);
    corun_diagnostics_destroy(list);
}
