/* SPDX-License-Identifier: MIT */
/*
 * hotspot: transient thermal simulation of a chip, explicit time steps on a grid of cells with a map of the power
 * they dissipate.
 *
 * A cell exchanges heat with its four neighbours (at the rim of the chip it is its own neighbour), with the heat sink
 * above, and gains what it dissipates. One launch makes several time steps in shared memory: a thread block of 16 x
 * 16 loads its cells with a halo as wide as there are steps, and after each step the cells that are still right are
 * one ring fewer; only the middle is written. Launches alternate between two grids.
 *
 * SMQoS (Parallel Computing 2022, table 3) uses Rodinia's HS, a compute-intensive program (calculate_temp). The same
 * shape here: 16 x 16 threads, 3 KB of shared memory, a pyramid of two steps, 512 x 512 (medium) and 1024 x 1024
 * cells (large); a launch with fewer steps than the pyramid at the end if they do not divide. Where ours differs: a
 * cell has the same size on every grid (that of a 16 mm chip with 1024 cells a side); temperatures are in degrees
 * Celsius; the map is not Rodinia's file, but units of a floor plan with hot spots.
 *
 * What limits it: issue. Per cell and launch 12 bytes go through DRAM, but for two steps with index arithmetic and
 * the halo (256 threads for 144 cells) some 270 instructions are executed; a GTX 980 issues in four cycles of five.
 */
#define TILE 16

extern "C" __global__ void __launch_bounds__(TILE *TILE)
    calculate_temperature(int steps, const float *power, const float *source, float *result, int columns, int rows,
                          float capacity, float resistance_x, float resistance_y, float resistance_z,
                          float step_seconds, float ambient)
{
    __shared__ float now[TILE][TILE];
    __shared__ float dissipated[TILE][TILE];
    __shared__ float next[TILE][TILE];
    const int tx = threadIdx.x;
    const int ty = threadIdx.y;
    const float gain = step_seconds / capacity;
    const float conductance_x = 1.0f / resistance_x;
    const float conductance_y = 1.0f / resistance_y;
    const float conductance_z = 1.0f / resistance_z;

    const int core = TILE - 2 * steps; /* cells a side that are right after all steps */
    const int first_x = core * blockIdx.x - steps;
    const int first_y = core * blockIdx.y - steps;
    const int x = first_x + tx;
    const int y = first_y + ty;
    const bool on_chip = x >= 0 && x < columns && y >= 0 && y < rows;
    if (on_chip) {
        now[ty][tx] = source[y * columns + x];
        dissipated[ty][tx] = power[y * columns + x];
    }
    __syncthreads();

    /* the part of the tile that is on the chip, and neighbours that do not leave it */
    const int left = max(0, -first_x);
    const int right = min(TILE - 1, columns - 1 - first_x);
    const int top = max(0, -first_y);
    const int bottom = min(TILE - 1, rows - 1 - first_y);
    const int north = max(ty - 1, top);
    const int south = min(ty + 1, bottom);
    const int west = max(tx - 1, left);
    const int east = min(tx + 1, right);

    bool computed = false;
    for (int i = 0; i < steps; i++) {
        computed = tx > i && tx < TILE - 1 - i && ty > i && ty < TILE - 1 - i && on_chip;
        if (computed) {
            float here = now[ty][tx];
            next[ty][tx] =
                here + gain * (dissipated[ty][tx] + (now[south][tx] + now[north][tx] - 2.0f * here) * conductance_y +
                               (now[ty][east] + now[ty][west] - 2.0f * here) * conductance_x +
                               (ambient - here) * conductance_z);
        }
        __syncthreads();
        if (i == steps - 1)
            break;
        if (computed)
            now[ty][tx] = next[ty][tx];
        __syncthreads();
    }
    if (computed)
        result[y * columns + x] = next[ty][tx];
}
