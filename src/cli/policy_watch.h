/* SPDX-License-Identifier: MIT */
/* Policies of users that crash, end the process, or do not come back: then it ends with status POLICY and says whose fault it was. */
#ifndef CORUN_CLI_POLICY_WATCH_H
#define CORUN_CLI_POLICY_WATCH_H

#include "corun/case.h"

/*
 * Before shared objects are loaded, whose constructors run then. From here on the command is carried out by a child of this process,
 * and this process tells how the child ends; only under a debugger they stay one. `where` names the shared objects: an option, a
 * file. Nothing but loading may happen until policy_watch_loaded, for it has a time limit. There must be no other thread yet.
 */
void policy_watch_loading(const char *where);
void policy_watch_loaded(void);
/* If the policy of the case is a shared object: its calls are watched as well. */
void policy_watch(struct corun_case *job);
/* The same without a case: what is to be called before and after each call of the policy; NULL: nothing. */
typedef void policy_call(void *user, bool begins);
policy_call *policy_watch_calls(const struct corun_policy *policy);
/* All is done, and only the end of the process with that status is to come. */
void policy_watch_end(int exit_status);

#endif
