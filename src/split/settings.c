/* SPDX-License-Identifier: MIT */
/* The words of CORUN_SPLIT are read one by one; a number out of its range is refused. */
#include "split/settings.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    size_t place;
    double value, least, most;
} rows[] = {
#define P(name, value, least, most, meaning) {#name, offsetof(struct corun_split_parameters, name), value, least, most},
#include "corun/split_parameters.def"
#undef P
};

#define ROW_COUNT (sizeof rows / sizeof rows[0])

struct corun_split_parameters settings_default_parameters(void)
{
    struct corun_split_parameters parameters;
    for (size_t i = 0; i < ROW_COUNT; i++)
        memcpy((char *)&parameters + rows[i].place, &rows[i].value, sizeof(double));
    return parameters;
}

enum corun_status settings_check(const struct corun_split_parameters *parameters, struct corun_diagnostics *diagnostics)
{
    for (size_t i = 0; i < ROW_COUNT; i++) {
        double value;
        memcpy(&value, (const char *)parameters + rows[i].place, sizeof value);
        if (!(value >= rows[i].least && value <= rows[i].most))
            return corun_report(diagnostics, CORUN_ARGUMENT, CORUN_NOWHERE, "split: %s is %g, and may be %g to %g",
                                rows[i].name, value, rows[i].least, rows[i].most);
    }
    return CORUN_OK;
}

static const struct corun_place setting_place = {SPLIT_SETTING, 0, 0};

/* A number, or a fraction as 1/128. */
static bool read_number(const char *text, double *value)
{
    char *end;
    *value = strtod(text, &end);
    if (end == text)
        return false;
    if (*end == '/') {
        const char *below = end + 1;
        *value /= strtod(below, &end);
        if (end == below)
            return false;
    }
    return !*end && isfinite(*value);
}

static bool read_count(const char *text, uint32_t *count)
{
    double value;
    if (!strcmp(text, "all")) {
        *count = CORUN_SPLIT_ALL;
        return true;
    }
    if (!read_number(text, &value) || value < 0 || value > 65536 || floor(value) != value)
        return false;
    *count = (uint32_t)value;
    return true;
}

static bool read_clock(const char *text, enum corun_split_clock *clock)
{
    static const char *const names[] = {"auto", "wall", "simulated"};
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(text, names[i]))
            continue;
        *clock = (enum corun_split_clock)i;
        return true;
    }
    return false;
}

static bool read_parameter(struct corun_split_parameters *parameters, size_t row, const char *text)
{
    double value;
    if (!read_number(text, &value) || value < rows[row].least || value > rows[row].most)
        return false;
    memcpy((char *)parameters + rows[row].place, &value, sizeof value);
    return true;
}

static enum corun_status read_word(struct settings *settings, char *word, struct corun_diagnostics *diagnostics)
{
    char *value = strchr(word, '=');
    if (!value)
        return corun_report(diagnostics, CORUN_SYNTAX, setting_place, "`%s`: NAME=VALUE is expected", word);
    *value++ = '\0';
    bool ok = false, known = true;
    if (!strcmp(word, "strategy")) {
        ok = strlen(value) < sizeof settings->strategy && corun_split_strategy_find(value);
        if (ok)
            snprintf(settings->strategy, sizeof settings->strategy, "%s", value);
    } else if (!strcmp(word, "threads")) {
        ok = read_count(value, &settings->threads);
    } else if (!strcmp(word, "gpus")) {
        ok = read_count(value, &settings->gpus);
    } else if (!strcmp(word, "clock")) {
        ok = read_clock(value, &settings->clock);
    } else {
        size_t row = 0;
        while (row < ROW_COUNT && strcmp(word, rows[row].name))
            row++;
        known = row < ROW_COUNT;
        ok = known && read_parameter(&settings->parameters, row, value);
    }
    return ok      ? CORUN_OK
           : known ? corun_report(diagnostics, CORUN_SYNTAX, setting_place,
                                  "`%s`: that is no value of %s, or beyond its range", value, word)
                   : corun_report(diagnostics, CORUN_SYNTAX, setting_place, "`%s`: there is no such setting", word);
}

enum corun_status split_settings_read(struct settings *settings, const char *text,
                                      struct corun_diagnostics *diagnostics)
{
    char *copy = strdup(text), *rest = copy, *word;
    if (!copy)
        return CORUN_MEMORY;
    enum corun_status status = CORUN_OK;
    while (status == CORUN_OK && (word = strsep(&rest, ",")))
        status = *word ? read_word(settings, word, diagnostics) : CORUN_OK;
    free(copy);
    return status;
}
