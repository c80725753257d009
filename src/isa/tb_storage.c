/* SPDX-License-Identifier: MIT */
/*
 * The storage of thread blocks: registers, stacks, predicates, shared and local memory, one behind the other. On a machine a thread block has
 * some while it is in flight; when it has ended, the next one of the kernel on that SM gets it, of whatever launch.
 */
#include "isa/executor.h"

#include <stdlib.h>
#include <string.h>

/* Where each part lies, from the first aligned byte on. */
static void lay_out(struct corun_tb *tb)
{
    const struct launch *launch = tb->launch;
    const struct corun_kernel *kernel = launch->kernel;
    const uint32_t warps = launch->grid.tb_warps;
    const size_t entries = tb_aligned(SIMT_ENTRIES(launch->call_depth) * sizeof(struct simt_entry));
    uint8_t *at = (uint8_t *)tb_aligned((uintptr_t)tb->storage);
    for (uint32_t i = 0; i < warps; i++) {
        tb->warps[i].lanes.registers = at;
        at += launch->warp_register_bytes;
        tb->warps[i].stack.entries = (struct simt_entry *)(void *)at;
        at += entries;
    }
    for (uint32_t i = 0; i < warps; i++)
        tb->warps[i].lanes.predicates = (uint32_t *)(void *)at + (size_t)i * kernel->predicate_slots;
    at += tb_aligned((size_t)kernel->predicate_slots * sizeof(uint32_t) * warps);
    tb->shared = at;
    at += shared_whole(launch->grid.tb_shared_bytes);
    for (uint32_t i = 0; i < warps; i++, at += launch->warp_local_bytes)
        tb->warps[i].local = at;
}

static size_t bytes_of(const struct corun_tb *tb)
{
    const struct launch *launch = tb->launch;
    const struct corun_kernel *kernel = launch->kernel;
    const uint32_t warps = launch->grid.tb_warps;
    const size_t entries = tb_aligned(SIMT_ENTRIES(launch->call_depth) * sizeof(struct simt_entry));
    return (launch->warp_register_bytes + launch->warp_local_bytes + entries) * warps +
           tb_aligned((size_t)kernel->predicate_slots * sizeof(uint32_t) * warps) +
           shared_whole(launch->grid.tb_shared_bytes);
}

static void remove_spare(struct spare_storages *spares, uint32_t index)
{
    memmove(&spares->spare[index], &spares->spare[index + 1], (--spares->count - index) * sizeof *spares->spare);
}

bool tb_storage_take(struct corun_tb *tb, struct executor_sm *sm, bool *used)
{
    struct spare_storages *spares = &sm->spares;
    const struct launch *launch = tb->launch;
    tb->storage_bytes = bytes_of(tb);
    *used = false;
    for (uint32_t i = spares->count; i-- > 0 && !*used;) {
        const struct spare_storage *spare = &spares->spare[i];
        if (spare->kernel != launch->kernel || spare->warps != launch->grid.tb_warps ||
            spare->bytes != tb->storage_bytes)
            continue;
        tb->storage = spare->storage;
        remove_spare(spares, i);
        *used = true;
    }
    /* calloc gives large blocks as fresh pages: deep local memory that nobody uses costs nothing. */
    if (!*used)
        tb->storage = calloc(1, tb->storage_bytes + 64);
    if (tb->storage)
        lay_out(tb);
    return tb->storage != NULL;
}

/* So far as it was used: the next thread block does not know how far that was. */
static void clear_local(const struct corun_tb *tb)
{
    for (uint32_t i = 0; i < tb->launch->grid.tb_warps; i++)
        memset(tb->warps[i].local, 0, (size_t)((tb->warps[i].local_used + 3) / 4) * SLOT_BYTES);
}

void tb_storage_give(struct corun_tb *tb)
{
    struct spare_storages *spares = &tb->sm->spares;
    clear_local(tb);
    if (spares->count == SPARE_STORAGES) {
        free(spares->spare[0].storage);
        remove_spare(spares, 0);
    }
    spares->spare[spares->count++] =
        (struct spare_storage){tb->storage, tb->launch->kernel, tb->launch->grid.tb_warps, tb->storage_bytes};
    tb->storage = NULL;
    for (uint32_t i = 0; i < tb->launch->grid.tb_warps; i++)
        tb->warps[i].local_used = 0;
}

void tb_storage_clear(const struct corun_tb *tb)
{
    uint8_t *first = tb->warps[0].lanes.registers;
    memset(first, 0, (size_t)(tb->shared + shared_whole(tb->launch->grid.tb_shared_bytes) - first));
    clear_local(tb);
}

void tb_storage_clear_read(const struct corun_tb *tb)
{
    const struct launch *launch = tb->launch;
    for (uint32_t i = 0; i < launch->grid.tb_warps && !launch->kernel->writes_first; i++)
        memset(tb->warps[i].lanes.registers, 0, launch->warp_register_bytes);
    uint8_t *first = (uint8_t *)tb->warps[0].lanes.predicates;
    memset(first, 0, (size_t)(tb->shared + shared_whole(launch->grid.tb_shared_bytes) - first));
    clear_local(tb);
}

void tb_storage_free(struct spare_storages *spares)
{
    while (spares->count)
        free(spares->spare[--spares->count].storage);
}
