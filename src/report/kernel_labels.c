/* SPDX-License-Identifier: MIT */
/* Kernels with one name in a table get those of their arguments that differ; or the part of their symbols, or the whole symbol. */
#include "report/kernel_labels.h"

#include "base/kernel_name.h"
#include "base/kernel_signature.h"

#include <stdbool.h>
#include <string.h>

#define NAME_BYTES 1024u
#define PART_BYTES \
    24u /* of arguments or a symbol, behind a name: with the figures of a table that is a line of a terminal */

/* How many bytes all symbols with that name have in common: at the beginning, and at the end behind them. */
struct common {
    size_t head, tail;
};

static struct common compare(const char *const *symbols, const char *const *names, uint32_t count, uint32_t index)
{
    const char *symbol = symbols[index];
    size_t length = strlen(symbol);
    struct common common = {length, length};
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(names[i], names[index]) != 0 || !strcmp(symbols[i], symbol))
            continue;
        size_t other = strlen(symbols[i]), head = 0, tail = 0;
        while (symbol[head] && symbol[head] == symbols[i][head])
            head++;
        while (tail < length - head && tail < other - head && symbol[length - 1 - tail] == symbols[i][other - 1 - tail])
            tail++;
        common.head = head < common.head ? head : common.head;
        common.tail = tail < common.tail ? tail : common.tail;
    }
    return common;
}

/* Behind a name, the middle of which is left out if it is long. */
static const char *shorten(struct arena *arena, const char *text, size_t name_bytes, bool shortened)
{
    const size_t side = PART_BYTES / 2 - 1, rest = strlen(text) - name_bytes;
    if (!shortened || rest <= PART_BYTES + 2)
        return text;
    return arena_format(arena, "%.*s..%s", (int)(name_bytes + side + 1), text, text + strlen(text) - side - 1);
}

/* ---- signatures ---- */

/* One argument of a signature: which of its brackets and where in that, how many are in there. */
struct argument {
    const char *text;
    size_t bytes;
    uint32_t bracket, place, of;
};

static bool is_begin(char letter)
{
    return letter == SIGNATURE_ANGLE || letter == SIGNATURE_ROUND;
}

static bool is_end(char letter)
{
    return letter == SIGNATURE_ANGLE_END || letter == SIGNATURE_ROUND_END;
}

static size_t plain_bytes(const char *text)
{
    static const char marks[] = {SIGNATURE_ANGLE,     SIGNATURE_ANGLE_END, SIGNATURE_ROUND,
                                 SIGNATURE_ROUND_END, SIGNATURE_NEXT,      0};
    return strcspn(text, marks);
}

/* Behind the begin of a bracket. */
static uint32_t count_arguments(const char *text)
{
    uint32_t count = 1;
    for (; *text && !is_end(*text); text++)
        count += *text == SIGNATURE_NEXT;
    return count;
}

/* The argument at such a place; false: there is none, or the bracket has another number of them. */
static bool find_argument(const char *signature, struct argument *wanted)
{
    uint32_t bracket = 0;
    for (const char *at = signature; *at; at++) {
        if (!is_begin(*at) || bracket++ != wanted->bracket)
            continue;
        if (count_arguments(at + 1) != wanted->of)
            return false;
        at++;
        for (uint32_t place = 0; place < wanted->place; at++)
            place += *at == SIGNATURE_NEXT;
        wanted->text = at;
        wanted->bytes = plain_bytes(at);
        return true;
    }
    return false;
}

/* Signatures of kernels with one name, one of which is at hand. */
struct group {
    struct arena *arena;
    const char *const *signatures, *const *names;
    uint32_t count, index;
};

/* Is it the same in all of them? */
static bool is_common(const struct group *group, const struct argument *argument)
{
    for (uint32_t i = 0; i < group->count; i++) {
        struct argument other = *argument;
        if (strcmp(group->names[i], group->names[group->index]) != 0)
            continue;
        if (!find_argument(group->signatures[i], &other) || other.bytes != argument->bytes ||
            memcmp(other.text, argument->text, other.bytes) != 0)
            return false;
    }
    return true;
}

/* A bracket of the signature at hand, from behind its begin: arguments that all have are left out, and so is a bracket without others. */
static const char *append_bracket(const struct group *group, const char *to, const char *from, uint32_t bracket)
{
    const char *before = to;
    bool any = false, omitted = false;
    struct argument argument = {NULL, 0, bracket, 0, count_arguments(from)};
    to = to ? arena_format(group->arena, "%s%s", to, from[-1] == SIGNATURE_ANGLE ? "<" : "(") : NULL;
    for (; to && argument.place < argument.of && find_argument(group->signatures[group->index], &argument);
         argument.place++) {
        bool common = is_common(group, &argument);
        const char *comma = argument.place && !(common && omitted) ? ", " : "";
        if (!common || !omitted)
            to = common ? arena_format(group->arena, "%s%s..", to, comma)
                        : arena_format(group->arena, "%s%s%.*s", to, comma, (int)argument.bytes, argument.text);
        any |= !common;
        omitted = common;
    }
    if (!any)
        return before;
    return to ? arena_format(group->arena, "%s%s", to, from[-1] == SIGNATURE_ANGLE ? ">" : ")") : NULL;
}

/* The name with what tells it from the others of the group. NULL when out of memory. */
static const char *tell_apart(const struct group *group, bool parameters)
{
    const char *at = group->signatures[group->index], *to = "";
    for (uint32_t bracket = 0; to && *at; bracket++) {
        size_t plain = plain_bytes(at);
        to = arena_format(group->arena, "%s%.*s", to, (int)plain, at);
        at += plain;
        if (*at && (*at != SIGNATURE_ROUND || parameters))
            to = append_bracket(group, to, at + 1, bracket);
        while (*at && !is_end(*at))
            at++;
        at += *at != 0;
    }
    return to;
}

/* The label of each kernel whose name others have, by signatures; NULL where these do not tell it apart. False when out of memory. */
static bool label_by_signatures(struct arena *arena, const char *const *symbols, const char *const *names,
                                const char **labels, uint32_t count)
{
    const char **signatures = ARENA_ARRAY(arena, const char *, count + 1);
    for (uint32_t i = 0; signatures && i < count; i++) {
        const char *signature = kernel_signature(arena, symbols[i]);
        signatures[i] = signature ? signature : symbols[i];
    }
    for (uint32_t with = 0; signatures && with < 2; with++) {
        const char **texts = ARENA_ARRAY(arena, const char *, count + 1);
        for (uint32_t i = 0; texts && i < count; i++) {
            struct group group = {arena, signatures, names, count, i};
            if (!(texts[i] = tell_apart(&group, with)))
                return false;
        }
        for (uint32_t i = 0; texts && i < count; i++) {
            bool alone = signatures[i] != symbols[i];
            for (uint32_t k = 0; alone && k < count; k++)
                alone = strcmp(texts[i], texts[k]) != 0 || !strcmp(symbols[i], symbols[k]);
            if (alone && !labels[i])
                labels[i] = texts[i];
        }
        if (!texts)
            return false;
    }
    return signatures != NULL;
}

/* ---- symbols ---- */

/* The name and a part of the symbol. */
static const char *label_by_symbol(struct arena *arena, const char *name, const char *symbol, struct common common,
                                   bool shortened)
{
    size_t length = strlen(symbol),
           middle = length - common.head > common.tail ? length - common.head - common.tail : 0;
    const char *label = arena_format(arena, "%s [%.*s]", name, (int)middle, symbol + common.head);
    return label ? shorten(arena, label, strlen(name) + 1, shortened) : NULL;
}

static bool is_taken(const char *const *labels, const char *const *symbols, uint32_t index)
{
    for (uint32_t k = 0; k < index; k++)
        if (!strcmp(labels[k], labels[index]) && strcmp(symbols[k], symbols[index]) != 0)
            return true;
    return false;
}

/* Up to the first bracket; what has no name is a part of the name. */
static size_t name_bytes(const char *told)
{
    static const char unnamed[] = "(anonymous namespace)";
    size_t bytes = strcspn(told, "<(");
    while (!strncmp(told + bytes, unnamed, sizeof unnamed - 1)) {
        bytes += sizeof unnamed - 1;
        bytes += strcspn(told + bytes, "<(");
    }
    return bytes;
}

/* `told`: the name with arguments; NULL: these tell nothing. NULL when out of memory. */
static const char *label_of(struct arena *arena, const char *name, const char *symbol, const char *told,
                            struct common common, bool shortened)
{
    if (!told)
        return label_by_symbol(arena, name, symbol, common, shortened);
    return shorten(arena, told, name_bytes(told), shortened);
}

const char *const *kernel_labels(struct arena *arena, const char *const *symbols, uint32_t count)
{
    const char **names = ARENA_ARRAY(arena, const char *, count + 1),
               **labels = ARENA_ARRAY(arena, const char *, count + 1),
               **told = ARENA_ARRAY(arena, const char *, count + 1);
    for (uint32_t i = 0; names && labels && told && i < count; i++) {
        char name[NAME_BYTES];
        kernel_name(symbols[i], name, sizeof name);
        told[i] = NULL;
        if (!(names[i] = arena_copy_text(arena, name, strlen(name))))
            return NULL;
    }
    if (!names || !labels || !told || !label_by_signatures(arena, symbols, names, told, count))
        return NULL;
    for (uint32_t i = 0; i < count; i++) {
        size_t length = strlen(symbols[i]);
        struct common common = compare(symbols, names, count, i);
        labels[i] = names[i];
        if (common.head == length && common.tail == length)
            continue;
        labels[i] = label_of(arena, names[i], symbols[i], told[i], common, true);
        if (labels[i] && is_taken(labels, symbols, i))
            labels[i] = label_of(arena, names[i], symbols[i], told[i], common, false);
        if (!labels[i])
            return NULL;
        if (is_taken(labels, symbols, i))
            labels[i] = symbols[i];
    }
    return labels;
}
