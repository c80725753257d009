/* SPDX-License-Identifier: MIT */
/* Co-schedules of every pair of kernels: predicted by the chain, and measured. */
#ifndef CORUN_SERVE_PAIRS_H
#define CORUN_SERVE_PAIRS_H

#include "serve/serve.h"

/*
 * Fills in pairs, predicted_alone and measured_alone of a result whose kernels are profiled: in every ratio, or each pair only in the one that
 * equation 7 gives. Measures side by side.
 */
enum corun_status pairs_measure(struct steady *steady, bool balanced_only, struct serve_result *result,
                                struct corun_diagnostics *list);

#endif
