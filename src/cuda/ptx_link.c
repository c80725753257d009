#include "cuda/ptx_link.h"

#include "base/text_table.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool word_character(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$';
}

/* Behind a comment or a string that begins at `at`; `at` itself if there is none. */
static const char *skip_text(const char *at)
{
    if (at[0] == '/' && at[1] == '/')
        return at + strcspn(at, "\n");
    if (at[0] == '/' && at[1] == '*') {
        const char *end = strstr(at + 2, "*/");
        return end ? end + 2 : at + strlen(at);
    }
    if (at[0] == '"') {
        at++;
        return at + strcspn(at, "\"") + (at[strcspn(at, "\"")] == '"');
    }
    return at;
}

static const char *skip_space(const char *at)
{
    for (;;) {
        while (isspace((unsigned char)*at))
            at++;
        const char *behind = at[0] == '/' ? skip_text(at) : at;
        if (behind == at)
            return at;
        at = behind;
    }
}

static bool is_word(const char *at, const char *word)
{
    size_t length = strlen(word);
    return !strncmp(at, word, length) && !word_character(at[length]);
}

/* Where the statement at `at` ends: behind its semicolon, its body, or for directives of one line behind that. */
static const char *statement_end(const char *at, bool *has_body)
{
    unsigned depth = 0;
    bool initial = false;
    *has_body = false;
    if (is_word(at, ".file") || is_word(at, ".version") || is_word(at, ".target") || is_word(at, ".address_size"))
        return at + strcspn(at, "\n");
    bool section = is_word(at, ".section");
    while (*at) {
        const char *behind = skip_text(at);
        if (behind != at) {
            at = behind;
            continue;
        }
        initial |= *at == '=' && !depth;
        if (*at == '{')
            depth++;
        if (*at == '}' && depth && --depth == 0 && !initial) {
            *has_body = !section;
            return at + 1;
        }
        if (*at == ';' && depth == 0)
            return at + 1;
        at++;
    }
    return at;
}

/*
 * The name that a statement declares: of a function what stands before its parameters, of a variable its last word
 * before [, = or ;.
 */
static void find_name(struct ptx_part *part)
{
    const char *end = part->text + part->bytes;
    unsigned parentheses = 0;
    for (const char *at = part->text; at < end;) {
        const char *behind = skip_text(at);
        if (behind != at) {
            at = behind;
            continue;
        }
        if (*at == '.') {
            part->is_entry |= is_word(at, ".entry");
            part->is_function |= is_word(at, ".entry") || is_word(at, ".func");
            at++;
            while (at < end && word_character(*at))
                at++;
        } else if (*at == '(') {
            if (part->is_function && part->name)
                return;
            parentheses++;
            at++;
        } else if (*at == ')') {
            parentheses -= parentheses > 0;
            at++;
        } else if (parentheses == 0 && (*at == '[' || *at == '=' || *at == ';' || *at == '{')) {
            return;
        } else if (parentheses == 0 && word_character(*at) && !isdigit((unsigned char)*at)) {
            part->name = at;
            while (at < end && word_character(*at))
                at++;
            part->name_bytes = (size_t)(at - part->name);
        } else {
            at++;
        }
    }
}

static enum ptx_part_linkage linkage_of(const char *at, size_t *bytes)
{
    static const struct {
        const char *word;
        enum ptx_part_linkage linkage;
    } rows[] = {{".extern", PART_EXTERN}, {".visible", PART_VISIBLE}, {".weak", PART_WEAK}, {".common", PART_WEAK}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (is_word(at, rows[i].word)) {
            *bytes = strlen(rows[i].word);
            return rows[i].linkage;
        }
    *bytes = 0;
    return PART_LOCAL;
}

static bool scan(struct ptx_unit *unit)
{
    const char *at = skip_space(unit->text);
    while (*at) {
        struct ptx_part part = {.text = at};
        const char *end = statement_end(at, &part.has_body);
        part.bytes = (size_t)(end - at);
        unsigned major, minor, architecture;
        if (sscanf(at, ".version %u.%u", &major, &minor) == 2)
            unit->version = major * 100 + minor;
        else if (sscanf(at, ".target sm_%u", &architecture) == 1)
            unit->architecture = architecture;
        else if (!is_word(at, ".file") && !is_word(at, ".section") && !is_word(at, ".target") &&
                 !is_word(at, ".address_size")) {
            part.linkage = linkage_of(at, &part.linkage_bytes);
            find_name(&part);
            if (!vector_push(&unit->parts, part))
                return false;
        }
        at = skip_space(end);
    }
    return true;
}

bool ptx_link_add(struct ptx_link *link, const char *text, size_t bytes, bool library)
{
    struct ptx_unit unit = {.text = malloc(bytes + 1), .wanted = !library};
    if (!unit.text)
        return false;
    memcpy(unit.text, text, bytes);
    unit.text[bytes] = 0;
    if (!scan(&unit) || !vector_push(&link->units, unit)) {
        vector_free(&unit.parts);
        free(unit.text);
        return false;
    }
    return true;
}

void ptx_link_free(struct ptx_link *link)
{
    for (size_t i = 0; i < link->units.count; i++) {
        vector_free(&link->units.data[i].parts);
        free(link->units.data[i].text);
    }
    vector_free(&link->units);
}

static bool defines(const struct ptx_part *part)
{
    return part->name && part->linkage != PART_EXTERN && (!part->is_function || part->has_body);
}

static void want(struct ptx_link *link, const char *name, size_t bytes)
{
    for (size_t u = 0; u < link->units.count; u++) {
        struct ptx_unit *unit = &link->units.data[u];
        for (size_t p = 0; p < unit->parts.count && !unit->wanted; p++)
            unit->wanted = defines(&unit->parts.data[p]) && unit->parts.data[p].name_bytes == bytes &&
                           !memcmp(unit->parts.data[p].name, name, bytes);
    }
}

/*
 * Takes what is wanted and, again and again, what that declares and does not define. Libraries drop out that nobody
 * calls.
 */
static void keep_wanted(struct ptx_link *link)
{
    size_t count = 0, before;
    for (size_t u = 0; u < link->units.count; u++)
        count += link->units.data[u].wanted;
    do {
        before = count;
        for (size_t u = 0; u < link->units.count; u++)
            for (size_t p = 0; link->units.data[u].wanted && p < link->units.data[u].parts.count; p++) {
                const struct ptx_part *part = &link->units.data[u].parts.data[p];
                if (part->name && !defines(part))
                    want(link, part->name, part->name_bytes);
            }
        count = 0;
        for (size_t u = 0; u < link->units.count; u++)
            count += link->units.data[u].wanted;
    } while (count > before);
    size_t kept = 0;
    for (size_t u = 0; u < link->units.count; u++) {
        if (link->units.data[u].wanted) {
            link->units.data[kept++] = link->units.data[u];
        } else {
            vector_free(&link->units.data[u].parts);
            free(link->units.data[u].text);
        }
    }
    link->units.count = kept;
}

struct linker {
    struct ptx_link *link;
    struct corun_diagnostics *list;
    struct text_table definitions; /* name → unit * 2^32 + part, of those with linkage */
    struct text_table locals;      /* name → first unit that has it */
    struct text_table declared;    /* what has been written without a definition */
    FILE *out;
};

/* Who defines what. A visible definition counts before a weak one. */
static enum corun_status collect(struct linker *linker)
{
    for (size_t u = 0; u < linker->link->units.count; u++) {
        const struct ptx_unit *unit = &linker->link->units.data[u];
        for (size_t p = 0; p < unit->parts.count; p++) {
            const struct ptx_part *part = &unit->parts.data[p];
            size_t number = u << 32 | p, found;
            if (!defines(part))
                continue;
            struct text_table *table = part->linkage == PART_LOCAL ? &linker->locals : &linker->definitions;
            if (!text_table_find_or_add(table, part->name, part->name_bytes, part->linkage == PART_LOCAL ? u : number,
                                        &found))
                return CORUN_MEMORY;
            if (part->linkage == PART_VISIBLE && found != number &&
                linker->link->units.data[found >> 32].parts.data[found & UINT32_MAX].linkage == PART_VISIBLE)
                return corun_report(linker->list, CORUN_SYNTAX, CORUN_NOWHERE, "two translation units define %.*s",
                                    (int)part->name_bytes, part->name);
        }
    }
    return CORUN_OK;
}

/* Copies text; names without linkage that another unit has as well get this unit's number. */
static void write_renamed(const struct linker *linker, size_t unit, const char *text, size_t bytes)
{
    const char *end = text + bytes;
    while (text < end) {
        const char *from = text;
        if (word_character(*text)) {
            while (text < end && word_character(*text))
                text++;
            size_t first, length = (size_t)(text - from);
            fwrite(from, 1, length, linker->out);
            if (text_table_find(&linker->locals, from, length, &first) && first != unit && (from[-1] != '%'))
                for (size_t p = 0; p < linker->link->units.data[unit].parts.count; p++) {
                    const struct ptx_part *part = &linker->link->units.data[unit].parts.data[p];
                    if (part->linkage == PART_LOCAL && part->name && part->name_bytes == length &&
                        !memcmp(part->name, from, length)) {
                        fprintf(linker->out, "$%zu", unit);
                        break;
                    }
                }
        } else {
            while (text < end && !word_character(*text))
                text++;
            fwrite(from, 1, (size_t)(text - from), linker->out);
        }
    }
}

/* Variables may hold addresses of functions, so these are declared first. */
enum pass { PASS_DECLARATIONS, PASS_VARIABLES, PASS_FUNCTIONS };

static bool is_declared(const struct ptx_unit *unit, const struct ptx_part *part)
{
    for (size_t i = 0; i < unit->parts.count; i++) {
        const struct ptx_part *other = &unit->parts.data[i];
        if (other->is_function && !other->has_body && other->name_bytes == part->name_bytes &&
            !memcmp(other->name, part->name, part->name_bytes))
            return true;
    }
    return false;
}

/* A device function's heading, as a declaration. */
static void declare(const struct linker *linker, size_t u, const struct ptx_part *part)
{
    size_t length = 0;
    while (length < part->bytes && part->text[length] != '{') {
        const char *behind = skip_text(part->text + length);
        size_t stepped = (size_t)(behind - part->text);
        length = stepped > length ? stepped : length + 1;
    }
    write_renamed(linker, u, part->text, length < part->bytes ? length : part->bytes);
    fputs(";\n", linker->out);
}

static enum corun_status write_part(struct linker *linker, size_t u, size_t p, enum pass pass)
{
    const struct ptx_part *part = &linker->link->units.data[u].parts.data[p];
    if (pass == PASS_DECLARATIONS && part->is_function && part->has_body && !part->is_entry && part->name &&
        !is_declared(&linker->link->units.data[u], part)) {
        size_t taken = u << 32 | p, before = taken;
        if (part->linkage != PART_LOCAL &&
            (!text_table_find(&linker->definitions, part->name, part->name_bytes, &taken) || taken != (u << 32 | p) ||
             !text_table_find_or_add(&linker->declared, part->name, part->name_bytes, taken, &before) ||
             before != taken))
            return CORUN_OK;
        declare(linker, u, part);
        return CORUN_OK;
    }
    enum pass own = !part->is_function ? PASS_VARIABLES : part->has_body ? PASS_FUNCTIONS : PASS_DECLARATIONS;
    size_t found, skip = 0;
    if (own != pass)
        return CORUN_OK;
    bool defined = part->name && text_table_find(&linker->definitions, part->name, part->name_bytes, &found);
    if (part->name && part->linkage != PART_LOCAL) {
        if (defines(part) && found != (u << 32 | p))
            return CORUN_OK; /* another unit's definition was taken */
        if (!defines(part)) {
            size_t before;
            if (defined && !part->is_function)
                return CORUN_OK;
            if (!text_table_find_or_add(&linker->declared, part->name, part->name_bytes, u << 32 | p, &before))
                return CORUN_MEMORY;
            if (before != (u << 32 | p))
                return CORUN_OK;
            if (defined && part->linkage == PART_EXTERN)
                skip = part->linkage_bytes;
        }
    }
    write_renamed(linker, u, part->text + skip, part->bytes - skip);
    fputc('\n', linker->out);
    return CORUN_OK;
}

static enum corun_status write_all(struct linker *linker)
{
    unsigned version = 0, architecture = 0;
    for (size_t u = 0; u < linker->link->units.count; u++) {
        const struct ptx_unit *unit = &linker->link->units.data[u];
        version = unit->version > version ? unit->version : version;
        architecture = unit->architecture > architecture ? unit->architecture : architecture;
    }
    if (!version || !architecture)
        return corun_report(linker->list, CORUN_SYNTAX, CORUN_NOWHERE,
                            "a translation unit to be linked has no .version or .target");
    fprintf(linker->out, ".version %u.%u\n.target sm_%u\n.address_size 64\n", version / 100, version % 100,
            architecture);
    for (enum pass pass = PASS_DECLARATIONS; pass <= PASS_FUNCTIONS; pass++)
        for (size_t u = 0; u < linker->link->units.count; u++)
            for (size_t p = 0; p < linker->link->units.data[u].parts.count; p++) {
                enum corun_status status = write_part(linker, u, p, pass);
                if (status != CORUN_OK)
                    return status;
            }
    return CORUN_OK;
}

enum corun_status ptx_link_finish(struct ptx_link *link, struct corun_diagnostics *list, char **text, size_t *bytes)
{
    struct linker linker = {.link = link, .list = list};
    *text = NULL;
    linker.out = open_memstream(text, bytes);
    if (!linker.out)
        return CORUN_MEMORY;
    keep_wanted(link);
    enum corun_status status = collect(&linker);
    if (status == CORUN_OK)
        status = write_all(&linker);
    if (fclose(linker.out) && status == CORUN_OK)
        status = CORUN_MEMORY;
    text_table_free(&linker.definitions);
    text_table_free(&linker.locals);
    text_table_free(&linker.declared);
    if (status != CORUN_OK) {
        free(*text);
        *text = NULL;
    }
    return status;
}
