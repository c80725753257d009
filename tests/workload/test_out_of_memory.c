/* SPDX-License-Identifier: MIT */
/*
 * A host without memory: one workload is loaded, instantiated and run with timing, or kernels are sliced, over and over, and another
 * allocation fails each time. Every time the answer is MEMORY, nothing crashes, and everything can be destroyed (the address
 * sanitizer sees leaks). The linker leads malloc and its like here (tests/CMakeLists.txt).
 */
#include "corun/workload.h"
#include "rewrite/slice.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <cmocka.h>

#define WINDOW_CYCLES 1500

/* Allocations are counted from 1; the one with the number fail_at fails, and with `fail_on` all after it, too. */
static struct {
    uint64_t count, fail_at;
    bool fail_on;
} supply;

static bool is_refused(void)
{
    supply.count++;
    return supply.fail_at && (supply.fail_on ? supply.count >= supply.fail_at : supply.count == supply.fail_at);
}

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
void *__real_aligned_alloc(size_t alignment, size_t bytes);
int __real_posix_memalign(void **pointer, size_t alignment, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);
int __wrap_posix_memalign(void **pointer, size_t alignment, size_t bytes);
void *__real_mmap(void *address, size_t bytes, int protection, int flags, int file, off_t offset);
void *__wrap_mmap(void *address, size_t bytes, int protection, int flags, int file, off_t offset);

void *__wrap_malloc(size_t bytes)
{
    return is_refused() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    return is_refused() ? NULL : __real_calloc(count, bytes);
}

void *__wrap_realloc(void *old, size_t bytes)
{
    return is_refused() ? NULL : __real_realloc(old, bytes);
}

void *__wrap_aligned_alloc(size_t alignment, size_t bytes)
{
    return is_refused() ? NULL : __real_aligned_alloc(alignment, bytes);
}

int __wrap_posix_memalign(void **pointer, size_t alignment, size_t bytes)
{
    return is_refused() ? ENOMEM : __real_posix_memalign(pointer, alignment, bytes);
}

void *__wrap_mmap(void *address, size_t bytes, int protection, int flags, int file, off_t offset)
{
    if (is_refused()) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    return __real_mmap(address, bytes, protection, flags, file, offset);
}

/* The first status that is not OK on the way from a specification to numbers. */
static enum corun_status run_once(const char *data, const char *specification)
{
    struct corun_diagnostics *list = corun_diagnostics_create();
    if (!list)
        return CORUN_MEMORY;
    struct corun_workload *workload = NULL;
    struct corun_instance *instance = NULL;
    struct corun_gpu *gpu = NULL;
    enum corun_status status = corun_workload_load(specification, data, list, &workload);
    if (!status)
        status = corun_instance_create(workload, 0, 1, list, &instance);
    struct corun_gpu_config config;
    corun_gpu_config_default(&config);
    if (!status)
        status = corun_gpu_create(&config, list, &gpu);
    struct corun_application_description description = {.goal = CORUN_GOAL_NONE};
    uint32_t index = 0;
    if (!status) {
        corun_instance_fill(instance, &description);
        status = corun_gpu_add(gpu, &description, &index);
    }
    struct corun_limits limits = {.cycles = WINDOW_CYCLES};
    if (!status)
        status = corun_gpu_run(gpu, &limits, list);
    if (!status) {
        struct corun_application_result result;
        corun_gpu_application(gpu, index, &result);
        status = result.status;
    }
    corun_gpu_destroy(gpu);
    corun_instance_destroy(instance);
    corun_workload_destroy(workload);
    corun_diagnostics_destroy(list);
    return status;
}

/* The text of kernels to that of sliced ones. */
static enum corun_status slice_once(const char *data, const char *text)
{
    struct rewritten slices;
    char *sliced;
    size_t bytes;
    (void)data;
    enum corun_status status =
        rewrite_text(slice_module, "kernels.ptx", text, strlen(text), NULL, &slices, &sliced, &bytes);
    if (status == CORUN_OK) {
        free(sliced);
        rewritten_destroy(&slices);
    }
    return status;
}

static void refuse_each(enum corun_status (*once)(const char *data, const char *what), const char *specification,
                        bool fail_on)
{
    char data[4096];
    struct corun_diagnostics *list = corun_diagnostics_create();
    assert_int_equal(corun_data_directory(data, sizeof data, list), CORUN_OK);
    corun_diagnostics_destroy(list);
    supply.fail_at = 0;
    supply.count = 0;
    assert_int_equal(once(data, specification), CORUN_OK);
    uint64_t all = supply.count;
    print_message("%.*s: %llu allocations\n", (int)strcspn(specification, "\n"), specification,
                  (unsigned long long)all);
    /* Every one in the beginning, where they differ most, then about a hundred per factor of e. */
    for (uint64_t n = 1; n <= all; n += n < 100 ? 1 : n / 100) {
        supply.count = 0;
        supply.fail_at = n;
        supply.fail_on = fail_on;
        enum corun_status status = once(data, specification);
        supply.fail_at = 0;
        if (status != CORUN_MEMORY)
            print_error("without allocation %llu of %llu: status %d\n", (unsigned long long)n, (unsigned long long)all,
                        (int)status);
        assert_int_equal(status, CORUN_MEMORY);
    }
}

static void one_allocation_fails(void **state)
{
    (void)state;
    refuse_each(run_once, "sgemm@small,n=64,k=120", false);
    refuse_each(run_once, "histogram@small", false);
}

static void all_allocations_fail_from_one_on(void **state)
{
    (void)state;
    refuse_each(run_once, "histogram@small", true);
}

/* A function that is told of the grid, one that is called through pointers, a kernel that is refused, and all dimensions. */
static void kernels_are_sliced(void **state)
{
    (void)state;
    static const char text[] =
        ".version 7.0\n.target sm_75\n.address_size 64\n"
        ".func told() { .reg .u32 %r; mov.u32 %r, %ctaid.x; ret; }\n"
        ".func pointed() { .reg .u32 %r; mov.u32 %r, %nctaid.x; ret; }\n.global .u64 table = pointed;\n"
        ".entry refused() { .reg .u64 %d; P: .callprototype _ (); call %d, P; call told; ret; }\n"
        ".entry sliced() { .reg .u32 %r<3>; .reg .u16 %h; call told; mov.u32 %r0, %ctaid.z; mov.u16 %h, %ctaid.y; ret; "
        "}\n";
    refuse_each(slice_once, text, false);
    refuse_each(slice_once, text, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_allocation_fails),
        cmocka_unit_test(all_allocations_fail_from_one_on),
        cmocka_unit_test(kernels_are_sliced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
