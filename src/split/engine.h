/* SPDX-License-Identifier: MIT */
/* What a split holds: its description, its devices, what it has learned, and the state of the run. */
#ifndef CORUN_SPLIT_ENGINE_H
#define CORUN_SPLIT_ENGINE_H

#include "corun/split.h"

#include "split/executor.h"
#include "split/progress.h"
#include "split/ranges.h"

#include <stdatomic.h>

struct driver;
struct team;

#define CPU 0u
#define MAX_GPUS (CORUN_SPLIT_MAX_DEVICES - 1)

/* Parts of a device under way, the oldest first, by their steps. */
struct line {
    uint32_t steps[MOST_PARTS], count;
};

/* Results of a device on their way back, the oldest first. */
struct deliveries {
    struct range ranges[MOST_DELIVERIES];
    double starts[MOST_DELIVERIES];
    uint32_t count;
    double seconds; /* that the last one took; 0: there was none */
};

/* What is known of a device's work in a run. */
struct device_account {
    double setup_seconds; /* whole buffers that the next run moves again */
    bool whole;           /* a learned split's part has ended: what a GPU was given besides would have been in it */
    uint64_t final_done;  /* outside of profiling steps, */
    double final_seconds; /* without copies of `kept` bytes, which the next run finds there */
    double kept_seconds, moved; /* those copies; iterations whose bytes they were */
    double back_seconds, back,
        back_end; /* results on their way back, one after the other; iterations whose results they were; when the last had come */
};

/* How long `kept` bytes take to a GPU: seconds for any number of iterations, and for each; and the last that was measured. 0: not known. */
struct moves {
    double start, each;
    double iterations, seconds;
};

struct corun_split {
    struct corun_split_task task; /* a copy, with its buffers */
    struct corun_split_parameters parameters;
    char *strategy_name;
    corun_split_strategy *strategy;
    const void *strategy_user;
    bool ahead;                           /* the strategy has GPUs fetch ahead */
    struct corun_split_rate_table *rates; /* owned; NULL unless deterministic */
    bool simulated;
    uint32_t threads, gpu_count, device_count;
    char *names[CORUN_SPLIT_MAX_DEVICES];
    bool has_cpu;
    bool reads;    /* parts read bytes of their own */
    bool keeps;    /* parts read bytes of `kept` buffers */
    bool may_race; /* no buffer is READ_WRITE */
    bool *pinned;  /* per buffer */
    struct driver *driver;
    struct corun_split_gpu *gpus[MAX_GPUS];
    struct team *team;
    struct executor *executor;
    atomic_bool running;
    char *record; /* file to which each run adds a line; NULL: none */

    /* the run */
    struct ranges left;
    VECTOR(struct corun_split_step) steps;
    bool usable[CORUN_SPLIT_MAX_DEVICES];
    struct line lines[CORUN_SPLIT_MAX_DEVICES];
    struct ranges computed[CORUN_SPLIT_MAX_DEVICES]; /* by fed parts, and not yet on the way back */
    struct deliveries deliveries[CORUN_SPLIT_MAX_DEVICES];
    double patient_until[CORUN_SPLIT_MAX_DEVICES]; /* a GPU that seemed to hang was at work */
    double given[CORUN_SPLIT_MAX_DEVICES];         /* when the last part of the device had been enqueued */
    double last_end[CORUN_SPLIT_MAX_DEVICES];      /* when a part of the device has last ended */
    uint32_t raced_device,
        raced_step; /* the CPU computes what this part of a GPU has not; raced_device CPU: it does not */
    struct device_account accounts[CORUN_SPLIT_MAX_DEVICES];
    struct progress progress; /* of the CPU */
    double left_to_cpu; /* when what a GPU had computed was left to the CPU for the first time; 0: never in this run */
    struct corun_split_result result;

    /* from run to run */
    double handing[CORUN_SPLIT_MAX_DEVICES];   /* the least that the host has needed to enqueue a part; 0: not known */
    double returning[CORUN_SPLIT_MAX_DEVICES]; /* seconds that the results of an iteration take back; 0: not known */
    double latency
        [CORUN_SPLIT_MAX_DEVICES]; /* of a copy, where the CPU may compute what a GPU has computed; 0: not known */
    bool handed[CORUN_SPLIT_MAX_DEVICES];         /* a part has told; until then it is what the driver's calls took */
    double stale_before[CORUN_SPLIT_MAX_DEVICES]; /* so long a device has had stale parts at the end of runs */
    bool knows;                                   /* `learned` holds */
    bool cpu_tried;                               /* it has computed something */
    double learned[CORUN_SPLIT_MAX_DEVICES], last_imbalance;
    double expected[CORUN_SPLIT_MAX_DEVICES]; /* seconds that a device needs for that, by the last run; 0: not known */
    double left_out
        [CORUN_SPLIT_MAX_DEVICES]; /* seconds that the part of a GPU took which is left out for that; 0: it is not */
    double lacks
        [CORUN_SPLIT_MAX_DEVICES]; /* of what `learned` gives it, iterations whose `kept` bytes it had not when the run began */
    double cpu_each; /* seconds that an iteration takes the CPU, by the last run in which it had any; 0: not known */
    double lost;     /* seconds, by a learned split that was not corrected */
    double setup
        [CORUN_SPLIT_MAX_DEVICES]; /* seconds that what every part needs has taken to a GPU; 0: not known, or nothing */
    struct moves moves[CORUN_SPLIT_MAX_DEVICES]; /* of `kept` bytes to GPUs */
    uint64_t held[CORUN_SPLIT_MAX_DEVICES];  /* iterations from the end of what `learned` gives it that it has kept */
    bool was_stale[CORUN_SPLIT_MAX_DEVICES]; /* when the run began */
    bool fetches[CORUN_SPLIT_MAX_DEVICES];   /* in this run */
    double fetch_late[CORUN_SPLIT_MAX_DEVICES]; /* seconds until one that has refused is told again */
    double fetched_at[CORUN_SPLIT_MAX_DEVICES]; /* seconds of the run at which what was last fetched should be there */
    double spent, wasted; /* seconds of all runs, and what was lost by not leaving them to the CPU */
    double best_seconds;  /* of the slowest device in the shortest run since the split was learned */
    double usual;         /* the shortest run since the split was learned */
};

/* The part of a device that is at `place` of what is under way there. */
static inline struct corun_split_part *part_of(struct corun_split *split, uint32_t device, uint32_t place)
{
    return &split->steps.data[split->lines[device].steps[place]].part[device];
}

static inline bool is_busy(const struct corun_split *split, uint32_t device)
{
    return split->lines[device].count > 0;
}

/* What a strategy sees; notes what the CPU has done until now. */
void split_view_fill(struct corun_split *split, struct corun_split_view *view);
/* So many iterations of the CPU tell its rate, whatever its threads have begun and not done. */
double split_view_enough(const struct corun_split *split);
enum corun_status run_task(struct corun_split *split, struct corun_diagnostics *diagnostics);
/* After a run: what its times say about the next one. */
void learn(struct corun_split *split);
/* A part has moved the `kept` bytes of so many iterations to a GPU, which has taken so long. */
void learn_move(struct corun_split *split, uint32_t device, double iterations, double seconds);
/* The end of the iterations that `learned` gives a GPU: GPUs take theirs from the back, the first one first. */
uint64_t learned_end(const struct corun_split *split, uint32_t device);
/* Looks up what GPUs have of the iterations that `learned` gives them, and before. Between runs. */
void find_held(struct corun_split *split);
/* Takes back from what `learned` gives GPUs where the program has changed what they had for that. When a run begins. */
void give_back_changed(struct corun_split *split);
/* Adds a line to the record. */
enum corun_status record_run(const struct corun_split *split, struct corun_diagnostics *diagnostics);

struct executor *virtual_create(struct corun_split *split); /* NULL: out of memory */
struct executor *wall_create(struct corun_split *split);

#endif
