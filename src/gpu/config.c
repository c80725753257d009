/* SPDX-License-Identifier: MIT */
/*
 * The table of GPU parameters, made from gpu_parameters.def, and the values of a configuration by name; config_file.c
 * reads files.
 */
#include "gpu/config.h"
#include "base/nearest.h"
#include "base/number.h"
#include "base/text_file.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* Words of the word parameters, in the order of their enum. */
#define WORD_TEXT(name, word, meaning) word,
static const char *const corun_scheduler_texts[] = {CORUN_SCHEDULER_WORDS(WORD_TEXT) NULL};
static const char *const corun_icnt_texts[] = {CORUN_ICNT_WORDS(WORD_TEXT) NULL};
static const char *const corun_l1_split_texts[] = {CORUN_L1_SPLIT_WORDS(WORD_TEXT) NULL};
static const char *const corun_dram_scheduler_texts[] = {CORUN_DRAM_SCHEDULER_WORDS(WORD_TEXT) NULL};
#undef WORD_TEXT

#define PREFIX_corun_scheduler(name) CORUN_SCHEDULER_##name
#define PREFIX_corun_icnt(name) CORUN_ICNT_##name
#define PREFIX_corun_l1_split(name) CORUN_L1_SPLIT_##name
#define PREFIX_corun_dram_scheduler(name) CORUN_DRAM_SCHEDULER_##name
#define COUNT_OF(texts) (sizeof(texts) / sizeof *(texts))

#define UNIT_BYTES "bytes"
#define UNIT_CYCLES "cycles"
#define UNIT_KHZ "kHz"
#define UNIT_COUNT "count"
#define UNIT_BOOL "bool"
#define UNIT_FJ "fJ"
#define UNIT_MW "mW"
#define UNIT_MBPS "MB/s"
#define UNIT_NS "ns"
#define UNIT_PERMILLE "permille"

static const struct corun_gpu_parameter parameter_rows[] = {
#define P(name, initial, lowest, highest, unit, meaning) \
    {#name, UNIT_##unit, meaning, initial, lowest, highest, offsetof(struct corun_gpu_config, name), NULL},
#define E(name, initial, table, meaning) \
    {#name, \
     "word", \
     meaning, \
     PREFIX_##table(initial), \
     0, \
     COUNT_OF(table##_texts) - 2, \
     offsetof(struct corun_gpu_config, name), \
     table##_texts},
#include "corun/gpu_parameters.def"
#undef P
#undef E
};

/* Units in which a value may be written: {unit of the parameter, as written, factor}. */
static const struct {
    const char *unit, *written;
    uint64_t factor;
} unit_rows[] = {
    {UNIT_BYTES, "bytes", 1},  {UNIT_BYTES, "KiB", 1024},  {UNIT_BYTES, "MiB", 1048576}, {UNIT_KHZ, "kHz", 1},
    {UNIT_KHZ, "MHz", 1000},   {UNIT_KHZ, "GHz", 1000000}, {UNIT_CYCLES, "cycles", 1},   {UNIT_COUNT, "count", 1},
    {UNIT_BOOL, "bool", 1},    {UNIT_FJ, "fJ", 1},         {UNIT_FJ, "pJ", 1000},        {UNIT_FJ, "nJ", 1000000},
    {UNIT_MW, "mW", 1},        {UNIT_MW, "W", 1000},       {"word", "word", 1},          {UNIT_MBPS, "MB/s", 1},
    {UNIT_MBPS, "GB/s", 1000}, {UNIT_NS, "ns", 1},         {UNIT_NS, "us", 1000},        {UNIT_PERMILLE, "permille", 1},
};

/* Names of files that were written for corun 0.1. */
static const struct {
    const char *former, *name;
} former_names[] = {
    {"context_warp_bytes", "saved_warp_bytes"},
    {"context_tb_bytes", "saved_tb_bytes"},
    {"context_interval", "save_interval"},
    {"context_packets", "save_packets"},
};

/* Endings that an abbreviated name may leave out. */
static const char *const unit_endings[] = {"_bytes", "_khz", "_cycles"};

const struct corun_gpu_parameter *corun_gpu_parameters(size_t *count)
{
    *count = COUNT_OF(parameter_rows);
    return parameter_rows;
}

void config_store(struct corun_gpu_config *config, const struct corun_gpu_parameter *row, uint32_t value)
{
    memcpy((char *)config + row->offset, &value, sizeof value);
}

void corun_gpu_config_default(struct corun_gpu_config *config)
{
    memset(config, 0, sizeof *config);
    snprintf(config->name, sizeof config->name, "default");
    for (size_t i = 0; i < COUNT_OF(parameter_rows); i++)
        config_store(config, &parameter_rows[i], parameter_rows[i].initial);
}

static const char *nearest_parameter(const char *key)
{
    const char *names[CONFIG_PARAMETERS];
    for (size_t i = 0; i < CONFIG_PARAMETERS; i++)
        names[i] = parameter_rows[i].name;
    return nearest_name(key, names, CONFIG_PARAMETERS);
}

static const struct corun_gpu_parameter *find_exact(const char *name, size_t length, const char *ending)
{
    for (size_t i = 0; i < COUNT_OF(parameter_rows); i++) {
        const char *row = parameter_rows[i].name;
        if (length && row[0] == name[0] && !strncmp(row, name, length) && !strcmp(row + length, ending))
            return &parameter_rows[i];
    }
    return NULL;
}

const struct corun_gpu_parameter *config_find_parameter(const char *key, bool abbreviations, enum corun_status status,
                                                        struct corun_diagnostics *list, struct corun_place place)
{
    size_t length = strlen(key);
    const struct corun_gpu_parameter *found = find_exact(key, length, "");
    for (size_t i = 0; abbreviations && !found && i < COUNT_OF(unit_endings); i++)
        found = find_exact(key, length, unit_endings[i]);
    for (size_t i = 0; !found && i < COUNT_OF(former_names); i++)
        if (!strcmp(key, former_names[i].former))
            found = find_exact(former_names[i].name, strlen(former_names[i].name), "");
    if (found)
        return found;

    const struct corun_gpu_parameter *second = NULL;
    for (size_t i = 0; abbreviations && length > 0 && i < COUNT_OF(parameter_rows); i++) {
        if (strncmp(parameter_rows[i].name, key, length))
            continue;
        if (!found)
            found = &parameter_rows[i];
        else if (!second)
            second = &parameter_rows[i];
    }
    if (second) {
        corun_report(list, status, place, "'%.64s' can mean several parameters, such as '%s' and '%s'", key,
                     found->name, second->name);
        return NULL;
    }
    if (found)
        return found;
    const char *nearest = nearest_parameter(key);
    if (nearest)
        corun_report(list, status, place, "there is no parameter '%.64s'; did you mean '%s'?", key, nearest);
    else
        corun_report(list, status, place, "there is no parameter '%.64s'", key);
    return NULL;
}

/* Cuts a unit off the end of a value such as 1216MHz or 48KiB; `text` is changed. 1 if there is none. */
static uint64_t take_written_unit(const struct corun_gpu_parameter *row, char *text)
{
    size_t length = strlen(text);
    for (size_t i = 0; i < COUNT_OF(unit_rows); i++) {
        size_t unit_length = strlen(unit_rows[i].written);
        if (!strcmp(unit_rows[i].unit, row->unit) && length > unit_length &&
            !strcasecmp(text + length - unit_length, unit_rows[i].written)) {
            text[length - unit_length] = 0;
            return unit_rows[i].factor;
        }
    }
    return 1;
}

static enum corun_status find_unit(const struct corun_gpu_parameter *row, const char *unit, enum corun_status status,
                                   struct corun_diagnostics *list, struct corun_place place, uint64_t *factor)
{
    for (size_t i = 0; i < COUNT_OF(unit_rows); i++)
        if (!strcmp(unit_rows[i].unit, row->unit) && !strcmp(unit_rows[i].written, unit)) {
            *factor = unit_rows[i].factor;
            return CORUN_OK;
        }
    return corun_report(list, status, place, "the unit of %s is %s, not '%.32s'", row->name, row->unit, unit);
}

static enum corun_status parse_word(const struct corun_gpu_parameter *row, const char *text, enum corun_status status,
                                    struct corun_diagnostics *list, struct corun_place place, uint32_t *value)
{
    for (uint32_t i = 0; row->words[i]; i++)
        if (!strcasecmp(row->words[i], text)) {
            *value = i;
            return CORUN_OK;
        }
    char known[256] = "";
    for (uint32_t i = 0; row->words[i]; i++)
        snprintf(known + strlen(known), sizeof known - strlen(known), "%s%s", i ? ", " : "", row->words[i]);
    return corun_report(list, status, place, "%s is one of %s, not '%.32s'", row->name, known, text);
}

static bool parse_truth(const char *text, uint32_t *value)
{
    static const char *const words[] = {"0", "1", "false", "true", "no", "yes", "off", "on"};
    for (uint32_t i = 0; i < COUNT_OF(words); i++)
        if (!strcasecmp(words[i], text)) {
            *value = i % 2;
            return true;
        }
    return false;
}

enum corun_status config_parse_value(const struct corun_gpu_parameter *row, const char *text, const char *unit,
                                     enum corun_status status, struct corun_diagnostics *list, struct corun_place place,
                                     uint32_t *value)
{
    uint64_t factor = 1;
    if (unit && find_unit(row, unit, status, list, place, &factor) != CORUN_OK)
        return status;
    if (row->words)
        return parse_word(row, text, status, list, place, value);
    if (!strcmp(row->unit, UNIT_BOOL)) {
        if (parse_truth(text, value))
            return CORUN_OK;
        return corun_report(list, status, place, "%s is true or false, not '%.32s'", row->name, text);
    }

    char digits[64];
    snprintf(digits, sizeof digits, "%s", text);
    if (!unit)
        factor = take_written_unit(row, digits);
    uint64_t number;
    uint64_t kilo = strcmp(row->unit, UNIT_BYTES) ? 1000 : 1024;
    if (strlen(text) >= sizeof digits || !number_parse(digits, kilo, &number))
        return corun_report(list, status, place, "%s is a whole number of %s, not '%.32s'", row->name,
                            strcmp(row->unit, UNIT_COUNT) ? row->unit : "things", text);
    if (number > UINT64_MAX / factor || number * factor < row->lowest || number * factor > row->highest)
        return corun_report(list, status, place,
                            "%s must be between %" PRIu32 " and %" PRIu32 "%s%s, and %.32s%s%.8s is not", row->name,
                            row->lowest, row->highest, strcmp(row->unit, UNIT_COUNT) ? " " : "",
                            strcmp(row->unit, UNIT_COUNT) ? row->unit : "", text, unit ? " " : "", unit ? unit : "");
    *value = (uint32_t)(number * factor);
    return CORUN_OK;
}

enum corun_status corun_gpu_config_set(struct corun_gpu_config *config, const char *key, const char *value,
                                       struct corun_diagnostics *list, struct corun_place place)
{
    const struct corun_gpu_parameter *row = config_find_parameter(key, true, CORUN_ARGUMENT, list, place);
    uint32_t number = 0;
    if (!row || config_parse_value(row, value, NULL, CORUN_ARGUMENT, list, place, &number) != CORUN_OK)
        return CORUN_ARGUMENT;
    config_store(config, row, number);
    return CORUN_OK;
}

static int compare_texts(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

#define LISTED_GPUS 32
/* Names of the configurations in a directory, which the caller frees. */
static size_t list_gpus(const char *directory, char *names[LISTED_GPUS])
{
    size_t count = 0;
    DIR *folder = opendir(directory);
    for (struct dirent *entry; folder && count < LISTED_GPUS && (entry = readdir(folder));) {
        size_t length = strlen(entry->d_name);
        if (length > 5 && !strcmp(entry->d_name + length - 5, ".yaml"))
            if ((names[count] = strndup(entry->d_name, length - 5)))
                count++;
    }
    if (folder)
        closedir(folder);
    qsort(names, count, sizeof *names, compare_texts);
    return count;
}

/* "there is no GPU 'x'" with the names that there are. */
static enum corun_status report_unknown_gpu(const char *name, const char *directory, char *const *names, size_t count,
                                            struct corun_diagnostics *list)
{
    char known[512] = "";
    for (size_t i = 0; i < count; i++)
        snprintf(known + strlen(known), sizeof known - strlen(known), "%s%s", i ? ", " : "", names[i]);
    if (!count)
        return corun_report(list, CORUN_NOT_FOUND, CORUN_NOWHERE,
                            "there is no GPU '%.64s': no configurations in %.256s", name, directory);
    return corun_report(list, CORUN_NOT_FOUND, CORUN_NOWHERE, "there is no GPU '%.64s'; there are %s", name, known);
}

static enum corun_status load_base(const char *base, const char *data_directory, struct corun_diagnostics *list,
                                   struct corun_gpu_config *config);

/* A name without the family's, as in v100 for quadro-v100, if there is one such GPU only. */
static enum corun_status load_short_name(const char *name, const char *data_directory, struct corun_diagnostics *list,
                                         struct corun_gpu_config *config)
{
    char directory[4096 + 8], *names[LISTED_GPUS];
    snprintf(directory, sizeof directory, "%s/gpu", data_directory ? data_directory : ".");
    size_t count = list_gpus(directory, names), length = strlen(name), found = 0, matches = 0;
    for (size_t i = 0; i < count; i++) {
        size_t whole = strlen(names[i]);
        if (whole > length && names[i][whole - length - 1] == '-' && !strcmp(names[i] + whole - length, name)) {
            found = i;
            matches++;
        }
    }
    enum corun_status status = matches == 1 ? load_base(names[found], data_directory, list, config)
                                            : report_unknown_gpu(name, directory, names, count, list);
    for (size_t i = 0; i < count; i++)
        free(names[i]);
    return status;
}

static bool is_file_name(const char *text, size_t length)
{
    return (length > 5 && !memcmp(text + length - 5, ".yaml", 5)) ||
           (length > 4 && !memcmp(text + length - 4, ".yml", 4));
}

/* Reads the file that `base` (NAME or a path) means, over the defaults. */
static enum corun_status load_base(const char *base, const char *data_directory, struct corun_diagnostics *list,
                                   struct corun_gpu_config *config)
{
    size_t length = strlen(base);
    bool is_path = strchr(base, '/') || is_file_name(base, length);
    char path[4096];
    int written = is_path ? snprintf(path, sizeof path, "%s", base)
                          : snprintf(path, sizeof path, "%s/gpu/%s.yaml", data_directory ? data_directory : ".", base);
    if (!length || written < 0 || (size_t)written >= sizeof path)
        return corun_report(list, CORUN_NOT_FOUND, CORUN_NOWHERE, "'%.64s' is no name of a GPU", base);

    corun_gpu_config_default(config);
    char *text = NULL;
    size_t bytes = 0;
    bool may_be_missing = !is_path && access(path, F_OK) && errno == ENOENT; /* it may be a short name */
    if (may_be_missing && !strcmp(base, "default"))
        return CORUN_OK;
    if (may_be_missing)
        return load_short_name(base, data_directory, list, config);
    enum corun_status status = text_file_read(path, CONFIG_FILE_BYTES, list, &text, &bytes);
    if (status != CORUN_OK)
        return status;
    const char *stem = strrchr(base, '/') ? strrchr(base, '/') + 1 : base;
    const char *dot = is_path ? strrchr(stem, '.') : NULL;
    snprintf(config->name, sizeof config->name, "%.*s", dot ? (int)(dot - stem) : (int)strlen(stem), stem);
    status = config_parse_yaml(text, bytes, path, list, config);
    free(text);
    return status;
}

/* Applies key=value,key=value. `overrides` is changed. */
static enum corun_status apply_overrides(char *overrides, struct corun_diagnostics *list,
                                         struct corun_gpu_config *config)
{
    bool seen[CONFIG_PARAMETERS] = {false};
    enum corun_status first = CORUN_OK;
    char *rest = overrides;
    for (char *item; (item = strsep(&rest, ","));) {
        enum corun_status status;
        char *equals = strchr(item, '=');
        if (!equals) {
            status = corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE, "expected parameter=value, found '%.64s'", item);
        } else {
            *equals = 0;
            const struct corun_gpu_parameter *row =
                config_find_parameter(item, true, CORUN_ARGUMENT, list, CORUN_NOWHERE);
            if (!row)
                status = CORUN_ARGUMENT;
            else if (seen[row - parameter_rows])
                status = corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE, "%s is given twice", row->name);
            else
                status = corun_gpu_config_set(config, row->name, equals + 1, list, CORUN_NOWHERE);
            if (row)
                seen[row - parameter_rows] = true;
        }
        if (first == CORUN_OK)
            first = status;
    }
    return first;
}

/* Names of folders and files may hold colons: overrides begin behind the ending of the file, or at the first colon of the last component. NULL: none. */
static char *find_overrides(char *specification)
{
    char *slash = strrchr(specification, '/'), *component = slash ? slash : specification;
    for (char *colon = component; (colon = strchr(colon, ':')); colon++)
        if (is_file_name(component, (size_t)(colon - component)))
            return colon;
    return is_file_name(component, strlen(component)) ? NULL : strchr(component, ':');
}

enum corun_status corun_gpu_config_load(const char *specification, const char *data_directory,
                                        struct corun_diagnostics *list, struct corun_gpu_config *config)
{
    char *base = strdup(specification);
    if (!base)
        return corun_report(list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory");
    char *overrides = find_overrides(base);
    char written[sizeof config->name] = "";
    if (overrides) {
        snprintf(written, sizeof written, "%s", overrides);
        *overrides++ = 0;
    }
    enum corun_status status = load_base(base, data_directory, list, config);
    if (status == CORUN_OK && overrides) {
        status = apply_overrides(overrides, list, config);
        /* A report should show that this is not the GPU of that name any more. */
        size_t length = strlen(config->name);
        snprintf(config->name + length, sizeof config->name - length, "%s", written);
    }
    if (status == CORUN_OK)
        status = corun_gpu_config_check(config, list);
    free(base);
    return status;
}
