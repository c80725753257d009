/* SPDX-License-Identifier: MIT */
/* Metrics for Prometheus, each a row of a table. */
#include "daemon/metrics.h"

#include "wire/board.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Of a simulated GPU. N(name, type, value, meaning) */
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
    D(gpus, gauge, told->gpu_count, "GPUs") \
    D(connections, gauge, (double)told->connections, "connections, those of tools included") \
    D(refused_connections_total, counter, (double)told->refused, "connections that were turned away")

/* Of a program. T(name, type, value, meaning) */
#define TENANT_METRICS(T) \
    T(launches_total, counter, (double)row->launches, "launches that have ended") \
    T(launches_in_flight, gauge, row->in_flight, "launches that have not ended") \
    T(launch_p50_seconds, gauge, (double)row->p50_cycles / hz, \
      "of the last 1000 launches, from when they could begin to their end; on a GPU of hardware of the last 256 that " \
      "were timed, from when the program asked; 0: none") \
    T(launch_p99_seconds, gauge, (double)row->p99_cycles / hz, "the same") \
    T(runs_total, counter, (double)row->runs, "runs of the program that have ended") \
    T(run_p50_seconds, gauge, (double)row->run_p50_cycles / hz, \
      "of the last 1000 runs, on a GPU of hardware of the last 256; 0: none") \
    T(run_p99_seconds, gauge, (double)row->run_p99_cycles / hz, "the same") \
    T(waits, gauge, row->state == WIRE_STATE_WAITS, "1: it waits for the GPU")

/* Of a program on a simulated GPU. */
#define SIMULATED_TENANT_METRICS(T) \
    T(thread_instructions_total, counter, (double)row->thread_instructions, "since its first launch") \
    T(gpu_cycles_total, counter, (double)row->cycles, "cycles of the GPU since its first launch") \
    T(sm_cycles_total, counter, (double)row->sm_cycles, "of each SM while thread blocks of it were there, summed up") \
    T(goal_ipc, gauge, goal_ipc(row), "thread instructions per cycle that it is promised; 0: none") \
    T(isolated_ipc, gauge, row->isolated_ipc, "its rate alone; 0: not known") \
    T(memory_allocated_bytes, gauge, (double)row->bytes, "memory of the device")

/* Of a program on a GPU of hardware. */
#define HARDWARE_TENANT_METRICS(T) \
    T(launches_noted_total, counter, (double)row->ended, "launches that were noted to end: rates are of these") \
    T(wanted_seconds_total, counter, (double)row->cycles / hz, \
      "in which it had something on the GPU, or waited for that, while that was noted") \
    T(isolated_launches_per_second, gauge, row->alone_per_second, "of wanting the GPU, alone; 0: not known") \
    T(goal_fraction, gauge, value_of(row, CORUN_GOAL_FRACTION), "of its rate alone that it is promised; 0: none") \
    T(goal_run_seconds, gauge, value_of(row, CORUN_GOAL_MILLISECONDS) / 1e3, "of a run, as promised; 0: none") \
    T(goal_runs_per_second, gauge, value_of(row, CORUN_GOAL_FRAMES_PER_SECOND), "as promised; 0: none") \
    T(behind, gauge, row->behind, "1: it has less than its goal") \
    T(launches_held_total, counter, (double)row->held, "launches that have waited for others") \
    T(held_seconds_total, counter, (double)row->held_ns / 1e9, "for so long together") \
    T(sm_share, gauge, row->sms ? board_sms_share(row->sms) : 1, "of the SMs, on which its launches may be")

static double value_of(const struct wire_client *row, enum corun_goal_kind kind)
{
    return row->goal == (uint32_t)kind ? row->goal_value : 0;
}

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
static void print_gpu(const char *name, const struct metrics *told, uint32_t gpu, double value, FILE *stream)
{
    fprintf(stream, "corun_%s", name);
    if (told->gpu_count > 1)
        fprintf(stream, "{device=\"%u\"}", gpu);
    fprintf(stream, " %.17g\n", value);
}

static void print_tenant(const char *name, const struct metrics *told, const struct wire_client *row, double value,
                         FILE *stream)
{
    fprintf(stream, "corun_%s{client=\"%u\",", name, row->number);
    print_label("name", row->name, stream);
    fprintf(stream, ",pid=\"%u\",uid=\"%u\"", row->pid, row->uid);
    if (told->gpu_count > 1)
        fprintf(stream, ",device=\"%u\"", row->gpu);
    fprintf(stream, "} %.17g\n", value);
}

static void print_info(const struct metrics *told, FILE *stream)
{
    print_head("node_info", "gauge", "the GPUs and their policies", stream);
    for (uint32_t i = 0; i < told->gpu_count; i++) {
        fputs("corun_node_info{", stream);
        if (told->gpu_count > 1)
            fprintf(stream, "device=\"%u\",", i);
        print_label("gpu", told->heads[i].gpu, stream);
        fputc(',', stream);
        print_label("policy", told->heads[i].policy, stream);
        fputs("} 1\n", stream);
    }
}

static void print_node(const struct metrics *told, FILE *stream)
{
    print_info(told, stream);
#define PRINT_DAEMON(name, type, value, meaning) \
    print_head(#name, #type, meaning, stream); \
    fprintf(stream, "corun_" #name " %.17g\n", (double)(value));
    DAEMON_METRICS(PRINT_DAEMON)
#undef PRINT_DAEMON
}

static void print_gpus(const struct metrics *told, FILE *stream)
{
#define PRINT_GPUS(name, type, value, meaning) \
    print_head(#name, #type, meaning, stream); \
    for (const struct wire_node *head = told->heads; head < told->heads + told->gpu_count; head++) \
        print_gpu(#name, told, head->index, (double)(value), stream);
    GPU_METRICS(PRINT_GPUS)
#undef PRINT_GPUS
}

#define PRINT_TENANTS(name, type, value, meaning) \
    print_head("client_" #name, #type, meaning, stream); \
    for (const struct wire_client *row = told->rows; row < told->rows + told->client_count; row++) { \
        double hz = told->heads[row->gpu].core_clock_khz * 1e3; \
        (void)hz; \
        print_tenant("client_" #name, told, row, (double)(value), stream); \
    }

static void print_simulated(const struct metrics *told, FILE *stream)
{
    SIMULATED_TENANT_METRICS(PRINT_TENANTS)
}

static void print_hardware(const struct metrics *told, FILE *stream)
{
    HARDWARE_TENANT_METRICS(PRINT_TENANTS)
}

static void metrics_print(const struct metrics *told, FILE *stream)
{
    bool hardware = told->gpu_count && told->heads[0].hardware;
    print_node(told, stream);
    if (!hardware)
        print_gpus(told, stream);
    TENANT_METRICS(PRINT_TENANTS)
    if (hardware)
        print_hardware(told, stream);
    else
        print_simulated(told, stream);
}
#undef PRINT_TENANTS

/* Whether a file with this name may be replaced: a device, a pipe or a socket is of use to others. 0, or errno. */
static int why_kept(const char *path)
{
    struct stat about;
    if (lstat(path, &about))
        return errno == ENOENT ? 0 : errno;
    return S_ISREG(about.st_mode) ? 0 : S_ISDIR(about.st_mode) ? EISDIR : ENOTSUP;
}

/* Where links lead, so that they stay; NULL: one that leads nowhere, or out of memory. The caller frees. */
static char *find_target(const char *path)
{
    struct stat about;
    return !lstat(path, &about) && S_ISLNK(about.st_mode) ? realpath(path, NULL) : strdup(path);
}

static int write_and_replace(const struct metrics *told, const char *path)
{
    char other[4200];
    int problem = why_kept(path);
    if (problem)
        return problem;
    snprintf(other, sizeof other, "%.4096s.new", path);
    FILE *file = fopen(other, "we");
    if (!file)
        return errno;
    metrics_print(told, file);
    bool fine = !ferror(file);
    errno = 0;
    fine &= fclose(file) == 0;
    if (fine && rename(other, path) == 0)
        return 0;
    problem = errno ? errno : EIO;
    (void)unlink(other);
    return problem;
}

int metrics_write(const struct metrics *told, const char *path)
{
    char *target = find_target(path);
    if (!target)
        return errno;
    int problem = write_and_replace(told, target);
    free(target);
    return problem;
}

int metrics_write_node(const struct node *node, uint64_t refused, const char *path)
{
    uint32_t samples[WIRE_MOST_SAMPLES];
    struct wire_node heads[WIRE_MOST_GPUS];
    struct wire_client *rows = calloc(node->sessions.count + 1, sizeof *rows);
    struct metrics told = {heads, node->device_count, rows, 0, node->sessions.count, refused};
    if (!rows)
        return ENOMEM;
    for (uint32_t i = 0; i < node->device_count; i++)
        device_describe(&node->devices[i], &heads[i]);
    for (size_t i = 0; i < node->sessions.count; i++)
        if (node->sessions.data[i]->joined)
            (void)session_describe(node->sessions.data[i], &rows[told.client_count++], samples);
    int problem = metrics_write(&told, path);
    free(rows);
    return problem;
}
