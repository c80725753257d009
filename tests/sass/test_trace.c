/* SPDX-License-Identifier: MIT */
/* Traces of machine code: what is read of a kernel's text, what its instructions ask for, and every mistake with its line. */
#include "sass/opcodes.h"
#include "sass/trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HEAD \
    "-kernel name = _Z1kPf\n-kernel id = 1\n-grid dim = (2,1,1)\n-block dim = (40,1,1)\n-shmem = 128\n-nregs = 24\n" \
    "-binary version = 70\n-cuda stream id = 0\n-shmem base_addr = 0x00007f1d80000000\n" \
    "-local mem base_addr = 0x00007f1d7e000000\n-nvbit version = 1.5\n-accelsim tracer version = 3\n\n" \
    "#traces format = PC mask dest_num [reg_dests] opcode src_num [reg_srcs] mem_width [adrrescompress?] " \
    "[mem_addresses]\n\n"
#define FIRST "#BEGIN_TB\n\nthread block = 1,0,0\n\nwarp = 0\ninsts = 1\n0100 1 0 EXIT 0 0\n\n#END_TB\n"
#define BEGIN "#BEGIN_TB\nthread block = 0,0,0\nwarp = 0\n"
#define END "#END_TB\n"

static enum corun_status read_text(const char *text, struct sass_kernel **kernel, char message[512])
{
    struct corun_diagnostics *list = corun_diagnostics_create();
    enum corun_status status = sass_kernel_read("k.traceg", text, strlen(text), list, kernel);
    message[0] = 0;
    if (corun_diagnostics_count(list)) {
        const struct corun_diagnostic *item = corun_diagnostics_get(list, 0);
        snprintf(message, 512, "%s:%u: %s", item->place.file ? item->place.file : "", item->place.line, item->message);
    }
    corun_diagnostics_destroy(list);
    return status;
}

static void reads_a_kernel(void **state)
{
    (void)state;
    static const char text[] = HEAD FIRST BEGIN "insts = 3\n"
                                                "0000 ffffffff 1 R1 IMAD.MOV.U32 2 R255 R5 0\n"
                                                "0020 0000000f 1 R4 LDG.E.64.SYS 1 R2 8 1 0x7f0000001000 8\n"
                                                "0030 0000000f 0 EXIT 0 0\n"
                                                "warp = 1\ninsts = 2\n"
                                                "0010 00000005 0 STG.E 2 R2 R4 4 2 0x7f0000002000 -256\n"
                                                "0030 000000ff 0 EXIT 0 0\n" END;
    struct sass_kernel *kernel;
    char message[512];
    assert_int_equal(read_text(text, &kernel, message), CORUN_OK);
    assert_string_equal(kernel->name, "_Z1kPf");
    assert_int_equal(kernel->tb_count, 2);
    assert_int_equal(kernel->tb_warps, 2);
    assert_int_equal(kernel->shared_bytes, 128);
    assert_int_equal(kernel->registers, 24);
    assert_int_equal(kernel->instructions.count, 6);
    assert_int_equal(kernel->thread_instructions, 1 + 32 + 4 + 4 + 2 + 8);
    assert_int_equal(kernel->code.count, 6); /* five addresses, and the EXIT that closes */
    assert_int_equal(kernel->warps.data[0].count, 3);
    assert_int_equal(kernel->warps.data[1].count, 2);
    assert_int_equal(kernel->warps.data[2].count, 1);
    assert_int_equal(kernel->warps.data[3].count, 0);
    const struct sass_instruction *first = kernel->instructions.data + kernel->warps.data[0].first;
    assert_int_equal(first[1].code, 2); /* by address, wherever it was seen first */
    assert_int_equal(sass_address(kernel, &first[1], 3), 0x7f0000001018);
    const struct sass_instruction *store = kernel->instructions.data + kernel->warps.data[1].first;
    assert_int_equal(store->code, 1);
    assert_int_equal(sass_address(kernel, store, 0), 0x7f0000002000);
    assert_int_equal(sass_address(kernel, store, 2), 0x7f0000001f00);
    const struct corun_instruction *load = &kernel->code.data[2];
    assert_int_equal(load->unit, CORUN_UNIT_MEMORY);
    assert_int_equal(load->access_bytes, 8);
    assert_int_equal(load->source_count, 2); /* both words of the address */
    assert_int_equal(load->destination_count, 2);
    assert_int_equal(load->destinations[1], 5);
    sass_kernel_destroy(kernel);
}

static void generic_addresses_have_their_space(void **state)
{
    (void)state;
    static const char text[] =
        HEAD FIRST BEGIN "insts = 1\n"
                         "0000 00000007 1 R4 LD.E 1 R2 4 0 0x7f1d80000010 0x7f1d7e000020 0x7f0000000000\n" END;
    struct sass_kernel *kernel;
    char message[512];
    assert_int_equal(read_text(text, &kernel, message), CORUN_OK);
    const struct sass_instruction *load = kernel->instructions.data + kernel->warps.data[0].first;
    static const enum corun_space spaces[] = {CORUN_SPACE_SHARED, CORUN_SPACE_LOCAL, CORUN_SPACE_GLOBAL};
    for (uint32_t lane = 0; lane < 3; lane++)
        assert_int_equal(sass_space(kernel, &kernel->code.data[load->code], sass_address(kernel, load, lane)),
                         spaces[lane]);
    sass_kernel_destroy(kernel);
}

static void versions_before_3_and_lines(void **state)
{
    (void)state;
    static const char text[] =
        "-kernel name = k\n-grid dim = (1,1,1)\n-block dim = (32,1,1)\n-accelsim tracer version = 2\n"
        "-enable lineinfo = 1\n#\n" BEGIN "insts = 1\n0 0 0 0 17 0000 ffffffff 0 EXIT 0 0\n" END;
    struct sass_kernel *kernel;
    char message[512];
    assert_int_equal(read_text(text, &kernel, message), CORUN_OK);
    assert_int_equal(kernel->thread_instructions, 32);
    sass_kernel_destroy(kernel);
}

#define BODY(lines) HEAD FIRST BEGIN lines END

static void mistakes(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "k.traceg:0: there are no thread blocks"},
        {"-grid dim = (1,1,1)\n-block dim = (1,1,1)\n#BEGIN_TB\n", "k.traceg:3: the head has no `-kernel name`"},
        {"-kernel name = k\n-block dim = (1,1,1)\n#BEGIN_TB\n", "k.traceg:3: the head has no `-grid dim`"},
        {"-kernel name = k\n-grid dim = (1,1,1)\n-block dim = (64,64,1)\n#BEGIN_TB\n",
         "k.traceg:4: the head has no `-block dim` of 1 to 1024 threads"},
        {"-kernel name = k\n-grid dim = (1,1)\n", "k.traceg:2: expected three numbers for the grid"},
        {"-kernel name = k\n-grid dim = (1,1,1\n", "k.traceg:2: the bracket of the grid is not closed"},
        {"-shmem = 2M\n", "k.traceg:1: '2M' is not the shared memory"},
        {"-nregs = 256\n", "k.traceg:1: the number of registers is more than 255"},
        {HEAD FIRST, "k.traceg:24: 1 thread blocks, but the grid has 2"},
        {HEAD FIRST FIRST, "thread block 1 of the grid comes twice"},
        {HEAD FIRST "#BEGIN_TB\n", "the last thread block does not end"},
        {HEAD FIRST "#BEGIN_TB\n#BEGIN_TB\n", "a thread block begins within another one"},
        {HEAD "#BEGIN_TB\nthread block = 2,0,0\n", "k.traceg:17: thread block 2,0,0 is outside of the grid"},
        {HEAD "#BEGIN_TB\nwarp = 0\n", "a warp of no thread block"},
        {HEAD "#BEGIN_TB\n0000 1 0 EXIT 0 0\n", "an instruction of no warp"},
        {HEAD "#END_TB\n", "a thread block ends that has not begun"},
        {HEAD "#BEGIN_TB\nthread block = 0,0,0\nwarp = 2\n", "the number of a warp is more than 1"},
        {BODY("insts = 1\n0000 1 0 EXIT 0 0\nwarp = 0\n"), "warp 0 comes a second time"},
        {BODY("insts = 2\n0000 1 0 EXIT 0 0\n"), "the warp before has 1 instructions, and has said 2"},
        {BODY("insts = 1\n0004 1 0 EXIT 0 0\n"), "PC 4 is not a multiple of 8"},
        {BODY("insts = 1\n0010 xyz 0 EXIT 0 0\n"), "k.traceg:29: 'xyz' is not a mask of active lanes"},
        {BODY("insts = 1\n0010 1ffffffff 0 EXIT 0 0\n"), "a mask of active lanes is more than 4294967295"},
        {BODY("insts = 1\n0010 1 0\n"), "the line ends where an opcode should be"},
        {BODY("insts = 1\n0010 1 1 P0 MOV 0 0\n"), "expected a register, R0 to R255"},
        {BODY("insts = 1\n0010 1 9 MOV 0 0\n"), "a number of destinations is more than 8"},
        {BODY("insts = 1\n0010 1 0 FROB.X 0 0\n"), "not supported in a trace: FROB.X"},
        {BODY("insts = 1\n0010 1 1 R0 TEX.SCR.LL 1 R2 0\n"), "not supported in a trace: TEX.SCR.LL"},
        {BODY("insts = 1\n0010 1 1 R0 HMMA.111 3 R2 R4 R6 0\n"), "not supported in a trace: HMMA.111"},
        {BODY("insts = 1\n0010 1 1 R0 LDG.E 1 R2 0\n"), "LDG.E without addresses"},
        {BODY("insts = 1\n0010 3 1 R0 LDG.E 1 R2 4 0 0x10\n"), "the line ends where an address should be"},
        {BODY("insts = 1\n0010 5 1 R0 LDG.E 1 R2 4 1 0x10 4\n"),
         "a stride of addresses, but the active lanes are not neighbours"},
        {BODY("insts = 1\n0010 3 1 R0 LDG.E 1 R2 4 2 0x10 x\n"), "'x' is not a difference of addresses"},
        {BODY("insts = 1\n0010 1 1 R0 LDG.E 1 R2 4 3 0x10\n"), "the form of the addresses is more than 2"},
        {BODY("insts = 1\n0010 1 0 EXIT 0 0 1 2\n"), "'2' is more than the instruction has"},
        {BODY("insts = 2\n0010 1 0 EXIT 0 0\n0010 1 0 NOP 0 0\n"), "PC 0010 is another instruction than in line 29"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sass_kernel *kernel;
        char message[512];
        assert_int_not_equal(read_text(cases[i].text, &kernel, message), CORUN_OK);
        assert_null(kernel);
        if (!strstr(message, cases[i].message))
            fail_msg("expected '%s', got '%s'", cases[i].message, message);
    }
}

static struct corun_instruction described(const char *opcode, uint32_t destination, const uint16_t *sources,
                                          uint32_t count)
{
    struct sass_operands operands = {.opcode = opcode, .opcode_bytes = strlen(opcode), .source_count = count};
    struct corun_instruction instruction;
    operands.destination_count = destination != SASS_ZERO_REGISTER;
    operands.destinations[0] = (uint16_t)destination;
    memcpy(operands.sources, sources, count * sizeof *sources);
    assert_true(sass_describe(&operands, &instruction));
    return instruction;
}

static void opcodes(void **state)
{
    (void)state;
    static const uint16_t three[] = {8, 16, 24};
    static const struct {
        const char *opcode;
        uint32_t unit, operation, destinations, sources, multiply_adds;
    } cases[] = {
        {"IADD3.X", CORUN_UNIT_INT, CORUN_OPERATION_ADD, 1, 3, 0},
        {"IMAD.WIDE.U32", CORUN_UNIT_INT, CORUN_OPERATION_MAD, 2, 4, 0},
        {"FFMA.FTZ", CORUN_UNIT_FP32, CORUN_OPERATION_MAD, 1, 3, 0},
        {"HFMA2.MMA", CORUN_UNIT_FP32, CORUN_OPERATION_MAD, 1, 3, 0},
        {"DFMA", CORUN_UNIT_FP64, CORUN_OPERATION_MAD, 2, 6, 0},
        {"MUFU.RCP", CORUN_UNIT_SFU, CORUN_OPERATION_ADD, 1, 3, 0},
        {"HMMA.884.F32.F32.STEP2", CORUN_UNIT_TENSOR, CORUN_TENSOR_F16, 2, 6, 8},
        {"HMMA.1688.F32", CORUN_UNIT_TENSOR, CORUN_TENSOR_F16, 4, 7, 32},
        {"HMMA.16816.F32", CORUN_UNIT_TENSOR, CORUN_TENSOR_F16, 4, 10, 64},
        {"HMMA.16816.F16", CORUN_UNIT_TENSOR, CORUN_TENSOR_F16, 2, 8, 64},
        {"HMMA.1688.F32.TF32", CORUN_UNIT_TENSOR, CORUN_TENSOR_TF32, 4, 7, 32},
        {"HMMA.SP.16832.F32.BF16", CORUN_UNIT_TENSOR, CORUN_TENSOR_F16, 4, 12, 64},
        {"IMMA.16832.S8.S8", CORUN_UNIT_TENSOR, CORUN_TENSOR_S8, 4, 10, 128},
        {"DMMA.884", CORUN_UNIT_TENSOR, CORUN_TENSOR_F64, 4, 8, 8},
        {"BRA", CORUN_UNIT_CONTROL, CORUN_OPERATION_ADD, 1, 3, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct corun_instruction instruction = described(cases[i].opcode, 32, three, 3);
        if (instruction.unit != cases[i].unit || instruction.operation != cases[i].operation ||
            instruction.destination_count != cases[i].destinations || instruction.source_count != cases[i].sources ||
            instruction.multiply_adds != cases[i].multiply_adds)
            fail_msg("%s: unit %u, operation %u, %u destinations, %u sources, %u multiply-adds", cases[i].opcode,
                     instruction.unit, instruction.operation, instruction.destination_count, instruction.source_count,
                     instruction.multiply_adds);
    }
    struct corun_instruction matrices = described("LDSM.16.M88.4", 32, three, 1);
    assert_int_equal(matrices.access_bytes, 16);
    assert_int_equal(matrices.destination_count, 4);
    assert_int_equal(matrices.source_count, 1);
    assert_int_equal(described("STG.E.128.SYS", SASS_ZERO_REGISTER, three, 2).source_count, 6);
    assert_int_equal(described("LDG.E.U8", 32, three, 1).access_bytes, 1);
    assert_int_equal(described("BAR.ARV", SASS_ZERO_REGISTER, three, 0).operation, SASS_BARRIER_ARRIVES);
}

static void lists(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "the list names no kernel"},
        {"MemcpyHtoD,0x10,4\n", "the list names no kernel"},
        {"kernel-1.traceg\nfoo\n", "2: expected a kernel's file or a copy (Memcpy…), found 'foo'"},
        {"kernel/../../x\n", "1: 'kernel/../../x' does not lie beside the list"},
    };
    struct sass_names names;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct corun_diagnostics *list = corun_diagnostics_create();
        char message[512];
        assert_int_not_equal(sass_list_read("l", cases[i].text, strlen(cases[i].text), list, &names), CORUN_OK);
        const struct corun_diagnostic *item = corun_diagnostics_get(list, 0);
        snprintf(message, sizeof message, "%u: %s", item->place.line, item->message);
        if (!strstr(message, cases[i].message))
            fail_msg("expected '%s', got '%s'", cases[i].message, message);
        corun_diagnostics_destroy(list);
    }
    static const char good[] = "MemcpyHtoD,0x10,4\r\nkernel-1.traceg\n\nkernel-2-ctx_0x12.traceg\nkernel-1.traceg";
    assert_int_equal(sass_list_read("l", good, strlen(good), NULL, &names), CORUN_OK);
    assert_int_equal(names.items.count, 3);
    assert_string_equal(names.items.data[1], "kernel-2-ctx_0x12.traceg");
    sass_names_free(&names);
}

static void pages(void **state)
{
    (void)state;
    struct sass_pages map = {0};
    for (uint64_t i = 0; i < 1000; i++)
        assert_true(sass_pages_add(&map, 0x3f800000 + i * 7919));
    assert_true(sass_pages_add(&map, 0x3f800000));
    assert_int_equal(map.count, 1000);
    for (uint64_t i = 0; i < 1000; i++)
        assert_int_equal(sass_pages_find(&map, 0x3f800000 + i * 7919), i);
    free(map.keys);
    free(map.values);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_a_kernel),
        cmocka_unit_test(generic_addresses_have_their_space),
        cmocka_unit_test(versions_before_3_and_lines),
        cmocka_unit_test(mistakes),
        cmocka_unit_test(opcodes),
        cmocka_unit_test(lists),
        cmocka_unit_test(pages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
