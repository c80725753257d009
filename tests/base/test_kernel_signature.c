/* SPDX-License-Identifier: MIT */
/* What C++ says of kernels beside their names, and texts that are none of them. */
#include "base/kernel_signature.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* With brackets and commas for their marks, as people read them. */
static void expect(const char *mangled, const char *wanted)
{
    static const char *const marks[] = {"", "<", ">", "(", ")", ", "};
    struct arena *arena = arena_create();
    const char *signature = kernel_signature(arena, mangled);
    char text[1024] = "";
    for (const char *at = signature; at && *at; at++) {
        size_t used = strlen(text);
        assert_true(used < sizeof text - 3);
        if (*at <= SIGNATURE_NEXT)
            strcpy(text + used, marks[(int)*at]);
        else
            text[used] = *at;
    }
    if (wanted)
        assert_string_equal(text, wanted);
    else
        assert_null(signature);
    arena_destroy(arena);
}

static void reads_names(void **state)
{
    (void)state;
    expect("_Z4stepv", "step");
    expect("_Z5scalePfi", "scale(float*, int)");
    expect("_Z3addPKfS0_Pfm", "add(float const*, float const*, float*, unsigned long)");
    expect("_Z6reduceIfLi256EEvPT_", "reduce<float, 256>(float*)");
    expect("_Z1fIN4plusIfEELi128ENS_6policyILi1ELi4EEEEvPT_", "f<plus<float>, 128, f::policy<1, 4>>(plus<float>*)");
    expect("_ZN3cub6DeviceI6policyIfLb1EEE3runIiJfdEEEvPKT_DpT0_",
           "cub::Device<policy<float, true>>::run<int, float, double>(int const*, float, double)");
    expect("_ZN12_GLOBAL__N_14kernEPi", "(anonymous namespace)::kern(int*)");
    expect("_Z1hPFvifE", "h(void (*)(int, float))");
    expect("_Z1gIXadL_Z3dbliEEEvPi", "g<&dbl(int)>(int*)");
    expect("_Z1kILin5ELb0EEvv", "k<-5, false>");
    expect("_ZZ4mainENKUlvE_clEv", NULL); /* operators are not kernels */
    expect("_ZL4oncePi.isra.0", "once(int*)");
}

static void refuses_what_is_none(void **state)
{
    static const char whole[] = "_ZN3cub6DeviceI6policyIfLb1EEE3runIiJfdEEEvPKT_DpT0_";
    char part[sizeof whole], *deep = calloc(1, 20000);
    (void)state;
    expect("sgemm_nt", NULL);
    expect("", NULL);
    expect("_Z", NULL);
    expect("_Z99999999999999999999x", NULL);
    expect("_Z1fS9_", NULL);
    expect("_Z1fT_", NULL);
    for (size_t left = 0; left < sizeof whole; left++) { /* it may be a shorter name */
        struct arena *arena = arena_create();
        memcpy(part, whole, left);
        part[left] = 0;
        (void)kernel_signature(arena, part);
        arena_destroy(arena);
    }
    /* as deep as somebody likes, and as long: each substitution doubles what it is made of */
    strcpy(deep, "_Z1f");
    memset(deep + 4, 'P', 10000);
    expect(deep, NULL);
    memset(deep + 4, 'J', 10000);
    memcpy(deep + 2, "1fI", 3);
    expect(deep, NULL);
    strcpy(deep, "_Z1f1aIiiE");
    for (char last = 0; last < 60; last++)
        sprintf(deep + strlen(deep), "1aIS%.1s_S%.1s_E", &"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[last % 36],
                &"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[last % 36]);
    struct arena *arena = arena_create();
    (void)kernel_signature(arena, deep);
    arena_destroy(arena);
    free(deep);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(reads_names), cmocka_unit_test(refuses_what_is_none)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
