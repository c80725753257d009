/* SPDX-License-Identifier: MIT */
/*
 * Texture and surface references, as programs had them before there were objects: a module's variable that holds the
 * handle of what is bound (ptx: .texref, .surfref). Every function is called with the lock held.
 */
#ifndef CORUN_CUDA_TEXTURE_REFERENCE_H
#define CORUN_CUDA_TEXTURE_REFERENCE_H

#include "cuda/object.h"
#include "cuda/texture_object.h"

struct module;

struct texture_reference {
    struct object object;
    struct module *module;
    uint64_t variable;
    bool surface;
    bool bound;      /* `resource` is there */
    uint64_t handle; /* of the object that is bound; 0: none */
    struct abi_resource resource;
    struct abi_texture reading;
    /* The driver API sets these one by one. */
    struct abi_channel channel;
    unsigned flags;
};

/* The reference of that name; NOT_FOUND if the module has no such variable. */
int texture_reference_get(struct call *call, struct module *module, const char *name, bool surface,
                          struct texture_reference **reference);
/* All of a context, which goes. */
void texture_references_free(struct process *process, struct context *context);
/* The variable gets a new object, made of `resource` and `reading`; none if nothing is bound. Waits for kernels. */
int texture_reference_bind(struct call *call, struct texture_reference *reference);

#endif
