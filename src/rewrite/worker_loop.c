/* SPDX-License-Identifier: MIT */
/* The loop of a worker, as PTX. The texts are those of worker_sheet.h. */
#include "rewrite/worker_loop.h"

#include "rewrite/worker_ranges.h"
#include "rewrite/worker_sheet.h"
#include "rewrite/workers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Offsets in struct worker_arguments, worker_queue and worker_place, and flags, stand in the text as numbers. */
#define HAS(structure, field, place) _Static_assert(offsetof(struct structure, field) == (place), "the text has this")
HAS(worker_arguments, queue, 0);
HAS(worker_arguments, places, 8);
HAS(worker_arguments, previous, 16);
HAS(worker_arguments, grid_x, 32);
HAS(worker_arguments, row_reciprocal, 36);
HAS(worker_arguments, rows, 40);
HAS(worker_arguments, flags, 44);
HAS(worker_arguments, grid_y, 48);
HAS(worker_arguments, layer_reciprocal, 56);
HAS(worker_arguments, grid_id, 24);
HAS(worker_arguments, stride, 60);
HAS(worker_dropping_arguments, returned, 80);
HAS(worker_dropping_arguments, room, 88);
HAS(worker_completing_arguments, mark, 80);
HAS(worker_completing_arguments, begun, 88);
_Static_assert(WORKERS_STAYS_BYTES == 2048, "the text has this");
HAS(worker_returned, index, 0);
HAS(worker_returned, launch, 4);
HAS(worker_queue, next, 0);
HAS(worker_queue, alive, 4);
HAS(worker_queue, total, 8);
HAS(worker_queue, gone, 12);
HAS(worker_place, limit, 0);
HAS(worker_place, resident, 2);
HAS(worker_place, done, 4);
HAS(worker_place, busy, 8);
_Static_assert(sizeof(struct worker_place) == 16, "the text has this");
_Static_assert(WORKERS_SEATED == 1 && WORKERS_STRICT == 2 && WORKERS_TELL == 4 && WORKERS_DIRECT == 8 &&
                   WORKERS_HAS_LAYERS == 16 && WORKERS_DROP == 32 && WORKERS_COMPLETE == 64 &&
                   (WORKERS_AT_ONCE & 15) == 8 && WORKERS_MOST_SHIFT == 16,
               "the text has these");

/*
 * %ranging: the thread block of the round is not the last one of its range.
 * %others: not the elected thread. %apart: of a warp without the elected thread. %claimed: the place of this worker is given up already, or was not taken. %quiet: there is nothing to ask
 * for any more. %slot: the slot that is read, or written, next. %drawn, %owed: what was asked for, the next index and limit and resident workers of the place;
 * they are kept while the body runs, so %owed is one register.
 */
static const char declarations[] =
    ".reg .pred %others, %quiet, %strict, %claimed, %odd, %out, %direct, %behind, %p;\n"
    ".reg .pred %apart, %more, %ranging;\n"
    ".reg .pred %dropping;\n"
    ".reg .b16 %limit, %resident, %seen;\n"
    ".reg .b32 %x, %y, %z, %a, %b, %c, %t, %u, %slot, %flags, %word, %owed, %drawn, %last;\n"
    ".reg .b32 %row, %reciprocal, %rows, %layer, %told, %ranges, %further;\n"
    ".reg .b64 %place, %queue, %time, %state;\n";

/*
 * One thread is elected, the first one of one of the first four warps: which one, the number of the worker decides, so that on an SM the warps that talk
 * are of all its schedulers. %t: warps to choose from.
 */
static const char prologue[] = "ld.param.v4.u32 {%row, %reciprocal, %rows, %flags}, [arguments+32];\n"
                               "and.b32 %t, %flags, 8;\n"
                               "setp.ne.u32 %direct, %t, 0;\n"
                               "@%direct bra STRAIGHT;\n"
                               "mov.u32 %t, %ntid.x;\n"
                               "mov.u32 %u, %tid.y;\n"
                               "mov.u32 %b, %ntid.y;\n"
                               "mov.u32 %c, %tid.z;\n"
                               "mad.lo.u32 %u, %c, %b, %u;\n"
                               "mov.u32 %a, %tid.x;\n"
                               "mad.lo.u32 %a, %u, %t, %a;\n"
                               "mul.lo.u32 %t, %t, %b;\n"
                               "shr.u32 %t, %t, 5;\n"
                               "min.u32 %t, %t, 4;\n"
                               "mov.u32 %u, %ctaid.x;\n"
                               "mul.lo.u32 %u, %u, <GOLDEN>;\n"
                               "mul.hi.u32 %u, %u, %t;\n"
                               "shl.b32 %u, %u, 5;\n"
                               "xor.b32 %a, %a, %u;\n"
                               "setp.ne.u32 %others, %a, 0;\n"
                               "setp.ne.u32 %quiet, %a, 0;\n"
                               "<false out><false strict>";

/* Behind that: in which slot the first thread block is told, or by whose warp. */
static const char first_slot[] = "mov.u32 %slot, worker;\n";
static const char teller[] = "setp.gt.u32 %apart, %a, 31;\n";

/*
 * It joins, where the launch has not as many workers on the SM as it wants there, and looks at the launch before at the same time; then it draws what the worker begins with, and is alive from then on. %state: what is
 * known of the queue before, next and alive; %time: its total.
 */
static const char joining[] = "<true claimed>"
                              "mov.u32 %drawn, <NONE>;\n"
                              "<test 2>"
                              "mov.pred %strict, %p;\n"
                              "JOIN:\n"
                              "ld.param.u64 %time, [arguments+16];\n"
                              "<place>"
                              "<test 1>"
                              "@%p bra SEATED;\n"
                              "setp.ne.u64 %behind, %time, 0;\n"
                              "atom.global.add.u32 %word, [%place], <RESIDENT>;\n"
                              "@%behind ld.volatile.global.v2.u64 {%state, %time}, [%time];\n"
                              "shr.u32 %a, %flags, 16;\n"
                              "sub.u32 %a, %a, 1;\n"
                              "shr.u32 %u, %word, 16;\n"
                              "setp.gt.u32 %p, %u, %a;\n"
                              "@%p bra FULL;\n"
                              "add.u32 %word, %word, <RESIDENT>;\n"
                              "<too-many>"
                              "@%p bra FULL;\n"
                              "@%behind bra BEHIND;\n"
                              "DRAWS:\n"
                              "setp.gt.u16 %p, %limit, <COUNT>;\n"
                              "@%p bra AFTER;\n"
                              "ALONE:\n"
                              "mov.u64 %time, 1;\n"
                              "<test 4>"
                              "@%p mov.u64 %time, <ALIVE>;\n"
                              "atom.global.add.u64 %state, [%queue], %time;\n"
                              "cvt.u32.u64 %drawn, %state;\n"
                              "STAY:\n"
                              "<false claimed>"
                              "mov.u64 %time, %globaltimer;\n"
                              "neg.s64 %time, %time;\n"
                              "red.global.add.u64 [%place+8], %time;\n"
                              "BEGIN:\n"
                              "mov.u32 %owed, <UNLIMITED>;\n";

/*
 * What is rare at the beginning. The launch before is not complete: its thread blocks need places, or it is waited for, without a place. FULL: no place
 * is owed. Who goes without a place is alive for a moment, since all that go are no longer.
 */
static const char rare_beginning[] = "SEATED:\n"
                                     "red.global.add.u32 [%place], <RESIDENT>;\n"
                                     "mov.u32 %drawn, %ctaid.x;\n"
                                     "bra STAY;\n"
                                     "BEHIND:\n"
                                     "mov.b64 {%t, %u}, %state;\n"
                                     "cvt.u32.u64 %a, %time;\n"
                                     "setp.lt.u32 %p, %t, %a;\n"
                                     "@%p bra FULL;\n"
                                     "setp.eq.u32 %p, %u, 0;\n"
                                     "membar.gl;\n"
                                     "@%p bra DRAWS;\n"
                                     "red.global.add.u32 [%place], -<RESIDENT>;\n"
                                     "WAIT:\n";

static const char rare_waiting[] = "ld.param.u64 %time, [arguments+16];\n"
                                   "ld.volatile.global.u32 %t, [%time+4];\n"
                                   "setp.ne.u32 %p, %t, 0;\n"
                                   "@%p bra WAIT;\n"
                                   "bra JOIN;\n"
                                   "AFTER:\n"
                                   "and.b32 %t, %word, <COUNT>;\n"
                                   "shr.u32 %u, %word, 16;\n"
                                   "setp.gt.u32 %p, %u, %t;\n"
                                   "@%p bra FULL;\n"
                                   "shl.b32 %t, %word, 16;\n"
                                   "shr.s32 %t, %t, 28;\n"
                                   "<nobody>"
                                   "ld.param.u32 %u, [arguments+60];\n"
                                   "mul.wide.s32 %time, %t, %u;\n"
                                   "add.s64 %time, %time, %place;\n"
                                   "ld.volatile.global.u32 %t, [%time];\n"
                                   "setp.lt.u32 %p, %t, <RESIDENT>;\n"
                                   "@%p bra ALONE;\n";

/* It waits behind somebody else, until its limit falls or nothing is left to be drawn. */
static const char rare_beginning_end[] = "ld.volatile.global.u32 %t, [%queue];\n"
                                         "ld.volatile.global.u32 %u, [%queue+8];\n"
                                         "setp.ge.u32 %p, %t, %u;\n"
                                         "@%p bra FULL;\n"
                                         "ld.volatile.global.u32 %word, [%place];\n"
                                         "<too-many>"
                                         "@!%p bra DRAWS;\n"
                                         "FULL:\n"
                                         "red.global.add.u32 [%place], -<RESIDENT>;\n"
                                         "<test 4>"
                                         "@%p red.global.add.u32 [%queue+4], 1;\n"
                                         "bra BEGIN;\n";

/*
 * The first worker of a launch that is COMPLETE says that it has begun, and makes the other queue of the pair ready. Whoever takes that sees so, since this
 * worker counts itself out behind the fence.
 */
static const char opening[] = "mov.u32 %t, %ctaid.x;\n"
                              "setp.eq.u32 %p, %t, 0;\n"
                              "@%p bra OPEN;\n"
                              "OPENED:\n";
static const char rare_opening[] = "OPEN:\n"
                                   "<test 64>"
                                   "@!%p bra OPENED;\n"
                                   "ld.param.u64 %queue, [arguments];\n"
                                   "xor.b64 %queue, %queue, 16;\n"
                                   "mov.u64 %state, 0;\n"
                                   "st.volatile.global.u64 [%queue], %state;\n"
                                   "st.volatile.global.u64 [%queue+8], %state;\n"
                                   "membar.gl;\n"
                                   "ld.param.u64 %time, [arguments+80];\n"
                                   "ld.param.u32 %t, [arguments+88];\n"
                                   "st.volatile.global.u32 [%time], %t;\n"
                                   "bra OPENED;\n";

/*
 * Whoever has nothing to run counts itself out. The last one of the launch says that it stays, takes what is left, in spite of limits, and comes here again; where nothing is left, it
 * waits for workers of other launches that have drawn. These are alive in the step in which they draw: in one reading nobody is, and there is nothing to draw.
 */
static const char parting[] = "mul.lo.u32 %t, %row, %rows;\n"
                              "setp.ge.u32 %p, %a, %t;\n"
                              "@%p bra $PART;\n"
                              "$PARTED:\n";
static const char rare_parting[] = "$PART:\n"
                                   "<test 64>"
                                   "@!%p bra $PARTED;\n"
                                   "<place>"
                                   "atom.global.add.u32 %u, [%queue+12], 1;\n"
                                   "mov.u32 %t, %nctaid.x;\n"
                                   "sub.u32 %t, %t, 1;\n"
                                   "setp.lt.u32 %p, %u, %t;\n"
                                   "@%p bra $PARTED;\n"
                                   "atom.global.add.u32 %drawn, [%queue], 1;\n"
                                   "mul.lo.u32 %u, %row, %rows;\n";
static const char rare_parting_waiting[] = "setp.lt.u32 %p, %drawn, %u;\n"
                                           "@%p bra $STAY;\n"
                                           "$WAIT:\n";
static const char rare_parting_end[] = "ld.volatile.global.v2.u32 {%t, %u}, [%queue];\n"
                                       "setp.ne.u32 %p, %u, 0;\n"
                                       "@%p bra $WAIT;\n"
                                       "membar.sys;\n"
                                       "ld.param.u64 %time, [arguments+80];\n"
                                       "ld.param.u32 %t, [arguments+88];\n"
                                       "add.u32 %t, %t, 1;\n"
                                       "st.volatile.global.u32 [%time], %t;\n"
                                       "bra $PARTED;\n"
                                       "$STAY:\n"
                                       "ld.param.u64 %time, [arguments+80];\n"
                                       "ld.param.u32 %t, [arguments+88];\n"
                                       "st.volatile.global.u32 [%time+2048], %t;\n"
                                       "@!%claimed bra $NUMBER;\n"
                                       "red.global.add.u32 [%place], <RESIDENT>;\n"
                                       "mov.u64 %time, %globaltimer;\n"
                                       "neg.s64 %time, %time;\n"
                                       "red.global.add.u64 [%place+8], %time;\n"
                                       "<false claimed>"
                                       "bra $NUMBER;\n";

static const char sleeping[] = "nanosleep.u32 250;\n";

static const char body[] = "bra SYNC;\n"
                           "BODY:\n"
                           "pmevent 0;\n" PTX_WORKER_END ":\n";

/* Where there are no workers. */
static const char straight_end[] = "@%direct ret;\n";

/* At its beginning: nobody talks. */
static const char straight_begin[] = "<true others>"
                                     "bra BODY;\n";

/* What was drawn becomes what is next, in the other slot. */
static const char next_slot[] = "xor.b32 %slot, %slot, 16;\n";
static const char ending[] = "ld.param.v4.u32 {%row, %reciprocal, %rows, %flags}, [arguments+32];\n"
                             "@!%quiet bra LATE;\n"
                             "TAKE:\n"
                             "@%strict bra STRICTLY;\n"
                             "TAKEN:\n";

/* The same for a kernel that has no register to spare: nothing is kept while the body runs, and it is drawn only now. */
static const char thrifty_next_slot[] = "mov.u32 %slot, worker;\n"
                                        "@!%odd add.u32 %slot, %slot, 16;\n";
static const char thrifty_ending[] = "mov.u32 %drawn, <NONE>;\n"
                                     "mov.u32 %owed, <UNLIMITED>;\n"
                                     "ld.param.v4.u32 {%row, %reciprocal, %rows, %flags}, [arguments+32];\n"
                                     "@%claimed bra TAKEN;\n"
                                     "<ask>"
                                     "@%strict bra STRICTLY;\n"
                                     "TAKEN:\n";

/* The elected thread gives the place up if it is owed no longer, one worker for each such place. */
static const char staying[] = "mov.u32 %word, %owed;\n"
                              "<too-many>"
                              "@%p bra CLAIM;\n";

static const char going[] = "setp.eq.u32 %out, %x, -1;\n"
                            "@!%out bra BODY;\n"
                            "@%others ret;\n"
                            "<place>"
                            "ld.param.u32 %flags, [arguments+44];\n"
                            "<test 4>"
                            "@!%p bra TOLD;\n"
                            "membar.gl;\n"
                            "red.global.add.u32 [%queue+4], -1;\n"
                            "TOLD:\n"
                            "@%claimed ret;\n"
                            "red.global.add.u32 [%place], -<RESIDENT>;\n"
                            "<leave>"
                            "ret;\n";

/* A thread that ends before it could ask. */
static const char late[] = "LATE:\n"
                           "<ask>"
                           "bra TAKE;\n";

/* What is rare: a place that is given up, whose last thread block is counted beforehand. */
static const char rare[] = "CLAIM:\n"
                           "<place><claim CLAIM_>"
                           "bra $;\n"
                           "CLAIM_CLAIMED:\n"
                           "<leave>"
                           "setp.ne.u32 %p, %x, -1;\n"
                           "@%p red.global.add.u32 [%place+4], 1;\n"
                           "<true quiet>"
                           "mov.u32 %owed, <UNLIMITED>;\n"
                           "mov.u32 %drawn, <NONE>;\n"
                           "bra $;\n"
                           "STRICTLY:\n"
                           "<place>"
                           "mov.u32 %word, %owed;\n"
                           "mov.u32 %drawn, <NONE>;\n"
                           "mov.u32 %owed, <UNLIMITED>;\n"
                           "<too-many>"
                           "@!%p bra DRAW;\n"
                           "<claim STRICT_>"
                           "DRAW:\n"
                           "atom.global.add.u32 %drawn, [%queue], 1;\n"
                           "bra TAKEN;\n"
                           "STRICT_CLAIMED:\n"
                           "<leave>"
                           "bra TAKEN;\n"
                           "STRAIGHT:\n"
                           "mov.u32 %x, %ctaid.x;\n";

static const char asking[] = "@%quiet bra ASKED;\n"
                             "<ask><true quiet>"
                             "ASKED:\n";

/* The elected thread is told to leave at once, if too many are there: it gives back what it has drawn, and has not begun. */
static const char flagged[] = "mov.u32 %word, %owed;\n"
                              "mov.b32 {%limit, %resident}, %word;\n"
                              "<at-once limit>"
                              "@%p bra GIVING;\n"
                              "GIVEN:\n";

static const char giving[] = "GIVING:\n"
                             "@%claimed bra GIVEN;\n"
                             "<too-many>"
                             "@!%p bra GIVEN;\n"
                             "<place><full>"
                             "@%p bra GIVEN;\n"
                             "<surrender GIVE_>"
                             "<true claimed><all>"
                             "setp.ge.u32 %p, %drawn, %a;\n"
                             "@%p bra GIVE_AFTER;\n"
                             "<return>"
                             "GONE:\n"
                             "<leave>"
                             "mov.u32 %owed, <UNLIMITED>;\n"
                             "mov.u32 %drawn, <NONE>;\n"
                             "bra GIVEN;\n"
                             "GIVE_AFTER:\n" /* what was given back before, and is not taken, or nothing */
                             "red.global.min.u32 [%queue], %drawn;\n"
                             "bra GONE;\n"
                             "GIVE_STAYS:\n"
                             "red.global.add.u32 [%place], <RESIDENT>;\n"
                             "bra GIVEN;\n";

/* Behind the thread blocks of the grid come those that were given back. */
static const char returned[] = "mul.lo.u32 %t, %row, %rows;\n"
                               "setp.ge.u32 %p, %drawn, %t;\n"
                               "@%p bra $RETURNED;\n"
                               "$DRAWN:\n"
                               "st.shared.b32 [worker+12], %drawn;\n"
                               "mov.u32 %a, %drawn;\n";

/* Several may draw the same one, since numbers are drawn anew when something is given back: the first one has it. */
static const char taking[] = "$RETURNED:\n"
                             "@%claimed bra $DRAWN;\n"
                             "ld.param.u64 %queue, [arguments];\n"
                             "membar.gl;\n"
                             "ld.volatile.global.u32 %u, [%queue+8];\n"
                             "setp.ge.u32 %p, %drawn, %u;\n"
                             "@%p bra $DRAWN;\n"
                             "<all>"
                             "sub.u32 %u, %drawn, %a;\n"
                             "ld.param.u64 %time, [arguments+80];\n"
                             "mad.wide.u32 %time, %u, 8, %time;\n"
                             "ld.param.u32 %b, [arguments+24];\n"
                             "$UNWRITTEN:\n"
                             "ld.volatile.global.v2.u32 {%t, %u}, [%time];\n"
                             "setp.ne.u32 %p, %u, %b;\n"
                             "@%p bra $UNWRITTEN;\n"
                             "setp.eq.u32 %p, %t, -1;\n"
                             "@%p bra $TAKEN;\n"
                             "atom.global.cas.b32 %u, [%time], %t, -1;\n"
                             "mov.u32 %drawn, %t;\n"
                             "setp.eq.u32 %p, %u, %t;\n"
                             "@%p bra $DRAWN;\n"
                             "$TAKEN:\n"
                             "atom.global.add.u32 %drawn, [%queue], 1;\n"
                             "bra $RETURNED;\n";

/*
 * Within the body. The elected thread looks at its place every 1024 cycles, and at what it found there when it looks again: nothing is waited for. It leaves
 * if too many are there, and it has not asked for the next thread block already.
 */
static const char polling[] = "@%others bra ON;\n"
                              "mov.u32 %t, %clock;\n"
                              "sub.u32 %u, %t, %last;\n"
                              "setp.lt.u32 %p, %u, 1024;\n"
                              "@%p bra ON;\n"
                              "mov.u32 %last, %t;\n"
                              "<at-once seen>"
                              "@!%p bra LOAD;\n"
                              "@%quiet bra LOAD;\n"
                              "ld.param.u32 %flags, [arguments+44];\n"
                              "<test 32>"
                              "@!%p bra LOAD;\n"
                              "<place><full>"
                              "@%p bra LOAD;\n"
                              "<surrender LEAVE_>"
                              "ld.shared.b32 %drawn, [worker+12];\n"
                              "<return>"
                              "<leave><true claimed><true quiet><true dropping><false strict>"
                              "mov.u32 %owed, <UNLIMITED>;\n"
                              "mov.u32 %drawn, <NONE>;\n";

static const char looking[] = "LEAVE_STAYS:\n"
                              "red.global.add.u32 [%place], <RESIDENT>;\n"
                              "LOAD:\n"
                              "<place>"
                              "ld.volatile.global.u16 %seen, [%place];\n"
                              "ON:\n";

/* Threads that are by themselves hear of that in shared memory. */
static const char others_looking[] = "@%others setp.lt.s16 %dropping, %seen, -28672;\n"
                                     "@%others ld.volatile.shared.u16 %seen, [worker+28];\n";

/* All that runs before a body: nothing has been seen. */
static const char unseen[] = "mov.u16 %seen, 0;\n"
                             "mov.u32 %last, 0;\n"
                             "<false dropping>";

/*
 * Where the thread block with index %a lies; x is -1 where there is none. A division would take some twenty instructions; code.c says why the reciprocal
 * does.
 */
static const char row_text[] = "setp.lt.u32 %p, %a, %row;\n"
                               "@%p bra $PLACED;\n"
                               "mul.hi.u32 %b, %a, %reciprocal;\n"
                               "mul.lo.u32 %t, %b, %row;\n"
                               "sub.u32 %a, %a, %t;\n"
                               "setp.ge.u32 %p, %a, %row;\n"
                               "@%p sub.u32 %a, %a, %row;\n"
                               "@%p add.u32 %b, %b, 1;\n"
                               "setp.ge.u32 %p, %b, %rows;\n"
                               "@%p mov.u32 %a, -1;\n";

static const char layer_text[] = "<test 16>"
                                 "@!%p bra $PLACED;\n"
                                 "ld.param.u32 %layer, [arguments+48];\n"
                                 "ld.param.u32 %reciprocal, [arguments+56];\n"
                                 "mul.hi.u32 %c, %b, %reciprocal;\n"
                                 "mul.lo.u32 %t, %c, %layer;\n"
                                 "sub.u32 %b, %b, %t;\n"
                                 "setp.ge.u32 %p, %b, %layer;\n"
                                 "@%p sub.u32 %b, %b, %layer;\n"
                                 "@%p add.u32 %c, %c, 1;\n";

/* By barriers, what was drawn is %x; -1 where nothing was. */
static const char saying[] = "mul.lo.u32 %t, %row, %rows;\n"
                             "setp.lt.u32 %p, %drawn, %t;\n"
                             "selp.b32 %x, %drawn, -1, %p;\n";

/*
 * A barrier that counts threads tells five bits: as many lanes of the warp of the elected thread raise their hands as these say, and nobody else. All lanes do
 * where nothing was drawn: two barriers say 1024 then, which is behind the end of a grid that has no more than these can count. %told: of the warp of
 * the elected thread, which knows it beforehand, and may have less than 32 lanes where it is the only one.
 */
static const char telling[] = "<false p><false more>"
                              "@%apart bra TELL;\n"
                              "shfl.sync.idx.b32 %told, %x, 0, 31, 4294967295;\n"
                              "mov.u32 %t, %laneid;\n"
                              "setp.eq.u32 %out, %told, -1;\n"
                              "and.b32 %a, %told, 31;\n"
                              "setp.lt.or.u32 %p, %t, %a, %out;\n"
                              "shr.u32 %a, %told, 5;\n"
                              "and.b32 %a, %a, 31;\n"
                              "setp.lt.u32 %more, %t, %a;\n"
                              "TELL:\n";

static const char told[] = "mad.lo.u32 %a, %b, 32, %a;\n"
                           "ld.param.v4.u32 {%row, %reciprocal, %rows, %flags}, [arguments+32];\n"
                           "mul.lo.u32 %u, %row, %rows;\n"
                           "setp.gt.u32 %p, %u, 1023;\n"
                           "@%p bra MORE;\n"
                           "MET:\n"
                           "@!%apart mov.u32 %a, %told;\n";

/* In a larger grid, further bits. %c: how many are told; %u: what is left of the size of the grid. */
static const char telling_more[] = "MORE:\n"
                                   "setp.eq.u32 %p, %a, 1024;\n"
                                   "@%p mov.u32 %a, -1;\n"
                                   "@%p bra MET;\n"
                                   "mov.u32 %c, 10;\n"
                                   "shr.u32 %u, %u, 10;\n"
                                   "mov.u32 %t, %laneid;\n"
                                   "BITS:\n"
                                   "shr.u32 %b, %told, %c;\n"
                                   "and.b32 %b, %b, 31;\n"
                                   "@%apart mov.u32 %b, 0;\n"
                                   "setp.lt.u32 %p, %t, %b;\n";

static const char told_more[] = "shl.b32 %b, %b, %c;\n"
                                "add.u32 %a, %a, %b;\n"
                                "add.u32 %c, %c, 5;\n"
                                "shr.u32 %u, %u, 5;\n"
                                "setp.ne.u32 %p, %u, 0;\n"
                                "@%p bra BITS;\n"
                                "bra MET;\n";

static bool reads_y(const struct worker_shape *shape)
{
    return shape->reads & (1u << GRID_CTAID_Y | 1u << GRID_CTAID_Z);
}

static bool reads_z(const struct worker_shape *shape)
{
    return shape->reads & 1u << GRID_CTAID_Z;
}

static void put_position(const struct sheet *sheet, const struct worker_shape *shape, const char *at)
{
    bool y = reads_y(shape), z = reads_z(shape);
    sheet_put(sheet, y ? "mov.u32 %b, 0;\n" : "");
    sheet_put(sheet, z ? "mov.u32 %c, 0;\n" : "");
    sheet_put_at(sheet, row_text, at);
    sheet_put_at(sheet, y ? layer_text : "", at);
    sheet_put_at(sheet, "$PLACED:\n", at);
}

/* Where a thread block lies, into the slot. */
static void put_slot(const struct sheet *sheet, const struct worker_shape *shape, const char *at)
{
    bool y = reads_y(shape), z = reads_z(shape);
    put_position(sheet, shape, at);
    sheet_put(sheet, z && sheet->drops ? "st.shared.v2.b32 [%slot], {%a, %b};\nst.shared.b32 [%slot+8], %c;\n"
                     : z               ? "st.shared.v4.b32 [%slot], {%a, %b, %c, %c};\n"
                     : y               ? "st.shared.v2.b32 [%slot], {%a, %b};\n"
                                       : "st.shared.b32 [%slot], %a;\n");
}

/* What was drawn, for all. The last worker of a launch may draw again first. */
static void put_drawn(const struct sheet *sheet, const struct worker_shape *shape, const char *at)
{
    if (!shape->by_barriers || shape->completes)
        sheet_put_at(sheet,
                     sheet->drops    ? returned
                     : shape->ranges ? worker_range_number
                                     : "$NUMBER:\nmov.u32 %a, %drawn;\n",
                     at);
    sheet_put_at(sheet, shape->completes ? parting : "", at);
    if (shape->by_barriers) {
        sheet_put(sheet, saying);
        return;
    }
    sheet_put(sheet, shape->ranges ? worker_range_left : "");
    put_slot(sheet, shape, at);
    sheet_put_at(sheet, shape->ranges ? worker_range_count : "", at);
}

/* What is next is of the same range. */
static void put_step(const struct sheet *sheet, const struct worker_shape *shape)
{
    sheet_put(sheet, worker_range_step);
    put_slot(sheet, shape, "STEP_");
    sheet_put(sheet, "bra NEXT;\n");
}

static void put_slot_reads(const struct sheet *sheet, const struct worker_shape *shape)
{
    sheet_put(sheet, reads_z(shape)   ? "ld.shared.v4.b32 {%x, %y, %z, %t}, [%slot];\n"
                     : reads_y(shape) ? "ld.shared.v2.b32 {%x, %y}, [%slot];\n"
                                      : "ld.shared.b32 %x, [%slot];\n");
}

static void put_counting(const struct sheet *sheet, const struct worker_shape *shape, const char *count, const char *of)
{
    fprintf(sheet->stream, "bar.red.popc.u32 %%%s, %u, %%%s;\n", count, shape->barrier, of);
}

/* All threads hear what was drawn, and have met. */
static void put_telling(const struct sheet *sheet, const struct worker_shape *shape)
{
    sheet_put(sheet, telling);
    put_counting(sheet, shape, "a", "p");
    put_counting(sheet, shape, "b", "more");
    sheet_put(sheet, told);
    put_position(sheet, shape, "");
    sheet_put(sheet, "mov.u32 %x, %a;\n");
    sheet_put(sheet, reads_y(shape) ? "mov.u32 %y, %b;\n" : "");
    sheet_put(sheet, reads_z(shape) ? "mov.u32 %z, %c;\n" : "");
}

/* What is rare of that. */
static void put_telling_more(const struct sheet *sheet, const struct worker_shape *shape)
{
    sheet_put(sheet, telling_more);
    put_counting(sheet, shape, "b", "p");
    sheet_put(sheet, told_more);
}

/*
 * Threads of a warp that went different ways come together. A barrier is one of warps: a warp that comes in two parts would count twice. Where threads
 * may wait at other barriers, a part of a warp may come, and the barrier is one that allows for that.
 */
static void put_warp(const struct sheet *sheet, const struct worker_shape *shape)
{
    if (shape->meeting == WORKER_MEETS_PLAINLY)
        sheet_put(sheet, "bar.warp.sync 4294967295;\n");
}

/* All threads, in a barrier or as many as it takes, and what is next. %out is false here. */
static void put_meeting(const struct sheet *sheet, const struct worker_shape *shape)
{
    sheet_put(sheet, "NEXT:\n");
    put_warp(sheet, shape);
    sheet_put(sheet, "SYNC:\n");
    if (shape->by_barriers) {
        put_telling(sheet, shape);
        return;
    }
    switch (shape->meeting) {
    case WORKER_MEETS_PLAINLY:
        fprintf(sheet->stream, "bar.sync %u;\n", shape->barrier);
        break;
    case WORKER_MEETS_BY_OR:
        fprintf(sheet->stream, "barrier.red.or.pred %%p, %u, %%out;\n@%%p bra SYNC;\n", shape->barrier);
        break;
    case WORKER_MEETS_BY_COUNT:
        fprintf(sheet->stream,
                "barrier.red.popc.u32 %%t, %u, %%out;\nsetp.ne.u32 %%p, %%t, 0;\n@%%p bra SYNC;\n"
                "barrier.red.popc.u32 %%t, %u, %%out;\nsetp.ne.u32 %%p, %%t, 0;\n@%%p bra SYNC;\n",
                shape->barrier, shape->barrier);
        break;
    }
    put_slot_reads(sheet, shape);
}

static void put_beginning(const struct sheet *sheet, const struct worker_shape *shape)
{
    sheet_put(sheet, prologue);
    sheet_put(sheet, shape->by_barriers ? teller : first_slot);
    sheet_put(sheet, sheet->drops ? unseen : "");
    sheet_put(sheet, shape->thrifty ? "<true odd>" : "");
    sheet_put(sheet, "@%others bra FIRST;\n");
    sheet_put(sheet, shape->completes ? opening : "");
    sheet_put(sheet, joining);
    sheet_put(sheet, sheet->drops ? "mov.u32 %t, 0;\nst.shared.b32 [worker+28], %t;\n" : "");
    put_drawn(sheet, shape, "BEGIN_");
}

/* At the beginning, or at the end of a round. */
static void put_rare_parting(const struct sheet *sheet, const struct worker_shape *shape, const char *at, bool sleeps)
{
    sheet_put_at(sheet, rare_parting, at);
    sheet_put(sheet, shape->ranges ? worker_range_draws : "");
    sheet_put_at(sheet, rare_parting_waiting, at);
    sheet_put(sheet, sleeps ? sleeping : "");
    sheet_put_at(sheet, rare_parting_end, at);
}

static void put_round(const struct sheet *sheet, const struct worker_shape *shape)
{
    sheet_put(sheet, "FIRST:\n");
    put_warp(sheet, shape);
    sheet_put(sheet, body);
    sheet_put(sheet, shape->waits_for_copies ? "cp.async.wait_all;\n" : "");
    sheet_put(sheet, shape->waits_for_bulk ? "cp.async.bulk.wait_group 0;\n" : "");
    sheet_put(sheet, straight_end);
    if (!shape->by_barriers)
        sheet_put(sheet, shape->thrifty ? thrifty_next_slot : next_slot);
    sheet_put(sheet, "@%others bra NEXT;\n");
    sheet_put(sheet, shape->ranges ? "@%ranging bra STEP;\n" : "");
    sheet_put(sheet, shape->thrifty ? thrifty_ending : ending);
    sheet_put(sheet, sheet->drops ? flagged : "");
    put_drawn(sheet, shape, "END_");
    sheet_put(sheet, shape->thrifty && !shape->by_barriers ? "mov.u32 %x, %a;\n" : "");
    sheet_put(sheet, shape->thrifty ? staying : "");
    put_meeting(sheet, shape);
    if (shape->thrifty) {
        sheet_put(sheet, "not.pred %odd, %odd;\n");
    } else { /* while the slot is being read */
        sheet_put(sheet, "@%others bra ON;\n");
        sheet_put(sheet, shape->ranges ? "or.pred %quiet, %ranging, %claimed;\n" : "<false quiet>");
        sheet_put(sheet, staying);
    }
    sheet_put(sheet, "ON:\n");
    if (shape->acts)
        put_warp(sheet, shape);
    sheet_put(sheet, going);
    sheet_put(sheet, shape->thrifty ? "" : late);
    if (shape->ranges)
        put_step(sheet, shape);
    if (shape->by_barriers)
        put_telling_more(sheet, shape);
    const bool sleeps = shape->module->target_sm >= 70 && shape->module->version >= 603;
    sheet_put(sheet, rare_beginning);
    sheet_put(sheet, sleeps ? sleeping : "");
    sheet_put(sheet, rare_waiting);
    sheet_put(sheet, sleeps ? sleeping : "");
    sheet_put(sheet, rare_beginning_end);
    if (shape->completes) {
        sheet_put(sheet, rare_opening);
        put_rare_parting(sheet, shape, "BEGIN_", sleeps);
        put_rare_parting(sheet, shape, "END_", sleeps);
    }
    sheet_put(sheet, sheet->drops ? giving : "");
    sheet_put_at(sheet, sheet->drops ? taking : "", "BEGIN_");
    sheet_put_at(sheet, sheet->drops ? taking : "", "END_");
    sheet_put_at(sheet, rare, shape->thrifty ? "NEXT" : "ON"); /* ends where a thread block runs that is no worker */
    sheet_put(sheet, reads_y(shape) ? "mov.u32 %y, %ctaid.y;\n" : "");
    sheet_put(sheet, reads_z(shape) ? "mov.u32 %z, %ctaid.z;\n" : "");
    sheet_put(sheet, shape->meeting == WORKER_MEETS_PLAINLY ? "" : "<false out>");
    sheet_put(sheet, sheet->drops ? unseen : "");
    sheet_put(sheet, sheet->drops ? "mov.u32 %t, 0;\nst.shared.b32 [worker+28], %t;\n" : "");
    sheet_put(sheet, "<true quiet>");
    sheet_put(sheet, straight_begin);
}

static FILE *begin_text(const struct ptx_module *module, char **text, size_t *bytes)
{
    *text = NULL;
    uint32_t version = module->version < WORKER_PTX_VERSION ? WORKER_PTX_VERSION : module->version;
    FILE *stream = open_memstream(text, bytes);
    if (stream)
        fprintf(stream,
                ".version %u.%u\n.target %s\n.address_size 64\n.shared .align 32 .b32 worker[%u];\n"
                ".entry text(.param .align 16 .b8 arguments[%zu])\n{\n%s",
                version / 100, version % 100, module->target, WORKER_SHARED_WORDS,
                sizeof(struct worker_dropping_arguments), declarations);
    return stream;
}

static char *end_text(const struct sheet *sheet, char **text)
{
    sheet_put(sheet, "}\n");
    bool good = !ferror(sheet->stream);
    if (fclose(sheet->stream) == 0 && good)
        return *text;
    free(*text);
    return NULL;
}

char *worker_loop_text(const struct worker_shape *shape, size_t *bytes)
{
    char *text;
    const struct sheet sheet = {begin_text(shape->module, &text, bytes), shape->drops};
    if (!sheet.stream)
        return NULL;
    put_beginning(&sheet, shape);
    put_round(&sheet, shape);
    return end_text(&sheet, &text);
}

char *worker_asking_text(const struct ptx_module *module, size_t *bytes)
{
    char *text;
    const struct sheet sheet = {begin_text(module, &text, bytes), false};
    if (!sheet.stream)
        return NULL;
    sheet_put(&sheet, asking);
    return end_text(&sheet, &text);
}

char *worker_leaving_text(const struct ptx_module *module, bool at_barriers, size_t *bytes)
{
    char *text;
    const struct sheet sheet = {begin_text(module, &text, bytes), true};
    if (!sheet.stream)
        return NULL;
    sheet_put(&sheet, at_barriers ? "" : others_looking);
    sheet_put(&sheet, polling);
    sheet_put(&sheet,
              at_barriers ? "bra ON;\n" : "mov.u32 %t, 32768;\nst.volatile.shared.u32 [worker+28], %t;\nbra ON;\n");
    sheet_put(&sheet, looking);
    sheet_put(&sheet, at_barriers ? "bar.warp.sync 4294967295;\n" : "");
    return end_text(&sheet, &text);
}
