/* SPDX-License-Identifier: MIT */
/*
 * Many users' jobs on one GPU behind a CUDA driver: the machine below kernel schedulers (Zhong and He, "Kernelet", TPDS 2014,
 * sections 2.2 and 3.2). A job is one run of a workload: a list of commands over buffers of its own. The memory command scheduler, the
 * first of the paper's two levels, is in here: it gives jobs device memory in the order in which they were submitted, copies their data
 * in while kernels of others run, and their results out. The second level, which kernel runs next and in which slices, is the caller's.
 *
 *     submit ──► waiting ──► arriving ──► ready ──► running ──► leaving ──► ended
 *                  │ memory    │ inputs     │ the launch's slices │ results
 *                  │ is free   │ are copied │ run, launch after   │ are copied
 *                  └───────────┴────────────┘ launch: the caller  └─────────
 *
 * The driver is NVIDIA's or corun's own on the simulated GPU; nothing in here knows which. Times come from events: on the simulated GPU
 * they are simulated times. While nothing is under way, time passes only as the caller waits for an arrival: a GPU is slept for, a
 * simulated one is idle for so long at no cost.
 *
 * A runtime belongs to one thread at a time; several may live in one process, each with a context of its own.
 */
#ifndef CORUN_RUNTIME_RUNTIME_H
#define CORUN_RUNTIME_RUNTIME_H

#include "corun/status.h"

#define RUNTIME_MOST_STREAMS 16u

struct runtime;
struct workload_commands;

/* What some streams have that the others have not. SMs are divided by green contexts, which a driver has since CUDA 12.4. */
enum runtime_favour {
    RUNTIME_NO_FAVOUR,
    RUNTIME_PRIORITY, /* the first `favoured`: the highest priority. Thread blocks that wait begin before those of other streams */
    RUNTIME_OWN_SMS, /* the first `favoured`: SMs of their own; the others have the rest */
    RUNTIME_APART    /* those in `apart`: `own_sms` SMs; those in `rest`: all but these; the others have all */
};

struct runtime_options {
    const char *library; /* the driver's, as driver_open takes it */
    uint32_t device;     /* of the driver's */
    uint32_t streams;    /* that slices go into: 1 to RUNTIME_MOST_STREAMS; 0: the most */
    uint64_t
        memory_bytes; /* of the device for data of jobs; 0: what is free when the runtime opens, less a sixteenth */
    /* Copies between host and device and kernels take turns, instead of running side by side. */
    bool in_turns;
    /*
     * Inputs that no run changes are copied once for each workload and stay (the paper's Case I). Otherwise every job brings its own
     * (Case II).
     */
    bool resident;
    /*
     * Data that runs change also stay on the device as they are before a run, and jobs are filled from there. So a job that
     * follows another one of its workload brings nothing.
     */
    bool refilled;
    bool no_results; /* jobs end without copying their results to the host */
    /*
     * Kernels are fenced (rewrite/fence.h): a workload accesses the memory of its own jobs alone. A job that has tried to access other memory fails
     * when it ends.
     */
    bool fence;
    enum runtime_favour favour;
    uint32_t favoured;    /* streams */
    uint32_t apart, rest; /* masks of streams */
    uint32_t own_sms;     /* OWN_SMS, APART: at least so many; the driver gives them in groups */
    /*
     * Slices and crews are told to have ended, on a GPU, when the host has seen that: some us later, and without asking the driver when it was, which
     * takes longer than asking whether it was.
     */
    bool host_times;
    bool workers; /* kernels are rewritten into workers (runtime/crew.h), and not into slices */
    bool
        drop; /* with `workers`: they can be told to leave at once (WORKERS_AT_ONCE), and take a few instructions more for that */
};

struct runtime_info {
    char device[128];
    uint32_t sms;
    uint32_t threads_per_sm;
    uint32_t registers_per_sm, shared_bytes_per_sm; /* 0: the driver does not say */
    uint32_t capability;                            /* compute capability, as 90 */
    uint32_t clock_khz;                             /* of the SMs */
    uint64_t memory_bytes;
    uint32_t own_sms; /* that the favoured streams, or those apart, have got; 0: they are everybody's */
    bool simulated;   /* times are simulated times */
};

/* ARGUMENT (streams, device), what driver_open returns, FAULT (the driver's error), MEMORY. */
enum corun_status runtime_open(const struct runtime_options *options, struct corun_diagnostics *list,
                               struct runtime **runtime);
void runtime_close(struct runtime *runtime);
void runtime_describe(const struct runtime *runtime, struct runtime_info *info);

/*
 * Makes a workload known: its module, as it is and sliced. The commands must stay until the runtime is closed. LIMIT: a job of it can
 * never fit the memory; UNSUPPORTED: a kernel cannot be fenced; SYNTAX and others of slicing and loading; FAULT, MEMORY.
 */
enum corun_status runtime_add_workload(struct runtime *runtime, const struct workload_commands *commands,
                                       struct corun_diagnostics *list, uint32_t *workload);

/* A launch of a workload. */
struct runtime_launch {
    const char *kernel;
    uint64_t tbs; /* thread blocks of its grid */
    uint32_t grid[3], block[3], shared_bytes;
    uint32_t tbs_per_sm; /* that fit an SM, by the driver; 0: it does not say. Of workers, where there are any */
    uint32_t tb_registers,
        tb_shared_bytes; /* that one of them takes of an SM, as the driver allocates; 0: it does not say */
    const char
        *refusal;     /* NULL: it can be sliced, or run by workers; else why not, and all of it is launched at once */
    bool noncoherent; /* its workers must not be there before the launch before is complete */
    bool ranges;      /* workers may draw several of its thread blocks at a time */
    const char *
        keeps; /* NULL: its thread blocks may be left in the middle and begun again, by workers with `drop`; else why not */
    uint64_t thread_instructions; /* of the launch, as a run without timing counts them */
};
uint32_t runtime_launch_count(const struct runtime *runtime, uint32_t workload);
void runtime_launch_at(const struct runtime *runtime, uint32_t workload, uint32_t launch,
                       struct runtime_launch *result);

/*
 * Allocates what so many jobs of each of these workloads need on the device at a time, and so many of them for their results on the host, as far as there
 * is memory, so that neither their beginning nor their end waits for allocations. To be called while there are no jobs. FAULT, MEMORY.
 */
enum corun_status runtime_reserve(struct runtime *runtime, const uint32_t *workloads, uint32_t count, uint32_t jobs,
                                  uint32_t results, struct corun_diagnostics *list);

/* Nanoseconds since the runtime was opened. */
uint64_t runtime_now(struct runtime *runtime);
/* The host does nothing for so long, while the device goes on: in simulated time on a simulated GPU. */
void runtime_sleep(struct runtime *runtime, uint64_t nanoseconds);

/*
 * While it is held, the runtime's context stays current in the calling thread, which makes no other calls of a driver: it need not be changed
 * and changed back in every function.
 */
void runtime_hold(struct runtime *runtime, bool held);

/*
 * From now on every call of the driver is noted, with what ends on the device; written as rows of CSV (runtime/calls.h). FILE: the file
 * cannot be written, and why.
 */
void runtime_note_calls(struct runtime *runtime);
enum corun_status runtime_write_calls(const struct runtime *runtime, const char *path, struct corun_diagnostics *list);

/* A job of a workload comes, now. It has a number that no other job has while it lives. MEMORY. */
enum corun_status runtime_submit(struct runtime *runtime, uint32_t workload, uint32_t *job);
/* The job, which has not ended, ends without copying its results to the host. */
void runtime_leave_results(struct runtime *runtime, uint32_t job);

/* R(NAME, meaning) */
#define RUNTIME_EVENTS(R) \
    R(NONE, "nothing until then") \
    R(READY, "a launch of a job can begin: its data are on the device, and the launch before it has ended") \
    R(SLICE_ENDED, "thread blocks have completed") \
    R(LAUNCH_ENDED, "the last slice of a launch has ended") \
    R(RETURNED, "a job that was not done starts over, because another one's fault took its data: what was launched " \
                "of it is void") \
    R(ENDED, "the results of a job are on the host") \
    R(FAILED, "a kernel of a job has failed, and the job is over") \
    R(CREW_ENDED, "all workers of a crew have ended, or a launch that was given whole has") \
    R(TABLE_READ, "the table has been copied to the host") \
    R(RENEWED, "after a fault: the context is a new one, and what stood in the table has gone")

enum runtime_event_kind {
#define RUNTIME_EVENT_ENUM(name, meaning) RUNTIME_##name,
    RUNTIME_EVENTS(RUNTIME_EVENT_ENUM)
#undef RUNTIME_EVENT_ENUM
};

struct runtime_event {
    enum runtime_event_kind kind;
    uint32_t job, launch;  /* launch: 0 for the first of its workload */
    uint64_t time;         /* when that was, in nanoseconds; not later than runtime_now */
    uint64_t first, count; /* SLICE_ENDED: thread blocks; CREW_ENDED: count: workers */
    uint32_t stream;       /* the same */
    const char *failure;   /* FAILED: the error's name; stays until the job is released */
};

/*
 * Launches the thread blocks [first, first + count) of the launch for which the job is ready, behind what has been given to the stream
 * before. Thread blocks are counted with x fastest. ARGUMENT: no such job, it is not ready, thread blocks beyond the grid or handed out
 * before, no such stream, or a part of a launch that cannot be sliced; BUSY is no status of this machine: a launch in turns with copies
 * waits by itself. FAULT: see runtime_wait, which will tell; MEMORY.
 */
enum corun_status runtime_slice(struct runtime *runtime, uint32_t job, uint64_t first, uint64_t count, uint32_t stream);

/* Slices that were given to a stream and have not been seen to end. */
size_t runtime_in_flight(const struct runtime *runtime, uint32_t stream);

/*
 * The next event in order of time, of those that have been seen; waits for it if there is none, but not beyond `until`, nanoseconds as of
 * runtime_now (UINT64_MAX: for ever; with nothing under way that is NONE at once). Results of a kernel's fault are the events FAILED and
 * RETURNED. FAULT: the device is lost; MEMORY.
 */
enum corun_status runtime_wait(struct runtime *runtime, uint64_t until, struct corun_diagnostics *list,
                               struct runtime_event *event);

/* After ENDED: what the job left in a buffer of its workload, which is an output; until the job is released. */
const void *runtime_result(const struct runtime *runtime, uint32_t job, size_t buffer);
/* After ENDED or FAILED: the job's number is free for others. */
void runtime_release(struct runtime *runtime, uint32_t job);

/* Sums over the time since the runtime was opened, or since they were begun anew. */
struct runtime_statistics {
    uint64_t jobs_ended, jobs_failed, jobs_returned;
    uint64_t slices;
    uint64_t bytes_in, bytes_out;
    uint64_t copy_nanoseconds;    /* in which copies were under way between host and device */
    uint64_t overlap_nanoseconds; /* of these, those in which kernels were under way, too */
    uint64_t kernel_nanoseconds;  /* in which kernels were under way */
    uint64_t memory_peak_bytes;   /* of the device, for data of jobs */
    uint64_t memory_waits;        /* jobs that came when there was no memory for them */
};
void runtime_statistics(struct runtime *runtime, struct runtime_statistics *statistics);
/* While nothing is under way. */
void runtime_begin_statistics(struct runtime *runtime);

#endif
