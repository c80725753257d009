/* SPDX-License-Identifier: MIT */
/* Copies and fills: whose memory both sides are, and moving the bytes. When they happen: task.h, engine.h. */
#ifndef CORUN_CUDA_COPY_H
#define CORUN_CUDA_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct context;
struct process;

enum copy_engine { ENGINE_TO_DEVICE, ENGINE_TO_HOST, ENGINE_WITHIN };

/* One side of a copy: rows of `width_bytes` every `pitch` bytes, `height` rows every `slice_bytes` bytes. */
struct copy_side {
    uint64_t address;
    uint8_t *host;           /* NULL: `address` is of the device */
    struct context *context; /* whose memory it is; NULL: the host's */
    size_t pitch, slice_bytes;
    bool pinned;
};

struct copy {
    struct copy_side from, to;
    size_t width_bytes, height, depth;
    enum copy_engine engine;
    bool pageable;
    bool read_in_stream; /* pageable memory is read when the stream comes to the copy, not when that is asked for */
    uint8_t *staged;     /* pageable memory as it was when the copy was asked for */
};

struct fill {
    uint64_t address;
    uint8_t *host;
    struct context *context; /* in whose memory it lies, which need not be that of the stream */
    size_t pitch, slice_bytes, width_bytes, height, depth;
    uint32_t value, element_bytes;
};

/* Who a pointer belongs to; what nobody has allocated is the host's, unless the device's is expected. */
int copy_resolve(struct process *process, uint64_t address, bool device_expected, struct copy_side *side);
/* Checks a copy and completes it: engine, pageable. */
int copy_prepare(struct copy *copy);
/* Keeps what pageable memory holds now. */
int copy_stage(struct copy *copy);
/* Is there memory of the host? */
bool host_has_mapped(const void *host, uint64_t bytes);
/* Moves the bytes. */
int copy_perform(const struct copy *copy);
/* Every row of one side, in the order in which they lie; none where that memory has been freed. */
void copy_visit(const struct copy *copy, const struct copy_side *side,
                void (*visit)(void *user, uint8_t *row, size_t bytes), void *user);
size_t copy_bytes(const struct copy *copy);

/* Checks that it lies within one piece of memory. */
int fill_prepare(struct process *process, struct fill *fill);
int fill_perform(const struct fill *fill);

#endif
