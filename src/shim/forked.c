/* SPDX-License-Identifier: MIT */
/* What a child of the process leaves to its parent. */
#include "shim/forked.h"

#include "shim/govern.h"
#include "shim/kernels.h"
#include "shim/memory.h"
#include "shim/tables.h"

#include <pthread.h>

/* No thread of the parent is here to give its locks back. */
static void in_child(void)
{
    memory_forked();
    kernels_forked();
    tables_forked();
    govern_forked();
}

void forked_watch(void)
{
    (void)pthread_atfork(NULL, NULL, in_child); /* out of memory: a child is then as it was made */
}
