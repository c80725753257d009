/* SPDX-License-Identifier: MIT */
/*
 * The contract of sharing a host: several services with deadlines and batch programs on one multicore server. A policy never touches the
 * host; it reads a view and writes allowances of cores and ways of the last-level cache, and a host obeys. The simulated host is one, Linux
 * another. Pages: docs/host.md.
 *
 * Applications `a` are services or batch programs. A service gets queries `q`, each with a size of its own. A query may have cores and
 * ways of its own; without such, it runs on those of its application; without such, on the common cores, which are those that nobody
 * has for its own. Batch programs without a share of their own run on the common cores: they get what is left.
 *
 * A policy is called at few, named moments (enum corun_host_event). What it writes is checked before a host obeys: an impossible allowance
 * ends the run with status POLICY and names the policy.
 */
#ifndef CORUN_HOST_H
#define CORUN_HOST_H

#include "corun/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CORUN_HOST_POLICY_VERSION 1u
#define CORUN_HOST_QUERIES \
    256u /* entries that a table of queries has at most; what arrives beyond waits outside of it */
#define CORUN_HOST_ALL UINT32_MAX  /* instances: as many as there are */
#define CORUN_HOST_NONE UINT32_MAX /* no such query, no such application */

/*
 * What a host can do. C(name, meaning). Without WAYS the cache is common: the ways of a share are written down, take nothing from anybody, and
 * may be as many as there are in every share.
 */
#define CORUN_HOST_CAPABILITIES(C) \
    C(CORES, "gives threads cores of their own") \
    C(WAYS, "gives cores ways of the last-level cache of their own") \
    C(START, "holds a query back until it may start") \
    C(QUERY, "gives a single query cores and ways of its own") \
    C(INSTANCES, "stops and continues instances of a batch program") \
    C(FAIRNESS, "divides the common cores by applications as well as by threads")

/* What a host can tell. A policy declares what it reads and sees nothing else. O(name, meaning) */
#define CORUN_HOST_OBSERVATIONS(O) \
    O(SIZE, "knows the size of a query's input when it arrives") \
    O(IPC, "counts the instructions of a query and of an application") \
    O(PROGRESS, "hears from a service how far a query has come") \
    O(BANDWIDTH, "measures the memory traffic of an application")

/* clang-format off */
enum corun_host_capability {
#define CORUN_HOST_CAPABILITY_ENUM(name, meaning) CORUN_HOST_CAN_##name,
    CORUN_HOST_CAPABILITIES(CORUN_HOST_CAPABILITY_ENUM)
#undef CORUN_HOST_CAPABILITY_ENUM
    CORUN_HOST_CAPABILITY_COUNT
};
enum corun_host_observation {
#define CORUN_HOST_OBSERVATION_ENUM(name, meaning) CORUN_HOST_SEES_##name,
    CORUN_HOST_OBSERVATIONS(CORUN_HOST_OBSERVATION_ENUM)
#undef CORUN_HOST_OBSERVATION_ENUM
    CORUN_HOST_OBSERVATION_COUNT
};
/* clang-format on */

/*
 * A prediction for one query on cores and ways of its own, with nobody else on the host (EMU, section 5.4.1). Instructions per cycle count
 * all threads of the query over the clock cycles of its duration: ipc * duration is its work, whatever its cores.
 */
struct corun_host_prediction {
    double duration_ns; /* from its start to its end, finite, above 0 */
    double ipc;         /* finite, above 0 */
};

/*
 * A predictor of one service. `predict` cannot fail, allocates nothing, and may be called by several threads at once: whatever a model
 * needs, it has checked when it was loaded. Sizes outside of what it learned give the model's best extrapolation.
 */
struct corun_host_model {
    const char *
        name; /* "knn", "network", …; "best": for duration and IPC each the model with the highest R² on the held-out samples */
    const void *state;
    void (*predict)(const void *state, double size, uint32_t cores, uint32_t ways,
                    struct corun_host_prediction *prediction);
};

/* What a model learns from: one query of one service, alone on the host. */
struct corun_host_sample {
    double size;
    uint32_t cores, ways;
    struct corun_host_prediction measured;
};

enum corun_host_kind { CORUN_HOST_SERVICE, CORUN_HOST_BATCH };

/* Cores and ways of its own. No cores: nothing of its own. Cores without ways: it shares the common ways, which are all without WAYS. */
struct corun_host_share {
    uint32_t cores, ways;
};

/* Counts of the last interval are of the host's interval for an application, of the query's own for a query. NAN: not known. */
struct corun_host_application_view {
    const char *name;
    enum corun_host_kind kind;
    uint64_t goal_ns;   /* service: 99 of 100 queries are to be answered within this after they arrived; 0: no goal */
    uint32_t threads;   /* most that a query, or an instance, uses */
    uint32_t instances; /* batch: present, running or stopped */
    uint32_t running;   /* batch: instances that may run; service: queries that have started and not ended */
    uint32_t waiting;   /* service: queries that wait for their start */
    struct corun_host_share share;
    double interval_ipc;                   /* IPC: of all its queries or instances together */
    double interval_bandwidth;             /* BANDWIDTH: bytes per second, read and written back */
    const struct corun_host_model *models; /* [model_count], the default first; of a service, else NULL */
    uint32_t model_count;
};

enum corun_host_query_state {
    CORUN_HOST_QUERY_FREE, /* nobody has the entry */
    CORUN_HOST_QUERY_WAITING,
    CORUN_HOST_QUERY_RUNNING
};

struct corun_host_query_view {
    enum corun_host_query_state state;
    uint64_t id; /* counts queries in order of arrival, from 0 */
    uint32_t application;
    double size; /* SIZE: of its input, in the unit of the service */
    uint64_t arrived_ns, started_ns;
    struct corun_host_share share;
    uint64_t interval_ns; /* length of its last whole interval: intervals of a query count from its start */
    double interval_ipc;  /* IPC: instructions of all its threads per clock cycle, in its last interval */
    double instructions;  /* IPC: since its start */
    double progress;      /* PROGRESS: 0 to 1 */
};

struct corun_host_view {
    uint32_t version; /* CORUN_HOST_POLICY_VERSION */
    uint64_t now_ns;
    uint64_t interval_ns; /* of INTERVAL and QUERY_INTERVAL */
    uint32_t clock_khz;
    uint32_t core_count, way_count;
    uint64_t way_bytes;
    double bandwidth; /* of the memory, bytes per second; NAN if not known */
    uint32_t capabilities, observations;
    const struct corun_host_application_view *applications; /* [application_count] */
    uint32_t application_count;
    const struct corun_host_query_view
        *queries; /* [query_count], as far as the last one that is not free; at most CORUN_HOST_QUERIES */
    uint32_t query_count;
};

/* How the threads on the common cores share them. */
enum corun_host_fairness {
    CORUN_HOST_FAIR_THREADS,     /* every runnable thread gets the same */
    CORUN_HOST_FAIR_APPLICATIONS /* every application with runnable threads gets the same, its threads share that */
};

/*
 * The table of allowances persists between calls; it starts with nothing of anybody's own, all instances, and nothing started. Entries of a
 * query are as at the start when the query arrives. Shares of cores together are at most the host's cores; ways likewise, where WAYS
 * can be given. A service's query that has started on common cores which are none stands still until there are some.
 */
struct corun_host_allowances {
    struct corun_host_share *application; /* [application_count] */
    uint32_t *instances;                  /* [application_count]: of a batch program that may run; HOST_ALL */
    struct corun_host_share *query;       /* [CORUN_HOST_QUERIES] */
    bool *start;                          /* [CORUN_HOST_QUERIES]: it may start; nothing takes that back */
    enum corun_host_fairness fairness;
    const char *refusal; /* in words, why `start` does not return OK; constant text; may stay NULL */
};

enum corun_host_event {
    CORUN_HOST_QUERY_ARRIVES,  /* `query` is WAITING */
    CORUN_HOST_QUERY_STARTS,   /* `query` is RUNNING, for no time yet */
    CORUN_HOST_QUERY_INTERVAL, /* `query` has run for another interval */
    CORUN_HOST_QUERY_ENDS,     /* `query` has been answered now; its entry, still RUNNING, is free after this call */
    CORUN_HOST_INTERVAL        /* an interval of the host has ended */
};

struct corun_host_moment {
    enum corun_host_event event;
    uint32_t query; /* CORUN_HOST_NONE with INTERVAL */
};

/* A parameter of a policy. With `choices` ("on|off") it is written by name, and its value is the place in the list. */
struct corun_host_parameter {
    const char *name;
    double initial, lowest, highest;
    bool integer;
    const char *meaning;
    const char *choices; /* NULL: a number */
};

struct corun_host_policy {
    uint32_t version; /* CORUN_HOST_POLICY_VERSION */
    const char *name;
    const char *summary; /* one line */
    const char *paper;   /* paper and section */
    const struct corun_host_parameter *parameters;
    uint32_t parameter_count;
    uint32_t needs;     /* bit mask of enum corun_host_capability */
    uint32_t observes;  /* bit mask of enum corun_host_observation */
    bool needs_models;  /* every service has a model before the policy starts */
    size_t state_bytes; /* zeroed, given to every call; what it keeps of a query is in arrays of CORUN_HOST_QUERIES */
    /* Before the first moment: checks parameters against the host; what it returns other than OK ends the run. */
    enum corun_status (*start)(void *state, const struct corun_host_view *view, const double *parameters,
                               struct corun_host_allowances *allowances);
    void (*decide)(void *state, const struct corun_host_view *view, struct corun_host_moment moment,
                   struct corun_host_allowances *allowances);
};

/* The built-in policies; NULL after the last. */
const struct corun_host_policy *corun_host_policy_at(size_t index);
const struct corun_host_policy *corun_host_policy_find(const char *name);

#ifdef __cplusplus
}
#endif
#endif
