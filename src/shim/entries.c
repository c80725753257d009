/* SPDX-License-Identifier: MIT */
/*
 * Every entry point of the driver as programs see it: a jump to that of the driver below. Where a jump leads is found out when it is
 * first taken. The symbols are weak: a function of the shim of that name takes the place of the jump (looked_at.def).
 *
 * The first jump may be taken in the middle of a call, so all registers that carry arguments are kept: six integers, eight floats. rax and
 * r11 belong to the call.
 */
#ifndef __x86_64__
#error "the shim is for x86-64"
#endif

#define JUMP(name) \
    ".weak " #name "\n.type " #name ", @function\n" #name ":\nendbr64\njmp *1f(%rip)\n.size " #name ", . - " #name \
    "\n2: leaq 3f(%rip), %rax\nleaq 1f(%rip), %r11\njmp corun_shim_first\n" \
    ".section .rodata.corun_names, \"a\"\n3: .asciz \"" #name "\"\n" \
    ".section .data.corun_places, \"aw\"\n.balign 8\n1: .quad 2b\n.text\n"
#define JUMP_PLAIN(name) JUMP(name)
#define JUMP_PTSZ(name) JUMP(name) JUMP(name##_ptsz)
#define JUMP_PTDS(name) JUMP(name) JUMP(name##_ptds)

#define R(name, first, last, variant, handler)
#define N(name, first, last, variant)
#define D(name, variant, handler) __asm__(JUMP_##variant(name));
#define M(name, variant) __asm__(JUMP_##variant(name));

/* void *corun_shim_resolve(const char *name, void **place): where the jump leads. */
__asm__(".text\n"
        ".type corun_shim_first, @function\n"
        "corun_shim_first:\n"
        "pushq %rbp\nmovq %rsp, %rbp\nandq $-16, %rsp\nsubq $192, %rsp\n"
        "movq %rdi, 0(%rsp)\nmovq %rsi, 8(%rsp)\nmovq %rdx, 16(%rsp)\n"
        "movq %rcx, 24(%rsp)\nmovq %r8, 32(%rsp)\nmovq %r9, 40(%rsp)\n"
        "movaps %xmm0, 48(%rsp)\nmovaps %xmm1, 64(%rsp)\nmovaps %xmm2, 80(%rsp)\nmovaps %xmm3, 96(%rsp)\n"
        "movaps %xmm4, 112(%rsp)\nmovaps %xmm5, 128(%rsp)\nmovaps %xmm6, 144(%rsp)\nmovaps %xmm7, 160(%rsp)\n"
        "movq %rax, %rdi\nmovq %r11, %rsi\n"
        "call corun_shim_resolve\n"
        "movq %rax, %r11\n"
        "movq 0(%rsp), %rdi\nmovq 8(%rsp), %rsi\nmovq 16(%rsp), %rdx\n"
        "movq 24(%rsp), %rcx\nmovq 32(%rsp), %r8\nmovq 40(%rsp), %r9\n"
        "movaps 48(%rsp), %xmm0\nmovaps 64(%rsp), %xmm1\nmovaps 80(%rsp), %xmm2\nmovaps 96(%rsp), %xmm3\n"
        "movaps 112(%rsp), %xmm4\nmovaps 128(%rsp), %xmm5\nmovaps 144(%rsp), %xmm6\nmovaps 160(%rsp), %xmm7\n"
        "leave\njmp *%r11\n"
        ".size corun_shim_first, . - corun_shim_first\n");

#include "cuda/entry_points.def"

/* What NVIDIA's library has besides: no header declares these. */
#define OF_NVIDIA(name) __asm__(JUMP(name));
OF_NVIDIA(cuEGLApiInit)
OF_NVIDIA(cuMemGetAttribute)
OF_NVIDIA(cuMemGetAttribute_v2)
OF_NVIDIA(cudbgApiAttach)
OF_NVIDIA(cudbgApiDetach)
OF_NVIDIA(cudbgApiInit)
OF_NVIDIA(cudbgGetAPI)
OF_NVIDIA(cudbgGetAPIVersion)
OF_NVIDIA(cudbgMain)
OF_NVIDIA(cudbgReportDriverApiError)
OF_NVIDIA(cudbgReportDriverInternalError)
