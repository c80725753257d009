/* SPDX-License-Identifier: MIT */
/* A key for RSA, messages padded as PKCS #1 says, and their powers by GMP. */
#include "corun/workload.h"

#include <gmp.h>

#include "text.h"

#define PUBLIC_EXPONENT 65537

struct messages {
    uint64_t count, limbs;
    uint32_t *modulus, *radix_squared, *exponent, *inverse, *text, *powers;
};

static bool messages_of(const struct corun_problem *problem, struct messages *messages)
{
    int64_t count = corun_problem_value(problem, "messages");
    int64_t limbs = corun_problem_value(problem, "limbs");
    if (count <= 0 || limbs <= 0 || limbs > 32)
        return false;
    messages->count = (uint64_t)count;
    messages->limbs = (uint64_t)limbs;
    messages->modulus = corun_problem_data(problem, "modulus", CORUN_ELEMENT_U32, messages->limbs);
    messages->radix_squared = corun_problem_data(problem, "radix_squared", CORUN_ELEMENT_U32, messages->limbs);
    messages->exponent = corun_problem_data(problem, "exponent", CORUN_ELEMENT_U32, messages->limbs);
    messages->inverse = corun_problem_data(problem, "inverse", CORUN_ELEMENT_U32, 1);
    messages->text = corun_problem_data(problem, "text", CORUN_ELEMENT_U32, messages->limbs * messages->count);
    messages->powers = corun_problem_data(problem, "powers", CORUN_ELEMENT_U32, messages->limbs * messages->count);
    return messages->modulus && messages->radix_squared && messages->exponent && messages->inverse && messages->text &&
           messages->powers;
}

static void import_number(mpz_t number, const uint32_t *limbs, uint64_t count)
{
    mpz_import(number, count, -1, sizeof *limbs, 0, 0, limbs);
}

static void export_number(const mpz_t number, uint32_t *limbs, uint64_t count)
{
    memset(limbs, 0, count * sizeof *limbs);
    mpz_export(limbs, NULL, -1, sizeof *limbs, 0, 0, number);
}

/* A prime that suits the public exponent. Its two highest bits are set: a product of two has twice as many bits. */
static void random_prime(mpz_t prime, uint64_t bits, uint64_t *state)
{
    do {
        mpz_set_ui(prime, 0);
        for (uint64_t i = 0; i < bits; i += 16) {
            mpz_mul_2exp(prime, prime, 16);
            mpz_add_ui(prime, prime, (unsigned long)(corun_random(state) >> 48));
        }
        mpz_setbit(prime, bits - 1);
        mpz_setbit(prime, bits - 2);
        mpz_setbit(prime, 0);
    } while (mpz_fdiv_ui(prime, PUBLIC_EXPONENT) == 1 || !mpz_probab_prime_p(prime, 32));
}

static void make_key(const struct messages *messages, bool with_private_exponent, uint64_t *state)
{
    mpz_t p, q, modulus, exponent, other;
    mpz_inits(p, q, modulus, exponent, other, NULL);
    random_prime(p, 16 * messages->limbs, state);
    do {
        random_prime(q, 16 * messages->limbs, state);
    } while (mpz_cmp(p, q) == 0);
    mpz_mul(modulus, p, q);
    export_number(modulus, messages->modulus, messages->limbs);

    mpz_set_ui(exponent, PUBLIC_EXPONENT);
    if (with_private_exponent) {
        mpz_sub_ui(p, p, 1);
        mpz_sub_ui(q, q, 1);
        mpz_lcm(other, p, q);
        mpz_invert(exponent, exponent, other);
    }
    export_number(exponent, messages->exponent, messages->limbs);

    mpz_set_ui(other, 0);
    mpz_setbit(other, 64 * messages->limbs);
    mpz_mod(other, other, modulus);
    export_number(other, messages->radix_squared, messages->limbs);

    mpz_set_ui(other, 0);
    mpz_setbit(other, 32);
    mpz_invert(exponent, modulus, other);
    mpz_sub(exponent, other, exponent);
    export_number(exponent, messages->inverse, 1);
    mpz_clears(p, q, modulus, exponent, other, NULL);
}

/* Highest byte first: 0, 2, eight random bytes or more but no zeros, 0, text. */
static void pad_message(uint8_t *bytes, uint64_t count, uint64_t *state)
{
    uint64_t text = corun_random(state) % (count - 10);
    bytes[0] = 0;
    bytes[1] = 2;
    for (uint64_t i = 2; i < count - text - 1; i++)
        bytes[i] = (uint8_t)(1 + corun_random(state) % 255);
    bytes[count - text - 1] = 0;
    text_fill(bytes + count - text, text, state);
}

static bool generate(const struct corun_problem *problem)
{
    struct messages messages;
    if (!messages_of(problem, &messages) || messages.limbs < 4)
        return false;
    uint64_t state = problem->seed ^ UINT64_C(0x7273610000000000);
    make_key(&messages, corun_problem_value(problem, "private") != 0, &state);
    mpz_t message;
    mpz_init(message);
    for (uint64_t i = 0; i < messages.count; i++) {
        uint8_t bytes[4 * 32];
        pad_message(bytes, 4 * messages.limbs, &state);
        mpz_import(message, 4 * messages.limbs, 1, 1, 0, 0, bytes);
        export_number(message, messages.text + messages.limbs * i, messages.limbs);
    }
    mpz_clear(message);
    return true;
}

static bool compute(const struct corun_problem *problem)
{
    struct messages messages;
    if (!messages_of(problem, &messages))
        return false;
    mpz_t modulus, exponent, number;
    mpz_inits(modulus, exponent, number, NULL);
    import_number(modulus, messages.modulus, messages.limbs);
    import_number(exponent, messages.exponent, messages.limbs);
    for (uint64_t i = 0; i < messages.count; i++) {
        import_number(number, messages.text + messages.limbs * i, messages.limbs);
        mpz_powm(number, number, exponent, modulus);
        export_number(number, messages.powers + messages.limbs * i, messages.limbs);
    }
    mpz_clears(modulus, exponent, number, NULL);
    return true;
}

const struct corun_reference corun_reference_rsa = {
    .name = "rsa",
    .compute = compute,
    .generators = (const struct corun_generator[]){{"key", generate}, {0}},
};
