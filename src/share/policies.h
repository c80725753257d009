/* SPDX-License-Identifier: MIT */
/* The built-in policies: one file each, named in registry.c. */
#ifndef CORUN_SHARE_POLICIES_H
#define CORUN_SHARE_POLICIES_H

#include "corun/policy.h"

extern const struct corun_policy cooperative_policy;
extern const struct corun_policy even_policy;
extern const struct corun_policy smart_even_policy;
extern const struct corun_policy rounds_policy;
extern const struct corun_policy profile_policy;
extern const struct corun_policy fixed_policy;
extern const struct corun_policy time_slice_policy;
extern const struct corun_policy spart_policy;
extern const struct corun_policy smqos_policy;
extern const struct corun_policy static_smqos_policy;
extern const struct corun_policy spart_qos_policy;
extern const struct corun_policy smk_policy;
extern const struct corun_policy smk_p_policy;
extern const struct corun_policy smk_pw_policy;
extern const struct corun_policy qos_naive_policy;
extern const struct corun_policy qos_elastic_policy;
extern const struct corun_policy qos_rollover_policy;
extern const struct corun_policy qos_rollover_time_policy;
extern const struct corun_policy warped_slicer_policy;
extern const struct corun_policy slate_policy;
extern const struct corun_policy thread_limits_policy;
extern const struct corun_policy priority_policy;
extern const struct corun_policy turns_policy;
extern const struct corun_policy pace_policy;

#endif
