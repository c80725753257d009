/* SPDX-License-Identifier: MIT */
/*
 * Results and diagnostics.
 *
 * Errors are values: a status says what kind of thing went wrong, a diagnostic says it in words with its place. Nothing
 * in the library prints or exits; the caller decides what to do with the list.
 */
#ifndef CORUN_STATUS_H
#define CORUN_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* S(name, exit status of the command, meaning) */
#define CORUN_STATUSES(S) \
    S(OK, 0, "success") \
    S(USAGE, 2, "the command line is wrong") \
    S(SYNTAX, 3, "an input file is not well-formed") \
    S(UNSUPPORTED, 4, "an input file uses something that corun does not support") \
    S(NOT_FOUND, 5, "no such file, workload, kernel, GPU or policy") \
    S(ARGUMENT, 6, "a value does not fit: an argument its kernel, a parameter its range") \
    S(LIMIT, 7, "a launch can never fit the GPU") \
    S(FAULT, 8, "a kernel accessed memory outside its allocations, or trapped") \
    S(DEADLOCK, 9, "a barrier can never be met") \
    S(WATCHDOG, 10, "a kernel made no progress") \
    S(MISMATCH, 11, "a result differs from its reference") \
    S(POLICY, 12, "a policy crashed, or wrote allowances that the machine cannot obey") \
    S(FILE, 13, "a file cannot be read or written") \
    S(MEMORY, 14, "the host is out of memory") \
    S(TIMEOUT, 15, "a kernel or a program ran longer than it may")

/* clang-format off */
enum corun_status {
#define CORUN_STATUS_ENUM(name, exit_status, meaning) CORUN_##name,
    CORUN_STATUSES(CORUN_STATUS_ENUM)
#undef CORUN_STATUS_ENUM
    CORUN_STATUS_COUNT
};
/* clang-format on */

/* Where something is. `file` may be NULL (no place), `line` and `column` count from 1, 0 means unknown. */
struct corun_place {
    const char *file;
    uint32_t line;
    uint32_t column;
};

struct corun_diagnostic {
    enum corun_status status;
    struct corun_place place;
    const char *message; /* one line, no trailing full stop or newline */
};

/* A list of diagnostics. Strings are copied in and owned by the list. Not safe for use by two threads at once. */
struct corun_diagnostics;

struct corun_diagnostics *corun_diagnostics_create(void); /* NULL when out of memory */
void corun_diagnostics_destroy(struct corun_diagnostics *list);
void corun_diagnostics_clear(struct corun_diagnostics *list);
size_t corun_diagnostics_count(const struct corun_diagnostics *list);
/* The pointer stays valid until the next add, clear or destroy. `index` must be below the count. */
const struct corun_diagnostic *corun_diagnostics_get(const struct corun_diagnostics *list, size_t index);

/*
 * Adds one diagnostic and returns `status`, so that a failing function can end with `return corun_report(...)`.
 * `list` may be NULL: then only the status is passed on. After a limit (100) further ones are counted, not kept.
 */
enum corun_status corun_report(struct corun_diagnostics *list, enum corun_status status, struct corun_place place,
                               const char *format, ...) __attribute__((format(printf, 4, 5)));

/* "FAULT", the meaning, and the exit status of a status. */
const char *corun_status_name(enum corun_status status);
const char *corun_status_meaning(enum corun_status status);
int corun_status_exit(enum corun_status status);

#define CORUN_NOWHERE ((struct corun_place){NULL, 0, 0})

#ifdef __cplusplus
}
#endif
#endif
