/* SPDX-License-Identifier: MIT */
/* Passes from text to text, and what they leave behind. */
#include "rewrite/rewritten.h"

#include "ptx/printer.h"

#include <string.h>

void rewritten_destroy(struct rewritten *rewritten)
{
    ptx_module_destroy(rewritten->module);
    *rewritten = (struct rewritten){0};
}

const struct rewritten_kernel *rewritten_kernel_find(const struct rewritten *rewritten, const char *name)
{
    for (uint32_t i = 0; i < rewritten->kernel_count; i++)
        if (!strcmp(rewritten->kernels[i].function->name, name))
            return &rewritten->kernels[i];
    return NULL;
}

enum corun_status rewrite_text(rewrite_pass *pass, const char *name, const char *text, size_t bytes,
                               struct corun_diagnostics *list, struct rewritten *rewritten, char **output,
                               size_t *output_bytes)
{
    struct ptx_module *source;
    *rewritten = (struct rewritten){0};
    *output = NULL;
    enum corun_status status = ptx_parse(name, text, bytes, list, &source);
    if (status == CORUN_OK)
        status = pass(source, list, rewritten);
    ptx_module_destroy(source);
    if (status != CORUN_OK)
        return status;
    status = ptx_print(rewritten->module, output, output_bytes);
    if (status != CORUN_OK) {
        rewritten_destroy(rewritten);
        corun_report(list, status, CORUN_NOWHERE, "out of memory while printing rewritten kernels");
    }
    return status;
}
