/* SPDX-License-Identifier: MIT */
/*
 * Ray tracing by recursion. The picture is defined by single precision in a certain order, so that it can be compared
 * exactly: dot products are fused from the last component to the first, and what is written as fmaf is fused.
 */
#include "corun/workload.h"

#include <math.h>

#define SPHERES 16
#define LIGHTS 2
#define REFLECTIONS 5

static const float farthest = 40.0f, closest = 0.001f;

typedef struct {
    float v[3];
} vector;

struct ball {
    vector place;
    float radius;
    vector colour;
    float mirror;
};

struct lamp {
    vector place;
    float brightness;
};

struct scene {
    const struct ball *balls;
    const struct lamp *lamps;
};

struct ray {
    vector from, to; /* `to` has length 1 */
};

struct hit {
    float distance;
    vector place, normal, colour;
    float mirror;
};

/* a + factor * b */
static vector along(vector a, float factor, vector b)
{
    for (int i = 0; i < 3; i++)
        a.v[i] = fmaf(factor, b.v[i], a.v[i]);
    return a;
}

static vector difference(vector a, vector b)
{
    for (int i = 0; i < 3; i++)
        a.v[i] -= b.v[i];
    return a;
}

static vector times(vector a, float factor)
{
    for (int i = 0; i < 3; i++)
        a.v[i] *= factor;
    return a;
}

static float product(vector a, vector b)
{
    float sum = a.v[2] * b.v[2];
    for (int i = 1; i >= 0; i--)
        sum = fmaf(a.v[i], b.v[i], sum);
    return sum;
}

static bool meets(const struct ball *ball, const struct ray *ray, float before, float *distance)
{
    vector between = difference(ball->place, ray->from);
    float middle = product(between, ray->to);
    float outside = fmaf(-ball->radius, ball->radius, product(between, between));
    float half = fmaf(middle, middle, -outside);
    if (half < 0)
        return false;
    float here = middle - sqrtf(half);
    if (here <= closest || here >= before)
        return false;
    *distance = here;
    return true;
}

static bool find(const struct scene *scene, const struct ray *ray, struct hit *hit)
{
    const struct ball *nearest = NULL;
    hit->distance = farthest;
    for (int i = 0; i < SPHERES; i++) {
        if (meets(&scene->balls[i], ray, hit->distance, &hit->distance))
            nearest = &scene->balls[i];
    }
    if (ray->to.v[1] < 0) {
        float floor_distance = -ray->from.v[1] / ray->to.v[1];
        if (floor_distance > closest && floor_distance < hit->distance) {
            hit->distance = floor_distance;
            hit->place = along(ray->from, floor_distance, ray->to);
            bool odd = ((int)floorf(hit->place.v[0]) + (int)floorf(hit->place.v[2])) % 2 != 0;
            hit->normal = (vector){{0, 1, 0}};
            hit->colour = (vector){{odd ? 0.9f : 0.25f, odd ? 0.9f : 0.25f, 0.9f}};
            hit->mirror = 0.2f;
            return true;
        }
    }
    if (!nearest)
        return false;
    hit->place = along(ray->from, hit->distance, ray->to);
    hit->normal = times(difference(hit->place, nearest->place), 1.0f / nearest->radius);
    hit->colour = nearest->colour;
    hit->mirror = nearest->mirror;
    return true;
}

static bool shadowed(const struct scene *scene, const struct ray *ray, float distance)
{
    float ignored;
    for (int i = 0; i < SPHERES; i++) {
        if (meets(&scene->balls[i], ray, distance, &ignored))
            return true;
    }
    return false;
}

static vector illuminated(const struct scene *scene, const struct hit *hit, vector mirrored)
{
    float diffuse = 0.15f, highlight = 0;
    for (int i = 0; i < LIGHTS; i++) {
        const struct lamp *lamp = &scene->lamps[i];
        vector way = difference(lamp->place, hit->place);
        float distance = sqrtf(product(way, way));
        struct ray ray = {hit->place, times(way, 1.0f / distance)};
        float cosine = product(hit->normal, ray.to);
        if (cosine > 0 && !shadowed(scene, &ray, distance)) {
            diffuse = fmaf(lamp->brightness, cosine, diffuse);
            float power = product(mirrored, ray.to);
            if (power > 0) {
                for (int k = 0; k < 3; k++) /* the eighth */
                    power *= power;
                highlight = fmaf(lamp->brightness, power, highlight);
            }
        }
    }
    vector colour = hit->colour;
    for (int i = 0; i < 3; i++)
        colour.v[i] = fmaf(diffuse, colour.v[i], 0.4f * highlight);
    return colour;
}

/* Adds `share` of the light that comes along the ray. */
static void trace(const struct scene *scene, const struct ray *ray, float share, int reflections, vector *light)
{
    struct hit hit;
    if (!find(scene, ray, &hit)) {
        float up = ray->to.v[1] > 0 ? ray->to.v[1] : 0;
        *light = along(*light, share, (vector){{fmaf(-0.5f, up, 0.7f), fmaf(-0.3f, up, 0.8f), 1}});
        return;
    }
    vector mirrored = along(ray->to, -2.0f * product(ray->to, hit.normal), hit.normal);
    *light = along(*light, share * (1.0f - hit.mirror), illuminated(scene, &hit, mirrored));
    share *= hit.mirror;
    if (reflections > 0 && share >= 0.01f)
        trace(scene, &(struct ray){hit.place, mirrored}, share, reflections - 1, light);
}

static uint32_t level(float value)
{
    return (uint32_t)fmaf(value < 1 ? value : 1, 255, 0.5f);
}

static void render(const struct scene *scene, const float camera[4], int width, int height, uint32_t *picture)
{
    float half_pixel = 0.5f * (camera[3] / (float)width);
    for (int row = 0; row < height; row++) {
        for (int column = 0; column < width; column++) {
            vector way = {{(float)(2 * column + 1 - width) * half_pixel,
                           fmaf((float)(height - 2 * row - 1), half_pixel, -0.3f), 1}};
            struct ray ray = {{{camera[0], camera[1], camera[2]}}, times(way, 1.0f / sqrtf(product(way, way)))};
            vector light = {{0, 0, 0}};
            trace(scene, &ray, 1, REFLECTIONS, &light);
            *picture++ = level(light.v[0]) | level(light.v[1]) << 8 | level(light.v[2]) << 16 | UINT32_C(0xff000000);
        }
    }
}

static bool compute(const struct corun_problem *problem)
{
    int width = (int)corun_problem_value(problem, "width"), height = (int)corun_problem_value(problem, "height");
    uint64_t frames = (uint64_t)corun_problem_value(problem, "frames"), pixels = (uint64_t)width * (uint64_t)height;
    const float *camera = corun_problem_data(problem, "camera", CORUN_ELEMENT_F32, 4);
    const float *lights = corun_problem_data(problem, "lights", CORUN_ELEMENT_F32, 4 * LIGHTS);
    const float *scenes = corun_problem_data(problem, "scenes", CORUN_ELEMENT_F32, 8 * SPHERES * frames);
    uint32_t *pictures = corun_problem_data(problem, "pictures", CORUN_ELEMENT_U32, pixels * frames);
    if (!camera || !lights || !scenes || !pictures)
        return false;
    struct lamp lamps[LIGHTS];
    for (int i = 0; i < LIGHTS; i++)
        lamps[i] = (struct lamp){{{lights[4 * i], lights[4 * i + 1], lights[4 * i + 2]}}, lights[4 * i + 3]};
    for (uint64_t frame = 0; frame < frames; frame++) {
        struct ball balls[SPHERES];
        for (int i = 0; i < SPHERES; i++) {
            const float *s = scenes + 8 * (SPHERES * frame + (uint64_t)i);
            balls[i] = (struct ball){{{s[0], s[1], s[2]}}, s[3], {{s[4], s[5], s[6]}}, s[7]};
        }
        render(&(struct scene){balls, lamps}, camera, width, height, pictures + pixels * frame);
    }
    return true;
}

/* Uniform between both, component by component. */
static void random_between(uint64_t *state, int count, const float *lowest, const float *highest, float *values)
{
    for (int i = 0; i < count; i++)
        values[i] = lowest[i] + (highest[i] - lowest[i]) * corun_random_unit(state);
}

/* Spheres on the floor or above it, each moving along a line from frame to frame; a third of them do not mirror. */
static bool generate(const struct corun_problem *problem)
{
    uint64_t frames = (uint64_t)corun_problem_value(problem, "frames");
    float *camera = corun_problem_data(problem, "camera", CORUN_ELEMENT_F32, 4);
    float *lights = corun_problem_data(problem, "lights", CORUN_ELEMENT_F32, 4 * LIGHTS);
    float *scenes = corun_problem_data(problem, "scenes", CORUN_ELEMENT_F32, 8 * SPHERES * frames);
    if (!camera || !lights || !scenes)
        return false;
    uint64_t state = problem->seed ^ UINT64_C(0x7261797300000000);
    static const float camera_range[2][4] = {{-1, 1.5f, -6, 1.4f}, {1, 2.5f, -6, 1.4f}};
    static const float above[2][4] = {{-8, 6, -8, 0.6f}, {8, 10, 2, 0.6f}};
    static const float among[2][4] = {{-3, 1.5f, -2, 0.35f}, {3, 4, 3, 0.35f}}; /* the spheres */
    static const float ball_range[2][8] = {{-4, -1.5f, -1, 0.3f, 0.1f, 0.1f, 0.1f, 0.2f},
                                           {4, 3, 8, 1.1f, 1, 1, 1, 0.9f}};
    static const float motion_range[2][2] = {{-0.1f, -0.1f}, {0.1f, 0.1f}};
    random_between(&state, 4, camera_range[0], camera_range[1], camera);
    random_between(&state, 4, above[0], above[1], lights);
    random_between(&state, 4, among[0], among[1], lights + 4);
    for (uint64_t i = 0; i < SPHERES; i++) {
        float ball[8], motion[2]; /* x, y, z, radius, colour, mirror */
        random_between(&state, 8, ball_range[0], ball_range[1], ball);
        random_between(&state, 2, motion_range[0], motion_range[1], motion);
        if (ball[1] < ball[3])
            ball[1] = ball[3];
        if (i % 3 == 0)
            ball[7] = 0;
        for (uint64_t frame = 0; frame < frames; frame++) {
            memcpy(scenes + 8 * (SPHERES * frame + i), ball, sizeof ball);
            ball[0] += motion[0];
            ball[2] += motion[1];
        }
    }
    return true;
}

const struct corun_reference corun_reference_ray_tracing = {
    .name = "ray-tracing",
    .compute = compute,
    .generators = (const struct corun_generator[]){{"scene", generate}, {0}},
};
