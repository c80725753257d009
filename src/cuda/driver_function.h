/* What the driver API knows of a function, and keeps with it. */
#ifndef CORUN_CUDA_DRIVER_FUNCTION_H
#define CORUN_CUDA_DRIVER_FUNCTION_H

struct abi_function_attributes;
struct function;

/* Of a function with a kernel. runtime_function.c */
void function_describe(struct function *function, struct abi_function_attributes *attributes);
/* What the calls before an old launch have left. */
void old_launch_free(struct function *function);

#endif
