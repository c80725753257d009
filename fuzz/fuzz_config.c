/* SPDX-License-Identifier: MIT */
/* Feeds bytes to the GPU configuration reader, as a file and as overrides. */
#include "gpu/config.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct corun_diagnostics *list = corun_diagnostics_create();
    struct corun_gpu_config config;
    corun_gpu_config_default(&config);
    if (config_parse_yaml((const char *)data, size, "fuzz.yaml", list, &config) == CORUN_OK)
        (void)corun_gpu_config_check(&config, list);

    static const char prefix[] = "default:";
    char *specification = malloc(sizeof prefix + size);
    memcpy(specification, prefix, sizeof prefix - 1);
    memcpy(specification + sizeof prefix - 1, data, size);
    specification[sizeof prefix - 1 + size] = 0;
    if (!strchr(specification, '/')) /* do not open whatever file is named */
        (void)corun_gpu_config_load(specification, "configs", list, &config);
    free(specification);
    corun_diagnostics_destroy(list);
    return 0;
}
