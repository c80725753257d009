/* SPDX-License-Identifier: MIT */
/* The loop of a worker, as PTX. */
#include "rewrite/worker_loop.h"

#include "rewrite/workers.h"

#include <stdio.h>
#include <stdlib.h>

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
HAS(worker_queue, next, 0);
HAS(worker_queue, total, 4);
HAS(worker_queue, alive, 8);
HAS(worker_place, limit, 0);
HAS(worker_place, resident, 2);
HAS(worker_place, done, 4);
HAS(worker_place, busy, 8);
_Static_assert(sizeof(struct worker_place) == 16, "the text has this");
_Static_assert(WORKERS_SEATED == 1 && WORKERS_STRICT == 2 && WORKERS_TELL == 4 && WORKERS_DIRECT == 8 &&
                   WORKERS_HAS_LAYERS == 16,
               "the text has these");

#define RESIDENT "65536"  /* one more, in the word of limit and resident */
#define UNLIMITED "65535" /* nobody is there, and everybody may be */
#define DONE "4294967296" /* one more, in the two words of a place */

#define PLACE \
    "ld.param.v2.u64 {%queue, %place}, [arguments];\n" \
    "mov.u32 %t, %smid;\n" \
    "mad.wide.u32 %place, %t, 16, %place;\n"
/* %p: a flag is set. */
#define TEST(flag) \
    "and.b32 %t, %flags, " flag ";\n" \
    "setp.ne.u32 %p, %t, 0;\n"
/* %p: more workers are resident than the SM owes. */
#define TOO_MANY \
    "mov.b32 {%limit, %resident}, %word;\n" \
    "setp.gt.u16 %p, %resident, %limit;\n"
#define FALSE(predicate) "setp.ne.u32 %" predicate ", %t, %t;\n"
#define TRUE(predicate) "setp.eq.u32 %" predicate ", %t, %t;\n"
#define COUNT_TIME \
    "mov.u64 %time, %globaltimer;\n" \
    "red.global.add.u64 [%place+8], %time;\n"

static const char declarations[] = ".reg .pred %others, %quiet, %strict, %claimed, %odd, %out, %direct, %p;\n"
                                   ".reg .b16 %limit, %resident;\n"
                                   ".reg .b32 %x, %y, %z, %a, %b, %c, %t, %u, %slot, %flags, %word, %drawn;\n"
                                   ".reg .b32 %row, %reciprocal, %rows, %layer;\n"
                                   ".reg .b64 %place, %queue, %time, %state;\n";

/*
 * One thread is elected, which is there in every shape of thread block. It waits for the launch before. %claimed: the place of this worker is
 * given up already, or was not taken. %quiet: nothing is to be asked for any more.
 */
static const char prologue[] =
    "ld.param.v4.u32 {%row, %reciprocal, %rows, %flags}, [arguments+32];\n"
    "and.b32 %t, %flags, 8;\n"
    "setp.ne.u32 %direct, %t, 0;\n"
    "@%direct bra STRAIGHT;\n"
    "mov.u32 %t, %tid.x;\n"
    "mov.u32 %u, %tid.y;\n"
    "or.b32 %t, %t, %u;\n"
    "mov.u32 %u, %tid.z;\n"
    "or.b32 %t, %t, %u;\n"
    "setp.ne.u32 %others, %t, 0;\n"
    "setp.ne.u32 %quiet, %t, 0;\n" FALSE("odd") FALSE("out")
        FALSE("strict") "@%others bra SYNC;\n" TRUE("claimed") "mov.u32 %drawn, -1;\n" TEST(
            "2") "mov.pred %strict, %p;\n"
                 "and.b32 %t, %flags, 5;\n" /* TELL, and not SEATED: those are counted already */
                 "setp.eq.u32 %p, %t, 4;\n"
                 "@!%p bra PREVIOUS;\n"
                 "ld.param.u64 %queue, [arguments];\n"
                 "red.global.add.u32 [%queue+8], 1;\n"
                 "membar.gl;\n"
                 "PREVIOUS:\n"
                 "ld.param.u64 %queue, [arguments+16];\n"
                 "setp.eq.u64 %p, %queue, 0;\n"
                 "@%p bra JOIN;\n"
                 "WAIT:\n"
                 "ld.volatile.global.v2.u32 {%t, %u}, [%queue];\n"
                 "setp.lt.u32 %p, %t, %u;\n"
                 "@%p bra BEGIN;\n"
                 "membar.gl;\n"
                 "ld.volatile.global.u32 %t, [%queue+8];\n"
                 "setp.eq.u32 %p, %t, 0;\n"
                 "@%p bra COMPLETE;\n";

static const char sleeping[] = "nanosleep.u32 250;\n";

/* It joins, and draws what the worker begins with. */
static const char joining[] =
    "bra WAIT;\n"
    "COMPLETE:\n"
    "membar.gl;\n"
    "JOIN:\n" PLACE TEST("1") "@!%p bra ASK;\n"
                              "red.global.add.u32 [%place], " RESIDENT ";\n"
                              "mov.u32 %drawn, %ctaid.x;\n"
                              "bra STAY;\n"
                              "ASK:\n"
                              "atom.global.add.u32 %word, [%place], " RESIDENT ";\n"
                              "add.u32 %word, %word, " RESIDENT ";\n" TOO_MANY
                              "@%p red.global.add.u32 [%place], -" RESIDENT ";\n"
                              "@%p bra BEGIN;\n"

                              "atom.global.add.u32 %drawn, [%queue], 1;\n"
                              "STAY:\n" FALSE("claimed") "mov.u64 %time, %globaltimer;\n"
                                                         "neg.s64 %time, %time;\n"
                                                         "red.global.add.u64 [%place+8], %time;\n"
                                                         "BEGIN:\n"
                                                         "mov.u32 %slot, worker;\n"
                                                         "add.u32 %slot, %slot, 16;\n";

static const char body[] = "bra SYNC;\n"
                           "BODY:\n"
                           "pmevent 0;\n"
                           "END:\n";

/* What was drawn becomes what is next. */
static const char ending[] = "@%direct ret;\n"
                             "@%others bra SYNC;\n"
                             "@!%quiet bra LATE;\n"
                             "TAKE:\n"
                             "ld.param.v4.u32 {%row, %reciprocal, %rows, %flags}, [arguments+32];\n"
                             "mov.u32 %slot, worker;\n"
                             "@!%odd add.u32 %slot, %slot, 16;\n"
                             "cvt.u32.u64 %word, %state;\n" TOO_MANY "@%p bra CLAIM;\n"
                             "@%strict bra DRAW_NOW;\n"
                             "TAKEN:\n";

static const char ended[] = "@%claimed bra LAST;\n" FALSE("quiet") "SYNC:\n";

/* All threads. */
static const char reading[] = "not.pred %odd, %odd;\n"
                              "mov.u32 %slot, worker;\n"
                              "@%odd add.u32 %slot, %slot, 16;\n";

static const char leaving[] =
    "setp.eq.u32 %out, %x, -1;\n"
    "@!%out bra BODY;\n"
    "@%others ret;\n" PLACE "ld.param.u32 %flags, [arguments+44];\n" TEST("4") "@!%p bra TOLD;\n"
                                                                               "membar.gl;\n"
                                                                               "red.global.add.u32 [%queue+8], -1;\n"
                                                                               "TOLD:\n"
                                                                               "@%claimed ret;\n"
                                                                               "red.global.add.u32 [%place], -" RESIDENT
                                                                               ";\n" COUNT_TIME "ret;\n";

/* What is rare. */
static const char rare[] =
    "LATE:\n" PLACE "mov.u64 %time, " DONE ";\n" /* the thread has ended before it could ask */
    "@!%strict atom.global.add.u32 %drawn, [%queue], 1;\n"
    "atom.global.add.u64 %state, [%place], %time;\n"
    "bra TAKE;\n"
    "DRAW_NOW:\n"
    "ld.param.u64 %queue, [arguments];\n"
    "atom.global.add.u32 %drawn, [%queue], 1;\n"
    "bra TAKEN;\n"
    "CLAIM:\n" PLACE "CLAIM_AGAIN:\n"
    "sub.u32 %t, %word, " RESIDENT ";\n"
    "atom.global.cas.b32 %t, [%place], %word, %t;\n"
    "setp.eq.u32 %claimed, %t, %word;\n"
    "@%claimed bra CLAIMED;\n"
    "mov.u32 %word, %t;\n" TOO_MANY "@%p bra CLAIM_AGAIN;\n"
    "@%strict bra DRAW_NOW;\n"
    "bra TAKEN;\n"
    "CLAIMED:\n" COUNT_TIME "@%strict mov.u32 %drawn, -1;\n"
    "bra TAKEN;\n"
    "LAST:\n" PLACE "mov.u64 %time, " DONE ";\n" /* the last thread block is counted beforehand */
    "setp.ne.u32 %p, %a, -1;\n"
    "@%p red.global.add.u64 [%place], %time;\n"
    "mov.u32 %drawn, -1;\n"
    "mov.u64 %state, " UNLIMITED ";\n" TRUE("quiet") "bra SYNC;\n"
                                                     "STRAIGHT:\n"
                                                     "mov.u32 %x, %ctaid.x;\n";

static const char asking[] = "@%quiet bra ASKED;\n" PLACE "mov.u64 %time, " DONE ";\n"
                             "@!%strict atom.global.add.u32 %drawn, [%queue], 1;\n"
                             "atom.global.add.u64 %state, [%place], %time;\n" TRUE("quiet") "ASKED:\n";

static bool reads_y(const struct worker_shape *shape)
{
    return shape->reads & (1u << GRID_CTAID_Y | 1u << GRID_CTAID_Z);
}

static bool reads_z(const struct worker_shape *shape)
{
    return shape->reads & 1u << GRID_CTAID_Z;
}

/*
 * Where the thread block with index %drawn lies, into %slot; x is -1 where there is none. A division would take some twenty instructions;
 * code.c says why the reciprocal does. `$` makes labels of every place where this is.
 */
static const char row_text[] = "mov.u32 %a, %drawn;\n"
                               "setp.lt.u32 %p, %a, %row;\n"
                               "@%p bra $PLACED;\n"
                               "mul.hi.u32 %b, %a, %reciprocal;\n"
                               "mul.lo.u32 %t, %b, %row;\n"
                               "sub.u32 %a, %a, %t;\n"
                               "setp.ge.u32 %p, %a, %row;\n"
                               "@%p sub.u32 %a, %a, %row;\n"
                               "@%p add.u32 %b, %b, 1;\n"
                               "setp.ge.u32 %p, %b, %rows;\n"
                               "@%p mov.u32 %a, -1;\n";

static const char layer_text[] = TEST("16") "@!%p bra $PLACED;\n"
                                            "ld.param.u32 %layer, [arguments+48];\n"
                                            "ld.param.u32 %reciprocal, [arguments+56];\n"
                                            "mul.hi.u32 %c, %b, %reciprocal;\n"
                                            "mul.lo.u32 %t, %c, %layer;\n"
                                            "sub.u32 %b, %b, %t;\n"
                                            "setp.ge.u32 %p, %b, %layer;\n"
                                            "@%p sub.u32 %b, %b, %layer;\n"
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
    bool y = reads_y(shape), z = reads_z(shape);
    fputs(y ? "mov.u32 %b, 0;\n" : "", stream);
    fputs(z ? "mov.u32 %c, 0;\n" : "", stream);
    write_at(stream, row_text, at);
    write_at(stream, y ? layer_text : "", at);
    write_at(stream, "$PLACED:\n", at);
    fputs(z   ? "st.shared.v4.b32 [%slot], {%a, %b, %c, %c};\n"
          : y ? "st.shared.v2.b32 [%slot], {%a, %b};\n"
              : "st.shared.b32 [%slot], %a;\n",
          stream);
}

static void write_slot_reads(FILE *stream, const struct worker_shape *shape)
{
    fputs(reading, stream);
    fputs(reads_z(shape)   ? "ld.shared.v4.b32 {%x, %y, %z, %t}, [%slot];\n"
          : reads_y(shape) ? "ld.shared.v2.b32 {%x, %y}, [%slot];\n"
                           : "ld.shared.b32 %x, [%slot];\n",
          stream);
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

static void write_beginning(FILE *stream, const struct worker_shape *shape)
{
    fputs(prologue, stream);
    if (shape->module->target_sm >= 70 && shape->module->version >= 603)
        fputs(sleeping, stream);
    fputs(joining, stream);
    write_place(stream, shape, "BEGIN_");
}

static void write_round(FILE *stream, const struct worker_shape *shape)
{
    fputs(body, stream);
    if (shape->waits_for_copies)
        fputs("cp.async.wait_all;\n", stream);
    if (shape->waits_for_bulk)
        fputs("cp.async.bulk.wait_group 0;\n", stream);
    fputs(ending, stream);
    write_place(stream, shape, "END_");
    fputs(ended, stream);
    write_meeting(stream, shape);
    write_slot_reads(stream, shape);
    fputs(leaving, stream);
    fputs(rare, stream); /* ends where a thread block runs that is no worker */
    if (shape->meeting != WORKER_MEETS_PLAINLY)
        fputs("setp.ne.u32 %out, %flags, %flags;\n", stream);
    fputs(reads_y(shape) ? "mov.u32 %y, %ctaid.y;\n" : "", stream);
    fputs(reads_z(shape) ? "mov.u32 %z, %ctaid.z;\n" : "", stream);
    fputs("setp.eq.u32 %quiet, %flags, %flags;\nbra BODY;\n", stream);
}

static FILE *begin_text(const struct ptx_module *module, char **text, size_t *bytes)
{
    *text = NULL;
    FILE *stream = open_memstream(text, bytes);
    if (stream)
        fprintf(stream,
                ".version %u.%u\n.target %s\n.address_size 64\n.shared .align 16 .b32 worker[%u];\n"
                ".entry text(.param .align 16 .b8 arguments[%zu])\n{\n%s",
                module->version / 100, module->version % 100, module->target, WORKER_SHARED_WORDS,
                sizeof(struct worker_arguments), declarations);
    return stream;
}

static char *end_text(FILE *stream, char **text)
{
    fputs("}\n", stream);
    bool good = !ferror(stream);
    if (fclose(stream) == 0 && good)
        return *text;
    free(*text);
    return NULL;
}

char *worker_loop_text(const struct worker_shape *shape, size_t *bytes)
{
    char *text;
    FILE *stream = begin_text(shape->module, &text, bytes);
    if (!stream)
        return NULL;
    write_beginning(stream, shape);
    write_round(stream, shape);
    return end_text(stream, &text);
}

char *worker_asking_text(const struct ptx_module *module, size_t *bytes)
{
    char *text;
    FILE *stream = begin_text(module, &text, bytes);
    if (!stream)
        return NULL;
    fputs(asking, stream);
    return end_text(stream, &text);
}
