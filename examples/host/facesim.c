/* SPDX-License-Identifier: MIT */
/*
 * facesim: moves a soft body, an elastic net in three dimensions, by implicit steps in time; each step solves a large sparse system by
 * conjugate gradients (Baraff, Witkin: Large Steps in Cloth Simulation, SIGGRAPH 1998). Stands for facesim of PARSEC.
 *
 * Data: 60 MB of matrix (blocks of three by three, eighteen for each of 85 000 nodes), read from one end to the other in each of the
 * iterations: a stream that no cache keeps, with a few additions for each number. An iteration is three phases with two serial sums between
 * them; 1331 nodes are a task.
 */
#include "program.h"

#include <math.h>
#include <stdlib.h>

enum { SIDE = 44, NODES = SIDE * SIDE * SIDE, NEIGHBOURS = 18, TASKS = 64, ITERATIONS = 12 };
static const float stiffness = 400, time_step = 0.02f, mass = 1, gravity = 9.81f;

struct vector {
    float x[3];
};

struct block {
    float a[3][3];
};

struct body {
    uint32_t *neighbours;   /* [NODES][NEIGHBOURS]; itself: none */
    struct block *springs;  /* [NODES][NEIGHBOURS]: how the neighbour's velocity pulls, times the square of the step */
    struct block *diagonal; /* [NODES] */
    float *lengths;         /* [NODES][NEIGHBOURS]: at rest */
    struct vector *place, *velocity;
    struct vector *right, *change, *residual, *direction, *product; /* of the system */
    double *sums;                                                   /* [TASKS] */
    float alpha, beta;
    uint32_t steps;
    double residual_norm, right_norm;
};

static const int8_t offsets[NEIGHBOURS][3] = {
    {1, 0, 0},   {-1, 0, 0}, {0, 1, 0},  {0, -1, 0}, {0, 0, 1},   {0, 0, -1}, {1, 1, 0},  {1, -1, 0}, {-1, 1, 0},
    {-1, -1, 0}, {1, 0, 1},  {1, 0, -1}, {-1, 0, 1}, {-1, 0, -1}, {0, 1, 1},  {0, 1, -1}, {0, -1, 1}, {0, -1, -1}};

static void *create(uint32_t size, uint64_t seed)
{
    (void)size;
    (void)seed;
    struct body *body = program_allocate(1, sizeof *body);
    body->neighbours = program_allocate((size_t)NODES * NEIGHBOURS, sizeof *body->neighbours);
    body->springs = program_allocate((size_t)NODES * NEIGHBOURS, sizeof *body->springs);
    body->lengths = program_allocate((size_t)NODES * NEIGHBOURS, sizeof(float));
    body->diagonal = program_allocate(NODES, sizeof *body->diagonal);
    struct vector **vectors[] = {&body->place,    &body->velocity,  &body->right,  &body->change,
                                 &body->residual, &body->direction, &body->product};
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++)
        *vectors[i] = program_allocate(NODES, sizeof **vectors[i]);
    body->sums = program_allocate(TASKS, sizeof(double));
    for (int32_t n = 0; n < NODES; n++)
        for (uint32_t k = 0; k < NEIGHBOURS; k++) {
            int32_t x = n % SIDE + offsets[k][0], y = n / SIDE % SIDE + offsets[k][1],
                    z = n / SIDE / SIDE + offsets[k][2];
            bool inside = x >= 0 && x < SIDE && y >= 0 && y < SIDE && z >= 0 && z < SIDE;
            body->neighbours[n * NEIGHBOURS + (int32_t)k] = (uint32_t)(inside ? (z * SIDE + y) * SIDE + x : n);
            body->lengths[n * NEIGHBOURS + (int32_t)k] = k < 6 ? 1 : 1.41421356f;
        }
    return body;
}

static void prepare(void *state, uint32_t size, uint64_t seed)
{
    struct body *body = state;
    body->steps = size;
    for (uint32_t n = 0; n < NODES; n++) {
        const uint32_t at[3] = {n % SIDE, n / SIDE % SIDE, n / SIDE / SIDE};
        for (uint32_t c = 0; c < 3; c++) {
            body->place[n].x[c] = (float)at[c] + 0.05f * program_random_normal(seed, 3ull * n + c);
            body->velocity[n].x[c] = 0;
        }
    }
}

/*
 * Springs as they stand: forces, and the system (M - h² K) dv = h (f + h K v). A spring's derivative is taken along itself alone, which keeps
 * the matrix positive definite.
 */
static void assemble(void *user, uint32_t task)
{
    struct body *body = user;
    for (uint32_t n = program_part(NODES, TASKS, task); n < program_part(NODES, TASKS, task + 1); n++) {
        struct vector force = {{0, -gravity * mass, 0}};
        struct block own = {{{mass, 0, 0}, {0, mass, 0}, {0, 0, mass}}};
        for (uint32_t k = 0; k < NEIGHBOURS; k++) {
            size_t edge = (size_t)n * NEIGHBOURS + k;
            uint32_t other = body->neighbours[edge];
            float apart[3], length = 0, drift = 0;
            for (uint32_t c = 0; c < 3; c++) {
                apart[c] = body->place[other].x[c] - body->place[n].x[c];
                length += apart[c] * apart[c];
            }
            float inverse = other == n ? 0 : 1 / sqrtf(length);
            length = sqrtf(length);
            for (uint32_t c = 0; c < 3; c++) {
                apart[c] *= inverse;
                drift += apart[c] * (body->velocity[other].x[c] - body->velocity[n].x[c]);
            }
            float pull = other == n ? 0 : stiffness * (length - body->lengths[edge] + time_step * drift);
            for (uint32_t i = 0; i < 3; i++) {
                force.x[i] += pull * apart[i];
                for (uint32_t j = 0; j < 3; j++) {
                    float entry = time_step * time_step * stiffness * apart[i] * apart[j];
                    body->springs[edge].a[i][j] = -entry;
                    own.a[i][j] += entry;
                }
            }
        }
        /* The bottom is held. */
        bool held = n / SIDE % SIDE == 0;
        for (uint32_t c = 0; c < 3; c++) {
            body->right[n].x[c] = held ? 0 : time_step * force.x[c];
            own.a[c][c] += held ? 1e6f : 0;
            body->change[n].x[c] = 0;
            body->residual[n].x[c] = body->direction[n].x[c] = body->right[n].x[c];
        }
        body->diagonal[n] = own;
    }
}

static double dot(const struct vector *a, const struct vector *b, uint32_t begin, uint32_t end)
{
    double sum = 0;
    for (uint32_t n = begin; n < end; n++)
        for (uint32_t c = 0; c < 3; c++)
            sum += (double)a[n].x[c] * (double)b[n].x[c];
    return sum;
}

static void multiply(void *user, uint32_t task)
{
    struct body *body = user;
    uint32_t begin = program_part(NODES, TASKS, task), end = program_part(NODES, TASKS, task + 1);
    for (uint32_t n = begin; n < end; n++) {
        struct vector sum = {{0}};
        for (uint32_t i = 0; i < 3; i++)
            for (uint32_t j = 0; j < 3; j++)
                sum.x[i] += body->diagonal[n].a[i][j] * body->direction[n].x[j];
        for (size_t edge = (size_t)n * NEIGHBOURS; edge < (n + 1ull) * NEIGHBOURS; edge++) {
            const struct vector *other = &body->direction[body->neighbours[edge]];
            for (uint32_t i = 0; i < 3; i++)
                for (uint32_t j = 0; j < 3; j++)
                    sum.x[i] += body->springs[edge].a[i][j] * other->x[j];
        }
        body->product[n] = sum;
    }
    body->sums[task] = dot(body->direction, body->product, begin, end);
}

static void step_along(void *user, uint32_t task)
{
    struct body *body = user;
    uint32_t begin = program_part(NODES, TASKS, task), end = program_part(NODES, TASKS, task + 1);
    for (uint32_t n = begin; n < end; n++)
        for (uint32_t c = 0; c < 3; c++) {
            body->change[n].x[c] += body->alpha * body->direction[n].x[c];
            body->residual[n].x[c] -= body->alpha * body->product[n].x[c];
        }
    body->sums[task] = dot(body->residual, body->residual, begin, end);
}

static void turn(void *user, uint32_t task)
{
    struct body *body = user;
    for (uint32_t n = program_part(NODES, TASKS, task); n < program_part(NODES, TASKS, task + 1); n++)
        for (uint32_t c = 0; c < 3; c++)
            body->direction[n].x[c] = body->residual[n].x[c] + body->beta * body->direction[n].x[c];
}

static void advance(void *user, uint32_t task)
{
    struct body *body = user;
    for (uint32_t n = program_part(NODES, TASKS, task); n < program_part(NODES, TASKS, task + 1); n++)
        for (uint32_t c = 0; c < 3; c++) {
            body->velocity[n].x[c] += body->change[n].x[c];
            body->place[n].x[c] += time_step * body->velocity[n].x[c];
        }
}

static double total(const struct body *body)
{
    double sum = 0;
    for (uint32_t t = 0; t < TASKS; t++)
        sum += body->sums[t];
    return sum;
}

static void run(void *state, struct tasks *tasks)
{
    struct body *body = state;
    for (uint32_t step = 0; step < body->steps; step++) {
        tasks_span(tasks, (double)step / body->steps, (step + 1.0) / body->steps, 2 + 3 * ITERATIONS);
        tasks_phase(tasks, "assemble", assemble, body, TASKS);
        double squared = body->right_norm = dot(body->residual, body->residual, 0, NODES);
        for (uint32_t i = 0; i < ITERATIONS && squared > 0; i++) {
            tasks_phase(tasks, "multiply", multiply, body, TASKS);
            body->alpha = (float)(squared / total(body));
            tasks_phase(tasks, "step", step_along, body, TASKS);
            double next = total(body);
            body->beta = (float)(next / squared);
            squared = next;
            tasks_phase(tasks, "turn", turn, body, TASKS);
        }
        body->residual_norm = squared;
        tasks_phase(tasks, "advance", advance, body, TASKS);
    }
}

/* The last system: what is left of it by another way (spring by spring, each once) is what the iterations believe, and little. */
static const char *check(const void *state)
{
    const struct body *body = state;
    double *left = program_allocate((size_t)NODES * 3, sizeof *left), norm = 0, apart = 0;
    for (uint32_t n = 0; n < NODES; n++)
        for (uint32_t i = 0; i < 3; i++) {
            left[3 * n + i] += (double)body->right[n].x[i];
            for (uint32_t j = 0; j < 3; j++)
                left[3 * n + i] -= (double)body->diagonal[n].a[i][j] * (double)body->change[n].x[j];
            for (uint32_t k = 0; k < NEIGHBOURS; k++) {
                uint32_t other = body->neighbours[(size_t)n * NEIGHBOURS + k];
                for (uint32_t j = 0; other > n && j < 3; j++) { /* the matrix is symmetric */
                    double entry = (double)body->springs[(size_t)n * NEIGHBOURS + k].a[i][j];
                    left[3 * n + i] -= entry * (double)body->change[other].x[j];
                    left[3 * other + j] -= entry * (double)body->change[n].x[i];
                }
            }
        }
    for (uint32_t i = 0; i < 3 * NODES; i++) {
        double told = (double)body->residual[i / 3].x[i % 3];
        norm += left[i] * left[i];
        apart += (left[i] - told) * (left[i] - told);
    }
    free(left);
    if (!(apart <= 1e-6 * body->right_norm))
        return "the residual is not that of the system";
    return norm <= 0.01 * body->right_norm ? NULL : "the iterations have not come near a solution";
}

static uint64_t fingerprint(const void *state)
{
    const struct body *body = state;
    return program_fingerprint(0, body->place, NODES * sizeof *body->place);
}

static void destroy(void *state)
{
    struct body *body = state;
    void *const all[] = {body->neighbours, body->springs,   body->lengths, body->diagonal,
                         body->place,      body->velocity,  body->right,   body->change,
                         body->residual,   body->direction, body->product, body->sums};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        free(all[i]);
    free(body);
}

int main(int count, char **words)
{
    const struct program program = {.name = "facesim",
                                    .what = "motion of a soft body by implicit steps",
                                    .size_of = "steps",
                                    .batch = true,
                                    .size = 2,
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
