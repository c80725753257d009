/* SPDX-License-Identifier: MIT */
/*
 * A CUDA driver as the machine of a ready queue (docs/queue.md): launches of its kinds become jobs of a runtime, slices that are in
 * flight go into streams of their own, as far as there are some. The runtime's memory command scheduler copies the data, so a launch is ready when the machine says so.
 *
 *     driven_submit ──► (copies) ──► driven_wait: READY ──► driven_launch: slices ──► driven_wait: SLICE … ──► (copies) ──► OVER
 *
 * A kernel that fails takes the data of everybody along. Nobody above hears of that: what the queue had handed out of the others is done
 * again, and their slices end later. The launch that failed has its slices end at once, and is over, failed.
 */
#ifndef CORUN_DRIVE_DRIVEN_H
#define CORUN_DRIVE_DRIVEN_H

#include "queue/queue.h"
#include "runtime/runtime.h"
#include "workload/commands.h"

struct driven;

struct driven_request {
    struct runtime_options options;               /* with 0 streams: the most */
    uint32_t clock_khz;                           /* ticks per millisecond */
    const struct workload_commands *const *kinds; /* one launch each; [count]; must stay */
    uint32_t count;
    /* Results stay on the device (Case I), but for those of the first submission of a kind, which are compared. */
    bool results_stay;
};

/*
 * What runtime_open and runtime_add_workload return; ARGUMENT: commands with several launches; UNSUPPORTED: a kernel
 * that cannot be sliced. */
enum corun_status driven_create(const struct driven_request *request, struct corun_diagnostics *list,
                                struct driven **driven);
void driven_destroy(struct driven *driven);
struct runtime *driven_runtime(struct driven *driven);

/*
 * The smallest slice of a kind that makes it longer by no more than the share `most`, alone and with as many slices in flight as fill
 * the GPU: measured, through the driver; and its time whole. To be called before the first submission. What runtime_smallest_slice returns.
 */
enum corun_status driven_smallest_slice(struct driven *driven, uint32_t kind, double most, uint32_t *slice,
                                        uint64_t *nanoseconds);
/*
 * Every kind runs twice, whole and in two slices, and memory of so many submissions of each is allocated, as far as there is some: then
 * modules are loaded, data that stay are there, and the time of what follows has none of that in it. To be called before driven_start. Statuses as above.
 */
enum corun_status driven_prepare(struct driven *driven, uint32_t submissions);
/*
 * Data of the submissions 0 to count - 1 come, of these kinds; returns when they have come, as far as there is memory. The submissions
 * themselves come later (driven_submit), and are ready at once. For data that are on the device before time begins (Case I): to be called
 * before driven_start. What runtime_wait returns.
 */
enum corun_status driven_bring(struct driven *driven, const uint32_t *kinds, size_t count);
/*
 * Submission `number`, a small one that no other has, comes now; of that kind. *ready: its data had been brought, and no event says that it is
 * ready. MEMORY.
 */
enum corun_status driven_submit(struct driven *driven, size_t number, uint32_t kind, bool *ready);
/* Begins a slice of the submission, which is ready. What runtime_slice returns. */
enum corun_status driven_launch(struct driven *driven, size_t number, const struct queue_slice *slice);

enum driven_what {
    DRIVEN_NOTHING, /* `until` has come; or nothing is under way, and there is nothing to wait for */
    DRIVEN_READY,   /* a submission */
    DRIVEN_SLICE,   /* has ended */
    DRIVEN_OVER     /* a submission: its results are on the host, or it has failed */
};

struct driven_event {
    enum driven_what what;
    uint64_t tick; /* when; from one event to the next not earlier */
    size_t number;
    struct queue_slice slice;
    const char *failure; /* OVER: NULL, or the error's name */
};

/* It is tick `tick` now; to be called before the first driven_submit. */
void driven_start(struct driven *driven, uint64_t tick);
/* The next event, but not beyond the tick `until` (UINT64_MAX: for ever). What runtime_wait returns. */
enum corun_status driven_wait(struct driven *driven, uint64_t until, struct driven_event *event);
/*
 * Submissions whose results were compared and not, byte for byte, what a run without timing leaves. Kernels that add floats in whatever order may
 * differ rightly. Compares what has not been compared yet: results stay on the host until then, or until there are some GB.
 */
uint64_t driven_mismatches(struct driven *driven);
uint64_t driven_now(struct driven *driven);
/* Submissions whose kernel has failed. */
uint64_t driven_failures(const struct driven *driven);

#endif
