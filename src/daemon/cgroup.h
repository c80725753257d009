/* SPDX-License-Identifier: MIT */
/* Control groups: in which one a process is, and which of them a row of limits is of. */
#ifndef CORUN_DAEMON_CGROUP_H
#define CORUN_DAEMON_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define CGROUP_BYTES 512u /* of a path, with its zero */

/*
 * The control group in a text as /proc/PID/cgroup: of the unified hierarchy or, where that has none but its root, of systemd's own. False: there is none, or its path is too
 * long; then the path is "".
 */
bool cgroup_parse(const char *text, char path[CGROUP_BYTES]);
/* That of a process. False: it is gone, or hidden from us. */
bool cgroup_of(pid_t process, char path[CGROUP_BYTES]);
/*
 * Whether a pattern can be one: /NAME/NAME…, whose names may have the signs of fnmatch(3), and no backslash that takes their meaning away.
 */
bool cgroup_is_pattern(const char *pattern);
/* How many bytes of the path are the control group that the pattern is of, the path's own or one above; 0: it is of none. */
size_t cgroup_fits(const char *pattern, const char *path);

#endif
