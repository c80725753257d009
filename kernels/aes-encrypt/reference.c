/* aes-encrypt on the host: byte by byte, without the kernel's tables. */
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

static bool generate(const struct corun_problem *problem)
{
    struct message message;
    uint32_t *round_keys = corun_problem_data(problem, "round_keys", CORUN_ELEMENT_U32, AES_SCHEDULE_BYTES / 4);
    uint32_t *column_tables = corun_problem_data(problem, "tables", CORUN_ELEMENT_U32, 4 * 256);
    if (!message_of(problem, &message) || !round_keys || !column_tables)
        return false;
    uint64_t state = problem->seed ^ UINT64_C(0x6165732065000000);
    for (int i = 0; i < 16; i++)
        message.key[i] = (uint8_t)(corun_random(&state) >> 56);
    text_fill(message.text, message.bytes, &state);
    aes_pad(message.text, message.bytes, message.blocks * AES_BLOCK_BYTES);

    struct aes_tables tables;
    uint8_t schedule[AES_SCHEDULE_BYTES];
    aes_make_tables(&tables);
    aes_expand_key(&tables, message.key, schedule);
    for (int i = 0; i < AES_SCHEDULE_BYTES / 4; i++)
        round_keys[i] = aes_word(schedule + 4 * i);
    aes_make_column_tables(&tables, tables.substitute, aes_mix_row, column_tables);
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
        aes_encrypt_block(&tables, schedule, message.text + at, message.cipher + at);
    return true;
}

const struct corun_reference corun_reference_aes_encrypt = {
    .name = "aes-encrypt",
    .compute = compute,
    .generators = (const struct corun_generator[]){{"text", generate}, {0}},
};
