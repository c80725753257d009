/* SPDX-License-Identifier: MIT */
/*
 * bodytrack: follows a body through the pictures of four cameras with an annealed particle filter (Deutscher, Reid: Articulated Body Motion
 * Capture by Stochastic Search, IJCV 2005): particles are poses, each is weighed by what its limbs cover in the pictures, and the best are
 * drawn again with less and less noise. Stands for bodytrack of PARSEC.
 *
 * Data: four pictures of 640 by 480 floats, 5 MB, read at the limbs' places: the same parts again and again. A frame is a phase that blurs
 * its pictures and five pairs of a parallel phase (weights; 64 particles are a task) and a serial part (drawing), which limits the speed-up.
 */
#include "program.h"

#include <math.h>
#include <stdlib.h>

enum {
    CAMERAS = 4,
    WIDTH = 640,
    HEIGHT = 480,
    LIMBS = 10,
    ANGLES = LIMBS + 2,
    SAMPLES = 12,
    PARTICLES = 2048,
    TASK_PARTICLES = 64
};
enum { LAYERS = 5, BAND = 16 };

/* Place of the trunk in the room and angles of the limbs. */
struct pose {
    float value[ANGLES];
};

struct tracker {
    float *seen[CAMERAS], *blurred[CAMERAS]; /* [HEIGHT][WIDTH] */
    struct pose *particles, *drawn;
    float *weights;
    double *cumulative;
    struct pose truth, estimate;
    uint32_t frames, frame;
    uint64_t seed;
    float worst; /* distance of trunk between estimate and truth in any frame, in pixels */
};

/* A limb begins where its parent ends. */
static const int8_t parents[LIMBS] = {-1, 0, 0, 1, 2, 0, -1, -1, 6, 7};
static const float lengths[LIMBS] = {90, 50, 50, 45, 45, 30, 60, 60, 55, 55};
static const float rest[LIMBS] = {1.5708f, 2.6f, 0.5f, 2.2f, 0.9f, 1.5708f, -1.3f, -1.85f, -1.4f, -1.7f};

static struct pose pose_at(uint64_t seed, uint32_t frame)
{
    struct pose pose;
    float time = (float)frame;
    pose.value[0] = 320 + 60 * sinf(0.11f * time + 6 * program_random_float(seed, 1000));
    pose.value[1] = 240 + 20 * cosf(0.17f * time);
    for (uint32_t l = 0; l < LIMBS; l++)
        pose.value[l + 2] = 0.35f * sinf(0.2f * time + 6 * program_random_float(seed, l));
    return pose;
}

struct point {
    float x, y;
};

/* Points along each limb, in the picture of a camera, which looks from the side by `camera` and sees the width less. */
static void project(const struct pose *pose, uint32_t camera, struct point points[LIMBS][SAMPLES])
{
    static const float widths[CAMERAS] = {1, 0.85f, 0.7f, 0.55f}, shifts[CAMERAS] = {0, 25, -40, 60};
    struct point ends[LIMBS];
    for (uint32_t l = 0; l < LIMBS; l++) {
        struct point from = parents[l] < 0 ? (struct point){pose->value[0], pose->value[1]} : ends[parents[l]];
        float angle = rest[l] + pose->value[l + 2], x = cosf(angle) * lengths[l], y = -sinf(angle) * lengths[l];
        ends[l] = (struct point){from.x + x, from.y + y};
        for (uint32_t s = 0; s < SAMPLES; s++) {
            float along = ((float)s + 0.5f) / SAMPLES;
            points[l][s].x = WIDTH / 2.0f + shifts[camera] + (from.x + along * x - WIDTH / 2.0f) * widths[camera];
            points[l][s].y = from.y + along * y;
        }
    }
}

static void *create(uint32_t size, uint64_t seed)
{
    (void)size;
    (void)seed;
    struct tracker *tracker = program_allocate(1, sizeof *tracker);
    for (uint32_t c = 0; c < CAMERAS; c++) {
        tracker->seen[c] = program_allocate((size_t)WIDTH * HEIGHT, sizeof(float));
        tracker->blurred[c] = program_allocate((size_t)WIDTH * HEIGHT, sizeof(float));
    }
    tracker->particles = program_allocate(PARTICLES, sizeof *tracker->particles);
    tracker->drawn = program_allocate(PARTICLES, sizeof *tracker->drawn);
    tracker->weights = program_allocate(PARTICLES, sizeof(float));
    tracker->cumulative = program_allocate(PARTICLES, sizeof(double));
    return tracker;
}

static void prepare(void *state, uint32_t size, uint64_t seed)
{
    struct tracker *tracker = state;
    tracker->frames = size;
    tracker->seed = seed;
    tracker->worst = 0;
}

/* The body as the camera sees it: limbs a few pixels wide, and specks. */
static void draw(struct tracker *tracker, uint32_t camera)
{
    struct point points[LIMBS][SAMPLES];
    float *seen = tracker->seen[camera];
    for (uint32_t i = 0; i < WIDTH * HEIGHT; i++)
        seen[i] = 0;
    project(&tracker->truth, camera, points);
    for (uint32_t i = 0; i < LIMBS * SAMPLES; i++) {
        int32_t x = (int32_t)points[i / SAMPLES][i % SAMPLES].x, y = (int32_t)points[i / SAMPLES][i % SAMPLES].y;
        for (int32_t j = -4; j <= 4; j++)
            for (int32_t k = -4; k <= 4; k++)
                if (x + k >= 0 && x + k < WIDTH && y + j >= 0 && y + j < HEIGHT)
                    seen[(y + j) * WIDTH + x + k] = 1;
    }
    for (uint32_t i = 0; i < 2000; i++) {
        uint64_t random = program_random(tracker->seed + tracker->frame + 1, camera * 2000u + i);
        seen[random % ((uint64_t)WIDTH * HEIGHT)] = 1;
    }
}

/* A camera and a band of rows: means over nine by nine pixels, so that a limb that is nearly right is worth something. */
static void blur(void *user, uint32_t task)
{
    struct tracker *tracker = user;
    uint32_t camera = task / (HEIGHT / BAND), first = task % (HEIGHT / BAND) * BAND;
    const float *in = tracker->seen[camera];
    for (uint32_t y = first; y < first + BAND; y++) {
        float column[WIDTH];
        uint32_t top = y < 4 ? 0 : y - 4, bottom = y + 5 < HEIGHT ? y + 5 : HEIGHT;
        for (uint32_t x = 0; x < WIDTH; x++)
            column[x] = 0;
        for (uint32_t row = top; row < bottom; row++)
            for (uint32_t x = 0; x < WIDTH; x++)
                column[x] += in[row * WIDTH + x];
        for (uint32_t x = 0; x < WIDTH; x++) {
            float sum = 0;
            for (uint32_t k = x < 4 ? 0 : x - 4; k < x + 5 && k < WIDTH; k++)
                sum += column[k];
            tracker->blurred[camera][y * WIDTH + x] = sum / 81;
        }
    }
}

static float weigh(const struct tracker *tracker, const struct pose *pose)
{
    struct point points[LIMBS][SAMPLES];
    float sum = 0;
    for (uint32_t c = 0; c < CAMERAS; c++) {
        project(pose, c, points);
        for (uint32_t l = 0; l < LIMBS; l++)
            for (uint32_t s = 0; s < SAMPLES; s++) {
                int32_t x = (int32_t)points[l][s].x, y = (int32_t)points[l][s].y;
                if (x >= 0 && x < WIDTH && y >= 0 && y < HEIGHT)
                    sum += tracker->blurred[c][y * WIDTH + x];
            }
    }
    return sum / (CAMERAS * LIMBS * SAMPLES);
}

static void weigh_some(void *user, uint32_t task)
{
    struct tracker *tracker = user;
    for (uint32_t p = task * TASK_PARTICLES; p < (task + 1) * TASK_PARTICLES; p++)
        tracker->weights[p] = weigh(tracker, &tracker->particles[p]);
}

/* Particles anew: as many of each as it has weight (systematic resampling), with noise that falls from layer to layer. */
static void resample(struct tracker *tracker, uint32_t layer)
{
    double sum = 0, sharpness = 20 * (layer + 1);
    for (uint32_t p = 0; p < PARTICLES; p++)
        tracker->cumulative[p] = sum += exp(sharpness * (double)tracker->weights[p]);
    uint64_t seed = tracker->seed + 1000003ull * tracker->frame + layer;
    float noise = 0.12f * powf(0.6f, (float)layer);
    for (uint32_t p = 0, from = 0; p < PARTICLES; p++) {
        double at = ((double)p + (double)program_random_float(seed, PARTICLES * ANGLES)) * sum / PARTICLES;
        while (from < PARTICLES - 1 && tracker->cumulative[from] < at)
            from++;
        for (uint32_t a = 0; a < ANGLES; a++)
            tracker->drawn[p].value[a] = tracker->particles[from].value[a] +
                                         (a < 2 ? 60 * noise : noise) * program_random_normal(seed, p * ANGLES + a);
    }
    struct pose *particles = tracker->particles;
    tracker->particles = tracker->drawn;
    tracker->drawn = particles;
}

static void estimate(struct tracker *tracker)
{
    double sum[ANGLES] = {0};
    for (uint32_t p = 0; p < PARTICLES; p++)
        for (uint32_t a = 0; a < ANGLES; a++)
            sum[a] += (double)tracker->particles[p].value[a];
    for (uint32_t a = 0; a < ANGLES; a++)
        tracker->estimate.value[a] = (float)(sum[a] / PARTICLES);
    float off = hypotf(tracker->estimate.value[0] - tracker->truth.value[0],
                       tracker->estimate.value[1] - tracker->truth.value[1]);
    tracker->worst = off > tracker->worst ? off : tracker->worst;
}

static void draw_camera(void *user, uint32_t task)
{
    draw(user, task);
}

static void run(void *state, struct tasks *tasks)
{
    struct tracker *tracker = state;
    struct pose first = pose_at(tracker->seed, 0);
    for (uint32_t p = 0; p < PARTICLES; p++)
        tracker->particles[p] = first;
    tasks_span(tasks, 0, 1, tracker->frames * (2 + LAYERS));
    for (tracker->frame = 0; tracker->frame < tracker->frames; tracker->frame++) {
        tracker->truth = pose_at(tracker->seed, tracker->frame);
        tasks_phase(tasks, "camera", draw_camera, tracker, CAMERAS);
        tasks_phase(tasks, "blur", blur, tracker, CAMERAS * (HEIGHT / BAND));
        for (uint32_t layer = 0; layer < LAYERS; layer++) {
            tasks_phase(tasks, "weigh", weigh_some, tracker, PARTICLES / TASK_PARTICLES);
            resample(tracker, layer);
        }
        estimate(tracker);
    }
}

/* The body was followed, and the last weights are those of sums pixel by pixel. */
static const char *check(const void *state)
{
    const struct tracker *tracker = state;
    if (!(tracker->worst < 12))
        return "the body was lost";
    for (uint32_t c = 0; c < CAMERAS; c++)
        for (uint32_t i = 0; i < 500; i++) {
            uint64_t random = program_random(tracker->seed, i);
            int32_t x = (int32_t)(random % WIDTH), y = (int32_t)(random / WIDTH % HEIGHT);
            float sum = 0;
            for (int32_t j = y - 4; j <= y + 4; j++)
                for (int32_t k = x - 4; k <= x + 4; k++)
                    if (j >= 0 && j < HEIGHT && k >= 0 && k < WIDTH)
                        sum += tracker->seen[c][j * WIDTH + k];
            if (fabsf(sum / 81 - tracker->blurred[c][y * WIDTH + x]) > 1e-6f)
                return "a blurred pixel is not the mean of its neighbours";
        }
    return NULL;
}

static uint64_t fingerprint(const void *state)
{
    const struct tracker *tracker = state;
    return program_fingerprint(0, &tracker->estimate, sizeof tracker->estimate);
}

static void destroy(void *state)
{
    struct tracker *tracker = state;
    for (uint32_t c = 0; c < CAMERAS; c++) {
        free(tracker->seen[c]);
        free(tracker->blurred[c]);
    }
    free(tracker->particles);
    free(tracker->drawn);
    free(tracker->weights);
    free(tracker->cumulative);
    free(tracker);
}

int main(int count, char **words)
{
    const struct program program = {.name = "bodytrack",
                                    .what = "the pose of a body in the pictures of four cameras",
                                    .size_of = "frames",
                                    .batch = true,
                                    .size = 8,
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
