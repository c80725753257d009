/* SPDX-License-Identifier: MIT */
/*
 * regex: looks for a hundred patterns in sentences, as a question-answering service does to find out what is asked. Patterns become automata
 * when the service starts (Thompson: Regular Expression Search Algorithm, CACM 1968, and subsets of its states); a query runs them. Stands
 * for the regular expressions of the Sirius suite.
 *
 * Data: tables of a hundred automata, two megabytes and more together, of which a pattern uses some kilobytes at a time; the text is small.
 * Every letter is a load that waits for the one before. A query is a number of sentences; 32 sentences are a task.
 */
#include "program.h"

#include <stdlib.h>
#include <string.h>

enum {
    PATTERNS = 100,
    LETTERS = 128,
    MOST_NODES = 120,  /* of the automaton of a pattern before subsets */
    MOST_STATES = 400, /* and after; a pattern that needs more is drawn again */
    LONGEST = 160,     /* letters of a sentence */
    TASK_SENTENCES = 32
};

/* A set of nodes. */
struct set {
    uint64_t bits[2];
};

/* A node takes a letter of `letters` to the next node, or no letter to one or two others. */
struct node {
    struct set letters; /* [LETTERS] as bits; none: moves without a letter */
    uint16_t next, other;
};

/* Node 0 is the end. */
struct automaton {
    struct node nodes[MOST_NODES];
    uint32_t count, start;
};

struct pattern {
    struct automaton automaton;
    uint16_t (*table)[LETTERS]; /* [states]: state 0 has found the pattern, state 1 is the first */
    uint32_t state_count;
};

struct regex {
    struct pattern patterns[PATTERNS];
    uint8_t *text;   /* [size][LONGEST] */
    uint8_t *length; /* [size] */
    uint8_t *found;  /* [size][PATTERNS]: behind the first place where the pattern ends; 0: nowhere */
    uint32_t size;
};

static bool in_set(const struct set *set, uint32_t at)
{
    return set->bits[at / 64] >> at % 64 & 1;
}

static void put(struct set *set, uint32_t at)
{
    set->bits[at / 64] |= 1ull << at % 64;
}

/* A pattern is made of these; each becomes nodes that lead to `next`, and its first is returned. The generator counts the nodes. */
static uint16_t add_node(struct automaton *automaton, struct node node)
{
    automaton->nodes[automaton->count] = node;
    return (uint16_t)automaton->count++;
}

static uint16_t add_word(struct automaton *automaton, const char *word, uint16_t next)
{
    for (size_t i = strlen(word); i-- > 0;) {
        struct node node = {.next = next, .other = next};
        put(&node.letters, (uint32_t)word[i]);
        next = add_node(automaton, node);
    }
    return next;
}

/* A letter of a range, once or more often. */
static uint16_t add_range(struct automaton *automaton, char first, char last, bool repeated, uint16_t next)
{
    struct node node = {.next = next, .other = next};
    for (char letter = first; letter <= last; letter++)
        put(&node.letters, (uint32_t)letter);
    uint16_t range = add_node(automaton, node);
    if (repeated) {
        uint16_t again = add_node(automaton, (struct node){.next = range, .other = next});
        automaton->nodes[range].next = automaton->nodes[range].other = again;
    }
    return range;
}

static uint16_t add_either(struct automaton *automaton, uint16_t one, uint16_t other)
{
    return add_node(automaton, (struct node){.next = one, .other = other});
}

static const char vocabulary[][12] = {"what", "where",   "who",   "when",  "how",    "many",    "far",    "is",
                                      "the",  "capital", "of",    "city",  "river",  "long",    "old",    "built",
                                      "in",   "year",    "open",  "close", "call",   "near",    "author", "book",
                                      "won",  "game",    "price", "speed", "height", "distance"};
enum { VOCABULARY = sizeof vocabulary / sizeof vocabulary[0] };

/* From the end to the beginning: words, numbers, choices and gaps, drawn from the seed. */
static void draw_pattern(struct automaton *automaton, uint64_t seed)
{
    memset(automaton, 0, sizeof *automaton);
    uint16_t next = add_node(automaton, (struct node){0});
    uint32_t pieces = 3 + (uint32_t)(program_random(seed, 0) % 3);
    for (uint32_t i = 1; i <= pieces; i++) {
        uint64_t random = program_random(seed, i);
        const char *word = vocabulary[(random >> 8) % VOCABULARY], *other = vocabulary[(random >> 16) % VOCABULARY];
        if (i > 1)
            next = random >> 24 & 1 ? add_word(automaton, " ", next) : add_range(automaton, ' ', 'z', true, next);
        switch (random & 3) {
        case 0:
            next = add_word(automaton, word, next);
            break;
        case 1:
            next = add_either(automaton, add_word(automaton, word, next), add_word(automaton, other, next));
            break;
        case 2:
            next = add_range(automaton, 'a', 'm', true, add_word(automaton, word + 1, next));
            break;
        default:
            next = add_either(automaton, add_range(automaton, '0', '9', true, next), add_word(automaton, word, next));
        }
    }
    automaton->start = next;
}

/* Adds a node and all that it leads to without a letter. */
static void enter(const struct automaton *automaton, struct set *set, uint32_t node)
{
    uint16_t stack[2 * MOST_NODES], depth = 0;
    stack[depth++] = (uint16_t)node;
    while (depth) {
        uint16_t at = stack[--depth];
        const struct node *now = &automaton->nodes[at];
        if (in_set(set, at))
            continue;
        put(set, at);
        if (at && !now->letters.bits[0] && !now->letters.bits[1]) {
            stack[depth++] = now->next;
            stack[depth++] = now->other;
        }
    }
}

/* All nodes after a letter; a pattern may begin anywhere. */
static struct set advance(const struct automaton *automaton, const struct set *set, uint32_t letter)
{
    struct set next = {{0}};
    for (uint32_t n = 1; n < automaton->count; n++)
        if (in_set(set, n) && in_set(&automaton->nodes[n].letters, letter))
            enter(automaton, &next, automaton->nodes[n].next);
    enter(automaton, &next, automaton->start);
    return next;
}

/* A table of the sets that can be reached. False where these are too many. */
static bool tabulate(struct pattern *pattern)
{
    struct set *sets = program_allocate(MOST_STATES, sizeof *sets);
    uint16_t(*table)[LETTERS] = program_allocate(MOST_STATES, sizeof *table);
    uint32_t count = 2; /* 0: found, which leads to itself */
    enter(&pattern->automaton, &sets[1], pattern->automaton.start);
    for (uint32_t state = 1; state < count; state++)
        for (uint32_t letter = 0; letter < LETTERS; letter++) {
            struct set next = advance(&pattern->automaton, &sets[state], letter);
            uint32_t to = 1;
            while (to < count && memcmp(&sets[to], &next, sizeof next) != 0)
                to++;
            if (in_set(&next, 0))
                to = 0;
            else if (to == count && count == MOST_STATES) {
                free(sets);
                free(table);
                return false;
            } else if (to == count)
                sets[count++] = next;
            table[state][letter] = (uint16_t)to;
        }
    free(sets);
    pattern->table = table;
    pattern->state_count = count;
    return true;
}

static void *create(uint32_t size, uint64_t seed)
{
    struct regex *regex = program_allocate(1, sizeof *regex);
    uint64_t number = 0;
    for (uint32_t p = 0; p < PATTERNS; p++)
        do
            draw_pattern(&regex->patterns[p].automaton, program_random(seed, number++));
        while (!tabulate(&regex->patterns[p]));
    regex->text = program_allocate((size_t)size * LONGEST, 1);
    regex->length = program_allocate(size, 1);
    regex->found = program_allocate((size_t)size * PATTERNS, 1);
    return regex;
}

static void prepare(void *state, uint32_t size, uint64_t seed)
{
    struct regex *regex = state;
    regex->size = size;
    for (uint32_t s = 0; s < size; s++) {
        uint8_t *text = regex->text + (size_t)s * LONGEST;
        uint32_t length = 0, words = 6 + (uint32_t)(program_random(seed, s) % 12);
        for (uint32_t w = 0; w < words; w++) {
            uint64_t random = program_random(~seed, 32ull * s + w);
            char number[24];
            const char *word = vocabulary[random % VOCABULARY];
            if ((random >> 32) % 8 == 0) {
                snprintf(number, sizeof number, "%u", (unsigned)(random >> 40 & 4095));
                word = number;
            }
            for (; *word && length < LONGEST - 1; word++)
                text[length++] = (uint8_t)*word;
            if (length < LONGEST - 1)
                text[length++] = ' ';
        }
        regex->length[s] = (uint8_t)length;
    }
}

static uint8_t search(const struct pattern *pattern, const uint8_t *text, uint32_t length)
{
    uint32_t at = 1;
    for (uint32_t i = 0; i < length; i++) {
        at = pattern->table[at][text[i]];
        if (!at)
            return (uint8_t)(i + 1);
    }
    return 0;
}

static void search_some(void *user, uint32_t task)
{
    struct regex *regex = user;
    uint32_t begin = task * TASK_SENTENCES, end = begin + TASK_SENTENCES;
    end = end < regex->size ? end : regex->size;
    for (uint32_t p = 0; p < PATTERNS; p++)
        for (uint32_t s = begin; s < end; s++)
            regex->found[(size_t)s * PATTERNS + p] =
                search(&regex->patterns[p], regex->text + (size_t)s * LONGEST, regex->length[s]);
}

static void run(void *state, struct tasks *tasks)
{
    struct regex *regex = state;
    tasks_phase(tasks, "search", search_some, regex, (regex->size + TASK_SENTENCES - 1) / TASK_SENTENCES);
}

/* Some sentences, all patterns, by sets of nodes in place of tables. */
static const char *check(const void *state)
{
    const struct regex *regex = state;
    for (uint32_t s = 0; s < regex->size; s += 1 + regex->size / 40)
        for (uint32_t p = 0; p < PATTERNS; p++) {
            const struct automaton *automaton = &regex->patterns[p].automaton;
            struct set set = {{0}};
            uint32_t found = 0;
            enter(automaton, &set, automaton->start);
            for (uint32_t i = 0; i < regex->length[s] && !found; i++) {
                set = advance(automaton, &set, regex->text[(size_t)s * LONGEST + i]);
                found = in_set(&set, 0) ? i + 1 : 0;
            }
            if (found != regex->found[(size_t)s * PATTERNS + p])
                return "a pattern is found elsewhere than by sets of nodes";
        }
    return NULL;
}

static uint64_t fingerprint(const void *state)
{
    const struct regex *regex = state;
    return program_fingerprint(0, regex->found, (size_t)regex->size * PATTERNS);
}

static void destroy(void *state)
{
    struct regex *regex = state;
    for (uint32_t p = 0; p < PATTERNS; p++)
        free(regex->patterns[p].table);
    free(regex->text);
    free(regex->length);
    free(regex->found);
    free(regex);
}

int main(int count, char **words)
{
    const struct program program = {.name = "regex",
                                    .what = "patterns in sentences",
                                    .size_of = "sentences",
                                    .size = 8000,
                                    .least = 1,
                                    .most = 200000,
                                    .create = create,
                                    .prepare = prepare,
                                    .run = run,
                                    .check = check,
                                    .fingerprint = fingerprint,
                                    .destroy = destroy};
    return program_main(&program, count, words);
}
