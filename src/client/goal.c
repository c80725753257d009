/* SPDX-License-Identifier: MIT */
/* The program's own goal, told to whom the process has. */
#include "corun/client.h"

#include "client/find.h"

#include <string.h>

enum corun_status corun_set_goal(enum corun_goal_kind kind, double value)
{
    enum corun_status (*set_goal)(enum corun_goal_kind, double) = NULL;
    void *found = client_find("corun_shim_set_goal", "corun_cuda_set_goal");
    memcpy(&set_goal, &found, sizeof set_goal);
    return set_goal ? set_goal(kind, value) : CORUN_UNSUPPORTED;
}
