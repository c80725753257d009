/* SPDX-License-Identifier: MIT */
/*
 * A CUDA program in plain C: the driver API, whose library it opens itself, and the kernel of mine.ptx. It needs no toolkit:
 *
 *     cc program.c -o program
 *     corun exec -- ./program 10
 *
 * It adds a vector as often as it is told to another, and checks the sum. On a machine with an NVIDIA GPU it runs without corun.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 100000, BLOCK = 256 };
typedef unsigned long long device_pointer;

/* What it uses of the API: F(name of the function in the library, our name for it, parameters) */
#define FUNCTIONS(F) \
    F(cuInit, initialise, (unsigned flags)) \
    F(cuDeviceGet, get_device, (int *device, int ordinal)) \
    F(cuCtxCreate_v2, create_context, (void **context, unsigned flags, int device)) \
    F(cuCtxDestroy_v2, destroy_context, (void *context)) \
    F(cuModuleLoad, load_module, (void **module, const char *path)) \
    F(cuModuleGetFunction, get_function, (void **function, void *module, const char *name)) \
    F(cuMemAlloc_v2, allocate, (device_pointer * memory, size_t bytes)) \
    F(cuMemcpyHtoD_v2, copy_to_device, (device_pointer to, const void *from, size_t bytes)) \
    F(cuMemcpyDtoH_v2, copy_to_host, (void *to, device_pointer from, size_t bytes)) \
    F(cuLaunchKernel, launch, \
      (void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y, \
       unsigned block_z, unsigned shared_bytes, void *stream, void **arguments, void **extra))

struct cuda {
#define MEMBER(name, ours, parameters) int(*ours) parameters;
    FUNCTIONS(MEMBER)
#undef MEMBER
};

static void check(int status, const char *what)
{
    if (!status)
        return;
    fprintf(stderr, "%s: CUDA error %d\n", what, status);
    exit(1);
}

static struct cuda open_cuda(void)
{
    struct cuda cuda;
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library) {
        fprintf(stderr, "%s: there is neither a GPU nor `corun exec -- ./program`\n", dlerror());
        exit(1);
    }
#define LOOK_UP(name, ours, parameters) \
    *(void **)&cuda.ours = dlsym(library, #name); \
    check(!cuda.ours, #name);
    FUNCTIONS(LOOK_UP)
#undef LOOK_UP
    return cuda;
}

int main(int argc, char **argv)
{
    static float vector[COUNT], sum[COUNT];
    unsigned count = COUNT;
    int device, times = argc > 1 ? atoi(argv[1]) : 1;
    void *context, *module, *add;
    device_pointer on_device, sum_on_device;
    for (int i = 0; i < COUNT; i++)
        vector[i] = (float)(i % 1000);

    struct cuda cuda = open_cuda();
    check(cuda.initialise(0), "initialising");
    check(cuda.get_device(&device, 0), "the first device");
    check(cuda.create_context(&context, 0, device), "its context");
    check(cuda.load_module(&module, "mine.ptx"), "mine.ptx");
    check(cuda.get_function(&add, module, "add"), "its kernel");
    check(cuda.allocate(&on_device, sizeof vector), "memory");
    check(cuda.allocate(&sum_on_device, sizeof sum), "memory");
    check(cuda.copy_to_device(on_device, vector, sizeof vector), "copying the vector");
    check(cuda.copy_to_device(sum_on_device, sum, sizeof sum), "copying the sum");
    void *arguments[] = {&on_device, &sum_on_device, &count};
    for (int i = 0; i < times; i++)
        check(cuda.launch(add, (COUNT + BLOCK - 1) / BLOCK, 1, 1, BLOCK, 1, 1, 0, NULL, arguments, NULL), "the launch");
    check(cuda.copy_to_host(sum, sum_on_device, sizeof sum), "copying the sum back");
    for (int i = 0; i < COUNT; i++)
        check(sum[i] != (float)times * vector[i], "the sum is wrong");
    check(cuda.destroy_context(context), "the end of the context");
    printf("%d elements, %d time%s: the sum is right\n", COUNT, times, times == 1 ? "" : "s");
    return 0;
}
