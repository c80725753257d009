/* SPDX-License-Identifier: MIT */
/*
 * lbm: a fluid by the lattice Boltzmann method, D3Q19 with a single relaxation time, collide then stream ("push"),
 * walls by bouncing back, some cells kept in motion; several time steps between two lattices. Single precision.
 *
 * The papers use Parboil's lbm as a memory-intensive kernel (performStreamCollide; table 2-2 of the SMK chapter: 92.3 %
 * of the registers, no shared memory, 52.7 % of the threads of a GTX 980 SM, that is 9 thread blocks of 120 threads
 * with 56 registers; 90 % of the cycles stalled). Structure of arrays: for each of the 19 directions one array over
 * cells, so that loads of a warp are neighbours; a thread block is one row of 120 cells; rows are `pitch` cells apart.
 *
 * What limits it: DRAM bandwidth. A cell reads and writes 19 values (152 bytes and a flag) for some 230 operations, and
 * nothing is used twice; stores to directions with an x component straddle lines. Registers limit occupancy.
 *
 * Streaming adds one constant to the cell's index for each direction, rows' ends included: what leaves the
 * lattice goes into the padding or the margin, and no two cells write one place.
 */

/* D(name, x, y, z, opposite, weight) in the order of the arrays */
#define DIRECTIONS(D) \
    D(c, 0, 0, 0, c, 1.0f / 3.0f) \
    D(n, 0, 1, 0, s, 1.0f / 18.0f) \
    D(s, 0, -1, 0, n, 1.0f / 18.0f) \
    D(e, 1, 0, 0, w, 1.0f / 18.0f) \
    D(w, -1, 0, 0, e, 1.0f / 18.0f) \
    D(t, 0, 0, 1, b, 1.0f / 18.0f) \
    D(b, 0, 0, -1, t, 1.0f / 18.0f) \
    D(ne, 1, 1, 0, sw, 1.0f / 36.0f) \
    D(nw, -1, 1, 0, se, 1.0f / 36.0f) \
    D(se, 1, -1, 0, nw, 1.0f / 36.0f) \
    D(sw, -1, -1, 0, ne, 1.0f / 36.0f) \
    D(nt, 0, 1, 1, sb, 1.0f / 36.0f) \
    D(nb, 0, 1, -1, st, 1.0f / 36.0f) \
    D(st, 0, -1, 1, nb, 1.0f / 36.0f) \
    D(sb, 0, -1, -1, nt, 1.0f / 36.0f) \
    D(et, 1, 0, 1, wb, 1.0f / 36.0f) \
    D(eb, 1, 0, -1, wt, 1.0f / 36.0f) \
    D(wt, -1, 0, 1, eb, 1.0f / 36.0f) \
    D(wb, -1, 0, -1, et, 1.0f / 36.0f)

#define CELL_WALL 1u
#define CELL_MOVING 2u

extern "C" __global__ void __launch_bounds__(120)
    stream_collide(const float *in, float *out, const unsigned int *flags, int margin, int pitch, int slice, int stride,
                   float omega)
{
    long row = pitch; /* offsets of neighbours and arrays, in cells */
    long plane = slice;
    long array = stride;
    long cell = margin + threadIdx.x + blockIdx.x * pitch + blockIdx.y * slice;

    const float *from = in + cell;
#define LOAD(name, x, y, z, opposite, weight) \
    float name = *from; \
    from += array;
    DIRECTIONS(LOAD)
#undef LOAD
    float *to = out + cell;

    if (flags[cell] & CELL_WALL) {
#define BOUNCE(name, x, y, z, opposite, weight) \
    to[(y)*row + (z)*plane + (x)] = opposite; \
    to += array;
        DIRECTIONS(BOUNCE)
#undef BOUNCE
        return;
    }

    float density = 0.0f;
#define ADD(name, x, y, z, opposite, weight) density += name;
    DIRECTIONS(ADD)
#undef ADD
    float ux = ((e - w) + (ne - nw) + (se - sw) + (et - wt) + (eb - wb)) / density;
    float uy = ((n - s) + (ne - se) + (nw - sw) + (nt - st) + (nb - sb)) / density;
    float uz = ((t - b) + (nt - nb) + (st - sb) + (et - eb) + (wt - wb)) / density;
    if (flags[cell] & CELL_MOVING) {
        ux = 0.005f;
        uy = 0.002f;
        uz = 0.0f;
    }
    float keep = 1.0f - omega;
    float common = 1.0f - 1.5f * (ux * ux + uy * uy + uz * uz);
    float relaxed = omega * density;
#define COLLIDE(name, x, y, z, opposite, weight) \
    { \
        float along = (x)*ux + (y)*uy + (z)*uz; \
        to[(y)*row + (z)*plane + (x)] = keep * name + (weight)*relaxed * (common + along * (3.0f + 4.5f * along)); \
        to += array; \
    }
    DIRECTIONS(COLLIDE)
#undef COLLIDE
}
