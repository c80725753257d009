/* SPDX-License-Identifier: MIT */
/* Results against the CPU reference. */
#include "workload/element.h"
#include "workload/initial_data.h"
#include "workload/instance.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define REPORTED_MISMATCHES 8u

struct comparison {
    const struct buffer_description *buffer;
    struct corun_diagnostics *list;
    struct corun_verification *verification;
};

static void print_element(enum corun_element element, const void *data, char *text, size_t bytes)
{
    switch (element) {
#define PRINT(name, word, type, is_float) \
    case CORUN_ELEMENT_##name: { \
        type value; \
        memcpy(&value, data, sizeof value); \
        if (is_float) \
            snprintf(text, bytes, "%.9g", (double)value); \
        else if ((type)-1 < (type)1) \
            snprintf(text, bytes, "%lld", (long long)value); \
        else \
            snprintf(text, bytes, "%llu", (unsigned long long)value); \
        break; \
    }
        CORUN_ELEMENTS(PRINT)
#undef PRINT
    case CORUN_ELEMENT_COUNT:
        break;
    }
}

/* In units of what the tolerance allows; infinite if they have nothing in common. */
static double error_of(const struct buffer_description *buffer, double got, double expected)
{
    if (got == expected || (isnan(got) && isnan(expected)))
        return 0;
    double allowed = buffer->absolute + buffer->relative * fabs(expected);
    double difference = fabs(got - expected);
    if (!isfinite(difference) || allowed <= 0)
        return HUGE_VAL;
    return difference / allowed;
}

static double real_at(enum corun_element element, const void *data)
{
    if (element == CORUN_ELEMENT_F64) {
        double value;
        memcpy(&value, data, sizeof value);
        return value;
    }
    float value;
    memcpy(&value, data, sizeof value);
    return (double)value;
}

static void compare(struct comparison *comparison, const uint8_t *got, const uint8_t *expected, uint64_t count)
{
    const struct buffer_description *buffer = comparison->buffer;
    struct corun_verification *verification = comparison->verification;
    const struct element_row *row = element_row(buffer->element);
    verification->elements += count;
    for (uint64_t i = 0; i < count; i++, got += row->bytes, expected += row->bytes) {
        if (memcmp(got, expected, row->bytes) == 0)
            continue;
        if (row->is_float) {
            double error = error_of(buffer, real_at(buffer->element, got), real_at(buffer->element, expected));
            verification->worst_error = error > verification->worst_error ? error : verification->worst_error;
            if (error <= 1)
                continue;
        }
        char text[2][40];
        print_element(buffer->element, got, text[0], sizeof text[0]);
        print_element(buffer->element, expected, text[1], sizeof text[1]);
        if (verification->mismatches++ < REPORTED_MISMATCHES)
            corun_report(comparison->list, CORUN_MISMATCH, buffer->place, "buffer '%s' element %llu is %s, expected %s",
                         buffer->name, (unsigned long long)i, text[0], text[1]);
    }
}

static enum corun_status compare_all(struct corun_instance *instance, const struct corun_problem *problem,
                                     struct corun_diagnostics *list, struct corun_verification *verification)
{
    const struct description *description = instance->workload->description;
    const struct plan *plan = instance->workload->plan;
    for (size_t i = 0; i < description->buffers.count; i++) {
        const struct buffer_description *buffer = &description->buffers.data[i];
        if (!buffer->is_output)
            continue;
        const void *got =
            corun_memory_pointer(instance->memory, instance->addresses[plan->final_storage[i]], plan->buffers[i].bytes);
        struct comparison comparison = {buffer, list, verification};
        compare(&comparison, got, problem->buffers[i].data, plan->buffers[i].count);
    }
    if (verification->mismatches)
        return corun_report(list, CORUN_MISMATCH, (struct corun_place){description->path, 0, 0},
                            "%llu of %llu elements of workload '%s', size %s, differ from the reference",
                            (unsigned long long)verification->mismatches, (unsigned long long)verification->elements,
                            description->name, plan->size->name);
    return CORUN_OK;
}

enum corun_status corun_instance_verify(struct corun_instance *instance, struct corun_diagnostics *list,
                                        struct corun_verification *result)
{
    const struct corun_workload *workload = instance->workload;
    const struct plan *plan = workload->plan;
    struct corun_verification verification = {0};
    if (instance->replay)
        return replay_verify(instance->replay, list, result);
    if (workload->traced)
        return corun_report(list, CORUN_NOT_FOUND, (struct corun_place){workload->traced->path, 0, 0},
                            "a trace has no results to be verified");
    if (!workload->reference || !workload->reference->compute)
        return corun_report(list, CORUN_NOT_FOUND, (struct corun_place){workload->description->path, 0, 0},
                            "workload '%s' has no reference to be verified against", workload->description->name);
    struct corun_problem_buffer buffers[DESCRIPTION_MAX_BUFFERS];
    struct corun_problem problem = {
        .seed = instance->seed,
        .buffers = buffers,
        .buffer_count = workload->description->buffers.count,
        .parameters = plan->parameters.data,
        .parameter_count = plan->parameters.count,
    };
    bool complete = true;
    for (size_t i = 0; i < problem.buffer_count; i++) {
        const struct buffer_description *buffer = &workload->description->buffers.data[i];
        buffers[i] = (struct corun_problem_buffer){buffer->name, buffer->element, plan->buffers[i].count,
                                                   calloc(1, plan->buffers[i].bytes)};
        complete = complete && buffers[i].data;
    }
    enum corun_status status = complete ? initial_data_fill(workload, &problem, list) : CORUN_MEMORY;
    if (!status && !workload->reference->compute(&problem))
        status = CORUN_MEMORY;
    if (status == CORUN_MEMORY)
        corun_report(list, status, CORUN_NOWHERE, "out of memory for the reference of workload '%s'",
                     workload->description->name);
    if (!status)
        status = compare_all(instance, &problem, list, &verification);
    for (size_t i = 0; i < problem.buffer_count; i++)
        free(buffers[i].data);
    if (result)
        *result = verification;
    return status;
}
