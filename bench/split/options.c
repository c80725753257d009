/* SPDX-License-Identifier: MIT */
/* Options of one program (options.h). */
#include "options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t number(const char *word, const char *text, uint32_t least, uint32_t most)
{
    char *end;
    unsigned long long value = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || value < least || value > most) {
        fprintf(stderr, "%s: not a number from %u to %u\n", word, least, most);
        exit(2);
    }
    return (uint32_t)value;
}

uint32_t options_take(int *count, char **words, const char *name, uint32_t value, uint32_t least, uint32_t most)
{
    size_t length = strlen(name);
    int kept = 0;
    for (int i = 0; i < *count; i++) {
        const char *word = words[i];
        if (i && !strncmp(word, "--", 2) && !strncmp(word + 2, name, length) && word[2 + length] == '=')
            value = number(word, word + 2 + length + 1, least, most);
        else
            words[kept++] = words[i];
    }
    words[kept] = NULL;
    *count = kept;
    return value;
}
