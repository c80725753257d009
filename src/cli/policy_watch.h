/* Policies of users that crash or do not come back. */
#ifndef CORUN_CLI_POLICY_WATCH_H
#define CORUN_CLI_POLICY_WATCH_H

#include "corun/case.h"

/*
 * If the policy of the case is a shared object: from now on the process ends with status POLICY and its name when it
 * does that.
 */
void policy_watch(struct corun_case *job);
/*
 * The same for the time between the two in which shared objects are loaded, whose constructors run then. `where` names
 * them: an option, a file. Unless `nothing_else` is done meanwhile, no time is set for it.
 */
void policy_watch_loading(const char *where, bool nothing_else);
void policy_watch_loaded(void);

#endif
