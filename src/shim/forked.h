/* SPDX-License-Identifier: MIT */
/*
 * A child of the process that has not executed another program. CUDA is not to be used there where its parent has used it, and the driver refuses that; what is corund's is the
 * parent's alone: its connection, which would outlive it in the child, its board, and locks that its threads may hold.
 */
#ifndef CORUN_SHIM_FORKED_H
#define CORUN_SHIM_FORKED_H

/* From now on, children of the process are looked after. Once. */
void forked_watch(void);

#endif
