/* SPDX-License-Identifier: MIT */
/* Errors of the runtime API: their names, the last one, and calls of what is not there. */
#include "cuda/abi.h"
#include "cuda/console.h"
#include "cuda/entry.h"
#include "cuda/errors.h"
#include "cuda/pointer_map.h"
#include "cuda/process.h"
#include "cuda/runtime_api.h"

#include <string.h>

ENTRY(const char *, cudaGetErrorName, int error)
{
    const struct error_row *row = error_find(error);
    return row ? row->runtime_name : "unrecognized error code";
}

ENTRY(const char *, cudaGetErrorString, int error)
{
    const struct error_row *row = error_find(error);
    return row ? row->text : "unrecognized error code";
}

/* What a call of this thread has given. An error of the context stays; the next call that needs the context gives it again. */
static int last_error(bool clear)
{
    struct thread_state *thread = thread_get();
    int error = thread->last_error;
    if (clear)
        thread->last_error = CUDA_SUCCESS;
    return error;
}

ENTRY(int, cudaGetLastError, void)
{
    return last_error(true);
}

ENTRY(int, cudaPeekAtLastError, void)
{
    return last_error(false);
}

/* What is not there says so, once for each name. */
ENTRY(int, absent, const char *name)
{
    struct process *process = process_get();
    pthread_mutex_lock(&process->lock);
    if (!pointer_map_get(&process->complained, name)) {
        (void)pointer_map_set(&process->complained, name, (void *)(uintptr_t)name);
        say("not supported: %s", name);
    }
    pthread_mutex_unlock(&process->lock);
    corun_per_thread = false;
    if (!strncmp(name, "cuda", 4))
        thread_get()->last_error = CUDA_ERROR_NOT_SUPPORTED;
    return CUDA_ERROR_NOT_SUPPORTED;
}
