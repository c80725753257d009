/* SPDX-License-Identifier: MIT */
/*
 * What a GPU lets pass though it is a mistake: accesses beside what is allocated, in memory that is mapped by pages
 * (corun_memory_map_pages), and barriers that only a part of a warp comes to. The first one of a kind on each SM is kept so that the user
 * of a module instance can be told; what is checked is a fault instead.
 */
#include "isa/executor.h"

#include <inttypes.h>
#include <string.h>

static uint8_t *shared_find(const struct corun_tb *tb, uint64_t address, uint32_t bytes)
{
    size_t whole = shared_whole(tb->launch->grid.tb_shared_bytes);
    bool good = memory_by_pages(tb->sm->memory) && bytes <= whole && address <= whole - bytes;
    return good ? tb->shared + address : NULL;
}

static void note_shared(const struct corun_warp *warp, uint64_t address, uint32_t bytes, bool store)
{
    fault_note(warp, NOTE_OUTSIDE,
               "%s %" PRIu32 " bytes at shared address 0x%" PRIx64 ", beyond the %" PRIu32
               " bytes that its thread block has; the kernel continues, as on a GPU",
               store ? "writes" : "loads", bytes, address, warp->tb->launch->grid.tb_shared_bytes);
}

static void note_memory(const struct corun_warp *warp, uint64_t address, uint32_t bytes, bool store)
{
    const struct executor_sm *sm = warp->tb->sm;
    char place[PLACE_BYTES];
    bool freed = memory_freed(sm->memory, address);
    enum note_kind kind = freed ? NOTE_FREED : NOTE_OUTSIDE;
    if (!*sm->notes[kind].text)
        fault_note(warp, kind, "%s %" PRIu32 " bytes at 0x%" PRIx64 ", %s: %s; the kernel continues, %s",
                   store ? "writes" : "loads", bytes, address,
                   freed ? "a use after free" : "where nothing is allocated",
                   fault_place(sm->memory, address, bytes, place),
                   freed && !store ? "and gets zero (a GPU may give what was there)" : "as on a GPU");
}

uint8_t *outside_find(struct corun_warp *warp, bool shared, uint64_t address, uint32_t bytes, bool store)
{
    const struct corun_tb *tb = warp->tb;
    if (tb->launch->instance->checks & CORUN_CHECK_MEMORY)
        return shared ? NULL : heap_find(warp, address, bytes);
    uint8_t *host =
        shared ? shared_find(tb, address, bytes) : memory_find_outside(tb->sm->memory, address, bytes, store);
    if (host && shared)
        note_shared(warp, address, bytes, store);
    else if (host)
        note_memory(warp, address, bytes, store);
    return host;
}

bool corun_module_instance_outside(struct corun_module_instance *instance, struct corun_diagnostics *list)
{
    bool any = false;
    for (uint32_t kind = 0; kind < NOTES; kind++) {
        const struct note *note = instance->functional ? &instance->functional->notes[kind] : NULL;
        for (uint32_t i = 0; i < instance->sm_count && !(note && *note->text); i++)
            note = &instance->sms[i]->notes[kind];
        if (instance->told[kind] || !note || !*note->text)
            continue;
        instance->told[kind] = any = true;
        (void)corun_report(list, CORUN_OK, note->place, "%s", note->text);
    }
    return any;
}

static const struct {
    const char *name;
    uint32_t check;
} checks[] = {
#define ROW(name, text, meaning) {text, CORUN_CHECK_##name},
    CORUN_CHECKS(ROW)
#undef ROW
};

bool corun_checks_parse(const char *text, uint32_t *result)
{
    *result = 0;
    for (;;) {
        size_t length = strcspn(text, ","), i = 0;
        while (i < sizeof checks / sizeof *checks &&
               (strlen(checks[i].name) != length || memcmp(checks[i].name, text, length) != 0))
            i++;
        if (i == sizeof checks / sizeof *checks)
            return false;
        *result |= checks[i].check;
        if (!text[length])
            return true;
        text += length + 1;
    }
}

void corun_module_instance_architecture(struct corun_module_instance *instance, uint32_t compute_capability)
{
    instance->compute_capability = compute_capability;
    instance->matrix_unit = compute_capability < 90 ? MATRIX_A100 : MATRIX_H100;
}

void corun_module_instance_check(struct corun_module_instance *instance, uint32_t wanted)
{
    instance->checks = wanted;
    if (wanted & CORUN_CHECK_MEMORY)
        heap_guard(instance);
}
