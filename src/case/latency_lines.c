/* SPDX-License-Identifier: MIT */
/*
 * The micro-benchmark: every SM holds so many warps, each of which loads, waits, and loads again from where the loaded value says (it says 0,
 * but the machine does not know that). Coalesced: the warps stream through memory together, a line for each at a time. Uncoalesced: each
 * lane has a random line. The difference between a longer and a shorter run is free of what starting and ending cost.
 */
#include "case/latency_lines.h"

#include "case/baseline.h"
#include "case/fingerprint.h"
#include "corun/module.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FEW_STEPS 8u
#define MANY_STEPS 32u
#define LINE_BYTES 128u
/* Uncoalesced accesses scatter over so many times the L2, and at least over this. */
#define L2_TIMES 16u
#define LEAST_SCATTER (UINT64_C(64) << 20)
#define MOST_TB_WARPS 32u

/* The next address does not depend on the loaded value but for the last addition, so that nothing else is in the chain. */
static const char text[] = ".version 6.3\n.target sm_30\n.address_size 64\n"
                           ".visible .entry coalesced(.param .u64 buffer, .param .u32 steps, .param .u64 stride,\n"
                           "                          .param .u64 mask)\n{\n"
                           ".reg .u32 %r<8>;\n.reg .u64 %rd<8>;\n.reg .pred %p1;\n"
                           "ld.param.u64 %rd1, [buffer];\nld.param.u32 %r1, [steps];\nld.param.u64 %rd2, [stride];\n"
                           "mov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %ntid.x;\nmov.u32 %r4, %tid.x;\n"
                           "mad.lo.u32 %r2, %r2, %r3, %r4;\nmul.wide.u32 %rd3, %r2, 4;\nadd.u64 %rd1, %rd1, %rd3;\n"
                           "mov.u64 %rd4, 0;\n"
                           "again:\nadd.u64 %rd5, %rd1, %rd4;\nld.global.cg.u32 %r5, [%rd5];\n"
                           "cvt.u64.u32 %rd4, %r5;\nadd.u64 %rd1, %rd1, %rd2;\nsub.u32 %r1, %r1, 1;\n"
                           "setp.ne.u32 %p1, %r1, 0;\n@%p1 bra again;\nret;\n}\n"
                           ".visible .entry uncoalesced(.param .u64 buffer, .param .u32 steps, .param .u64 stride,\n"
                           "                            .param .u64 mask)\n{\n"
                           ".reg .u32 %r<8>;\n.reg .u64 %rd<8>;\n.reg .pred %p1;\n"
                           "ld.param.u64 %rd1, [buffer];\nld.param.u32 %r1, [steps];\nld.param.u64 %rd2, [mask];\n"
                           "mov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %ntid.x;\nmov.u32 %r4, %tid.x;\n"
                           "mad.lo.u32 %r2, %r2, %r3, %r4;\nmul.lo.u32 %r2, %r2, 0x9e3779b1;\n"
                           "mov.u64 %rd4, 0;\n"
                           "again:\nmad.lo.u32 %r2, %r2, 1664525, 1013904223;\nmul.wide.u32 %rd3, %r2, 128;\n"
                           "shr.u64 %rd3, %rd3, 4;\nand.b64 %rd3, %rd3, %rd2;\nadd.u64 %rd3, %rd3, %rd1;\n"
                           "add.u64 %rd5, %rd3, %rd4;\nld.global.cg.u32 %r5, [%rd5];\n"
                           "cvt.u64.u32 %rd4, %r5;\nsub.u32 %r1, %r1, 1;\nsetp.ne.u32 %p1, %r1, 0;\n"
                           "@%p1 bra again;\nret;\n}\n";
static const char *const kernels[MODEL_ACCESSES] = {
    [MODEL_COALESCED] = "coalesced", [MODEL_UNCOALESCED] = "uncoalesced"};

struct point_run {
    const struct corun_gpu_config *config;
    struct corun_diagnostics *list;
    enum model_access kind;
    uint32_t warps, steps;
    const struct corun_grid *grid;
    /* results */
    uint64_t cycles;
    struct corun_counters counters;
};

static const struct corun_grid *only_grid(void *user, uint32_t index)
{
    return index == 0 ? ((struct point_run *)user)->grid : NULL;
}

static enum corun_status simulate(struct point_run *run)
{
    const struct corun_application_description application = {
        .name = kernels[run->kind], .grid = only_grid, .user = run};
    const struct corun_limits limits = {.runs = 1};
    struct corun_gpu *gpu = NULL;
    uint32_t handle;
    enum corun_status status = corun_gpu_create(run->config, run->list, &gpu);
    if (status == CORUN_OK)
        status = corun_gpu_add(gpu, &application, &handle);
    if (status == CORUN_OK)
        status = corun_gpu_run(gpu, &limits, run->list);
    if (status == CORUN_OK) {
        struct corun_application_result result;
        struct corun_kernel_result kernel;
        corun_gpu_application(gpu, handle, &result);
        corun_gpu_kernel(gpu, handle, 0, &kernel);
        status = result.status;
        run->cycles = corun_gpu_cycles(gpu);
        run->counters = kernel.counters;
    }
    corun_gpu_destroy(gpu);
    return status;
}

/* So many thread blocks are the warps of an SM. */
static uint32_t tbs_of(const struct corun_gpu_config *config, uint32_t warps)
{
    uint32_t most = config->threads_per_tb / CORUN_WARP_LANES;
    most = most < MOST_TB_WARPS ? most : MOST_TB_WARPS;
    return (warps + most - 1) / most;
}

static enum corun_status launch(struct point_run *run, struct corun_module_instance *instance,
                                const struct corun_kernel *kernel, uint64_t buffer, uint64_t scatter)
{
    uint32_t tbs = tbs_of(run->config, run->warps), warps = run->config->sms * run->warps;
    struct {
        uint64_t buffer;
        uint32_t steps, unused;
        uint64_t stride, mask;
    } parameters = {buffer, run->steps, 0, (uint64_t)warps * LINE_BYTES, scatter - LINE_BYTES};
    struct corun_launch_description description = {.kernel = kernel,
                                                   .grid = {run->config->sms * tbs, 1, 1},
                                                   .block = {run->warps / tbs * CORUN_WARP_LANES, 1, 1},
                                                   .parameters = &parameters,
                                                   .parameter_bytes = sizeof parameters};
    struct corun_grid *grid;
    enum corun_status status = corun_grid_create(instance, &description, run->list, &grid);
    if (status != CORUN_OK)
        return status;
    run->grid = grid;
    status = simulate(run);
    corun_grid_destroy(grid);
    return status;
}

static enum corun_status run_point(struct point_run *run)
{
    uint64_t buffer, scatter = LEAST_SCATTER, bytes;
    while (scatter < (uint64_t)run->config->l2_bytes * L2_TIMES)
        scatter *= 2;
    bytes =
        run->kind == MODEL_UNCOALESCED ? scatter : (uint64_t)run->config->sms * run->warps * LINE_BYTES * run->steps;
    struct corun_memory *memory = corun_memory_create(0);
    struct corun_module *module = NULL;
    struct corun_module_instance *instance = NULL;
    enum corun_status status = memory ? CORUN_OK : CORUN_MEMORY;
    if (status == CORUN_OK)
        status = corun_module_load("latency micro-benchmark", text, sizeof text - 1, run->list, &module);
    if (status == CORUN_OK)
        status = corun_module_instance_create(module, memory, run->list, &instance);
    if (status == CORUN_OK)
        status = corun_memory_allocate(memory, bytes, &buffer);
    if (status == CORUN_OK)
        status = launch(run, instance, corun_module_kernel(module, kernels[run->kind]), buffer, scatter);
    corun_module_instance_destroy(instance);
    corun_module_destroy(module);
    corun_memory_destroy(memory);
    return status;
}

/* What a step spends on its way from the loaded value to the next address: a conversion and an addition. */
static double arithmetic_cycles(const struct corun_gpu_config *config)
{
    return 2.0 * (config->collect_cycles + config->int_add_latency);
}

static enum corun_status measure_point(const struct corun_gpu_config *config, enum model_access kind, uint32_t warps,
                                       struct corun_diagnostics *list, struct model_latency_point *point)
{
    struct point_run few = {.config = config, .list = list, .kind = kind, .warps = warps, .steps = FEW_STEPS};
    struct point_run many = {.config = config, .list = list, .kind = kind, .warps = warps, .steps = MANY_STEPS};
    enum corun_status status = run_point(&few);
    if (status == CORUN_OK)
        status = run_point(&many);
    if (status != CORUN_OK)
        return status;
    point->cycles = (double)(many.cycles - few.cycles) / (MANY_STEPS - FEW_STEPS) - arithmetic_cycles(config);
    point->requests = warps * (double)many.counters.missing_load_lines / (double)many.counters.missing_loads;
    return CORUN_OK;
}

/* Of so many warps, those that are thread blocks of one size. */
static uint32_t in_equal_tbs(const struct corun_gpu_config *config, uint32_t warps)
{
    return warps - warps % tbs_of(config, warps);
}

/* 1, 2, 4, … warps, and as many as an SM holds. */
static uint32_t next_warps(const struct corun_gpu_config *config, uint32_t warps)
{
    uint32_t most = in_equal_tbs(config, config->threads_per_sm / CORUN_WARP_LANES);
    if (warps >= most)
        return 0;
    return 2 * warps < most ? in_equal_tbs(config, 2 * warps) : most;
}

static enum corun_status measure(const struct corun_gpu_config *config, struct corun_diagnostics *list,
                                 struct latency_line lines[MODEL_ACCESSES])
{
    for (uint32_t kind = 0; kind < MODEL_ACCESSES; kind++) {
        lines[kind].count = 0;
        for (uint32_t warps = 1; warps && lines[kind].count < LATENCY_LINES_MAX_POINTS;
             warps = next_warps(config, warps)) {
            struct model_latency_point *point = &lines[kind].points[lines[kind].count++];
            enum corun_status status = measure_point(config, (enum model_access)kind, warps, list, point);
            if (status != CORUN_OK)
                return status;
        }
    }
    return CORUN_OK;
}

/* ---- the cache ---- */

static struct content_key key_of(const struct corun_gpu_config *config)
{
    struct content_digest *digest = content_digest_create();
    struct content_key key = {{0}};
    if (!digest)
        return key;
    content_digest_add(digest, "kind", "latency lines", 13);
    content_digest_add(digest, "text", text, sizeof text);
    content_digest_add_number(digest, "steps", MANY_STEPS << 16 | FEW_STEPS);
    content_digest_add_number(digest, "model version", CORUN_MODEL_VERSION);
    content_digest_add(digest, "model", model_fingerprint(), strlen(model_fingerprint()));
    baseline_digest_kernels_gpu(digest, config);
    return content_digest_end(digest);
}

static bool read_points(const json_t *values, struct latency_line lines[MODEL_ACCESSES])
{
    for (uint32_t kind = 0; kind < MODEL_ACCESSES; kind++) {
        const json_t *points = json_object_get(values, kernels[kind]);
        size_t count = json_array_size(points);
        if (count < 2 || count > LATENCY_LINES_MAX_POINTS)
            return false;
        lines[kind].count = (uint32_t)count;
        for (size_t i = 0; i < count; i++) {
            const json_t *requests = json_array_get(json_array_get(points, i), 0);
            const json_t *cycles = json_array_get(json_array_get(points, i), 1);
            if (!json_is_number(requests) || !json_is_number(cycles))
                return false;
            lines[kind].points[i] =
                (struct model_latency_point){json_number_value(requests), json_number_value(cycles)};
        }
    }
    return true;
}

static void store_points(const char *directory, const struct content_key *key, struct corun_diagnostics *list,
                         const struct latency_line lines[MODEL_ACCESSES])
{
    json_t *values = json_object();
    for (uint32_t kind = 0; kind < MODEL_ACCESSES; kind++) {
        json_t *points = json_array();
        for (uint32_t i = 0; i < lines[kind].count; i++)
            json_array_append_new(points,
                                  json_pack("[f,f]", lines[kind].points[i].requests, lines[kind].points[i].cycles));
        json_object_set_new(values, kernels[kind], points);
    }
    cache_store(directory, key, "latency of memory over requests under way", values, list);
    json_decref(values);
}

enum corun_status latency_lines_measure(const struct corun_gpu_config *config, const char *cache_directory,
                                        struct corun_diagnostics *list, struct latency_line lines[MODEL_ACCESSES])
{
    struct content_key key = key_of(config);
    json_t *values = cache_directory && key.hex[0] ? cache_load(cache_directory, &key, list) : NULL;
    bool known = values && read_points(values, lines);
    json_decref(values);
    if (!known) {
        enum corun_status status = measure(config, list, lines);
        if (status != CORUN_OK)
            return status;
        if (cache_directory && key.hex[0])
            store_points(cache_directory, &key, list, lines);
    }
    for (uint32_t kind = 0; kind < MODEL_ACCESSES; kind++) {
        enum corun_status status =
            model_line_fit(lines[kind].points, lines[kind].count, &lines[kind].line, &lines[kind].residual);
        if (status != CORUN_OK)
            return corun_report(list, status, CORUN_NOWHERE, "no line fits the latencies of %s accesses",
                                kernels[kind]);
    }
    return CORUN_OK;
}

enum corun_status latency_lines_describe_gpu(const struct corun_gpu_config *config, const char *cache_directory,
                                             struct corun_diagnostics *list, struct model_gpu *gpu)
{
    struct latency_line lines[MODEL_ACCESSES];
    enum corun_status status = latency_lines_measure(config, cache_directory, list, lines);
    model_gpu_describe(config, gpu);
    for (uint32_t kind = 0; kind < MODEL_ACCESSES && status == CORUN_OK; kind++)
        gpu->latency[kind] = lines[kind].line;
    return status;
}
