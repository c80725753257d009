/* SPDX-License-Identifier: MIT */
/*
 * libFuzzer: any bytes as a program loads them: as PTX text and as a fat binary by cuModuleLoadDataEx with a buffer for
 * messages, and as something to be linked. What can be loaded has functions with attributes, and goes again.
 */
#include "cuda/driver_api.h"
#include "cuda/fat_binary.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_FUNCTIONS = 8, LINK_PTX = 1, LINK_FAT_BINARY = 2 };

static void check(bool holds)
{
    if (!holds)
        abort();
}

static void look_at(void *module)
{
    void *functions[MOST_FUNCTIONS];
    unsigned count;
    int value;
    check(corun_cuModuleGetFunctionCount(&count, module) == CUDA_SUCCESS);
    check(corun_cuModuleEnumerateFunctions(functions, MOST_FUNCTIONS, module) == CUDA_SUCCESS);
    for (unsigned i = 0; i < count && i < MOST_FUNCTIONS; i++)
        for (int attribute = 0; attribute < 10; attribute++)
            (void)corun_cuFuncGetAttribute(&value, attribute, functions[i]);
    check(corun_cuModuleUnload(module) == CUDA_SUCCESS);
}

static void link_alone(void *data, size_t size)
{
    void *state, *image, *module;
    size_t bytes;
    int kinds[] = {LINK_PTX, LINK_FAT_BINARY};
    for (size_t i = 0; i < 2; i++) {
        check(corun_cuLinkCreate_v2(0, NULL, NULL, &state) == CUDA_SUCCESS);
        if (corun_cuLinkAddData_v2(state, kinds[i], data, size, "data", 0, NULL, NULL) == CUDA_SUCCESS &&
            corun_cuLinkComplete(state, &image, &bytes) == CUDA_SUCCESS &&
            corun_cuModuleLoadDataEx(&module, image, 0, NULL, NULL) == CUDA_SUCCESS)
            look_at(module);
        check(corun_cuLinkDestroy(state) == CUDA_SUCCESS);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { HEADER_BYTES = 16, ERROR_LOG = 5, ERROR_LOG_BYTES = 6 };
    void *saved = NULL, *module;
    char log[256] = "";
    int options[] = {ERROR_LOG, ERROR_LOG_BYTES};
    void *values[] = {log, (void *)sizeof log};
    uint8_t *copy = malloc(size + 1);
    check(copy && corun_cuInit(0) == CUDA_SUCCESS && corun_cuCtxCreate_v2(&saved, 0, 0) == CUDA_SUCCESS);
    memcpy(copy, data, size);
    copy[size] = 0;
    /* A program gives no length: that in the header counts, and is the truth here. */
    uint32_t magic = 0;
    memcpy(&magic, copy, size < sizeof magic ? size : sizeof magic);
    if (magic == FAT_BINARY_MAGIC && size >= HEADER_BYTES) {
        uint64_t payload = size - HEADER_BYTES;
        uint16_t header = HEADER_BYTES;
        memcpy(copy + 6, &header, sizeof header);
        memcpy(copy + 8, &payload, sizeof payload);
    }
    bool pointers = magic == FAT_BINARY_WRAPPER_MAGIC || (magic == FAT_BINARY_MAGIC && size < HEADER_BYTES);
    if (!pointers && corun_cuModuleLoadDataEx(&module, copy, 2, options, values) == CUDA_SUCCESS)
        look_at(module);
    check(memchr(log, 0, sizeof log) != NULL || pointers);
    if (!pointers && size)
        link_alone(copy, size);
    check(corun_cuCtxDestroy_v2(saved) == CUDA_SUCCESS);
    free(copy);
    return 0;
}
