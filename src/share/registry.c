/* SPDX-License-Identifier: MIT */
/* The list of built-in policies: the one place that names them all. */
#include "share/policies.h"

#include <string.h>

/* In order of introduction. */
static const struct corun_policy *const policies[] = {
    &cooperative_policy,   &even_policy,         &smart_even_policy,
    &rounds_policy,        &profile_policy,      &fixed_policy,
    &time_slice_policy,    &spart_policy,        &smqos_policy,
    &static_smqos_policy,  &spart_qos_policy,    &smk_policy,
    &smk_p_policy,         &smk_pw_policy,       &qos_naive_policy,
    &qos_elastic_policy,   &qos_rollover_policy, &qos_rollover_time_policy,
    &warped_slicer_policy, &slate_policy,        &thread_limits_policy,
    &priority_policy,      &turns_policy,        &pace_policy,
};

const struct corun_policy *corun_policy_at(size_t index)
{
    return index < sizeof policies / sizeof policies[0] ? policies[index] : NULL;
}

const struct corun_policy *corun_policy_find(const char *name)
{
    for (size_t index = 0; corun_policy_at(index); index++) {
        if (!strcmp(corun_policy_at(index)->name, name))
            return corun_policy_at(index);
    }
    return NULL;
}
