/* SPDX-License-Identifier: MIT */
/*
 * Spheres of three materials seen by paths of light: structures by value, operators, a tree of boxes walked with a stack in local memory, random
 * numbers of each thread, and paths that end after very different numbers of steps. Host and device share the functions.
 */
#include "check.h"

#include <cmath>
#include <cstdint>

#define BOTH __host__ __device__
#define SPHERES 31
#define NODES (2 * SPHERES - 1)
#define WIDTH 32
#define HEIGHT 24
#define MOST_STEPS 8
#define DEEPEST 16

struct vector {
    float x, y, z;
};

BOTH static vector operator+(vector a, vector b)
{
    return {a.x + b.x, a.y + b.y, a.z + b.z};
}

BOTH static vector operator-(vector a, vector b)
{
    return {a.x - b.x, a.y - b.y, a.z - b.z};
}

BOTH static vector operator*(vector a, float factor)
{
    return {a.x * factor, a.y * factor, a.z * factor};
}

BOTH static float dot(vector a, vector b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

BOTH static vector unit(vector a)
{
    return a * (1 / sqrtf(dot(a, a)));
}

struct ray {
    vector from, towards;
};

enum material { DULL, MIRROR, GLASS };

struct sphere {
    vector centre;
    float radius, brightness;
    enum material material;
};

struct node {
    vector low, high;
    int left, right, sphere; /* sphere: of a leaf, else -1 */
};

struct scene {
    sphere spheres[SPHERES];
    node nodes[NODES];
};

__constant__ scene device_scene;
static scene host_scene;

BOTH static float random_part(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return (float)(*state >> 8) / (1 << 24);
}

BOTH static bool meets(const node &node, const ray &ray, float nearest)
{
    const float *low = &node.low.x, *high = &node.high.x, *from = &ray.from.x, *towards = &ray.towards.x;
    float enters = 1e-3f, leaves = nearest;
    for (int axis = 0; axis < 3; axis++) {
        float one = (low[axis] - from[axis]) / towards[axis], other = (high[axis] - from[axis]) / towards[axis];
        enters = fmaxf(enters, fminf(one, other));
        leaves = fminf(leaves, fmaxf(one, other));
    }
    return enters <= leaves;
}

BOTH static float distance_to(const sphere &sphere, const ray &ray)
{
    vector between = ray.from - sphere.centre;
    float half = dot(between, ray.towards), rest = half * half - dot(between, between) + sphere.radius * sphere.radius;
    if (rest < 0)
        return -1;
    float root = sqrtf(rest);
    return -half - root > 1e-3f ? -half - root : -half + root;
}

BOTH static int find_nearest(const scene &scene, const ray &ray, float *distance)
{
    int stack[DEEPEST] = {0}, count = 1, found = -1;
    *distance = 1e30f;
    while (count) {
        const node &node = scene.nodes[stack[--count]];
        if (!meets(node, ray, *distance))
            continue;
        if (node.sphere < 0) {
            stack[count++] = node.left;
            stack[count++] = node.right;
            continue;
        }
        float here = distance_to(scene.spheres[node.sphere], ray);
        if (here > 1e-3f && here < *distance) {
            *distance = here;
            found = node.sphere;
        }
    }
    return found;
}

BOTH static vector change_direction(const sphere &sphere, vector towards, vector normal, uint32_t *random)
{
    float towards_normal = dot(towards, normal);
    if (sphere.material == DULL) {
        vector any = {random_part(random) - 0.5f, random_part(random) - 0.5f, random_part(random) - 0.5f};
        return unit(normal + any);
    }
    vector mirrored = towards - normal * (2 * towards_normal);
    if (sphere.material == MIRROR)
        return unit(mirrored);
    float ratio = towards_normal < 0 ? 1 / 1.5f : 1.5f, cosine = fabsf(towards_normal);
    vector outward = towards_normal < 0 ? normal : normal * -1;
    float rest = 1 - ratio * ratio * (1 - cosine * cosine);
    if (rest < 0 || random_part(random) < 0.1f)
        return unit(mirrored);
    return unit(towards * ratio + outward * (ratio * cosine - sqrtf(rest)));
}

BOTH static float brightness_of(const scene &scene, int x, int y, int *steps)
{
    uint32_t random = (uint32_t)(y * WIDTH + x) * 9781 + 1;
    ray ray = {{0, 1, 6}, unit(vector{((float)x + 0.5f) / WIDTH - 0.5f, 0.4f - (float)y / HEIGHT, -1})};
    float brightness = 1;
    for (*steps = 0; *steps < MOST_STEPS; ++*steps) {
        float distance;
        int nearest = find_nearest(scene, ray, &distance);
        if (nearest < 0)
            return brightness * (0.75f + 0.25f * ray.towards.y);
        const sphere &sphere = scene.spheres[nearest];
        ray.from = ray.from + ray.towards * distance;
        ray.towards = change_direction(sphere, ray.towards, (ray.from - sphere.centre) * (1 / sphere.radius), &random);
        brightness *= sphere.brightness;
    }
    return 0;
}

__global__ void render(float *picture, int *steps)
{
    int x = (int)(blockIdx.x * blockDim.x + threadIdx.x), y = (int)(blockIdx.y * blockDim.y + threadIdx.y);
    picture[y * WIDTH + x] = brightness_of(device_scene, x, y, &steps[y * WIDTH + x]);
}

/* The tree of spheres from `first` on, which are sorted by x; its own node is the next one. Returns that. */
static int make_tree(int first, int count, int *next)
{
    int own = (*next)++;
    node &node = host_scene.nodes[own];
    node = {{1e30f, 1e30f, 1e30f}, {-1e30f, -1e30f, -1e30f}, -1, -1, count == 1 ? first : -1};
    for (int i = first; i < first + count; i++)
        for (int axis = 0; axis < 3; axis++) {
            float centre = (&host_scene.spheres[i].centre.x)[axis], radius = host_scene.spheres[i].radius;
            (&node.low.x)[axis] = fminf((&node.low.x)[axis], centre - radius);
            (&node.high.x)[axis] = fmaxf((&node.high.x)[axis], centre + radius);
        }
    if (count > 1) {
        node.left = make_tree(first, count / 2, next);
        node.right = make_tree(first + count / 2, count - count / 2, next);
    }
    return own;
}

int main()
{
    static float picture[WIDTH * HEIGHT];
    static int steps[WIDTH * HEIGHT];
    float *device_picture;
    int *device_steps, next = 0, differ = 0, longest = 0;
    uint32_t random = 5;
    for (int i = 0; i < SPHERES; i++) {
        vector centre = {(float)i * 0.2f - 3, random_part(&random) * 2, random_part(&random) * 4 - 2};
        host_scene.spheres[i] = {centre, 0.2f + 0.3f * random_part(&random), 0.5f + 0.5f * random_part(&random),
                                 (enum material)(i % 3)};
    }
    make_tree(0, SPHERES, &next);
    EXPECT(next == NODES);
    CHECK(cudaMemcpyToSymbol(device_scene, &host_scene, sizeof host_scene));
    CHECK(cudaMalloc(&device_picture, sizeof picture));
    CHECK(cudaMalloc(&device_steps, sizeof steps));
    render<<<dim3(WIDTH / 8, HEIGHT / 8), dim3(8, 8)>>>(device_picture, device_steps);
    CHECK(cudaMemcpy(picture, device_picture, sizeof picture, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(steps, device_steps, sizeof steps, cudaMemcpyDeviceToHost));
    double sum = 0, wanted = 0;
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++) {
            int here;
            float expected = brightness_of(host_scene, x, y, &here);
            differ += fabsf(expected - picture[y * WIDTH + x]) > 1e-3f || here != steps[y * WIDTH + x];
            longest = here > longest ? here : longest;
            sum += picture[y * WIDTH + x];
            wanted += expected;
        }
    /* A last bit may send a path past a sphere that it hits on the host. */
    EXPECT(differ <= WIDTH * HEIGHT / 40);
    EXPECT(fabs(sum - wanted) < 0.01 * wanted);
    EXPECT(longest >= 4);
    CHECK(cudaFree(device_picture));
    CHECK(cudaFree(device_steps));
    return 0;
}
