/* SPDX-License-Identifier: MIT */
/*
 * sha1: SHA-1 of many short pieces of a block of data, one thread per piece (the first level of a hash tree over the
 * block; the host hashes the digests again).
 *
 * A piece is 1012 bytes, the most whole words that, with the end mark and the length that SHA-1 appends, fill 16 of its
 * 64-byte blocks. The last piece is what remains. A thread block fetches the next 64 bytes of all its pieces side by
 * side, half a warp for each piece, and hands them over through shared memory; then each thread runs the 80 steps with
 * the message schedule in registers.
 *
 * The spatial multitasking paper uses StoreGPU's SHA-1 as problem-size-bound (HPCA 2012, table 1: one kernel of 65
 * thread blocks of 64 threads for 4 MB); pieces of 1012 bytes give just those. A large run hashes one such block of
 * data after the other, as a storage system does with a stream.
 *
 * What limits it: the size of the problem. 130 warps are two for each scheduler of a GTX 980, each a long chain of
 * dependent additions and rotations; beyond some eight SMs more of them hardly help. All warps fetch at the same time
 * and compute at the same time: so few cannot hide the one behind the other, and a faster memory helps although DRAM is
 * idle three quarters of the time. (In figures 3 and 4 of the paper, too, SHA-1 is among those that gain most from
 * memory and interconnect.)
 */
#define THREADS 64
#define PIECE_BYTES 1012
#define PIECE_WORDS (PIECE_BYTES / 4)
#define BLOCK_WORDS 16
#define PIECE_BLOCKS 16 /* with padding */

struct digest {
    unsigned int a, b, c, d, e;
};

__device__ __forceinline__ unsigned int rotated(unsigned int x, int bits)
{
    return x << bits | x >> (32 - bits);
}

__device__ __forceinline__ unsigned int big_endian(unsigned int x)
{
    return __byte_perm(x, 0, 0x0123);
}

/* Eighty steps. `schedule` holds the last 16 words; indices are constants once the loop is unrolled. */
__device__ __forceinline__ void compress(digest *state, unsigned int *schedule)
{
    unsigned int a = state->a;
    unsigned int b = state->b;
    unsigned int c = state->c;
    unsigned int d = state->d;
    unsigned int e = state->e;
#pragma unroll
    for (int step = 0; step < 80; step++) {
        if (step >= 16)
            schedule[step & 15] = rotated(schedule[(step - 3) & 15] ^ schedule[(step - 8) & 15] ^
                                              schedule[(step - 14) & 15] ^ schedule[step & 15],
                                          1);
        unsigned int mixed;
        if (step < 20)
            mixed = (d ^ (b & (c ^ d))) + 0x5a827999u;
        else if (step < 40)
            mixed = (b ^ c ^ d) + 0x6ed9eba1u;
        else if (step < 60)
            mixed = ((b & c) | (d & (b | c))) + 0x8f1bbcdcu;
        else
            mixed = (b ^ c ^ d) + 0xca62c1d6u;
        unsigned int next = rotated(a, 5) + mixed + e + schedule[step & 15];
        e = d;
        d = c;
        c = rotated(b, 30);
        b = a;
        a = next;
    }
    state->a += a;
    state->b += b;
    state->c += c;
    state->d += d;
    state->e += e;
}

/* Word `word` of a message of `length` bytes with its end mark; the caller puts the length into the last block. */
__device__ __forceinline__ unsigned int padded_word(unsigned int value, int word, int length)
{
    if (word < length / 4)
        return big_endian(value);
    if (word > length / 4)
        return 0;
    int rest = length % 4 * 8; /* bits of the last, partial word */
    unsigned int mark = 0x80000000u >> rest;
    return rest == 0 ? mark : (big_endian(value) & ~(0xffffffffu >> rest)) | mark;
}

extern "C" __global__ void __launch_bounds__(THREADS)
    sha1_pieces(const unsigned int *__restrict__ data, unsigned int *__restrict__ digests, int bytes)
{
    __shared__ unsigned int staged[THREADS][BLOCK_WORDS + 1]; /* the pieces begin in different banks */
    int column = threadIdx.x % BLOCK_WORDS;
    int first_row = threadIdx.x / BLOCK_WORDS;
    int first_piece = blockIdx.x * THREADS;
    int piece = first_piece + threadIdx.x;
    int words = (bytes + 3) / 4;
    int length = max(min(bytes - piece * PIECE_BYTES, PIECE_BYTES), 0);
    int blocks = length > 0 ? (length + 8) / 64 + 1 : 0; /* an end mark of one byte and a length of eight */

    digest state = {0x67452301u, 0xefcdab89u, 0x98badcfeu, 0x10325476u, 0xc3d2e1f0u};
    for (int block = 0; block < PIECE_BLOCKS; block++) {
        unsigned int fetched[BLOCK_WORDS];
        int word = block * BLOCK_WORDS + column;
        int source = (first_piece + first_row) * PIECE_WORDS + word;
#pragma unroll
        for (int i = 0; i < BLOCK_WORDS; i++) {
            fetched[i] = word < PIECE_WORDS && source < words ? data[source] : 0;
            source += THREADS / BLOCK_WORDS * PIECE_WORDS;
        }
        __syncthreads(); /* the block before has been read */
#pragma unroll
        for (int i = 0; i < BLOCK_WORDS; i++)
            staged[first_row + THREADS / BLOCK_WORDS * i][column] = fetched[i];
        __syncthreads();
        if (block < blocks) {
            unsigned int schedule[BLOCK_WORDS];
            const unsigned int *values = staged[threadIdx.x];
            if (64 * (block + 1) <= length) {
#pragma unroll
                for (int i = 0; i < BLOCK_WORDS; i++)
                    schedule[i] = big_endian(values[i]);
            } else {
#pragma unroll
                for (int i = 0; i < BLOCK_WORDS; i++)
                    schedule[i] = padded_word(values[i], BLOCK_WORDS * block + i, length);
                if (block == blocks - 1)
                    schedule[15] = 8 * length;
            }
            compress(&state, schedule);
        }
    }
    if (length == 0)
        return;
    digests[5 * piece] = state.a;
    digests[5 * piece + 1] = state.b;
    digests[5 * piece + 2] = state.c;
    digests[5 * piece + 3] = state.d;
    digests[5 * piece + 4] = state.e;
}
