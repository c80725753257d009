/* SPDX-License-Identifier: MIT */
/* Feeds bytes to the readers of simulated hosts and of their applications; what was read is used. */
#include "host/arrivals.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use(const struct host_application *application)
{
    struct host_random random = host_random_of(1, 1);
    double query = application->kind == CORUN_HOST_SERVICE ? host_random_size(&random, &application->sizes) : 0;
    double sum = host_application_instructions(application, query);
    double at = 0.5;
    for (int i = 0; i < 13; i++, at *= 7) /* up to 1e10 */
        sum += host_application_speedup(application, at, at) + host_application_misses(application, at, at, at);
    if (!(sum > 0))
        __builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct corun_diagnostics *list = corun_diagnostics_create();
    struct host_application *application;
    struct host_machine machine;
    if (size < 8192 && host_application_parse("fuzz.yaml", (const char *)data, size, list, &application) == CORUN_OK) {
        use(application);
        host_application_destroy(application);
    }
    if (size < 8192 && host_machine_parse("fuzz.yaml", (const char *)data, size, list, &machine) == CORUN_OK &&
        !machine.cores)
        __builtin_trap();
    corun_diagnostics_destroy(list);
    return 0;
}
