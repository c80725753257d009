/* SPDX-License-Identifier: MIT */
/* What kernels and functions are called where people read of them. */
#ifndef CORUN_BASE_KERNEL_NAME_H
#define CORUN_BASE_KERNEL_NAME_H

#include <stddef.h>

#define KERNEL_NAME_BYTES 1024u

/* A kernel's name for people: _ZN3foo3barEPf is foo::bar; names that are not mangled are left as they are. Gives name back. */
const char *kernel_name(const char *mangled, char *name, size_t bytes);

/* The same for an argument of a message: lives until the end of the block that it is written in. */
#define KERNEL_NAME(mangled) kernel_name(mangled, (char[KERNEL_NAME_BYTES]){0}, KERNEL_NAME_BYTES)

#endif
