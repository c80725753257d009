/* SPDX-License-Identifier: MIT */
/* The loop of a worker, as PTX. */
#include "rewrite/worker_loop.h"

#include "rewrite/workers.h"

#include <stdio.h>
#include <stdlib.h>

/* Offsets in struct worker_arguments, worker_queue and worker_place stand in the text as numbers. */
#define HAS(structure, field, place) _Static_assert(offsetof(struct structure, field) == (place), "the text has this")
HAS(worker_arguments, queue, 0);
HAS(worker_arguments, places, 8);
HAS(worker_arguments, previous, 16);
HAS(worker_arguments, row, 32);
HAS(worker_arguments, row_reciprocal, 36);
HAS(worker_arguments, rows, 40);
HAS(worker_arguments, range_flags, 44);
HAS(worker_arguments, grid_x, 48);
HAS(worker_arguments, grid_y, 52);
HAS(worker_arguments, layer_reciprocal, 60);
HAS(worker_queue, next, 0);
HAS(worker_queue, total, 4);
HAS(worker_queue, done, 8);
HAS(worker_place, limit, 0);
HAS(worker_place, resident, 2);
HAS(worker_place, begun, 4);
HAS(worker_place, busy, 8);
_Static_assert(sizeof(struct worker_place) == 16, "the text has this");

#define RESIDENT "65536" /* one more, in the word of limit and resident */
#define UNLIMITED "65535"
#define SEATED "16777216"
#define AHEAD "33554432"
#define TELL "67108864"
#define DIRECT "134217728"
#define RANGES "268435456"
#define LAYERS "536870912"
#define SHAPED "805306368" /* one of these two */
_Static_assert(WORKERS_SEATED == 16777216 && WORKERS_AHEAD == 33554432 && WORKERS_TELL == 67108864 &&
                   WORKERS_DIRECT == 134217728 && WORKERS_HAS_RANGES == 268435456 && WORKERS_HAS_LAYERS == 536870912 &&
                   WORKERS_MOST_RANGE == 0xffffff,
               "the text has these");

#define PLACE \
    "ld.param.v2.u64 {%queue, %place}, [arguments];\n" \
    "mov.u32 %t, %smid;\n" \
    "mad.wide.u32 %place, %t, 16, %place;\n"
/* %p: the flag is set. */
#define TEST(flag) \
    "and.b32 %t, %flags, " flag ";\n" \
    "setp.ne.u32 %p, %t, 0;\n"
/* %p: more workers are resident than the place has. */
#define TOO_MANY \
    "mov.b32 {%limit, %resident}, %word;\n" \
    "setp.gt.u16 %p, %resident, %limit;\n"
/* The slot that is not read in this round. */
#define OTHER_SLOT \
    "mov.u32 %slot, worker;\n" \
    "@!%odd add.u32 %slot, %slot, 16;\n"
#define FALSE(predicate) "setp.ne.u32 %" predicate ", %t, %t;\n"
#define TRUE(predicate) "setp.eq.u32 %" predicate ", %t, %t;\n"

static const char declarations[] = ".reg .pred %others, %late, %odd, %out, %direct, %more, %claimed, %p;\n"
                                   ".reg .b32 %x, %y, %z, %left, %a, %b, %c, %n, %t, %u, %slot, %flags, %word;\n"
                                   ".reg .b32 %row, %reciprocal, %rows, %range, %gx, %gy, %drawn, %following;\n"
                                   ".reg .b16 %limit, %resident;\n"
                                   ".reg .b64 %place, %queue, %time, %state;\n";

/* One thread is elected, which is there in every shape of thread block. It waits for the launch before. */
static const char prologue[] =
    "ld.param.v4.u32 {%row, %reciprocal, %rows, %flags}, [arguments+32];\n"
    "and.b32 %t, %flags, " DIRECT ";\n"
    "setp.ne.u32 %direct, %t, 0;\n"
    "@%direct bra STRAIGHT;\n"
    "mov.u32 %t, %tid.x;\n"
    "mov.u32 %u, %tid.y;\n"
    "or.b32 %t, %t, %u;\n"
    "mov.u32 %u, %tid.z;\n"
    "or.b32 %t, %t, %u;\n"
    "setp.ne.u32 %others, %t, 0;\n" FALSE("odd") FALSE("out") FALSE("more") FALSE("late") "@%others bra SYNC;\n" TRUE(
        "claimed") "mov.u64 %state, " UNLIMITED ";\n"
                   "mov.u32 %drawn, -1;\n"
                   "mov.u32 %following, -1;\n" TEST(AHEAD) "not.pred %late, %p;\n" TEST(
                       TELL) "mov.u32 %u, 0;\n"
                             "@%p st.shared.b32 [worker+32], %u;\n"
                             "ld.param.u64 %queue, [arguments+16];\n"
                             "setp.eq.u64 %p, %queue, 0;\n"
                             "@%p bra JOIN;\n"
                             "WAIT:\n"
                             "ld.volatile.global.v4.u32 {%t, %n, %u, %c}, [%queue];\n"
                             "setp.eq.u32 %p, %u, %n;\n"
                             "@%p bra COMPLETE;\n"
                             "setp.lt.u32 %p, %t, %n;\n"
                             "@%p bra BEGIN;\n";

static const char sleeping[] = "nanosleep.u32 250;\n";

/* It joins, and draws what the worker begins with, and what follows where it draws ahead. */
static const char joining[] =
    "bra WAIT;\n"
    "COMPLETE:\n"
    "membar.gl;\n"
    "JOIN:\n" PLACE TEST(SEATED) "@!%p bra ASK;\n"
                                 "red.global.add.u32 [%place], " RESIDENT ";\n"
                                 "mov.u32 %drawn, %ctaid.x;\n"
                                 "mov.u32 %following, %nctaid.x;\n"
                                 "add.u32 %following, %drawn, %following;\n"
                                 "bra STAY;\n"
                                 "ASK:\n"
                                 "atom.global.add.u32 %word, [%place], " RESIDENT ";\n"
                                 "add.u32 %word, %word, " RESIDENT ";\n" TOO_MANY
                                 "@%p red.global.add.u32 [%place], -" RESIDENT ";\n"
                                 "@%p bra BEGIN;\n"
                                 "atom.global.add.u32 %drawn, [%queue], 1;\n"
                                 "@!%late atom.global.add.u32 %following, [%queue], 1;\n"
                                 "STAY:\n" FALSE("claimed") "mov.u64 %time, %globaltimer;\n"
                                                            "neg.s64 %time, %time;\n"
                                                            "red.global.add.u64 [%place+8], %time;\n"
                                                            "BEGIN:\n" OTHER_SLOT;

static const char begun[] = "mov.u32 %drawn, %following;\n"
                            "bra SYNC;\n"
                            "STRAIGHT:\n"
                            "mov.u32 %x, %ctaid.x;\n";

/* All threads, in a round. */
static const char reading[] = "not.pred %odd, %odd;\n"
                              "mov.u32 %slot, worker;\n"
                              "@%odd add.u32 %slot, %slot, 16;\n";

/* The elected thread, while the others begin: what is next, whether to stay, and what comes behind that. */
static const char talking[] = "setp.eq.u32 %out, %left, 0;\n"
                              "@%out bra OUT;\n"
                              "@%others bra BODY;\n" PLACE "cvt.u64.u32 %time, %left;\n"
                              "shl.b64 %time, %time, 32;\n"
                              "@%late bra COUNT;\n"
                              "ld.param.v4.u32 {%row, %reciprocal, %rows, %flags}, [arguments+32];\n" OTHER_SLOT
                              "cvt.u32.u64 %word, %state;\n" TOO_MANY "@!%p bra CHECKED;\n"
                              "CLAIM:\n"
                              "sub.u32 %t, %word, " RESIDENT ";\n"
                              "atom.global.cas.b32 %t, [%place], %word, %t;\n"
                              "setp.eq.u32 %p, %t, %word;\n"
                              "@%p bra CLAIMED;\n"
                              "mov.u32 %word, %t;\n" TOO_MANY "@%p bra CLAIM;\n"
                              "bra CHECKED;\n"
                              "CLAIMED:\n" TRUE("claimed") "mov.u64 %time, %globaltimer;\n"
                                                           "red.global.add.u64 [%place+8], %time;\n"
                                                           "cvt.u64.u32 %time, %left;\n"
                                                           "shl.b64 %time, %time, 32;\n"
                                                           "CHECKED:\n";

static const char ahead[] =
    "mov.u32 %drawn, -1;\n"
    "setp.eq.u32 %p, %n, 0;\n"
    "or.pred %p, %p, %claimed;\n"
    "@!%p atom.global.add.u32 %drawn, [%queue], 1;\n" TEST(TELL) "@%p red.shared.add.u32 [worker+32], 1;\n"
                                                                 "@%claimed bra COUNT;\n"
                                                                 "atom.global.add.u64 %state, [%place], %time;\n"
                                                                 "bra BODY;\n"
                                                                 "COUNT:\n"
                                                                 "mov.u64 %state, " UNLIMITED ";\n"
                                                                 "red.global.add.u64 [%place], %time;\n";

static const char body[] = "BODY:\n"
                           "pmevent 0;\n"
                           "END:\n";

static const char ending[] = "@%direct ret;\n"
                             "sub.u32 %left, %left, 1;\n"
                             "setp.ne.u32 %more, %left, 0;\n";

/* The elected thread behind a range, if it does not draw ahead. */
static const char late[] = "@!%late bra SYNC;\n"
                           "ld.param.v4.u32 {%row, %reciprocal, %rows, %flags}, [arguments+32];\n" TEST(
                               TELL) "@%p red.shared.add.u32 [worker+32], 1;\n" OTHER_SLOT PLACE "mov.u32 %drawn, -1;\n"
                                     "ld.volatile.global.u32 %word, [%place];\n"
                                     "STILL:\n" TOO_MANY "@!%p bra DRAW;\n"
                                     "sub.u32 %t, %word, " RESIDENT ";\n"
                                     "atom.global.cas.b32 %t, [%place], %word, %t;\n"
                                     "setp.eq.u32 %claimed, %t, %word;\n"
                                     "mov.u32 %word, %t;\n"
                                     "@!%claimed bra STILL;\n"
                                     "mov.u64 %time, %globaltimer;\n"
                                     "red.global.add.u64 [%place+8], %time;\n"
                                     "bra DRAWN;\n"
                                     "DRAW:\n"
                                     "atom.global.add.u32 %drawn, [%queue], 1;\n"
                                     "DRAWN:\n";

static const char leaving[] =
    "bra SYNC;\n"
    "OUT:\n"
    "@%others ret;\n"
    "ld.param.u32 %flags, [arguments+44];\n" PLACE TEST(TELL) "@!%p bra TOLD;\n"
                                                              "membar.gl;\n"
                                                              "ld.shared.b32 %t, [worker+32];\n"
                                                              "red.global.add.u32 [%queue+8], %t;\n"
                                                              "TOLD:\n"
                                                              "@%claimed ret;\n"
                                                              "red.global.add.u32 [%place], -" RESIDENT ";\n"
                                                              "mov.u64 %time, %globaltimer;\n"
                                                              "red.global.add.u64 [%place+8], %time;\n"
                                                              "ret;\n";

static bool reads_y(const struct worker_shape *shape)
{
    return shape->reads & (1u << GRID_CTAID_Y | 1u << GRID_CTAID_Z);
}

static bool reads_z(const struct worker_shape *shape)
{
    return shape->reads & 1u << GRID_CTAID_Z;
}

/*
 * Where the range %drawn begins and how many thread blocks it has (%n), into %slot. 0 thread blocks: there is no such range. A division
 * would take some twenty instructions; code.c says why the reciprocal does. `$` makes labels of every place where this is.
 */
static const char row_text[] =
    "mov.u32 %a, %drawn;\n"
    "mov.u32 %b, 0;\n"
    "mov.u32 %n, 1;\n"
    "setp.lt.u32 %p, %a, %row;\n"
    "@%p bra $ROW;\n"
    "mul.hi.u32 %b, %a, %reciprocal;\n"
    "mul.lo.u32 %t, %b, %row;\n"
    "sub.u32 %a, %a, %t;\n"
    "setp.ge.u32 %p, %a, %row;\n"
    "@%p sub.u32 %a, %a, %row;\n"
    "@%p add.u32 %b, %b, 1;\n"
    "setp.ge.u32 %p, %b, %rows;\n"
    "@%p mov.u32 %n, 0;\n"
    "@%p bra $PLACED;\n"
    "$ROW:\n" TEST(SHAPED) "@!%p bra $PLACED;\n" TEST(RANGES) "@!%p bra $SINGLE;\n"
                                                              "ld.param.u32 %gx, [arguments+48];\n"
                                                              "and.b32 %range, %flags, 16777215;\n"
                                                              "mul.lo.u32 %a, %a, %range;\n"
                                                              "sub.u32 %n, %gx, %a;\n"
                                                              "min.u32 %n, %n, %range;\n"
                                                              "$SINGLE:\n";

static const char layer_text[] = TEST(LAYERS) "@!%p bra $PLACED;\n"
                                              "ld.param.u32 %gy, [arguments+52];\n"
                                              "ld.param.u32 %reciprocal, [arguments+60];\n"
                                              "mul.hi.u32 %c, %b, %reciprocal;\n"
                                              "mul.lo.u32 %t, %c, %gy;\n"
                                              "sub.u32 %b, %b, %t;\n"
                                              "setp.ge.u32 %p, %b, %gy;\n"
                                              "@%p sub.u32 %b, %b, %gy;\n"
                                              "@%p add.u32 %c, %c, 1;\n";

static void write_at(FILE *stream, const char *text, const char *at)
{
    for (; *text; text++)
        if (*text == '$')
            fputs(at, stream);
        else
            fputc(*text, stream);
}

static void write_place(FILE *stream, const struct worker_shape *shape, const char *at)
{
    fputs(reads_z(shape) ? "mov.u32 %c, 0;\n" : "", stream);
    write_at(stream, row_text, at);
    write_at(stream, reads_y(shape) ? layer_text : "", at);
    write_at(stream, "$PLACED:\n", at);
    fputs(reads_z(shape)   ? "st.shared.v4.b32 [%slot], {%a, %n, %b, %c};\n"
          : reads_y(shape) ? "st.shared.v4.b32 [%slot], {%a, %n, %b, %b};\n"
                           : "st.shared.v2.b32 [%slot], {%a, %n};\n",
          stream);
}

static void write_slot_reads(FILE *stream, const struct worker_shape *shape)
{
    fputs(reading, stream);
    fputs(reads_z(shape)   ? "ld.shared.v4.b32 {%x, %left, %y, %z}, [%slot];\n"
          : reads_y(shape) ? "ld.shared.v4.b32 {%x, %left, %y, %t}, [%slot];\n"
                           : "ld.shared.v2.b32 {%x, %left}, [%slot];\n",
          stream);
}

/* To the next thread block of the range, or on. */
static void write_step(FILE *stream, const struct worker_shape *shape)
{
    fputs(ending, stream);
    fputs(shape->reads & 1u << GRID_CTAID_X ? "@%more add.u32 %x, %x, 1;\n" : "", stream);
    fputs(shape->meets_between ? "@%more bra SYNC;\n" : "@%more bra BODY;\n", stream);
}

/* Without workers. */
static void write_straight(FILE *stream, const struct worker_shape *shape)
{
    if (shape->meeting != WORKER_MEETS_PLAINLY)
        fputs("setp.ne.u32 %out, %flags, %flags;\n", stream);
    if (reads_y(shape))
        fputs("mov.u32 %y, %ctaid.y;\n", stream);
    if (reads_z(shape))
        fputs("mov.u32 %z, %ctaid.z;\n", stream);
}

/* All threads, in a barrier or as many as it takes. %out is false here. */
static void write_meeting(FILE *stream, const struct worker_shape *shape)
{
    const char *any = shape->module->version >= 600 ? "barrier" : "bar"; /* a part of a warp may come */
    switch (shape->meeting) {
    case WORKER_MEETS_PLAINLY:
        fprintf(stream, "bar.sync %u;\n", shape->barrier);
        break;
    case WORKER_MEETS_BY_OR:
        fprintf(stream, "%s.red.or.pred %%p, %u, %%out;\n@%%p bra SYNC;\n", any, shape->barrier);
        break;
    case WORKER_MEETS_BY_COUNT:
        fprintf(stream,
                "%s.red.popc.u32 %%t, %u, %%out;\nsetp.ne.u32 %%p, %%t, 0;\n@%%p bra SYNC;\n"
                "%s.red.popc.u32 %%t, %u, %%out;\nsetp.ne.u32 %%p, %%t, 0;\n@%%p bra SYNC;\n",
                any, shape->barrier, any, shape->barrier);
        break;
    }
}

/* The prologue, and where there are no workers. */
static void write_beginning(FILE *stream, const struct worker_shape *shape)
{
    fputs(prologue, stream);
    if (shape->module->target_sm >= 70 && shape->module->version >= 603)
        fputs(sleeping, stream);
    fputs(joining, stream);
    write_place(stream, shape, "BEGIN");
    fputs(begun, stream);
    write_straight(stream, shape);
    fputs("bra BODY;\n", stream);
}

static void write_round(FILE *stream, const struct worker_shape *shape)
{
    fputs("SYNC:\n", stream);
    write_meeting(stream, shape);
    fputs(shape->meets_between ? "@%more bra BODY;\n" : "", stream);
    write_slot_reads(stream, shape);
    fputs(talking, stream);
    write_place(stream, shape, "TALK");
    fputs(ahead, stream);
    fputs(body, stream);
    if (shape->waits_for_copies)
        fputs("cp.async.wait_all;\n", stream);
    if (shape->waits_for_bulk)
        fputs("cp.async.bulk.wait_group 0;\n", stream);
    write_step(stream, shape);
    fputs(late, stream);
    write_place(stream, shape, "LATE");
}

char *worker_loop_text(const struct worker_shape *shape, size_t *bytes)
{
    char *text = NULL;
    const struct ptx_module *module = shape->module;
    FILE *stream = open_memstream(&text, bytes);
    if (!stream)
        return NULL;
    fprintf(stream,
            ".version %u.%u\n.target %s\n.address_size 64\n.shared .align 16 .b32 worker[%u];\n"
            ".entry loop(.param .align 16 .b8 arguments[%zu])\n{\n",
            module->version / 100, module->version % 100, module->target, WORKER_SHARED_WORDS,
            sizeof(struct worker_arguments));
    fputs(declarations, stream);
    write_beginning(stream, shape);
    write_round(stream, shape);
    fputs(leaving, stream);
    fputs("}\n", stream);
    bool good = !ferror(stream);
    if (fclose(stream) == 0 && good)
        return text;
    free(text);
    return NULL;
}
