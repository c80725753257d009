/* SPDX-License-Identifier: MIT */
/* The folder of a trace: its list, its kernels, and the pages of memory that they touch. */
#include "base/bits.h"
#include "base/text_file.h"
#include "sass/trace.h"

#include <sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIST_NAME "kernelslist.g"
#define MOST_LIST_BYTES ((size_t)64 << 20)
#define MOST_KERNEL_BYTES ((size_t)8 << 30)
#define MOST_PAGES (UINT64_C(1) << 17) /* of an application: 256 GiB (src/isa/address.h) */

static bool starts_with(const char *line, size_t length, const char *word)
{
    return length >= strlen(word) && memcmp(line, word, strlen(word)) == 0;
}

static enum corun_status read_entry(const char *line, size_t length, struct corun_place place,
                                    struct corun_diagnostics *list, struct sass_names *names)
{
    int shown = (int)(length < 80 ? length : 80);
    if (starts_with(line, length, "Memcpy"))
        return CORUN_OK; /* copies of the host take no time here */
    if (!starts_with(line, length, "kernel"))
        return corun_report(list, CORUN_SYNTAX, place, "expected a kernel's file or a copy (Memcpy…), found '%.*s'",
                            shown, line);
    if (memchr(line, '/', length) || memchr(line, 0, length))
        return corun_report(list, CORUN_SYNTAX, place, "'%.*s' does not lie beside the list", shown, line);
    char *name = strndup(line, length);
    if (name && vector_push(&names->items, name))
        return CORUN_OK;
    free(name);
    return corun_report(list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory");
}

enum corun_status sass_list_read(const char *path, const char *text, size_t bytes, struct corun_diagnostics *list,
                                 struct sass_names *names)
{
    const char *at = text, *end = text + bytes;
    struct corun_place place = {path, 0, 0};
    enum corun_status status = CORUN_OK;
    *names = (struct sass_names){0};
    while (at < end && !status) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t length = (size_t)((stop ? stop : end) - at);
        place.line++;
        size_t shown = length;
        while (shown && (at[shown - 1] == '\r' || at[shown - 1] == ' ' || at[shown - 1] == '\t'))
            shown--;
        if (shown)
            status = read_entry(at, shown, place, list, names);
        at = stop ? stop + 1 : end;
    }
    if (!status && !names->items.count)
        status = corun_report(list, CORUN_SYNTAX, (struct corun_place){path, 0, 0}, "the list names no kernel");
    if (status)
        sass_names_free(names);
    return status;
}

void sass_names_free(struct sass_names *names)
{
    for (size_t i = 0; i < names->items.count; i++)
        free(names->items.data[i]);
    vector_free(&names->items);
}

static size_t place_in(const struct sass_pages *pages, uint64_t page)
{
    size_t at = (size_t)(page * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (pages->capacity - 1);
    while (pages->keys[at] && pages->keys[at] != page + 1)
        at = (at + 1) & (pages->capacity - 1);
    return at;
}

static bool grow(struct sass_pages *pages)
{
    struct sass_pages larger = {.capacity = pages->capacity ? pages->capacity * 2 : 64, .count = pages->count};
    larger.keys = calloc(larger.capacity, sizeof *larger.keys);
    larger.values = calloc(larger.capacity, sizeof *larger.values);
    if (!larger.keys || !larger.values) {
        free(larger.keys);
        free(larger.values);
        return false;
    }
    for (size_t i = 0; i < pages->capacity; i++) {
        if (!pages->keys[i])
            continue;
        size_t at = place_in(&larger, pages->keys[i] - 1);
        larger.keys[at] = pages->keys[i];
        larger.values[at] = pages->values[i];
    }
    struct sass_pages smaller = *pages;
    *pages = larger;
    free(smaller.keys);
    free(smaller.values);
    return true;
}

bool sass_pages_add(struct sass_pages *pages, uint64_t page)
{
    if (2 * (pages->count + 1) > pages->capacity && !grow(pages))
        return false;
    size_t at = place_in(pages, page);
    if (!pages->keys[at]) {
        pages->keys[at] = page + 1;
        pages->values[at] = (uint32_t)pages->count++;
    }
    return true;
}

uint32_t sass_pages_find(const struct sass_pages *pages, uint64_t page)
{
    return pages->values[place_in(pages, page)];
}

/* Every page of global memory that the kernel touches. */
static enum corun_status add_pages(struct sass_trace *trace, const struct sass_kernel *kernel,
                                   struct corun_diagnostics *list)
{
    uint64_t last = UINT64_MAX;
    for (size_t i = 0; i < kernel->instructions.count; i++) {
        const struct sass_instruction *instruction = &kernel->instructions.data[i];
        const struct corun_instruction *code = &kernel->code.data[instruction->code];
        if (instruction->form == SASS_NOTHING || !code->access_bytes)
            continue;
        for (uint32_t lanes = instruction->mask; lanes; lanes &= lanes - 1) {
            uint64_t address = sass_address(kernel, instruction, lowest_bit(lanes));
            uint64_t page = address >> SASS_PAGE_SHIFT;
            if (page == last || sass_space(kernel, code, address) != CORUN_SPACE_GLOBAL)
                continue;
            if (!sass_pages_add(&trace->pages, page))
                return corun_report(list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory");
            last = page;
        }
        if (trace->pages.count >= MOST_PAGES)
            return corun_report(list, CORUN_LIMIT, (struct corun_place){kernel->path, 0, 0},
                                "the program touches more memory than an application has");
    }
    return CORUN_OK;
}

static enum corun_status load_kernel(struct sass_trace *trace, const char *name, SHA2_CTX *digest,
                                     struct corun_diagnostics *list)
{
    char *path = NULL, *text = NULL;
    size_t bytes = 0;
    struct sass_kernel *kernel = NULL;
    if (asprintf(&path, "%s/%s", trace->path, name) < 0)
        return corun_report(list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory");
    enum corun_status status = sass_file_read(path, MOST_KERNEL_BYTES, list, &text, &bytes);
    if (!status)
        status = sass_kernel_read(path, text, bytes, list, &kernel);
    if (!status) {
        SHA256Update(digest, (const uint8_t *)text, bytes);
        status = add_pages(trace, kernel, list);
    }
    if (!status && !vector_push(&trace->kernels, kernel))
        status = corun_report(list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory");
    if (status)
        sass_kernel_destroy(kernel);
    free(text);
    free(path);
    return status;
}

/* A kernel that is in the list twice is read once. */
static enum corun_status load_kernels(struct sass_trace *trace, const struct sass_names *names, SHA2_CTX *digest,
                                      struct corun_diagnostics *list)
{
    enum corun_status status = CORUN_OK;
    for (size_t i = 0; i < names->items.count && !status; i++) {
        uint32_t index = 0;
        while (index < i && strcmp(names->items.data[index], names->items.data[i]) != 0)
            index++;
        uint32_t kernel = index < i ? trace->launches.data[index] : (uint32_t)trace->kernels.count;
        if (index == i)
            status = load_kernel(trace, names->items.data[i], digest, list);
        if (!status && !vector_push(&trace->launches, kernel))
            status = corun_report(list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory");
    }
    return status;
}

static enum corun_status load(struct sass_trace *trace, struct corun_diagnostics *list)
{
    char *path = NULL, *text = NULL;
    size_t bytes = 0;
    struct sass_names names = {0};
    SHA2_CTX digest;
    SHA256Init(&digest);
    if (asprintf(&path, "%s/%s", trace->path, LIST_NAME) < 0)
        return corun_report(list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory");
    enum corun_status status = text_file_read(path, MOST_LIST_BYTES, list, &text, &bytes);
    if (!status) {
        SHA256Update(&digest, (const uint8_t *)text, bytes);
        status = sass_list_read(path, text, bytes, list, &names);
    }
    if (!status)
        status = load_kernels(trace, &names, &digest, list);
    SHA256End(&digest, trace->digest);
    sass_names_free(&names);
    free(text);
    free(path);
    return status;
}

enum corun_status sass_trace_load(const char *folder, struct corun_diagnostics *list, struct sass_trace **result)
{
    *result = NULL;
    struct sass_trace *trace = calloc(1, sizeof *trace);
    size_t length = strlen(folder);
    while (length > 1 && folder[length - 1] == '/')
        length--;
    if (trace && (trace->path = strndup(folder, length))) {
        const char *slash = strrchr(trace->path, '/');
        trace->name = strdup(slash && slash[1] ? slash + 1 : trace->path);
    }
    enum corun_status status =
        trace && trace->name ? load(trace, list) : corun_report(list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory");
    if (status)
        sass_trace_destroy(trace);
    else
        *result = trace;
    return status;
}

void sass_trace_destroy(struct sass_trace *trace)
{
    if (!trace)
        return;
    for (size_t i = 0; i < trace->kernels.count; i++)
        sass_kernel_destroy(trace->kernels.data[i]);
    vector_free(&trace->kernels);
    vector_free(&trace->launches);
    free(trace->pages.keys);
    free(trace->pages.values);
    free(trace->path);
    free(trace->name);
    free(trace);
}
