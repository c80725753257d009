/* SPDX-License-Identifier: MIT */
/* Texture and surface references: found in a module, and bound by an object of their own. */
#include "cuda/texture_reference.h"

#include "cuda/abi.h"
#include "cuda/call.h"
#include "cuda/capture.h"
#include "cuda/context.h"
#include "cuda/engine.h"
#include "cuda/module.h"
#include "cuda/object.h"
#include "cuda/process.h"
#include "cuda/texture_object.h"

#include <stdlib.h>

int texture_reference_get(struct call *call, struct module *module, const char *name, bool surface,
                          struct texture_reference **result)
{
    struct context *context = call->context;
    uint64_t bytes = 0, variable = corun_module_instance_variable(module->loaded, name, &bytes);
    if (!variable || bytes != sizeof(uint64_t))
        return CUDA_ERROR_NOT_FOUND;
    for (size_t i = 0; i < context->references.count; i++)
        if (context->references.data[i]->variable == variable) {
            *result = context->references.data[i];
            return (*result)->surface == surface ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
        }
    struct texture_reference *reference = malloc(sizeof *reference);
    if (!reference)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *reference = (struct texture_reference){
        .object = {OBJECT_TEXTURE_REFERENCE}, .module = module, .variable = variable, .surface = surface};
    if (!object_add(call->process, &reference->object)) {
        free(reference);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    if (!vector_push(&context->references, reference)) {
        object_remove(call->process, &reference->object);
        free(reference);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *result = reference;
    return CUDA_SUCCESS;
}

int texture_reference_bind(struct call *call, struct texture_reference *reference)
{
    uint64_t after = 0;
    /* A replay gives handles out anew, and would have to know which variables hold them. */
    capture_refuse(call->process, "the program uses texture or surface references");
    int error = engine_wait_context(call->process, call->context);
    uint64_t before = reference->handle; /* other threads have had the lock */
    if (error != CUDA_SUCCESS)
        return error;
    int made = reference->bound ? texture_object_create(call, &reference->resource,
                                                        reference->surface ? NULL : &reference->reading, NULL, &after)
                                : CUDA_SUCCESS;
    reference->handle = made == CUDA_SUCCESS ? after : 0;
    enum corun_status status =
        corun_memory_write(call->context->memory, reference->variable, &reference->handle, sizeof reference->handle);
    error = texture_object_destroy(call, before, reference->surface);
    if (made != CUDA_SUCCESS)
        return made;
    return status == CORUN_OK ? error : CUDA_ERROR_INVALID_VALUE;
}

void texture_references_free(struct process *process, struct context *context)
{
    for (size_t i = 0; i < context->references.count; i++) {
        object_remove(process, &context->references.data[i]->object);
        free(context->references.data[i]);
    }
    vector_free(&context->references);
}
