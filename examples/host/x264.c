/* SPDX-License-Identifier: MIT */
/*
 * x264: encodes a film: for each block of 16 by 16 pixels the best block of the frame before (a diamond search), then what is left as rounded
 * coefficients of a transform, then the frame as a decoder will see it, which the next one is predicted from. Stands for x264 of PARSEC.
 *
 * Data: frames of 640 by 368 pixels, a quarter of a megabyte each; a frame and the one before are used together and are warm, a film of 24
 * frames is a stream of 22 MB in and out. A row of blocks is a task: it needs the row above (whose vectors it begins with) and, of the frame
 * before, the rows that its search may reach, two below its own. So a frame can begin when a tenth of the one before is done, and no more
 * than eight of them are under way at once:
 *
 *     frame 0   row 0 ─► row 1 ─► row 2 ─► row 3 ─► …
 *                                   │        │
 *     frame 1                       └► row 0 └► row 1 ─► …
 */
#include "program.h"

#include <math.h>
#include <stdlib.h>

enum {
    WIDTH = 640,
    HEIGHT = 368,
    BLOCK = 16,
    COLUMNS = WIDTH / BLOCK,
    ROWS = HEIGHT / BLOCK,
    RANGE = 24,
    REACH = 2,
    STEP = 320
};
enum { PART = 8, PIXELS = WIDTH * HEIGHT };

struct vector {
    int8_t x, y;
};

struct film {
    uint8_t *source, *decoded; /* [frames][HEIGHT][WIDTH] */
    int16_t *levels;           /* the same: coefficients by 8 × 8 pixels, in rows of the frame */
    struct vector *vectors;    /* [frames][ROWS][COLUMNS] */
    uint32_t *bits;            /* [frames][ROWS] */
    uint32_t frames;
};

static void *create(uint32_t size, uint64_t seed)
{
    (void)seed;
    struct film *film = program_allocate(1, sizeof *film);
    film->source = program_allocate((size_t)size * PIXELS, 1);
    film->decoded = program_allocate((size_t)size * PIXELS, 1);
    film->levels = program_allocate((size_t)size * PIXELS, sizeof *film->levels);
    film->vectors = program_allocate((size_t)size * ROWS * COLUMNS, sizeof *film->vectors);
    film->bits = program_allocate((size_t)size * ROWS, sizeof *film->bits);
    return film;
}

/* A camera that pans over hills and stones, and things that move across. */
static void prepare(void *state, uint32_t size, uint64_t seed)
{
    struct film *film = state;
    enum { THINGS = 12 };
    film->frames = size;
    for (uint32_t f = 0; f < size; f++)
        for (uint32_t y = 0; y < HEIGHT; y++)
            for (uint32_t x = 0; x < WIDTH; x++) {
                uint32_t u = x + 3 * f, v = y + f / 2;
                uint64_t stone = program_random(seed, (uint64_t)(v / 12) * 4096 + u / 12);
                uint32_t hill = (u * (2 + u / 97 % 3) + v * 3) / 16 % 96;
                uint32_t value =
                    60 + hill + (stone & 31) + (program_random(seed + 1, (uint64_t)f * PIXELS + y * WIDTH + x) & 3);
                for (uint32_t t = 0; t < THINGS; t++) {
                    uint64_t thing = program_random(seed + 2, t);
                    uint32_t left = (uint32_t)((thing & 511) + f * (thing >> 40 & 7)) % WIDTH,
                             top = (thing >> 10 & 255);
                    if (x - left < 40 && y - top < 30)
                        value = 40 + (uint32_t)(thing >> 20 & 127) + ((x - left) * (y - top) & 63);
                }
                film->source[(size_t)f * PIXELS + y * WIDTH + x] = (uint8_t)value;
            }
}

static uint32_t difference(const uint8_t *a, const uint8_t *b)
{
    uint32_t sum = 0;
    for (uint32_t y = 0; y < BLOCK; y++, a += WIDTH, b += WIDTH)
        for (uint32_t x = 0; x < BLOCK; x++)
            sum += (uint32_t)abs(a[x] - b[x]);
    return sum;
}

static bool allowed(int32_t x, int32_t y, struct vector vector)
{
    return abs(vector.x) <= RANGE && abs(vector.y) <= RANGE && x + vector.x >= 0 && x + vector.x + BLOCK <= WIDTH &&
           y + vector.y >= 0 && y + vector.y + BLOCK <= HEIGHT;
}

struct search {
    const uint8_t *block, *before; /* the block in the source; the frame before as decoded */
    int32_t x, y;
    struct vector best;
    uint32_t cost;
};

static void attempt(struct search *search, struct vector vector)
{
    if (!allowed(search->x, search->y, vector))
        return;
    const uint8_t *there = search->before + (search->y + vector.y) * WIDTH + search->x + vector.x;
    uint32_t cost = difference(search->block, there) + 4 * (uint32_t)(abs(vector.x) + abs(vector.y));
    if (cost < search->cost) {
        search->cost = cost;
        search->best = vector;
    }
}

/* From the best of no motion and the neighbours' vectors, by diamonds of half the width each time. */
static struct vector find_motion(const struct film *film, uint32_t frame, uint32_t row, uint32_t column)
{
    const struct vector *vectors = film->vectors + ((size_t)frame * ROWS + row) * COLUMNS + column;
    uint32_t x = column * BLOCK, y = row * BLOCK;
    struct search search = {.block = film->source + (size_t)frame * PIXELS + y * WIDTH + x,
                            .before = film->decoded + (size_t)(frame - 1) * PIXELS,
                            .x = (int32_t)x,
                            .y = (int32_t)y,
                            .cost = UINT32_MAX};
    attempt(&search, (struct vector){0, 0});
    if (column)
        attempt(&search, vectors[-1]);
    if (row)
        attempt(&search, vectors[-COLUMNS]);
    for (int32_t width = 8; width; width /= 2)
        for (uint32_t turns = 0; turns < 8; turns++) {
            struct vector from = search.best;
            for (int32_t k = 0; k < 4; k++)
                attempt(&search, (struct vector){(int8_t)(from.x + (k < 2 ? (k ? width : -width) : 0)),
                                                 (int8_t)(from.y + (k < 2 ? 0 : (k > 2 ? width : -width)))});
            if (search.best.x == from.x && search.best.y == from.y)
                break;
        }
    return search.best;
}

/* Sums and differences along rows and columns (Walsh, Hadamard); twice is 64 times what it was. */
static void transform(int32_t values[PART][PART])
{
    for (uint32_t half = 1; half < PART; half *= 2)
        for (uint32_t i = 0; i < PART; i++)
            for (uint32_t k = 0; k < PART / 2; k++) {
                uint32_t at = k / half * 2 * half + k % half;
                int32_t a = values[i][at], b = values[i][at + half];
                values[i][at] = a + b;
                values[i][at + half] = a - b;
            }
    for (uint32_t half = 1; half < PART; half *= 2)
        for (uint32_t k = 0; k < PART / 2; k++)
            for (uint32_t i = 0; i < PART; i++) {
                uint32_t at = k / half * 2 * half + k % half;
                int32_t a = values[at][i], b = values[at + half][i];
                values[at][i] = a + b;
                values[at + half][i] = a - b;
            }
}

/* What is predicted at a pixel: the frame before, or grey in the first frame. */
static const uint8_t *prediction(const uint8_t *decoded, uint32_t frame, uint32_t x, uint32_t y, struct vector vector)
{
    return frame ? decoded + (size_t)(frame - 1) * PIXELS + ((int32_t)y + vector.y) * WIDTH + (int32_t)x + vector.x
                 : NULL;
}

/* Levels and prediction make pixels. */
static void reconstruct(const int16_t *levels, const uint8_t *predicted, uint8_t *out)
{
    int32_t values[PART][PART];
    for (uint32_t y = 0; y < PART; y++)
        for (uint32_t x = 0; x < PART; x++)
            values[y][x] = levels[y * WIDTH + x] * STEP;
    transform(values);
    for (uint32_t y = 0; y < PART; y++)
        for (uint32_t x = 0; x < PART; x++) {
            int32_t value = (predicted ? predicted[y * WIDTH + x] : 128) + ((values[y][x] + 32) >> 6);
            out[y * WIDTH + x] = (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
        }
}

/* Bits of a number in Golomb's code. */
static uint32_t golomb(int32_t number)
{
    uint32_t mapped = (uint32_t)(number > 0 ? 2 * number : -2 * number + 1);
    return 2 * (31 - (uint32_t)__builtin_clz(mapped)) + 1;
}

static uint32_t encode_part(struct film *film, uint32_t frame, uint32_t x, uint32_t y, struct vector vector)
{
    size_t at = (size_t)frame * PIXELS + y * WIDTH + x;
    const uint8_t *source = film->source + at, *predicted = prediction(film->decoded, frame, x, y, vector);
    int32_t values[PART][PART];
    uint32_t bits = 0;
    for (uint32_t j = 0; j < PART; j++)
        for (uint32_t i = 0; i < PART; i++)
            values[j][i] = source[j * WIDTH + i] - (predicted ? predicted[j * WIDTH + i] : 128);
    transform(values);
    for (uint32_t j = 0; j < PART; j++)
        for (uint32_t i = 0; i < PART; i++) {
            int32_t rounding = values[j][i] < 0 ? -STEP / 3 : STEP / 3, level = (values[j][i] + rounding) / STEP;
            film->levels[at + j * WIDTH + i] = (int16_t)level;
            bits += level ? golomb(level) : 0;
        }
    reconstruct(film->levels + at, predicted, film->decoded + at);
    return bits;
}

static void encode_row(void *user, uint32_t task)
{
    struct film *film = user;
    uint32_t frame = task / ROWS, row = task % ROWS, bits = 0;
    for (uint32_t column = 0; column < COLUMNS; column++) {
        struct vector vector = frame ? find_motion(film, frame, row, column) : (struct vector){0, 0};
        film->vectors[(size_t)task * COLUMNS + column] = vector;
        bits += golomb(vector.x) + golomb(vector.y);
        for (uint32_t part = 0; part < 4; part++)
            bits += encode_part(film, frame, column * BLOCK + part % 2 * PART, row * BLOCK + part / 2 * PART, vector);
    }
    film->bits[task] = bits;
}

static void run(void *state, struct tasks *tasks)
{
    struct film *film = state;
    tasks_begin(tasks, "encode", encode_row, film, film->frames * ROWS);
    for (uint32_t task = 0; task < film->frames * ROWS; task++) {
        uint32_t row = task % ROWS, lowest = row + REACH < ROWS ? row + REACH : ROWS - 1;
        if (row)
            tasks_need(tasks, task, task - 1);
        if (task >= ROWS)
            tasks_need(tasks, task, task - ROWS - row + lowest);
    }
    tasks_run(tasks);
}

/* A decoder makes the same frames of vectors and levels, and they are near to the source. */
static const char *check(const void *state)
{
    const struct film *film = state;
    uint8_t *decoded = program_allocate((size_t)film->frames * PIXELS, 1);
    double squares = 0;
    const char *problem = NULL;
    for (uint32_t frame = 0; frame < film->frames; frame++)
        for (uint32_t y = 0; y < HEIGHT; y += PART)
            for (uint32_t x = 0; x < WIDTH; x += PART) {
                struct vector vector = film->vectors[((size_t)frame * ROWS + y / BLOCK) * COLUMNS + x / BLOCK];
                size_t at = (size_t)frame * PIXELS + y * WIDTH + x;
                reconstruct(film->levels + at, prediction(decoded, frame, x, y, vector), decoded + at);
            }
    for (size_t i = 0; i < (size_t)film->frames * PIXELS; i++) {
        int32_t off = film->source[i] - film->decoded[i];
        problem = decoded[i] != film->decoded[i] ? "a decoder makes another frame" : problem;
        squares += off * off;
    }
    free(decoded);
    double noise = 10 * log10(255.0 * 255.0 * film->frames * PIXELS / squares);
    return problem ? problem : noise > 30 ? NULL : "the film is far from the source";
}

static uint64_t fingerprint(const void *state)
{
    const struct film *film = state;
    return program_fingerprint(program_fingerprint(0, film->decoded, (size_t)film->frames * PIXELS), film->bits,
                               (size_t)film->frames * ROWS * sizeof *film->bits);
}

static void destroy(void *state)
{
    struct film *film = state;
    free(film->source);
    free(film->decoded);
    free(film->levels);
    free(film->vectors);
    free(film->bits);
    free(film);
}

int main(int count, char **words)
{
    const struct program program = {.name = "x264",
                                    .what = "a film, encoded by motion and transform",
                                    .size_of = "frames",
                                    .batch = true,
                                    .size = 24,
                                    .least = 1,
                                    .most = 1000,
                                    .create = create,
                                    .prepare = prepare,
                                    .run = run,
                                    .check = check,
                                    .fingerprint = fingerprint,
                                    .destroy = destroy};
    return program_main(&program, count, words);
}
