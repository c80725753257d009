/* SPDX-License-Identifier: MIT */
/* What faults and notes say: where an address is, freed memory, barriers that a part of a warp comes to, checks. */
#include "runner.h"

#include "isa/memory.h"

#define FAULT "kernel k, thread block (0,0,0), thread (0,0,0): "

/* A runner whose buffer has 1000 bytes, and the module. */
static void load(struct runner *runner, const char *text, bool pages)
{
    *runner = (struct runner){.list = corun_diagnostics_create(), .memory = corun_memory_create(0), .out_bytes = 1000};
    if (pages)
        corun_memory_map_pages(runner->memory);
    assert_int_equal(corun_memory_allocate(runner->memory, 1000, &runner->out), CORUN_OK);
    assert_int_equal(corun_module_load("test.ptx", text, strlen(text), runner->list, &runner->module), CORUN_OK);
    assert_int_equal(corun_module_instance_create(runner->module, runner->memory, runner->list, &runner->instance),
                     CORUN_OK);
}

/* The kernel gets `pointer`. */
static enum corun_status run(struct runner *runner, uint64_t pointer, uint32_t threads)
{
    return runner_run_grid(runner, "k", (struct corun_dim3){1, 1, 1}, (struct corun_dim3){threads, 1, 1}, 0, &pointer,
                           8, 0);
}

static void expect(const char *text, bool pages, const char *message)
{
    struct runner runner;
    load(&runner, text, pages);
    assert_int_equal(run(&runner, runner.out, 1), CORUN_FAULT);
    assert_string_equal(runner_message(&runner), message);
    runner_free(&runner);
}

/* PTX with lines of its source names them. */
static void test_source_line(void **state)
{
    (void)state;
    expect(KERNEL(".file 1 \"a/store.cu\"\n.loc 1 7 3\nst.global.u32 [%out+1000], %t;"), false,
           "kernel k (store.cu:7), thread block (0,0,0), thread (0,0,0): store of 4 bytes at global address "
           "0x100000013e8 is out of bounds: right behind the 1000 bytes at 0x10000001000");
    expect(
        KERNEL(".file 1 \"store.cu\"\n.file 2 \"set.h\"\n.loc 2 1 3, function_name f, inlined_at 1 9 2\n"
               "st.global.u32 [%out+1000], %t;"),
        false,
        "kernel k (set.h:1, inlined at store.cu:9), thread block (0,0,0), thread (0,0,0): store of 4 bytes at global "
        "address 0x100000013e8 is out of bounds: right behind the 1000 bytes at 0x10000001000");
}

static void test_nearest_allocation(void **state)
{
    (void)state;
    expect(KERNEL("st.global.u32 [%out+1000], %t;"), false,
           FAULT "store of 4 bytes at global address 0x100000013e8 is out of bounds: right behind the 1000 bytes at "
                 "0x10000001000");
    expect(KERNEL("st.global.u32 [%out+1012], %t;"), false,
           FAULT "store of 4 bytes at global address 0x100000013f4 is out of bounds: 12 bytes behind the 1000 bytes at "
                 "0x10000001000");
    expect(KERNEL("ld.global.u32 %r1, [%out+-4];"), false,
           FAULT "load of 4 bytes at global address 0x10000000ffc is out of bounds: 4 bytes before the 1000 bytes at "
                 "0x10000001000");
    expect(KERNEL("ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%out+992];"), false,
           FAULT
           "load of 16 bytes at global address 0x100000013e0 is out of bounds: its end is 8 bytes behind the 1000 "
           "bytes at 0x10000001000");
    static char text[2048];
    snprintf(text, sizeof text, HEAD "%s%s", ".global .align 4 .b8 table[64];\n",
             &KERNEL("st.global.u32 [table+72], %t;")[strlen(HEAD)]);
    expect(text, false,
           FAULT "store of 4 bytes at global address 0x10000001548 is out of bounds: 8 bytes behind the 64 bytes of "
                 "variable table at 0x10000001500");
}

static void test_stray_pointers(void **state)
{
    (void)state;
    expect(KERNEL("mov.u64 %rd1, 24;\nld.u64 %rd2, [%rd1];"), true,
           FAULT "load of 8 bytes at global address 0x18 is out of bounds: 24 bytes from a null pointer");
    expect(KERNEL("mov.u64 %rd1, 140737350000000;\nld.u32 %r2, [%rd1];"), true,
           FAULT
           "load of 4 bytes at global address 0x7ffff7c0dd80 is out of bounds: a host pointer, by its looks: kernels "
           "reach host memory that is pinned, managed or registered");
    expect(KERNEL("mov.u64 %rd1, 140737350000000;\nld.u32 %r2, [%rd1];"), false,
           FAULT "load of 4 bytes at global address 0x7ffff7c0dd80 is out of bounds: no address of global memory");
    expect(KERNEL("mov.u64 %rd1, 5497558142976;\nst.u32 [%rd1], 2;"), true,
           FAULT "store of 4 bytes at global address 0x50000001000 is out of bounds: memory of another application or "
                 "context");
    expect(KERNEL("mov.u64 %rd1, -256;\nld.u32 %r2, [%rd1];"), true,
           FAULT "load of 4 bytes at global address 0xffffffffffffff00 is out of bounds: no address of global memory");
    /* Host memory that kernels reach is told as such. */
    struct runner runner;
    static uint32_t host[64];
    load(&runner, KERNEL("st.global.u32 [%out+256], 2;"), true);
    uint64_t address = (uint64_t)(uintptr_t)host;
    assert_int_equal(corun_memory_adopt(runner.memory, address, host, sizeof host), CORUN_OK);
    (void)memory_name(runner.memory, address, "allocation %d (cudaHostRegister)", 7);
    assert_int_equal(run(&runner, address, 1), CORUN_FAULT);
    assert_non_null(strstr(runner_message(&runner),
                           "is out of bounds: right behind the 256 bytes of allocation 7 (cudaHostRegister) at 0x"));
    runner_free(&runner);
}

static void test_use_after_free(void **state)
{
    (void)state;
    struct runner runner;
    uint64_t address, other;
    load(&runner, KERNEL("ld.global.u32 %r1, [%out+16];"), false);
    assert_int_equal(corun_memory_allocate(runner.memory, 512, &address), CORUN_OK);
    (void)memory_name(runner.memory, address, "allocation %d (%s)", 3, "cudaMalloc");
    assert_int_equal(memory_free(runner.memory, address, "cudaFree after 2 launches"), CORUN_OK);
    assert_int_equal(run(&runner, address, 1), CORUN_FAULT);
    assert_string_equal(runner_message(&runner), FAULT
                        "load of 4 bytes at global address 0x10000001510 is a use after free: 16 bytes into the 512 "
                        "bytes of allocation 3 (cudaMalloc) at 0x10000001500, freed by cudaFree after 2 launches");
    assert_int_equal(runner_line(&runner), 19);
    /* Without names, and with a name that another allocation had. */
    assert_int_equal(corun_memory_allocate(runner.memory, 512, &other), CORUN_OK);
    assert_true(other > address);
    (void)memory_name(runner.memory, other, "second");
    corun_diagnostics_clear(runner.list);
    assert_int_equal(corun_memory_free(runner.memory, other), CORUN_OK);
    assert_int_equal(run(&runner, other, 1), CORUN_FAULT);
    assert_string_equal(runner_message(&runner), FAULT
                        "load of 4 bytes at global address 0x10000001810 is a use after free: 16 bytes into the 512 "
                        "bytes of second at 0x10000001800, freed");
    runner_free(&runner);
}

/* What lies in a file ends with it, however many addresses an application has. */
static void test_end_of_file(void **state)
{
    (void)state;
    struct corun_memory *memory = corun_memory_create(0);
    static uint8_t nobody_looks[1];
    struct memory_backing backing = {.file = -1, .storage = nobody_looks};
    memory_back(memory, &backing);
    uint64_t address;
    assert_int_equal(corun_memory_allocate(memory, MEMORY_BACKING_BYTES, &address), CORUN_MEMORY);
    corun_memory_destroy(memory);
}

/* What is allocated again is good again, and of what was freed a bounded number is remembered. */
static void test_what_is_remembered(void **state)
{
    (void)state;
    static uint32_t host[64], more[64 * (MOST_FREED + 1)];
    struct corun_memory *memory = corun_memory_create(0);
    uint64_t address = (uint64_t)(uintptr_t)host;
    assert_int_equal(corun_memory_adopt(memory, address, host, sizeof host), CORUN_OK);
    assert_int_equal(memory_free(memory, address, "x"), CORUN_OK);
    assert_string_equal(memory_freed(memory, address + 255)->freer, "x");
    assert_null(memory_freed(memory, address + 256));
    assert_null(memory_freed(memory, address - 1));
    assert_int_equal(corun_memory_adopt(memory, address + 64, host + 16, 32), CORUN_OK);
    assert_null(memory_freed(memory, address));
    assert_int_equal(memory_free(memory, address + 64, "y"), CORUN_OK);
    assert_int_equal(corun_memory_adopt(memory, address, host, 64), CORUN_OK);
    assert_string_equal(memory_freed(memory, address + 64)->freer, "y");
    address = (uint64_t)(uintptr_t)more;
    for (uint32_t i = 0; i <= MOST_FREED; i++) /* downwards and upwards */
        assert_int_equal(corun_memory_adopt(memory, address + 256 * i, more + 64 * i, 256), CORUN_OK);
    for (uint32_t i = 0; i <= MOST_FREED; i++) {
        uint32_t which = i % 2 ? i : MOST_FREED - i;
        (void)memory_name(memory, address + UINT64_C(256) * which, "number %u", which);
        assert_int_equal(corun_memory_free(memory, address + UINT64_C(256) * which), CORUN_OK);
    }
    for (uint32_t i = 0; i <= MOST_FREED; i++) {
        const struct freed *freed = memory_freed(memory, address + UINT64_C(256) * i + 8);
        char name[ORIGIN_BYTES];
        snprintf(name, sizeof name, "number %u", i);
        assert_int_equal(freed == NULL, i == MOST_FREED); /* which was the first */
        assert_true(!freed || !strcmp(freed->name, name));
    }
    corun_memory_destroy(memory);
}

/* By pages a load of freed memory succeeds; the note has a place of its own beside that of an edge. */
static void test_notes_and_checks(void **state)
{
    (void)state;
    static const char text[] = KERNEL("ld.global.u32 %r1, [%out+8];\nld.global.u32 %r2, [%out+-8];");
    struct runner runner;
    uint64_t address;
    for (uint32_t checks = 0; checks <= CORUN_CHECK_MEMORY; checks += CORUN_CHECK_MEMORY) {
        load(&runner, text, true);
        assert_int_equal(corun_memory_allocate(runner.memory, 512, &address), CORUN_OK);
        assert_int_equal(memory_free(runner.memory, address, "cudaFree after 0 launches"), CORUN_OK);
        corun_module_instance_check(runner.instance, checks);
        assert_int_equal(run(&runner, address, 1), checks ? CORUN_FAULT : CORUN_OK);
        assert_int_equal(corun_module_instance_outside(runner.instance, runner.list), !checks);
        assert_int_equal(corun_diagnostics_count(runner.list), checks ? 1 : 2);
        if (!checks) {
            assert_string_equal(
                corun_diagnostics_get(runner.list, 0)->message,
                "kernel k loads 4 bytes at 0x100002014f8, where nothing is allocated: 272 bytes behind the "
                "1000 bytes at 0x10000201000; the kernel continues, as on a GPU");
            assert_string_equal(
                corun_diagnostics_get(runner.list, 1)->message,
                "kernel k loads 4 bytes at 0x10000201508, a use after free: 8 bytes into the 512 bytes at "
                "0x10000201500, freed by cudaFree after 0 launches; the kernel continues, and gets zero (a GPU may "
                "give what was there)");
        } else {
            assert_non_null(strstr(runner_message(&runner), "is a use after free: 8 bytes into the 512 bytes at"));
        }
        assert_false(corun_module_instance_outside(runner.instance, runner.list));
        runner_free(&runner);
    }
    /* Shared memory, to the end of its last unit. */
    static const char shared[] = KERNEL(".shared .align 4 .b8 s[40];\nst.shared.u32 [s+40], 9;");
    for (uint32_t checks = 0; checks <= CORUN_CHECK_MEMORY; checks += CORUN_CHECK_MEMORY) {
        load(&runner, shared, true);
        corun_module_instance_check(runner.instance, checks);
        assert_int_equal(run(&runner, runner.out, 1), checks ? CORUN_FAULT : CORUN_OK);
        if (checks)
            assert_string_equal(runner_message(&runner), FAULT
                                "store of 4 bytes at shared address 0x28 is out of bounds: the thread block has 40 "
                                "bytes of it");
        runner_free(&runner);
    }
}

/* Every way into shared and local memory has its bounds. */
static void test_shared_and_local_bounds(void **state)
{
    (void)state;
#define SHARED(body) KERNEL(".shared .align 16 .b8 s[64];\n" body)
#define SHARED_FAULT(what, address) \
    FAULT what " at shared address " address " is out of bounds: the thread block has 64 bytes of it"
    expect(SHARED("ld.shared.v4.u32 {%r1, %r2, %r3, %r4}, [s+64];"), false, SHARED_FAULT("load of 16 bytes", "0x40"));
    expect(SHARED("atom.shared.add.u32 %r1, [s+256], 1;"), false, SHARED_FAULT("atomic of 4 bytes", "0x100"));
    expect(SHARED("cp.async.ca.shared.global [s+68], [%out], 4;"), false, SHARED_FAULT("store of 4 bytes", "0x44"));
    expect(SHARED("mov.u64 %rd1, s;\ncvta.shared.u64 %rd1, %rd1;\nst.u32 [%rd1+64], %t;"), false,
           SHARED_FAULT("store of 4 bytes", "0x40"));
    expect(SHARED("mov.u64 %rd1, s;\ncvta.shared.u64 %rd1, %rd1;\natom.add.u32 %r1, [%rd1+256], %t;"), true,
           SHARED_FAULT("atomic of 4 bytes", "0x100"));
#undef SHARED
#undef SHARED_FAULT
    expect(KERNEL(".local .align 8 .b8 l[16];\nmov.u64 %rd1, l;\ncvta.local.u64 %rd1, %rd1;\nst.u64 [%rd1+16], %rd1;"),
           false, FAULT "store of 8 bytes at local address 0x10 is out of bounds: the thread has 16 bytes of it");
    expect(
        KERNEL(
            ".local .align 8 .b8 l[16];\nmov.u64 %rd1, l;\ncvta.local.u64 %rd1, %rd1;\natom.add.u32 %r1, [%rd1], 1;"),
        false, FAULT "atomic of 4 bytes at local address 0x0: atomics need global or shared memory");
}

static void expect_barrier(const char *text, uint32_t threads, const char *note, const char *fault, uint32_t line)
{
    struct runner runner;
    load(&runner, text, false);
    enum corun_status status = run(&runner, runner.out, threads);
    assert_int_equal(status, CORUN_OK);
    assert_int_equal(corun_module_instance_outside(runner.instance, runner.list), note != NULL);
    assert_string_equal(runner_message(&runner), note ? note : "");
    assert_int_equal(runner_line(&runner), line);
    runner_free(&runner);
    load(&runner, text, false);
    corun_module_instance_check(runner.instance, CORUN_CHECK_SYNC);
    assert_int_equal(run(&runner, runner.out, threads), note ? CORUN_FAULT : CORUN_OK);
    assert_string_equal(runner_message(&runner), fault ? fault : "");
    assert_int_equal(runner_line(&runner), line);
    runner_free(&runner);
}

static void test_divergent_barriers(void **state)
{
    (void)state;
    /* One of two paths. */
    expect_barrier(
        KERNEL("setp.ge.u32 %p1, %t, 16;\n@%p1 bra SKIP;\nbar.sync 0;\nSKIP:\nst.global.u32 [%mine], 1;"), 64,
        "kernel k comes to barrier 0 with 16 of the 32 threads of a warp, while thread (16,0,0) of thread block "
        "(0,0,0) is at line 23; the kernel continues as if all had come, which a GPU need not do",
        FAULT "divergent barrier 0: 16 of the 32 threads of warp 0 come to it, thread (16,0,0) is at line 23", 21);
    /* Held back by a guard. */
    expect_barrier(
        KERNEL("setp.lt.u32 %p1, %t, 8;\n@%p1 bar.sync 3;\nst.global.u32 [%mine], 1;"), 20,
        "kernel k comes to barrier 3 with 8 of the 20 threads of a warp, while thread (8,0,0) of thread block "
        "(0,0,0) is at line 20; the kernel continues as if all had come, which a GPU need not do",
        FAULT "divergent barrier 3: 8 of the 20 threads of warp 0 come to it, thread (8,0,0) is at line 20", 20);
    /* Threads that have ended, that only have to end, and those that never were. */
    expect_barrier(KERNEL("setp.ge.u32 %p1, %t, 16;\n@%p1 exit;\nbar.sync 0;\nst.global.u32 [%mine], 1;"), 48, NULL,
                   NULL, 0);
    expect_barrier(KERNEL("setp.ge.u32 %p1, %t, 16;\n@%p1 bra END;\nbar.sync 0;\nst.global.u32 [%mine], 1;\nEND:"), 48,
                   NULL, NULL, 0);
    expect_barrier(KERNEL("bar.sync 0;\nst.global.u32 [%mine], 1;"), 5, NULL, NULL, 0);
    /* PTX allows a part of a warp here. */
    expect_barrier(
        KERNEL("setp.ge.u32 %p1, %t, 16;\n@%p1 bra SKIP;\nbarrier.sync 0;\nSKIP:\nst.global.u32 [%mine], 1;"), 32, NULL,
        NULL, 0);
    expect_barrier(
        KERNEL("setp.ge.u32 %p1, %t, 31;\n@%p1 bra SKIP;\nbarrier.sync.aligned 0;\nSKIP:\nst.global.u32 "
               "[%mine], 1;"),
        32,
        "kernel k comes to barrier 0 with 31 of the 32 threads of a warp, while thread (31,0,0) of thread block "
        "(0,0,0) is at line 23; the kernel continues as if all had come, which a GPU need not do",
        FAULT "divergent barrier 0: 31 of the 32 threads of warp 0 come to it, thread (31,0,0) is at line 23", 21);
}

static void test_deadlock_tells_who_waits(void **state)
{
    (void)state;
    struct runner runner;
    load(&runner,
         KERNEL("shr.u32 %r1, %t, 5;\nsetp.eq.u32 %p1, %r1, 3;\n@%p1 exit;\nand.b32 %r1, %r1, 1;\n"
                "setp.eq.u32 %p1, %r1, 1;\n@%p1 bra ODD;\nbar.sync 0;\nret;\nODD:\nbar.sync 1, 128;"),
         false);
    assert_int_equal(run(&runner, runner.out, 256), CORUN_DEADLOCK);
    assert_string_equal(
        runner_message(&runner),
        "kernel k, thread block (0,0,0): a barrier can never be met, waiting: warps 0, 2, 4, 6 at barrier 0 "
        "(line 25), warps 1, 5, 7 at barrier 1 (line 28, for 128 threads); warp 3 has ended");
    runner_free(&runner);
}

static void test_names_of_checks(void **state)
{
    (void)state;
    uint32_t checks = 7;
    assert_true(corun_checks_parse("memory", &checks));
    assert_int_equal(checks, CORUN_CHECK_MEMORY);
    assert_true(corun_checks_parse("sync,memory", &checks));
    assert_int_equal(checks, CORUN_CHECK_MEMORY | CORUN_CHECK_SYNC);
    assert_false(corun_checks_parse("", &checks));
    assert_false(corun_checks_parse("mem", &checks));
    assert_false(corun_checks_parse("memory,", &checks));
    assert_false(corun_checks_parse("memory sync", &checks));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_source_line),        cmocka_unit_test(test_nearest_allocation),
        cmocka_unit_test(test_stray_pointers),     cmocka_unit_test(test_use_after_free),
        cmocka_unit_test(test_end_of_file),        cmocka_unit_test(test_what_is_remembered),
        cmocka_unit_test(test_notes_and_checks),   cmocka_unit_test(test_shared_and_local_bounds),
        cmocka_unit_test(test_divergent_barriers), cmocka_unit_test(test_deadlock_tells_who_waits),
        cmocka_unit_test(test_names_of_checks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
