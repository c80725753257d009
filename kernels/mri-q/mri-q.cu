/* SPDX-License-Identifier: MIT */
/*
 * mri-q: the matrix Q of non-Cartesian MRI reconstruction: for every point x of space the sum over all samples k of
 * |phi(k)|^2 * (cos, sin)(2 pi k.x), single precision.
 *
 * The papers use Parboil's mri-q as a compute-intensive kernel (MRIQ in Kernelet). Two kernels as there: one computes
 * |phi|^2 (and packs it with its sample's position); then, for 1024 samples at a time that are copied to constant
 * memory, one accumulates Q: a thread per point, 256 threads a block, sums in registers, sine and cosine by the special
 * function unit.
 *
 * What limits it: issue slots and special functions: two of these and six fp32 operations per sample that all threads
 * of a warp read at the same constant address; next to no global memory traffic.
 */
#define SAMPLES_PER_LAUNCH 1024
#define TWO_PI 6.2831853071795864769f

__constant__ float4 samples[SAMPLES_PER_LAUNCH]; /* kx, ky, kz, |phi|^2 */

extern "C" __global__ void __launch_bounds__(512)
    compute_phi_magnitude(const float *phi_r, const float *phi_i, const float *kx, const float *ky, const float *kz,
                          float4 *packed, int count)
{
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= count)
        return;
    float real = phi_r[k];
    float imaginary = phi_i[k];
    float4 sample;
    sample.x = kx[k];
    sample.y = ky[k];
    sample.z = kz[k];
    sample.w = real * real + imaginary * imaginary;
    packed[k] = sample;
}

extern "C" __global__ void __launch_bounds__(256)
    compute_q(int count, const float *x, const float *y, const float *z, float *q_r, float *q_i, int points)
{
    int point = blockIdx.x * blockDim.x + threadIdx.x;
    if (point >= points)
        return;
    float px = x[point];
    float py = y[point];
    float pz = z[point];
    float real = q_r[point];
    float imaginary = q_i[point];
#pragma unroll 2
    for (int k = 0; k < count; k++) {
        float4 sample = samples[k];
        float angle = TWO_PI * (sample.x * px + sample.y * py + sample.z * pz);
        real += sample.w * __cosf(angle);
        imaginary += sample.w * __sinf(angle);
    }
    q_r[point] = real;
    q_i[point] = imaginary;
}
