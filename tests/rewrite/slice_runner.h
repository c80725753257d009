/* SPDX-License-Identifier: MIT */
/* Helpers of the tests of slices: a grid that is run whole and in slices, on memory of the same content. */
#ifndef TESTS_REWRITE_SLICE_RUNNER_H
#define TESTS_REWRITE_SLICE_RUNNER_H

#include "rewrite/slice.h"
#include "rewrite_runner.h"

/* How a grid is cut. */
struct cutting {
    uint64_t slice;  /* thread blocks of a slice; 0: the kernel as it was, whole */
    uint64_t random; /* 0: the slices in order, else the seed of their order */
};

/* The first thread blocks of the slices of a grid, in the order in which they are launched; the caller frees them. */
static inline uint64_t *slice_order(uint64_t total, const struct cutting *cutting, size_t *count)
{
    *count = (size_t)((total + cutting->slice - 1) / cutting->slice);
    uint64_t *firsts = calloc(*count, sizeof *firsts), state = cutting->random;
    assert_non_null(firsts);
    for (size_t i = 0; i < *count; i++)
        firsts[i] = i * cutting->slice;
    for (size_t i = *count; cutting->random && i > 1; i--) {
        size_t k = (size_t)(next_random(&state) % i);
        uint64_t kept = firsts[i - 1];
        firsts[i - 1] = firsts[k];
        firsts[k] = kept;
    }
    return firsts;
}

static inline void run_part(struct loaded *loaded, const struct rewrite_case *item, const struct test_launch *launch,
                            uint64_t first, uint64_t count)
{
    const uint32_t shape[] = {launch->grid.x, launch->grid.y, launch->grid.z};
    struct slice_arguments arguments;
    if (count)
        slice_arguments_set(&arguments, shape, first, 77);
    run_launch(loaded, item, launch, count ? (struct corun_dim3){(uint32_t)count, 1, 1} : launch->grid,
               count ? &arguments : NULL, sizeof arguments);
}

/* One slice, or with a count of 0 a kernel that was refused, of the sliced module; gives the buffer. */
static inline uint8_t *run_slice(const struct rewrite_case *item, const struct test_launch *launch, uint64_t first,
                                 uint64_t count)
{
    struct loaded loaded = load_text(item, item->text);
    run_part(&loaded, item, launch, first, count);
    return unload(&loaded);
}

/* A launch in slices, or whole as it was in `original`; gives the buffer. */
static inline uint8_t *run_cut(const struct rewrite_case *item, const char *original, const struct test_launch *launch,
                               const struct cutting *cutting)
{
    struct loaded loaded = load_text(item, cutting->slice ? item->text : original);
    uint64_t total = (uint64_t)launch->grid.x * launch->grid.y * launch->grid.z;
    size_t count = 0;
    uint64_t *firsts = cutting->slice ? slice_order(total, cutting, &count) : NULL;
    if (!cutting->slice)
        run_part(&loaded, item, launch, 0, 0);
    for (size_t i = 0; i < count; i++) {
        uint64_t rest = total - firsts[i];
        run_part(&loaded, item, launch, firsts[i], rest < cutting->slice ? rest : cutting->slice);
    }
    free(firsts);
    return unload(&loaded);
}

/* Slices of 1, 2, 3, 7, a half, one less than all, and all, in order and not, do what the whole grid did; gives what that is. */
static inline uint8_t *expect_same_in_slices(const char *text, const struct test_launch *launch)
{
    struct rewrite_case item = rewrite_case_create(slice_module, text, strlen(text));
    uint64_t total = (uint64_t)launch->grid.x * launch->grid.y * launch->grid.z;
    uint8_t *whole = run_cut(&item, text, launch, &(struct cutting){0});
    const uint64_t sizes[] = {1, 2, 3, 7, (total + 1) / 2, total > 1 ? total - 1 : 1, total};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (uint64_t random = 0; random < 2; random++) {
            uint8_t *cut = run_cut(&item, text, launch, &(struct cutting){sizes[i], random});
            if (memcmp(whole, cut, OUT_BYTES) != 0)
                fail_msg("slices of %llu of %llu thread blocks%s differ:\n%s", (unsigned long long)sizes[i],
                         (unsigned long long)total, random ? ", in another order," : "", item.text);
            free(cut);
        }
    rewrite_case_destroy(&item);
    return whole;
}

#endif
