/* SPDX-License-Identifier: MIT */
/* What is told of a decoded kernel: struct corun_kernel_info. */
#include "isa/decode.h"

#include "ptx/register_count.h"

#include <stdio.h>
#include <string.h>

static void describe_parameters(struct decoder *decoder, const struct ptx_function *function)
{
    const struct ptx_signature *signature = &function->signature;
    struct corun_parameter *parameters =
        ARENA_ARRAY(decoder->arena, struct corun_parameter, signature->parameter_count + 1);
    if (!parameters)
        decode_no_memory(decoder);
    for (uint32_t i = 0; parameters && i < signature->parameter_count; i++) {
        const struct ptx_variable *variable = signature->parameters[i];
        uint32_t bits = ptx_types[variable->type].bits, kind = ptx_types[variable->type].kind;
        parameters[i] = (struct corun_parameter){
            .name = variable->name,
            .offset_bytes = (uint32_t)variable->offset,
            .bytes = (uint32_t)variable->bytes,
            .align_bytes = variable->align,
            .is_pointer = variable->is_pointer || (!variable->is_array && variable->vector <= 1 && bits == 64 &&
                                                   (kind == PTX_KIND_UNSIGNED || kind == PTX_KIND_BITS)),
        };
        snprintf(parameters[i].type, sizeof parameters[i].type, "%.7s", ptx_types[variable->type].word);
    }
    decoder->kernel->info.parameters = parameters;
    decoder->kernel->info.parameter_count = signature->parameter_count;
    decoder->kernel->info.parameter_bytes = (uint32_t)function->parameter_bytes;
}

void decode_description(struct decoder *decoder, const struct ptx_function *function)
{
    struct corun_kernel_info *info = &decoder->kernel->info;
    enum ptx_registers_from from = PTX_REGISTERS_ALLOCATION;
    if (ptx_registers_per_thread(decoder->ptx, function, decoder->module->allocations, NULL, 0,
                                 &info->registers_per_thread, &from) != CORUN_OK)
        decode_no_memory(decoder);
    info->registers_from = from == PTX_REGISTERS_ASSEMBLER ? "assembler"
                           : from == PTX_REGISTERS_MAXNREG ? "maxnreg"
                                                           : "allocation";
    for (uint32_t i = 0; i < decoder->ptx->variable_count; i++)
        if (decoder->ptx->variables[i]->space == PTX_SPACE_CONST)
            info->constant_bytes += (uint32_t)decoder->ptx->variables[i]->bytes;
    const uint32_t *limit = function->reqntid[0] ? function->reqntid : function->maxntid;
    uint64_t threads = (uint64_t)limit[0] * limit[1] * limit[2];
    memcpy(info->cluster, function->reqnctapercluster, sizeof info->cluster);
    info->max_cluster_tbs = function->maxclusterrank;
    info->explicit_cluster = function->explicitcluster;
    info->blocks_are_clusters = function->blocksareclusters;
    info->max_threads_per_tb = threads > UINT32_MAX ? UINT32_MAX : (uint32_t)threads;
    if (from == PTX_REGISTERS_ALLOCATION)
        info->bounds = (struct corun_launch_bounds){info->max_threads_per_tb, function->minnctapersm};
    info->shared_bytes = decoder->kernel->shared_bytes;
    info->local_bytes = decoder->kernel->local_bytes;
    info->instructions = decoder->kernel->code_length;
    info->idempotence = ptx_idempotence_text(&decoder->kernel->idempotence);
    describe_parameters(decoder, function);
}
