/* SPDX-License-Identifier: MIT */
/*
 * The references of option pricing, n-body, ray tracing and fractal flames against what must hold for them whatever
 * they compute it by: closed forms, laws of conservation, geometry, the functions of math.h.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../../kernels/include/flame.h"
#include "workload/references.h"

static const double pi = 3.14159265358979323846;

static const struct corun_reference *find_reference(const char *name)
{
    for (size_t i = 0; corun_references[i]; i++) {
        if (strcmp(corun_references[i]->name, name) == 0)
            return corun_references[i];
    }
    skip(); /* a build with some of the workloads only */
    return NULL;
}

static void assert_near(double value, double expected, double tolerance)
{
    if (!(fabs(value - expected) <= tolerance))
        fail_msg("%.9g, but expected %.9g +- %.2g", value, expected, tolerance);
}

/*
 * A call and a put of the same strike are together worth the stock less the discounted strike; a sure call that
 * difference.
 */
static void test_parity_of_options(void **state)
{
    (void)state;
    float price[] = {10, 20, 30, 30}, strike[] = {20, 20, 10, 1}, years[] = {1, 5, 10, 0.25f}, call[4], put[4];
    const struct corun_problem_buffer buffers[] = {
        {"price", CORUN_ELEMENT_F32, 4, price}, {"strike", CORUN_ELEMENT_F32, 4, strike},
        {"years", CORUN_ELEMENT_F32, 4, years}, {"call", CORUN_ELEMENT_F32, 4, call},
        {"put", CORUN_ELEMENT_F32, 4, put},
    };
    const struct corun_problem_parameter parameters[] = {{"options", 4}};
    const struct corun_problem problem = {0, buffers, 5, parameters, 1};
    assert_true(find_reference("black-scholes")->compute(&problem));
    for (int i = 0; i < 4; i++) {
        double forward = (double)price[i] - (double)strike[i] * exp(-0.02 * (double)years[i]);
        assert_near((double)call[i] - (double)put[i], forward, 1e-5);
        assert_true(call[i] >= 0 && put[i] >= 0);
    }
    assert_near((double)call[3], (double)price[3] - (double)strike[3] * exp(-0.005), 1e-5);
}

/* The mean payoff of 4 M paths is the closed form, within four standard errors; and so is the mean of each half. */
static void test_mean_of_simulated_prices(void **state)
{
    (void)state;
    enum { PARTS = 1024 };
    const struct corun_reference *reference = find_reference("monte-carlo");
    float option[4];
    uint32_t key[2];
    float *sums = calloc((size_t)2 * PARTS, sizeof *sums);
    const struct corun_problem_buffer buffers[] = {
        {"option", CORUN_ELEMENT_F32, 4, option},
        {"key", CORUN_ELEMENT_U32, 2, key},
        {"sums", CORUN_ELEMENT_F32, (uint64_t)2 * PARTS, sums},
    };
    const struct corun_problem_parameter parameters[] = {{"first", 0}, {"simulated", 4096 * PARTS}};
    const struct corun_problem problem = {7, buffers, 3, parameters, 2};
    assert_true(reference->generators[0].generate(&problem));
    assert_true(reference->compute(&problem));
    double spot = (double)option[0], strike = (double)option[1], mean = (double)option[2],
           deviation = (double)option[3];
    double d2 = (log(spot / strike) + mean) / deviation;
    double d1 = d2 + deviation;
    double forward = spot * exp(mean + 0.5 * deviation * deviation);
    double expected = 0.5 * (forward * erfc(-d1 / sqrt(2)) - strike * erfc(-d2 / sqrt(2)));
    for (int half = 0; half < 2; half++) {
        double sum = 0, squares = 0, paths = 4096.0 * PARTS / 2;
        for (int i = half * PARTS / 2; i < (half + 1) * PARTS / 2; i++) {
            sum += (double)sums[2 * i];
            squares += (double)sums[2 * i + 1];
        }
        double average = sum / paths;
        assert_near(average, expected, 4 * sqrt((squares / paths - average * average) / paths));
    }
    free(sums);
}

/* What bodies pull at each other adds up to nothing, and two bodies meet in the middle of their masses. */
static void test_momentum(void **state)
{
    (void)state;
    enum { BODIES = 300 };
    const struct corun_reference *reference = find_reference("nbody");
    static float position[4 * BODIES], velocity[4 * BODIES], new_position[4 * BODIES], new_velocity[4 * BODIES];
    const struct corun_problem_buffer buffers[] = {
        {"position", CORUN_ELEMENT_F32, 4 * BODIES, position},
        {"velocity", CORUN_ELEMENT_F32, 4 * BODIES, velocity},
        {"new_position", CORUN_ELEMENT_F32, 4 * BODIES, new_position},
        {"new_velocity", CORUN_ELEMENT_F32, 4 * BODIES, new_velocity},
    };
    const struct corun_problem_parameter parameters[] = {{"bodies", BODIES}, {"first", 0}, {"moved", BODIES}};
    const struct corun_problem problem = {3, buffers, 4, parameters, 3};
    assert_true(reference->generators[0].generate(&problem));
    assert_true(reference->compute(&problem));
    double gained = 0;
    for (int k = 0; k < 3; k++) {
        double momentum = 0;
        for (int i = k; i < 4 * BODIES; i += 4) {
            double change = (double)position[i - k + 3] * ((double)new_velocity[i] - (double)velocity[i]);
            momentum += change;
            gained += fabs(change);
        }
        assert_near(momentum, 0, 1e-8);
    }
    assert_true(gained > 0.01);

    static const float pair[8] = {-0.5f, 0, 0, 1, 0.5f, 0, 0, 3};
    memcpy(position, pair, sizeof pair);
    memset(velocity, 0, 8 * sizeof *velocity);
    const struct corun_problem_parameter two[] = {{"bodies", 2}, {"first", 0}, {"moved", 2}};
    const struct corun_problem problem_of_two = {3, buffers, 4, two, 3};
    assert_true(reference->compute(&problem_of_two));
    double softened = pow(1 + 0.05 * 0.05, -1.5);
    assert_near((double)new_velocity[0], 0.0625 * 3 * softened, 1e-7);
    assert_near((double)new_velocity[4], -0.0625 * softened, 1e-7);
}

/*
 * One sphere in front of the camera that scatters all light: its outline, the sky above, the floor below the horizon.
 */
static void test_outline_of_a_sphere(void **state)
{
    (void)state;
    enum { WIDTH = 64, HEIGHT = 64 };
    float camera[4] = {0, 5, 0, 1.4f}, lights[8] = {0, 9, 0, 0.6f, 3, 9, 0, 0.3f}, spheres[128] = {0};
    for (int i = 1; i < 16; i++)
        spheres[8 * i + 1] = -100; /* far below, without size */
    memcpy(spheres, (float[]){0, 4.5f, 5, 1.5f, 1, 0, 0, 0}, 8 * sizeof *spheres);
    static uint32_t picture[WIDTH * HEIGHT];
    const struct corun_problem_buffer buffers[] = {
        {"camera", CORUN_ELEMENT_F32, 4, camera},
        {"lights", CORUN_ELEMENT_F32, 8, lights},
        {"scenes", CORUN_ELEMENT_F32, 128, spheres},
        {"pictures", CORUN_ELEMENT_U32, WIDTH * HEIGHT, picture},
    };
    const struct corun_problem_parameter parameters[] = {{"width", WIDTH}, {"height", HEIGHT}, {"frames", 1}};
    const struct corun_problem problem = {0, buffers, 4, parameters, 3};
    assert_true(find_reference("ray-tracing")->compute(&problem));
    int seen[3] = {0};
    for (int i = 0; i < WIDTH * HEIGHT; i++) {
        int column = i % WIDTH, row = i / WIDTH;
        double x = 0.7 / WIDTH * (2 * column + 1 - WIDTH), y = 0.7 / WIDTH * (HEIGHT - 1 - 2 * row) - 0.3;
        double along = (-0.5 * y + 5) / sqrt(x * x + y * y + 1); /* to the point nearest to the sphere's middle */
        double away = sqrt(0.25 + 25 - along * along);
        uint32_t red = picture[i] & 255, green = picture[i] >> 8 & 255, blue = picture[i] >> 16 & 255;
        int place = away < 1.5 ? 0 : y > 0 ? 1 : 2;
        if (fabs(away - 1.5) < 0.001)
            continue;
        seen[place]++;
        if (place == 0)
            assert_true(red > green && green == blue); /* a red sphere with white highlights */
        else if (place == 1)
            assert_int_equal(red, (uint32_t)((0.7 - 0.5 * y / sqrt(x * x + y * y + 1)) * 255 + 0.5));
        else
            assert_true(blue >= red);
    }
    assert_true(seen[0] > 100 && seen[1] > 100 && seen[2] > 100);
}

struct flame_case {
    float affine[2][16], colour[4], weights[12], camera[4], points[256];
    int32_t kinds[12];
    uint32_t below[4], palette[256], generators[128], *picture;
    int64_t steps, skipped;
};

static void play(struct flame_case *flame, int64_t width)
{
    const struct corun_problem_buffer buffers[] = {
        {"affine_x", CORUN_ELEMENT_F32, 16, flame->affine[0]},
        {"affine_y", CORUN_ELEMENT_F32, 16, flame->affine[1]},
        {"colour_of", CORUN_ELEMENT_F32, 4, flame->colour},
        {"below", CORUN_ELEMENT_U32, 4, flame->below},
        {"kinds", CORUN_ELEMENT_S32, 12, flame->kinds},
        {"weights", CORUN_ELEMENT_F32, 12, flame->weights},
        {"camera", CORUN_ELEMENT_F32, 4, flame->camera},
        {"palette", CORUN_ELEMENT_U32, 256, flame->palette},
        {"points", CORUN_ELEMENT_F32, 256, flame->points},
        {"generators", CORUN_ELEMENT_U32, 128, flame->generators},
        {"picture", CORUN_ELEMENT_U32, (uint64_t)(4 * width * width), flame->picture},
    };
    const struct corun_problem_parameter parameters[] = {
        {"width", width},        {"height", width}, {"blocks", 1},
        {"steps", flame->steps}, {"batches", 1},    {"skipped", flame->skipped},
    };
    const struct corun_problem problem = {0, buffers, 11, parameters, 6};
    assert_true(find_reference("fractal-flame")->compute(&problem));
}

/* The variations as the flame algorithm states them; the sign of julia is random. */
static void variation(int kind, double x, double y, double *u, double *v)
{
    double r = hypot(x, y), theta = atan2(x, y);
    const double rows[FLAME_KINDS][2] = {
        [FLAME_LINEAR] = {x, y},
        [FLAME_SINUSOIDAL] = {sin(x), sin(y)},
        [FLAME_SPHERICAL] = {x / (r * r), y / (r * r)},
        [FLAME_SWIRL] = {x * sin(r * r) - y * cos(r * r), x * cos(r * r) + y * sin(r * r)},
        [FLAME_HORSESHOE] = {(x - y) * (x + y) / r, 2 * x * y / r},
        [FLAME_POLAR] = {theta / pi, r - 1},
        [FLAME_HANDKERCHIEF] = {r * sin(theta + r), r * cos(theta - r)},
        [FLAME_HEART] = {r * sin(theta * r), -r * cos(theta * r)},
        [FLAME_DISC] = {theta / pi * sin(pi * r), theta / pi * cos(pi * r)},
        [FLAME_SPIRAL] = {(cos(theta) + sin(r)) / r, (sin(theta) - cos(r)) / r},
        [FLAME_HYPERBOLIC] = {sin(theta) / r, r * cos(theta)},
        [FLAME_DIAMOND] = {sin(theta) * cos(r), cos(theta) * sin(r)},
        [FLAME_JULIA] = {sqrt(r) * cos(theta / 2), sqrt(r) * sin(theta / 2)},
        [FLAME_BUBBLE] = {4 * x / (r * r + 4), 4 * y / (r * r + 4)},
    };
    *u = rows[kind][0];
    *v = rows[kind][1];
}

/* One step with one variation and no affine transform, all around the middle, near and far. */
static void test_variations(void **state)
{
    (void)state;
    for (int kind = 0; kind < FLAME_KINDS; kind++) {
        struct flame_case flame = {.steps = 1, .skipped = 1, .kinds = {kind, -1, -1}, .weights = {1}};
        flame.affine[0][0] = flame.affine[1][1] = 1;
        flame.below[0] = UINT32_MAX;
        uint32_t nothing[4];
        flame.picture = nothing;
        double place[32][2];
        for (int i = 0; i < 64; i++) { /* the same in both warps: points may change places */
            float radius = 0.1f + 0.15f * (float)(i % 32), angle = 0.1f + 2.3f * (float)(i % 32);
            flame.points[4 * i] = radius * cosf(angle);
            flame.points[4 * i + 1] = radius * sinf(angle);
            flame.generators[2 * i] = (uint32_t)(i / 32 * 32 + 1) * 77777;
            place[i % 32][0] = (double)flame.points[4 * i];
            place[i % 32][1] = (double)flame.points[4 * i + 1];
        }
        play(&flame, 1);
        for (int i = 0; i < 64; i++) {
            double u, v;
            variation(kind, place[i % 32][0], place[i % 32][1], &u, &v);
            double sign = kind == FLAME_JULIA && (double)flame.points[4 * i] * u < 0 ? -1 : 1;
            double tolerance = 4e-6 * (1 + hypot(u, v));
            assert_near((double)flame.points[4 * i], sign * u, tolerance);
            assert_near((double)flame.points[4 * i + 1], sign * v, tolerance);
        }
    }
}

/*
 * Three transforms that halve the distance to a corner draw Sierpinski's triangle: all of it, and nothing in its holes.
 */
static void test_triangle(void **state)
{
    (void)state;
    enum { WIDTH = 64, STEPS = 4000 };
    static uint32_t picture[4 * WIDTH * WIDTH];
    memset(picture, 0, sizeof picture);
    struct flame_case flame = {.steps = STEPS, .skipped = 40, .picture = picture, .camera = {0, 0, WIDTH, WIDTH}};
    static const float corners[3][2] = {{0, 0}, {1, 0}, {0, 1}};
    for (int i = 0; i < 4; i++) {
        flame.affine[0][4 * i] = flame.affine[1][4 * i + 1] = 0.5f;
        flame.affine[0][4 * i + 2] = 0.5f * corners[i % 3][0];
        flame.affine[1][4 * i + 2] = 0.5f * corners[i % 3][1];
        flame.kinds[3 * i] = FLAME_LINEAR;
        flame.kinds[3 * i + 1] = -1;
        flame.weights[3 * i] = 1;
        flame.below[i] = i < 2 ? (uint32_t)(i + 1) * (UINT32_MAX / 3) : UINT32_MAX;
    }
    uint64_t seed = 1;
    for (int i = 0; i < 128; i++)
        flame.generators[i] = (uint32_t)(corun_random(&seed) >> 33);
    for (int i = 0; i < 256; i++)
        flame.palette[i] = 0x010203;
    play(&flame, WIDTH);
    uint64_t drawn = 0;
    for (int y = 0; y < WIDTH; y++) {
        for (int x = 0; x < WIDTH; x++) {
            const uint32_t *sums = picture + 4 * (y * WIDTH + x);
            drawn += sums[3];
            assert_true(sums[0] == 3 * sums[3] && sums[1] == 2 * sums[3] && sums[2] == sums[3]);
            assert_int_equal(sums[3] > 0, (x & y) == 0);
        }
    }
    assert_int_equal(drawn, 64 * (STEPS - 40));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parity_of_options), cmocka_unit_test(test_mean_of_simulated_prices),
        cmocka_unit_test(test_momentum),          cmocka_unit_test(test_outline_of_a_sphere),
        cmocka_unit_test(test_variations),        cmocka_unit_test(test_triangle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
