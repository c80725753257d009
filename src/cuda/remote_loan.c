/* SPDX-License-Identifier: MIT */
/*
 * Memory of the program that kernels may use (cudaHostRegister). The daemon has no more of a program than its spaces, so while they are
 * registered, the program's pages are pages of a space's file: their bytes are copied there, and the file is mapped in their place.
 */
#include "cuda/remote.h"

#include "cuda/page_hold.h"
#include "cuda/remote_link.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE_BYTES UINT64_C(4096)

static bool overlaps_another(const struct remote *remote, uint64_t first, uint64_t bytes)
{
    for (size_t i = 0; i < remote->loans.count; i++) {
        const struct remote_loan *loan = &remote->loans.data[i];
        if (first < loan->first + loan->bytes && loan->first < first + bytes)
            return true;
    }
    return false;
}

bool remote_find_loan(const struct remote *remote, const void *host, uint64_t bytes, uint32_t *space, uint64_t *address)
{
    for (size_t i = 0; i < remote->loans.count; i++) {
        const struct remote_loan *loan = &remote->loans.data[i];
        uint64_t offset = (uint64_t)(uintptr_t)host - loan->first;
        if (offset >= loan->bytes || bytes > loan->bytes - offset)
            continue;
        *space = loan->space;
        *address = loan->place + offset;
        return true;
    }
    return false;
}

/* Pages at `first` are copied to `copy`, and that takes their place: by its file, or the pages themselves. */
struct replacing {
    void *copy;
    uint64_t first, bytes;
    int file; /* -1: the pages of the copy */
    off_t offset;
};

static int replace_pages(void *argument)
{
    const struct replacing *r = argument;
    void *first = (void *)(uintptr_t)r->first;
    struct page_hold hold;
    page_hold_begin(&hold, r->first, r->bytes); /* the heap may have what it knows of its blocks there */
    memcpy(r->copy, first, r->bytes);
    void *there = r->file >= 0
                      ? mmap(first, r->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, r->file, r->offset)
                      : mremap(r->copy, r->bytes, r->bytes, MREMAP_MAYMOVE | MREMAP_FIXED, first);
    page_hold_end(&hold);
    return there == MAP_FAILED;
}

enum corun_status remote_lend(struct remote_space *space, uint64_t address, const void *host, uint64_t bytes)
{
    struct remote *remote = space->remote;
    uint64_t from = (uint64_t)(uintptr_t)host, first = from & ~(PAGE_BYTES - 1);
    struct remote_loan loan = {space->number, address, first,
                               ((from + bytes + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1)) - first, 0};
    void *block;
    if (overlaps_another(remote, loan.first, loan.bytes))
        return CORUN_UNSUPPORTED;
    enum corun_status status = corun_memory_allocate_shared(space->memory, loan.bytes, &loan.place, &block);
    if (status != CORUN_OK)
        return status;
    const struct wire_adopt body = {space->number, space->number, address, loan.place + (from - first), bytes};
    status = remote_ask(remote, WIRE_ADOPT, &body);
    if (status == CORUN_OK && !vector_push(&remote->loans, loan))
        status = CORUN_MEMORY;
    off_t offset = (off_t)(loan.place & (((uint64_t)1 << CORUN_APPLICATION_SHIFT) - 1));
    if (status == CORUN_OK) {
        struct replacing replacing = {block, first, loan.bytes, space->file, offset};
        if (!page_hold_run(replace_pages, &replacing, first, loan.bytes)) {
            remote->loans.count--;
            status = CORUN_UNSUPPORTED;
        }
    }
    if (status != CORUN_OK)
        (void)corun_memory_free(space->memory, loan.place);
    return status;
}

/* Pages with the same bytes take the place of those of the file. */
static void take_back(const struct remote_loan *loan)
{
    void *pages = mmap(NULL, loan->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED)
        return; /* they stay pages of the file, which nobody else has for long */
    struct replacing replacing = {pages, loan->first, loan->bytes, -1, 0};
    if (!page_hold_run(replace_pages, &replacing, loan->first, loan->bytes))
        munmap(pages, loan->bytes);
}

/* ---- children ---- */

void remote_before_fork(struct remote *remote)
{
    if (remote && remote->loans.count && pipe2(remote->forking, O_CLOEXEC) != 0)
        remote->forking[0] = remote->forking[1] = -1;
}

static void close_pipe(struct remote *remote)
{
    for (int i = 0; i < 2; i++)
        if (remote->forking[i] >= 0)
            close(remote->forking[i]);
    remote->forking[0] = remote->forking[1] = -1;
}

void remote_after_fork(struct remote *remote)
{
    char byte;
    if (!remote || remote->forking[0] < 0)
        return;
    close(remote->forking[1]);
    remote->forking[1] = -1;
    while (read(remote->forking[0], &byte, 1) < 0 && errno == EINTR)
        ;
    close_pipe(remote);
}

void remote_forked(struct remote *remote)
{
    if (!remote)
        return;
    for (size_t i = 0; i < remote->loans.count; i++)
        take_back(&remote->loans.data[i]);
    remote->loans.count = 0;
    close_pipe(remote);
    wire_close(&remote->link);
    for (uint32_t i = 0; i < CORUN_MAX_APPLICATIONS; i++)
        if (remote->spaces[i].file >= 0) {
            close(remote->spaces[i].file);
            remote->spaces[i].file = -1;
        }
}

/* ---- given back ---- */

void remote_return(struct remote_space *space, uint64_t address)
{
    struct remote *remote = space->remote;
    for (size_t i = 0; i < remote->loans.count; i++) {
        struct remote_loan loan = remote->loans.data[i];
        if (loan.space != space->number || loan.address != address)
            continue;
        take_back(&loan);
        remote->loans.data[i] = remote->loans.data[--remote->loans.count];
        (void)corun_memory_free(space->memory, loan.place);
        return;
    }
}

void remote_return_all(const struct remote_space *space)
{
    struct remote *remote = space->remote;
    for (size_t i = remote->loans.count; i-- > 0;)
        if (remote->loans.data[i].space == space->number) {
            take_back(&remote->loans.data[i]);
            remote->loans.data[i] = remote->loans.data[--remote->loans.count];
        }
}
