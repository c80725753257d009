/* SPDX-License-Identifier: MIT */
/* Pages are known by a number for their bytes: what the program does to them between its calls is not noticed otherwise. */
#include "cuda/host_pages.h"

#include "cuda/journal.h"
#include "cuda/process.h"

#include <stdlib.h>

#define PAGE_BYTES UINT64_C(4096)

static uint64_t page_bytes(const struct range *range, uint64_t offset)
{
    return range->bytes - offset < PAGE_BYTES ? range->bytes - offset : PAGE_BYTES;
}

static uint64_t digest_of_page(const struct range *range, uint64_t offset)
{
    return journal_digest((const void *)(uintptr_t)(range->address + offset), page_bytes(range, offset), 0);
}

static size_t count_pages(const struct process *process)
{
    size_t count = 0;
    for (size_t i = 0; i < process->ranges.count; i++)
        if (!range_of_device(&process->ranges.data[i]))
            count += (process->ranges.data[i].bytes + PAGE_BYTES - 1) / PAGE_BYTES;
    return count;
}

bool host_pages_look(const struct process *process, struct host_pages *pages)
{
    size_t count = count_pages(process), page = 0;
    if (pages->known && pages->count == count)
        return true;
    if (pages->capacity < count) {
        uint64_t *digests = realloc(pages->digests, count * sizeof *digests);
        if (!digests)
            return false;
        pages->digests = digests;
        pages->capacity = count;
    }
    pages->count = count;
    for (size_t i = 0; i < process->ranges.count; i++) {
        const struct range *range = &process->ranges.data[i];
        for (uint64_t offset = 0; !range_of_device(range) && offset < range->bytes; offset += PAGE_BYTES)
            pages->digests[page++] = digest_of_page(range, offset);
    }
    pages->known = true;
    return true;
}

void host_pages_changed(const struct process *process, struct host_pages *pages,
                        void (*tell)(void *user, uint64_t address, uint64_t bytes), void *user)
{
    size_t page = 0;
    for (size_t i = 0; i < process->ranges.count; i++) {
        const struct range *range = &process->ranges.data[i];
        uint64_t first = 0, bytes = 0; /* of the run under way */
        for (uint64_t offset = 0; !range_of_device(range) && offset < range->bytes; offset += PAGE_BYTES, page++) {
            uint64_t digest = digest_of_page(range, offset);
            bool same = digest == pages->digests[page];
            pages->digests[page] = digest;
            if (same && bytes) {
                tell(user, range->address + first, bytes);
                bytes = 0;
            } else if (!same) {
                first = bytes ? first : offset;
                bytes += page_bytes(range, offset);
            }
        }
        if (bytes)
            tell(user, range->address + first, bytes);
    }
}

uint64_t host_pages_digest(const struct process *process)
{
    uint64_t digest = 0;
    for (size_t i = 0; i < process->ranges.count; i++) {
        const struct range *range = &process->ranges.data[i];
        if (!range_of_device(range))
            digest = journal_digest((const void *)(uintptr_t)range->address, range->bytes, digest);
    }
    return digest;
}

void host_pages_free(struct host_pages *pages)
{
    free(pages->digests);
    *pages = (struct host_pages){0};
}
