/* SPDX-License-Identifier: MIT */
/*
 * Feeds bytes to the reader of captured programs, behind its hash and its compression, and replays what comes out
 * without its launches.
 */
#include "workload/capture.h"

#include <stdlib.h>
#include <string.h>

#define MOST_MEMORY_BYTES (UINT64_C(1) << 24)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void replay(const struct captured *captured, uint32_t application, struct corun_diagnostics *list)
{
    struct replay *all;
    if (replay_create(captured, application, list, &all) != CORUN_OK)
        return;
    for (int run = 0; run < 2; run++) {
        replay_before(all, (uint32_t)captured->launches.count);
        (void)replay_verify(all, list, NULL);
        replay_restart(all);
    }
    replay_destroy(all);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct corun_diagnostics *list = corun_diagnostics_create();
    struct captured *captured;
    uint8_t *body = malloc(size + 1);
    if (body)
        memcpy(body, data, size);
    if (body && capture_read("fuzz.corun", body, size, 0, list, &captured) == CORUN_OK) {
        struct corun_workload_info info;
        capture_describe(captured, &info);
        if (captured->memory_bytes < MOST_MEMORY_BYTES && captured->operations.count < 1000)
            replay(captured, size % 2 ? 3 : 0, list);
        capture_destroy(captured);
    }
    corun_diagnostics_destroy(list);
    return 0;
}
