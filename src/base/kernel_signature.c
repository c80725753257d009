/* SPDX-License-Identifier: MIT */
/*
 * Reads mangled names by their grammar. Every function takes its part of the text and gives what it means, or NULL where the text is something else.
 * The text is anybody's: depth and length are bounded.
 */
#include "base/kernel_signature.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define MOST_DEPTH 64u
#define MOST_KEPT 256u   /* substitutions of a name */
#define MOST_BYTES 4096u /* of a text: substitutions of substitutions double it */
#define MOST_ARGUMENTS 64u

struct reader {
    struct arena *arena;
    const char *at;
    const char *kept[MOST_KEPT]; /* S_, S0_, … */
    uint32_t kept_count, depth;
    const char *arguments[MOST_ARGUMENTS]; /* T_, T0_, … */
    uint32_t argument_count;
    bool ends_in_template;
};

static const char *read_type(struct reader *reader);
static const char *read_encoding(struct reader *reader, bool marked);

static const char *join(struct reader *reader, const char *a, const char *b, const char *c)
{
    if (!a || !b || !c || strlen(a) + strlen(b) + strlen(c) > MOST_BYTES)
        return NULL;
    return arena_format(reader->arena, "%s%s%s", a, b, c);
}

static const char *keep(struct reader *reader, const char *text)
{
    if (text && reader->kept_count < MOST_KEPT)
        reader->kept[reader->kept_count++] = text;
    return text;
}

static bool take(struct reader *reader, const char *text)
{
    size_t length = strlen(text);
    if (strncmp(reader->at, text, length) != 0)
        return false;
    reader->at += length;
    return true;
}

/* Of a substitution or an argument: _ is 0, 0_ is 1, …, digits to `base`. */
static bool read_number_of(struct reader *reader, uint32_t base, uint32_t *number)
{
    uint32_t value = 0;
    bool any = false;
    for (; *reader->at != '_'; any = true) {
        char digit = *reader->at++;
        uint32_t one = isdigit((unsigned char)digit)  ? (uint32_t)(digit - '0')
                       : digit >= 'A' && digit <= 'Z' ? (uint32_t)(digit - 'A') + 10
                                                      : base;
        if (one >= base || value > 100000)
            return false;
        value = value * base + one;
    }
    reader->at++;
    *number = value + any;
    return true;
}

static const char *read_builtin(struct reader *reader)
{
    static const struct {
        const char *code, *name;
    } types[] = {{"v", "void"},
                 {"b", "bool"},
                 {"c", "char"},
                 {"a", "signed char"},
                 {"h", "unsigned char"},
                 {"s", "short"},
                 {"t", "unsigned short"},
                 {"i", "int"},
                 {"j", "unsigned int"},
                 {"l", "long"},
                 {"m", "unsigned long"},
                 {"x", "long long"},
                 {"y", "unsigned long long"},
                 {"n", "__int128"},
                 {"o", "unsigned __int128"},
                 {"w", "wchar_t"},
                 {"f", "float"},
                 {"d", "double"},
                 {"e", "long double"},
                 {"z", "..."},
                 {"DF16_", "_Float16"},
                 {"Dh", "half"},
                 {"Dn", "std::nullptr_t"},
                 {"Di", "char32_t"},
                 {"Ds", "char16_t"}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (take(reader, types[i].code))
            return types[i].name;
    return NULL;
}

/* A literal, behind its L. */
static const char *read_literal(struct reader *reader)
{
    if (take(reader, "_Z")) {
        const char *of = read_encoding(reader, false);
        return take(reader, "E") ? of : NULL;
    }
    bool truth = *reader->at == 'b', plain = *reader->at && strchr("ijlmxyst", *reader->at);
    const char *type = read_type(reader);
    const bool negative = take(reader, "n");
    size_t length = strspn(reader->at, "0123456789abcdef");
    const char *digits = reader->at;
    if (!type || digits[length] != 'E')
        return NULL;
    reader->at += length + 1;
    if (truth && length == 1)
        return *digits == '0' ? "false" : "true";
    const char *value = arena_format(reader->arena, "%s%.*s", negative ? "-" : "", (int)length, digits);
    return plain ? value : join(reader, join(reader, "(", type, ")"), value ? value : "", "");
}

static const char *read_argument(struct reader *reader);

/* Up to E, with `between` them; also into `list`, if that is wanted. */
static const char *read_arguments(struct reader *reader, const char *between, const char **list, uint32_t *count)
{
    const char *all = "";
    while (all && !take(reader, "E")) {
        const char *one = read_argument(reader);
        if (list && *count < MOST_ARGUMENTS)
            list[(*count)++] = one;
        all = join(reader, all, *all && one && *one ? between : "", one); /* a pack may be empty */
    }
    return all;
}

static const char *read_one_argument(struct reader *reader)
{
    if (take(reader, "L"))
        return read_literal(reader);
    if (take(reader, "J"))
        return read_arguments(reader, ", ", NULL, NULL);
    if (take(reader, "XadL_Z")) {
        const char *of = read_encoding(reader, false);
        return take(reader, "EE") ? join(reader, "&", of, "") : NULL;
    }
    return read_type(reader);
}

static const char *read_argument(struct reader *reader)
{
    if (reader->depth >= MOST_DEPTH)
        return NULL;
    reader->depth++;
    const char *argument = read_one_argument(reader);
    reader->depth--;
    return argument;
}

/* Its arguments are what T_ is from now on, if it is of the name of the function. Behind I. */
static const char *read_template(struct reader *reader, bool of_function, bool marked)
{
    static const char next[] = {SIGNATURE_NEXT, 0}, begin[] = {SIGNATURE_ANGLE, 0}, end[] = {SIGNATURE_ANGLE_END, 0};
    const char *list[MOST_ARGUMENTS];
    uint32_t count = 0;
    const char *all = read_arguments(reader, marked ? next : ", ", list, &count);
    if (all && of_function) {
        memcpy(reader->arguments, list, count * sizeof *list);
        reader->argument_count = count;
    }
    return marked ? join(reader, begin, all, end) : join(reader, "<", all, ">");
}

/* <length><name>, a lambda, or an unnamed type. */
static const char *read_source_name(struct reader *reader)
{
    size_t length = 0;
    (void)take(reader, "L");
    if (take(reader, "Ul")) {
        const char *parameters = "";
        while (parameters && !take(reader, "E"))
            parameters = join(reader, parameters, *parameters ? ", " : "", read_type(reader));
        uint32_t number;
        return parameters && read_number_of(reader, 10, &number)
                   ? arena_format(reader->arena, "{lambda(%s)#%u}", strcmp(parameters, "void") ? parameters : "",
                                  number + 1)
                   : NULL;
    }
    if (!isdigit((unsigned char)*reader->at))
        return NULL;
    while (isdigit((unsigned char)*reader->at) && length < MOST_BYTES)
        length = length * 10 + (size_t)(*reader->at++ - '0');
    if (!length || length > strlen(reader->at))
        return NULL;
    const char *name = reader->at;
    reader->at += length;
    if (length >= 10 && !strncmp(name, "_GLOBAL__N", 10))
        return "(anonymous namespace)";
    return arena_copy_text(reader->arena, name, length);
}

static const char *read_substitution(struct reader *reader)
{
    static const struct {
        const char *code, *name;
    } known[] = {{"a", "std::allocator"}, {"b", "std::basic_string"}, {"s", "std::string"},
                 {"i", "std::istream"},   {"o", "std::ostream"},      {"d", "std::iostream"}};
    uint32_t number;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (take(reader, known[i].code))
            return known[i].name;
    return read_number_of(reader, 36, &number) && number < reader->kept_count ? reader->kept[number] : NULL;
}

static const char *read_template_parameter(struct reader *reader)
{
    uint32_t number;
    return read_number_of(reader, 10, &number) && number < reader->argument_count ? reader->arguments[number] : NULL;
}

/* What a name means, and the same with marks. */
struct name {
    const char *plain, *marked;
};

static void add(struct reader *reader, struct name *name, const char *part)
{
    const char *between = name->plain && *name->plain ? "::" : "";
    *name = (struct name){join(reader, name->plain, between, part), join(reader, name->marked, between, part)};
}

/* Marks are those of the function that the whole name is of. */
static bool add_template(struct reader *reader, struct name *name, bool of_function)
{
    const bool outermost = of_function && reader->depth == 1;
    const char *begin = reader->at;
    const uint32_t kept = reader->kept_count;
    const char *plain = read_template(reader, of_function, false), *end = reader->at;
    if (!plain)
        return false;
    /* Once more with marks: what the arguments add to the substitutions is there. */
    const uint32_t all = reader->kept_count;
    reader->at = begin;
    reader->kept_count = kept;
    const char *marked = outermost ? read_template(reader, false, true) : plain;
    reader->at = end;
    reader->kept_count = all;
    *name = (struct name){join(reader, name->plain, plain, ""), join(reader, name->marked, marked, "")};
    return name->plain && name->marked;
}

/* Behind N, up to E. */
static struct name read_nested(struct reader *reader, bool of_function)
{
    const struct name none = {NULL, NULL};
    struct name name = {"", ""};
    while (*reader->at == 'K' || *reader->at == 'V' || *reader->at == 'r')
        reader->at++;
    for (bool last = false; !last;) {
        bool known = false, templated = false;
        if (take(reader, "St")) {
            name = (struct name){"std", "std"};
            known = true;
        } else if (*reader->at == 'S') {
            reader->at++;
            name.plain = name.marked = read_substitution(reader);
            known = true;
        } else if (take(reader, "T")) {
            name.plain = name.marked = read_template_parameter(reader);
        } else if (take(reader, "I")) {
            templated = add_template(reader, &name, of_function);
            if (!templated)
                return none;
        } else {
            add(reader, &name, read_source_name(reader));
        }
        if (!name.plain || !name.marked)
            return none;
        last = take(reader, "E");
        reader->ends_in_template = templated;
        if (!known && (!last || !of_function))
            (void)keep(reader, name.plain);
    }
    return name;
}

/* Z encoding E entity: what is local to a function. */
static struct name read_local(struct reader *reader)
{
    struct name name = {NULL, NULL};
    const char *of = read_encoding(reader, false);
    if (!of || !take(reader, "E"))
        return name;
    name = (struct name){of, of};
    add(reader, &name, read_source_name(reader));
    if (take(reader, "_")) /* which of several of that name */
        reader->at += strspn(reader->at, "0123456789");
    return name;
}

static struct name read_name(struct reader *reader, bool of_function)
{
    const struct name none = {NULL, NULL};
    struct name name = {"", ""};
    reader->ends_in_template = false;
    if (take(reader, "N"))
        return read_nested(reader, of_function);
    if (take(reader, "Z"))
        return read_local(reader);
    if (take(reader, "St"))
        name = (struct name){"std", "std"};
    add(reader, &name, read_source_name(reader));
    if (!name.plain || !name.marked || !take(reader, "I"))
        return name;
    (void)keep(reader, name.plain);
    if (!add_template(reader, &name, of_function))
        return none;
    reader->ends_in_template = true;
    return name;
}

/* A type that has a name, is a substitution, or an argument of the template; with arguments behind it. */
static const char *read_named_type(struct reader *reader)
{
    const char *type;
    bool known = *reader->at == 'S' && reader->at[1] != 't';
    if (known) {
        reader->at++;
        type = read_substitution(reader);
    } else if (take(reader, "T")) {
        type = keep(reader, read_template_parameter(reader));
    } else {
        const bool ends = reader->ends_in_template, nested = *reader->at == 'N';
        type = read_name(reader, false).plain;
        if (!nested)
            (void)keep(reader, type);
        reader->ends_in_template = ends;
        return type;
    }
    return type && take(reader, "I") ? keep(reader, join(reader, type, read_template(reader, false, false), "")) : type;
}

/* Pointers and references go behind, and into the middle of a function: void (int) becomes void (*)(int). */
static const char *point(struct reader *reader, const char *type, const char *sign)
{
    size_t length = type ? strlen(type) : 0, open = length;
    if (!length || type[length - 1] != ')')
        return join(reader, type, sign, "");
    for (int depth = 0; open--;) {
        depth += type[open] == ')' ? 1 : type[open] == '(' ? -1 : 0;
        if (depth == 0)
            break;
    }
    if (!open || open >= length || type[open - 1] != ' ')
        return NULL;
    return arena_format(reader->arena, "%.*s(%s)%s", (int)open, type, sign, type + open);
}

static const char *read_function_type(struct reader *reader)
{
    const char *result = read_type(reader), *parameters = "";
    while (parameters && !take(reader, "E"))
        parameters = join(reader, parameters, *parameters ? ", " : "", read_type(reader));
    if (!parameters)
        return NULL;
    return join(reader, join(reader, result, " (", strcmp(parameters, "void") ? parameters : ""), ")", "");
}

static const char *read_array(struct reader *reader)
{
    size_t length = strspn(reader->at, "0123456789");
    const char *count = arena_copy_text(reader->arena, reader->at, length);
    reader->at += length;
    const char *type = take(reader, "_") ? read_type(reader) : NULL;
    return join(reader, join(reader, type, "[", count), "]", "");
}

static const char *read_one_type(struct reader *reader)
{
    static const struct {
        const char *code, *sign;
    } signs[] = {{"P", "*"}, {"R", "&"}, {"O", "&&"}, {"K", " const"}, {"V", " volatile"}, {"r", " __restrict__"}};
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (take(reader, signs[i].code))
            return keep(reader, point(reader, read_type(reader), signs[i].sign));
    if (take(reader, "F"))
        return keep(reader, read_function_type(reader));
    if (take(reader, "A"))
        return keep(reader, read_array(reader));
    if (take(reader, "Dp"))
        return keep(reader, read_type(reader)); /* of a pack, which is all of its types */
    const char *builtin = read_builtin(reader);
    return builtin ? builtin : read_named_type(reader);
}

static const char *read_type(struct reader *reader)
{
    if (reader->depth >= MOST_DEPTH)
        return NULL;
    reader->depth++;
    const char *type = read_one_type(reader);
    reader->depth--;
    return type;
}

/* Behind the name: the result, if it is a template, and the parameters. */
static const char *read_parameters(struct reader *reader, bool marked)
{
    static const char next[] = {SIGNATURE_NEXT, 0}, begin[] = {SIGNATURE_ROUND, 0}, end[] = {SIGNATURE_ROUND_END, 0};
    const char *all = "";
    if (reader->ends_in_template && !read_type(reader))
        return NULL;
    while (all && *reader->at && *reader->at != 'E' && *reader->at != '.')
        all = join(reader, all, *all ? marked ? next : ", " : "", read_type(reader));
    if (!all || !*all || !strcmp(all, "void"))
        return all ? marked ? "" : "()" : NULL;
    return marked ? join(reader, begin, all, end) : join(reader, "(", all, ")");
}

static const char *read_encoding(struct reader *reader, bool marked)
{
    if (reader->depth >= MOST_DEPTH)
        return NULL;
    reader->depth++;
    const struct name name = read_name(reader, true);
    const char *parameters = name.plain && *reader->at && *reader->at != 'E' ? read_parameters(reader, marked) : "";
    reader->depth--;
    return join(reader, marked ? name.marked : name.plain, parameters, "");
}

const char *kernel_signature(struct arena *arena, const char *mangled)
{
    struct reader *reader = ARENA_ARRAY(arena, struct reader, 1);
    if (!reader || strncmp(mangled, "_Z", 2) != 0)
        return NULL;
    reader->arena = arena;
    reader->at = mangled + 2;
    const char *signature = read_encoding(reader, true);
    return *reader->at && *reader->at != '.' ? NULL : signature;
}
