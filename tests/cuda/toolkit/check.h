/* SPDX-License-Identifier: MIT */
/* The same checks where the toolkit's headers serve. */
#include "../include/check.h"
