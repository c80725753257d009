/* SPDX-License-Identifier: MIT */
/*
 * What the runtime API and the driver API do alike: launches, copies, fills. Every function is called with the lock
 * held.
 */
#ifndef CORUN_CUDA_API_H
#define CORUN_CUDA_API_H

#include "cuda/abi.h"
#include "cuda/copy.h"
#include "cuda/launch_cluster.h"

struct call;
struct context;
struct event;
struct function;
struct launch_request;
struct stream;

/*
 * A launch in a stream. `arguments` points at each value, or `extra` at all of them together (LAUNCH_PARAMETER_…);
 * either may be NULL.
 */
struct api_launch {
    struct function *function;
    const void *host; /* what the program calls it in a node of a graph; NULL: as function->host or the function */
    struct corun_dim3 grid, block;
    size_t dynamic_shared_bytes;
    void *stream;
    void **arguments, **extra;
    bool cooperative;
    struct launch_cluster cluster;
};
int api_launch(struct call *call, const struct api_launch *launch);
/* Whether a device can have such a launch at all, whatever the kernel; else it has an invalid configuration. */
bool api_shape_is_good(const struct function *function, struct corun_dim3 grid, struct corun_dim3 block);
/* Checks and copies; request->parameters is the caller's. */
int api_launch_request(const struct api_launch *launch, struct launch_request *request);

/* Rows, once resolved and checked, in a stream. `wait`: the call returns when it is done. */
int api_copy(struct call *call, struct copy *copy, void *stream, bool wait);
/* Plain bytes. `kind` is COPY_…; what the addresses are must agree with it. */
int api_copy_bytes(struct call *call, uint64_t to, uint64_t from, size_t bytes, int kind, void *stream, bool wait);
/* Resolves both sides as `kind` wants them. */
int api_copy_sides(struct call *call, uint64_t to, uint64_t from, int kind, struct copy *copy);
/* Waits for all kernels that may use the memory. `host`: it is pinned. Address 0 is none. */
int api_free(struct call *call, uint64_t address, bool host, const char *by);
/* What was to be freed is nothing: says so if it was freed before, which the error alone does not tell. */
void api_tell_freed_before(const struct context *context, uint64_t address, const char *by);
int api_fill(struct call *call, const struct fill *fill, void *stream, bool wait);

int api_record(struct call *call, struct event *event, void *stream);
int api_wait_event(struct call *call, struct event *event, void *stream);
/* The same in streams that need not have handles. */
int api_record_in(struct process *process, struct event *event, struct stream *stream);
int api_wait_event_in(struct process *process, struct event *event, struct stream *stream);
int api_call_host(struct call *call, void *stream, abi_host_function function, abi_stream_callback callback,
                  void *user);
int api_elapsed(const struct event *start, const struct event *end, float *milliseconds);
int api_stream_destroy(struct call *call, struct stream *stream);

#endif
