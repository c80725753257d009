/* SPDX-License-Identifier: MIT */
/*
 * What a runtime consists of, for its files:
 *
 *   runtime.c    opens and closes it: context, streams, base of time
 *   favour.c     streams that have what others have not: priority, SMs
 *   clock.c      events of the driver, and what time they tell
 *   workload.c   modules as they are and sliced, loaded as often as jobs need them
 *   transfer.c   the memory command scheduler: memory for jobs, copies in and out
 *   slice.c      launches, and what comes between two of a job
 *   fence.c      memory of workloads, each for itself
 *   crew.c       launches as workers, and ahead of the one before
 *   table.c      memory that host and kernels share while kernels run
 *   wait.c       sees what has ended, and tells the caller
 *   recover.c    a kernel has failed, and its context with it
 *   blocks.h     memory in blocks
 *   calls.h      which calls were made, when
 *   tally.h      how long copies and kernels went on side by side
 */
#ifndef CORUN_RUNTIME_STATE_H
#define CORUN_RUNTIME_STATE_H

#include "runtime/blocks.h"
#include "runtime/calls.h"
#include "runtime/runtime.h"
#include "runtime/tally.h"
#include "workload/commands.h"

enum { NOT_READY = 600 };

/* What a workload's text becomes: as it is, and one of the others. */
enum image_form { IMAGE_PLAIN, IMAGE_SLICED, IMAGE_WORKERS, IMAGE_FORMS };

/* Modules of a workload in the context; NULL: that form is not wanted. */
struct image {
    struct image *next; /* free ones of a workload */
    bool shared;        /* by all jobs: the workload has no variables but those that stay */
    bool filled;        /* shared: its variables have been set */
    void *modules[IMAGE_FORMS];
    void **functions[IMAGE_FORMS];           /* [launches] */
    unsigned long long *places[IMAGE_FORMS]; /* [buffers] of variables; 0: no variable */
};

struct workload_launch {
    const struct command *command;
    size_t place;  /* of the command in the workload */
    char *refusal; /* NULL: it can be sliced, or run by workers */
    /* Its kernel as it was in the module of workers, which it runs whole: `refusal` is about this launch alone. NULL: the kernel has kept its name. */
    char *whole;
    bool noncoherent, ranges;
    char *keeps; /* as in struct runtime_launch */
    uint64_t tbs;
    uint32_t tbs_per_sm, tb_registers, tb_shared_bytes;
};

struct workload {
    const struct workload_commands *commands;
    char *texts[IMAGE_FORMS];         /* rewritten ones */
    struct workload_launch *launches; /* [commands->launch_count] */
    bool has_variables;     /* which jobs use as buffers and which do not stay: each job needs an image of its own */
    bool fresh;             /* variables that runs change and nobody sets: each job needs modules that no job has had */
    bool rewritten_only;    /* kernels may write variables: whole launches use the rewritten module, too */
    uint64_t cost;          /* of a job's blocks, those that stay left out */
    struct block *resident; /* [buffers] that stay; of no bytes: not this one */
    struct block *pristine; /* [buffers] from which jobs are filled; of no bytes: not this one */
    void *resident_event;   /* its copies have ended; NULL: they have not begun, or it is known that they have ended */
    bool resident_loaded;
    struct image *free_images; /* without variables: the only one, shared */
    struct blocks own;         /* fenced: its memory of the device */
    char *fence_name;          /* fenced: the variable of its modules that has the bounds */
    char *trespass;            /* what it has tried to access, in words; NULL: nothing */
};

enum job_state { JOB_FREE, JOB_WAITING, JOB_ARRIVING, JOB_READY, JOB_LEAVING, JOB_OVER };

struct job {
    enum job_state state;
    uint32_t workload;
    uint32_t launch;     /* the one that can begin, or has begun */
    size_t command;      /* its place */
    uint64_t handed_out; /* its thread blocks */
    uint64_t completed;
    uint32_t in_flight; /* slices, crews */
    uint32_t gated;     /* mask of streams that have waited for `gate` */
    bool told_ready;
    bool no_results; /* are copied to the host */
    bool leaves;     /* all its launches are complete; crews of it are still in flight */
    void *gate;      /* copies before the launch; NULL: none */
    uint64_t number; /* in order of submission */
    struct image *image;
    struct block *blocks;  /* [buffers] of the device */
    struct block *results; /* [buffers] of the host */
    struct block record;   /* fenced: of the host, a copy of the workload's */
    const char *failure;
    uint32_t next; /* waiting, or free */
};

/* A slice in a stream, or copies of a job in a stream. */
struct flight {
    uint32_t job, launch;
    uint64_t first, count;
    uint64_t given; /* when the host did */
    bool crew;      /* no slice */
    bool uncounted; /* writes to the table wait for its end */
    bool copies;    /* neither a slice nor a crew */
    void *begin;    /* copies: event before the first; NULL: they are taken to begin when they were given */
    void *end;      /* event behind it */
    uint64_t bytes;
};

struct flights {
    void *stream;
    uint64_t last_end; /* time at which the last one that was seen to end had ended */
    size_t first;      /* oldest that has not been seen to end */
    VECTOR(struct flight) items;
};

struct table_write {
    void *end;
    struct block data; /* of the host */
};

/* The table, and copies to and from it. */
struct table {
    struct block block, copy; /* of the device, of the host */
    void *read_stream, *write_stream;
    void *reading;                                 /* event behind the copy that is under way; NULL: none is */
    VECTOR(struct table_write) writes;             /* under way, the oldest first */
    uint64_t written, known[RUNTIME_MOST_STREAMS]; /* writes so far; how many of them a stream waits for */
};

enum { PLUG_STREAMS = RUNTIME_MOST_STREAMS };

struct plug_stream {
    void *stream; /* NULL: it has not been made */
    void *end;    /* event behind plugs that have not left, as far as is known; NULL: there are none */
};

struct plugs {
    void *module, *function; /* NULL: not loaded */
    struct plug_stream streams[PLUG_STREAMS];
};

#define NO_JOB UINT32_MAX

enum { STREAM_IN = RUNTIME_MOST_STREAMS, STREAM_OUT, STREAMS };

struct runtime {
    struct driver driver;
    struct runtime_options options;
    struct runtime_info info;
    int device;
    int error; /* first one of the driver since it was looked at; 0: none */
    void *context, *outside;
    bool held; /* the context is current until the caller says otherwise */
    void *parts
        [2]; /* OWN_SMS: green contexts of the favoured streams and of the others; APART: of those apart, and of the rest */
    void *clock_stream, *between_stream;
    struct flights streams[STREAMS]; /* streams of slices; copies in; copies out (in turns: all are copies in) */
    void *last_copy;                 /* in turns: event of the copy that was given last; belongs to its flight */
    uint64_t copies_given, copies_known[RUNTIME_MOST_STREAMS]; /* in turns: which of them a stream waits for */
    void *base_event;
    uint64_t base_time, idle_time, latest;
    uint64_t base_wall;    /* the host's clock at the base event */
    VECTOR(void *) events; /* that nobody uses */
    VECTOR(struct workload) workloads;
    VECTOR(struct job) jobs;
    VECTOR(uint32_t) arrived;          /* in turns: jobs whose data have come while others are on their way */
    VECTOR(struct runtime_event) seen; /* to be told */
    uint32_t free_job, waiting_first, waiting_last;
    uint64_t submitted;
    struct blocks memory, pinned;
    uint64_t table_bytes, apart_bytes; /* 0: none is wanted; behind it, not copied to the host */
    struct table table;
    struct plugs plugs;
    struct runtime_statistics statistics;
    struct tally tally;
    struct calls calls;
};

/* Notes the first error of a sequence of calls. */
bool runtime_worked(struct runtime *runtime, int result);
/* A call of the driver, noted if that is wanted, and what it returns. */
#define RESULT(runtime, call) \
    (calls_begin(&(runtime)->calls), calls_note(&(runtime)->calls, #call, (runtime)->driver.call))
#define CALL(runtime, call) runtime_worked((runtime), RESULT(runtime, call))

/* runtime.c */
/* Context, streams, base of time; false: runtime->error, or out of memory. */
bool runtime_make_context(struct runtime *runtime);
void runtime_drop_context(struct runtime *runtime);
/* The runtime's context is current between these; the caller's comes back. They nest not. */
void runtime_enter(struct runtime *runtime);
void runtime_leave(struct runtime *runtime);
/* FAULT with the driver's error in words. */
enum corun_status runtime_fault(struct runtime *runtime, struct corun_diagnostics *list, const char *what);

/* clock.c */
void *clock_event(struct runtime *runtime); /* NULL: runtime->error is set */
void clock_give(struct runtime *runtime, void *event);
/* Has the event been reached, and when? An error that is not NOT_READY is noted. */
bool clock_reached(struct runtime *runtime, void *event, uint64_t *time);
/* The same, in less of the host's time: on a GPU, when the host has seen it. */
bool clock_seen(struct runtime *runtime, void *event, uint64_t *time);
/* Where the host is; advances a little from call to call. */
uint64_t clock_now(struct runtime *runtime);
bool clock_begin(struct runtime *runtime, uint64_t time);

/* workload.c */
/* An image for a job, loaded if need be; NULL: runtime->error, or out of memory. */
struct image *workload_take_image(struct runtime *runtime, struct workload *workload);
void workload_give_image(struct runtime *runtime, struct workload *workload, struct image *image);
void workload_free(struct workload *workload);
/* Page-locks the host's data, so that copies need not be moved once more. Where the driver refuses, they are. */
void workload_pin(struct runtime *runtime, const struct workload *workload);
void workload_unpin(struct runtime *runtime, const struct workload *workload);
/* Registers that a thread block takes of an SM, of so many each: warps have multiples of 256 (CUDA's occupancy calculator). */
uint32_t workload_tb_registers(uint32_t threads, uint32_t registers);
/* The context has gone. */
void workload_forget(struct workload *workload);

/* fence.c */
struct ptx_module;
struct rewritten;
enum corun_status fence_rewrite(struct workload *workload, const struct ptx_module *source,
                                struct corun_diagnostics *list, struct rewritten *fenced);
/* Memory of the device for a workload's buffers. */
struct blocks *fence_blocks(struct runtime *runtime, struct workload *workload);
/* A fenced workload has its arena in this context; the record says nothing yet. */
bool fence_ready(struct runtime *runtime, struct workload *workload);
/* Tells a module the bounds of its workload. */
bool fence_set(struct runtime *runtime, struct workload *workload, void *module);
/* Begins to copy the record for a job that leaves; then, what it says of the workload, or NULL. */
bool fence_read(struct runtime *runtime, struct job *job, void *stream);
const char *fence_trespass(struct runtime *runtime, const struct job *job);

/* transfer.c */
/* Gives memory to jobs that wait, as far as there is some, and begins their copies. MEMORY, FAULT. */
enum corun_status transfer_admit(struct runtime *runtime);
/* Begins the copies of a job's results. */
enum corun_status transfer_leave(struct runtime *runtime, uint32_t job);
/* Gives back everything that a job has on the device. */
void transfer_return(struct runtime *runtime, struct job *job);
void transfer_append(struct runtime *runtime, uint32_t job);
/* The memory of one job and its copies, begun. *full: there is no room now. */
enum corun_status transfer_begin(struct runtime *runtime, uint32_t job, bool *full);

static inline enum image_form runtime_form(const struct runtime *runtime)
{
    return runtime->options.workers ? IMAGE_WORKERS : IMAGE_SLICED;
}
/* What a call that has failed is to return: the driver's error is noted, or memory of the host has run out. */
enum corun_status runtime_trouble(const struct runtime *runtime);

/* favour.c */
/* Has the driver what is wanted? UNSUPPORTED: not, by name. */
enum corun_status favour_check(const struct runtime *runtime, struct corun_diagnostics *list);
bool favour_make_streams(struct runtime *runtime); /* those of slices */
/* Has it green contexts? They belong to the device's primary context. */
static inline bool favour_divides(const struct runtime *runtime)
{
    return runtime->options.favour == RUNTIME_OWN_SMS || runtime->options.favour == RUNTIME_APART;
}
void favour_drop(struct runtime *runtime);
/* After a failure. *refused: the SMs could not be divided, else something else of the context has failed. ARGUMENT: other numbers of SMs can be, and the
 * report says which; OK: none can. */
enum corun_status favour_refuse(const struct runtime *runtime, struct corun_diagnostics *list, bool *refused);

/* table.c */
bool table_create(struct runtime *runtime); /* if one is wanted; false: runtime->error, or out of memory */
void table_drop(struct runtime *runtime);   /* nothing is under way, or its context is about to go */
/* What has ended of its copies; *any: something has. */
enum corun_status table_look(struct runtime *runtime, bool *any);
/* The stream waits for what has been written. */
bool table_order(struct runtime *runtime, uint32_t stream);

/* plug.c */
void plug_finish(struct runtime *runtime); /* waits for plugs, which have been told to leave */

/* crew.c */
enum corun_status crew_ended(struct runtime *runtime, uint32_t stream, const struct flight *flight, uint64_t time);
/* A launch as the program has it, by the worker kernel: the launch may have workers. */
bool crew_launch_direct(struct runtime *runtime, const struct job *job, uint32_t launch, uint32_t stream);

/* slice.c */
/* The values of a launch's arguments for the kernels of a form, `values` and `arguments` with MOST_ARGUMENTS + 1 places. */
#define MOST_ARGUMENTS 64u /* as launch descriptions have at most */
void slice_arguments_fill(struct runtime *runtime, const struct job *job, uint32_t launch, enum image_form form,
                          uint64_t *values, void **arguments);
/* What the stream has to wait for before a slice of the job. */
bool slice_wait_for_copies(struct runtime *runtime, struct job *job, uint32_t stream);
/* The copies between two launches, up to the next launch; tells READY, or begins to leave behind the last one. */
enum corun_status slice_proceed(struct runtime *runtime, uint32_t job, uint64_t time);
enum corun_status slice_launch(struct runtime *runtime, uint32_t job, uint64_t first, uint64_t count, uint32_t stream);
/* A launch as the program has it, by the kernel whose module has the workload's variables. */
bool slice_launch_whole(struct runtime *runtime, const struct job *job, uint32_t launch, uint32_t stream);

/* wait.c */
bool wait_tell(struct runtime *runtime, const struct runtime_event *event);
/* Looks at everything that is under way, without waiting. */
enum corun_status wait_look(struct runtime *runtime, bool *any);

/* recover.c */
enum corun_status recover(struct runtime *runtime, struct corun_diagnostics *list);

/* ---- small things ---- */

static inline struct workload *workload_of(struct runtime *runtime, const struct job *job)
{
    return &runtime->workloads.data[job->workload];
}

static inline bool stream_busy(const struct flights *flights)
{
    return flights->first < flights->items.count;
}

#endif
