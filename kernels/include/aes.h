/* SPDX-License-Identifier: MIT */
/*
 * AES-128 on the host, byte by byte as FIPS 197 writes it down: what the references of aes-encrypt and aes-decrypt
 * compute and what their generators make the tables of the kernels from. The substitution box is computed, not listed.
 */
#ifndef CORUN_KERNELS_AES_H
#define CORUN_KERNELS_AES_H

#include "corun/workload.h"
#include "text.h"

#include <stdint.h>
#include <string.h>

#define AES_ROUNDS 10
#define AES_BLOCK_BYTES 16
#define AES_SCHEDULE_BYTES (AES_BLOCK_BYTES * (AES_ROUNDS + 1))

/* A product in GF(2^8) modulo x^8 + x^4 + x^3 + x + 1. */
static inline uint8_t aes_product(uint8_t a, uint8_t b)
{
    unsigned product = 0;
    for (unsigned factor = a; b; b >>= 1) {
        if (b & 1)
            product ^= factor;
        factor = factor << 1 ^ (factor & 0x80 ? 0x11b : 0);
    }
    return (uint8_t)product;
}

struct aes_tables {
    uint8_t substitute[256], substitute_back[256];
    uint8_t times[16][256]; /* products with the small constants of the column mixing */
};

static inline void aes_make_tables(struct aes_tables *tables)
{
    for (unsigned constant = 0; constant < 16; constant++) {
        for (unsigned x = 0; x < 256; x++)
            tables->times[constant][x] = aes_product((uint8_t)x, (uint8_t)constant);
    }
    /* 3 generates every element but zero, so powers p of 3 and q of 1/3 = 0xf6 meet each pair of inverses. */
    uint8_t p = 1;
    uint8_t q = 1;
    tables->substitute[0] = 0x63;
    do {
        p = aes_product(p, 3);
        q = aes_product(q, 0xf6);
        unsigned twice = q * 0x101u; /* two copies in a row: shifts right are rotations */
        tables->substitute[p] = (uint8_t)(twice ^ twice >> 4 ^ twice >> 5 ^ twice >> 6 ^ twice >> 7 ^ 0x63);
    } while (p != 1);
    for (unsigned x = 0; x < 256; x++)
        tables->substitute_back[tables->substitute[x]] = (uint8_t)x;
}

static inline void aes_expand_key(const struct aes_tables *tables, const uint8_t *key, uint8_t *schedule)
{
    memcpy(schedule, key, 16);
    uint8_t constant = 1;
    for (int i = 16; i < AES_SCHEDULE_BYTES; i += 4) {
        uint8_t word[4];
        memcpy(word, schedule + i - 4, 4);
        if (i % 16 == 0) {
            uint8_t first = word[0];
            for (int j = 0; j < 4; j++)
                word[j] = tables->substitute[j < 3 ? word[j + 1] : first];
            word[0] ^= constant;
            constant = aes_product(constant, 2);
        }
        for (int j = 0; j < 4; j++)
            schedule[i + j] = schedule[i + j - 16] ^ word[j];
    }
}

static inline void aes_add_key(uint8_t *state, const uint8_t *schedule, int round)
{
    for (int i = 0; i < AES_BLOCK_BYTES; i++)
        state[i] ^= schedule[AES_BLOCK_BYTES * round + i];
}

/* Multiplies each column by the circulant matrix whose first row is `row`. */
static inline void aes_mix_columns(const struct aes_tables *tables, uint8_t *state, const uint8_t *row)
{
    for (int column = 0; column < 16; column += 4) {
        uint8_t mixed[4] = {0};
        for (int i = 0; i < 4; i++) {
            for (int j = 0; j < 4; j++)
                mixed[i] ^= tables->times[row[(j - i) & 3]][state[column + j]];
        }
        memcpy(state + column, mixed, 4);
    }
}

static const uint8_t aes_mix_row[4] = {2, 3, 1, 1}, aes_unmix_row[4] = {14, 11, 13, 9};

static inline void aes_encrypt_block(const struct aes_tables *tables, const uint8_t *schedule, const uint8_t *text,
                                     uint8_t *cipher)
{
    uint8_t state[16];
    memcpy(state, text, 16);
    aes_add_key(state, schedule, 0);
    for (int round = 1; round <= AES_ROUNDS; round++) {
        uint8_t shifted[16];
        for (int i = 0; i < 16; i++) /* row i % 4 moves by as many columns to the left */
            shifted[i] = tables->substitute[state[(i + 4 * (i % 4)) % 16]];
        memcpy(state, shifted, 16);
        if (round < AES_ROUNDS)
            aes_mix_columns(tables, state, aes_mix_row);
        aes_add_key(state, schedule, round);
    }
    memcpy(cipher, state, 16);
}

static inline void aes_decrypt_block(const struct aes_tables *tables, const uint8_t *schedule, const uint8_t *cipher,
                                     uint8_t *text)
{
    uint8_t state[16];
    memcpy(state, cipher, 16);
    for (int round = AES_ROUNDS; round >= 1; round--) {
        aes_add_key(state, schedule, round);
        if (round < AES_ROUNDS)
            aes_mix_columns(tables, state, aes_unmix_row);
        uint8_t shifted[16];
        for (int i = 0; i < 16; i++)
            shifted[(i + 4 * (i % 4)) % 16] = tables->substitute_back[state[i]];
        memcpy(state, shifted, 16);
    }
    aes_add_key(state, schedule, 0);
    memcpy(text, state, 16);
}

/* PKCS #7: text is filled up to whole blocks with 1 to 16 bytes that say how many they are. */
static inline void aes_pad(uint8_t *bytes, uint64_t text_bytes, uint64_t all_bytes)
{
    for (uint64_t i = text_bytes; i < all_bytes; i++)
        bytes[i] = (uint8_t)(all_bytes - text_bytes);
}

/*
 * The four tables of a fast implementation, 256 words each: entry x of table `row` is what byte x of that row adds to
 * its column, substituted with `box` and multiplied with the matrix; the lowest byte is row 0.
 */
static inline void aes_make_column_tables(const struct aes_tables *tables, const uint8_t *box, const uint8_t *mix_row,
                                          uint32_t *words)
{
    for (int row = 0; row < 4; row++) {
        for (int x = 0; x < 256; x++) {
            uint32_t word = 0;
            for (int i = 0; i < 4; i++)
                word |= (uint32_t)tables->times[mix_row[(row - i) & 3]][box[x]] << 8 * i;
            words[256 * row + x] = word;
        }
    }
}

static inline uint32_t aes_word(const uint8_t *bytes)
{
    return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

/* What both workloads have in common: a key, text padded to whole blocks, and the same encrypted. */
struct aes_message {
    uint64_t bytes, blocks;
    uint8_t *key, *text, *cipher;
};

static inline bool aes_message_of(const struct corun_problem *problem, struct aes_message *message)
{
    int64_t bytes = corun_problem_value(problem, "bytes");
    if (bytes < 0)
        return false;
    message->bytes = (uint64_t)bytes;
    message->blocks = message->bytes / AES_BLOCK_BYTES + 1;
    message->key = corun_problem_data(problem, "key", CORUN_ELEMENT_U8, 16);
    message->text = corun_problem_data(problem, "text", CORUN_ELEMENT_U32, 4 * message->blocks);
    message->cipher = corun_problem_data(problem, "cipher", CORUN_ELEMENT_U32, 4 * message->blocks);
    return message->key && message->text && message->cipher;
}

/* The tables and the round keys of a message's key. */
static inline void aes_prepare(const struct aes_message *message, struct aes_tables *tables, uint8_t *schedule)
{
    aes_make_tables(tables);
    aes_expand_key(tables, message->key, schedule);
}

/* A random key, and text of the message's length with its padding in `plain`, which is one of the message's buffers. */
static inline void aes_make_message(struct aes_message *message, uint8_t *plain, uint64_t state)
{
    for (int i = 0; i < 16; i++)
        message->key[i] = (uint8_t)(corun_random(&state) >> 56);
    text_fill(plain, message->bytes, &state);
    aes_pad(plain, message->bytes, message->blocks * AES_BLOCK_BYTES);
}

#endif
