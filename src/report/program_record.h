/* SPDX-License-Identifier: MIT */
/*
 * What a CUDA program launched and copied under `corun exec`: read from the lines that the CUDA libraries leave
 * (src/cuda/record.c), and written as a table, CSV and JSON.
 */
#ifndef CORUN_REPORT_PROGRAM_RECORD_H
#define CORUN_REPORT_PROGRAM_RECORD_H

#include "base/arena.h"
#include "base/vector.h"
#include "corun/case.h"
#include "report/columns.h"
#include "report/json_writer.h"

struct program_device {
    uint32_t process, ordinal, clock_khz;
    uint32_t launch_cycles; /* what a profiler counts of a launch beside its kernel */
    bool timed;
    const char *name;
    const char *program; /* of several, what it is called; NULL: there is one. Not of the record */
};

enum program_event_kind {
    PROGRAM_LAUNCH,
    PROGRAM_COPY_TO_DEVICE,
    PROGRAM_COPY_TO_HOST,
    PROGRAM_COPY_WITHIN,
    PROGRAM_FILL
};

/* A launch, copy or fill. Cycles are those of its device. */
struct program_event {
    enum program_event_kind kind;
    uint32_t process, device; /* process: counted from 0 in the order in which they were read */
    uint64_t stream, start_cycle, end_cycle;
    const char *name; /* of the kernel, as the compiler wrote it */
    uint32_t grid[3], block[3];
    uint32_t registers, static_shared_bytes, dynamic_shared_bytes;
    bool untimed;   /* a launch outside of the region that is timed: its cycles are none */
    bool estimated; /* a launch of which not everything was simulated */
    struct corun_counters counters;
    uint64_t bytes;
    bool pageable;
};

/* Launches of a kernel by a process. Cycles, time and counters are of those that were timed, or of all without timing. */
struct program_kernel_sum {
    uint32_t process;
    const char *name;
    uint64_t launches, untimed; /* untimed: beside these */
    uint64_t cycles;
    double nanoseconds;
    struct corun_counters counters;
};

/* Copies or fills of a process in one direction. */
struct program_copy_sum {
    uint32_t process;
    enum program_event_kind kind;
    bool pageable;
    uint64_t count, bytes;
    double nanoseconds;
};

/* A kernel that a process was to launch and that corun cannot run. */
struct program_refusal {
    const char *kernel, *reason;
};

/* Where a kernel begins. */
struct program_kernel_place {
    uint32_t process;
    const char *kernel; /* as the compiler wrote it */
    const char *ptx;    /* "heat(1).ptx:12" */
    const char *source; /* "heat.cu:7"; "" if the PTX does not say */
};

/* What warps did at a line of the PTX of a kernel. */
struct program_profile_line {
    uint32_t process, device;
    const char *kernel; /* as the compiler wrote it */
    struct corun_profile_line line;
};

struct program_record {
    struct arena *arena;
    uint32_t processes;
    VECTOR(struct program_device) devices;
    bool keeps_events; /* else only their sums: many launches take no memory then */
    VECTOR(struct program_event) events;
    VECTOR(struct program_kernel_sum) kernels; /* in the order of their first launch, process by process */
    VECTOR(struct program_copy_sum) copies;
    VECTOR(struct program_kernel_place) places;
    VECTOR(struct program_refusal) refusals;
    VECTOR(struct program_profile_line) profile; /* empty unless it was asked for */
    VECTOR(struct corun_sampled_group) sampled;  /* of all processes and devices, as the machines gave them */
};

/* `events`: rows, JSON or a timeline will be wanted, which need each of them. NULL when out of memory. */
struct program_record *program_record_create(bool events);
void program_record_destroy(struct program_record *record);
/*
 * Adds what one process left. SYNTAX if a line is not understood, FILE if not everything could be written; what is there
 * stays.
 */
enum corun_status program_record_read(struct program_record *record, const char *path, struct corun_diagnostics *list);

/* Adds a line of a profile; texts are copied. False when out of memory. */
bool program_record_add_profile(struct program_record *record, const char *kernel,
                                const struct corun_profile_line *line);
/* NULL if the record does not tell. */
const struct program_kernel_place *program_event_place(const struct program_record *record,
                                                       const struct program_event *event);
/* NULL if the record does not name it. */
const struct program_device *program_event_device(const struct program_record *record,
                                                  const struct program_event *event);
/* Cycles of the event's device as time. */
double program_nanoseconds(const struct program_record *record, const struct program_event *event, uint64_t cycles);
/* By process, then in order of start, then as they were recorded; the array is the caller's to free. NULL when out of memory. */
const struct program_event **program_events_in_order(const struct program_record *record);

/* Kernels with their launches summed up, and copies by direction. False when out of memory. */
bool program_table(const struct program_record *record, const struct report_style *style, FILE *stream);
/* The same of some of the processes, without what is known of all together: samples and profiles. */
bool program_table_of(const struct program_record *record, uint32_t first_process, uint32_t processes,
                      const struct report_style *style, FILE *stream);
/* Of these processes, the untimed ones among them. */
uint64_t program_launches(const struct program_record *record, uint32_t first_process, uint32_t processes);
/* One row per launch, copy and fill, in order of their start. */
bool program_csv(const struct program_record *record, FILE *stream);
/* Devices, launches, copies, what was sampled, and profiles, as members of an object. */
void program_json_put(struct json_stream *json, const struct program_record *record);
enum corun_status program_json(const struct program_record *record, FILE *stream);
/*
 * Streams with their launches and copies over time, as a trace that Perfetto opens (docs/timelines.md), for devices with timing. Write errors
 * are left to the stream.
 */
enum corun_status program_timeline(const struct program_record *record, FILE *stream);
#endif
