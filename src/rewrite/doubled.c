/* SPDX-License-Identifier: MIT */
/* The text of a module, with that of its kernels once more behind it. */
#include "rewrite/doubled.h"

#include "base/arena.h"
#include "ptx/printer.h"
#include "ptx/statements.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SUFFIX_BYTES 24u

static bool ends_in(const char *name, const char *suffix)
{
    size_t bytes = strlen(name), end = strlen(suffix);
    return bytes >= end && !strcmp(name + bytes - end, suffix);
}

/* One in which no name of the module ends, so that no copy has the name of something else. */
static void choose_suffix(const struct ptx_module *module, char suffix[SUFFIX_BYTES])
{
    bool taken = true;
    for (uint32_t number = 0; taken; number++) {
        snprintf(suffix, SUFFIX_BYTES, number ? "_whole%u" : "_whole", number);
        taken = false;
        for (uint32_t i = 0; i < module->function_count; i++)
            taken |= ends_in(module->functions[i]->name, suffix);
        for (uint32_t i = 0; i < module->variable_count; i++)
            taken |= ends_in(module->variables[i]->name, suffix);
    }
}

static const struct ptx_function *find_kernel(const struct ptx_module *module, const char *name, size_t bytes)
{
    for (uint32_t i = 0; i < module->function_count; i++)
        if (strlen(module->functions[i]->name) == bytes && !memcmp(module->functions[i]->name, name, bytes))
            return module->functions[i];
    return NULL;
}

/* A copy would have such a variable for itself. */
static bool declares_global(const struct ptx_module *module, const struct ptx_function *kernel)
{
    for (uint32_t i = 0; i < module->variable_count; i++)
        if (module->variables[i]->function == kernel && module->variables[i]->space == PTX_SPACE_GLOBAL)
            return true;
    return false;
}

/* Writes the copies of all kernels, and counts them. */
static void write_copies(FILE *out, const struct ptx_module *module, const char *text, size_t bytes, const char *suffix,
                         uint32_t *copies)
{
    struct lexer lexer = {.at = text, .end = text + bytes, .line_start = text, .line = 1};
    struct ptx_statement statement;
    while (ptx_statement_next(&lexer, text, &statement)) {
        size_t behind = statement.name + statement.name_bytes;
        if (!statement.is_entry || !statement.has_body ||
            declares_global(module, find_kernel(module, text + statement.name, statement.name_bytes)))
            continue;
        fputc('\n', out);
        fwrite(text + statement.start, 1, behind - statement.start, out);
        fputs(suffix, out);
        fwrite(text + behind, 1, statement.end - behind, out);
        fputc('\n', out);
        ++*copies;
    }
}

static enum corun_status double_text(const struct ptx_module *source, const char *suffix, char **text, size_t *bytes,
                                     uint32_t *copies)
{
    char *printed;
    enum corun_status status = ptx_print(source, &printed, bytes);
    if (status != CORUN_OK)
        return status;
    size_t printed_bytes = *bytes;
    FILE *out = open_memstream(text, bytes);
    bool good = out != NULL;
    if (out) {
        good = fwrite(printed, 1, printed_bytes, out) == printed_bytes;
        write_copies(out, source, printed, printed_bytes, suffix, copies);
        good = !ferror(out) && good;
        good = !fclose(out) && good;
    }
    free(printed);
    return good ? CORUN_OK : CORUN_MEMORY;
}

enum corun_status doubled_create(const struct ptx_module *source, struct corun_diagnostics *list,
                                 struct doubled *doubled)
{
    char suffix[SUFFIX_BYTES], *text = NULL;
    size_t bytes;
    *doubled = (struct doubled){0};
    choose_suffix(source, suffix);
    enum corun_status status = double_text(source, suffix, &text, &bytes, &doubled->copies);
    if (status == CORUN_OK)
        status = ptx_parse(source->file, text, bytes, list, &doubled->module);
    if (status == CORUN_OK && !(doubled->suffix = arena_copy_text(doubled->module->arena, suffix, strlen(suffix)))) {
        doubled_destroy(doubled);
        status = CORUN_MEMORY;
    }
    free(text);
    return status;
}

void doubled_destroy(struct doubled *doubled)
{
    ptx_module_destroy(doubled->module);
    *doubled = (struct doubled){0};
}
