/* SPDX-License-Identifier: MIT */
/*
 * Bulk copies: reductions of every kind, copies within shared memory, tensor maps that a kernel changes, and what is said of those that are
 * wrong. Boxes of tensors are compared with the host's in tests/cuda/programs/tensor_copies.c.
 */
#include "isa/tensor_map.h"
#include "runner.h"

#define TENSOR_LOAD "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
#define ROOM ".shared .align 1024 .b8 room[4096];\n.shared .align 8 .b64 b;\n"

/* A tensor map at out + 128: 8 rows of 32 words in out + 8192, 256 bytes apart; boxes of 16 by 4. */
static struct tensor_map plain_map(const struct runner *runner)
{
    return (struct tensor_map){.address = runner->out + 8192,
                               .rank = 2,
                               .type = TENSOR_U32,
                               .size = {32, 8, 1, 1, 1},
                               .stride = {256},
                               .box = {16, 4, 1, 1, 1},
                               .step = {1, 1, 1, 1, 1}};
}

static void write_map(struct runner *runner, const struct tensor_map *map)
{
    uint8_t bytes[TENSOR_MAP_BYTES];
    tensor_map_pack(map, bytes);
    assert_int_equal(corun_memory_write(runner->memory, runner->out + 128, bytes, sizeof bytes), CORUN_OK);
}

#define TEXT 4096

/* A kernel with this body. */
static void compose(char *text, const char *body)
{
    static const char empty[] = KERNEL(ROOM);
    size_t head = (size_t)(strstr(empty, "\nret;") - empty);
    snprintf(text, TEXT, "%.*s%s%s", (int)head, empty, body, empty + head);
}

struct reduction {
    const char *word;
    uint64_t old[2], with[2], result[2];
    bool within; /* shared memory has it, too */
};

#define LONG(high, low) (UINT64_C(high) << 32 | UINT64_C(low))

static const struct reduction reductions[] = {
    {"add.u32", {LONG(1, 2), LONG(3, 4)}, {LONG(5, 0xffffffff), LONG(7, 8)}, {LONG(6, 1), LONG(10, 12)}, true},
    {"add.s32", {LONG(1, 2), 0}, {LONG(5, 0xfffffffe), 9}, {LONG(6, 0), 9}, true},
    {"add.u64", {LONG(1, 0xffffffff), 1}, {1, UINT64_MAX}, {LONG(2, 0), 0}, true},
    {"min.u32", {LONG(1, 0xffffffff), LONG(5, 5)}, {LONG(2, 0), LONG(4, 6)}, {LONG(1, 0), LONG(4, 5)}, true},
    {"min.s32", {LONG(1, 0xffffffff), LONG(5, 5)}, {LONG(2, 0), LONG(4, 6)}, {LONG(1, 0xffffffff), LONG(4, 5)}, true},
    {"max.u32", {LONG(1, 0xffffffff), LONG(5, 5)}, {LONG(2, 0), LONG(4, 6)}, {LONG(2, 0xffffffff), LONG(5, 6)}, true},
    {"max.s32", {LONG(1, 0xffffffff), LONG(5, 5)}, {LONG(2, 0), LONG(4, 6)}, {LONG(2, 0), LONG(5, 6)}, true},
    {"min.u64", {UINT64_MAX, 3}, {2, 4}, {2, 3}, false},
    {"min.s64", {UINT64_MAX, 3}, {2, 4}, {UINT64_MAX, 3}, false},
    {"max.u64", {UINT64_MAX, 3}, {2, 4}, {UINT64_MAX, 4}, false},
    {"max.s64", {UINT64_MAX, 3}, {2, 4}, {2, 4}, false},
    {"inc.u32", {LONG(4, 5), LONG(6, 0)}, {LONG(5, 5), LONG(5, 5)}, {LONG(5, 0), LONG(0, 1)}, true},
    {"dec.u32", {LONG(4, 5), LONG(6, 0)}, {LONG(5, 5), LONG(5, 5)}, {LONG(3, 4), LONG(5, 5)}, true},
    {"and.b32", {0xff00ff00ff00ff00, 1}, {0x0ff00ff00ff00ff0, 3}, {0x0f000f000f000f00, 1}, true},
    {"or.b32", {0xff00ff00ff00ff00, 1}, {0x0ff00ff00ff00ff0, 2}, {0xfff0fff0fff0fff0, 3}, true},
    {"xor.b32", {0xff00ff00ff00ff00, 1}, {0x0ff00ff00ff00ff0, 3}, {0xf0f0f0f0f0f0f0f0, 2}, true},
    {"and.b64", {0xff00ff00ff00ff00, 1}, {0x0ff00ff00ff00ff0, 3}, {0x0f000f000f000f00, 1}, false},
    {"or.b64", {0xff00ff00ff00ff00, 1}, {0x0ff00ff00ff00ff0, 2}, {0xfff0fff0fff0fff0, 3}, false},
    {"xor.b64", {0xff00ff00ff00ff00, 1}, {0x0ff00ff00ff00ff0, 3}, {0xf0f0f0f0f0f0f0f0, 2}, false},
    /* 1.5 + 2 and -1 + 1; subnormal numbers are zeros: PTX says that of sums of .f32 */
    {"add.f32",
     {LONG(0x3fc00000, 0xbf800000), LONG(0x00000001, 0x80000001)},
     {LONG(0x40000000, 0x3f800000), LONG(0x00000001, 0x80000001)},
     {LONG(0x40600000, 0), LONG(0, 0x80000000)},
     false},
    {"add.f64", {0x3ff8000000000000, 1}, {0x4000000000000000, 1}, {0x400c000000000000, 2}, false},
    /* 1 + 1, subnormal numbers, infinity - infinity, 2048 + 1 to even */
    {"add.noftz.f16", {0x68007c0000013c00, 0}, {0x3c00fc0000013c00, 0}, {0x68007fff00024000, 0}, false},
    {"add.noftz.bf16", {0x7f8000013f80, 0}, {0xff8000013f80, 0}, {0x7fff00024000, 0}, false},
    /* 1 and -2, -0 and 0, NaN and 3, NaN and NaN */
    {"min.f16", {0x7e007e0080003c00, 0}, {0xfe0042000000c000, 0}, {0x7fff42008000c000, 0}, false},
    {"max.f16", {0x7e007e0080003c00, 0}, {0xfe0042000000c000, 0}, {0x7fff420000003c00, 0}, false},
    {"min.bf16", {0x7fc07fc080003f80, 0}, {0xffc040400000c000, 0}, {0x7fff40408000c000, 0}, false},
    {"max.bf16", {0x7fc07fc080003f80, 0}, {0xffc040400000c000, 0}, {0x7fff404000003f80, 0}, false},
};

/* Through global and, where there is that, through shared memory. */
static void test_reductions(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof reductions / sizeof *reductions; i++) {
        const struct reduction *reduction = &reductions[i];
        struct runner runner;
        char text[TEXT], within[512] = "";
        if (reduction->within)
            snprintf(within, sizeof within,
                     "ld.global.v2.u64 {%%rd1, %%rd2}, [%%out+1024];\nst.shared.v2.u64 [room+64], {%%rd1, %%rd2};\n"
                     "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.%s [room+64], "
                     "[room], 16, [b];\nld.shared.v2.u64 {%%rd1, %%rd2}, [room+64];\n"
                     "st.global.v2.u64 [%%out+2048], {%%rd1, %%rd2};\n",
                     reduction->word);
        char body[2048];
        snprintf(body, sizeof body,
                 "mbarrier.init.shared.b64 [b], 1;\nld.global.v2.u64 {%%rd1, %%rd2}, [%%out];\n"
                 "st.shared.v2.u64 [room], {%%rd1, %%rd2};\n%s"
                 "cp.reduce.async.bulk.global.shared::cta.bulk_group.%s [%%out+1024], [room], 16;\n"
                 "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;",
                 within, reduction->word);
        compose(text, body);
        runner_load(&runner, text);
        assert_int_equal(corun_memory_write(runner.memory, runner.out, reduction->with, 16), CORUN_OK);
        assert_int_equal(corun_memory_write(runner.memory, runner.out + 1024, reduction->old, 16), CORUN_OK);
        assert_int_equal(runner_try(&runner, 1), CORUN_OK);
        const uint8_t *bytes = (const uint8_t *)runner_words(&runner);
        if (memcmp(bytes + 1024, reduction->result, 16) ||
            (reduction->within && memcmp(bytes + 2048, reduction->result, 16)))
            fail_msg("%s: %016llx %016llx", reduction->word, ((const unsigned long long *)(const void *)bytes)[128],
                     ((const unsigned long long *)(const void *)bytes)[129]);
        runner_free(&runner);
    }
}

/* Bytes within shared memory, which overlap; the barrier is told of them. */
static void test_within(void **state)
{
    (void)state;
    struct runner runner;
    const uint32_t *words = runner_run(
        &runner,
        KERNEL(ROOM "mbarrier.init.shared.b64 [b], 1;\nmbarrier.arrive.expect_tx.shared.b64 %rd1, [b], 48;\n"
                    "mov.u32 %r1, 1;\nst.shared.u32 [room], %r1;\nmov.u32 %r1, 2;\nst.shared.u32 [room+16], %r1;\n"
                    "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [room+16], [room], 48, "
                    "[b];\nmbarrier.test_wait.shared.b64 %p1, [b], %rd1;\nselp.u32 %r1, 1, 0, %p1;\n"
                    "st.global.u32 [%out], %r1;\nld.shared.u32 %r1, [room+16];\nst.global.u32 [%out+4], %r1;\n"
                    "ld.shared.u32 %r1, [room+32];\nst.global.u32 [%out+8], %r1;\n"),
        1);
    const uint32_t expected[] = {1, 1, 2};
    assert_memory_equal(words, expected, sizeof expected);
    runner_free(&runner);
}

/* A kernel makes a map of another one in shared memory, and every field counts. */
static void test_changed_map(void **state)
{
    (void)state;
    struct runner runner;
#define CHANGE(field, bits, value) "tensormap.replace.tile." field ".shared::cta.b1024." bits " [map], " value ";\n"
    runner_load(
        &runner,
        KERNEL(ROOM
               ".shared .align 128 .b8 map[128];\nmbarrier.init.shared.b64 [b], 1;\nmul.wide.u32 %rd1, %t, 4;\n"
               "add.u64 %rd2, %out, %rd1;\nld.global.u32 %r1, [%rd2+128];\nmov.u32 %r2, map;\nmad.lo.u32 %r2, %t, 4, "
               "%r2;\nst.shared.u32 [%r2], %r1;\nbar.sync 0;\nsetp.ne.u32 %p1, %t, 0;\n@%p1 bra changed;\n"
               "add.u64 %rd3, %out, 16384;\n" CHANGE("global_address", "b64", "%rd3") CHANGE("rank", "b32", "2") CHANGE(
                   "elemtype", "b32", "1") CHANGE("swizzle_mode", "b32", "1") CHANGE("fill_mode", "b32", "0")
                   CHANGE("interleave_layout", "b32", "0") CHANGE("box_dim", "b32", "0, 16") CHANGE(
                       "box_dim", "b32", "1, 4") CHANGE("box_dim", "b32", "2, 2") CHANGE("global_dim", "b32", "0, 15")
                       CHANGE("global_dim", "b32", "1, 9") CHANGE("global_dim", "b32", "2, 3") CHANGE("global_stride",
                                                                                                      "b64", "0, 64")
                           CHANGE("global_stride", "b64", "1, 1024") CHANGE("element_stride", "b32", "1, 2") CHANGE(
                               "element_stride", "b32",
                               "2, 1") "changed: bar.sync 0;\n"
                                       "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync."
                                       "aligned "
                                       "[%out+512], [map], 128;\n@%p1 ret;\nadd.u64 %rd4, %out, 512;\n"
                                       "fence.proxy.tensormap::generic.acquire.gpu [%rd4], 128;\n"
                                       "mbarrier.arrive.expect_tx.shared.b64 _, [b], 128;\n"
                                       "cp.async.bulk.tensor.3d.shared::cta.global.mbarrier::complete_tx::bytes "
                                       "[room], [%rd4, {1, 3, 2}], "
                                       "[b];\nwait: mbarrier.try_wait.parity.shared.b64 %p2, [b], 0;\n@!%p2 bra wait;\n"
                                       "mov.u32 %r1, 0;\nnext: mov.u32 %r2, room;\nadd.u32 %r2, %r2, "
                                       "%r1;\nld.shared.u32 %r3, [%r2];\n"
                                       "cvt.u64.u32 %rd5, %r1;\nadd.u64 %rd5, %out, %rd5;\nst.global.u32 [%rd5+1024], "
                                       "%r3;\n"
                                       "add.u32 %r1, %r1, 4;\nsetp.lt.u32 %p3, %r1, 128;\n@%p3 bra next;\n"));
    struct tensor_map map = plain_map(&runner);
    write_map(&runner, &map);
    uint16_t data[3 * 512], expected[64] = {0};
    for (int i = 0; i < 3 * 512; i++)
        data[i] = (uint16_t)(i + 1);
    assert_int_equal(corun_memory_write(runner.memory, runner.out + 16384, data, sizeof data), CORUN_OK);
    assert_int_equal(runner_try(&runner, 32), CORUN_OK);
    /* Rows of 16 halves at 1; 2 of dimension 1, 3 and 5; 2 of dimension 2, 2 and what is outside. 32 bytes: unit 0 and 1 change in odd 128. */
    for (int row = 0; row < 2; row++)
        for (int column = 0; column < 14; column++)
            expected[16 * row + column] = data[2 * 512 + (3 + 2 * row) * 32 + 1 + column];
    const uint8_t *bytes = (const uint8_t *)runner_words(&runner);
    assert_memory_equal(bytes + 1024, expected, sizeof expected);
    runner_free(&runner);
}

struct wrong {
    const char *body, *message;
    void (*spoil)(struct tensor_map *map);
};

static void spoil_rank(struct tensor_map *map)
{
    map->rank = 3;
}

static void spoil_mode(struct tensor_map *map)
{
    map->rank = 3;
    map->im2col = true;
    map->channels = 16;
    map->pixels = 4;
}

static void spoil_box(struct tensor_map *map)
{
    map->box[0] = 3;
}

static void spoil_layout(struct tensor_map *map)
{
    map->rank = 3;
    map->interleave = TENSOR_INTERLEAVE_16B;
}

static void spoil_address(struct tensor_map *map)
{
    map->address += UINT64_C(1) << 30;
}

static void spoil_type(struct tensor_map *map)
{
    map->type = TENSOR_F32;
}

#define AT_MAP "add.u64 %rd1, %out, 128;\n"
#define LOAD_3D \
    "cp.async.bulk.tensor.3d.shared::cta.global.mbarrier::complete_tx::bytes [room], [%rd1, {0, 0, 0}], [b];"

static const struct wrong wrongs[] = {
    {"add.u64 %rd1, %out, 160;\n" TENSOR_LOAD " [room], [%rd1, {0, 0}], [b];", "misaligned tensor map at 0x", NULL},
    {"add.u64 %rd1, %out, 256;\n" TENSOR_LOAD " [room], [%rd1, {0, 0}], [b];",
     "bad tensor map at 0x10000001100: no call of CUDA has made it", NULL},
    {"mov.u64 %rd1, 0;\n" TENSOR_LOAD " [room], [%rd1, {0, 0}], [b];",
     "load of a tensor map of 128 bytes at generic address 0x0", NULL},
    {AT_MAP TENSOR_LOAD " [room], [%rd1, {0, 0}], [b];", "a tensor map of 3 dimensions, and a bulk copy of 2",
     spoil_rank},
    {AT_MAP LOAD_3D, "a tensor map of im2col, and a bulk copy of tiles", spoil_mode},
    {AT_MAP TENSOR_LOAD " [room], [%rd1, {0, 0}], [b];", "a row of its box has 12 bytes, not a multiple of 16",
     spoil_box},
    {AT_MAP LOAD_3D, "not supported: bulk copies of interleaved tensors", spoil_layout},
    {AT_MAP TENSOR_LOAD " [room], [%rd1, {0, 0}], [b];", "bulk load of 64 bytes at global address 0x", spoil_address},
    {AT_MAP TENSOR_LOAD " [room+64], [%rd1, {0, 0}], [b];",
     "misaligned bulk copy: the box at shared address 0x40, which is not a multiple of 128", NULL},
    {AT_MAP TENSOR_LOAD " [room+3968], [%rd1, {0, 0}], [b];",
     "bulk copy: the box of 256 bytes at shared address 0xf80 is out of bounds: the thread block has 4104 bytes", NULL},
    {AT_MAP TENSOR_LOAD " [room], [%rd1, {0, 0}], [b+4];",
     "misaligned bulk copy: the barrier at shared address 0x1004, which is not a multiple of 8", NULL},
    {AT_MAP TENSOR_LOAD ".multicast::cluster [room], [%rd1, {0, 0}], [b], 3;",
     "bulk copy: to thread blocks 0x3 of a cluster of 1", NULL},
    {AT_MAP "cp.reduce.async.bulk.tensor.2d.global.shared::cta.min.bulk_group [%rd1, {0, 0}], [room];",
     "bulk reduction: PTX has none of this kind for the elements of the tensor map", spoil_type},
    {"cp.async.bulk.global.shared::cta.bulk_group [%out+8], [room], 16;",
     "misaligned bulk copy: global address 0x10000001008 is not a multiple of 16", NULL},
    {"cp.async.bulk.global.shared::cta.bulk_group [%out+65536], [room], 16;", "bulk store of 16 bytes at global", NULL},
    {"cp.async.bulk.global.shared::cta.bulk_group [%out], [room+8], 16;",
     "misaligned bulk copy: the shared side at shared address 0x8, which is not a multiple of 16", NULL},
};

static void test_faults(void **state)
{
    (void)state;
    int failures = 0;
    for (size_t i = 0; i < sizeof wrongs / sizeof *wrongs; i++) {
        struct runner runner;
        char text[TEXT];
        compose(text, wrongs[i].body);
        runner_load(&runner, text);
        struct tensor_map map = plain_map(&runner);
        if (wrongs[i].spoil)
            wrongs[i].spoil(&map);
        write_map(&runner, &map);
        enum corun_status status = runner_try(&runner, 1);
        uint32_t line = 1; /* the fault's is the last one before `ret` */
        for (const char *at = text; *at; at++)
            line += *at == '\n';
        if (status != CORUN_FAULT || !strstr(runner_message(&runner), wrongs[i].message) ||
            runner_line(&runner) != line - 3) {
            print_error("%s\nsays at %u: %s\n", wrongs[i].body, runner_line(&runner), runner_message(&runner));
            failures++;
        }
        runner_free(&runner);
    }
    assert_int_equal(failures, 0);
}

/* A mask that names the own thread block only; a prefetch, also of what is not there. */
static void test_alone_in_the_cluster(void **state)
{
    (void)state;
    struct runner runner;
    runner_load(
        &runner,
        KERNEL(ROOM AT_MAP
               "mbarrier.init.shared.b64 [b], 1;\nmbarrier.arrive.expect_tx.shared.b64 _, [b], 320;\n" TENSOR_LOAD
               ".multicast::cluster [room], [%rd1, {0, 0}], [b], 1;\nmov.u16 %h1, 1;\n"
               "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [room+1024], "
               "[%out+8192], 64, [b], %h1;\n"
               "cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%rd1, {100, -7}];\nmov.u64 %rd2, 4096;\n"
               "cp.async.bulk.prefetch.L2.global [%rd2], 64;\nprefetch.tensormap [%rd1];\n"
               "wait: mbarrier.try_wait.parity.shared.b64 %p2, [b], 0;\n@!%p2 bra wait;\n"
               "ld.shared.u32 %r1, [room+64];\nld.shared.u32 %r2, [room+1028];\nst.global.v2.u32 [%out], {%r1, "
               "%r2};\n"));
    struct tensor_map map = plain_map(&runner);
    write_map(&runner, &map);
    uint32_t data[128];
    for (uint32_t i = 0; i < 128; i++)
        data[i] = 1000 + i;
    assert_int_equal(corun_memory_write(runner.memory, runner.out + 8192, data, sizeof data), CORUN_OK);
    assert_int_equal(runner_try(&runner, 1), CORUN_OK);
    const uint32_t expected[] = {1064, 1001};
    assert_memory_equal(runner_words(&runner), expected, sizeof expected);
    runner_free(&runner);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reductions),           cmocka_unit_test(test_within),
        cmocka_unit_test(test_changed_map),          cmocka_unit_test(test_faults),
        cmocka_unit_test(test_alone_in_the_cluster),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
