/* SPDX-License-Identifier: MIT */
/*
 * ray-tracing: pictures of mirroring spheres over a chequered floor, with shadows of two lights and up to five
 * reflections.
 *
 * A thread traces one pixel: it looks for the nearest sphere or the floor, lights the point with a shadow ray to each
 * light that it faces, and follows the mirrored ray with the share of light that the surface mirrors. The host moves
 * the objects between frames and copies them to constant memory, a launch renders one frame.
 *
 * Used as Ray Tracing in HPCA 2012 (table 1: one kernel, 2048 thread blocks of 128 threads: 512 x 512 pixels in blocks
 * of 16 x 8).
 *
 * Every operation is an addition, a multiplication, a fused multiply-add, a division or a square root, correctly
 * rounded, in an order that is written down here with functions that compilers must not contract: so every pixel is the
 * same everywhere.
 *
 * What limits it: arithmetic and divergence. A pixel writes four bytes and takes almost two thousand instructions;
 * neighbours hit different objects and mirror to different depths, so less than all lanes of a warp are active.
 */
#define SPHERES 16
#define LIGHTS 2
#define REFLECTIONS 5
#define FAR 40.0f    /* where the floor ends */
#define CLOSE 0.001f /* rays start this far from where they are cast */
#define DOWN (-0.3f) /* where the camera looks, one unit away */
#define AMBIENT 0.15f

/* A place and the width of a picture one unit away; place, brightness; place, radius, then colour, mirrored share. */
__constant__ float4 camera;
__constant__ float4 light[LIGHTS];
__constant__ float4 sphere[2 * SPHERES];

__device__ __forceinline__ float3 subtract(float3 a, float3 b)
{
    return make_float3(__fsub_rn(a.x, b.x), __fsub_rn(a.y, b.y), __fsub_rn(a.z, b.z));
}

__device__ __forceinline__ float3 scale(float3 a, float factor)
{
    return make_float3(__fmul_rn(a.x, factor), __fmul_rn(a.y, factor), __fmul_rn(a.z, factor));
}

/* a + factor * b */
__device__ __forceinline__ float3 advance(float3 a, float factor, float3 b)
{
    return make_float3(fmaf(factor, b.x, a.x), fmaf(factor, b.y, a.y), fmaf(factor, b.z, a.z));
}

__device__ __forceinline__ float dot(float3 a, float3 b)
{
    return fmaf(a.x, b.x, fmaf(a.y, b.y, __fmul_rn(a.z, b.z)));
}

__device__ __forceinline__ float3 place_of(float4 object)
{
    return make_float3(object.x, object.y, object.z);
}

/* How far along the ray (direction of length 1) the sphere is; a negative number if it is not. */
__device__ __forceinline__ float distance_to(float4 ball, float3 origin, float3 direction)
{
    float3 to = subtract(place_of(ball), origin);
    float middle = dot(to, direction);
    float outside = fmaf(-ball.w, ball.w, dot(to, to));
    float half = fmaf(middle, middle, -outside);
    if (half < 0.0f)
        return -1.0f;
    return __fsub_rn(middle, sqrtf(half));
}

/* The number of the nearest sphere, SPHERES for the floor, -1 for nothing; and how far it is. */
__device__ __forceinline__ int nearest(float3 origin, float3 direction, float *distance)
{
    int found = -1;
    *distance = FAR;
#pragma unroll 1
    for (int i = 0; i < SPHERES; i++) {
        float here = distance_to(sphere[2 * i], origin, direction);
        if (here > CLOSE && here < *distance) {
            *distance = here;
            found = i;
        }
    }
    if (direction.y < 0.0f) {
        float here = __fdiv_rn(-origin.y, direction.y);
        if (here > CLOSE && here < *distance) {
            *distance = here;
            found = SPHERES;
        }
    }
    return found;
}

__device__ __forceinline__ bool in_shadow(float3 origin, float3 direction, float distance)
{
#pragma unroll 1
    for (int i = 0; i < SPHERES; i++) {
        float here = distance_to(sphere[2 * i], origin, direction);
        if (here > CLOSE && here < distance)
            return true;
    }
    return false;
}

/* The surface where the ray ends: its normal, its colour and how much it mirrors. */
struct surface {
    float3 place, normal, colour;
    float mirror;
};

__device__ __forceinline__ surface surface_at(int object, float3 place)
{
    surface hit;
    hit.place = place;
    if (object < SPHERES) {
        float4 ball = sphere[2 * object];
        float4 look = sphere[2 * object + 1];
        hit.normal = scale(subtract(place, place_of(ball)), __fdiv_rn(1.0f, ball.w));
        hit.colour = place_of(look);
        hit.mirror = look.w;
    } else {
        int tile = (int)floorf(place.x) + (int)floorf(place.z);
        float bright = tile & 1 ? 0.9f : 0.25f;
        hit.normal = make_float3(0.0f, 1.0f, 0.0f);
        hit.colour = make_float3(bright, bright, 0.9f);
        hit.mirror = 0.2f;
    }
    return hit;
}

/* Light that the surface scatters: ambient, diffuse, and a highlight: the eighth power of the mirrored ray's cosine. */
__device__ __forceinline__ float3 lit(const surface &hit, float3 mirrored)
{
    float diffuse = AMBIENT;
    float highlight = 0.0f;
#pragma unroll 1
    for (int i = 0; i < LIGHTS; i++) {
        float3 to = subtract(place_of(light[i]), hit.place);
        float distance = sqrtf(dot(to, to));
        float3 direction = scale(to, __fdiv_rn(1.0f, distance));
        float cosine = dot(hit.normal, direction);
        if (cosine <= 0.0f || in_shadow(hit.place, direction, distance))
            continue;
        diffuse = fmaf(light[i].w, cosine, diffuse);
        float along = fmaxf(dot(mirrored, direction), 0.0f);
        float squared = __fmul_rn(along, along);
        float fourth = __fmul_rn(squared, squared);
        highlight = fmaf(light[i].w, __fmul_rn(fourth, fourth), highlight);
    }
    float white = __fmul_rn(0.4f, highlight);
    return make_float3(fmaf(diffuse, hit.colour.x, white), fmaf(diffuse, hit.colour.y, white),
                       fmaf(diffuse, hit.colour.z, white));
}

/* 8 bits of a colour. */
__device__ __forceinline__ unsigned int level(float value)
{
    return (unsigned int)fmaf(fminf(value, 1.0f), 255.0f, 0.5f);
}

extern "C" __global__ void __launch_bounds__(128) ray_tracing(unsigned int *picture, int width, int height)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column >= width || row >= height)
        return;

    float half_pixel = __fmul_rn(0.5f, __fdiv_rn(camera.w, (float)width));
    float3 origin = place_of(camera);
    float3 direction = make_float3(__fmul_rn((float)(2 * column + 1 - width), half_pixel),
                                   fmaf((float)(height - 2 * row - 1), half_pixel, DOWN), 1.0f);
    direction = scale(direction, __fdiv_rn(1.0f, sqrtf(dot(direction, direction))));

    float3 colour = make_float3(0.0f, 0.0f, 0.0f);
    float share = 1.0f;
#pragma unroll 1
    for (int depth = 0; depth <= REFLECTIONS; depth++) {
        float distance;
        int object = nearest(origin, direction, &distance);
        if (object < 0) {
            float up = fmaxf(direction.y, 0.0f);
            colour = advance(colour, share, make_float3(fmaf(-0.5f, up, 0.7f), fmaf(-0.3f, up, 0.8f), 1.0f));
            break;
        }
        surface hit = surface_at(object, advance(origin, distance, direction));
        float3 mirrored = advance(direction, __fmul_rn(-2.0f, dot(direction, hit.normal)), hit.normal);
        float kept = __fmul_rn(share, __fsub_rn(1.0f, hit.mirror));
        colour = advance(colour, kept, lit(hit, mirrored));
        share = __fmul_rn(share, hit.mirror);
        if (share < 0.01f)
            break;
        origin = hit.place;
        direction = mirrored;
    }
    picture[row * width + column] = level(colour.x) | level(colour.y) << 8 | level(colour.z) << 16 | 0xff000000u;
}
