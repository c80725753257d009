/* SPDX-License-Identifier: MIT */
/*
 * While answers come from the journal, device memory is not what it was: it is loaded where the journal ends. So nothing is copied into it, or within it, and what
 * was copied from it to the host is in the journal. Memory that the host sees is at all times what it was.
 */
#include "cuda/journaled_copy.h"

#include "cuda/abi.h"
#include "cuda/checkpoint.h"
#include "cuda/context.h"
#include "cuda/copy.h"
#include "cuda/process.h"
#include "cuda/ranges.h"
#include "cuda/stream.h"
#include "cuda/task.h"

#include <stdlib.h>
#include <string.h>

static bool is_of_host(const struct process *process, const struct copy_side *side)
{
    const struct range *range = side->context ? ranges_find(process, side->address) : NULL;
    return !side->context || (range && !range_of_device(range));
}

static uint64_t add_number(uint64_t digest, uint64_t number)
{
    return journal_digest(&number, sizeof number, digest);
}

/* Where the program's own memory lies may change from run to run. */
static uint64_t digest_of_side(const struct process *process, const struct copy_side *side, uint64_t digest)
{
    bool of_host = is_of_host(process, side);
    digest = add_number(digest, of_host);
    if (of_host)
        return digest;
    digest = add_number(digest, side->address);
    digest = add_number(digest, side->pitch);
    return add_number(digest, side->slice_bytes);
}

void journaled_copy_ask(struct process *process, const struct task *task)
{
    static const char *const ways[] = {
        [ENGINE_TO_DEVICE] = "to the GPU", [ENGINE_TO_HOST] = "to the host", [ENGINE_WITHIN] = "within the GPU"};
    uint64_t digest = add_number(0, task->stream->id);
    if (!process->checkpoint)
        return;
    if (task->kind == TASK_COPY) {
        const struct copy *copy = &task->copy;
        digest = digest_of_side(process, &copy->from, digest);
        digest = digest_of_side(process, &copy->to, digest);
        digest = add_number(add_number(digest, copy->height), copy->depth);
        checkpoint_ask(process, digest, "copy of %zu bytes %s", copy_bytes(copy), ways[copy->engine]);
        return;
    }
    const struct fill *fill = &task->fill;
    digest = add_number(digest, fill->host ? 0 : fill->address);
    digest = add_number(add_number(digest, fill->pitch), fill->slice_bytes);
    digest = add_number(add_number(digest, fill->height), fill->depth);
    digest = add_number(digest, fill->element_bytes);
    checkpoint_ask(process, digest, "fill of %zu bytes with %u", fill->width_bytes * fill->height * fill->depth,
                   fill->value);
}

static int perform(struct checkpoint *checkpoint, const struct copy *copy, bool to_host)
{
    if (to_host)
        checkpoint->pages.known = false;
    return copy_perform(copy);
}

static void pack_row(void *user, uint8_t *row, size_t bytes)
{
    uint8_t **at = user;
    memcpy(*at, row, bytes);
    *at += bytes;
}

static void unpack_row(void *user, uint8_t *row, size_t bytes)
{
    uint8_t **at = user;
    memcpy(row, *at, bytes);
    *at += bytes;
}

static void digest_row(void *user, uint8_t *row, size_t bytes)
{
    uint64_t *digest = user;
    *digest = journal_digest(row, bytes, *digest);
}

/* From device memory to the host. */
static int give(struct process *process, const struct copy *copy)
{
    size_t bytes = copy_bytes(copy);
    uint8_t *packed = malloc(bytes + 1), *at = packed;
    if (!packed)
        checkpoint_stop(process, CORUN_MEMORY, "out of memory");
    bool replays = checkpoint_replays(process);
    int error = replays ? CUDA_SUCCESS : perform(process->checkpoint, copy, true);
    if (!replays && error == CUDA_SUCCESS)
        copy_visit(copy, &copy->to, pack_row, &at);
    if (error == CUDA_SUCCESS)
        checkpoint_note(process, JOURNAL_GIVEN, 0, packed, bytes);
    if (replays)
        copy_visit(copy, &copy->to, unpack_row, &at);
    free(packed);
    return error;
}

/* From the host to device memory. */
static int send(struct process *process, const struct copy *copy)
{
    uint64_t digest = 0;
    copy_visit(copy, &copy->from, digest_row, &digest);
    bool replays = checkpoint_replays(process);
    checkpoint_note(process, JOURNAL_SENT, digest, NULL, 0);
    return replays ? CUDA_SUCCESS : copy_perform(copy);
}

static int copy_bytes_of(struct process *process, const struct copy *copy)
{
    bool from_host = is_of_host(process, &copy->from), to_host = is_of_host(process, &copy->to);
    if (from_host && !to_host)
        return send(process, copy);
    if (to_host && !from_host)
        return give(process, copy);
    if (!to_host && checkpoint_replays(process))
        return CUDA_SUCCESS;
    return perform(process->checkpoint, copy, to_host);
}

int journaled_copy_perform(struct process *process, const struct task *task)
{
    struct checkpoint *checkpoint = process->checkpoint;
    if (!checkpoint)
        return task->kind == TASK_COPY ? copy_perform(&task->copy) : fill_perform(&task->fill);
    int error = CUDA_SUCCESS;
    if (task->kind == TASK_COPY)
        error = copy_bytes_of(process, &task->copy);
    else if (task->fill.host || !checkpoint_replays(process))
        error = fill_perform(&task->fill);
    if (task->kind == TASK_FILL && task->fill.host)
        checkpoint->pages.known = false;
    if (error != CUDA_SUCCESS)
        checkpoint_end(process);
    return error;
}
