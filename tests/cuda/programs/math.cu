/* SPDX-License-Identifier: MIT */
/*
 * Functions of <cmath> in kernels, under all their names, each against the host's in more precision: at drawn values as near as CUDA promises (in units in
 * the last place), and at zeros, infinities, numbers that are none and the ends of what a type has.
 */
#include "check.h"

#include <cmath>
#include <cstring>

/* F(function, largest error in single precision, in double precision, the values: any, positive, small ones, at least 1) */
#define OF_ONE(F) \
    F(sin, 2, 2, ANY) \
    F(cos, 2, 2, ANY) \
    F(tan, 4, 2, ANY) \
    F(asin, 2, 2, SMALL) \
    F(acos, 2, 2, SMALL) \
    F(atan, 2, 2, ANY) \
    F(sinh, 3, 2, ANY) \
    F(cosh, 2, 2, ANY) \
    F(tanh, 2, 2, ANY) \
    F(asinh, 4, 3, ANY) \
    F(acosh, 4, 3, FROM_1) \
    F(atanh, 3, 2, SMALL) \
    F(exp, 2, 2, ANY) \
    F(exp2, 2, 2, ANY) \
    F(exp10, 2, 2, ANY) \
    F(expm1, 2, 2, ANY) \
    F(log, 2, 2, POSITIVE) \
    F(log2, 2, 2, POSITIVE) \
    F(log10, 2, 2, POSITIVE) \
    F(log1p, 2, 2, POSITIVE) \
    F(cbrt, 1, 2, ANY) \
    F(erf, 3, 3, ANY) \
    F(erfc, 4, 5, ANY) \
    F(sqrt, 0, 0, POSITIVE) \
    F(floor, 0, 0, ANY) \
    F(ceil, 0, 0, ANY) \
    F(trunc, 0, 0, ANY) \
    F(round, 0, 0, ANY) \
    F(rint, 0, 0, ANY) \
    F(nearbyint, 0, 0, ANY) \
    F(logb, 0, 0, ANY) \
    F(fabs, 0, 0, ANY)
#define OF_TWO(F) \
    F(pow, 4, 2, POSITIVE) \
    F(atan2, 3, 2, ANY) \
    F(fmod, 0, 0, ANY) \
    F(remainder, 0, 0, ANY) \
    F(hypot, 2, 2, ANY) \
    F(fdim, 0, 0, ANY) \
    F(copysign, 0, 0, ANY) \
    F(fmax, 0, 0, ANY) \
    F(fmin, 0, 0, ANY)

enum values { ANY, POSITIVE, SMALL, FROM_1 };
enum { DRAWN = 800, ROOM = 1200 };

template <typename T> struct inputs {
    T x[ROOM], y[ROOM];
    int count;
};

#define KERNEL_1(name, single_error, double_error, values) \
    __global__ void name##_floats(const inputs<float> *in, float *to) \
    { \
        int i = (int)(blockIdx.x * blockDim.x + threadIdx.x); \
        if (i < in->count) { \
            to[i] = name##f(in->x[i]); \
            to[ROOM + i] = name(in->x[i]); \
        } \
    } \
    __global__ void name##_doubles(const inputs<double> *in, double *to) \
    { \
        int i = (int)(blockIdx.x * blockDim.x + threadIdx.x); \
        if (i < in->count) { \
            to[i] = name(in->x[i]); \
            to[ROOM + i] = to[i]; \
        } \
    }
#define KERNEL_2(name, single_error, double_error, values) \
    __global__ void name##_floats(const inputs<float> *in, float *to) \
    { \
        int i = (int)(blockIdx.x * blockDim.x + threadIdx.x); \
        if (i < in->count) { \
            to[i] = name##f(in->x[i], in->y[i]); \
            to[ROOM + i] = name(in->x[i], in->y[i]); \
        } \
    } \
    __global__ void name##_doubles(const inputs<double> *in, double *to) \
    { \
        int i = (int)(blockIdx.x * blockDim.x + threadIdx.x); \
        if (i < in->count) { \
            to[i] = name(in->x[i], in->y[i]); \
            to[ROOM + i] = to[i]; \
        } \
    }
OF_ONE(KERNEL_1)
OF_TWO(KERNEL_2)

static unsigned long long drawn = 88172645463325252ull;
static double draw(double least, double most)
{
    drawn ^= drawn << 13;
    drawn ^= drawn >> 7;
    drawn ^= drawn << 17;
    return least + (most - least) * (double)(drawn >> 11) * 0x1p-53;
}

template <typename T> static T draw_of(enum values values)
{
    double kind = draw(0, 1), range = kind < 0.5 ? 1 : kind < 0.8 ? 8 : kind < 0.95 ? 110 : 1e5;
    switch (values) {
    case POSITIVE:
        return (T)fabs(draw(-range, range));
    case SMALL:
        return (T)draw(-0.99, 0.99);
    case FROM_1:
        return (T)draw(1, 1 + range);
    default:
        return (T)draw(-range, range);
    }
}

/* Drawn ones, and behind them the edges, each with each. */
template <typename T> static void fill(inputs<T> *in, enum values values)
{
    const T least = sizeof(T) == 4 ? (T)0x1p-149 : (T)0x1p-1074, most = sizeof(T) == 4 ? (T)0x1.fffffep127 : (T)0x1.fffffffffffffp1023;
    const T edges[] = {0, -(T)0, 1, -1, (T)0.5, (T)-2.5, 3, least, -least, most, -most, (T)INFINITY, (T)-INFINITY, (T)NAN};
    const int count = sizeof edges / sizeof *edges;
    for (int i = 0; i < DRAWN; i++) {
        in->x[i] = draw_of<T>(values);
        in->y[i] = draw_of<T>(ANY);
    }
    for (int i = 0; i < count * count; i++) {
        in->x[DRAWN + i] = edges[i / count];
        in->y[DRAWN + i] = edges[i % count];
    }
    in->count = DRAWN + count * count;
    EXPECT(in->count <= ROOM);
}

template <typename T> static double units(T found, long double wanted, bool sign, bool exact)
{
    T nearest = (T)wanted;
    if (nearest != nearest || std::isinf(nearest) || nearest == 0)
        return (nearest != nearest && found != found) ||
                       (found == nearest && (!sign || std::signbit(found) == std::signbit(nearest)))
                   ? 0
                   : HUGE_VAL;
    const long double normal = sizeof(T) == 4 ? 0x1p-126L : 0x1p-1022L;
    if (!exact && fabsl(wanted) < normal && fabsl(found) <= fabsl(wanted)) /* functions may have zero there */
        return 0;
    T unit = std::nextafter(std::fabs(nearest), (T)INFINITY) - std::fabs(nearest);
    if (std::isinf(unit)) /* from the largest one, an error leads to infinity */
        return found == nearest || (!exact && found - nearest == found) ? 0 : HUGE_VAL;
    return (double)(fabsl(found - wanted) / unit);
}

template <typename T, typename F>
static void compare(const char *name, const inputs<T> *in, const T *found, double allowed, F wanted)
{
    bool sign = strcmp(name, "fmax") && strcmp(name, "fmin"); /* either zero is the larger one */
    for (int i = 0; i < in->count; i++)
        for (int form = 0; form < 2; form++) {
            T value = found[form * ROOM + i];
            double error = units(value, wanted((long double)in->x[i], (long double)in->y[i]), sign, allowed == 0);
            if (!(error <= allowed + 0.5)) {
                fprintf(stderr, "%s of %a and %a in %zu bytes is %a: %g units from %La\n", name, (double)in->x[i], (double)in->y[i], sizeof(T), (double)value, error,
                        wanted((long double)in->x[i], (long double)in->y[i]));
                exit(1);
            }
        }
}

#define WANTED_1(name) [](long double x, long double) -> long double { return name##l(x); }
#define WANTED_2(name) [](long double x, long double y) -> long double { return name##l(x, y); }
#define CHECK_OF(name, single_error, double_error, values, wanted) \
    { \
        fill(floats, values); \
        name##_floats<<<(ROOM + 63) / 64, 64>>>(floats, single_results); \
        fill(doubles, values); \
        name##_doubles<<<(ROOM + 63) / 64, 64>>>(doubles, double_results); \
        CHECK(cudaDeviceSynchronize()); \
        compare(#name, floats, single_results, single_error, wanted); \
        compare(#name, doubles, double_results, double_error, wanted); \
    }
#define CHECK_1(name, single_error, double_error, values) CHECK_OF(name, single_error, double_error, values, WANTED_1(name))
#define CHECK_2(name, single_error, double_error, values) CHECK_OF(name, single_error, double_error, values, WANTED_2(name))

/* Steps are those of a type: not of a wider one. */
__global__ void step(const inputs<float> *floats, const inputs<double> *doubles, float *singles, double *to)
{
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < floats->count) {
        singles[i] = nextafterf(floats->x[i], floats->y[i]);
        singles[ROOM + i] = nextafter(floats->x[i], floats->y[i]);
        to[i] = to[ROOM + i] = nextafter(doubles->x[i], doubles->y[i]);
    }
}

static void check_steps(inputs<float> *floats, inputs<double> *doubles, float *singles, double *results)
{
    fill(floats, ANY);
    fill(doubles, ANY);
    step<<<(ROOM + 63) / 64, 64>>>(floats, doubles, singles, results);
    CHECK(cudaDeviceSynchronize());
    compare("nextafter", floats, singles, 0, [](long double x, long double y) { return (long double)nextafterf((float)x, (float)y); });
    compare("nextafter", doubles, results, 0, [](long double x, long double y) { return (long double)nextafter((double)x, (double)y); });
}

/* nvcc refuses these unless it is asked not to. */
#ifdef TOOLKIT
#define OF_INTEGERS sqrt(2.0) + sin(1.0)
#define NORMAL(x) (isfinite(x) && fabs(x) >= (sizeof(x) == 4 ? 0x1p-126 : 0x1p-1022))
#else
#define OF_INTEGERS sqrt(2) + std::sin(1)
#define NORMAL(x) std::isnormal(x)
#endif

/* ---- the others ---- */

struct others {
    double x, y, three, four, norm_3, norm_4, inverse_root, inverse_cube_root, inverse_hypotenuse, normal, sine_pi, cosine_pi, sine, cosine, both_sine, both_cosine, gamma_of, log_gamma, scaled, scaled_too,
        whole, fraction, mantissa, rest, squared, fused;
    long rounded[8];
    int exponent, log_exponent, quotient, kinds;
};

template <typename T> __device__ int kinds_of(T x)
{
    return (isnan(x) ? 1 : 0) | (isinf(x) ? 2 : 0) | (isfinite(x) ? 4 : 0) | (signbit(x) ? 8 : 0) | (std::isnan(x) ? 16 : 0) | (NORMAL(x) ? 32 : 0);
}

__global__ void run_others(others *all, int count)
{
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i >= count)
        return;
    others *o = all + i;
    double x = o->x, y = o->y, whole;
    int exponent, quotient;
    o->norm_3 = norm3d(x, y, 3.0);
    o->norm_4 = norm4d(x, y, 3.0, 4.0);
    o->inverse_root = rsqrt(fabs(x));
    o->inverse_cube_root = rcbrt(x);
    o->inverse_hypotenuse = rhypot(x, y);
    o->normal = normcdf(x);
    o->sine_pi = sinpi(x);
    o->cosine_pi = cospi(x);
    sincos(x, &o->sine, &o->cosine);
    sincospi(x, &o->both_sine, &o->both_cosine);
    o->gamma_of = tgamma(fabs(x) + 0.1);
    o->log_gamma = lgamma(fabs(x) + 0.1);
    o->scaled = ldexp(x, (int)y) + scalbn(x, 3);
    o->scaled_too = scalbln(x, 5L);
    o->fraction = modf(x, &whole);
    o->whole = whole;
    o->mantissa = frexp(x, &exponent);
    o->exponent = exponent;
    o->log_exponent = ilogb(x);
    o->rest = remquo(x, y, &quotient);
    o->quotient = quotient & 7;
    o->squared = pow(x, 2) + std::pow(x, 3) + OF_INTEGERS;
    o->fused = fma(x, y, 1.0);
    o->rounded[0] = lrint(x);
    o->rounded[1] = (long)llrint(x);
    o->rounded[2] = lround(x);
    o->rounded[3] = (long)llround(x);
    o->rounded[4] = lrintf((float)x) + lroundf((float)x);
    o->rounded[5] = (long)(llrintf((float)x) + llroundf((float)x));
    o->rounded[6] = labs((long)x) + abs((long)x) + (long)abs((float)(int)x);
    o->rounded[7] = (long)(llabs((long long)x) + abs((int)x) + (long long)abs((double)(int)x));
    o->kinds = kinds_of(x) | kinds_of((float)x) << 8;
}

static void expect_near(const char *name, double x, double found, double wanted, double allowed)
{
    if (found != wanted && !(fabs(found - wanted) <= allowed * (1e-300 + fabs(wanted)))) {
        fprintf(stderr, "%s of %a is %a, not %a\n", name, x, found, wanted);
        exit(1);
    }
}

static void check_others()
{
    const double near = 4e-15, pi = 3.14159265358979323846;
    others *all;
    CHECK(cudaMallocManaged(&all, DRAWN * sizeof *all));
    for (int i = 0; i < DRAWN; i++) {
        all[i].x = i < 40 ? (i - 20) * 0.5 + 0.25 * (i & 1) : draw(-20, 20);
        all[i].y = draw(1, 9);
        if (all[i].x == 0)
            all[i].x = 0.75;
    }
    run_others<<<(DRAWN + 63) / 64, 64>>>(all, DRAWN);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < DRAWN; i++) {
        const others *o = all + i;
        double x = o->x, y = o->y, whole, mantissa;
        int exponent, quotient;
        expect_near("norm3d", x, o->norm_3, sqrt(x * x + y * y + 9), near);
        expect_near("norm4d", x, o->norm_4, sqrt(x * x + y * y + 25), near);
        expect_near("rsqrt", x, o->inverse_root, 1 / sqrt(fabs(x)), near);
        expect_near("rcbrt", x, o->inverse_cube_root, 1 / cbrt(x), near);
        expect_near("rhypot", x, o->inverse_hypotenuse, 1 / hypot(x, y), near);
        expect_near("normcdf", x, o->normal, erfc(-x / sqrt(2.0)) / 2, 1e-13);
        expect_near("sinpi", x, o->sine_pi + 2, sin(pi * (x - 2 * floor(x / 2))) + 2, 1e-14);
        expect_near("cospi", x, o->cosine_pi + 2, cos(pi * (x - 2 * floor(x / 2))) + 2, 1e-14);
        expect_near("sincos", x, o->sine, sin(x), near);
        expect_near("sincos", x, o->cosine, cos(x), near);
        EXPECT(o->both_sine == o->sine_pi && o->both_cosine == o->cosine_pi);
        expect_near("tgamma", x, o->gamma_of, tgamma(fabs(x) + 0.1), 2e-14);
        expect_near("lgamma", x, o->log_gamma + 1, lgamma(fabs(x) + 0.1) + 1, 2e-14);
        EXPECT(o->scaled == ldexp(x, (int)y) + scalbn(x, 3) && o->scaled_too == scalbln(x, 5L));
        EXPECT(o->fraction == modf(x, &whole) && o->whole == whole);
        mantissa = frexp(x, &exponent);
        EXPECT(o->mantissa == mantissa && o->exponent == exponent && o->log_exponent == ilogb(x));
        EXPECT(o->rest == remquo(x, y, &quotient) && o->quotient == (quotient & 7));
        expect_near("pow", x, o->squared, x * x + x * x * x + sqrt(2.0) + sin(1.0), 1e-11);
        EXPECT(o->fused == fma(x, y, 1.0));
        EXPECT(o->rounded[0] == lrint(x) && o->rounded[1] == lrint(x) && o->rounded[2] == lround(x) && o->rounded[3] == lround(x));
        EXPECT(o->rounded[4] == lrintf((float)x) + lroundf((float)x) && o->rounded[5] == o->rounded[4]);
        EXPECT(o->rounded[6] == 3 * labs((long)x) && o->rounded[7] == 3 * labs((long)x));
        EXPECT(o->kinds == (4 | (x < 0 ? 8 : 0) | 32) * 257);
    }
}

/* Numbers below the normal ones are results, too. */
__global__ void run_small(const float *x, float *to, float *rests, int *quotients, int count)
{
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < count) {
        to[4 * i] = expf(x[i]);
        to[4 * i + 1] = exp2f(x[i]);
        to[4 * i + 2] = ldexpf(x[i], -149 - i % 8);
        to[4 * i + 3] = scalbnf(ldexpf(x[i], -140), 10 + i % 260);
        rests[2 * i] = remainderf(x[i], ldexpf(x[count - 1 - i], -150));
        rests[2 * i + 1] = remquof(ldexpf(x[i], -140), ldexpf(x[count - 1 - i], -135), quotients + i);
    }
}

static void check_small()
{
    float *x, *to, *rests;
    int *quotients, quotient;
    CHECK(cudaMallocManaged(&x, DRAWN * sizeof *x));
    CHECK(cudaMallocManaged(&to, 4 * DRAWN * sizeof *to));
    CHECK(cudaMallocManaged(&rests, 2 * DRAWN * sizeof *rests));
    CHECK(cudaMallocManaged(&quotients, DRAWN * sizeof *quotients));
    for (int i = 0; i < DRAWN; i++)
        x[i] = (float)draw(-152, i % 4 ? -86 : 3);
    run_small<<<(DRAWN + 63) / 64, 64>>>(x, to, rests, quotients, DRAWN);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < DRAWN; i++) {
        const float wanted[] = {expf(x[i]), exp2f(x[i]), ldexpf(x[i], -149 - i % 8), scalbnf(ldexpf(x[i], -140), 10 + i % 260)};
        for (int k = 0; k < 4; k++) {
            float unit = std::nextafter(std::fabs(wanted[k]), INFINITY) - std::fabs(wanted[k]);
            if (!(to[4 * i + k] == wanted[k] || (k < 2 && std::fabs(to[4 * i + k] - wanted[k]) <= 2 * unit))) {
                fprintf(stderr, "small %d of %a is %a, not %a\n", k, (double)x[i], (double)to[4 * i + k], (double)wanted[k]);
                exit(1);
            }
        }
    }
    for (int i = 0; i < DRAWN; i++) {
        float other = x[DRAWN - 1 - i];
        EXPECT(rests[2 * i] == remainderf(x[i], ldexpf(other, -150)));
        EXPECT(rests[2 * i + 1] == remquof(ldexpf(x[i], -140), ldexpf(other, -135), &quotient) && (quotients[i] & 7) == (quotient & 7));
    }
    CHECK(cudaFree(x));
    CHECK(cudaFree(to));
    CHECK(cudaFree(rests));
    CHECK(cudaFree(quotients));
}

__global__ void kinds_of_edges(const double *from, int *to)
{
    to[threadIdx.x] = kinds_of(from[threadIdx.x]) | kinds_of((float)from[threadIdx.x]) << 8;
}

static void check_kinds()
{
    const double edges[] = {NAN, INFINITY, -INFINITY, 0.0, -0.0, 0x1p-1074};
    const int wanted[] = {1 | 16, 2, 2 | 8, 4, 4 | 8, 4};
    double *from;
    int *to;
    CHECK(cudaMallocManaged(&from, sizeof edges));
    CHECK(cudaMallocManaged(&to, sizeof wanted));
    memcpy(from, edges, sizeof edges);
    kinds_of_edges<<<1, 6>>>(from, to);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < 6; i++)
        EXPECT(to[i] == wanted[i] * 257);
}

int main()
{
    inputs<float> *floats;
    inputs<double> *doubles;
    float *single_results;
    double *double_results;
    CHECK(cudaMallocManaged(&floats, sizeof *floats));
    CHECK(cudaMallocManaged(&doubles, sizeof *doubles));
    CHECK(cudaMallocManaged(&single_results, 2 * ROOM * sizeof *single_results));
    CHECK(cudaMallocManaged(&double_results, 2 * ROOM * sizeof *double_results));
    OF_ONE(CHECK_1)
    OF_TWO(CHECK_2)
    check_steps(floats, doubles, single_results, double_results);
    check_others();
    check_small();
    check_kinds();
    return 0;
}

/* nvcc compiles the programs together. */
#undef OF_ONE
#undef OF_TWO
#undef KERNEL_1
#undef KERNEL_2
#undef WANTED_1
#undef WANTED_2
#undef CHECK_OF
#undef CHECK_1
#undef CHECK_2
#undef OF_INTEGERS
#undef NORMAL
