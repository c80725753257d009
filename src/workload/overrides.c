/* SPDX-License-Identifier: MIT */
/*
 * The text SIZE,parameter=value,... taken apart, checked against the size, and written back in the order of the
 * description.
 */
#include "workload/overrides.h"

#include "base/nearest.h"
#include "base/number.h"

#include <string.h>

struct parser {
    const struct description *description;
    const struct size_description *size;
    struct arena *arena;
    struct corun_diagnostics *list;
};

static enum corun_status out_of_memory(const struct parser *parser)
{
    return corun_report(parser->list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory for workload '%s'",
                        parser->description->name);
}

#define WRONG(parser, format, ...) \
    corun_report((parser)->list, CORUN_ARGUMENT, CORUN_NOWHERE, "workload '%s', size '%s': " format, \
                 (parser)->description->name, (parser)->size->name, __VA_ARGS__)

/* Says so, and which one was probably meant, or which ones there are. */
static enum corun_status report_unknown(const struct parser *parser, const char *name)
{
    size_t count = parser->size->parameters.items.count;
    const char **names = ARENA_ARRAY(parser->arena, const char *, count + 1);
    char *known = arena_copy_text(parser->arena, "", 0);
    if (!names)
        return out_of_memory(parser);
    for (size_t i = 0; i < count && known; i++) {
        names[i] = parser->size->parameters.items.data[i].name;
        known = arena_format(parser->arena, "%s %s", known, names[i]);
    }
    if (!known)
        return out_of_memory(parser);
    const char *nearest = nearest_name(name, names, count);
    if (nearest)
        return WRONG(parser, "there is no parameter '%.80s'; did you mean '%s'?", name, nearest);
    return WRONG(parser, "there is no parameter '%.80s' (it has:%.400s)", name, known);
}

/* One parameter=value, which it cuts in two. */
static enum corun_status parse_setting(const struct parser *parser, char *setting, struct overrides *overrides)
{
    char *text = strchr(setting, '=');
    if (!text)
        return WRONG(parser, "'%.80s' is not parameter=value", setting);
    *text++ = 0;
    size_t index = 0, count = parser->size->parameters.items.count;
    while (index < count && strcmp(parser->size->parameters.items.data[index].name, setting) != 0)
        index++;
    if (index == count)
        return report_unknown(parser, setting);
    if (overrides->values[index])
        return WRONG(parser, "parameter '%s' is given twice", setting);
    uint64_t number;
    if (!number_parse(text, OVERRIDES_KILO, &number) || number > INT64_MAX)
        return WRONG(parser,
                     "parameter '%s' is a whole number from 0, also with K, M or G for powers of 1024, not "
                     "'%.80s'",
                     setting, text);
    int64_t *value = ARENA_NEW(parser->arena, int64_t);
    if (!value)
        return out_of_memory(parser);
    *value = (int64_t)number;
    overrides->values[index] = value;
    return CORUN_OK;
}

enum corun_status overrides_parse(const char *text, const struct description *description,
                                  const struct size_description *size, struct arena *arena,
                                  struct corun_diagnostics *list, struct overrides *overrides)
{
    const struct parser parser = {description, size, arena, list};
    size_t count = size->parameters.items.count;
    *overrides = (struct overrides){.size_name = size->name};
    overrides->values = ARENA_ARRAY(arena, const int64_t *, count + 1);
    char *rest = text ? arena_copy_text(arena, text, strlen(text)) : NULL;
    if (!overrides->values || (text && !rest))
        return out_of_memory(&parser);
    enum corun_status status = CORUN_OK;
    while (rest && !status)
        status = parse_setting(&parser, strsep(&rest, ","), overrides);
    for (size_t i = 0; i < count && !status; i++) {
        if (!overrides->values[i])
            continue;
        overrides->size_name = arena_format(arena, "%s,%s=%lld", overrides->size_name,
                                            size->parameters.items.data[i].name, (long long)*overrides->values[i]);
        if (!overrides->size_name)
            status = out_of_memory(&parser);
    }
    return status;
}
