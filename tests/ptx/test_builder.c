/* SPDX-License-Identifier: MIT */
/* Modules rewritten by a builder: copies are equal, edits say what they should, what does not fit is refused. */
#include "ptx_text.h"

#include "ptx/builder.h"
#include "ptx/printer.h"

static struct ptx_module *finish(struct ptx_builder *builder)
{
    struct corun_diagnostics *list = corun_diagnostics_create();
    struct ptx_module *module;
    if (ptx_builder_finish(builder, list, &module) != CORUN_OK)
        fail_msg("%s", corun_diagnostics_get(list, 0)->message);
    corun_diagnostics_destroy(list);
    ptx_builder_destroy(builder);
    return module;
}

/* The builder's module is the one of `text`. */
static void expect(struct ptx_builder *builder, const char *text)
{
    struct ptx_module *wanted = parse_text(text), *built = finish(builder);
    if (!ptx_module_equal(wanted, built)) {
        char *found;
        size_t bytes;
        assert_int_equal(ptx_print(built, &found, &bytes), CORUN_OK);
        fail_msg("found\n%s", found);
    }
    ptx_module_destroy(wanted);
    ptx_module_destroy(built);
}

static struct ptx_builder *start(const char *text)
{
    struct ptx_module *source = parse_text(text);
    struct ptx_builder *builder = ptx_builder_create(source);
    assert_non_null(builder);
    ptx_module_destroy(source); /* the copy needs nothing of it */
    return builder;
}

static void rewrite_unchanged(struct ptx_builder *builder, uint32_t function)
{
    ptx_body_begin(builder, function);
    while (ptx_body_next(builder))
        ptx_body_keep(builder);
    ptx_body_end(builder);
}

static void is_copied(const char *text, size_t bytes)
{
    (void)bytes;
    expect(start(text), text);
    struct ptx_module *source = parse_text(text);
    struct ptx_builder *builder = start(text);
    for (uint32_t f = 0; f < source->function_count; f++)
        if (source->functions[f]->has_body)
            rewrite_unchanged(builder, f);
    struct ptx_module *built = finish(builder);
    assert_true(ptx_module_equal(source, built));
    for (uint32_t f = 0; f < source->function_count; f++) /* faults name the lines of the source */
        for (uint32_t k = 0; k < source->functions[f]->instruction_count; k++)
            assert_int_equal(source->functions[f]->instructions[k].place.line,
                             built->functions[f]->instructions[k].place.line);
    ptx_module_destroy(source);
    ptx_module_destroy(built);
}

static void corpus_is_copied(void **state)
{
    (void)state;
    each_of_corpus(is_copied);
}

/* As a slice of a grid does it: %ctaid.x is what the hardware says plus a parameter. */
/* Registers of 128 bits are copied, though what is written of them reads as another module. */
static void wide_registers_are_copied(void **state)
{
    (void)state;
    struct ptx_module *module = parse_text(
        ENTRY(".reg .b128 %q; mov.b128 %q, {%rd1, %rd2}; atom.global.exch.b128 %q, [%rd1], %q; st.b128 [%rd2], %q;"));
    struct ptx_builder *builder = ptx_builder_create(module);
    struct ptx_module *built;
    assert_int_equal(ptx_builder_finish(builder, NULL, &built), CORUN_OK);
    assert_true(ptx_module_equal(module, built));
    ptx_builder_destroy(builder);
    ptx_module_destroy(built);
    ptx_module_destroy(module);
}

static void special_register_is_replaced(void **state)
{
    (void)state;
    struct ptx_builder *builder =
        start(HEAD ".entry k(.param .u32 n) {\n.reg .b32 %r0, %r1; .reg .b64 %d; .reg .b16 %h;\n"
                   "AGAIN: mov.u32 %r0, %ctaid.x; mov.u16 %h, %ctaid.x; cvt.u64.u32 %d, %ctaid.x;\n"
                   "mov.u32 %r1, %ctaid.y; bra AGAIN;\n}\n");
    uint32_t index = ptx_builder_register(builder, 0, "first", PTX_TYPE_U32);
    const struct ptx_variable *parameter = ptx_builder_parameter(builder, 0, "n", PTX_TYPE_U32);
    assert_string_equal(parameter->name, "n$1");
    assert_int_equal(ptx_builder_replace_special(builder, 0, PTX_SPECIAL_CTAID_X, index), 3);
    assert_int_equal(ptx_builder_replace_special(builder, 0, PTX_SPECIAL_TID_X, index), 0);
    ptx_body_begin(builder, 0);
    struct ptx_instruction load = ptx_make(PTX_OP_LD, PTX_TYPE_U32);
    load.space = PTX_SPACE_PARAM;
    ptx_body_emit(builder, load, 2, (struct ptx_operand[]){ptx_register(index), ptx_address_in(parameter, 0)});
    ptx_body_emit(builder, ptx_make(PTX_OP_ADD, PTX_TYPE_U32), 3,
                  (struct ptx_operand[]){ptx_register(index), ptx_register(index), ptx_integer(7)});
    ptx_body_end(builder);
    expect(builder, HEAD ".entry k(.param .u32 n, .param .u32 n2) {\n.reg .b32 %r0, %r1; .reg .b64 %d; .reg .b16 %h;\n"
                         ".reg .u32 f; ld.param.u32 f, [n2]; add.u32 f, f, 7;\n"
                         "AGAIN: mov.u32 %r0, f; cvt.u16.u32 %h, f; cvt.u64.u32 %d, f;\n"
                         "mov.u32 %r1, %ctaid.y; bra AGAIN;\n}\n");
}

/* In front of an instruction, behind it, in its place; labels keep theirs, and new ones come in between. */
static void instructions_come_and_go(void **state)
{
    (void)state;
    struct ptx_builder *builder = start(HEAD ".entry k() {\n.reg .b32 %r; .reg .pred %p;\n"
                                             "setp.eq.u32 %p, %r, 0; @%p bra END; add.u32 %r, %r, 1;\n"
                                             "MIDDLE: ret; bra MIDDLE;\nEND:\n}\n");
    ptx_body_begin(builder, 0);
    uint32_t last = ptx_body_label(builder, "last");
    for (const struct ptx_instruction *next; (next = ptx_body_next(builder));) {
        if (next->opcode == PTX_OP_RET) {
            struct ptx_instruction jump = ptx_make(PTX_OP_BRA, PTX_TYPE_NONE);
            jump.guard = next->guard;
            ptx_body_emit(builder, jump, 1, (struct ptx_operand[]){ptx_label_of(last)});
        } else if (next->opcode == PTX_OP_ADD) {
            ptx_body_emit(builder, ptx_make(PTX_OP_MEMBAR, PTX_TYPE_NONE), 0, NULL);
            ptx_body_keep(builder);
            ptx_body_keep(builder);
        } else {
            ptx_body_keep(builder);
        }
    }
    ptx_body_place_label(builder, last);
    ptx_body_emit(builder, ptx_make(PTX_OP_EXIT, PTX_TYPE_NONE), 0, NULL);
    ptx_body_end(builder);
    rewrite_unchanged(builder, 0); /* what was written can be written again */
    struct corun_diagnostics *list = corun_diagnostics_create();
    struct ptx_module *module;
    assert_int_equal(ptx_builder_finish(builder, list, &module), CORUN_SYNTAX); /* membar wants a scope */
    assert_null(module);
    assert_non_null(strstr(corun_diagnostics_get(list, 0)->message, "membar"));
    corun_diagnostics_destroy(list);
    ptx_builder_destroy(builder);
}

static void labels_are_in_order(void **state)
{
    (void)state;
    struct ptx_builder *builder =
        start(HEAD ".entry k() {\n.reg .b32 %r;\nA: bra B;\nB: ret;\nT: .branchtargets B, A;\nbrx.idx %r, T;\n}\n");
    ptx_body_begin(builder, 0);
    uint32_t begin = ptx_body_label(builder, "begin"), end = ptx_body_label(builder, "end");
    ptx_body_place_label(builder, begin);
    ptx_body_emit(builder, ptx_make(PTX_OP_BRA, PTX_TYPE_NONE), 1, (struct ptx_operand[]){ptx_label_of(end)});
    while (ptx_body_next(builder))
        ptx_body_keep(builder);
    ptx_body_place_label(builder, end);
    ptx_body_emit(builder, ptx_make(PTX_OP_BRA, PTX_TYPE_NONE), 1, (struct ptx_operand[]){ptx_label_of(begin)});
    ptx_body_end(builder);
    rewrite_unchanged(builder, 0);
    expect(builder, HEAD ".entry k() {\n.reg .b32 %r;\nN: bra M; A: bra B;\nB: ret;\nT: .branchtargets B, A;\n"
                         "brx.idx %r, T;\nM: bra N;\n}\n");
}

/* A device function gets a parameter, its callers hand it on; calls through pointers and to others stay. */
static void calls_get_arguments(void **state)
{
    (void)state;
    static const char prototypes[] =
        ".func (.reg .u32 v) g(.reg .u32 a);\n.func f(.param .u64 a) {\n.reg .u32 x; call (x), g, (x); ret;\n}\n";
    char text[2048], wanted[2048];
    snprintf(text, sizeof text,
             HEAD "%s.entry k() {\n.reg .b64 %%d; .reg .b32 %%r; call f, (%%d);\n"
                  "P: .callprototype _ (.param .u64 _); call %%d, (1), P; call.uni (%%r), g, (%%r);\n}\n",
             prototypes);
    struct ptx_builder *builder = start(text);
    const struct ptx_function *first = ptx_builder_function(builder, 0);
    uint32_t f = !strcmp(first->name, "f") ? 0 : 1, k = 2;
    assert_string_equal(ptx_builder_function(builder, f)->name, "f");
    ptx_builder_parameter(builder, f, "block", PTX_TYPE_U32);
    ptx_body_begin(builder, k);
    for (const struct ptx_instruction *next; (next = ptx_body_next(builder));) {
        if (next->call && next->call->function == ptx_builder_function(builder, f))
            ptx_body_keep_call(builder, 1, (struct ptx_operand[]){ptx_register(1)});
        else
            ptx_body_keep(builder);
    }
    ptx_body_end(builder);
    snprintf(
        wanted, sizeof wanted,
        HEAD
        ".func (.reg .u32 v) g(.reg .u32 a);\n.func f(.param .u64 a, .param .u32 b) {\n.reg .u32 x; call (x), g, (x); "
        "ret;\n}\n.entry k() {\n.reg .b64 %%d; .reg .b32 %%r; call f, (%%d, %%r);\n"
        "P: .callprototype _ (.param .u64 _); call %%d, (1), P; call.uni (%%r), g, (%%r);\n}\n");
    expect(builder, wanted);
}

static void missing_argument_is_refused(void **state)
{
    (void)state;
    struct ptx_builder *builder = start(HEAD ".func f() { ret; }\n.entry k() { call f; ret; }\n");
    ptx_builder_parameter(builder, 0, "block", PTX_TYPE_U32);
    struct corun_diagnostics *list = corun_diagnostics_create();
    struct ptx_module *module;
    assert_int_equal(ptx_builder_finish(builder, list, &module), CORUN_SYNTAX);
    assert_string_equal(corun_diagnostics_get(list, 0)->message, "'f' takes 1 argument, found 0");
    assert_null(module);
    corun_diagnostics_destroy(list);
    ptx_builder_destroy(builder);
}

/* Parameters are laid out again, the carry flag stays the last register, shared memory that is named is counted. */
static void layout_follows(void **state)
{
    (void)state;
    struct ptx_builder *builder =
        start(HEAD ".global .u32 table[4];\n.entry k(.param .u8 a) {\n.shared .u32 own; .reg .u32 %r;\n"
                   "add.cc.u32 %r, %r, %r; addc.u32 %r, %r, 0;\n}\n");
    const struct ptx_variable *late = ptx_builder_parameter(builder, 0, "late", PTX_TYPE_U64);
    const struct ptx_variable *queue = ptx_builder_variable(builder, PTX_SPACE_SHARED, "table", PTX_TYPE_U32, 2, 4);
    uint32_t x = ptx_builder_register(builder, 0, "x", PTX_TYPE_U32);
    assert_int_equal(ptx_builder_register(builder, 0, "x", PTX_TYPE_U32), x + 1); /* names need not be unique */
    assert_string_equal(queue->name, "table$1");
    ptx_body_begin(builder, 0);
    struct ptx_instruction store = ptx_make(PTX_OP_ST, PTX_TYPE_U32);
    store.space = PTX_SPACE_SHARED;
    ptx_body_emit(builder, store, 2, (struct ptx_operand[]){ptx_address_in(queue, 4), ptx_register(x)});
    ptx_body_end(builder);
    struct ptx_module *built = finish(builder);
    assert_int_equal(late->offset, 8);
    assert_int_equal(built->functions[0]->parameter_bytes, 16);
    assert_int_equal(built->functions[0]->shared_count, 2);
    assert_int_equal(queue->index, 1); /* in front of the variables of bodies */
    assert_int_equal(built->functions[0]->instructions[1].carry_flag, x + 2);
    struct ptx_module *wanted =
        parse_text(HEAD ".global .u32 table[4];\n.shared .u32 table$1[2];\n.entry k(.param .u8 a, .param .u64 b) {\n"
                        ".shared .u32 own; .reg .u32 %r, x, y;\nst.shared.u32 [table$1+4], x;\n"
                        "add.cc.u32 %r, %r, %r; addc.u32 %r, %r, 0;\n}\n");
    assert_true(ptx_module_equal(wanted, built));
    ptx_module_destroy(wanted);
    ptx_module_destroy(built);
}

/* A structure behind the other parameters, aligned as it wants. */
static void structure_is_a_parameter(void **state)
{
    (void)state;
    struct ptx_builder *builder = start(HEAD ".entry k(.param .u32 a) {\n.reg .u32 %r; ret;\n}\n");
    const struct ptx_variable *parameter = ptx_builder_parameter_bytes(builder, 0, "a", 24, 8);
    assert_string_equal(parameter->name, "a$1");
    ptx_body_begin(builder, 0);
    struct ptx_instruction load = ptx_make(PTX_OP_LD, PTX_TYPE_U32);
    load.space = PTX_SPACE_PARAM;
    ptx_body_emit(builder, load, 2, (struct ptx_operand[]){ptx_register(0), ptx_address_in(parameter, 20)});
    ptx_body_end(builder);
    struct ptx_module *built = finish(builder);
    assert_int_equal(parameter->offset, 8);
    assert_int_equal(built->functions[0]->parameter_bytes, 32);
    struct ptx_module *wanted = parse_text(HEAD ".entry k(.param .u32 a, .param .align 8 .b8 b[24]) {\n"
                                                ".reg .u32 %r; ld.param.u32 %r, [b+20]; ret;\n}\n");
    assert_true(ptx_module_equal(wanted, built));
    ptx_module_destroy(wanted);
    ptx_module_destroy(built);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(corpus_is_copied),
        cmocka_unit_test(wide_registers_are_copied),
        cmocka_unit_test(special_register_is_replaced),
        cmocka_unit_test(instructions_come_and_go),
        cmocka_unit_test(labels_are_in_order),
        cmocka_unit_test(calls_get_arguments),
        cmocka_unit_test(missing_argument_is_refused),
        cmocka_unit_test(layout_follows),
        cmocka_unit_test(structure_is_a_parameter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
