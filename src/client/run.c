/* SPDX-License-Identifier: MIT */
/* Runs of the program, told to corun's CUDA if the process has it. */
#include "corun/client.h"

#include <dlfcn.h>
#include <string.h>

/* A function of it; NULL: it is not there. The library is loaded by others, and stays as long as they have it. */
static void *find(const char *name)
{
    void *library = dlopen("libcorun-cuda.so", RTLD_LAZY | RTLD_NOLOAD);
    void *found = library ? dlsym(library, name) : NULL;
    if (library)
        dlclose(library);
    return found;
}

uint64_t corun_begin_run(void)
{
    uint64_t (*begin)(void) = NULL;
    void *found = find("corun_cuda_begin_run");
    memcpy(&begin, &found, sizeof begin);
    return begin ? begin() : 0;
}

enum corun_status corun_end_run(uint64_t begun)
{
    enum corun_status (*end)(uint64_t) = NULL;
    void *found = find("corun_cuda_end_run");
    memcpy(&end, &found, sizeof end);
    return end ? end(begun) : CORUN_UNSUPPORTED;
}
