/* SPDX-License-Identifier: MIT */
/*
 * Meetings of lanes: votes, shuffles, matches and reductions with .sync, elect.sync and bar.warp.sync. Such an operation names lanes in a mask,
 * and is one for all of them: none goes on before all that have not ended have come.
 *
 * Nearly always all come together, and nothing is to be done but the operation. Where the warp has parted before, the lanes that come wait:
 * their entry of the stack (isa/simt_stack.h) keeps which ones, another path runs, and so on until every lane that a mask
 * names has come to an operation of the same kind with the same mask, wherever in the program that is: on the other side of a branch, in
 * another function, in another copy of a loop's body. Then the operation is carried out once, with what each lane has in the
 * operands of its own instruction, and each path goes on behind its own. A path that has waited is one instruction of the warp, issued when
 * its lanes came; that the others came later takes no further one.
 *
 * Lanes of one path may name different masks. Where some of those that they name are elsewhere, lanes with one mask come as a path by themselves,
 * which is one more instruction of the warp, and are together again behind the operation.
 *
 * Lanes that wait behind the branch for the path that names them are let go if the mask is one that the kernel computes: a loop may have been unrolled
 * with a loop for the rest behind it, to which some lanes go at once. They go on from one place that all come to after the other
 * until they come to the operation, and meet the path there or behind it. They are not let go past a barrier or the end of a function. Nor
 * are they for a mask that is a constant: that is what code for older GPUs has where a part of the warp shuffles.
 *
 * Those lanes do not come, nor do lanes that wait at another meeting if no path is left that could end their wait. Then the lanes that have come
 * are all that take part, and that is noted: a mistake of the program, of which a GPU may make anything. With the check of
 * synchronisation it is a fault.
 */
#ifndef CORUN_ISA_MEETING_H
#define CORUN_ISA_MEETING_H

#include "isa/executor.h"

/* The lanes `mask` of the top come to a meeting (none: the top goes on). The pc is set. */
void meeting_come(struct corun_warp *warp, const struct operation *op, uint32_t mask);
/* Once paths have waited for each other: sees to it that the top is a path that can run. False: a fault was raised. */
bool meeting_go_on(struct corun_warp *warp);
/*
 * Where all lanes come that are at an operation, behind it; SIMT_NOWHERE: there is no such place, or they do not go there without others. MEETING_LEFT: some ways
 * from there leave the place at which they wait, so that they go for good.
 */
#define MEETING_LEFT (UINT32_MAX - 1)
uint32_t meeting_next_place(const struct corun_warp *warp, uint32_t pc);
/* Lanes that wait in an entry become the top, up to a place from meeting_next_place() that is not SIMT_NOWHERE. */
void meeting_let_go(struct corun_warp *warp, uint32_t entry, uint32_t lanes, uint32_t place);

#endif
