/* SPDX-License-Identifier: MIT */
/*
 * A plan made from a description: expressions evaluated, repetitions and swaps written out, everything checked against
 * limits.
 */
#include "workload/plan.h"

#include "base/number.h"
#include "workload/element.h"

#include <stdio.h>
#include <stdlib.h>

struct planner {
    struct plan *plan;
    struct corun_diagnostics *list;
    struct scope scope;
    uint32_t repetitions;                     /* so far, of everything: bounds the work of empty groups */
    uint8_t storage[DESCRIPTION_MAX_BUFFERS]; /* of each buffer, at this point of the run */
};

static enum corun_status out_of_memory(struct planner *planner)
{
    return corun_report(planner->list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory for workload '%s'",
                        planner->plan->description->name);
}

static enum corun_status evaluate(struct planner *planner, const struct value *value, int64_t *result)
{
    return expression_evaluate(value->text, value->place, value->exact, &planner->scope, planner->list, result);
}

/* Stays as it is if not given; else must be between lowest and highest. */
static enum corun_status evaluate_range(struct planner *planner, const struct value *value, int64_t lowest,
                                        int64_t highest, const char *what, uint64_t *result)
{
    if (!value->text)
        return CORUN_OK;
    int64_t number;
    enum corun_status status = evaluate(planner, value, &number);
    if (status)
        return status;
    if (number < lowest || number > highest)
        return corun_report(planner->list, CORUN_SYNTAX, value->place, "%s is %lld, but must be from %lld to %lld",
                            what, (long long)number, (long long)lowest, (long long)highest);
    *result = (uint64_t)number;
    return CORUN_OK;
}

/* `overrides` may be NULL: every value is what its expression gives. */
static enum corun_status add_parameters(struct planner *planner, const struct named_values *values,
                                        const struct overrides *overrides)
{
    struct plan *plan = planner->plan;
    for (size_t i = 0; i < values->items.count; i++) {
        const struct named_value *item = &values->items.data[i];
        for (size_t k = 0; k < plan->parameters.count; k++) {
            if (strcmp(plan->parameters.data[k].name, item->name) == 0)
                return corun_report(planner->list, CORUN_SYNTAX, item->place, "there is a parameter '%.80s' already",
                                    item->name);
        }
        struct corun_problem_parameter parameter = {item->name, 0};
        enum corun_status status = CORUN_OK;
        if (overrides && overrides->values[i])
            parameter.value = *overrides->values[i];
        else
            status = evaluate(planner, &item->value, &parameter.value);
        if (status)
            return status;
        if (!vector_push(&plan->parameters, parameter))
            return out_of_memory(planner);
        planner->scope.parameters = plan->parameters.data;
        planner->scope.parameter_count = plan->parameters.count;
    }
    return CORUN_OK;
}

static enum corun_status plan_initial(struct planner *planner, const struct buffer_description *description,
                                      struct planned_buffer *buffer)
{
    if (element_row(description->element)->is_float)
        return CORUN_OK;
    const struct value *values[] = {&description->first, &description->second};
    int64_t *bounds[] = {&buffer->first, &buffer->second};
    for (unsigned i = 0; i < 2; i++) {
        if (!values[i]->text)
            continue;
        enum corun_status status = evaluate(planner, values[i], bounds[i]);
        if (status)
            return status;
        if (!element_holds(description->element, *bounds[i]))
            return corun_report(planner->list, CORUN_SYNTAX, values[i]->place, "%lld does not fit type %s",
                                (long long)*bounds[i], element_row(description->element)->word);
    }
    if (description->kind == INITIAL_UNIFORM && buffer->first > buffer->second)
        return corun_report(planner->list, CORUN_SYNTAX, description->first.place,
                            "the lowest value is above the highest one");
    return CORUN_OK;
}

static enum corun_status plan_buffers(struct planner *planner)
{
    const struct description *description = planner->plan->description;
    uint64_t total = 0;
    for (size_t i = 0; i < description->buffers.count; i++) {
        const struct buffer_description *buffer = &description->buffers.data[i];
        struct planned_buffer *planned = &planner->plan->buffers[i];
        enum corun_status status =
            evaluate_range(planner, &buffer->count, 1, (int64_t)PLAN_MAX_BYTES, "the element count", &planned->count);
        if (status)
            return status;
        planned->bytes = planned->count * element_row(buffer->element)->bytes;
        total += planned->bytes;
        if (total > PLAN_MAX_BYTES)
            return corun_report(planner->list, CORUN_SYNTAX, buffer->count.place,
                                "the buffers take more than %llu bytes together", (unsigned long long)PLAN_MAX_BYTES);
        status = plan_initial(planner, buffer, planned);
        if (status)
            return status;
        planner->storage[i] = (uint8_t)i;
    }
    return CORUN_OK;
}

static enum corun_status plan_argument(struct planner *planner, const struct argument_description *argument,
                                       struct planned_argument *planned)
{
    if (argument->is_buffer) {
        const struct planned_buffer *buffer = &planner->plan->buffers[argument->buffer];
        planned->buffer = planner->storage[argument->buffer];
        enum corun_status status = evaluate_range(planner, &argument->value, 0, (int64_t)buffer->count - 1,
                                                  "the offset into the buffer", &planned->bits);
        planned->bits *= buffer->bytes / buffer->count;
        return status;
    }
    int64_t integer = 0;
    double real = 0;
    if (element_row(argument->element)->is_float) {
        number_parse_real(argument->value.text, &real);
    } else {
        enum corun_status status = evaluate(planner, &argument->value, &integer);
        if (status)
            return status;
        if (!element_holds(argument->element, integer))
            return corun_report(planner->list, CORUN_SYNTAX, argument->value.place, "%lld does not fit type %s",
                                (long long)integer, element_row(argument->element)->word);
    }
    element_store(argument->element, &planned->bits, integer, real);
    return CORUN_OK;
}

static enum corun_status plan_kernel(struct planner *planner, struct planned_operation *operation)
{
    const struct launch_description *launch = operation->launch;
    enum corun_status status = CORUN_OK;
    planner->plan->grid_count++;
    for (unsigned i = 0; i < 3 && !status; i++) {
        uint64_t grid = 1, block = 1;
        status = evaluate_range(planner, &launch->grid[i], 1, INT32_MAX, "the grid size", &grid);
        if (!status)
            status = evaluate_range(planner, &launch->block[i], 1, 65535, "the block size", &block);
        operation->grid[i] = (uint32_t)grid;
        operation->block[i] = (uint32_t)block;
    }
    uint64_t shared = 0;
    if (!status)
        status = evaluate_range(planner, &launch->shared, 0, 1 << 24, "the dynamic shared memory", &shared);
    operation->shared_bytes = (uint32_t)shared;
    if (status || launch->arguments.count == 0)
        return status;
    struct planned_argument *arguments =
        ARENA_ARRAY(planner->plan->arena, struct planned_argument, launch->arguments.count);
    if (!arguments)
        return out_of_memory(planner);
    for (size_t i = 0; i < launch->arguments.count && !status; i++)
        status = plan_argument(planner, &launch->arguments.data[i], &arguments[i]);
    operation->arguments = arguments;
    return status;
}

static enum corun_status plan_copy(struct planner *planner, struct planned_operation *operation)
{
    const struct launch_description *launch = operation->launch;
    const struct planned_buffer *from = &planner->plan->buffers[launch->from];
    const struct planned_buffer *to = &planner->plan->buffers[launch->to];
    uint64_t count = 0;
    enum corun_status status = evaluate_range(planner, &launch->from_offset, 0, (int64_t)from->count - 1, "from_offset",
                                              &operation->from_offset);
    if (!status)
        status =
            evaluate_range(planner, &launch->to_offset, 0, (int64_t)to->count - 1, "to_offset", &operation->to_offset);
    if (status)
        return status;
    uint64_t left = from->count - operation->from_offset, room = to->count - operation->to_offset;
    status = evaluate_range(planner, &launch->count, 0, (int64_t)(left < room ? left : room),
                            "the number of elements to copy", &count);
    uint64_t element_bytes = from->bytes / from->count;
    operation->copy_bytes = count * element_bytes;
    operation->from_offset *= element_bytes;
    operation->to_offset *= element_bytes;
    operation->from = planner->storage[launch->from];
    operation->to = planner->storage[launch->to];
    return status;
}

static enum corun_status plan_launch(struct planner *planner, const struct launch_description *launch);

static enum corun_status plan_once(struct planner *planner, const struct launch_description *launch)
{
    if (launch->kind == LAUNCH_GROUP) {
        enum corun_status status = CORUN_OK;
        for (size_t i = 0; i < launch->launches.count && !status; i++)
            status = plan_launch(planner, &launch->launches.data[i]);
        return status;
    }
    struct planned_operation operation = {.launch = launch};
    enum corun_status status =
        launch->kind == LAUNCH_KERNEL ? plan_kernel(planner, &operation) : plan_copy(planner, &operation);
    if (status)
        return status;
    if (planner->plan->operations.count >= PLAN_MAX_OPERATIONS)
        return corun_report(planner->list, CORUN_SYNTAX, launch->place, "more than %u launches and copies in one run",
                            PLAN_MAX_OPERATIONS);
    return vector_push(&planner->plan->operations, operation) ? CORUN_OK : out_of_memory(planner);
}

static enum corun_status plan_launch(struct planner *planner, const struct launch_description *launch)
{
    uint64_t repeat = 1;
    enum corun_status status =
        evaluate_range(planner, &launch->repeat, 0, PLAN_MAX_OPERATIONS, "the number of repetitions", &repeat);
    struct scope outer = planner->scope;
    for (uint64_t step = 0; step < repeat && !status; step++) {
        if (launch->repeat.text || !outer.has_step) {
            planner->scope.has_step = true;
            planner->scope.step = (int64_t)step;
        }
        if (++planner->repetitions > 2 * PLAN_MAX_OPERATIONS)
            status = corun_report(planner->list, CORUN_SYNTAX, launch->place, "more than %u repetitions in one run",
                                  2 * PLAN_MAX_OPERATIONS);
        else
            status = plan_once(planner, launch);
        for (size_t i = 0; i < launch->swaps.count; i++) {
            const struct swap_description *swap = &launch->swaps.data[i];
            if (planner->plan->buffers[swap->left].count != planner->plan->buffers[swap->right].count && !status)
                status = corun_report(planner->list, CORUN_SYNTAX, launch->place,
                                      "buffers that change places must have as many elements");
            uint8_t storage = planner->storage[swap->left];
            planner->storage[swap->left] = planner->storage[swap->right];
            planner->storage[swap->right] = storage;
        }
    }
    planner->scope = outer;
    return status;
}

static enum corun_status plan_work(struct planner *planner)
{
    const struct work_description *description = &planner->plan->description->work;
    struct corun_workload_work *work = &planner->plan->work;
    if (!description->outputs.text)
        return CORUN_OK;
    work->stated = true;
    work->instruction_tolerance = description->instruction_tolerance;
    work->byte_tolerance = description->byte_tolerance;
    enum corun_status status =
        evaluate_range(planner, &description->outputs, 1, INT64_MAX, "the number of outputs", &work->outputs);
    if (!status)
        status = evaluate_range(planner, &description->instructions, 1, INT64_MAX, "the number of instructions",
                                &work->thread_instructions);
    if (!status)
        status = evaluate_range(planner, &description->bytes, 0, INT64_MAX, "the number of bytes", &work->global_bytes);
    return status;
}

static enum corun_status plan_all(struct planner *planner)
{
    struct plan *plan = planner->plan;
    enum corun_status status = add_parameters(planner, &plan->size->parameters, &plan->overrides);
    if (!status)
        status = add_parameters(planner, &plan->description->parameters, NULL);
    if (!status)
        status = plan_buffers(planner);
    for (size_t i = 0; i < plan->description->launches.count && !status; i++)
        status = plan_launch(planner, &plan->description->launches.data[i]);
    if (!status && plan->grid_count == 0)
        status = corun_report(planner->list, CORUN_SYNTAX, plan->description->launches.data[0].place,
                              "no kernel is launched with size '%s'", plan->overrides.size_name);
    if (!status)
        status = plan_work(planner);
    memcpy(plan->final_storage, planner->storage, sizeof plan->final_storage);
    return status;
}

/* `text` is SIZE[,parameter=value,...]; *settings is what follows the comma, NULL if there is none. */
static const struct size_description *choose_size(const struct description *description, const char *text,
                                                  struct corun_diagnostics *list, const char **settings)
{
    const char *name = text ? text : "medium", *comma = strchr(name, ',');
    size_t name_length = comma ? (size_t)(comma - name) : strlen(name);
    *settings = comma ? comma + 1 : NULL;
    for (size_t i = 0; i < description->sizes.count; i++) {
        const char *known = description->sizes.data[i].name;
        if (strlen(known) == name_length && memcmp(known, name, name_length) == 0)
            return &description->sizes.data[i];
    }
    if (!text)
        return &description->sizes.data[0];
    char names[256] = "";
    size_t length = 0;
    for (size_t i = 0; i < description->sizes.count && length < sizeof names; i++)
        length += (size_t)snprintf(names + length, sizeof names - length, " %s", description->sizes.data[i].name);
    corun_report(list, CORUN_NOT_FOUND, (struct corun_place){description->path, 0, 0},
                 "workload '%s' has no size '%.*s' (it has:%s)", description->name,
                 name_length < 80 ? (int)name_length : 80, name, names);
    return NULL;
}

enum corun_status plan_create(const struct description *description, const char *size, struct corun_diagnostics *list,
                              struct plan **result)
{
    *result = NULL;
    const char *settings;
    const struct size_description *chosen = choose_size(description, size, list, &settings);
    if (!chosen)
        return CORUN_NOT_FOUND;
    struct plan *plan = calloc(1, sizeof *plan);
    if (!plan || !(plan->arena = arena_create())) {
        free(plan);
        return corun_report(list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory for workload '%s'", description->name);
    }
    plan->description = description;
    plan->size = chosen;
    struct planner planner = {.plan = plan, .list = list};
    enum corun_status status = overrides_parse(settings, description, chosen, plan->arena, list, &plan->overrides);
    if (!status)
        status = plan_all(&planner);
    if (status)
        plan_destroy(plan);
    else
        *result = plan;
    return status;
}

void plan_destroy(struct plan *plan)
{
    if (!plan)
        return;
    vector_free(&plan->parameters);
    vector_free(&plan->operations);
    arena_destroy(plan->arena);
    free(plan);
}
