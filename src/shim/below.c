/* SPDX-License-Identifier: MIT */
/* Where the driver below is, and what it has. */
#include "shim/below.h"

#include "cuda/settings.h"
#include "shim/forked.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIBRARY "libcuda.so.1"
#define ABSENT ((void *)&state) /* no function is there */

/* What a process has of it: set once, by the first call. */
static struct {
    pthread_once_t once;
    void *library;
    char own[PATH_MAX];
    _Atomic(void *) called[CALLED_COUNT]; /* NULL: nobody has asked; ABSENT: the driver has none */
    int trace;
} state = {.once = PTHREAD_ONCE_INIT, .trace = -1};

_Atomic(void *) below_entries[LOOKED_AT_COUNT];

static int not_supported(void)
{
    return BELOW_NOT_SUPPORTED;
}

static int no_device(void)
{
    return BELOW_NO_DEVICE;
}

void trace_line(const char *what, const char *name, const char *more)
{
    char line[512];
    if (state.trace < 0)
        return;
    int bytes = snprintf(line, sizeof line, "%d %s %s %s\n", (int)getpid(), what, name, more);
    if (bytes > 0 && write(state.trace, line, bytes < (int)sizeof line ? (size_t)bytes : sizeof line - 1) < 0)
        state.trace = -1;
}

bool trace_is_on(void)
{
    return state.trace >= 0;
}

/* Not this library again, under whatever path. */
static bool open_driver(const char *path)
{
    char real[PATH_MAX];
    if (!realpath(path, real) || strcmp(real, state.own) == 0)
        return false;
    void *library = dlopen(real, RTLD_LAZY | RTLD_LOCAL);
    const char *problem = library ? "" : dlerror();
    trace_line("driver", real, library ? "opened" : problem ? problem : "");
    if (!library)
        return false;
    if (dlsym(library, "corun_shim_driver")) { /* another copy of the shim */
        dlclose(library);
        return false;
    }
    state.library = library;
    return true;
}

/* In the folders of a search path. */
static bool search_folders(const char *folders)
{
    char path[PATH_MAX];
    while (folders && *folders) {
        size_t bytes = strcspn(folders, ":");
        if (bytes && bytes + sizeof "/" LIBRARY < sizeof path) {
            snprintf(path, sizeof path, "%.*s/%s", (int)bytes, folders, LIBRARY);
            if (open_driver(path))
                return true;
        }
        folders += bytes + (folders[bytes] == ':');
    }
    return false;
}

static void find_driver(void)
{
    static const char usual[] =
        "/usr/lib/x86_64-linux-gnu:/usr/local/nvidia/lib64:/usr/lib64/nvidia:/usr/lib64:"
        "/usr/lib/x86_64-linux-gnu/nvidia/current:/usr/lib/wsl/lib:/run/opengl-driver/lib:/usr/lib:"
        "/lib/x86_64-linux-gnu:/lib64";
    const char *trace = getenv(setting_SHIM_TRACE);
    const char *given = getenv(setting_SHIM_DRIVER);
    Dl_info own;
    forked_watch();
    if (trace && *trace)
        state.trace = open(trace, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (!dladdr(&state, &own) || !realpath(own.dli_fname, state.own))
        state.own[0] = 0;
    if (given && *given)
        open_driver(given);
    else if (!search_folders(getenv("LD_LIBRARY_PATH")))
        search_folders(usual);
    if (!state.library)
        shim_say("no driver is below the shim: %s", given && *given ? given : LIBRARY " (CORUN_SHIM_DRIVER names one)");
}

void *below_find(const char *symbol)
{
    pthread_once(&state.once, find_driver);
    return state.library ? dlsym(state.library, symbol) : NULL;
}

void *below_called(enum called entry)
{
    static const char *const names[CALLED_COUNT] = {
#define C(symbol) [CALLED_##symbol] = #symbol,
#include "shim/called.def"
#undef C
    };
    void *found = atomic_load_explicit(&state.called[entry], memory_order_acquire);
    if (!found) {
        found = below_find(names[entry]);
        found = found ? found : ABSENT;
        atomic_store_explicit(&state.called[entry], found, memory_order_release);
    }
    return found == ABSENT ? NULL : found;
}

void *below_first(enum looked_at entry)
{
    static const char *const names[LOOKED_AT_COUNT] = {
#define L(symbol) [LOOKED_AT_##symbol] = #symbol,
#include "shim/looked_at.def"
#undef L
    };
    void *found = below_find(names[entry]);
    if (!found)
        found = (void *)(size_t)(state.library ? not_supported : no_device);
    atomic_store_explicit(&below_entries[entry], found, memory_order_release);
    return found;
}

static void *const replacements[LOOKED_AT_COUNT];

void *below_replaced(const void *address)
{
    for (size_t i = 0; i < LOOKED_AT_COUNT; i++)
        if (address && below((enum looked_at)i) == address)
            return replacements[i];
    return NULL;
}

#define L(symbol) extern char symbol[];
#include "shim/looked_at.def"
#undef L
static void *const replacements[LOOKED_AT_COUNT] = {
#define L(symbol) [LOOKED_AT_##symbol] = symbol,
#include "shim/looked_at.def"
#undef L
};

/* Of entries.c: where a jump leads that is taken for the first time. */
__attribute__((used, visibility("hidden"))) void *corun_shim_resolve(const char *name, void **place);
void *corun_shim_resolve(const char *name, void **place)
{
    void *found = below_find(name);
    trace_line("call", name, found ? "" : "absent");
    if (!found)
        found = (void *)(size_t)(state.library ? not_supported : no_device);
    __atomic_store_n(place, found, __ATOMIC_RELEASE);
    return found;
}

/* By which a shim is known: to another one, and to corun's runtime, which asks what is below it (cuda/driver_calls.c). */
SHIM_EXPORT void *corun_shim_driver(const char *symbol);
void *corun_shim_driver(const char *symbol)
{
    return below_find(symbol);
}
