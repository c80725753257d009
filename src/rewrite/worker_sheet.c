/* SPDX-License-Identifier: MIT */
/* Shorthands of the texts of workers: what is written in more than one place. */
#include "rewrite/worker_sheet.h"

#include <string.h>

static const struct {
    const char *name, *text;
} shorthands[] = {
    {"RESIDENT", "65536"}, /* one more, in the word of limit and resident */
    {"NONE",
     "2147483648"}, /* drawn: nothing. No grid has as many thread blocks, nor as many and all that are left out of its numbers */
    {"COUNT", "4095"},       /* WORKERS_UNLIMITED: what is above says who goes first */
    {"UNLIMITED", "65535"},  /* nobody is there, and everybody may be */
    {"ALIVE", "4294967297"}, /* one more, and a thread block drawn, in the first two words of a queue */
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
    {"masked-too-many", "and.b32 %t, %word, 4095;\n"
                        "shr.u32 %u, %word, 16;\n"
                        "setp.gt.u32 %p, %u, %t;\n"
                        "mov.b32 {%limit, %resident}, %word;\n"},
    {"false", "setp.ne.u32 %?, %t, %t;\n"},
    {"true", "setp.eq.u32 %?, %t, %t;\n"},
    {"leave", "mov.u64 %time, %globaltimer;\n"
              "red.global.add.u64 [%place+8], %time;\n"},
    {"ask", "ld.param.v2.u64 {%queue, %place}, [arguments];\n"
            "@!%strict atom.global.add.u32 %drawn, [%queue], 1;\n"
            "mov.u32 %t, %smid;\n"
            "mad.wide.u32 %place, %t, 16, %place;\n"
            "red.global.add.u32 [%place+4], 1;\n"
            "ld.volatile.global.u32 %owed, [%place];\n"},
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
    {"masked-claim", "?AGAIN:\n"
                     "sub.u32 %t, %word, 65536;\n"
                     "atom.global.cas.b32 %t, [%place], %word, %t;\n"
                     "setp.eq.u32 %claimed, %t, %word;\n"
                     "@%claimed bra ?CLAIMED;\n"
                     "mov.u32 %word, %t;\n"
                     "and.b32 %t, %word, 4095;\n"
                     "shr.u32 %u, %word, 16;\n"
                     "setp.gt.u32 %p, %u, %t;\n"
                     "@%p bra ?AGAIN;\n"},
    /* %t: after whom. Who is told to leave at once waits for nobody */
    {"nobody", ""},
    {"masked-nobody", "setp.eq.s32 %p, %t, -8;\n"
                      "@%p bra ALONE;\n"},
    /* %p: the limit says that who is too many leaves at once; 8 in its highest four bits, as a signed number */
    {"at-once", "setp.lt.s16 %p, %?, -28672;\n"},
    /* %a: thread blocks of the grid */
    {"all", "ld.param.u32 %a, [arguments+32];\n"
            "ld.param.u32 %b, [arguments+40];\n"
            "mul.lo.u32 %a, %a, %b;\n"},
    /* Gives the place up, at once; to ?STAYS if that is not asked for, or not of this one */
    {"surrender", "atom.global.add.u32 %word, [%place], -65536;\n"
                  "and.b32 %t, %word, 4095;\n"
                  "shr.u32 %u, %word, 16;\n"
                  "setp.gt.u32 %p, %u, %t;\n"
                  "@!%p bra ?STAYS;\n"
                  "mov.b32 {%limit, %resident}, %word;\n"
                  "setp.lt.s16 %p, %limit, -28672;\n"
                  "@!%p bra ?STAYS;\n"},
    /* %p: no thread block can be given back */
    {"full", "<all>"
             "ld.volatile.global.u32 %t, [%queue+8];\n"
             "sub.u32 %u, %t, %a;\n"
             "ld.param.u32 %b, [arguments+88];\n"
             "setp.ge.u32 %p, %u, %b;\n"},
    /*
     * %drawn goes back to the queue: one more in all, whose number says where it is written. Whoever has drawn beyond that has found nothing, so what is
     * drawn next is that.
     */
    {"return", "<all>"
               "atom.global.add.u32 %t, [%queue+8], 1;\n"
               "sub.u32 %u, %t, %a;\n"
               "ld.param.u64 %time, [arguments+80];\n"
               "mad.wide.u32 %time, %u, 8, %time;\n"
               "ld.param.u32 %b, [arguments+24];\n"
               "mov.b64 %state, {%drawn, %b};\n"
               "st.volatile.global.u64 [%time], %state;\n"
               "membar.gl;\n"
               "red.global.min.u32 [%queue], %t;\n"},
};

/* Of `length` characters. */
static size_t find_shorthand(const char *name, size_t length)
{
    size_t i = 0;
    while (strlen(shorthands[i].name) != length || memcmp(shorthands[i].name, name, length) != 0)
        i++;
    return i;
}

/* The same with `masked-` in front of it, if there is one. */
static size_t find_masked(size_t plain)
{
    for (size_t i = 0; i < sizeof shorthands / sizeof shorthands[0]; i++)
        if (!strncmp(shorthands[i].name, "masked-", 7) && !strcmp(shorthands[i].name + 7, shorthands[plain].name))
            return i;
    return plain;
}

/* `length` characters between < and >. */
static void put_shorthand(const struct sheet *sheet, const char *name, size_t length)
{
    const char *blank = memchr(name, ' ', length);
    size_t word = blank ? (size_t)(blank - name) : length, i = find_shorthand(name, word);
    if (sheet->drops)
        i = find_masked(i);
    for (const char *text = shorthands[i].text; *text; text++)
        if (*text == '?') {
            fwrite(blank + 1, 1, length - word - 1, sheet->stream);
        } else if (*text == '<') { /* one within another: it has no word */
            const char *end = strchr(text, '>');
            fputs(shorthands[find_shorthand(text + 1, (size_t)(end - text) - 1)].text, sheet->stream);
            text = end;
        } else {
            fputc(*text, sheet->stream);
        }
}

void sheet_put_at(const struct sheet *sheet, const char *text, const char *at)
{
    for (; *text; text++)
        if (*text == '$') {
            fputs(at, sheet->stream);
        } else if (*text == '<') {
            const char *end = strchr(text, '>');
            put_shorthand(sheet, text + 1, (size_t)(end - text) - 1);
            text = end;
        } else {
            fputc(*text, sheet->stream);
        }
}

void sheet_put(const struct sheet *sheet, const char *text)
{
    sheet_put_at(sheet, text, "");
}
