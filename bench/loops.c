/* SPDX-License-Identifier: MIT */
/*
 * The machine code that a simulated GPU makes of a PTX file, one line an instruction, for bench/hardware/loops.py:
 *
 *     loops GPU FILE.ptx
 *
 * Before them stands a line for the kernel: its name, the word "registers", registers of a thread, bytes of shared memory. Of an instruction:
 * kernel, index, where a branch goes (-1: none), line of the PTX, kind, issue slots, cycles of the pipelines for logic, for products, of either, name of its pipeline
 */
#include "corun/config.h"
#include "corun/workload.h"
#include "gpu/machine_op.h"
#include "isa/kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failed(struct corun_diagnostics *list)
{
    fprintf(stderr, "%s\n", corun_diagnostics_count(list) ? corun_diagnostics_get(list, 0)->message : "failed");
    return EXIT_FAILURE;
}

static const char *kind_of(const struct corun_instruction *instruction)
{
    bool floats = instruction->unit == CORUN_UNIT_FP32 || instruction->unit == CORUN_UNIT_FP64;
    bool product = instruction->operation == CORUN_OPERATION_MUL || instruction->operation == CORUN_OPERATION_MAD;
    if (instruction->unit == CORUN_UNIT_MEMORY && instruction->space != CORUN_SPACE_CONSTANT)
        return instruction->flags & CORUN_ATOMIC ? "atomic" : instruction->flags & CORUN_STORE ? "store" : "load";
    return floats && product ? "product" : "other";
}

static void print_op(const struct corun_kernel *kernel, uint32_t i, const struct machine_op *op)
{
    static const char *const pipes[PIPE_COUNT] = {"int", "fp32", "fp64", "sfu", "tensor", "memory"};
    bool pieces = op->flags & CORUN_PIECES, either = op->either_interval && !pieces, logic = op->pipe == PIPE_INT;
    printf("%s %u %d %u %s %u %u %u %u %s\n", kernel->info.name, i,
           kernel->code[i].kind == OPERATION_BRANCH ? (int)kernel->code[i].target : -1, kernel->instructions[i].line,
           kind_of(&kernel->instructions[i]), op->slots, logic && !either ? op->interval : 0,
           op->pipe == PIPE_FP32 ? op->interval
           : pieces              ? op->beside_interval
                                 : 0,
           either ? op->interval : op->either_interval, pipes[op->pipe]);
}

static bool print_kernel(const struct corun_gpu_config *config, const struct corun_kernel *kernel)
{
    struct corun_grid grid = {.code = kernel->instructions,
                              .code_length = kernel->code_length,
                              .register_slots = kernel->register_slots,
                              .predicate_slots = kernel->predicate_slots};
    struct machine_op *ops = calloc(kernel->code_length + 1, sizeof *ops);
    if (!ops)
        return false;
    machine_ops_build(config, &grid, ops);
    printf("%s registers %u %u\n", kernel->info.name, kernel->info.registers_per_thread, kernel->info.shared_bytes);
    for (uint32_t i = 0; i < kernel->code_length; i++)
        print_op(kernel, i, &ops[i]);
    free(ops);
    return true;
}

int main(int argc, char **argv)
{
    struct corun_diagnostics *list = corun_diagnostics_create();
    struct corun_gpu_config config;
    struct corun_module *module;
    if (argc != 3) {
        fprintf(stderr, "usage: loops GPU FILE.ptx\n");
        return EXIT_FAILURE;
    }
    char data[4096];
    if (corun_data_directory(data, sizeof data, list) != CORUN_OK ||
        corun_gpu_config_load(argv[1], data, list, &config) != CORUN_OK ||
        corun_module_assemble_file(argv[2], config.machine_code, list, &module) != CORUN_OK)
        return failed(list);
    bool whole = true;
    for (size_t i = 0; i < corun_module_kernel_count(module); i++)
        whole = whole && print_kernel(&config, corun_module_kernel_at(module, i));
    corun_module_destroy(module);
    corun_diagnostics_destroy(list);
    return whole ? EXIT_SUCCESS : EXIT_FAILURE;
}
