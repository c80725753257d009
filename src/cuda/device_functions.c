/* SPDX-License-Identifier: MIT */
/* The texts of the functions, one behind the other. A context is made up for them that is never run. */
#include "cuda/device_functions.h"

#include "cuda/context.h"
#include "cuda/device.h"
#include "cuda/device_heap.h"
#include "cuda/device_library.h"
#include "cuda/device_runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Without .version, .target and .address_size, which are the module's. */
static const char *behind_head(const char *library)
{
    for (int line = 0; line < 3; line++)
        library = strchr(library, '\n') + 1;
    return library;
}

/* The runtime declares malloc and free: `text` and what has been written are looked at. */
static bool write_functions(FILE *out, const struct context *context, const char *text)
{
    char heap[DEVICE_HEAP_TEXT_BYTES], *runtime = NULL;
    size_t runtime_bytes;
    bool wants_heap = device_heap_wanted(text);
    if (device_runtime_wanted(text)) {
        FILE *other = open_memstream(&runtime, &runtime_bytes);
        if (!other)
            return false;
        device_runtime_write(other, context, 1);
        if (fclose(other)) {
            free(runtime);
            return false;
        }
        wants_heap |= device_heap_wanted(runtime);
        fputs(behind_head(runtime), out);
        free(runtime);
    }
    device_heap_write(context, heap);
    if (wants_heap)
        fputs(behind_head(heap), out);
    if (device_library_wanted(text))
        fputs(behind_head(device_library_text), out);
    return true;
}

enum corun_status device_functions_append(const struct corun_gpu_config *gpu, const char *text, size_t bytes,
                                          char **whole, size_t *whole_bytes)
{
    *whole = NULL;
    char *copy = strndup(text, bytes);
    if (!copy)
        return CORUN_MEMORY;
    enum corun_status status = CORUN_OK;
    if (device_runtime_wanted(copy) || device_heap_wanted(copy) || device_library_wanted(copy)) {
        struct device *device = calloc(1, sizeof *device);
        FILE *out = open_memstream(whole, whole_bytes);
        bool good = device && out;
        if (good) {
            device->config = *gpu;
            const struct context context = {.device = device, .limits = CONTEXT_LIMITS};
            fprintf(out, "%s\n", copy);
            good = write_functions(out, &context, copy);
        }
        if ((out && fclose(out)) || !good) {
            free(*whole);
            *whole = NULL;
            status = CORUN_MEMORY;
        }
        free(device);
    }
    free(copy);
    return status;
}
