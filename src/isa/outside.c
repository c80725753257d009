/*
 * Accesses beside what is allocated, in memory that is mapped by pages (corun_memory_map_pages): they go on as on a GPU, and the
 * first one of a program on each SM is kept so that its user can be told.
 */
#include "isa/executor.h"

#include <inttypes.h>

static uint8_t *shared_find(const struct corun_tb *tb, uint64_t address, uint32_t bytes)
{
    size_t whole = shared_whole(tb->launch->grid.tb_shared_bytes);
    bool good = memory_by_pages(tb->sm->memory) && bytes <= whole && address <= whole - bytes;
    return good ? tb->shared + address : NULL;
}

uint8_t *outside_find(struct corun_warp *warp, bool shared, uint64_t address, uint32_t bytes, bool store)
{
    const struct corun_tb *tb = warp->tb;
    struct executor_sm *sm = tb->sm;
    uint8_t *host = shared ? shared_find(tb, address, bytes) : memory_find_outside(sm->memory, address, bytes, store);
    if (host && !sm->outside.kernel) {
        const struct corun_kernel *kernel = tb->launch->kernel;
        struct corun_place place = {tb->launch->grid.file, kernel->instructions[warp->stack.pc].line, 0};
        sm->outside = (struct outside){.kernel = kernel,
                                       .place = place,
                                       .shared_bytes = shared ? tb->launch->grid.tb_shared_bytes : 0,
                                       .address = address,
                                       .bytes = bytes,
                                       .store = store};
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
    const char *what = outside->store ? "writes" : "loads";
    if (outside->shared_bytes) {
        (void)corun_report(list, CORUN_OK, outside->place,
                           "note: kernel %.200s %s %" PRIu32 " bytes at shared address 0x%" PRIx64
                           ", beyond the %" PRIu32 " bytes that its thread block has; it goes on, as on a GPU",
                           outside->kernel->info.name, what, outside->bytes, outside->address, outside->shared_bytes);
        return true;
    }
    uint64_t base = 0, size = 0;
    memory_nearest(program->memory, outside->address, &base, &size);
    (void)corun_report(list, CORUN_OK, outside->place,
                       "note: kernel %.200s %s %" PRIu32 " bytes at 0x%" PRIx64
                       ", where nothing is allocated (the nearest allocation has %" PRIu64 " bytes at 0x%" PRIx64
                       "); it goes on, as on a GPU",
                       outside->kernel->info.name, what, outside->bytes, outside->address, size, base);
    return true;
}
