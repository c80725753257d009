/* SPDX-License-Identifier: MIT */
/* Functions of libraries that are loaded when they are needed. */
#include "model/library.h"

#include <dlfcn.h>
#include <string.h>

enum corun_status library_functions(const char *library, const struct library_function *functions, size_t count,
                                    struct corun_diagnostics *list)
{
    /* Not unloaded by dlclose: the next one who asks finds it where it is. */
    void *handle = dlopen(library, RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
    if (!handle)
        return corun_report(list, CORUN_NOT_FOUND, CORUN_NOWHERE, "a library for learning is missing: %s", dlerror());
    enum corun_status status = CORUN_OK;
    for (size_t i = 0; i < count && status == CORUN_OK; i++) {
        void *found = dlsym(handle, functions[i].name);
        memcpy(functions[i].place, &found, sizeof found);
        if (!found)
            status = corun_report(list, CORUN_NOT_FOUND, CORUN_NOWHERE, "%s has no %s", library, functions[i].name);
    }
    dlclose(handle);
    return status;
}
