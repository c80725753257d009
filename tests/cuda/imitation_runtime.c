/* SPDX-License-Identifier: MIT */
/*
 * A static runtime that does nothing, for machines without a toolkit: every function of the runtime API of CUDA IMITATED (11, 12, 13),
 * hidden in the program as in the toolkit's. A function that is reached ends the program with 99: it was not led to ours.
 */
#include <stdio.h>
#include <unistd.h>

void imitation_reached(const char *name);

__attribute__((used)) void imitation_reached(const char *name)
{
    fprintf(stderr, "%s of the static runtime was reached\n", name);
    _exit(99);
}

/* The toolkit's have this text, by which they are known when they are stripped (src/cuda/program_file.c). */
__attribute__((used)) static const char name_of_an_error[] = "cudaErrorCudartUnloading";

#define TEXT(...) #__VA_ARGS__
#define EXPANDED(...) TEXT(__VA_ARGS__)
/* Some functions of the toolkit's are that small: behind them is room up to the next one. */
#define FUNCTION(name) \
    ".balign 16\n.globl " #name "\n.hidden " #name "\n.type " #name ", @function\n" #name ":\njmp 1f\n.size " #name \
    ", . - " #name "\n.balign 16\n1: leaq 2f(%rip), %rdi\nandq $-16, %rsp\ncall imitation_reached\n2: .asciz \"" #name \
    "\"\n"
#define FUNCTION_PLAIN(name) FUNCTION(name)
#define FUNCTION_PTSZ(name) FUNCTION(name) FUNCTION(name##_ptsz)
#define FUNCTION_PTDS(name) FUNCTION(name) FUNCTION(name##_ptds)
#define R(name, first, last, variant, handler) N(name, first, last, variant)
#define N(name, first, last, variant) \
    __asm__(".if " #first " <= " EXPANDED(IMITATED) " && " EXPANDED(IMITATED) " <= " #last "\n" FUNCTION_##variant( \
        name) ".endif\n");
#define D(name, variant, handler)
#define M(name, variant)

__asm__(".text\n");
#include "cuda/entry_points.def"
