/* SPDX-License-Identifier: MIT */
/* The texts NAME@SIZE:goal=…, POLICY:parameter=… and numbers, parsed for the command line and for campaign files. */
#include "case/specification.h"

#include "base/nearest.h"
#include "base/number.h"
#include "case/policy_file.h"
#include "share/load.h"
#include "share/parameter_words.h"

#include <math.h>
#include <string.h>

/* A number, also with a percent sign (divides by 100) or K, M, G. */
static bool parse_quantity(const char *text, double *value)
{
    static const struct {
        char letter;
        double factor;
    } scales[] = {{'k', 1e3}, {'m', 1e6}, {'g', 1e9}};
    char copy[64];
    size_t length = strlen(text);
    if (number_parse_real(text, value))
        return true;
    if (length < 2 || length >= sizeof copy)
        return false;
    for (size_t i = 0; i < sizeof scales / sizeof scales[0]; i++) {
        if ((text[length - 1] | 32) != scales[i].letter)
            continue;
        memcpy(copy, text, length - 1);
        copy[length - 1] = 0;
        if (!number_parse_real(copy, value) || strchr(copy, '%'))
            return false;
        *value *= scales[i].factor;
        return isfinite(*value);
    }
    return false;
}

static enum corun_status parse_goal(const char *text, const char *value, struct corun_diagnostics *list,
                                    struct corun_case_application *application)
{
    static const struct {
        const char *word;
        enum corun_goal_kind kind;
    } kinds[] = {{"ipc=", CORUN_GOAL_IPC}, {"ms=", CORUN_GOAL_MILLISECONDS}, {"fps=", CORUN_GOAL_FRAMES_PER_SECOND}};
    static const char transfer_word[] = ",transfer=";
    char number[64];
    const char *first = value, *transfer = strstr(value, transfer_word);
    application->goal = CORUN_GOAL_FRACTION;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strncmp(value, kinds[i].word, strlen(kinds[i].word)) != 0)
            continue;
        application->goal = kinds[i].kind;
        first = value + strlen(kinds[i].word);
    }
    bool is_time = application->goal == CORUN_GOAL_MILLISECONDS || application->goal == CORUN_GOAL_FRAMES_PER_SECOND;
    size_t length = transfer ? (size_t)(transfer - first) : strlen(first);
    bool good = length < sizeof number && (!transfer || is_time);
    memcpy(number, first, good ? length : 0);
    number[good ? length : 0] = 0;
    bool percent = strchr(number, '%') != NULL;
    if (!good || !parse_quantity(number, &application->goal_value) ||
        percent != (application->goal == CORUN_GOAL_FRACTION))
        return corun_report(list, CORUN_USAGE, CORUN_NOWHERE,
                            "`%s`: a goal is 90%%, ipc=X, ms=Y or fps=Z, a time may have ,transfer=MS; not `%s`", text,
                            value);
    if (transfer && (!number_parse_real(transfer + strlen(transfer_word), &application->transfer_milliseconds) ||
                     strchr(transfer, '%') || application->transfer_milliseconds < 0))
        return corun_report(list, CORUN_USAGE, CORUN_NOWHERE, "`%s`: transfer is a number of milliseconds, not `%s`",
                            text, transfer + strlen(transfer_word));
    if (application->goal_value <= 0)
        return corun_report(list, CORUN_USAGE, CORUN_NOWHERE, "`%s`: a goal is greater than 0", text);
    if (application->goal == CORUN_GOAL_FRACTION && application->goal_value > 1)
        return corun_report(list, CORUN_USAGE, CORUN_NOWHERE,
                            "`%s`: a goal above 100 %% is more than the application reaches alone", text);
    return CORUN_OK;
}

size_t specify_workload_length(const char *text)
{
    size_t length = strlen(text);
    for (const char *colon; (colon = memrchr(text, ':', length));) {
        if (strncmp(colon + 1, "goal=", 5) != 0 && strncmp(colon + 1, "start=", 6) != 0)
            break; /* of a path, or of a parameter */
        length = (size_t)(colon - text);
    }
    return length;
}

enum corun_status specify_application(const char *text, struct arena *arena, struct corun_diagnostics *list,
                                      struct corun_case_application *application)
{
    *application = (struct corun_case_application){0};
    char *workload = arena_copy_text(arena, text, strlen(text));
    if (!workload)
        return CORUN_MEMORY;
    bool has_goal = false, has_start = false;
    /*
     * From the end, as the path of a description may have colons and equals signs of its own, and so may have the
     * parameters behind its @SIZE.
     */
    for (char *colon; (colon = strrchr(workload, ':')); *colon = 0) {
        if (colon == workload + strlen("trace") && !strncmp(workload, "trace:", strlen("trace:")))
            break; /* a folder follows */
        enum corun_status status = CORUN_OK;
        if (!strncmp(colon + 1, "goal=", 5) && !has_goal) {
            has_goal = true;
            status = parse_goal(text, colon + 6, list, application);
        } else if (!strncmp(colon + 1, "start=", 6) && !has_start) {
            has_start = true;
            if (!number_parse(colon + 7, 1000, &application->start_cycle))
                status = corun_report(list, CORUN_USAGE, CORUN_NOWHERE, "`%s`: start is a number of cycles, not `%s`",
                                      text, colon + 7);
        } else if (!strchr(colon, '/') && (!strchr(workload, '/') || (strchr(colon, '=') && !strchr(colon, '@')))) {
            bool twice = !strncmp(colon + 1, "goal=", 5) || !strncmp(colon + 1, "start=", 6);
            status =
                corun_report(list, CORUN_USAGE, CORUN_NOWHERE, "`%s`: %s `%s`", text,
                             twice ? "given twice:" : "expected goal=... or start=... after a colon, found", colon + 1);
        } else {
            break; /* a path */
        }
        if (status != CORUN_OK)
            return status;
    }
    if (!workload[0])
        return corun_report(list, CORUN_USAGE, CORUN_NOWHERE, "`%s`: the name of the workload is missing", text);
    application->workload = workload;
    return CORUN_OK;
}

static enum corun_status find_policy(const char *name, struct arena *arena, struct corun_diagnostics *list,
                                     const struct corun_policy **policy)
{
    *policy = corun_policy_find(name);
    if (*policy || !strcmp(name, CORUN_NO_POLICY))
        return CORUN_OK;
    size_t count = 0;
    while (corun_policy_at(count))
        count++;
    const char **names = ARENA_ARRAY(arena, const char *, count + 1);
    if (!names)
        return CORUN_MEMORY;
    for (size_t i = 0; i < count; i++)
        names[i] = corun_policy_at(i)->name;
    names[count] = CORUN_NO_POLICY;
    const char *nearest = nearest_name(name, names, count + 1);
    if (nearest)
        return corun_report(list, CORUN_NOT_FOUND, CORUN_NOWHERE, "there is no policy `%s`; did you mean `%s`?", name,
                            nearest);
    return corun_report(list, CORUN_NOT_FOUND, CORUN_NOWHERE, "there is no policy `%s`; see `corun list policies`",
                        name);
}

/* Whose parameters are meant: "policy", its name, and the rows. */
struct parameter_owner {
    const char *what, *name;
    const struct corun_policy_parameter *rows;
    uint32_t count;
};

static enum corun_status set_value(const struct parameter_owner *owner, uint32_t index, const char *text,
                                   struct corun_diagnostics *list, double *values)
{
    const struct corun_policy_parameter *parameter = &owner->rows[index];
    if (parameter->choices) {
        int place = parameter_choice(parameter->choices, text, strlen(text));
        if (place < 0)
            return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE, "%s %s: %s is one of %s, not `%s`", owner->what,
                                owner->name, parameter->name, parameter->choices, text);
        values[index] = place;
        return CORUN_OK;
    }
    bool is_number = parse_quantity(text, &values[index]);
    if (!is_number || (parameter->integer && values[index] != floor(values[index])) ||
        values[index] < parameter->lowest || values[index] > parameter->highest)
        return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE, "%s %s: %s is %s from %g to %g, not `%s`", owner->what,
                            owner->name, parameter->name, parameter->integer ? "a whole number" : "a number",
                            parameter->lowest, parameter->highest, text);
    return CORUN_OK;
}

/* What `setting` names: a parameter, also if it belongs to a list, or a whole list. */
static enum corun_status find_parameter(const struct parameter_owner *owner, const char *setting, struct arena *arena,
                                        struct corun_diagnostics *list, struct parameter_group *found)
{
    const char **names = ARENA_ARRAY(arena, const char *, owner->count + 1);
    uint32_t count = 0;
    if (!names)
        return CORUN_MEMORY;
    for (uint32_t p = 0; p < owner->count; p += found->count) {
        *found = parameter_group_at(owner->rows, owner->count, p);
        names[count] = arena_copy_text(arena, owner->rows[p].name, found->name_length);
        if (!names[count])
            return CORUN_MEMORY;
        if (!strcmp(names[count++], setting))
            return CORUN_OK;
    }
    *found = (struct parameter_group){.count = 1};
    for (; found->first < owner->count; found->first++) {
        if (!strcmp(owner->rows[found->first].name, setting))
            return CORUN_OK;
    }
    const char *nearest = nearest_name(setting, names, count);
    return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE, "%s %s has no parameter `%s`%s%s%s", owner->what,
                        owner->name, setting, nearest ? "; did you mean `" : "", nearest ? nearest : "",
                        nearest ? "`?" : "");
}

static enum corun_status set_parameter(const struct parameter_owner *owner, char *setting, struct arena *arena,
                                       struct corun_diagnostics *list, double *values, bool *given)
{
    char *value = strchr(setting, '=');
    if (!value)
        return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE, "%s %s: `%s` is not parameter=value", owner->what,
                            owner->name, setting);
    *value++ = 0;
    struct parameter_group group;
    enum corun_status status = find_parameter(owner, setting, arena, list, &group);
    for (uint32_t i = 0; value && status == CORUN_OK; i++) {
        if (i == group.count)
            return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE, "%s %s: %s takes at most %u values", owner->what,
                                owner->name, setting, group.count);
        if (given[group.first + i])
            return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE, "%s %s: %s is given twice", owner->what,
                                owner->name, owner->rows[group.first + i].name);
        given[group.first + i] = true;
        char *part = group.is_list ? strsep(&value, "/") : value;
        status = set_value(owner, group.first + i, part, list, values);
        value = group.is_list ? value : NULL;
    }
    return status;
}

enum corun_status specify_parameters(const char *what, const char *name, const struct corun_policy_parameter *rows,
                                     uint32_t count, char *settings, struct arena *arena,
                                     struct corun_diagnostics *list, const double **parameters)
{
    const struct parameter_owner owner = {what, name, rows, count};
    enum corun_status status = CORUN_OK;
    double *values = ARENA_ARRAY(arena, double, count + 1);
    bool *given = ARENA_ARRAY(arena, bool, count + 1);
    if (!values || !given)
        return CORUN_MEMORY;
    for (uint32_t i = 0; i < count; i++)
        values[i] = rows[i].initial;
    for (char *setting; settings && status == CORUN_OK;) {
        setting = strsep(&settings, ",");
        status = set_parameter(&owner, setting, arena, list, values, given);
    }
    *parameters = values;
    return status;
}

static enum corun_status load_policy(const char *path, struct corun_diagnostics *list,
                                     const struct corun_policy **policy)
{
    enum corun_status status = policy_file_check("policy", path, list);
    return status == CORUN_OK ? policy_load(path, list, policy) : status;
}

enum corun_status specify_policy(const char *text, struct arena *arena, struct corun_diagnostics *list,
                                 const struct corun_policy **policy, const double **parameters)
{
    *parameters = NULL;
    char *name = arena_copy_text(arena, text, strlen(text));
    if (!name)
        return CORUN_MEMORY;
    size_t path_length = policy_path_length(name);
    char *settings = strchr(name + path_length, ':');
    if (settings)
        *settings++ = 0;
    enum corun_status status = path_length ? load_policy(name, list, policy) : find_policy(name, arena, list, policy);
    if (status != CORUN_OK)
        return status;
    if (!*policy)
        return settings ? corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE, "%s has no parameters", CORUN_NO_POLICY)
                        : CORUN_OK;
    return specify_parameters("policy", (*policy)->name, (*policy)->parameters, (*policy)->parameter_count, settings,
                              arena, list, parameters);
}

enum corun_status specify_number(const char *text, const char *option, uint64_t kilo, uint64_t lowest, uint64_t highest,
                                 struct corun_diagnostics *list, uint64_t *number)
{
    if (number_parse(text, kilo, number) && *number >= lowest && *number <= highest)
        return CORUN_OK;
    uint64_t any;
    if (highest == INT64_MAX && !(number_parse(text, kilo, &any) && any > highest))
        return corun_report(list, CORUN_USAGE, CORUN_NOWHERE, "%s: expected a whole number of %llu or more, found `%s`",
                            option, (unsigned long long)lowest, text);
    return corun_report(list, CORUN_USAGE, CORUN_NOWHERE, "%s: expected a whole number from %llu to %llu, found `%s`",
                        option, (unsigned long long)lowest, (unsigned long long)highest, text);
}

#define MILLION 1e6

bool specify_part(const char *text, uint32_t *millionths)
{
    double part;
    if (!number_parse_real(text, &part) || !(part * MILLION >= 1) || part > 1)
        return false;
    *millionths = (uint32_t)(part * MILLION + 0.5);
    return true;
}

enum corun_status specify_dimensions(const char *text, const char *option, struct corun_diagnostics *list,
                                     struct corun_dim3 *dimensions)
{
    uint32_t *const parts[] = {&dimensions->x, &dimensions->y, &dimensions->z};
    char copy[64];
    size_t length = strlen(text);
    bool good = length < sizeof copy;
    memcpy(copy, text, good ? length + 1 : 0);
    *dimensions = (struct corun_dim3){1, 1, 1};
    char *rest = good ? copy : NULL;
    for (uint32_t i = 0; good && rest; i++) {
        uint64_t number = 0;
        char *part = strsep(&rest, ",");
        good = i < 3 && number_parse(part, 1000, &number) && number > 0 && number <= INT32_MAX;
        if (good)
            *parts[i] = (uint32_t)number;
    }
    if (good)
        return CORUN_OK;
    return corun_report(list, CORUN_USAGE, CORUN_NOWHERE, "%s: expected X[,Y[,Z]], each from 1 to %d, found `%s`",
                        option, INT32_MAX, text);
}

enum corun_status specify_trace(const char *text, const char *option, struct arena *arena,
                                struct corun_diagnostics *list, const char **file, uint64_t *first, uint64_t *last)
{
    *first = 0;
    *last = UINT64_MAX;
    char *copy = arena_copy_text(arena, text, strlen(text));
    if (!copy)
        return CORUN_MEMORY;
    *file = copy;
    char *range = strrchr(copy, ':');
    char *to = range ? strchr(range, '-') : NULL;
    bool is_range = to && strspn(range + 1, "0123456789kKmMgG-") == strlen(range + 1);
    if (is_range) {
        *range = *to = 0;
        if (!number_parse(range + 1, 1000, first) || !number_parse(to + 1, 1000, last) || *first > *last)
            return corun_report(list, CORUN_USAGE, CORUN_NOWHERE, "%s: expected FILE[:FIRST-LAST], found `%s`", option,
                                text);
    }
    if (!copy[0])
        return corun_report(list, CORUN_USAGE, CORUN_NOWHERE, "%s: the name of the file is missing in `%s`", option,
                            text);
    return CORUN_OK;
}
