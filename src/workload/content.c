/* SPDX-License-Identifier: MIT */
/*
 * What decides the data and the launches of a workload, as text, for keys of cached results: values as they were evaluated, not how
 * the description writes them, so that a summary or a comment that changes costs nobody a simulation.
 */
#include "workload/element.h"
#include "workload/references.h"
#include "workload/workload.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static void write_buffer(const struct plan *plan, size_t index, FILE *stream)
{
    const struct buffer_description *buffer = &plan->description->buffers.data[index];
    const struct planned_buffer *planned = &plan->buffers[index];
    fprintf(stream, "buffer %s %s %" PRIu64 " initial %d", buffer->name, element_row(buffer->element)->word,
            planned->count, buffer->kind);
    if (element_row(buffer->element)->is_float)
        fprintf(stream, " %s %s", buffer->first.text ? buffer->first.text : "",
                buffer->second.text ? buffer->second.text : "");
    else
        fprintf(stream, " %" PRId64 " %" PRId64, planned->first, planned->second);
    fprintf(stream, " generator %s symbol %s\n", buffer->generator.text ? buffer->generator.text : "",
            buffer->symbol.text ? buffer->symbol.text : "");
}

static void write_operation(const struct planned_operation *operation, FILE *stream)
{
    const struct launch_description *launch = operation->launch;
    if (launch->kind == LAUNCH_COPY) {
        fprintf(stream, "copy %u+%" PRIu64 " %u+%" PRIu64 " %" PRIu64 "\n", operation->from, operation->from_offset,
                operation->to, operation->to_offset, operation->copy_bytes);
        return;
    }
    fprintf(stream, "launch %s %u %u %u %u %u %u %u", launch->kernel.text, operation->grid[0], operation->grid[1],
            operation->grid[2], operation->block[0], operation->block[1], operation->block[2], operation->shared_bytes);
    for (size_t i = 0; i < launch->arguments.count; i++) {
        const struct argument_description *argument = &launch->arguments.data[i];
        const struct planned_argument *planned = &operation->arguments[i];
        if (argument->is_buffer)
            fprintf(stream, " buffer %u+%" PRIu64, planned->buffer, planned->bits);
        else
            fprintf(stream, " %s %" PRIx64, element_row(argument->element)->word, planned->bits);
    }
    fputc('\n', stream);
}

static void write_content(const struct corun_workload *workload, uint64_t seed, FILE *stream)
{
    if (workload->captured) {
        fprintf(stream, "corun capture %u %zu\n", CAPTURE_VERSION, workload->captured->bytes);
        fwrite(workload->captured->body, 1, workload->captured->bytes, stream);
        return;
    }
    if (workload->traced) {
        fprintf(stream, "corun trace %u %s\n", CORUN_WORKLOAD_VERSION, workload->traced->digest);
        return;
    }
    const struct plan *plan = workload->plan;
    fprintf(stream, "corun workload %u\nname %s\nseed %" PRIu64 "\n", CORUN_WORKLOAD_VERSION, plan->description->name,
            seed);
    for (size_t i = 0; workload->reference && reference_fingerprints[i].name; i++) {
        if (strcmp(reference_fingerprints[i].name, workload->reference->name) == 0)
            fprintf(stream, "reference %s\n", reference_fingerprints[i].hash);
    }
    for (size_t i = 0; i < plan->parameters.count; i++) /* generators read them */
        fprintf(stream, "parameter %s %" PRId64 "\n", plan->parameters.data[i].name, plan->parameters.data[i].value);
    for (size_t i = 0; i < plan->description->buffers.count; i++)
        write_buffer(plan, i, stream);
    for (size_t i = 0; i < plan->operations.count; i++)
        write_operation(&plan->operations.data[i], stream);
    fprintf(stream, "ptx %zu\n", workload->ptx_bytes);
    fwrite(workload->ptx, 1, workload->ptx_bytes, stream);
}

enum corun_status corun_workload_content(const struct corun_workload *workload, uint64_t seed, void **content,
                                         size_t *bytes)
{
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    if (!stream)
        return CORUN_MEMORY;
    write_content(workload, seed, stream);
    bool failed = ferror(stream);
    if (fclose(stream) != 0 || failed) {
        free(text);
        return CORUN_MEMORY;
    }
    *content = text;
    *bytes = length;
    return CORUN_OK;
}
