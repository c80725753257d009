/* SPDX-License-Identifier: MIT */
/* What corun top shows, as text: it knows neither terminal nor socket. */
#ifndef CORUN_CLI_TOP_PICTURE_H
#define CORUN_CLI_TOP_PICTURE_H

#include "cli/daemon_link.h"
#include "report/columns.h"

/* By what rows are sorted, with the key for it. O(name, key, meaning) */
#define TOP_ORDERS(O) \
    O(NUMBER, 'N', "by number, as they came") \
    O(SMS, 'P', "by SMs") \
    O(MEMORY, 'M', "by memory") \
    O(INSTRUCTIONS, 'T', "by thread instructions")
enum top_order {
#define TOP_ORDER_ENUM(name, key, meaning) TOP_BY_##name,
    TOP_ORDERS(TOP_ORDER_ENUM)
#undef TOP_ORDER_ENUM
};

struct top_view {
    enum top_order order;
    bool reverse;
    uint32_t samples; /* of SMs over time that are shown */
    struct report_style style;
};

/*
 * `before` is what was there at the refresh before: rates and SMs are of the time between; NULL, or a client that is new: of its whole life. The
 * list is sorted. False: out of memory.
 */
bool top_print(const struct top_view *view, struct daemon_list *now, const struct daemon_list *before, FILE *stream);

#endif
