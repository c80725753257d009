/* SPDX-License-Identifier: MIT */
/* The command line of the programs of this folder, and the order of a run. */
#include "program.h"

#include <argp.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WRONG = 3 };
enum {
    KEY_SIZE = 's',
    KEY_THREADS = 't',
    KEY_SEED = 'S',
    KEY_QUERIES = 'q',
    KEY_REPEAT = 'r',
    KEY_REPORT = 0x100,
    KEY_NO_CHECK,
    KEY_PREPARE_ONLY,
    KEY_SERVE,
    KEY_AGENT,
    KEY_GAP,
    KEY_WORKERS,
    KEY_LARGEST
};

struct options {
    const struct program *program;
    uint32_t size, threads, queries, repeat;
    uint64_t seed;
    bool unchecked, prepare_only, serve, counted;
    const char *report;
    struct program_serving serving;
};

static uint64_t number(const char *text, uint64_t least, uint64_t most, struct argp_state *state, const char *option)
{
    char *end;
    unsigned long long value = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || value < least || value > most)
        argp_error(state, "%s=%s: not a number from %" PRIu64 " to %" PRIu64, option, text, least, most);
    return value;
}

static error_t parse_serving(int key, char *value, struct argp_state *state)
{
    struct options *options = state->input;
    char *end;
    switch (key) {
    case KEY_SERVE:
        options->serve = true;
        break;
    case KEY_AGENT:
        options->serving.agent = value;
        break;
    case KEY_GAP:
        options->serving.gap_ms = strtod(value, &end);
        if (end == value || *end || !(options->serving.gap_ms >= 0 && options->serving.gap_ms <= 1e6))
            argp_error(state, "--gap=%s: not a number of milliseconds up to 1000000", value);
        break;
    case KEY_WORKERS:
        options->serving.workers = (uint32_t)number(value, 1, 256, state, "--workers");
        break;
    case KEY_LARGEST:
        options->serving.largest =
            (uint32_t)number(value, options->program->least, options->program->most, state, "--largest");
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
    struct options *options = state->input;
    switch (key) {
    case KEY_SIZE:
        options->size = (uint32_t)number(value, options->program->least, options->program->most, state, "--size");
        break;
    case KEY_THREADS:
        options->threads = (uint32_t)number(value, 1, 1024, state, "--threads");
        break;
    case KEY_SEED:
        options->seed = number(value, 0, INT64_MAX, state, "--seed");
        break;
    case KEY_QUERIES:
        options->counted = true;
        options->queries = (uint32_t)number(value, 0, 1000000, state, "--queries");
        break;
    case KEY_REPEAT:
        options->repeat = (uint32_t)number(value, 1, 1000000, state, "--repeat");
        break;
    case KEY_REPORT:
        options->report = value;
        break;
    case KEY_NO_CHECK:
        options->unchecked = true;
        break;
    case KEY_PREPARE_ONLY:
        options->unchecked = options->prepare_only = true;
        break;
    case ARGP_KEY_ARG:
        argp_error(state, "%s: no argument is expected", value);
        break;
    default:
        return parse_serving(key, value, state);
    }
    return 0;
}

static void parse(struct options *options, int count, char **words)
{
    const struct program *program = options->program;
    char size[200], doc[400];
    snprintf(size, sizeof size, "%s, from %u to %u [%u]", program->size_of, program->least, program->most,
             program->size);
    snprintf(doc, sizeof doc, "%s: %s. Every answer is checked.", program->name, program->what);
    const struct argp_option table[] = {
        {"size", KEY_SIZE, "N", 0, size, 0},
        {"threads", KEY_THREADS, "N", 0, "threads [one per processor]", 0},
        {"seed", KEY_SEED, "N", 0, "of the data, and with the number of the query of its input [1]", 0},
        {"queries", KEY_QUERIES, "N", 0, "queries, one after the other, each with its own input [1]", 0},
        {"repeat", KEY_REPEAT, "N", 0, "times that each query is run; the shortest times count [1]", 0},
        {"report", KEY_REPORT, "FILE", 0, "task graphs and times (docs/host-applications.md)", 0},
        {"no-check", KEY_NO_CHECK, NULL, 0, "neither look at the answers nor take their fingerprint: for measurements",
         0},
        {"prepare-only", KEY_PREPARE_ONLY, NULL, 0,
         "make the inputs and answer nothing: for measurements, what to take off", 0},
        {"serve", KEY_SERVE, NULL, 0,
         "queries come at random, and an agent of `corun host run` hears of them; the mean one has --size, and there "
         "are "
         "--queries [without an end]",
         1},
        {"agent", KEY_AGENT, "FILE", 0, "the agent's socket [$CORUN_AGENT]", 1},
        {"gap", KEY_GAP, "MS", 0, "mean time between two of them; 0: one after the other [0]", 1},
        {"workers", KEY_WORKERS, "N", 0, "of them are answered at a time, each on --threads of its own [1]", 1},
        {"largest", KEY_LARGEST, "N", 0, "size that one has [ten times --size]", 1},
        {0},
    };
    const struct argp argp = {.options = table, .parser = parse_option, .doc = doc};
    argp_err_exit_status = 2;
    argp_parse(&argp, count, words, 0, NULL, options);
}

static int write_report(const struct options *options, const struct tasks *tasks)
{
    const struct program *program = options->program;
    FILE *file = fopen(options->report, "w");
    if (file) {
        fprintf(file,
                "{\"version\": 1, \"program\": \"%s\", \"what\": \"%s\", \"size_of\": \"%s\", \"size\": %u, "
                "\"mean_size\": %u,\n \"kind\": \"%s\", \"threads\": %u, \"seed\": %" PRIu64 ", \"queries\": ",
                program->name, program->what, program->size_of, options->size, program->size,
                program->batch ? "batch" : "service", options->threads, options->seed);
        tasks_report(tasks, file);
        fputs("}\n", file);
    }
    if (!file || ferror(file) | fclose(file)) {
        perror(options->report);
        return 1;
    }
    return 0;
}

/* Makes the input and answers it, so many times. What is wrong with the answer, or NULL. */
static const char *answer(const struct options *options, struct tasks *tasks, void *state, uint32_t query,
                          uint64_t *fingerprint)
{
    const struct program *program = options->program;
    for (uint32_t r = 0; r < options->repeat; r++) {
        program->prepare(state, options->size, program_random(options->seed, query));
        if (options->prepare_only)
            continue;
        tasks_query_begin(tasks, query);
        program->run(state, tasks);
        tasks_query_end(tasks);
    }
    if (!options->prepare_only)
        printf("%s: query %u of %u %s: %.3f ms on %u threads\n", program->name, query + 1, options->size,
               program->size_of, (double)tasks_query_wall(tasks, query) * 1e-6, options->threads);
    if (options->unchecked)
        return NULL;
    uint64_t one = program->fingerprint(state);
    *fingerprint = program_fingerprint(*fingerprint, &one, sizeof one);
    return program->check(state);
}

static int serve(const struct options *options)
{
    struct program_serving serving = options->serving;
    uint64_t largest = 10ull * options->size;
    serving.queries = options->counted ? options->queries : 0;
    serving.threads = options->threads;
    serving.size = options->size;
    serving.seed = options->seed;
    if (!serving.workers)
        serving.workers = 1;
    if (!serving.largest)
        serving.largest = largest < options->program->most ? (uint32_t)largest : options->program->most;
    return program_serve(options->program, &serving);
}

int program_main(const struct program *program, int count, char **words)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    struct options options = {.program = program,
                              .size = program->size,
                              .threads = processors > 0 && processors < 1024 ? (uint32_t)processors : 1,
                              .queries = 1,
                              .repeat = 1,
                              .seed = 1};
    parse(&options, count, words);
    if (options.serve)
        return serve(&options);
    void *state = program->create(options.size, options.seed);
    struct tasks *tasks = tasks_create(options.threads);
    const char *problem = NULL;
    uint64_t fingerprint = 0;
    for (uint32_t query = 0; query < options.queries && !problem; query++)
        problem = answer(&options, tasks, state, query, &fingerprint);
    if (!options.unchecked)
        printf("result %016" PRIx64 "\n", fingerprint);
    if (problem)
        printf("WRONG: %s\n", problem);
    else
        printf("%s\n", options.unchecked ? "not checked" : "PASSED");
    int status = problem ? WRONG : options.report ? write_report(&options, tasks) : 0;
    tasks_destroy(tasks);
    program->destroy(state);
    return status;
}

void *program_allocate(size_t count, size_t bytes)
{
    size_t total;
    void *memory = NULL;
    if (__builtin_mul_overflow(count, bytes, &total) || posix_memalign(&memory, 4096, total ? total : 1)) {
        fprintf(stderr, "there is no memory for %zu times %zu bytes\n", count, bytes);
        exit(1);
    }
    return memset(memory, 0, total);
}

uint64_t program_fingerprint(uint64_t hash, const void *bytes, size_t count)
{
    const unsigned char *byte = bytes;
    hash ^= 0xcbf29ce484222325u; /* FNV-1a */
    for (size_t i = 0; i < count; i++)
        hash = (hash ^ byte[i]) * 0x100000001b3u;
    return hash;
}
