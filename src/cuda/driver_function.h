/* What the driver API keeps with a function. */
#ifndef CORUN_CUDA_DRIVER_FUNCTION_H
#define CORUN_CUDA_DRIVER_FUNCTION_H

#include "cuda/process.h"

/* What the calls before an old launch have left. */
void old_launch_free(struct function *function);

#endif
