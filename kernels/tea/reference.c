/* SPDX-License-Identifier: MIT */
/* TEA on the host, a round at a time. */
#include "corun/workload.h"

#include "text.h"

#define ROUNDS 64

static bool generate(const struct corun_problem *problem)
{
    int64_t bytes = corun_problem_value(problem, "bytes");
    if (bytes <= 0)
        return false;
    uint32_t *key = corun_problem_data(problem, "key", CORUN_ELEMENT_U32, 4);
    uint8_t *text = corun_problem_data(problem, "text", CORUN_ELEMENT_U32, ((uint64_t)bytes + 7) / 8 * 2);
    if (!key || !text)
        return false;
    uint64_t state = problem->seed ^ UINT64_C(0x7465610000000000);
    for (int i = 0; i < 4; i++)
        key[i] = (uint32_t)(corun_random(&state) >> 32);
    text_fill(text, (uint64_t)bytes, &state);
    return true;
}

static bool compute(const struct corun_problem *problem)
{
    uint64_t words = 2 * (uint64_t)corun_problem_value(problem, "blocks");
    const uint32_t *key = corun_problem_data(problem, "key", CORUN_ELEMENT_U32, 4);
    const uint32_t *text = corun_problem_data(problem, "text", CORUN_ELEMENT_U32, words);
    uint32_t *cipher = corun_problem_data(problem, "cipher", CORUN_ELEMENT_U32, words);
    if (!key || !text || !cipher)
        return false;
    for (uint64_t i = 0; i < words; i += 2) {
        uint32_t half[2] = {text[i], text[i + 1]};
        for (uint32_t round = 0; round < ROUNDS; round++) { /* even ones change the first half, odd ones the second */
            uint32_t other = half[1 - round % 2];
            const uint32_t *pair = key + 2 * (round % 2);
            uint32_t sum = (round / 2 + 1) * UINT32_C(0x9e3779b9);
            half[round % 2] += (other * 16 + pair[0]) ^ (other + sum) ^ (other / 32 + pair[1]);
        }
        memcpy(cipher + i, half, sizeof half);
    }
    return true;
}

const struct corun_reference corun_reference_tea = {
    .name = "tea",
    .compute = compute,
    .generators = (const struct corun_generator[]){{"text", generate}, {0}},
};
