/* SPDX-License-Identifier: MIT */
/*
 * The configuration of a simulated GPU: what gpu_parameters.def lists, from a built-in default, a YAML file, and overrides.
 */
#ifndef CORUN_CONFIG_H
#define CORUN_CONFIG_H

#include "corun/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Tables of words: W(enum constant, word in files, meaning) */
#define CORUN_SCHEDULER_WORDS(W) \
    W(GTO, "gto", "greedy then oldest") \
    W(LRR, "lrr", "loose round robin") \
    W(TWO_LEVEL, "two_level", "round robin within an active set, warps waiting for memory leave it")
#define CORUN_ICNT_WORDS(W) \
    W(CROSSBAR, "crossbar", "every SM reaches every slice over one switch") \
    W(MESH, "mesh", "two-dimensional mesh, X first then Y")
#define CORUN_L1_SPLIT_WORDS(W) \
    W(FIXED, "fixed", "the L1 has l1_bytes whatever the kernel") \
    W(VOLTA, "volta", "shared memory takes 0, 8, 16, 32, 64 or 96 KB") \
    W(AMPERE, "ampere", "shared memory takes 0, 8, 16, 32, 64, 100, 132 or 164 KB") \
    W(HOPPER, "hopper", "shared memory takes 0, 8, 16, 32, 64, 100, 132, 164, 196 or 228 KB")
#define CORUN_DRAM_SCHEDULER_WORDS(W) \
    W(FR_FCFS, "fr_fcfs", "row hits first, then the oldest") \
    W(FCFS, "fcfs", "the oldest")

#define CORUN_WORD_ENUM_SCHEDULER(name, word, meaning) CORUN_SCHEDULER_##name,
#define CORUN_WORD_ENUM_ICNT(name, word, meaning) CORUN_ICNT_##name,
#define CORUN_WORD_ENUM_L1_SPLIT(name, word, meaning) CORUN_L1_SPLIT_##name,
#define CORUN_WORD_ENUM_DRAM(name, word, meaning) CORUN_DRAM_SCHEDULER_##name,
enum corun_scheduler { CORUN_SCHEDULER_WORDS(CORUN_WORD_ENUM_SCHEDULER) CORUN_SCHEDULER_COUNT };
enum corun_icnt { CORUN_ICNT_WORDS(CORUN_WORD_ENUM_ICNT) CORUN_ICNT_COUNT };
enum corun_l1_split { CORUN_L1_SPLIT_WORDS(CORUN_WORD_ENUM_L1_SPLIT) CORUN_L1_SPLIT_COUNT };
enum corun_dram_scheduler { CORUN_DRAM_SCHEDULER_WORDS(CORUN_WORD_ENUM_DRAM) CORUN_DRAM_SCHEDULER_COUNT };

/* All fields are uint32_t, words as their enum value: the structure can be compared and hashed by its fields. */
struct corun_gpu_config {
    char name[64];
#define P(name, initial, lowest, highest, unit, meaning) uint32_t name;
#define E(name, initial, words, meaning) uint32_t name;
#include "corun/gpu_parameters.def"
#undef P
#undef E
};

/* The defaults of gpu_parameters.def under the name "default". */
void corun_gpu_config_default(struct corun_gpu_config *config);

/*
 * Finds a configuration: `specification` is NAME or a path to a YAML file, optionally followed by overrides,
 * `gtx980:sms=8,l2_bytes=4M,scheduler=lrr` (K, M, G are powers of two for BYTES and powers of ten otherwise; an unambiguous
 * abbreviation such as l2 for l2_bytes is allowed). Names are looked up in the given data directory's gpu/ folder.
 * Errors: NOT_FOUND, SYNTAX, ARGUMENT, each with a diagnostic.
 */
enum corun_status corun_gpu_config_load(const char *specification, const char *data_directory,
                                        struct corun_diagnostics *list, struct corun_gpu_config *config);
/* Sets one parameter from text, as an override does. */
enum corun_status corun_gpu_config_set(struct corun_gpu_config *config, const char *key, const char *value,
                                       struct corun_diagnostics *list, struct corun_place place);
/* Checks that the values fit together (e.g. caches divide into sets). */
enum corun_status corun_gpu_config_check(const struct corun_gpu_config *config, struct corun_diagnostics *list);

/* The rows of gpu_parameters.def, for listings. */
struct corun_gpu_parameter {
    const char *name;
    const char *unit; /* "bytes", "cycles", "kHz", "count", "bool", "fJ", "mW", "word" */
    const char *meaning;
    uint32_t initial, lowest, highest;
    size_t offset;            /* in struct corun_gpu_config */
    const char *const *words; /* NULL-terminated list for word parameters, else NULL */
};
const struct corun_gpu_parameter *corun_gpu_parameters(size_t *count);

#ifdef __cplusplus
}
#endif
#endif
