/* SPDX-License-Identifier: MIT */
/*
 * pathfinder: the cheapest way through a grid of costs from the first row to each cell of the last, a step going
 * straight down or diagonally; dynamic programming row by row, integers.
 *
 * One launch takes up to 20 rows: a thread block of 256 loads the costs so far of its columns with a halo as wide as
 * there are rows, keeps them in shared memory (two arrays of 256) and adds a row at a time, after which one column
 * fewer is right at either end; the middle, 216 columns, is written. Launches alternate between two rows of results.
 *
 * SMQoS (Parallel Computing 2022, table 3) uses Rodinia's PF, a compute-intensive program (dynproc_kernel). The same
 * shape here: 256 threads, 2 KB of shared memory, a pyramid of 20 rows. Rodinia's usual input is 100 000 columns and
 * 100 rows; medium has those columns and fewer rows, large four times the columns and twice the rows, to be long
 * enough.
 *
 * What limits it: memory on a GTX 980. A cell takes some 30 instructions (halo included) and 4 bytes that are used
 * once; a warp of cells keeps the 64 schedulers busy for little more than half a cycle and DRAM for nearly one. On
 * the GPU that the paper simulates (two schedulers on each of its 24 SMs here) SMs and DRAM limit it about equally,
 * so its class there is not its class here.
 */
#define THREADS 256

extern "C" __global__ void __launch_bounds__(THREADS)
    find_paths(int steps, const int *wall, const int *source, int *result, int columns, int first_row)
{
    __shared__ int before[THREADS];
    __shared__ int after[THREADS];
    const int thread = threadIdx.x;
    const int core = THREADS - 2 * steps; /* columns that are right after all rows */
    const int first = core * blockIdx.x - steps;
    const int column = first + thread;
    const bool inside = column >= 0 && column < columns;
    const int left = max(thread - 1, max(0, -first));
    const int right = min(thread + 1, min(THREADS - 1, columns - 1 - first));

    if (inside)
        before[thread] = source[column];
    __syncthreads();
    bool computed = false;
    for (int i = 0; i < steps; i++) {
        computed = thread > i && thread < THREADS - 1 - i && inside;
        if (computed) {
            int cheapest = min(min(before[left], before[thread]), before[right]);
            after[thread] = cheapest + wall[(first_row + i) * columns + column];
        }
        __syncthreads();
        if (i == steps - 1)
            break;
        if (computed)
            before[thread] = after[thread];
        __syncthreads();
    }
    if (computed)
        result[column] = after[thread];
}
