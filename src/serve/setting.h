/* SPDX-License-Identifier: MIT */
/* Settings of a queue as people write them, on a command line or in the description of a campaign. */
#ifndef CORUN_SERVE_SETTING_H
#define CORUN_SERVE_SETTING_H

#include "serve/serve.h"

#define SERVE_DEFAULT_SCHEDULER "kernelet"

/* Those that `corun queue` has without settings; all else of the request is 0. */
void serve_initial(struct serve_request *request);
/*
 * `name` is the long name of an option of `corun queue`: arrivals, instances, seed, transfers, slicing, memory or profile. USAGE, with a message that
 * names the option; NOT_FOUND, without one: it is none of these.
 */
enum corun_status serve_set(const char *name, const char *value, struct corun_diagnostics *list,
                            struct serve_request *request);

#endif
