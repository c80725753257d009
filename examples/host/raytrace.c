/* SPDX-License-Identifier: MIT */
/*
 * raytrace: draws a landscape of triangles with one light, by rays through a tree of boxes (Kay, Kajiya: Ray Tracing Complex Scenes, SIGGRAPH
 * 1986; triangles after Möller, Trumbore: Fast, Minimum Storage Ray/Triangle Intersection, JGT 1997). Stands for raytrace of PARSEC.
 *
 * Data: 190 000 triangles and their tree, 18 MB; the top of the tree is in every cache, what a ray reads below is near to what the ray beside
 * it has read, and far from the rest. A query is a picture of a number of thousand pixels, from a place of its own; 16 by 16 pixels are a
 * task, and tasks are as unequal as what is to be seen.
 */
#include "program.h"

#include <math.h>
#include <stdlib.h>

enum { SIDE = 310, TRIANGLES = 2 * (SIDE - 1) * (SIDE - 1), LEAF = 4, TILE = 16, DEEPEST = 64 };

struct vector {
    float x, y, z;
};

struct triangle {
    struct vector corner, one, other; /* a corner, and the two sides from there */
    struct vector normal;
};

/* A box around some triangles: two boxes, or so many triangles from `first` on. */
struct box {
    struct vector low, high;
    uint32_t first, count; /* count = 0: the boxes `first` and `first` + 1 */
};

struct scene {
    struct triangle *triangles;
    struct box *boxes;
    uint32_t box_count;
    struct vector eye, light;
    uint32_t width, height;
    float *pixels;
    uint32_t *hits; /* by pixel: the triangle; TRIANGLES: none */
};

static struct vector minus(struct vector a, struct vector b)
{
    return (struct vector){a.x - b.x, a.y - b.y, a.z - b.z};
}

static struct vector cross(struct vector a, struct vector b)
{
    return (struct vector){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

static float dot(struct vector a, struct vector b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

static struct vector normalised(struct vector a)
{
    float scale = 1 / sqrtf(dot(a, a));
    return (struct vector){a.x * scale, a.y * scale, a.z * scale};
}

static float coordinate(const struct vector *vector, uint32_t axis)
{
    return axis == 0 ? vector->x : axis == 1 ? vector->y : vector->z;
}

static struct vector centre(const struct triangle *triangle)
{
    return (struct vector){triangle->corner.x + (triangle->one.x + triangle->other.x) / 3,
                           triangle->corner.y + (triangle->one.y + triangle->other.y) / 3,
                           triangle->corner.z + (triangle->one.z + triangle->other.z) / 3};
}

static void include(struct box *box, struct vector at)
{
    box->low = (struct vector){fminf(box->low.x, at.x), fminf(box->low.y, at.y), fminf(box->low.z, at.z)};
    box->high = (struct vector){fmaxf(box->high.x, at.x), fmaxf(box->high.y, at.y), fmaxf(box->high.z, at.z)};
}

static struct box bound(const struct triangle *triangles, uint32_t first, uint32_t count)
{
    struct box box = {{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}, first, count};
    for (uint32_t i = first; i < first + count; i++) {
        struct vector c = triangles[i].corner, a = triangles[i].one, b = triangles[i].other;
        include(&box, c);
        include(&box, (struct vector){c.x + a.x, c.y + a.y, c.z + a.z});
        include(&box, (struct vector){c.x + b.x, c.y + b.y, c.z + b.z});
    }
    return box;
}

static int by_x(const void *a, const void *b)
{
    float x = centre(a).x, y = centre(b).x;
    return (x > y) - (x < y);
}

static int by_y(const void *a, const void *b)
{
    float x = centre(a).y, y = centre(b).y;
    return (x > y) - (x < y);
}

/* Boxes are halved at the median of their longer side, x or y, until few triangles are left. */
static void build(struct scene *scene)
{
    scene->boxes[0] = bound(scene->triangles, 0, TRIANGLES);
    scene->box_count = 1;
    for (uint32_t b = 0; b < scene->box_count; b++) {
        struct box *box = &scene->boxes[b];
        if (box->count <= LEAF)
            continue;
        uint32_t first = box->first, half = box->count / 2, rest = box->count - half;
        bool along_x = box->high.x - box->low.x > box->high.y - box->low.y;
        qsort(scene->triangles + first, box->count, sizeof *scene->triangles, along_x ? by_x : by_y);
        box->first = scene->box_count;
        box->count = 0;
        scene->boxes[scene->box_count++] = bound(scene->triangles, first, half);
        scene->boxes[scene->box_count++] = bound(scene->triangles, first + half, rest);
    }
}

static float ground(float x, float y, uint64_t seed)
{
    float sum = 0, height = 8, length = 30;
    for (uint32_t octave = 0; octave < 7; octave++, height *= 0.5f, length *= 0.5f)
        sum += height * sinf(x / length + 6 * program_random_float(seed, 2 * octave)) *
               cosf(y / length + 6 * program_random_float(seed, 2 * octave + 1));
    return sum;
}

static void *create(uint32_t size, uint64_t seed)
{
    struct scene *scene = program_allocate(1, sizeof *scene);
    scene->triangles = program_allocate(TRIANGLES, sizeof *scene->triangles);
    scene->boxes = program_allocate(2 * TRIANGLES, sizeof *scene->boxes);
    struct vector *corners = program_allocate(SIDE * SIDE, sizeof *corners);
    for (uint32_t i = 0; i < SIDE * SIDE; i++) {
        uint32_t column = i % SIDE, row = i / SIDE;
        float x = (float)column * 0.4f, y = (float)row * 0.4f;
        corners[i] = (struct vector){x, y, ground(x, y, seed) + 0.1f * program_random_float(seed, 100 + i)};
    }
    for (uint32_t t = 0; t < TRIANGLES; t++) {
        uint32_t at = t / 2 / (SIDE - 1) * SIDE + t / 2 % (SIDE - 1);
        struct vector corner = corners[t & 1 ? at + SIDE + 1 : at];
        struct vector one = minus(corners[t & 1 ? at + SIDE : at + 1], corner);
        struct vector other = minus(corners[t & 1 ? at + 1 : at + SIDE], corner);
        scene->triangles[t] = (struct triangle){corner, one, other, normalised(cross(one, other))};
    }
    free(corners);
    build(scene);
    size_t pixels = (size_t)size * 1000 + (size_t)TILE * 4096;
    scene->pixels = program_allocate(pixels, sizeof(float));
    scene->hits = program_allocate(pixels, sizeof *scene->hits);
    return scene;
}

static void prepare(void *state, uint32_t size, uint64_t seed)
{
    struct scene *scene = state;
    scene->width = ((uint32_t)sqrt(size * 1000.0 * 4 / 3) / TILE + 1) * TILE;
    scene->height = (uint32_t)(size * 1000.0 / scene->width) / TILE * TILE + TILE;
    scene->eye =
        (struct vector){10 + 100 * program_random_float(seed, 0), -20, 30 + 10 * program_random_float(seed, 1)};
    scene->light = normalised((struct vector){program_random_float(seed, 2) - 0.5f, -0.4f, 0.35f});
}

struct ray {
    struct vector from, along, inverse;
    float nearest;
    uint32_t hit;
};

static bool meets(const struct box *box, const struct ray *ray)
{
    float near = 0, far = ray->nearest;
    for (uint32_t axis = 0; axis < 3; axis++) {
        float from = coordinate(&ray->from, axis), inverse = coordinate(&ray->inverse, axis);
        float a = (coordinate(&box->low, axis) - from) * inverse, b = (coordinate(&box->high, axis) - from) * inverse;
        near = fmaxf(near, a < b ? a : b);
        far = fminf(far, a < b ? b : a);
    }
    return near <= far;
}

static void intersect(const struct scene *scene, uint32_t number, struct ray *ray)
{
    const struct triangle *triangle = &scene->triangles[number];
    struct vector p = cross(ray->along, triangle->other), from = minus(ray->from, triangle->corner);
    float determinant = dot(triangle->one, p);
    if (fabsf(determinant) < 1e-9f)
        return;
    float u = dot(from, p) / determinant;
    struct vector q = cross(from, triangle->one);
    float v = dot(ray->along, q) / determinant, distance = dot(triangle->other, q) / determinant;
    if (u < 0 || v < 0 || u + v > 1 || distance < 1e-3f || distance > ray->nearest ||
        (distance == ray->nearest && number > ray->hit))
        return;
    ray->nearest = distance;
    ray->hit = number;
}

static struct ray make_ray(struct vector from, struct vector along)
{
    return (struct ray){from, along, {1 / along.x, 1 / along.y, 1 / along.z}, 1e9f, TRIANGLES};
}

/* The nearest triangle; for a shadow (`any`), one is enough. */
static void follow(const struct scene *scene, struct ray *ray, bool any)
{
    uint32_t stack[DEEPEST], depth = 0;
    stack[depth++] = 0;
    while (depth && !(any && ray->hit < TRIANGLES)) {
        const struct box *box = &scene->boxes[stack[--depth]];
        if (!meets(box, ray))
            continue;
        for (uint32_t t = box->first; t < box->first + box->count; t++)
            intersect(scene, t, ray);
        if (!box->count) {
            stack[depth++] = box->first + 1;
            stack[depth++] = box->first;
        }
    }
}

static struct ray primary(const struct scene *scene, uint32_t x, uint32_t y)
{
    float width = (float)scene->width, right = ((float)x + 0.5f) / width - 0.5f;
    float up = (0.5f * (float)scene->height - (float)y - 0.5f) / width;
    return make_ray(scene->eye, normalised((struct vector){1.2f * right + 1e-5f, 1, 1.2f * up - 0.45f}));
}

static float shade(const struct scene *scene, const struct ray *ray)
{
    if (ray->hit == TRIANGLES)
        return 1;
    struct vector at = {ray->from.x + ray->nearest * ray->along.x, ray->from.y + ray->nearest * ray->along.y,
                        ray->from.z + ray->nearest * ray->along.z};
    struct ray shadow = make_ray(at, scene->light);
    follow(scene, &shadow, true);
    return shadow.hit < TRIANGLES ? 0.1f : 0.1f + 0.9f * fabsf(dot(scene->triangles[ray->hit].normal, scene->light));
}

static void draw(void *user, uint32_t task)
{
    struct scene *scene = user;
    uint32_t tiles = scene->width / TILE, left = task % tiles * TILE, top = task / tiles * TILE;
    for (uint32_t y = top; y < top + TILE; y++)
        for (uint32_t x = left; x < left + TILE; x++) {
            struct ray ray = primary(scene, x, y);
            follow(scene, &ray, false);
            scene->hits[(size_t)y * scene->width + x] = ray.hit;
            scene->pixels[(size_t)y * scene->width + x] = shade(scene, &ray);
        }
}

static void run(void *state, struct tasks *tasks)
{
    struct scene *scene = state;
    tasks_phase(tasks, "draw", draw, scene, scene->width / TILE * (scene->height / TILE));
}

/* Some pixels by trying all triangles. */
static const char *check(const void *state)
{
    const struct scene *scene = state;
    uint32_t seen = 0;
    for (uint32_t i = 0; i < 60; i++) {
        uint32_t x = (uint32_t)(program_random(1, i) % scene->width),
                 y = (uint32_t)(program_random(2, i) % scene->height);
        struct ray ray = primary(scene, x, y);
        for (uint32_t t = 0; t < TRIANGLES; t++)
            intersect(scene, t, &ray);
        seen += ray.hit < TRIANGLES;
        if (ray.hit != scene->hits[(size_t)y * scene->width + x])
            return "a ray meets another triangle than by trying all";
    }
    return seen ? NULL : "there is nothing to be seen";
}

static uint64_t fingerprint(const void *state)
{
    const struct scene *scene = state;
    return program_fingerprint(0, scene->pixels, (size_t)scene->width * scene->height * sizeof(float));
}

static void destroy(void *state)
{
    struct scene *scene = state;
    free(scene->triangles);
    free(scene->boxes);
    free(scene->pixels);
    free(scene->hits);
    free(scene);
}

int main(int count, char **words)
{
    const struct program program = {.name = "raytrace",
                                    .what = "a picture of a landscape, by rays",
                                    .size_of = "thousand pixels",
                                    .batch = true,
                                    .size = 150,
                                    .least = 1,
                                    .most = 100000,
                                    .create = create,
                                    .prepare = prepare,
                                    .run = run,
                                    .check = check,
                                    .fingerprint = fingerprint,
                                    .destroy = destroy};
    return program_main(&program, count, words);
}
