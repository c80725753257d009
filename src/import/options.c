/* SPDX-License-Identifier: MIT */
/* Lines `-name value` with comments and quotes, as a list (options.h). */
#include "import/options.h"

#include "base/arena.h"
#include "base/vector.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct scan {
    const char *path, *at, *end;
    uint32_t line;
    struct arena *arena;
    struct corun_diagnostics *list;
    enum corun_status status; /* of the first error */
    VECTOR(char) value;       /* of the option that is being read */
    VECTOR(struct imported_option) options;
};

static void fail(struct scan *scan, uint32_t line, const char *message)
{
    enum corun_status status =
        corun_report(scan->list, CORUN_SYNTAX, (struct corun_place){scan->path, line, 0}, "%s", message);
    scan->status = scan->status == CORUN_OK ? status : scan->status;
}

static bool is_blank(char byte)
{
    return byte != '\n' && isspace((unsigned char)byte);
}

static void skip_blanks(struct scan *scan)
{
    while (scan->at < scan->end && is_blank(*scan->at))
        scan->at++;
}

static bool at_line_end(const struct scan *scan)
{
    return scan->at == scan->end || *scan->at == '\n' || *scan->at == '#';
}

static void skip_line(struct scan *scan)
{
    while (scan->at < scan->end && *scan->at != '\n')
        scan->at++;
    scan->line += scan->at < scan->end;
    scan->at += scan->at < scan->end;
}

static void add_byte(struct scan *scan, char byte)
{
    if (!vector_push(&scan->value, byte))
        scan->status = CORUN_MEMORY;
}

/* Any number of blanks and line ends between two words is one blank of the value. */
static void add_blank(struct scan *scan)
{
    if (scan->value.count && scan->value.data[scan->value.count - 1] != ' ')
        add_byte(scan, ' ');
}

static void read_quoted(struct scan *scan)
{
    uint32_t begun = scan->line;
    for (scan->at++; scan->at < scan->end && *scan->at != '"'; scan->at++) {
        scan->line += *scan->at == '\n';
        if (isspace((unsigned char)*scan->at))
            add_blank(scan);
        else
            add_byte(scan, *scan->at);
    }
    if (scan->at == scan->end)
        fail(scan, begun, "the quotes have no end");
    scan->at += scan->at < scan->end;
}

/* From behind the name to the end of the line or to a comment. */
static void read_value(struct scan *scan)
{
    scan->value.count = 0;
    for (skip_blanks(scan); !at_line_end(scan);) {
        if (*scan->at == '"')
            read_quoted(scan);
        else if (is_blank(*scan->at))
            add_blank(scan), scan->at++;
        else
            add_byte(scan, *scan->at++);
    }
    while (scan->value.count && scan->value.data[scan->value.count - 1] == ' ')
        scan->value.count--;
}

static void read_option(struct scan *scan)
{
    struct imported_option option = {.line = scan->line, .fate = OPTION_UNKNOWN};
    const char *name = ++scan->at;
    while (!at_line_end(scan) && !is_blank(*scan->at))
        scan->at++;
    option.name = arena_copy_text(scan->arena, name, (size_t)(scan->at - name));
    read_value(scan);
    option.value = arena_copy_text(scan->arena, scan->value.count ? scan->value.data : "", scan->value.count);
    if (!option.name || !option.value || !vector_push(&scan->options, option))
        scan->status = CORUN_MEMORY;
}

static int by_name_and_line(const void *left, const void *right)
{
    const struct imported_option *const *a = left, *const *b = right;
    int order = strcmp((*a)->name, (*b)->name);
    return order ? order : ((*a)->line > (*b)->line) - ((*a)->line < (*b)->line);
}

static void mark_overridden(struct scan *scan)
{
    size_t count = scan->options.count;
    struct imported_option **sorted = ARENA_ARRAY(scan->arena, struct imported_option *, count + 1);
    if (!sorted) {
        scan->status = CORUN_MEMORY;
        return;
    }
    for (size_t i = 0; i < count; i++)
        sorted[i] = &scan->options.data[i];
    qsort(sorted, count, sizeof *sorted, by_name_and_line);
    for (size_t i = 0; i + 1 < count; i++) {
        if (!strcmp(sorted[i]->name, sorted[i + 1]->name))
            sorted[i]->fate = OPTION_OVERRIDDEN;
    }
}

enum corun_status options_read(const char *path, const char *text, size_t bytes, struct arena *arena,
                               struct corun_diagnostics *list, struct imported_option **options, size_t *count)
{
    struct scan scan = {.path = path, .at = text, .end = text + bytes, .line = 1, .arena = arena, .list = list};
    bool strange = false;
    while (scan.at < scan.end && scan.status != CORUN_MEMORY) {
        skip_blanks(&scan);
        bool named = scan.at + 1 < scan.end && *scan.at == '-' && isalpha((unsigned char)scan.at[1]);
        if (named)
            read_option(&scan);
        else if (!at_line_end(&scan) && !strange) /* of many one after the other, the first */
            fail(&scan, scan.line, "this is no option: expected `-name value`, or a comment behind #");
        strange = !named && (strange || !at_line_end(&scan));
        skip_line(&scan);
    }
    if (scan.status == CORUN_OK)
        mark_overridden(&scan);
    *count = scan.options.count;
    *options = ARENA_ARRAY(arena, struct imported_option, scan.options.count + 1);
    if (*options && scan.options.count)
        memcpy(*options, scan.options.data, scan.options.count * sizeof **options);
    vector_free(&scan.value);
    vector_free(&scan.options);
    return *options ? scan.status : CORUN_MEMORY;
}
