/* SPDX-License-Identifier: MIT */
/* Feeds bytes to what an agent reads before anything runs: plans, words of a command line, lists of processors, journals. */
#include "agent/affinity.h"
#include "agent/journal.h"
#include "agent/plan.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What was taken can be written again, and means the same then. */
static void read_cores(const char *text)
{
    cpu_set_t cores, again;
    char room[8192];
    if (affinity_parse(text, &cores) &&
        (!affinity_parse(affinity_format(&cores, room, sizeof room), &again) || !CPU_EQUAL(&cores, &again)))
        __builtin_trap();
}

static void use(const struct plan *plan)
{
    for (uint32_t a = 0; a < plan->tenant_count; a++) {
        size_t bytes = 0;
        for (const char *const *word = plan->tenants[a].command; word && *word; word++)
            bytes += strlen(*word);
        if (!plan->tenants[a].name || bytes > (size_t)1 << 20)
            __builtin_trap();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    journal_entries entries = {0};
    if (size > 8192)
        return 0;
    struct arena *arena = arena_create();
    struct plan *plan = calloc(1, sizeof *plan);
    char *text = arena_copy_text(arena, (const char *)data, size);
    plan_begin(plan);
    if (plan_parse("fuzz.yaml", text, size, arena, NULL, plan) == CORUN_OK && plan_check(plan, NULL) == CORUN_OK)
        use(plan);
    plan_begin(plan);
    plan_add(text, CORUN_HOST_SERVICE, arena, NULL, plan);
    plan_add(text, CORUN_HOST_BATCH, arena, NULL, plan);
    if (plan_check(plan, NULL) == CORUN_OK)
        use(plan);
    read_cores(text);
    journal_read("fuzz", (const char *)data, size, NULL, &entries);
    journal_free(&entries);
    free(plan);
    arena_destroy(arena);
    return 0;
}
