/* SPDX-License-Identifier: MIT */
/*
 * A launch description as it was written: checked for its form, names resolved, expressions still text. What the keys mean is
 * in docs/launch-descriptions.md; plan.h gives it values.
 */
#ifndef CORUN_WORKLOAD_DESCRIPTION_H
#define CORUN_WORKLOAD_DESCRIPTION_H

#include "base/arena.h"
#include "base/vector.h"
#include "base/yaml_reader.h"
#include "workload/expression.h"

#define DESCRIPTION_MAX_BYTES (1u << 20)
#define DESCRIPTION_MAX_BUFFERS 64u
#define DESCRIPTION_MAX_ARGUMENTS 64u

struct named_value {
    const char *name;
    struct corun_place place;
    struct value value;
};

struct named_values {
    VECTOR(struct named_value) items;
};

struct size_description {
    const char *name;
    struct corun_place place;
    struct named_values parameters;
};

enum initial_kind { INITIAL_ZERO, INITIAL_KEEP, INITIAL_IOTA, INITIAL_CONSTANT, INITIAL_UNIFORM, INITIAL_GENERATOR };

struct buffer_description {
    const char *name;
    struct corun_place place;
    enum corun_element element;
    struct value count;
    enum initial_kind kind;     /* KEEP: what the module's variable has */
    struct value first, second; /* CONSTANT: its value; UNIFORM: lowest and highest */
    struct value generator;
    struct value symbol; /* a variable of the module instead of an allocation */
    bool is_output;
    double relative, absolute; /* tolerance */
};

struct argument_description {
    struct corun_place place;
    bool is_buffer;
    uint32_t buffer;            /* index, as buffers are named when the launch is reached */
    enum corun_element element; /* of a scalar */
    struct value value;         /* scalar; buffer: offset in elements */
};

struct swap_description {
    uint32_t left, right;
};

enum launch_kind { LAUNCH_KERNEL, LAUNCH_COPY, LAUNCH_GROUP };

struct launch_description {
    enum launch_kind kind;
    struct corun_place place;
    struct value repeat;
    VECTOR(struct swap_description) swaps; /* after each repetition */
    /* KERNEL */
    struct value kernel, grid[3], block[3], shared;
    VECTOR(struct argument_description) arguments;
    uint32_t index; /* counts kernels in the order of the description */
    /* COPY, in elements */
    uint32_t from, to;
    struct value count, from_offset, to_offset;
    /* GROUP */
    VECTOR(struct launch_description) launches;
};

/* Of one whole run; outputs.text == NULL: not stated. */
struct work_description {
    struct value outputs, instructions, bytes;
    double instruction_tolerance, byte_tolerance; /* relative */
};

struct description {
    struct arena *arena;
    const char *path;
    const char *name, *summary;
    enum corun_character character;
    uint32_t architecture;                      /* 80: sm_80; 0: any */
    struct value ptx;                           /* as written, relative to the description */
    struct value reference;                     /* text == NULL: none */
    VECTOR(struct size_description) sizes;      /* at least one */
    const char **size_names, **parameter_names; /* parameters of the first size */
    struct named_values parameters;
    VECTOR(struct buffer_description) buffers;
    VECTOR(struct launch_description) launches;
    struct work_description work;
    VECTOR(struct corun_paper_claim) papers;
    uint32_t kernel_launches; /* launch_descriptions of kind KERNEL */
};

/* `path` is for messages and copied. SYNTAX, MEMORY. */
enum corun_status description_parse(const char *path, const char *text, size_t bytes, struct corun_diagnostics *list,
                                    struct description **description);
/* Everything but the chosen size. */
void description_describe(const struct description *description, struct corun_workload_info *info);
void description_destroy(struct description *description);

#endif
