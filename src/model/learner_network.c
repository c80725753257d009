/* SPDX-License-Identifier: MIT */
/*
 * A small neural network. FANN trains it (resilient propagation: no rate to choose, no order of the samples), from weights of ours, as those
 * that FANN draws depend on the time. It is evaluated here: FANN keeps the neurons' values in the network, where threads would meet.
 */
#include "model/learners.h"
#include "model/library.h"

#include <doublefann.h>

#include <math.h>
#include <stdlib.h>

#define EPOCHS 600u
/* Neurons in FANN's order: inputs, their bias, the hidden layer, its bias, the output. */
#define FIRST_HIDDEN (FEATURES + 1)
#define OUTPUT (FIRST_HIDDEN + HIDDEN + 1)

/* Of FANN. */
#define CALLS(X) \
    X(create_standard_array) \
    X(create_train) \
    X(destroy) \
    X(destroy_train) \
    X(get_connection_array) \
    X(get_total_connections) \
    X(set_activation_function_hidden) \
    X(set_activation_function_output) \
    X(set_activation_steepness_hidden) \
    X(set_activation_steepness_output) \
    X(set_error_log) \
    X(set_train_error_function) \
    X(set_training_algorithm) \
    X(set_weight) \
    X(train_epoch)

struct calls {
#define X(name) __typeof__(fann_##name) *name;
    CALLS(X)
#undef X
};

static enum corun_status find_calls(struct calls *calls, struct corun_diagnostics *list)
{
    const struct library_function functions[] = {
#define X(name) {"fann_" #name, &calls->name},
        CALLS(X)
#undef X
    };
    return library_functions(CORUN_FANN_LIBRARY, functions, sizeof functions / sizeof *functions, list);
}

static double *weight_of(struct network *network, uint32_t from, uint32_t to)
{
    return to == OUTPUT ? &network->output[from - FIRST_HIDDEN] : &network->hidden[to - FIRST_HIDDEN][from];
}

static void set_up(const struct calls *calls, struct fann *fann, uint64_t seed)
{
    calls->set_error_log((struct fann_error *)fann, NULL);
    calls->set_activation_function_hidden(fann, FANN_SIGMOID_SYMMETRIC);
    calls->set_activation_function_output(fann, FANN_LINEAR);
    calls->set_activation_steepness_hidden(fann, 1);
    calls->set_activation_steepness_output(fann, 1);
    calls->set_training_algorithm(fann, FANN_TRAIN_RPROP);
    calls->set_train_error_function(fann, FANN_ERRORFUNC_LINEAR);
    for (uint32_t h = 0; h < HIDDEN; h++)
        for (uint32_t from = 0; from <= FEATURES; from++)
            calls->set_weight(fann, from, FIRST_HIDDEN + h, (double)(learner_random(&seed) >> 11) * 0x1p-52 - 1);
    for (uint32_t from = 0; from <= HIDDEN; from++)
        calls->set_weight(fann, FIRST_HIDDEN + from, OUTPUT,
                          ((double)(learner_random(&seed) >> 11) * 0x1p-52 - 1) / HIDDEN);
}

static enum corun_status take_weights(const struct calls *calls, struct fann *fann, struct network *network)
{
    unsigned count = calls->get_total_connections(fann);
    struct fann_connection *connections = malloc(count * sizeof *connections);
    if (!connections)
        return CORUN_MEMORY;
    calls->get_connection_array(fann, connections);
    for (unsigned i = 0; i < count; i++)
        *weight_of(network, connections[i].from_neuron, connections[i].to_neuron) = connections[i].weight;
    free(connections);
    return CORUN_OK;
}

enum corun_status network_learn(struct network *network, const struct point *points, uint32_t count,
                                enum predictor_target target, uint64_t seed, struct corun_diagnostics *list)
{
    struct calls found, *calls = &found;
    enum corun_status status = find_calls(calls, list);
    if (status != CORUN_OK)
        return status;
    const unsigned layers[] = {FEATURES, HIDDEN, 1};
    struct fann *fann = calls->create_standard_array(3, layers);
    struct fann_train_data *data = calls->create_train(count, FEATURES, 1);
    status = fann && data ? CORUN_OK : CORUN_MEMORY;
    if (status == CORUN_OK) {
        for (uint32_t i = 0; i < count; i++) {
            for (uint32_t f = 0; f < FEATURES; f++)
                data->input[i][f] = points[i].x[f];
            data->output[i][0] = points[i].y[target];
        }
        set_up(calls, fann, seed);
        for (uint32_t epoch = 0; epoch < EPOCHS; epoch++)
            calls->train_epoch(fann, data);
        status = take_weights(calls, fann, network);
    }
    if (data)
        calls->destroy_train(data);
    if (fann)
        calls->destroy(fann);
    return status;
}

double network_predict(const struct network *network, const double x[FEATURES])
{
    double y = network->output[HIDDEN];
    for (uint32_t h = 0; h < HIDDEN; h++) {
        double sum = network->hidden[h][FEATURES];
        for (uint32_t f = 0; f < FEATURES; f++)
            sum += network->hidden[h][f] * x[f];
        y += network->output[h] * tanh(sum);
    }
    return y;
}
