/* SPDX-License-Identifier: MIT */
/*
 * What a software machine consists of, for its files:
 *
 *   software.c   create, destroy, results
 *   run.c        the loop: events of the runtime, looks, epochs, arrivals, the end
 *   look.c       what a copy of the table tells
 *   likely.c     what it does not tell: how far running thread blocks are
 *   orders.c     runs of an application as jobs, and their launches in order
 *   crews.c      how many workers are launched, when
 *   plugs.c      what keeps others' workers from SMs that are somebody's own
 *   room.c       what an SM has room for
 *   grants.c     launches by grants, whole and in slices
 *   requests.c   runs that begin when they are asked for
 *   limits.c     allowances as limits in the table
 *   machine.c    the operations of corun/machine.h
 *   history.c    what is kept of each epoch
 */
#ifndef CORUN_SOFTWARE_STATE_H
#define CORUN_SOFTWARE_STATE_H

#include "base/vector.h"
#include "govern/governor.h"
#include "rewrite/workers.h"
#include "runtime/crew.h"
#include "runtime/plug.h"
#include "runtime/table.h"
#include "software/software.h"
#include "workload/commands.h"

enum {
    RING = 64,       /* launches of an application that have a queue in the table */
    HALF = RING / 2, /* that are set up at once */
    JOBS = 3,        /* runs whose data are on the device, or on their way */
    MOST_AHEAD = 16, /* launches that are given before the one before has ended */
    /* In about so many looks an SM changes hands: the one that shows the need, a copy of limits, the one that shows that the old owner's workers have gone. */
    HAND_OVER_LOOKS = 3,
    LANDING_NANOSECONDS = 20000, /* after so long a thread block that was given is taken to have landed */
    MOST_TBS_PER_SM = 32,        /* that any GPU has; workers are bounded by occupancy */
    MOST_RETURNED =
        4096 /* thread blocks of a launch that are given back; then it keeps what it runs, so that it comes to its end */
};

#define UNLIMITED_PLACES WORKERS_UNLIMITED

/* A launch of an application's program. */
struct kind {
    struct runtime_launch about;
    uint32_t draws;    /* of workers: its thread blocks, which they draw; 0: it goes whole */
    double weight;     /* progress of a thread block */
    uint64_t progress; /* of all */
    double worth;      /* what a policy is told of it in place of that: its part of the time that a run takes alone */
    uint64_t
        launch_ns; /* the shortest launch of this kind: others have waited for copies, or for each other; 0: not known */
    uint64_t alone_ns; /* how long it takes alone, as its program has it; 0: not known */
    double tb_ns;      /* of a worker, for a thread block, in the last launch that could be measured; 0: not known */
};

/* A launch that is or will be given: order n of an application is launch n % launch_count of its run n / launch_count. */
struct order {
    uint64_t workers;          /* given, in all crews */
    uint32_t in_flight;        /* crews */
    uint32_t first_in_flight;  /* of them in the application's first stream, which keeps the order by itself */
    uint64_t handed_out, done; /* thread blocks in slices */
    bool sliced;
    uint32_t stream;              /* as its program has it: the one it is in */
    bool given, complete, sealed; /* sealed: there will be no growth, because what comes behind it relies on that */
    bool once; /* it is no crew but the program's own launch, which has every place; its stream sees its end */
    uint64_t given_write;        /* its last crew waits for writes of limits up to this one */
    uint64_t could_begin_ns;     /* its last crew, as far as is known: the launch before had ended, and those writes */
    uint32_t ranges, range_more; /* of its draws, as in struct worker_arguments */
    uint32_t next, alive;        /* thread blocks that were drawn, and workers that may run some, by the last look */
    uint32_t total;              /* the same: thread blocks that are to be drawn, with those that were given back */
    uint64_t ended_ns;           /* its last crew that ended */
};

struct job_of_run {
    bool used, ready, over; /* over: all its launches are complete */
    uint32_t job;
    uint64_t run;
};

struct application {
    struct software_application description;
    uint32_t index, program, launch_count;
    struct kind *kinds;
    struct corun_launch_view *foreseen; /* what a run launches, for the view */
    uint32_t foreseen_count;
    enum corun_application_state state;
    enum corun_status status;
    const char *failure;
    uint64_t arrived_ns, left_ns;
    struct job_of_run jobs[JOBS];
    uint64_t submitted;        /* runs */
    struct order orders[RING]; /* order n at n % RING */
    uint64_t head, given,
        retired;      /* orders: the first that is not complete; the first that is not given; all before are gone */
    uint64_t halves;  /* halves of the ring that have been set up, counted on */
    uint64_t skipped; /* thread blocks that orders before `head` account for */
    uint64_t done;    /* thread blocks, by the last look: places.done, summed up */
    uint64_t progress_before; /* of orders before `head` */
    uint64_t progress, progress_ns;
    double worth_before; /* what policies are told of orders before `head` */
    uint64_t likely; /* what they are told, with what thread blocks that run have likely done; never less than before */
    double worked_ns, worked_before; /* of workers: until the last look; when the order at the head had begun */
    uint64_t worked_head;            /* that order */
    uint64_t thread_blocks;          /* of orders before `head` */
    uint64_t last_run_ns;
    uint64_t stall_progress, stall_ns; /* its progress when it was last seen to change */
    VECTOR(uint64_t) runs;
    uint32_t mismatches;
    void **left;                /* [buffers] of the first run, with `keep` */
    uint32_t ahead;             /* how many launches are given beyond the first */
    uint32_t requests;          /* that have come */
    uint32_t plugs, plug_warps; /* on an SM of its own; of each */
    uint32_t plug_sizes;        /* how often that has changed */
    bool plugs_given;           /* and it is not known whether all have landed */
    uint64_t plugs_from;        /* they come when this is its head */
    uint64_t plugs_ns;          /* it was, by then; 0: it is not known to be */
    uint32_t plugs_missed;      /* how often in a row some have missed its SMs */
    uint32_t scattered;         /* how often crews have not found places that were owed, for what is given since */
    uint64_t tbs_in_flight;     /* by grants */
    uint64_t crews, workers, whole, slices, launches, returned;
    const char *refusal;
    const char *kept, *keeps; /* the first kernel that is not dropped where its policy drops, and why; NULL: all are */
};

/* What an SM owes an application. */
struct share {
    uint32_t done;  /* places.done, by the last look */
    uint32_t given; /* limit in the table, or on its way there */
    int after; /* the same: workers wait there for those of the application with a number that is so much greater; 0: for nobody */
    int waits_for; /* the same, until a look has found nobody of the other one there: so long those that are counted have not begun */
    bool covered;        /* workers have been given since the limit has risen */
    bool at_once;        /* the same: who is too many leaves at once, since the limit was lowered */
    uint64_t write;      /* the one that brought it */
    uint64_t raised;     /* the one that brought the last limit behind none */
    uint32_t resident;   /* by the last look */
    bool emptied;        /* since the limit has gone to nothing, a look has found nobody there */
    uint64_t owed_since; /* the allowance has risen from nothing, and nobody has been seen there; 0: no */
};

/* What an SM has, what is taken of it, or what a thread block takes. 0 of an SM: it is not known. */
struct needs {
    uint64_t threads, registers, shared_bytes, tbs;
};

/* Plugs on an SM. */
struct plug {
    uint32_t given;    /* limit in the table, or on its way there */
    uint32_t warps;    /* of each */
    uint32_t resident; /* by the last look */
};

struct plugs {
    uint32_t warp_registers; /* that a warp of them takes of an SM */
    struct plug *at;         /* [place]; NULL: there are none */
};

struct software {
    struct software_options options;
    struct software_info info;
    struct runtime *runtime;
    struct governor *governor;
    const struct corun_allowances *allowances;
    struct software_limits limits;
    struct corun_diagnostics *list;
    struct application *applications;
    uint32_t count;
    uint32_t places;           /* values of %smid */
    bool drops;                /* its policy may drop thread blocks: workers can leave in the middle of one */
    struct share *shares;      /* [place * count + application] */
    uint32_t *resident_before; /* [place * count + application]: what a look finds changed */
    uint32_t threads_per_sm, registers_per_sm, shared_bytes_per_sm; /* the last two may be 0: not known */
    uint16_t
        *limit_rows;   /* [application * places + place], behind the last application those of plugs: what is written */
    uint64_t begin_ns; /* of the runtime's time */
    uint64_t now;
    bool looking, interrupted;
    bool ended_early; /* whoever asked for the run wants no more of it */
    uint64_t told_ns; /* when progress was told last, by the host's clock */
    bool look_wanted; /* a crew has ended since the last look was begun, and its launch may be complete */
    bool
        limits_due; /* something has changed on which limits depend: allowances, looks, who is there and has launches */
    uint64_t looking_since; /* a look is under way */
    uint64_t look_began;    /* the one before, which is known */
    uint64_t last_look;     /* when it ended */
    uint64_t look_ns;       /* a look takes so long, as far as is known */
    uint64_t next_look;
    uint64_t writes_given, writes_known; /* known to have ended when the last look began */
    uint64_t look_writes;                /* the same of the look that is under way */
    struct plugs plugs;
    struct software_control control;
    VECTOR(struct software_epoch) epochs;
    VECTOR(double) variables;
};

static inline struct share *share_of(const struct software *software, uint32_t place, uint32_t application)
{
    return &software->shares[place * software->count + application];
}

static inline struct order *order_at(struct application *a, uint64_t n)
{
    return &a->orders[n % RING];
}

/* A launch of its own is under way that goes as its program has it, and that nobody counts. */
static inline bool runs_once(struct application *a)
{
    const struct order *order = order_at(a, a->head);
    return a->head < a->given && order->once && order->in_flight;
}

static inline const struct kind *kind_at(const struct application *a, uint64_t n)
{
    return &a->kinds[n % a->launch_count];
}

/* Where something lies in the table. The places of plugs are behind those of the last application. */
static inline uint64_t places_offset(const struct software *software, uint32_t application)
{
    return (uint64_t)application * software->places * sizeof(struct worker_place);
}

static inline uint64_t queues_offset(const struct software *software, uint32_t application)
{
    return places_offset(software, software->count + 1) + (uint64_t)application * RING * sizeof(struct worker_queue);
}

/* Of an application: room for what its workers give back, behind the table. */
static inline uint64_t returned_bytes(const struct software *software)
{
    uint64_t workers = (uint64_t)software->places * MOST_TBS_PER_SM;
    return software->drops ? (MOST_RETURNED + workers) * sizeof(struct worker_returned) : 0;
}

static inline uint64_t returned_offset(const struct software *software, uint32_t application)
{
    return queues_offset(software, software->count) + application * returned_bytes(software);
}

/* machine.c */
struct corun_machine software_machine(struct software *software);

/* look.c */
/* Begins to copy the table. */
enum corun_status look_begin(struct software *software);
/* The copy is there: what has ended is told, limits that have been reached, and an epoch if it has ended. */
enum corun_status look_end(struct software *software, uint64_t time);

/* likely.c */
/* A look is there, so long after the one before: what is likely of running thread blocks follows. */
void likely_note(struct software *software, struct application *a, uint64_t passed_ns);

/* orders.c */
/* When an order could begin: it had been given, and the one before had ended. */
uint64_t orders_began(struct application *a, uint64_t n);
/* Runs whose data come next. */
enum corun_status orders_submit(struct software *software, struct application *a);
/* With workers, once before launches: runs to the runtime, queues to the table; what nobody runs any more is to be given again. */
enum corun_status orders_prepare(struct software *software, struct application *a);
/* Gives one launch to its stream, if that can be given now, and under grants what it needs before that; *any: it has gone, and more may follow. */
enum corun_status orders_proceed(struct software *software, struct application *a, bool *any);
enum corun_status orders_take(struct software *software, const struct runtime_event *event);
/* All orders that the last look shows complete. */
enum corun_status orders_complete(struct software *software, struct application *a, uint64_t time);
/* The table has gone with its context: runs that were under way start over. */
void orders_start_over(struct software *software);
/* Nothing is there for it to do. */
bool orders_idle(const struct application *a);
/* Can the next order that has not been given be given now, by its data and by those before it? */
bool orders_can_give(const struct software *software, struct application *a);
struct job_of_run *orders_job(struct application *a, uint64_t run);

/* grants.c */
/* Streams of one of so many applications for launches that may be on these SMs, where SMs are kept apart. */
struct streams {
    uint32_t first, end;
};
struct streams grants_streams(uint32_t count, uint32_t application, enum corun_sm_set set);
/* Gives one launch or slice, if the grant of the application leaves that; *any: it has gone. */
enum corun_status grants_proceed(struct software *software, struct application *a, bool *any);
enum corun_status grants_slice_ended(struct software *software, struct application *a,
                                     const struct runtime_event *event, uint64_t run, uint64_t time);

/* requests.c */
/* Requests that have come by now are told. */
enum corun_status requests_come(struct software *software, struct application *a);
bool requests_has(const struct application *a, uint64_t run);
/* Has one come that has not been told? */
bool requests_wait(const struct application *a, uint64_t now);
/* When a run was asked for; without requests, when the one before had ended. */
uint64_t requests_time(const struct application *a, uint64_t run);

/* crews.c */
/* The stream of the first crews of an application's launches, one behind the other. */
uint32_t crews_first_stream(const struct software *software, const struct application *a);
/*
 * May every thread block of an order have a worker of its own, with nobody else on the GPU? If all have a place at once; and if the launch is over before a look
 * could show that its places are wanted. Those that come behind what is given may.
 */
bool crew_can_run_once(const struct software *software, struct application *a, uint64_t n);
/* Could it, and the one before too, if that one were complete? Then it is worth the wait, since all further ones can. */
bool crew_is_soon_to_run_once(const struct software *software, struct application *a, uint64_t n);
/* Workers that the first crew of an order is to have; 0: nothing is owed. */
uint32_t crew_size(const struct software *software, const struct application *a, uint64_t n);
/* Is it owed a place anywhere? */
bool crew_is_owed(const struct software *software, const struct application *a);
/* The crews of the order at the head have landed, if places are owed in front of which they have been given: did they miss those? */
void crews_look_for_scattered(const struct software *software, struct application *a);
/* Launches further workers where places are owed and nobody is on the way. */
enum corun_status crews_grow(struct software *software, struct application *a);
enum corun_status crew_give(struct software *software, struct application *a, uint64_t n, uint32_t workers);
/* A launch as its program has it, into a stream of the application, behind the order before. */
enum corun_status crew_give_into(struct software *software, struct application *a, uint64_t n, uint32_t stream);

/* The most workers of a kind that crews leave on an SM. */
uint32_t crew_most_on_sm(const struct software *software, const struct application *a, const struct kind *kind);

/* room.c */
struct needs needs_of(const struct kind *kind);
void needs_add(struct needs *sum, const struct needs *one, uint64_t count);
/* How many of what takes `one` fit on an SM of which so much is taken, up to `most`. */
uint32_t room_beside(const struct software *software, const struct needs *taken, const struct needs *one,
                     uint32_t most);
/* The same beside the workers that a look has found on an SM, without those of `but` (NULL: of nobody), and beside plugs. */
uint32_t room_on(const struct software *software, uint32_t place, const struct application *but,
                 const struct needs *one, uint32_t most);

/* plugs.c */
enum corun_status plugs_make(struct software *software);
/* Limits of applications have been set: what of plugs' rows is to be written widens *first and *last. */
void plugs_plan(struct software *software, uint64_t *first, uint64_t *last);
/* A look has copied the table. */
void plugs_read(struct software *software, const uint8_t *table);
/* What plugs take of an SM. */
void plugs_add(const struct software *software, uint32_t place, struct needs *taken);
/* Launches those that are missing, if none are on their way. */
enum corun_status plugs_grow(struct software *software);
/* The table has gone with its context. */
void plugs_start_over(struct software *software);

/* limits.c */
/* Writes what differs between allowances and table. */
enum corun_status limits_follow(struct software *software);
/* No place for anybody: workers that are there or on their way leave, with what they have begun. */
void limits_clear(struct software *software);

/* history.c */
enum corun_status history_note(struct software *software, uint64_t time);

#endif
