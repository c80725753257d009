/* SPDX-License-Identifier: MIT */
/* Policies of users: shared objects that export `const struct corun_policy corun_policy` (docs/writing-policies.md). */
#ifndef CORUN_SHARE_LOAD_H
#define CORUN_SHARE_LOAD_H

#include "corun/policy.h"
#include "corun/status.h"

/*
 * How much of a policy as it is written, NAME[:PARAMETER=VALUE,…], is the path of a shared object: up to the end of its ".so". 0: it is a
 * name. A path has a slash before the first colon.
 */
size_t policy_path_length(const char *text);
/*
 * Loads it and checks its tables, so that names and ranges can be relied on. NOT_FOUND, FILE, POLICY with a message. The policy stays
 * loaded until the process ends.
 */
enum corun_status policy_load(const char *path, struct corun_diagnostics *list, const struct corun_policy **policy);

/* The same for a table of parameters, of whatever has one: POLICY after a message that begins with `where`. */
enum corun_status policy_check_parameters(const struct corun_policy_parameter *rows, uint32_t count, const char *where,
                                          struct corun_diagnostics *list);
/* 1 to 48 letters, digits, - and _. */
bool policy_is_name(const char *name);

#endif
