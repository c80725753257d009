/* SPDX-License-Identifier: MIT */
/*
 * Made-up text for generators of input: words of a small vocabulary, common ones far more often than rare ones, with
 * spaces, punctuation and line ends. Bytes are as unevenly spread as those of real text.
 */
#ifndef CORUN_KERNELS_TEXT_H
#define CORUN_KERNELS_TEXT_H

#include "corun/workload.h"

#include <string.h>

#define TEXT_WORDS 512
#define TEXT_LONGEST 11
#define TEXT_ROOM 16 /* of a word, which is copied as a whole */

struct text_vocabulary {
    uint8_t length[TEXT_WORDS];
    char letters[TEXT_WORDS][TEXT_ROOM];
};

static inline void text_invent_words(struct text_vocabulary *vocabulary, uint64_t *state)
{
    static const char by_frequency[] = "etaoinshrdlucmfwypvbgkqjxz";
    for (uint64_t word = 0; word < TEXT_WORDS; word++) {
        uint64_t random = corun_random(state); /* the common words are the short ones, as in any language */
        vocabulary->length[word] = (uint8_t)(1 + word / 128 + random % (TEXT_LONGEST - 3));
        memset(vocabulary->letters[word], 0, TEXT_ROOM);
        for (int i = 0; i < TEXT_LONGEST; i++) {
            float unit = corun_random_unit(state);
            vocabulary->letters[word][i] = by_frequency[(int)(unit * unit * 26.0f)];
        }
    }
}

static inline void text_fill(uint8_t *bytes, uint64_t count, uint64_t *state)
{
    struct text_vocabulary vocabulary;
    uint8_t last[TEXT_ROOM + 2]; /* the last words, of which only the beginning may be wanted */
    text_invent_words(&vocabulary, state);
    uint64_t at = 0;
    while (at < count) {
        uint8_t *to = count - at < sizeof last ? last : bytes + at;
        float unit = corun_random_unit(state);
        int word = (int)(unit * unit * unit * (float)TEXT_WORDS);
        memcpy(to, vocabulary.letters[word], TEXT_ROOM);
        uint64_t length = vocabulary.length[word], random = corun_random(state);
        to[length] = (uint8_t) ",.;,.?,.0123456789"[random / 8 % 18];
        length += random % 8 == 0; /* else it is written over */
        to[length++] = random % 64 < 5 ? '\n' : ' ';
        if (to == last)
            memcpy(bytes + at, last, length < count - at ? length : count - at);
        at += length;
    }
}

#endif
