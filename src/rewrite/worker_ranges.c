/* SPDX-License-Identifier: MIT */
/* What workers do about ranges, as PTX. */
#include "rewrite/worker_ranges.h"

#include "rewrite/workers.h"

#include <stddef.h>

_Static_assert(offsetof(struct worker_arguments, ranges) == 64 && offsetof(struct worker_arguments, range_more) == 68 &&
                   offsetof(struct worker_place, done) == 4 && WORKERS_RANGE_GROUP == 64,
               "the texts have this");

const char worker_range_number[] = "ld.param.v2.u32 {%ranges, %further}, [arguments+64];\n"
                                   "$NUMBER:\n"
                                   "min.u32 %a, %drawn, %ranges;\n"
                                   "and.b32 %a, %a, -64;\n"
                                   "mad.lo.u32 %a, %a, %further, %drawn;\n"
                                   "setp.lt.u32 %ranging, %drawn, %ranges;\n";

const char worker_range_left[] = "@%ranging st.shared.v2.b32 [worker+32], {%a, %further};\n";

const char worker_range_count[] = "@!%ranging bra $COUNTED;\n"
                                  "<place>"
                                  "red.global.add.u32 [%place+4], %further;\n"
                                  "$COUNTED:\n";

const char worker_range_step[] = "STEP:\n"
                                 "ld.shared.v2.b32 {%a, %further}, [worker+32];\n"
                                 "ld.param.v4.u32 {%row, %reciprocal, %rows, %flags}, [arguments+32];\n"
                                 "mov.u32 %owed, <UNLIMITED>;\n"
                                 "add.u32 %a, %a, 64;\n"
                                 "sub.u32 %further, %further, 1;\n"
                                 "setp.ne.u32 %ranging, %further, 0;\n"
                                 "st.shared.v2.b32 [worker+32], {%a, %further};\n";

const char worker_range_draws[] = "mul.lo.u32 %t, %ranges, %further;\n"
                                  "sub.u32 %u, %u, %t;\n";
