/* SPDX-License-Identifier: MIT */
/* Helpers of the tests of borrowed variables: the module of a program, and beside it the rewritten one, which has no variables of its own. */
#ifndef TESTS_REWRITE_BORROW_RUNNER_H
#define TESTS_REWRITE_BORROW_RUNNER_H

#include "rewrite/borrow.h"
#include "worker_runner.h"

/* `loaded` is the rewritten module, in memory in which the program's is loaded as well. */
struct beside {
    struct loaded loaded;
    struct corun_module *module;
    struct corun_module_instance *program;
};

/* The table of a module gets the addresses that variables have in another one. */
static inline void fill_table(const struct rewrite_case *item, const struct loaded *loaded,
                              const struct corun_module_instance *program)
{
    uint64_t bytes, table = 0;
    if (item->rewritten.borrowed_count)
        table = corun_module_instance_variable(loaded->instance, item->rewritten.borrowed_table, &bytes);
    for (uint32_t i = 0; i < item->rewritten.borrowed_count; i++) {
        uint64_t address = corun_module_instance_variable(program, item->rewritten.borrowed[i], &bytes);
        assert_true(address != 0);
        write_device(loaded, table + i * sizeof address, &address, sizeof address);
    }
}

/* What comes in front of every launch: constants are as the program has them. */
static inline void copy_constants(const struct rewrite_case *item, const struct beside *beside)
{
    for (uint32_t i = 0; i < item->rewritten.borrowed_count; i++) {
        const char *name = item->rewritten.borrowed[i];
        uint64_t bytes, own = 0, from = corun_module_instance_variable(beside->program, name, &bytes);
        if (!item->rewritten.copied[i])
            continue;
        uint64_t to = corun_module_instance_variable(beside->loaded.instance, name, &own);
        uint8_t *content = malloc(bytes);
        assert_true(to && to != from && own == bytes);
        read_device(&beside->loaded, from, content, bytes);
        write_device(&beside->loaded, to, content, bytes);
        free(content);
    }
}

/* The program's module and the buffer come first, so that they lie where they lie without the other one. */
static inline struct beside load_beside(const struct rewrite_case *item, const char *original)
{
    struct beside beside = {.loaded = {.memory = corun_memory_create(0)}};
    struct loaded *loaded = &beside.loaded;
    if (corun_module_assemble("program.ptx", original, strlen(original), item->rewrites, item->list, &beside.module) !=
            CORUN_OK ||
        corun_module_instance_create(beside.module, loaded->memory, item->list, &beside.program) != CORUN_OK ||
        corun_memory_allocate(loaded->memory, OUT_BYTES, &loaded->out) != CORUN_OK ||
        corun_module_assemble("test.ptx", item->text, item->text_bytes, item->rewrites, item->list, &loaded->module) !=
            CORUN_OK ||
        corun_module_instance_create(loaded->module, loaded->memory, item->list, &loaded->instance) != CORUN_OK)
        fail_with(item->list, "loading");
    fill_table(item, loaded, beside.program);
    copy_constants(item, &beside);
    return beside;
}

/* What the variables hold that are borrowed: BORROW_BYTES of each, one after the other, and how many bytes that is. The caller frees it. */
enum { BORROW_BYTES = 64 };

static inline size_t variable_bytes(const struct rewrite_case *item)
{
    return (item->rewritten.borrowed_count + (size_t)1) * BORROW_BYTES;
}

static inline uint8_t *read_variables(const struct rewrite_case *item, const struct loaded *loaded,
                                      const struct corun_module_instance *program)
{
    uint8_t *content = calloc(1, variable_bytes(item));
    for (uint32_t i = 0; i < item->rewritten.borrowed_count; i++) {
        uint64_t bytes, address = corun_module_instance_variable(program, item->rewritten.borrowed[i], &bytes);
        read_device(loaded, address, content + (size_t)i * BORROW_BYTES, bytes < BORROW_BYTES ? bytes : BORROW_BYTES);
    }
    return content;
}

/* The buffer and the program's variables. */
static inline uint8_t *unload_beside(struct beside *beside, const struct rewrite_case *item, uint8_t **variables)
{
    *variables = read_variables(item, &beside->loaded, beside->program);
    corun_module_instance_destroy(beside->program);
    corun_module_destroy(beside->module);
    return unload(&beside->loaded);
}

/* The same of the program's own module, which has run alone. */
static inline uint8_t *run_original(const struct rewrite_case *item, const char *original,
                                    const struct test_launch *launch, uint8_t **variables)
{
    struct loaded loaded = load_text(item, original);
    run_launch(&loaded, item, launch, launch->grid, NULL, 0);
    *variables = read_variables(item, &loaded, loaded.instance);
    return unload(&loaded);
}

#endif
