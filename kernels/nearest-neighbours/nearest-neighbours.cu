/* SPDX-License-Identifier: MIT */
/*
 * nearest-neighbours: the five nearest of a set of points for each of many queries, in four dimensions, by looking at
 * all of them.
 *
 * One thread per query. The points go through shared memory in tiles of 256; all threads of a thread block compare the
 * same point at a time with their queries. A thread keeps its five nearest so far, sorted, in registers; a point that
 * is nearer than the last of them is inserted. Of points at the same distance the one with the lower index is taken: it
 * comes first, and only nearer ones displace it.
 *
 * Coordinates are integers below 2048, as scanners deliver them, in single precision. So squares of distances are below
 * 2^24 and exact, however they are rounded and in whatever order they are summed, and indices can be compared exactly.
 *
 * The CAP chapter splits it between CPU and GPU by queries (nns, 16 K points and 16 K queries): so the kernel takes a
 * sub-range, the queries from `first` to before `last`, and writes nothing else.
 *
 * What limits it: arithmetic. A point takes one load from shared memory, which all lanes share, four subtractions, four
 * multiplications and additions, and a comparison. Insertions get rare soon (some 45 of 16 K points are), but each
 * holds up the whole warp. 16 K queries are 64 thread blocks: four for each SM of a GTX 980, half of its threads, which
 * is enough.
 */
#define THREADS 256
#define NEIGHBOURS 5
#define FAR 1e30f

/* Puts the point in place of the last one, and lets it rise past all that are farther. */
__device__ __forceinline__ void insert(float distances[NEIGHBOURS], int indices[NEIGHBOURS], float distance, int index)
{
#pragma unroll
    for (int i = NEIGHBOURS - 1; i > 0; i--) {
        float above =
            distances[i - 1]; /* in variables: a choice between elements would keep the arrays in local memory */
        int index_above = indices[i - 1];
        bool rises = distance < above;
        distances[i] = rises ? above : distance;
        indices[i] = rises ? index_above : index;
        distance = rises ? distance : above;
        index = rises ? index : index_above;
    }
    distances[0] = distance;
    indices[0] = index;
}

extern "C" __global__ void __launch_bounds__(THREADS)
    nearest_neighbours(int *nearest, float *squares, const float4 *points, const float4 *queries, int point_count,
                       int first, int last)
{
    __shared__ float4 tile[THREADS];
    float distances[NEIGHBOURS];
    int indices[NEIGHBOURS];
    int thread = threadIdx.x;
    int query = first + blockIdx.x * THREADS + thread;
    bool works = query < last;
    float4 place = queries[works ? query : last - 1];
#pragma unroll
    for (int i = 0; i < NEIGHBOURS; i++) {
        distances[i] = FAR;
        indices[i] = -1;
    }

    for (int start = 0; start < point_count; start += THREADS) {
        int size = min(THREADS, point_count - start);
        if (thread < size)
            tile[thread] = points[start + thread];
        __syncthreads();
#pragma unroll 4
        for (int i = 0; i < size; i++) {
            float4 point = tile[i];
            float x = point.x - place.x;
            float y = point.y - place.y;
            float z = point.z - place.z;
            float w = point.w - place.w;
            float distance = fmaf(w, w, fmaf(z, z, fmaf(y, y, x * x)));
            if (distance < distances[NEIGHBOURS - 1])
                insert(distances, indices, distance, start + i);
        }
        __syncthreads();
    }
    if (!works)
        return;
#pragma unroll
    for (int i = 0; i < NEIGHBOURS; i++) {
        nearest[query * NEIGHBOURS + i] = indices[i];
        squares[query * NEIGHBOURS + i] = distances[i];
    }
}
