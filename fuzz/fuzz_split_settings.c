/* SPDX-License-Identifier: MIT */
/* libFuzzer: a text as CORUN_SPLIT. What is taken lies in its range. */
#include "split/settings.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct settings settings = {.parameters = settings_default_parameters()};
    struct corun_diagnostics *list = corun_diagnostics_create();
    char *text = malloc(size + 1);
    if (!list || !text)
        abort();
    memcpy(text, data, size);
    text[size] = '\0';
    enum corun_status status = split_settings_read(&settings, text, list);
    if (status == CORUN_OK
            ? settings_check(&settings.parameters, NULL) != CORUN_OK || corun_diagnostics_count(list) != 0
            : status != CORUN_SYNTAX || corun_diagnostics_count(list) != 1)
        abort();
    if (settings.strategy[0] && !corun_split_strategy_find(settings.strategy))
        abort();
    free(text);
    corun_diagnostics_destroy(list);
    return 0;
}
