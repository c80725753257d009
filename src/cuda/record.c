/* SPDX-License-Identifier: MIT */
/*
 * What a process launched and copied, as lines of a file that `corun exec` makes its table from. A line is written when
 * it has ended, so nothing is lost if the program ends otherwise than it meant to. The first line says whether all of
 * them could be written: it is changed in place, which needs no room on a full disk.
 */
#include "cuda/record.h"

#include "base/launch_bounds.h"
#include "cuda/console.h"
#include "cuda/copy.h"
#include "cuda/device.h"
#include "cuda/module.h"
#include "cuda/own_file.h"
#include "cuda/process.h"
#include "cuda/settings.h"
#include "cuda/stream.h"
#include "cuda/task.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char whole[] = "record\twhole\n", cut[] = "record\tcut  \n";

struct record {
    FILE *file;
    bool failed;
};

/* After each line; what cannot be written is said once. */
static void check(struct record *record)
{
    if (record->failed || !ferror(record->file))
        return;
    record->failed = true;
    say("what the program launches cannot be recorded: %s", strerror(errno));
    (void)!pwrite(fileno(record->file), cut, sizeof cut - 1, 0);
}

static FILE *open_file(const char *folder, char *path, size_t bytes)
{
    int descriptor = own_file_create(folder, path, bytes);
    FILE *file = descriptor < 0 ? NULL : fdopen(descriptor, "w");
    if (!file && descriptor >= 0)
        close(descriptor);
    if (!file)
        return NULL;
    setvbuf(file, NULL, _IOLBF, 1 << 16);
    fputs(whole, file);
    return file;
}

struct record *record_open(const struct process *process)
{
    const char *folder = getenv(setting_RECORD);
    struct record *record = folder && *folder ? calloc(1, sizeof *record) : NULL;
    if (!record)
        return NULL;
    char path[4096];
    record->file = open_file(folder, path, sizeof path);
    if (!record->file) {
        say("what the program launches cannot be recorded in %s: %s", path, strerror(errno));
        free(record);
        return NULL;
    }
    for (uint32_t i = 0; i < process->device_count; i++)
        fprintf(record->file, "device\t%" PRIu32 "\t%s\t%" PRIu32 "\t%d\t%" PRIu32 "\n", i,
                process->devices[i].config.name, process->devices[i].config.core_clock_khz, !process->functional,
                process->devices[i].config.profiled_launch_cycles);
    check(record);
    return record;
}

/* Tabs and ends of lines would be those of the record. */
static void put_words(FILE *file, const char *text)
{
    for (; *text; text++)
        fputc((unsigned char)*text < ' ' ? ' ' : *text, file);
}

/* Once for each kernel: where it begins. */
static void record_place(FILE *file, struct function *function, const char *name)
{
    char source[CORUN_SOURCE_LINE_BYTES];
    uint32_t line = corun_kernel_line(function->kernel);
    if (function->placed)
        return;
    function->placed = true;
    fprintf(file, "place\t%s\t", name);
    put_words(file, function->module->name ? function->module->name : "");
    fprintf(file, ":%" PRIu32 "\t", line);
    put_words(file, corun_module_source_line(function->module->code, line, source));
    fputc('\n', file);
}

void record_launch(struct process *process, const struct device *device, const struct task *task,
                   const struct corun_grid *grid, const struct corun_counters *counters)
{
    if (!process->record)
        return;
    const struct launch_request *request = &task->launch.request;
    struct corun_kernel_info info;
    corun_kernel_describe(request->function->kernel, &info);
    FILE *file = process->record->file;
    record_place(file, request->function, info.name);
    fprintf(file, "launch\t%" PRIu32 "\t%" PRIu64 "\t%s", device->ordinal, task->stream->id, info.name);
    fprintf(file, "\t%u,%u,%u\t%u,%u,%u", request->grid.x, request->grid.y, request->grid.z, request->block.x,
            request->block.y, request->block.z);
    fprintf(file, "\t%u\t%u\t%u", launch_bounds_registers(&device->config, info.registers_per_thread, &info.bounds),
            info.shared_bytes, request->dynamic_shared_bytes);
    fprintf(file, "\t%" PRIu64 "\t%" PRIu64, task->queued.start_cycle, task->queued.end_cycle);
    if (task->launch.untimed)
        fputs("\tuntimed", file);
    if (task->launch.estimated)
        fputs("\testimated", file);
    size_t count;
    const struct corun_counter_row *rows = corun_counter_rows(&count);
    for (size_t i = 0; i < count; i++) {
        uint64_t value = *(const uint64_t *)((const char *)counters + rows[i].offset);
        if (value)
            fprintf(file, "\t%s=%" PRIu64, rows[i].name, value);
    }
    fputc('\n', file);
    check(process->record);
    (void)grid;
}

void record_copy(struct process *process, const struct device *device, const struct task *task)
{
    if (!process->record)
        return;
    const char *kind = "fill";
    uint64_t bytes;
    if (task->kind == TASK_COPY) {
        static const char *const kinds[] = {"to_device", "to_host", "within"};
        kind = kinds[task->copy.engine];
        bytes = copy_bytes(&task->copy);
    } else {
        bytes = task->fill.width_bytes * task->fill.height * task->fill.depth;
    }
    fprintf(process->record->file, "copy\t%" PRIu32 "\t%" PRIu64 "\t%s\t%" PRIu64 "\t%s\t%" PRIu64 "\t%" PRIu64 "\n",
            device->ordinal, task->stream->id, kind, bytes,
            task->kind == TASK_COPY && task->copy.pageable ? "pageable" : "pinned", task->queued.start_cycle,
            task->queued.end_cycle);
    check(process->record);
}

void record_sampled(struct process *process, const struct device *device)
{
    const struct stream_machine *machine = &device->scheduler.machine;
    if (!process->record || !process->samples || !machine->operations)
        return;
    size_t count = corun_gpu_sampled(machine->machine, NULL, 0);
    struct corun_sampled_group *groups = calloc(count + 1, sizeof *groups);
    if (groups)
        corun_gpu_sampled(machine->machine, groups, count);
    for (size_t i = 0; groups && i < count; i++)
        fprintf(process->record->file,
                "sampled\t%" PRIu32 "\t%s\t%" PRIu32 "\t%" PRIu32 "\t%" PRIu32 "\t%" PRIu32 "\t%" PRIu32 "\t%" PRIu64
                "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\n",
                device->ordinal, groups[i].name, groups[i].tb_count, groups[i].tb_threads, groups[i].launches,
                groups[i].timed, groups[i].parted, groups[i].cycles, groups[i].estimated_cycles,
                groups[i].margin_cycles, groups[i].warp_instructions, groups[i].timed_warp_instructions);
    free(groups);
    check(process->record);
}

void record_profile(struct process *process, const struct device *device, const char *kernel,
                    const struct corun_profile_line *line)
{
    if (!process->record)
        return;
    FILE *file = process->record->file;
    const struct corun_profile_row *row = &line->counts;
    fprintf(file, "profile\t%" PRIu32 "\t%s\t%" PRIu32 "\t", device->ordinal, kernel, line->line);
    put_words(file, line->source);
    fprintf(file,
            "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64
            "\t",
            row->warp_instructions, row->thread_instructions, row->stall_data, row->stall_memory_data,
            row->stall_pipeline, row->stall_memory, row->stall_barrier, row->stall_other);
    put_words(file, line->text);
    fputc('\n', file);
    check(process->record);
}

void record_refusal(struct process *process, const char *kernel, const char *reason)
{
    if (!process->record)
        return;
    FILE *file = process->record->file;
    fputs("refusal\t", file);
    put_words(file, kernel);
    fputc('\t', file);
    put_words(file, reason);
    fputc('\n', file);
    check(process->record);
}

void record_close(struct record *record)
{
    if (!record)
        return;
    fclose(record->file);
    free(record);
}
