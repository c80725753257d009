/* SPDX-License-Identifier: MIT */
/* Which launch of a workload is meant, and its data. */
#include "serve/kernel.h"

#include <string.h>
#include <strings.h>

/* A thread block that runs longer than this without timing is taken to run for ever. */
#define FUNCTIONAL_WATCHDOG UINT64_C(400000000)
#define PAPER "kernelet"

/* Whether Kernelet's paper calls the workload so. */
static bool called(const struct corun_workload_info *info, const char *name, size_t length)
{
    for (size_t i = 0; i < info->paper_count; i++) {
        const struct corun_paper_claim *claim = &info->papers[i];
        if (!strcmp(claim->paper, PAPER) && strlen(claim->name) == length && !strncasecmp(claim->name, name, length))
            return true;
    }
    return false;
}

/* The workload's own name in place of the paper's; the text itself if no paper calls one so, or one is called so. */
enum corun_status served_kernel_workload(const char *text, const char *data_directory, struct arena *arena,
                                         struct corun_diagnostics *list, const char **specification)
{
    *specification = text;
    size_t length = strcspn(text, "@");
    if (strchr(text, '/') || !data_directory)
        return CORUN_OK;
    struct corun_workload_list *workloads;
    const char *name = NULL;
    enum corun_status status = corun_workload_list_create(data_directory, list, &workloads);
    if (status != CORUN_OK)
        return status;
    for (size_t i = 0; i < corun_workload_list_count(workloads); i++) {
        const struct corun_workload_info *info = corun_workload_list_get(workloads, i);
        if (strlen(info->name) == length && !strncmp(info->name, text, length)) {
            name = NULL;
            break;
        }
        if (!name && called(info, text, length))
            name = info->name;
    }
    if (name)
        *specification = arena_format(arena, "%s%s", name, text + length);
    corun_workload_list_destroy(workloads);
    return *specification ? CORUN_OK : CORUN_MEMORY;
}

static void describe(struct served_kernel *kernel, const struct corun_instance *instance)
{
    for (size_t i = 0; i < corun_instance_buffer_count(instance); i++) {
        struct corun_buffer_info buffer;
        corun_instance_buffer_at(instance, i, &buffer);
        kernel->device_bytes += buffer.bytes;
        *(buffer.is_output ? &kernel->bytes_out : &kernel->bytes_in) += buffer.bytes;
    }
    uint64_t most = 0;
    for (uint32_t g = 0; g < corun_instance_grid_count(instance); g++) {
        const struct corun_grid *grid = corun_instance_grid_at(instance, g);
        uint64_t threads = (uint64_t)grid->tb_count * grid->tb_threads;
        if (threads <= most)
            continue;
        most = threads;
        kernel->launch = g;
        kernel->tbs = grid->tb_count;
        kernel->tb_threads = grid->tb_threads;
        kernel->function = grid->name;
    }
}

enum corun_status served_kernel_load(const char *text, const char *data_directory, uint32_t rewrites, uint64_t seed,
                                     struct arena *arena, struct corun_diagnostics *list, struct served_kernel *kernel)
{
    *kernel = (struct served_kernel){.name = text};
    const char *specification;
    enum corun_status status = served_kernel_workload(text, data_directory, arena, list, &specification);
    if (status == CORUN_OK)
        status = corun_workload_assemble(specification, data_directory, rewrites, list, &kernel->workload);
    if (status != CORUN_OK)
        return status;
    if (!corun_workload_launch_count(kernel->workload))
        return corun_report(list, CORUN_UNSUPPORTED, CORUN_NOWHERE,
                            "%s: the kernels of a captured program are launched by the program, not by a queue", text);
    struct corun_instance *instance;
    status = corun_instance_create(kernel->workload, 0, seed, list, &instance);
    if (status != CORUN_OK)
        return status;
    describe(kernel, instance);
    corun_instance_destroy(instance);
    return CORUN_OK;
}

void served_kernel_end(struct served_kernel *kernel)
{
    corun_workload_destroy(kernel->workload);
    kernel->workload = NULL;
}

enum corun_status served_kernel_open(const struct served_kernel *kernel, uint32_t number, uint64_t seed,
                                     struct corun_diagnostics *list, struct corun_instance **result,
                                     const struct corun_grid **grid)
{
    *result = NULL;
    struct corun_instance *instance;
    enum corun_status status = corun_instance_create(kernel->workload, number, seed, list, &instance);
    if (status != CORUN_OK)
        return status;
    for (uint32_t g = 0; g < kernel->launch && status == CORUN_OK; g++) {
        struct corun_functional_result done;
        (void)corun_instance_grid(instance, g); /* copies between launches happen in it */
        status = corun_run_functional((struct corun_grid *)corun_instance_grid_at(instance, g), FUNCTIONAL_WATCHDOG,
                                      list, NULL, NULL, &done);
    }
    if (status != CORUN_OK) {
        corun_instance_destroy(instance);
        return status;
    }
    *grid = corun_instance_grid(instance, kernel->launch);
    *result = instance;
    return CORUN_OK;
}
