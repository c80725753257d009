/* SPDX-License-Identifier: MIT */
/*
 * Grids are numbered for the archive in the order of their launches: those in flight, and the first of each kernel, which is kept when its launch has ended,
 * as the machine knows kernels by the code of a grid.
 */
#include "cuda/journaled_machine.h"

#include "base/vector.h"
#include "corun/checkpoint.h"
#include "cuda/checkpoint.h"
#include "cuda/console.h"
#include "cuda/device.h"
#include "cuda/machine.h"
#include "cuda/module.h"
#include "cuda/process.h"
#include "cuda/stream.h"
#include "cuda/task.h"
#include "isa/executor.h"

#include <stdlib.h>
#include <string.h>

struct known_grid {
    uint32_t application, number; /* of the machine */
    struct corun_grid *grid;      /* NULL: destroyed, its launch is forgotten next */
    bool in_flight, kept, clusters;
};

struct known_application {
    struct corun_application_description description;
    uint32_t memory, handle;
};

struct journaled_machine {
    struct process *process;
    struct device *device;
    struct corun_gpu *gpu;        /* has done nothing yet where answers come from the journal */
    uint64_t cycle;               /* as the last answer had it */
    uint32_t in_flight, clusters; /* launches; those of them with clusters, which cannot be saved in flight */
    VECTOR(struct known_grid) grids;
    VECTOR(struct known_application) applications;
};

static uint64_t add_number(uint64_t digest, uint64_t number)
{
    return journal_digest(&number, sizeof number, digest);
}

/* A status and a number: the answer of the journal, or that of the GPU. */
static enum corun_status note(struct journaled_machine *machine, enum journal_kind kind, uint64_t digest,
                              enum corun_status status, uint64_t *number)
{
    struct journal_numbers answer = {status, *number};
    checkpoint_note(machine->process, kind, digest, &answer, sizeof answer);
    *number = answer.number;
    return answer.status < CORUN_STATUS_COUNT ? (enum corun_status)answer.status : CORUN_SYNTAX;
}

/* True: the GPU is to be asked. */
static bool is_live(struct journaled_machine *machine)
{
    return !checkpoint_replays(machine->process);
}

/* ---- grids ---- */

static struct known_grid *find_grid(struct journaled_machine *machine, const struct corun_grid *grid)
{
    for (size_t i = 0; i < machine->grids.count; i++)
        if (machine->grids.data[i].grid == grid)
            return &machine->grids.data[i];
    return NULL;
}

static bool is_first_of_code(const struct journaled_machine *machine, const struct known_grid *one)
{
    for (const struct known_grid *other = machine->grids.data; other < one; other++)
        if (other->application == one->application && other->grid && other->grid->code == one->grid->code)
            return false;
    return true;
}

void journaled_machine_release(struct process *process, struct corun_grid *grid)
{
    struct journaled_machine *machine = process->checkpoint ? process->checkpoint->machine : NULL;
    struct known_grid *known = machine && grid ? find_grid(machine, grid) : NULL;
    if (known && is_first_of_code(machine, known)) {
        known->kept = true;
        return;
    }
    if (known)
        known->grid = NULL;
    corun_grid_destroy(grid);
}

static void take_out(struct journaled_machine *machine, size_t index)
{
    struct known_grid *all = machine->grids.data;
    memmove(&all[index], &all[index + 1], (--machine->grids.count - index) * sizeof *all);
}

/* The launch is over for the machine. */
static void forget_grid(struct journaled_machine *machine, uint32_t application, uint32_t number)
{
    for (size_t i = 0; i < machine->grids.count; i++) {
        struct known_grid *known = &machine->grids.data[i];
        if (!known->in_flight || known->application != application || known->number != number)
            continue;
        known->in_flight = false;
        machine->in_flight--;
        machine->clusters -= known->clusters;
        if (!known->kept)
            take_out(machine, i);
        return;
    }
}

/* `all`, or those of an application that has gone. */
static void forget_grids(struct journaled_machine *machine, bool all, uint32_t application)
{
    for (size_t i = machine->grids.count; i-- > 0;) {
        const struct known_grid known = machine->grids.data[i];
        if (!all && known.application != application)
            continue;
        machine->in_flight -= known.in_flight;
        machine->clusters -= known.in_flight && known.clusters;
        take_out(machine, i);
        if (known.kept)
            corun_grid_destroy(known.grid);
    }
}

/* For the archive of the GPU, which names applications by their slots. */
static const struct corun_grid *grid_numbered(void *user, uint32_t slot, uint32_t number)
{
    const struct journaled_machine *machine = user;
    for (size_t i = 0; i < machine->grids.count; i++)
        if (corun_application_slot(machine->grids.data[i].application) == slot && number-- == 0)
            return machine->grids.data[i].grid;
    return NULL;
}

struct corun_grid **journaled_machine_grids(const struct journaled_machine *machine,
                                            const struct corun_module_instance *instance, size_t *count)
{
    size_t most = machine ? machine->grids.count : 0;
    struct corun_grid **grids = calloc(most + 1, sizeof *grids);
    *count = 0;
    for (size_t i = 0; grids && i < most; i++) {
        const struct known_grid *known = &machine->grids.data[i];
        if (known->in_flight && known->grid && ((const struct launch *)known->grid)->instance == instance)
            grids[(*count)++] = known->grid;
    }
    return grids;
}

/* ---- operations ---- */

static uint64_t cycles(void *user)
{
    const struct journaled_machine *machine = user;
    return machine->cycle;
}

static const struct corun_gpu_config *configuration(void *user)
{
    const struct journaled_machine *machine = user;
    return &machine->device->config;
}

/* What kernels print, while the GPU advances. */
static void print(void *user, const char *text, size_t bytes)
{
    struct journaled_machine *machine = user;
    char *copy = malloc(bytes + 1);
    if (!copy)
        checkpoint_stop(machine->process, CORUN_MEMORY, "out of memory");
    memcpy(copy, text, bytes);
    checkpoint_note(machine->process, JOURNAL_PRINTED, 0, copy, bytes);
    free(copy);
    print_device_text(NULL, text, bytes);
}

static enum corun_status add(void *user, const struct corun_application_description *description, uint32_t memory,
                             uint32_t *application)
{
    struct journaled_machine *machine = user;
    struct known_application known = {*description, memory, 0};
    known.description.print = print;
    known.description.user = machine;
    uint64_t digest = add_number(add_number(memory, description->first_sm), description->sm_count), handle = 0;
    enum corun_status status = CORUN_OK;
    if (is_live(machine)) {
        status = corun_gpu_add(machine->gpu, &known.description, &known.handle);
        handle = known.handle;
    }
    status = note(machine, JOURNAL_ADDED, digest, status, &handle);
    *application = known.handle = (uint32_t)handle;
    if (status == CORUN_OK && !vector_push(&machine->applications, known))
        status = CORUN_MEMORY;
    return status;
}

static enum corun_status leave(void *user, uint32_t application)
{
    struct journaled_machine *machine = user;
    uint64_t nothing = 0;
    enum corun_status status = is_live(machine) ? corun_gpu_leave(machine->gpu, application) : CORUN_OK;
    status = note(machine, JOURNAL_LEFT, application, status, &nothing);
    forget_grids(machine, false, application);
    return status;
}

static enum corun_status launch(void *user, uint32_t application, const struct corun_grid *grid, uint64_t cycle,
                                int32_t priority, uint32_t *number)
{
    struct journaled_machine *machine = user;
    uint64_t digest = add_number(add_number(application, cycle), (uint64_t)(int64_t)priority), made = 0;
    enum corun_status status = CORUN_OK;
    bool live = is_live(machine);
    if (live && !machine->in_flight)
        checkpoint_look(machine->process, machine->device->cycle);
    *number = 0;
    if (live) {
        status = corun_gpu_launch(machine->gpu, application, grid, cycle, priority, number);
        made = *number;
    }
    status = note(machine, JOURNAL_LAUNCHED, digest, status, &made);
    *number = (uint32_t)made;
    if (status != CORUN_OK)
        return status;
    struct known_grid known = {application, *number, (struct corun_grid *)grid, true, false, grid->cluster_tbs > 1};
    if (!vector_push(&machine->grids, known))
        return CORUN_MEMORY;
    machine->in_flight++;
    machine->clusters += known.clusters;
    return CORUN_OK;
}

static void launched(void *user, uint32_t application, uint32_t number, struct corun_launched *result)
{
    struct journaled_machine *machine = user;
    struct corun_launched answer;
    memset(&answer, 0, sizeof answer); /* its padding goes to the file */
    if (is_live(machine)) {
        corun_gpu_launched(machine->gpu, application, number, result);
        answer.status = result->status;
        answer.ended = result->ended;
        answer.first_cycle = result->first_cycle;
        answer.last_cycle = result->last_cycle;
        answer.estimated = result->estimated;
    }
    checkpoint_note(machine->process, JOURNAL_STOOD, add_number(application, number), &answer, sizeof answer);
    *result = answer;
    if (result->status != CORUN_OK)
        checkpoint_end(machine->process);
}

static void counters(void *user, uint32_t application, uint32_t number, struct corun_counters *result)
{
    struct journaled_machine *machine = user;
    if (is_live(machine))
        corun_gpu_launch_counters(machine->gpu, application, number, result);
    checkpoint_note(machine->process, JOURNAL_COUNTED, add_number(application, number), result, sizeof *result);
}

static enum corun_status forget(void *user, uint32_t application, uint32_t number)
{
    struct journaled_machine *machine = user;
    uint64_t nothing = 0;
    enum corun_status status = is_live(machine) ? corun_gpu_forget(machine->gpu, application, number) : CORUN_OK;
    status = note(machine, JOURNAL_FORGOTTEN, add_number(application, number), status, &nothing);
    forget_grid(machine, application, number);
    return status;
}

static uint64_t copy(void *user, enum corun_copy_engine engine, uint64_t since, uint64_t length_cycles)
{
    struct journaled_machine *machine = user;
    uint64_t digest = add_number(add_number(engine, since), length_cycles), start = 0;
    if (is_live(machine))
        start = corun_gpu_copy(machine->gpu, engine, since, length_cycles);
    (void)note(machine, JOURNAL_TURN, digest, CORUN_OK, &start);
    return start;
}

static void note_changed(void *user, uint64_t address, uint64_t bytes)
{
    struct process *process = user;
    uint8_t *answer = malloc(sizeof address + bytes);
    if (!answer)
        checkpoint_stop(process, CORUN_MEMORY, "out of memory");
    memcpy(answer, &address, sizeof address);
    memcpy(answer + sizeof address, (const void *)(uintptr_t)address, bytes);
    checkpoint_note(process, JOURNAL_CHANGED, 0, answer, sizeof address + bytes);
    free(answer);
}

/* What kernels wrote to memory of the host, and printed. */
static void replay_effects(struct process *process)
{
    struct checkpoint *checkpoint = process->checkpoint;
    for (;;) {
        size_t bytes = 0;
        const char *text = checkpoint_peek(checkpoint, JOURNAL_PRINTED, &bytes);
        const uint8_t *changed = text ? NULL : checkpoint_peek(checkpoint, JOURNAL_CHANGED, &bytes);
        if (text) {
            print_device_text(NULL, text, bytes);
        } else if (changed) {
            uint64_t address;
            memcpy(&address, changed, sizeof address);
            bytes -= sizeof address;
            const struct range *range = ranges_find(process, address);
            if (!range || range_of_device(range) || bytes > range->bytes - (address - range->address))
                checkpoint_differs(process, "after its task %llu (%s), memory that kernels wrote is not the host's",
                                   (unsigned long long)checkpoint->tasks, checkpoint->asked);
            memcpy((void *)(uintptr_t)address, changed + sizeof address, bytes);
        } else {
            return;
        }
        journal_pass(&checkpoint->journal);
    }
}

static enum corun_status advance(void *user, uint64_t until, uint64_t wake)
{
    struct journaled_machine *machine = user;
    struct process *process = machine->process;
    uint64_t digest = add_number(until, wake);
    enum corun_status status = CORUN_OK;
    if (is_live(machine)) {
        if (!machine->clusters)
            checkpoint_look(process, machine->device->cycle);
        if (!host_pages_look(process, &process->checkpoint->pages))
            checkpoint_stop(process, CORUN_MEMORY, "out of memory");
        corun_gpu_wake(machine->gpu, CORUN_NO_APPLICATION, wake);
        status = corun_gpu_advance(machine->gpu, until);
        machine->cycle = corun_gpu_cycles(machine->gpu);
        host_pages_changed(process, &process->checkpoint->pages, note_changed, process);
    } else {
        replay_effects(process);
    }
    return note(machine, JOURNAL_ADVANCED, digest, status, &machine->cycle);
}

static void close_machine(void *user)
{
    struct journaled_machine *machine = user;
    (void)is_live(machine);
    checkpoint_note(machine->process, JOURNAL_CLOSED, 0, NULL, 0);
    forget_grids(machine, true, 0);
    corun_gpu_destroy(machine->gpu);
    machine->process->checkpoint->machine = NULL;
    vector_free(&machine->grids);
    vector_free(&machine->applications);
    free(machine);
}

/* ---- begin, and checkpoints ---- */

static enum corun_status open_gpu(struct journaled_machine *machine)
{
    enum corun_status status = machine_open_gpu(machine->process, machine->device, &machine->gpu);
    if (status == CORUN_OK)
        corun_gpu_checkpoints(machine->gpu, &(struct corun_checkpoints){.grid = grid_numbered, .user = machine});
    return status;
}

struct stream_machine journaled_machine_open(struct process *process, struct device *device)
{
    static const struct stream_machine_operations operations = {
        cycles, configuration, add, leave, launch, launched, counters, forget, copy, advance, close_machine};
    const struct stream_machine none = {NULL, NULL};
    struct journaled_machine *machine = calloc(1, sizeof *machine);
    if (!machine)
        return none;
    machine->process = process;
    machine->device = device;
    (void)is_live(machine);
    /* Also where the journal answers: so the program finds the addresses free that it found free then. */
    if (open_gpu(machine) != CORUN_OK) {
        free(machine);
        return none;
    }
    checkpoint_note(process, JOURNAL_OPENED, 0, NULL, 0);
    process->checkpoint->machine = machine;
    return (struct stream_machine){&operations, machine};
}

/*
 * Memory of the program's own that a kernel is given the address of: it lies elsewhere than in a run without checkpoints (own_heap.c), and into which sets of
 * caches it falls is that of the address.
 */
static bool takes_own_memory(const struct process *process, const struct launch_request *request)
{
    for (size_t at = 0; at + sizeof(uint64_t) <= request->parameter_bytes; at += sizeof(uint64_t)) {
        uint64_t address;
        memcpy(&address, request->parameters + at, sizeof address);
        const struct range *range = ranges_find(process, address);
        if (range && !range_of_device(range) && address >> CORUN_APPLICATION_SHIFT > CORUN_MAX_APPLICATIONS)
            return true;
    }
    return false;
}

void journaled_machine_ask(struct process *process, const struct task *task)
{
    const struct launch_request *request = &task->launch.request;
    if (!process->checkpoint)
        return;
    if (takes_own_memory(process, request))
        checkpoint_refuse(process, "its kernels use memory of the host that it has not got from CUDA "
                                   "(cudaHostRegister, a managed variable)");
    uint64_t digest = journal_digest(request->parameters, request->parameter_bytes, task->stream->id);
    digest = add_number(digest, request->dynamic_shared_bytes);
    digest = journal_digest(&request->cluster, sizeof request->cluster, digest);
    digest = add_number(digest, request->cooperative);
    checkpoint_ask(process, digest, "launch of kernel %.100s, grid %u,%u,%u, thread blocks of %u,%u,%u",
                   request->function->name, request->grid.x, request->grid.y, request->grid.z, request->block.x,
                   request->block.y, request->block.z);
}

/* The applications come again, and get the handles that they had. */
static void add_again(struct corun_archive *archive, struct journaled_machine *machine)
{
    for (size_t i = 0; i < machine->applications.count && archive_fine(archive); i++) {
        const struct known_application *known = &machine->applications.data[i];
        uint32_t handle;
        enum corun_status status = corun_gpu_add(machine->gpu, &known->description, &handle);
        if (status != CORUN_OK || handle != known->handle)
            archive_fail(archive, status == CORUN_OK ? CORUN_UNSUPPORTED : status,
                         "application %zu of the machine does not come again", i + 1);
    }
}

void journaled_machine_archive(struct corun_archive *archive, struct journaled_machine *machine)
{
    if (archive->reads)
        add_again(archive, machine);
    if (archive_fine(archive))
        corun_gpu_archive(machine->gpu, archive);
    if (archive->reads && archive_fine(archive) && corun_gpu_cycles(machine->gpu) != machine->cycle)
        archive_fail(archive, CORUN_SYNTAX, "its cycle is not that of the journal");
}
