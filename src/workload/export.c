/* SPDX-License-Identifier: MIT */
/*
 * A run written out as files, for somewhere else: PTX, initial data, expected results, and launch.json, which says how they
 * belong together (docs/hardware.md has its schema). Everything is evaluated there: no expressions, no repetitions, no names
 * that change places.
 */
#include "base/vector.h"
#include "workload/element.h"
#include "workload/instance.h"

#include <dirent.h>
#include <errno.h>
#include <float.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Raised when a reader of the last version would misunderstand the file. */
#define EXPORT_VERSION 1

/* Operations that repeat do so soon: beyond the last few, writing one again costs little. */
#define RECENT_OPERATIONS 64u

#define EXPECTED ".expected"
#define INITIAL ".initial"
#define DESCRIPTION "launch.json"

struct exporter {
    struct corun_instance *instance;
    const struct corun_workload *workload;
    const char *directory;
    struct corun_diagnostics *list;
    struct corun_problem_buffer buffers[DESCRIPTION_MAX_BUFFERS]; /* in device memory, by storage */
    bool is_zero[DESCRIPTION_MAX_BUFFERS];                        /* initially */
    VECTOR(const struct planned_operation *) distinct;
};

static enum corun_status out_of_memory(const struct exporter *exporter)
{
    return corun_report(exporter->list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory to export workload '%s'",
                        exporter->workload->description->name);
}

static enum corun_status report_file(const struct exporter *exporter, const char *path, const char *what)
{
    return corun_report(exporter->list, CORUN_FILE, (struct corun_place){path, 0, 0}, "%s: %s", what, strerror(errno));
}

/* DIRECTORY/NAME + ending, to be freed; NULL when out of memory. */
static char *path_of(const struct exporter *exporter, const char *name, const char *ending)
{
    char *path;
    return asprintf(&path, "%s/%s%s", exporter->directory, name, ending) < 0 ? NULL : path;
}

static enum corun_status write_file(const struct exporter *exporter, const char *name, const char *ending,
                                    const void *data, size_t bytes)
{
    char *path = path_of(exporter, name, ending);
    if (!path)
        return out_of_memory(exporter);
    enum corun_status status = CORUN_OK;
    FILE *file = fopen(path, "wbe");
    if (!file) {
        status = report_file(exporter, path, "cannot be written");
    } else {
        bool complete = fwrite(data, 1, bytes, file) == bytes;
        int reason = errno;
        bool closed = fclose(file) == 0;
        if (!complete || !closed) {
            errno = complete ? errno : reason;
            status = report_file(exporter, path, "not everything could be written");
        }
    }
    free(path);
    return status;
}

static bool has_entries(DIR *directory)
{
    for (const struct dirent *entry; (entry = readdir(directory));) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            return true;
    }
    return false;
}

/* Makes it, or takes an empty one; a full one only with `overwrite`, and then it is no export until all is written. */
static enum corun_status prepare_directory(const struct exporter *exporter, bool overwrite)
{
    const char *path = exporter->directory;
    if (mkdir(path, 0777) == 0)
        return CORUN_OK;
    if (errno != EEXIST)
        return report_file(exporter, path, "the directory cannot be made");
    DIR *directory = opendir(path);
    if (!directory)
        return report_file(exporter, path, "cannot be read");
    bool full = has_entries(directory);
    closedir(directory);
    if (!full)
        return CORUN_OK;
    if (!overwrite)
        return corun_report(exporter->list, CORUN_FILE, (struct corun_place){path, 0, 0}, "the directory is not empty");
    char *description = path_of(exporter, DESCRIPTION, "");
    if (!description)
        return out_of_memory(exporter);
    enum corun_status status = CORUN_OK;
    if (unlink(description) != 0 && errno != ENOENT)
        status = report_file(exporter, description, "cannot be replaced");
    free(description);
    return status;
}

static bool is_zero(const uint8_t *data, uint64_t bytes)
{
    return data[0] == 0 && memcmp(data, data + 1, bytes - 1) == 0;
}

static enum corun_status write_initial(struct exporter *exporter)
{
    const struct description *description = exporter->workload->description;
    enum corun_status status = CORUN_OK;
    for (size_t i = 0; i < description->buffers.count && !status; i++) {
        uint64_t bytes = exporter->workload->plan->buffers[i].bytes;
        exporter->is_zero[i] = is_zero(exporter->buffers[i].data, bytes);
        if (description->buffers.data[i].kind != INITIAL_KEEP && !exporter->is_zero[i])
            status = write_file(exporter, exporter->buffers[i].name, INITIAL, exporter->buffers[i].data, bytes);
    }
    return status;
}

/* The reference turns the initial data into the results right where they lie. */
static enum corun_status write_expected(struct exporter *exporter)
{
    const struct corun_workload *workload = exporter->workload;
    const struct description *description = workload->description;
    if (!workload->reference || !workload->reference->compute)
        return CORUN_OK;
    struct corun_problem problem = {
        .seed = exporter->instance->seed,
        .buffers = exporter->buffers,
        .buffer_count = description->buffers.count,
        .parameters = workload->plan->parameters.data,
        .parameter_count = workload->plan->parameters.count,
    };
    for (size_t i = 0; i < problem.buffer_count; i++) {
        if (description->buffers.data[i].kind == INITIAL_KEEP) /* as corun_instance_verify has it */
            memset(exporter->buffers[i].data, 0, workload->plan->buffers[i].bytes);
    }
    if (!workload->reference->compute(&problem))
        return corun_report(exporter->list, CORUN_MEMORY, CORUN_NOWHERE,
                            "out of memory for the reference of workload '%s'", description->name);
    enum corun_status status = CORUN_OK;
    for (size_t i = 0; i < problem.buffer_count && !status; i++) {
        if (description->buffers.data[i].is_output)
            status = write_file(exporter, exporter->buffers[i].name, EXPECTED, exporter->buffers[i].data,
                                workload->plan->buffers[i].bytes);
    }
    return status;
}

/* What follows makes JSON values; NULL when out of memory, which the functions of jansson pass on. */

static json_t *describe_output(const struct exporter *exporter, size_t index)
{
    const struct corun_workload *workload = exporter->workload;
    const struct buffer_description *buffer = &workload->description->buffers.data[index];
    bool has_reference = workload->reference && workload->reference->compute;
    json_t *file = has_reference ? json_sprintf("%s" EXPECTED, buffer->name) : json_null();
    return json_pack("{s:s, s:o, s:f, s:f}", "memory", exporter->buffers[workload->plan->final_storage[index]].name,
                     "expected", file, "absolute", buffer->absolute, "relative", buffer->relative);
}

static json_t *describe_buffer(const struct exporter *exporter, size_t index)
{
    const struct buffer_description *buffer = &exporter->workload->description->buffers.data[index];
    const struct planned_buffer *planned = &exporter->workload->plan->buffers[index];
    json_t *object = json_pack("{s:s, s:s, s:I, s:I}", "name", buffer->name, "type", element_row(buffer->element)->word,
                               "count", (json_int_t)planned->count, "bytes", (json_int_t)planned->bytes);
    json_t *initial = NULL;
    if (buffer->kind == INITIAL_KEEP)
        initial = json_string("module");
    else
        initial = exporter->is_zero[index] ? json_string("zero") : json_sprintf("%s" INITIAL, buffer->name);
    bool failed = json_object_set_new(object, "initial", initial);
    if (buffer->symbol.text)
        failed = json_object_set_new(object, "symbol", json_string(buffer->symbol.text)) || failed;
    if (buffer->is_output)
        failed = json_object_set_new(object, "output", describe_output(exporter, index)) || failed;
    if (failed) {
        json_decref(object);
        return NULL;
    }
    return object;
}

static json_t *describe_scalar(enum corun_element element, uint64_t bits)
{
    switch (element) {
#define SCALAR(name, word, type, is_float) \
    case CORUN_ELEMENT_##name: { \
        type value; \
        memcpy(&value, &bits, sizeof value); \
        if (!(is_float)) \
            return json_integer((json_int_t)value); \
        double real = (double)value; \
        return isfinite(real) ? json_real(real) : json_sprintf("%g", real); \
    }
        CORUN_ELEMENTS(SCALAR)
#undef SCALAR
    case CORUN_ELEMENT_COUNT:
        break;
    }
    return NULL;
}

static json_t *describe_arguments(const struct exporter *exporter, const struct planned_operation *operation)
{
    json_t *arguments = json_array();
    bool failed = !arguments;
    for (size_t i = 0; i < operation->launch->arguments.count; i++) {
        const struct argument_description *argument = &operation->launch->arguments.data[i];
        const struct planned_argument *planned = &operation->arguments[i];
        json_t *value = argument->is_buffer ? json_pack("{s:s, s:I}", "buffer", exporter->buffers[planned->buffer].name,
                                                        "offset_bytes", (json_int_t)planned->bits)
                                            : json_pack("{s:s, s:o}", "type", element_row(argument->element)->word,
                                                        "value", describe_scalar(argument->element, planned->bits));
        failed = json_array_append_new(arguments, value) || failed;
    }
    if (failed) {
        json_decref(arguments);
        return NULL;
    }
    return arguments;
}

static json_t *describe_operation(const struct exporter *exporter, const struct planned_operation *operation)
{
    if (operation->launch->kind == LAUNCH_COPY)
        return json_pack("{s:{s:s, s:I, s:s, s:I, s:I}}", "copy", "from", exporter->buffers[operation->from].name,
                         "from_offset_bytes", (json_int_t)operation->from_offset, "to",
                         exporter->buffers[operation->to].name, "to_offset_bytes", (json_int_t)operation->to_offset,
                         "bytes", (json_int_t)operation->copy_bytes);
    const uint32_t *grid = operation->grid, *block = operation->block;
    return json_pack("{s:s, s:[iii], s:[iii], s:i, s:o}", "kernel", operation->launch->kernel.text, "grid",
                     (int)grid[0], (int)grid[1], (int)grid[2], "block", (int)block[0], (int)block[1], (int)block[2],
                     "shared_bytes", (int)operation->shared_bytes, "arguments",
                     describe_arguments(exporter, operation));
}

static bool same_operation(const struct planned_operation *left, const struct planned_operation *right)
{
    if (left->launch != right->launch || memcmp(left->grid, right->grid, sizeof left->grid) != 0 ||
        memcmp(left->block, right->block, sizeof left->block) != 0 || left->shared_bytes != right->shared_bytes ||
        left->copy_bytes != right->copy_bytes || left->from_offset != right->from_offset ||
        left->to_offset != right->to_offset || left->from != right->from || left->to != right->to)
        return false;
    for (size_t i = 0; left->arguments && i < left->launch->arguments.count; i++) {
        if (left->arguments[i].bits != right->arguments[i].bits ||
            left->arguments[i].buffer != right->arguments[i].buffer)
            return false;
    }
    return true;
}

/* The place of an operation among the distinct ones, which may grow by it; false when out of memory. */
static bool find_distinct(struct exporter *exporter, const struct planned_operation *operation, size_t *place)
{
    size_t count = exporter->distinct.count;
    size_t oldest = count > RECENT_OPERATIONS ? count - RECENT_OPERATIONS : 0;
    for (*place = count; (*place)-- > oldest;) {
        if (same_operation(exporter->distinct.data[*place], operation))
            return true;
    }
    *place = count;
    return vector_push(&exporter->distinct, operation);
}

/* The order of the run, as places among the distinct operations. */
static json_t *describe_sequence(struct exporter *exporter)
{
    const struct plan *plan = exporter->workload->plan;
    json_t *sequence = json_array();
    bool failed = !sequence;
    for (size_t i = 0; i < plan->operations.count && !failed; i++) {
        size_t place;
        failed = !find_distinct(exporter, &plan->operations.data[i], &place) ||
                 json_array_append_new(sequence, json_integer((json_int_t)place));
    }
    if (failed) {
        json_decref(sequence);
        return NULL;
    }
    return sequence;
}

static json_t *describe_parameters(const struct plan *plan)
{
    json_t *object = json_object();
    bool failed = !object;
    for (size_t i = 0; i < plan->parameters.count; i++)
        failed = json_object_set_new(object, plan->parameters.data[i].name,
                                     json_integer((json_int_t)plan->parameters.data[i].value)) ||
                 failed;
    if (failed) {
        json_decref(object);
        return NULL;
    }
    return object;
}

static json_t *describe_work(const struct plan *plan)
{
    if (!plan->work.stated)
        return json_null();
    return json_pack("{s:I, s:I, s:I}", "outputs", (json_int_t)plan->work.outputs, "thread_instructions",
                     (json_int_t)plan->work.thread_instructions, "global_bytes", (json_int_t)plan->work.global_bytes);
}

/* Text where readers whose numbers are doubles would round it. */
static json_t *describe_seed(uint64_t seed)
{
    return seed <= UINT64_C(1) << DBL_MANT_DIG ? json_integer((json_int_t)seed)
                                               : json_sprintf("%llu", (unsigned long long)seed);
}

/* Writes `"key": value` and consumes the value; false if it could not be made. */
static bool put(FILE *stream, const char *key, json_t *value, const char *end)
{
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(17));
    json_decref(value);
    if (!text)
        return false;
    fprintf(stream, "%s%s%s%s%s", key ? " \"" : "  ", key ? key : "", key ? "\": " : "", text, end);
    free(text);
    return true;
}

/* The whole of launch.json, one line for each buffer and operation; false when out of memory. */
static bool put_description(struct exporter *exporter, FILE *stream)
{
    const struct description *description = exporter->workload->description;
    const struct plan *plan = exporter->workload->plan;
    json_t *sequence = describe_sequence(exporter);
    fputs("{\n", stream);
    bool complete = put(stream, "format", json_string("corun export"), ",\n") &&
                    put(stream, "version", json_integer(EXPORT_VERSION), ",\n") &&
                    put(stream, "workload", json_string(description->name), ",\n") &&
                    put(stream, "size", json_string(plan->overrides.size_name), ",\n") &&
                    put(stream, "seed", describe_seed(exporter->instance->seed), ",\n") &&
                    put(stream, "parameters", describe_parameters(plan), ",\n") &&
                    put(stream, "work", describe_work(plan), ",\n") &&
                    put(stream, "ptx", json_sprintf("%s.ptx", description->name), ",\n");
    fputs(" \"buffers\": [\n", stream);
    for (size_t i = 0; i < description->buffers.count && complete; i++)
        complete = put(stream, NULL, describe_buffer(exporter, i), i + 1 < description->buffers.count ? ",\n" : "\n");
    fputs(" ],\n \"operations\": [\n", stream);
    for (size_t i = 0; i < exporter->distinct.count && complete; i++)
        complete = put(stream, NULL, describe_operation(exporter, exporter->distinct.data[i]),
                       i + 1 < exporter->distinct.count ? ",\n" : "\n");
    fputs(" ],\n", stream);
    if (!complete) {
        json_decref(sequence);
        return false;
    }
    complete = put(stream, "sequence", sequence, "\n");
    fputs("}\n", stream);
    return complete;
}

static enum corun_status write_description(struct exporter *exporter)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);
    bool complete = stream && put_description(exporter, stream);
    complete = complete && !ferror(stream);
    if (stream && fclose(stream) != 0)
        complete = false;
    enum corun_status status = complete ? write_file(exporter, DESCRIPTION, "", text, bytes) : out_of_memory(exporter);
    free(text);
    vector_free(&exporter->distinct);
    return status;
}

enum corun_status corun_instance_export(struct corun_instance *instance, const char *directory, bool overwrite,
                                        struct corun_diagnostics *list)
{
    if (instance->workload->traced)
        return corun_report(list, CORUN_UNSUPPORTED, (struct corun_place){instance->workload->traced->path, 0, 0},
                            "not supported: a trace as files; it has no PTX and no data");
    if (instance->replay)
        return corun_report(list, CORUN_UNSUPPORTED, (struct corun_place){instance->workload->captured->path, 0, 0},
                            "not supported: a captured program as files; the program itself runs on a GPU");
    struct exporter exporter = {
        .instance = instance,
        .workload = instance->workload,
        .directory = directory,
        .list = list,
    };
    const struct description *description = instance->workload->description;
    enum corun_status status = corun_instance_restart(instance);
    if (!status)
        status = prepare_directory(&exporter, overwrite);
    for (size_t i = 0; i < description->buffers.count && !status; i++) {
        const struct planned_buffer *planned = &instance->workload->plan->buffers[i];
        exporter.buffers[i] = (struct corun_problem_buffer){
            description->buffers.data[i].name, description->buffers.data[i].element, planned->count,
            corun_memory_pointer(instance->memory, instance->addresses[i], planned->bytes)};
    }
    if (!status)
        status = write_initial(&exporter);
    if (!status)
        status = write_expected(&exporter);
    if (!status)
        status =
            write_file(&exporter, description->name, ".ptx", instance->workload->ptx, instance->workload->ptx_bytes);
    if (!status) /* the last one: a directory without it is not complete */
        status = write_description(&exporter);
    enum corun_status restarted = corun_instance_restart(instance);
    return status ? status : restarted;
}
