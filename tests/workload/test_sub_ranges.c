/* SPDX-License-Identifier: MIT */
/*
 * Workloads that can do a part of their work, as one does that is split between devices: those whose sizes have the
 * parameters `first` and `count`. The whole and two uneven parts equal the reference, inputs are the same in all, and
 * the parts make the whole.
 */
#include "corun/workload.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* In what the parts make the whole: iterative methods pass results on between steps. */
static const struct {
    const char *name, *settings;
} one_step[] = {
    {"cg", ",steps=0"}, /* the residual: a product of the matrix with a vector */
    {"jacobi", ",steps=1"},
};

/* Whose outputs are sums of what may be in both parts, and how near these must come to those of the whole. */
static const struct {
    const char *name;
    double relative;
} sums[] = {
    {"monte-carlo", 1e-5},
};

#define MOST_BUFFERS 64

/* The buffers of an application before and after one run; afterwards, names mean the memory they have come to mean. */
struct data {
    size_t count;
    struct corun_buffer_info infos[MOST_BUFFERS];
    uint8_t *before[MOST_BUFFERS], *after[MOST_BUFFERS];
};

struct suite {
    char folder[4096];
    struct corun_diagnostics *list;
};

struct job {
    struct suite *suite;
    char *name;
};

static void expect_ok(const struct suite *suite, const char *specification, enum corun_status status)
{
    for (size_t i = 0; status && i < corun_diagnostics_count(suite->list); i++)
        print_error("%s: %s\n", specification, corun_diagnostics_get(suite->list, i)->message);
    assert_int_equal(status, CORUN_OK);
}

static struct corun_workload *load(const struct suite *suite, const char *specification)
{
    struct corun_workload *workload;
    expect_ok(suite, specification, corun_workload_load(specification, suite->folder, suite->list, &workload));
    return workload;
}

static uint8_t *read_memory(struct corun_instance *instance, uint64_t address, uint64_t bytes)
{
    uint8_t *copy = malloc(bytes);
    assert_non_null(copy);
    assert_int_equal(corun_memory_read(corun_instance_memory(instance), address, copy, bytes), CORUN_OK);
    return copy;
}

/* Runs once, equal to the reference. */
static void run(const struct suite *suite, const char *specification, struct data *data)
{
    struct corun_workload *workload = load(suite, specification);
    struct corun_instance *instance;
    expect_ok(suite, specification, corun_instance_create(workload, 0, 1, suite->list, &instance));
    data->count = corun_instance_buffer_count(instance);
    assert_true(data->count <= MOST_BUFFERS);
    for (size_t i = 0; i < data->count; i++) {
        corun_instance_buffer_at(instance, i, &data->infos[i]);
        data->before[i] = read_memory(instance, data->infos[i].address, data->infos[i].bytes);
    }
    struct corun_functional_result result;
    struct corun_verification verification = {0};
    expect_ok(suite, specification, corun_instance_run(instance, 0, suite->list, NULL, NULL, &result));
    expect_ok(suite, specification, corun_instance_verify(instance, suite->list, &verification));
    print_message("%s: %llu thread instructions, worst error %.3f of the tolerance\n", specification,
                  (unsigned long long)result.thread_instructions, verification.worst_error);
    for (size_t i = 0; i < data->count; i++) {
        corun_instance_buffer_at(instance, i, &data->infos[i]);
        data->after[i] = read_memory(instance, data->infos[i].address, data->infos[i].bytes);
    }
    corun_instance_destroy(instance);
    corun_workload_destroy(workload);
}

static void free_data(struct data *data)
{
    for (size_t i = 0; i < data->count; i++) {
        free(data->before[i]);
        free(data->after[i]);
    }
}

static double element_of(const struct corun_buffer_info *info, const uint8_t *element)
{
    float single;
    assert_int_equal(info->element, CORUN_ELEMENT_F32);
    memcpy(&single, element, sizeof single);
    return (double)single;
}

/*
 * Each element of the output is as it was before, or comes from one of the parts, or, if `relative` is not 0, is the
 * sum of both. The elements before are those of the name's first memory, which is as good: buffers that change places
 * begin alike.
 */
static void compare_output(const char *name, size_t buffer, const struct data *whole, const struct data parts[2],
                           double relative)
{
    const struct corun_buffer_info *info = &whole->infos[buffer];
    const uint64_t bytes = info->bytes / info->count;
    uint64_t changed[2] = {0}, in_both = 0;
    for (uint64_t i = 0; i < info->count; i++) {
        const uint8_t *before = whole->before[buffer] + i * bytes, *expected = whole->after[buffer] + i * bytes;
        const uint8_t *got[2] = {parts[0].after[buffer] + i * bytes, parts[1].after[buffer] + i * bytes};
        bool has[2] = {memcmp(got[0], before, bytes) != 0, memcmp(got[1], before, bytes) != 0};
        changed[0] += has[0];
        changed[1] += has[1];
        if (!has[0] || !has[1]) {
            if (memcmp(has[0] ? got[0] : got[1], expected, bytes) != 0)
                fail_msg("%s: buffer '%s' element %llu is not what the whole gives", name, info->name,
                         (unsigned long long)i);
            continue;
        }
        in_both++;
        double sum = element_of(info, got[0]) + element_of(info, got[1]) - element_of(info, before);
        double all = element_of(info, expected);
        if (relative == 0 || fabs(sum - all) > relative * fabs(all))
            fail_msg("%s: buffer '%s' element %llu is written by both parts: together %g, but the whole gives %g", name,
                     info->name, (unsigned long long)i, sum, all);
    }
    /* not more than the work around the cut is shared */
    assert_true(in_both <= 4);
    assert_true((changed[0] > 0) == (changed[1] > 0));
}

/* The whole of the size, with these settings, and its parts. */
static void compare(const struct job *job, const char *settings, int64_t count, bool parts_make_the_whole,
                    double relative)
{
    char specification[300];
    int64_t cut = count / 3 + 1; /* in the middle of a thread block and of a warp */
    struct data whole, parts[2];
    snprintf(specification, sizeof specification, "%s@small%s", job->name, settings);
    run(job->suite, specification, &whole);
    snprintf(specification, sizeof specification, "%s@small%s,first=0,count=%lld", job->name, settings, (long long)cut);
    run(job->suite, specification, &parts[0]);
    snprintf(specification, sizeof specification, "%s@small%s,first=%lld,count=%lld", job->name, settings,
             (long long)cut, (long long)(count - cut));
    run(job->suite, specification, &parts[1]);
    unsigned outputs = 0, written = 0;
    for (size_t i = 0; i < whole.count; i++) {
        for (unsigned k = 0; k < 2; k++) {
            if (whole.infos[i].bytes == parts[k].infos[i].bytes)
                assert_memory_equal(whole.before[i], parts[k].before[i], whole.infos[i].bytes);
        }
        if (!whole.infos[i].is_output || !parts_make_the_whole)
            continue;
        outputs++;
        written += memcmp(whole.before[i], whole.after[i], whole.infos[i].bytes) != 0;
        compare_output(job->name, i, &whole, parts, relative);
    }
    assert_true(!parts_make_the_whole || (outputs > 0 && written > 0));
    free_data(&whole);
    free_data(&parts[0]);
    free_data(&parts[1]);
}

static void parts_make_the_whole(void **state)
{
    const struct job *job = *state;
    char specification[200];
    snprintf(specification, sizeof specification, "%s@small", job->name);
    struct corun_workload *workload = load(job->suite, specification);
    const char *name;
    int64_t value, count = 0;
    for (size_t i = 0; corun_workload_parameter_at(workload, i, &name, &value); i++) {
        if (strcmp(name, "first") == 0)
            assert_int_equal(value, 0);
        if (strcmp(name, "count") == 0)
            count = value;
    }
    corun_workload_destroy(workload);
    assert_true(count > 100);
    const char *settings = "";
    double relative = 0;
    for (size_t i = 0; i < sizeof one_step / sizeof one_step[0]; i++) {
        if (strcmp(one_step[i].name, job->name) == 0)
            settings = one_step[i].settings;
    }
    for (size_t i = 0; i < sizeof sums / sizeof sums[0]; i++) {
        if (strcmp(sums[i].name, job->name) == 0)
            relative = sums[i].relative;
    }
    compare(job, settings, count, true, relative);
    if (settings[0])
        compare(job, "", count, false, relative); /* parts of several steps equal the reference all the same */
}

static bool has_parameter(const struct corun_workload_info *info, const char *name)
{
    for (size_t i = 0; i < info->parameter_count; i++) {
        if (strcmp(info->parameters[i], name) == 0)
            return true;
    }
    return false;
}

int main(void)
{
    struct suite suite = {.list = corun_diagnostics_create()};
    struct corun_workload_list *workloads;
    if (corun_data_directory(suite.folder, sizeof suite.folder, suite.list) != CORUN_OK ||
        corun_workload_list_create(suite.folder, suite.list, &workloads) != CORUN_OK)
        return 1;
    size_t workload_count = corun_workload_list_count(workloads), count = 0;
    struct CMUnitTest *tests = calloc(workload_count + 1, sizeof *tests);
    struct job *jobs = calloc(workload_count + 1, sizeof *jobs);
    for (size_t i = 0; tests && jobs && i < workload_count; i++) {
        const struct corun_workload_info *info = corun_workload_list_get(workloads, i);
        if (!has_parameter(info, "first") || !has_parameter(info, "count"))
            continue;
        jobs[count] = (struct job){&suite, strdup(info->name)};
        tests[count] = (struct CMUnitTest){jobs[count].name, parts_make_the_whole, NULL, NULL, &jobs[count]};
        count++;
    }
    corun_workload_list_destroy(workloads);
    int status = _cmocka_run_group_tests("sub-ranges", tests, count, NULL, NULL);
    for (size_t i = 0; i < count; i++)
        free(jobs[i].name);
    free(jobs);
    free(tests);
    corun_diagnostics_destroy(suite.list);
    return status;
}
