/* SPDX-License-Identifier: MIT */
/*
 * What an SM has at most: sizes of its tables and widths of its masks; gpu/config_check.c holds configurations to them.
 */
#ifndef CORUN_GPU_SM_LIMITS_H
#define CORUN_GPU_SM_LIMITS_H

#include "corun/source.h"

#define MAX_SMS 1024u
#define MAX_WARPS 64u
#define MAX_TBS 64u
#define MAX_SCHEDULERS 8u
#define MAX_BARRIERS CORUN_MEETINGS
#define MAX_PIPES_PER_KIND 16u
#define MAX_COLLECTORS 64u
#define MAX_BANKS 64u
#define NOTHING UINT32_MAX /* no warp, scheduler, record, slot, … */

#endif
