/* SPDX-License-Identifier: MIT */
/*
 * The functional executor: grids, thread blocks and warps as they run. Files of this layer share these structures:
 * executor.c issues, access.c loads and stores, atomics.c, barrier.c, branch.c, warpgroup.c, call.c, special.c and print.c do what their names say.
 */
#ifndef CORUN_ISA_EXECUTOR_H
#define CORUN_ISA_EXECUTOR_H

#include "isa/atomics.h"
#include "isa/bulk.h"
#include "isa/device_launch.h"
#include "isa/kernel.h"
#include "isa/matrix.h"
#include "isa/memory.h"
#include "isa/native.h"
#include "isa/pending.h"
#include "isa/simt_stack.h"
#include "isa/store_buffer.h"
#include "isa/turns.h"

#define MEMORY_CACHES 64u /* per SM, by low bits of the pc: most instructions stay within one allocation */
#define FAULT_BYTES 768u
#define NATIVE_AFTER 400u /* module_instance.native_after */
#define MAX_TB_WARPS 32u
#define SPARE_STORAGES 64u /* as many thread blocks as an SM has at most */

enum shape {
    SHAPE_UNIFORM = CORUN_SHAPE_UNIFORM, /* all lanes the same address */
    SHAPE_UNIT = CORUN_SHAPE_UNIT        /* one after the other */
};

/* Bytes of which a lane moves `each`, a power of two. */
struct span {
    uint64_t first, bytes, each;
};

/* What is asked of the addresses of a warp: shape.c. `stride_shift`: log2 of the bytes per lane. Those of lanes that are not in `mask` mean nothing. */
struct shapes {
    /* Computes them and says what shape they have: bits of enum shape. */
    uint32_t (*find)(const void *base, bool narrow, uint64_t offset, uint64_t *address, uint32_t mask,
                     uint32_t stride_shift);
    /* Of a whole warp: rows of 16 or 8 lanes, in each of which they lie one behind the other; 0: they are not such rows. */
    uint32_t (*rows)(const uint64_t *address, uint32_t stride_shift);
    /* Whether all are in the span, with what a lane moves, and aligned. */
    bool (*reach)(const uint64_t *address, uint32_t mask, const struct span *span);
};
/* The best ones for this processor; all give the same. */
const struct shapes *shapes_find(void);

/* What a GPU lets pass though it is a mistake. */
enum note_kind { NOTE_OUTSIDE, NOTE_FREED, NOTE_BARRIER, NOTE_MEETING, NOTE_TURNS, NOTES };

/* The first of a kind on an SM; text "": none yet. */
struct note {
    struct corun_place place;
    char text[FAULT_BYTES];
};

/* Of a thread block that has ended. */
struct spare_storage {
    uint8_t *storage;
    const struct corun_kernel *kernel;
    uint32_t warps;
    size_t bytes;
};

/*
 * Storage that thread blocks of an SM leave to those of other launches, the last one last. A program that makes thousands of launches would
 * otherwise keep that of all.
 */
struct spare_storages {
    struct spare_storage spare[SPARE_STORAGES];
    uint32_t count;
};

/* What an SM needs to run warps of a instance. */
struct executor_sm {
    struct corun_module_instance *instance;
    struct corun_memory *memory;
    uint32_t index;
    bool direct;           /* functional run: stores and atomics act at once */
    uint64_t global_bytes; /* functional run: moved by lanes so far */
    void (*touch)(void *user, uint64_t address, uint32_t bytes, bool store); /* functional run; NULL: nobody asks */
    void *touch_user;
    const struct shapes *shapes;
    uint64_t generation; /* of the memory, when the caches were cleared */
    struct memory_cache caches[MEMORY_CACHES];
    struct store_buffer stores;
    struct atomic_pool atomics;
    struct pending pending;
    struct bulk_pool bulk;
    struct spare_storages spares;
    char *printed;
    size_t printed_bytes, printed_capacity;
    bool printed_taken; /* the text was fetched: the next one starts anew */
    struct note notes[NOTES];
    struct freed_list freed_blocks; /* of the device heap, by warps of this SM since the last commit; heap.c */
    struct device_launches launches;
};

struct cluster;

/* A thread block that a launch without timing leaves to the next one of its kernel: fresh memory costs more than short launches do. */
struct spare_tb {
    struct corun_tb *tb; /* NULL: none */
    uint32_t warps;
    size_t register_bytes, local_bytes, shared_bytes; /* of the launch that made it */
};

struct corun_module_instance {
    struct corun_module *module;
    struct corun_memory *memory;
    uint64_t *variable_address; /* by index of the module variable; 0 if it has none */
    uint8_t **constants;        /* relocated constant pools, by kernel */
    uint64_t code_address;      /* of the first kernel */
    uint32_t *code_offset;      /* by kernel, in instructions */
    uint64_t parameter_address; /* of parameter blocks, as the constant cache sees them */
    uint64_t launches;          /* made so far: %gridid */
    struct executor_sm **sms;
    uint32_t sm_count;
    struct executor_sm *functional;
    struct spare_tb *spares; /* [kernel]; NULL as long as there is none */
    struct native **natives; /* [kernel]: machine code; NULL as long as nothing was run without timing */
    uint32_t native_after;   /* runs of a block by a warp, after which it gets machine code */
    bool no_native;          /* this host has none */
    uint32_t checks;         /* enum corun_check */
    enum matrix_unit matrix_unit;
    uint32_t compute_capability; /* of the GPU; 0: there is none */
    bool told[NOTES];
    struct freed_list freed_blocks; /* of the device heap, as all SMs see them */
    uint64_t launch_pool;           /* device_launch.h; 0: its kernels launch nothing */
    struct device_launch_limits launch_limits;
};

#define WARPGROUPS (MAX_TB_WARPS / CORUN_WARPGROUP_WARPS)

struct launch_sm {
    struct corun_tb *free; /* thread blocks to be used again */
    struct corun_tb *all;  /* every thread block made here */
    uint32_t made;         /* thread blocks of this SM so far */
};

struct launch {
    struct corun_grid grid; /* first: a launch is its grid */
    struct corun_module_instance *instance;
    const struct corun_kernel *kernel;
    struct corun_dim3 dim, block, cluster; /* cluster: 1, 1, 1 without clusters */
    bool explicit_cluster;
    struct cluster *clusters; /* that have begun and not ended */
    uint64_t id;
    uint32_t depth; /* among grids that launch each other */
    uint8_t *parameters;
    uint32_t parameter_bytes;
    uint32_t dynamic_shared_bytes;
    uint64_t meeting_address;                /* 0: not cooperative */
    uint32_t clock_khz;                      /* of the machine; 0: there is none, and a cycle is a nanosecond */
    uint32_t (*thread)[3][CORUN_WARP_LANES]; /* [warp] → %tid.x, y, z of its lanes */
    uint32_t call_depth;                     /* the kernel's, and what more of stack is room for */
    uint32_t local_bytes;                    /* per thread: the kernel's, and what the launch wants more of stack */
    size_t warp_register_bytes, warp_local_bytes;
    struct launch_sm *sms;
    uint32_t sm_count;
    struct launch_sm functional;
    struct native_code *code; /* of a run without timing; NULL: none */
};

struct corun_warp {
    _Alignas(64) struct lanes lanes; /* what every instruction needs is in one line of the host's cache */
    struct simt_stack stack;
    const struct operation *code;
    struct corun_tb *tb;
    uint8_t *local;           /* interleaved: word w of lane l is at (w * 32 + l) * 4 */
    uint32_t frame;           /* first byte of local memory of the running function */
    uint32_t function;        /* which one it is, in kernel->functions */
    uint32_t local_used;      /* highest end of a frame so far */
    uint32_t barrier_line;    /* of the barrier that it came to last */
    uint32_t barrier_threads; /* how many threads that wants, 0: all */
    uint8_t barrier_number;
    uint32_t cluster_arrived; /* lanes at the barrier of the cluster, as long as the warp has not arrived */
    uint32_t cluster_late;    /* lanes that have not come though the warp has arrived */
    uint32_t cluster_passing; /* of those, that have come since: they do not wait */
    uint32_t index;           /* in its thread block */
    uint32_t slot;            /* %warpid */
    uint32_t sm_count;        /* %nsmid */
    const uint64_t *cycle;    /* NULL: no clock */
    uint8_t *saved;           /* registers of recursive functions */
    uint8_t reductions, reduction_barrier; /* how many bar.red its parts wait in, all at one barrier */
    uint32_t reduction_pc[CORUN_WARP_LANES], reduction_lanes[CORUN_WARP_LANES]; /* by part */
    uint32_t saved_bytes, saved_capacity;
    struct turns turns;
};

/* What the threads that have come to a bar.red say. */
struct barrier_reduction {
    uint32_t threads, in_favour;
};

/* Warps of a warpgroup that have come to wgmma.mma_async, and to which operation. */
struct warpgroup_meeting {
    uint32_t warps, pc;
};

struct corun_tb {
    struct launch *launch;
    struct executor_sm *sm;
    struct corun_tb *next_free, *next_made;
    uint32_t index;
    struct corun_dim3 position;
    struct cluster *cluster; /* NULL: none */
    uint32_t rank;           /* in it */
    uint32_t home, ordinal;  /* names its place in the local memory range: SM where it was made, number there */
    uint8_t *shared;
    uint8_t *storage; /* registers, predicates, shared and local memory, stacks; NULL: it has ended */
    size_t storage_bytes;
    uint64_t barriers_met;
    struct barrier_reduction reductions[CORUN_BARRIERS];
    uint8_t parts
        [CORUN_BARRIERS]; /* threads that have come to a barrier.arrive with parts of warps, less than a warp has */
    struct warpgroup_meeting meetings[WARPGROUPS];
    uint32_t fault_line;
    char fault[FAULT_BYTES];
    struct corun_warp warps[];
};

/* Ends the warp's thread block with a message: kernel, thread block, thread of `lane`, then the text. Gives FAULT's outcome. */
void fault_raise(struct corun_warp *warp, uint32_t lane, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* The same for an access: tells where that address is, or the size of the space. */
void fault_access(struct corun_warp *warp, uint32_t lane, enum corun_space space, const char *what, uint64_t address,
                  uint32_t bytes);

/* Keeps the first note of a kind on the warp's SM: kernel and what follows, at the warp's instruction. */
void fault_note(const struct corun_warp *warp, enum note_kind kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Says in `text`, which it gives back, where an address in no allocation is. */
#define PLACE_BYTES 320u
const char *fault_place(const struct corun_memory *memory, uint64_t address, uint32_t bytes, char *text);

/*
 * Loads, stores and atomics by the lanes `mask` (not 0). With `timed` the addresses and the space go into *result. False: a
 * fault was raised.
 */
bool access_load(struct corun_warp *warp, const struct operation *op, uint32_t mask, struct corun_issue *result,
                 bool timed);
bool access_store(struct corun_warp *warp, const struct operation *op, uint32_t mask, struct corun_issue *result,
                  bool timed);
bool access_atomic(struct corun_warp *warp, const struct operation *op, uint32_t mask, struct corun_issue *result,
                   bool timed);
/*
 * The same without timing, of what has op->quick. False: it is not that plain, and nothing has been moved; access_load or access_store has to do it.
 */
bool access_load_quick(struct corun_warp *warp, const struct operation *op, uint32_t mask);
bool access_store_quick(struct corun_warp *warp, const struct operation *op, uint32_t mask);
/* Of any atomic. */
bool access_atomic_quick(struct corun_warp *warp, const struct operation *op, uint32_t mask);
/*
 * An access or the read of a special register without timing, by the lanes `mask` (not 0); the pc is that of the operation, and stays there. False: a
 * fault was raised.
 */
bool executor_carry_out(struct corun_warp *warp, const struct operation *op, uint32_t mask);
/* Tells who asks (sm->touch) what these lanes, at least one, move from or to global memory: `bytes` each. */
void access_touch(const struct executor_sm *sm, const uint64_t *address, uint32_t mask, uint32_t shape, uint32_t bytes,
                  bool store);
/* Bytes at a generic address as one lane sees them; false if out of bounds. For vprintf. */
bool access_read(struct corun_warp *warp, uint32_t lane, uint64_t address, void *destination, uint32_t bytes);

/* A branch that the lanes `taken` take, and one by a table by the lanes `mask`. The pc is set. False: a fault was raised. */
void branch_run(struct corun_warp *warp, const struct operation *op, uint32_t taken, struct corun_issue *result);
bool branch_table_run(struct corun_warp *warp, const struct operation *op, uint32_t mask, struct corun_issue *result);
/* A call by the lanes `mask` (not 0) and a return. The pc is set. False: a fault was raised. */
bool call_enter(struct corun_warp *warp, const struct operation *op, uint32_t mask);
void call_return(struct corun_warp *warp, uint32_t mask);
/* Drops entries of the stack without lanes, and with them the frames of their calls. False if none is left. */
bool call_unwind(struct corun_warp *warp);
/* Lanes that wait in the entry `index` for others go on: those calls above that they have returned from are over for them. */
void call_leave(struct corun_warp *warp, uint32_t index, uint32_t lanes);
/* Another path is the top: which function runs there, and in which frame. */
void call_settle(struct corun_warp *warp);

/* One lane's argument or result. `to` and `from` have value->bytes bytes; reading from a frame may write up to a multiple of 4. */
void call_value_read(const struct corun_warp *warp, const struct call_value *value, uint32_t frame, uint32_t lane,
                     uint8_t *to);
void call_value_write(const struct corun_warp *warp, const struct call_value *value, uint32_t frame, uint32_t lane,
                      const uint8_t *from);

void special_register_read(struct corun_warp *warp, const struct operation *op, uint32_t mask);

/* Shared memory as the hardware gives it to a thread block that asks for `bytes`. */
#define SHARED_UNIT_BYTES 256u
static inline size_t shared_whole(size_t bytes)
{
    return (bytes + SHARED_UNIT_BYTES - 1) / SHARED_UNIT_BYTES * SHARED_UNIT_BYTES;
}

/*
 * Where an access of a lane leads that is in no allocation (or beyond the thread block's shared memory), if memory is mapped by pages;
 * NULL: it is a fault. Stores and atomics (`store`) lead to the end of the last line or unit at the farthest, what they
 * write there stays.
 */
uint8_t *outside_find(struct corun_warp *warp, bool shared, uint64_t address, uint32_t bytes, bool store);

/* module_instance.c: what the variables of an instance take of the application's memory. */
uint64_t module_variable_bytes(const struct corun_module *module);

/* heap.c: the lanes `mask` call free of the device heap, whose arguments are in `frame`. False: a fault was raised. */
bool free_check(struct corun_warp *warp, uint32_t mask, const struct kernel_function *function, uint32_t frame);
/* What free itself finds out: raises the fault. */
void free_wrong(struct corun_warp *warp, const struct operation *op, uint32_t lane);

/* With the check of memory, kernels come to the device heap through heap_find: NULL where a block was freed. */
void heap_guard(struct corun_module_instance *instance);
uint8_t *heap_find(struct corun_warp *warp, uint64_t address, uint32_t bytes);
/* The block of the heap that holds an address and was freed, and not given again; NULL: there is none. */
const struct freed *heap_freed(struct corun_warp *warp, uint64_t address);
/* What warps of an SM have freed is seen by all. */
void heap_commit(struct executor_sm *sm);

/* vprintf by the lanes `mask`. False: a fault was raised. */
bool print_run(struct corun_warp *warp, const struct operation *op, uint32_t mask);
/* __assertfail: raises the fault. */
void print_assert(struct corun_warp *warp, const struct operation *op, uint32_t mask);

struct executor_sm *executor_sm_create(struct corun_module_instance *instance, uint32_t index, bool direct);
void executor_sm_destroy(struct executor_sm *sm);
/* What the SM remembers of the memory may be older than what it runs next. */
void executor_sm_settle(struct executor_sm *sm);

/* Parts of a thread block begin at lines of the host's cache. */
static inline size_t tb_aligned(size_t bytes)
{
    return (bytes + 63) & ~(size_t)63;
}

/*
 * tb_storage.c: a thread block without storage gets some, all zero or, *used, of one that has ended. False: out of memory. One that has
 * ended leaves its own to others.
 */
bool tb_storage_take(struct corun_tb *tb, struct executor_sm *sm, bool *used);
void tb_storage_give(struct corun_tb *tb);
/* What the thread block before may have left in it: what a thread block reads, and what a checkpoint of it holds, is its own. */
void tb_storage_clear(const struct corun_tb *tb);
/* The same without what no thread block reads before it has written it, which a checkpoint would hold. */
void tb_storage_clear_read(const struct corun_tb *tb);
void tb_storage_free(struct spare_storages *spares);

/* A thread block on an SM (launch_sm is its free list), and its end. */
struct corun_tb *executor_tb_begin(struct launch *launch, struct executor_sm *sm, struct launch_sm *list,
                                   uint32_t index);
void executor_tb_end(struct corun_tb *tb, struct launch_sm *list);

/*
 * warpgroup.c: a warp comes to wgmma.mma_async; the last of its warpgroup computes the product of all. False: a fault was raised.
 */
bool warpgroup_arrive(struct corun_warp *warp, const struct operation *op, uint32_t mask, struct corun_issue *result);
/* A warp has ended: nobody may wait for it. False: a fault was raised. */
bool warpgroup_left(struct corun_warp *warp);

/* barrier.c: the lanes `mask` (not 0) come to a barrier. False: a fault was raised. */
bool barrier_arrive(struct corun_warp *warp, const struct operation *op, uint32_t mask, struct corun_issue *result);
/* A barrier is met: what bar.red computed goes to the warps that wait in it. */
void barrier_met(struct corun_tb *tb, uint32_t barrier);
/* Is an operation the end of the kernel itself? Lanes that wait for others there have ended as far as a GPU is concerned. */
bool barrier_ends_kernel(const struct corun_warp *warp, uint32_t pc);
/*
 * The lanes `mask` of the top are at a barrier. Another path that has only to run to the kernel's end becomes the top: its lanes end before. So does, where
 * a GPU counts threads, any other that can run; the lanes of the top wait for it (struct simt_entry). False: the top comes to the barrier.
 */
bool barrier_gives_way(struct corun_warp *warp, const struct operation *op, uint32_t mask);
/* The top waits at a barrier, and no path can run: lanes that wait behind a branch run a step. False: they have come, or the barrier is for whole warps. */
bool barrier_lets_go(struct corun_warp *warp);
/* All warps that have not ended wait at barriers: one line that says which wait where. Valid until the thread block ends. */
const char *barrier_deadlock(struct corun_tb *tb, struct corun_place *place);

/* Also those that were not ended. */
void executor_tb_free_all(struct launch_sm *list);
/* Before and after a launch runs without timing: it takes the spare thread block of its kernel, and leaves one. */
void executor_tb_take_spare(struct launch *launch);
void executor_tb_leave_spare(struct launch *launch);
void executor_tb_free_spares(struct corun_module_instance *instance);

/* One warp instruction without timing. */
void executor_step(struct corun_warp *warp, struct corun_issue *result);
/* Runs warp instructions without timing until something but NEXT happens or *budget is used up. */
enum corun_outcome executor_run(struct corun_warp *warp, uint64_t *budget, struct corun_functional_result *count,
                                struct corun_issue *result);

/* corun_source_operations.run_untimed */
enum corun_status executor_run_untimed(const struct corun_grid *grid, const struct corun_untimed *how,
                                       struct corun_diagnostics *list, struct corun_untimed_result *result);

extern const struct corun_source_operations executor_operations;

#endif
