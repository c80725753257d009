/* Policies of users that crash or do not come back. */
#ifndef CORUN_CLI_POLICY_WATCH_H
#define CORUN_CLI_POLICY_WATCH_H

#include "corun/case.h"

/*
 * If the policy of the case is a shared object: from now on the process ends with status POLICY and its name when it
 * does that.
 */
void policy_watch(struct corun_case *job);

#endif
