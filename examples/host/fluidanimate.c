/* SPDX-License-Identifier: MIT */
/*
 * fluidanimate: moves a fluid of particles by smoothed particle hydrodynamics (Müller, Charypar, Gross: Particle-Based Fluid Simulation for
 * Interactive Applications, SCA 2003). Stands for fluidanimate of PARSEC.
 *
 * Data: 90 000 particles, sorted into cells in each step, 5 MB, and 10 MB of counts for that; a particle reads those of 27 cells, most of which
 * were just read for its neighbour. A step is phases for sorting, densities, forces and motion; a slab of cells is a task, and slabs are as
 * full as the fluid is high there.
 */
#include "program.h"

#include <math.h>
#include <stdlib.h>

enum { CELLS = 48, CELL_COUNT = CELLS * CELLS * CELLS, PARTICLES = 90000, TASKS = CELLS, SORT_TASKS = 24 };
static const float reach = 1.0f / CELLS, time_step = 0.0005f, gas = 1.5f, viscosity = 0.4f, rest_density = 1000;

struct vector {
    float x, y, z;
};

struct particle {
    struct vector place, velocity;
};

struct fluid {
    struct particle *particles, *sorted; /* `sorted`: in order of cells, and of numbers within */
    uint32_t slab[CELLS + 1];            /* particles of all slabs before */
    uint32_t *cell;                      /* [PARTICLES] */
    uint32_t *first;                     /* [CELL_COUNT + 1] */
    uint32_t *count; /* [SORT_TASKS][CELL_COUNT]: then where a task's next particle of the cell goes */
    float *density;
    struct vector *force;
    float mass;
    uint32_t steps;
};

static void *create(uint32_t size, uint64_t seed)
{
    (void)size;
    (void)seed;
    struct fluid *fluid = program_allocate(1, sizeof *fluid);
    fluid->particles = program_allocate(PARTICLES, sizeof *fluid->particles);
    fluid->sorted = program_allocate(PARTICLES, sizeof *fluid->sorted);
    fluid->cell = program_allocate(PARTICLES, sizeof *fluid->cell);
    fluid->first = program_allocate(CELL_COUNT + 1, sizeof *fluid->first);
    fluid->count = program_allocate((size_t)SORT_TASKS * CELL_COUNT, sizeof *fluid->count);
    fluid->density = program_allocate(PARTICLES, sizeof *fluid->density);
    fluid->force = program_allocate(PARTICLES, sizeof *fluid->force);
    return fluid;
}

/* A block in a corner, which is about to fall. */
static void prepare(void *state, uint32_t size, uint64_t seed)
{
    struct fluid *fluid = state;
    fluid->steps = size;
    uint32_t side = 30;
    float spacing = reach / 2;
    fluid->mass = rest_density * spacing * spacing * spacing;
    for (uint32_t i = 0; i < PARTICLES; i++) {
        uint32_t layer = i / side / side;
        float shake[3];
        for (uint32_t c = 0; c < 3; c++)
            shake[c] = 0.2f * spacing * (program_random_float(seed, 3ull * i + c) - 0.5f);
        fluid->particles[i] = (struct particle){.place = {spacing * ((float)(i % side) + 1) + shake[0],
                                                          spacing * ((float)(i / side % side) + 1) + shake[1],
                                                          0.9f * spacing * ((float)layer + 1) + shake[2]}};
    }
}

static uint32_t cell_of(float place)
{
    int32_t cell = (int32_t)(place * CELLS);
    return (uint32_t)(cell < 0 ? 0 : cell >= CELLS ? CELLS - 1 : cell);
}

static void count_cells(void *user, uint32_t task)
{
    struct fluid *fluid = user;
    uint32_t *count = fluid->count + (size_t)task * CELL_COUNT;
    for (uint32_t c = 0; c < CELL_COUNT; c++)
        count[c] = 0;
    for (uint32_t i = program_part(PARTICLES, SORT_TASKS, task); i < program_part(PARTICLES, SORT_TASKS, task + 1);
         i++) {
        const struct vector *place = &fluid->particles[i].place;
        fluid->cell[i] = (cell_of(place->z) * CELLS + cell_of(place->y)) * CELLS + cell_of(place->x);
        count[fluid->cell[i]]++;
    }
}

/* Particles of a slab of cells. */
static void count_slab(void *user, uint32_t z)
{
    struct fluid *fluid = user;
    uint32_t sum = 0;
    for (uint32_t t = 0; t < SORT_TASKS; t++)
        for (uint32_t c = z * CELLS * CELLS; c < (z + 1) * CELLS * CELLS; c++)
            sum += fluid->count[(size_t)t * CELL_COUNT + c];
    fluid->slab[z + 1] = sum;
}

/* Where its cells begin, and in them the particles of each task. */
static void place_slab(void *user, uint32_t z)
{
    struct fluid *fluid = user;
    uint32_t sum = fluid->slab[z];
    for (uint32_t c = z * CELLS * CELLS; c < (z + 1) * CELLS * CELLS; c++) {
        fluid->first[c] = sum;
        for (uint32_t t = 0; t < SORT_TASKS; t++) {
            uint32_t count = fluid->count[(size_t)t * CELL_COUNT + c];
            fluid->count[(size_t)t * CELL_COUNT + c] = sum;
            sum += count;
        }
    }
}

static void sort(void *user, uint32_t task)
{
    struct fluid *fluid = user;
    uint32_t *count = fluid->count + (size_t)task * CELL_COUNT;
    for (uint32_t i = program_part(PARTICLES, SORT_TASKS, task); i < program_part(PARTICLES, SORT_TASKS, task + 1); i++)
        fluid->sorted[count[fluid->cell[i]]++] = fluid->particles[i];
}

/* Runs of particles that may be in reach of those of a cell: three cells in a row of x are one after the other. */
struct runs {
    uint32_t begin[9], end[9], count;
};

static struct runs neighbours(const struct fluid *fluid, uint32_t x, uint32_t y, uint32_t z)
{
    struct runs runs = {.count = 0};
    uint32_t left = x ? x - 1 : 0, right = x + 1 < CELLS ? x + 1 : x;
    for (uint32_t k = z ? z - 1 : 0; k <= z + 1 && k < CELLS; k++)
        for (uint32_t j = y ? y - 1 : 0; j <= y + 1 && j < CELLS; j++) {
            runs.begin[runs.count] = fluid->first[(k * CELLS + j) * CELLS + left];
            runs.end[runs.count++] = fluid->first[(k * CELLS + j) * CELLS + right + 1];
        }
    return runs;
}

static float density_of(const struct fluid *fluid, uint32_t i, uint32_t begin, uint32_t end)
{
    const struct vector *at = &fluid->sorted[i].place;
    float sum = 0;
    for (uint32_t j = begin; j < end; j++) {
        const struct vector *other = &fluid->sorted[j].place;
        float x = at->x - other->x, y = at->y - other->y, z = at->z - other->z;
        float left = reach * reach - (x * x + y * y + z * z);
        sum += left > 0 ? left * left * left : 0;
    }
    return sum;
}

static const float pi = 3.14159265f;

static float density_scale(const struct fluid *fluid)
{
    float squared = reach * reach, ninth = squared * squared * squared * squared * reach;
    return fluid->mass * 315 / (64 * pi * ninth);
}

static void find_densities(void *user, uint32_t z)
{
    struct fluid *fluid = user;
    float scale = density_scale(fluid);
    for (uint32_t c = 0; c < CELLS * CELLS; c++) {
        uint32_t cell = z * CELLS * CELLS + c;
        if (fluid->first[cell] == fluid->first[cell + 1])
            continue;
        struct runs runs = neighbours(fluid, c % CELLS, c / CELLS, z);
        for (uint32_t i = fluid->first[cell]; i < fluid->first[cell + 1]; i++) {
            float sum = 0;
            for (uint32_t r = 0; r < runs.count; r++)
                sum += density_of(fluid, i, runs.begin[r], runs.end[r]);
            fluid->density[i] = scale * sum;
        }
    }
}

/* Pressure pushes apart, viscosity slows down what moves apart. */
static void add_forces(const struct fluid *fluid, uint32_t i, uint32_t begin, uint32_t end, struct vector *force)
{
    const struct particle *at = &fluid->sorted[i];
    float sixth = reach * reach * reach * reach * reach * reach, scale = 45 * fluid->mass * fluid->mass / (pi * sixth);
    float pressure = gas * (fluid->density[i] - rest_density);
    for (uint32_t j = begin; j < end; j++) {
        const struct particle *other = &fluid->sorted[j];
        float x = at->place.x - other->place.x, y = at->place.y - other->place.y, z = at->place.z - other->place.z;
        float squared = x * x + y * y + z * z;
        if (squared >= reach * reach || squared <= 0)
            continue;
        float length = sqrtf(squared), left = reach - length, product = fluid->density[i] * fluid->density[j];
        float push =
            scale * (pressure + gas * (fluid->density[j] - rest_density)) / 2 * left * left / (length * product);
        float drag = scale * viscosity * left / product;
        force->x += push * x + drag * (other->velocity.x - at->velocity.x);
        force->y += push * y + drag * (other->velocity.y - at->velocity.y);
        force->z += push * z + drag * (other->velocity.z - at->velocity.z);
    }
}

static void find_forces(void *user, uint32_t z)
{
    struct fluid *fluid = user;
    for (uint32_t c = 0; c < CELLS * CELLS; c++) {
        uint32_t cell = z * CELLS * CELLS + c;
        if (fluid->first[cell] == fluid->first[cell + 1])
            continue;
        struct runs runs = neighbours(fluid, c % CELLS, c / CELLS, z);
        for (uint32_t i = fluid->first[cell]; i < fluid->first[cell + 1]; i++) {
            struct vector force = {0, 0, 0};
            for (uint32_t r = 0; r < runs.count; r++)
                add_forces(fluid, i, runs.begin[r], runs.end[r], &force);
            fluid->force[i] = force;
        }
    }
}

/* A wall turns back what has passed it. */
static void bounce(float *place, float *velocity)
{
    if (*place < 0 || *place > 1) {
        *place = *place < 0 ? 0 : 1;
        *velocity *= -0.5f;
    }
}

static void advance(void *user, uint32_t task)
{
    struct fluid *fluid = user;
    for (uint32_t i = program_part(PARTICLES, TASKS, task); i < program_part(PARTICLES, TASKS, task + 1); i++) {
        struct particle particle = fluid->sorted[i];
        particle.velocity.x += time_step * fluid->force[i].x / fluid->mass;
        particle.velocity.y += time_step * fluid->force[i].y / fluid->mass;
        particle.velocity.z += time_step * (fluid->force[i].z / fluid->mass - 9.81f);
        particle.place.x += time_step * particle.velocity.x;
        particle.place.y += time_step * particle.velocity.y;
        particle.place.z += time_step * particle.velocity.z;
        bounce(&particle.place.x, &particle.velocity.x);
        bounce(&particle.place.y, &particle.velocity.y);
        bounce(&particle.place.z, &particle.velocity.z);
        fluid->particles[i] = particle;
    }
}

static void run(void *state, struct tasks *tasks)
{
    struct fluid *fluid = state;
    tasks_span(tasks, 0, 1, 7 * fluid->steps);
    for (uint32_t step = 0; step < fluid->steps; step++) {
        tasks_phase(tasks, "count", count_cells, fluid, SORT_TASKS);
        tasks_phase(tasks, "slabs", count_slab, fluid, CELLS);
        for (uint32_t z = 0; z < CELLS; z++)
            fluid->slab[z + 1] += fluid->slab[z];
        fluid->first[CELL_COUNT] = fluid->slab[CELLS];
        tasks_phase(tasks, "places", place_slab, fluid, CELLS);
        tasks_phase(tasks, "sort", sort, fluid, SORT_TASKS);
        tasks_phase(tasks, "densities", find_densities, fluid, TASKS);
        tasks_phase(tasks, "forces", find_forces, fluid, TASKS);
        tasks_phase(tasks, "advance", advance, fluid, TASKS);
    }
}

/* Forces between particles cancel out; densities of some particles are those of a search through all. */
static const char *check(const void *state)
{
    const struct fluid *fluid = state;
    double sum[3] = {0}, size = 0;
    for (uint32_t i = 0; i < PARTICLES; i++) {
        const struct vector *force = &fluid->force[i];
        sum[0] += (double)force->x;
        sum[1] += (double)force->y;
        sum[2] += (double)force->z;
        size += fabs((double)force->x) + fabs((double)force->y) + fabs((double)force->z);
    }
    for (uint32_t c = 0; c < 3; c++)
        if (!(fabs(sum[c]) <= 1e-4 * size))
            return "forces do not cancel out";
    for (uint32_t i = 0; i < PARTICLES; i += PARTICLES / 64) {
        float density = density_scale(fluid) * density_of(fluid, i, 0, PARTICLES);
        if (!(fabsf(density - fluid->density[i]) <= 1e-4f * density))
            return "a density is not that of a search through all particles";
        const struct particle *particle = &fluid->particles[i];
        if (!(particle->place.x >= 0 && particle->place.x <= 1 && particle->place.z >= 0 && particle->place.z <= 1))
            return "a particle has left";
    }
    return NULL;
}

static uint64_t fingerprint(const void *state)
{
    const struct fluid *fluid = state;
    return program_fingerprint(0, fluid->particles, PARTICLES * sizeof *fluid->particles);
}

static void destroy(void *state)
{
    struct fluid *fluid = state;
    free(fluid->particles);
    free(fluid->sorted);
    free(fluid->cell);
    free(fluid->first);
    free(fluid->count);
    free(fluid->density);
    free(fluid->force);
    free(fluid);
}

int main(int count, char **words)
{
    const struct program program = {.name = "fluidanimate",
                                    .what = "motion of a fluid of particles",
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
