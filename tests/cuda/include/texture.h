/* SPDX-License-Identifier: MIT */
/* Arrays, textures and surfaces: those of `corun cc`, or with nvcc the toolkit's. */
#ifndef CORUN_TEST_TEXTURE_H
#define CORUN_TEST_TEXTURE_H

#ifndef TOOLKIT
#include "textures.h"
#endif

#endif
