/* SPDX-License-Identifier: MIT */
/*
 * The Markov chain over the idle warps of one virtual SM, for one kernel or two (Zhong and He, Kernelet, TPDS 2014, section 4.3).
 *
 * A step is a round: every ready warp issues one instruction. Time counts in issue slots. From a state with r ready warps, a round takes
 * D = r slots (1 if none is ready); with x requests under way a latency is L(x) slots. Then, each warp by itself,
 *
 *     ready ── R_m (1 − U) ──► waits, coalesced      ── D / L_c(x) ──► ready
 *     ready ── R_m U ────────► waits, uncoalesced    ── D / L_u(x) ──► ready
 *
 * so that a row of the transition matrix is a convolution of binomials (equation 1, summed over what gives the same state), and with two
 * kernels the outer product of two rows. The paper prints (W − I) / L for the probability to become ready, which would never leave the
 * state in which all wait; D / L, with the duration of 1 that the paper gives that state, is the same everywhere else.
 */
#ifndef CORUN_MODEL_CHAIN_H
#define CORUN_MODEL_CHAIN_H

#include "model/prediction.h"

#define CHAIN_KERNELS 2u
#define CHAIN_MAX_WARPS 64u /* of a kernel on a virtual SM: an SM has no more */

struct chain_kernel {
    uint32_t warps;                  /* on the virtual SM; 0: it is not there */
    double wait;                     /* R_m */
    double uncoalesced;              /* U */
    double requests[MODEL_ACCESSES]; /* of one access of each kind */
};

struct chain {
    struct chain_kernel kernels[CHAIN_KERNELS];
    struct model_line latency[MODEL_ACCESSES]; /* slots, over the requests of the virtual SM */
    enum model_states states;
    double tolerance; /* of the residual ‖π P − π‖ over ‖π‖; 1e-14 to 0.1 */
};

struct chain_steady {
    double ipc[CHAIN_KERNELS]; /* instructions per slot (equations 3 to 5): 0 to 1 */
    double stalled;            /* share of the slots in which no warp was ready */
    double idle_warps;         /* mean over the rounds */
    uint32_t states, iterations;
};

/* Whether every number is in its range, and there is a warp. */
bool chain_in_range(const struct chain *chain);

/*
 * The steady state. ARGUMENT: a kernel has more than CHAIN_MAX_WARPS warps, none has any, or a number is out of its range; MEMORY.
 * LIMIT: no steady state was found (two classes of states that hardly ever meet).
 */
enum corun_status chain_solve(const struct chain *chain, struct chain_steady *steady);

/*
 * The transition matrix whole, for those who want to look at it: *matrix has *states² probabilities, row by row, and is the caller's to
 * free. The states of two kernels: those of the second run fastest; of one kernel: by warps that wait, by those that wait coalesced and
 * then uncoalesced where MODEL_EXACT keeps them apart. *durations (may be NULL): of the rounds, in slots. Statuses as chain_solve.
 */
enum corun_status chain_matrix(const struct chain *chain, double **matrix, double **durations, uint32_t *states);

#endif
