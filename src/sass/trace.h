/* SPDX-License-Identifier: MIT */
/*
 * Traces of machine code in the public format of Accel-Sim's tracer (docs/traces.md): a folder with kernelslist.g and a file
 * for each kernel.
 *
 *   trace_text.c    the text of a kernel: header, thread blocks, instructions
 *   trace_list.c    the folder
 *   trace_file.c    its files, which may be compressed
 *   trace_write.c   kernels of other sources as traces
 *   trace_source.c  a kernel as a source of warp instructions (corun/source.h)
 */
#ifndef CORUN_SASS_TRACE_H
#define CORUN_SASS_TRACE_H

#include "base/vector.h"
#include "corun/source.h"

#include <stdio.h>

enum sass_form {
    SASS_NOTHING, /* no addresses */
    SASS_STRIDE,  /* of the first active lane, and from lane to lane */
    SASS_LIST     /* of each active lane */
};

struct sass_instruction {
    uint32_t code;  /* into the kernel's code */
    uint32_t mask;  /* active lanes */
    uint32_t first; /* into the kernel's addresses */
    uint32_t form;
};

struct sass_warp {
    size_t first;
    uint32_t count; /* instructions from there; 0: the trace has none */
};

/* Where the code of a kernel was first seen, for messages and to tell whether two lines name one instruction. */
struct sass_code {
    uint32_t pc, line;
    const char *words; /* of the text: registers, opcode */
    size_t bytes;
};

struct sass_kernel {
    char *path, *name;
    uint32_t grid[3], block[3];
    uint32_t shared_bytes, registers, binary_version, tracer_version;
    uint64_t shared_base, local_base;
    bool has_lines;
    VECTOR(struct corun_instruction) code; /* by address; the last one is an EXIT that no line names */
    VECTOR(struct sass_instruction) instructions;
    VECTOR(uint64_t) addresses;
    VECTOR(struct sass_warp) warps; /* by thread block, x fastest, then warp */
    uint32_t tb_count, tb_warps;
    uint64_t thread_instructions;
};

/* The text stays the caller's. SYNTAX (with the line), UNSUPPORTED, MEMORY. */
enum corun_status sass_kernel_read(const char *path, const char *text, size_t bytes, struct corun_diagnostics *list,
                                   struct sass_kernel **kernel);
void sass_kernel_destroy(struct sass_kernel *kernel);
/* The address of lane `lane`, which is active, as the trace has it. */
uint64_t sass_address(const struct sass_kernel *kernel, const struct sass_instruction *instruction, uint32_t lane);
/* Global, shared or local memory, or the space of the instruction if that is none of them. */
enum corun_space sass_space(const struct sass_kernel *kernel, const struct corun_instruction *code, uint64_t address);

/* Pages of 2 MiB of the traced GPU, in the order in which they were first touched: they become the pages of an application. */
#define SASS_PAGE_SHIFT 21u
struct sass_pages {
    uint64_t *keys; /* page + 1; 0: free */
    uint32_t *values;
    size_t count, capacity; /* a power of 2 */
};

struct sass_trace {
    char *path, *name; /* the folder, and its last part */
    VECTOR(struct sass_kernel *) kernels;
    VECTOR(uint32_t) launches; /* which kernel */
    struct sass_pages pages;
    char digest[65]; /* SHA-256 of all that was read */
};

/* NOT_FOUND, FILE, SYNTAX, UNSUPPORTED, LIMIT (memory of the traced program), MEMORY. */
enum corun_status sass_trace_load(const char *folder, struct corun_diagnostics *list, struct sass_trace **trace);
void sass_trace_destroy(struct sass_trace *trace);
/* As text_file_read, and unpacked where the name ends in .gz or .xz; `most` bytes when unpacked. SYNTAX: it cannot be. */
enum corun_status sass_file_read(const char *path, size_t most, struct corun_diagnostics *list, char **text,
                                 size_t *bytes);
/* The same of what lies in memory; the name ends in .gz, or it is .xz. */
enum corun_status sass_unpack(const char *path, const void *data, size_t data_bytes, size_t most,
                              struct corun_diagnostics *list, char **text, size_t *bytes);
/* The files that the text of a list names, in order; to be freed, each and all. */
struct sass_names {
    VECTOR(char *) items;
};
enum corun_status sass_list_read(const char *path, const char *text, size_t bytes, struct corun_diagnostics *list,
                                 struct sass_names *names);
void sass_names_free(struct sass_names *names);
bool sass_pages_add(struct sass_pages *pages, uint64_t page);
uint32_t sass_pages_find(const struct sass_pages *pages, uint64_t page);

/* A kernel as application `application` launches it. The trace must outlive it. NULL: out of memory. */
struct corun_grid *sass_grid_create(const struct sass_trace *trace, uint32_t kernel, uint32_t application);
void sass_grid_destroy(struct corun_grid *grid);
/* Its thread blocks to a checkpoint, or from it: then it has none yet. */
struct corun_archive;
void sass_grid_archive(struct corun_archive *archive, struct corun_grid *grid);

/*
 * Runs any source's grid without timing and writes it as the trace of kernel `number`. Predicates are left out, as in traces of GPUs. UNSUPPORTED,
 * with the line: divisions, barriers other than 0, local and generic accesses, more than 255 registers; FAULT, MEMORY. Ends early where the stream
 * has an error, which is the caller's to tell.
 */
enum corun_status sass_kernel_write(const struct corun_grid *grid, uint32_t number, FILE *stream,
                                    struct corun_diagnostics *list);

#endif
