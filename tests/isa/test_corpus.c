/* SPDX-License-Identifier: MIT */
/* PTX as compilers emit it: the kernels of corpus/corpus.cu against the same computations on the host. */
#include "runner.h"

static const char *const files[] = {TEST_DATA "/corpus/clang.ptx", TEST_DATA "/corpus/nvcc.ptx"};

static void load(struct runner *runner, const char *path)
{
    *runner = (struct runner){0};
    runner->list = corun_diagnostics_create();
    runner->memory = corun_memory_create(0);
    enum corun_status status = corun_module_load_file(path, runner->list, &runner->module);
    if (status == CORUN_OK)
        status = corun_module_instance_create(runner->module, runner->memory, runner->list, &runner->instance);
    if (status != CORUN_OK)
        print_error("%s:%u: %s\n", path, runner_line(runner), runner_message(runner));
    assert_int_equal(status, CORUN_OK);
    runner->out_bytes = 1 << 20;
    assert_int_equal(corun_memory_allocate(runner->memory, runner->out_bytes, &runner->out), CORUN_OK);
}

static uint64_t upload(struct runner *runner, const void *data, size_t bytes)
{
    uint64_t address;
    assert_int_equal(corun_memory_allocate(runner->memory, bytes, &address), CORUN_OK);
    assert_int_equal(corun_memory_write(runner->memory, address, data, bytes), CORUN_OK);
    return address;
}

static void launch(struct runner *runner, const char *name, uint32_t gx, uint32_t gy, uint32_t bx, uint32_t by,
                   uint32_t shared, const void *parameters, size_t bytes)
{
    enum corun_status status = runner_run_grid(runner, name, (struct corun_dim3){gx, gy, 1},
                                               (struct corun_dim3){bx, by, 1}, shared, parameters, bytes, 10000000);
    if (status != CORUN_OK)
        print_error("%s: line %u: %s\n", name, runner_line(runner), runner_message(runner));
    assert_int_equal(status, CORUN_OK);
}

static void test_collatz(void **state)
{
    static const int primes[8] = {2, 3, 5, 7, 11, 13, 17, 19};
    const char *path = *state;
    struct runner runner;
    load(&runner, path);
    struct {
        uint64_t steps;
        int32_t n;
    } __attribute__((packed)) parameters = {runner.out, 1000};
    launch(&runner, "collatz", 8, 1, 128, 1, 0, &parameters, sizeof parameters);
    const uint64_t *steps = (const uint64_t *)(const void *)runner_words(&runner);
    for (uint32_t i = 0; i < 1000; i++) {
        uint64_t count = 0;
        for (uint64_t x = i + 1; x != 1; count++)
            x = x & 1 ? 3 * x + 1 : x / 2;
        switch (i % 5) {
        case 0:
            count = count * 7 % 1000003;
            break;
        case 1:
            count += (uint64_t)primes[i & 7];
            break;
        case 2:
            count ^= 0xff00ff00ff00u;
            break;
        case 3:
            count = count / 3 + 5;
            break;
        }
        assert_int_equal(steps[i], count);
    }
    assert_int_equal(steps[1000], 0);
    runner_free(&runner);
}

static void test_transpose(void **state)
{
    enum { WIDTH = 70, HEIGHT = 45 };
    static float in[HEIGHT * WIDTH];
    struct runner runner;
    load(&runner, *state);
    for (uint32_t i = 0; i < WIDTH * HEIGHT; i++)
        in[i] = (float)i * 0.5f;
    struct {
        uint64_t in, out;
        int32_t width, height;
    } parameters = {upload(&runner, in, sizeof in), runner.out, WIDTH, HEIGHT};
    launch(&runner, "transpose", (WIDTH + 15) / 16, (HEIGHT + 15) / 16, 16, 16, 0, &parameters, sizeof parameters);
    const float *out = (const float *)(const void *)runner_words(&runner);
    for (uint32_t y = 0; y < HEIGHT; y++)
        for (uint32_t x = 0; x < WIDTH; x++)
            assert_true(out[x * HEIGHT + y] == in[y * WIDTH + x]);
    runner_free(&runner);
}

static void test_polynomial(void **state)
{
    struct runner runner;
    load(&runner, *state);
    struct {
        uint64_t out;
        int32_t first, padding;
        double second;
        int32_t n;
    } __attribute__((packed)) parameters = {runner.out, 3, 0, 0.75, 10};
    launch(&runner, "polynomial", 2, 1, 64, 1, 0, &parameters, sizeof parameters);
    const double *out = (const double *)(const void *)runner_words(&runner);
    for (int i = 0; i < 128; i++) {
        int digits[12];
        double sum = 0;
        for (int k = 0; k < 12; k++)
            digits[(k * 5 + 3) % 12] = i * k - k;
        for (int k = 0; k < 10; k++)
            sum = __builtin_fma(sum, 0.75, digits[(i + k) % 12]); /* compilers fuse on the GPU */
        assert_true(out[i] == sum);
    }
    runner_free(&runner);
}

static uint32_t ackermann(uint32_t m, uint32_t n)
{
    return m == 0 ? n + 1 : ackermann(m - 1, n == 0 ? 1 : ackermann(m, n - 1));
}

static void test_indirect(void **state)
{
    struct runner runner;
    load(&runner, *state);
    launch(&runner, "indirect", 1, 1, 96, 1, 0, &runner.out, 8);
    const uint32_t *out = runner_words(&runner);
    for (uint32_t i = 0; i < 96; i++)
        assert_int_equal(out[i], (i % 3 == 0 ? i / 2 + 1 : i * i) + ackermann(i & 1, i % 4));
    runner_free(&runner);
}

static void test_histogram(void **state)
{
    static uint8_t data[5000];
    uint32_t bins[256] = {0};
    struct runner runner;
    load(&runner, *state);
    for (uint32_t i = 0; i < sizeof data; i++) {
        data[i] = (uint8_t)(i * i * 7 + i / 13);
        bins[data[i]]++;
    }
    struct {
        uint64_t data, bins;
        int32_t n;
    } __attribute__((packed)) parameters = {upload(&runner, data, sizeof data), runner.out, sizeof data};
    launch(&runner, "histogram", 4, 1, 96, 1, 1024, &parameters, sizeof parameters);
    assert_memory_equal(runner_words(&runner), bins, sizeof bins);
    runner_free(&runner);
}

static void test_sum(void **state)
{
    static float in[4 * 640];
    struct runner runner;
    load(&runner, *state);
    for (uint32_t i = 0; i < 4 * 640; i++)
        in[i] = (float)(i % 17);
    struct {
        uint64_t in, out;
        int32_t n;
    } __attribute__((packed)) parameters = {upload(&runner, in, sizeof in), runner.out, 640};
    launch(&runner, "sum", 1, 1, 64, 1, 0, &parameters, sizeof parameters);
    const float *out = (const float *)(const void *)runner_words(&runner);
    for (uint32_t warp = 0; warp < 2; warp++) {
        double total = 0;
        for (uint32_t i = 0; i < 640; i++)
            if (i / 32 % 2 == warp)
                total += in[4 * i] * in[4 * i + 1] + in[4 * i + 2] * in[4 * i + 3];
        assert_true(out[warp] == (float)total); /* integers: exact in any order */
    }
    runner_free(&runner);
}

static void test_speak(void **state)
{
    struct runner runner;
    load(&runner, *state);
    int32_t n = 3;
    launch(&runner, "speak", 1, 1, 32, 1, 0, &n, sizeof n);
    assert_string_equal(runner.printed, "thread 0 of corpus:  0.00 a 40000000\nthread 1 of corpus:  1.50 b 80000000\n"
                                        "thread 2 of corpus:  3.00 c 100000000\n");
    runner_free(&runner);
}

int main(void)
{
#define BOTH(test) \
    {#test " clang", test, NULL, NULL, (void *)(uintptr_t)files[0]}, \
    { \
#test " nvcc", test, NULL, NULL, (void *)(uintptr_t)files[1] \
    }
    const struct CMUnitTest tests[] = {
        BOTH(test_collatz),   BOTH(test_transpose), BOTH(test_polynomial), BOTH(test_indirect),
        BOTH(test_histogram), BOTH(test_sum),       BOTH(test_speak),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
