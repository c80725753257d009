/* SPDX-License-Identifier: MIT */
/* Feeds bytes to the importer of GPGPU-Sim's descriptions; what it makes of them must be a description of ours. */
#include "base/arena.h"
#include "gpu/config.h"
#include "import/gpu_file.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct corun_diagnostics *list = corun_diagnostics_create();
    struct arena *arena = arena_create();
    struct corun_gpu_config base, again;
    struct imported_gpu gpu;
    corun_gpu_config_default(&base);
    if (gpgpusim_import("fuzz", (const char *)data, size, &base, arena, list, &gpu) == CORUN_OK) {
        char *text = NULL;
        size_t bytes = 0;
        FILE *stream = open_memstream(&text, &bytes);
        gpu_file_write(&gpu, "fuzz", "default", stream);
        fclose(stream);
        corun_gpu_config_default(&again);
        if (config_parse_yaml(text, bytes, "fuzz.yaml", list, &again) != CORUN_OK)
            abort();
        if (corun_gpu_config_check(&again, list) != CORUN_OK || again.l2_bytes != gpu.config.l2_bytes)
            abort();
        free(text);
    }
    arena_destroy(arena);
    corun_diagnostics_destroy(list);
    return 0;
}
