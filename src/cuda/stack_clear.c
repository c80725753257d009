/* SPDX-License-Identifier: MIT */
#include "cuda/stack_clear.h"

#include "cuda/settings.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define CLEARED_BYTES ((size_t)1 << 17)

uintptr_t stack_find_end(void)
{
    pthread_attr_t attributes;
    void *end = NULL;
    size_t bytes = 0;
    if (pthread_getattr_np(pthread_self(), &attributes))
        return UINTPTR_MAX;
    if (pthread_attr_getstack(&attributes, &end, &bytes))
        end = (void *)UINTPTR_MAX;
    pthread_attr_destroy(&attributes);
    return (uintptr_t)end;
}

/* In a function of its own: nothing of it may be there unless there is room. */
static __attribute__((noinline)) void clear(void)
{
    uint8_t left[CLEARED_BYTES];
    memset(left, 0, sizeof left);
    __asm__ volatile("" : : "r"(left) : "memory"); /* it is written, although nobody reads it */
}

/*
 * Nobody may count on vector registers behind a call, and so the dynamic linker puts them on the stack when the program calls a function for the first
 * time. Those above the fifteenth exist with AVX-512 alone.
 */
static void clear_registers(void)
{
#define CLEAR(number) "vpxord %%zmm" #number ", %%zmm" #number ", %%zmm" #number "\n\t"
    if (__builtin_cpu_supports("avx"))
        __asm__ volatile("vzeroall"
                         :
                         :
                         : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",
                           "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
    if (__builtin_cpu_supports("avx512f"))
        __asm__ volatile(CLEAR(16) CLEAR(17) CLEAR(18) CLEAR(19) CLEAR(20) CLEAR(21) CLEAR(22) CLEAR(23) CLEAR(24)
                             CLEAR(25) CLEAR(26) CLEAR(27) CLEAR(28) CLEAR(29) CLEAR(30) CLEAR(31)
                         :
                         :
                         :); /* nothing of ours is compiled for AVX-512 */
#undef CLEAR
}

__attribute__((noinline)) void stack_clear(uintptr_t end)
{
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    if (here > end && here - end > 2 * CLEARED_BYTES)
        clear();
    clear_registers();
}

/* Before the program begins: what the dynamic linker has left has to do with the environment. */
static __attribute__((constructor)) void clear_before_program(void)
{
    const char *file = getenv(setting_CHECKPOINT), *resume = getenv(setting_RESUME);
    if ((file && *file) || (resume && *resume))
        stack_clear(stack_find_end());
}
