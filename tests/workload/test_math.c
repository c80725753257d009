/* SPDX-License-Identifier: MIT */
/*
 * Accuracy of the math functions that kernels may use, against double precision: libclc promises what OpenCL asks for
 * (exp, log 3 ulp, sin, cos 4 ulp, pow 16 ulp); the special function unit an absolute error of 2^-20.9 for sine and
 * cosine near zero.
 */
#include "corun/workload.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static double ulps(float got, double expected)
{
    float nearest = fabsf((float)expected);
    double unit = (double)nextafterf(nearest, INFINITY) - (double)nearest;
    return fabs((double)got - expected) / unit;
}

static const float *data_of(struct corun_instance *instance, size_t index)
{
    struct corun_buffer_info info;
    corun_instance_buffer_at(instance, index, &info);
    return corun_memory_pointer(corun_instance_memory(instance), info.address, info.bytes);
}

static double power(double x)
{
    return pow(fabs(x), 1.75);
}

static double logarithm(double x)
{
    return log(fabs(x));
}

static void errors_are_small(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        double (*function)(double x);
        double most_ulps, most_absolute; /* either is enough */
    } rows[] = {
        {"exp", exp, 3, 0},
        {"log", logarithm, 3, 0},
        {"sin", sin, 4, 0},
        {"cos", cos, 4, 0},
        {"pow", power, 16, 0},
        {"sin.approx", sin, 0, 0x1p-20},
        {"cos.approx", cos, 0, 0x1p-20},
    };
    /* the build puts the description and its PTX next to the test */
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 20);
    assert_true(length > 0);
    path[length] = 0;
    memcpy(strrchr(path, '/'), "/math.yaml", sizeof "/math.yaml");
    struct corun_diagnostics *list = corun_diagnostics_create();
    struct corun_workload *workload = NULL;
    struct corun_instance *instance = NULL;
    struct corun_functional_result result;
    enum corun_status status = corun_workload_load(path, NULL, list, &workload);
    if (!status)
        status = corun_instance_create(workload, 0, 1, list, &instance);
    if (!status)
        status = corun_instance_run(instance, 0, list, NULL, NULL, &result);
    for (size_t i = 0; i < corun_diagnostics_count(list); i++)
        print_error("%s\n", corun_diagnostics_get(list, i)->message);
    assert_int_equal(status, CORUN_OK);
    const float *in = data_of(instance, 0);
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        const float *got = data_of(instance, k + 1);
        double worst = 0, worst_absolute = 0;
        for (size_t i = 0; i < 16384; i++) {
            double expected = rows[k].function((double)in[i]);
            worst = fmax(worst, ulps(got[i], expected));
            worst_absolute = fmax(worst_absolute, fabs((double)got[i] - expected));
        }
        print_message("%-10s %8.2f ulp, %.2e absolute\n", rows[k].name, worst, worst_absolute);
        assert_true(worst <= rows[k].most_ulps || worst_absolute <= rows[k].most_absolute);
    }
    corun_instance_destroy(instance);
    corun_workload_destroy(workload);
    corun_diagnostics_destroy(list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(errors_are_small)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
