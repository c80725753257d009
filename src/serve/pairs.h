/* SPDX-License-Identifier: MIT */
/* Every co-schedule of every pair of kernels: predicted by the chain, and measured. */
#ifndef CORUN_SERVE_PAIRS_H
#define CORUN_SERVE_PAIRS_H

#include "serve/serve.h"

/* Fills in pairs, predicted_alone and measured_alone of a result whose kernels are profiled. Measures side by side. */
enum corun_status pairs_measure(struct steady *steady, struct serve_result *result, struct corun_diagnostics *list);

#endif
