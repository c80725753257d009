/* SPDX-License-Identifier: MIT */
/* Functions for kernels, as PTX text, and linking those to a module. */
#include "cuda/device_library.h"

#include "cuda/ptx_link.h"

#include <ctype.h>
#include <string.h>

#define SET_CONDITIONAL "cudaGraphSetConditional"

/* A handle is an address (graph_condition.h). */
const char device_library_text[] = ".version 6.0\n.target sm_30\n.address_size 64\n"
                                   ".visible .func " SET_CONDITIONAL "(.param .b64 handle, .param .b32 value)\n{\n"
                                   "    .reg .b32 %r<2>;\n    .reg .b64 %a<2>;\n"
                                   "    ld.param.b64 %a1, [handle];\n    ld.param.b32 %r1, [value];\n    "
                                   "st.volatile.global.u32 [%a1], %r1;\n    ret;\n}\n";

bool device_library_declares(const char *text, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = strstr(text, ".extern .func"); at; at = strstr(at + 1, ".extern .func")) {
        size_t end = strcspn(at, ";");
        for (size_t i = 0; i + length < end; i++)
            if (!strncmp(at + i, name, length) && isspace((unsigned char)at[i - 1]) &&
                (isspace((unsigned char)at[i + length]) || at[i + length] == '('))
                return true;
    }
    return false;
}

bool device_library_wanted(const char *text)
{
    return device_library_declares(text, SET_CONDITIONAL);
}

enum corun_status device_library_link(const char *text, size_t bytes, struct corun_diagnostics *list, char **linked,
                                      size_t *linked_bytes)
{
    struct ptx_link link = {0};
    enum corun_status status = CORUN_MEMORY;
    *linked = NULL;
    if (ptx_link_add(&link, text, bytes, false) &&
        ptx_link_add(&link, device_library_text, strlen(device_library_text), true))
        status = ptx_link_finish(&link, list, linked, linked_bytes);
    ptx_link_free(&link);
    return status;
}
