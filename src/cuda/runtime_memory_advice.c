/* SPDX-License-Identifier: MIT */
/*
 * Advice on managed memory, and prefetching it: memory is where it is asked for, so nothing has to be moved; what was
 * said is kept, because programs can ask for it.
 */
#include "cuda/abi.h"
#include "cuda/call.h"
#include "cuda/device.h"
#include "cuda/process.h"
#include "cuda/ranges.h"
#include "cuda/runtime_api.h"
#include "cuda/stream.h"

/* CUmem_advise */
enum {
    SET_READ_MOSTLY = 1,
    UNSET_READ_MOSTLY,
    SET_PREFERRED,
    UNSET_PREFERRED,
    SET_ACCESSED_BY,
    UNSET_ACCESSED_BY,
};
enum { OLD_HOST = -1, OLD_NOWHERE = -2 };

/* Locations are given in one number of 64 bits: the kind, and above it the device. */
static struct abi_location location_of(uint64_t value)
{
    return (struct abi_location){(int)(uint32_t)value, (int)(uint32_t)(value >> 32)};
}

static struct abi_location old_location(int device)
{
    return device == OLD_HOST ? (struct abi_location){LOCATION_HOST, 0}
                              : (struct abi_location){LOCATION_DEVICE, device};
}

static bool known_location(struct process *process, struct abi_location location)
{
    if (location.kind == LOCATION_DEVICE)
        return process_device(process, location.id) != NULL;
    return location.kind >= LOCATION_HOST && location.kind <= LOCATION_HOST_NEAREST;
}

/* As it is kept: 0 nowhere, 1 the host, 2 and more a device. */
static uint8_t packed(struct abi_location location)
{
    return (uint8_t)(location.kind == LOCATION_DEVICE ? location.id + 2 : 1);
}

/* The managed range that holds all of [pointer, pointer + bytes); NULL if there is none. */
static struct range *managed_range(struct process *process, const void *pointer, size_t bytes)
{
    uint64_t address = (uint64_t)(uintptr_t)pointer;
    struct range *range = (struct range *)(uintptr_t)ranges_find(process, address);
    bool holds = range && range->kind == RANGE_MANAGED && bytes <= range->bytes - (address - range->address);
    return holds ? range : NULL;
}

/* The same; NULL with the call's error if there is none. */
static struct range *begin(struct call *call, const void *pointer, size_t bytes)
{
    if (!runtime_begin(call))
        return NULL;
    struct range *range = managed_range(call->process, pointer, bytes);
    if (!range)
        call->error = CUDA_ERROR_INVALID_VALUE;
    return range;
}

static int advise(const void *pointer, size_t bytes, int advice, struct abi_location location)
{
    struct call call;
    struct range *range = begin(&call, pointer, bytes);
    bool needs_location = advice >= SET_PREFERRED && advice != UNSET_PREFERRED;
    if (range && (advice < SET_READ_MOSTLY || advice > UNSET_ACCESSED_BY)) {
        call.error = CUDA_ERROR_INVALID_VALUE;
    } else if (range && needs_location && !known_location(call.process, location)) {
        call.error = CUDA_ERROR_INVALID_DEVICE;
    } else if (range) {
        uint32_t bit = 1u << packed(location);
        if (advice == SET_READ_MOSTLY || advice == UNSET_READ_MOSTLY)
            range->advice.read_mostly = advice == SET_READ_MOSTLY;
        else if (advice == SET_PREFERRED || advice == UNSET_PREFERRED)
            range->advice.preferred = advice == SET_PREFERRED ? packed(location) : 0;
        else if (advice == SET_ACCESSED_BY)
            range->advice.accessed_by |= bit;
        else
            range->advice.accessed_by &= ~bit;
    }
    return runtime_end(&call);
}

ENTRY(int, cudaMemAdvise, const void *pointer, size_t bytes, int advice, int device)
{
    return advise(pointer, bytes, advice, old_location(device));
}

ENTRY(int, cudaMemAdvise_v2, const void *pointer, size_t bytes, int advice, uint64_t location)
{
    return advise(pointer, bytes, advice, location_of(location));
}

static int prefetch(const void *pointer, size_t bytes, struct abi_location location, void *handle)
{
    struct call call;
    struct range *range = begin(&call, pointer, bytes);
    struct stream *stream;
    if (range && !known_location(call.process, location))
        call.error = CUDA_ERROR_INVALID_DEVICE;
    else if (range)
        call.error = stream_of_handle(&call, handle, &stream);
    if (range && call.error == CUDA_SUCCESS)
        range->advice.prefetched = packed(location);
    return runtime_end(&call);
}

ENTRY(int, cudaMemPrefetchAsync, const void *pointer, size_t bytes, int device, void *stream)
{
    return prefetch(pointer, bytes, old_location(device), stream);
}

ENTRY(int, cudaMemPrefetchAsync_v2, const void *pointer, size_t bytes, uint64_t location, unsigned flags, void *stream)
{
    (void)flags;
    return prefetch(pointer, bytes, location_of(location), stream);
}

/* Locations hold from the piece on that their index names: ascending, from 0. */
static bool locations_good(struct process *process, const struct abi_location *locations, const size_t *indices,
                           size_t location_count, size_t count)
{
    bool good = locations && indices && location_count && location_count <= count && !indices[0] &&
                indices[location_count - 1] < count;
    for (size_t i = 0; good && i < location_count; i++)
        good = known_location(process, locations[i]) && (!i || indices[i - 1] < indices[i]);
    return good;
}

/* Pieces of managed memory are moved to locations (NULL: stay), or not one of them. */
static int advise_batch(void *const *pointers, const size_t *bytes, size_t count, const struct abi_location *locations,
                        const size_t *indices, size_t location_count, uint64_t flags, void *handle)
{
    struct call call;
    struct stream *stream;
    if (!runtime_begin(&call))
        return runtime_end(&call);
    if (!pointers || !bytes || !count || flags ||
        (locations && !locations_good(call.process, locations, indices, location_count, count)))
        call.error = CUDA_ERROR_INVALID_VALUE;
    else
        call.error = stream_of_handle(&call, handle, &stream);
    for (size_t i = 0; i < count && call.error == CUDA_SUCCESS; i++)
        if (!bytes[i] || !managed_range(call.process, pointers[i], bytes[i]))
            call.error = CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0, which = 0; locations && i < count && call.error == CUDA_SUCCESS; i++) {
        which += which + 1 < location_count && indices[which + 1] == i;
        managed_range(call.process, pointers[i], bytes[i])->advice.prefetched = packed(locations[which]);
    }
    return runtime_end(&call);
}

static int prefetch_batch(void *const *pointers, const size_t *bytes, size_t count,
                          const struct abi_location *locations, const size_t *indices, size_t location_count,
                          uint64_t flags, void *stream)
{
    static const struct abi_location nowhere; /* a location is wanted, and refused if there is none */
    return advise_batch(pointers, bytes, count, locations ? locations : &nowhere, indices, location_count, flags,
                        stream);
}

ENTRY(int, cudaMemPrefetchBatchAsync, void *const *pointers, const size_t *bytes, size_t count,
      const struct abi_location *locations, const size_t *indices, size_t location_count, uint64_t flags, void *stream)
{
    return prefetch_batch(pointers, bytes, count, locations, indices, location_count, flags, stream);
}

/* What was in discarded memory may be anything: here it stays. */
ENTRY(int, cudaMemDiscardBatchAsync, void *const *pointers, const size_t *bytes, size_t count, uint64_t flags,
      void *stream)
{
    return advise_batch(pointers, bytes, count, NULL, NULL, 0, flags, stream);
}

ENTRY(int, cudaMemDiscardAndPrefetchBatchAsync, void *const *pointers, const size_t *bytes, size_t count,
      const struct abi_location *locations, const size_t *indices, size_t location_count, uint64_t flags, void *stream)
{
    return prefetch_batch(pointers, bytes, count, locations, indices, location_count, flags, stream);
}

ENTRY(int, cudaStreamAttachMemAsync, void *handle, void *pointer, size_t bytes, unsigned flags)
{
    struct call call;
    struct stream *stream;
    if (begin(&call, pointer, bytes))
        call.error = flags == 1 || flags == 2 || flags == 4 ? stream_of_handle(&call, handle, &stream)
                                                            : CUDA_ERROR_INVALID_VALUE;
    return runtime_end(&call);
}

/* CUmem_range_attribute */
enum {
    RANGE_READ_MOSTLY = 1,
    RANGE_PREFERRED,
    RANGE_ACCESSED_BY,
    RANGE_PREFETCHED,
    RANGE_PREFERRED_KIND,
    RANGE_PREFERRED_ID,
    RANGE_PREFETCHED_KIND,
    RANGE_PREFETCHED_ID,
};

static int old_number(uint8_t place)
{
    return place == 0 ? OLD_NOWHERE : place == 1 ? OLD_HOST : place - 2;
}

static int kind_of(uint8_t place)
{
    return place == 0 ? LOCATION_NOWHERE : place == 1 ? LOCATION_HOST : LOCATION_DEVICE;
}

static int attribute(const struct range *range, int which, size_t bytes, void *data)
{
    int *out = data, value;
    size_t room = bytes / sizeof *out, used = 0;
    switch (which) {
    case RANGE_READ_MOSTLY:
        value = range->advice.read_mostly;
        break;
    case RANGE_PREFERRED:
        value = old_number(range->advice.preferred);
        break;
    case RANGE_PREFETCHED:
        value = old_number(range->advice.prefetched);
        break;
    case RANGE_PREFERRED_KIND:
        value = kind_of(range->advice.preferred);
        break;
    case RANGE_PREFETCHED_KIND:
        value = kind_of(range->advice.prefetched);
        break;
    case RANGE_PREFERRED_ID:
        value = range->advice.preferred > 1 ? range->advice.preferred - 2 : 0;
        break;
    case RANGE_PREFETCHED_ID:
        value = range->advice.prefetched > 1 ? range->advice.prefetched - 2 : 0;
        break;
    case RANGE_ACCESSED_BY:
        if (!room || bytes % sizeof *out)
            return CUDA_ERROR_INVALID_VALUE;
        for (uint8_t place = 1; place < MAX_DEVICES + 2 && used < room; place++)
            if (range->advice.accessed_by >> place & 1u)
                out[used++] = old_number(place);
        while (used < room)
            out[used++] = OLD_NOWHERE;
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (bytes != sizeof value)
        return CUDA_ERROR_INVALID_VALUE;
    *out = value;
    return CUDA_SUCCESS;
}

ENTRY(int, cudaMemRangeGetAttribute, void *data, size_t bytes, int which, const void *pointer, size_t count)
{
    struct call call;
    const struct range *range = begin(&call, pointer, count);
    if (range)
        call.error = data ? attribute(range, which, bytes, data) : CUDA_ERROR_INVALID_VALUE;
    return runtime_end(&call);
}

ENTRY(int, cudaMemRangeGetAttributes, void **data, const size_t *bytes, const int *which, size_t attributes,
      const void *pointer, size_t count)
{
    struct call call;
    const struct range *range = begin(&call, pointer, count);
    if (range && (!data || !bytes || !which || !attributes))
        call.error = CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; range && i < attributes && call.error == CUDA_SUCCESS; i++)
        call.error = data[i] ? attribute(range, which[i], bytes[i], data[i]) : CUDA_ERROR_INVALID_VALUE;
    return runtime_end(&call);
}
