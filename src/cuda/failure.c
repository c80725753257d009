/* SPDX-License-Identifier: MIT */
/* What becomes of kernels that fail, and what is said of those that a GPU would let pass. */
#include "cuda/failure.h"

#include "cuda/abi.h"
#include "cuda/checkpoint.h"
#include "cuda/console.h"
#include "cuda/context.h"
#include "cuda/engine.h"
#include "cuda/process.h"

#include <string.h>

int error_of_status(enum corun_status status)
{
    switch (status) {
    case CORUN_OK:
        return CUDA_SUCCESS;
    case CORUN_MEMORY:
        return CUDA_ERROR_OUT_OF_MEMORY;
    case CORUN_SYNTAX:
        return CUDA_ERROR_INVALID_PTX;
    case CORUN_UNSUPPORTED:
        return CUDA_ERROR_NOT_SUPPORTED;
    case CORUN_NOT_FOUND:
    case CORUN_FILE:
        return CUDA_ERROR_FILE_NOT_FOUND;
    case CORUN_LIMIT:
        return CUDA_ERROR_INVALID_CONFIGURATION;
    case CORUN_FAULT:
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    case CORUN_DEADLOCK:
        return CUDA_ERROR_LAUNCH_FAILED;
    case CORUN_WATCHDOG:
    case CORUN_TIMEOUT:
        return CUDA_ERROR_LAUNCH_TIMEOUT;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

static int fault_error(const char *message)
{
    static const struct {
        const char *words;
        int error;
    } rows[] = {{": assertion `", CUDA_ERROR_ASSERT},
                {": trap", CUDA_ERROR_LAUNCH_FAILED},
                {": free of 0x", CUDA_ERROR_LAUNCH_FAILED},
                {": divergent barrier ", CUDA_ERROR_LAUNCH_FAILED},
                {": divergent operation of a warp", CUDA_ERROR_LAUNCH_FAILED},
                {": misaligned ", CUDA_ERROR_MISALIGNED_ADDRESS},
                {": indirect call of address ", CUDA_ERROR_INVALID_PC},
                {": stack overflow", CUDA_ERROR_HARDWARE_STACK_ERROR}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strstr(message, rows[i].words))
            return rows[i].error;
    return CUDA_ERROR_ILLEGAL_ADDRESS;
}

void failure_of_launch(struct process *process, struct context *context, enum corun_status status)
{
    int error = error_of_status(status);
    size_t count = corun_diagnostics_count(process->list);
    if (status == CORUN_FAULT && count)
        error = fault_error(corun_diagnostics_get(process->list, count - 1)->message);
    if (status == CORUN_LIMIT)
        error = CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    say_diagnostics(process->list);
    checkpoint_end(process);
    cuda_context_fail(context, error);
    engine_abandon(process, context);
}

void failure_tell_notes(struct process *process, struct corun_module_instance *loaded)
{
    if (corun_module_instance_outside(loaded, process->list))
        say_diagnostics(process->list);
}
