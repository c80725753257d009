/* SPDX-License-Identifier: MIT */
/*
 * lib: a portfolio of swaptions valued by Monte Carlo simulation of the LIBOR market model, and its sensitivity to
 * every forward rate by the adjoint method, single precision.
 *
 * Each thread follows one path: `maturities` times a random number moves all forward rates that are not yet fixed;
 * then the payoffs of 15 swaptions are added and discounted. libor_greeks keeps all rates of all steps and walks back
 * through them: what a change of the result is worth at the end of a step tells what a change at its beginning is
 * worth. libor_value only values.
 *
 * SMQoS (Parallel Computing 2022, table 3) uses LIB of the benchmarks of ISPASS 2009, a memory-intensive one
 * (Pathcalc_Portfolio_Kernel...: a kernel with and one without derivatives). The same shape here: 64 thread blocks of
 * 64 threads, 4096 paths, 80 forward rates, 40 maturities, 15 swaptions, arrays that live in local memory (14 KB a
 * thread with derivatives), rates and volatilities in constant memory. Where ours differs: that program moves every
 * path by the same fixed number; ours reads random normals from a buffer. It writes one of the 80 derivatives, ours
 * all of them. Its rates and volatilities are flat, ours are curves. Medium has fewer rates and maturities.
 *
 * What limits it: the latency of memory. For each rate and step a thread reads and writes local arrays, with a
 * division and an exponential between them, and runs over its rates from the first to the last again and again: with
 * 80 rates, those of the 256 threads of an SM do not stay in its L1. 64 thread blocks of two warps leave two warps to
 * a scheduler of a GTX 980 to hide that, which issues in one cycle of ten; DRAM is busy for a third of the time, with
 * what is written for the walk back.
 */
#define THREADS 64
#define RATES 80
#define MATURITIES 40
#define OPTIONS 15

__constant__ float initial_rate[RATES];
__constant__ float volatility[RATES];      /* by time to maturity */
__constant__ int option_maturity[OPTIONS]; /* rates after the last fixing that the swap runs over */
__constant__ float swap_rate[OPTIONS];

#define PERIOD 0.25f     /* years between maturities */
#define ROOT_PERIOD 0.5f /* its square root */
#define NOTIONAL 100.0f

/* Moves the rates over one period: those that mature after it. */
__device__ __forceinline__ void evolve(float *rate, int step, int rates, float normal)
{
    float drift = 0.0f;
    float shock = ROOT_PERIOD * normal;
    for (int i = step + 1; i < rates; i++) {
        float lambda = volatility[i - step - 1];
        float scaled = PERIOD * lambda;
        drift += __fdividef(scaled * rate[i], 1.0f + PERIOD * rate[i]);
        rate[i] *= __expf(scaled * drift + lambda * (shock - 0.5f * scaled));
    }
}

/* Values of zero bonds, bond[m], and of annuities that pay every period, annuity[m], seen from the last fixing. */
__device__ __forceinline__ void discount_curve(const float *rate, int maturities, int rates, float *bond,
                                               float *annuity)
{
    float b = 1.0f;
    float s = 0.0f;
    for (int i = maturities; i < rates; i++) {
        b = __fdividef(b, 1.0f + PERIOD * rate[i]);
        s += PERIOD * b;
        bond[i - maturities] = b;
        annuity[i - maturities] = s;
    }
}

/* From the last fixing back to today. */
__device__ __forceinline__ float discount_to_today(const float *rate, int maturities)
{
    float discount = 1.0f;
    for (int i = 0; i < maturities; i++)
        discount = __fdividef(discount, 1.0f + PERIOD * rate[i]);
    return discount;
}

/* normals[step * paths + path]; values[path] */
extern "C" __global__ void __launch_bounds__(THREADS)
    libor_value(const float *normals, float *values, int paths, int rates, int maturities)
{
    float rate[RATES];
    float bond[MATURITIES];
    float annuity[MATURITIES];
    const int path = blockIdx.x * THREADS + threadIdx.x;
    if (path >= paths)
        return;
    for (int i = 0; i < rates; i++)
        rate[i] = initial_rate[i];
    for (int step = 0; step < maturities; step++)
        evolve(rate, step, rates, normals[step * paths + path]);
    discount_curve(rate, maturities, rates, bond, annuity);
    float value = 0.0f;
    for (int k = 0; k < OPTIONS; k++) {
        int m = option_maturity[k] - 1;
        float swap = bond[m] + swap_rate[k] * annuity[m] - 1.0f;
        if (swap < 0.0f)
            value -= NOTIONAL * swap;
    }
    values[path] = value * discount_to_today(rate, maturities);
}

/* The same, and sensitivities[i * paths + path]: the derivative of the value by initial rate i. */
extern "C" __global__ void __launch_bounds__(THREADS)
    libor_greeks(const float *normals, float *values, float *sensitivities, int paths, int rates, int maturities)
{
    float rate[RATES];
    float history[(MATURITIES + 1) * RATES]; /* rates before each step, and after the last */
    float adjoint[RATES];                    /* derivative by the rate */
    float bond[MATURITIES];
    float annuity[MATURITIES];
    float bond_adjoint[MATURITIES];
    float annuity_adjoint[MATURITIES];
    const int path = blockIdx.x * THREADS + threadIdx.x;
    if (path >= paths)
        return;

    for (int i = 0; i < rates; i++) {
        rate[i] = initial_rate[i];
        history[i] = rate[i];
    }
    for (int step = 0; step < maturities; step++) {
        evolve(rate, step, rates, normals[step * paths + path]);
        for (int i = step + 1; i < rates; i++)
            history[(step + 1) * RATES + i] = rate[i];
    }

    discount_curve(rate, maturities, rates, bond, annuity);
    float discount = discount_to_today(rate, maturities);
    float value = 0.0f;
    for (int m = 0; m < rates - maturities; m++) {
        bond_adjoint[m] = 0.0f;
        annuity_adjoint[m] = 0.0f;
    }
    for (int k = 0; k < OPTIONS; k++) {
        int m = option_maturity[k] - 1;
        float swap = bond[m] + swap_rate[k] * annuity[m] - 1.0f;
        if (swap < 0.0f) {
            value -= NOTIONAL * swap;
            bond_adjoint[m] -= NOTIONAL * discount;
            annuity_adjoint[m] -= NOTIONAL * discount * swap_rate[k];
        }
    }
    value *= discount;
    values[path] = value;

    /* back through the discounting */
    for (int i = 0; i < maturities; i++)
        adjoint[i] = __fdividef(-PERIOD * value, 1.0f + PERIOD * rate[i]);
    float later = 0.0f; /* by bond i - 1, through bond i */
    float annuities = 0.0f;
    for (int i = rates - 1; i >= maturities; i--) {
        int m = i - maturities;
        annuities += annuity_adjoint[m];
        float by_bond = bond_adjoint[m] + PERIOD * annuities + later;
        later = __fdividef(by_bond, 1.0f + PERIOD * rate[i]);
        adjoint[i] = -PERIOD * bond[m] * later;
    }

    /* back through the steps */
    for (int step = maturities - 1; step >= 0; step--) {
        const float *before = history + step * RATES;
        const float *after = before + RATES;
        float by_drift = 0.0f;
        for (int i = rates - 1; i > step; i--) {
            float scaled = PERIOD * volatility[i - step - 1];
            float by_growth = adjoint[i] * after[i];
            float bond_of_period = __fdividef(1.0f, 1.0f + PERIOD * before[i]);
            by_drift += scaled * by_growth;
            adjoint[i] = __fdividef(by_growth, before[i]) + by_drift * scaled * bond_of_period * bond_of_period;
        }
    }
    for (int i = 0; i < rates; i++)
        sensitivities[i * paths + path] = adjoint[i];
}
