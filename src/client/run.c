/* SPDX-License-Identifier: MIT */
/* Runs of the program, told to whom the process has. */
#include "corun/client.h"

#include "client/find.h"

#include <string.h>

uint64_t corun_begin_run(void)
{
    uint64_t (*begin)(void) = NULL;
    void *found = client_find("corun_shim_begin_run", "corun_cuda_begin_run");
    memcpy(&begin, &found, sizeof begin);
    return begin ? begin() : 0;
}

enum corun_status corun_end_run(uint64_t begun)
{
    enum corun_status (*end)(uint64_t) = NULL;
    void *found = client_find("corun_shim_end_run", "corun_cuda_end_run");
    memcpy(&end, &found, sizeof end);
    return end ? end(begun) : CORUN_UNSUPPORTED;
}
