/* SPDX-License-Identifier: MIT */
/* User objects of the runtime and the driver API, and the references that graphs have to them. */
#include "cuda/abi.h"
#include "cuda/call.h"
#include "cuda/graph.h"
#include "cuda/process.h"
#include "cuda/runtime_api.h"
#include "cuda/user_object.h"

#include <limits.h>

enum { NO_DESTRUCTOR_SYNC = 1, MOVE = 1 };

ENTRY(int, cudaUserObjectCreate, void **result, void *value, void (*destroy)(void *), unsigned references,
      unsigned flags)
{
    struct call call;
    if (runtime_begin(&call)) {
        if (!result || !destroy || !references || references > INT_MAX || flags != NO_DESTRUCTOR_SYNC)
            call.error = CUDA_ERROR_INVALID_VALUE;
        else if (!(*result = user_object_create(call.process, value, destroy, references)))
            call.error = CUDA_ERROR_OUT_OF_MEMORY;
    }
    return runtime_end(&call);
}

/* NULL: the call has failed. */
static struct user_object *begin(struct call *call, void *handle, unsigned count)
{
    if (!runtime_begin(call))
        return NULL;
    struct user_object *object = object_find(call->process, handle, OBJECT_USER);
    if (!object || !count || count > INT_MAX)
        call->error = CUDA_ERROR_INVALID_VALUE;
    return call->error == CUDA_SUCCESS ? object : NULL;
}

ENTRY(int, cudaUserObjectRetain, void *handle, unsigned count)
{
    struct call call;
    struct user_object *object = begin(&call, handle, count);
    if (object)
        object->references += count;
    return runtime_end(&call);
}

/* References that graphs have are not the program's to give up, but nobody counts them apart. */
ENTRY(int, cudaUserObjectRelease, void *handle, unsigned count)
{
    struct call call;
    struct user_object *object = begin(&call, handle, count);
    if (object && count <= object->references)
        user_object_release(call.process, object, count);
    else if (object)
        call.error = CUDA_ERROR_INVALID_VALUE;
    return runtime_end(&call);
}

ENTRY(int, cudaGraphRetainUserObject, void *handle, void *value, unsigned count, unsigned flags)
{
    struct call call;
    struct user_object *object = begin(&call, value, count);
    struct graph *graph = object ? graph_find(call.process, handle, OBJECT_GRAPH) : NULL;
    if (object && (!graph || flags > MOVE || (flags == MOVE && count > object->references)))
        call.error = CUDA_ERROR_INVALID_VALUE;
    else if (object && !user_references_add(&graph->users, object, count))
        call.error = CUDA_ERROR_OUT_OF_MEMORY;
    else if (object && flags == MOVE)
        user_object_release(call.process, object, count);
    return runtime_end(&call);
}

ENTRY(int, cudaGraphReleaseUserObject, void *handle, void *value, unsigned count)
{
    struct call call;
    struct user_object *object = begin(&call, value, count);
    struct graph *graph = object ? graph_find(call.process, handle, OBJECT_GRAPH) : NULL;
    if (object && (!graph || !user_references_give_up(call.process, &graph->users, object, count)))
        call.error = CUDA_ERROR_INVALID_VALUE;
    return runtime_end(&call);
}
