/* SPDX-License-Identifier: MIT */
/* A software machine with applications of the hand-written kernel, on corun's own driver (CORUN_TEST_DRIVER): a simulated GPU of 4 SMs. */
#ifndef CORUN_TESTS_SOFTWARE_STAGE_H
#define CORUN_TESTS_SOFTWARE_STAGE_H

#include "software/software.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/workers_ptx.h"

enum { STAGE_SMS = 4, STAGE_MOST = 3 };

struct stage {
    struct software_options options;
    struct software_application applications[STAGE_MOST];
    struct hand *hands[STAGE_MOST];
    uint32_t count;
    struct corun_diagnostics *list;
    struct software *software;
    struct software_result results[STAGE_MOST];
};

static inline struct stage stage_begin(void)
{
    return (struct stage){.options = {.library = getenv("CORUN_TEST_DRIVER"), .check = true},
                          .list = corun_diagnostics_create()};
}

static inline struct software_application *stage_add(struct stage *stage, uint32_t tbs, uint32_t spin,
                                                     uint32_t launches)
{
    static const char *const names[] = {"first", "second", "third"};
    struct software_application *application = &stage->applications[stage->count];
    struct hand *hand = stage->hands[stage->count] = hand_create(names[stage->count], tbs, spin, launches);
    *application = (struct software_application){.name = names[stage->count], .commands = &hand->commands};
    stage->count++;
    return application;
}

static inline enum corun_status stage_create(struct stage *stage)
{
    return software_create(&stage->options, stage->applications, stage->count, stage->list, &stage->software);
}

static inline void stage_run(struct stage *stage, const struct software_limits *limits)
{
    enum corun_status status = stage_create(stage);
    if (status == CORUN_OK)
        status = software_run(stage->software, limits, stage->list);
    if (status != CORUN_OK)
        fail_msg("%s", corun_diagnostics_count(stage->list) ? corun_diagnostics_get(stage->list, 0)->message : "?");
    for (uint32_t i = 0; i < stage->count; i++) {
        software_result(stage->software, i, &stage->results[i]);
        assert_int_equal(stage->results[i].mismatches, 0);
    }
}

static inline void stage_end(struct stage *stage)
{
    software_destroy(stage->software);
    for (uint32_t i = 0; i < stage->count; i++)
        hand_destroy(stage->hands[i]);
    corun_diagnostics_destroy(stage->list);
}

#endif
