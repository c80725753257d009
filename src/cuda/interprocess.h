/* SPDX-License-Identifier: MIT */
/*
 * Memory and events of a program that its other processes open by handles (cudaIpc…, cuIpc…). Each process has a GPU of its own, so what
 * they share lies in memory files: an allocation moves into one when its handle is asked for, and is mapped in the others as virtual memory
 * is; of an event, a page with its counts.
 */
#ifndef CORUN_CUDA_INTERPROCESS_H
#define CORUN_CUDA_INTERPROCESS_H

#include <stdbool.h>
#include <stdint.h>

struct call;
struct context;
struct event;
struct process;

/* CUipcMemHandle and CUipcEventHandle. */
struct abi_interprocess_handle {
    char bytes[64];
};

int interprocess_export_memory(struct call *call, uint64_t address, struct abi_interprocess_handle *handle);
/* The same address again where the context has it open already. */
int interprocess_import_memory(struct call *call, const struct abi_interprocess_handle *handle, uint64_t *address);
int interprocess_close_memory(struct call *call, uint64_t address);
/*
 * The same of what a pool has given out, for processes that have opened the pool, whose file has the inode `pool`. What was opened is
 * closed by whoever frees it.
 */
int interprocess_export_pooled(struct call *call, uint64_t address, struct abi_interprocess_handle *handle);
int interprocess_import_pooled(struct call *call, const struct abi_interprocess_handle *handle, uint64_t pool,
                               uint64_t *address);
bool interprocess_is_pooled(const struct process *process, uint64_t address);
/* A new file for a pool; -1 if there is none to be had. Is a descriptor one of such a file? */
int interprocess_pool_file(void);
bool interprocess_is_pool(int file);
/* False, with the call's error, where programs share a GPU. */
bool interprocess_allowed(struct call *call);
/* The memory at `address` is freed: its handle is worth nothing from now on. */
void interprocess_forget(struct process *process, uint64_t address);

int interprocess_export_event(struct call *call, struct event *event, struct abi_interprocess_handle *handle);
/* NULL with the call's error. */
struct event *interprocess_import_event(struct call *call, const struct abi_interprocess_handle *handle);
/* An event that is shared is recorded once more: the number of that record among those of all processes. */
uint64_t interprocess_record(struct event *event);
/* A record of the event has been reached here: the others learn of it. */
void interprocess_reached(struct event *event, uint64_t count);
/* The event knows of the records of others until now. */
void interprocess_follow(struct event *event);
/* What others have reached is seen. True if a record of another process is still to come. */
bool interprocess_look(struct process *process);
/* The event goes. */
void interprocess_end(struct process *process, struct event *event);

#endif
