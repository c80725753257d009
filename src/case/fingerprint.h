/* SPDX-License-Identifier: MIT */
/* What computed a result: cached ones are used only by the very model that made them. */
#ifndef CORUN_CASE_FINGERPRINT_H
#define CORUN_CASE_FINGERPRINT_H

/*
 * Hashes, in hexadecimal, over the sources: of PTX front end, executor, simulated GPU and governor; of the policies; of what serves queues,
 * with its schedulers, its model and its driver; of what divides a task, with the
 * driver that its programs get. The build defines them.
 */
const char *model_fingerprint(void);
const char *policy_fingerprint(void);
const char *queue_fingerprint(void);
const char *split_fingerprint(void);

#endif
