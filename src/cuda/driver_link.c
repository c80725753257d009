/* SPDX-License-Identifier: MIT */
/* Linking in the driver API: texts are kept and become a module's when it is loaded; what is complete is PTX again. */
#include "cuda/abi.h"
#include "cuda/call.h"
#include "cuda/context.h"
#include "cuda/device.h"
#include "cuda/driver_api.h"
#include "cuda/driver_module.h"
#include "cuda/failure.h"
#include "cuda/fat_binary.h"
#include "cuda/object.h"
#include "cuda/process.h"
#include "cuda/ptx_link.h"

#include <stdlib.h>
#include <string.h>

/* CUjitInputType */
enum { LINK_CUBIN, LINK_PTX, LINK_FAT_BINARY, LINK_OBJECT, LINK_LIBRARY };

struct link_state {
    struct object object;
    struct ptx_link link;
    char *text;
    struct jit_log log;
};

ENTRY(int, cuLinkCreate_v2, unsigned count, int *options, void **values, void **state)
{
    struct call call;
    if (driver_begin(&call)) {
        struct link_state *link = state ? calloc(1, sizeof *link) : NULL;
        if (link && object_add(call.process, &link->object)) {
            link->object.kind = OBJECT_LINK;
            link->log = jit_log_of_options(count, options, values);
            *state = link;
        } else {
            call.error = state ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_VALUE;
            free(link);
        }
    }
    return call_end(&call);
}

/* The toolkit's library for launches from the device: ours is linked in its place when the module is loaded (device_runtime.h). */
static bool is_device_runtime(int type, const char *name)
{
    return type == LINK_LIBRARY && name && strstr(name, "cudadevrt");
}

static int add_data(struct call *call, struct link_state *link, int type, const void *data, size_t bytes)
{
    if (type == LINK_PTX) {
        while (bytes && !((const char *)data)[bytes - 1])
            bytes--;
        return ptx_link_add(&link->link, data, bytes, false) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (type == LINK_FAT_BINARY) {
        struct fat_binary binary = {0};
        enum corun_status status = fat_binary_read(&binary, data, bytes, call->process->list);
        const struct fat_binary_text *text = fat_binary_best(&binary, call->context->device->config.compute_capability);
        int error = status != CORUN_OK                                          ? CUDA_ERROR_INVALID_IMAGE
                    : !text                                                     ? CUDA_ERROR_NO_BINARY_FOR_GPU
                    : ptx_link_add(&link->link, text->text, text->bytes, false) ? CUDA_SUCCESS
                                                                                : CUDA_ERROR_OUT_OF_MEMORY;
        fat_binary_free(&binary);
        return error;
    }
    corun_report(call->process->list, CORUN_UNSUPPORTED, CORUN_NOWHERE, "only PTX and fat binaries can be linked");
    return CUDA_ERROR_NOT_SUPPORTED;
}

ENTRY(int, cuLinkAddData_v2, void *state, int type, void *data, size_t bytes, const char *name, unsigned count,
      const int *options, void **values)
{
    struct call call;
    (void)count, (void)options, (void)values;
    if (driver_begin(&call)) {
        struct link_state *link = object_find(call.process, state, OBJECT_LINK);
        if (!link)
            call.error = CUDA_ERROR_INVALID_HANDLE;
        else if (!is_device_runtime(type, name))
            call.error = data ? add_data(&call, link, type, data, bytes) : CUDA_ERROR_INVALID_VALUE;
        if (link)
            jit_log_write(&link->log, call.process->list);
    }
    return call_end(&call);
}

ENTRY(int, cuLinkAddFile_v2, void *state, int type, const char *path, unsigned count, const int *options, void **values)
{
    struct call call;
    (void)count, (void)options, (void)values;
    if (driver_begin(&call)) {
        struct link_state *link = object_find(call.process, state, OBJECT_LINK);
        size_t bytes = 0;
        bool ours = is_device_runtime(type, path);
        char *text = link && path && !ours ? module_file_read(path, &bytes) : NULL;
        if (!link)
            call.error = CUDA_ERROR_INVALID_HANDLE;
        else if (!ours)
            call.error = text ? add_data(&call, link, type, text, bytes) : CUDA_ERROR_FILE_NOT_FOUND;
        if (link)
            jit_log_write(&link->log, call.process->list);
        free(text);
    }
    return call_end(&call);
}

ENTRY(int, cuLinkComplete, void *state, void **cubin, size_t *bytes)
{
    struct call call;
    if (driver_begin(&call)) {
        struct link_state *link = object_find(call.process, state, OBJECT_LINK);
        size_t length = 0;
        if (!link) {
            call.error = CUDA_ERROR_INVALID_HANDLE;
        } else {
            free(link->text);
            call.error = error_of_status(ptx_link_finish(&link->link, call.process->list, &link->text, &length));
            jit_log_write(&link->log, call.process->list);
        }
        if (call.error == CUDA_SUCCESS && cubin)
            *cubin = link->text;
        if (call.error == CUDA_SUCCESS && bytes)
            *bytes = length + 1;
    }
    return call_end(&call);
}

ENTRY(int, cuLinkDestroy, void *state)
{
    struct call call;
    if (driver_begin(&call)) {
        struct link_state *link = object_find(call.process, state, OBJECT_LINK);
        if (link) {
            object_remove(call.process, &link->object);
            ptx_link_free(&link->link);
            free(link->text);
            free(link);
        } else {
            call.error = CUDA_ERROR_INVALID_HANDLE;
        }
    }
    return call_end(&call);
}
