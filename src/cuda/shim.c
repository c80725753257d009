/* SPDX-License-Identifier: MIT */
/*
 * libcudart and libcuda as programs see them: every symbol is a jump to the implementation, which all of them share.
 * Built once for each library with SHIM_CUDART=11, 12 or 13, or SHIM_CUDA=1.
 *
 * A per-thread variant tells that by the variable corun_per_thread of its thread before it jumps, and libcuda by
 * corun_driver_call, because functions behind both interfaces differ a little: all registers but rax and r11 belong to
 * the call.
 */
#ifndef __x86_64__
#error "the CUDA front door is for x86-64"
#endif

#define TEXT(...) #__VA_ARGS__
#define EXPANDED(...) TEXT(__VA_ARGS__)

#define SYMBOL(name) ".globl " #name "\n.type " #name ", @function\n" #name ":\nendbr64\n"
#define ENDED(name) ".size " #name ", . - " #name "\n"
#define JUMP(handler) MARK_INTERFACE "jmp *corun_" #handler "@GOTPCREL(%rip)\n"
#ifdef SHIM_CUDART
#define MARK_INTERFACE "movq corun_driver_call@gottpoff(%rip), %rax\nmovb $0, %fs:(%rax)\n"
#else
#define MARK_INTERFACE "movq corun_driver_call@gottpoff(%rip), %rax\nmovb $1, %fs:(%rax)\n"
#endif
#define MARK_THREAD "movq corun_per_thread@gottpoff(%rip), %rax\nmovb $1, %fs:(%rax)\n"
#define SAY(name) "leaq 1f(%rip), %rdi\njmp *corun_absent@GOTPCREL(%rip)\n1: .asciz \"" #name "\"\n"

#define THERE(name, handler) SYMBOL(name) JUMP(handler) ENDED(name)
#define THERE_PLAIN(name, handler) THERE(name, handler)
#define THERE_PTSZ(name, handler) THERE(name, handler) SYMBOL(name##_ptsz) MARK_THREAD JUMP(handler) ENDED(name##_ptsz)
#define THERE_PTDS(name, handler) THERE(name, handler) SYMBOL(name##_ptds) MARK_THREAD JUMP(handler) ENDED(name##_ptds)
#define ABSENT(name) SYMBOL(name) SAY(name) ENDED(name)
#define ABSENT_PLAIN(name) ABSENT(name)
#define ABSENT_PTSZ(name) ABSENT(name) SYMBOL(name##_ptsz) SAY(name) ENDED(name##_ptsz)
#define ABSENT_PTDS(name) ABSENT(name) SYMBOL(name##_ptds) SAY(name) ENDED(name##_ptds)

__asm__(".text\n");

#ifdef SHIM_CUDART
#define IF(first, last, ...) \
    __asm__(".if " #first " <= " EXPANDED(SHIM_CUDART) " && " EXPANDED(SHIM_CUDART) " <= " #last "\n" __VA_ARGS__ \
                                                                                    ".endif\n");
#define R(name, first, last, variant, handler) IF(first, last, THERE_##variant(name, handler))
#define N(name, first, last, variant) IF(first, last, ABSENT_##variant(name))
#define D(name, variant, handler)
#define M(name, variant)
#else
#define R(name, first, last, variant, handler)
#define N(name, first, last, variant)
#define D(name, variant, handler) __asm__(THERE_##variant(name, handler));
#define M(name, variant) __asm__(ABSENT_##variant(name));
#endif

#include "cuda/entry_points.def"
