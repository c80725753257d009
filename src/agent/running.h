/* SPDX-License-Identifier: MIT */
/*
 * An agent while it runs. Its parts: agent.c (time and signals), listener.c and connections.c (sockets, messages), queries.c (who waits and who runs),
 * members.c (processes), programs.c (those it starts), obey.c (cores and ways), measure.c (work), outcome.c (what became of it).
 */
#ifndef CORUN_AGENT_RUNNING_H
#define CORUN_AGENT_RUNNING_H

#include "agent/agent.h"
#include "agent/counters.h"
#include "agent/cpuset.h"
#include "agent/latencies.h"
#include "agent/placing.h"
#include "agent/resctrl.h"
#include "corun/service_messages.h"

#include <sys/resource.h>

#define AGENT_WAITING 65536u     /* queries that wait, of all services; more end their connection */
#define AGENT_SLOTS 64u          /* groups of ways at most */
#define AGENT_QUERY_UNITS 1000.0 /* instructions that a unit of a query's size counts as, where none are counted */

struct agent;
struct connection;

struct query {
    uint64_t id, number; /* the agent's, the program's */
    uint64_t arrived_ns, started_ns;
    double size, progress;  /* progress 0: none was reported */
    uint32_t tenant, entry; /* entry of the table; NONE: outside */
    struct connection *connection;
    bool running, announced; /* announced: its program knows that it may start */
    bool steady;             /* its cores and ways have been the same since it started */
    uint32_t cores, ways;    /* that it had when it started; 0 ways: the common ones */
    const pid_t *threads;    /* [thread_count], owned; none: all of the process */
    uint32_t thread_count;
    double cpu_ns, counted; /* of its threads, when it started */
    struct query *next_of_connection, *previous_of_connection;
    struct query *next_waiting; /* outside of the table, in order */
    struct query *next_in_bucket;
};

/* A thread that was said to work on a query: counted on its own. */
struct known_thread {
    pid_t thread;
    struct counters counters;
};

enum connection_state { CONNECTION_NEW, CONNECTION_SERVES, CONNECTION_BATCH, CONNECTION_WATCHES };

struct connection {
    int fd;
    enum connection_state state;
    struct process_id process;
    uint64_t since_ns;
    uint32_t tenant, workers, busy;
    struct member *member;
    struct query *queries;
    VECTOR(struct known_thread) threads;
    VECTOR(struct corun_service_start) starts; /* that have not been sent */
    bool waits_for_room, over;                 /* over: closed at the next occasion */
};

/* Where a thread could run that was not where its process's first thread could. */
struct thread_cores {
    struct process_id thread;
    cpu_set_t cores;
};

/* A process that was given: started, named by its number, or connected. One that connects under several names is a member of each. */
struct member {
    struct process_id id;
    uint32_t tenant;
    bool program, connected_only; /* started by the agent; here for its connection alone */
    bool gone, stopped, placed;
    struct connection *connection;
    cpu_set_t cores, original;
    VECTOR(struct thread_cores) originals; /* threads that were elsewhere */
    VECTOR(struct process_id) stopped_ids; /* of its tree, that have been stopped and are in the journal */
    uint32_t group;                        /* of cpuset, from 1; 0: none */
    char *home;                            /* the control group that it was in; owned */
    struct counters counters;
    double reported, cpu_ns; /* latest */
    uint64_t started_ns;
};

/* Work by each measure, so that it can be decided late which is told. */
struct work {
    double counted, reported, cpu_ns;
};

struct tenant {
    const struct plan_tenant *plan;
    struct work ended, warm; /* of members that are gone; when the warm-up ended */
    enum agent_work work;
    uint32_t runs, failures, lost, late;
    uint64_t answered, unanswered;
    double wait_ns, core_ns, way_ns, finished_work, cpu_per_size;
    uint32_t cores, ways;        /* of its own, with those of its queries; batch: that it can run on */
    struct latencies *latencies; /* of a service */
    struct predictor *predictor;
    struct corun_host_model models[HOST_LEARNED_MODELS];
    double traffic_warm;
};

/* A group of ways, and who has it. */
struct slot {
    bool made, failed;
    uint32_t owner; /* of placing; 0: free (slot 0 is that of the common ways) */
    uint64_t mask;
    cpu_set_t cores;
};

struct agent {
    const struct agent_setting *setting;
    const struct plan *plan;
    struct corun_diagnostics *list;
    struct arena *arena;
    enum corun_status status;

    struct topology topology;
    struct journal journal;
    struct cpuset cpuset;
    struct resctrl resctrl;
    struct placing placing;
    struct slot slots[AGENT_SLOTS];
    bool counts;
    char journal_path[256], socket_path[200];

    struct governor governor;
    uint64_t now_ns, began_ns, warm_ns, held_ns, ends_ns; /* held: since when everybody has what it has */
    bool warm, ending, serves;                            /* serves: it has started services */

    struct tenant tenants[GOVERNOR_TENANTS];
    VECTOR(struct member *) members;
    VECTOR(struct connection *) connections;
    VECTOR(uint32_t) free_groups; /* of cpuset, that nobody is in any more */
    uint32_t group_count;

    struct query *entries[CORUN_HOST_QUERIES];
    struct query *waiting, **waiting_end; /* outside of the table */
    struct query **buckets;
    uint64_t next_id;
    uint32_t waiting_count;

    int epoll, listener, signals, timer;
    bool descriptors_raised;
    struct rlimit descriptors_before; /* that it was given, and its programs are */
    pid_t guardian;
    int guardian_pipe;

    struct agent_means means;
    uint64_t refused;
    uint32_t failed_moves;
    char first_failure[200];
};

/* The first status that is not OK stays, and ends the run. */
void agent_keep(struct agent *agent, enum corun_status status);
/* Something that the kernel refused: counted, the first one in words. */
void agent_note_failure(struct agent *agent, const char *what, pid_t pid, int error);

/* ---- listener.c, connections.c ---- */
enum corun_status listener_open(struct agent *agent);
void listener_accept(struct agent *agent);
void connection_hear(struct agent *agent, struct connection *connection);
void connection_flush(struct agent *agent, struct connection *connection);
void connection_start_query(struct agent *agent, struct query *query);
/* Those that are over are closed; their queries end. */
void connections_sweep(struct agent *agent);
/* `reason` is told; at the next sweep it is closed. */
void connection_end(struct agent *agent, struct connection *connection, const char *reason, bool refused);

/* ---- queries.c ---- */
bool queries_begin(struct agent *agent);
void query_arrive(struct agent *agent, struct connection *connection, uint64_t number, double size, uint64_t at_ns);
struct query *query_find(const struct agent *agent, const struct connection *connection, uint64_t number);
/* It has been answered, or is lost with its connection. */
void query_end(struct agent *agent, struct query *query, uint64_t at_ns, bool lost);
void queries_end(struct agent *agent);

/* ---- members.c, programs.c ---- */
/* Takes a process that runs already. NULL: it is gone, or there is no memory. */
struct member *member_take(struct agent *agent, uint32_t tenant, pid_t pid, bool program);
/* The member whose process this is; NULL. */
struct member *member_find(const struct agent *agent, uint32_t tenant, pid_t pid);
/* It is not governed any more; a process that lives on is as it was before. */
void member_release(struct agent *agent, struct member *member);
void member_confine(struct agent *agent, struct member *member, const cpu_set_t *cores);
void member_stop(struct agent *agent, struct member *member, bool stop);
uint32_t members_present(const struct agent *agent, uint32_t tenant);
void members_look(struct agent *agent); /* for those that have gone without being waited for */
enum corun_status programs_start(struct agent *agent, uint32_t tenant);
void programs_reap(struct agent *agent);
bool programs_serve(const struct agent *agent); /* whether a started service still runs */
void programs_end(struct agent *agent);

/* ---- obey.c ---- */
enum corun_status obey_begin(struct agent *agent);
void obey(void *user); /* struct governor_host */
/* The threads of a query have been told. */
void obey_threads(struct agent *agent, struct connection *connection);

/* ---- measure.c ---- */
void measure_begin(struct agent *agent);
enum corun_status measure_load_models(struct agent *agent);
double measure_query(void *user, uint32_t entry);
double measure_tenant(void *user, uint32_t tenant);
double measure_traffic(void *user, uint32_t tenant);
struct work measure_all(struct agent *agent, uint32_t tenant);
void measure_started(struct agent *agent, struct query *query);
void measure_ended(struct agent *agent, struct query *query, uint64_t ended_ns);
/* The batch program has reported: from now on that is its work, unless instructions are counted. */
void measure_forget_member(struct agent *agent, struct member *member);

/* ---- outcome.c ---- */
void outcome_note(struct agent *agent, const struct query *query, uint64_t ended_ns, bool lost);
void outcome_integrate(struct agent *agent); /* cores and ways until now */
void outcome_hold(struct agent *agent);      /* those that everybody has from now on */
void outcome_warm(struct agent *agent);
void outcome_judge(struct agent *agent, struct agent_outcome *outcome);
/* As JSON, in `text`; its length. */
size_t outcome_status(struct agent *agent, char *text, size_t bytes);

/* ---- guardian.c ---- */
bool guardian_begin(struct agent *agent);
void guardian_end(struct agent *agent);

#endif
