/* SPDX-License-Identifier: MIT */
/* Batches of copies: many in one call. A batch is asked for as a whole, or not at all. */
#include "cuda/abi.h"
#include "cuda/api.h"
#include "cuda/array.h"
#include "cuda/call.h"
#include "cuda/context.h"
#include "cuda/copy.h"
#include "cuda/process.h"
#include "cuda/runtime_api.h"
#include "cuda/stream.h"

#include <stdlib.h>

/* cudaMemcpySrcAccessOrder: when the source is read */
enum { READ_IN_STREAM = 1, READ_DURING_CALL, READ_ANY_TIME };

/* cudaMemcpyAttributes */
struct abi_copy_attributes {
    int order;
    struct abi_location from, to; /* hints: memory is where it is asked for */
    unsigned flags;
};

/* cudaMemcpy3DOperand */
struct abi_copy_operand {
    int type;
    union {
        struct {
            void *address;
            size_t row_elements, layer_rows; /* 0: as the copy is */
            struct abi_location hint;
        } pointer;
        struct {
            void *array;
            struct abi_position position;
        } array;
    } of;
};
enum { OPERAND_POINTER = 1, OPERAND_ARRAY };

/* cudaMemcpy3DBatchOp */
struct abi_batch_copy {
    struct abi_copy_operand from, to;
    struct abi_extent extent; /* in elements */
    int order;
    unsigned flags;
};

static bool known_order(int order)
{
    return order >= READ_IN_STREAM && order <= READ_ANY_TIME;
}

/* The stream of a batch, which the null stream of all threads cannot be. */
static int stream_of_batch(struct call *call, void *handle)
{
    struct stream *stream;
    int error = stream_of_handle(call, handle, &stream);
    return error == CUDA_SUCCESS && stream == call->context->legacy ? CUDA_ERROR_INVALID_VALUE : error;
}

/* The copies are good: all of them go into the stream. */
static int ask(struct call *call, struct copy *copies, size_t count, void *stream)
{
    int error = CUDA_SUCCESS;
    for (size_t i = 0; i < count && error == CUDA_SUCCESS; i++)
        error = api_copy(call, &copies[i], stream, false);
    return error;
}

static int plain_copy(struct call *call, void *to, const void *from, size_t bytes, int order, struct copy *copy)
{
    *copy = (struct copy){.width_bytes = bytes, .height = 1, .depth = 1};
    if (!known_order(order) || !to || !from || !bytes)
        return CUDA_ERROR_INVALID_VALUE;
    int error = api_copy_sides(call, (uint64_t)(uintptr_t)to, (uint64_t)(uintptr_t)from, COPY_DEFAULT, copy);
    copy->from.pitch = copy->from.slice_bytes = copy->to.pitch = copy->to.slice_bytes = bytes;
    copy->read_in_stream = order == READ_IN_STREAM;
    return error == CUDA_SUCCESS ? copy_prepare(copy) : error;
}

/* Attributes hold from the copy on that their index names: ascending, from 0. */
static bool indices_good(const size_t *indices, size_t indices_count, size_t count)
{
    bool good = indices && indices_count && indices_count <= count && !indices[0] && indices[indices_count - 1] < count;
    for (size_t i = 1; good && i < indices_count; i++)
        good = indices[i - 1] < indices[i];
    return good;
}

static int copy_batch(void *const *to, const void *const *from, const size_t *bytes, size_t count,
                      const struct abi_copy_attributes *attributes, const size_t *indices, size_t attribute_count,
                      size_t *failed, void *stream)
{
    struct call call;
    if (failed)
        *failed = SIZE_MAX;
    if (!runtime_begin(&call))
        return runtime_end(&call);
    struct copy *copies = NULL;
    if (!to || !from || !bytes || !attributes || !indices_good(indices, attribute_count, count))
        call.error = CUDA_ERROR_INVALID_VALUE;
    else if (!(copies = calloc(count, sizeof *copies)))
        call.error = CUDA_ERROR_OUT_OF_MEMORY;
    else
        call.error = stream_of_batch(&call, stream);
    for (size_t i = 0, which = 0; i < count && call.error == CUDA_SUCCESS; i++) {
        which += which + 1 < attribute_count && indices[which + 1] == i;
        call.error = plain_copy(&call, to[i], from[i], bytes[i], attributes[which].order, &copies[i]);
        if (call.error != CUDA_SUCCESS && failed)
            *failed = i;
    }
    if (call.error == CUDA_SUCCESS)
        call.error = ask(&call, copies, count, stream);
    free(copies);
    return runtime_end(&call);
}

ENTRY(int, cudaMemcpyBatchAsync, void *const *to, const void *const *from, const size_t *bytes, size_t count,
      const struct abi_copy_attributes *attributes, const size_t *indices, size_t attribute_count, size_t *failed,
      void *stream)
{
    return copy_batch(to, from, bytes, count, attributes, indices, attribute_count, failed, stream);
}

ENTRY(int, cudaMemcpyBatchAsync_v2, void *const *to, const void *const *from, const size_t *bytes, size_t count,
      const struct abi_copy_attributes *attributes, const size_t *indices, size_t attribute_count, void *stream)
{
    return copy_batch(to, from, bytes, count, attributes, indices, attribute_count, NULL, stream);
}

static int operand_side(struct call *call, const struct abi_copy_operand *operand, const struct abi_extent *extent,
                        size_t element_bytes, struct copy_side *side)
{
    if (operand->type == OPERAND_ARRAY) {
        const struct array *array = array_find(call->process, operand->of.array.array);
        const struct abi_position *at = &operand->of.array.position;
        if (!array)
            return CUDA_ERROR_INVALID_HANDLE;
        return array->element_bytes == element_bytes ? array_part(array, *at, *extent, side) : CUDA_ERROR_INVALID_VALUE;
    }
    size_t row = operand->of.pointer.row_elements, rows = operand->of.pointer.layer_rows;
    if (operand->type != OPERAND_POINTER || !operand->of.pointer.address || (row && row < extent->width) ||
        (rows && rows < extent->height))
        return CUDA_ERROR_INVALID_VALUE;
    int error = copy_resolve(call->process, (uint64_t)(uintptr_t)operand->of.pointer.address, false, side);
    side->pitch = (row ? row : extent->width) * element_bytes;
    side->slice_bytes = side->pitch * (rows ? rows : extent->height);
    return error;
}

/* Elements are bytes where no array takes part. */
static int box_copy(struct call *call, const struct abi_batch_copy *from, struct copy *copy)
{
    const struct abi_copy_operand *operand = from->to.type == OPERAND_ARRAY ? &from->to : &from->from;
    const struct array *array =
        operand->type == OPERAND_ARRAY ? array_find(call->process, operand->of.array.array) : NULL;
    size_t element_bytes = array ? array->element_bytes : 1;
    *copy = (struct copy){.width_bytes = from->extent.width * element_bytes,
                          .height = from->extent.height,
                          .depth = from->extent.depth,
                          .read_in_stream = from->order == READ_IN_STREAM};
    if (!known_order(from->order) || !copy_bytes(copy))
        return CUDA_ERROR_INVALID_VALUE;
    int error = operand_side(call, &from->to, &from->extent, element_bytes, &copy->to);
    if (error == CUDA_SUCCESS)
        error = operand_side(call, &from->from, &from->extent, element_bytes, &copy->from);
    return error == CUDA_SUCCESS ? copy_prepare(copy) : error;
}

static int copy_box_batch(size_t count, const struct abi_batch_copy *batch, size_t *failed, uint64_t flags,
                          void *stream)
{
    struct call call;
    if (failed)
        *failed = SIZE_MAX;
    if (!runtime_begin(&call))
        return runtime_end(&call);
    struct copy *copies = NULL;
    if (!count || !batch || flags)
        call.error = CUDA_ERROR_INVALID_VALUE;
    else if (!(copies = calloc(count, sizeof *copies)))
        call.error = CUDA_ERROR_OUT_OF_MEMORY;
    else
        call.error = stream_of_batch(&call, stream);
    for (size_t i = 0; i < count && call.error == CUDA_SUCCESS; i++) {
        call.error = box_copy(&call, &batch[i], &copies[i]);
        if (call.error != CUDA_SUCCESS && failed)
            *failed = i;
    }
    if (call.error == CUDA_SUCCESS)
        call.error = ask(&call, copies, count, stream);
    free(copies);
    return runtime_end(&call);
}

ENTRY(int, cudaMemcpy3DBatchAsync, size_t count, const struct abi_batch_copy *batch, size_t *failed, uint64_t flags,
      void *stream)
{
    return copy_box_batch(count, batch, failed, flags, stream);
}

ENTRY(int, cudaMemcpy3DBatchAsync_v2, size_t count, const struct abi_batch_copy *batch, uint64_t flags, void *stream)
{
    return copy_box_batch(count, batch, NULL, flags, stream);
}
