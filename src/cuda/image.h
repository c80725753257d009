/* SPDX-License-Identifier: MIT */
/*
 * Images: the device code that a compiler has put into a program and that registers itself at start
 * (runtime_register.c). An image becomes a module of a context when something in it is used there first.
 */
#ifndef CORUN_CUDA_IMAGE_H
#define CORUN_CUDA_IMAGE_H

#include "cuda/fat_binary.h"

struct context;
struct function;
struct corun_diagnostics;
struct module;
struct process;

/* What a program registered in one go (__cudaRegisterFatBinary). */
struct image {
    const struct fat_binary_wrapper *wrapper;
    void *handle; /* its address is what the program is given */
    bool unregistered;
    char *architectures; /* for messages */
};

struct image_function {
    struct image *image;
    const char *name;
    const void *host;
};

struct image_variable {
    struct image *image;
    const char *name;
    const void *host; /* its shadow; of a managed variable the pointer that has to be set */
    size_t bytes;
    bool managed, constant;
    bool told_absent; /* nothing of its module has its name, and that was said */
};

/* A texture or surface reference (texture_reference.h). */
struct image_reference {
    struct image *image;
    const char *name;
    const char *ptx_name; /* where `name` is not that of PTX; NULL: none was given */
    const void *host;
    bool surface, normalized_values;
};

/* What a program was given when it registered; NULL if it is none. */
struct image *image_of_handle(const struct process *process, void **handle);
/* What compilers make of device code, as a module; a message calls it by the program and its number if the program registered it. */
int image_load(struct process *process, struct context *context, const struct fat_binary_wrapper *wrapper,
               struct corun_diagnostics *list, struct module **module);
/* The driver loads it when it is first asked for (driver_calls.h): the lock is let go. */
int module_of_image(struct process *process, struct context *context, const struct image *image,
                    struct module **module);
/* Before a context is destroyed: its managed variables that other contexts have as well become one of theirs. */
void image_hand_over_managed(struct process *process, struct context *context);
/* The name of the function that was registered with a host stub; NULL if there is none. */
const char *function_name_of_host(const struct process *process, const void *host);
/* Of a host stub, in a context: loads the module where that has not been done. */
int function_of_host(struct process *process, struct context *context, const void *host, struct function **function);
int variable_of_host(struct process *process, struct context *context, const void *host, uint64_t *address,
                     uint64_t *bytes);

#endif
