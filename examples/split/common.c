/* SPDX-License-Identifier: MIT */
/* What the programs in this folder share (common.h): options, runs, what is printed, and how a program ends. */
#include "common.h"

#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FAILED = 1, WRONG = 3 };
enum { MOST = 1 << 30 }; /* of whatever is counted: indices are 32 bits */
enum {
    KEY_SIZE = 's',
    KEY_FULL = 'f',
    KEY_ROUNDS = 'r',
    KEY_STRATEGY = 'S',
    KEY_THREADS = 't',
    KEY_NO_CPU = 0x100,
    KEY_NO_GPU
};

static uint64_t number(const char *text, struct argp_state *state, const char *option)
{
    char *end;
    unsigned long long value = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || !value || value > MOST)
        argp_error(state, "%s=%s: not a number from 1 to %d", option, text, MOST);
    return value;
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
    struct example *example = state->input;
    switch (key) {
    case KEY_SIZE:
        example->size = number(value, state, "--size");
        if (example->size % example->multiple)
            argp_error(state, "--size=%s: not a multiple of %llu", value, (unsigned long long)example->multiple);
        break;
    case KEY_FULL:
        example->size = example->full_size;
        break;
    case KEY_ROUNDS:
        if (!example->rounds)
            argp_error(state, "--rounds: the task of %s is run once", example->name);
        example->rounds = (uint32_t)number(value, state, "--rounds");
        break;
    case KEY_STRATEGY:
        if (!corun_split_strategy_find(value))
            argp_error(state, "--strategy=%s: there is no such strategy", value);
        example->options.strategy = value;
        break;
    case KEY_THREADS:
        example->options.threads = (uint32_t)number(value, state, "--threads");
        break;
    case KEY_NO_CPU:
        example->options.no_cpu = true;
        break;
    case KEY_NO_GPU:
        example->options.no_gpu = true;
        break;
    case ARGP_KEY_ARG:
        argp_error(state, "%s: no argument is expected", value);
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

void example_begin(struct example *example, int count, char **words)
{
    char size[200], doc[400];
    snprintf(size, sizeof size, "%s, a multiple of %llu [%llu]", example->size_of,
             (unsigned long long)example->multiple, (unsigned long long)example->size);
    snprintf(doc, sizeof doc, "%s: %s, on CPU and GPUs together.", example->name, example->what);
    const struct argp_option options[] = {
        {"size", KEY_SIZE, "N", 0, size, 0},
        {"full", KEY_FULL, NULL, 0, "the size of the thesis", 0},
        {"rounds", KEY_ROUNDS, "N", 0, "rounds at most", 0},
        {"strategy", KEY_STRATEGY, "NAME", 0, "static, quick, split, cap or meet [meet]", 0},
        {"threads", KEY_THREADS, "N", 0, "threads of the CPU [one per core]", 0},
        {"no-cpu", KEY_NO_CPU, NULL, 0, "GPUs alone", 0},
        {"no-gpu", KEY_NO_GPU, NULL, 0, "the CPU alone", 0},
        {0},
    };
    const struct argp argp = {.options = options, .parser = parse_option, .doc = doc};
    argp_err_exit_status = 2;
    argp_parse(&argp, count, words, 0, NULL, example);
}

void *example_allocate(uint64_t count, size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), total;
    void *memory = NULL;
    if (__builtin_mul_overflow(count, bytes, &total) || posix_memalign(&memory, page, total)) {
        fprintf(stderr, "there is no memory for %llu times %zu bytes\n", (unsigned long long)count, bytes);
        exit(FAILED);
    }
    return memset(memory, 0, total);
}

/* NAME.ptx beside the program. */
static void find_module(struct example *example)
{
    size_t room = sizeof example->module_file;
    ssize_t length = readlink("/proc/self/exe", example->module_file, room - 1);
    example->module_file[length < 0 ? 0 : length] = '\0';
    char *slash = strrchr(example->module_file, '/');
    char *file = slash ? slash + 1 : example->module_file;
    snprintf(file, room - (size_t)(file - example->module_file), "%s.ptx", example->name);
}

static void fail(const struct example *example)
{
    for (size_t i = 0; i < corun_diagnostics_count(example->diagnostics); i++) {
        const struct corun_diagnostic *diagnostic = corun_diagnostics_get(example->diagnostics, i);
        const char *file = diagnostic->place.file;
        fprintf(stderr, "%s: %s%s%s\n", example->name, file ? file : "", file ? ": " : "", diagnostic->message);
    }
    exit(FAILED);
}

void example_create(struct example *example, struct corun_split_task *task)
{
    find_module(example);
    task->name = example->name;
    task->module_file = example->module_file;
    example->diagnostics = corun_diagnostics_create();
    if (corun_split_create(task, &example->options, &example->split, example->diagnostics) != CORUN_OK)
        fail(example);
    printf("%s: %s: %llu %s\n", example->name, example->what, (unsigned long long)example->size, example->size_of);
    if (!corun_split_gpus(example->split) && !example->options.no_gpu)
        printf("no GPU is found: the CPU computes everything\n");
}

void example_run(struct example *example)
{
    if (corun_split_run(example->split, example->diagnostics) != CORUN_OK)
        fail(example);
    const struct corun_split_result *result = corun_split_result(example->split);
    example->seconds += result->seconds;
    example->runs++;
    example->runs_reused += result->reused;
    example->steps += result->step_count;
    for (uint32_t d = 0; d < result->device_count; d++) {
        example->iterations[d] += result->devices[d].iterations;
        example->device_seconds[d] += result->devices[d].seconds;
    }
}

static uint64_t fingerprint(const unsigned char *bytes, size_t count)
{
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */
    for (size_t i = 0; i < count; i++)
        hash = (hash ^ bytes[i]) * 0x100000001b3u;
    return hash;
}

int example_end(struct example *example, const void *bytes, size_t count, const char *what, double error, double limit)
{
    const struct corun_split_result *result = corun_split_result(example->split);
    for (uint32_t d = 0; d < result->device_count; d++) {
        const struct corun_split_device_result *device = &result->devices[d];
        printf("%s: %llu iterations in %.3f ms", device->name, (unsigned long long)example->iterations[d],
               example->device_seconds[d] * 1e3);
        if (!d)
            printf(", %u thread%s", corun_split_threads(example->split),
                   corun_split_threads(example->split) == 1 ? "" : "s");
        printf("%s%s\n", device->failure ? ", and then it failed: " : "", device->failure ? device->failure : "");
    }
    printf("strategy %s: %.3f ms of %s time, %u run%s in %u step%s, %u of them with what an earlier one had learned\n",
           result->strategy, example->seconds * 1e3, result->simulated ? "simulated" : "wall", example->runs,
           example->runs == 1 ? "" : "s", example->steps, example->steps == 1 ? "" : "s", example->runs_reused);
    if (bytes)
        printf("result %016llx\n", (unsigned long long)fingerprint(bytes, count));
    bool passed = error <= limit; /* false for what is not a number */
    printf("%s: %s %.3g, at most %.3g\n", passed ? "PASSED" : "WRONG", what, error, limit);
    corun_split_destroy(example->split);
    corun_diagnostics_destroy(example->diagnostics);
    return passed ? 0 : WRONG;
}

float example_random(uint64_t index)
{
    uint64_t z = (index + 1) * 0x9e3779b97f4a7c15u; /* splitmix64 */
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (float)((z ^ z >> 31) >> 40) * 0x1p-24f;
}
