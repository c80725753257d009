/* Faults: one line that says who did what where. */
#include "isa/executor.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

static size_t append(char *text, size_t used, const char *format, va_list arguments)
{
    int length = used < FAULT_BYTES ? vsnprintf(text + used, FAULT_BYTES - used, format, arguments) : 0;
    return length > 0 ? used + (size_t)length : used;
}

void fault_raise(struct corun_warp *warp, uint32_t lane, const char *format, ...)
{
    struct corun_tb *tb = warp->tb;
    const struct launch *launch = tb->launch;
    const uint32_t(*thread)[CORUN_WARP_LANES] = (const uint32_t(*)[CORUN_WARP_LANES])launch->thread[warp->index];
    tb->fault_line = launch->kernel->instructions[warp->stack.pc].line;
    int used = snprintf(tb->fault, FAULT_BYTES,
                        "kernel %.200s, thread block (%" PRIu32 ",%" PRIu32 ",%" PRIu32 "), thread (%" PRIu32
                        ",%" PRIu32 ",%" PRIu32 "): ",
                        launch->kernel->info.name, tb->position.x, tb->position.y, tb->position.z, thread[0][lane],
                        thread[1][lane], thread[2][lane]);
    va_list arguments;
    va_start(arguments, format);
    append(tb->fault, used < 0 ? 0 : (size_t)used, format, arguments);
    va_end(arguments);
}

static const char *space_name(enum corun_space space)
{
    switch (space) {
    case CORUN_SPACE_SHARED:
        return "shared";
    case CORUN_SPACE_LOCAL:
        return "local";
    case CORUN_SPACE_CONSTANT:
        return "constant";
    case CORUN_SPACE_GENERIC:
        return "generic";
    default:
        return "global";
    }
}

void fault_access(struct corun_warp *warp, uint32_t lane, enum corun_space space, const char *what, uint64_t address,
                  uint32_t bytes)
{
    const struct launch *launch = warp->tb->launch;
    if (address % bytes) {
        fault_raise(warp, lane, "misaligned %s of %" PRIu32 " bytes at %s address 0x%" PRIx64, what, bytes,
                    space_name(space), address);
        return;
    }
    if (space == CORUN_SPACE_SHARED || space == CORUN_SPACE_LOCAL) {
        fault_raise(warp, lane,
                    "%s of %" PRIu32 " bytes at %s address 0x%" PRIx64 " is out of bounds: the %s has %" PRIu32
                    " bytes of it",
                    what, bytes, space_name(space), address, space == CORUN_SPACE_SHARED ? "thread block" : "thread",
                    space == CORUN_SPACE_SHARED ? launch->grid.tb_shared_bytes : launch->kernel->local_bytes);
        return;
    }
    uint64_t base, size;
    if (!memory_nearest(warp->tb->sm->memory, address, &base, &size)) {
        fault_raise(warp, lane,
                    "%s of %" PRIu32 " bytes at %s address 0x%" PRIx64 " is out of bounds: nothing is allocated", what,
                    bytes, space_name(space), address);
        return;
    }
    fault_raise(warp, lane,
                "%s of %" PRIu32 " bytes at %s address 0x%" PRIx64
                " is out of bounds: the nearest allocation has %" PRIu64 " bytes at 0x%" PRIx64,
                what, bytes, space_name(space), address, size, base);
}
