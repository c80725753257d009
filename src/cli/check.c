/* SPDX-License-Identifier: MIT */
/*
 * corun check: kernels of a PTX file, or launches of a captured program, with what they need and what is not supported.
 */
#include "cli/command.h"

#include "base/launch_bounds.h"
#include "base/text_file.h"
#include "case/specification.h"
#include "corun/gpu.h"
#include "corun/module.h"
#include "corun/workload.h"
#include "cuda/device_functions.h"
#include "report/kernel_labels.h"
#include "workload/capture.h"

#include <stdlib.h>
#include <string.h>

#define DEFAULT_BLOCK 256u
#define MOST_PTX_BYTES (UINT64_C(256) << 20)

enum { KEY_GPU = 'g', KEY_BLOCK = 'b', KEY_SHARED = 0x100 };

static const struct argp_option options[] = {
    {"gpu", KEY_GPU, "GPU", 0, "the GPU for which occupancy is told, a name or a YAML file with overrides [gtx980]", 1},
    {"block", KEY_BLOCK, "X[,Y[,Z]]", 0, "threads of a thread block [what the kernel requires, else 256]", 1},
    {"shared", KEY_SHARED, "BYTES", 0, "dynamic shared memory per thread block [0]", 1},
    {0},
};

static const char doc[] =
    "Reads a PTX file, or one of `corun capture` (.corun: launches, streams, memory and copies), and tells what is in "
    "it: its kernels with their registers per thread (and whether that number is "
    "the assembler's, a .maxnreg, our own allocation or what launch bounds leave on the GPU), shared, local and "
    "constant memory, instructions, and how many "
    "thread blocks fit an SM and whether they may be dropped and started again. What is malformed or not supported is "
    "told with its place, and the exit status says so.";

struct check_options {
    struct command command;
    const char *path, *gpu;
    struct corun_dim3 block; /* 0: not given */
    uint64_t shared_bytes;
};

static error_t parse_option(int key, char *value, struct argp_state *state)
{
    struct check_options *check = state->input;
    switch (key) {
    case KEY_GPU:
        check->gpu = value;
        break;
    case KEY_BLOCK:
        command_keep(&check->command, specify_dimensions(value, "--block", check->command.list, &check->block));
        break;
    case KEY_SHARED:
        command_number(&check->command, "--shared", value, 1024, 0, UINT32_MAX / 2, &check->shared_bytes);
        break;
    case ARGP_KEY_ARG:
        if (state->arg_num)
            argp_error(state, "one file is expected, not also `%s`", value);
        check->path = value;
        break;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "a PTX file, or one of `corun capture`, is missing");
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static uint32_t block_threads(const struct check_options *check, const struct corun_kernel_info *info)
{
    if (!check->block.x)
        return info->max_threads_per_tb ? info->max_threads_per_tb : DEFAULT_BLOCK;
    uint64_t threads = (uint64_t)check->block.x * check->block.y;
    threads = threads > UINT32_MAX ? UINT32_MAX : threads * check->block.z;
    return threads > UINT32_MAX - CORUN_WARP_LANES ? UINT32_MAX - CORUN_WARP_LANES : (uint32_t)threads;
}

/* Thread blocks that fit an SM, and what limits them. */
static uint32_t occupancy(const struct corun_gpu_config *gpu, const struct corun_kernel_info *info, uint32_t threads,
                          uint32_t dynamic_shared_bytes, const char **limit)
{
    struct corun_grid grid = {.name = info->name,
                              .tb_count = 1,
                              .tb_threads = threads,
                              .tb_warps = (threads + CORUN_WARP_LANES - 1) / CORUN_WARP_LANES,
                              .tb_shared_bytes = info->shared_bytes + dynamic_shared_bytes,
                              .registers_per_thread = info->registers_per_thread,
                              .bounds = info->bounds,
                              .barrier_count = 1};
    return corun_gpu_occupancy(gpu, &grid, limit);
}

static const char *kernel_symbol(const struct corun_kernel *kernel)
{
    struct corun_kernel_info info;
    corun_kernel_describe(kernel, &info);
    return info.name;
}

static void describe_kernel(const struct check_options *check, const struct corun_gpu_config *gpu,
                            const struct corun_kernel *kernel, const char *label, struct columns *columns)
{
    struct corun_kernel_info info;
    corun_kernel_describe(kernel, &info);
    uint32_t threads = block_threads(check, &info);
    const char *limit = NULL;
    uint32_t tbs = occupancy(gpu, &info, threads, (uint32_t)check->shared_bytes, &limit);
    columns_row(columns);
    columns_set(columns, 0, PAINT_NONE, "%s", label);
    uint32_t registers = launch_bounds_registers(gpu, info.registers_per_thread, &info.bounds);
    const char *from = registers < info.registers_per_thread ? "launch-bounds" : info.registers_from;
    columns_set(columns, 1, PAINT_NONE, "%u", registers);
    columns_set(columns, 2, PAINT_NONE, "%s", from ? from : "-");
    columns_set(columns, 3, PAINT_NONE, "%u", info.shared_bytes);
    columns_set(columns, 4, PAINT_NONE, "%u", info.local_bytes);
    columns_set(columns, 5, PAINT_NONE, "%u", info.constant_bytes);
    columns_set(columns, 6, PAINT_NONE, "%u", info.instructions);
    columns_set(columns, 7, PAINT_NONE, "%u", info.parameter_count);
    columns_set(columns, 8, PAINT_NONE, "%u", threads);
    columns_set(columns, 9, tbs ? PAINT_NONE : PAINT_BAD, "%u", tbs);
    columns_set(columns, 10, PAINT_NONE, "%s", limit ? limit : "-");
    columns_set(columns, 11, PAINT_NONE, "%s", info.idempotence ? info.idempotence : "-");
}

static enum corun_status describe_module(const struct check_options *check, const struct corun_gpu_config *gpu,
                                         const struct corun_module *module, uint32_t lines)
{
    static const char *const titles[] = {"<kernel", "registers",  "<from",        "shared",
                                         "local",   "constant",   "instructions", "parameters",
                                         "threads", "TBs per SM", "<limited by",  "<can start again"};
    struct columns *columns = columns_create(check->command.arena, titles, sizeof titles / sizeof titles[0]);
    size_t count = corun_module_kernel_count(module);
    while (count && corun_kernel_line(corun_module_kernel_at(module, count - 1)) > lines)
        count--; /* one that CUDA's functions start */
    const char **symbols = ARENA_ARRAY(check->command.arena, const char *, count + 1);
    for (size_t i = 0; symbols && i < count; i++)
        symbols[i] = kernel_symbol(corun_module_kernel_at(module, i));
    const char *const *labels = symbols ? kernel_labels(check->command.arena, symbols, (uint32_t)count) : NULL;
    if (!labels)
        return CORUN_MEMORY;
    for (size_t i = 0; i < count; i++)
        describe_kernel(check, gpu, corun_module_kernel_at(module, i), labels[i], columns);
    printf("%s: %zu kernel%s; occupancy on %s\n\n", check->path, count, count == 1 ? "" : "s", gpu->name);
    struct report_style style = output_style(stdout);
    if (!columns_print(columns, &style, stdout))
        return CORUN_MEMORY;
    bool first = true;
    for (size_t i = 0; i < count; i++) {
        if (!strcmp(labels[i], symbols[i]))
            continue;
        printf("%s%s: %s\n", first ? "\nas `corun launch --kernel` takes them:\n" : "", labels[i], symbols[i]);
        first = false;
    }
    return CORUN_OK;
}

/* What a captured program asks for, counted. */
struct captured_sums {
    size_t streams, allocations, copies[CORUN_COPY_ENGINES], fills, waits;
    uint64_t copied_bytes[CORUN_COPY_ENGINES];
};

static struct captured_sums sum_up(const struct captured *captured)
{
    struct captured_sums sums = {0};
    for (size_t i = 0; i < captured->operations.count; i++) {
        const struct capture_operation *operation = &captured->operations.data[i];
        enum capture_kind kind = operation->kind;
        sums.streams += kind == CAPTURE_STREAM;
        sums.allocations += kind == CAPTURE_ALLOCATE || kind == CAPTURE_ALLOCATE_PAGES || kind == CAPTURE_ADOPT;
        sums.waits += kind == CAPTURE_AWAIT_STREAM || kind == CAPTURE_AWAIT_EVENT || kind == CAPTURE_AWAIT_ALL;
        if (kind != CAPTURE_TRANSFER)
            continue;
        if (operation->numbers[3]) {
            sums.fills++;
        } else {
            sums.copies[operation->numbers[1]]++;
            sums.copied_bytes[operation->numbers[1]] += operation->numbers[4];
        }
    }
    return sums;
}

static const char *shape_text(struct arena *arena, struct corun_dim3 dim)
{
    char text[64];
    int length = snprintf(text, sizeof text,
                          dim.z > 1   ? "%u x %u x %u"
                          : dim.y > 1 ? "%u x %u"
                                      : "%u",
                          dim.x, dim.y, dim.z);
    const char *kept = arena_copy_text(arena, text, (size_t)length);
    return kept ? kept : "";
}

static enum corun_status describe_captured(const struct check_options *check, const struct corun_gpu_config *gpu,
                                           const struct captured *captured)
{
    static const char *const titles[] = {"<kernel",   "launches", "<grid",      "<block",     "dynamic shared",
                                         "registers", "shared",   "TBs per SM", "<limited by"};
    struct captured_sums sums = sum_up(captured);
    struct columns *columns = columns_create(check->command.arena, titles, sizeof titles / sizeof titles[0]);
    const char **symbols = ARENA_ARRAY(check->command.arena, const char *, captured->groups.count + 1);
    for (size_t i = 0; symbols && i < captured->groups.count; i++)
        symbols[i] = kernel_symbol(captured->groups.data[i].kernel);
    const char *const *labels =
        symbols ? kernel_labels(check->command.arena, symbols, (uint32_t)captured->groups.count) : NULL;
    if (!labels)
        return CORUN_MEMORY;
    for (size_t i = 0; i < captured->groups.count; i++) {
        const struct corun_workload_launch *launch = &captured->groups.data[i];
        struct corun_kernel_info info;
        corun_kernel_describe(launch->kernel, &info);
        uint32_t threads = launch->block.x * launch->block.y * launch->block.z;
        const char *limit = NULL;
        uint32_t tbs = occupancy(gpu, &info, threads, launch->dynamic_shared_bytes, &limit);
        columns_row(columns);
        columns_set(columns, 0, PAINT_NONE, "%s", labels[i]);
        columns_set(columns, 1, PAINT_NONE, "%u", launch->launches);
        columns_set(columns, 2, PAINT_NONE, "%s", shape_text(check->command.arena, launch->grid));
        columns_set(columns, 3, PAINT_NONE, "%s", shape_text(check->command.arena, launch->block));
        columns_set(columns, 4, PAINT_NONE, "%u", launch->dynamic_shared_bytes);
        columns_set(columns, 5, PAINT_NONE, "%u",
                    launch_bounds_registers(gpu, info.registers_per_thread, &info.bounds));
        columns_set(columns, 6, PAINT_NONE, "%u", info.shared_bytes);
        columns_set(columns, 7, tbs ? PAINT_NONE : PAINT_BAD, "%u", tbs);
        columns_set(columns, 8, PAINT_NONE, "%s", limit ? limit : "-");
    }
    printf("%s: program %s, captured on %s; occupancy on %s\n", check->path, captured->program, captured->gpu,
           gpu->name);
    printf("launches: %zu, %zu different; streams: %zu; waits of the host: %zu\n", captured->launches.count,
           captured->shapes.count, sums.streams, sums.waits);
    char sizes[3][REPORT_SIZE_BYTES];
    printf("memory: %s in %zu pieces; results to compare: %u\n", report_size(captured->memory_bytes, sizes[0]),
           sums.allocations, captured->checks);
    printf("copies: %zu to the device (%s), %zu to the host (%s), %zu within the device (%s); fills: %zu\n",
           sums.copies[CORUN_COPY_TO_DEVICE], report_size(sums.copied_bytes[CORUN_COPY_TO_DEVICE], sizes[0]),
           sums.copies[CORUN_COPY_TO_HOST], report_size(sums.copied_bytes[CORUN_COPY_TO_HOST], sizes[1]),
           sums.copies[CORUN_COPY_WITHIN], report_size(sums.copied_bytes[CORUN_COPY_WITHIN], sizes[2]), sums.fills);
    printf("file: %s, %s unpacked\n\n", report_size(captured->file_bytes, sizes[0]),
           report_size(captured->bytes, sizes[1]));
    struct report_style style = output_style(stdout);
    return columns_print(columns, &style, stdout) ? CORUN_OK : CORUN_MEMORY;
}

static bool is_captured(const char *path)
{
    size_t length = strlen(path), end = strlen(CAPTURE_ENDING);
    return length > end && !strcmp(path + length - end, CAPTURE_ENDING);
}

/* With the functions that CUDA has for kernels, as `corun exec` links them: behind the last of the file's lines. */
static enum corun_status load_module(const char *path, const struct corun_gpu_config *gpu,
                                     struct corun_diagnostics *list, struct corun_module **module, uint32_t *lines)
{
    char *text, *whole = NULL;
    size_t bytes, whole_bytes;
    enum corun_status status = text_file_read(path, MOST_PTX_BYTES, list, &text, &bytes);
    if (status != CORUN_OK)
        return status;
    status = device_functions_append(gpu, text, bytes, &whole, &whole_bytes);
    *lines = whole ? 1 : UINT32_MAX;
    for (size_t i = 0; whole && i < bytes; i++)
        *lines += text[i] == '\n';
    free(text);
    if (status != CORUN_OK)
        return status;
    if (!whole)
        return corun_module_load_file(path, list, module);
    status = corun_module_load(path, whole, whole_bytes, list, module);
    free(whole);
    if (status == CORUN_OK)
        corun_module_take_log(*module, path);
    return status;
}

static enum corun_status run_check(void *user)
{
    const struct check_options *check = user;
    struct corun_diagnostics *list = check->command.list;
    struct corun_gpu_config gpu;
    char data[PATH_BYTES];
    uint32_t lines = 0;
    struct corun_module *module = NULL;
    struct captured *captured = NULL;
    enum corun_status status = corun_data_directory(data, sizeof data, list);
    if (status == CORUN_OK)
        status = corun_gpu_config_load(check->gpu, data, list, &gpu);
    if (status == CORUN_OK)
        status = is_captured(check->path) ? capture_load(check->path, 0, list, &captured)
                                          : load_module(check->path, &gpu, list, &module, &lines);
    if (status == CORUN_OK)
        status = captured ? describe_captured(check, &gpu, captured) : describe_module(check, &gpu, module, lines);
    capture_destroy(captured);
    if (module)
        corun_module_destroy(module);
    return status;
}

int command_check(int argc, char **argv)
{
    static const struct argp argp = {.options = options,
                                     .parser = parse_option,
                                     .args_doc = "FILE.ptx\nFILE" CAPTURE_ENDING,
                                     .doc = doc,
                                     .help_filter = command_help_filter};
    struct check_options check = {.gpu = DEFAULT_GPU};
    return command_perform(&check.command, &argp, argc, argv, run_check, &check);
}
