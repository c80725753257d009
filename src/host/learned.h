/* SPDX-License-Identifier: MIT */
/* Models of a service that were learned (src/model/predictor.h), as policies ask them. */
#ifndef CORUN_HOST_LEARNED_H
#define CORUN_HOST_LEARNED_H

#include "base/arena.h"
#include "corun/host.h"
#include "model/predictor.h"

/* Every kind, and the best one, which is the first. */
#define HOST_LEARNED_MODELS (PREDICTOR_KIND_COUNT + 1)

/*
 * Learns from the samples by `seed`. The models refer to *predictor, which is the caller's to end with predictor_destroy, and to the arena. Statuses of
 * predictor_train.
 */
enum corun_status host_learn(const struct corun_host_sample *samples, size_t count, uint64_t seed, struct arena *arena,
                             struct corun_diagnostics *list, struct predictor **predictor,
                             struct corun_host_model models[HOST_LEARNED_MODELS]);

#endif
