/* SPDX-License-Identifier: MIT */
/*
 * What the driver API has beside the usual: functions of a module and a library, the launch of CUDA before 4.0, counted
 * contexts, advice on managed memory, access to pools.
 */
#include "driver_test.h"

typedef struct {
    int kind, id;
} place;
struct pool_access {
    place where;
    int flags;
};

int cuCtxAttach(void **context, unsigned flags);
int cuCtxDetach(void *context);
int cuCtxGetCurrent(void **context);
int cuCtxGetDevice(int *device);
int cuCtxSynchronize_v2(void *context);
int cuDeviceGetProperties(int *properties, int device);
int cuDeviceGetAttribute(int *value, int attribute, int device);
int cuDeviceGetDefaultMemPool(void **pool, int device);
int cuFuncGetAttribute(int *value, int attribute, void *function);
int cuFuncGetParamInfo(void *function, size_t index, size_t *offset, size_t *bytes);
int cuFuncSetBlockShape(void *function, int x, int y, int z);
int cuKernelGetAttribute(int *value, int attribute, void *kernel, int device);
int cuKernelGetLibrary(void **library, void *kernel);
int cuKernelSetAttribute(int attribute, int value, void *kernel, int device);
int cuLaunchGrid(void *function, int width, int height);
int cuLibraryEnumerateKernels(void **kernels, unsigned count, void *library);
int cuLibraryLoadData(void **library, const void *text, int *jit, void **jit_values, unsigned jit_count, int *options,
                      void **values, unsigned count);
int cuLibraryUnload(void *library);
int cuMemAdvise_v2(address_t address, size_t bytes, int advice, place where);
int cuMemAllocManaged(address_t *address, size_t bytes, unsigned flags);
int cuMemPoolGetAccess(int *flags, void *pool, const place *where);
int cuMemPoolSetAccess(void *pool, const struct pool_access *access, size_t count);
int cuMemPrefetchAsync_v2(address_t address, size_t bytes, place where, unsigned flags, void *stream);
int cuMemRangeGetAttribute(void *data, size_t bytes, int attribute, address_t address, size_t count);
int cuModuleEnumerateFunctions(void **functions, unsigned count, void *module);
int cuModuleGetFunctionCount(unsigned *count, void *module);
int cuParamSetSize(void *function, unsigned bytes);
int cuParamSeti(void *function, int offset, unsigned value);
int cuParamSetv(void *function, int offset, void *values, unsigned bytes);
int cuStreamCopyAttributes(void *to, void *from);
int cuStreamGetAttribute(void *stream, int attribute, void *value);
int cuStreamSetAttribute(void *stream, int attribute, const void *value);

static void old_launch(void *function)
{
    address_t address;
    int values[300];
    GOOD(cuMemAlloc_v2(&address, sizeof values));
    GOOD(cuMemsetD32_v2(address, 10, 300));
    EXPECT(INVALID_VALUE, cuLaunchGrid(function, 3, 1)); /* no shape yet */
    GOOD(cuFuncSetBlockShape(function, 100, 1, 1));
    GOOD(cuParamSetv(function, 0, &address, sizeof address));
    GOOD(cuParamSeti(function, 8, 299));
    GOOD(cuParamSetSize(function, 12));
    EXPECT(INVALID_VALUE, cuParamSeti(function, 4096, 1));
    EXPECT(INVALID_VALUE, cuParamSeti(function, -1, 1));
    GOOD(cuLaunchGrid(function, 3, 1));
    GOOD(cuMemcpyDtoH_v2(values, address, sizeof values));
    CHECK(values[0] == 11 && values[298] == 11 && values[299] == 10);
    GOOD(cuMemFree_v2(address));
}

static void functions(void *module, void *function)
{
    void *found[3] = {NULL, NULL, NULL}, *library, *of;
    unsigned count;
    int value, other;
    size_t offset, bytes;
    GOOD(cuModuleGetFunctionCount(&count, module));
    CHECK(count == 1);
    GOOD(cuModuleEnumerateFunctions(found, 3, module));
    CHECK(found[0] == function && !found[1]);
    GOOD(cuFuncGetParamInfo(function, 1, &offset, &bytes));
    CHECK(offset == 8 && bytes == 4);
    EXPECT(INVALID_VALUE, cuFuncGetParamInfo(function, 2, &offset, &bytes));
    GOOD(cuLibraryLoadData(&library, add_one_text, NULL, NULL, 0, NULL, NULL, 0));
    GOOD(cuLibraryEnumerateKernels(found, 1, library));
    GOOD(cuKernelGetLibrary(&of, found[0]));
    CHECK(of == library && found[0] != function);
    GOOD(cuKernelGetAttribute(&value, 4, found[0], 0));
    GOOD(cuFuncGetAttribute(&other, 4, function));
    CHECK(value == other && value > 0);
    GOOD(cuKernelSetAttribute(8, 1024, found[0], 0));
    GOOD(cuKernelGetAttribute(&value, 8, found[0], 0));
    CHECK(value == 1024);
    EXPECT(101, cuKernelGetAttribute(&value, 8, found[0], 7));
    GOOD(cuLibraryUnload(library));
    EXPECT(INVALID_HANDLE, cuKernelGetLibrary(&of, found[0]));
}

/* A kernel of which an SM has registers for fewer threads than a thread block can have. */
static void many_registers(void)
{
    enum { VALUES = 100 };
    char text[16384] = ".version 6.3\n.target sm_50\n.address_size 64\n.visible .entry many(.param .u64 to)\n{\n"
                       ".reg .b32 %r<101>; .reg .b64 %d;\nld.param.u64 %d, [to]; mov.u32 %r100, %tid.x;\n";
    size_t used = strlen(text);
    for (int i = 0; i < VALUES; i++)
        used += (size_t)sprintf(text + used, "ld.volatile.global.u32 %%r%d, [%%d+%d];\n", i, 4 * i);
    for (int i = 0; i < VALUES; i++)
        used += (size_t)sprintf(text + used, "add.u32 %%r100, %%r100, %%r%d;\n", i);
    sprintf(text + used, "st.global.u32 [%%d], %%r100;\nret;\n}\n");
    void *module, *function, *arguments[1];
    address_t address;
    int registers, most;
    GOOD(cuModuleLoadData(&module, text));
    GOOD(cuModuleGetFunction(&function, module, "many"));
    GOOD(cuFuncGetAttribute(&registers, 4, function));
    GOOD(cuFuncGetAttribute(&most, 0, function));
    CHECK(registers >= VALUES && most < 1024 && most % 32 == 0 && most * registers <= 65536);
    GOOD(cuMemAlloc_v2(&address, 4 * VALUES));
    arguments[0] = &address;
    EXPECT(701, cuLaunchKernel(function, 1, 1, 1, (unsigned)most + 32, 1, 1, 0, NULL, arguments, NULL));
    GOOD(cuLaunchKernel(function, 1, 1, 1, (unsigned)most, 1, 1, 0, NULL, arguments, NULL));
    GOOD(cuCtxSynchronize());
    GOOD(cuMemFree_v2(address));
    GOOD(cuModuleUnload(module));
}

/* A kernel that cannot be run because of a directive before its body does not keep the others of its module from running. */
static void clusters(void)
{
    static const char text[] =
        ".version 8.0\n.target sm_90\n.address_size 64\n"
        ".visible .entry two(.param .u64 to)\n.explicitcluster\n.reqnctapercluster 2, 1, 1\n{\nret;\n}\n"
        ".visible .entry one(.param .u64 to)\n.explicitcluster\n.reqnctapercluster 1, 1, 1\n{\n"
        ".reg .b32 %r<2>; .reg .b64 %d;\nld.param.u64 %d, [to]; mov.u32 %r0, %cluster_nctarank;\n"
        "st.global.u32 [%d], %r0;\nret;\n}\n";
    void *module, *one, *two, *arguments[1];
    address_t address;
    int value;
    GOOD(cuModuleLoadData(&module, text));
    GOOD(cuModuleGetFunction(&one, module, "one"));
    GOOD(cuModuleGetFunction(&two, module, "two"));
    GOOD(cuMemAlloc_v2(&address, sizeof value));
    arguments[0] = &address;
    EXPECT(801, cuLaunchKernel(two, 2, 1, 1, 32, 1, 1, 0, NULL, arguments, NULL));
    GOOD(cuLaunchKernel(one, 2, 1, 1, 32, 1, 1, 0, NULL, arguments, NULL));
    GOOD(cuMemcpyDtoH_v2(&value, address, sizeof value));
    CHECK(value == 1);
    GOOD(cuMemFree_v2(address));
    GOOD(cuModuleUnload(module));
}

static void advice(void)
{
    enum { READ_MOSTLY = 1, PREFERRED, ACCESSED_BY, PREFETCHED };
    address_t address;
    int value, by[3];
    place device = {1, 0}, host = {2, 0}, nobody = {1, 9};
    GOOD(cuMemAllocManaged(&address, 8192, 1));
    GOOD(cuMemRangeGetAttribute(&value, 4, PREFERRED, address, 8192));
    CHECK(value == -2);
    GOOD(cuMemAdvise_v2(address, 8192, 1, device));
    GOOD(cuMemAdvise_v2(address, 8192, 3, host));
    GOOD(cuMemAdvise_v2(address, 8192, 5, device));
    EXPECT(101, cuMemAdvise_v2(address, 8192, 5, nobody));
    EXPECT(INVALID_VALUE, cuMemAdvise_v2(address, 8193, 1, device));
    GOOD(cuMemPrefetchAsync_v2(address + 4096, 4096, device, 0, NULL));
    GOOD(cuMemRangeGetAttribute(&value, 4, READ_MOSTLY, address, 8192));
    CHECK(value == 1);
    GOOD(cuMemRangeGetAttribute(&value, 4, PREFERRED, address, 8192));
    CHECK(value == -1);
    GOOD(cuMemRangeGetAttribute(&value, 4, PREFETCHED, address, 8192));
    CHECK(value == 0);
    GOOD(cuMemRangeGetAttribute(by, sizeof by, ACCESSED_BY, address, 8192));
    CHECK(by[0] == 0 && by[1] == -2 && by[2] == -2);
    GOOD(cuMemFree_v2(address));
}

/* A stream tells what it was told; of a value no more is written than it has, which is less than 64 bytes before CUDA 11.8. */
static void stream_attributes(void)
{
    enum { ACCESS_POLICY = 1, COOPERATIVE, SYNCHRONIZATION, PRIORITY = 8, DOMAIN_MAP, DOMAIN };
    void *one, *other;
    unsigned char window[64], seen[64];
    int value[2] = {4, 77};
    GOOD(cuStreamCreate(&one, 1));
    GOOD(cuStreamCreate(&other, 1));
    for (int i = 0; i < 64; i++)
        window[i] = (unsigned char)(i + 1), seen[i] = 200;
    GOOD(cuStreamSetAttribute(one, ACCESS_POLICY, window));
    GOOD(cuStreamSetAttribute(one, SYNCHRONIZATION, value));
    value[0] = 1;
    GOOD(cuStreamSetAttribute(one, DOMAIN, value));
    GOOD(cuStreamGetAttribute(other, SYNCHRONIZATION, value));
    CHECK(value[0] == 1 && value[1] == 77); /* chosen by the driver, as from the beginning */
    GOOD(cuStreamCopyAttributes(other, one));
    GOOD(cuStreamGetAttribute(other, ACCESS_POLICY, seen));
    for (int i = 0; i < 64; i++)
        CHECK(seen[i] == (i < 32 ? i + 1 : 200));
    GOOD(cuStreamGetAttribute(other, SYNCHRONIZATION, value));
    CHECK(value[0] == 4 && value[1] == 77);
    GOOD(cuStreamGetAttribute(other, DOMAIN, value));
    CHECK(value[0] == 1);
    GOOD(cuStreamGetAttribute(other, DOMAIN_MAP, seen));
    CHECK(seen[0] == 0 && seen[1] == 1 && seen[2] == 3);
    GOOD(cuStreamGetAttribute(other, PRIORITY, value));
    CHECK(value[0] == 0 && value[1] == 77);
    EXPECT(INVALID_VALUE, cuStreamGetAttribute(other, COOPERATIVE, value)); /* of launches alone */
    EXPECT(INVALID_VALUE, cuStreamSetAttribute(other, 99, value));
    GOOD(cuStreamDestroy_v2(one));
    GOOD(cuStreamDestroy_v2(other));
}

int main(void)
{
    void *context, *module, *function, *same, *pool;
    int device, properties[14], value;
    GOOD(cuInit(0));
    EXPECT(201, cuMemAllocManaged((address_t *)&same, 16, 1)); /* no context has come into being */
    EXPECT(201, cuStreamCreate(&same, 0));
    GOOD(cuCtxCreate_v2(&context, 0, 0));
    GOOD(cuModuleLoadData(&module, add_one_text));
    GOOD(cuModuleGetFunction(&function, module, "add_one"));
    old_launch(function);
    functions(module, function);
    many_registers();
    clusters();
    advice();
    stream_attributes();
    GOOD(cuDeviceGetProperties(properties, 0));
    GOOD(cuDeviceGetAttribute(&value, 12, 0));
    CHECK(properties[9] == 32 && properties[11] == value);
    struct pool_access own = {{1, 0}, 3};
    GOOD(cuDeviceGetDefaultMemPool(&pool, 0));
    GOOD(cuMemPoolSetAccess(pool, &own, 1));
    GOOD(cuMemPoolGetAccess(&value, pool, &own.where));
    CHECK(value == 3);
    GOOD(cuCtxSynchronize_v2(context));
    GOOD(cuCtxAttach(&same, 0));
    CHECK(same == context);
    GOOD(cuCtxDetach(context));
    GOOD(cuCtxGetDevice(&device));
    GOOD(cuCtxDetach(context)); /* the last */
    EXPECT(201, cuCtxGetDevice(&device));
    EXPECT(201, cuCtxSynchronize_v2(context));
    puts("driver, more: good");
    return 0;
}
