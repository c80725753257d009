/* SPDX-License-Identifier: MIT */
/* Linking PTX: units are scanned for the names that they define and use, and written as one text. */
#include "cuda/ptx_link.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct lexer lexer_over(const char *text, size_t bytes)
{
    return (struct lexer){.at = text, .end = text + bytes, .line_start = text, .line = 1};
}

static bool scan(struct ptx_unit *unit)
{
    static const char *const left_out[] = {"version", "target", "address_size", "file", "section"};
    struct lexer lexer = lexer_over(unit->text, unit->bytes);
    struct ptx_statement part;
    while (ptx_statement_next(&lexer, unit->text, &part)) {
        unsigned major, minor, architecture;
        const char *text = unit->text + part.start;
        bool skip = false;
        if (sscanf(text, ".version %u.%u", &major, &minor) == 2)
            unit->version = major * 100 + minor;
        else if (sscanf(text, ".target sm_%u", &architecture) == 1)
            unit->architecture = architecture;
        for (size_t i = 0; i < sizeof left_out / sizeof *left_out; i++)
            skip |= ptx_statement_is(&part, left_out[i]);
        size_t known;
        if (!skip && (!vector_push(&unit->parts, part) ||
                      (part.name_bytes && part.linkage == PTX_LINKAGE_NONE &&
                       !text_table_find_or_add(&unit->locals, unit->text + part.name, part.name_bytes, 0, &known))))
            return false;
    }
    return true;
}

static void free_unit(struct ptx_unit *unit)
{
    vector_free(&unit->parts);
    text_table_free(&unit->locals);
    free(unit->text);
}

/* A part's name within its unit's text. */
static const char *name_of(const struct ptx_unit *unit, const struct ptx_statement *part)
{
    return unit->text + part->name;
}

static bool has_name(const struct ptx_unit *unit, const struct ptx_statement *part, const char *name, size_t bytes)
{
    return part->name_bytes == bytes && !memcmp(name_of(unit, part), name, bytes);
}

bool ptx_link_add(struct ptx_link *link, const char *text, size_t bytes, bool library)
{
    bytes = strnlen(text, bytes);
    struct ptx_unit unit = {.text = malloc(bytes + 1), .bytes = bytes, .wanted = !library};
    if (!unit.text)
        return false;
    memcpy(unit.text, text, bytes);
    unit.text[bytes] = 0;
    if (!scan(&unit) || !vector_push(&link->units, unit)) {
        free_unit(&unit);
        return false;
    }
    return true;
}

void ptx_link_free(struct ptx_link *link)
{
    for (size_t i = 0; i < link->units.count; i++)
        free_unit(&link->units.data[i]);
    vector_free(&link->units);
}

static bool defines(const struct ptx_statement *part)
{
    return part->name_bytes && part->linkage != PTX_LINKAGE_EXTERN && (!part->is_function || part->has_body);
}

static void want(struct ptx_link *link, const char *name, size_t bytes)
{
    for (size_t u = 0; u < link->units.count; u++) {
        struct ptx_unit *unit = &link->units.data[u];
        for (size_t p = 0; p < unit->parts.count && !unit->wanted; p++)
            unit->wanted = defines(&unit->parts.data[p]) && has_name(unit, &unit->parts.data[p], name, bytes);
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
                const struct ptx_statement *part = &link->units.data[u].parts.data[p];
                if (part->name_bytes && !defines(part))
                    want(link, name_of(&link->units.data[u], part), part->name_bytes);
            }
        count = 0;
        for (size_t u = 0; u < link->units.count; u++)
            count += link->units.data[u].wanted;
    } while (count > before);
    size_t kept = 0;
    for (size_t u = 0; u < link->units.count; u++) {
        if (link->units.data[u].wanted)
            link->units.data[kept++] = link->units.data[u];
        else
            free_unit(&link->units.data[u]);
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
            const struct ptx_statement *part = &unit->parts.data[p];
            size_t number = u << 32 | p, found;
            if (!defines(part))
                continue;
            struct text_table *table = part->linkage == PTX_LINKAGE_NONE ? &linker->locals : &linker->definitions;
            if (!text_table_find_or_add(table, name_of(unit, part), part->name_bytes,
                                        part->linkage == PTX_LINKAGE_NONE ? u : number, &found))
                return CORUN_MEMORY;
            if (part->linkage == PTX_LINKAGE_VISIBLE && found != number &&
                linker->link->units.data[found >> 32].parts.data[found & UINT32_MAX].linkage == PTX_LINKAGE_VISIBLE)
                return corun_report(linker->list, CORUN_SYNTAX, CORUN_NOWHERE, "two translation units define %.*s",
                                    (int)part->name_bytes, name_of(unit, part));
        }
    }
    return CORUN_OK;
}

/* Copies a part of a unit's text; names without linkage that another unit has as well get this unit's number. */
static void write_renamed(const struct linker *linker, size_t u, size_t from, size_t to)
{
    const struct ptx_unit *unit = &linker->link->units.data[u];
    const char *at = unit->text + from, *end = unit->text + to;
    struct lexer lexer = lexer_over(at, to - from);
    struct token token;
    for (lexer_next(&lexer, &token); token.kind != TOKEN_END; lexer_next(&lexer, &token)) {
        size_t first, known;
        if (token.kind != TOKEN_WORD || !text_table_find(&linker->locals, token.text, token.length, &first) ||
            first == u || !text_table_find(&unit->locals, token.text, token.length, &known))
            continue;
        fwrite(at, 1, (size_t)(lexer.at - at), linker->out);
        fprintf(linker->out, "$%zu", u);
        at = lexer.at;
    }
    fwrite(at, 1, (size_t)(end - at), linker->out);
}

/* Variables may hold addresses of functions, so these are declared first. */
enum pass { PASS_DECLARATIONS, PASS_VARIABLES, PASS_FUNCTIONS };

static bool is_declared(const struct ptx_unit *unit, const struct ptx_statement *part)
{
    for (size_t i = 0; i < unit->parts.count; i++) {
        const struct ptx_statement *other = &unit->parts.data[i];
        if (other->is_function && !other->has_body && has_name(unit, other, name_of(unit, part), part->name_bytes))
            return true;
    }
    return false;
}

static enum corun_status write_part(struct linker *linker, size_t u, size_t p, enum pass pass)
{
    const struct ptx_unit *unit = &linker->link->units.data[u];
    const struct ptx_statement *part = &unit->parts.data[p];
    const char *name = name_of(unit, part);
    if (pass == PASS_DECLARATIONS && part->is_function && part->has_body && !part->is_entry && part->name_bytes &&
        !is_declared(unit, part)) {
        size_t taken = u << 32 | p, before = taken;
        if (part->linkage != PTX_LINKAGE_NONE &&
            (!text_table_find(&linker->definitions, name, part->name_bytes, &taken) || taken != (u << 32 | p) ||
             !text_table_find_or_add(&linker->declared, name, part->name_bytes, taken, &before) || before != taken))
            return CORUN_OK;
        write_renamed(linker, u, part->start, part->body); /* its heading */
        fputs(";\n", linker->out);
        return CORUN_OK;
    }
    enum pass own = !part->is_function ? PASS_VARIABLES : part->has_body ? PASS_FUNCTIONS : PASS_DECLARATIONS;
    size_t found, skip = 0;
    if (own != pass)
        return CORUN_OK;
    bool defined = part->name_bytes && text_table_find(&linker->definitions, name, part->name_bytes, &found);
    if (part->name_bytes && part->linkage != PTX_LINKAGE_NONE) {
        if (defines(part) && found != (u << 32 | p))
            return CORUN_OK; /* another unit's definition was taken */
        if (!defines(part)) {
            size_t before;
            if (defined && !part->is_function)
                return CORUN_OK;
            if (!text_table_find_or_add(&linker->declared, name, part->name_bytes, u << 32 | p, &before))
                return CORUN_MEMORY;
            if (before != (u << 32 | p))
                return CORUN_OK;
            if (defined && part->linkage == PTX_LINKAGE_EXTERN)
                skip = part->linkage_bytes;
        }
    }
    write_renamed(linker, u, part->start + skip, part->end);
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
