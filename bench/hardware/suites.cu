/* SPDX-License-Identifier: MIT */
// Kernels in the styles of public suites (Rodinia, Parboil, SHOC, PolyBench, samples of CUDA), written for loops.py: for their registers, their
// instructions and their innermost loops beside ptxas.
#include <stdint.h>
typedef unsigned int u32;
#define K extern "C" __global__ void
#define ID (blockIdx.x * blockDim.x + threadIdx.x)
#define TILE 16

K heat_pyramid(int steps, const float *power, const float *from, float *to, int columns, int rows, int border, float cap, float rx, float ry, float rz, float step)
{
    __shared__ float now[TILE][TILE], heat[TILE][TILE], next[TILE][TILE];
    const float ambient = 80.0f;
    int tx = threadIdx.x, ty = threadIdx.y, small = TILE - border * 2;
    int y0 = small * blockIdx.y - border, x0 = small * blockIdx.x - border, y = y0 + ty, x = x0 + tx, at = columns * y + x;
    float cap_step = step / cap, ix = 1 / rx, iy = 1 / ry, iz = 1 / rz;
    if (y >= 0 && y < rows && x >= 0 && x < columns) { now[ty][tx] = from[at]; heat[ty][tx] = power[at]; }
    __syncthreads();
    int top = y0 < 0 ? -y0 : 0, bottom = y0 + TILE > rows ? rows - 1 - y0 : TILE - 1;
    int left = x0 < 0 ? -x0 : 0, right = x0 + TILE > columns ? columns - 1 - x0 : TILE - 1;
    int n = max(ty - 1, top), s = min(ty + 1, bottom), w = max(tx - 1, left), e = min(tx + 1, right);
    bool done = false;
    for (int i = 0; i < steps; i++) {
        done = false;
        if (tx >= i + 1 && tx <= TILE - i - 2 && ty >= i + 1 && ty <= TILE - i - 2 && tx >= left && tx <= right && ty >= top && ty <= bottom) {
            done = true;
            next[ty][tx] = now[ty][tx] + cap_step * (heat[ty][tx] + (now[s][tx] + now[n][tx] - 2.0f * now[ty][tx]) * iy +
                           (now[ty][e] + now[ty][w] - 2.0f * now[ty][tx]) * ix + (ambient - now[ty][tx]) * iz);
        }
        __syncthreads();
        if (i == steps - 1) break;
        if (done) now[ty][tx] = next[ty][tx];
        __syncthreads();
    }
    if (done) to[at] = next[ty][tx];
}

K speckle_gradient(float *e, float *w, float *n, float *s, const float *image, float *c, int columns, int rows, float q0)
{
    int tx = threadIdx.x, ty = threadIdx.y, bx = blockIdx.x, by = blockIdx.y;
    int at = columns * TILE * by + TILE * bx + columns * ty + tx;
    __shared__ float tile[TILE][TILE], result[TILE][TILE];
    __shared__ float north[TILE][TILE], south[TILE][TILE], east[TILE][TILE], west[TILE][TILE];
    int up = columns * TILE * by + TILE * bx + tx - columns, down = columns * TILE * by + TILE * bx + columns * TILE + tx;
    int left = columns * TILE * by + TILE * bx + columns * ty - 1, right = columns * TILE * by + TILE * bx + columns * ty + TILE;
    north[ty][tx] = image[by == 0 ? TILE * bx + tx : up];
    south[ty][tx] = image[by == gridDim.y - 1 ? columns * TILE * (gridDim.y - 1) + TILE * bx + columns * (TILE - 1) + tx : down];
    __syncthreads();
    west[ty][tx] = image[bx == 0 ? columns * TILE * by + columns * ty : left];
    east[ty][tx] = image[bx == gridDim.x - 1 ? columns * TILE * by + TILE * (gridDim.x - 1) + columns * ty + TILE - 1 : right];
    tile[ty][tx] = image[at];
    __syncthreads();
    float j = tile[ty][tx];
    float dn = (ty == 0 ? north[ty][tx] : tile[ty - 1][tx]) - j, ds = (ty == TILE - 1 ? south[ty][tx] : tile[ty + 1][tx]) - j;
    float dw = (tx == 0 ? west[ty][tx] : tile[ty][tx - 1]) - j, de = (tx == TILE - 1 ? east[ty][tx] : tile[ty][tx + 1]) - j;
    float g2 = (dn * dn + ds * ds + dw * dw + de * de) / (j * j), l = (dn + ds + dw + de) / j;
    float number = 0.5f * g2 - (1.0f / 16.0f) * (l * l), den = 1 + .25f * l, q = number / (den * den);
    den = (q - q0) / (q0 * (1 + q0));
    float v = 1.0f / (1.0f + den);
    result[ty][tx] = v < 0 ? 0 : v > 1 ? 1 : v;
    __syncthreads();
    c[at] = result[ty][tx];
    e[at] = de; w[at] = dw; s[at] = ds; n[at] = dn;
}

K lu_inside(float *m, int dim, int offset)
{
    __shared__ float row[TILE][TILE], column[TILE][TILE];
    int gr = offset + (blockIdx.y + 1) * TILE, gc = offset + (blockIdx.x + 1) * TILE;
    row[threadIdx.y][threadIdx.x] = m[(offset + threadIdx.y) * dim + gc + threadIdx.x];
    column[threadIdx.y][threadIdx.x] = m[(gr + threadIdx.y) * dim + offset + threadIdx.x];
    __syncthreads();
    float sum = 0;
    for (int i = 0; i < TILE; i++) sum += column[threadIdx.y][i] * row[i][threadIdx.x];
    m[(gr + threadIdx.y) * dim + gc + threadIdx.x] -= sum;
}

K lu_corner(float *m, int dim, int offset)
{
    __shared__ float t[TILE][TILE];
    int at = offset * dim + offset;
    for (int i = 0; i < TILE; i++, at += dim) t[i][threadIdx.x] = m[at + threadIdx.x];
    __syncthreads();
    for (int i = 0; i < TILE - 1; i++) {
        if (threadIdx.x > i) {
            for (int j = 0; j < i; j++) t[threadIdx.x][i] -= t[threadIdx.x][j] * t[j][i];
            t[threadIdx.x][i] /= t[i][i];
        }
        __syncthreads();
        if (threadIdx.x > i)
            for (int j = 0; j < i + 1; j++) t[i + 1][threadIdx.x] -= t[i + 1][j] * t[j][threadIdx.x];
        __syncthreads();
    }
    at = (offset + 1) * dim + offset;
    for (int i = 1; i < TILE; i++, at += dim) m[at + threadIdx.x] = t[i][threadIdx.x];
}

K lu_edges(float *m, int dim, int offset)
{
    __shared__ float d[TILE][TILE], row[TILE][TILE], column[TILE][TILE];
    int half = threadIdx.x >= TILE, x = half ? threadIdx.x - TILE : threadIdx.x;
    int at = half ? (offset + TILE / 2) * dim + offset : offset * dim + offset;
    for (int i = half ? TILE / 2 : 0; i < (half ? TILE : TILE / 2); i++, at += dim) d[i][x] = m[at + x];
    at = half ? (offset + (blockIdx.x + 1) * TILE) * dim + offset : offset * dim + offset;
    for (int i = 0; i < TILE; i++, at += dim)
        if (half) column[i][x] = m[at + x];
        else row[i][x] = m[at + (blockIdx.x + 1) * TILE + x];
    __syncthreads();
    if (!half)
        for (int i = 1; i < TILE; i++)
            for (int j = 0; j < i; j++) row[i][x] -= d[i][j] * row[j][x];
    else
        for (int i = 0; i < TILE; i++) {
            for (int j = 0; j < i; j++) column[x][i] -= column[x][j] * d[j][i];
            column[x][i] /= d[i][i];
        }
    __syncthreads();
    at = half ? (offset + (blockIdx.x + 1) * TILE) * dim + offset : (offset + 1) * dim + offset;
    for (int i = half ? 0 : 1; i < TILE; i++, at += dim) {
        if (half) m[at + x] = column[i][x];
        else m[at + (blockIdx.x + 1) * TILE + x] = row[i][x];
    }
}

__device__ int most(int a, int b, int c) { int k = a <= b ? b : a; return k <= c ? c : k; }
K align_diagonals(const int *reference, int *items, int columns, int penalty, int i, int width)
{
    int tx = threadIdx.x, bx = blockIdx.x, ix = bx, iy = i - 1 - bx;
    int base = columns * TILE * iy + TILE * ix, at = base + tx + columns + 1, n = base + tx + 1, w = base + columns, nw = base;
    __shared__ int temp[TILE + 1][TILE + 1], ref[TILE][TILE];
    if (tx == 0) temp[tx][0] = items[nw];
    for (int ty = 0; ty < TILE; ty++) ref[ty][tx] = reference[at + columns * ty];
    __syncthreads();
    temp[tx + 1][0] = items[w + columns * tx];
    __syncthreads();
    temp[0][tx + 1] = items[n];
    __syncthreads();
    for (int m = 0; m < TILE; m++) {
        if (tx <= m) {
            int x = tx + 1, y = m - tx + 1;
            temp[y][x] = most(temp[y - 1][x - 1] + ref[y - 1][x - 1], temp[y][x - 1] - penalty, temp[y - 1][x] - penalty);
        }
        __syncthreads();
    }
    for (int m = TILE - 2; m >= 0; m--) {
        if (tx <= m) {
            int x = tx + TILE - m, y = TILE - tx;
            temp[y][x] = most(temp[y - 1][x - 1] + ref[y - 1][x - 1], temp[y][x - 1] - penalty, temp[y - 1][x] - penalty);
        }
        __syncthreads();
    }
    for (int ty = 0; ty < TILE; ty++) items[at + ty * columns] = temp[ty + 1][tx + 1];
}

K path_rows(int steps, const int *wall, const int *from, int *to, int columns, int rows, int start, int border)
{
    __shared__ int now[256], next[256];
    int tx = threadIdx.x, small = 256 - steps * 2, x0 = small * blockIdx.x - border, last = x0 + 255, x = x0 + tx;
    int left = x0 < 0 ? -x0 : 0, right = last > columns - 1 ? 255 - (last - columns + 1) : 255;
    int w = max(tx - 1, left), e = min(tx + 1, right);
    bool valid = tx >= left && tx <= right, done = false;
    if (x >= 0 && x < columns) now[tx] = from[x];
    __syncthreads();
    for (int i = 0; i < steps; i++) {
        done = false;
        if (tx >= i + 1 && tx <= 254 - i && valid) {
            done = true;
            next[tx] = min(min(now[w], now[tx]), now[e]) + wall[columns * (start + i) + x];
        }
        __syncthreads();
        if (i == steps - 1) break;
        if (done) now[tx] = next[tx];
        __syncthreads();
    }
    if (done) to[x] = next[tx];
}

struct node { int first, count; };
K bfs_level(const node *nodes, const int *edges, bool *mask, bool *updating, bool *seen, int *cost, int count)
{
    int t = blockIdx.x * 512 + threadIdx.x;
    if (t < count && mask[t]) {
        mask[t] = false;
        for (int i = nodes[t].first; i < nodes[t].count + nodes[t].first; i++) {
            int id = edges[i];
            if (!seen[id]) { cost[id] = cost[t] + 1; updating[id] = true; }
        }
    }
}
K bfs_update(bool *mask, bool *updating, bool *seen, bool *over, int count)
{
    int t = blockIdx.x * 512 + threadIdx.x;
    if (t < count && updating[t]) { mask[t] = true; seen[t] = true; *over = true; updating[t] = false; }
}

__constant__ float centres[34 * 8];
K nearest_centre(const float *features, int *member, int points, int clusters, int dims)
{
    int p = ID, index = -1;
    if (p >= points) return;
    float best = 3.4e38f;
    for (int i = 0; i < clusters; i++) {
        float d = 0;
        for (int j = 0; j < dims; j++) { float x = features[j * points + p] - centres[i * dims + j]; d += x * x; }
        if (d < best) { best = d; index = i; }
    }
    member[p] = index;
}

K layer_forward(const float *input, float *weights, float *partial, int in, int hid)
{
    int by = blockIdx.y, tx = threadIdx.x, ty = threadIdx.y;
    int at = (hid + 1) * TILE * by + (hid + 1) * ty + tx + 1 + (hid + 1), from = TILE * by + ty + 1;
    __shared__ float node[TILE], w[TILE][TILE];
    if (tx == 0) node[ty] = input[from];
    __syncthreads();
    w[ty][tx] = weights[at];
    __syncthreads();
    w[ty][tx] = w[ty][tx] * node[ty];
    __syncthreads();
    for (int i = 1; i <= 4; i++) {
        int p = 1 << i;
        if (ty % p == 0) w[ty][tx] = w[ty][tx] + w[ty + p / 2][tx];
        __syncthreads();
    }
    weights[at] = w[ty][tx];
    __syncthreads();
    if (tx == 0) partial[by * hid + ty] = w[tx][ty];
}
K adjust_weights(const float *delta, int hid, const float *ly, int in, float *w, float *old)
{
    int by = blockIdx.y, tx = threadIdx.x, ty = threadIdx.y;
    int at = (hid + 1) * TILE * by + (hid + 1) * ty + tx + 1 + (hid + 1), y = TILE * by + ty + 1, x = tx + 1;
    w[at] += 0.3f * delta[x] * ly[y] + 0.3f * old[at];
    old[at] = 0.3f * delta[x] * ly[y] + 0.3f * old[at];
    __syncthreads();
    if (ty == 0 && by == 0) { w[x] += 0.3f * delta[x] + 0.3f * old[x]; old[x] = 0.3f * delta[x] + 0.3f * old[x]; }
}

K eliminate_factors(float *m, const float *a, int size, int t)
{
    if (ID >= size - 1 - t) return;
    m[size * (ID + t + 1) + t] = a[size * (ID + t + 1) + t] / a[size * t + t];
}
K eliminate_rows(const float *m, float *a, float *b, int size, int j1, int t)
{
    int x = ID, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= size - 1 - t || y >= size - t) return;
    a[size * (x + 1 + t) + y + t] -= m[size * (x + 1 + t) + t] * a[size * t + y + t];
    if (y == 0) b[x + 1 + t] -= m[size * (x + 1 + t) + y + t] * b[t];
}

struct four { double v, x, y, z; };
struct box { int x, y, z, number; long offset; int neighbours; struct { int x, y, z, number; long offset; } near[26]; };
K boxes_forces(double alpha, int boxes, const box *b, const four *rv, const double *qv, four *fv)
{
    int bx = blockIdx.x, tx = threadIdx.x, wtx = tx;
    __shared__ four ra[100], rb[100];
    __shared__ double qb[100];
    double a2 = 2.0 * alpha * alpha;
    int first = b[bx].offset;
    while (wtx < 100) { ra[wtx] = rv[first + wtx]; wtx += 128; }
    wtx = tx;
    __syncthreads();
    for (int k = 0; k < 1 + b[bx].neighbours; k++) {
        int other = k == 0 ? bx : b[bx].near[k - 1].number, at = b[other].offset;
        while (wtx < 100) { rb[wtx] = rv[at + wtx]; qb[wtx] = qv[at + wtx]; wtx += 128; }
        wtx = tx;
        __syncthreads();
        while (wtx < 100) {
            for (int j = 0; j < 100; j++) {
                double r2 = ra[wtx].v + rb[j].v - (ra[wtx].x * rb[j].x + ra[wtx].y * rb[j].y + ra[wtx].z * rb[j].z);
                double u2 = a2 * r2, vij = exp(-u2), fs = 2 * vij;
                double dx = ra[wtx].x - rb[j].x, dy = ra[wtx].y - rb[j].y, dz = ra[wtx].z - rb[j].z;
                fv[first + wtx].v += qb[j] * vij;
                fv[first + wtx].x += qb[j] * fs * dx;
                fv[first + wtx].y += qb[j] * fs * dy;
                fv[first + wtx].z += qb[j] * fs * dz;
            }
            wtx += 128;
        }
        wtx = tx;
        __syncthreads();
    }
}

struct flow { float3 x, y, z; };
__constant__ float far_away[5];
K euler_flux(int elements, const int *around, const float *normals, const float *v, float *fluxes)
{
    int i = ID;
    float density = v[i], mx = v[i + elements], my = v[i + 2 * elements], mz = v[i + 3 * elements], energy = v[i + 4 * elements];
    float vx = mx / density, vy = my / density, vz = mz / density, speed = vx * vx + vy * vy + vz * vz, root = sqrtf(speed);
    float pressure = (1.4f - 1.0f) * (energy - 0.5f * density * speed), sound = sqrtf(1.4f * pressure / density);
    float fd = 0, fx = 0, fy = 0, fz = 0, fe = 0;
#pragma unroll
    for (int j = 0; j < 4; j++) {
        int nb = around[i + j * elements];
        float nx = normals[i + (j + 0 * 4) * elements], ny = normals[i + (j + 1 * 4) * elements], nz = normals[i + (j + 2 * 4) * elements];
        float length = sqrtf(nx * nx + ny * ny + nz * nz);
        if (nb >= 0) {
            float d = v[nb], qx = v[nb + elements], qy = v[nb + 2 * elements], qz = v[nb + 3 * elements], e = v[nb + 4 * elements];
            float ux = qx / d, uy = qy / d, uz = qz / d, s = ux * ux + uy * uy + uz * uz, p = 0.4f * (e - 0.5f * d * s), c = sqrtf(1.4f * p / d);
            float factor = -length * 0.2f * 0.5f * (root + sqrtf(s) + sound + c);
            fd += factor * (density - d); fe += factor * (energy - e); fx += factor * (mx - qx); fy += factor * (my - qy); fz += factor * (mz - qz);
            factor = 0.5f * nx;
            fd += factor * (qx + mx); fe += factor * (ux * (e + p) + vx * (energy + pressure)); fx += factor * (ux * qx + p + vx * mx + pressure); fy += factor * (ux * qy + vx * my); fz += factor * (ux * qz + vx * mz);
            factor = 0.5f * ny;
            fd += factor * (qy + my); fe += factor * (uy * (e + p) + vy * (energy + pressure)); fx += factor * (uy * qx + vy * mx); fy += factor * (uy * qy + p + vy * my + pressure); fz += factor * (uy * qz + vy * mz);
            factor = 0.5f * nz;
            fd += factor * (qz + mz); fe += factor * (uz * (e + p) + vz * (energy + pressure)); fx += factor * (uz * qx + vz * mx); fy += factor * (uz * qy + vz * my); fz += factor * (uz * qz + p + vz * mz + pressure);
        } else if (nb == -1) {
            fx += nx * pressure; fy += ny * pressure; fz += nz * pressure;
        } else {
            float factor = 0.5f * nx;
            fd += factor * (far_away[1] + mx); fe += factor * (far_away[4] + vx * (energy + pressure)); fx += factor * (far_away[2] + vx * mx + pressure);
        }
    }
    fluxes[i] = fd; fluxes[i + elements] = fx; fluxes[i + 2 * elements] = fy; fluxes[i + 3 * elements] = fz; fluxes[i + 4 * elements] = fe;
}

struct tree_node { int location, indices[257], keys[257]; bool leaf; int count; };
K tree_find(long height, const tree_node *nodes, long count, long *current, long *offset, const int *keys, int *found)
{
    int t = threadIdx.x, b = blockIdx.x;
    for (int i = 0; i < height; i++) {
        if (nodes[current[b]].keys[t] <= keys[b] && nodes[current[b]].keys[t + 1] > keys[b])
            if (nodes[offset[b]].indices[t] < count) offset[b] = nodes[offset[b]].indices[t];
        __syncthreads();
        if (t == 0) current[b] = offset[b];
        __syncthreads();
    }
    if (nodes[current[b]].keys[t] == keys[b]) found[b] = nodes[current[b]].indices[t];
}

struct point { float weight, cost; int assign; };
K centre_gain(int n, int dims, int x, const point *p, int columns, int stride, const float *coordinates, float *work, const int *table, const bool *is_switch_in, bool *is_switch)
{
    extern __shared__ float own[];
    int t = ID;
    if (threadIdx.x == 0) for (int i = 0; i < dims; i++) own[i] = coordinates[i * n + x];
    __syncthreads();
    if (t >= n) return;
    float d = 0;
    for (int i = 0; i < dims; i++) { float a = coordinates[i * n + t] - own[i]; d += a * a; }
    d *= p[t].weight;
    if (d < p[t].cost) { is_switch[t] = true; work[(long)t * stride + columns] = d - p[t].cost; }
    else work[(long)t * stride + table[p[t].assign]] += p[t].cost - d;
}

K product_tiles(float *c, const float *a, const float *b, int wa, int wb)
{
    int bx = blockIdx.x, by = blockIdx.y, tx = threadIdx.x, ty = threadIdx.y;
    float sum = 0;
    for (int i = wa * 32 * by, j = 32 * bx; i <= wa * 32 * by + wa - 1; i += 32, j += 32 * wb) {
        __shared__ float s[32][32], t[32][32];
        s[ty][tx] = a[i + wa * ty + tx]; t[ty][tx] = b[j + wb * ty + tx];
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 32; k++) sum += s[ty][k] * t[k][tx];
        __syncthreads();
    }
    c[wb * 32 * by + 32 * bx + wb * ty + tx] = sum;
}
K product_columns(const float *a, int lda, const float *b, int ldb, float *c, int ldc, int k, float alpha, float beta)
{
    __shared__ float bs[8][16];
    float sums[16];
    for (int i = 0; i < 16; i++) sums[i] = 0;
    int mid = threadIdx.y * blockDim.x + threadIdx.x, m = blockIdx.x * 128 + mid, n = blockIdx.y * 16 + threadIdx.x;
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

K stencil_planes(float c0, float c1, const float *a, float *out, int nx, int ny, int nz)
{
    int i = ID, j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < 1 || j < 1 || i >= nx - 1 || j >= ny - 1) return;
#define AT(z) ((z) * nx * ny + j * nx + i)
    float below = a[AT(0)], now = a[AT(1)];
    for (int k = 1; k < nz - 1; k++) {
        float above = a[AT(k + 1)];
        out[AT(k)] = (above + below + a[AT(k) - nx] + a[AT(k) + nx] + a[AT(k) - 1] + a[AT(k) + 1]) * c1 - now * c0;
        below = now; now = above;
    }
}

K charges_cutoff(const float4 *bins, float *lattice, int bx_, int by_, const int *list, int length, float h, float cut2, float icut2)
{
    __shared__ float atoms[8 * 4 * 4];
    float e0 = 0, e1 = 0, e2 = 0, e3 = 0;
    float x = (blockIdx.x * 8 + (threadIdx.x & 7)) * h, y = (blockIdx.y * 8 + (threadIdx.x >> 3)) * h, z = threadIdx.y * h;
    for (int b = 0; b < length; b++) {
        __syncthreads();
        if (threadIdx.x < 32) atoms[threadIdx.x] = ((const float *)(bins + 8 * list[b]))[threadIdx.x];
        __syncthreads();
        for (int i = 0; i < 8; i++) {
            float q = atoms[4 * i + 3];
            if (q == 0) break;
            float dx = atoms[4 * i] - x, dz = atoms[4 * i + 2] - z, dy = atoms[4 * i + 1] - y, r2 = dx * dx + dz * dz, s;
            float r0 = r2 + dy * dy;
            if (r0 < cut2) { s = 1.f - r0 * icut2; e0 += q * rsqrtf(r0) * s * s; }
            dy -= 2 * h; r0 = r2 + dy * dy;
            if (r0 < cut2) { s = 1.f - r0 * icut2; e1 += q * rsqrtf(r0) * s * s; }
            dy -= 2 * h; r0 = r2 + dy * dy;
            if (r0 < cut2) { s = 1.f - r0 * icut2; e2 += q * rsqrtf(r0) * s * s; }
            dy -= 2 * h; r0 = r2 + dy * dy;
            if (r0 < cut2) { s = 1.f - r0 * icut2; e3 += q * rsqrtf(r0) * s * s; }
        }
    }
    float *o = lattice + (blockIdx.z * 4 * by_ + blockIdx.y) * bx_ + ID;
    o[0] = e0; o[bx_] = e1; o[2 * bx_] = e2; o[3 * bx_] = e3;
}

__constant__ float edges_of_bins[21];
K angles_histogram(u32 *hists, const float *xs, const float *ys, const float *zs, int sets, int elements)
{
    __shared__ float3 d[256];
    __shared__ u32 warps[20][8];
    int t = threadIdx.x, w = t / 32;
    for (int i = t; i < 20 * 8; i += 256) warps[i / 8][i % 8] = 0;
    __syncthreads();
    for (int i = 0; i < elements; i += 256) {
        if (i + t < elements) d[t] = make_float3(xs[i + t], ys[i + t], zs[i + t]);
        __syncthreads();
        for (int j = 0; j < elements; j += 256) {
            if (j + t < elements) {
                float x = xs[j + t], y = ys[j + t], z = zs[j + t];
                for (int k = 0; k < 256 && k + i < elements; k++) {
                    float dot = d[k].x * x + d[k].y * y + d[k].z * z;
                    u32 low = 0, high = 20;
                    while (high > low + 1) {
                        u32 mid = (low + high) / 2;
                        if (dot >= edges_of_bins[mid]) high = mid; else low = mid;
                    }
                    atomicAdd(&warps[low][w], 1u);
                }
            }
            __syncthreads();
        }
    }
    if (t < 20) { u32 s = 0; for (int i = 0; i < 8; i++) s += warps[t][i]; hists[blockIdx.x * 20 + t] = s; }
}

struct sample { float x, y, z, phi; };
__constant__ sample ck[1024];
K image_q(int n, int first, const float *x, const float *y, const float *z, float *qr, float *qi)
{
    int i = ID;
    float sx = x[i], sy = y[i], sz = z[i], r = qr[i], m = qi[i];
    for (int k = first & 1; k < 1024 && first < n; k += 2, first += 2) {
        float e = 6.2831853f * (ck[k].x * sx + ck[k].y * sy + ck[k].z * sz);
        r += ck[k].phi * cosf(e); m += ck[k].phi * sinf(e);
        e = 6.2831853f * (ck[k + 1].x * sx + ck[k + 1].y * sy + ck[k + 1].z * sz);
        r += ck[k + 1].phi * cosf(e); m += ck[k + 1].phi * sinf(e);
    }
    qr[i] = r; qi[i] = m;
}

K reduce_blocks(const float *in, float *out, u32 n)
{
    extern __shared__ volatile float s[];
    u32 t = threadIdx.x, i = blockIdx.x * 512 + t, step = 512 * gridDim.x;
    s[t] = 0;
    while (i < n) { s[t] += in[i] + in[i + 256]; i += step; }
    __syncthreads();
    if (t < 128) s[t] += s[t + 128];
    __syncthreads();
    if (t < 64) s[t] += s[t + 64];
    __syncthreads();
    if (t < 32) { s[t] += s[t + 32]; s[t] += s[t + 16]; s[t] += s[t + 8]; s[t] += s[t + 4]; s[t] += s[t + 2]; s[t] += s[t + 1]; }
    if (t == 0) out[blockIdx.x] = s[0];
}
K scan_up_down(float *out, const float *in, int n)
{
    extern __shared__ float t[];
    int id = threadIdx.x, offset = 1;
    t[2 * id] = in[2 * ID]; t[2 * id + 1] = in[2 * ID + 1];
    for (int d = n >> 1; d > 0; d >>= 1) {
        __syncthreads();
        if (id < d) { int a = offset * (2 * id + 1) - 1, b = offset * (2 * id + 2) - 1; t[b] += t[a]; }
        offset *= 2;
    }
    if (id == 0) t[n - 1] = 0;
    for (int d = 1; d < n; d *= 2) {
        offset >>= 1;
        __syncthreads();
        if (id < d) { int a = offset * (2 * id + 1) - 1, b = offset * (2 * id + 2) - 1; float x = t[a]; t[a] = t[b]; t[b] += x; }
    }
    __syncthreads();
    out[2 * ID] = t[2 * id]; out[2 * ID + 1] = t[2 * id + 1];
}

K lennard_jones(float4 *force, const float4 *position, int neighbours, const int *list, float cut2, float lj1, float lj2, int n)
{
    u32 i = ID;
    float4 p = position[i];
    float3 f = make_float3(0, 0, 0);
    for (int j = 0; j < neighbours; j++) {
        float4 q = position[list[j * n + i]];
        float dx = p.x - q.x, dy = p.y - q.y, dz = p.z - q.z, r2 = dx * dx + dy * dy + dz * dz;
        if (r2 < cut2) {
            r2 = 1.0f / r2;
            float r6 = r2 * r2 * r2, g = r2 * r6 * (lj1 * r6 - lj2);
            f.x += dx * g; f.y += dy * g; f.z += dz * g;
        }
    }
    force[i] = make_float4(f.x, f.y, f.z, 0);
}
K sparse_scalar(const float *v, const int *columns, const int *rows, const float *x, float *y, int n)
{
    int r = ID;
    if (r >= n) return;
    float s = 0;
    for (int j = rows[r]; j < rows[r + 1]; j++) s += v[j] * x[columns[j]];
    y[r] = s;
}
K sparse_warps(const double *v, const int *columns, const int *rows, const double *x, double *y, int n)
{
    __shared__ volatile double part[128];
    int t = threadIdx.x, lane = t & 31, r = blockIdx.x * 4 + t / 32;
    if (r >= n) return;
    double s = 0;
    for (int j = rows[r] + lane; j < rows[r + 1]; j += 32) s += v[j] * x[columns[j]];
    part[t] = s;
    if (lane < 16) part[t] += part[t + 16];
    if (lane < 8) part[t] += part[t + 8];
    if (lane < 4) part[t] += part[t + 4];
    if (lane < 2) part[t] += part[t + 2];
    if (lane == 0) y[r] = part[t] + part[t + 1];
}

__device__ float2 mul(float2 a, float2 b) { return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }
__device__ float2 add(float2 a, float2 b) { return make_float2(a.x + b.x, a.y + b.y); }
__device__ float2 sub(float2 a, float2 b) { return make_float2(a.x - b.x, a.y - b.y); }
__device__ void fft2(float2 &a, float2 &b) { float2 c = a; a = add(c, b); b = sub(c, b); }
__device__ void fft4(float2 &a, float2 &b, float2 &c, float2 &d)
{
    fft2(a, c); fft2(b, d);
    d = make_float2(d.y, -d.x);
    fft2(a, b); fft2(c, d);
}
__device__ void fft8(float2 *a)
{
    fft2(a[0], a[4]); fft2(a[1], a[5]); fft2(a[2], a[6]); fft2(a[3], a[7]);
    a[5] = mul(make_float2(1, -1), a[5]); a[5].x *= 0.70710678f; a[5].y *= 0.70710678f;
    a[6] = make_float2(a[6].y, -a[6].x);
    a[7] = mul(make_float2(-1, -1), a[7]); a[7].x *= 0.70710678f; a[7].y *= 0.70710678f;
    fft4(a[0], a[1], a[2], a[3]); fft4(a[4], a[5], a[6], a[7]);
}
K fourier_512(float2 *work)
{
    __shared__ float s[8 * 8 * 9];
    int t = threadIdx.x, hi = t >> 3, lo = t & 7;
    float2 d[8];
    work += blockIdx.x * 512 + t;
#pragma unroll
    for (int i = 0; i < 8; i++) d[i] = work[i * 64];
    fft8(d);
#pragma unroll
    for (int i = 1; i < 8; i++) { float sn, cs; __sincosf(-6.2831853f / 512 * i * t, &sn, &cs); d[i] = mul(d[i], make_float2(cs, sn)); }
#pragma unroll
    for (int i = 0; i < 8; i++) s[i * 66 + t] = d[i].x;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 8; i++) d[i].x = s[hi * 66 + lo + i * 8];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 8; i++) s[i * 66 + t] = d[i].y;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 8; i++) d[i].y = s[hi * 66 + lo + i * 8];
    fft8(d);
#pragma unroll
    for (int i = 0; i < 8; i++) work[i * 64] = d[i];
}

K options(const float *s, const float *x, const float *t, float *call, float *put, float r, float v, int n)
{
    int i = ID;
    if (i >= n) return;
    float root = sqrtf(t[i]), d1 = (logf(s[i] / x[i]) + (r + 0.5f * v * v) * t[i]) / (v * root), d2 = d1 - v * root, c[2], d[2] = {d1, d2};
#pragma unroll
    for (int k = 0; k < 2; k++) {
        float q = 1.0f / (1.0f + 0.2316419f * fabsf(d[k]));
        float cnd = 0.39894228f * expf(-0.5f * d[k] * d[k]) * (q * (0.31938153f + q * (-0.356563782f + q * (1.781477937f + q * (-1.821255978f + q * 1.330274429f)))));
        c[k] = d[k] > 0 ? 1.0f - cnd : cnd;
    }
    float e = expf(-r * t[i]);
    call[i] = s[i] * c[0] - x[i] * e * c[1];
    put[i] = x[i] * e * (1.0f - c[1]) - s[i] * (1.0f - c[0]);
}

__constant__ float taps[17];
K convolve_rows(float *out, const float *in, int w, int h, int pitch)
{
    __shared__ float s[4][(8 + 2) * 16];
    int x = (blockIdx.x * 8 - 1) * 16 + threadIdx.x, y = blockIdx.y * 4 + threadIdx.y;
    in += y * pitch + x; out += y * pitch + x;
#pragma unroll
    for (int i = 1; i < 9; i++) s[threadIdx.y][threadIdx.x + i * 16] = in[i * 16];
    s[threadIdx.y][threadIdx.x] = x >= 0 ? in[0] : 0;
    s[threadIdx.y][threadIdx.x + 9 * 16] = w - x > 9 * 16 ? in[9 * 16] : 0;
    __syncthreads();
#pragma unroll
    for (int i = 1; i < 9; i++) {
        float sum = 0;
#pragma unroll
        for (int j = -8; j <= 8; j++) sum += taps[8 - j] * s[threadIdx.y][threadIdx.x + i * 16 + j];
        out[i * 16] = sum;
    }
}

K correlate(float *symmetric, const float *data, int m, int n)
{
    int j1 = ID;
    if (j1 >= m - 1) return;
    symmetric[j1 * m + j1] = 1;
    for (int j2 = j1 + 1; j2 < m; j2++) {
        float s = 0;
        for (int i = 0; i < n; i++) s += data[i * m + j1] * data[i * m + j2];
        symmetric[j1 * m + j2] = s;
        symmetric[j2 * m + j1] = s;
    }
}
K fields(const float *fict, float *ex, float *ey, float *hz, int t, int nx, int ny)
{
    int j = ID, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= nx || j >= ny) return;
    if (i == 0) ey[i * ny + j] = fict[t];
    else ey[i * ny + j] = ey[i * ny + j] - 0.5f * (hz[i * ny + j] - hz[(i - 1) * ny + j]);
    if (j > 0) ex[i * (ny + 1) + j] = ex[i * (ny + 1) + j] - 0.5f * (hz[i * ny + j] - hz[i * ny + j - 1]);
}
K walsh(float *data, int stride)
{
    int pos = ID, n = blockDim.x * gridDim.x * 4, lo = pos & (stride - 1), i0 = ((pos - lo) << 2) + lo, i1 = i0 + stride, i2 = i1 + stride, i3 = i2 + stride;
    float *d = data + blockIdx.y * n, a = d[i0], b = d[i1], c = d[i2], e = d[i3], t = a;
    a = a + c; c = t - c; t = b; b = b + e; e = t - e; t = a;
    d[i0] = a + b; d[i1] = t - b; t = c; d[i2] = c + e; d[i3] = t - e;
}
K cosine_8x8(float *out, const float *in, int stride)
{
    __shared__ float t[8][9];
    int x = threadIdx.x, y = threadIdx.y, at = (blockIdx.y * 8 + y) * stride + blockIdx.x * 8 + x;
    t[y][x] = in[at];
    __syncthreads();
    float s = 0;
#pragma unroll
    for (int k = 0; k < 8; k++) s += t[y][k] * __cosf((2 * k + 1) * x * 0.19634954f);
    __syncthreads();
    t[y][x] = s;
    __syncthreads();
    s = 0;
#pragma unroll
    for (int k = 0; k < 8; k++) s += t[k][x] * __cosf((2 * k + 1) * y * 0.19634954f);
    out[at] = s;
}
K rates(const float *t, const float *c, float *w, int n)
{
    int i = ID;
    if (i >= n) return;
    float T = t[i], it = 1.0f / T, lt = logf(T), total = 0;
#pragma unroll
    for (int r = 0; r < 12; r++) {
        float k = expf(20.0f + 0.3f * r + (0.5f + 0.1f * r) * lt - (1000.0f + 130.0f * r) * it);
        float back = k * expf(-(3.0f + r) + (200.0f * r) * it), a = c[i + (r % 6) * n] * c[i + (r % 5 + 1) * n], b = c[i + (r % 4 + 2) * n] * c[i + (r % 3 + 3) * n];
        float q = k * a - back * b;
        total += q / (1.0f + fabsf(q) * 1e-3f);
        w[i + r * n] = q;
    }
    w[i + 12 * n] = total;
}
K bitonic_tile(u32 *key, u32 *value, u32 length, u32 direction)
{
    __shared__ u32 k[1024], v[1024];
    u32 t = threadIdx.x, at = blockIdx.x * 1024 + t;
    k[t] = key[at]; v[t] = value[at]; k[t + 512] = key[at + 512]; v[t + 512] = value[at + 512];
    for (u32 size = 2; size < length; size <<= 1) {
        u32 up = direction ^ ((t & (size / 2)) != 0);
        for (u32 stride = size / 2; stride > 0; stride >>= 1) {
            __syncthreads();
            u32 pos = 2 * t - (t & (stride - 1)), a = k[pos], b = k[pos + stride];
            if ((a > b) == up) { u32 x = v[pos]; k[pos] = b; k[pos + stride] = a; v[pos] = v[pos + stride]; v[pos + stride] = x; }
        }
    }
    __syncthreads();
    key[at] = k[t]; value[at] = v[t]; key[at + 512] = k[t + 512]; value[at + 512] = v[t + 512];
}
K heart_window(const float *frame, const float *tmpl, float *conv, int fr, int fc, int tr, int tc)
{
    for (int ei = threadIdx.x; ei < (fr + tr - 1) * (fc + tc - 1); ei += blockDim.x) {
        int rows = fr + tr - 1, row = (ei + 1) % rows - 1, column = (ei + 1) / rows;
        if ((ei + 1) % rows == 0) { row = rows - 1; column--; }
        int j = column + 1, i = row + 1, ja = max(1, j - tc + 1), jb = min(j, fc), ia = max(1, i - tr + 1), ib = min(i, fr);
        float s = 0;
        for (int a = ja; a <= jb; a++)
            for (int b = ia; b <= ib; b++) s += frame[(a - 1) * fr + b - 1] * tmpl[(j - a) * tr + i - b];
        conv[ei] = s;
    }
}
