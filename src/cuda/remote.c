/* SPDX-License-Identifier: MIT */
/* The way to the daemon: joining it, memory and modules. Launches and time: remote_machine.c. */
#include "cuda/remote.h"

#include "cuda/console.h"
#include "cuda/context.h"
#include "cuda/process.h"
#include "cuda/remote_link.h"
#include "cuda/settings.h"
#include "isa/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the connection ---- */

enum corun_status remote_lost(struct remote *remote)
{
    if (!remote->lost)
        say("the connection to corund is gone");
    remote->lost = true;
    return CORUN_DEADLOCK; /* CUDA_ERROR_LAUNCH_FAILED: the context cannot continue */
}

enum corun_status remote_status(uint32_t status)
{
    return status < CORUN_STATUS_COUNT ? (enum corun_status)status : CORUN_FAULT;
}

bool remote_is_lost(const struct remote *remote)
{
    return remote && remote->lost;
}

/* What is said of kernels: notes at once, what stops them together with the failure. */
static void take_message(const struct remote *remote, const struct wire_frame *frame)
{
    struct wire_message message;
    wire_body(frame, &message);
    message.file[sizeof message.file - 1] = 0;
    struct corun_place place = {*message.file ? message.file : NULL, message.line, message.column};
    enum corun_status status = remote_status(message.status);
    corun_report(remote->list, status, place, "%.*s", (int)frame->tail_bytes, (const char *)frame->tail);
    if (status == CORUN_OK)
        say_diagnostics(remote->list);
}

bool remote_answer(struct remote *remote, enum wire_type type, struct wire_frame *frame)
{
    while (wire_receive(&remote->link, frame)) {
        if (frame->type == type)
            return true;
        if (frame->type == WIRE_MESSAGE)
            take_message(remote, frame);
        else if (frame->type == WIRE_PRINT)
            print_device_text(NULL, (const char *)frame->tail, frame->tail_bytes);
        else if (frame->type == WIRE_ENDED)
            remote_ended(remote, frame);
        else
            wire_close(&remote->link);
    }
    return false;
}

enum corun_status remote_ask(struct remote *remote, enum wire_type type, const void *body)
{
    struct wire_frame frame;
    struct wire_done done;
    enum corun_status status = remote_come_back(remote);
    if (status != CORUN_OK)
        return status;
    if (!wire_send(&remote->link, type, body, NULL, 0) || !remote_answer(remote, WIRE_DONE, &frame))
        return remote_lost(remote);
    wire_body(&frame, &done);
    return remote_status(done.status);
}

enum corun_status remote_place(struct remote *remote, enum wire_type type, const void *body, const void *tail,
                               uint32_t tail_bytes, struct wire_place *place)
{
    struct wire_frame frame;
    *place = (struct wire_place){0};
    enum corun_status status = remote_come_back(remote);
    if (status != CORUN_OK)
        return status;
    if (!wire_send(&remote->link, type, body, tail, tail_bytes) || !remote_answer(remote, WIRE_PLACE, &frame))
        return remote_lost(remote);
    wire_body(&frame, place);
    return remote_status(place->status);
}

/* ---- joining ---- */

static double number_of(const char *name)
{
    const char *text = getenv(name);
    return text ? strtod(text, NULL) : 0;
}

static void describe(struct wire_join *join)
{
    const char *name = getenv(setting_NAME), *kind = getenv(setting_GOAL_KIND);
    *join = (struct wire_join){.version = WIRE_VERSION,
                               .model_version = CORUN_MODEL_VERSION,
                               .configuration_bytes = sizeof(struct corun_gpu_config),
                               .counter_bytes = sizeof(struct corun_counters),
                               .goal_value = number_of(setting_GOAL),
                               .isolated_ipc = number_of(setting_ISOLATED)};
    if (join->goal_value > 0)
        join->goal = wire_goal_kind(kind);
    name = name && *name ? name : program_invocation_short_name;
    memcpy(join->name, name, strnlen(name, sizeof join->name - 1));
    const char *gpu = getenv(setting_DAEMON_GPU), *visible = getenv("CUDA_VISIBLE_DEVICES");
    if (gpu && *gpu)
        memcpy(join->gpu, gpu, strnlen(gpu, sizeof join->gpu - 1));
    else if (visible) /* the first of them */
        snprintf(join->gpu, sizeof join->gpu, "%.*s", (int)strspn(visible, "0123456789"), visible);
}

static bool be_welcome(struct remote *remote, const char *path, struct corun_gpu_config *configuration)
{
    struct wire_join join;
    struct wire_frame frame;
    struct wire_welcome welcome;
    describe(&join);
    if (!wire_send(&remote->link, WIRE_JOIN, &join, NULL, 0) || !wire_receive(&remote->link, &frame)) {
        corun_report(remote->list, CORUN_FILE, CORUN_NOWHERE, "%s: corund has closed the connection", path);
        return false;
    }
    if (frame.type != WIRE_WELCOME) {
        corun_report(remote->list, CORUN_ARGUMENT, CORUN_NOWHERE, "%s: %.*s", path, (int)frame.tail_bytes,
                     (const char *)frame.tail);
        return false;
    }
    wire_body(&frame, &welcome);
    const struct corun_gpu_config *gpu = &welcome.configuration;
    if (!wire_text(gpu->name, sizeof gpu->name) || corun_gpu_config_check(gpu, remote->list) != CORUN_OK) {
        corun_report(remote->list, CORUN_ARGUMENT, CORUN_NOWHERE, "%s: no GPU can be as corund says that its own is",
                     path);
        return false;
    }
    *configuration = remote->configuration = *gpu;
    remote->paced = welcome.paced != 0;
    return true;
}

bool remote_paced(const struct remote *remote)
{
    return remote && remote->paced;
}

struct remote *remote_join(const char *path, struct corun_diagnostics *list, struct corun_gpu_config *configuration)
{
    struct remote *remote = calloc(1, sizeof *remote);
    if (!remote)
        return NULL;
    *remote = (struct remote){.link = {.socket = -1, .file = -1}, .list = list, .forking = {-1, -1}};
    for (uint32_t i = 0; i < CORUN_MAX_APPLICATIONS; i++)
        remote->spaces[i] = (struct remote_space){.remote = remote, .number = i, .file = -1};
    int problem = wire_connect(&remote->link, path);
    if (problem)
        corun_report(list, CORUN_FILE, CORUN_NOWHERE, "%s: no corund can be reached there: %s", path,
                     strerror(problem));
    if (!problem && be_welcome(remote, path, configuration))
        return remote;
    wire_close(&remote->link);
    free(remote);
    return NULL;
}

enum corun_status remote_set_goal(struct remote *remote, enum corun_goal_kind kind, double value)
{
    const struct wire_goal body = {0, (uint32_t)kind, value};
    return remote->lost ? CORUN_DEADLOCK : remote_ask(remote, WIRE_GOAL, &body);
}

void remote_run(struct remote *remote, uint64_t cycles, bool again)
{
    const struct wire_run body = {cycles, again, 0};
    if (!remote->lost)
        (void)wire_send(&remote->link, WIRE_RUN, &body, NULL, 0);
}

/* ---- memory ---- */

static enum corun_status allocated(void *user, uint64_t address, uint64_t bytes, bool pages)
{
    const struct remote_space *space = user;
    const struct wire_allocate body = {space->number, pages, address, bytes};
    return remote_ask(space->remote, WIRE_ALLOCATE, &body);
}

/* What lies in a space is in the daemon already; pages of the program come into one. */
static enum corun_status adopted(void *user, uint64_t address, const void *host, uint64_t bytes)
{
    struct remote_space *space = user;
    struct remote *remote = space->remote;
    struct wire_adopt body = {.memory = space->number, .address = address, .bytes = bytes};
    if (remote_find_loan(remote, host, bytes, &body.from, &body.from_address))
        return remote_ask(remote, WIRE_ADOPT, &body);
    for (uint32_t i = 0; i < CORUN_MAX_APPLICATIONS; i++) {
        body.from = i;
        if (remote->spaces[i].memory &&
            (body.from_address = memory_address_of(remote->spaces[i].memory, host, bytes)) != 0)
            return remote_ask(remote, WIRE_ADOPT, &body);
    }
    bool own = address == (uint64_t)(uintptr_t)host;
    enum corun_status status = own ? remote_lend(space, address, host, bytes) : CORUN_UNSUPPORTED;
    if (status == CORUN_UNSUPPORTED && !remote->complained) {
        say(own ? "a page of the program can be registered once at a time under corund"
                : "memory that is mapped to addresses (cuMemMap) cannot be used by kernels under corund");
        remote->complained = true;
    }
    return status;
}

static enum corun_status texture_created(void *user, const struct corun_texture *texture, uint64_t handle)
{
    const struct remote_space *space = user;
    const struct wire_texture body = {space->number, 0, handle, *texture};
    return remote_ask(space->remote, WIRE_TEXTURE, &body);
}

static void texture_destroyed(void *user, uint64_t handle)
{
    const struct remote_space *space = user;
    const struct wire_at body = {space->number, 0, handle};
    (void)wire_send(&space->remote->link, WIRE_TEXTURE_GONE, &body, NULL, 0);
}

static void tell_text(const struct remote_space *space, enum wire_type type, uint64_t address, const char *text)
{
    struct wire_text_at body = {.memory = space->number, .address = address};
    memcpy(body.text, text, strnlen(text, sizeof body.text - 1));
    (void)wire_send(&space->remote->link, type, &body, NULL, 0);
}

static void named(void *user, uint64_t address, const char *name)
{
    tell_text(user, WIRE_NAME, address, name);
}

static void freed(void *user, uint64_t address, const char *freer)
{
    struct remote_space *space = user;
    tell_text(space, WIRE_FREE, address, freer);
    remote_return(space, address);
}

/* The file of the answer that came last becomes the memory. Behind the end of a shorter one lies nothing, and a look there would be the end. */
static bool map_storage(struct remote *remote, struct remote_space *space)
{
    struct stat about;
    space->file = remote->link.file;
    remote->link.file = -1;
    void *storage = MAP_FAILED;
    if (space->file >= 0 && fstat(space->file, &about) == 0 && about.st_size == (off_t)MEMORY_BACKING_BYTES &&
        (fcntl(space->file, F_GET_SEALS) & F_SEAL_SHRINK) != 0)
        storage = mmap(NULL, MEMORY_BACKING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, space->file, 0);
    if (storage == MAP_FAILED)
        return false;
    space->storage = storage;
    (void)madvise(storage, MEMORY_BACKING_BYTES, MADV_DONTDUMP);
    return true;
}

bool remote_memory_create(struct remote *remote, struct context *context)
{
    const struct wire_none none = {0};
    struct wire_place place;
    if (remote_place(remote, WIRE_CONTEXT, &none, NULL, 0, &place) != CORUN_OK || place.place >= CORUN_MAX_APPLICATIONS)
        return false;
    struct remote_space *space = &remote->spaces[place.place];
    if (space->memory) /* another context's, whatever corund says */
        return false;
    if (!map_storage(remote, space) || !(space->memory = corun_memory_create(space->number))) {
        remote_memory_destroy(remote, (uint32_t)place.place);
        return false;
    }
    corun_memory_map_pages(space->memory);
    struct memory_backing backing = {space->file,     space->storage,    space, allocated, adopted,
                                     texture_created, texture_destroyed, named, freed};
    memory_back(space->memory, &backing);
    context->memory = space->memory;
    context->memory_index = space->number;
    remote->cycle = place.cycle;
    struct device *device = context->device;
    device->cycle = place.cycle > device->cycle ? place.cycle : device->cycle;
    device->host_cycle = device->cycle > device->host_cycle ? device->cycle : device->host_cycle;
    return true;
}

void remote_memory_destroy(struct remote *remote, uint32_t number)
{
    struct remote_space *space = &remote->spaces[number];
    const struct wire_memory body = {number};
    remote_return_all(space);
    if (!remote->lost)
        (void)remote_ask(remote, WIRE_CONTEXT_GONE, &body);
    if (space->storage)
        munmap(space->storage, MEMORY_BACKING_BYTES);
    if (space->file >= 0)
        close(space->file);
    vector_free(&space->instances);
    *space = (struct remote_space){.remote = remote, .number = number, .file = -1};
}

/* ---- modules ---- */

/* Both make the instance: here its addresses are known, there it runs. Both find the same places for its variables. */
enum corun_status remote_module_load(struct remote *remote, struct context *context, const struct machine_module *from,
                                     struct corun_module *module, struct corun_diagnostics *list,
                                     struct corun_module_instance **instance)
{
    struct remote_space *space = &remote->spaces[context->memory_index];
    struct wire_module body = {.memory = space->number, .rewrites = from->rewrites, .checks = process_get()->checks};
    struct wire_place place;
    *instance = NULL;
    if (from->bytes > WIRE_MOST_TEXT)
        return corun_report(list, CORUN_LIMIT, CORUN_NOWHERE, "%s: a module of %zu bytes is too large for corund",
                            from->name, from->bytes);
    memcpy(body.name, from->name, strnlen(from->name, sizeof body.name - 1));
    /* there first: what the daemon refuses takes no addresses, neither here nor there */
    enum corun_status status = remote_place(remote, WIRE_MODULE, &body, from->text, (uint32_t)from->bytes, &place);
    memory_be_quiet(context->memory, true);
    if (status == CORUN_OK)
        status = corun_module_instance_create(module, context->memory, list, instance);
    memory_be_quiet(context->memory, false);
    if (status == CORUN_OK &&
        !vector_push(&space->instances, ((struct remote_instance){*instance, (uint32_t)place.place})))
        status = CORUN_MEMORY;
    return status;
}
