/* SPDX-License-Identifier: MIT */
/* The picture of corun top. */
#include "cli/top_picture.h"

#include "wire/board.h"

#include <stdlib.h>
#include <string.h>

/* What a client did since the refresh before, or since it is there. */
struct pace {
    double ipc, sms; /* per cycle; mean */
    bool known;
};

static const struct daemon_client *find(const struct daemon_list *list, const struct daemon_client *client)
{
    for (size_t i = 0; list && i < list->clients.count; i++)
        if (list->clients.data[i].row.number == client->row.number && list->clients.data[i].row.pid == client->row.pid)
            return &list->clients.data[i];
    return NULL;
}

/* Where nothing has moved since, its whole life is the better answer. */
static struct pace pace_of(const struct wire_node *node, const struct daemon_client *client,
                           const struct daemon_list *before)
{
    const struct daemon_client *then = find(before, client);
    struct wire_client row = client->row;
    if (then && then->row.cycles < row.cycles && then->row.thread_instructions <= row.thread_instructions &&
        then->row.sm_cycles <= row.sm_cycles && then->row.ended <= row.ended) {
        row.ended -= then->row.ended;
        row.cycles -= then->row.cycles;
        row.thread_instructions -= then->row.thread_instructions;
        row.sm_cycles -= then->row.sm_cycles;
    }
    if (!row.cycles)
        return (struct pace){0};
    return (struct pace){daemon_rate(node, &row), (double)row.sm_cycles / (double)row.cycles, true};
}

/* 0: none, or not known. */
static double goal_ipc(const struct wire_node *node, const struct wire_client *row)
{
    if (row->goal == CORUN_GOAL_FRACTION)
        return row->goal_value * daemon_rate_alone(node, row);
    return row->goal == CORUN_GOAL_IPC ? row->goal_value : 0;
}

static double weight(enum top_order order, const struct daemon_client *client)
{
    if (order == TOP_BY_SMS && client->row.sms) /* on hardware */
        return board_sms_share(client->row.sms);
    if (order == TOP_BY_SMS)
        return client->row.cycles ? (double)client->row.sm_cycles / (double)client->row.cycles : 0;
    if (order == TOP_BY_MEMORY)
        return (double)client->row.bytes;
    if (order == TOP_BY_INSTRUCTIONS)
        return (double)(client->row.thread_instructions + client->row.ended); /* one of them is 0 */
    return -(double)client->row.number;
}

/* The largest first; those that are equal by number. Few enough for this. */
static void sort(const struct top_view *view, struct daemon_list *list)
{
    struct daemon_client *clients = list->clients.data;
    for (size_t i = 1; i < list->clients.count; i++) {
        struct daemon_client moved = clients[i];
        size_t to = i;
        for (; to; to--) {
            double left = weight(view->order, &clients[to - 1]), right = weight(view->order, &moved);
            if (view->reverse ? left <= right : left >= right)
                break;
            clients[to] = clients[to - 1];
        }
        clients[to] = moved;
    }
}

/* A sign for each sample, higher for more SMs. */
static const char *bars(const struct top_view *view, const struct daemon_client *client, uint32_t sms, char *text,
                        size_t bytes)
{
    static const char *const blocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char *const signs[] = {" ", ".", ":", "-", "=", "+", "*", "#", "@"};
    uint32_t count = client->sample_count < view->samples ? client->sample_count : view->samples;
    size_t length = 0;
    text[0] = 0;
    for (uint32_t i = client->sample_count - count; i < client->sample_count; i++) {
        uint64_t hundredths = client->samples[i], all = UINT64_C(100) * (sms ? sms : 1);
        uint64_t level = hundredths >= all ? 8 : (hundredths * 8 + all - 1) / all; /* only nothing is blank */
        length += (size_t)snprintf(text + length, bytes - length, "%s", (view->style.utf8 ? blocks : signs)[level]);
        if (length + 4 > bytes)
            break;
    }
    return text;
}

/* Simulated time in the unit that suits it. */
static const char *duration(uint64_t cycles, uint32_t clock_khz, char *text, size_t bytes)
{
    double us = clock_khz ? (double)cycles * 1e3 / clock_khz : 0;
    if (!cycles)
        snprintf(text, bytes, "-");
    else if (us < 1000)
        snprintf(text, bytes, us < 100 ? "%.1f us" : "%.0f us", us);
    else if (us < 1e6)
        snprintf(text, bytes, us < 1e5 ? "%.1f ms" : "%.0f ms", us / 1e3);
    else
        snprintf(text, bytes, "%.1f s", us / 1e6);
    return text;
}

static void add_row(struct columns *columns, const struct top_view *view, const struct wire_node *node,
                    const struct daemon_client *client, const struct daemon_list *before)
{
    char goal[DAEMON_GOAL_BYTES], size[REPORT_SIZE_BYTES], time[32], line[4 * WIRE_MOST_SAMPLES + 8];
    char name[WIRE_NAME_BYTES];
    const struct wire_client *row = &client->row;
    struct pace pace = pace_of(node, client, before);
    double wanted = goal_ipc(node, row), alone = daemon_rate_alone(node, row);
    bool judged = pace.known && wanted > 0;
    columns_row(columns);
    columns_set(columns, 0, PAINT_NONE, "%s", daemon_name(row, name));
    columns_set(columns, 1, PAINT_NONE, "%u", row->pid);
    columns_set(columns, 2, PAINT_NONE, "%s", daemon_state(row->state));
    columns_set(columns, 3, PAINT_NONE, "%s", daemon_goal_text(row, goal));
    columns_set(columns, 4,
                judged && pace.ipc < wanted ? PAINT_BAD
                : judged                    ? PAINT_GOOD
                                            : PAINT_NONE,
                judged ? "%.0f%%" : "-", judged ? 100 * pace.ipc / wanted : 0.0);
    columns_set(columns, 5, PAINT_NONE, pace.known ? "%.1f" : "-", pace.ipc);
    columns_set(columns, 6, PAINT_NONE, pace.known && alone > 0 ? "%.2f" : "-", alone > 0 ? pace.ipc / alone : 0.0);
    columns_set(columns, 7, PAINT_NONE, pace.known ? "%.1f" : "-", pace.sms);
    columns_set(columns, 8, PAINT_NONE, "%s", bars(view, client, node->sms, line, sizeof line));
    columns_set(columns, 9, PAINT_NONE, "%llu", (unsigned long long)row->launches);
    columns_set(columns, 10, PAINT_NONE, "%s", duration(row->p50_cycles, node->core_clock_khz, time, sizeof time));
    columns_set(columns, 11, PAINT_NONE, "%s", duration(row->p99_cycles, node->core_clock_khz, time, sizeof time));
    columns_set(columns, 12, PAINT_NONE, "%llu", (unsigned long long)row->runs);
    columns_set(columns, 13, PAINT_NONE, "%s", duration(row->run_p50_cycles, node->core_clock_khz, time, sizeof time));
    columns_set(columns, 14, PAINT_NONE, "%s", duration(row->run_p99_cycles, node->core_clock_khz, time, sizeof time));
    columns_set(columns, 15, PAINT_NONE, "%s", report_size(row->bytes, size));
}

/* On a GPU of hardware: what is known of whole launches, and the part of the SMs on which workers may be. */
static void add_hardware_row(struct columns *columns, const struct top_view *view, const struct wire_node *node,
                             const struct daemon_client *client, const struct daemon_list *before)
{
    char goal[DAEMON_GOAL_BYTES], time[32], name[WIRE_NAME_BYTES], size[REPORT_SIZE_BYTES];
    char line[4 * WIRE_MOST_SAMPLES + 8];
    const struct wire_client *row = &client->row;
    struct pace pace = pace_of(node, client, before);
    double wanted = goal_ipc(node, row), alone = daemon_rate_alone(node, row);
    bool judged = pace.known && wanted > 0, promised = row->goal != CORUN_GOAL_NONE;
    columns_row(columns);
    columns_set(columns, 0, PAINT_NONE, "%s", daemon_name(row, name));
    columns_set(columns, 1, PAINT_NONE, "%u", row->pid);
    columns_set(columns, 2, PAINT_NONE, "%s", daemon_state(row->state));
    columns_set(columns, 3, PAINT_NONE, "%s", daemon_goal_text(row, goal));
    columns_set(columns, 4, PAINT_NONE, judged ? "%.0f%%" : "-", judged ? 100 * pace.ipc / wanted : 0.0);
    columns_set(columns, 5, row->behind ? PAINT_BAD : PAINT_NONE, "%s", !promised ? "-" : row->behind ? "yes" : "no");
    columns_set(columns, 6, PAINT_NONE, pace.known ? "%.1f" : "-", pace.ipc);
    columns_set(columns, 7, PAINT_NONE, pace.known && alone > 0 ? "%.2f" : "-", alone > 0 ? pace.ipc / alone : 0.0);
    columns_set(columns, 8, PAINT_NONE, row->sms ? "%.0f%%" : "-", 100 * board_sms_share(row->sms));
    columns_set(columns, 9, PAINT_NONE, "%s", bars(view, client, 1, line, sizeof line));
    columns_set(columns, 10, PAINT_NONE, "%llu", (unsigned long long)row->launches);
    columns_set(columns, 11, PAINT_NONE, "%s", duration(row->p50_cycles, node->core_clock_khz, time, sizeof time));
    columns_set(columns, 12, PAINT_NONE, "%s", duration(row->p99_cycles, node->core_clock_khz, time, sizeof time));
    columns_set(columns, 13, PAINT_NONE, "%llu", (unsigned long long)row->held);
    columns_set(columns, 14, PAINT_NONE, "%s", duration(row->held_ns, node->core_clock_khz, time, sizeof time));
    columns_set(columns, 15, PAINT_NONE, "%llu", (unsigned long long)row->runs);
    columns_set(columns, 16, PAINT_NONE, "%s", duration(row->run_p50_cycles, node->core_clock_khz, time, sizeof time));
    columns_set(columns, 17, PAINT_NONE, "%s", duration(row->run_p99_cycles, node->core_clock_khz, time, sizeof time));
    columns_set(columns, 18, PAINT_NONE, "%s", report_size(row->bytes, size));
}

static void print_head(const struct daemon_list *now, const struct wire_node *node, size_t programs, FILE *stream)
{
    char used[REPORT_SIZE_BYTES], all[REPORT_SIZE_BYTES], time[32], name[WIRE_NAME_BYTES];
    if (node->hardware) {
        fputs(node->gpu, stream);
        if (node->sms)
            fprintf(stream, ", %u SMs", node->sms);
        fprintf(stream, ", policy %s\n%zu program%s\n\n", node->policy, programs, programs == 1 ? "" : "s");
        return;
    }
    if (now->gpu_count > 1)
        fprintf(stream, "%u ", node->index);
    fprintf(stream, "%s, %u SMs, policy %s, cycle %llu (%s)\n", node->gpu, node->sms, node->policy,
            (unsigned long long)node->cycle, duration(node->cycle, node->core_clock_khz, time, sizeof time));
    fprintf(stream, "%zu program%s, memory %s of %s", programs, programs == 1 ? "" : "s",
            report_size(node->used_bytes, used), report_size(node->memory_bytes, all));
    for (size_t i = 0; node->holder && i < now->clients.count; i++)
        if (now->clients.data[i].row.pid == node->holder) {
            fprintf(stream, "; time stands still: %s computes", daemon_name(&now->clients.data[i].row, name));
            break;
        }
    if (node->pace > 0)
        fprintf(stream, "; at %g of the host's clock, %.0f%% of it missed", node->pace,
                node->missed_cycles ? 100.0 * (double)node->missed_cycles / (double)(node->missed_cycles + node->cycle)
                                    : 0.0);
    fputs("\n\n", stream);
}

/* One GPU: its head, and its programs. */
static bool print_gpu(const struct top_view *view, const struct daemon_list *now, const struct wire_node *node,
                      const struct daemon_list *before, FILE *stream)
{
    static const char *const simulated[] = {
        "<name",          "pid",      "<state", "goal", "of goal", "IPC", "of alone", "SMs",
        "<SMs over time", "launches", "P50",    "P99",  "runs",    "P50", "P99",      "memory"};
    static const char *const hardware[] = {
        "<name",    "pid", "<state", "goal", "of goal", "behind", "launches/s", "of alone", "SMs",   "<SMs over time",
        "launches", "P50", "P99",    "held", "for",     "runs",   "P50",        "P99",      "memory"};
    const char *const *titles = node->hardware ? hardware : simulated;
    size_t count = (node->hardware ? sizeof hardware : sizeof simulated) / sizeof *titles;
    struct arena *arena = arena_create();
    struct columns *columns = arena ? columns_create(arena, titles, count) : NULL;
    bool fine = columns != NULL;
    size_t programs = 0;
    for (size_t i = 0; fine && i < now->clients.count; i++)
        if (now->clients.data[i].row.gpu == node->index) {
            if (node->hardware)
                add_hardware_row(columns, view, node, &now->clients.data[i], before);
            else
                add_row(columns, view, node, &now->clients.data[i], before);
            programs++;
        }
    if (fine) {
        print_head(now, node, programs, stream);
        fine = columns_print(columns, &view->style, stream);
    }
    arena_destroy(arena);
    return fine;
}

bool top_print(const struct top_view *view, struct daemon_list *now, const struct daemon_list *before, FILE *stream)
{
    bool fine = true;
    sort(view, now);
    for (uint32_t i = 0; i < now->gpu_count && fine; i++) {
        if (i)
            fputc('\n', stream);
        fine = print_gpu(view, now, &now->nodes[i], before, stream);
    }
    return fine;
}
