/* SPDX-License-Identifier: MIT */
/*
 * The chaos game on the CPU, thread block by thread block, with the same roundings; and random flames that are worth
 * drawing: the first of a sequence of random ones that spreads over a good part of its picture.
 */
#include "corun/workload.h"
#include "flame.h"

#include <math.h>
#include <stdlib.h>

#define THREADS 64

struct flame {
    float affine[FLAME_TRANSFORMS][2][3];
    float colour[FLAME_TRANSFORMS];
    uint32_t below[FLAME_TRANSFORMS];
    int32_t kinds[FLAME_TRANSFORMS][FLAME_VARIATIONS];
    float weights[FLAME_TRANSFORMS][FLAME_VARIATIONS];
};

struct point {
    float x, y, colour;
};

struct generator {
    uint32_t word, carry;
};

static uint32_t next_word(struct generator *generator)
{
    uint64_t product = UINT64_C(4294957665) * generator->word + generator->carry;
    generator->word = (uint32_t)product;
    generator->carry = (uint32_t)(product >> 32);
    return generator->word;
}

static float random_place(struct generator *generator)
{
    return (float)(next_word(generator) >> 8) * 0x1p-23f - 1.0f;
}

static void sine_cosine(float angle, float *sine, float *cosine)
{
    float quarters = rintf(angle * FLAME_TWO_BY_PI);
    float x = fmaf(quarters, -FLAME_HALF_PI_REST, fmaf(quarters, -FLAME_HALF_PI, angle));
    float x2 = x * x;
    float s = fmaf(x2 * x, fmaf(x2, fmaf(x2, FLAME_SINE7, FLAME_SINE5), FLAME_SINE3), x);
    float c = fmaf(x2 * x2, fmaf(x2, fmaf(x2, FLAME_COSINE8, FLAME_COSINE6), FLAME_COSINE4), fmaf(x2, -0.5f, 1.0f));
    switch ((int)quarters & 3) {
    case 0:
        *sine = s, *cosine = c;
        break;
    case 1:
        *sine = c, *cosine = -s;
        break;
    case 2:
        *sine = -s, *cosine = -c;
        break;
    default:
        *sine = -c, *cosine = s;
        break;
    }
}

static float sine_of(float angle)
{
    float sine, cosine;
    sine_cosine(angle, &sine, &cosine);
    return sine;
}

static float cosine_of(float angle)
{
    float sine, cosine;
    sine_cosine(angle, &sine, &cosine);
    return cosine;
}

/* atan2(x, y) */
static float angle_of(float x, float y)
{
    static const float terms[] = {FLAME_ATAN13, FLAME_ATAN11, FLAME_ATAN9, FLAME_ATAN7, FLAME_ATAN5, FLAME_ATAN3};
    bool steep = fabsf(x) > fabsf(y);
    float large = steep ? fabsf(x) : fabsf(y), small = steep ? fabsf(y) : fabsf(x);
    float ratio = small / (large < 1e-30f ? 1e-30f : large);
    float sum = FLAME_ATAN15;
    for (size_t i = 0; i < sizeof terms / sizeof *terms; i++)
        sum = fmaf(ratio * ratio, sum, terms[i]);
    float angle = fmaf(ratio * ratio * ratio, sum, ratio);
    if (steep)
        angle = FLAME_HALF_PI - angle;
    if (y < 0)
        angle = FLAME_PI - angle;
    return x < 0 ? -angle : angle;
}

/* Adds one variation of (x, y), weighted, to the sum. */
static void vary(int kind, float weight, float x, float y, uint32_t word, struct point *sum)
{
    float squared = fmaf(x, x, y * y);
    float r = sqrtf(squared);
    float inverse = 1.0f / (r < 1e-10f ? 1e-10f : r);
    float u = x, v = y, s, c, t;
    switch (kind) {
    case FLAME_SINUSOIDAL:
        u = sine_of(x);
        v = sine_of(y);
        break;
    case FLAME_SPHERICAL:
        u *= inverse * inverse;
        v *= inverse * inverse;
        break;
    case FLAME_SWIRL:
        sine_cosine(squared, &s, &c);
        u = fmaf(x, s, -(y * c));
        v = fmaf(x, c, y * s);
        break;
    case FLAME_HORSESHOE:
        u = (x - y) * (x + y) * inverse;
        v = 2 * (x * y) * inverse;
        break;
    case FLAME_POLAR:
        u = angle_of(x, y) * FLAME_INVERSE_PI;
        v = r - 1;
        break;
    case FLAME_HANDKERCHIEF:
        t = angle_of(x, y);
        u = r * sine_of(t + r);
        v = r * cosine_of(t - r);
        break;
    case FLAME_HEART:
        sine_cosine(angle_of(x, y) * r, &s, &c);
        u = r * s;
        v = -(r * c);
        break;
    case FLAME_DISC:
        sine_cosine(FLAME_PI * r, &s, &c);
        t = angle_of(x, y) * FLAME_INVERSE_PI;
        u = t * s;
        v = t * c;
        break;
    case FLAME_SPIRAL:
        sine_cosine(r, &s, &c);
        u = inverse * fmaf(inverse, y, s);
        v = inverse * fmaf(inverse, x, -c);
        break;
    case FLAME_HYPERBOLIC:
        u *= inverse * inverse;
        break;
    case FLAME_DIAMOND:
        sine_cosine(r, &s, &c);
        u = inverse * x * c;
        v = inverse * y * s;
        break;
    case FLAME_JULIA:
        sine_cosine(0.5f * angle_of(x, y), &s, &c);
        t = word & 2 ? -sqrtf(r) : sqrtf(r);
        u = t * c;
        v = t * s;
        break;
    case FLAME_BUBBLE:
        u *= 4.0f / (squared + 4.0f);
        v *= 4.0f / (squared + 4.0f);
        break;
    default: /* linear */
        break;
    }
    sum->x = fmaf(weight, u, sum->x);
    sum->y = fmaf(weight, v, sum->y);
}

static struct point move(const struct flame *flame, int number, struct point from, uint32_t word,
                         struct generator *generator)
{
    const float *ax = flame->affine[number][0], *ay = flame->affine[number][1];
    float x = fmaf(ax[0], from.x, fmaf(ax[1], from.y, ax[2]));
    float y = fmaf(ay[0], from.x, fmaf(ay[1], from.y, ay[2]));
    struct point to = {0, 0, 0.5f * (from.colour + flame->colour[number])};
    for (int i = 0; i < FLAME_VARIATIONS && flame->kinds[number][i] >= 0; i++)
        vary(flame->kinds[number][i], flame->weights[number][i], x, y, word, &to);
    if (!(fabsf(to.x) < FLAME_LIMIT && fabsf(to.y) < FLAME_LIMIT)) {
        to.x = random_place(generator);
        to.y = random_place(generator);
    }
    return to;
}

static int choose(const struct flame *flame, uint32_t word)
{
    int number = 0;
    while (number < FLAME_TRANSFORMS - 1 && word >= flame->below[number])
        number++;
    return number;
}

struct picture {
    uint32_t *sums; /* red, green, blue, density */
    int width, height;
    float camera[4];
    const uint32_t *palette;
};

static void draw(const struct picture *picture, struct point point)
{
    float column = (point.x - picture->camera[0]) * picture->camera[2];
    float row = (point.y - picture->camera[1]) * picture->camera[3];
    if (column < 0 || row < 0 || column >= (float)picture->width || row >= (float)picture->height)
        return;
    uint32_t shade = picture->palette[(int)(point.colour * 256)];
    uint32_t *sums = picture->sums + 4 * ((size_t)row * (size_t)picture->width + (size_t)column);
    for (int i = 0; i < 3; i++)
        sums[i] += shade >> 8 * i & 255;
    sums[3]++;
}

/* One step of the points of a thread block. */
static void step(const struct flame *flame, struct point *points, struct generator *generators)
{
    uint32_t words[THREADS];
    struct point before[THREADS];
    for (int i = 0; i < THREADS; i++)
        words[i] = next_word(&generators[i]);
    memcpy(before, points, sizeof before);
    for (int i = 0; i < THREADS / 2; i++) {
        if (words[i] & 1) {
            struct point point = before[i];
            before[i] = before[i + THREADS / 2];
            before[i + THREADS / 2] = point;
        }
    }
    for (int i = 0; i < THREADS; i++) {
        int number = choose(flame, words[i / 32 * 32]);
        points[i] = move(flame, number, before[i], words[i], &generators[i]);
    }
}

/* The buffers that describe the flame, as one: copied out of them, or into them. */
static bool exchange(const struct corun_problem *problem, struct flame *flame, bool into)
{
    float *x = corun_problem_data(problem, "affine_x", CORUN_ELEMENT_F32, 4 * FLAME_TRANSFORMS);
    float *y = corun_problem_data(problem, "affine_y", CORUN_ELEMENT_F32, 4 * FLAME_TRANSFORMS);
    float *colour = corun_problem_data(problem, "colour_of", CORUN_ELEMENT_F32, FLAME_TRANSFORMS);
    uint32_t *below = corun_problem_data(problem, "below", CORUN_ELEMENT_U32, FLAME_TRANSFORMS);
    int32_t *kinds = corun_problem_data(problem, "kinds", CORUN_ELEMENT_S32, FLAME_TRANSFORMS * FLAME_VARIATIONS);
    float *weights = corun_problem_data(problem, "weights", CORUN_ELEMENT_F32, FLAME_TRANSFORMS * FLAME_VARIATIONS);
    if (!x || !y || !colour || !below || !kinds || !weights)
        return false;
    for (int i = 0; i < FLAME_TRANSFORMS; i++) {
        float *rows[2] = {x + 4 * i, y + 4 * i};
        for (int k = 0; k < 2; k++) {
            if (into)
                memcpy(rows[k], flame->affine[i][k], sizeof flame->affine[i][k]);
            else
                memcpy(flame->affine[i][k], rows[k], sizeof flame->affine[i][k]);
        }
    }
#define EXCHANGE(buffer, member) \
    memcpy(into ? (void *)(buffer) : (void *)flame->member, into ? (void *)flame->member : (void *)(buffer), \
           sizeof flame->member)
    EXCHANGE(colour, colour);
    EXCHANGE(below, below);
    EXCHANGE(kinds, kinds);
    EXCHANGE(weights, weights);
#undef EXCHANGE
    return true;
}

static bool compute(const struct corun_problem *problem)
{
    int width = (int)corun_problem_value(problem, "width"), height = (int)corun_problem_value(problem, "height");
    int64_t blocks = corun_problem_value(problem, "blocks"), skipped = corun_problem_value(problem, "skipped");
    int64_t steps = corun_problem_value(problem, "steps") * corun_problem_value(problem, "batches");
    uint64_t threads = (uint64_t)blocks * THREADS;
    float *points = corun_problem_data(problem, "points", CORUN_ELEMENT_F32, 4 * threads);
    const uint32_t *words = corun_problem_data(problem, "generators", CORUN_ELEMENT_U32, 2 * threads);
    const float *camera = corun_problem_data(problem, "camera", CORUN_ELEMENT_F32, 4);
    struct picture picture = {.width = width, .height = height};
    picture.sums = corun_problem_data(problem, "picture", CORUN_ELEMENT_U32, 4 * (uint64_t)width * (uint64_t)height);
    picture.palette = corun_problem_data(problem, "palette", CORUN_ELEMENT_U32, 256);
    struct flame flame;
    if (!points || !words || !camera || !picture.sums || !picture.palette || !exchange(problem, &flame, false))
        return false;
    memcpy(picture.camera, camera, sizeof picture.camera);
    for (int64_t block = 0; block < blocks; block++) {
        struct point own[THREADS];
        struct generator generators[THREADS];
        float *place = points + 4 * block * THREADS;
        for (int i = 0; i < THREADS; i++) {
            own[i] = (struct point){place[4 * i], place[4 * i + 1], place[4 * i + 2]};
            generators[i] = (struct generator){words[2 * (block * THREADS + i)], words[2 * (block * THREADS + i) + 1]};
        }
        for (int64_t s = 0; s < steps; s++) {
            step(&flame, own, generators);
            for (int i = 0; s >= skipped && i < THREADS; i++)
                draw(&picture, own[i]);
        }
        for (int i = 0; i < THREADS; i++)
            memcpy(place + 4 * i, (float[]){own[i].x, own[i].y, own[i].colour, 0}, 4 * sizeof *place);
    }
    return true;
}

static float between(uint64_t *state, float lowest, float highest)
{
    return lowest + (highest - lowest) * corun_random_unit(state);
}

/* Transforms that turn and shrink, each with one to three variations whose weights add up to one. */
static void random_flame(uint64_t *state, struct flame *flame)
{
    double total = 0, shares[FLAME_TRANSFORMS];
    for (int i = 0; i < FLAME_TRANSFORMS; i++) {
        total += shares[i] = (double)between(state, 0.3f, 1.0f);
        for (int k = 0; k < 2; k++) {
            for (int j = 0; j < 2; j++)
                flame->affine[i][k][j] = between(state, -0.9f, 0.9f);
            flame->affine[i][k][2] = between(state, -1, 1);
        }
        flame->colour[i] = (float)(2 * i + 1) / (float)(2 * FLAME_TRANSFORMS);
        int count = 1 + (int)(corun_random(state) % FLAME_VARIATIONS);
        float sum = 0;
        for (int k = 0; k < FLAME_VARIATIONS; k++) {
            flame->kinds[i][k] = k < count ? (int32_t)(corun_random(state) % FLAME_KINDS) : -1;
            flame->weights[i][k] = k < count ? between(state, 0.2f, 1) : 0;
            sum += flame->weights[i][k];
        }
        for (int k = 0; k < count; k++)
            flame->weights[i][k] /= sum;
    }
    double below = 0;
    for (int i = 0; i < FLAME_TRANSFORMS; i++) {
        below += shares[i] / total;
        flame->below[i] = below < 1 ? (uint32_t)(below * 4294967296.0) : UINT32_MAX;
    }
}

static int compare(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* The middle 96 % of the values, a little widened: lowest, and how many of `cells` make a unit. */
static void fit(float *values, int count, int cells, float *lowest, float *scale)
{
    qsort(values, (size_t)count, sizeof *values, compare);
    float low = values[count / 50], high = values[count - 1 - count / 50];
    float margin = 0.05f * (high - low) + 1e-3f;
    *lowest = low - margin;
    *scale = (float)cells / (high - low + 2 * margin);
}

#define TRIAL 16384
#define CELLS 64

/* Points a camera at the flame. The share of a coarse picture that the flame covers then. */
static double aim(const struct flame *flame, uint64_t seed, int width, int height, float camera[4])
{
    float *x = malloc(3 * TRIAL * sizeof *x), *y = x + TRIAL, *places = y + TRIAL;
    bool *covered = calloc(CELLS * CELLS, sizeof *covered);
    int count = 0;
    if (x && covered) {
        struct generator generator = {(uint32_t)seed | 1, 1};
        struct point point = {0.1f, 0.2f, 0};
        for (int i = -20; i < TRIAL; i++) {
            uint32_t word = next_word(&generator);
            point = move(flame, choose(flame, word), point, next_word(&generator), &generator);
            if (i >= 0) {
                x[i] = point.x;
                y[i] = point.y;
            }
        }
        memcpy(places, x, TRIAL * sizeof *x);
        fit(places, TRIAL, width, &camera[0], &camera[2]);
        memcpy(places, y, TRIAL * sizeof *y);
        fit(places, TRIAL, height, &camera[1], &camera[3]);
        for (int i = 0; i < TRIAL; i++) {
            float column = (x[i] - camera[0]) * camera[2] / (float)width;
            float row = (y[i] - camera[1]) * camera[3] / (float)height;
            if (column >= 0 && column < 1 && row >= 0 && row < 1) {
                bool *cell = &covered[(int)(row * CELLS) * CELLS + (int)(column * CELLS)];
                count += !*cell;
                *cell = true;
            }
        }
    }
    free(x);
    free(covered);
    return (double)count / (CELLS * CELLS);
}

/* Red, green and blue go from one random colour to the next, eight times. */
static void random_palette(uint64_t *state, uint32_t palette[256])
{
    float stops[9][3];
    for (int i = 0; i < 27; i++)
        stops[i / 3][i % 3] = between(state, 10, 255);
    for (int i = 0; i < 256; i++) {
        float share = (float)(i % 32) / 32;
        palette[i] = 0;
        for (int k = 0; k < 3; k++)
            palette[i] |= (uint32_t)(stops[i / 32][k] * (1 - share) + stops[i / 32 + 1][k] * share) << 8 * k;
    }
}

static bool generate(const struct corun_problem *problem)
{
    int width = (int)corun_problem_value(problem, "width"), height = (int)corun_problem_value(problem, "height");
    uint64_t threads = (uint64_t)corun_problem_value(problem, "blocks") * THREADS;
    float *points = corun_problem_data(problem, "points", CORUN_ELEMENT_F32, 4 * threads);
    uint32_t *generators = corun_problem_data(problem, "generators", CORUN_ELEMENT_U32, 2 * threads);
    float *camera = corun_problem_data(problem, "camera", CORUN_ELEMENT_F32, 4);
    uint32_t *palette = corun_problem_data(problem, "palette", CORUN_ELEMENT_U32, 256);
    if (!points || !generators || !camera || !palette)
        return false;
    uint64_t state = problem->seed ^ UINT64_C(0x666c616d65000000);
    struct flame flame;
    double least = 0.25; /* of the picture, at first; less is asked for with every trial */
    do {
        random_flame(&state, &flame);
        least *= 0.99;
    } while (aim(&flame, problem->seed, width, height, camera) < least);
    random_palette(&state, palette);
    for (uint64_t i = 0; i < threads; i++) {
        points[4 * i] = between(&state, -1, 1);
        points[4 * i + 1] = between(&state, -1, 1);
        points[4 * i + 2] = corun_random_unit(&state);
        points[4 * i + 3] = 0;
        generators[2 * i] = (uint32_t)(corun_random(&state) >> 32);
        generators[2 * i + 1] = (uint32_t)(corun_random(&state) >> 33) | 1;
    }
    return exchange(problem, &flame, true);
}

const struct corun_reference corun_reference_fractal_flame = {
    .name = "fractal-flame",
    .compute = compute,
    .generators = (const struct corun_generator[]){{"flame", generate}, {0}},
};
