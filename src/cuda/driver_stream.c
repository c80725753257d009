/* SPDX-License-Identifier: MIT */
/* Streams of the driver API: their contexts, and waiting for values in memory. */
#include "cuda/abi.h"
#include "cuda/call.h"
#include "cuda/driver_api.h"
#include "cuda/stream.h"
#include "cuda/stream_value.h"
#include "cuda/task.h"

/* `asked`: there is a place for what has to be told; of the other place, NULL is none. */
static int tell_contexts(void *handle, bool asked, void **context, void **green)
{
    struct call call;
    if (driver_begin(&call)) {
        struct stream *stream;
        call.error = asked ? stream_of_handle(&call, handle, &stream) : CUDA_ERROR_INVALID_VALUE;
        if (call.error == CUDA_SUCCESS && context)
            *context = stream->context;
        if (call.error == CUDA_SUCCESS && green)
            *green = stream->green;
    }
    return call_end(&call);
}

ENTRY(int, cuStreamGetCtx, void *handle, void **context)
{
    return tell_contexts(handle, context != NULL, context, NULL);
}

ENTRY(int, cuStreamGetGreenCtx, void *handle, void **green)
{
    return tell_contexts(handle, green != NULL, NULL, green);
}

ENTRY(int, cuStreamGetCtx_v2, void *handle, void **context, void **green)
{
    return tell_contexts(handle, context != NULL, context, green);
}

/* CUstreamBatchMemOpType */
enum {
    OPERATION_WAIT_32 = 1,
    OPERATION_WRITE_32 = 2,
    OPERATION_FLUSH = 3,
    OPERATION_WAIT_64 = 4,
    OPERATION_WRITE_64 = 5
};
enum { OPERATION_BARRIER = 6, MOST_OPERATIONS = 256 };

struct abi_stream_operation {
    int operation;
    uint64_t address, value; /* of 32 bits or 64 */
    unsigned flags;
    uint64_t alias, reserved;
};

static int one(void *stream, enum task_kind kind, uint64_t address, uint64_t value, uint32_t bytes, unsigned flags)
{
    struct call call;
    if (driver_begin(&call))
        call.error = stream_value_ask(&call, stream, kind, address, value, bytes, flags);
    return call_end(&call);
}

ENTRY(int, cuStreamWaitValue32, void *stream, uint64_t address, uint32_t value, unsigned flags)
{
    return one(stream, TASK_WAIT_VALUE, address, value, 4, flags);
}

ENTRY(int, cuStreamWaitValue64, void *stream, uint64_t address, uint64_t value, unsigned flags)
{
    return one(stream, TASK_WAIT_VALUE, address, value, 8, flags);
}

ENTRY(int, cuStreamWriteValue32, void *stream, uint64_t address, uint32_t value, unsigned flags)
{
    return one(stream, TASK_WRITE_VALUE, address, value, 4, flags);
}

ENTRY(int, cuStreamWriteValue64, void *stream, uint64_t address, uint64_t value, unsigned flags)
{
    return one(stream, TASK_WRITE_VALUE, address, value, 8, flags);
}

static int operate(struct call *call, void *stream, const struct abi_stream_operation *operation)
{
    bool wide = operation->operation == OPERATION_WAIT_64 || operation->operation == OPERATION_WRITE_64;
    switch (operation->operation) {
    case OPERATION_WAIT_32:
    case OPERATION_WAIT_64:
        return stream_value_ask(call, stream, TASK_WAIT_VALUE, operation->address, operation->value, wide ? 8 : 4,
                                operation->flags);
    case OPERATION_WRITE_32:
    case OPERATION_WRITE_64:
        return stream_value_ask(call, stream, TASK_WRITE_VALUE, operation->address, operation->value, wide ? 8 : 4,
                                operation->flags);
    case OPERATION_FLUSH: /* writes are seen when they are done */
    case OPERATION_BARRIER:
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

ENTRY(int, cuStreamBatchMemOp, void *stream, unsigned count, const struct abi_stream_operation *operations,
      unsigned flags)
{
    struct call call;
    if (driver_begin(&call)) {
        if (!operations || count > MOST_OPERATIONS || flags)
            call.error = CUDA_ERROR_INVALID_VALUE;
        for (unsigned i = 0; i < count && call.error == CUDA_SUCCESS; i++)
            call.error = operate(&call, stream, &operations[i]);
    }
    return call_end(&call);
}
