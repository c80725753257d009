/* SPDX-License-Identifier: MIT */
/* The parameters of a simulated host (machine_parameters.def), from configs/host/NAME.yaml. */
#ifndef CORUN_HOST_MACHINE_H
#define CORUN_HOST_MACHINE_H

#include "corun/status.h"

struct host_machine {
    char name[64];
#define P(name, lowest, highest, unit, meaning) uint32_t name;
#include "host/machine_parameters.def"
#undef P
};

/*
 * Every parameter is there, with unit and source. `path` is for messages. SYNTAX, MEMORY.
 */
enum corun_status host_machine_parse(const char *path, const char *text, size_t bytes, struct corun_diagnostics *list,
                                     struct host_machine *machine);
/*
 * `specification` is NAME, in the data directory's host folder, or the path of a file (with a `/`, or ending in .yaml), and then perhaps
 * overrides: e5-2650v4:cores=8,memory_mbps=40K. NOT_FOUND, FILE, SYNTAX, ARGUMENT, MEMORY.
 */
enum corun_status host_machine_load(const char *specification, const char *data_directory,
                                    struct corun_diagnostics *list, struct host_machine *machine);

#endif
