/* SPDX-License-Identifier: MIT */
/* Words of command lines as a shell takes them. */
#ifndef CORUN_CAMPAIGN_WORDS_H
#define CORUN_CAMPAIGN_WORDS_H

#include <stdint.h>
#include <stdio.h>

/* In quotes, whatever it is. */
void words_put_quoted(const char *word, FILE *stream);
/* In quotes only where a shell, or who takes the words apart at blanks, would see something else in it. */
void words_put(const char *word, FILE *stream);
/* The same of several, with blanks between them. */
void words_put_all(const char *const *words, uint32_t count, FILE *stream);

#endif
