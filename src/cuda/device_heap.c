/* SPDX-License-Identifier: MIT */
/* The device heap: its allocator as PTX text, and linking that to a module. */
#include "cuda/device_heap.h"

#include "cuda/device_library.h"
#include "cuda/ptx_link.h"
#include "isa/kernel.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define LEAST_HEAP (UINT64_C(1) << 16)
#define MOST_HEAP (UINT64_C(1) << 35) /* offsets in units of 16 bytes have 32 bits */

/*
 * Blocks are powers of two with 16 bytes in front. The second word of these is the class of a block that is used; in a
 * free block it is the next free block with DEVICE_HEAP_FREED, so that free knows a block that was freed before. Free
 * blocks of a class form a stack whose head is a block's offset / 16 in the low half and a count of changes in the high
 * half, so that a compare-and-swap notices when a block was taken and put back meanwhile. What no stack has is cut off
 * the top of the heap.
 */
static const char heap_text[] =
    ".version 6.0\n.target sm_30\n.address_size 64\n"
    ".extern .func " DEVICE_HEAP_WRONG "(.param .b64 block);\n"
    ".global .align 16 .b8 " DEVICE_HEAP_VARIABLE "[%" PRIu64 "];\n"
    ".global .align 8 .u64 corun_heap_top = 16;\n"
    ".global .align 8 .u64 corun_heap_free[40];\n"
    ".visible .func (.param .b64 result) malloc(.param .b64 bytes)\n{\n"
    "    .reg .pred %%p<5>;\n    .reg .b32 %%r<4>;\n    .reg .b64 %%a<24>;\n"
    "    ld.param.b64 %%a1, [bytes];\n    mov.b64 %%a20, 0;\n"
    "    setp.eq.u64 %%p1, %%a1, 0;\n    @%%p1 bra OUT;\n"
    "    setp.gt.u64 %%p1, %%a1, %" PRIu64 ";\n    @%%p1 bra OUT;\n"
    "    add.u64 %%a2, %%a1, 15;\n    clz.b64 %%r1, %%a2;\n    sub.u32 %%r1, 64, %%r1;\n    max.u32 %%r1, %%r1, 5;\n"
    "    mov.u64 %%a3, corun_heap_free;\n    mul.wide.u32 %%a4, %%r1, 8;\n    add.u64 %%a3, %%a3, %%a4;\n"
    "    mov.u64 %%a5, corun_heap;\n"
    "POP:\n"
    "    ld.volatile.global.u64 %%a6, [%%a3];\n    and.b64 %%a7, %%a6, 4294967295;\n"
    "    setp.eq.u64 %%p2, %%a7, 0;\n    @%%p2 bra CUT;\n"
    "    shl.b64 %%a8, %%a7, 4;\n    add.u64 %%a9, %%a5, %%a8;\n    ld.volatile.global.u64 %%a10, [%%a9+8];\n"
    "    and.b64 %%a10, %%a10, 4294967295;\n    shr.u64 %%a11, %%a6, 32;\n    add.u64 %%a11, %%a11, 1;\n"
    "    shl.b64 %%a11, %%a11, 32;\n    or.b64 %%a11, %%a11, %%a10;\n"
    "    atom.global.cas.b64 %%a12, [%%a3], %%a6, %%a11;\n    setp.eq.u64 %%p3, %%a12, %%a6;\n    @%%p3 bra FOUND;\n"
    "    bra POP;\n"
    "CUT:\n"
    "    mov.b64 %%a13, 1;\n    shl.b64 %%a13, %%a13, %%r1;\n    mov.u64 %%a14, corun_heap_top;\n"
    "    atom.global.add.u64 %%a8, [%%a14], %%a13;\n    add.u64 %%a15, %%a8, %%a13;\n"
    "    setp.gt.u64 %%p4, %%a15, %" PRIu64 ";\n    @%%p4 bra OUT;\n"
    "FOUND:\n"
    "    add.u64 %%a9, %%a5, %%a8;\n    cvt.u64.u32 %%a16, %%r1;\n    st.global.u64 [%%a9+8], %%a16;\n"
    "    add.u64 %%a9, %%a9, 16;\n    cvta.global.u64 %%a20, %%a9;\n"
    "OUT:\n    st.param.b64 [result], %%a20;\n    ret;\n}\n"
    ".visible .func free(.param .b64 pointer)\n{\n"
    "    .reg .pred %%p<5>;\n    .reg .b32 %%r<4>;\n    .reg .b64 %%a<16>;\n"
    "    ld.param.b64 %%a1, [pointer];\n    setp.eq.u64 %%p1, %%a1, 0;\n    @%%p1 bra OUT;\n"
    "    cvta.to.global.u64 %%a1, %%a1;\n    mov.u64 %%a2, corun_heap;\n    sub.u64 %%a3, %%a1, 16;\n"
    "    sub.u64 %%a4, %%a3, %%a2;\n    setp.ge.u64 %%p2, %%a4, %" PRIu64 ";\n    @%%p2 bra WRONG;\n"
    "    ld.global.u64 %%a5, [%%a3+8];\n    setp.ge.u64 %%p2, %%a5, 40;\n    @%%p2 bra WRONG;\n"
    "    shl.b64 %%a6, %%a5, 3;\n    mov.u64 %%a7, corun_heap_free;\n    add.u64 %%a7, %%a7, %%a6;\n    shr.u64 %%a8, "
    "%%a4, 4;\n"
    "PUSH:\n"
    "    ld.volatile.global.u64 %%a9, [%%a7];\n    or.b64 %%a10, %%a9, %" PRIu64 ";\n    st.volatile.global.u64 "
    "[%%a3+8], %%a10;\n"
    "    membar.gl;\n    shr.u64 %%a11, %%a9, 32;\n    add.u64 %%a11, %%a11, 1;\n    shl.b64 %%a11, %%a11, 32;\n"
    "    or.b64 %%a11, %%a11, %%a8;\n    atom.global.cas.b64 %%a12, [%%a7], %%a9, %%a11;\n"
    "    setp.ne.u64 %%p3, %%a12, %%a9;\n    @%%p3 bra PUSH;\n    bra OUT;\n"
    "WRONG:\n    call " DEVICE_HEAP_WRONG ", (%%a3);\n"
    "OUT:\n    ret;\n}\n";

bool device_heap_wanted(const char *text)
{
    return device_library_declares(text, "malloc") || device_library_declares(text, "free");
}

enum corun_status device_heap_link(const char *text, size_t bytes, uint64_t heap_bytes, struct corun_diagnostics *list,
                                   char **linked, size_t *linked_bytes)
{
    char library[sizeof heap_text + 128];
    struct ptx_link link = {0};
    if (heap_bytes < LEAST_HEAP)
        heap_bytes = LEAST_HEAP;
    if (heap_bytes > MOST_HEAP)
        heap_bytes = MOST_HEAP;
    snprintf(library, sizeof library, heap_text, heap_bytes, heap_bytes, heap_bytes, heap_bytes, DEVICE_HEAP_FREED);
    enum corun_status status = CORUN_MEMORY;
    *linked = NULL;
    if (ptx_link_add(&link, text, bytes, false) && ptx_link_add(&link, library, strlen(library), true))
        status = ptx_link_finish(&link, list, linked, linked_bytes);
    ptx_link_free(&link);
    return status;
}
