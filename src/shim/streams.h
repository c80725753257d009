/* SPDX-License-Identifier: MIT */
/* Streams of the program: which one a launch goes to, and in which context what is asked for there is. The driver is asked once for each, as long as no stream and no context ends. */
#ifndef CORUN_SHIM_STREAMS_H
#define CORUN_SHIM_STREAMS_H

#include <stdbool.h>

/* A stream. Whose stream 0 it is, and in which context, tell the streams apart that have no handle. */
struct stream_key {
    const void *stream, *current;
};

struct stream_place {
    struct stream_key key;
    const void *context; /* of one of a green context, the device's own; NULL: the driver does not tell */
};

struct stream_place streams_find(void *stream, bool per_thread);
/* A stream or a context is gone, or about to be: its handle may be another one's. */
void streams_changed(void);

#endif
