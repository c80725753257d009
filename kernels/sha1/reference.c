/* SPDX-License-Identifier: MIT */
/* SHA-1 as FIPS 180-4 describes it, over a message that is padded as a whole first. */
#include "corun/workload.h"

#include "text.h"

#define PIECE_BYTES 1012

struct stream {
    uint64_t bytes, words, pieces; /* of each block of data */
    uint64_t blocks;
    uint8_t *data;
    uint32_t *digests;
};

static bool stream_of(const struct corun_problem *problem, struct stream *stream)
{
    int64_t bytes = corun_problem_value(problem, "bytes");
    int64_t blocks = corun_problem_value(problem, "blocks");
    if (bytes <= 0 || blocks <= 0)
        return false;
    stream->bytes = (uint64_t)bytes;
    stream->blocks = (uint64_t)blocks;
    stream->words = (stream->bytes + 3) / 4;
    stream->pieces = (stream->bytes + PIECE_BYTES - 1) / PIECE_BYTES;
    stream->data = corun_problem_data(problem, "data", CORUN_ELEMENT_U32, stream->words * stream->blocks);
    stream->digests = corun_problem_data(problem, "digests", CORUN_ELEMENT_U32, 5 * stream->pieces * stream->blocks);
    return stream->data && stream->digests;
}

static bool generate(const struct corun_problem *problem)
{
    struct stream stream;
    if (!stream_of(problem, &stream))
        return false;
    uint64_t state = problem->seed ^ UINT64_C(0x7368613100000000);
    text_fill(stream.data, 4 * stream.words * stream.blocks, &state);
    return true;
}

static uint32_t rotated(uint32_t x, int bits)
{
    return x << bits | x >> (32 - bits);
}

static uint32_t function_of_step(int step, uint32_t x, uint32_t y, uint32_t z)
{
    if (step < 20)
        return (x & y) | (~x & z);
    if (step < 40 || step >= 60)
        return x ^ y ^ z;
    return (x & y) | (x & z) | (y & z);
}

static void add_block(uint32_t *hash, const uint8_t *block)
{
    static const uint32_t constants[4] = {0x5a827999, 0x6ed9eba1, 0x8f1bbcdc, 0xca62c1d6};
    uint32_t words[80];
    for (int t = 0; t < 16; t++)
        words[t] = (uint32_t)block[4 * t] << 24 | (uint32_t)block[4 * t + 1] << 16 | (uint32_t)block[4 * t + 2] << 8 |
                   block[4 * t + 3];
    for (int t = 16; t < 80; t++)
        words[t] = rotated(words[t - 3] ^ words[t - 8] ^ words[t - 14] ^ words[t - 16], 1);
    uint32_t v[5];
    memcpy(v, hash, sizeof v);
    for (int t = 0; t < 80; t++) {
        uint32_t sum = rotated(v[0], 5) + function_of_step(t, v[1], v[2], v[3]) + v[4] + constants[t / 20] + words[t];
        memmove(v + 1, v, 4 * sizeof *v);
        v[0] = sum;
        v[2] = rotated(v[2], 30);
    }
    for (int i = 0; i < 5; i++)
        hash[i] += v[i];
}

/* `bytes` is at most PIECE_BYTES. */
static void hash_piece(const uint8_t *data, uint64_t bytes, uint32_t *hash)
{
    static const uint32_t initial[5] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
    uint8_t message[(PIECE_BYTES + 9 + 63) / 64 * 64] = {0};
    uint64_t whole = (bytes + 9 + 63) / 64 * 64;
    memcpy(message, data, bytes);
    message[bytes] = 0x80;
    for (int i = 0; i < 8; i++)
        message[whole - 1 - (uint64_t)i] = (uint8_t)(8 * bytes >> 8 * i);
    memcpy(hash, initial, sizeof initial);
    for (uint64_t at = 0; at < whole; at += 64)
        add_block(hash, message + at);
}

static bool compute(const struct corun_problem *problem)
{
    struct stream stream;
    if (!stream_of(problem, &stream))
        return false;
    for (uint64_t block = 0; block < stream.blocks; block++) {
        for (uint64_t piece = 0; piece < stream.pieces; piece++) {
            uint64_t rest = stream.bytes - piece * PIECE_BYTES;
            hash_piece(stream.data + 4 * stream.words * block + piece * PIECE_BYTES,
                       rest < PIECE_BYTES ? rest : PIECE_BYTES, stream.digests + 5 * (stream.pieces * block + piece));
        }
    }
    return true;
}

const struct corun_reference corun_reference_sha1 = {
    .name = "sha1",
    .compute = compute,
    .generators = (const struct corun_generator[]){{"text", generate}, {0}},
};
