/* SPDX-License-Identifier: MIT */
/*
 * Random kernels do in slices and as workers what they do whole, with a fence what they do without, and as machine code what their PTX does; what
 * cannot be sliced calls through a pointer. `test_random FIRST COUNT` tries others.
 */
#include "assemble/assemble.h"

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

static void same_as_workers(void **state)
{
    (void)state;
    static struct random_kernel kernel;
    static const struct crew crews[] = {{1, 0, 0},
                                        {3, WORKERS_SEATED, 0},
                                        {2, WORKERS_STRICT, 1},
                                        {5, WORKERS_TELL, 2},
                                        {2, WORKERS_SEATED | WORKERS_STRICT, 3}};
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

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_as_whole), cmocka_unit_test(same_in_a_fence),
                                       cmocka_unit_test(same_as_workers), cmocka_unit_test(same_as_ptx)};
    if (argc == 3) {
        first_seed = strtoull(argv[1], NULL, 10);
        seed_count = strtoull(argv[2], NULL, 10);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
