/* SPDX-License-Identifier: MIT */
/*
 * Made-up text for generators of input: words of a small vocabulary, common ones far more often than rare ones, with
 * spaces, punctuation and line ends. Bytes are as unevenly spread as those of real text.
 */
#ifndef CORUN_KERNELS_TEXT_H
#define CORUN_KERNELS_TEXT_H

#include "corun/workload.h"

#define TEXT_WORDS 512
#define TEXT_LONGEST 11

struct text_vocabulary {
    uint8_t length[TEXT_WORDS];
    char letters[TEXT_WORDS][TEXT_LONGEST];
};

static inline void text_invent_words(struct text_vocabulary *vocabulary, uint64_t *state)
{
    static const char by_frequency[] = "etaoinshrdlucmfwypvbgkqjxz";
    for (uint64_t word = 0; word < TEXT_WORDS; word++) {
        uint64_t random = corun_random(state); /* the common words are the short ones, as in any language */
        vocabulary->length[word] = (uint8_t)(1 + word / 128 + random % (TEXT_LONGEST - 3));
        for (int i = 0; i < TEXT_LONGEST; i++) {
            float unit = corun_random_unit(state);
            vocabulary->letters[word][i] = by_frequency[(int)(unit * unit * 26.0f)];
        }
    }
}

static inline void text_fill(uint8_t *bytes, uint64_t count, uint64_t *state)
{
    struct text_vocabulary vocabulary;
    text_invent_words(&vocabulary, state);
    uint64_t at = 0;
    while (at < count) {
        float unit = corun_random_unit(state);
        int word = (int)(unit * unit * unit * (float)TEXT_WORDS);
        for (int i = 0; i < vocabulary.length[word] && at < count; i++)
            bytes[at++] = (uint8_t)vocabulary.letters[word][i];
        uint64_t random = corun_random(state);
        if (random % 8 == 0 && at < count)
            bytes[at++] = (uint8_t) ",.;,.?,.0123456789"[random / 8 % 18];
        if (at < count)
            bytes[at++] = random % 64 < 5 ? '\n' : ' ';
    }
}

#endif
