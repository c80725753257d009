/* SPDX-License-Identifier: MIT */
/*
 * rsa: powers of messages modulo an RSA key, one message per thread.
 *
 * A thread raises its message to the exponent by squaring and multiplying, highest bit first, with Montgomery products
 * of up to 32 limbs of 32 bits. Each product interleaves multiplication and reduction, a limb of one factor at a time.
 * The three numbers of a thread (message, power, product) lie in shared memory, limb by limb, so that the lanes of a
 * warp are in different banks; the key is in constant memory, where all lanes read the same limb. The final subtraction
 * is done under a mask, always: lanes do not diverge, and time does not tell the key.
 *
 * The spatial multitasking paper encrypts 128 messages of 128 bytes with a key of 1024 bits and calls it
 * problem-size-bound (HPCA 2012, table 1: one kernel of 4 thread blocks of 32 threads). Medium is that, with the public
 * exponent 65537; large raises the same messages to the private exponent, as who signs or decrypts does, which takes
 * eighty times as long.
 *
 * What limits it: the size of the problem. Four warps cannot use more than four SMs, nor hide a latency there: every
 * step of the inner loop waits for the carries of the one before.
 */
#define THREADS 32
#define LIMBS 32

__constant__ unsigned int modulus[LIMBS];
__constant__ unsigned int radix_squared[LIMBS]; /* 2^(64 limbs) modulo the modulus */
__constant__ unsigned int exponent[LIMBS];
__constant__ unsigned int inverse; /* -1 / modulus, modulo 2^32 */

typedef unsigned int number[LIMBS][THREADS]; /* of each lane: limbs, lowest first */
typedef unsigned long long wide;

/* result = first * second / 2^(32 limbs) modulo the modulus; result may be a factor. */
__device__ __forceinline__ void multiply(number result, const number first, const number second, number product,
                                         int limbs)
{
    int lane = threadIdx.x;
    for (int i = 0; i < limbs; i++)
        product[i][lane] = 0;
    unsigned int top = 0;
    for (int i = 0; i < limbs; i++) {
        unsigned int factor = second[i][lane];
        wide sum = (wide)first[0][lane] * factor + product[0][lane];
        unsigned int multiple = (unsigned int)sum * inverse; /* of the modulus: makes the lowest limb zero */
        wide reduced = (wide)multiple * modulus[0] + (unsigned int)sum;
#pragma unroll 4
        for (int j = 1; j < limbs; j++) {
            sum = (wide)first[j][lane] * factor + product[j][lane] + (sum >> 32);
            reduced = (wide)multiple * modulus[j] + (unsigned int)sum + (reduced >> 32);
            product[j - 1][lane] = (unsigned int)reduced;
        }
        wide carry = (sum >> 32) + (reduced >> 32) + top;
        product[limbs - 1][lane] = (unsigned int)carry;
        top = (unsigned int)(carry >> 32);
    }

    unsigned int borrow = 0; /* of product - modulus */
    for (int i = 0; i < limbs; i++)
        borrow = (unsigned int)(((wide)product[i][lane] - modulus[i] - borrow) >> 32) & 1;
    unsigned int mask = top < borrow ? 0 : 0xffffffffu; /* all ones where the product is not below the modulus */
    borrow = 0;
    for (int i = 0; i < limbs; i++) {
        wide difference = (wide)product[i][lane] - (modulus[i] & mask) - borrow;
        result[i][lane] = (unsigned int)difference;
        borrow = (unsigned int)(difference >> 32) & 1;
    }
}

__device__ __forceinline__ unsigned int exponent_bit(int bit)
{
    return exponent[bit / 32] >> bit % 32 & 1;
}

extern "C" __global__ void __launch_bounds__(THREADS)
    rsa_power(const unsigned int *__restrict__ messages, unsigned int *__restrict__ powers, int count, int limbs,
              int exponent_bits)
{
    __shared__ number message;
    __shared__ number power;
    __shared__ number product;
    int lane = threadIdx.x;
    int i = blockIdx.x * THREADS + lane;
    bool active = i < count;
    for (int limb = 0; limb < limbs; limb++) {
        message[limb][lane] = active ? messages[i * limbs + limb] : 0;
        power[limb][lane] = radix_squared[limb];
    }

    multiply(message, message, power, product, limbs);
    for (int limb = 0; limb < limbs; limb++)
        power[limb][lane] = message[limb][lane];
    int bit = exponent_bits - 1;
    while (bit > 0 && !exponent_bit(bit))
        bit--;
    while (--bit >= 0) {
        multiply(power, power, power, product, limbs);
        if (exponent_bit(bit))
            multiply(power, power, message, product, limbs);
    }
    for (int limb = 0; limb < limbs; limb++)
        message[limb][lane] = limb == 0;
    multiply(power, power, message, product, limbs);

    if (!active)
        return;
    for (int limb = 0; limb < limbs; limb++)
        powers[i * limbs + limb] = power[limb][lane];
}
