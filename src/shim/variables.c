/* SPDX-License-Identifier: MIT */
/* The table is written in a stream that waits for nobody: the legacy stream would wait for the program's. */
#include "shim/variables.h"

#include "shim/below.h"

#include <stdlib.h>

enum { NON_BLOCKING = 1 };

typedef int ask_module(uint64_t *address, size_t *bytes, const void *module, const char *name);

static bool ask(enum called symbol, const void *module, const char *name, uint64_t *address, size_t *bytes)
{
    ask_module *function = (ask_module *)below_called(symbol);
    *address = 0;
    if (function && function(address, bytes, module, name) == BELOW_OK && *address)
        return true;
    *address = 0;
    return false;
}

/* Managed variables of a library have an entry point of their own. */
static bool find(struct lender lender, const char *name, struct lent *lent)
{
    if (!lender.is_library)
        return ask(CALLED_cuModuleGetGlobal_v2, lender.handle, name, &lent->from, &lent->bytes);
    return ask(CALLED_cuLibraryGetGlobal, lender.handle, name, &lent->from, &lent->bytes) ||
           ask(CALLED_cuLibraryGetManaged, lender.handle, name, &lent->from, &lent->bytes);
}

/* What is copied has to be the same on both sides. */
static void find_both(const struct cached_module *rewritten, uint32_t index, void *module, struct lender lender,
                      struct lent *lent)
{
    size_t bytes = 0;
    if (find(lender, rewritten->borrowed[index], lent) && rewritten->copied[index] &&
        (!ask(CALLED_cuModuleGetGlobal_v2, module, rewritten->borrowed[index], &lent->to, &bytes) ||
         bytes != lent->bytes))
        lent->from = 0;
    if (!lent->from)
        trace_line("variable", rewritten->borrowed[index], "not found");
}

static bool write_table(uint64_t table, const uint64_t *addresses, uint32_t count)
{
    int (*create)(void **, unsigned) = (int (*)(void **, unsigned))below_called(CALLED_cuStreamCreate);
    int (*destroy)(void *) = (int (*)(void *))below_called(CALLED_cuStreamDestroy_v2);
    int (*wait)(void *) = (int (*)(void *))below_called(CALLED_cuStreamSynchronize);
    int (*copy)(uint64_t, const void *, size_t, void *) =
        (int (*)(uint64_t, const void *, size_t, void *))below_called(CALLED_cuMemcpyHtoDAsync_v2);
    void *stream = NULL;
    if (!create || !destroy || !wait || !copy || create(&stream, NON_BLOCKING) != BELOW_OK)
        return false;
    bool written = copy(table, addresses, count * sizeof *addresses, stream) == BELOW_OK && wait(stream) == BELOW_OK;
    return destroy(stream) == BELOW_OK && written;
}

bool variables_lend(const struct cached_module *rewritten, void *module, struct lender lender, struct lent *lent)
{
    uint64_t table = 0;
    size_t bytes;
    if (!rewritten->borrowed_count)
        return true;
    uint64_t *addresses = calloc(rewritten->borrowed_count, sizeof *addresses);
    bool written = addresses && ask(CALLED_cuModuleGetGlobal_v2, module, rewritten->borrowed_table, &table, &bytes);
    for (uint32_t i = 0; written && i < rewritten->borrowed_count; i++) {
        find_both(rewritten, i, module, lender, &lent[i]);
        addresses[i] = lent[i].from;
    }
    written = written && write_table(table, addresses, rewritten->borrowed_count);
    free(addresses);
    return written;
}

bool variables_copy(const struct lent *const *lent, uint32_t count, void *stream, bool per_thread)
{
    int (*copy)(uint64_t, uint64_t, size_t, void *) = (int (*)(uint64_t, uint64_t, size_t, void *))below_called(
        per_thread ? CALLED_cuMemcpyDtoDAsync_v2_ptsz : CALLED_cuMemcpyDtoDAsync_v2);
    for (uint32_t i = 0; i < count; i++)
        if (!copy || copy(lent[i]->to, lent[i]->from, lent[i]->bytes, stream) != BELOW_OK)
            return false;
    return true;
}
