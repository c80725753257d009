/* SPDX-License-Identifier: MIT */
/* Functions of libraries that the process has. */
#include "client/find.h"

#include <dlfcn.h>
#include <stddef.h>

static void *find(const char *library_name, const char *name)
{
    void *library = dlopen(library_name, RTLD_LAZY | RTLD_NOLOAD);
    void *found = library ? dlsym(library, name) : NULL;
    if (library)
        dlclose(library);
    return found;
}

/* The shim first: the driver below it may be corun's. */
void *client_find(const char *of_shim, const char *of_cuda)
{
    void *found = of_shim ? find("libcuda.so.1", of_shim) : NULL;
    return found ? found : find("libcorun-cuda.so", of_cuda);
}
