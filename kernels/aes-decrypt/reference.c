/* SPDX-License-Identifier: MIT */
/* aes-decrypt on the host: byte by byte, without the kernel's tables. What is decrypted is encrypted text. */
#include "aes.h"

/* The round keys in the order of decryption; those of the inner rounds mixed, as they are added after the mixing. */
static void order_round_keys(const struct aes_tables *tables, const uint8_t *schedule, uint32_t *round_keys)
{
    for (int round = 0; round <= AES_ROUNDS; round++) {
        uint8_t key[AES_BLOCK_BYTES];
        memcpy(key, schedule + AES_BLOCK_BYTES * (AES_ROUNDS - round), AES_BLOCK_BYTES);
        if (round > 0 && round < AES_ROUNDS)
            aes_mix_columns(tables, key, aes_unmix_row);
        for (int column = 0; column < 4; column++)
            round_keys[4 * round + column] = aes_word(key + 4 * column);
    }
}

static bool generate(const struct corun_problem *problem)
{
    struct aes_message message;
    uint32_t *round_keys = corun_problem_data(problem, "round_keys", CORUN_ELEMENT_U32, AES_SCHEDULE_BYTES / 4);
    uint32_t *column_tables = corun_problem_data(problem, "tables", CORUN_ELEMENT_U32, 4 * 256);
    uint8_t *substitution = corun_problem_data(problem, "substitution", CORUN_ELEMENT_U8, 256);
    if (!aes_message_of(problem, &message) || !round_keys || !column_tables || !substitution)
        return false;
    aes_make_message(&message, message.cipher, problem->seed ^ UINT64_C(0x6165732064000000));

    struct aes_tables tables;
    uint8_t schedule[AES_SCHEDULE_BYTES];
    aes_prepare(&message, &tables, schedule);
    for (uint64_t at = 0; at < message.blocks * AES_BLOCK_BYTES; at += AES_BLOCK_BYTES)
        aes_encrypt_block(&tables, schedule, message.cipher + at, message.cipher + at);
    order_round_keys(&tables, schedule, round_keys);
    aes_make_column_tables(&tables, tables.substitute_back, aes_unmix_row, column_tables);
    memcpy(substitution, tables.substitute_back, 256);
    return true;
}

static bool compute(const struct corun_problem *problem)
{
    struct aes_message message;
    if (!aes_message_of(problem, &message))
        return false;
    struct aes_tables tables;
    uint8_t schedule[AES_SCHEDULE_BYTES];
    aes_prepare(&message, &tables, schedule);
    for (uint64_t at = 0; at < message.blocks * AES_BLOCK_BYTES; at += AES_BLOCK_BYTES)
        aes_decrypt_block(&tables, schedule, message.cipher + at, message.text + at);
    return true;
}

const struct corun_reference corun_reference_aes_decrypt = {
    .name = "aes-decrypt",
    .compute = compute,
    .generators = (const struct corun_generator[]){{"cipher", generate}, {0}},
};
