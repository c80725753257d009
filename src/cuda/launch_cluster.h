/* SPDX-License-Identifier: MIT */
/* Clusters of thread blocks: what a launch asks for, what its kernel requires, and what its device can do. */
#ifndef CORUN_CUDA_LAUNCH_CLUSTER_H
#define CORUN_CUDA_LAUNCH_CLUSTER_H

#include "corun/module.h"
#include "cuda/abi.h"

struct function;

#define CLUSTER_PORTABLE_TBS 8u /* more only where the function says that it is not portable */

/* enum cudaClusterSchedulingPolicy */
enum { CLUSTER_POLICY_DEFAULT, CLUSTER_POLICY_SPREAD, CLUSTER_POLICY_BALANCED };

/* Of a function; what the kernel's PTX says comes first. */
struct function_cluster {
    struct corun_dim3 required; /* set by the program; 0, 0, 0: not */
    bool must_be_set, not_portable;
    int policy;
};

/* What attributes of a launch say: 0, 0, 0 without clusters. */
struct launch_cluster {
    struct corun_dim3 shape;
    int policy;
};

/* Changes what the attribute says; true if it was one of clusters. */
bool launch_cluster_take(struct launch_cluster *cluster, const struct abi_launch_attribute *attribute);
/* The grid in thread blocks of a launch that CUDA gives; and back. They differ for kernels with .blocksareclusters. */
struct corun_dim3 launch_cluster_grid(const struct function *function, struct corun_dim3 grid);
struct corun_dim3 launch_cluster_grid_shown(const struct function *function, struct corun_dim3 grid);
/*
 * Completes what a launch asks for by what its function requires; 0, 0, 0: no clusters. CUDA_ERROR_INVALID_CLUSTER_SIZE, NOT_SUPPORTED (with a message).
 */
int launch_cluster_settle(struct function *function, struct corun_dim3 grid, struct launch_cluster *cluster);
/* Clusters of the function that its device can hold at once. `grid` and others as of a launch. */
int launch_cluster_most(struct function *function, uint32_t threads, size_t dynamic_shared_bytes, uint32_t cluster_tbs,
                        uint32_t *clusters);

/* enum cudaFuncAttribute from CLUSTER_DIM_MUST_BE_SET on. False: none of them. */
enum { FUNCTION_CLUSTER_FIRST = 10, FUNCTION_CLUSTER_LAST = 15 };
int function_cluster_set(struct function *function, int attribute, int value);
void function_cluster_describe(const struct function *function, struct abi_function_attributes *attributes);

#endif
