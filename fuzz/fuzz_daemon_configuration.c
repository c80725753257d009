/* SPDX-License-Identifier: MIT */
/* corund's configuration files: what is taken holds to its ranges, what is refused has a place in the file. */
#include "daemon/configuration.h"

#include <stdlib.h>

static void check(const struct daemon_configuration *configuration)
{
    if (configuration->threads > 1000 || configuration->expected_count > CONFIGURATION_MOST_EXPECTED ||
        configuration->limits.count > LIMITS_MOST_ROWS)
        abort();
    for (uint32_t i = 0; i < configuration->limits.count; i++)
        if (!(configuration->limits.rows[i].share >= 0))
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct daemon_configuration configuration;
    struct arena *arena = arena_create();
    struct corun_diagnostics *list = corun_diagnostics_create();
    if (!arena || !list)
        abort();
    enum corun_status status =
        daemon_configuration_parse("input.yaml", (const char *)data, bytes, arena, list, &configuration);
    if (status == CORUN_OK)
        check(&configuration);
    else if (!corun_diagnostics_count(list) || !corun_diagnostics_get(list, 0)->place.file)
        abort();
    corun_diagnostics_destroy(list);
    arena_destroy(arena);
    return 0;
}
