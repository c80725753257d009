/* SPDX-License-Identifier: MIT */
/* The device heap: its allocator as PTX text, and linking that to a module. */
#include "cuda/device_heap.h"

#include "cuda/console.h"
#include "cuda/context.h"
#include "cuda/device_library.h"
#include "cuda/device_runtime.h"
#include "cuda/module.h"
#include "cuda/ptx_link.h"
#include "isa/kernel.h"
#include "ptx/module.h"

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
 * the top of the heap. Where that is too little, whoever brought the top beyond the end, and nobody else can have since, puts
 * it back where it was; others try again until then. Then a block of a larger class will do.
 */
#define TOP_VARIABLE "corun_heap_top"
#define FREE_VARIABLE "corun_heap_free"

/* The variables of a new heap, of so many bytes. */
static const char variables_text[] = ".global .align 16 .b8 " DEVICE_HEAP_VARIABLE "[%" PRIu64 "];\n"
                                     ".global .align 8 .u64 " TOP_VARIABLE " = 16;\n"
                                     ".global .align 8 .u64 " FREE_VARIABLE "[40];\n";

static const char heap_text[] =
    ".version 6.0\n.target sm_30\n.address_size 64\n"
    ".extern .func " DEVICE_HEAP_WRONG "(.param .b64 block);\n%s"
    ".visible .func (.param .b64 result) malloc(.param .b64 bytes)\n{\n"
    "    .reg .pred %%p<5>;\n    .reg .b32 %%r<4>;\n    .reg .b64 %%a<24>;\n"
    "    ld.param.b64 %%a1, [bytes];\n    mov.b64 %%a20, 0;\n"
    "    setp.eq.u64 %%p1, %%a1, 0;\n    @%%p1 bra OUT;\n"
    "    setp.gt.u64 %%p1, %%a1, %" PRIu64 ";\n    @%%p1 bra OUT;\n"
    "    add.u64 %%a2, %%a1, 15;\n    clz.b64 %%r1, %%a2;\n    sub.u32 %%r1, 64, %%r1;\n    max.u32 %%r1, %%r1, 5;\n"
    "    mov.u64 %%a3, %s;\n    mul.wide.u32 %%a4, %%r1, 8;\n    add.u64 %%a3, %%a3, %%a4;\n"
    "    mov.u64 %%a5, %s;\n"
    "POP:\n"
    "    ld.volatile.global.u64 %%a6, [%%a3];\n    and.b64 %%a7, %%a6, 4294967295;\n"
    "    setp.eq.u64 %%p2, %%a7, 0;\n    @%%p2 bra CUT;\n"
    "    shl.b64 %%a8, %%a7, 4;\n    add.u64 %%a9, %%a5, %%a8;\n    ld.volatile.global.u64 %%a10, [%%a9+8];\n"
    "    and.b64 %%a10, %%a10, 4294967295;\n    shr.u64 %%a11, %%a6, 32;\n    add.u64 %%a11, %%a11, 1;\n"
    "    shl.b64 %%a11, %%a11, 32;\n    or.b64 %%a11, %%a11, %%a10;\n"
    "    atom.global.cas.b64 %%a12, [%%a3], %%a6, %%a11;\n    setp.eq.u64 %%p3, %%a12, %%a6;\n    @%%p3 bra FOUND;\n"
    "    bra POP;\n"
    "CUT:\n"
    "    mov.b64 %%a13, 1;\n    shl.b64 %%a13, %%a13, %%r1;\n    mov.u64 %%a14, %s;\n"
    "    atom.global.add.u64 %%a8, [%%a14], %%a13;\n    add.u64 %%a15, %%a8, %%a13;\n"
    "    setp.gt.u64 %%p4, %%a15, %" PRIu64 ";\n    @%%p4 bra FULL;\n"
    "FOUND:\n"
    "    add.u64 %%a9, %%a5, %%a8;\n    cvt.u64.u32 %%a16, %%r1;\n    st.global.u64 [%%a9+8], %%a16;\n"
    "    add.u64 %%a9, %%a9, 16;\n    cvta.global.u64 %%a20, %%a9;\n"
    "OUT:\n    st.param.b64 [result], %%a20;\n    ret;\n"
    "FULL:\n"
    "    setp.le.u64 %%p1, %%a8, %" PRIu64 ";\n    @%%p1 atom.global.exch.b64 %%a15, [%%a14], %%a8;\n"
    "    @!%%p1 bra CUT;\n"
    "LARGER:\n"
    "    add.u32 %%r1, %%r1, 1;\n    add.u64 %%a3, %%a3, 8;\n    setp.ge.u32 %%p1, %%r1, 40;\n    @%%p1 bra OUT;\n"
    "POP_LARGER:\n"
    "    ld.volatile.global.u64 %%a6, [%%a3];\n    and.b64 %%a7, %%a6, 4294967295;\n"
    "    setp.eq.u64 %%p2, %%a7, 0;\n    @%%p2 bra LARGER;\n"
    "    shl.b64 %%a8, %%a7, 4;\n    add.u64 %%a9, %%a5, %%a8;\n    ld.volatile.global.u64 %%a10, [%%a9+8];\n"
    "    and.b64 %%a10, %%a10, 4294967295;\n    shr.u64 %%a11, %%a6, 32;\n    add.u64 %%a11, %%a11, 1;\n"
    "    shl.b64 %%a11, %%a11, 32;\n    or.b64 %%a11, %%a11, %%a10;\n"
    "    atom.global.cas.b64 %%a12, [%%a3], %%a6, %%a11;\n    setp.eq.u64 %%p3, %%a12, %%a6;\n    @%%p3 bra FOUND;\n"
    "    bra POP_LARGER;\n}\n"
    ".visible .func free(.param .b64 pointer)\n{\n"
    "    .reg .pred %%p<5>;\n    .reg .b32 %%r<4>;\n    .reg .b64 %%a<16>;\n"
    "    ld.param.b64 %%a1, [pointer];\n    setp.eq.u64 %%p1, %%a1, 0;\n    @%%p1 bra OUT;\n"
    "    cvta.to.global.u64 %%a1, %%a1;\n    mov.u64 %%a2, %s;\n    sub.u64 %%a3, %%a1, 16;\n"
    "    sub.u64 %%a4, %%a3, %%a2;\n    setp.ge.u64 %%p2, %%a4, %" PRIu64 ";\n    @%%p2 bra WRONG;\n"
    "    ld.global.u64 %%a5, [%%a3+8];\n    setp.ge.u64 %%p2, %%a5, 40;\n    @%%p2 bra WRONG;\n"
    "    shl.b64 %%a6, %%a5, 3;\n    mov.u64 %%a7, %s;\n    add.u64 %%a7, %%a7, %%a6;\n    shr.u64 %%a8, "
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

static uint64_t bytes_within(uint64_t bytes)
{
    bytes = bytes > LEAST_HEAP ? bytes : LEAST_HEAP;
    return bytes < MOST_HEAP ? bytes : MOST_HEAP;
}

/* How the code says where a variable is: by its name in the module that brings the heap, by its address in others. */
struct place {
    char text[24];
};

static struct place place_of(const char *name, uint64_t address)
{
    struct place place;
    if (address)
        snprintf(place.text, sizeof place.text, "%" PRIu64, address);
    else
        snprintf(place.text, sizeof place.text, "%s", name);
    return place;
}

void device_heap_write(const struct context *context, char library[DEVICE_HEAP_TEXT_BYTES])
{
    char variables[sizeof variables_text + 24] = "";
    const struct device_heap *heap = &context->heap;
    const uint64_t most = heap->bytes ? heap->bytes : bytes_within(context->limits[LIMIT_HEAP]);
    const struct place blocks = place_of(DEVICE_HEAP_VARIABLE, heap->blocks), top = place_of(TOP_VARIABLE, heap->top),
                       stacks = place_of(FREE_VARIABLE, heap->free);
    _Static_assert(sizeof heap_text + sizeof variables_text + 256 < DEVICE_HEAP_TEXT_BYTES, "the text has room");
    if (!heap->bytes)
        snprintf(variables, sizeof variables, variables_text, most);
    snprintf(library, DEVICE_HEAP_TEXT_BYTES, heap_text, variables, most, stacks.text, blocks.text, top.text, most,
             most, blocks.text, most, stacks.text, DEVICE_HEAP_FREED);
}

enum corun_status device_heap_link(const struct context *context, const char *text, size_t bytes,
                                   struct corun_diagnostics *list, char **linked, size_t *linked_bytes)
{
    char library[DEVICE_HEAP_TEXT_BYTES];
    struct ptx_link link = {0};
    enum corun_status status = CORUN_MEMORY;
    *linked = NULL;
    device_heap_write(context, library);
    if (ptx_link_add(&link, text, bytes, false) && ptx_link_add(&link, library, strlen(library), true))
        status = ptx_link_finish(&link, list, linked, linked_bytes);
    ptx_link_free(&link);
    return status;
}

void device_heap_take(struct context *context, const struct module *module)
{
    struct device_heap heap = {0};
    heap.blocks = corun_module_instance_variable(module->loaded, DEVICE_HEAP_VARIABLE, &heap.bytes);
    heap.top = corun_module_instance_variable(module->loaded, TOP_VARIABLE, NULL);
    heap.free = corun_module_instance_variable(module->loaded, FREE_VARIABLE, NULL);
    if (heap.blocks && heap.top && heap.free && !context->heap.bytes)
        context->heap = heap;
}

void device_heap_launch(struct context *context, const struct corun_kernel *kernel)
{
    for (uint32_t i = 0; context->heap.bytes && !context->heap.used && i < kernel->function_count; i++)
        context->heap.used =
            !strcmp(kernel->functions[i].ptx->name, "malloc") || !strcmp(kernel->functions[i].ptx->name, "free");
}

bool device_heap_limit(struct context *context, size_t bytes)
{
    const struct device_heap *heap = &context->heap;
    if (!heap->used && bytes > heap->bytes && heap->bytes)
        say("cudaLimitMallocHeapSize comes too late: the device heap has had its %" PRIu64
            " bytes since a module whose kernels use it was loaded; set it before anything of that module is used",
            heap->bytes);
    if (heap->used || (heap->bytes && bytes > heap->bytes))
        return false;
    context->limits[LIMIT_HEAP] = bytes;
    return true;
}
