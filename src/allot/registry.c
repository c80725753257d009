/* SPDX-License-Identifier: MIT */
/* The policies of a host by name. */
#include "allot/policies.h"

#include <string.h>

static const struct corun_host_policy *const policies[] = {&allot_os,   &allot_static_opt, &allot_emu,
                                                           &allot_pace, &allot_heracles,   &allot_fixed};

const struct corun_host_policy *corun_host_policy_at(size_t index)
{
    return index < sizeof policies / sizeof *policies ? policies[index] : NULL;
}

const struct corun_host_policy *corun_host_policy_find(const char *name)
{
    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++)
        if (!strcmp(policies[i]->name, name))
            return policies[i];
    return NULL;
}
