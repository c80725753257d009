/* SPDX-License-Identifier: MIT */
/*
 * Writing a timeline: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU (Trace Event
 * Format), one event a line.
 *
 * Process 1 is the GPU: its thread 1 has the policy's moments, thread 99 the epochs, thread 100 * (SM + 1) + track the
 * thread blocks of that track, thread 100 * (SM + 1) + 99 the SM's owners and its power. Process 2 + a is application a;
 * its one thread has the launches. Every thread has slices that follow one another ("X", never overlapping) or instants
 * ("i"); counters ("C") belong to the process.
 *
 * Times are microseconds with three digits. Viewers make nanoseconds of them, some by cutting off: slices are therefore
 * written one nanosecond shorter than they were, so that one that follows at once never seems to overlap. Perfetto
 * tells threads by their number alone: no two processes have the same.
 */
#include "report/json_writer.h"
#include "report/kernel_labels.h"
#include "report/timeline_records.h"
#include "share/parameter_words.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define GPU_PROCESS 1u
#define POLICY_THREAD 1u
#define EPOCH_THREAD 99u
#define NAME_BYTES 200u

struct timeline_writer {
    struct timeline *timeline;
    const struct corun_case_result *result;
    FILE *stream;
    const char **kernels;                             /* names as they stand within quotation marks in JSON */
    const char *applications[CORUN_MAX_APPLICATIONS]; /* the same, each different from the others */
    const char **places; /* [application][kernel]: where it begins, as members of a JSON object behind others */
    bool any;
};

/* ---- pieces ---- */

/* The text between the quotation marks; NULL when out of memory. */
static const char *escape(struct arena *arena, const char *text)
{
    json_t *json = json_text(text);
    char *quoted = json ? json_dumps(json, JSON_ENCODE_ANY) : NULL;
    const char *inner = quoted ? arena_copy_text(arena, quoted + 1, strlen(quoted) - 2) : NULL;
    free(quoted);
    json_decref(json);
    return inner;
}

static uint32_t application_process(uint32_t application)
{
    return GPU_PROCESS + 1 + application;
}

static uint32_t track_thread(uint32_t sm, uint32_t track)
{
    return 100 * (sm + 1) + track;
}

static uint32_t state_thread(uint32_t sm)
{
    return track_thread(sm, 99); /* an SM has 64 tracks at most */
}

static uint64_t nanoseconds(const struct timeline_writer *writer, uint64_t cycle)
{
    return (uint64_t)((unsigned __int128)cycle * 1000000 / writer->timeline->settings.gpu->core_clock_khz);
}

static void put_time(const struct timeline_writer *writer, const char *key, uint64_t time)
{
    fprintf(writer->stream, ",\"%s\":%" PRIu64 ".%03" PRIu64, key, time / 1000, time % 1000);
}

static FILE *begin(struct timeline_writer *writer, char phase, uint32_t process)
{
    fprintf(writer->stream, "%s{\"ph\":\"%c\",\"pid\":%" PRIu32, writer->any ? ",\n" : "", phase, process);
    writer->any = true;
    return writer->stream;
}

/* A slice from `start` to `end`, as far as it lies in the range. False, and nothing is written, if it does not. */
static bool begin_slice(struct timeline_writer *writer, uint32_t process, uint32_t thread, uint64_t start, uint64_t end)
{
    const struct timeline_settings *settings = &writer->timeline->settings;
    if (start < settings->first_cycle)
        start = settings->first_cycle;
    if (end > settings->last_cycle && settings->last_cycle != UINT64_MAX)
        end = settings->last_cycle + 1;
    if (start >= end)
        return false;
    begin(writer, 'X', process);
    fprintf(writer->stream, ",\"tid\":%" PRIu32, thread);
    put_time(writer, "ts", nanoseconds(writer, start));
    uint64_t duration = nanoseconds(writer, end) - nanoseconds(writer, start);
    put_time(writer, "dur", duration ? duration - 1 : 0);
    return true;
}

static const char *how_it_ended(uint32_t how)
{
    static const char *const words[] = {[SLICE_COMPLETE] = "complete",
                                        [SLICE_STOPPED] = "stopped",
                                        [SLICE_UNFINISHED] = "unfinished",
                                        [SLICE_PREEMPTED] = "preempted"};
    return words[how];
}

/* ---- what there is: processes and threads ---- */

static void put_metadata(struct timeline_writer *writer, uint32_t process, uint32_t thread, const char *what,
                         const char *name, uint32_t sort_index)
{
    FILE *stream = begin(writer, 'M', process);
    fprintf(stream, ",\"tid\":%" PRIu32 ",\"name\":\"%s_name\",\"args\":{\"name\":\"%s\"}}", thread, what, name);
    stream = begin(writer, 'M', process);
    fprintf(stream, ",\"tid\":%" PRIu32 ",\"name\":\"%s_sort_index\",\"args\":{\"sort_index\":%" PRIu32 "}}", thread,
            what, sort_index);
}

static bool put_tracks(struct timeline_writer *writer)
{
    const struct timeline *timeline = writer->timeline;
    char name[NAME_BYTES];
    int length = snprintf(name, sizeof name, "%s", writer->result->gpu.name);
    if (timeline->tbs.count < timeline->tbs.seen && length > 0 && (size_t)length < sizeof name)
        snprintf(name + length, sizeof name - (size_t)length, " (shows %zu of %" PRIu64 " thread blocks)",
                 timeline->tbs.count, timeline->tbs.seen);
    const char *gpu = escape(timeline->arena, name);
    if (!gpu)
        return false;
    put_metadata(writer, GPU_PROCESS, POLICY_THREAD, "process", gpu, 0);
    put_metadata(writer, GPU_PROCESS, POLICY_THREAD, "thread", "policy", 0);
    if (timeline->epochs.count)
        put_metadata(writer, GPU_PROCESS, EPOCH_THREAD, "thread", "epochs", 1);
    for (uint32_t a = 0; a < writer->result->application_count; a++) {
        uint32_t process = application_process(a);
        put_metadata(writer, process, process, "process", writer->applications[a], process);
        put_metadata(writer, process, process, "thread", "kernel launches", 0);
    }
    for (uint32_t sm = 0; sm < timeline->sms; sm++) {
        if (timeline->state[sm].start != NO_CYCLE) { /* before its tracks */
            snprintf(name, sizeof name, "SM %" PRIu32 " is for", sm);
            put_metadata(writer, GPU_PROCESS, state_thread(sm), "thread", name, track_thread(sm, 0) - 1);
        }
        uint32_t tracks = timeline->tracks_used[sm] ? timeline->tracks_used[sm] : 1;
        for (uint32_t track = 0; track < tracks; track++) {
            if (track)
                snprintf(name, sizeof name, "SM %" PRIu32 " track %" PRIu32, sm, track);
            else
                snprintf(name, sizeof name, "SM %" PRIu32, sm);
            put_metadata(writer, GPU_PROCESS, track_thread(sm, track), "thread", name, track_thread(sm, track));
        }
    }
    return true;
}

/* ---- slices ---- */

static void put_launch(struct timeline_writer *writer, const struct launch_slice *launch)
{
    FILE *stream = writer->stream;
    uint32_t process = application_process(launch->application);
    uint64_t first = launch->first_tb == NO_CYCLE ? launch->end : launch->first_tb;
    uint32_t latency = writer->timeline->settings.gpu->dispatch_latency; /* a wait is what takes longer */
    if (first - launch->earliest > latency && begin_slice(writer, process, process, launch->earliest, first))
        fprintf(stream,
                ",\"name\":\"waiting\",\"cat\":\"wait\",\"args\":{\"kernel\":\"%s\",\"launch\":%" PRIu64
                ",\"start_cycle\":%" PRIu64 ",\"end_cycle\":%" PRIu64 "}}",
                writer->kernels[launch->name], launch->number, launch->earliest, first);
    if (begin_slice(writer, process, process, first, launch->end))
        fprintf(stream,
                ",\"name\":\"%s\",\"cat\":\"launch\",\"args\":{\"launch\":%" PRIu64 ",\"thread_blocks\":%" PRIu32
                ",\"threads_per_block\":%" PRIu32 ",\"start_cycle\":%" PRIu64 ",\"end_cycle\":%" PRIu64
                ",\"ended\":\"%s\"%s}}",
                writer->kernels[launch->name], launch->number, launch->tbs, launch->tb_threads, first, launch->end,
                how_it_ended(launch->how),
                writer->places[launch->application * writer->timeline->names.count + launch->name]);
}

static void put_tb(struct timeline_writer *writer, const struct tb_slice *tb)
{
    static const char *const before[] = {[TB_RUNS] = "", [TB_IS_SAVED] = "saving ", [TB_IS_RESTORED] = "restoring "};
    if (begin_slice(writer, GPU_PROCESS, track_thread(tb->sm, tb->track), tb->start, tb->end))
        fprintf(writer->stream,
                ",\"name\":\"%s%s\",\"cat\":\"%s\",\"args\":{\"application\":\"%s\",\"launch\":%" PRIu64
                ",\"thread_block\":%" PRIu32 ",\"start_cycle\":%" PRIu64 ",\"end_cycle\":%" PRIu64
                ",\"ended\":\"%s\"}}",
                before[tb->phase], writer->kernels[tb->name], tb->phase == TB_RUNS ? "thread block" : "preemption",
                writer->applications[tb->application], tb->launch, tb->tb, tb->start, tb->end, how_it_ended(tb->how));
}

static void put_state(struct timeline_writer *writer, const struct sm_slice *state)
{
    FILE *stream = writer->stream;
    if (!begin_slice(writer, GPU_PROCESS, state_thread(state->sm), state->start, state->end))
        return;
    fputs(",\"name\":\"", stream);
    if (state->off)
        fputs("switched off", stream);
    else if (!state->applications)
        fputs("nobody", stream);
    for (uint32_t a = 0, any = 0; a < writer->result->application_count && !state->off; a++) {
        if (state->applications >> a & 1u)
            fprintf(stream, "%s%s", any++ ? " + " : "", writer->applications[a]);
    }
    fprintf(stream,
            "\",\"cat\":\"%s\",\"args\":{\"sm\":%" PRIu32 ",\"start_cycle\":%" PRIu64 ",\"end_cycle\":%" PRIu64 "}}",
            state->off ? "power" : "owner", state->sm, state->start, state->end);
}

/* Numbers count from 1, also those that are not shown. */
static void put_epoch(struct timeline_writer *writer, const struct epoch_slice *epoch)
{
    uint64_t number = epoch->start / writer->timeline->settings.gpu->epoch_cycles + 1;
    if (begin_slice(writer, GPU_PROCESS, EPOCH_THREAD, epoch->start, epoch->end))
        fprintf(writer->stream,
                ",\"name\":\"epoch %" PRIu64 "\",\"cat\":\"epoch\",\"args\":{\"epoch\":%" PRIu64
                ",\"start_cycle\":%" PRIu64 ",\"end_cycle\":%" PRIu64 ",\"ended\":\"%s\"}}",
                number, number, epoch->start, epoch->end,
                how_it_ended(epoch->complete ? SLICE_COMPLETE : SLICE_UNFINISHED));
}

/* ---- moments ---- */

static void put_allowance(const struct timeline_writer *writer, uint32_t application, const struct allowance *allowance)
{
    FILE *stream = writer->stream;
    fprintf(stream, "%s\"%s: %" PRIu32 " SMs", application ? "," : "", writer->applications[application],
            allowance->sms);
    if (!allowance->sms)
        fputc('"', stream);
    else if (allowance->lowest == CORUN_UNLIMITED)
        fputs(", as many thread blocks as fit\"", stream);
    else if (allowance->highest == CORUN_UNLIMITED)
        fprintf(stream, ", %" PRIu32 " thread blocks each or more\"", allowance->lowest);
    else if (allowance->lowest == allowance->highest)
        fprintf(stream, ", %" PRIu32 " thread blocks each\"", allowance->lowest);
    else
        fprintf(stream, ", %" PRIu32 " to %" PRIu32 " thread blocks each\"", allowance->lowest, allowance->highest);
}

static void put_moment(struct timeline_writer *writer, const struct moment *moment)
{
    static const struct {
        const char *name;
        bool of_application, of_sm;
    } words[] = {
        [CORUN_EVENT_ARRIVE] = {"arrives", true, false},
        [CORUN_EVENT_LEAVE] = {"leaves", true, false},
        [CORUN_EVENT_KERNEL_START] = {"launches a kernel", true, false},
        [CORUN_EVENT_RUN_COMPLETE] = {"has completed a run", true, false},
        [CORUN_EVENT_EPOCH] = {"an epoch has ended", false, false},
        [CORUN_EVENT_QUOTAS_SPENT] = {"quotas are spent", false, true},
        [CORUN_EVENT_LIMIT_REACHED] = {"is back under its limit", true, true},
        [CORUN_EVENT_TB_COMPLETE] = {"has completed a thread block", true, true},
    };
    bool of_application = words[moment->event].of_application, of_sm = words[moment->event].of_sm;
    FILE *stream = begin(writer, 'i', GPU_PROCESS);
    bool on_sm = moment->event == CORUN_EVENT_QUOTAS_SPENT && writer->timeline->state[moment->sm].start != NO_CYCLE;
    fprintf(stream, ",\"tid\":%" PRIu32 ",\"s\":\"t\"", on_sm ? state_thread(moment->sm) : POLICY_THREAD);
    put_time(writer, "ts", nanoseconds(writer, moment->cycle));
    fprintf(stream, ",\"name\":\"%s%s%s%s\",\"cat\":\"%s\",\"args\":{\"cycle\":%" PRIu64,
            moment->changed ? "new allowances: " : "", of_application ? writer->applications[moment->application] : "",
            of_application ? " " : "", words[moment->event].name, moment->changed ? "allowances" : "moment",
            moment->cycle);
    if (of_sm)
        fprintf(stream, ",\"sm\":%" PRIu32, moment->sm);
    if (moment->changed) {
        fprintf(stream, ",\"exclusive_sms\":%" PRIu32 ",\"allowances\":[", moment->exclusive_sms);
        for (uint32_t a = 0; a < writer->result->application_count; a++)
            put_allowance(writer, a, &moment->allowances[a]);
        fputc(']', stream);
    }
    fputs("}}", stream);
}

/* ---- counters ---- */

static void put_counter(struct timeline_writer *writer, uint32_t process, uint64_t cycle, const char *name,
                        const char *series, double value)
{
    if (cycle < writer->timeline->settings.first_cycle)
        cycle = writer->timeline->settings.first_cycle;
    begin(writer, 'C', process);
    put_time(writer, "ts", nanoseconds(writer, cycle));
    fprintf(writer->stream, ",\"name\":\"%s\",\"args\":{\"%s\":%.3f}}", name, series, value);
}

/* A part in percent of what may be nothing. */
static double percent(uint64_t part, uint64_t whole)
{
    return part < whole ? 100 * (double)part / (double)whole : whole ? 100 : 0;
}

/* Each where it changes. A value that is not known leaves the one before standing. */
static void put_variables(struct timeline_writer *writer)
{
    const struct timeline *timeline = writer->timeline;
    const struct corun_policy *policy = timeline->settings.policy;
    const struct variables_sample *before = NULL;
    for (size_t i = 0; i < timeline->variables.count; i++) {
        const struct variables_sample *sample = series_at(&timeline->variables, i);
        for (uint32_t v = 0; v < policy->variable_count; v++) {
            bool same = before && sample->values[v] == before->values[v];
            if (isfinite(sample->values[v]) && !same)
                put_counter(writer, GPU_PROCESS, sample->cycle, policy->variables[v].name, "value", sample->values[v]);
        }
        before = sample;
    }
}

/* From this sample to the next one; the last one has none. */
static void put_sample(struct timeline_writer *writer, const struct timeline_sample *sample,
                       const struct timeline_sample *next)
{
    const struct corun_memory_result *now = &sample->memory, *then = &next->memory;
    if (sample->cycle > writer->timeline->settings.last_cycle)
        return;
    put_counter(writer, GPU_PROCESS, sample->cycle, "DRAM utilisation", "%",
                percent(then->dram_busy_cycles - now->dram_busy_cycles, then->dram_cycles - now->dram_cycles));
    put_counter(writer, GPU_PROCESS, sample->cycle, "interconnect utilisation", "%",
                percent(then->icnt_busy_cycles - now->icnt_busy_cycles, then->icnt_cycles - now->icnt_cycles));
    if (writer->timeline->any_off)
        put_counter(writer, GPU_PROCESS, sample->cycle, "SMs with power", "SMs", sample->powered_sms);
    for (uint32_t a = 0; a < writer->result->application_count; a++) {
        const struct application_sample *application = &sample->applications[a];
        uint32_t process = application_process(a);
        double cycles = (double)(next->cycle - sample->cycle);
        /* below zero where more work was dropped than done */
        double instructions =
            (double)(int64_t)(next->applications[a].thread_instructions - application->thread_instructions);
        double tb_cycles = (double)(next->applications[a].tb_cycles - application->tb_cycles);
        put_counter(writer, process, sample->cycle, "IPC", "thread instructions per cycle", instructions / cycles);
        put_counter(writer, process, sample->cycle, "SMs", "in use", (double)application->sms);
        put_counter(writer, process, sample->cycle, "thread blocks", "resident", tb_cycles / cycles);
    }
}

static void put_samples(struct timeline_writer *writer)
{
    const struct timeline *timeline = writer->timeline;
    for (size_t i = 0; i < timeline->samples.count; i++) {
        const struct timeline_sample *sample = series_at(&timeline->samples, i);
        const struct timeline_sample *next =
            i + 1 < timeline->samples.count ? series_at(&timeline->samples, i + 1) : timeline->sample;
        if (next->cycle > sample->cycle)
            put_sample(writer, sample, next);
    }
}

/* ---- the whole ---- */

static void put_left_out(FILE *stream, const char *name, const struct series *series)
{
    fprintf(stream, ",\n\"%s\":%" PRIu64 ",\"%s_left_out\":%" PRIu64, name, series->seen, name,
            series->seen - series->count);
}

static void put_head(const struct timeline_writer *writer, const char *gpu, const char *policy)
{
    const struct timeline *timeline = writer->timeline;
    const struct timeline_settings *settings = &timeline->settings;
    const struct corun_case_result *result = writer->result;
    FILE *stream = writer->stream;
    fprintf(stream,
            "{\"displayTimeUnit\":\"ns\",\n\"otherData\":{\"producer\":\"corun\",\"gpu\":\"%s\",\"policy\":\"%s", gpu,
            policy);
    for (uint32_t p = 0; p < result->parameter_count;) {
        struct parameter_group group = parameter_group_at(result->parameters, result->parameter_count, p);
        char text[PARAMETER_TEXT_BYTES];
        parameter_group_text(result->parameters, &group, result->parameter_values, text, sizeof text);
        fprintf(stream, "%c%.*s=%s", p ? ',' : ':', (int)group.name_length, result->parameters[p].name, text);
        p += group.count;
    }
    fprintf(stream,
            "\",\"seed\":%" PRIu64 ",\"cycles\":%" PRIu64 ",\"interrupted\":%s,\"core_clock_khz\":%" PRIu32
            ",\"first_cycle\":%" PRIu64 ",\"last_cycle\":%" PRIu64,
            result->seed, result->cycles, result->interrupted ? "true" : "false", settings->gpu->core_clock_khz,
            settings->first_cycle, settings->last_cycle < result->cycles ? settings->last_cycle : result->cycles);
    put_left_out(stream, "thread_blocks", &timeline->tbs);
    put_left_out(stream, "launches", &timeline->launches);
    put_left_out(stream, "moments", &timeline->moments);
    put_left_out(stream, "epochs", &timeline->epochs);
    put_left_out(stream, "samples", &timeline->samples);
    put_left_out(stream, "states", &timeline->states);
    put_left_out(stream, "variables", &timeline->variables);
    fputs("},\n\"traceEvents\":[\n", stream);
}

/* The same workload may be there twice. */
static const char *application_name(struct arena *arena, const struct corun_case_result *result, uint32_t index)
{
    const struct corun_case_application_result *rows = result->applications, *row = &rows[index];
    uint32_t before = 0;
    for (uint32_t a = 0; a < index; a++)
        before += !strcmp(rows[a].name, row->name) && !strcmp(rows[a].size, row->size);
    const char *name = arena_format(arena, "%s%s%s", row->name, row->size[0] ? "@" : "", row->size);
    if (name && before)
        name = arena_format(arena, "%s (%u)", name, before + 1);
    return name ? escape(arena, name) : NULL;
}

/*
 * Where a kernel begins, by its name. Of several with one name, in several modules of a captured program, the launch does not say which it
 * was. NULL when out of memory.
 */
static const char *place_of(struct arena *arena, const struct corun_case_application_result *application,
                            const char *name)
{
    const struct corun_case_kernel *found = NULL;
    for (uint32_t k = 0; k < application->kernel_count; k++) {
        if (strcmp(application->kernels[k].result.name, name) != 0)
            continue;
        if (found)
            return "";
        found = &application->kernels[k];
    }
    if (!found || !*found->ptx)
        return "";
    const char *ptx = escape(arena, found->ptx), *source = escape(arena, found->source);
    if (!ptx || !source)
        return NULL;
    return *source ? arena_format(arena, ",\"PTX\":\"%s\",\"source\":\"%s\"", ptx, source)
                   : arena_format(arena, ",\"PTX\":\"%s\"", ptx);
}

static bool make_places(struct timeline_writer *writer)
{
    const struct timeline *timeline = writer->timeline;
    size_t kernels = timeline->names.count, count = kernels * writer->result->application_count;
    writer->places = ARENA_ARRAY(timeline->arena, const char *, count + 1);
    for (size_t i = 0; writer->places && i < count; i++) {
        writer->places[i] =
            place_of(timeline->arena, &writer->result->applications[i / kernels], timeline->names.data[i % kernels]);
        if (!writer->places[i])
            return false;
    }
    return writer->places;
}

static bool make_names(struct timeline_writer *writer)
{
    struct timeline *timeline = writer->timeline;
    bool fine = true;
    const char *const *labels = kernel_labels(timeline->arena, timeline->names.data, (uint32_t)timeline->names.count);
    writer->kernels = labels ? ARENA_ARRAY(timeline->arena, const char *, timeline->names.count + 1) : NULL;
    for (size_t i = 0; writer->kernels && i < timeline->names.count; i++) {
        writer->kernels[i] = escape(timeline->arena, labels[i]);
        fine = fine && writer->kernels[i];
    }
    for (uint32_t a = 0; a < writer->result->application_count; a++) {
        writer->applications[a] = application_name(timeline->arena, writer->result, a);
        fine = fine && writer->applications[a];
    }
    return fine && writer->kernels;
}

enum corun_status timeline_write(struct timeline *timeline, const struct corun_case_result *result, FILE *stream)
{
    struct timeline_writer writer = {.timeline = timeline, .result = result, .stream = stream};
    timeline_close(timeline);
    const char *gpu = escape(timeline->arena, result->gpu.name), *policy = escape(timeline->arena, result->policy);
    if (timeline->failed || !gpu || !policy || !make_names(&writer) || !make_places(&writer))
        return CORUN_MEMORY;
    put_head(&writer, gpu, policy);
    if (!put_tracks(&writer))
        return CORUN_MEMORY;
    for (size_t i = 0; i < timeline->launches.count; i++)
        put_launch(&writer, series_at(&timeline->launches, i));
    for (size_t i = 0; i < timeline->moments.count; i++)
        put_moment(&writer, series_at(&timeline->moments, i));
    for (size_t i = 0; i < timeline->epochs.count; i++)
        put_epoch(&writer, series_at(&timeline->epochs, i));
    for (size_t i = 0; i < timeline->tbs.count; i++)
        put_tb(&writer, series_at(&timeline->tbs, i));
    for (size_t i = 0; i < timeline->states.count; i++)
        put_state(&writer, series_at(&timeline->states, i));
    put_variables(&writer);
    put_samples(&writer);
    fputs("\n]}\n", stream);
    return CORUN_OK;
}
