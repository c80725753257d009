/* SPDX-License-Identifier: MIT */
/* Feeds bytes to the reader of experiments, and what it reads to the writer of their JSON. */
#include "reproduce/experiment.h"
#include "reproduce/experiment_json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct corun_diagnostics *list = corun_diagnostics_create();
    struct experiment *experiment;
    if (size < 4096 && experiment_parse("fuzz.yaml", (const char *)data, size, list, &experiment) == CORUN_OK) {
        FILE *nowhere = fopen("/dev/null", "w");
        if (nowhere) {
            json_experiment(experiment, 1000, NULL, NULL, nowhere);
            fclose(nowhere);
        }
        experiment_destroy(experiment);
    }
    corun_diagnostics_destroy(list);
    return 0;
}
