/* SPDX-License-Identifier: MIT */
/* What a checkpoint of a program is of: a journal of one version of corun is no journal of another one. */
#ifndef CORUN_CUDA_FINGERPRINT_H
#define CORUN_CUDA_FINGERPRINT_H

/* A hash, in hexadecimal, over the sources of the front door and of the model below it. The build defines it. */
const char *cuda_fingerprint(void);

#endif
