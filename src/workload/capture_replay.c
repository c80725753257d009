/* SPDX-License-Identifier: MIT */
/*
 * An application that does again what a captured program did: its launches, and before each what the program's host
 * side wrote, copied and filled since the one before.
 *
 * Device addresses are those of the program, because its memory is full of them. A machine with several applications
 * needs to tell their addresses apart: what it is told is moved into the range of the application, on its way there
 * and nowhere else.
 */
#include "workload/capture_replay.h"

#include "base/bits.h"

#include <sha2.h>
#include <stdlib.h>
#include <string.h>

#define HOST_ALIGN UINT64_C(256)

/* The range of an application's addresses in the machine, as an offset to where the program believes to be. */
static uint64_t shift_of(uint64_t code_address)
{
    return ((code_address >> CORUN_APPLICATION_SHIFT) - 1) << CORUN_APPLICATION_SHIFT;
}

static void issue_shifted(struct corun_warp *warp, struct corun_issue *result)
{
    result->space = CORUN_SPACE_NONE;
    executor_operations.issue(warp, result);
    if (result->space == CORUN_SPACE_NONE || result->space == CORUN_SPACE_SHARED)
        return;
    uint64_t shift = shift_of(warp->tb->launch->grid.code_address);
    for (uint32_t rest = result->active; rest; rest &= rest - 1) {
        uint32_t lane = lowest_bit(rest);
        if (result->space != CORUN_SPACE_GENERIC || result->lane_space[lane] != CORUN_SPACE_SHARED)
            result->address[lane] += shift;
    }
}

static bool copy_next_shifted(const struct corun_grid *grid, uint32_t sm, uint32_t copy, uint32_t line_bytes,
                              struct corun_copy_part *part)
{
    bool found = executor_operations.copy_next(grid, sm, copy, line_bytes, part);
    if (found && part->space == CORUN_SPACE_GLOBAL)
        part->address += shift_of(grid->code_address);
    return found;
}

static enum corun_status out_of_memory(const struct replay *replay, struct corun_diagnostics *list)
{
    return corun_report(list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory for the captured program %s",
                        replay->captured->path);
}

static enum corun_status unlike(const struct replay *replay, struct corun_diagnostics *list, const char *what)
{
    return corun_report(list, CORUN_UNSUPPORTED, (struct corun_place){replay->captured->path, 0, 0},
                        "the captured program cannot be replayed: %s", what);
}

static int by_address(const void *left, const void *right)
{
    uint64_t a = ((const struct region *)left)->address, b = ((const struct region *)right)->address;
    return (a > b) - (a < b);
}

/* A program registers the same memory again and again: regions are what all of it covers. */
static enum corun_status adopt_regions(struct replay *replay, struct corun_diagnostics *list)
{
    const struct captured *captured = replay->captured;
    for (size_t i = 0; i < captured->operations.count; i++) {
        const struct capture_operation *operation = &captured->operations.data[i];
        struct region region = {0};
        if (operation->kind != CAPTURE_ADOPT)
            continue;
        region.address = operation->numbers[0];
        region.bytes = operation->numbers[1];
        if (!vector_push(&replay->regions, region))
            return out_of_memory(replay, list);
    }
    struct region *all = replay->regions.data;
    size_t count = replay->regions.count, kept = 0;
    if (count)
        qsort(all, count, sizeof *all, by_address);
    for (size_t i = 0; i < count; i++) {
        struct region *last = kept ? &all[kept - 1] : NULL;
        if (last && all[i].address - last->address <= last->bytes) {
            uint64_t end = all[i].address - last->address + all[i].bytes;
            last->bytes = end > last->bytes ? end : last->bytes;
        } else {
            all[kept++] = all[i];
        }
    }
    replay->regions.count = kept;
    for (size_t i = 0; i < kept; i++) {
        /* Whole lines on both sides, as all device memory has. */
        uint64_t offset = all[i].address % HOST_ALIGN;
        size_t bytes = (size_t)((offset + all[i].bytes + HOST_ALIGN - 1) / HOST_ALIGN * HOST_ALIGN);
        all[i].block = calloc(1, bytes);
        if (!all[i].block)
            return out_of_memory(replay, list);
        if (corun_memory_adopt(replay->memory, all[i].address, all[i].block + offset, all[i].bytes) != CORUN_OK)
            return unlike(replay, list, "its memory of the host lies where a GPU cannot have it");
    }
    return CORUN_OK;
}

static enum corun_status load_module(struct replay *replay, struct corun_diagnostics *list)
{
    struct corun_module *code = replay->captured->modules.data[replay->module_count].code;
    enum corun_status status =
        corun_module_instance_create(code, replay->memory, list, &replay->modules[replay->module_count]);
    if (!status)
        replay->module_count++;
    return status;
}

/* Everything that is allocated during the whole run: addresses come out as they did, because nothing is used twice. */
static enum corun_status allocate(struct replay *replay, struct corun_diagnostics *list)
{
    const struct captured *captured = replay->captured;
    enum corun_status status = adopt_regions(replay, list);
    for (size_t i = 0; i < captured->operations.count && !status; i++) {
        const struct capture_operation *operation = &captured->operations.data[i];
        const uint64_t *numbers = operation->numbers;
        uint64_t address = numbers[0];
        void *host;
        if (operation->kind == CAPTURE_MODULE) {
            status = load_module(replay, list);
        } else if (operation->kind == CAPTURE_ALLOCATE) {
            status = corun_memory_allocate(replay->memory, numbers[1], &address);
        } else if (operation->kind == CAPTURE_ALLOCATE_PAGES) {
            status = corun_memory_allocate_shared(replay->memory, numbers[1], &address, &host);
        } else if (operation->kind == CAPTURE_ALIAS) {
            host = corun_memory_pointer(replay->memory, numbers[2], numbers[1]);
            if (!host || corun_memory_adopt(replay->memory, numbers[0], host, numbers[1]) != CORUN_OK)
                status = unlike(replay, list, "memory that it has twice cannot be had twice");
        }
        if (status == CORUN_MEMORY)
            return out_of_memory(replay, list);
        bool placed = operation->kind == CAPTURE_ALLOCATE || operation->kind == CAPTURE_ALLOCATE_PAGES;
        if (!status && placed && address != numbers[0])
            status = unlike(replay, list, "its memory would get other addresses");
    }
    return status;
}

enum corun_status replay_make_grid(struct replay *replay, size_t index, struct corun_diagnostics *list,
                                   struct corun_grid **grid)
{
    const struct capture_shape *shape = &replay->captured->shapes.data[index];
    const struct capture_operation *operation = &replay->captured->operations.data[shape->operation];
    const uint64_t *numbers = operation->numbers;
    struct corun_launch_description launch = {
        .kernel = shape->kernel,
        .grid = {(uint32_t)numbers[2], (uint32_t)numbers[3], (uint32_t)numbers[4]},
        .block = {(uint32_t)numbers[5], (uint32_t)numbers[6], (uint32_t)numbers[7]},
        .dynamic_shared_bytes = (uint32_t)numbers[8],
        .parameters = operation->texts[1].data,
        .parameter_bytes = operation->texts[1].bytes,
        .meeting_address = numbers[9],
    };
    *grid = NULL;
    enum corun_status status = corun_grid_create(replay->modules[numbers[1]], &launch, list, grid);
    if (status == CORUN_OK && replay->application) {
        (*grid)->operations = &replay->operations;
        (*grid)->code_address += (uint64_t)replay->application << CORUN_APPLICATION_SHIFT;
    }
    return status;
}

static enum corun_status make_grids(struct replay *replay, struct corun_diagnostics *list)
{
    enum corun_status status = CORUN_OK;
    for (size_t i = 0; i < replay->captured->shapes.count && status == CORUN_OK; i++)
        if ((status = replay_make_grid(replay, i, list, &replay->grids[i])) == CORUN_OK)
            replay->grid_count++;
    return status;
}

/* Everything that an operation names must be there; later nobody looks any more. */
static enum corun_status check_addresses(const struct replay *replay, struct corun_diagnostics *list)
{
    const struct captured *captured = replay->captured;
    for (size_t i = 0; i < captured->operations.count; i++) {
        const struct capture_operation *operation = &captured->operations.data[i];
        const uint64_t *numbers = operation->numbers;
        struct capture_rows rows, from;
        bool good = true;
        if (operation->kind == CAPTURE_WRITE || operation->kind == CAPTURE_FILL || operation->kind == CAPTURE_CHECK ||
            operation->kind == CAPTURE_COPY)
            good = capture_rows_of(numbers, &rows) && corun_memory_pointer(replay->memory, rows.address, rows.span);
        if (operation->kind == CAPTURE_COPY) {
            const uint64_t source[6] = {numbers[6], numbers[7], numbers[8], numbers[3], numbers[4], numbers[5]};
            good =
                good && capture_rows_of(source, &from) && corun_memory_pointer(replay->memory, from.address, from.span);
        }
        if (operation->kind == CAPTURE_LAUNCH && numbers[9])
            good = corun_memory_pointer(replay->memory, numbers[9], CAPTURE_MEETING_BYTES) != NULL;
        if (!good)
            return unlike(replay, list, "an operation is about memory that it does not have");
    }
    return CORUN_OK;
}

enum corun_status replay_create(const struct captured *captured, uint32_t application, struct corun_diagnostics *list,
                                struct replay **result)
{
    *result = NULL;
    struct replay *replay = calloc(1, sizeof *replay);
    if (!replay)
        return corun_report(list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory");
    replay->captured = captured;
    replay->application = application;
    replay->operations = executor_operations;
    replay->operations.issue = issue_shifted;
    replay->operations.copy_next = copy_next_shifted;
    replay->memory = corun_memory_create(0);
    if (replay->memory)
        corun_memory_map_pages(replay->memory);
    replay->modules = calloc(captured->modules.count + 1, sizeof(*replay->modules));
    replay->grids = calloc(captured->shapes.count + 1, sizeof(*replay->grids));
    enum corun_status status = CORUN_OK;
    if (!replay->memory || !replay->modules || !replay->grids)
        status = out_of_memory(replay, list);
    if (!status)
        status = allocate(replay, list);
    if (!status)
        status = check_addresses(replay, list);
    if (!status)
        status = make_grids(replay, list);
    if (status)
        replay_destroy(replay);
    else
        *result = replay;
    return status;
}

void replay_destroy(struct replay *replay)
{
    if (!replay)
        return;
    timed_destroy(replay->timed);
    for (size_t i = 0; i < replay->grid_count; i++)
        corun_grid_destroy(replay->grids[i]);
    for (size_t i = 0; i < replay->module_count; i++)
        corun_module_instance_destroy(replay->modules[i]);
    corun_memory_destroy(replay->memory);
    for (size_t i = 0; i < replay->regions.count; i++)
        free(replay->regions.data[i].block);
    vector_free(&replay->regions);
    vector_free(&replay->textures);
    free(replay->modules);
    free(replay->grids);
    free(replay);
}

struct corun_memory *replay_memory(struct replay *replay)
{
    return replay->memory;
}

const struct corun_grid *replay_grid(const struct replay *replay, uint32_t index)
{
    const struct captured *captured = replay->captured;
    return replay->grids[captured->operations.data[captured->launches.data[index]].shape];
}

static void do_write(struct replay *replay, const struct capture_operation *operation)
{
    struct capture_rows rows;
    (void)capture_rows_of(operation->numbers, &rows);
    uint8_t *to = corun_memory_pointer(replay->memory, rows.address, rows.span);
    const struct capture_text *block = NULL;
    size_t at = 0, used = 0;
    for (uint64_t z = 0; z < rows.depth; z++)
        for (uint64_t y = 0; y < rows.height; y++)
            for (uint64_t x = 0; x < rows.width;) {
                if (!block || used == block->bytes) {
                    used = 0;
                    if (!capture_next_block(replay->captured, &operation->texts[0], &at, &block))
                        return; /* checked when it was read */
                    continue;
                }
                uint64_t part = block->bytes - used < rows.width - x ? block->bytes - used : rows.width - x;
                memcpy(to + z * rows.slice + y * rows.pitch + x, block->data + used, part);
                used += part;
                x += part;
            }
}

static void do_fill(struct replay *replay, const uint64_t *numbers)
{
    struct capture_rows rows;
    (void)capture_rows_of(numbers, &rows);
    uint8_t *to = corun_memory_pointer(replay->memory, rows.address, rows.span);
    uint32_t value = (uint32_t)numbers[6];
    for (uint64_t z = 0; z < rows.depth; z++)
        for (uint64_t y = 0; y < rows.height; y++) {
            uint8_t *row = to + z * rows.slice + y * rows.pitch;
            for (uint64_t x = 0; numbers[7] > 1 && x < rows.width; x += numbers[7])
                memcpy(row + x, &value, numbers[7]);
            if (numbers[7] == 1)
                memset(row, (int)value, rows.width);
        }
}

static void do_copy(struct replay *replay, const uint64_t *numbers)
{
    const uint64_t source[6] = {numbers[6], numbers[7], numbers[8], numbers[3], numbers[4], numbers[5]};
    struct capture_rows rows, from;
    (void)capture_rows_of(numbers, &rows);
    (void)capture_rows_of(source, &from);
    uint8_t *to = corun_memory_pointer(replay->memory, rows.address, rows.span);
    const uint8_t *data = corun_memory_pointer(replay->memory, from.address, from.span);
    /* Rows without gaps at once, as the program's copy did: the two sides may overlap. */
    bool whole = rows.pitch == rows.width && from.pitch == rows.width;
    for (uint64_t z = 0; z < rows.depth; z++)
        for (uint64_t y = 0; y < (whole ? 1 : rows.height); y++)
            memmove(to + z * rows.slice + y * rows.pitch, data + z * from.slice + y * from.pitch,
                    whole ? rows.width * rows.height : rows.width);
}

static void do_check(struct replay *replay, const struct capture_operation *operation, size_t index)
{
    struct corun_verification *verification = &replay->verification;
    struct capture_rows rows;
    uint8_t hash[CAPTURE_HASH_BYTES];
    SHA2_CTX sha;
    (void)capture_rows_of(operation->numbers, &rows);
    const uint8_t *data = corun_memory_pointer(replay->memory, rows.address, rows.span);
    SHA256Init(&sha);
    for (uint64_t z = 0; z < rows.depth; z++)
        for (uint64_t y = 0; y < rows.height; y++)
            SHA256Update(&sha, data + z * rows.slice + y * rows.pitch, rows.width);
    SHA256Final(hash, &sha);
    verification->elements += rows.width * rows.height * rows.depth;
    if (memcmp(hash, operation->texts[0].data, sizeof hash) != 0 && verification->mismatches++ < REPORTED_MISMATCHES)
        replay->wrong[verification->mismatches - 1] = index;
}

static float float_of(uint64_t bits)
{
    uint32_t low = (uint32_t)bits;
    float value;
    memcpy(&value, &low, sizeof value);
    return value;
}

static void do_texture(struct replay *replay, const uint64_t *n)
{
    struct corun_texture texture = {
        .address = n[1],
        .width = (uint32_t)n[2],
        .height = (uint32_t)n[3],
        .depth = (uint32_t)n[4],
        .layered = n[5] & 1,
        .gob_rows = (uint32_t)(n[5] >> 1),
        .row_bytes = n[6],
        .slice_bytes = n[7],
        .channels = (uint8_t)n[8],
        .channel_bits = (uint8_t)n[9],
        .kind = (uint8_t)n[10],
        .mode = {(uint8_t)n[11], (uint8_t)n[12], (uint8_t)n[13]},
        .linear = n[14],
        .normalized_coordinates = n[15],
        .normalized_values = n[16],
        .border = {float_of(n[17]), float_of(n[18]), float_of(n[19]), float_of(n[20])},
    };
    uint64_t handle;
    if (corun_texture_create(replay->memory, &texture, &handle) != CORUN_OK)
        replay->broken = true;
    else if (handle != n[0] || !vector_push(&replay->textures, handle))
        replay->broken = true;
}

static void forget_texture(struct replay *replay, uint64_t handle)
{
    for (size_t i = 0; i < replay->textures.count; i++)
        if (replay->textures.data[i] == handle) {
            (void)corun_texture_destroy(replay->memory, handle);
            replay->textures.data[i] = replay->textures.data[--replay->textures.count];
            return;
        }
}

void replay_perform(struct replay *replay, size_t index)
{
    const struct capture_operation *operation = &replay->captured->operations.data[index];
    static const uint8_t zero[CAPTURE_MEETING_BYTES];
    switch (operation->kind) {
    case CAPTURE_WRITE:
        do_write(replay, operation);
        break;
    case CAPTURE_FILL:
        do_fill(replay, operation->numbers);
        break;
    case CAPTURE_COPY:
        do_copy(replay, operation->numbers);
        break;
    case CAPTURE_CHECK:
        do_check(replay, operation, index);
        break;
    case CAPTURE_TEXTURE:
        do_texture(replay, operation->numbers);
        break;
    case CAPTURE_NO_TEXTURE:
        forget_texture(replay, operation->numbers[0]);
        break;
    case CAPTURE_LAUNCH: /* the machine runs it; a cooperative one needs its two words at zero */
        if (operation->numbers[9])
            (void)corun_memory_write(replay->memory, operation->numbers[9], zero, sizeof zero);
        break;
    default:
        break;
    }
}

void replay_before(struct replay *replay, uint32_t index)
{
    const struct captured *captured = replay->captured;
    size_t end = index < captured->launches.count ? captured->launches.data[index] + 1 : captured->operations.count;
    while (replay->next < end)
        replay_perform(replay, replay->next++);
}

enum corun_status replay_proceed(struct replay *replay, struct corun_gpu *gpu, uint32_t application,
                                 struct corun_proceeding *proceeding)
{
    if (!replay->timed && !(replay->timed = timed_create(replay)))
        return CORUN_MEMORY;
    return timed_proceed(replay->timed, gpu, application, proceeding);
}

void replay_restart(struct replay *replay)
{
    const struct captured *captured = replay->captured;
    if (replay->next == 0 && !replay->timed)
        return;
    timed_destroy(replay->timed);
    replay->timed = NULL;
    for (size_t i = 0; i < captured->operations.count; i++) {
        const struct capture_operation *operation = &captured->operations.data[i];
        if (operation->kind == CAPTURE_ALLOCATE || operation->kind == CAPTURE_ALLOCATE_PAGES)
            memory_clear(replay->memory, operation->numbers[0]);
    }
    for (size_t i = 0; i < replay->regions.count; i++)
        memset(replay->regions.data[i].block + replay->regions.data[i].address % HOST_ALIGN, 0,
               replay->regions.data[i].bytes);
    for (size_t i = 0; i < replay->module_count; i++)
        corun_module_instance_reset(replay->modules[i]);
    while (replay->textures.count)
        forget_texture(replay, replay->textures.data[replay->textures.count - 1]);
    replay->next = 0;
    replay->verification = (struct corun_verification){0};
}

/* How many launches come before an operation. */
static size_t launches_before(const struct captured *captured, size_t operation)
{
    size_t count = 0;
    while (count < captured->launches.count && captured->launches.data[count] < operation)
        count++;
    return count;
}

enum corun_status replay_verify(const struct replay *replay, struct corun_diagnostics *list,
                                struct corun_verification *result)
{
    const struct captured *captured = replay->captured;
    const struct corun_verification *verification = &replay->verification;
    struct corun_place place = {captured->path, 0, 0};
    if (result)
        *result = *verification;
    if (!captured->checks)
        return corun_report(list, CORUN_NOT_FOUND, place,
                            "the captured program has copied nothing back that could be verified");
    if (replay->broken)
        return corun_report(list, CORUN_MISMATCH, place, "textures could not be made as the program had them");
    for (size_t i = 0; i < REPORTED_MISMATCHES && i < verification->mismatches; i++) {
        const uint64_t *numbers = captured->operations.data[replay->wrong[i]].numbers;
        uint64_t bytes = numbers[3] * numbers[4] * numbers[5];
        size_t launch = launches_before(captured, replay->wrong[i]);
        corun_report(list, CORUN_MISMATCH, place,
                     "after launch %zu (%s): %llu bytes at %#llx are not what the program read", launch,
                     launch ? replay_grid(replay, (uint32_t)launch - 1)->name : "none", (unsigned long long)bytes,
                     (unsigned long long)numbers[0]);
    }
    if (verification->mismatches)
        return corun_report(list, CORUN_MISMATCH, place, "%llu of the %u results that it read differ",
                            (unsigned long long)verification->mismatches, captured->checks);
    return CORUN_OK;
}
