/* SPDX-License-Identifier: MIT */
/* What a module holds after it was parsed. */
#include "ptx_text.h"

static const struct ptx_function *entry(const struct ptx_module *module)
{
    const struct ptx_function *function = ptx_module_function(module, "k");
    assert_non_null(function);
    return function;
}

static const char *register_name(const struct ptx_function *function, const struct ptx_operand *operand)
{
    assert_int_equal(operand->kind, PTX_OPERAND_REGISTER);
    return function->registers[operand->index].name;
}

static void directives(void **state)
{
    (void)state;
    struct ptx_module *module =
        parse_text(".version 8.1\n.target sm_90a, texmode_unified, debug\n.address_size 64\n"
                   ".file 1 \"a.cu\"\n.extern .shared .align 16 .b8 s[];\n"
                   ".weak .entry k(.param .u32 a, .param .align 8 .b8 b[20], .param .u64 .ptr .global .align 4 c)\n"
                   ".maxntid 128, 2\n.reqntid 64\n.minnctapersm 3\n.maxnreg 40\n.pragma \"one\", \"two\";\n"
                   "{ .loc 1 2 3\n ret; }\n.section .debug_str { .b8 1, 2 { } }\n");
    assert_int_equal(module->version, 801);
    assert_string_equal(module->target, "sm_90a");
    assert_int_equal(module->target_sm, 90);
    assert_string_equal(module->target_options, "texmode_unified");
    assert_int_equal(module->address_bits, 64);
    const struct ptx_function *k = entry(module);
    assert_true(k->is_entry && k->has_body);
    assert_int_equal(k->linkage, PTX_LINKAGE_WEAK);
    assert_int_equal(k->maxntid[0] * 10000 + k->maxntid[1] * 10 + k->maxntid[2], 1280021);
    assert_int_equal(k->reqntid[0] * 100 + k->reqntid[1] * 10 + k->reqntid[2], 6411);
    assert_int_equal(k->minnctapersm, 3);
    assert_int_equal(k->maxnreg, 40);
    assert_int_equal(k->pragma_count, 2);
    assert_string_equal(k->pragmas[1], "two");
    const struct ptx_variable *const *p = k->signature.parameters;
    assert_int_equal(k->signature.parameter_count, 3);
    assert_int_equal(p[0]->offset, 0);
    assert_int_equal(p[1]->offset, 8);
    assert_int_equal(p[1]->bytes, 20);
    assert_int_equal(p[2]->offset, 32);
    assert_int_equal(k->parameter_bytes, 40);
    assert_true(p[2]->is_pointer && p[2]->pointer_space == PTX_SPACE_GLOBAL && p[2]->pointer_align == 4);
    const struct ptx_variable *s = ptx_module_variable(module, "s");
    assert_true(s->incomplete && !s->bytes && s->align == 16 && s->space == PTX_SPACE_SHARED);
    assert_int_equal(k->shared_count, 0); /* it does not name s */
    ptx_module_destroy(module);
}

/* PTX ISA, types of constant expressions: ~ and the operands of % are unsigned, and what follows from them is. */
static void constant_expressions(void **state)
{
    (void)state;
    struct ptx_module *module = parse_text(
        ".version 7.0\n.target sm_70\n.address_size 64\n"
        ".global .u64 x[9] = { ~5 >> 60, ~5 / 2, ~5 < 5, -7 % 2, -7 % -1, -7 / 2, -7 >> 1, -7 < 2, 7 % 4 };\n");
    static const uint64_t expected[] = {
        0xf, 0x7ffffffffffffffd, 0, 1, UINT64_MAX - 6, UINT64_MAX - 2, UINT64_MAX - 3, 1, 3};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        uint64_t value;
        memcpy(&value, module->variables[0]->initial + i * sizeof value, sizeof value);
        assert_int_equal(value, expected[i]);
    }
    ptx_module_destroy(module);
}

static void instructions(void **state)
{
    (void)state;
    struct ptx_module *module =
        parse_text(ENTRY("@!%p1 add.rn.ftz.sat.f32 %f1, %f2, 1.5;\nsetp.le.and.s32 %p1|%p2, %r1, -7, !%p3;\n"
                         "ld.volatile.shared.v2.u16 {%r1, _}, [%rd1+-8];\ncvt.rzi.s32.f64 %r1, %fd1;\n"
                         "mov.b32 %f1, 0f40490FDB;\nmov.u32 %r1, %laneid;\nfma.rn.f64 %fd1, %fd1, 0f3F800000, 2.5;\n"
                         "prmt.b32.ecl %r1, %r2, %r3, 5;\nadd.cc.u32 %r1, %r1, 1;\naddc.u32 %r2, %r2, 0;\n"
                         "ld.u64 %rd1, [p];\nmov.u32 %r1, (1 << 4 | 3) + ~0;"));
    const struct ptx_function *k = entry(module);
    const struct ptx_instruction *i = k->instructions;
    assert_int_equal(k->instruction_count, 12);
    assert_int_equal(i[0].opcode, PTX_OP_ADD);
    assert_true(i[0].rounding == PTX_ROUNDING_RN && i[0].ftz && i[0].sat && i[0].guard_negated);
    assert_string_equal(k->registers[i[0].guard].name, "%p1");
    assert_int_equal(i[0].place.line, 9);
    assert_int_equal(i[0].place.column, 1);
    assert_string_equal(register_name(k, &i[0].operands[1]), "%f2");
    assert_int_equal(i[0].operands[2].kind, PTX_OPERAND_F32);
    assert_int_equal(i[0].operands[2].bits, 0x3fc00000);
    assert_true(i[1].comparison == PTX_COMPARISON_LE && i[1].boolean == PTX_BOOLEAN_AND);
    assert_string_equal(register_name(k, &i[1].pair), "%p2");
    assert_int_equal(i[1].operands[2].offset, -7);
    assert_true(i[1].operands[3].negated);
    assert_true(i[2].semantics == PTX_SEMANTICS_VOLATILE && i[2].space == PTX_SPACE_SHARED);
    assert_int_equal(i[2].operands[0].kind, PTX_OPERAND_VECTOR);
    assert_int_equal(i[2].operands[0].elements[1].kind, PTX_OPERAND_DISCARD);
    assert_int_equal(i[2].operands[1].offset, -8);
    assert_true(i[3].types[0] == PTX_TYPE_S32 && i[3].types[1] == PTX_TYPE_F64 && i[3].rounding == PTX_ROUNDING_RZI);
    assert_int_equal(i[4].operands[1].kind, PTX_OPERAND_F32);
    assert_int_equal(i[5].operands[1].kind, PTX_OPERAND_SPECIAL);
    assert_int_equal(i[5].operands[1].index, PTX_SPECIAL_LANEID);
    assert_int_equal(i[6].operands[2].kind, PTX_OPERAND_F64); /* a single in a place of doubles */
    assert_int_equal(i[6].operands[2].bits, 0x3ff0000000000000);
    assert_int_equal(i[6].operands[3].bits, 0x4004000000000000);
    assert_int_equal(i[7].permute, PTX_PERMUTE_ECL);
    assert_int_equal(i[8].carry_flag, k->register_count - 1);
    assert_int_equal(i[9].carry_flag, k->register_count - 1);
    assert_int_equal(k->registers[i[8].carry_flag].type, PTX_TYPE_PRED);
    assert_int_equal(i[7].carry_flag, PTX_NONE);
    assert_int_equal(i[10].space, PTX_SPACE_PARAM); /* the variable says which space it is */
    assert_ptr_equal(i[10].operands[1].variable, k->signature.parameters[0]);
    assert_int_equal(i[11].operands[1].bits, 18);
    ptx_module_destroy(module);
}

static void scopes(void **state)
{
    (void)state;
    struct ptx_module *module =
        parse_text(HEAD ".global .u32 x;\n.entry k(.param .u32 p)\n{ .reg .b32 %r<5>, x;\n"
                        "mov.u32 %r1, x; { .reg .f32 %r<2>; mov.f32 %r1, 1.0; mov.u32 %r4, 2;\n"
                        "{ .reg .b32 %r1; mov.u32 %r1, 3; L: bra L; } L: bra L; } mov.u32 %r1, 4; bra L;\nL: ret; }");
    const struct ptx_function *k = entry(module);
    const struct ptx_instruction *i = k->instructions;
    assert_int_equal(i[0].operands[1].kind, PTX_OPERAND_REGISTER);
    assert_int_equal(k->registers[i[1].operands[0].index].type, PTX_TYPE_F32);
    assert_int_not_equal(i[1].operands[0].index, i[0].operands[0].index);
    assert_int_equal(k->registers[i[2].operands[0].index].type, PTX_TYPE_B32);
    assert_int_not_equal(i[3].operands[0].index, i[0].operands[0].index);
    assert_int_equal(i[6].operands[0].index, i[0].operands[0].index);
    assert_int_equal(k->labels[i[4].operands[0].index].instruction, 4); /* each scope has its own L */
    assert_int_equal(k->labels[i[5].operands[0].index].instruction, 5);
    assert_int_equal(k->labels[i[7].operands[0].index].instruction, 8);
    ptx_module_destroy(module);
}

static void initial_values(void **state)
{
    (void)state;
    struct ptx_module *module = parse_text(
        HEAD
        ".func f() { ret; }\n.global .u16 a[2][3] = {{1}, {2, 3}};\n.const .f32 b[] = {1.5, -2.0, 0f3F800000, 7};\n"
        ".global .u64 c[4] = {a, generic(a)+6, f, a-2};\n.global .u8 d[3] = {0xFF(a), 0xFF00(a+1), 9};\n"
        ".global .b8 e[1099511627776] = {5};\n.global .v2 .u32 g[2] = {{1, 2}, {3, 4}};\n.global .s64 h = -1;\n");
    const struct ptx_variable *a = ptx_module_variable(module, "a");
    assert_memory_equal(a->initial, "\1\0\0\0\0\0\2\0\3", 9);
    assert_int_equal(a->initial_bytes, 9); /* zeros at the end are not kept */
    assert_int_equal(a->bytes, 12);
    const struct ptx_variable *b = ptx_module_variable(module, "b");
    assert_int_equal(b->bytes, 16);
    assert_memory_equal(b->initial, ((float[]){1.5f, -2.0f, 1.0f, 7.0f}), 16);
    const struct ptx_relocation *c = ptx_module_variable(module, "c")->relocations;
    assert_int_equal(ptx_module_variable(module, "c")->relocation_count, 4);
    assert_true(c[0].variable == a && !c[0].generic && c[0].bytes == 8);
    assert_true(c[1].variable == a && c[1].generic && c[1].addend == 6 && c[1].offset == 8);
    assert_true(c[2].function && !strcmp(c[2].function->name, "f"));
    assert_int_equal(c[3].addend, -2);
    const struct ptx_relocation *d = ptx_module_variable(module, "d")->relocations;
    assert_true(d[0].bytes == 1 && d[0].shift == 0 && d[1].shift == 8 && d[1].addend == 1 && d[1].offset == 1);
    assert_int_equal(ptx_module_variable(module, "d")->initial[2], 9);
    assert_int_equal(ptx_module_variable(module, "e")->initial_bytes, 1);
    const struct ptx_variable *g = ptx_module_variable(module, "g");
    assert_memory_equal(g->initial, ((uint32_t[]){1, 2, 3, 4}), 16);
    assert_int_equal(g->align, 8);
    assert_int_equal(ptx_module_variable(module, "h")->initial_bytes, 8);
    ptx_module_destroy(module);
}

static void calls(void **state)
{
    (void)state;
    struct ptx_module *module = parse_text(
        HEAD ".extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 a);\n"
             ".func (.param .b32 r) later (.param .b32 a);\n.shared .u32 s;\n"
             ".entry k()\n{ .reg .b64 %rd<3>; .reg .b32 %r<3>;\n{ .param .b64 a; .param .b64 b; .param .b32 r;\n"
             "call.uni (r), vprintf, (a, b); }\n{ .param .b64 a; .param .b64 b; .param .b32 r;\n"
             "proto: .callprototype (.param .b32 _) _ (.param .b64 _, .param .b64 _);\n"
             "call (r), %rd1, (a, b), proto;\ncall (%r1), later, (7); }\nst.shared.u32 [s], 1; }\n"
             ".func (.param .b32 r) later (.param .b32 a) { st.param.b32 [r], 1; ret; }\n");
    const struct ptx_function *k = entry(module);
    const struct ptx_call *call = k->instructions[0].call;
    assert_string_equal(call->function->name, "vprintf");
    assert_false(call->function->has_body);
    assert_true(k->instructions[0].uniform);
    assert_int_equal(call->target, PTX_NONE);
    assert_int_equal(k->variable_count, 6); /* two scopes of three */
    assert_ptr_equal(call->arguments[1].variable, k->variables[1]);
    call = k->instructions[1].call;
    assert_null(call->function);
    assert_string_equal(k->registers[call->target].name, "%rd1");
    assert_int_equal(call->signature->parameter_count, 2);
    assert_ptr_equal(call->arguments[1].variable, k->variables[4]);
    call = k->instructions[2].call;
    assert_true(call->function->has_body); /* defined after the call */
    assert_int_equal(call->arguments[0].bits, 7);
    assert_int_equal(k->shared_count, 1);
    ptx_module_destroy(module);
}

static void looks_declarations_up_across_redeclarations(void **state)
{
    (void)state;
    struct ptx_module *module = parse_text(HEAD ".extern .global .u32 x[];\n.func f();\n.entry k() { ret; }\n"
                                                ".visible .global .u32 x[3] = {1};\n.visible .func f() { ret; }\n");
    assert_int_equal(module->variable_count, 1);
    assert_int_equal(module->function_count, 2);
    const struct ptx_variable *x = ptx_module_variable(module, "x");
    assert_true(x->linkage == PTX_LINKAGE_VISIBLE && x->bytes == 12 && x->initial[0] == 1 && !x->incomplete);
    assert_int_equal(ptx_module_function(module, "f")->linkage, PTX_LINKAGE_VISIBLE);
    assert_int_equal(module->functions[1]->index, 1);
    assert_null(ptx_module_function(module, "x"));
    assert_null(ptx_module_variable(module, "f"));
    ptx_module_destroy(module);
}

static void parses(const char *text, size_t bytes)
{
    enum corun_status status;
    char *messages = messages_of(text, bytes, &status);
    assert_string_equal(messages, "");
    assert_int_equal(status, CORUN_OK);
    free(messages);
}

static void corpus_parses(void **state)
{
    (void)state;
    each_of_corpus(parses);
}

static void every_supported_operation_is_in_the_corpus(void **state)
{
    (void)state;
    size_t bytes;
    char *text = read_corpus("hand_everything.ptx", &bytes);
    struct ptx_module *module = parse_text(text);
    bool seen[PTX_OP_COUNT] = {
        [PTX_OP_CREATEPOLICY] = true, /* that is read as a mov, these as lop3 and setp */
        [PTX_OP_LOP3_OR] = true,
        [PTX_OP_LOP3_AND] = true,
    };
    for (uint32_t f = 0; f < module->function_count; f++)
        for (uint32_t i = 0; i < module->functions[f]->instruction_count; i++)
            seen[module->functions[f]->instructions[i].opcode] = true;
    uint32_t missing = 0;
    for (uint32_t i = 1; i < PTX_OP_COUNT; i++) {
        if (ptx_opcodes[i].supported && !seen[i]) {
            print_message("'%s' is not in hand_everything.ptx\n", ptx_opcodes[i].word);
            missing++;
        }
    }
    assert_int_equal(missing, 0);
    ptx_module_destroy(module);
    free(text);
}

/* Addresses go around, as those of the GPU. */
static void elements_of_atomics_have_their_addresses(void **state)
{
    (void)state;
    struct ptx_module *module = parse_text(ENTRY("atom.global.add.v2.f32 {%f1, _}, [%rd1+-4], {%f2, 1.0};\n"
                                                 "red.global.add.v4.f32 [4096], {%f1, %f2, %f3, %f4};\n"
                                                 "red.global.add.v2.f32 [%rd1+9223372036854775807], {%f1, %f2};"));
    static const int64_t offsets[] = {-4, 0, 4096, 4100, 4104, 4108, INT64_MAX, INT64_MIN + 3};
    const struct ptx_function *k = entry(module);
    assert_int_equal(k->instruction_count, sizeof offsets / sizeof *offsets);
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++)
        assert_true(k->instructions[i].operands[i < 2].offset == offsets[i]);
    ptx_module_destroy(module);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(directives),
        cmocka_unit_test(instructions),
        cmocka_unit_test(constant_expressions),
        cmocka_unit_test(scopes),
        cmocka_unit_test(initial_values),
        cmocka_unit_test(calls),
        cmocka_unit_test(looks_declarations_up_across_redeclarations),
        cmocka_unit_test(elements_of_atomics_have_their_addresses),
        cmocka_unit_test(corpus_parses),
        cmocka_unit_test(every_supported_operation_is_in_the_corpus),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
