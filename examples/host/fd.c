/* SPDX-License-Identifier: MIT */
/*
 * fd: describes points of a picture so that they can be compared with those of another (speeded-up robust features; surf.h names the paper):
 * for each point its direction, and 64 sums of differences of brightness around it, turned by that direction. Stands for feature description
 * (FD) of the Sirius suite.
 *
 * Data: an integral image of 12 MB (three million pixels), read in patches of some ten kilobytes at the places of the points, strongest
 * first, which is anywhere. A query is a number of points; 32 points are a task.
 */
#include "surf.h"

#include <math.h>
#include <stdlib.h>

enum { WIDTH = 2048, HEIGHT = 1536, LENGTH = 64, TASK_POINTS = 32, BORDER = 120, SECTORS = 24 };

struct point {
    uint16_t x, y;
    float scale; /* 1.2 to 4: all samples lie less than BORDER pixels from the point */
};

struct fd {
    struct picture picture;
    struct point *points;
    float *descriptors; /* [size][LENGTH] */
    uint32_t size;
};

static void *create(uint32_t size, uint64_t seed)
{
    (void)seed;
    struct fd *fd = program_allocate(1, sizeof *fd);
    fd->picture = (struct picture){.width = WIDTH, .height = HEIGHT};
    fd->picture.pixels = program_allocate((size_t)WIDTH * HEIGHT, 1);
    fd->picture.integral = program_allocate((WIDTH + 1u) * (HEIGHT + 1u), sizeof(uint32_t));
    fd->points = program_allocate(size, sizeof *fd->points);
    fd->descriptors = program_allocate((size_t)size * LENGTH, sizeof(float));
    return fd;
}

static void prepare(void *state, uint32_t size, uint64_t seed)
{
    struct fd *fd = state;
    struct picture *picture = &fd->picture;
    picture_draw(picture, seed);
    for (uint32_t y = 0; y < HEIGHT; y++)
        for (uint32_t x = 0, sum = 0; x < WIDTH; x++) {
            sum += picture->pixels[(size_t)y * WIDTH + x];
            picture->integral[(y + 1u) * (WIDTH + 1u) + x + 1] = picture->integral[y * (WIDTH + 1u) + x + 1] + sum;
        }
    fd->size = size;
    for (uint32_t i = 0; i < size; i++)
        fd->points[i] =
            (struct point){.x = (uint16_t)(BORDER + program_random(seed, 3ull * i) % (WIDTH - 2 * BORDER)),
                           .y = (uint16_t)(BORDER + program_random(seed, 3ull * i + 1) % (HEIGHT - 2 * BORDER)),
                           .scale = 1.2f + 2.8f * program_random_float(seed, 3ull * i + 2)};
}

typedef int32_t box_function(const struct picture *, uint32_t, uint32_t, uint32_t, uint32_t);

/* The difference of brightness across a square of side 2 * half around a pixel, to the right and downwards (Haar wavelets). */
static inline void differences(const struct picture *picture, int32_t x, int32_t y, int32_t half, box_function *box,
                               float *right, float *down)
{
    uint32_t left = (uint32_t)(x - half), top = (uint32_t)(y - half), side = (uint32_t)half;
    int32_t a = box(picture, left, top, side, side), b = box(picture, left + side, top, side, side);
    int32_t c = box(picture, left, top + side, side, side), d = box(picture, left + side, top + side, side, side);
    *right = (float)(b + d - a - c);
    *down = (float)(c + d - a - b);
}

/* Where the differences within six scales point to: the sector of 60 degrees with the longest sum. */
static inline float direction(const struct picture *picture, const struct point *point, box_function *box)
{
    float x_sums[SECTORS] = {0}, y_sums[SECTORS] = {0}, best = -1, angle = 0;
    int32_t half = (int32_t)lrintf(2 * point->scale);
    for (int32_t j = -6; j <= 6; j++)
        for (int32_t i = -6; i <= 6; i++) {
            if (i * i + j * j >= 36)
                continue;
            float right, down, weight = expf(-(float)(i * i + j * j) / 12.5f);
            differences(picture, point->x + (int32_t)lrintf((float)i * point->scale),
                        point->y + (int32_t)lrintf((float)j * point->scale), half, box, &right, &down);
            uint32_t sector = (uint32_t)((atan2f(down, right) + 3.1415927f) * (SECTORS / 6.2831855f)) % SECTORS;
            x_sums[sector] += weight * right;
            y_sums[sector] += weight * down;
        }
    for (uint32_t s = 0; s < SECTORS; s++) {
        float x = 0, y = 0;
        for (uint32_t k = 0; k < SECTORS / 6; k++) {
            x += x_sums[(s + k) % SECTORS];
            y += y_sums[(s + k) % SECTORS];
        }
        if (x * x + y * y > best) {
            best = x * x + y * y;
            angle = atan2f(y, x);
        }
    }
    return angle;
}

static inline void describe(const struct picture *picture, const struct point *point, box_function *box,
                            float *descriptor)
{
    float angle = direction(picture, point, box), across = cosf(angle), along = sinf(angle), length = 0;
    int32_t half = (int32_t)lrintf(point->scale);
    for (uint32_t i = 0; i < LENGTH; i++)
        descriptor[i] = 0;
    for (int32_t j = -10; j < 10; j++)
        for (int32_t i = -10; i < 10; i++) {
            float u = ((float)i + 0.5f) * point->scale, v = ((float)j + 0.5f) * point->scale, right, down;
            differences(picture, point->x + (int32_t)lrintf(u * across - v * along),
                        point->y + (int32_t)lrintf(u * along + v * across), half, box, &right, &down);
            float weight = expf(-(float)(i * i + j * j) / 21.78f);
            float dx = weight * (right * across + down * along), dy = weight * (down * across - right * along);
            float *cell = descriptor + ((j + 10) / 5 * 4 + (i + 10) / 5) * 4;
            cell[0] += dx;
            cell[1] += fabsf(dx);
            cell[2] += dy;
            cell[3] += fabsf(dy);
        }
    for (uint32_t i = 0; i < LENGTH; i++)
        length += descriptor[i] * descriptor[i];
    length = length > 0 ? 1 / sqrtf(length) : 0;
    for (uint32_t i = 0; i < LENGTH; i++)
        descriptor[i] *= length;
}

static void describe_some(void *user, uint32_t task)
{
    struct fd *fd = user;
    for (uint32_t p = task * TASK_POINTS; p < (task + 1) * TASK_POINTS && p < fd->size; p++)
        describe(&fd->picture, &fd->points[p], picture_box, fd->descriptors + (size_t)p * LENGTH);
}

static void run(void *state, struct tasks *tasks)
{
    struct fd *fd = state;
    tasks_phase(tasks, "describe", describe_some, fd, (fd->size + TASK_POINTS - 1) / TASK_POINTS);
}

/* Lengths are 1; a few descriptors again from the pixels themselves, without the integral image. */
static const char *check(const void *state)
{
    const struct fd *fd = state;
    float again[LENGTH];
    for (uint32_t p = 0; p < fd->size; p++) {
        const float *descriptor = fd->descriptors + (size_t)p * LENGTH;
        double length = 0;
        for (uint32_t i = 0; i < LENGTH; i++)
            length += (double)descriptor[i] * (double)descriptor[i];
        if (!(fabs(length - 1) < 1e-4))
            return "a descriptor has not the length 1";
        if (p % (1 + fd->size / 32))
            continue;
        describe(&fd->picture, &fd->points[p], picture_box_slowly, again);
        for (uint32_t i = 0; i < LENGTH; i++)
            if (!(fabsf(again[i] - descriptor[i]) < 1e-6f))
                return "a descriptor differs from the one by pixels";
    }
    return NULL;
}

static uint64_t fingerprint(const void *state)
{
    const struct fd *fd = state;
    return program_fingerprint(0, fd->descriptors, (size_t)fd->size * LENGTH * sizeof(float));
}

static void destroy(void *state)
{
    struct fd *fd = state;
    free(fd->picture.pixels);
    free(fd->picture.integral);
    free(fd->points);
    free(fd->descriptors);
    free(fd);
}

int main(int count, char **words)
{
    const struct program program = {.name = "fd",
                                    .what = "descriptions of points of a picture",
                                    .size_of = "points",
                                    .size = 4000,
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
