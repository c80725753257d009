/* SPDX-License-Identifier: MIT */
/* Times as people write them. */
#ifndef CORUN_BASE_DURATION_H
#define CORUN_BASE_DURATION_H

#include <stdbool.h>
#include <stdint.h>

/* Of the host: "90s", "30m", "1.5h"; one second to 1e9. */
bool duration_parse(const char *text, double *seconds);
/* Of the host, too, where a moment counts: "50ms", "3s"; one millisecond to an hour. */
bool brief_duration_parse(const char *text, uint64_t *microseconds);

/* Of a simulated GPU: "10ms", "2.5us", "800ns", "1s", or "5M": cycles. One of the two is 0. */
struct simulated_duration {
    double nanoseconds;
    uint64_t cycles;
};
bool simulated_duration_parse(const char *text, struct simulated_duration *duration);
/* As cycles of that clock, at least 1; 0 for one that is zeroed. */
uint64_t simulated_duration_cycles(const struct simulated_duration *duration, uint32_t clock_khz);

#endif
