/* SPDX-License-Identifier: MIT */
/*
 * The source of warp instructions: what a machine needs to know about the code it runs, and nothing more.
 *
 * A machine (the simulated GPU) knows neither PTX nor CUDA. It sees grids, thread blocks and warps as opaque handles, a
 * static description of every instruction, and at issue time the dynamic facts of one warp instruction: which lanes ran,
 * which addresses they touched, where the warp goes next. Behind that contract stands the functional executor
 * (corun_module_instance) or a recorded stream.
 *
 * Threads and visibility. A machine may run its SMs on several threads. It gives each SM an index; calls with different
 * SM indices may run at the same time, calls with the same index never do. Global stores of an SM are visible to that SM at once
 * and to the others only after `commit`, which the machine calls for one SM after the other in SM order while no SM
 * runs. Global atomics are performed by `perform`, likewise called while no SM runs, in the order in which they reach
 * the memory. So results do not depend on the number of threads.
 */
#ifndef CORUN_SOURCE_H
#define CORUN_SOURCE_H

#include "corun/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CORUN_WARP_LANES 32u
#define CORUN_FULL_MASK 0xffffffffu
#define CORUN_BARRIERS 16u /* that code can name, of a thread block */
#define CORUN_WARPGROUP_WARPS 4u
#define CORUN_MEETINGS 24u /* the barriers, then one for each warpgroup, which takes no time */
#define CORUN_MAX_APPLICATIONS 16u
#define CORUN_LARGEST_CLUSTER 16u   /* thread blocks of a cluster; 8 on every GPU that has clusters */
#define CORUN_APPLICATION_SHIFT 40u /* device address >> this = application + 1 */

/* Pipelines. U(name, label, meaning) */
#define CORUN_UNITS(U) \
    U(INT, "int", "integer, logic, moves, comparisons, integer conversions") \
    U(FP32, "fp32", "single precision") \
    U(FP64, "fp64", "double precision") \
    U(SFU, "sfu", \
      "special functions: rcp, sqrt, rsqrt, sin, cos, ex2, lg2, and conversions between float and integer") \
    U(TENSOR, "tensor", "matrix multiply-accumulate") \
    U(MEMORY, "memory", "loads, stores and atomics of every space, fences") \
    U(CONTROL, "control", "branches, calls, returns, exits, barriers, votes and shuffles' control part")

/* clang-format off */
enum corun_unit {
#define CORUN_UNIT_ENUM(name, label, meaning) CORUN_UNIT_##name,
    CORUN_UNITS(CORUN_UNIT_ENUM)
#undef CORUN_UNIT_ENUM
    CORUN_UNIT_COUNT
};
/* clang-format on */

/* Latency classes within INT, FP32 and FP64 (configuration gives latency and initiation interval of each). */
enum corun_operation {
    CORUN_OPERATION_ADD, /* also logic, shifts, moves, selects, comparisons */
    CORUN_OPERATION_MAX, /* min, max */
    CORUN_OPERATION_MUL,
    CORUN_OPERATION_MAD,  /* mad, fma, dp4a, sad */
    CORUN_OPERATION_DIV,  /* div, rem */
    CORUN_OPERATION_SQRT, /* of floats the precise sqrt and rcp; of INT as DIV */
    CORUN_OPERATION_COUNT
};

/* What a matrix multiply-accumulate multiplies, by how fast tensor pipelines are. T(NAME, name, meaning) */
#define CORUN_TENSOR_TYPES(T) \
    T(F16, f16, "f16 and bf16") \
    T(TF32, tf32, "tf32") \
    T(F64, f64, "f64") \
    T(F8, f8, "e4m3 and e5m2") \
    T(S8, s8, "s8 and u8") \
    T(S4, s4, "s4 and u4") \
    T(B1, b1, "single bits")

/* clang-format off */
enum corun_tensor_type {
#define CORUN_TENSOR_ENUM(name, label, meaning) CORUN_TENSOR_##name,
    CORUN_TENSOR_TYPES(CORUN_TENSOR_ENUM)
#undef CORUN_TENSOR_ENUM
    CORUN_TENSOR_TYPE_COUNT
};
/* clang-format on */

enum corun_space {
    CORUN_SPACE_NONE,
    CORUN_SPACE_GLOBAL,
    CORUN_SPACE_SHARED,
    CORUN_SPACE_LOCAL,
    CORUN_SPACE_CONSTANT, /* .const variables and kernel parameters (both live in constant banks) */
    CORUN_SPACE_TEXTURE,  /* texture fetches and ld.global.nc on GPUs that route it there */
    CORUN_SPACE_GENERIC, /* static only: at issue it resolves to global, shared or local, one warp may touch all three */
    CORUN_SPACE_CLUSTER, /* at issue only: shared memory of another thread block of the cluster (lane_sm is valid) */
    CORUN_SPACE_COUNT
};

enum corun_instruction_flag {
    CORUN_LOAD = 1 << 0,
    CORUN_STORE = 1 << 1,
    CORUN_ATOMIC = 1 << 2,    /* performed at the L2 (global) or in the SM (shared) */
    CORUN_REDUCTION = 1 << 3, /* an atomic without result */
    CORUN_BRANCH = 1 << 4,    /* may change control flow: branch, call, return, exit */
    CORUN_BARRIER = 1 << 5,
    CORUN_FENCE = 1 << 6, /* waits until the warp's stores and atomics have been performed */
    CORUN_EXIT = 1 << 7,
    CORUN_BYPASS_L1 = 1 << 8, /* .cg, .cv, .volatile */
    CORUN_UNIFORM_LOAD = 1 << 9,
    CORUN_PARAMETER = 1 << 10, /* a load of a kernel's parameters, which come with the launch */
    CORUN_WARPGROUP =
        1 << 11, /* TENSOR: a warp's part of the product of a warpgroup; nothing waits for its destination to be free */
    CORUN_COMMIT =
        1 << 12, /* the second destination can be read when the first can, the third when the second could, and so on */
    CORUN_COPY = 1 << 13,        /* starts copies that go on by themselves; with CORUN_STORE in a group of the warp */
    CORUN_COPY_GROUP = 1 << 14,  /* ends a group */
    CORUN_COPY_WAIT = 1 << 15,   /* waits until at most the last `access_bytes` groups are under way */
    CORUN_COPY_SOURCE = 1 << 16, /* with that: until their sources have been read */
    CORUN_CONVERSION = 1 << 18,  /* SFU: between float and integer of at most 32 bits */
    CORUN_COMPARISON = 1 << 19,  /* FP32: a comparison, minimum or maximum */
    CORUN_GATHERED = 1 << 20, /* an atomic: lanes at one address, all with one value, are one operation of their warp */
    CORUN_GATHERED_VALUES = 1 << 21, /* the same where each lane has a value of its own */
    CORUN_COMPARED =
        1
        << 22, /* an atomic: in shared memory a loop of a load, the operation and a compare-and-swap; further: a turn's */
    CORUN_PIECES = 1 << 23, /* INT: `pieces` says which pipelines run it */
    CORUN_EITHER = 1 << 17, /* INT: a sum of two, a copy or a shift by a constant, which a multiply-add does as well */
};

#define CORUN_MAX_SOURCES 16
#define CORUN_MAX_DESTINATIONS 8

/*
 * What a machine knows of one instruction before it runs. Registers are 32-bit slots of the warp's register file, as
 * allocated: a 64-bit value names both of its slots. Predicates follow the registers: predicate p is slot
 * register_slots + p. `sources` includes the guard predicate and address registers.
 */
struct corun_instruction {
    uint8_t unit;         /* enum corun_unit */
    uint8_t operation;    /* enum corun_operation; of TENSOR: enum corun_tensor_type */
    uint8_t space;        /* enum corun_space */
    uint8_t access_bytes; /* per lane, memory operations only */
    uint32_t flags;       /* enum corun_instruction_flag */
    uint8_t source_count;
    uint8_t destination_count;
    uint16_t sources[CORUN_MAX_SOURCES];
    uint16_t destinations[CORUN_MAX_DESTINATIONS];
    int16_t merged; /* further instructions of the PTX that this one stands for; 0, unless the module was assembled */
    /* Machine instructions that it stands for beside itself: all, and those of them that come before and after it in a chain. */
    uint8_t further, chain;
    struct {
        uint8_t logic, products, either, special;
    } pieces; /* PIECES: instructions for the pipelines of logic, of products, either of these, and of special functions */
    uint16_t multiply_adds; /* TENSOR: of the whole warp, divided by 32; of sparse matrices those that are computed */
    uint16_t shared_bytes;  /* WARPGROUP: read from shared memory, the warp's share */
    uint32_t line;          /* PTX line, for profiles and messages */
};

/*
 * What a kernel promises of its launches (.maxntid or .reqntid, .minnctapersm): threads of a thread block, and thread blocks on an SM; 0: nothing.
 * It limits registers_per_thread on a GPU: src/base/launch_bounds.h.
 */
struct corun_launch_bounds {
    uint32_t threads, tbs;
};

/* A launch as a machine sees it. Made by a source (corun_grid_create), immutable while it runs. */
struct corun_grid {
    const struct corun_source_operations *operations;
    const char *name; /* of the kernel */
    const struct corun_instruction *code;
    uint32_t code_length;
    uint32_t register_slots; /* scoreboard entries are register_slots + predicate_slots */
    uint32_t predicate_slots;
    uint32_t tb_count; /* thread blocks; x runs fastest, within a cluster and then over the clusters */
    /*
     * 0 or 1: no clusters. Otherwise the thread blocks from each multiple of this on, as many as this, are a cluster: see cluster_begin.
     */
    uint32_t cluster_tbs;
    bool cluster_balanced; /* its thread blocks go where there is least; otherwise they are spread over SMs */
    uint32_t tb_threads;
    uint32_t tb_warps;
    uint32_t tb_shared_bytes;      /* static and dynamic */
    uint32_t registers_per_thread; /* as many as it takes by itself */
    struct corun_launch_bounds bounds;
    uint32_t barrier_count; /* barrier resources used, 1..16 */
    bool idempotent;        /* a thread block may be abandoned and started again: conservative, false if not known */
    bool launches;          /* its threads may launch grids: see `launched` */
    const char *file;       /* of the PTX, for messages */
    uint64_t code_address;  /* device address of instruction 0 for the instruction cache: unique per module */
};

/* What a source may say of the addresses of all active lanes, where they are in one space. UNIT: each lane's is `access_bytes` above that of the lane before. */
enum corun_shape { CORUN_SHAPE_UNIFORM = 1 << 0, CORUN_SHAPE_UNIT = 1 << 1 };

/* What one warp instruction did. Filled by `issue`. */
struct corun_issue {
    uint32_t active; /* lanes that ran it (guard included), may be 0 */
    uint32_t pc;     /* next instruction of the warp; undefined after exit */
    uint8_t outcome; /* enum corun_outcome */
    uint8_t space; /* resolved space of a memory operation; GENERIC if the lanes disagree (then lane_space is valid) */
    bool jumped;   /* the next pc is not the one that follows */
    bool diverged; /* a branch, call or return whose active lanes went different ways */
    uint8_t barrier;          /* BARRIER: which one (0..CORUN_MEETINGS-1) */
    uint8_t shape;            /* enum corun_shape, as bits; the machine sets 0 before: the source does not say */
    uint32_t barrier_threads; /* BARRIER: threads that must arrive; 0 = all threads of the TB */
    bool barrier_waits;       /* false for bar.arrive */
    bool cluster_arrives,
        cluster_waits; /* CLUSTER: the warp arrives at the barrier of the cluster, waits there, or both */
    uint32_t ticket;   /* global atomics: to be given to `perform` and `complete` */
    uint32_t copy;     /* COPY: to be given to `copy_next` and `copy_done` */
    uint64_t address[CORUN_WARP_LANES];   /* byte address per active lane (memory operations only) */
    uint8_t lane_space[CORUN_WARP_LANES]; /* only if space == GENERIC */
    uint16_t lane_sm[CORUN_WARP_LANES];   /* of lanes in CORUN_SPACE_CLUSTER: the SM that has that shared memory */
};

/* A part of a copy under way: bytes of one line of global memory, or bytes for the shared memory of another thread block. */
struct corun_copy_part {
    uint64_t address; /* GLOBAL */
    uint32_t bytes;   /* CLUSTER: 0 for what only tells a barrier */
    uint8_t kind;     /* GLOBAL: CORUN_LOAD, CORUN_STORE or CORUN_ATOMIC */
    uint8_t
        space; /* CORUN_SPACE_GLOBAL, or CORUN_SPACE_CLUSTER: it has a ticket, and parts for one SM are performed in order */
    uint16_t sm;     /* CLUSTER: that has that shared memory */
    uint32_t ticket; /* ATOMIC, CLUSTER: to be given to `perform` and `complete` */
    uint32_t lanes;  /* ATOMIC, CLUSTER: to be given to `perform` */
};

enum corun_outcome {
    CORUN_OUTCOME_NEXT,    /* continue at pc */
    CORUN_OUTCOME_BARRIER, /* wait until the barrier is met, then continue at pc */
    CORUN_OUTCOME_CLUSTER, /* the warp comes to the barrier of its cluster (cluster_arrives, cluster_waits) */
    CORUN_OUTCOME_EXIT,    /* every lane of the warp has ended */
    CORUN_OUTCOME_FAULT    /* the application must stop; `fault` has the message */
};

/* Thread blocks that run without timing: see run_untimed. */
struct corun_untimed {
    uint32_t first, count; /* thread blocks */
    uint32_t touch_from;   /* thread blocks from this one on tell what they touch */
    uint32_t places;       /* these are on the machine at once: so many take turns; 0: one after the other */
    uint64_t watchdog;     /* warp instructions of a thread block, 0: none */
    /* Bytes of global memory that are loaded, or stored. NULL: nobody asks. */
    void (*touch)(void *user, uint64_t address, uint32_t bytes, bool store);
    void *touch_user;
    void (*print)(void *user, const char *text, size_t bytes); /* may be NULL */
    void *print_user;
};

struct corun_untimed_result {
    uint64_t warp_instructions, thread_instructions, ptx_thread_instructions;
    uint64_t longest_warp; /* warp instructions of the longest one */
};

struct corun_warp; /* owned by the source */
struct corun_tb;   /* a thread block, owned by the source */

/*
 * The operations of a source. `sm` is the SM on whose behalf a call is made (see Threads above), below the count given to `attach`.
 */
struct corun_source_operations {
    /* Called once before a machine of `sm_count` SMs with that clock runs a grid. OK or MEMORY. */
    enum corun_status (*attach)(const struct corun_grid *grid, uint32_t sm_count, uint32_t clock_khz);
    /*
     * Creates thread block `index` (0..tb_count-1) with its registers, shared and local memory, and stores its
     * tb_warps warp handles. NULL when out of memory. A TB may later run on another SM: `tb_move`.
     */
    struct corun_tb *(*tb_begin)(const struct corun_grid *grid, uint32_t index, uint32_t sm, struct corun_warp **warps);
    void (*tb_end)(struct corun_tb *tb); /* its storage is recycled; atomics of it must be completed */
    void (*tb_move)(struct corun_tb *tb, uint32_t sm);
    /* What %warpid, %smid, %clock and their like return from now on. `cycle` is read at each issue. */
    void (*warp_place)(struct corun_warp *warp, uint32_t warp_slot, uint32_t sm_count, const uint64_t *cycle);
    uint32_t (*warp_pc)(const struct corun_warp *warp);
    /*
     * A digest of what decides what the warp does next, memory apart: its place, its active threads, its registers. A warp that comes
     * back to the same digest runs in a circle until memory changes. NULL: the source does not say.
     */
    uint64_t (*warp_state)(const struct corun_warp *warp);
    /*
     * Runs the next instruction of a warp. Loads and stores take effect as described above. The destination of a
     * global atomic is written by `complete`, not now.
     */
    void (*issue)(struct corun_warp *warp, struct corun_issue *result);
    /* Performs the lanes `lanes` of a global atomic on memory, now. Called while no SM runs. */
    void (*perform)(const struct corun_grid *grid, uint32_t sm, uint32_t ticket, uint32_t lanes);
    /* All lanes were performed and the reply has arrived: writes the destination register and frees the ticket. */
    void (*complete)(const struct corun_grid *grid, uint32_t sm, uint32_t ticket);
    /*
     * A copy that `issue` has started. `copy_next` gives its next part, within a line of `line_bytes` bytes; false: there is none, and what
     * the copy reads in the SM has been read. `copy_done`, after that: all parts have been answered; what the copy writes in the SM is
     * written, and who waits for it is told. False: the copy has further parts now, for other thread blocks, which `copy_next` gives. Called
     * on behalf of the SM where its thread block is. NULL: the source has no copies.
     */
    bool (*copy_next)(const struct corun_grid *grid, uint32_t sm, uint32_t copy, uint32_t line_bytes,
                      struct corun_copy_part *part);
    bool (*copy_done)(const struct corun_grid *grid, uint32_t sm, uint32_t copy);
    /*
     * The thread blocks of a cluster exist from here on, that of rank r for SM sms[r]; tb_begin of each follows. They exist, and others may use
     * their shared memory, until cluster_end, also behind tb_end. Called while no SM runs. OK or MEMORY. Loads, stores and atomics in shared memory
     * of another thread block have a ticket as global atomics do: `perform` makes the access, `complete` writes the registers. NULL: the source has
     * no grids with clusters.
     */
    enum corun_status (*cluster_begin)(const struct corun_grid *grid, uint32_t cluster, const uint32_t *sms);
    void (*cluster_end)(const struct corun_grid *grid, uint32_t cluster);
    /* Makes the global stores of one SM since the last commit visible to all. */
    void (*commit)(const struct corun_grid *grid, uint32_t sm);
    /* Barrier `barrier` of a thread block is met: called before its warps resume. NULL: nobody needs to know. */
    void (*barrier_met)(struct corun_tb *tb, uint32_t barrier);
    /* true if `sm` has stores that were not committed (so that idle SMs cost nothing). */
    bool (*dirty)(const struct corun_grid *grid, uint32_t sm);
    /* After FAULT: one line that names kernel, thread block, thread, PTX line and address; valid until the tb ends. */
    const char *(*fault)(const struct corun_warp *warp, struct corun_place *place);
    /* All warps of a thread block that have not ended wait at barriers: one line that says which wait where. NULL: the machine says it. */
    const char *(*deadlock)(struct corun_tb *tb, struct corun_place *place);
    /* Text that the kernel printed on this SM since the last call (vprintf); *bytes = 0 if none. Called while no SM runs. */
    const char *(*printed)(const struct corun_grid *grid, uint32_t sm, size_t *bytes);
    /*
     * Of a grid that launches: have threads of its kind launched grids that nobody has taken from the source yet? Called while no SM runs; whoever
     * drives the machine is asked then. NULL where no grid launches.
     */
    bool (*launched)(const struct corun_grid *grid);
    /*
     * Runs thread blocks to their end, now, without timing; their stores and atomics act at once. Called while no SM runs and no atomic of
     * the grid is under way. OK, FAULT, DEADLOCK, WATCHDOG, MEMORY; the list gets the message. NULL: the source cannot.
     */
    enum corun_status (*run_untimed)(const struct corun_grid *grid, const struct corun_untimed *how,
                                     struct corun_diagnostics *list, struct corun_untimed_result *result);
    /*
     * Names of thread blocks and warps of a grid in a checkpoint (corun/checkpoint.h), none of which is 0; and what they name: NULL if there is no
     * such one. All NULL: the source's grids cannot be in a checkpoint.
     */
    uint64_t (*tb_number)(const struct corun_tb *tb);
    uint64_t (*warp_number)(const struct corun_warp *warp);
    struct corun_tb *(*tb_of)(const struct corun_grid *grid, uint64_t number);
    struct corun_warp *(*warp_of)(const struct corun_grid *grid, uint64_t number);
};

#ifdef __cplusplus
}
#endif
#endif
