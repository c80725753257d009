/* SPDX-License-Identifier: MIT */
/*
 * SHA-256 and AES-128 with the values of FIPS 180-4 and FIPS 197: arrays of words and bytes in local memory, unions of both, rotations, a table
 * of bytes in shared memory, round keys in constant memory, and a search in which the smallest of many finders wins. Host and device share the functions.
 */
#include "check.h"

#include <cstdint>
#include <cstring>

#define THREADS 128
#define BLOCKS 16
#define ROUND_KEYS 176
#define TEXT 1000

#define BOTH __host__ __device__

struct digest {
    uint32_t words[8];
};

__constant__ uint32_t device_fractions[64];
static uint32_t fractions[64];

BOTH static uint32_t rotate(uint32_t word, int bits)
{
    return word >> bits | word << (32 - bits);
}

BOTH static digest compress(digest before, const uint32_t *block, const uint32_t *constants)
{
    uint32_t schedule[64], state[8];
    for (int i = 0; i < 16; i++)
        schedule[i] = block[i];
    for (int i = 16; i < 64; i++) {
        uint32_t low = schedule[i - 15], high = schedule[i - 2];
        schedule[i] = schedule[i - 16] + (rotate(low, 7) ^ rotate(low, 18) ^ low >> 3) + schedule[i - 7] +
                      (rotate(high, 17) ^ rotate(high, 19) ^ high >> 10);
    }
    for (int i = 0; i < 8; i++)
        state[i] = before.words[i];
    for (int i = 0; i < 64; i++) {
        uint32_t first = state[7] + (rotate(state[4], 6) ^ rotate(state[4], 11) ^ rotate(state[4], 25)) +
                         ((state[4] & state[5]) ^ (~state[4] & state[6])) + constants[i] + schedule[i];
        uint32_t second = (rotate(state[0], 2) ^ rotate(state[0], 13) ^ rotate(state[0], 22)) +
                          ((state[0] & state[1]) ^ (state[0] & state[2]) ^ (state[1] & state[2]));
        for (int k = 7; k > 0; k--)
            state[k] = state[k - 1];
        state[4] += first;
        state[0] = first + second;
    }
    for (int i = 0; i < 8; i++)
        before.words[i] += state[i];
    return before;
}

/* Which number in word 3 of the block gives a digest that begins with a byte of zeros. */
__global__ void search(digest start, const uint32_t *block, uint32_t from, uint32_t *smallest)
{
    uint32_t mine[16];
    for (int i = 0; i < 16; i++)
        mine[i] = block[i];
    mine[3] = from + blockIdx.x * blockDim.x + threadIdx.x;
    digest found = compress(start, mine, device_fractions);
    if (!(found.words[0] >> 24))
        atomicMin(smallest, mine[3]);
}

/* The first 32 bits of the fraction of a root of a number: the largest r with r^degree <= number * 2^(32 * degree), by bits. */
static uint32_t fraction_of_root(unsigned number, int degree)
{
    uint64_t root = 0;
    for (int bit = 36; bit >= 0; bit--) {
        uint64_t tried = root | UINT64_C(1) << bit;
        unsigned __int128 square = (unsigned __int128)tried * tried;
        bool fits = degree == 2 ? square >> 64 < number
                                : (square >> 32) * tried + (((square & UINT32_MAX) * tried) >> 32) <
                                      (unsigned __int128)number << 64;
        root = fits ? tried : root;
    }
    return (uint32_t)root;
}

static digest make_constants()
{
    digest start;
    int count = 0;
    for (unsigned number = 2; count < 64; number++) {
        bool prime = true;
        for (unsigned divisor = 2; divisor * divisor <= number; divisor++)
            prime = prime && number % divisor;
        if (!prime)
            continue;
        if (count < 8)
            start.words[count] = fraction_of_root(number, 2);
        fractions[count++] = fraction_of_root(number, 3);
    }
    return start;
}

static void test_digests()
{
    uint32_t block[16] = {0x61626380}, *device_block, *device_smallest, smallest = UINT32_MAX, wanted = UINT32_MAX;
    digest start = make_constants();
    block[15] = 24; /* bits of "abc" */
    digest abc = compress(start, block, fractions);
    EXPECT(abc.words[0] == 0xba7816bf && abc.words[7] == 0xf20015ad);
    CHECK(cudaMemcpyToSymbol(device_fractions, fractions, sizeof fractions));
    CHECK(cudaMalloc(&device_block, sizeof block));
    CHECK(cudaMalloc(&device_smallest, sizeof smallest));
    CHECK(cudaMemcpy(device_block, block, sizeof block, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(device_smallest, &smallest, sizeof smallest, cudaMemcpyHostToDevice));
    search<<<BLOCKS, THREADS>>>(start, device_block, 5000, device_smallest);
    CHECK(cudaMemcpy(&smallest, device_smallest, sizeof smallest, cudaMemcpyDeviceToHost));
    for (uint32_t number = 5000; number < 5000 + BLOCKS * THREADS && wanted == UINT32_MAX; number++) {
        block[3] = number;
        wanted = compress(start, block, fractions).words[0] >> 24 ? wanted : number;
    }
    EXPECT(smallest == wanted && wanted != UINT32_MAX);
    CHECK(cudaFree(device_block));
    CHECK(cudaFree(device_smallest));
}

__constant__ uint8_t device_keys[ROUND_KEYS];
__device__ uint8_t device_box[256];
static uint8_t box[256];

BOTH static uint8_t doubled(uint8_t byte)
{
    return (uint8_t)(byte << 1 ^ (byte >> 7) * 0x1b);
}

BOTH static void encrypt(uint8_t *block, const uint8_t *keys, const uint8_t *substitutes)
{
    for (int i = 0; i < 16; i++)
        block[i] ^= keys[i];
    for (int round = 1; round <= 10; round++) {
        uint8_t shifted[16];
        for (int i = 0; i < 16; i++)
            shifted[i] = substitutes[block[(i + 4 * (i % 4)) % 16]];
        for (int i = 0; i < 16; i++) {
            const uint8_t *column = shifted + i / 4 * 4;
            uint8_t all = column[0] ^ column[1] ^ column[2] ^ column[3];
            uint8_t mixed = shifted[i] ^ all ^ doubled(shifted[i] ^ column[(i + 1) % 4]);
            block[i] = (round < 10 ? mixed : shifted[i]) ^ keys[16 * round + i];
        }
    }
}

union counter {
    uint8_t bytes[16];
    uint64_t words[2];
};

/* In counter mode: once more gives the text back. */
__global__ void mask(uint8_t *text, uint64_t number)
{
    __shared__ uint8_t substitutes[256];
    for (unsigned i = threadIdx.x; i < 256; i += blockDim.x)
        substitutes[i] = device_box[i];
    __syncthreads();
    counter counter;
    counter.words[0] = number;
    counter.words[1] = threadIdx.x;
    encrypt(counter.bytes, device_keys, substitutes);
    for (unsigned i = 0; i < 16 && threadIdx.x * 16 + i < TEXT; i++)
        text[threadIdx.x * 16 + i] ^= counter.bytes[i];
}

static void make_box()
{
    uint8_t power = 1, inverse = 1;
    do {
        power ^= doubled(power);
        inverse ^= (uint8_t)(inverse << 1);
        inverse ^= (uint8_t)(inverse << 2);
        inverse ^= (uint8_t)(inverse << 4);
        inverse ^= inverse & 0x80 ? 9 : 0;
        uint8_t sum = inverse;
        for (int bits = 1; bits <= 4; bits++)
            sum ^= (uint8_t)(inverse << bits | inverse >> (8 - bits));
        box[power] = sum ^ 0x63;
    } while (power != 1);
    box[0] = 0x63;
}

static void make_keys(uint8_t *keys)
{
    uint8_t constant = 1;
    for (int i = 16; i < ROUND_KEYS; i += 4) {
        uint8_t word[4];
        for (int k = 0; k < 4; k++)
            word[k] = i % 16 ? keys[i - 4 + k] : box[keys[i - 4 + (k + 1) % 4]];
        if (i % 16 == 0) {
            word[0] ^= constant;
            constant = doubled(constant);
        }
        for (int k = 0; k < 4; k++)
            keys[i + k] = keys[i - 16 + k] ^ word[k];
    }
}

static void test_encryption()
{
    static uint8_t text[TEXT], masked[TEXT];
    uint8_t keys[ROUND_KEYS], block[16], *device;
    make_box();
    for (int i = 0; i < 16; i++) {
        keys[i] = (uint8_t)i;
        block[i] = (uint8_t)(i * 0x11);
    }
    make_keys(keys);
    encrypt(block, keys, box);
    EXPECT(block[0] == 0x69 && block[1] == 0xc4 && block[15] == 0x5a); /* FIPS 197, appendix C.1 */
    for (int i = 0; i < TEXT; i++)
        text[i] = (uint8_t)(i * i >> 3);
    CHECK(cudaMemcpyToSymbol(device_keys, keys, sizeof keys));
    CHECK(cudaMemcpyToSymbol(device_box, box, sizeof box));
    CHECK(cudaMalloc(&device, sizeof text));
    CHECK(cudaMemcpy(device, text, sizeof text, cudaMemcpyHostToDevice));
    mask<<<1, (TEXT + 15) / 16>>>(device, 77);
    CHECK(cudaMemcpy(masked, device, sizeof masked, cudaMemcpyDeviceToHost));
    for (int i = 0; i < TEXT; i++) {
        counter counter;
        counter.words[0] = 77;
        counter.words[1] = (uint64_t)i / 16;
        encrypt(counter.bytes, keys, box);
        EXPECT(masked[i] == (text[i] ^ counter.bytes[i % 16]));
    }
    mask<<<1, (TEXT + 15) / 16>>>(device, 77);
    CHECK(cudaMemcpy(masked, device, sizeof masked, cudaMemcpyDeviceToHost));
    EXPECT(!memcmp(masked, text, sizeof text));
    CHECK(cudaFree(device));
}

int main()
{
    test_digests();
    test_encryption();
    return 0;
}
