/* SPDX-License-Identifier: MIT */
/* Where a CUDA driver is, and what corun's own is told. */
#include "cli/driver.h"

#include "cli/program.h"
#include "cuda/settings.h"

#include <stdlib.h>

/*
 * NVIDIA's driver is told two things that nobody can tell it later, unless the environment says otherwise (CUDA C++ Programming Guide, environment
 * variables). Kernels are loaded with their modules: loading one at its first launch waits for kernels that are running, and those may wait for it.
 * Streams get connections of their own: in one that several share, a copy of counters waits behind workers that stay.
 */
enum corun_status driver_find(bool native, const char *gpu, const char *data, char library[PATH_BYTES],
                              struct corun_diagnostics *list)
{
    static const char name[] = "libcuda.so.1";
    char folder[PATH_BYTES];
    if (native) {
        snprintf(library, PATH_BYTES, "%s", name);
        return setenv("CUDA_MODULE_LOADING", "EAGER", 0) || setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0)
                   ? CORUN_MEMORY
                   : CORUN_OK;
    }
    enum corun_status status = program_libraries(folder, list);
    if (status != CORUN_OK)
        return status;
    int written = snprintf(library, PATH_BYTES, "%s/%s", folder, name);
    if (written < 0 || (size_t)written >= PATH_BYTES)
        return corun_report(list, CORUN_LIMIT, CORUN_NOWHERE, "the path of corun's CUDA driver is too long");
    if (setenv(setting_GPU, gpu, 1) || setenv(setting_DATA, data, 1) || setenv(setting_LAUNCH_COSTS, "1", 1))
        return CORUN_MEMORY;
    unsetenv(setting_FUNCTIONAL); /* what a program was told is not meant for this */
    unsetenv(setting_RECORD);
    unsetenv(setting_CAPTURE);
    unsetenv("CUDA_VISIBLE_DEVICES");
    return CORUN_OK;
}
