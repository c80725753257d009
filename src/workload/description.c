/* SPDX-License-Identifier: MIT */
/* A launch description, from its YAML tree to struct description: known keys, forms, names. */
#include "workload/description_reader.h"

#include "base/number.h"
#include "workload/element.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

/* Names of workloads and sizes: they become parts of commands and file names. */
static bool is_label(const char *text)
{
    size_t length = text ? strlen(text) : 0;
    if (!length || length > 60 || !isalnum((unsigned char)text[0]))
        return false;
    for (; *text; text++) {
        if (!isalnum((unsigned char)*text) && !strchr("-_.", *text))
            return false;
    }
    return true;
}

static enum corun_status read_named_values(struct reader *reader, const struct yaml_node *node,
                                           struct named_values *values)
{
    enum corun_status status = yaml_expect(&reader->yaml, node, YAML_MAP);
    for (const struct yaml_node *entry = node->first; entry && !status; entry = entry->next) {
        struct named_value item = {entry->key, entry->key_place, {0}};
        if (!expression_is_name(entry->key) || expression_is_reserved(entry->key))
            return corun_report(reader->yaml.list, CORUN_SYNTAX, entry->key_place,
                                "'%.80s' cannot be the name of a parameter", entry->key);
        status = yaml_value(&reader->yaml, node, entry->key, &item.value);
        if (!status && !vector_push(&values->items, item))
            status = yaml_out_of_memory(&reader->yaml);
    }
    return status;
}

static enum corun_status read_sizes(struct reader *reader, const struct yaml_node *root)
{
    struct description *description = reader->description;
    const struct yaml_node *sizes = yaml_find(root, "sizes");
    enum corun_status status = sizes ? yaml_expect(&reader->yaml, sizes, YAML_MAP) : CORUN_OK;
    for (const struct yaml_node *entry = sizes ? sizes->first : NULL; entry && !status; entry = entry->next) {
        struct size_description size = {.name = entry->key, .place = entry->key_place};
        if (!is_label(entry->key))
            return corun_report(reader->yaml.list, CORUN_SYNTAX, entry->key_place,
                                "'%.80s' cannot be the name of a size", entry->key);
        if (!vector_push(&description->sizes, size))
            return yaml_out_of_memory(&reader->yaml);
        status = read_named_values(reader, entry, &description->sizes.data[description->sizes.count - 1].parameters);
    }
    if (!status && description->sizes.count == 0 &&
        !vector_push(&description->sizes, ((struct size_description){.name = "default", .place = root->place})))
        status = yaml_out_of_memory(&reader->yaml);
    if (status)
        return status;
    description->size_names = ARENA_ARRAY(description->arena, const char *, description->sizes.count);
    if (!description->size_names)
        return yaml_out_of_memory(&reader->yaml);
    for (size_t i = 0; i < description->sizes.count; i++)
        description->size_names[i] = description->sizes.data[i].name;
    const struct named_values *parameters = &description->sizes.data[0].parameters;
    description->parameter_names = ARENA_ARRAY(description->arena, const char *, parameters->items.count + 1);
    if (!description->parameter_names)
        return yaml_out_of_memory(&reader->yaml);
    for (size_t i = 0; i < parameters->items.count; i++)
        description->parameter_names[i] = parameters->items.data[i].name;
    return CORUN_OK;
}

static enum corun_status read_initial_map(struct reader *reader, const struct yaml_node *node,
                                          struct buffer_description *buffer)
{
    if (node->count != 1)
        return WRONG(reader, node, "expected one of zero, iota, {constant: …}, {uniform: […, …]}, {generator: …}");
    const struct yaml_node *entry = node->first;
    if (strcmp(entry->key, "constant") == 0) {
        buffer->kind = INITIAL_CONSTANT;
        return yaml_value(&reader->yaml, node, "constant", &buffer->first);
    }
    if (strcmp(entry->key, "generator") == 0) {
        buffer->kind = INITIAL_GENERATOR;
        return yaml_value(&reader->yaml, node, "generator", &buffer->generator);
    }
    if (strcmp(entry->key, "uniform") != 0)
        return corun_report(reader->yaml.list, CORUN_SYNTAX, entry->key_place,
                            "unknown key '%.80s' (known here: constant uniform generator)", entry->key);
    buffer->kind = INITIAL_UNIFORM;
    enum corun_status status = yaml_expect(&reader->yaml, entry, YAML_LIST);
    if (status)
        return status;
    if (entry->count != 2)
        return WRONG(reader, entry, "expected the lowest and the highest value");
    const struct yaml_node *low = entry->first, *high = low->next;
    status = yaml_expect(&reader->yaml, low, YAML_TEXT);
    if (!status)
        status = yaml_expect(&reader->yaml, high, YAML_TEXT);
    if (!status) {
        buffer->first = (struct value){low->text, low->place, low->plain};
        buffer->second = (struct value){high->text, high->place, high->plain};
    }
    return status;
}

/* Bounds of initial data are numbers of the buffer's type (integers may be expressions: checked with the plan). */
static enum corun_status check_reals(struct reader *reader, const struct buffer_description *buffer)
{
    if (!element_row(buffer->element)->is_float)
        return CORUN_OK;
    double number[2] = {0, 0};
    const struct value *values[] = {&buffer->first, &buffer->second};
    for (unsigned i = 0; i < 2; i++) {
        if (values[i]->text && !number_parse_real(values[i]->text, &number[i]))
            return corun_report(reader->yaml.list, CORUN_SYNTAX, values[i]->place, "'%.80s' is not a number",
                                values[i]->text);
    }
    if (buffer->kind == INITIAL_UNIFORM && number[0] > number[1])
        return corun_report(reader->yaml.list, CORUN_SYNTAX, buffer->first.place,
                            "the lowest value is above the highest one");
    return CORUN_OK;
}

static enum corun_status read_initial(struct reader *reader, const struct yaml_node *map,
                                      struct buffer_description *buffer)
{
    const struct yaml_node *node = yaml_find(map, "initial");
    buffer->kind = buffer->symbol.text ? INITIAL_KEEP : INITIAL_ZERO;
    if (!node)
        return CORUN_OK;
    if (node->kind == YAML_MAP) {
        enum corun_status status = read_initial_map(reader, node, buffer);
        return status ? status : check_reals(reader, buffer);
    }
    if (node->kind == YAML_TEXT && strcmp(node->text, "zero") == 0)
        buffer->kind = INITIAL_ZERO;
    else if (node->kind == YAML_TEXT && strcmp(node->text, "iota") == 0)
        buffer->kind = INITIAL_IOTA;
    else
        return WRONG(reader, node, "expected one of zero, iota, {constant: …}, {uniform: […, …]}, {generator: …}");
    return CORUN_OK;
}

static enum corun_status read_tolerance(struct reader *reader, const struct yaml_node *map,
                                        struct buffer_description *buffer)
{
    const struct yaml_node *node = yaml_find(map, "tolerance");
    if (!node)
        return CORUN_OK;
    enum corun_status status = yaml_expect_map(&reader->yaml, node, "| relative absolute");
    if (!status && !element_row(buffer->element)->is_float)
        status = WRONG(reader, node, "integers are compared exactly: no tolerance");
    if (!status)
        status = yaml_real(&reader->yaml, node, "relative", &buffer->relative);
    if (!status)
        status = yaml_real(&reader->yaml, node, "absolute", &buffer->absolute);
    return status;
}

/* The index of a buffer, or the count if there is none of that name. */
static uint32_t find_buffer(const struct description *description, const char *name)
{
    assert(name); /* expect_map has seen to it, here and below */
    uint32_t i = 0;
    while (i < description->buffers.count && strcmp(description->buffers.data[i].name, name) != 0)
        i++;
    return i;
}

static enum corun_status read_buffer(struct reader *reader, const struct yaml_node *node)
{
    struct description *description = reader->description;
    struct buffer_description buffer = {.place = node->place};
    struct value name = {0}, type = {0};
    enum corun_status status =
        yaml_expect_map(&reader->yaml, node, "name type count | initial output tolerance symbol");
    if (!status)
        status = yaml_value(&reader->yaml, node, "name", &name);
    if (!status)
        status = yaml_value(&reader->yaml, node, "type", &type);
    if (!status)
        status = yaml_value(&reader->yaml, node, "count", &buffer.count);
    if (!status)
        status = yaml_value(&reader->yaml, node, "symbol", &buffer.symbol);
    if (!status)
        status = yaml_boolean(&reader->yaml, node, "output", &buffer.is_output);
    if (status)
        return status;
    buffer.name = name.text;
    if (!expression_is_name(name.text))
        return corun_report(reader->yaml.list, CORUN_SYNTAX, name.place, "'%.80s' cannot be the name of a buffer",
                            name.text);
    if (find_buffer(description, name.text) < description->buffers.count)
        return corun_report(reader->yaml.list, CORUN_SYNTAX, name.place, "there is a buffer '%.80s' already",
                            name.text);
    if (description->buffers.count >= DESCRIPTION_MAX_BUFFERS)
        return WRONG(reader, node, "more than %u buffers", DESCRIPTION_MAX_BUFFERS);
    buffer.element = element_find(type.text);
    if (buffer.element == CORUN_ELEMENT_COUNT)
        return corun_report(reader->yaml.list, CORUN_SYNTAX, type.place,
                            "'%.80s' is no element type (u8 s8 u16 s16 u32 s32 u64 s64 f32 f64)", type.text);
    status = read_initial(reader, node, &buffer);
    if (!status)
        status = read_tolerance(reader, node, &buffer);
    if (!status && !vector_push(&description->buffers, buffer))
        status = yaml_out_of_memory(&reader->yaml);
    return status;
}

static enum corun_status read_buffer_name(struct reader *reader, const struct value *name, uint32_t *buffer)
{
    *buffer = find_buffer(reader->description, name->text);
    if (*buffer < reader->description->buffers.count)
        return CORUN_OK;
    return corun_report(reader->yaml.list, CORUN_SYNTAX, name->place, "there is no buffer '%.80s'", name->text);
}

static enum corun_status read_argument(struct reader *reader, const struct yaml_node *node,
                                       struct launch_description *launch)
{
    struct argument_description argument = {.place = node->place};
    enum corun_status status = yaml_expect(&reader->yaml, node, YAML_MAP);
    if (status)
        return status;
    if (yaml_find(node, "buffer")) {
        struct value name = {0};
        status = yaml_expect_map(&reader->yaml, node, "buffer | offset");
        if (!status)
            status = yaml_value(&reader->yaml, node, "buffer", &name);
        if (!status)
            status = yaml_value(&reader->yaml, node, "offset", &argument.value);
        if (!status)
            status = read_buffer_name(reader, &name, &argument.buffer);
        argument.is_buffer = true;
    } else {
        if (node->count != 1)
            return WRONG(reader, node, "expected one argument: {buffer: NAME} or {TYPE: VALUE}");
        argument.element = element_find(node->first->key);
        if (argument.element == CORUN_ELEMENT_COUNT)
            return corun_report(reader->yaml.list, CORUN_SYNTAX, node->first->key_place,
                                "'%.80s' is no argument (buffer u8 s8 u16 s16 u32 s32 u64 s64 f32 f64)",
                                node->first->key);
        status = yaml_value(&reader->yaml, node, node->first->key, &argument.value);
        double real;
        if (!status && element_row(argument.element)->is_float && !number_parse_real(argument.value.text, &real))
            status = corun_report(reader->yaml.list, CORUN_SYNTAX, argument.value.place, "'%.80s' is not a number",
                                  argument.value.text);
    }
    if (!status && !vector_push(&launch->arguments, argument))
        status = yaml_out_of_memory(&reader->yaml);
    return status;
}

/* One to three expressions: text, or a list. */
static enum corun_status read_dimensions(struct reader *reader, const struct yaml_node *map, const char *key,
                                         struct value values[3])
{
    const struct yaml_node *node = yaml_find(map, key);
    if (node->kind == YAML_TEXT)
        return yaml_value(&reader->yaml, map, key, &values[0]);
    enum corun_status status = yaml_expect(&reader->yaml, node, YAML_LIST);
    if (status)
        return status;
    if (node->count < 1 || node->count > 3)
        return WRONG(reader, node, "expected one to three sizes for '%s'", key);
    unsigned i = 0;
    for (const struct yaml_node *entry = node->first; entry && !status; entry = entry->next, i++) {
        status = yaml_expect(&reader->yaml, entry, YAML_TEXT);
        if (!status)
            values[i] = (struct value){entry->text, entry->place, entry->plain};
    }
    return status;
}

static enum corun_status read_kernel(struct reader *reader, const struct yaml_node *node,
                                     struct launch_description *launch)
{
    launch->kind = LAUNCH_KERNEL;
    launch->index = reader->description->kernel_launches++;
    enum corun_status status = yaml_expect_map(&reader->yaml, node, "kernel grid block | arguments shared repeat swap");
    if (!status)
        status = yaml_value(&reader->yaml, node, "kernel", &launch->kernel);
    if (!status)
        status = read_dimensions(reader, node, "grid", launch->grid);
    if (!status)
        status = read_dimensions(reader, node, "block", launch->block);
    if (!status)
        status = yaml_value(&reader->yaml, node, "shared", &launch->shared);
    const struct yaml_node *arguments = yaml_find(node, "arguments");
    if (!status && arguments)
        status = yaml_expect(&reader->yaml, arguments, YAML_LIST);
    if (!status && arguments && arguments->count > DESCRIPTION_MAX_ARGUMENTS)
        status = WRONG(reader, arguments, "more than %u arguments", DESCRIPTION_MAX_ARGUMENTS);
    for (const struct yaml_node *entry = arguments ? arguments->first : NULL; entry && !status; entry = entry->next)
        status = read_argument(reader, entry, launch);
    return status;
}

static enum corun_status read_copy(struct reader *reader, const struct yaml_node *node,
                                   struct launch_description *launch)
{
    launch->kind = LAUNCH_COPY;
    struct value from = {0}, to = {0};
    enum corun_status status = yaml_expect_map(&reader->yaml, node, "copy | repeat swap");
    const struct yaml_node *copy = status ? NULL : yaml_find(node, "copy");
    if (!status)
        status = yaml_expect_map(&reader->yaml, copy, "from to count | from_offset to_offset");
    if (!status)
        status = yaml_value(&reader->yaml, copy, "from", &from);
    if (!status)
        status = yaml_value(&reader->yaml, copy, "to", &to);
    if (!status)
        status = yaml_value(&reader->yaml, copy, "count", &launch->count);
    if (!status)
        status = yaml_value(&reader->yaml, copy, "from_offset", &launch->from_offset);
    if (!status)
        status = yaml_value(&reader->yaml, copy, "to_offset", &launch->to_offset);
    if (!status)
        status = read_buffer_name(reader, &from, &launch->from);
    if (!status)
        status = read_buffer_name(reader, &to, &launch->to);
    const struct buffer_description *buffers = reader->description->buffers.data;
    if (!status && buffers[launch->from].element != buffers[launch->to].element)
        status = WRONG(reader, copy, "buffers '%s' and '%s' have different element types", from.text, to.text);
    return status;
}

/* [a, b], or a list of such pairs */
static enum corun_status read_swap(struct reader *reader, const struct yaml_node *node,
                                   struct launch_description *launch)
{
    enum corun_status status = yaml_expect(&reader->yaml, node, YAML_LIST);
    if (status)
        return status;
    if (node->first && node->first->kind == YAML_LIST) {
        for (const struct yaml_node *pair = node->first; pair && !status; pair = pair->next) {
            if (pair->kind == YAML_LIST && pair->first && pair->first->kind == YAML_LIST)
                return WRONG(reader, pair, "expected two names of buffers");
            status = read_swap(reader, pair, launch);
        }
        return status;
    }
    if (node->count != 2 || !node->first || !node->first->next || node->first->kind != YAML_TEXT ||
        node->first->next->kind != YAML_TEXT)
        return WRONG(reader, node, "expected two names of buffers");
    const struct yaml_node *sides[2] = {node->first, node->first->next};
    uint32_t index[2] = {0, 0};
    for (unsigned i = 0; i < 2 && !status; i++)
        status = read_buffer_name(reader, &(struct value){sides[i]->text, sides[i]->place, true}, &index[i]);
    if (status)
        return status;
    const struct buffer_description *left = &reader->description->buffers.data[index[0]];
    const struct buffer_description *right = &reader->description->buffers.data[index[1]];
    if (left->symbol.text || right->symbol.text)
        return WRONG(reader, node, "variables of the module cannot change places");
    if (left->element != right->element)
        return WRONG(reader, node, "buffers '%s' and '%s' have different element types", left->name, right->name);
    if (!vector_push(&launch->swaps, ((struct swap_description){index[0], index[1]})))
        return yaml_out_of_memory(&reader->yaml);
    return CORUN_OK;
}

static void launch_free(struct launch_description *launch)
{
    for (size_t i = 0; i < launch->launches.count; i++)
        launch_free(&launch->launches.data[i]);
    vector_free(&launch->launches);
    vector_free(&launch->swaps);
    vector_free(&launch->arguments);
}

static enum corun_status read_launch(struct reader *reader, const struct yaml_node *node, bool inside_group,
                                     struct launch_description *launch);

static enum corun_status read_group(struct reader *reader, const struct yaml_node *node,
                                    struct launch_description *group)
{
    group->kind = LAUNCH_GROUP;
    enum corun_status status = yaml_expect_map(&reader->yaml, node, "launches | repeat swap");
    const struct yaml_node *launches = status ? NULL : yaml_find(node, "launches");
    if (!status)
        status = yaml_expect(&reader->yaml, launches, YAML_LIST);
    for (const struct yaml_node *entry = launches ? launches->first : NULL; entry && !status; entry = entry->next) {
        struct launch_description launch = {.place = entry->place};
        status = read_launch(reader, entry, true, &launch);
        if (!status && !vector_push(&group->launches, launch))
            status = yaml_out_of_memory(&reader->yaml);
        if (status)
            launch_free(&launch);
    }
    return status;
}

static enum corun_status read_launch(struct reader *reader, const struct yaml_node *node, bool inside_group,
                                     struct launch_description *launch)
{
    enum corun_status status = yaml_expect(&reader->yaml, node, YAML_MAP);
    if (status)
        return status;
    if (yaml_find(node, "launches"))
        status = inside_group ? WRONG(reader, node, "a group of launches cannot contain another one")
                              : read_group(reader, node, launch);
    else if (yaml_find(node, "copy"))
        status = read_copy(reader, node, launch);
    else
        status = read_kernel(reader, node, launch);
    if (!status)
        status = yaml_value(&reader->yaml, node, "repeat", &launch->repeat);
    const struct yaml_node *swap = yaml_find(node, "swap");
    if (!status && swap)
        status = read_swap(reader, swap, launch);
    return status;
}

static enum corun_status read_launches(struct reader *reader, const struct yaml_node *launches)
{
    struct description *description = reader->description;
    enum corun_status status = yaml_expect(&reader->yaml, launches, YAML_LIST);
    for (const struct yaml_node *entry = launches->first; entry && !status; entry = entry->next) {
        struct launch_description launch = {.place = entry->place};
        status = read_launch(reader, entry, false, &launch);
        if (!status && !vector_push(&description->launches, launch))
            status = yaml_out_of_memory(&reader->yaml);
        if (status)
            launch_free(&launch);
    }
    if (!status && description->kernel_launches == 0)
        status = WRONG(reader, launches, "there must be at least one launch of a kernel");
    return status;
}

/* sm_NN, as clang and nvcc name the architecture that the PTX is made for. */
static enum corun_status read_architecture(struct reader *reader, const struct yaml_node *root)
{
    struct value word = {0};
    uint64_t number;
    enum corun_status status = yaml_value(&reader->yaml, root, "architecture", &word);
    if (status || !word.text)
        return status;
    if (strncmp(word.text, "sm_", 3) != 0 || !number_parse(word.text + 3, 1000, &number) || number < 10 || number > 209)
        return corun_report(reader->yaml.list, CORUN_SYNTAX, word.place, "'%.80s' is no architecture such as sm_80",
                            word.text);
    reader->description->architecture = (uint32_t)number;
    return CORUN_OK;
}

static enum corun_status read_heading(struct reader *reader, const struct yaml_node *root)
{
    struct description *description = reader->description;
    struct value name = {0}, summary = {.text = ""};
    enum corun_status status = yaml_value(&reader->yaml, root, "name", &name);
    if (!status)
        status = yaml_value(&reader->yaml, root, "summary", &summary);
    if (!status)
        status = yaml_value(&reader->yaml, root, "ptx", &description->ptx);
    if (!status)
        status = yaml_value(&reader->yaml, root, "reference", &description->reference);
    if (status)
        return status;
    assert(name.text && description->ptx.text);
    description->name = name.text;
    description->summary = summary.text;
    if (!is_label(name.text))
        return corun_report(reader->yaml.list, CORUN_SYNTAX, name.place, "'%.80s' cannot be the name of a workload",
                            name.text);
    if (!description->ptx.text[0])
        return corun_report(reader->yaml.list, CORUN_SYNTAX, description->ptx.place,
                            "the path of the PTX file is empty");
    status = read_architecture(reader, root);
    return status ? status : reader_character(reader, root, "character", &description->character);
}

static enum corun_status read_root(struct reader *reader, const struct yaml_node *root)
{
    struct description *description = reader->description;
    enum corun_status status =
        yaml_expect_map(&reader->yaml, root,
                        "name ptx launches | summary character architecture reference sizes parameters buffers work "
                        "papers");
    if (!status)
        status = read_heading(reader, root);
    if (!status)
        status = read_sizes(reader, root);
    const struct yaml_node *parameters = yaml_find(root, "parameters");
    if (!status && parameters)
        status = read_named_values(reader, parameters, &description->parameters);
    const struct yaml_node *buffers = yaml_find(root, "buffers");
    if (!status && buffers)
        status = yaml_expect(&reader->yaml, buffers, YAML_LIST);
    for (const struct yaml_node *entry = buffers ? buffers->first : NULL; entry && !status; entry = entry->next)
        status = read_buffer(reader, entry);
    if (!status)
        status = read_launches(reader, yaml_find(root, "launches"));
    if (!status)
        status = reader_claims(reader, root);
    return status;
}

enum corun_status description_parse(const char *path, const char *text, size_t bytes, struct corun_diagnostics *list,
                                    struct description **result)
{
    *result = NULL;
    struct description *description = calloc(1, sizeof *description);
    if (!description || !(description->arena = arena_create()) ||
        !(description->path = arena_copy_text(description->arena, path, strlen(path)))) {
        description_destroy(description);
        return corun_report(list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory reading %s", path);
    }
    struct reader reader = {{description->path, list}, description};
    enum corun_status status;
    if (bytes > DESCRIPTION_MAX_BYTES) {
        status = corun_report(list, CORUN_SYNTAX, (struct corun_place){path, 0, 0},
                              "a launch description of more than %u bytes", DESCRIPTION_MAX_BYTES);
    } else {
        struct yaml_node *root;
        status = yaml_tree_parse(description->path, text, bytes, description->arena, list, &root);
        if (!status)
            status = read_root(&reader, root);
    }
    if (status)
        description_destroy(description);
    else
        *result = description;
    return status;
}

void description_describe(const struct description *description, struct corun_workload_info *info)
{
    *info = (struct corun_workload_info){
        .name = description->name,
        .summary = description->summary,
        .character = description->character,
        .architecture = description->architecture,
        .path = description->path,
        .sizes = description->size_names,
        .size_count = description->sizes.count,
        .parameters = description->parameter_names,
        .parameter_count = description->sizes.data[0].parameters.items.count,
        .has_reference = description->reference.text != NULL,
        .papers = description->papers.data,
        .paper_count = description->papers.count,
    };
}

void description_destroy(struct description *description)
{
    if (!description)
        return;
    for (size_t i = 0; i < description->sizes.count; i++)
        vector_free(&description->sizes.data[i].parameters.items);
    for (size_t i = 0; i < description->launches.count; i++)
        launch_free(&description->launches.data[i]);
    vector_free(&description->sizes);
    vector_free(&description->parameters.items);
    vector_free(&description->buffers);
    vector_free(&description->launches);
    vector_free(&description->papers);
    if (description->arena)
        arena_destroy(description->arena);
    free(description);
}
