/* SPDX-License-Identifier: MIT */
/* aes-encrypt on the host: byte by byte, without the kernel's tables. */
#include "aes.h"

static bool generate(const struct corun_problem *problem)
{
    struct aes_message message;
    uint32_t *round_keys = corun_problem_data(problem, "round_keys", CORUN_ELEMENT_U32, AES_SCHEDULE_BYTES / 4);
    uint32_t *column_tables = corun_problem_data(problem, "tables", CORUN_ELEMENT_U32, 4 * 256);
    if (!aes_message_of(problem, &message) || !round_keys || !column_tables)
        return false;
    aes_make_message(&message, message.text, problem->seed ^ UINT64_C(0x6165732065000000));

    struct aes_tables tables;
    uint8_t schedule[AES_SCHEDULE_BYTES];
    aes_prepare(&message, &tables, schedule);
    for (int i = 0; i < AES_SCHEDULE_BYTES / 4; i++)
        round_keys[i] = aes_word(schedule + 4 * i);
    aes_make_column_tables(&tables, tables.substitute, aes_mix_row, column_tables);
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
        aes_encrypt_block(&tables, schedule, message.text + at, message.cipher + at);
    return true;
}

const struct corun_reference corun_reference_aes_encrypt = {
    .name = "aes-encrypt",
    .compute = compute,
    .generators = (const struct corun_generator[]){{"text", generate}, {0}},
};
