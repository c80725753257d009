/* SPDX-License-Identifier: MIT */
// Kernels with the shapes of those whose cycles and power were published for a Volta (published/v100-kernels.csv: programs of Rodinia, Parboil and the
// samples of CUDA): the same grids, thread blocks, shared memory, data types and sizes of data. validation.py runs one kernel a process, so that the L2 is cold.
//
//     nvcc -std=c++17 -arch=compute_75 -o validation validation.cu
//     ./validation fast_walsh_shared          # prints a sum of what the kernel has written

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

typedef unsigned int u32;

#define CHECK(call)                                                                                     \
    do {                                                                                                \
        cudaError_t status = (call);                                                                    \
        if (status != cudaSuccess) {                                                                    \
            fprintf(stderr, "validation: %s: %s\n", #call, cudaGetErrorString(status));                 \
            exit(1);                                                                                    \
        }                                                                                               \
    } while (0)

// ---- a B+ tree of 256 keys a node ----

const int ORDER = 256;
struct node { int location, indices[ORDER + 1], keys[ORDER + 1]; bool leaf; int count; };

__global__ void tree_find(long height, const node *nodes, long count, long *current, long *offset, const int *wanted, const int *records, int *found)
{
    int t = threadIdx.x, b = blockIdx.x;
    for (int i = 0; i < height; i++) {
        if (nodes[current[b]].keys[t] <= wanted[b] && nodes[current[b]].keys[t + 1] > wanted[b])
            if (nodes[offset[b]].indices[t] < count) offset[b] = nodes[offset[b]].indices[t];
        __syncthreads();
        if (t == 0) current[b] = offset[b];
        __syncthreads();
    }
    if (nodes[current[b]].keys[t] == wanted[b]) found[b] = records[nodes[current[b]].indices[t]];
}

__global__ void tree_range(long height, const node *nodes, long count, long *current, long *offset, long *last, long *last_offset, const int *from,
                           const int *to, int *begin, int *length)
{
    int t = threadIdx.x, b = blockIdx.x;
    for (int i = 0; i < height; i++) {
        if (nodes[current[b]].keys[t] <= from[b] && nodes[current[b]].keys[t + 1] > from[b])
            if (nodes[current[b]].indices[t] < count) offset[b] = nodes[current[b]].indices[t];
        if (nodes[last[b]].keys[t] <= to[b] && nodes[last[b]].keys[t + 1] > to[b])
            if (nodes[last[b]].indices[t] < count) last_offset[b] = nodes[last[b]].indices[t];
        __syncthreads();
        if (t == 0) { current[b] = offset[b]; last[b] = last_offset[b]; }
        __syncthreads();
    }
    if (nodes[current[b]].keys[t] == from[b]) begin[b] = nodes[current[b]].indices[t];
    __syncthreads();
    if (nodes[last[b]].keys[t] == to[b]) length[b] = nodes[last[b]].indices[t] - begin[b] + 1;
}

// ---- two layers of a network, 65536 by 16 ----

__global__ void layer_forward(const float *input, float *hidden, float *weights, float *partial, int in, int hid)
{
    int by = blockIdx.y, tx = threadIdx.x, ty = threadIdx.y;
    int at = (hid + 1) * 16 * by + (hid + 1) * ty + tx + 1 + (hid + 1), from = 16 * by + ty + 1;
    __shared__ float value[16], w[16][16];
    if (tx == 0) value[ty] = input[from];
    __syncthreads();
    w[ty][tx] = weights[at];
    __syncthreads();
    w[ty][tx] = w[ty][tx] * value[ty];
    __syncthreads();
    for (int i = 1; i <= __log2f(16); i++) {
        int power = __powf(2, i);
        if (ty % power == 0) w[ty][tx] = w[ty][tx] + w[ty + power / 2][tx];
        __syncthreads();
    }
    weights[at] = w[ty][tx];
    __syncthreads();
    if (tx == 0) partial[by * hid + ty] = w[tx][ty];
}

__global__ void adjust_weights(const float *delta, int hid, const float *ly, int in, float *w, float *old)
{
    int by = blockIdx.y, tx = threadIdx.x, ty = threadIdx.y;
    int at = (hid + 1) * 16 * by + (hid + 1) * ty + tx + 1 + (hid + 1), y = 16 * by + ty + 1, x = tx + 1;
    w[at] += 0.3 * delta[x] * ly[y] + 0.3 * old[at]; // in double precision, as the public program does
    old[at] = 0.3 * delta[x] * ly[y] + 0.3 * old[at];
    __syncthreads();
    if (ty == 0 && by == 0) { w[x] += 0.3 * delta[x] + 0.3 * old[x]; old[x] = 0.3 * delta[x] + 0.3 * old[x]; }
}

// ---- heat on a chip, 1024 by 1024, two steps a launch, in double precision between floats ----

__global__ void heat(int steps, const float *power, const float *from, float *to, int columns, int rows, int border, float cap, float rx, float ry, float rz,
                     float step)
{
    __shared__ float now[16][16], heat[16][16], next[16][16];
    float ambient = 80.0f, cap_step = step / cap, ix = 1 / rx, iy = 1 / ry, iz = 1 / rz;
    int tx = threadIdx.x, ty = threadIdx.y, small = 16 - border * 2;
    int y0 = small * blockIdx.y - border, x0 = small * blockIdx.x - border, y = y0 + ty, x = x0 + tx, at = columns * y + x;
    if (y >= 0 && y < rows && x >= 0 && x < columns) { now[ty][tx] = from[at]; heat[ty][tx] = power[at]; }
    __syncthreads();
    int top = y0 < 0 ? -y0 : 0, bottom = y0 + 15 > rows - 1 ? 15 - (y0 + 15 - rows + 1) : 15;
    int left = x0 < 0 ? -x0 : 0, right = x0 + 15 > columns - 1 ? 15 - (x0 + 15 - columns + 1) : 15;
    int n = max(ty - 1, top), s = min(ty + 1, bottom), w = max(tx - 1, left), e = min(tx + 1, right);
    bool done;
    for (int i = 0; i < steps; i++) {
        done = false;
        if (tx >= i + 1 && tx <= 16 - i - 2 && ty >= i + 1 && ty <= 16 - i - 2 && tx >= left && tx <= right && ty >= top && ty <= bottom) {
            done = true;
            next[ty][tx] = now[ty][tx] + cap_step * (heat[ty][tx] + (now[s][tx] + now[n][tx] - 2.0 * now[ty][tx]) * iy +
                                                     (now[ty][e] + now[ty][w] - 2.0 * now[ty][tx]) * ix + (ambient - now[ty][tx]) * iz);
        }
        __syncthreads();
        if (i == steps - 1) break;
        if (done) now[ty][tx] = next[ty][tx];
        __syncthreads();
    }
    if (done) to[at] = next[ty][tx];
}

// ---- the nearest of five centres for 819200 points of 34 values, through a texture of linear memory ----

__constant__ float centres[34 * 32];
__global__ void nearest_centre(cudaTextureObject_t features, int values, int points, int clusters, int *member)
{
    u32 block = gridDim.x * blockIdx.y + blockIdx.x, p = block * blockDim.x * blockDim.y + threadIdx.x;
    int index = -1;
    if (p >= (u32)points) return;
    float best = 3.4e38f;
    for (int i = 0; i < clusters; i++) {
        float distance = 0;
        for (int j = 0; j < values; j++) {
            float x = tex1Dfetch<float>(features, p + j * points) - centres[i * values + j];
            distance += x * x;
        }
        if (distance < best) { best = distance; index = i; }
    }
    member[p] = index;
}

// ---- anisotropic diffusion, 502 by 458, neighbours by tables of indices, part of it in double precision ----

__global__ void diffusion(float lambda, int rows, int columns, long count, const int *north, const int *south, const int *east, const int *west, float *dn,
                          float *ds, float *de, float *dw, float q0, float *c, const float *image)
{
    int at = blockIdx.x * 512 + threadIdx.x;
    int row = (at + 1) % rows - 1, column = (at + 1) / rows;
    if ((at + 1) % rows == 0) { row = rows - 1; column = column - 1; }
    if (at < count) {
        float j = image[at], n = image[north[row] + rows * column] - j, s = image[south[row] + rows * column] - j;
        float w = image[row + rows * west[column]] - j, e = image[row + rows * east[column]] - j;
        float g2 = (n * n + s * s + w * w + e * e) / (j * j), l = (n + s + w + e) / j;
        float number = (0.5 * g2) - ((1.0 / 16.0) * (l * l)), den = 1 + (0.25 * l), q = number / (den * den);
        den = (q - q0) / (q0 * (1 + q0));
        float v = 1.0 / (1.0 + den);
        if (v < 0) v = 0;
        else if (v > 1) v = 1;
        dn[at] = n; ds[at] = s; dw[at] = w; de[at] = e; c[at] = v;
    }
}

// ---- C = A B', 16 columns a thread ----

__global__ void product_columns(const float *a, int lda, const float *b, int ldb, float *c, int ldc, int k, float alpha, float beta)
{
    float sums[16];
    for (int i = 0; i < 16; i++) sums[i] = 0.0f;
    int id = threadIdx.y * blockDim.x + threadIdx.x, m = blockIdx.x * 128 + id, n = blockIdx.y * 16 + threadIdx.x;
    __shared__ float bs[8][16];
    for (int i = 0; i < k; i += 8) {
        bs[threadIdx.y][threadIdx.x] = b[n + (i + threadIdx.y) * ldb];
        __syncthreads();
        for (int j = 0; j < 8; j++) {
            float x = a[m + (i + j) * lda];
            for (int l = 0; l < 16; l++) sums[l] += x * bs[j][l];
        }
        __syncthreads();
    }
    int t = ldc * blockIdx.y * 16 + m;
    for (int i = 0; i < 16; i++) c[t + i * ldc] = c[t + i * ldc] * beta + alpha * sums[i];
}

// ---- a sum of sines and cosines over 1024 samples, fast ones ----

struct sample { float x, y, z, phi; };
__constant__ sample ck[1024];
__global__ void image_q(int count, int first, const float *x, const float *y, const float *z, float *qr, float *qi)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sx = x[i], sy = y[i], sz = z[i], r = qr[i], m = qi[i];
    int k = 0;
    if (count % 2) {
        float e = 6.2831853071795864769252867665590058f * (ck[0].x * sx + ck[0].y * sy + ck[0].z * sz);
        r += ck[0].phi * __cosf(e); m += ck[0].phi * __sinf(e);
        k++; first++;
    }
    for (; k < 1024 && first < count; k += 2, first += 2) {
        float e = 6.2831853071795864769252867665590058f * (ck[k].x * sx + ck[k].y * sy + ck[k].z * sz);
        r += ck[k].phi * __cosf(e); m += ck[k].phi * __sinf(e);
        float f = 6.2831853071795864769252867665590058f * (ck[k + 1].x * sx + ck[k + 1].y * sy + ck[k + 1].z * sz);
        r += ck[k + 1].phi * __cosf(f); m += ck[k + 1].phi * __sinf(f);
    }
    qr[i] = r; qi[i] = m;
}

// ---- cosine transforms of blocks of 8 by 8, 512 by 512 ----

__constant__ float basis[64];
__global__ void cosine_texture(float *out, int width, int x0, int y0, cudaTextureObject_t image)
{
    __shared__ float in[64], half_way[64];
    int bx = blockIdx.x, by = blockIdx.y, tx = threadIdx.x, ty = threadIdx.y;
    float x = (float)(bx * 8 + x0 + tx) + 0.5f, y = (float)(by * 8 + y0 + ty) + 0.5f;
    in[ty * 8 + tx] = tex2D<float>(image, x, y);
    __syncthreads();
    float sum = 0;
    int a = ty, b = tx;
#pragma unroll
    for (int i = 0; i < 8; i++, a += 8, b += 8) sum += basis[a] * in[b];
    half_way[ty * 8 + tx] = sum;
    __syncthreads();
    sum = 0;
    a = ty * 8; b = tx;
#pragma unroll
    for (int i = 0; i < 8; i++, a += 1, b += 8) sum += half_way[a] * basis[b];
    in[ty * 8 + tx] = sum;
    __syncthreads();
    out[(by * 8 + ty) * width + bx * 8 + tx] = in[ty * 8 + tx];
}

__device__ void cosine_8(float *v, int step)
{
    const float a = 1.387039845322148f, b = 1.306562964876377f, c = 1.175875602419359f, d = 0.785694958387102f, e = 0.541196100146197f, f = 0.275899379282943f,
                norm = 0.3535533905932737f;
    float p07 = v[0] + v[7 * step], p16 = v[step] + v[6 * step], p25 = v[2 * step] + v[5 * step], p34 = v[3 * step] + v[4 * step];
    float m07 = v[0] - v[7 * step], m61 = v[6 * step] - v[step], m25 = v[2 * step] - v[5 * step], m43 = v[4 * step] - v[3 * step];
    float pp = p07 + p34, pm = p07 - p34, qp = p16 + p25, qm = p16 - p25;
    v[0] = norm * (pp + qp); v[2 * step] = norm * (b * pm + e * qm); v[4 * step] = norm * (pp - qp); v[6 * step] = norm * (e * pm - b * qm);
    v[step] = norm * (a * m07 - c * m61 + d * m25 - f * m43); v[3 * step] = norm * (c * m07 + f * m61 - a * m25 + d * m43);
    v[5 * step] = norm * (d * m07 + a * m61 + f * m25 - c * m43); v[7 * step] = norm * (f * m07 + d * m61 + c * m25 + a * m43);
}

__global__ void cosine_tiles(float *out, const float *in, int stride)
{
    __shared__ float tile[16 * 33];
    int x = threadIdx.y * 8 + threadIdx.x, y = threadIdx.z * 8;
    float *mine = tile + y * 33 + x;
    in += (blockIdx.y * 16 + y) * stride + blockIdx.x * 32 + x;
    out += (blockIdx.y * 16 + y) * stride + blockIdx.x * 32 + x;
    for (u32 i = 0; i < 8; i++) mine[i * 33] = in[i * stride];
    __syncthreads();
    cosine_8(tile + (y + threadIdx.x) * 33 + x - threadIdx.x, 1);
    __syncthreads();
    cosine_8(mine, 33);
    __syncthreads();
    for (u32 i = 0; i < 8; i++) out[i * stride] = mine[i * 33];
}

// ---- European options on a tree of 2048 steps, 16 values a thread ----

struct option { float s, x, vdt, pu, pd; };
__constant__ option options[1024];
__device__ float at_expiry(float s, float x, float vdt, int i)
{
    float d = s * __expf(vdt * (2.0f * i - 2048)) - x;
    return d > 0.0f ? d : 0.0f;
}
__global__ void binomial(float *result)
{
    __shared__ float exchange[129];
    int t = threadIdx.x;
    float s = options[blockIdx.x].s, x = options[blockIdx.x].x, vdt = options[blockIdx.x].vdt, pu = options[blockIdx.x].pu, pd = options[blockIdx.x].pd;
    float call[17];
#pragma unroll
    for (int i = 0; i < 16; i++) call[i] = at_expiry(s, x, vdt, t * 16 + i);
    if (t == 0) exchange[128] = at_expiry(s, x, vdt, 2048);
    int last = max(0, t * 16 - 1);
#pragma unroll 16
    for (int i = 2048; i > 0; i--) {
        exchange[t] = call[0];
        __syncthreads();
        call[16] = exchange[t + 1];
        __syncthreads();
        if (i > last) {
#pragma unroll
            for (int j = 0; j < 16; j++) call[j] = pu * call[j + 1] + pd * call[j];
        }
    }
    if (t == 0) result[blockIdx.x] = call[0];
}

// ---- Walsh transform of 2^23 values ----

__global__ void walsh_global(float *out, const float *in, int stride)
{
    int pos = blockIdx.x * blockDim.x + threadIdx.x, n = blockDim.x * gridDim.x * 4, lo = pos & (stride - 1);
    const float *from = in + blockIdx.y * n;
    float *to = out + blockIdx.y * n;
    int i0 = ((pos - lo) << 2) + lo, i1 = i0 + stride, i2 = i1 + stride, i3 = i2 + stride;
    float a = from[i0], b = from[i1], c = from[i2], d = from[i3], t = a;
    a = a + c; c = t - c; t = b; b = b + d; d = t - d; t = a;
    to[i0] = a + b; to[i1] = t - b; t = c; to[i2] = c + d; to[i3] = t - d;
}

extern __shared__ float line[];
__global__ void walsh_shared(float *out, const float *in, int log2n)
{
    int n = 1 << log2n, base = blockIdx.x << log2n;
    for (int p = threadIdx.x; p < n; p += blockDim.x) line[p] = in[base + p];
    int pos = threadIdx.x;
    for (int stride = n >> 2; stride > 0; stride >>= 2) {
        int lo = pos & (stride - 1), i0 = ((pos - lo) << 2) + lo, i1 = i0 + stride, i2 = i1 + stride, i3 = i2 + stride;
        __syncthreads();
        float a = line[i0], b = line[i1], c = line[i2], d = line[i3], t = a;
        a = a + c; c = t - c; t = b; b = b + d; d = t - d; t = a;
        line[i0] = a + b; line[i1] = t - b; t = c; line[i2] = c + d; line[i3] = t - d;
    }
    if (log2n & 1) {
        __syncthreads();
        for (int p = threadIdx.x; p < n / 2; p += blockDim.x) {
            int i0 = p << 1, i1 = i0 + 1;
            float a = line[i0], b = line[i1];
            line[i0] = a + b; line[i1] = a - b;
        }
    }
    __syncthreads();
    for (int p = threadIdx.x; p < n; p += blockDim.x) out[base + p] = line[p];
}

// ---- 64 bins of 64 MB of bytes, a column of bytes for each thread ----

__device__ void add_byte(unsigned char *base, u32 data) { base[data * 64]++; }
__device__ void add_word(unsigned char *base, u32 data)
{
    add_byte(base, (data >> 2) & 63); add_byte(base, (data >> 10) & 63); add_byte(base, (data >> 18) & 63); add_byte(base, (data >> 26) & 63);
}
__global__ void bins_64(u32 *partial, const uint4 *data, u32 count)
{
    u32 place = (threadIdx.x & ~63u) | ((threadIdx.x & 15) << 2) | ((threadIdx.x & 48) >> 4);
    __shared__ unsigned char bins[64 * 64];
    unsigned char *mine = bins + place;
#pragma unroll
    for (u32 i = 0; i < 16; i++) ((u32 *)bins)[threadIdx.x + i * 64] = 0;
    __syncthreads();
    for (u32 pos = blockIdx.x * blockDim.x + threadIdx.x; pos < count; pos += blockDim.x * gridDim.x) {
        uint4 d = data[pos];
        add_word(mine, d.x); add_word(mine, d.y); add_word(mine, d.z); add_word(mine, d.w);
    }
    __syncthreads();
    if (threadIdx.x < 64) {
        unsigned char *row = bins + threadIdx.x * 64;
        u32 sum = 0, pos = 4 * (threadIdx.x & 15);
#pragma unroll
        for (u32 i = 0; i < 16; i++) { sum += row[pos] + row[pos + 1] + row[pos + 2] + row[pos + 3]; pos = (pos + 4) & 63; }
        partial[blockIdx.x * 64 + threadIdx.x] = sum;
    }
}

// ---- merge sort of 4 Mi pairs ----

template <bool inclusive> __device__ u32 rank_of(u32 value, const u32 *data, u32 length, u32 stride)
{
    if (length == 0) return 0;
    u32 pos = 0;
    for (; stride > 0; stride >>= 1) {
        u32 next = umin(pos + stride, length);
        if (inclusive ? data[next - 1] <= value : data[next - 1] < value) pos = next;
    }
    return pos;
}

__global__ void merge_tiles(u32 *out_key, u32 *out_value, const u32 *in_key, const u32 *in_value, u32 length)
{
    __shared__ u32 key[1024], value[1024];
    u32 t = threadIdx.x, at = blockIdx.x * 1024 + t;
    key[t] = in_key[at]; value[t] = in_value[at]; key[t + 512] = in_key[at + 512]; value[t + 512] = in_value[at + 512];
    for (u32 stride = 1; stride < length; stride <<= 1) {
        u32 l = t & (stride - 1), *k = key + 2 * (t - l), *v = value + 2 * (t - l);
        __syncthreads();
        u32 ka = k[l], va = v[l], kb = k[l + stride], vb = v[l + stride];
        u32 pa = rank_of<false>(ka, k + stride, stride, stride) + l, pb = rank_of<true>(kb, k, stride, stride) + l;
        __syncthreads();
        k[pa] = ka; v[pa] = va; k[pb] = kb; v[pb] = vb;
    }
    __syncthreads();
    out_key[at] = key[t]; out_value[at] = value[t]; out_key[at + 512] = key[t + 512]; out_value[at + 512] = value[t + 512];
}

__device__ void merge_two(u32 *key, u32 *value, const u32 *ka_, const u32 *va_, const u32 *kb_, const u32 *vb_, u32 na, u32 nmost_a, u32 nb, u32 nmost_b)
{
    u32 ka, va, kb, vb, pa = 0, pb = 0, t = threadIdx.x;
    if (t < na) { ka = ka_[t]; va = va_[t]; pa = rank_of<false>(ka, kb_, nb, nmost_b) + t; }
    if (t < nb) { kb = kb_[t]; vb = vb_[t]; pb = rank_of<true>(kb, ka_, na, nmost_a) + t; }
    __syncthreads();
    if (t < na) { key[pa] = ka; value[pa] = va; }
    if (t < nb) { key[pb] = kb; value[pb] = vb; }
}

__global__ void merge_intervals(u32 *out_key, u32 *out_value, const u32 *in_key, const u32 *in_value, const u32 *limits_a, const u32 *limits_b, u32 stride, u32 n)
{
    __shared__ u32 key[256], value[256];
    __shared__ u32 from_a, from_b, na, nb, to_a, to_b;
    u32 interval = blockIdx.x & (2 * stride / 128 - 1), base = (blockIdx.x - interval) * 128;
    in_key += base; in_value += base; out_key += base; out_value += base;
    if (threadIdx.x == 0) {
        u32 count_b = umin(stride, n - base - stride), samples_a = (stride + 127) / 128, samples_b = (count_b + 127) / 128, samples = samples_a + samples_b;
        from_a = limits_a[blockIdx.x]; from_b = limits_b[blockIdx.x];
        u32 end_a = interval + 1 < samples ? limits_a[blockIdx.x + 1] : stride, end_b = interval + 1 < samples ? limits_b[blockIdx.x + 1] : count_b;
        na = end_a - from_a; nb = end_b - from_b; to_a = from_a + from_b; to_b = to_a + na;
    }
    __syncthreads();
    if (threadIdx.x < na) { key[threadIdx.x] = in_key[from_a + threadIdx.x]; value[threadIdx.x] = in_value[from_a + threadIdx.x]; }
    if (threadIdx.x < nb) { key[128 + threadIdx.x] = in_key[stride + from_b + threadIdx.x]; value[128 + threadIdx.x] = in_value[stride + from_b + threadIdx.x]; }
    __syncthreads();
    merge_two(key, value, key, value, key + 128, value + 128, na, 128, nb, 128);
    __syncthreads();
    if (threadIdx.x < na) { out_key[to_a + threadIdx.x] = key[threadIdx.x]; out_value[to_a + threadIdx.x] = value[threadIdx.x]; }
    if (threadIdx.x < nb) { out_key[to_b + threadIdx.x] = key[na + threadIdx.x]; out_value[to_b + threadIdx.x] = value[na + threadIdx.x]; }
}

// ---- sequences of quasi-random numbers, and the inverse of the normal distribution (Moro) ----

__constant__ u32 table[3][31];
__global__ void quasirandom(float *out, u32 seed, u32 n)
{
    const u32 *row = &table[threadIdx.y][0];
    u32 step = blockDim.x * gridDim.x;
    for (u32 pos = blockDim.x * blockIdx.x + threadIdx.x; pos < n; pos += step) {
        u32 result = 0, data = seed + pos;
        for (int bit = 0; bit < 31; bit++, data >>= 1)
            if (data & 1) result ^= row[bit];
        out[threadIdx.y * n + pos] = (float)(result + 1) * (1.0f / (float)0x80000001U);
    }
}

__device__ float inverse_normal(u32 x)
{
    bool negate = false;
    if (x >= 0x80000000u) { x = 0xffffffffu - x; negate = true; }
    float x1 = 1.0f / static_cast<float>(0xffffffffu), x2 = x1 / 2.0f, p1 = x * x1 + x2, p2 = p1 - 0.5f, z;
    if (p2 > -0.42f) {
        z = p2 * p2;
        z = p2 * (((-25.44106049637f * z + 41.39119773534f) * z + -18.61500062529f) * z + 2.50662823884f) /
            ((((3.13082909833f * z + -21.06224101826f) * z + 23.08336743743f) * z + -8.47351093090f) * z + 1.0f);
    } else {
        z = __logf(-__logf(p1));
        z = -(0.3374754822726147f +
              z * (0.9761690190917186f +
                   z * (0.1607979714918209f +
                        z * (0.0276438810333863f + z * (0.0038405729373609f + z * (0.0003951896511919f + z * (0.0000321767881768f + z * (0.0000002888167364f + z * 0.0000003960315187f))))))));
    }
    return negate ? -z : z;
}
__global__ void inverse_normals(float *out, const u32 *in, u32 n)
{
    u32 distance = 0xffffffffu / (n + 1), step = blockDim.x * gridDim.x, t = blockDim.x * blockIdx.x + threadIdx.x;
    if (in)
        for (u32 pos = t; pos < n; pos += step) out[pos] = inverse_normal(in[pos]);
    else
        for (u32 pos = t; pos < n; pos += step) out[pos] = inverse_normal((pos + 1) * distance);
}

__global__ void sobol(u32 vectors, u32 dimensions, const u32 *directions, float *out)
{
    __shared__ u32 v[32];
    directions += 32 * blockIdx.y;
    out += vectors * blockIdx.y;
    if (threadIdx.x < 32) v[threadIdx.x] = directions[threadIdx.x];
    __syncthreads();
    int first = threadIdx.x + blockIdx.x * blockDim.x, stride = gridDim.x * blockDim.x;
    u32 g = first ^ (first >> 1), x = 0;
    for (u32 k = 0; k < __ffs(stride) - 1; k++) { x ^= (u32)(-(int)(g & 1)) & v[k]; g >>= 1; }
    if (first < (int)vectors) out[first] = (float)x * 2.3283064E-10f;
    u32 last = v[__ffs(stride) - 2], mask = stride - 1;
    for (u32 i = first + stride; i < vectors; i += stride) {
        x ^= last ^ v[__ffs(~((i - stride) | mask)) - 1];
        out[i] = (float)x * 2.3283064E-10f;
    }
}

// ---- the host ----

static u32 state = 12345;
static u32 random_word() { return state = state * 1664525u + 1013904223u; }
static float random_float() { return (float)(random_word() >> 8) / 16777216.0f; }

static void *device(size_t bytes, const void *from = nullptr)
{
    void *p;
    CHECK(cudaMalloc(&p, bytes));
    if (from) CHECK(cudaMemcpy(p, from, bytes, cudaMemcpyHostToDevice));
    else CHECK(cudaMemset(p, 0, bytes));
    return p;
}
static float *floats(size_t count)
{
    std::vector<float> host(count);
    for (float &x : host) x = 0.5f + random_float();
    return (float *)device(4 * count, host.data());
}
static u32 *words(size_t count)
{
    std::vector<u32> host(count);
    for (u32 &x : host) x = random_word() >> 4 ^ random_word() << 8;
    return (u32 *)device(4 * count, host.data());
}
static void report(const void *from, size_t bytes)
{
    std::vector<u32> host(bytes / 4);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(host.data(), from, bytes, cudaMemcpyDeviceToHost));
    u32 sum = 0;
    for (u32 x : host) sum = (sum << 5 | sum >> 27) ^ x;
    printf("%08x\n", sum);
}

/* A tree of the keys 0, 2, 4, ... with half-full nodes, as keys that come in order leave it: root, 62 inner nodes, 7813 leaves. */
static std::vector<node> tree(int keys)
{
    int per = ORDER / 2, leaves = (keys + per - 1) / per, inner = (leaves + per - 1) / per;
    std::vector<node> nodes(1 + inner + leaves);
    auto fill = [&](node &n, int first, int count, int step, int location) {
        memset(&n, 0, sizeof n);
        for (int i = 0; i <= ORDER; i++) { n.keys[i] = 0x7fffffff; n.indices[i] = 0x7fffffff; }
        for (int i = 0; i < count; i++) { n.keys[i] = 2 * (first + i) * step; n.indices[i] = location + i; }
        n.count = count;
    };
    fill(nodes[0], 0, inner, per * per, 1);
    for (int i = 0; i < inner; i++) fill(nodes[1 + i], i * per, std::min(per, leaves - i * per), per, 1 + inner + i * per);
    for (int i = 0; i < leaves; i++) { fill(nodes[1 + inner + i], i * per, std::min(per, keys - i * per), 1, i * per); nodes[1 + inner + i].leaf = true; }
    return nodes;
}

static void run_tree(bool range)
{
    const int keys = 1000000, count = range ? 6000 : 10000;
    std::vector<node> nodes = tree(keys);
    std::vector<int> wanted(count), to(count);
    for (int i = 0; i < count; i++) { wanted[i] = 2 * (random_word() % (keys - 3000)); to[i] = wanted[i] + 2 * 2999; }
    node *n = (node *)device(nodes.size() * sizeof(node), nodes.data());
    int *from = (int *)device(4 * count, wanted.data()), *until = (int *)device(4 * count, to.data()), *records = (int *)words(keys);
    long *places[4];
    for (long *&p : places) p = (long *)device(8 * count);
    int *found = (int *)device(4 * count), *length = (int *)device(4 * count);
    if (range) tree_range<<<count, ORDER>>>(2, n, nodes.size(), places[0], places[1], places[2], places[3], from, until, found, length);
    else tree_find<<<count, ORDER>>>(2, n, nodes.size(), places[0], places[1], from, records, found);
    report(range ? length : found, 4 * count);
}

static void run_layer(bool forward)
{
    const int in = 65536, hid = 16;
    size_t weights = (size_t)(in + 1) * (hid + 1);
    float *input = floats(in + 1), *w = floats(weights), *old = (float *)device(4 * weights), *partial = (float *)device(4 * in), *delta = floats(hid + 1);
    dim3 grid(1, in / 16), block(16, 16);
    if (forward) layer_forward<<<grid, block>>>(input, delta, w, partial, in, hid);
    else adjust_weights<<<grid, block>>>(delta, hid, input, in, w, old);
    report(forward ? partial : w, 4 * in);
}

static void run_heat()
{
    const int n = 1024, blocks = (n + 11) / 12;
    float *power = floats(n * n), *from = floats(n * n), *to = (float *)device(4 * n * n);
    heat<<<dim3(blocks, blocks), dim3(16, 16)>>>(2, power, from, to, n, n, 2, 0.5f, 3.0f, 3.0f, 5.0f, 0.0625f);
    report(to, 4 * n * n);
}

static void run_centres()
{
    const int points = 819200, values = 34, clusters = 5;
    float *features = floats((size_t)points * values), host[34 * 5];
    for (float &x : host) x = 0.5f + random_float();
    CHECK(cudaMemcpyToSymbol(centres, host, sizeof host));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = features;
    resource.res.linear.desc = cudaCreateChannelDesc<float>();
    resource.res.linear.sizeInBytes = (size_t)points * values * 4;
    cudaTextureDesc description = {};
    cudaTextureObject_t texture;
    CHECK(cudaCreateTextureObject(&texture, &resource, &description, nullptr));
    int *member = (int *)device(4 * points);
    nearest_centre<<<dim3(57, 57), 256>>>(texture, values, points, clusters, member);
    report(member, 4 * points);
}

static void run_diffusion()
{
    const int rows = 502, columns = 458, count = rows * columns;
    std::vector<int> n(rows), s(rows), e(columns), w(columns);
    for (int i = 0; i < rows; i++) { n[i] = std::max(i - 1, 0); s[i] = std::min(i + 1, rows - 1); }
    for (int i = 0; i < columns; i++) { w[i] = std::max(i - 1, 0); e[i] = std::min(i + 1, columns - 1); }
    float *image = floats(count), *out[5];
    for (float *&o : out) o = (float *)device(4 * count);
    diffusion<<<(count + 511) / 512, 512>>>(0.5f, rows, columns, count, (int *)device(4 * rows, n.data()), (int *)device(4 * rows, s.data()),
                                            (int *)device(4 * columns, e.data()), (int *)device(4 * columns, w.data()), out[0], out[1], out[2], out[3], 0.05f, out[4], image);
    report(out[4], 4 * count);
}

static void run_product()
{
    const int m = 1024, n = 1056, k = 992;
    float *a = floats(m * k), *b = floats(n * k), *c = (float *)device(4 * m * n);
    product_columns<<<dim3(m / 128, n / 16), dim3(16, 8)>>>(a, m, b, n, c, m, k, 1.0f, 0.0f);
    report(c, 4 * m * n);
}

static void run_image()
{
    const int points = 262144;
    std::vector<sample> samples(1024);
    for (sample &s : samples) s = {random_float(), random_float(), random_float(), random_float()};
    CHECK(cudaMemcpyToSymbol(ck, samples.data(), sizeof(sample) * 1024));
    float *x = floats(points), *y = floats(points), *z = floats(points), *qr = (float *)device(4 * points), *qi = (float *)device(4 * points);
    image_q<<<points / 256, 256>>>(2048, 0, x, y, z, qr, qi);
    report(qr, 4 * points);
}

static void run_cosine(bool texture)
{
    const int n = 512;
    float *in = floats(n * n), *out = (float *)device(4 * n * n);
    if (!texture) {
        cosine_tiles<<<dim3(n / 32, n / 16), dim3(8, 4, 2)>>>(out, in, n);
    } else {
        float host[64];
        for (float &x : host) x = random_float() - 0.5f;
        CHECK(cudaMemcpyToSymbol(basis, host, sizeof host));
        cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
        cudaArray_t array;
        CHECK(cudaMallocArray(&array, &format, n, n));
        CHECK(cudaMemcpy2DToArray(array, 0, 0, in, n * 4, n * 4, n, cudaMemcpyDeviceToDevice));
        cudaResourceDesc resource = {};
        resource.resType = cudaResourceTypeArray;
        resource.res.array.array = array;
        cudaTextureDesc description = {};
        cudaTextureObject_t image;
        CHECK(cudaCreateTextureObject(&image, &resource, &description, nullptr));
        cosine_texture<<<dim3(n / 8, n / 8), dim3(8, 8)>>>(out, n, 0, 0, image);
    }
    report(out, 4 * n * n);
}

static void run_binomial()
{
    std::vector<option> host(1024);
    for (option &o : host) o = {5.0f + 25.0f * random_float(), 1.0f + 99.0f * random_float(), 0.005f, 0.5005f, 0.4994f};
    CHECK(cudaMemcpyToSymbol(options, host.data(), sizeof(option) * 1024));
    float *result = (float *)device(4 * 1024);
    binomial<<<1024, 128>>>(result);
    report(result, 4 * 1024);
}

static void run_walsh(bool shared, int log2n)
{
    const int all = 1 << 23;
    float *in = floats(all), *out = (float *)device(4 * (size_t)all);
    if (shared) walsh_shared<<<all >> 11, 512, 8192>>>(out, in, 11);
    else walsh_global<<<dim3((1 << log2n) / 1024, all >> log2n), 256>>>(out, in, (1 << log2n) / 4);
    report(out, 4 * (size_t)all);
}

static void run_bins()
{
    const u32 bytes = 64 << 20, blocks = (bytes + 64 * 240 - 1) / (64 * 240);
    u32 *data = words(bytes / 4), *partial = (u32 *)device(4 * 64 * blocks);
    bins_64<<<blocks, 64>>>(partial, (const uint4 *)data, bytes / 16);
    report(partial, 4 * 64 * blocks);
}

static void run_merge_tiles()
{
    const u32 n = 4 << 20;
    u32 *key = words(n), *value = words(n), *out_key = (u32 *)device(4 * n), *out_value = (u32 *)device(4 * n);
    merge_tiles<<<n / 1024, 512>>>(out_key, out_value, key, value, 1024);
    report(out_key, 4 * n);
}

/* Runs of `stride` sorted keys; limits are where each sample of 128 keys ends in either run of a pair. */
static void run_merge_intervals(u32 stride)
{
    const u32 n = 4 << 20, samples = stride / 128;
    std::vector<u32> key(n), value(n), a(n / 128), b(n / 128);
    for (u32 i = 0; i < n; i++) { key[i] = random_word(); value[i] = i; }
    for (u32 i = 0; i < n; i += stride) std::sort(key.begin() + i, key.begin() + i + stride);
    for (u32 pair = 0; pair < n; pair += 2 * stride) {
        const u32 *ka = &key[pair], *kb = ka + stride;
        std::vector<std::pair<u32, u32>> ends; /* the place in A and in B where each sample of either begins */
        for (u32 i = 0; i < samples; i++) {
            ends.push_back({i * 128, (u32)(std::lower_bound(kb, kb + stride, ka[i * 128]) - kb)});
            ends.push_back({(u32)(std::upper_bound(ka, ka + stride, kb[i * 128]) - ka), i * 128});
        }
        std::sort(ends.begin(), ends.end(), [](auto x, auto y) { return x.first + x.second < y.first + y.second; });
        for (u32 i = 0; i < 2 * samples; i++) { a[pair / 128 + i] = ends[i].first; b[pair / 128 + i] = ends[i].second; }
    }
    u32 *out_key = (u32 *)device(4 * n), *out_value = (u32 *)device(4 * n);
    merge_intervals<<<n / 128, 128>>>(out_key, out_value, (u32 *)device(4 * n, key.data()), (u32 *)device(4 * n, value.data()), (u32 *)device(4 * a.size(), a.data()),
                                      (u32 *)device(4 * b.size(), b.data()), stride, n);
    report(out_key, 4 * n);
}

static void run_quasirandom(bool inverse)
{
    const u32 n = 1 << 20;
    u32 host[3][31];
    for (u32(&row)[31] : host)
        for (u32 &x : row) x = random_word() >> 1;
    CHECK(cudaMemcpyToSymbol(table, host, sizeof host));
    float *out = (float *)device(12 * (size_t)n);
    if (inverse) inverse_normals<<<128, 128>>>(out, nullptr, 3 * n);
    else quasirandom<<<128, dim3(128, 3)>>>(out, 0, n);
    report(out, 12 * (size_t)n);
}

static void run_sobol()
{
    const u32 vectors = 100000, dimensions = 100;
    float *out = (float *)device(4 * (size_t)vectors * dimensions);
    sobol<<<dim3(1, dimensions), 64>>>(vectors, dimensions, words(32 * dimensions), out);
    report(out, 4 * (size_t)vectors * dimensions);
}

static const struct { const char *name; std::function<void()> run; } kernels[] = {
    {"tree_range", [] { run_tree(true); }}, {"tree_find", [] { run_tree(false); }},
    {"layer_forward", [] { run_layer(true); }}, {"adjust_weights", [] { run_layer(false); }},
    {"heat", run_heat}, {"nearest_centre", run_centres}, {"diffusion", run_diffusion}, {"product_columns", run_product}, {"image_q", run_image},
    {"cosine_texture", [] { run_cosine(true); }}, {"cosine_tiles", [] { run_cosine(false); }}, {"binomial", run_binomial},
    {"walsh_global", [] { run_walsh(false, 23); }}, {"walsh_global_near", [] { run_walsh(false, 13); }}, {"walsh_shared", [] { run_walsh(true, 11); }},
    {"bins_64", run_bins}, {"merge_tiles", run_merge_tiles}, {"merge_intervals", [] { run_merge_intervals(65536); }},
    {"quasirandom", [] { run_quasirandom(false); }}, {"inverse_normals", [] { run_quasirandom(true); }}, {"sobol", run_sobol}};

int main(int argc, char **argv)
{
    for (const auto &k : kernels)
        if (argc == 2 && !strcmp(argv[1], k.name)) { k.run(); return 0; }
    fprintf(stderr, "usage: validation KERNEL, one of");
    for (const auto &k : kernels) fprintf(stderr, " %s", k.name);
    fprintf(stderr, "\n");
    return 2;
}
