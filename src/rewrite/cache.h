/* SPDX-License-Identifier: MIT */
/*
 * Texts that a pass has made, kept on disk by their content: whoever loads the same module again neither parses nor rewrites it. An entry's name is the
 * hash of text, pass and of the sources that rewrite. Processes share a folder: an entry is written beside its name and renamed,
 * and one that is cut off, damaged, or of somebody else is no entry.
 */
#ifndef CORUN_REWRITE_CACHE_H
#define CORUN_REWRITE_CACHE_H

#include "rewrite/rewritten.h"

#include <sha2.h>

#define REWRITE_CACHE_MOST_ENTRY (UINT32_C(64) << 20) /* bytes: whatever is larger is not ours */

struct rewrite_cache {
    const char *folder;  /* made when something is to be kept; NULL: nothing is */
    uint64_t most_bytes; /* of all entries: those that nobody has used for longest go */
    /* An entry that is not used, and why. NULL: nobody wants to know. */
    void (*remark)(const char *path, const char *problem);
};

struct cached_kernel {
    const char *name;
    uint32_t parameter_index; /* as in struct rewritten_kernel */
    bool refused;
    bool only_before_volta;  /* as there: on a GPU of compute capability 7.0 and above it is as if it were refused */
    bool ranges;             /* the same */
    const uint32_t *borrows; /* places in cached_module.borrowed; all of them are in there */
    uint32_t borrow_count;
};

/* What there is to know of a rewritten module when it is loaded. All in one allocation: free(module). */
struct cached_module {
    const char *text; /* ends with NUL */
    size_t text_bytes;
    const char *const *borrowed; /* variables whose addresses go into a table, as in struct rewritten */
    const bool *copied;
    uint32_t borrowed_count;
    const char *borrowed_table; /* "": there is none */
    uint32_t kernel_count;
    struct cached_kernel kernels[];
};

/*
 * From the cache, or by the pass, whose result is kept then. `name` stands for the pass in the key. *hit: nothing was rewritten. Statuses of rewrite_text;
 * what cannot be kept is no error.
 */
enum corun_status rewrite_cached(const struct rewrite_cache *cache, const char *name, rewrite_pass *pass,
                                 const char *text, size_t bytes, struct cached_module **module, bool *hit);

/* NULL if there is none of that name. */
const struct cached_kernel *cached_kernel_find(const struct cached_module *module, const char *name);

/* An entry as bytes, which are the caller's to free; NULL: out of memory, or too large. */
uint8_t *cached_module_encode(const struct cached_module *module, size_t *bytes);
/* From bytes that may be anything. NULL: *problem says why. */
struct cached_module *cached_module_decode(const uint8_t *data, size_t bytes, const char **problem);

#endif
