/* SPDX-License-Identifier: MIT */
/* What rewrites: a hash over its sources, which the build makes. */
#ifndef CORUN_REWRITE_FINGERPRINT_H
#define CORUN_REWRITE_FINGERPRINT_H

const char *rewrite_fingerprint(void);

#endif
