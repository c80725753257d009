/* SPDX-License-Identifier: MIT */
/* A kernel that writes all over the device: before and behind its buffer, every 256 bytes, `spin` times each way. */
#ifndef CORUN_TESTS_RUNTIME_WILD_PTX_H
#define CORUN_TESTS_RUNTIME_WILD_PTX_H

#include "runtime/workers_ptx.h"

static const char wild_ptx[] = WORKERS_HEAD
    ".visible .entry hand(.param .u64 out, .param .u32 spin)\n{\n"
    ".reg .pred %p<3>;\n.reg .b32 %r<6>;\n.reg .b64 %rd<8>;\n"
    "ld.param.u64 %rd1, [out];\nld.param.u32 %r1, [spin];\nmov.u32 %r2, 0;\nmov.u32 %r4, -1;\n"
    "mov.u32 %r3, %tid.x;\nsetp.ne.u32 %p1, %r3, 0;\n@%p1 ret;\n"
    "AGAIN:\nsetp.ge.u32 %p2, %r2, %r1;\n@%p2 bra DONE;\nmul.wide.u32 %rd2, %r2, 256;\n"
    "add.u64 %rd3, %rd1, %rd2;\nst.global.u32 [%rd3], %r4;\nsub.u64 %rd3, %rd1, %rd2;\nst.global.u32 [%rd3], %r4;\n"
    "add.u32 %r2, %r2, 1;\nbra AGAIN;\nDONE:\nret;\n}\n";

/* In place of the kernel that hand_create makes; nobody asks what is left in its buffer. */
static inline void make_wild(struct hand *hand)
{
    hand->commands.ptx = wild_ptx;
    hand->commands.ptx_bytes = sizeof wild_ptx - 1;
    hand->commands.workers_ptx = NULL;
    hand->buffer.is_output = false;
}

#endif
