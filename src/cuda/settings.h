/* SPDX-License-Identifier: MIT */
/* What `corun exec` tells the libraries, in the environment of the program. S(name, meaning) */
#ifndef CORUN_CUDA_SETTINGS_H
#define CORUN_CUDA_SETTINGS_H

#define CORUN_CUDA_SETTINGS(S) \
    S(GPU, "CORUN_CUDA_GPU", "GPUs as --gpu takes them, separated by `;` [gtx980]") \
    S(DATA, "CORUN_DATA", "folder of data; without it, what lies beside the library") \
    S(FUNCTIONAL, "CORUN_CUDA_FUNCTIONAL", "1: results without timing") \
    S(THREADS, "CORUN_CUDA_THREADS", "host threads that advance SMs") \
    S(LAUNCH_COSTS, "CORUN_CUDA_LAUNCH_COSTS", \
      "1: launches take the host and the GPU the time that the GPU's description says") \
    S(CHECK, "CORUN_CUDA_CHECK", "what is checked, as --check takes it") \
    S(SLICE, "CORUN_CUDA_SLICE", "how launches are cut into slices, as --slice takes it") \
    S(WORKERS, "CORUN_CUDA_WORKERS", "launches run by workers, as --workers takes it; without a seed 0") \
    S(DAEMON_GPU, "CORUN_CUDA_DAEMON_GPU", "number or name of the GPU that it gets there") \
    S(DAEMON, "CORUN_CUDA_DAEMON", "socket of the corund whose GPU the program shares, as `corun share` says it") \
    S(SHIM_DAEMON, "CORUN_SHIM_DAEMON", "socket of the corund that governs a GPU of hardware, for the shim") \
    S(SHIM_DRIVER, "CORUN_SHIM_DRIVER", "libcuda.so.1 of the driver below the shim [the next one that programs find]") \
    S(SHIM_CACHE, "CORUN_SHIM_CACHE", "folder of sliced kernels, \"\" for none [slices in the cache of the user]") \
    S(SHIM_SLICES, "CORUN_SHIM_SLICES", "1: the shim cuts launches that take longer than corund wants") \
    S(SHIM_WORKERS, "CORUN_SHIM_WORKERS", "1: the shim makes workers of launches where corund divides the SMs") \
    S(SHIM_TRACE, "CORUN_SHIM_TRACE", "file for the names of what programs ask of the driver through the shim") \
    S(NAME, "CORUN_CUDA_NAME", "the name of the program there; without it that of its file") \
    S(GOAL, "CORUN_CUDA_GOAL", "its goal there, a number above 0; without it none") \
    S(GOAL_KIND, "CORUN_CUDA_GOAL_KIND", \
      "ipc: the goal is thread instructions per cycle; on hardware ms of a run, fps runs a second; else a part of " \
      "the rate alone") \
    S(ISOLATED, "CORUN_CUDA_ISOLATED", \
      "thread instructions per cycle of the program alone; without it what corund knows") \
    S(KERNEL_TIMEOUT, "CORUN_CUDA_KERNEL_TIMEOUT", \
      "simulated time after which a kernel is stopped, as --kernel-timeout takes it") \
    S(PATIENCE, "CORUN_CUDA_PATIENCE", \
      "time of the host without a call after which the GPU goes on by itself, as --patience takes it [3s]") \
    S(REGION, "CORUN_CUDA_REGION", "launches that are timed, as in cuda/region.h; all others are carried out at once") \
    S(PROFILE, "CORUN_CUDA_PROFILE", "1: the record has where kernels issue and wait, by line") \
    S(SAMPLE, "CORUN_CUDA_SAMPLE", "sampled simulation, as --sample takes it") \
    S(CHECKPOINT, "CORUN_CUDA_CHECKPOINT", "file to which the state of the program's GPU is saved") \
    S(CHECKPOINT_CYCLE, "CORUN_CUDA_CHECKPOINT_CYCLE", "at that cycle") \
    S(CHECKPOINT_EVERY, "CORUN_CUDA_CHECKPOINT_EVERY", "at every multiple of so many cycles") \
    S(RESUME, "CORUN_CUDA_RESUME", "file with the state that the program goes on from") \
    S(RECORD, "CORUN_CUDA_RECORD", "folder in which every process leaves a record of what it launched") \
    S(CAPTURE, "CORUN_CUDA_CAPTURE", \
      "folder in which every process leaves its launches as a workload; only without timing")

#define CORUN_CUDA_SETTING_NAME(name, variable, meaning) \
    static const char setting_##name[] __attribute__((unused)) = variable;
CORUN_CUDA_SETTINGS(CORUN_CUDA_SETTING_NAME)
#undef CORUN_CUDA_SETTING_NAME

#include <stdbool.h>

struct process;
/* Reads them and makes the devices. False after messages in the list of the process. */
bool settings_read(struct process *process);

#endif
