/* SPDX-License-Identifier: MIT */
/* What the limits leave to a client, beside what others have of the same row. */
#ifndef CORUN_DAEMON_ALLOWANCE_H
#define CORUN_DAEMON_ALLOWANCE_H

#include "daemon/node.h"

/* Whether goals of its user may promise so much; NULL: they may. */
const char *share_problem(const struct session *session, uint32_t goal, double value);

#endif
