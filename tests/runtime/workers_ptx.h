/* SPDX-License-Identifier: MIT */
/*
 * A kernel, and the same written by hand as workers (rewrite/workers.h): what is tested with it does not depend on the pass that makes
 * workers of kernels. Thread block b of 32 threads works `spin` rounds, then adds 7 * b + t + 1 to place 32 * b + t: whoever runs it twice leaves
 * something else.
 */
#ifndef CORUN_TESTS_RUNTIME_WORKERS_PTX_H
#define CORUN_TESTS_RUNTIME_WORKERS_PTX_H

#include "workload/commands.h"

#include <stdlib.h>

#define WORKERS_HEAD ".version 6.0\n.target sm_52\n.address_size 64\n"
#define WORKERS_BODY \
    "mov.u32 %r10, 0;\nmov.u32 %r11, %r1;\n" \
    "SPIN:\nsetp.ge.u32 %p1, %r10, %r9;\n@%p1 bra SPUN;\n" \
    "mad.lo.u32 %r11, %r11, 5, 3;\nadd.u32 %r10, %r10, 1;\nbra SPIN;\nSPUN:\n" \
    "mad.lo.u32 %r12, %r1, 32, %r2;\nmul.wide.u32 %rd2, %r12, 4;\nadd.u64 %rd2, %rd2, %rd1;\n" \
    "mad.lo.u32 %r12, %r1, 7, %r2;\nadd.u32 %r12, %r12, 1;\nand.b32 %r11, %r11, 0;\nadd.u32 %r12, %r12, %r11;\n" \
    "red.global.add.u32 [%rd2], %r12;\n"

static const char hand_ptx[] = WORKERS_HEAD ".visible .entry hand(.param .u64 out, .param .u32 spin)\n{\n"
                                            ".reg .pred %p<9>;\n.reg .b32 %r<30>;\n.reg .b64 %rd<20>;\n"
                                            "ld.param.u64 %rd1, [out];\nld.param.u32 %r9, [spin];\n"
                                            "mov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %tid.x;\n" WORKERS_BODY "ret;\n}\n";

/* %r1: index of the thread block, %r20: TELL, %r21: SEATED; %p8: this thread talks. */
static const char hand_workers_ptx[] = WORKERS_HEAD
    ".visible .entry hand(.param .u64 out, .param .u32 spin, .param .align 16 .b8 corun_workers[80])\n{\n"
    ".reg .pred %p<9>;\n.reg .b32 %r<30>;\n.reg .b64 %rd<20>;\n.shared .align 4 .b32 word;\n"
    "ld.param.u64 %rd1, [out];\nld.param.u32 %r9, [spin];\nmov.u32 %r2, %tid.x;\nsetp.eq.u32 %p8, %r2, 0;\n"
    "ld.param.u64 %rd10, [corun_workers];\nld.param.u64 %rd11, [corun_workers+8];\n"
    "ld.param.u64 %rd12, [corun_workers+16];\nld.param.u32 %r21, [corun_workers+44];\n"
    "and.b32 %r20, %r21, 4;\nand.b32 %r21, %r21, 1;\n"
    "ld.global.u32 %r22, [%rd10+8];\n"
    "mov.u32 %r23, %smid;\nmul.wide.u32 %rd13, %r23, 16;\nadd.u64 %rd11, %rd11, %rd13;\n"
    /* previous, and join; the word is 1 if the worker stays */
    "@!%p8 bra JOINED;\nmov.u32 %r24, 0;\nsetp.eq.u64 %p2, %rd12, 0;\n@%p2 bra JOIN;\n"
    "PREVIOUS:\nld.volatile.global.u32 %r25, [%rd12];\nld.volatile.global.u32 %r26, [%rd12+8];\n"
    "setp.lt.u32 %p2, %r25, %r26;\n@%p2 bra SAY;\nld.volatile.global.u32 %r25, [%rd12+4];\n"
    "setp.ne.u32 %p2, %r25, 0;\n@%p2 bra PREVIOUS;\n"
    "JOIN:\natom.global.add.u32 %r25, [%rd11], 0x10000;\nmov.u32 %r24, 1;\nsetp.ne.u32 %p2, %r21, 0;\n@%p2 bra SAY;\n"
    "ld.param.u32 %r28, [corun_workers+44];\nshr.u32 %r28, %r28, 16;\nsub.u32 %r28, %r28, 1;\n"
    "shr.u32 %r27, %r25, 16;\nsetp.gt.u32 %p2, %r27, %r28;\n@%p2 bra GOES;\n"
    "and.b32 %r26, %r25, 0xffff;\nshr.u32 %r25, %r25, 16;\nsetp.lt.u32 %p2, %r25, %r26;\n@%p2 bra STAYS;\n"
    "GOES:\nred.global.add.u32 [%rd11], 0xffff0000;\nmov.u32 %r24, 0;\nbra SAY;\n"
    /* after somebody else */
    "STAYS:\nsetp.le.u32 %p2, %r26, 4095;\n@%p2 bra ALONE;\n"
    "shl.b32 %r27, %r26, 16;\nshr.s32 %r27, %r27, 28;\nld.param.u32 %r28, [corun_workers+60];\n"
    "mul.wide.s32 %rd14, %r27, %r28;\nadd.s64 %rd14, %rd14, %rd11;\n"
    "WAIT:\nld.volatile.global.u32 %r27, [%rd14];\nsetp.lt.u32 %p2, %r27, 0x10000;\n@%p2 bra ALONE;\n"
    "ld.volatile.global.u32 %r27, [%rd10];\nsetp.ge.u32 %p2, %r27, %r22;\n@%p2 bra GOES;\n"
    "ld.volatile.global.u32 %r27, [%rd11];\nand.b32 %r26, %r27, 0xffff;\nshr.u32 %r27, %r27, 16;\n"
    "setp.gt.u32 %p2, %r27, %r26;\n@%p2 bra GOES;\nbra WAIT;\n"
    "ALONE:\nsetp.eq.u32 %p2, %r20, 0;\n@%p2 bra SAY;\nred.global.add.u32 [%rd10+4], 1;\n"
    "SAY:\nst.shared.u32 [word], %r24;\nJOINED:\nbar.sync 0;\nld.shared.u32 %r24, [word];\nbar.sync 0;\n"
    "setp.eq.u32 %p2, %r24, 0;\n@%p2 ret;\n"
    "setp.eq.u32 %p2, %r21, 0;\n@%p2 bra DRAW;\nmov.u32 %r1, %ctaid.x;\nbra DRAWN;\n"
    "DRAW:\n@!%p8 bra TOLD;\natom.global.add.u32 %r24, [%rd10], 1;\nst.shared.u32 [word], %r24;\n"
    "TOLD:\nbar.sync 0;\nld.shared.u32 %r1, [word];\nbar.sync 0;\n"
    "DRAWN:\nsetp.ge.u32 %p2, %r1, %r22;\n@%p2 bra LEAVE;\n" WORKERS_BODY "bar.sync 0;\n"
    /* stay? */
    "@!%p8 bra ASKED;\nred.global.add.u32 [%rd11+4], 1;\nmov.u32 %r24, 1;\n"
    "ASK:\nld.volatile.global.u32 %r25, [%rd11];\nshr.u32 %r27, %r25, 16;\nand.b32 %r26, %r25, 0xffff;\n"
    "setp.le.u32 %p2, %r27, %r26;\n@%p2 bra STAY;\nsub.u32 %r26, %r25, 0x10000;\n"
    "atom.global.cas.b32 %r27, [%rd11], %r25, %r26;\nsetp.ne.u32 %p2, %r27, %r25;\n@%p2 bra ASK;\nmov.u32 %r24, 0;\n"
    "STAY:\nst.shared.u32 [word], %r24;\nASKED:\nbar.sync 0;\nld.shared.u32 %r24, [word];\nbar.sync 0;\n"
    "setp.ne.u32 %p2, %r24, 0;\n@%p2 bra DRAW;\n@!%p8 ret;\nbra SUM;\n"
    "LEAVE:\n@!%p8 ret;\nred.global.add.u32 [%rd11], 0xffff0000;\n"
    "SUM:\nsetp.eq.u32 %p2, %r20, 0;\n@%p2 ret;\nmembar.gl;\nred.global.add.u32 [%rd10+4], 0xffffffff;\nret;\n}\n";

/* One run: `launches` launches of so many thread blocks, each over all places. */
struct hand {
    struct workload_commands commands;
    struct command_argument arguments[2];
    struct command_buffer buffer;
    struct command launches[16];
    uint32_t *initial, *final; /* in pages */
};

static inline struct hand *hand_create(const char *name, uint32_t tbs, uint32_t spin, uint32_t launches)
{
    struct hand *hand = calloc(1, sizeof *hand);
    size_t bytes = (size_t)tbs * 32 * sizeof *hand->initial, pages = (bytes + 4095) / 4096 * 4096;
    hand->initial = aligned_alloc(4096, pages);
    hand->final = aligned_alloc(4096, pages);
    for (uint32_t i = 0; i < tbs * 32; i++) {
        hand->initial[i] = 1000 * i;
        hand->final[i] = hand->initial[i] + launches * (i / 32 * 7 + i % 32 + 1);
    }
    hand->arguments[0] = (struct command_argument){.bytes = 8, .is_buffer = true};
    hand->arguments[1] = (struct command_argument){.bytes = 4, .bits = spin};
    hand->buffer = (struct command_buffer){
        .name = "out", .bytes = bytes, .initial = hand->initial, .final = hand->final, .is_output = true};
    for (uint32_t i = 0; i < launches; i++)
        hand->launches[i] = (struct command){.kernel = "hand",
                                             .grid = {tbs, 1, 1},
                                             .block = {32, 1, 1},
                                             .argument_count = 2,
                                             .arguments = hand->arguments,
                                             .thread_instructions = (uint64_t)tbs * 32 * (5 * spin + 20)};
    hand->commands = (struct workload_commands){.name = name,
                                                .ptx = hand_ptx,
                                                .ptx_bytes = sizeof hand_ptx - 1,
                                                .workers_ptx = hand_workers_ptx,
                                                .buffers = &hand->buffer,
                                                .buffer_count = 1,
                                                .commands = hand->launches,
                                                .command_count = launches,
                                                .launch_count = launches};
    return hand;
}

static inline void hand_destroy(struct hand *hand)
{
    free(hand->initial);
    free(hand->final);
    free(hand);
}

#endif
