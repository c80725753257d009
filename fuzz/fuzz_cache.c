/* SPDX-License-Identifier: MIT */
/* Feeds bytes to the reader of kept rewritten modules, as they are, and with the sum that makes them whole; what is read is written and read again. */
#include "rewrite/cache.h"

#include <stdlib.h>
#include <string.h>

enum { SUM_AT = 16, SUMMED_FROM = SUM_AT + SHA256_DIGEST_STRING_LENGTH };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *problem = NULL;
    free(cached_module_decode(data, size, &problem));
    if (size < SUMMED_FROM)
        return 0;
    uint8_t *copy = malloc(size);
    SHA2_CTX hash;
    char sum[SHA256_DIGEST_STRING_LENGTH];
    if (!copy)
        return 0;
    memcpy(copy, data, size);
    memcpy(copy, "corun rewritten", SUM_AT);
    SHA256Init(&hash);
    SHA256Update(&hash, copy + SUMMED_FROM, size - SUMMED_FROM);
    SHA256End(&hash, sum);
    memcpy(copy + SUM_AT, sum, sizeof sum);
    struct cached_module *module = cached_module_decode(copy, size, &problem);
    if (module) {
        size_t bytes = 0;
        uint8_t *again = cached_module_encode(module, &bytes);
        struct cached_module *other = again ? cached_module_decode(again, bytes, &problem) : NULL;
        if (!other || other->kernel_count != module->kernel_count || other->borrowed_count != module->borrowed_count ||
            strcmp(other->text, module->text) != 0)
            abort();
        for (uint32_t i = 0; i < module->kernel_count; i++)
            for (uint32_t k = 0; k < module->kernels[i].borrow_count; k++)
                if (strcmp(module->borrowed[module->kernels[i].borrows[k]],
                           other->borrowed[other->kernels[i].borrows[k]]) != 0)
                    abort();
        free(other);
        free(again);
        (void)cached_kernel_find(module, "kernel");
    }
    free(module);
    free(copy);
    return 0;
}
