/*
 * Accesses beside what is allocated, in memory that is mapped by pages (corun_memory_map_pages): they go on as on a GPU, and the
 * first one of a program on each SM is kept so that its user can be told.
 */
#include "isa/executor.h"

#include <inttypes.h>

uint8_t *outside_find(struct corun_warp *warp, uint64_t address, uint32_t bytes, bool store)
{
    struct executor_sm *sm = warp->tb->sm;
    uint8_t *host = memory_find_outside(sm->memory, address, bytes, store);
    if (host && !sm->outside.kernel) {
        const struct corun_kernel *kernel = warp->tb->launch->kernel;
        struct corun_place place = {warp->tb->launch->grid.file, kernel->instructions[warp->stack.pc].line, 0};
        sm->outside = (struct outside){kernel, place, address, bytes, store};
    }
    return host;
}

bool corun_program_outside(struct corun_program *program, struct corun_diagnostics *list)
{
    if (program->outside_told)
        return false;
    const struct outside *outside = program->functional ? &program->functional->outside : NULL;
    for (uint32_t i = 0; i < program->sm_count && !(outside && outside->kernel); i++)
        outside = &program->sms[i]->outside;
    if (!outside || !outside->kernel)
        return false;
    program->outside_told = true;
    uint64_t base = 0, size = 0;
    memory_nearest(program->memory, outside->address, &base, &size);
    (void)corun_report(list, CORUN_OK, outside->place,
                       "note: kernel %.200s %s %" PRIu32 " bytes at 0x%" PRIx64
                       ", where nothing is allocated (the nearest allocation has %" PRIu64 " bytes at 0x%" PRIx64
                       "); it goes on, as on a GPU",
                       outside->kernel->info.name, outside->store ? "writes" : "loads", outside->bytes,
                       outside->address, size, base);
    return true;
}
