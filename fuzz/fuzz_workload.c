/* Feeds bytes to the reader of launch descriptions and evaluates every size that comes out. */
#include "workload/plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct corun_diagnostics *list = corun_diagnostics_create();
    struct description *description;
    if (description_parse("fuzz.yaml", (const char *)data, size, list, &description) == CORUN_OK) {
        for (size_t i = 0; i < description->sizes.count && i < 4; i++) {
            struct plan *plan;
            (void)plan_create(description, description->size_names[i], list, &plan);
            plan_destroy(plan);
        }
        description_destroy(description);
    }
    corun_diagnostics_destroy(list);
    return 0;
}
