/* SPDX-License-Identifier: MIT */
/* Passes from text to text, and what they leave behind. */
#include "rewrite/rewritten.h"

#include "ptx/printer.h"

#include <string.h>

void rewritten_destroy(struct rewritten *rewritten)
{
    ptx_module_destroy(rewritten->module);
    *rewritten = (struct rewritten){0};
}

const struct rewritten_kernel *rewritten_kernel_find(const struct rewritten *rewritten, const char *name)
{
    for (uint32_t i = 0; i < rewritten->kernel_count; i++)
        if (!strcmp(rewritten->kernels[i].function->name, name))
            return &rewritten->kernels[i];
    return NULL;
}

enum corun_status rewrite_text(rewrite_pass *pass, const char *name, const char *text, size_t bytes,
                               struct corun_diagnostics *list, struct rewritten *rewritten, char **output,
                               size_t *output_bytes)
{
    struct ptx_module *source;
    *rewritten = (struct rewritten){0};
    *output = NULL;
    enum corun_status status = ptx_parse(name, text, bytes, list, &source);
    if (status == CORUN_OK)
        status = pass(source, list, rewritten);
    ptx_module_destroy(source);
    if (status != CORUN_OK)
        return status;
    status = ptx_print(rewritten->module, output, output_bytes);
    if (status != CORUN_OK) {
        rewritten_destroy(rewritten);
        corun_report(list, status, CORUN_NOWHERE, "out of memory while printing rewritten kernels");
    }
    return status;
}

/* The table that the first pass has left, in the arena of the second one's module. */
static bool merge_table(const struct rewritten *first, struct rewritten *rewritten)
{
    struct arena *arena = rewritten->module->arena;
    const char **names = ARENA_ARRAY(arena, const char *, first->borrowed_count + 1u);
    bool *copied = ARENA_ARRAY(arena, bool, first->borrowed_count + 1u);
    for (uint32_t i = 0; names && i < first->borrowed_count; i++)
        if (!(names[i] = arena_copy_text(arena, first->borrowed[i], strlen(first->borrowed[i]))))
            return false;
    if (copied && first->borrowed_count)
        memcpy(copied, first->copied, first->borrowed_count * sizeof *copied);
    rewritten->borrowed = names;
    rewritten->copied = copied;
    rewritten->borrowed_count = first->borrowed_count;
    rewritten->borrowed_table =
        first->borrowed_table ? arena_copy_text(arena, first->borrowed_table, strlen(first->borrowed_table)) : NULL;
    return names && copied && !first->borrowed_table == !rewritten->borrowed_table;
}

/* What both say of a kernel, in that arena. */
static bool merge_kernel(const struct rewritten_kernel *first, struct arena *arena, struct rewritten_kernel *kernel)
{
    uint32_t *rows = ARENA_ARRAY(arena, uint32_t, first->borrow_count + 1u);
    kernel->registers_before = first->registers_before;
    kernel->instructions_added += first->instructions_added;
    if (rows && first->borrow_count)
        memcpy(rows, first->borrows, first->borrow_count * sizeof *rows);
    kernel->borrows = rows;
    kernel->borrow_count = first->borrow_count;
    if (first->refusal) {
        kernel->place = first->place;
        kernel->refusal = arena_format(arena, "%s", first->refusal);
    }
    return rows && (!first->refusal || kernel->refusal);
}

static enum corun_status merge(const struct rewritten *first, struct rewritten *rewritten)
{
    struct arena *arena = rewritten->module->arena;
    struct rewritten_kernel *kernels = ARENA_ARRAY(arena, struct rewritten_kernel, rewritten->kernel_count + 1u);
    if (!kernels || !merge_table(first, rewritten))
        return CORUN_MEMORY;
    rewritten->rewritten_count = 0;
    for (uint32_t i = 0; i < rewritten->kernel_count; i++) {
        kernels[i] = rewritten->kernels[i];
        if (!merge_kernel(&first->kernels[i], arena, &kernels[i]))
            return CORUN_MEMORY;
        rewritten->rewritten_count += !kernels[i].refusal;
    }
    rewritten->kernels = kernels;
    return CORUN_OK;
}

enum corun_status rewrite_both(rewrite_pass *first, rewrite_pass *second, const struct ptx_module *source,
                               struct corun_diagnostics *list, struct rewritten *rewritten)
{
    struct rewritten made;
    *rewritten = (struct rewritten){0};
    enum corun_status status = first(source, list, &made);
    if (status != CORUN_OK)
        return status;
    status = second(made.module, list, rewritten);
    if (status == CORUN_OK && merge(&made, rewritten) != CORUN_OK) {
        rewritten_destroy(rewritten);
        status = corun_report(list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory while rewriting kernels");
    }
    rewritten_destroy(&made);
    return status;
}
