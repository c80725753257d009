/* SPDX-License-Identifier: MIT */
/* Fences: what is inside is done as before, what is outside is left out and recorded, and what no fence can bound is refused. */
#include "rewrite/fence.h"
#include "rewrite/workers.h"
#include "worker_runner.h"

/* Word 0 of the second buffer is somebody else's. */
struct two {
    struct loaded loaded;
    uint64_t other, record;
};

static void set_bounds(const struct loaded *loaded, uint64_t first, uint64_t bytes, uint64_t record)
{
    const struct fence_bounds bounds = {.first = first, .bytes = bytes, .record = record};
    uint64_t size, place = corun_module_instance_variable(loaded->instance, FENCE_VARIABLE, &size);
    assert_true(place != 0);
    assert_int_equal(size, sizeof bounds);
    write_device(loaded, place, &bounds, sizeof bounds);
}

static struct two load_two(const struct rewrite_case *item)
{
    const uint32_t filler[4] = {7, 7, 7, 7};
    struct two two = {.loaded = load_text(item, item->text)};
    assert_int_equal(corun_memory_allocate(two.loaded.memory, OUT_BYTES, &two.other), CORUN_OK);
    assert_int_equal(corun_memory_allocate(two.loaded.memory, 16, &two.record), CORUN_OK);
    write_device(&two.loaded, two.other, filler, sizeof filler);
    set_bounds(&two.loaded, two.loaded.out, OUT_BYTES, two.record);
    return two;
}

static uint64_t record_of(const struct two *two)
{
    uint64_t record;
    read_device(&two->loaded, two->record, &record, sizeof record);
    return record;
}

/* Accesses of every kind to [%d], the address that is the second parameter; %r0 is 1 in thread 0, and 0 else. */
#define ACCESSES(access) \
    HEAD ".global .align 16 .b32 own[4];\n.const .align 16 .b32 fixed[4];\n" \
         ".visible .entry k(.param .u64 out, .param .u64 address)\n{\n.reg .b32 %r<8>; .reg .b64 %d<6>; .reg .pred " \
         "%p<2>;\n" \
         ".reg .b16 %h<4>;\n.shared .align 16 .b32 cells[4];\n.local .align 16 .b32 mine[4];\n" \
         "ld.param.u64 %d0, [out];\nld.param.u64 %d1, [address];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, 5;\n" \
         "mov.u32 %r3, 6;\nmov.u32 %r4, 7;\nmov.u32 %r5, 8;\nsetp.eq.u32 %p0, %r1, 0;\n" access \
         "st.global.v4.u32 [%d0], {%r2, %r3, %r4, %r5};\nret;\n}\n"

static const struct {
    const char *text;
    uint32_t bytes;
} kinds[] = {
    {ACCESSES("ld.global.u32 %r2, [%d1];\n"), 4},
    {ACCESSES("ld.global.nc.v4.u32 {%r2, %r3, %r4, %r5}, [%d1];\n"), 16},
    {ACCESSES("ld.u32 %r2, [%d1];\n"), 4},
    {ACCESSES("ld.volatile.global.u16 %h0, [%d1+0];\ncvt.u32.u16 %r2, %h0;\n"), 2},
    {ACCESSES("st.global.u32 [%d1], %r2;\n"), 4},
    {ACCESSES("st.global.v2.u32 [%d1], {%r2, %r3};\n"), 8},
    {ACCESSES("@%p0 st.u32 [%d1], %r2;\n"), 4},
    {ACCESSES("@!%p0 bra ON;\nst.global.u32 [%d1], %r2;\nON:\n"), 4},
    {ACCESSES("atom.global.add.u32 %r2, [%d1], 3;\n"), 4},
    {ACCESSES("atom.cas.b32 %r2, [%d1], 0, 9;\n"), 4},
    {ACCESSES("red.global.add.u32 [%d1], 3;\n"), 4},
    {ACCESSES("sub.u64 %d1, %d1, 400;\nst.global.u32 [%d1+400], %r2;\n"), 4},
    {ACCESSES("add.u64 %d1, %d1, 400;\n@%p0 red.global.max.u32 [%d1+-400], %r2;\n"), 4},
};

static uint8_t *run_at(const struct two *two, const struct rewrite_case *item, uint64_t address)
{
    struct test_launch launch = {"k", {1, 1, 1}, {4, 1, 1}, {0}, 0};
    memcpy(launch.words, &address, sizeof address);
    struct loaded loaded = two->loaded;
    run_launch(&loaded, item, &launch, launch.grid, NULL, 0);
    uint8_t *content = malloc(OUT_BYTES);
    read_device(&loaded, loaded.out, content, OUT_BYTES);
    return content;
}

/* Inside: as without a fence, byte for byte, and nothing is recorded. */
static void inside_as_before(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        for (uint32_t end = 0; end < 2; end++) { /* the first bytes of the memory, and the last */
            struct rewrite_case item = rewrite_case_create(fence_module, kinds[i].text, strlen(kinds[i].text));
            assert_null(rewrite_case_kernel(&item, "k")->refusal);
            assert_int_equal(rewrite_case_kernel(&item, "k")->parameter_index, 2);
            uint8_t *contents[2];
            for (uint32_t fenced = 0; fenced < 2; fenced++) {
                struct two two = fenced ? load_two(&item) : (struct two){.loaded = load_text(&item, kinds[i].text)};
                contents[fenced] = run_at(&two, &item, two.loaded.out + (end ? OUT_BYTES - kinds[i].bytes : 0));
                assert_true(!fenced || record_of(&two) == 0);
                free(unload(&two.loaded));
            }
            if (memcmp(contents[0], contents[1], OUT_BYTES) != 0)
                fail_msg("kind %zu at its %s:\n%s", i, end ? "end" : "beginning", item.text);
            free(contents[0]);
            free(contents[1]);
            rewrite_case_destroy(&item);
        }
}

/* Outside: nobody's memory changes, and the first one is recorded: by number, with its address and where it stands. */
static void outside_is_left_out(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        for (uint32_t where = 0; where < 4; where++) {
            struct rewrite_case item = rewrite_case_create(fence_module, kinds[i].text, strlen(kinds[i].text));
            struct two two = load_two(&item);
            const uint64_t addresses[] = {two.other, two.loaded.out - 16, two.loaded.out + OUT_BYTES, 0};
            uint32_t words[4];
            uint8_t *content = run_at(&two, &item, addresses[where]);
            read_device(&two.loaded, two.other, words, sizeof words);
            assert_memory_equal(words, ((const uint32_t[]){7, 7, 7, 7}), sizeof words);
            assert_int_equal(fence_recorded_number(record_of(&two)), 1);
            assert_int_equal(fence_recorded_address(record_of(&two)), addresses[where]);
            assert_int_not_equal(((const uint32_t *)content)[1], 0); /* the one behind was done */
            struct ptx_module *module;
            struct fence_access access;
            assert_int_equal(ptx_parse("k.ptx", kinds[i].text, strlen(kinds[i].text), item.list, &module), CORUN_OK);
            assert_true(fence_access_find(module, 1, &access));
            assert_string_equal(access.function->name, "k");
            assert_int_equal(access.bytes, kinds[i].bytes);
            assert_true(access.instruction->place.line > 10);
            assert_true(fence_access_find(module, 2, &access));
            assert_false(fence_access_find(module, 3, &access));
            ptx_module_destroy(module);
            free(content);
            free(unload(&two.loaded));
            rewrite_case_destroy(&item);
        }
}

/* Variables of the module, and generic addresses of shared, local and constant memory are the application's own; beside a variable is outside. */
static void what_else_is_its_own(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool outside;
    } rows[] = {
        {ACCESSES("mov.u64 %d2, own;\nst.global.u32 [%d2+8], %r2;\nld.global.u32 %r3, [own+8];\n"), false},
        {ACCESSES("mov.u64 %d2, own;\nst.global.u32 [%d2+16], %r2;\n"), true},
        {ACCESSES("mov.u64 %d2, own;\nst.global.v2.u32 [%d2+8], {%r2, %r3};\n"), false},
        {ACCESSES("mov.u64 %d2, own;\nst.global.u32 [%d2+-4], %r2;\n"), true},
        {ACCESSES("cvta.global.u64 %d2, own;\nst.u32 [%d2], %r2;\n"), false},
        {ACCESSES("cvta.const.u64 %d2, fixed;\nld.u32 %r2, [%d2+12];\n"), false},
        {ACCESSES("cvta.const.u64 %d2, fixed;\nld.u32 %r2, [%d2+16];\n"), true},
        {ACCESSES("mov.u64 %d2, cells;\ncvta.shared.u64 %d2, %d2;\nst.u32 [%d2], %r3;\nld.u32 %r2, [%d2];\n"), false},
        {ACCESSES("mov.u64 %d2, mine;\ncvta.local.u64 %d2, %d2;\nst.u32 [%d2+4], %r3;\nld.u32 %r2, [%d2+4];\n"), false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct rewrite_case item = rewrite_case_create(fence_module, rows[i].text, strlen(rows[i].text));
        struct two two = load_two(&item);
        free(run_at(&two, &item, 0));
        if (rows[i].outside != (fence_recorded_number(record_of(&two)) == 1))
            fail_msg("row %zu:\n%s", i, item.text);
        free(unload(&two.loaded));
        rewrite_case_destroy(&item);
    }
}

/* In functions too, and by workers. The first one that is outside counts. */
static void functions_and_workers(void **state)
{
    (void)state;
    static const char text[] =
        HEAD ".func put(.param .b64 to, .param .b32 what)\n{\n.reg .b64 %d; .reg .b32 %r;\nld.param.u64 %d, [to];\n"
             "ld.param.u32 %r, [what];\nst.u32 [%d], %r;\nret;\n}\n"
             ".visible .entry k(.param .u64 out, .param .u64 address)\n{\n.reg .b32 %r<4>; .reg .b64 %d<4>;\n"
             "ld.param.u64 %d0, [out];\nld.param.u64 %d1, [address];\nmov.u32 %r0, %ctaid.x;\n"
             "mul.wide.u32 %d2, %r0, 4;\nadd.u64 %d1, %d1, %d2;\n"
             "{ .param .b64 a; .param .b32 b;\nst.param.b64 [a], %d1;\nst.param.b32 [b], %r0;\ncall put, (a, b); }\n"
             "add.u64 %d0, %d0, %d2;\nadd.u32 %r0, %r0, 100;\nst.global.u32 [%d0], %r0;\nret;\n}\n";
    for (uint32_t outside = 0; outside < 2; outside++) {
        struct corun_diagnostics *list = corun_diagnostics_create();
        struct rewrite_case fenced = rewrite_case_create(fence_module, text, sizeof text - 1);
        struct rewrite_case item = rewrite_case_create(workers_module, fenced.text, fenced.text_bytes);
        struct two two = load_two(&item);
        struct test_launch launch = {"k", {40, 1, 1}, {1, 1, 1}, {0}, 0};
        uint64_t address = two.loaded.out + (outside ? OUT_BYTES - 80 : 4000);
        memcpy(launch.words, &address, sizeof address);
        run_by_workers(&two.loaded, &item, &launch, &(struct crew){3, WORKERS_TELL, 1, 3, 0});
        assert_int_equal(fence_recorded_number(record_of(&two)), outside);
        if (outside)
            assert_int_equal(fence_recorded_address(record_of(&two)), two.loaded.out + OUT_BYTES);
        uint8_t *content = unload(&two.loaded);
        const uint32_t *put = (const uint32_t *)(content + (outside ? OUT_BYTES - 80 : 4000));
        for (uint32_t i = 0; i < 40; i++) {
            assert_int_equal(((const uint32_t *)content)[i], i + 100);
            assert_true((outside && i >= 20) || put[i] == i);
        }
        free(content);
        rewrite_case_destroy(&item);
        rewrite_case_destroy(&fenced);
        corun_diagnostics_destroy(list);
    }
}

static void refusals(void **state)
{
    (void)state;
    static const struct {
        const char *text, *reason;
    } rows[] = {
        {ACCESSES("st.global.u32 [own+16], %r2;\n"), "more than the variable"},
        {HEAD
         ".extern .func (.param .b64 r) malloc(.param .b64 bytes);\n.visible .entry k(.param .u64 out)\n{\n"
         ".reg .b64 %d;\n{ .param .b64 a; .param .b64 r;\nst.param.b64 [a], 8;\ncall (r), malloc, (a); }\nret;\n}\n",
         "without a body"},
        {HEAD ".global .surfref s;\n.visible .entry k(.param .u64 out)\n{\n.reg .b32 %r<2>;\nmov.u32 %r0, 0;\n"
              "suld.b.1d.b32.trap %r1, [s, {%r0}];\nret;\n}\n",
         "texture"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct rewrite_case item = rewrite_case_create(fence_module, rows[i].text, strlen(rows[i].text));
        const struct rewritten_kernel *kernel = rewrite_case_kernel(&item, "k");
        if (!kernel->refusal || !strstr(kernel->refusal, rows[i].reason))
            fail_msg("row %zu: %s", i, kernel->refusal ? kernel->refusal : "not refused");
        rewrite_case_destroy(&item);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(inside_as_before), cmocka_unit_test(outside_is_left_out),
                                       cmocka_unit_test(what_else_is_its_own), cmocka_unit_test(functions_and_workers),
                                       cmocka_unit_test(refusals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
