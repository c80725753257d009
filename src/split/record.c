/* SPDX-License-Identifier: MIT */
/* A line of JSON for each run, for `corun split` and for whoever collects runs. */
#include "split/engine.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static void write_text(FILE *file, const char *text)
{
    fputc('"', file);
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            fputc('\\', file);
        if (c < 0x20)
            fprintf(file, "\\u%04x", c);
        else
            fputc(c, file);
    }
    fputc('"', file);
}

static void write_device(FILE *file, const struct corun_split_device_result *device)
{
    fputs("{\"name\":", file);
    write_text(file, device->name);
    fprintf(file,
            ",\"iterations\":%llu,\"seconds\":%.9g,\"copy_seconds\":%.9g,\"setup_seconds\":%.9g,\"bytes_in\":%llu,"
            "\"bytes_out\":%llu,\"failure\":",
            (unsigned long long)device->iterations, device->seconds, device->copy_seconds, device->setup_seconds,
            (unsigned long long)device->bytes_in, (unsigned long long)device->bytes_out);
    if (device->failure)
        write_text(file, device->failure);
    else
        fputs("null", file);
    fputc('}', file);
}

static void write_step(FILE *file, const struct corun_split_step *step, uint32_t devices)
{
    fprintf(file, "{\"start\":%.9g,\"end\":%.9g,\"profiling\":%s,\"variance\":", step->start, step->end,
            step->profiling ? "true" : "false");
    if (step->variance < 0)
        fputs("null", file);
    else
        fprintf(file, "%.9g", step->variance);
    fputs(",\"parts\":[", file);
    for (uint32_t d = 0; d < devices; d++) {
        const struct corun_split_part *part = &step->part[d];
        fprintf(file,
                "%s{\"share\":%.9g,\"begin\":%llu,\"end\":%llu,\"done\":%llu,\"seconds\":%.9g,\"copy_seconds\":%.9g,"
                "\"bytes_in\":%llu,\"bytes_out\":%llu}",
                d ? "," : "", step->share[d], (unsigned long long)part->begin, (unsigned long long)part->end,
                (unsigned long long)part->done, part->seconds, part->copy_seconds, (unsigned long long)part->bytes_in,
                (unsigned long long)part->bytes_out);
    }
    fputs("]}", file);
}

/* Whether the machine's clock is in the times: run again, they would differ. */
static bool is_measured(const struct corun_split *split)
{
    return !split->result.deterministic && !(split->result.simulated && split->parameters.cpu_seconds > 0);
}

static void write_run(FILE *file, const struct corun_split *split)
{
    const struct corun_split_result *result = &split->result;
    fputs("{\"task\":", file);
    write_text(file, result->task);
    fputs(",\"strategy\":", file);
    write_text(file, result->strategy);
    fprintf(file,
            ",\"run\":%llu,\"clock\":\"%s\",\"measured\":%s,\"reused\":%s,\"drifted\":%s,\"iterations\":%llu,"
            "\"seconds\":%.9g,"
            "\"profiled\":%.9g,\"imbalance\":%.9g,\"deciding_seconds\":%.9g,\"devices\":[",
            (unsigned long long)result->run,
            result->deterministic ? "table"
            : result->simulated   ? "simulated"
                                  : "wall",
            is_measured(split) ? "true" : "false", result->reused ? "true" : "false",
            result->drifted ? "true" : "false", (unsigned long long)result->iterations, result->seconds,
            result->profiled, result->imbalance, result->deciding_seconds);
    for (uint32_t d = 0; d < result->device_count; d++) {
        fputs(d ? "," : "", file);
        write_device(file, &result->devices[d]);
    }
    fputs("],\"steps\":[", file);
    for (uint32_t i = 0; i < result->step_count; i++) {
        fputs(i ? "," : "", file);
        write_step(file, &result->steps[i], result->device_count);
    }
    fputs("]}\n", file);
}

enum corun_status record_run(const struct corun_split *split, struct corun_diagnostics *diagnostics)
{
    struct corun_place place = {split->record, 0, 0};
    if (!split->record)
        return CORUN_OK;
    FILE *file = fopen(split->record, "abe");
    if (!file)
        return corun_report(diagnostics, CORUN_FILE, place, "the record of a run cannot be written: %s",
                            strerror(errno));
    write_run(file, split);
    bool failed = ferror(file);
    if (fclose(file) || failed)
        return corun_report(diagnostics, CORUN_FILE, place, "the record of a run cannot be written");
    return CORUN_OK;
}
