/* SPDX-License-Identifier: MIT */
/* What is kept of each epoch. */
#include "software/state.h"

static uint32_t variable_count(const struct software *software)
{
    return software->options.policy ? software->options.policy->variable_count : 0;
}

enum corun_status history_note(struct software *software, uint64_t time)
{
    struct software_epoch epoch = {.end_ns = time};
    for (uint32_t a = 0; a < software->count; a++) {
        struct software_share *share = &epoch.shares[a];
        share->progress = software->applications[a].progress;
        for (uint32_t place = 0; place < software->places; place++) {
            uint32_t resident = share_of(software, place, a)->resident;
            share->sms += resident != 0;
            share->tbs += resident;
        }
    }
    for (uint32_t i = 0; i < variable_count(software); i++)
        if (!vector_push(&software->variables, software->allowances->variables[i]))
            return CORUN_MEMORY;
    return vector_push(&software->epochs, epoch) ? CORUN_OK : CORUN_MEMORY;
}

uint32_t software_epochs(const struct software *software, const struct software_epoch **epochs)
{
    *epochs = software->epochs.data;
    return (uint32_t)software->epochs.count;
}

const double *software_variables(const struct software *software, uint32_t epoch)
{
    uint32_t count = variable_count(software);
    return count ? &software->variables.data[(size_t)epoch * count] : NULL;
}
