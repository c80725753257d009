/* SPDX-License-Identifier: MIT */
/*
 * The decoder, plane by plane and block by block as the codec's specification puts it, and an encoder around it that makes the
 * input: a scene in motion, predicted from what the decoder will have by then, its differences transformed and quantised.
 */
#include "picture.h"

#include <stdlib.h>

#define DVC_LEVELS 4
#define DVC_PLANES 3
#define DVC_BLOCK_FIELDS 8

/* Fields of a block */
enum { DVC_MODE, DVC_SHADE, DVC_VECTOR = 4 }; /* three shades; x and y for each of two references */

struct dvc_plane {
    int64_t width, height;
    int64_t pitch, rows;  /* transformed: multiples of 16 */
    int64_t coefficients; /* before this plane, in a frame */
    int64_t pixels;       /* before this plane, in a frame */
    int64_t separation;   /* of blocks */
    int64_t offset;       /* half of what a block is longer */
};

struct dvc_codec {
    struct dvc_plane planes[DVC_PLANES];
    int64_t frames;
    int64_t frame_coefficients, frame_pixels;
    int64_t blocks_x, blocks_y;
    uint8_t *upsampled[2]; /* reference frames with four times the pixels: the last one and the one before */
    uint8_t *spare;
    uint8_t *prediction; /* a frame */
    int32_t *grid;       /* the transform of one plane, or sums of one */
    int32_t *scratch;    /* same size */
};

static void codec_destroy(struct dvc_codec *codec)
{
    free(codec->upsampled[0]);
    free(codec->upsampled[1]);
    free(codec->spare);
    free(codec->prediction);
    free(codec->grid);
    free(codec->scratch);
}

/* Needs parameters width, height and frames. False when out of memory or if they are impossible. */
static bool codec_create(struct dvc_codec *codec, const struct corun_problem *problem)
{
    int64_t width = corun_problem_value(problem, "width");
    int64_t height = corun_problem_value(problem, "height");
    *codec = (struct dvc_codec){.frames = corun_problem_value(problem, "frames")};
    if (width < 32 || height < 32 || width % 8 != 0 || height % 8 != 0 || codec->frames < 1)
        return false;
    codec->blocks_x = width / 8;
    codec->blocks_y = height / 8;
    for (int i = 0; i < DVC_PLANES; i++) {
        struct dvc_plane *plane = &codec->planes[i];
        int64_t scale = i == 0 ? 1 : 2;
        plane->width = width / scale;
        plane->height = height / scale;
        plane->pitch = (plane->width + 15) / 16 * 16;
        plane->rows = (plane->height + 15) / 16 * 16;
        plane->coefficients = codec->frame_coefficients;
        plane->pixels = codec->frame_pixels;
        plane->separation = 8 / scale;
        plane->offset = 2 / scale;
        codec->frame_coefficients += plane->pitch * plane->rows;
        codec->frame_pixels += plane->width * plane->height;
    }
    size_t pixels = (size_t)codec->frame_pixels;
    size_t largest = (size_t)(codec->planes[0].pitch * codec->planes[0].rows);
    codec->upsampled[0] = malloc(4 * pixels);
    codec->upsampled[1] = malloc(4 * pixels);
    codec->spare = malloc(4 * pixels);
    codec->prediction = malloc(pixels);
    codec->grid = calloc(largest, sizeof *codec->grid);
    codec->scratch = calloc(largest, sizeof *codec->scratch);
    if (codec->upsampled[0] && codec->upsampled[1] && codec->spare && codec->prediction && codec->grid &&
        codec->scratch)
        return true;
    codec_destroy(codec);
    return false;
}

/* The nearest place of the same parity within 0 to count - 1, count even. */
static int32_t at(const int32_t *line, int64_t count, int64_t step, int64_t i)
{
    int64_t parity = i & 1;
    int64_t inside = i < 0 ? parity : i >= count ? count - 2 + parity : i;
    return line[inside * step];
}

static int32_t even_from_odds(const int32_t *line, int64_t count, int64_t step, int64_t i)
{
    return (at(line, count, step, i - 1) + at(line, count, step, i + 1) + 2) >> 2;
}

static int32_t odd_from_evens(const int32_t *line, int64_t count, int64_t step, int64_t i, bool intra)
{
    int32_t near = at(line, count, step, i - 1) + at(line, count, step, i + 1);
    if (!intra)
        return (near + 1) >> 1;
    return (9 * near - at(line, count, step, i - 3) - at(line, count, step, i + 3) + 8) >> 4;
}

static void lift(int32_t *line, int64_t count, int64_t step, bool intra)
{
    for (int64_t i = 0; i < count; i += 2)
        line[i * step] -= even_from_odds(line, count, step, i);
    for (int64_t i = 1; i < count; i += 2)
        line[i * step] += odd_from_evens(line, count, step, i, intra);
}

/* The coefficients of a plane become its differences in codec->grid. */
static void synthesize(struct dvc_codec *codec, const struct dvc_plane *plane, const int16_t *coefficients, bool intra)
{
    int64_t pitch = plane->pitch;
    for (int64_t i = 0; i < pitch * plane->rows; i++)
        codec->grid[i] = coefficients[i];
    for (int level = DVC_LEVELS; level > 0; level--) {
        int64_t width = pitch >> (level - 1);
        int64_t height = plane->rows >> (level - 1);
        for (int64_t y = 0; y < height; y++) {
            int64_t to_y = y < height / 2 ? 2 * y : 2 * (y - height / 2) + 1;
            for (int64_t x = 0; x < width; x++) {
                int64_t to_x = x < width / 2 ? 2 * x : 2 * (x - width / 2) + 1;
                codec->scratch[to_y * width + to_x] = codec->grid[y * pitch + x];
            }
        }
        for (int64_t x = 0; x < width; x++)
            lift(codec->scratch + x, height, width, intra);
        for (int64_t y = 0; y < height; y++)
            lift(codec->scratch + y * width, width, 1, intra);
        for (int64_t y = 0; y < height; y++) {
            for (int64_t x = 0; x < width; x++)
                codec->grid[y * pitch + x] = (codec->scratch[y * width + x] + 1) >> 1;
        }
    }
}

static int64_t limit(int64_t value, int64_t lowest, int64_t highest)
{
    return value < lowest ? lowest : value > highest ? highest : value;
}

/* The half-pixel position (x, y) and what is between it and its neighbours, in quarters. */
static int32_t sample(const struct dvc_plane *plane, const uint8_t *upsampled, int64_t quarter_x, int64_t quarter_y)
{
    int32_t sum = 2;
    for (int64_t i = 0; i < 4; i++) {
        int64_t right = i & 1;
        int64_t down = i >> 1;
        int64_t x = limit((quarter_x >> 1) + right, 0, 2 * plane->width - 1);
        int64_t y = limit((quarter_y >> 1) + down, 0, 2 * plane->height - 1);
        int64_t weight_x = right ? quarter_x & 1 : 2 - (quarter_x & 1);
        int64_t weight_y = down ? quarter_y & 1 : 2 - (quarter_y & 1);
        sum += (int32_t)(weight_x * weight_y) * upsampled[y * 2 * plane->width + x];
    }
    return sum >> 2;
}

/* The weight of place i in a block: rising and falling where blocks overlap, unless it is the border of the picture. */
static int32_t weight_at(const struct dvc_plane *plane, int64_t i, bool first, bool last)
{
    int64_t overlap = 2 * plane->offset;
    int64_t from_end = plane->separation + overlap - 1 - i;
    int64_t place = i < overlap && !first ? i : from_end < overlap && !last ? from_end : overlap;
    if (place == overlap)
        return 8;
    if (plane->offset == 1)
        return place == 0 ? 3 : 5;
    return (int32_t)(1 + (6 * place + plane->offset - 1) / (2 * plane->offset - 1));
}

static int32_t block_sample(const struct dvc_codec *codec, int index, const int16_t *block, int64_t x, int64_t y)
{
    const struct dvc_plane *plane = &codec->planes[index];
    if (block[DVC_MODE] == 0)
        return block[DVC_SHADE + index];
    int32_t values[2] = {0, 0};
    int count = 0;
    for (int reference = 0; reference < 2; reference++) {
        if (!(block[DVC_MODE] >> reference & 1))
            continue;
        int shift = index == 0 ? 0 : 1;
        int vector_x = block[DVC_VECTOR + 2 * reference] >> shift;
        int vector_y = block[DVC_VECTOR + 2 * reference + 1] >> shift;
        values[count++] =
            sample(plane, codec->upsampled[reference] + 4 * plane->pixels, 4 * x + vector_x, 4 * y + vector_y);
    }
    return count == 1 ? values[0] : (values[0] + values[1] + 1) >> 1;
}

/* Adds a block where it lies, as much of it as is inside of the picture. */
static void add_block(const struct dvc_codec *codec, int index, const int16_t *block, int64_t block_x, int64_t block_y)
{
    const struct dvc_plane *plane = &codec->planes[index];
    int64_t length = plane->separation + 2 * plane->offset;
    int64_t left = block_x * plane->separation - plane->offset;
    int64_t top = block_y * plane->separation - plane->offset;
    for (int64_t i = 0; i < length; i++) {
        int64_t y = top + i;
        int32_t weight_y = weight_at(plane, i, block_y == 0, block_y == codec->blocks_y - 1);
        for (int64_t k = 0; k < length && y >= 0 && y < plane->height; k++) {
            int64_t x = left + k;
            if (x < 0 || x >= plane->width)
                continue;
            int32_t weight_x = weight_at(plane, k, block_x == 0, block_x == codec->blocks_x - 1);
            codec->grid[y * plane->width + x] += weight_x * weight_y * block_sample(codec, index, block, x, y);
        }
    }
}

/* What the next frame gets from these blocks, to codec->prediction. */
static void predict_frame(struct dvc_codec *codec, const int16_t *blocks)
{
    for (int index = 0; index < DVC_PLANES; index++) {
        const struct dvc_plane *plane = &codec->planes[index];
        int64_t pixels = plane->width * plane->height;
        memset(codec->grid, 0, (size_t)pixels * sizeof *codec->grid);
        for (int64_t y = 0; y < codec->blocks_y; y++) {
            for (int64_t x = 0; x < codec->blocks_x; x++)
                add_block(codec, index, blocks + DVC_BLOCK_FIELDS * (y * codec->blocks_x + x), x, y);
        }
        for (int64_t i = 0; i < pixels; i++)
            codec->prediction[plane->pixels + i] = (uint8_t)((codec->grid[i] + 32) >> 6);
    }
}

/* Between pixel i and the next of a line. */
static uint8_t half_pixel(const uint8_t *line, int64_t count, int64_t step, int64_t i)
{
    static const int32_t taps[8] = {-1, 3, -7, 21, 21, -7, 3, -1};
    int32_t sum = 16;
    for (int64_t tap = 0; tap < 8; tap++)
        sum += taps[tap] * line[limit(i + tap - 3, 0, count - 1) * step];
    return (uint8_t)limit(sum >> 5, 0, 255);
}

static void upsample(const struct dvc_plane *plane, const uint8_t *pixels, uint8_t *upsampled)
{
    int64_t width = plane->width;
    int64_t pitch = 2 * width;
    for (int64_t x = 0; x < width; x++) {
        for (int64_t y = 0; y < plane->height; y++) {
            upsampled[2 * y * pitch + 2 * x] = pixels[y * width + x];
            upsampled[(2 * y + 1) * pitch + 2 * x] = half_pixel(pixels + x, plane->height, width, y);
        }
    }
    for (int64_t y = 0; y < 2 * plane->height; y++) {
        for (int64_t x = 0; x < width; x++)
            upsampled[y * pitch + 2 * x + 1] = half_pixel(upsampled + y * pitch, width, 2, x);
    }
}

/* One frame, without prediction if there are no blocks; afterwards it is the last reference frame. */
static void decode_frame(struct dvc_codec *codec, const int16_t *coefficients, const int16_t *blocks, uint8_t *frame)
{
    if (blocks)
        predict_frame(codec, blocks);
    uint8_t *newest = codec->spare;
    for (int i = 0; i < DVC_PLANES; i++) {
        const struct dvc_plane *plane = &codec->planes[i];
        synthesize(codec, plane, coefficients + plane->coefficients, !blocks);
        for (int64_t y = 0; y < plane->height; y++) {
            for (int64_t x = 0; x < plane->width; x++) {
                int64_t place = plane->pixels + y * plane->width + x;
                int64_t expected = blocks ? codec->prediction[place] : 128;
                frame[place] = (uint8_t)limit(codec->grid[y * plane->pitch + x] + expected, 0, 255);
            }
        }
        upsample(plane, frame + plane->pixels, newest + 4 * plane->pixels);
    }
    codec->spare = codec->upsampled[1];
    codec->upsampled[1] = codec->upsampled[0];
    codec->upsampled[0] = newest;
}

/* Blocks follow what they show: the pan or the shape at their middle. */
static void make_blocks(const struct dvc_codec *codec, const struct picture_scene *scene, int frame,
                        const uint8_t *original, uint64_t *state, int16_t *blocks)
{
    for (int64_t i = 0; i < codec->blocks_x * codec->blocks_y; i++) {
        int64_t x = i % codec->blocks_x * 8 + 4;
        int64_t y = i / codec->blocks_x * 8 + 4;
        const struct picture_shape *shape = picture_shape_at(scene, frame, x, y);
        int64_t back_x = shape ? -shape->speed_x : scene->pan_x; /* sixteenths of a pixel to the frame before */
        int64_t back_y = shape ? -shape->speed_y : scene->pan_y;
        uint64_t bits = corun_random(state);
        uint64_t kind = bits & 15;
        int16_t *block = blocks + DVC_BLOCK_FIELDS * i;
        block[DVC_MODE] = (int16_t)(kind == 0 ? 0 : frame == 1 || kind < 10 ? 1 : kind < 12 ? 2 : 3);
        for (int plane = 0; plane < DVC_PLANES; plane++) {
            const struct dvc_plane *shape_of = &codec->planes[plane];
            int64_t place = plane == 0 ? y * shape_of->width + x : y / 2 * shape_of->width + x / 2;
            block[DVC_SHADE + plane] = original[shape_of->pixels + place];
        }
        for (int64_t reference = 0; reference < 2; reference++) {
            int64_t miss_x = (int64_t)(bits >> (8 + 16 * reference) & 7) / 3 - 1; /* searches miss by a little */
            int64_t miss_y = (int64_t)(bits >> (16 + 16 * reference) & 7) / 3 - 1;
            block[DVC_VECTOR + 2 * reference] = (int16_t)(back_x * (reference + 1) / 4 + miss_x);
            block[DVC_VECTOR + 2 * reference + 1] = (int16_t)(back_y * (reference + 1) / 4 + miss_y);
        }
    }
}

static void analyze_line(int32_t *line, int64_t count, int64_t step, bool intra)
{
    for (int64_t i = 1; i < count; i += 2)
        line[i * step] -= odd_from_evens(line, count, step, i, intra);
    for (int64_t i = 0; i < count; i += 2)
        line[i * step] += even_from_odds(line, count, step, i);
}

/* The differences of a plane in codec->grid become its coefficients, dequantised as the decoder gets them. */
static void analyze(struct dvc_codec *codec, const struct dvc_plane *plane, bool intra, int16_t *coefficients)
{
    int64_t pitch = plane->pitch;
    for (int level = 1; level <= DVC_LEVELS; level++) {
        int64_t width = pitch >> (level - 1);
        int64_t height = plane->rows >> (level - 1);
        for (int64_t y = 0; y < height; y++) {
            for (int64_t x = 0; x < width; x++)
                codec->scratch[y * width + x] = codec->grid[y * pitch + x] * 2;
            analyze_line(codec->scratch + y * width, width, 1, intra);
        }
        for (int64_t x = 0; x < width; x++)
            analyze_line(codec->scratch + x, height, width, intra);
        for (int64_t y = 0; y < height; y++) {
            int64_t to_y = y / 2 + (y & 1 ? height / 2 : 0);
            for (int64_t x = 0; x < width; x++)
                codec->grid[to_y * pitch + x / 2 + (x & 1 ? width / 2 : 0)] = codec->scratch[y * width + x];
        }
    }
    int32_t step = intra ? 12 : 20;
    for (int64_t i = 0; i < pitch * plane->rows; i++) {
        int32_t value = codec->grid[i];
        int32_t level = value / step;
        coefficients[i] = (int16_t)(level * step + (level > 0 ? step / 2 : level < 0 ? -step / 2 : 0));
    }
}

/* `original` and codec->prediction (128 without) to coefficients; beyond the picture its edge repeats. */
static void encode_frame(struct dvc_codec *codec, const uint8_t *original, bool intra, int16_t *coefficients)
{
    for (int i = 0; i < DVC_PLANES; i++) {
        const struct dvc_plane *plane = &codec->planes[i];
        for (int64_t y = 0; y < plane->rows; y++) {
            for (int64_t x = 0; x < plane->pitch; x++) {
                int64_t place =
                    plane->pixels + limit(y, 0, plane->height - 1) * plane->width + limit(x, 0, plane->width - 1);
                codec->grid[y * plane->pitch + x] = original[place] - (intra ? 128 : codec->prediction[place]);
            }
        }
        analyze(codec, plane, intra, coefficients + plane->coefficients);
    }
}

static void draw_frame(const struct dvc_codec *codec, const struct picture_scene *scene, int frame, int16_t *scratch,
                       uint8_t *original)
{
    for (int i = 0; i < DVC_PLANES; i++) {
        const struct dvc_plane *plane = &codec->planes[i];
        for (int64_t y = 0; y < plane->height; y++)
            picture_row(scene, frame, i, i == 0 ? 1 : 2, y, plane->width, 24, scratch,
                        original + plane->pixels + y * plane->width);
    }
}

static bool generate(const struct corun_problem *problem)
{
    struct dvc_codec codec;
    if (!codec_create(&codec, problem))
        return false;
    int64_t frame_blocks = DVC_BLOCK_FIELDS * codec.blocks_x * codec.blocks_y;
    int16_t *coefficients = corun_problem_data(problem, "coefficients", CORUN_ELEMENT_S16,
                                               (uint64_t)(codec.frames * codec.frame_coefficients));
    int16_t *blocks = corun_problem_data(problem, "blocks", CORUN_ELEMENT_S16, (uint64_t)(codec.frames * frame_blocks));
    uint8_t *original = malloc((size_t)codec.frame_pixels);
    uint8_t *decoded = malloc((size_t)codec.frame_pixels);
    int16_t *scratch = malloc((size_t)codec.planes[0].width * sizeof *scratch);
    bool enough = coefficients && blocks && original && decoded && scratch;
    struct picture_scene scene;
    picture_scene_create(&scene, problem->seed, codec.planes[0].width, codec.planes[0].height);
    uint64_t state = problem->seed ^ UINT64_C(0x6469726163000000);
    for (int frame = 0; frame < codec.frames && enough; frame++) {
        draw_frame(&codec, &scene, frame, scratch, original);
        const int16_t *used = NULL;
        if (frame > 0) {
            make_blocks(&codec, &scene, frame, original, &state, blocks);
            predict_frame(&codec, blocks);
            used = blocks;
        }
        encode_frame(&codec, original, !used, coefficients);
        decode_frame(&codec, coefficients, used, decoded);
        coefficients += codec.frame_coefficients;
        blocks += frame_blocks; /* those of frame 0 stay zero */
    }
    free(original);
    free(decoded);
    free(scratch);
    codec_destroy(&codec);
    return enough;
}

static bool compute(const struct corun_problem *problem)
{
    struct dvc_codec codec;
    if (!codec_create(&codec, problem))
        return false;
    int64_t frame_blocks = DVC_BLOCK_FIELDS * codec.blocks_x * codec.blocks_y;
    const int16_t *coefficients = corun_problem_data(problem, "coefficients", CORUN_ELEMENT_S16, 1);
    const int16_t *blocks = corun_problem_data(problem, "blocks", CORUN_ELEMENT_S16, 1);
    uint8_t *video =
        corun_problem_data(problem, "video", CORUN_ELEMENT_U8, (uint64_t)(codec.frames * codec.frame_pixels));
    for (int64_t frame = 0; frame < codec.frames && video; frame++)
        decode_frame(&codec, coefficients + frame * codec.frame_coefficients,
                     frame > 0 ? blocks + frame * frame_blocks : NULL, video + frame * codec.frame_pixels);
    codec_destroy(&codec);
    return video != NULL;
}

const struct corun_reference corun_reference_dvc = {
    .name = "dvc",
    .compute = compute,
    .generators = (const struct corun_generator[]){{"video", generate}, {0}},
};
