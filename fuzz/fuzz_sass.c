/* SPDX-License-Identifier: MIT */
/* Feeds bytes to the readers of traces of machine code; every instruction of what they accept has addresses for its active lanes. */
#include "base/bits.h"
#include "sass/trace.h"

#include <stdlib.h>

#define MOST_UNPACKED ((size_t)1 << 22)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct corun_diagnostics *list = corun_diagnostics_create();
    struct sass_kernel *kernel;
    struct sass_names names;
    if (sass_list_read("fuzz", (const char *)data, size, list, &names) == CORUN_OK)
        sass_names_free(&names);
    if (sass_kernel_read("fuzz", (const char *)data, size, list, &kernel) == CORUN_OK) {
        volatile uint64_t sum = 0;
        for (size_t i = 0; i < kernel->instructions.count; i++) {
            const struct sass_instruction *instruction = &kernel->instructions.data[i];
            if (instruction->code >= kernel->code.count)
                abort();
            for (uint32_t lanes = instruction->form ? instruction->mask : 0; lanes; lanes &= lanes - 1)
                sum += sass_address(kernel, instruction, lowest_bit(lanes));
        }
        (void)sum; /* else clang says that it is not used */
        if (kernel->warps.count != (size_t)kernel->tb_count * kernel->tb_warps)
            abort();
        sass_kernel_destroy(kernel);
    }
    static const char *const names_of_files[] = {"fuzz.gz", "fuzz.xz"};
    for (int i = 0; i < 2; i++) {
        char *text;
        size_t bytes;
        if (sass_unpack(names_of_files[i], data, size, MOST_UNPACKED, list, &text, &bytes) != CORUN_OK)
            continue;
        if (bytes > MOST_UNPACKED || text[bytes])
            abort();
        free(text);
    }
    corun_diagnostics_destroy(list);
    return 0;
}
