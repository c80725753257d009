/* SPDX-License-Identifier: MIT */
/*
 * Other threads of the process do not write to pages while these are replaced: whoever tries to waits, and writes to what is there then (userfaultfd). So nothing is lost between
 * the copy of what they hold and the moment at which the copy takes their place. Reading goes on.
 */
#ifndef CORUN_CUDA_PAGE_HOLD_H
#define CORUN_CUDA_PAGE_HOLD_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

struct page_hold {
    int file; /* -1: nobody is held */
    sigset_t before;
};

/*
 * From here to page_hold_end, this thread writes to none of these pages and allocates nothing. Nobody is held where the host has no userfaultfd or gives the process none, where the
 * pages are neither the process's own nor of a file in memory (initialised variables of a program are of its file), and where the calling thread's stack is among them (page_hold_run). Where the
 * process may have userfaultfd for its own code alone, system calls of other threads that write there meanwhile fail with EFAULT.
 */
void page_hold_begin(struct page_hold *hold, uint64_t first, uint64_t bytes);
/* Other pages have taken the place of these, or not. */
void page_hold_end(const struct page_hold *hold);
/*
 * work(argument), which replaces these pages; false if that is not 0. Where the stack of the calling thread is among them, on another stack, while the thread stands still in the
 * kernel: what it has on its stack is as it was when it comes back.
 */
bool page_hold_run(int (*work)(void *), void *argument, uint64_t first, uint64_t bytes);

#endif
