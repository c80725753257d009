/* SPDX-License-Identifier: MIT */
/*
 * The stack of a warp whose lanes went different ways: each entry is a group of lanes with its next instruction and the
 * instruction where it meets the entry below (the place that the branch that parted them names: ptx/convergence.h).
 *
 * A call puts an entry of its own on the stack, without a meeting point: it goes when its last lane has returned. The top
 * entry lives in the fields pc, mask and reconverge while the warp runs. Depth is bounded: masks of nested entries shrink with each
 * divergence, so that there are at most 64 entries and those of active calls.
 *
 * The stack is a tree, a parent below its children: the parent of an entry is the nearest one below that has all its lanes, and waits until its
 * children are gone. Entries without children are the paths of the warp. Any of them may run: simt_raise moves the path, and each of its
 * ancestors with all that is above, behind their siblings. So a path can wait for lanes on another path (isa/meeting.h) and go on later, and
 * still all meet where they would have met. As long as no path has waited, the top runs until it is gone.
 *
 * Lanes can leave: they go where they will not come to the meeting point. They are taken out of the entries up to the one with which they meet all the
 * same, and that waits for them and for those that it had waited for. Each entry with children has lost a lane to another child, for as long as it is there, so
 * that there are not more of them than lanes.
 *
 * Lanes that wait in a parent for its children can be let go, as far as a later place where all of the parent's lanes come together again. The
 * children then run up to there, past the place where they would have met; who leaves that place leaves the later one. There is room for what that adds: an entry for each lane at most.
 */
#ifndef CORUN_ISA_SIMT_STACK_H
#define CORUN_ISA_SIMT_STACK_H

#include <stdbool.h>
#include <stdint.h>

#define SIMT_NOWHERE UINT32_MAX
#define SIMT_NO_CALL UINT32_MAX
#define SIMT_NOTHING_SAVED UINT32_MAX
/* Of calls: each path may be as deep as the kernel goes; where that is deep, there is room for some such paths. */
#define SIMT_CALLS(call_depth) ((call_depth) < 9 ? 32u * ((call_depth)-1) : (call_depth) + 255u)
#define SIMT_ENTRIES(call_depth) (100u + SIMT_CALLS(call_depth))

struct simt_entry {
    uint32_t pc, mask, reconverge;
    uint32_t call;                          /* index of the call site that made this entry; SIMT_NO_CALL for others */
    uint32_t function, frame, caller_frame; /* calls: what was called, its frame of local memory, and the caller's */
    uint32_t called, saved; /* calls of recursive functions: which lanes, and where their registers are kept */
    uint32_t waits;         /* lanes that have come to a meeting and wait there for others; 0: it is not at one */
    uint32_t passed; /* where it would have met before those that waited there were let go; SIMT_NOWHERE: none were */
};

struct simt_stack {
    uint32_t pc, mask, reconverge; /* of the top entry; its own copies of pc and mask are stale */
    uint32_t depth : 30;           /* index of the top entry */
    uint32_t looked_at : 1;        /* does the top wait in a loop? (isa/turns.h) */
    uint32_t apart : 1;            /* paths have waited for each other: the top may have to */
    struct simt_entry *entries;
};

void simt_start(struct simt_stack *stack, uint32_t pc, uint32_t mask);
/*
 * The lanes `taken` (a proper part of the active ones) go to `target`, the others to `next`; they meet at `reconverge`
 * (SIMT_NOWHERE: never).
 */
void simt_diverge(struct simt_stack *stack, uint32_t taken, uint32_t target, uint32_t next, uint32_t reconverge);
/*
 * The lanes `lanes` of the top go to `to` without those that wait for others at one of the first `count` places: they meet these at places[count]
 * (SIMT_NOWHERE: never). The others stay where they are. False: the top meets at none of these places, and nothing has been done.
 */
bool simt_leave(struct simt_stack *stack, uint32_t lanes, uint32_t to, const uint32_t *places, uint32_t count);
/* A new top entry for a call by the lanes `mask`; the caller's entry continues at its pc. */
struct simt_entry *simt_call(struct simt_stack *stack, uint32_t pc, uint32_t mask, uint32_t call);
/* Index of the entry of the innermost call of the top's lanes, UINT32_MAX if the kernel itself runs. */
uint32_t simt_frame(const struct simt_stack *stack);
/* Takes lanes out of all entries from `from` to the top. The top may be empty then: see simt_pop. */
void simt_remove(struct simt_stack *stack, uint32_t lanes, uint32_t from);
/* Index of the entry that waits for this one, UINT32_MAX if there is none. */
uint32_t simt_parent(const struct simt_stack *stack, uint32_t index);
/* Is this entry a path, with nothing above that it waits for? */
bool simt_is_path(const struct simt_stack *stack, uint32_t index);
/* Makes a path the top. */
void simt_raise(struct simt_stack *stack, uint32_t path);
/* Lanes that wait in an entry for others: none if it is a path. */
uint32_t simt_waiting(const struct simt_stack *stack, uint32_t index);
/* These lanes become the top, up to `meet`, which all lanes of the entry come to: there they wait again. */
void simt_let_go(struct simt_stack *stack, uint32_t index, uint32_t meet);
/* These lanes become the top, for good: they meet the others of the entry where that meets others. */
void simt_take_out(struct simt_stack *stack, uint32_t index);
/* Lanes that wait in an entry at the end of a function become the top: they return from it by themselves. */
void simt_part(struct simt_stack *stack, uint32_t index);
/* Drops the top entry. False if it was the last one. */
bool simt_pop(struct simt_stack *stack);

/* To be called after every change of pc: groups that have reached their meeting point wait in the entry below. */
static inline void simt_settle(struct simt_stack *stack)
{
    while (stack->pc == stack->reconverge)
        simt_pop(stack);
}

#endif
