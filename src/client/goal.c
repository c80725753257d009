/* SPDX-License-Identifier: MIT */
/* Finds corun's CUDA in the process, if the process has it: nothing is loaded for that. */
#include "corun/client.h"

#include <dlfcn.h>
#include <string.h>

enum corun_status corun_set_goal(enum corun_goal_kind kind, double value)
{
    enum corun_status (*set_goal)(enum corun_goal_kind, double) = NULL;
    void *library = dlopen("libcorun-cuda.so", RTLD_LAZY | RTLD_NOLOAD);
    void *found = library ? dlsym(library, "corun_cuda_set_goal") : NULL;
    memcpy(&set_goal, &found, sizeof set_goal);
    enum corun_status status = set_goal ? set_goal(kind, value) : CORUN_UNSUPPORTED;
    if (library)
        dlclose(library);
    return status;
}
