/* SPDX-License-Identifier: MIT */
/*
 * The workloads themselves: all of them load in every size, and what a run without timing computes equals the CPU
 * reference. Without arguments: what is true of all of them together. Else each argument is one of
 *
 *     NAME         one workload: small and medium equal the reference, and seeds decide; each is a test of its own for ctest
 *     SIZE         every workload in this size against its reference
 *     NAME@SIZE    one of them, what scripts/check_full.py calls
 *     list         prints NAME@SIZE and the bytes of its buffers, for all of them
 *     --results    what descriptions say of instructions and bytes is not compared: for PTX of another compiler
 */
#include "corun/workload.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

struct suite {
    bool results_only; /* instructions may be others than the formulas say */
    char data[4096];
    struct corun_diagnostics *list;
    struct corun_workload_list *workloads;
};

static void print_diagnostics(const struct corun_diagnostics *list)
{
    for (size_t i = 0; i < corun_diagnostics_count(list); i++) {
        const struct corun_diagnostic *item = corun_diagnostics_get(list, i);
        print_error("%s:%u:%u: %s\n", item->place.file ? item->place.file : "", item->place.line, item->place.column,
                    item->message);
    }
}

static int set_up(void **state)
{
    struct suite *suite = calloc(1, sizeof *suite);
    suite->list = corun_diagnostics_create();
    *state = suite;
    enum corun_status status = corun_data_directory(suite->data, sizeof suite->data, suite->list);
    if (!status)
        status = corun_workload_list_create(suite->data, suite->list, &suite->workloads);
    if (status || corun_diagnostics_count(suite->list) > 0) {
        print_diagnostics(suite->list);
        return -1;
    }
    return 0;
}

static int tear_down(void **state)
{
    struct suite *suite = *state;
    corun_workload_list_destroy(suite->workloads);
    corun_diagnostics_destroy(suite->list);
    free(suite);
    return 0;
}

static struct corun_workload *load(struct suite *suite, const char *name, const char *size)
{
    char specification[200];
    snprintf(specification, sizeof specification, "%s@%s", name, size);
    struct corun_workload *workload;
    if (corun_workload_load(specification, suite->data, suite->list, &workload) != CORUN_OK)
        print_diagnostics(suite->list);
    assert_non_null(workload);
    return workload;
}

static struct corun_instance *instantiate(struct suite *suite, const struct corun_workload *workload,
                                          uint32_t application, uint64_t seed)
{
    struct corun_instance *instance;
    if (corun_instance_create(workload, application, seed, suite->list, &instance) != CORUN_OK)
        print_diagnostics(suite->list);
    assert_non_null(instance);
    return instance;
}

static void run_and_verify(struct suite *suite, struct corun_instance *instance, struct corun_functional_result *result,
                           struct corun_verification *verification)
{
    corun_diagnostics_clear(suite->list);
    enum corun_status status = corun_instance_run(instance, 0, suite->list, NULL, NULL, result);
    if (!status)
        status = corun_instance_verify(instance, suite->list, verification);
    if (status)
        print_diagnostics(suite->list);
    assert_int_equal(status, CORUN_OK);
}

/* Counted against the formulas of the description. */
static void check_work(const struct corun_workload *workload, const struct corun_functional_result *result)
{
    struct corun_workload_info info;
    struct corun_workload_work work;
    corun_workload_describe(workload, &info);
    corun_workload_stated_work(workload, &work);
    if (!work.stated) {
        print_message("%s states no work\n", info.name);
        return;
    }
    const struct {
        const char *what;
        uint64_t stated, counted;
        double tolerance;
    } rows[] = {
        {"thread instructions", work.thread_instructions, result->thread_instructions, work.instruction_tolerance},
        {"bytes", work.global_bytes, result->global_bytes, work.byte_tolerance},
    };
    for (size_t i = 0; i < 2; i++) {
        double difference = ((double)rows[i].counted - (double)rows[i].stated) / (double)rows[i].stated;
        if (difference < 0 ? -difference > rows[i].tolerance : difference > rows[i].tolerance)
            fail_msg("%s@%s: %llu %s by its formula, but %llu counted: %+.3f %%, allowed %.3f %%", info.name, info.size,
                     (unsigned long long)rows[i].stated, rows[i].what, (unsigned long long)rows[i].counted,
                     100 * difference, 100 * rows[i].tolerance);
    }
}

/* One workload in one size, as a test. */
struct job {
    struct suite *suite;
    char name[100], size[60], title[200];
};

static void equals_reference(void **state)
{
    const struct job *job = *state;
    struct suite *suite = job->suite;
    struct corun_workload *workload = load(suite, job->name, job->size);
    struct corun_instance *instance = instantiate(suite, workload, 0, 1);
    struct corun_functional_result result;
    struct corun_verification verification = {0};
    struct timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    run_and_verify(suite, instance, &result, &verification);
    clock_gettime(CLOCK_MONOTONIC, &end);
    double seconds = (double)(end.tv_sec - start.tv_sec) + 1e-9 * (double)(end.tv_nsec - start.tv_nsec);
    print_message(
        "%s@%s: %u grids, %llu warp instructions with %.2f of 32 lanes (%llu thread instructions, %llu bytes), "
        "%llu elements compared, worst error %.3f of the tolerance, %.2f s\n",
        job->name, job->size, corun_instance_grid_count(instance), (unsigned long long)result.warp_instructions,
        (double)result.thread_instructions / (double)result.warp_instructions,
        (unsigned long long)result.thread_instructions, (unsigned long long)result.global_bytes,
        (unsigned long long)verification.elements, verification.worst_error, seconds);
    assert_true(verification.elements > 0);
    if (!suite->results_only)
        check_work(workload, &result);
    corun_instance_destroy(instance);
    corun_workload_destroy(workload);
}

static bool has_size(const struct corun_workload_info *info, const char *size)
{
    for (size_t i = 0; i < info->size_count; i++) {
        if (strcmp(info->sizes[i], size) == 0)
            return true;
    }
    return false;
}

static void list_is_complete(void **state)
{
    struct suite *suite = *state;
    assert_true(corun_workload_list_count(suite->workloads) > 0);
    for (size_t k = 0; k < corun_workload_list_count(suite->workloads); k++) {
        const struct corun_workload_info *info = corun_workload_list_get(suite->workloads, k);
        if (!info->has_reference || !info->summary[0] || !has_size(info, "small") || !has_size(info, "medium") ||
            !has_size(info, "large"))
            fail_msg("%s: a workload has a summary, a reference, and sizes small, medium and large", info->name);
    }
}

static void every_size_loads(void **state)
{
    struct suite *suite = *state;
    for (size_t i = 0; i < corun_workload_list_count(suite->workloads); i++) {
        const struct corun_workload_info *info = corun_workload_list_get(suite->workloads, i);
        for (size_t k = 0; k < info->size_count; k++) {
            struct corun_workload *workload = load(suite, info->name, info->sizes[k]);
            struct corun_workload_info loaded;
            corun_workload_describe(workload, &loaded);
            assert_string_equal(loaded.size, info->sizes[k]);
            for (size_t l = 0; k == 0 && l < corun_workload_launch_count(workload); l++) {
                struct corun_workload_launch launch;
                struct corun_kernel_info kernel;
                corun_workload_launch_at(workload, l, &launch);
                corun_kernel_describe(launch.kernel, &kernel);
                print_message("%-10s %-24s %4u x %u threads, %u registers (%s), %u bytes shared\n", info->name,
                              kernel.name, launch.block.x * launch.block.y * launch.block.z, launch.launches,
                              kernel.registers_per_thread, kernel.registers_from, kernel.shared_bytes);
            }
            corun_workload_destroy(workload);
        }
        struct corun_workload *workload;
        assert_int_equal(corun_workload_load(info->name, suite->data, suite->list, &workload), CORUN_OK);
        struct corun_workload_info loaded;
        corun_workload_describe(workload, &loaded);
        assert_string_equal(loaded.size, "medium");
        corun_workload_destroy(workload);
    }
}

/* Sanitizers make this a minute, and show nothing that the small ones do not. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED
#endif

static void medium_equals_reference(void **state)
{
#ifdef SANITIZED
    (void)state;
    skip();
#else
    equals_reference(state);
#endif
}

/* All bytes of all output buffers, to be freed. */
static uint8_t *outputs_of(struct corun_instance *instance, size_t *bytes)
{
    uint8_t *copy = NULL;
    *bytes = 0;
    for (size_t i = 0; i < corun_instance_buffer_count(instance); i++) {
        struct corun_buffer_info info;
        corun_instance_buffer_at(instance, i, &info);
        if (!info.is_output)
            continue;
        copy = realloc(copy, *bytes + info.bytes);
        assert_int_equal(corun_memory_read(corun_instance_memory(instance), info.address, copy + *bytes, info.bytes),
                         CORUN_OK);
        *bytes += info.bytes;
    }
    return copy;
}

/* Run, keep the outputs, run again with another seed, application or after a restart, and compare bit for bit. */
static void seeds_decide(void **state)
{
    const struct job *job = *state;
    struct suite *suite = job->suite;
    struct corun_workload *workload = load(suite, job->name, job->size);
    struct corun_instance *first = instantiate(suite, workload, 0, 5);
    struct corun_instance *same = instantiate(suite, workload, 3, 5);
    struct corun_instance *other = instantiate(suite, workload, 0, 6);
    struct corun_functional_result result;
    run_and_verify(suite, first, &result, NULL);
    size_t bytes, again_bytes, same_bytes, other_bytes;
    uint8_t *once = outputs_of(first, &bytes);
    run_and_verify(suite, first, &result, NULL);
    run_and_verify(suite, same, &result, NULL);
    run_and_verify(suite, other, &result, NULL);
    uint8_t *again = outputs_of(first, &again_bytes);
    uint8_t *twin = outputs_of(same, &same_bytes);
    uint8_t *stranger = outputs_of(other, &other_bytes);
    assert_int_equal(bytes, again_bytes);
    assert_int_equal(bytes, same_bytes);
    assert_int_equal(bytes, other_bytes);
    assert_memory_equal(once, again, bytes);
    assert_memory_equal(once, twin, bytes);
    assert_int_not_equal(memcmp(once, stranger, bytes), 0);
    free(once);
    free(again);
    free(twin);
    free(stranger);
    corun_instance_destroy(first);
    corun_instance_destroy(same);
    corun_instance_destroy(other);
    corun_workload_destroy(workload);
}

/* The workload that these take as their example. */
static const char *example(const struct suite *suite)
{
    return corun_workload_list_get(suite->workloads, 0)->name;
}

/* One wrong byte in each output is found, and the first wrong element named. */
static void mismatch_is_found(void **state)
{
    struct suite *suite = *state;
    struct corun_workload *workload = load(suite, example(suite), "small");
    struct corun_instance *instance = instantiate(suite, workload, 0, 1);
    struct corun_functional_result result;
    struct corun_verification verification;
    char first[100] = "";
    unsigned outputs = 0;
    run_and_verify(suite, instance, &result, &verification);
    for (size_t i = 0; i < corun_instance_buffer_count(instance); i++) {
        struct corun_buffer_info info;
        corun_instance_buffer_at(instance, i, &info);
        uint8_t *data = corun_memory_pointer(corun_instance_memory(instance), info.address, info.bytes);
        if (!info.is_output)
            continue;
        uint64_t element_bytes = info.bytes / info.count, index = info.count / 2;
        data[(index + 1) * element_bytes - 1] ^= 0x41; /* of a float: sign and exponent */
        if (outputs++ == 0)
            snprintf(first, sizeof first, "buffer '%s' element %llu is ", info.name, (unsigned long long)index);
    }
    assert_int_equal(corun_instance_verify(instance, suite->list, &verification), CORUN_MISMATCH);
    assert_int_equal(verification.mismatches, outputs);
    assert_non_null(strstr(corun_diagnostics_get(suite->list, 0)->message, first));
    corun_diagnostics_clear(suite->list);
    corun_instance_destroy(instance);
    corun_workload_destroy(workload);
}

static void content_depends_on_size_parameters_and_seed(void **state)
{
    struct suite *suite = *state;
    struct corun_workload *small = load(suite, example(suite), "small");
    struct corun_workload *medium = load(suite, example(suite), "medium");
    struct corun_workload_info info;
    const char *name = "";
    int64_t value = 0;
    char size[200];
    corun_workload_describe(small, &info);
    assert_true(info.parameter_count > 0 && corun_workload_parameter_at(small, 0, &name, &value));
    assert_string_equal(name, info.parameters[0]);
    snprintf(size, sizeof size, "small,%s=%lld", name, (long long)value);
    struct corun_workload *changed = load(suite, example(suite), size);
    corun_workload_describe(changed, &info);
    assert_string_equal(info.size, size);
    void *content[5];
    size_t bytes[5];
    assert_int_equal(corun_workload_content(small, 1, &content[0], &bytes[0]), CORUN_OK);
    assert_int_equal(corun_workload_content(small, 1, &content[1], &bytes[1]), CORUN_OK);
    assert_int_equal(corun_workload_content(small, 2, &content[2], &bytes[2]), CORUN_OK);
    assert_int_equal(corun_workload_content(medium, 1, &content[3], &bytes[3]), CORUN_OK);
    assert_int_equal(corun_workload_content(changed, 1, &content[4], &bytes[4]), CORUN_OK);
    assert_true(bytes[0] == bytes[1] && memcmp(content[0], content[1], bytes[0]) == 0);
    /* a parameter that is given the value it has anyway */
    assert_true(bytes[0] == bytes[4] && memcmp(content[0], content[4], bytes[0]) == 0);
    for (unsigned i = 2; i < 4; i++)
        assert_true(bytes[0] != bytes[i] || memcmp(content[0], content[i], bytes[0]) != 0);
    for (unsigned i = 0; i < 5; i++)
        free(content[i]);
    corun_workload_destroy(small);
    corun_workload_destroy(medium);
    corun_workload_destroy(changed);
}

/* A description of somebody's own, outside of the tree, with its PTX next to it. */
static const char own_ptx[] =
    ".version 6.3\n.target sm_52\n.address_size 64\n"
    ".visible .entry twice(.param .u64 data, .param .f32 factor)\n{\n"
    ".reg .b32 %r<4>;\n.reg .f32 %f<4>;\n.reg .b64 %rd<4>;\n"
    "ld.param.u64 %rd1, [data];\nld.param.f32 %f1, [factor];\n"
    "mov.u32 %r1, %tid.x;\nmul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd3, %rd1, %rd2;\n"
    "ld.global.f32 %f2, [%rd3];\nmul.f32 %f3, %f2, %f1;\nst.global.f32 [%rd3], %f3;\nret;\n}\n";

static void write_text(const char *folder, const char *name, const char *text)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static enum corun_status load_own(struct suite *suite, const char *folder, const char *yaml, const char *message,
                                  struct corun_workload **workload)
{
    char path[300];
    write_text(folder, "own.yaml", yaml);
    snprintf(path, sizeof path, "%s/own.yaml", folder);
    corun_diagnostics_clear(suite->list);
    enum corun_status status = corun_workload_load(path, NULL, suite->list, workload);
    if (message) {
        assert_true(corun_diagnostics_count(suite->list) > 0);
        if (!strstr(corun_diagnostics_get(suite->list, corun_diagnostics_count(suite->list) - 1)->message, message)) {
            print_diagnostics(suite->list);
            fail_msg("expected: %s", message);
        }
    }
    return status;
}

#define OWN(launch) \
    "name: own\nptx: own.ptx\nbuffers:\n  - {name: data, type: f32, count: 64, initial: iota, output: true}\n" \
    "  - {name: other, type: f32, count: 4}\nlaunches:\n  - " launch "\n"

static void own_description(void **state)
{
    struct suite *suite = *state;
    char folder[] = "/tmp/corun-workload-XXXXXX";
    assert_non_null(mkdtemp(folder));
    write_text(folder, "own.ptx", own_ptx);
    struct corun_workload *workload;
    assert_int_equal(
        load_own(suite, folder,
                 OWN("{kernel: twice, grid: 1, block: 64, arguments: [{buffer: data}, {f32: 2}], repeat: 3}"), NULL,
                 &workload),
        CORUN_OK);
    struct corun_instance *instance = instantiate(suite, workload, 2, 1);
    struct corun_functional_result result;
    assert_int_equal(corun_instance_run(instance, 0, suite->list, NULL, NULL, &result), CORUN_OK);
    size_t bytes;
    float *data = (float *)outputs_of(instance, &bytes);
    assert_int_equal(bytes, 256);
    for (unsigned i = 0; i < 64; i++)
        assert_true(data[i] == 8.0f * (float)i);
    free(data);
    assert_int_equal(corun_instance_verify(instance, suite->list, NULL), CORUN_NOT_FOUND);
    corun_instance_destroy(instance);
    corun_workload_destroy(workload);

    static const struct {
        const char *yaml, *message;
        enum corun_status status;
    } broken[] = {
        {OWN("{kernel: thrice, grid: 1, block: 64}"), "there is no kernel 'thrice'", CORUN_NOT_FOUND},
        {OWN("{kernel: twice, grid: 1, block: 64, arguments: [{buffer: data}]}"), "takes 2 arguments, but 1",
         CORUN_ARGUMENT},
        {OWN("{kernel: twice, grid: 1, block: 64, arguments: [{buffer: data}, {s32: 2}]}"), "s32 does not fit",
         CORUN_ARGUMENT},
        {OWN("{kernel: twice, grid: 1, block: 64, arguments: [{buffer: data}, {f64: 2}]}"), "f64 does not fit",
         CORUN_ARGUMENT},
        {"name: own\nptx: none.ptx\nlaunches: [{kernel: twice, grid: 1, block: 64}]\n", "its PTX file is missing",
         CORUN_NOT_FOUND},
        {"name: own\nptx: own.ptx\nreference: none\nlaunches: [{kernel: twice, grid: 1, block: 64}]\n",
         "there is no reference 'none'", CORUN_SYNTAX},
        {"name: own\nptx: own.ptx\nbuffers: [{name: a, type: f32, count: 1, initial: {generator: g}}]\n"
         "launches: [{kernel: twice, grid: 1, block: 64}]\n",
         "there is no generator 'g'", CORUN_SYNTAX},
    };
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        assert_int_equal(load_own(suite, folder, broken[i].yaml, broken[i].message, &workload), broken[i].status);
        assert_null(workload);
    }
    char path[300];
    static const char *const files[] = {"own.yaml", "own.ptx"};
    for (unsigned i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, files[i]);
        unlink(path);
    }
    rmdir(folder);
    corun_diagnostics_clear(suite->list);
}

static void unknown_names(void **state)
{
    struct suite *suite = *state;
    static const char *const names[] = {"nothing", "", "@small", "%s@huge", "%s@", "..", "/nowhere.yaml"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char name[200];
        const char *known = strchr(names[i], '%');
        snprintf(name, sizeof name, "%s%s", known ? example(suite) : names[i], known ? known + 2 : "");
        struct corun_workload *workload;
        corun_diagnostics_clear(suite->list);
        assert_int_equal(corun_workload_load(name, suite->data, suite->list, &workload), CORUN_NOT_FOUND);
        assert_null(workload);
        assert_int_equal(corun_diagnostics_count(suite->list), 1);
    }
    corun_diagnostics_clear(suite->list);
}

/* The tests that the arguments ask for; what they point to lives until the process ends. */
struct agenda {
    struct CMUnitTest tests[1000];
    struct job jobs[1000];
    size_t count;
};

/* NAME of `name_length` characters in SIZE */
static bool add_job(struct agenda *agenda, struct suite *suite, const char *name, size_t name_length, const char *size,
                    const char *what, CMUnitTestFunction function)
{
    if (agenda->count == sizeof agenda->jobs / sizeof agenda->jobs[0])
        return false;
    struct job *job = &agenda->jobs[agenda->count];
    job->suite = suite;
    snprintf(job->name, sizeof job->name, "%.*s", (int)name_length, name);
    snprintf(job->size, sizeof job->size, "%s", size);
    snprintf(job->title, sizeof job->title, "%.*s@%s%s", (int)name_length, name, size, what);
    agenda->tests[agenda->count++] = (struct CMUnitTest){job->title, function, NULL, NULL, job};
    return true;
}

/* NAME, SIZE or NAME@SIZE */
static bool add_argument(struct agenda *agenda, struct suite *suite, const char *argument)
{
    bool complete = true;
    const char *at = strchr(argument, '@');
    if (at)
        return add_job(agenda, suite, argument, (size_t)(at - argument), at + 1, "", equals_reference);
    size_t before = agenda->count;
    for (size_t i = 0; i < corun_workload_list_count(suite->workloads) && complete; i++) {
        const struct corun_workload_info *info = corun_workload_list_get(suite->workloads, i);
        size_t length = strlen(info->name);
        if (strcmp(info->name, argument) == 0)
            complete = add_job(agenda, suite, info->name, length, "small", "", equals_reference) &&
                       add_job(agenda, suite, info->name, length, "medium", "", medium_equals_reference) &&
                       add_job(agenda, suite, info->name, length, "small", " seeds decide", seeds_decide);
        else if (has_size(info, argument))
            complete = add_job(agenda, suite, info->name, length, argument, "", equals_reference);
    }
    return complete && agenda->count > before;
}

/* All workloads in all sizes, each with the bytes of its buffers. */
static void print_list(struct suite *suite)
{
    for (size_t i = 0; i < corun_workload_list_count(suite->workloads); i++) {
        const struct corun_workload_info *info = corun_workload_list_get(suite->workloads, i);
        for (size_t k = 0; k < info->size_count; k++) {
            struct corun_workload *workload = load(suite, info->name, info->sizes[k]);
            struct corun_workload_info loaded;
            corun_workload_describe(workload, &loaded);
            printf("%s@%s %llu\n", info->name, info->sizes[k], (unsigned long long)loaded.buffer_bytes);
            corun_workload_destroy(workload);
        }
    }
}

static int run_agenda(struct suite *suite, int argc, char **argv)
{
    static struct agenda agenda;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--results") == 0) {
            suite->results_only = true;
        } else if (!add_argument(&agenda, suite, argv[i])) {
            print_error("there is neither a workload nor a size '%s'\n", argv[i]);
            return 1;
        }
    }
    return _cmocka_run_group_tests("workloads", agenda.tests, agenda.count, NULL, NULL) ? 1 : 0;
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        void *state;
        if (set_up(&state) != 0)
            return 1;
        int status = 0;
        if (strcmp(argv[1], "list") == 0)
            print_list(state);
        else
            status = run_agenda(state, argc, argv);
        tear_down(&state);
        return status;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(list_is_complete),  cmocka_unit_test(every_size_loads),
        cmocka_unit_test(mismatch_is_found), cmocka_unit_test(content_depends_on_size_parameters_and_seed),
        cmocka_unit_test(own_description),   cmocka_unit_test(unknown_names),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
