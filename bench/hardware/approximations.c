/* SPDX-License-Identifier: MIT */
/*
 * How far the approximate instructions of a GPU are from ours, over a part of all inputs:
 *
 *     cc -std=c17 -O2 -march=native -pthread -I include -I src -o approximations bench/hardware/approximations.c -ldl -lm
 *     ./approximations 16        # every 16th bit pattern
 *
 * The GPU's results come by way of libcuda.so.1. For each instruction: how many results are so many units in the last place above ours
 * (of positive numbers; away from zero), and the input of the largest difference. A second argument names a folder for differences over
 * one binade, a byte for each input.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "isa/lanes_approximate.h"

enum { CHUNK = 1 << 24, THREADS = 16, FAR = 8 };

static const char source[] =
    ".version 7.8\n.target sm_90\n.address_size 64\n"
    ".visible .entry k(.param .u64 out, .param .u32 first, .param .u32 stride)\n{\n"
    ".reg .b32 %%t, %%c, %%x, %%s; .reg .b64 %%o, %%out; .reg .f32 %%f;\n"
    "mov.u32 %%t, %%tid.x; mov.u32 %%c, %%ctaid.x; mad.lo.u32 %%t, %%c, 256, %%t;\n"
    "ld.param.u64 %%out, [out]; cvta.to.global.u64 %%out, %%out; mul.wide.u32 %%o, %%t, 4; add.u64 %%out, %%out, %%o;\n"
    "ld.param.u32 %%x, [first]; ld.param.u32 %%s, [stride]; mad.lo.u32 %%x, %%t, %%s, %%x;\n"
    "mov.b32 %%f, %%x; %s.f32 %%f, %%f; st.global.f32 [%%out], %%f; ret;\n}\n";

static float flushed(float x)
{
    return f32_of_bits(flush_f32(bits_of_f32(x)));
}

static float our_rcp(float a)
{
    return 1.0f / a;
}
static float our_sqrt(float a)
{
    return __builtin_sqrtf(a);
}
static float our_sine(float a)
{
    return a == 0.0f ? a : approximate_sine(a, 0);
}
static float our_cosine(float a)
{
    return approximate_sine(a, 1);
}

struct instruction {
    const char *name;
    float (*ours)(float);
    bool flushes;
    uint32_t binade, inputs; /* of the dump: first input, how many */
};

static const struct instruction instructions[] = {
    {"rcp.approx", our_rcp, false, 0x3f800000u, 1 << 23},
    {"rcp.approx.ftz", our_rcp, true, 0, 0},
    {"sqrt.approx", our_sqrt, false, 0x3f800000u, 1 << 24},
    {"sqrt.approx.ftz", our_sqrt, true, 0, 0},
    {"rsqrt.approx", approximate_rsqrt, false, 0x3f800000u, 1 << 24},
    {"rsqrt.approx.ftz", approximate_rsqrt, true, 0, 0},
    {"ex2.approx", approximate_ex2, false, 0x3f800000u, 1 << 23},
    {"ex2.approx.ftz", approximate_ex2, true, 0, 0},
    {"lg2.approx", approximate_lg2, false, 0x3f800000u, 1 << 24},
    {"lg2.approx.ftz", approximate_lg2, true, 0, 0},
    {"sin.approx", our_sine, false, 0, 0},
    {"sin.approx.ftz", our_sine, true, 0, 0},
    {"cos.approx", our_cosine, false, 0, 0},
    {"cos.approx.ftz", our_cosine, true, 0, 0},
    {"tanh.approx", approximate_tanh, false, 0, 0},
};

struct tally {
    uint64_t counts[2 * FAR + 1], nans, far;
    uint32_t worst_input;
    int64_t worst;
};

struct part {
    pthread_t thread;
    const struct instruction *instruction;
    const uint32_t *theirs;
    uint32_t first, stride, from, to;
    int8_t *differences;
    struct tally tally;
};

/* Bit patterns in the order of the numbers' magnitudes; the sign goes by itself. */
static int64_t distance(uint32_t theirs, uint32_t ours)
{
    int64_t a = theirs & 0x7fffffffu, b = ours & 0x7fffffffu;
    return theirs >> 31 == ours >> 31 ? a - b : a + b;
}

static void *compare(void *argument)
{
    struct part *part = argument;
    for (uint32_t i = part->from; i < part->to; i++) {
        uint32_t input = part->first + i * part->stride, theirs = part->theirs[i];
        float a = f32_of_bits(input), result = part->instruction->ours(part->instruction->flushes ? flushed(a) : a);
        uint32_t ours = bits_of_f32(part->instruction->flushes ? flushed(result) : result);
        if (result != result)
            ours = F32_NAN_BITS;
        bool their_nan = (theirs & 0x7fffffffu) > 0x7f800000u;
        if (their_nan || result != result) {
            part->tally.nans += theirs != ours;
            continue;
        }
        int64_t ulp = distance(theirs, ours);
        if (ulp < -FAR || ulp > FAR)
            part->tally.far++;
        else
            part->tally.counts[ulp + FAR]++;
        if (llabs(ulp) > llabs(part->tally.worst)) {
            part->tally.worst = ulp;
            part->tally.worst_input = input;
        }
        if (part->differences)
            part->differences[i] = (int8_t)(ulp < -100 ? -100 : ulp > 100 ? 100 : ulp);
    }
    return NULL;
}

/* libcuda, as far as it is needed. */
static int (*cuda_init)(unsigned), (*device_get)(int *, int), (*context_retain)(void **, int), (*context_set)(void *),
    (*module_load)(void **, const void *), (*get_function)(void **, void *, const char *),
    (*allocate)(uint64_t *, size_t),
    (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **),
    (*copy_back)(void *, uint64_t, size_t);

static void must(int error, const char *what)
{
    if (error) {
        fprintf(stderr, "%s: error %d\n", what, error);
        exit(1);
    }
}

static void begin(uint64_t *out)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        exit(77);
    }
    const struct {
        const char *name;
        void *to;
    } functions[] = {{"cuInit", &cuda_init},
                     {"cuDeviceGet", &device_get},
                     {"cuDevicePrimaryCtxRetain", &context_retain},
                     {"cuCtxSetCurrent", &context_set},
                     {"cuModuleLoadData", &module_load},
                     {"cuModuleGetFunction", &get_function},
                     {"cuMemAlloc_v2", &allocate},
                     {"cuLaunchKernel", &launch},
                     {"cuMemcpyDtoH_v2", &copy_back}};
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *found = dlsym(library, functions[i].name);
        must(found == NULL, functions[i].name);
        memcpy(functions[i].to, &found, sizeof found);
    }
    int device;
    void *context;
    must(cuda_init(0), "cuInit");
    must(device_get(&device, 0), "cuDeviceGet");
    must(context_retain(&context, device), "cuDevicePrimaryCtxRetain");
    must(context_set(context), "cuCtxSetCurrent");
    must(allocate(out, 4ull * CHUNK), "cuMemAlloc");
}

static void run_chunk(void *function, uint64_t out, uint32_t first, uint32_t stride, uint32_t count, uint32_t *results)
{
    void *arguments[] = {&out, &first, &stride};
    must(launch(function, count / 256, 1, 1, 256, 1, 1, 0, NULL, arguments, NULL), "cuLaunchKernel");
    must(copy_back(results, out, 4ull * count), "cuMemcpyDtoH");
}

static void compare_chunk(struct part *parts, uint32_t first, uint32_t stride, uint32_t count)
{
    for (uint32_t i = 0; i < THREADS; i++) {
        parts[i].first = first;
        parts[i].stride = stride;
        parts[i].from = (uint32_t)((uint64_t)count * i / THREADS);
        parts[i].to = (uint32_t)((uint64_t)count * (i + 1) / THREADS);
        must(pthread_create(&parts[i].thread, NULL, compare, &parts[i]), "pthread_create");
    }
    for (uint32_t i = 0; i < THREADS; i++)
        pthread_join(parts[i].thread, NULL);
}

static void print(const struct instruction *instruction, const struct part *parts)
{
    struct tally all = {.worst = 0};
    for (uint32_t i = 0; i < THREADS; i++) {
        for (uint32_t k = 0; k <= 2 * FAR; k++)
            all.counts[k] += parts[i].tally.counts[k];
        all.nans += parts[i].tally.nans;
        all.far += parts[i].tally.far;
        if (llabs(parts[i].tally.worst) > llabs(all.worst)) {
            all.worst = parts[i].tally.worst;
            all.worst_input = parts[i].tally.worst_input;
        }
    }
    printf("%s,%llu,%llu,%lld,%08x", instruction->name, (unsigned long long)all.nans, (unsigned long long)all.far,
           (long long)all.worst, all.worst_input);
    for (uint32_t k = 0; k <= 2 * FAR; k++)
        printf(",%llu", (unsigned long long)all.counts[k]);
    printf("\n");
    fflush(stdout);
}

static void dump(const struct instruction *instruction, const char *folder, void *function, uint64_t out,
                 uint32_t *results)
{
    struct part parts[THREADS] = {{0}};
    int8_t *differences = malloc(instruction->inputs);
    must(differences == NULL, "malloc");
    run_chunk(function, out, instruction->binade, 1, instruction->inputs, results);
    for (uint32_t i = 0; i < THREADS; i++)
        parts[i] = (struct part){.instruction = instruction, .theirs = results, .differences = differences};
    compare_chunk(parts, instruction->binade, 1, instruction->inputs);
    char path[512];
    snprintf(path, sizeof path, "%s/%s.bin", folder, instruction->name);
    FILE *file = fopen(path, "wb");
    must(file == NULL || fwrite(differences, 1, instruction->inputs, file) != instruction->inputs || fclose(file),
         path);
    free(differences);
}

int main(int count, char **words)
{
    uint32_t stride = count > 1 ? (uint32_t)atoi(words[1]) : 16;
    uint64_t out, inputs = (UINT64_C(1) << 32) / stride;
    uint32_t *results = malloc(4ull * CHUNK);
    must(results == NULL, "malloc");
    begin(&out);
    printf("instruction,NaN differs,further,largest,its input");
    for (int k = -FAR; k <= FAR; k++)
        printf(",%d", k);
    printf("\n");
    for (size_t i = 0; i < sizeof instructions / sizeof *instructions; i++) {
        const struct instruction *instruction = &instructions[i];
        char text[2048];
        snprintf(text, sizeof text, source, instruction->name);
        void *module, *function;
        must(module_load(&module, text), instruction->name);
        must(get_function(&function, module, "k"), instruction->name);
        struct part parts[THREADS] = {{0}};
        for (uint32_t k = 0; k < THREADS; k++)
            parts[k] = (struct part){.instruction = instruction, .theirs = results};
        uint32_t offset = stride > 1 ? stride / 3 : 0;
        for (uint64_t at = 0; at < inputs; at += CHUNK) {
            uint32_t here = inputs - at < CHUNK ? (uint32_t)(inputs - at) : CHUNK,
                     first = (uint32_t)(at * stride) + offset;
            run_chunk(function, out, first, stride, here, results);
            compare_chunk(parts, first, stride, here);
        }
        print(instruction, parts);
        if (count > 2 && instruction->inputs)
            dump(instruction, words[2], function, out, results);
    }
    return 0;
}
