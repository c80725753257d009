/* SPDX-License-Identifier: MIT */
/*
 * Feeds bytes to the reader of launch descriptions and evaluates every size that comes out. What follows the first NUL
 * is taken as parameter=value,... for each of the sizes.
 */
#include "workload/plan.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void evaluate(const struct description *description, const char *size, struct corun_diagnostics *list)
{
    struct plan *plan;
    (void)plan_create(description, size, list, &plan);
    plan_destroy(plan);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct corun_diagnostics *list = corun_diagnostics_create();
    struct description *description;
    const char *text = (const char *)data, *end = memchr(text, 0, size);
    int settings_bytes = end && text + size - end < 10000 ? (int)(text + size - end) - 1 : 0;
    if (description_parse("fuzz.yaml", text, end ? (size_t)(end - text) : size, list, &description) == CORUN_OK) {
        for (size_t i = 0; i < description->sizes.count && i < 4; i++) {
            char *changed = NULL;
            evaluate(description, description->size_names[i], list);
            if (end && asprintf(&changed, "%s,%.*s", description->size_names[i], settings_bytes, end + 1) >= 0)
                evaluate(description, changed, list);
            free(changed);
        }
        description_destroy(description);
    }
    corun_diagnostics_destroy(list);
    return 0;
}
