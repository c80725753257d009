/* SPDX-License-Identifier: MIT */
/* Faults: one line that says who did what where. */
#include "base/kernel_name.h"
#include "isa/address.h"
#include "isa/executor.h"
#include "ptx/source_lines.h"

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
    char source[PTX_SOURCE_TEXT];
    ptx_source_text(launch->kernel->module->ptx, tb->fault_line, source);
    int used =
        snprintf(tb->fault, FAULT_BYTES,
                 "kernel %.200s%s%s%s, thread block (%" PRIu32 ",%" PRIu32 ",%" PRIu32 "), thread (%" PRIu32 ",%" PRIu32
                 ",%" PRIu32 "): ",
                 KERNEL_NAME(launch->kernel->info.name), *source ? " (" : "", source, *source ? ")" : "",
                 tb->position.x, tb->position.y, tb->position.z, thread[0][lane], thread[1][lane], thread[2][lane]);
    va_list arguments;
    va_start(arguments, format);
    append(tb->fault, used < 0 ? 0 : (size_t)used, format, arguments);
    va_end(arguments);
}

void fault_note(const struct corun_warp *warp, enum note_kind kind, const char *format, ...)
{
    const struct launch *launch = warp->tb->launch;
    struct note *note = &warp->tb->sm->notes[kind];
    if (*note->text)
        return;
    note->place = (struct corun_place){launch->grid.file, launch->kernel->instructions[warp->stack.pc].line, 0};
    char source[PTX_SOURCE_TEXT];
    ptx_source_text(launch->kernel->module->ptx, note->place.line, source);
    int used = snprintf(note->text, FAULT_BYTES, "kernel %.200s%s%s%s ", KERNEL_NAME(launch->kernel->info.name),
                        *source ? " (" : "", source, *source ? ")" : "");
    va_list arguments;
    va_start(arguments, format);
    append(note->text, used < 0 ? 0 : (size_t)used, format, arguments);
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

/* "4096 bytes of cudaMalloc 3 at 0x10000001000" */
#define BLOCK "%" PRIu64 " bytes%s%s at 0x%" PRIx64
#define BLOCK_OF(block) (block)->bytes, *(block)->name ? " of " : "", (block)->name, (block)->address
#define NULL_BYTES UINT64_C(65536) /* an address below is a null pointer with an index or a member */
#define HOST_BITS 47u              /* what a host's programs have */

/* What no allocation explains; NULL: nothing of it. */
static const char *describe_stray(const struct corun_memory *memory, uint64_t address)
{
    uint64_t owner = address >> CORUN_APPLICATION_SHIFT;
    if (address == 0)
        return "a null pointer";
    if (address >> WINDOW_SHIFT != WINDOW_GLOBAL || (!memory_by_pages(memory) && owner > CORUN_MAX_APPLICATIONS))
        return "no address of global memory";
    if (owner && owner <= CORUN_MAX_APPLICATIONS && owner != memory_application(memory) + 1)
        return "memory of another application or context";
    if (owner > CORUN_MAX_APPLICATIONS && address >> HOST_BITS == 0)
        return "a host pointer, by its looks: kernels reach host memory that is pinned, managed or registered";
    return NULL;
}

static const char *describe_freed(const struct freed *freed, uint64_t address, char *text)
{
    snprintf(text, PLACE_BYTES, "%" PRIu64 " bytes into the " BLOCK ", freed%s%s", address - freed->address,
             BLOCK_OF(freed), *freed->freer ? " by " : "", freed->freer);
    return text;
}

const char *fault_place(const struct corun_memory *memory, uint64_t address, uint32_t bytes, char *text)
{
    const struct freed *freed = memory_freed(memory, address);
    const char *stray = describe_stray(memory, address);
    struct memory_nearest nearest = {0};
    if (freed)
        return describe_freed(freed, address, text);
    if (address && address < NULL_BYTES) {
        snprintf(text, PLACE_BYTES, "%" PRIu64 " bytes from a null pointer", address);
        return text;
    }
    bool any = memory_nearest(memory, address, &nearest);
    uint64_t end = any ? nearest.address + nearest.bytes : 0;
    uint64_t distance = !any ? UINT64_MAX : address < nearest.address ? nearest.address - address : address - end;
    if (stray && distance >= NULL_BYTES) { /* host memory that kernels reach may be near */
        snprintf(text, PLACE_BYTES, "%s", stray);
    } else if (!any) {
        snprintf(text, PLACE_BYTES, "nothing is allocated");
    } else if (address < nearest.address) {
        snprintf(text, PLACE_BYTES, "%" PRIu64 " bytes before the " BLOCK, distance, BLOCK_OF(&nearest));
    } else if (address < end) {
        snprintf(text, PLACE_BYTES, "its end is %" PRIu64 " bytes behind the " BLOCK, address + bytes - end,
                 BLOCK_OF(&nearest));
    } else if (address == end) {
        snprintf(text, PLACE_BYTES, "right behind the " BLOCK, BLOCK_OF(&nearest));
    } else {
        snprintf(text, PLACE_BYTES, "%" PRIu64 " bytes behind the " BLOCK, distance, BLOCK_OF(&nearest));
    }
    return text;
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
                    space == CORUN_SPACE_SHARED ? launch->grid.tb_shared_bytes : launch->local_bytes);
        return;
    }
    char place[PLACE_BYTES];
    const struct corun_memory *memory = warp->tb->sm->memory;
    const struct freed *block = heap_freed(warp, address);
    bool freed = block || memory_freed(memory, address);
    fault_raise(warp, lane, "%s of %" PRIu32 " bytes at %s address 0x%" PRIx64 " is %s: %s", what, bytes,
                space_name(space), address, freed ? "a use after free" : "out of bounds",
                block ? describe_freed(block, address, place) : fault_place(memory, address, bytes, place));
}
