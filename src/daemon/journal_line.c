/* SPDX-License-Identifier: MIT */
/* Lines of journals. */
#include "daemon/journal_line.h"

void journal_line_text(FILE *file, const char *text)
{
    fputc('"', file);
    for (; *text; text++)
        fputc(*text >= ' ' && *text <= '~' && *text != '"' && *text != '\\' ? *text : '?', file);
    fputc('"', file);
}

void journal_line_begin(FILE *file, const char *phase, uint32_t process, double microseconds, const char *name)
{
    fprintf(file, "{\"ph\":\"%s\",\"pid\":%u,\"tid\":1,\"ts\":%.3f,%s\"name\":", phase, process, microseconds,
            *phase == 'i' ? "\"s\":\"p\"," : "");
    journal_line_text(file, name);
    fputs(",\"args\":{", file);
}

bool journal_line_end(FILE *file)
{
    fputs("}},\n", file);
    return fflush(file) == 0;
}

bool journal_line_process(FILE *file, uint32_t process, const char *name)
{
    fprintf(file, "{\"ph\":\"M\",\"pid\":%u,\"tid\":1,\"name\":\"process_name\",\"args\":{\"name\":", process);
    journal_line_text(file, name);
    return journal_line_end(file);
}
