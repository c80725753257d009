/* SPDX-License-Identifier: MIT */
/*
 * stemmer: takes English words to their stems (Porter: An algorithm for suffix stripping, Program 14(3), 1980). Stands for the stemmer of the
 * Sirius suite.
 *
 * Data: words, 16 bytes each, read once and written once: a stream that no cache keeps; the work is comparisons and branches. A query is a
 * number of thousand words; 2000 words are a task.
 */
#include "program.h"

#include <stdlib.h>
#include <string.h>

enum { ROOM = 16, TASK_WORDS = 2000 };

struct word {
    char letters[ROOM - 1]; /* without an end mark */
    uint8_t length;
};

struct stemmer {
    struct word *words, *stems;
    uint32_t count;
};

static bool is_consonant(const char *letters, uint32_t at)
{
    switch (letters[at]) {
    case 'a':
    case 'e':
    case 'i':
    case 'o':
    case 'u':
        return false;
    case 'y': /* after a consonant, a vowel */
        return !at || !is_consonant(letters, at - 1);
    default:
        return true;
    }
}

/* How often a vowel is followed by a consonant: the paper's m. */
static uint32_t measure(const char *letters, uint32_t length)
{
    uint32_t count = 0;
    for (uint32_t i = 1; i < length; i++)
        count += is_consonant(letters, i) && !is_consonant(letters, i - 1);
    return count;
}

static bool has_vowel(const char *letters, uint32_t length)
{
    for (uint32_t i = 0; i < length; i++)
        if (!is_consonant(letters, i))
            return true;
    return false;
}

static bool ends_double(const char *letters, uint32_t length)
{
    return length > 1 && letters[length - 1] == letters[length - 2] && is_consonant(letters, length - 1);
}

/* Consonant, vowel, consonant, and the last is none of w, x, y: the paper's *o. */
static bool ends_short(const char *letters, uint32_t length)
{
    return length > 2 && is_consonant(letters, length - 3) && !is_consonant(letters, length - 2) &&
           is_consonant(letters, length - 1) && !strchr("wxy", letters[length - 1]);
}

/* Whether the word ends so; *stem is the length of what is before. */
static bool ends(const struct word *word, const char *suffix, uint32_t *stem)
{
    uint32_t length = (uint32_t)strlen(suffix);
    *stem = word->length - length;
    return length < word->length && !memcmp(word->letters + *stem, suffix, length);
}

static void replace(struct word *word, uint32_t stem, const char *suffix)
{
    uint32_t length = (uint32_t)strlen(suffix);
    memcpy(word->letters + stem, suffix, length);
    word->length = (uint8_t)(stem + length);
}

struct rule {
    const char *suffix, *by;
};

/* The first rule whose suffix the word has, where more than `least` is left of the measure. Longer suffixes are before their own ends. */
static void apply(struct word *word, const struct rule *rules, size_t count, uint32_t least)
{
    uint32_t stem;
    for (size_t i = 0; i < count; i++)
        if (ends(word, rules[i].suffix, &stem)) {
            if (measure(word->letters, stem) > least)
                replace(word, stem, rules[i].by);
            return;
        }
}

/* Plurals and participles. */
static void step_1(struct word *word)
{
    static const struct rule plurals[] = {{"sses", "ss"}, {"ies", "i"}, {"ss", "ss"}, {"s", ""}};
    uint32_t stem;
    for (size_t i = 0; i < sizeof plurals / sizeof plurals[0]; i++)
        if (ends(word, plurals[i].suffix, &stem)) {
            replace(word, stem, plurals[i].by);
            break;
        }
    if (ends(word, "eed", &stem)) {
        if (measure(word->letters, stem) > 0)
            word->length--;
    } else if ((ends(word, "ed", &stem) || ends(word, "ing", &stem)) && has_vowel(word->letters, stem)) {
        uint32_t before;
        word->length = (uint8_t)stem;
        if (ends(word, "at", &before) || ends(word, "bl", &before) || ends(word, "iz", &before))
            replace(word, stem, "e");
        else if (ends_double(word->letters, stem) && !strchr("lsz", word->letters[stem - 1]))
            word->length--;
        else if (measure(word->letters, stem) == 1 && ends_short(word->letters, stem))
            replace(word, stem, "e");
    }
    if (ends(word, "y", &stem) && has_vowel(word->letters, stem))
        word->letters[stem] = 'i';
}

static void step_4(struct word *word)
{
    static const char *const suffixes[] = {"al",  "ance", "ence", "er",  "ic",  "able", "ible", "ant", "ement", "ment",
                                           "ent", "ion",  "ou",   "ism", "ate", "iti",  "ous",  "ive", "ize"};
    uint32_t stem;
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++)
        if (ends(word, suffixes[i], &stem)) {
            bool fits = strcmp(suffixes[i], "ion") || (stem && strchr("st", word->letters[stem - 1]));
            if (fits && measure(word->letters, stem) > 1)
                word->length = (uint8_t)stem;
            return;
        }
}

static void step_5(struct word *word)
{
    uint32_t stem;
    if (ends(word, "e", &stem)) {
        uint32_t left = measure(word->letters, stem);
        if (left > 1 || (left == 1 && !ends_short(word->letters, stem)))
            word->length = (uint8_t)stem;
    }
    if (word->letters[word->length - 1] == 'l' && ends_double(word->letters, word->length) &&
        measure(word->letters, word->length) > 1)
        word->length--;
}

static struct word stem_of(struct word word)
{
    static const struct rule second[] = {{"ational", "ate"}, {"tional", "tion"}, {"enci", "ence"},   {"anci", "ance"},
                                         {"izer", "ize"},    {"abli", "able"},   {"alli", "al"},     {"entli", "ent"},
                                         {"eli", "e"},       {"ousli", "ous"},   {"ization", "ize"}, {"ation", "ate"},
                                         {"ator", "ate"},    {"alism", "al"},    {"iveness", "ive"}, {"fulness", "ful"},
                                         {"ousness", "ous"}, {"aliti", "al"},    {"iviti", "ive"},   {"biliti", "ble"}};
    static const struct rule third[] = {{"icate", "ic"}, {"ative", ""}, {"alize", "al"}, {"iciti", "ic"},
                                        {"ical", "ic"},  {"ful", ""},   {"ness", ""}};
    if (word.length < 3)
        return word;
    step_1(&word);
    apply(&word, second, sizeof second / sizeof second[0], 0);
    apply(&word, third, sizeof third / sizeof third[0], 0);
    step_4(&word);
    step_5(&word);
    return word;
}

static void *create(uint32_t size, uint64_t seed)
{
    (void)seed;
    struct stemmer *stemmer = program_allocate(1, sizeof *stemmer);
    stemmer->words = program_allocate((size_t)size * 1000, sizeof *stemmer->words);
    stemmer->stems = program_allocate((size_t)size * 1000, sizeof *stemmer->stems);
    return stemmer;
}

/* One to three syllables and up to two suffixes. */
static void prepare(void *state, uint32_t size, uint64_t seed)
{
    static const char syllables[][4] = {"con", "tri", "bel", "mo",  "re",  "sta", "ver", "pla", "gen", "hop",
                                        "ti",  "ca",  "for", "und", "lig", "ra",  "dis", "no",  "sel", "per"};
    static const char suffixes[][8] = {"",      "s",     "ing",  "ed", "ly",  "ness", "ful",  "ation",
                                       "al",    "ize",   "ment", "er", "ies", "able", "ence", "ical",
                                       "ivity", "ously", "ate",  "e",  "y",   "ion"};
    struct stemmer *stemmer = state;
    stemmer->count = size * 1000;
    for (uint32_t w = 0; w < stemmer->count; w++) {
        uint64_t random = program_random(seed, w);
        struct word word = {.length = 0};
        for (uint32_t part = 0; part < 5; part++, random /= 64) {
            const char *piece = part > 2 ? suffixes[random % 64 % (sizeof suffixes / sizeof suffixes[0])]
                                         : syllables[random % 64 % (sizeof syllables / sizeof syllables[0])];
            bool left_out = (part && part < 3 && (random >> 20 & 1)) || (part == 4 && (random >> 20 & 3));
            for (uint32_t i = 0; !left_out && piece[i] && word.length < ROOM - 2; i++)
                word.letters[word.length++] = piece[i];
        }
        stemmer->words[w] = word;
    }
}

static void stem_some(void *user, uint32_t task)
{
    struct stemmer *stemmer = user;
    for (uint32_t w = task * TASK_WORDS; w < (task + 1) * TASK_WORDS && w < stemmer->count; w++)
        stemmer->stems[w] = stem_of(stemmer->words[w]);
}

static void run(void *state, struct tasks *tasks)
{
    struct stemmer *stemmer = state;
    tasks_phase(tasks, "stem", stem_some, stemmer, (stemmer->count + TASK_WORDS - 1) / TASK_WORDS);
}

/* Words of the paper, and stems are theirs: one letter may differ behind what is the same. */
static const char *check(const void *state)
{
    static const char *const known[][2] = {
        {"caresses", "caress"},     {"ponies", "poni"},        {"cats", "cat"},
        {"feed", "feed"},           {"agreed", "agre"},        {"plastered", "plaster"},
        {"motoring", "motor"},      {"sing", "sing"},          {"conflated", "conflat"},
        {"hopping", "hop"},         {"falling", "fall"},       {"hissing", "hiss"},
        {"filing", "file"},         {"happy", "happi"},        {"sky", "sky"},
        {"relational", "relat"},    {"conditional", "condit"}, {"rational", "ration"},
        {"digitizer", "digit"},     {"radically", "radic"},    {"vietnamization", "vietnam"},
        {"operator", "oper"},       {"feudalism", "feudal"},   {"hopefulness", "hope"},
        {"formality", "formal"},    {"triplicate", "triplic"}, {"formative", "form"},
        {"electrical", "electr"},   {"goodness", "good"},      {"revival", "reviv"},
        {"allowance", "allow"},     {"adjustable", "adjust"},  {"replacement", "replac"},
        {"adoption", "adopt"},      {"activate", "activ"},     {"effective", "effect"},
        {"probate", "probat"},      {"rate", "rate"},          {"cease", "ceas"},
        {"controlling", "control"}, {"rolling", "roll"},       {"generalizations", "gener"}};
    const struct stemmer *stemmer = state;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        struct word word = {.length = (uint8_t)strlen(known[i][0])};
        memcpy(word.letters, known[i][0], word.length);
        word = stem_of(word);
        if (word.length != strlen(known[i][1]) || memcmp(word.letters, known[i][1], word.length))
            return known[i][0];
    }
    for (uint32_t w = 0; w < stemmer->count; w++) {
        const struct word *word = &stemmer->words[w], *stem = &stemmer->stems[w], again = stem_of(*word);
        if (!stem->length || stem->length > word->length || memcmp(stem->letters, word->letters, stem->length / 2))
            return "a stem is not its word's";
        if (again.length != stem->length || memcmp(again.letters, stem->letters, stem->length))
            return "a stem differs from that of the same word alone";
    }
    return NULL;
}

static uint64_t fingerprint(const void *state)
{
    const struct stemmer *stemmer = state;
    uint64_t hash = 0;
    for (uint32_t w = 0; w < stemmer->count; w++)
        hash = program_fingerprint(hash, stemmer->stems[w].letters, stemmer->stems[w].length);
    return hash;
}

static void destroy(void *state)
{
    struct stemmer *stemmer = state;
    free(stemmer->words);
    free(stemmer->stems);
    free(stemmer);
}

int main(int count, char **words)
{
    const struct program program = {.name = "stemmer",
                                    .what = "stems of English words",
                                    .size_of = "thousand words",
                                    .size = 500,
                                    .least = 1,
                                    .most = 20000,
                                    .create = create,
                                    .prepare = prepare,
                                    .run = run,
                                    .check = check,
                                    .fingerprint = fingerprint,
                                    .destroy = destroy};
    return program_main(&program, count, words);
}
