/* SPDX-License-Identifier: MIT */
/* K nearest neighbours by looking at all samples: a few hundred cost some microseconds. */
#include "host/knn.h"

#include <math.h>

#define NEIGHBOURS 5u

struct row {
    double size, cores, ways; /* scaled */
    struct corun_host_prediction measured;
};

struct knn {
    double size_scale, core_scale, way_scale;
    size_t count;
    struct row *rows;
};

static void predict(const void *state, double size, uint32_t cores, uint32_t ways,
                    struct corun_host_prediction *prediction)
{
    const struct knn *knn = state;
    double distances[NEIGHBOURS];
    size_t nearest[NEIGHBOURS], found = 0;
    double at[] = {size * knn->size_scale, cores * knn->core_scale, ways * knn->way_scale};
    for (size_t i = 0; i < knn->count; i++) {
        const struct row *row = &knn->rows[i];
        double distance = (row->size - at[0]) * (row->size - at[0]) + (row->cores - at[1]) * (row->cores - at[1]) +
                          (row->ways - at[2]) * (row->ways - at[2]);
        size_t place = found;
        if (found == NEIGHBOURS && distance >= distances[NEIGHBOURS - 1])
            continue;
        if (found < NEIGHBOURS)
            found++;
        else
            place--;
        for (; place && distances[place - 1] > distance; place--) {
            distances[place] = distances[place - 1];
            nearest[place] = nearest[place - 1];
        }
        distances[place] = distance;
        nearest[place] = i;
    }
    *prediction = (struct corun_host_prediction){0, 0};
    for (size_t i = 0; i < found; i++) {
        prediction->duration_ns += knn->rows[nearest[i]].measured.duration_ns / (double)found;
        prediction->ipc += knn->rows[nearest[i]].measured.ipc / (double)found;
    }
}

static double scale_of(double lowest, double highest)
{
    return highest > lowest ? 1 / (highest - lowest) : 0;
}

enum corun_status host_knn_create(const struct corun_host_sample *samples, size_t count, struct arena *arena,
                                  struct corun_diagnostics *list, struct corun_host_model *model)
{
    if (!count)
        return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE, "a model needs samples");
    struct knn *knn = ARENA_NEW(arena, struct knn);
    struct row *rows = ARENA_ARRAY(arena, struct row, count);
    if (!knn || !rows)
        return corun_report(list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory for a model");
    struct corun_host_sample low = samples[0], high = samples[0];
    for (size_t i = 0; i < count; i++) {
        low.size = fmin(low.size, samples[i].size);
        high.size = fmax(high.size, samples[i].size);
        low.cores = low.cores < samples[i].cores ? low.cores : samples[i].cores;
        high.cores = high.cores > samples[i].cores ? high.cores : samples[i].cores;
        low.ways = low.ways < samples[i].ways ? low.ways : samples[i].ways;
        high.ways = high.ways > samples[i].ways ? high.ways : samples[i].ways;
    }
    *knn = (struct knn){scale_of(low.size, high.size), scale_of(low.cores, high.cores), scale_of(low.ways, high.ways),
                        count, rows};
    for (size_t i = 0; i < count; i++)
        rows[i] = (struct row){samples[i].size * knn->size_scale, samples[i].cores * knn->core_scale,
                               samples[i].ways * knn->way_scale, samples[i].measured};
    *model = (struct corun_host_model){"knn", knn, predict};
    return CORUN_OK;
}
