/* SPDX-License-Identifier: MIT */
/* The loop of a worker, as PTX. */
#include "rewrite/worker_loop.h"

#include "rewrite/workers.h"

#include <stdio.h>
#include <stdlib.h>

/* Offsets in struct worker_arguments, worker_queue and worker_place stand in the text as numbers. */
_Static_assert(offsetof(struct worker_arguments, queue) == 0 && offsetof(struct worker_arguments, places) == 8 &&
                   offsetof(struct worker_arguments, previous) == 16 &&
                   offsetof(struct worker_arguments, grid_x) == 32 && offsetof(struct worker_arguments, grid_y) == 36 &&
                   offsetof(struct worker_arguments, row_reciprocal) == 44 &&
                   offsetof(struct worker_arguments, layer_reciprocal) == 48 &&
                   offsetof(struct worker_arguments, range) == 52 && offsetof(struct worker_arguments, seated) == 56 &&
                   offsetof(struct worker_arguments, total) == 60,
               "the text has these");
_Static_assert(offsetof(struct worker_queue, next) == 0 && offsetof(struct worker_queue, total) == 4 &&
                   offsetof(struct worker_queue, done) == 8,
               "the text has these");
_Static_assert(offsetof(struct worker_place, limit) == 0 && offsetof(struct worker_place, resident) == 4 &&
                   offsetof(struct worker_place, done) == 8 && offsetof(struct worker_place, busy) == 16 &&
                   sizeof(struct worker_place) == 32,
               "the text has these");

#define PLACE \
    "ld.param.u64 %place, [arguments+8];\n" \
    "mov.u32 %t, %smid;\n" \
    "mad.wide.u32 %place, %t, 32, %place;\n"

static const char declarations[] = ".reg .pred %others, %odd, %out, %p;\n"
                                   ".reg .b32 %x, %y, %z, %a, %b, %c, %t, %u, %slot;\n"
                                   ".reg .b32 %index, %left, %rounds, %leaving, %limit, %resident, %range, %total;\n"
                                   ".reg .b64 %place, %queue, %time;\n";

/* One thread is elected, which is there in every shape of thread block. It waits for the launch before, and joins. */
static const char prologue[] = "mov.u32 %t, %tid.x;\n"
                               "mov.u32 %u, %tid.y;\n"
                               "or.b32 %t, %t, %u;\n"
                               "mov.u32 %u, %tid.z;\n"
                               "or.b32 %t, %t, %u;\n"
                               "setp.ne.u32 %others, %t, 0;\n"
                               "setp.ne.u32 %odd, %t, %t;\n"
                               "setp.ne.u32 %out, %t, %t;\n"
                               "@%others bra HEAD;\n"
                               "mov.u32 %index, 0;\n"
                               "mov.u32 %left, 0;\n"
                               "mov.u32 %leaving, 1;\n"
                               "ld.param.u64 %queue, [arguments+16];\n"
                               "setp.eq.u64 %p, %queue, 0;\n"
                               "@%p bra JOIN;\n"
                               "WAIT:\n"
                               "ld.volatile.global.v4.u32 {%t, %total, %u, %c}, [%queue];\n"
                               "setp.eq.u32 %p, %u, %total;\n"
                               "@%p bra COMPLETE;\n"
                               "setp.lt.u32 %p, %t, %total;\n"
                               "@%p bra JOINED;\n";

static const char sleeping[] = "nanosleep.u32 250;\n";

static const char joining[] = "bra WAIT;\n"
                              "COMPLETE:\n"
                              "membar.gl;\n"
                              "JOIN:\n" PLACE "ld.param.v2.u32 {%t, %total}, [arguments+56];\n"
                              "setp.eq.u32 %p, %t, 0;\n"
                              "@%p bra ASK;\n"
                              "red.global.add.u32 [%place+4], 1;\n"
                              "mov.u32 %index, %ctaid.x;\n"
                              "ld.param.u32 %range, [arguments+52];\n"
                              "mul.lo.u32 %index, %index, %range;\n"
                              "min.u32 %t, %index, %total;\n"
                              "sub.u32 %left, %total, %t;\n"
                              "min.u32 %left, %left, %range;\n"
                              "bra STAY;\n"
                              "ASK:\n"
                              "atom.global.add.u32 %resident, [%place+4], 1;\n"
                              "ld.volatile.global.u32 %limit, [%place];\n"
                              "setp.lt.u32 %p, %resident, %limit;\n"
                              "@%p bra STAY;\n"
                              "red.global.add.u32 [%place+4], -1;\n"
                              "bra JOINED;\n"
                              "STAY:\n"
                              "mov.u32 %leaving, 0;\n"
                              "mov.u64 %time, %globaltimer;\n"
                              "neg.s64 %time, %time;\n"
                              "red.global.add.u64 [%place+16], %time;\n"
                              "JOINED:\n"
                              "mov.u32 %rounds, 0;\n"
                              "st.shared.v4.b32 [worker+32], {%index, %left, %rounds, %leaving};\n";

/* What is left of the last draw, or a new one; a place that is owed no longer is given up, by one worker each. */
static const char drawing[] =
    "HEAD:\n"
    "@%others bra SYNC;\n"
    "mov.u32 %slot, worker;\n"
    "@!%odd add.u32 %slot, %slot, 16;\n"
    "ld.shared.v4.b32 {%index, %left, %rounds, %leaving}, [worker+32];\n" PLACE "setp.ne.u32 %p, %rounds, 0;\n"
    "@%p red.global.add.u64 [%place+8], 1;\n"
    "setp.ne.u32 %p, %left, 0;\n"
    "@%p bra NEXT;\n"
    "setp.ne.u32 %p, %leaving, 0;\n"
    "@%p bra LEAVE;\n"
    "ld.param.u64 %queue, [arguments];\n"
    "ld.param.u32 %range, [arguments+52];\n"
    "ld.param.u32 %total, [arguments+60];\n"
    "atom.global.add.u32 %index, [%queue], %range;\n"
    "ld.volatile.global.v2.u32 {%limit, %resident}, [%place];\n"
    "setp.ge.u32 %p, %index, %total;\n"
    "@%p bra LEAVE;\n"
    "sub.u32 %left, %total, %index;\n"
    "min.u32 %left, %left, %range;\n"
    "CLAIM:\n"
    "setp.le.u32 %p, %resident, %limit;\n"
    "@%p bra NEXT;\n"
    "sub.u32 %t, %resident, 1;\n"
    "atom.global.cas.b32 %t, [%place+4], %resident, %t;\n"
    "setp.ne.u32 %p, %t, %resident;\n"
    "mov.u32 %resident, %t;\n"
    "@%p bra CLAIM;\n"
    "mov.u64 %time, %globaltimer;\n"
    "red.global.add.u64 [%place+16], %time;\n"
    "mov.u32 %leaving, 1;\n"
    "NEXT:\n"
    "mov.u32 %a, %index;\n";

static const char placed[] = "add.u32 %index, %index, 1;\n"
                             "sub.u32 %left, %left, 1;\n"
                             "add.u32 %rounds, %rounds, 1;\n"
                             "st.shared.v4.b32 [worker+32], {%index, %left, %rounds, %leaving};\n"
                             "bra SYNC;\n"
                             "LEAVE:\n"
                             "mov.u32 %a, -1;\n"
                             "st.shared.b32 [%slot], %a;\n"
                             "SYNC:\n";

static const char reading[] = "not.pred %odd, %odd;\n"
                              "mov.u32 %slot, worker;\n"
                              "@%odd add.u32 %slot, %slot, 16;\n";

static const char body[] = "setp.eq.u32 %out, %x, -1;\n"
                           "@%out bra OUT;\n"
                           "pmevent 0;\n"
                           "END:\n";

static const char leaving[] = "bra HEAD;\n"
                              "OUT:\n"
                              "@%others ret;\n"
                              "membar.gl;\n"
                              "ld.shared.v2.b32 {%rounds, %leaving}, [worker+40];\n"
                              "ld.param.u64 %queue, [arguments];\n"
                              "red.global.add.u32 [%queue+8], %rounds;\n"
                              "setp.ne.u32 %p, %leaving, 0;\n"
                              "@%p ret;\n" PLACE "red.global.add.u32 [%place+4], -1;\n"
                              "mov.u64 %time, %globaltimer;\n"
                              "red.global.add.u64 [%place+16], %time;\n"
                              "ret;\n";

static bool reads_y(const struct worker_shape *shape)
{
    return shape->reads & (1u << GRID_CTAID_Y | 1u << GRID_CTAID_Z);
}

static bool reads_z(const struct worker_shape *shape)
{
    return shape->reads & 1u << GRID_CTAID_Z;
}

/* next += place / count, place %= count, without a division: code.h has the same for instructions of bodies. */
static void write_carry(FILE *stream, const char *place, const char *next, uint32_t count, uint32_t reciprocal)
{
    fprintf(stream,
            "ld.param.u32 %%u, [arguments+%u];\n"
            "setp.lt.u32 %%p, %%%s, %%u;\n"
            "@%%p bra PLACED;\n"
            "ld.param.u32 %%t, [arguments+%u];\n"
            "mul.hi.u32 %%t, %%%s, %%t;\n",
            count, place, reciprocal, place);
    if (next)
        fprintf(stream, "mov.u32 %%%s, %%t;\n", next);
    fprintf(stream,
            "mul.lo.u32 %%t, %%t, %%u;\n"
            "sub.u32 %%%s, %%%s, %%t;\n"
            "setp.ge.u32 %%p, %%%s, %%u;\n"
            "@%%p sub.u32 %%%s, %%%s, %%u;\n",
            place, place, place, place, place);
    if (next)
        fprintf(stream, "@%%p add.u32 %%%s, %%%s, 1;\n", next, next);
}

/* x, y and z from the index, into a slot. */
static void write_place(FILE *stream, const struct worker_shape *shape)
{
    bool y = reads_y(shape), z = reads_z(shape);
    if (y)
        fputs("mov.u32 %b, 0;\n", stream);
    if (z)
        fputs("mov.u32 %c, 0;\n", stream);
    if (shape->reads & (1u << GRID_CTAID_X | 1u << GRID_CTAID_Y | 1u << GRID_CTAID_Z))
        write_carry(stream, "a", y ? "b" : NULL, 32, 44);
    if (y)
        write_carry(stream, "b", z ? "c" : NULL, 36, 48);
    fputs("PLACED:\n", stream);
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
    fputs(prologue, stream);
    if (module->target_sm >= 70 && module->version >= 603)
        fputs(sleeping, stream);
    fputs(joining, stream);
    fputs(drawing, stream);
    write_place(stream, shape);
    fputs(placed, stream);
    write_meeting(stream, shape);
    write_slot_reads(stream, shape);
    fputs(body, stream);
    if (shape->waits_for_copies)
        fputs("cp.async.wait_all;\n", stream);
    if (shape->waits_for_bulk)
        fputs("cp.async.bulk.wait_group 0;\n", stream);
    fputs(leaving, stream);
    fputs("}\n", stream);
    bool good = !ferror(stream);
    if (fclose(stream) == 0 && good)
        return text;
    free(text);
    return NULL;
}
