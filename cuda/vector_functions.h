/* SPDX-License-Identifier: MIT */
/* make_… of all vector types, under the name that the toolkit has for them. */
#ifndef CORUN_VECTOR_FUNCTIONS_H
#define CORUN_VECTOR_FUNCTIONS_H

#include "vector_types.h"

#endif
