/* SPDX-License-Identifier: MIT */
/* Kernel schedulers as people write them on a command line. */
#ifndef CORUN_SERVE_SCHEDULER_H
#define CORUN_SERVE_SCHEDULER_H

#include "base/arena.h"
#include "serve/serve.h"

/*
 * NAME[:parameter=value,...], or a shared object: ./mine.so[:...]. Texts and values live in the arena; a shared object stays loaded.
 * NOT_FOUND, ARGUMENT, FILE, POLICY (a shared object that is no scheduler of this version), MEMORY.
 */
enum corun_status specify_scheduler(const char *text, struct arena *arena, struct corun_diagnostics *list,
                                    struct serve_scheduler *scheduler);

#endif
