/* SPDX-License-Identifier: MIT */
/*
 * A request: a case in the words of `corun run`, for programs and other languages that would rather not fill
 * structures.
 *
 *     corun_request_create → corun_request_set …, corun_request_add … → corun_request_run → results → corun_request_destroy
 *
 * A request may be run again and again; what it said before stays until it is set anew. It is for one thread at a time;
 * several requests may be run side by side.
 */
#ifndef CORUN_REQUEST_H
#define CORUN_REQUEST_H

#include "corun/case.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What can be set. O(name, word, key of the command, name of the value or NULL, group in the help, meaning) */
#define CORUN_REQUEST_OPTIONS(O) \
    O(gpu, "gpu", 'g', "GPU", 1, \
      "a name (see `corun list gpus`) or a YAML file, with overrides: gtx980:sms=8,l2=4M,scheduler=lrr [gtx980]") \
    O(policy, "policy", 'p', "POLICY", 1, \
      "how the applications share it, NAME[:parameter=value,...] (see `corun list policies`), or a shared object, " \
      "./mine.so[:...] [left-over]") \
    O(cycles, "cycles", 'c', "N", 2, \
      "the window ends after N core cycles; applications that end earlier start over [200K, unless another end is " \
      "given]") \
    O(instructions, "instructions", 0x200, "N", 2, \
      "the window ends when every application has completed N thread instructions") \
    O(runs, "runs", 0x201, "N", 2, "the window ends when every application has completed N runs; one that has leaves") \
    O(settle, "settle", 0x20b, "PART", 2, \
      "the run ends before its window does, when the speeds over the whole window are known to PART of them, as 1%, " \
      "and whether " \
      "goals are met (docs/settling.md)") \
    O(seed, "seed", 0x202, "N", 2, "of the workloads' data [1]") \
    O(watchdog, "watchdog", 0x203, "N", 2, "an application is stopped after N cycles without progress [5M]") \
    O(profile, "profile", 0x204, NULL, 3, "also warp instructions and stall cycles per PTX line of each kernel") \
    O(threads, "threads", 0x205, "N", 4, "host threads for the simulated GPU; the results do not depend on it [1]") \
    O(jobs, "jobs", 0x206, "N", 4, \
      "isolated baselines that are computed side by side [as many as there are processors]") \
    O(cache, "cache", 0x207, "DIR", 4, "where isolated baselines are kept [~/.cache/corun]") \
    O(no_cache, "no-cache", 0x208, NULL, 4, "compute isolated baselines anew and keep none") \
    O(no_baselines, "no-baselines", 0x209, NULL, 4, "only the isolated baselines that a goal or the policy needs") \
    O(replay, "replay", 0x20a, "DIR", 4, \
      "execute each workload once, without timing, keep a record of that in DIR, and simulate from the record, now " \
      "and whenever there is one; the results do not depend on it (docs/replay.md)")

struct corun_request;

/* NULL when out of memory. */
struct corun_request *corun_request_create(void);
void corun_request_destroy(struct corun_request *request);

/*
 * Sets an option of the table above; `option` is its word, with or without dashes before it; messages call it as it is
 * written here. `value` is NULL for those that have none. The text is copied. USAGE, NOT_FOUND, ARGUMENT, MEMORY; of a
 * policy in a shared object also FILE and POLICY.
 */
enum corun_status corun_request_set(struct corun_request *request, const char *option, const char *value,
                                    struct corun_diagnostics *list);

/*
 * Adds an application: WORKLOAD[@SIZE[,PARAMETER=VALUE,...]][:goal=GOAL][:start=CYCLES], GOAL being 90%, ipc=X, ms=Y or
 * fps=Z, the last two also with ,transfer=MS (see `corun run --help`). The text is copied. USAGE (also: more than
 * CORUN_MAX_APPLICATIONS), MEMORY.
 */
enum corun_status corun_request_add(struct corun_request *request, const char *application,
                                    struct corun_diagnostics *list);

/*
 * The case that the request stands for, with everything looked up that it names: for callers who want to add observers.
 * It belongs to the request, until that is changed, run or destroyed. NOT_FOUND, SYNTAX, ARGUMENT; those of
 * corun_data_directory.
 */
enum corun_status corun_request_case(struct corun_request *request, struct corun_diagnostics *list,
                                     struct corun_case **job);

/* corun_request_case and corun_case_run in one; `progress` as in struct corun_case, may be NULL. */
enum corun_status corun_request_run(struct corun_request *request,
                                    bool (*progress)(void *user, const struct corun_case_progress *progress),
                                    void *user, struct corun_diagnostics *list, struct corun_case_result **result);

#ifdef __cplusplus
}
#endif
#endif
