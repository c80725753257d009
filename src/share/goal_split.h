/* SPDX-License-Identifier: MIT */
/* The GPU in parts as goals are of the isolated IPC: what policies with a static split share. */
#ifndef CORUN_SHARE_GOAL_SPLIT_H
#define CORUN_SHARE_GOAL_SPLIT_H

#include "corun/policy.h"

/* The goal as a fraction of what the application reaches alone, whether it is there or not; 0: none, or not known. */
double goal_split_ratio(const struct corun_application_view *application);
/* The goals of all, also of those that are yet to come, add up to more than the whole GPU; *refusal says so. */
bool goal_split_too_much(const struct corun_view *view, const char **refusal);
/*
 * SMs of those that are present: parts of an SM are rounded up, so that the ratio is not below the goal, but everybody else keeps an SM; those
 * without a goal share the rest evenly. Without anybody but those with goals, the rest is nobody's.
 */
void goal_split_counts(const struct corun_view *view, const bool *present, uint32_t *counts);

#endif
