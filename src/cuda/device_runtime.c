/* SPDX-License-Identifier: MIT */
/* The runtime for kernels as text: written for a device, under the names that nvcc gives its functions. */
#include "cuda/device_runtime.h"

#include "cuda/context.h"
#include "cuda/device.h"
#include "cuda/errors.h"
#include "cuda/ptx_link.h"
#include "isa/device_launch.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_PENDING 65536u
#define ATTRIBUTES 160
#define ERRORS 1000
#define LIMITS 6

/*
 * A function of the runtime: its name behind the prefix; its result; its parameters; its body. `per_thread`:
 * it is there a second time, with `_ptsz`, for programs whose default stream is the thread's own; where `#` stands the stream 0 in %s becomes that.
 */
struct runtime_function {
    const char *name, *result, *parameters, *body;
    bool per_thread;
};

#define RESULT ".param .b32 result"
#define GRID_AND_BLOCK ".param .align 4 .b8 grid[12], .param .align 4 .b8 block[12], .param .b32 shared"
#define REGISTERS "    .reg .pred %p<5>;\n    .reg .b32 %r<16>;\n    .reg .b64 %a<16>;\n    .reg .b64 %s;\n"
#define LOAD_SHAPE \
    "    ld.param.b32 %r1, [grid];\n    ld.param.b32 %r2, [grid+4];\n    ld.param.b32 %r3, [grid+8];\n" \
    "    ld.param.b32 %r4, [block];\n    ld.param.b32 %r5, [block+4];\n    ld.param.b32 %r6, [block+8];\n" \
    "    ld.param.b32 %r7, [shared];\n"
#define CHECK_SHAPE \
    "    call (%r8), " DEVICE_LAUNCH_CHECK ", (%a1, %r1, %r2, %r3, %r4, %r5, %r6, %r7);\n" \
    "    setp.ne.u32 %p1, %r8, 0;\n    @%p1 bra OUT;\n"
/* Into the slot whose parameters %a2 leads to. */
#define STORE_SHAPE \
    "    st.u64 [%a2+-64], %a1;\n    st.u32 [%a2+-56], %r1;\n    st.u32 [%a2+-52], %r2;\n    st.u32 [%a2+-48], %r3;\n" \
    "    st.u32 [%a2+-44], %r4;\n    st.u32 [%a2+-40], %r5;\n    st.u32 [%a2+-36], %r6;\n    st.u32 [%a2+-32], %r7;\n"
#define LAUNCH "    mov.b32 %r9, 0;\n    call (%r8), " DEVICE_LAUNCH ", (%a2, %s, %r9);\n"
#define RETURN "OUT:\n    st.param.b32 [result], %r8;\n    ret;\n"
#define POOL "    mov.u64 %a1, " DEVICE_POOL_VARIABLE ";\n"
/* The next handle of a stream or an event into [%a2]; those of CUDA's own streams are small. */
#define NEW_HANDLE \
    POOL "    atom.global.add.u32 %r2, [%a1+20], 1;\n    cvt.u64.u32 %a3, %r2;\n    add.u64 %a3, %a3, 256;\n" \
         "    shl.b64 %a3, %a3, 4;\n    st.u64 [%a2], %a3;\n    mov.b32 %r8, 0;\n"
/* An error of the thread, unless %p1. */
#define ERROR_UNLESS(number) \
    "    mov.b32 %r8, 0;\n    @%p1 bra FINE;\n    mov.b32 %r8, " number ";\n    mov.b32 %r10, 2;\n" \
    "    call (%r11), " DEVICE_LAUNCH_ERROR ", (%r10, %r8);\n    bra OUT;\nFINE:\n"
/* %r1 = %r2: how many blocks of 256 threads for %a4 times %a5 bytes, some thousands at most; at once 1 by 1, and no dynamic shared memory */
#define SHAPE_OF_BYTES \
    "    mul.lo.u64 %a6, %a4, %a5;\n    setp.eq.u64 %p1, %a6, 0;\n    mov.b32 %r8, 0;\n    @%p1 bra OUT;\n" \
    "    add.u64 %a6, %a6, 4095;\n    shr.u64 %a6, %a6, 12;\n    min.u64 %a6, %a6, 4096;\n    cvt.u32.u64 %r1, %a6;\n" \
    "    mov.b32 %r2, 1;\n    mov.b32 %r3, 1;\n    mov.b32 %r4, 256;\n    mov.b32 %r5, 1;\n    mov.b32 %r6, 1;\n" \
    "    mov.b32 %r7, 0;\n"
#define TAKE_SLOT \
    "    call (%a2), corun_launch_slot;\n    setp.eq.u64 %p1, %a2, 0;\n    mov.b32 %r8, 69;\n    @%p1 bra OUT;\n"

static const struct runtime_function functions[] = {
    {"GetParameterBufferV2", ".param .b64 result", ".param .b64 function, " GRID_AND_BLOCK,
     REGISTERS "    mov.b64 %a2, 0;\n    ld.param.b64 %a1, [function];\n" LOAD_SHAPE CHECK_SHAPE
               "    call (%a2), corun_launch_slot;\n    setp.eq.u64 %p1, %a2, 0;\n    @%p1 bra OUT;\n" STORE_SHAPE
               "OUT:\n    st.param.b64 [result], %a2;\n    ret;\n",
     false},
    {"LaunchDeviceV2", RESULT, ".param .b64 buffer, .param .b64 stream",
     REGISTERS "    ld.param.b64 %a2, [buffer];\n    ld.param.b64 %s, [stream];\n#" LAUNCH
               "    st.param.b32 [result], %r8;\n    ret;\n",
     true},
    {"GetParameterBuffer", ".param .b64 result", ".param .b64 alignment, .param .b64 bytes",
     REGISTERS "    call (%a2), corun_launch_slot;\n    st.param.b64 [result], %a2;\n    ret;\n", false},
    {"LaunchDevice", RESULT, ".param .b64 function, .param .b64 buffer, " GRID_AND_BLOCK ", .param .b64 stream",
     REGISTERS "    ld.param.b64 %a1, [function];\n    ld.param.b64 %a2, [buffer];\n" LOAD_SHAPE CHECK_SHAPE STORE_SHAPE
               "    ld.param.b64 %s, [stream];\n#" LAUNCH RETURN,
     true},
    {"GetLastError", RESULT, "",
     REGISTERS "    mov.b32 %r1, 1;\n    mov.b32 %r2, 0;\n    call (%r8), " DEVICE_LAUNCH_ERROR
               ", (%r1, %r2);\n" RETURN,
     false},
    {"PeekAtLastError", RESULT, "",
     REGISTERS "    mov.b32 %r1, 0;\n    mov.b32 %r2, 0;\n    call (%r8), " DEVICE_LAUNCH_ERROR
               ", (%r1, %r2);\n" RETURN,
     false},
    {"GetErrorString", ".param .b64 result", ".param .b32 error",
     REGISTERS "    ld.param.b32 %r1, [error];\n    min.u32 %r1, %r1, 1000;\n    mul.wide.u32 %a1, %r1, 4;\n"
               "    mov.u64 %a2, corun_error_texts;\n    add.u64 %a2, %a2, %a1;\n    ld.global.u32 %r2, [%a2];\n"
               "    cvt.u64.u32 %a1, %r2;\n    mov.u64 %a2, corun_error_letters;\n    add.u64 %a2, %a2, %a1;\n"
               "    cvta.global.u64 %a2, %a2;\n    st.param.b64 [result], %a2;\n    ret;\n",
     false},
    {"GetErrorName", ".param .b64 result", ".param .b32 error",
     REGISTERS "    ld.param.b32 %r1, [error];\n    min.u32 %r1, %r1, 1000;\n    mul.wide.u32 %a1, %r1, 4;\n"
               "    mov.u64 %a2, corun_error_names;\n    add.u64 %a2, %a2, %a1;\n    ld.global.u32 %r2, [%a2];\n"
               "    cvt.u64.u32 %a1, %r2;\n    mov.u64 %a2, corun_error_letters;\n    add.u64 %a2, %a2, %a1;\n"
               "    cvta.global.u64 %a2, %a2;\n    st.param.b64 [result], %a2;\n    ret;\n",
     false},
    {"GetDeviceCount", RESULT, ".param .b64 count",
     REGISTERS "    ld.param.b64 %a1, [count];\n    ld.global.u32 %r1, [corun_device];\n    st.u32 [%a1], %r1;\n"
               "    mov.b32 %r8, 0;\n" RETURN,
     false},
    {"GetDevice", RESULT, ".param .b64 device",
     REGISTERS "    ld.param.b64 %a1, [device];\n    ld.global.u32 %r1, [corun_device+4];\n    st.u32 [%a1], %r1;\n"
               "    mov.b32 %r8, 0;\n" RETURN,
     false},
    {"DeviceGetAttribute", RESULT, ".param .b64 value, .param .b32 attribute, .param .b32 device",
     REGISTERS
     "    ld.param.b64 %a1, [value];\n    ld.param.b32 %r1, [attribute];\n    setp.lt.u32 %p1, %r1, "
     "160;\n" ERROR_UNLESS(
         "1") "    mul.wide.u32 %a2, %r1, 8;\n    mov.u64 %a3, corun_attributes;\n    add.u64 %a2, %a2, %a3;\n"
              "    ld.global.u32 %r2, [%a2+4];\n    setp.ne.u32 %p2, %r2, 0;\n    ld.global.u32 %r3, [%a2];\n"
              "    @%p2 st.u32 [%a1], %r3;\n    selp.b32 %r8, 0, 1, %p2;\n" RETURN,
     false},
    {"DeviceGetLimit", RESULT, ".param .b64 value, .param .b32 limit",
     REGISTERS
     "    ld.param.b64 %a1, [value];\n    ld.param.b32 %r1, [limit];\n    setp.lt.u32 %p1, %r1, 6;\n" ERROR_UNLESS(
         "215") "    mul.wide.u32 %a2, %r1, 8;\n    mov.u64 %a3, corun_limits;\n    add.u64 %a2, %a2, %a3;\n"
                "    ld.global.u64 %a4, [%a2];\n    st.u64 [%a1], %a4;\n" RETURN,
     false},
    {"DeviceGetCacheConfig", RESULT, ".param .b64 configuration",
     REGISTERS "    ld.param.b64 %a1, [configuration];\n    mov.b32 %r8, 0;\n    st.u32 [%a1], %r8;\n" RETURN, false},
    {"StreamCreateWithFlags", RESULT, ".param .b64 stream, .param .b32 flags",
     REGISTERS
     "    ld.param.b64 %a2, [stream];\n    ld.param.b32 %r1, [flags];\n    setp.eq.u32 %p1, %r1, 1;\n" ERROR_UNLESS("1")
         NEW_HANDLE RETURN,
     false},
    {"StreamDestroy", RESULT, ".param .b64 stream", "    st.param.b32 [result], 0;\n    ret;\n", false},
    {"EventCreateWithFlags", RESULT, ".param .b64 event, .param .b32 flags",
     REGISTERS
     "    ld.param.b64 %a2, [event];\n    ld.param.b32 %r1, [flags];\n    setp.eq.u32 %p1, %r1, 2;\n" ERROR_UNLESS("1")
         NEW_HANDLE RETURN,
     false},
    {"EventDestroy", RESULT, ".param .b64 event", "    st.param.b32 [result], 0;\n    ret;\n", false},
    {"EventRecord", RESULT, ".param .b64 event, .param .b64 stream",
     REGISTERS "    ld.param.b64 %a2, [event];\n    ld.param.b64 %s, [stream];\n#    mov.b32 %r9, 1;\n    call "
               "(%r8), " DEVICE_LAUNCH ", (%a2, %s, %r9);\n" RETURN,
     true},
    {"EventRecordWithFlags", RESULT, ".param .b64 event, .param .b64 stream, .param .b32 flags",
     REGISTERS "    ld.param.b64 %a2, [event];\n    ld.param.b64 %s, [stream];\n#    mov.b32 %r9, 1;\n    call "
               "(%r8), " DEVICE_LAUNCH ", (%a2, %s, %r9);\n" RETURN,
     true},
    {"StreamWaitEvent", RESULT, ".param .b64 stream, .param .b64 event, .param .b32 flags",
     REGISTERS "    ld.param.b64 %a2, [event];\n    ld.param.b64 %s, [stream];\n#    mov.b32 %r9, 2;\n    call "
               "(%r8), " DEVICE_LAUNCH ", (%a2, %s, %r9);\n" RETURN,
     true},
    {"Malloc", RESULT, ".param .b64 pointer, .param .b64 bytes",
     REGISTERS "    ld.param.b64 %a1, [pointer];\n    ld.param.b64 %a2, [bytes];\n    call (%a3), malloc, (%a2);\n"
               "    st.u64 [%a1], %a3;\n    setp.ne.u64 %p1, %a3, 0;\n" ERROR_UNLESS("2") RETURN,
     false},
    {"Free", RESULT, ".param .b64 pointer",
     REGISTERS "    ld.param.b64 %a1, [pointer];\n    call free, (%a1);\n    mov.b32 %r8, 0;\n" RETURN, false},
    {"MemcpyAsync", RESULT, ".param .b64 to, .param .b64 from, .param .b64 bytes, .param .b32 kind, .param .b64 stream",
     REGISTERS "    ld.param.b64 %a4, [bytes];\n    mov.b64 %a5, 1;\n" SHAPE_OF_BYTES TAKE_SLOT
               "    mov.u64 %a1, corun_device_memcpy;\n" STORE_SHAPE
               "    ld.param.b64 %a7, [to];\n    ld.param.b64 %a8, [from];\n    st.u64 [%a2], %a7;\n"
               "    st.u64 [%a2+8], %a4;\n    st.u64 [%a2+16], %a8;\n    st.u64 [%a2+24], %a4;\n"
               "    st.u64 [%a2+32], %a4;\n    st.u64 [%a2+40], %a5;\n    ld.param.b64 %s, [stream];\n#" LAUNCH RETURN,
     true},
    {"Memcpy2DAsync", RESULT,
     ".param .b64 to, .param .b64 to_pitch, .param .b64 from, .param .b64 from_pitch, .param .b64 width, "
     ".param .b64 height, .param .b32 kind, .param .b64 stream",
     REGISTERS "    ld.param.b64 %a4, [width];\n    ld.param.b64 %a5, [height];\n" SHAPE_OF_BYTES TAKE_SLOT
               "    mov.u64 %a1, corun_device_memcpy;\n" STORE_SHAPE
               "    ld.param.b64 %a7, [to];\n    ld.param.b64 %a8, [from];\n    ld.param.b64 %a9, [to_pitch];\n"
               "    ld.param.b64 %a10, [from_pitch];\n    st.u64 [%a2], %a7;\n    st.u64 [%a2+8], %a9;\n"
               "    st.u64 [%a2+16], %a8;\n    st.u64 [%a2+24], %a10;\n    st.u64 [%a2+32], %a4;\n"
               "    st.u64 [%a2+40], %a5;\n    ld.param.b64 %s, [stream];\n#" LAUNCH RETURN,
     true},
    {"MemsetAsync", RESULT, ".param .b64 to, .param .b32 value, .param .b64 bytes, .param .b64 stream",
     REGISTERS "    ld.param.b64 %a4, [bytes];\n    mov.b64 %a5, 1;\n" SHAPE_OF_BYTES TAKE_SLOT
               "    mov.u64 %a1, corun_device_memset;\n" STORE_SHAPE
               "    ld.param.b64 %a7, [to];\n    ld.param.b32 %r10, [value];\n    st.u64 [%a2], %a7;\n"
               "    st.u64 [%a2+8], %a4;\n    st.u64 [%a2+16], %a4;\n    st.u64 [%a2+24], %a5;\n"
               "    st.u32 [%a2+32], %r10;\n    ld.param.b64 %s, [stream];\n#" LAUNCH RETURN,
     true},
    {"Memset2DAsync", RESULT,
     ".param .b64 to, .param .b64 pitch, .param .b32 value, .param .b64 width, .param .b64 height, "
     ".param .b64 stream",
     REGISTERS
     "    ld.param.b64 %a4, [width];\n    ld.param.b64 %a5, [height];\n" SHAPE_OF_BYTES TAKE_SLOT
     "    mov.u64 %a1, corun_device_memset;\n" STORE_SHAPE
     "    ld.param.b64 %a7, [to];\n    ld.param.b64 %a9, [pitch];\n    ld.param.b32 %r10, [value];\n"
     "    st.u64 [%a2], %a7;\n    st.u64 [%a2+8], %a9;\n    st.u64 [%a2+16], %a4;\n    st.u64 [%a2+24], %a5;\n"
     "    st.u32 [%a2+32], %r10;\n    ld.param.b64 %s, [stream];\n#" LAUNCH RETURN,
     true},
};

/* Kernels of copies and fills: rows of `width` bytes, 16 at a time where everything is aligned to that. */
static const char kernels[] =
    ".visible .entry corun_device_memcpy(.param .u64 to, .param .u64 to_pitch, .param .u64 from, .param .u64 "
    "from_pitch, "
    ".param .u64 width, .param .u64 height)\n{\n"
    "    .reg .pred %p<4>;\n    .reg .b16 %h;\n    .reg .b32 %r<8>;\n    .reg .b64 %a<24>;\n"
    "    ld.param.u64 %a1, [to];\n    ld.param.u64 %a2, [to_pitch];\n    ld.param.u64 %a3, [from];\n"
    "    ld.param.u64 %a4, [from_pitch];\n    ld.param.u64 %a5, [width];\n    ld.param.u64 %a6, [height];\n"
    "    or.b64 %a7, %a1, %a3;\n    or.b64 %a7, %a7, %a5;\n    setp.gt.u64 %p1, %a6, 1;\n"
    "    or.b64 %a8, %a2, %a4;\n    or.b64 %a8, %a8, %a7;\n    selp.b64 %a7, %a8, %a7, %p1;\n"
    "    and.b64 %a7, %a7, 15;\n    setp.eq.u64 %p2, %a7, 0;\n    selp.b64 %a9, 16, 1, %p2;\n"
    "    mov.u32 %r1, %ctaid.x;\n    mov.u32 %r2, %nctaid.x;\n    mov.u32 %r3, %tid.x;\n"
    "    mul.wide.u32 %a10, %r1, 256;\n    cvt.u64.u32 %a11, %r3;\n    add.u64 %a10, %a10, %a11;\n"
    "    mul.lo.u64 %a10, %a10, %a9;\n    mul.wide.u32 %a11, %r2, 256;\n    mul.lo.u64 %a11, %a11, %a9;\n"
    "    mul.lo.u64 %a12, %a5, %a6;\n"
    "NEXT:\n    setp.ge.u64 %p3, %a10, %a12;\n    @%p3 ret;\n"
    "    div.u64 %a13, %a10, %a5;\n    mul.lo.u64 %a14, %a13, %a5;\n    sub.u64 %a14, %a10, %a14;\n"
    "    mad.lo.u64 %a15, %a13, %a4, %a14;\n    add.u64 %a15, %a15, %a3;\n    mad.lo.u64 %a16, %a13, %a2, %a14;\n"
    "    add.u64 %a16, %a16, %a1;\n    @%p2 bra WIDE;\n"
    "    ld.u8 %h, [%a15];\n    st.u8 [%a16], %h;\n    add.u64 %a10, %a10, %a11;\n    bra NEXT;\n"
    "WIDE:\n    ld.v2.u64 {%a17, %a18}, [%a15];\n    st.v2.u64 [%a16], {%a17, %a18};\n    add.u64 %a10, %a10, %a11;\n"
    "    bra NEXT;\n}\n"
    ".visible .entry corun_device_memset(.param .u64 to, .param .u64 pitch, .param .u64 width, .param .u64 height, "
    ".param .u32 value)\n{\n"
    "    .reg .pred %p<4>;\n    .reg .b32 %r<8>;\n    .reg .b64 %a<24>;\n"
    "    ld.param.u64 %a1, [to];\n    ld.param.u64 %a2, [pitch];\n    ld.param.u64 %a5, [width];\n"
    "    ld.param.u64 %a6, [height];\n    ld.param.u32 %r4, [value];\n    and.b32 %r4, %r4, 255;\n"
    "    mul.lo.u32 %r5, %r4, 16843009;\n"
    "    or.b64 %a7, %a1, %a5;\n    setp.gt.u64 %p1, %a6, 1;\n    or.b64 %a8, %a2, %a7;\n"
    "    selp.b64 %a7, %a8, %a7, %p1;\n    and.b64 %a7, %a7, 15;\n    setp.eq.u64 %p2, %a7, 0;\n"
    "    selp.b64 %a9, 16, 1, %p2;\n"
    "    mov.u32 %r1, %ctaid.x;\n    mov.u32 %r2, %nctaid.x;\n    mov.u32 %r3, %tid.x;\n"
    "    mul.wide.u32 %a10, %r1, 256;\n    cvt.u64.u32 %a11, %r3;\n    add.u64 %a10, %a10, %a11;\n"
    "    mul.lo.u64 %a10, %a10, %a9;\n    mul.wide.u32 %a11, %r2, 256;\n    mul.lo.u64 %a11, %a11, %a9;\n"
    "    mul.lo.u64 %a12, %a5, %a6;\n"
    "NEXT:\n    setp.ge.u64 %p3, %a10, %a12;\n    @%p3 ret;\n"
    "    div.u64 %a13, %a10, %a5;\n    mul.lo.u64 %a14, %a13, %a5;\n    sub.u64 %a14, %a10, %a14;\n"
    "    mad.lo.u64 %a16, %a13, %a2, %a14;\n    add.u64 %a16, %a16, %a1;\n    @%p2 bra WIDE;\n"
    "    st.u8 [%a16], %r4;\n    add.u64 %a10, %a10, %a11;\n    bra NEXT;\n"
    "WIDE:\n    st.v4.u32 [%a16], {%r5, %r5, %r5, %r5};\n    add.u64 %a10, %a10, %a11;\n    bra NEXT;\n}\n";

/* A free slot of the pool: the generic address of its parameters, or 0 and an error. Of what is pending the slots are a bound. */
static const char slot_head[] = ".func (.param .b64 result) corun_launch_slot()\n{\n" REGISTERS POOL;
static const char slot_text[] =
    "    mov.b64 %%a2, 0;\n    atom.global.add.u32 %%r1, [%%a1+16], 1;\n    setp.lt.u32 %%p1, %%r1, %" PRIu32 ";\n"
    "    @%%p1 bra TAKE;\n    atom.global.add.u32 %%r1, [%%a1+16], -1;\n    mov.b32 %%r2, 2;\n    mov.b32 %%r3, 69;\n"
    "    call (%%r4), " DEVICE_LAUNCH_ERROR ", (%%r2, %%r3);\n    bra OUT;\n"
    "TAKE:\n    atom.global.add.u64 %%a3, [%%a1], 1;\n    rem.u64 %%a3, %%a3, %" PRIu32
    ";\n    shl.b64 %%a4, %%a3, 2;\n"
    "    add.u64 %%a4, %%a4, %%a1;\n    ld.volatile.global.u32 %%r5, [%%a4+64];\n    cvt.u64.u32 %%a5, %%r5;\n"
    "    add.u64 %%a5, %%a5, %%a3;\n    rem.u64 %%a5, %%a5, %" PRIu32 ";\n    mul.lo.u64 %%a5, %%a5, %u;\n"
    "    add.u64 %%a2, %%a1, %%a5;\n    add.u64 %%a2, %%a2, %" PRIu64 ";\n    cvta.global.u64 %%a2, %%a2;\n"
    "OUT:\n    st.param.b64 [result], %%a2;\n    ret;\n}\n";

/* The stream 0 of a function with _ptsz. */
static const char own_stream[] = "    setp.eq.u64 %p4, %s, 0;\n    selp.b64 %s, 2, %s, %p4;\n";

static void write_function(FILE *out, const char *prefix, const struct runtime_function *function, bool per_thread)
{
    fprintf(out, ".visible .func (%s) %s%s%s(%s)\n{\n", function->result, prefix, function->name,
            per_thread ? "_ptsz" : "", function->parameters);
    size_t before = strcspn(function->body, "#");
    fwrite(function->body, 1, before, out);
    if (per_thread)
        fputs(own_stream, out);
    if (function->body[before])
        fputs(function->body + before + 1, out);
    fputs("}\n", out);
}

static void write_device(FILE *out, const struct context *context, uint32_t devices)
{
    fprintf(out, ".global .align 4 .u32 corun_device[2] = {%" PRIu32 ", %" PRIu32 "};\n", devices,
            context->device->ordinal);
    fprintf(out, ".global .align 4 .u32 corun_attributes[%d] = {", 2 * ATTRIBUTES);
    for (int i = 0; i < ATTRIBUTES; i++) {
        int value = 0;
        bool known = device_attribute(context->device, i, &value) == 0;
        fprintf(out, "%s%u, %d", i ? ", " : "", (unsigned)value, known);
    }
    fprintf(out, "};\n.global .align 8 .u64 corun_limits[%d] = {", LIMITS);
    for (int i = 0; i < LIMITS; i++)
        fprintf(out, "%s%zu", i ? ", " : "", context->limits[i]);
    fputs("};\n", out);
}

/* Where the text of each error, or its name, begins among the letters. */
static size_t write_places(FILE *out, const char *name, bool names, size_t at)
{
    size_t unknown = names ? 0 : sizeof "cudaErrorUnknown";
    fprintf(out, ".global .align 4 .u32 %s[%d] = {", name, ERRORS + 1);
    for (int i = 0; i <= ERRORS; i++) {
        const struct error_row *row = error_find(i);
        fprintf(out, "%s%zu", i ? ", " : "", row ? at : unknown);
        if (row)
            at += strlen(names ? row->runtime_name : row->text) + 1;
    }
    fputs("};\n", out);
    return at;
}

static void write_letters(FILE *out, const char *text)
{
    do
        fprintf(out, ",%d", *text);
    while (*text++);
}

static void write_errors(FILE *out)
{
    static const char unknown[] = "cudaErrorUnknown", unknown_text[] = "unknown error";
    size_t bytes = write_places(out, "corun_error_names", true, sizeof unknown + sizeof unknown_text);
    bytes = write_places(out, "corun_error_texts", false, bytes);
    fprintf(out, ".global .align 1 .b8 corun_error_letters[%zu] = {%d", bytes, unknown[0]);
    write_letters(out, unknown + 1);
    write_letters(out, unknown_text);
    for (int names = 1; names >= 0; names--)
        for (int i = 0; i <= ERRORS; i++) {
            const struct error_row *row = error_find(i);
            if (row)
                write_letters(out, names ? row->runtime_name : row->text);
        }
    fputs("};\n", out);
}

static const char *const prefixes[] = {"__cudaCDP2", "cuda"};

uint32_t device_runtime_pending(const struct context *context)
{
    size_t pending = context->limits[LIMIT_PENDING_LAUNCHES];
    return pending < 1 ? 1 : pending > MOST_PENDING ? MOST_PENDING : (uint32_t)pending;
}

void device_runtime_write(FILE *out, const struct context *context, uint32_t devices)
{
    uint32_t pending = device_runtime_pending(context);
    uint64_t first = device_pool_slots(pending);
    fprintf(
        out,
        ".version 6.0\n.target sm_35\n.address_size 64\n"
        ".extern .func (.param .b32 error) " DEVICE_LAUNCH_CHECK
        "(.param .b64 kernel, .param .b32 a, .param .b32 b, .param .b32 c, .param .b32 d, .param .b32 e, .param .b32 "
        "f, .param .b32 g);\n"
        ".extern .func (.param .b32 error) " DEVICE_LAUNCH "(.param .b64 what, .param .b64 stream, .param .b32 kind);\n"
        ".extern .func (.param .b32 before) " DEVICE_LAUNCH_ERROR "(.param .b32 action, .param .b32 error);\n"
        ".extern .func (.param .b64 pointer) malloc(.param .b64 bytes);\n"
        ".extern .func free(.param .b64 pointer);\n"
        ".global .align 64 .b8 " DEVICE_POOL_VARIABLE "[%" PRIu64 "];\n",
        first + (uint64_t)pending * DEVICE_SLOT_BYTES);
    write_device(out, context, devices);
    write_errors(out);
    fputs(kernels, out);
    fputs(slot_head, out);
    fprintf(out, slot_text, pending, pending, pending, DEVICE_SLOT_BYTES, first + DEVICE_SLOT_PARAMETERS);
    for (size_t p = 0; p < sizeof prefixes / sizeof *prefixes; p++)
        for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
            write_function(out, prefixes[p], &functions[i], false);
            if (functions[i].per_thread)
                write_function(out, prefixes[p], &functions[i], true);
        }
}

bool device_runtime_wanted(const char *text)
{
    return strstr(text, "__cudaCDP2") || strstr(text, "cudaGetParameterBuffer");
}

enum corun_status device_runtime_link(const struct context *context, uint32_t devices, const char *text, size_t bytes,
                                      struct corun_diagnostics *list, char **linked, size_t *linked_bytes)
{
    struct ptx_link link = {0};
    char *library = NULL;
    size_t library_bytes = 0;
    enum corun_status status = CORUN_MEMORY;
    *linked = NULL;
    FILE *out = open_memstream(&library, &library_bytes);
    if (!out)
        return CORUN_MEMORY;
    device_runtime_write(out, context, devices);
    if (!fclose(out) && ptx_link_add(&link, text, bytes, false) && ptx_link_add(&link, library, library_bytes, true))
        status = ptx_link_finish(&link, list, linked, linked_bytes);
    ptx_link_free(&link);
    free(library);
    return status;
}
