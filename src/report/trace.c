/* SPDX-License-Identifier: MIT */
/* A trace event as a line of text, and the file of such lines in a run that is saved. */
#include "report/trace.h"

#include "base/archive.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#define LINE_BYTES 400u /* but for the name of the kernel */
#define SUM_BASIS UINT64_C(0xcbf29ce484222325)
#define SUM_PRIME UINT64_C(0x100000001b3)
#define PIECE_BYTES 65536u

void trace_create(struct trace *trace, FILE *stream, bool saved)
{
    *trace = (struct trace){.stream = stream, .saved = saved, .sum = SUM_BASIS};
}

static uint64_t add_up(uint64_t sum, const char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        sum = (sum ^ (uint8_t)bytes[i]) * SUM_PRIME;
    return sum;
}

static void put(struct trace *trace, const char *text, size_t bytes)
{
    fwrite(text, 1, bytes, trace->stream);
    if (!trace->saved)
        return;
    trace->bytes += bytes;
    trace->sum = add_up(trace->sum, text, bytes);
}

/* What lies at the place of a file that is written anew goes when the run is known to begin. */
static void begin(struct trace *trace)
{
    static const char heading[] = "# cycle sm scheduler warp application tb kernel pc line unit active\n";
    trace->begun = true;
    if (trace->saved && (fflush(trace->stream) || ftruncate(fileno(trace->stream), 0)))
        return; /* then the stream fails too */
    put(trace, heading, sizeof heading - 1);
}

void trace_end(struct trace *trace)
{
    if (!trace->begun)
        begin(trace);
}

void trace_event(void *user, const struct corun_trace_event *event)
{
    static const char *const units[] = {
#define UNIT_LABEL(name, label, meaning) label,
        CORUN_UNITS(UNIT_LABEL)
#undef UNIT_LABEL
    };
    struct trace *trace = user;
    const struct corun_instruction *instruction = &event->grid->code[event->pc];
    char line[LINE_BYTES];
    if (!trace->begun)
        begin(trace);
    int length = snprintf(line, sizeof line, "%" PRIu64 " %u %u %u %u %u ", event->cycle, event->sm, event->scheduler,
                          event->warp, event->application, event->tb);
    put(trace, line, (size_t)length);
    put(trace, event->grid->name, strlen(event->grid->name));
    length = snprintf(line, sizeof line, " %u %u %s %08x\n", event->pc, instruction->line,
                      instruction->unit < CORUN_UNIT_COUNT ? units[instruction->unit] : "?", event->active);
    put(trace, line, (size_t)length);
}

/* ---- checkpoints ---- */

/* Whether the file begins with the bytes that were written. */
static bool is_the_same(const struct trace *trace)
{
    char piece[PIECE_BYTES];
    uint64_t sum = SUM_BASIS, left = trace->bytes;
    int file = fileno(trace->stream);
    while (left) {
        ssize_t got =
            pread(file, piece, left < sizeof piece ? (size_t)left : sizeof piece, (off_t)(trace->bytes - left));
        if (got <= 0)
            return false;
        sum = add_up(sum, piece, (size_t)got);
        left -= (uint64_t)got;
    }
    return sum == trace->sum;
}

static void cut_back(struct trace *trace, struct corun_archive *archive)
{
    if (!is_the_same(trace))
        archive_fail(archive, CORUN_ARGUMENT,
                     "the file of the trace does not begin with the %" PRIu64 " bytes that the run had written",
                     trace->bytes);
    else if (ftruncate(fileno(trace->stream), (off_t)trace->bytes) ||
             fseeko(trace->stream, (off_t)trace->bytes, SEEK_SET))
        archive_fail(archive, CORUN_FILE, "the file of the trace cannot be cut back: %s", strerror(errno));
}

void trace_archive(void *user, struct corun_archive *archive)
{
    struct trace *trace = user;
    archive_section(archive, "trace", 1);
    if (!archive->reads) {
        trace_end(trace);
        if (fflush(trace->stream) || fdatasync(fileno(trace->stream)))
            archive_fail(archive, CORUN_FILE, "the file of the trace cannot be written: %s", strerror(errno));
    }
    ARCHIVE(archive, trace->bytes);
    ARCHIVE(archive, trace->sum);
    if (!archive->reads || !archive_fine(archive))
        return;
    trace->begun = true;
    cut_back(trace, archive);
}
