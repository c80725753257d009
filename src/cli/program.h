/* SPDX-License-Identifier: MIT */
/* CUDA programs that nobody changed, started with the libraries of corun in front of their own. */
#ifndef CORUN_CLI_PROGRAM_H
#define CORUN_CLI_PROGRAM_H

#include "cli/command.h"
#include "cli/guard.h"

struct program {
    char **words;               /* of its command line, NULL behind the last */
    const char *gpus;           /* as --gpu takes them, `;` between them; NULL: as the libraries have it */
    uint64_t threads;           /* that advance SMs; 0: as the libraries have it */
    const char *kernel_timeout; /* simulated, as --kernel-timeout takes it; NULL: none */
    const char *patience;       /* of the host, as --patience takes it; NULL: as the libraries have it */
    bool functional;
    bool launch_costs;                              /* launches take time */
    const char *slice;                              /* how launches are cut, as --slice takes it; NULL: not at all */
    const char *workers;                            /* the seed of --workers; NULL: launches run as they are */
    const char *timed_kernel, *timed_launches;      /* --kernel and --launch; NULL: any */
    bool timed_profiled;                            /* --profiled */
    const char *region;                             /* launches that are timed (cuda/region.h); NULL: all */
    bool profile;                                   /* where kernels issue and wait goes into the record */
    const char *sample;                             /* how it is sampled, as --sample takes it; NULL: not at all */
    const char *checks;                             /* names of checks with commas; NULL: none */
    const char *daemon;                             /* socket of the corund whose GPU it shares; NULL: it has its own */
    const char *daemon_gpu;                         /* which of its GPUs, number or name; NULL: any */
    const char *name, *goal, *goal_kind, *isolated; /* there, as the settings of the libraries have them; NULL: none */
    bool runs_are_goals;                            /* times of its runs can be promised, too */
    bool shim;                                      /* the driver is NVIDIA's, with corun's shim in front */
    bool shim_slices;                               /* the shim cuts long launches */
    bool shim_workers;                              /* it makes workers of launches */
    bool native;                                    /* without corun's libraries, as it is */
    bool output_to_errors;                          /* its standard output goes where its errors go */
    bool without_terminal;           /* it reads nothing, and what it writes to its standard output is dropped */
    const char *checkpoint, *resume; /* files of its state, from the root; NULL: none */
    uint64_t checkpoint_cycle, checkpoint_every; /* when it is saved; 0: not */
    const char *record, *capture;                /* folders for what its processes leave; NULL: they leave none */
    int exit_status;                             /* as shells have it */
    char path[PATH_BYTES], data[PATH_BYTES], libraries[PATH_BYTES], runtime[64];
    bool fixed_path;
    struct guard guard;
};

/* For a parser: the first argument and all behind it are the program. ARGP_ERR_UNKNOWN for other keys. */
error_t program_option(int key, struct argp_state *state, struct program *program);
/* Whether there is such a program, such GPUs, and whether it can be served at all. NOT_FOUND, UNSUPPORTED, ARGUMENT. */
enum corun_status program_find(struct program *program, struct corun_diagnostics *list);
/* The folder with the CUDA libraries that programs get. NOT_FOUND. */
enum corun_status program_libraries(char path[PATH_BYTES], struct corun_diagnostics *list);
/* What the environment of such programs has, a line for each variable, NAME=value; changes that of this process. ARGUMENT: no line can have it. */
enum corun_status program_environment(struct program *program, struct corun_diagnostics *list, FILE *stream);
/* Starts it and waits for its end, between guard_begin and guard_end of its guard. FILE if it cannot be started. */
enum corun_status program_run(struct program *program, struct corun_diagnostics *list);

/* Makes a folder that nobody else has; its name, from the root, begins like that. 0, or the error. */
int program_folder_make(struct arena *arena, const char *beginning, const char **folder);
/* Takes it away with the files that are in it. */
void program_folder_remove(const char *path);

#endif
