/* SPDX-License-Identifier: MIT */
/* Buffers are filled: constants, counts, random values by seed and name, or what a generator of the reference makes. */
#include "workload/initial_data.h"

#include "base/number.h"
#include "workload/element.h"

#include <string.h>

/* FNV-1a of the name, mixed with the seed: each buffer has a sequence of its own. */
static uint64_t sequence_of(uint64_t seed, const char *name)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (; *name; name++)
        hash = (hash ^ (uint8_t)*name) * UINT64_C(0x100000001b3);
    hash ^= seed;
    return corun_random(&hash);
}

static void fill_iota(const struct corun_problem_buffer *buffer)
{
    uint32_t bytes = element_row(buffer->element)->bytes;
    for (uint64_t i = 0; i < buffer->count; i++)
        element_store(buffer->element, (uint8_t *)buffer->data + i * bytes, (int64_t)i, (double)i);
}

static void fill_constant(const struct corun_problem_buffer *buffer, int64_t integer, double real)
{
    uint32_t bytes = element_row(buffer->element)->bytes;
    for (uint64_t i = 0; i < buffer->count; i++)
        element_store(buffer->element, (uint8_t *)buffer->data + i * bytes, integer, real);
}

static void fill_uniform_integers(const struct corun_problem_buffer *buffer, int64_t lowest, int64_t highest,
                                  uint64_t state)
{
    uint32_t bytes = element_row(buffer->element)->bytes;
    uint64_t range = (uint64_t)highest - (uint64_t)lowest; /* inclusive */
    for (uint64_t i = 0; i < buffer->count; i++) {
        uint64_t random = corun_random(&state);
        uint64_t offset = range == UINT64_MAX ? random : (uint64_t)(((__uint128_t)random * (range + 1)) >> 64);
        uint64_t value = (uint64_t)lowest + offset;
        if (bytes == sizeof(uint32_t)) /* nearly always */
            ((uint32_t *)buffer->data)[i] = (uint32_t)value;
        else
            element_store(buffer->element, (uint8_t *)buffer->data + i * bytes, (int64_t)value, 0);
    }
}

static void fill_uniform_reals(const struct corun_problem_buffer *buffer, double lowest, double highest, uint64_t state)
{
    if (buffer->element == CORUN_ELEMENT_F32) {
        float *data = buffer->data;
        for (uint64_t i = 0; i < buffer->count; i++)
            data[i] = (float)(lowest + (highest - lowest) * (double)corun_random_unit(&state));
    } else {
        double *data = buffer->data;
        for (uint64_t i = 0; i < buffer->count; i++)
            data[i] = lowest + (highest - lowest) * ((double)(corun_random(&state) >> 11) * 0x1p-53);
    }
}

static double real_of(const struct value *value)
{
    double real = 0;
    if (value->text)
        number_parse_real(value->text, &real);
    return real;
}

static void fill_buffer(const struct corun_problem *problem, const struct buffer_description *description,
                        const struct planned_buffer *planned, const struct corun_problem_buffer *buffer)
{
    uint64_t state = sequence_of(problem->seed, buffer->name);
    bool is_float = element_row(buffer->element)->is_float;
    switch (description->kind) {
    case INITIAL_ZERO:
    case INITIAL_GENERATOR: /* generators find zeros */
        memset(buffer->data, 0, planned->bytes);
        break;
    case INITIAL_KEEP:
        break;
    case INITIAL_IOTA:
        fill_iota(buffer);
        break;
    case INITIAL_CONSTANT:
        fill_constant(buffer, planned->first, is_float ? real_of(&description->first) : 0);
        break;
    case INITIAL_UNIFORM:
        if (is_float)
            fill_uniform_reals(buffer, real_of(&description->first), real_of(&description->second), state);
        else
            fill_uniform_integers(buffer, planned->first, planned->second, state);
        break;
    }
}

static enum corun_status generate(const struct corun_workload *workload, const struct corun_problem *problem,
                                  const struct value *name, struct corun_diagnostics *list)
{
    const struct corun_generator *generator = workload->reference->generators;
    while (strcmp(generator->name, name->text) != 0)
        generator++;
    if (generator->generate(problem))
        return CORUN_OK;
    return corun_report(list, CORUN_ARGUMENT, name->place,
                        "generator '%s' cannot work with these buffers and parameters", name->text);
}

enum corun_status initial_data_fill(const struct corun_workload *workload, const struct corun_problem *problem,
                                    struct corun_diagnostics *list)
{
    const struct description *description = workload->description;
    for (size_t i = 0; i < description->buffers.count; i++)
        fill_buffer(problem, &description->buffers.data[i], &workload->plan->buffers[i], &problem->buffers[i]);
    /* each generator once, when everything else is there */
    enum corun_status status = CORUN_OK;
    for (size_t i = 0; i < description->buffers.count && !status; i++) {
        const struct buffer_description *buffer = &description->buffers.data[i];
        bool first = buffer->kind == INITIAL_GENERATOR;
        for (size_t k = 0; k < i && first; k++)
            first = description->buffers.data[k].kind != INITIAL_GENERATOR ||
                    strcmp(description->buffers.data[k].generator.text, buffer->generator.text) != 0;
        if (first)
            status = generate(workload, problem, &buffer->generator, list);
    }
    return status;
}
