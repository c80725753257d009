/* SPDX-License-Identifier: MIT */
/* Which functions of the driver the runtime calls, and the frame of such a call. */
#include "cuda/driver_calls.h"

#include "cuda/abi.h"
#include "cuda/entry.h"
#include "cuda/host_sleep.h"
#include "cuda/process.h"

#include <dlfcn.h>
#include <string.h>

#define ASKED_VERSION 12050 /* of CUDA, whose functions have these arguments */
enum { LEGACY = 1, PER_THREAD = 2 };

typedef __typeof__(corun_cuGetProcAddress_v2) *get_address;

static const struct driver_calls ours = {
    .own = true,
#define PLAIN(name, handler) .name = corun_##handler,
#define STREAM(name, handler) .name = {corun_##handler, corun_##handler},
#include "cuda/driver_calls.def"
#undef PLAIN
#undef STREAM
};

/* Of the shim, if that is what the program has for a driver, and this library is below it: else its handles would be another driver's. */
static get_address find_shim(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NODELETE), *asked = NULL;
    void *(*below)(const char *) = NULL;
    if (!library)
        return NULL;
    *(void **)&below = dlsym(library, "corun_shim_driver");
    if (below && below("corun_host_sleep") == (void *)(uintptr_t)corun_host_sleep)
        asked = dlsym(library, "cuGetProcAddress_v2");
    dlclose(library);
    get_address found;
    memcpy(&found, &asked, sizeof found);
    return found;
}

static bool ask(get_address get, const char *name, bool per_thread, void *function)
{
    void *found = NULL;
    int status = 0;
    if (get(name, &found, ASKED_VERSION, per_thread ? PER_THREAD : LEGACY, &status) != CUDA_SUCCESS || !found)
        return false;
    memcpy(function, &found, sizeof found);
    return true;
}

void driver_calls_find(struct driver_calls *calls)
{
    struct driver_calls asked = {0};
    get_address get = find_shim();
    bool all = get != NULL;
#define PLAIN(name, handler) all = all && ask(get, #name, false, &asked.name);
#define STREAM(name, handler) \
    all = all && ask(get, #name, false, &asked.name[0]) && ask(get, #name, true, &asked.name[1]);
#include "cuda/driver_calls.def"
#undef PLAIN
#undef STREAM
    *calls = all ? asked : ours;
}

struct driver_call driver_call_begin(struct process *process, const char *name)
{
    pthread_mutex_unlock(&process->lock);
    const struct driver_call driver = {process_driver(), corun_per_thread, corun_driver_call};
    corun_per_thread &= driver.calls->own;
    corun_driver_call = true;
    thread_get()->asked = name;
    return driver;
}

void driver_call_end(struct process *process, const struct driver_call *driver)
{
    thread_get()->asked = NULL;
    corun_per_thread = driver->per_thread;
    corun_driver_call = driver->driver;
    pthread_mutex_lock(&process->lock);
}

const char *driver_call_name(const char *own)
{
    const char *asked = thread_get()->asked;
    return asked ? asked : own;
}
