/* SPDX-License-Identifier: MIT */
/*
 * May a thread block of a kernel be abandoned at any point and started again? Yes if nothing that the grid reads
 * is written by it, if it writes the same to the same places each time, and if it does nothing that counts
 * (atomics, printing). Conservative: what is not understood is a no.
 *
 * Addresses are followed to their roots: parameters of the kernel and module variables. Whether two parameters
 * lead to one buffer is known only when the kernel is launched, so the accesses are listed for a look at the
 * arguments. It is taken for granted, as in C, that an address computed from a pointer stays within what that
 * points to.
 */
#ifndef CORUN_PTX_IDEMPOTENCE_H
#define CORUN_PTX_IDEMPOTENCE_H

#include "ptx/module.h"

#define PTX_MOST_ROOTS 62u
#define PTX_ROOT_PRIVATE (UINT64_C(1) << 62) /* shared or local memory: ends with the thread block */

struct ptx_root {
    const struct ptx_variable *variable; /* of the module, or a parameter */
    uint64_t offset;                     /* parameters: of the pointer, in the parameter block */
};

struct ptx_global_access {
    uint64_t roots; /* bit r: an address may be computed from roots[r] */
    bool writes;
    uint32_t line;
};

struct ptx_idempotence {
    const char *reason; /* why it never is; NULL: depends on the accesses */
    uint32_t line;      /* of the reason */
    const struct ptx_root *roots;
    uint32_t root_count;
    const struct ptx_global_access *accesses; /* to global memory, each combination once */
    uint32_t access_count;
};

/* The result is allocated in `arena`. OK or MEMORY. */
enum corun_status ptx_idempotence_create(const struct ptx_function *function, struct arena *arena,
                                         struct ptx_idempotence *idempotence);
/*
 * For a launch: `find` says which buffer a root leads to, as any number that no other buffer has; 0: to none. True: with those the grid writes nothing that
 * it reads, and every access leads to a buffer.
 */
typedef uint64_t ptx_find_buffer(const void *user, const struct ptx_root *root);
bool ptx_idempotence_holds(const struct ptx_idempotence *idempotence, ptx_find_buffer *find, const void *user);

/* It reads what it writes, whatever its arguments are. */
bool ptx_idempotence_never(const struct ptx_idempotence *idempotence);
/* In words, for a kernel of which no launch is known. */
const char *ptx_idempotence_text(const struct ptx_idempotence *idempotence);

#endif
