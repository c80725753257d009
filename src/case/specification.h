/* SPDX-License-Identifier: MIT */
/* Applications, policies and the like as people write them on a command line. */
#ifndef CORUN_CASE_SPECIFICATION_H
#define CORUN_CASE_SPECIFICATION_H

#include "base/arena.h"
#include "corun/case.h"
#include "corun/module.h"

/*
 * WORKLOAD[@SIZE[,parameter=value,...]][:goal=90%|:goal=ipc=X|:goal=ms=Y][:start=CYCLES]. Texts live in the arena.
 * USAGE, MEMORY.
 */
/* How much of such a text names the workload, with its size: what comes before :goal=… and :start=…. */
size_t specify_workload_length(const char *text);
enum corun_status specify_application(const char *text, struct arena *arena, struct corun_diagnostics *list,
                                      struct corun_case_application *application);
/*
 * NAME[:parameter=value,...]. "left-over" is no policy: *policy is NULL. *parameters is in the arena, NULL without a
 * policy. NOT_FOUND, ARGUMENT, MEMORY.
 */
enum corun_status specify_policy(const char *text, struct arena *arena, struct corun_diagnostics *list,
                                 const struct corun_policy **policy, const double **parameters);
/*
 * "parameter=value,..." for one of a kind ("policy", "even") that has these parameters: the text is cut up, NULL is none. *parameters: a
 * value for each, in the arena. ARGUMENT, MEMORY.
 */
enum corun_status specify_parameters(const char *what, const char *name, const struct corun_policy_parameter *rows,
                                     uint32_t count, char *settings, struct arena *arena,
                                     struct corun_diagnostics *list, const double **parameters);
/* X[,Y[,Z]]. USAGE. */
enum corun_status specify_dimensions(const char *text, const char *option, struct corun_diagnostics *list,
                                     struct corun_dim3 *dimensions);
/* A count with K, M or G for powers of `kilo`. USAGE. */
enum corun_status specify_number(const char *text, const char *option, uint64_t kilo, uint64_t lowest, uint64_t highest,
                                 struct corun_diagnostics *list, uint64_t *number);
/* A part above 0 and up to 100 %, as 1%, in millionths; false if the text is none. */
#define SPECIFY_PART_WORDS "a part above 0 and up to 100%, as 1%"
bool specify_part(const char *text, uint32_t *millionths);
/* FILE[:FIRST-LAST]; *file lives in the arena. USAGE, MEMORY. */
enum corun_status specify_trace(const char *text, const char *option, struct arena *arena,
                                struct corun_diagnostics *list, const char **file, uint64_t *first, uint64_t *last);

#endif
