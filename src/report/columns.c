/* SPDX-License-Identifier: MIT */
/* A table is collected as rows of cells; then widths are known, and the table is printed. */
#include "report/columns.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define GAP 2u
#define NAME_LEAST 20u /* columns that names are left with, however much the others take */

struct cell {
    const char *text; /* NULL: empty */
    enum report_paint paint;
};

struct row {
    struct cell cells[COLUMNS_MAX];
    const char *name; /* the first cell before it was shortened */
    struct row *next;
};

struct columns {
    struct arena *arena;
    uint32_t count;
    const char *titles[COLUMNS_MAX];
    bool left[COLUMNS_MAX];
    uint32_t gap; /* between two of them */
    struct row *first, *last;
    bool out_of_memory;
};

static uint32_t shown_width_of(const char *text, size_t bytes)
{
    uint32_t width = 0;
    for (size_t i = 0; i < bytes; i++)
        width += ((unsigned char)text[i] & 0xc0) != 0x80; /* UTF-8: continuation bytes take no room */
    return width;
}

static uint32_t shown_width(const char *text)
{
    return shown_width_of(text, strlen(text));
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
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (length <= 0)
        return;
    char *text = arena_allocate(columns->arena, (size_t)length + 1);
    if (!text) {
        columns->out_of_memory = true;
        return;
    }
    va_start(arguments, format);
    vsnprintf(text, (size_t)length + 1, format, arguments);
    va_end(arguments);
    columns->last->cells[column] = (struct cell){text, paint};
}

static void pad(FILE *stream, uint32_t width)
{
    fprintf(stream, "%*s", (int)width, "");
}

/* Bytes of the first `width` characters. */
static size_t bytes_of(const char *text, uint32_t width)
{
    const char *end = text;
    while (*end && (width || ((unsigned char)*end & 0xc0) == 0x80)) {
        width -= ((unsigned char)*end & 0xc0) != 0x80;
        end++;
    }
    return (size_t)(end - text);
}

/* Bytes of what fits one line of that width: whole words, if there are. */
static size_t line_of(const char *text, uint32_t width)
{
    size_t most = bytes_of(text, width), bytes = most;
    if (!text[most])
        return most;
    while (bytes && text[bytes] != ' ')
        bytes--;
    return bytes ? bytes : most;
}

static void print_cell(FILE *stream, const struct report_style *style, enum report_paint paint, const char *text,
                       size_t bytes, uint32_t room, bool left, bool last)
{
    static const char *const escapes[] = {
        [PAINT_NONE] = "", [PAINT_GOOD] = "\033[32m", [PAINT_BAD] = "\033[31m", [PAINT_TITLE] = "\033[1m"};
    bool painted = style->colour && paint != PAINT_NONE;
    if (!left)
        pad(stream, room);
    fprintf(stream, "%s%.*s%s", painted ? escapes[paint] : "", (int)bytes, text, painted ? "\033[0m" : "");
    if (left && !last) /* no blanks at the end of a line */
        pad(stream, room);
}

/* On as many lines as its cells take in their widths. */
static void print_row(const struct columns *columns, const struct cell *cells, const uint32_t *widths,
                      const struct report_style *style, FILE *stream)
{
    const char *texts[COLUMNS_MAX];
    uint32_t used = columns->count;
    for (uint32_t c = 0; c < columns->count; c++)
        texts[c] = cells[c].text ? cells[c].text : "";
    while (used && !texts[used - 1][0])
        used--;
    do {
        uint32_t more = 0;
        for (uint32_t c = 0; c < used; c++) {
            size_t bytes = line_of(texts[c], widths[c]);
            uint32_t shown = shown_width_of(texts[c], bytes);
            if (c)
                pad(stream, columns->gap);
            print_cell(stream, style, cells[c].paint, texts[c], bytes, widths[c] - shown, columns->left[c],
                       c + 1 == used);
            texts[c] += bytes;
            texts[c] += strspn(texts[c], " ");
            more = texts[c][0] ? c + 1 : more;
        }
        fputc('\n', stream);
        used = more;
    } while (used);
}

/* ABCDEFGH in 5 columns: AB…GH; with a number, A…2…H. */
static const char *shorten(const struct columns *columns, const struct report_style *style, const char *text,
                           uint32_t width, uint32_t number)
{
    const char *mark = style->utf8 ? "\u2026" : "..";
    char middle[32];
    if (number > 1)
        snprintf(middle, sizeof middle, "%s%u%s", mark, number, mark);
    else
        snprintf(middle, sizeof middle, "%s", mark);
    uint32_t rest = width - shown_width(middle), all = shown_width(text), head = (rest + 1) / 2;
    size_t tail = bytes_of(text, all - (rest - head));
    return arena_format(columns->arena, "%.*s%s%s", (int)bytes_of(text, head), text, middle, text + tail);
}

/* By a row of another name. */
static bool is_taken(const struct columns *columns, const struct row *row, const char *text)
{
    for (const struct row *other = columns->first; other; other = other->next) {
        if (other->name && other->cells[0].text && !strcmp(other->cells[0].text, text) &&
            strcmp(other->name, row->name) != 0)
            return true;
    }
    return false;
}

/* Names in the first column that are too long lose their middle; those that differ still do. False when out of memory. */
static bool shorten_names(struct columns *columns, const struct report_style *style, uint32_t width)
{
    for (struct row *row = columns->first; row; row = row->next)
        row->name = row->cells[0].text;
    for (struct row *row = columns->first; row; row = row->next) {
        const char *text = row->name;
        for (uint32_t number = 1; text && shown_width(row->name) > width; number++) {
            if (!(text = shorten(columns, style, row->name, width, number)))
                return false;
            if (!is_taken(columns, row, text))
                break;
        }
        row->cells[0].text = text;
    }
    return true;
}

bool columns_shorten_names(const char **names, uint32_t count, uint32_t taken, const struct report_style *style,
                           struct arena *arena)
{
    static const char *const titles[] = {"<name"};
    struct columns *columns = columns_create(arena, titles, 1);
    uint32_t width = style->width > taken + NAME_LEAST ? style->width - taken : NAME_LEAST;
    for (uint32_t i = 0; i < count; i++) {
        columns_row(columns);
        columns_set(columns, 0, PAINT_NONE, "%s", names[i]);
    }
    if (!columns || columns->out_of_memory || (style->width && !shorten_names(columns, style, width)))
        return false;
    for (const struct row *row = columns->first; row; row = row->next)
        *names++ = row->cells[0].text;
    return true;
}

void columns_text(const char *text, const struct report_style *style, FILE *stream)
{
    for (size_t line; *text; text += line + (text[line] == '\n')) {
        line = strcspn(text, "\n");
        uint32_t indent = (uint32_t)strspn(text, " ");
        const char *rest = text + indent, *end = text + line;
        do {
            size_t bytes = (size_t)(end - rest);
            if (style->wraps && style->width > indent && indent + shown_width_of(rest, bytes) > style->width)
                bytes = line_of(rest, style->width - indent);
            pad(stream, bytes ? indent : 0);
            fprintf(stream, "%.*s\n", (int)bytes, rest);
            rest += bytes;
            rest += strspn(rest, " ");
        } while (rest < end);
    }
}

void columns_format(const struct report_style *style, FILE *stream, const char *format, ...)
{
    char *text;
    va_list values, again;
    va_start(values, format);
    va_copy(again, values);
    if (vasprintf(&text, format, values) >= 0) {
        columns_text(text, style, stream);
        free(text);
    } else {
        vfprintf(stream, format, again);
    }
    va_end(again);
    va_end(values);
}

static uint32_t longest_word(const char *text)
{
    uint32_t longest = 0, word = 0;
    for (; text && *text; text++) {
        word = *text == ' ' ? 0 : word + (((unsigned char)*text & 0xc0) != 0x80);
        longest = word > longest ? word : longest;
    }
    return longest;
}

/*
 * To which width a column can come: titles and texts have lines, names and numbers have none. A word of a text that is longer than `room`
 * goes on in the next line.
 */
static uint32_t least_width(const struct columns *columns, uint32_t column, uint32_t room)
{
    uint32_t least = longest_word(columns->titles[column]);
    bool has_lines = columns->left[column] && column;
    for (const struct row *row = columns->first; row; row = row->next) {
        const char *text = row->cells[column].text ? row->cells[column].text : "";
        uint32_t width = has_lines ? longest_word(text) : shown_width(text);
        width = has_lines && width > room ? room : width;
        least = width > least ? width : least;
    }
    return least;
}

/* Takes from the widest columns first, of those from `first` to before `end`. */
static void narrow(uint32_t *widths, const uint32_t *least, uint32_t first, uint32_t end, uint32_t excess)
{
    for (; excess; excess--) {
        uint32_t widest = COLUMNS_MAX;
        for (uint32_t c = first; c < end; c++) {
            if (widths[c] > least[c] && (widest == COLUMNS_MAX || widths[c] > widths[widest]))
                widest = c;
        }
        if (widest == COLUMNS_MAX)
            return;
        widths[widest]--;
    }
}

static uint32_t sum_of(const struct columns *columns, const uint32_t *widths)
{
    uint32_t total = 0;
    for (uint32_t c = 0; c < columns->count; c++)
        total += widths[c] + (c ? columns->gap : 0);
    return total;
}

/* The widths that the cells take, and less if that is too much and can be had. False when out of memory. */
static bool find_widths(struct columns *columns, const struct report_style *style, uint32_t *widths)
{
    columns->gap = GAP;
    for (uint32_t c = 0; c < columns->count; c++) {
        widths[c] = shown_width(columns->titles[c]);
        for (const struct row *row = columns->first; row; row = row->next) {
            uint32_t width = row->cells[c].text ? shown_width(row->cells[c].text) : 0;
            widths[c] = width > widths[c] ? width : widths[c];
        }
    }
    uint32_t total = sum_of(columns, widths);
    if (style->markdown || !style->width || total <= style->width)
        return true;
    uint32_t others = total - widths[0], room = style->width > others ? style->width - others : 0;
    uint32_t title = shown_width(columns->titles[0]), least = title > NAME_LEAST ? title : NAME_LEAST;
    room = room > least ? room : least;
    if (room < widths[0]) {
        widths[0] = room;
        if (!shorten_names(columns, style, room))
            return false;
    }
    return true;
}

/* Columns that are printed side by side: the first one, and those from `first` to before `end`. */
struct part {
    uint32_t first, end;
};

/* How many of the columns from `first` on go beside the first one; at least one. */
static uint32_t end_of_part(const struct columns *columns, uint32_t first, const uint32_t *least, uint32_t width)
{
    uint32_t end = first, used = least[0];
    while (end < columns->count && (end == first || used + columns->gap + least[end] <= width))
        used += columns->gap + least[end++];
    return end;
}

/* The parts in which a table fits the terminal. Widths are changed so that each does. Returns how many. */
static uint32_t find_parts(struct columns *columns, const struct report_style *style, uint32_t *widths,
                           struct part parts[COLUMNS_MAX])
{
    uint32_t total = sum_of(columns, widths), least[COLUMNS_MAX], count = 0;
    parts[0] = (struct part){1, columns->count};
    if (style->markdown || !style->wraps || !style->width || total <= style->width || columns->count == 1)
        return 1;
    least[0] = least_width(columns, 0, 0);
    uint32_t room = style->width > least[0] + GAP ? style->width - least[0] - GAP : 1;
    for (uint32_t c = 1; c < columns->count; c++)
        least[c] = least_width(columns, c, room);
    uint32_t closest = sum_of(columns, least), closer = closest - (columns->count - 1) * (GAP - 1);
    if (closer <= style->width) {
        columns->gap = closest <= style->width ? GAP : 1;
        narrow(widths, least, 0, columns->count, sum_of(columns, widths) - style->width);
        return 1;
    }
    widths[0] = least[0];
    for (uint32_t first = 1; first < columns->count; first = parts[count++].end) {
        parts[count] = (struct part){first, end_of_part(columns, first, least, style->width)};
        uint32_t used = widths[0];
        for (uint32_t c = first; c < parts[count].end; c++)
            used += columns->gap + widths[c];
        narrow(widths, least, first, parts[count].end, used > style->width ? used - style->width : 0);
    }
    return count;
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

static struct row row_of_part(const struct cell *cells, struct part part)
{
    struct row row = {.cells = {cells[0]}};
    for (uint32_t c = part.first; c < part.end; c++)
        row.cells[1 + c - part.first] = cells[c];
    return row;
}

static void print_part(const struct columns *all, const struct cell *titles, const uint32_t *all_widths,
                       struct part part, const struct report_style *style, FILE *stream)
{
    struct columns columns = {.count = 1 + part.end - part.first, .gap = all->gap, .left = {all->left[0]}};
    uint32_t widths[COLUMNS_MAX] = {all_widths[0]};
    for (uint32_t c = part.first; c < part.end; c++) {
        columns.left[1 + c - part.first] = all->left[c];
        widths[1 + c - part.first] = all_widths[c];
    }
    print_row(&columns, row_of_part(titles, part).cells, widths, style, stream);
    uint32_t total = sum_of(&columns, widths);
    for (uint32_t i = 0; i < total; i++)
        fputs(style->utf8 ? "\u2500" : "-", stream);
    fputc('\n', stream);
    for (const struct row *row = all->first; row; row = row->next)
        print_row(&columns, row_of_part(row->cells, part).cells, widths, style, stream);
}

bool columns_print(struct columns *columns, const struct report_style *style, FILE *stream)
{
    uint32_t widths[COLUMNS_MAX] = {0};
    if (!columns || columns->out_of_memory || !find_widths(columns, style, widths))
        return false;
    struct cell titles[COLUMNS_MAX] = {{0}};
    struct part parts[COLUMNS_MAX];
    for (uint32_t c = 0; c < columns->count; c++)
        titles[c] = (struct cell){columns->titles[c], PAINT_TITLE};
    if (style->markdown) {
        print_markdown(columns, titles, stream);
        return true;
    }
    uint32_t count = find_parts(columns, style, widths, parts);
    for (uint32_t p = 0; p < count; p++) {
        if (p)
            fputc('\n', stream);
        print_part(columns, titles, widths, parts[p], style, stream);
    }
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
