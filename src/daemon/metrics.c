/* SPDX-License-Identifier: MIT */
/* Metrics for Prometheus, each a row of a table. */
#include "daemon/metrics.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Of a GPU. N(name, type, value, meaning) */
#define GPU_METRICS(N) \
    N(cycles_total, counter, (double)head->cycle, "cycles of the simulated GPU") \
    N(simulated_seconds_total, counter, (double)head->cycle / (head->core_clock_khz * 1e3), "the same as time") \
    N(sms, gauge, head->sms, "SMs of the GPU") \
    N(memory_bytes, gauge, (double)head->memory_bytes, "memory of the device") \
    N(memory_used_bytes, gauge, (double)head->used_bytes, "memory of the device that programs have") \
    N(pace, gauge, head->pace, "simulated seconds in a second of the host; 0: time goes on while all wait") \
    N(pace_missed_seconds_total, counter, (double)head->missed_cycles / (head->core_clock_khz * 1e3), \
      "simulated time that the host was too slow for") \
    N(time_stands_still, gauge, head->holder != 0, "1: a program computes, and everybody waits for it")

/* Of the daemon. D(name, type, value, meaning) */
#define DAEMON_METRICS(D) \
    D(gpus, gauge, node->device_count, "GPUs") \
    D(connections, gauge, (double)node->sessions.count, "connections, those of tools included") \
    D(refused_connections_total, counter, (double)refused, "connections that were turned away")

/* Of a program. T(name, type, value, meaning) */
#define TENANT_METRICS(T) \
    T(launches_total, counter, (double)row->launches, "launches that have ended") \
    T(launches_in_flight, gauge, row->in_flight, "launches that have not ended") \
    T(launch_p50_seconds, gauge, (double)row->p50_cycles / hz, \
      "of the last 1000 launches, from when they could begin to their end; 0: none") \
    T(launch_p99_seconds, gauge, (double)row->p99_cycles / hz, "the same") \
    T(runs_total, counter, (double)row->runs, "runs of the program that have ended") \
    T(run_p50_seconds, gauge, (double)row->run_p50_cycles / hz, "of the last 1000 runs; 0: none") \
    T(run_p99_seconds, gauge, (double)row->run_p99_cycles / hz, "the same") \
    T(thread_instructions_total, counter, (double)row->thread_instructions, "since its first launch") \
    T(gpu_cycles_total, counter, (double)row->cycles, "cycles of the GPU since its first launch") \
    T(sm_cycles_total, counter, (double)row->sm_cycles, "of each SM while thread blocks of it were there, summed up") \
    T(goal_ipc, gauge, goal_ipc(row), "thread instructions per cycle that it is promised; 0: none") \
    T(isolated_ipc, gauge, row->isolated_ipc, "its rate alone; 0: not known") \
    T(memory_allocated_bytes, gauge, (double)row->bytes, "memory of the device") \
    T(waits, gauge, row->state == WIRE_STATE_WAITS, "1: it waits for the GPU")

static double goal_ipc(const struct wire_client *row)
{
    if (row->goal == CORUN_GOAL_FRACTION)
        return row->goal_value * row->isolated_ipc;
    return row->goal == CORUN_GOAL_IPC ? row->goal_value : 0;
}

/* The value of a label: what would end it, or a line, is escaped; what is no text becomes question marks. */
static void print_label(const char *name, const char *value, FILE *stream)
{
    fprintf(stream, "%s=\"", name);
    for (; *value; value++)
        if (*value == '"' || *value == '\\')
            fprintf(stream, "\\%c", *value);
        else
            fputc(*value >= ' ' && *value <= '~' ? *value : '?', stream);
    fputc('"', stream);
}

static void print_head(const char *name, const char *type, const char *meaning, FILE *stream)
{
    fprintf(stream, "# HELP corun_%s %s\n# TYPE corun_%s %s\n", name, meaning, name, type);
}

/* Where there are several GPUs, every row says which one it is of. */
static void print_gpu(const char *name, const struct node *node, uint32_t gpu, double value, FILE *stream)
{
    fprintf(stream, "corun_%s", name);
    if (node->device_count > 1)
        fprintf(stream, "{device=\"%u\"}", gpu);
    fprintf(stream, " %.17g\n", value);
}

static void print_tenant(const char *name, const struct node *node, const struct wire_client *row, double value,
                         FILE *stream)
{
    fprintf(stream, "corun_%s{client=\"%u\",", name, row->number);
    print_label("name", row->name, stream);
    fprintf(stream, ",pid=\"%u\",uid=\"%u\"", row->pid, row->uid);
    if (node->device_count > 1)
        fprintf(stream, ",device=\"%u\"", row->gpu);
    fprintf(stream, "} %.17g\n", value);
}

static void print_info(const struct node *node, const struct wire_node *heads, FILE *stream)
{
    print_head("node_info", "gauge", "the GPUs and their policies", stream);
    for (uint32_t i = 0; i < node->device_count; i++) {
        fputs("corun_node_info{", stream);
        if (node->device_count > 1)
            fprintf(stream, "device=\"%u\",", i);
        print_label("gpu", heads[i].gpu, stream);
        fputc(',', stream);
        print_label("policy", heads[i].policy, stream);
        fputs("} 1\n", stream);
    }
}

static void print_node(const struct node *node, uint64_t refused, const struct wire_node *heads, FILE *stream)
{
    print_info(node, heads, stream);
#define PRINT_DAEMON(name, type, value, meaning) \
    print_head(#name, #type, meaning, stream); \
    fprintf(stream, "corun_" #name " %.17g\n", (double)(value));
    DAEMON_METRICS(PRINT_DAEMON)
#undef PRINT_DAEMON
#define PRINT_GPUS(name, type, value, meaning) \
    print_head(#name, #type, meaning, stream); \
    for (const struct wire_node *head = heads; head < heads + node->device_count; head++) \
        print_gpu(#name, node, head->index, (double)(value), stream);
    GPU_METRICS(PRINT_GPUS)
#undef PRINT_GPUS
}

void metrics_print(const struct node *node, uint64_t refused, FILE *stream)
{
    uint32_t samples[WIRE_MOST_SAMPLES], count = 0;
    struct wire_node heads[WIRE_MOST_GPUS];
    struct wire_client *rows = calloc(node->sessions.count + 1, sizeof *rows);
    for (uint32_t i = 0; i < node->device_count; i++)
        device_describe(&node->devices[i], &heads[i]);
    for (size_t i = 0; rows && i < node->sessions.count; i++)
        if (node->sessions.data[i]->joined)
            (void)session_describe(node->sessions.data[i], &rows[count++], samples);
    print_node(node, refused, heads, stream);
#define PRINT_TENANTS(name, type, value, meaning) \
    print_head("client_" #name, #type, meaning, stream); \
    for (const struct wire_client *row = rows; row && row < rows + count; row++) { \
        double hz = heads[row->gpu].core_clock_khz * 1e3; \
        (void)hz; \
        print_tenant("client_" #name, node, row, (double)(value), stream); \
    }
    TENANT_METRICS(PRINT_TENANTS)
#undef PRINT_TENANTS
    free(rows);
}

int metrics_write(const struct node *node, uint64_t refused, const char *path)
{
    char other[4200];
    snprintf(other, sizeof other, "%.4096s.new", path);
    FILE *file = fopen(other, "we");
    if (!file)
        return errno;
    metrics_print(node, refused, file);
    bool fine = !ferror(file);
    errno = 0;
    fine &= fclose(file) == 0;
    if (fine && rename(other, path) == 0)
        return 0;
    int problem = errno ? errno : EIO;
    (void)unlink(other);
    return problem;
}
