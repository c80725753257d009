/* SPDX-License-Identifier: MIT */
/* Hosts and applications for tests, made up so that what they do can be worked out by hand. */
#ifndef TESTS_HOST_STAGE_H
#define TESTS_HOST_STAGE_H

#include "host/arrivals.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A host at 1 GHz where nothing but computing costs anything: 12 cores, 16 ways of 1 MiB, 64 GB/s. */
static inline struct host_machine stage_machine(void)
{
    return (struct host_machine){.name = "stage",
                                 .cores = 12,
                                 .clock_khz = 1000000,
                                 .ways = 16,
                                 .cache_bytes = 16u << 20,
                                 .line_bytes = 64,
                                 .memory_mbps = 64000,
                                 .latency_ns = 100,
                                 .burst_ns = 20,
                                 .private_bytes = 0,
                                 .refill_permille = 1000,
                                 .switch_ns = 0,
                                 .slice_ns = 3000000};
}

static inline struct host_application *stage_application(const char *text)
{
    struct corun_diagnostics *list = corun_diagnostics_create();
    struct host_application *application;
    enum corun_status status = host_application_parse("stage.yaml", text, strlen(text), list, &application);
    if (status)
        fail_msg("%s", corun_diagnostics_get(list, 0)->message);
    corun_diagnostics_destroy(list);
    return application;
}

/* A service that computes and no more: a size is instructions. */
#define STAGE_SERVICE(threads, sizes, scaling) \
    "application: stage\nkind: service\nthreads: " threads "\nsizes: " sizes "\ninstructions: [[0, 0], [1, 1]]\n" \
    "cycles_per_instruction: 1\noverlap: 1\n" scaling "\nmisses: [{points: [[64, 0]]}]\n"

#endif
