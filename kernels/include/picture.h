/* SPDX-License-Identifier: MIT */
/*
 * Pictures and frame sequences for the generators of image and video workloads: a background of smooth shading and fine
 * texture under a pan, shapes with sharp edges (flat, shaded, striped) that move on their own, and noise of a sensor.
 * Nothing but integers, so the same seed gives the same picture everywhere. Positions are in sixteenths of a pixel.
 */
#ifndef CORUN_KERNELS_PICTURE_H
#define CORUN_KERNELS_PICTURE_H

#include "corun/workload.h"

#define PICTURE_SHAPES 20
#define PICTURE_CHANNELS 3 /* red, green, blue or one of brightness and two of colour: each with shades of its own */

enum picture_kind { PICTURE_ELLIPSE, PICTURE_RECTANGLE, PICTURE_STRIPES, PICTURE_KINDS };

struct picture_shape {
    enum picture_kind kind;
    int64_t x, y, radius_x, radius_y;
    int64_t speed_x, speed_y; /* a frame */
    int shade[PICTURE_CHANNELS];
};

struct picture_scene {
    uint64_t seed;
    int64_t width, height;
    int64_t pan_x, pan_y; /* a frame */
    struct picture_shape shapes[PICTURE_SHAPES];
};

static inline int64_t picture_random(uint64_t *state, int64_t lowest, int64_t highest)
{
    return lowest + (int64_t)(corun_random(state) % (uint64_t)(highest - lowest + 1));
}

static inline void picture_scene_create(struct picture_scene *scene, uint64_t seed, int64_t width, int64_t height)
{
    uint64_t state = seed ^ UINT64_C(0x7069637475726573);
    scene->width = width;
    scene->height = height;
    scene->pan_x = picture_random(&state, -40, 40);
    scene->pan_y = picture_random(&state, -24, 24);
    for (int i = 0; i < PICTURE_SHAPES; i++) {
        struct picture_shape *shape = &scene->shapes[i];
        shape->kind = (enum picture_kind)(i % PICTURE_KINDS);
        shape->radius_x = picture_random(&state, width / 3 + 16, 2 * width + 16); /* 1/48 to 1/8 of the width */
        shape->radius_y = picture_random(&state, height / 3 + 16, 2 * height + 16);
        shape->x = picture_random(&state, 0, 16 * width);
        shape->y = picture_random(&state, 0, 16 * height);
        shape->speed_x = picture_random(&state, -96, 96);
        shape->speed_y = picture_random(&state, -64, 64);
        for (int channel = 0; channel < PICTURE_CHANNELS; channel++)
            shape->shade[channel] = (int)picture_random(&state, 10, 245);
    }
    scene->seed = corun_random(&state);
}

/* 0 to 255 for a point of a grid, always the same. */
static inline int64_t picture_hash(uint64_t seed, int64_t x, int64_t y)
{
    uint64_t state = seed ^ (uint64_t)x * UINT64_C(0x9e3779b1) ^ (uint64_t)y * UINT64_C(0xc2b2ae3d27d4eb4f);
    return (int64_t)(corun_random(&state) >> 56);
}

/* Value noise along one row: random shades at the points of a grid with 2^shift sixteenths between them, linear in between. */
struct picture_noise_row {
    uint64_t seed;
    int64_t y, cell, left, right;
    int shift;
};

static inline int64_t picture_noise_edge(const struct picture_noise_row *row, int64_t cell)
{
    int64_t cell_y = row->y >> row->shift;
    int64_t part = row->y - cell_y * (INT64_C(1) << row->shift);
    int64_t above = picture_hash(row->seed, cell, cell_y);
    int64_t below = picture_hash(row->seed, cell, cell_y + 1);
    return above * ((INT64_C(1) << row->shift) - part) + below * part;
}

static inline struct picture_noise_row picture_noise_begin(uint64_t seed, int64_t y, int shift)
{
    return (struct picture_noise_row){.seed = seed, .y = y, .cell = INT64_MIN, .shift = shift};
}

/* 0 to 255 */
static inline int64_t picture_noise_at(struct picture_noise_row *row, int64_t x)
{
    int64_t cell = x >> row->shift;
    if (cell != row->cell) {
        row->left = cell == row->cell + 1 ? row->right : picture_noise_edge(row, cell);
        row->right = picture_noise_edge(row, cell + 1);
        row->cell = cell;
    }
    int64_t part = x - cell * (INT64_C(1) << row->shift);
    return (row->left * ((INT64_C(1) << row->shift) - part) + row->right * part) >> (2 * row->shift);
}

/* Distance of a shape's centre in one direction, as it wraps around the picture with its radius beyond the edges. */
static inline int64_t picture_centre(int64_t start, int64_t speed, int frame, int64_t extent, int64_t radius)
{
    int64_t period = 16 * extent + 2 * radius;
    int64_t at = (start + radius + speed * frame) % period;
    return (at < 0 ? at + period : at) - radius;
}

static inline void picture_draw_shape(const struct picture_scene *scene, const struct picture_shape *shape, int frame,
                                      int channel, int64_t scale, int64_t y, int64_t width, int16_t *row)
{
    int64_t centre_x = picture_centre(shape->x, shape->speed_x, frame, scene->width, shape->radius_x);
    int64_t centre_y = picture_centre(shape->y, shape->speed_y, frame, scene->height, shape->radius_y);
    int64_t dy = 16 * scale * y - centre_y;
    if (dy <= -shape->radius_y || dy >= shape->radius_y)
        return;
    int64_t first = (centre_x - shape->radius_x) / (16 * scale);
    int64_t last = (centre_x + shape->radius_x) / (16 * scale);
    int64_t square_x = shape->radius_x * shape->radius_x;
    int64_t square_y = shape->radius_y * shape->radius_y;
    for (int64_t x = first < 0 ? 0 : first; x <= last && x < width; x++) {
        int64_t dx = 16 * scale * x - centre_x;
        if (shape->kind != PICTURE_RECTANGLE && dx * dx * square_y + dy * dy * square_x >= square_x * square_y)
            continue;
        int64_t shade = shape->shade[channel];
        if (shape->kind == PICTURE_STRIPES)
            shade += ((dx + dy) >> 6) & 1 ? 40 : -40; /* four pixels wide, diagonal */
        else if (shape->kind == PICTURE_RECTANGLE)
            shade += 40 * dx / shape->radius_x;
        row[x] = (int16_t)shade;
    }
}

/* The shape that one sees at a pixel of a frame, or NULL for the background. */
static inline const struct picture_shape *picture_shape_at(const struct picture_scene *scene, int frame, int64_t x,
                                                           int64_t y)
{
    const struct picture_shape *seen = NULL;
    for (int i = 0; i < PICTURE_SHAPES; i++) {
        const struct picture_shape *shape = &scene->shapes[i];
        int64_t dx = 16 * x - picture_centre(shape->x, shape->speed_x, frame, scene->width, shape->radius_x);
        int64_t dy = 16 * y - picture_centre(shape->y, shape->speed_y, frame, scene->height, shape->radius_y);
        int64_t square_x = shape->radius_x * shape->radius_x;
        int64_t square_y = shape->radius_y * shape->radius_y;
        bool inside = shape->kind == PICTURE_RECTANGLE ? dx * dx < square_x && dy * dy < square_y
                                                       : dx * dx * square_y + dy * dy * square_x < square_x * square_y;
        if (inside)
            seen = shape;
    }
    return seen;
}

/*
 * Row y of frame `frame` in one channel, `width` pixels, each `scale` pixels of the scene apart (2 for halved colour planes).
 * noise: the largest deviation in eighths of a shade; 0 for none. `scratch` has room for `width` elements.
 */
static inline void picture_row(const struct picture_scene *scene, int frame, int channel, int64_t scale, int64_t y,
                               int64_t width, int noise, int16_t *scratch, uint8_t *row)
{
    int64_t scene_x = scene->pan_x * frame;
    int64_t scene_y = 16 * scale * y + scene->pan_y * frame;
    struct picture_noise_row shading = picture_noise_begin(scene->seed + (uint64_t)channel, scene_y, 11);
    struct picture_noise_row detail = picture_noise_begin(scene->seed + (uint64_t)channel + 10, scene_y, 7);
    struct picture_noise_row texture = picture_noise_begin(scene->seed + 20, scene_y, 5);
    for (int64_t x = 0; x < width; x++) {
        int64_t at = scene_x + 16 * scale * x;
        int64_t smooth = picture_noise_at(&shading, at);
        /* texture is strong where the smooth part is bright */
        int64_t fine = (picture_noise_at(&texture, at) - 128) * smooth;
        scratch[x] = (int16_t)(40 + smooth / 2 + picture_noise_at(&detail, at) / 8 + fine / 1024);
    }
    for (int i = 0; i < PICTURE_SHAPES; i++)
        picture_draw_shape(scene, &scene->shapes[i], frame, channel, scale, y, width, scratch);
    uint64_t state = scene->seed ^ ((uint64_t)frame << 40 | (uint64_t)channel << 32 | (uint64_t)y);
    uint64_t bits = 0;
    for (int64_t x = 0; x < width; x++) {
        bits = x % 8 == 0 ? corun_random(&state) : bits >> 8;
        int deviation = (int)(bits & 15) + (int)(bits >> 4 & 15) - 15; /* -15 to 15, most of it near 0 */
        int shade = scratch[x] + deviation * noise / 120;
        row[x] = (uint8_t)(shade < 0 ? 0 : shade > 255 ? 255 : shade);
    }
}

#endif
