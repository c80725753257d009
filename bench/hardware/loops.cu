/* SPDX-License-Identifier: MIT */
// Kernels of common kinds, for their innermost loops alone: nothing here was looked at before the model was held against it.
#include <stdint.h>
typedef unsigned long long u64;
typedef unsigned int u32;
typedef unsigned char u8;
#define K extern "C" __global__ void
#define ID (blockIdx.x * blockDim.x + threadIdx.x)

K hash64_mix(const u64 *a, u64 *out, int n, int rounds)
{
    int i = ID;
    if (i >= n) return;
    u64 h = a[i];
    for (int r = 0; r < rounds; r++) {
        h ^= h >> 33; h *= 0xff51afd7ed558ccdull; h ^= h >> 33; h *= 0xc4ceb9fe1a85ec53ull; h ^= h >> 33;
        h += a[(i + r) % n];
    }
    out[i] = h;
}
K fnv_strings(const u8 *text, const int *offset, u64 *out, int n)
{
    int i = ID;
    if (i >= n) return;
    u64 h = 14695981039346656037ull;
    for (int k = offset[i]; k < offset[i + 1]; k++) { h ^= text[k]; h *= 1099511628211ull; }
    out[i] = h;
}
K scan_tile(const u32 *in, u32 *out, int n)
{
    __shared__ u32 t[2][256];
    int x = threadIdx.x, at = 0;
    t[0][x] = ID < n ? in[ID] : 0;
    __syncthreads();
    for (int d = 1; d < blockDim.x; d *= 2) {
        t[1 - at][x] = x >= d ? t[at][x] + t[at][x - d] : t[at][x];
        at = 1 - at;
        __syncthreads();
    }
    if (ID < n) out[ID] = t[at][x];
}
K conv_halo(const float *in, const float *w, float *out, int width, int height, int radius)
{
    __shared__ float t[48][48];
    int bx = blockIdx.x * 16, by = blockIdx.y * 16;
    for (int y = threadIdx.y; y < 16 + 2 * radius; y += 16)
        for (int x = threadIdx.x; x < 16 + 2 * radius; x += 16) {
            int gx = min(max(bx + x - radius, 0), width - 1), gy = min(max(by + y - radius, 0), height - 1);
            t[y][x] = in[gy * width + gx];
        }
    __syncthreads();
    float s = 0;
    for (int j = 0; j <= 2 * radius; j++)
        for (int i = 0; i <= 2 * radius; i++) s += t[threadIdx.y + j][threadIdx.x + i] * w[j * (2 * radius + 1) + i];
    out[(by + threadIdx.y) * width + bx + threadIdx.x] = s;
}
K find_substring(const char *text, const char *word, int *hits, int n, int m)
{
    int i = ID;
    if (i + m > n) return;
    int k = 0;
    while (k < m && text[i + k] == word[k]) k++;
    if (k == m) atomicAdd(hits, 1);
}
K byte_histogram(const u32 *in, u32 *out, int n)
{
    __shared__ u32 bins[256];
    bins[threadIdx.x] = 0;
    __syncthreads();
    for (int i = ID; i < n; i += gridDim.x * blockDim.x) {
        u32 v = in[i];
        atomicAdd(&bins[v & 255], 1); atomicAdd(&bins[(v >> 8) & 255], 1);
        atomicAdd(&bins[(v >> 16) & 255], 1); atomicAdd(&bins[v >> 24], 1);
    }
    __syncthreads();
    atomicAdd(&out[threadIdx.x], bins[threadIdx.x]);
}
K poly_fp64(const double *x, const double *c, double *y, int n, int degree)
{
    int i = ID;
    if (i >= n) return;
    double v = x[i], s = 0;
    for (int k = 0; k < degree; k++) s = s * v + c[k];
    y[i] = s;
}
K sptrsv(const int *row, const int *col, const double *val, const double *b, double *x, const int *order, int n)
{
    int r = ID;
    if (r >= n) return;
    r = order[r];
    double s = b[r], d = 1;
    for (int k = row[r]; k < row[r + 1]; k++) {
        int c = col[k];
        if (c == r) d = val[k]; else s -= val[k] * x[c];
    }
    x[r] = s / d;
}
K popc_matrix(const u64 *a, const u64 *b, int *c, int n, int words)
{
    int i = blockIdx.y * blockDim.y + threadIdx.y, j = ID, s = 0;
    for (int k = 0; k < words; k++) s += __popcll(~(a[i * words + k] ^ b[j * words + k]));
    c[i * n + j] = 2 * s - 64 * words;
}
K quant_dot(const int *a, const int *b, const float *scale, float *c, int n, int words)
{
    int i = blockIdx.y, j = ID, s = 0;
    for (int k = 0; k < words; k++) s = __dp4a(a[i * words + k], b[k * n + j], s);
    c[i * n + j] = s * scale[i];
}
K bitonic_shared(int *a)
{
    __shared__ int t[512];
    int x = threadIdx.x;
    t[x] = a[ID * 2]; t[x + 256] = a[ID * 2 + 1];
    for (int k = 2; k <= 512; k *= 2)
        for (int j = k / 2; j > 0; j /= 2) {
            __syncthreads();
            int lo = (x & (j - 1)) + ((x & ~(j - 1)) << 1), hi = lo + j;
            int p = t[lo], q = t[hi];
            bool up = (lo & k) == 0;
            if ((p > q) == up) { t[lo] = q; t[hi] = p; }
        }
    __syncthreads();
    a[ID * 2] = t[x]; a[ID * 2 + 1] = t[x + 256];
}
K xorshift_pi(u64 *state, u32 *hits, int steps)
{
    u64 s = state[ID];
    u32 h = 0;
    for (int i = 0; i < steps; i++) {
        s ^= s >> 12; s ^= s << 25; s ^= s >> 27;
        u64 r = s * 2685821657736338717ull;
        float x = (u32)(r >> 40) * 5.9604645e-8f, y = (u32)(r & 0xffffff) * 5.9604645e-8f;
        h += x * x + y * y < 1.0f;
    }
    hits[ID] = h; state[ID] = s;
}
K fft_radix2(float2 *data, const float2 *twiddle, int log)
{
    __shared__ float2 t[1024];
    int x = threadIdx.x, n = 1 << log;
    t[x] = data[ID * 2]; t[x + n / 2] = data[ID * 2 + 1];
    for (int s = 0; s < log; s++) {
        __syncthreads();
        int half = 1 << s, k = x & (half - 1), i = ((x >> s) << (s + 1)) + k;
        float2 w = twiddle[k << (log - 1 - s)], p = t[i], q = t[i + half];
        float re = q.x * w.x - q.y * w.y, im = q.x * w.y + q.y * w.x;
        t[i] = make_float2(p.x + re, p.y + im);
        t[i + half] = make_float2(p.x - re, p.y - im);
    }
    __syncthreads();
    data[ID * 2] = t[x]; data[ID * 2 + 1] = t[x + n / 2];
}
K flood_board(const u64 *walls, u64 *boards, int n, int steps)
{
    int i = ID;
    if (i >= n) return;
    u64 w = ~walls[i], b = boards[i];
    for (int s = 0; s < steps; s++) {
        b |= (b << 8) | (b >> 8) | ((b << 1) & 0xfefefefefefefefeull) | ((b >> 1) & 0x7f7f7f7f7f7f7f7full);
        b &= w;
    }
    boards[i] = b;
}
K ell_product(const float *val, const int *col, const float *x, float *y, int rows, int width)
{
    int r = ID;
    if (r >= rows) return;
    float s = 0;
    for (int k = 0; k < width; k++) s += val[k * rows + r] * x[col[k * rows + r]];
    y[r] = s;
}
K csr_by_warps(const int *row, const int *col, const float *val, const float *x, float *y, int n)
{
    int r = ID / 32, lane = threadIdx.x & 31;
    if (r >= n) return;
    float s = 0;
    for (int k = row[r] + lane; k < row[r + 1]; k += 32) s += val[k] * x[col[k]];
    for (int d = 16; d; d /= 2) s += __shfl_down_sync(~0u, s, d);
    if (!lane) y[r] = s;
}
K lu_update(float *a, int n, int k)
{
    int i = k + 1 + blockIdx.y * blockDim.y + threadIdx.y, j0 = k + 1 + threadIdx.x;
    if (i >= n) return;
    float l = a[i * n + k];
    for (int j = j0; j < n; j += 32) a[i * n + j] -= l * a[k * n + j];
}
K cholesky_row(float *a, int n, int k)
{
    int i = k + ID;
    if (i >= n) return;
    float s = a[i * n + k];
    for (int j = 0; j < k; j++) s -= a[i * n + j] * a[k * n + j];
    a[i * n + k] = s;
}
K complex_product(const float2 *a, const float2 *b, float2 *c, int n)
{
    int i = blockIdx.y, j = ID;
    float2 s = make_float2(0, 0);
    for (int k = 0; k < n; k++) {
        float2 p = a[i * n + k], q = b[k * n + j];
        s.x += p.x * q.x - p.y * q.y; s.y += p.x * q.y + p.y * q.x;
    }
    c[i * n + j] = s;
}
K julia(int *out, int width, float cr, float ci, int most)
{
    int x = ID, y = blockIdx.y, k = 0;
    float a = x * 0.01f - 2, b = y * 0.01f - 1;
    while (k < most && a * a + b * b < 4) { float t = a * a - b * b + cr; b = 2 * a * b + ci; a = t; k++; }
    out[y * width + x] = k;
}
K ray_spheres(const float4 *sphere, const float3 *ray, float *out, int n, int count)
{
    int i = ID;
    if (i >= n) return;
    float3 d = ray[i];
    float best = 1e30f;
    for (int k = 0; k < count; k++) {
        float4 s = sphere[k];
        float b = s.x * d.x + s.y * d.y + s.z * d.z, c = s.x * s.x + s.y * s.y + s.z * s.z - s.w * s.w, h = b * b - c;
        if (h > 0) { float t = b - __fsqrt_rn(h); if (t > 0 && t < best) best = t; }
    }
    out[i] = best;
}
K lattice_step(const float *in, float *out, int n, int steps, float omega)
{
    int i = ID;
    if (i >= n) return;
    for (int s = 0; s < steps; s++) {
        float f0 = in[i], f1 = in[i + n], f2 = in[i + 2 * n], f3 = in[i + 3 * n], f4 = in[i + 4 * n];
        float rho = f0 + f1 + f2 + f3 + f4, ux = (f1 - f3) / rho, uy = (f2 - f4) / rho, u2 = 1.5f * (ux * ux + uy * uy);
        out[i] = f0 - omega * (f0 - rho * (1 - u2) / 3);
        out[i + n] = f1 - omega * (f1 - rho / 6 * (1 + 3 * ux + 4.5f * ux * ux - u2));
        out[i + 2 * n] = f2 - omega * (f2 - rho / 6 * (1 + 3 * uy + 4.5f * uy * uy - u2));
        out[i + 3 * n] = f3 - omega * (f3 - rho / 6 * (1 - 3 * ux + 4.5f * ux * ux - u2));
        out[i + 4 * n] = f4 - omega * (f4 - rho / 6 * (1 - 3 * uy + 4.5f * uy * uy - u2));
        i += gridDim.x * blockDim.x;
        if (i >= n) i -= n;
    }
}
K queens_bits(u64 *out, int n, u64 first)
{
    u64 stack[32], cols = first << ID, all = (1ull << n) - 1, count = 0, d1 = cols << 1, d2 = cols >> 1;
    u64 free_ = all & ~(cols | d1 | d2);
    int depth = 0;
    while (free_ || depth) {
        if (!free_) { free_ = stack[--depth]; continue; }
        u64 bit = free_ & -free_;
        free_ ^= bit;
        count += __popcll(bit & cols);
        if (depth < 31) { stack[depth++] = free_; free_ = all & ~(cols | (bit << depth) | (bit >> depth)) & ~bit; }
    }
    out[ID] = count;
}
K lcs_row(const char *a, const char *b, const int *prev, int *next, int n, int i)
{
    int left = 0;
    char ca = a[i + ID];
    for (int j = 0; j < n; j++) {
        int up = prev[j + 1], diag = prev[j];
        left = ca == b[j] ? diag + 1 : max(up, left);
        next[j + 1] = left;
    }
}
K smith_waterman(const char *a, const char *b, int *h, int n, int m, int gap)
{
    int i = ID, best = 0, left = 0, diag = 0;
    for (int j = 0; j < m; j++) {
        int up = h[j * n + i];
        int s = max(max(0, diag + (a[i] == b[j] ? 2 : -1)), max(up - gap, left - gap));
        diag = up; left = s; best = max(best, s);
        h[j * n + i] = s;
    }
    h[m * n + i] = best;
}
K nearest_mean(const float *x, const float *mean, int *out, int n, int k, int dims)
{
    int i = ID, which = 0;
    if (i >= n) return;
    float best = 1e30f;
    for (int c = 0; c < k; c++) {
        float s = 0;
        for (int d = 0; d < dims; d++) { float t = x[d * n + i] - mean[c * dims + d]; s += t * t; }
        if (s < best) { best = s; which = c; }
    }
    out[i] = which;
}
K rank_pull(const int *row, const int *col, const float *rank, const int *degree, float *out, int n, float damping)
{
    int v = ID;
    if (v >= n) return;
    float s = 0;
    for (int k = row[v]; k < row[v + 1]; k++) { int u = col[k]; s += rank[u] / degree[u]; }
    out[v] = (1 - damping) / n + damping * s;
}
K join_probe(const u64 *keys, const u64 *table, const u32 *payload, u32 *out, int n, u32 mask)
{
    int i = ID;
    if (i >= n) return;
    u64 key = keys[i];
    u32 slot = (u32)(key * 0x9e3779b97f4a7c15ull >> 32) & mask, found = ~0u;
    while (table[slot] != ~0ull) {
        if (table[slot] == key) { found = payload[slot]; break; }
        slot = (slot + 1) & mask;
    }
    out[i] = found;
}
K montgomery_power(const u64 *base, const u64 *exponent, u64 *out, u64 mod, u64 inverse, int n)
{
    int i = ID;
    if (i >= n) return;
    u64 b = base[i], e = exponent[i], r = 1;
    while (e) {
        if (e & 1) { u64 lo = r * b, hi = __umul64hi(r, b), q = lo * inverse; u64 t = __umul64hi(q, mod); r = hi >= t ? hi - t : hi - t + mod; }
        u64 lo = b * b, hi = __umul64hi(b, b), q = lo * inverse, t = __umul64hi(q, mod);
        b = hi >= t ? hi - t : hi - t + mod;
        e >>= 1;
    }
    out[i] = r;
}
K long_sum(const u64 *a, const u64 *b, u64 *c, int n, int words)
{
    int i = ID;
    if (i >= n) return;
    u64 carry = 0;
    for (int k = 0; k < words; k++) {
        u64 x = a[k * n + i], s = x + b[k * n + i], t = s + carry;
        carry = (s < x) | (t < s);
        c[k * n + i] = t;
    }
}
K pcg_numbers(u64 *state, u32 *out, int n, int each)
{
    int i = ID;
    u64 s = state[i];
    for (int k = 0; k < each; k++) {
        u64 old = s;
        s = old * 6364136223846793005ull + 1442695040888963407ull;
        u32 x = (u32)(((old >> 18) ^ old) >> 27), r = (u32)(old >> 59);
        out[k * n + i] = (x >> r) | (x << (-r & 31));
    }
    state[i] = s;
}
K bilinear(const float *in, float *out, int width, int height, float scale, int rows)
{
    int x = ID;
    for (int y = blockIdx.y; y < rows; y += gridDim.y) {
        float fx = x * scale, fy = y * scale;
        int ix = (int)fx, iy = (int)fy, jx = min(ix + 1, width - 1), jy = min(iy + 1, height - 1);
        float u = fx - ix, v = fy - iy;
        float top = in[iy * width + ix] * (1 - u) + in[iy * width + jx] * u, low = in[jy * width + ix] * (1 - u) + in[jy * width + jx] * u;
        out[y * width + x] = top * (1 - v) + low * v;
    }
}
K crc_table(const u8 *text, const u32 *table, u32 *out, int n, int length)
{
    __shared__ u32 t[256];
    t[threadIdx.x] = table[threadIdx.x];
    __syncthreads();
    u32 c = ~0u;
    for (int k = 0; k < length; k++) c = t[(c ^ text[k * n + ID]) & 255] ^ (c >> 8);
    out[ID] = ~c;
}
K morton_order(const u32 *x, const u32 *y, u64 *out, int n)
{
    for (int i = ID; i < n; i += gridDim.x * blockDim.x) {
        u64 a = x[i], b = y[i];
        a = (a | a << 16) & 0x0000ffff0000ffffull; a = (a | a << 8) & 0x00ff00ff00ff00ffull; a = (a | a << 4) & 0x0f0f0f0f0f0f0f0full;
        a = (a | a << 2) & 0x3333333333333333ull; a = (a | a << 1) & 0x5555555555555555ull;
        b = (b | b << 16) & 0x0000ffff0000ffffull; b = (b | b << 8) & 0x00ff00ff00ff00ffull; b = (b | b << 4) & 0x0f0f0f0f0f0f0f0full;
        b = (b | b << 2) & 0x3333333333333333ull; b = (b | b << 1) & 0x5555555555555555ull;
        out[i] = a | b << 1;
    }
}
K vortices(const float4 *p, float2 *v, int n)
{
    int i = ID;
    float4 me = p[i];
    float2 s = make_float2(0, 0);
    for (int j = 0; j < n; j++) {
        float4 o = p[j];
        float dx = me.x - o.x, dy = me.y - o.y, w = o.z * __frcp_rn(dx * dx + dy * dy + 0.01f);
        s.x -= dy * w; s.y += dx * w;
    }
    v[i] = s;
}
K fixed_filter(const int *in, const int *taps, int *out, int n, int count)
{
    int i = ID;
    if (i >= n) return;
    long long s = 1 << 14;
    for (int k = 0; k < count; k++) s += (long long)in[i + k] * taps[k];
    out[i] = (int)(s >> 15);
}
