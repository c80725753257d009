/* SPDX-License-Identifier: MIT */
/* A trace event as a line of text. */
#include "report/trace.h"

#include <inttypes.h>

void trace_heading(FILE *stream)
{
    fputs("# cycle sm scheduler warp application tb kernel pc line unit active\n", stream);
}

void trace_event(void *stream, const struct corun_trace_event *event)
{
    static const char *const units[] = {
#define UNIT_LABEL(name, label, meaning) label,
        CORUN_UNITS(UNIT_LABEL)
#undef UNIT_LABEL
    };
    const struct corun_instruction *instruction = &event->grid->code[event->pc];
    fprintf(stream, "%" PRIu64 " %u %u %u %u %u %s %u %u %s %08x\n", event->cycle, event->sm, event->scheduler,
            event->warp, event->application, event->tb, event->grid->name, event->pc, instruction->line,
            instruction->unit < CORUN_UNIT_COUNT ? units[instruction->unit] : "?", event->active);
}
