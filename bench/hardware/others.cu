/* SPDX-License-Identifier: MIT */
// Kernels of many styles that are in no suite: what a timing model is worth on programs that nobody looked at. others.py runs them.
#include <cstdint>

#define KERNEL extern "C" __global__ void
#define GLOBAL_THREAD (blockIdx.x * blockDim.x + threadIdx.x)

__device__ uint32_t hashed(uint32_t x)
{
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    return x ^ x >> 16;
}

// Words of 32 bits: random below `limit` as integers, or as floats between 0 and 1 where `limit` is 0.
KERNEL fill(uint32_t *out, uint32_t count, uint32_t seed, uint32_t limit)
{
    uint32_t i = GLOBAL_THREAD;
    if (i >= count)
        return;
    uint32_t value = hashed(i + seed);
    out[i] = limit ? value % limit : __float_as_uint((value >> 8) * (1.0f / 16777216.0f));
}

KERNEL transpose_tiled(const float *in, float *out, uint32_t n)
{
    __shared__ float tile[32][33];
    uint32_t x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (uint32_t k = 0; k < 32; k += 8)
        tile[threadIdx.y + k][threadIdx.x] = in[(y + k) * n + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x;
    y = blockIdx.x * 32 + threadIdx.y;
    for (uint32_t k = 0; k < 32; k += 8)
        out[(y + k) * n + x] = tile[threadIdx.x][threadIdx.y + k];
}

KERNEL transpose_plain(const float *in, float *out, uint32_t n)
{
    uint32_t x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    out[x * n + y] = in[y * n + x];
}

KERNEL sum_shuffled(const float4 *in, float *out, uint32_t count)
{
    float sum = 0;
    for (uint32_t i = GLOBAL_THREAD; i < count; i += gridDim.x * blockDim.x) {
        float4 v = in[i];
        sum += v.x + v.y + v.z + v.w;
    }
    for (int k = 16; k; k >>= 1)
        sum += __shfl_down_sync(0xffffffffu, sum, k);
    __shared__ float parts[32];
    if (threadIdx.x % 32 == 0)
        parts[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        sum = 0;
        for (uint32_t k = 0; k < blockDim.x / 32; k++)
            sum += parts[k];
        out[blockIdx.x] = sum;
    }
}

KERNEL scan_blocks(const uint32_t *in, uint32_t *out)
{
    __shared__ uint32_t both[2][512];
    uint32_t t = threadIdx.x, from = 0;
    both[0][t] = in[GLOBAL_THREAD];
    __syncthreads();
    for (uint32_t k = 1; k < 512; k *= 2) {
        both[1 - from][t] = both[from][t] + (t >= k ? both[from][t - k] : 0);
        from = 1 - from;
        __syncthreads();
    }
    out[GLOBAL_THREAD] = both[from][t];
}

KERNEL softmax_rows(const float *in, float *out, uint32_t columns)
{
    const float *row = in + GLOBAL_THREAD / 32 * columns;
    float *result = out + GLOBAL_THREAD / 32 * columns;
    uint32_t lane = threadIdx.x % 32;
    float highest = -1e30f, sum = 0;
    for (uint32_t i = lane; i < columns; i += 32)
        highest = fmaxf(highest, row[i]);
    for (int k = 16; k; k >>= 1)
        highest = fmaxf(highest, __shfl_xor_sync(0xffffffffu, highest, k));
    for (uint32_t i = lane; i < columns; i += 32)
        sum += expf(row[i] - highest);
    for (int k = 16; k; k >>= 1)
        sum += __shfl_xor_sync(0xffffffffu, sum, k);
    for (uint32_t i = lane; i < columns; i += 32)
        result[i] = expf(row[i] - highest) / sum;
}

KERNEL layer_norm(const float *in, float *out, const float *gain, uint32_t columns)
{
    __shared__ float parts[2][8];
    const float *row = in + blockIdx.x * columns;
    float sum = 0, squares = 0;
    for (uint32_t i = threadIdx.x; i < columns; i += 256) {
        sum += row[i];
        squares += row[i] * row[i];
    }
    for (int k = 16; k; k >>= 1) {
        sum += __shfl_xor_sync(0xffffffffu, sum, k);
        squares += __shfl_xor_sync(0xffffffffu, squares, k);
    }
    if (threadIdx.x % 32 == 0) {
        parts[0][threadIdx.x / 32] = sum;
        parts[1][threadIdx.x / 32] = squares;
    }
    __syncthreads();
    sum = squares = 0;
    for (int k = 0; k < 8; k++) {
        sum += parts[0][k];
        squares += parts[1][k];
    }
    float mean = sum / columns, scale = rsqrtf(squares / columns - mean * mean + 1e-5f);
    for (uint32_t i = threadIdx.x; i < columns; i += 256)
        out[blockIdx.x * columns + i] = (row[i] - mean) * scale * gain[i];
}

KERNEL bins_shared(const uint32_t *in, uint32_t *bins, uint32_t count)
{
    __shared__ uint32_t own[1024];
    for (uint32_t i = threadIdx.x; i < 1024; i += blockDim.x)
        own[i] = 0;
    __syncthreads();
    for (uint32_t i = GLOBAL_THREAD; i < count; i += gridDim.x * blockDim.x)
        atomicAdd(&own[in[i] % 1024], 1);
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < 1024; i += blockDim.x)
        atomicAdd(&bins[i], own[i]);
}

KERNEL bins_global(const uint32_t *in, uint32_t *bins, uint32_t count)
{
    uint32_t i = GLOBAL_THREAD;
    if (i < count)
        atomicAdd(&bins[in[i] % 65536], 1);
}

KERNEL sort_bitonic(const uint32_t *in, uint32_t *out)
{
    __shared__ uint32_t keys[1024];
    uint32_t t = threadIdx.x, base = blockIdx.x * 1024;
    keys[t] = in[base + t];
    keys[t + 512] = in[base + t + 512];
    for (uint32_t size = 2; size <= 1024; size *= 2)
        for (uint32_t stride = size / 2; stride; stride /= 2) {
            __syncthreads();
            uint32_t i = 2 * t - (t & (stride - 1)), a = keys[i], b = keys[i + stride];
            if (a > b == ((i & size) == 0)) {
                keys[i] = b;
                keys[i + stride] = a;
            }
        }
    __syncthreads();
    out[base + t] = keys[t];
    out[base + t + 512] = keys[t + 512];
}

__constant__ float taps[17] = {.01f, .02f, .04f, .06f, .08f, .1f, .12f, .14f, .16f, .14f, .12f, .1f, .08f, .06f, .04f, .02f, .01f};

KERNEL filter_row(const float *in, float *out, uint32_t count)
{
    uint32_t i = GLOBAL_THREAD;
    if (i + 16 >= count)
        return;
    float sum = 0;
    for (int k = 0; k < 17; k++)
        sum += taps[k] * in[i + k];
    out[i] = sum;
}

KERNEL mandelbrot(uint32_t *out, uint32_t n, uint32_t turns)
{
    uint32_t x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    float a = 3.0f * x / n - 2.0f, b = 2.0f * y / n - 1.0f, re = 0, im = 0;
    uint32_t k = 0;
    while (k < turns && re * re + im * im < 4) {
        float next = re * re - im * im + a;
        im = 2 * re * im + b;
        re = next;
        k++;
    }
    out[y * n + x] = k;
}

KERNEL shortest_step(uint32_t *distance, uint32_t n, uint32_t k)
{
    uint32_t x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    uint32_t through = distance[y * n + k] + distance[k * n + x];
    if (through < distance[y * n + x])
        distance[y * n + x] = through;
}

KERNEL neighbours_once(const uint32_t *edges, uint32_t degree, uint32_t nodes, uint32_t *level, uint32_t *next, uint32_t *count)
{
    uint32_t node = GLOBAL_THREAD;
    if (node >= nodes || level[node] != 0)
        return;
    for (uint32_t k = 0; k < degree; k++) {
        uint32_t other = edges[node * degree + k] % nodes;
        if (atomicCAS(&level[other], 0xffffffffu, 1) == 0xffffffffu)
            next[atomicAdd(count, 1)] = other;
    }
}

KERNEL life(const uint8_t *in, uint8_t *out, uint32_t n)
{
    uint32_t x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    if (x == 0 || y == 0 || x >= n - 1 || y >= n - 1)
        return;
    const uint8_t *at = in + y * n + x;
    uint32_t alive = 0;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++)
            alive += at[dy * (int)n + dx] & 1;
    alive -= at[0] & 1;
    out[y * n + x] = alive == 3 || (alive == 2 && at[0] & 1);
}

KERNEL random_walks(uint32_t *out, uint32_t turns)
{
    uint64_t state = GLOBAL_THREAD * 6364136223846793005ull + 1442695040888963407ull;
    uint32_t inside = 0;
    for (uint32_t k = 0; k < turns; k++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        uint32_t x = (uint32_t)state & 0xffff, y = (uint32_t)(state >> 32) & 0xffff;
        inside += x * x + y * y < 0xffffffffu - 0x1ffffu;
    }
    out[GLOBAL_THREAD] = inside;
}

KERNEL primes(uint32_t *out, uint32_t first)
{
    uint32_t n = first + 2 * GLOBAL_THREAD, k = 3;
    while (k * k <= n && n % k)
        k += 2;
    out[GLOBAL_THREAD] = k * k > n;
}

KERNEL gather(const float *in, const uint32_t *places, float *out, uint32_t count)
{
    uint32_t i = GLOBAL_THREAD;
    if (i < count)
        out[i] = 2.0f * in[places[i]];
}

KERNEL spread(const float *in, const uint32_t *places, float *out, uint32_t count)
{
    uint32_t i = GLOBAL_THREAD;
    if (i < count)
        out[places[i]] = in[i] + 1.0f;
}

KERNEL fourier_shared(const float2 *in, float2 *out)
{
    __shared__ float2 values[1024];
    uint32_t t = threadIdx.x, base = blockIdx.x * 1024;
    for (uint32_t i = t; i < 1024; i += 256)
        values[__brev(i) >> 22] = in[base + i];
    for (uint32_t half = 1; half < 1024; half *= 2) {
        __syncthreads();
        for (uint32_t pair = t; pair < 512; pair += 256) {
            uint32_t k = pair & (half - 1), i = 2 * pair - k;
            float s, c;
            __sincosf(-3.14159265f * k / half, &s, &c);
            float2 a = values[i], b = values[i + half];
            float re = b.x * c - b.y * s, im = b.x * s + b.y * c;
            values[i] = make_float2(a.x + re, a.y + im);
            values[i + half] = make_float2(a.x - re, a.y - im);
        }
    }
    __syncthreads();
    for (uint32_t i = t; i < 1024; i += 256)
        out[base + i] = values[i];
}

KERNEL sparse_ell(const float *values, const uint32_t *columns, const float *x, float *y, uint32_t rows, uint32_t width)
{
    uint32_t row = GLOBAL_THREAD;
    if (row >= rows)
        return;
    float sum = 0;
    for (uint32_t k = 0; k < width; k++)
        sum += values[k * rows + row] * x[columns[k * rows + row]];
    y[row] = sum;
}

KERNEL product_double(const double *a, const double *b, double *c, uint32_t n)
{
    __shared__ double left[16][16], right[16][17];
    uint32_t x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    double sum = 0;
    for (uint32_t k = 0; k < n; k += 16) {
        left[threadIdx.y][threadIdx.x] = a[y * n + k + threadIdx.x];
        right[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + x];
        __syncthreads();
        for (int j = 0; j < 16; j++)
            sum += left[threadIdx.y][j] * right[j][threadIdx.x];
        __syncthreads();
    }
    c[y * n + x] = sum;
}

KERNEL product_registers(const float *a, const float *b, float *c, uint32_t n)
{
    __shared__ float left[16][64], right[16][64];
    uint32_t t = threadIdx.x, tx = t % 16, ty = t / 16;
    const float *rows = a + blockIdx.y * 64 * n, *columns = b + blockIdx.x * 64;
    float sums[4][4] = {};
    for (uint32_t k = 0; k < n; k += 16) {
        for (uint32_t i = t; i < 1024; i += 256) {
            left[i % 16][i / 16] = rows[i / 16 * n + k + i % 16];
            right[i / 64][i % 64] = columns[(k + i / 64) * n + i % 64];
        }
        __syncthreads();
        for (int j = 0; j < 16; j++)
            for (int y = 0; y < 4; y++)
                for (int x = 0; x < 4; x++)
                    sums[y][x] += left[j][4 * ty + y] * right[j][4 * tx + x];
        __syncthreads();
    }
    for (int y = 0; y < 4; y++)
        for (int x = 0; x < 4; x++)
            c[(blockIdx.y * 64 + 4 * ty + y) * n + blockIdx.x * 64 + 4 * tx + x] = sums[y][x];
}

KERNEL forces(const float4 *places, const uint32_t *list, float4 *out, uint32_t count, uint32_t neighbours)
{
    uint32_t i = GLOBAL_THREAD;
    if (i >= count)
        return;
    float4 own = places[i], force = make_float4(0, 0, 0, 0);
    for (uint32_t k = 0; k < neighbours; k++) {
        float4 other = places[list[k * count + i]];
        float dx = own.x - other.x, dy = own.y - other.y, dz = own.z - other.z;
        float square = dx * dx + dy * dy + dz * dz;
        if (square < 0.25f) {
            float inverse = 1.0f / (square + 0.001f), sixth = inverse * inverse * inverse;
            float strength = inverse * sixth * (sixth - 0.5f);
            force.x += dx * strength;
            force.y += dy * strength;
            force.z += dz * strength;
        }
    }
    out[i] = force;
}

KERNEL checksums(const uint8_t *text, const uint32_t *table, uint32_t *out, uint32_t length)
{
    __shared__ uint32_t own[256];
    own[threadIdx.x] = table[threadIdx.x];
    __syncthreads();
    const uint8_t *line = text + (size_t)GLOBAL_THREAD * length;
    uint32_t sum = 0xffffffffu;
    for (uint32_t i = 0; i < length; i++)
        sum = own[(sum ^ line[i]) & 255] ^ sum >> 8;
    out[GLOBAL_THREAD] = ~sum;
}

KERNEL inverses(const float *in, float *out, uint32_t count)
{
    uint32_t i = GLOBAL_THREAD;
    if (i >= count)
        return;
    float m[4][8];
    for (int y = 0; y < 4; y++)
        for (int x = 0; x < 4; x++) {
            m[y][x] = in[(4 * y + x) * count + i] + (x == y ? 4.0f : 0.0f);
            m[y][x + 4] = x == y;
        }
    for (int k = 0; k < 4; k++) {
        float pivot = 1.0f / m[k][k];
        for (int x = 0; x < 8; x++)
            m[k][x] *= pivot;
        for (int y = 0; y < 4; y++) {
            if (y == k)
                continue;
            float factor = m[y][k];
            for (int x = 0; x < 8; x++)
                m[y][x] -= factor * m[k][x];
        }
    }
    for (int y = 0; y < 4; y++)
        for (int x = 0; x < 4; x++)
            out[(4 * y + x) * count + i] = m[y][x + 4];
}

KERNEL waves(const float *now, const float *before, float *next, uint32_t n)
{
    uint32_t x = blockIdx.x * 32 + threadIdx.x + 1, y = blockIdx.y * 8 + threadIdx.y + 1;
    if (x >= n - 1 || y >= n - 1)
        return;
    uint32_t at = y * n + x;
    float around = now[at - 1] + now[at + 1] + now[at - n] + now[at + n] - 4 * now[at];
    next[at] = 2 * now[at] - before[at] + 0.25f * around;
}

KERNEL queens(uint32_t *out, uint32_t n)
{
    uint32_t first = GLOBAL_THREAD % n, second = GLOBAL_THREAD / n % n, all = (1u << n) - 1, solutions = 0;
    uint32_t columns[16], left[16], right[16], free[16];
    uint32_t a = 1u << first, b = 1u << second;
    int depth = 0;
    if (!((a | a << 1 | a >> 1) & b)) {
        columns[0] = a | b;
        left[0] = (a << 1 | b) << 1;
        right[0] = (a >> 1 | b) >> 1;
        free[0] = all & ~(columns[0] | left[0] | right[0]);
        while (depth >= 0) {
            if (!free[depth]) {
                depth--;
                continue;
            }
            uint32_t bit = free[depth] & -free[depth];
            free[depth] ^= bit;
            if ((columns[depth] | bit) == all) {
                solutions++;
                continue;
            }
            columns[depth + 1] = columns[depth] | bit;
            left[depth + 1] = (left[depth] | bit) << 1;
            right[depth + 1] = (right[depth] | bit) >> 1;
            depth++;
            free[depth] = all & ~(columns[depth] | left[depth] | right[depth]);
        }
    }
    out[GLOBAL_THREAD] = solutions;
}

KERNEL hermite(const double *in, double *out, uint32_t count)
{
    uint32_t i = GLOBAL_THREAD;
    if (i >= count)
        return;
    double x = in[i] - (int)in[i], last = 1, value = 2 * x;
    for (int k = 1; k < 24; k++) {
        double next = 2 * x * value - 2 * k * last;
        last = value;
        value = next / (1.0 + k);
    }
    out[i] = sqrt(value * value + last * last);
}
