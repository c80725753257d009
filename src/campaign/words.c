/* SPDX-License-Identifier: MIT */
/* Words of command lines as a shell takes them. */
#include "campaign/words.h"

#include <stdbool.h>

void words_put_quoted(const char *word, FILE *stream)
{
    putc('\'', stream);
    for (; *word; word++) {
        if (*word == '\'')
            fputs("'\\''", stream);
        else
            putc(*word, stream);
    }
    putc('\'', stream);
}

/* Whatever the locale is: bytes of UTF-8 beyond ASCII mean nothing to a shell. */
static bool is_plain(char character)
{
    unsigned char byte = (unsigned char)character;
    return (byte >= '0' && byte <= ':') || (byte >= '@' && byte <= 'Z') || (byte >= 'a' && byte <= 'z') ||
           (byte >= '+' && byte <= '/') || byte == '_' || byte == '%' || byte == '=' || byte >= 0x80;
}

void words_put(const char *word, FILE *stream)
{
    bool plain = *word != 0;
    for (const char *next = word; *next && plain; next++)
        plain = is_plain(*next);
    if (plain)
        fputs(word, stream);
    else
        words_put_quoted(word, stream);
}

void words_put_all(const char *const *words, uint32_t count, FILE *stream)
{
    for (uint32_t i = 0; i < count; i++) {
        fputs(i ? " " : "", stream);
        words_put(words[i], stream);
    }
}
