/* SPDX-License-Identifier: MIT */
/*
 * One memory controller with its DRAM channel. Time is in DRAM clock cycles.
 *
 * Commands, not cycles, are simulated: after each push and each command the next command and its earliest legal cycle
 * are known; nothing happens in between. Modelled: one open row per bank, tRCD tRP tRAS tRC tRRD tCL tWL tCCD tCCDL (bank groups) tCDLR
 * tWR tRTPL, the data bus, its turn from reads to writes (two idle cycles), all-bank refresh. Not modelled: contention for the command
 * bus (column commands of bursts of one cycle and activates would need two, as HBM has).
 *
 * Order: reads and writes wait in queues of dram_queue places each, and take turns, since turning the bus costs time. Writes have theirs when
 * no read waits or when they fill seven eighths of their queue; it ends, for a read, when all but an eighth of those that waited at its
 * begin have gone. Reads have theirs at least until those that waited at its begin have gone.
 *   fr_fcfs: the column command that is legal first, at the same cycle of the oldest request; a bank whose open row nobody
 *            wants opens that of its oldest request. A row is closed although wanted when the oldest request of its bank has
 *            waited for DRAM_AGE_CAP cycles, in a queue of more than 64 places as many times as long: no request starves.
 *   fcfs:    column commands strictly in order of age; every bank opens the row of its own oldest request ahead of time.
 */
#ifndef CORUN_GPU_DRAM_H
#define CORUN_GPU_DRAM_H

#include "base/archive.h"
#include "corun/config.h"
#include "gpu/retired_kernels.h"

#define DRAM_AGE_CAP 2000

struct dram;

struct dram_access {
    uint64_t row;
    uint32_t token; /* the caller's: comes back with a read */
    uint16_t bank;
    uint16_t kernel; /* counters that it is charged to */
    uint8_t slice;   /* the caller's, of the controller */
    uint8_t sectors; /* of the line */
    bool write;
};

/* A read whose data has arrived at `cycle` (the last burst of it). */
struct dram_fill {
    uint64_t cycle;
    uint32_t token;
    uint8_t slice, sectors;
};

struct dram *dram_create(const struct corun_gpu_config *config); /* NULL when out of memory */
void dram_destroy(struct dram *dram);
/* Places left for reads, or for writes. */
uint32_t dram_places(const struct dram *dram, bool write);
/*
 * `cycle` must not be before that of the last push or command. Beyond dram_queue requests of its direction the queue grows: callers that
 * want the bound ask for places first. False when out of memory.
 */
bool dram_push(struct dram *dram, uint64_t cycle, const struct dram_access *access);
/* Cycle of the next command, NEVER if there is nothing to do. */
uint64_t dram_next(const struct dram *dram);
enum dram_command {
    DRAM_COLUMN, /* moves one burst of data */
    DRAM_ACTIVATE,
    DRAM_PRECHARGE,
    DRAM_REFRESH /* of all banks; noticed when the next command is due */
};

struct dram_event {
    uint64_t cycle;
    enum dram_command command;
    uint16_t bank;
    /* DRAM_COLUMN */
    uint16_t kernel;
    bool write;
    bool row_hit; /* it is not the first one after its activate */
    bool left;    /* the last one of its request, which left the queue; the fill of a read has been appended */
};
/* Issues that command. False when out of memory. */
bool dram_issue(struct dram *dram, struct dram_event *event);
/* Reads that have been issued, in order of their data; NULL if there is none. */
const struct dram_fill *dram_first_fill(const struct dram *dram);
void dram_drop_fill(struct dram *dram);
void dram_retire(struct dram *dram, const struct retired_kernels *retired); /* among what waits */
/* Cycles from a read command to the end of its data. */
uint32_t dram_read_cycles(const struct dram *dram);
bool dram_empty(const struct dram *dram); /* no request waits; fills may */
/* Cycles before `cycle` with data on the bus. */
uint64_t dram_busy(const struct dram *dram, uint64_t cycle);
void dram_archive(struct corun_archive *archive, struct dram *dram);

#endif
