/* SPDX-License-Identifier: MIT */
/* Feeds bytes to the readers of executable files: a CUDA program before it is started, a policy before it is loaded. */
#include "case/policy_file.h"
#include "cuda/program_file.h"

#include "memory_file.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct corun_diagnostics *list = corun_diagnostics_create();
    struct memory_file file = memory_file_create(data, size);
    bool fixed_path;
    char runtime[64];
    (void)program_file_check(file.path, list, &fixed_path, runtime);
    if (!memchr(runtime, 0, sizeof runtime))
        abort();
    (void)policy_file_check("policy", file.path, list);
    memory_file_destroy(&file);
    corun_diagnostics_destroy(list);
    return 0;
}
