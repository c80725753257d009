/* SPDX-License-Identifier: MIT */
/* Queues that were served as JSON (docs/json.md), and their slices as a trace. */
#include "report/queue_report.h"

#include "report/json_writer.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

static json_t *json_kernel(struct json_writer *writer, const struct serve_result *result, uint32_t number)
{
    const struct serve_kernel_result *kernel = &result->kernels[number];
    const struct corun_queue_profile *profile = &kernel->profile;
    json_t *row = json_object();
    json_put(writer, row, "name", json_text(kernel->name));
    json_put(writer, row, "workload", json_text(kernel->workload));
    json_put(writer, row, "size", json_text(kernel->size));
    json_put(writer, row, "kernel", json_text(kernel->function));
    json_put(writer, row, "tbs", json_count(profile->tbs));
    json_put(writer, row, "tbs_per_sm", json_count(profile->tbs_per_sm));
    json_put(writer, row, "fills", json_number(serve_fills(result, number)));
    json_put(writer, row, "tb_warps", json_count(profile->tb_warps));
    json_put(writer, row, "tb_instructions", json_number(profile->tb_instructions));
    json_put(writer, row, "memory_share", json_number(profile->memory_share));
    json_put(writer, row, "uncoalesced_share", json_number(profile->uncoalesced_share));
    json_put(writer, row, "ipc", json_number(profile->ipc));
    json_put(writer, row, "pipeline_utilization", json_number(profile->pipeline_utilization));
    json_put(writer, row, "memory_utilization", json_number(profile->memory_utilization));
    json_put(writer, row, "smallest_slice", json_count(profile->smallest_slice));
    json_put(writer, row, "alone_ticks", json_count(profile->alone_ticks));
    return row;
}

static json_t *json_beside(struct json_writer *writer, const struct serve_result *result,
                           const struct queue_run_kind_result *kind)
{
    json_t *object = json_object();
    for (uint32_t k = 0; k <= result->kernel_count; k++) {
        if (kind->beside[k])
            json_put(writer, object, k < result->kernel_count ? result->kernels[k].name : "(alone)",
                     json_count(kind->beside[k]));
    }
    return object;
}

static json_t *json_run(struct json_writer *writer, const struct serve_result *result, const struct serve_run *run)
{
    const struct queue_run_result *of = run->result;
    json_t *row = json_object(), *kernels = json_array();
    json_put(writer, row, "scheduler", json_text(run->scheduler));
    json_put(writer, row, "makespan_ticks", json_count(of->makespan_ticks));
    json_put(writer, row, "busy_ticks", json_count(of->busy_ticks));
    json_put(writer, row, "copy_ticks", json_count(of->copy_ticks));
    json_put(writer, row, "overlapped_copy_ticks", json_count(of->overlapped_copy_ticks));
    json_put(writer, row, "bytes_in", json_count(of->bytes_in));
    json_put(writer, row, "bytes_out", json_count(of->bytes_out));
    json_put(writer, row, "warp_instructions", json_number(of->warp_instructions));
    json_put(writer, row, "most_pending", json_count(of->most_pending));
    json_put(writer, row, "plans", json_count(of->costs.plans));
    json_put(writer, row, "slices", json_count(of->costs.slices));
    json_put(writer, row, "planning_seconds", json_number(of->costs.seconds));
    json_put(writer, row, "longest_plan_seconds", json_number(of->costs.longest_seconds));
    json_put(writer, row, "queue_bytes", json_count(of->costs.bytes));
    for (uint32_t k = 0; k < result->kernel_count; k++) {
        const struct queue_run_kind_result *kind = &of->kinds[k];
        json_t *item = json_object();
        json_put(writer, item, "name", json_text(result->kernels[k].name));
        json_put(writer, item, "launches", json_count(kind->launches));
        json_put(writer, item, "slices", json_count(kind->slices));
        json_put(writer, item, "mean_response_ticks", json_number(kind->mean_response_ticks));
        json_put(writer, item, "p99_response_ticks", json_count(kind->p99_response_ticks));
        json_put(writer, item, "mean_wait_ticks", json_number(kind->mean_wait_ticks));
        json_put(writer, item, "beside_ticks", json_beside(writer, result, kind));
        json_push(writer, kernels, item);
    }
    json_put(writer, row, "kernels", kernels);
    return row;
}

static json_t *json_pair(struct json_writer *writer, const struct serve_result *result, const struct serve_pair *pair)
{
    json_t *row = json_object();
    const char *const names[] = {"kernels", "residents", "predicted_ipc", "measured_ipc"};
    for (int n = 0; n < 4; n++) {
        json_t *both = json_array();
        for (int i = 0; i < 2; i++)
            json_push(writer, both,
                      n == 0   ? json_text(result->kernels[pair->kernels[i]].name)
                      : n == 1 ? json_count(pair->residents[i])
                               : json_number(n == 2 ? pair->predicted_ipc[i] : pair->measured_ipc[i]));
        json_put(writer, row, names[n], both);
    }
    json_put(writer, row, "balanced", json_boolean(pair->balanced));
    json_put(writer, row, "predicted_profit", json_number(pair->predicted_profit));
    json_put(writer, row, "measured_profit", json_number(pair->measured_profit));
    return row;
}

enum corun_status queue_json(const struct serve_result *result, FILE *stream)
{
    struct json_writer writer = {0};
    json_t *object = json_object(), *kernels = json_array(), *runs = json_array(), *pairs = json_array();
    json_put(&writer, object, "gpu", json_text(result->gpu.name));
    json_put(&writer, object, "model_version", json_count(CORUN_MODEL_VERSION));
    json_put(&writer, object, "ticks_per_second", json_count((uint64_t)result->device.clock_khz * 1000));
    json_put(&writer, object, "launch_ticks", json_count(result->device.launch_ticks));
    json_put(&writer, object, "instances", json_count(result->load.instances));
    json_put(&writer, object, "rate_per_second", json_number(result->load.rate_per_second));
    json_put(&writer, object, "seed", json_seed(result->seed));
    json_put(&writer, object, "slicing_cost", json_number(result->slicing_cost));
    json_put(&writer, object, "profile", json_text(result->sampled ? "sample" : "counters"));
    json_put(&writer, object, "simulated", json_text(result->driven ? "driver" : result->full ? "cycles" : "events"));
    json_put(&writer, object, "transfers",
             json_text(!result->transfers ? "none"
                       : result->overlap  ? "overlap"
                                          : "apart"));
    json_put(&writer, object, "interrupted", json_boolean(result->interrupted));
    for (uint32_t k = 0; k < result->kernel_count; k++) {
        json_t *row = json_kernel(&writer, result, k);
        json_put(&writer, row, "predicted_ipc", result->pairs ? json_number(result->predicted_alone[k]) : json_null());
        json_put(&writer, row, "sliced_ipc", result->pairs ? json_number(result->measured_alone[k]) : json_null());
        json_push(&writer, kernels, row);
    }
    for (uint32_t i = 0; result->pairs && i < result->pair_count; i++)
        json_push(&writer, pairs, json_pair(&writer, result, &result->pairs[i]));
    for (uint32_t i = 0; i < result->run_count; i++)
        json_push(&writer, runs, json_run(&writer, result, &result->runs[i]));
    json_put(&writer, object, "kernels", kernels);
    json_put(&writer, object, "pairs", pairs);
    json_put(&writer, object, "runs", runs);
    return json_write(&writer, object, stream);
}

void queue_timeline_slice(void *user, uint32_t scheduler, uint64_t begin, uint64_t end, size_t submission,
                          const struct queue_slice *slice)
{
    struct queue_timeline *timeline = user;
    const struct queue_span span = {.begin = begin,
                                    .end = end,
                                    .scheduler = scheduler,
                                    .kind = slice->kind,
                                    .strand = slice->strand,
                                    .first = slice->first,
                                    .tbs = slice->tbs,
                                    .submission = submission};
    if (timeline->spans.count >= timeline->limit)
        timeline->left_out++;
    else if (!vector_push(&timeline->spans, span))
        timeline->failed = true;
}

static void write_name(const struct serve_result *result, uint32_t scheduler, FILE *stream)
{
    json_t *name = json_text(result->runs[scheduler].scheduler);
    char *text = name ? json_dumps(name, JSON_ENCODE_ANY) : NULL;
    fprintf(stream, "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%u,\"args\":{\"name\":%s}}", scheduler + 1,
            text ? text : "\"\"");
    free(text);
    json_decref(name);
}

/* By scheduler and strand, and as they began. */
static int compare_spans(const void *left, const void *right)
{
    const struct queue_span *a = *(const struct queue_span *const *)left, *b = *(const struct queue_span *const *)right;
    const uint64_t pairs[][2] = {{a->scheduler, b->scheduler},   {a->strand, b->strand},
                                 {a->begin, b->begin},           {a->end, b->end},
                                 {a->submission, b->submission}, {a->first, b->first}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (pairs[i][0] != pairs[i][1])
            return pairs[i][0] < pairs[i][1] ? -1 : 1;
    return 0;
}

/* Rounded before they are subtracted: what begins where something ends begins there in the trace, too. */
static uint64_t nanoseconds(const struct serve_result *result, uint64_t ticks)
{
    return (uint64_t)llround((double)ticks * 1e6 / result->device.clock_khz);
}

static void write_span(const struct serve_result *result, const struct queue_span *span, uint32_t track, FILE *stream)
{
    uint64_t begin = nanoseconds(result, span->begin), length = nanoseconds(result, span->end) - begin;
    fprintf(stream,
            ",\n{\"ph\":\"X\",\"name\":\"%s\",\"pid\":%u,\"tid\":%u,\"ts\":%" PRIu64 ".%03" PRIu64 ",\"dur\":%" PRIu64
            ".%03" PRIu64 ",\"args\":{\"launch\":%zu,\"first\":%u,\"tbs\":%u}}",
            result->kernels[span->kind].function, span->scheduler + 1, track, begin / 1000, begin % 1000, length / 1000,
            length % 1000, span->submission, span->first, span->tbs);
}

/*
 * Viewers want the slices of a track one after the other, and a strand may have several in flight: each takes the first of the strand's tracks
 * whose last one has ended. `ends` has room for as many tracks as there are spans.
 */
static void write_spans(const struct serve_result *result, const struct queue_span *const *spans, size_t count,
                        uint64_t *ends, FILE *stream)
{
    uint32_t first = 1, tracks = 0;
    for (size_t i = 0; i < count; i++) {
        const struct queue_span *span = spans[i], *before = i ? spans[i - 1] : NULL;
        uint32_t lane = 0;
        if (before && (before->scheduler != span->scheduler || before->strand != span->strand)) {
            first = before->scheduler == span->scheduler ? first + tracks : 1;
            tracks = 0;
        }
        while (lane < tracks && ends[lane] > span->begin)
            lane++;
        if (lane == tracks) {
            fprintf(stream,
                    ",\n{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%u,\"tid\":%u,\"args\":{\"name\":\"strand "
                    "%u track %u\"}}",
                    span->scheduler + 1, first + lane, span->strand, lane);
            tracks++;
        }
        ends[lane] = span->end;
        write_span(result, span, first + lane, stream);
    }
}

bool queue_timeline_write(const struct queue_timeline *timeline, const struct serve_result *result, FILE *stream)
{
    size_t count = timeline->spans.count;
    const struct queue_span **spans = malloc((count + 1) * sizeof *spans);
    uint64_t *ends = malloc((count + 1) * sizeof *ends);
    bool room = spans && ends;
    if (room) {
        fprintf(stream, "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n");
        for (uint32_t i = 0; i < result->run_count; i++) {
            fputs(i ? ",\n" : "", stream);
            write_name(result, i, stream);
        }
        for (size_t i = 0; i < count; i++)
            spans[i] = &timeline->spans.data[i];
        qsort(spans, count, sizeof *spans, compare_spans);
        write_spans(result, spans, count, ends, stream);
        fprintf(stream, "\n],\"otherData\":{\"left_out\":%zu}}\n", timeline->left_out);
    }
    free(spans);
    free(ends);
    return room;
}
