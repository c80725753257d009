/* SPDX-License-Identifier: MIT */
/* Modules: PTX that is loaded into a context, its functions and variables. */
#ifndef CORUN_CUDA_MODULE_H
#define CORUN_CUDA_MODULE_H

#include "base/vector.h"
#include "corun/module.h"
#include "cuda/launch_cluster.h"
#include "cuda/object.h"
#include "cuda/pointer_map.h"
#include "rewrite/rewritten.h"

struct abi_function_attributes;
struct context;
struct fat_binary;
struct old_launch;
struct process;

/* Thread blocks of one shape that fit an SM. */
struct occupancy {
    uint32_t threads, tbs; /* threads 0: nobody has asked yet */
    size_t dynamic_shared_bytes;
};

struct function {
    struct object object;
    struct module *module;
    const struct corun_kernel *kernel;
    const struct rewritten_kernel
        *rewritten; /* its launches run in parts, and this says where those are told of; NULL: whole */
    /* As it was before that, for launches that leave workers no shared memory; NULL: it is not there. */
    const struct corun_kernel *whole;
    const char *refused; /* why it cannot be launched; NULL if it can */
    const char *name;
    bool placed;      /* the record says where it begins */
    const void *host; /* the stub by which the program's host code knows it; NULL: it has none */
    uint32_t dynamic_shared_limit;
    int carveout;
    struct function_cluster cluster;
    struct occupancy occupancy;    /* of the shape that was asked for last: most launches are as the one before */
    struct old_launch *old_launch; /* driver_launch.c; NULL: none */
};

struct module {
    struct object object;
    struct context *context;
    struct corun_module *code;
    struct corun_module_instance *loaded; /* the code with its variables in the context's memory */
    struct rewritten rewritten;           /* what was rewritten before it became `code`; zeroed: nothing */
    struct pointer_map functions;         /* struct corun_kernel → struct function */
    VECTOR(struct function *) refused;
    bool launches; /* its kernels may launch kernels: nested.h */
    char *name;
    char *text; /* the PTX, for profiles; NULL: nobody wants one */
    bool unloaded;
};

/*
 * `from_compiler`: a function with something that is not understood is left out; else it is left out if that is known
 * and not supported.
 */
int module_load_text(struct process *process, struct context *context, const char *name, const char *text, size_t bytes,
                     bool from_compiler, struct corun_diagnostics *list, struct module **module);
/* The text of a fat binary that is best for the device. */
int module_load_binary(struct process *process, struct context *context, const char *name,
                       const struct fat_binary *binary, struct corun_diagnostics *list, struct module **module);
/* A fat binary, a container or PTX text in memory, as cuModuleLoadData takes them. */
int module_load_data(struct process *process, struct context *context, const void *data, struct corun_diagnostics *list,
                     struct module **module);
/* Its handle and those of its functions die; its code stays as long as the machine may know it. */
void module_unload(struct process *process, struct module *module);
void module_free(struct process *process, struct module *module);
int module_function(struct process *process, struct module *module, const char *name, struct function **function);
/* So many of the first kernels of its code are the program's; behind them are those that were kept beside their workers. */
size_t module_kernel_count(const struct module *module);
/* What its PTX was made for: 75. */
uint32_t function_architecture(const struct function *function);
/* What the program gives it: the parameters that it was written with. */
uint32_t function_parameter_count(const struct function *function);
/* What a launch with so much dynamic shared memory runs: the kernel, or, where the workers of it have no room for their own, what it was. Of a function with a kernel. */
const struct corun_kernel *function_kernel(const struct function *function, size_t dynamic_shared_bytes);
/* Of a function with a kernel. */
void function_describe(struct function *function, struct abi_function_attributes *attributes);

#endif
