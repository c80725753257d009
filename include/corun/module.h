/* SPDX-License-Identifier: MIT */
/*
 * Modules: PTX text → module → kernels → launches.
 */
#ifndef CORUN_MODULE_H
#define CORUN_MODULE_H

#include "corun/memory.h"
#include "corun/source.h"

#ifdef __cplusplus
extern "C" {
#endif

struct corun_module; /* immutable: any number of GPUs and threads may share it */
struct corun_kernel; /* belongs to its module */

/* Parses, checks and decodes PTX. `name` is used in messages. Returns the first error's status; *module is NULL then. */
enum corun_status corun_module_load(const char *name, const char *text, size_t bytes, struct corun_diagnostics *list,
                                    struct corun_module **module);
/*
 * The same, then makes of it what an assembler would: `rewrites` is the sum of the rewrites of the machine-code model (src/assemble), as the
 * GPU parameter machine_code has them; 0 is corun_module_load. Results of kernels stay the same, bit for bit.
 */
enum corun_status corun_module_assemble(const char *name, const char *text, size_t bytes, uint32_t rewrites,
                                        struct corun_diagnostics *list, struct corun_module **module);
/* The same from a file. If FILE.ptxas lies next to FILE.ptx, it is taken as what `ptxas -v` printed for it. */
enum corun_status corun_module_load_file(const char *path, struct corun_diagnostics *list,
                                         struct corun_module **module);
enum corun_status corun_module_assemble_file(const char *path, uint32_t rewrites, struct corun_diagnostics *list,
                                             struct corun_module **module);
/*
 * Takes the registers per thread of those kernels that an assembler's log (`ptxas -v`) names; they win over .maxnreg and our
 * own allocation. To be called before the first launch of the module is made.
 */
void corun_module_take_registers(struct corun_module *module, const char *log, size_t bytes);
/* The same from the log of FILE.ptx, FILE.ptxas; nothing where there is none. corun_module_load_file has done it. */
void corun_module_take_log(struct corun_module *module, const char *path);
void corun_module_destroy(struct corun_module *module);

/*
 * The line of the CUDA source that the code on a line of the PTX is from, as `nvcc -lineinfo` tells it: "heat.cu:12", or
 * "steps.h:3, inlined at heat.cu:7"; "" if the PTX does not say. Paths without their folders. Gives `text`.
 */
#define CORUN_SOURCE_LINE_BYTES 160
const char *corun_module_source_line(const struct corun_module *module, uint32_t ptx_line,
                                     char text[CORUN_SOURCE_LINE_BYTES]);
/* The line of the PTX on which the first instruction of the kernel stands; 0 if it has none. */
uint32_t corun_kernel_line(const struct corun_kernel *kernel);
size_t corun_module_kernel_count(const struct corun_module *module);
const struct corun_kernel *corun_module_kernel_at(const struct corun_module *module, size_t index);
/* NULL if there is no entry of that name. */
const struct corun_kernel *corun_module_kernel(const struct corun_module *module, const char *name);

struct corun_parameter {
    const char *name;
    uint32_t offset_bytes; /* in the parameter block */
    uint32_t bytes;
    uint32_t align_bytes;
    bool is_pointer; /* best knowledge: a .u64/.b64 parameter */
    char type[8];    /* "u32", "f32", "b8[24]" is given as "b8" with bytes = 24 */
};

struct corun_kernel_info {
    const char *name;
    uint32_t registers_per_thread; /* 32-bit registers that a thread takes by itself */
    struct corun_launch_bounds
        bounds;                 /* what limits these on a GPU; nothing does beside an assembler's number or .maxnreg */
    const char *registers_from; /* "assembler", "maxnreg" or "allocation" */
    uint32_t shared_bytes;      /* static */
    uint32_t local_bytes;       /* per thread */
    uint32_t constant_bytes;
    uint32_t instructions;
    /* May a thread block be dropped and started again: "yes", "if its arguments do not overlap", or why not. */
    const char *idempotence;
    uint32_t max_threads_per_tb; /* .maxntid / .reqntid, 0 = not given */
    uint32_t cluster[3];         /* .reqnctapercluster; 0, 0, 0 = not given */
    uint32_t max_cluster_tbs;    /* .maxclusterrank, 0 = not given */
    bool explicit_cluster;       /* .explicitcluster: a launch must have clusters */
    bool
        blocks_are_clusters; /* .blocksareclusters: launches of CUDA give the grid in clusters, descriptions of launches in thread blocks */
    uint32_t parameter_bytes;
    uint32_t parameter_count;
    const struct corun_parameter *parameters;
};
void corun_kernel_describe(const struct corun_kernel *kernel, struct corun_kernel_info *info);

struct corun_dim3 {
    uint32_t x, y, z;
};

/* One launch of one kernel. The caller owns what is pointed to; corun_grid_create copies the parameters. */
struct corun_launch_description {
    const struct corun_kernel *kernel;
    struct corun_dim3 grid, block;
    uint32_t dynamic_shared_bytes;
    const void *parameters; /* parameter_bytes of the kernel */
    size_t parameter_bytes;
    /*
     * Not 0: a cooperative launch, whose thread blocks may wait for each other. Its kernel is told this device address of two words,
     * set to zero, at which they meet (%envreg1, %envreg2). The machine must be able to hold all of them at once.
     */
    uint64_t meeting_address;
    struct corun_dim3 cluster; /* its thread blocks; 0, 0, 0: as the kernel requires (.reqnctapercluster), or none */
    bool cluster_balanced;     /* as of struct corun_grid */
    /* Of a thread, beside its frames, for recursion and alloca: at least 16 KiB (0 is that), up to 512. Kernels without either need none. */
    uint64_t stack_bytes;
};

/*
 * A module instance: a module in the memory of one application, with its .global and .const variables allocated and initialised. It is
 * the warp source of that application. The module and the memory must outlive it.
 */
struct corun_module_instance;
enum corun_status corun_module_instance_create(struct corun_module *module, struct corun_memory *memory,
                                               struct corun_diagnostics *list, struct corun_module_instance **instance);
void corun_module_instance_destroy(struct corun_module_instance *instance);
/* Device address of a module variable, 0 if there is none of that name. */
uint64_t corun_module_instance_variable(const struct corun_module_instance *instance, const char *name,
                                        uint64_t *bytes);
/* Writes the initial values of the module's variables again (an application starts over). */
void corun_module_instance_reset(struct corun_module_instance *instance);

/*
 * When kernels did what a GPU lets pass though it is a mistake: true, and the first of each kind is in the list, as OK. These are accesses
 * beside allocations and to freed memory (corun_memory_map_pages), barriers that a part of a warp came to, and operations of a warp that
 * threads of their mask could not come to. Says each kind once. To be called while no machine runs.
 */
bool corun_module_instance_outside(struct corun_module_instance *instance, struct corun_diagnostics *list);

/* Checks that turn such mistakes into faults. C(name, text, meaning) */
#define CORUN_CHECKS(C) \
    C(MEMORY, "memory", "accesses beside allocations, to freed memory and beyond the shared memory of a thread block") \
    C(SYNC, "sync", \
      "barriers that a part of a warp comes to and others do not, masks of threads that cannot come, loops in which " \
      "threads wait for others of their warp on a GPU before Volta")
enum corun_check_bit {
#define CORUN_CHECK_BIT(name, text, meaning) CORUN_CHECK_BIT_##name,
    CORUN_CHECKS(CORUN_CHECK_BIT)
#undef CORUN_CHECK_BIT
};
enum corun_check {
#define CORUN_CHECK_MASK(name, text, meaning) CORUN_CHECK_##name = 1 << CORUN_CHECK_BIT_##name,
    CORUN_CHECKS(CORUN_CHECK_MASK)
#undef CORUN_CHECK_MASK
};
/* Names from the table above with commas between them; false if one is not there. *checks is a mask of enum corun_check. */
bool corun_checks_parse(const char *text, uint32_t *checks);
/* What is checked from now on; nothing at first. To be called while no machine runs. */
void corun_module_instance_check(struct corun_module_instance *instance, uint32_t checks);
/*
 * On whose tensor cores sums of matrix products are rounded from now on: a compute capability as 80 for 8.0. That of an H100 (90) at first; those
 * before have the rules of an A100. To be called while no machine runs.
 */
void corun_module_instance_architecture(struct corun_module_instance *instance, uint32_t compute_capability);

/* Checks the launch against its kernel (ARGUMENT, LIMIT) and makes a grid that a machine can run. */
enum corun_status corun_grid_create(struct corun_module_instance *instance,
                                    const struct corun_launch_description *description, struct corun_diagnostics *list,
                                    struct corun_grid **grid);
/* Before its instance. Atomics of the grid that no machine has performed until now never are. */
void corun_grid_destroy(struct corun_grid *grid);

/* What a functional run counted. */
struct corun_functional_result {
    uint64_t warp_instructions;
    uint64_t thread_instructions;
    uint64_t ptx_thread_instructions; /* as the PTX is written: the same, unless the module was assembled */
    /* Loaded from and stored to global memory by lanes, caches or not; atomics count twice (read and written). */
    uint64_t global_bytes;
    uint64_t longest_warp; /* warp instructions of the longest one */
};

/*
 * Runs a grid to its end without timing. `watchdog` bounds the warp instructions of one thread block (0: none).
 * Returns OK, FAULT, DEADLOCK or WATCHDOG; what the kernel printed with vprintf goes to `print` (may be NULL).
 */
enum corun_status corun_run_functional(struct corun_grid *grid, uint64_t watchdog, struct corun_diagnostics *list,
                                       void (*print)(void *user, const char *text, size_t bytes), void *user,
                                       struct corun_functional_result *result);

/*
 * The same in turns, for kernels that may wait for what their caller does meanwhile: begin, then continue until it has ended or failed, then
 * end. Grid, list and `user` stay in use until then. Several runs, also of one instance, may be under way; nothing of them runs at the same
 * time.
 */
struct corun_functional_run;
/* OK or MEMORY. */
enum corun_status corun_functional_begin(struct corun_grid *grid, uint64_t watchdog, struct corun_diagnostics *list,
                                         void (*print)(void *user, const char *text, size_t bytes), void *user,
                                         struct corun_functional_run **run);
/*
 * Goes on until every thread block has ended (*ended), or none has for `patience` warp instructions of the launch. Statuses as of
 * corun_run_functional; after another one than OK there is nothing to be continued.
 */
enum corun_status corun_functional_continue(struct corun_functional_run *run, uint64_t patience, bool *ended);
/* Also in the middle: thread blocks in flight are dropped. NULL is nothing. *result (may be NULL) is what was run until now. */
void corun_functional_end(struct corun_functional_run *run, struct corun_functional_result *result);

#ifdef __cplusplus
}
#endif
#endif
