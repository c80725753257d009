/* SPDX-License-Identifier: MIT */
#ifndef CORUN_TEST_SPLIT_FAKE_CUDA_H
#define CORUN_TEST_SPLIT_FAKE_CUDA_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

typedef void fake_kernel(uint64_t threads, void **arguments);

/* Exported by the fake driver under the name fake_control. */
struct fake_control {
    pthread_mutex_t mutex;
    int launches, fails_at_launch; /* that launch breaks its device, which the next call tells; -1: never */
    unsigned broken;               /* mask of devices */
    int hangs_at_launch;           /* from that launch on nothing ends any more, until this is -1 again */
    unsigned late_us, slept; /* an event comes so much later than it is recorded; who waited for one in the driver */
    size_t memory_bytes;     /* of an allocation at most; 0: any */
    int pinned;
    unsigned waits, lookups; /* of streams for events; of kernels */
    uint64_t bytes_in, bytes_out;
};

#endif
