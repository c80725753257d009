/* SPDX-License-Identifier: MIT */
/*
 * What the loop over steps (run.c) needs of the devices: parts that begin, end, and may be recalled, and a time. Two executors obey:
 * wall.c, where devices work side by side on threads, and virtual.c, where they take turns and time is added up.
 */
#ifndef CORUN_SPLIT_EXECUTOR_H
#define CORUN_SPLIT_EXECUTOR_H

#include "corun/split.h"

struct executor;

/* A part has ended, or (`ended` false) the time that was asked for has come. */
struct executor_event {
    bool ended;
    uint32_t device;
    double time;                  /* since the run began */
    struct corun_split_part part; /* what became of it */
    double setup_seconds;         /* before it: buffers that every part needs */
    double setup_again_seconds;   /* of these, those that the next run needs again */
    uint64_t kept_bytes;          /* of its bytes_in: those of `kept` buffers */
    enum corun_status status;     /* of the CPU's function; of a GPU anything but OK: it has failed */
    const char *failure;          /* why, for a GPU; belongs to the device */
};

struct executor_operations {
    void (*begin_run)(struct executor *executor);
    double (*now)(struct executor *executor); /* seconds since begin_run */
    void (*start)(struct executor *executor, uint32_t device, uint64_t begin, uint64_t end);
    void (*recall)(struct executor *executor, uint32_t device);
    uint64_t (*progress)(struct executor *executor, uint32_t device); /* iterations done of the part under way */
    /* Waits until a part ends, or until `deadline` (0: none). At least one device is busy. */
    void (*wait)(struct executor *executor, double deadline, struct executor_event *event);
    void (*destroy)(struct executor *executor);
};

struct executor {
    const struct executor_operations *operations;
};

#endif
