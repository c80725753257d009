/* SPDX-License-Identifier: MIT */
/* What the kernels of a context did, line by line, into the record. */
#include "cuda/profile.h"

#include "cuda/context.h"
#include "cuda/green.h"
#include "cuda/module.h"
#include "cuda/process.h"
#include "cuda/record.h"
#include "isa/profile_lines.h"

/* The module of the context that has this code; NULL: none. */
static const struct module *module_of(const struct context *context, const struct corun_instruction *code)
{
    for (size_t m = 0; m < context->modules.count; m++)
        if (context->modules.data[m]->code && profile_is_of(context->modules.data[m]->code, code))
            return context->modules.data[m];
    return NULL;
}

struct recorded {
    struct process *process;
    const struct device *device;
    const char *kernel;
};

static void record_line(void *user, const struct corun_profile_line *line)
{
    const struct recorded *recorded = user;
    record_profile(recorded->process, recorded->device, recorded->kernel, line);
}

static void record_kernel(struct process *process, const struct context *context, uint32_t application,
                          const char *name, uint32_t number)
{
    uint32_t count;
    const struct corun_instruction *code;
    const struct corun_profile_row *rows =
        corun_gpu_kernel_profile(context->device->scheduler.machine.machine, application, number, &count, &code);
    const struct module *module = rows ? module_of(context, code) : NULL;
    struct recorded recorded = {process, context->device, name};
    if (module)
        (void)profile_tell_lines(module->code, module->text ? module->text : "", rows, code, count, record_line,
                                 &recorded);
}

void profile_record(struct process *process, const struct context *context, uint32_t application)
{
    if (!process->profiles || process->remote || application == CORUN_NO_APPLICATION || !process->record)
        return;
    struct corun_gpu *gpu = context->device->scheduler.machine.machine;
    struct corun_application_result result;
    corun_gpu_application(gpu, application, &result);
    for (uint32_t k = 0; k < result.kernel_count; k++) {
        struct corun_kernel_result kernel;
        corun_gpu_kernel(gpu, application, k, &kernel);
        record_kernel(process, context, application, kernel.name, k);
    }
}

void profile_record_all(struct process *process, const struct context *context)
{
    profile_record(process, context, context->application);
    for (size_t g = 0; g < context->greens.count; g++)
        profile_record(process, context, context->greens.data[g]->application);
}
