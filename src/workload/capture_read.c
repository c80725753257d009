/* SPDX-License-Identifier: MIT */
/* The operations of a captured program read and checked one by one, and its modules, launches and streams collected. */
#include "workload/capture.h"

#include "base/text_table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MOST_ALLOCATED (UINT64_C(1) << 40) /* an application's range of addresses */
#define MOST_LAUNCHES 10000000u
#define MOST_EVENTS 10000000u

struct parser {
    struct captured *captured;
    struct corun_diagnostics *list;
    struct corun_place place;
    uint32_t rewrites;
    size_t at;
    struct text_table shapes, streams; /* streams by the bytes of their numbers */
    bool ended;
};

static const struct {
    uint8_t numbers, texts;
} kinds[CAPTURE_KIND_COUNT] = {
#define KIND(name, numbers, texts, meaning) [CAPTURE_##name] = {numbers, texts},
    CAPTURE_OPERATIONS(KIND)
#undef KIND
};

static enum corun_status out_of_memory(const struct parser *parser)
{
    return corun_report(parser->list, CORUN_MEMORY, parser->place, "out of memory for a captured program");
}

static enum corun_status wrong(const struct parser *parser, const char *what)
{
    return corun_report(parser->list, CORUN_SYNTAX, parser->place, "operation %zu of the captured program: %s",
                        parser->captured->operations.count + 1, what);
}

static bool read_number(const uint8_t *data, size_t bytes, size_t *at, uint64_t *value)
{
    *value = 0;
    for (unsigned shift = 0; *at < bytes && shift < 64; shift += 7) {
        uint8_t byte = data[(*at)++];
        if (shift == 63 && byte > 1)
            return false;
        *value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return true;
    }
    return false;
}

bool capture_rows_of(const uint64_t *numbers, struct capture_rows *rows)
{
    *rows = (struct capture_rows){numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5], 0};
    uint64_t more = 0, slices = 0;
    if (!rows->width || !rows->height || !rows->depth || (rows->height > 1 && rows->pitch < rows->width) ||
        __builtin_mul_overflow(rows->height - 1, rows->pitch, &more) ||
        __builtin_add_overflow(more, rows->width, &more) || (rows->depth > 1 && rows->slice < more) ||
        __builtin_mul_overflow(rows->depth - 1, rows->slice, &slices) ||
        __builtin_add_overflow(more, slices, &rows->span))
        return false;
    uint64_t end;
    return rows->span <= MOST_ALLOCATED && !__builtin_add_overflow(rows->address, rows->span, &end);
}

bool capture_next_block(const struct captured *captured, const struct capture_text *list, size_t *at,
                        const struct capture_text **block)
{
    uint64_t number;
    if (!read_number(list->data, list->bytes, at, &number) || number >= captured->blocks.count)
        return false;
    *block = &captured->blocks.data[number];
    return true;
}

static enum corun_status check_write(const struct parser *parser, const struct capture_operation *operation)
{
    struct capture_rows rows;
    const struct capture_text *block;
    uint64_t sum = 0;
    size_t at = 0;
    if (!capture_rows_of(operation->numbers, &rows))
        return wrong(parser, "its rows make no sense");
    while (at < operation->texts[0].bytes) {
        if (!capture_next_block(parser->captured, &operation->texts[0], &at, &block))
            return wrong(parser, "there is no such block");
        sum += block->bytes;
    }
    if (sum != rows.width * rows.height * rows.depth)
        return wrong(parser, "its contents are not as long as its rows");
    return CORUN_OK;
}

static char *copy_text(struct parser *parser, const struct capture_text *text)
{
    return arena_copy_text(parser->captured->arena, (const char *)text->data, text->bytes);
}

static enum corun_status add_module(struct parser *parser, const struct capture_operation *operation)
{
    struct captured_module module = {.name = copy_text(parser, &operation->texts[0]), .text = operation->texts[1]};
    if (!module.name)
        return out_of_memory(parser);
    enum corun_status status =
        corun_module_assemble(module.name, (const char *)operation->texts[1].data, operation->texts[1].bytes,
                              parser->rewrites, parser->list, &module.code);
    if (status)
        return status;
    if (vector_push(&parser->captured->modules, module))
        return CORUN_OK;
    corun_module_destroy(module.code);
    return out_of_memory(parser);
}

static bool same_dim(struct corun_dim3 left, struct corun_dim3 right)
{
    return left.x == right.x && left.y == right.y && left.z == right.z;
}

/* Few of them: kernels times sizes. */
static bool group(struct captured *captured, const struct corun_kernel *kernel, const uint64_t *numbers)
{
    struct corun_workload_launch launch = {
        .kernel = kernel,
        .grid = {(uint32_t)numbers[2], (uint32_t)numbers[3], (uint32_t)numbers[4]},
        .block = {(uint32_t)numbers[5], (uint32_t)numbers[6], (uint32_t)numbers[7]},
        .dynamic_shared_bytes = (uint32_t)numbers[8],
        .launches = 1,
    };
    for (size_t i = 0; i < captured->groups.count; i++) {
        struct corun_workload_launch *other = &captured->groups.data[i];
        if (other->kernel == kernel && same_dim(other->grid, launch.grid) && same_dim(other->block, launch.block) &&
            other->dynamic_shared_bytes == launch.dynamic_shared_bytes) {
            other->launches++;
            return true;
        }
    }
    return vector_push(&captured->groups, launch);
}

static enum corun_status add_launch(struct parser *parser, struct capture_operation *operation, size_t first)
{
    struct captured *captured = parser->captured;
    const uint64_t *numbers = operation->numbers;
    if (numbers[1] >= captured->modules.count)
        return wrong(parser, "there is no such module");
    for (int i = 2; i < 9; i++)
        if (numbers[i] > UINT32_MAX)
            return wrong(parser, "the launch is too large");
    char *name = copy_text(parser, &operation->texts[0]);
    if (!name)
        return out_of_memory(parser);
    const struct corun_kernel *kernel = corun_module_kernel(captured->modules.data[numbers[1]].code, name);
    if (!kernel)
        return wrong(parser, "there is no such kernel");
    size_t number;
    struct capture_shape shape = {kernel, captured->operations.count, 0};
    /* Everything behind the number of the stream makes a launch what it is. */
    const char *text = (const char *)captured->body + first;
    if (!text_table_find_or_add(&parser->shapes, text, parser->at - first, captured->shapes.count, &number) ||
        (number == captured->shapes.count && !vector_push(&captured->shapes, shape)) ||
        !vector_push(&captured->launches, captured->operations.count) || !group(captured, kernel, numbers))
        return out_of_memory(parser);
    if (captured->launches.count > MOST_LAUNCHES)
        return wrong(parser, "there are too many launches");
    captured->shapes.data[number].launches++;
    operation->shape = (uint32_t)number;
    return CORUN_OK;
}

static enum corun_status check_texture(const struct parser *parser, const uint64_t *numbers)
{
    for (unsigned i = 2; i < CAPTURE_MOST_NUMBERS; i++) {
        bool wide = i == 6 || i == 7, byte = (i >= 8 && i <= 13) || i == 5, flag = i >= 14 && i <= 16;
        uint64_t most = wide ? UINT64_MAX : flag ? 1 : byte ? UINT8_MAX : UINT32_MAX;
        if (numbers[i] > most)
            return wrong(parser, "the texture makes no sense");
    }
    for (int i = 11; i <= 13; i++)
        if (numbers[i] > CORUN_TEXTURE_BORDER)
            return wrong(parser, "the texture makes no sense");
    return CORUN_OK;
}

/* Puts the index of the stream in the place of its number. False if there is none. */
static bool find_stream(const struct parser *parser, uint64_t *number)
{
    size_t index;
    if (!text_table_find(&parser->streams, (const char *)number, sizeof *number, &index))
        return false;
    *number = index;
    return true;
}

static enum corun_status add_stream(struct parser *parser, uint64_t *numbers)
{
    size_t index = parser->streams.count, found;
    char *key = arena_copy_text(parser->captured->arena, (const char *)numbers, sizeof *numbers);
    if (!key || !text_table_find_or_add(&parser->streams, key, sizeof *numbers, index, &found))
        return out_of_memory(parser);
    if (found != index || numbers[1] > (CAPTURE_LEGACY | 1) || numbers[2] > UINT32_MAX)
        return wrong(parser, "the stream makes no sense");
    numbers[0] = index;
    return CORUN_OK;
}

/* Streams come before their use; events are counted from 1. */
static enum corun_status check_streams(struct parser *parser, enum capture_kind kind, uint64_t *numbers)
{
    bool good = true;
    switch (kind) {
    case CAPTURE_STREAM:
        return add_stream(parser, numbers);
    case CAPTURE_RECORD:
    case CAPTURE_WAIT:
        good = find_stream(parser, numbers) && numbers[1] - 1 < MOST_EVENTS;
        break;
    case CAPTURE_AWAIT_EVENT:
        good = numbers[0] - 1 < MOST_EVENTS;
        break;
    case CAPTURE_TRANSFER:
        good = find_stream(parser, numbers) && numbers[1] < CORUN_COPY_ENGINES && numbers[2] <= 1 && numbers[3] <= 1 &&
               numbers[4] <= MOST_ALLOCATED;
        break;
    case CAPTURE_LAUNCH:
    case CAPTURE_POINT:
    case CAPTURE_AWAIT_STREAM:
        good = find_stream(parser, numbers);
        break;
    default:
        break;
    }
    return good ? CORUN_OK : wrong(parser, "its stream or event makes no sense");
}

/* What can be said of an operation without memory. `first` is where what follows its first number begins. */
static enum corun_status take(struct parser *parser, struct capture_operation *operation, size_t first)
{
    struct captured *captured = parser->captured;
    const uint64_t *numbers = operation->numbers;
    struct capture_rows rows, from;
    if ((operation->kind == CAPTURE_PROGRAM) != (captured->operations.count == 0))
        return wrong(parser, "it does not begin with the program");
    switch (operation->kind) {
    case CAPTURE_PROGRAM:
        captured->program = copy_text(parser, &operation->texts[0]);
        captured->gpu = copy_text(parser, &operation->texts[1]);
        return captured->program && captured->gpu ? CORUN_OK : out_of_memory(parser);
    case CAPTURE_MODULE:
        return add_module(parser, operation);
    case CAPTURE_ALLOCATE:
    case CAPTURE_ALLOCATE_PAGES:
    case CAPTURE_ADOPT:
        if (!numbers[1] || numbers[1] > MOST_ALLOCATED - captured->memory_bytes || numbers[0] + numbers[1] < numbers[0])
            return wrong(parser, "it allocates too much");
        captured->memory_bytes += numbers[1];
        return CORUN_OK;
    case CAPTURE_BLOCK:
        return vector_push(&captured->blocks, operation->texts[0]) ? CORUN_OK : out_of_memory(parser);
    case CAPTURE_WRITE:
        return check_write(parser, operation);
    case CAPTURE_FILL:
        if (!capture_rows_of(numbers, &rows) || (numbers[7] != 1 && numbers[7] != 2 && numbers[7] != 4) ||
            rows.width % numbers[7] || numbers[6] > UINT32_MAX)
            return wrong(parser, "the fill makes no sense");
        return CORUN_OK;
    case CAPTURE_COPY: {
        const uint64_t source[6] = {numbers[6], numbers[7], numbers[8], numbers[3], numbers[4], numbers[5]};
        return capture_rows_of(numbers, &rows) && capture_rows_of(source, &from)
                   ? CORUN_OK
                   : wrong(parser, "the copy makes no sense");
    }
    case CAPTURE_CHECK:
        if (!capture_rows_of(numbers, &rows) || operation->texts[0].bytes != CAPTURE_HASH_BYTES)
            return wrong(parser, "the check makes no sense");
        captured->checks++;
        return CORUN_OK;
    case CAPTURE_TEXTURE:
        return check_texture(parser, numbers);
    case CAPTURE_LAUNCH:
        return add_launch(parser, operation, first);
    case CAPTURE_END:
        parser->ended = true;
        return numbers[0] == captured->launches.count && captured->launches.count
                   ? CORUN_OK
                   : wrong(parser, "the number of launches is wrong");
    default:
        return CORUN_OK;
    }
}

static enum corun_status read_operation(struct parser *parser)
{
    struct captured *captured = parser->captured;
    uint8_t kind = captured->body[parser->at++];
    if (kind == CAPTURE_NOTHING || kind >= CAPTURE_KIND_COUNT || parser->ended)
        return wrong(parser, "unknown");
    uint64_t numbers[CAPTURE_MOST_NUMBERS], length;
    struct capture_operation operation = {.kind = (enum capture_kind)kind};
    size_t first = parser->at;
    for (unsigned i = 0; i < kinds[kind].numbers; i++) {
        if (!read_number(captured->body, captured->bytes, &parser->at, &numbers[i]))
            return wrong(parser, "it is cut off");
        if (i == 0)
            first = parser->at;
    }
    for (unsigned i = 0; i < kinds[kind].texts; i++) {
        if (!read_number(captured->body, captured->bytes, &parser->at, &length) ||
            length > captured->bytes - parser->at)
            return wrong(parser, "it is cut off");
        operation.texts[i] = (struct capture_text){captured->body + parser->at, (size_t)length};
        parser->at += (size_t)length;
    }
    size_t bytes = kinds[kind].numbers * sizeof *numbers;
    uint64_t *kept = arena_allocate(captured->arena, bytes ? bytes : 1);
    if (!kept)
        return out_of_memory(parser);
    memcpy(kept, numbers, bytes);
    operation.numbers = kept;
    enum corun_status status = check_streams(parser, operation.kind, kept);
    if (!status)
        status = take(parser, &operation, first);
    if (!status && !vector_push(&captured->operations, operation))
        return out_of_memory(parser);
    return status;
}

/* "hotspot" of "runs/hotspot.corun" */
static char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    size_t length = strlen(name);
    size_t ending = strlen(CAPTURE_ENDING);
    if (length > ending && strcmp(name + length - ending, CAPTURE_ENDING) == 0)
        length -= ending;
    return strndup(name, length);
}

enum corun_status capture_read(const char *path, uint8_t *body, size_t bytes, uint32_t rewrites,
                               struct corun_diagnostics *list, struct captured **result)
{
    *result = NULL;
    struct captured *captured = calloc(1, sizeof *captured);
    struct parser parser = {.captured = captured, .list = list, .place = {path, 0, 0}, .rewrites = rewrites};
    if (!captured) {
        free(body);
        return out_of_memory(&parser);
    }
    captured->body = body;
    captured->bytes = bytes;
    captured->arena = arena_create();
    captured->path = strdup(path);
    captured->name = name_of(path);
    enum corun_status status = captured->arena && captured->path && captured->name ? CORUN_OK : out_of_memory(&parser);
    while (!status && parser.at < bytes)
        status = read_operation(&parser);
    if (!status && !parser.ended)
        status = wrong(&parser, "the end is missing");
    text_table_free(&parser.shapes);
    text_table_free(&parser.streams);
    if (status)
        capture_destroy(captured);
    else
        *result = captured;
    return status;
}

void capture_destroy(struct captured *captured)
{
    if (!captured)
        return;
    for (size_t i = 0; i < captured->modules.count; i++)
        corun_module_destroy(captured->modules.data[i].code);
    vector_free(&captured->modules);
    vector_free(&captured->blocks);
    vector_free(&captured->operations);
    vector_free(&captured->launches);
    vector_free(&captured->shapes);
    vector_free(&captured->groups);
    arena_destroy(captured->arena);
    free(captured->path);
    free(captured->name);
    free(captured->body);
    free(captured);
}

void capture_describe(const struct captured *captured, struct corun_workload_info *info)
{
    *info = (struct corun_workload_info){
        .name = captured->name,
        .summary = "a captured CUDA program",
        .character = CORUN_CHARACTER_COUNT,
        .path = captured->path,
        .size = "captured",
        .has_reference = captured->checks > 0,
        .buffer_bytes = captured->memory_bytes,
    };
}
