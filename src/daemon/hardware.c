/* SPDX-License-Identifier: MIT */
/* Sockets of corund on a GPU of hardware. What programs may do is written to their boards; what they did is read there. */
#include "daemon/hardware.h"

#include "daemon/hardware_state.h"
#include "daemon/listen.h"
#include "daemon/metrics.h"
#include "daemon/upgrade.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include <uv.h>

#define CONNECTIONS_OF_USER 64u
#define MOST_CONNECTIONS 256u /* where limits let others come */

/* ---- what is there ---- */

static bool read_line(const char *path, const char *key, char *value, size_t bytes)
{
    char line[512];
    FILE *file = fopen(path, "re");
    bool found = false;
    while (file && !found && fgets(line, sizeof line, file)) {
        if (strncmp(line, key, strlen(key)) != 0)
            continue;
        const char *text = line + strlen(key);
        text += strspn(text, ": \t");
        snprintf(value, bytes, "%.*s", (int)strcspn(text, "\n"), text);
        found = true;
    }
    if (file)
        fclose(file);
    return found;
}

/* GPU-8ea7ba32-...: 32 hexadecimal digits, in groups. Anything else: zeros. */
static void read_uuid(const char *text, uint8_t uuid[WIRE_UUID_BYTES])
{
    static const char hexadecimal[] = "0123456789abcdef";
    unsigned digits = 0, byte = 0;
    for (text += strncmp(text, "GPU-", 4) == 0 ? 4 : 0; *text && digits < 2 * WIRE_UUID_BYTES; text++) {
        const char *place = strchr(hexadecimal, *text);
        if (*text == '-' || !place)
            continue;
        byte = byte * 16 + (unsigned)(place - hexadecimal);
        if (++digits % 2)
            continue;
        uuid[digits / 2 - 1] = (uint8_t)byte;
        byte = 0;
    }
    if (digits < 2 * WIRE_UUID_BYTES)
        memset(uuid, 0, WIRE_UUID_BYTES);
}

uint32_t hardware_find(struct hardware_found *gpus, char version[WIRE_NAME_BYTES])
{
    char path[4096], text[256] = "";
    uint32_t found = 0;
    uv_fs_t request;
    uv_dirent_t entry;
    version[0] = 0;
    if (read_line("/proc/driver/nvidia/version", "NVRM version", text, sizeof text)) {
        const char *at =
            strstr(text, "  "); /* the driver's name, its version, its date, each two blanks behind the other */
        at = at ? at + strspn(at, " ") : "";
        snprintf(version, WIRE_NAME_BYTES, "%.*s", (int)strcspn(at, " "), at);
    }
    if (uv_fs_scandir(NULL, &request, "/proc/driver/nvidia/gpus", 0, NULL) >= 0) {
        while (found < WIRE_MOST_GPUS && uv_fs_scandir_next(&request, &entry) == 0) {
            struct hardware_found *gpu = &gpus[found];
            *gpu = (struct hardware_found){.name = ""};
            snprintf(path, sizeof path, "/proc/driver/nvidia/gpus/%s/information", entry.name);
            if (read_line(path, "GPU UUID", text, sizeof text))
                read_uuid(text, gpu->uuid);
            found += read_line(path, "Model", gpu->name, WIRE_NAME_BYTES);
        }
    }
    uv_fs_req_cleanup(&request);
    return found;
}

bool hardware_has_service(void)
{
    char path[4096], text[32] = "";
    const char *folder = getenv("CUDA_MPS_PIPE_DIRECTORY");
    snprintf(path, sizeof path, "%s/nvidia-cuda-mps-control.pid", folder && *folder ? folder : "/tmp/nvidia-mps");
    if (!read_line(path, "", text, sizeof text))
        return false;
    long pid = strtol(text, NULL, 10);
    return pid > 0 && (kill((pid_t)pid, 0) == 0 || errno == EPERM);
}

/* ---- time ---- */

uint64_t hardware_now(void)
{
    return uv_hrtime();
}

/* The policy of a GPU has ended itself: launches go to the driver from now on, everywhere. */
static void give_up_policy(struct hardware *hardware, const struct gate *gate)
{
    static const struct gate_rules none = {.policy = GATE_LEFT_OVER};
    struct hardware_settings *settings = hardware->settings;
    char text[WIRE_MOST_POLICY + 512];
    snprintf(text, sizeof text, "%s ends: %s", settings->policy_text, sms_problem(gate->sms));
    if (settings->tell)
        settings->tell(settings->user, "the policy is left-over from now on", text);
    hardware_journal_note(hardware->journal, NULL, "policy", text, hardware_now());
    snprintf(settings->policy_text, sizeof settings->policy_text, "left-over");
    settings->rules = none;
    for (uint32_t i = 0; i < hardware->gpu_count; i++)
        (void)gate_change(&hardware->gpus[i].gate, &none, NULL);
}

void hardware_look(struct hardware *hardware)
{
    uint64_t now = hardware_now(), wait = GATE_NEVER;
    for (uint32_t i = 0; i < hardware->gpu_count; i++) {
        struct gate *gate = &hardware->gpus[i].gate;
        uint64_t its = gate_look(gate, now);
        wait = its < wait ? its : wait;
        if (!gate->failed)
            continue;
        give_up_policy(hardware, gate);
        for (uint32_t k = 0; k < hardware->gpu_count; k++)
            (void)gate_look(&hardware->gpus[k].gate, now);
        wait = GATE_NEVER;
        break;
    }
    struct itimerspec due = {.it_value = {0}};
    if (wait != GATE_NEVER)
        due.it_value = (struct timespec){(time_t)(wait / 1000000000), (long)(wait % 1000000000)};
    (void)timerfd_settime(hardware->timer, 0, &due, NULL);
    hardware_watch(hardware, now);
    hardware_journal_look(hardware->journal, hardware, now);
}

static void on_clock(uv_poll_t *handle, int status, int events)
{
    struct hardware *hardware = handle->data;
    uint64_t times;
    (void)status;
    (void)events;
    (void)!read(hardware->timer, &times, sizeof times);
    hardware_look(hardware);
}

/* ---- clients ---- */

static void on_closed(uv_handle_t *handle)
{
    struct client *client = handle->data;
    close(client->socket);
    free(client->in.data);
    free(client->out.data);
    free(client);
}

static void drop(struct client *client)
{
    struct hardware *hardware = client->hardware;
    struct client **at = &hardware->clients;
    while (*at != client)
        at = &(*at)->next;
    *at = client->next;
    hardware->client_count--;
    if (client->board)
        hardware_leave(hardware, client);
    uv_close((uv_handle_t *)&client->poll, on_closed);
    hardware_look(hardware);
}

/* ---- bytes ---- */

void hardware_receive(struct client *client, const void *data, size_t bytes)
{
    struct wire_frame frame;
    enum wire_taken taken = WIRE_WHOLE;
    if (!buffer_add(&client->in, data, bytes))
        client->ends = true;
    while (!client->ends && client->in.data && taken == WIRE_WHOLE) {
        taken = wire_take(client->in.data + client->in.taken, client->in.bytes - client->in.taken, true, &frame);
        if (taken == WIRE_WHOLE) {
            client->in.taken += frame.bytes;
            hardware_serve(client, &frame);
        }
        /* Nobody sends this corund anything that is longer. */
        if (taken == WIRE_WRONG ||
            (taken == WIRE_PARTIAL && client->in.bytes - client->in.taken > 2 * WIRE_MOST_POLICY))
            client->ends = true;
    }
    if (client->in.taken == client->in.bytes)
        client->in.taken = client->in.bytes = 0;
}

static void hear(struct client *client)
{
    uint8_t data[4096];
    ssize_t bytes = recv(client->socket, data, sizeof data, MSG_DONTWAIT);
    if (bytes == 0 || (bytes < 0 && errno != EAGAIN && errno != EINTR))
        client->ends = true;
    else if (bytes > 0)
        hardware_receive(client, data, (size_t)bytes);
}

/* The file goes with the first bytes. Answers are short: who does not read them is dropped. */
static void tell(struct client *client)
{
    while (client->out.taken < client->out.bytes) {
        union {
            struct cmsghdr align;
            char room[CMSG_SPACE(sizeof(int))];
        } control = {.room = {0}};
        struct iovec part = {client->out.data + client->out.taken, client->out.bytes - client->out.taken};
        struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
        if (client->sends_file) {
            message.msg_control = control.room;
            message.msg_controllen = sizeof control.room;
            struct cmsghdr *head = CMSG_FIRSTHDR(&message);
            *head = (struct cmsghdr){CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
            memcpy(CMSG_DATA(head), &client->boards->file, sizeof client->boards->file);
        }
        ssize_t sent = sendmsg(client->socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0) {
            client->ends = true;
            return;
        }
        client->out.taken += (size_t)sent;
        client->sends_file = false;
    }
    client->out.taken = client->out.bytes = 0;
}

static void on_event(uv_poll_t *handle, int status, int events)
{
    struct client *client = handle->data;
    (void)events;
    if (status < 0)
        client->ends = true;
    else
        hear(client);
    tell(client);
    if (client->ends)
        drop(client);
}

/* A user has few connections at a time, where limits let others come. */
static bool has_room(const struct hardware *hardware, const struct peer *peer, uint32_t row)
{
    uint32_t own = 0;
    for (const struct client *client = hardware->clients; client; client = client->next)
        own += client->peer.uid == peer->uid;
    return row == LIMITS_OWNER || (own < CONNECTIONS_OF_USER && hardware->client_count < MOST_CONNECTIONS);
}

static bool welcome(struct hardware *hardware, int socket, const struct peer *peer, uint32_t row)
{
    struct client *client = calloc(1, sizeof *client);
    if (!client)
        return false;
    *client =
        (struct client){.hardware = hardware, .next = hardware->clients, .peer = *peer, .row = row, .socket = socket};
    if (uv_poll_init(&hardware->loop, &client->poll, socket) != 0) {
        free(client);
        return false;
    }
    client->poll.data = client;
    hardware->clients = client;
    hardware->client_count++;
    if (uv_poll_start(&client->poll, UV_READABLE, on_event) != 0)
        drop(client);
    return true;
}

static void on_connect(uv_poll_t *handle, int status, int events)
{
    struct hardware *hardware = handle->data;
    struct peer peer;
    (void)events;
    int socket = status == 0 ? listen_accept(hardware->socket, &hardware->reserve) : -1;
    if (socket < 0)
        return;
    uint32_t row = listen_peer(socket, &peer) ? hardware_row_of(hardware, &peer) : LIMITS_NOBODY;
    if (row == LIMITS_NOBODY) {
        listen_turn_away(socket, LISTEN_STRANGER);
        hardware->refused++;
    } else if (!has_room(hardware, &peer, row) || !welcome(hardware, socket, &peer, row)) {
        close(socket);
        hardware->refused++;
    }
}

/* ---- metrics ---- */

static void on_metrics(uv_timer_t *timer)
{
    struct hardware *hardware = timer->data;
    const struct hardware_settings *settings = hardware->settings;
    struct wire_node heads[WIRE_MOST_GPUS];
    struct wire_client *rows = calloc(hardware->client_count + 1, sizeof *rows);
    struct metrics told = {heads, hardware->gpu_count, rows, 0, hardware->client_count, hardware->refused};
    if (!rows)
        return;
    for (uint32_t i = 0; i < hardware->gpu_count; i++)
        hardware_describe_gpu(hardware, i, &heads[i]);
    for (const struct client *client = hardware->clients; client; client = client->next)
        if (client->board)
            hardware_describe(client, &rows[told.client_count++]);
    int problem = metrics_write(&told, settings->metrics);
    free(rows);
    if (problem && !hardware->metrics_fail && settings->complain)
        settings->complain(settings->user, settings->metrics, strerror(problem));
    hardware->metrics_fail = problem != 0;
}

static void begin_metrics(struct hardware *hardware)
{
    const struct hardware_settings *settings = hardware->settings;
    uv_timer_stop(&hardware->metrics);
    if (settings->metrics)
        uv_timer_start(&hardware->metrics, on_metrics, 0, (uint64_t)(settings->metrics_interval * 1e3));
}

/* ---- from start to end ---- */

static void reload(struct hardware *hardware)
{
    struct hardware_settings *settings = hardware->settings;
    char before[WIRE_MOST_POLICY];
    const struct gate_rules rules_before = settings->rules;
    memcpy(before, settings->policy_text, sizeof before);
    settings->reload(settings->user);
    for (struct client *client = hardware->clients; client; client = client->next) {
        client->row = hardware_row_of(hardware, &client->peer);
        hardware_limit_memory(client);
    }
    begin_metrics(hardware);
    if (!hardware->handed_over)
        (void)chmod(settings->path, settings->limits->count ? 0666 : 0600);
    if (strcmp(before, settings->policy_text) == 0)
        return;
    struct corun_diagnostics *list = corun_diagnostics_create();
    const struct gate_rules rules = settings->rules;
    char text[WIRE_MOST_POLICY];
    memcpy(text, settings->policy_text, sizeof text);
    memcpy(settings->policy_text, before, sizeof before);
    settings->rules = rules_before;
    if (list && hardware_change_policy(hardware, &rules, text, list) != CORUN_OK && settings->tell)
        settings->tell(settings->user, "the policy stays as it was",
                       corun_diagnostics_count(list) ? corun_diagnostics_get(list, 0)->message : "out of memory");
    corun_diagnostics_destroy(list);
}

static void on_upgrade(uv_idle_t *handle)
{
    struct hardware *hardware = handle->data;
    if (!hardware->holds) { /* once more, behind signals that have come */
        hardware->holds = true;
        return;
    }
    uv_idle_stop(handle);
    hardware_become(hardware);
    hardware->holds = false;
    upgrade_hear();
}

static void on_signal(uv_signal_t *handle, int number)
{
    struct hardware *hardware = handle->data;
    if (number == SIGHUP && hardware->settings->reload) {
        reload(hardware);
    } else if (number == SIGUSR2) {
        upgrade_hold();
        uv_idle_start(&hardware->upgrade, on_upgrade);
    } else {
        uv_stop(handle->loop);
    }
}

/* Boards that programs have, too, and that cannot become shorter under anybody. */
static bool make_boards(struct boards *boards)
{
    boards->file = memfd_create("corun-boards", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (boards->file < 0)
        return false;
    void *front = MAP_FAILED;
    if (fchmod(boards->file, 0600) == 0 && ftruncate(boards->file, BOARD_FILE_BYTES) == 0 &&
        fcntl(boards->file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
        front = mmap(NULL, BOARD_FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, boards->file, 0);
    boards->front = front == MAP_FAILED ? NULL : front;
    if (!boards->front)
        close(boards->file);
    return boards->front != NULL;
}

struct boards *hardware_take_boards(struct hardware_gpu *gpu, uint32_t uid)
{
    struct boards *boards = gpu->boards;
    while (boards && boards->uid != uid)
        boards = boards->next;
    if (!boards) {
        boards = calloc(1, sizeof *boards);
        if (!boards || !make_boards(boards)) {
            free(boards);
            return NULL;
        }
        boards->uid = uid;
        boards->next = gpu->boards;
        gpu->boards = boards;
    }
    boards->clients++;
    return boards;
}

void hardware_give_back_boards(struct hardware_gpu *gpu, struct boards *boards)
{
    struct boards **at = &gpu->boards;
    if (--boards->clients)
        return;
    while (*at != boards)
        at = &(*at)->next;
    *at = boards->next;
    munmap(boards->front, BOARD_FILE_BYTES);
    close(boards->file);
    free(boards);
}

/* ---- GPUs ---- */

/* Programs may name what they like: a GPU that only programs have named keeps its place while one of them is there. */
static struct hardware_gpu *deserted_gpu(struct hardware *hardware)
{
    for (uint32_t i = 0; i < hardware->gpu_count; i++)
        if (hardware->gpus[i].named_by_program && !hardware->gpus[i].boards)
            return &hardware->gpus[i];
    return NULL;
}

static struct hardware_gpu *add_gpu(struct hardware *hardware, const struct hardware_found *found)
{
    struct hardware_gpu *gpu = &hardware->gpus[hardware->gpu_count];
    if (hardware->gpu_count == WIRE_MOST_GPUS)
        return NULL;
    gpu->found = *found;
    gate_begin(&gpu->gate, &hardware->settings->rules, NULL);
    hardware->gpu_count++;
    return gpu;
}

static const uint8_t no_uuid[WIRE_UUID_BYTES] = {0};

/* What a program said of a GPU of which corund knows the name alone is no longer so when the last program there has gone. */
static void forget_words(struct hardware *hardware)
{
    for (uint32_t i = 0; i < hardware->gpu_count; i++) {
        struct hardware_gpu *gpu = &hardware->gpus[i];
        if (gpu->uuid_from_program && !gpu->boards)
            memset(gpu->found.uuid, 0, sizeof gpu->found.uuid);
        gpu->uuid_from_program &= gpu->boards != NULL;
    }
}

static struct hardware_gpu *gpu_with(struct hardware *hardware, const uint8_t uuid[WIRE_UUID_BYTES])
{
    for (uint32_t i = 0; i < hardware->gpu_count; i++)
        if (memcmp(hardware->gpus[i].found.uuid, uuid, WIRE_UUID_BYTES) == 0)
            return &hardware->gpus[i];
    return NULL;
}

static bool has_boards(const struct hardware_gpu *gpu, uint32_t uid)
{
    const struct boards *boards = gpu->boards;
    while (boards && boards->uid != uid)
        boards = boards->next;
    return boards != NULL;
}

/* Of the places that corund has not filled itself, a user's programs have half: nobody can say whether there is such a GPU. */
static bool may_name_gpu(const struct client *client)
{
    const struct hardware *hardware = client->hardware;
    uint32_t places = WIRE_MOST_GPUS - hardware->settings->gpu_count, own = 0;
    for (uint32_t i = 0; i < hardware->gpu_count; i++)
        own += hardware->gpus[i].named_by_program && has_boards(&hardware->gpus[i], client->peer.uid);
    return client->row == LIMITS_OWNER || own < (places + 1) / 2;
}

struct hardware_gpu *hardware_gpu_of(const struct client *client, const uint8_t uuid[WIRE_UUID_BYTES],
                                     const char **problem)
{
    struct hardware *hardware = client->hardware;
    struct hardware_found found = {.name = "GPU-"};
    if (memcmp(uuid, no_uuid, sizeof no_uuid) == 0)
        return &hardware->gpus[0];
    forget_words(hardware);
    struct hardware_gpu *gpu = gpu_with(hardware, uuid);
    if (gpu)
        return gpu;
    gpu = gpu_with(hardware, no_uuid);
    if (gpu) {
        memcpy(gpu->found.uuid, uuid, sizeof no_uuid);
        gpu->uuid_from_program = true;
        return gpu;
    }
    *problem = "this user's programs are on as many GPUs as they may name that corund does not know";
    if (!may_name_gpu(client))
        return NULL;
    *problem = "there are too many GPUs";
    memcpy(found.uuid, uuid, sizeof found.uuid);
    for (size_t i = 0; i < WIRE_UUID_BYTES; i++)
        snprintf(found.name + 4 + 2 * i, sizeof found.name - 4 - 2 * i, "%02x", uuid[i]);
    gpu = add_gpu(hardware, &found);
    if (!gpu && (gpu = deserted_gpu(hardware)) != NULL)
        gpu->found = found;
    if (gpu)
        gpu->named_by_program = true;
    return gpu;
}

uint32_t hardware_number(const struct client *client)
{
    return (uint32_t)(client->gpu - client->hardware->gpus) * GATE_MOST_CLIENTS + client->number;
}

enum corun_status hardware_set_rules(struct hardware *hardware, const struct gate_rules *rules,
                                     struct corun_diagnostics *list)
{
    enum corun_status status = CORUN_OK;
    struct gate_rules before[WIRE_MOST_GPUS];
    uint32_t changed = 0;
    for (; changed < hardware->gpu_count && status == CORUN_OK; changed++) {
        before[changed] = hardware->gpus[changed].gate.rules;
        status = gate_change(&hardware->gpus[changed].gate, rules, list);
    }
    for (uint32_t i = 0; status != CORUN_OK && i + 1 < changed; i++)
        (void)gate_change(&hardware->gpus[i].gate, &before[i], NULL);
    hardware_look(hardware);
    return status;
}

/* ---- start and stop ---- */

static bool start(struct hardware *hardware)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR2};
    hardware->listener.data = hardware->clock.data = hardware->upgrade.data = hardware;
    (void)uv_idle_init(&hardware->loop, &hardware->upgrade); /* it never fails */
    hardware->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    (void)prctl(PR_SET_TIMERSLACK, 1000);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (uv_signal_init(&hardware->loop, &hardware->signals[i]) != 0 ||
            uv_signal_start(&hardware->signals[i], on_signal, numbers[i]) != 0)
            return false;
        hardware->signals[i].data = hardware;
    }
    upgrade_hear();
    hardware->metrics.data = hardware;
    return hardware->timer >= 0 && uv_timer_init(&hardware->loop, &hardware->metrics) == 0 &&
           uv_poll_init(&hardware->loop, &hardware->clock, hardware->timer) == 0 &&
           uv_poll_start(&hardware->clock, UV_READABLE, on_clock) == 0 &&
           uv_poll_init(&hardware->loop, &hardware->listener, hardware->socket) == 0 &&
           uv_poll_start(&hardware->listener, UV_READABLE, on_connect) == 0;
}

static void close_handle(uv_handle_t *handle, void *user)
{
    (void)user;
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

/* Programs run on, ungoverned: gates are opened. */
static void stop(struct hardware *hardware)
{
    const struct gate_rules none = {.policy = GATE_LEFT_OVER};
    (void)hardware_set_rules(hardware, &none, NULL);
    while (hardware->clients)
        drop(hardware->clients);
    for (uint32_t i = 0; i < hardware->gpu_count; i++)
        gate_end(&hardware->gpus[i].gate);
    uv_walk(&hardware->loop, close_handle, NULL);
    (void)uv_run(&hardware->loop, UV_RUN_DEFAULT);
    (void)uv_loop_close(&hardware->loop);
    if (hardware->timer >= 0)
        close(hardware->timer);
    if (hardware->reserve >= 0)
        close(hardware->reserve);
}

static enum corun_status open_socket(struct hardware *hardware, struct corun_diagnostics *list)
{
    struct hardware_settings *settings = hardware->settings;
    hardware->socket = listen_handed_over(settings->path, sizeof settings->path);
    hardware->handed_over = hardware->socket >= 0;
    if (hardware->socket == -2)
        return corun_report(list, CORUN_FILE, CORUN_NOWHERE,
                            "what has been handed over (LISTEN_FDS) is not one Unix socket that listens");
    if (hardware->socket == -1)
        hardware->socket = listen_at(settings->path, settings->limits->count > 0);
    if (hardware->socket >= 0)
        return CORUN_OK;
    return corun_report(list, CORUN_FILE, (struct corun_place){settings->path, 0, 0},
                        "no clients can be served there: %s", listen_problem(errno));
}

/* `begun_ns`: when another corund began it; 0: none did. */
static enum corun_status open_journal(struct hardware *hardware, uint64_t begun_ns, struct corun_diagnostics *list)
{
    const struct hardware_settings *settings = hardware->settings;
    if (settings->journal && begun_ns)
        hardware->journal = hardware_journal_continue(settings->journal, begun_ns, hardware_now());
    else if (settings->journal)
        hardware->journal =
            hardware_journal_open(settings->journal, settings->gpus[0].name, settings->policy_text, hardware_now());
    return !settings->journal || hardware->journal
               ? CORUN_OK
               : corun_report(list, CORUN_FILE, (struct corun_place){settings->journal, 0, 0},
                              "the journal cannot be written: %s", strerror(errno));
}

static void serve(struct hardware *hardware)
{
    struct hardware_settings *settings = hardware->settings;
    begin_metrics(hardware);
    if (settings->ready)
        settings->ready(settings->user);
    listen_notify("READY=1");
    (void)uv_run(&hardware->loop, UV_RUN_DEFAULT);
    listen_notify("STOPPING=1");
}

enum corun_status hardware_run(struct hardware_settings *settings, struct corun_diagnostics *list)
{
    static const struct limits none = {.count = 0};
    enum corun_status status = listen_check_room(list);
    if (status != CORUN_OK)
        return status;
    struct hardware *hardware = calloc(1, sizeof *hardware);
    if (!hardware || uv_loop_init(&hardware->loop) != 0) {
        free(hardware);
        return CORUN_MEMORY;
    }
    if (!settings->limits)
        settings->limits = &none;
    hardware->settings = settings;
    hardware->timer = hardware->socket = hardware->reserve = -1;
    (void)upgrade_file(hardware->file);
    bool takes_over = upgrade_takes_over();
    uint64_t journal_begun_ns = 0;
    status = takes_over ? hardware_take_over(hardware, &journal_begun_ns, list) : CORUN_OK;
    for (uint32_t i = 0; i < settings->gpu_count; i++)
        (void)add_gpu(hardware, &settings->gpus[i]);
    if (status == CORUN_OK)
        status = open_journal(hardware, journal_begun_ns, list);
    if (status == CORUN_OK && !takes_over)
        status = open_socket(hardware, list);
    if (status == CORUN_OK && !start(hardware))
        status = CORUN_MEMORY;
    if (status == CORUN_OK)
        serve(hardware);
    stop(hardware);
    hardware_journal_close(hardware->journal);
    if (hardware->socket >= 0 && hardware->handed_over)
        close(hardware->socket);
    else if (hardware->socket >= 0)
        listen_end(hardware->socket, settings->path);
    free(hardware);
    return status;
}
