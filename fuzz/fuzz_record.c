/* SPDX-License-Identifier: MIT */
/* Feeds bytes to the reader of what a CUDA program recorded, and what it reads to the table, the CSV and the JSON. */
#include "report/program_record.h"

#include "memory_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct corun_diagnostics *list = corun_diagnostics_create();
    struct memory_file file = memory_file_create(data, size);
    struct program_record *record = program_record_create(true);
    const struct report_style plain = {0};
    FILE *nowhere = fopen("/dev/null", "w");
    if (!list || !record || !nowhere)
        abort();
    for (int process = 0; process < 2; process++)
        (void)program_record_read(record, file.path, list);
    (void)program_table(record, &plain, nowhere);
    (void)program_csv(record, nowhere);
    (void)program_json(record, nowhere);
    fclose(nowhere);
    program_record_destroy(record);
    memory_file_destroy(&file);
    corun_diagnostics_destroy(list);
    return 0;
}
