/* SPDX-License-Identifier: MIT */
/* A context of a client: memory that both processes have, modules, an application of the machine, launches in flight. */
#include "daemon/node.h"

#include "isa/executor.h"
#include "isa/memory.h"
#include "isa/profile_lines.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* The first space of a client has the client's number where that is free, so that its addresses are the same in every run. */
static uint32_t free_number(const struct session *session)
{
    const struct device *device = session->device;
    uint32_t first = session->number;
    if (first < CORUN_MAX_APPLICATIONS && !device->spaces[first])
        return first;
    for (uint32_t i = device->node->settings.expected_count; i < CORUN_MAX_APPLICATIONS; i++)
        if (!device->spaces[i])
            return i;
    return CORUN_MAX_APPLICATIONS;
}

static bool map_storage(struct space *space, int flags)
{
    void *storage =
        mmap(space->storage, MEMORY_BACKING_BYTES, PROT_READ | PROT_WRITE, flags | MAP_NORESERVE, space->file, 0);
    if (storage == MAP_FAILED)
        return false;
    space->storage = storage;
    (void)madvise(storage, MEMORY_BACKING_BYTES, MADV_DONTDUMP);
    return true;
}

/* A file that nobody can make shorter: what is mapped here stays readable. It takes memory where it was written. */
static bool make_storage(struct space *space)
{
    space->file = memfd_create("corun-memory", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (space->file < 0 || ftruncate(space->file, (off_t)MEMORY_BACKING_BYTES) != 0 ||
        fcntl(space->file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
        return false;
    return map_storage(space, MAP_SHARED);
}

/* Without storage. */
static struct space *begin_space(struct session *session, uint32_t number)
{
    struct space *space = calloc(1, sizeof *space);
    if (!space)
        return NULL;
    *space = (struct space){.session = session, .number = number, .file = -1, .application = CORUN_NO_APPLICATION};
    session->spaces[number] = session->device->spaces[number] = space;
    space->list = corun_diagnostics_create();
    space->memory = corun_memory_create(number);
    if (space->list && space->memory)
        return space;
    space_destroy(space);
    return NULL;
}

/* ---- of another corund ---- */

struct space *space_restore(struct session *session, uint32_t number, int file)
{
    struct stat about;
    bool fits = number < CORUN_MAX_APPLICATIONS && !session->device->spaces[number] && fstat(file, &about) == 0 &&
                about.st_size == (off_t)MEMORY_BACKING_BYTES;
    struct space *space = fits ? begin_space(session, number) : NULL;
    if (!space)
        return NULL;
    space->file = file;
    if (!map_storage(space, MAP_PRIVATE)) {
        space_destroy(space);
        return NULL;
    }
    corun_memory_map_pages(space->memory);
    struct memory_backing backing = {.file = -1, .storage = space->storage};
    memory_back(space->memory, &backing);
    return space;
}

bool space_settle(struct space *space)
{
    memory_back_file(space->memory, space->file);
    return map_storage(space, MAP_SHARED | MAP_FIXED);
}

enum corun_status space_create(struct session *session, struct space **result)
{
    uint32_t number = free_number(session);
    *result = NULL;
    if (number == CORUN_MAX_APPLICATIONS)
        return CORUN_LIMIT;
    struct space *space = begin_space(session, number);
    if (!space)
        return CORUN_MEMORY;
    if (!make_storage(space)) {
        space_destroy(space);
        return CORUN_MEMORY;
    }
    corun_memory_map_pages(space->memory);
    struct memory_backing backing = {.file = space->file, .storage = space->storage};
    memory_back(space->memory, &backing);
    *result = space;
    return CORUN_OK;
}

void space_destroy(struct space *space)
{
    (void)space_leave(space);
    for (size_t i = 0; i < space->instances.count; i++) {
        corun_module_instance_destroy(space->instances.data[i]);
        corun_module_destroy(space->modules.data[i]);
    }
    for (size_t i = 0; i < space->texts.count; i++)
        free(space->texts.data[i]);
    vector_free(&space->texts);
    vector_free(&space->instances);
    vector_free(&space->modules);
    vector_free(&space->flights);
    vector_free(&space->pinned);
    corun_memory_destroy(space->memory);
    corun_diagnostics_destroy(space->list);
    if (space->storage)
        munmap(space->storage, MEMORY_BACKING_BYTES);
    struct session *session = space->session;
    if (session->file == space->file)
        session->file = -1;
    if (space->file >= 0)
        close(space->file);
    session->spaces[space->number] = session->device->spaces[space->number] = NULL;
    free(space);
}

/* ---- its application ---- */

static void print(void *user, const char *text, size_t bytes)
{
    const struct space *space = user;
    const struct wire_none none = {0};
    while (bytes) {
        uint32_t part = bytes < WIRE_MOST_LINE ? (uint32_t)bytes : WIRE_MOST_LINE;
        session_send(space->session, WIRE_PRINT, &none, text, part);
        text += part;
        bytes -= part;
    }
}

enum corun_status space_enter(struct space *space)
{
    struct device *device = space->session->device;
    const struct wire_join *join = &space->session->join;
    if (space->application != CORUN_NO_APPLICATION)
        return CORUN_ARGUMENT;
    struct corun_application_description description = {.name = "program",
                                                        .goal = (enum corun_goal_kind)join->goal,
                                                        .goal_value = join->goal_value,
                                                        .isolated_ipc = join->isolated_ipc,
                                                        .print = print,
                                                        .user = space,
                                                        .list = space->list};
    if (join->goal == CORUN_GOAL_FRACTION)
        description.goal_ipc = join->goal_value * join->isolated_ipc;
    if (join->goal == CORUN_GOAL_IPC)
        description.goal_ipc = join->goal_value;
    enum corun_status status = corun_gpu_add(device->gpu, &description, &space->application);
    if (status != CORUN_OK)
        return status;
    space->alone = true;
    for (uint32_t i = 0; i < CORUN_MAX_APPLICATIONS; i++) {
        struct space *other = device->spaces[i];
        if (other && other != space && other->application != CORUN_NO_APPLICATION)
            space->alone = other->alone = false;
    }
    return CORUN_OK;
}

/* The rate of a program that had the machine for itself is kept under its name. */
static void keep_rate(const struct space *space)
{
    struct device *device = space->session->device;
    struct corun_application_result result;
    corun_gpu_application(device->gpu, space->application, &result);
    uint64_t cycles = corun_gpu_cycles(device->gpu) - result.arrived_cycle;
    if (!space->alone || result.status != CORUN_OK || !result.thread_instructions || !cycles)
        return;
    struct known_rate rate = {.ipc = (double)result.thread_instructions / (double)cycles};
    memcpy(rate.name, space->session->join.name, sizeof rate.name);
    rate.uid = space->session->uid;
    for (size_t i = 0; i < device->known.count; i++)
        if (device->known.data[i].uid == rate.uid && !strcmp(device->known.data[i].name, rate.name)) {
            device->known.data[i] = rate;
            return;
        }
    if (device->known.count < NODE_MOST_SESSIONS)
        (void)vector_push(&device->known, rate);
}

struct told {
    const struct space *space;
    const char *kernel;
};

static void tell_line(void *user, const struct corun_profile_line *line)
{
    const struct told *told = user;
    const struct node_settings *settings = &told->space->session->node->settings;
    settings->profiled(settings->left_user, told->space->session, told->kernel, line);
}

static void tell_profile(const struct space *space, uint32_t number)
{
    const struct corun_gpu *gpu = space->session->device->gpu;
    uint32_t count;
    const struct corun_instruction *code;
    struct corun_kernel_result kernel;
    const struct corun_profile_row *rows = corun_gpu_kernel_profile(gpu, space->application, number, &count, &code);
    corun_gpu_kernel(gpu, space->application, number, &kernel);
    struct told told = {space, kernel.name};
    bool whole = space->texts.count == space->modules.count; /* else there was no memory for one of them */
    for (size_t m = 0; rows && m < space->modules.count; m++)
        if (profile_is_of(space->modules.data[m], code)) {
            (void)profile_tell_lines(space->modules.data[m], whole ? space->texts.data[m] : "", rows, code, count,
                                     tell_line, &told);
            return;
        }
}

static void tell_leaving(const struct space *space)
{
    const struct node *node = space->session->node;
    struct corun_application_result result;
    if (!node->settings.left)
        return;
    struct corun_gpu *gpu = space->session->device->gpu;
    corun_gpu_application(gpu, space->application, &result);
    for (uint32_t k = 0; node->settings.profiled && k < result.kernel_count; k++)
        tell_profile(space, k);
    node->settings.left(node->settings.left_user, space->session, &result, corun_gpu_cycles(gpu));
}

enum corun_status space_leave(struct space *space)
{
    struct device *device = space->session->device;
    if (space->application == CORUN_NO_APPLICATION)
        return CORUN_OK;
    keep_rate(space);
    tell_leaving(space);
    enum corun_status status = corun_gpu_leave(device->gpu, space->application);
    space->application = CORUN_NO_APPLICATION;
    for (size_t i = 0; i < space->flights.count; i++)
        corun_grid_destroy(space->flights.data[i].grid);
    space->flights.count = 0;
    corun_diagnostics_clear(space->list);
    if (status == CORUN_POLICY || status == CORUN_MEMORY) /* the machine cannot continue */
        device->node->failed = true;
    return status;
}

/* ---- modules and launches ---- */

static enum corun_status make_instance(struct space *space, struct corun_module *module,
                                       struct corun_module_instance **instance)
{
    uint64_t bytes = module_variable_bytes(module);
    if (bytes && !session_has_memory(space->session, bytes))
        return corun_report(space->list, CORUN_MEMORY, CORUN_NOWHERE,
                            "there is no device memory left for the %llu bytes of a module's variables",
                            (unsigned long long)bytes);
    return corun_module_instance_create(module, space->memory, space->list, instance);
}

enum corun_status space_load(struct space *space, const struct wire_module *wanted, const void *text, uint32_t bytes,
                             uint32_t *number)
{
    struct corun_module *module = NULL;
    struct corun_module_instance *instance = NULL;
    enum corun_status status = corun_module_assemble(wanted->name, text, bytes, wanted->rewrites, space->list, &module);
    if (status == CORUN_OK)
        status = make_instance(space, module, &instance);
    if (status == CORUN_OK && (!vector_push(&space->modules, module) || !vector_push(&space->instances, instance))) {
        space->modules.count = space->instances.count;
        status = CORUN_MEMORY;
    }
    char *copy = status == CORUN_OK && space->session->node->settings.profiled ? strndup(text, bytes) : NULL;
    if (copy && !vector_push(&space->texts, copy))
        free(copy);
    space_say(space);
    if (status != CORUN_OK) {
        corun_module_instance_destroy(instance);
        corun_module_destroy(module);
        return status;
    }
    corun_module_instance_check(instance, wanted->checks);
    corun_module_instance_architecture(instance, space->session->device->configuration.compute_capability);
    *number = (uint32_t)space->instances.count - 1;
    return CORUN_OK;
}

static enum corun_status make_grid(struct space *space, const struct wire_launch *launch, const void *parameters,
                                   uint32_t bytes, struct corun_grid **grid)
{
    const struct corun_kernel *kernel = corun_module_kernel_at(space->modules.data[launch->module], launch->kernel);
    if (!kernel)
        return CORUN_ARGUMENT;
    struct corun_launch_description description = {
        .kernel = kernel,
        .grid = launch->grid,
        .block = launch->block,
        .dynamic_shared_bytes = launch->dynamic_shared_bytes,
        .parameters = parameters,
        .parameter_bytes = bytes,
        .meeting_address = launch->meeting_address,
        .cluster = {launch->cluster[0], launch->cluster[1], launch->cluster[2]},
        .cluster_balanced = launch->cluster_balanced,
        .stack_bytes = launch->stack_bytes};
    return corun_grid_create(space->instances.data[launch->module], &description, space->list, grid);
}

enum corun_status space_launch(struct space *space, const struct wire_launch *launch, const void *parameters,
                               uint32_t bytes, struct wire_launched *launched)
{
    struct corun_gpu *gpu = space->session->device->gpu;
    struct flight flight = {.module = launch->module};
    if (space->application == CORUN_NO_APPLICATION || launch->module >= space->instances.count ||
        space->flights.count >= WIRE_MOST_FLIGHTS)
        return CORUN_ARGUMENT;
    enum corun_status status = make_grid(space, launch, parameters, bytes, &flight.grid);
    if (status == CORUN_OK && !vector_push(&space->flights, flight)) {
        corun_grid_destroy(flight.grid);
        status = CORUN_MEMORY;
    }
    if (status == CORUN_OK) {
        struct flight *kept = &space->flights.data[space->flights.count - 1];
        status = corun_gpu_launch(gpu, space->application, kept->grid, launch->cycle, launch->priority, &kept->number);
        kept->told = status != CORUN_OK; /* then the application has been stopped */
        launched->number = kept->number;
        kept->since = launch->cycle > corun_gpu_cycles(gpu) ? launch->cycle : corun_gpu_cycles(gpu);
        if (status == CORUN_OK)
            corun_gpu_launch_counters(gpu, space->application, kept->number, &launched->before);
    }
    space_say(space);
    return status;
}

/* Of one that ended well nothing is kept; of a stopped application everything until it leaves. */
static void tell_end(struct space *space, struct flight *flight, const struct corun_launched *launched)
{
    struct corun_gpu *gpu = space->session->device->gpu;
    struct wire_ended ended = {.memory = space->number,
                               .number = flight->number,
                               .status = launched->status,
                               .first_cycle = launched->first_cycle,
                               .last_cycle = launched->last_cycle};
    corun_gpu_launch_counters(gpu, space->application, flight->number, &ended.counters);
    flight->told = true;
    (void)corun_module_instance_outside(space->instances.data[flight->module], space->list);
    space_say(space);
    session_send(space->session, WIRE_ENDED, &ended, NULL, 0);
    if (launched->status != CORUN_OK)
        return;
    space->session->launches++;
    lengths_add(&space->session->latencies,
                launched->last_cycle > flight->since ? launched->last_cycle - flight->since : 0, false);
    (void)corun_gpu_forget(gpu, space->application, flight->number);
    corun_grid_destroy(flight->grid);
    flight->grid = NULL;
}

bool space_tell(struct space *space)
{
    bool any = false;
    size_t kept = 0;
    for (size_t i = 0; i < space->flights.count; i++) {
        struct flight flight = space->flights.data[i];
        struct corun_launched launched = {0};
        if (!flight.told)
            corun_gpu_launched(space->session->device->gpu, space->application, flight.number, &launched);
        if (launched.ended) {
            tell_end(space, &flight, &launched);
            any = true;
        }
        if (flight.grid)
            space->flights.data[kept++] = flight;
    }
    space->flights.count = kept;
    return any;
}

void space_say(struct space *space)
{
    for (size_t i = 0; i < corun_diagnostics_count(space->list); i++) {
        const struct corun_diagnostic *diagnostic = corun_diagnostics_get(space->list, i);
        struct wire_message message = {diagnostic->status, diagnostic->place.line, diagnostic->place.column, {0}};
        size_t length = strlen(diagnostic->message);
        const char *file = diagnostic->place.file ? diagnostic->place.file : "";
        memcpy(message.file, file, strnlen(file, sizeof message.file - 1));
        session_send(space->session, WIRE_MESSAGE, &message, diagnostic->message,
                     length < WIRE_MOST_LINE ? (uint32_t)length : WIRE_MOST_LINE);
    }
    corun_diagnostics_clear(space->list);
}
