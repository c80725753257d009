/* SPDX-License-Identifier: MIT */
/*
 * Workloads: what an application launches, from a launch description (docs/launch-descriptions.md).
 *
 *     corun_workload_load → corun_instance_create → corun_instance_fill → corun_gpu_add …      (timed)
 *                                                 → corun_instance_run → corun_instance_verify (functional)
 *
 * A workload is a checked description with one of its sizes chosen and its PTX loaded; it is immutable and may be shared
 * by any number of instances. An instance is one application: device memory, module instance, buffers with their initial data, grids.
 */
#ifndef CORUN_WORKLOAD_H
#define CORUN_WORKLOAD_H

#include <string.h>

#include "corun/gpu.h"
#include "corun/module.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Changed whenever generators or references may give other data: part of the content of a workload. */
#define CORUN_WORKLOAD_VERSION 1u

/*
 * Where kernels/ and gpu/ are: $CORUN_DATA if set, else next to the shared library or else to the running executable: data/ (build
 * tree), ../data/ (its tests and library), ../share/corun/ (installed). Writes a NUL-terminated path. NOT_FOUND, LIMIT (`bytes` too small).
 */
enum corun_status corun_data_directory(char *path, size_t bytes, struct corun_diagnostics *list);

/* What limits a workload, as its description says. K(name, word, meaning) */
#define CORUN_CHARACTERS(K) \
    K(COMPUTE, "compute", "limited by its SMs: arithmetic, shared memory, load/store unit") \
    K(MEMORY, "memory", "limited by the memory system") \
    K(PROBLEM_SIZE, "problem-size", "too few thread blocks to fill the GPU")

enum corun_character {
#define CORUN_CHARACTER_ENUM(name, word, meaning) CORUN_CHARACTER_##name,
    CORUN_CHARACTERS(CORUN_CHARACTER_ENUM)
#undef CORUN_CHARACTER_ENUM
        CORUN_CHARACTER_COUNT
};
const char *corun_character_word(enum corun_character character);

/* The papers that descriptions refer to. P(word, title) */
#define CORUN_PAPERS(P) \
    P("spatial", "The Case for GPGPU Spatial Multitasking, HPCA 2012") \
    P("kernelet", "Kernelet, TPDS 2014") \
    P("smk", "Simultaneous Multikernel (The Architecture Designs and Scheduling Algorithms for Heterogeneous " \
             "Datacenters, ch. 2)") \
    P("qos", "Quality of Service Support for Fine-Grained Sharing on GPUs, ISCA 2017") \
    P("smqos", "QoS-aware dynamic resource allocation on GPU, Parallel Computing 2022") \
    P("cap", "CAP (The Architecture Designs and Scheduling Algorithms for Heterogeneous Datacenters, ch. 4)") \
    P("polybench", "PolyBench/GPU")
/* NULL if there is no such paper. */
const char *corun_paper_title(const char *word);

/* What a paper says of the program that a workload is. */
struct corun_paper_figure {
    const char *name, *text; /* "registers", "94.5%" */
    double value;            /* a percentage: divided by 100 */
};
struct corun_paper_claim {
    const char *paper, *name;       /* word of the paper; what it calls the program or its kernel */
    enum corun_character character; /* CORUN_CHARACTER_COUNT: it does not say */
    size_t figure_count;
    const struct corun_paper_figure *figures;
    const char *note; /* why ours differs; "" if there is nothing to say */
};

/* Strings and arrays belong to the list or workload they were got from. */
struct corun_workload_info {
    const char *name, *summary;
    enum corun_character character;
    uint32_t architecture;    /* the lowest that its PTX is for, 80: sm_80; 0: any */
    const char *path;         /* of the description */
    const char *const *sizes; /* names, in the order of the description */
    size_t size_count;
    const char *const *parameters; /* of the first size: what can be given other values */
    size_t parameter_count;
    const char *size;   /* the chosen one, as SIZE[,parameter=value,...]; NULL in a listing */
    bool has_reference; /* its results can be verified */
    const struct corun_paper_claim *papers;
    size_t paper_count;
    uint64_t buffer_bytes; /* of one instance, with the chosen size; 0 in a listing */
};

/* The workloads of a data directory (kernels/NAME/NAME.yaml), sorted by name. Broken ones are reported and left out. */
struct corun_workload_list;
enum corun_status corun_workload_list_create(const char *data_directory, struct corun_diagnostics *list,
                                             struct corun_workload_list **workloads);
void corun_workload_list_destroy(struct corun_workload_list *workloads);
size_t corun_workload_list_count(const struct corun_workload_list *workloads);
const struct corun_workload_info *corun_workload_list_get(const struct corun_workload_list *workloads, size_t index);

/*
 * `specification` is NAME, NAME@SIZE, or a path to a launch description (it has a slash or ends in .yaml or .yml), also with
 * @SIZE, or trace:FOLDER (docs/traces.md), or a path to a captured program (ends in .corun; docs/captures.md), which has no sizes, buffers or parameters. Without a size: medium, or the only one, or the first. SIZE,parameter=value,... gives parameters of the size other
 * values: whole numbers, also with K, M or G for powers of 1024. `data_directory` may be NULL for paths.
 * NOT_FOUND, SYNTAX, FILE, MEMORY, ARGUMENT (a launch does not fit its kernel; no such parameter or number), and what
 * corun_module_load_file returns.
 */
struct corun_workload;
enum corun_status corun_workload_load(const char *specification, const char *data_directory,
                                      struct corun_diagnostics *list, struct corun_workload **workload);
/* The same, its modules assembled as corun_module_assemble does. */
enum corun_status corun_workload_assemble(const char *specification, const char *data_directory, uint32_t rewrites,
                                          struct corun_diagnostics *list, struct corun_workload **workload);
uint32_t corun_workload_rewrites(const struct corun_workload *workload);
void corun_workload_destroy(struct corun_workload *workload);
void corun_workload_describe(const struct corun_workload *workload, struct corun_workload_info *info);

/* The PTX that a kernel of the workload is from. */
struct corun_workload_ptx {
    const char *name; /* of its file, without folders, or of a module of a captured program: "heat(1).ptx" */
    const char *text; /* not ended by a zero */
    size_t bytes;
    const struct corun_module *module;
    const struct corun_kernel *kernel;
};
/* Found by the kernel's code (struct corun_grid). False: it is from none, as the code of a trace. */
bool corun_workload_ptx_of(const struct corun_workload *workload, const struct corun_instruction *code,
                           struct corun_workload_ptx *ptx);

/*
 * Whether a GPU of this configuration has the architecture that the description asks for. UNSUPPORTED, with both architectures in the
 * message.
 */
enum corun_status corun_workload_check_gpu(const struct corun_workload *workload, const struct corun_gpu_config *gpu,
                                           struct corun_diagnostics *list);

/* The integers of the description, those of the size first; false beyond the last one. */
bool corun_workload_parameter_at(const struct corun_workload *workload, size_t index, const char **name,
                                 int64_t *value);

/*
 * The bytes that decide what an instance computes: generators, seed, parameters, buffers and launches as evaluated, and the PTX
 * text; for content keys of cached results. *content is the caller's to free. MEMORY.
 */
enum corun_status corun_workload_content(const struct corun_workload *workload, uint64_t seed, void **content,
                                         size_t *bytes);

/* The launches as the description lists them (a repeated one is one entry here). */
struct corun_workload_launch {
    const struct corun_kernel *kernel; /* corun_kernel_describe tells registers and shared memory */
    struct corun_dim3 grid, block;     /* of its first repetition */
    uint32_t dynamic_shared_bytes;
    uint32_t launches; /* in one run */
};
size_t corun_workload_launch_count(const struct corun_workload *workload);
void corun_workload_launch_at(const struct corun_workload *workload, size_t index,
                              struct corun_workload_launch *launch);

/* What one run does, by the formulas of the description: compare with corun_functional_result. */
struct corun_workload_work {
    bool stated;
    uint64_t outputs; /* elements computed */
    uint64_t thread_instructions;
    uint64_t global_bytes;
    double instruction_tolerance, byte_tolerance; /* relative */
};
void corun_workload_stated_work(const struct corun_workload *workload, struct corun_workload_work *work);

/* One application. The workload must outlive it. The data depends on workload, size and seed, not on `application`. */
struct corun_instance;
enum corun_status corun_instance_create(const struct corun_workload *workload, uint32_t application, uint64_t seed,
                                        struct corun_diagnostics *list, struct corun_instance **instance);
void corun_instance_destroy(struct corun_instance *instance);

/*
 * Records (docs/replay.md): what the warps of one run of a workload did, from which instances take their launches in place of executing them.
 * A key says what a record is of, in so many characters.
 */
#define CORUN_RECORD_KEY_BYTES 64u
struct corun_record;
/*
 * Runs the workload once without timing, and writes its record. UNSUPPORTED: what its warps do depends on when and where they run, and the message
 * says where; FILE, and what corun_instance_create and corun_instance_run return. Nothing is left of the file then.
 */
enum corun_status corun_record_write(const struct corun_workload *workload, uint64_t seed, const char *path,
                                     const char *key, struct corun_diagnostics *list);
/* NOT_FOUND, without a message; FILE, SYNTAX (damaged, of another version or key), MEMORY. */
enum corun_status corun_record_open(const char *path, const char *key, struct corun_diagnostics *list,
                                    struct corun_record **record);
void corun_record_close(struct corun_record *record);
struct corun_record_size {
    uint64_t file_bytes, stream_bytes; /* compressed, and as they are read */
    uint64_t warp_instructions;        /* of one run */
};
void corun_record_measure(const struct corun_record *record, struct corun_record_size *size);
/*
 * An instance for a machine. With a record (NULL: none), which must outlive it and can be of several at once, its launches are those of the record:
 * its buffers hold no data, and nothing but corun_instance_grid, _restart and _fill may be asked of it. ARGUMENT: the record is of other launches.
 */
enum corun_status corun_instance_create_from(const struct corun_workload *workload, uint32_t application, uint64_t seed,
                                             struct corun_record *record, struct corun_diagnostics *list,
                                             struct corun_instance **instance);

/* The callbacks of struct corun_application_description; `instance` is a struct corun_instance. */
const struct corun_grid *corun_instance_grid(void *instance, uint32_t index);
enum corun_status corun_instance_proceed(void *instance, struct corun_gpu *gpu, uint32_t application,
                                         struct corun_proceeding *proceeding); /* of a captured program */
enum corun_status
corun_instance_restart(void *instance); /* buffers and module variables back to their initial values */
/* Sets name (the workload's), grid or, of a captured program, proceed, restart and user of a description; leaves the rest. */
void corun_instance_fill(struct corun_instance *instance, struct corun_application_description *description);

/* Grids in one run, and one of them without what happens between launches. */
uint32_t corun_instance_grid_count(const struct corun_instance *instance);
const struct corun_grid *corun_instance_grid_at(const struct corun_instance *instance, uint32_t index);

/*
 * One run without timing, from the initial data. `watchdog` bounds the warp instructions of one thread block (0: none);
 * `print` gets text of vprintf and may be NULL. Counts are summed over the grids.
 */
enum corun_status corun_instance_run(struct corun_instance *instance, uint64_t watchdog, struct corun_diagnostics *list,
                                     void (*print)(void *user, const char *text, size_t bytes), void *user,
                                     struct corun_functional_result *result);

/*
 * Compares every output buffer with the CPU reference; call it when exactly one run is complete since the creation or the last
 * restart. MISMATCH with buffer, index, value and expected value in a diagnostic; NOT_FOUND if there is no reference. Of a captured
 * program: what the program has read, in bytes and by hash.
 */
struct corun_verification {
    uint64_t elements; /* compared */
    uint64_t mismatches;
    double
        worst_error; /* largest |got - expected| / (absolute + relative * |expected|); 1 is the limit, 0 for integers */
};
enum corun_status corun_instance_verify(struct corun_instance *instance, struct corun_diagnostics *list,
                                        struct corun_verification *verification);

/*
 * Writes what is needed to run the workload somewhere else into a directory, which is made if need be: NAME.ptx, BUFFER.initial
 * (unless zero) and BUFFER.expected (of outputs, if there is a reference) as they lie in device memory, and, as the last one,
 * launch.json (docs/hardware.md has its schema). The instance starts over. A directory with anything in it is refused unless
 * `overwrite` is set. FILE, MEMORY.
 */
enum corun_status corun_instance_export(struct corun_instance *instance, const char *directory, bool overwrite,
                                        struct corun_diagnostics *list);

/*
 * Runs the workload without timing and writes what it did as a trace of machine code (docs/traces.md): kernelslist.g and kernel-N.traceg
 * for launch N. The directory is made if need be; files are replaced if `overwrite` is set. UNSUPPORTED: something that a trace
 * cannot say, with its line; FILE, FAULT, MEMORY.
 */
enum corun_status corun_instance_export_trace(struct corun_instance *instance, const char *directory, bool overwrite,
                                              struct corun_diagnostics *list);

/* Element types of buffers and arguments. T(name, word, C type, is a float) */
#define CORUN_ELEMENTS(T) \
    T(U8, "u8", uint8_t, 0) \
    T(S8, "s8", int8_t, 0) \
    T(U16, "u16", uint16_t, 0) \
    T(S16, "s16", int16_t, 0) \
    T(U32, "u32", uint32_t, 0) \
    T(S32, "s32", int32_t, 0) \
    T(U64, "u64", uint64_t, 0) \
    T(S64, "s64", int64_t, 0) \
    T(F32, "f32", float, 1) \
    T(F64, "f64", double, 1)

enum corun_element {
#define CORUN_ELEMENT_ENUM(name, word, type, is_float) CORUN_ELEMENT_##name,
    CORUN_ELEMENTS(CORUN_ELEMENT_ENUM)
#undef CORUN_ELEMENT_ENUM
        CORUN_ELEMENT_COUNT
};

struct corun_buffer_info {
    const char *name;
    enum corun_element element;
    uint64_t count; /* elements */
    uint64_t bytes;
    uint64_t address; /* on the device, now: buffers that change places after a step are followed by name */
    bool is_output;
};
size_t corun_instance_buffer_count(const struct corun_instance *instance);
void corun_instance_buffer_at(const struct corun_instance *instance, size_t index, struct corun_buffer_info *info);
struct corun_memory *corun_instance_memory(struct corun_instance *instance);

/*
 * For kernels/NAME/reference.c: the problem on the host, as generators fill it and the reference computes it. One
 * `const struct corun_reference corun_reference_NAME` per folder (- becomes _); the build finds it by the folder.
 */
struct corun_problem_buffer {
    const char *name;
    enum corun_element element;
    uint64_t count;
    void *data;
};
struct corun_problem_parameter {
    const char *name;
    int64_t value;
};
struct corun_problem {
    uint64_t seed;
    const struct corun_problem_buffer *buffers;
    size_t buffer_count;
    const struct corun_problem_parameter *parameters;
    size_t parameter_count;
};
struct corun_generator {
    const char *name; /* `initial: {generator: NAME}` of one or several buffers; called once for all of them */
    bool (*generate)(const struct corun_problem *problem); /* false if the parameters are impossible */
};
struct corun_reference {
    const char *name; /* `reference: NAME` of a description */
    /* Turns the initial data into what one run must leave in the output buffers; false when out of memory. May be NULL. */
    bool (*compute)(const struct corun_problem *problem);
    const struct corun_generator *generators; /* ends with name == NULL; may be NULL */
};

/* The data of a buffer if it has that name and element type and at least `count` elements, else NULL. */
static inline void *corun_problem_data(const struct corun_problem *problem, const char *name,
                                       enum corun_element element, uint64_t count)
{
    for (size_t i = 0; i < problem->buffer_count; i++) {
        const struct corun_problem_buffer *buffer = &problem->buffers[i];
        if (strcmp(buffer->name, name) == 0)
            return buffer->element == element && buffer->count >= count ? buffer->data : NULL;
    }
    return NULL;
}

/* 0 if there is no parameter of that name. */
static inline int64_t corun_problem_value(const struct corun_problem *problem, const char *name)
{
    for (size_t i = 0; i < problem->parameter_count; i++) {
        if (strcmp(problem->parameters[i].name, name) == 0)
            return problem->parameters[i].value;
    }
    return 0;
}

/* A sequence of pseudo-random numbers (SplitMix64): the same everywhere, for ever. */
static inline uint64_t corun_random(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Uniform in [0, 1), a multiple of 2^-24, exact in float. */
static inline float corun_random_unit(uint64_t *state)
{
    return (float)(corun_random(state) >> 40) * 0x1p-24f;
}

#ifdef __cplusplus
}
#endif
#endif
