/* SPDX-License-Identifier: MIT */
/* A predictor in the words of the contract of hosts. */
#include "host/learned.h"

struct learned {
    const struct predictor *predictor;
    enum predictor_kind kind;
};

static void predict(const void *state, double size, uint32_t cores, uint32_t ways,
                    struct corun_host_prediction *prediction)
{
    const struct learned *learned = state;
    double predicted[PREDICTOR_TARGETS];
    predictor_predict(learned->predictor, learned->kind, size, cores, ways, predicted);
    *prediction = (struct corun_host_prediction){predicted[PREDICTOR_DURATION], predicted[PREDICTOR_IPC]};
}

enum corun_status host_learn(const struct corun_host_sample *samples, size_t count, uint64_t seed, struct arena *arena,
                             struct corun_diagnostics *list, struct predictor **predictor,
                             struct corun_host_model models[HOST_LEARNED_MODELS])
{
    struct predictor_sample *own = ARENA_ARRAY(arena, struct predictor_sample, count);
    struct learned *states = ARENA_ARRAY(arena, struct learned, HOST_LEARNED_MODELS);
    *predictor = NULL;
    if (!own || !states)
        return corun_report(list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory for models");
    for (size_t i = 0; i < count; i++)
        own[i] = (struct predictor_sample){samples[i].size,
                                           samples[i].cores,
                                           samples[i].ways,
                                           {samples[i].measured.duration_ns, samples[i].measured.ipc}};
    enum corun_status status = predictor_train(own, count, seed, list, predictor);
    for (uint32_t i = 0; i < HOST_LEARNED_MODELS && status == CORUN_OK; i++) {
        states[i] = (struct learned){*predictor, i == 0 ? PREDICTOR_BEST : (enum predictor_kind)(i - 1)};
        models[i] = (struct corun_host_model){predictor_word(states[i].kind), &states[i], predict};
    }
    return status;
}
