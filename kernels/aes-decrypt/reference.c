/* aes-decrypt on the host: byte by byte, without the kernel's tables. What is decrypted is encrypted text. */
#include "aes.h"
#include "text.h"

struct message {
    uint64_t bytes, blocks;
    uint8_t *key, *text, *cipher;
};

static bool message_of(const struct corun_problem *problem, struct message *message)
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
    struct message message;
    uint32_t *round_keys = corun_problem_data(problem, "round_keys", CORUN_ELEMENT_U32, AES_SCHEDULE_BYTES / 4);
    uint32_t *column_tables = corun_problem_data(problem, "tables", CORUN_ELEMENT_U32, 4 * 256);
    uint8_t *substitution = corun_problem_data(problem, "substitution", CORUN_ELEMENT_U8, 256);
    if (!message_of(problem, &message) || !round_keys || !column_tables || !substitution)
        return false;
    uint64_t state = problem->seed ^ UINT64_C(0x6165732064000000);
    for (int i = 0; i < 16; i++)
        message.key[i] = (uint8_t)(corun_random(&state) >> 56);
    text_fill(message.cipher, message.bytes, &state);
    aes_pad(message.cipher, message.bytes, message.blocks * AES_BLOCK_BYTES);

    struct aes_tables tables;
    uint8_t schedule[AES_SCHEDULE_BYTES];
    aes_make_tables(&tables);
    aes_expand_key(&tables, message.key, schedule);
    for (uint64_t at = 0; at < message.blocks * AES_BLOCK_BYTES; at += AES_BLOCK_BYTES)
        aes_encrypt_block(&tables, schedule, message.cipher + at, message.cipher + at);
    order_round_keys(&tables, schedule, round_keys);
    aes_make_column_tables(&tables, tables.substitute_back, aes_unmix_row, column_tables);
    memcpy(substitution, tables.substitute_back, 256);
    return true;
}

static bool compute(const struct corun_problem *problem)
{
    struct message message;
    if (!message_of(problem, &message))
        return false;
    struct aes_tables tables;
    uint8_t schedule[AES_SCHEDULE_BYTES];
    aes_make_tables(&tables);
    aes_expand_key(&tables, message.key, schedule);
    for (uint64_t at = 0; at < message.blocks * AES_BLOCK_BYTES; at += AES_BLOCK_BYTES)
        aes_decrypt_block(&tables, schedule, message.cipher + at, message.text + at);
    return true;
}

const struct corun_reference corun_reference_aes_decrypt = {
    .name = "aes-decrypt",
    .compute = compute,
    .generators = (const struct corun_generator[]){{"cipher", generate}, {0}},
};
