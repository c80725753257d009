/* SPDX-License-Identifier: MIT */
/* Conditional nodes of graphs, as the structure of nodes of any kind describes them. */
#ifndef CORUN_CUDA_RUNTIME_GRAPH_CONDITION_H
#define CORUN_CUDA_RUNTIME_GRAPH_CONDITION_H

#include <stddef.h>
#include <stdint.h>

/* cudaConditionalNodeParams */
struct abi_condition_node {
    uint64_t handle;
    unsigned kind, bodies;
    void **graphs; /* result: the bodies, good for as long as the node */
    void *context;
};

int runtime_graph_add_condition(void **result, void *handle, void *const *nodes, size_t count,
                                struct abi_condition_node *node);

#endif
