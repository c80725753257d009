/* SPDX-License-Identifier: MIT */
/* Plans in YAML. */
#include "agent/affinity.h"
#include "agent/plan_values.h"
#include "base/yaml_reader.h"

#include <string.h>

#define TOP_KEYS "policy interval duration warmup cores socket group resctrl confine services batch"

struct plan_reader {
    struct yaml_reader yaml;
    struct arena *arena;
    struct plan *plan;
};

static enum corun_status read_text(struct plan_reader *reader, const struct yaml_node *map, const char *key,
                                   const char **text)
{
    struct value value = {0};
    enum corun_status status = yaml_value(&reader->yaml, map, key, &value);
    if (!status && value.text)
        *text = value.text;
    return status;
}

static enum corun_status read_time(struct plan_reader *reader, const struct yaml_node *map, const char *key,
                                   uint64_t *ns)
{
    const struct yaml_node *node = yaml_find(map, key);
    const char *text = NULL;
    enum corun_status status = read_text(reader, map, key, &text);
    if (!status && text && !plan_read_time(text, ns))
        status = YAML_WRONG(&reader->yaml, node, "%s: '%.64s' is no time, such as 20ms", key, text);
    return status;
}

static enum corun_status read_cores(struct plan_reader *reader, const struct yaml_node *map)
{
    const struct yaml_node *node = yaml_find(map, "cores");
    const char *text = NULL;
    enum corun_status status = read_text(reader, map, "cores", &text);
    if (status || !text)
        return status;
    reader->plan->has_cores = affinity_parse(text, &reader->plan->cores);
    return reader->plan->has_cores
               ? CORUN_OK
               : YAML_WRONG(&reader->yaml, node, "cores: '%.64s' is no list of processors, such as 0-3,8", text);
}

static enum corun_status read_confinement(struct plan_reader *reader, const struct yaml_node *map)
{
    static const char *const words[] = {[PLAN_ANY] = "any", [PLAN_CPUSET] = "cpuset", [PLAN_AFFINITY] = "affinity"};
    const struct yaml_node *node = yaml_find(map, "confine");
    const char *text = NULL;
    enum corun_status status = read_text(reader, map, "confine", &text);
    for (uint32_t i = 0; !status && text && i < sizeof words / sizeof *words; i++) {
        if (!strcmp(words[i], text)) {
            reader->plan->confinement = (enum plan_confinement)i;
            return CORUN_OK;
        }
    }
    return status || !text
               ? status
               : YAML_WRONG(&reader->yaml, node, "confine: one of any, cpuset, affinity, not '%.32s'", text);
}

/* A text as a shell takes it, or a list of words. */
static enum corun_status read_command(struct plan_reader *reader, const struct yaml_node *node,
                                      struct plan_tenant *tenant)
{
    if (node->kind == YAML_TEXT) {
        tenant->command = plan_split(node->text, reader->arena);
        return tenant->command ? CORUN_OK : YAML_WRONG(&reader->yaml, node, "command: a quote does not end");
    }
    enum corun_status status = yaml_expect(&reader->yaml, node, YAML_LIST);
    const char **words = ARENA_ARRAY(reader->arena, const char *, node->count + 1);
    size_t count = 0;
    if (!words)
        return yaml_out_of_memory(&reader->yaml);
    for (const struct yaml_node *word = node->first; word && !status; word = word->next) {
        status = yaml_expect(&reader->yaml, word, YAML_TEXT);
        words[count++] = word->text;
    }
    tenant->command = words;
    return status;
}

static enum corun_status read_entry(struct plan_reader *reader, const struct yaml_node *entry,
                                    struct plan_tenant *tenant)
{
    struct yaml_reader *yaml = &reader->yaml;
    enum corun_status status = CORUN_OK;
    if (!strcmp(entry->key, "command"))
        return read_command(reader, entry, tenant);
    if (!strcmp(entry->key, "pid") && entry->kind == YAML_LIST) {
        for (const struct yaml_node *pid = entry->first; pid && !status; pid = pid->next)
            if (pid->kind != YAML_TEXT || !plan_read_value(tenant, "pid", pid->text))
                status = YAML_WRONG(yaml, pid, "pid: this is no number of a process, or one too many");
        return status;
    }
    status = yaml_expect(yaml, entry, YAML_TEXT);
    if (status || !strcmp(entry->key, "name"))
        return status;
    return plan_read_value(tenant, entry->key, entry->text)
               ? CORUN_OK
               : YAML_WRONG(yaml, entry, "%.32s: '%.64s' is not among %s", entry->key, entry->text,
                            plan_keys(tenant->kind));
}

static enum corun_status read_tenant(struct plan_reader *reader, const struct yaml_node *map, enum corun_host_kind kind)
{
    struct yaml_reader *yaml = &reader->yaml;
    enum corun_status status =
        yaml_expect_map(yaml, map,
                        kind == CORUN_HOST_SERVICE ? "name | goal model threads pid command"
                                                   : "name | instances alone threads pid command");
    struct plan_tenant *tenant = status ? NULL : plan_new_tenant(reader->plan, kind);
    if (status || !tenant)
        return status ? status : YAML_WRONG(yaml, map, "more than %u applications", GOVERNOR_TENANTS);
    status = read_text(reader, map, "name", &tenant->name);
    if (!status && !plan_is_name(tenant->name))
        status = YAML_WRONG(yaml, yaml_find(map, "name"),
                            "the name of an application has letters, digits, -, _ and . alone");
    for (const struct yaml_node *entry = map->first; entry && !status; entry = entry->next)
        status = read_entry(reader, entry, tenant);
    return status;
}

static enum corun_status read_tenants(struct plan_reader *reader, const struct yaml_node *root, const char *key,
                                      enum corun_host_kind kind)
{
    const struct yaml_node *node = yaml_find(root, key);
    enum corun_status status = node ? yaml_expect(&reader->yaml, node, YAML_LIST) : CORUN_OK;
    for (const struct yaml_node *map = node ? node->first : NULL; map && !status; map = map->next)
        status = read_tenant(reader, map, kind);
    return status;
}

static enum corun_status read_plan(struct plan_reader *reader, const struct yaml_node *root)
{
    struct plan *plan = reader->plan;
    enum corun_status status = yaml_expect_map(&reader->yaml, root, "| " TOP_KEYS);
    const struct {
        const char *key;
        const char **text;
    } texts[] = {
        {"policy", &plan->policy}, {"socket", &plan->socket}, {"group", &plan->group}, {"resctrl", &plan->resctrl}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts && !status; i++)
        status = read_text(reader, root, texts[i].key, texts[i].text);
    const struct {
        const char *key;
        uint64_t *ns;
    } times[] = {{"interval", &plan->interval_ns}, {"duration", &plan->duration_ns}, {"warmup", &plan->warmup_ns}};
    for (size_t i = 0; i < sizeof times / sizeof *times && !status; i++)
        status = read_time(reader, root, times[i].key, times[i].ns);
    if (!status)
        status = read_cores(reader, root);
    if (!status)
        status = read_confinement(reader, root);
    if (!status)
        status = read_tenants(reader, root, "services", CORUN_HOST_SERVICE);
    return status ? status : read_tenants(reader, root, "batch", CORUN_HOST_BATCH);
}

enum corun_status plan_parse(const char *path, const char *text, size_t bytes, struct arena *arena,
                             struct corun_diagnostics *list, struct plan *plan)
{
    struct yaml_node *root;
    struct plan_reader reader = {{path, list}, arena, plan};
    enum corun_status status = yaml_tree_parse(path, text, bytes, arena, list, &root);
    return status ? status : read_plan(&reader, root);
}
