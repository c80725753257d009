/* SPDX-License-Identifier: MIT */
/*
 * Random kernels do in slices and as workers what they do whole, also with the variables of another module, with a fence what they do without, and as machine code what their PTX does; what
 * cannot be sliced calls through a pointer. `test_random FIRST COUNT` tries others.
 */
#include "assemble/assemble.h"

#include "borrow_runner.h"
#include "rewrite/fence.h"
#include "slice_runner.h"
#include "worker_runner.h"

#include "random_kernel.h"

static uint64_t first_seed = 1, seed_count = 400;

static void make_kernel(struct random_kernel *kernel, uint64_t seed)
{
    uint8_t data[1024];
    uint64_t numbers = seed * UINT64_C(0x9e3779b97f4a7c15);
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)next_random(&numbers);
    random_kernel_make(kernel, data, sizeof data);
}

static void same_as_ptx(void **state)
{
    (void)state;
    static struct random_kernel kernel;
    for (uint64_t seed = first_seed; seed < first_seed + seed_count; seed++) {
        make_kernel(&kernel, seed);
        struct rewrite_case item = rewrite_case_create(slice_module, kernel.text, kernel.length);
        const struct test_launch launch = {
            "k", {kernel.grid[0], kernel.grid[1], kernel.grid[2]}, {kernel.block, 1, 1}, {0}, 0};
        uint8_t *written = run_cut(&item, kernel.text, &launch, &(struct cutting){0});
        for (item.rewrites = 1; item.rewrites <= ASSEMBLE_EVERYTHING;
             item.rewrites = item.rewrites < ASSEMBLE_SPARE ? 2 * item.rewrites : item.rewrites + ASSEMBLE_SPARE - 1) {
            uint8_t *assembled = run_cut(&item, kernel.text, &launch, &(struct cutting){0});
            if (memcmp(written, assembled, OUT_BYTES) != 0)
                fail_msg("seed %llu, rewrites %u:\n%s", (unsigned long long)seed, item.rewrites, kernel.text);
            free(assembled);
        }
        free(written);
        rewrite_case_destroy(&item);
    }
}

/* One operation of each kind that is contracted, on all triples of numbers that are special, in the type and with .ftz. */
static char *text_of_contractions(const char *type, const char *flush, uint32_t bits)
{
    static const char
        single[] =
            ".b32 of[16] = {0, 0x80000000, 1, 0x80000001, 0x007fffff, 0x00800000, 0x80800001, 0x3f800000, 0xbf800001, "
            "0x3effffff, 0x7f7fffff, 0xff7ffffe, 0x7f800000, 0xff800000, 0x7fc00001, 0x1fffffff};\n",
        wide[] =
            ".b64 of[16] = {0, 0x8000000000000000, 1, 0x000fffffffffffff, 0x0010000000000001, 0x3ff0000000000000, "
            "0xbff0000000000001, 0x3fdfffffffffffff, 0x7fefffffffffffff, 0xffeffffffffffffe, 0x7ff0000000000000, "
            "0xfff0000000000000, 0x7ff8000000000001, 0xfff8000000000002, 0x7ff0000000000003, 0x1fefffffffffffff};\n";
    static const char *const operations[] = {
        "mul%s %%x, %%a, %%b;\nadd%s %%y, %%x, %%c;\n",    "mul%s %%x, %%a, %%b;\nadd%s %%y, %%c, %%x;\n",
        "mul%s %%x, %%a, %%b;\nsub%s %%y, %%x, %%c;\n",    "mul%s %%x, %%a, %%b;\nsub%s %%y, %%c, %%x;\n",
        "neg%s %%x, %%a;\nfma.rn%s %%y, %%x, %%b, %%c;\n", "neg%s %%x, %%b;\nfma.rn%s %%y, %%a, %%x, %%c;\n",
        "neg%s %%x, %%c;\nfma.rn%s %%y, %%a, %%b, %%x;\n", "neg%s %%x, %%a;\nadd%s %%y, %%x, %%b;\n",
        "neg%s %%x, %%a;\nadd%s %%y, %%b, %%x;\n",         "neg%s %%x, %%a;\nsub%s %%y, %%b, %%x;\n"};
    char *text = NULL, suffix[16];
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    assert_non_null(out);
    snprintf(suffix, sizeof suffix, "%s.%s", flush, type);
    fprintf(out,
            ".version 7.0\n.target sm_75\n.address_size 64\n.global .align 8 %s.entry k(.param .u64 out) {\n"
            ".reg .%s %%a, %%b, %%c;\n.reg .b%u %%v;\n.reg .b32 %%t, %%s;\n.reg .b64 %%o, %%n, %%w, %%h;\n"
            "mov.u32 %%t, %%tid.x;\nmov.u32 %%s, %%ctaid.x;\nmad.lo.u32 %%t, %%s, 256, %%t;\nmov.b64 %%h, 7;\nmov.u64 "
            "%%n, of;\n",
            bits == 32 ? single : wide, type, bits);
    for (uint32_t i = 0; i < 3; i++)
        fprintf(out,
                "shr.u32 %%s, %%t, %u;\nand.b32 %%s, %%s, 15;\nmul.wide.u32 %%w, %%s, %u;\nadd.u64 %%w, %%w, %%n;\n"
                "ld.global.%s %%%c, [%%w];\n",
                4 * i, bits / 8, type, "abc"[i]);
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++) {
        fprintf(out, "{\n.reg .%s %%x, %%y;\n", type); /* of its own: registers with several writers are left alone */
        fprintf(out, operations[i], suffix, suffix);
        fprintf(
            out,
            "mov.b%u %%v, %%y;\n%s%%w, %%v;\nmul.lo.u64 %%h, %%h, 6364136223846793005;\nxor.b64 %%h, %%h, %%w;\n}\n",
            bits, bits == 32 ? "cvt.u64.u32 " : "mov.b64 ");
    }
    fprintf(out, "ld.param.u64 %%o, [out];\nmul.wide.u32 %%w, %%t, 8;\nadd.u64 %%o, %%o, %%w;\nst.global.u64 [%%o], "
                 "%%h;\nret;\n}\n");
    fclose(out);
    return text;
}

static void contracted_floats_round_twice(void **state)
{
    (void)state;
    static const struct {
        const char *type, *flush;
        uint32_t bits;
    } kinds[] = {{"f32", "", 32}, {"f32", ".ftz", 32}, {"f64", "", 64}};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        char *text = text_of_contractions(kinds[i].type, kinds[i].flush, kinds[i].bits);
        struct rewrite_case item = rewrite_case_create(slice_module, text, strlen(text));
        const struct test_launch launch = {"k", {16, 1, 1}, {256, 1, 1}, {0}, 0};
        uint8_t *written = run_cut(&item, text, &launch, &(struct cutting){0});
        item.rewrites = ASSEMBLE_CONTRACT;
        uint8_t *assembled = run_cut(&item, text, &launch, &(struct cutting){0});
        for (uint32_t t = 0; t < 16 * 256; t++)
            if (memcmp(written + (size_t)t * 8, assembled + (size_t)t * 8, 8) != 0)
                fail_msg("%s%s, triple %u", kinds[i].flush, kinds[i].type, t);
        free(written);
        free(assembled);
        rewrite_case_destroy(&item);
        free(text);
    }
}

static void same_as_whole(void **state)
{
    (void)state;
    static struct random_kernel kernel;
    uint32_t refused = 0;
    for (uint64_t seed = first_seed; seed < first_seed + seed_count; seed++) {
        make_kernel(&kernel, seed);
        struct rewrite_case item = rewrite_case_create(slice_module, kernel.text, kernel.length);
        const struct test_launch launch = {
            "k", {kernel.grid[0], kernel.grid[1], kernel.grid[2]}, {kernel.block, 1, 1}, {0}, 0};
        const char *refusal = rewrite_case_kernel(&item, "k")->refusal;
        refused += refusal != NULL;
        if (refusal) {
            assert_true(kernel.pointed && strstr(refusal, "pointer"));
        } else {
            uint8_t *whole = run_cut(&item, kernel.text, &launch, &(struct cutting){0});
            for (uint64_t slice = 1; slice < 400; slice = 3 * slice + seed % 5) {
                uint8_t *cut = run_cut(&item, kernel.text, &launch, &(struct cutting){slice, seed % 3});
                if (memcmp(whole, cut, OUT_BYTES) != 0)
                    fail_msg("seed %llu, slices of %llu:\n%s\nbecame\n%s", (unsigned long long)seed,
                             (unsigned long long)slice, kernel.text, item.text);
                free(cut);
            }
            free(whole);
        }
        rewrite_case_destroy(&item);
    }
    print_message("%u of %llu kernels were refused\n", refused, (unsigned long long)seed_count);
    if (seed_count >= 100)
        assert_in_range(refused, 1, seed_count / 3);
}

/* In one launch, under that limit. */
static void expect_completed(const struct random_kernel *kernel, const struct test_launch *launch, const uint8_t *whole,
                             uint32_t workers, uint16_t limit)
{
    struct rewrite_case item = rewrite_case_create(workers_completing_module, kernel->text, kernel->length);
    uint8_t *found = run_completing(&item, launch, workers, limit);
    if (memcmp(whole, found, OUT_BYTES) != 0)
        fail_msg("one launch of %u workers, limit %u:\n%s\nbecame\n%s", workers, limit, kernel->text, item.text);
    free(found);
    rewrite_case_destroy(&item);
}

static void same_as_workers(void **state)
{
    (void)state;
    static struct random_kernel kernel;
    static const struct crew crews[] = {{1, 0, 0, 3, 1},
                                        {3, WORKERS_SEATED, 0, 2, 3},
                                        {2, WORKERS_STRICT, 1, 4, 0},
                                        {5, WORKERS_TELL, 2, 0, 0},
                                        {2, WORKERS_SEATED | WORKERS_STRICT, 3, 2, 2}};
    uint32_t refused = 0;
    for (uint64_t seed = first_seed; seed < first_seed + seed_count; seed++) {
        make_kernel(&kernel, seed);
        struct rewrite_case item =
            rewrite_case_create(seed / 2 % 2 ? workers_dropping_module : workers_module, kernel.text, kernel.length);
        const struct test_launch launch = {
            "k", {kernel.grid[0], kernel.grid[1], kernel.grid[2]}, {kernel.block, 1, 1}, {0}, 0};
        const char *refusal = rewrite_case_kernel(&item, "k")->refusal;
        refused += refusal != NULL;
        if (refusal) {
            assert_true(kernel.pointed && strstr(refusal, "pointer"));
        } else {
            const struct crew *crew = &crews[seed % (sizeof crews / sizeof crews[0])];
            uint8_t *whole = run_whole(&item, kernel.text, &launch), *found = run_crew(&item, &launch, crew),
                    *straight = run_straight(&item, &launch);
            if (memcmp(whole, found, OUT_BYTES) != 0 || memcmp(whole, straight, OUT_BYTES) != 0)
                fail_msg("seed %llu, %u workers, flags %u:\n%s\nbecame\n%s", (unsigned long long)seed, crew->workers,
                         crew->flags, kernel.text, item.text);
            expect_completed(&kernel, &launch, whole, 1 + seed % 5, seed / 5 % 3);
            free(whole);
            free(found);
            free(straight);
        }
        rewrite_case_destroy(&item);
    }
    print_message("%u of %llu kernels were refused\n", refused, (unsigned long long)seed_count);
    if (seed_count >= 100)
        assert_in_range(refused, 1, seed_count / 3);
}

/* With a fence round so much of the buffer, and what it has recorded. */
static uint8_t *run_fenced(const struct rewrite_case *item, const struct test_launch *launch, uint64_t bytes,
                           uint64_t *recorded)
{
    struct loaded loaded = load_text(item, item->text);
    struct fence_bounds bounds = {.first = loaded.out, .bytes = bytes};
    uint64_t size, place = corun_module_instance_variable(loaded.instance, FENCE_VARIABLE, &size);
    assert_int_equal(corun_memory_allocate(loaded.memory, sizeof *recorded, &bounds.record), CORUN_OK);
    write_device(&loaded, place, &bounds, sizeof bounds);
    run_launch(&loaded, item, launch, launch->grid, NULL, 0);
    read_device(&loaded, bounds.record, recorded, sizeof *recorded);
    return unload(&loaded);
}

static void same_in_a_fence(void **state)
{
    (void)state;
    static struct random_kernel kernel;
    static const uint8_t none[OUT_BYTES];
    for (uint64_t seed = first_seed; seed < first_seed + seed_count; seed++) {
        make_kernel(&kernel, seed);
        struct rewrite_case item = rewrite_case_create(fence_module, kernel.text, kernel.length);
        const struct test_launch launch = {
            "k", {kernel.grid[0], kernel.grid[1], kernel.grid[2]}, {kernel.block, 1, 1}, {0}, 0};
        uint64_t recorded[2];
        assert_null(rewrite_case_kernel(&item, "k")->refusal);
        uint8_t *whole = run_whole(&item, kernel.text, &launch),
                *all = run_fenced(&item, &launch, OUT_BYTES, &recorded[0]),
                *nothing = run_fenced(&item, &launch, 0, &recorded[1]);
        if (memcmp(whole, all, OUT_BYTES) != 0 || recorded[0] || memcmp(nothing, none, OUT_BYTES) != 0 ||
            (!recorded[1] && memcmp(whole, none, OUT_BYTES) != 0))
            fail_msg("seed %llu:\n%s\nbecame\n%s", (unsigned long long)seed, kernel.text, item.text);
        free(whole);
        free(all);
        free(nothing);
        rewrite_case_destroy(&item);
    }
}

/* Beside the program's module, whose variables hold in the end what they hold when its own kernel has run. */
static void run_borrowing(const struct rewrite_case *item, const struct random_kernel *kernel, bool by_workers,
                          uint8_t **content, uint8_t **variables)
{
    const struct test_launch launch = {
        "k", {kernel->grid[0], kernel->grid[1], kernel->grid[2]}, {kernel->block, 1, 1}, {0}, 0};
    uint32_t total = total_of(launch.grid);
    struct beside beside = load_beside(item, kernel->text);
    if (by_workers)
        run_by_workers(&beside.loaded, item, &launch, &(struct crew){3, WORKERS_TELL, 0, 2, 1});
    for (uint32_t first = 0; !by_workers && first < total; first += 7)
        run_part(&beside.loaded, item, &launch, first, total - first < 7 ? total - first : 7);
    *content = unload_beside(&beside, item, variables);
}

static void expect_same_beside(const struct rewrite_case *item, const struct random_kernel *kernel, uint64_t seed)
{
    const struct test_launch launch = {
        "k", {kernel->grid[0], kernel->grid[1], kernel->grid[2]}, {kernel->block, 1, 1}, {0}, 0};
    uint8_t *variables[2], *contents[2];
    contents[0] = run_original(item, kernel->text, &launch, &variables[0]);
    run_borrowing(item, kernel, seed % 2, &contents[1], &variables[1]);
    if (memcmp(contents[0], contents[1], OUT_BYTES) != 0 ||
        memcmp(variables[0], variables[1], variable_bytes(item)) != 0)
        fail_msg("seed %llu:\n%s\nbecame\n%s", (unsigned long long)seed, kernel->text, item->text);
    for (uint32_t i = 0; i < 2; i++) {
        free(variables[i]);
        free(contents[i]);
    }
}

static void same_with_borrowed_variables(void **state)
{
    (void)state;
    static struct random_kernel kernel;
    uint32_t refused = 0;
    for (uint64_t seed = first_seed; seed < first_seed + seed_count; seed++) {
        make_kernel(&kernel, seed);
        struct rewrite_case item =
            rewrite_case_create(seed % 2 ? borrow_for_workers : borrow_and_slice, kernel.text, kernel.length);
        const char *refusal = rewrite_case_kernel(&item, "k")->refusal;
        refused += refusal != NULL;
        if (refusal)
            assert_true(kernel.pointed && strstr(refusal, "pointer"));
        else
            expect_same_beside(&item, &kernel, seed);
        rewrite_case_destroy(&item);
    }
    print_message("%u of %llu kernels were refused\n", refused, (unsigned long long)seed_count);
    if (seed_count >= 100)
        assert_in_range(refused, 1, seed_count / 3);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_as_whole),   cmocka_unit_test(same_in_a_fence),
        cmocka_unit_test(same_as_workers), cmocka_unit_test(same_with_borrowed_variables),
        cmocka_unit_test(same_as_ptx),     cmocka_unit_test(contracted_floats_round_twice)};
    if (argc == 3) {
        first_seed = strtoull(argv[1], NULL, 10);
        seed_count = strtoull(argv[2], NULL, 10);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
