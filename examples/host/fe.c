/* SPDX-License-Identifier: MIT */
/*
 * fe: finds the points of a picture that can be found again in another (speeded-up robust features; surf.h names the paper): the integral
 * image, determinants of Hessians by box filters of seven sizes, and their maxima over place and size. Stands for feature extraction (FE) of
 * the Sirius suite.
 *
 * Data: five bytes a pixel of picture and integral image and sixteen of determinants, all streamed, each several times. A query is a number
 * of thousand pixels. Phases are sums along rows, sums along columns, determinants and maxima; tasks are bands of the picture.
 */
#include "surf.h"

#include <math.h>
#include <stdlib.h>

enum { LAYERS = 7, BAND = 16, COLUMNS = 64, MOST_PER_TASK = 512 };
static const uint32_t filters[LAYERS] = {9, 15, 21, 27, 33, 39, 51}; /* sides, in pixels */
static const float threshold = 300;

struct point {
    uint16_t x, y;
    uint32_t layer;
    float strength;
};

struct fe {
    struct picture picture;
    float *determinants; /* [LAYERS][height / 2][width / 2] */
    struct point *found; /* [bands][MOST_PER_TASK] */
    uint32_t *found_count;
    struct point *points; /* the answer, in order of bands */
    uint32_t point_count;
};

static uint32_t bands(const struct fe *fe)
{
    return (fe->picture.height / 2 + BAND - 1) / BAND;
}

static void size_picture(struct picture *picture, uint32_t size)
{
    picture->width = (uint32_t)sqrt(size * 1000.0 * 4 / 3) & ~15u;
    picture->height = (uint32_t)(size * 1000.0 / picture->width) & ~1u;
}

static void *create(uint32_t size, uint64_t seed)
{
    (void)seed;
    struct fe *fe = program_allocate(1, sizeof *fe);
    size_picture(&fe->picture, size);
    size_t width = fe->picture.width, height = fe->picture.height;
    fe->picture.pixels = program_allocate(width * height, 1);
    fe->picture.integral = program_allocate((width + 1) * (height + 1), sizeof(uint32_t));
    fe->determinants = program_allocate(LAYERS * (width / 2) * (height / 2), sizeof(float));
    fe->found = program_allocate((size_t)bands(fe) * MOST_PER_TASK, sizeof *fe->found);
    fe->points = program_allocate((size_t)bands(fe) * MOST_PER_TASK, sizeof *fe->points);
    fe->found_count = program_allocate(bands(fe), sizeof *fe->found_count);
    return fe;
}

static void prepare(void *state, uint32_t size, uint64_t seed)
{
    struct fe *fe = state;
    size_picture(&fe->picture, size);
    picture_draw(&fe->picture, seed);
}

static void sum_rows(void *user, uint32_t task)
{
    struct picture *picture = &((struct fe *)user)->picture;
    for (uint32_t y = task * 2 * BAND; y < (task + 1) * 2 * BAND && y < picture->height; y++) {
        const uint8_t *pixels = picture->pixels + (size_t)y * picture->width;
        uint32_t *out = picture->integral + (y + 1) * ((size_t)picture->width + 1), sum = 0;
        out[0] = 0;
        for (uint32_t x = 0; x < picture->width; x++)
            out[x + 1] = sum += pixels[x];
    }
}

static void sum_columns(void *user, uint32_t task)
{
    struct picture *picture = &((struct fe *)user)->picture;
    size_t stride = picture->width + 1u, begin = (size_t)task * COLUMNS, end = begin + COLUMNS;
    end = end < stride ? end : stride;
    for (size_t y = 1; y <= picture->height; y++)
        for (size_t x = begin; x < end; x++)
            picture->integral[y * stride + x] += picture->integral[(y - 1) * stride + x];
}

typedef int32_t box_function(const struct picture *, uint32_t, uint32_t, uint32_t, uint32_t);

/* The determinant of the Hessian at a pixel by boxes of side `filter`; a filter has three lobes. 0 where it would leave the picture. */
static inline float determinant(const struct picture *picture, uint32_t x, uint32_t y, uint32_t filter,
                                box_function *box)
{
    uint32_t half = filter / 2, lobe = filter / 3, wide = 2 * lobe - 1;
    if (x < half || y < half || x + half >= picture->width || y + half >= picture->height)
        return 0;
    uint32_t left = x - half, top = y - half;
    int32_t xx =
        box(picture, left, y - lobe + 1, filter, wide) - 3 * box(picture, left + lobe, y - lobe + 1, lobe, wide);
    int32_t yy = box(picture, x - lobe + 1, top, wide, filter) - 3 * box(picture, x - lobe + 1, top + lobe, wide, lobe);
    int32_t xy = box(picture, x + 1, y - lobe, lobe, lobe) + box(picture, x - lobe, y + 1, lobe, lobe) -
                 box(picture, x - lobe, y - lobe, lobe, lobe) - box(picture, x + 1, y + 1, lobe, lobe);
    float area = 1 / ((float)filter * (float)filter);
    float a = (float)xx * area, b = (float)yy * area, c = (float)xy * area;
    return a * b - 0.81f * c * c;
}

static void respond(void *user, uint32_t task)
{
    struct fe *fe = user;
    uint32_t width = fe->picture.width / 2, height = fe->picture.height / 2, band = task / LAYERS,
             layer = task % LAYERS;
    for (uint32_t y = band * BAND; y < (band + 1) * BAND && y < height; y++)
        for (uint32_t x = 0; x < width; x++)
            fe->determinants[((size_t)layer * height + y) * width + x] =
                determinant(&fe->picture, 2 * x, 2 * y, filters[layer], picture_box);
}

static bool is_maximum(const struct fe *fe, uint32_t layer, uint32_t x, uint32_t y)
{
    uint32_t width = fe->picture.width / 2, height = fe->picture.height / 2;
    const float *here = fe->determinants + ((size_t)layer * height + y) * width + x;
    size_t plane = (size_t)width * height;
    if (*here < threshold)
        return false;
    for (const float *p = here - plane; p <= here + plane; p += plane)
        for (const float *row = p - width; row <= p + width; row += width)
            if (row[-1] > *here || row[0] > *here || row[1] > *here)
                return false;
    return true;
}

static void find_maxima(void *user, uint32_t task)
{
    struct fe *fe = user;
    uint32_t width = fe->picture.width / 2, height = fe->picture.height / 2, count = 0;
    struct point *found = fe->found + (size_t)task * MOST_PER_TASK;
    for (uint32_t layer = 1; layer < LAYERS - 1; layer++)
        for (uint32_t y = task ? task * BAND : 1; y < (task + 1) * BAND && y < height - 1; y++)
            for (uint32_t x = 1; x < width - 1; x++)
                if (is_maximum(fe, layer, x, y) && count < MOST_PER_TASK)
                    found[count++] =
                        (struct point){.x = (uint16_t)(2 * x),
                                       .y = (uint16_t)(2 * y),
                                       .layer = layer,
                                       .strength = fe->determinants[((size_t)layer * height + y) * width + x]};
    fe->found_count[task] = count;
}

static void run(void *state, struct tasks *tasks)
{
    struct fe *fe = state;
    tasks_span(tasks, 0, 0.04, 2); /* parts of its time on one thread */
    tasks_phase(tasks, "rows", sum_rows, fe, bands(fe));
    tasks_phase(tasks, "columns", sum_columns, fe, (fe->picture.width + COLUMNS) / COLUMNS);
    tasks_span(tasks, 0.04, 0.9, 1);
    tasks_phase(tasks, "determinants", respond, fe, bands(fe) * LAYERS);
    tasks_span(tasks, 0.9, 1, 1);
    tasks_phase(tasks, "maxima", find_maxima, fe, bands(fe));
    fe->point_count = 0;
    for (uint32_t b = 0; b < bands(fe); b++)
        for (uint32_t i = 0; i < fe->found_count[b]; i++)
            fe->points[fe->point_count++] = fe->found[(size_t)b * MOST_PER_TASK + i];
}

/* Every point's determinant from the pixels themselves, and that its neighbours have none that is greater. */
static const char *check(const void *state)
{
    const struct fe *fe = state;
    const struct picture *picture = &fe->picture;
    if (!fe->point_count)
        return "no point is found";
    for (uint32_t i = 0; i < fe->point_count; i += 1 + fe->point_count / 200) {
        const struct point *point = &fe->points[i];
        if (determinant(picture, point->x, point->y, filters[point->layer], picture_box_slowly) != point->strength)
            return "a determinant differs from the one by pixels";
        for (uint32_t layer = point->layer - 1; layer <= point->layer + 1; layer++)
            for (uint32_t n = 0; n < 9; n++)
                if (determinant(picture, point->x + 2 * (n % 3) - 2, point->y + 2 * (n / 3) - 2, filters[layer],
                                picture_box_slowly) > point->strength)
                    return "a point is no maximum";
    }
    return NULL;
}

static uint64_t fingerprint(const void *state)
{
    const struct fe *fe = state;
    return program_fingerprint(0, fe->points, fe->point_count * sizeof *fe->points);
}

static void destroy(void *state)
{
    struct fe *fe = state;
    free(fe->picture.pixels);
    free(fe->picture.integral);
    free(fe->determinants);
    free(fe->found);
    free(fe->found_count);
    free(fe->points);
    free(fe);
}

int main(int count, char **words)
{
    const struct program program = {.name = "fe",
                                    .what = "points of a picture that can be found again",
                                    .size_of = "thousand pixels",
                                    .size = 2000,
                                    .least = 20,
                                    .most = 30000,
                                    .create = create,
                                    .prepare = prepare,
                                    .run = run,
                                    .check = check,
                                    .fingerprint = fingerprint,
                                    .destroy = destroy};
    return program_main(&program, count, words);
}
