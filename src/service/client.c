/* SPDX-License-Identifier: MIT */
/* A program's side of the agent's socket (corun/service.h). */
#include "corun/service.h"

#include "corun/service_messages.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define RETRY_NS UINT64_C(1000000000) /* until another agent is looked for */

/* Queries that have not ended. */
struct entry {
    uint64_t query, at_ns;
    double size;
    uint32_t connection; /* that knows of it; 0: none */
    enum { WAITS, MAY_START, RUNS } state;
};

struct corun_service {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct corun_service_hello hello;
    struct sockaddr_un address; /* without a path: no agent is looked for */
    int socket;                 /* -1: no agent */
    int dead;                   /* one that is to be closed when nobody uses it; -1 */
    uint32_t users;             /* threads that send or receive at the moment */
    int wake;                   /* ends the wait of whoever receives */
    uint32_t connection;        /* counts them, from 1 */
    uint64_t retry_ns;          /* not before then is another agent looked for */
    bool receiving, finished;
    struct entry *entries; /* in order of arrival */
    size_t count, room;
};

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static struct entry *find(struct corun_service *service, uint64_t query)
{
    for (size_t i = 0; i < service->count; i++)
        if (service->entries[i].query == query)
            return &service->entries[i];
    return NULL;
}

/* Closed while a thread uses it, its number could be another file's before that thread is done. */
static void close_unused(struct corun_service *service)
{
    if (service->dead < 0 || service->users)
        return;
    close(service->dead);
    service->dead = -1;
    pthread_cond_broadcast(&service->changed);
}

/* The agent is gone, or is no agent. */
static void drop(struct corun_service *service)
{
    if (service->socket < 0)
        return;
    shutdown(service->socket, SHUT_RDWR);
    service->dead = service->socket;
    service->socket = -1;
    service->retry_ns = now_ns() + RETRY_NS;
    close_unused(service);
    pthread_cond_broadcast(&service->changed);
}

/* Without the lock while it waits for room, or two sides that wait for each other would be the end. */
static void tell(struct corun_service *service, const void *message, size_t bytes)
{
    int fd = service->socket;
    if (fd < 0)
        return;
    service->users++;
    pthread_mutex_unlock(&service->lock);
    bool told = send(fd, message, bytes, MSG_NOSIGNAL) == (ssize_t)bytes;
    pthread_mutex_lock(&service->lock);
    service->users--;
    if (!told && service->socket == fd)
        drop(service);
    close_unused(service);
}

/* All that wait and that this agent has not heard of. */
static void tell_arrivals(struct corun_service *service)
{
    for (size_t i = 0; i < service->count && service->socket >= 0; i++) {
        struct entry *entry = &service->entries[i];
        if (entry->state != WAITS || entry->connection == service->connection)
            continue;
        const struct corun_service_arrive arrive = {
            .kind = CORUN_SERVICE_ARRIVE, .query = entry->query, .size = entry->size, .at_ns = entry->at_ns};
        entry->connection = service->connection;
        tell(service, &arrive, sizeof arrive);
        i = SIZE_MAX; /* others may have changed the list meanwhile */
    }
}

/* Looks for an agent, at most once in RETRY_NS. */
static void seek(struct corun_service *service)
{
    if (service->socket >= 0 || service->dead >= 0 || !service->address.sun_path[0] || now_ns() < service->retry_ns)
        return;
    service->retry_ns = now_ns() + RETRY_NS;
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    if (connect(fd, (const struct sockaddr *)&service->address, sizeof service->address) ||
        send(fd, &service->hello, sizeof service->hello, MSG_NOSIGNAL) < 0) {
        close(fd);
        return;
    }
    service->socket = fd;
    service->connection++;
}

static struct corun_service *open_as(const char *path, const char *name, uint32_t workers, enum corun_service_role role)
{
    struct corun_service *service = calloc(1, sizeof *service);
    if (!path)
        path = getenv("CORUN_AGENT");
    if (!service)
        return NULL;
    service->socket = service->dead = -1;
    service->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (service->wake < 0) {
        free(service);
        return NULL;
    }
    pthread_mutex_init(&service->lock, NULL);
    pthread_cond_init(&service->changed, NULL);
    service->hello = (struct corun_service_hello){
        .kind = CORUN_SERVICE_HELLO, .protocol = CORUN_SERVICE_PROTOCOL, .role = role, .workers = workers};
    strncpy(service->hello.name, name, sizeof service->hello.name - 1);
    service->address.sun_family = AF_UNIX;
    if (path && strlen(path) < sizeof service->address.sun_path)
        memcpy(service->address.sun_path, path, strlen(path));
    seek(service);
    return service;
}

struct corun_service *corun_service_open(const char *path, const char *name, uint32_t workers)
{
    return open_as(path, name, workers, CORUN_SERVICE_SERVES);
}

struct corun_service *corun_service_open_batch(const char *path, const char *name)
{
    return open_as(path, name, 1, CORUN_SERVICE_BATCH);
}

void corun_service_close(struct corun_service *service)
{
    if (!service)
        return;
    drop(service);
    close(service->wake);
    pthread_mutex_destroy(&service->lock);
    pthread_cond_destroy(&service->changed);
    free(service->entries);
    free(service);
}

bool corun_service_governed(struct corun_service *service)
{
    pthread_mutex_lock(&service->lock);
    bool governed = service->socket >= 0;
    pthread_mutex_unlock(&service->lock);
    return governed;
}

static bool grow(struct corun_service *service)
{
    if (service->count < service->room)
        return true;
    size_t room = 2 * service->room + 16;
    struct entry *entries = reallocarray(service->entries, room, sizeof *entries);
    if (!entries)
        return false;
    service->entries = entries;
    service->room = room;
    return true;
}

bool corun_service_arrive(struct corun_service *service, uint64_t query, double size)
{
    pthread_mutex_lock(&service->lock);
    bool taken = !find(service, query) && grow(service);
    if (taken) {
        service->entries[service->count++] = (struct entry){.query = query, .at_ns = now_ns(), .size = size};
        seek(service);
        tell_arrivals(service);
        pthread_cond_broadcast(&service->changed);
    }
    pthread_mutex_unlock(&service->lock);
    return taken;
}

void corun_service_finish(struct corun_service *service)
{
    const uint64_t one = 1;
    pthread_mutex_lock(&service->lock);
    service->finished = true;
    pthread_cond_broadcast(&service->changed);
    (void)!write(service->wake, &one, sizeof one);
    pthread_mutex_unlock(&service->lock);
}

/* The first that may start: without an agent, the first that waits. */
static struct entry *first_to_start(struct corun_service *service, bool *any)
{
    *any = false;
    for (size_t i = 0; i < service->count; i++) {
        struct entry *entry = &service->entries[i];
        *any |= entry->state != RUNS;
        if (entry->state == MAY_START || (entry->state == WAITS && service->socket < 0))
            return entry;
    }
    return NULL;
}

static void hear(struct corun_service *service, const void *message, ssize_t bytes)
{
    struct corun_service_start start;
    uint32_t kind = CORUN_SERVICE_NOTHING;
    if (bytes >= (ssize_t)sizeof kind)
        memcpy(&kind, message, sizeof kind);
    if (kind == CORUN_SERVICE_WELCOME && bytes == sizeof(struct corun_service_welcome))
        return;
    if (kind != CORUN_SERVICE_START || bytes != sizeof start) {
        drop(service);
        return;
    }
    memcpy(&start, message, sizeof start);
    struct entry *entry = find(service, start.query);
    if (entry && entry->state == WAITS && entry->connection == service->connection)
        entry->state = MAY_START;
    pthread_cond_broadcast(&service->changed);
}

/* One thread receives, for all. */
static void receive(struct corun_service *service)
{
    char message[sizeof(struct corun_service_bye)];
    struct pollfd ends[] = {{service->socket, POLLIN, 0}, {service->wake, POLLIN, 0}};
    bool finished = service->finished;
    service->receiving = true;
    service->users++;
    pthread_mutex_unlock(&service->lock);
    int found = poll(ends, finished ? 1 : 2, -1);
    ssize_t bytes = found > 0 && ends[0].revents ? recv(ends[0].fd, message, sizeof message, MSG_DONTWAIT) : -1;
    bool nothing = bytes < 0 && (found < 0 || !ends[0].revents || errno == EAGAIN || errno == EINTR);
    pthread_mutex_lock(&service->lock);
    service->receiving = false;
    service->users--;
    if (!nothing && service->socket == ends[0].fd)
        hear(service, message, bytes);
    close_unused(service);
    pthread_cond_broadcast(&service->changed);
}

bool corun_service_next(struct corun_service *service, uint64_t *query)
{
    bool any;
    pthread_mutex_lock(&service->lock);
    struct entry *entry;
    while (!(entry = first_to_start(service, &any)) && (any || !service->finished)) {
        if (service->socket >= 0 && !service->receiving)
            receive(service);
        else
            pthread_cond_wait(&service->changed, &service->lock);
    }
    if (entry) {
        entry->state = RUNS;
        *query = entry->query;
    }
    pthread_mutex_unlock(&service->lock);
    return entry;
}

/* Whether the agent knows of this query; with the lock. */
static bool is_known(struct corun_service *service, uint64_t query)
{
    const struct entry *entry = find(service, query);
    return entry && service->socket >= 0 && entry->connection == service->connection;
}

void corun_service_begin(struct corun_service *service, uint64_t query, const int32_t *threads, uint32_t count)
{
    struct {
        struct corun_service_begin head;
        int32_t threads[CORUN_SERVICE_THREADS];
    } message = {.head = {.kind = CORUN_SERVICE_BEGIN, .thread_count = count, .query = query}};
    if (count > CORUN_SERVICE_THREADS)
        return;
    if (count)
        memcpy(message.threads, threads, count * sizeof *threads);
    pthread_mutex_lock(&service->lock);
    if (is_known(service, query))
        tell(service, &message, sizeof message.head + count * sizeof *threads);
    pthread_mutex_unlock(&service->lock);
}

void corun_service_progress(struct corun_service *service, uint64_t query, double progress)
{
    const struct corun_service_progress message = {
        .kind = CORUN_SERVICE_PROGRESS, .query = query, .progress = progress};
    pthread_mutex_lock(&service->lock);
    if (is_known(service, query))
        tell(service, &message, sizeof message);
    pthread_mutex_unlock(&service->lock);
}

void corun_service_end(struct corun_service *service, uint64_t query)
{
    const struct corun_service_end message = {.kind = CORUN_SERVICE_END, .query = query, .at_ns = now_ns()};
    pthread_mutex_lock(&service->lock);
    if (is_known(service, query))
        tell(service, &message, sizeof message);
    struct entry *entry = find(service, query);
    if (entry) {
        size_t behind = service->count - (size_t)(entry - service->entries) - 1;
        memmove(entry, entry + 1, behind * sizeof *entry);
        service->count--;
    }
    seek(service);
    tell_arrivals(service);
    pthread_mutex_unlock(&service->lock);
}

void corun_service_work(struct corun_service *service, double work)
{
    const struct corun_service_work message = {.kind = CORUN_SERVICE_WORK, .work = work};
    pthread_mutex_lock(&service->lock);
    seek(service);
    tell(service, &message, sizeof message);
    pthread_mutex_unlock(&service->lock);
}
