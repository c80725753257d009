/* SPDX-License-Identifier: MIT */
/* A workload loaded by name or path: description, size, plan and PTX, checked against each other. */
#include "workload/workload.h"

#include "base/nearest.h"
#include "base/text_file.h"
#include "isa/kernel.h"
#include "workload/element.h"
#include "workload/references.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PTX_MAX_BYTES (UINT64_C(1) << 30)

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), end_length = strlen(end);
    return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

#define TRACE_PREFIX "trace:" /* a folder follows */

static bool is_trace(const char *text)
{
    return strncmp(text, TRACE_PREFIX, strlen(TRACE_PREFIX)) == 0;
}

static bool is_path(const char *text)
{
    return strchr(text, '/') || ends_with(text, ".yaml") || ends_with(text, ".yml") || ends_with(text, CAPTURE_ENDING);
}

/* The @ of a description's size in NAME@SIZE; NULL: there is none. A path may have an @ of its own. */
static const char *find_size(const char *name)
{
    const char *at = strrchr(name, '@');
    return at && !strchr(at, '/') && !(is_path(name) && access(name, F_OK) == 0) ? at : NULL;
}

bool workload_lacks_size(const char *specification)
{
    return !is_trace(specification) && !ends_with(specification, CAPTURE_ENDING) && !find_size(specification);
}

/* Says so, and which one was probably meant. */
static enum corun_status report_unknown(const char *name, const char *data_directory, struct corun_diagnostics *list)
{
    struct corun_workload_list *workloads = NULL;
    const char *nearest = NULL;
    if (corun_workload_list_create(data_directory, NULL, &workloads) == CORUN_OK) {
        size_t count = corun_workload_list_count(workloads);
        const char **names = calloc(count + 1, sizeof *names);
        for (size_t i = 0; names && i < count; i++)
            names[i] = corun_workload_list_get(workloads, i)->name;
        nearest = names ? nearest_name(name, names, count) : NULL;
        free(names);
    }
    if (nearest)
        corun_report(list, CORUN_NOT_FOUND, CORUN_NOWHERE, "there is no workload '%s'; did you mean '%s'?", name,
                     nearest);
    else if (strchr(name, ','))
        corun_report(list, CORUN_NOT_FOUND, CORUN_NOWHERE,
                     "there is no workload '%s'; other values for parameters follow a size: "
                     "NAME@SIZE,parameter=value",
                     name);
    else
        corun_report(list, CORUN_NOT_FOUND, CORUN_NOWHERE, "there is no workload '%s' in %s/kernels", name,
                     data_directory);
    if (workloads)
        corun_workload_list_destroy(workloads);
    return CORUN_NOT_FOUND;
}

/*
 * NAME[@SIZE[,parameter=value,...]], or the same of a PATH → path of the description and what follows the @ (NULL if
 * nothing); both are to be freed.
 */
static enum corun_status resolve(const char *specification, const char *data_directory, struct corun_diagnostics *list,
                                 char **path, char **size)
{
    *path = *size = NULL;
    char *name = strdup(specification + (is_trace(specification) ? strlen(TRACE_PREFIX) : 0));
    if (!name)
        return corun_report(list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory");
    if (is_trace(specification) && !*name) {
        free(name);
        return corun_report(list, CORUN_NOT_FOUND, CORUN_NOWHERE, "'%s' names no folder", specification);
    }
    if (is_trace(specification)) {
        *path = name;
        return CORUN_OK;
    }
    const char *at = find_size(name);
    if (at) {
        *size = strdup(at + 1);
        name[at - name] = 0;
        if (!*size) {
            free(name);
            return corun_report(list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory");
        }
    }
    if (is_path(name)) {
        *path = name;
        return CORUN_OK;
    }
    enum corun_status status = CORUN_OK;
    if (!*name || name[0] == '.')
        status = corun_report(list, CORUN_NOT_FOUND, CORUN_NOWHERE, "'%s' names no workload", specification);
    else if (!data_directory)
        status = corun_report(list, CORUN_NOT_FOUND, CORUN_NOWHERE, "no data directory to find workload '%s' in", name);
    else if (asprintf(path, "%s/kernels/%s/%s.yaml", data_directory, name, name) < 0)
        status = corun_report(list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory");
    if (!status && *path && access(*path, F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR))
        status = report_unknown(name, data_directory, list);
    free(name);
    return status;
}

static const struct corun_reference *find_reference(const char *name)
{
    for (size_t i = 0; corun_references[i]; i++) {
        const char *own = corun_references[i]->name; /* NULL if reference.c gives none: then nobody can ask for it */
        if (own && strcmp(own, name) == 0)
            return corun_references[i];
    }
    return NULL;
}

/* The reference and every generator that the description names must exist. */
static enum corun_status find_references(struct corun_workload *workload, struct corun_diagnostics *list)
{
    const struct description *description = workload->description;
    if (description->reference.text) {
        workload->reference = find_reference(description->reference.text);
        if (!workload->reference)
            return corun_report(list, CORUN_SYNTAX, description->reference.place,
                                "there is no reference '%.80s' in this build", description->reference.text);
    }
    for (size_t i = 0; i < description->buffers.count; i++) {
        const struct buffer_description *buffer = &description->buffers.data[i];
        if (buffer->kind != INITIAL_GENERATOR)
            continue;
        const struct corun_generator *generator = workload->reference ? workload->reference->generators : NULL;
        assert(buffer->generator.text);
        while (generator && generator->name && strcmp(generator->name, buffer->generator.text) != 0)
            generator++;
        if (!generator || !generator->name)
            return corun_report(
                list, CORUN_SYNTAX, buffer->generator.place, "there is no generator '%.80s'%s", buffer->generator.text,
                workload->reference ? " in the reference" : ": generators belong to a reference, and none is named");
    }
    return CORUN_OK;
}

static enum corun_status load_module(struct corun_workload *workload, struct corun_diagnostics *list)
{
    const struct description *description = workload->description;
    assert(description && description->ptx.text);
    const char *slash = strrchr(description->path, '/');
    int folder = slash && description->ptx.text[0] != '/' ? (int)(slash - description->path) + 1 : 0;
    if (asprintf(&workload->ptx_path, "%.*s%s", folder, description->path, description->ptx.text) < 0) {
        workload->ptx_path = NULL;
        return corun_report(list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory");
    }
    enum corun_status status =
        text_file_read(workload->ptx_path, PTX_MAX_BYTES, list, &workload->ptx, &workload->ptx_bytes);
    if (status == CORUN_NOT_FOUND)
        return corun_report(list, status, description->ptx.place, "its PTX file is missing");
    if (status)
        return status;
    return corun_module_assemble(workload->ptx_path, workload->ptx, workload->ptx_bytes, workload->rewrites, list,
                                 &workload->module);
}

static enum corun_status check_argument(const struct argument_description *argument,
                                        const struct corun_parameter *parameter, struct corun_diagnostics *list)
{
    uint32_t bytes = argument->is_buffer ? 8 : element_row(argument->element)->bytes;
    const char *word = argument->is_buffer ? "a buffer" : element_row(argument->element)->word;
    bool is_float = !argument->is_buffer && element_row(argument->element)->is_float;
    bool fits = parameter->bytes == bytes;
    if (parameter->type[0] == 'f' ? !is_float : parameter->type[0] != 'b' && is_float)
        fits = false;
    if (fits)
        return CORUN_OK;
    return corun_report(list, CORUN_ARGUMENT, argument->place, "%s does not fit parameter '%s' (%s, %u bytes)", word,
                        parameter->name, parameter->type, parameter->bytes);
}

static enum corun_status check_kernel(struct corun_workload *workload, const struct launch_description *launch,
                                      struct corun_diagnostics *list)
{
    const struct corun_kernel *kernel = corun_module_kernel(workload->module, launch->kernel.text);
    if (!kernel)
        return corun_report(list, CORUN_NOT_FOUND, launch->kernel.place, "there is no kernel '%.80s' in %s",
                            launch->kernel.text, workload->ptx_path);
    workload->kernels[launch->index] = kernel;
    struct corun_kernel_info info;
    corun_kernel_describe(kernel, &info);
    if (info.parameter_count != launch->arguments.count)
        return corun_report(list, CORUN_ARGUMENT, launch->place, "kernel '%s' takes %u arguments, but %zu are given",
                            info.name, info.parameter_count, launch->arguments.count);
    enum corun_status status = CORUN_OK;
    for (size_t i = 0; i < launch->arguments.count && !status; i++)
        status = check_argument(&launch->arguments.data[i], &info.parameters[i], list);
    return status;
}

static enum corun_status check_launches(struct corun_workload *workload, const struct launch_description *launches,
                                        size_t count, struct corun_diagnostics *list)
{
    enum corun_status status = CORUN_OK;
    for (size_t i = 0; i < count && !status; i++) {
        if (launches[i].kind == LAUNCH_KERNEL)
            status = check_kernel(workload, &launches[i], list);
        else if (launches[i].kind == LAUNCH_GROUP)
            status = check_launches(workload, launches[i].launches.data, launches[i].launches.count, list);
    }
    return status;
}

static enum corun_status load(struct corun_workload *workload, const char *path, const char *size,
                              struct corun_diagnostics *list)
{
    if (ends_with(path, CAPTURE_ENDING)) {
        if (size)
            return corun_report(list, CORUN_NOT_FOUND, (struct corun_place){path, 0, 0},
                                "a captured program has no sizes: '@%s'", size);
        return capture_load(path, workload->rewrites, list, &workload->captured);
    }
    char *text = NULL;
    size_t bytes = 0;
    enum corun_status status = text_file_read(path, DESCRIPTION_MAX_BYTES, list, &text, &bytes);
    if (!status)
        status = description_parse(path, text, bytes, list, &workload->description);
    free(text);
    if (!status)
        status = plan_create(workload->description, size, list, &workload->plan);
    if (!status)
        status = find_references(workload, list);
    if (!status)
        status = load_module(workload, list);
    if (status)
        return status;
    workload->kernels = calloc(workload->description->kernel_launches, sizeof(*workload->kernels));
    if (!workload->kernels)
        return corun_report(list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory");
    return check_launches(workload, workload->description->launches.data, workload->description->launches.count, list);
}

enum corun_status corun_workload_load(const char *specification, const char *data_directory,
                                      struct corun_diagnostics *list, struct corun_workload **workload)
{
    return corun_workload_assemble(specification, data_directory, 0, list, workload);
}

enum corun_status corun_workload_assemble(const char *specification, const char *data_directory, uint32_t rewrites,
                                          struct corun_diagnostics *list, struct corun_workload **result)
{
    *result = NULL;
    char *path, *size;
    enum corun_status status = resolve(specification, data_directory, list, &path, &size);
    struct corun_workload *workload = NULL;
    if (!status) {
        assert(path);
        workload = calloc(1, sizeof *workload);
        if (workload)
            workload->rewrites = rewrites;
        if (!workload)
            status = corun_report(list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory");
        else
            status = is_trace(specification) ? sass_trace_load(path, list, &workload->traced)
                                             : load(workload, path, size, list);
    }
    free(path);
    free(size);
    if (status)
        corun_workload_destroy(workload);
    else
        *result = workload;
    return status;
}

uint32_t corun_workload_rewrites(const struct corun_workload *workload)
{
    return workload->rewrites;
}

void corun_workload_destroy(struct corun_workload *workload)
{
    if (!workload)
        return;
    capture_destroy(workload->captured);
    sass_trace_destroy(workload->traced);
    if (workload->module)
        corun_module_destroy(workload->module);
    plan_destroy(workload->plan);
    description_destroy(workload->description);
    free(workload->kernels);
    free(workload->ptx);
    free(workload->ptx_path);
    free(workload);
}

void corun_workload_describe(const struct corun_workload *workload, struct corun_workload_info *info)
{
    if (workload->captured) {
        capture_describe(workload->captured, info);
        return;
    }
    if (workload->traced) {
        *info = (struct corun_workload_info){.name = workload->traced->name,
                                             .summary = "a trace of machine code",
                                             .character = CORUN_CHARACTER_COUNT,
                                             .path = workload->traced->path,
                                             .size = "trace"};
        return;
    }
    description_describe(workload->description, info);
    info->size = workload->plan->overrides.size_name;
    info->has_reference = workload->reference && workload->reference->compute;
    for (size_t i = 0; i < workload->description->buffers.count; i++)
        info->buffer_bytes += workload->plan->buffers[i].bytes;
}

enum corun_status corun_workload_check_gpu(const struct corun_workload *workload, const struct corun_gpu_config *gpu,
                                           struct corun_diagnostics *list)
{
    uint32_t needed = workload->description ? workload->description->architecture : 0;
    if (gpu->compute_capability >= needed)
        return CORUN_OK;
    return corun_report(list, CORUN_UNSUPPORTED, CORUN_NOWHERE, "%s needs a GPU of sm_%u or later; %s is sm_%u%s",
                        workload->description->name, needed, gpu->name, gpu->compute_capability,
                        gpu->tensor_units ? "" : " and has no tensor cores");
}

void corun_workload_stated_work(const struct corun_workload *workload, struct corun_workload_work *work)
{
    *work = workload->plan ? workload->plan->work : (struct corun_workload_work){0};
}

bool corun_workload_parameter_at(const struct corun_workload *workload, size_t index, const char **name, int64_t *value)
{
    if (!workload->plan || index >= workload->plan->parameters.count)
        return false;
    *name = workload->plan->parameters.data[index].name;
    *value = workload->plan->parameters.data[index].value;
    return true;
}

static bool has_kernel(const struct corun_module *module, const struct corun_instruction *code,
                       const struct corun_kernel **kernel)
{
    for (size_t k = 0; (*kernel = corun_module_kernel_at(module, k)); k++)
        if ((*kernel)->instructions == code)
            return true;
    return false;
}

bool corun_workload_ptx_of(const struct corun_workload *workload, const struct corun_instruction *code,
                           struct corun_workload_ptx *ptx)
{
    if (workload->module) {
        const char *slash = strrchr(workload->ptx_path, '/');
        *ptx = (struct corun_workload_ptx){slash ? slash + 1 : workload->ptx_path, workload->ptx, workload->ptx_bytes,
                                           workload->module, NULL};
        return has_kernel(workload->module, code, &ptx->kernel);
    }
    for (size_t m = 0; workload->captured && m < workload->captured->modules.count; m++) {
        const struct captured_module *module = &workload->captured->modules.data[m];
        *ptx = (struct corun_workload_ptx){module->name, (const char *)module->text.data, module->text.bytes,
                                           module->code, NULL};
        if (has_kernel(module->code, code, &ptx->kernel))
            return true;
    }
    return false;
}

size_t corun_workload_launch_count(const struct corun_workload *workload)
{
    if (workload->traced)
        return 0;
    return workload->captured ? workload->captured->groups.count : workload->description->kernel_launches;
}

void corun_workload_launch_at(const struct corun_workload *workload, size_t index, struct corun_workload_launch *launch)
{
    if (workload->captured) {
        *launch = workload->captured->groups.data[index];
        return;
    }
    *launch = (struct corun_workload_launch){.kernel = workload->kernels[index]};
    for (size_t i = 0; i < workload->plan->operations.count; i++) {
        const struct planned_operation *operation = &workload->plan->operations.data[i];
        if (operation->launch->kind != LAUNCH_KERNEL || operation->launch->index != index)
            continue;
        if (launch->launches++ == 0) {
            launch->grid = (struct corun_dim3){operation->grid[0], operation->grid[1], operation->grid[2]};
            launch->block = (struct corun_dim3){operation->block[0], operation->block[1], operation->block[2]};
            launch->dynamic_shared_bytes = operation->shared_bytes;
        }
    }
}
