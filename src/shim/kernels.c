/* SPDX-License-Identifier: MIT */
/* Modules as they are loaded, their kernels, and other forms of these. */
#include "shim/kernels.h"

#include "base/cache_folder.h"
#include "base/vector.h"
#include "cuda/fat_binary.h"
#include "cuda/settings.h"
#include "rewrite/borrow.h"
#include "rewrite/cache.h"
#include "shim/below.h"
#include "shim/govern.h"
#include "shim/memory.h"
#include "shim/streams.h"
#include "shim/tables.h"
#include "shim/times.h"
#include "shim/variables.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CAPTURE_RELAXED = 2,
    MULTIPROCESSORS = 16,
    MAJOR = 75,
    MINOR = 76,
    MOST_DYNAMIC_SHARED = 8,
    VOLTA = 70,
    SHARED_WITHOUT_ASKING = 49152
};

#define PLACES 4096u
#define CACHE_PATH_BYTES 3072u
#define CACHE_MOST_BYTES (UINT64_C(256) << 20)

/* What was loaded. `image` is the program's, of a file that is mapped; `text` is ours. */
struct image {
    uint32_t uses;      /* one while the driver has it, and one for each record of a kernel of it */
    const void *handle; /* of the module or the library; NULL: it is gone */
    const void *image;
    char *text;
    bool is_library;
    bool read;                       /* text is all that there is */
    const void *home;                /* the context of a module; NULL: a library, which has none */
    struct cached_module *rewritten; /* the other form; NULL: nobody has asked, or there is none */
    const void *context;             /* where it was loaded last, */
    void *module;                    /* as that; NULL: it is not there any more, */
    bool fails;                      /* or cannot be */
    struct lent *lent;               /* the variables that it borrows */
};

static struct {
    pthread_mutex_t lock;
    VECTOR(struct image *) images;
    struct kernel *kernels[PLACES];
    pthread_once_t once;
    enum kernels_form form;
    char folder[CACHE_PATH_BYTES]; /* of the cache; "": nothing is kept */
    pthread_mutex_t primary_lock;  /* one that has ended is not had again before that is known */
} state = {.lock = PTHREAD_MUTEX_INITIALIZER, .once = PTHREAD_ONCE_INIT, .primary_lock = PTHREAD_MUTEX_INITIALIZER};

static void read_settings(void)
{
    const char *slices = getenv(setting_SHIM_SLICES), *workers = getenv(setting_SHIM_WORKERS);
    const char *socket = getenv(setting_SHIM_DAEMON);
    if (socket && *socket)
        state.form = workers && *workers == '1' ? KERNELS_WORKERS
                     : slices && *slices == '1' ? KERNELS_SLICES
                                                : KERNELS_WHOLE;
    const char *folder = getenv(setting_SHIM_CACHE);
    size_t bytes = folder ? strlen(folder) + 1 : 0;
    if (folder && bytes <= sizeof state.folder)
        memcpy(state.folder, folder, bytes);
    else if (folder || !cache_folder_path(state.folder, sizeof state.folder,
                                          state.form == KERNELS_WORKERS ? "/workers" : "/slices"))
        *state.folder = 0;
}

enum kernels_form kernels_form(void)
{
    pthread_once(&state.once, read_settings);
    return state.form;
}

void kernels_forked(void)
{
    (void)pthread_mutex_init(&state.lock, NULL);
    (void)pthread_mutex_init(&state.primary_lock, NULL);
}

/* ---- texts ---- */

static int architecture(void)
{
    int (*device_of)(int *) = (int (*)(int *))below_called(CALLED_cuCtxGetDevice);
    int (*ask)(int *, int, int) = (int (*)(int *, int, int))below_called(CALLED_cuDeviceGetAttribute);
    int device = 0, major = 0, minor = 0;
    if (!device_of || !ask || device_of(&device) != 0 || ask(&major, MAJOR, device) != 0 ||
        ask(&minor, MINOR, device) != 0)
        return 0;
    return 10 * major + minor;
}

/* PTX of what a program loads: text as it is, or the best of a fat binary. NULL: there is none. */
static char *text_of(const void *image)
{
    struct fat_binary binary = {0};
    const struct fat_binary_wrapper *wrapper = image;
    uint32_t magic;
    char *text = NULL;
    memcpy(&magic, image, sizeof magic);
    const void *container = magic == FAT_BINARY_WRAPPER_MAGIC ? wrapper->container : image;
    if (magic != FAT_BINARY_WRAPPER_MAGIC && magic != FAT_BINARY_MAGIC)
        return memcmp(image, "\177ELF", sizeof magic) != 0 ? strdup(image) : NULL;
    if (fat_binary_read(&binary, container, 0, NULL) == CORUN_OK) {
        const struct fat_binary_text *best = fat_binary_best(&binary, (uint32_t)architecture());
        text = best ? strdup(best->text) : NULL;
    }
    fat_binary_free(&binary);
    return text;
}

/* NULL: there is none. */
static void *current_context(void)
{
    int (*current)(void **) = (int (*)(void **))below_called(CALLED_cuCtxGetCurrent);
    void *context = NULL;
    return current && current(&context) == BELOW_OK ? context : NULL;
}

/* Under the lock. */
static void keep(const void *handle, const void *data, bool is_library)
{
    Dl_info where;
    struct image *image = calloc(1, sizeof *image);
    if (!image)
        return;
    image->uses = 1;
    image->handle = handle;
    image->image = data;
    image->is_library = is_library;
    image->home = is_library ? NULL : current_context();
    image->read = dladdr(data, &where) == 0; /* it may be gone when it is needed */
    if (image->read)
        image->text = text_of(data);
    if (!vector_push(&state.images, image)) {
        free(image->text);
        free(image);
    }
}

static void loaded(int error, void *const *handle, const void *data, bool is_library)
{
    if (error != BELOW_OK || !data || !handle || kernels_form() == KERNELS_WHOLE)
        return;
    pthread_mutex_lock(&state.lock);
    keep(*handle, data, is_library);
    pthread_mutex_unlock(&state.lock);
}

static struct image *image_of(const void *handle)
{
    for (size_t i = state.images.count; i-- > 0;)
        if (state.images.data[i]->handle == handle)
            return state.images.data[i];
    return NULL;
}

/* Under the lock. */
static void drop_image(struct image *image)
{
    if (--image->uses)
        return;
    free(image->text);
    free(image->rewritten);
    free(image->lent);
    free(image);
}

/* ---- kernels ---- */

static struct kernel **place_of(const void *handle)
{
    return &state.kernels[(uintptr_t)handle / 16 % PLACES];
}

static struct kernel *find(const void *handle)
{
    struct kernel *kernel = handle ? *place_of(handle) : NULL;
    while (kernel && kernel->handle != handle)
        kernel = kernel->next;
    return kernel;
}

struct kernel *kernel_find(const void *handle)
{
    pthread_mutex_lock(&state.lock);
    struct kernel *kernel = find(handle);
    if (kernel)
        atomic_fetch_add(&kernel->uses, 1);
    pthread_mutex_unlock(&state.lock);
    return kernel;
}

struct kernel *kernel_share(struct kernel *kernel)
{
    if (kernel)
        atomic_fetch_add(&kernel->uses, 1);
    return kernel;
}

struct kernel *kernel_find_made(const void *handle, const void *context, uint32_t block_threads, uint32_t shared_bytes)
{
    pthread_mutex_lock(&state.lock);
    struct kernel *kernel = find(handle);
    if (kernel && kernel->function && !kernel->whole && context && kernel->context == context && kernel->wave &&
        kernel->threads == block_threads && kernel->shared_bytes == shared_bytes)
        atomic_fetch_add(&kernel->uses, 1);
    else
        kernel = NULL;
    pthread_mutex_unlock(&state.lock);
    return kernel;
}

/* Under the lock. Nobody has it. */
static void end_kernel(struct kernel *kernel)
{
    drop_image(kernel->image);
    free(kernel->name);
    free((void *)(uintptr_t)kernel->parameter_bytes);
    free(kernel->copied);
    free(kernel);
}

void kernel_drop(struct kernel *kernel)
{
    if (!kernel || atomic_fetch_sub(&kernel->uses, 1) > 1)
        return;
    pthread_mutex_lock(&state.lock);
    end_kernel(kernel);
    pthread_mutex_unlock(&state.lock);
}

void kernel_took(struct kernel *kernel, uint64_t blocks, uint64_t ns)
{
    uint64_t before = atomic_load(&kernel->block_ps), now = ns * 1000 / (blocks ? blocks : 1);
    atomic_store(&kernel->block_ps, now > before ? now : before - (before - now) / 8);
}

/* Under the lock: what is gone, whose handle is given again. The record goes as well, unless a launch in another thread looks at it. */
static void forget(struct kernel **at)
{
    struct kernel *kernel = *at;
    *at = kernel->next;
    kernel->handle = NULL;
    kernel->function = NULL;
    kernel->whole = true;
    if (atomic_fetch_sub(&kernel->uses, 1) == 1)
        end_kernel(kernel);
}

/* Under the lock. `home`: the context to which the handle belongs; NULL: none. A handle that was another kernel's is given again: that one is gone. */
static void keep_kernel(const void *handle, struct image *image, const char *name, const void *home)
{
    struct kernel **at = place_of(handle);
    while (*at && (*at)->handle != handle)
        at = &(*at)->next;
    if (*at && (*at)->image == image && strcmp((*at)->name, name) == 0)
        return;
    if (*at)
        forget(at);
    struct kernel *kernel = image ? calloc(1, sizeof *kernel) : NULL;
    char *copy = kernel ? strdup(name) : NULL;
    if (!copy) {
        free(kernel);
        return;
    }
    kernel->uses = 1;
    kernel->handle = handle;
    kernel->image = image;
    kernel->home = home;
    kernel->name = copy;
    kernel->next = *place_of(handle);
    *place_of(handle) = kernel;
    image->uses++;
}

static void found(int error, void *const *function, const void *module, const char *name)
{
    if (error != BELOW_OK || !function || !name || kernels_form() == KERNELS_WHOLE)
        return;
    pthread_mutex_lock(&state.lock);
    struct image *image = image_of(module);
    keep_kernel(*function, image, name, image ? image->home : NULL);
    pthread_mutex_unlock(&state.lock);
}

/* Under the lock: the driver has it no more. */
static void forget_image(size_t index)
{
    struct image *image = state.images.data[index];
    for (size_t i = 0; i < PLACES; i++)
        for (struct kernel **at = &state.kernels[i]; *at;)
            if ((*at)->image == image)
                forget(at);
            else
                at = &(*at)->next;
    memmove(&state.images.data[index], &state.images.data[index + 1],
            (state.images.count - index - 1) * sizeof(struct image *));
    state.images.count--;
    image->handle = NULL;
    drop_image(image);
}

/* The rewritten module goes first: what is under way of it uses the variables of the other one. */
static void unloaded(const void *handle)
{
    int (*unload)(void *) = below(LOOKED_AT_cuModuleUnload);
    void *module = NULL;
    pthread_mutex_lock(&state.lock);
    size_t at = state.images.count;
    while (at && (!handle || state.images.data[at - 1]->handle != handle))
        at--;
    if (at) {
        module = state.images.data[at - 1]->module;
        forget_image(at - 1);
    }
    pthread_mutex_unlock(&state.lock);
    if (module) {
        tables_forget_kernels();
        (void)unload(module);
    }
}

/* Handles that belong to the context are gone; of libraries, which belong to none, a driver says so. One that has them in a context ends them with that. */
static bool is_gone(const struct image *image, const void *context)
{
    int (*count)(unsigned *, const void *) =
        (int (*)(unsigned *, const void *))below_called(CALLED_cuLibraryGetKernelCount);
    unsigned kernels;
    if (image->is_library)
        return count && count(&kernels, image->handle) == BELOW_INVALID_HANDLE;
    return !context || image->home == context;
}

/* Under the lock. What was made in the context of others is gone, and is made anew elsewhere. */
static void forget_context(const void *context)
{
    for (size_t i = state.images.count; i-- > 0;) {
        struct image *image = state.images.data[i];
        if (!context || image->context == context) {
            image->module = NULL;
            image->fails = false;
        }
        if (is_gone(image, context))
            forget_image(i);
    }
    for (size_t i = 0; i < PLACES; i++)
        for (struct kernel **at = &state.kernels[i]; *at;) {
            if ((*at)->context == context || !context)
                (*at)->function = NULL;
            if ((*at)->home && (!context || (*at)->home == context))
                forget(at);
            else
                at = &(*at)->next;
        }
}

/* A context is gone, with its modules, its memory and whatever was under way. NULL: it is not known which. */
static void context_ended(const void *context)
{
    pthread_mutex_lock(&state.lock);
    forget_context(context);
    pthread_mutex_unlock(&state.lock);
    streams_changed();
    govern_context_ended(context);
    times_context_ended(context);
    memory_context_ended(context);
}

/* ---- other forms ---- */

static void is_not_used(const char *path, const char *problem)
{
    shim_say("%s in %s are not used: %s", state.form == KERNELS_WORKERS ? "kernels of workers" : "sliced kernels", path,
             problem);
}

/* From its text, or as another process has left it. */
static void rewrite(struct image *image)
{
    bool workers = state.form == KERNELS_WORKERS;
    const struct rewrite_cache cache = {*state.folder ? state.folder : NULL, CACHE_MOST_BYTES, is_not_used};
    bool hit = false;
    if (rewrite_cached(&cache, workers ? "workers" : "slices", workers ? borrow_for_workers : borrow_and_slice,
                       image->text, strlen(image->text), &image->rewritten, &hit) == CORUN_OK)
        trace_line(workers ? "rewritten" : "sliced", hit ? "kept" : "made", "");
}

/* Captures of this thread are relaxed. */
static bool load_beside(struct image *image)
{
    int (*load)(void **, const void *) = below(LOOKED_AT_cuModuleLoadData);
    int (*unload)(void *) = below(LOOKED_AT_cuModuleUnload);
    const struct lender lender = {image->handle, image->is_library};
    if (!image->lent)
        image->lent = calloc(image->rewritten->borrowed_count + (size_t)1, sizeof *image->lent);
    if (!image->lent || load(&image->module, image->rewritten->text) != BELOW_OK) {
        image->module = NULL;
        return false;
    }
    if (variables_lend(image->rewritten, image->module, lender, image->lent))
        return true;
    (void)unload(image->module);
    image->module = NULL;
    return false;
}

static bool load_rewritten(struct image *image, const void *context)
{
    int (*capture_mode)(int *) = (int (*)(int *))below_called(CALLED_cuThreadExchangeStreamCaptureMode);
    int mode = CAPTURE_RELAXED;
    if (image->fails || !capture_mode)
        return false;
    if (!image->read)
        image->text = text_of(image->image);
    image->read = true;
    if (image->text && !image->rewritten)
        rewrite(image);
    image->context = context;
    image->fails = true;
    if (!image->rewritten || capture_mode(&mode) != BELOW_OK)
        return false;
    image->fails = !load_beside(image);
    (void)capture_mode(&mode);
    return !image->fails;
}

/* The driver knows all variables that it needs; those that are copied are noted. */
static bool has_variables(struct kernel *kernel, const struct image *image, const struct cached_kernel *made)
{
    free(kernel->copied);
    kernel->copied_count = 0;
    kernel->copied = calloc(made->borrow_count + (size_t)1, sizeof(const struct lent *));
    for (uint32_t i = 0; kernel->copied && i < made->borrow_count; i++) {
        const struct lent *lent = &image->lent[made->borrows[i]];
        if (!lent->from)
            return false;
        if (lent->to)
            kernel->copied[kernel->copied_count++] = lent;
    }
    return kernel->copied != NULL;
}

static uint32_t wave_of(void *function, uint32_t block_threads, uint32_t shared_bytes, uint32_t *per_sm)
{
    int (*occupancy)(int *, void *, int, size_t) =
        (int (*)(int *, void *, int, size_t))below_called(CALLED_cuOccupancyMaxActiveBlocksPerMultiprocessor);
    int (*device_of)(int *) = (int (*)(int *))below_called(CALLED_cuCtxGetDevice);
    int (*ask)(int *, int, int) = (int (*)(int *, int, int))below_called(CALLED_cuDeviceGetAttribute);
    int blocks = 0, sms = 0, device = 0;
    if (!occupancy || !device_of || !ask || device_of(&device) != 0 || ask(&sms, MULTIPROCESSORS, device) != 0 ||
        occupancy(&blocks, function, (int)block_threads, shared_bytes) != 0)
        return 0;
    *per_sm = (uint32_t)blocks;
    return (uint32_t)(blocks * sms);
}

/* As drivers from CUDA 12.4 on tell; they are the same in every context. */
static void measure_parameters(struct kernel *kernel)
{
    int (*tell)(void *, size_t, size_t *, size_t *) =
        (int (*)(void *, size_t, size_t *, size_t *))below_called(CALLED_cuFuncGetParamInfo);
    uint32_t *all = tell && !kernel->parameter_bytes ? calloc(kernel->parameters + (size_t)1, sizeof *all) : NULL;
    size_t offset, bytes;
    for (uint32_t i = 0; all && i < kernel->parameters; i++) {
        if (tell(kernel->function, i, &offset, &bytes) != BELOW_OK) {
            free(all);
            return;
        }
        all[i] = (uint32_t)bytes;
    }
    if (all)
        kernel->parameter_bytes = all;
}

/* Under the lock. */
static bool make_rewritten(struct kernel *kernel, const void *context)
{
    struct image *image = kernel->image;
    int (*get)(void **, void *, const char *) = below(LOOKED_AT_cuModuleGetFunction);
    if (!image->module && !load_rewritten(image, context))
        return false;
    const struct cached_kernel *made = cached_kernel_find(image->rewritten, kernel->name);
    if (!made || made->refused || (made->only_before_volta && architecture() >= VOLTA) ||
        !has_variables(kernel, image, made) || get(&kernel->function, image->module, kernel->name) != BELOW_OK)
        return false;
    kernel->parameters = made->parameter_index;
    kernel->ranges = made->ranges;
    kernel->context = context;
    kernel->wave = 0;
    measure_parameters(kernel);
    return true;
}

/* Under the lock: thread blocks of another shape than the one before. False: the GPU does not take any. */
static bool measure(struct kernel *kernel, uint32_t block_threads, uint32_t shared_bytes)
{
    int (*set)(void *, int, int) = (int (*)(void *, int, int))below_called(CALLED_cuFuncSetAttribute);
    if (kernel->wave && kernel->threads == block_threads && kernel->shared_bytes == shared_bytes)
        return true;
    if (shared_bytes > SHARED_WITHOUT_ASKING && (!set || set(kernel->function, MOST_DYNAMIC_SHARED, (int)shared_bytes)))
        return false;
    kernel->threads = block_threads;
    kernel->shared_bytes = shared_bytes;
    kernel->wave = wave_of(kernel->function, block_threads, shared_bytes, &kernel->per_sm);
    return kernel->wave != 0;
}

/* Under the lock. The other form of a library is in one context at a time. */
static bool can_be_in(const struct kernel *kernel, const void *context)
{
    return context && !kernel->whole && (!kernel->image->module || kernel->image->context == context);
}

uint32_t kernel_rewritten(struct kernel *kernel, uint32_t block_threads, uint32_t shared_bytes)
{
    const void *context = current_context();
    pthread_mutex_lock(&state.lock);
    bool can = can_be_in(kernel, context);
    if (can && !kernel->function) {
        can = make_rewritten(kernel, context) && measure(kernel, block_threads, shared_bytes);
        if (!can)
            kernel->function = NULL;
        kernel->whole = !can;
        trace_line(state.form == KERNELS_WORKERS ? "workers" : "slice", kernel->name, can ? "" : "whole");
    }
    can = can && kernel->context == context && measure(kernel, block_threads, shared_bytes);
    uint32_t wave = can ? kernel->wave : 0;
    pthread_mutex_unlock(&state.lock);
    return wave;
}

/* ---- what the program calls ---- */

SHIM_EXPORT int cuModuleLoadData(void **module, const void *image);
int cuModuleLoadData(void **module, const void *image)
{
    int (*real)(void **, const void *) = below(LOOKED_AT_cuModuleLoadData);
    int error = real(module, image);
    loaded(error, module, image, false);
    return error;
}

SHIM_EXPORT int cuModuleLoadFatBinary(void **module, const void *image);
int cuModuleLoadFatBinary(void **module, const void *image)
{
    int (*real)(void **, const void *) = below(LOOKED_AT_cuModuleLoadFatBinary);
    int error = real(module, image);
    loaded(error, module, image, false);
    return error;
}

SHIM_EXPORT int cuModuleLoadDataEx(void **module, const void *image, unsigned count, int *options, void **values);
int cuModuleLoadDataEx(void **module, const void *image, unsigned count, int *options, void **values)
{
    int (*real)(void **, const void *, unsigned, int *, void **) = below(LOOKED_AT_cuModuleLoadDataEx);
    int error = real(module, image, count, options, values);
    loaded(error, module, image, false);
    return error;
}

SHIM_EXPORT int cuLibraryLoadData(void **library, const void *image, int *jit_options, void **jit_values,
                                  unsigned jit_count, int *options, void **values, unsigned count);
int cuLibraryLoadData(void **library, const void *image, int *jit_options, void **jit_values, unsigned jit_count,
                      int *options, void **values, unsigned count)
{
    int (*real)(void **, const void *, int *, void **, unsigned, int *, void **, unsigned) =
        below(LOOKED_AT_cuLibraryLoadData);
    int error = real(library, image, jit_options, jit_values, jit_count, options, values, count);
    loaded(error, library, image, true);
    return error;
}

SHIM_EXPORT int cuModuleUnload(void *module);
int cuModuleUnload(void *module)
{
    int (*real)(void *) = below(LOOKED_AT_cuModuleUnload);
    unloaded(module);
    return real(module);
}

SHIM_EXPORT int cuLibraryUnload(void *library);
int cuLibraryUnload(void *library)
{
    int (*real)(void *) = below(LOOKED_AT_cuLibraryUnload);
    unloaded(library);
    return real(library);
}

SHIM_EXPORT int cuModuleGetFunction(void **function, void *module, const char *name);
int cuModuleGetFunction(void **function, void *module, const char *name)
{
    int (*real)(void **, void *, const char *) = below(LOOKED_AT_cuModuleGetFunction);
    int error = real(function, module, name);
    found(error, function, module, name);
    return error;
}

SHIM_EXPORT int cuLibraryGetKernel(void **kernel, void *library, const char *name);
int cuLibraryGetKernel(void **kernel, void *library, const char *name)
{
    int (*real)(void **, void *, const char *) = below(LOOKED_AT_cuLibraryGetKernel);
    int error = real(kernel, library, name);
    found(error, kernel, library, name);
    return error;
}

/* All that there are of a module or a library: with their names, where the driver tells them. Handles are given again, also where it does not. */
static void enumerated(int error, void *const *functions, unsigned most, const void *module, bool is_library)
{
    int (*count)(unsigned *, const void *) = (int (*)(unsigned *, const void *))below_called(
        is_library ? CALLED_cuLibraryGetKernelCount : CALLED_cuModuleGetFunctionCount);
    int (*ask)(const char **, const void *) =
        (int (*)(const char **, const void *))below_called(is_library ? CALLED_cuKernelGetName : CALLED_cuFuncGetName);
    unsigned there = 0;
    if (error != BELOW_OK || !functions || !count || count(&there, module) != BELOW_OK)
        return;
    for (unsigned i = 0; i < there && i < most; i++) {
        const char *name = "";
        bool known = ask && ask(&name, functions[i]) == BELOW_OK && name;
        found(BELOW_OK, &functions[i], known ? module : NULL, known ? name : "");
    }
}

SHIM_EXPORT int cuModuleEnumerateFunctions(void **functions, unsigned count, void *module);
int cuModuleEnumerateFunctions(void **functions, unsigned count, void *module)
{
    int (*real)(void **, unsigned, void *) = below(LOOKED_AT_cuModuleEnumerateFunctions);
    int error = real(functions, count, module);
    enumerated(error, functions, count, module, false);
    return error;
}

SHIM_EXPORT int cuLibraryEnumerateKernels(void **kernels, unsigned count, void *library);
int cuLibraryEnumerateKernels(void **kernels, unsigned count, void *library)
{
    int (*real)(void **, unsigned, void *) = below(LOOKED_AT_cuLibraryEnumerateKernels);
    int error = real(kernels, count, library);
    enumerated(error, kernels, count, library, true);
    return error;
}

SHIM_EXPORT int cuKernelGetFunction(void **function, void *kernel);
int cuKernelGetFunction(void **function, void *kernel)
{
    int (*real)(void **, void *) = below(LOOKED_AT_cuKernelGetFunction);
    int error = real(function, kernel);
    pthread_mutex_lock(&state.lock);
    const struct kernel *of = error == BELOW_OK && function ? find(kernel) : NULL;
    if (of)
        keep_kernel(*function, of->image, of->name, current_context());
    pthread_mutex_unlock(&state.lock);
    return error;
}

#define ENDS_CONTEXT(symbol) \
    SHIM_EXPORT int symbol(void *context); \
    int symbol(void *context) \
    { \
        int (*real)(void *) = below(LOOKED_AT_##symbol); \
        tables_context_leaves(context); \
        int error = real(context); \
        tables_context_left(context, error == BELOW_OK); \
        if (error == BELOW_OK) \
            context_ended(context); \
        return error; \
    }
ENDS_CONTEXT(cuCtxDestroy)
ENDS_CONTEXT(cuCtxDestroy_v2)

/* Waits while one is ending. */
SHIM_EXPORT int cuDevicePrimaryCtxRetain(void **context, int device);
int cuDevicePrimaryCtxRetain(void **context, int device)
{
    int (*real)(void **, int) = below(LOOKED_AT_cuDevicePrimaryCtxRetain);
    pthread_mutex_lock(&state.primary_lock);
    int error = real(context, device);
    pthread_mutex_unlock(&state.primary_lock);
    return error;
}

/* Whoever gives it back may not be the last one who has it. */
static bool primary_is_there(int device)
{
    int (*ask)(int, unsigned *, int *) =
        (int (*)(int, unsigned *, int *))below_called(CALLED_cuDevicePrimaryCtxGetState);
    unsigned flags;
    int active = 0;
    return ask && ask(device, &flags, &active) == BELOW_OK && active;
}

/* The device's own context; it may be another one each time that it is made. NULL: it is not known. */
static const void *primary_of(int device)
{
    int (*retain)(void **, int) = below(LOOKED_AT_cuDevicePrimaryCtxRetain);
    int (*release)(int) = (int (*)(int))below_called(CALLED_cuDevicePrimaryCtxRelease_v2);
    void *context = NULL;
    if (!release || !primary_is_there(device) || retain(&context, device) != BELOW_OK)
        return NULL;
    (void)release(device);
    return context;
}

static int end_primary(int (*real)(int), int device, bool may_stay)
{
    pthread_mutex_lock(&state.primary_lock);
    const void *context = primary_of(device);
    tables_context_leaves(context);
    int error = real(device);
    bool gone = error == BELOW_OK && !(may_stay && primary_is_there(device));
    tables_context_left(context, gone);
    if (gone)
        context_ended(context);
    pthread_mutex_unlock(&state.primary_lock);
    return error;
}

#define ENDS_PRIMARY(symbol, may_stay) \
    SHIM_EXPORT int symbol(int device); \
    int symbol(int device) \
    { \
        return end_primary(below(LOOKED_AT_##symbol), device, may_stay); \
    }
ENDS_PRIMARY(cuDevicePrimaryCtxReset, false)
ENDS_PRIMARY(cuDevicePrimaryCtxReset_v2, false)
ENDS_PRIMARY(cuDevicePrimaryCtxRelease, true)
ENDS_PRIMARY(cuDevicePrimaryCtxRelease_v2, true)
