/* SPDX-License-Identifier: MIT */
/* The engine carries tasks out: in the order of the program's calls without timing, or on the simulated machine. */
#ifndef CORUN_CUDA_ENGINE_H
#define CORUN_CUDA_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

struct context;
struct device;
struct event;
struct process;
struct stream;
struct task;

/*
 * Works until the stream is empty, all streams of the context are, the event has been reached. Gives the context's
 * error.
 */
int engine_wait_stream(struct process *process, struct stream *stream);
int engine_wait_context(struct process *process, struct context *context);
int engine_wait_event(struct process *process, struct event *event, uint64_t count);
/*
 * Have they ended? Else NOT_READY, after the machine has gone on a little: whoever asks again and again comes to an
 * end.
 */
int engine_ask_stream(struct process *process, struct stream *stream);
int engine_ask_event(struct process *process, struct event *event, uint64_t count);
/* Advances a little, for a program that does not call. */
bool engine_nudge(struct process *process);
/* Where time goes on by itself (remote_paced): starts what can start, and sees what has ended meanwhile. */
void engine_look(struct process *process);
/* Waits until there are not too many launches ahead. */
int engine_make_room(struct process *process, struct context *context);
/* The host spends the time of a launch, where launches have a cost. To be called before it is put into its stream. */
void engine_host_launches(const struct process *process, const struct stream *stream);
/* The host does nothing for that long: the machine goes on as far, if it has work. Gives the context's error. */
int engine_host_sleeps(struct process *process, struct context *context, uint64_t nanoseconds);
/*
 * The host wants nothing more of the device until then, UINT64_MAX: until it calls. What it has asked for goes on, and is waited for here as far as time goes;
 * what is left of the time passes without the host where others have the machine as well, which is then left idle (remote_idle).
 */
enum corun_status engine_host_idles(struct process *process, struct device *device, uint64_t cycle);
/* The host calls, and comes back to a machine that it has left idle. */
void engine_host_returns(struct process *process);
/* Once, when the devices are known and whether a capture is wanted. */
void engine_prepare(struct process *process);
/* Ends the machine of a device. */
void engine_close(struct process *process, struct device *device);
/* A launch is complete, with all that its kernel has launched: off its stream, and gone. */
void engine_finish(struct process *process, struct task *task, uint64_t cycle);
/* Drops what a context has under way. */
void engine_abandon(struct process *process, struct context *context);

#endif
