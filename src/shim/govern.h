/* SPDX-License-Identifier: MIT */
/* Launches under corund: whether they may go now, and what is under way (wire/board.h). */
#ifndef CORUN_SHIM_GOVERN_H
#define CORUN_SHIM_GOVERN_H

#include "shim/streams.h"

#include <stdbool.h>
#include <stdint.h>

struct board;
struct board_lane;
struct board_sheet;
struct kernel;

/* A launch that is being made. */
struct governed {
    void *stream;
    bool per_thread;         /* stream 0 is the thread's own */
    bool looked_at;          /* it is neither captured nor on another device than the governed one */
    struct board_lane *lane; /* NULL: nothing is noted of it */
    bool placed;             /* the stream has been looked for */
    struct stream_place place;
    struct kernel *kernel; /* NULL: nobody wants to know what its thread blocks take */
    uint64_t blocks;
    bool counted; /* workers count its thread blocks */
};

/* The SMs on which workers of the program may be, as board_sms has them; 0: launches of the current device stay whole. */
uint32_t govern_sms(void);
/* The context of the stream; NULL: it is not known. */
const void *govern_context(struct governed *launch);
/* The same for a launch; 0 as well where that is not looked at. */
uint32_t govern_launch_sms(const struct governed *launch);
/* The same, of the device that is governed, when it is another one than that, or after so long. */
uint32_t govern_sms_after(uint32_t seen, uint64_t patience_ns);
/* Whoever is in that comes back. */
void govern_wake(void);
/* That of the program; NULL: there is no corund. It stays mapped. */
struct board_sheet *govern_sheet(void);
/* Whether something of the program is under way, as far as that is noted. */
bool govern_is_busy(void);
/* Of a launch of workers: thread blocks that an SM holds, and the threads of one. */
void govern_tell_shape(uint32_t tbs_per_sm, uint32_t tb_threads);
/* The program's; NULL: there is no corund. It stays mapped. */
struct board *govern_board(void);
/* A launch took so long. */
void govern_tell_time(float milliseconds);
/* Nanoseconds of CLOCK_MONOTONIC. */
uint64_t govern_now(void);

/* What launches of others allow this one to take, in nanoseconds; 0: they do not limit it. */
uint64_t govern_bound(const struct governed *launch);
/* Waits until the launch has ended, where nothing else is under way: then it is known what it took. */
void govern_measure(const struct governed *launch);

/* Before all else: a launch into the stream. The driver is asked here what it is asked of a launch, once. */
void govern_look(struct governed *launch, void *stream, bool per_thread);
/* Behind that and before the launch: waits until it may go. */
void govern_begin(struct governed *launch, struct kernel *kernel, uint64_t blocks);
/* After it; `error`: what the driver said. */
void govern_end(struct governed *launch, int error);
/* A context is gone, and whatever was under way there. NULL: it is not known which. */
void govern_context_ended(const void *context);
/* Whether the stream is captured, so that what is asked of it becomes a part of a graph. */
bool govern_is_captured(void *stream, bool per_thread);
/* What corund wants of allocations: nothing, as there will be none; to know of them; or to be asked first, as there is a limit. */
enum govern_memory { GOVERN_UNNOTED, GOVERN_NOTED, GOVERN_ASKED };
enum govern_memory govern_memory(void);
/* Where corund only wants to know: the board, whose `bytes` say how much there is. NULL: govern_memory says why. */
struct board *govern_noting(void);
/* The program has so much device memory, or, if it `grows`, wants to. False: it may not have that much. */
bool govern_hold(uint64_t bytes, bool grows);
/* The limit of the user's memory, and how much of it is used. False: there is none. */
bool govern_room(uint64_t bytes, uint64_t *limit, uint64_t *used);

/* It was a part of a launch, and not the last one. */
void govern_part(const struct governed *launch);

/* In a child of the process (forked.h): where that has joined, the child is ungoverned. */
void govern_forked(void);

#endif
