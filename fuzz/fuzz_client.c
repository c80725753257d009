/* SPDX-License-Identifier: MIT */
/*
 * What a corund that is none, or is damaged, says to those who ask it: corun ps, top, goal and policy, and a program on a simulated GPU, with memory, a module, a kernel, and
 * time. Nothing that comes from there may do more than end the connection.
 */
#include "cli/candidates.h"
#include "cli/command.h"
#include "cuda/context.h"
#include "cuda/device.h"
#include "cuda/remote.h"
#include "cuda/remote_link.h"
#include "isa/memory.h"
#include "lying_daemon.h"

enum { FILES = 3, MOST_STEPS = 24 };

static const char code[] = ".version 6.0\n.target sm_52\n.address_size 64\n.global .u32 cell;\n"
                           ".visible .entry store(.param .u64 p)\n{\n.reg .b64 %a<2>;\n.reg .b32 %r<2>;\n"
                           "ld.param.u64 %a1, [p];\nmov.u32 %r1, 7;\nst.global.u32 [%a1], %r1;\nret;\n}\n";

/* What a corund that says nothing wrong would say. */
static void fill(enum wire_type type, void *body)
{
    if (type == WIRE_WELCOME) {
        struct wire_welcome welcome = {.number = 0};
        corun_gpu_config_default(&welcome.configuration);
        memcpy(body, &welcome, sizeof welcome);
    } else if (type == WIRE_NODE) {
        struct wire_node node = {
            .cycle = 1000, .sample_cycles = 100, .sms = 16, .core_clock_khz = 1000000, .gpu = "gpu", .policy = "even"};
        memcpy(body, &node, sizeof node);
    } else if (type == WIRE_CLIENT) {
        struct wire_client client = {
            .number = 1, .pid = 7, .goal = CORUN_GOAL_IPC, .goal_value = 3, .cycles = 100, .name = "program"};
        memcpy(body, &client, sizeof client);
    }
}

struct fuzzed {
    struct lying_daemon *daemon;
    int files[FILES]; /* as corund makes it; too short; one that may become so */
};

static int make_file(off_t bytes, int seals)
{
    int file = memfd_create("fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (file < 0 || ftruncate(file, bytes) != 0 || fcntl(file, F_ADD_SEALS, seals) != 0)
        abort();
    return file;
}

int LLVMFuzzerInitialize(const int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* In place of the command's: nobody asks for other commands, or completes words, here. */
int command_dispatch(const char *name, int argc, char **argv)
{
    (void)name, (void)argc, (void)argv;
    return 0;
}

int candidates_print(const struct argp *argp, bool rest_is_not_ours, int count, char **words)
{
    (void)argp, (void)rest_is_not_ours, (void)count, (void)words;
    return 0;
}

/* One for the process, as the socket is. */
static struct fuzzed fuzzed;

int LLVMFuzzerInitialize(const int *argc, char ***argv)
{
    (void)argc, (void)argv;
    fuzzed.daemon = lying_begin();
    fuzzed.files[0] = make_file((off_t)MEMORY_BACKING_BYTES, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
    fuzzed.files[1] = make_file(4096, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
    fuzzed.files[2] = make_file((off_t)MEMORY_BACKING_BYTES, F_SEAL_GROW);
    if (!freopen("/dev/null", "w", stdout) || !(stderr = fopen("/dev/null", "w")))
        abort();
    return 0;
}

/* ---- the command ---- */

static void ask(const char *path, uint8_t kind)
{
    char socket[128];
    snprintf(socket, sizeof socket, "--socket=%s", path);
    char *ps[] = {(char[]){"corun ps"}, socket, NULL},
         *json[] = {(char[]){"corun ps"}, socket, (char[]){"--json=/dev/null"}, NULL},
         *top[] = {(char[]){"corun top"},    socket, (char[]){"--batch"}, (char[]){"--count=2"},
                   (char[]){"--delay=10ms"}, NULL},
         *goal[] = {(char[]){"corun goal"}, socket, (char[]){"7"}, (char[]){"80%"}, NULL},
         *policy[] = {(char[]){"corun policy"}, socket, (char[]){"--gpu=gpu"}, (char[]){"even"}, NULL};
    if (kind == 0)
        (void)command_ps(2, ps);
    else if (kind == 1)
        (void)command_ps(3, json);
    else if (kind == 2)
        (void)command_top(5, top);
    else if (kind == 3)
        (void)command_goal(4, goal);
    else
        (void)command_policy(4, policy);
}

/* ---- a program ---- */

struct program {
    struct remote *remote;
    struct stream_machine machine;
    struct device device;
    struct context contexts[2];
    struct corun_diagnostics *list;
    struct corun_module *module;
    struct corun_module_instance *instances[2];
    uint32_t application, launch;
    uint64_t address;
};

static void use_memory(struct program *program, struct context *context)
{
    uint64_t address;
    void *host;
    if (corun_memory_allocate(context->memory, 5000, &address) == CORUN_OK) {
        const uint8_t word[4] = {1, 2, 3, 4};
        if (corun_memory_write(context->memory, address, word, sizeof word) != CORUN_OK)
            abort(); /* it is ours */
        (void)corun_memory_free(context->memory, program->address);
        program->address = address;
    }
    (void)corun_memory_allocate_shared(context->memory, 4096, &address, &host);
}

static void load(struct program *program, uint32_t which)
{
    const struct machine_module from = {"fuzz", code, sizeof code - 1, 0};
    if (!program->module &&
        corun_module_load("fuzz", code, sizeof code - 1, program->list, &program->module) != CORUN_OK)
        abort();
    if (!program->instances[which])
        (void)remote_module_load(program->remote, &program->contexts[which], &from, program->module, program->list,
                                 &program->instances[which]);
}

static void launch(struct program *program, uint32_t which)
{
    if (!program->instances[which])
        return;
    const uint64_t parameter = program->address;
    const struct corun_launch_description description = {.kernel = corun_module_kernel_at(program->module, 0),
                                                         .grid = {1, 1, 1},
                                                         .block = {32, 1, 1},
                                                         .parameters = &parameter,
                                                         .parameter_bytes = sizeof parameter};
    struct corun_grid *grid = NULL;
    struct corun_launched launched;
    struct corun_counters counters;
    if (corun_grid_create(program->instances[which], &description, program->list, &grid) != CORUN_OK)
        return;
    const struct stream_machine_operations *operations = program->machine.operations;
    if (operations->launch(program->machine.machine, program->contexts[which].memory_index, grid, 100, 0,
                           &program->launch) == CORUN_OK) {
        operations->launched(program->machine.machine, program->contexts[which].memory_index, program->launch,
                             &launched);
        operations->counters(program->machine.machine, program->contexts[which].memory_index, program->launch,
                             &counters);
    }
    corun_grid_destroy(grid);
}

static void act(struct program *program, uint8_t step)
{
    uint32_t which = step / 16 % 2;
    struct context *context = &program->contexts[which];
    const struct stream_machine_operations *operations = program->machine.operations;
    if (!context->memory) {
        if (!remote_memory_create(program->remote, context))
            context->memory = NULL;
        return;
    }
    switch (step % 16 < 14 ? step % 8 : step % 16) {
    case 0:
        use_memory(program, context);
        break;
    case 1:
        load(program, which);
        break;
    case 2:
        (void)operations->add(program->machine.machine, &(struct corun_application_description){.name = "fuzz"},
                              context->memory_index, &program->application);
        break;
    case 3:
        launch(program, which);
        break;
    case 4:
        if (operations->advance(program->machine.machine, 1000, 2000) >= CORUN_STATUS_COUNT)
            abort(); /* no status that there is */
        break;
    case 5:
        (void)operations->copy(program->machine.machine, CORUN_COPY_TO_DEVICE, 0, 100);
        break;
    case 6:
        (void)remote_set_goal(program->remote, CORUN_GOAL_IPC, 3);
        break;
    case 14:
        (void)remote_idle(program->remote, 1000);
        break;
    case 15:
        (void)remote_idle(program->remote, UINT64_MAX);
        if (remote_come_back(program->remote) >= CORUN_STATUS_COUNT)
            abort();
        break;
    default:
        (void)operations->leave(program->machine.machine, context->memory_index);
    }
}

static void run_program(const char *path, struct lying_input *steps)
{
    struct program program = {.list = corun_diagnostics_create()};
    struct corun_gpu_config configuration;
    program.remote = remote_join(path, program.list, &configuration);
    if (program.remote) {
        program.device.config = configuration;
        if (corun_gpu_config_check(&configuration, program.list) != CORUN_OK)
            abort(); /* a GPU that there cannot be */
        program.machine = remote_machine(program.remote);
        program.contexts[0].device = program.contexts[1].device = &program.device;
        for (uint32_t i = 0; i < MOST_STEPS; i++)
            act(&program, lying_next(steps));
        for (uint32_t i = 0; i < 2; i++) {
            if (program.instances[i])
                corun_module_instance_destroy(program.instances[i]);
            if (program.contexts[i].memory) {
                corun_memory_destroy(program.contexts[i].memory);
                remote_memory_destroy(program.remote, program.contexts[i].memory_index);
            }
        }
        program.machine.operations->close(program.machine.machine);
        wire_close(&program.remote->link);
        vector_free(&program.remote->loans);
        free(program.remote);
    }
    if (program.module)
        corun_module_destroy(program.module);
    corun_diagnostics_destroy(program.list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct lying_input input = {data, bytes}, steps;
    uint8_t who = lying_next(&input);
    steps = input;
    if (who % 8 >= 5)
        for (uint32_t i = 0; i < MOST_STEPS; i++)
            (void)lying_next(&input);
    pthread_mutex_lock(&fuzzed.daemon->lock);
    fuzzed.daemon->count = 0;
    while (input.bytes && fuzzed.daemon->count < LYING_MOST_MESSAGES)
        lying_message(fuzzed.daemon, &input, fill, fuzzed.files, FILES);
    pthread_mutex_unlock(&fuzzed.daemon->lock);
    if (who % 8 < 5)
        ask(fuzzed.daemon->path, who % 8);
    else
        run_program(fuzzed.daemon->path, &steps);
    return 0;
}
