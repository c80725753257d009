#include "report/columns.h"

#include "base/vector.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define GAP 2u

struct cell {
    const char *text; /* NULL: empty */
    enum report_paint paint;
};

struct row {
    struct cell cells[COLUMNS_MAX];
    struct row *next;
};

struct columns {
    struct arena *arena;
    uint32_t count;
    const char *titles[COLUMNS_MAX];
    bool left[COLUMNS_MAX];
    struct row *first, *last;
    bool out_of_memory;
};

static uint32_t shown_width(const char *text)
{
    uint32_t width = 0;
    for (; *text; text++)
        width += ((unsigned char)*text & 0xc0) != 0x80; /* UTF-8: continuation bytes take no room */
    return width;
}

struct columns *columns_create(struct arena *arena, const char *const *titles, uint32_t count)
{
    struct columns *columns = ARENA_NEW(arena, struct columns);
    if (!columns || count > COLUMNS_MAX)
        return NULL;
    columns->arena = arena;
    columns->count = count;
    for (uint32_t c = 0; c < count; c++) {
        columns->left[c] = titles[c][0] == '<';
        columns->titles[c] = titles[c] + columns->left[c];
    }
    return columns;
}

void columns_row(struct columns *columns)
{
    struct row *row = columns ? ARENA_NEW(columns->arena, struct row) : NULL;
    if (!row) {
        if (columns)
            columns->out_of_memory = true;
        return;
    }
    if (columns->last)
        columns->last->next = row;
    else
        columns->first = row;
    columns->last = row;
}

bool columns_empty(const struct columns *columns)
{
    return columns && !columns->first;
}

void columns_set(struct columns *columns, uint32_t column, enum report_paint paint, const char *format, ...)
{
    if (!columns || !columns->last || column >= columns->count)
        return;
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (!text[0])
        return;
    struct cell *cell = &columns->last->cells[column];
    *cell = (struct cell){arena_copy_text(columns->arena, text, strlen(text)), paint};
    if (!cell->text)
        columns->out_of_memory = true;
}

static void pad(FILE *stream, uint32_t width)
{
    fprintf(stream, "%*s", (int)width, "");
}

static void print_cell(FILE *stream, const struct report_style *style, const struct cell *cell, uint32_t width,
                       bool left, bool last)
{
    static const char *const escapes[] = {
        [PAINT_NONE] = "", [PAINT_GOOD] = "\033[32m", [PAINT_BAD] = "\033[31m", [PAINT_TITLE] = "\033[1m"};
    const char *text = cell->text ? cell->text : "";
    uint32_t room = width - shown_width(text);
    bool painted = style->colour && cell->paint != PAINT_NONE;
    if (!left)
        pad(stream, room);
    fprintf(stream, "%s%s%s", painted ? escapes[cell->paint] : "", text, painted ? "\033[0m" : "");
    if (left && !last) /* no blanks at the end of a line */
        pad(stream, room);
}

static void print_row(const struct columns *columns, const struct cell *cells, const uint32_t *widths,
                      const struct report_style *style, FILE *stream)
{
    uint32_t used = columns->count;
    while (used && !cells[used - 1].text)
        used--;
    for (uint32_t c = 0; c < used; c++) {
        if (c)
            pad(stream, GAP);
        print_cell(stream, style, &cells[c], widths[c], columns->left[c], c + 1 == used);
    }
    fputc('\n', stream);
}

static void print_markdown_row(const struct columns *columns, const struct cell *cells, FILE *stream)
{
    for (uint32_t c = 0; c < columns->count; c++) {
        fputs("| ", stream);
        for (const char *text = cells[c].text ? cells[c].text : ""; *text; text++) {
            if (*text == '|')
                fputc('\\', stream);
            fputc(*text, stream);
        }
        fputc(' ', stream);
    }
    fputs("|\n", stream);
}

static void print_markdown(const struct columns *columns, const struct cell *titles, FILE *stream)
{
    print_markdown_row(columns, titles, stream);
    for (uint32_t c = 0; c < columns->count; c++)
        fputs(columns->left[c] ? "|---" : "|--:", stream);
    fputs("|\n", stream);
    for (const struct row *row = columns->first; row; row = row->next)
        print_markdown_row(columns, row->cells, stream);
}

bool columns_print(const struct columns *columns, const struct report_style *style, FILE *stream)
{
    if (!columns || columns->out_of_memory)
        return false;
    uint32_t widths[COLUMNS_MAX] = {0}, total = 0;
    struct cell titles[COLUMNS_MAX] = {{0}};
    for (uint32_t c = 0; c < columns->count; c++) {
        titles[c] = (struct cell){columns->titles[c], PAINT_TITLE};
        widths[c] = shown_width(columns->titles[c]);
        for (const struct row *row = columns->first; row; row = row->next) {
            uint32_t width = row->cells[c].text ? shown_width(row->cells[c].text) : 0;
            widths[c] = width > widths[c] ? width : widths[c];
        }
        total += widths[c] + (c ? GAP : 0);
    }
    if (style->markdown) {
        print_markdown(columns, titles, stream);
        return true;
    }
    print_row(columns, titles, widths, style, stream);
    for (uint32_t i = 0; i < total; i++)
        fputs(style->utf8 ? "\u2500" : "-", stream);
    fputc('\n', stream);
    for (const struct row *row = columns->first; row; row = row->next)
        print_row(columns, row->cells, widths, style, stream);
    return true;
}

const char *report_size(uint64_t bytes, char text[REPORT_SIZE_BYTES])
{
    if (bytes >= 1000000000)
        snprintf(text, REPORT_SIZE_BYTES, "%.2f GB", (double)bytes / 1e9);
    else if (bytes >= 1000000)
        snprintf(text, REPORT_SIZE_BYTES, "%.2f MB", (double)bytes / 1e6);
    else if (bytes >= 1000)
        snprintf(text, REPORT_SIZE_BYTES, "%.2f KB", (double)bytes / 1e3);
    else
        snprintf(text, REPORT_SIZE_BYTES, "%" PRIu64 " B", bytes);
    return text;
}
