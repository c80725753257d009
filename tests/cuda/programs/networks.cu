/* SPDX-License-Identifier: MIT */
/*
 * Fixed patterns of exchanges: sorting networks over launches and within a thread block, a Fourier transform that goes back and forth between two
 * buffers in shared memory, automata that look for several words in parts of a text which overlap.
 */
#include "check.h"

#include <cmath>
#include <cstring>

#define NUMBERS 2048
#define THREADS 256
#define POINTS 256
#define TRANSFORMS 5
#define LETTERS 3
#define WORDS 6
#define STATES 24
#define TEXT 5000
#define PART 50
#define LONGEST_WORD 5

__global__ void exchange(int *numbers, unsigned distance, unsigned run)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, other = i ^ distance;
    if (other <= i)
        return;
    int mine = numbers[i], theirs = numbers[other];
    if (i & run ? mine < theirs : mine > theirs) {
        numbers[i] = theirs;
        numbers[other] = mine;
    }
}

/* Batcher's odd-even merges (Knuth, The Art of Computer Programming, volume 3, algorithm 5.2.2M). */
__global__ void merge(int *numbers)
{
    __shared__ int own[THREADS];
    unsigned i = threadIdx.x;
    own[i] = numbers[blockIdx.x * THREADS + i];
    __syncthreads();
    for (unsigned step = THREADS / 2; step; step /= 2) {
        unsigned last = THREADS / 2, rest = 0, distance = step;
        for (;;) {
            if ((i & step) == rest && i + distance < THREADS && own[i] > own[i + distance]) {
                int kept = own[i];
                own[i] = own[i + distance];
                own[i + distance] = kept;
            }
            __syncthreads();
            if (last == step)
                break;
            distance = last - step;
            last /= 2;
            rest = step;
        }
    }
    numbers[blockIdx.x * THREADS + i] = own[i];
}

static void test_sorting()
{
    static int numbers[NUMBERS], sorted[NUMBERS], counts[2][1024];
    int *device;
    CHECK(cudaMalloc(&device, sizeof numbers));
    for (int i = 0; i < NUMBERS; i++)
        counts[0][numbers[i] = i * 7919 % 1009]++;
    CHECK(cudaMemcpy(device, numbers, sizeof numbers, cudaMemcpyHostToDevice));
    for (unsigned run = 2; run <= NUMBERS; run *= 2)
        for (unsigned distance = run / 2; distance; distance /= 2)
            exchange<<<NUMBERS / THREADS, THREADS>>>(device, distance, run);
    CHECK(cudaMemcpy(sorted, device, sizeof sorted, cudaMemcpyDeviceToHost));
    for (int i = 0; i < NUMBERS; i++) {
        EXPECT(i == 0 || sorted[i - 1] <= sorted[i]);
        counts[1][sorted[i]]++;
    }
    EXPECT(!memcmp(counts[0], counts[1], sizeof counts[0]));
    CHECK(cudaMemcpy(device, numbers, sizeof numbers, cudaMemcpyHostToDevice));
    merge<<<NUMBERS / THREADS, THREADS>>>(device);
    CHECK(cudaMemcpy(sorted, device, sizeof sorted, cudaMemcpyDeviceToHost));
    for (int i = 0; i < NUMBERS; i++) {
        EXPECT(i % THREADS == 0 || sorted[i - 1] <= sorted[i]);
        counts[1][sorted[i]]--;
    }
    for (int i = 0; i < 1024; i++)
        EXPECT(!counts[1][i]);
    CHECK(cudaFree(device));
}

__global__ void transform(float2 *points, float sign)
{
    __shared__ float2 buffers[2][POINTS];
    float2 *own = points + blockIdx.x * POINTS;
    for (unsigned i = threadIdx.x; i < POINTS; i += blockDim.x)
        buffers[0][i] = own[i];
    __syncthreads();
    unsigned from = 0;
    for (unsigned length = POINTS, stride = 1; length > 1; length /= 2, stride *= 2, from ^= 1) {
        for (unsigned i = threadIdx.x; i < POINTS / 2; i += blockDim.x) {
            unsigned group = i / stride, place = i % stride;
            float angle = sign * 2 * 3.14159265358979f * (float)group / (float)length;
            float2 a = buffers[from][place + stride * group], b = buffers[from][place + stride * (group + length / 2)];
            float real = a.x - b.x, imaginary = a.y - b.y, cosine = cosf(angle), sine = sinf(angle);
            buffers[from ^ 1][place + stride * 2 * group] = make_float2(a.x + b.x, a.y + b.y);
            buffers[from ^ 1][place + stride * (2 * group + 1)] =
                make_float2(real * cosine - imaginary * sine, real * sine + imaginary * cosine);
        }
        __syncthreads();
    }
    for (unsigned i = threadIdx.x; i < POINTS; i += blockDim.x)
        own[i] = buffers[from][i];
}

static void test_transforms()
{
    static float2 points[TRANSFORMS * POINTS], result[TRANSFORMS * POINTS];
    float2 *device;
    for (int i = 0; i < TRANSFORMS * POINTS; i++)
        points[i] = make_float2((float)(i * 37 % 101) / 101 - 0.5f, (float)(i * 53 % 97) / 97 - 0.5f);
    CHECK(cudaMalloc(&device, sizeof points));
    CHECK(cudaMemcpy(device, points, sizeof points, cudaMemcpyHostToDevice));
    transform<<<TRANSFORMS, 96>>>(device, -1);
    CHECK(cudaMemcpy(result, device, sizeof result, cudaMemcpyDeviceToHost));
    for (int i = 0; i < TRANSFORMS * POINTS; i += 7) {
        const float2 *own = points + i / POINTS * POINTS;
        double real = 0, imaginary = 0;
        for (int k = 0; k < POINTS; k++) {
            double angle = -2 * 3.14159265358979323846 * (i % POINTS) * k / POINTS;
            real += own[k].x * cos(angle) - own[k].y * sin(angle);
            imaginary += own[k].x * sin(angle) + own[k].y * cos(angle);
        }
        EXPECT(fabs(real - result[i].x) < 1e-4 && fabs(imaginary - result[i].y) < 1e-4);
    }
    transform<<<TRANSFORMS, 96>>>(device, 1);
    CHECK(cudaMemcpy(result, device, sizeof result, cudaMemcpyDeviceToHost));
    for (int i = 0; i < TRANSFORMS * POINTS; i++)
        EXPECT(fabsf(result[i].x / POINTS - points[i].x) < 1e-5f && fabsf(result[i].y / POINTS - points[i].y) < 1e-5f);
    CHECK(cudaFree(device));
}

struct automaton {
    short next[STATES][LETTERS];
    unsigned words[STATES]; /* that end there */
};

__global__ void look(const automaton *automaton, const char *text, int *counts)
{
    int begin = (int)(blockIdx.x * blockDim.x + threadIdx.x) * PART, state = 0;
    for (int i = max(0, begin - LONGEST_WORD + 1); i < min(TEXT, begin + PART); i++) {
        state = automaton->next[state][text[i] - 'a'];
        for (unsigned words = i < begin ? 0 : automaton->words[state]; words; words &= words - 1)
            atomicAdd(&counts[__ffs((int)words) - 1], 1);
    }
}

/* After Aho and Corasick (Communications of the ACM 18(6), 1975). */
static automaton make_automaton(const char *const *words)
{
    automaton automaton = {};
    int states = 1, failures[STATES] = {}, queue[STATES], count = 0;
    for (int word = 0; word < WORDS; word++) {
        int state = 0;
        for (const char *letter = words[word]; *letter; letter++) {
            short *next = &automaton.next[state][*letter - 'a'];
            EXPECT(*next || states < STATES);
            *next = *next ? *next : (short)states++;
            state = *next;
        }
        automaton.words[state] |= 1u << word;
    }
    for (int letter = 0; letter < LETTERS; letter++)
        if (automaton.next[0][letter])
            queue[count++] = automaton.next[0][letter];
    for (int i = 0; i < count; i++)
        for (int letter = 0; letter < LETTERS; letter++) {
            short *next = &automaton.next[queue[i]][letter], otherwise = automaton.next[failures[queue[i]]][letter];
            if (*next) {
                failures[*next] = otherwise;
                automaton.words[*next] |= automaton.words[otherwise];
                queue[count++] = *next;
            } else {
                *next = otherwise;
            }
        }
    return automaton;
}

static void test_words()
{
    static const char *const words[WORDS] = {"ab", "bca", "aab", "cc", "abc", "bcabc"};
    static char text[TEXT + 1];
    int counts[WORDS] = {}, *device_counts;
    unsigned random = 3;
    automaton automaton = make_automaton(words), *device_automaton;
    char *device_text;
    for (int i = 0; i < TEXT; i++) {
        random = random * 1664525 + 1013904223;
        text[i] = (char)('a' + (random >> 16) % LETTERS);
    }
    CHECK(cudaMalloc(&device_automaton, sizeof automaton));
    CHECK(cudaMalloc(&device_text, sizeof text));
    CHECK(cudaMalloc(&device_counts, sizeof counts));
    CHECK(cudaMemcpy(device_automaton, &automaton, sizeof automaton, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(device_text, text, sizeof text, cudaMemcpyHostToDevice));
    CHECK(cudaMemset(device_counts, 0, sizeof counts));
    look<<<4, TEXT / PART / 4>>>(device_automaton, device_text, device_counts);
    CHECK(cudaMemcpy(counts, device_counts, sizeof counts, cudaMemcpyDeviceToHost));
    for (int word = 0; word < WORDS; word++) {
        int wanted = 0;
        for (const char *found = strstr(text, words[word]); found; found = strstr(found + 1, words[word]))
            wanted++;
        EXPECT(counts[word] == wanted && wanted > 5);
    }
    CHECK(cudaFree(device_automaton));
    CHECK(cudaFree(device_text));
    CHECK(cudaFree(device_counts));
}

int main()
{
    test_sorting();
    test_transforms();
    test_words();
    return 0;
}
