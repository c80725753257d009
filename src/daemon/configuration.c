/* SPDX-License-Identifier: MIT */
/* corund's configuration file. */
#include "daemon/configuration.h"

#include "base/duration.h"
#include "base/number.h"
#include "base/text_file.h"

#include <grp.h>
#include <math.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static enum corun_status wrong(struct yaml_reader *reader, const struct value *value, const char *what)
{
    return corun_report(reader->list, CORUN_SYNTAX, value->place, "'%.80s' is %s", value->text, what);
}

static enum corun_status read_duration(struct yaml_reader *reader, const struct yaml_node *map, const char *key,
                                       double *seconds)
{
    struct value value = {0};
    enum corun_status status = yaml_value(reader, map, key, &value);
    if (status == CORUN_OK && value.text && !duration_parse(value.text, seconds))
        return wrong(reader, &value, "no time like 10s, 5m or 1h");
    return status;
}

/* ---- limits ---- */

/* A name, or a number. */
static enum corun_status read_user(struct yaml_reader *reader, const struct value *value, uint32_t *id)
{
    uint64_t number;
    const struct passwd *user = getpwnam(value->text);
    if (user) {
        *id = user->pw_uid;
        return CORUN_OK;
    }
    if (!number_parse(value->text, 1000, &number) || number >= UINT32_MAX)
        return corun_report(reader->list, CORUN_NOT_FOUND, value->place, "there is no user '%.80s'", value->text);
    *id = (uint32_t)number;
    return CORUN_OK;
}

static enum corun_status read_group(struct yaml_reader *reader, const struct value *value, uint32_t *id)
{
    uint64_t number;
    const struct group *group = getgrnam(value->text);
    if (group) {
        *id = group->gr_gid;
        return CORUN_OK;
    }
    if (!number_parse(value->text, 1000, &number) || number >= UINT32_MAX)
        return corun_report(reader->list, CORUN_NOT_FOUND, value->place, "there is no group '%.80s'", value->text);
    *id = (uint32_t)number;
    return CORUN_OK;
}

static enum corun_status read_amounts(struct yaml_reader *reader, const struct yaml_node *node, struct limit *row)
{
    struct value memory = {0}, share = {0};
    uint64_t clients = UINT32_MAX;
    enum corun_status status = yaml_count(reader, node, "clients", 0, UINT32_MAX, &clients);
    if (status == CORUN_OK)
        status = yaml_value(reader, node, "memory", &memory);
    if (status == CORUN_OK)
        status = yaml_value(reader, node, "share", &share);
    if (status != CORUN_OK)
        return status;
    row->clients = (uint32_t)clients;
    if (memory.text && !number_parse(memory.text, 1024, &row->memory))
        return wrong(reader, &memory, "no number of bytes like 512M or 4G");
    if (share.text && (!number_parse_real(share.text, &row->share) || row->share < 0 || row->share > 1))
        return wrong(reader, &share, "no part of the GPU from 0% to 100%");
    return CORUN_OK;
}

static enum corun_status read_limit(struct yaml_reader *reader, const struct yaml_node *node, struct limit *row)
{
    struct value user = {0}, group = {0}, cgroup = {0};
    *row = (struct limit){
        .of = LIMIT_OF_EVERYBODY, .clients = UINT32_MAX, .memory = UINT64_MAX, .share = (double)INFINITY};
    enum corun_status status = yaml_expect_map(reader, node, "| user group cgroup clients memory share");
    if (status == CORUN_OK)
        status = yaml_value(reader, node, "user", &user);
    if (status == CORUN_OK)
        status = yaml_value(reader, node, "group", &group);
    if (status == CORUN_OK)
        status = yaml_value(reader, node, "cgroup", &cgroup);
    if (status == CORUN_OK && user.text && group.text)
        status = corun_report(reader->list, CORUN_SYNTAX, group.place, "a row is of a user or of a group, not of both");
    if (status == CORUN_OK && cgroup.text && (user.text || group.text))
        status = corun_report(reader->list, CORUN_SYNTAX, cgroup.place,
                              "a row is of control groups, or of a user or group, not of both");
    if (status == CORUN_OK && cgroup.text && !cgroup_is_pattern(cgroup.text))
        status = wrong(reader, &cgroup, "no control group like /pods.slice/pods-*.slice");
    if (status == CORUN_OK && cgroup.text) {
        row->of = LIMIT_OF_CGROUP;
        memcpy(row->cgroup, cgroup.text, strlen(cgroup.text) + 1);
    }
    if (status == CORUN_OK && user.text) {
        row->of = LIMIT_OF_USER;
        status = read_user(reader, &user, &row->id);
    } else if (status == CORUN_OK && group.text) {
        row->of = LIMIT_OF_GROUP;
        status = read_group(reader, &group, &row->id);
    }
    return status == CORUN_OK ? read_amounts(reader, node, row) : status;
}

static enum corun_status read_limits(struct yaml_reader *reader, const struct yaml_node *root, struct limits *limits)
{
    const struct yaml_node *node = yaml_find(root, "limits");
    enum corun_status status = node ? yaml_expect(reader, node, YAML_LIST) : CORUN_OK;
    for (const struct yaml_node *one = node && !status ? node->first : NULL; one && !status; one = one->next) {
        if (limits->count == LIMITS_MOST_ROWS)
            return YAML_WRONG(reader, one, "there are more than %u rows of limits", LIMITS_MOST_ROWS);
        if (limits->count && limits->rows[limits->count - 1].of == LIMIT_OF_EVERYBODY)
            return YAML_WRONG(reader, one, "no row is looked at behind the one for everybody");
        status = read_limit(reader, one, &limits->rows[limits->count]);
        limits->count++;
    }
    return status;
}

/* ---- the rest ---- */

/* One, or a list. */
static enum corun_status read_gpus(struct yaml_reader *reader, const struct yaml_node *root,
                                   struct daemon_configuration *result)
{
    const struct yaml_node *node = yaml_find(root, "simulate");
    if (!node)
        return CORUN_OK;
    bool several = node->kind == YAML_LIST;
    if (several && !node->first)
        return YAML_WRONG(reader, node, "'simulate' is an empty list");
    for (const struct yaml_node *one = several ? node->first : node; one; one = several ? one->next : NULL) {
        if (result->gpu_count == CONFIGURATION_MOST_GPUS)
            return YAML_WRONG(reader, one, "there are more than %u GPUs", CONFIGURATION_MOST_GPUS);
        enum corun_status status = yaml_expect(reader, one, YAML_TEXT);
        if (status)
            return status;
        if (!*one->text)
            return YAML_WRONG(reader, one, "'simulate' is empty");
        result->gpus[result->gpu_count++] = (struct value){one->text, one->place, one->plain};
    }
    return CORUN_OK;
}

bool daemon_configuration_pace(const char *text, double *pace)
{
    return number_parse_real(text, pace) && *pace >= CONFIGURATION_LEAST_PACE && *pace <= 1;
}

static enum corun_status read_pace(struct yaml_reader *reader, const struct yaml_node *root, double *pace)
{
    struct value value = {0};
    enum corun_status status = yaml_value(reader, root, "pace", &value);
    if (status == CORUN_OK && value.text && !daemon_configuration_pace(value.text, pace))
        return wrong(reader, &value, "no pace above 0 and at most 1");
    return status;
}

static enum corun_status read_expected(struct yaml_reader *reader, const struct yaml_node *root,
                                       struct daemon_configuration *result)
{
    const struct yaml_node *node = yaml_find(root, "expect");
    enum corun_status status = node ? yaml_expect(reader, node, YAML_LIST) : CORUN_OK;
    for (const struct yaml_node *one = node && !status ? node->first : NULL; one && !status; one = one->next) {
        if (result->expected_count == CONFIGURATION_MOST_EXPECTED)
            return YAML_WRONG(reader, one, "more than %u programs are expected", CONFIGURATION_MOST_EXPECTED);
        status = yaml_expect(reader, one, YAML_TEXT);
        if (status)
            return status;
        struct value value = {one->text, one->place, one->plain};
        if (!*value.text || strlen(value.text) > 63)
            return wrong(reader, &value, "no name of a program, 1 to 63 bytes");
        result->expected[result->expected_count++] = value;
    }
    return status;
}

static enum corun_status read_texts(struct yaml_reader *reader, const struct yaml_node *root,
                                    struct daemon_configuration *result)
{
    const struct {
        const char *key;
        struct value *value;
    } texts[] = {{"policy", &result->policy},
                 {"socket", &result->socket},
                 {"metrics", &result->metrics},
                 {"journal", &result->journal},
                 {"kernel_timeout", &result->kernel_timeout}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        enum corun_status status = yaml_value(reader, root, texts[i].key, texts[i].value);
        if (status)
            return status;
        if (texts[i].value->text && !*texts[i].value->text)
            return corun_report(reader->list, CORUN_SYNTAX, texts[i].value->place, "'%s' is empty", texts[i].key);
    }
    return CORUN_OK;
}

enum corun_status daemon_configuration_parse(const char *path, const char *text, size_t bytes, struct arena *arena,
                                             struct corun_diagnostics *list, struct daemon_configuration *result)
{
    struct yaml_reader reader = {path, list};
    struct yaml_node *root = NULL;
    struct simulated_duration duration;
    *result = (struct daemon_configuration){.threads = 0};
    enum corun_status status = yaml_tree_parse(path, text, bytes, arena, list, &root);
    if (status == CORUN_OK)
        status = yaml_expect_map(&reader, root,
                                 "| simulate hardware policy socket expect threads kernel_timeout patience metrics "
                                 "metrics_interval journal limits pace");
    if (status == CORUN_OK)
        status = read_gpus(&reader, root, result);
    if (status == CORUN_OK)
        status = yaml_boolean(&reader, root, "hardware", &result->hardware);
    if (status == CORUN_OK && result->hardware && result->gpu_count)
        status = corun_report(list, CORUN_SYNTAX, result->gpus[0].place,
                              "'hardware' and 'simulate' exclude each other: a corund has one kind of GPU");
    if (status == CORUN_OK)
        status = read_texts(&reader, root, result);
    if (status == CORUN_OK && result->kernel_timeout.text &&
        !simulated_duration_parse(result->kernel_timeout.text, &duration))
        status = wrong(&reader, &result->kernel_timeout, "no time like 10ms, 500us or 2s, and no number of cycles");
    if (status == CORUN_OK)
        status = read_expected(&reader, root, result);
    if (status == CORUN_OK)
        status = yaml_count(&reader, root, "threads", 1, 1000, &result->threads);
    if (status == CORUN_OK)
        status = read_duration(&reader, root, "patience", &result->patience);
    if (status == CORUN_OK)
        status = read_duration(&reader, root, "metrics_interval", &result->metrics_interval);
    if (status == CORUN_OK)
        status = read_pace(&reader, root, &result->pace);
    return status == CORUN_OK ? read_limits(&reader, root, &result->limits) : status;
}

/* With a place in the file system: opening it waits for somebody who writes, and nobody may come for as long as corund runs. */
static bool is_named_pipe(const char *path)
{
    struct stat found;
    char *place = stat(path, &found) == 0 && S_ISFIFO(found.st_mode) ? realpath(path, NULL) : NULL;
    free(place);
    return place != NULL;
}

enum corun_status daemon_configuration_load(const char *path, struct arena *arena, struct corun_diagnostics *list,
                                            struct daemon_configuration *result)
{
    char *text = NULL;
    size_t bytes = 0;
    const char *name = arena_copy_text(arena, path, strlen(path));
    if (name && is_named_pipe(path))
        return corun_report(list, CORUN_FILE, (struct corun_place){name, 0, 0},
                            "this is a pipe, which cannot be read again");
    enum corun_status status =
        name ? text_file_read(path, CONFIGURATION_MOST_BYTES, list, &text, &bytes) : CORUN_MEMORY;
    if (status == CORUN_OK)
        status = daemon_configuration_parse(name, text, bytes, arena, list, result);
    free(text);
    return status;
}
