/* SPDX-License-Identifier: MIT */
/*
 * Memory that graphs allocate: its address is fixed when the node is made and stays the same at every launch. It lies
 * there as long as a node names it or a launch has allocated it and nobody has freed it.
 */
#ifndef CORUN_CUDA_GRAPH_MEMORY_H
#define CORUN_CUDA_GRAPH_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct context;
struct graph;
struct process;

struct graph_memory {
    struct context *context; /* NULL: gone, and the memory with it */
    uint64_t address;
    size_t bytes;
    uint32_t references; /* nodes that name it */
    bool allocated;      /* by a launch; the program may use it */
};

/* Memory with one reference, for a node that is to allocate it. */
int graph_memory_create(struct process *process, struct context *context, size_t bytes, struct graph_memory **memory);
/* NULL if no graph allocates that address. */
struct graph_memory *graph_memory_find(const struct context *context, uint64_t address);
void graph_memory_release(struct process *process, struct graph_memory *memory);
/*
 * What a launch does: an error, and nothing, if it would allocate what is allocated already and must not free it
 * first.
 */
int graph_memory_launch(struct graph *graph);
/* The program frees what a launch has allocated. */
int graph_memory_free(struct process *process, struct graph_memory *memory);
/* When a context goes. */
void graph_memory_forget(struct context *context);

#endif
