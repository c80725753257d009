/* SPDX-License-Identifier: MIT */
/* What C++ says of a kernel beside its name: template arguments and parameters. */
#ifndef CORUN_BASE_KERNEL_SIGNATURE_H
#define CORUN_BASE_KERNEL_SIGNATURE_H

#include "base/arena.h"

/* Around the template arguments of the name and around the parameters, and between two of them. Arguments of arguments are plain text. */
enum { SIGNATURE_ANGLE = 1, SIGNATURE_ANGLE_END, SIGNATURE_ROUND, SIGNATURE_ROUND_END, SIGNATURE_NEXT };

/*
 * _Z6reduceIfLi256EEvPT_ is reduce<float, 256>(float*), with those bytes for brackets and commas; parameters that are none are left out. The Itanium C++ ABI
 * ("External Names") as far as names of kernels need it. NULL for what is none, for what this does not read, and when out of memory. Lives in the arena.
 */
const char *kernel_signature(struct arena *arena, const char *mangled);

#endif
