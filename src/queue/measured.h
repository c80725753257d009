/* SPDX-License-Identifier: MIT */
/* Co-schedules of two kinds and what they bring, measured by the machine: for the schedulers opt and random. */
#ifndef CORUN_QUEUE_MEASURED_H
#define CORUN_QUEUE_MEASURED_H

#include "queue/describe.h"

/* All ratios of a pair, as the model lists them: residents on an SM. Returns how many. */
uint32_t measured_candidates(const struct corun_queue_view *view, const uint32_t kinds[2],
                             uint32_t residents[MODEL_MAX_CO_SCHEDULES][2]);
/* The co-scheduling profit of one of them, against both alone. false: it could not be measured. */
bool measured_profit(const struct corun_queue_view *view, const uint32_t kinds[2], const uint32_t residents[2],
                     double *profit);

#endif
