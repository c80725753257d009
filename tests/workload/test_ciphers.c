/* SPDX-License-Identifier: MIT */
/*
 * The references of the ciphers and hashes against published test vectors: what the kernels are compared with is right
 * itself.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "workload/references.h"

static const struct corun_reference *find_reference(const char *name)
{
    for (size_t i = 0; corun_references[i]; i++) {
        if (strcmp(corun_references[i]->name, name) == 0)
            return corun_references[i];
    }
    skip(); /* a build with some of the workloads only */
    return NULL;
}

/* An even number of hexadecimal digits. */
static void bytes_of(const char *digits, uint8_t *bytes)
{
    for (size_t i = 0; digits[2 * i]; i++) {
        unsigned byte;
        assert_int_equal(sscanf(digits + 2 * i, "%2x", &byte), 1);
        bytes[i] = (uint8_t)byte;
    }
}

static void run_aes(const char *name, const char *input, const char *output, const char *key_digits,
                    const char *input_digits, const char *output_digits)
{
    uint8_t key[16], from[16], to[16] = {0}, expected[16];
    bytes_of(key_digits, key);
    bytes_of(input_digits, from);
    bytes_of(output_digits, expected);
    const struct corun_problem_buffer buffers[] = {
        {"key", CORUN_ELEMENT_U8, 16, key},
        {input, CORUN_ELEMENT_U32, 4, from},
        {output, CORUN_ELEMENT_U32, 4, to},
    };
    const struct corun_problem_parameter parameters[] = {{"bytes", 15}}; /* and one of padding: a block */
    const struct corun_problem problem = {0, buffers, 3, parameters, 1};
    assert_true(find_reference(name)->compute(&problem));
    assert_memory_equal(to, expected, 16);
}

/* FIPS 197, appendices B and C.1 */
static void test_aes(void **state)
{
    (void)state;
    static const char *const vectors[][3] = {
        {"2b7e151628aed2a6abf7158809cf4f3c", "3243f6a8885a308d313198a2e0370734", "3925841d02dc09fbdc118597196a0b32"},
        {"000102030405060708090a0b0c0d0e0f", "00112233445566778899aabbccddeeff", "69c4e0d86a7b0430d8cdb78070b4c55a"},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        run_aes("aes-encrypt", "text", "cipher", vectors[i][0], vectors[i][1], vectors[i][2]);
        run_aes("aes-decrypt", "cipher", "text", vectors[i][0], vectors[i][2], vectors[i][1]);
    }
}

static void hash(const char *text, const uint32_t *expected)
{
    uint8_t data[128] = {0};
    uint32_t digest[5] = {0};
    size_t bytes = strlen(text);
    memcpy(data, text, bytes + 1);
    const struct corun_problem_buffer buffers[] = {
        {"data", CORUN_ELEMENT_U32, sizeof data / 4, data},
        {"digests", CORUN_ELEMENT_U32, 5, digest},
    };
    const struct corun_problem_parameter parameters[] = {{"bytes", (int64_t)bytes}, {"blocks", 1}};
    const struct corun_problem problem = {0, buffers, 2, parameters, 2};
    assert_true(find_reference("sha1")->compute(&problem));
    assert_memory_equal(digest, expected, sizeof digest);
}

/* FIPS 180-2, appendices A.1 and A.2: one block, and two because the padding does not fit */
static void test_sha1(void **state)
{
    (void)state;
    hash("abc", (const uint32_t[]){0xa9993e36, 0x4706816a, 0xba3e2571, 0x7850c26c, 0x9cd0d89d});
    hash("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         (const uint32_t[]){0x84983e44, 0x1c3bd26e, 0xbaae4aa1, 0xf95129e5, 0xe54670f1});
}

/* Vectors that implementations of TEA have in common */
static void test_tea(void **state)
{
    (void)state;
    static const struct {
        uint32_t key[4], text[2], cipher[2];
    } vectors[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x41ea3a0a, 0x94baa940}},
        {{0, 0, 0, 0}, {0x01020304, 0x05060708}, {0x6a2f9cf3, 0xfccf3c55}},
        {{0x01234567, 0x12345678, 0x23456789, 0x3456789a}, {0, 0}, {0x34e943b0, 0x900f5dcb}},
        {{0x01234567, 0x12345678, 0x23456789, 0x3456789a}, {0x01020304, 0x05060708}, {0x773dc179, 0x878a81c0}},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        uint32_t key[4], text[2], cipher[2] = {0};
        memcpy(key, vectors[i].key, sizeof key);
        memcpy(text, vectors[i].text, sizeof text);
        const struct corun_problem_buffer buffers[] = {
            {"key", CORUN_ELEMENT_U32, 4, key},
            {"text", CORUN_ELEMENT_U32, 2, text},
            {"cipher", CORUN_ELEMENT_U32, 2, cipher},
        };
        const struct corun_problem_parameter parameters[] = {{"blocks", 1}};
        const struct corun_problem problem = {0, buffers, 3, parameters, 1};
        assert_true(find_reference("tea")->compute(&problem));
        assert_memory_equal(cipher, vectors[i].cipher, sizeof cipher);
    }
}

#define LIMBS 32
#define MESSAGES 3

struct rsa {
    uint32_t modulus[LIMBS], radix_squared[LIMBS], exponent[LIMBS], inverse[1];
    uint32_t text[MESSAGES * LIMBS], powers[MESSAGES * LIMBS];
    struct corun_problem_buffer buffers[6];
    struct corun_problem_parameter parameters[3];
    struct corun_problem problem;
};

static void set_up_rsa(struct rsa *rsa, uint64_t limbs, uint64_t messages, bool with_private_exponent)
{
    memset(rsa, 0, sizeof *rsa);
    const struct corun_problem_buffer buffers[6] = {
        {"modulus", CORUN_ELEMENT_U32, limbs, rsa->modulus},
        {"radix_squared", CORUN_ELEMENT_U32, limbs, rsa->radix_squared},
        {"exponent", CORUN_ELEMENT_U32, limbs, rsa->exponent},
        {"inverse", CORUN_ELEMENT_U32, 1, rsa->inverse},
        {"text", CORUN_ELEMENT_U32, messages * limbs, rsa->text},
        {"powers", CORUN_ELEMENT_U32, messages * limbs, rsa->powers},
    };
    memcpy(rsa->buffers, buffers, sizeof buffers);
    rsa->parameters[0] = (struct corun_problem_parameter){"limbs", (int64_t)limbs};
    rsa->parameters[1] = (struct corun_problem_parameter){"messages", (int64_t)messages};
    rsa->parameters[2] = (struct corun_problem_parameter){"private", with_private_exponent};
    rsa->problem = (struct corun_problem){5, rsa->buffers, 6, rsa->parameters, 3};
}

/* The textbook's key: 61 * 53, 17 and 2753 */
static void test_rsa_textbook(void **state)
{
    (void)state;
    const struct corun_reference *reference = find_reference("rsa");
    struct rsa rsa;
    set_up_rsa(&rsa, 1, 1, false);
    rsa.modulus[0] = 3233;
    rsa.exponent[0] = 17;
    rsa.text[0] = 65;
    assert_true(reference->compute(&rsa.problem));
    assert_int_equal(rsa.powers[0], 2790);
    rsa.exponent[0] = 2753;
    rsa.text[0] = 2790;
    assert_true(reference->compute(&rsa.problem));
    assert_int_equal(rsa.powers[0], 65);
}

/* A made key has all its bits, and its private exponent undoes the public one. */
static void test_rsa_key(void **state)
{
    (void)state;
    const struct corun_reference *reference = find_reference("rsa");
    struct rsa encryption, decryption;
    set_up_rsa(&encryption, LIMBS, MESSAGES, false);
    set_up_rsa(&decryption, LIMBS, MESSAGES, true);
    assert_true(reference->generators[0].generate(&encryption.problem));
    assert_true(reference->generators[0].generate(&decryption.problem));
    assert_memory_equal(encryption.modulus, decryption.modulus, sizeof encryption.modulus);
    assert_memory_not_equal(encryption.exponent, decryption.exponent, sizeof encryption.exponent);
    assert_true(encryption.modulus[LIMBS - 1] >> 31);
    assert_int_equal((uint32_t)(encryption.modulus[0] * encryption.inverse[0]), UINT32_MAX);

    assert_true(reference->compute(&encryption.problem));
    assert_memory_not_equal(encryption.powers, encryption.text, sizeof encryption.text);
    memcpy(decryption.text, encryption.powers, sizeof decryption.text);
    assert_true(reference->compute(&decryption.problem));
    assert_memory_equal(decryption.powers, encryption.text, sizeof encryption.text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_aes),          cmocka_unit_test(test_sha1),    cmocka_unit_test(test_tea),
        cmocka_unit_test(test_rsa_textbook), cmocka_unit_test(test_rsa_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
