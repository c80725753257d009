/* SPDX-License-Identifier: MIT */
/* Who may come, and how much each may have. */
#ifndef CORUN_DAEMON_LIMITS_H
#define CORUN_DAEMON_LIMITS_H

#include "daemon/cgroup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LIMITS_MOST_ROWS 64u
#define PEER_MOST_GROUPS 1024u

/* Who has connected, as the kernel says. */
struct peer {
    uint32_t pid, uid, gid;
    uint32_t groups[PEER_MOST_GROUPS], group_count; /* besides gid */
    uint32_t groups_unknown;                        /* 1: there are more of them, or the kernel does not say which */
    char cgroup[CGROUP_BYTES];                      /* when it came; "": it is not known */
};

enum limit_of { LIMIT_OF_USER, LIMIT_OF_GROUP, LIMIT_OF_CGROUP, LIMIT_OF_EVERYBODY };

/*
 * A row. That of a user counts what this user has; that of a group what those have together for whom it is the first that fits; that of control groups what
 * the processes of each have together; that of everybody what each user has.
 */
struct limit {
    enum limit_of of;
    uint32_t id;               /* user or group */
    uint32_t clients;          /* contexts at a time, of all GPUs; UINT32_MAX: not limited */
    uint64_t memory;           /* bytes, of all GPUs; UINT64_MAX: not limited */
    double share;              /* of a GPU, that goals may promise together; INFINITY: not limited */
    char cgroup[CGROUP_BYTES]; /* of control groups: the pattern (cgroup_fits) */
};

/* Without rows the daemon's own user and root may come, without limits; with rows these two as well, unless one of a control group fits. */
struct limits {
    struct limit rows[LIMITS_MOST_ROWS];
    uint32_t count;
};

#define LIMITS_NOBODY UINT32_MAX      /* may not come */
#define LIMITS_OWNER (UINT32_MAX - 1) /* is not limited */
/*
 * The row that counts for somebody. `owner`: the daemon's own user. For him and root only rows of control groups count. Whose groups, or control group, are not known gets no further
 * than the first row of one.
 */
uint32_t limits_find(const struct limits *limits, const struct peer *peer, uint32_t owner);
/* Whether two, for whom these rows count, share what the row gives. */
bool limits_same(const struct limits *limits, uint32_t row, const struct peer *peer, uint32_t other_row,
                 const struct peer *other);

#endif
