/* SPDX-License-Identifier: MIT */
/*
 * libFuzzer: kernels as workers. Bytes that begin with a letter or a full stop are PTX: whatever can be loaded can be rewritten, can be
 * loaded then, and can be rewritten again. Other bytes make a kernel (tests/rewrite/random_kernel.h), which leaves by workers what it
 * leaves whole, while what their SM owes changes between launches.
 */
#include "corun/module.h"
#include "rewrite/workers.h"

#include "random_kernel.h"

#include <ctype.h>
#include <stdlib.h>

#define WATCHDOG 100000000u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds)
        abort();
}

static void rewrite_any_text(rewrite_pass *pass, const char *text, size_t bytes)
{
    struct corun_diagnostics *list = corun_diagnostics_create();
    struct corun_module *module;
    struct rewritten first, again;
    char *once, *twice;
    size_t once_bytes, twice_bytes;
    check(list);
    bool loads = corun_module_load("fuzz.ptx", text, bytes, list, &module) == CORUN_OK;
    if (loads)
        corun_module_destroy(module);
    bool good = rewrite_text(pass, "fuzz.ptx", text, bytes, list, &first, &once, &once_bytes) == CORUN_OK;
    check(good || !loads);
    if (good) {
        check(first.rewritten_count <= first.kernel_count);
        if (loads) {
            check(corun_module_load("workers.ptx", once, once_bytes, list, &module) == CORUN_OK);
            corun_module_destroy(module);
        }
        check(rewrite_text(pass, "workers.ptx", once, once_bytes, list, &again, &twice, &twice_bytes) == CORUN_OK);
        check(again.kernel_count == first.kernel_count && again.rewritten_count <= first.rewritten_count);
        rewritten_destroy(&again);
        free(twice);
        rewritten_destroy(&first);
        free(once);
    }
    corun_diagnostics_destroy(list);
}

/* A program with its memory, and where the buffer is. */
struct loaded {
    struct corun_memory *memory;
    struct corun_module *module;
    struct corun_module_instance *program;
    uint64_t out;
};

static struct loaded load(const char *text, size_t bytes)
{
    struct loaded loaded = {.memory = corun_memory_create(0)};
    check(loaded.memory && corun_module_load("k.ptx", text, bytes, NULL, &loaded.module) == CORUN_OK &&
          corun_module_instance_create(loaded.module, loaded.memory, NULL, &loaded.program) == CORUN_OK &&
          corun_memory_allocate(loaded.memory, sizeof(uint32_t) * RANDOM_WORDS, &loaded.out) == CORUN_OK);
    return loaded;
}

static void unload(struct loaded *loaded, uint32_t words[RANDOM_WORDS])
{
    check(corun_memory_read(loaded->memory, loaded->out, words, sizeof *words * RANDOM_WORDS) == CORUN_OK);
    corun_module_instance_destroy(loaded->program);
    corun_module_destroy(loaded->module);
    corun_memory_destroy(loaded->memory);
}

static void launch(const struct loaded *loaded, const struct random_kernel *kernel, struct corun_dim3 dim,
                   const void *argument, size_t offset, size_t bytes)
{
    const struct corun_kernel *entry = corun_module_kernel(loaded->module, "k");
    uint8_t block[128] = {0};
    struct corun_kernel_info info;
    struct corun_grid *grid;
    corun_kernel_describe(entry, &info);
    memcpy(block, &loaded->out, sizeof loaded->out);
    if (argument)
        memcpy(block + offset, argument, bytes);
    struct corun_launch_description description = {.kernel = entry,
                                                   .grid = dim,
                                                   .block = {kernel->block, 1, 1},
                                                   .parameters = block,
                                                   .parameter_bytes = info.parameter_bytes};
    check(corun_grid_create(loaded->program, &description, NULL, &grid) == CORUN_OK);
    check(corun_run_functional(grid, WATCHDOG, NULL, NULL, NULL, NULL) == CORUN_OK);
    corun_grid_destroy(grid);
}

/* By so many workers at a time, with flags and limits from a byte. */
static void run_workers(const struct loaded *loaded, const struct random_kernel *kernel, size_t offset, uint8_t byte,
                        bool drops, bool ranges)
{
    enum { ROOM = 4096 };
    struct worker_dropping_arguments all = {.room = ROOM / 2};
    struct worker_arguments arguments;
    struct worker_queue queue;
    struct worker_place place = {0};
    uint32_t launches = 0;
    worker_arguments_set(&arguments, kernel->grid, byte & (WORKERS_SEATED | WORKERS_STRICT | WORKERS_TELL));
    if (ranges)
        worker_arguments_range(&arguments, byte % 5, byte % 7);
    worker_queue_set(&queue, &arguments, 1u + byte / 64);
    check(corun_memory_allocate(loaded->memory, sizeof queue, &arguments.queue) == CORUN_OK &&
          corun_memory_allocate(loaded->memory, sizeof place, &arguments.places) == CORUN_OK &&
          corun_memory_write(loaded->memory, arguments.queue, &queue, sizeof queue) == CORUN_OK);
    check(!drops ||
          corun_memory_allocate(loaded->memory, ROOM * sizeof(struct worker_returned), &all.returned) == CORUN_OK);
    do {
        place.limit = worker_limit(((byte >> 3 & 7) + launches) % 3, drops && launches % 2 ? WORKERS_AT_ONCE : 0);
        check(corun_memory_write(loaded->memory, arguments.places, &place, sizeof place) == CORUN_OK);
        all.plain = arguments;
        launch(loaded, kernel, (struct corun_dim3){1u + byte / 64, 1, 1}, &all, offset,
               drops ? sizeof all : sizeof arguments);
        arguments.flags &= ~(uint32_t)WORKERS_SEATED;
        check(corun_memory_read(loaded->memory, arguments.queue, &queue, sizeof queue) == CORUN_OK &&
              corun_memory_read(loaded->memory, arguments.places, &place, sizeof place) == CORUN_OK);
        check(!place.resident && ++launches < 1000);
    } while (queue.next < queue.total);
    check(place.done == kernel->grid[0] * kernel->grid[1] * kernel->grid[2] &&
          (!(arguments.flags & WORKERS_TELL) || !queue.alive));
}

/* In one launch, under a limit that the thread blocks do not know. */
static void complete(const struct loaded *loaded, const struct random_kernel *kernel, size_t offset, uint8_t byte,
                     bool ranges)
{
    const uint32_t workers = 1u + byte / 64, total = kernel->grid[0] * kernel->grid[1] * kernel->grid[2];
    const struct worker_queue none[2] = {{0}};
    struct worker_completing_arguments arguments = {.begun = 1};
    struct worker_queue queue;
    struct worker_place place = {.limit = byte >> 3 & 3};
    uint32_t mark;
    worker_arguments_set(&arguments.plain, kernel->grid, WORKERS_COMPLETE);
    if (ranges)
        worker_arguments_range(&arguments.plain, byte % 5, byte % 7);
    check(corun_memory_allocate(loaded->memory, sizeof none, &arguments.plain.queue) == CORUN_OK &&
          corun_memory_allocate(loaded->memory, sizeof place, &arguments.plain.places) == CORUN_OK &&
          corun_memory_allocate(loaded->memory, WORKERS_STAYS_BYTES + sizeof mark, &arguments.mark) == CORUN_OK &&
          corun_memory_write(loaded->memory, arguments.plain.queue, none, sizeof none) == CORUN_OK &&
          corun_memory_write(loaded->memory, arguments.plain.places, &place, sizeof place) == CORUN_OK);
    launch(loaded, kernel, (struct corun_dim3){workers, 1, 1}, &arguments, offset, sizeof arguments);
    check(corun_memory_read(loaded->memory, arguments.plain.queue, &queue, sizeof queue) == CORUN_OK &&
          corun_memory_read(loaded->memory, arguments.plain.places, &place, sizeof place) == CORUN_OK &&
          corun_memory_read(loaded->memory, arguments.mark, &mark, sizeof mark) == CORUN_OK);
    check(queue.next >= worker_draws(&arguments.plain) && queue.gone >= workers && !queue.alive && !place.resident &&
          place.done == total && mark == 2);
}

static rewrite_pass *pass_of(unsigned kind)
{
    static rewrite_pass *const passes[] = {workers_module, workers_dropping_module, workers_module,
                                           workers_completing_module};
    return passes[kind % 4];
}

static void rewrite_made_kernel(const uint8_t *data, size_t size)
{
    static struct random_kernel kernel; /* too large for the stack; one input at a time */
    uint32_t whole[RANDOM_WORDS], found[RANDOM_WORDS];
    struct rewritten rewritten;
    char *text;
    size_t bytes;
    const uint8_t last = size ? data[size - 1] : 0;
    rewrite_pass *pass = pass_of(last >> 1 & 1 ? last >> 5 & 3 : last >> 5 & 1);
    random_kernel_make(&kernel, data, size);
    check(rewrite_text(pass, "k.ptx", kernel.text, kernel.length, NULL, &rewritten, &text, &bytes) == CORUN_OK);
    check(rewritten.kernel_count == 1);
    if (rewritten.rewritten_count) {
        struct loaded loaded = load(kernel.text, kernel.length);
        launch(&loaded, &kernel, (struct corun_dim3){kernel.grid[0], kernel.grid[1], kernel.grid[2]}, NULL, 0, 0);
        unload(&loaded, whole);
        loaded = load(text, bytes);
        if (pass == workers_completing_module)
            complete(&loaded, &kernel, rewritten.kernels[0].parameter_offset, last, rewritten.kernels[0].ranges);
        else
            run_workers(&loaded, &kernel, rewritten.kernels[0].parameter_offset, last, pass == workers_dropping_module,
                        rewritten.kernels[0].ranges);
        unload(&loaded, found);
        check(!memcmp(whole, found, sizeof whole));
    }
    rewritten_destroy(&rewritten);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size && (isalpha(data[0]) || data[0] == '.' || data[0] == '/' || isspace(data[0])))
        rewrite_any_text(pass_of(data[size - 1]), (const char *)data, size);
    else
        rewrite_made_kernel(data, size);
    return 0;
}
