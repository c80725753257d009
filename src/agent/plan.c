/* SPDX-License-Identifier: MIT */
/* Plans: words, values, checks. */
#include "agent/plan.h"

#include "agent/plan_values.h"
#include "agent/resctrl.h"
#include "base/duration.h"
#include "base/number.h"
#include "corun/service_messages.h"

#include <string.h>

void plan_begin(struct plan *plan)
{
    *plan = (struct plan){.interval_ns = 20000000, .resctrl = RESCTRL_ROOT};
}

const char *const *plan_split(const char *text, struct arena *arena)
{
    size_t most = strlen(text) / 2 + 2, count = 0;
    const char **words = ARENA_ARRAY(arena, const char *, most);
    char *room = arena_allocate(arena, strlen(text) + 1), quote = 0;
    bool inside = false;
    for (; words && room && *text; text++) {
        bool blank = strchr(" \t\n", *text);
        if (blank && !quote) {
            if (inside)
                *room++ = 0;
            inside = false;
            continue;
        }
        if (!inside)
            words[count++] = room;
        inside = true;
        if (*text == quote)
            quote = 0;
        else if (!quote && (*text == '\'' || *text == '"'))
            quote = *text;
        else if (*text == '\\' && quote != '\'' && text[1])
            *room++ = *++text;
        else
            *room++ = *text;
    }
    return words && room && !quote ? words : NULL;
}

bool plan_is_name(const char *name)
{
    size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.");
    return length > 0 && !name[length] && length < CORUN_SERVICE_NAME_BYTES;
}

bool plan_read_time(const char *text, uint64_t *ns)
{
    struct simulated_duration duration;
    if (!simulated_duration_parse(text, &duration) || !(duration.nanoseconds >= 1) || duration.nanoseconds > 1e18)
        return false;
    *ns = (uint64_t)duration.nanoseconds;
    return true;
}

static bool read_count(const char *text, uint64_t lowest, uint64_t highest, uint64_t *number)
{
    return number_parse(text, 1000, number) && *number >= lowest && *number <= highest;
}

bool plan_read_value(struct plan_tenant *tenant, const char *key, const char *text)
{
    bool service = tenant->kind == CORUN_HOST_SERVICE;
    uint64_t number;
    if (service && !strcmp(key, "goal"))
        return plan_read_time(text, &tenant->goal_ns);
    if (service && !strcmp(key, "model")) {
        tenant->model = text;
        return *text;
    }
    if (!strcmp(key, "threads") && read_count(text, 1, 1024, &number)) {
        tenant->threads = (uint32_t)number;
        return true;
    }
    if (!service && !strcmp(key, "instances") && read_count(text, 1, 1024, &number)) {
        tenant->instances = (uint32_t)number;
        return true;
    }
    if (!service && !strcmp(key, "alone"))
        return number_parse_real(text, &tenant->alone) && tenant->alone > 0;
    if (!strcmp(key, "pid") && tenant->pid_count < PLAN_PIDS && read_count(text, 2, INT32_MAX, &number)) {
        tenant->pids[tenant->pid_count++] = (pid_t)number;
        return true;
    }
    return false;
}

const char *plan_keys(enum corun_host_kind kind)
{
    return kind == CORUN_HOST_SERVICE ? "goal=TIME, model=FILE, threads=N, pid=N"
                                      : "instances=N, alone=RATE, threads=N, pid=N";
}

struct plan_tenant *plan_new_tenant(struct plan *plan, enum corun_host_kind kind)
{
    if (plan->tenant_count == GOVERNOR_TENANTS)
        return NULL;
    struct plan_tenant *tenant = &plan->tenants[plan->tenant_count++];
    *tenant = (struct plan_tenant){.kind = kind, .instances = kind == CORUN_HOST_BATCH ? 1 : 0};
    return tenant;
}

enum corun_status plan_add(const char *words, enum corun_host_kind kind, struct arena *arena,
                           struct corun_diagnostics *list, struct plan *plan)
{
    size_t head = strcspn(words, " \t");
    char *rest = arena_copy_text(arena, words, head);
    struct plan_tenant *tenant = plan_new_tenant(plan, kind);
    if (!rest)
        return CORUN_MEMORY;
    if (!tenant)
        return corun_report(list, CORUN_USAGE, CORUN_NOWHERE, "more than %u applications", GOVERNOR_TENANTS);
    tenant->name = strsep(&rest, ":");
    if (!plan_is_name(tenant->name))
        return corun_report(list, CORUN_USAGE, CORUN_NOWHERE,
                            "'%.80s': the name of an application has letters, digits, -, _ and . alone", words);
    for (char *word; (word = strsep(&rest, ","));) {
        char *value = strchr(word, '=');
        if (value)
            *value++ = 0;
        if (!value || !plan_read_value(tenant, word, value))
            return corun_report(list, CORUN_USAGE, CORUN_NOWHERE,
                                "'%.64s': %.32s is not among %s, or its value is none", words, word, plan_keys(kind));
    }
    if (!words[head + strspn(words + head, " \t")])
        return CORUN_OK;
    tenant->command = plan_split(words + head, arena);
    return tenant->command ? CORUN_OK
                           : corun_report(list, CORUN_USAGE, CORUN_NOWHERE, "'%.80s': a quote does not end", words);
}

enum corun_status plan_check(const struct plan *plan, struct corun_diagnostics *list)
{
    if (!plan->tenant_count)
        return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE,
                            "there is no application: no service, no batch program");
    if (plan->duration_ns && plan->warmup_ns >= plan->duration_ns)
        return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE,
                            "a warm-up of %g s leaves nothing of the %g s of the run", (double)plan->warmup_ns / 1e9,
                            (double)plan->duration_ns / 1e9);
    for (uint32_t a = 0; a < plan->tenant_count; a++) {
        const struct plan_tenant *tenant = &plan->tenants[a];
        for (uint32_t b = 0; b < a; b++)
            if (!strcmp(plan->tenants[b].name, tenant->name))
                return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE, "two applications are called %s",
                                    tenant->name);
        if (tenant->command && tenant->pid_count)
            return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE, "%s has a program and process numbers",
                                tenant->name);
        if (tenant->command && !tenant->command[0])
            return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE, "the program of %s has no name", tenant->name);
    }
    return CORUN_OK;
}
