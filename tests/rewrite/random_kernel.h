/* SPDX-License-Identifier: MIT */
/*
 * A kernel made from bytes: any bytes give PTX that is well-formed and ends. It reads its place in the grid in every way that PTX has,
 * in branches, loops and functions, and adds what it has computed to words of a buffer and to variables, so that the order of threads does not matter. Threads
 * wait for each other, some of them after others have ended.
 */
#ifndef TESTS_REWRITE_RANDOM_KERNEL_H
#define TESTS_REWRITE_RANDOM_KERNEL_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { RANDOM_KERNEL_BYTES = 65536, RANDOM_WORDS = 1024, RANDOM_FUNCTIONS = 4, RANDOM_REGISTERS = 6 };

struct random_kernel {
    const uint8_t *data; /* where the choices come from; zeros behind its end */
    size_t bytes, next;
    char text[RANDOM_KERNEL_BYTES];
    size_t length;
    uint32_t labels, depth, statements;
    uint32_t functions; /* those above the one that is written: it may call them */
    uint32_t pointed;   /* mask of functions whose addresses are in the table */
    bool in_kernel;
    uint32_t grid[3], block;
};

static inline uint32_t choose(struct random_kernel *kernel, uint32_t count)
{
    uint8_t byte = kernel->next < kernel->bytes ? kernel->data[kernel->next++] : 0;
    return byte % count;
}

static inline void __attribute__((format(printf, 2, 3))) say(struct random_kernel *kernel, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(kernel->text + kernel->length, sizeof kernel->text - kernel->length, format, arguments);
    va_end(arguments);
    size_t room = sizeof kernel->text - kernel->length;
    kernel->length += (size_t)length < room ? (size_t)length : room - 1;
}

static inline uint32_t any(struct random_kernel *kernel)
{
    return choose(kernel, RANDOM_REGISTERS);
}

static inline const char *guard_of(struct random_kernel *kernel)
{
    static const char *const guards[] = {"", "", "@%p0 ", "@!%p1 "};
    return guards[choose(kernel, 4)];
}

static inline void say_read(struct random_kernel *kernel)
{
    static const char *const names[] = {"%ctaid.x",      "%ctaid.y",      "%ctaid.z",     "%nctaid.x",
                                        "%nctaid.y",     "%nctaid.z",     "%tid.x",       "%ntid.x",
                                        "%ctaid.w",      "%clusterid.x",  "%clusterid.y", "%clusterid.z",
                                        "%nclusterid.x", "%nclusterid.z", "%ctaid.x",     "%ctaid.y"};
    const char *name = names[choose(kernel, 16)], *guard = guard_of(kernel);
    uint32_t to = any(kernel);
    switch (choose(kernel, 6)) {
    case 0:
        say(kernel, "%smov.b32 %%r%u, %s;\n", guard, to, name);
        break;
    case 1:
        say(kernel, "mov.u16 %%h, 5;\n%smov.u16 %%h, %s;\ncvt.u32.u16 %%r%u, %%h;\n", guard, name, to);
        break;
    case 2:
        say(kernel, "mov.u64 %%d1, 6;\n%scvt.u64.u32 %%d1, %s;\ncvt.u32.u64 %%r%u, %%d1;\n", guard, name, to);
        break;
    case 3:
        say(kernel, "mov.b32 %%f, 7;\n%scvt.rn.f32.s32 %%f, %s;\nmov.b32 %%r%u, %%f;\n", guard, name, to);
        break;
    default:
        say(kernel, "%smov.u32 %%r%u, %s;\n", guard, to, name);
    }
}

static inline void say_call(struct random_kernel *kernel)
{
    uint32_t callee = choose(kernel, RANDOM_FUNCTIONS), argument = any(kernel), to = any(kernel);
    if (callee >= kernel->functions)
        return;
    say(kernel, "{\n.param .b32 v;\n.param .b32 q;\nst.param.b32 [v], %%r%u;\n", argument);
    if (kernel->pointed >> callee & 1 && choose(kernel, 2))
        say(kernel,
            "ld.global.u64 %%d1, [table+%u];\nP%u: .callprototype (.param .b32 _) _ (.param .b32 _);\n"
            "call (q), %%d1, (v), P%u;\n",
            8 * callee, kernel->labels, kernel->labels);
    else
        say(kernel, "call (q), f%u, (v);\n", callee);
    kernel->labels++;
    say(kernel, "ld.param.b32 %%r%u, [q];\n}\n", to);
}

/* Variables of the module: sums that nobody reads, and tables in global and constant memory, at a fixed place or one that is computed, through every kind of address. */
static inline void say_variable(struct random_kernel *kernel)
{
    uint32_t a = any(kernel), b = any(kernel), at = 4 * choose(kernel, 4);
    const char *guard = guard_of(kernel);
    switch (choose(kernel, 8)) {
    case 0:
        say(kernel, "%sred.global.add.u32 [sums+%u], %%r%u;\n", guard, at, a);
        break;
    case 1:
        say(kernel, "%sld.const.u32 %%r%u, [weights+%u];\n", guard, a, at);
        break;
    case 2:
        say(kernel,
            "and.b32 %%r%u, %%r%u, 3;\nmul.wide.u32 %%d1, %%r%u, 4;\nmov.u64 %%d3, weights;\nadd.u64 %%d3, %%d3, "
            "%%d1;\n%sld.const.u32 %%r%u, [%%d3];\n",
            a, a, a, guard, b);
        break;
    case 3:
        say(kernel, "cvta.const.u64 %%d1, weights;\n%sld.u32 %%r%u, [%%d1+%u];\n", guard, a, at);
        break;
    case 4:
        say(kernel, "%scvta.global.u64 %%d2, sums;\n%sred.add.u32 [%%d2+%u], %%r%u;\n", guard, guard, at, a);
        break;
    case 5: /* such functions have no copies of constants */
        say(kernel, "cvta.const.u64 %%d1, weights;\ncvta.to.const.u64 %%d3, %%d1;\n%sld.const.u32 %%r%u, [%%d3+%u];\n",
            guard, a, at);
        break;
    default:
        say(kernel, "mov.u64 %%d1, fixed+4;\n%sld.global.u32 %%r%u, [%%d1+%u];\n", guard, a, at % 12);
    }
}

static inline void say_block(struct random_kernel *kernel);

static inline void say_statement(struct random_kernel *kernel)
{
    static const char *const operations[] = {"add.u32", "sub.u32", "mul.lo.u32", "xor.b32", "and.b32", "shl.b32"};
    uint32_t a = any(kernel), b = any(kernel), c = any(kernel), label = kernel->labels;
    switch (choose(kernel, 16)) {
    case 14:
    case 15:
        say_variable(kernel);
        break;
    case 13:
        say(kernel, "%sld.global.u32 %%r%u, [fixed+%u];\n", guard_of(kernel), a, 4 * choose(kernel, 4));
        break;
    case 12: /* where all threads come that have not ended */
        if (!kernel->in_kernel || kernel->depth)
            return;
        if (choose(kernel, 3))
            say(kernel, "bar.sync %u;\n", choose(kernel, 3));
        else if (choose(kernel, 2))
            say(kernel, "bar.red.popc.u32 %%r%u, 0, %%p0;\n", a);
        else
            say(kernel, "%s ret;\n", choose(kernel, 2) ? "@%p0" : "@!%p1");
        break;
    case 0:
    case 1:
    case 2:
    case 3:
        say_read(kernel);
        break;
    case 4:
        say(kernel, "setp.%s.u32 %%p%u, %%r%u, %u;\n", choose(kernel, 2) ? "lt" : "eq", choose(kernel, 2), a,
            choose(kernel, 4));
        break;
    case 5:
        say_call(kernel);
        break;
    case 6:
        kernel->labels++;
        say(kernel, "%sbra E%u;\n", choose(kernel, 2) ? "@%p0 " : "@!%p1 ", label);
        say_block(kernel);
        say(kernel, "E%u:\n", label);
        break;
    case 7:
        if (kernel->depth > 1)
            return; /* loops in loops take long */
        kernel->labels++;
        say(kernel, "mov.u32 %%n%u, 0;\nL%u:\n", kernel->depth, label);
        say_block(kernel);
        say(kernel, "add.u32 %%n%u, %%n%u, 1;\nsetp.lt.u32 %%q, %%n%u, %u;\n@%%q bra L%u;\n", kernel->depth,
            kernel->depth, kernel->depth, 1 + choose(kernel, 3), label);
        break;
    case 8:
        say(kernel,
            "and.b32 %%r%u, %%r%u, %u;\nmul.wide.u32 %%d1, %%r%u, 4;\nadd.u64 %%d1, %%d0, %%d1;\n"
            "red.global.add.u32 [%%d1], %%r%u;\n",
            a, a, RANDOM_WORDS - 1, a, b);
        break;
    case 9:
        say(kernel, "mad.lo.u32 %%r%u, %%s%u, %%r%u, %%r%u;\n", a, choose(kernel, 3), b, c);
        break;
    default:
        say(kernel, "%s%s %%r%u, %%r%u, %%r%u;\n", guard_of(kernel), operations[choose(kernel, 6)], a, b, c);
    }
}

static inline void say_block(struct random_kernel *kernel)
{
    uint32_t count = choose(kernel, 6);
    if (++kernel->depth < 5)
        for (uint32_t i = 0; i < count && kernel->statements < 200; i++, kernel->statements++)
            say_statement(kernel);
    kernel->depth--;
}

static inline void say_body(struct random_kernel *kernel, uint32_t least)
{
    kernel->depth = kernel->statements = 0;
    for (uint32_t i = 0, count = least + choose(kernel, 12); i < count; i++)
        say_statement(kernel);
}

#define RANDOM_DECLARATIONS \
    ".reg .b32 %%r<6>, %%n<8>, %%s<3>;\n.reg .b64 %%d<4>;\n.reg .b16 %%h;\n.reg .f32 %%f;\n.reg .pred %%p<2>, %%q;\n"

/* Every register has a value at the beginning, and perhaps, in registers of their own, those of %ctaid. */
static inline void say_beginning(struct random_kernel *kernel)
{
    say(kernel, RANDOM_DECLARATIONS);
    for (uint32_t i = 0; i < RANDOM_REGISTERS; i++) {
        if (i < 3 && choose(kernel, 2))
            say(kernel, "mov.u32 %%s%u, %%ctaid.%c;\n", i, "xyz"[i]);
        else if (i < 3)
            say(kernel, "mov.u32 %%s%u, %u;\n", i, i);
        say(kernel, "mov.u32 %%r%u, %u;\n", i, 7 * i);
    }
    say(kernel, "setp.eq.u32 %%p0, %%s0, %u;\nsetp.ne.u32 %%p1, %%s1, %u;\n", choose(kernel, 4), choose(kernel, 4));
}

/* The text is a kernel `k` with the address of RANDOM_WORDS words as its parameter, and the launch is small. */
static inline void random_kernel_make(struct random_kernel *kernel, const uint8_t *data, size_t bytes)
{
    kernel->data = data;
    kernel->bytes = bytes;
    kernel->next = kernel->length = kernel->labels = kernel->functions = 0;
    kernel->in_kernel = false;
    kernel->pointed = choose(kernel, 1u << RANDOM_FUNCTIONS) & choose(kernel, 1u << RANDOM_FUNCTIONS);
    for (uint32_t i = 0; i < 3; i++)
        kernel->grid[i] = 1 + choose(kernel, 5);
    kernel->block = 1 + choose(kernel, 40);
    uint32_t functions = choose(kernel, RANDOM_FUNCTIONS + 1);
    say(kernel, ".version 7.0\n.target sm_75\n.address_size 64\n.global .u64 buffer;\n"
                ".global .u32 fixed[4] = {3, 141, 59, 26};\n.global .u32 sums[4];\n"
                ".const .u32 weights[4] = {53, 58, 979, 32};\n");
    kernel->pointed &= (1u << functions) - 1;
    for (uint32_t f = 0; f < functions; f++)
        say(kernel, ".func (.param .b32 r) f%u(.param .b32 a);\n", f);
    if (kernel->pointed) {
        say(kernel, ".global .u64 table[%u] = {", RANDOM_FUNCTIONS);
        for (uint32_t i = 0; i < RANDOM_FUNCTIONS; i++)
            if (kernel->pointed >> i & 1)
                say(kernel, "%sf%u", i ? ", " : "", i);
            else
                say(kernel, "%s0", i ? ", " : "");
        say(kernel, "};\n");
    }
    for (; kernel->functions < functions; kernel->functions++) {
        say(kernel, ".func (.param .b32 r) f%u(.param .b32 a)\n{\n", kernel->functions);
        say_beginning(kernel);
        say(kernel, "ld.global.u64 %%d0, [buffer];\nld.param.b32 %%r0, [a];\n");
        say_body(kernel, 1);
        say(kernel, "st.param.b32 [r], %%r%u;\nret;\n}\n", any(kernel));
    }
    say(kernel, ".visible .entry k(.param .u64 out)\n{\n");
    say_beginning(kernel);
    say(kernel, "ld.param.u64 %%d0, [out];\nst.global.u64 [buffer], %%d0;\n");
    kernel->in_kernel = true;
    say_body(kernel, 4);
    for (uint32_t i = 0; i < RANDOM_REGISTERS; i++) /* whatever it has computed */
        say(kernel,
            "mul.lo.u32 %%n0, %%r%u, %u;\nshr.u32 %%n0, %%n0, 22;\nmul.wide.u32 %%d1, %%n0, 4;\n"
            "add.u64 %%d1, %%d0, %%d1;\nred.global.add.u32 [%%d1], %u;\n",
            i, 2654435761u + 2 * i, i + 1);
    say(kernel, "ret;\n}\n");
}

#endif
