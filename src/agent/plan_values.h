/* SPDX-License-Identifier: MIT */
/* Values of plans, wherever they are written. */
#ifndef CORUN_AGENT_PLAN_VALUES_H
#define CORUN_AGENT_PLAN_VALUES_H

#include "agent/plan.h"

bool plan_is_name(const char *name);
bool plan_read_time(const char *text, uint64_t *ns);
/* False: no key of such an application, or no value of the key. `text` is kept where it is a text. */
bool plan_read_value(struct plan_tenant *tenant, const char *key, const char *text);
/* The keys in words. */
const char *plan_keys(enum corun_host_kind kind);
/* NULL: there are too many. */
struct plan_tenant *plan_new_tenant(struct plan *plan, enum corun_host_kind kind);

#endif
