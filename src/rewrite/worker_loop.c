/* SPDX-License-Identifier: MIT */
/*
 * The loop of a worker, as PTX. In the texts, `<name>` stands for a row of `shorthands`, `<name word>` for one with the word in place of
 * its `?`, and `$` for what makes labels of a text that is there more than once differ.
 */
#include "rewrite/worker_loop.h"

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
HAS(worker_arguments, stride, 60);
HAS(worker_queue, next, 0);
HAS(worker_queue, alive, 4);
HAS(worker_queue, total, 8);
HAS(worker_place, limit, 0);
HAS(worker_place, resident, 2);
HAS(worker_place, done, 4);
HAS(worker_place, busy, 8);
_Static_assert(sizeof(struct worker_place) == 16, "the text has this");
_Static_assert(WORKERS_SEATED == 1 && WORKERS_STRICT == 2 && WORKERS_TELL == 4 && WORKERS_DIRECT == 8 &&
                   WORKERS_HAS_LAYERS == 16 && WORKERS_ONCE == 32 && WORKERS_MOST_SHIFT == 16,
               "the text has these");

static const struct {
    const char *name, *text;
} shorthands[] = {
    {"RESIDENT", "65536"},           /* one more, in the word of limit and resident */
    {"COUNT", "4095"},               /* WORKERS_UNLIMITED: what is above says who goes first */
    {"UNLIMITED", "65535"},          /* nobody is there, and everybody may be */
    {"DONE", "4294967296"},          /* one more, in the two words of a place */
    {"DONE-RESIDENT", "4294901760"}, /* the same, and one less that is there */
    {"ALIVE", "4294967297"},         /* one more, and a thread block drawn, in the first two words of a queue */
    {"GOLDEN",
     "2654435769"}, /* 2^32 times the golden section: its multiples are evenly spread, those by a stride too */
    {"place", "ld.param.v2.u64 {%queue, %place}, [arguments];\n"
              "mov.u32 %t, %smid;\n"
              "mad.wide.u32 %place, %t, 16, %place;\n"},
    /* %p: a flag is set */
    {"test", "and.b32 %t, %flags, ?;\n"
             "setp.ne.u32 %p, %t, 0;\n"},
    /* %p: more workers are resident than the SM owes */
    {"too-many", "mov.b32 {%limit, %resident}, %word;\n"
                 "setp.gt.u16 %p, %resident, %limit;\n"},
    {"false", "setp.ne.u32 %?, %t, %t;\n"},
    {"true", "setp.eq.u32 %?, %t, %t;\n"},
    {"leave", "mov.u64 %time, %globaltimer;\n"
              "red.global.add.u64 [%place+8], %time;\n"},
    {"ask", "ld.param.v2.u64 {%queue, %place}, [arguments];\n"
            "@!%strict atom.global.add.u32 %drawn, [%queue], 1;\n"
            "mov.u32 %t, %smid;\n"
            "mad.wide.u32 %place, %t, 16, %place;\n"
            "mov.u64 %time, 4294967296;\n"
            "atom.global.add.u64 %state, [%place], %time;\n"},
    /* gives a place up if %word still says so; to ?CLAIMED if that was done, else on */
    {"claim", "?AGAIN:\n"
              "sub.u32 %t, %word, 65536;\n"
              "atom.global.cas.b32 %t, [%place], %word, %t;\n"
              "setp.eq.u32 %claimed, %t, %word;\n"
              "@%claimed bra ?CLAIMED;\n"
              "mov.u32 %word, %t;\n"
              "mov.b32 {%limit, %resident}, %word;\n"
              "setp.gt.u16 %p, %resident, %limit;\n"
              "@%p bra ?AGAIN;\n"},
};

/*
 * %others: not the elected thread. %claimed: the place of this worker is given up already, or was not taken. %quiet: there is nothing to ask
 * for any more. %slot: the slot that is read, or written, next. %drawn, %state: what was asked for, the next index and the two words of the place.
 */
static const char declarations[] = ".reg .pred %others, %quiet, %strict, %claimed, %odd, %out, %direct, %behind, %p;\n"
                                   ".reg .b16 %limit, %resident;\n"
                                   ".reg .b32 %x, %y, %z, %a, %b, %c, %t, %u, %slot, %flags, %word, %drawn;\n"
                                   ".reg .b32 %row, %reciprocal, %rows, %layer;\n"
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
                               "mov.u32 %a, %tid.x;\n"
                               "mad.lo.u32 %a, %u, %t, %a;\n"
                               "mov.u32 %u, %ntid.y;\n"
                               "mul.lo.u32 %t, %t, %u;\n"
                               "shr.u32 %t, %t, 5;\n"
                               "min.u32 %t, %t, 4;\n"
                               "mov.u32 %u, %ctaid.x;\n"
                               "mul.lo.u32 %u, %u, <GOLDEN>;\n"
                               "mul.hi.u32 %u, %u, %t;\n"
                               "shl.b32 %u, %u, 5;\n"
                               "xor.b32 %a, %a, %u;\n"
                               "mov.u32 %t, %tid.z;\n"
                               "or.b32 %a, %a, %t;\n"
                               "setp.ne.u32 %others, %a, 0;\n"
                               "setp.ne.u32 %quiet, %a, 0;\n"
                               "mov.u32 %slot, worker;\n"
                               "<false out><false strict>";

/*
 * It joins, where the launch has not as many workers on the SM as it wants there, and looks at the launch before at the same time; then it draws what the worker begins with, and is alive from then on. %state: what is
 * known of the queue before, next and alive; %time: its total.
 */
static const char joining[] = "@%others bra FIRST;\n"
                              "<true claimed>"
                              "mov.u32 %drawn, -1;\n"
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
                              "mov.u64 %state, <UNLIMITED>;\n"
                              "BEGUN:\n";

/*
 * What is rare at the beginning. The launch before is not complete: its thread blocks need places, or it is waited for, without a place. FULL: no place
 * is owed. Who goes without a place is alive for a moment, since all that go are no longer.
 */
static const char rare_beginning[] = "SEATED:\n"
                                     "red.global.add.u32 [%place], <RESIDENT>;\n"
                                     "mov.u32 %drawn, %ctaid.x;\n"
                                     "<test 32>"
                                     "@!%p bra STAY;\n"
                                     "<false claimed>"
                                     "mov.u64 %time, %globaltimer;\n"
                                     "neg.s64 %time, %time;\n"
                                     "red.global.add.u64 [%place+8], %time;\n"
                                     "mov.u64 %state, <RESIDENT>;\n" /* more than are owed: it is not to ask for more */
                                     "bra BEGUN;\n"
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

static const char sleeping[] = "nanosleep.u32 250;\n";

static const char body[] = "bra SYNC;\n"
                           "BODY:\n"
                           "pmevent 0;\n"
                           "END:\n";

/* What was drawn becomes what is next. */
static const char ending[] = "xor.b32 %slot, %slot, 16;\n"
                             "@%others bra NEXT;\n"
                             "ld.param.v4.u32 {%row, %reciprocal, %rows, %flags}, [arguments+32];\n"
                             "@!%quiet bra LATE;\n"
                             "TAKE:\n"
                             "@%strict bra STRICTLY;\n"
                             "TAKEN:\n";

/* The same for a kernel that has no register to spare: nothing is kept while the body runs, and it is drawn only now. */
static const char thrifty_ending[] = "mov.u32 %slot, worker;\n"
                                     "@!%odd add.u32 %slot, %slot, 16;\n"
                                     "@%others bra NEXT;\n"
                                     "mov.u32 %drawn, -1;\n"
                                     "mov.u64 %state, <UNLIMITED>;\n"
                                     "ld.param.v4.u32 {%row, %reciprocal, %rows, %flags}, [arguments+32];\n"
                                     "@%claimed bra TAKEN;\n"
                                     "<test 32>"
                                     "@%p bra TAKEN;\n"
                                     "<ask>"
                                     "@%strict bra STRICTLY;\n"
                                     "TAKEN:\n";

/* The elected thread gives the place up if it is owed no longer, one worker for each such place. */
static const char staying[] = "cvt.u32.u64 %word, %state;\n"
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
                            "<test 32>"
                            "@%p bra ONCE;\n"
                            "red.global.add.u32 [%place], -<RESIDENT>;\n"
                            "LEFT:\n"
                            "<leave>"
                            "ret;\n";

/* A thread that ends before it could ask. */
static const char late[] = "LATE:\n"
                           "<ask>"
                           "bra TAKE;\n";

/* What is rare: a place that is given up, whose last thread block is counted beforehand. */
static const char rare[] = "ONCE:\n"
                           "mov.u64 %time, <DONE-RESIDENT>;\n"
                           "red.global.add.u64 [%place], %time;\n"
                           "bra LEFT;\n"
                           "CLAIM:\n"
                           "ld.param.u32 %flags, [arguments+44];\n"
                           "<test 32>"
                           "@%p bra QUIETLY;\n"
                           "<place><claim CLAIM_>"
                           "bra $;\n"
                           "CLAIM_CLAIMED:\n"
                           "<leave>"
                           "mov.u64 %time, <DONE>;\n"
                           "setp.ne.u32 %p, %x, -1;\n"
                           "@%p red.global.add.u64 [%place], %time;\n"
                           "QUIETLY:\n"
                           "<true quiet>"
                           "mov.u64 %state, <UNLIMITED>;\n"
                           "mov.u32 %drawn, -1;\n"
                           "bra $;\n"
                           "STRICTLY:\n"
                           "<place>"
                           "cvt.u32.u64 %word, %state;\n"
                           "mov.u32 %drawn, -1;\n"
                           "mov.u64 %state, <UNLIMITED>;\n"
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

/*
 * Where the thread block with index %drawn lies, into %slot; x is -1 where there is none. A division would take some twenty instructions;
 * code.c says why the reciprocal does.
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

static bool reads_y(const struct worker_shape *shape)
{
    return shape->reads & (1u << GRID_CTAID_Y | 1u << GRID_CTAID_Z);
}

static bool reads_z(const struct worker_shape *shape)
{
    return shape->reads & 1u << GRID_CTAID_Z;
}

/* `length` characters between < and >. */
static void put_shorthand(FILE *stream, const char *name, size_t length)
{
    const char *blank = memchr(name, ' ', length);
    size_t word = blank ? (size_t)(blank - name) : length, i = 0;
    while (strlen(shorthands[i].name) != word || memcmp(shorthands[i].name, name, word) != 0)
        i++;
    for (const char *text = shorthands[i].text; *text; text++)
        if (*text == '?')
            fwrite(blank + 1, 1, length - word - 1, stream);
        else
            fputc(*text, stream);
}

static void put_at(FILE *stream, const char *text, const char *at)
{
    for (; *text; text++)
        if (*text == '$') {
            fputs(at, stream);
        } else if (*text == '<') {
            const char *end = strchr(text, '>');
            put_shorthand(stream, text + 1, (size_t)(end - text) - 1);
            text = end;
        } else {
            fputc(*text, stream);
        }
}

static void put(FILE *stream, const char *text)
{
    put_at(stream, text, "");
}

static void put_place(FILE *stream, const struct worker_shape *shape, const char *at)
{
    bool y = reads_y(shape), z = reads_z(shape);
    put(stream, y ? "mov.u32 %b, 0;\n" : "");
    put(stream, z ? "mov.u32 %c, 0;\n" : "");
    put_at(stream, row_text, at);
    put_at(stream, y ? layer_text : "", at);
    put_at(stream, "$PLACED:\n", at);
    put(stream, z   ? "st.shared.v4.b32 [%slot], {%a, %b, %c, %c};\n"
                : y ? "st.shared.v2.b32 [%slot], {%a, %b};\n"
                    : "st.shared.b32 [%slot], %a;\n");
}

static void put_slot_reads(FILE *stream, const struct worker_shape *shape)
{
    put(stream, reads_z(shape)   ? "ld.shared.v4.b32 {%x, %y, %z, %t}, [%slot];\n"
                : reads_y(shape) ? "ld.shared.v2.b32 {%x, %y}, [%slot];\n"
                                 : "ld.shared.b32 %x, [%slot];\n");
}

/*
 * Threads of a warp that went different ways come together. A barrier is one of warps: a warp that comes in two parts would count twice. Where threads
 * may wait at other barriers, a part of a warp may come, and the barrier is one that allows for that.
 */
static void put_warp(FILE *stream, const struct worker_shape *shape)
{
    if (shape->meeting == WORKER_MEETS_PLAINLY)
        put(stream, "bar.warp.sync 4294967295;\n");
}

/* All threads, in a barrier or as many as it takes. %out is false here. */
static void put_meeting(FILE *stream, const struct worker_shape *shape)
{
    put(stream, "NEXT:\n");
    put_warp(stream, shape);
    put(stream, "SYNC:\n");
    switch (shape->meeting) {
    case WORKER_MEETS_PLAINLY:
        fprintf(stream, "bar.sync %u;\n", shape->barrier);
        break;
    case WORKER_MEETS_BY_OR:
        fprintf(stream, "barrier.red.or.pred %%p, %u, %%out;\n@%%p bra SYNC;\n", shape->barrier);
        break;
    case WORKER_MEETS_BY_COUNT:
        fprintf(stream,
                "barrier.red.popc.u32 %%t, %u, %%out;\nsetp.ne.u32 %%p, %%t, 0;\n@%%p bra SYNC;\n"
                "barrier.red.popc.u32 %%t, %u, %%out;\nsetp.ne.u32 %%p, %%t, 0;\n@%%p bra SYNC;\n",
                shape->barrier, shape->barrier);
        break;
    }
}

static void put_beginning(FILE *stream, const struct worker_shape *shape)
{
    put(stream, prologue);
    put(stream, shape->thrifty ? "<true odd>" : "");
    put(stream, joining);
    put_place(stream, shape, "BEGIN_");
}

static void put_round(FILE *stream, const struct worker_shape *shape)
{
    put(stream, "FIRST:\n");
    put_warp(stream, shape);
    put(stream, body);
    put(stream, shape->waits_for_copies ? "cp.async.wait_all;\n" : "");
    put(stream, shape->waits_for_bulk ? "cp.async.bulk.wait_group 0;\n" : "");
    put(stream, "@%direct ret;\n");
    put(stream, shape->thrifty ? thrifty_ending : ending);
    put_place(stream, shape, "END_");
    put(stream, shape->thrifty ? "mov.u32 %x, %a;\n" : "");
    put(stream, shape->thrifty ? staying : "");
    put_meeting(stream, shape);
    put_slot_reads(stream, shape);
    if (shape->thrifty) {
        put(stream, "not.pred %odd, %odd;\n");
    } else { /* while the slot is being read */
        put(stream, "@%others bra ON;\nsetp.ne.u32 %quiet, %slot, %slot;\n");
        put(stream, staying);
    }
    put(stream, "ON:\n");
    if (shape->acts)
        put_warp(stream, shape);
    put(stream, going);
    put(stream, shape->thrifty ? "" : late);
    const bool sleeps = shape->module->target_sm >= 70 && shape->module->version >= 603;
    put(stream, rare_beginning);
    put(stream, sleeps ? sleeping : "");
    put(stream, rare_waiting);
    put(stream, sleeps ? sleeping : "");
    put(stream, rare_beginning_end);
    put_at(stream, rare, shape->thrifty ? "NEXT" : "ON"); /* ends where a thread block runs that is no worker */
    put(stream, reads_y(shape) ? "mov.u32 %y, %ctaid.y;\n" : "");
    put(stream, reads_z(shape) ? "mov.u32 %z, %ctaid.z;\n" : "");
    put(stream, shape->meeting == WORKER_MEETS_PLAINLY ? "" : "<false out>");
    put(stream, "<true quiet>bra BODY;\n");
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
                version / 100, version % 100, module->target, WORKER_SHARED_WORDS, sizeof(struct worker_arguments),
                declarations);
    return stream;
}

static char *end_text(FILE *stream, char **text)
{
    put(stream, "}\n");
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
    put_beginning(stream, shape);
    put_round(stream, shape);
    return end_text(stream, &text);
}

char *worker_asking_text(const struct ptx_module *module, size_t *bytes)
{
    char *text;
    FILE *stream = begin_text(module, &text, bytes);
    if (!stream)
        return NULL;
    put(stream, asking);
    return end_text(stream, &text);
}
